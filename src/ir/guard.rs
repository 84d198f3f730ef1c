//! Conditions with three truth values, and how they stand in a conversation.
//!
//! What numbers and texts compare to is found here, before rules decide; rules see `met(N)` and `unmet(N)` for the guard with this number, and
//! neither where it cannot be told.

use super::pattern::PythonPattern;
use super::standing::Standing;
use super::value::{Given, Path, Value};
use crate::term::{Atom, Term};

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Guard {
    /// All of these hold.
    All(Vec<Guard>),
    /// One of these holds.
    Any(Vec<Guard>),
    /// It does not hold.
    Not(Box<Guard>),
    /// Two values compare so.
    Compare(Path, Compare, Value),
    /// There is a value.
    Known(Path),
    /// A text that the function gave back, in a field whose name ends in one of these ways, has one of these words.
    Says {
        /// The function.
        function: String,
        /// Ends of field names.
        fields: Vec<String>,
        /// Words, in small letters.
        words: Vec<String>,
    },
    /// It is in free words, and whoever listens answers it.
    Words(String),
    /// Two values compare so as they are: numbers with numbers, texts with texts letter by letter, booleans and nothing with their like only.
    Exactly(Path, Compare, Given),
    /// A text begins with what the pattern describes.
    Match(PythonPattern, Path),
    /// There is a value, and it is neither no, nor zero, nor empty.
    Holds(Path),
    /// The speaker says one of these, in other words perhaps; whoever listens answers it.
    Heard(Vec<String>),
    /// The speaker chose this.
    Clicked(String),
}

/// How two values compare. Numbers are compared as numbers wherever both sides are some, texts without regard to case and outer blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compare {
    /// It is the value.
    Is,
    /// It is something else.
    IsNot,
    /// It is a larger number.
    More,
    /// It is a smaller number.
    Less,
    /// It is the number or a larger one.
    AtLeast,
    /// It is the number or a smaller one.
    AtMost,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// It cannot be told.
    Unknown,
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl Guard {
    /// Whether whoever listens has to answer it, or part of it.
    pub fn is_in_words(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::is_in_words),
            Self::Not(part) => part.is_in_words(),
            Self::Words(_) | Self::Heard(_) => true,
            Self::Compare(..) | Self::Known(_) | Self::Says { .. } | Self::Exactly(..) | Self::Match(..) | Self::Holds(_) | Self::Clicked(_) => false,
        }
    }

    /// Whether it holds as a conversation stands.
    pub fn truth(&self, standing: &Standing<'_>) -> Truth {
        match self {
            // Kleene: one `no` decides a conjunction, one `yes` a disjunction, whatever is unknown beside it.
            Self::All(parts) => fold(parts, standing, Truth::No, Truth::Yes),
            Self::Any(parts) => fold(parts, standing, Truth::Yes, Truth::No),
            Self::Not(part) => match part.truth(standing) {
                Truth::Yes => Truth::No,
                Truth::No => Truth::Yes,
                Truth::Unknown => Truth::Unknown,
            },
            Self::Compare(path, how, value) => standing.find(path).filter(|v| !v.is_none()).map_or(Truth::Unknown, |v| how.holds(&v, value).into()),
            Self::Known(path) => standing.find(path).is_some_and(|v| !v.is_none()).into(),
            Self::Says { function, fields, words } => {
                let told = standing.results(function).filter(|(f, _)| fields.iter().any(|end| f.ends_with(end.as_str())));
                told.into_iter().any(|(_, v)| words.iter().any(|w| has_word(&v.to_string().to_lowercase(), w))).into()
            }
            Self::Words(_) | Self::Exactly(..) | Self::Match(..) | Self::Holds(_) | Self::Heard(_) | Self::Clicked(_) => Truth::Unknown,
        }
    }
}

fn fold(parts: &[Guard], standing: &Standing<'_>, decides: Truth, otherwise: Truth) -> Truth {
    let mut out = otherwise;
    for part in parts {
        match part.truth(standing) {
            t if t == decides => return decides,
            Truth::Unknown => out = Truth::Unknown,
            _ => {}
        }
    }
    out
}

fn has_word(text: &str, word: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(at, w)| {
        let (before, after) = (text.get(..at).unwrap_or(""), text.get(at + w.len()..).unwrap_or(""));
        !letter(before.chars().next_back()) && !letter(after.chars().next())
    })
}

impl Compare {
    /// Whether a value compares so with another.
    pub fn holds(self, found: &Value, value: &Value) -> bool {
        let order = match (found.number(), value.number()) {
            (Some(a), Some(b)) => a.partial_cmp(&b),
            _ => None,
        };
        let text = |v: &Value| v.to_string().split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let same = order.map_or_else(|| text(found) == text(value), std::cmp::Ordering::is_eq);
        match self {
            Self::Is => same,
            Self::IsNot => !same,
            Self::More => order.is_some_and(std::cmp::Ordering::is_gt),
            Self::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Self::AtLeast => order.is_some_and(std::cmp::Ordering::is_ge),
            Self::AtMost => order.is_some_and(std::cmp::Ordering::is_le),
        }
    }
}

/// What can be told of the guards of a program from the facts that a turn is decided on.
pub fn settle(guards: &[Guard], facts: &[Atom]) -> Vec<Atom> {
    let standing = Standing::of(facts);
    let told = |(n, guard): (usize, &Guard)| {
        let name = match guard.truth(&standing) {
            Truth::Yes => "met",
            Truth::No => "unmet",
            Truth::Unknown => return None,
        };
        Some(Atom::new(name, vec![Term::Int(i32::try_from(n).ok()?)]))
    };
    guards.iter().enumerate().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(guard: &Guard, facts: &[&str]) -> Truth {
        let facts: Vec<Atom> = facts.iter().map(|f| Atom::parse(f).unwrap()).collect();
        guard.truth(&Standing::of(&facts))
    }

    fn compares(how: Compare, value: &str) -> Guard {
        Guard::Compare(Path::named("price"), how, Value::Text(value.into()))
    }

    #[test]
    fn numbers_compare_as_numbers_and_texts_without_case() {
        for (fact, guard, want) in [
            ("value(\"price\",\"100.50\")", compares(Compare::More, "100"), Truth::Yes),
            ("value(\"price\",30)", compares(Compare::Is, "30.0"), Truth::Yes),
            ("value(\"price\",\"High\")", compares(Compare::Is, " high "), Truth::Yes),
            ("value(\"price\",\"high\")", compares(Compare::More, "3"), Truth::No),
            ("value(\"other\",1)", compares(Compare::IsNot, "3"), Truth::Unknown),
        ] {
            assert_eq!(truth(&guard, &[fact]), want, "{guard:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_decides_nothing() {
        let unknown = || Guard::Words("the speaker is in a hurry".into());
        let yes = || Guard::Not(Box::new(Guard::Known(Path::named("price"))));
        assert_eq!(truth(&Guard::All(vec![unknown(), yes()]), &[]), Truth::Unknown);
        assert_eq!(truth(&Guard::All(vec![unknown(), Guard::Not(Box::new(yes()))]), &[]), Truth::No);
        assert_eq!(truth(&Guard::Any(vec![unknown(), yes()]), &[]), Truth::Yes);
    }

    #[test]
    fn what_was_just_said_counts_before_what_was_known() {
        let guard = compares(Compare::Is, "3");
        assert_eq!(truth(&guard, &["value(\"price\",2)", "in(1,gives(\"price\",3))"]), Truth::Yes);
    }

    #[test]
    fn a_result_that_says_no_is_read_by_its_words() {
        let guard = Guard::Says { function: "room".into(), fields: vec!["Message".into()], words: vec!["unavailable".into()] };
        let result = |field: &str, text: &str| format!("result(\"room\",\"{field}\",\"{text}\")");
        assert_eq!(truth(&guard, &[&result("Message", "That time is Unavailable.")]), Truth::Yes);
        assert_eq!(truth(&guard, &[&result("Name", "Unavailable Inn")]), Truth::No);
        assert_eq!(truth(&guard, &[&result("Message", "unavailability")]), Truth::No);
    }
}
