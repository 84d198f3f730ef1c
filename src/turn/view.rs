//! View atoms of a decision to the state that people and translators see.

use std::collections::BTreeMap;

use crate::state::{Line, Part, State};
use crate::term::{Atom, Term};

/// A line while its atoms come in, in any order.
#[derive(Default)]
struct Gathered {
    item: String,
    mods: Vec<String>,
    parts: BTreeMap<String, Part>,
    /// The slots with their place in the walk.
    order: Vec<(Term, String)>,
}

/// The state that `view(…)` atoms describe: status, lines with their modifications and parts, the total, and what
/// else the rules show.
pub fn state(view: &[Atom]) -> State {
    let mut state = State::default();
    let mut lines: BTreeMap<i32, Gathered> = BTreeMap::new();
    for atom in view {
        match atom.args.as_slice() {
            [Term::Const(w), status] if &**w == "status" => state.status = plain(status),
            [Term::Const(w), Term::Int(total)] if &**w == "price" => state.price = Some(i64::from(*total)),
            [Term::Const(w), Term::Int(p), item] if &**w == "line" => lines.entry(*p).or_default().item = plain(item),
            [Term::Const(w), Term::Int(p), change] if &**w == "mod" => lines.entry(*p).or_default().mods.extend(modification(change)),
            [Term::Const(w), Term::Int(p), Term::Fun(_, part)] if &**w == "part" => {
                let [order, slot, dish] = part.as_slice() else { continue };
                let line = lines.entry(*p).or_default();
                let entry = line.parts.entry(plain(slot)).or_default();
                entry.slot = plain(slot);
                entry.dish = matches!(dish, Term::Str(_)).then(|| plain(dish));
                line.order.push((order.clone(), plain(slot)));
            }
            // What the domain shows beyond lines and totals.
            [Term::Const(what), value] => state.shows.entry(what.to_string()).or_default().push(plain(value)),
            _ => {}
        }
    }
    for atom in view {
        if let [Term::Const(w), Term::Int(p), slot, change] = atom.args.as_slice() {
            let part = lines.get_mut(p).filter(|_| &**w == "part_mod").and_then(|l| l.parts.get_mut(&plain(slot)));
            if let (Some(part), Some(text)) = (part, modification(change)) {
                part.mods.push(text);
            }
        }
    }
    for (i, Gathered { item, mut mods, mut parts, mut order }) in (1..).zip(lines.into_values()) {
        mods.sort();
        order.sort();
        let mut ordered: Vec<Part> = order.iter().filter_map(|(_, slot)| parts.remove(slot)).collect();
        ordered.iter_mut().for_each(|p| p.mods.sort());
        state.order.push(Line { i, item, mods, parts: ordered });
    }
    state
}

/// `m(add,"Beans")` as `add("Beans")`.
fn modification(term: &Term) -> Option<String> {
    match term {
        Term::Fun(_, args) => match args.as_slice() {
            [op, option] => Some(format!("{op}({option})")),
            _ => None,
        },
        _ => None,
    }
}

fn plain(term: &Term) -> String {
    term.as_name().map_or_else(|| term.to_string(), str::to_owned)
}
