//! Reasoning sets: items with questions, read from text or given parses, answered by a profile's rules, and scored.

mod parses;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::domain::Files;
use crate::llm::BlockingModel;
use crate::reason::{Budget, Reasoner};
use crate::reasoning::given::{self, Read};
use crate::reasoning::notation::Notation;
use crate::reasoning::profile::Unread;
use crate::reasoning::told::Reading;
use crate::reasoning::{Answer, Engine, Question, Status, Theory, english};
use crate::term::Atom;

use parses::Translator;
pub use report::ReasonReport;

/// What is evaluated.
#[derive(Clone, Debug)]
pub struct Args {
    /// The profile.
    pub set: String,
    /// Items, one a line.
    pub data: Vec<PathBuf>,
    /// Where what they tell and ask is read from.
    pub parses: Parses,
    /// Where predictions are written.
    pub predictions: Option<PathBuf>,
    /// Which engines decide.
    pub reasoner: Reasoner,
    /// How many questions, spread over all of them, are decided by every engine, with every proof checked.
    pub audit: usize,
    /// Threads.
    pub jobs: usize,
    /// The profile's files.
    pub files: Files,
}

/// Where what items tell and ask is read from.
#[derive(Clone, Debug)]
pub enum Parses {
    /// Their text.
    Text,
    /// Formal text that was written for them.
    Given(PathBuf),
    /// A model, asked so many times for each question.
    Model(BlockingModel, usize),
}

/// An item of a set.
#[derive(Clone, Debug, Deserialize)]
pub struct Item {
    /// Unique in the file.
    pub id: String,
    /// The group that is reported by itself.
    pub task: String,
    /// What is told, by line.
    #[serde(default)]
    pub text: Vec<String>,
    /// What is given as atoms.
    #[serde(default)]
    pub facts: Vec<String>,
    /// What is asked.
    pub questions: Vec<Asked>,
}

/// A question of an item.
#[derive(Clone, Debug, Deserialize)]
pub struct Asked {
    /// Its number, from 1.
    pub n: u32,
    /// Its words.
    pub ask: String,
    /// `A) …`
    #[serde(default)]
    pub options: Vec<String>,
    /// It is asked when so many lines have been told.
    pub after: Option<usize>,
    /// What is right, if that is known.
    pub answer: Option<String>,
    /// Lines that every right proof names.
    #[serde(default)]
    pub support: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
struct Given {
    id: String,
    n: u32,
    #[serde(default)]
    program: String,
    #[serde(default)]
    premises: Vec<String>,
    #[serde(default)]
    conclusion: String,
}

/// What was answered to one question: a line of the predictions, and what the report needs beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// The item.
    pub id: String,
    /// The question.
    pub n: u32,
    /// The group.
    pub task: String,
    /// The answer; none unless the status is `answered`.
    pub answer: Option<String>,
    /// How it ended.
    pub status: Status,
    /// The told lines that the proof names.
    pub support: Vec<usize>,
    /// The proof, or what is wrong.
    pub proof: Vec<String>,
    /// What was made of the text.
    pub read: Vec<String>,
    #[serde(skip)]
    expected: Option<(String, Vec<usize>)>,
    #[serde(skip)]
    audited: Option<Result<(), String>>,
    #[serde(skip)]
    repaired: usize,
    #[serde(skip)]
    unread: Vec<String>,
    #[serde(skip)]
    time: Duration,
}

/// Why nothing was evaluated.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(String, String),
    /// The profile is not in order.
    #[error("the profile `{0}` cannot be used:\n{1}")]
    Profile(String, String),
    /// A model is to write in no notation.
    #[error("the profile `{0}` says no notation for a model: list one under `parses` (docs/reasoning.md)")]
    Notation(String),
}

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, Failed> {
    let at = |e: &dyn std::fmt::Display| Failed::File(path.display().to_string(), e.to_string());
    let text = std::fs::read_to_string(path).map_err(|e| at(&e))?;
    let read = |(n, l): (usize, &str)| serde_json::from_str(l).map_err(|e| at(&format!("line {}: {e}", n + 1)));
    text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).map(read).collect()
}

/// Evaluates a set.
pub fn run(args: &Args) -> Result<ReasonReport, Failed> {
    let wrong = |found: Vec<crate::diag::Diagnostic>| {
        let all: Vec<String> =
            found.iter().map(|d| format!("{}: {}{}", d.origin, d.message, d.help.as_ref().map_or_else(String::new, |h| format!(" ({h})")))).collect();
        Failed::Profile(args.set.clone(), all.join("\n"))
    };
    let engine = Engine::load(&args.files, &args.set).map_err(wrong)?;
    let mut items: Vec<Item> = vec![];
    for path in &args.data {
        items.extend(lines(path)?);
    }
    let reader = || english::Reader::load(&args.files, &engine.profile).map_err(wrong);
    let source = match &args.parses {
        Parses::Text => Source::Text(reader()?),
        Parses::Given(path) => Source::Given(lines::<Given>(path)?.into_iter().map(|g| ((g.id.clone(), g.n), g)).collect(), reader()?),
        Parses::Model(model, votes) => {
            let name = engine.profile.parses.as_ref().ok_or_else(|| Failed::Notation(args.set.clone()))?;
            let notation = Notation::load(&args.files, name).map_err(|e| wrong(vec![e]))?;
            Source::Model(Translator { model: model.clone(), notation, votes: *votes })
        }
    };
    let mut all = 0;
    let mut before = vec![];
    for i in &items {
        before.push(all);
        all += i.questions.len();
    }
    let audited = |n: usize| n * args.audit / all.max(1) != (n + 1) * args.audit / all.max(1);
    let began = Instant::now();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                while let Some((at, item)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?))) {
                    let before = before.get(at).copied().unwrap_or_default();
                    let found = answered(&engine, &source, item, args.reasoner, &|n| audited(before + n));
                    if let Ok(mut done) = done.lock() {
                        done.push((at, found));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    let predictions: Vec<Prediction> = done.into_iter().flat_map(|(_, p)| p).collect();
    if let Some(path) = &args.predictions {
        let text: String = predictions.iter().filter_map(|p| serde_json::to_string(p).ok()).map(|l| l + "\n").collect();
        std::fs::write(path, text).map_err(|e| Failed::File(path.display().to_string(), e.to_string()))?;
    }
    let used = if let Source::Model(t) = &source { Some(t.used()) } else { None };
    Ok(ReasonReport { used, ..ReasonReport::of(&args.set, &engine.profile, &predictions, began.elapsed()) })
}

/// Where what items tell and ask comes from, ready.
enum Source {
    Text(english::Reader),
    Given(BTreeMap<(String, u32), Given>, english::Reader),
    Model(Translator),
}

fn answered(engine: &Engine, source: &Source, item: &Item, how: Reasoner, audited: &dyn Fn(usize) -> bool) -> Vec<Prediction> {
    let began = Instant::now();
    let reader = if let Source::Text(reader) = source { Some(reader) } else { None };
    let mut whole = reader.map_or_else(Theory::default, |r| r.tell(&item.text));
    // Reading the story is shared among its questions.
    let reading = began.elapsed() / u32::try_from(item.questions.len().max(1)).unwrap_or(1);
    whole.given = item.facts.iter().filter_map(|f| Atom::parse(f).ok()).collect();
    item.questions
        .iter()
        .enumerate()
        .map(|(n, q)| {
            let began = Instant::now();
            let readings: Vec<Result<Read, String>> = match source {
                Source::Text(reader) => {
                    // What later lines correct or take back is still so.
                    let so_far = q.after.and_then(|a| item.text.get(..a)).map(|lines| Theory { given: whole.given.clone(), ..reader.tell(lines) });
                    let theory = so_far.unwrap_or_else(|| whole.clone());
                    let asked = reader.asks(&theory, &q.ask, &q.options).into_iter();
                    asked.map(|question| Ok(Read { theory: theory.clone(), question: Some(question), ..Read::default() })).collect()
                }
                Source::Given(all, reader) => vec![match all.get(&(item.id.clone(), q.n)) {
                    Some(g) if g.program.is_empty() => Ok(given::formulas(&g.premises, &g.conclusion)),
                    Some(g) => Ok(given::program_with_words(&g.program, Some(reader))),
                    None => Err("no parse is given".to_owned()),
                }],
                Source::Model(translator) => translator.readings(item, q),
            };
            let found = readings.into_iter().map(|read| match read {
                Ok(mut read) => {
                    if let Some(asked) = &mut read.question {
                        asked.text.clone_from(&q.ask);
                    }
                    let answer = answer(engine, reader, &read, &q.options, how);
                    (read, answer)
                }
                Err(why) => (Read::default(), Answer::none(Status::Unread, why)),
            });
            let (read, answer) = if reader.is_some() { parses::settled(found) } else { parses::elected(found.collect()) };
            let unread = if answer.status == Status::Unread { unread(&read) } else { vec![] };
            let time = began.elapsed() + reading;
            let question = read.question.as_ref().filter(|_| audited(n));
            Prediction {
                audited: question.and_then(|q| engine.audited(&read.theory, q, &Budget::default())),
                id: item.id.clone(),
                n: q.n,
                task: item.task.clone(),
                answer: answer.value.filter(|_| answer.status == Status::Answered),
                status: answer.status,
                support: answer.support.into_iter().filter(|l| *l > 0).collect(),
                proof: answer.proof,
                read: read.theory.told.iter().map(|t| t.reading.to_string()).chain(read.question.iter().map(Question::read)).collect(),
                expected: q.answer.clone().map(|a| (a, q.support.clone())),
                repaired: read.repaired,
                unread,
                time,
            }
        })
        .collect()
}

fn answer(engine: &Engine, reader: Option<&english::Reader>, read: &Read, options: &[String], how: Reasoner) -> Answer {
    if let Some(f) = read.faults.first() {
        return Answer::none(Status::Unread, f.to_string());
    }
    let blocks = |words: &str| match (engine.profile.semantics.unread, reader, &read.question) {
        (Unread::Passes, ..) => false,
        (Unread::Related, Some(reader), Some(q)) => reader.related(words, &q.text),
        _ => true,
    };
    let told = |words: &str| format!("not understood: {words}");
    if let Some(words) = read.theory.unread().find(|w| blocks(w)) {
        return Answer::none(Status::Unread, told(words));
    }
    let unread = read.theory.unread().next().map(told);
    let Some(question) = &read.question else { return Answer::none(Status::Unread, "no question is read") };
    let mut found = engine.answer(&read.theory, question, how, &Budget::default());
    match unread {
        // What does not follow from the rest could follow from this.
        Some(why) if found.status == Status::Undecided || found.support.is_empty() => return Answer::none(Status::Unread, why),
        why => found.proof.extend(why),
    }
    // Among options, the answer is the letter of the one that says it.
    let letter = |value: &String| {
        let of = |o: &String| o.split_once(')').filter(|(l, text)| text.trim().eq_ignore_ascii_case(value) || l == value).map(|(l, _)| l.to_owned());
        options.iter().find_map(of).unwrap_or_else(|| value.clone())
    };
    Answer { value: found.value.as_ref().map(letter), ..found }
}

/// What could not be read: the words, or for formal text what is wrong.
fn unread(read: &Read) -> Vec<String> {
    let mut out: BTreeSet<String> = read.theory.told.iter().filter_map(|t| if let Reading::Unread(w) = &t.reading { Some(w.clone()) } else { None }).collect();
    if !read.faults.is_empty() {
        out = read.faults.iter().map(|f| f.message.clone()).collect();
    }
    if let Some(crate::reasoning::Goal::Unread(w)) = read.question.as_ref().map(|q| &q.goal) {
        out.insert(w.clone());
    }
    out.into_iter().collect()
}
