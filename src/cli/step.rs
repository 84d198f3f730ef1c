//! `duologue step`: JSON lines in, JSON lines out, for scripts, differential tests and load.

use std::io::{BufRead, Read, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use super::common::{Failure, Place};
use crate::facts::SessionKey;
use crate::ontology::Scope;
use crate::turn::{Engine, Options, Said, TurnRecord};

/// Longest line that is read; a longer one is answered with an error and skipped.
const MAX_LINE: u64 = 1 << 20;

/// Arguments of `step`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  echo '{\"site\":\"s\",\"session\":\"c1\",\"role\":\"customer\",\"predicates\":[\"order(\\\"Soft Taco\\\",2)\"]}' | duologue step --domain drive_thru\n\nA line may carry \"text\" instead of \"predicates\", and a \"request\" id: sent twice, it is taken once.\n{\"facts\":\"kb|shared|session\",\"site\":\"s\",\"session\":\"c1\"} shows facts."
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: super::common::Listen,
    /// Leave the proofs out.
    #[arg(long)]
    no_why: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default = "default_site")]
    site: String,
    #[serde(default)]
    session: String,
    #[serde(default)]
    role: String,
    predicates: Option<Vec<String>>,
    text: Option<String>,
    facts: Option<String>,
    request: Option<String>,
}

fn default_site() -> String {
    "main".to_owned()
}

/// Answers line by line until the input ends.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let engine = a.place.engine()?;
    let options = Options { explain: !a.no_why, ..engine.options().clone() };
    let engine = a.listen.equip(engine.with_options(options))?;
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    loop {
        let mut line = vec![];
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(true);
        }
        let answer = if line.last() != Some(&b'\n') && read as u64 == MAX_LINE {
            skip_line(&mut input)?;
            error("too_long", &format!("a line has at most {MAX_LINE} bytes"))
        } else if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        } else {
            answer(&engine, &line, !a.no_why)
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
}

fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let (used, end) = {
            let buffer = input.fill_buf()?;
            match buffer.iter().position(|b| *b == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            }
        };
        input.consume(used);
        if end {
            return Ok(());
        }
    }
}

fn error(code: &str, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message } })
}

fn answer(engine: &Engine, line: &[u8], why: bool) -> Value {
    let line: Line = match serde_json::from_slice(line) {
        Ok(l) => l,
        Err(e) => return error("bad_line", &format!("the line is no request: {e}")),
    };
    if line.site.trim().is_empty() {
        return error("bad_line", "a `site` has a name");
    }
    let key = SessionKey::new(&line.site, &line.session);
    if let Some(scope) = &line.facts {
        return facts(engine, &key, scope);
    }
    if line.session.trim().is_empty() {
        return error("bad_line", "a turn needs a `session`");
    }
    let said = match (&line.predicates, &line.text) {
        (Some(p), None) => Said::Predicates(p),
        (None, Some(t)) => Said::Text(t),
        _ => return error("bad_line", "a turn has either `predicates` or `text`"),
    };
    match engine.turn(&key, &line.role, &said, line.request.as_deref()) {
        Ok(record) => shown(&record, why),
        Err(e) => json!({ "error": { "code": "turn", "message": e.to_string() }, "text": e.polite() }),
    }
}

fn facts(engine: &Engine, key: &SessionKey, scope: &str) -> Value {
    let Ok(scope) = scope.parse::<Scope>() else {
        return error("bad_line", &format!("`{scope}` is no scope: use kb, shared or session"));
    };
    let site = engine.store().install(&key.site, &engine.domain().facts, engine.options().clock.now());
    match site.and_then(|_| engine.store().facts(scope, key)) {
        Ok(facts) => json!({ "facts": facts.iter().map(|f| f.atom.to_string()).collect::<Vec<_>>() }),
        Err(e) => error(e.code(), &e.to_string()),
    }
}

fn shown(record: &TurnRecord, why: bool) -> Value {
    let mut out = json!({
        "predicates": record.predicates,
        "actions": record.actions,
        "text": record.text,
        "state": record.state,
    });
    if let Some(map) = out.as_object_mut() {
        if why {
            map.insert("why".into(), json!(record.why));
        }
        if let Some(models) = &record.models {
            map.insert("models".into(), json!(models));
        }
        if !record.refused.is_empty() {
            map.insert("refused".into(), json!(record.refused));
        }
    }
    out
}
