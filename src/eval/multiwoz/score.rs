//! Inform, success, BLEU, combined, and joint goal accuracy of a system's turns.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::data::{Goal, Recording, State, Turn};
use super::fuzzy::partial_ratio;
use super::venues::{Found, Slots, Venues};
use crate::eval::metrics::{bleu, percent, tokens_13a};

/// The placeholders a goal can ask for.
const REQUESTABLE: [&str; 5] = ["PHONE", "ADDRESS", "POST", "REFERENCE", "TRAINID"];
/// How similar two values of a state have to be to count as the same.
const SAME: u32 = 95;

/// What a system did in one turn.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The response as it was given, with slots in brackets.
    pub words: String,
    /// The response with placeholders, in the form responses are compared in.
    pub response: String,
    /// The state it had; the recorded one where absent.
    pub state: Option<State>,
    /// The domains it talked about; estimated from changes of the state where absent.
    pub active: Option<Vec<String>>,
}

/// The turns of one dialogue as some system has them.
pub type Saids = BTreeMap<String, Vec<Said>>;

/// Scores of one system on one set of dialogues; all in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// Dialogues.
    pub dialogues: usize,
    /// System turns.
    pub turns: usize,
    /// Share of dialogues in which what was offered fits every goal.
    pub inform: f64,
    /// Share of dialogues in which, moreover, everything asked for was told.
    pub success: f64,
    /// Corpus BLEU against the recorded replies.
    pub bleu: f64,
    /// Mean of inform and success, plus BLEU.
    pub combined: f64,
    /// Dialogues, inform and success per domain of the goals.
    pub domains: BTreeMap<String, DomainScores>,
    /// How well the states were tracked, if the system had its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking: Option<Tracking>,
}

/// Scores of one domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DomainScores {
    /// Dialogues whose goal has the domain.
    pub dialogues: usize,
    /// Share in which what was offered fits.
    pub inform: f64,
    /// Share in which everything was told, of the dialogues informed in all domains (the benchmark's own count).
    pub success: f64,
}

/// Agreement of a system's states with the recorded ones, in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tracking {
    /// Turns whose whole state agrees.
    pub joint_accuracy: f64,
    /// F1 over slots.
    pub slot_f1: f64,
    /// Precision over slots.
    pub slot_precision: f64,
    /// Recall over slots.
    pub slot_recall: f64,
}

/// Per domain: did it fit, was everything told.
type Outcome = BTreeMap<String, (bool, bool)>;

/// Scores the turns of a system; a dialogue it has no turns for is left out.
pub fn score(dialogues: &[Recording], said: &Saids, venues: &Venues) -> Scores {
    let with: Vec<(&Recording, &Vec<Said>)> = dialogues.iter().filter_map(|d| Some((d, said.get(&d.id)?))).collect();
    let own_domains = with.iter().all(|(_, s)| s.iter().all(|t| t.active.is_some()));
    let (mut informed, mut succeeded) = (0, 0);
    let mut domains: BTreeMap<String, (usize, usize, usize)> = BTreeMap::new();
    for (d, s) in &with {
        let states: Vec<&State> = s.iter().zip(&d.turns).map(|(s, t)| s.state.as_ref().unwrap_or(&t.state)).collect();
        let active = if own_domains { s.iter().map(|t| t.active.clone().unwrap_or_default()).collect() } else { estimate(&states) };
        let outcome = dialogue(d, s, &states, &active, venues);
        let all_fit = outcome.values().all(|o| o.0);
        informed += usize::from(all_fit);
        succeeded += usize::from(all_fit && outcome.values().all(|o| o.1));
        for (domain, (fit, told)) in outcome {
            let sum = domains.entry(domain).or_default();
            sum.0 += 1;
            sum.1 += usize::from(fit);
            sum.2 += usize::from(all_fit && told);
        }
    }
    let turns = || with.iter().flat_map(|(d, s)| s.iter().zip(&d.turns));
    let bleu = bleu(&turns().map(|(s, t)| (tokens_13a(&s.response), tokens_13a(&t.reference))).collect::<Vec<_>>());
    let (inform, success) = (percent(informed, with.len()), percent(succeeded, with.len()));
    Scores {
        dialogues: with.len(),
        turns: turns().count(),
        inform,
        success,
        bleu,
        combined: f64::midpoint(inform, success) + bleu,
        domains: domains.into_iter().map(|(d, (n, i, s))| (d, DomainScores { dialogues: n, inform: percent(i, n), success: percent(s, n) })).collect(),
        tracking: tracking(turns()),
    }
}

/// The domain each turn is probably about: the one whose recorded or tracked slots changed last.
fn estimate(states: &[&State]) -> Vec<Vec<String>> {
    let mut current: Option<String> = None;
    let mut old: &State = &Vec::new();
    let mut old_changed: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for state in states {
        let mut changed: Vec<(&String, usize)> = Vec::new();
        for (domain, slots) in *state {
            let before = slots_of(old, domain);
            if slots.iter().any(|(k, v)| before.and_then(|b| b.get(k)) != Some(v)) {
                changed.push((domain, slots.len()));
            }
        }
        if changed.is_empty() {
            let Some(now) = &current else {
                out.push(Vec::new());
                continue;
            };
            if old_changed.len() > 1 {
                old_changed.retain(|d| d != now && state.iter().any(|(s, _)| s == d));
                if let Some(d) = old_changed.first() {
                    current = Some(d.clone());
                }
            }
        } else if !changed.iter().any(|(d, _)| Some(*d) == current.as_ref()) {
            let most = changed.iter().map(|c| c.1).max();
            current = changed.iter().find(|c| Some(c.1) == most).map(|c| c.0.clone());
        }
        old = state;
        old_changed = changed.into_iter().map(|c| c.0.clone()).collect();
        out.push(current.iter().cloned().collect());
    }
    out
}

fn slots_of<'a>(state: &'a State, domain: &str) -> Option<&'a Slots> {
    state.iter().find(|(d, _)| d == domain).map(|(_, s)| s)
}

fn dialogue(d: &Recording, said: &[Said], states: &[&State], active: &[Vec<String>], venues: &Venues) -> Outcome {
    let mut out = Outcome::new();
    for (domain, goal) in &d.goals {
        let mut offered: Found = Found::default();
        let mut told: BTreeSet<&str> = BTreeSet::new();
        for (((s, state), active), turn) in said.iter().zip(states).zip(active).zip(&d.turns) {
            if !active.contains(domain) {
                continue;
            }
            let names = venues.convention().tables.get(domain).is_some_and(|t| s.response.contains(&t.says));
            if names {
                let fits = slots_of(state, domain).map(|s| venues.query(domain, s)).unwrap_or_default();
                // An offer stays what it was while everything offered still fits.
                if offered.is_empty() || offered.iter().any(|v| fits.binary_search(v).is_err()) {
                    offered = fits;
                }
            }
            for slot in REQUESTABLE {
                if s.response.contains(slot) && (slot != "REFERENCE" || turn.booked.contains(domain)) {
                    told.insert(slot);
                }
            }
        }
        out.insert(domain.clone(), (fits_goal(domain, goal, &offered, venues), goal.requestable.iter().all(|r| told.contains(r.as_str()))));
    }
    out
}

fn fits_goal(domain: &str, goal: &Goal, offered: &[u32], venues: &Venues) -> bool {
    let free = goal.informable.contains_key("name")
        || venues.convention().unmatched.iter().any(|d| d == domain)
        || venues.convention().tables.get(domain).is_some_and(|t| t.unsought && offered.is_empty() && !goal.requestable.contains(&t.says));
    let wanted = venues.query(domain, &goal.informable);
    free || (!offered.is_empty() && offered.iter().all(|v| wanted.binary_search(v).is_ok()))
}

fn tracking<'a>(turns: impl Iterator<Item = (&'a Said, &'a Turn)>) -> Option<Tracking> {
    let flat =
        |s: &State| -> BTreeMap<(String, String), String> { s.iter().flat_map(|(d, s)| s.iter().map(|(k, v)| ((d.clone(), k.clone()), v.clone()))).collect() };
    let (mut joint, mut n, mut right, mut wrong, mut missed) = (0, 0, 0, 0, 0);
    for (s, t) in turns {
        let (own, recorded) = (flat(s.state.as_ref()?), flat(&t.state));
        let same = own.iter().filter(|(k, v)| recorded.get(*k).is_some_and(|r| partial_ratio(v, r) > SAME)).count();
        n += 1;
        joint += usize::from(same == own.len() && same == recorded.len());
        right += same;
        wrong += own.len() - same;
        missed += recorded.len() - same;
    }
    let (precision, recall) = (percent(right, right + wrong), percent(right, right + missed));
    let f1 = if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 };
    Some(Tracking { joint_accuracy: percent(joint, n), slot_f1: f1, slot_precision: precision, slot_recall: recall })
}
