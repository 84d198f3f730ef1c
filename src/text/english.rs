//! English words that several parts of the program know by kind, read from `kb/core/words.yaml`, which explains them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// What the file says.
pub static ENGLISH: LazyLock<English> = LazyLock::new(|| {
    let read = serde_saphyr::from_str(include_str!("../../kb/core/words.yaml"));
    #[expect(clippy::expect_used, reason = "the file is part of the program, and tests read it")]
    read.expect("kb/core/words.yaml is well formed")
});

/// Words by kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct English {
    /// Numbers below twenty.
    pub units: Vec<String>,
    /// Tens, by how many there are.
    pub tens: Vec<String>,
    /// Places in a row, up to the twelfth.
    pub ordinals: Vec<String>,
    /// Days of the week.
    pub weekdays: Vec<String>,
    articles: Vec<String>,
    owners: Vec<String>,
    each: Vec<String>,
    short: BTreeMap<String, String>,
    denied: BTreeMap<String, String>,
    /// What stands within a name and names nothing by itself.
    pub particles: Vec<String>,
    short_years: u16,
    money: BTreeMap<String, Money>,
}

/// How a currency is said.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// Its unit.
    pub unit: String,
    /// The hundredth of it.
    pub part: String,
    /// Another word for the unit.
    pub also: Option<String>,
}

impl English {
    /// `the`, `a`, `an`.
    pub fn is_article(&self, word: &str) -> bool {
        self.articles.iter().any(|w| w == word)
    }

    /// Whether a noun follows.
    pub fn is_before_noun(&self, word: &str) -> bool {
        self.articles.iter().chain(&self.owners).chain(&self.each).any(|w| w == word)
    }

    /// What a word's end behind its apostrophe is short for.
    pub fn long(&self, end: &str) -> Option<&str> {
        self.short.get(end).map(String::as_str)
    }

    /// The verb that stands before "'t": of `don` do, of `won` will.
    pub fn verb_denied<'a>(&'a self, before: &'a str) -> Option<&'a str> {
        self.denied.get(before).map(String::as_str).or_else(|| before.strip_suffix('n'))
    }

    /// How a sign of money is said.
    pub fn money(&self, sign: &str) -> Option<&Money> {
        self.money.get(sign)
    }

    /// The year that two digits stand for.
    pub fn year(&self, digits: u16) -> u16 {
        let year = self.short_years / 100 * 100 + digits;
        if year < self.short_years { year + 100 } else { year }
    }

    /// Whether a word is the unit of some money.
    pub fn is_money(&self, word: &str) -> bool {
        self.money.values().any(|m| m.unit == word || m.also.as_deref() == Some(word))
    }
}

/// Words, in the order in which they are written.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub struct List(Vec<String>);

impl From<String> for List {
    fn from(text: String) -> Self {
        Self(text.split_whitespace().map(str::to_owned).collect())
    }
}

impl List {
    /// Whether a word is among them.
    pub fn has(&self, word: &str) -> bool {
        self.0.iter().any(|w| w == word)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        assert_eq!((ENGLISH.units.len(), ENGLISH.tens.len(), ENGLISH.ordinals.len()), (20, 10, 13));
        assert_eq!([ENGLISH.verb_denied("won"), ENGLISH.verb_denied("don"), ENGLISH.verb_denied("can")].map(Option::unwrap), ["will", "do", "can"]);
        assert!(ENGLISH.is_money("buck") && ENGLISH.is_money("pound") && !ENGLISH.is_money("cent"));
    }
}
