//! What an agent was told before the dialogue: what day and time it is, where the speaker is.

use super::hearing::HEARING;
use super::values;
use crate::ir::standing::Standing;
use crate::term::{Atom, Term};
use crate::text::{ENGLISH, normal};

/// Facts about the present that the agent has from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Background {
    /// The day.
    pub day: Option<String>,
    /// The time of day.
    pub time: Option<String>,
    /// Where the speaker is, or lives.
    pub place: Option<String>,
}

impl Background {
    /// Reads facts, one a line.
    pub fn read(facts: &str) -> Self {
        let mut out = Self::default();
        for line in facts.lines() {
            if let Some(place) = HEARING.cues.told_place.captures(line).and_then(|c| c.get(1)) {
                out.place = Some(place.as_str().trim().to_owned());
            } else if HEARING.cues.told_now.is_match(line) {
                let n = normal(line);
                out.day = values::days(&n).into_iter().find(|d| ENGLISH.weekdays.contains(d)).or(out.day);
                out.time = values::times(&n, false).into_iter().next().or(out.time);
            }
        }
        out
    }

    /// The same in the predicates of the vocabulary. A place is told twice: as it is called, and in small letters, to be found in lists.
    pub fn predicates(&self) -> Vec<Atom> {
        let place_name = self.place.as_ref().map(|p| p.to_lowercase());
        let all = [("day", &self.day), ("time", &self.time), ("place", &self.place), ("place_name", &place_name)];
        all.into_iter().filter_map(|(what, v)| Some(Atom::new("present", vec![Term::constant(what), Term::string(v.as_ref()?)]))).collect()
    }

    /// What a conversation's facts tell of the present.
    pub fn of(standing: Standing<'_>) -> Self {
        let told = |what: &str| standing.under("present", what).and_then(Term::as_name).map(str::to_owned);
        Self { day: told("day"), time: told("time"), place: told("place") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_about_the_present_are_read() {
        let b = Background::read("Help the speaker.\n* Right now it is Monday, 8 pm\n* The user lives in New York City");
        assert_eq!((b.day.as_deref(), b.time.as_deref(), b.place.as_deref()), (Some("monday"), Some("8"), Some("New York City")));
        let b = Background::read("* At the beginning of the conversation, the user's location is Craig and Center\n* Today is Sunday");
        assert_eq!((b.day.as_deref(), b.place.as_deref()), (Some("sunday"), Some("Craig and Center")));
        assert_eq!(Background::read("Tell the user the weather."), Background::default());
    }
}
