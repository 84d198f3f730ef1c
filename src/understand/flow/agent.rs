//! What the agent itself said in free words: which act it was, and which slots it asked for.

use std::collections::BTreeMap;

use super::hearing::HEARING;
use crate::ir::graph::{Flow, Slot, SlotKind};
use crate::text::{normal, word_at, words};

/// The wordings of the agent's acts, as weighted bags of words.
#[derive(Debug)]
pub struct Wordings {
    weights: BTreeMap<String, f64>,
    known: Vec<(String, BTreeMap<String, f64>)>,
    slots: Vec<Slot>,
}

/// What a free utterance of the agent amounts to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spoken {
    /// The act it words, if one is near enough.
    pub act: Option<String>,
    /// The slots it asks for.
    pub asks: Vec<String>,
    /// It offers to carry out what was found.
    pub offers: bool,
}

/// As near as this is the same act in other words; for a question about a slot it has to be nearer.
const NEAR: f64 = 0.72;
const NEAR_QUESTION: f64 = 0.75;
/// The weight of a word that no wording has.
const UNSEEN: f64 = 3.0;

impl Wordings {
    /// Learns the wordings of a flow: its templates without their fields, and what else its author lists.
    pub fn new(flow: &Flow) -> Self {
        let mut texts: Vec<(String, String)> = flow.replies.iter().map(|(a, t)| (a.clone(), without_fields(t))).collect();
        texts.extend(flow.wordings.iter().flat_map(|(a, l)| l.iter().map(|t| (a.clone(), t.clone()))));
        let mut seen: BTreeMap<String, f64> = BTreeMap::new();
        for (_, t) in &texts {
            let mut w = words(t);
            w.sort();
            w.dedup();
            for x in w {
                *seen.entry(x).or_default() += 1.0;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of texts")]
        let all = texts.len() as f64;
        let weights = seen.into_iter().map(|(w, n)| (w, (1.0 + all / n).ln())).collect();
        let mut out = Self { weights, known: Vec::new(), slots: flow.slots().into_iter().map(|(_, s)| s.clone()).collect() };
        out.known = texts.into_iter().map(|(a, t)| (a, out.bag(&t))).collect();
        out
    }

    fn bag(&self, text: &str) -> BTreeMap<String, f64> {
        let mut out: BTreeMap<String, f64> = BTreeMap::new();
        for w in words(text) {
            let weight = self.weights.get(&w).copied().unwrap_or(UNSEEN);
            *out.entry(w).or_default() += weight;
        }
        let length = out.values().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 {
            out.values_mut().for_each(|x| *x /= length);
        }
        out
    }

    fn nearest(&self, text: &str) -> (f64, Option<&str>) {
        let bag = self.bag(text);
        let mut best = (0.0, None);
        for (act, other) in &self.known {
            let score: f64 = bag.iter().filter_map(|(w, x)| Some(x * other.get(w)?)).sum();
            if score > best.0 {
                best = (score, Some(act.as_str()));
            }
        }
        best
    }

    /// What a free utterance of the agent amounts to.
    pub fn read(&self, text: &str) -> Spoken {
        let n = normal(text);
        let (score, act) = self.nearest(text);
        let mut asks: Vec<String> = Vec::new();
        let by_act = |s: &&Slot| score > NEAR_QUESTION && s.ask.is_some() && s.ask.as_deref() == act;
        asks.extend(self.slots.iter().filter(by_act).map(|s| s.name.clone()));
        if HEARING.cues.asks.is_match(&n) || words(text).len() <= 4 {
            for s in &self.slots {
                if !asks.contains(&s.name) && asks_for(s, &n) {
                    asks.push(s.name.clone());
                }
            }
        }
        Spoken { act: act.filter(|_| score > NEAR).map(str::to_owned), asks, offers: HEARING.cues.offers.is_match(&n) }
    }
}

/// Words of labels that say nothing about the slot.
const EMPTY: [&str; 8] = ["customer", "name", "user", "guest", "hour", "1", "2", "question"];

fn asks_for(s: &Slot, n: &str) -> bool {
    let by_pattern = match s.kind {
        SlotKind::Name if s.identity => Some(&HEARING.cues.own_name),
        SlotKind::Day => Some(&HEARING.cues.asks_day),
        SlotKind::Time => Some(&HEARING.cues.asks_time),
        SlotKind::Date => Some(&HEARING.cues.asks_date),
        _ => None,
    };
    if let Some(p) = by_pattern {
        return p.is_match(n);
    }
    let label = words(&s.label);
    let by_label = label.iter().filter(|w| w.len() > 3 && !EMPTY.contains(&w.as_str())).any(|w| {
        let stem: String = w.chars().take(6).collect();
        n.match_indices(&stem).any(|(at, _)| !n.get(..at).and_then(|t| t.chars().next_back()).is_some_and(char::is_alphanumeric))
    });
    let by_cue = matches!(s.kind, SlotKind::Integer | SlotKind::Boolean | SlotKind::Digits) && s.cues.iter().any(|c| word_at(n, &normal(c)).is_some());
    by_label || by_cue
}

fn without_fields(template: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in template.chars() {
        match c {
            '{' => inside = true,
            '}' => inside = false,
            _ if !inside => out.push(c),
            _ => {}
        }
    }
    out
}
