//! Answers where what is told leaves choices: what holds in all models, in some, in none; with a countermodel, or the told lines
//! without which the answer falls.

use super::answer::{Answer, Status};
use super::choices;
use super::formula::{Bound, Formula, Scope, Value};
use super::ground::{Ground, TooLarge, ground, names};
use super::profile::Profile;
use super::told::{Choice, Form, Goal, Literal, Need, Question, Reading, Strength, Theory, variable_of};
use crate::reason::models::{Found, Models};
use crate::reason::{Budget, ReasonError};
use crate::term::{Atom, Name, Term};

/// How many atoms of a countermodel are told.
const TOLD: usize = 12;

/// The theory under clingo.
struct Asked<'a> {
    models: Models,
    bounded: bool,
    theory: &'a Theory,
    lines: Vec<Atom>,
    names: Vec<(Atom, Term)>,
}

/// Why a question has no answer.
enum Open {
    Budget(String),
    Other(String),
}

impl From<ReasonError> for Open {
    fn from(e: ReasonError) -> Self {
        match e {
            ReasonError::OverBudget { .. } => Self::Budget(e.to_string()),
            e => Self::Other(e.to_string()),
        }
    }
}

impl From<TooLarge> for Open {
    fn from(_: TooLarge) -> Self {
        Self::Budget("over budget: the formulas have too many instances".to_owned())
    }
}

/// Answers a question about a theory that may have several models.
pub fn answer(rules: &str, profile: &Profile, theory: &Theory, question: &Question, budget: &Budget) -> Answer {
    match decided(rules, profile, theory, question, budget) {
        Ok(a) => a,
        Err(Open::Budget(why)) => Answer::none(Status::OverBudget, why),
        Err(Open::Other(why)) => Answer::none(Status::Undecided, why),
    }
}

fn decided(rules: &str, profile: &Profile, theory: &Theory, question: &Question, budget: &Budget) -> Result<Answer, Open> {
    let told: Vec<(usize, Formula)> = theory.told.iter().filter_map(|t| Some((t.line, of_reading(&t.reading)?))).collect();
    let told: Vec<(usize, &Formula)> = told.iter().map(|(n, f)| (*n, f)).collect();
    let own;
    let instances;
    let mut candidates = vec![];
    let goals: Vec<&Formula> = match (&question.form, &question.goal) {
        (Form::Choice(all), _) => all.iter().flat_map(|c| &c.checks).map(|k| &k.goal).collect(),
        (_, Goal::Formula(f)) => vec![f],
        (Form::Truth | Form::Need(_), Goal::Literals(ls)) => {
            own = Formula::And(ls.iter().map(|l| stated(l, &theory.scope)).collect());
            vec![&own]
        }
        (Form::Which, Goal::Literals(ls)) => {
            candidates = names(&theory.scope, told.iter().map(|(_, f)| *f));
            candidates.sort_by_cached_key(|t| theory.mentioned(t));
            instances = candidates.iter().map(|t| Formula::And(ls.iter().map(|l| stated(&instance(l, t), &theory.scope)).collect())).collect::<Vec<_>>();
            instances.iter().collect()
        }
        _ => return Err(Open::Other("the profile's rules do not answer this form of question".to_owned())),
    };
    let Ground { facts, bounded } = ground(&theory.scope, &told, &goals)?;
    let lines = told.iter().map(|(n, _)| keep(*n)).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    let named = |a: &Atom| match (&*a.name, a.args.as_slice()) {
        ("name", [n, t]) => Some((Atom::new("model", vec![n.clone()]), t.clone())),
        _ => None,
    };
    let names = facts.iter().filter_map(named).collect();
    let models = Models::ground(rules, &facts, &[("keep", 1), ("claim", 2)], budget.solve)?;
    let mut asked = Asked { models, bounded, theory, lines, names };
    match &question.form {
        Form::Choice(all) => asked.choose(profile, all, &question.text),
        Form::Which => asked.which(profile, &candidates),
        Form::Need(need) => {
            let so = asked.meets(0, *need)?;
            let (support, proof) = asked.reason(0, if so { *need } else { need.opposite() })?;
            Ok(Answer { status: Status::Answered, value: Some(profile.word(if so { "yes" } else { "no" }.to_owned())), support, proof })
        }
        _ => asked.truth(profile),
    }
}

impl Asked<'_> {
    /// Whether the first goal holds in all models, in none, or in some.
    fn truth(&mut self, profile: &Profile) -> Result<Answer, Open> {
        let (yes, no) = (self.under(0, true)?, self.under(0, false)?);
        let (value, why) = match (&yes, &no) {
            (Found::Model(_), Found::Refuted(_)) => ("yes", self.least(0, false)?),
            (Found::Refuted(_), Found::Model(_)) => ("no", self.least(0, true)?),
            (Found::Refuted(_), Found::Refuted(_)) => ("contradiction", self.clash()?),
            (Found::Model(a), Found::Model(b)) => ("unknown", (vec![], vec![self.model("it may be so", a), self.model("it may not be so", b)])),
        };
        let (support, mut proof) = why;
        if self.bounded {
            proof.push("bounded: only models with the named things and a few more were looked at".to_owned());
        }
        Ok(Answer { status: Status::Answered, value: Some(profile.word(value.to_owned())), support, proof })
    }

    /// Those for whom the goal holds in all models.
    fn which(&mut self, profile: &Profile, candidates: &[Term]) -> Result<Answer, Open> {
        if let Found::Refuted(_) = self.models.with(&self.lines)? {
            let (support, proof) = self.clash()?;
            return Ok(Answer { status: Status::Answered, value: Some(profile.word("contradiction".to_owned())), support, proof });
        }
        let (mut names, mut support, mut proof) = (vec![], std::collections::BTreeSet::new(), vec![]);
        for (goal, t) in candidates.iter().enumerate() {
            if self.meets(goal, Need::Must)? {
                names.push(profile.word(t.as_name().map_or_else(|| t.to_string(), str::to_owned)));
                let (lines, why) = self.least(goal, false)?;
                support.extend(lines);
                proof.extend(why);
            }
        }
        if names.is_empty() {
            return Err(Open::Other("what is told leaves open who it is".to_owned()));
        }
        let value = names.join(profile.answer.separator.as_deref().unwrap_or(","));
        Ok(Answer { status: Status::Answered, value: Some(value), support: support.into_iter().collect(), proof })
    }

    /// The one option that is as its check demands; if the checks leave none or several, as the question's words demand.
    fn choose(&mut self, profile: &Profile, all: &[Choice], question: &str) -> Result<Answer, Open> {
        if let Found::Refuted(_) = self.models.with(&self.lines)? {
            let (support, proof) = self.clash()?;
            return Ok(Answer { status: Status::Undecided, value: None, support, proof });
        }
        let words = question.to_lowercase();
        let asked = profile.answer.need.iter().find(|(phrase, _)| words.contains(phrase.as_str())).map(|(_, n)| *n);
        for needs in [None, asked].iter().take(if asked.is_some() { 2 } else { 1 }) {
            let (mut goal, mut fit) = (0, vec![]);
            for c in all {
                // An option of several checks is as it stands: one need does not say what becomes of each.
                let mut holds = !c.checks.is_empty();
                for k in &c.checks {
                    let need = needs.filter(|_| c.checks.len() == 1).unwrap_or(k.need);
                    holds = holds && self.meets(goal, need)?;
                    goal += 1;
                }
                if holds {
                    fit.push((c, goal - 1, needs.filter(|_| c.checks.len() == 1)));
                }
            }
            if let [(c, goal, need)] = fit.as_slice() {
                let need = need.or_else(|| c.checks.last().map(|k| k.need)).unwrap_or_default();
                let (support, proof) = self.reason(*goal, need)?;
                return Ok(Answer { status: Status::Answered, value: Some(c.label.clone()), support, proof });
            }
        }
        Err(Open::Other("what is told leaves none or several of the options".to_owned()))
    }

    fn meets(&mut self, goal: usize, need: Need) -> Result<bool, Open> {
        let possible = |f: Found| matches!(f, Found::Model(_));
        Ok(match need {
            Need::Must => !possible(self.under(goal, false)?),
            Need::NotMust => possible(self.under(goal, false)?),
            Need::Can => possible(self.under(goal, true)?),
            Need::Cannot => !possible(self.under(goal, true)?),
        })
    }

    /// Why a goal is as needed: the least lines that exclude the opposite, or a model.
    fn reason(&mut self, goal: usize, need: Need) -> Result<(Vec<usize>, Vec<String>), Open> {
        match need {
            Need::Must => self.least(goal, false),
            Need::Cannot => self.least(goal, true),
            Need::Can | Need::NotMust => match self.under(goal, need == Need::Can)? {
                Found::Model(m) => Ok((vec![], vec![self.model("it may be", &m)])),
                Found::Refuted(_) => Ok((vec![], vec![])),
            },
        }
    }

    fn under(&mut self, goal: usize, so: bool) -> Result<Found, Open> {
        let assumed: Vec<Atom> = self.lines.iter().cloned().chain([claim(goal, so)]).collect();
        Ok(self.models.with(&assumed)?)
    }

    /// The least told lines with which the goal cannot be so (or not so).
    fn least(&mut self, goal: usize, so: bool) -> Result<(Vec<usize>, Vec<String>), Open> {
        // The claim is tried last to be left out: what remains are the lines that matter to it.
        let assumed: Vec<Atom> = [claim(goal, so)].into_iter().chain(self.lines.iter().cloned()).collect();
        let Found::Refuted(core) = self.models.least(&assumed)? else { return Ok((vec![], vec![])) };
        Ok(self.told(&core, "without any of these it would not follow:"))
    }

    /// The least told lines that contradict each other.
    fn clash(&mut self) -> Result<(Vec<usize>, Vec<String>), Open> {
        let Found::Refuted(core) = self.models.least(&self.lines.clone())? else { return Ok((vec![], vec![])) };
        Ok(self.told(&core, "these contradict each other:"))
    }

    fn told(&self, core: &[Atom], head: &str) -> (Vec<usize>, Vec<String>) {
        let of = |a: &Atom| a.args.first().and_then(Term::as_int).and_then(|n| usize::try_from(n).ok()).filter(|_| &*a.name == "keep");
        let mut support: Vec<usize> = core.iter().filter_map(of).collect();
        support.sort_unstable();
        let words = |n: &usize| {
            let mut said: Vec<&str> = self.theory.told.iter().filter(|t| t.line == *n).map(|t| t.text.as_str()).collect();
            said.dedup();
            format!("line {n}: {}", said.join(" "))
        };
        let proof = if support.is_empty() {
            vec!["it follows from nothing that was told".to_owned()]
        } else {
            [head.to_owned()].into_iter().chain(support.iter().map(words)).collect()
        };
        (support, proof)
    }

    /// A model in words: what is so in it, and the values.
    fn model(&self, head: &str, shown: &[Atom]) -> String {
        let plain = |t: &Term| t.as_name().map_or_else(|| t.to_string(), str::to_owned);
        let call = |t: &Term| match t {
            Term::Fun(_, args) => match args.split_first() {
                Some((f, [])) => plain(f),
                Some((f, rest)) => format!("{}({})", plain(f), rest.iter().map(plain).collect::<Vec<_>>().join(", ")),
                None => String::new(),
            },
            t => plain(t),
        };
        let told = |a: &Atom| match a.args.as_slice() {
            [slot, v] => Some(format!("{} is {}", call(slot), plain(v))),
            [_] => self.names.iter().find(|(n, _)| n == a).map(|(_, t)| call(t)),
            _ => None,
        };
        let mut all: Vec<String> = shown.iter().filter_map(told).collect();
        all.sort();
        let more = all.len().saturating_sub(TOLD);
        all.truncate(TOLD);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        if all.is_empty() { format!("{head}: where nothing is so") } else { format!("{head}: {}{more}", all.join(", ")) }
    }
}

fn keep(line: usize) -> Atom {
    Atom::new("keep", vec![Term::number(line)])
}

fn claim(goal: usize, so: bool) -> Atom {
    Atom::new("claim", vec![Term::number(goal), Term::constant(if so { "yes" } else { "no" })])
}

/// A statement as a formula: of things in a row by their places.
pub fn stated(l: &Literal, scope: &Scope) -> Formula {
    choices::formula(l, scope).unwrap_or_else(|| of_literal(l))
}

/// A literal with a thing for its variables.
pub fn instance(l: &Literal, t: &Term) -> Literal {
    let args = l.atom.args.iter().map(|a| if variable_of(a).is_some() { t.clone() } else { a.clone() }).collect();
    Literal { positive: l.positive, atom: Atom { name: l.atom.name.clone(), args } }
}

/// A reading as a formula: a rule holds for all values of its variables.
fn of_reading(r: &Reading) -> Option<Formula> {
    Some(match r {
        Reading::Formula(f) => f.clone(),
        Reading::Fact(l) => of_literal(l),
        // What has exceptions says nothing of all models.
        Reading::Rule(r) if r.strength == Strength::Default || !r.unless.is_empty() => return None,
        Reading::Rule(r) => {
            let mut vars: Vec<i32> = r.body.iter().chain([&r.head]).flat_map(|l| &l.atom.args).filter_map(variable_of).collect();
            vars.sort_unstable();
            vars.dedup();
            let rule = Formula::Implies(Formula::And(r.body.iter().map(of_literal).collect()).into(), of_literal(&r.head).into());
            if vars.is_empty() { rule } else { Formula::ForAll(vars.into_iter().map(|n| Bound { name: name(n), sort: None }).collect(), rule.into()) }
        }
        Reading::Unread(_) => return None,
    })
}

fn name(n: i32) -> Name {
    format!("v{n}").into()
}

/// A literal as a formula.
pub fn of_literal(l: &Literal) -> Formula {
    let value = |t: &Term| match (variable_of(t), t) {
        (Some(n), _) => Value::Name(name(n)),
        (None, Term::Int(n)) => Value::Number(*n),
        (None, t) => Value::Name(t.as_name().map_or_else(|| t.to_string().into(), Name::from)),
    };
    let f = Formula::Holds(Value::Call(l.atom.name.clone(), l.atom.args.iter().map(value).collect()));
    if l.positive { f } else { f.negated() }
}
