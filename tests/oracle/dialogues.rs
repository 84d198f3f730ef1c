//! Runs scripted dialogues on any step function and lists what does not hold.

use std::collections::BTreeSet;

use duologue::term::{Atom, Term};
use serde::Deserialize;

use crate::site::{Reply, Stepper};
use crate::state::{Line, View};

#[derive(Deserialize, Debug)]
struct File {
    dialogues: Vec<Dialogue>,
}

#[derive(Deserialize, Debug)]
pub struct Dialogue {
    pub id: String,
    pub steps: Vec<Step>,
    #[serde(rename = "final")]
    pub last: Final,
}

#[derive(Deserialize, Debug)]
pub struct Step {
    pub who: String,
    pub parsed: Vec<String>,
    #[serde(default)]
    pub expect: Vec<String>,
    #[serde(default)]
    pub expect_any: Vec<Vec<String>>,
    #[serde(default)]
    pub forbid: Vec<String>,
}

#[derive(Deserialize, Debug, Default)]
pub struct Final {
    #[serde(default)]
    pub orders: Vec<Order>,
    #[serde(default)]
    pub runout: Vec<String>,
    #[serde(default)]
    pub kb_added: Vec<String>,
    #[serde(default)]
    pub kb_removed: Vec<String>,
    #[serde(default)]
    pub kb_absent: Vec<String>,
}

#[derive(Deserialize, Debug)]
pub struct Order {
    pub status: String,
    #[serde(default)]
    pub items: Vec<Ordered>,
    pub price: Option<i64>,
}

#[derive(Deserialize, Debug)]
pub struct Ordered {
    pub item: String,
    #[serde(default)]
    pub mods: Vec<String>,
    #[serde(default)]
    pub parts: Vec<crate::state::Slot>,
}

fn matches(p: &Term, t: &Term) -> bool {
    match (p, t) {
        (Term::Const(w), _) if &**w == "any_" => true,
        (Term::Fun(f, a), Term::Fun(g, b)) => f == g && a.len() == b.len() && a.iter().zip(b).all(|(x, y)| matches(x, y)),
        _ => p == t,
    }
}

/// Whether a pattern (`name/arity`, or an atom with `_` for anything) matches an atom.
pub fn pattern_matches(pattern: &str, a: &Atom) -> bool {
    if !pattern.contains('(')
        && let Some((name, arity)) = pattern.split_once('/')
    {
        return &*a.name == name && a.args.len().to_string() == arity;
    }
    // A lone underscore is no term, so it travels as a constant; names in quotes hold none in these files.
    let read = Term::parse(&pattern.replace("(_", "(any_").replace(",_", ",any_"));
    read.is_ok_and(|p| matches(&p, &a.to_term()))
}

fn declined(m: &str) -> bool {
    ["fresco(no)", "supreme(no)", "grill(no)"].contains(&m)
}

/// Modifications in one order, without declined styles.
pub fn kept(mods: &[String]) -> Vec<String> {
    let mut out: Vec<String> = mods.iter().filter(|m| !declined(m)).cloned().collect();
    out.sort();
    out
}

/// An order's line in the form in which two are compared; the two taco slots are one kind, fixed and open slots say nothing.
fn canonical(item: &str, mods: &[String], parts: &[crate::state::Slot]) -> String {
    let plain = |s: &crate::state::Slot| s.dish.is_none() || (s.dish.as_ref() == Some(&s.slot) && kept(&s.mods).is_empty());
    let slot = |s: &str| if s == "First Taco" || s == "Second Taco" { "Taco".to_string() } else { s.to_string() };
    let mut parts: Vec<_> = parts.iter().filter(|s| !plain(s)).map(|s| format!("{}={:?}{:?}", slot(&s.slot), s.dish, kept(&s.mods))).collect();
    parts.sort();
    format!("{item} {:?} {parts:?}", kept(mods))
}

fn lines<'a>(x: impl Iterator<Item = (&'a str, &'a [String], &'a [crate::state::Slot])>) -> Vec<String> {
    let mut v: Vec<_> = x.map(|(i, m, p)| canonical(i, m, p)).collect();
    v.sort();
    v
}

fn as_lines(order: &[Line]) -> Vec<String> {
    lines(order.iter().map(|l| (&*l.item, &*l.mods, &*l.parts)))
}

/// Everything that does not hold when the dialogue runs on `stepper`; `menu` is the kb it started with.
pub fn check(d: &Dialogue, stepper: &mut dyn Stepper, menu: &BTreeSet<Atom>) -> Vec<String> {
    let mut bad = vec![];
    let mut orders: Vec<View> = vec![];
    let mut open = false;
    for (k, s) in d.steps.iter().enumerate() {
        let at = |what: &str| format!("{} step {}: {what}", d.id, k + 1);
        let predicates: Vec<Atom> = s.parsed.iter().map(|p| Atom::parse(p).unwrap()).collect();
        let Reply { actions, state } = match stepper.turn(&s.who, &s.who, &predicates) {
            Ok(r) => r,
            Err(e) => {
                bad.push(at(&e));
                continue;
            }
        };
        let said: Vec<String> = actions.iter().map(ToString::to_string).collect();
        let any = |p: &String| actions.iter().any(|a| pattern_matches(p, a));
        bad.extend(s.expect.iter().filter(|p| !any(p)).map(|p| at(&format!("expected {p}, got {said:?}"))));
        bad.extend(s.expect_any.iter().filter(|l| !l.iter().any(any)).map(|l| at(&format!("expected one of {l:?}, got {said:?}"))));
        bad.extend(s.forbid.iter().filter(|p| any(p)).map(|p| at(&format!("forbidden {p}, got {said:?}"))));
        if s.who == "customer" {
            if open {
                orders.pop();
            }
            open = state.status == "open";
            orders.push(state);
        }
    }
    let mut at = |what: String| bad.push(format!("{} at the end: {what}", d.id));
    if orders.len() != d.last.orders.len() {
        at(format!("{} customer sessions, expected {}", orders.len(), d.last.orders.len()));
    }
    for (got, want) in orders.iter().zip(&d.last.orders) {
        let wanted = lines(want.items.iter().map(|i| (&*i.item, &*i.mods, &*i.parts)));
        if got.status != want.status || as_lines(&got.order) != wanted {
            at(format!("order {} {:?}, expected {} {wanted:?}", got.status, as_lines(&got.order), want.status));
        }
        if want.price.is_some_and(|p| p != got.price) {
            at(format!("price {}, expected {:?}", got.price, want.price));
        }
    }
    let parse = |v: &[String]| v.iter().map(|f| Atom::parse(f).unwrap()).collect::<BTreeSet<_>>();
    match (stepper.facts("shared"), stepper.facts("kb")) {
        (Ok(shared), Ok(kb)) => {
            let runout: BTreeSet<_> = shared.iter().filter(|f| &*f.name == "runout").filter_map(|f| f.args[0].as_name().map(str::to_string)).collect();
            if runout != d.last.runout.iter().cloned().collect() {
                at(format!("runout {runout:?}, expected {:?}", d.last.runout));
            }
            let (new, gone): (BTreeSet<_>, BTreeSet<_>) = (kb.difference(menu).cloned().collect(), menu.difference(&kb).cloned().collect());
            if new != parse(&d.last.kb_added) || (gone != parse(&d.last.kb_removed) && d.last.kb_absent.is_empty()) {
                at(format!("kb changed by {new:?} and {gone:?}"));
            }
            for x in &d.last.kb_absent {
                if kb.iter().any(|f| f.args.iter().any(|t| t.as_name() == Some(x))) {
                    at(format!("{x} is still mentioned"));
                }
            }
        }
        (Err(e), _) | (_, Err(e)) => at(e),
    }
    bad
}

/// Reads a file of dialogues.
pub fn read(text: &str) -> Vec<Dialogue> {
    serde_saphyr::from_str::<File>(text).unwrap().dialogues
}
