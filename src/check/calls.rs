//! Calls in rules: of functions that the ontology declares and the role may call, with inputs that they have.

use std::collections::BTreeSet;

use super::rules::Program;
use crate::diag::{Diagnostic, did_you_mean};
use crate::ontology::FunctionDecl;
use crate::reason::syntax::{AtomPattern, Expr, Head, Item, Kind, Literal, Sign, Statement};
use crate::term::Name;

/// Where the function stands in what calls leave: the atom, its arity, the argument.
const LEFT: [(&str, usize, usize); 5] = [("returned", 2, 0), ("result", 3, 0), ("item", 4, 0), ("fault", 2, 0), ("calling", 2, 1)];

impl Program<'_> {
    /// `do(K,call(F))` and `with(K,Input,Value)`: the function and the input must be declared.
    pub(super) fn call(&self, s: &Statement, atom: &AtomPattern, body: &[Item], found: &mut Vec<Diagnostic>) {
        match (&*atom.name, atom.args.as_slice()) {
            ("do", [_, Expr::Fun(call, function)]) if &**call == "call" => {
                for name in function.first().map(|f| self.names(f, body)).unwrap_or_default() {
                    let known = self.function(s, atom, 1, &name, found);
                    if known.is_some_and(|f| !f.roles.iter().any(|r| **r == *self.role)) {
                        let message = format!("a {} has no right to call the function `{name}`", self.role);
                        let d = Diagnostic::error("rule-call-without-right", self.arg_at(s, atom, 1), message);
                        found.push(d.help(format!("add `{}` to the function's `roles`, or remove the call", self.role)));
                    }
                }
            }
            ("do", [_, _]) => {
                let d = Diagnostic::error("rule-unknown-function", self.arg_at(s, atom, 1), "this is no call of a function");
                found.push(d.help("write do(K,call(\"function\"))"));
            }
            ("with", [_, input, _]) => {
                let inputs: BTreeSet<&str> = self.ontology.functions.iter().flat_map(|f| &f.inputs).map(|i| i.name.as_str()).collect();
                for name in self.names(input, body).iter().filter(|n| !inputs.contains(&***n)) {
                    let d = Diagnostic::error("rule-unknown-call-input", self.arg_at(s, atom, 1), format!("no function has an input `{name}`"));
                    found.push(d.help(near(name, &inputs)));
                }
            }
            _ => {}
        }
    }

    /// What a call left or brings in is asked of a function that is declared.
    pub(super) fn called(&self, s: &Statement, atom: &AtomPattern, found: &mut Vec<Diagnostic>) {
        let wanted = match (&*atom.name, atom.args.as_slice()) {
            ("in", [_, Expr::Fun(returned, args)]) if (&**returned, args.len()) == ("returned", 3) => args.get(1).map(|f| (1, f)),
            (name, args) if self.ontology.fact(name, args.len()).is_none() => {
                LEFT.iter().find(|(n, arity, _)| (*n, *arity) == (name, args.len())).and_then(|(.., at)| Some((*at, args.get(*at)?)))
            }
            _ => None,
        };
        if let Some((at, Expr::Str(name))) = wanted {
            self.function(s, atom, at, name, found);
        }
    }

    /// The declaration of a function, or that there is none.
    fn function(&self, s: &Statement, atom: &AtomPattern, at: usize, name: &str, found: &mut Vec<Diagnostic>) -> Option<&FunctionDecl> {
        let known = self.ontology.function(name);
        if known.is_none() {
            let d = Diagnostic::error("rule-unknown-function", self.arg_at(s, atom, at), format!("no function is called `{name}`"));
            found.push(d.help(near(name, &self.ontology.functions.iter().map(|f| f.name.as_str()).collect())));
        }
        known
    }

    /// The names that an argument can be: what is written, or what facts of the rules give the variable.
    fn names(&self, e: &Expr, body: &[Item]) -> BTreeSet<Name> {
        let v = match e {
            Expr::Str(name) => return [name.clone()].into(),
            Expr::Var(v, _) => v,
            _ => return BTreeSet::new(),
        };
        let places = body.iter().flat_map(|item| match item {
            Item::Literal(Literal::Atom { sign: Sign::Plain, atom }) => {
                atom.args.iter().enumerate().filter(|(_, a)| matches!(a, Expr::Var(w, _) if w == v)).map(|(i, _)| (atom.predicate(), i)).collect()
            }
            _ => vec![],
        });
        let given = |(p, i): (_, usize)| {
            let facts = self.statements.iter().filter_map(move |s| match &s.kind {
                Kind::Rule { head: Head::Atom(fact), body } if body.is_empty() && fact.predicate() == p => fact.args.get(i),
                _ => None,
            });
            facts.filter_map(|e| if let Expr::Str(name) = e { Some(name.clone()) } else { None }).collect::<Vec<_>>()
        };
        places.flat_map(given).collect()
    }
}

fn near(name: &str, known: &BTreeSet<&str>) -> String {
    match did_you_mean(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "the ontology declares no functions: add it under `functions`".to_owned(),
        None => format!("add it under `functions`; declared are: {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
    }
}
