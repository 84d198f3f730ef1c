//! Every seeded mistake is found, at its exact place and nothing else is; the base that they are put into is clean.
//!
//! `tests/diagnostics/NAME.PART.lp|yaml` holds one case: an additional rule or fact file, or a changed ontology or template
//! file, for the small domain in `base/`. Its first lines say what must be found: `expect: CODE MARKED TEXT`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use duologue::check::{Parts, check, codes, report};
use duologue::diag::Source;
use duologue::understand::embedded::data::DomainFiles;

fn base(part: &str) -> Source {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics/base").join(part);
    Source::new(part, &fs::read_to_string(path).unwrap())
}

fn parts() -> Parts {
    Parts {
        ontology: Some(base("ontology.yaml")),
        rules: BTreeMap::from([("reader".into(), vec![base("rules.lp")])]),
        facts: vec![base("facts.lp")],
        templates: Some(base("templates.yaml")),
        translator: Some(DomainFiles { english: base("english.yaml"), lexicon: base("lexicon.yaml"), synonyms: base("synonyms.yaml") }),
    }
}

fn with(case: Source) -> Parts {
    let mut p = parts();
    match case.name.split('.').nth(1) {
        Some("rules") => p.rules.values_mut().for_each(|r| r.push(case.clone())),
        Some("facts") => p.facts.push(case),
        Some("ontology") => p.ontology = Some(case),
        Some("templates") => p.templates = Some(case),
        Some("lexicon") => p.translator.iter_mut().for_each(|t| t.lexicon = case.clone()),
        Some("synonyms") => p.translator.iter_mut().for_each(|t| t.synonyms = case.clone()),
        other => panic!("{other:?} is no part of a domain"),
    }
    p
}

fn cases() -> Vec<Source> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut names: Vec<String> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n.ends_with(".lp") || n.ends_with(".yaml"));
    names.sort();
    names.into_iter().map(|n| Source::new(&n, &fs::read_to_string(folder.join(&n)).unwrap())).collect()
}

#[test]
fn the_base_is_clean() {
    let found = check(&parts());
    assert!(found.is_empty(), "{}", report::plain(&found));
}

#[test]
fn every_seeded_mistake_is_found_where_it_is() {
    let cases = cases();
    assert!(cases.len() >= 30, "only {} cases", cases.len());
    let (mut wrong, mut all) = (String::new(), String::new());
    for case in cases {
        let expected: Vec<(String, String)> = case
            .text
            .lines()
            .filter_map(|l| l.strip_prefix("% expect: ").or_else(|| l.strip_prefix("# expect: ")))
            .filter_map(|l| l.split_once(' ').map(|(code, marked)| (code.to_owned(), marked.to_owned())))
            .collect();
        assert!(!expected.is_empty(), "{} expects nothing", case.name);
        let p = with(case.clone());
        let found = check(&p);
        let text = |file: &str| {
            let mut sources = p
                .rules
                .values()
                .flatten()
                .chain(&p.facts)
                .chain(&p.ontology)
                .chain(&p.templates)
                .chain(p.translator.iter().flat_map(|t| [&t.lexicon, &t.synonyms]));
            sources.find(|s| *s.name == *file).unwrap().text.clone()
        };
        let mut seen: Vec<(String, String)> =
            found.iter().map(|d| (d.code.to_owned(), text(&d.origin.file)[d.origin.start..d.origin.end].to_owned())).collect();
        for d in &found {
            let before = &text(&d.origin.file)[..d.origin.start];
            assert_eq!(d.origin.line as usize, before.matches('\n').count() + 1, "{d}");
            assert_eq!(d.origin.column as usize, before.rsplit('\n').next().unwrap().chars().count() + 1, "{d}");
            assert!(codes::explain(d.code).is_some(), "{} is not explained", d.code);
        }
        let (mut want, mut got) = (expected.clone(), std::mem::take(&mut seen));
        want.sort();
        got.sort();
        if want != got {
            let _ = writeln!(wrong, "{}\n  wanted {want:?}\n  found  {got:?}\n{}", case.name, report::plain(&found));
        }
        let _ = write!(all, "# {}\n{}{}\n\n", case.name, report::plain(&found), report::summary(&found));
    }
    assert!(wrong.is_empty(), "{wrong}");
    insta::with_settings!({snapshot_path => "diagnostics", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("expected", all);
    });
}

/// Found by name: a domain whose templates are missing, and one whose universe for `verify` is none.
#[test]
fn a_domain_without_templates_or_with_a_broken_universe_is_told_of_before_anybody_speaks() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("kb/library/ontology.yaml", &base("ontology.yaml").text);
    write("kb/library/facts.lp", &base("facts.lp").text);
    write("kb/library/verify.yaml", "depth: two\nroles: {}\n");
    write("rules/library/reader.lp", &base("rules.lp").text);
    let files = duologue::domain::Files::folder(root.path());
    let found: Vec<_> = duologue::check::domain(&files, "library").iter().map(|d| (d.code, d.origin.file.to_string(), d.origin.line)).collect();
    assert_eq!(found, [("D004", "kb/library/templates.yaml".to_owned(), 1), ("D005", "kb/library/verify.yaml".to_owned(), 1)]);
    let loaded = duologue::domain::Domain::load(&files, "library").unwrap_err();
    assert_eq!(loaded.iter().map(|d| d.code).collect::<Vec<_>>(), ["D004"], "{loaded:?}");
    assert_eq!(files.own_domains(), ["library"]);
    // What nothing but a conversation reads is read by `check` as well: the bank of wordings, other words for replies.
    write("kb/library/verify.yaml", "depth: 2\nroles: {}\n");
    write("kb/library/templates.yaml", &base("templates.yaml").text);
    for broken in ["wordings.yaml", "replies.yaml"] {
        let path = format!("kb/library/{broken}");
        write(&path, "surely: [not this\n");
        let found: Vec<_> = duologue::check::domain(&files, "library").iter().map(|d| d.origin.file.to_string()).collect();
        assert_eq!(found, [path.as_str()]);
        fs::remove_file(root.path().join(path)).unwrap();
    }
}

/// Files that only `verify` and `bench` read, and other words for replies.
#[test]
fn what_stands_beside_a_domain_is_checked_with_it() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for part in ["ontology.yaml", "facts.lp", "templates.yaml", "lexicon.yaml", "synonyms.yaml"] {
        write(&format!("kb/library/{part}"), &base(part).text);
    }
    write("rules/library/reader.lp", &base("rules.lp").text);
    let files = duologue::domain::Files::folder(root.path());
    let mut all = String::new();
    for (file, text) in [
        ("verify.yaml", "depth: 2\nroels: {}\nroles: {}\n"),
        ("verify.yaml", "depth: 2\nroles:\n  reader:\n  - [registr]\n  - ['borow(\"Odes\")', done]\n  writer: [[done]]\n"),
        (
            "verify.yaml",
            "depth: 2\nroles: {reader: [['borrow(\"No Such Book\")']]}\nreachable:\n- {name: end, role: reader, from: loan/1, by: [[leave]], goal: done}\n",
        ),
        ("bench.yaml", "- {name: one, role: reader, turns: [[done]], runds: 3}\n"),
        ("bench.yaml", "- {name: one, role: reder, turns: [[done]]}\n- {name: two, role: reader, turns: [['borrow(1,2)']]}\n"),
        ("replies.yaml", "rules: []\nwordz: {}\n"),
    ] {
        let path = format!("kb/library/{file}");
        write(&path, text);
        let found = duologue::check::domain(&files, "library");
        assert!(found.iter().all(|d| codes::explain(d.code).is_some()));
        let _ = writeln!(all, "{}", report::plain(&found));
        fs::remove_file(root.path().join(path)).unwrap();
    }
    insta::with_settings!({snapshot_path => "diagnostics", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("beside", all);
    });
}

/// Where more values than can be followed one by one lead to an action, nobody is told that it is never said.
#[test]
fn an_action_that_many_values_lead_to_is_said() {
    let said = |many: usize| {
        let mut p = parts();
        let ontology = base("ontology.yaml").text.replace("actions:\n", "actions:\n  - {form: 'list(TERM)', means: one of many}\n");
        p.ontology = Some(Source::new("ontology.yaml", &ontology));
        let todo: String = (0..many).map(|n| format!("todo(other(k{n})). ")).collect();
        let rules = format!("{todo}todo(list(x)).\nact(6,0,A) :- in(_,done), todo(A).\n");
        p.rules.values_mut().for_each(|r| r.push(Source::new("many.lp", &rules)));
        check(&p).iter().all(|d| d.code != "ontology-unsaid-action")
    };
    assert!(said(2) && said(63) && said(64) && said(200));
}

#[test]
fn loose_files_are_checked_as_far_as_they_go() {
    let rules = Source::new("own.lp", "act(9,K,bye) :- in(K,done), not loan(B).\n");
    let found = duologue::check::loose(&[rules]);
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["rule-unsafe-variable"]);
}

#[test]
fn findings_are_shown_three_ways() {
    let case = Source::new("a.facts.lp", "fee(\"Mobby Dick\",30).\n");
    let found = check(&with(case.clone()));
    let marked = report::graphical(&found, &|_| Some(case.text.to_string()), false);
    assert!(marked.contains("fact-dangling-name") && marked.contains("Mobby Dick\",30") && marked.contains("did you mean \"Moby Dick\"?"), "{marked}");
    let json: serde_json::Value = serde_json::from_str(&report::json(&found)).unwrap();
    assert_eq!((&json[0]["code"], &json[0]["origin"]["line"], &json[0]["origin"]["column"]), (&"fact-dangling-name".into(), &1.into(), &5.into()));
    assert!(report::plain(&found).starts_with("a.facts.lp:1:5: error[fact-dangling-name]: "));
    assert_eq!(report::summary(&found), "1 error, 0 warnings");
}

/// Codes as they stand in quotes in the files that find mistakes.
fn codes_in(path: &Path, out: &mut std::collections::BTreeSet<String>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|e| codes_in(&e.unwrap().path(), out));
        return;
    }
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap();
    for word in text.split('"').skip(1).step_by(2) {
        let numbered = word.len() == 4 && word.starts_with(['D', 'O', 'R', 'T', 'U']) && word[1..].bytes().all(|b| b.is_ascii_digit());
        let named = ["rule-", "reading-", "fact-", "ontology-", "template-", "synonym-"].iter().any(|p| word.starts_with(p));
        if numbered || (named && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')) {
            out.insert(word.to_owned());
        }
    }
}

#[test]
fn every_code_is_explained_once() {
    let mut used = std::collections::BTreeSet::new();
    for part in ["ontology", "ontology.rs", "domain", "domain.rs", "reason", "reason.rs", "reasoning", "render", "understand/embedded", "check.rs", "check"] {
        codes_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(part), &mut used);
    }
    assert!(used.len() > 40, "{used:?}");
    let unexplained: Vec<_> = used.iter().filter(|c| codes::explain(c).is_none()).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
    let mut all: Vec<_> = codes::all().collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), codes::all().count());
}
