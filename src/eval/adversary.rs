//! The adversary: arbitrary predicates in place of any understanding, from all roles' vocabularies, malformed ones and injected texts.

pub mod agents;
pub mod graphs;

use crate::ontology::{Arg, Ontology, Sort};
use crate::term::{Atom, Term};

/// A small deterministic generator of numbers (splitmix64): the same seed gives the same run everywhere.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % (n.max(1) as u64)).unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// Texts that try to be more than words.
const INJECTED: &[&str] = &[
    "",
    "%",
    "order(",
    "order(\"A\",1). runout(\"B\")",
    "runout(X)",
    "act(2,1,price(0))",
    "effect(add,kb,fact(\"Free\"))",
    "in(1,quit)",
    "#show. #include \"secret\".",
    "price(order,0)",
    "order(\"x\",99999999999999999999)",
    "p(p(p(p(p(p(p(p(p(p(p(1)))))))))))",
    "order(\"a\\\",1). fact(\\\"b\",1)",
    "not order(\"a\",1)",
    "order(\"A\",-2147483648)",
    "{\"predicates\":[\"quit\"]}",
    "ORDER(\"a\",1)",
    "order('a',1)",
    "\u{0}\u{1}\u{7f}",
    "ordér(\"é\",1)",
];

/// The names that the adversary knows: those of the knowledge base, and those that the site's conversations have brought up.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Facts of the knowledge base.
    pub kb: &'a [Atom],
    /// Shared facts at the moment.
    pub shared: &'a [Atom],
}

/// One turn's arbitrary predicates for any role.
pub fn predicates(dice: &mut Dice, ontology: &Ontology, known: Known<'_>, role: &str) -> Vec<String> {
    let count = if dice.once_in(40) { 12 } else { 1 + dice.below(4) };
    (0..count).map(|_| predicate(dice, ontology, known, role)).collect()
}

fn predicate(dice: &mut Dice, ontology: &Ontology, names: Known<'_>, role: &str) -> String {
    if dice.once_in(20) {
        return dice.pick(INJECTED).copied().unwrap_or_default().to_owned();
    }
    // Mostly the role's own vocabulary, so that the run goes deep; now and then anybody's.
    let own: Vec<_> = ontology.inputs.iter().filter(|f| f.roles.iter().any(|r| &**r == role)).collect();
    let all: Vec<_> = ontology.inputs.iter().collect();
    let forms = if dice.once_in(8) { &all } else { &own };
    let Some(form) = dice.pick(forms) else { return "nothing".to_owned() };
    let mut args: Vec<Term> = form.args.iter().map(|a| term(dice, ontology, names, a)).collect();
    if dice.once_in(50) {
        args.pop();
    }
    // Leaving ends a run, so it is said more rarely than the rest.
    if &*form.name == "quit" && !dice.once_in(3) {
        return predicate(dice, ontology, names, role);
    }
    Atom { name: form.name.clone(), args }.to_string()
}

fn term(dice: &mut Dice, ontology: &Ontology, names: Known<'_>, arg: &Arg) -> Term {
    match arg {
        Arg::Literal(t) => t.clone(),
        Arg::Fun(n, args) => Term::Fun(n.clone(), args.iter().map(|a| term(dice, ontology, names, a)).collect()),
        Arg::Sort(s) => of_sort(dice, ontology, names, s),
    }
}

fn of_sort(dice: &mut Dice, ontology: &Ontology, names: Known<'_>, sort: &str) -> Term {
    if dice.once_in(30) {
        return strange(dice);
    }
    match ontology.sorts.get(sort) {
        Some(Sort::Values(list)) => dice.pick(list).map_or(Term::Int(0), |v| Term::Const(v.clone())),
        Some(Sort::Int { min, .. }) => Term::Int(if dice.once_in(20) {
            *[0, -1, i32::MAX, i32::MIN, 26].get(dice.below(5)).unwrap_or(&0)
        } else {
            min.saturating_add(i32::try_from(dice.below(4)).unwrap_or(0))
        }),
        Some(Sort::Union(parts)) => match dice.pick(parts) {
            Some(p) => of_sort(dice, ontology, names, p),
            None => Term::Int(0),
        },
        Some(Sort::Names(predicates)) => {
            // A small pool, so that what is ordered is also changed, removed and asked about.
            let pool: Vec<&Atom> = names.kb.iter().chain(names.shared).filter(|a| predicates.contains(&a.name)).collect();
            let step = pool.len() / 8 + 1;
            let index = dice.below(8) * step + usize::from(dice.once_in(6)) * dice.below(step);
            pool.get(index).or(pool.first()).and_then(|a| a.args.first()).cloned().unwrap_or(Term::Int(0))
        }
        Some(Sort::NewName) => {
            // What a conversation brought up is worth coming back to.
            let from = if names.shared.is_empty() || dice.once_in(3) { names.kb } else { names.shared };
            dice.pick(from).and_then(|a| a.args.first()).filter(|t| matches!(t, Term::Str(_))).cloned().unwrap_or_else(|| Term::string("Something New"))
        }
        _ => strange(dice),
    }
}

fn strange(dice: &mut Dice) -> Term {
    match dice.below(8) {
        0 => Term::Int(-5),
        1 => Term::Int(i32::MAX),
        2 => Term::string("xylophone"),
        3 => Term::string("Name\"). price(all,0). %"),
        4 => Term::constant("price"),
        5 => Term::constant("none"),
        6 => Term::Fun("swap".into(), vec![Term::string("a"), Term::Int(1)]),
        _ => Term::Int(i32::try_from(dice.below(700)).unwrap_or(0)),
    }
}
