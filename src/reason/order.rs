//! clingo's order of terms, which comparisons and aggregates go by.

use std::cmp::Ordering;

use crate::term::Term;

/// clingo's order of terms: numbers, constants, strings, functions by number of arguments, name and arguments.
pub fn order(a: &Term, b: &Term) -> Ordering {
    let rank = |t: &Term| match t {
        Term::Int(_) => 0,
        Term::Const(_) => 1,
        Term::Str(_) => 2,
        Term::Fun(..) => 3,
    };
    match (a, b) {
        (Term::Int(x), Term::Int(y)) => x.cmp(y),
        (Term::Const(x), Term::Const(y)) | (Term::Str(x), Term::Str(y)) => x.cmp(y),
        (Term::Fun(f, x), Term::Fun(g, y)) => {
            (x.len(), f).cmp(&(y.len(), g)).then_with(|| x.iter().zip(y).map(|(a, b)| order(a, b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}
