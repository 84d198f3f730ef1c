//! Mistakes in fact files: undeclared predicates, wrong sorts, numbers out of bounds, names nobody declared, duplicates.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::diag::{Diagnostic, Origin, Source, did_you_mean};
use crate::ontology::{Arg, FactDecl, Ontology, Scope, Sort};
use crate::reason::syntax::parse::parse;
use crate::reason::syntax::{Expr, Head, Kind};
use crate::term::{Atom, Name, Term};

/// A fact with the places of its arguments.
pub struct Fact {
    /// The fact.
    pub atom: Atom,
    /// Its place.
    pub origin: Origin,
    /// The places of its arguments.
    pub args: Vec<Origin>,
}

/// The lines of a file, so that the places of thousands of facts are found without reading it again for each.
struct Lines<'a> {
    source: &'a Source,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(source: &'a Source) -> Self {
        let starts = std::iter::once(0).chain(source.text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Self { source, starts }
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        let line = self.starts.partition_point(|s| *s <= span.start);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.source.text.get(start..span.start).map_or(0, |t| t.chars().count()) + 1;
        let to_u32 = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Origin { file: self.source.name.clone(), start: span.start, end: span.end, line: to_u32(line), column: to_u32(column) }
    }
}

/// The names that facts declare, by predicate: the strings that stand as its first argument.
pub type Declared = BTreeMap<Name, BTreeSet<Name>>;

/// Reads fact files; what is no ground fact is reported.
pub fn read(sources: &[Source], found: &mut Vec<Diagnostic>) -> Vec<Fact> {
    let mut out = vec![];
    for source in sources {
        let (statements, errors) = parse(source);
        let lines = Lines::of(source);
        found.extend(errors);
        for s in statements {
            let atom = match &s.kind {
                Kind::Rule { head: Head::Atom(p), body } if body.is_empty() => p
                    .args
                    .iter()
                    .map(Expr::ground)
                    .collect::<Option<Vec<_>>>()
                    .map(|args| (Atom { name: p.name.clone(), args }, lines.origin(p.span.clone()), argument_spans(&source.text, p.span.clone()))),
                _ => None,
            };
            match atom {
                Some((atom, origin, spans)) => out.push(Fact { atom, origin, args: spans.into_iter().map(|s| lines.origin(s)).collect() }),
                None => {
                    found.push(Diagnostic::error("D003", s.origin.clone(), "a fact file holds ground facts only").help("move rules to the folder rules/"));
                }
            }
        }
    }
    out
}

/// The names that these facts declare.
pub fn declared(facts: &[Fact]) -> Declared {
    let mut out = Declared::new();
    for f in facts {
        if let Some(Term::Str(s)) = f.atom.args.first() {
            out.entry(f.atom.name.clone()).or_default().insert(s.clone());
        }
    }
    out
}

/// Everything wrong with the facts of a knowledge base.
pub fn check(facts: &[Fact], ontology: &Ontology, declared: &Declared, found: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<&Atom, &Origin> = BTreeMap::new();
    for fact in facts {
        if let Some(first) = seen.get(&fact.atom) {
            let d = Diagnostic::warning("fact-duplicate", fact.origin.clone(), format!("`{}` stands here for the second time", fact.atom));
            found.push(d.help(format!("remove it; the first is at {first}")));
            continue;
        }
        seen.insert(&fact.atom, &fact.origin);
        let Some(decl) = ontology.fact(&fact.atom.name, fact.atom.args.len()) else {
            found.push(undeclared(fact, ontology));
            continue;
        };
        if decl.scope != Scope::Kb {
            let d = Diagnostic::error("fact-wrong-scope", fact.origin.clone(), format!("`{}` is declared as a {} fact", fact.atom.signature(), decl.scope));
            found.push(d.help("a fact file holds the knowledge base only; conversations and sites bring the others"));
            continue;
        }
        for (i, (term, arg)) in fact.atom.args.iter().zip(&decl.args).enumerate() {
            let at = fact.args.get(i).unwrap_or(&fact.origin);
            argument(term, arg, decl, i, at, ontology, declared, found);
        }
    }
}

fn undeclared(fact: &Fact, ontology: &Ontology) -> Diagnostic {
    let (name, arity) = (&fact.atom.name, fact.atom.args.len());
    let at = Origin { end: fact.origin.start + name.len(), ..fact.origin.clone() };
    let same: Vec<_> = ontology.facts.iter().filter(|f| f.name == *name).map(|f| format!("`{}/{}`", f.name, f.args.len())).collect();
    if same.is_empty() {
        let d = Diagnostic::error("fact-unknown-predicate", at, format!("the ontology declares no fact `{name}/{arity}`"));
        return match did_you_mean(name, ontology.facts.iter().map(|f| &*f.name)) {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None => d.help("declare it under `facts` in the ontology"),
        };
    }
    Diagnostic::error("fact-wrong-arity", at, format!("`{name}` has {} here", super::rules::counted(arity)))
        .help(format!("the ontology declares {}", same.join(" and ")))
}

#[expect(clippy::too_many_arguments, reason = "one argument of one fact, with all it is judged by")]
fn argument(term: &Term, arg: &Arg, decl: &FactDecl, i: usize, at: &Origin, ontology: &Ontology, declared: &Declared, found: &mut Vec<Diagnostic>) {
    let place = format!("argument {} of `{}`", i + 1, decl.name);
    if !ontology.fits(term, arg) {
        let d = match (arg, term) {
            // Bounds that admit nothing are reported where they are written.
            (Arg::Sort(s), _) if matches!(ontology.sorts.get(s), Some(Sort::Int { min, max, .. }) if min > max) => return,
            (Arg::Sort(s), Term::Int(n)) if matches!(ontology.sorts.get(s), Some(Sort::Int { .. })) => {
                let d = Diagnostic::error("fact-out-of-bounds", at.clone(), format!("{place} is {n}"));
                match ontology.sorts.get(s) {
                    Some(Sort::Int { min, max, .. }) => d.help(format!("`{s}` admits {min} to {max}; money is counted in cents")),
                    _ => d,
                }
            }
            _ => {
                let d = Diagnostic::error("fact-wrong-sort", at.clone(), format!("`{term}` is no {arg}, as {place} must be"));
                d.help(expected(arg, term, ontology))
            }
        };
        found.push(d);
        return;
    }
    let (Arg::Sort(sort), Term::Str(name)) = (arg, term) else { return };
    let Some(facts) = closed_names(ontology, sort, 0) else { return };
    let known = facts.iter().any(|f| ontology.facts.iter().any(|d| d.name == *f));
    if !known || (i == 0 && facts.contains(&decl.name)) {
        return;
    }
    let names = || facts.iter().filter_map(|f| declared.get(f)).flatten();
    if !names().any(|n| n == name) {
        let kinds = facts.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(" or ");
        let d = Diagnostic::error("fact-dangling-name", at.clone(), format!("{term} is declared by no {kinds}, as {place} must be"));
        found.push(match did_you_mean(name, names().map(|n| &**n)) {
            Some(near) => d.help(format!("did you mean \"{near}\"?")),
            None => d.help("add the fact that declares it, or correct the name"),
        });
    }
}

/// What would have fitted.
pub fn expected(arg: &Arg, term: &Term, ontology: &Ontology) -> String {
    let Arg::Sort(s) = arg else { return format!("write `{arg}`") };
    match ontology.sorts.get(s) {
        Some(Sort::Values(list)) => {
            let near = term.as_name().and_then(|n| did_you_mean(n, list.iter().map(|v| &**v)));
            match (near, term) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, Term::Str(_)) if list.iter().any(|v| term.as_name() == Some(v)) => "write it without quotes".to_owned(),
                _ => format!("one of: {}", list.join(", ")),
            }
        }
        Some(Sort::Names(_) | Sort::NewName) => "names are strings in double quotes".to_owned(),
        Some(Sort::Int { min, max, .. }) => format!("a whole number from {min} to {max}, money in cents"),
        Some(Sort::Union(parts)) => format!("one of the sorts {}", parts.join(", ")),
        _ => "see the ontology".to_owned(),
    }
}

/// The facts that declare a sort's names; `None` if other names may be used too.
pub fn closed_names(ontology: &Ontology, sort: &str, depth: usize) -> Option<Vec<Name>> {
    match ontology.sorts.get(sort) {
        Some(Sort::Names(facts)) => Some(facts.clone()),
        Some(Sort::Union(parts)) if depth < 8 => {
            let mut all = vec![];
            for p in parts {
                all.extend(closed_names(ontology, p, depth + 1)?);
            }
            Some(all)
        }
        _ => None,
    }
}

/// The places of the arguments of an atom: what stands between its commas.
pub fn argument_spans(text: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let atom = text.get(span.clone()).unwrap_or("");
    let Some(open) = atom.find('(') else { return vec![] };
    let (mut out, mut depth, mut start, mut quoted, mut escaped) = (vec![], 0usize, open + 1, false, false);
    let mut push = |from: usize, to: usize| {
        let piece = atom.get(from..to).unwrap_or("");
        let lead = piece.len() - piece.trim_start().len();
        out.push(span.start + from + lead..span.start + from + lead + piece.trim().len());
    };
    for (i, c) in atom.char_indices().skip_while(|(i, _)| *i <= open) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' if depth == 0 => {
                push(start, i);
                break;
            }
            ')' => depth -= 1,
            ',' if depth == 0 => {
                push(start, i);
                start = i + 1;
            }
            _ => {}
        }
    }
    out
}
