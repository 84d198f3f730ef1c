//! `verify`: the rules of a domain checked over all short conversations, and counterexamples as dialogue files.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::diag::{Diagnostic, Source};
use crate::domain::{Domain, signature};
use crate::ontology::Scope;
use crate::reason::verify::{Goal, Model, Report, Speaker, Violation, verify};
use crate::reason::{Base, ReasonError, Rules};
use crate::term::{Atom, Name};

/// Why a domain could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// `kb/<domain>/verify.yaml` is missing or wrong.
    #[error("`{file}`: {message}")]
    Universe {
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// The properties cannot be read.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Properties(Vec<Diagnostic>),
    /// A decision failed.
    #[error(transparent)]
    Reason(#[from] ReasonError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Universe {
    depth: usize,
    roles: BTreeMap<String, Vec<Vec<Atom>>>,
    #[serde(default)]
    reachable: Vec<Reachable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reachable {
    name: String,
    role: String,
    from: String,
    by: Vec<Vec<Atom>>,
    goal: Atom,
    within: usize,
}

/// Checks a domain; `depth` overrides its own.
pub fn domain(domain: &Domain, depth: Option<usize>, time: Duration) -> Result<Report, VerifyError> {
    let name = &domain.ontology.domain;
    let file = format!("kb/{name}/verify.yaml");
    let wrong = |message: String| VerifyError::Universe { file: file.clone(), message };
    let text = domain.files.read(&file).ok_or_else(|| wrong("there is no such file".into()))?;
    let universe: Universe = serde_saphyr::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let mut speakers = Vec::new();
    for (role, turns) in &universe.roles {
        let rules = domain.rules.get(role.as_str()).ok_or_else(|| wrong(format!("`{role}` is no role")))?;
        let base = Base::build(rules, &domain.facts, &[])?;
        speakers.push(Speaker { role: role.as_str().into(), base, turns: turns.clone() });
    }
    let mut goals = Vec::new();
    for r in universe.reachable {
        let (from, arity) =
            r.from.split_once('/').and_then(|(n, a)| Some((n, a.parse().ok()?))).ok_or_else(|| wrong(format!("`{}` is no name/arity", r.from)))?;
        goals.push(Goal { name: r.name, role: r.role.as_str().into(), from: (from.into(), arity), by: r.by, reached: r.goal, within: r.within });
    }
    let may_change = |role: &str, scope: &str, fact: &Atom| {
        let scope = if scope == "kb" { Scope::Kb } else { Scope::Shared };
        domain.ontology.may_change(role, scope, &fact.name, fact.args.len())
    };
    let model =
        Model { speakers, properties: properties(domain)?, may_change: &may_change, goals, depth: depth.unwrap_or(universe.depth), time, confirm_every: 500 };
    Ok(verify(&model)?)
}

/// The domain's own properties: `rules/<domain>/invariants.lp`.
fn properties(domain: &Domain) -> Result<Option<Base>, VerifyError> {
    let path = |n: &str| format!("rules/{}/{n}", domain.ontology.domain);
    let Some(text) = domain.files.read(&path("invariants.lp")) else { return Ok(None) };
    let mut sources = vec![Source::new(&path("invariants.lp"), &text)];
    sources.extend(domain.files.read(&path("shared.lp")).map(|t| Source::new(&path("shared.lp"), &t)));
    let mut signature = signature(&domain.ontology);
    for (name, arity) in [("before", 1), ("act", 3), ("effect", 3), ("view", 2), ("view", 3), ("view", 4), ("changed", 2)] {
        signature.turn.push((Name::from(name), arity));
    }
    let rules = Rules::load(&sources, &signature).map_err(VerifyError::Properties)?;
    Ok(Some(Base::build(&std::sync::Arc::new(rules), &domain.facts, &[])?))
}

/// A counterexample as a dialogue file, which `duologue test` runs.
pub fn dialogue(domain: &str, violations: &[Violation]) -> String {
    let mut out = format!("# Conversations that break a property of {domain}, found by `duologue verify`.\n");
    let quoted = |t: &str| serde_json::to_string(t).unwrap_or_default();
    for (n, v) in violations.iter().enumerate() {
        out.push_str(&format!("- id: V{:02}\n  title: {}\n  steps:\n", n + 1, quoted(&format!("{}: {}", v.property, v.detail))));
        for (role, said) in &v.turns {
            out.push_str(&format!("  - who: {role}\n    parsed:\n"));
            for p in said {
                out.push_str(&format!("    - {}\n", quoted(&p.to_string())));
            }
        }
    }
    out
}

/// The findings in words.
pub fn text(report: &Report) -> String {
    let mut out = format!(
        "{} states, {} turns taken, all conversations up to {} turns; {} turns confirmed by clingo\n",
        report.states, report.steps, report.depth, report.confirmed
    );
    for v in &report.violations {
        out.push_str(&format!("violated: {} ({})\n", v.property, v.detail));
        for (role, said) in &v.turns {
            out.push_str(&format!("  {role}: {}\n", said.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
        }
    }
    if report.violations.is_empty() {
        out.push_str("no violation\n");
    }
    if !report.never_fired.is_empty() {
        out.push_str(&format!("{} rules derived nothing in these conversations\n", report.never_fired.len()));
    }
    out
}
