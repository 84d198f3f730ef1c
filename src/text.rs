//! Plain text: words, stems, numbers in digits. What a word means is for others to say.

pub mod english;

pub use english::ENGLISH;

/// Lower case, plain apostrophes, single spaces.
pub fn normal(text: &str) -> String {
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words in lower case: letters, digits and apostrophes.
pub fn words(text: &str) -> Vec<String> {
    normal(text).split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// A letter in lower case and without its accent: names are written with and without.
pub fn plain(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().map(|c| match c {
        'á' | 'à' | 'â' | 'ä' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'ö' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        c => c,
    })
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
    if n > 4 && ["oes", "ches", "shes", "sses", "xes", "zzes"].iter().any(|e| word.ends_with(e)) {
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

/// The time of day that a word is (`17:15`, `5.30`, `5pm`), in minutes after midnight.
pub fn minutes(word: &str) -> Option<i32> {
    let (digits, pm, am) = match (word.strip_suffix("pm"), word.strip_suffix("am")) {
        (Some(d), _) => (d, true, false),
        (_, Some(d)) => (d, false, true),
        _ => (word, false, false),
    };
    let (hour, minute) = match digits.split_once([':', '.']) {
        Some((h, m)) if m.len() == 2 => (h, m),
        None if pm || am => (digits, "00"),
        _ => return None,
    };
    let hour: i32 = hour.parse().ok().filter(|h| (0..25).contains(h))?;
    let minute: i32 = minute.parse().ok().filter(|m| (0..60).contains(m))?;
    let hour = match (hour, pm, am) {
        (12, _, true) => 0,
        (h, true, _) if h < 12 => h + 12,
        (h, _, _) => h,
    };
    Some(hour * 60 + minute)
}

/// Signs of money that a text may hold until it is known which one is configured.
pub const CURRENCIES: &str = "$\u{a3}\u{20ac}\u{a5}\u{a2}\u{20b9}\u{20a9}\u{20bd}";

/// At most `max` characters of a foreign text, as it may be shown.
pub fn shorten(text: &str, max: usize) -> String {
    let clean = shown(text, CURRENCIES);
    let mut out: String = clean.chars().take(max).collect();
    if out.len() < clean.len() {
        out.push('…');
    }
    out
}

/// Whether a sign is one of money.
pub fn is_currency(c: char) -> bool {
    CURRENCIES.contains(c)
}

/// The text as it may be shown: letters of the Latin script, digits, plain punctuation and these signs of money. A line's end or another space is a
/// blank, a sign that only looks like another one (full width, mathematical minus) is that one, and whatever acts on what stands around it
/// (controls, marks of direction, invisible signs) or is no sign of the language is gone. Each sign is judged by itself, so that pieces of a text can
/// be cleaned one by one.
pub fn shown(text: &str, money: &str) -> String {
    text.chars().filter_map(|c| shown_sign(c, money)).collect()
}

/// Whether a name can be shown exactly as it is.
pub fn is_shown(name: &str) -> bool {
    name.chars().all(|c| shown_sign(c, "$") == Some(c))
}

fn shown_sign(c: char, money: &str) -> Option<char> {
    match c {
        ' '..='~' if !is_currency(c) || money.contains(c) => Some(c),
        _ if is_currency(c) => money.contains(c).then_some(c),
        '\n' | '\t' | '\r' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => Some(' '),
        '\u{c0}'..='\u{24f}' if c.is_alphabetic() => Some(c),
        '\u{1e00}'..='\u{1eff}' if c.is_alphabetic() => Some(c),
        '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' | '\u{2013}' | '\u{2014}' | '\u{2026}' => Some(c),
        '\u{2010}'..='\u{2012}' | '\u{2212}' => Some('-'),
        // Full-width forms stand in the order of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).and_then(|plain| shown_sign(plain, money)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_acts_on_its_surroundings_is_gone() {
        let erased = "That is $12\u{8}\u{8}3.98\u{1b}[2K, \u{202e}please\u{202c}\u{200b}.";
        assert_eq!(shown(erased, "$"), "That is $123.98[2K, please.");
        assert_eq!(shown("\u{ff04}5\n\u{2212}2 \u{a3}3 caf\u{e9} \u{1f193}", "$"), "$5 -2 3 caf\u{e9} ");
        assert_eq!(shown("$5 \u{20ac}3", "\u{20ac}"), "5 \u{20ac}3");
        for name in ["Soft\u{8}Taco", "Ta\u{202e}co", "Taco\u{200b}", "T\u{430}co", "Taco\n", "Taco \u{1f32e}"] {
            assert!(!is_shown(name), "{name:?}");
        }
        assert!(is_shown("Jos\u{e9}'s 7-Layer Burrito & Co. (large)"));
    }

    proptest! {
        #[test]
        fn what_is_shown_is_shown_as_it_is(text in "\\PC*|[\u{0}-\u{2fff}]*") {
            let once = shown(&text, "$");
            prop_assert_eq!(&shown(&once, "$"), &once);
            prop_assert!(is_shown(&once));
            let acts = |c: char| c.is_control() || ('\u{200b}'..='\u{200f}').contains(&c) || ('\u{202a}'..='\u{202e}').contains(&c);
            let any = once.chars().any(acts);
            prop_assert!(!any);
        }

        #[test]
        fn pieces_are_shown_as_the_whole(pieces in proptest::collection::vec("\\PC{0,8}", 0..6)) {
            let apart: String = pieces.iter().map(|p| shown(p, "$")).collect();
            prop_assert_eq!(apart, shown(&pieces.concat(), "$"));
        }

        #[test]
        fn plain_text_stays(text in "[ -~]*") {
            prop_assert_eq!(shown(&text, "$"), text);
        }
    }

    #[test]
    fn what_a_server_says_is_shown_as_everything_is() {
        assert_eq!(shorten("no\u{202e} m\u{200b}odel\u{1b}[2K\n\u{1f193} here", 40), "no model[2K  here");
        assert_eq!(shorten("a long story", 6), "a long…");
    }

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
