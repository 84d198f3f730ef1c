//! The reasoner on the drive-through's own rules: two engines on random conversations, and an independent check of every proof.

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
use std::sync::Arc;

use duologue::diag::Source;
use duologue::domain::{Domain, Files, signature};
use duologue::eval::dialogues;
use duologue::reason::bench::{after_turns, scaled};
use duologue::reason::proof::check;
use duologue::reason::{Base, Because, Budget, By, Outcome, Proof, Reasoner, Rules, Scope, Signature, decide};
use duologue::term::{Atom, Name, Term};

fn domain() -> Domain {
    named("drive_thru")
}

fn named(name: &str) -> Domain {
    Domain::load(&Files::built_in(), name).unwrap_or_else(|d| panic!("{}", d.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
}

/// What a domain's dialogues in `tests/dialogues` say, by role, as it is let in: the rules see nothing else.
fn said(domain: &Domain) -> BTreeMap<String, Vec<Atom>> {
    let ontology = &domain.ontology;
    let mut out: BTreeMap<String, Vec<Atom>> = BTreeMap::new();
    for file in std::fs::read_dir("tests/dialogues").unwrap().map(|f| f.unwrap().path()) {
        if file.extension().is_some_and(|e| e == "yaml") && file.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&*ontology.domain)) {
            let read = dialogues::read(&std::fs::read_to_string(&file).unwrap()).unwrap();
            for s in read.dialogues.iter().flat_map(|d| &d.steps) {
                out.entry(s.who.clone()).or_default().extend(s.parsed.iter().filter_map(|p| ontology.admit_atom(&s.who, &Atom::parse(p).ok()?).ok()));
            }
        }
    }
    for list in out.values_mut() {
        list.sort();
        list.dedup();
    }
    out
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n.max(1)
    }
}

/// Conversations that pick at random from what the dialogues say; each turn's state follows from the turns before.
fn walk(domain: &Domain, seed: u64, turns: usize, how: Reasoner, see: &mut dyn FnMut(&Base, &Outcome, &[Atom])) {
    let said = said(domain);
    let roles: Vec<&str> = domain.rules.keys().map(|r| &**r).collect();
    let mut dice = Dice(seed);
    let rules: BTreeMap<&str, Base> = domain.rules.iter().map(|(r, rules)| (&**r, Base::build(rules, &domain.facts, &[]).unwrap())).collect();
    let mut bases = rules.clone();
    let mut session: BTreeMap<&str, BTreeSet<Atom>> = BTreeMap::new();
    for turn in 0..turns {
        if turn % 40 == 39 {
            session.clear();
            bases = rules.clone();
        }
        // A drive-through has more customers than managers.
        let role = if dice.roll(5) == 0 { roles[dice.roll(roles.len())] } else { roles[turn / 3 % roles.len()] };
        let pool = &said[role];
        let mut facts: Vec<Atom> = session.entry(role).or_default().iter().cloned().collect();
        facts.push(Atom::new("role", vec![Term::constant(role)]));
        for k in 0..=dice.roll(3) {
            facts.push(Atom::new("in", vec![Term::Int(i32::try_from(k).unwrap() + 1), pool[dice.roll(pool.len())].to_term()]));
        }
        let out = decide(&bases[role], &facts, how, &Budget::default()).unwrap_or_else(|e| panic!("{e}\n{facts:?}"));
        see(&bases[role], &out, &facts);
        let (mut add, mut del) = (vec![], vec![]);
        for a in out.shown() {
            if let ("effect", [Term::Const(op), Term::Const(scope), fact]) = (&*a.name, a.args.as_slice())
                && let Some(fact) = fact.to_atom()
            {
                let own = session.entry(role).or_default();
                match (&**op, &**scope) {
                    ("add", "session") => drop(own.insert(fact)),
                    ("del", "session") => drop(own.remove(&fact)),
                    ("add", "shared") => add.push(fact),
                    ("del", "shared") => del.push(fact),
                    _ => {}
                }
            }
        }
        if !add.is_empty() || !del.is_empty() {
            for base in bases.values_mut() {
                *base = base.with_change(&add, &del).unwrap();
            }
        }
        if out.shown().iter().any(|a| &*a.name == "effect" && a.args.first() == Some(&Term::constant("end"))) {
            session.remove(role);
        }
    }
}

/// How many states a long run takes: `DUOLOGUE_STATES=100000 cargo test --release --test reason agree -- --nocapture`.
fn states(usual: usize) -> usize {
    std::env::var("DUOLOGUE_STATES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn the_checker_reads_the_rules_of_every_role() {
    for name in ["drive_thru", "hospital"] {
        for (role, rules) in &named(name).rules {
            assert_eq!(rules.not_checked(), None, "{name}, {role}");
        }
    }
}

#[test]
fn the_checker_accepts_random_conversations() {
    for (name, usual) in [("drive_thru", 400), ("hospital", 200)] {
        let mut seen = 0;
        walk(&named(name), 5, states(usual), Reasoner::Confirm, &mut |_, _, _| seen += 1);
        assert_eq!(seen, states(usual));
    }
}

#[test]
fn engines_agree_on_random_conversations() {
    for (name, usual) in [("drive_thru", 120), ("hospital", 60)] {
        let mut seen = 0;
        let wanted = states(usual * 2) / 2;
        let begin = std::time::Instant::now();
        walk(&named(name), 7, wanted, Reasoner::Clingo, &mut |_, _, _| seen += 1);
        assert_eq!(seen, wanted);
        println!("{name}: the engines agree on {seen} states ({:.1} s)", begin.elapsed().as_secs_f64());
    }
}

#[test]
fn proofs_of_random_conversations_pass_the_independent_check() {
    for (name, usual) in [("drive_thru", 40), ("hospital", 40)] {
        let mut all = check::Checked::default();
        let mut seen = 0;
        walk(&named(name), 19, states(usual * 100).min(200_000) / 100, Reasoner::Fast, &mut |_, out, facts| {
            let checked = check::decision(out).unwrap().unwrap_or_else(|flaw| panic!("{flaw}\n{facts:?}"));
            all.proofs += checked.proofs;
            all.steps += checked.steps;
            seen += 1;
        });
        println!("{name}: {} proofs of {seen} decisions, {} different steps, without a flaw", all.proofs, all.steps);
    }
}

#[test]
fn all_dialogue_rules_are_stratified() {
    for rules in domain().rules.values() {
        assert!(rules.left_to_clingo().is_empty());
    }
}

#[test]
fn changed_bases_answer_like_fresh_ones() {
    let d = domain();
    walk(&d, 11, 120, Reasoner::Fast, &mut |base, out, facts| {
        let shared: Vec<Atom> = base.query("runout", 1);
        let fresh = Base::build(base.rules(), &d.facts, &shared).unwrap();
        let again = decide(&fresh, facts, Reasoner::Fast, &Budget::default()).unwrap();
        assert_eq!(again.shown(), out.shown());
        let mut backwards = facts.to_vec();
        backwards.reverse();
        assert_eq!(decide(base, &backwards, Reasoner::Fast, &Budget::default()).unwrap().shown(), out.shown());
    });
}

/// Checks proofs with clingo: each step follows from its children by its rule alone, and all that is said to hold or to be absent is so.
struct Checker {
    /// Each role's rules with everything shown.
    all: BTreeMap<Name, Arc<Rules>>,
    /// A rule alone, by its text.
    single: BTreeMap<Arc<str>, Arc<Rules>>,
}

impl Checker {
    fn new(d: &Domain) -> Self {
        let mut all = BTreeMap::new();
        for (role, rules) in &d.rules {
            let text: String = rules.statements().iter().filter(|s| !s.text.starts_with("#show")).map(|s| format!("{}\n", s.text)).collect();
            let loaded = Rules::load(&[Source::new("all.lp", &text)], &signature(&d.ontology)).unwrap_or_else(|d| panic!("{d:?}"));
            all.insert(role.clone(), Arc::new(loaded));
        }
        Self { all, single: BTreeMap::new() }
    }

    /// Everything that clingo derives.
    fn model(&self, role: &str, base: &Base, facts: &[Atom], kb: &[Atom]) -> BTreeSet<Atom> {
        let full = Base::build(&self.all[role], kb, &base.query("runout", 1)).unwrap();
        let out = decide(&full, facts, Reasoner::Clingo, &Budget::default()).unwrap();
        out.shown().iter().cloned().collect()
    }

    fn check(&mut self, p: &Proof, model: &BTreeSet<Atom>, facts: &BTreeSet<Atom>, path: &mut Vec<Atom>, done: &mut BTreeSet<Atom>) {
        assert!(!path.contains(&p.atom), "a cycle through {}", p.atom);
        assert!(model.contains(&p.atom), "{} does not hold", p.atom);
        if !done.insert(p.atom.clone()) {
            return;
        }
        let By::Rule { rule, because } = &p.by else {
            // What speaks about facts is made of them by the engine.
            let about_facts = matches!(&*p.atom.name, "stored" | "mentions" | "kb_mentions");
            assert!(facts.contains(&p.atom) || about_facts, "{} is no fact", p.atom);
            return;
        };
        let mut children = Vec::new();
        path.push(p.atom.clone());
        because.iter().for_each(|b| self.because(b, model, facts, path, done, &mut children));
        path.pop();
        // Alone, the rule is given what speaks about facts under another name: the engine would make it anew from facts that are not there.
        let alone: Arc<str> = rule.text.replace("stored(", "stored_(").replace("mentions(", "mentions_(").into();
        let single = self.single.entry(alone.clone()).or_insert_with(|| {
            let (statements, _) = duologue::reason::syntax::parse::parse(&Source::new("one.lp", &alone));
            let duologue::reason::syntax::Kind::Rule { head, body } = &statements[0].kind else { panic!() };
            let stored = duologue::reason::analyse::mentions(head, body).into_iter().map(|(p, _)| (p, Scope::Session)).collect();
            Arc::new(Rules::load(&[Source::new("one.lp", &alone)], &Signature { stored, turn: vec![] }).unwrap())
        });
        let base = Base::build(single, &[], &[]).unwrap();
        for c in children.iter_mut().filter(|c| matches!(&*c.name, "stored" | "mentions" | "kb_mentions")) {
            c.name = format!("{}_", c.name).into();
        }
        children.sort();
        children.dedup();
        let out = decide(&base, &children, Reasoner::Clingo, &Budget::default()).unwrap_or_else(|e| panic!("{e}: {}", rule.text));
        assert!(out.shown().contains(&p.atom), "{} does not follow from {children:?} by {}", p.atom, rule.text);
    }

    fn because(
        &mut self,
        b: &Because,
        model: &BTreeSet<Atom>,
        facts: &BTreeSet<Atom>,
        path: &mut Vec<Atom>,
        done: &mut BTreeSet<Atom>,
        children: &mut Vec<Atom>,
    ) {
        match b {
            Because::Holds { proof } => {
                children.push(proof.atom.clone());
                self.check(proof, model, facts, path, done);
            }
            Because::Absent { pattern, .. } => {
                let pattern = pattern.replace("(_", "(any__").replace(",_", ",any__");
                let wanted = Atom::parse(&pattern).unwrap_or_else(|e| panic!("{e}: {pattern}"));
                assert!(!model.iter().any(|a| meets(&wanted.to_term(), &a.to_term())), "{pattern} is not absent");
            }
            Because::Test { .. } => {}
            Because::Aggregate { elements, .. } => elements.iter().flat_map(|e| &e.because).for_each(|b| self.because(b, model, facts, path, done, children)),
            Because::All { instances, .. } => instances.iter().flatten().for_each(|b| self.because(b, model, facts, path, done, children)),
        }
    }
}

fn meets(pattern: &Term, t: &Term) -> bool {
    match (pattern, t) {
        (Term::Const(n), _) if n.starts_with("any__") => true,
        (Term::Fun(f, a), Term::Fun(g, b)) => f == g && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| meets(a, b)),
        (a, b) => a == b,
    }
}

#[test]
fn every_proof_is_sound_and_complete() {
    let d = domain();
    let mut checker = Checker::new(&d);
    let (mut proofs, mut turns) = (0, 0);
    walk(&d, 3, states(40).min(2000), Reasoner::Fast, &mut |base, out, facts| {
        let role = if facts.contains(&Atom::parse("role(manager)").unwrap()) { "manager" } else { "customer" };
        let model = checker.model(role, base, facts, &d.facts);
        let mut told: BTreeSet<Atom> = facts.iter().chain(d.facts.iter()).cloned().collect();
        told.extend(base.query("runout", 1));
        told.extend(base.rules().statements().iter().filter_map(|s| Atom::parse(&s.text).ok()));
        let all = out.why_all();
        assert_eq!(all.len(), out.shown().len(), "something shown has no proof");
        let mut done = BTreeSet::new();
        for p in &all {
            checker.check(p, &model, &told, &mut Vec::new(), &mut done);
            proofs += 1;
        }
        turns += 1;
    });
    assert!(proofs > turns, "{proofs} proofs in {turns} turns");
}

#[test]
fn why_not_looks_through_to_the_cause() {
    let d = domain();
    let base = Base::build(&d.rules["customer"], &d.facts, &[Atom::parse("runout(\"Tomatoes\")").unwrap()]).unwrap();
    let (base, facts) = after_turns(&base, "customer", &[vec![Atom::parse("order(\"Crunchy Taco Supreme\",1)").unwrap()]]).unwrap();
    let out = decide(&base, &facts, Reasoner::Confirm, &Budget::default()).unwrap();
    let text = out.why_none("act(_,_,confirm(order,\"Crunchy Taco Supreme\"))").unwrap().text(&|_| String::new());
    assert!(text.contains("Crunchy Taco Supreme includes Tomatoes"), "{text}");
    assert!(text.contains("service.lp:"), "{text}");
    let said = out.why_none("act(_,_,reject(order(_,_),limit))").unwrap().text(&|_| String::new());
    assert!(said.contains("was not derived"), "{said}");
    let so = out.why_none("act(_,_,unavailable(_,_))").unwrap();
    assert_eq!(so.holds.len(), 1, "{so:?}");
    assert!(out.why_none("act(").is_err());
    // What was not the first of all: who was.
    let (base, facts) = after_turns(&base, "customer", &[vec![Atom::parse("need_recommend(taco,category)").unwrap()]]).unwrap();
    let out = decide(&base, &facts, Reasoner::Confirm, &Budget::default()).unwrap();
    let text = out.why_none("act(_,_,recommend(category,\"Crunchy Taco\"))").unwrap().text(&|_| String::new());
    assert!(text.contains("it is so: Nacho Cheese Doritos Locos Tacos is a best seller") && !text.contains("#min"), "{text}");
}

#[test]
fn a_scaled_menu_gives_the_same_decision() {
    let d = domain();
    let turn = [Atom::parse("order(\"Soft Taco\",2)").unwrap(), Atom::parse("need_recommend(burrito,category)").unwrap()];
    let small = Base::build(&d.rules["customer"], &d.facts, &[]).unwrap();
    let (small, facts) = after_turns(&small, "customer", &[turn[..1].to_vec()]).unwrap();
    let large = Base::build(&d.rules["customer"], &scaled(&d.facts, 20_000), &[]).unwrap();
    let go = |b: &Base| decide(b, &facts, Reasoner::Confirm, &Budget::default()).unwrap().shown().to_vec();
    assert_eq!(go(&small), go(&large));
}
