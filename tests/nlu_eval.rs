//! Scores the embedded translator on a file of cases: `NLU_CASES=FILE cargo test --test nlu_eval -- --nocapture --ignored`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::io::BufReader;
use std::path::{Path, PathBuf};

use duologue::diag::Source;
use duologue::eval::nlu;
use duologue::ontology::parse;
use duologue::term::Atom;
use duologue::understand::embedded::Embedded;
use duologue::understand::embedded::data::DomainFiles;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> Source {
    Source::new(&path.file_name().unwrap().to_string_lossy(), &std::fs::read_to_string(path).unwrap())
}

fn drive_thru() -> Embedded {
    let kb = root().join("kb/drive_thru");
    let (ontology, diagnostics) = parse::ontology(&read(&kb.join("ontology.yaml")));
    assert!(ontology.is_some(), "{diagnostics:?}");
    let facts: Vec<Atom> = std::fs::read_to_string(kb.join("menu.lp"))
        .unwrap()
        .lines()
        .filter(|l| !l.starts_with('%') && !l.trim().is_empty())
        .map(|l| Atom::parse(l).unwrap())
        .collect();
    let files =
        DomainFiles { english: read(&root().join("kb/core/english.yaml")), lexicon: read(&kb.join("lexicon.yaml")), synonyms: read(&kb.join("synonyms.yaml")) };
    let begin = std::time::Instant::now();
    let loaded = Embedded::load(&ontology.unwrap(), &files, facts.iter());
    println!("load {:?}", begin.elapsed());
    match loaded {
        Ok(e) => e,
        Err(d) => panic!("{}", d.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

#[test]
#[ignore = "needs a file of cases"]
fn score() {
    let translator = drive_thru();
    for file in std::env::var("NLU_CASES").unwrap().split(':') {
        let cases = nlu::read_cases(BufReader::new(std::fs::File::open(file).unwrap())).unwrap();
        let report = nlu::evaluate(&translator, &cases);
        let mut out = vec![];
        nlu::write_report(&report, &mut out).unwrap();
        if std::env::var("NLU_TRACE").is_ok() {
            for w in &report.wrong {
                let case = cases.iter().find(|c| c.id == w.id).unwrap();
                println!("{} {}", w.id, w.text);
                for line in translator.readings(&w.text, &case.context.of_role(&case.role)) {
                    println!("      {line}");
                }
            }
        }
        println!("{file}\n{}", String::from_utf8(out).unwrap());
    }
}
