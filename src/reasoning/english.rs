//! Controlled English to what it says: sentence forms with open words, read from `kb/reason/`.

mod grammar;
mod logic;
mod order;
mod words;

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use serde::Deserialize;

use self::grammar::Grammar;
use self::logic::Context;
use self::words::{Known, Sentence, sentences};
use super::formula::Formula;
use super::models;
use super::profile::Profile;
use super::told::{Check, Choice, Form, Goal, Need, Question, Reading, Rule, Theory, Told};
use crate::diag::{Diagnostic, Origin};
use crate::domain::Files;
use crate::term::Term;

/// Reads sentences by the forms of some lexicons.
#[derive(Debug)]
pub struct Reader {
    grammar: Grammar,
    /// What sentences were found to mean.
    read: Mutex<HashMap<(&'static str, String), Option<Term>>>,
}

/// How many sentences are remembered.
const KEPT: usize = 20_000;

/// A file of words and forms.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lexicon {
    #[serde(default)]
    closed: Vec<String>,
    #[serde(default)]
    plurals: BTreeMap<String, String>,
    #[serde(default)]
    verbs: BTreeMap<String, String>,
    #[serde(default)]
    forms: BTreeMap<String, Vec<String>>,
}

/// The connectives that `logic` reads; any other meaning is a fact of a module.
const CONNECTIVES: [&str; 7] = ["if", "if_after", "unless", "usually", "and", "or", "say"];

impl Reader {
    /// Reads the profile's lexicons `kb/reason/NAME.yaml`; forms of earlier ones are tried first.
    pub fn load(files: &Files, profile: &Profile) -> Result<Self, Vec<Diagnostic>> {
        let mut known = Known::default();
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        let mut found = Vec::new();
        let mut at = String::new();
        for name in &profile.lexicon {
            at = format!("kb/reason/{name}.yaml");
            let origin = |line, column| Origin { file: at.as_str().into(), start: 0, end: 0, line, column };
            let Some(text) = files.read(&at) else {
                found.push(Diagnostic::error("R003", origin(1, 1), format!("there is no lexicon `{name}`")));
                continue;
            };
            match serde_saphyr::from_str::<Lexicon>(&text) {
                Ok(l) => {
                    known.closed.extend(l.closed);
                    known.plurals.extend(l.plurals);
                    known.verbs.extend(l.verbs);
                    groups.extend(l.forms);
                }
                Err(e) => {
                    let place = e.location().map_or((1, 1), |l| (u32::try_from(l.line()).unwrap_or(1), u32::try_from(l.column()).unwrap_or(1)));
                    found.push(Diagnostic::error("R004", origin(place.0, place.1), e.to_string()).help("see docs/reasoning.md for what a lexicon says"));
                }
            }
        }
        match Grammar::read(&groups, known) {
            Ok(grammar) if found.is_empty() => Ok(Self { grammar, read: Mutex::default() }),
            Ok(_) => Err(found),
            Err(wrong) => {
                let origin = Origin { file: at.as_str().into(), start: 0, end: 0, line: 1, column: 1 };
                found.extend(wrong.into_iter().map(|w| Diagnostic::error("R004", origin.clone(), w).help("see docs/reasoning.md for the forms of sentences")));
                Err(found)
            }
        }
    }

    /// What the lines tell; a line may hold several sentences.
    pub fn tell(&self, text: &[String]) -> Theory {
        let mut context = Context::default();
        let mut theory = Theory::default();
        for (n, l) in (1..).zip(text) {
            self.line(n, l, &mut theory, &mut context);
        }
        order::arrange(&mut theory);
        theory
    }

    fn line(&self, line: usize, text: &str, theory: &mut Theory, context: &mut Context) {
        for s in sentences(text) {
            let unread = |why: &str| vec![Reading::Unread(format!("{}{why}", s.text))];
            let readings = match self.parse("told", &s) {
                // What is taken back is as if it had never been said; what corrects takes its opposite back.
                Some(Term::Fun(f, args)) if matches!(&*f, "forget" | "correct") => {
                    let said = args.first().map_or_else(|| Ok(vec![]), |m| logic::statement(m, context));
                    let said = said.unwrap_or_else(|why| unread(&format!(" ({why})")));
                    let back = if &*f == "forget" { said.clone() } else { said.iter().filter_map(opposite).collect() };
                    theory.told.retain(|t| !back.contains(&t.reading));
                    if &*f == "forget" { vec![] } else { said }
                }
                Some(m) => logic::statement(&m, context).unwrap_or_else(|why| unread(&format!(" ({why})"))),
                None => unread(""),
            };
            theory.told.extend(readings.into_iter().map(|reading| Told { line, text: s.text.clone(), reading }));
        }
    }

    /// What a question asks after that was told.
    pub fn ask(&self, theory: &Theory, ask: &str, options: &[String]) -> Question {
        let mut context = Context::of(theory);
        let (mut form, mut goal) = (Form::Truth, Goal::Unread(ask.to_owned()));
        if let Some(s) = sentences(ask).last() {
            match self.parse("asked", s).or_else(|| if s.asks { None } else { self.parse("told", s).map(claimed) }) {
                Some(m) => (form, goal) = logic::question(&m, &mut context, ask),
                None => goal = Goal::Unread(s.text.clone()),
            }
        }
        // Options that say something themselves are what is asked about; others name the answer to the question.
        let said: Option<Vec<Choice>> = options.iter().map(|o| self.option(o, theory, &mut context)).collect();
        if let Some(choices) = said.filter(|c| !c.is_empty()) {
            (form, goal) = (Form::Choice(choices), Goal::None);
        }
        Question { text: ask.to_owned(), form, goal }
    }

    /// An option (`A) …`) that makes a statement.
    fn option(&self, option: &str, theory: &Theory, context: &mut Context) -> Option<Choice> {
        let (label, words) = option.split_once(')').unwrap_or((option, option));
        let m = sentences(words).first().and_then(|s| self.parse("told", s))?;
        let goal = match logic::question(&claimed(m), context, words).1 {
            Goal::Literals(ls) => Formula::And(ls.iter().map(|l| order::formula(l, &theory.scope).unwrap_or_else(|| models::of_literal(l))).collect()),
            Goal::Formula(f) => f,
            _ => return None,
        };
        Some(Choice { label: label.trim().to_owned(), checks: vec![Check { goal, need: Need::Must }] })
    }

    /// What a sentence means; the same sentence is read once.
    fn parse(&self, group: &'static str, s: &Sentence) -> Option<Term> {
        let key = (group, s.text.clone());
        if let Some(m) = self.read.lock().ok().and_then(|r| r.get(&key).cloned()) {
            return m;
        }
        let m = self.grammar.parse(group, s);
        if let Ok(mut r) = self.read.lock() {
            if r.len() >= KEPT {
                r.clear();
            }
            r.insert(key, m.clone());
        }
        m
    }
}

/// Whether a statement is so, as a question.
fn claimed(statement: Term) -> Term {
    Term::Fun("claim".into(), vec![statement])
}

/// Whether a meaning is one that `logic` takes apart.
fn connects(m: &Term) -> bool {
    matches!(m, Term::Fun(f, _) if CONNECTIVES.contains(&&**f))
}

/// What says the contrary of a reading.
fn opposite(r: &Reading) -> Option<Reading> {
    match r {
        Reading::Fact(l) => Some(Reading::Fact(l.negated())),
        Reading::Rule(r) => Some(Reading::Rule(Rule { head: r.head.negated(), ..r.clone() })),
        _ => None,
    }
}
