//! Reproducers: a decision on which the engines differ, as one rule file that decides it again by both.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::analyse::mentions;
use super::decide::by_clingo;
use super::slice::of_decision;
use super::slice::reproducer::{CLINGO, DIFFERENCE};
use super::syntax::{Expr, Head, Kind, Statement, parse};
use super::{Base, Budget, ReasonError, Reasoner, Rules, Scope, Signature, decide};
use crate::diag::{Diagnostic, Source};
use crate::term::{Atom, Term};

/// What deciding again came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Replayed {
    /// The difference that was written down.
    pub recorded: Option<String>,
    /// Shown atoms that only the evaluator derives now.
    pub only_evaluator: Vec<Atom>,
    /// Shown atoms that only clingo derives now.
    pub only_clingo: Vec<Atom>,
    /// How many shown atoms both derive.
    pub both: usize,
}

impl Replayed {
    /// Whether the engines agree now.
    pub fn agrees(&self) -> bool {
        self.only_evaluator.is_empty() && self.only_clingo.is_empty()
    }

    /// In words.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if let Some(r) = &self.recorded {
            let _ = writeln!(out, "written down: {r}");
        }
        for (engine, atoms) in [("the evaluator", &self.only_evaluator), ("clingo", &self.only_clingo)] {
            for a in atoms {
                let _ = writeln!(out, "only {engine} derives {a}");
            }
        }
        if self.agrees() {
            let _ = writeln!(out, "the engines agree now on {} shown atoms", self.both);
            if self.recorded.is_some() {
                out.push_str("the difference does not come back: another build wrote this file, or its cause is outside of rules and facts\n");
            }
        } else {
            let _ = writeln!(out, "the engines agree on {} other shown atoms", self.both);
        }
        out
    }
}

/// Why a reproducer cannot be decided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The file has mistakes.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Rules(Vec<Diagnostic>),
    /// An engine gave no decision.
    #[error("{engine} gives no decision: {error}")]
    NoDecision {
        /// Which.
        engine: &'static str,
        /// Why.
        error: ReasonError,
    },
}

/// Decides a reproducer by each engine.
pub fn replay(source: &Source) -> Result<Replayed, ReplayError> {
    let (statements, _) = parse::parse(source);
    let mut facts = Vec::new();
    let mut text = source.text.to_string();
    let mut mentioned = BTreeSet::new();
    for s in &statements {
        match (&s.kind, fact(s)) {
            (_, Some(f)) => {
                // Facts are told to the rules as a turn tells them: as part of the rules nothing would be left to decide.
                let blank: String = s.text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
                let start = s.origin.start;
                if let Some(place) = text.get_mut(start..start + s.text.len())
                    && blank.len() == place.len()
                {
                    text.replace_range(start..start + s.text.len(), &blank);
                    mentioned.insert((f.name.clone(), f.args.len()));
                    facts.push(f);
                }
            }
            (Kind::Rule { head, body }, None) => mentioned.extend(mentions(head, body).into_iter().map(|(p, _)| p)),
            _ => {}
        }
    }
    let signature = Signature { stored: mentioned.into_iter().map(|p| (p, Scope::Session)).collect(), turn: vec![] };
    let mut rules = Rules::load(&[Source::new(&source.name, &text)], &signature).map_err(ReplayError::Rules)?;
    let lines: Vec<&str> = source.text.lines().collect();
    let given = |line: &str| line.strip_prefix(CLINGO).and_then(|j| serde_json::from_str::<String>(j).ok());
    let above = |s: &Statement| (s.origin.line as usize).checked_sub(2).and_then(|n| lines.get(n)).and_then(|l| given(l));
    for (n, other) in rules.statements.iter().map(above).enumerate().collect::<Vec<_>>() {
        if let Some(other) = other {
            rules.let_clingo_read(n, &other);
        }
    }
    let failed = |engine| move |error| ReplayError::NoDecision { engine, error };
    let base = Base::build(&Arc::new(rules), &[], &[]).map_err(failed("the evaluator"))?;
    let fast = decide(&base, &facts, Reasoner::Fast, &Budget::default()).map_err(failed("the evaluator"))?;
    let clingo = by_clingo(&base, &of_decision(&base, &facts), &Budget::default()).map_err(failed("clingo"))?;
    let without = |a: &[Atom], b: &[Atom]| a.iter().filter(|x| b.binary_search(x).is_err()).cloned().collect::<Vec<_>>();
    let only_evaluator = without(fast.shown(), &clingo);
    let recorded = lines.iter().find_map(|l| l.strip_prefix(DIFFERENCE)).and_then(|j| serde_json::from_str(j).ok());
    let both = fast.shown().len() - only_evaluator.len();
    Ok(Replayed { recorded, only_clingo: without(&clingo, fast.shown()), only_evaluator, both })
}

/// The atom of a ground fact.
fn fact(s: &Statement) -> Option<Atom> {
    let Kind::Rule { head: Head::Atom(p), body } = &s.kind else { return None };
    let args: Option<Vec<Term>> = p.args.iter().map(Expr::ground).collect();
    body.is_empty().then_some(Atom { name: p.name.clone(), args: args? })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{atoms, signature};
    use super::*;

    #[test]
    fn a_difference_comes_back_from_its_file() {
        let s = signature("menu/1", "", "", "in/1");
        let text = "p(X,Y) :- in(X), in(Y), X < Y.\nq(X) :- in(X), menu(X). z(1).\n#show p/2. #show q/1.";
        let mut rules = Rules::load(&[Source::new("a.lp", text)], &s).unwrap();
        // A defect of one engine, put there on purpose.
        rules.let_clingo_read(0, "p(X,Y) :- in(X), in(Y),\n  (X,) <= (Y,). % a comment");
        let base = Base::build(&Arc::new(rules), &atoms("menu(2). menu(-5)"), &[]).unwrap();
        let said = atoms("in(1). in(2). in(\"a b\")");
        // The checker sees the same defect before clingo does.
        let error = decide(&base, &said, Reasoner::Confirm, &Budget::default()).unwrap_err();
        let ReasonError::Disagreement { difference, .. } = error else { panic!("{error:?}") };
        assert_eq!(difference, "the evaluator lacks `p(1,1)`, which a.lp:1:1 derives");
        let error = decide(&base, &said, Reasoner::Clingo, &Budget::default()).unwrap_err();
        let ReasonError::Disagreement { difference, reproducer } = error else { panic!("{error:?}") };
        assert_eq!(difference, "only clingo derives `p(1,1)`");
        let again = replay(&Source::new("r.lp", &reproducer)).unwrap();
        assert_eq!(again.recorded, Some(difference));
        assert_eq!((again.only_evaluator, again.only_clingo), (vec![], atoms("p(1,1). p(2,2). p(\"a b\",\"a b\")")));
        assert_eq!(again.both, 4);
        // Without the defect, nothing differs, and that is said.
        let healed: String = reproducer.lines().filter(|l| !l.starts_with(CLINGO)).map(|l| format!("{l}\n")).collect();
        let again = replay(&Source::new("r.lp", &healed)).unwrap();
        assert!(again.agrees() && again.text().contains("does not come back"), "{}", again.text());
    }
}
