//! Rules that proofs show are read out in English: in every domain, in flows and in programs of agents, and what is answered over what is told.

use std::collections::BTreeSet;
use std::path::Path;

use duologue::diag::Source;
use duologue::domain::{Domain, Files, rule_source};
use duologue::lang::chief;
use duologue::reason::analyse::{heads, mentions};
use duologue::reason::syntax::parse::parse;
use duologue::reason::syntax::{Item, Kind, Literal, Predicate, Sign, Statement};
use duologue::reasoning::Profile;

fn files() -> Files {
    Files::folder(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// Rule files as one program, listed as a role lists them.
fn program(listed: &[String]) -> Vec<Statement> {
    let files = files();
    let read = |path: &str| files.read(path).map(|text| Source::new(path, &text));
    listed.iter().flat_map(|l| parse(&rule_source(l, &read).unwrap()).0).collect()
}

/// The programs of a domain's roles.
fn roles(domain: &Domain) -> Vec<Vec<Statement>> {
    domain.rules.values().map(|rules| rules.statements().to_vec()).collect()
}

fn line(s: &Statement) -> String {
    format!("{}: {}", s.origin, s.text)
}

/// The rules of a program that a proof can show and nothing reads out.
fn unread(program: &[Statement]) -> BTreeSet<String> {
    let derived = |l: &Literal| {
        let Literal::Atom { atom, .. } = l else { return true };
        let by_rule = |s: &Statement| matches!(&s.kind, Kind::Rule { head, body } if !body.is_empty() && heads(head).contains(&atom.predicate()));
        program.iter().any(by_rule)
    };
    // A rule that only hands on what one condition says is passed over by explanations: they go to that condition.
    let hands_on = |body: &[Item]| {
        let literals: Option<Vec<&Literal>> = body.iter().map(|i| if let Item::Literal(l) = i { Some(l) } else { None }).collect();
        let plain = literals.filter(|ls| ls.iter().all(|l| matches!(l, Literal::Atom { sign: Sign::Plain, .. })));
        plain.is_some_and(|ls| ls.len() == 1 || ls.iter().filter(|l| derived(l)).count() == 1)
    };
    let silent = |s: &&Statement| matches!(&s.kind, Kind::Rule { body, .. } if !body.is_empty() && s.reading.is_none() && !hands_on(body));
    program.iter().filter(silent).map(line).collect()
}

/// The rules of a program that derive something shown and may do so without a word: they have no reading, and what they rest on need have none.
fn wordless(program: &[Statement]) -> BTreeSet<String> {
    let rules: Vec<(&Statement, Vec<Predicate>, Vec<Predicate>)> = program
        .iter()
        .filter_map(|s| {
            let Kind::Rule { head, body } = &s.kind else { return None };
            let rests = mentions(head, body).into_iter().filter_map(|(p, holds)| holds.then_some(p)).collect();
            Some((s, heads(head), rests))
        })
        .collect();
    let shown: BTreeSet<&Predicate> = program.iter().filter_map(|s| if let Kind::Show(p) = &s.kind { Some(p) } else { None }).collect();
    let derived: BTreeSet<&Predicate> = rules.iter().flat_map(|r| &r.1).collect();
    let mut quiet: BTreeSet<&Predicate> = rules.iter().flat_map(|r| &r.2).filter(|p| !derived.contains(p)).collect();
    loop {
        let found: Vec<_> = rules.iter().filter(|r| r.0.reading.is_none() && r.2.iter().all(|p| quiet.contains(p))).collect();
        let known = quiet.len();
        quiet.extend(found.iter().copied().flat_map(|r| &r.1));
        if quiet.len() == known {
            return found.into_iter().filter(|r| r.1.iter().any(|p| shown.contains(p))).map(|r| line(r.0)).collect();
        }
    }
}

/// Says which rules are found in any of the programs.
fn told(programs: &[Vec<Statement>], find: fn(&[Statement]) -> BTreeSet<String>) -> String {
    assert!(programs.iter().all(|p| p.len() > 40), "a program has hardly any rules");
    programs.iter().flat_map(|p| find(p)).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("\n")
}

#[test]
fn every_rule_that_a_proof_can_show_has_a_reading() {
    let flow = chief::read(&Source::new("ride_book.json", include_str!("../../kb/star/flows/ride_book.json"))).0.unwrap();
    let flow = chief::domain::domain(&flow, &files()).unwrap();
    let written = ["drive_thru", "hospital", "multiwoz"].map(|name| Domain::load(&files(), name).unwrap());
    let agents = program(&["core/agents.lp".to_owned()]);
    let programs: Vec<Vec<Statement>> = written.iter().chain([&flow]).flat_map(roles).chain([agents]).collect();
    let unread = told(&programs, unread);
    assert!(unread.is_empty(), "rules without a reading (a line `%: ...` above them):\n{unread}");
}

/// Between the lines that were told and an answer, many rules only take apart what is asked, fit told rules to things, try orders and count. They
/// need no reading: a proof goes through them to what they rest on, and words of theirs would stand before what the lines say.
#[test]
fn no_answer_over_what_is_told_goes_without_words() {
    let files = files();
    let modules = Profile::names(&files).into_iter().map(|name| Profile::load(&files, &name).unwrap().modules).filter(|m| !m.is_empty());
    let listed = modules.map(|m| [vec!["reason/statements.lp".to_owned()], m.iter().map(|m| Profile::module(m)).collect()].concat());
    let programs: Vec<Vec<Statement>> = listed.map(|l| program(&l)).chain(roles(&Domain::load(&files, "reason").unwrap())).collect();
    assert!(programs.len() > 5, "only {} programs were looked at", programs.len());
    let wordless = told(&programs, wordless);
    assert!(wordless.is_empty(), "answers without a reading (a line `%: ...` above them, or above what they rest on):\n{wordless}");
}
