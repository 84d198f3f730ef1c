//! English surface forms: articles, plurals, numbers, ordinals, money and lists.
//!
//! Which names are irregular, counted by a unit or written small is a domain's data ([`Nouns`]); the rest is grammar.

use std::collections::BTreeSet;

use crate::text::ENGLISH;

/// How a domain's names behave in a sentence. Longer endings win over shorter ones.
#[derive(Clone, Debug, Default)]
pub struct Nouns {
    /// Names written in small letters inside a sentence.
    pub small: BTreeSet<String>,
    /// Endings with an irregular plural.
    pub plurals: Vec<(String, String)>,
    /// Endings that are counted by a unit, as in "two orders of fries".
    pub units: Vec<(String, String)>,
}

impl Nouns {
    /// The name as it stands in a sentence: no control characters, small letters where the domain says so.
    pub fn said(&self, name: &str) -> String {
        if self.small.contains(name) {
            return name.to_lowercase();
        }
        let clean = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        clean.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The plural of a name; names counted by a unit have no other.
    pub fn plural(&self, name: &str) -> String {
        let said = self.said(name);
        if let Some((ending, plural)) = longest(&self.plurals, name) {
            let stem = said.get(..said.len().saturating_sub(ending.len())).unwrap_or_default();
            return format!("{stem}{plural}");
        }
        if longest(&self.units, name).is_some() { said } else { regular_plural(&said) }
    }

    /// The name with its number, "a regular Pepsi" or "two orders of fries"; `before` stands between number and name.
    pub fn counted(&self, n: i64, before: &str, name: &str) -> String {
        let gap = if before.is_empty() { "" } else { " " };
        match longest(&self.units, name) {
            Some((_, unit)) if n == 1 => with_article(&format!("{before}{gap}{unit} of {}", self.said(name))),
            Some((_, unit)) => format!("{} {before}{gap}{} of {}", number(n), regular_plural(unit), self.said(name)),
            None if n == 1 && before.is_empty() && is_label(name) => format!("one {}", self.said(name)),
            None if n == 1 => with_article(&format!("{before}{gap}{}", self.said(name))),
            None => format!("{} {before}{gap}{}", number(n), self.plural(name)),
        }
    }

    /// The name as something both speakers know: "the Pepsi", "both Pepsis", "three Pepsis".
    pub fn known(&self, n: i64, name: &str) -> String {
        match n {
            1 if is_label(name) => self.said(name),
            1 => format!("the {}", self.said(name)),
            2 => match longest(&self.units, name) {
                Some((_, unit)) => format!("both {} of {}", regular_plural(unit), self.said(name)),
                None => format!("both {}", self.plural(name)),
            },
            _ => self.counted(n, "", name),
        }
    }
}

fn longest<'a>(endings: &'a [(String, String)], name: &str) -> Option<&'a (String, String)> {
    endings.iter().filter(|(e, _)| name.strip_suffix(e.as_str()).is_some_and(|stem| stem.is_empty() || stem.ends_with(' '))).max_by_key(|(e, _)| e.len())
}

/// Whether the name ends in a single letter or a digit, like a label: it takes no article and no plural.
fn is_label(name: &str) -> bool {
    let last = name.rsplit(' ').next().unwrap_or(name);
    name.contains(' ') && last.chars().count() == 1
}

/// The regular plural of the last word; a single letter or a number at the end stays ("two Combo A").
pub fn regular_plural(words: &str) -> String {
    let last = words.rsplit(' ').next().unwrap_or(words);
    if last.chars().count() < 2 || last.ends_with(|c: char| !c.is_alphabetic()) {
        return words.to_owned();
    }
    let lower = last.to_lowercase();
    // What ends like a plural is one: fries.
    if lower.chars().count() > 3 && lower.ends_with('s') && !["ss", "us", "is", "as"].iter().any(|e| lower.ends_with(e)) {
        return words.to_owned();
    }
    if ["s", "x", "z", "ch", "sh"].iter().any(|e| lower.ends_with(e)) {
        return format!("{words}es");
    }
    match words.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{words}s"),
    }
}

/// The words behind the indefinite article that their sound asks for.
pub fn with_article(words: &str) -> String {
    let lower = words.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let first = lower.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    let digits = first.bytes().take_while(u8::is_ascii_digit).count();
    let an = if digits > 0 {
        first.starts_with('8') || (matches!(first.get(..2), Some("11" | "18")) && digits % 3 == 2)
    } else {
        let silent = ["hour", "honest", "honour", "honor", "heir"].iter().any(|w| first.starts_with(w));
        let glide = ["uni", "use", "usu", "uti", "eu", "one", "once", "ubi"].iter().any(|w| first.starts_with(w)) && !first.starts_with("unin");
        silent || (first.starts_with(['a', 'e', 'i', 'o', 'u']) && !glide)
    };
    format!("{} {words}", if an { "an" } else { "a" })
}

/// A whole number in words up to twelve, in digits beyond.
pub fn number(n: i64) -> String {
    match usize::try_from(n).ok().filter(|i| *i <= 12).and_then(|i| ENGLISH.units.get(i)) {
        Some(_) if n == 0 => "no".to_owned(),
        Some(word) => (*word).to_owned(),
        None => n.to_string(),
    }
}

/// A place in a row: "first" to "twelfth", then "13th".
pub fn ordinal(n: i64) -> String {
    let word = usize::try_from(n).ok().and_then(|i| ENGLISH.ordinals.get(i));
    word.filter(|w| !w.is_empty()).map_or_else(
        || {
            let ending = match (n % 100, n % 10) {
                (11..=13, _) => "th",
                (_, 1) => "st",
                (_, 2) => "nd",
                (_, 3) => "rd",
                _ => "th",
            };
            format!("{n}{ending}")
        },
        |w| (*w).to_owned(),
    )
}

/// An amount of hundredths behind its currency sign: 757 is "$7.57".
pub fn money(currency: &str, cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let amount = cents.unsigned_abs();
    format!("{sign}{currency}{}.{:02}", amount / 100, amount % 100)
}

/// A time of day of so many minutes after midnight; the day after begins again at 00:00.
pub fn clock(minutes: i64) -> String {
    format!("{:02}:{:02}", minutes.rem_euclid(24 * 60) / 60, minutes.rem_euclid(60))
}

/// A list in one phrase: "a, b and c"; with a comma before the last word where an item holds an "and" of its own.
pub fn list(items: &[String], last: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., end] => {
            let nested = items.iter().any(|i| i.contains(" and ") || i.contains(" or ") || i.contains(", "));
            let comma = if nested { "," } else { "" };
            format!("{}{comma} {last} {end}", head.join(", "))
        }
    }
}

/// Whole clauses in one sentence: "it rains, and the street is wet".
pub fn clauses(items: &[String]) -> String {
    match items {
        [head @ .., end] if !head.is_empty() => format!("{}, and {end}", head.join(", ")),
        _ => items.concat(),
    }
}

/// The text with its first letter large.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(c) => c.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nouns() -> Nouns {
        Nouns {
            small: ["Beans".to_owned()].into(),
            plurals: vec![("Tacos".into(), "Tacos".into()), ("Starry".into(), "Starrys".into())],
            units: vec![("Fries".into(), "order".into())],
        }
    }

    #[test]
    fn numbers_articles_and_plurals_go_together() {
        let n = nouns();
        for (count, before, name, said) in [
            (1, "", "Soft Taco", "a Soft Taco"),
            (2, "", "Soft Taco", "two Soft Tacos"),
            (2, "", "Soft Taco Supreme", "two Soft Taco Supremes"),
            (3, "large", "Starry", "three large Starrys"),
            (1, "", "Doritos Locos Tacos", "a Doritos Locos Tacos"),
            (2, "", "Doritos Locos Tacos", "two Doritos Locos Tacos"),
            (1, "", "Nacho Fries", "an order of Nacho Fries"),
            (2, "", "Nacho Fries", "two orders of Nacho Fries"),
            (2, "", "Combo A", "two Combo A"),
            (1, "", "Combo A", "one Combo A"),
            (2, "", "Cravings Box", "two Cravings Boxes"),
            (2, "", "Gordita Crunch", "two Gordita Crunches"),
            (1, "", "7-Layer Burrito", "a 7-Layer Burrito"),
            (1, "", "8-Piece Box", "an 8-Piece Box"),
            (1, "", "11-Piece Box", "an 11-Piece Box"),
            (1, "", "118-Piece Box", "a 118-Piece Box"),
            (1, "", "Orange Juice", "an Orange Juice"),
            (1, "", "Unicorn Shake", "a Unicorn Shake"),
            (18000, "", "Water", "18000 Waters"),
        ] {
            assert_eq!(n.counted(count, before, name), said);
        }
        assert_eq!(n.known(2, "Nacho Fries"), "both orders of Nacho Fries");
        assert_eq!(n.said("Beans"), "beans");
        assert_eq!(n.said("a\nb\u{7}"), "a b");
    }

    #[test]
    fn money_ordinals_and_lists() {
        assert_eq!((money("$", 757), money("$", 5), money("$", 0)), ("$7.57".into(), "$0.05".into(), "$0.00".into()));
        assert_eq!(money("$", i64::from(i32::MIN)), "-$21474836.48");
        assert_eq!((clock(545), clock(24 * 60 + 7)), ("09:05".into(), "00:07".into()));
        assert_eq!((ordinal(2), ordinal(13), ordinal(21), ordinal(112)), ("second".into(), "13th".into(), "21st".into(), "112th".into()));
        let items = |t: &[&str]| t.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        assert_eq!(list(&items(&["a", "b", "c"]), "and"), "a, b and c");
        assert_eq!((clauses(&items(&["a", "b"])), clauses(&items(&["a"]))), ("a, and b".into(), "a".into()));
        assert_eq!(list(&items(&["rice and beans", "b"]), "or"), "rice and beans, or b");
    }
}
