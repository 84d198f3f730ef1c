//! What the files that `verify` and `bench` alone read have the roles say: what nobody can say is told before they run.

use serde_saphyr::Spanned;

use crate::diag::yaml::line_span;
use crate::diag::{Diagnostic, Source, did_you_mean};
use crate::ontology::Ontology;
use crate::term::Atom;

/// Turns with the places of what is said.
pub(super) type Turns = Vec<Vec<Spanned<Atom>>>;

/// Why a role cannot say it. A value that does not fit can be said: how it is refused is worth a look.
pub(super) fn unsayable(ontology: &Ontology, role: &str, atom: &Atom) -> Option<String> {
    match ontology.admit_atom(role, atom) {
        Err((code, message)) if code != "wrong_argument" && code != "number_out_of_bounds" => Some(format!("the {role} cannot say `{atom}`: {message}")),
        _ => None,
    }
}

/// What is wrong with the turns of a role.
pub(super) fn check(source: &Source, ontology: &Ontology, role: &str, turns: &Turns) -> Vec<Diagnostic> {
    if !ontology.roles.contains_key(role) {
        let at = source.text.find(role).unwrap_or(0);
        let known = ontology.roles.keys().map(|r| &**r);
        let help = did_you_mean(role, known.clone()).map(|n| format!("did you mean `{n}`?"));
        let help = help.unwrap_or_else(|| format!("the roles are: {}", known.collect::<Vec<_>>().join(", ")));
        return vec![Diagnostic::error("D006", source.origin(at..at + role.len()), format!("`{role}` is no role")).help(help)];
    }
    let wrong = |said: &Spanned<Atom>| {
        let message = unsayable(ontology, role, &said.value)?;
        let name = &*said.value.name;
        let start = line_span(&source.text, said.referenced.line(), said.referenced.column()).start;
        let start = start + source.text.get(start..).and_then(|rest| rest.find(name)).unwrap_or(0);
        Some(Diagnostic::error("D006", source.origin(start..start + name.len()), message).help("write an input that the ontology declares for the role"))
    };
    turns.iter().flatten().filter_map(wrong).collect()
}
