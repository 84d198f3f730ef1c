//! `duologue test`: dialogue files against their expectations, and the adversary.

mod agents;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::common::{Calls, Failure, Listen, Place, read};
use crate::domain::Domain;
use crate::eval::adversary::{self, Dice, Known};
use crate::eval::dialogues::{self, Outcome};
use crate::eval::invariants::Invariants;
use crate::facts::{MemoryStore, SessionKey, Store};
use crate::ontology::Scope;
use crate::turn::{Clock, Engine, Options, Said};

/// Arguments of `test`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue test tests/dialogues\n  duologue test my_dialogues.yaml --understanding embedded   what is said, not what is `parsed`\n  duologue test --adversary 7 --steps 100000 --reasoner fast\n  duologue test tests/dialogues --proofs\n  duologue test my_conversations.yaml --agents my_agents/"
)]
pub struct Arguments {
    /// Dialogue files (.yaml) or folders of them.
    paths: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    calls: Calls,
    /// Who turns words into predicates: `scripted` takes each step's `parsed`. If unsaid: `embedded` for dialogues of words alone, `scripted`
    /// for the others.
    #[arg(long)]
    understanding: Option<String>,
    /// Replace all understanding by arbitrary predicates from this seed.
    #[arg(long, value_name = "SEED")]
    adversary: Option<u64>,
    /// How many turns the adversary takes.
    #[arg(long, default_value_t = 1000)]
    steps: usize,
    /// Check the proofs of every turn too: each step against the author's rule, in clingo's model of the whole program.
    #[arg(long)]
    proofs: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the files or the adversary.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let domain = a.place.load()?;
    let invariants = Invariants::load(&domain).map_err(Failure::Domain)?;
    let options = Options { clock: Clock::Fixed(0), remember: a.proofs, ..a.place.options() };
    if let Some(seed) = a.adversary {
        return adversary(a, &domain, invariants.as_ref(), &options, seed);
    }
    if a.paths.is_empty() {
        return Err(Failure::Other("name dialogue files or folders, or use --adversary SEED".to_owned()));
    }
    let listen = Listen::by(a.understanding.as_deref().filter(|u| *u != "scripted").unwrap_or("embedded"));
    if a.place.agents.is_some() {
        return agents::run(&a.place, &listen, &files(&a.paths)?, a.json);
    }
    let (mut outcomes, mut from_words, mut left_out): (Vec<Outcome>, bool, usize) = (vec![], false, 0);
    let mut others: BTreeMap<String, (Domain, Option<Invariants>)> = BTreeMap::new();
    for file in files(&a.paths)? {
        let all = dialogues::read(&read(&file)?).map_err(Failure::at(&file))?;
        let (domain, invariants) = match named_by(&file, &a.place) {
            None => (&domain, &invariants),
            Some(name) => {
                if !others.contains_key(&name) {
                    let other = Domain::load(&a.place.files(), &name)?;
                    let invariants = Invariants::load(&other)?;
                    others.insert(name.clone(), (other, invariants));
                }
                match others.get(&name) {
                    Some((d, i)) => (d, i),
                    None => continue,
                }
            }
        };
        let domain = all.settle(domain).map_err(Failure::at(&file))?;
        for d in all.dialogues {
            let words = a.understanding.as_deref().map_or_else(|| d.only_words(), |u| u != "scripted");
            from_words |= words;
            if d.only_words() && !words {
                left_out += 1;
                continue;
            }
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new(a.place.rule()));
            let engine = dialogues::fresh(&domain, store, options.clone());
            // A file of targets is about the domain that was named; another domain's dialogues are answered by its stand-ins.
            let engine = if *domain.ontology.domain == *a.place.name() { a.calls.connect(engine)? } else { engine };
            let engine = if words { listen.equip(engine)? } else { engine };
            outcomes.push(dialogues::run_and(&d, &engine, words, invariants.as_ref(), &mut |engine, key| flaws(a, engine, key)));
        }
    }
    let failed = outcomes.iter().filter(|o| !o.differences.is_empty()).count();
    if a.json {
        println!("{}", serde_json::to_string_pretty(&outcomes).unwrap_or_default());
    } else {
        for o in outcomes.iter().filter(|o| !o.differences.is_empty()) {
            println!("{} {}", o.id, o.title);
            for d in &o.differences {
                let place = if d.step == 0 { "at the end".to_owned() } else { format!("step {}: {}", d.step, d.said) };
                println!("  {place}\n    {}", d.what);
                if !d.actions.is_empty() {
                    println!("    actions: {}", d.actions.join(" "));
                }
            }
        }
        if from_words {
            task_success(&outcomes);
        }
        if left_out > 0 {
            println!("{left_out} left out: they are of words alone and nobody listens (--understanding embedded)");
        }
        println!("{} dialogues, {} turns: {} hold, {failed} differ", outcomes.len(), outcomes.iter().map(|o| o.turns).sum::<usize>(), outcomes.len() - failed);
    }
    Ok(failed == 0)
}

/// How many conversations ended as they should, by kind; and what was heard of turns that say what they mean.
fn task_success(outcomes: &[Outcome]) {
    let kinds: std::collections::BTreeSet<&str> = outcomes.iter().map(|o| o.kind.as_str()).collect();
    let share = |of: &[&Outcome]| format!("{} of {}", of.iter().filter(|o| o.reached()).count(), of.len());
    let all: Vec<&Outcome> = outcomes.iter().collect();
    let parts: Vec<String> =
        (kinds.iter().filter(|k| !k.is_empty())).map(|k| format!("{k} {}", share(&outcomes.iter().filter(|o| o.kind == *k).collect::<Vec<_>>()))).collect();
    println!("task success: {}{}", share(&all), if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) });
    let sum = |count: fn(&Outcome) -> usize| outcomes.iter().map(count).sum::<usize>();
    let labelled = sum(|o| o.labelled);
    if labelled > 0 {
        println!("turns right: {} of {labelled}, with an act of a kind that was not meant: {}", sum(|o| o.right), sum(|o| o.wrong));
    }
}

fn flaws(a: &Arguments, engine: &Engine, key: &SessionKey) -> Vec<String> {
    if a.proofs { dialogues::flaws_of_proofs(engine, key) } else { vec![] }
}

/// A file whose name begins with another domain's name is run on that domain.
fn named_by(file: &Path, place: &Place) -> Option<String> {
    let stem = file.file_stem()?.to_string_lossy().into_owned();
    place.files().domains().into_iter().find(|d| *d != place.name() && stem.starts_with(d.as_str()))
}

fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut out = vec![];
    for path in paths {
        if path.is_dir() {
            let entries = std::fs::read_dir(path)?.flatten().map(|e| e.path());
            let mut inner: Vec<PathBuf> = entries.filter(|p| p.is_dir() || is_yaml(p)).collect();
            inner.sort();
            out.extend(files(&inner)?);
        } else {
            out.push(path.clone());
        }
    }
    Ok(out)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "yaml" || e == "yml")
}

/// The domain with arbitrary answers of its program's functions.
fn answering(dice: &mut Dice, domain: &Domain) -> Domain {
    let mut domain = domain.clone();
    let Some(program) = domain.program.clone() else { return domain };
    for f in &mut Arc::make_mut(&mut domain.ontology).functions {
        match program.function(&f.name) {
            Some(function) if !program.walks() => f.stand_in = adversary::graphs::answers(dice, function),
            _ => f.stand_in = adversary::agents::answers(dice, &program),
        }
    }
    domain
}

fn adversary(a: &Arguments, domain: &Domain, invariants: Option<&Invariants>, options: &Options, seed: u64) -> Result<bool, Failure> {
    let mut dice = Dice::new(seed);
    let roles: Vec<String> = domain.ontology.roles.keys().map(ToString::to_string).collect();
    let (mut broken, mut taken, mut admitted, mut refused) = (0usize, 0usize, 0usize, 0usize);
    while taken < a.steps {
        // A fresh site now and then keeps the runs short enough to be read when something breaks.
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(a.place.rule()));
        let program = domain.program.as_ref().filter(|p| p.walks());
        let engine = dialogues::fresh(&answering(&mut dice, domain), store, options.clone());
        let mut trace: Vec<String> = vec![];
        // What functions answer is the site's.
        let turns = if domain.program.is_some() { 50 } else { 200 };
        for _ in 0..turns.min(a.steps - taken) {
            let Some(role) = dice.pick(&roles).cloned() else { break };
            let session = format!("{role}{}", dice.below(2));
            let key = SessionKey::new("test", &session);
            let shared: Vec<_> = engine.store().facts(Scope::Shared, &key).unwrap_or_default().into_iter().map(|f| f.atom).collect();
            let said = match program {
                Some(program) => adversary::agents::predicates(&mut dice, program),
                None => adversary::predicates(&mut dice, &domain.ontology, Known { kb: &domain.facts, shared: &shared }, &role),
            };
            let before = invariants.map(|i| i.before(&engine, &key, &role));
            trace.push(format!("{session}: {}", said.join(" ")));
            taken += 1;
            let mut found = match engine.turn(&key, &role, &Said::Predicates(&said), None) {
                Err(e) => vec![format!("error: {e}")],
                Ok(record) => {
                    admitted += record.predicates.len();
                    refused += record.refused.len();
                    match (invariants, &before) {
                        (Some(i), Some(b)) => i.after(&engine, b, &record),
                        _ => vec![],
                    }
                }
            };
            found.extend(flaws(a, &engine, &key));
            if !found.is_empty() {
                broken += 1;
                println!("broken: {}", found.join("; "));
                for line in trace.iter().rev().take(6).rev() {
                    println!("  {line}");
                }
                if broken >= 10 {
                    println!("{taken} turns, stopped after {broken} broken ones");
                    return Ok(false);
                }
                break;
            }
        }
    }
    println!("{taken} turns of the adversary (seed {seed}): {admitted} predicates admitted, {refused} refused, {broken} turns broke an invariant or a right");
    Ok(broken == 0)
}
