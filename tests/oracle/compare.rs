//! Two step functions on one conversation: the first difference, made small and readable.

use std::collections::BTreeMap;
use std::rc::Rc;

use duologue::term::{Atom, Term};

use crate::dialogues::kept;
use crate::engine::Engine;
use crate::generate::Turn;
use crate::menu::Menu;
use crate::site::{Reply, Site, Stepper};
use crate::state::View;

/// Where two replies part.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    pub missing: Vec<String>,
    pub extra: Vec<String>,
    pub state: Option<(String, String)>,
    pub signature: String,
}

fn shape(t: &Term) -> String {
    match t {
        Term::Str(_) => "S".into(),
        Term::Int(_) => "N".into(),
        Term::Const(c) => c.to_string(),
        Term::Fun(f, a) => format!("{f}({})", a.iter().map(shape).collect::<Vec<_>>().join(",")),
    }
}

fn state_text(v: &View) -> String {
    let part = |s: &crate::state::Slot| format!("{}={}{:?}", s.slot, s.dish.as_deref().unwrap_or("-"), kept(&s.mods));
    let line = |l: &crate::state::Line| format!("{}:{}{:?}{:?}", l.i, l.item, kept(&l.mods), l.parts.iter().map(part).collect::<Vec<_>>());
    format!("{} {} [{}]", v.status, v.price, v.order.iter().map(line).collect::<Vec<_>>().join(" | "))
}

/// Compares actions as multisets, and the state of a customer.
pub fn difference(role: &str, want: &Reply, got: &Reply) -> Option<Difference> {
    let mut count: BTreeMap<&Atom, i32> = BTreeMap::new();
    want.actions.iter().for_each(|a| *count.entry(a).or_default() += 1);
    got.actions.iter().for_each(|a| *count.entry(a).or_default() -= 1);
    let mut d = Difference::default();
    let mut shapes = std::collections::BTreeSet::new();
    for (a, n) in count {
        let side = if n > 0 { &mut d.missing } else { &mut d.extra };
        (0..n.abs()).for_each(|_| side.push(a.to_string()));
        if n != 0 {
            shapes.insert(format!("{}{}", if n > 0 { '-' } else { '+' }, shape(&a.to_term())));
        }
    }
    let (a, b) = (state_text(&want.state), state_text(&got.state));
    if role == "customer" && a != b {
        d.state = Some((a, b));
        shapes.insert(if want.state.price == got.state.price { "state" } else { "state and price" }.into());
    }
    d.signature = shapes.into_iter().collect::<Vec<_>>().join(" ");
    (!d.signature.is_empty()).then_some(d)
}

/// What running one conversation on both sides gave.
#[derive(Default)]
pub struct Run {
    pub turns: usize,
    pub agreeing: usize,
    pub first: Option<(usize, Difference)>,
}

/// Runs a conversation on a fresh site of both sides.
pub fn run(engine: &mut Engine, menu: &Rc<Menu>, turns: &[Turn], whole: bool) -> Run {
    engine.next_site();
    let mut site = Site::new(menu.clone());
    let mut out = Run::default();
    for (k, t) in turns.iter().enumerate() {
        let want = site.step(&t.session, t.role, &t.predicates);
        let diff = match engine.turn(&t.session, t.role, &t.predicates) {
            Ok(got) => difference(t.role, &want, &got),
            Err(e) => Some(Difference { extra: vec![e], signature: "engine error".into(), ..Difference::default() }),
        };
        out.turns += 1;
        match diff {
            None => out.agreeing += 1,
            Some(d) => {
                out.first.get_or_insert((k, d));
                if !whole {
                    break;
                }
            }
        }
    }
    out
}

/// Drops turns and atoms as long as the same kind of difference stays.
pub fn shrink(engine: &mut Engine, menu: &Rc<Menu>, turns: &[Turn], budget: usize) -> Option<(Vec<Turn>, Difference)> {
    let (k, first) = run(engine, menu, turns, false).first?;
    let mut best = (turns[..=k].to_vec(), first);
    let mut left = budget;
    let mut attempt = |candidate: Vec<Turn>, best: &mut (Vec<Turn>, Difference)| {
        if left == 0 {
            return false;
        }
        left -= 1;
        match run(engine, menu, &candidate, false).first {
            Some((k, d)) if d.signature == best.1.signature => {
                *best = (candidate[..=k].to_vec(), d);
                true
            }
            _ => false,
        }
    };
    let mut chunk = best.0.len() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at + chunk < best.0.len() {
            let mut fewer = best.0.clone();
            fewer.drain(at..at + chunk);
            if !attempt(fewer, &mut best) {
                at += chunk;
            }
        }
        chunk /= 2;
    }
    let mut at = 0;
    while at < best.0.len() {
        let mut atom = 0;
        while atom < best.0.get(at).map_or(0, |t| t.predicates.len()) && best.0[at].predicates.len() > 1 {
            let mut fewer = best.0.clone();
            fewer[at].predicates.remove(atom);
            if !attempt(fewer, &mut best) {
                atom += 1;
            }
        }
        at += 1;
    }
    Some(best)
}

/// A conversation and its difference as a person reads them.
pub fn readable(menu: &Rc<Menu>, turns: &[Turn], d: &Difference) -> String {
    let mut site = Site::new(menu.clone());
    let mut out = String::new();
    let join = |a: &[Atom]| a.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    for t in turns {
        let reply = site.step(&t.session, t.role, &t.predicates);
        out += &format!("  {}> {}\n", t.session, join(&t.predicates));
        out += &format!("      {}\n", join(&reply.actions));
    }
    for a in &d.missing {
        out += &format!("    - {a}\n");
    }
    for a in &d.extra {
        out += &format!("    + {a}\n");
    }
    if let Some((a, b)) = &d.state {
        out += &format!("    - state {a}\n    + state {b}\n");
    }
    out
}
