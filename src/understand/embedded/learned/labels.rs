//! Labels: which predicate a mention stands in and at which place, read off the predicates that an utterance means.
//!
//! A label is a template: `$a` is the mention itself (`$m` its amount of money), `$a.count` its number, `$h` what it is said of
//! (another mention or what is being talked about), `$c` and `$d` further mentions, `$k` a name of the last actions.

use super::mentions::{Kind, Mention};
use crate::ontology::Arg;
use crate::term::{Atom, Name, Term};
use crate::understand::Context;
use crate::understand::embedded::chart::Chart;
use crate::understand::embedded::phrase::Which;
use crate::understand::embedded::text::plain_words;

/// A mention that something else is said of.
pub const HOST: &str = "host";
/// A mention that stands in another mention's predicate.
pub const WITH: &str = "with";
/// A mention that means nothing.
pub const NONE: &str = "none";
/// The variables of labels, in the order of their numbers.
pub const VARIABLES: [&str; 7] = ["a", "h", "c", "d", "k", "m", "p"];

/// The labels of an utterance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// One for each mention.
    pub mentions: Vec<String>,
    /// What is said without a mention, sorted.
    pub acts: Vec<String>,
    /// Predicates that no label can express.
    pub lost: usize,
}

/// What one argument was found to be.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    Mention(usize),
    Money(usize),
    Nothing,
}

/// Reads the labels off what an utterance means.
pub fn labels(chart: &Chart<'_>, mentions: &[Mention], atoms: &[Atom], context: &Context) -> Labels {
    let mut out = Labels { mentions: vec![String::new(); mentions.len()], ..Labels::default() };
    let mut hosts = vec![];
    let mut companions = vec![];
    let reader = Reader { chart, mentions, context };
    for atom in atoms {
        match reader.template(atom, &out.mentions) {
            Some(Template { label, anchor: Some(m), host, with }) => {
                if let Some(slot) = out.mentions.get_mut(m) {
                    let mut all: Vec<&str> = slot.split("; ").filter(|s| !s.is_empty()).chain([label.as_str()]).collect();
                    all.sort_unstable();
                    all.dedup();
                    *slot = all.join("; ");
                }
                hosts.extend(host);
                companions.extend(with);
                if let Some((at, label)) = reader.number_apart(atom, m, &out.mentions)
                    && let Some(slot) = out.mentions.get_mut(at)
                {
                    *slot = label;
                }
            }
            Some(Template { label, anchor: None, .. }) => {
                if !out.acts.contains(&label) {
                    out.acts.push(label);
                }
            }
            None if reader.swallowed(atom) => {}
            None => out.lost += 1,
        }
    }
    for (list, label) in [(companions, WITH), (hosts, HOST)] {
        for m in list {
            if let Some(slot) = out.mentions.get_mut(m)
                && slot.is_empty()
            {
                label.clone_into(slot);
            }
        }
    }
    for slot in out.mentions.iter_mut().filter(|s| s.is_empty()) {
        NONE.clone_into(slot);
    }
    out.acts.sort();
    out
}

struct Template {
    label: String,
    anchor: Option<usize>,
    host: Option<usize>,
    with: Vec<usize>,
}

struct Reader<'c, 'a> {
    chart: &'c Chart<'a>,
    mentions: &'c [Mention],
    context: &'c Context,
}

impl Reader<'_, '_> {
    /// The mentions that may name the name, nearest meaning first.
    fn naming(&self, name: &Name) -> Vec<usize> {
        let mut out: Vec<(usize, usize)> = vec![];
        for (i, m) in self.mentions.iter().enumerate() {
            match &m.kind {
                Kind::Name => {
                    if let Some(at) = m.candidates(self.chart).iter().position(|c| self.chart.name(c.name).as_ref() == Some(name)) {
                        out.push((at.min(3), i));
                    }
                }
                Kind::New => {
                    let said = self.chart.tokens.get(m.start..m.end).into_iter().flatten().map(|t| t.text.as_str());
                    if plain_words(name, &self.chart.model.respell).iter().map(String::as_str).eq(said) {
                        out.push((0, i));
                    }
                }
                _ => {}
            }
        }
        out.sort_unstable();
        out.into_iter().map(|x| x.1).collect()
    }

    /// The reference that may mean the name: of the same clause as the anchor, and free. If the name was said too, only one
    /// that stands nearer and tells apart some of several.
    fn referring(&self, name: &Name, near: Option<&Mention>, named: Option<&Mention>, number: Option<i64>, taken: &[String]) -> Option<usize> {
        let kind: Name = self.chart.model.lines.as_ref()?.config.kind.as_str().into();
        let gap = |m: &Mention| near.map_or(0, |n| m.start.abs_diff(n.start));
        let fits = |i: usize, m: &Mention| {
            let Some(np) = m.np.and_then(|n| self.chart.phrases.get(n)) else { return false };
            let tells = np.place.is_some() || np.which != Which::Unsaid || np.part || np.count.is_some();
            let refers = match &m.kind {
                Kind::Refer => true,
                Kind::Number(..) => near.is_none() || named.is_some(),
                Kind::Value(_, v) => self.chart.knowledge.second(&kind, name).contains(v),
                _ => false,
            };
            let marks = near.map_or(0, |n| {
                let (from, to) = (m.end.min(n.end), m.start.max(n.start));
                self.chart.tokens.get(from..to).into_iter().flatten().filter(|t| t.punct().is_some()).count()
            });
            let better = named.is_none_or(|o| tells && gap(m) < gap(o));
            refers && better && marks == 0 && taken.get(i).is_some_and(|t| t.is_empty() || named.is_some() && t == HOST)
        };
        let count = |m: &Mention| m.np.and_then(|n| self.chart.phrases.get(n)).and_then(|np| np.count);
        let cost = |m: &Mention| gap(m) + if number.is_some_and(|n| count(m) != Some(n) && n > 1) { 50 } else { 0 };
        self.mentions.iter().enumerate().filter(|(i, m)| fits(*i, m)).min_by_key(|(_, m)| cost(m)).map(|x| x.0)
    }

    /// A line's number said apart from its item: "those, and make it two".
    fn number_apart(&self, atom: &Atom, item: usize, taken: &[String]) -> Option<(usize, String)> {
        let lines = self.chart.model.lines.as_ref().filter(|l| *atom.name == *l.config.add)?;
        let Some(Term::Int(n)) = atom.args.get(1) else { return None };
        let n = i64::from(*n);
        let np = self.chart.phrases.get(self.mentions.get(item)?.np?)?;
        if np.count.unwrap_or(1) == n {
            return None;
        }
        let says = |m: &Mention| match m.kind {
            Kind::Number(w, _) => w == Some(n),
            Kind::Refer => m.np.and_then(|i| self.chart.phrases.get(i)).is_some_and(|np| np.count == Some(n)),
            _ => false,
        };
        let all = self.mentions.iter().enumerate().filter(|(i, m)| taken.get(*i).is_some_and(String::is_empty) && says(m));
        let (at, m) = all.min_by_key(|(i, _)| i.abs_diff(item))?;
        let quantity = &lines.config.quantity;
        Some((at, if matches!(m.kind, Kind::Number(..)) { format!("{quantity}($h,$a)") } else { format!("{quantity}($a,$a.count)") }))
    }

    fn of_value(&self, value: &Name) -> Vec<usize> {
        let is = |m: &&Mention| matches!(&m.kind, Kind::Value(_, v) if v == value);
        self.mentions.iter().enumerate().filter(|(_, m)| is(m)).map(|x| x.0).collect()
    }

    fn of_number(&self, n: i64) -> Vec<Found> {
        let mut out = vec![];
        for (i, m) in self.mentions.iter().enumerate() {
            match m.kind {
                Kind::Number(Some(w), _) if w == n => out.push(Found::Mention(i)),
                Kind::Number(_, Some(c)) if c == n => out.push(Found::Money(i)),
                _ => {}
            }
        }
        out
    }

    /// Whether a noun phrase's own attribute already says it.
    fn swallowed(&self, atom: &Atom) -> bool {
        let Some(lines) = self.chart.model.lines.as_ref().filter(|l| *atom.name == *l.config.change) else { return false };
        let values: Vec<&Name> = atom.args.iter().filter_map(|a| if let Term::Const(c) = a { Some(c) } else { None }).collect();
        self.mentions
            .iter()
            .filter_map(|m| self.chart.phrases.get(m.np?))
            .any(|np| np.attributes.iter().any(|(sort, value)| lines.attributes.contains_key(sort) && values.contains(&value)))
    }

    fn is_kind(&self, value: &Name) -> bool {
        let sort = self.chart.model.lines.as_ref().and_then(|l| l.kind_sort);
        self.chart.model.values.iter().any(|v| Some(v.sort) == sort && v.value == *value)
    }

    fn counted(&self, name: &str) -> bool {
        self.chart.model.lines.as_ref().is_some_and(|l| name == l.config.add || name == l.config.remove || name == l.config.quantity)
    }

    /// The template of a predicate, `None` if a name or number in it was neither said nor is in question.
    fn template(&self, atom: &Atom, taken: &[String]) -> Option<Template> {
        if self.swallowed(atom) {
            return None;
        }
        let mut args: Vec<&Term> = atom.args.iter().collect();
        let changes = self.chart.model.lines.as_ref().is_some_and(|l| *atom.name == *l.config.change);
        if changes && args.len() > 3 && matches!(args.last(), Some(Term::Int(_))) {
            args.pop();
        }
        let counted = self.counted(&atom.name);
        let flat: Vec<(bool, &Term)> = args
            .iter()
            .enumerate()
            .flat_map(|(i, a)| match a {
                Term::Fun(_, inner) => inner.iter().map(|t| (false, t)).collect::<Vec<_>>(),
                a => vec![(i == 0, *a)],
            })
            .collect();
        let mut found: Vec<Found> = vec![Found::Nothing; flat.len()];
        // The anchor is the last thing said of the predicate; a line's item before its number.
        let mut anchor = None;
        for (i, (_, term)) in flat.iter().enumerate().rev() {
            let all: Vec<Found> = match term {
                Term::Str(s) => self.naming(s).into_iter().map(Found::Mention).collect(),
                Term::Const(c) if self.may_be_said(atom, i) => self.of_value(c).into_iter().map(Found::Mention).collect(),
                Term::Int(_) if counted && flat.first().is_some_and(|f| matches!(f.1, Term::Str(s) if !self.naming(s).is_empty())) => vec![],
                Term::Int(n) => self.of_number(i64::from(*n)),
                _ => vec![],
            };
            let number = |f: &Found| match f {
                Found::Mention(m) | Found::Money(m) => Some(*m),
                Found::Nothing => None,
            };
            let used = |f: &Found| found.iter().any(|o| number(o).is_some() && number(o) == number(f));
            if anchor.is_none() {
                let free = all.iter().find(|f| number(f).and_then(|m| taken.get(m)).is_some_and(String::is_empty));
                if let Some(f) = free.or(all.first()).cloned() {
                    anchor = Some(i);
                    if let Some(slot) = found.get_mut(i) {
                        *slot = f;
                    }
                }
            } else if !matches!(term, Term::Const(_))
                && let Some(f) = all.iter().find(|f| !used(f)).cloned()
                && let Some(slot) = found.get_mut(i)
            {
                *slot = f;
            }
        }
        // What is not named may be referred to: `it`, `both`, or a kind of thing; and one of several is told apart so.
        if let Some(Term::Str(name)) = flat.first().filter(|f| f.0 && anchor != Some(0)).map(|f| f.1) {
            let near = anchor.and_then(|a| found.get(a)).and_then(|f| if let Found::Mention(m) | Found::Money(m) = f { self.mentions.get(*m) } else { None });
            let named = match found.first() {
                Some(Found::Mention(m)) => self.mentions.get(*m),
                _ => None,
            };
            let number = atom.args.iter().rev().find_map(|t| if let (true, Term::Int(n)) = (counted, t) { Some(i64::from(*n)) } else { None });
            if (named.is_none() || changes)
                && let Some(m) = self.referring(name, near, named, number, taken)
                && let Some(slot) = found.first_mut()
            {
                *slot = Found::Mention(m);
                anchor = anchor.or(Some(0));
            }
        }
        let mut texts = vec![];
        let mut out = Template { label: String::new(), anchor: None, host: None, with: vec![] };
        let mut further = ["c", "d"].into_iter();
        for (i, ((first, term), f)) in flat.iter().zip(&found).enumerate() {
            let text = match (f, term) {
                (Found::Mention(m), _) if anchor == Some(i) => {
                    out.anchor = Some(*m);
                    "$a".to_owned()
                }
                (Found::Money(m), _) if anchor == Some(i) => {
                    out.anchor = Some(*m);
                    "$m".to_owned()
                }
                (Found::Mention(m), _) if *first => {
                    out.host = Some(*m);
                    "$h".to_owned()
                }
                (Found::Mention(m), _) => {
                    out.with.push(*m);
                    format!("${}", further.next()?)
                }
                (Found::Money(m), _) => {
                    out.with.push(*m);
                    "$p".to_owned()
                }
                (Found::Nothing, Term::Str(_)) if *first => "$h".to_owned(),
                (Found::Nothing, Term::Str(s)) => {
                    let known = self.context.last_actions.iter().flat_map(|a| &a.args).any(|a| matches!(a, Term::Str(k) if k == s));
                    if !known {
                        return None;
                    }
                    "$k".to_owned()
                }
                (Found::Nothing, Term::Int(_)) if counted && anchor == Some(0) => "$a.count".to_owned(),
                (Found::Nothing, Term::Int(n)) if !counted || *n > 1 => return None.filter(|_: &Template| *n > 0),
                // A kind that was not said is not to be guessed from other words.
                (Found::Nothing, Term::Const(c)) if self.is_kind(c) => return None,
                (Found::Nothing, t) => t.to_string(),
            };
            texts.push(text);
        }
        let mut texts = texts.into_iter();
        let written: Vec<String> = args
            .iter()
            .map(|a| match a {
                Term::Fun(f, inner) => format!("{f}({})", texts.by_ref().take(inner.len()).collect::<Vec<_>>().join(",")),
                _ => texts.next().unwrap_or_default(),
            })
            .collect();
        out.label = if written.is_empty() { atom.name.to_string() } else { format!("{}({})", atom.name, written.join(",")) };
        Some(out)
    }

    /// Whether a constant at this place is a value that words give rather than a part of the form.
    fn may_be_said(&self, atom: &Atom, at: usize) -> bool {
        let key = (self.context.role.clone(), atom.name.clone(), atom.args.len());
        let forms = self.chart.model.forms.get(&key).map_or(&[][..], |f| f);
        forms.iter().any(|f| {
            let literals = f.iter().zip(&atom.args).all(|(a, t)| !matches!(a, Arg::Literal(l) if l != t));
            literals && matches!(f.get(at), Some(Arg::Sort(_)))
        })
    }
}
