//! Facts, `>>>` rules and queries: literals whose last argument is `True` or `False`, variables written `$x`.

use std::collections::BTreeSet;

use super::Fault;
use super::meaning::fault;
use super::tree::{Repairs, Tree, parse};
use crate::reasoning::told::{Literal, Reading, Rule, Strength, variable};
use crate::term::{Atom, Name, Term};

/// What a line tells: a fact, or a rule for each thing that follows.
pub fn statement(text: &str, repairs: &mut Repairs) -> Result<Vec<Reading>, Fault> {
    let tree = parse(text, false, repairs)?;
    let mut names = vec![];
    let Tree::Infix(">>>", body, head) = &tree else {
        return Ok(literals(&tree, &mut names, repairs)?.into_iter().map(Reading::Fact).collect());
    };
    let body = literals(body, &mut names, repairs)?;
    let heads = literals(head, &mut names, repairs)?;
    Ok(heads.into_iter().map(|head| Reading::Rule(Rule { head, body: body.clone(), unless: vec![], strength: Strength::Strict })).collect())
}

/// What is asked: one or several literals.
pub fn query(text: &str, repairs: &mut Repairs) -> Result<Vec<Literal>, Fault> {
    let tree = parse(text, false, repairs)?;
    literals(&tree, &mut vec![], repairs)
}

fn literals(t: &Tree, names: &mut Vec<String>, repairs: &mut Repairs) -> Result<Vec<Literal>, Fault> {
    Ok(match t {
        Tree::Infix("and", a, b) => [literals(a, names, repairs)?, literals(b, names, repairs)?].concat(),
        // The dialect says what is not so by `False`; what a `!` before the statement means is as clear.
        Tree::Prefix("not", inner) => {
            let all = literals(inner, names, repairs)?;
            let [one] = all.as_slice() else { return Err(fault(inner, "only one statement can be denied")) };
            repairs.0 += 1;
            vec![one.negated()]
        }
        Tree::Call(name, args, column) => {
            let mut args = args.as_slice();
            let mut positive = true;
            match args.split_last() {
                Some((Tree::Name(v, _), rest)) if matches!(v.to_lowercase().as_str(), "true" | "false") => {
                    positive = v.eq_ignore_ascii_case("true");
                    args = rest;
                }
                _ => repairs.0 += 1,
            }
            if args.len() > 2 {
                return Err(Fault::new(*column, format!("`{name}` speaks of more than two things")));
            }
            let args = args.iter().map(|a| argument(a, names)).collect::<Result<_, _>>()?;
            vec![Literal { positive, atom: Atom { name: symbol(name), args } }]
        }
        other => return Err(fault(other, "a statement is written `Predicate(thing, True)`")),
    })
}

fn argument(t: &Tree, names: &mut Vec<String>) -> Result<Term, Fault> {
    Ok(match t {
        Tree::Number(n) => Term::Int(*n),
        Tree::Name(n, column) => match n.strip_prefix('$') {
            Some(v) => {
                let at = names.iter().position(|k| k == v).unwrap_or_else(|| {
                    names.push(v.to_owned());
                    names.len() - 1
                });
                if at >= 3 {
                    return Err(Fault::new(*column, "a rule has three variables at most"));
                }
                variable(i32::try_from(at + 1).unwrap_or(3))
            }
            None => Term::string(n),
        },
        other => return Err(fault(other, "a thing has a name")),
    })
}

/// Writes a predicate that is the plural of another one in the singular: a writer who names a kind in two ways means one kind.
pub fn in_the_singular<'a>(literals: impl Iterator<Item = &'a mut Literal>, repairs: &mut Repairs) {
    let mut all: Vec<&mut Literal> = literals.collect();
    let names: BTreeSet<Name> = all.iter().map(|l| l.atom.name.clone()).collect();
    let singular = |plural: &str| {
        let stems =
            [plural.strip_suffix('s').map(str::to_owned), plural.strip_suffix("es").map(str::to_owned), plural.strip_suffix("ies").map(|s| format!("{s}y"))];
        stems.into_iter().flatten().find_map(|s| names.get(s.as_str()).cloned())
    };
    for l in &mut all {
        if let Some(one) = singular(&l.atom.name) {
            l.atom.name = one;
            repairs.0 += 1;
        }
    }
}

/// A name as a predicate of rules: in small letters.
pub fn symbol(name: &str) -> Name {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_lowercase()) {
        out.insert_str(0, "p_");
    }
    out.into()
}
