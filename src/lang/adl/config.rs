//! `config.yml` beside a program: the bot's name, what functions see of the environment, and how each is called.

use super::error::{Findings, nearest};
use super::parse::{self, Node};
use super::project::Project;
use crate::diag::Source;

/// What a project settles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The bot's name.
    pub name: Option<String>,
    /// Names of the environment's variables that functions see.
    pub environment: Vec<String>,
    /// How functions are called.
    pub functions: Vec<(String, Settings)>,
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
pub fn read(project: &Project, found: &mut Findings) -> Config {
    let file = ["config.yml", "config.yaml"].iter().map(|n| (n, project.folder.join(n))).find(|(_, p)| p.is_file());
    let Some((name, path)) = file else { return Config::default() };
    let text = std::fs::read(&path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    let mut own = Findings::new(Source::new(name, &text));
    let mut out = Config::default();
    let root = parse::parse(&mut own);
    if let Some(root) = &root {
        config(root, &mut out, &mut own);
    }
    own.done(root.as_ref()).into_iter().for_each(|d| found.other(d));
    out
}

fn config(root: &Node, out: &mut Config, found: &mut Findings) {
    for (key, value) in root.members() {
        match key.text.as_str() {
            "bot_name" => out.name = value.word().map(|w| w.text),
            "unsafe_mode" => {
                found.warning("adl-config", key.span.clone(), "`unsafe_mode` means nothing here: functions always run in processes of their own", "remove it")
            }
            "llm_config" | "llm" => keys_inside(value, found),
            "environment" => out.environment = value.list().unwrap_or(std::slice::from_ref(value)).iter().filter_map(Node::word).map(|w| w.text).collect(),
            "functions" => out.functions = value.members().iter().map(|(name, of)| (name.text.clone(), settings(of, found))).collect(),
            "limits" => {}
            other => {
                let message = format!("`{other}` is no setting of a project");
                found.warning("adl-config", key.span.clone(), message, nearest(other, KEYS, "remove it"));
            }
        }
    }
}

/// A key to a service that stands in the file itself.
fn keys_inside(node: &Node, found: &mut Findings) {
    for (key, value) in node.members() {
        if matches!(key.text.as_str(), "api_key" | "apikey" | "key" | "token") && value.word().is_some_and(|w| !w.text.is_empty()) {
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

fn settings(node: &Node, found: &mut Findings) -> Settings {
    let mut out = Settings::default();
    for (key, value) in node.members() {
        let text = value.word().map(|w| w.text).unwrap_or_default();
        let yes = matches!(text.as_str(), "true" | "True" | "TRUE");
        match key.text.as_str() {
            "timeout_s" => match text.parse::<f64>().ok().filter(|s| *s > 0.0 && *s < 86_400.0) {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be small and positive")]
                Some(s) => out.timeout_ms = Some((s * 1000.0) as u64),
                None => found.error("adl-config", value.span.clone(), format!("`{text}` is no number of seconds"), "write a number above 0"),
            },
            "idempotent" => out.idempotent = yes,
            "confirm" => out.confirm = yes,
            other => {
                let message = format!("`{other}` is no setting of a function");
                found.warning("adl-config", key.span.clone(), message, nearest(other, ["timeout_s", "idempotent", "confirm"], "remove it"));
            }
        }
    }
    out
}
