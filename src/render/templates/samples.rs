//! Replies that reach the sentences of a bank: every rule with values of its own vocabulary, alone, and two at a time where a group gathers them.

use super::{Output, Rule, Templates};
use crate::ontology::{Arg, Ontology, Sort};

use crate::render::{Say, Tone};
use crate::term::{Atom, Name, Pattern, Term};

/// Sets of values that each rule is tried with.
const SETS: usize = 3;
/// Names that nothing bears yet.
const NEW: [&str; SETS] = ["Garden Wrap", "Harbour Melt", "Rosa Winter"];

/// A reply with the wordings of the bank that it reaches.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What is said.
    pub says: Vec<Say>,
    /// To whom it may be said: the listeners that its input or its rule names, else any.
    pub tones: Vec<Tone>,
    /// Places in the bank.
    pub places: Vec<usize>,
}

/// The vocabulary that values are drawn from.
struct Values<'a> {
    ontology: &'a Ontology,
    facts: &'a [Atom],
    /// Which set of values.
    set: usize,
    bound: Vec<(Name, Term)>,
}

impl Templates {
    /// Replies for every rule whose sentence the bank has other wordings of.
    pub fn samples(&self, ontology: &Ontology, facts: &[Atom]) -> Vec<Sample> {
        let mut out = vec![];
        for (at, rule) in self.rules.iter().enumerate() {
            let places = self.places(&rule.output);
            // What answers an input is said with it: a rule below those that know the input is there for records cut short.
            let knows = |other: &Rule| other.actions.iter().any(|p| rule.actions.iter().any(|q| p.meets(q)));
            let backstop = rule.inputs.is_empty() && self.rules.iter().take(at).any(|r| !r.inputs.is_empty() && knows(r));
            if places.is_empty() || backstop {
                continue;
            }
            let roles: Vec<&Name> = if rule.roles.is_empty() { ontology.roles.keys().collect() } else { rule.roles.iter().collect() };
            let tones: Vec<Tone> = roles.iter().map(|role| Tone { role: role.to_string(), turn: 1, ..Tone::default() }).collect();
            let alone: Vec<Vec<Say>> = (0..SETS).flat_map(|set| rule.sampled(ontology, facts, set)).collect();
            // What may stand in a reply several times is gathered: a total or a question, which is a sentence by itself, stands there once.
            let gathered = matches!(rule.output, Output::Item { .. });
            let pairs = alone.iter().zip(alone.iter().skip(1)).filter(|(a, b)| gathered && a != b).map(|(a, b)| [a.clone(), b.clone()].concat());
            for says in alone.iter().cloned().chain(pairs) {
                let reached = |tone: &&Tone| says.first().and_then(|s| self.rule_for(s, &says, tone)).is_some_and(|(i, _)| i == at);
                let tones: Vec<Tone> = tones.iter().filter(reached).cloned().collect();
                if !tones.is_empty() {
                    out.push(Sample { says, tones, places: places.clone() });
                }
            }
        }
        out
    }

    /// The bank's wordings of the sentence that an output ends in.
    fn places(&self, output: &Output) -> Vec<usize> {
        let mut output = Some(output);
        for _ in 0..=self.heights {
            match output {
                Some(Output::Say { bank, .. }) => return bank.iter().map(|(at, _)| *at).collect(),
                Some(Output::Item { group, .. }) => output = self.groups.get(*group).map(|g| &g.output),
                None => return vec![],
            }
        }
        vec![]
    }
}

impl Rule {
    /// Replies by one set of values: each action with each input that it may answer, and what must be said with it.
    fn sampled(&self, ontology: &Ontology, facts: &[Atom], set: usize) -> Vec<Vec<Say>> {
        let mut out = vec![];
        let inputs: Vec<Option<&Pattern>> = if self.inputs.is_empty() { vec![None] } else { self.inputs.iter().map(Some).collect() };
        for action in &self.actions {
            for input in &inputs {
                let mut values = Values { ontology, facts, set, bound: vec![] };
                // The input's sorts are narrower than the action's, so it binds first.
                let input = input.map(|p| values.atom(p, false));
                let said = values.atom(action, true);
                let with: Option<Vec<Say>> = self.with.iter().map(|p| Some(Say { action: values.atom(p, true)?, input: None })).collect();
                if let (Some(action), Some(with), false) = (said, with, matches!(input, Some(None))) {
                    out.push([vec![Say { action, input: input.flatten() }], with].concat());
                }
            }
        }
        out
    }
}

impl Values<'_> {
    fn atom(&mut self, pattern: &Pattern, action: bool) -> Option<Atom> {
        let (name, args) = pattern.head()?;
        let forms: Vec<(&Name, &Vec<Arg>)> = if action {
            self.ontology.actions.iter().map(|f| (&f.name, &f.args)).collect()
        } else {
            self.ontology.inputs.iter().map(|f| (&f.name, &f.args)).collect()
        };
        let before = self.bound.clone();
        for (_, form) in forms.iter().filter(|(n, a)| &***n == name && a.len() == args.len()) {
            self.bound.clone_from(&before);
            let made: Option<Vec<Term>> = args.iter().zip(form.iter()).map(|(p, a)| self.term(p, a)).collect();
            if let Some(args) = made {
                return Some(Atom::new(name, args));
            }
        }
        None
    }

    fn term(&mut self, pattern: &Pattern, arg: &Arg) -> Option<Term> {
        match pattern {
            Pattern::Literal(t) => self.ontology.fits(t, arg).then(|| t.clone()),
            Pattern::Any => self.value(arg),
            Pattern::Var(v) => {
                if let Some((_, t)) = self.bound.iter().find(|(n, _)| n == v) {
                    return Some(t.clone());
                }
                let value = self.value(arg)?;
                self.bound.push((v.clone(), value.clone()));
                Some(value)
            }
            Pattern::Fun(name, args) => match arg {
                Arg::Fun(n, inner) if n == name && inner.len() == args.len() => {
                    Some(Term::Fun(name.clone(), args.iter().zip(inner).map(|(p, a)| self.term(p, a)).collect::<Option<_>>()?))
                }
                // An input as an argument: what is refused.
                Arg::Sort(_) => self.atom(pattern, false).map(|a| a.to_term()),
                _ => None,
            },
        }
    }

    fn value(&self, arg: &Arg) -> Option<Term> {
        let nth = |n: usize| if n == 0 { None } else { Some((self.set * 13 + 5) % n) };
        match arg {
            Arg::Literal(t) => Some(t.clone()),
            Arg::Fun(name, args) => Some(Term::Fun(name.clone(), args.iter().map(|a| self.value(a)).collect::<Option<_>>()?)),
            Arg::Sort(sort) => match self.ontology.sorts.get(sort)? {
                Sort::Values(all) => nth(all.len()).and_then(|i| all.get(i)).map(|c| Term::Const(c.clone())),
                Sort::Names(of) => {
                    let mut names: Vec<&Name> = self
                        .facts
                        .iter()
                        .filter(|f| of.contains(&f.name))
                        .filter_map(|f| if let Some(Term::Str(s)) = f.args.first() { Some(s) } else { None })
                        .collect();
                    names.sort();
                    names.dedup();
                    // Whom conversations alone know of (a patient) is anybody.
                    nth(names.len())
                        .and_then(|i| names.get(i))
                        .map_or_else(|| NEW.get(self.set % SETS).map(|n| Term::string(n)), |n| Some(Term::Str((*n).clone())))
                }
                Sort::NewName => NEW.get(self.set % SETS).map(|n| Term::string(n)),
                Sort::Int { min, max, .. } => {
                    let first = if *max > 1_000 { 149 } else { 1 };
                    let step = i32::try_from(self.set).unwrap_or(0) * if *max > 1_000 { 70 } else { 1 };
                    Some(Term::Int((first + step).clamp(*min, *max)))
                }
                Sort::Union(sorts) => sorts.iter().find_map(|s| self.value(&Arg::Sort(s.clone()))),
                Sort::Any => {
                    let names: Vec<&Name> = self.facts.iter().filter_map(|f| if let Some(Term::Str(s)) = f.args.first() { Some(s) } else { None }).collect();
                    nth(names.len()).and_then(|i| names.get(i)).map(|n| Term::Str((*n).clone()))
                }
            },
        }
    }
}
