//! The findings of one program: each with its place, the path of keys and places that leads there, and its remedy.

use std::ops::Range;

use super::parse::{Data, Node, Word};
use crate::diag::{Diagnostic, Source, did_you_mean};

/// What is wrong with a program, as far as it has been read.
#[derive(Debug)]
pub struct Findings {
    source: Source,
    list: Vec<Diagnostic>,
}

impl Findings {
    /// No findings yet.
    pub fn new(source: Source) -> Self {
        Self { source, list: vec![] }
    }

    /// The program's text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Something that stops the program from loading.
    pub fn error(&mut self, code: &'static str, at: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.list.push(Diagnostic::error(code, self.source.origin(at), message).help(help));
    }

    /// Something that was hardly meant.
    pub fn warning(&mut self, code: &'static str, at: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.list.push(Diagnostic::warning(code, self.source.origin(at), message).help(help));
    }

    /// A finding of another file.
    pub fn other(&mut self, finding: Diagnostic) {
        self.list.push(finding);
    }

    /// The text is no YAML from here on.
    pub fn syntax(&mut self, at: usize, told: &str) {
        let text = &self.source.text;
        let line = text.get(..at).unwrap_or("").rsplit('\n').next().unwrap_or("");
        let rest = text.get(at..).unwrap_or("").split('\n').next().unwrap_or("");
        let whole = format!("{line}{rest}");
        let help = if whole.contains('\t') && whole.trim_start_matches(' ').starts_with('\t') {
            "indent with blanks: YAML takes no tabs there"
        } else if told.contains("mapping values") || whole.matches(": ").count() > 1 {
            "put the text in quotes: a colon and a blank begin a value in YAML"
        } else {
            "look at the quotes, colons and indentation of this line and the one before it"
        };
        let word = rest.split_whitespace().next().map(|w| format!(", at `{w}`")).unwrap_or_default();
        self.error("adl-yaml", at..at, format!("this is no YAML: {told}{word}"), help);
    }

    /// The findings in the order of their places, with their paths in the program.
    pub fn done(self, root: Option<&Node>) -> Vec<Diagnostic> {
        let mut list = self.list;
        for d in list.iter_mut().filter(|d| d.origin.file == self.source.name) {
            d.path = Some(root.map(|r| path_of(r, d.origin.start).join(".")).unwrap_or_default());
        }
        list.sort_by(|a, b| (a.origin.file != self.source.name, &a.origin, a.code).cmp(&(b.origin.file != self.source.name, &b.origin, b.code)));
        list.dedup();
        list
    }
}

/// The keys and places, from 0, that lead to what stands at a byte of the source.
pub fn path_of(root: &Node, at: usize) -> Vec<String> {
    let mut path: Vec<String> = vec![];
    let mut open = root;
    loop {
        let holds = |r: &Range<usize>| r.contains(&at) || (r.is_empty() && r.start == at);
        let inner = match &open.data {
            Data::Scalar { .. } => None,
            Data::List(items) => items.iter().enumerate().find(|(_, n)| holds(&n.span)).map(|(k, n)| (k.to_string(), Some(n))),
            // What stands between a key and its value, such as a tag, belongs to the key.
            Data::Map(members) => members
                .iter()
                .find(|(k, v)| holds(&k.span) || holds(&v.span) || (k.span.start..v.span.start).contains(&at))
                .map(|(k, v)| (k.text.clone(), Some(v).filter(|v| holds(&v.span)))),
        };
        match inner {
            Some((step, next)) => {
                path.push(step);
                match next {
                    Some(next) => open = next,
                    None => break,
                }
            }
            None => break,
        }
    }
    path
}

/// The remedy for a word that is not known: the one like it, or what there is.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(near) = like(word, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    let mut listed: Vec<&str> = known;
    listed.sort_unstable();
    listed.dedup();
    match listed.len() {
        0 => otherwise.to_owned(),
        n if n > 12 => otherwise.to_owned(),
        _ => format!("{otherwise}; there are: {}", listed.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// The known word that a word was probably meant to be: the same but for case and blanks, or nearly so.
pub fn like<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |t: &str| t.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let known: Vec<&str> = known.into_iter().collect();
    let same = known.iter().copied().find(|k| *k != word && !plain(k).is_empty() && plain(k) == plain(word));
    same.or_else(|| did_you_mean(word, known))
}

/// A word of the source within a scalar, as near as its text can be found there.
pub fn within(source: &Source, whole: &Range<usize>, part: &str) -> Range<usize> {
    let text = source.text.get(whole.clone()).unwrap_or("");
    match text.find(part).filter(|_| !part.is_empty()) {
        Some(at) => whole.start + at..whole.start + at + part.len(),
        None => whole.clone(),
    }
}

impl Word {
    /// A word with its place.
    pub fn new(text: &str, span: Range<usize>) -> Self {
        Self { text: text.to_owned(), span }
    }
}
