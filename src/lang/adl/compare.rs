//! What will differ from MICA, the first implementation of the language, and where only a language model could go on: both with line and reason.

use super::names::{Callee, Scope};
use super::parse::{Data, Node, Word};
use super::python::Def;
use super::syntax::{Agent, Kind, Step, StepKind};
use crate::diag::{Diagnostic, Source};
use crate::ir::guard::Compare;
use crate::lang::expr::Expr;

/// A place with what is to be said of it.
type Told = (&'static str, std::ops::Range<usize>, String, &'static str);

/// What MICA does otherwise with a program, each under the row of the language's conformance list.
pub fn with_mica(source: &Source, scope: Scope<'_>, root: &Node, texts: &[Source]) -> Vec<Diagnostic> {
    let mut told: Vec<Told> = vec![];
    header(scope, root, &mut told);
    for agent in &scope.document.agents {
        agents(scope, agent, root, &mut told);
        for block in &agent.blocks {
            steps(scope, agent, &block.steps, false, texts, &mut told);
        }
    }
    finish(source, root, told)
}

/// Where the program needs a language model, and what is done without one.
pub fn without_model(source: &Source, scope: Scope<'_>, root: &Node) -> Vec<Diagnostic> {
    let mut told: Vec<Told> = vec![];
    for agent in &scope.document.agents {
        if let Some(prompt) = agent.prompt.as_ref().filter(|_| agent.kind == Kind::Llm) {
            let (does, help) = if agent.args.is_empty() {
                (
                    "has nothing but its prompt: without a model it ends with the error `needs a language model`",
                    "configure a model, or write it as a flow agent",
                )
            } else {
                (
                    "asks for its arguments one by one without a model, calls nothing, and ends with the error `needs a language model`",
                    "configure a model, or write it as a flow agent",
                )
            };
            told.push(("adl-offline", prompt.span.clone(), format!("`{}` {does}", agent.name.text), help));
        }
        if let Some(prompt) = agent.prompt.as_ref().filter(|_| agent.kind == Kind::Ensemble) {
            told.push((
                "adl-offline",
                prompt.span.clone(),
                format!("`{}` chooses by descriptions, not by its prompt, without a model", agent.name.text),
                "make the descriptions of its agents tell them apart",
            ));
        }
        for (field, policy) in [("fallback", &agent.fallback), ("exit", &agent.exit)] {
            let Some(word) = policy.as_ref().filter(|w| w.text.trim() != "default" && scope.document.agent(w.text.trim()).is_none()) else { continue };
            let message = format!("the `{field}` of `{}` is a policy in words: without a model the usual text is said", agent.name.text);
            told.push(("adl-offline", word.span.clone(), message, "name an agent that says what is to be said"));
        }
        for step in agent.steps() {
            let StepKind::If { branches, .. } = &step.kind else { continue };
            for b in branches.iter().filter(|b| read(scope, agent, &b.condition).is_some_and(|e| has_words(&e))) {
                let message = format!("`{}` is in plain words: without a model it holds if its telling words are said", b.condition.text);
                told.push(("adl-offline", b.condition.span.clone(), message, "compare an argument, or write `the user claims \"…\"`"));
            }
        }
    }
    finish(source, root, told)
}

fn finish(source: &Source, root: &Node, told: Vec<Told>) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = told
        .into_iter()
        .map(|(code, at, message, help)| {
            let path = super::error::path_of(root, at.start).join(".");
            Diagnostic { path: Some(path), ..Diagnostic::warning(code, source.origin(at), message).help(help) }
        })
        .collect();
    out.sort_by(|a, b| (&a.origin, a.code).cmp(&(&b.origin, b.code)));
    out.dedup();
    out
}

fn read(scope: Scope<'_>, agent: &Agent, written: &Word) -> Option<Expr> {
    super::names::read_condition(scope, agent, &written.text)
}

fn has_words(expr: &Expr) -> bool {
    match expr {
        Expr::All(parts) | Expr::Any(parts) => parts.iter().any(has_words),
        Expr::Not(part) => has_words(part),
        Expr::Words(..) => true,
        _ => false,
    }
}

const SAME: &str = "nothing has to be changed here";

fn header(scope: Scope<'_>, root: &Node, told: &mut Vec<Told>) {
    if let Some((key, _)) = root.members().iter().find(|(k, _)| k.text == "tools") {
        told.push(("P08", key.span.clone(), "MICA cannot load a program that has `tools`; here the files are loaded".to_owned(), SAME));
    }
    let kb: Vec<&Agent> = scope.document.agents.iter().filter(|a| a.kind == Kind::Kb).collect();
    let contained = |name: &str| scope.document.agents.iter().any(|a| a.contains.iter().any(|m| m.agent.text == name));
    if let Some(first) = kb.first().filter(|a| a.name.text != "main" && !contained(&a.name.text)) {
        let message = format!("MICA asks `{}` on every routed turn though no ensemble contains it; here only who is contained is asked", first.name.text);
        told.push(("K01", first.name.span.clone(), message, "contain it in the ensemble"));
    }
    for agent in kb.iter().skip(1) {
        told.push((
            "K01",
            agent.name.span.clone(),
            format!("MICA reads the first kb agent only and never asks `{}`; here each has its own content", agent.name.text),
            SAME,
        ));
    }
    if let Some(main) = scope.document.agent("main") {
        let lone = matches!(main.blocks.first().map(|b| b.steps.as_slice()), Some([Step { kind: StepKind::Call { .. }, .. }]));
        if main.kind != Kind::Flow {
            told.push(("M01", main.name.span.clone(), format!("MICA raises an error where `main` is {}; here it may be of any type", main.kind.name()), SAME));
        } else if !lone {
            told.push(("M02", main.name.span.clone(), "MICA runs one step of `main` a message; here it goes as any other flow".to_owned(), SAME));
        } else {
            told.push((
                "M03",
                main.name.span.clone(),
                "after the called agent ended, MICA fails on the next message; here `main` goes on, and its end closes the conversation".to_owned(),
                SAME,
            ));
        }
    }
}

fn agents(scope: Scope<'_>, agent: &Agent, root: &Node, told: &mut Vec<Told>) {
    let name = &agent.name.text;
    let fields = root.get(name).map(Node::members).unwrap_or_default();
    let key = |field: &str| fields.iter().find(|(k, _)| k.text == field).map(|(k, _)| k.span.clone());
    let talks = matches!(agent.kind, Kind::Llm | Kind::Kb);
    for field in ["fallback", "exit"] {
        if let Some(at) = key(field).filter(|_| talks || (field == "exit" && agent.kind == Kind::Flow)) {
            told.push(("H03", at, format!("MICA refuses `{field}` on {}; here every type has it", agent.kind.name()), SAME));
        }
    }
    if let Some(at) = key("args").filter(|_| agent.kind == Kind::Kb) {
        told.push(("H03", at, "MICA refuses `args` on a kb agent; here every type has them".to_owned(), SAME));
    }
    if let Some((at, _)) = key("args").zip(root.get(name).and_then(|n| n.get("args"))).filter(|(_, n)| matches!(n.data, Data::Scalar { .. }) && !n.is_nothing())
    {
        told.push(("H04", at, "MICA makes one argument of each letter; here one word is one name".to_owned(), "write a list, to be sure in both"));
    }
    for (arg, _) in agent.args.iter().filter(|(a, _)| matches!(a.text.to_lowercase().as_str(), "y" | "n" | "yes" | "no" | "on" | "off")) {
        told.push(("P07", arg.span.clone(), format!("MICA reads `{}` as a boolean; here it is a name", arg.text), "put it in quotes, to be sure in both"));
    }
    let in_words = |w: &&Word| w.text.trim() != "default" && scope.document.agent(w.text.trim()).is_none();
    if let Some(word) = agent.fallback.as_ref().filter(|_| !talks).filter(in_words) {
        told.push((
            "H06",
            word.span.clone(),
            "MICA says this policy word for word; here a model words it, and the usual text is said without one".to_owned(),
            "name an agent, if a fixed text is wanted",
        ));
    }
    if let Some(word) = agent.exit.as_ref().filter(|_| agent.kind == Kind::Ensemble) {
        let message = if word.text.trim() == "default" {
            "MICA keeps silence only in its designer; here every channel with a clock asks three times, then closes"
        } else if in_words(&word) {
            "MICA fails on an exit policy in words; here it is followed"
        } else {
            "MICA's designer alone runs this; here it runs at the decision `exit`"
        };
        told.push(("H08", word.span.clone(), message.to_owned(), SAME));
    }
    if let Some(at) = key("prompt").filter(|_| agent.kind == Kind::Ensemble) {
        told.push(("E14", at, "MICA refuses the `prompt` of an ensemble; here it tells the model how to choose".to_owned(), SAME));
    }
    if let Some(at) = key("steps").filter(|_| agent.kind == Kind::Llm) {
        told.push(("L02", at, "MICA runs these steps only where an ensemble chose the agent; here once an activation, whoever started it".to_owned(), SAME));
    }
    for source in &agent.sources {
        let text = source.text.to_lowercase();
        if text.starts_with("www.") {
            told.push(("K06", source.span.clone(), "MICA takes this for a file and leaves it out; here it is an address".to_owned(), SAME));
        } else if !text.starts_with("http") && std::path::Path::new(&text).extension().is_some() {
            told.push(("K04", source.span.clone(), "MICA walks folders only and finds nothing here; here a file is read, too".to_owned(), SAME));
        }
    }
    for member in &agent.contains {
        let below = fields.iter().find(|(k, _)| k.text == "contains").and_then(|(_, v)| v.list()).unwrap_or_default();
        let item = below.iter().find(|i| i.members().iter().any(|(k, _)| k.span == member.agent.span));
        let list = item.and_then(|i| i.get(&member.agent.text)).and_then(|n| n.get("args")).is_some_and(|a| a.list().is_some());
        if list || item.is_some_and(|i| i.get("args").is_some()) {
            told.push((
                "E02",
                member.agent.span.clone(),
                format!("MICA fails on these `args` of `{}`; here a list and `args` beside the name are read, too", member.agent.text),
                "write a map below the name, to be sure in both",
            ));
        }
        if scope.document.agent(&member.agent.text).is_some_and(|a| a.kind == Kind::Ensemble) {
            told.push((
                "E13",
                member.agent.span.clone(),
                "MICA swallows the message where nobody of the inner ensemble fits; here the outer one chooses again".to_owned(),
                SAME,
            ));
        }
    }
    if agent.kind == Kind::Ensemble && agent.fallback.is_none() {
        told.push((
            "H07",
            agent.name.span.clone(),
            "MICA fails where nobody fits and no fallback is declared; here nothing is said".to_owned(),
            "declare a `fallback`, if something is to be said",
        ));
    }
    if let Some(Node { data: Data::List(items), .. }) = root.get(name).and_then(|n| n.get("steps"))
        && let Some(begin) = items.iter().find(|i| i.word().is_some_and(|w| w.text.trim() == "begin") || i.get("begin").is_some())
    {
        told.push((
            "F04",
            begin.span.clone(),
            "MICA does not know `begin` and `end`; here they make blocks".to_owned(),
            "write subflows as keys beside `steps`, to be sure in both",
        ));
    }
}

fn steps(scope: Scope<'_>, agent: &Agent, list: &[Step], inside: bool, texts: &[Source], told: &mut Vec<Told>) {
    for (n, step) in list.iter().enumerate() {
        let last = n + 1 == list.len() && !inside;
        let at = step.span.clone();
        match &step.kind {
            StepKind::Bot(said) if said.text.parse::<f64>().is_ok() => {
                told.push(("P01", at, "MICA says nothing for a number; here it is said".to_owned(), "put it in quotes, to be sure in both"))
            }
            StepKind::Set(pairs) => {
                for (target, value) in pairs.iter().filter(|(_, v)| matches!(&v.data, Data::Scalar { text, .. } if text == "None")) {
                    let _ = value;
                    told.push(("S05", target.span.clone(), "MICA stores the text \"None\"; here the value is cleared".to_owned(), SAME));
                }
            }
            StepKind::Call { target, args, .. } => call(scope, agent, target, args, texts, told),
            StepKind::Next { target, .. } if agent.blocks.iter().any(|b| b.name.text == target.text) && !last => {
                told.push((
                    "F05",
                    target.span.clone(),
                    "MICA goes to the subflow and never comes back; here the steps after it follow".to_owned(),
                    "put a `return` after it, if nothing is to follow",
                ));
            }
            StepKind::Return { message, .. } if message.text.contains(',') => {
                told.push(("S10", at, "MICA loses a message with a comma and reports success; here it is kept".to_owned(), SAME));
            }
            StepKind::If { branches, otherwise } => {
                if !otherwise.is_empty() {
                    let (row, message) = if inside {
                        ("C11", "MICA drops the `else` of a condition inside another one; here it is taken")
                    } else {
                        ("C06", "MICA fails when an `else` runs; here it is taken")
                    };
                    told.push((row, at, message.to_owned(), SAME));
                }
                for b in branches {
                    condition(scope, agent, &b.condition, told);
                    if b.tries.is_none() {
                        steps(scope, agent, &b.then, true, texts, told);
                    }
                }
                steps(scope, agent, otherwise, true, texts, told);
            }
            _ => {}
        }
    }
}

fn call(scope: Scope<'_>, agent: &Agent, target: &Word, args: &[(Word, Node)], texts: &[Source], told: &mut Vec<Told>) {
    match scope.callee(agent, &target.text) {
        Some(Callee::Block(_)) => {
            told.push(("F05", target.span.clone(), "MICA passes over the call of a subflow; here it is entered and comes back".to_owned(), SAME))
        }
        Some(Callee::Agent(other)) if other.kind == Kind::Kb => {
            told.push(("K03", target.span.clone(), "MICA says nothing where a kb agent is called; here its answer is said".to_owned(), SAME))
        }
        Some(Callee::Agent(_)) if !agent.labels().is_empty() => {
            told.push(("F08", target.span.clone(), "MICA runs this call once an activation; here it runs each time it is reached".to_owned(), SAME));
        }
        Some(Callee::Function(f)) => {
            let body = texts.iter().find(|t| *t.name == *f.file).map_or("", |t| body(&t.text, &f.def));
            if body.contains("status") {
                told.push((
                    "T07",
                    target.span.clone(),
                    format!("`{}` gives a status, which in MICA ends the calling agent; here it can be read and the flow goes on", target.text),
                    SAME,
                ));
            }
            for (name, value) in args {
                if let Data::Scalar { text, .. } = &value.data
                    && scope.path(agent, text).is_none()
                {
                    told.push(("T11", name.span.clone(), format!("MICA gives None for `{text}`, or cannot load it; here it is given as it stands"), SAME));
                }
            }
        }
        _ => {}
    }
}

/// A function's lines: up to the next line at the top level.
fn body<'a>(text: &'a str, def: &Def) -> &'a str {
    let rest = text.get(def.span.end..).unwrap_or("");
    let end = rest
        .match_indices('\n')
        .find(|(n, _)| rest.get(n + 1..).is_some_and(|r| r.starts_with("def ") || r.starts_with("async ") || r.starts_with("class ")))
        .map_or(rest.len(), |(n, _)| n);
    rest.get(..end).unwrap_or("")
}

fn condition(scope: Scope<'_>, agent: &Agent, written: &Word, told: &mut Vec<Told>) {
    let Some(expr) = read(scope, agent, written) else { return };
    let mut say = |row, message: &str, help| told.push((row, written.span.clone(), message.to_owned(), help));
    let (mut intent, mut other) = (false, false);
    for part in parts(&expr) {
        match part {
            Expr::Claims(..) => intent = true,
            Expr::Bare(side) if side.text.contains('.') => {
                other = true;
                say("C07", "MICA fails on an outcome by itself; here it is a boolean", "compare its status, to be sure in both");
            }
            Expr::Match(pattern, _) => {
                other = true;
                if pattern.contains([',', ')']) {
                    say("C09", "MICA breaks patterns with commas or parentheses; here they mean what they mean in Python", SAME);
                }
            }
            Expr::Words(..) => {}
            Expr::Compare(left, op, right) => {
                other = true;
                if matches!(op, Compare::More | Compare::Less | Compare::AtLeast | Compare::AtMost) {
                    say("C05", "MICA fails where one side has no value; here the comparison does not hold", SAME);
                }
                if right.quoted && (right.text.contains(" and ") || right.text.contains(" or ") || right.text.contains('(')) {
                    say("C08", "MICA splits at `and`, `or` and parentheses inside of quotes; here quotes protect them", SAME);
                }
                if !left.quoted && scope.path(agent, &left.text).is_none() {
                    say("C10", "MICA compares an undeclared name by its spelling; here it has no value", "declare it under `args`");
                }
            }
            _ => other = true,
        }
    }
    if intent && other {
        told.push(("C12", written.span.clone(), "MICA looks at the claim alone; here both parts count".to_owned(), SAME));
    }
}

/// The parts that are joined by `and`, `or` and `not`.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::All(inner) | Expr::Any(inner) => inner.iter().flat_map(parts).collect(),
        Expr::Not(inner) => parts(inner),
        part => vec![part],
    }
}
