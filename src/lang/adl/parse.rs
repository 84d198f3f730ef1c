//! YAML with the place of every value and of every key, so that a finding can point at the author's word.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::error::Findings;

/// A YAML value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub data: Data,
    /// Its bytes in the source.
    pub span: Range<usize>,
}

/// What a YAML value holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// A scalar, as written.
    Scalar {
        /// Its text.
        text: String,
        /// It stands without quotes, so that it may be a number, a boolean or nothing.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// Members in the author's order.
    Map(Vec<(Word, Node)>),
}

/// A word of the author and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text.
    pub text: String,
    /// Its bytes in the source.
    pub span: Range<usize>,
}

impl Node {
    /// The member of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members().iter().find(|(k, _)| k.text == key).map(|(_, v)| v)
    }

    /// The members of a map.
    pub fn members(&self) -> &[(Word, Node)] {
        match &self.data {
            Data::Map(m) => m,
            _ => &[],
        }
    }

    /// The items of a list.
    pub fn list(&self) -> Option<&[Node]> {
        match &self.data {
            Data::List(l) => Some(l),
            _ => None,
        }
    }

    /// The text of a scalar, as written.
    pub fn word(&self) -> Option<Word> {
        match &self.data {
            Data::Scalar { text, .. } => Some(Word { text: text.clone(), span: self.span.clone() }),
            _ => None,
        }
    }

    /// Whether nothing is written here: empty, `null` or `~`.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.data, Data::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// What it is, for findings.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::Scalar { .. } => "a text",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }

    /// How many values it is made of.
    fn size(&self) -> usize {
        1 + match &self.data {
            Data::Scalar { .. } => 0,
            Data::List(l) => l.iter().map(Node::size).sum(),
            Data::Map(m) => m.iter().map(|(_, v)| v.size()).sum(),
        }
    }
}

/// Values that a file may have once its aliases are filled in.
const MOST_VALUES: usize = 200_000;
/// How deep a file may nest.
const MOST_DEPTH: usize = 100;
/// Bytes that a file may have.
const MOST_BYTES: usize = 4 << 20;

/// Reads a YAML text with one document. A syntax error ends it; a key twice, a tag and the like do not.
pub fn parse(found: &mut Findings) -> Option<Node> {
    let text = found.source().text.clone();
    if text.len() > MOST_BYTES {
        found.error("adl-too-large", 0..0, format!("the file has more than {MOST_BYTES} bytes"), "keep only the program in it");
        return None;
    }
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let body = text.get(start..).unwrap_or("");
    let mut reader = Reader { events: Parser::new_from_str(body), start, end: text.len(), anchors: HashMap::new(), size: 0, found };
    reader.document().ok()
}

/// Reading ended: it has been told why.
struct Stop;

struct Reader<'a, 'f> {
    events: Parser<'a, granit_parser::StrInput<'a>>,
    start: usize,
    end: usize,
    anchors: HashMap<usize, Node>,
    size: usize,
    found: &'f mut Findings,
}

impl<'a> Reader<'a, '_> {
    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), Stop> {
        loop {
            match self.events.next_event() {
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok((event, span))) => {
                    let tagged = event.tag().is_some();
                    let at = self.range(span);
                    if tagged {
                        let tag = span.tag_span().map_or(at.clone(), |s| self.range(s));
                        self.found.error("adl-yaml-tag", tag, "a program has no YAML tags", "remove the word that begins with `!`, or put the text in quotes");
                    }
                    return Ok((event, at));
                }
                Some(Err(e)) => {
                    let at = self.start + e.marker().byte_offset().unwrap_or_default();
                    let at = at.min(self.end);
                    self.found.syntax(at, &e.info());
                    return Err(Stop);
                }
                None => return Err(Stop),
            }
        }
    }

    fn range(&self, span: Span) -> Range<usize> {
        let place = |m: granit_parser::Marker| (self.start + m.byte_offset().unwrap_or_default()).min(self.end);
        place(span.start)..place(span.end).max(place(span.start))
    }

    fn document(&mut self) -> Result<Node, Stop> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if root.is_some() => {
                    let help = "a program is one document: remove the line `---`, or make a file of its own";
                    self.found.error("adl-several-documents", span, "a second YAML document begins here", help);
                    return root.ok_or(Stop);
                }
                Event::DocumentStart(..) => {
                    let first = self.next()?;
                    root = Some(self.node(first, 0)?);
                }
                _ => break,
            }
        }
        // A text of nothing but comments is an empty value.
        Ok(root.unwrap_or(Node { data: Data::Scalar { text: String::new(), plain: true }, span: 0..0 }))
    }

    fn node(&mut self, (event, span): (Event<'a>, Range<usize>), depth: usize) -> Result<Node, Stop> {
        if depth > MOST_DEPTH {
            self.found.error("adl-too-large", span, format!("values nest deeper than {MOST_DEPTH}"), "make subflows of the inner steps");
            return Err(Stop);
        }
        let (anchor, node) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let span = self.trimmed(span, style);
                let plain = style == ScalarStyle::Plain;
                // The parser gives what is not written as `~`.
                let text = if plain && span.is_empty() { String::new() } else { text.into_owned() };
                (anchor, Node { data: Data::Scalar { text, plain }, span })
            }
            Event::Alias(id) => match self.anchors.get(&id).cloned() {
                Some(node) => {
                    self.grow(node.size(), &span)?;
                    (0, Node { span, ..node })
                }
                None => (0, Node { data: Data::Scalar { text: String::new(), plain: true }, span }),
            },
            Event::SequenceStart(_, anchor, _) => {
                let mut items = vec![];
                let end = loop {
                    match self.next()? {
                        (Event::SequenceEnd, at) => break at.end,
                        item => items.push(self.node(item, depth + 1)?),
                    }
                };
                (anchor, Node { data: Data::List(items), span: span.start..end })
            }
            Event::MappingStart(_, anchor, _) => {
                let (members, end) = self.members(depth)?;
                (anchor, Node { data: Data::Map(members), span: span.start..end })
            }
            _ => return Err(Stop),
        };
        self.grow(1, &node.span)?;
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// Block scalars end before the blank lines after them.
    fn trimmed(&self, span: Range<usize>, style: ScalarStyle) -> Range<usize> {
        let text = self.found.source().text.get(span.clone()).unwrap_or("");
        let kept = if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded | ScalarStyle::Plain) { text.trim_end().len() } else { text.len() };
        span.start..span.start + kept
    }

    fn grow(&mut self, by: usize, at: &Range<usize>) -> Result<(), Stop> {
        self.size += by;
        if self.size <= MOST_VALUES {
            return Ok(());
        }
        self.found.error("adl-too-large", at.clone(), format!("the file has more than {MOST_VALUES} values"), "use fewer aliases");
        Err(Stop)
    }

    fn members(&mut self, depth: usize) -> Result<(Vec<(Word, Node)>, usize), Stop> {
        let mut members: Vec<(Word, Node)> = vec![];
        let mut merged: Vec<(Word, Node)> = vec![];
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, at) => {
                    for (key, value) in merged {
                        if !members.iter().any(|(k, _)| k.text == key.text) {
                            members.push((key, value));
                        }
                    }
                    return Ok((members, at.end));
                }
                event => self.node(event, depth + 1)?,
            };
            let value = self.next()?;
            let value = self.node(value, depth + 1)?;
            let Some(key) = key.word() else {
                self.found.error("adl-yaml-key", key.span.clone(), format!("a key is a text, but this one is {}", key.kind()), "write a name before the colon");
                continue;
            };
            if key.text == "<<" {
                let of = value.list().unwrap_or(std::slice::from_ref(&value));
                merged.extend(of.iter().flat_map(|n| n.members().to_vec()));
            } else if let Some((first, _)) = members.iter().find(|(k, _)| k.text == key.text) {
                let first = self.found.source().origin(first.span.clone());
                let message = format!("`{}` stands here a second time; the first is in line {}", key.text, first.line);
                self.found.error("adl-duplicate-key", key.span, message, "rename or remove one of them");
            } else {
                members.push((key, value));
            }
        }
    }
}
