//! Reading a file of spots: YAML to phrases and readings, every mistake with its place.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::words::{phrase, value};
use super::{Phrase, Read, Spotter, Thing};
use crate::diag::yaml;
use crate::diag::{Diagnostic, Source};
use crate::ontology::Ontology;
use crate::term::{Atom, Term};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(default)]
    pause: Option<String>,
    #[serde(default)]
    cues: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    alone: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    things: BTreeMap<String, ThingText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThingText {
    #[serde(default)]
    values: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    leave_out: Vec<String>,
    #[serde(default)]
    numbers: Option<BTreeMap<String, Vec<String>>>,
    #[serde(default)]
    clock: bool,
    #[serde(default)]
    shared: bool,
    reads: Vec<ReadText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadText {
    means: String,
    #[serde(default)]
    before: Vec<String>,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    reach: usize,
    #[serde(default)]
    weak: bool,
    #[serde(default)]
    asked: Vec<String>,
}

impl File {
    /// Reads and compiles a file; what it means has to be an input of the ontology, or an action where somebody else's replies are read.
    pub fn read(source: &Source, ontology: &Ontology) -> Result<Spotter, Vec<Diagnostic>> {
        let file: Self = yaml::read(source, "U001").map_err(|d| vec![d])?;
        let mut reader = Reader { source, ontology, found: vec![] };
        let spotter = Spotter {
            pause: file.pause.as_deref().and_then(|p| reader.atom(p)),
            cues: reader.cues(&file.cues),
            alone: reader.cues(&file.alone),
            things: std::sync::Arc::new(file.things.values().map(|t| reader.thing(t)).collect()),
            mentions: vec![],
        };
        if reader.found.is_empty() { Ok(spotter) } else { Err(reader.found) }
    }
}

struct Reader<'a> {
    source: &'a Source,
    ontology: &'a Ontology,
    found: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn wrong(&mut self, text: &str, message: String) {
        let at = self.source.text.find(text).unwrap_or(0);
        self.found.push(Diagnostic::error("U002", self.source.origin(at..at + text.len()), message));
    }

    fn atom(&mut self, text: &str) -> Option<Atom> {
        let atom = Atom::parse(text);
        match atom {
            Ok(atom) if self.declared(&atom) => Some(atom),
            Ok(_) => {
                self.wrong(text, format!("`{text}` is no input and no action of the ontology"));
                None
            }
            Err(e) => {
                self.wrong(text, format!("`{text}` is no predicate: {e}"));
                None
            }
        }
    }

    fn declared(&self, atom: &Atom) -> bool {
        let of = |name: &crate::term::Name, arity: usize| *name == atom.name && arity == atom.args.len();
        self.ontology.inputs.iter().any(|f| of(&f.name, f.args.len())) || self.ontology.actions.iter().any(|f| of(&f.name, f.args.len()))
    }

    fn cues(&mut self, texts: &BTreeMap<String, Vec<String>>) -> Vec<(Atom, Vec<Phrase>)> {
        texts.iter().filter_map(|(means, said)| Some((self.atom(means)?, phrases(said)))).collect()
    }

    fn thing(&mut self, text: &ThingText) -> Thing {
        let mut values = vec![];
        for (means, said) in text.values.iter().chain(text.numbers.iter().flatten()) {
            match value(means) {
                Some(term) => values.extend(phrases(said).into_iter().map(|p| (p, term.clone()))),
                None => self.wrong(means, format!("`{means}` is no value")),
            }
        }
        Thing {
            values,
            names: text.names.iter().map(|n| n.as_str().into()).collect(),
            leave_out: phrases(&text.leave_out),
            numbers: text.numbers.is_some(),
            clock: text.clock,
            shared: text.shared,
            reads: text.reads.iter().filter_map(|r| self.read_of(r)).collect(),
        }
    }

    fn read_of(&mut self, text: &ReadText) -> Option<Read> {
        // `V` is no term: it is read as the string that stands for it.
        let means = self.atom(&hole(&text.means, 'V'))?;
        let asked = text.asked.iter().filter_map(|a| Atom::parse(&hole(a, '_')).ok()).collect();
        Some(Read { means, before: phrases(&text.before), after: phrases(&text.after), reach: text.reach, weak: text.weak, asked })
    }
}

/// The text with a bare argument of this one letter put in quotes.
fn hole(text: &str, letter: char) -> String {
    let Some((name, args)) = text.split_once('(') else { return text.to_owned() };
    let args = args.trim_end_matches(')').split(',').map(str::trim);
    let quoted = args.map(|a| if a.len() == 1 && a.starts_with(letter) { Term::string(a).to_string() } else { a.to_owned() });
    format!("{name}({})", quoted.collect::<Vec<_>>().join(","))
}

fn phrases(texts: &[String]) -> Vec<Phrase> {
    texts.iter().map(|t| phrase(t)).collect()
}
