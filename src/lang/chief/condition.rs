//! The condition language: what authors write on edges and in slot rules, as far as it can be read without a model.

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

const GOOD: [&str; 14] =
    ["yes", "y", "true", "success", "successful", "succeeded", "available", "confirmed", "found", "authorized", "accepted", "ok", "agreed", "valid"];
const BAD: [&str; 13] = ["no", "n", "false", "failure", "failed", "fail", "unavailable", "rejected", "unauthorized", "denied", "declined", "invalid", "error"];

/// Words and names in code, which keep their underscores: a condition may name a slot.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).filter(|w| !w.is_empty()).map(str::to_lowercase).collect()
}

/// A comparison that lacks one of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoValue;

/// Reads an edge's condition; fails when it compares with nothing.
pub fn edge(text: Option<&str>) -> Result<When, NoValue> {
    let Some(text) = text.map(str::trim).filter(|t| !t.is_empty() && !matches!(t.to_lowercase().as_str(), "always" | "else" | "otherwise")) else {
        return Ok(When::Always);
    };
    let w = words(text);
    let has = |s: &str| w.iter().any(|x| x == s);
    if has("last") && has("step") {
        return Ok(When::LastStep);
    }
    if let Some(test) = comparison(text) {
        return test.guard().map(When::If).ok_or(NoValue);
    }
    if has("user") && (has("missing") || has("cannot") || has("not") || has("without")) {
        return Ok(When::Withheld);
    }
    if has("user") && (has("provides") || has("provided") || has("gives") || has("gave")) {
        return Ok(When::Given);
    }
    let negated = has("not") || has("nothing") || has("unable");
    if w.len() <= 4 {
        if w.iter().any(|x| BAD.contains(&x.as_str())) {
            return Ok(if negated && !has("no") { When::Good } else { When::Bad });
        }
        if w.iter().any(|x| GOOD.contains(&x.as_str())) {
            return Ok(if negated { When::Bad } else { When::Good });
        }
    }
    Ok(When::If(Guard::Words(text.to_owned())))
}

/// What a sign or word asks of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Compares(Compare),
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
        match self.how {
            _ if self.field.is_empty() => None,
            How::Known => Some(Guard::Known(path)),
            How::Unknown => Some(Guard::Not(Box::new(Guard::Known(path)))),
            How::Compares(_) if self.value.is_empty() => None,
            How::Compares(how) => Some(Guard::Compare(path, how, Value::Text(self.value))),
        }
    }
}

/// Signs and words of comparison, the longer ones before those they begin with.
const SIGNS: [(&str, How); 24] = [
    ("!=", How::Compares(Compare::IsNot)),
    (">=", How::Compares(Compare::AtLeast)),
    ("<=", How::Compares(Compare::AtMost)),
    ("==", How::Compares(Compare::Is)),
    (">", How::Compares(Compare::More)),
    ("<", How::Compares(Compare::Less)),
    ("=", How::Compares(Compare::Is)),
    (" is not equal to", How::Compares(Compare::IsNot)),
    (" does not equal", How::Compares(Compare::IsNot)),
    (" is equal to", How::Compares(Compare::Is)),
    (" equals to", How::Compares(Compare::Is)),
    (" equals", How::Compares(Compare::Is)),
    (" is greater than", How::Compares(Compare::More)),
    (" is more than", How::Compares(Compare::More)),
    (" is less than", How::Compares(Compare::Less)),
    (" is at least", How::Compares(Compare::AtLeast)),
    (" is at most", How::Compares(Compare::AtMost)),
    (" is not known", How::Unknown),
    (" is unknown", How::Unknown),
    (" is missing", How::Unknown),
    (" is known", How::Known),
    (" is given", How::Known),
    (" is not", How::Compares(Compare::IsNot)),
    (" is", How::Compares(Compare::Is)),
];

/// `left = right`, `left is at least right`, `left is known`, …
fn comparison(text: &str) -> Option<Test> {
    let text = text.trim();
    for (sign, how) in SIGNS {
        let Some((left, right)) = text.split_once(sign) else { continue };
        let ends = sign.ends_with(|c: char| !c.is_alphabetic()) || !right.starts_with(char::is_alphanumeric);
        // "the room is free" is a sentence, "Status is free" a comparison: before a word, an output is written as one word.
        let spelt = sign.ends_with(char::is_alphabetic) && !sign.contains("equal");
        let complete = matches!(how, How::Compares(_)) || right.trim().is_empty();
        if ends && complete && (!spelt || left.split_whitespace().count() == 1) {
            return Some(Test { field: name(left), how, value: value(right) });
        }
    }
    None
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
    let has = |s: &str| w.iter().any(|x| x == s);
    if let Some(test) = only_if(text, slots) {
        return SlotRule::OnlyIf(test);
    }
    let mut named: Vec<String> = slots.iter().filter(|s| w.iter().any(|x| x == &s.to_lowercase())).map(|s| (*s).to_owned()).collect();
    named.dedup();
    if (has("either") || has("or") || has("one")) && named.len() >= 2 {
        return SlotRule::Either(named);
    }
    if has("optional") || has("optionally") {
        return SlotRule::Optional;
    }
    if has("required") || has("always") || has("mandatory") {
        return SlotRule::Required;
    }
    SlotRule::Words
}

/// "only if `slot` is `value`", "ask unless `slot` is known": a comparison of a slot after one of these words.
fn only_if(text: &str, slots: &[&str]) -> Option<Guard> {
    let lower = text.to_lowercase();
    let (at, word) = [" if ", " when ", " unless "].iter().filter_map(|w| Some((format!(" {lower}").find(w)?, *w))).min()?;
    let condition = text.get(at + word.len() - 1..)?.trim_end_matches('.');
    let mut test = comparison(condition)?;
    test.field = slots.iter().find(|s| s.eq_ignore_ascii_case(&test.field)).map(|s| (*s).to_owned())?;
    let guard = test.guard()?;
    Some(if word == " unless " { Guard::Not(Box::new(guard)) } else { guard })
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
