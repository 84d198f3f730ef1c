//! Admission: which of the predicates that arrived a role may say, and why the others are refused.

use serde::Serialize;

use super::{Arg, Ontology, Sort};
use crate::diag::did_you_mean;
use crate::term::{Atom, MAX_DEPTH, Term, TermError};

/// Most predicates that one turn may bring.
pub const MAX_PREDICATES: usize = 200;
/// Longest predicate text, in bytes.
pub const MAX_PREDICATE_BYTES: usize = 2000;

/// What entered and what did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Admitted atoms, each with its position among the predicates that arrived, from 1.
    pub admitted: Vec<(i32, Atom)>,
    /// Refused texts.
    pub refused: Vec<Refused>,
}

/// A predicate that was not let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Its position among the predicates that arrived, from 1.
    pub at: i32,
    /// Its text, cut to a printable length.
    pub text: String,
    /// Stable reason: syntax, unknown_predicate, wrong_arity, wrong_argument, no_right, number_out_of_bounds, too_long, too_many.
    pub code: &'static str,
    /// The reason in words, with a remedy where there is one.
    pub message: String,
}

impl Ontology {
    /// Checks every predicate text that arrived from a speaker in `role`.
    pub fn admit<S: AsRef<str>>(&self, role: &str, predicates: &[S]) -> Admission {
        let mut result = Admission::default();
        for (i, text) in predicates.iter().enumerate() {
            let (at, text) = (i32::try_from(i + 1).unwrap_or(i32::MAX), text.as_ref());
            let verdict =
                if i >= MAX_PREDICATES { Err(("too_many", format!("a turn takes at most {MAX_PREDICATES} predicates"))) } else { self.admit_one(role, text) };
            match verdict {
                Ok(atom) => result.admitted.push((at, atom)),
                Err((code, message)) => result.refused.push(Refused { at, text: shown(text), code, message }),
            }
        }
        result
    }

    fn admit_one(&self, role: &str, text: &str) -> Result<Atom, (&'static str, String)> {
        if text.len() > MAX_PREDICATE_BYTES {
            return Err(("too_long", format!("a predicate has at most {MAX_PREDICATE_BYTES} bytes")));
        }
        let atom = match Atom::parse(text) {
            Err(TermError::NumberTooLarge(_)) => Atom::parse(&saturate(text)),
            other => other,
        };
        let atom = match atom {
            Ok(a) => a,
            Err(TermError::TooDeep) => return Err(("too_long", format!("a predicate nests at most {MAX_DEPTH} levels"))),
            Err(TermError::NumberTooLarge(n)) => return Err(("number_out_of_bounds", format!("`{n}` does not fit 32 bits"))),
            Err(e) => return Err(("syntax", e.to_string())),
        };
        self.admit_atom(role, atom)
    }

    /// Checks one atom that arrived from a speaker in `role`; a clamped number comes back within its bounds.
    pub fn admit_atom(&self, role: &str, atom: Atom) -> Result<Atom, (&'static str, String)> {
        let named: Vec<_> = self.inputs.iter().filter(|f| f.name == atom.name).collect();
        if named.is_empty() {
            let near = did_you_mean(&atom.name, self.inputs_of(role).map(|f| &*f.name));
            let help = near.map(|n| format!(", did you mean `{n}`?")).unwrap_or_default();
            return Err(("unknown_predicate", format!("`{}` is no predicate of this domain{help}", shown(&atom.signature()))));
        }
        let own: Vec<_> = named.into_iter().filter(|f| f.roles.iter().any(|r| &**r == role)).collect();
        if own.is_empty() {
            return Err(("no_right", format!("a {role} has no right to `{}`", atom.name)));
        }
        let sized: Vec<_> = own.iter().filter(|f| f.args.len() == atom.args.len()).collect();
        if sized.is_empty() {
            let forms: Vec<_> = own.iter().map(ToString::to_string).collect();
            return Err(("wrong_arity", format!("`{}` is not one of: {}", atom.signature(), forms.join("; "))));
        }
        match sized.iter().find(|f| f.args.iter().zip(&atom.args).all(|(p, t)| self.fits(t, p))) {
            Some(form) => {
                let args = form.args.iter().zip(&atom.args).map(|(p, t)| self.clamp(t, p)).collect();
                Ok(Atom { name: atom.name, args })
            }
            None => {
                let bounds = sized.iter().any(|f| f.args.iter().zip(&atom.args).any(|(p, t)| self.out_of_bounds(t, p)));
                let forms: Vec<_> = sized.iter().map(ToString::to_string).collect();
                let code = if bounds { "number_out_of_bounds" } else { "wrong_argument" };
                Err((code, format!("`{}` fits none of: {}", shown(&atom.to_string()), forms.join("; "))))
            }
        }
    }

    fn clamp(&self, term: &Term, arg: &Arg) -> Term {
        match (arg, term) {
            (Arg::Sort(s), Term::Int(n)) => match self.sorts.get(s) {
                Some(Sort::Int { max, clamp: true, .. }) => Term::Int(*n.min(max)),
                _ => term.clone(),
            },
            _ => term.clone(),
        }
    }

    fn out_of_bounds(&self, term: &Term, arg: &Arg) -> bool {
        match (arg, term) {
            (Arg::Sort(s), Term::Int(_)) => matches!(self.sorts.get(s), Some(Sort::Int { .. })) && !self.is_of(term, s),
            _ => false,
        }
    }
}

/// The text with every number outside quotes that does not fit 32 bits replaced by the nearest that does.
fn saturate(text: &str) -> String {
    let (mut out, mut digits, mut in_string, mut escaped) = (String::new(), String::new(), false, false);
    let flush = |digits: &mut String, out: &mut String| {
        if !digits.is_empty() {
            match digits.parse::<i32>() {
                Ok(_) => out.push_str(digits),
                Err(_) => out.push_str(&i32::MAX.to_string()),
            }
            digits.clear();
        }
    };
    for c in text.chars() {
        if !in_string && c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        flush(&mut digits, &mut out);
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        out.push(c);
    }
    flush(&mut digits, &mut out);
    out
}

/// A text cut to a printable length, control characters removed.
fn shown(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).take(120).collect();
    if text.chars().count() > 120 { format!("{clean}…") } else { clean }
}
