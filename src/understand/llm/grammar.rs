//! The same shape as GBNF for llama.cpp: no white space to choose, numbers within their bounds, own words only as said.

use std::fmt::Write;

use super::forms::{Forms, spans};
use super::names::Names;

/// The grammar for one role and utterance.
pub fn grammar(forms: &Forms, names: &Names, utterance: &str, most: usize) -> String {
    let mut out = String::new();
    let more = most.saturating_sub(1);
    let _ = writeln!(out, "root ::= \"{{\\\"predicates\\\":[\" (item (\",\" item){{0,{more}}})? \"]}}\"");
    let items: Vec<String> = (0..forms.forms.len()).map(|i| format!("form{i}")).collect();
    let _ = writeln!(out, "item ::= {}", items.join(" | "));
    for (i, form) in forms.forms.iter().enumerate() {
        let mut line = literal(&format!("{{\"form\":{}", json_text(&form.text)));
        for field in &form.fields {
            let _ = write!(line, " {} {}", literal(&format!(",{}:", json_text(&field.key))), rule(&field.sort));
        }
        let _ = writeln!(out, "form{i} ::= {line} \"}}\"");
    }
    for (sort, kind) in &forms.kinds {
        let mut ways: Vec<String> = kind.constants.iter().map(|c| literal(&json_text(c))).collect();
        ways.extend(names.of_facts(&kind.facts).into_iter().map(|n| literal(&json_text(n))));
        if let Some((min, max, _)) = kind.int {
            ways.push(integer(min, max));
        }
        if kind.own_words() {
            ways.push("own".to_owned());
        }
        let _ = writeln!(out, "{} ::= {}", rule(sort), ways.join(" | "));
    }
    let own = match spans(utterance) {
        Some(list) if !list.is_empty() => format!("({})", list.iter().map(|s| literal(&json_text(s))).collect::<Vec<_>>().join(" | ")),
        _ => "\"\\\"\" [a-zA-Z0-9 '-]{1,60} \"\\\"\"".to_owned(),
    };
    let _ = writeln!(out, "own ::= \"{{\\\"said\\\":\" {own} \"}}\"");
    out
}

/// Rule names have letters, digits and dashes only.
fn rule(sort: &str) -> String {
    let mut name = String::from("s-");
    name.extend(sort.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }));
    name
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A GBNF string literal; everything but plain ASCII as a code point.
fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            c => {
                let code = u32::from(c);
                let _ = if code <= 0xFFFF { write!(out, "\\u{code:04X}") } else { write!(out, "\\U{code:08X}") };
            }
        }
    }
    out.push('"');
    out
}

/// A rule body for exactly the numbers from `min` to `max`.
fn integer(min: i32, max: i32) -> String {
    let mut ways = Vec::new();
    if min < 0 {
        let highest = (-1).min(max);
        ways.push(format!("\"-\" ({})", natural(highest.unsigned_abs(), min.unsigned_abs())));
    }
    if max >= 0 {
        ways.push(natural(u32::try_from(min).unwrap_or(0), max.unsigned_abs()));
    }
    format!("({})", ways.join(" | "))
}

fn natural(min: u32, max: u32) -> String {
    let mut ways = Vec::new();
    let mut low = min;
    while low <= max {
        // One length of digits at a time: within it every number has the same form.
        let digits = low.to_string().len();
        let last = 10u32.checked_pow(u32::try_from(digits).unwrap_or(10)).map_or(u32::MAX, |p| p - 1).min(max);
        ways.extend(same_length(&low.to_string(), &last.to_string()));
        match last.checked_add(1) {
            Some(next) => low = next,
            None => break,
        }
    }
    ways.join(" | ")
}

/// The numbers between two of the same length, as alternatives.
fn same_length(low: &str, high: &str) -> Vec<String> {
    let (Some(a), Some(b)) = (low.chars().next(), high.chars().next()) else { return vec![] };
    let (low_rest, high_rest) = (low.get(1..).unwrap_or(""), high.get(1..).unwrap_or(""));
    let rest = low_rest.len();
    if rest == 0 {
        return vec![class(a, b)];
    }
    let all = |from: char, to: char| if rest == 1 { format!("{} [0-9]", class(from, to)) } else { format!("{} [0-9]{{{rest}}}", class(from, to)) };
    let bound = |first: char, l: &str, h: &str| format!("\"{first}\" ({})", same_length(l, h).join(" | "));
    let (zeros, nines) = ("0".repeat(rest), "9".repeat(rest));
    if a == b {
        return vec![if low_rest == zeros && high_rest == nines { all(a, a) } else { bound(a, low_rest, high_rest) }];
    }
    let mut ways = Vec::new();
    let (mut from, mut to) = (a, b);
    if low_rest != zeros {
        ways.push(bound(a, low_rest, &nines));
        from = next(a);
    }
    let mut tail = None;
    if high_rest != nines {
        tail = Some(bound(b, &zeros, high_rest));
        to = previous(b);
    }
    if from <= to {
        ways.push(all(from, to));
    }
    ways.extend(tail);
    ways
}

fn class(from: char, to: char) -> String {
    if from == to { format!("\"{from}\"") } else { format!("[{from}-{to}]") }
}

fn next(digit: char) -> char {
    char::from_u32(u32::from(digit) + 1).unwrap_or('9')
}

fn previous(digit: char) -> char {
    char::from_u32(u32::from(digit).saturating_sub(1)).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the tiny regular fragment that `natural` writes, to check it without llama.cpp.
    fn accepts(rule: &str, text: &str) -> bool {
        split(rule, " | ").iter().any(|way| sequence(way.trim(), text))
    }

    fn split<'a>(rule: &'a str, by: &str) -> Vec<&'a str> {
        let (mut depth, mut start, mut parts) = (0, 0, vec![]);
        for (i, c) in rule.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ if depth == 0 && rule[i..].starts_with(by) && i >= start => {
                    parts.push(&rule[start..i]);
                    start = i + by.len();
                }
                _ => {}
            }
        }
        parts.push(&rule[start..]);
        parts
    }

    fn sequence(way: &str, text: &str) -> bool {
        if way.is_empty() {
            return text.is_empty();
        }
        if let Some(rest) = way.strip_prefix('"') {
            let (lit, rest) = rest.split_once('"').unwrap();
            return text.strip_prefix(lit).is_some_and(|t| sequence(rest.trim_start(), t));
        }
        if let Some(rest) = way.strip_prefix('[') {
            let (set, mut rest) = rest.split_once(']').unwrap();
            let (from, to) = (set.chars().next().unwrap(), set.chars().last().unwrap());
            let mut times = 1;
            if let Some(r) = rest.strip_prefix('{') {
                let (n, r) = r.split_once('}').unwrap();
                times = n.parse().unwrap();
                rest = r;
            }
            return text.len() >= times && text[..times].chars().all(|c| (from..=to).contains(&c)) && sequence(rest.trim_start(), &text[times..]);
        }
        // A group is always last in what `natural` writes.
        accepts(way.strip_prefix('(').unwrap().strip_suffix(')').unwrap(), text)
    }

    #[test]
    fn integers_are_exactly_within_bounds() {
        for (min, max) in [(0, 0), (1, 9), (1, 25), (0, 99), (7, 1234), (95, 105), (100, 999), (1, 1000), (123, 123), (199, 2001)] {
            let rule = natural(min, max);
            for n in 0..2500 {
                assert_eq!(accepts(&rule, &n.to_string()), (min..=max).contains(&n), "{n} in {min}..={max} by {rule}");
            }
            assert!(!accepts(&rule, "007") && !accepts(&rule, ""), "{rule}");
        }
        let rule = natural(1, 1_000_000);
        assert!(accepts(&rule, "1000000") && !accepts(&rule, "1000001") && accepts(&rule, "999999"));
    }

    #[test]
    fn literals_escape_quotes_and_other_letters() {
        assert_eq!(literal("a\"\\é😀"), "\"a\\\"\\\\\\u00E9\\U0001F600\"");
    }
}
