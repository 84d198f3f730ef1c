//! A first flow from a description in prose, sentence by sentence, without a model.

use serde_json::{Map, Value, json};

use super::design::{DESIGN, Description, first_of};
use super::remarks::{capital, new_slot, sentences, things, words};
use crate::diag::Source;

/// A first flow and what of the description is not in it.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The flow file.
    pub source: Source,
    /// Sentences that became nothing.
    pub not_understood: Vec<String>,
}

/// What a sentence asks the agent to do.
enum Step {
    Request { slots: Vec<String>, optional: bool },
    Call(String),
    Confirm(String),
    Inform(String),
    Greet,
    Leave,
}

/// When a sentence applies.
enum Clause {
    Always,
    If(bool, Vec<String>),
    Otherwise,
}

#[derive(Default)]
struct Building {
    nodes: Vec<Value>,
    edges: Vec<Value>,
    replies: Map<String, Value>,
    /// Nodes whose way on is still open, with the condition of that way.
    ends: Vec<(usize, Option<&'static str>)>,
    /// The nodes with two ways.
    forks: Vec<Fork>,
    /// The fork and the answer that was spoken of last.
    last: Option<(usize, bool)>,
}

/// A node with two ways: what the ways are called and what the node is about.
struct Fork {
    id: usize,
    ways: [&'static str; 2],
    about: Vec<String>,
}

/// Reads prose as a flow.
pub fn draft(name: &str, prose: &str) -> Draft {
    let said = |act: &str| json!(DESIGN.description.reply(act));
    let mut b = Building::default();
    let mut not_understood = Vec::new();
    let (mut greets, mut leaves) = (false, false);
    for sentence in sentences(prose).iter().flat_map(|s| parts(s)) {
        let (clause, rest) = clause(&sentence);
        match step(&rest) {
            Some(Step::Greet) => greets = true,
            Some(Step::Leave) => leaves = true,
            Some(step) => b.add(&clause, step),
            None => not_understood.push(sentence),
        }
    }
    let mut flow = Map::from_iter([("task".to_owned(), json!(name)), ("nodes".to_owned(), Value::Array(b.nodes)), ("edges".to_owned(), Value::Array(b.edges))]);
    let mut global = Vec::new();
    if greets {
        global.push(json!({"intent": "greeting", "action": "hello"}));
        b.replies.insert("hello".to_owned(), said("hello"));
    }
    flow.insert("global_actions".to_owned(), Value::Array(global));
    let mut fallback = vec![json!({"intent": "anything_else", "action": "anything_else"}), json!({"intent": "out_of_scope", "action": "out_of_scope"})];
    b.replies.insert("anything_else".to_owned(), said("anything_else"));
    b.replies.insert("out_of_scope".to_owned(), said("out_of_scope"));
    if leaves {
        fallback.insert(0, json!({"intent": "goodbye", "action": "goodbye"}));
        b.replies.insert("goodbye".to_owned(), said("goodbye"));
    }
    flow.insert("fallback_actions".to_owned(), Value::Array(fallback));
    flow.insert("replies".to_owned(), Value::Object(b.replies));
    let text = serde_json::to_string_pretty(&Value::Object(flow)).unwrap_or_default();
    Draft { source: Source::new(&format!("{name}.json"), &format!("{text}\n")), not_understood }
}

/// The parts of a sentence that stand for steps of their own.
fn parts(sentence: &str) -> Vec<String> {
    let mut out = vec![sentence.to_owned()];
    for cut in &DESIGN.description.cuts {
        let piece = |(i, x): (usize, &str)| if i == 0 { x.to_owned() } else { format!("{}{x}", cut.keep) };
        out = out.iter().flat_map(|p| p.split(&cut.at).enumerate().map(piece).collect::<Vec<_>>()).collect();
    }
    out
}

/// "If it is free, …", "Otherwise …".
fn clause(sentence: &str) -> (Clause, String) {
    let text = sentence.trim();
    let lower = text.to_lowercase();
    let d = &DESIGN.description;
    for word in &d.otherwise {
        if let Some(rest) = lower.strip_prefix(word.as_str()).and(text.get(word.len()..)) {
            return (Clause::Otherwise, rest.trim_start_matches([',', ' ']).to_owned());
        }
    }
    if DESIGN.conditions.iter().any(|w| lower.starts_with(w.as_str()))
        && let Some((condition, rest)) = text.split_once(',')
    {
        let said = words(condition);
        let no = said.iter().any(|w| d.failing.contains(w));
        return (Clause::If(!no, said), rest.trim().to_owned());
    }
    (Clause::Always, d.openings.iter().fold(text, |text, o| text.trim_start_matches(o.as_str())).to_owned())
}

fn step(text: &str) -> Option<Step> {
    let d: &Description = &DESIGN.description;
    let lower = text.to_lowercase();
    let said = words(text);
    let holds = |phrases: &[String]| phrases.iter().any(|p| if p.contains(' ') { lower.contains(p.as_str()) } else { said.contains(p) });
    let verb = said.iter().find(|w| !d.before_verb.contains(w))?;
    if d.greeting.contains(verb) {
        return Some(Step::Greet);
    }
    if holds(&d.leaving) {
        return Some(Step::Leave);
    }
    let request = |list: &str| {
        let slots = things(list);
        (!slots.is_empty()).then(|| Step::Request { slots, optional: holds(&d.optional) })
    };
    if d.tellers.contains(verb) {
        let gives = said.iter().skip_while(|w| *w != verb).skip(1).find(|w| !d.before_verb.contains(w)).filter(|w| d.giving.contains(w))?;
        let (_, list) = lower.get(lower.find(gives.as_str())?..)?.split_once(' ')?;
        return request(list);
    }
    let knows = lower.contains(&format!("{verb} {}", d.knowing)) || lower.contains(&format!("{verb}s {}", d.knowing));
    let asks = knows || d.asking.contains(verb) || d.finding.split(' ').next() == Some(verb) && lower.contains(&d.finding);
    if d.confirming.contains(verb) || asks && holds(&d.whether) {
        return Some(Step::Confirm(capital(text)));
    }
    if asks {
        let at = first_of(&lower, &DESIGN.asked).map(|(at, length)| at + length)?;
        return request(lower.get(at..)?);
    }
    if d.telling.contains(verb) {
        return Some(Step::Inform(capital(text)));
    }
    if d.doing.contains(verb) {
        let name: Vec<String> = said.iter().skip_while(|w| *w != verb).filter(|w| !d.unnamed.contains(w)).take(3).cloned().collect();
        return Some(Step::Call(name.join("_")));
    }
    None
}

impl Building {
    fn add(&mut self, clause: &Clause, step: Step) {
        let id = self.nodes.len() + 1;
        let ways = self.ways(clause);
        if let Step::Request { slots, .. } = &step
            && let Some(old) = slots.iter().find_map(|s| self.asks(s))
        {
            // Asking again for what was asked before leads back there.
            ways.into_iter().for_each(|(from, condition)| self.edge(from, old, condition));
            return;
        }
        for (from, condition) in ways {
            self.edge(from, id, condition);
        }
        let mut forks = None;
        let node = match step {
            Step::Request { slots, optional } => {
                let slots: Vec<Map<String, Value>> = slots.iter().map(|s| new_slot(s)).collect();
                for s in &slots {
                    let text = |k: &str| s.get(k).and_then(Value::as_str).unwrap_or_default();
                    self.replies.insert(format!("ask_{}", text("name")), json!(DESIGN.description.reply("ask").replace("{thing}", text("label"))));
                }
                json!({"id": id, "type": if optional { "request_optional" } else { "request" }, "slots": slots})
            }
            Step::Call(function) => {
                forks = Some((["Success", "Failure"], function.split('_').map(str::to_owned).collect()));
                json!({"id": id, "type": "external_action", "function": function})
            }
            Step::Confirm(message) => {
                forks = Some((["Yes", "No"], words(&message)));
                json!({"id": id, "type": "inform_and_confirm", "message": message})
            }
            Step::Inform(message) => json!({"id": id, "type": "inform", "message": message}),
            Step::Greet | Step::Leave => return,
        };
        self.nodes.push(node);
        let on = forks.as_ref().map(|(ways, _): &([&'static str; 2], Vec<String>)| ways[0]);
        self.ends.push((id, on));
        if let Some((ways, about)) = forks {
            self.forks.push(Fork { id, ways, about });
            self.last = Some((self.forks.len() - 1, true));
        }
    }

    /// The open ways that a step continues; they are taken.
    fn ways(&mut self, clause: &Clause) -> Vec<(usize, Option<&'static str>)> {
        let (at, yes) = match (clause, self.last) {
            (Clause::Always, _) => return std::mem::take(&mut self.ends),
            (Clause::If(yes, said), _) => match self.fork(said) {
                Some(at) => (at, *yes),
                None => return std::mem::take(&mut self.ends),
            },
            (Clause::Otherwise, Some((at, yes))) => (at, !yes),
            (Clause::Otherwise, None) => return std::mem::take(&mut self.ends),
        };
        self.last = Some((at, yes));
        let Some(fork) = self.forks.get(at) else { return Vec::new() };
        self.ends.retain(|(id, _)| *id != fork.id);
        let [good, bad] = fork.ways;
        vec![(fork.id, Some(if yes { good } else { bad }))]
    }

    /// The fork that a condition is about: the one it shares a word with, else a confirmation if it speaks of agreeing, else the last.
    fn fork(&self, said: &[String]) -> Option<usize> {
        let root = |w: &String| w.chars().take(6).collect::<String>();
        let shares = |f: &Fork| said.iter().filter(|w| w.len() > 4).any(|w| f.about.iter().any(|a| root(a) == root(w)));
        let agreeing = said.iter().any(|w| DESIGN.description.agreeing.contains(w));
        let last = |test: &dyn Fn(&Fork) -> bool| self.forks.iter().rposition(test);
        last(&shares).or_else(|| if agreeing { last(&|f| f.ways == ["Yes", "No"]) } else { None }).or_else(|| self.forks.len().checked_sub(1))
    }

    fn edge(&mut self, from: usize, to: usize, condition: Option<&str>) {
        let mut edge = json!({"source": from, "target": to});
        if let (Some(c), Some(map)) = (condition, edge.as_object_mut()) {
            map.insert("condition".to_owned(), json!(c));
        }
        self.edges.push(edge);
    }

    /// The node that asks for a thing already.
    fn asks(&self, thing: &str) -> Option<usize> {
        let known = |n: &Value| {
            let labels = n.get("slots").and_then(Value::as_array).into_iter().flatten().filter_map(|s| s.get("label")?.as_str());
            labels.map(words).any(|label| label.iter().all(|w| words(thing).contains(w)))
        };
        self.nodes.iter().position(known).map(|i| i + 1)
    }
}
