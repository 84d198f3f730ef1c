//! The bank of wordings: other ways to say a domain's sentences, each checked before it came there, in a file that people review.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{Sentence, Taken, Templates};
use crate::diag::yaml::{self, line_span};
use crate::diag::{Diagnostic, Source};
use crate::render::{Say, Tone};

/// Another wording of a sentence of the templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Banked {
    /// The sentence, as the templates have it.
    pub of: String,
    /// The other wording, with the same braces.
    pub say: String,
    /// Where it stands in its file.
    pub at: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    wordings: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    of: String,
    #[serde(default)]
    say: Vec<Spanned<String>>,
}

/// The wordings of a file.
pub fn read(source: &Source) -> Result<Vec<Banked>, Vec<Diagnostic>> {
    let file: File = yaml::read(source, "T012").map_err(|d| vec![d])?;
    let place = |s: &Spanned<String>| line_span(&source.text, s.referenced.line(), s.referenced.column()).start;
    let of = |e: Entry| e.say.into_iter().map(|s| Banked { of: e.of.clone(), at: place(&s), say: s.value }).collect::<Vec<_>>();
    Ok(file.wordings.into_iter().flat_map(of).collect())
}

/// Wordings as a file that [`read`] reads; those of one sentence stand together.
pub fn written(title: &str, bank: &[Banked]) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut out = format!("# {title}\nwordings:\n");
    let mut done: Vec<&str> = vec![];
    for first in bank {
        if done.contains(&first.of.as_str()) {
            continue;
        }
        done.push(&first.of);
        out.push_str(&format!("  - of: {}\n    say:\n", quoted(&first.of)));
        for b in bank.iter().filter(|b| b.of == first.of) {
            out.push_str(&format!("      - {}\n", quoted(&b.say)));
        }
    }
    out
}

impl Templates {
    /// The other wordings that it knows.
    pub fn bank(&self) -> &[Banked] {
        &self.bank
    }

    /// Every sentence with its own wordings, as the templates have it.
    pub fn own(&self) -> &[Vec<String>] {
        &self.own
    }

    /// The reply in one wording of the bank, by its place.
    pub fn in_wording(&self, place: usize, says: &[Say], tone: &Tone) -> Vec<Sentence> {
        self.sentences_of(Taken::One(place), says, tone)
    }
}
