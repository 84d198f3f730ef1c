//! Patterns that texts are matched with from their beginning, in the syntax of Python's `re`.

use std::fmt;
use std::sync::Arc;

use fancy_regex::{Regex, RegexBuilder};

/// Steps that a match may take back; beyond them it cannot be told.
const MOST_STEPS: usize = 100_000;

/// A pattern.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    compiled: Arc<Regex>,
}

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub fn python(text: &str) -> Result<Self, String> {
        let compiled = RegexBuilder::new(&format!("\\A(?:{})", translated(text))).backtrack_limit(MOST_STEPS).build().map_err(|e| e.to_string())?;
        Ok(Self { text: text.to_owned(), compiled: Arc::new(compiled) })
    }

    /// Whether a text begins with what it describes; nothing where that takes too many steps.
    pub fn matches(&self, text: &str) -> Option<bool> {
        self.compiled.is_match(text).ok()
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// What Python writes otherwise: `\Z` is the end of the text, and `$` matches before a last line's end, too.
fn translated(text: &str) -> String {
    let (mut out, mut chars, mut in_class) = (String::new(), text.chars().peekable(), false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('Z') if !in_class => out.push_str("\\z"),
                Some(escaped) => out.extend(['\\', escaped]),
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                // A bracket that closes at once is one of the class.
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if chars.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', c]),
            '$' if !in_class => out.push_str("(?=\\n?\\z)"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_python_means() {
        for (pattern, text, holds) in [
            ("[0-9]{4}$", "1234", true),
            ("[0-9]{4}$", "1234\n", true),
            ("[0-9]{4}\\Z", "1234\n", false),
            ("b", "ab", false),
            ("a|b", "bc", true),
            ("(?P<x>.)(?P=x)", "aab", true),
            ("(\\w)\\1", "ab", false),
            ("(?!foo)\\w+$", "foobar", false),
            ("(?i)abc", "ABCD", true),
            ("[[a]", "[", true),
            ("[]a]", "]", true),
            ("", "anything", true),
        ] {
            assert_eq!(Pattern::python(pattern).unwrap().matches(text), Some(holds), "{pattern} on {text:?}");
        }
        assert!(Pattern::python("(a").is_err() && Pattern::python("*a").is_err());
        assert_eq!(Pattern::python("(?:(a+)+)+\\1b(?=c)").unwrap().matches(&"a".repeat(60)), None);
    }
}
