//! Benchmarks over a domain's own calls: `kb/<domain>/bench.yaml` at several sizes of the knowledge base.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::dialogues::{Dialogue, fresh};
use super::said::{self, Turns as Places};
use crate::diag::{Diagnostic, Source, yaml};
use crate::domain::Domain;
use crate::facts::{MemoryStore, SessionKey};
use crate::ontology::Ontology;
use crate::reason::bench::{Case, Engine, Row, Turns, after_turns, of_turns, run, scaled};
use crate::reason::{Base, ReasonError, Reasoner};
use crate::turn::Said;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sizes of the knowledge base, in facts; 0 is the domain's own.
    pub sizes: Vec<usize>,
    /// The engines.
    pub engines: Vec<Engine>,
    /// Rounds.
    pub rounds: usize,
    /// Only cases whose name contains this.
    pub only: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sizes: vec![0, 10_000],
            engines: vec![Engine::Fast, Engine::Check, Engine::Confirm, Engine::Clingo, Engine::Whole, Engine::Proofs],
            rounds: 10,
            only: None,
        }
    }
}

/// A benchmark's figures.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport {
    /// The domain.
    pub domain: String,
    /// One row for each case, size and engine.
    pub rows: Vec<Row>,
    /// The turns of dialogues, if some were given.
    pub turns: Option<Turns>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The domain has no benchmark, or a wrong one.
    #[error("`{file}`: {message}")]
    Cases {
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// A decision failed.
    #[error(transparent)]
    Reason(#[from] ReasonError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    role: String,
    turns: Places,
}

/// What is wrong with a benchmark before anybody runs it: its form, and what its roles cannot say.
pub fn faults(source: &Source, ontology: &Ontology) -> Vec<Diagnostic> {
    match yaml::read::<Vec<Call>>(source, "D005") {
        Err(d) => vec![d],
        Ok(calls) => calls.iter().flat_map(|c| said::check(source, ontology, &c.role, &c.turns)).collect(),
    }
}

/// Measures the calls of a domain.
pub fn reason(domain: &Domain, options: &Options, progress: &mut dyn FnMut(&str)) -> Result<BenchReport, BenchError> {
    let file = format!("kb/{}/bench.yaml", domain.ontology.domain);
    let wrong = |message: String| BenchError::Cases { file: file.clone(), message };
    let text = domain.files.read(&file).ok_or_else(|| wrong("there is no such file".into()))?;
    let calls: Vec<Call> = serde_saphyr::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let mut cases = Vec::new();
    for size in &options.sizes {
        progress(&format!("a knowledge base of {size} facts"));
        let kb = scaled(&domain.facts, *size);
        let mut bases = std::collections::BTreeMap::new();
        for call in calls.iter().filter(|c| options.only.as_ref().is_none_or(|o| c.name.contains(o.as_str()))) {
            let base = match bases.get(&call.role) {
                Some(b) => Base::clone(b),
                None => {
                    let rules = domain.rules.get(call.role.as_str()).ok_or_else(|| wrong(format!("`{}` is no role", call.role)))?;
                    let base = Base::build(rules, &kb, &[])?;
                    bases.insert(call.role.clone(), base.clone());
                    base
                }
            };
            let turns: Vec<Vec<_>> = call.turns.iter().map(|t| t.iter().map(|a| a.value.clone()).collect()).collect();
            let (base, facts) = after_turns(&base, &call.role, &turns)?;
            cases.push(Case { name: call.name.clone(), kb_facts: kb.len(), base, facts });
        }
    }
    let rows = run(&cases, &options.engines, options.rounds, progress)?;
    Ok(BenchReport { domain: domain.ontology.domain.to_string(), rows, turns: None })
}

/// Measures the decisions of all turns of dialogues.
pub fn turns(domain: &Domain, dialogues: &[Dialogue], progress: &mut dyn FnMut(&str)) -> Result<Turns, ReasonError> {
    let mut cases = Vec::new();
    for d in dialogues {
        let options = crate::turn::Options { reasoner: Reasoner::Fast, remember: true, ..crate::turn::Options::default() };
        let engine = fresh(domain, Arc::new(MemoryStore::default()), options);
        for step in &d.steps {
            let key = SessionKey::new("bench", step.session.as_deref().unwrap_or(&step.who));
            // A turn that is refused has no decision to measure.
            if engine.turn(&key, &step.who, &Said::Predicates(&step.parsed), None).is_ok()
                && let Some(decided) = engine.decided(&key)
            {
                let (base, facts) = (decided.outcome.base().clone(), decided.outcome.facts().to_vec());
                cases.push(Case { name: d.id.clone(), kb_facts: domain.facts.len(), base, facts });
            }
        }
    }
    of_turns(&cases, progress)
}

impl BenchReport {
    /// A table for people.
    pub fn table(&self) -> String {
        let head = ["case", "kb facts", "facts", "engine", "n", "p50 µs", "p99 µs", "cold µs"];
        let mut out = format!("{:<24} {:>8} {:>6} {:>8} {:>6} {:>10} {:>10} {:>10}", head[0], head[1], head[2], head[3], head[4], head[5], head[6], head[7]);
        let counted = self.rows.iter().any(|r| r.allocated.is_some());
        out.push_str(if counted { "  allocations      bytes       peak\n" } else { "\n" });
        for r in &self.rows {
            let engine = format!("{:?}", r.engine).to_lowercase();
            out.push_str(&format!(
                "{:<24} {:>8} {:>6} {:>8} {:>6} {:>10.1} {:>10.1} {:>10.1}",
                r.case, r.kb_facts, r.turn_facts, engine, r.n, r.p50_us, r.p99_us, r.cold_us
            ));
            if let Some(a) = r.allocated {
                out.push_str(&format!("  {:>11} {:>10} {:>10}", a.allocations, a.allocated_bytes, a.peak_bytes));
            }
            out.push('\n');
        }
        if let Some(t) = &self.turns {
            out.push_str(&format!("\nturns of the dialogues: {}\n{:<10} {:>10} {:>10} {:>10}\n", t.turns, "engine", "p50 µs", "p90 µs", "most µs"));
            for (engine, p50, p90, most) in &t.engines {
                out.push_str(&format!("{:<10} {p50:>10.1} {p90:>10.1} {most:>10.1}\n", format!("{engine:?}").to_lowercase()));
            }
            for (one, other) in [(Engine::Check, Engine::Fast), (Engine::Check, Engine::Clingo), (Engine::Confirm, Engine::Clingo)] {
                if let Some((p50, p90)) = t.ratio(one, other) {
                    let names = format!("{one:?} : {other:?}").to_lowercase();
                    out.push_str(&format!("{names:<18} {p50:>6.3} at p50, {p90:.3} at p90\n"));
                }
            }
        }
        out
    }
}
