//! How near texts are by the words that tell what they are about, forms and words of the same meaning taken for one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::text::english::List;
use crate::text::{normal, stem, word_at, words};
use crate::understand::flow::cues::Signals;
use crate::understand::flow::hearing::{Cue, HEARING};

const FILE: &str = include_str!("../../../../kb/core/agents_hearing.yaml");

/// What the file says.
pub static WORDS: LazyLock<Words> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is part of the program, and tests read it")]
    serde_saphyr::from_str(FILE).expect("kb/core/agents_hearing.yaml is well formed")
});

/// Words and patterns, each explained where it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    function: List,
    alike: Vec<List>,
    pub leads: Cue,
    pub trails: Cue,
    pub leaves: Cue,
    pub asks: Cue,
    pub asks_yes_or_no: List,
    pub no_values: List,
    pub alone: Cue,
    pub kinds: Vec<Kind>,
}

/// A kind of arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub kind: String,
    pub names: List,
    pub asks: Cue,
}

/// The group of each form that has words of the same meaning.
static ALIKE: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut out = BTreeMap::new();
    for group in &WORDS.alike {
        let first = group.iter().next().unwrap_or_default();
        for word in group.iter() {
            out.entry(root(&stem(word))).or_insert_with(|| format!("~{first}"));
        }
    }
    out
});

/// The words that tell something, forms and meanings taken for one.
pub fn telling(text: &str) -> BTreeSet<String> {
    let lists = &HEARING.words;
    let tells = |w: &String| !WORDS.function.has(w) && !lists.empty.has(w) && !lists.greeting.has(w) && !lists.negations.has(w);
    let meant = |w: String| ALIKE.get(&w).cloned().unwrap_or(w);
    words(text).into_iter().filter(tells).map(|w| meant(root(&stem(w.trim_end_matches("'s"))))).collect()
}

/// The beginning that forms of a word share, roughly: `booking` and `booked` are `book`.
pub fn root(word: &str) -> String {
    for ending in ["ing", "ed", "ation", "ment", "er"] {
        if let Some(cut) = word.strip_suffix(ending).filter(|c| c.len() >= 4) {
            let cut = cut.strip_suffix('e').unwrap_or(cut);
            let double = cut.len() > 4 && cut.chars().rev().take(2).collect::<BTreeSet<_>>().len() == 1 && !cut.ends_with(['s', 'l']);
            return if double { cut.get(..cut.len() - 1).unwrap_or(cut).to_owned() } else { cut.to_owned() };
        }
    }
    word.strip_suffix('e').filter(|c| c.len() >= 4).unwrap_or(word).to_owned()
}

/// The part of a whole, 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "counts of words")]
pub fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How much a word tells that so few of so many texts have; one that none has may be anything.
pub fn weight(having: usize, of: usize) -> f64 {
    const UNKNOWN: f64 = 0.35;
    (1.0 + share(of, having.max(1))).ln() * if having == 0 { UNKNOWN } else { 1.0 }
}

/// Which of some texts is nearest to what was said, and how near it is, 0 to 1: what both share of both.
pub fn nearest<'a, T>(said: &BTreeSet<String>, among: &'a [T], text: impl Fn(&T) -> &str) -> Option<(f64, &'a T)> {
    let all: Vec<BTreeSet<String>> = among.iter().map(|t| telling(text(t))).collect();
    let tells = |w: &String| weight(all.iter().filter(|a| a.contains(w)).count(), all.len());
    let sum = |of: &BTreeSet<String>| of.iter().map(tells).sum::<f64>();
    let near = |own: &BTreeSet<String>| {
        let both: f64 = own.intersection(said).map(tells).sum();
        both / (sum(own) * sum(said)).sqrt().max(0.01)
    };
    let mut best: Option<(f64, &T)> = None;
    for (own, t) in all.iter().zip(among) {
        let n = near(own);
        if best.as_ref().is_none_or(|(b, _)| n > *b) {
            best = Some((n, t));
        }
    }
    best
}

/// How much of one of these phrases the words say, 0 to 1.
pub fn claimed(phrases: &[String], text: &str) -> f64 {
    /// A yes that a phrase begins with is said, whatever follows it.
    const AGREED: f64 = 0.8;
    let (n, said, signals) = (normal(text), telling(text), Signals::of(text));
    let denies = |t: &str| words(t).iter().any(|w| HEARING.words.negations.has(w) || w.ends_with("n't"));
    let (no, yes) = (signals.has("deny"), signals.has("affirm") && !signals.has("deny") && !signals.has("question"));
    let of = |phrase: &String| {
        let p = normal(phrase);
        let p = p.trim_end_matches(['.', '!', '?']);
        let (own, of) = (telling(phrase), Signals::of(phrase));
        let shared = share(own.intersection(&said).count(), own.len());
        let begins = |word: &str| words(p).first().is_some_and(|w| w == word);
        let refuses = begins("no") || own.is_empty() && of.has("deny");
        let agrees = !refuses && (begins("yes") || own.len() <= 1 && of.has("affirm"));
        if word_at(&n, p).is_some() {
            1.0
        } else if agrees && yes || refuses && no {
            AGREED + (1.0 - AGREED) * shared
        } else if agrees && no || refuses && yes || denies(p) != denies(&n) {
            0.0
        } else {
            shared
        }
    };
    phrases.iter().map(of).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_claimed_in_other_words() {
        let says = |phrase: &str, text: &str| claimed(&[phrase.to_owned()], text) >= super::super::CLAIMS;
        assert!(says("I want to cancel my booking", "please cancel the booking"));
        assert!(!says("I want to cancel my booking", "don't cancel the booking"));
        assert!(says("Yes", "yeah sure") && says("No", "no thanks") && !says("Yes", "no thanks"));
        assert!(says("Yes, I can come", "sure, I'm on my way") && !says("Yes, I can come", "no, I have no car"));
        assert!(!says("I would like a refund", "where is my parcel"));
    }

    #[test]
    fn words_of_one_meaning_are_one() {
        let questions = ["When are you open?", "How much is a ticket?"];
        let asked = |text: &str| nearest(&telling(text), &questions, |q| q).filter(|(n, _)| *n > 0.4).map(|(_, q)| *q);
        assert_eq!(asked("how expensive are the tickets"), Some(questions[1]));
        assert_eq!(asked("until when are your opening hours"), Some(questions[0]));
        assert_eq!(asked("where can I sit"), None);
    }
}
