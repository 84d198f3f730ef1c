//! Cues of an utterance: which of a fixed list of terms its words stand for, without a model.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::MultiwozError;
use crate::term::Term;

/// The phrases of every cue.
#[derive(Debug)]
pub struct Cues {
    heard: Vec<(Term, Vec<String>)>,
    said: Vec<(Term, Vec<String>)>,
}

#[derive(Deserialize)]
struct Raw {
    heard: BTreeMap<String, Vec<String>>,
    said: BTreeMap<String, Vec<String>>,
}

impl Cues {
    /// Reads the lexicon; every cue has to be a term.
    pub fn parse(json: &str) -> Result<Self, MultiwozError> {
        let wrong = |why: String| MultiwozError::Syntax { file: "cues.json".to_owned(), why };
        let raw: Raw = serde_json::from_str(json).map_err(|e| wrong(e.to_string()))?;
        let terms = |map: BTreeMap<String, Vec<String>>| -> Result<Vec<(Term, Vec<String>)>, MultiwozError> {
            map.into_iter().map(|(cue, phrases)| Ok((Term::parse(&cue).map_err(|e| wrong(format!("`{cue}`: {e}")))?, phrases))).collect()
        };
        Ok(Self { heard: terms(raw.heard)?, said: terms(raw.said)? })
    }

    /// The cues of what a user said, in the order of their words.
    pub fn heard(&self, text: &str) -> Vec<Term> {
        let text = flat(text);
        let mut hits: Vec<(usize, String, &Term)> = Vec::new();
        for (cue, phrases) in &self.heard {
            if let Some(at) = phrases.iter().filter_map(|p| find(&text, p)).min() {
                hits.push((at, cue.to_string(), cue));
            }
        }
        hits.sort();
        hits.into_iter().map(|h| h.2.clone()).collect()
    }

    /// The cues of what the system said.
    pub fn said(&self, text: &str) -> Vec<Term> {
        let text = flat(text);
        self.said.iter().filter(|(_, phrases)| phrases.iter().any(|p| find(&text, p).is_some())).map(|(cue, _)| cue.clone()).collect()
    }
}

/// Lower case, single spaces, a space at both ends.
fn flat(text: &str) -> String {
    format!(" {} ", text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Where a phrase first stands as whole words; a phrase of `#` is a run of at least that many digits.
pub fn find(text: &str, phrase: &str) -> Option<usize> {
    if phrase.starts_with('#') {
        let mut run = 0;
        return text.char_indices().find_map(|(i, c)| {
            run = if c.is_ascii_digit() { run + 1 } else { 0 };
            (run == phrase.len()).then_some(i + 1 - run)
        });
    }
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase());
    text.match_indices(phrase).map(|(i, _)| i).find(|i| {
        let before = text.get(..*i).and_then(|t| t.chars().next_back());
        let after = text.get(i + phrase.len()..).and_then(|t| t.chars().next());
        !letter(before) && !letter(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_come_in_the_order_of_the_words() {
        let cues = Cues::parse(include_str!("../../../kb/multiwoz/cues.json")).unwrap();
        let heard: Vec<String> = cues.heard("What is the  Phone number ? I also need a taxi").iter().map(ToString::to_string).collect();
        let place = |cue: &str| heard.iter().position(|h| h == cue).unwrap();
        assert!(place("want(phone)") < place("also") && place("also") < place("topic(taxi)"), "{heard:?}");
        assert!(cues.heard("no preferences").iter().all(|c| c.to_string() != "want(reference)"));
    }

    #[test]
    fn a_run_of_digits_is_a_number() {
        assert_eq!(find(" call 01223358966 now ", "########"), Some(6));
        assert_eq!(find(" at 17:15 ", "########"), None);
    }
}
