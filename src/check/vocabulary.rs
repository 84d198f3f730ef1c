//! Mistakes in the ontology itself: names of facts that do not exist, examples that do not hold, words nobody uses.

use std::collections::BTreeSet;

use super::facts::{Declared, closed_names};
use super::forms::Fits;
use super::values::Shape;
use crate::diag::{Diagnostic, Origin, Source, did_you_mean};
use crate::ontology::{Arg, Ontology, Sort};
use crate::reason::syntax::{Expr, Predicate};
use crate::term::{Atom, Name, Term};

/// What a role's rules do with the vocabulary.
#[derive(Default)]
pub struct Use {
    /// The role.
    pub role: Name,
    /// Actions that its rules can bring about.
    pub actions: BTreeSet<Shape>,
    /// Predicates that its rules mention or store.
    pub predicates: BTreeSet<Predicate>,
    /// Inputs that its rules look at.
    pub inputs: Vec<(Name, Vec<Expr>)>,
}

/// What can be said of an ontology alone.
pub fn check(source: &Source, ontology: &Ontology, declared: &Declared, found: &mut Vec<Diagnostic>) {
    for (name, sort) in &ontology.sorts {
        let at = || word(source, &format!("\n  {name}:"), name);
        match sort {
            Sort::Names(facts) => {
                for fact in facts.iter().filter(|f| !ontology.facts.iter().any(|d| d.name == **f)) {
                    found.push(unknown_fact(source, ontology, fact, &format!("\n  {name}:"), fact));
                }
            }
            Sort::Union(_) if circular(ontology, name, name, 0) => {
                found.push(Diagnostic::error("ontology-sort-circle", at(), format!("the sort `{name}` is a part of itself")).help("a union lists other sorts"));
            }
            Sort::Int { min, max, .. } if min > max => {
                found.push(
                    Diagnostic::error("ontology-empty-sort", at(), format!("no number is at least {min} and at most {max}")).help("exchange min and max"),
                );
            }
            Sort::Values(list) if list.is_empty() => {
                found.push(Diagnostic::error("ontology-empty-sort", at(), format!("the sort `{name}` has no values")).help("list them in square brackets"));
            }
            _ => {}
        }
    }
    for role in ontology.roles.values() {
        for (scope, fact) in role.may_change.iter().filter(|(_, f)| &**f != "*") {
            if !ontology.facts.iter().any(|d| d.name == *fact && d.scope == *scope) {
                found.push(unknown_fact(source, ontology, fact, "\nroles:", &format!("{scope}.{fact}")));
            }
        }
    }
    for form in &ontology.inputs {
        for example in &form.examples {
            let mut refused = false;
            for atom in &example.means {
                refused |= !example_atom(source, ontology, declared, &form.roles, form.origin.start, atom, found);
            }
            let fits = |a: &Atom| a.name == form.name && a.args.len() == form.args.len() && a.args.iter().zip(&form.args).all(|(t, p)| ontology.fits(t, p));
            if !refused && !example.means.iter().any(fits) {
                let at = within(source, form.origin.start, &example.say);
                found.push(
                    Diagnostic::warning("ontology-example-elsewhere", at, format!("this example of `{form}` means something else"))
                        .help("move it to the form it means"),
                );
            }
        }
    }
}

/// What shows only beside the rules.
pub fn unused(ontology: &Ontology, uses: &[Use], found: &mut Vec<Diagnostic>) {
    for form in &ontology.inputs {
        for role in &form.roles {
            let Some(of) = uses.iter().find(|u| u.role == *role) else { continue };
            let reads = |(n, args): &(Name, Vec<Expr>)| {
                *n == form.name && args.len() == form.args.len() && args.iter().zip(&form.args).all(|(e, a)| e.fits(ontology, a))
            };
            if !of.inputs.iter().any(reads) {
                let d = Diagnostic::warning("ontology-unread-input", form.origin.clone(), format!("no rule of `{role}` looks at the input `{form}`"));
                found.push(d.help("write a rule for it, or take it from the role"));
            }
        }
    }
    if uses.is_empty() {
        return;
    }
    // What is cited stands in proofs, not among the actions.
    for form in ontology.actions.iter().filter(|f| !f.cited) {
        let says = |s: &Shape| {
            *s == Shape::Any
                || s.head()
                    .is_some_and(|(n, args)| *n == form.name && args.len() == form.args.len() && args.iter().zip(&form.args).all(|(a, f)| a.fits(ontology, f)))
        };
        if !uses.iter().any(|u| u.actions.iter().any(says)) {
            let d = Diagnostic::warning("ontology-unsaid-action", form.origin.clone(), format!("no rule ever brings about the action `{form}`"));
            found.push(d.help("write a rule that derives it, or remove it"));
        }
    }
    for fact in &ontology.facts {
        let p = (fact.name.clone(), fact.args.len());
        let names = ontology.sorts.values().any(|s| matches!(s, Sort::Names(list) if list.contains(&fact.name)));
        if !names && !uses.iter().any(|u| u.predicates.contains(&p)) {
            let d = Diagnostic::warning("ontology-unused-fact", fact.origin.clone(), format!("no rule uses the {} fact `{}/{}`", fact.scope, p.0, p.1));
            found.push(d.help("use it in a rule, or remove it"));
        }
    }
}

fn circular(ontology: &Ontology, name: &str, start: &str, depth: usize) -> bool {
    let Some(Sort::Union(parts)) = ontology.sorts.get(name) else { return false };
    depth < 32 && parts.iter().any(|p| &**p == start || circular(ontology, p, start, depth + 1))
}

/// Whether some role may say it; what is wrong otherwise is reported.
fn example_atom(source: &Source, ontology: &Ontology, declared: &Declared, roles: &[Name], from: usize, atom: &Atom, found: &mut Vec<Diagnostic>) -> bool {
    let refused: Vec<String> = roles.iter().filter_map(|r| ontology.admit_atom(r, atom).err()).map(|(_, message)| message).collect();
    let at = || {
        let spelled = within(source, from, &atom.to_string());
        if spelled.end > spelled.start { spelled } else { within(source, from, &atom.name) }
    };
    if refused.len() == roles.len() {
        let message = refused.into_iter().next().unwrap_or_default();
        found.push(
            Diagnostic::error("ontology-example-refused", at(), format!("the example would be refused: {message}"))
                .help("an example's meaning must be what its roles may say"),
        );
        return false;
    }
    for form in ontology.inputs.iter().filter(|f| f.name == atom.name && f.args.len() == atom.args.len()) {
        if !atom.args.iter().zip(&form.args).all(|(t, p)| ontology.fits(t, p)) {
            continue;
        }
        for (term, arg) in atom.args.iter().zip(&form.args) {
            let (Arg::Sort(sort), Term::Str(name)) = (arg, term) else { continue };
            let Some(facts) = closed_names(ontology, sort, 0) else { continue };
            let names = || facts.iter().filter_map(|f| declared.get(f)).flatten();
            if names().next().is_none() || names().any(|n| n == name) {
                continue;
            }
            let d = Diagnostic::warning(
                "ontology-dangling-name",
                within(source, from, &term.to_string()),
                format!("no fact declares the name {term} of this example"),
            );
            found.push(d.help(
                did_you_mean(name, names().map(|n| &**n)).map_or_else(|| "use a name of the knowledge base".to_owned(), |n| format!("did you mean \"{n}\"?")),
            ));
        }
        return true;
    }
    true
}

/// `written` is how the author spelled the fact, behind the first place of `behind`.
fn unknown_fact(source: &Source, ontology: &Ontology, fact: &str, behind: &str, written: &str) -> Diagnostic {
    let elsewhere = ontology.facts.iter().find(|d| &*d.name == fact);
    let d = Diagnostic::error("ontology-unknown-fact", word(source, behind, written), format!("`{written}` is no fact that the ontology declares"));
    match (elsewhere, did_you_mean(fact, ontology.facts.iter().map(|d| &*d.name))) {
        (Some(d2), _) => d.help(format!("`{fact}` is declared as a {} fact", d2.scope)),
        (None, Some(near)) => d.help(format!("did you mean `{near}`?")),
        _ => d.help("declare it under `facts`"),
    }
}

/// The first place of `word` at or behind `behind`.
fn word(source: &Source, behind: &str, word: &str) -> Origin {
    within(source, source.text.find(behind).unwrap_or(0), word)
}

pub(super) fn within(source: &Source, from: usize, word: &str) -> Origin {
    let written = [word.to_owned(), word.replace('\'', "''"), word.replace('"', "\\\"")];
    let rest = source.text.get(from..).unwrap_or("");
    let found = written.iter().find_map(|w| rest.find(w.as_str()).map(|i| from + i..from + i + w.len()));
    source.origin(found.unwrap_or(from..from))
}
