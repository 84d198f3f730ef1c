//! What every code of a finding means, with an example of the mistake and of its remedy: `kb/core/codes.yaml` says it.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    code: String,
    what: String,
    wrong: String,
    right: String,
}

// A table that cannot be read explains nothing; a test reads every code out of it.
static CODES: LazyLock<Vec<Code>> = LazyLock::new(|| serde_saphyr::from_str(include_str!("../../kb/core/codes.yaml")).unwrap_or_default());

/// The explanation of a code as text.
pub fn explain(code: &str) -> Option<String> {
    let c = CODES.iter().find(|c| c.code.eq_ignore_ascii_case(code))?;
    let indented = |t: &str| t.lines().map(|l| format!("    {l}\n")).collect::<String>();
    Some(format!("{}: {}\n\nWrong:\n{}\nRight:\n{}", c.code, c.what, indented(&c.wrong), indented(&c.right)))
}

/// All codes, for lists and for "did you mean".
pub fn all() -> impl Iterator<Item = &'static str> {
    CODES.iter().map(|c| &*c.code)
}
