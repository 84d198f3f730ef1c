//! Checking a domain: everything an author got wrong, in all files at once, each with its place, code and remedy.

pub mod codes;
mod calls;
mod facts;
mod forms;
mod heard;
pub mod report;
mod rules;
mod synonyms;
mod values;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};

use crate::diag::{Diagnostic, Origin, Severity, Source};
use crate::domain::{Domain, Files, TURN_PREDICATES, rule_source, signature};
use crate::eval::{bench, verify};
use crate::ontology::{Ontology, parse};
use crate::reason::syntax::parse::parse as parse_rules;
use crate::reason::syntax::{Item, Kind, Literal, Statement};
use crate::reason::{Rules, Signature, complaints};
use crate::render::templates::Templates;
use crate::term::Pattern;
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::data::DomainFiles;

/// The files of a domain, as far as they are there.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The vocabulary.
    pub ontology: Option<Source>,
    /// The rule files of each role, in reading order.
    pub rules: BTreeMap<Name, Vec<Source>>,
    /// The facts of the knowledge base.
    pub facts: Vec<Source>,
    /// The templates.
    pub templates: Option<Source>,
    /// The files of the embedded translator.
    pub translator: Option<DomainFiles>,
}

/// Checks a reasoning profile by name: its file, its modules and its lexicon.
pub fn profile(files: &Files, name: &str) -> Vec<Diagnostic> {
    match crate::reasoning::Engine::load(files, name) {
        Ok(engine) => crate::reasoning::english::Reader::load(files, &engine.profile).err().unwrap_or_default(),
        Err(found) => found,
    }
}

/// Checks a whole domain by name.
pub fn domain(files: &Files, name: &str) -> Vec<Diagnostic> {
    let read = |path: &str| files.read(path).map(|text| Source::new(path, &text));
    let path = format!("kb/{name}/ontology.yaml");
    let Some(source) = read(&path) else {
        let origin = Origin { file: path.as_str().into(), start: 0, end: 0, line: 1, column: 1 };
        return vec![
            Diagnostic::error("D001", origin, format!("there is no domain `{name}`")).help(format!("the domains here are: {}", files.domains().join(", "))),
        ];
    };
    let mut found = vec![];
    let mut rules: BTreeMap<Name, Vec<Source>> = BTreeMap::new();
    if let (Some(ontology), _) = parse::ontology(&source) {
        let beside = |file: &str| read(&format!("kb/{name}/{file}"));
        found.extend(beside("verify.yaml").iter().flat_map(|s| verify::faults(s, &ontology)));
        found.extend(beside("bench.yaml").iter().flat_map(|s| bench::faults(s, &ontology)));
        for (role, declared) in &ontology.roles {
            let of = rules.entry(role.clone()).or_default();
            for file in &declared.rules {
                match rule_source(file, &read) {
                    Some(s) => of.push(s),
                    None => {
                        let start = source.text.find(file.as_str()).unwrap_or(0);
                        let at = source.origin(start..start + file.len());
                        let near =
                            crate::diag::did_you_mean(file, files.list(&format!("rules/{name}/"), ".lp").iter().filter_map(|p| p.strip_prefix("rules/")))
                                .map(|n| format!("did you mean `{n}`?"));
                        let d = Diagnostic::error("D002", at, format!("there is no file `rules/{file}`"));
                        found.push(d.help(near.unwrap_or_else(|| "name a file below the folder rules/".to_owned())));
                    }
                }
            }
        }
    }
    let facts = files.list(&format!("kb/{name}/"), ".lp").iter().filter_map(|p| read(p)).collect();
    // Rule files that no role reads, such as invariants, are read by other parts of the engine: they must at least be well formed.
    for path in files.list(&format!("rules/{name}/"), ".lp") {
        if !rules.values().flatten().any(|s| *s.name == *path)
            && let Some(s) = read(&path)
        {
            found.extend(parse_rules(&s).1);
        }
    }
    let translator = match (read("kb/core/english.yaml"), read(&format!("kb/{name}/lexicon.yaml"))) {
        (Some(english), Some(lexicon)) => {
            let synonyms = read(&format!("kb/{name}/synonyms.yaml")).unwrap_or_else(|| Source::new("synonyms.yaml", ""));
            Some(DomainFiles { english, lexicon, synonyms })
        }
        _ => None,
    };
    let path = format!("kb/{name}/templates.yaml");
    let templates = read(&path);
    if templates.is_none() {
        found.push(crate::domain::no_templates(&path));
    }
    let parts = Parts { ontology: Some(source), rules, facts, templates, translator };
    found.extend(check(&parts));
    found.extend(crate::domain::ends::stale_model(files, name));
    if found.iter().all(|d| d.severity == Severity::Warning) {
        found.extend(unusable(files, name));
    }
    sorted(found)
}

/// What keeps a domain without any other mistake from being talked to: its bank, replies, lexicon, spots, model.
fn unusable(files: &Files, name: &str) -> Vec<Diagnostic> {
    let ends = |domain: Domain| domain.embedded().err().into_iter().chain(domain.spotter().err()).flatten().collect();
    Domain::load(files, name).map_or_else(|found| found, ends)
}

/// Checks files that belong together without being a whole domain: what needs a file that is not there is left out.
pub fn loose(sources: &[Source]) -> Vec<Diagnostic> {
    let mut parts = Parts::default();
    let mut programs = vec![];
    for s in sources {
        if s.name.ends_with(".lp") {
            let (statements, _) = parse_rules(s);
            let facts_only = statements.iter().all(|s| matches!(&s.kind, Kind::Rule { head: crate::reason::syntax::Head::Atom(p), body } if body.is_empty() && p.args.iter().all(|a| a.ground().is_some())));
            if facts_only && !statements.is_empty() && !s.name.starts_with("rules/") { parts.facts.push(s.clone()) } else { programs.push(s.clone()) }
        } else if s.text.lines().any(|l| l.starts_with("sorts:")) {
            parts.ontology = Some(s.clone());
        } else if s.text.lines().any(|l| l.starts_with("rules:")) {
            parts.templates = Some(s.clone());
        }
    }
    if !programs.is_empty() {
        let roles: Vec<Name> =
            parts.ontology.as_ref().and_then(|s| parse::ontology(s).0).map(|o| o.roles.keys().cloned().collect()).unwrap_or_else(|| vec!["anybody".into()]);
        for role in roles {
            parts.rules.insert(role, programs.clone());
        }
    }
    check(&parts)
}

/// Checks the parts of a domain against each other.
pub fn check(parts: &Parts) -> Vec<Diagnostic> {
    let mut found = vec![];
    let ontology = parts.ontology.as_ref().and_then(|s| {
        let (o, errors) = parse::ontology(s);
        found.extend(errors);
        o
    });
    let facts = facts::read(&parts.facts, &mut found);
    let declared = facts::declared(&facts);
    if let (Some(o), Some(source)) = (&ontology, &parts.ontology) {
        vocabulary::check(source, o, &declared, &mut found);
        if !parts.facts.is_empty() {
            facts::check(&facts, o, &declared, &mut found);
        }
    }
    let uses = programs(parts, ontology.as_ref(), &facts, &declared, &mut found);
    if let Some(o) = &ontology {
        vocabulary::unused(o, &uses, &mut found);
        templates(parts, o, &uses, &mut found);
        if let Some(files) = &parts.translator {
            synonyms::check(files, parts.ontology.as_ref(), o, &facts, &mut found);
        }
    }
    sorted(found)
}

/// Checks every role's rules; what is wrong for one reader of a shared file only is passed over.
fn programs(parts: &Parts, ontology: Option<&Ontology>, kb: &[facts::Fact], declared: &facts::Declared, found: &mut Vec<Diagnostic>) -> Vec<vocabulary::Use> {
    let mut uses = vec![];
    let mut soft: BTreeMap<Origin, (BTreeSet<Name>, Vec<Diagnostic>)> = BTreeMap::new();
    for (role, sources) in &parts.rules {
        let statements: Vec<Statement> = sources.iter().flat_map(|s| parse_rules(s).0).collect();
        let signature = ontology.map_or_else(|| open_signature(&statements), signature);
        let by_name: BTreeMap<Name, Source> = sources.iter().map(|s| (s.name.clone(), s.clone())).collect();
        let mut maybe = vec![];
        let loaded = Rules::load(sources, &signature);
        let analysed = match &loaded {
            Ok(rules) => {
                maybe.extend(rules.warnings().iter().cloned());
                rules.statements()
            }
            Err(errors) => {
                let (hard, warnings): (Vec<_>, Vec<_>) = errors.iter().cloned().partition(|d| d.severity == Severity::Error);
                found.extend(hard.iter().filter(|d| !unread(d, errors, &by_name)).cloned());
                maybe.extend(warnings);
                statements.as_slice()
            }
        };
        if let Some(o) = ontology {
            let values = values::Values::of(analysed, Some(o), role, &signature.turn);
            let program = rules::Program { role, ontology: o, declared, sources: &by_name, statements: analysed, values: &values };
            program.hard(found);
            program.soft(&mut maybe);
            if let Ok(rules) = &loaded {
                program.ambiguous(rules.analysis(), found);
                let all: Vec<Atom> = kb.iter().map(|f| f.atom.clone()).collect();
                let open: Vec<(Name, usize)> = signature.turn.iter().cloned().chain(signature.stored.keys().cloned()).collect();
                found.extend(complaints(sources, &all, &open));
            }
            let (actions, predicates) = program.outputs();
            uses.push(vocabulary::Use { role: role.clone(), actions, predicates, inputs: program.read_inputs() });
        }
        for d in maybe {
            let (roles, same) = soft.entry(d.origin.clone()).or_default();
            roles.insert(role.clone());
            same.push(d);
        }
    }
    for (origin, (roles, same)) in soft {
        let readers = parts.rules.iter().filter(|(_, sources)| sources.iter().any(|s| s.name == origin.file)).count();
        // Core rules serve every domain: what one of them leaves unused another may need.
        if roles.len() == readers && !origin.file.starts_with(rules::SHARED) {
            found.extend(same);
        }
    }
    uses
}

/// Whether a predicate counts as unknown only because the statement that derives it could not be read.
fn unread(d: &Diagnostic, errors: &[Diagnostic], sources: &BTreeMap<Name, Source>) -> bool {
    if d.code != "rule-unknown-predicate" {
        return false;
    }
    let word = sources.get(&d.origin.file).and_then(|s| s.text.get(d.origin.start..d.origin.end)).and_then(|t| t.split('(').next()).unwrap_or_default();
    let broken: BTreeSet<&Name> = errors.iter().filter(|e| e.code == "rule-syntax").map(|e| &e.origin.file).collect();
    broken.into_iter().filter_map(|f| sources.get(f)).any(|s| {
        let heads = s.text.lines().filter_map(|l| l.split(":-").next()).flat_map(|l| l.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        heads.filter(|w| *w == word).count() > 0
    })
}

/// Without an ontology nobody knows what is declared, so everything counts as declared.
fn open_signature(statements: &[Statement]) -> Signature {
    let mut turn: BTreeSet<(Name, usize)> = TURN_PREDICATES.iter().map(|(n, a)| (Name::from(*n), *a)).collect();
    for s in statements {
        if let Kind::Rule { body, .. } = &s.kind {
            for (l, _) in body.iter().flat_map(Item::literals) {
                if let Literal::Atom { atom, .. } = l {
                    turn.insert(atom.predicate());
                }
            }
        }
    }
    Signature { stored: BTreeMap::new(), turn: turn.into_iter().collect() }
}

fn templates(parts: &Parts, ontology: &Ontology, uses: &[vocabulary::Use], found: &mut Vec<Diagnostic>) {
    let Some(source) = &parts.templates else { return };
    let templates = match Templates::load(source, ontology) {
        Ok(t) => t,
        Err(errors) => {
            found.extend(errors);
            return;
        }
    };
    let uncovered = templates.uncovered(ontology);
    found.extend(uncovered.iter().cloned());
    found.extend(templates.shadowed());
    let mut written = None;
    let actions: BTreeSet<&values::Shape> = uses.iter().flat_map(|u| &u.actions).collect();
    for action in actions {
        let form = ontology.actions.iter().find(|f| action.head().is_some_and(|(n, args)| *n == f.name && args.len() == f.args.len()));
        let Some(form) = form.filter(|_| !templates.has_own_words(&pattern(action))) else { continue };
        if uncovered.iter().any(|d| d.origin == form.origin) {
            continue;
        }
        // The constant that has no words is the one the author wrote somewhere; the action's own name is not.
        let word = action.constants().into_iter().find(|c| templates.has_own_words(&pattern(&without(action, c))));
        let said = shown(action);
        let d = Diagnostic::warning("template-missing", form.origin.clone(), format!("the action `{said}` has no words of its own"));
        let help = format!("add a rule `action: '{said}'` to {}", source.name);
        let all = written.get_or_insert_with(|| written_words(parts));
        found.push(match word.and_then(|c| all.written(c)) {
            Some(origin) => Diagnostic { origin: origin.clone(), ..d }.help(help),
            None => d.help(help),
        });
    }
}

fn pattern(shape: &values::Shape) -> Pattern {
    match shape {
        values::Shape::Const(n) => Pattern::Literal(Term::Const(n.clone())),
        values::Shape::Fun(n, args) => Pattern::Fun(n.clone(), args.iter().map(pattern).collect()),
        _ => Pattern::Any,
    }
}

/// The shape with one constant left open.
fn without(shape: &values::Shape, constant: &Name) -> values::Shape {
    match shape {
        values::Shape::Const(n) if n == constant => values::Shape::Any,
        values::Shape::Fun(n, args) => values::Shape::Fun(n.clone(), args.iter().map(|a| without(a, constant)).collect()),
        other => other.clone(),
    }
}

fn shown(shape: &values::Shape) -> String {
    match shape {
        values::Shape::Const(n) => n.to_string(),
        values::Shape::Fun(n, args) => format!("{n}({})", args.iter().map(shown).collect::<Vec<_>>().join(", ")),
        _ => "_".to_owned(),
    }
}

/// Where constants were written first, in a fact if there is one.
fn written_words(parts: &Parts) -> values::Values {
    let sources: BTreeMap<&Name, &Source> = parts.rules.values().flatten().map(|s| (&s.name, s)).collect();
    let statements: Vec<Statement> = sources.values().flat_map(|s| parse_rules(s).0).collect();
    values::Values::of(&statements, None, "", &[])
}

/// By file and place, each finding once.
fn sorted(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.sort_by(|a, b| (&a.origin.file, a.origin.start, a.code, &a.message).cmp(&(&b.origin.file, b.origin.start, b.code, &b.message)));
    found.dedup_by(|a, b| a.code == b.code && a.origin == b.origin && a.message == b.message);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wrong_with_the_built_in_domains() {
        let files = Files::built_in();
        for name in files.domains() {
            let found = domain(&files, &name);
            assert!(found.is_empty(), "{}", report::plain(&found));
        }
    }
}
