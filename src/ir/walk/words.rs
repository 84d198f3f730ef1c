//! The few words that agents say of their own, read from `kb/core/agents_words.yaml`.

use std::sync::LazyLock;

use serde::Deserialize;

const FILE: &str = include_str!("../../../kb/core/agents_words.yaml");

/// What the file says.
pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is part of the program, and tests read it")]
    serde_saphyr::from_str(FILE).expect("kb/core/agents_words.yaml is well formed")
});

/// Words, each explained where it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub sorry: String,
    pub anything_else: String,
    pub goodbye: String,
    pub confirm: String,
    pub yes: Vec<String>,
    pub numbers: Vec<String>,
}
