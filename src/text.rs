//! Plain text: words, stems, numbers in digits. What a word means is for others to say.

/// Lower case, plain apostrophes, single spaces.
pub fn normal(text: &str) -> String {
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words in lower case: letters, digits and apostrophes.
pub fn words(text: &str) -> Vec<String> {
    normal(text).split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// The words of a name in code: at capitals, underscores and hyphens.
pub fn name_words(name: &str) -> Vec<String> {
    let mut out = String::new();
    let mut last_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && last_lower {
            out.push(' ');
        }
        last_lower = c.is_lowercase();
        out.push(c);
    }
    words(&out)
}

/// The word without its plural ending.
pub fn stem(word: &str) -> String {
    let n = word.len();
    if n < 4 || !word.is_ascii() || !word.ends_with('s') || word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.to_owned();
    }
    let cut = |k: usize| word.get(..n - k).unwrap_or(word);
    if n > 4 && word.ends_with("ies") {
        return format!("{}y", cut(3));
    }
    if n > 4 && ["oes", "ches", "shes", "sses", "xes", "zes"].iter().any(|e| word.ends_with(e)) {
        return cut(2).to_owned();
    }
    cut(1).to_owned()
}

/// Whether the word looks like a plural.
pub fn is_plural(word: &str) -> bool {
    stem(word) != word
}

/// Where a word or phrase stands in a text, as a whole.
pub fn word_at(text: &str, word: &str) -> Option<usize> {
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).and_then(|t| t.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|t| t.chars().next());
        let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !inside(before) && !inside(after)
    })
}

/// Numbers in digits that stand alone, with their place.
pub fn digits(n: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut rest = 0;
    while let Some(start) = n.get(rest..).and_then(|t| t.find(|c: char| c.is_ascii_digit())).map(|p| p + rest) {
        let run = n.get(start..).unwrap_or("");
        let len = run.find(|c: char| !c.is_ascii_digit()).unwrap_or(run.len());
        let before = n.get(..start).and_then(|t| t.chars().next_back());
        let mut after = run.get(len..).unwrap_or("").chars();
        let next = after.next();
        let alone_before = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '/' | '$' | ':' | '.' | '-'));
        let joined = next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '/' | ':'));
        let decimal = next == Some('.') && after.next().is_some_and(|c| c.is_ascii_digit());
        if alone_before && !joined && !decimal && len <= 20 {
            out.push((start, run.get(..len).unwrap_or("").to_owned()));
        }
        rest = start + len;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_share_a_stem() {
        for (a, b) in [("fries", "fry"), ("tomatoes", "tomato"), ("tacos", "taco"), ("boxes", "box"), ("dishes", "dish"), ("sauces", "sauce")] {
            assert_eq!(stem(a), b);
        }
        for w in ["this", "less", "plus", "is", "gas"] {
            assert_eq!(stem(w), w);
        }
    }

    #[test]
    fn words_and_numbers_stand_alone() {
        assert_eq!(words("Don\u{2019}t you? A caf\u{e9}, no. 5"), ["don't", "you", "a", "caf\u{e9}", "no", "5"]);
        assert_eq!(name_words("firstName_of-guest"), ["first", "name", "of", "guest"]);
        assert_eq!(digits("number 279, costs $10 at 5pm"), vec![(7, "279".to_owned())]);
        assert_eq!((word_at("a tea room", "tea"), word_at("a team", "tea")), (Some(2), None));
    }
}
