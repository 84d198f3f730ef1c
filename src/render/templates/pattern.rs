//! Patterns over action and input atoms: `confirm(order, X)`, with variables in capitals and `_` for anything.

use crate::term::{Atom, Name, Term};

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
        let mut rest = text;
        let pattern = pattern(&mut rest, 0)?;
        if rest.trim().is_empty() { Ok(pattern) } else { Err("the end of the pattern") }
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

fn pattern(rest: &mut &str, depth: usize) -> Result<Pattern, &'static str> {
    if depth > crate::term::MAX_DEPTH {
        return Err("a pattern that nests less");
    }
    *rest = rest.trim_start();
    if rest.starts_with('"') {
        let end = rest.char_indices().skip(1).find(|(i, c)| *c == '"' && !rest.get(..*i).unwrap_or("").ends_with('\\')).ok_or("a closing quote")?.0;
        let (text, after) = rest.split_at(end + 1);
        *rest = after;
        return Term::parse(text).map(Pattern::Literal).map_err(|_| "a string");
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after.trim_start();
    if word == "_" {
        return Ok(Pattern::Any);
    }
    if word.starts_with(|c: char| c.is_ascii_uppercase()) {
        return Ok(Pattern::Var(word.into()));
    }
    if let Ok(n) = word.parse() {
        return Ok(Pattern::Literal(Term::Int(n)));
    }
    if !word.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err("a predicate, a variable in capitals or `_`");
    }
    let Some(mut inner) = rest.strip_prefix('(') else {
        return Ok(Pattern::Literal(Term::constant(word)));
    };
    let mut args = vec![];
    loop {
        args.push(pattern(&mut inner, depth + 1)?);
        inner = inner.trim_start();
        if let Some(after) = inner.strip_prefix(',') {
            inner = after;
        } else {
            *rest = inner.strip_prefix(')').ok_or("a comma or a closing bracket")?;
            return Ok(Pattern::Fun(word.into(), args));
        }
    }
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
