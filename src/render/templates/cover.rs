//! Which actions templates have words for, in every case or in some, and which of their rules can never be taken.

use super::{Rule, Templates};
use crate::diag::Diagnostic;
use crate::ontology::{Arg, Ontology};
use crate::term::{Pattern, Term};

fn as_pattern(arg: &Arg) -> Pattern {
    match arg {
        Arg::Sort(_) => Pattern::Any,
        Arg::Literal(t) => Pattern::Literal(t.clone()),
        Arg::Fun(n, args) => Pattern::Fun(n.clone(), args.iter().map(as_pattern).collect()),
    }
}

/// Rules that can never be taken, because a rule above them takes every action that they would.
pub fn shadowed(templates: &Templates) -> Vec<Diagnostic> {
    let mut out = vec![];
    for (i, rule) in templates.rules.iter().enumerate() {
        let takes_all = |above: &Rule| {
            let unconditional = above.with.is_empty() && above.without.is_empty() && (above.roles.is_empty() || above.roles == rule.roles);
            let inputs = above.inputs.is_empty() || (!rule.inputs.is_empty() && rule.inputs.iter().all(|q| above.inputs.iter().any(|p| p.covers(q))));
            unconditional && inputs && rule.actions.iter().all(|q| above.actions.iter().any(|p| p.covers(q)))
        };
        if let Some(above) = templates.rules.iter().take(i).find(|r| takes_all(r)) {
            let d = Diagnostic::warning("T010", rule.origin.clone(), "this rule is never taken");
            out.push(d.help(format!("the rule at line {} takes every such action; put the special case above it", above.origin.line)));
        }
    }
    out
}

/// Whether a rule that is no fallback has words for an action of this form.
pub fn own_words(templates: &Templates, action: &Pattern) -> bool {
    templates.rules.iter().filter(|r| !r.fallback).any(|r| r.actions.iter().any(|p| p.meets(action)))
}

/// Action forms without a template that holds in every case.
pub fn uncovered(templates: &Templates, ontology: &Ontology) -> Vec<Diagnostic> {
    let mut out = vec![];
    for form in &ontology.actions {
        let wanted = match form.args.as_slice() {
            [] => Pattern::Literal(Term::Const(form.name.clone())),
            args => Pattern::Fun(form.name.clone(), args.iter().map(as_pattern).collect()),
        };
        let roles = |r: &Rule| r.roles.is_empty() || ontology.roles.keys().all(|k| r.roles.contains(k));
        let always = |r: &&Rule| r.inputs.is_empty() && r.with.is_empty() && r.without.is_empty() && roles(r);
        if !templates.rules.iter().filter(always).any(|r| r.actions.iter().any(|p| p.covers(&wanted))) {
            let near = templates.rules.iter().find(|r| r.actions.iter().any(|p| p.meets(&wanted)));
            let help = match near {
                Some(r) => format!("the rule at {} covers only some cases; add one for the rest", r.origin),
                None => format!("add a rule `action: {form}` to the templates"),
            };
            out.push(Diagnostic::warning("T009", form.origin.clone(), format!("the action `{form}` has no template for every case")).help(help));
        }
    }
    out
}
