//! What can be wrong with a CHIEF file: one function a finding, each with its code and remedy.

use std::ops::Range;

use crate::diag::{Diagnostic, Source, did_you_mean};

/// The file is no JSON.
pub fn syntax(source: &Source, at: usize, expected: &str) -> Diagnostic {
    Diagnostic::error("chief-syntax", source.origin(at..at + 1), format!("expected {expected}"))
}

/// A member that has to be there is missing.
pub fn missing(source: &Source, span: Range<usize>, what: &str, member: &str) -> Diagnostic {
    Diagnostic::error("chief-missing-member", source.origin(span), format!("the {what} has no `{member}`"))
}

/// A member that nothing reads.
pub fn unknown_member(source: &Source, span: Range<usize>, what: &str, member: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::warning("chief-unknown-member", source.origin(span), format!("a {what} has no member `{member}`"));
    suggest(d, member, known, "remove it")
}

/// A word that is not among those allowed.
pub fn unknown_word(source: &Source, span: Range<usize>, what: &str, word: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::error("chief-unknown-word", source.origin(span), format!("`{word}` is no {what}"));
    suggest(d, word, known, &format!("use one of {}", known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")))
}

fn suggest(d: Diagnostic, word: &str, known: &[&str], otherwise: &str) -> Diagnostic {
    match did_you_mean(word, known.iter().copied()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(otherwise),
    }
}

/// Two nodes have one number.
pub fn duplicate_node(source: &Source, span: Range<usize>, id: i64) -> Diagnostic {
    Diagnostic::error("chief-duplicate-node", source.origin(span), format!("a second node has the number `{id}`")).help("give every node its own number")
}

/// An edge starts or ends at a node that does not exist.
pub fn dangling_edge(source: &Source, span: Range<usize>, id: i64) -> Diagnostic {
    Diagnostic::error("chief-dangling-edge", source.origin(span), format!("the edge leads to or from node `{id}`, which does not exist"))
        .help("add the node or remove the edge")
}

/// No way leads to a node.
pub fn unreachable(source: &Source, span: Range<usize>, id: i32) -> Diagnostic {
    Diagnostic::warning("chief-unreachable-node", source.origin(span), format!("no way leads from the first node to node `{id}`"))
        .help("add an edge to it or remove it")
}

/// A function needs an input that no node asks for.
pub fn never_asked(source: &Source, span: Range<usize>, slot: &str, function: &str) -> Diagnostic {
    Diagnostic::error("chief-slot-never-asked", source.origin(span), format!("`{function}` cannot be called without `{slot}`, but no node asks for it"))
        .help("add the slot to a request node")
}

/// A way splits, and one branch does not say when it is taken.
pub fn no_condition(source: &Source, span: Range<usize>, id: i32) -> Diagnostic {
    Diagnostic::error(
        "chief-branch-without-condition",
        source.origin(span),
        format!("several edges leave node `{id}`, but this one does not say when it is taken"),
    )
    .help("give it a `condition`")
}

/// A condition compares with nothing.
pub fn no_value(source: &Source, span: Range<usize>, condition: &str) -> Diagnostic {
    Diagnostic::error("chief-condition-without-value", source.origin(span), format!("the condition `{condition}` does not say which value is meant"))
        .help("write the value after it")
}

/// A condition that only a reader of free text can decide.
pub fn words(source: &Source, span: Range<usize>, condition: &str) -> Diagnostic {
    Diagnostic::warning("chief-condition-in-words", source.origin(span), format!("the condition `{condition}` is not understood without a language model"))
        .help("write yes, no, success, failure, available, unavailable, or `<output> is <value>`")
}

/// A slot rule that only a reader of free text can decide.
pub fn rule_in_words(source: &Source, span: Range<usize>, rule: &str) -> Diagnostic {
    Diagnostic::warning("chief-rule-in-words", source.origin(span), format!("the rule `{rule}` is not understood without a language model"))
        .help("write `optional`, `required`, or `either <slot> or <slot>`")
}

/// A cycle in which the dialogue never waits for anybody.
pub fn restless_cycle(source: &Source, span: Range<usize>, ids: &[i32]) -> Diagnostic {
    let ids = ids.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
    Diagnostic::error("chief-cycle-without-wait", source.origin(span), format!("the nodes {ids} form a cycle that waits for nobody"))
        .help("put a request or an inform_and_confirm node into the cycle")
}

/// A call of a function that is not declared.
pub fn unknown_function(source: &Source, span: Range<usize>, name: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::error("chief-unknown-function", source.origin(span), format!("no function is called `{name}`"));
    suggest(d, name, known, "declare it under `functions`")
}
