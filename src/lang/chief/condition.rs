//! The condition language: what authors write on edges and in slot rules, as far as it can be read without a model.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::ir::graph::When;
use crate::ir::guard::{Compare, Guard};
use crate::ir::value::{Path, Value};

/// What a slot's rule says.
#[derive(Clone, Debug, PartialEq)]
pub enum SlotRule {
    /// It may stay unknown.
    Optional,
    /// It has to be known.
    Required,
    /// One of these is enough.
    Either(Vec<String>),
    /// It is asked for only where a comparison holds.
    OnlyIf(Guard),
    /// Something else.
    Words,
}

/// The words that conditions are read by.
static ENGLISH: LazyLock<Conditions> = LazyLock::new(|| {
    let read = serde_saphyr::from_str(include_str!("../../../kb/core/conditions.yaml"));
    #[expect(clippy::expect_used, reason = "the file is part of the program, and tests read it")]
    read.expect("kb/core/conditions.yaml is well formed")
});

/// See `kb/core/conditions.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conditions {
    always: Vec<String>,
    good: Vec<String>,
    bad: Vec<String>,
    turning: Vec<String>,
    denying: String,
    last_step: Vec<String>,
    speaker: String,
    withheld: Vec<String>,
    given: Vec<String>,
    comparisons: Vec<Comparison>,
    either: Vec<String>,
    optional: Vec<String>,
    required: Vec<String>,
    only_if: Vec<String>,
    unless: String,
}

/// A comparison in words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Comparison {
    words: String,
    asks: How,
    #[serde(default)]
    after_several: bool,
}

/// Words and names in code, which keep their underscores: a condition may name a slot.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).filter(|w| !w.is_empty()).map(str::to_lowercase).collect()
}

/// A comparison that lacks one of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoValue;

/// Reads an edge's condition; fails when it compares with nothing.
pub fn edge(text: Option<&str>) -> Result<When, NoValue> {
    let e = &*ENGLISH;
    let Some(text) = text.map(str::trim).filter(|t| !t.is_empty() && !e.always.contains(&t.to_lowercase())) else {
        return Ok(When::Always);
    };
    let w = words(text);
    let any = |list: &[String]| w.iter().any(|x| list.contains(x));
    if e.last_step.iter().all(|s| w.contains(s)) {
        return Ok(When::LastStep);
    }
    if let Some(test) = comparison(text) {
        return test.guard().map(When::If).ok_or(NoValue);
    }
    let of_user = w.contains(&e.speaker);
    if of_user && any(&e.withheld) {
        return Ok(When::Withheld);
    }
    if of_user && any(&e.given) {
        return Ok(When::Given);
    }
    let turned = any(&e.turning);
    if w.len() <= 4 {
        if any(&e.bad) {
            return Ok(if turned && !w.contains(&e.denying) { When::Good } else { When::Bad });
        }
        if any(&e.good) {
            return Ok(if turned { When::Bad } else { When::Good });
        }
    }
    Ok(When::If(Guard::Words(text.to_owned())))
}

/// What a sign or word asks of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Is,
    IsNot,
    More,
    Less,
    AtLeast,
    AtMost,
    Known,
    Unknown,
}

/// A comparison as it is written.
struct Test {
    field: String,
    how: How,
    value: String,
}

impl Test {
    /// The condition, if both sides are there.
    fn guard(self) -> Option<Guard> {
        let path = Path::named(&self.field);
        let compare = match self.how {
            _ if self.field.is_empty() => return None,
            How::Known => return Some(Guard::Known(path)),
            How::Unknown => return Some(Guard::Not(Box::new(Guard::Known(path)))),
            How::Is => Compare::Is,
            How::IsNot => Compare::IsNot,
            How::More => Compare::More,
            How::Less => Compare::Less,
            How::AtLeast => Compare::AtLeast,
            How::AtMost => Compare::AtMost,
        };
        (!self.value.is_empty()).then(|| Guard::Compare(path, compare, Value::Text(self.value)))
    }
}

/// Signs of comparison, the longer ones before those they begin with.
const SIGNS: [(&str, How); 7] =
    [("!=", How::IsNot), (">=", How::AtLeast), ("<=", How::AtMost), ("==", How::Is), (">", How::More), ("<", How::Less), ("=", How::Is)];

/// `left = right`, `left is at least right`, `left is known`, …
fn comparison(text: &str) -> Option<Test> {
    let text = text.trim();
    let test = |left: &str, how, right: &str| Test { field: name(left), how, value: value(right) };
    if let Some((how, (left, right))) = SIGNS.iter().find_map(|(sign, how)| Some((*how, text.split_once(sign)?))) {
        return Some(test(left, how, right));
    }
    ENGLISH.comparisons.iter().find_map(|c| {
        let (left, right) = text.split_once(&format!(" {}", c.words))?;
        let complete = !matches!(c.asks, How::Known | How::Unknown) || right.trim().is_empty();
        // "the room is free" is a sentence, "Status is free" a comparison: before a word, an output is written as one word.
        let alone = c.after_several || left.split_whitespace().count() == 1;
        (complete && alone && !right.starts_with(char::is_alphanumeric)).then(|| test(left, c.asks, right))
    })
}

fn name(text: &str) -> String {
    text.split_whitespace().last().unwrap_or("").to_owned()
}

fn value(text: &str) -> String {
    text.trim().trim_matches(['"', '\'', '`']).to_owned()
}

/// Reads a slot's rule; `slots` are the names it may mention.
pub fn slot(text: &str, slots: &[&str]) -> SlotRule {
    let w = words(text);
    let any = |list: &[String]| w.iter().any(|x| list.contains(x));
    if let Some(test) = only_if(text, slots) {
        return SlotRule::OnlyIf(test);
    }
    let mut named: Vec<String> = slots.iter().filter(|s| w.iter().any(|x| x == &s.to_lowercase())).map(|s| (*s).to_owned()).collect();
    named.dedup();
    if any(&ENGLISH.either) && named.len() >= 2 {
        return SlotRule::Either(named);
    }
    if any(&ENGLISH.optional) {
        return SlotRule::Optional;
    }
    if any(&ENGLISH.required) {
        return SlotRule::Required;
    }
    SlotRule::Words
}

/// "only if `slot` is `value`", "ask unless `slot` is known": a comparison of a slot after one of these words.
fn only_if(text: &str, slots: &[&str]) -> Option<Guard> {
    let lower = text.to_lowercase();
    let (at, word) = ENGLISH.only_if.iter().chain([&ENGLISH.unless]).filter_map(|w| Some((format!(" {lower}").find(w.as_str())?, w))).min()?;
    let condition = text.get(at + word.len() - 1..)?.trim_end_matches('.');
    let mut test = comparison(condition)?;
    test.field = slots.iter().find(|s| s.eq_ignore_ascii_case(&test.field)).map(|s| (*s).to_owned())?;
    let guard = test.guard()?;
    Some(if *word == ENGLISH.unless { Guard::Not(Box::new(guard)) } else { guard })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_occur_are_read() {
        let test = |field: &str, how, value: &str| When::If(Guard::Compare(Path::named(field), how, Value::Text(value.into())));
        let cases = [
            ("Yes", When::Good),
            ("No", When::Bad),
            ("Unavailable", When::Bad),
            ("Authentication Failure", When::Bad),
            ("Confirmed", When::Good),
            ("not available", When::Bad),
            ("User provides information", When::Given),
            ("User missing information", When::Withheld),
            ("Yes and last step", When::LastStep),
            ("result equals \"late\"", test("result", Compare::Is, "late")),
            ("Status is free", test("Status", Compare::Is, "free")),
            ("Price > 100", test("Price", Compare::More, "100")),
            ("Guests is at least 8", test("Guests", Compare::AtLeast, "8")),
            ("Status is not free", test("Status", Compare::IsNot, "free")),
            ("Phone is known", When::If(Guard::Known(Path::named("Phone")))),
            ("the guest seems to be angry today", When::If(Guard::Words("the guest seems to be angry today".into()))),
        ];
        for (text, want) in cases {
            assert_eq!(edge(Some(text)), Ok(want), "{text}");
        }
        assert_eq!(edge(None), Ok(When::Always));
        assert_eq!(edge(Some("result equals")), Err(NoValue));
        assert_eq!(edge(Some("Status is")), Err(NoValue));
    }

    #[test]
    fn slot_rules_that_occur_are_read() {
        let slots = ["leave_at", "arrive_by", "day"];
        assert_eq!(slot("either leave_at or arrive_by is sufficient", &slots), SlotRule::Either(vec!["leave_at".into(), "arrive_by".into()]));
        assert_eq!(slot("optional", &slots), SlotRule::Optional);
        assert_eq!(slot("only ask on weekends", &slots), SlotRule::Words);
        let sunday = Guard::Compare(Path::named("day"), Compare::Is, Value::Text("sunday".into()));
        assert_eq!(slot("ask only if day is sunday", &slots), SlotRule::OnlyIf(sunday));
        assert_eq!(slot("Unless Day is known.", &slots), SlotRule::OnlyIf(Guard::Not(Box::new(Guard::Known(Path::named("day"))))));
        assert_eq!(slot("only when the weather is fine", &slots), SlotRule::Words);
    }
}
