//! The condition language: what authors write on edges and in slot rules, as far as it can be read without a model.

use crate::ir::When;

/// What a slot's rule says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotRule {
    /// It may stay unknown.
    Optional,
    /// It has to be known.
    Required,
    /// One of these is enough.
    Either(Vec<String>),
    /// Something else.
    Words,
}

const GOOD: [&str; 14] =
    ["yes", "y", "true", "success", "successful", "succeeded", "available", "confirmed", "found", "authorized", "accepted", "ok", "agreed", "valid"];
const BAD: [&str; 13] = ["no", "n", "false", "failure", "failed", "fail", "unavailable", "rejected", "unauthorized", "denied", "declined", "invalid", "error"];

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
    if let Some((left, right)) = comparison(text) {
        if right.is_empty() || left.is_empty() {
            return Err(NoValue);
        }
        return Ok(When::Equals(left, right));
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
    Ok(When::Words(text.to_owned()))
}

/// `left = right`, `left == right`, `left equals right`, `left is right`.
fn comparison(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    for sign in ["==", "=", " equals to", " is equal to", " equals"] {
        if let Some((left, right)) = text.split_once(sign) {
            return Some((name(left), value(right)));
        }
    }
    let (left, right) = text.split_once(" is ").or_else(|| text.strip_suffix(" is").map(|l| (l, "")))?;
    // "the room is free" is a sentence, "Status is free" a comparison: an output is written as one word.
    (left.split_whitespace().count() == 1).then(|| (name(left), value(right)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_occur_are_read() {
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
            ("result equals \"late\"", When::Equals("result".into(), "late".into())),
            ("Status is free", When::Equals("Status".into(), "free".into())),
            ("the guest seems to be angry today", When::Words("the guest seems to be angry today".into())),
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
    }
}
