//! Answers without a model: who is meant, what is asked for and what was said are found by the words that messages share with what authors wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::{Advise, Situation, conditions, guards};
use crate::ir::guard::{Compare, Guard};
use crate::ir::value::{Given, Value as Written};
use crate::ir::walk::Question;
use crate::ir::{Agent, Arg, Body, Passage, Program};
use crate::text::{name_words, normal, stem, word_at, words};
use crate::understand::flow::cues::Signals;
use crate::understand::flow::hearing::HEARING;
use crate::understand::flow::values;
use crate::understand::question;

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
/// Passages that a model is shown.
const SHOWN: usize = 5;
/// What who has no model cannot do.
const NEEDS_MODEL: &str = "needs a language model";

/// Who speaks to whom: tells nothing of what it is about.
const PERSONS: [&str; 8] = ["i", "me", "my", "we", "our", "you", "your", "please"];

/// The words that tell something, by their stems.
fn telling(text: &str) -> BTreeSet<String> {
    let lists = &HEARING.words;
    let tells = |w: &String| !PERSONS.contains(&w.as_str()) && !lists.empty.has(w) && !lists.greeting.has(w) && !lists.negations.has(w);
    words(text).into_iter().filter(tells).map(|w| stem(w.trim_end_matches("'s"))).map(|w| root(&w)).collect()
}

/// The beginning that forms of a word share, roughly: `booking` and `booked` are `book`.
fn root(word: &str) -> String {
    for ending in ["ing", "ed", "ation", "ment", "er"] {
        if let Some(cut) = word.strip_suffix(ending).filter(|c| c.len() >= 4) {
            let cut = cut.strip_suffix('e').unwrap_or(cut);
            let double = cut.len() > 4 && cut.chars().rev().take(2).collect::<BTreeSet<_>>().len() == 1 && !cut.ends_with(['s', 'l']);
            return if double { cut.get(..cut.len() - 1).unwrap_or(cut).to_owned() } else { cut.to_owned() };
        }
    }
    word.strip_suffix('e').filter(|c| c.len() >= 4).unwrap_or(word).to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "counts of words")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How near two texts are, 0 to 1: what they share of both.
fn near(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let both = a.intersection(b).count();
    (share(both, a.len()) * share(both, b.len())).sqrt()
}

/// The passages nearest to a question's last words.
pub(super) fn nearest(passages: &[Passage], q: &Question) -> Vec<Value> {
    let said = telling(q.lines.last().map_or("", String::as_str));
    let mut all: Vec<(f64, &Passage)> =
        passages.iter().map(|p| (share(said.intersection(&telling(&p.text)).count(), said.len()), p)).filter(|(s, _)| *s > 0.0).collect();
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
        let about = program.agents.iter().map(|a| (a.name.clone(), bag(&program, a, 3))).collect();
        Self { program, about }
    }

    fn route(&self, q: &Question, text: &str) -> Value {
        if self.is_answered(q) && ["and", "also"].iter().all(|w| word_at(&normal(text), w).is_none()) {
            return json!("none");
        }
        let said = telling(text);
        let members: Vec<(&String, &BTreeMap<String, f64>)> = q.may.iter().filter_map(|m| Some((m, self.about.get(m)?))).collect();
        // A word that few of them have tells more.
        let tells = |w: &String| (1.0 + share(members.len(), members.iter().filter(|(_, b)| b.contains_key(w)).count().max(1))).ln();
        let all: f64 = said.iter().map(tells).sum();
        let mut found: Vec<(f64, &String)> =
            members.iter().map(|(m, bag)| (said.iter().filter_map(|w| Some(bag.get(w)? * tells(w))).sum::<f64>() / all.max(0.1), *m)).collect();
        found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let signals = Signals::of(text);
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
        let data = self.data(agent, q, text);
        let leaves = data.is_empty() && LEAVES.as_ref().is_some_and(|l| l.is_match(&normal(text)));
        match (leaves, data.is_empty()) {
            (true, _) => json!({ "status": "quit" }),
            (_, true) => json!({}),
            _ => json!({ "data": data }),
        }
    }

    /// What the words say of an agent's arguments.
    fn data(&self, agent: &Agent, q: &Question, text: &str) -> Map<String, Value> {
        let mut out = Map::new();
        let n = normal(text);
        for arg in &agent.args {
            let named: Vec<String> = self.literals(agent, arg);
            let said: Vec<&String> = named.iter().filter(|v| word_at(&n, &normal(v)).is_some()).collect();
            if let Some(v) = said.iter().max_by_key(|v| v.len()) {
                out.insert(arg.name.clone(), json!(v));
            } else if let Some(v) = by_form(arg, text, &n) {
                out.insert(arg.name.clone(), json!(v));
            }
        }
        let asked = q.lines.iter().rev().skip(1).find_map(|l| l.strip_prefix("bot: ")).and_then(|line| self.asked(agent, q, line));
        if let Some(arg) = asked.filter(|a| !out.contains_key(&a.name)).filter(|_| out.is_empty())
            && let Some(v) = answer_to(arg, text, &n)
        {
            out.insert(arg.name.clone(), v);
        }
        out
    }

    /// The argument that the last line asks for.
    fn asked<'a>(&self, agent: &'a Agent, q: &Question, line: &str) -> Option<&'a Arg> {
        let asks = telling(line);
        let own = |a: &Arg| name_words(&a.name).iter().map(|w| root(&stem(w))).chain(telling(&a.about)).collect::<BTreeSet<_>>();
        let open: Vec<&Arg> = agent.args.iter().filter(|a| q.args.get(&a.name).is_none_or(Value::is_null)).collect();
        let best = agent
            .args
            .iter()
            .map(|a| (own(a).intersection(&asks).count(), a))
            .filter(|(n, _)| *n > 0)
            .max_by_key(|(n, a)| (*n, open.iter().any(|o| o.name == a.name)));
        match (best, open.as_slice()) {
            (Some((_, arg)), _) => Some(arg),
            (None, [first, ..]) if (line.contains('?') || open.len() == 1) && !wants_yes_or_no(line) => Some(first),
            _ => None,
        }
    }

    /// The texts that a program compares an agent's argument with.
    fn literals(&self, agent: &Agent, arg: &Arg) -> Vec<String> {
        fn of(guard: &Guard, names: &dyn Fn(&crate::ir::value::Path) -> bool, out: &mut Vec<String>) {
            match guard {
                Guard::All(parts) | Guard::Any(parts) => parts.iter().for_each(|p| of(p, names, out)),
                Guard::Not(part) => of(part, names, out),
                Guard::Exactly(path, Compare::Is | Compare::IsNot, Given::Is(Written::Text(text))) if names(path) => out.push(text.clone()),
                _ => {}
            }
        }
        let mut out = vec![];
        for other in &self.program.agents {
            let own = other.name == agent.name;
            let names = |p: &crate::ir::value::Path| p.name == arg.name && p.of.as_ref().map_or(own, |of| *of == agent.name);
            guards(other).for_each(|g| of(g, &names, &mut out));
        }
        out
    }

    fn answer(&self, q: &Question, text: &str) -> Value {
        let Some(Body::Know { questions, passages, .. }) = self.program.agent(&q.by).map(|a| &a.body) else { return json!("No answer") };
        let said = telling(text);
        let best = questions.iter().map(|(q, a)| (near(&said, &telling(q)), a)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some((_, a)) = best.filter(|(s, _)| *s >= ANSWERS) {
            return json!(a);
        }
        let told = |p: &Passage| share(said.intersection(&telling(&p.text)).count(), said.len());
        let best = passages.iter().map(|p| (told(p), p)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        best.filter(|(s, _)| *s >= TELLS && !said.is_empty()).map_or_else(|| json!("No answer"), |(_, p)| json!(p.text))
    }

    /// A model's agent asks for its arguments one by one; only its prompt could go on from there.
    fn reply(&self, q: &Question, text: &str) -> Value {
        let Some(agent) = self.program.agent(&q.by) else { return Value::Null };
        let data = self.data(agent, q, text);
        let open = agent.args.iter().find(|a| !data.contains_key(&a.name) && q.args.get(&a.name).is_none_or(Value::is_null));
        let uses = matches!(&agent.body, Body::Talk { uses, .. } if !uses.is_empty());
        match open {
            _ if data.is_empty() && LEAVES.as_ref().is_some_and(|l| l.is_match(&normal(text))) => json!({ "status": "quit" }),
            _ if agent.args.is_empty() => json!({ "error": NEEDS_MODEL }),
            Some(arg) => json!({ "bot": format!("What is the {}?", asking(arg)), "data": data, "status": "running" }),
            None if uses => json!({ "error": NEEDS_MODEL }),
            None => json!({ "data": data, "status": "complete" }),
        }
    }
}

/// Whether the last thing asked is answered by yes or no.
fn wants_yes_or_no(line: &str) -> bool {
    let asked = line.trim_end().strip_suffix('?').map_or("", |q| q.rsplit(['.', '!', '?', ',']).next().unwrap_or(q));
    let begins = ["do", "does", "did", "is", "are", "was", "were", "would", "will", "shall", "should", "can", "could", "may", "have", "has", "had"];
    words(asked).first().is_some_and(|w| begins.contains(&w.as_str()))
}

/// How an argument is asked for.
fn asking(arg: &Arg) -> String {
    let about = arg.about.trim().trim_end_matches('.');
    if about.is_empty() || about.split_whitespace().count() > 8 {
        name_words(&arg.name).join(" ")
    } else {
        about.trim_start_matches("the ").trim_start_matches("The ").to_owned()
    }
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
    add(&name_words(&agent.name).join(" "), 1.0);
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

/// How much of one of these phrases the words say, 0 to 1.
fn claimed(phrases: &[String], text: &str) -> f64 {
    let (n, said, signals) = (normal(text), telling(text), Signals::of(text));
    let denies = |t: &str| words(t).iter().any(|w| HEARING.words.negations.has(w) || w.ends_with("n't"));
    let of = |phrase: &String| {
        let p = normal(phrase);
        let (own, of) = (telling(phrase), Signals::of(phrase));
        let agrees = of.has("affirm") && own.len() <= 1 && signals.has("affirm") && !signals.has("refuse");
        let refuses = of.has("deny") && own.len() <= 1 && signals.has("deny");
        let shared = share(own.intersection(&said).count(), own.len());
        let whole = word_at(&n, p.trim_end_matches(['.', '!', '?'])).is_some() || agrees || refuses;
        match (whole, denies(&p) == denies(&n)) {
            (true, _) => 1.0,
            (false, true) => shared,
            (false, false) => 0.0,
        }
    };
    phrases.iter().map(of).fold(0.0, f64::max)
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static LEAVES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:(?:no|ok|okay|please|actually|oh|well|sorry|wait),? )*(?:cancel|quit|exit|stop|never ?mind|forget (?:it|about it|that)|leave it|i (?:changed my mind|don't want (?:to|this|that|it))|let's (?:stop|do something else)|something else|not now)\b",
    )
});
static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[\w.+-]+@[\w-]+\.[\w.-]*\w"));
static PHONE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\+?\d[\d ()-]{5,}\d"));
static LEADS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:um+|uh|oh|well|ok|okay|yes|yeah|sure|please|so|hi|hello)[,.!]? )*(?:(?:it'?s|it is|that'?s|that is|that would be|i'?d like(?: to \w+)?|i would like(?: to \w+)?|i want(?: to \w+)?|i need|i(?:'| a)m(?: from| at| in)?|my \w+(?: \w+)? is|the \w+(?: \w+)? is|make it|let'?s (?:say|do|take)|how about|for|on|at|in|to|from|under) )?",
    )
});

/// A value that its form tells to be this argument's, wherever it is said.
fn by_form(arg: &Arg, text: &str, n: &str) -> Option<String> {
    let name = name_words(&arg.name);
    let has = |w: &str| name.iter().any(|x| x == w);
    if name.iter().any(|w| w.contains("email") || w == "mail") {
        return EMAIL.as_ref()?.find(text).map(|m| m.as_str().to_owned());
    }
    if name.iter().any(|w| w.contains("phone") || w == "mobile") {
        return PHONE.as_ref()?.find(text).map(|m| m.as_str().trim().to_owned());
    }
    let (from, to) = values::way(text);
    if has("from") || has("origin") || has("departure") && !has("date") && !has("time") {
        return from;
    }
    if has("to") || has("destination") || has("arrival") && !has("date") && !has("time") {
        return to;
    }
    // "the colour is red"
    let cue = name.join(" ");
    let at = word_at(n, &format!("{cue} is"))? + cue.len() + 3;
    let rest = n.get(at..)?.trim();
    let value: Vec<&str> = rest.split([',', '.', ';', '!', '?']).next()?.split(" and ").next()?.split_whitespace().collect();
    (!value.is_empty() && value.len() <= 6).then(|| as_written(text, &value.join(" ")))
}

/// The words as they stand in the text.
fn as_written(text: &str, plain: &str) -> String {
    let low = text.to_lowercase();
    low.find(plain).and_then(|at| text.get(at..at + plain.len())).unwrap_or(plain).to_owned()
}

/// Words that stand for any value, by their roots.
const NO_VALUES: [&str; 8] = ["someth", "anyth", "everyth", "noth", "all", "it", "that", "this"];

/// What an answer says, when this was asked for.
fn answer_to(arg: &Arg, text: &str, n: &str) -> Option<Value> {
    const COUNTS: [&str; 17] = [
        "number", "count", "amount", "quantity", "people", "persons", "guests", "size", "age", "price", "nights", "days", "seats", "tickets", "party",
        "budget", "year",
    ];
    let signals = Signals::of(text);
    if signals.has("greeting_only") || signals.has("question") || signals.has("bye") || LEAVES.as_ref().is_some_and(|l| l.is_match(n)) {
        return None;
    }
    let name = name_words(&arg.name);
    let numbers = values::numbers(n);
    if name.iter().any(|w| COUNTS.contains(&w.as_str())) || arg.spelled && !numbers.is_empty() {
        return numbers.into_iter().min().map(|(_, v)| v).filter(|_| !text.contains(['-', '/', '@'])).map(Value::from);
    }
    if arg.spelled && (signals.has("affirm") || signals.has("deny")) {
        return Some(json!(!signals.has("deny")));
    }
    if name.last().is_some_and(|w| w == "name")
        && let Some(own) = values::own_name(text)
    {
        return Some(json!(own));
    }
    let lead = LEADS.as_ref().and_then(|l| l.find(text)).map_or(0, |m| m.end());
    let value = text.get(lead..)?.trim().trim_end_matches(['.', '!', ',', ';']);
    let value = value.strip_suffix(" please").unwrap_or(value).trim_end_matches([',', ' ']);
    let said = words(value).into_iter().filter(|w| !HEARING.words.empty.has(w)).map(|w| root(&stem(&w)));
    let tells: BTreeSet<String> = said.filter(|w| !NO_VALUES.contains(&w.as_str())).collect();
    let own: BTreeSet<String> = name.iter().map(|w| root(&stem(w))).collect();
    (!tells.is_subset(&own) && value.split_whitespace().count() <= 12).then(|| json!(value))
}

impl Offline {
    fn answers(&self, questions: &[Question], in_this: &Situation) -> Vec<Option<Value>> {
        let text = in_this.message.as_str();
        let opened = text.trim() == "/init";
        // Of several phrases the words say the nearest; a bare yes or no, which may be asked ahead, is near to many.
        let tells = |q: &&Question| q.ask == "intent" && q.about.iter().any(|p| telling(p).len() > 1);
        let best = questions.iter().filter(tells).map(|q| claimed(&q.about, text)).fold(CLAIMS, f64::max);
        let of = |q: &Question| match q.ask.as_str() {
            "route" => Some(self.route(q, text)),
            "extract" => Some(self.extract(q, text)),
            "intent" => Some(json!(claimed(&q.about, text) >= best)),
            "judge" => {
                let known = q.args.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join("\n");
                let condition = q.about.first().cloned().unwrap_or_default();
                Some(json!(question::similarity(&question::Question { condition, said: text.to_owned(), known }) > question::THRESHOLD))
            }
            "answer" => Some(self.answer(q, text)),
            "reply" => Some(self.reply(q, if opened { "" } else { text })),
            _ => None,
        };
        questions.iter().map(of).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_claimed_in_other_words() {
        let says = |phrase: &str, text: &str| claimed(&[phrase.to_owned()], text) >= CLAIMS;
        assert!(says("I want to cancel my booking", "please cancel the booking"));
        assert!(!says("I want to cancel my booking", "don't cancel the booking"));
        assert!(says("Yes", "yeah sure") && says("No", "no thanks") && !says("Yes", "no thanks"));
        assert!(!says("I would like a refund", "where is my parcel"));
        assert!(wants_yes_or_no("Your card is blocked. Would you like a new card?") && !wants_yes_or_no("Where shall it go?"));
    }

    #[test]
    fn an_answer_is_what_was_asked_for() {
        let said = |name: &str, text: &str| answer_to(&Arg::named(name), text, &normal(text));
        assert_eq!(said("city", "I'd like Paris, please"), Some(json!("Paris")));
        assert_eq!(said("number of people", "we are four"), Some(json!("4")));
        assert_eq!(said("name", "my name is Ada Lovelace"), Some(json!("Ada Lovelace")));
        assert_eq!(said("city", "what do you offer?"), None);
    }
}
