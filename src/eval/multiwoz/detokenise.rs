//! Brings differently tokenised responses to one form before they are compared.
//!
//! The benchmark tokenises with Moses' rules for English and puts the tokens back together; what remains of
//! the round trip is where spaces stand around punctuation, apostrophes and quotes.

use super::values::Spellings;

/// Stands for one dot of a run of dots while single dots are looked at.
const DOT: char = '\u{E001}';

/// The form in which responses are compared: lower case, slots as placeholders, spaces as Moses leaves them.
pub fn normal(response: &str, spellings: &Spellings) -> String {
    let text = placeholders(&response.to_lowercase(), spellings).replace("-s", "").replace("-ly", "");
    detokenise(&tokenise(&text))
}

/// Replaces `[slot]`, with a plural ending if there is one, by its placeholder.
fn placeholders(text: &str, spellings: &Spellings) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        match after.split_once(']') {
            Some((slot, tail)) if !slot.is_empty() && slot.chars().all(|c| c.is_alphanumeric() || c == '_' || c.is_whitespace()) => {
                out.push_str(spellings.placeholder(slot));
                rest = ["es", "s", "-s", "-es"].iter().find_map(|p| tail.strip_prefix(p)).unwrap_or(tail);
            }
            _ => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Moses' tokens, with the escapes left out that detokenising would undo.
pub fn tokenise(text: &str) -> Vec<String> {
    let clean: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control()).collect();
    let mut padded = String::new();
    for c in clean.chars() {
        if c.is_alphanumeric() || matches!(c, ' ' | '.' | '\'' | '`' | ',' | '-') {
            padded.push(c);
        } else {
            padded.extend([' ', c, ' ']);
        }
    }
    let mut text = apostrophes(&commas(&dots(padded.trim())));
    if let Some(before) = text.trim_end().strip_suffix(".'") {
        text = format!("{before} . '");
    }
    text.split_whitespace().map(|t| t.replace(DOT, ".")).collect()
}

fn dots(text: &str) -> String {
    let mut out = String::new();
    let mut run = 0;
    for c in text.chars().chain([' ']) {
        if c == '.' {
            run += 1;
            continue;
        }
        if run == 1 {
            out.push('.');
        } else if run > 1 {
            out.push(' ');
            out.extend(std::iter::repeat_n(DOT, run));
            out.push(' ');
        }
        run = 0;
        out.push(c);
    }
    out
}

/// Separates commas that do not stand inside a number.
fn commas(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let numeric = |i: Option<usize>| i.and_then(|i| chars.get(i)).is_some_and(|c| c.is_numeric());
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        if *c == ',' && !(numeric(i.checked_sub(1)) && numeric(Some(i + 1))) { out.push_str(" , ") } else { out.push(*c) }
    }
    out
}

/// The five apostrophe rules, in order; a neighbour that took part in one match takes no part in the next.
fn apostrophes(text: &str) -> String {
    fn alpha(c: char) -> bool {
        c.is_alphabetic()
    }
    fn number(c: char) -> bool {
        c.is_numeric()
    }
    type Test = fn(char, char) -> bool;
    let rules: [(Test, &str); 5] = [
        (|a, b| !alpha(a) && !alpha(b), " ' "),
        (|a, b| !alpha(a) && !number(a) && alpha(b), " ' "),
        (|a, b| alpha(a) && !alpha(b), " ' "),
        (|a, b| alpha(a) && alpha(b), " '"),
        (|a, b| number(a) && b == 's', " '"),
    ];
    let mut text = text.to_owned();
    for (fits, with) in rules {
        let chars: Vec<char> = text.chars().collect();
        let mut out = String::new();
        let mut i = 0;
        while let Some(c) = chars.get(i) {
            match (chars.get(i + 1), chars.get(i + 2)) {
                (Some('\''), Some(after)) if fits(*c, *after) => {
                    out.push(*c);
                    out.push_str(with);
                    out.push(*after);
                    i += 3;
                }
                _ => {
                    out.push(*c);
                    i += 1;
                }
            }
        }
        text = out;
    }
    text
}

/// Puts tokens together as Moses does for English.
pub fn detokenise(tokens: &[String]) -> String {
    let mut out = String::new();
    let mut space = " ";
    let mut open = std::collections::BTreeMap::<String, bool>::new();
    let all = |t: &str, set: &str| t.chars().all(|c| set.contains(c));
    for (i, token) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| tokens.get(i));
        if all(token, "$£€¥¢([{¿¡") {
            out.push_str(space);
            out.push_str(token);
            space = "";
        } else if all(token, ",.?!:;\\%}])") || (before.is_some() && contraction(token)) {
            out.push_str(token);
            space = " ";
        } else if all(token, "'\"„“`") {
            let key = if all(token, "„“”") { "\"".to_owned() } else { token.clone() };
            let opened = open.entry(key).or_insert(false);
            if *opened {
                out.push_str(token);
                space = " ";
                *opened = false;
            } else if token == "'" && before.is_some_and(|b| b.ends_with('s')) {
                out.push_str(token);
                space = " ";
            } else {
                out.push_str(space);
                out.push_str(token);
                space = "";
                *opened = true;
            }
        } else {
            out.push_str(space);
            out.push_str(token);
            space = " ";
        }
    }
    out.trim().to_owned()
}

fn contraction(token: &str) -> bool {
    let mut chars = token.chars();
    chars.next() == Some('\'') && chars.next().is_some_and(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_stand_where_the_benchmark_has_them() {
        let s = Spellings::parse(include_str!("spellings.json")).unwrap();
        for (said, meant) in [
            ("There are [value_count] [value_type]-s . OK ?", "there are COUNT TYPE. ok?"),
            ("it 's at [hotel_address] , right", "it 's at ADDRESS, right"),
            ("I don't know", "i don't know"),
            ("the guests' house .'", "the guests' house. '"),
            ("they're o'clock 'tis '", "they're o'clock 'tis'"),
            ("wait ... what", "wait... what"),
            ("10,000 people,friend", "10,000 people, friend"),
            ("a \" quoted \" word", "a \"quoted\" word"),
            ("reasonab[x]ly", "reasonably"),
        ] {
            assert_eq!(normal(said, &s), meant, "{said}");
        }
    }
}
