//! From an utterance to values of slots: each kind of slot is heard in its own way, by its type, its values and its cue words.

use std::collections::BTreeMap;

use regex::Regex;

use super::background::Background;
use super::cues::Signals;
use super::hearing::HEARING;
use super::values;
use crate::ir::graph::{Role, Slot, SlotKind};
use crate::text::{digits, normal, word_at, words};

/// A slot with what it takes to hear it.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) slot: Slot,
    /// For closed lists: each value with the forms it is said in.
    forms: Vec<(String, Vec<String>)>,
    /// A cue right before a number.
    before: Option<Regex>,
    /// A cue right after a number.
    after: Option<Regex>,
    /// A superlative of the cue.
    best: Option<Regex>,
    /// The speaker says he cannot give it.
    pub(super) lacks: Option<Regex>,
    /// "… is X" after a cue.
    is: Option<Regex>,
}

/// Fewer words than this say too little for a slot in the speaker's own words, unless it was asked for.
const MIN_TEXT: usize = 6;

impl Listener {
    pub(super) fn new(slot: &Slot) -> Self {
        let any = slot.cues.iter().map(|c| regex::escape(&normal(c))).collect::<Vec<_>>().join("|");
        let with = |text: String| if any.is_empty() { None } else { Regex::new(&text).ok() };
        let names_itself = matches!(slot.kind, SlotKind::Digits | SlotKind::Birthdate | SlotKind::String);
        Self {
            forms: values::forms(&slot.values, &slot.synonyms, &slot.common),
            before: with(format!(r"\b(?:{any})\b[^0-9]{{0,14}}$")),
            after: with(format!(r"^\w+[ -]?(?:or more |more |other |additional |\w+ )?(?:{any})\b")),
            best: with(format!(r"\b(?:highest|best|high|good|top) (?:{any})\b")),
            lacks: if names_itself {
                with(format!(
                    r"(?:don'?t|do not|forgot|can'?t|cannot|not sure|no idea|lost|unsure)[^.!?]{{0,40}}\b(?:{any})\b|\b(?:{any})\b[^.!?]{{0,25}}(?:don'?t|forgot|can'?t)"
                ))
            } else {
                None
            },
            is: with(format!(r"\b(?:{any})(?:'s)?(?: name)?(?: is| was|:)\s+(\w+)")),
            slot: slot.clone(),
        }
    }

    fn cue(&self, n: &str) -> bool {
        self.slot.cues.iter().any(|c| word_at(n, &normal(c)).is_some())
    }

    /// A slot whose range starts this high admits numbers that no other slot would hold.
    fn admits_alone(&self, number: &str, all: &[Listener]) -> bool {
        let admits = |l: &Listener| {
            let v = number.parse::<i64>().unwrap_or(i64::MAX);
            l.slot.range.0.is_none_or(|min| v >= min) && l.slot.range.1.is_none_or(|max| v <= max)
        };
        let high = self.slot.range.0.is_some_and(|min| min >= 100);
        high && number.len() >= 3
            && !all.iter().any(|l| l.slot.name != self.slot.name && l.slot.kind == SlotKind::Integer && admits(l) && l.slot.range != (None, None))
            && self.slot.range.0.is_some_and(|min| number.parse::<i64>().is_ok_and(|v| v >= min || number.len() >= 6))
    }
}

/// The values that an utterance brings, by slot; `asked` are the slots that were asked for.
pub(super) fn values(slots: &[Listener], text: &str, signals: &Signals, asked: &[String], background: &Background) -> BTreeMap<String, String> {
    let n = normal(text);
    let mut hearing = Hearing { text, n: &n, words: words(text), signals, asked, new: BTreeMap::new() };
    hearing.when(slots);
    hearing.soonest(slots, background);
    hearing.closed_lists(slots);
    hearing.places(slots);
    hearing.names(slots);
    hearing.numbers(slots);
    hearing.yes_or_no(slots);
    hearing.texts(slots);
    hearing.in_other_words(slots);
    hearing.new
}

/// One utterance being listened to.
struct Hearing<'a> {
    text: &'a str,
    n: &'a str,
    words: Vec<String>,
    signals: &'a Signals,
    asked: &'a [String],
    new: BTreeMap<String, String>,
}

impl Hearing<'_> {
    fn asked_kind(&self, slots: &[Listener], kind: SlotKind) -> Option<String> {
        self.asked.iter().find(|a| slots.iter().any(|l| l.slot.name == **a && l.slot.kind == kind)).cloned()
    }

    fn give(&mut self, slot: &str, value: impl Into<String>) {
        self.new.insert(slot.to_owned(), value.into());
    }

    fn given(&self, slot: &str) -> bool {
        self.new.contains_key(slot)
    }

    fn when(&mut self, slots: &[Listener]) {
        let of = |kind| slots.iter().filter(|l| l.slot.kind == kind).map(|l| l.slot.name.clone()).collect::<Vec<_>>();
        let times = of(SlotKind::Time);
        let asked = self.asked_kind(slots, SlotKind::Time);
        let said = values::times(self.n, asked.is_some());
        let range = values::time_range(self.n);
        self.ends(&times, said, range, asked, values::is_end, values::lasts_hours);
        if let (Some(day), Some(last)) = (of(SlotKind::Day).first(), values::days(self.n).last()) {
            self.give(day, last.clone());
        }
        let dates = of(SlotKind::Date);
        let asked = self.asked_kind(slots, SlotKind::Date);
        let said = values::dates(self.n, asked.is_some());
        let pair = if let [a, b, ..] = said.as_slice() { Some((a.clone(), b.clone())) } else { None };
        self.ends(&dates, said, pair, asked, values::is_leaving, values::lasts_nights);
    }

    /// "As soon as possible" says day and time at once to an agent who knows the present ones.
    fn soonest(&mut self, slots: &[Listener], background: &Background) {
        if !values::soonest(self.n) {
            return;
        }
        for (kind, now) in [(SlotKind::Day, &background.day), (SlotKind::Time, &background.time)] {
            if let (Some(now), Some(l)) = (now, slots.iter().find(|l| l.slot.kind == kind))
                && !self.given(&l.slot.name)
            {
                self.give(&l.slot.name, now.clone());
            }
        }
    }

    /// One slot takes the last value said; of two, the first is the start and the second the end.
    fn ends(
        &mut self,
        slots: &[String],
        said: Vec<String>,
        range: Option<(String, String)>,
        asked: Option<String>,
        is_end: fn(&str) -> bool,
        lasts: fn(&str) -> bool,
    ) {
        let Some(first) = said.first().cloned() else {
            if let [_, end, ..] = slots
                && lasts(self.n)
            {
                self.give(end, "lasting");
            }
            return;
        };
        match slots {
            [] => {}
            [only] => self.give(only, said.last().cloned().unwrap_or(first)),
            [start, end, ..] => {
                if let Some((a, b)) = range.or_else(|| said.get(1).map(|b| (first.clone(), b.clone()))) {
                    self.give(start, a);
                    self.give(end, b);
                } else if let Some(asked) = asked {
                    self.give(&asked, first);
                } else {
                    self.give(if is_end(self.n) { end } else { start }, first);
                }
                if lasts(self.n) {
                    self.give(end, "lasting");
                }
            }
        }
    }

    fn closed_lists(&mut self, slots: &[Listener]) {
        let mut done: Vec<&[String]> = Vec::new();
        for l in slots.iter().filter(|l| l.slot.kind == SlotKind::Categorical && !l.slot.values.is_empty()) {
            if done.contains(&l.slot.values.as_slice()) {
                continue;
            }
            done.push(&l.slot.values);
            let group: Vec<&Listener> = slots.iter().filter(|o| o.slot.kind == SlotKind::Categorical && o.slot.values == l.slot.values).collect();
            let said = values::said(&l.forms, self.n);
            let (Some(first), Some(last)) = (said.first().cloned(), said.last().cloned()) else { continue };
            let asked = group.iter().any(|g| self.asked.contains(&g.slot.name));
            if self.signals.has("unknowing") && !asked && said.len() == 1 && self.lacked(&first) {
                continue;
            }
            match group.as_slice() {
                [only] => {
                    let value = if said.len() == 1 || self.signals.has("wait") { last } else { first };
                    self.give(&only.slot.name, value);
                }
                [a, b, ..] if a.slot.role.is_some() => self.by_role(a, b, &l.forms, &said),
                many => {
                    for (n, g) in many.iter().enumerate() {
                        if self.asked.contains(&g.slot.name) || n == 0 && g.cue(self.n) {
                            self.give(&g.slot.name, first.clone());
                        } else if g.cue(self.n) {
                            self.give(&g.slot.name, last.clone());
                        }
                    }
                }
            }
        }
    }

    fn lacked(&self, value: &str) -> bool {
        let first = normal(value).split_whitespace().next().unwrap_or("").to_owned();
        ["don't", "dont", "do not", "forgot", "not sure", "no idea", "lost"]
            .iter()
            .any(|w| self.n.match_indices(w).any(|(at, _)| self.n.get(at..).is_some_and(|t| t.find(&first).is_some_and(|p| p <= w.len() + 30))))
    }

    /// Two slots over one list, such as where a way starts and where it ends.
    fn by_role(&mut self, a: &Listener, b: &Listener, forms: &[(String, Vec<String>)], said: &[String]) {
        let (start, end) = if a.slot.role == Some(Role::To) { (b, a) } else { (a, b) };
        let after = |words: &[&str], v: &String| {
            let said_as = forms.iter().find(|(x, _)| x == v).map(|(_, f)| f.as_slice()).unwrap_or_default();
            said_as.iter().any(|f| words.iter().any(|w| word_at(self.n, &format!("{w} {f}")).is_some()))
        };
        let mut to = said.iter().find(|v| after(&["to", "into", "destination", "to be", "destination be"], v)).cloned();
        let mut from = said.iter().find(|v| after(&["from", "leaving", "in", "between"], v)).cloned();
        if said.len() >= 2 && (to.is_none() || from.is_none()) {
            if let Some(t) = &to {
                from = said.iter().find(|v| *v != t).cloned();
            } else if let Some(f) = &from {
                to = said.iter().find(|v| *v != f).cloned();
            } else {
                (from, to) = (said.first().cloned(), said.get(1).cloned());
            }
        }
        if to.is_none() && from.is_none() {
            let asked_start = self.asked.iter().find(|x| **x == start.slot.name || **x == end.slot.name).is_some_and(|x| *x == start.slot.name);
            if asked_start { from = said.first().cloned() } else { to = said.first().cloned() }
        }
        if let Some(f) = from {
            self.give(&start.slot.name, f);
        }
        if let Some(t) = to {
            self.give(&end.slot.name, t);
        }
    }

    fn places(&mut self, slots: &[Listener]) {
        let (from, to) = values::way(self.text);
        let of = |role| slots.iter().find(|l| l.slot.kind == SlotKind::Place && l.slot.role == Some(role)).map(|l| l.slot.name.clone());
        if let (Some(slot), Some(v)) = (of(Role::From), from) {
            self.give(&slot, v);
        }
        if let (Some(slot), Some(v)) = (of(Role::To), to) {
            self.give(&slot, v);
        }
        if let Some(asked) = self.asked_kind(slots, SlotKind::Place)
            && !self.given(&asked)
            && (!self.signals.has("question") || self.signals.has("unknowing"))
        {
            self.give(&asked, self.text);
        }
    }

    fn names(&mut self, slots: &[Listener]) {
        let name = values::own_name(self.text);
        if let Some(asked) = self.asked_kind(slots, SlotKind::Name) {
            let asks_back = self.signals.has("question") && name.is_none();
            let cannot = self.words.len() > 6 && name.is_none() && self.signals.has("unknowing");
            let named = self.text.get(1..).is_some_and(|t| t.split_whitespace().any(|w| w.len() > 1 && w.chars().next().is_some_and(char::is_uppercase)));
            let thanks = name.is_none() && self.courtesy();
            if !asks_back && !cannot && !thanks && (name.is_some() || self.words.len() <= 8 || named) {
                self.give(&asked, normal(name.as_deref().unwrap_or(self.text)));
            }
        } else if let (Some(v), Some(own)) = (&name, slots.iter().find(|l| l.slot.identity)) {
            self.give(&own.slot.name, normal(v));
        }
        for l in slots.iter().filter(|l| l.slot.kind == SlotKind::Name && !l.slot.identity) {
            if !self.given(&l.slot.name)
                && let Some(v) = l.slot.cues.iter().find_map(|c| named_with(self.text, c))
            {
                self.give(&l.slot.name, v);
            }
        }
    }

    fn numbers(&mut self, slots: &[Listener]) {
        let numbers = values::numbers(self.n);
        let is_number = |l: &&Listener| matches!(l.slot.kind, SlotKind::Integer | SlotKind::Digits);
        let asked: Vec<&String> = self.asked.iter().filter(|a| slots.iter().filter(is_number).any(|l| l.slot.name == **a)).collect();
        // "It is either 1596 or 0314": who offers two numbers does not know it.
        let guesses = numbers.len() >= 2 && values::either_or(self.n);
        for (n, a) in asked.iter().enumerate() {
            let listener = slots.iter().find(|l| l.slot.name == **a);
            if listener.is_some_and(|l| l.slot.kind == SlotKind::Digits && (guesses || l.lacks.as_ref().is_some_and(|p| p.is_match(self.n)))) {
                continue;
            }
            let place = if asked.len() > 1 { n.min(numbers.len().saturating_sub(1)) } else { 0 };
            if let Some((_, v)) = numbers.get(place) {
                self.new.insert((*a).clone(), v.clone());
            } else if ["just me", "alone", "myself", "none", "only me", "one", "no one", "nobody"].iter().any(|w| word_at(self.n, w).is_some()) {
                self.new.insert((*a).clone(), "1".into());
            }
        }
        for l in slots.iter().filter(is_number) {
            if self.given(&l.slot.name) || guesses && l.slot.kind == SlotKind::Digits {
                continue;
            }
            let long_ago = |at: usize| (at.saturating_sub(22)..=at).find_map(|s| self.n.get(s..at)).unwrap_or("");
            let value = numbers.iter().find(|(at, v)| {
                let before = l.before.as_ref().is_some_and(|p| p.is_match(long_ago(*at)));
                let after = l.slot.kind == SlotKind::Integer && l.after.as_ref().is_some_and(|p| p.is_match(self.n.get(*at..).unwrap_or("")));
                // "My account number is 5, my PIN 7": a cue of another slot between this slot's cue and the number takes the number away.
                let theirs = slots.iter().filter(is_number).any(|o| o.slot.name != l.slot.name && nearer(o, l, long_ago(*at)));
                (before && !theirs) || after || l.admits_alone(v, slots)
            });
            if let Some((_, v)) = value {
                self.give(&l.slot.name, v.clone());
            } else if l.slot.kind == SlotKind::Integer && l.best.as_ref().is_some_and(|p| p.is_match(self.n)) {
                self.give(&l.slot.name, "high");
            }
        }
        for l in slots.iter().filter(|l| l.slot.kind == SlotKind::Birthdate) {
            if let Some(d) = values::birthdate(self.n) {
                self.give(&l.slot.name, d);
            } else if let (true, Some((_, v))) = (self.asked.contains(&l.slot.name), numbers.first()) {
                self.give(&l.slot.name, v.clone());
            }
        }
    }

    fn yes_or_no(&mut self, slots: &[Listener]) {
        for l in slots.iter().filter(|l| l.slot.kind == SlotKind::Boolean) {
            let s = self.signals;
            let answered = self.asked.contains(&l.slot.name) && (["affirm", "deny", "unknowing", "indifferent"].iter().any(|x| s.has(x)) || !s.has("question"));
            if l.cue(self.n) || answered {
                self.give(&l.slot.name, if s.has("deny") { "no" } else { "yes" });
            }
        }
    }

    fn texts(&mut self, slots: &[Listener]) {
        for l in slots.iter().filter(|l| matches!(l.slot.kind, SlotKind::Text | SlotKind::String)) {
            let s = self.signals;
            let asks_back = s.has("question") && self.words.len() < 14 && !s.has("unknowing") && s.has("mark") || self.courtesy();
            if self.asked.contains(&l.slot.name) {
                if !s.has("greeting_only") && !asks_back {
                    self.give(&l.slot.name, self.n);
                }
            } else if l.slot.kind == SlotKind::Text {
                if self.words.len() >= MIN_TEXT && l.cue(self.n) {
                    self.give(&l.slot.name, self.n);
                }
            } else if let Some(v) = l.is.as_ref().and_then(|p| p.captures(self.n)).and_then(|c| c.get(1)) {
                self.give(&l.slot.name, v.as_str());
            } else if l.slot.cues.iter().any(|c| c.contains(' ') && c.ends_with(" by") && word_at(self.n, &normal(c)).is_some()) {
                self.give(&l.slot.name, self.n);
            }
        }
    }

    /// Thanks or a farewell, and nothing else: no answer to what was asked.
    fn courtesy(&self) -> bool {
        let s = self.signals;
        let parts = s.has("bye") || s.has("done") || s.has("thanks") && !s.has("deny");
        parts && self.new.is_empty() && self.words.len() <= 8 && !s.has("book") && digits(self.n).is_empty()
    }

    /// Asked and answered, in whatever words: anything short that is no question counts as the answer.
    fn in_other_words(&mut self, slots: &[Listener]) {
        let s = self.signals;
        if self.courtesy()
            || s.has("mark")
            || s.has("greeting_only")
            || HEARING.cues.question_start.is_match(self.n)
            || (s.has("unknowing") && !s.has("indifferent"))
        {
            return;
        }
        for l in slots.iter().filter(|l| self.asked.contains(&l.slot.name)) {
            let exact = matches!(l.slot.kind, SlotKind::Birthdate | SlotKind::Digits);
            if !self.given(&l.slot.name) && !exact && (s.has("indifferent") || self.words.len() <= 8 || l.slot.open) {
                self.new.insert(l.slot.name.clone(), self.n.to_owned());
            }
        }
    }
}

/// Whether the other slot's cue stands nearer to the end of the text than this slot's.
fn nearer(other: &Listener, this: &Listener, before: &str) -> bool {
    let last = |l: &Listener| l.slot.cues.iter().filter_map(|c| before.rfind(&normal(c))).max();
    match (last(other), last(this)) {
        (Some(o), Some(t)) => o > t,
        (Some(_), None) => true,
        _ => false,
    }
}

/// "hosted by X", "the host is X", "X's party": a capitalised name next to a cue.
fn named_with(text: &str, cue: &str) -> Option<String> {
    let w: Vec<&str> = text.split_whitespace().collect();
    let cue_words: Vec<String> = cue.split_whitespace().map(str::to_lowercase).collect();
    let clean = |x: &str| x.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_owned();
    let name = |x: &&str| {
        let c = clean(x);
        (c.len() > 1 && c.chars().next().is_some_and(char::is_uppercase) && c != "I" && !c.starts_with("I'")).then(|| c.trim_end_matches("'s").to_owned())
    };
    for at in 0..w.len() {
        let here: Vec<String> = w.iter().skip(at).take(cue_words.len()).map(|x| clean(x).to_lowercase().trim_end_matches("'s").to_owned()).collect();
        if here != cue_words {
            continue;
        }
        if at > 0
            && let Some(owner) = w.get(at - 1).filter(|x| clean(x).ends_with("'s"))
        {
            return name(owner);
        }
        let rest: Vec<&str> = w.iter().skip(at + cue_words.len()).copied().collect();
        let skip = rest.iter().take_while(|x| ["is", "by", "of", "for", "hosted", "name", "name's"].contains(&clean(x).to_lowercase().as_str())).count();
        if (skip > 0 || cue.contains(' '))
            && let Some(n) = rest.get(skip).and_then(name)
        {
            return Some(n);
        }
    }
    None
}
