//! An utterance as tokens: lower case, contractions opened, numbers read, unknown words with what they may be misspellings of.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::link::words::{UNKNOWN, Words};
use crate::text::{ENGLISH, is_plural, plain};

/// More words than anybody says in one turn; the rest is reported as not understood.
pub const MAX_TOKENS: usize = 160;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A word.
    Word,
    /// A number in digits: its value in hundredths, and whether it was written with two decimals or a currency sign.
    Number {
        /// Hundredths.
        hundredths: i64,
        /// Whether it can only be an amount of money.
        money: bool,
    },
    /// A punctuation mark.
    Punct(char),
}

/// One token.
#[derive(Clone, Debug)]
pub struct Token {
    /// Lower-case text.
    pub text: String,
    /// Word number, [`UNKNOWN`] if none.
    pub id: u32,
    /// Other words it may mean, with closeness.
    pub alts: Vec<(u32, f32)>,
    /// Bytes of the utterance.
    pub range: Range<usize>,
    /// What it is.
    pub kind: Kind,
    /// Whether the word looks like a plural.
    pub plural: bool,
}

impl Token {
    /// Whether it is the word, and how surely.
    pub fn is(&self, word: u32) -> Option<f32> {
        if self.id == word && word != UNKNOWN {
            return Some(1.0);
        }
        self.alts.iter().find(|(w, _)| *w == word).map(|a| a.1)
    }

    /// Whether it is a mark that ends a sentence.
    pub fn ends_sentence(&self) -> bool {
        matches!(self.punct(), Some('.' | '?' | '!' | ';'))
    }

    /// The words it may be, with closeness.
    pub fn readings(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        (self.id != UNKNOWN).then_some((self.id, 1.0)).into_iter().chain(self.alts.iter().copied())
    }

    /// The mark, if it is one.
    pub fn punct(&self) -> Option<char> {
        match self.kind {
            Kind::Punct(c) => Some(c),
            _ => None,
        }
    }
}

/// What the tokeniser needs to know of a language: contractions and respellings, both as word → words.
#[derive(Clone, Debug, Default)]
pub struct Respell {
    /// Word to the words it stands for.
    pub words: FxHashMap<String, Vec<String>>,
}

/// Splits text into raw pieces: words with inner apostrophes, numbers, marks.
fn pieces(text: &str) -> Vec<(String, Range<usize>, Kind)> {
    let mut out: Vec<(String, Range<usize>, Kind)> = vec![];
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let at = |i: usize| chars.get(i).map(|c| c.1);
    let byte = |i: usize| chars.get(i).map_or(text.len(), |c| c.0);
    let mut i = 0;
    while let Some(c) = at(i) {
        if out.len() > MAX_TOKENS * 2 {
            break;
        }
        // The sequences by which terminals are steered are nothing that was said.
        if c == '\u{1b}' {
            i += 1;
            if at(i) == Some('[') {
                i += 1;
                while at(i).is_some_and(|d| d.is_ascii_digit() || matches!(d, ';' | '?')) {
                    i += 1;
                }
                i += 1;
            }
            continue;
        }
        let start = i;
        let money = c == '$' || c == '€' || c == '£';
        let digit_at = if money || (c == '.' && !at(i.wrapping_sub(1)).is_some_and(|p| p.is_ascii_digit())) { i + 1 } else { i };
        if at(digit_at).is_some_and(|d| d.is_ascii_digit()) && (digit_at == i || money || c == '.') {
            let mut j = digit_at;
            let mut digits = String::new();
            let mut decimals: Option<String> = (c == '.').then(String::new);
            while let Some(d) = at(j) {
                let next_digit = at(j + 1).is_some_and(|n| n.is_ascii_digit());
                match d {
                    '0'..='9' => decimals.as_mut().unwrap_or(&mut digits).push(d),
                    '.' if next_digit && decimals.is_none() => decimals = Some(String::new()),
                    // Two digits after a comma are cents, three are thousands.
                    ',' if decimals.is_none()
                        && (j + 1..j + 3).all(|k| at(k).is_some_and(|x| x.is_ascii_digit()))
                        && !at(j + 3).is_some_and(|x| x.is_ascii_digit()) =>
                    {
                        decimals = Some(String::new());
                    }
                    ',' if next_digit && decimals.is_none() && (j + 1..j + 4).all(|k| at(k).is_some_and(|x| x.is_ascii_digit())) => {}
                    _ => break,
                }
                j += 1;
            }
            let whole: i64 = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(i64::from(i32::MAX)) };
            let fraction = decimals.as_deref().map_or(0, |d| format!("{d:0<2}").get(..2).and_then(|x| x.parse().ok()).unwrap_or(0));
            let two = decimals.as_ref().is_some_and(|d| d.len() == 2);
            let hundredths = whole.min(i64::from(i32::MAX)) * 100 + fraction;
            out.push((text.get(byte(start)..byte(j)).unwrap_or("").to_lowercase(), byte(start)..byte(j), Kind::Number { hundredths, money: money || two }));
            i = j;
        } else if c.is_alphanumeric() {
            let mut j = i;
            let mut word = String::new();
            while let Some(d) = at(j) {
                let joins = (d == '\'' || d == '\u{2019}') && at(j + 1).is_some_and(char::is_alphanumeric) && j > i;
                if d.is_alphanumeric() && !(d.is_ascii_digit() && j > i) {
                    word.extend(plain(d));
                } else if joins {
                    word.push('\'');
                } else {
                    break;
                }
                j += 1;
            }
            // "O.J.".
            while word.chars().count() * 2 == j - i + 1
                && at(j) == Some('.')
                && at(j + 1).is_some_and(char::is_alphabetic)
                && !at(j + 2).is_some_and(char::is_alphanumeric)
            {
                word.extend(at(j + 1).into_iter().flat_map(plain));
                j += 2;
            }
            // "Dr. Pepper": of what has no vowel the mark is no end.
            let short = (2..4).contains(&word.chars().count()) && !word.chars().any(|c| "aeiouy'".contains(c));
            let goes_on = at(j) == Some('.') && at(j + 1) == Some(' ') && at(j + 2).is_some_and(char::is_alphabetic);
            let spelt = j > i + word.chars().count() && at(j) == Some('.');
            let mark = usize::from(short && goes_on || spelt);
            // "W/o cheese", "w/ cheese".
            if word == "w" && at(j) == Some('/') {
                let without = at(j + 1) == Some('o') && !at(j + 2).is_some_and(char::is_alphanumeric);
                word.extend(without.then_some('o'));
                j += 1 + usize::from(without);
            }
            out.push((word, byte(start)..byte(j), Kind::Word));
            i = (j + mark).max(i + 1);
        } else {
            if c == '&' || c == '+' {
                let word = if c == '&' { "and" } else { "plus" };
                out.push((word.into(), byte(i)..byte(i + 1), Kind::Word));
            } else if !c.is_whitespace() && !matches!(c, '-' | '\'' | '\u{2019}' | '\u{2018}' | '*' | '_' | '~') {
                let c = match c {
                    '\u{2026}' => '.',
                    '\u{2014}' | '\u{2013}' | ';' => ',',
                    '\u{201c}' | '\u{201d}' => '"',
                    c => c,
                };
                let repeated = out.last().is_some_and(|l| l.2 == Kind::Punct(c));
                if !repeated {
                    out.push((c.to_string(), byte(i)..byte(i + 1), Kind::Punct(c)));
                }
            } else if c == '-' && at(i + 1).is_some_and(|n| n.is_ascii_digit() || n == '$') && i.checked_sub(1).and_then(at).is_none_or(char::is_whitespace) {
                out.push(("minus".into(), byte(i)..byte(i + 1), Kind::Word));
            } else if c == '-' && (at(i + 1) == Some(' ') || at(i + 1) == Some('-')) && !out.is_empty() {
                out.push((",".into(), byte(i)..byte(i + 1), Kind::Punct(',')));
            }
            i += 1;
        }
    }
    out
}

/// The words of a name or a pattern, normalised as utterances are (without spelling help).
pub fn plain_words(text: &str, respell: &Respell) -> Vec<String> {
    let mut out = vec![];
    for (word, _, kind) in pieces(text) {
        match kind {
            Kind::Word => open(&word, respell, &mut out),
            Kind::Number { .. } => out.push(word),
            Kind::Punct(c) => out.push(c.to_string()),
        }
    }
    out
}

/// The respelling of a word with two neighbouring letters in the wrong order.
fn respelt_swapped<'r>(word: &str, respell: &'r Respell) -> Option<&'r Vec<String>> {
    let letters: Vec<char> = word.chars().collect();
    (1..letters.len()).find_map(|i| {
        let mut swapped = letters.clone();
        swapped.swap(i - 1, i);
        respell.words.get(&swapped.into_iter().collect::<String>())
    })
}

fn open(word: &str, respell: &Respell, out: &mut Vec<String>) {
    if let Some(words) = respell.words.get(word) {
        out.extend(words.iter().cloned());
        return;
    }
    if let Some((base, end)) = word.rsplit_once('\'') {
        let opened = match end {
            "s" if base.chars().count() > 1 => Some("is"),
            "s" => None,
            end => match ENGLISH.long(end) {
                None => {
                    out.push(word.replace('\'', ""));
                    return;
                }
                long => long,
            },
        };
        match respell.words.get(base) {
            Some(words) => out.extend(words.iter().cloned()),
            None => out.push(base.to_owned()),
        }
        out.extend(opened.map(str::to_owned));
        return;
    }
    out.push(word.to_owned());
}

/// The tokens of an utterance. `is_name_word` tells words that names are made of, for joining and splitting compounds.
/// The second value is where reading stopped, if the utterance was longer than [`MAX_TOKENS`].
pub fn tokens(text: &str, words: &Words, respell: &Respell, is_name_word: &dyn Fn(u32) -> bool) -> (Vec<Token>, Option<usize>) {
    let mut out: Vec<Token> = vec![];
    let mut cut = None;
    for (word, range, kind) in pieces(text) {
        if out.len() >= MAX_TOKENS {
            cut = Some(range.start);
            break;
        }
        if kind != Kind::Word {
            let id = words.id(&word);
            out.push(Token { text: word, id, alts: vec![], range, kind, plural: false });
            continue;
        }
        let mut opened = vec![];
        match respelt_swapped(&word, respell).filter(|_| word.len() > 3 && words.id(&word) == UNKNOWN && !respell.words.contains_key(&word)) {
            Some(meant) => opened.extend(meant.iter().cloned()),
            None => open(&word, respell, &mut opened),
        }
        for w in opened {
            let w = if words.id(&w) == UNKNOWN { shortened(&w, words).unwrap_or(w) } else { w };
            // "Guacs back".
            let single = w.strip_suffix('s').filter(|one| one.len() > 3 && words.id(&w) == UNKNOWN && is_name_word(words.id(one))).map(str::to_owned);
            let plural = single.is_some();
            let w = single.unwrap_or(w);
            if let Some(previous) = out.last_mut()
                && previous.kind == Kind::Word
                && previous.range.end != range.end
            {
                let joined = format!("{}{w}", previous.text);
                let id = words.id(&joined);
                let both_unknown = previous.id == UNKNOWN || words.id(&w) == UNKNOWN || !is_name_word(words.id(&w)) || !is_name_word(previous.id);
                if id != UNKNOWN && is_name_word(id) && both_unknown && joined.len() > 6 {
                    previous.plural = is_plural(&joined);
                    previous.text = joined;
                    previous.id = id;
                    previous.alts.clear();
                    previous.range.end = range.end;
                    continue;
                }
            }
            let id = words.id(&w);
            if id == UNKNOWN
                && let Some((left, right)) = split(&w, words, is_name_word)
            {
                for part in [left, right] {
                    let id = words.id(&part);
                    let alts = if id == UNKNOWN { words.nearest(&part) } else { vec![] };
                    out.push(Token { plural: is_plural(&part), text: part, id, alts, range: range.clone(), kind: Kind::Word });
                }
                continue;
            }
            let alts = if id == UNKNOWN { words.nearest(&w) } else { vec![] };
            out.push(Token { plural: plural || is_plural(&w), text: w, id, alts, range: range.clone(), kind: Kind::Word });
        }
    }
    (out, cut)
}

/// The known word that an unknown one draws out: "sooo", "outt".
fn shortened(word: &str, words: &Words) -> Option<String> {
    let letters: Vec<char> = word.chars().collect();
    let at_most = |n: usize| {
        letters.iter().enumerate().filter(|(i, c)| *i < n || !letters.get(i - n..*i).into_iter().flatten().all(|b| b == *c)).map(|x| *x.1).collect::<String>()
    };
    let drawn = letters.windows(3).any(|w| w.iter().all(|c| Some(c) == w.first()));
    let at_end = letters.len() > 2 && letters.iter().rev().take(2).all(|c| Some(c) == letters.last());
    [2, 1].into_iter().filter(|_| drawn || at_end).map(at_most).find(|w| w != word && words.id(w) != UNKNOWN)
}

/// Splits an unknown compound into two name words, the second possibly misspelt.
fn split(word: &str, words: &Words, is_name_word: &dyn Fn(u32) -> bool) -> Option<(String, String)> {
    if word.len() < 7 || !word.is_ascii() || words.nearest(word).first().is_some_and(|n| n.1 > 0.85) {
        return None;
    }
    let name = |w: &str| {
        let id = words.id(w);
        id != UNKNOWN && is_name_word(id)
    };
    for at in (3..=word.len() - 3).rev() {
        let (left, right) = word.split_at(at);
        if name(left) && (name(right) || (right.len() > 5 && words.nearest(right).first().is_some_and(|n| n.1 > 0.75 && is_name_word(n.0)))) {
            return Some((left.to_owned(), right.to_owned()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        plain_words(text, &Respell::default())
    }

    #[test]
    fn words_numbers_and_marks() {
        assert_eq!(texts("I'd like 18,000 cups!!"), ["i", "would", "like", "18,000", "cups", "!"]);
        assert_eq!(texts("from $1.99 to 2.19, ok..."), ["from", "$1.99", "to", "2.19", ",", "ok", "."]);
        assert_eq!(texts("slow-roasted x2 Combo A's jalapeño"), ["slow", "roasted", "x", "2", "combo", "a", "jalapeno"]);
        assert_eq!(texts("it is 2,29 and 1,99"), ["it", "is", "2,29", "and", "1,99"]);
        assert_eq!(pieces("2,29")[0].2, Kind::Number { hundredths: 229, money: true });
        assert_eq!(texts("7-layer 5-Layer"), ["7", "layer", "5", "layer"]);
    }

    #[test]
    fn any_text_is_cut_into_pieces() {
        for t in ["", "   ", "\u{1F600}\u{1F600}", "''''", "$", "$.5", ".", "a\u{0301}", "\"'\"'"] {
            let _ = texts(t);
        }
        assert!(texts(&"a ".repeat(20_000)).len() <= MAX_TOKENS * 2 + 2);
    }
}
