//! Finding values in an utterance: times, days, dates, numbers, names and places.

use std::sync::LazyLock;

use regex::Regex;

use super::cues::{normal, pattern, words};

/// Weekdays.
pub const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const MONTHS: &str = "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec";
const NUMBER_WORDS: [(&str, &str); 11] = [
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
];

macro_rules! statics {
    ($($name:ident = $text:expr;)*) => { $(static $name: LazyLock<Regex> = LazyLock::new(|| pattern(&$text));)* };
}

statics! {
    TIME = r"\b(\d{1,2})(?::\d\d)?\s*(?:-|to|until|till)\s*\d{1,2}(?::\d\d)?\s*(?:am|pm|a\.m|p\.m)|\b(\d{1,2})(?::\d\d)?\s*(?:am|pm|a\.m|p\.m)|\b(noon|midnight)\b|\b(\d{1,2})\s*o'?clock|\bat (\d{1,2})(?::\d\d)?\s*(?:$|[.,!?]|\b(?:on|please|for|in|and|today|tomorrow)\b)";
    TIME_RANGE = r"(?:from|between|at)?\s*(\d{1,2}(?::\d\d)?\s*(?:am|pm)?)\s*(?:-|–|to|until|till|and)\s*(\d{1,2}(?::\d\d)?\s*(?:am|pm)?)";
    VAGUE_TIME = r"\b(now|asap|soon|immediately|right away|morning|afternoon|evening|hour|earliest|sooner)\b";
    SOONEST = r"\b(asap|as soon as|soonest|the sooner|right away|immediately|earliest|first available|next available)\b";
    HOURS = r"\b(?:an|one|two|half an|\d) hours?\b";
    UNTIL = r"\b(until|till|end|ends|ending|by)\b";
    DATE = format!(r"\b(\d{{1,2}})(?:st|nd|rd|th)\b|\b(?:{MONTHS})\.?\s+(\d{{1,2}})\b|\b(\d{{1,2}})/\d{{1,2}}\b");
    DATE_RANGE = format!(r"(\d{{1,2}})(?:st|nd|rd|th)?\s*(?:-|–|to|until|till|through|thru|and)\s*(?:the |{MONTHS})?\s*(\d{{1,2}})(?:st|nd|rd|th)?\b");
    NEAR_DATE = r"\b(today|tomorrow|tonight)\b";
    EITHER_OR = r"\beither\b.*\bor\b|\d\s*,?\s+or\s+(?:maybe\s+|it'?s\s+)?\d";
    LEAVING = r"\b(until|till|leav|to the|check ?out|through)\b";
    NIGHTS = r"\b(?:\d+|one|two|three|a|a few) (?:nights?|days?|weeks?)\b";
    BIRTHDATE = format!(r"\b\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}\b|\b(?:{MONTHS})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}\b|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of )?(?:{MONTHS}),?\s+\d{{4}}\b");
    TOMORROW = r"\b(tomor+ow|tomm?or+ow|tommorow|tomororw|tmrw)'?s?\b";
    TODAY = r"\b(today|tonight|this (?:morning|afternoon|evening)|right now|today's|todays)\b";
    SOME_DAY = r"\b(weekend|next day|day after|any day|this week|next week)\b";
    NAMED = r"\b(?:my (?:full )?name is|my name's|name is|name:|name's|this is|i am|i'm|im|call me|it's|its|under the name(?: of)?|under|name)\s+(?:is\s+)?([A-Z][a-z]+(?:\s+[A-Z][a-z]+)?)";
    NAMED_ANY_CASE = r"\b(?i:my name is|my name's|i am|i'm|this is|name is)\s+([A-Z][a-z]+(?:\s+[A-Z][a-z]+)?)";
    NAMED_LOWER = r"(?i)\b(?:my (?:full )?name is|my name's|my name|call me)\s+([a-z]+)";
    NAME_HERE = r"\b([A-Z][a-z]+)(?: [A-Z][a-z]+)? here\b";
    FROM = r"(?i)\b(?:from|at|on|leaving|departing(?: from)?)\s+";
    TO = r"(?i)\b(?:to|towards|destination is|reach|into)\s+";
    CLOCK = r"^(?:\d{1,2}(?::\d\d)?\s*(?:am|pm|a\.m|p\.m)|noon\b|midnight\b|\d{1,2}\s*o'?clock|\d{1,2} ?[ap]m\b)";
    MY_PLACE = r"(?i)^my (?:house|home|office|gym|work)";
}

const NO_NAMES: [&str; 71] = [
    "looking",
    "trying",
    "going",
    "not",
    "so",
    "very",
    "interested",
    "just",
    "sorry",
    "here",
    "in",
    "at",
    "a",
    "an",
    "the",
    "really",
    "also",
    "still",
    "ready",
    "planning",
    "calling",
    "travelling",
    "traveling",
    "flying",
    "leaving",
    "hoping",
    "having",
    "sure",
    "done",
    "good",
    "great",
    "fine",
    "ok",
    "okay",
    "happy",
    "waiting",
    "wondering",
    "curious",
    "new",
    "from",
    "on",
    "currently",
    "unable",
    "afraid",
    "thinking",
    "inviting",
    "bringing",
    "missing",
    "i",
    "it",
    "that",
    "this",
    "what",
    "my",
    "is",
    "over",
    "right",
    "out",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "yes",
    "no",
    "hi",
    "hello",
    "please",
    "thanks",
];
const PLACE_STOPS: [&str; 26] = [
    "to", "from", "at", "on", "by", "and", "please", "in", "for", "i", "my", "using", "with", "via", "now", "around", "leaving", "starting", "but", "so", "if",
    "as", "because", "then", "today", "tomorrow",
];
const VERBS_AFTER_TO: [&str; 44] = [
    "book", "get", "go", "know", "be", "find", "take", "see", "change", "travel", "drive", "walk", "leave", "arrive", "schedule", "make", "have", "pick",
    "start", "catch", "plan", "move", "head", "use", "do", "check", "my", "a", "you", "reserve", "come", "help", "ask", "give", "where", "pay", "wait",
    "request", "say", "order", "meet", "visit", "bring", "reach",
];

fn first_group(c: &regex::Captures<'_>) -> String {
    c.iter().skip(1).flatten().next().map_or_else(String::new, |m| m.as_str().to_owned())
}

/// Times of day; when one was asked for, a bare number or a vague time will do.
pub fn times(n: &str, asked: bool) -> Vec<String> {
    let mut out: Vec<String> = TIME.captures_iter(n).map(|c| first_group(&c)).collect();
    if out.is_empty() && asked {
        if let Some((_, v)) = digits(n).into_iter().next() {
            out.push(v);
        } else if VAGUE_TIME.is_match(n) {
            out.push("now".into());
        }
    }
    out
}

/// The two ends of a range of times.
pub fn time_range(n: &str) -> Option<(String, String)> {
    let c = TIME_RANGE.captures(n)?;
    Some((c.get(1)?.as_str().trim().to_owned(), c.get(2)?.as_str().trim().to_owned()))
}

/// The words ask for the earliest moment there is.
pub fn soonest(n: &str) -> bool {
    SOONEST.is_match(n)
}

/// How near two words have to be to count as one that was misspelt.
const MISSPELT: f64 = 0.75;

/// Whether an answer gives the right one in other letters: digits for number words, words joined or apart, a slip of the pen.
pub fn same_answer(right: &str, said: &str) -> bool {
    let plain = |t: &str| -> Vec<String> {
        words(t)
            .into_iter()
            .filter(|w| !["the", "a", "an"].contains(&w.as_str()))
            .map(|w| NUMBER_WORDS.iter().find(|(x, _)| *x == w).map_or(w, |(_, d)| (*d).to_owned()))
            .collect()
    };
    let (wanted, heard) = (plain(right), plain(said));
    if wanted.is_empty() || heard.is_empty() {
        return false;
    }
    let joined = wanted.concat();
    let near = |h: &[String]| {
        let h = h.concat();
        h == joined || joined.len() >= 5 && strsim::normalized_damerau_levenshtein(&h, &joined) >= MISSPELT
    };
    // One word more or less on either side: words are written apart and together.
    (wanted.len().saturating_sub(1).max(1)..=wanted.len() + 1).any(|n| heard.windows(n).any(near))
}

/// A length in hours.
pub fn lasts_hours(n: &str) -> bool {
    HOURS.is_match(n)
}

/// The words are about an end, not a start.
pub fn is_end(n: &str) -> bool {
    UNTIL.is_match(n)
}

/// Weekdays and words for them.
pub fn days(n: &str) -> Vec<String> {
    let w = words(n);
    let mut out: Vec<String> =
        DAYS.iter().filter(|d| w.iter().any(|x| x.trim_end_matches("'s").trim_end_matches('s') == **d)).map(|d| (*d).to_owned()).collect();
    if out.is_empty() {
        out = DAYS.iter().filter(|d| d.get(..3).is_some_and(|s| s != "sun" && s != "sat" && w.iter().any(|x| x == s))).map(|d| (*d).to_owned()).collect();
    }
    for (p, value) in [(&*TOMORROW, "tomorrow"), (&*TODAY, "today"), (&*SOME_DAY, "some")] {
        if p.is_match(n) {
            out.push(value.into());
        }
    }
    out
}

/// Days of a month; when one was asked for, bare numbers will do.
pub fn dates(n: &str, asked: bool) -> Vec<String> {
    let mut out: Vec<String> = DATE.captures_iter(n).map(|c| first_group(&c)).collect();
    if let Some(c) = DATE_RANGE.captures(n)
        && (!out.is_empty() || asked)
        && let (Some(a), Some(b)) = (c.get(1), c.get(2))
    {
        out = vec![a.as_str().to_owned(), b.as_str().to_owned()];
    }
    if out.is_empty() && asked {
        out = digits(n).into_iter().map(|(_, v)| v).take(2).collect();
    }
    if out.is_empty() && NEAR_DATE.is_match(n) {
        out.push("today".into());
    }
    out
}

/// The words leave open which of two things is meant.
pub fn either_or(n: &str) -> bool {
    EITHER_OR.is_match(n)
}

/// The words are about leaving.
pub fn is_leaving(n: &str) -> bool {
    LEAVING.is_match(n)
}

/// A length in nights or days.
pub fn lasts_nights(n: &str) -> bool {
    NIGHTS.is_match(n)
}

/// A full date.
pub fn birthdate(n: &str) -> Option<String> {
    BIRTHDATE.find(n).map(|m| m.as_str().to_owned())
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

/// Numbers in digits and words, with their place.
pub fn numbers(n: &str) -> Vec<(usize, String)> {
    let mut out = digits(n);
    for (word, value) in NUMBER_WORDS {
        if let Some(at) = word_at(n, word) {
            out.push((at, value.into()));
        }
    }
    out
}

/// Where a word or phrase stands in a text, as a whole.
pub fn word_at(n: &str, word: &str) -> Option<usize> {
    n.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = n.get(..*at).and_then(|t| t.chars().next_back());
        let after = n.get(at + word.len()..).and_then(|t| t.chars().next());
        let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
        !inside(before) && !inside(after)
    })
}

fn no_name(name: &str) -> bool {
    name.split_whitespace().next().is_none_or(|w| NO_NAMES.contains(&w.to_lowercase().as_str()))
}

/// "His name is": the words before a name say whose it is.
fn of_another(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|t| t.split_whitespace().next_back()).unwrap_or("").to_lowercase();
    ["his", "her", "their", "whose"].contains(&before.as_str()) || before.ends_with("'s") && !["that's", "it's", "name's"].contains(&before.as_str())
}

/// The name a speaker gives as his own.
pub fn own_name(text: &str) -> Option<String> {
    let mut lowered = text.to_owned();
    if let Some(first) = lowered.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    for (p, t) in [(&*NAMED, text), (&*NAMED, lowered.as_str()), (&*NAMED_ANY_CASE, text)] {
        if let Some(name) = p
            .captures_iter(t)
            .filter(|c| c.get(0).is_some_and(|m| !of_another(t, m.start())))
            .filter_map(|c| c.get(1))
            .map(|m| m.as_str())
            .find(|n| !no_name(n))
        {
            return Some(name.to_owned());
        }
    }
    for p in [&*NAMED_LOWER, &*NAME_HERE] {
        if let Some(m) = p.captures(text).and_then(|c| c.get(1))
            && !no_name(m.as_str())
        {
            return Some(m.as_str().to_owned());
        }
    }
    None
}

/// A place named after a preposition, at the start of `rest`.
fn place(rest: &str) -> Option<String> {
    for quote in ['\'', '"'] {
        if let Some(inner) = rest.strip_prefix(quote) {
            return inner.split_once(quote).map(|(p, _)| p.to_owned());
        }
    }
    if CLOCK.is_match(&rest.to_lowercase()) {
        return None;
    }
    let mut out: Vec<&str> = Vec::new();
    let mut counted = 0;
    for raw in rest.split_whitespace() {
        let word = raw.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '&'));
        let whole = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '&');
        let first = counted == 0;
        // "and" joins the two streets of a corner, unless the speaker goes on about himself.
        let next = rest.split_whitespace().nth(out.len() + 1).unwrap_or("i").to_lowercase();
        let joins = word.eq_ignore_ascii_case("and") && !out.is_empty() && !["i", "i'm", "im", "need", "my", "want"].contains(&next.as_str());
        if word.is_empty() || !whole || !first && !joins && PLACE_STOPS.contains(&word.to_lowercase().as_str()) {
            break;
        }
        out.push(word);
        if !(first && word.eq_ignore_ascii_case("the")) {
            counted += 1;
        }
        if counted >= 4 || word.len() < raw.len() {
            break;
        }
    }
    (counted > 0).then(|| out.join(" "))
}

/// Where a way starts and ends.
pub fn way(text: &str) -> (Option<String>, Option<String>) {
    let from = FROM.find_iter(text).filter_map(|m| place(text.get(m.end()..)?)).next();
    let to = TO
        .find_iter(text)
        .filter_map(|m| {
            let rest = text.get(m.end()..)?;
            let verb = words(rest).first().is_some_and(|w| VERBS_AFTER_TO.contains(&w.as_str()));
            (!verb || MY_PLACE.is_match(rest)).then(|| place(rest))?
        })
        .last();
    (from, to)
}

/// Words too common to stand for a name they are part of.
const COMMON: [&str; 17] = ["the", "on", "of", "new", "city", "one", "first", "center", "side", "town", "club", "user", "s", "san", "los", "dr", "user's"];

/// The forms under which the values of a closed list are said: whole, by synonym, by a word that only one of them has and that is not too common.
pub fn forms(values: &[String], synonyms: &std::collections::BTreeMap<String, Vec<String>>, common: &[String]) -> Vec<(String, Vec<String>)> {
    values
        .iter()
        .map(|v| {
            let mut out = vec![normal(v)];
            out.extend(synonyms.get(v).into_iter().flatten().map(|s| normal(s)));
            let own = words(v);
            if own.len() > 1 {
                let unique = |w: &String| !COMMON.contains(&w.as_str()) && !common.contains(w) && values.iter().filter(|o| words(o).contains(w)).count() == 1;
                out.extend(own.into_iter().filter(unique));
            }
            (v.clone(), out)
        })
        .collect()
}

/// The values said in a text, in the order they are said.
pub fn said(forms: &[(String, Vec<String>)], n: &str) -> Vec<String> {
    let mut out: Vec<(usize, &String)> = forms.iter().filter_map(|(v, f)| f.iter().find_map(|w| word_at(n, w)).map(|at| (at, v))).collect();
    out.sort();
    out.into_iter().map(|(_, v)| v.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_sentences() {
        assert_eq!(times("friday at 5 pm please", false), vec!["5"]);
        assert_eq!(times("at 9.", false), vec!["9"]);
        assert_eq!(days("tomorrows weather or sunday"), vec!["sunday", "tomorrow"]);
        assert_eq!(dates("may 6th to the 29th", false), vec!["6", "29"]);
        assert_eq!(digits("number 279, costs $10 at 5pm"), vec![(7, "279".to_owned())]);
        assert_eq!(own_name("My name is Brian White. I lost it").as_deref(), Some("Brian White"));
        assert_eq!(own_name("I'm looking for it"), None);
        assert_eq!(own_name("a party for a friend, his name is John"), None);
        assert_eq!(way("a ride from 5th and Main to University please"), (Some("5th and Main".into()), Some("University".into())));
    }

    #[test]
    fn an_answer_may_be_spelt_otherwise() {
        assert!(same_answer("three", "it is 3, right?") && same_answer("airlock", "an air lock") && same_answer("two in the bush", "2 in a bush"));
        assert!(same_answer("briquette", "a briquete"));
        assert!(!same_answer("three", "5") && !same_answer("poem", "song") && !same_answer("wind", "bird"));
    }

    #[test]
    fn part_of_a_name_is_enough_when_only_one_has_it() {
        let values = ["Hilltop Lodge".to_owned(), "Riverside Lodge".to_owned()];
        let f = forms(&values, &std::collections::BTreeMap::new(), &[]);
        assert_eq!(said(&f, "the riverside one"), vec!["Riverside Lodge"]);
        assert!(said(&f, "any lodge").is_empty());
    }
}
