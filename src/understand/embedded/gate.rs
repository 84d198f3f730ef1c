//! The gate: what was read is done only if the words carry it; what is half said is asked back, what is not said is dropped.
//!
//! Two voices that fail differently are heard: the readings, and a small network over the words with names masked by their sort. How
//! far a reading and each of its acts can be trusted is fitted, see [`super::learned::trust`]. An act whose mistake costs much
//! (`cost: high` in the ontology) needs besides that nothing in its clause speaks against it: no denial, no question, no other time.

use std::collections::BTreeMap;
use std::ops::Range;

use super::chart::{Chart, NameEdge};
use super::learned::trust::{Candidate, Clause, Evidence, quiet, said};
use super::lines::names;
use super::template::Slot;
use super::text::{Kind, Token};
use super::{Embedded, IRRELEVANT, Part};
use crate::link::UNKNOWN;
use crate::term::{Atom, Name, Term};
use crate::understand::{Context, Heard};

/// What becomes of an act that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Do,
    Ask,
    Drop,
}

/// From which confidence on the patterns are sure.
const SURE: f64 = 0.95;
/// By how much what was learned must be trusted more to stand where the patterns account for every word.
const AHEAD: f32 = 0.2;
/// From which likelihood on a costly act is done: the mean of its own and that of the whole reading.
const COSTLY: f32 = 0.5;
/// The same for an act that costs little.
pub(super) const DONE: f32 = 0.4;
/// The same for one that orders where the patterns account for every word: they may do so and still be wrong.
const BORNE: f32 = 0.35;
/// The same for an act about nothing: there is nothing to ask back.
const EVEN: f32 = 0.3;
/// From which likelihood of the whole reading on a name that nothing bears is asked for where words were left unread.
const STRANGE: f32 = 0.25;
/// Below which likelihood, of being meant or half meant, an act is not even asked about.
const DROPPED: f32 = 0.3;
/// From which likelihood to the second voice an act about a name that nothing bears was heard: it knows few such names.
const BARELY: f32 = 0.003;

/// What answers a question of the engine's.
const ANSWERS: [&str; 2] = [AFFIRM, "deny"];
/// What lets the engine do what it asked about.
pub(super) const AFFIRM: &str = "affirm";
/// From which likelihood to the second voice on words that no pattern knows answer with yes.
const ANSWERED: f32 = 0.9;

/// What a clause makes of a costly act that it speaks against.
pub(super) fn against(clause: Clause) -> Option<Verdict> {
    match clause {
        Clause { denied: true, .. } => Some(Verdict::Drop),
        Clause { doubted: true, .. } | Clause { carries: false, .. } => Some(Verdict::Ask),
        _ => None,
    }
}

impl Embedded {
    /// The reading that can be trusted most, and of it what the words bear out.
    pub(super) fn gated(&self, context: &Context, chart: &Chart<'_>, readings: Vec<Candidate>, voice: &BTreeMap<String, f32>) -> Heard {
        let trust = self.trust(context);
        let judge = |of| {
            let evidence = Evidence::new(of, &readings, voice, chart);
            let trusted = trust.map_or(0.0, |t| t.of_reading(&evidence));
            (evidence, trusted)
        };
        let judged: Vec<(Evidence<'_>, f32)> = readings.iter().map(judge).collect();
        // Who passes over a name that could be several has not read what was said of it.
        let passed = |e: &Evidence<'_>| {
            let heard = &e.of.heard;
            let several = || e.other.into_iter().flat_map(|o| &o.heard.unsure).flat_map(|u| &u.candidates);
            let said = || heard.predicates.iter().flat_map(|a| &a.args);
            let takes = |name: &Name| said().any(|t| names(t, name));
            e.of.learned && heard.unsure.is_empty() && said().next().is_some() && several().next().is_some() && !several().any(takes)
        };
        let standing = |(e, trusted): &(Evidence<'_>, f32)| match e {
            e if passed(e) => 0.0,
            e if Self::is_sure(e.of) => trusted + AHEAD,
            _ => *trusted,
        };
        // Of two that stand alike the first is taken, that of the patterns.
        let Some((evidence, trusted)) = judged.iter().rev().max_by(|a, b| standing(a).total_cmp(&standing(b))) else { return Heard::default() };
        let mut heard = evidence.of.heard.clone();
        // Nobody is sure of nothing.
        if trust.is_some() && !heard.predicates.is_empty() {
            heard.confidence = f64::from(*trusted);
        }
        if self.without.contains(&Part::Gate) {
            return heard;
        }
        let before = heard.predicates.len();
        let agreed = !evidence.of.learned || self.agrees(&readings, voice, chart);
        let verdict = |act: &Atom, clause| if *act.name == *AFFIRM && !agreed { Verdict::Drop } else { self.verdict(act, clause, evidence, *trusted, context) };
        self.sift(&mut heard, verdict, context, chart);
        // "A taco, please": which of several is a better question than whether to suggest any.
        let tie = judged.first().map(|(e, _)| &e.of.heard).filter(|h| h.predicates.is_empty() && !h.unsure.is_empty());
        if let Some(tie) = tie.filter(|_| heard.predicates.is_empty() && !heard.asks.is_empty()) {
            return tie.clone();
        }
        if !heard.asks.is_empty() || heard.predicates.len() < before {
            heard.confidence /= 2.0;
        }
        if let Some((act, words)) = judged.first().and_then(|(e, _)| self.last_word(&e.of.heard, chart, context)) {
            heard.asks.retain(|a| *a != act);
            if !heard.predicates.contains(&act) {
                heard.predicates.push(act);
                heard.words.push(words);
            }
        }
        // "That's all, my feet are killing me": who says so in a clause of its own has said it, whatever the rest is about.
        if !heard.asks_back()
            && heard.predicates.iter().all(quiet)
            && !context.view.lines().is_empty()
            && let Some((act, words)) = judged.first().and_then(|(e, _)| self.own_clause(&e.of.heard, chart, context))
        {
            (heard.predicates, heard.words) = (vec![act], vec![words]);
        }
        if heard.predicates.iter().any(|a| *a.name == *IRRELEVANT) && self.is_gibberish(chart.tokens) {
            heard.predicates.clear();
            heard.words.clear();
        }
        heard
    }

    /// An act about nothing that the patterns read in all of the last words, in a sentence that they read whole: who says "that's it, bye"
    /// leaves, whatever was said before.
    fn last_word(&self, heard: &Heard, chart: &Chart<'_>, context: &Context) -> Option<(Atom, Vec<Range<usize>>)> {
        let (act, words) = heard.predicates.iter().zip(&heard.words).next_back().filter(|(act, _)| act.args.is_empty() && self.is_costly(act, context))?;
        let said = chart.tokens.iter().rposition(|t| t.punct().is_none())?;
        let part = chart.tokens.get(..=said)?.iter().rev().take_while(|t| t.punct().is_none());
        let from = part.clone().last()?.range.start;
        let own = |t: &Token| words.iter().any(|w| from <= w.start && w.start <= t.range.start && t.range.end <= w.end);
        let mut part = part.filter(|t| !self.model.fillers.contains(&t.id)).peekable();
        let closes = part.peek().is_some() && part.all(own);
        let clause = closes.then(|| self.clause(act, chart, words, context, heard))?;
        (!clause.uncovered && against(clause).is_none()).then(|| (act.clone(), words.clone()))
    }

    /// An act about nothing that costs little and answers nothing, and that the patterns read in all the words of a clause.
    fn own_clause(&self, heard: &Heard, chart: &Chart<'_>, context: &Context) -> Option<(Atom, Vec<Range<usize>>)> {
        let own = |words: &[Range<usize>], t: &Token| words.iter().any(|w| w.start <= t.range.start && t.range.end <= w.end);
        let whole = |words: &[Range<usize>]| {
            let mut clauses = chart.tokens.split(|t| t.punct().is_some());
            clauses.any(|clause| {
                let mut said = clause.iter().filter(|t| !self.model.fillers.contains(&t.id)).peekable();
                said.peek().is_some() && said.all(|t| own(words, t))
            })
        };
        let closes = |act: &Atom| act.args.is_empty() && !quiet(act) && !ANSWERS.contains(&&*act.name) && !self.is_costly(act, context);
        heard.predicates.iter().zip(&heard.words).find(|(act, words)| closes(act) && whole(words)).map(|(act, words)| (act.clone(), words.clone()))
    }

    /// Whether words that no pattern takes for a yes are one: who only hesitates, or says what means nothing, has agreed to nothing.
    fn agrees(&self, readings: &[Candidate], voice: &BTreeMap<String, f32>, chart: &Chart<'_>) -> bool {
        let says = |t: &Token| t.kind == Kind::Word && t.id != UNKNOWN && !self.model.fillers.contains(&t.id);
        let idle = readings.iter().any(|r| !r.learned && r.heard.predicates.is_empty() && r.heard.uncovered.is_empty());
        !idle && chart.tokens.iter().any(says) && voice.get(AFFIRM).is_none_or(|p| *p >= ANSWERED)
    }

    /// Whether it is a word that says something.
    pub(super) fn says(&self, t: &Token) -> bool {
        t.kind == Kind::Word && !self.model.fillers.contains(&t.id) && !self.model.phrase.has("small", t.id)
    }

    /// Whether most words that say something are known to nobody: whether they are beside the point cannot be told then.
    fn is_gibberish(&self, tokens: &[Token]) -> bool {
        let (said, strange) = tokens.iter().filter(|t| self.says(t)).fold((0, 0), |(n, s), t| (n + 1, s + usize::from(t.id == UNKNOWN)));
        strange * 2 > said
    }

    /// Keeps, asks back or drops each act.
    pub(super) fn sift(&self, heard: &mut Heard, verdict: impl Fn(&Atom, Clause) -> Verdict, context: &Context, chart: &Chart<'_>) {
        let all: Vec<Range<usize>> = vec![0..chart.tokens.last().map_or(0, |t| t.range.end)];
        let words = std::mem::take(&mut heard.words);
        let acts: Vec<(Atom, Vec<Range<usize>>)> =
            std::mem::take(&mut heard.predicates).into_iter().enumerate().map(|(i, a)| (a, words.get(i).unwrap_or(&all).clone())).collect();
        let judge = |(act, words): &(Atom, Vec<Range<usize>>)| match verdict(act, self.clause(act, chart, words, context, heard)) {
            Verdict::Do if self.is_far(chart.tokens, act) => Verdict::Ask,
            other => other,
        };
        let verdicts: Vec<Verdict> = acts.iter().map(judge).collect();
        let done = acts.iter().zip(&verdicts).filter(|((act, _), verdict)| **verdict == Verdict::Do && self.is_of_lines(act));
        let done: Vec<(Atom, Vec<Range<usize>>)> = done.map(|(act, _)| act.clone()).collect();
        // "Pintos and cheese and a water": who orders the one orders the other.
        let adds = |act: &Atom| self.model.lines.as_ref().is_some_and(|l| *l.config.add == *act.name);
        let listed = |act: &Atom, words: &[Range<usize>]| {
            adds(act) && !self.is_strange(act) && done.iter().any(|(other, of)| adds(other) && self.are_listed(chart.tokens, of, words))
        };
        let mut kept = vec![];
        for ((act, words), verdict) in acts.into_iter().zip(verdicts) {
            match verdict {
                Verdict::Do => kept.push((act, words)),
                // What one phrase says of things that are ordered is done whole: "the same again".
                Verdict::Ask | Verdict::Drop if self.is_of_lines(&act) && done.iter().any(|d| d.1 == words) || listed(&act, &words) => kept.push((act, words)),
                Verdict::Ask if !heard.asks.contains(&act) => heard.asks.push(act),
                Verdict::Ask | Verdict::Drop => {}
            }
        }
        // Where something is asked back, nothing else was not understood.
        if !heard.asks.is_empty() {
            kept.retain(|k| ![IRRELEVANT, "unclear"].contains(&&*k.0.name));
        }
        (heard.predicates, heard.words) = kept.into_iter().unzip();
    }

    /// Whether nothing but commas and joining words stands between two stretches.
    fn are_listed(&self, tokens: &[Token], one: &[Range<usize>], other: &[Range<usize>]) -> bool {
        let only_lists = |before: &[Range<usize>], after: &[Range<usize>]| {
            let (from, to) = (before.last().map_or(0, |w| w.end), after.first().map_or(0, |w| w.start));
            let mut between = tokens.iter().filter(|t| from <= t.range.start && t.range.end <= to);
            from <= to && between.all(|t| t.punct() == Some(',') || self.model.phrase.has("list", t.id))
        };
        only_lists(one, other) || only_lists(other, one)
    }

    /// `whole` is how likely all of the reading is meant, done or asked back.
    fn verdict(&self, act: &Atom, clause: Clause, evidence: &Evidence<'_>, whole: f32, context: &Context) -> Verdict {
        let costly = self.is_costly(act, context);
        if let Some(verdict) = against(clause).filter(|_| costly) {
            return verdict;
        }
        let Some(trust) = self.trust(context) else { return if costly && clause.uncovered { Verdict::Ask } else { Verdict::Do } };
        let (of_lines, strange) = (self.is_of_lines(act), self.is_strange(act));
        // "Does the fryer get shared?" orders nothing that nobody sells, and nothing is ordered for another time.
        if of_lines && (clause.elsewhen || clause.asks && strange) {
            return Verdict::Drop;
        }
        if clause.vague && (costly || of_lines) {
            return Verdict::Ask;
        }
        let (alone, asked) = trust.of_act(evidence, act, clause, strange);
        // There is nothing to ask back about an act without arguments.
        let nothing = act.args.is_empty() && !costly;
        let (likely, enough) = match () {
            () if costly => (f32::midpoint(alone, whole), COSTLY),
            () if nothing => (alone, EVEN),
            // What is part of a likely reading that accounts for every word is likely too.
            () if of_lines && Self::is_sure(evidence.of) => (alone.max(whole), BORNE),
            () if of_lines => (alone, DONE),
            () => (alone.max(whole), DONE),
        };
        // Of names that nothing bears little was learned, and the rules refuse them: it is enough if such an act was heard.
        let heard = &evidence.of.heard;
        let borne = || whole >= STRANGE || heard.uncovered.is_empty();
        // Where nothing is asked for, patterns that are sure are enough too: "nuts would kill me".
        let plain = || !costly && !of_lines && Self::is_sure(evidence.of);
        let said_so = || said(evidence.voice, act).is_none_or(|p| p >= BARELY) || plain();
        let refused = || borne() && said_so() && heard.predicates.iter().any(|a| self.is_strange(a));
        if likely >= enough || nothing && quiet(act) || refused() {
            Verdict::Do
        } else if likely + asked < DROPPED || nothing {
            Verdict::Drop
        } else if self.model.answered.contains(&act.name) {
            // What changes nothing is told sooner than asked about.
            Verdict::Do
        } else {
            Verdict::Ask
        }
    }

    /// Whether a mistake costs much. Who asks for things and has none yet loses nothing by what is about nothing: leaving, beginning again.
    pub(super) fn is_costly(&self, act: &Atom, context: &Context) -> bool {
        let nothing_there = act.args.is_empty() && context.view.lines().is_empty() && self.model.orders(&context.role);
        !nothing_there && self.model.ontology.is_costly(&context.role, act)
    }

    /// Whether it orders things or changes what was ordered.
    fn is_of_lines(&self, act: &Atom) -> bool {
        let of = |c: &super::data::Lines| [&c.add, &c.quantity, &c.remove, &c.change, &c.member].iter().any(|n| **n == *act.name);
        self.model.lines.as_ref().is_some_and(|l| of(&l.config))
    }

    /// Whether what it is about goes unnamed, and was told of last beside others of which it could be said as well.
    fn is_one_of_several(&self, act: &Atom, chart: &Chart<'_>, context: &Context) -> bool {
        let Some(Term::Str(item)) = act.args.first() else { return false };
        let named = chart.names.iter().flat_map(|e| &e.candidates).filter(|c| c.score > 0.5).any(|c| chart.name(c.name).as_ref() == Some(item));
        let told = |a: &Atom| match (a.args.iter().rev().find(|t| matches!(t, Term::Const(_))), a.args.last()) {
            (Some(Term::Const(what)), Some(Term::Str(name))) => Some((what.clone(), name.clone())),
            (_, Some(Term::Fun(what, args))) => match args.as_slice() {
                [Term::Str(name)] => Some((what.clone(), name.clone())),
                _ => None,
            },
            _ => None,
        };
        let Some((what, _)) = context.last_actions.iter().filter_map(told).find(|(_, name)| name == item).filter(|_| !named) else { return false };
        let others: Vec<Name> = context.last_actions.iter().filter_map(told).filter(|(w, name)| *w == what && name != item).map(|(_, name)| name).collect();
        let fact = self.model.lines.as_ref().and_then(|l| {
            l.attributes
                .values()
                .find(|a| a.means.iter().any(|m| matches!((m.args.get(1), act.args.get(1)), (Some(Slot::Term(a)), Some(b)) if a == b)))?
                .only_if
                .clone()
        });
        let part = |t: &Term, name: &Name| match t {
            Term::Str(p) => self.knowledge.relates(name, p),
            Term::Fun(_, parts) => parts.iter().any(|p| p.as_name().is_some_and(|p| self.knowledge.relates(name, p))),
            _ => true,
        };
        let can = |name: &Name| fact.as_ref().is_none_or(|f| self.knowledge.holds(f, name)) && act.args.iter().skip(1).all(|t| part(t, name));
        !others.is_empty() && (others.iter().any(can) || !can(item))
    }

    /// Whether the patterns account for every word.
    fn is_sure(of: &Candidate) -> bool {
        !of.learned && of.heard.confidence >= SURE && of.heard.uncovered.is_empty()
    }

    /// Whether the act is about a name that nothing bears.
    pub(super) fn is_strange(&self, act: &Atom) -> bool {
        act.args.iter().any(|t| matches!(t, Term::Str(name) if self.knowledge.names.find(name).is_none()))
    }

    /// Whether the speaker's own patterns have the word: it need not name anything.
    pub(super) fn is_common(&self, t: &Token, context: &Context) -> bool {
        self.model.roles.get(&context.role).is_some_and(|g| g.words.contains(&t.id))
    }

    /// Looks at the clauses that the words stand in.
    pub(super) fn clause(&self, act: &Atom, chart: &Chart<'_>, words: &[Range<usize>], context: &Context, heard: &Heard) -> Clause {
        let tokens = chart.tokens;
        let own = |t: &Token| words.iter().any(|w| w.start < t.range.end && t.range.start < w.end);
        let first_own = tokens.iter().position(own).unwrap_or(0);
        let from = tokens.get(..first_own).and_then(|b| b.iter().rposition(Token::ends_sentence)).map_or(0, |s| s + 1);
        let last = tokens.iter().rposition(own).unwrap_or(0);
        let has = |kind: &str, t: &Token| self.model.phrase.has(kind, t.id);
        // "The chalupa is 4.59 now, did I tell you that?": what is asked behind a comma is asked by itself.
        let is = |kind: &str, at: usize| tokens.get(at).is_some_and(|t| has(kind, t));
        let turns = |at: usize| tokens.get(at).is_some_and(|t| t.punct() == Some(',')) && is("verb", at + 1) && (is("subject", at + 2) || is("object", at + 2));
        let ends = |at: usize| tokens.get(at).is_some_and(Token::ends_sentence) || turns(at);
        let to = (last..tokens.len()).find(|at| ends(*at)).unwrap_or(tokens.len());
        let inside = || tokens.get(from..to).into_iter().flatten().filter(|t| t.kind == Kind::Word);
        let matters = |t: &&Token| !self.model.fillers.contains(&t.id);
        let mut opening = inside().filter(matters);
        let (first, second) = (opening.next(), opening.next());
        let request = first.is_some_and(|t| has("request", t)) && second.is_some_and(|t| has("asked_of", t));
        // "Have a nice day", "have got to run" ask nothing.
        let owns = first.is_some_and(|t| has("owns", t)) && second.is_some_and(|t| has("unasked", t));
        let opens = first.is_some_and(|t| has("question", t)) && !owns;
        let asks = tokens.get(to).is_some_and(|t| t.punct() == Some('?')) || opens;
        let uncovered = |t: &&Token| heard.uncovered.iter().any(|u| u.start < t.range.end && t.range.start < u.end);
        let named = |t: &Token| self.knowledge.names.knows(t.id) && !self.is_common(t, context);
        let carries = |t: &Token| !named(t) && !has("definite", t) && !has("indefinite", t) && !has("list", t);
        // A number says something: "86 the guac", "hot coffee 1.69".
        let number = tokens.get(from..to).into_iter().flatten().any(|t| matches!(t.kind, Kind::Number { .. }) && !self.knowledge.names.knows(t.id));
        // Who else is named tells what it is about: "Ada Brandt, the salbutamol".
        let about = |e: &NameEdge| e.candidates.iter().filter(|c| c.score > 0.5).filter_map(|c| chart.name(c.name)).any(|n| act.args.contains(&Term::Str(n)));
        // Of a denial beside the act's own words nobody knows what it denies: "drop it, we won't get it anymore".
        let parts = |t: &Token| matches!(t.punct(), Some(','));
        let part_from = tokens.get(from..first_own).and_then(|b| b.iter().rposition(parts)).map_or(from, |c| from + c + 1);
        let part_to = tokens.get(last..to).and_then(|b| b.iter().position(parts)).map_or(to, |c| last + c);
        let denies = |t: &Token| t.kind == Kind::Word && uncovered(&t) && has("denies", t);
        let denied = |part: Range<usize>| tokens.get(part).into_iter().flatten().any(denies);
        let own_name = |i: usize| chart.names.iter().any(|e| e.start <= i && i < e.end && about(e));
        let others = (from..to).any(|i| tokens.get(i).is_some_and(|t| t.kind == Kind::Word && matters(&t) && named(t)) && !own_name(i));
        // What holds until they come tomorrow holds now; "later, I'm done" is no time.
        let until = |i: usize| tokens.get(from..i).into_iter().flatten().any(|t| has("until", t));
        // "Out of steak, more comes tomorrow": a time told beside it, and accounted for.
        let aside = |i: usize| !(part_from..part_to).contains(&i) && tokens.get(i).is_some_and(|t| has("other_time", t) && !uncovered(&t));
        let half_meant = |i: usize| tokens.get(i).is_some_and(|t| t.kind == Kind::Word && has("half_meant", t)) && !until(i) && !aside(i);
        let hinted = || !act.args.is_empty() && (from..to).any(half_meant);
        // "We're out of lettuce. Just kidding", but not "no joke".
        let meant = |i: usize| i.checked_sub(1).is_some_and(|b| tokens.get(b).is_some_and(|t| has("negation", t)));
        let unmeant = || (0..tokens.len()).any(|i| tokens.get(i).is_some_and(|t| t.kind == Kind::Word && has("unmeant", t)) && !meant(i));
        // "Yesterday I had a pizza", but not "the same pizza as yesterday".
        let part = || tokens.get(part_from..part_to).into_iter().flatten();
        let passes = |i: usize| tokens.get(i).is_some_and(|t| has("other_before", t)) && tokens.get(i + 1).is_some_and(|t| has("time_unit", t));
        let other = |i: usize| {
            let meant_now = || i.checked_sub(1).and_then(|b| tokens.get(b)).is_some_and(|t| has("meant_for", t)) || until(i);
            tokens.get(i).is_some_and(|t| has("other_time", t)) && !meant_now()
        };
        let elsewhen = (part_from..part_to).any(|i| other(i) || passes(i));
        Clause {
            asks: first.is_some_and(|t| has("asks_fact", t)),
            elsewhen: elsewhen && !part().any(|t| has("same_now", t)),
            vague: part().any(|t| has("pronoun", t)) && !part().any(|t| has("plural_pronoun", t)) && self.is_one_of_several(act, chart, context),
            carries: others || !context.last_actions.is_empty() || inside().filter(matters).any(carries) || number,
            denied: denied(part_from..part_to),
            doubted: asks && !request || hinted() || denied(from..to) || unmeant(),
            uncovered: inside().any(|t| uncovered(&t)),
        }
    }
}
