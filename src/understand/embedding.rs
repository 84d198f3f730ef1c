//! Vectors from a language model's server, for names that spelling leaves unknown or tied.

use crate::conversation::Conversation;
use crate::link::Vectors;
use crate::llm::BlockingModel;

/// A server's embeddings. When it fails, spelling alone counts.
#[derive(Clone)]
pub struct ServerVectors {
    model: BlockingModel,
    maker: String,
}

impl ServerVectors {
    /// Of a configured model; `maker` names the model that embeds.
    pub fn new(model: BlockingModel, maker: &str) -> Self {
        Self { model, maker: format!("server {maker}") }
    }
}

impl Vectors for ServerVectors {
    fn maker(&self) -> &str {
        &self.maker
    }

    fn vectors(&self, texts: &[String]) -> Option<Vec<Vec<f32>>> {
        // Names belong to no conversation: what they cost stands in an account without a name.
        let nobody = Conversation::default();
        match self.model.admit(&nobody).and_then(|()| self.model.embed(texts.to_vec())) {
            Ok(embeddings) => {
                self.model.book(&nobody, embeddings.usage);
                Some(embeddings.vectors)
            }
            Err(e) => {
                self.model.book(&nobody, self.model.lost_vectors(texts, &e));
                tracing::warn!("no vectors, so spelling alone counts: {e}");
                None
            }
        }
    }
}
