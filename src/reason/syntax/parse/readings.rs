//! The lines that say a rule in English: they stand right above it and name its variables.

use std::collections::BTreeSet;

use super::Parser;
use crate::diag::{Diagnostic, did_you_mean};
use crate::reason::syntax::{Head, Item, Kind, Span, Statement};
use crate::term::Name;

impl Parser<'_> {
    /// Whether nothing but one line break stands between two places.
    pub(super) fn adjacent(&self, end: usize, start: usize) -> bool {
        self.source.text.get(end..start).is_some_and(|t| t.bytes().filter(|b| *b == b'\n').count() <= 1)
    }

    pub(super) fn dangling(&mut self, reading: &[(String, Span)]) {
        if let Some((_, span)) = reading.first() {
            let d = Diagnostic::warning("reading-without-rule", self.source.origin(span.clone()), "this reading stands above no rule");
            self.found.push(d.help("put the `%:` line directly above the rule it reads"));
        }
    }

    pub(super) fn check_reading(&mut self, s: &Statement) {
        let Some(reading) = &s.reading else { return };
        let mut known = BTreeSet::new();
        if let Kind::Rule { head, body } = &s.kind {
            let mut note = |n: &Name, _: usize| {
                known.insert(n.to_string());
            };
            match head {
                Head::Atom(p) => p.args.iter().for_each(|a| a.each_var(&mut note)),
                Head::Disjunction(es) | Head::Choice(es) => es.iter().for_each(|e| e.literal.each_var(&mut note)),
                Head::None => {}
            }
            for item in body {
                for (l, _) in item.literals() {
                    l.each_var(&mut note);
                }
                if let Item::Aggregate(a) = item {
                    a.left.iter().for_each(|(e, _)| e.each_var(&mut note));
                    a.right.iter().for_each(|(_, e)| e.each_var(&mut note));
                }
            }
        }
        for name in placeholders(reading) {
            if !known.contains(name) {
                let near = did_you_mean(name, known.iter().map(String::as_str));
                let mut d = Diagnostic::error(
                    "reading-unknown-variable",
                    s.origin.clone(),
                    format!("the reading names `{{{name}}}`, which is no variable of the rule"),
                );
                d.help = near.map(|n| format!("did you mean `{{{n}}}`?"));
                self.found.push(d);
            }
        }
    }
}

/// The `{Names}` of a reading.
pub fn placeholders(reading: &str) -> impl Iterator<Item = &str> {
    reading.split('{').skip(1).filter_map(|piece| piece.split_once('}').map(|(name, _)| name))
}
