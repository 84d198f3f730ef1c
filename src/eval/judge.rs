//! Whether an utterance was heard rightly: what is to be done, what is to be asked back, and what nobody meant.

use std::fmt;

use serde::Serialize;

use super::nlu::Case;
use crate::term::Atom;
use crate::understand::Heard;

/// What a reading is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// What was to be done and asked, and nothing else, or what is right as well.
    pub exact: bool,
    /// An act of a kind that was not meant.
    pub wrong_kind: bool,
}

/// Predicates that do nothing; one is as good as the other where nothing is to be done.
const QUIET: [&str; 3] = ["unclear", "irrelevant", "greet"];

fn acts<'a>(atoms: impl IntoIterator<Item = &'a Atom>) -> Vec<&'a Atom> {
    let mut out: Vec<&Atom> = atoms.into_iter().filter(|a| !QUIET.contains(&&*a.name)).collect();
    out.sort();
    out
}

/// Judges a reading. A case that tells nothing of asking back is exact if its predicates are.
pub fn judge(case: &Case, heard: &Heard) -> Judged {
    let also = |word: &str| case.also.iter().any(|a| a.args.is_empty() && &*a.name == word);
    let (done, asked) = (acts(&heard.predicates), acts(&heard.asks));
    let (gold, asks) = (acts(&case.gold), acts(&case.asks));
    let both = |a: &[&Atom], b: &[&Atom]| acts(a.iter().chain(b).copied()).into_iter().cloned().collect::<Vec<_>>();
    let wanted = both(&gold, &asks);
    let as_words = case.gold.iter().chain(&case.also).any(|a| QUIET.contains(&&*a.name)) || also("nothing");
    let other = |a: &Atom| !["ask", "do", "either", "nothing"].contains(&&*a.name) && !QUIET.contains(&&*a.name);
    let exact =
        if gold.is_empty() && asks.is_empty() && case.asks.is_empty() && case.also.is_empty() && case.gold.len() == 1 && asked.is_empty() && done.is_empty() {
            // One quiet word for another, or nothing, comes to the same but for a greeting.
            let greets = |list: &[Atom]| list.iter().any(|a| &*a.name == "greet");
            greets(&case.gold) == greets(&heard.predicates)
        } else {
            done == gold && asked == asks
                || done.is_empty() && as_words && (asked.is_empty() || asked == asks)
                || also("ask") && done.iter().all(|a| gold.contains(a)) && both(&done, &asked) == wanted
                || also("ask") && done.is_empty() && heard.asks_back() && asked.is_empty()
                || (also("do") || also("either")) && both(&done, &[]) == wanted
                || also("either") && (done == gold && asked.is_empty() || done == asks)
                || case.also.iter().any(|a| other(a) && done == [a])
        };
    let mut meant: Vec<&Atom> = gold.iter().copied().chain(case.also.iter().filter(|a| other(a))).collect();
    if also("do") || also("either") {
        meant.extend(asks.iter().copied());
    }
    Judged { exact, wrong_kind: done.iter().any(|d| meant.iter().all(|m| m.name != d.name)) }
}

/// How many of the atoms are among the others, each once.
pub(super) fn common(a: &[Atom], b: &[Atom]) -> usize {
    let mut left: Vec<&Atom> = b.iter().collect();
    a.iter().filter(|x| left.iter().position(|y| y == x).map(|i| left.swap_remove(i)).is_some()).count()
}

/// How often a translator is right by how sure it says it is, in tenths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reliability {
    /// Cases and how many of them are exact, for each tenth of confidence.
    pub tenths: [(usize, usize); 10],
}

impl Reliability {
    /// Counts a case.
    pub fn count(&mut self, confidence: f64, exact: bool) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a tenth from 0 to 9")]
        let at = (confidence.clamp(0.0, 0.999) * 10.0) as usize;
        if let Some((cases, right)) = self.tenths.get_mut(at) {
            *cases += 1;
            *right += usize::from(exact);
        }
    }
}

impl fmt::Display for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (cases, right)) in self.tenths.iter().enumerate().filter(|(_, t)| t.0 > 0) {
            write!(f, " 0.{i}: {right}/{cases} ({} %)", right * 100 / cases)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ontology::Shape;

    fn judged(case: &str, done: &[&str], asks: &[&str]) -> (bool, bool) {
        let line = format!(r#"{{"id":"a","role":"r","text":"x",{case}}}"#);
        let case = crate::eval::nlu::read_cases(line.as_bytes(), &Shape::default()).unwrap().remove(0);
        let atoms = |list: &[&str]| list.iter().map(|a| Atom::parse(a).unwrap()).collect();
        let j = judge(&case, &Heard { predicates: atoms(done), asks: atoms(asks), ..Heard::default() });
        (j.exact, j.wrong_kind)
    }

    #[test]
    fn what_is_done_asked_and_left_is_judged_apart() {
        assert_eq!(judged(r#""gold":["f(1)"]"#, &["f(1)"], &[]), (true, false));
        assert_eq!(judged(r#""gold":["f(1)"]"#, &["f(2)"], &[]), (false, false));
        assert_eq!(judged(r#""gold":["unclear"]"#, &[], &[]), (true, false));
        assert_eq!(judged(r#""gold":["unclear"]"#, &["f(1)"], &[]), (false, true));
        assert_eq!(judged(r#""gold":["unclear"]"#, &[], &["f(1)"]), (false, false));
        assert_eq!(judged(r#""gold":["unclear"],"asks":["f(1)"]"#, &[], &["f(1)"]), (true, false));
        assert_eq!(judged(r#""gold":["unclear"],"asks":["f(1)"]"#, &["f(1)"], &[]), (false, true));
        assert_eq!(judged(r#""gold":[],"asks":["f(1)"],"also":["do"]"#, &["f(1)"], &[]), (true, false));
        assert_eq!(judged(r#""gold":["f(1)","g"],"also":["ask"]"#, &["g"], &["f(1)"]), (true, false));
        assert_eq!(judged(r#""gold":["f(1)","g"],"also":["ask"]"#, &["g"], &[]), (false, false));
        assert_eq!(judged(r#""gold":["greet"]"#, &["irrelevant"], &[]), (false, false));
    }

    #[test]
    fn confidence_is_counted_in_tenths() {
        let mut r = Reliability::default();
        [(0.95, true), (0.99, false), (1.0, true), (0.05, false)].into_iter().for_each(|(c, e)| r.count(c, e));
        assert_eq!((r.tenths[9], r.tenths[0]), ((3, 2), (1, 0)));
    }
}
