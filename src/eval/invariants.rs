//! Invariants: what must hold after every turn whatever was said, declared by the domain as rules that derive `violation(…)`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diag::{Diagnostic, Source};
use crate::domain::{Domain, signature};
use crate::facts::SessionKey;
use crate::ontology::{Scope, Sort};
use crate::reason::{Base, Budget, Reasoner, Rules, decide};
use crate::render::Say;
use crate::render::faithful::{scan::NameIndex, unsupported};
use crate::term::{Atom, Term};
use crate::turn::{Engine, TurnRecord};

/// The invariants of all programs of agents.
const AGENTS: &str = "rules/core/agents_invariants.lp";

/// The compiled invariants of a domain.
pub struct Invariants {
    rules: Arc<Rules>,
    /// The values of closed sorts.
    kinds: BTreeSet<String>,
    last: std::sync::Mutex<Option<Last>>,
}

/// The base that was built last, with the facts it was built from: most turns need the same.
struct Last {
    shared: Vec<Atom>,
    kb: Arc<Vec<Atom>>,
    base: Base,
    names: NameIndex,
}

/// What held before a turn.
pub struct Before {
    key: SessionKey,
    role: String,
    session: Vec<Atom>,
    shared: Vec<Atom>,
    kb: Vec<Atom>,
    kb_version: u64,
}

impl Invariants {
    /// Reads `rules/<domain>/invariants.lp`; a domain without that file has none. Programs of agents share theirs.
    pub fn load(domain: &Domain) -> Result<Option<Self>, Vec<Diagnostic>> {
        let walks = domain.program.as_ref().is_some_and(|p| p.walks());
        let path = if walks { AGENTS.to_owned() } else { format!("rules/{}/invariants.lp", domain.ontology.domain) };
        let Some(text) = domain.files.read(&path) else { return Ok(None) };
        let mut sources = vec![Source::new(&path, &text)];
        let shared = format!("rules/{}/shared.lp", domain.ontology.domain);
        sources.extend(domain.files.read(&shared).map(|t| Source::new(&shared, &t)));
        let mut signature = signature(&domain.ontology);
        for (name, arity) in [("before", 1), ("act", 3), ("view", 2), ("view", 3), ("view", 4), ("changed", 2), ("invoked", 1)] {
            signature.turn.push((name.into(), arity));
        }
        let closed = domain.ontology.sorts.values().filter_map(|s| if let Sort::Values(list) = s { Some(list) } else { None });
        let kinds = closed.flatten().map(ToString::to_string).collect();
        Ok(Some(Self { kinds, rules: Arc::new(Rules::load(&sources, &signature)?), last: std::sync::Mutex::new(None) }))
    }

    /// Remembers what holds before a turn.
    pub fn before(&self, engine: &Engine, key: &SessionKey, role: &str) -> Before {
        let store = engine.store();
        let atoms = |scope| store.facts(scope, key).map(|f| f.into_iter().map(|f| f.atom).collect()).unwrap_or_default();
        let _ = store.install(&key.site, &engine.domain().facts, 0);
        let kb_version = store.open(key, role).map(|o| o.kb_version).unwrap_or_default();
        Before { key: key.clone(), role: role.to_owned(), session: atoms(Scope::Session), shared: atoms(Scope::Shared), kb: atoms(Scope::Kb), kb_version }
    }

    /// What the turn violated: the domain's invariants, or the rights of the role.
    pub fn after(&self, engine: &Engine, before: &Before, record: &TurnRecord) -> Vec<String> {
        let mut out = vec![];
        let store = engine.store();
        let atoms = |scope| -> Vec<Atom> { store.facts(scope, &before.key).map(|f| f.into_iter().map(|f| f.atom).collect()).unwrap_or_default() };
        let shared = atoms(Scope::Shared);
        let mut facts: Vec<Atom> = store.session_facts(&before.key, record.epoch).map(|f| f.into_iter().map(|f| f.atom).collect()).unwrap_or_default();
        let may = |scope, a: &Atom| engine.domain().ontology.may_change(&before.role, scope, &a.name, a.args.len());
        for a in symmetric(&before.shared, &shared).filter(|a| !may(Scope::Shared, a)) {
            out.push(format!("rights: a {} changed the shared fact {a}", before.role));
        }
        // A conversation's end may commit what others collected, so only direct changes count here.
        for effect in record.effects.iter().filter(|e| e.scope == Scope::Kb) {
            if !may(Scope::Kb, &effect.fact) {
                out.push(format!("rights: a {} changed the kb: {effect}", before.role));
            }
        }
        if record.ended.is_none() && atoms(Scope::Kb) != before.kb {
            out.push("kb: changed while a conversation goes on".to_owned());
        }
        // What was confirmed to somebody is in the version that is made, whoever else spoke meanwhile.
        out.extend(record.refused_changes.iter().map(|r| format!("version: a confirmed change is left out: {} of {}", r.change, r.session)));
        for (k, p) in (1..).zip(&record.predicates) {
            facts.push(Atom::new("in", vec![Term::Int(k), p.to_term()]));
        }
        for (k, a) in (1..).zip(record.actions.iter().chain(&record.told)) {
            facts.push(Atom::new("act", vec![Term::Int(0), Term::Int(k), a.to_term()]));
        }
        facts.extend(before.session.iter().chain(&before.shared).map(|f| Atom::new("before", vec![f.to_term()])));
        facts.extend(record.rounds.iter().flat_map(|r| &r.calls).map(|c| Atom::new("invoked", vec![Term::string(&c.function)])));
        facts.push(Atom::new("role", vec![Term::constant(&before.role)]));
        facts.extend(record.view.iter().cloned());
        match self.violations(engine, before, &shared, &facts) {
            Ok((found, names)) => {
                out.extend(found);
                out.extend(unfaithful(record, &names));
            }
            Err(e) => out.push(format!("invariants: {e}")),
        }
        out
    }

    fn violations(&self, engine: &Engine, before: &Before, shared: &[Atom], facts: &[Atom]) -> Result<(Vec<String>, NameIndex), String> {
        let kb = engine.store().kb(&before.key.site, before.kb_version).map_err(|e| e.to_string())?;
        let written = &engine.domain().written;
        let kb = if written.is_empty() { kb } else { Arc::new(kb.iter().chain(&**written).cloned().collect()) };
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (base, names) = match &*last {
            Some(l) if l.shared == shared && l.kb == kb => (l.base.clone(), l.names.clone()),
            _ => (Base::build(&self.rules, &kb, shared).map_err(|e| e.to_string())?, index(&kb, &self.kinds)),
        };
        *last = Some(Last { shared: shared.to_vec(), kb, base: base.clone(), names: names.clone() });
        let outcome = decide(&base, facts, Reasoner::Fast, &Budget::default()).map_err(|e| e.to_string())?;
        let found = outcome.shown().iter().filter(|a| &*a.name == "violation").map(|a| format!("invariant {a}")).collect();
        Ok((found, names))
    }
}

/// Every name of the kb, but those that are also words for a kind of thing: "a drink" names none.
fn index(kb: &[Atom], kinds: &BTreeSet<String>) -> NameIndex {
    let names: BTreeSet<&str> = kb.iter().flat_map(|a| &a.args).filter_map(|t| if let Term::Str(s) = t { Some(&**s) } else { None }).collect();
    NameIndex::new(names.into_iter().filter(|n| !kinds.contains(&n.to_lowercase())))
}

/// What the reply states and neither its actions nor the inputs they answer hold (I3).
fn unfaithful(record: &TurnRecord, names: &NameIndex) -> Vec<String> {
    let answered = record.predicates.iter().map(|p| Say { action: p.clone(), input: Some(p.clone()) });
    let says: Vec<Say> = record.actions.iter().chain(&record.told).map(|a| Say { action: a.clone(), input: None }).chain(answered).collect();
    unsupported(&record.text, &says, names).iter().map(|e| format!("i3: the reply says {e}, which no action holds: {}", record.text)).collect()
}

fn symmetric<'a>(a: &'a [Atom], b: &'a [Atom]) -> impl Iterator<Item = &'a Atom> {
    a.iter().filter(move |x| !b.contains(x)).chain(b.iter().filter(move |x| !a.contains(x)))
}
