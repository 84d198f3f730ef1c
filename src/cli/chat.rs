//! `duologue chat`: converse in the terminal, in any role, and ask why.

use std::io::{BufRead, IsTerminal};

use super::common::{Failure, Listen, Place};
use crate::facts::SessionKey;
use crate::ontology::Scope;
use crate::state::State;
use crate::term::{Atom, Term};
use crate::turn::{Engine, Options, Said, TurnRecord};

/// Arguments of `chat`.
#[derive(clap::Args)]
#[command(
    after_help = "In the conversation:\n  /ROLE             switch lanes: /manager, /customer, or any role of the domain\n  /why [action]     why the last reply says what it says\n  /whynot ATOM      what kept the rules from deriving something\n  /whatif PREDICATE what the reply would have been\n  /facts [SCOPE]    facts: kb, shared or session\n  /order            the order so far\n  /undo             take back the last change\n  /trace            show predicates and actions of every turn (on or off)\n  /help, /quit\n  !order(\"Soft Taco\",2)   predicates instead of words"
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: Listen,
    /// Who speaks first.
    #[arg(long)]
    role: Option<String>,
    /// The site.
    #[arg(long, default_value = "main")]
    site: String,
    /// Converse with a CHIEF flow instead: a file, or the name of a built-in flow.
    #[arg(long)]
    flow: Option<String>,
    /// Declarations of the flow's external functions (JSON); undeclared ones are taken to succeed.
    #[arg(long)]
    functions: Option<std::path::PathBuf>,
    /// The session of a conversation with a flow: the same one goes on where it stands in the store.
    #[arg(long)]
    session: Option<String>,
    /// What the agent of a flow is told beforehand, such as "Right now it is Monday, 8 pm"; may be given several times.
    #[arg(long)]
    told: Vec<String>,
    /// Play the domain's sample conversation instead of listening.
    #[arg(long)]
    demo: bool,
}

struct Chat {
    engine: Engine,
    site: String,
    role: String,
    trace: bool,
    greeted: Vec<String>,
}

/// Converses until /quit or the end of the input.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    if let Some(flow) = &a.flow {
        let key = SessionKey::new(&a.site, a.session.as_deref().unwrap_or("terminal"));
        return super::flow::chat(super::flow::Talk {
            flow,
            functions: a.functions.as_deref(),
            store: crate::facts::open_store(&a.place.store, a.place.rule())?,
            key,
            reasoner: a.place.options().reasoner,
            model: a.listen.configured()?,
            told: &a.told.join("\n"),
        });
    }
    let engine = a.place.engine()?;
    let options = Options { remember: true, ..engine.options().clone() };
    let engine = a.listen.equip(engine.with_options(options))?;
    let roles: Vec<String> = engine.domain().ontology.roles.keys().map(ToString::to_string).collect();
    let role = a.role.clone().or_else(|| roles.first().cloned()).unwrap_or_default();
    if !roles.contains(&role) {
        return Err(Failure::Other(format!("there is no role `{role}`; the domain has {}", roles.join(", "))));
    }
    let mut chat = Chat { engine, site: a.site.clone(), role, trace: false, greeted: vec![] };
    println!("{} — you speak as {}. Other lanes: {}. /help lists commands, /quit ends.", chat.engine.domain().ontology.title, chat.role, lanes(&roles));
    if a.demo {
        return chat.demo();
    }
    chat.greet();
    if std::io::stdin().is_terminal() {
        let mut editor = rustyline::DefaultEditor::new().map_err(|e| Failure::Other(e.to_string()))?;
        loop {
            match editor.readline(&format!("{}> ", chat.role)) {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    if !chat.line(&line) {
                        return Ok(true);
                    }
                }
                Err(rustyline::error::ReadlineError::Interrupted) => println!("(/quit ends the conversation; the session stays open in its store)"),
                Err(_) => return Ok(true),
            }
        }
    }
    let mut heard = false;
    for line in std::io::stdin().lock().split(b'\n') {
        let line = String::from_utf8_lossy(&line?).trim_end_matches('\r').to_owned();
        heard = true;
        println!("{}> {line}", chat.role);
        if !chat.line(&line) {
            break;
        }
    }
    if heard { Ok(true) } else { chat.demo() }
}

fn lanes(roles: &[String]) -> String {
    roles.iter().map(|r| format!("/{r}")).collect::<Vec<_>>().join(", ")
}

impl Chat {
    fn key(&self) -> SessionKey {
        SessionKey::new(&self.site, &self.role)
    }

    fn greet(&mut self) {
        let open = self.engine.store().open(&self.key(), &self.role).is_ok_and(|o| o.turn > 0);
        if !open && !self.greeted.contains(&self.role) {
            self.greeted.push(self.role.clone());
            if let Some(role) = self.engine.domain().ontology.roles.get(self.role.as_str()) {
                println!("bot> {}", role.greeting);
            }
        }
    }

    /// Plays the conversation that the domain ships as `kb/<domain>/demo.txt`, line by line as if typed.
    fn demo(&mut self) -> Result<bool, Failure> {
        let name = self.engine.domain().ontology.domain.clone();
        let Some(text) = self.engine.domain().files.read(&format!("kb/{name}/demo.txt")) else {
            return Err(Failure::Other(format!("the domain `{name}` ships no sample conversation")));
        };
        println!("(nobody is typing, so here is a sample conversation)");
        for line in text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
            println!("{}> {line}", self.role);
            if !self.line(line) {
                break;
            }
        }
        Ok(true)
    }

    /// Answers one line; false ends the conversation.
    fn line(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(command) = line.strip_prefix('/') {
            return self.command(command);
        }
        if let Some(predicates) = line.strip_prefix('!') {
            let parts = split_atoms(predicates);
            self.say(&Said::Predicates(&parts));
        } else if !line.is_empty() {
            self.say(&Said::Text(line));
        }
        true
    }

    fn say(&mut self, said: &Said<'_>) {
        match self.engine.turn(&self.key(), &self.role, said, None) {
            Ok(record) => {
                if self.trace {
                    trace(&record);
                }
                for r in &record.refused {
                    println!("(refused {}: {})", r.text, r.message);
                }
                println!("bot> {}", record.text);
                if let Some(end) = &record.ended {
                    println!("(the conversation ended: {end}; the next line begins a new one)");
                    self.greeted.retain(|r| *r != self.role);
                }
            }
            Err(e) => println!("bot> {}\n({e})", e.polite()),
        }
    }

    fn command(&mut self, command: &str) -> bool {
        let (word, rest) = command.split_once(' ').map_or((command, ""), |(w, r)| (w, r.trim()));
        match word {
            "quit" | "exit" => return false,
            "help" => println!(
                "/why [action]  /whynot ATOM  /whatif PREDICATE  /facts [kb|shared|session]  /order  /undo  /trace  /quit\nlanes: {}\n!PREDICATES speaks in predicates",
                lanes(&self.roles())
            ),
            "why" => self.why(rest),
            "whynot" => self.why_not(rest),
            "whatif" => self.what_if(rest),
            "facts" => self.facts(rest),
            "order" => self.order(),
            "undo" => self.say(&Said::Predicates(&["undo".to_owned()])),
            "trace" => {
                self.trace = !self.trace;
                println!("(trace is {})", if self.trace { "on" } else { "off" });
            }
            role if self.roles().iter().any(|r| r == role) => {
                self.role = role.to_owned();
                println!("(you speak as {role} now)");
                self.greet();
            }
            other => {
                let known = ["why", "whynot", "whatif", "facts", "order", "undo", "trace", "quit", "help"];
                let roles = self.roles();
                let near = crate::diag::did_you_mean(other, known.iter().copied().chain(roles.iter().map(String::as_str)));
                println!("(there is no command /{other}{})", near.map_or_else(|| "; /help lists them".to_owned(), |n| format!(", did you mean /{n}?")));
            }
        }
        true
    }

    fn roles(&self) -> Vec<String> {
        self.engine.domain().ontology.roles.keys().map(ToString::to_string).collect()
    }

    fn why(&self, which: &str) {
        let Some(decided) = self.engine.decided(&self.key()) else {
            println!("(nothing was decided in this lane yet)");
            return;
        };
        let told = |a: &Atom| self.engine.told_by(&decided, a);
        let mut found = false;
        for act in &decided.acts {
            let name = act.action.to_string();
            if !which.is_empty() && !name.contains(which) {
                continue;
            }
            found = true;
            let Some(proof) = decided.outcome.why(&act.shown()) else { continue };
            if which.is_empty() {
                println!("{name}\n  {}", proof.sentence(&told));
            } else {
                print!("{}", proof.tree(&told));
            }
        }
        if !found {
            println!("(the last reply has no action `{which}`; /why alone lists them)");
        }
    }

    fn why_not(&self, text: &str) {
        let (Some(decided), Ok(atom)) = (self.engine.decided(&self.key()), Atom::parse(text)) else {
            println!("(say it as a predicate after a first turn, such as /whynot recommend(category,\"Bean Burrito\"))");
            return;
        };
        // An action is derived inside `act`, at whatever place.
        let place = decided.acts.iter().find(|a| a.action.name == atom.name).map_or((2, 1), |a| a.place);
        let shown = Atom::new("act", vec![Term::Int(place.0), Term::Int(place.1), atom.to_term()]);
        let is_action = self.engine.domain().ontology.actions.iter().any(|f| f.name == atom.name);
        print!("{}", decided.outcome.why_not(if is_action { &shown } else { &atom }).text());
    }

    /// Decides on a copy of the store's facts: the turn is taken on memory and thrown away.
    fn what_if(&self, text: &str) {
        let parts = split_atoms(text);
        match self.engine.what_if(&self.key(), &self.role, &parts) {
            Ok(record) => {
                println!("actions: {}", join(&record.actions));
                println!("changes: {}", if record.effects.is_empty() { "none".to_owned() } else { record.effects.join("; ") });
                println!("it would say: {}", record.text);
            }
            Err(e) => println!("({e})"),
        }
    }

    fn facts(&self, scope: &str) {
        let scope = if scope.is_empty() { "session" } else { scope };
        match scope.parse::<Scope>() {
            Ok(s) => match self.engine.store().facts(s, &self.key()) {
                Ok(facts) if facts.is_empty() => println!("(no {s} facts)"),
                Ok(facts) => {
                    for f in facts {
                        let who = crate::turn::record::provenance_text(&f.provenance, &self.engine.domain().ontology);
                        println!("{}{}", f.atom, if who.is_empty() { String::new() } else { format!("  ({who})") });
                    }
                }
                Err(e) => println!("({e})"),
            },
            Err(()) => println!("(facts are kb, shared or session)"),
        }
    }

    fn order(&self) {
        let state = self.engine.store().open(&self.key(), &self.role).ok().and_then(|o| self.engine.last_state(&o));
        match state {
            Some(state) if !state.order.is_empty() => print_state(&state),
            _ => println!("(nothing is ordered)"),
        }
    }
}

fn print_state(state: &State) {
    for line in &state.order {
        println!("{}. {}{}", line.i, line.item, mods(&line.mods));
        for part in &line.parts {
            println!("     {}: {}{}", part.slot, part.dish.as_deref().unwrap_or("(open)"), mods(&part.mods));
        }
    }
    if let Some(price) = state.price {
        println!("total so far: ${}.{:02}", price / 100, price % 100);
    }
}

fn mods(mods: &[String]) -> String {
    if mods.is_empty() { String::new() } else { format!(" [{}]", mods.join(", ")) }
}

fn trace(record: &TurnRecord) {
    println!("  heard   {} ({}, {:.2})", record.arrived.join(" "), record.heard_by, record.confidence);
    println!("  actions {}", join(&record.actions));
    for e in &record.effects {
        println!("  effect  {e}");
    }
}

fn join(atoms: &[Atom]) -> String {
    atoms.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Splits `a(1,2), b. c` at commas, points and blanks outside parentheses and quotes.
fn split_atoms(text: &str) -> Vec<String> {
    let (mut out, mut current, mut depth, mut in_string, mut escaped) = (vec![], String::new(), 0i32, false, false);
    for c in text.chars() {
        let between = depth <= 0 && !in_string && (c == ',' || c == '.' || c == ';' || c.is_whitespace());
        if between {
            if !current.is_empty() {
                out.push(std::mem::take(&mut current));
            }
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '(' if !in_string => depth += 1,
            ')' if !in_string => depth -= 1,
            _ => {}
        }
        current.push(c);
    }
    if !current.is_empty() {
        out.push(current);
    }
    out
}
