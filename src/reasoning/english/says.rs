//! Statements with their connectives, and what follows from what in them: the facts and rules that they come to.

use super::super::told::{Literal, Reading, Rule, Strength, variable_of};
use crate::term::{Atom, Term};

/// A statement with its connectives.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Says {
    Lit(Literal),
    All(Vec<Says>),
    Any(Vec<Says>),
    /// One of them and no other.
    Either(Vec<Says>),
    Not(Box<Says>),
}

pub(super) fn renamed(s: Says, modal: &str) -> Says {
    match s {
        Says::Lit(l) => Says::Lit(Literal { positive: l.positive, atom: Atom { name: format!("{modal}_{}", l.atom.name).into(), args: l.atom.args } }),
        Says::All(v) => Says::All(v.into_iter().map(|s| renamed(s, modal)).collect()),
        Says::Any(v) => Says::Any(v.into_iter().map(|s| renamed(s, modal)).collect()),
        Says::Either(v) => Says::Either(v.into_iter().map(|s| renamed(s, modal)).collect()),
        Says::Not(s) => Says::Not(Box::new(renamed(*s, modal))),
    }
}

pub(super) fn not(s: &Says) -> Says {
    match s {
        Says::Lit(l) => Says::Lit(l.negated()),
        Says::All(v) => Says::Any(v.iter().map(not).collect()),
        Says::Any(v) => Says::All(v.iter().map(not).collect()),
        Says::Either(v) => Says::All(v.iter().map(not).collect()),
        Says::Not(s) => (**s).clone(),
    }
}

/// The ways in which a statement can be so: each a list of literals.
pub(super) fn cases(s: &Says) -> Vec<Vec<Literal>> {
    match s {
        Says::Lit(l) => vec![vec![l.clone()]],
        Says::Not(s) => match &**s {
            Says::Not(inner) => cases(inner),
            inner => cases(&not(inner)),
        },
        Says::Any(v) | Says::Either(v) => v.iter().flat_map(cases).collect(),
        Says::All(v) => {
            let mut out: Vec<Vec<Literal>> = vec![Vec::new()];
            for s in v {
                let ways = cases(s);
                out = out.iter().flat_map(|o| ways.iter().map(|w| [o.clone(), w.clone()].concat())).collect();
                out.truncate(64);
            }
            out
        }
    }
}

/// What one is who is several things at once, as one word (`licensed diver`): whoever is none need lack neither part.
pub fn compound(parts: &[Literal]) -> Option<Literal> {
    let (first, others) = parts.split_first().filter(|(_, o)| !o.is_empty())?;
    let one = first.atom.args.first()?;
    let of_one = |l: &Literal| l.positive && l.atom.args.first() == Some(one) && l.atom.args.iter().skip(1).all(|a| variable_of(a).is_none());
    let name = parts.iter().map(|l| &*l.atom.name).collect::<Vec<_>>().join("_");
    let more: Vec<&Term> = parts.iter().flat_map(|l| l.atom.args.iter().skip(1)).collect();
    let args = [one].into_iter().chain(more.iter().copied()).cloned().collect();
    (more.len() < 2 && of_one(first) && others.iter().all(of_one)).then(|| Literal { positive: true, atom: Atom::new(&name, args) })
}

/// Conditions with what one is who is several things at once as one word, if one must be.
fn compounded(body: &[Literal]) -> Option<Vec<Literal>> {
    let kinds = |of: &Literal| body.iter().filter(|l| l.positive && l.atom.args.first() == of.atom.args.first()).cloned().collect::<Vec<_>>();
    let parts = body.iter().map(kinds).find(|k| k.len() > 1)?;
    let one = compound(&parts)?;
    Some([one].into_iter().chain(body.iter().filter(|l| !parts.contains(l)).cloned()).collect())
}

/// The same of a statement that all of some are so.
pub(super) fn whole(s: &Says) -> Option<Literal> {
    let Says::All(v) = s else { return None };
    compound(&v.iter().map(|s| if let Says::Lit(l) = s { Some(l.clone()) } else { None }).collect::<Option<Vec<_>>>()?)
}

/// If `body` then `head`, as facts and rules.
pub(super) fn rules(body: &Says, head: &Says, unless: &[Literal], strength: Strength) -> Vec<Reading> {
    match head {
        Says::All(v) => {
            let each = v.iter().flat_map(|h| rules(body, h, unless, strength)).collect::<Vec<_>>();
            let one = whole(head).filter(|_| strength == Strength::Strict && *body != Says::All(vec![]));
            each.into_iter().chain(one.into_iter().flat_map(|one| rules(body, &Says::Lit(one), unless, strength))).collect()
        }
        Says::Not(s) => match &**s {
            Says::Lit(l) => rules(body, &Says::Lit(l.negated()), unless, strength),
            Says::Not(inner) => rules(body, inner, unless, strength),
            inner => {
                let whole = whole(inner).map(|one| rules(body, &Says::Lit(one.negated()), unless, strength));
                [rules(body, &not(inner), unless, strength), whole.unwrap_or_default()].concat()
            }
        },
        Says::Any(v) | Says::Either(v) => {
            // One of several: if the others are not so, the last one is; and where only one can be, the others are not.
            let mut out = Vec::new();
            for (n, h) in v.iter().enumerate() {
                let others = v.iter().enumerate().filter(|(i, _)| *i != n).map(|(_, o)| o);
                let lacking = others.clone().map(not);
                out.extend(rules(&Says::All([body.clone()].into_iter().chain(lacking).collect()), h, unless, strength));
                if matches!(head, Says::Either(_)) {
                    for o in others {
                        out.extend(rules(&Says::All(vec![body.clone(), h.clone()]), &not(o), unless, strength));
                    }
                }
            }
            out
        }
        Says::Lit(l) => cases(body)
            .into_iter()
            .flat_map(|body| {
                // Whoever is a sailing ship is one, whatever of a sailing ship it lacks if it is none.
                let one = if strength == Strength::Strict { compounded(&body).filter(|b| !b.contains(l)) } else { None };
                [body].into_iter().chain(one)
            })
            .map(|mut body| {
                body.dedup();
                if body.is_empty() && unless.is_empty() && strength == Strength::Strict && !l.atom.args.iter().any(|a| variable_of(a).is_some()) {
                    Reading::Fact(l.clone())
                } else {
                    Reading::Rule(Rule { head: l.clone(), body, unless: unless.to_vec(), strength })
                }
            })
            .collect(),
    }
}
