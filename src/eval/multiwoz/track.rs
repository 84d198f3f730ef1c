//! Tracks states from the user's words and the replies before them, with the tables' values and a small lexicon.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::MultiwozError;
use super::cues::Cues;
use super::data::{Dialogue, State};
use super::values::Spellings;
use super::venues::{Slots, Venues};

/// Domains whose slots the tracker fills.
const TRACKED: [&str; 5] = ["restaurant", "hotel", "attraction", "train", "taxi"];
/// How far before a time its verb may stand, in words.
const REACH: usize = 8;

/// The tracker's tables.
#[derive(Debug)]
pub struct Tracker {
    values: BTreeMap<String, Phrases>,
    words: BTreeMap<String, Vec<Vec<String>>>,
    /// Names of venues, longest first, with their domain and canonical form.
    names: Vec<(Vec<String>, String, String)>,
}

/// Spellings with the value they stand for, longest first.
type Phrases = Vec<(Vec<String>, String)>;

#[derive(Deserialize)]
struct Raw {
    values: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    words: BTreeMap<String, Vec<String>>,
}

/// The words of a text: lower case, apostrophes closed up, punctuation apart.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace(" '", "'").replace(" n't", "n't").replace('\'', "").replace('-', " ");
    let mut out = String::new();
    let chars: Vec<char> = text.chars().collect();
    for (i, c) in chars.iter().enumerate() {
        let between_digits = i > 0 && chars.get(i - 1).is_some_and(char::is_ascii_digit) && chars.get(i + 1).is_some_and(char::is_ascii_digit);
        if matches!(c, '.' | '?' | '!' | ';' | ',' | '"' | '(' | ')') && !between_digits { out.extend([' ', *c, ' ']) } else { out.push(*c) }
    }
    let mut out: Vec<String> = out.split_whitespace().map(str::to_owned).collect();
    // "8 : 15" and "8 pm" are one word each.
    let mut joined: Vec<String> = Vec::new();
    for w in out.drain(..) {
        match joined.last_mut() {
            Some(last) if last.bytes().all(|b| b.is_ascii_digit() || b == b':') && matches!(w.as_str(), "am" | "pm" | "a.m" | "p.m") && last.len() < 6 => {
                last.push_str(&w.replace('.', ""))
            }
            _ => joined.push(w),
        }
    }
    joined
}

fn split(phrase: &str) -> Vec<String> {
    phrase.split_whitespace().map(str::to_owned).collect()
}

/// Where a phrase first stands at or after a word.
fn at(words: &[String], phrase: &[String]) -> Option<usize> {
    words.windows(phrase.len().max(1)).position(|w| w == phrase)
}

/// `17:15` of a word that is a clock time.
fn clock(word: &str) -> Option<String> {
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
    let hour: u32 = hour.parse().ok().filter(|h| *h < 25)?;
    let minute: u32 = minute.parse().ok().filter(|m| *m < 60)?;
    let hour = if pm && hour < 12 { hour + 12 } else { hour };
    Some(format!("{hour:02}:{minute:02}"))
}

/// What is being filled while one dialogue is read.
#[derive(Default)]
struct Memory {
    state: BTreeMap<String, Slots>,
    domain: Option<String>,
    /// Domains with venues in the order in which they were last talked about.
    visited: Vec<String>,
    /// The name last heard or said in each domain: what "the hotel" means.
    mentioned: BTreeMap<String, String>,
    /// Names offered in the last reply, by domain.
    offered: Vec<(String, String)>,
    asked: Vec<&'static str>,
}

impl Memory {
    fn set(&mut self, domain: &str, slot: &str, value: &str) {
        self.state.entry(domain.to_owned()).or_default().insert(slot.to_owned(), value.to_owned());
    }

    fn get(&self, domain: &str, slot: &str) -> Option<String> {
        self.state.get(domain)?.get(slot).cloned()
    }
}

impl Tracker {
    /// Builds the tables.
    pub fn new(venues: &Venues) -> Result<Self, MultiwozError> {
        let raw: Raw = serde_json::from_str(include_str!("../../../kb/multiwoz/track.json"))
            .map_err(|e| MultiwozError::Syntax { file: "track.json".to_owned(), why: e.to_string() })?;
        let mut values: BTreeMap<String, Phrases> = raw
            .values
            .into_iter()
            .map(|(kind, values)| (kind, values.into_iter().flat_map(|(v, p)| p.into_iter().map(move |p| (split(&p), v.clone()))).collect()))
            .collect();
        let foods: std::collections::BTreeSet<&String> = venues.table("restaurant").iter().filter_map(|v| v.columns.get("food")).collect();
        // What nobody serves can still be asked for.
        let mut asked: Phrases = values.remove("cuisine").unwrap_or_default();
        asked.extend(foods.into_iter().map(|f| (split(f), f.clone())));
        values.insert("food".to_owned(), asked);
        for phrases in values.values_mut() {
            phrases.sort_by_key(|(p, v)| (std::cmp::Reverse(p.len()), v.clone()));
        }
        let mut names = Vec::new();
        for domain in ["restaurant", "hotel", "attraction"] {
            for name in venues.table(domain).iter().filter_map(|v| v.columns.get("name")) {
                let canonical = name.replace('\'', "");
                let full = words(&canonical);
                for form in forms(&full) {
                    names.push((form, domain.to_owned(), canonical.clone()));
                }
            }
        }
        names.sort_by(|a, b| (b.0.len(), &a.0, &a.1).cmp(&(a.0.len(), &b.0, &b.1)));
        let words = raw.words.into_iter().map(|(k, v)| (k, v.iter().map(|p| split(p)).collect())).collect();
        Ok(Self { values, words, names })
    }

    /// The state after each of the user's turns.
    pub fn track(&self, dialogue: &Dialogue, cues: &Cues, spellings: &Spellings) -> Vec<State> {
        let mut memory = Memory::default();
        let mut out = Vec::new();
        for turn in &dialogue.turns {
            self.hear(&turn.user, cues, &mut memory);
            let canonical = |(k, v): (&String, &String)| (k.clone(), spellings.value(k, v));
            out.push(memory.state.iter().map(|(d, s)| (d.clone(), s.iter().map(canonical).collect())).collect());
            self.read(&turn.reply, &mut memory);
        }
        out
    }

    fn has(&self, kind: &str, words: &[String]) -> bool {
        self.words.get(kind).into_iter().flatten().any(|p| at(words, p).is_some())
    }

    /// Remembers what a reply offered and asked.
    fn read(&self, reply: &str, memory: &mut Memory) {
        let mut text = words(reply);
        memory.offered = self.take_names(&mut text, None);
        memory.mentioned.extend(memory.offered.iter().cloned());
        memory.asked = ["asked people", "asked stay", "asked from", "asked to"].into_iter().filter(|k| self.has(k, &text)).collect();
    }

    /// Finds names and blanks their words, so that "city centre" in a name is no area.
    fn take_names(&self, text: &mut [String], only: Option<&str>) -> Vec<(String, String)> {
        let mut out: Vec<(usize, String, String)> = Vec::new();
        for (form, domain, name) in self.names.iter().filter(|n| only.is_none_or(|d| d == n.1)) {
            if let Some(i) = at(text, form)
                && !out.iter().any(|(_, d, n)| d == domain && n == name)
            {
                for w in text.iter_mut().skip(i).take(form.len()) {
                    w.insert(0, '#');
                }
                out.push((i, domain.clone(), name.clone()));
            }
        }
        out.sort();
        out.into_iter().map(|(_, d, n)| (d, n)).collect()
    }

    fn hear(&self, user: &str, cues: &Cues, memory: &mut Memory) {
        let heard: Vec<String> = cues.heard(user).iter().map(ToString::to_string).collect();
        let agrees = heard.iter().any(|h| matches!(h.as_str(), "affirm" | "book"));
        let text = words(user);
        let mut sentences: Vec<Vec<String>> = vec![Vec::new()];
        for w in text {
            if matches!(w.as_str(), "." | "?" | "!" | ";") {
                sentences.push(Vec::new());
            } else if let Some(last) = sentences.last_mut() {
                last.push(w);
            }
        }
        sentences.retain(|s| !s.is_empty());
        for sentence in sentences {
            let plain = sentence.join(" ");
            let topics: Vec<String> = cues
                .heard(&plain)
                .iter()
                .filter_map(|c| c.to_string().strip_prefix("topic(").map(|t| t.trim_end_matches(')').to_owned()))
                .filter(|t| TRACKED.contains(&t.as_str()))
                .collect();
            let mut sentence = sentence;
            memory.domain = Self::domain(&topics, &heard, memory);
            self.sentence(&mut sentence, agrees, memory);
        }
        // Agreeing to the only name that was offered is choosing it.
        if agrees && let [(domain, name)] = memory.offered.as_slice() {
            let (domain, name) = (domain.clone(), name.clone());
            if memory.domain.as_deref() == Some(domain.as_str()) && memory.get(&domain, "name").is_none() {
                memory.set(&domain, "name", &name);
            }
        }
    }

    /// The domain a sentence is about.
    fn domain(topics: &[String], heard: &[String], memory: &Memory) -> Option<String> {
        let now = memory.domain.clone();
        let has = |t: &str| topics.iter().any(|x| x == t);
        if topics.is_empty() {
            return now;
        }
        if has("taxi") {
            return Some("taxi".to_owned());
        }
        let new_wish = heard.iter().any(|h| h == "also");
        match &now {
            Some(d) if has(d) && !(new_wish && topics.len() > 1) => now,
            // Places named while a taxi is ordered are where it goes.
            Some(d) if d == "taxi" && !new_wish => now,
            Some(d) => topics.iter().find(|t| *t != d).cloned(),
            None => topics.first().cloned(),
        }
    }

    fn value(&self, kind: &str, text: &[String]) -> Option<(usize, String)> {
        let phrases = self.values.get(kind)?;
        phrases.iter().filter_map(|(p, v)| Some((at(text, p)?, std::cmp::Reverse(p.len()), v))).min().map(|(i, _, v)| (i, v.clone()))
    }

    fn number(&self, word: &str) -> Option<String> {
        self.values.get("number")?.iter().find(|(p, _)| p.first().is_some_and(|w| w == word)).map(|(_, v)| v.clone())
    }

    fn sentence(&self, text: &mut [String], agrees: bool, m: &mut Memory) {
        let names = self.take_names(text, None);
        // Two stations say "train" even when nobody says it.
        let stations = self.values.get("station").into_iter().flatten().filter(|(p, _)| at(text, p).is_some()).count();
        let domain = m.domain.clone().or_else(|| names.first().map(|n| n.0.clone())).or_else(|| (stations > 1).then(|| "train".to_owned()));
        let Some(mut d) = domain else {
            return self.exclusive(text, None, m);
        };
        if d == "taxi" {
            self.taxi_places(text, &names, m);
        } else if let Some((nd, name)) = names.iter().find(|n| n.0 == d).or(names.first()) {
            d.clone_from(nd);
            m.set(nd, "name", name);
        }
        m.domain = Some(d.clone());
        if !matches!(d.as_str(), "train" | "taxi") && m.visited.last() != Some(&d) {
            m.visited.retain(|v| *v != d);
            m.visited.push(d.clone());
        }
        self.exclusive(text, Some(&d), m);
        self.wishes(text, &d, m);
        self.travel(text, &d, m);
        self.booking(text, &d, agrees, m);
        self.same(text, &d, m);
    }

    /// Values that say by themselves which domain they belong to.
    fn exclusive(&self, text: &[String], domain: Option<&str>, m: &mut Memory) {
        let refused = |i: usize| self.words.get("negative").into_iter().flatten().any(|p| at(text, p).is_some_and(|n| n < i && i < n + p.len() + 4));
        if domain.is_none_or(|d| d == "restaurant")
            && let Some((_, food)) = self.value("food", text)
        {
            m.set("restaurant", "food", &food);
            m.domain = Some("restaurant".to_owned());
        }
        if domain.is_none_or(|d| d == "attraction")
            && let Some((_, kind)) = self.value("attraction type", text)
        {
            m.set("attraction", "type", &kind);
            m.domain = Some("attraction".to_owned());
        }
        if domain.is_some_and(|d| d != "hotel") {
            return;
        }
        if let Some((_, kind)) = self.value("hotel type", text) {
            m.set("hotel", "type", &kind);
        }
        if let Some(i) = text.iter().position(|w| w == "star" || w == "stars") {
            let around = text.iter().take(i + 1).rev().take(3).chain(text.iter().skip(i + 1).take(3));
            if let Some(n) = around.filter_map(|w| self.number(w).or_else(|| (w == "0" || w == "zero").then(|| "0".to_owned()))).next() {
                m.set("hotel", "stars", &n);
            }
        }
        for (slot, kind) in [("internet", "wifi"), ("parking", "parking")] {
            if let Some(i) = self.words.get(kind).into_iter().flatten().filter_map(|p| at(text, p)).min() {
                m.set("hotel", slot, if refused(i) { "no" } else { "yes" });
            }
        }
    }

    fn wishes(&self, text: &[String], d: &str, m: &mut Memory) {
        if matches!(d, "restaurant" | "hotel" | "attraction")
            && let Some((_, area)) = self.value("area", text)
        {
            m.set(d, "area", &area);
        }
        if matches!(d, "restaurant" | "hotel")
            && let Some((_, price)) = self.value("pricerange", text)
        {
            m.set(d, "pricerange", &price);
        }
    }

    /// From, to, day and time of a train or taxi.
    fn travel(&self, text: &[String], d: &str, m: &mut Memory) {
        if !matches!(d, "train" | "taxi") {
            return;
        }
        if d == "train" {
            let mut found: Vec<(usize, usize, &String)> = Vec::new();
            for (p, station) in self.values.get("station").into_iter().flatten() {
                for i in 0..text.len() {
                    let here = text.get(i..i + p.len()).is_some_and(|w| w == p.as_slice());
                    if here && !found.iter().any(|(j, n, _)| i < j + n && *j < i + p.len()) {
                        found.push((i, p.len(), station));
                    }
                }
            }
            found.sort();
            for (i, _, station) in found {
                let before: Vec<&String> = text.iter().take(i).rev().take(3).collect();
                let first = |kind: &str| before.iter().position(|w| self.words.get(kind).into_iter().flatten().any(|p| p.len() == 1 && p.first() == Some(*w)));
                let slot = match (first("from"), first("to")) {
                    (Some(f), Some(t)) => {
                        if f <= t {
                            "departure"
                        } else {
                            "destination"
                        }
                    }
                    (Some(_), None) => "departure",
                    (None, Some(_)) => "destination",
                    (None, None) if m.asked.contains(&"asked from") && m.get(d, "departure").is_none() => "departure",
                    (None, None) if m.asked.contains(&"asked to") => "destination",
                    (None, None) => continue,
                };
                m.set(d, slot, station);
            }
            if let Some((_, day)) = self.value("day", text) {
                m.set(d, "day", &day);
            }
        }
        for (i, w) in text.iter().enumerate() {
            let Some(time) = clock(w) else { continue };
            let before: Vec<&String> = text.iter().take(i).rev().take(REACH).collect();
            let nearest = |kind: &str| before.iter().position(|w| self.words.get(kind).into_iter().flatten().any(|p| p.first() == Some(*w)));
            let by = nearest("by").is_some_and(|n| n < 2);
            let slot = match (nearest("leave"), nearest("arrive")) {
                (Some(l), Some(a)) => {
                    if l < a {
                        "leave"
                    } else {
                        "arrive"
                    }
                }
                (Some(_), None) => "leave",
                (None, Some(_)) => "arrive",
                (None, None) => {
                    if by {
                        "arrive"
                    } else {
                        "leave"
                    }
                }
            };
            m.set(d, slot, &time);
        }
        // A taxi that is to be there in time for a booking arrives when the table is booked.
        if d == "taxi"
            && m.get(d, "leave").is_none()
            && self.has("booked time", text)
            && let Some(time) = m.get("restaurant", "booktime")
        {
            m.set(d, "arrive", &time);
        }
    }

    fn taxi_places(&self, text: &[String], names: &[(String, String)], m: &mut Memory) {
        let chosen = |m: &Memory, d: &str| m.get(d, "name").or_else(|| m.mentioned.get(d).cloned());
        let mut places: Vec<(usize, String)> = Vec::new();
        let mut named = names.iter();
        let mut inside = false;
        for (i, w) in text.iter().enumerate() {
            let marked = w.starts_with('#');
            if marked
                && !inside
                && let Some((_, name)) = named.next()
            {
                places.push((i, name.clone()));
            }
            inside = marked;
            let domain = match w.as_str() {
                "hotel" | "guesthouse" => "hotel",
                "restaurant" => "restaurant",
                "attraction" | "museum" | "college" | "park" | "cinema" | "theatre" | "theater" | "nightclub" | "club" | "church" | "gallery" | "pool" => {
                    "attraction"
                }
                _ => continue,
            };
            if let Some(name) = chosen(m, domain) {
                places.push((i, name));
            }
        }
        for (i, name) in places {
            let before: Vec<&str> = text.iter().take(i).rev().take(4).map(String::as_str).collect();
            let first = |set: &[&str]| before.iter().position(|w| set.contains(w));
            let slot = match (first(&["from", "leave", "leaving", "depart", "departing", "at"]), first(&["to", "destination"])) {
                (Some(f), Some(t)) => {
                    if f < t {
                        "departure"
                    } else {
                        "destination"
                    }
                }
                (Some(_), None) => "departure",
                (None, Some(_)) => "destination",
                (None, None) if m.asked.contains(&"asked from") && m.get("taxi", "departure").is_none() => "departure",
                (None, None) if m.asked.contains(&"asked to") => "destination",
                (None, None) => continue,
            };
            m.set("taxi", slot, &name);
        }
        if self.has("both", text) {
            Self::commute(m);
        }
    }

    /// A ride between the two places that were talked about: in that order, unless one end is known.
    fn commute(m: &mut Memory) {
        let mut visited: Vec<String> = m.visited.iter().filter_map(|d| m.get(d, "name").or_else(|| m.mentioned.get(d).cloned())).collect();
        let (Some(mut to), Some(mut from)) = (visited.pop(), visited.pop()) else { return };
        let is = |m: &Memory, slot: &str, place: &String| m.get("taxi", slot).as_ref() == Some(place);
        if is(m, "departure", &to) || is(m, "destination", &from) {
            std::mem::swap(&mut to, &mut from);
        }
        for (slot, name) in [("departure", from), ("destination", to)] {
            if m.get("taxi", slot).is_none() {
                m.set("taxi", slot, &name);
            }
        }
    }

    /// People, day, time and length of a booking.
    fn booking(&self, text: &[String], d: &str, agrees: bool, m: &mut Memory) {
        if !matches!(d, "restaurant" | "hotel" | "train") {
            return;
        }
        let word = |i: usize| text.get(i).map_or("", String::as_str);
        let is = |kind: &str, w: &str| self.words.get(kind).into_iter().flatten().any(|p| p.len() == 1 && p.first().is_some_and(|x| x == w));
        let mut people = None;
        let mut stay = None;
        for (i, w) in text.iter().enumerate() {
            let Some(n) = self.number(w) else { continue };
            let next = word(i + 1);
            let before = i.checked_sub(1).map_or("", |j| word(j));
            let said_for = before == "for" && !matches!(next, "star" | "stars" | "oclock") && clock(w).is_none() && !w.starts_with("one");
            if is("stay", next) && d == "hotel" {
                stay = Some(n);
            } else if is("people", next)
                || (next == "of" && word(i + 2) == "us")
                || (before == "of" && ["party", "group"].contains(&i.checked_sub(2).map_or("", |j| word(j))))
            {
                people = Some(n);
            } else if is("stay", next) {
                // Nights of a stay that is talked about beside another domain.
            } else if people.is_none() && (said_for || (m.asked.contains(&"asked people") && !matches!(next, "star" | "stars" | ":"))) {
                people = Some(n);
            } else if m.asked.contains(&"asked stay") && d == "hotel" && stay.is_none() {
                stay = Some(n);
            }
        }
        if people.is_none() && self.has("alone", text) && (agrees || m.asked.contains(&"asked people")) {
            people = Some("1".to_owned());
        }
        if let Some(n) = people {
            m.set(d, "bookpeople", &n);
        }
        if d == "hotel"
            && let Some(n) = stay
        {
            m.set(d, "bookstay", &n);
        }
        if d == "train" {
            return;
        }
        if let Some((_, day)) = self.value("day", text) {
            m.set(d, "bookday", &day);
        }
        if d == "restaurant"
            && let Some(time) = text.iter().find_map(|w| clock(w))
        {
            m.set(d, "booktime", &time);
        }
    }

    /// "The same area", "the same day": taken from the domain that was filled before.
    fn same(&self, text: &[String], d: &str, m: &mut Memory) {
        let pairs: [(&str, &[&str]); 4] =
            [("same area", &["area"]), ("same price", &["pricerange"]), ("same day", &["bookday", "day"]), ("same people", &["bookpeople"])];
        for (kind, slots) in pairs {
            if !self.has(kind, text) {
                continue;
            }
            let other = TRACKED.iter().filter(|o| **o != d).find_map(|o| slots.iter().find_map(|s| m.get(o, s)));
            let own = match (kind, d) {
                ("same area", "restaurant" | "hotel" | "attraction") => "area",
                ("same price", "restaurant" | "hotel") => "pricerange",
                ("same day", "train") => "day",
                ("same day", "restaurant" | "hotel") => "bookday",
                ("same people", "restaurant" | "hotel" | "train") => "bookpeople",
                _ => continue,
            };
            if let Some(value) = other {
                m.set(d, own, &value);
            }
        }
    }
}

/// The ways a name is said: as it is, and without "the" or its kind at an end.
fn forms(full: &[String]) -> Vec<Vec<String>> {
    let mut out = vec![full.to_vec()];
    if let Some((first, rest)) = full.split_first()
        && first == "the"
        && rest.len() > 1
    {
        out.push(rest.to_vec());
    }
    if let Some((last, rest)) = full.split_last()
        && matches!(last.as_str(), "restaurant" | "hotel" | "guesthouse")
        && rest.len() > 1
    {
        out.push(rest.to_vec());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_times_are_read() {
        for (word, time) in [("17:15", Some("17:15")), ("5pm", Some("17:00")), ("9:30am", Some("09:30")), ("9.30", Some("09:30")), ("4", None), ("99:10", None)]
        {
            assert_eq!(clock(word).as_deref(), time, "{word}");
        }
    }

    #[test]
    fn words_are_closed_up() {
        assert_eq!(words("I do n't want King 's Lynn at 5 pm ."), ["i", "dont", "want", "kings", "lynn", "at", "5pm", "."].map(str::to_owned));
    }
}
