//! The report of a reasoning set: accuracy by task, support, time, and the classes of failure.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::Prediction;
use crate::eval::metrics::{Interval, percent, wilson};
use crate::llm::Usage;
use crate::reasoning::{Profile, Status};

/// How many unread forms and wrong answers are listed.
const LISTED: usize = 20;

/// What an evaluation found.
#[derive(Clone, Debug, Serialize)]
pub struct ReasonReport {
    /// The profile.
    pub set: String,
    /// All questions with a known answer.
    pub all: Score,
    /// By group.
    pub tasks: BTreeMap<String, Score>,
    /// Of all questions, the answered ones among those without a known answer too.
    pub questions: usize,
    /// Questions by how they ended.
    pub classes: BTreeMap<&'static str, usize>,
    /// Faults of given parses that were repaired, and how many questions had some.
    pub repaired: (usize, usize),
    /// The most frequent unread forms: words are kept where many sentences share them.
    pub unread: Vec<(String, usize)>,
    /// Wrong answers, with their proofs.
    pub wrong: Vec<Wrong>,
    /// Questions that the profile lists as disputed, and whether our answer is the given one.
    pub disputed: Vec<Wrong>,
    /// Milliseconds a question: the middle and the hundredth slowest.
    pub p50_ms: f64,
    /// See `p50_ms`.
    pub p99_ms: f64,
    /// Seconds altogether.
    pub seconds: f64,
    /// How many questions every engine decided, with every proof checked.
    pub audited: usize,
    /// What differed there.
    pub differences: Vec<String>,
    /// What a model that parsed used.
    pub used: Option<Usage>,
}

/// Right answers among questions.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Score {
    /// Questions.
    pub n: usize,
    /// Answered ones.
    pub answered: usize,
    /// Right ones.
    pub right: usize,
    /// Right among all, in percent.
    pub accuracy: f64,
    /// Its 95 % interval (Wilson).
    pub interval: Interval,
    /// Right among the answered, in percent.
    pub of_answered: f64,
    /// Told lines that right proofs name, found among all of them, in percent; nothing if the data names none.
    pub support_recall: Option<f64>,
    #[serde(skip)]
    lines: (usize, usize),
}

/// A question whose answer is not the given one.
#[derive(Clone, Debug, Serialize)]
pub struct Wrong {
    /// The item.
    pub id: String,
    /// The question.
    pub n: u32,
    /// What the data gives.
    pub expected: String,
    /// What was answered.
    pub answer: Option<String>,
    /// Why.
    pub proof: Vec<String>,
    /// Why it is disputed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Score {
    fn count(&mut self, p: &Prediction) {
        let Some((expected, support)) = &p.expected else { return };
        self.n += 1;
        self.answered += usize::from(p.status == Status::Answered);
        self.right += usize::from(p.answer.as_ref() == Some(expected));
        self.lines.0 += support.iter().filter(|l| p.support.contains(l)).count();
        self.lines.1 += support.len();
    }

    fn finish(&mut self) {
        self.accuracy = percent(self.right, self.n);
        self.interval = wilson(self.right, self.n);
        self.of_answered = percent(self.right, self.answered);
        self.support_recall = (self.lines.1 > 0).then(|| percent(self.lines.0, self.lines.1));
    }
}

impl ReasonReport {
    /// Scores predictions.
    pub fn of(set: &str, profile: &Profile, predictions: &[Prediction], took: Duration) -> Self {
        let (mut all, mut tasks) = (Score::default(), BTreeMap::<String, Score>::new());
        let mut classes: BTreeMap<&'static str, usize> = BTreeMap::new();
        let mut unread: BTreeMap<String, usize> = BTreeMap::new();
        let (mut wrong, mut disputed) = (vec![], vec![]);
        for p in predictions {
            all.count(p);
            tasks.entry(p.task.clone()).or_default().count(p);
            let known = p.expected.as_ref().map(|(a, _)| a);
            let class = match p.status {
                Status::Answered if known.is_none() => "not counted",
                Status::Answered if p.answer.as_ref() == known => "right",
                Status::Answered => "wrong",
                Status::Unread => "unread",
                Status::Undecided => "undecided",
                Status::OverBudget => "over budget",
            };
            *classes.entry(class).or_default() += 1;
            p.unread.iter().for_each(|u| *unread.entry(form(u)).or_default() += 1);
            let item = |reason: Option<String>| Wrong {
                id: p.id.clone(),
                n: p.n,
                expected: known.cloned().unwrap_or_default(),
                answer: p.answer.clone(),
                proof: p.proof.clone(),
                reason,
            };
            if let Some(d) = profile.disputed.iter().find(|d| d.id == p.id && d.n.is_none_or(|n| n == p.n)) {
                disputed.push(item(Some(d.reason.clone())));
            } else if class == "wrong" {
                wrong.push(item(None));
            }
        }
        all.finish();
        tasks.values_mut().for_each(Score::finish);
        let mut unread: Vec<(String, usize)> = unread.into_iter().collect();
        unread.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        unread.truncate(LISTED);
        let mut times: Vec<f64> = predictions.iter().map(|p| p.time.as_secs_f64() * 1000.0).collect();
        times.sort_by(f64::total_cmp);
        let at = |share: usize| times.get(times.len().saturating_sub(1) * share / 100).copied().unwrap_or_default();
        let repaired = (predictions.iter().map(|p| p.repaired).sum(), predictions.iter().filter(|p| p.repaired > 0).count());
        let audited = predictions.iter().filter(|p| p.audited.is_some()).count();
        let differs = |p: &Prediction| p.audited.as_ref()?.as_ref().err().map(|why| format!("{} {}: {why}", p.id, p.n));
        let differences = predictions.iter().filter_map(differs).collect();
        let set = set.to_owned();
        let (p50_ms, p99_ms, seconds) = (at(50), at(99), took.as_secs_f64());
        Self {
            set,
            all,
            tasks,
            questions: predictions.len(),
            classes,
            repaired,
            unread,
            wrong,
            disputed,
            p50_ms,
            p99_ms,
            seconds,
            audited,
            differences,
            used: None,
        }
    }
}

/// An unread sentence as a form: what is a name or a number in it is left open.
fn form(words: &str) -> String {
    let open = |(n, w): (usize, &str)| {
        let plain = w.trim_matches(|c: char| !c.is_alphanumeric());
        let name = n > 0 && plain.starts_with(char::is_uppercase) || plain.starts_with(|c: char| c.is_ascii_digit());
        if name { w.replace(plain, "…") } else { w.to_owned() }
    };
    words.split_whitespace().enumerate().map(open).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for ReasonReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20} {:>6} {:>9} {:>17} {:>9} {:>9} {:>8}", self.set, "n", "accuracy", "95 % interval", "answered", "of these", "support")?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, s: &Score| {
            let interval = format!("{:.1} to {:.1}", s.interval.low, s.interval.high);
            let support = s.support_recall.map_or_else(|| "-".to_owned(), |r| format!("{r:.1}"));
            writeln!(f, "{name:<20} {:>6} {:>9.2} {interval:>17} {:>9.1} {:>9.2} {support:>8}", s.n, s.accuracy, percent(s.answered, s.n), s.of_answered)
        };
        for (name, s) in &self.tasks {
            row(f, name, s)?;
        }
        row(f, "all", &self.all)?;
        let classes: Vec<String> = self.classes.iter().map(|(c, n)| format!("{n} {c}")).collect();
        writeln!(f, "\n{} questions: {}", self.questions, classes.join(", "))?;
        if self.repaired.0 > 0 {
            writeln!(f, "{} faults of given parses repaired, in {} questions", self.repaired.0, self.repaired.1)?;
        }
        writeln!(f, "a question: p50 {:.2} ms, p99 {:.2} ms; {:.1} s altogether", self.p50_ms, self.p99_ms, self.seconds)?;
        if self.audited > 0 {
            writeln!(f, "{} questions decided by every engine with every proof checked: {} differences", self.audited, self.differences.len())?;
            self.differences.iter().take(LISTED).try_for_each(|d| writeln!(f, "  {d}"))?;
        }
        if let Some(used) = &self.used {
            writeln!(f, "the model: {used}")?;
        }
        if !self.unread.is_empty() {
            writeln!(f, "\nunread, most frequent first:")?;
            self.unread.iter().try_for_each(|(u, n)| writeln!(f, "{n:>6}  {u}"))?;
        }
        for (title, list) in [("wrong", &self.wrong), ("disputed", &self.disputed)] {
            if !list.is_empty() {
                writeln!(f, "\n{title}:")?;
            }
            for w in list.iter().take(LISTED) {
                let answer = w.answer.as_deref().unwrap_or("nothing");
                let reason = w.reason.as_ref().map_or_else(String::new, |r| format!(" ({r})"));
                writeln!(f, "  {} {}: answered {answer}, given is {}{reason}", w.id, w.n, w.expected)?;
                w.proof.iter().try_for_each(|p| writeln!(f, "      {p}"))?;
            }
            if list.len() > LISTED {
                writeln!(f, "  and {} more", list.len() - LISTED)?;
            }
        }
        Ok(())
    }
}
