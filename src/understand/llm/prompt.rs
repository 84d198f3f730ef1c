//! The prompt of a translation: a prefix that stays the same from turn to turn, then what belongs to this utterance, every foreign text as JSON.

use std::collections::BTreeSet;

use minijinja::{Environment, UndefinedBehavior, context};
use serde_json::{Value, json};

use super::families::families;
use super::forms::{Forms, Kind};
use super::names::Names;
use crate::llm::ModelError;
use crate::ontology::Example;
use crate::term::{Atom, Name};
use crate::understand::Context;

/// The templates with what a domain has put in their place.
#[derive(Clone, Debug)]
pub struct Prompts {
    environment: Environment<'static>,
    notes: String,
}

/// The core templates by name.
const CORE: [(&str, &str); 3] = [
    ("understand", include_str!("../../../prompts/core/understand.jinja")),
    ("understand_turn", include_str!("../../../prompts/core/understand_turn.jinja")),
    ("understand_repair", include_str!("../../../prompts/core/understand_repair.jinja")),
];

impl Default for Prompts {
    fn default() -> Self {
        Self::with(|_| None).unwrap_or_else(|_| Self { environment: Environment::new(), notes: String::new() })
    }
}

impl Prompts {
    /// The core templates, or those that `own` gives for `NAME.jinja`; and the domain's remarks from `understand_notes.txt`.
    pub fn with(own: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, core) in CORE {
            let text = own(&format!("{name}.jinja")).unwrap_or_else(|| core.to_owned());
            environment.add_template_owned(name, text).map_err(|e| ModelError::Config(format!("prompt `{name}`: {e:#}")))?;
        }
        Ok(Self { environment, notes: own("understand_notes.txt").unwrap_or_default().trim().to_owned() })
    }

    fn render(&self, name: &str, values: minijinja::Value) -> Result<String, ModelError> {
        let template = self.environment.get_template(name).and_then(|t| t.render(values));
        template.map_err(|e| ModelError::Config(format!("prompt `{name}`: {e:#}")))
    }

    /// The part that depends on the domain, the role and the notation of replies alone.
    pub fn prefix(&self, forms: &Forms, short: bool) -> Result<String, ModelError> {
        let ontology = forms.ontology();
        let speaker = ontology.roles.get(&forms.role).map_or(&*forms.role, |r| r.title.as_str());
        let all = || forms.forms.iter().map(|f| (f.text.clone(), f.means.clone())).collect();
        let list: Vec<(String, String)> = if short { families(&forms.forms) } else { all() };
        let list: Vec<_> = list.iter().map(|(text, means)| context!(text, means)).collect();
        let unclear = |(sort, kind): &(&Name, &Kind)| told(kind) != format!("a {}", sort.to_lowercase());
        let values: Vec<_> = forms.kinds.iter().filter(unclear).map(|(sort, kind)| context!(sort => &**sort, means => told(kind))).collect();
        self.render("understand", context!(short, speaker, title => &ontology.title, notes => &self.notes, forms => list, values))
    }

    /// The part that depends on the utterance.
    pub fn turn(
        &self,
        forms: &Forms,
        names: &Names,
        slice: &[Name],
        text: &str,
        context: &Context,
        examples: &[&Example],
        short: bool,
    ) -> Result<String, ModelError> {
        let examples: Vec<String> = examples.iter().filter_map(|e| shown(forms, names, e, short)).collect();
        self.render(
            "understand_turn",
            context!(
                names => json!(slice.iter().map(|n| &**n).collect::<Vec<_>>()).to_string(),
                examples,
                last_actions => atoms(&context.last_actions),
                said_before => if context.said_before.is_empty() { String::new() } else { atoms(&context.said_before) },
                order => forms.ontology().view.lines_shown(&context.view).map(|v| v.to_string()).unwrap_or_default(),
                utterance => Value::from(text).to_string(),
            ),
        )
    }

    /// The message of a further look: every name, for a thing that is none of those shown first.
    pub fn more(&self, names: &[Name]) -> String {
        format!(
            "Further names: {}\n\nIf one of them is meant, send the JSON object with it; else send the same object again.",
            json!(names.iter().map(|n| &**n).collect::<Vec<_>>())
        )
    }

    /// The repair round's message.
    pub fn repair(&self, problems: &str) -> Result<String, ModelError> {
        self.render("understand_repair", context!(problems))
    }
}

/// The names of the conversation itself: what it holds, and what was just spoken of.
pub fn own(context: &Context) -> BTreeSet<Name> {
    let spoken = context.last_actions.iter().chain(&context.said_before).flat_map(strings_of);
    spoken.chain(context.view.names().cloned()).collect()
}

fn told(kind: &Kind) -> String {
    let mut ways: Vec<String> = kind.constants.iter().map(ToString::to_string).collect();
    if !kind.facts.is_empty() {
        ways.push(format!("a {}", kind.facts.iter().map(|f| f.replace('_', " ")).collect::<Vec<_>>().join("/")));
    }
    if kind.new {
        ways.push("new name".to_owned());
    }
    if let Some((min, max, _)) = kind.int {
        ways.push(format!("{min} to {max}"));
    }
    ways.join("|")
}

fn atoms(list: &[Atom]) -> String {
    json!(list.iter().map(ToString::to_string).collect::<Vec<_>>()).to_string()
}

/// The strings of an atom: every name it holds.
pub fn strings_of(atom: &Atom) -> Vec<Name> {
    fn walk(term: &crate::term::Term, out: &mut Vec<Name>) {
        match term {
            crate::term::Term::Str(s) => out.push(s.clone()),
            crate::term::Term::Fun(_, args) => args.iter().for_each(|a| walk(a, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    atom.args.iter().for_each(|a| walk(a, &mut out));
    out
}

fn shown(forms: &Forms, names: &Names, example: &Example, short: bool) -> Option<String> {
    let written = |a: &Atom| if short { forms.line(a, names).map(Value::from) } else { forms.write(a, names) };
    let predicates: Vec<Value> = example.means.iter().map(written).collect::<Option<_>>()?;
    let after = if example.after.is_empty() { String::new() } else { format!("after {}: ", atoms(&example.after)) };
    Some(format!("{after}{} → {}", Value::from(example.say.as_str()), Value::from(predicates)))
}
