//! Examples of the vocabulary that the embedded translator does not hear as what they are said to mean.

use std::collections::BTreeSet;

use super::vocabulary::within;
use crate::conversation::{Line, View};
use crate::diag::{Diagnostic, Source};
use crate::ontology::{Example, Ontology};
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::Embedded;
use crate::understand::{Context, Understand};

/// Puts every example of every input to the translator, as each role that may say all of it would.
pub fn check(source: &Source, ontology: &Ontology, translator: &Embedded, found: &mut Vec<Diagnostic>) {
    for form in &ontology.inputs {
        for example in &form.examples {
            let may = |role: &&Name| example.means.iter().all(|a| ontology.inputs_of(role).any(|f| f.name == a.name && f.args.len() == a.args.len()));
            let Some(got) = form.roles.iter().filter(may).map(|role| heard(translator, example, role)).find(Result::is_err).and_then(Result::err) else {
                continue;
            };
            let at = within(source, form.origin.start, &example.say);
            // What the example means is wrong already, then how it is heard says nothing.
            if found.iter().any(|d| d.origin.file == at.file && d.origin.line == at.line) {
                continue;
            }
            let heard = if got.is_empty() { "nothing".to_owned() } else { got.iter().map(|a| format!("`{a}`")).collect::<Vec<_>>().join(", ") };
            let wanted = example.means.iter().map(|a| format!("`{a}`")).collect::<Vec<_>>().join(", ");
            found.push(
                Diagnostic::warning("ontology-example-unheard", at, format!("the embedded translator hears {heard} in this example, not {wanted}"))
                    .help("add the way to say it to lexicon.yaml, or the name to synonyms.yaml"),
            );
        }
    }
}

/// Whether one role's example is heard as meant, else what is heard. What it means is said of a conversation that holds the
/// things it speaks of, if it does not stand by itself.
fn heard(translator: &Embedded, example: &Example, role: &Name) -> Result<(), Vec<Atom>> {
    let mut context = Context { role: role.clone(), last_actions: example.after.clone(), ..Context::default() };
    let first = said(translator, example, &context);
    if first.is_ok() {
        return first;
    }
    let mut seen = BTreeSet::new();
    let lines = example
        .means
        .iter()
        .filter_map(|a| if let Some(Term::Str(s)) = a.args.first() { Some(s) } else { None })
        .filter(|s| seen.insert((*s).clone()))
        .map(|s| Line { item: s.clone(), ..Line::default() })
        .collect();
    context.view = View::new(vec![], lines);
    said(translator, example, &context).map_err(|_| first.err().unwrap_or_default())
}

fn said(translator: &Embedded, example: &Example, context: &Context) -> Result<(), Vec<Atom>> {
    let mut got = translator.understand(&example.say, context).predicates;
    let mut wanted = example.means.clone();
    got.sort();
    wanted.sort();
    if got == wanted { Ok(()) } else { Err(got) }
}
