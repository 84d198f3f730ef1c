//! Patterns over action and input atoms: `confirm(order, X)`, with variables in capitals and `_` for anything.

use super::{Atom, Name, Read, Term, TermError};

/// What an atom or a term must look like, and which of its parts get a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Anything.
    Any,
    /// Anything, by this name.
    Var(Name),
    /// Exactly this.
    Literal(Term),
    /// A function whose arguments match.
    Fun(Name, Vec<Pattern>),
}

/// Values by variable.
pub type Bindings = Vec<(Name, Value)>;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A part of an atom.
    Term(Term),
    /// Rendered text.
    Text(String),
}

impl Pattern {
    /// Reads a pattern; the error names what was expected.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        Self::read(text).map_err(|e| match e {
            TermError::Syntax { expected, .. } => expected,
            TermError::NumberTooLarge(_) => "a number of 32 bits",
            TermError::TooDeep => "a pattern that nests less",
        })
    }

    /// Predicate name and arguments, if the pattern is one of an atom.
    pub fn head(&self) -> Option<(&str, &[Self])> {
        match self {
            Self::Literal(Term::Const(n)) => Some((n, &[])),
            Self::Fun(n, args) => Some((n, args)),
            _ => None,
        }
    }

    /// Whether the atom matches; its named parts are added to `bindings`.
    pub fn matches_atom(&self, atom: &Atom, bindings: &mut Bindings) -> bool {
        match self.head() {
            Some((name, args)) => *name == *atom.name && args.len() == atom.args.len() && args.iter().zip(&atom.args).all(|(p, t)| p.matches(t, bindings)),
            None => false,
        }
    }

    /// Whether the term matches; a variable that is bound already must hold the same term.
    pub fn matches(&self, term: &Term, bindings: &mut Bindings) -> bool {
        match (self, term) {
            (Self::Any, _) => true,
            (Self::Var(v), t) => match bindings.iter().find(|(n, _)| n == v) {
                Some((_, Value::Term(bound))) => bound == t,
                Some(_) => false,
                None => {
                    bindings.push((v.clone(), Value::Term(t.clone())));
                    true
                }
            },
            (Self::Literal(l), t) => l == t,
            (Self::Fun(n, ps), Term::Fun(m, ts)) => n == m && ps.len() == ts.len() && ps.iter().zip(ts).all(|(p, t)| p.matches(t, bindings)),
            _ => false,
        }
    }

    /// The term that the pattern becomes with its variables filled in; none if one of them holds no term.
    pub fn filled(&self, bindings: &Bindings) -> Option<Term> {
        match self {
            Self::Any => None,
            Self::Var(v) => bindings.iter().find_map(|(n, value)| if let (true, Value::Term(t)) = (n == v, value) { Some(t.clone()) } else { None }),
            Self::Literal(term) => Some(term.clone()),
            Self::Fun(name, args) => Some(Term::Fun(name.clone(), args.iter().map(|a| a.filled(bindings)).collect::<Option<_>>()?)),
        }
    }

    /// The variables, in order of appearance.
    pub fn variables(&self) -> Vec<Name> {
        match self {
            Self::Var(v) => vec![v.clone()],
            Self::Fun(_, args) => args.iter().flat_map(Self::variables).collect(),
            _ => vec![],
        }
    }

    /// Whether everything that `other` admits matches this too.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Var(_), _) => true,
            (Self::Literal(a), Self::Literal(b)) => a == b,
            (Self::Fun(n, ps), Self::Fun(m, qs)) => n == m && ps.len() == qs.len() && ps.iter().zip(qs).all(|(p, q)| p.covers(q)),
            _ => false,
        }
    }

    /// Whether some term matches both.
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Var(_), _) | (_, Self::Any | Self::Var(_)) => true,
            (Self::Literal(a), Self::Literal(b)) => a == b,
            (Self::Fun(n, ps), Self::Fun(m, qs)) => n == m && ps.len() == qs.len() && ps.iter().zip(qs).all(|(p, q)| p.meets(q)),
            _ => false,
        }
    }
}

impl Read for Pattern {
    const EXPECTED: &'static str = "a predicate, a variable in capitals or `_`";

    fn leaf(term: Term) -> Option<Self> {
        Some(Self::Literal(term))
    }

    fn function(name: Name, args: Vec<Self>) -> Self {
        Self::Fun(name, args)
    }

    fn open(text: &str) -> Option<(Self, &str)> {
        let (word, rest) = word(text);
        let open = if word == "_" { Self::Any } else { Self::Var(word.starts_with(|c: char| c.is_ascii_uppercase()).then(|| word.into())?) };
        Some((open, rest))
    }
}

/// The letters, digits and underscores that a text begins with, and what follows them.
pub fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_bind_and_repeat() {
        let p = Pattern::parse("reject(update(D, add, \"Beans\"), R)").unwrap();
        let mut b = vec![];
        assert!(p.matches_atom(&Atom::parse("reject(update(\"Soft Taco\",add,\"Beans\"),not_applicable)").unwrap(), &mut b));
        assert_eq!(b.len(), 2);
        let same = Pattern::parse("p(X,X)").unwrap();
        assert!(!same.matches_atom(&Atom::parse("p(1,2)").unwrap(), &mut vec![]));
        assert!(same.matches_atom(&Atom::parse("p(1,1)").unwrap(), &mut vec![]));
    }

    #[test]
    fn what_is_no_pattern_says_what_was_expected() {
        for (text, expected) in
            [("p(", "a predicate, a variable in capitals or `_`"), ("p(a b)", "a comma or a closing bracket"), ("p(\"x)", "a closing quote")]
        {
            assert_eq!(Pattern::parse(text), Err(expected));
        }
    }
}
