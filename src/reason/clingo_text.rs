//! Statements as clingo gets them: the same instances, in a form that costs it less.

use std::fmt::Write;

use super::syntax::{Item, Kind, Literal, Rel, Sign, Statement, is_anonymous};
use crate::term::Name;

/// A statement for clingo: without bounds, and `_` of a plain condition gets a name: the instances are the same, but clingo
/// makes no rule of its own to leave the column out.
pub fn for_clingo(s: &Statement) -> Name {
    let Kind::Rule { body, .. } = &s.kind else { return s.text.clone() };
    let mut places = bounds(body);
    let mut stem = String::from("Any");
    while s.text.contains(&stem) {
        stem.push('y');
    }
    for item in body {
        let named = match item {
            Item::Literal(l) => std::slice::from_ref(l),
            Item::Conditional { condition, .. } => condition.as_slice(),
            Item::Aggregate(_) => &[],
        };
        let inner = if let Item::Aggregate(a) = item { a.elements.iter().flat_map(|e| &e.condition).collect() } else { Vec::new() };
        for l in named.iter().chain(inner) {
            if let Literal::Atom { sign: Sign::Plain, atom } = l {
                atom.args.iter().for_each(|a| {
                    a.each_var(&mut |n, at| {
                        if is_anonymous(n) {
                            places.push((at, at + 1, format!("{stem}{}", places.len())));
                        }
                    });
                });
            }
        }
    }
    replaced(s, places)
}

/// A statement with `X < Y` written as `(X,) < (Y,)`: the order is the same, but clingo does not reason about integer bounds.
/// Left to itself it enumerates `0 <= X <= 1000000` and never ends on `X < Y, Y < X`.
pub fn without_bounds(s: &Statement) -> Name {
    if let Kind::Rule { body, .. } = &s.kind { replaced(s, bounds(body)) } else { s.text.clone() }
}

/// Places of a source and what stands there instead.
type Places = Vec<(usize, usize, String)>;

fn bounds(body: &[Item]) -> Places {
    let mut places = Places::new();
    for (l, _) in body.iter().flat_map(Item::literals) {
        if let Literal::Compare { sign, left, rest, span } = l
            && rest.iter().any(|(r, _)| !matches!(r, Rel::Eq | Rel::Ne))
            && rest.iter().all(|(r, _)| *r != Rel::Eq)
        {
            let sign = match sign {
                Sign::Plain => "",
                Sign::Not => "not ",
                Sign::NotNot => "not not ",
            };
            let mut text = format!("{sign}({left},)");
            for (r, e) in rest {
                let _ = write!(text, " {} ({e},)", r.symbol());
            }
            places.push((span.start, span.end, text));
        }
    }
    places
}

fn replaced(s: &Statement, mut places: Places) -> Name {
    places.sort();
    let mut out = s.text.to_string();
    for (start, end, text) in places.into_iter().rev() {
        let (from, to) = (start.wrapping_sub(s.origin.start), end.wrapping_sub(s.origin.start));
        if out.get(from..to).is_some() {
            out.replace_range(from..to, &text);
        }
    }
    out.into()
}
