//! Whether what rules write fits a declared form.

use crate::check::values::Shape;
use crate::ontology::{Arg, Ontology, Sort};
use crate::reason::syntax::Expr;
use crate::term::{Name, Term};

/// Something that can be held against a declared argument.
pub trait Fits {
    /// Whether some value of it fits the argument.
    fn fits(&self, ontology: &Ontology, arg: &Arg) -> bool;
}

impl Fits for Expr {
    fn fits(&self, ontology: &Ontology, arg: &Arg) -> bool {
        match (self, arg) {
            (Self::Fun(n, args), Arg::Fun(m, forms)) => n == m && args.len() == forms.len() && args.iter().zip(forms).all(|(a, f)| a.fits(ontology, f)),
            (Self::Fun(..), Arg::Sort(s)) => open(ontology, s, 0),
            (Self::Fun(..), Arg::Literal(_)) => false,
            (Self::Pool(options), a) => options.iter().any(|o| o.fits(ontology, a)),
            (e, a) => e.ground().is_none_or(|t| ontology.fits(&t, a)),
        }
    }
}

impl Fits for Shape {
    fn fits(&self, ontology: &Ontology, arg: &Arg) -> bool {
        match (self, arg) {
            (Self::Any, _) => true,
            (Self::Const(n), a) => ontology.fits(&Term::Const(n.clone()), a),
            (Self::Int, Arg::Literal(t)) => t.as_int().is_some(),
            (Self::Text, Arg::Literal(t)) => matches!(t, Term::Str(_)),
            (Self::Int, Arg::Sort(s)) => has(ontology, s, 0, |sort| matches!(sort, Sort::Int { .. } | Sort::Any)),
            (Self::Text, Arg::Sort(s)) => has(ontology, s, 0, |sort| matches!(sort, Sort::Names(_) | Sort::NewName | Sort::Any)),
            (Self::Fun(n, args), Arg::Fun(m, forms)) => n == m && args.len() == forms.len() && args.iter().zip(forms).all(|(a, f)| a.fits(ontology, f)),
            (Self::Fun(..), Arg::Sort(s)) => open(ontology, s, 0),
            _ => false,
        }
    }
}

fn open(ontology: &Ontology, sort: &str, depth: usize) -> bool {
    has(ontology, sort, depth, |s| matches!(s, Sort::Any))
}

fn has(ontology: &Ontology, sort: &str, depth: usize, wanted: fn(&Sort) -> bool) -> bool {
    match ontology.sorts.get(sort) {
        Some(Sort::Union(parts)) => depth < 8 && parts.iter().any(|p| has(ontology, p, depth + 1, wanted)),
        Some(s) => wanted(s),
        None => true,
    }
}

/// How something relates to the declared forms of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Some form admits it.
    Fits,
    /// No form has this name.
    UnknownName,
    /// Forms have this name, but none this number of arguments.
    WrongArity,
    /// None of the forms admits these arguments.
    WrongArguments,
}

/// Judges a name with arguments against forms.
pub fn judge<'a, A: Fits>(ontology: &Ontology, name: &str, args: &[A], forms: impl Iterator<Item = (&'a Name, &'a [Arg])>) -> Verdict {
    let mut verdict = Verdict::UnknownName;
    for (form, sorts) in forms.filter(|(n, _)| ***n == *name) {
        debug_assert_eq!(&**form, name);
        if sorts.len() != args.len() {
            if verdict == Verdict::UnknownName {
                verdict = Verdict::WrongArity;
            }
        } else if args.iter().zip(sorts).all(|(a, s)| a.fits(ontology, s)) {
            return Verdict::Fits;
        } else {
            verdict = Verdict::WrongArguments;
        }
    }
    verdict
}
