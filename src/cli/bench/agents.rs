//! Turns of agents beside a model that answers at once: by steps, by a prompt, with a function; long conversations, and eight at a time.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::super::agents::{connect, domain};
use super::super::common::Failure;
use super::super::step::SPEAKER;
use super::super::step::agents::inputs;
use super::{Arguments, print_spread};
use crate::facts::{self, SessionKey};
use crate::turn::{Engine, Said};

/// Waits, hears, sets and says, for ever.
const FLOW: &str = "main:\n  type: flow agent\n  args: [what]\n  steps:\n  - label: again\n  - user\n  - if: the user claims \"a lot\"\n    then:\n    - bot: That is a lot.\n    else:\n    - bot: You said ${what}.\n  - next: again\n";
/// A reply a turn.
const PROMPT: &str = "main:\n  type: llm agent\n  description: talks\n  args: [what]\n  prompt: talk\n  uses: [look]\n";
/// A function that answers at once.
const PYTHON: &str = "def look(what: str):\n    print('seen')\n";

/// What a case asks for in a turn.
struct Case {
    name: &'static str,
    program: &'static str,
    decisions: Vec<Value>,
}

fn cases() -> Vec<Case> {
    let extract = json!({ "ask": "extract", "give": { "data": { "what": "tea" } } });
    let reply = json!({ "ask": "reply", "give": { "bot": "Yes.", "status": "running" } });
    let call = json!({ "ask": "reply", "give": { "tool": "look", "args": { "what": "tea" } } });
    vec![
        Case { name: "a flow", program: FLOW, decisions: vec![extract] },
        Case { name: "a prompt", program: PROMPT, decisions: vec![reply.clone()] },
        Case { name: "a prompt with a function call", program: PROMPT, decisions: vec![call, reply] },
    ]
}

/// Measures and prints.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    for case in cases() {
        let folder = std::env::temp_dir().join(format!("duologue-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("agents.yml"), case.program)?;
        std::fs::write(folder.join("tools.py"), PYTHON)?;
        let store = facts::open_store(&a.place.store, a.place.rule())?;
        let engine = connect(Engine::new(domain(&folder, None, &a.place.files())?, store).with_options(a.place.options()))?;
        let _ = std::fs::remove_dir_all(&folder);
        let engine = Arc::new(engine);
        // Conversations of fifty turns, the first of each left out: it opens the conversation.
        let times = timed(&engine, &case, a.turns, 50)?;
        print_spread(&format!("agents: {}", case.name), a, times);
        let long = timed(&engine, &case, 1000, 1000)?;
        let part = |from: usize, to: usize| long.get(from..to).unwrap_or_default().to_vec();
        print_spread(&format!("agents: {}, turns 51-100 of one conversation", case.name), a, part(50, 100));
        print_spread(&format!("agents: {}, turns 951-1000", case.name), a, part(950, 1000));
        let began = Instant::now();
        std::thread::scope(|scope| {
            let eight: Vec<_> = (0..8)
                .map(|n| {
                    scope.spawn({
                        let (engine, case) = (engine.clone(), &case);
                        move || one(&engine, case, &format!("of eight {n}"), 50)
                    })
                })
                .collect();
            eight.into_iter().try_for_each(|t| t.join().unwrap_or_else(|_| Err(Failure::Other("a conversation broke off".to_owned()))).map(|_| ()))
        })?;
        let rate = 8.0 * 50.0 / began.elapsed().as_secs_f64();
        if a.json {
            println!("{}", json!({ "what": format!("agents: {}, eight conversations at once", case.name), "turns_per_second": rate }));
        } else {
            println!("agents: {}, eight conversations at once: {rate:.0} turns a second", case.name);
        }
    }
    Ok(true)
}

/// Microseconds of so many turns, in conversations of a length.
fn timed(engine: &Engine, case: &Case, turns: usize, length: usize) -> Result<Vec<f64>, Failure> {
    let mut out = vec![];
    for n in 0..turns.div_ceil(length) {
        out.extend(one(engine, case, &format!("{} {length} {n}", case.name), length.min(turns - out.len().min(turns)))?);
    }
    Ok(out)
}

/// Microseconds of the turns of one conversation.
fn one(engine: &Engine, case: &Case, session: &str, turns: usize) -> Result<Vec<f64>, Failure> {
    let key = SessionKey::new("bench", session);
    let mut out = vec![];
    for n in 0..turns {
        let text = format!("number {n}");
        let given = inputs(Some(&text), None, &case.decisions);
        let began = Instant::now();
        let record = engine.turn(&key, SPEAKER, &Said::Atoms(Some(&text), &given), None).map_err(Failure::told)?;
        out.push(began.elapsed().as_secs_f64() * 1e6);
        if record.actions.is_empty() && n > 0 {
            return Err(Failure::Other(format!("nothing was said in turn {n} of `{}`", case.name)));
        }
    }
    Ok(out)
}
