//! What a chat tells of its models: what each turn asked, what went wrong, how often they were needed, what they cost.

use std::collections::{BTreeMap, BTreeSet};

use crate::render::By;
use crate::turn::TurnRecord;
use crate::turn::models::{Models, Tally};
use crate::understand::{Exchange, Guess};

/// The sums of a chat, by conversation and altogether.
#[derive(Default)]
pub struct Used {
    sessions: BTreeMap<String, Tally>,
    all: Tally,
    /// The sum of the conversation that ended last.
    last: Option<Tally>,
    /// Faults that were told already: once is enough.
    told: BTreeSet<String>,
}

impl Used {
    /// Counts a turn.
    pub fn add(&mut self, record: &TurnRecord) {
        self.sessions.entry(record.session.clone()).or_default().add(record);
        self.all.add(record);
    }

    /// What the operator should know of this turn's faults, each kind once.
    pub fn warnings(&mut self, record: &TurnRecord) -> Vec<String> {
        let mut out = vec![];
        for exchange in record.models.iter().flat_map(|m| m.exchanges()) {
            // That a server which failed is left alone for a while follows from what was told before.
            let Some(fault) = exchange.fault.as_ref().filter(|f| *f != "circuit_open") else { continue };
            if self.told.insert(fault.clone()) {
                let problem = exchange.problems.last().map_or(fault.as_str(), String::as_str);
                let hint = exchange.hint.as_ref().map(|h| format!("; {h}")).unwrap_or_default();
                out.push(format!("the model `{}` was of no use, so the turn went without it: {problem}{hint}", exchange.model));
            }
        }
        out
    }

    /// The sum of a conversation that ended; it is counted afresh afterwards.
    pub fn conversation(&mut self, record: &TurnRecord) -> Option<String> {
        let tally = self.sessions.remove(&record.session)?;
        self.last = Some(tally);
        (!tally.is_empty()).then(|| format!("in this conversation {tally}"))
    }

    /// The sum of everything so far, if there is any.
    pub fn so_far(&self) -> Option<String> {
        (!self.all.is_empty()).then(|| format!("so far {}", self.all))
    }

    /// The last words of a chat.
    pub fn finish(&self, json: bool) {
        if self.all.is_empty() {
            return;
        }
        if json {
            // One line more, so that a script has the sums too.
            println!("{}", serde_json::json!({ "models": self.all }));
        } else if self.last != Some(self.all) {
            println!("(altogether {})", self.all);
        }
    }
}

/// What a turn asked of its models, line by line, for `/trace`.
pub fn lines(models: &Models) -> Vec<String> {
    let mut out = vec![];
    if let Some(sources) = &models.understanding {
        let guess = |g: &Guess| format!("{} ({:.2})", g.predicates.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), g.confidence);
        out.extend(sources.embedded.as_ref().map(|g| format!("embedded {}", guess(g))));
        match (&sources.model, &sources.exchange) {
            (_, None) => out.push("model    not needed".to_owned()),
            (Some(g), Some(e)) => out.push(format!("model    {}; {}", guess(g), exchange(e))),
            (None, Some(e)) => out.push(format!("model    nothing usable; {}", exchange(e))),
        }
    }
    if let Some(worded) = &models.wording {
        let by = match worded.by {
            By::Model => "the model",
            By::Retry => "the model, at its second try",
            By::Template => "the template",
            By::Bank => "the bank",
            By::Mixed => "the model, the rest by the template",
        };
        let held = worded.bank.map(|h| format!("; the bank held {} of {} sentences", h.sentences, h.of)).unwrap_or_default();
        let used = worded.exchange.as_ref().map(|e| format!("; {}", exchange(e))).unwrap_or_default();
        out.push(format!("worded   by {by}{used}{held}"));
        out.extend(worded.violations.iter().map(|v| format!("         not taken: {v}")));
    }
    if let Some(account) = &models.account {
        out.push(format!("used     conversation {}; site {}", account.session, account.site));
    }
    out
}

fn exchange(e: &Exchange) -> String {
    let problems: String = e.problems.iter().map(|p| format!("; {p}")).collect();
    format!("{}: {}, {} ms{problems}", e.model, e.usage, e.waited.as_millis())
}
