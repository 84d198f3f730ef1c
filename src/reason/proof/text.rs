//! Proofs in words: as one sentence, and as a tree.

use std::collections::BTreeSet;

use super::{Because, By, Fails, Failure, Proof, RuleRef, Way, WhyNot};
use crate::term::Atom;

/// How many supporting clauses a sentence has at most.
const CLAUSES: usize = 4;

impl Proof {
    /// One sentence: what was decided, and the told facts it rests on; `provenance` says who told a fact, or nothing.
    pub fn sentence(&self, provenance: &dyn Fn(&Atom) -> String) -> String {
        let mut clauses = Vec::new();
        let said = self.passed_on();
        let head = match &said.by {
            By::Rule { rule, because } => {
                because.iter().for_each(|b| clauses_of(b, &rule.reading, provenance, &mut clauses));
                spoken(&said.atom, rule)
            }
            _ => told(&said.atom, provenance),
        };
        let mut seen = BTreeSet::new();
        clauses.retain(|c| *c != head && seen.insert(c.clone()));
        clauses.truncate(CLAUSES);
        match clauses.split_last() {
            None => head,
            Some((one, [])) => format!("{head}, because {one}"),
            Some((last, many)) => format!("{head}, because {} and {last}", many.join(", ")),
        }
    }

    /// Where rules without words of their own only pass on what one rule derived: that step, else this one.
    fn passed_on(&self) -> &Self {
        let By::Rule { rule, because } = &self.by else { return self };
        if !rule.reading.is_empty() {
            return self;
        }
        let derived: Vec<&Self> = because
            .iter()
            .filter_map(|b| if let Because::Holds { proof } = b { Some(&**proof) } else { None })
            .filter(|p| matches!(&p.by, By::Rule { because, .. } if !because.is_empty()))
            .collect();
        match derived.as_slice() {
            [one] => one.passed_on(),
            _ => self,
        }
    }

    /// The whole tree, one line a step; what was shown before is not repeated.
    pub fn tree(&self, provenance: &dyn Fn(&Atom) -> String) -> String {
        let mut out = String::new();
        let mut seen = BTreeSet::new();
        write_proof(self, 0, provenance, &mut seen, &mut out);
        out
    }
}

impl WhyNot {
    /// The rules that could have derived it, what each lacks and why, closest first.
    pub fn text(&self, provenance: &dyn Fn(&Atom) -> String) -> String {
        if !self.holds.is_empty() {
            let all = self.holds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return format!("but it is so: {all}\n");
        }
        if self.ways.is_empty() {
            return format!("nobody stored or said {}, and no rule derives such a thing\n", self.atom);
        }
        let mut out = format!("{} was not derived; what rules for it lack, closest first:\n", self.atom);
        for w in &self.ways {
            write_way(w, 1, provenance, &mut out);
        }
        out
    }
}

fn write_way(w: &Way, depth: usize, provenance: &dyn Fn(&Atom) -> String, out: &mut String) {
    let what = if w.rule.reading.is_empty() { w.rule.text.split_whitespace().collect::<Vec<_>>().join(" ") } else { format!("\"{}\"", w.rule.reading) };
    line(depth, &format!("{what} [{}:{}]", w.rule.file, w.rule.line), out);
    let more = match w.missing {
        0 | 1 => String::new(),
        2 => ", and one more condition does not hold".to_owned(),
        n => format!(", and {} more conditions do not hold", n - 1),
    };
    let why = match w.kind {
        Fails::Unsaid => format!("nobody said {}{more}", w.fails),
        Fails::NoFact => format!("there is no {}{more}", w.fails),
        Fails::NotDerived => format!("{} does not hold{more}", w.fails),
        Fails::Test => format!("it is not so that {}{more}", w.fails),
        Fails::Holds => match w.because.as_deref() {
            // What stands in the way, in the author's words where there are some.
            Some(p) => format!("it is so: {}{more}", p.sentence(provenance)),
            None => format!("it is so: {}{more}", w.fails),
        },
    };
    line(depth + 1, &why, out);
    w.deeper.iter().for_each(|d| write_way(d, depth + 2, provenance, out));
}

fn spoken(atom: &Atom, rule: &RuleRef) -> String {
    if rule.reading.is_empty() { atom.to_string() } else { rule.reading.clone() }
}

fn has_words(p: &Proof) -> bool {
    matches!(&p.by, By::Rule { rule, .. } if !rule.reading.is_empty())
}

fn told(atom: &Atom, provenance: &dyn Fn(&Atom) -> String) -> String {
    match provenance(atom) {
        p if p.is_empty() => atom.to_string(),
        p => format!("{atom} ({p})"),
    }
}

/// The clauses of a reason below what says `above`.
fn clauses_of(b: &Because, above: &str, provenance: &dyn Fn(&Atom) -> String, out: &mut Vec<String>) {
    match b {
        Because::Holds { proof } => match &proof.by {
            // What has no words, or says no more than what stands above it, is passed over for its reasons.
            By::Rule { rule, because } if rule.reading.is_empty() || rule.reading == above => {
                because.iter().for_each(|b| clauses_of(b, above, provenance, out));
            }
            // What says the same of one thing alone is passed over for its reason.
            By::Rule { because, .. } if matches!(because.as_slice(), [Because::Holds { proof }] if has_words(proof)) => {
                because.iter().for_each(|b| clauses_of(b, above, provenance, out));
            }
            By::Rule { rule, because } => {
                let mut sources: BTreeSet<String> = BTreeSet::new();
                because.iter().for_each(|b| sources_of(b, provenance, &mut sources));
                out.push(if sources.is_empty() {
                    rule.reading.clone()
                } else {
                    format!("{} ({})", rule.reading, sources.into_iter().collect::<Vec<_>>().join("; "))
                });
            }
            _ => {
                let p = provenance(&proof.atom);
                if !p.is_empty() {
                    out.push(format!("{} ({p})", proof.atom));
                }
            }
        },
        Because::Absent { pattern, ways } if ways.is_empty() => out.push(format!("there is no {pattern}")),
        Because::Absent { .. } | Because::Test { .. } => {}
        Because::Aggregate { elements, .. } => elements.iter().flat_map(|e| &e.because).for_each(|b| clauses_of(b, above, provenance, out)),
        Because::All { instances, .. } => instances.iter().flatten().for_each(|b| clauses_of(b, above, provenance, out)),
    }
}

fn sources_of(b: &Because, provenance: &dyn Fn(&Atom) -> String, out: &mut BTreeSet<String>) {
    match b {
        Because::Holds { proof } => match &proof.by {
            By::Rule { because, .. } => because.iter().for_each(|b| sources_of(b, provenance, out)),
            _ => {
                let p = provenance(&proof.atom);
                if !p.is_empty() {
                    out.insert(p);
                }
            }
        },
        Because::Aggregate { elements, .. } => elements.iter().flat_map(|e| &e.because).for_each(|b| sources_of(b, provenance, out)),
        Because::All { instances, .. } => instances.iter().flatten().for_each(|b| sources_of(b, provenance, out)),
        Because::Absent { .. } | Because::Test { .. } => {}
    }
}

fn line(depth: usize, text: &str, out: &mut String) {
    out.push_str(&"  ".repeat(depth));
    out.push_str(text);
    out.push('\n');
}

fn write_proof(p: &Proof, depth: usize, provenance: &dyn Fn(&Atom) -> String, seen: &mut BTreeSet<Atom>, out: &mut String) {
    match &p.by {
        By::Fact => line(depth, &told(&p.atom, provenance), out),
        By::Solver => line(depth, &format!("{} (chosen by the solver)", p.atom), out),
        By::Rule { rule, because } => {
            let reading = if rule.reading.is_empty() { String::new() } else { format!(": {}", rule.reading) };
            if !because.is_empty() && !seen.insert(p.atom.clone()) {
                line(depth, &format!("{}{reading} (see above)", p.atom), out);
                return;
            }
            line(depth, &format!("{}{reading} [{}:{}]", p.atom, rule.file, rule.line), out);
            because.iter().for_each(|b| write_because(b, depth + 1, provenance, seen, out));
        }
    }
}

fn write_because(b: &Because, depth: usize, provenance: &dyn Fn(&Atom) -> String, seen: &mut BTreeSet<Atom>, out: &mut String) {
    match b {
        Because::Holds { proof } => write_proof(proof, depth, provenance, seen, out),
        Because::Test { text } => line(depth, text, out),
        Because::Absent { pattern, ways } => {
            line(depth, &format!("no {pattern}"), out);
            ways.iter().for_each(|w| line(depth + 1, &way(w), out));
        }
        Because::Aggregate { text, elements } => {
            line(depth, text, out);
            for e in elements {
                let tuple = e.tuple.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                line(depth + 1, &format!("{tuple}:"), out);
                e.because.iter().for_each(|b| write_because(b, depth + 2, provenance, seen, out));
            }
        }
        Because::All { text, instances } => {
            line(depth, &format!("for all: {text}"), out);
            instances.iter().flatten().for_each(|b| write_because(b, depth + 1, provenance, seen, out));
        }
    }
}

fn way(f: &Failure) -> String {
    let what = if f.rule.reading.is_empty() { f.rule.text.split_whitespace().collect::<Vec<_>>().join(" ") } else { f.rule.reading.clone() };
    format!("{}: not by \"{what}\" [{}:{}]", f.fails, f.rule.file, f.rule.line)
}
