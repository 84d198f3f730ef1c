//! Answers without a model: who is meant, what is asked for and what was said are found by the words that messages share with what authors wrote.

mod near;
mod values;

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{Advise, Situation, conditions};
use crate::ir::walk::Question;
use crate::ir::{Agent, Body, Passage, Program};
use crate::text::{name_words, normal, word_at};
use crate::understand::flow::cues::Signals;
use crate::understand::question;
use near::{WORDS, claimed, share, telling, weight};
use values::{data, question_for};

/// A member is chosen if it shares at least this of what the words tell.
const ROUTES: f64 = 0.22;
/// Another one is as near if it has at least this share of the best.
const TIE: f64 = 0.92;
/// An answer is given to a question that is at least so near.
const ANSWERS: f64 = 0.42;
/// A passage tells something about words of which it has at least this share.
const TELLS: f64 = 0.5;
/// A phrase is claimed if the words have at least this share of it.
const CLAIMS: f64 = 0.6;
/// Teams within teams that are looked into.
const MOST_DEPTH: usize = 3;
/// Passages that a model is shown.
const SHOWN: usize = 5;
/// What who has no model cannot do.
const NEEDS_MODEL: &str = "needs a language model";

/// The passages nearest to a question's last words.
pub(super) fn nearest(passages: &[Passage], q: &Question) -> Vec<Value> {
    let said = telling(q.lines.last().map_or("", String::as_str));
    let mut all: Vec<(f64, &Passage)> =
        passages.iter().chain(&q.pages).map(|p| (share(said.intersection(&telling(&p.text)).count(), said.len()), p)).filter(|(s, _)| *s > 0.0).collect();
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    all.into_iter().take(SHOWN).map(|(_, p)| json!({ "text": p.text, "from": p.from })).collect()
}

/// Whoever answers without a model.
pub struct Offline {
    program: Arc<Program>,
    /// What each agent is about, by words and their weight.
    about: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Offline {
    /// Learns what a program's agents are about.
    pub fn new(program: Arc<Program>) -> Self {
        let about = program.agents.iter().map(|a| (a.name.clone(), bag(&program, a, MOST_DEPTH))).collect();
        Self { program, about }
    }

    fn route(&self, q: &Question, text: &str) -> Value {
        if self.is_answered(q) && ["and", "also"].iter().all(|w| word_at(&normal(text), w).is_none()) {
            return json!("none");
        }
        let said = telling(text);
        let members: Vec<(&String, &BTreeMap<String, f64>)> = q.may.iter().filter_map(|m| Some((m, self.about.get(m)?))).collect();
        // A word that few of them have tells more.
        let tells = |w: &String| weight(members.iter().filter(|(_, b)| b.contains_key(w)).count(), members.len());
        let all: f64 = said.iter().map(tells).sum();
        // Who knows is rather asked, and who does something is rather told.
        let asks = WORDS.asks.is_match(&normal(text));
        let suits = |m: &str| match self.program.agent(m).map(|a| &a.body) {
            Some(Body::Know { .. }) if asks => 1.15,
            Some(Body::Know { .. }) => 0.85,
            _ => 1.0,
        };
        let shared = |bag: &BTreeMap<String, f64>| said.iter().filter_map(|w| Some(bag.get(w)? * tells(w))).sum::<f64>() / all.max(0.1);
        let mut found: Vec<(f64, &String)> = members.iter().map(|(m, bag)| (shared(bag) * suits(m), *m)).collect();
        found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let signals = Signals::of(text);
        let mut by_the_letter = members.iter().filter_map(|(m, _)| self.program.agent(m)).filter(|a| says(&self.program, a, text, MOST_DEPTH));
        if let (Some(one), None) = (by_the_letter.next(), by_the_letter.next()) {
            return json!(one.name);
        }
        match found.as_slice() {
            _ if (signals.has("bye") || signals.has("done")) && q.may.iter().any(|m| m == "exit") => json!("exit"),
            [(best, one), (next, other), ..] if *best >= ROUTES && *next >= TIE * best => {
                json!({ "clarify": format!("Do you mean {one} or {other}?") })
            }
            [(best, one), ..] if *best >= ROUTES => json!(one),
            _ => json!("none"),
        }
    }

    /// Whether somebody answered these words already.
    fn is_answered(&self, q: &Question) -> bool {
        let Some(Body::Team { members, .. }) = self.program.agent(&q.by).map(|a| &a.body) else { return false };
        members.iter().any(|m| !q.may.contains(&m.agent)) && q.lines.last().is_some_and(|line| line.starts_with("bot: "))
    }

    fn extract(&self, q: &Question, text: &str) -> Value {
        let Some(agent) = self.program.agent(&q.by) else { return json!({}) };
        let data = data(&self.program, agent, q, text);
        let leaves = data.is_empty() && WORDS.leaves.is_match(&normal(text));
        match (leaves, data.is_empty()) {
            (true, _) => json!({ "status": "quit" }),
            (_, true) => json!({}),
            _ => json!({ "data": data }),
        }
    }

    fn answer(&self, q: &Question, text: &str) -> Value {
        let Some(Body::Know { questions, passages, .. }) = self.program.agent(&q.by).map(|a| &a.body) else { return json!("No answer") };
        if let Some((_, a)) = questions.iter().find(|(q, _)| same(q, text)) {
            return json!(a);
        }
        let said = telling(text);
        if let Some((_, (_, a))) = near::nearest(&said, questions, |(q, _)| q).filter(|(s, _)| *s >= ANSWERS) {
            return json!(a);
        }
        let told = |p: &Passage| share(said.intersection(&telling(&p.text)).count(), said.len());
        let best = passages.iter().chain(&q.pages).map(|p| (told(p), p)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        best.filter(|(s, _)| *s >= TELLS && !said.is_empty()).map_or_else(|| json!("No answer"), |(_, p)| json!(p.text))
    }

    /// A model's agent asks for its arguments one by one; only its prompt could go on from there.
    fn reply(&self, q: &Question, text: &str) -> Value {
        let Some(agent) = self.program.agent(&q.by) else { return Value::Null };
        let data = data(&self.program, agent, q, text);
        let open = agent.args.iter().find(|a| !data.contains_key(&a.name) && q.args.get(&a.name).is_none_or(Value::is_null));
        let uses = matches!(&agent.body, Body::Talk { uses, .. } if !uses.is_empty());
        match open {
            _ if data.is_empty() && WORDS.leaves.is_match(&normal(text)) => json!({ "status": "quit" }),
            _ if agent.args.is_empty() => json!({ "error": NEEDS_MODEL }),
            Some(arg) => json!({ "bot": question_for(arg), "data": data, "status": "running" }),
            None if uses => json!({ "error": NEEDS_MODEL }),
            None => json!({ "data": data, "status": "complete" }),
        }
    }
}

/// Whether two texts are one but for case, blanks and what ends them.
fn same(one: &str, other: &str) -> bool {
    let plain = |t: &str| normal(t).trim_end_matches(['.', '!', '?']).trim_end().to_owned();
    plain(one) == plain(other)
}

/// Whether an agent's author wrote this very text: its name, a question, or what the user may claim; or that of one whom it contains.
fn says(program: &Program, agent: &Agent, text: &str, depth: usize) -> bool {
    let inside = match &agent.body {
        Body::Know { questions, .. } => questions.iter().any(|(q, _)| same(q, text)),
        Body::Team { members, .. } if depth > 0 => members.iter().filter_map(|m| program.agent(&m.agent)).any(|a| says(program, a, text, depth - 1)),
        _ => conditions(agent).iter().any(|(ask, about)| *ask == "intent" && about.iter().any(|p| same(p, text))),
    };
    inside || same(&name_words(&agent.name).join(" "), text)
}

/// What an agent is about: words of what its author wrote of it, and of those whom it contains.
fn bag(program: &Program, agent: &Agent, depth: usize) -> BTreeMap<String, f64> {
    let mut out: BTreeMap<String, f64> = BTreeMap::new();
    let mut add = |text: &str, weight: f64| {
        for w in telling(text) {
            let known = out.entry(w).or_default();
            *known = known.max(weight);
        }
    };
    add(&name_words(&agent.name).join(" "), 1.25);
    add(&agent.about, 1.0);
    for (ask, about) in conditions(agent) {
        about.iter().for_each(|a| add(a, if ask == "intent" { 0.9 } else { 0.5 }));
    }
    for arg in &agent.args {
        add(&name_words(&arg.name).join(" "), 0.4);
        add(&arg.about, 0.4);
    }
    match &agent.body {
        Body::Talk { prompt, .. } => add(prompt, 0.5),
        Body::Know { questions, passages, .. } => {
            questions.iter().for_each(|(q, _)| add(q, 1.0));
            passages.iter().for_each(|p| add(&p.text, 0.3));
        }
        Body::Team { prompt, members } => {
            add(prompt, 0.4);
            for member in members.iter().filter(|_| depth > 0).filter_map(|m| program.agent(&m.agent)) {
                for (w, weight) in bag(program, member, depth - 1) {
                    let known = out.entry(w).or_default();
                    *known = known.max(weight);
                }
            }
        }
        Body::Script(_) | Body::Rules(_) | Body::Graph(_) => {}
    }
    out
}

impl Offline {
    fn answers(&self, questions: &[Question], in_this: &Situation) -> Vec<Option<Value>> {
        let text = in_this.message.as_str();
        let opened = text.trim() == "/init";
        // Of several phrases the words say the nearest; a bare yes or no, which may be asked ahead, is near to many.
        let tells = |q: &Question| q.ask == "intent" && q.about.iter().any(|p| telling(p).len() > 1);
        let claims: Vec<f64> = questions.iter().map(|q| if q.ask == "intent" { claimed(&q.about, text) } else { 0.0 }).collect();
        let best = questions.iter().zip(&claims).filter(|(q, _)| tells(q)).map(|(_, c)| *c).fold(CLAIMS, f64::max);
        let of = |(q, claim): (&Question, &f64)| match q.ask.as_str() {
            "route" => Some(self.route(q, text)),
            "extract" => Some(self.extract(q, text)),
            "intent" => Some(json!(*claim >= best)),
            "judge" => {
                let known = q.args.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join("\n");
                let condition = q.about.first().cloned().unwrap_or_default();
                Some(json!(question::similarity(&question::Question { condition, said: text.to_owned(), known, until: None }) > question::THRESHOLD))
            }
            "answer" => Some(self.answer(q, text)),
            "reply" => Some(self.reply(q, if opened { "" } else { text })),
            _ => None,
        };
        questions.iter().zip(&claims).map(of).collect()
    }
}

impl Advise for Offline {
    fn advise<'a>(&'a self, questions: &'a [Question], in_this: &'a Situation) -> BoxFuture<'a, Vec<Option<Value>>> {
        Box::pin(ready(self.answers(questions, in_this)))
    }

    fn by(&self) -> &'static str {
        "embedded"
    }
}
