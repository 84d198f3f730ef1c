//! What can be wrong with a program's Python files: their syntax, which Python itself reads without running a line, and what cannot be declared.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use super::error::Findings;
use super::names::{Callable, Scope};
use super::python::type_of;
use super::syntax::StepKind;
use crate::diag::{Diagnostic, Source, line_start};

/// The longest that reading the files may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Reads the texts on its input and prints what is wrong with them. Nothing of them is run.
const READER: &str = "
import ast, json, sys, warnings
warnings.simplefilter('ignore')
out = []
for file in json.load(sys.stdin):
    try:
        ast.parse(file['text'])
    except SyntaxError as e:
        out.append({'file': file['name'], 'line': e.lineno or 1, 'column': e.offset or 1, 'message': e.msg or 'invalid syntax'})
    except ValueError as e:
        out.append({'file': file['name'], 'line': 1, 'column': 1, 'message': str(e)})
json.dump(out, sys.stdout)
";

/// Tells what is wrong with the files, and with the functions that the program names.
pub fn check(scope: Scope<'_>, files: &[Source], found: &mut Findings) {
    for wrong in syntax(files).unwrap_or_default() {
        let Some(source) = files.iter().find(|f| *f.name == *wrong.file) else { continue };
        let start = line_start(&source.text, wrong.line);
        let line = source.text.get(start..).unwrap_or("").lines().next().unwrap_or("");
        let column: usize = line.chars().take(wrong.column.saturating_sub(1)).map(char::len_utf8).sum();
        let at = source.origin(start + column..start + column);
        let d = Diagnostic::error("adl-python", at, format!("`{}` is no Python: {}", wrong.file, wrong.message));
        found.other(d.help("correct it; `python3 -m py_compile` tells the same"));
    }
    for function in named(scope) {
        let Some(source) = files.iter().find(|f| *f.name == *function.file) else { continue };
        if let Some(rest) = &function.def.has_rest {
            let message = format!("nothing can be given for this parameter of `{}`", function.def.name);
            found.other(Diagnostic::warning("adl-python-parameter", source.origin(rest.clone()), message).help("name the parameters one by one"));
        }
        for p in &function.def.parameters {
            if let Some(annotation) = p.annotation.as_deref().filter(|a| type_of(a).is_none()) {
                let message = format!("the type `{annotation}` of `{}` in `{}` is taken for text", p.name, function.def.name);
                let help = "types are str, int, float, bool, list, dict, Optional, Literal and unions of them";
                found.other(Diagnostic::warning("adl-python-parameter", source.origin(p.span.clone()), message).help(help));
            }
        }
    }
}

/// The functions that the program names, each once.
fn named<'a>(scope: Scope<'a>) -> Vec<&'a Callable> {
    let mut out: Vec<&Callable> = vec![];
    for agent in &scope.document.agents {
        let called = agent.steps().into_iter().filter_map(|s| if let StepKind::Call { target, .. } = &s.kind { Some(&target.text) } else { None });
        for name in called.chain(agent.uses.iter().map(|u| &u.text)) {
            if let Some(f) = scope.function(name).filter(|f| !out.contains(f)) {
                out.push(f);
            }
        }
    }
    out
}

/// A fault that Python found.
#[derive(Deserialize)]
struct Wrong {
    file: String,
    line: usize,
    column: usize,
    message: String,
}

/// What Python says of the files; nothing if there is no Python.
fn syntax(files: &[Source]) -> Option<Vec<Wrong>> {
    if files.is_empty() {
        return Some(vec![]);
    }
    let texts: Vec<_> = files.iter().map(|f| json!({ "name": *f.name, "text": *f.text })).collect();
    let mut child = Command::new("python3").args(["-I", "-S", "-c", READER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
    let text = serde_json::to_string(&texts).ok()?;
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let reader = std::thread::spawn(move || {
        let mut told = String::new();
        stdout.read_to_string(&mut told).map(|_| told)
    });
    let since = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if since.elapsed() > LONGEST {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = writer.join();
    serde_json::from_str(&reader.join().ok()?.ok()?).ok()
}
