//! Benchmarks over a domain's own calls: `kb/<domain>/bench.yaml` at several sizes of the knowledge base.

use serde::{Deserialize, Serialize};

use crate::domain::Domain;
use crate::reason::bench::{Case, Engine, Row, after_turns, run, scaled};
use crate::reason::{Base, ReasonError};
use crate::term::Atom;

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
            sizes: vec![0, 10_000, 100_000],
            engines: vec![Engine::Fast, Engine::Confirm, Engine::Clingo, Engine::Whole, Engine::Proofs],
            rounds: 20,
            only: None,
        }
    }
}

/// A benchmark's figures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The domain.
    pub domain: String,
    /// One row for each case, size and engine.
    pub rows: Vec<Row>,
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
    turns: Vec<Vec<Atom>>,
}

/// Measures the calls of a domain.
pub fn reason(domain: &Domain, options: &Options) -> Result<Report, BenchError> {
    let file = format!("kb/{}/bench.yaml", domain.ontology.domain);
    let wrong = |message: String| BenchError::Cases { file: file.clone(), message };
    let text = domain.files.read(&file).ok_or_else(|| wrong("there is no such file".into()))?;
    let calls: Vec<Call> = serde_saphyr::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let mut cases = Vec::new();
    for size in &options.sizes {
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
            let (base, facts) = after_turns(&base, &call.role, &call.turns)?;
            cases.push(Case { name: call.name.clone(), kb_facts: kb.len(), base, facts });
        }
    }
    let rows = run(&cases, &options.engines, options.rounds)?;
    Ok(Report { domain: domain.ontology.domain.to_string(), rows })
}

impl Report {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut out = format!("{:<24} {:>8} {:>6} {:>8} {:>6} {:>12} {:>12}\n", "case", "kb facts", "facts", "engine", "n", "p50 µs", "p99 µs");
        for r in &self.rows {
            let engine = format!("{:?}", r.engine).to_lowercase();
            out.push_str(&format!("{:<24} {:>8} {:>6} {:>8} {:>6} {:>12.1} {:>12.1}\n", r.case, r.kb_facts, r.turn_facts, engine, r.n, r.p50_us, r.p99_us));
        }
        out
    }
}
