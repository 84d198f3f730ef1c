//! Rules that proofs show are read out in English, in every domain and in flows.

use std::collections::BTreeSet;
use std::path::Path;

use duologue::diag::Source;
use duologue::domain::{Domain, Files};
use duologue::lang::chief;
use duologue::reason::analyse::heads;
use duologue::reason::syntax::{Item, Kind, Literal, Sign, Statement};

fn files() -> Files {
    Files::folder(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// How many rules a domain has, and those of them that a proof can show and nothing reads out.
fn unread(domain: &Domain) -> (usize, BTreeSet<String>) {
    let mut unread = BTreeSet::new();
    let mut counted = 0;
    for rules in domain.rules.values() {
        let derived = |l: &Literal| {
            let Literal::Atom { atom, .. } = l else { return true };
            let by_rule = |s: &Statement| matches!(&s.kind, Kind::Rule { head, body } if !body.is_empty() && heads(head).contains(&atom.predicate()));
            rules.statements().iter().any(by_rule)
        };
        for s in rules.statements() {
            let Kind::Rule { body, .. } = &s.kind else { continue };
            if body.is_empty() {
                continue;
            }
            counted += 1;
            // A rule that only hands on what one condition says is passed over by explanations: they go to that condition.
            let literals: Option<Vec<&Literal>> = body.iter().map(|i| if let Item::Literal(l) = i { Some(l) } else { None }).collect();
            let plain = literals.filter(|ls| ls.iter().all(|l| matches!(l, Literal::Atom { sign: Sign::Plain, .. })));
            let hands_on = plain.is_some_and(|ls| ls.len() == 1 || ls.iter().filter(|l| derived(l)).count() == 1);
            if s.reading.is_none() && !hands_on {
                unread.insert(format!("{}: {}", s.origin, s.text));
            }
        }
    }
    (counted, unread)
}

#[test]
fn every_rule_that_a_proof_can_show_has_a_reading() {
    let flow = chief::read(&Source::new("ride_book.json", include_str!("../../kb/star/flows/ride_book.json"))).0.unwrap();
    let flow = chief::domain::domain(&flow, &files()).unwrap();
    let written = ["drive_thru", "hospital", "multiwoz"].map(|name| Domain::load(&files(), name).unwrap());
    for domain in written.iter().chain([&flow]) {
        let (counted, unread) = unread(domain);
        assert!(counted > 150, "only {counted} rules of {} were looked at", domain.ontology.domain);
        let lines = unread.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(unread.is_empty(), "{} rules have no reading (a line `%: ...` above them):\n{lines}", unread.len());
    }
}
