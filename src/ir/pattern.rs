//! Patterns that texts are matched with from their beginning, in the syntax of Python's `re`.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use fancy_regex::{Regex, RegexBuilder};

/// Steps that a match may take back; beyond them it cannot be told.
const MOST_STEPS: usize = 100_000;

/// A pattern.
#[derive(Clone)]
pub struct PythonPattern {
    text: String,
    compiled: Arc<Regex>,
}

impl PythonPattern {
    /// Reads a pattern, or says what is wrong with it.
    pub fn python(text: &str) -> Result<Self, String> {
        let translated = translated(text)?;
        // By itself first: what is wrong with it must not be mended by what is put around it.
        Regex::new(&translated).map_err(|e| e.to_string())?;
        let compiled = RegexBuilder::new(&format!("\\A(?:{translated})")).backtrack_limit(MOST_STEPS).build().map_err(|e| e.to_string())?;
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

impl fmt::Debug for PythonPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonPattern({:?})", self.text)
    }
}

impl PartialEq for PythonPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// What Python writes otherwise: `\Z` is the end of the text, `$` matches before a last line's end, too, and a sign that is no letter stands for
/// itself after a backslash. What Python does not know is an error here as well.
fn translated(text: &str) -> Result<String, String> {
    let lines =
        text.strip_prefix("(?").and_then(|t| t.split_once(')')).is_some_and(|(flags, _)| flags.contains('m') && flags.chars().all(|c| c.is_ascii_lowercase()));
    let (mut out, mut chars, mut in_class) = (String::new(), text.chars().peekable(), false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('Z') if !in_class => out.push_str("\\z"),
                Some('b') if in_class => out.push_str("\\x08"),
                Some('0') => {
                    let digits: String = std::iter::from_fn(|| chars.next_if(|c| ('0'..='7').contains(c))).take(2).collect();
                    let _ = write!(out, "\\x{{{:x}}}", u32::from_str_radix(&digits, 8).unwrap_or_default());
                }
                Some(known @ ('d' | 'D' | 's' | 'S' | 'w' | 'W' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' | 'x' | 'u' | 'U' | '1'..='9')) => {
                    out.extend(['\\', known])
                }
                Some(known @ ('A' | 'b' | 'B')) if !in_class => out.extend(['\\', known]),
                Some(letter) if letter.is_ascii_alphabetic() => return Err(format!("Python knows no escape \\{letter}")),
                Some(sign) if sign.is_ascii_punctuation() && !matches!(sign, '<' | '>') => out.extend(['\\', sign]),
                Some(sign @ (' ' | '\t' | '\n')) => {
                    let _ = write!(out, "\\x{:02x}", u32::from(sign));
                }
                Some(sign) => out.push(sign),
                None => return Err("a backslash stands at its end".to_owned()),
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
            '$' if !in_class => out.push_str(if lines { "(?=\\n|\\z)" } else { "(?=\\n?\\z)" }),
            '(' if !in_class => {
                out.push('(');
                if chars.clone().take(2).eq("?<".chars()) && !chars.clone().nth(2).is_some_and(|c| matches!(c, '=' | '!')) {
                    return Err("Python names a group by (?P<NAME>…)".to_owned());
                }
            }
            c => out.push(c),
        }
    }
    Ok(out)
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
            ("\\<b\\>", "<b>", true),
            ("\\<b\\>", "b", false),
            ("(?m)a$", "a\nb", true),
            ("a$", "a\nb", false),
            ("a\\07$", "a\u{7}", true),
            ("[\\b]", "\u{8}", true),
            ("(?<=a)|b", "b", true),
        ] {
            assert_eq!(PythonPattern::python(pattern).unwrap().matches(text), Some(holds), "{pattern} on {text:?}");
        }
        for broken in ["(a", "*a", "a)|(b", "\\h", "\\p{L}", "\\K", "[\\Z]", "(?<n>a)", "a\\"] {
            assert!(PythonPattern::python(broken).is_err(), "{broken}");
        }
        assert_eq!(PythonPattern::python("(?:(a+)+)+\\1b(?=c)").unwrap().matches(&"a".repeat(60)), None);
    }
}
