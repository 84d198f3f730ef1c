//! Brings differently tokenised responses to one form before they are compared.
//!
//! The benchmark tokenises with Moses' rules for English and puts the tokens back together; what remains of
//! the round trip is where spaces stand around punctuation, apostrophes and quotes.

use std::sync::LazyLock;

use fancy_regex::Regex;

use super::values::Spellings;

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

/// Moses' rules, in their order; the first one pads every sign.
static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rules = [
        (r"[^\p{Alphabetic}\p{N} .'`,\-]", " $0 "),
        (r"\.{2,}", " $0 "),
        (r",(?!\p{N})|(?<!\p{N}),", " , "),
        (r"(\P{Alphabetic})'(\P{Alphabetic})", "$1 ' $2"),
        (r"([^\p{Alphabetic}\p{N}])'(\p{Alphabetic})", "$1 ' $2"),
        (r"(\p{Alphabetic})'(\P{Alphabetic})", "$1 ' $2"),
        (r"(\p{Alphabetic})'(\p{Alphabetic})", "$1 '$2"),
        (r"(\p{N})'(s)", "$1 '$2"),
    ];
    rules.into_iter().filter_map(|(rule, with)| Some((Regex::new(rule).ok()?, with))).collect()
});

/// Moses' tokens, with the escapes left out that detokenising would undo.
pub fn tokenise(text: &str) -> Vec<String> {
    let clean: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control()).collect();
    let apply = |text: String, (rule, with): &(Regex, &str)| format!("{} ", rule.replace_all(&text, *with).trim());
    let mut text = RULES.iter().fold(clean, apply);
    if let Some(before) = text.trim_end().strip_suffix(".'") {
        text = format!("{before} . '");
    }
    text.split_whitespace().map(str::to_owned).collect()
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
