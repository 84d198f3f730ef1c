//! `duologue bench`: how fast this build is on this machine.

mod agents;

use std::sync::Arc;
use std::time::Instant;

use super::common::{Failure, Listen, Place};
use crate::eval::{bench, instant};
use crate::facts::{self, SessionKey};
use crate::llm::{Api, BlockingModel, ModelConfig};
use crate::reason::bench::Engine as Measured;
use crate::turn::shares::Shares;
use crate::turn::{Engine, Said};

/// Arguments of `bench`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue bench reason\n  duologue bench reason --sizes 0,10000,100000 --rounds 20\n  duologue bench reason --sizes 0 --engines fast,proofs --dialogues tests/dialogues/drive_thru_dev.yaml\n  duologue bench understand\n  duologue bench turn --turns 2000 --json\n  duologue bench llm --store turns.db\n  duologue bench agents --reasoner fast\n  duologue bench store --store bench.db\n  duologue bench service --sessions 1000 --turns 50000\n  duologue bench service --sessions 1000 --turns 1000 --model-ms 800\n\nBuild with --release to measure."
)]
pub struct Arguments {
    /// What to measure: reason, understand, turn, llm (turns with a model that answers at once at both ends), agents (turns of ADL programs whose
    /// decisions are given), store or service.
    what: String,
    #[command(flatten)]
    place: Place,
    /// How many turns (store, turn, llm, agents).
    #[arg(long, default_value_t = 2000)]
    turns: usize,
    /// Sizes of the knowledge base in facts, 0 for the domain's own (reason).
    #[arg(long, value_delimiter = ',', default_value = "0,10000")]
    sizes: Vec<usize>,
    /// Rounds of every case (reason).
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// Only cases whose name contains this (reason).
    #[arg(long)]
    only: Option<String>,
    /// Only these engines: fast, check, confirm, clingo, whole, proofs (reason).
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// Also the decisions of all turns of these dialogue files (reason).
    #[arg(long)]
    dialogues: Vec<std::path::PathBuf>,
    /// Conversations at once (service).
    #[arg(long, default_value_t = 1000)]
    sessions: usize,
    /// Turns a second; otherwise 60 % of the capacity, which is looked for first (service).
    #[arg(long)]
    rate: Option<f64>,
    /// Processes of the service on one store, which must then be a database (service).
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// Sites that are spoken with (service).
    #[arg(long, default_value_t = 1)]
    sites: usize,
    /// What is started as a process of the service, such as a script that gives it fewer processors; otherwise this program (service).
    #[arg(long, value_name = "FILE")]
    program: Option<std::path::PathBuf>,
    /// Listen by a model that takes so many milliseconds (service).
    #[arg(long, value_name = "MILLISECONDS")]
    model_ms: Option<u64>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    match a.what.as_str() {
        "reason" => {
            let mut domain = a.place.load()?;
            let mut options = bench::Options { sizes: a.sizes.clone(), rounds: a.rounds, only: a.only.clone(), ..bench::Options::default() };
            if !a.engines.is_empty() {
                options.engines = a.engines.iter().map(|e| engine(e)).collect::<Result<_, _>>()?;
            }
            let mut progress = |what: &str| eprintln!("{what}");
            let mut report = bench::reason(&domain, &options, &mut progress).map_err(Failure::told)?;
            let mut dialogues = vec![];
            for path in &a.dialogues {
                let wrong = |e: String| Failure::Other(format!("`{}`: {e}", path.display()));
                let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
                let file = crate::eval::dialogues::read(&text).map_err(wrong)?;
                domain = file.settle(&domain).map_err(wrong)?;
                dialogues.extend(file.dialogues);
            }
            if !dialogues.is_empty() {
                report.turns = Some(bench::turns(&domain, &dialogues, &mut progress).map_err(Failure::told)?);
            }
            if a.json {
                let value = serde_json::json!({ "report": report, "peak_mib": peak_memory() });
                println!("{}", serde_json::to_string_pretty(&value).unwrap_or_default());
            } else {
                print!("{}", report.table());
                println!("peak memory {} MiB", peak_memory());
            }
            Ok(true)
        }
        "understand" => understand(a),
        "turn" => turn(a),
        "llm" => llm(a),
        "agents" => agents::run(a),
        "store" => {
            let store = facts::open_store(&a.place.store, a.place.rule())?;
            let load = facts::bench::Load { turns: a.turns, ..facts::bench::Load::default() };
            let measured = facts::bench::measure(&*store, load)?;
            println!("{}", if a.json { serde_json::to_string_pretty(&measured) } else { serde_json::to_string(&measured) }.unwrap_or_default());
            Ok(true)
        }
        "service" => service(a),
        other => Err(Failure::Other(format!("`{other}` cannot be measured: use reason, understand, turn, llm, agents, store or service"))),
    }
}

fn engine(name: &str) -> Result<Measured, Failure> {
    serde_json::from_value(name.into()).map_err(|_| Failure::Other(format!("`{name}` is no engine: use fast, check, confirm, clingo, whole or proofs")))
}

/// The utterances of the domain's sample conversation, with their lanes.
fn utterances(text: &str, first: &str) -> Vec<(String, String)> {
    let mut role = first.to_owned();
    let mut out = vec![];
    for line in text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
        match line.strip_prefix('/') {
            Some(command) => {
                if command != "why" {
                    role = command.to_owned();
                }
            }
            None => out.push((role.clone(), line.to_owned())),
        }
    }
    out
}

/// The utterances of the domain's sample conversation, in the roles that say them.
fn sample(engine: &Engine) -> Result<Vec<(String, String)>, Failure> {
    let name = &engine.domain().ontology.domain;
    let text = engine.domain().files.read(&format!("kb/{name}/demo.txt"));
    let text = text.ok_or_else(|| Failure::Other(format!("the domain `{name}` ships no sample conversation")))?;
    let first = engine.domain().ontology.roles.keys().next().map(ToString::to_string).unwrap_or_default();
    Ok(utterances(&text, &first))
}

/// Whole turns, from words to text, over the domain's sample conversation again and again.
fn turn(a: &Arguments) -> Result<bool, Failure> {
    let engine = Listen::default().equip(a.place.engine()?)?;
    let lines = sample(&engine)?;
    let mut times = vec![];
    tracing::subscriber::with_default(Shares::beside(), || {
        for (at, (role, line)) in lines.iter().cycle().take(a.turns).enumerate() {
            // A conversation holds few turns, as real ones do.
            let key = SessionKey::new("bench", &format!("{role}{}", at / lines.len().max(1)));
            let began = Instant::now();
            engine.turn(&key, role, &Said::Text(line), None).map_err(Failure::told)?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
        Ok::<(), Failure>(())
    })?;
    let turns = times.len().max(1) as f64;
    let whole: f64 = times.iter().sum();
    let mut parts: Vec<(&str, f64)> = Shares::taken().into_iter().map(|(name, spent)| (name, spent.as_secs_f64() * 1e6)).collect();
    parts.push(("the rest", whole - parts.iter().map(|p| p.1).sum::<f64>()));
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    print_spread("turn", a, times);
    if a.json {
        let of_turn: serde_json::Map<_, _> = parts.iter().map(|(name, spent)| ((*name).to_owned(), (spent / turns).into())).collect();
        println!("{}", serde_json::json!({ "what": "parts of a turn", "mean_us": of_turn }));
    } else {
        println!("where it goes, on average a turn:");
        for (name, spent) in parts {
            println!("  {name:<12} {:>9.1} µs {:>5.1} %", spent / turns, 100.0 * spent / whole);
        }
    }
    Ok(true)
}

/// Whole turns with a model at both ends that answers at once: all of the time is the engine's, the store's and the wire's.
fn llm(a: &Arguments) -> Result<bool, Failure> {
    let other = |e: &dyn std::fmt::Display| Failure::Other(e.to_string());
    let server = instant::Instant::start().map_err(|e| other(&e))?;
    let model = BlockingModel::configured(ModelConfig::new(Api::OpenAi, &server.url(), "instant"), |_| None).map_err(|e| other(&e))?;
    let engine = a.place.engine()?;
    let understand = engine.domain().model_translator(model.clone()).map_err(|e| other(&e))?;
    let render = engine.domain().model_renderer(model).map_err(|e| other(&e))?;
    let engine = engine.with_understand(Arc::new(understand)).with_render(Arc::new(render));
    let lines = sample(&engine)?;
    let (mut times, mut input) = (vec![], std::collections::BTreeMap::new());
    for (at, (role, line)) in lines.iter().cycle().take(a.turns).enumerate() {
        // A conversation holds few turns, as real ones do.
        let key = SessionKey::new("bench", &format!("{role}{}", at / lines.len().max(1)));
        let began = Instant::now();
        let record = engine.turn_streaming(&key, role, &Said::Text(line), None, &mut |_| {}).map_err(|e| other(&e))?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
        if let Some(models) = record.models.as_ref() {
            let translated = models.understanding.as_ref().and_then(|u| u.exchange.as_ref()).map_or(0, |e| e.usage.input);
            let sums: &mut (u64, u64, u64) = input.entry(role.clone()).or_default();
            *sums = (sums.0 + translated, sums.1 + models.turn.input, sums.2 + 1);
        }
    }
    let mean = |at: fn(&(u64, u64, u64)) -> u64| -> std::collections::BTreeMap<&String, u64> {
        input.iter().map(|(role, sums)| (role, at(sums) / sums.2.max(1))).collect()
    };
    let (tokens, all) = (mean(|sums| sums.0), mean(|sums| sums.1));
    if !a.json {
        for (role, mean) in &tokens {
            let all = all.get(role).copied().unwrap_or_default();
            println!("a turn of the {role} sends about {all} tokens, {mean} of them for the translation (a token has about four bytes)");
        }
        println!("{:.2} calls a turn, each answered at once by a server on this machine", server.requests() as f64 / a.turns.max(1) as f64);
    }
    print_measured("turn with a model at both ends", a, times, &[("translation_tokens", serde_json::json!(tokens)), ("turn_tokens", serde_json::json!(all))]);
    Ok(true)
}

/// The service as a process of its own, under turns that arrive when they are due.
#[cfg(feature = "serve")]
fn service(a: &Arguments) -> Result<bool, Failure> {
    use clap::ValueEnum;
    let engine = a.place.engine()?;
    let anybody = |role: &str| engine.domain().ontology.is_for_anybody(role);
    let lines: Vec<String> = sample(&engine)?.into_iter().filter(|(role, _)| anybody(role)).map(|(_, line)| line).collect();
    if lines.is_empty() {
        return Err(Failure::Other("the domain's sample conversation says nothing in a role that is for anybody".to_owned()));
    }
    if a.nodes > 1 && a.place.store == ":memory:" {
        return Err(Failure::Other("each process would have a store in memory of its own: give --store an address".to_owned()));
    }
    let how = a.place.reasoner.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    let audit = a.place.audit.to_string();
    let arguments = ["--domain", &engine.domain().ontology.domain, "--store", &a.place.store, "--reasoner", &how, "--audit", &audit].map(str::to_owned);
    let load = crate::eval::service::Load {
        program: a.program.clone().map_or_else(std::env::current_exe, Ok)?,
        arguments: arguments.to_vec(),
        nodes: a.nodes,
        sites: a.sites,
        sessions: a.sessions,
        turns: a.turns,
        rate: a.rate,
        model: a.model_ms.map(std::time::Duration::from_millis),
        lines,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = runtime.block_on(crate::eval::service::measure(&load, &mut |what| eprintln!("{what}"))).map_err(Failure::Other)?;
    println!("{}", if a.json { serde_json::to_string_pretty(&measured).unwrap_or_default() } else { measured.to_string() });
    Ok(measured.errors.is_empty())
}

#[cfg(not(feature = "serve"))]
fn service(_: &Arguments) -> Result<bool, Failure> {
    Err(Failure::Other("this program was built without the feature `serve`".to_owned()))
}

/// The translator alone.
fn understand(a: &Arguments) -> Result<bool, Failure> {
    let began = Instant::now();
    let domain = a.place.load()?;
    let loaded = began.elapsed();
    let began = Instant::now();
    let translator = domain.embedded()?.ok_or_else(|| Failure::Other("the domain ships no lexicon".to_owned()))?;
    let ready = began.elapsed();
    let text = domain.files.read(&format!("kb/{}/demo.txt", domain.ontology.domain)).unwrap_or_default();
    let lines = utterances(&text, "");
    let mut times = vec![];
    for (role, line) in lines.iter().cycle().take(a.turns) {
        let context = crate::understand::Context { role: role.as_str().into(), ..crate::understand::Context::default() };
        let began = Instant::now();
        std::hint::black_box(crate::understand::Understand::understand(&translator, line, &context));
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    println!("domain loaded in {:.1} ms, translator in {:.1} ms", loaded.as_secs_f64() * 1e3, ready.as_secs_f64() * 1e3);
    print_spread("utterance", a, times);
    Ok(true)
}

fn print_spread(what: &str, a: &Arguments, times: Vec<f64>) {
    print_measured(what, a, times, &[]);
}

/// The spread, and what else was measured.
fn print_measured(what: &str, a: &Arguments, mut times: Vec<f64>, more: &[(&str, serde_json::Value)]) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get(((times.len() as f64 - 1.0) * share) as usize).copied().unwrap_or_default();
    let (p50, p99, n, memory) = (at(0.5), at(0.99), times.len(), peak_memory());
    if a.json {
        let mut line = serde_json::json!({ "what": what, "n": n, "p50_us": p50, "p99_us": p99, "peak_mib": memory });
        if let Some(line) = line.as_object_mut() {
            line.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        }
        println!("{line}");
    } else {
        println!("{what}: n {n}, p50 {p50:.1} µs, p99 {p99:.1} µs, peak memory {memory} MiB");
    }
}

/// The process's peak memory in MiB, as Linux tells it; 0 elsewhere.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}
