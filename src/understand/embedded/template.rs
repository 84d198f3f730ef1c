//! Templates: predicates with variables and holes, as patterns mean them and as `after` asks for them.

use super::grammar::variable;
use crate::term::pattern::word;
use crate::term::{Atom, Name, Pattern, Read, Term};

/// An argument of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Slot {
    /// Exactly this.
    Term(Term),
    /// The value of a variable.
    Var(u8),
    /// How many of it were said, one if unsaid.
    Count(u8),
    /// What is being talked about.
    Hole,
    /// Anything (only in `after`).
    Any,
    /// A function of slots.
    Fun(Name, Vec<Slot>),
}

/// A predicate with slots.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Its name.
    pub name: Name,
    /// Its arguments.
    pub args: Vec<Slot>,
}

/// Reads templates separated by semicolons.
pub fn parse_templates(text: &str, vars: &mut Vec<String>) -> Result<Vec<Template>, String> {
    let mut out = vec![];
    for part in split_outside_quotes(text) {
        if part.trim().is_empty() {
            continue;
        }
        let wrong = |e: &dyn std::fmt::Display| format!("`{}`: {e}", part.trim());
        let open = Open::read(&part).map_err(|e| wrong(&e))?.0;
        let (name, args) = open.head().ok_or_else(|| wrong(&"expected a predicate"))?;
        let args = args.iter().map(|a| slot(a, vars)).collect::<Result<_, _>>()?;
        out.push(Template { name: name.into(), args });
    }
    Ok(out)
}

fn split_outside_quotes(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        quoted ^= c == '"';
        if c == ';' && !quoted {
            parts.push(String::new());
        } else if let Some(p) = parts.last_mut() {
            p.push(c);
        }
    }
    parts
}

/// A pattern in which `$x`, `$x.count`, `$x?` and `@` are open, too.
struct Open(Pattern);

impl Read for Open {
    const EXPECTED: &'static str = Pattern::EXPECTED;

    fn leaf(term: Term) -> Option<Self> {
        Pattern::leaf(term).map(Self)
    }

    fn function(name: Name, args: Vec<Self>) -> Self {
        Self(Pattern::Fun(name, args.into_iter().map(|a| a.0).collect()))
    }

    fn open(text: &str) -> Option<(Self, &str)> {
        if let Some(rest) = text.strip_prefix('@') {
            return Some((Self(Pattern::Var("@".into())), rest));
        }
        let Some(after) = text.strip_prefix('$') else { return Pattern::open(text).map(|(p, rest)| (Self(p), rest)) };
        let rest = word(after).1;
        let rest = rest.strip_prefix(".count").or_else(|| rest.strip_prefix('?')).unwrap_or(rest);
        let name = after.strip_suffix(rest).unwrap_or(after);
        Some((Self(Pattern::Var(name.into())), rest))
    }
}

fn slot(open: &Pattern, vars: &mut Vec<String>) -> Result<Slot, String> {
    Ok(match open {
        Pattern::Any => Slot::Any,
        Pattern::Literal(t) => Slot::Term(t.clone()),
        Pattern::Fun(f, args) => Slot::Fun(f.clone(), args.iter().map(|a| slot(a, vars)).collect::<Result<_, _>>()?),
        Pattern::Var(v) => match (v.strip_suffix(".count"), v.strip_suffix('?')) {
            _ if &**v == "@" => Slot::Hole,
            (Some(name), _) => Slot::Count(variable(vars, name)?),
            (_, Some(name)) if !vars.iter().any(|v| v == name) => Slot::Hole,
            (_, name) => Slot::Var(variable(vars, name.unwrap_or(v))?),
        },
    })
}

impl Template {
    /// Matches an atom, binding variables.
    pub fn matches(&self, atom: &Atom, binds: &mut Vec<(u8, Term)>) -> bool {
        self.name == atom.name && self.args.len() == atom.args.len() && self.args.iter().zip(&atom.args).all(|(s, t)| matches_slot(s, t, binds))
    }

    /// The atom that it is with values for its variables; `None` if something is left open.
    pub fn filled(&self, binds: &[(u8, Term)]) -> Option<Atom> {
        let value = |slot: &Slot| match slot {
            Slot::Term(t) => Some(t.clone()),
            Slot::Var(v) => binds.iter().find(|b| b.0 == *v).map(|b| b.1.clone()),
            _ => None,
        };
        Some(Atom { name: self.name.clone(), args: self.args.iter().map(value).collect::<Option<_>>()? })
    }
}

fn matches_slot(slot: &Slot, term: &Term, binds: &mut Vec<(u8, Term)>) -> bool {
    match slot {
        Slot::Any => true,
        Slot::Term(t) => t == term,
        Slot::Var(v) => match binds.iter().find(|(b, _)| b == v) {
            Some((_, bound)) => bound == term,
            None => {
                binds.push((*v, term.clone()));
                true
            }
        },
        Slot::Fun(f, args) => match term {
            Term::Fun(g, ts) => f == g && args.len() == ts.len() && args.iter().zip(ts).all(|(s, t)| matches_slot(s, t, binds)),
            _ => false,
        },
        Slot::Count(_) | Slot::Hole => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_holes_and_counts() {
        let mut vars = vec!["x".to_owned()];
        let t = parse_templates("order($x,$x.count); update(D,change,swap(@,\"A_B;C\"))", &mut vars).unwrap();
        assert_eq!(vars, ["x", "D"]);
        assert_eq!(t[0].args, [Slot::Var(0), Slot::Count(0)]);
        assert_eq!(t[1].args[0], Slot::Var(1));
        assert_eq!(t[1].args[2], Slot::Fun("swap".into(), vec![Slot::Hole, Slot::Term(Term::string("A_B;C"))]));
    }

    #[test]
    fn after_patterns_match_actions() {
        let mut vars = vec![];
        let t = parse_templates("ask(_,D,toppings)", &mut vars).unwrap();
        let mut binds = vec![];
        assert!(t[0].matches(&Atom::parse("ask(none,\"X\",toppings)").unwrap(), &mut binds));
        assert_eq!(binds, [(0, Term::string("X"))]);
        assert!(!t[0].matches(&Atom::parse("ask(none,\"X\",size)").unwrap(), &mut vec![]));
    }
}
