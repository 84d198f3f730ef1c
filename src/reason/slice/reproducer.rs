//! A decision on which the engines differ, written down.

use std::fmt::Write as _;

use super::Slice;
use crate::reason::clingo_text::for_clingo;
use crate::reason::rules::Rules;

/// Before a rule that clingo was given in another text than the author's: that text, as a JSON string.
pub(in crate::reason) const CLINGO: &str = "%clingo: ";
/// What the engines differed in, as a JSON string.
pub(in crate::reason) const DIFFERENCE: &str = "%difference: ";

/// Writes the slice of a decision so that [`replay`](crate::reason::reproduce::replay) can decide it again: the rules as the author wrote them, each with what clingo
/// was given instead where that is another text, and all facts.
pub fn write(rules: &Rules, slice: &Slice, difference: &str) -> String {
    let json = |t: &str| serde_json::to_string(t).unwrap_or_default();
    let mut out = String::from("% The two engines derived different atoms from these rules and facts; `duologue replay FILE` decides again by both.\n");
    let _ = writeln!(out, "{DIFFERENCE}{}", json(difference));
    let mut text = slice.rules.clone();
    for (s, given) in rules.statements.iter().zip(&rules.texts) {
        if *given != s.text && text.contains(&**given) {
            // What every rule undergoes on its way to clingo, it undergoes again when the file is decided.
            let mark = if *given == for_clingo(s) { String::new() } else { format!("{CLINGO}{}\n", json(given)) };
            text = text.replacen(&**given, &format!("{mark}{}", s.text), 1);
        }
    }
    out.push_str(&text);
    for f in &slice.facts {
        let _ = writeln!(out, "{f}.");
    }
    out
}
