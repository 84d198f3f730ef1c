//! Domains: an ontology with its rules, facts and templates, from a folder or built into the binary.

pub mod ends;
pub mod files;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Origin, Severity, Source};
use crate::ontology::{Ontology, Scope, parse};
use crate::reason::syntax::parse::parse as parse_rules;
use crate::reason::syntax::{Expr, Head, Kind};
use crate::reason::{self, Rules, Signature};
use crate::render::templates::Templates;
use crate::term::{Atom, Name, Term};

pub use files::Files;

/// What a turn brings beside the stored facts, as the rules see it.
pub const TURN_PREDICATES: [(&str, usize); 9] =
    [("in", 2), ("faulty", 2), ("refused", 2), ("role", 1), ("unsure", 3), ("unheard", 2), ("similar", 3), ("collected_add", 1), ("collected_del", 1)];

/// Everything that makes a domain: data only.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Its vocabulary.
    pub ontology: Arc<Ontology>,
    /// The compiled rules of each role's agent.
    pub rules: BTreeMap<Name, Arc<Rules>>,
    /// The facts that a new site begins with, sorted.
    pub facts: Arc<Vec<Atom>>,
    /// What the actions sound like.
    pub templates: Arc<Templates>,
    /// The files it was read from.
    pub files: Files,
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
        let (ontology, mut found) = parse::ontology(&Source::new(&file, &text));
        let Some(ontology) = ontology else { return Err(found) };
        let signature = signature(&ontology);
        let mut rules = BTreeMap::new();
        for (role, declared) in &ontology.roles {
            let mut sources = vec![];
            for rule_file in &declared.rules {
                let path = format!("rules/{rule_file}");
                match files.read(&path) {
                    Some(text) => sources.push(Source::new(&path, &text)),
                    None => found.push(missing_file(&file, &text, rule_file)),
                }
            }
            match Rules::load(&sources, &signature) {
                Ok(r) => {
                    rules.insert(role.clone(), Arc::new(r));
                }
                Err(errors) => found.extend(errors),
            }
        }
        let mut facts = vec![];
        for path in files.list(&format!("kb/{name}/"), ".lp") {
            let (atoms, errors) = read_facts(&Source::new(&path, &files.read(&path).unwrap_or_default()));
            facts.extend(atoms);
            found.extend(errors);
        }
        facts.sort();
        facts.dedup();
        let path = format!("kb/{name}/templates.yaml");
        let templates = Templates::load(&Source::new(&path, &files.read(&path).unwrap_or_default()), &ontology);
        let templates = match templates {
            Ok(t) => Some(t),
            Err(errors) => {
                found.extend(errors);
                None
            }
        };
        match templates {
            Some(templates) if found.iter().all(|d| d.severity == Severity::Warning) => {
                let warnings = dedup(found);
                Ok(Self { ontology: Arc::new(ontology), rules, facts: Arc::new(facts), templates: Arc::new(templates), files: files.clone(), warnings })
            }
            _ => Err(dedup(found)),
        }
    }
}

/// The predicates that rules of a domain may use without deriving them.
pub fn signature(ontology: &Ontology) -> Signature {
    let scope = |s: Scope| match s {
        Scope::Kb => reason::Scope::Kb,
        Scope::Shared => reason::Scope::Shared,
        Scope::Session => reason::Scope::Session,
    };
    Signature {
        stored: ontology.facts.iter().map(|f| ((f.name.clone(), f.args.len()), scope(f.scope))).collect(),
        turn: TURN_PREDICATES.iter().map(|(n, a)| (Name::from(*n), *a)).collect(),
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
        let args: Option<Vec<Term>> = pattern.args.iter().map(expr_to_term).collect();
        match args {
            Some(args) if body.is_empty() => atoms.push(Atom { name: pattern.name.clone(), args }),
            _ => found.push(Diagnostic::error("D003", s.origin.clone(), "a fact file holds ground facts only").help("move rules to the folder rules/")),
        }
    }
    (atoms, found)
}

fn expr_to_term(e: &Expr) -> Option<Term> {
    match e {
        Expr::Int(n) => Some(Term::Int(*n)),
        Expr::Const(n) => Some(Term::Const(n.clone())),
        Expr::Str(n) => Some(Term::Str(n.clone())),
        Expr::Neg(inner) => expr_to_term(inner).and_then(|t| t.as_int()).and_then(i32::checked_neg).map(Term::Int),
        Expr::Fun(n, args) if !n.is_empty() => Some(Term::Fun(n.clone(), args.iter().map(expr_to_term).collect::<Option<_>>()?)),
        _ => None,
    }
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
