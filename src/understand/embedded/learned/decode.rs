//! From labels to readings that the resolver takes as it takes those of patterns.

use std::sync::Arc;

use super::RoleModel;
use super::labels::{HOST, NONE, VARIABLES, WITH};
use super::mentions::{Kind, Mention};
use crate::ontology::Arg;
use crate::term::{Name, Term};
use crate::understand::Context;
use crate::understand::embedded::chart::{Bind, Bound, Chart, Edge};
use crate::understand::embedded::grammar::Program;
use crate::understand::embedded::model::{Model, Phrasing, RoleGrammar};
use crate::understand::embedded::template::{Slot, Template, parse_templates};
use crate::understand::embedded::text::Token;

/// The patterns of a role's labels.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    labels: Vec<Option<Meaning>>,
    acts: Vec<Option<Meaning>>,
}

/// A label's patterns in the role's grammar.
#[derive(Clone, Debug)]
struct Meaning {
    /// With a host that was said; the next one is without.
    pattern: usize,
    host: bool,
    known: bool,
    further: Vec<u8>,
    /// Sort bits that the mention, the host and the further mentions must have, 0 for what is no name.
    masks: [u64; 7],
    starts_line: bool,
    money: bool,
}

const ANCHOR: u8 = 0;
const SAID_OF: u8 = 1;
const KNOWN: u8 = 4;
const MONEY: u8 = 5;
const OTHER_MONEY: u8 = 6;

fn has(slots: &[Slot], var: u8) -> bool {
    slots.iter().any(|s| match s {
        Slot::Var(v) | Slot::Count(v) => *v == var,
        Slot::Fun(_, inner) => has(inner, var),
        _ => false,
    })
}

fn without_host(slot: &Slot) -> Slot {
    match slot {
        Slot::Var(SAID_OF) => Slot::Hole,
        s => s.clone(),
    }
}

impl Patterns {
    /// Adds a role's labels to its grammar.
    pub fn add(role: &Name, learned: &RoleModel, model: &mut Model) -> Self {
        let forms = model.forms.clone();
        let masks = model.masks.clone();
        let add_name = model.lines.as_ref().map(|l| l.config.add.clone()).unwrap_or_default();
        let Some(grammar) = model.roles.get_mut(role) else { return Self::default() };
        let mut out = Self::default();
        let mask_of = |t: &Template, var: u8| -> u64 {
            let at = t.args.iter().position(|s| has(std::slice::from_ref(s), var));
            let inner = forms
                .get(&(role.clone(), t.name.clone(), t.args.len()))
                .into_iter()
                .flatten()
                .filter(|f| f.iter().zip(&t.args).all(|(a, s)| !matches!((a, s), (Arg::Literal(l), Slot::Term(k)) if l != k)));
            let inner = inner.filter_map(|f| f.get(at?));
            inner
                .map(|a| match a {
                    Arg::Sort(s) => masks.get(s).copied().unwrap_or(0),
                    Arg::Fun(_, inside) => {
                        inside.iter().map(|a| if let Arg::Sort(s) = a { masks.get(s).copied().unwrap_or(0) } else { 0 }).fold(0, |a, b| a | b)
                    }
                    Arg::Literal(_) => 0,
                })
                .fold(0, |a, b| a | b)
        };
        let mut meaning = |label: &String| -> Option<Meaning> {
            let mut vars: Vec<String> = VARIABLES.iter().map(|v| (*v).to_owned()).collect();
            let means = parse_templates(label, &mut vars).ok()?;
            let with = |var: u8| means.iter().any(|t| has(&t.args, var));
            let unhosted: Vec<Template> = means.iter().map(|t| Template { name: t.name.clone(), args: t.args.iter().map(without_host).collect() }).collect();
            let mut all = [0u64; 7];
            for (var, m) in all.iter_mut().enumerate() {
                let var = u8::try_from(var).unwrap_or(0);
                *m = means.iter().map(|t| mask_of(t, var)).fold(0, |a, b| a | b);
            }
            let out = Meaning {
                pattern: grammar.patterns.len(),
                host: with(SAID_OF),
                known: with(KNOWN),
                further: [2, 3, OTHER_MONEY].into_iter().filter(|v| with(*v)).collect(),
                masks: all,
                money: with(MONEY),
                starts_line: means.iter().any(|t| *t.name == *add_name && has(&t.args, ANCHOR)),
            };
            for means in [means, unhosted] {
                push(grammar, means, label);
            }
            Some(out)
        };
        out.labels = learned.labels.iter().map(|l| if [HOST, WITH, NONE].contains(&l.as_str()) { None } else { meaning(l) }).collect();
        out.acts = learned.acts.iter().map(&mut meaning).collect();
        out
    }

    /// Whether a mention can have the label at all.
    pub fn fits(&self, label: usize, mention: &Mention) -> bool {
        let Some(Some(m)) = self.labels.get(label) else { return true };
        match mention.kind {
            Kind::Name => m.masks.first().is_none_or(|a| *a == 0 || a & mention.mask != 0),
            Kind::Number(_, None) => !m.money,
            // A value is not the name of a thing.
            Kind::Value(..) => m.masks.first().is_none_or(|a| *a == 0),
            _ => true,
        }
    }
}

fn push(grammar: &mut RoleGrammar, means: Vec<Template>, say: &str) {
    grammar.patterns.push(Phrasing {
        program: Program::default(),
        vars: VARIABLES.iter().map(|v| (*v).to_owned()).collect(),
        means: Arc::new(means),
        means_new: None,
        after: None,
        does: None,
        weight: 0.0,
        weak: 0,
        bare: false,
        loose: false,
        clause: false,
        over: Arc::new(vec![]),
        alone: false,
        needs_line: false,
        say: say.into(),
    });
}

/// A reading made of labels: edges in the order in which they are to be resolved, and bindings of their patterns.
pub struct Decoded {
    /// The edges.
    pub edges: Vec<Edge>,
    /// What the context binds of their patterns.
    pub after: Bound,
    /// Mentions that no edge could be made of.
    pub lost: usize,
}

fn bind(m: &Mention, money: bool) -> Option<Bind> {
    Some(match (&m.kind, m.np) {
        (Kind::Number(_, Some(c)), _) if money => Bind::Term(Term::Int(i32::try_from(*c).ok()?)),
        (Kind::Number(..), _) if money => return None,
        (Kind::Number(Some(w), _), _) => Bind::Term(Term::Int(i32::try_from(*w).ok()?)),
        (Kind::Value(_, v), _) => Bind::Term(Term::Const(v.clone())),
        (Kind::New, _) => Bind::Free(m.start, m.end),
        (_, Some(np)) => Bind::Np(np),
        _ => return None,
    })
}

/// Whether nothing but words and marks of a list stands between two places.
fn list_between(chart: &Chart<'_>, from: usize, to: usize) -> bool {
    let between = chart.tokens.get(from..to).unwrap_or(&[]);
    let lists = |t: &Token| t.punct() == Some(',') || chart.model.phrase.has("list", t.id) || chart.model.phrase.has("negation", t.id);
    !between.is_empty() && between.iter().all(|t| lists(t) || chart.model.fillers.contains(&t.id))
}

/// What something is said of: always a phrase.
fn bind_phrase(m: &Mention) -> Option<Bind> {
    match (&m.kind, m.np) {
        (Kind::New, _) => Some(Bind::Free(m.start, m.end)),
        (_, Some(np)) => Some(Bind::Np(np)),
        _ => None,
    }
}

/// Makes edges of labels: `labels` by number for each mention, `acts` by number.
pub fn decode(
    chart: &Chart<'_>,
    patterns: &Patterns,
    learned: &RoleModel,
    mentions: &[Mention],
    labels: &[usize],
    acts: &[usize],
    context: &Context,
) -> Decoded {
    let mut out = Decoded { edges: vec![], after: Bound::default(), lost: 0 };
    let name = |m: usize| labels.get(m).and_then(|l| learned.labels.get(*l)).map_or(NONE, |l| l.as_str());
    let meaning = |m: usize| labels.get(m).and_then(|l| patterns.labels.get(*l)).and_then(Option::as_ref);
    let marks = |a: usize, b: usize| chart.tokens.get(a.min(b)..a.max(b)).into_iter().flatten().filter(|t| t.punct().is_some()).count();
    let mut used: Vec<usize> = vec![];
    // Edges with the place where they are to be resolved.
    let mut placed: Vec<(usize, usize, Edge)> = vec![];
    for (i, m) in mentions.iter().enumerate() {
        if name(i) == HOST {
            continue;
        }
        let Some(meaning_of) = meaning(i) else { continue };
        let money = meaning_of.money;
        let anchor = if money { MONEY } else { ANCHOR };
        let phrase = meaning_of.starts_line || meaning_of.masks.first().is_some_and(|a| *a != 0) && !matches!(m.kind, Kind::Value(..));
        let Some(first) = (if phrase { bind_phrase(m) } else { bind(m, money) }) else {
            out.lost += 1;
            continue;
        };
        let mut binds = vec![(anchor, first)];
        let mut complete = true;
        for var in &meaning_of.further {
            let of_money = *var == OTHER_MONEY;
            let mask = meaning_of.masks.get(usize::from(*var)).copied().unwrap_or(0);
            // What stands beside the mention in one predicate is of its kind.
            let alike = |o: &Mention| std::mem::discriminant(&o.kind) == std::mem::discriminant(&m.kind);
            let fits =
                |k: usize, o: &Mention| k != i && !used.contains(&k) && matches!(name(k), WITH | NONE | HOST) && alike(o) && (mask == 0 || o.mask & mask != 0);
            let cost = |k: usize, o: &Mention| o.start.abs_diff(m.start) + if name(k) == WITH { 0 } else { 30 };
            let found = mentions.iter().enumerate().filter(|(k, o)| fits(*k, o)).min_by_key(|(k, o)| cost(*k, o));
            match found.and_then(|(k, o)| Some((k, bind(o, of_money)?))) {
                Some((k, b)) => {
                    used.push(k);
                    binds.push((*var, b));
                }
                None => complete = false,
            }
        }
        if !complete {
            out.lost += 1;
            continue;
        }
        let mut pattern = meaning_of.pattern + 1;
        let mut place = i;
        let mut said_of: Vec<Bind> = vec![];
        if meaning_of.host {
            let mask = meaning_of.masks.get(1).copied().unwrap_or(0);
            let hosts = |k: usize, o: &Mention| {
                let named = match o.kind {
                    Kind::Name => mask == 0 || o.mask & mask != 0,
                    Kind::New => true,
                    Kind::Refer | Kind::Value(..) => o.np.is_some(),
                    Kind::Number(..) => false,
                };
                let says = name(k) == HOST || meaning(k).is_some_and(|x| !x.host && matches!(o.kind, Kind::Name | Kind::New));
                k != i && named && says
            };
            // What no fact knows beside it is a host that stands further off.
            let named = |m: &Mention| m.candidates(chart).iter().take(3).filter_map(|c| chart.name(c.name)).collect::<Vec<Name>>();
            let own = named(m);
            let cost = |k: usize, o: &Mention| {
                let gap = if k < i { m.start.saturating_sub(o.end) } else { o.start.saturating_sub(m.end) + 2 };
                let strange = if named(o).iter().any(|a| own.iter().any(|b| chart.knowledge.relates(a, b))) { 0 } else { 4 };
                gap + strange + if name(k) == HOST { 0 } else { 2 } + 4 * marks(o.end.min(m.end), o.start.max(m.start))
            };
            if let Some((k, _)) = mentions.iter().enumerate().filter(|(k, o)| hosts(*k, o)).min_by_key(|(k, o)| cost(*k, o)) {
                let last_said = (0..i).rev().find(|j| meaning(*j).is_some_and(|x| !x.host));
                let in_focus = name(k) != HOST && (k > i || last_said == Some(k));
                if k > i {
                    place = k;
                }
                if !in_focus {
                    pattern = meaning_of.pattern;
                    // What is said of one of a row of hosts is said of all of them.
                    let joined = |a: usize, b: usize| {
                        let pair = mentions.get(a).zip(mentions.get(b));
                        let alike = |x: &Mention, y: &Mention| name(a) == HOST && name(b) == HOST && hosts(a, x) && hosts(b, y) && x.kind == y.kind;
                        pair.is_some_and(|(x, y)| alike(x, y) && list_between(chart, x.end, y.start))
                    };
                    let first = (0..k).rev().take_while(|j| joined(*j, *j + 1)).last().unwrap_or(k);
                    let last = (k + 1..mentions.len()).take_while(|j| joined(*j - 1, *j)).last().unwrap_or(k);
                    said_of.extend((first..=last).filter_map(|j| mentions.get(j)).filter_map(bind_phrase));
                }
            }
        }
        if meaning_of.known {
            let known = context.last_actions.iter().rev().flat_map(|a| a.args.iter().rev()).find(|t| matches!(t, Term::Str(_)));
            out.after.extend(known.map(|t| (pattern, vec![(KNOWN, t.clone())])));
        }
        if let Some((last, others)) = said_of.split_last() {
            for host in others {
                let mut binds = binds.clone();
                binds.push((SAID_OF, host.clone()));
                placed.push((place, usize::from(place != i), Edge { start: m.start, end: m.end, pattern, binds, score: 0.0 }));
            }
            binds.push((SAID_OF, last.clone()));
        }
        placed.push((place, usize::from(place != i), Edge { start: m.start, end: m.end, pattern, binds, score: 0.0 }));
    }
    placed.sort_by_key(|p| (p.0, p.1));
    out.edges = placed.into_iter().map(|p| p.2).collect();
    for a in acts {
        let Some(Some(m)) = patterns.acts.get(*a) else { continue };
        let pattern = m.pattern + 1;
        if m.known {
            let known = context.last_actions.iter().rev().flat_map(|a| a.args.iter().rev()).find(|t| matches!(t, Term::Str(_)));
            out.after.extend(known.map(|t| (pattern, vec![(KNOWN, t.clone())])));
        }
        out.edges.push(Edge { start: 0, end: chart.tokens.len(), pattern, binds: vec![], score: 0.0 });
    }
    out
}
