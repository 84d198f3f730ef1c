//! A domain's translators and renderers, made from its files.

use std::sync::Arc;

use super::Domain;
use crate::diag::{Diagnostic, Source};
use crate::llm::{BlockingModel, ModelError};
use crate::render::faithful::Faithful;
use crate::render::llm::{LlmRender, RenderPrompts, strings_of};
use crate::understand::embedded::Embedded;
use crate::understand::embedded::data::DomainFiles;
use crate::understand::llm::names::Names;
use crate::understand::llm::prompt::Prompts;
use crate::understand::llm::{LlmUnderstand, Settings};

impl Domain {
    /// The embedded translator; a domain without a lexicon has none.
    pub fn embedded(&self) -> Result<Option<Embedded>, Vec<Diagnostic>> {
        let source = |path: String| self.files.read(&path).map(|text| Source::new(&path, &text));
        let name = &self.ontology.domain;
        let (Some(english), Some(lexicon)) = (source("kb/core/english.yaml".to_owned()), source(format!("kb/{name}/lexicon.yaml"))) else { return Ok(None) };
        let synonyms = source(format!("kb/{name}/synonyms.yaml")).unwrap_or_else(|| Source::new("synonyms.yaml", ""));
        Embedded::load(&self.ontology, &DomainFiles { english, lexicon, synonyms }, self.facts.iter()).map(Some)
    }

    /// A translator that asks a model.
    pub fn model_translator(&self, model: BlockingModel) -> Result<LlmUnderstand, ModelError> {
        let prompts = Prompts::with(|file| self.prompt(file))?;
        let names = Arc::new(Names::of(&self.ontology, self.facts.iter()));
        LlmUnderstand::new(model, &self.ontology, names, prompts, Settings::default())
    }

    /// A renderer that asks a model and checks what it says.
    pub fn model_renderer(&self, model: BlockingModel) -> Result<LlmRender, ModelError> {
        let names = strings_of(&self.facts);
        let own_words = self.prompt("neutral_words.txt").unwrap_or_default();
        let prompts = RenderPrompts::with(&self.ontology.title, |file| self.prompt(file))?;
        Ok(LlmRender::new(model, self.templates.clone(), Faithful::new(names, &own_words), prompts))
    }

    fn prompt(&self, file: &str) -> Option<String> {
        self.files.read(&format!("prompts/{}/{file}", self.ontology.domain))
    }
}
