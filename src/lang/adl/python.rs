//! Python files as a program sees them: the functions of their top level with parameters, types and docstrings, read without running a line.

use std::ops::Range;

use serde_json::Value;

use crate::diag::Source;
use crate::ir::kind::Kind;

/// A function that a program may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Range<usize>,
    /// Its parameters, in order, without `*args` and `**kwargs`.
    pub parameters: Vec<Parameter>,
    /// It takes whatever else is given by name.
    pub takes_more: bool,
    /// It has `*args`, which nothing can fill.
    pub has_rest: Option<Range<usize>>,
    /// The docstring.
    pub doc: String,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub span: Range<usize>,
    /// Its annotation as written.
    pub annotation: Option<String>,
    /// Its default as written: it need not be given.
    pub default: Option<String>,
}

/// The functions of a file's top level whose names do not begin with `_`, in their order.
pub fn functions(source: &Source) -> Vec<Def> {
    let text = &source.text;
    let mut out = vec![];
    for at in top_level_lines(text) {
        let line = text.get(at..).unwrap_or("");
        let Some(rest) = line.strip_prefix("def ").or_else(|| line.strip_prefix("async ").map(str::trim_start).and_then(|l| l.strip_prefix("def "))) else {
            continue;
        };
        let name_at = text.len() - rest.trim_start().len();
        let name: String = rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let span = name_at..name_at + name.len();
        if name.is_empty() || name.starts_with('_') {
            continue;
        }
        // Parameters of generic functions (`def f[T](…)`) stand before the parenthesis.
        let mut open = span.end;
        if text.get(open..).is_some_and(|t| t.trim_start().starts_with('[')) {
            open = matching(text, open + text.get(open..).map_or(0, |t| t.find('[').unwrap_or(0))).map_or(open, |e| e + 1);
        }
        let Some(open) = text.get(open..).and_then(|t| t.find('(')).map(|n| open + n) else { continue };
        let Some(close) = matching(text, open) else { continue };
        let mut def = Def { name, span, parameters: vec![], takes_more: false, has_rest: None, doc: docstring(text, close + 1) };
        for part in split(text, open + 1..close, ',') {
            parameter(text, part, &mut def);
        }
        // A second definition replaces the first, as it does when Python runs.
        out.retain(|d: &Def| d.name != def.name);
        out.push(def);
    }
    out
}

/// Where lines begin that stand at the top level: not in a text, nor in open brackets, nor indented.
fn top_level_lines(text: &str) -> Vec<usize> {
    let mut out = vec![];
    let (mut at, mut depth, mut fresh) = (0, 0usize, true);
    while let Some(c) = text.get(at..).and_then(|t| t.chars().next()) {
        if fresh && depth == 0 && !c.is_whitespace() && c != '#' {
            out.push(at);
        }
        fresh = false;
        match c {
            '\n' => fresh = true,
            '\\' if text.get(at + 1..).is_some_and(|t| t.starts_with('\n')) => at += 1,
            '#' => at += text.get(at..).and_then(|t| t.find('\n')).map_or(0, |n| n - 1),
            '"' | '\'' => {
                at = string_end(text, at);
                continue;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += c.len_utf8();
    }
    out
}

/// One past the end of the text that begins with the quote at this place.
fn string_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or("");
    let quote = rest.get(..1).unwrap_or("\"");
    let triple = quote.repeat(3);
    let mark: &str = if rest.starts_with(&triple) { &triple } else { quote };
    let mut k = mark.len();
    while let Some(c) = rest.get(k..).and_then(|t| t.chars().next()) {
        if c == '\\' {
            k += 1 + rest.get(k + 1..).and_then(|t| t.chars().next()).map_or(0, char::len_utf8);
            continue;
        }
        if rest.get(k..).is_some_and(|t| t.starts_with(mark)) {
            return at + k + mark.len();
        }
        if mark.len() == 1 && c == '\n' {
            return at + k;
        }
        k += c.len_utf8();
    }
    text.len()
}

/// The characters outside of texts and comments, each with how many brackets are open around it.
fn outside(text: &str, from: usize) -> impl Iterator<Item = (usize, char, i32)> {
    let (mut at, mut depth) = (from, 0i32);
    std::iter::from_fn(move || {
        loop {
            let c = text.get(at..)?.chars().next()?;
            let here = at;
            at += c.len_utf8();
            match c {
                '"' | '\'' => at = string_end(text, here),
                '#' => at += text.get(at..).and_then(|t| t.find('\n')).unwrap_or_default(),
                '(' | '[' | '{' => {
                    depth += 1;
                    return Some((here, c, depth - 1));
                }
                _ => {
                    depth -= i32::from(matches!(c, ')' | ']' | '}'));
                    return Some((here, c, depth));
                }
            }
        }
    })
}

/// Where the bracket that opens at this place closes.
fn matching(text: &str, open: usize) -> Option<usize> {
    outside(text, open).find(|(_, c, depth)| *depth <= 0 && matches!(c, ')' | ']' | '}')).filter(|(_, _, depth)| *depth == 0).map(|(at, ..)| at)
}

/// The parts of a range between a separator, outside of texts, comments and brackets.
fn split(text: &str, range: Range<usize>, by: char) -> Vec<Range<usize>> {
    let (mut out, mut start) = (vec![], range.start);
    for (at, c, depth) in outside(text, range.start).take_while(|(at, ..)| *at < range.end) {
        if c == by && depth == 0 {
            out.push(start..at);
            start = at + c.len_utf8();
        }
    }
    out.push(start..range.end);
    out
}

/// A part of the text without comments and outer blanks, and where it begins.
fn bare(text: &str, range: Range<usize>) -> Option<(String, usize)> {
    let (mut at, mut out) = (range.start, String::new());
    let mut begins = None;
    while at < range.end {
        let Some(c) = text.get(at..).and_then(|t| t.chars().next()) else { break };
        if c == '#' {
            at += text.get(at..range.end).and_then(|t| t.find('\n')).unwrap_or(range.end - at);
            continue;
        }
        let next = if c == '"' || c == '\'' { string_end(text, at).min(range.end) } else { at + c.len_utf8() };
        if begins.is_none() && !c.is_whitespace() {
            begins = Some(at);
        }
        if begins.is_some() {
            out.push_str(text.get(at..next).unwrap_or(""));
        }
        at = next;
    }
    begins.map(|b| (out.trim().to_owned(), b))
}

fn parameter(text: &str, range: Range<usize>, def: &mut Def) {
    let Some((part, start)) = bare(text, range) else { return };
    if part == "*" || part == "/" {
        return;
    }
    if part.starts_with("**") {
        def.takes_more = true;
        return;
    }
    if part.starts_with('*') {
        def.has_rest = Some(start..start + part.len());
        return;
    }
    let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if name.is_empty() {
        return;
    }
    let sides = split(&part, 0..part.len(), '=');
    let (head, default) = match sides.as_slice() {
        [head, first, ..] => (head.clone(), part.get(first.start..).map(|d| d.trim().to_owned())),
        _ => (0..part.len(), None),
    };
    let annotation = split(&part, head.clone(), ':').get(1).and_then(|a| part.get(a.start..head.end)).map(|a| a.trim().to_owned()).filter(|a| !a.is_empty());
    let span = start..start + name.len();
    def.parameters.push(Parameter { name, span, annotation, default });
}

/// The docstring of the function whose parameters end here.
fn docstring(text: &str, after: usize) -> String {
    let Some(colon) = split_once_colon(text, after) else { return String::new() };
    let mut rest = text.get(colon..).unwrap_or("").trim_start();
    while let Some(comment) = rest.strip_prefix('#') {
        rest = comment.split_once('\n').map_or("", |(_, r)| r).trim_start();
    }
    let at = text.len() - rest.len();
    let prefix = rest.chars().take_while(|c| matches!(c, 'r' | 'R' | 'u' | 'U')).count();
    if prefix > 1 || !rest.get(prefix..).is_some_and(|r| r.starts_with(['"', '\''])) {
        return String::new();
    }
    let end = string_end(text, at + prefix);
    let literal = text.get(at + prefix..end).unwrap_or("");
    let mark = if literal.starts_with("\"\"\"") || literal.starts_with("'''") { 3 } else { 1 };
    let inner = literal.get(mark..literal.len().saturating_sub(mark)).unwrap_or("");
    let inner = if prefix == 0 {
        inner.replace("\\\n", "").replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\")
    } else {
        inner.to_owned()
    };
    dedented(&inner)
}

/// One past the colon that ends the head of a function.
fn split_once_colon(text: &str, after: usize) -> Option<usize> {
    let line_end = text.get(after..).map_or(after, |t| after + t.len());
    split(text, after..line_end.min(after + 2000).min(text.len()), ':').first().filter(|r| r.end < text.len()).map(|r| r.end + 1)
}

/// A docstring without the indentation that its lines share, as Python's `inspect.cleandoc` gives it.
fn dedented(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let indent = lines.iter().skip(1).filter(|l| !l.trim().is_empty()).map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    for (n, line) in lines.iter_mut().enumerate() {
        *line = if n == 0 { line.trim_start() } else { line.get(indent..).unwrap_or("") };
    }
    lines.join("\n").trim().to_owned()
}

/// The type that an annotation stands for; none if it says nothing that a value could be held to.
pub fn type_of(annotation: &str) -> Option<Kind> {
    let a = annotation.trim();
    let a = a.strip_prefix(['"', '\'']).and_then(|x| x.strip_suffix(['"', '\''])).unwrap_or(a).trim();
    let sides = split(a, 0..a.len(), '|');
    if sides.len() > 1 {
        return sides.iter().map(|r| type_of(a.get(r.clone()).unwrap_or(""))).collect::<Option<Vec<_>>>().map(Kind::Either);
    }
    let (head, inner) = match a.split_once('[') {
        Some((head, rest)) => (head.trim(), rest.strip_suffix(']')),
        None => (a, None),
    };
    let head = head.rsplit('.').next().unwrap_or(head);
    let parts = || {
        inner.map(|i| split(i, 0..i.len(), ',').into_iter().filter_map(|r| i.get(r)).map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect::<Vec<_>>())
    };
    match head {
        "str" => Some(Kind::Text),
        "int" => Some(Kind::Integer),
        "float" => Some(Kind::Number),
        "bool" => Some(Kind::Boolean),
        "None" | "NoneType" => Some(Kind::Null),
        "Any" | "object" => Some(Kind::Any),
        "dict" | "Dict" | "Mapping" | "MutableMapping" => Some(Kind::Map),
        "list" | "List" | "Sequence" | "Iterable" | "tuple" | "Tuple" | "set" | "Set" => {
            let of = parts().and_then(|p| p.first().cloned()).map_or(Some(Kind::Any), |p| type_of(&p))?;
            Some(Kind::List(Box::new(of)))
        }
        "Optional" => Some(Kind::Either(vec![type_of(inner?)?, Kind::Null])),
        "Union" => parts()?.iter().map(|p| type_of(p)).collect::<Option<Vec<_>>>().map(Kind::Either),
        "Literal" => Some(Kind::OneOf(parts()?.iter().map(|v| literal(v)).collect())),
        "Annotated" => type_of(parts()?.first()?),
        _ => None,
    }
}

/// A value as Python writes it.
fn literal(text: &str) -> Value {
    let inner = |q: char| text.strip_prefix(q).and_then(|t| t.strip_suffix(q));
    match text {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "None" => Value::Null,
        _ => match inner('\'').or_else(|| inner('"')) {
            Some(t) => Value::from(t),
            None => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Def> {
        functions(&Source::new("tools.py", text))
    }

    #[test]
    fn parameters_types_and_docstrings_are_read() {
        let defs = read(
            "import os\n\ndef _hidden(x): pass\n\nasync def book(seats: int, name: Optional[str] = None, *,\n        kind: Literal['a', \"b\"] = 'a',  # a comment, with a comma\n        **more) -> list[dict]:\n    \"\"\"Books seats.\n\n    All of them.\n    \"\"\"\n    def inner(y): return \"\"\"\ndef never(z): pass\n\"\"\"\n",
        );
        assert_eq!(defs.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["book"]);
        let book = &defs[0];
        assert_eq!(book.parameters.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["seats", "name", "kind"]);
        assert_eq!(book.parameters[1].default.as_deref(), Some("None"));
        assert_eq!(type_of(book.parameters[2].annotation.as_deref().unwrap()), Some(Kind::OneOf(vec!["a".into(), "b".into()])));
        assert!(book.takes_more);
        assert_eq!(book.doc, "Books seats.\n\nAll of them.");
    }

    #[test]
    fn annotations_become_types() {
        assert_eq!(type_of("typing.Optional[int]"), Some(Kind::Either(vec![Kind::Integer, Kind::Null])));
        assert_eq!(type_of("list[str] | None"), Some(Kind::Either(vec![Kind::List(Box::new(Kind::Text)), Kind::Null])));
        assert_eq!(type_of("Widget"), None);
    }
}
