//! A model that answers a round of questions in one request: a JSON object with a property for each, of a shape that the provider is told.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{Advise, Situation};
use crate::conversation::Conversation;
use crate::ir::walk::Question;
use crate::ir::{Agent, Body, Policy, Program};
use crate::llm::json::read_strict;
use crate::llm::{Account, BlockingModel, ChatRequest, Message, Shape};

/// The instruction that precedes every round.
const PROMPT: &str = include_str!("../../../prompts/core/agents.txt");
/// Any JSON, for providers that take a grammar.
const GRAMMAR: &str = r#"root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\] | "\\" ["\\/bfnrt] | "\\u" [0-9a-fA-F]{4} )* "\"" ws
number ::= "-"? [0-9]+ ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws
ws ::= [ \t\n]*"#;
/// The longest reply to a round, in tokens.
const MOST_TOKENS: u32 = 1024;

/// A model.
pub struct ByModel {
    model: BlockingModel,
    program: Arc<Program>,
}

impl ByModel {
    /// Asks a model for a program.
    pub fn new(model: BlockingModel, program: Arc<Program>) -> Self {
        Self { model, program }
    }

    async fn ask(&self, asked: &[(String, Value)], questions: &[Question], situation: &Situation) -> Option<Value> {
        self.model.admit(&situation.conversation).ok()?;
        let properties: Map<String, Value> = asked.iter().cloned().collect();
        let required: Vec<&String> = asked.iter().map(|(name, _)| name).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
        let shape = Shape { name: "decisions".to_owned(), schema, grammar: GRAMMAR.to_owned() };
        let request = ChatRequest {
            prefix: PROMPT.to_owned(),
            messages: vec![Message::user(self.situation(asked, questions, situation))],
            shape: Some(shape),
            max_tokens: MOST_TOKENS,
        };
        let reply = self.model.until(situation.until).ask(request).await.inspect_err(|e| tracing::warn!(error = %e, "the model answered no questions")).ok()?;
        self.model.book(&situation.conversation, reply.usage);
        match read_strict(&reply.text) {
            Ok(value) => Some(value),
            Err(_) => Some(Value::from(reply.text)),
        }
    }

    /// What the model is shown: who asks, what is known, what was said. All of it is data, as JSON that cannot pretend to be an instruction.
    fn situation(&self, asked: &[(String, Value)], questions: &[Question], situation: &Situation) -> String {
        let mut agents = Map::new();
        for q in questions {
            if let Some(agent) = self.program.agent(&q.by).filter(|_| !agents.contains_key(&q.by)) {
                agents.insert(q.by.clone(), self.described(agent, q));
            }
        }
        let first = questions.first();
        json!({
            "agents": agents,
            "conversation": first.map(|q| q.lines.clone()).unwrap_or_default(),
            "the user says": situation.message,
            "functions gave": first.map(|q| q.results.clone()).unwrap_or_default(),
            "questions": asked.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        })
        .to_string()
    }

    fn described(&self, agent: &Agent, q: &Question) -> Value {
        let mut out = json!({ "arguments": q.args });
        let Some(map) = out.as_object_mut() else { return out };
        let mut put = |key: &str, value: Value| drop(map.insert(key.to_owned(), value));
        if !agent.about.is_empty() {
            put("description", json!(agent.about));
        }
        let about: Map<String, Value> = agent.args.iter().filter(|a| !a.about.is_empty()).map(|a| (a.name.clone(), json!(a.about))).collect();
        if !about.is_empty() {
            put("what the arguments are", Value::Object(about));
        }
        match &agent.body {
            Body::Talk { prompt, uses } => {
                put("prompt", json!(prompt));
                let tool = |name: &String| {
                    let f = self.program.function(name)?;
                    let inputs: Map<String, Value> = f.inputs.iter().map(|i| (i.name.clone(), i.kind.schema())).collect();
                    Some(json!({ "tool": name, "about": f.about, "args": inputs }))
                };
                put("functions", uses.iter().filter_map(tool).collect());
            }
            Body::Team { prompt, members } => {
                if !prompt.is_empty() {
                    put("prompt", json!(prompt));
                }
                let of = |name: &str| self.program.agent(name).map_or_else(String::new, |a| a.about.clone());
                put("members", members.iter().map(|m| (m.agent.clone(), Value::from(of(&m.agent)))).collect::<Map<_, _>>().into());
            }
            Body::Know { questions, passages, .. } => {
                put("questions and answers", questions.iter().map(|(q, a)| json!({ "q": q, "a": a })).collect());
                put("documents", super::offline::nearest(passages, q).into());
            }
            Body::Script(_) | Body::Rules(_) | Body::Graph(_) => {}
        }
        for (key, policy) in [("fallback", &agent.fallback), ("exit", &agent.exit)] {
            if let Some(Policy::Words(text)) = policy.as_ref().filter(|_| q.ask == key) {
                put(key, json!(text));
            }
        }
        if q.misses > 0 {
            put("times in a row", json!(q.misses));
        }
        out
    }
}

/// The shape of an answer to a question about one phrase or condition, or none.
fn shape(program: &Program, q: &Question, about: Option<&str>) -> Value {
    let args = || -> Map<String, Value> { q.args.keys().map(|name| (name.clone(), json!({}))).collect() };
    let data = || json!({ "type": "object", "properties": args(), "additionalProperties": false });
    let worded = json!({ "type": "object", "properties": { "bot": { "type": "string" }, "end": { "type": "boolean" } }, "required": ["bot"] });
    let mut shape = match q.ask.as_str() {
        "route" => json!({ "enum": q.may }),
        "extract" => json!({ "type": "object", "properties": { "data": data(), "status": { "enum": ["quit"] } }, "additionalProperties": false }),
        "intent" | "judge" => json!({ "type": "boolean" }),
        "reply" => {
            let says = json!({ "type": "object", "properties": { "bot": { "type": "string" }, "data": data(), "status": { "enum": ["running", "complete", "quit"] } }, "additionalProperties": false });
            let uses = match program.agent(&q.by).map(|a| &a.body) {
                Some(Body::Talk { uses, .. }) => uses.as_slice(),
                _ => &[],
            };
            let calls = json!({ "type": "object", "properties": { "tool": { "enum": uses }, "args": { "type": "object" } }, "required": ["tool"], "additionalProperties": false });
            if uses.is_empty() { says } else { json!({ "anyOf": [says, calls] }) }
        }
        "answer" => json!({ "type": "string" }),
        _ => worded,
    };
    if let Some(map) = shape.as_object_mut() {
        map.insert("title".into(), json!(q.by));
        map.extend(about.map(|text| ("description".to_owned(), json!(text))));
    }
    shape
}

impl ByModel {
    async fn answers(&self, questions: &[Question], in_this: &Situation) -> Vec<Option<Value>> {
        // Every phrase is a question of its own.
        let mut asked: Vec<(usize, String, Value)> = vec![];
        for (n, q) in questions.iter().enumerate() {
            let about: Vec<Option<&str>> = if q.about.is_empty() { vec![None] } else { q.about.iter().map(|t| Some(t.as_str())).collect() };
            for text in about {
                let name = format!("{}_{}", q.ask, asked.iter().filter(|(_, name, _)| name.starts_with(&format!("{}_", q.ask))).count() + 1);
                asked.push((n, name, shape(&self.program, q, text)));
            }
        }
        let properties: Vec<(String, Value)> = asked.iter().map(|(_, name, shape)| (name.clone(), shape.clone())).collect();
        let Some(reply) = self.ask(&properties, questions, in_this).await else { return vec![None; questions.len()] };
        let alone = questions.len() == 1 && questions.first().is_some_and(|q| matches!(q.ask.as_str(), "reply" | "answer" | "fallback" | "exit"));
        let of = |n: usize, q: &Question| {
            let mut given = asked.iter().filter(|(of, _, _)| *of == n).filter_map(|(_, name, _)| reply.get(name.as_str())).filter(|v| !v.is_null());
            match q.ask.as_str() {
                "intent" | "judge" => {
                    given.next().map(|first| if first == &json!(true) { first.clone() } else { given.find(|v| **v == json!(true)).unwrap_or(first).clone() })
                }
                _ => given.next().cloned().or_else(|| alone.then(|| reply.clone()).filter(|r| r.is_string() || q.ask == "reply" && r.get("bot").is_some())),
            }
        };
        questions.iter().enumerate().map(|(n, q)| of(n, q)).collect()
    }
}

impl Advise for ByModel {
    fn advise<'a>(&'a self, questions: &'a [Question], in_this: &'a Situation) -> BoxFuture<'a, Vec<Option<Value>>> {
        Box::pin(self.answers(questions, in_this))
    }

    fn by(&self) -> &'static str {
        "llm"
    }

    fn account(&self, of: &Conversation) -> Option<Account> {
        Some(self.model.account(of))
    }

    fn ended(&self, of: &Conversation) {
        self.model.close(of);
    }
}
