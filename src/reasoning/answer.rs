//! From what was told and asked to an answer: the profile's rules decide, and the answer carries its proof.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::models;
use super::profile::{Changes, Profile, World};
use super::told::{Form, Goal, PREDICATES, Question, Reading, Theory, facts};
use crate::diag::{Diagnostic, Source};
use crate::domain::{Files, rule_source};
use crate::reason::proof::check;
use crate::reason::{Base, Budget, By, Outcome, Proof, ReasonError, Reasoner, Rules, Scope, Signature, decide};
use crate::term::{Atom, Name, Term};

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// With an answer.
    Answered,
    /// Words of it, or of what was told, could not be read.
    Unread,
    /// The rules leave it open.
    Undecided,
    /// A limit was reached.
    OverBudget,
}

/// An answer with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub status: Status,
    /// The answer in the profile's words, if there is one.
    pub value: Option<String>,
    /// The told lines that it rests on, sorted.
    pub support: Vec<usize>,
    /// The steps of the proof, in words; what is wrong, where there is no answer.
    pub proof: Vec<String>,
}

impl Answer {
    /// No answer, and why.
    pub fn none(status: Status, why: impl Into<String>) -> Self {
        Self { status, value: None, support: vec![], proof: vec![why.into()] }
    }
}

/// The module that takes apart what was told and asked, for all others.
const STATEMENTS: &str = "statements";

/// A profile's rules, ready to answer.
#[derive(Debug)]
pub struct Engine {
    /// The profile.
    pub profile: Profile,
    /// Rules with one model.
    base: Option<Base>,
    /// The text of those that leave choices, for clingo.
    choices: Option<String>,
}

impl Engine {
    /// Loads a profile with its modules.
    pub fn load(files: &Files, name: &str) -> Result<Self, Vec<Diagnostic>> {
        let profile = Profile::load(files, name)?;
        let read = |path: &str| files.read(path).map(|text| Source::new(path, &text));
        let load = |modules: &[String]| modules.iter().filter_map(|m| rule_source(&Profile::module(m), &read)).collect::<Vec<Source>>();
        let text: Vec<Source> = load(&profile.choices);
        let choices = (!text.is_empty()).then(|| text.iter().map(|s| &*s.text).collect::<Vec<_>>().join("\n"));
        if profile.modules.is_empty() {
            return Ok(Self { profile, base: None, choices });
        }
        let signature = Signature {
            stored: [((Name::from("semantics"), 2), Scope::Kb)].into_iter().collect(),
            turn: PREDICATES.iter().map(|(n, a)| (Name::from(*n), *a)).collect(),
        };
        let rules = Arc::new(Rules::load(&load(&[&[STATEMENTS.to_owned()], &*profile.modules].concat()), &signature)?);
        let base = Base::build(&rules, &semantics(&profile), &[])
            .map_err(|e| vec![Diagnostic::error("R005", Source::new(&Profile::file(name), "").origin(0..0), e.to_string())])?;
        Ok(Self { profile, base: Some(base), choices })
    }

    /// Answers a question about a theory.
    pub fn answer(&self, theory: &Theory, question: &Question, how: Reasoner, budget: &Budget) -> Answer {
        if let Goal::Unread(words) = &question.goal {
            return Answer::none(Status::Unread, format!("not understood: {words}"));
        }
        let base = match (self.one_model(theory, question), &self.choices) {
            (Some(base), _) => base,
            (None, Some(rules)) => return models::answer(rules, &self.profile, theory, question, budget),
            (None, None) => return Answer::none(Status::Undecided, "the profile lists no modules"),
        };
        if let Some(t) = theory.told.iter().find(|t| matches!(t.reading, Reading::Formula(_))) {
            return Answer::none(Status::Undecided, format!("the profile's rules take no formula: line {} is one", t.line));
        }
        match decide(base, &facts(theory, Some(question), self.profile.semantics.contraposition), how, budget) {
            Ok(outcome) => self.of_outcome(&outcome, theory),
            Err(e @ ReasonError::OverBudget { .. }) => Answer::none(Status::OverBudget, e.to_string()),
            Err(e) => Answer::none(Status::Undecided, e.to_string()),
        }
    }

    /// The rules with one model, unless what is told or asked leaves choices that others look at.
    fn one_model(&self, theory: &Theory, question: &Question) -> Option<&Base> {
        let told = || theory.told.iter().any(|t| matches!(t.reading, Reading::Formula(_)));
        let several = || told() || matches!(question.goal, Goal::Formula(_)) || matches!(question.form, Form::Choice(_));
        self.base.as_ref().filter(|_| self.choices.is_none() || !several())
    }

    /// Whether the checker and clingo come to the same as the evaluator, and every proof passes its check; nothing where clingo decides
    /// by itself or nothing is decided.
    pub fn audited(&self, theory: &Theory, question: &Question, budget: &Budget) -> Option<Result<(), String>> {
        let base = self.one_model(theory, question).filter(|_| !matches!(question.goal, Goal::Unread(_)))?;
        let facts = facts(theory, Some(question), self.profile.semantics.contraposition);
        let outcome = decide(base, &facts, Reasoner::Confirm, budget).and_then(|o| decide(base, &facts, Reasoner::Clingo, budget).map(|_| o));
        Some(match outcome.and_then(|o| check::decision(&o)) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(flaw)) => Err(flaw.to_string()),
            Err(e) => Err(e.to_string()),
        })
    }

    /// What the rules derived as the answer: `answer(Value)`, one or several in the order in which they were told of, or
    /// `answer(Place,Value)` in order.
    fn of_outcome(&self, outcome: &Outcome, theory: &Theory) -> Answer {
        let mut found: Vec<(&Term, &Atom)> = outcome.shown().iter().filter(|a| &*a.name == "answer").filter_map(|a| Some((a.args.first()?, a))).collect();
        found.sort();
        if found.iter().all(|(_, a)| a.args.len() == 1) {
            found.sort_by_cached_key(|(value, _)| theory.mentioned(value));
        }
        if found.is_empty() {
            return Answer::none(Status::Undecided, "no rule of the profile answers this");
        }
        let words: Vec<String> = found.iter().filter_map(|(_, a)| a.args.last()).map(|t| self.word(t)).collect();
        let (mut support, mut proof) = (BTreeSet::new(), vec![]);
        for (_, a) in &found {
            if let Some(p) = outcome.why(a) {
                p.walk(&mut |p| step(p, &mut support, &mut proof));
            }
        }
        let value = words.join(self.profile.answer.separator.as_deref().unwrap_or(","));
        Answer { status: Status::Answered, value: Some(value), support: support.into_iter().collect(), proof }
    }

    /// The profile's word for a value.
    fn word(&self, value: &Term) -> String {
        self.profile.word(value.as_name().map_or_else(|| value.to_string(), str::to_owned))
    }
}

/// The told lines below a proof, and its steps in words.
fn step(p: &Proof, support: &mut BTreeSet<usize>, out: &mut Vec<String>) {
    if &*p.atom.name == "told"
        && let Some(line) = p.atom.args.get(1).and_then(Term::as_int).and_then(|n| usize::try_from(n).ok())
    {
        support.insert(line);
    }
    if let By::Rule { rule, .. } = &p.by
        && !rule.reading.is_empty()
        && !out.contains(&rule.reading)
    {
        out.push(rule.reading.clone());
    }
}

/// The profile's semantics, as facts that its modules may ask for.
fn semantics(profile: &Profile) -> Vec<Atom> {
    let s = &profile.semantics;
    let all = [
        ("world", if s.world == World::Open { "open" } else { "closed" }),
        ("contraposition", if s.contraposition { "on" } else { "off" }),
        ("changes", if s.changes == Changes::LastWins { "last_wins" } else { "contradict" }),
    ];
    all.iter().map(|(k, v)| Atom::new("semantics", vec![Term::constant(k), Term::constant(v)])).collect()
}
