//! Finding values in an utterance: times, days, dates, numbers, names and places.

use super::hearing::HEARING;
use crate::text::{ENGLISH, digits, normal, word_at, words};

fn first_group(c: &regex::Captures<'_>) -> String {
    c.iter().skip(1).flatten().next().map_or_else(String::new, |m| m.as_str().to_owned())
}

/// Times of day; when one was asked for, a bare number or a vague time will do.
pub fn times(n: &str, asked: bool) -> Vec<String> {
    let mut out: Vec<String> = HEARING.cues.time.captures_iter(n).map(|c| first_group(&c)).collect();
    if out.is_empty() && asked {
        if let Some((_, v)) = digits(n).into_iter().next() {
            out.push(v);
        } else if HEARING.cues.vague_time.is_match(n) {
            out.push("now".into());
        }
    }
    out
}

/// The two ends of a range of times.
pub fn time_range(n: &str) -> Option<(String, String)> {
    let c = HEARING.cues.time_range.captures(n)?;
    Some((c.get(1)?.as_str().trim().to_owned(), c.get(2)?.as_str().trim().to_owned()))
}

/// The words ask for the earliest moment there is.
pub fn soonest(n: &str) -> bool {
    HEARING.cues.soonest.is_match(n)
}

/// How near two words have to be to count as one that was misspelt.
const MISSPELT: f64 = 0.75;

/// Whether an answer gives the right one in other letters: digits for number words, words joined or apart, a slip of the pen.
pub fn same_answer(right: &str, said: &str) -> bool {
    let plain = |t: &str| -> Vec<String> {
        words(t).into_iter().filter(|w| !ENGLISH.is_article(w)).map(|w| number_words().find(|(x, _)| *x == w).map_or(w, |(_, n)| n.to_string())).collect()
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
    HEARING.cues.hours.is_match(n)
}

/// The words are about an end, not a start.
pub fn is_end(n: &str) -> bool {
    HEARING.cues.until.is_match(n)
}

/// Weekdays and words for them.
pub fn days(n: &str) -> Vec<String> {
    let w = words(n);
    let mut out: Vec<String> = ENGLISH.weekdays.iter().filter(|d| w.iter().any(|x| x.trim_end_matches("'s").trim_end_matches('s') == **d)).cloned().collect();
    if out.is_empty() {
        out = ENGLISH.weekdays.iter().filter(|d| d.get(..3).is_some_and(|s| s != "sun" && s != "sat" && w.iter().any(|x| x == s))).cloned().collect();
    }
    for (p, value) in [(&HEARING.cues.tomorrow, "tomorrow"), (&HEARING.cues.today, "today"), (&HEARING.cues.some_day, "some")] {
        if p.is_match(n) {
            out.push(value.into());
        }
    }
    out
}

/// Days of a month; when one was asked for, bare numbers will do.
pub fn dates(n: &str, asked: bool) -> Vec<String> {
    let mut out: Vec<String> = HEARING.cues.date.captures_iter(n).map(|c| first_group(&c)).collect();
    if let Some(c) = HEARING.cues.date_range.captures(n)
        && (!out.is_empty() || asked)
        && let (Some(a), Some(b)) = (c.get(1), c.get(2))
    {
        out = vec![a.as_str().to_owned(), b.as_str().to_owned()];
    }
    if out.is_empty() && asked {
        out = digits(n).into_iter().map(|(_, v)| v).take(2).collect();
    }
    if out.is_empty() && HEARING.cues.near_date.is_match(n) {
        out.push("today".into());
    }
    out
}

/// The words leave open which of two things is meant.
pub fn either_or(n: &str) -> bool {
    HEARING.cues.either_or.is_match(n)
}

/// The words are about leaving.
pub fn is_leaving(n: &str) -> bool {
    HEARING.cues.leaving.is_match(n)
}

/// A length in nights or days.
pub fn lasts_nights(n: &str) -> bool {
    HEARING.cues.nights.is_match(n)
}

/// A full date.
pub fn birthdate(n: &str) -> Option<String> {
    HEARING.cues.birthdate.find(n).map(|m| m.as_str().to_owned())
}

/// Numbers in digits and words, with their place.
pub fn numbers(n: &str) -> Vec<(usize, String)> {
    let mut out = digits(n);
    out.extend(number_words().filter_map(|(word, value)| Some((word_at(n, word)?, value.to_string()))));
    out
}

fn number_words() -> impl Iterator<Item = (&'static str, usize)> {
    // One is an article as well, and who counts beyond twelve writes digits.
    (0..).zip(&ENGLISH.units).take(13).skip(2).map(|(n, w)| (w.as_str(), n))
}

fn no_name(name: &str) -> bool {
    name.split_whitespace().next().is_none_or(|w| HEARING.words.no_names.has(&w.to_lowercase()))
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
    for (p, t) in [(&HEARING.cues.named, text), (&HEARING.cues.named, lowered.as_str()), (&HEARING.cues.named_any_case, text)] {
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
    for p in [&HEARING.cues.named_lower, &HEARING.cues.name_here] {
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
    if HEARING.cues.clock.is_match(&rest.to_lowercase()) {
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
        if word.is_empty() || !whole || !first && !joins && HEARING.words.place_stops.has(&word.to_lowercase()) {
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
    let from = HEARING.cues.from.find_iter(text).filter_map(|m| place(text.get(m.end()..)?)).next();
    let to = HEARING
        .cues
        .to
        .find_iter(text)
        .filter_map(|m| {
            let rest = text.get(m.end()..)?;
            let verb = words(rest).first().is_some_and(|w| HEARING.words.verbs_after_to.has(w));
            (!verb || HEARING.cues.my_place.is_match(rest)).then(|| place(rest))?
        })
        .last();
    (from, to)
}

/// The forms under which the values of a closed list are said: whole, by synonym, by a word that only one of them has and that is not too common.
pub fn forms(values: &[String], synonyms: &std::collections::BTreeMap<String, Vec<String>>, common: &[String]) -> Vec<(String, Vec<String>)> {
    values
        .iter()
        .map(|v| {
            let mut out = vec![normal(v)];
            out.extend(synonyms.get(v).into_iter().flatten().map(|s| normal(s)));
            let own = words(v);
            if own.len() > 1 {
                let unique = |w: &String| !HEARING.words.common.has(w) && !common.contains(w) && values.iter().filter(|o| words(o).contains(w)).count() == 1;
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
