//! Facts as things that rules speak about: what the conversation holds, fact by fact, and which names a term mentions.
//!
//! - `stored(Name,Fact)`: the conversation holds this fact of the predicate `Name`, as it was before the turn.
//! - `mentions(Term,Name)`: a term in a fact of session or turn has this string in it, at any depth.
//! - `kb_mentions(Fact,Name)`: a fact of the knowledge base has this string in it; static.
//!
//! All of it is made from the facts themselves whenever a decision is made, and only for rules that ask for it.

use std::borrow::Cow;

use super::analyse::{MENTIONS, STORED};
use super::rules::{Rules, Scope};
use crate::term::{Atom, Name, Term};

pub use super::analyse::{KB_MENTIONS, MOVING};

/// The facts of session and turn with what rules ask about them; what was made before is made anew.
pub(super) fn reflect<'a>(rules: &Rules, facts: &'a [Atom]) -> Cow<'a, [Atom]> {
    let wanted = rules.reflected;
    if !wanted.stored && !wanted.mentions {
        return Cow::Borrowed(facts);
    }
    let made = |a: &Atom| a.args.len() == 2 && (&*a.name == STORED || &*a.name == MENTIONS);
    let told = || facts.iter().filter(|a| !made(a));
    let mut out: Vec<Atom> = told().cloned().collect();
    for a in told() {
        if wanted.stored && rules.scope(&a.name, a.args.len()) == Some(Scope::Session) {
            out.push(Atom::new(STORED, vec![Term::Const(a.name.clone()), a.to_term()]));
        }
        if wanted.mentions {
            for t in a.args.iter().filter(|t| matches!(t, Term::Fun(..))) {
                out.extend(names(t).into_iter().map(|name| Atom::new(MENTIONS, vec![t.clone(), Term::Str(name)])));
            }
        }
    }
    out.sort();
    out.dedup();
    Cow::Owned(out)
}

/// For each fact of the knowledge base the names in it, if rules ask for them.
pub(super) fn of_kb(rules: &Rules, kb: &[Atom]) -> Vec<Atom> {
    if !rules.reflected.kb_mentions {
        return Vec::new();
    }
    let facts = kb.iter().filter(|a| &*a.name != KB_MENTIONS).map(Atom::to_term);
    facts.flat_map(|f| names(&f).into_iter().map(move |name| Atom::new(KB_MENTIONS, vec![f.clone(), Term::Str(name)]))).collect()
}

/// The strings in a term.
fn names(t: &Term) -> Vec<Name> {
    match t {
        Term::Str(s) => vec![s.clone()],
        Term::Fun(_, args) => args.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::diag::Source;
    use crate::reason::bench::{Case, Engine, run};
    use crate::reason::{Base, Budget, Reasoner, Rules, Scope, Signature, decide};
    use crate::term::Atom;

    fn atoms(texts: &[&str]) -> Vec<Atom> {
        texts.iter().map(|t| Atom::parse(t).unwrap()).collect()
    }

    #[test]
    fn rules_speak_about_facts_as_things() {
        let rules = "kept(N,F) :- stored(N,F). named(X) :- in(_,A), mentions(A,X). on_menu(F) :- in(_,A), mentions(A,X), kb_mentions(F,X). \
                     #show kept/2. #show named/1. #show on_menu/1.";
        let stored = [(("line".into(), 2), Scope::Session), (("dish".into(), 1), Scope::Kb), (("kb_mentions".into(), 2), Scope::Kb)];
        let turn = [("in", 2), ("stored", 2), ("mentions", 2)].map(|(n, a)| (n.into(), a));
        let signature = Signature { stored: stored.into(), turn: turn.to_vec() };
        let rules = Arc::new(Rules::load(&[Source::new("a.lp", rules)], &signature).unwrap());
        let base = Base::build(&rules, &atoms(&["dish(\"Taco\")", "dish(\"Bowl\")"]), &[]).unwrap();
        let facts = atoms(&["line(1,\"Bowl\")", "in(1,update(\"Taco\",change,swap(\"Beans\",\"Rice\")))", "stored(line,line(9,\"Old\"))"]);
        for how in [Reasoner::Fast, Reasoner::Confirm, Reasoner::Clingo] {
            let out = decide(&base, &facts, how, &Budget::default()).unwrap();
            let shown: Vec<String> = out.shown().iter().map(ToString::to_string).collect();
            assert_eq!(
                shown,
                ["kept(line,line(1,\"Bowl\"))", "named(\"Beans\")", "named(\"Rice\")", "named(\"Taco\")", "on_menu(dish(\"Taco\"))"],
                "what an earlier decision was told counts for nothing"
            );
        }
        let case = Case { name: "all".to_owned(), kb_facts: 2, base, facts };
        let engines = [Engine::Fast, Engine::Check, Engine::Confirm, Engine::Clingo, Engine::Whole, Engine::Proofs];
        assert_eq!(run(&[case], &engines, 1, &mut |_| {}).unwrap().len(), engines.len(), "all are measured on the same facts");
    }
}
