//! What trains and what measures are apart: nothing that is learned from stands in a set that is measured on, word for word or nearly,
//! and every labelled file tells where it comes from.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Shorter utterances are everybody's: "two tacos please" is nobody's copy.
const SHORT: usize = 4;
/// From so many words on, utterances that share nearly all of them are copies.
const LONG: usize = 6;
/// The part of the words of two utterances that both hold, in per cent, from which on they are near copies.
const NEAR: usize = 80;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The utterances of a file of cases: name and words.
fn utterances(path: &Path) -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|l| !l.trim().is_empty()).map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    lines.filter_map(|v| Some((v["id"].as_str()?.to_owned(), words(v["text"].as_str()?)))).collect()
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

fn files(folder: &str, ends: &str) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = std::fs::read_dir(root().join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
    out.retain(|p| p.to_string_lossy().ends_with(ends));
    out.sort();
    out
}

/// What readers learn from and no pattern was written for.
const HELD_OUT: &str = "kb/drive_thru/held_out";

fn held_out() -> Vec<(String, Vec<String>)> {
    files(HELD_OUT, ".jsonl").iter().flat_map(|f| utterances(f)).collect()
}

/// The first pairs of near copies, each as "one ~ other".
fn copies(learned: &[(String, Vec<String>)], measured: &[(String, Vec<String>)]) -> Vec<String> {
    let exact: BTreeMap<&[String], &str> = measured.iter().filter(|m| m.1.len() >= SHORT).map(|(id, w)| (w.as_slice(), id.as_str())).collect();
    let sets: Vec<(&str, BTreeSet<&str>)> =
        measured.iter().filter(|m| m.1.len() >= LONG).map(|(id, w)| (id.as_str(), w.iter().map(String::as_str).collect())).collect();
    let mut by_word: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, (_, set)) in sets.iter().enumerate() {
        set.iter().for_each(|w| by_word.entry(w).or_default().push(i));
    }
    let mut out = vec![];
    for (id, said) in learned {
        if let Some(other) = exact.get(said.as_slice()) {
            out.push(format!("{id} = {other}"));
        }
        if said.len() < LONG {
            continue;
        }
        let own: BTreeSet<&str> = said.iter().map(String::as_str).collect();
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        own.iter().filter_map(|w| by_word.get(w)).flatten().for_each(|i| *shared.entry(*i).or_default() += 1);
        let near = |(i, n): (&usize, &usize)| n * 100 >= NEAR * (own.len() + sets[*i].1.len() - n);
        out.extend(shared.iter().filter(|x| near(*x)).map(|(i, _)| format!("{id} ~ {}", sets[*i].0)));
    }
    out
}

#[test]
fn nothing_that_measures_is_learned_from() {
    let mut learned = utterances(&root().join("kb/drive_thru/examples.jsonl"));
    learned.extend(held_out());
    assert!(learned.len() > 5_000, "{}", learned.len());
    let mut measured = vec![];
    // `own.jsonl` trains: it is what the patterns were written with.
    let sets = files("tests/data/nlu", ".jsonl").into_iter().filter(|f| !f.ends_with("own.jsonl"));
    for file in files("tests/data/utterances", "-test.jsonl").into_iter().chain(sets) {
        measured.extend(utterances(&file));
    }
    assert!(measured.len() > 700, "{}", measured.len());
    let found = copies(&learned, &measured);
    assert!(found.is_empty(), "{} copies, such as {:?}", found.len(), &found[..found.len().min(5)]);
}

#[test]
fn what_is_tuned_on_and_what_is_kept_aside_are_apart() {
    let all = |ends| files("tests/data/utterances", ends).iter().flat_map(|f| utterances(f)).collect::<Vec<_>>();
    let (tune, test) = (all("-tune.jsonl"), all("-test.jsonl"));
    let names: BTreeSet<&String> = tune.iter().map(|t| &t.0).collect();
    assert!(test.iter().all(|t| !names.contains(&t.0)));
}

/// What the trust in readings is fitted on is not what they were learned from: it would look surer than it is.
#[test]
fn what_is_held_out_is_not_among_the_examples() {
    let names = |all: Vec<(String, Vec<String>)>| all.into_iter().map(|u| u.0).collect::<BTreeSet<String>>();
    let (learned, held) = (names(utterances(&root().join("kb/drive_thru/examples.jsonl"))), names(held_out()));
    assert!(held.len() > 700 && held.is_disjoint(&learned));
}

#[test]
fn a_copy_is_found_and_a_likeness_is_not() {
    let case = |text: &str| vec![(text.to_owned(), words(text))];
    let one = case("could you take the pepsi off the menu for good");
    assert_eq!(copies(&one, &case("Could you take the Pepsi off the menu for good?")).len(), 2);
    assert_eq!(copies(&one, &case("could you please take the pepsi off the menu for good")).len(), 1);
    assert_eq!(copies(&one, &case("could you take the starry off my order right now")).len(), 0);
    assert_eq!(copies(&case("two tacos please"), &case("Two tacos, please!")).len(), 0);
}

#[test]
fn every_labelled_file_tells_where_it_comes_from() {
    let ours = [("tests/data/utterances", "-tune.jsonl"), ("tests/data/utterances", "-test.jsonl"), (HELD_OUT, ".jsonl")];
    for file in ours.iter().flat_map(|(folder, ends)| files(folder, ends)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let about: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let about = about["about"].as_str().unwrap();
        for told in ["Written", "author", "labels", "2026"] {
            assert!(about.contains(told), "{} does not tell `{told}`", file.display());
        }
    }
    let readmes = [("tests/data/nlu", "tests/data/nlu"), ("tests/data/utterances", "tests/data/utterances"), (HELD_OUT, "tests/data/utterances")];
    for (folder, readme) in readmes.map(|(folder, of)| (folder, format!("{of}/README.md"))) {
        let told = std::fs::read_to_string(root().join(&readme)).unwrap();
        assert!(told.contains("written by") || told.contains("Written by"), "{readme}");
        for file in files(folder, ".jsonl") {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let family = name.replace(|c: char| c.is_ascii_digit(), "N");
            assert!(told.contains(&name) || told.contains(&family), "{readme} does not name {name}");
        }
    }
}
