//! Domains: an ontology with its rules, facts and templates, from a folder or built into the binary.

pub mod ends;
pub mod files;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Origin, Severity, Source};
use crate::ir::Program;
use crate::ir::guard::Guard;
use crate::ontology::{CALL_FACTS, Ontology, Scope, Settled, parse};
use crate::reason::syntax::parse::parse as parse_rules;
use crate::reason::syntax::{Expr, Head, Kind};
use crate::reason::{self, Rules, Signature, reflect};
use crate::render::faithful::grammar::Grammar;
use crate::render::templates::Templates;
use crate::term::{Atom, Name, Term};

pub use files::Files;

/// What a turn brings beside the stored facts, as the rules see it.
pub const TURN_PREDICATES: &[(&str, usize)] = &[
    ("in", 2),
    ("heard", 2),
    ("walk", 2),
    ("met", 1),
    ("unmet", 1),
    ("faulty", 2),
    ("refused", 2),
    ("role", 1),
    ("unsure", 3),
    ("unheard", 2),
    ("doubt", 2),
    ("similar", 3),
    ("collected_add", 1),
    ("collected_del", 1),
    ("collecting_add", 2),
    ("collecting_del", 2),
    ("concerns", 2),
    ("void", 2),
];

/// Everything that makes a domain: data only.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Its vocabulary.
    pub ontology: Arc<Ontology>,
    /// The compiled rules of each role's agent.
    pub rules: BTreeMap<Name, Arc<Rules>>,
    /// What every version of the kb must hold to, as rules that derive `violation(Name,What)` from it: `rules/<domain>/kb.lp`.
    pub kb_rules: Option<Arc<Rules>>,
    /// The facts that a new site begins with, sorted.
    pub facts: Arc<Vec<Atom>>,
    /// What a program says of itself, as facts that hold at every site.
    pub written: Arc<Vec<Atom>>,
    /// What the actions sound like.
    pub templates: Arc<Templates>,
    /// How actions may be worded otherwise.
    pub replies: Arc<Grammar>,
    /// The files it was read from.
    pub files: Files,
    /// Conditions that are settled before rules decide, by number.
    pub guards: Arc<Vec<Guard>>,
    /// The program that it was lowered from, if it was not written as a domain.
    pub program: Option<Arc<Program>>,
    /// Where facts were written, as far as a program says it.
    pub origins: Arc<BTreeMap<Atom, Origin>>,
    /// What is settled for the sites it works on, beyond what they settled before.
    pub settled: Settled,
    /// What is odd but no error.
    pub warnings: Vec<Diagnostic>,
}

impl Domain {
    /// Loads a domain by name, with every mistake of every file if it cannot be used.
    pub fn load(files: &Files, name: &str) -> Result<Self, Vec<Diagnostic>> {
        let file = format!("kb/{name}/ontology.yaml");
        let Some(text) = files.read(&file) else {
            let origin = Origin { file: file.as_str().into(), start: 0, end: 0, line: 1, column: 1 };
            let known = files.domains().join(", ");
            return Err(vec![Diagnostic::error("D001", origin, format!("there is no domain `{name}`")).help(format!("the domains here are: {known}"))]);
        };
        let mut facts = vec![];
        let mut found = vec![];
        for path in files.list(&format!("kb/{name}/"), ".lp") {
            let (atoms, errors) = read_facts(&Source::new(&path, &files.read(&path).unwrap_or_default()));
            facts.extend(atoms);
            found.extend(errors);
        }
        facts.sort();
        facts.dedup();
        let path = format!("kb/{name}/templates.yaml");
        let Some(templates) = files.read(&path).map(|text| Source::new(&path, &text)) else {
            found.push(no_templates(&path));
            found.extend(parse::ontology(&Source::new(&file, &text)).1);
            return Err(dedup(found));
        };
        match Self::assemble(files, &Source::new(&file, &text), &templates, |_| {}) {
            Ok(mut domain) if found.iter().all(|d| d.severity == Severity::Warning) => {
                domain.begin_with(facts);
                domain.warnings = dedup(found.into_iter().chain(domain.warnings).collect());
                Ok(domain)
            }
            Ok(_) => Err(dedup(found)),
            Err(more) => Err(dedup(found.into_iter().chain(more).collect())),
        }
    }

    /// A domain from its vocabulary, which may still be completed, and its templates; it has no facts yet.
    pub fn assemble(files: &Files, vocabulary: &Source, templates: &Source, complete: impl FnOnce(&mut Ontology)) -> Result<Self, Vec<Diagnostic>> {
        let (ontology, mut found) = parse::ontology(vocabulary);
        let Some(mut ontology) = ontology else { return Err(found) };
        complete(&mut ontology);
        let signature = signature(&ontology);
        let mut rules = BTreeMap::new();
        let mut loaded: Vec<(&[String], Arc<Rules>)> = vec![];
        for (role, declared) in &ontology.roles {
            if let Some((_, same)) = loaded.iter().find(|(files, _)| *files == declared.rules) {
                rules.insert(role.clone(), same.clone());
                continue;
            }
            let mut sources = vec![];
            for rule_file in &declared.rules {
                match rule_source(rule_file, &|path| files.read(path).map(|text| Source::new(path, &text))) {
                    Some(source) => sources.push(source),
                    None => found.push(missing_file(&vocabulary.name, &vocabulary.text, rule_file)),
                }
            }
            match Rules::load(&sources, &signature) {
                Ok(r) => {
                    let r = Arc::new(r);
                    loaded.push((&declared.rules, r.clone()));
                    rules.insert(role.clone(), r);
                }
                Err(errors) => found.extend(errors),
            }
        }
        let path = format!("rules/{}/kb.lp", ontology.domain);
        let kb_rules = match files.read(&path).map(|text| Rules::load(&[Source::new(&path, &text)], &signature)) {
            Some(Ok(rules)) => Some(Arc::new(rules)),
            Some(Err(errors)) => {
                found.extend(errors);
                None
            }
            None => None,
        };
        let path = format!("kb/{}/wordings.yaml", ontology.domain);
        let bank = files.read(&path).map(|text| Source::new(&path, &text));
        let read = bank.map_or_else(|| Templates::load(templates, &ontology), |bank| Templates::with_bank(templates, &bank, &ontology));
        let templates = match read {
            Ok(t) => Some(t),
            Err(errors) => {
                found.extend(errors);
                None
            }
        };
        let facts = ontology.with_settings(&[], &Settled::default(), &[]);
        let replies = ["core", &ontology.domain].map(|d| format!("kb/{d}/replies.yaml"));
        let sources: Vec<Source> = replies.iter().filter_map(|path| files.read(path).map(|text| Source::new(path, &text))).collect();
        let replies = Grammar::load(&sources).map_err(|errors| found.extend(errors)).unwrap_or_default();
        match templates {
            Some(templates) if found.iter().all(|d| d.severity == Severity::Warning) => Ok(Self {
                ontology: Arc::new(ontology),
                rules,
                kb_rules,
                facts: Arc::new(facts),
                written: Arc::default(),
                templates: Arc::new(templates),
                replies: Arc::new(replies),
                files: files.clone(),
                guards: Arc::default(),
                program: None,
                origins: Arc::default(),
                settled: Settled::default(),
                warnings: dedup(found),
            }),
            _ => Err(dedup(found)),
        }
    }

    /// Who may speak, as a list to read.
    pub fn roles(&self) -> String {
        self.rules.keys().map(|role| &**role).collect::<Vec<_>>().join(", ")
    }

    /// Sites begin with these facts and the settings that they do not say.
    pub fn begin_with(&mut self, facts: Vec<Atom>) {
        self.facts = Arc::new(self.ontology.with_settings(&facts, &self.settled, &facts));
    }

    /// Settles `NAME=VALUE` for the sites that it works on from now on.
    pub fn settle(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = self.ontology.settle(text)?;
        self.settled.insert(name, value);
        self.begin_with(self.facts.to_vec());
        Ok(())
    }

    /// What a site of this base holds once everything is settled for it; its other facts stay as they are.
    pub fn settled_for(&self, base: &[Atom]) -> Vec<Atom> {
        self.ontology.with_settings(base, &self.settled, base)
    }
}

/// A rule file as a role lists it. `core/allocate.lp(pick)` is the file with `pick` for every `this`: rules that several steps
/// of one turn need are written once, and each step has them under its own name, so that steps may build on each other.
pub fn rule_source(listed: &str, read: &dyn Fn(&str) -> Option<Source>) -> Option<Source> {
    let Some((file, name)) = listed.strip_suffix(')').and_then(|l| l.split_once('(')) else { return read(&format!("rules/{listed}")) };
    let source = read(&format!("rules/{file}"))?;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut text = String::with_capacity(source.text.len());
    let mut rest = &*source.text;
    while let Some(at) = rest.find("this") {
        let (before, after) = (rest.get(..at).unwrap_or_default(), rest.get(at + 4..).unwrap_or_default());
        let whole = !before.ends_with(word) && !after.starts_with(word);
        text.push_str(before);
        text.push_str(if whole { name } else { "this" });
        rest = after;
    }
    text.push_str(rest);
    Some(Source::new(&source.name, &text))
}

/// The predicates that rules of a domain may use without deriving them.
pub fn signature(ontology: &Ontology) -> Signature {
    let scope = |s: Scope| match s {
        Scope::Kb => reason::Scope::Kb,
        Scope::Shared => reason::Scope::Shared,
        Scope::Session => reason::Scope::Session,
    };
    Signature {
        stored: (ontology.facts.iter().map(|f| ((f.name.clone(), f.args.len()), scope(f.scope))))
            .chain(CALL_FACTS.iter().map(|(name, arity)| ((Name::from(*name), *arity), reason::Scope::Session)))
            .chain([((reflect::KB_MENTIONS.into(), 2), reason::Scope::Kb)])
            .collect(),
        turn: TURN_PREDICATES.iter().chain(&reflect::MOVING).map(|(n, a)| (Name::from(*n), *a)).collect(),
    }
}

/// The ground facts of a rule file; anything else in it is an error.
pub fn read_facts(source: &Source) -> (Vec<Atom>, Vec<Diagnostic>) {
    let (statements, mut found) = parse_rules(source);
    let mut atoms = vec![];
    for s in statements {
        let Kind::Rule { head: Head::Atom(pattern), body } = &s.kind else {
            found.push(Diagnostic::error("D003", s.origin.clone(), "a fact file holds facts only").help("move rules to the folder rules/"));
            continue;
        };
        let args: Option<Vec<Term>> = pattern.args.iter().map(Expr::ground).collect();
        match args {
            Some(args) if body.is_empty() => atoms.push(Atom { name: pattern.name.clone(), args }),
            _ => found.push(Diagnostic::error("D003", s.origin.clone(), "a fact file holds ground facts only").help("move rules to the folder rules/")),
        }
    }
    (atoms, found)
}

/// Without templates nothing could be said.
pub fn no_templates(path: &str) -> Diagnostic {
    let origin = Origin { file: path.into(), start: 0, end: 0, line: 1, column: 1 };
    Diagnostic::error("D004", origin, format!("there is no file `{path}`")).help("write it: it says what the actions sound like (see docs/templates.md)")
}

fn missing_file(file: &str, text: &str, name: &str) -> Diagnostic {
    let start = text.find(name).unwrap_or(0);
    let origin = Source::new(file, text).origin(start..start + name.len());
    Diagnostic::error("D002", origin, format!("there is no file `rules/{name}`")).help("name a file below the folder rules/")
}

fn dedup(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.sort_by(|a, b| (a.severity, &a.origin, a.code, &a.message).cmp(&(b.severity, &b.origin, b.code, &b.message)));
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::{Base, Budget, Reasoner, decide};

    /// What `core/allocate.lp` promises, said as a loop: who comes first takes the first free place that accepts it.
    fn one_after_the_other(things: &[i32], places: i32, declines: &[(i32, i32)], waives: &[i32]) -> Vec<String> {
        let mut taken = vec![];
        let mut out = vec![];
        for k in things {
            match (1..=places).find(|p| !taken.contains(p) && !declines.contains(&(*p, *k))) {
                Some(p) => {
                    out.push(format!("finds(pick,q,{k},{p})"));
                    if !waives.contains(k) {
                        taken.push(p);
                    }
                }
                None => out.push(format!("finds_none(pick,q,{k})")),
            }
        }
        out.sort();
        out
    }

    #[test]
    fn each_thing_takes_the_first_free_place_that_accepts_it() {
        let read = |path: &str| Files::built_in().read(path).map(|text| Source::new(path, &text));
        let allocate = rule_source("core/allocate.lp(pick)", &read).unwrap();
        assert!(rule_source("core/nothing.lp(pick)", &read).is_none());
        let show = Source::new("show.lp", "#show finds/4. #show finds_none/3.");
        let turn = [("seek", 3), ("place", 4), ("declines", 4), ("waives", 3)].map(|(n, a)| (Name::from(n), a)).to_vec();
        let rules = Arc::new(Rules::load(&[allocate, show], &Signature { turn, ..Signature::default() }).unwrap());
        let base = Base::build(&rules, &[], &[]).unwrap();
        let mut seed = 7u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i32::try_from((seed >> 33) % n).unwrap()
        };
        let (mut left_over, mut moved_on) = (0, 0);
        for _ in 0..200 {
            let things: Vec<i32> = (1..=below(6)).map(|k| k * 2).collect();
            let places = below(6);
            let (mut declines, mut waives) = (vec![], vec![]);
            for k in &things {
                declines.extend((1..=places).filter(|_| below(3) == 0).map(|p| (p, *k)));
                waives.extend((below(5) == 0).then_some(*k));
            }
            let mut facts: Vec<String> = things.iter().map(|k| format!("seek(pick,q,{k})")).collect();
            // Keys need not be numbers in a row: only their order counts.
            facts.extend((1..=places).map(|p| format!("place(pick,q,key({},x),{p})", p * p)));
            facts.extend(declines.iter().map(|(p, k)| format!("declines(pick,q,{p},{k})")));
            facts.extend(waives.iter().map(|k| format!("waives(pick,q,{k})")));
            let facts: Vec<Atom> = facts.iter().map(|f| Atom::parse(f).unwrap()).collect();
            let out = decide(&base, &facts, Reasoner::Confirm, &Budget::default()).unwrap();
            let found: Vec<String> = out.shown().iter().map(ToString::to_string).collect();
            let expected = one_after_the_other(&things, places, &declines, &waives);
            left_over += expected.iter().filter(|e| e.starts_with("finds_none")).count();
            moved_on += expected.iter().filter(|e| e.starts_with("finds(")).count();
            let mut found = found;
            found.sort();
            assert_eq!(found, expected, "{facts:?}");
        }
        assert!(left_over > 50 && moved_on > 100, "{left_over} left over, {moved_on} placed");
    }
}
