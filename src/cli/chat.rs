//! `duologue chat`: converse in the terminal, in any role, and ask why.

use std::io::{BufRead, IsTerminal, Write};

use super::common::{Calls, Failure, Listen, Place};
use super::used::{self, Used};
use crate::facts::SessionKey;
use crate::ontology::Scope;
use crate::term::{in_line, split_atoms};
use crate::text::{CURRENCIES, shown};
use crate::turn::answers;
use crate::turn::{Engine, Options, Said, TurnError, TurnRecord};

/// Arguments of `chat`.
#[derive(clap::Args)]
#[command(
    after_help = "In the conversation:\n  /ROLE             switch lanes: /manager, /customer, or any role of the domain\n  /why [action]     why the last reply says what it says\n  /whynot ATOM      what kept the rules from deriving something\n  /whatif PREDICATE what the reply would have been\n  /facts [SCOPE]    facts: kb, shared or session\n  /order            the order so far\n  /undo             take back the last change, where the role has a word for it\n  /trace            show predicates and actions of every turn (on or off)\n  /help, /quit\n  !order(\"Soft Taco\",2)   predicates instead of words"
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: Listen,
    /// Who speaks first.
    #[arg(long)]
    role: Option<String>,
    /// The site; otherwise `main`, and of a flow the one that bears its name.
    #[arg(long)]
    site: Option<String>,
    #[command(flatten)]
    calls: Calls,
    /// The session: the same one goes on where it stands in the store. Otherwise it is called as its role is.
    #[arg(long)]
    session: Option<String>,
    /// What the agent of a flow is told of the present, such as "Right now it is Monday, 8 pm"; may be given several times.
    #[arg(long)]
    told: Vec<String>,
    /// Play the domain's sample conversation instead of listening.
    #[arg(long)]
    demo: bool,
    /// Print every turn as its record, one JSON object a line, and nothing else.
    #[arg(long)]
    json: bool,
}

struct Chat {
    engine: Engine,
    site: String,
    session: Option<String>,
    role: String,
    trace: bool,
    greeted: Vec<String>,
    json: bool,
    /// Whether a model words the replies, so that they are printed as they become safe to say.
    live: bool,
    used: Used,
}

/// Converses until /quit or the end of the input.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let engine = a.place.engine()?;
    let options = Options { remember: true, ..engine.options().clone() };
    let engine = a.calls.connect(a.listen.equip(engine.with_options(options))?)?;
    let roles: Vec<String> = engine.domain().ontology.roles.keys().map(ToString::to_string).collect();
    // Programs are spoken to by whoever speaks; the other roles only tell of conversations.
    let usual = || engine.domain().program.as_ref().map(|_| "speaker".to_owned()).or_else(|| roles.first().cloned());
    let role = a.role.clone().or_else(usual).unwrap_or_default();
    if !roles.contains(&role) {
        return Err(Failure::Other(format!("there is no role `{role}`; the domain has {}", roles.join(", "))));
    }
    let (json, live) = (a.json, a.listen.by_model());
    let site = a.place.site(a.site.as_deref(), engine.domain());
    if !a.told.is_empty() {
        let told = engine.turn(&SessionKey::new(&site, "told"), "informant", &Said::Text(&a.told.join("\n")), None);
        told.map_err(Failure::told)?;
    }
    let mut chat = Chat { engine, site, session: a.session.clone(), role, trace: false, greeted: vec![], json, live, used: Used::default() };
    if !json {
        println!("{} — you speak as {}. Other lanes: {}. /help lists commands, /quit ends.", chat.engine.domain().ontology.title, chat.role, lanes(&roles));
    }
    let done = if a.demo { chat.demo() } else { chat.converse() };
    chat.used.finish(json);
    done
}

fn lanes(roles: &[String]) -> String {
    roles.iter().map(|r| format!("/{r}")).collect::<Vec<_>>().join(", ")
}

impl Chat {
    fn key(&self) -> SessionKey {
        SessionKey::new(&self.site, self.session.as_deref().unwrap_or(&self.role))
    }

    /// Answers what is typed, or a file's lines; plays the sample if there are none.
    fn converse(&mut self) -> Result<bool, Failure> {
        self.greet();
        if std::io::stdin().is_terminal() {
            let mut editor = rustyline::DefaultEditor::new().map_err(Failure::told)?;
            loop {
                match editor.readline(&format!("{}> ", self.role)) {
                    Ok(line) => {
                        let _ = editor.add_history_entry(&line);
                        if !self.line(&line) {
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
            self.echo(&line);
            if !self.line(&line) {
                break;
            }
        }
        if heard { Ok(true) } else { self.demo() }
    }

    /// What was typed, where no terminal shows it.
    fn echo(&self, line: &str) {
        if !self.json {
            println!("{}> {}", self.role, shown(line, CURRENCIES));
        }
    }

    fn greet(&mut self) {
        if self.json {
            return;
        }
        match self.engine.resume(&self.key(), &self.role) {
            Ok(Some(record)) => {
                println!("(the last turn was broken off; it goes on)");
                failed_calls(&record);
                println!("bot> {}", record.text);
            }
            Ok(None) => {}
            Err(e) => println!("({e})"),
        }
        let open = self.engine.store().open(&self.key(), &self.role).is_ok_and(|o| o.turn > 0);
        if !open && !self.greeted.contains(&self.role) {
            self.greeted.push(self.role.clone());
            if let Some(role) = self.engine.domain().ontology.roles.get(self.role.as_str()).filter(|r| !r.greeting.is_empty()) {
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
        if !self.json {
            println!("(nobody is typing, so here is a sample conversation)");
        }
        for line in text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
            self.echo(line);
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
        let live = self.live && !self.json;
        let mut begun = false;
        let mut hand_on = |sentence: &str| {
            if live {
                print!("{}{sentence}", if begun { " " } else { "bot> " });
                // What is checked is shown at once, not at the end of the line.
                let _ = std::io::stdout().flush();
                begun = true;
            }
        };
        let outcome = self.engine.turn_streaming(&self.key(), &self.role, said, None, &mut hand_on);
        if begun {
            println!();
        }
        match outcome {
            Ok(record) if self.json => {
                println!("{}", serde_json::to_string(&record).unwrap_or_default());
                self.used.add(&record);
            }
            Ok(record) => {
                if self.trace {
                    trace(&record);
                }
                for r in &record.refused {
                    println!("(refused {}: {})", r.text, r.message);
                }
                failed_calls(&record);
                if !begun {
                    println!("bot> {}", record.text);
                }
                self.used.add(&record);
                for line in self.used.warnings(&record) {
                    println!("({line})");
                }
                if let Some(end) = &record.ended {
                    println!("(the conversation ended: {end}; the next line begins a new one)");
                    if let Some(line) = self.used.conversation(&record) {
                        println!("({line})");
                    }
                    self.greeted.retain(|r| *r != self.role);
                }
            }
            Err(e) if self.json => println!("{}", serde_json::json!({ "error": e.to_string(), "text": e.polite() })),
            Err(e) => println!("bot> {}\n({e})", e.polite()),
        }
    }

    fn command(&mut self, command: &str) -> bool {
        let (word, rest) = command.split_once(' ').map_or((command, ""), |(w, r)| (w, r.trim()));
        match word {
            "quit" | "exit" => return false,
            "help" => println!(
                "/why [action]  /whynot ATOM  /whatif PREDICATE  /facts [kb|shared|session]  /order{}  /trace  /quit\nlanes: {}\n!PREDICATES speaks in predicates",
                if self.takes_back() { "  /undo" } else { "" },
                lanes(&self.roles())
            ),
            "why" => print!("{}", answers::because(&self.engine, &self.key(), rest).unwrap_or_else(aside)),
            "whynot" => print!("{}", answers::why_not(&self.engine, &self.key(), rest).unwrap_or_else(aside)),
            "whatif" => print!("{}", answers::what_if(&self.engine, &self.key(), &self.role, rest).unwrap_or_else(aside)),
            "facts" => self.facts(rest),
            "order" => self.order(),
            "undo" if !self.takes_back() => println!("(nothing can be taken back in this role; say what is to be different)"),
            "undo" => self.say(&Said::Predicates(&["undo".to_owned()])),
            "trace" => {
                self.trace = !self.trace;
                println!("(trace is {})", if self.trace { "on" } else { "off" });
                if let Some(line) = self.used.so_far().filter(|_| self.trace) {
                    println!("({line})");
                }
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

    fn takes_back(&self) -> bool {
        self.engine.domain().ontology.takes_back(&self.role)
    }

    fn roles(&self) -> Vec<String> {
        self.engine.domain().ontology.roles.keys().map(ToString::to_string).collect()
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
        let shape = &self.engine.domain().ontology.view;
        let last = self.engine.store().open(&self.key(), &self.role).map_err(TurnError::from).and_then(|o| self.engine.last_turn(&o));
        let text = last.map_err(|e| e.to_string()).and_then(|l| shape.text(&l.map(|r| r.view).unwrap_or_default()).map_err(|e| e.to_string()));
        match text {
            Ok(lines) if lines.is_empty() => println!("({})", shape.nothing.as_deref().unwrap_or("nothing is shown")),
            Ok(lines) => lines.iter().for_each(|l| println!("{l}")),
            Err(e) => println!("({e})"),
        }
    }
}

fn trace(record: &TurnRecord) {
    println!("  heard   {} ({}, {:.2})", record.arrived_text(), record.heard_by, record.confidence);
    println!("  actions {}", in_line(&record.actions));
    for e in &record.effects {
        println!("  effect  {e}");
    }
    for line in record.models.iter().flat_map(|m| used::lines(m)) {
        println!("  {line}");
    }
}

/// The calls that gave nothing, with the reason.
fn failed_calls(record: &TurnRecord) {
    for error in record.rounds.iter().flat_map(|r| &r.came).filter_map(|c| c.error.as_ref()) {
        println!("(call failed: {error})");
    }
}

/// What the program says beside the conversation.
fn aside(text: String) -> String {
    format!("({text})\n")
}
