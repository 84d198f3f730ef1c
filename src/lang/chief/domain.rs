//! From a program to the domain that the turn takes: the vocabulary of graphs, its rules, the program's facts, and templates from its replies.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::facts::{Part, acts, facts, template};
use crate::diag::{Diagnostic, Origin, Source};
use crate::domain::{Domain, Files};
use crate::ir::graph::Flow;
use crate::ir::guard::Guard;
use crate::ir::kind::Kind;
use crate::ir::{Function, Input, Program};
use crate::ontology::{FunctionDecl, Parameter, StandIn};
use crate::term::Term;

/// The vocabulary that all graphs share.
const VOCABULARY: &str = "kb/chief/vocabulary.yaml";
/// How results say no.
const REFUSALS: &str = "kb/chief/refusals.yaml";

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Refusals {
    fields: Vec<String>,
    words: Vec<String>,
}

/// The domain of a program whose agent is a graph.
pub fn domain(program: &Program, files: &Files) -> Result<Domain, Vec<Diagnostic>> {
    let read = |name: &str| Source::new(name, &files.read(name).unwrap_or_default());
    let broken = |origin: Origin, message: String| vec![Diagnostic::error("D002", origin, message).help("name files that are there")];
    let refusals = read(REFUSALS);
    let refusals: Refusals = serde_saphyr::from_str(&refusals.text).map_err(|e| broken(refusals.origin(0..0), e.to_string()))?;
    let mut program = program.clone();
    for f in &mut program.functions {
        f.refuses = Some(refuses(f, &refusals));
    }
    let Some(flow) = program.graph() else { return Err(broken(program.origin.clone(), format!("`{}` is no graph", program.name))) };
    let found = facts(&program, flow);
    let templates = Source::new("replies", &templates(flow).to_string());
    let functions = program.functions.iter().map(|f| declare(f, &program.origin)).collect();
    let mut domain = Domain::assemble(files, &read(VOCABULARY), &templates, |ontology| {
        ontology.domain = name(&program.name).as_str().into();
        ontology.title = program.name.clone();
        ontology.functions = functions;
    })?;
    domain.begin_with(found.origins.keys().cloned().collect());
    domain.origins = Arc::new(found.origins);
    domain.guards = Arc::new(found.guards);
    domain.program = Some(Arc::new(program));
    Ok(domain)
}

/// A name as the constant of a domain.
pub(in crate::lang) fn name(text: &str) -> String {
    let plain: String = text.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let plain = plain.trim_matches('_');
    if plain.starts_with(|c: char| c.is_ascii_lowercase()) { plain.to_owned() } else { format!("flow_{plain}") }
}

fn refuses(f: &Function, usual: &Refusals) -> Guard {
    let own = match &f.refuses {
        Some(Guard::Says { words, .. }) => words.clone(),
        _ => vec![],
    };
    Guard::Says { function: f.name.clone(), fields: usual.fields.clone(), words: usual.words.iter().cloned().chain(own).collect() }
}

/// A function as the turn knows it; where nothing is connected it is taken to succeed.
pub(in crate::lang) fn declare(f: &Function, origin: &Origin) -> FunctionDecl {
    let sort = |kind: &Kind| if *kind == Kind::Boolean { "YES_NO" } else { "VALUE" };
    let input = |i: &Input| Parameter { name: i.name.clone(), sort: sort(&i.kind).into(), list: false, optional: true };
    let output = |name: &String| Parameter { name: name.clone(), sort: "VALUE".into(), list: false, optional: true };
    FunctionDecl {
        name: f.name.clone(),
        about: String::new(),
        inputs: f.inputs.iter().map(input).collect(),
        outputs: f.outputs.iter().map(output).collect(),
        roles: vec!["speaker".into()],
        idempotent: f.idempotent,
        timeout_ms: crate::ontology::functions::TIMEOUT_MS,
        retries: 0,
        stand_in: vec![StandIn { answer: json!({ "done": true }), ..StandIn::default() }],
        origin: origin.clone(),
    }
}

/// The replies as templates: one sentence an act, its fields filled by `fill(Act,Field,Value)`.
fn templates(flow: &Flow) -> serde_json::Value {
    let (mut rules, mut groups) = (vec![], vec![]);
    for (n, act) in acts(flow).into_iter().enumerate() {
        let parts = template(flow, act);
        let say = format!("say({})", Term::string(act));
        let plain = |text: &str| text.replace(['[', ']'], "").replace(['{', '}'], "");
        if parts.iter().all(|p| matches!(p, Part::Words(_))) {
            let text: String = parts.iter().map(|p| if let Part::Words(w) = p { plain(w) } else { String::new() }).collect();
            let texts: Vec<String> = Some(text).filter(|t| !t.trim().is_empty()).into_iter().collect();
            rules.push(json!({ "action": say, "say": texts }));
            continue;
        }
        let (group, mut text, mut fields) = (format!("act_{n}"), String::new(), vec![]);
        for part in parts {
            match part {
                Part::Words(w) => text.push_str(&plain(w)),
                Part::Field(f) => {
                    let list = fields.iter().position(|x| *x == f).unwrap_or_else(|| {
                        fields.push(f);
                        fields.len() - 1
                    });
                    text.push_str(&format!("{{field_{list}|and}}"));
                }
            }
        }
        rules.push(json!({ "action": say, "in": group, "item": "said", "list": "said" }));
        for (list, f) in fields.into_iter().enumerate() {
            let fill = format!("fill({},{},V)", Term::string(act), Term::string(f));
            rules.push(json!({ "action": fill, "in": group, "item": "{V}", "list": format!("field_{list}") }));
        }
        groups.push(json!({ "form": group, "say": [text] }));
    }
    rules.push(json!({ "action": "say(_)", "say": [] }));
    rules.push(json!({ "action": "fill(_,_,_)", "say": [] }));
    json!({ "constants": { "true": "yes", "false": "no" }, "groups": groups, "rules": rules, "nothing": [] })
}
