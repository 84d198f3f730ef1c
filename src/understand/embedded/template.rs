//! Templates: predicates with variables and holes, as patterns mean them and as `after` asks for them.

use super::grammar::variable;
use crate::term::{Atom, Name, Term};

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
        let marked = mark(&part);
        let atom = Atom::parse(&marked).map_err(|e| format!("`{}`: {e}", part.trim()))?;
        let args = atom.args.iter().map(|a| slot(a, vars)).collect::<Result<_, _>>()?;
        out.push(Template { name: atom.name, args });
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

/// Rewrites variables and holes as constants that the term parser accepts.
fn mark(text: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut previous = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        quoted ^= c == '"';
        let starts = !previous.is_alphanumeric() && previous != '_';
        match c {
            '$' if !quoted => {
                let mut name = String::new();
                while let Some(&n) = chars.peek() {
                    if n.is_alphanumeric() || n == '_' {
                        name.push(n);
                        chars.next();
                    } else {
                        break;
                    }
                }
                let rest: String = chars.clone().take(6).collect();
                if rest == ".count" {
                    for _ in 0..6 {
                        chars.next();
                    }
                    out.push_str(&format!("count__{name}"));
                } else if chars.peek() == Some(&'?') {
                    chars.next();
                    out.push_str(&format!("maybe__{name}"));
                } else {
                    out.push_str(&format!("var__{name}"));
                }
            }
            '@' if !quoted => out.push_str("hole__"),
            '_' if !quoted && starts && chars.peek().is_none_or(|n| !n.is_alphanumeric() && *n != '_') => out.push_str("any__"),
            c if !quoted && starts && c.is_ascii_uppercase() => {
                out.push_str("var__");
                out.push(c);
            }
            c => out.push(c),
        }
        previous = c;
    }
    out
}

fn slot(term: &Term, vars: &mut Vec<String>) -> Result<Slot, String> {
    Ok(match term {
        Term::Const(c) if &**c == "hole__" => Slot::Hole,
        Term::Const(c) if &**c == "any__" => Slot::Any,
        Term::Const(c) if c.starts_with("maybe__") => {
            let name = c.strip_prefix("maybe__").unwrap_or("");
            if vars.iter().any(|v| v == name) { Slot::Var(variable(vars, name)?) } else { Slot::Hole }
        }
        Term::Const(c) => match (c.strip_prefix("var__"), c.strip_prefix("count__")) {
            (Some(v), _) => Slot::Var(variable(vars, v)?),
            (_, Some(v)) => Slot::Count(variable(vars, v)?),
            _ => Slot::Term(term.clone()),
        },
        Term::Fun(f, args) => Slot::Fun(f.clone(), args.iter().map(|a| slot(a, vars)).collect::<Result<_, _>>()?),
        t => Slot::Term(t.clone()),
    })
}

impl Template {
    /// Matches an atom, binding variables.
    pub fn matches(&self, atom: &Atom, binds: &mut Vec<(u8, Term)>) -> bool {
        self.name == atom.name && self.args.len() == atom.args.len() && self.args.iter().zip(&atom.args).all(|(s, t)| matches_slot(s, t, binds))
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
