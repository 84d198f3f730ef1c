//! `verify`: the rules of a domain checked over all short conversations, and counterexamples as dialogue files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::said::{self, Turns, unsayable};
use crate::act::Returned;
use crate::diag::{Diagnostic, Source, yaml};
use crate::domain::{Domain, signature};
use crate::ir::graph::{Flow, Node};
use crate::ontology::{Ontology, Scope};
use crate::reason::verify::{Goal, Model, Searched, Speaker, Versions, Violation, verify};
use crate::reason::{Base, ReasonError, Rules};
use crate::term::{Atom, Name, Term};
use crate::turn::version;
use crate::understand::flow::cues::Signals;

/// Why a domain could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// `kb/<domain>/verify.yaml` is missing or wrong.
    #[error("`{file}`: {message}")]
    Universe {
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// The properties cannot be read.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Properties(Vec<Diagnostic>),
    /// A decision failed.
    #[error(transparent)]
    Reason(#[from] ReasonError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Universe {
    depth: usize,
    roles: BTreeMap<String, Vec<Vec<Atom>>>,
    /// How many conversations of a role may be open at once; one if unsaid.
    #[serde(default)]
    sessions: BTreeMap<String, usize>,
    #[serde(default)]
    reachable: Vec<Reachable>,
    #[serde(default)]
    forget: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reachable {
    name: String,
    role: String,
    from: String,
    by: Vec<Vec<Atom>>,
    /// Reached with any of these; one or several.
    goal: OneOrMore,
    #[serde(default)]
    within: Option<usize>,
}

/// An atom, or a list of atoms.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(Atom),
    More(Vec<Atom>),
}

impl From<OneOrMore> for Vec<Atom> {
    fn from(goal: OneOrMore) -> Self {
        match goal {
            OneOrMore::One(atom) => vec![atom],
            OneOrMore::More(atoms) => atoms,
        }
    }
}

/// What is said in a universe, with its places.
#[derive(Deserialize)]
struct Said {
    roles: BTreeMap<String, Turns>,
    #[serde(default)]
    reachable: Vec<By>,
}

#[derive(Deserialize)]
struct By {
    role: String,
    by: Turns,
}

/// What is wrong with a universe before anybody searches it: its form, and what its roles cannot say.
pub fn faults(source: &Source, ontology: &Ontology) -> Vec<Diagnostic> {
    let read = yaml::read::<Universe>(source, "D005").and_then(|_| yaml::read::<Said>(source, "D005"));
    match read {
        Err(d) => vec![d],
        Ok(said) => {
            let goals = said.reachable.iter().map(|r| (&r.role, &r.by));
            said.roles.iter().chain(goals).flat_map(|(role, turns)| said::check(source, ontology, role, turns)).collect()
        }
    }
}

/// Checks a domain; `depth` overrides its own.
pub fn domain(domain: &Domain, depth: Option<usize>, time: Duration) -> Result<Searched, VerifyError> {
    let name = &domain.ontology.domain;
    let file = format!("kb/{name}/verify.yaml");
    let wrong = |message: String| VerifyError::Universe { file: file.clone(), message };
    let (universe, somewhere) = match domain.program.as_ref().and_then(|p| p.graph()) {
        Some(flow) => (of_graph(flow), nodes(flow)),
        None => {
            let missing = || wrong("there is no such file: it says what everybody may say in the search (see docs/verify.md)".into());
            let text = domain.files.read(&file).ok_or_else(missing)?;
            (serde_saphyr::from_str(&text).map_err(|e| wrong(e.without_snippet().to_string()))?, vec![])
        }
    };
    let mut speakers = Vec::new();
    for (role, turns) in &universe.roles {
        let rules = domain.rules.get(role.as_str()).ok_or_else(|| wrong(format!("`{role}` is no role")))?;
        for p in turns.iter().flatten() {
            if let Some(message) = unsayable(&domain.ontology, role, p) {
                return Err(wrong(message));
            }
        }
        let base = Base::build(rules, &domain.facts, &[])?;
        let sessions = universe.sessions.get(role).copied().unwrap_or(1);
        let collects = domain.ontology.may_change_kb(role);
        speakers.push(Speaker { role: role.as_str().into(), base, turns: turns.clone(), sessions, collects, results: results(domain, role) });
    }
    if let Some(role) = universe.sessions.keys().find(|r| !universe.roles.contains_key(*r)) {
        return Err(wrong(format!("`sessions`: the role `{role}` says nothing")));
    }
    let mut goals = Vec::new();
    for r in universe.reachable {
        if !universe.roles.contains_key(&r.role) {
            return Err(wrong(format!("`{}`: the role `{}` says nothing above", r.name, r.role)));
        }
        let from = predicate(&r.from).ok_or_else(|| wrong(format!("`{}` is no name/arity", r.from)))?;
        goals.push(Goal { name: r.name, role: r.role.as_str().into(), from, by: r.by, reached: r.goal.into(), within: r.within });
    }
    let forget = universe.forget.iter().map(|f| predicate(f).ok_or_else(|| wrong(format!("`{f}` is no name/arity")))).collect::<Result<_, _>>()?;
    let may_change = |role: &str, scope: &str, fact: &Atom| {
        let scope = if scope == "kb" { Scope::Kb } else { Scope::Shared };
        domain.ontology.may_change(role, scope, &fact.name, fact.args.len())
    };
    let settle = |facts: &[Atom]| crate::ir::settle(domain.program.as_deref(), &domain.guards, facts, &[]);
    let kb: BTreeSet<Atom> = domain.facts.iter().cloned().collect();
    let sound = domain.kb_rules.as_ref().map(|rules| Base::build(rules, &domain.facts, &[])).transpose()?;
    let versions = Versions { kb: &kb, sound, shown: &version::wanted };
    let model = Model {
        versions,
        settle: &settle,
        somewhere,
        speakers,
        properties: properties(domain)?,
        may_change: &may_change,
        goals,
        forget,
        depth: depth.unwrap_or(universe.depth),
        time,
        confirm_every: 500,
    };
    Ok(verify(&model)?)
}

/// How the calls that a role may make can come back: as the stand-ins answer, and with a fault. Of a program's functions, whose results nobody
/// declares in full: with everything that is told or looked at, with a refusal, and with nothing.
fn results(domain: &Domain, role: &str) -> Vec<Vec<Atom>> {
    let mut out = vec![];
    for f in domain.ontology.functions.iter().filter(|f| f.roles.iter().any(|r| &**r == role)) {
        let name = Term::string(&f.name);
        let mut answers: Vec<Value> = f.stand_in.iter().filter(|s| s.fault.is_none()).map(|s| s.answer.clone()).collect();
        if let Some(flow) = domain.program.as_ref().and_then(|p| p.graph()) {
            let mut full: serde_json::Map<String, Value> = f.outputs.iter().map(|o| (o.name.clone(), json!("something"))).collect();
            for (what, output) in flow.nodes.iter().flat_map(|n| &n.looks_at) {
                full.insert(output.clone(), if what == "judge" { json!("yes") } else { json!(["one", "two", "three"]) });
            }
            full.insert("done".to_owned(), json!(true));
            answers = vec![Value::Object(full), json!({ "Message": "unavailable" }), Value::Null];
        }
        let input = |how: Term| Atom::new("returned", vec![Term::Int(1), name.clone(), how]);
        for value in answers {
            let gave = Returned { function: f.name.clone(), id: "call".to_owned(), value, attempts: 1, millis: 0 };
            out.push([input(Term::constant("ok"))].into_iter().chain(gave.facts()).collect());
        }
        let fault = Term::Fun("fault".into(), vec![Term::string("failed")]);
        out.push(vec![input(fault), Atom::new("fault", vec![name.clone(), Term::string("failed")])]);
    }
    out
}

/// What can be said to a graph: words that carry signals only, every slot given, withheld or changed, and all slots at once.
fn of_graph(flow: &Flow) -> Universe {
    let signals = |words: &str| Signals::of(words).iter().map(|s| Atom::new("hears", vec![Term::constant(s)])).collect::<Vec<_>>();
    let gives = |slot: &str, value: &str| Atom::new("gives", vec![Term::string(slot), Term::string(value)]);
    let mut turns: Vec<Vec<Atom>> = ["hello", "yes please", "no", "thank you", "goodbye", "what do you mean?"].map(signals).to_vec();
    let slots: Vec<&str> = flow.slots().into_iter().map(|(_, s)| s.name.as_str()).collect();
    turns.extend(slots.iter().map(|s| vec![gives(s, "given")]));
    turns.extend(slots.iter().map(|s| [signals("i don't know"), vec![Atom::new("withholds", vec![Term::string(s)])]].concat()));
    turns.extend((slots.len() > 1).then(|| slots.iter().map(|s| gives(s, "given")).collect()));
    turns.extend(slots.first().map(|s| vec![gives(s, "otherwise")]));
    Universe { depth: 12, roles: [("speaker".to_owned(), turns)].into(), sessions: BTreeMap::new(), reachable: vec![], forget: vec![] }
}

/// What is shown of the nodes that a graph's author wants to be reached.
fn nodes(flow: &Flow) -> Vec<Atom> {
    let speaks = |n: &&Node| !n.slots().is_empty() || !n.acts.is_empty() || n.calls().is_some();
    flow.nodes.iter().filter(speaks).map(|n| Atom::new("view", vec![Term::constant("node"), Term::Int(n.id)])).collect()
}

/// The domain's own properties: `rules/<domain>/invariants.lp`; graphs share theirs.
fn properties(domain: &Domain) -> Result<Option<Base>, VerifyError> {
    let of = domain.program.as_ref().and_then(|p| p.graph()).map_or(&*domain.ontology.domain, |_| "chief");
    let path = |n: &str| format!("rules/{of}/{n}");
    let Some(text) = domain.files.read(&path("invariants.lp")) else { return Ok(None) };
    let mut sources = vec![Source::new(&path("invariants.lp"), &text)];
    sources.extend(domain.files.read(&path("shared.lp")).map(|t| Source::new(&path("shared.lp"), &t)));
    let mut signature = signature(&domain.ontology);
    for (name, arity) in [("before", 1), ("act", 3), ("effect", 3), ("view", 2), ("view", 3), ("view", 4), ("changed", 2), ("do", 2), ("with", 3)] {
        signature.turn.push((Name::from(name), arity));
    }
    let rules = Rules::load(&sources, &signature).map_err(VerifyError::Properties)?;
    Ok(Some(Base::build(&std::sync::Arc::new(rules), &domain.facts, &[])?))
}

/// A predicate written as `name/arity`.
fn predicate(text: &str) -> Option<(Name, usize)> {
    let (name, arity) = text.split_once('/')?;
    Some((name.trim().into(), arity.trim().parse().ok()?))
}

/// A counterexample as a dialogue file, which `duologue test` runs: it fails as long as the property is violated.
pub fn dialogue(domain: &str, violations: &[Violation]) -> String {
    let mut out = format!("# Conversations that break a property of {domain}, found by `duologue verify`. Each fails until the rules are repaired.\n");
    let quoted = |t: &str| serde_json::to_string(t).unwrap_or_default();
    for (n, v) in violations.iter().enumerate() {
        out.push_str(&format!("- id: V{:02}\n  title: {}\n  steps:\n", n + 1, quoted(&format!("{}: {}", v.property, v.detail))));
        // What calls give comes of itself: as the stand-ins answer.
        for (at, (role, said)) in v.turns.iter().enumerate().filter(|(_, (_, said))| said.first().is_none_or(|a| &*a.name != "returned")) {
            let parsed = said.iter().map(|p| quoted(&p.to_string())).collect::<Vec<_>>().join(", ");
            let session = if role.contains(' ') { format!("    session: {role}\n") } else { String::new() };
            let role = role.split(' ').next().unwrap_or(role);
            out.push_str(&format!("  - who: {role}\n{session}    parsed: [{parsed}]\n"));
            let wanted = v.wanted.as_ref().filter(|_| at + 1 == v.turns.len());
            match wanted.map(|w| (&*w.name, w.args.as_slice())) {
                Some(("act", [_, _, action])) => out.push_str(&format!("    expect: [{}]\n", quoted(&action.to_string()))),
                Some(("effect", [Term::Const(op), _, status])) if &**op == "end" => out.push_str(&format!("    ended: {}\n", quoted(&status.to_string()))),
                _ => {}
            }
        }
    }
    out
}

/// The findings in words; `all` names every rule that never fired.
pub fn text(report: &Searched, all: bool) -> String {
    let mut out = format!(
        "{} states, {} turns ({} different decisions, {} of them confirmed by clingo) in {:.1} s: all conversations of up to {} turns\n",
        report.states, report.steps, report.decisions, report.confirmed, report.seconds, report.depth
    );
    for v in &report.violations {
        out.push_str(&format!("\nVIOLATED {}: {}\n", v.property, v.detail));
        for (n, (role, said)) in v.turns.iter().enumerate() {
            out.push_str(&format!("  {}. {role}: {}\n", n + 1, said.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
        }
    }
    for g in &report.undecided {
        out.push_str(&format!("\nUNDECIDED {g}: neither a way nor its absence was found in the time; give more --seconds or fewer turns\n"));
    }
    if report.violations.is_empty() {
        out.push_str("no property is violated\n");
    } else {
        out.push_str(&format!("\n{} properties are violated; --dialogues FILE writes the conversations for `duologue test`\n", report.violations.len()));
    }
    let silent = report.never_fired.len();
    if silent > 0 {
        out.push_str(&format!("{silent} of {} rules derived nothing in these conversations", report.rules));
        let named = if all { silent } else { 0 };
        out.push_str(if all { ":\n" } else { " (--silent names them)\n" });
        report.never_fired.iter().take(named).for_each(|r| out.push_str(&format!("  {r}\n")));
    }
    out
}
