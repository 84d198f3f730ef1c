//! What holds: any atom of a decision with its proof, and what the rules derive of a session as it stands.

use std::sync::Arc;

use serde_json::{Value, json};

use super::proofs::Steps;
use super::what_if::AskError;
use super::{Decided, Engine};
use crate::facts::SessionKey;
use crate::reason::proof::Builder;
use crate::term::Atom;

/// How many atoms one question is answered with.
const MOST: usize = 300;

impl Engine {
    /// The proof of an atom that a decision derived.
    pub fn proof_of(&self, decided: &Decided, atom: &Atom) -> Option<Steps> {
        let proof = decided.outcome.why(atom)?;
        Some(Steps::of(&Arc::new(proof), &|a: &Atom| self.told_by(decided, a)))
    }

    /// What looks like this and holds as the session stands, before anything more is said, each with its proof; `_` stands for anything.
    pub fn holding(&self, key: &SessionKey, role: &str, pattern: &str) -> Result<Vec<Value>, AskError> {
        self.speaker(key, role)?;
        let (taken, snapshot) = self.try_out(key, role, vec![])?;
        let found = taken.outcome.why_none(pattern).map_err(AskError::Unreadable)?.holds;
        let told = self.provenance(&snapshot.opened, &snapshot.shared);
        let mut builder = Builder::new(&taken.outcome);
        let shown = |atom: &Atom| builder.why(atom).map(|p| json!({ "atom": atom, "sentence": p.sentence(&told), "proof": Steps::of(&p, &told) }));
        Ok(found.iter().take(MOST).filter_map(shown).collect())
    }
}
