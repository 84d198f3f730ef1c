//! What the model tests share: the drive-through's vocabulary, quick limits, replies in each provider's notation.

use std::sync::{Arc, LazyLock};

use duologue::diag::Source;
use duologue::llm::config::Limits;
use duologue::llm::{Api, BlockingModel, Model, ModelConfig, RemoteModel};
use duologue::ontology::{Ontology, parse};
use duologue::term::Atom;
use duologue::understand::llm::{LlmUnderstand, Names, Prompts, Settings};
use duologue::understand::{Context, Heard, Understand};

use crate::server::Server;

pub static ONTOLOGY: LazyLock<Arc<Ontology>> = LazyLock::new(|| {
    let text = include_str!("../../kb/drive_thru/ontology.yaml");
    Arc::new(parse::ontology(&Source::new("ontology.yaml", text)).0.unwrap())
});

pub static FACTS: LazyLock<Vec<Atom>> = LazyLock::new(|| {
    let text = include_str!("../../kb/drive_thru/menu.lp");
    text.lines()
        .filter(|l| !l.trim_start().starts_with('%') && !l.trim().is_empty())
        .flat_map(|l| l.split_inclusive(")."))
        .filter_map(|a| Atom::parse(a.trim()).ok())
        .collect()
});

pub static NAMES: LazyLock<Arc<Names>> = LazyLock::new(|| Arc::new(Names::of(&ONTOLOGY, FACTS.iter())));

/// Limits in which a whole matrix of faults runs in seconds, and which a busy machine still keeps.
pub fn quick() -> Limits {
    Limits {
        connect_ms: 1_000,
        headers_ms: 500,
        idle_ms: 500,
        total_ms: 1_500,
        reply_bytes: 64 * 1024,
        retries: 2,
        backoff_ms: 4,
        breaker_failures: 100,
        breaker_ms: 50,
        ..Limits::default()
    }
}

pub fn config(server: &Server, api: Api) -> ModelConfig {
    let path = if api == Api::OpenAi { "/v1" } else { "" };
    ModelConfig { limits: quick(), ..ModelConfig::new(api, &server.url(path), "test-model") }
}

pub fn model(config: ModelConfig) -> BlockingModel {
    let model: Arc<dyn Model> = Arc::new(RemoteModel::new(config).unwrap());
    BlockingModel::new(model)
}

pub fn translator(model: BlockingModel) -> LlmUnderstand {
    LlmUnderstand::new(model, &ONTOLOGY, NAMES.clone(), Prompts::default(), Settings::default()).unwrap()
}

pub fn customer() -> Context {
    Context { role: "customer".into(), ..Context::default() }
}

/// A scripted stand-in for the embedded translator.
pub struct Fixed(pub &'static str, pub f64);

impl Understand for Fixed {
    fn understand(&self, _: &str, _: &Context) -> Heard {
        let predicates: Vec<Atom> = self.0.split(';').filter(|t| !t.is_empty()).map(|t| Atom::parse(t).unwrap()).collect();
        Heard { words: vec![vec![]; predicates.len()], predicates, confidence: self.1, by: "embedded", ..Heard::default() }
    }
}

pub fn texts(atoms: &[Atom]) -> Vec<String> {
    atoms.iter().map(ToString::to_string).collect()
}

/// A chat completion whose message is `content`.
pub fn completion(content: &str) -> String {
    let content = serde_json::Value::from(content);
    format!(
        r#"{{"id":"x","object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":{content}}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":900,"completion_tokens":30,"total_tokens":930,"prompt_tokens_details":{{"cached_tokens":800}}}}}}"#
    )
}

/// The reply that orders two soft tacos.
pub const TWO_TACOS: &str = r#"{"predicates":[{"form":"order(ITEM, COUNT)","ITEM":"Soft Taco","COUNT":2}]}"#;
