//! Conditions: what they compare, and what they were hardly meant to be.

use std::ops::Range;

use super::{GIVEN, OUTCOME, Scope};
use crate::ir::pattern::PythonPattern;
use crate::lang::adl::error::{Findings, like, nearest, within};
use crate::lang::adl::parse::Word;
use crate::lang::adl::syntax::{Agent, StepKind};
use crate::lang::expr::{self, Expr, Side};

/// Reads a condition of an agent, and tells what is wrong with it.
pub fn condition(scope: Scope<'_>, agent: &Agent, written: &Word, found: &mut Findings) -> Option<Expr> {
    let names = |text: &str| names(scope, agent, text);
    let (read, faults) = expr::read(&written.text, &names);
    for fault in faults {
        let at = placed(written, fault.span, found);
        if fault.mild {
            found.warning("adl-no-quotes", at, fault.message, fault.help);
        } else {
            found.error("adl-condition", at, format!("{} (in a condition of `{}`)", fault.message, agent.name.text), fault.help);
        }
    }
    if let Some(expr) = &read {
        parts(scope, agent, written, expr, found);
    }
    read
}

/// Reads a condition of an agent, without telling what is wrong with it.
pub fn read_condition(scope: Scope<'_>, agent: &Agent, text: &str) -> Option<Expr> {
    expr::read(text, &|t: &str| names(scope, agent, t)).0
}

/// Whether a text by itself names a value or an outcome, or looks as if it were to.
fn names(scope: Scope<'_>, agent: &Agent, text: &str) -> bool {
    let text = text.trim();
    let outcome = text
        .rsplit_once('.')
        .is_some_and(|(of, name)| OUTCOME.contains(&name) && !of.is_empty() && !of.contains(['"', '(']) && of.split_whitespace().count() < 4);
    outcome || is_path(scope, agent, text) || matches!(text, "True" | "False")
}

/// Whether a text is one path: after its point, `and`, `or` and `not` are words of a name only where an argument is called so.
fn is_path(scope: Scope<'_>, agent: &Agent, text: &str) -> bool {
    let Some(path) = scope.path(agent, text) else { return false };
    let joins = path.name.split_whitespace().any(|w| matches!(w, "and" | "or" | "not"));
    !joins || path.of.is_none_or(|of| scope.document.agent(&of).is_some_and(|a| a.declares(&path.name)))
}

/// A part of a condition in the source.
fn placed(written: &Word, span: Range<usize>, found: &Findings) -> Range<usize> {
    let raw = found.source().text.get(written.span.clone()).unwrap_or("");
    let shift = usize::from(raw.starts_with(['"', '\'']));
    let exact = raw.get(shift + span.start..shift + span.end) == written.text.get(span.clone());
    if exact && !span.is_empty() {
        return written.span.start + shift + span.start..written.span.start + shift + span.end;
    }
    within(found.source(), &written.span, written.text.get(span).unwrap_or(""))
}

fn parts(scope: Scope<'_>, agent: &Agent, written: &Word, expr: &Expr, found: &mut Findings) {
    match expr {
        Expr::All(inner) | Expr::Any(inner) => inner.iter().for_each(|e| parts(scope, agent, written, e, found)),
        Expr::Not(inner) => parts(scope, agent, written, inner, found),
        Expr::Compare(left, _, right) => {
            side(scope, agent, written, left, found);
            // On the right what names nothing is a text.
            if !right.quoted
                && let Some(help) = scope.path(agent, &right.text).and_then(|_| scope.unknown_part(agent, &right.text))
            {
                let at = placed(written, right.span.clone(), found);
                found.warning("adl-unknown-value", at, format!("`{}` never has a value", right.text), help);
            }
        }
        Expr::Match(pattern, value) => {
            if let Err(wrong) = PythonPattern::python(pattern) {
                let at = within(found.source(), &written.span, pattern);
                let told = wrong.lines().next().unwrap_or("").to_owned();
                found.error(
                    "adl-pattern",
                    at,
                    format!("the pattern `{pattern}` cannot be read: {told} (in a condition of `{}`)", agent.name.text),
                    "write it as Python's `re` reads it",
                );
            }
            side(scope, agent, written, value, found);
        }
        Expr::Bare(value) if !matches!(value.text.as_str(), "True" | "False") => side(scope, agent, written, value, found),
        Expr::Words(words, span) => plain_words(scope, agent, written, words, span.clone(), found),
        Expr::Bare(_) | Expr::Claims(..) | Expr::Clicks(..) => {}
    }
}

/// The side of a comparison that names a value.
fn side(scope: Scope<'_>, agent: &Agent, written: &Word, side: &Side, found: &mut Findings) {
    let at = placed(written, side.span.clone(), found);
    if side.quoted {
        found.warning(
            "adl-unknown-value",
            at,
            format!("\"{}\" is a text where an argument is compared", side.text),
            "write the argument on the left, without quotes",
        );
    } else if let Some(help) = scope.unknown_part(agent, &side.text) {
        found.warning("adl-unknown-value", at, format!("`{}` never has a value and compares as None (in `{}`)", side.text, agent.name.text), help);
    }
}

/// Words that were hardly meant for a model to judge.
fn plain_words(scope: Scope<'_>, agent: &Agent, written: &Word, words: &str, span: Range<usize>, found: &mut Findings) {
    let at = placed(written, span, found);
    let first = words.split_whitespace().next().unwrap_or("");
    let help = if !words.contains(char::is_whitespace) {
        like(words, agent.arg_names().chain(GIVEN)).map(|near| format!("did you mean `{near}`?"))
    } else if scope.path(agent, first).is_some() && words.split_whitespace().nth(1).is_some_and(|w| matches!(w, "is" | "in" | "equals" | "has")) {
        let rest: Vec<&str> = words.split_whitespace().skip(2).collect();
        Some(match rest.as_slice() {
            ["not", rest @ ..] => format!("to compare it, write `{first} != {}`", rest.join(" ")),
            rest => format!("to compare it, write `{first} == {}`", rest.join(" ")),
        })
    } else if words.contains("&&") || words.contains("||") {
        Some("to join conditions, write `and` and `or`".to_owned())
    } else {
        claim(words)
    };
    if let Some(help) = help {
        let message = format!("`{words}` is taken for plain words, to be judged by a model (in `{}`)", agent.name.text);
        found.warning("adl-plain-words", at, message, help);
    }
}

/// `the user claims` misspelt, before a quoted phrase.
fn claim(words: &str) -> Option<String> {
    let (before, _) = words.split_once('"')?;
    let before: Vec<&str> = before.split_whitespace().collect();
    let verb = before.last()?;
    let user = before.iter().any(|w| like(w, ["user"]).is_some() || *w == "user");
    let near = nearest(verb, ["claims", "clicks"], "");
    let meant = if matches!(*verb, "claims" | "clicks") {
        Some(*verb)
    } else if near.contains("`claims`") {
        Some("claims")
    } else if near.contains("`clicks`") {
        Some("clicks")
    } else {
        None
    };
    meant.filter(|_| user).map(|m| format!("did you mean `the user {m} \"…\"`?"))
}

/// Whether the program compares an argument with numbers and booleans only, and at least once: then a text that spells one is meant as one.
pub fn compares_with_values(scope: Scope<'_>, of: &Agent, arg: &str) -> bool {
    let mut compared = false;
    for agent in &scope.document.agents {
        for step in agent.steps() {
            let StepKind::If { branches, .. } = &step.kind else { continue };
            for b in branches {
                let Some(expr) = read_condition(scope, agent, &b.condition.text) else { continue };
                for (left, right) in comparisons(&expr) {
                    let is = |s: &Side| !s.quoted && ((agent.name.text == of.name.text && s.text == arg) || s.text == format!("{}.{arg}", of.name.text));
                    if is(left) {
                        let value = right.is_some_and(|r| !r.quoted && scope.path(agent, &r.text).is_none() && is_number_or_boolean(&r.text));
                        let none = right.is_some_and(|r| !r.quoted && r.text == "None");
                        if none {
                            continue;
                        }
                        if !value {
                            return false;
                        }
                        compared = true;
                    } else if right.is_some_and(is) {
                        return false;
                    }
                }
            }
        }
    }
    compared
}

/// Whether a text without quotes is a number or a boolean.
pub fn is_number_or_boolean(text: &str) -> bool {
    matches!(text, "True" | "False") || (text.parse::<f64>().is_ok() && text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')))
}

/// What is compared with what; a pattern compares with a text.
fn comparisons(expr: &Expr) -> Vec<(&Side, Option<&Side>)> {
    match expr {
        Expr::All(inner) | Expr::Any(inner) => inner.iter().flat_map(comparisons).collect(),
        Expr::Not(inner) => comparisons(inner),
        Expr::Compare(left, _, right) => vec![(left, Some(right))],
        Expr::Match(_, value) => vec![(value, None)],
        Expr::Bare(_) | Expr::Claims(..) | Expr::Clicks(..) | Expr::Words(..) => vec![],
    }
}
