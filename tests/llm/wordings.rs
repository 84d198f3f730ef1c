//! The sets of wordings: lies that must not be spoken, honest rewordings that must pass (tests/data/wordings/README.md).

use std::collections::BTreeMap;
use std::path::Path;

use duologue::domain::{Domain, Files};
use duologue::render::faithful::Faithful;
use duologue::render::{Say, Tone};
use duologue::term::{Atom, Term};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    id: String,
    domain: String,
    role: String,
    actions: Vec<String>,
    #[serde(default)]
    inputs: Vec<String>,
    text: String,
    kind: String,
    truth: String,
}

/// How many parts of the action stand in the input too.
fn shared(action: &Atom, input: &Atom) -> usize {
    let part = |t: &Term| {
        *t == Term::constant(&input.name) || input.args.contains(t) || matches!(t, Term::Fun(_, args) if args.iter().any(|a| input.args.contains(a)))
    };
    action.args.iter().filter(|t| part(t)).count()
}

/// The actions, each with the input that it answers.
fn says(case: &Case) -> Vec<Say> {
    let mut inputs: Vec<Option<Atom>> = case.inputs.iter().map(|i| Some(Atom::parse(i).unwrap())).collect();
    let answered = |a: &Atom| &*a.name == "confirm";
    case.actions
        .iter()
        .map(|text| {
            let action = Atom::parse(text).unwrap();
            let scores = inputs.iter().enumerate().filter_map(|(i, a)| a.as_ref().map(|a| (shared(&action, a), std::cmp::Reverse(i))));
            let best = scores.max().filter(|(score, _)| *score > 0 && answered(&action));
            let input = best.and_then(|(_, at)| inputs[at.0].take());
            Say { action, input }
        })
        .collect()
}

/// Wrong verdicts on one file, and how many cases it has.
fn judged(domains: &BTreeMap<String, (Domain, Faithful)>, path: &Path) -> (Vec<String>, usize) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut wrong = Vec::new();
    for line in text.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let (says, (domain, faithful)) = (says(&case), &domains[&case.domain]);
        let tone = Tone { role: case.role.clone(), turn: 1, ..Tone::default() };
        let verdict = faithful.check(&case.text, &says, &tone, &*domain.templates);
        if verdict.is_ok() != (case.truth == "honest") {
            wrong.push(format!("{} [{}] {} :: {:?}", case.id, case.kind, case.text, verdict.err()));
        }
    }
    (wrong, text.lines().count())
}

/// The tune part is held to more than what is asked of wordings that nobody has seen; `WORDINGS=test` scores the other part, and
/// `WORDINGS_OF=honest-two` that set alone. Each file with the share of wrong verdicts that it may have, in percent.
fn held_to(files: &[(&str, usize)]) {
    let folder = Files::folder(Path::new(env!("CARGO_MANIFEST_DIR")));
    let load = |name: &str| Domain::load(&folder, name).map(|d| (name.to_owned(), (d.clone(), d.faithful()))).unwrap();
    let domains: BTreeMap<String, (Domain, Faithful)> = ["drive_thru", "hospital"].into_iter().map(load).collect();
    let part = std::env::var("WORDINGS").unwrap_or_else(|_| "tune".into());
    let only = std::env::var("WORDINGS_OF").ok();
    let mut failed = Vec::new();
    for (file, allowed) in files.iter().filter(|(file, _)| only.as_ref().is_none_or(|only| only == file)) {
        let path = |part: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/wordings/{file}-{part}.jsonl"));
        // Not every set has both parts.
        assert!(path("tune").exists() || path("test").exists(), "there is no `{file}`");
        let path = path(&part);
        if !path.exists() {
            continue;
        }
        let (wrong, all) = judged(&domains, &path);
        println!("{file}-{part}: {} of {all} wrong\n{}", wrong.len(), wrong.join("\n"));
        if wrong.len() * 100 > allowed * all {
            failed.extend(wrong);
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn lies_are_refused() {
    held_to(&[
        ("lies-blind", 0),
        ("lies-source", 0),
        ("lies-free", 0),
        ("lies-new", 0),
        ("lies-open", 0),
        ("lies-wide", 0),
        ("lies-three", 0),
        ("lies-four", 0),
        ("lies-five", 0),
        ("lies-six", 0),
        ("lies-seven", 0),
        ("lies-eight", 0),
        ("lies-nine", 0),
        ("lies-nine-source", 0),
        ("lies-ten-source", 0),
        // One of 574 ("…, for $9.35" behind a row of one of them).
        ("lies-eleven-source", 1),
        ("lies-twelve-source", 0),
        ("lies-eleven-kept", 0),
        ("lies-thirteen-source", 0),
        ("lies-fourteen-source", 0),
        ("lies-fourteen-kept", 4),
        ("lies-fifteen-source", 0),
        ("lies-fifteen-kept", 4),
        ("lies-sixteen-source", 1),
        // Kept aside: what is reached, not what is asked.
        ("lies-sixteen-kept", 7),
        ("lies-seventeen-source", 0),
        ("lies-seventeen-kept", 4),
        ("lies-eighteen-source", 0),
        ("lies-nineteen-source", 0),
        ("lies-twenty-source", 2),
        ("lies-twentyone-source", 0),
        ("lies-twentytwo-source", 0),
        ("lies-twentythree-source", 0),
        // What an attacker found who went through the grammar word by word: what is reached.
        ("lies-twentyfour-source", 42),
        ("lies-twentyfive-source", 11),
        ("lies-twentysix-source", 0),
        ("lies-fresh", 1),
    ]);
}

#[test]
fn honest_wordings_pass() {
    held_to(&[
        ("honest", 5),
        ("voices", 5),
        ("honest-new", 5),
        ("honest-open", 5),
        ("honest-wide", 10),
        ("honest-three", 30),
        ("honest-four", 10),
        ("honest-five", 20),
        ("honest-six", 30),
        ("honest-seven", 5),
        ("honest-eight", 10),
        ("honest-nine", 10),
        ("honest-ten", 5),
        ("honest-eleven", 7),
        ("honest-twelve", 5),
        ("honest-thirteen", 8),
        ("honest-fourteen", 5),
        ("honest-fifteen", 8),
        ("honest-sixteen", 10),
        ("honest-seventeen", 7),
        ("honest-eighteen", 10),
        ("honest-nineteen", 8),
        ("honest-twenty", 3),
        ("honest-twentyone", 13),
        ("honest-twentytwo", 9),
        ("honest-twentythree", 24),
        ("honest-twentyfour", 18),
        ("honest-twentyfive", 23),
        ("honest-twentysix", 6),
        ("honest-twentyseven", 19),
        ("honest-twentyeight", 7),
        ("honest-twentynine", 11),
        ("honest-thirty", 12),
        ("honest-thirtyone", 6),
        ("honest-thirtytwo", 8),
        ("honest-thirtythree", 14),
        ("honest-thirtyfour", 11),
        ("honest-thirtyfive", 4),
        ("honest-thirtysix", 10),
        ("honest-thirtyseven", 12),
        ("honest-fresh", 10),
    ]);
}

/// The banks that ship hold what `paraphrase` asks of a proposal, and speak at random without a call.
#[test]
fn the_shipped_banks_hold_and_speak() {
    use duologue::conversation::Conversation;
    use duologue::render::bank::BankRender;
    use duologue::render::{By, Held, Render};

    let files = Files::folder(Path::new(env!("CARGO_MANIFEST_DIR")));
    for name in ["drive_thru", "hospital"] {
        let domain = Domain::load(&files, name).unwrap();
        let verdicts = duologue::eval::paraphrase::check(&domain, &domain.templates);
        let bad: Vec<_> = verdicts.iter().filter(|v| v.fault.is_some()).collect();
        assert!(verdicts.len() >= 50 && bad.is_empty(), "{} {bad:#?}", verdicts.len());
    }
    let domain = Domain::load(&files, "drive_thru").unwrap();
    let says = ["confirm(order,\"Pepsi\") <- order(\"Pepsi\",1)", "else"].map(|text| {
        let (action, input) = text.split_once(" <- ").map_or((text, None), |(a, i)| (a, Some(i)));
        Say { action: Atom::parse(action).unwrap(), input: input.map(|i| Atom::parse(i).unwrap()) }
    });
    let bank = BankRender::new(&domain.templates, domain.templates.clone());
    let said = |session: usize| {
        let conversation = Conversation { site: "s".into(), session: session.to_string() };
        bank.word(&says, &Tone { role: "customer".into(), turn: 2, conversation, ..Tone::default() })
    };
    let all: std::collections::BTreeSet<String> = (0..40).map(|session| said(session).text).collect();
    assert!(all.len() > 5, "{all:?}");
    let worded = said(1);
    assert_eq!((worded.by, worded.bank, worded.exchange.clone()), (By::Bank, Some(Held { sentences: 2, of: 2 }), None));
    assert_eq!(worded, said(1), "the same conversation hears the same");
    // A proposal that promises something is refused, with the reply in which it would.
    let proposal = duologue::render::templates::bank::Banked { of: "{items}, got it.".into(), say: "{items}, free of charge.".into(), at: 0 };
    let verdict = proposed(&domain, proposal);
    assert!(verdict.fault.is_some(), "{verdict:?}");
}

/// What comes of one proposal beside the bank that ships.
fn proposed(domain: &Domain, proposal: duologue::render::templates::bank::Banked) -> duologue::eval::paraphrase::Verdict {
    let (templates, unread) = duologue::eval::paraphrase::readable(domain, &[proposal]).unwrap();
    assert!(unread.is_empty(), "{unread:?}");
    duologue::eval::paraphrase::check(domain, &templates).remove(0)
}

/// A total stands once in a reply, so its wordings are not tried with two; what a group gathers is.
#[test]
fn what_stands_once_in_a_reply_is_tried_once_in_it() {
    let domain = Domain::load(&Files::folder(Path::new(env!("CARGO_MANIFEST_DIR"))), "drive_thru").unwrap();
    let of = |of: &str, say: &str| duologue::render::templates::bank::Banked { of: of.into(), say: say.into(), at: 0 };
    let total = "The total comes to {C|money}.";
    for honest in ["All together that will be {C|money}.", "All in, it comes to {C|money}.", "That brings you to {C|money} in total."] {
        let verdict = proposed(&domain, of(total, honest));
        assert_eq!((verdict.fault, verdict.tried), (None, 3), "{honest}");
    }
    for lie in ["All together that will be about {C|money}.", "It was {C|money}, but it is on us."] {
        assert!(proposed(&domain, of(total, lie)).fault.is_some(), "{lie}");
    }
    assert!(proposed(&domain, of("{items}, got it.", "One {items}, sure.")).fault.is_some(), "two of a kind are one item no more");
}
