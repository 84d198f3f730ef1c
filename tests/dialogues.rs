//! Every dialogue file of `tests/dialogues`, each dialogue one test: run by the evaluator alone, confirmed by clingo, with its proofs checked, and from
//! its words.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::sync::Arc;

use duologue::domain::{Domain, Files};
use duologue::eval::dialogues::{self, Dialogue};
use duologue::eval::invariants::Invariants;
use duologue::facts::MemoryStore;
use duologue::reason::Reasoner;
use duologue::turn::{Clock, Options};
use duologue::understand::embedded::Embedded;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![];
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dialogues");
    let mut files: Vec<_> = std::fs::read_dir(root).unwrap().flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "yaml")).collect();
    files.sort();
    for file in files {
        // The file's name begins with its domain: drive_thru_dev.yaml.
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let domain_name = Files::built_in().domains().into_iter().find(|d| stem.starts_with(d.as_str())).unwrap_or_else(|| "drive_thru".to_owned());
        let domain = Arc::new(Domain::load(&Files::built_in(), &domain_name).unwrap_or_else(|found| panic!("{found:?}")));
        let invariants = Arc::new(Invariants::load(&domain).unwrap_or_else(|found| panic!("{found:?}")));
        let all = dialogues::read(&std::fs::read_to_string(&file).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let domain = Arc::new(all.settle(&domain).unwrap_or_else(|e| panic!("{}: {e}", file.display())));
        let listener: Arc<Embedded> = Arc::new(domain.embedded().unwrap().unwrap());
        for dialogue in all.dialogues {
            let ways = [("fast", Reasoner::Fast, false), ("confirm", Reasoner::Confirm, false), ("proofs", Reasoner::Fast, true)];
            for (how, reasoner, proofs) in ways.into_iter().filter(|_| !dialogue.only_words()) {
                let (domain, invariants, dialogue) = (domain.clone(), invariants.clone(), dialogue.clone());
                let name = format!("{stem}::{}::{how}", dialogue.id);
                trials.push(Trial::test(name, move || run(&dialogue, &domain, invariants.as_ref().as_ref(), reasoner, proofs, None)));
            }
            // Predicates that words do not lead to have no words to be tested from.
            let in_words = dialogue.steps.iter().all(|s| !s.say.is_empty()) && !PREDICATES_ONLY.contains(&stem.as_str());
            if dialogue.only_words() || in_words {
                let (domain, invariants, listener) = (domain.clone(), invariants.clone(), listener.clone());
                let name = format!("{stem}::{}::words", dialogue.id);
                trials.push(Trial::test(name, move || run(&dialogue, &domain, invariants.as_ref().as_ref(), Reasoner::Fast, false, Some(listener))));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Files whose `say` comments on the predicates instead of standing for them.
const PREDICATES_ONLY: [&str; 3] = ["drive_thru_brisk", "drive_thru_policy", "hospital_sure"];

/// With `proofs`, the proofs of everything decided are checked by code that shares nothing with what made them.
fn run(
    dialogue: &Dialogue,
    domain: &Domain,
    invariants: Option<&Invariants>,
    reasoner: Reasoner,
    proofs: bool,
    words: Option<Arc<Embedded>>,
) -> Result<(), Failed> {
    let options = Options { reasoner, clock: Clock::Fixed(0), remember: proofs, ..Options::default() };
    let engine = dialogues::fresh(domain, Arc::new(MemoryStore::default()), options);
    let from_words = words.is_some();
    let engine = if let Some(listener) = words { engine.with_understand(listener) } else { engine };
    let outcome =
        dialogues::run_and(dialogue, &engine, from_words, invariants, &mut |engine, key| if proofs { dialogues::flaws_of_proofs(engine, key) } else { vec![] });
    if outcome.differences.is_empty() { Ok(()) } else { Err(format!("{}: {:#?}", outcome.title, outcome.differences).into()) }
}
