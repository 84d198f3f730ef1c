//! Things in a row: what is said of their places, as formulas over the place of each.

use super::super::formula::{Formula, Scope, Value};
use super::super::told::{Literal, Reading, Theory};
use crate::reason::syntax::Rel;
use crate::term::{Name, Term};

/// The sort of places.
const PLACES: &str = "place";

/// Turns what was told of a row (`row(Thing)`, `before(A,B)`, `next_before(A,B)`, `nth(A,N)`, `nth_last(A,N)`) into formulas, if there is a row.
pub fn arrange(theory: &mut Theory) {
    let of_row = |r: &Reading| match r {
        Reading::Fact(l) if &*l.atom.name == "row" => l.atom.args.first().cloned(),
        _ => None,
    };
    let mut things: Vec<Term> = Vec::new();
    for t in theory.told.iter().filter_map(|t| of_row(&t.reading)) {
        if !things.contains(&t) {
            things.push(t);
        }
    }
    let Ok(size) = i32::try_from(things.len()) else { return };
    if size == 0 {
        return;
    }
    theory.scope.sorts.insert(PLACES.into(), (1..=size).map(Value::Number).collect());
    for t in &things {
        theory.scope.functions.insert(name(t), (vec![], PLACES.into()));
    }
    let mut said = false;
    theory.told.retain_mut(|t| {
        if of_row(&t.reading).is_some() {
            t.reading = Reading::Formula(Formula::Distinct(vec![], things.iter().map(place).collect()));
            return !std::mem::replace(&mut said, true);
        }
        if let Reading::Fact(l) = &t.reading
            && let Some(f) = formula(l, &theory.scope)
        {
            t.reading = Reading::Formula(f);
        }
        true
    });
}

/// What a statement says of places.
pub fn formula(l: &Literal, scope: &Scope) -> Option<Formula> {
    let size = i32::try_from(scope.sorts.get(PLACES)?.len()).ok()?;
    let number = |t: &Term| t.as_int().map(Value::Number);
    if !l.atom.args.iter().all(|t| t.as_int().is_some() || scope.functions.contains_key(&name(t))) {
        return None;
    }
    let f = match (&*l.atom.name, l.atom.args.as_slice()) {
        ("before", [a, b]) => Formula::Compare(Rel::Lt, place(a), place(b)),
        ("next_before", [a, b]) => Formula::Compare(Rel::Eq, Value::Add(Box::new(place(a)), Box::new(Value::Number(1))), place(b)),
        ("nth", [a, n]) => Formula::Compare(Rel::Eq, place(a), number(n)?),
        ("nth_last", [a, n]) => Formula::Compare(Rel::Eq, place(a), Value::Number(size + 1 - n.as_int()?)),
        _ => return None,
    };
    Some(if l.positive { f } else { f.negated() })
}

fn place(t: &Term) -> Value {
    Value::Call(name(t), vec![])
}

fn name(t: &Term) -> Name {
    t.as_name().map_or_else(|| t.to_string().into(), Name::from)
}
