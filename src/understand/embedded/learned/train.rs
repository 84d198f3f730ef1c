//! Training: labelled utterances to a model, the same bytes for the same data.

use std::collections::BTreeMap;

use super::features::UtteranceView;
use super::labels::{HOST, Labels, NONE, WITH, labels};
use super::mentions::{Mention, apart, fresh, fresh_and_said, mentions};
use super::network::learning::{self as network, Progress};
use super::network::{Network, View};
use super::trust::{Evidence, Row, Trust, same};
use super::weights::{Choice, Example, Weights};
use super::{ASKED, Learned, RoleModel, kinds};
use crate::term::{Atom, Name, Term};
use crate::understand::Context;
use crate::understand::embedded::Embedded;

/// A labelled utterance.
#[derive(Clone, Debug)]
pub struct Utterance {
    /// The context; its role is the speaker's.
    pub context: Context,
    /// The words.
    pub text: String,
    /// What they mean.
    pub gold: Vec<Atom>,
    /// What they half say.
    pub asks: Vec<Atom>,
    /// What is right as well: predicates, and `do` or `either` where the half said may be done.
    pub also: Vec<Atom>,
    /// How much it counts.
    pub weight: f32,
}

/// How often a label must occur.
const AT_LEAST: usize = 2;
/// Below so many utterances every one of them is needed.
const FEW: usize = 2000;
/// How often the training data is gone through; how often a feature must occur, more often than one wording with several names; the
/// same for the second voice.
const SCHEDULE: [(usize, usize); 2] = [(16, 5), (20, 3)];
/// The same where there are few.
const SCHEDULE_OF_FEW: [(usize, usize); 2] = [(30, 2), (60, 2)];

/// Into how many parts what the trust is fitted on is divided, each read by what was learned from all else.
const PARTS: u64 = 3;
/// How often that fit goes through its rows: they are few.
const TRUST_ROUNDS: usize = 16;
/// How often a feature of it must occur.
const TRUST_AT_LEAST: usize = 15;

/// What one utterance teaches.
struct Lesson {
    role: Name,
    weight: f32,
    voice: (View, Vec<String>),
    /// The mentions' features and labels, and those of the whole; nothing where labels cannot express what was meant.
    read: Option<(Vec<(Vec<u32>, String)>, (Vec<u32>, Vec<String>))>,
}

/// Trains a model for every role that the utterances hold. How far it can be trusted is fitted on the utterances that are held out, or
/// on all where none are: each part of them is read by what was learned from everything else.
pub fn train(translator: &Embedded, utterances: &[Utterance], held_out: &[Utterance], source: u64, progress: Progress<'_>) -> Learned {
    let all: Vec<&Utterance> = utterances.iter().chain(held_out).collect();
    let first = if held_out.is_empty() { 0 } else { utterances.len() };
    let lessons: Vec<Option<Lesson>> = all.iter().map(|u| lesson(translator, u)).collect();
    // By the words, so that a line more or less moves no other.
    let parts: Vec<u64> = all.iter().map(|u| fingerprint(std::iter::once(&*u.text)) % PARTS).collect();
    let judge = |part: u64| {
        let judged = |i: usize| i >= first && parts.get(i) == Some(&part);
        let told = |what: &str| progress(&format!("to judge part {} of {PARTS}: {what}", part + 1));
        let taught = translator.with_learned(learn(&lessons, |i| !judged(i), source, &told));
        let mut rows = Rows::default();
        all.iter().enumerate().filter(|(i, _)| judged(*i)).for_each(|(_, u)| taught.testify(u, &mut rows));
        rows
    };
    let (mut out, rows) = std::thread::scope(|s| {
        let judges: Vec<_> = (0..PARTS).map(|part| s.spawn(move || judge(part))).collect();
        let out = learn(&lessons, |_| true, source, progress);
        let mut rows = Rows::default();
        for (role, (readings, acts)) in judges.into_iter().flat_map(|j| j.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))) {
            let of_role = rows.entry(role).or_default();
            of_role.0.extend(readings);
            of_role.1.extend(acts);
        }
        (out, rows)
    });
    for (role, (readings, acts)) in rows {
        if let Some(model) = out.roles.get_mut(&role) {
            model.trust = Trust::fit(&readings, &acts, TRUST_ROUNDS, TRUST_AT_LEAST);
        }
    }
    out
}

/// For each role the rows of its readings and of their acts.
type Rows = BTreeMap<Name, (Vec<Row>, Vec<Row>)>;

/// Whether two acts of a kind are about things that have a word of their names in common: the grilled and the slow-roasted chicken.
fn called_alike(a: &Atom, b: &Atom) -> bool {
    let words = |a: &Atom| -> Vec<String> { a.args.iter().filter_map(Term::as_name).flat_map(crate::text::words).collect() };
    let of_b = words(b);
    a.name == b.name && a.args.len() == b.args.len() && words(a).iter().any(|w| of_b.contains(w))
}

/// What is there to be learned of an utterance.
fn lesson(translator: &Embedded, u: &Utterance) -> Option<Lesson> {
    translator.with_chart(&u.text, &u.context, |chart, _| {
        let as_heard = mentions(chart, &fresh(chart, &u.text));
        // What has to be asked because a name is two things' was said all the same.
        let (said, half): (Vec<&Atom>, Vec<&Atom>) = u.asks.iter().partition(|a| u.asks.iter().any(|b| a != &b && called_alike(a, b)));
        let done = u.gold.iter().chain(said).flat_map(kinds);
        let asked = half.into_iter().flat_map(kinds).map(|k| format!("{ASKED}{k}"));
        let voice = (UtteranceView::new(chart, &as_heard, &u.context).places(), done.chain(asked).collect::<Vec<_>>());
        // What is half said reads like what is said; whether it may be done is the second voice's to say.
        let unsaid = |a: &&Atom| u.asks.is_empty() || !a.args.is_empty();
        let meant: Vec<Atom> = u.gold.iter().filter(unsaid).chain(&u.asks).cloned().collect();
        let meant: Vec<Atom> = meant.into_iter().map(|a| translator.as_said(chart.tokens, &a).unwrap_or(a)).collect();
        let new = fresh_and_said(chart, &u.text, &meant);
        let labelled = |said: &[Mention]| labels(chart, said, &meant, &u.context);
        let shown = |said: &[Mention], given: &Labels| {
            let view = UtteranceView::new(chart, said, &u.context);
            let mut rows = vec![];
            let mut before = "_".to_owned();
            for (m, label) in given.mentions.iter().enumerate() {
                rows.push((view.mention(m, &before), label.clone()));
                before.clone_from(label);
            }
            (rows, (view.whole(&given.mentions), given.acts.clone()))
        };
        let said = mentions(chart, &new);
        let given = labelled(&said);
        let none = |m: usize| given.mentions.get(m).is_some_and(|l| l == NONE);
        let others = apart(chart, &new, &said, none).map(|others| (labelled(&others), others));
        // What means nothing stands before what was meant: both are to be learned, that it does and what is behind it.
        let hidden = others.filter(|(of_others, _)| of_others.lost + of_others.acts.len() < given.lost + given.acts.len());
        let read = match hidden {
            Some((of_others, others)) if of_others.lost == 0 => {
                let (mut rows, whole) = shown(&others, &of_others);
                rows.extend(shown(&said, &given).0);
                Some((rows, whole))
            }
            _ => (given.lost == 0).then(|| shown(&said, &given)),
        };
        Lesson { role: u.context.role.clone(), weight: u.weight, voice, read }
    })
}

/// Learns from those of the lessons that are allowed.
fn learn(lessons: &[Option<Lesson>], allowed: impl Fn(usize) -> bool, source: u64, progress: Progress<'_>) -> Learned {
    let mut by_role: BTreeMap<Name, Vec<&Lesson>> = BTreeMap::new();
    for lesson in lessons.iter().enumerate().filter(|(i, _)| allowed(*i)).filter_map(|x| x.1.as_ref()) {
        by_role.entry(lesson.role.clone()).or_default().push(lesson);
    }
    Learned {
        source,
        roles: by_role
            .into_iter()
            .map(|(role, lessons)| {
                let model = of_role(&lessons, &|what| progress(&format!("{role}, {what}")));
                (role, model)
            })
            .collect(),
    }
}

fn of_role(lessons: &[&Lesson], progress: Progress<'_>) -> RoleModel {
    // Class numbers are bytes.
    let frequent = |all: &mut dyn Iterator<Item = &String>| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for l in all {
            *counts.entry(l.clone()).or_default() += 1;
        }
        counts.retain(|_, n| *n >= AT_LEAST);
        counts.into_keys().take(250).collect::<Vec<String>>()
    };
    let read = || lessons.iter().filter_map(|l| Some((l.read.as_ref()?, l.weight)));
    let mut labels = frequent(&mut read().flat_map(|(r, _)| &r.0).map(|m| &m.1));
    for l in [HOST, NONE, WITH] {
        if !labels.iter().any(|k| k == l) {
            labels.push(l.to_owned());
        }
    }
    let acts = frequent(&mut read().flat_map(|(r, _)| &r.1.1));
    let kinds = frequent(&mut lessons.iter().flat_map(|l| &l.voice.1));
    let number = |list: &[String], l: &String| list.iter().position(|k| k == l);
    let example = |features: &[u32], l: &[String], list: &[String], weight| Example {
        features: features.to_vec(),
        classes: l.iter().filter_map(|l| number(list, l)).collect(),
        weight,
    };
    let rows = read().flat_map(|(r, weight)| r.0.iter().map(move |m| (m, weight)));
    let mention: Vec<Example> = rows.map(|(m, weight)| example(&m.0, std::slice::from_ref(&m.1), &labels, weight)).filter(|e| !e.classes.is_empty()).collect();
    let act: Vec<Example> = read().map(|(r, weight)| example(&r.1.0, &r.1.1, &acts, weight)).collect();
    let classes = |l: &Lesson| l.voice.1.iter().filter_map(|k| number(&kinds, k)).collect();
    let kind: Vec<_> = lessons.iter().map(|l| network::Example { view: l.voice.0.clone(), classes: classes(l), weight: l.weight }).collect();
    let [(rounds, at_least), (times, heard_at_least)] = if lessons.len() < FEW { SCHEDULE_OF_FEW } else { SCHEDULE };
    RoleModel {
        mention: Weights::train(&mention, labels.len(), Choice::One, rounds, at_least),
        act: Weights::train(&act, acts.len(), Choice::Any, rounds, at_least),
        network: Network::train(&kind, kinds.len(), times, heard_at_least, progress),
        trust: Trust::default(),
        labels,
        acts,
        kinds,
    }
}

impl Embedded {
    /// What the readings of an utterance and their acts look like, and whether they are right.
    fn testify(&self, u: &Utterance, out: &mut Rows) {
        let rows = self.read_twice(&u.text, &u.context, |chart, candidates, voice| {
            let also = |word: &str| u.also.iter().any(|a| a.args.is_empty() && &*a.name == word);
            let meant: Vec<Atom> = u.gold.iter().chain(&u.asks).cloned().collect();
            let mut rows = (vec![], vec![]);
            for of in candidates {
                let evidence = Evidence::new(of, candidates, voice, chart);
                let read = &of.heard.predicates;
                let listed = u.also.iter().any(|a| !a.args.is_empty() && same(read, std::slice::from_ref(a)));
                let right = same(read, &meant) || same(read, &u.gold) || listed;
                rows.0.push((evidence.reading(), if right { vec![0] } else { vec![] }, 1.0));
                for (i, act) in read.iter().enumerate() {
                    let clause = self.clause(act, chart, of.heard.words.get(i).map_or(&[], |w| w), &u.context, &of.heard);
                    let done = u.gold.contains(act) || u.also.contains(act) || u.asks.contains(act) && (also("do") || also("either"));
                    let asked = u.asks.contains(act);
                    let classes = [(0, done), (1, asked)].into_iter().filter(|c| c.1).map(|c| c.0).collect();
                    rows.1.push((evidence.act(act, clause, self.is_strange(act)), classes, 1.0));
                }
            }
            rows
        });
        if let Some(rows) = rows {
            let of_role = out.entry(u.context.role.clone()).or_default();
            of_role.0.extend(rows.0);
            of_role.1.extend(rows.1);
        }
    }
}

/// A number for what a model depends on: it changes with any of the texts.
pub fn fingerprint<'t>(texts: impl Iterator<Item = &'t str>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in texts.flat_map(|t| t.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}
