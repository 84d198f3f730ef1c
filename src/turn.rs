//! The turn on one page, data in and data out: what was heard and what holds become a decision, with its record and its changes.
//!
//! A turn is one or more rounds. A round admits what was heard, or takes in what calls gave, and decides; the [`host`] fetches what a round is
//! decided on, commits what comes of it, makes its calls and goes on with the next round until nothing is left to do but wait; then it says it.

pub mod answers;
pub mod audit;
pub mod bases;
pub mod calls;
pub mod error;
pub mod holds;
pub mod host;
pub mod models;
pub mod options;
pub mod proofs;
pub mod record;
pub mod replay;
pub mod shares;
#[cfg(test)]
mod tests;
pub mod version;
pub mod what_if;

use std::collections::BTreeSet;

use crate::conversation::Conversation;
use crate::domain::Domain;
use crate::facts::change::{canonical, effects_to_changes};
use crate::facts::{Change, Fact, Op, Opened, Snapshot};
use crate::ontology::{ActionForm, Admission, Arrived, Ontology, Refused, Scope};
use crate::reason::{self, Base, Budget, Outcome, Reasoner};
use crate::render::{Render, Say, Tone};
use crate::term::{Atom, Term};
use crate::text::shown;
use crate::understand::Heard;

use calls::{Came, Intent};
pub use error::TurnError;
pub use host::{Decided, Engine, Gate};
pub use options::{Clock, Options, TurnBudget};
pub use record::{Round, TurnRecord, Why};

/// Longest utterance that is listened to, in bytes; a longer one is answered politely and changes nothing.
pub const MAX_UTTERANCE: usize = 4000;

/// What a speaker said: words, or predicates from somebody who translated already.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said<'a> {
    /// Words.
    Text(&'a str),
    /// Predicates as texts; they are read here, and validated like everybody's.
    Predicates(&'a [String]),
    /// Nobody has spoken for so many seconds.
    Silence(i32),
    /// Predicates, and the words that they stand for, if there were any.
    Atoms(Option<&'a str>, &'a [Atom]),
}

/// A turn under way: what was heard at its beginning, the rounds that are committed, and what the calls of the last one gave.
#[derive(Clone, Debug, Default)]
pub struct Going {
    /// The words, if there were any.
    pub said: Option<String>,
    /// What they mean; a model is asked once a turn, however often it is decided.
    pub heard: Heard,
    /// What arrived as predicates.
    pub arrived: Vec<Arrived>,
    /// The rounds so far.
    pub rounds: Vec<Round>,
    /// What the next round takes in.
    pub came: Vec<Came>,
    /// What the listener says of conditions in free words, now that these calls came back.
    pub settled: Vec<Atom>,
    /// What the speaker had said last that was of something.
    pub before: Vec<Atom>,
}

impl Going {
    /// A translator elsewhere may half hear an act, too: `doubt(Act)` among its predicates is asked back.
    fn doubting(mut self) -> Self {
        let doubted = |a: &Arrived| match a.atom() {
            Some(Atom { name, args }) if &**name == "doubt" => args.first().filter(|_| args.len() == 1).and_then(Term::to_atom),
            _ => None,
        };
        self.heard.asks.extend(self.arrived.iter().filter_map(doubted));
        self.arrived.retain(|a| doubted(a).is_none());
        self
    }

    /// A yes to the question whether acts were meant stands for the acts themselves, which are then judged like any others.
    fn answering(mut self, opened: &Opened) -> Self {
        let asked = |f: &Fact| match (&*f.atom.name, f.atom.args.as_slice()) {
            ("sure_of", [_, act]) => act.to_atom().map(Arrived::from),
            _ => None,
        };
        let acts: Vec<Arrived> = opened.facts.iter().filter_map(asked).collect();
        let yes = |a: &Arrived| a.atom().is_some_and(|a| &*a.name == "affirm" && a.args.is_empty());
        if let Some(at) = self.arrived.iter().position(yes).filter(|_| !acts.is_empty()) {
            self.arrived.splice(at..=at, acts);
        }
        self
    }
}

/// Everything that one round is decided on.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The vocabulary, the rules and the templates.
    pub domain: &'a Domain,
    /// Who speaks.
    pub role: &'a str,
    /// What holds.
    pub snapshot: &'a Snapshot,
    /// What follows from the site's facts alone.
    pub base: &'a Base,
    /// What the role is shown of the next kb version, as facts.
    pub collected: &'a [Atom],
    /// What was said, and what happened since in this turn.
    pub going: &'a Going,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

/// What a round comes to; nothing of it has happened yet.
#[derive(Debug)]
pub struct Taken {
    /// Everything derived.
    pub outcome: Outcome,
    /// The facts of session and turn that it was derived from.
    pub facts: Vec<Atom>,
    /// Its actions.
    pub acts: Vec<Act>,
    /// What it changes.
    pub changes: Vec<Change>,
    /// What it wants called.
    pub calls: Vec<Intent>,
    /// The actions of all rounds of the turn, with what they answer.
    pub says: Vec<Say>,
    /// How they are to be said.
    pub tone: Tone,
    /// The turn's record up to here.
    pub record: TurnRecord,
}

/// One round.
pub fn round(given: &Given<'_>, how: Reasoner, budget: &Budget) -> Result<Taken, TurnError> {
    let Given { domain, role, snapshot, base, going, .. } = *given;
    let admission = domain.ontology.admit(role, &going.arrived);
    let (came, held) = taken_in(snapshot, going);
    let facts = facts(given, &admission, held);
    let outcome = tracing::debug_span!("decide").in_scope(|| reason::decide(base, &facts, how, budget))?;
    let mut decision = Decision::read(&outcome);
    let calls = calls::intents(outcome.shown(), &domain.ontology, role)?;
    let name = snapshot.opened.turn(given.at).name();
    let changes = changes(given, &decision, came, calls.iter().map(|c| c.calling(&name)))?;
    let said = with_reasons(&decision.acts, &outcome, &domain.ontology);
    let acts = std::mem::replace(&mut decision.acts, said);
    let (record, says, tone) = record(given, &admission, decision, &calls, &changes);
    Ok(Taken { facts, acts, changes, calls, says, tone, record, outcome })
}

/// The session's facts once the results that the round takes in are among them, and the changes that this makes.
fn taken_in(snapshot: &Snapshot, going: &Going) -> (Vec<Change>, Vec<Atom>) {
    let session: Vec<&Atom> = snapshot.opened.facts.iter().map(|f| &f.atom).collect();
    let changes = canonical(&calls::changes(&going.came, &session));
    let gone = |a: &Atom| changes.iter().any(|c| c.op == Op::Del && c.fact == *a);
    let come = changes.iter().filter(|c| c.op == Op::Add && !session.contains(&&c.fact)).map(|c| c.fact.clone());
    let held = session.iter().filter(|a| !gone(a)).map(|a| (*a).clone()).chain(come).collect();
    (changes, held)
}

/// The facts of session and turn. What was said counts in the first round; after it the rules see it as `heard`, so that nothing is applied twice.
fn facts(given: &Given<'_>, admission: &Admission, held: Vec<Atom>) -> Vec<Atom> {
    let Given { role, collected, going, .. } = *given;
    let mut facts = held;
    facts.push(Atom::new("role", vec![Term::constant(role)]));
    facts.extend(collected.iter().cloned());
    facts.extend(inputs_as_facts(going, admission));
    if going.rounds.is_empty() {
        facts.extend(admission.refused.iter().map(refused_fact));
        facts.extend(doubts(&going.heard));
        facts.extend(half_heard(given));
    }
    facts.extend(crate::ir::settle(given.domain.program.as_deref(), &given.domain.guards, &facts, &beside(&given.snapshot.opened, going)));
    facts.sort();
    facts.dedup();
    facts
}

/// What was taken in as the rules see it: `in` in this round, `heard` in those before.
fn inputs_as_facts(going: &Going, admission: &Admission) -> Vec<Atom> {
    let named = |(n, round): (usize, Vec<(i32, Atom)>)| {
        let name = if n == going.rounds.len() { "in" } else { "heard" };
        round.into_iter().map(move |(at, atom)| Atom::new(name, vec![Term::Int(at), atom.to_term()]))
    };
    inputs_of_rounds(going, admission).into_iter().enumerate().flat_map(named).collect()
}

/// What a walk is told beside the facts: whose conversation it is, and what calls gave, whole.
fn beside(opened: &Opened, going: &Going) -> Vec<Atom> {
    let came = (1..).zip(&going.came).map(|(k, came)| Atom::new("came", vec![Term::Int(k), Term::string(&came.whole())]));
    came.chain([Atom::new("sender", vec![Term::string(&opened.key.session)])]).collect()
}

/// What each round takes in, the one to come included: first what was said, then what calls gave.
fn inputs_of_rounds(going: &Going, admission: &Admission) -> Vec<Vec<(i32, Atom)>> {
    let results = |came: &[Came], settled: &[Atom]| (1..).zip(came.iter().map(Came::input).chain(settled.iter().cloned())).collect::<Vec<_>>();
    let mut inputs = vec![admission.admitted.clone()];
    inputs.extend(going.rounds.iter().skip(1).map(|r| results(&r.came, &r.settled)));
    if !going.rounds.is_empty() {
        inputs.push(results(&going.came, &going.settled));
    }
    inputs
}

/// What the translator is unsure of, as the rules see it.
fn doubts(heard: &Heard) -> Vec<Atom> {
    let mut facts = vec![];
    for (n, unsure) in heard.unsure.iter().enumerate() {
        for (rank, name) in unsure.candidates.iter().take(5).enumerate() {
            facts.push(Atom::new("unsure", vec![Term::number(n + 1), Term::number(rank + 1), Term::Str(name.clone())]));
        }
    }
    for (n, words) in heard.unheard.iter().enumerate() {
        facts.push(Atom::new("unheard", vec![Term::number(n + 1), Term::string(&shown(words, "$"))]));
    }
    for (n, near) in heard.nearest.iter().enumerate() {
        for (rank, name) in near.candidates.iter().enumerate() {
            facts.push(Atom::new("similar", vec![Term::number(n + 1), Term::number(rank + 1), Term::Str(name.clone())]));
        }
    }
    facts
}

/// The acts that are to be asked back, where the role may say them; their places go on from those of what was heard for sure.
fn half_heard(given: &Given<'_>) -> Vec<Atom> {
    let asks: Vec<Arrived> = given.going.heard.asks.iter().cloned().map(Arrived::from).collect();
    let before = i32::try_from(given.going.arrived.len()).unwrap_or(i32::MAX);
    let admitted = given.domain.ontology.admit(given.role, &asks).admitted;
    admitted.iter().map(|(at, act)| Atom::new("doubt", vec![Term::Int(before.saturating_add(*at)), act.to_term()])).collect()
}

/// What the round changes: its effects, checked against the role's rights, the results it takes in, and the calls it makes. An effect wins over
/// a result, so that rules may drop what they have no use for.
fn changes(given: &Given<'_>, decision: &Decision, came: Vec<Change>, calling: impl Iterator<Item = Atom>) -> Result<Vec<Change>, TurnError> {
    let (mut changes, denied) = effects_to_changes(&decision.effects, &given.domain.ontology, given.role);
    if let Some(d) = denied.first() {
        return Err(TurnError::Denied(d.to_string()));
    }
    let own: Vec<Atom> = changes.iter().map(|c| c.fact.clone()).collect();
    changes.extend(came.into_iter().filter(|c| !own.contains(&c.fact)));
    changes.extend(calling.map(|fact| Change::add(Scope::Session, fact)));
    Ok(canonical(&changes))
}

/// The record of the turn up to this round, and what is said if it is the last one: the actions of all rounds by phase, each once.
fn record(given: &Given<'_>, admission: &Admission, decision: Decision, calls: &[Intent], changes: &[Change]) -> (TurnRecord, Vec<Say>, Tone) {
    let Given { domain, role, snapshot, going, at, .. } = *given;
    let (opened, heard) = (&snapshot.opened, &going.heard);
    let said = says_of_rounds(going, admission, &decision.acts);
    let (told, actions) = said.iter().map(|(act, _)| act.action.clone()).partition(|a| domain.ontology.is_told(a));
    let says: Vec<Say> = said.into_iter().map(|(act, input)| Say { action: act.action, input }).collect();
    let began = going.rounds.first().map_or(opened.turn + 1, |r| r.turn);
    let tone = Tone { role: role.to_owned(), turn: began, first: began == 1, conversation: conversation(opened), until: None };
    let effects = changes.to_vec();
    let predicates: Vec<Atom> = admission.admitted.iter().map(|(_, a)| a.clone()).collect();
    // Small talk leaves what is spoken of as it was, and so does who takes back what was said of it: "undo that. Make it 7.99".
    let undone = || predicates.iter().any(|p| &*p.name == "undo");
    let idle = predicates.iter().all(|p| p.args.is_empty()) && (effects.iter().all(|c| &*c.fact.name == SAID_LAST) || undone());
    let still = if idle { going.before.clone() } else { vec![] };
    let before = going.rounds.iter().flat_map(|r| r.effects.iter().cloned());
    let record = TurnRecord {
        site: opened.key.site.to_string(),
        session: opened.key.session.to_string(),
        epoch: opened.epoch,
        turn: opened.turn + 1,
        role: role.to_owned(),
        at,
        said: going.said.clone(),
        heard_by: heard.by.to_owned(),
        confidence: heard.confidence,
        arrived: going.arrived.clone(),
        unsure: heard.unsure.iter().map(record::UnsureText::from).collect(),
        nearest: heard.nearest.iter().map(record::UnsureText::from).collect(),
        unheard: heard.unheard.clone(),
        asks: heard.asks.clone(),
        predicates,
        still,
        refused: admission.refused.iter().map(record::RefusedText::from).collect(),
        actions,
        told,
        effects: before.chain(effects.iter().cloned()).collect(),
        ended: decision.ended.clone().or_else(|| going.rounds.iter().rev().find_map(|r| r.ended.clone())),
        text: if calls.is_empty() { tracing::debug_span!("template").in_scope(|| domain.templates.render(&says, &tone)) } else { String::new() },
        rounds: rounds(given, &decision, calls, effects),
        view: decision.view,
        ..TurnRecord::default()
    };
    (record, says, tone)
}

/// The rounds with this one; a turn that calls nothing has none to tell apart.
fn rounds(given: &Given<'_>, decision: &Decision, calls: &[Intent], effects: Vec<Change>) -> Vec<Round> {
    if given.going.rounds.is_empty() && calls.is_empty() {
        return vec![];
    }
    let now = Round {
        turn: given.snapshot.opened.turn + 1,
        at: given.at,
        came: given.going.came.clone(),
        settled: given.going.settled.clone(),
        acts: decision.acts.iter().map(Act::shown).collect(),
        effects,
        ended: decision.ended.clone(),
        calls: calls.to_vec(),
        failed: None,
    };
    given.going.rounds.iter().cloned().chain([now]).collect()
}

/// What is said: the actions of all rounds by phase, each once, with the inputs that they answer.
fn says_of_rounds(going: &Going, admission: &Admission, acts: &[Act]) -> Vec<(Act, Option<Atom>)> {
    let mut said: Vec<(Act, Option<Atom>)> = vec![];
    let earlier = going.rounds.iter().map(|r| r.acts.iter().filter_map(Act::read).collect::<Vec<_>>());
    for (acts, inputs) in earlier.chain([acts.to_vec()]).zip(inputs_of_rounds(going, admission)) {
        for act in acts {
            if going.rounds.is_empty() || said.iter().all(|(before, _)| *before != act) {
                let input = input_of(&act, &inputs);
                said.push((act, input));
            }
        }
    }
    said.sort_by_key(|(act, _)| act.place);
    said
}

/// Whose conversation a session is.
fn conversation(opened: &Opened) -> Conversation {
    Conversation { site: opened.key.site.to_string(), session: opened.key.session.to_string() }
}

/// A predicate of the role's own with arguments that fit no form is shown to the rules, so that they can refuse it with
/// its reason; of everything else they see the code only.
fn refused_fact(r: &Refused) -> Atom {
    let own = matches!(r.code, "wrong_argument" | "number_out_of_bounds");
    match r.for_rules() {
        Some(atom) if own => Atom::new("faulty", vec![Term::Int(r.at), atom.to_term()]),
        _ => Atom::new("refused", vec![Term::Int(r.at), Term::constant(r.code)]),
    }
}

/// An action with the input that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// The phase and the position in it.
    pub place: (i32, i32),
    /// The action.
    pub action: Atom,
}

impl Act {
    /// The atom that the rules show for it.
    pub fn shown(&self) -> Atom {
        Atom::new("act", vec![Term::Int(self.place.0), Term::Int(self.place.1), self.action.to_term()])
    }

    /// The action that a shown atom stands for.
    fn read(shown: &Atom) -> Option<Self> {
        match (&*shown.name, shown.args.as_slice()) {
            ("act", [Term::Int(phase), Term::Int(k), action]) => Some(Self { place: (*phase, *k), action: action.to_atom()? }),
            _ => None,
        }
    }
}

/// A decision as the turn uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Decision {
    acts: Vec<Act>,
    effects: Vec<Atom>,
    ended: Option<String>,
    view: Vec<Atom>,
}

impl Decision {
    /// Reads the shown atoms, which come sorted: actions by phase and position.
    fn read(outcome: &Outcome) -> Self {
        let mut decision = Self::default();
        for atom in outcome.shown() {
            match (&*atom.name, atom.args.as_slice()) {
                ("act", _) => decision.acts.extend(Act::read(atom)),
                ("effect", [Term::Const(op), _, status]) if &**op == "end" => decision.ended = Some(status.to_string()),
                ("effect", _) => decision.effects.push(atom.clone()),
                ("view", _) => decision.view.push(atom.clone()),
                _ => {}
            }
        }
        decision
    }
}

/// The actions, each with what the ontology wants cited of its proof.
fn with_reasons(acts: &[Act], outcome: &Outcome, ontology: &Ontology) -> Vec<Act> {
    let cited: Vec<&ActionForm> = ontology.actions.iter().filter(|a| a.cited).collect();
    if cited.is_empty() {
        return acts.to_vec();
    }
    let reasons = |act: &Act| {
        let mut found = BTreeSet::new();
        if let Some(proof) = outcome.why(&act.shown()) {
            proof.walk(&mut |p| {
                if cited.iter().any(|c| c.name == p.atom.name && c.args.len() == p.atom.args.len()) {
                    found.insert(p.atom.clone());
                }
            });
        }
        found.into_iter().map(|action| Act { place: act.place, action }).collect::<Vec<_>>()
    };
    acts.iter().flat_map(|act| [vec![act.clone()], reasons(act)].concat()).collect()
}

/// What `core/turn.lp` keeps of every reply, for who asks to hear it again.
const SAID_LAST: &str = "said_last";
/// The reply phase stands at the position of the input it answers.
const REPLIES: i32 = 2;

fn input_of(act: &Act, inputs: &[(i32, Atom)]) -> Option<Atom> {
    (act.place.0 == REPLIES).then(|| inputs.iter().find(|(at, _)| *at == act.place.1).map(|(_, a)| a.clone())).flatten()
}

/// Actions as they are said, each with the input that it answers.
fn says(acts: &[Act], inputs: &[(i32, Atom)]) -> Vec<Say> {
    acts.iter().map(|a| Say { action: a.action.clone(), input: input_of(a, inputs) }).collect()
}
