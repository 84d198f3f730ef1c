//! Admission: which of the predicates that arrived a role may say, and why the others are refused.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Arg, MAX_NAME, Ontology, Sort};
use crate::diag::did_you_mean;
use crate::term::{Atom, Term, TermError};
use crate::text::{CURRENCIES, is_shown, shorten, shown};

/// Most predicates that one turn may bring.
pub const MAX_PREDICATES: usize = 200;
/// Longest predicate text, in bytes.
pub const MAX_PREDICATE_BYTES: usize = 16_384;

/// A predicate as it arrived: an atom, or a text that is none. Texts are read once, where they come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// A predicate.
    Atom(Atom),
    /// What could not be read as one, uncut, with the reason.
    Text(String, Unreadable),
}

/// Why a text is no predicate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// More bytes than a predicate may have.
    #[error("a predicate has at most {MAX_PREDICATE_BYTES} bytes")]
    TooLong,
    /// No term.
    #[error(transparent)]
    Term(TermError),
}

impl Arrived {
    /// Reads a text; numbers that do not fit are read as the nearest that does, so that the rules can refuse them.
    pub fn read(text: &str) -> Self {
        if text.len() > MAX_PREDICATE_BYTES {
            return Self::Text(text.to_owned(), Unreadable::TooLong);
        }
        let atom = match Atom::parse(text) {
            Err(TermError::NumberTooLarge(_)) => Atom::parse(&saturate(text)),
            other => other,
        };
        atom.map_or_else(|e| Self::Text(text.to_owned(), Unreadable::Term(e)), Self::Atom)
    }

    /// What arrived as it may be shown, uncut.
    pub fn shown(&self) -> String {
        shown(&self.to_string(), CURRENCIES)
    }

    /// The atom, if it is one.
    pub fn atom(&self) -> Option<&Atom> {
        if let Self::Atom(a) = self { Some(a) } else { None }
    }
}

impl From<Atom> for Arrived {
    fn from(atom: Atom) -> Self {
        Self::Atom(atom)
    }
}

impl Default for Arrived {
    fn default() -> Self {
        Self::read("")
    }
}

impl fmt::Display for Arrived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Atom(a) => a.fmt(f),
            Self::Text(t, _) => f.write_str(t),
        }
    }
}

impl Serialize for Arrived {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Arrived {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self::read(&String::deserialize(d)?))
    }
}

/// What entered and what did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Admitted atoms, each with its position among the predicates that arrived, from 1.
    pub admitted: Vec<(i32, Atom)>,
    /// The others.
    pub refused: Vec<Refused>,
}

/// A predicate that was not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its position among the predicates that arrived, from 1.
    pub at: i32,
    /// What arrived.
    pub what: Arrived,
    /// Stable reason: syntax, unknown_predicate, wrong_arity, wrong_argument, no_right, number_out_of_bounds, too_long, too_many.
    pub code: &'static str,
    /// The reason in words, with a remedy where there is one.
    pub message: String,
}

impl Refused {
    /// The atom, if the rules may see it: it is short enough that nothing in it is free text, and could be shown as it is.
    pub fn for_rules(&self) -> Option<&Atom> {
        fn short(t: &Term) -> bool {
            match t {
                Term::Str(s) => s.chars().count() <= MAX_NAME && is_shown(s),
                Term::Fun(_, args) => args.iter().all(short),
                Term::Int(_) | Term::Const(_) => true,
            }
        }
        self.what.atom().filter(|a| a.args.iter().all(short))
    }
}

impl Ontology {
    /// Checks everything that arrived from a speaker in `role`.
    pub fn admit(&self, role: &str, arrived: &[Arrived]) -> Admission {
        let mut result = Admission::default();
        for (i, what) in arrived.iter().enumerate() {
            let at = i32::try_from(i + 1).unwrap_or(i32::MAX);
            let verdict = match what {
                _ if i >= MAX_PREDICATES => Err(("too_many", format!("a turn takes at most {MAX_PREDICATES} predicates"))),
                Arrived::Atom(atom) => self.admit_atom(role, atom),
                Arrived::Text(_, e) => Err((unreadable(e), e.to_string())),
            };
            match verdict {
                Ok(atom) => result.admitted.push((at, atom)),
                Err((code, message)) => result.refused.push(Refused { at, what: what.clone(), code, message: shown(&message, CURRENCIES) }),
            }
        }
        result
    }

    /// Checks one atom that arrived from a speaker in `role`; a clamped number comes back within its bounds.
    pub fn admit_atom(&self, role: &str, atom: &Atom) -> Result<Atom, (&'static str, String)> {
        let named: Vec<_> = self.inputs.iter().filter(|f| f.name == atom.name).collect();
        if named.is_empty() {
            let near = did_you_mean(&atom.name, self.inputs_of(role).map(|f| &*f.name));
            let help = near.map(|n| format!(", did you mean `{n}`?")).unwrap_or_default();
            return Err(("unknown_predicate", format!("`{}` is no predicate of this domain{help}", shorten(&atom.signature(), MAX_NAME))));
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
                Ok(Atom { name: atom.name.clone(), args })
            }
            None => {
                let bounds = sized.iter().any(|f| f.args.iter().zip(&atom.args).any(|(p, t)| self.out_of_bounds(t, p)));
                let forms: Vec<_> = sized.iter().map(ToString::to_string).collect();
                let code = if bounds { "number_out_of_bounds" } else { "wrong_argument" };
                Err((code, format!("`{}` fits none of: {}", shorten(&atom.to_string(), MAX_NAME), forms.join("; "))))
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

/// The code of a text that is no predicate.
fn unreadable(e: &Unreadable) -> &'static str {
    match e {
        Unreadable::TooLong | Unreadable::Term(TermError::TooDeep) => "too_long",
        Unreadable::Term(TermError::NumberTooLarge(_)) => "number_out_of_bounds",
        Unreadable::Term(TermError::Syntax { .. }) => "syntax",
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
