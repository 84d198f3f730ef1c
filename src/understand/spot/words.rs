//! An utterance as words with their sentences; contractions are closed up, so that "do n't", "don't" and "dont" are one word.

use std::ops::Range;

use crate::term::Term;

/// A word, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its letters.
    pub text: String,
    /// Its bytes in the utterance.
    pub range: Range<usize>,
    /// The number of its sentence.
    pub sentence: usize,
}

/// Cuts an utterance into words; marks of punctuation are words of their own, and some end a sentence.
pub fn words(text: &str) -> Vec<Word> {
    let mut out: Vec<Word> = vec![];
    let mut sentence = 0;
    let mut open = false;
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let digit = |i: Option<usize>| i.and_then(|i| chars.get(i)).is_some_and(|c| c.1.is_ascii_digit());
    for (i, (at, c)) in chars.iter().enumerate() {
        let end = at + c.len_utf8();
        let inner = matches!(c, '.' | ':' | ',') && digit(i.checked_sub(1)) && digit(Some(i + 1));
        if matches!(c, '\'' | '’' | '`') {
            // What begins with an apostrophe belongs to the word before it.
            open = open || !out.is_empty();
        } else if matches!(c, '.' | '?' | '!' | ';' | ',' | '"' | '(' | ')') && !inner {
            out.push(Word { text: c.to_string(), range: *at..end, sentence });
            if matches!(c, '.' | '?' | '!' | ';') {
                sentence += 1;
            }
            open = false;
        } else if c.is_alphanumeric() || inner || matches!(c, ':' | '#' | '£' | '&') {
            match out.last_mut().filter(|_| open) {
                Some(word) => {
                    word.text.extend(c.to_lowercase());
                    word.range.end = end;
                }
                None => out.push(Word { text: c.to_lowercase().collect(), range: *at..end, sentence }),
            }
            open = true;
        } else {
            open = false;
        }
    }
    close(out)
}

/// Joins what is written apart: "do nt", "5 pm".
fn close(apart: Vec<Word>) -> Vec<Word> {
    let mut out: Vec<Word> = vec![];
    for word in apart {
        let clock =
            |w: &Word| w.text.len() < 6 && w.text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.')) && w.text.bytes().any(|b| b.is_ascii_digit());
        match out.last_mut() {
            Some(last) if word.text == "nt" || (matches!(word.text.as_str(), "am" | "pm") && clock(last)) => {
                last.text.push_str(&word.text);
                last.range.end = word.range.end;
            }
            _ => out.push(word),
        }
    }
    out
}

/// The words of a phrase. "n't" at its beginning is the end of any word.
pub fn phrase(text: &str) -> Vec<String> {
    let (ending, rest) = text.strip_prefix("n't").map_or((false, text), |rest| (true, rest));
    let own = words(rest).into_iter().map(|w| w.text);
    if ending { std::iter::once("*nt".to_owned()).chain(own).collect() } else { own.collect() }
}

/// Whether a phrase stands at a word. `*x` is a word that ends in x, a run of `#` at least as many digits.
pub fn stands(said: &[Word], at: usize, phrase: &[String]) -> bool {
    let fits = |(word, wanted): (&Word, &String)| match wanted.chars().next() {
        Some('*') => wanted.get(1..).is_some_and(|end| word.text.ends_with(end)),
        Some('#') => word.text.len() >= wanted.len() && word.text.bytes().all(|b| b.is_ascii_digit()),
        _ => word.text == *wanted,
    };
    !phrase.is_empty() && said.get(at..at + phrase.len()).is_some_and(|here| here.iter().zip(phrase).all(fits))
}

/// The number that a word is.
pub fn number(word: &str) -> Option<i32> {
    if word.len() > 3 || !word.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    word.parse().ok()
}

/// A value as the file writes it: a number, a quoted string or a constant.
pub fn value(text: &str) -> Option<Term> {
    Term::parse(text).ok()
}
