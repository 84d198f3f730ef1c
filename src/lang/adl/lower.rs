//! From a program as written to the intermediate representation.

mod guards;
mod steps;
mod values;

use super::config::Config;
use super::error::Findings;
use super::names::{Scope, compares_with_values};
use super::parse::{Node, Word};
use super::project::{Found, Project};
use super::python::type_of;
use super::sources;
use super::syntax::{Agent, Kind};
use crate::ir::kind::Kind as Type;
use crate::ir::value::{Given, Path, Value};
use crate::ir::{self, Arg, Bind, Body, Function, Input, Member, Policy, Program};

/// Lowers a program. What is wrong with it was told before, but for its documents.
pub fn lower(project: &Project, scope: Scope<'_>, root: &Node, tools: &Found, config: Config, found: &mut Findings) -> Program {
    let source = project.source.clone();
    let lowering = Lowering { project, scope, root };
    let agents = scope.document.agents.iter().map(|a| lowering.agent(a, found)).collect();
    let functions = tools
        .functions
        .iter()
        .map(|f| {
            let set = config.functions.iter().find(|(n, _)| *n == f.def.name).map(|(_, s)| *s).unwrap_or_default();
            let input = |p: &super::python::Parameter| Input {
                name: p.name.clone(),
                kind: p.annotation.as_deref().map_or(Type::Any, |a| type_of(a).unwrap_or(Type::Text)),
                required: p.default.is_none(),
            };
            Function {
                name: f.def.name.clone(),
                about: f.def.doc.clone(),
                inputs: f.def.parameters.iter().map(input).collect(),
                open: f.def.takes_more,
                idempotent: set.idempotent,
                confirm: set.confirm,
                timeout_ms: set.timeout_ms.or(config.limits.timeout_ms),
                python: Some(project.folder.join(&f.file)),
                ..Function::default()
            }
        })
        .collect();
    let folder_name = project.folder.file_name().map(|n| n.to_string_lossy().into_owned());
    let own = source.name.rsplit_once('.').map_or(&*source.name, |(n, _)| n).to_owned();
    Program {
        name: config.name.filter(|n| !n.trim().is_empty()).unwrap_or_else(|| folder_name.filter(|_| own == "agents").unwrap_or(own)),
        agents,
        entry: "main".to_owned(),
        functions,
        project: ir::Project {
            folder: Some(project.mica_root.as_ref().unwrap_or(&project.folder).clone()),
            python: tools.files.iter().map(|f| project.folder.join(&*f.name)).collect(),
            environment: config.environment,
            model: config.model,
            limits: config.limits,
        },
        origin: source.origin(0..0),
    }
}

/// What lowering looks at.
#[derive(Clone, Copy)]
struct Lowering<'a> {
    project: &'a Project,
    scope: Scope<'a>,
    root: &'a Node,
}

impl<'a> Lowering<'a> {
    fn agent(self, agent: &'a Agent, found: &mut Findings) -> ir::Agent {
        let text = |w: &Option<Word>| w.as_ref().map(|w| w.text.clone()).unwrap_or_default();
        let blocks = self.blocks(agent);
        let mut opening = vec![];
        let body = match agent.kind {
            Kind::Flow => Body::Script(blocks),
            Kind::Llm => {
                opening = blocks;
                Body::Talk { prompt: text(&agent.prompt), uses: agent.uses.iter().map(|u| u.text.clone()).collect() }
            }
            Kind::Kb => {
                let (passages, addresses) = sources::read(self.project, &agent.sources, found);
                Body::Know { questions: agent.faq.iter().map(|(q, a)| (q.text.clone(), a.text.clone())).collect(), passages, addresses }
            }
            Kind::Ensemble => {
                opening = blocks;
                Body::Team { prompt: text(&agent.prompt), members: agent.contains.iter().map(|m| self.member(agent, m)).collect() }
            }
        };
        ir::Agent {
            name: agent.name.text.clone(),
            about: text(&agent.description),
            args: agent
                .args
                .iter()
                .map(|(name, about)| Arg { name: name.text.clone(), about: about.clone(), spelled: compares_with_values(self.scope, agent, &name.text) })
                .collect(),
            body,
            opening,
            fallback: self.policy(agent.fallback.as_ref()),
            exit: self.policy(agent.exit.as_ref()),
            origin: self.project.source.origin(agent.name.span.clone()),
        }
    }

    fn policy(self, word: Option<&Word>) -> Option<Policy> {
        let text = word?.text.trim();
        Some(match text {
            _ if self.scope.document.agent(text).is_some() => Policy::Agent(text.to_owned()),
            "default" => Policy::Usual,
            _ => Policy::Words(text.to_owned()),
        })
    }

    fn member(self, team: &Agent, member: &super::syntax::Member) -> Member {
        let bind = |(name, to, reference): &(Word, Word, bool)| {
            let bound = match self.scope.path(team, &to.text) {
                _ if *reference => Bind::Is(to.text.clone()),
                Some(path) => Bind::Reads(Given::Of(path)),
                None => Bind::Reads(Given::Is(Value::Text(to.text.clone()))),
            };
            (name.text.clone(), bound)
        };
        Member {
            agent: member.agent.text.clone(),
            binds: member.args.iter().map(bind).collect(),
            origin: self.project.source.origin(member.agent.span.clone()),
        }
    }

    /// The value of a path, or the text itself as a path that never has one.
    fn path(self, agent: &Agent, text: &str) -> Path {
        let text = text.trim();
        self.scope.path(agent, text).unwrap_or_else(|| text.rsplit_once('.').map_or_else(|| Path::named(text), |(of, name)| Path::of(of, name)))
    }
}
