//! The evaluator against published systems, and the policy on recorded dialogues.

use super::*;

/// The data directory given by `DUOLOGUE_MULTIWOZ`; without it the tests that need the whole data set are skipped.
fn full() -> Option<PathBuf> {
    std::env::var_os("DUOLOGUE_MULTIWOZ").map(PathBuf::from)
}

fn round(x: f64, digits: i32) -> f64 {
    let by = 10.0_f64.powi(digits);
    (x * by).round() / by
}

/// Scores of the reference evaluator for published systems, on the same files.
#[test]
fn published_systems_score_what_the_reference_evaluator_prints() {
    let Some(data) = full() else { return };
    let expected: BTreeMap<String, Value> = data::json(&data.join("expected_scores.json")).unwrap();
    let mut benchmark = Benchmark::read(&data, "test").unwrap();
    let mut checked = 0;
    for (name, e) in &expected {
        let file = data.join("sample_predictions").join(format!("{name}.json"));
        if !file.exists() {
            continue;
        }
        let s = benchmark.score(&benchmark.system(&file).unwrap());
        checked += 1;
        assert_eq!(round(s.inform, 1), e["inform"].as_f64().unwrap(), "{name} inform");
        assert_eq!(round(s.success, 1), e["success"].as_f64().unwrap(), "{name} success");
        assert_eq!(round(s.bleu, 2), e["bleu"].as_f64().unwrap(), "{name} bleu");
        for (d, x) in e["inform_by_domain"].as_object().unwrap().iter().filter(|(d, _)| *d != "total") {
            assert_eq!(round(s.domains[d].inform, 1), x.as_f64().unwrap(), "{name} inform {d}");
            assert_eq!(round(s.domains[d].success, 1), e["success_by_domain"][d].as_f64().unwrap(), "{name} success {d}");
        }
        if let Some(t) = e.get("dst").filter(|t| t.is_object()) {
            let own = s.tracking.unwrap();
            assert_eq!(round(own.joint_accuracy, 3), t["joint_accuracy"].as_f64().unwrap(), "{name} joint accuracy");
            assert_eq!(round(own.slot_f1, 3), t["slot_f1"].as_f64().unwrap(), "{name} slot F1");
        }
    }
    assert!(checked > 3);
    for (part, single) in [("dev", false), ("dev-single", true)] {
        if single {
            benchmark.dialogues.retain(|d| d.goals.len() == 1);
        }
        let bounds = benchmark.bounds();
        for (name, bound) in [("all_placeholders", "every placeholder in every turn"), ("reference_responses", "the recorded replies")] {
            let (e, s) = (&expected[&format!("{name}+gold_states/{part}")], &bounds[bound]);
            assert_eq!(round(s.inform, 1), e["inform"].as_f64().unwrap(), "{name} {part} inform");
            assert_eq!(round(s.success, 1), e["success"].as_f64().unwrap(), "{name} {part} success");
        }
    }
}

/// Everything that the companion files hold follows from the dialogues themselves.
#[test]
fn companion_files_can_be_rebuilt() {
    let Some(dir) = full() else { return };
    let bare = tempfile::tempdir().unwrap();
    std::fs::copy(dir.join("test_mwoz21.jsonl"), bare.path().join("test_mwoz21.jsonl")).unwrap();
    let spellings = Spellings::parse(include_str!("../../../kb/multiwoz/normalise.json")).unwrap();
    let convention = Convention::built_in().unwrap();
    let given = data::dialogues(&dir, "test", &spellings, &convention).unwrap();
    let rebuilt = data::dialogues(bare.path(), "test", &spellings, &convention).unwrap();
    let mut other_words = 0;
    for (g, r) in given.iter().zip(&rebuilt) {
        for (d, goal) in &g.goals {
            assert_eq!(goal.informable, r.goals[d].informable, "{}", g.id);
            assert_eq!(goal.requestable, r.goals[d].requestable, "{}", g.id);
        }
        for (a, b) in g.turns.iter().zip(&r.turns) {
            assert_eq!(a.state, b.state, "{}", g.id);
            assert_eq!(a.booked.iter().collect::<std::collections::BTreeSet<_>>(), b.booked.iter().collect(), "{}", g.id);
            other_words += usize::from(a.reference != b.reference);
        }
    }
    assert!(other_words < 20, "{other_words} references differ");
}

fn excerpt() -> Benchmark {
    Benchmark::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/multiwoz"), "val").unwrap()
}

/// What the rules decide and say on three recorded dialogues, turn by turn.
#[test]
fn three_dialogues_are_led_as_written_down() {
    let benchmark = excerpt();
    let agent = Agent::new(Reasoner::Fast).unwrap();
    let mut out = String::new();
    for d in &benchmark.dialogues {
        let known: Vec<State> = d.turns.iter().map(|t| t.known.clone()).collect();
        let moves = agent.moves(d, &known, &benchmark.venues).unwrap();
        let said = agent.said(&moves, |r| benchmark.normal(r));
        for ((turn, m), s) in d.turns.iter().zip(&moves).zip(&said) {
            let actions: Vec<String> = m.actions.iter().map(ToString::to_string).collect();
            out += &format!("user: {}\n  {} | {}\n  system: {}\n", turn.user, m.focus.join(", "), actions.join(" "), s.response);
        }
        out += "\n";
    }
    insta::assert_snapshot!(out);
}

/// What is written for other evaluators scores the same when it is read again.
#[test]
fn written_turns_score_as_they_did() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/multiwoz");
    for states in [States::Oracle, States::Own] {
        let args = Args { data: data.clone(), split: "val".to_owned(), states, predictions: Some(file.path().to_owned()), ..Args::default() };
        let scores = run(&args).unwrap().scores;
        let again = run(&Args { system: Some(file.path().to_owned()), predictions: None, ..args }).unwrap().scores;
        assert_eq!(serde_json::to_string(&scores).unwrap(), serde_json::to_string(&again).unwrap());
        assert!(scores.inform > 0.0);
    }
}

/// clingo, solving the same rules, makes the same moves.
#[test]
fn both_engines_make_the_same_moves() {
    let benchmark = excerpt();
    let (fast, confirm) = (Agent::new(Reasoner::Fast).unwrap(), Agent::new(Reasoner::Confirm).unwrap());
    for d in &benchmark.dialogues {
        let known: Vec<State> = d.turns.iter().map(|t| t.known.clone()).collect();
        assert_eq!(fast.moves(d, &known, &benchmark.venues).unwrap(), confirm.moves(d, &known, &benchmark.venues).unwrap(), "{}", d.id);
    }
}

/// What a turn decides does not depend on what is said after it, nor on its own recorded reply.
#[test]
fn no_turn_looks_ahead() {
    let benchmark = excerpt();
    let agent = Agent::new(Reasoner::Fast).unwrap();
    for d in &benchmark.dialogues {
        let known: Vec<State> = d.turns.iter().map(|t| t.known.clone()).collect();
        let whole = agent.moves(d, &known, &benchmark.venues).unwrap();
        let own = Tracker::new(&benchmark.venues).unwrap();
        let tracked = own.track(d, agent.cues(), &benchmark.spellings);
        for n in 1..=d.turns.len() {
            let mut cut = d.clone();
            cut.turns.truncate(n);
            cut.turns[n - 1].reply = "something else entirely, with a reference number".to_owned();
            cut.turns[n - 1].reference = String::new();
            assert_eq!(agent.moves(&cut, &known[..n], &benchmark.venues).unwrap(), whole[..n], "{} {n}", d.id);
            assert_eq!(own.track(&cut, agent.cues(), &benchmark.spellings), tracked[..n], "{} {n}", d.id);
        }
    }
}
