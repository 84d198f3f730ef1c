//! Sentences said again in other places: a told line in a reason, a question as the statement that it asks about.

use super::super::told::{Literal, Reading};
use super::grammar::Grammar;
use super::words::{Sentence, Word, third_of};
use crate::term::Term;

/// What a question of yes and no comes to, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// If it is so.
    pub yes: String,
    /// If it is not.
    pub no: String,
}

/// Words as a phrase.
fn phrase<'a>(words: impl IntoIterator<Item = &'a Word>) -> String {
    let mut out = String::new();
    for w in words {
        if !out.is_empty() && !matches!(w.shown.as_str(), "," | ":" | "'s") {
            out.push(' ');
        }
        out.push_str(&w.shown);
    }
    out
}

/// A told sentence as it stands in the middle of another: its first word is small unless it begins a name.
pub fn line(s: &Sentence, said: &[Reading]) -> String {
    let named = |l: &Literal| l.atom.args.iter().filter_map(Term::as_name).any(|n| s.words.first().is_some_and(|w| n.split(' ').next() == Some(&w.shown)));
    let keeps = said.iter().any(|r| match r {
        Reading::Fact(l) => named(l),
        Reading::Rule(r) => [&r.head].into_iter().chain(&r.body).chain(&r.unless).any(named),
        _ => false,
    });
    let text = phrase(&s.words);
    if keeps { text } else { small(&text) }
}

fn small(text: &str) -> String {
    let mut letters = text.chars();
    // A word that is all capitals stays.
    match (letters.next(), letters.clone().next()) {
        (Some(first), second) if !second.is_some_and(char::is_uppercase) => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// The end of a sentence that means this by itself: what is corrected or supposed in it.
pub fn tail(grammar: &Grammar, s: &Sentence, meaning: &Term) -> String {
    let part = |from: usize, to: usize| s.words.get(from..to).map(|w| Sentence { words: w.to_vec(), text: String::new(), asks: false });
    let n = s.words.len();
    let spans = (1..n).flat_map(|from| (from + 1..=n).rev().map(move |to| (from, to)));
    let found = spans.filter_map(|(from, to)| part(from, to)).find(|p| grammar.parse("told", p).as_ref() == Some(meaning));
    found.map_or_else(|| phrase(&s.words), |p| phrase(&p.words))
}

/// A question of yes and no as the two statements that it asks about.
pub fn claims(grammar: &Grammar, s: &Sentence) -> Option<Claim> {
    let words: &[Word] = if s.words.first().is_some_and(|w| w.lower == "why") { s.words.get(1..)? } else { &s.words };
    let (first, rest) = words.split_first()?;
    let told = |text: &str| {
        let part = super::sentences(text).into_iter().next()?;
        grammar.parse("told", &part)
    };
    match first.lower.as_str() {
        aux @ ("is" | "are" | "was" | "were" | "can" | "may" | "must" | "should" | "will" | "does" | "do" | "did") => (1..rest.len()).find_map(|n| {
            let (subject, said) = (rest.get(..n)?, rest.get(n..)?);
            let whole = Sentence { words: subject.to_vec(), text: String::new(), asks: false };
            ["topic", "topics", "whom"].iter().find_map(|g| grammar.parse(g, &whole))?;
            let (subject, said) = (phrase(subject), phrase(said));
            let (verb, object) = said.split_once(' ').unwrap_or((&said, ""));
            let yes = match aux {
                "does" => format!("{subject} {} {object}", third_of(verb)).trim_end().to_owned(),
                "do" => format!("{subject} {said}"),
                _ => format!("{subject} {aux} {said}"),
            };
            let no = match said.strip_prefix("not ") {
                _ if ["all", "every", "everyone", "everybody", "everything"].contains(&subject.split(' ').next().unwrap_or_default()) => {
                    format!("not {}", small(&yes))
                }
                Some(said) => format!("{subject} {aux} {said}"),
                None => format!("{subject} {aux} not {said}"),
            };
            (aux == "did" || told(&yes).is_some()).then_some(Claim { yes, no })
        }),
        _ if !s.asks => told(&phrase(words)).map(|_| Claim { yes: phrase(words), no: format!("it is not so that {}", small(&phrase(words))) }),
        _ => None,
    }
}
