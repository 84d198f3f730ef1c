//! What an utterance does apart from naming values: greet, thank, agree, refuse, ask, take back.

use std::collections::BTreeSet;

use super::hearing::HEARING;
use crate::text::{normal, words};

/// What an utterance conveys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals(BTreeSet<&'static str>);

impl Signals {
    /// Reads the signals of an utterance.
    pub fn of(text: &str) -> Self {
        let n = normal(text);
        let w = words(text);
        let mut s = BTreeSet::new();
        let mut add = |name, holds: bool| {
            if holds {
                s.insert(name);
            }
        };
        let lists = &HEARING.words;
        add("greeting", w.iter().take(3).any(|x| lists.greeting.has(x)));
        add("greeting_only", w.iter().any(|x| lists.greeting.has(x)) && w.iter().all(|x| lists.greeting.has(x) || lists.greeting_company.has(x)));
        for (name, pattern) in &HEARING.signals {
            add(name, pattern.is_match(&n));
        }
        add("mark", n.contains('?'));
        add("negation", n.contains("not"));
        add("short", w.len() <= 7);
        add("wordy", w.len() > 6);
        add("long", w.len() > 8);
        let cues = &HEARING.cues;
        let plain = cues.detail_plain.is_match(&n) && !cues.detail_refused.is_match(&n);
        if plain || cues.detail.is_match(&n) && !s.contains("go_on") {
            s.insert("more_detail");
        }
        Self(s)
    }

    /// Whether the utterance conveys something.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// All signals, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_plain_sentences() {
        let has = |text: &str, name: &str| Signals::of(text).has(name);
        assert!(has("Hello there!", "greeting_only"));
        assert!(!has("Hello, I need a ride", "greeting_only"));
        assert!(has("No thank you, that's all", "done") && has("No thank you, that's all", "deny"));
        assert!(has("Yes, please book it", "book") && has("Yes, please book it", "affirm"));
        assert!(has("I don’t remember my number", "unknowing"));
        assert!(has("can I have more details?", "more_detail"));
        assert!(!has("no more details needed, proceed", "more_detail") || has("no more details needed, proceed", "go_on"));
    }
}
