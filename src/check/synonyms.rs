//! Mistakes in the files of the embedded translator: what they say of names that no fact declares.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

use super::facts::Fact;
use super::heard;
use crate::diag::yaml::line_span;
use crate::diag::{Diagnostic, Severity, Source, did_you_mean};
use crate::ontology::Ontology;
use crate::term::{Atom, Term};
use crate::understand::embedded::Embedded;
use crate::understand::embedded::data::DomainFiles;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    names: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(default, flatten)]
    _rest: BTreeMap<String, IgnoredAny>,
}

/// Checks that the translator's files can be compiled and that every other name stands for a name there is.
pub fn check(files: &DomainFiles, vocabulary: Option<&Source>, ontology: &Ontology, facts: &[Fact], found: &mut Vec<Diagnostic>) {
    let atoms: Vec<Atom> = facts.iter().map(|f| f.atom.clone()).collect();
    match Embedded::load(ontology, files, atoms.iter()) {
        Ok(translator) => {
            let sound = found.iter().all(|d| d.severity != Severity::Error);
            if let (Some(source), true) = (vocabulary, sound) {
                heard::check(source, ontology, &translator, found);
            }
        }
        Err(errors) => found.extend(errors),
    }
    dangling(&files.synonyms, &atoms, found);
}

fn dangling(source: &Source, facts: &[Atom], found: &mut Vec<Diagnostic>) {
    let Ok(file) = serde_saphyr::from_str::<File>(&source.text) else { return };
    let known: BTreeSet<&str> = facts.iter().flat_map(|f| &f.args).filter_map(|t| if let Term::Str(s) = t { Some(&**s) } else { None }).collect();
    for (other, names) in &file.names {
        for name in names.iter().filter(|n| !known.contains(n.value.as_str())) {
            let start = line_span(&source.text, name.referenced.line(), name.referenced.column()).start;
            let at = source.text.get(start..).and_then(|rest| rest.find(name.value.as_str())).map_or(start, |i| start + i);
            let d = Diagnostic::error(
                "synonym-dangling-name",
                source.origin(at..at + name.value.len()),
                format!("`{other}` stands for `{}`, which no fact names", name.value),
            );
            found.push(match did_you_mean(&name.value, known.iter().copied()) {
                Some(near) => d.help(format!("did you mean `{near}`?")),
                None => d.help("use a name of the knowledge base, or remove the line"),
            });
        }
    }
}
