//! `duologue step`: JSON lines in, JSON lines out, for scripts, differential tests and load.

pub(super) mod agents;
mod lines;

use std::io::{BufRead, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::common::{Failure, Place};
use crate::facts::{Fact, SessionKey};
use crate::ontology::Scope;
use crate::turn::answers::shown;
use crate::turn::{Engine, Gate, Options, Said, TurnError};

use lines::Lines;

/// Longest line that is read; a longer one is answered with an error and skipped.
const MAX_LINE: u64 = 1 << 20;

/// Arguments of `step`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  echo '{\"site\":\"s\",\"session\":\"c1\",\"role\":\"customer\",\"predicates\":[\"order(\\\"Soft Taco\\\",2)\"]}' | duologue step --domain drive_thru\n\nA line may carry \"text\" instead of \"predicates\", and a \"request\" id: sent twice, it is taken once. Lines of different sessions are answered side by side where they wait for a model, or for a function where sessions share no facts; they are decided, and answered, in the order of the lines.\n{\"facts\":\"kb|shared|session\",\"site\":\"s\",\"session\":\"c1\"} shows facts.\n{\"resume\":true,\"site\":\"s\",\"session\":\"c1\",\"role\":\"customer\"} ends a turn that broke off in the middle of a call; the session's next turn does so too."
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: super::common::Listen,
    #[command(flatten)]
    calls: super::common::Calls,
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
    #[serde(default)]
    resume: bool,
    /// What is decided of a turn with agents.
    decisions: Option<Vec<Value>>,
    /// For how many seconds nobody has spoken.
    silent_s: Option<u64>,
}

fn default_site() -> String {
    "main".to_owned()
}

/// Answers line by line until the input ends: lines of different sessions side by side, so that nobody waits for another's model, but
/// decided in the order of the lines, so that the same lines always come to the same.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let engine = a.place.engine()?;
    let options = Options { explain: !a.no_why, ..engine.options().clone() };
    let engine = a.calls.connect(a.listen.equip(engine.with_options(options))?)?;
    let mut input = std::io::stdin().lock();
    let lines = Lines::default();
    // Who has answered a line takes another; somebody new begins only where nobody is idle.
    let (line_in, line_out) = mpsc::channel::<(Line, lines::Place<'_>)>();
    let (line_out, idle) = (Mutex::new(line_out), AtomicUsize::new(0));
    let next = || line_out.lock().unwrap_or_else(PoisonError::into_inner).recv();
    let work = || {
        while let Ok((line, place)) = next() {
            place.begin();
            place.answer(answer(&engine, &line, &place, !a.no_why));
            idle.fetch_add(1, Ordering::Relaxed);
        }
    };
    let failed = std::thread::scope(|scope| {
        let line_in = line_in;
        while !lines.is_broken() {
            let line = match next_line(&mut input) {
                Err(e) => return Some(e),
                Ok(None) => return None,
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(told))) => {
                    lines.next("", "").answer(told);
                    continue;
                }
            };
            let place = lines.next(&line.site, &line.session);
            if idle.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err() {
                scope.spawn(work);
            }
            if line_in.send((line, place)).is_err() {
                break;
            }
        }
        None
    });
    failed.or_else(|| lines.broken()).map_or(Ok(true), |e| Err(e.into()))
}

/// The next line that is not empty, or what is wrong with it; `None` at the end of the input.
fn next_line(input: &mut impl BufRead) -> std::io::Result<Option<Result<Line, String>>> {
    loop {
        let mut line = vec![];
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') && read as u64 == MAX_LINE {
            skip_line(input)?;
            return Ok(Some(Err(error("too_long", &format!("a line has at most {MAX_LINE} bytes")))));
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(serde_json::from_slice(&line).map_err(|e| error("bad_line", &format!("the line is no request: {e}")))));
        }
    }
}

/// An answer as a line.
fn written(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).unwrap_or_else(|e| error("turn", &e.to_string()))
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

fn error(code: &str, message: &str) -> String {
    json!({ "error": { "code": code, "message": message } }).to_string()
}

fn failed(e: &TurnError) -> String {
    json!({ "error": { "code": "turn", "message": e.to_string() }, "text": e.polite() }).to_string()
}

fn answer(engine: &Engine, line: &Line, place: &lines::Place<'_>, why: bool) -> String {
    if line.site.trim().is_empty() {
        return error("bad_line", "a `site` has a name");
    }
    let key = SessionKey::new(&line.site, &line.session);
    if let Some(scope) = &line.facts {
        place.enter();
        return facts(engine, &key, scope);
    }
    if line.session.trim().is_empty() {
        return error("bad_line", "a turn needs a `session`");
    }
    // Where everybody has the same role, nobody needs to say so.
    let mut roles = engine.domain().rules.keys();
    let role = match (roles.next(), roles.next()) {
        _ if !line.role.is_empty() => &line.role,
        (Some(only), None) => &**only,
        (_, _) => return error("bad_line", &format!("a turn needs a `role`: {}", engine.domain().roles())),
    };
    if engine.domain().program.as_ref().is_some_and(|p| p.walks()) && line.predicates.is_none() {
        return of_agents(engine, &key, role, line, place, why);
    }
    if line.decisions.is_some() || line.silent_s.is_some() {
        return error("bad_line", "`decisions` and `silent_s` are for agents: use --agents PATH");
    }
    if line.resume {
        place.enter();
        return match engine.resume(&key, role) {
            Ok(record) => record.map_or_else(|| json!({ "resumed": false }).to_string(), |r| written(&shown(&r, engine, why))),
            Err(e) => failed(&e),
        };
    }
    let said = match (&line.predicates, &line.text) {
        (Some(p), None) => Said::Predicates(p),
        (None, Some(t)) => Said::Text(t),
        _ => return error("bad_line", "a turn has either `predicates` or `text`"),
    };
    match engine.turn_through(place, &key, role, &said, line.request.as_deref()) {
        Ok(record) => written(&shown(&record, engine, why)),
        Err(e) => failed(&e),
    }
}

fn of_agents(engine: &Engine, key: &SessionKey, role: &str, line: &Line, place: &lines::Place<'_>, why: bool) -> String {
    let text = line.text.as_deref();
    if !line.resume && text.is_none() == line.silent_s.is_none() {
        return error("bad_line", "a turn has either `text` or `silent_s`");
    }
    let taken = if line.resume {
        place.enter();
        match engine.resume(key, role) {
            Ok(None) => return json!({ "resumed": false }).to_string(),
            Ok(Some(record)) => Ok(record),
            Err(e) => Err(e),
        }
    } else {
        let inputs;
        let said = match (text, line.silent_s, &line.decisions) {
            (Some(text), _, None) if engine.translator().is_some() => Said::Text(text),
            (None, Some(seconds), None) if engine.translator().is_some() => Said::Silence(agents::seconds(seconds)),
            _ => {
                inputs = agents::inputs(text, line.silent_s, line.decisions.as_deref().unwrap_or_default());
                Said::Atoms(text, &inputs)
            }
        };
        engine.turn_through(place, key, role, &said, line.request.as_deref())
    };
    match taken {
        Ok(record) => written(&agents::shown(&record, why)),
        Err(e) => json!({ "error": { "code": "turn", "message": e.to_string() }, "bot": [e.polite()], "text": e.polite() }).to_string(),
    }
}

/// Who speaks with agents.
pub(super) const SPEAKER: &str = "speaker";

fn facts(engine: &Engine, key: &SessionKey, scope: &str) -> String {
    let Ok(scope) = scope.parse::<Scope>() else {
        return error("bad_line", &format!("`{scope}` is no scope: use kb, shared or session"));
    };
    let site = engine.store().install(&key.site, &engine.domain().facts, engine.options().clock.now());
    match site.and_then(|_| engine.store().facts(scope, key)) {
        Ok(facts) => {
            let (settings, facts): (Vec<_>, Vec<_>) =
                facts.into_iter().partition(|f| scope == Scope::Kb && engine.domain().ontology.setting_of(&f.atom).is_some());
            let texts = |facts: &[Fact]| facts.iter().map(|f| f.atom.to_string()).collect::<Vec<_>>();
            let mut out = json!({ "facts": texts(&facts) });
            if let Some(map) = out.as_object_mut().filter(|_| scope == Scope::Kb) {
                map.insert("settings".into(), json!(texts(&settings)));
            }
            out.to_string()
        }
        Err(e) => error(e.code(), &e.to_string()),
    }
}
