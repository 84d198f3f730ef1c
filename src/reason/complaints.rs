//! What the solver itself says of rule files, led back from the program that was put together to the author's lines.

use std::fmt::Write as _;

use super::clingo::messages;
use super::clingo_text::without_bounds;
use super::syntax::parse;
use crate::diag::{Diagnostic, Source, line_start};
use crate::term::{Atom, Name};

/// The solver's complaints about rule files over these facts; `open` are the predicates that facts may bring.
pub fn complaints(sources: &[Source], facts: &[Atom], open: &[(Name, usize)]) -> Vec<Diagnostic> {
    let mut program = String::new();
    // First line in the program and number of lines of every source.
    let mut starts = vec![];
    let mut line = 1usize;
    for s in sources {
        starts.push(line);
        program.push_str(&readable(s));
        program.push('\n');
        line += s.text.matches('\n').count() + 1;
    }
    for (name, arity) in open {
        let _ = writeln!(program, "#defined {name}/{arity}.");
    }
    for f in facts {
        let _ = writeln!(program, "{f}.");
    }
    let mut out = vec![];
    for m in messages(&program).into_iter().filter(|m| m.error) {
        let Some((line, columns, text)) = position(&m.text) else { continue };
        let Some(i) = starts.iter().rposition(|s| *s <= line) else { continue };
        let (Some(source), Some(start)) = (sources.get(i), starts.get(i)) else { continue };
        let first = line_start(&source.text, line - start + 1);
        if first >= source.text.len() {
            continue;
        }
        let mut from = first + columns.0.saturating_sub(1);
        // The solver marks the beginning of a term; its text is in the message.
        let term = text.rsplit_once('\n').map_or("", |(_, t)| t.trim().trim_start_matches('(').trim_end_matches(')'));
        // Bounds before it in the line are written otherwise for the solver, which moves it to the right.
        let end = source.text.get(first..).and_then(|t| t.find('\n')).map_or(source.text.len(), |n| first + n);
        if !term.is_empty()
            && !source.text.get(from..).is_some_and(|t| t.starts_with(term))
            && let Some(at) = source.text.get(first..end.min(from + term.len())).and_then(|t| t.rfind(term))
        {
            from = first + at;
        }
        let rest = source.text.get(from..).unwrap_or("");
        let to = if !term.is_empty() && rest.starts_with(term) { from + term.len() } else { first + columns.1.saturating_sub(1) };
        let span = from..to;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.trim_start_matches("error: ").trim_start_matches("info: ").to_owned();
        out.push(
            Diagnostic::error("rule-refused-by-solver", source.origin(span), text)
                .help("this is the solver's own message; `duologue explain rule-refused-by-solver` says more"),
        );
    }
    out
}

/// The text as it grounds in reasonable time: `0 <= V` alone makes the solver go through a million numbers. Lines stay where they are.
fn readable(s: &Source) -> String {
    let mut text = s.text.to_string();
    for statement in parse::parse(s).0.iter().rev() {
        let (start, end) = (statement.origin.start, statement.origin.start + statement.text.len());
        let other = without_bounds(statement);
        if *other != *statement.text && text.get(start..end) == Some(&*statement.text) {
            text.replace_range(start..end, &other);
        }
    }
    text
}

/// Line, columns and text of `<block>:3:5-6: error: …`; a place of several lines counts as its first character.
fn position(message: &str) -> Option<(usize, (usize, usize), &str)> {
    let rest = message.strip_prefix("<block>:")?;
    let (line, rest) = rest.split_once(':')?;
    let (columns, text) = rest.split_once(": ")?;
    let (from, to) = columns.split_once('-').unwrap_or((columns, ""));
    let from = from.parse().ok()?;
    Some((line.parse().ok()?, (from, to.parse().unwrap_or(from + 1)), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_to_the_line_they_are_about() {
        let one = Source::new("one.lp", "p(1).\nq(X) :- p(X).\n");
        let two = Source::new("two.lp", "% a comment\nr(X+1) :- s(X).\n");
        let facts = [Atom::parse("s(word)").unwrap()];
        let found = complaints(&[one, two], &facts, &[("s".into(), 1)]);
        let shown: Vec<String> = found.iter().map(|d| format!("{} {}", d.origin, d.message)).collect();
        assert_eq!(shown, ["two.lp:2:3 operation undefined: (X+1)"]);
    }

    #[test]
    fn bounds_cost_nothing_and_leave_lines_where_they_are() {
        let wide = Source::new("wide.lp", "p(X) :-\n  s(X), 0 <= X <= 1000000,\n  X < 500000.\nq(X,Y) :- s(X), s(Y), X < Y, Y < X. r(X+1) :- s(X).\n");
        let facts = [Atom::parse("s(word)").unwrap()];
        let begin = std::time::Instant::now();
        let found = complaints(&[wide], &facts, &[("s".into(), 1)]);
        assert!(begin.elapsed().as_secs() < 5);
        let shown: Vec<String> = found.iter().map(|d| format!("{} {}", d.origin, d.message)).collect();
        assert_eq!(shown, ["wide.lp:4:39 operation undefined: (X+1)"]);
    }
}
