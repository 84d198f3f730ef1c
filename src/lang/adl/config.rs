//! `config.yml` beside a program: the bot's name, what functions see of the environment, and how each is called.

use std::ops::Range;

use super::error::{Findings, nearest};
use super::parse::{self, Node, Word};
use super::project::{Found, Project};
use crate::diag::Source;
use crate::ir::{Limits, Model};

/// What a project settles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The bot's name.
    pub name: Option<String>,
    /// Names of the environment's variables that functions see.
    pub environment: Vec<String>,
    /// How functions are called.
    pub functions: Vec<(String, Settings)>,
    /// The model that it names.
    pub model: Option<Model>,
    /// What all functions together may take.
    pub limits: Limits,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// The longest it may take.
    pub timeout_ms: Option<u64>,
    /// Calling it twice does no more than calling it once.
    pub idempotent: bool,
    /// The user is asked before.
    pub confirm: bool,
}

/// What may stand in the file.
const KEYS: [&str; 7] = ["bot_name", "llm_config", "llm", "unsafe_mode", "environment", "functions", "limits"];

/// Reads the project's configuration, if it has one. Its findings join those of the program.
pub fn read(project: &Project, tools: &Found, found: &mut Findings) -> Config {
    let file = ["config.yml", "config.yaml"].iter().map(|n| (n, project.folder.join(n))).find(|(_, p)| p.is_file());
    let Some((name, path)) = file else { return Config::default() };
    let text = std::fs::read(&path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    let mut own = Findings::new(Source::new(name, &text));
    let mut out = Config::default();
    let root = parse::parse(&mut own);
    if let Some(root) = &root {
        config(root, tools, &mut out, &mut own);
    }
    own.done(root.as_ref()).into_iter().for_each(|d| found.other(d));
    out
}

fn config(root: &Node, tools: &Found, out: &mut Config, found: &mut Findings) {
    for (key, value) in root.members() {
        match key.text.as_str() {
            "bot_name" => out.name = value.word().map(|w| w.text),
            "unsafe_mode" => {
                found.warning("adl-config", key.span.clone(), "`unsafe_mode` means nothing here: functions always run in processes of their own", "remove it")
            }
            "llm_config" | "llm" => {
                keys_inside(value, found);
                out.model = model(value, found).or(out.model.take());
            }
            "environment" => out.environment = value.list().unwrap_or(std::slice::from_ref(value)).iter().filter_map(Node::word).map(|w| w.text).collect(),
            "functions" => {
                for (name, of) in value.members() {
                    if tools.complete && !tools.functions.iter().any(|f| f.def.name == name.text) {
                        let message = format!("no file defines the function `{}`", name.text);
                        let help = nearest(&name.text, tools.functions.iter().map(|f| f.def.name.as_str()), "remove it, or write the function");
                        found.warning("adl-config", name.span.clone(), message, help);
                    }
                    out.functions.push((name.text.clone(), settings(of, found)));
                }
            }
            "limits" => out.limits = limits(value, found),
            _ => unknown(key, "setting of a project", &KEYS, found),
        }
    }
}

/// A key that means nothing where it stands.
fn unknown(key: &Word, what: &str, known: &[&str], found: &mut Findings) {
    let message = format!("`{}` is no {what}", key.text);
    found.warning("adl-config", key.span.clone(), message, nearest(&key.text, known.iter().copied(), "remove it"));
}

/// A key to a service that stands in the file itself.
fn keys_inside(node: &Node, found: &mut Findings) {
    for (key, value) in node.members() {
        if matches!(key.text.as_str(), "api_key" | "apikey" | "key" | "token") && value.word().is_some_and(|w| !w.text.is_empty() && !w.text.starts_with('<')) {
            found.warning(
                "adl-config",
                key.span.clone(),
                format!("a secret stands in the file under `{}`", key.text),
                "put it into the environment and name the variable under `environment`",
            );
        }
        keys_inside(value, found);
    }
}

/// The model that a block of settings names, as MICA's users write it; what still is to be filled in (`<your_key>`) counts as not written.
fn model(node: &Node, found: &mut Findings) -> Option<Model> {
    let chat = ["llm", "chat"].iter().fold(node, |n, key| n.get(key).unwrap_or(n));
    let written = |of: &Node, key: &str| of.get(key).and_then(Node::word).map(|w| w.text.trim().to_owned()).filter(|t| !t.is_empty() && !t.starts_with('<'));
    for (key, _) in chat.members().iter().filter(|(k, _)| k.text == "headers") {
        found.warning(
            "adl-config",
            key.span.clone(),
            "`headers` are not sent",
            "write the key as `api_key`, or describe the model in a file of its own (--model)",
        );
    }
    let server = written(chat, "server").map(|s| {
        let base = s.trim_end_matches('/').trim_end_matches("/chat/completions").trim_end_matches("/v1");
        format!("{base}/v1")
    });
    let embedding = node.get("embedding").or_else(|| node.get("llm").and_then(|n| n.get("embedding"))).and_then(|n| written(n, "model"));
    let temperature = written(chat, "temperature").and_then(|t| t.parse().ok());
    Some(Model { name: written(chat, "model")?, server, key: written(chat, "api_key"), temperature, embedding })
}

/// The number of a setting, which is positive.
fn positive(text: &str, what: &str, at: Range<usize>, most: f64, found: &mut Findings) -> Option<f64> {
    let number = text.parse::<f64>().ok().filter(|n| *n > 0.0 && *n < most);
    if number.is_none() {
        found.error("adl-config", at, format!("`{text}` is no number of {what}"), format!("write a number above 0 and below {most}"));
    }
    number
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be small and positive")]
fn limits(node: &Node, found: &mut Findings) -> Limits {
    let mut out = Limits::default();
    for (key, value) in node.members() {
        let text = value.word().map(|w| w.text).unwrap_or_default();
        let mut number = |what: &str, most: f64| positive(&text, what, value.span.clone(), most, found);
        match key.text.as_str() {
            "timeout_s" => out.timeout_ms = number("seconds", 86_400.0).map(|s| (s * 1000.0) as u64),
            "memory_mb" => out.memory = number("megabytes", 1_000_000.0).map(|n| (n * 1_048_576.0) as u64),
            "workers" => out.workers = number("workers", 257.0).map(|n| n.max(1.0) as usize),
            _ => unknown(key, "limit", &["timeout_s", "memory_mb", "workers"], found),
        }
    }
    out
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be small and positive")]
fn settings(node: &Node, found: &mut Findings) -> Settings {
    let mut out = Settings::default();
    for (key, value) in node.members() {
        let text = value.word().map(|w| w.text).unwrap_or_default();
        let yes = matches!(text.as_str(), "true" | "True" | "TRUE");
        match key.text.as_str() {
            "timeout_s" => out.timeout_ms = positive(&text, "seconds", value.span.clone(), 86_400.0, found).map(|s| (s * 1000.0) as u64),
            "idempotent" => out.idempotent = yes,
            "confirm" => out.confirm = yes,
            _ => unknown(key, "setting of a function", &["timeout_s", "idempotent", "confirm"], found),
        }
    }
    out
}
