//! The invariants of ARCHITECTURE.md that can be read off the source tree.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::path::{Path, PathBuf};

fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut out = vec![];
    let mut open: Vec<PathBuf> = vec![root.join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().flatten().map(|e| e.path()));
        } else if path.to_string_lossy().ends_with(ending) {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            out.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    out.sort();
    out
}

/// The lines of code, without comments and without the tests at the end of a file.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or(text);
    text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn offenders(folder: &str, word: &str, allowed: &[&str]) -> Vec<String> {
    files(folder, ".rs")
        .into_iter()
        .filter(|(name, text)| !allowed.iter().any(|a| name.starts_with(a)) && code(text).contains(word))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn only_one_module_names_clingo_and_is_unsafe() {
    assert_eq!(offenders("src", "clingo::{", &["src/reason/clingo.rs"]), [""; 0]);
    assert_eq!(offenders("src", "use clingo::", &["src/reason/clingo.rs"]), [""; 0]);
    assert_eq!(offenders("src", "clingo_sys", &["src/reason/clingo.rs"]), [""; 0]);
    assert_eq!(offenders("src", "unsafe {", &["src/reason/clingo.rs"]), [""; 0]);
}

#[test]
fn reasoning_does_no_input_or_output_and_knows_no_text() {
    for word in ["std::fs", "std::net", "std::process", "crate::facts", "crate::turn", "crate::render", "crate::understand", "crate::llm"] {
        assert_eq!(offenders("src/reason", word, &["src/reason/tests"]), [""; 0], "{word}");
    }
}

#[test]
fn only_the_two_ends_use_language_models() {
    let allowed = ["src/llm", "src/understand", "src/render", "src/cli", "src/eval", "src/link", "src/domain/ends.rs"];
    assert_eq!(offenders("src", "crate::llm", &allowed), [""; 0]);
}

#[test]
fn authoring_languages_do_not_know_the_turn() {
    assert_eq!(offenders("src/lang", "crate::turn", &[]), [""; 0]);
}

#[test]
fn core_rules_and_code_name_no_domain() {
    let words = ["taco", "burrito", "pepsi", "lettuce", "guacamole", "hospital", "pharmacy"];
    for (name, text) in files("rules/core", ".lp") {
        let lower = text.to_lowercase();
        assert_eq!(words.iter().find(|w| lower.contains(*w)), None, "{name}");
    }
    for (name, text) in files("src", ".rs") {
        // Help texts of the command line show examples of the built-in domain, and tests are about one.
        if name.starts_with("src/cli") || name.contains("/tests") {
            continue;
        }
        let lower = code(&text).to_lowercase();
        assert_eq!(words.iter().find(|w| lower.contains(*w)), None, "{name}");
    }
}

#[test]
fn every_file_opens_with_a_sentence_and_stays_small() {
    for (name, text) in files("src", ".rs") {
        assert!(text.starts_with("//! "), "{name} has no first sentence");
        assert!(text.lines().count() <= 1000, "{name} has {} lines", text.lines().count());
    }
}
