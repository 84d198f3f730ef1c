//! What leaves choices, as formulas: things in a row with their places, and who has which of a kind.

use std::collections::BTreeSet;

use super::english::identifier;
use super::formula::{Bound, Formula, Scope, Value};
use super::models;
use super::told::{Literal, Reading, Rule, Strength, Theory, variable_of};
use crate::reason::syntax::Rel;
use crate::term::{Atom, Name, Term};

/// The sort of places.
const PLACES: &str = "place";

/// What is done to a calling: to be one.
const IS: &str = "is";

/// Turns what was told of a row (`lined_up(Thing)`, `before(A,B)`, `next_before(A,B)`, `nth(A,N)`, `nth_last(A,N)`, `between(X,A,B)`) into formulas, if there is a row.
pub fn arrange(theory: &mut Theory) {
    assign(theory);
    in_a_row(theory);
}

/// The arguments of a fact of this predicate, as names.
fn said<'a, const N: usize>(r: &'a Reading, predicate: &str) -> Option<[&'a str; N]> {
    let Reading::Fact(l) = r else { return None };
    let names: Vec<&str> = l.atom.args.iter().filter_map(Term::as_name).collect();
    names.try_into().ok().filter(|_| l.positive && &*l.atom.name == predicate)
}

/// Turns `assigns(X,V,K)` (X does V to exactly one of the kind K), `value(K,T)` (T is one of the kind, and what is not said to be is none) and
/// `different(V,K)` (no two do it to the same) into formulas.
fn assign(theory: &mut Theory) {
    let of = |r: &Reading| said::<3>(r, "assigns").map(|[x, v, k]| (x.to_owned(), identifier(v), identifier(k)));
    let who: Vec<(String, String, String)> = theory.told.iter().filter_map(|t| of(&t.reading)).collect();
    if who.is_empty() {
        return;
    }
    let values: Vec<(String, String)> = theory.told.iter().filter_map(|t| said::<2>(&t.reading, "value").map(|[k, t]| (identifier(k), t.to_owned()))).collect();
    theory.values.clone_from(&values);
    let named = std::mem::take(&mut theory.told);
    theory.told = named
        .into_iter()
        .map(|mut t| {
            if let Reading::Fact(l) = &mut t.reading {
                theory.name_values(l);
            }
            t
        })
        .collect();
    // To have one of the kind is to do to it what all of them do to one.
    for t in &mut theory.told {
        if let Reading::Fact(l) = &mut t.reading
            && &*l.atom.name == "has"
            && let [Term::Str(x), what] = l.atom.args.as_slice()
        {
            let what = if let Term::Fun(_, of) = what { of.first().unwrap_or(what).clone() } else { what.clone() };
            let kinds: Vec<&str> = values.iter().filter(|(_, v)| what.as_name() == Some(v)).map(|(k, _)| k.as_str()).collect();
            if let Some((_, v, _)) = who.iter().find(|(y, _, k)| **y == **x && kinds.contains(&k.as_str())) {
                l.atom = Atom::new(v, vec![Term::Str(x.clone()), what]);
            }
        }
    }
    let mut listed = BTreeSet::new();
    theory.told.retain_mut(|t| {
        if let Some((x, v, k)) = of(&t.reading) {
            t.reading = Reading::Formula(one_of(&x, &v, &k));
        } else if let Some([k, _]) = said::<2>(&t.reading, "value") {
            let k = identifier(k);
            let all = values.iter().filter(|(kind, _)| *kind == k).map(|(_, t)| Formula::Compare(Rel::Eq, thing("T"), thing(t))).collect();
            let listed_all = for_all(&["T"], Formula::Iff(Box::new(holds(&k, &["T"])), Box::new(Formula::Or(all))));
            // To be one of what everybody is one of is said of them by its name.
            let is_one = |v: &String| for_all(&["T"], Formula::Iff(Box::new(holds(&identifier(v), &["T"])), Box::new(holds(IS, &["T", v]))));
            let callings = values.iter().filter(|(kind, _)| *kind == k && who.iter().any(|(_, verb, of)| verb == IS && of == kind));
            t.reading = Reading::Formula(Formula::And([listed_all].into_iter().chain(callings.map(|(_, v)| is_one(v))).collect()));
            return listed.insert(k);
        } else if let Some([v, k]) = said::<2>(&t.reading, "different") {
            let v = identifier(v);
            // `the same one`, `the same thing`: of the kind that it is done to.
            let k = identifier(k);
            let done_to = || who.iter().filter(|(_, verb, _)| *verb == v).map(|(.., kind)| kind);
            let k = if done_to().any(|kind| *kind == k) { k } else { done_to().next().cloned().unwrap_or(k) };
            let people: Vec<&String> = who.iter().filter(|(_, verb, _)| *verb == v).map(|(x, ..)| x).collect();
            let pairs = people.iter().enumerate().flat_map(|(n, x)| people.iter().skip(n + 1).map(move |y| (*x, *y)));
            let apart = |(x, y): (&String, &String)| Formula::And(vec![holds(&k, &["T"]), holds(&v, &[x, "T"]), holds(&v, &[y, "T"])]).negated();
            t.reading = Reading::Formula(for_all(&["T"], Formula::And(pairs.map(apart).collect())));
        }
        true
    });
}

/// X does V to exactly one K.
fn one_of(x: &str, v: &str, k: &str) -> Formula {
    let both = Formula::And(vec![holds(k, &["T"]), holds(k, &["U"]), holds(v, &[x, "T"]), holds(v, &[x, "U"])]);
    let same = Formula::Compare(Rel::Eq, thing("T"), thing("U"));
    let some = Formula::Exists(bound(&["T"]), Box::new(Formula::And(vec![holds(k, &["T"]), holds(v, &[x, "T"])])));
    Formula::And(vec![some, for_all(&["T", "U"], Formula::Implies(Box::new(both), Box::new(same)))])
}

fn thing(name: &str) -> Value {
    Value::Name(name.into())
}

fn holds(predicate: &str, args: &[&str]) -> Formula {
    Formula::Holds(Value::Call(predicate.into(), args.iter().map(|a| thing(a)).collect()))
}

fn bound(names: &[&str]) -> Vec<Bound> {
    names.iter().map(|n| Bound { name: (*n).into(), sort: None }).collect()
}

fn for_all(names: &[&str], f: Formula) -> Formula {
    Formula::ForAll(bound(names), Box::new(f))
}

fn in_a_row(theory: &mut Theory) {
    let of_row = |r: &Reading| match r {
        Reading::Fact(l) if &*l.atom.name == "lined_up" => l.atom.args.first().cloned(),
        _ => None,
    };
    let mut things: Vec<Term> = Vec::new();
    for t in theory.told.iter().filter_map(|t| of_row(&t.reading)) {
        if !things.contains(&t) {
            things.push(t);
        }
    }
    let Ok(size) = i32::try_from(things.len()) else { return };
    if size == 0 {
        return;
    }
    theory.scope.sorts.insert(PLACES.into(), (1..=size).map(Value::Number).collect());
    for t in &things {
        theory.scope.functions.insert(name(t), (vec![], PLACES.into()));
    }
    let mut said = false;
    theory.told.retain_mut(|t| {
        if of_row(&t.reading).is_some() {
            t.reading = Reading::Formula(Formula::Distinct(vec![], things.iter().map(place).collect()));
            return !std::mem::replace(&mut said, true);
        }
        if let Reading::Fact(l) = &t.reading
            && let Some(f) = formula(l, &theory.scope)
        {
            t.reading = Reading::Formula(f);
        } else if let Reading::Rule(r) = &t.reading
            && let Some(f) = of_each(r, &things, &theory.scope)
        {
            t.reading = Reading::Formula(f);
        }
        true
    });
}

/// A strict rule of one variable that asks for a place (`whoever is last`), for each of the things in the row.
fn of_each(r: &Rule, things: &[Term], scope: &Scope) -> Option<Formula> {
    let said = |l: &Literal, t: &Term| models::stated(&models::instance(l, t), scope);
    let vars: BTreeSet<i32> = r.body.iter().chain([&r.head]).flat_map(|l| &l.atom.args).filter_map(variable_of).collect();
    let of_places = r.body.iter().any(|l| things.first().is_some_and(|t| formula(&models::instance(l, t), scope).is_some()));
    let one = |t: &Term| Formula::Implies(Formula::And(r.body.iter().map(|l| said(l, t)).collect()).into(), said(&r.head, t).into());
    (of_places && vars.len() == 1 && r.strength == Strength::Strict && r.unless.is_empty()).then(|| Formula::And(things.iter().map(one).collect()))
}

/// What a statement says of places.
pub fn formula(l: &Literal, scope: &Scope) -> Option<Formula> {
    let size = scope.sorts.get(PLACES)?.len();
    let known = l.atom.args.iter().all(|t| t.as_int().is_some() || scope.functions.contains_key(&name(t)));
    placed(l, size, place).filter(|_| known)
}

/// The same where a program declares each thing as a variable of its own, with the places as its values.
pub fn of_row(l: &Literal, scope: &Scope) -> Option<Formula> {
    let symbol = |t: &Term| t.as_name().map(|n| n.replace(' ', "_"));
    let declared = |t: &Term| {
        let said = symbol(t)?;
        scope.functions.iter().find(|(f, (args, _))| args.is_empty() && f.eq_ignore_ascii_case(&said))
    };
    let mut sizes = l.atom.args.iter().filter(|t| t.as_int().is_none()).map(|t| declared(t).and_then(|(_, (_, sort))| scope.sorts.get(sort)).map(Vec::len));
    let size = sizes.next()??;
    if !sizes.all(|s| s == Some(size)) {
        return None;
    }
    placed(l, size, |t| declared(t).map_or_else(|| place(t), |(f, _)| Value::Call(f.clone(), vec![])))
}

fn placed(l: &Literal, size: usize, place: impl Fn(&Term) -> Value) -> Option<Formula> {
    let size = i32::try_from(size).ok()?;
    let f = match (&*l.atom.name, l.atom.args.as_slice()) {
        ("before", [a, b]) => Formula::Compare(Rel::Lt, place(a), place(b)),
        ("next_before", [a, b]) => Formula::Compare(Rel::Eq, Value::Add(Box::new(place(a)), Box::new(Value::Number(1))), place(b)),
        ("nth", [a, n]) => Formula::Compare(Rel::Eq, place(a), Value::Number(n.as_int()?)),
        ("nth_last", [a, n]) => Formula::Compare(Rel::Eq, place(a), Value::Number(size + 1 - n.as_int()?)),
        ("between", [x, a, b]) => {
            let amid = |a, b| Formula::And(vec![Formula::Compare(Rel::Lt, place(a), place(x)), Formula::Compare(Rel::Lt, place(x), place(b))]);
            Formula::Or(vec![amid(a, b), amid(b, a)])
        }
        ("middle", [a]) if size % 2 == 1 => Formula::Compare(Rel::Eq, place(a), Value::Number((size + 1) / 2)),
        _ => return None,
    };
    Some(if l.positive { f } else { f.negated() })
}

fn place(t: &Term) -> Value {
    Value::Call(name(t), vec![])
}

fn name(t: &Term) -> Name {
    t.as_name().map_or_else(|| t.to_string().into(), Name::from)
}
