//! Lines that are answered side by side: which may begin, which may be decided, and in which order the answers are written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::turn::Gate;

/// How many lines are under way at once; they wait for models and functions, they do not compute.
const MOST: usize = 64;

/// The lines under way.
#[derive(Default)]
pub struct Lines {
    inner: Mutex<Inner>,
    moved: Condvar,
}

#[derive(Default)]
struct Inner {
    /// Numbers of the lines read and of those answered on standard output.
    read: u64,
    written: u64,
    /// Lines of a site that are not decided.
    undecided: BTreeMap<String, BTreeSet<u64>>,
    /// Lines of a session that are not answered.
    unanswered: BTreeMap<(String, String), BTreeSet<u64>>,
    /// Answers that wait for those before them.
    answers: BTreeMap<u64, String>,
    broken: Option<std::io::Error>,
}

/// A line's place among the others.
pub struct Place<'a> {
    lines: &'a Lines,
    number: u64,
    site: String,
    session: (String, String),
}

impl Lines {
    /// The next line's place, once fewer than the most are under way.
    pub fn next(&self, site: &str, session: &str) -> Place<'_> {
        let mut inner = self.wait(|i| i.read - i.written < MOST as u64);
        inner.read += 1;
        let number = inner.read;
        let session = (site.to_owned(), session.to_owned());
        inner.undecided.entry(site.to_owned()).or_default().insert(number);
        inner.unanswered.entry(session.clone()).or_default().insert(number);
        Place { lines: self, number, site: site.to_owned(), session }
    }

    /// Why nothing more can be written, if so.
    pub fn broken(&self) -> Option<std::io::Error> {
        self.lock().broken.take()
    }

    /// Whether nothing more can be written.
    pub fn is_broken(&self) -> bool {
        self.lock().broken.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, ready: impl Fn(&Inner) -> bool) -> MutexGuard<'_, Inner> {
        let mut inner = self.lock();
        while !ready(&inner) {
            inner = self.moved.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner
    }
}

impl Place<'_> {
    /// Waits until the session's line before is answered.
    pub fn begin(&self) {
        drop(self.lines.wait(|i| i.unanswered.get(&self.session).and_then(BTreeSet::first) == Some(&self.number)));
    }

    /// Answers the line; written as soon as all before it are.
    pub fn answer(&self, answer: String) {
        self.leave();
        let mut inner = self.lines.lock();
        if let Some(lines) = inner.unanswered.get_mut(&self.session) {
            lines.remove(&self.number);
            if lines.is_empty() {
                inner.unanswered.remove(&self.session);
            }
        }
        inner.answers.insert(self.number, answer);
        let mut output = std::io::stdout().lock();
        while let Some(answer) = Some(inner.written + 1).and_then(|n| inner.answers.remove(&n)) {
            inner.written += 1;
            if let Err(e) = writeln!(output, "{answer}").and_then(|()| output.flush()) {
                inner.broken.get_or_insert(e);
            }
        }
        drop(inner);
        self.lines.moved.notify_all();
    }
}

impl Gate for Place<'_> {
    fn enter(&self) {
        drop(self.lines.wait(|i| i.undecided.get(&self.site).and_then(BTreeSet::first) == Some(&self.number)));
    }

    fn leave(&self) {
        let mut inner = self.lines.lock();
        if let Some(lines) = inner.undecided.get_mut(&self.site) {
            lines.remove(&self.number);
            if lines.is_empty() {
                inner.undecided.remove(&self.site);
            }
        }
        drop(inner);
        self.lines.moved.notify_all();
    }
}
