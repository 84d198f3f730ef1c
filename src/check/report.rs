//! Findings as text, as JSON and as marked source for terminals.

use std::fmt::Write;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource};

use crate::diag::{Diagnostic, Severity};

/// One finding a paragraph.
pub fn plain(found: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in found {
        let _ = writeln!(out, "{d}");
    }
    out
}

/// How many errors and warnings there are.
pub fn summary(found: &[Diagnostic]) -> String {
    let errors = found.iter().filter(|d| d.severity == Severity::Error).count();
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match (errors, found.len() - errors) {
        (0, 0) => "nothing is wrong".to_owned(),
        (e, w) => format!("{}, {}", count(e, "error"), count(w, "warning")),
    }
}

/// The findings for machines.
pub fn json(found: &[Diagnostic]) -> String {
    serde_json::to_string_pretty(found).unwrap_or_default()
}

/// The findings with the marked lines of their files; `text` gives a file's text by the name the findings use.
pub fn graphical(found: &[Diagnostic], text: &dyn Fn(&str) -> Option<String>, color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false);
    let mut out = String::new();
    for d in found {
        let Some(source) = text(&d.origin.file) else {
            let _ = writeln!(out, "{d}\n");
            continue;
        };
        let severity = match d.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        };
        let label = d.label.clone().unwrap_or_else(|| "here".to_owned());
        let mut shown = MietteDiagnostic::new(d.message.clone())
            .with_code(d.code)
            .with_severity(severity)
            .with_label(LabeledSpan::at(d.origin.start..d.origin.end.max(d.origin.start), label));
        if let Some(help) = &d.help {
            shown = shown.with_help(help.clone());
        }
        let report = miette::Report::new(shown).with_source_code(NamedSource::new(&*d.origin.file, source));
        let _ = handler.render_report(&mut out, report.as_ref());
        out.push('\n');
    }
    out
}
