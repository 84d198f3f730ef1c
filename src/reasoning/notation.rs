//! Notations in which a model writes what a text tells and asks: the prompt, the shape of a reply, and its way to what was told and asked.

use serde::Deserialize;
use serde_json::{Value, json};

use super::given::{self, Read};
use crate::diag::{Diagnostic, Origin};
use crate::domain::Files;
use crate::understand::llm::schema::object;

/// What every notation's prompt begins with.
const FRAME: &str = include_str!("../../prompts/core/parses.txt");
/// Most problems of a reply that are told at once.
const TOLD: usize = 6;

/// A notation: a file of `kb/reason/` that profiles name under `parses`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notation {
    sections: Sections,
    /// How an option and what was made of it are written, where options say something: `{label}) {said}`.
    option: Option<String>,
    /// What a model is told of statements.
    prompt: String,
    #[serde(default)]
    examples: Vec<Example>,
    /// What statements look like, as a regular expression, where one can say it.
    pattern: Option<String>,
    /// The same as GBNF: rules with `statement`, and `declared` if declarations look otherwise.
    #[serde(default)]
    grammar: String,
}

/// The headings under which statements stand in a program (`given`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    declared: Option<String>,
    told: String,
    asked: String,
}

/// A line with its statements.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    line: String,
    says: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    #[serde(default)]
    declared: Vec<String>,
    lines: Vec<Line>,
    #[serde(default)]
    supposed: Vec<String>,
    asked: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    n: usize,
    says: Vec<String>,
}

/// A program under way: its text, and what each of its lines came from.
#[derive(Default)]
struct Program {
    text: String,
    from: Vec<String>,
    wrong: Vec<String>,
}

impl Program {
    fn line(&mut self, text: &str, from: String) {
        self.text.push_str(text);
        self.text.push('\n');
        self.from.push(from);
    }

    /// A statement of one line; what would be a heading or bring words of its own is none.
    fn statement(&mut self, said: &str, from: String, written: impl Fn(&str) -> String) {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        if said.is_empty() || said.starts_with('#') || said.ends_with(':') || said.contains(":::") {
            self.wrong.push(format!("{from}: `{said}` is no statement"));
        } else {
            self.line(&written(&said), format!("{from}: `{said}`"));
        }
    }
}

impl Notation {
    /// Reads the notation `kb/reason/NAME.yaml`.
    pub fn load(files: &Files, name: &str) -> Result<Self, Diagnostic> {
        let file = format!("kb/reason/{name}.yaml");
        let at = |line: u64, column: u64| {
            let number = |n: u64| u32::try_from(n).unwrap_or(1);
            Origin { file: file.as_str().into(), start: 0, end: 0, line: number(line), column: number(column) }
        };
        let text = files.read(&file).ok_or_else(|| Diagnostic::error("R003", at(1, 1), format!("there is no notation `{name}`")))?;
        serde_saphyr::from_str(&text).map_err(|e| {
            let (line, column) = e.location().map_or((1, 1), |l| (l.line(), l.column()));
            Diagnostic::error("R004", at(line, column), e.to_string()).help("see docs/reasoning.md for what a notation says")
        })
    }

    /// What a model is told first, the same for every text.
    pub fn prefix(&self) -> String {
        let mut out = format!("{FRAME}{}", self.prompt);
        if self.sections.declared.is_some() {
            out.push_str("`declared` comes first in the reply.\n");
        }
        for e in &self.examples {
            out.push_str(&format!("Example: {} says {}\n", json!(e.line), json!(e.says)));
        }
        out
    }

    /// What it is told of one text and question.
    pub fn turn(&self, lines: &[String], ask: &str, options: &[String]) -> String {
        let lines: Vec<Value> = (1..).zip(lines).map(|(n, text): (usize, _)| json!({"n": n, "text": text})).collect();
        let mut turn = json!({"lines": lines, "question": ask});
        if let Some(map) = turn.as_object_mut().filter(|_| self.option.is_some()) {
            map.insert("options".to_owned(), json!(options));
        }
        turn.to_string()
    }

    /// The reply's shape as JSON Schema.
    pub fn schema(&self) -> Value {
        let statement = self.pattern.as_ref().map_or_else(|| json!({"type": "string"}), |p| json!({"type": "string", "pattern": p}));
        let list = |of: &Value| json!({"type": "array", "items": of});
        let line = object([("n".to_owned(), json!({"type": "integer"})), ("says".to_owned(), list(&statement))]);
        let declared = self.sections.declared.as_ref().map(|_| ("declared".to_owned(), list(&json!({"type": "string"}))));
        let rest = [("lines", list(&line)), ("supposed", list(&statement)), ("asked", list(&statement))];
        object(declared.into_iter().chain(rest.into_iter().map(|(k, v)| (k.to_owned(), v))))
    }

    /// The same as GBNF.
    pub fn gbnf(&self) -> String {
        let has = |rule: &str| self.grammar.lines().any(|l| l.starts_with(&format!("{rule} ::=")));
        let text = |rule: &str| if has(rule) { format!(r#""\"" {rule} "\"""#) } else { "text".to_owned() };
        let list = |item: &str| format!(r#""[" ({item} ("," {item})*)? "]""#);
        let declared = if self.sections.declared.is_some() { r#""\"declared\":" declarations ",""# } else { "" };
        [
            format!(r#"root ::= "{{" {declared} "\"lines\":" lines ",\"supposed\":" statements ",\"asked\":" statements "}}""#),
            format!("lines ::= {}", list("line")),
            r#"line ::= "{\"n\":" [0-9]+ ",\"says\":" statements "}""#.to_owned(),
            format!("statements ::= {}", list(&text("statement"))),
            format!("declarations ::= {}", list(&text("declared"))),
            r#"text ::= "\"" [^"\\\x00-\x1F]* "\"""#.to_owned(),
            self.grammar.clone(),
        ]
        .join("\n")
    }

    /// What a reply tells and asks; `Err` says what cannot be used of it, with the statement and the place in it.
    pub fn read(&self, reply: Value, lines: &[String], options: &[String]) -> Result<Read, Vec<String>> {
        let reply: Reply = serde_json::from_value(reply).map_err(|e| vec![e.to_string()])?;
        let mut program = Program::default();
        for n in 1..=lines.len() {
            match reply.lines.iter().filter(|l| l.n == n).count() {
                0 => program.wrong.push(format!("line {n} is missing in `lines`; where it tells nothing its `says` is empty")),
                1 => {}
                _ => program.wrong.push(format!("line {n} stands in `lines` more than once")),
            }
        }
        program.wrong.extend(reply.lines.iter().filter(|l| l.n == 0 || l.n > lines.len()).map(|l| format!("there is no line {}", l.n)));
        if let Some(heading) = &self.sections.declared {
            program.line(&format!("{heading}:"), String::new());
            reply.declared.iter().for_each(|d| program.statement(d, "`declared`".to_owned(), str::to_owned));
        }
        program.line(&format!("{}:", self.sections.told), String::new());
        for l in &reply.lines {
            // The words of a statement are for now the number of its line.
            l.says.iter().for_each(|s| program.statement(s, format!("line {}", l.n), |s| format!("{s} ::: {}", l.n)));
        }
        reply.supposed.iter().for_each(|s| program.statement(s, "`supposed`".to_owned(), |s| format!("{s} ::: 0")));
        program.line(&format!("{}:", self.sections.asked), String::new());
        let asked = self.option.as_ref().map_or(1, |_| options.len());
        if reply.asked.len() != asked {
            program.wrong.push(format!("`asked` has {} statements, but {asked} are asked about", reply.asked.len()));
        }
        for (n, s) in reply.asked.iter().enumerate() {
            let label = options.get(n).and_then(|o| o.split_once(')')).map_or("", |(l, _)| l.trim());
            let written = |s: &str| self.option.as_ref().map_or_else(|| s.to_owned(), |o| o.replace("{label}", label).replace("{said}", s));
            program.statement(s, format!("`asked` {}", n + 1), written);
        }
        let Program { text, from, mut wrong } = program;
        let mut read = given::program(&text);
        let place = |line: usize| line.checked_sub(1).and_then(|at| from.get(at)).cloned().unwrap_or_default();
        wrong.extend(read.faults.iter().map(|f| format!("{}, column {}: {}", place(f.line), f.column, f.message)));
        if wrong.is_empty() && read.question.is_none() {
            wrong.push("nothing is asked".to_owned());
        }
        if !wrong.is_empty() {
            wrong.truncate(TOLD);
            return Err(wrong);
        }
        for t in &mut read.theory.told {
            t.line = t.text.parse().unwrap_or_default();
            t.text = t.line.checked_sub(1).and_then(|at| lines.get(at)).cloned().unwrap_or_else(|| "the question supposes it".to_owned());
        }
        Ok(read)
    }
}
