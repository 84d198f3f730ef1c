//! Changes of facts: their text form, their canonical order, and the rights they need.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Provenance;
use crate::ontology::{Ontology, Scope};
use crate::term::{Atom, Term};

/// What happens to a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// It is taken away.
    Del,
    /// It is added.
    Add,
}

/// One change of one fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// In which scope.
    pub scope: Scope,
    /// Added or deleted.
    pub op: Op,
    /// The fact.
    pub fact: Atom,
}

impl Change {
    /// A fact added.
    pub fn add(scope: Scope, fact: Atom) -> Self {
        Self { scope, op: Op::Add, fact }
    }

    /// A fact deleted.
    pub fn del(scope: Scope, fact: Atom) -> Self {
        Self { scope, op: Op::Del, fact }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Del => "del",
            Self::Add => "add",
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.op, self.scope, self.fact)
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A text is no change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no change of a fact (expected `add` or `del`, a scope and a fact)")]
pub struct NoChange(pub String);

impl FromStr for Change {
    type Err = NoChange;

    fn from_str(text: &str) -> Result<Self, NoChange> {
        let refused = || NoChange(text.chars().take(120).collect());
        let (op, rest) = text.split_once(' ').ok_or_else(refused)?;
        let (scope, fact) = rest.split_once(' ').ok_or_else(refused)?;
        let op = match op {
            "add" => Op::Add,
            "del" => Op::Del,
            _ => return Err(refused()),
        };
        let scope = scope.parse().map_err(|()| refused())?;
        let fact = Atom::parse(fact).map_err(|_| refused())?;
        Ok(Self { scope, op, fact })
    }
}

/// The changes as the log keeps them: one a line. A fact's text never holds a line break (the printer escapes it).
pub fn changes_to_text(changes: &[Change]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Reads what [`changes_to_text`] wrote.
pub fn text_to_changes(text: &str) -> Result<Vec<Change>, NoChange> {
    text.split('\n').filter(|line| !line.is_empty()).map(str::parse).collect()
}

/// The changes as a set in canonical order: a fact both deleted and added stays (the deletion is dropped), so that the
/// order within one turn cannot matter.
pub fn canonical(changes: &[Change]) -> Vec<Change> {
    let mut last: BTreeMap<(Scope, &Atom), Op> = BTreeMap::new();
    for c in changes {
        let op = last.entry((c.scope, &c.fact)).or_insert(c.op);
        *op = (*op).max(c.op);
    }
    let mut set: Vec<Change> = last.into_iter().map(|((scope, fact), op)| Change { scope, op, fact: fact.clone() }).collect();
    set.sort();
    set
}

/// What a sequence of kb changes comes to: of several changes of one fact the last counts.
pub fn net<'a>(pending: impl IntoIterator<Item = (&'a Change, &'a Provenance)>) -> BTreeMap<&'a Atom, (Op, &'a Provenance)> {
    pending.into_iter().map(|(c, p)| (&c.fact, (c.op, p))).collect()
}

/// The kb changes that turn one base of facts into another.
pub fn difference(old: &BTreeSet<Atom>, new: &BTreeSet<Atom>) -> Vec<Change> {
    let gone = old.difference(new).map(|f| Change::del(Scope::Kb, f.clone()));
    let come = new.difference(old).map(|f| Change::add(Scope::Kb, f.clone()));
    gone.chain(come).collect()
}

/// A content hash of a set of facts: the same in any order and with repetitions, stable over versions of this program
/// (FNV-1a with 128 bits; it finds changes and does not defend against forgery).
pub fn content_hash<'a>(facts: impl IntoIterator<Item = &'a Atom>) -> String {
    let mut sorted: Vec<&Atom> = facts.into_iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut hash = Fnv::new();
    for fact in sorted {
        // Hashing cannot fail: the writer below never does.
        let _ = writeln!(hash, "{fact}");
    }
    format!("{:032x}", hash.finish())
}

/// The hash while text is written to it.
pub(super) struct Fnv(u128);

impl Fnv {
    /// Of nothing yet.
    pub(super) fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Of what was written.
    pub(super) fn finish(self) -> u128 {
        self.0
    }
}

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        Ok(())
    }
}

/// A derived effect that the role has no right to, or that is no effect at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Not of the form `effect(add|del, kb|shared|session, Fact)`.
    #[error("`{0}` is no effect on facts")]
    NoEffect(Atom),
    /// The ontology does not declare the fact for that scope, or the role may not change it.
    #[error("a {role} has no right to `{effect}`")]
    NoRight {
        /// The role.
        role: String,
        /// The effect.
        effect: Atom,
    },
}

/// Derived effects to changes, each checked against the rights of the role. The effects that pass come with the ones
/// that do not; whether a turn with a denied effect may go on is its caller's decision.
pub fn effects_to_changes<'a>(effects: impl IntoIterator<Item = &'a Atom>, ontology: &Ontology, role: &str) -> (Vec<Change>, Vec<Denied>) {
    let (mut changes, mut denied) = (Vec::new(), Vec::new());
    for effect in effects {
        match effect_to_change(effect) {
            None => denied.push(Denied::NoEffect(effect.clone())),
            Some(c) if ontology.may_change(role, c.scope, &c.fact.name, c.fact.args.len()) => changes.push(c),
            Some(_) => denied.push(Denied::NoRight { role: role.to_owned(), effect: effect.clone() }),
        }
    }
    (canonical(&changes), denied)
}

fn effect_to_change(effect: &Atom) -> Option<Change> {
    let [Term::Const(op), Term::Const(scope), fact] = effect.args.as_slice() else { return None };
    let op = match &**op {
        "add" => Op::Add,
        "del" => Op::Del,
        _ => return None,
    };
    (&*effect.name == "effect").then_some(())?;
    Some(Change { scope: scope.parse().ok()?, op, fact: fact.to_atom()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str) -> Change {
        text.parse().unwrap()
    }

    #[test]
    fn text_and_back() {
        let all = vec![change("add session line(1,\"a b\\nc\")"), change("del kb dish(\"x\")")];
        assert_eq!(text_to_changes(&changes_to_text(&all)), Ok(all));
        assert_eq!(text_to_changes(""), Ok(vec![]));
        for text in ["", "add", "add kb", "put kb a", "add menu a", "add kb X"] {
            assert!(text.parse::<Change>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_turns_changes_are_a_set() {
        let one = canonical(&[change("add session b"), change("del session b"), change("add session a"), change("add session a"), change("del shared a")]);
        let other = canonical(&[change("del shared a"), change("del session b"), change("add session a"), change("add session b")]);
        assert_eq!(one, other);
        assert_eq!(changes_to_text(&one), "del shared a\nadd session a\nadd session b");
    }

    #[test]
    fn the_hash_tells_content_not_order() {
        let hash = |texts: &[&str]| content_hash(&texts.iter().map(|t| Atom::parse(t).unwrap()).collect::<Vec<_>>());
        assert_eq!(hash(&["a", "b"]), hash(&["b", "a", "a"]));
        assert_ne!(hash(&["a", "b"]), hash(&["a(b)"]));
        assert_ne!(hash(&["a(\"1\")"]), hash(&["a(1)"]));
        assert_eq!(hash(&[]), "6c62272e07bb014262b821756295c58d", "files written today are read tomorrow");
    }
}
