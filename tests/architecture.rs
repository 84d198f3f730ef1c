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

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/places.rs"]
mod places;
#[path = "architecture/readings.rs"]
mod readings;

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

/// The lines of code, without comments, without what is there for tests only, and without the tests at the end of a file.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().filter(|l| !l.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            out += line;
            out.push('\n');
            continue;
        }
        let Some(first) = lines.next() else { break };
        if first.trim_start().starts_with("mod ") && first.ends_with('{') {
            break;
        }
        // An item goes up to the line that closes it, which is as far in as its first.
        let margin = &first[..first.len() - first.trim_start().len()];
        if !first.ends_with([';', ',']) {
            lines.by_ref().find(|l| l.starts_with(&format!("{margin}}}")));
        }
    }
    out
}

#[test]
fn only_what_is_for_tests_is_passed_over() {
    let text = "use a;\n#[cfg(test)]\nmod tests;\nuse b;\n    #[cfg(test)]\n    fn c() {\n        d();\n    }\nuse e;\n#[cfg(test)]\nmod f {\n}\nuse g;\n";
    assert_eq!(code(text), "use a;\nuse b;\nuse e;\n");
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
    let module = ["src/reason/clingo.rs", "src/reason/clingo/"];
    // What else is called so is this module: `use super::clingo::…`.
    for word in [" clingo::{", "use clingo::", "clingo_sys", "unsafe {"] {
        assert_eq!(offenders("src", word, &module), [""; 0], "{word}");
    }
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

/// Which module may import which, in reading order: rows only point upwards, but for those that say why not.
const MAY_IMPORT: [(&str, &str); 22] = [
    ("diag", ""),
    ("wait", ""),
    ("text", ""),
    ("term", ""),
    ("conversation", "term"),
    ("ontology", "diag text term conversation"),
    ("facts", "term ontology"),
    ("reason", "diag term"),
    ("llm", "wait text conversation"),
    ("link", "term text"),
    ("act", "wait term ontology facts"),
    ("ir", "diag term"),
    ("understand", "diag wait text term conversation ontology llm link ir"),
    ("render", "diag wait text term conversation ontology llm"),
    // The built-in lowering of a flow is asked for the domain that it makes.
    ("lang", "diag term ontology ir domain"),
    ("domain", "diag term ontology reason llm ir understand render"),
    ("reasoning", "diag text term ontology reason understand domain"),
    // Of `llm` only what an exchange used, for the record.
    ("turn", "wait text term conversation ontology facts reason llm act ir understand render domain"),
    // The universe that a domain is verified in is read where it is searched.
    ("check", "diag term conversation ontology reason reasoning understand render domain eval"),
    ("eval", "diag text term conversation ontology facts reason reasoning llm act ir understand render lang domain turn"),
    ("serve", "term facts ontology reason ir understand lang turn"),
    ("cli", "diag text term ontology facts reason reasoning llm link act ir understand render lang domain turn check eval serve"),
];

/// The modules that a file's code names, `text` without comments and tests.
fn named(text: &str) -> Vec<(String, Vec<String>)> {
    let mut out = vec![];
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let word = |t: &str| t.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let (module, after) = (word(rest), &rest[word(rest).len()..]);
        // `crate::module::{A, B}` and `crate::module::A`.
        let list = after.strip_prefix("::{").and_then(|l| l.split('}').next()).or_else(|| after.strip_prefix("::")).unwrap_or("");
        let items = list.split(',').map(|i| word(i.trim())).collect();
        out.push((module, items));
    }
    out
}

#[test]
fn modules_import_only_what_stands_in_the_table() {
    let files = files("src", ".rs");
    let module = |name: &str| name["src/".len()..].split(['/', '.']).next().unwrap().to_owned();
    let plain: Vec<(String, String, String)> =
        files.iter().filter(|(n, _)| !n.contains("/tests") && n != "src/lib.rs" && n != "src/main.rs").map(|(n, t)| (n.clone(), module(n), code(t))).collect();
    // What a module hands on of another one, under its own name.
    let mut handed: Vec<(String, String, String)> = vec![];
    for (_, from, text) in &plain {
        for line in text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()).filter(|l| l.starts_with("crate::")) {
            for (origin, items) in named(line).into_iter().filter(|(o, _)| o != from) {
                handed.extend(items.into_iter().map(|i| (from.clone(), i, origin.clone())));
            }
        }
    }
    let mut wrong = vec![];
    let mut seen = std::collections::BTreeSet::new();
    for (name, from, text) in &plain {
        let Some((_, may)) = MAY_IMPORT.iter().find(|(m, _)| m == from) else {
            wrong.push(format!("{name}: the table has no row for `{from}`"));
            continue;
        };
        for (direct, items) in named(text) {
            let through = handed.iter().filter(|(m, i, _)| *m == direct && items.contains(i)).map(|(_, _, origin)| origin.clone());
            for to in through.chain([direct.clone()]).filter(|to| to != from) {
                if MAY_IMPORT.iter().any(|(m, _)| *m == to) && !may.split(' ').any(|m| m == to) {
                    wrong.push(format!("{name} imports `{to}`, which the table does not let `{from}` do"));
                }
                seen.insert((from.clone(), to));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    let idle: Vec<String> = MAY_IMPORT
        .iter()
        .flat_map(|(m, may)| may.split(' ').filter(|t| !t.is_empty()).map(move |t| ((*m).to_owned(), t.to_owned())))
        .filter(|pair| !seen.contains(pair))
        .map(|(m, t)| format!("the table lets `{m}` import `{t}`, which it does not"))
        .collect();
    assert_eq!(idle, [""; 0]);
}

#[test]
fn core_rules_and_code_name_no_domain() {
    let words = ["taco", "burrito", "pepsi", "lettuce", "guacamole", "hospital", "pharmacy", "guesthouse", "taxi", "museum"];
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
        // A file that is one thing may be longer; its head says why.
        let reason = text.lines().take_while(|l| l.starts_with("//!")).any(|l| l.contains("lines because"));
        assert!(reason || text.lines().count() <= 600, "{name} has {} lines and no reason in its head (`//! … lines because …`)", text.lines().count());
    }
}
