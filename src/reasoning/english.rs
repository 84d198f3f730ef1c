//! Controlled English to what it says: sentence forms with open words, read from `kb/reason/`.

mod context;
mod form;
mod grammar;
mod logic;
mod restate;
mod says;
mod words;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

pub use self::context::Context;
use self::grammar::Grammar;
pub use self::logic::identifier;
pub use self::restate::Claim;
use self::words::Known;
pub use self::words::{Sentence, sentences};
use super::choices;
use super::formula::{Formula, Scope};
use super::models;
use super::profile::Profile;
use super::told::{Check, Choice, Form, Goal, Literal, Need, Question, Reading, Rule, Theory, Told};
use crate::diag::{Diagnostic, Origin, Source};
use crate::domain::Files;
use crate::term::Term;

/// Reads sentences by the forms of some lexicons.
#[derive(Debug)]
pub struct Reader {
    grammar: Grammar,
    /// What sentences were found to mean.
    read: Mutex<HashMap<(&'static str, String), Arc<Vec<Term>>>>,
}

/// How a sentence means what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum How {
    Say,
    Correct,
    Forget,
    /// Something else instead of this.
    Amend(Literal),
}

/// What a sentence of a conversation does.
#[derive(Clone, Debug, PartialEq)]
pub enum Uttered {
    /// It tells something, in these words.
    Told(String, Vec<Reading>),
    /// It tells something, in these words, and takes its opposites back.
    Corrected(String, Vec<Reading>, Vec<Reading>),
    /// It takes back what was told.
    Forgotten(Vec<Reading>),
    /// It supposes something, in these words, and may ask what would be then.
    Supposed(String, Vec<Reading>, Option<(Question, Option<Claim>)>),
    /// It asks; a question of yes and no comes with what either would be in words.
    Asked(Question, Option<Claim>),
    /// A move of the conversation itself.
    Said(Term),
}

/// How many further readings of a question are looked at.
const MOST_READINGS: usize = 4;

/// How many sentences are remembered.
const KEPT: usize = 20_000;

/// What modules know of that nobody needs to have told.
const MODULES: [&str; 7] = ["in", "has", "before", "next_before", "nth", "nth_last", "middle"];

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
            match serde_saphyr::from_str::<Known>(&text) {
                Ok(mut l) => {
                    groups.extend(std::mem::take(&mut l.forms));
                    for name in std::mem::take(&mut l.words) {
                        let at = format!("rules/reason/{name}.lp");
                        match files.read(&at) {
                            Some(rules) => groups.extend(Known::of_rules(&Source::new(&at, &rules))),
                            None => found.push(Diagnostic::error("R003", origin(1, 1), format!("there is no module `{name}` for words"))),
                        }
                    }
                    known.add(l);
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
        choices::arrange(&mut theory);
        theory
    }

    fn line(&self, line: usize, text: &str, theory: &mut Theory, context: &mut Context) {
        for s in sentences(text) {
            if let Some(Term::Fun(f, args)) = self.parse("said", &s)
                && &*f == "forget_of"
            {
                let name = args.first().and_then(logic::name_of).unwrap_or_default();
                theory.told.retain(|t| !t.reading.speaks_of(&context.named(name), &logic::identifier(name)));
                continue;
            }
            let (how, mut said) = self.told(&s, context).unwrap_or_else(|why| (How::Say, vec![Reading::Unread(format!("{}{why}", s.text))]));
            // What is taken back is as if it had never been said; what corrects takes its opposite back.
            let back = match &how {
                How::Say => vec![],
                How::Forget => said.clone(),
                How::Correct => self.corrected(context, &mut said),
                How::Amend(old) => {
                    let back = vec![Reading::Fact(old.clone())];
                    deny(&back, &mut said);
                    back
                }
            };
            context.keep(&said);
            theory.told.retain(|t| !back.contains(&t.reading));
            let readings = if how == How::Forget { vec![] } else { said };
            theory.told.extend(readings.into_iter().map(|reading| Told { line, text: s.text.clone(), reading }));
        }
    }

    /// What a sentence tells, and how; `Err` says what about it is not understood, if anything of it is.
    fn told(&self, s: &Sentence, context: &mut Context) -> Result<(How, Vec<Reading>), String> {
        let said = self.parse("told", s).or_else(|| self.grammar.following("told", &context.before, &s.words));
        context.before.clone_from(&s.words);
        let m = match said.ok_or_else(String::new)? {
            // `Sorry, I meant …` says once that something was wrong.
            Term::Fun(f, mut args) if &*f == "correct" && matches!(args.as_slice(), [Term::Fun(g, _)] if &**g == "amend") => args.remove(0),
            m => m,
        };
        let (how, m) = match &m {
            Term::Fun(f, args) if args.len() == 1 && &**f == "forget" => (How::Forget, args.first().unwrap_or(&m)),
            Term::Const(c) if &**c == "forget_last" => return Ok((How::Forget, context.latest())),
            Term::Fun(f, args) if args.len() == 1 && &**f == "correct" => (How::Correct, args.first().unwrap_or(&m)),
            // Of the fact before, the last thing is another one.
            Term::Fun(f, args) if args.len() == 1 && &**f == "amend" => {
                let (old, new) =
                    args.first().and_then(|w| context.amended(w)).ok_or_else(|| " (nothing that could be corrected was said before)".to_owned())?;
                return Ok((How::Amend(old), vec![Reading::Fact(new)]));
            }
            _ => (How::Say, &m),
        };
        logic::statement(m, context).map(|said| (how, said)).map_err(|why| format!(" ({why})"))
    }

    /// What a sentence of a conversation does; `Err` has the words, and what about them is not understood.
    pub fn utterance(&self, s: &Sentence, context: &mut Context) -> Result<Uttered, String> {
        let unread = |why: String| format!("{}{why}", s.text.trim_end_matches(['.', '!', '?']));
        match self.parse("said", s) {
            Some(Term::Fun(f, args)) if &*f == "suppose" => {
                let said = args.first().ok_or_else(|| unread(String::new()))?;
                let readings = logic::statement(said, context).map_err(|why| unread(format!(" ({why})")))?;
                let asked = args.get(1).map(|q| {
                    let (form, goal) = logic::question(q, context, &s.text);
                    (Question { text: s.text.clone(), form, goal }, None)
                });
                return Ok(Uttered::Supposed(restate::tail(&self.grammar, s, said), readings, asked));
            }
            Some(Term::Fun(f, args)) if matches!(&*f, "known_of" | "forget_of") => {
                let name = args.first().and_then(logic::name_of).ok_or_else(|| unread(String::new()))?;
                let kind = Term::constant(&logic::identifier(name));
                return Ok(Uttered::Said(Term::Fun(f, vec![Term::string(&context.named(name)), kind])));
            }
            Some(m) => return Ok(Uttered::Said(m)),
            None => {}
        }
        let told = if s.asks { Err(String::new()) } else { self.told(s, context) };
        let (how, mut said) = match told {
            Ok(t) => t,
            Err(why) if !why.is_empty() => return Err(unread(why)),
            Err(_) => {
                let m = self
                    .asked(s, context)
                    .into_iter()
                    .next()
                    .or_else(|| self.parse("told", s).filter(|_| s.asks).map(claimed))
                    .ok_or_else(|| unread(String::new()))?;
                let (form, goal) = logic::question(&m, context, &s.text);
                return match goal {
                    Goal::Unread(words) => Err(words),
                    goal => {
                        let mut claim = restate::claims(&self.grammar, s);
                        // That it is not so of all orders does not say that it is so of none.
                        if let (Form::Need(Need::Must), Some(c)) = (&form, &mut claim) {
                            c.no = c.no.replacen(" must not ", " need not ", 1);
                        }
                        Ok(Uttered::Asked(Question { text: s.text.clone(), form, goal }, claim))
                    }
                };
            }
        };
        Ok(match how {
            How::Say => Uttered::Told(restate::line(s, &said), said),
            How::Forget => Uttered::Forgotten(said),
            How::Amend(old) => {
                let (words, back) = (restate::line(s, &said), vec![Reading::Fact(old)]);
                deny(&back, &mut said);
                Uttered::Corrected(words, said, back)
            }
            How::Correct => {
                let back = self.corrected(context, &mut said);
                let inner = self.parse("told", s).and_then(|m| if let Term::Fun(_, args) = m { args.into_iter().next() } else { None });
                Uttered::Corrected(inner.map_or_else(|| s.text.clone(), |m| restate::tail(&self.grammar, s, &m)), said, back)
            }
        })
    }

    /// What a question asks after that was told.
    pub fn ask(&self, theory: &Theory, ask: &str, options: &[String]) -> Question {
        self.asks(theory, ask, options).swap_remove(0)
    }

    /// What a question may ask after that was told, what it most likely asks first; never nothing.
    pub fn asks(&self, theory: &Theory, ask: &str, options: &[String]) -> Vec<Question> {
        let question = |(form, goal)| Question { text: ask.to_owned(), form, goal };
        let mut context = Context::of(theory);
        let mut found: Vec<(Form, Goal)> = Vec::new();
        let spoken = sentences(ask);
        if let Some(s) = spoken.last() {
            let stated = if s.asks { None } else { self.parse("told", s).map(claimed) };
            // Where what was told leaves choices, only what speaks of statements can be looked up in all of them.
            let formal = theory.told.iter().any(|t| matches!(t.reading, Reading::Formula(_)));
            let asked = self.asked(s, &context);
            found.extend(asked.iter().chain(&stated).map(|m| logic::question(m, &mut context, ask)));
            let whole = found.first().and_then(|(f, g)| if let Goal::Literals(ls) = g { Some((f.clone(), logic::compound(ls)?)) } else { None });
            found.extend(whole.map(|(f, l)| (f, Goal::Literals(vec![l]))));
            // What nobody ever said of anybody is hardly asked where the words can ask for what was said; of what must be, a puzzle is asked.
            let told = theory.predicates();
            let of_module = |ls: &[Literal]| ls.iter().all(|l| MODULES.contains(&&*l.atom.name));
            let rank = |(form, goal): &(Form, Goal)| match goal {
                Goal::Literals(ls) if matches!(form, Form::Need(_)) && !formal && !of_module(ls) => 3,
                Goal::Literals(ls) if of_module(ls) || ls.iter().all(|l| told.contains(&l.atom.name)) => 0,
                Goal::Formula(_) => 0,
                Goal::Asked(_) if formal => 1,
                _ => 2,
            };
            if formal || found.first().is_some_and(|f| rank(f) > 1 && matches!(f.1, Goal::Literals(_))) {
                found.sort_by_key(rank);
            }
            for l in found.iter_mut().filter_map(|(_, g)| if let Goal::Literals(ls) = g { Some(ls) } else { None }).flatten() {
                theory.name_values(l);
            }
        }
        // Options that say something themselves are what is asked about; others name the answer to the question.
        let said: Option<Vec<Choice>> = options.iter().map(|o| self.option(o, theory, &mut context)).collect();
        if let Some(choices) = said.filter(|c| !c.is_empty()) {
            return vec![question((Form::Choice(choices), Goal::None))];
        }
        let unread = (Form::Truth, Goal::Unread(spoken.last().map_or_else(|| ask.to_owned(), |s| s.text.clone())));
        let first = found.first().cloned().unwrap_or(unread);
        let others = found.into_iter().skip(1).filter(|(_, g)| *g != first.1 && !matches!(g, Goal::Unread(_))).take(MOST_READINGS);
        std::iter::once(first.clone()).chain(others).map(question).collect()
    }

    /// An option (`A) …`) that makes a statement.
    fn option(&self, option: &str, theory: &Theory, context: &mut Context) -> Option<Choice> {
        let (label, words) = option.split_once(')').unwrap_or((option, option));
        let m = sentences(words).first().and_then(|s| self.parse("told", s))?;
        let goal = match logic::question(&claimed(m), context, words).1 {
            Goal::Literals(ls) => Formula::And(ls.iter().map(|l| choices::formula(l, &theory.scope).unwrap_or_else(|| models::of_literal(l))).collect()),
            Goal::Formula(f) => f,
            _ => return None,
        };
        Some(Choice { label: label.trim().to_owned(), checks: vec![Check { goal, need: Need::Must }] })
    }

    /// Whether two texts speak of the same things.
    pub fn related(&self, one: &str, other: &str) -> bool {
        let of = |text: &str| sentences(text).iter().flat_map(|s| self.grammar.content(s)).collect::<BTreeSet<String>>();
        !of(one).is_disjoint(&of(other))
    }

    /// The one thing that words say of the places of things in a row, whose names are written as a program has them.
    pub fn placed(&self, words: &str, scope: &Scope) -> Option<Formula> {
        let m = sentences(words).first().and_then(|s| self.parse("told", s))?;
        let said = logic::statement(&m, &mut Context::default()).ok()?;
        let [Reading::Fact(l)] = said.as_slice() else { return None };
        choices::of_row(l, scope)
    }

    /// Whether the end that words name is the one where places begin.
    pub fn begins(&self, end: &str) -> bool {
        let m = sentences(&format!("The thing is the {}.", end.trim())).first().and_then(|s| self.parse("told", s));
        matches!(m, Some(Term::Fun(f, args)) if &*f == "nth" && args.last().and_then(Term::as_int) == Some(1))
    }

    /// What a correction takes back, which is not so: the correction says that too. A day takes no place back.
    fn corrected(&self, context: &Context, said: &mut Vec<Reading>) -> Vec<Reading> {
        let dated =
            |t: &Term| t.as_int().is_some() || t.as_name().and_then(|n| sentences(n).pop()).is_some_and(|s| self.grammar.parse("calendar", &s).is_some());
        let back = context.corrected(said, &|a, b| dated(a) == dated(b));
        deny(&back, said);
        back
    }

    /// What a sentence means, by the first form that takes it.
    fn parse(&self, group: &'static str, s: &Sentence) -> Option<Term> {
        self.readings(group, s).first().cloned()
    }

    /// What a sentence may ask, in the order of the forms; where the first speaks of what was never told of, first what speaks most of what was.
    fn asked(&self, s: &Sentence, context: &Context) -> Vec<Term> {
        let mut readings = (*self.readings("asked", s)).clone();
        if readings.first().is_some_and(|m| context.strange(m)) {
            readings.sort_by_key(|m| std::cmp::Reverse(context.familiar(m)));
        }
        readings
    }

    /// Everything that a sentence may mean; the same sentence is read once.
    fn readings(&self, group: &'static str, s: &Sentence) -> Arc<Vec<Term>> {
        let key = (group, s.text.clone());
        if let Some(m) = self.read.lock().ok().and_then(|r| r.get(&key).cloned()) {
            return m;
        }
        let m = Arc::new(self.grammar.readings(group, s));
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

/// Says of facts that are taken back that they are not so.
fn deny(back: &[Reading], said: &mut Vec<Reading>) {
    let wrong =
        back.iter().filter_map(|r| if let Reading::Fact(l) = r { (l.positive && l.atom.args.len() < 3).then(|| Reading::Fact(l.negated())) } else { None });
    let more: Vec<Reading> = wrong.filter(|r| !said.contains(r)).collect();
    said.splice(0..0, more);
}

/// What says the contrary of a reading.
fn opposite(r: &Reading) -> Option<Reading> {
    match r {
        Reading::Fact(l) => Some(Reading::Fact(l.negated())),
        Reading::Rule(r) => Some(Reading::Rule(Rule { head: r.head.negated(), ..r.clone() })),
        _ => None,
    }
}
