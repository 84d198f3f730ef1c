//! What programs of agents ask of whoever listens: the questions of a turn are answered round by round until it can go on without, and the answers
//! become the proposals that the rules judge. Nothing here changes how a conversation stands.

mod model;
mod offline;

pub use model::ByModel;
pub use offline::Offline;

use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;

use super::{Account, Context, Heard, Understand};
use crate::conversation::Conversation;
use crate::ir::guard::Guard;
use crate::ir::script::StepKind;
use crate::ir::walk::{Question, proposed, question};
use crate::ir::{Agent, Body, Passage, Program};
use crate::term::{Atom, Term};
use crate::wait::block_on;

/// Questions of a turn; whoever asks more goes round in circles.
const MOST_QUESTIONS: usize = 200;

/// What is known where questions are answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Situation {
    /// What was just said.
    pub message: String,
    /// Whose conversation it is.
    pub conversation: Conversation,
    /// Until when an answer is waited for.
    pub until: Option<std::time::Instant>,
}

/// Somebody who answers questions, several at once. Each answer is a proposal and decides nothing; nothing is said where there is none.
pub trait Advise: Send + Sync {
    /// An answer to each question, if there is one.
    fn advise<'a>(&'a self, questions: &'a [Question], in_this: &'a Situation) -> BoxFuture<'a, Vec<Option<Value>>>;

    /// Who it is, for the record.
    fn by(&self) -> &'static str;

    /// What a conversation and its site have used of a model so far.
    fn account(&self, _of: &Conversation) -> Option<Account> {
        None
    }

    /// Told that a conversation ended.
    fn ended(&self, _of: &Conversation) {}
}

/// Asks the first, and the second where the first does not answer.
pub struct OneOrOther<A, B>(pub A, pub B);

impl<A: Advise, B: Advise> Advise for OneOrOther<A, B> {
    fn advise<'a>(&'a self, questions: &'a [Question], in_this: &'a Situation) -> BoxFuture<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            let first = self.0.advise(questions, in_this).await;
            if first.iter().all(Option::is_some) {
                return first;
            }
            first.into_iter().zip(self.1.advise(questions, in_this).await).map(|(one, other)| one.or(other)).collect()
        })
    }

    fn by(&self) -> &'static str {
        "hybrid"
    }

    fn account(&self, of: &Conversation) -> Option<Account> {
        self.0.account(of)
    }

    fn ended(&self, of: &Conversation) {
        self.0.ended(of);
    }
}

/// Reads what stands at an address, or nothing.
pub type Pages = Arc<dyn Fn(String) -> BoxFuture<'static, Vec<Passage>> + Send + Sync>;

/// The listener of a program of agents.
pub struct Adviser {
    program: Arc<Program>,
    advise: Arc<dyn Advise>,
    pages: Option<Pages>,
}

impl Adviser {
    /// A listener that has questions answered so.
    pub fn new(program: Arc<Program>, advise: Arc<dyn Advise>) -> Self {
        Self { program, advise, pages: None }
    }

    /// The same, which reads the addresses that an agent knows from when it is asked.
    pub fn reading(self, pages: Pages) -> Self {
        Self { pages: Some(pages), ..self }
    }

    /// A round with the pages that its questions need.
    async fn informed(&self, mut round: Vec<Question>) -> Vec<Question> {
        for q in round.iter_mut().filter(|q| q.ask == "answer") {
            if let (Some(pages), Some(Body::Know { addresses, .. })) = (&self.pages, self.program.agent(&q.by).map(|a| &a.body)) {
                q.pages = join_all(addresses.iter().cloned().map(&**pages)).await.concat();
            }
        }
        round
    }

    /// Answers to everything that a turn on these facts asks, as inputs that come after those that are there.
    async fn answers(&self, text: &str, mut facts: Vec<Atom>, context: &Context) -> Vec<Atom> {
        facts.push(Atom::new("sender", vec![Term::string(&context.conversation.session)]));
        let before = facts.iter().filter(|a| &*a.name == "in").count();
        let situation = Situation { message: text.to_owned(), conversation: context.conversation.clone(), until: context.until };
        let mut answers: Vec<Atom> = vec![];
        let mut ahead: Vec<(Question, Value)> = vec![];
        for _ in 0..MOST_QUESTIONS {
            let Some(asked) = question(&self.program, &facts) else { break };
            let kept = ahead.iter().position(|(q, _)| q.ask == asked.ask && q.by == asked.by && q.about.iter().any(|p| asked.about.contains(p)));
            let given: Vec<(Question, Value)> = if let Some(at) = kept {
                vec![ahead.remove(at)]
            } else {
                let round = self.informed(foreseen(&self.program, asked)).await;
                let said = self.advise.advise(&round, &situation).await;
                let mut all = round.into_iter().zip(said).map(|(q, v)| {
                    // What nobody answers counts as what is usual for its kind.
                    let v = v.unwrap_or_else(|| usual(&q.ask));
                    (q, v)
                });
                let first: Vec<_> = all.next().into_iter().collect();
                ahead.extend(all);
                first
            };
            for (q, give) in given {
                let atom = proposed(&q.ask, &q.by, &q.about, &give);
                let place = i32::try_from(before + answers.len() + 1).unwrap_or(i32::MAX);
                facts.push(Atom::new("in", vec![Term::Int(place), atom.to_term()]));
                answers.push(atom);
            }
        }
        answers
    }
}

/// What counts where nobody answers; what needs words is refused, and then it is as if nobody had been asked.
fn usual(ask: &str) -> Value {
    match ask {
        "route" => Value::from("none"),
        "extract" => Value::Object(serde_json::Map::new()),
        "intent" | "judge" => Value::from(false),
        "answer" => Value::from("No answer"),
        _ => Value::Null,
    }
}

/// A question, and those that will be asked of the same words if it goes on as it seems: one request answers them all.
fn foreseen(program: &Program, asked: Question) -> Vec<Question> {
    let mut round = vec![asked];
    let Some(first) = round.first().filter(|q| matches!(q.ask.as_str(), "extract" | "intent" | "judge")).cloned() else { return round };
    let Some(agent) = program.agent(&first.by) else { return round };
    for (ask, about) in conditions(agent) {
        if !round.iter().any(|q| q.ask == ask && q.about == about) {
            round.push(Question { ask: ask.to_owned(), about, ..first.clone() });
        }
    }
    round
}

/// The conditions of an agent's steps that whoever listens has to answer.
pub fn conditions(agent: &Agent) -> Vec<(&'static str, Vec<String>)> {
    fn of(guard: &Guard, out: &mut Vec<(&'static str, Vec<String>)>) {
        match guard {
            Guard::All(parts) | Guard::Any(parts) => parts.iter().for_each(|p| of(p, out)),
            Guard::Not(part) => of(part, out),
            Guard::Heard(phrases) => out.push(("intent", phrases.clone())),
            Guard::Words(text) => out.push(("judge", vec![text.clone()])),
            _ => {}
        }
    }
    let mut out = vec![];
    for guard in guards(agent) {
        of(guard, &mut out);
    }
    out
}

/// The guards of an agent's steps.
fn guards(agent: &Agent) -> impl Iterator<Item = &Guard> {
    agent.blocks().iter().flat_map(|b| &b.steps).flat_map(|s| if let StepKind::Choose(ways) = &s.kind { ways.as_slice() } else { &[] }).map(|w| &w.guard)
}

impl Adviser {
    /// What came, as a message or a silence, with the answers to what it makes the program ask.
    async fn heard(&self, text: &str, came: Atom, context: &Context) -> Heard {
        let facts = context.facts.iter().cloned().chain([Atom::new("in", vec![Term::Int(1), came.to_term()])]).collect();
        let answers = self.answers(text, facts, context).await;
        Heard { predicates: std::iter::once(came).chain(answers).collect(), confidence: 1.0, by: self.advise.by(), ..Heard::default() }
    }
}

impl Understand for Adviser {
    fn understand(&self, text: &str, context: &Context) -> Heard {
        block_on(self.hearing(text, context))
    }

    fn hearing<'a>(&'a self, text: &'a str, context: &'a Context) -> BoxFuture<'a, Heard> {
        Box::pin(self.heard(text, Atom::new("message", vec![Term::string(text)]), context))
    }

    fn silence<'a>(&'a self, seconds: i32, context: &'a Context) -> BoxFuture<'a, Heard> {
        Box::pin(self.heard("", Atom::new("silent", vec![Term::Int(seconds)]), context))
    }

    fn settling<'a>(&'a self, text: &'a str, context: &'a Context) -> BoxFuture<'a, Vec<Atom>> {
        Box::pin(self.answers(text, context.facts.clone(), context))
    }

    fn account(&self, of: &Conversation) -> Option<Account> {
        self.advise.account(of)
    }

    fn ended(&self, of: &Conversation) {
        self.advise.ended(of);
    }
}
