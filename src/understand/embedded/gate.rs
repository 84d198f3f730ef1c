//! The gate: what was read is done only if the words carry it; what is half said is asked back, what is not said is dropped.
//!
//! Two voices that fail differently must agree: the reading, and a linear reader over the words with names masked by their sort.
//! An act whose mistake costs much (`cost: high` in the ontology) needs besides that nothing in its clause speaks against it: no
//! denial, no question, no other time, nothing uncovered.

use std::collections::BTreeMap;
use std::ops::Range;

use super::chart::{Chart, NameEdge};
use super::learned::{ASKED, kinds};
use super::text::{Kind, Token};
use super::{Embedded, IRRELEVANT};
use crate::ontology::Arg;
use crate::term::{Atom, Term};
use crate::understand::{Context, Heard};

/// What becomes of an act that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Do,
    Ask,
    Drop,
}

/// From which confidence on what the patterns read whole needs no second voice.
pub const SURE: f64 = 0.9;
/// Below this likelihood of an act the second voice contradicts the reading.
const CONTRADICTED: f32 = 0.1;
/// The same for a costly act.
const CARRIED: f32 = 0.3;
/// Below this a costly act on something is asked back although the patterns are sure of it.
const DENIED: f32 = 0.02;
/// From which likelihood on the second voice hears something half said.
const HALF: f32 = 0.5;

/// What speaks against an act in the clause that it was read in.
#[derive(Clone, Copy, Debug, Default)]
struct Clause {
    /// A word beside names and fillers.
    carries: bool,
    denied: bool,
    doubted: bool,
}

impl Embedded {
    /// What the words bear out; `sure` if patterns read all of them.
    pub(super) fn gated(&self, text: &str, context: &Context, chart: &Chart<'_>, mut heard: Heard, sure: bool) -> Heard {
        let costly = |a: &Atom| self.model.ontology.is_costly(&context.role, a);
        // What the patterns are sure of needs no second voice, unless it costs.
        let asked = !sure || heard.predicates.iter().any(costly);
        let voice = if asked { self.voice(text, context, chart) } else { BTreeMap::new() };
        let all: Vec<Range<usize>> = vec![0..text.len()];
        let words = std::mem::take(&mut heard.words);
        let mut kept = vec![];
        for (i, act) in std::mem::take(&mut heard.predicates).into_iter().enumerate() {
            let words = words.get(i).unwrap_or(&all);
            match self.verdict(&act, &self.clause(&act, chart, words, context, &heard), &voice, sure, context) {
                Verdict::Do => kept.push((act, words.clone())),
                Verdict::Ask if !heard.asks.contains(&act) => heard.asks.push(act),
                Verdict::Ask | Verdict::Drop => {}
            }
        }
        // Where something is asked back, nothing else was not understood.
        if !heard.asks.is_empty() {
            kept.retain(|k| ![IRRELEVANT, "unclear"].contains(&&*k.0.name));
        }
        (heard.predicates, heard.words) = kept.into_iter().unzip();
        heard
    }

    fn verdict(&self, act: &Atom, clause: &Clause, voice: &BTreeMap<String, f32>, sure: bool, context: &Context) -> Verdict {
        let costly = self.model.ontology.is_costly(&context.role, act);
        // A value is masked like a name: the voice cannot tell one from the other, only that one of its sort is meant.
        let said = if costly || self.is_told_apart(act, context) { kinds(act).find_map(|k| voice.get(&k)) } else { voice.get(&*act.name) }.copied();
        let half = voice.iter().filter(|(k, _)| k.starts_with(ASKED)).map(|v| *v.1).fold(0.0, f32::max);
        let of_something = act.args.iter().any(|a| matches!(a, Term::Str(_)));
        let sure = sure && !(costly && of_something && said.is_some_and(|p| p < DENIED));
        let half_said = !sure && !act.args.is_empty() && half > HALF && said.is_none_or(|p| p < half);
        let unheard_of = voice.is_empty() || said.is_none();
        let enough = if costly { CARRIED } else { CONTRADICTED };
        if costly && clause.denied {
            Verdict::Drop
        } else if costly && (clause.doubted || !clause.carries) || half_said {
            Verdict::Ask
        } else if sure || unheard_of || said.is_some_and(|p| p >= enough) || !costly && self.is_strange(act) {
            Verdict::Do
        } else if act.args.is_empty() && !costly {
            Verdict::Drop
        } else {
            Verdict::Ask
        }
    }

    /// Whether the act names something, or a constant of it stands in its form and so belongs to its kind.
    fn is_told_apart(&self, act: &Atom, context: &Context) -> bool {
        let forms = self.model.forms.get(&(context.role.clone(), act.name.clone(), act.args.len()));
        let told = |(arg, term): (&Arg, &Term)| matches!(arg, Arg::Literal(l) if l == term);
        act.args.iter().any(|a| matches!(a, Term::Str(_))) || forms.into_iter().flatten().any(|form| form.iter().zip(&act.args).any(told))
    }

    /// Whether the act is about a name that nothing bears: the rules say so, and nothing can come of it.
    fn is_strange(&self, act: &Atom) -> bool {
        act.args.iter().any(|t| matches!(t, Term::Str(name) if self.knowledge.names.find(name).is_none()))
    }

    /// Looks at the clauses that the words stand in.
    fn clause(&self, act: &Atom, chart: &Chart<'_>, words: &[Range<usize>], context: &Context, heard: &Heard) -> Clause {
        let tokens = chart.tokens;
        let stops = |t: &Token| matches!(t.punct(), Some('.' | '?' | '!' | ';'));
        let own = |t: &Token| words.iter().any(|w| w.start < t.range.end && t.range.start < w.end);
        let from = tokens.iter().position(own).map_or(0, |i| tokens.get(..i).and_then(|b| b.iter().rposition(stops)).map_or(0, |s| s + 1));
        let last = tokens.iter().rposition(own).unwrap_or(0);
        let to = tokens.iter().skip(last).position(stops).map_or(tokens.len(), |s| last + s);
        let has = |kind: &str, t: &Token| self.model.phrase.has(kind, t.id);
        let inside = || tokens.get(from..to).into_iter().flatten().filter(|t| t.kind == Kind::Word);
        let matters = |t: &&Token| !self.model.fillers.contains(&t.id);
        let mut opening = inside().filter(matters);
        let (first, second) = (opening.next(), opening.next());
        let request = first.is_some_and(|t| has("request", t)) && second.is_some_and(|t| has("asked_of", t));
        let asks = tokens.get(to).is_some_and(|t| t.punct() == Some('?')) || first.is_some_and(|t| has("question", t));
        let uncovered = |t: &&Token| heard.uncovered.iter().any(|u| u.start < t.range.end && t.range.start < u.end);
        let named = |t: &Token| self.knowledge.names.knows(t.id) && !self.model.roles.get(&context.role).is_some_and(|g| g.words.contains(&t.id));
        let carries = |t: &Token| !named(t) && !has("definite", t) && !has("indefinite", t) && !has("list", t);
        // A number that is no argument is a word like others: "86 the guac".
        let counts = act.args.iter().any(|a| matches!(a, Term::Int(_)));
        let number = !counts && tokens.get(from..to).into_iter().flatten().any(|t| matches!(t.kind, Kind::Number { .. }) && !self.knowledge.names.knows(t.id));
        // Who else is named tells what it is about: "Ada Brandt, the salbutamol".
        let about = |e: &NameEdge| e.candidates.iter().filter(|c| c.score > 0.5).filter_map(|c| chart.name(c.name)).any(|n| act.args.contains(&Term::Str(n)));
        let own_name = |i: usize| chart.names.iter().any(|e| e.start <= i && i < e.end && about(e));
        let others = (from..to).any(|i| tokens.get(i).is_some_and(|t| t.kind == Kind::Word && matters(&t) && named(t)) && !own_name(i));
        Clause {
            carries: others || !context.last_actions.is_empty() || inside().filter(matters).any(carries) || number,
            denied: inside().filter(uncovered).any(|t| has("denies", t)),
            doubted: asks && !request || inside().any(|t| has("half_meant", t)) || inside().any(|t| uncovered(&t)),
        }
    }
}
