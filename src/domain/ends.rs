//! A domain's translators and renderers, made from its files.

use std::sync::Arc;

use super::Domain;
use crate::diag::{Diagnostic, Source};
use crate::llm::{BlockingModel, ModelError};
use crate::render::faithful::Faithful;
use crate::render::llm::{LlmRender, RenderPrompts};
use crate::understand::agents::{Advise, Adviser, ByModel, Offline, OneOrOther};
use crate::understand::embedded::Embedded;
use crate::understand::embedded::data::{DomainFiles, Synonyms, read};
use crate::understand::embedded::learned::Learned;
use crate::understand::embedded::learned::train::fingerprint;
use crate::understand::flow::Ear;
use crate::understand::llm::names::Names;
use crate::understand::llm::prompt::Prompts;
use crate::understand::llm::{LlmUnderstand, Settings};
use crate::understand::question::Judge;
use crate::understand::spot::Spotter;

/// The labelled utterances that a domain's learned model comes from.
pub fn examples_file(domain: &str) -> String {
    format!("kb/{domain}/examples.jsonl")
}

/// Labelled utterances that no pattern was written for: how far readings can be trusted is fitted on them.
pub fn held_out_files(files: &super::Files, domain: &str) -> Vec<String> {
    files.list(&format!("kb/{domain}/held_out/"), ".jsonl")
}

/// A domain's learned model.
pub fn model_file(domain: &str) -> String {
    format!("kb/{domain}/model.txt")
}

/// What is wrong with a model that cannot be read.
pub fn damaged_model(domain: &str) -> Diagnostic {
    let d = Diagnostic::error("U003", Source::new(&model_file(domain), "").origin(0..0), "the learned model is damaged or of another version");
    d.help(format!("`duologue train --domain {domain} --root .` makes it anew"))
}

/// Whether the learned model is missing or comes from other examples than those beside it.
pub fn stale_model(files: &super::Files, domain: &str) -> Option<Diagnostic> {
    let examples = files.read(&examples_file(domain))?;
    let held_out: Vec<String> = held_out_files(files, domain).iter().filter_map(|f| files.read(f)).collect();
    let texts = || std::iter::once(&examples).chain(&held_out).map(String::as_str);
    let wrong = |message: &str| {
        let d = Diagnostic::warning("U004", Source::new(&model_file(domain), "").origin(0..0), message);
        Some(d.help(format!("`duologue train --domain {domain} --root .` makes it anew")))
    };
    let Some(text) = files.read(&model_file(domain)) else { return wrong("there are examples, but nothing was learned from them") };
    match Learned::from_text(&text) {
        None => Some(damaged_model(domain)),
        Some(m) if m.source != fingerprint(texts()) => wrong("the learned model comes from other examples than those beside it"),
        Some(_) => None,
    }
}

impl Domain {
    /// The listener of a program; whoever judges answers its conditions in free words.
    pub fn ear(&self, judge: Arc<dyn Judge>) -> Option<Ear> {
        Some(Ear::new(self.program.as_ref()?.graph()?, self.guards.clone(), judge))
    }

    /// The listener of a program of agents, without a model or with one, which then answers alone or first.
    pub fn adviser(&self, model: Option<BlockingModel>, alone: bool) -> Option<Adviser> {
        let program = self.program.clone().filter(|p| p.walks())?;
        let offline = Offline::new(program.clone());
        let advise: Arc<dyn Advise> = match model {
            None => Arc::new(offline),
            Some(model) if alone => Arc::new(ByModel::new(model, program.clone())),
            Some(model) => Arc::new(OneOrOther(ByModel::new(model, program.clone()), offline)),
        };
        Some(Adviser::new(program, advise))
    }

    /// The embedded translator with what it learned; a domain with neither a lexicon nor labelled utterances has none.
    pub fn embedded(&self) -> Result<Option<Embedded>, Vec<Diagnostic>> {
        let Some(translator) = self.patterns()? else { return Ok(None) };
        let name = &self.ontology.domain;
        let Some(text) = self.files.read(&model_file(name)) else { return Ok(Some(translator)) };
        match Learned::from_text(&text) {
            Some(learned) => Ok(Some(translator.with_learned(learned))),
            None => Err(vec![damaged_model(name)]),
        }
    }

    /// The embedded translator without what it learned.
    pub fn patterns(&self) -> Result<Option<Embedded>, Vec<Diagnostic>> {
        let source = |path: String| self.files.read(&path).map(|text| Source::new(&path, &text));
        let name = &self.ontology.domain;
        // Who has labelled utterances needs no lexicon beside them.
        let path = format!("kb/{name}/lexicon.yaml");
        let none = || self.files.read(&examples_file(name)).map(|_| Source::new(&path, "patterns: {}"));
        let (Some(english), Some(lexicon)) = (source("kb/core/english.yaml".to_owned()), source(path.clone()).or_else(none)) else { return Ok(None) };
        let synonyms = source(format!("kb/{name}/synonyms.yaml")).unwrap_or_else(|| Source::new("synonyms.yaml", ""));
        Embedded::load(&self.ontology, &DomainFiles { english, lexicon, synonyms }, self.facts.iter()).map(Some)
    }

    /// The translator that spots what stands in loose talk; a domain without a file of spots has none.
    pub fn spotter(&self) -> Result<Option<Spotter>, Vec<Diagnostic>> {
        let path = format!("kb/{}/spots.yaml", self.ontology.domain);
        let Some(text) = self.files.read(&path) else { return Ok(None) };
        Spotter::load(&Source::new(&path, &text), &self.ontology, self.facts.iter()).map(Some)
    }

    /// A translator that asks a model.
    pub fn model_translator(&self, model: BlockingModel) -> Result<LlmUnderstand, ModelError> {
        let prompts = Prompts::with(|file| self.prompt(file))?;
        let path = format!("kb/{}/synonyms.yaml", self.ontology.domain);
        let synonyms = self.files.read(&path).and_then(|text| read::<Synonyms>(&Source::new(&path, &text)).ok());
        let names = Arc::new(Names::of(&self.ontology, self.facts.iter()).also(synonyms.iter().flat_map(|s| &s.names)));
        LlmUnderstand::new(model, &self.ontology, names, prompts, Settings::default())
    }

    /// A renderer that asks a model and checks what it says.
    pub fn model_renderer(&self, model: BlockingModel) -> Result<LlmRender, ModelError> {
        let prompts = RenderPrompts::with(&self.ontology.title, |file| self.prompt(file))?;
        Ok(LlmRender::new(model, self.templates.clone(), self.faithful(), prompts))
    }

    /// The check of replies in other words than the templates'.
    pub fn faithful(&self) -> Faithful {
        Faithful::new(&self.facts, self.replies.clone(), self.templates.words().clone())
    }

    fn prompt(&self, file: &str) -> Option<String> {
        self.files.read(&format!("prompts/{}/{file}", self.ontology.domain))
    }
}
