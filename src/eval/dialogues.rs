//! Dialogue files: what is said, what it should lead to, and why; one runner for tests and the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::invariants::Invariants;
use crate::conversation::{Part, View};
use crate::domain::Domain;
use crate::facts::{SessionKey, Store};
use crate::ontology::shape::values_of;
use crate::reason::proof::check;
use crate::term::{Atom, Pattern, Term};
use crate::turn::{Engine, Said, TurnRecord};

/// A dialogue file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogueFile {
    /// What sites settle where these dialogues hold.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The dialogues.
    pub dialogues: Vec<Dialogue>,
}

impl DialogueFile {
    /// The domain with the file's settings.
    pub fn settle(&self, domain: &Domain) -> Result<Domain, String> {
        let mut domain = domain.clone();
        self.set.iter().try_for_each(|(name, value)| domain.settle(&format!("{name}={value}")))?;
        Ok(domain)
    }
}

/// One dialogue of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialogue {
    /// Short name.
    pub id: String,
    /// What it is about.
    #[serde(alias = "name")]
    pub title: String,
    /// Who takes part, for the summary by kinds.
    #[serde(default)]
    pub kind: String,
    /// What the speaker wants, for readers.
    #[serde(default)]
    pub goal: String,
    /// Topics, for readers.
    #[serde(default)]
    pub covers: Vec<String>,
    /// Whether it can be run from its words only, because predicates cannot say what was unclear.
    #[serde(default)]
    pub words: bool,
    /// Turn by turn.
    pub steps: Vec<Step>,
    /// What holds at the end.
    #[serde(default, rename = "final")]
    pub last: Final,
}

impl Dialogue {
    /// Whether predicates cannot take it.
    pub fn only_words(&self) -> bool {
        self.words || self.steps.iter().all(|s| s.parsed.is_empty() && !s.say.is_empty())
    }
}

impl Outcome {
    /// Whether it ended as it should.
    pub fn reached(&self) -> bool {
        self.turns > 0 && self.differences.iter().all(|d| d.step != 0)
    }
}

/// One turn of a dialogue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The role that speaks.
    pub who: String,
    /// In which session; a role's name if unsaid, so each role has one.
    #[serde(default)]
    pub session: Option<String>,
    /// The words.
    #[serde(default)]
    pub say: String,
    /// The predicates they mean: the scripted understanding.
    #[serde(default)]
    pub parsed: Vec<String>,
    /// Patterns that an action must match.
    #[serde(default)]
    pub expect: Vec<String>,
    /// Lists of patterns, of each of which one must match.
    #[serde(default)]
    pub expect_any: Vec<Vec<String>>,
    /// Patterns that no action may match.
    #[serde(default)]
    pub forbid: Vec<String>,
    /// Pieces that the reply's text must contain.
    #[serde(default)]
    pub text: Vec<String>,
    /// How the conversation must end with this step.
    #[serde(default)]
    pub ended: Option<String>,
    /// Why this step is here.
    #[serde(default)]
    pub note: String,
}

/// What holds at the end of a dialogue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Final {
    /// One entry per session of the ordering role, in the order they opened.
    pub orders: Option<Vec<FinalOrder>>,
    /// The exact set of foods that ran out.
    pub runout: Option<Vec<String>>,
    /// Shared facts, exactly.
    pub shared: Option<Vec<String>>,
    /// Facts the kb has beyond the initial ones, exactly.
    pub kb_added: Option<Vec<String>>,
    /// Initial facts the kb lacks, exactly.
    pub kb_removed: Option<Vec<String>>,
    /// Patterns of which each matches a shared fact.
    pub facts: Vec<String>,
    /// Patterns that match no shared fact.
    pub absent: Vec<String>,
    /// Names that no kb fact mentions.
    pub kb_absent: Vec<String>,
    /// For readers: which menu the last order was priced by.
    pub price_menu: Option<String>,
    /// Session facts that must hold, by session.
    pub session: BTreeMap<String, Vec<String>>,
}

/// An order at the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinalOrder {
    /// placed, cancelled or open.
    pub status: String,
    /// Its items as a multiset.
    #[serde(default)]
    pub items: Vec<FinalItem>,
    /// Its total, unless cancelled.
    #[serde(default)]
    pub price: Option<i64>,
}

/// An item of a final order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinalItem {
    /// The item.
    pub item: String,
    /// Its modifications, without declined styles.
    #[serde(default)]
    pub mods: Vec<String>,
    /// Its parts.
    #[serde(default)]
    pub parts: Vec<FinalPart>,
}

/// A part of a final item.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinalPart {
    /// The slot.
    pub slot: String,
    /// What fills it.
    pub dish: Option<String>,
    /// Its modifications.
    #[serde(default)]
    pub mods: Vec<String>,
}

/// What a dialogue came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// The dialogue.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Who takes part.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Turns taken.
    pub turns: usize,
    /// Turns whose words were to mean something said beside them.
    pub labelled: usize,
    /// Those that were heard as exactly that.
    pub right: usize,
    /// Those with an act of a kind that was not meant.
    pub wrong: usize,
    /// What differs from the expectations, step by step (0 is the end).
    pub differences: Vec<Difference>,
}

/// One unmet expectation.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The step, from 1; 0 for the end.
    pub step: usize,
    /// What was said.
    pub said: String,
    /// What differs.
    pub what: String,
    /// The actions there were.
    pub actions: Vec<String>,
}

/// Reads a dialogue file: a list of dialogues, or `set` and `dialogues`. The error names its line.
pub fn read(text: &str) -> Result<DialogueFile, String> {
    let told = |e: serde_saphyr::Error| e.without_snippet().to_string();
    // A list alone is read as one, so that its errors have the place of the mistake.
    if text.lines().find(|l| !l.is_empty() && !l.starts_with(['#', ' '])).is_some_and(|l| l.starts_with('-')) {
        return Ok(DialogueFile { set: BTreeMap::new(), dialogues: serde_saphyr::from_str(text).map_err(told)? });
    }
    serde_saphyr::from_str(text).map_err(told)
}

/// Runs one dialogue on an engine with an empty store. With `words` what is said goes through the engine's translator,
/// otherwise the scripted predicates are taken.
pub fn run(dialogue: &Dialogue, engine: &Engine, words: bool, invariants: Option<&Invariants>) -> Outcome {
    run_and(dialogue, engine, words, invariants, &mut |_, _| vec![])
}

/// What is wrong with the proofs of a session's last turn, in any of its rounds; the engine must remember decisions.
pub fn flaws_of_proofs(engine: &Engine, key: &SessionKey) -> Vec<String> {
    let rounds = engine.rounds_decided(key);
    if rounds.is_empty() {
        return vec!["proofs: the decision is not remembered".to_owned()];
    }
    let flaw = |outcome: &crate::reason::Outcome| match check::decision(outcome) {
        Ok(Ok(_)) => None,
        Ok(Err(flaw)) => Some(format!("proofs: {flaw}")),
        Err(e) => Some(format!("proofs: {e}")),
    };
    rounds.iter().filter_map(|d| flaw(&d.outcome)).collect()
}

/// The same, with something else to look at after every turn; what it says are differences.
pub fn run_and(
    dialogue: &Dialogue,
    engine: &Engine,
    words: bool,
    invariants: Option<&Invariants>,
    look: &mut dyn FnMut(&Engine, &SessionKey) -> Vec<String>,
) -> Outcome {
    let mut out = Outcome { id: dialogue.id.clone(), title: dialogue.title.clone(), kind: dialogue.kind.clone(), ..Outcome::default() };
    if dialogue.only_words() && !words {
        return out;
    }
    let mut lives: Vec<(String, u64, String)> = vec![];
    let mut states: BTreeMap<(String, u64), View> = BTreeMap::new();
    for (n, step) in dialogue.steps.iter().enumerate() {
        let session = step.session.clone().unwrap_or_else(|| step.who.clone());
        let key = SessionKey::new("test", &session);
        let before = invariants.map(|i| i.before(engine, &key, &step.who));
        let said = if words && !step.say.is_empty() { Said::Text(&step.say) } else { Said::Predicates(&step.parsed) };
        out.turns += 1;
        let mut differ = |what: String, record: Option<&TurnRecord>| {
            let actions = record.map(|r| r.actions.iter().map(ToString::to_string).collect()).unwrap_or_default();
            let heard = record.map(|r| r.arrived_text()).unwrap_or_default();
            out.differences.push(Difference {
                step: n + 1,
                said: if words { format!("{} [{heard}]", step.say) } else { step.parsed.join(" ") },
                what,
                actions,
            });
        };
        match engine.turn(&key, &step.who, &said, None) {
            Err(e) => differ(format!("error: {e}"), None),
            Ok(record) => {
                if words && !step.parsed.is_empty() {
                    let (meant, heard) = (canonical_list(&step.parsed), record.predicates.iter().map(ToString::to_string).collect::<Vec<_>>());
                    out.labelled += 1;
                    out.right += usize::from(sorted(&meant) == sorted(&heard));
                    let kind = |a: &String| a.split('(').next().unwrap_or_default().to_owned();
                    let meant: BTreeSet<String> = meant.iter().map(kind).collect();
                    out.wrong += usize::from(heard.iter().map(kind).any(|k| !meant.contains(&k) && !NO_ACTS.contains(&k.as_str())));
                }
                for what in unmet(step, &record) {
                    differ(what, Some(&record));
                }
                if let (Some(invariants), Some(before)) = (invariants, before) {
                    for what in invariants.after(engine, &before, &record) {
                        differ(what, Some(&record));
                    }
                }
                for what in look(engine, &key) {
                    differ(what, Some(&record));
                }
                let life = (session.clone(), record.epoch);
                if !lives.iter().any(|(s, e, _)| (s, *e) == (&life.0, life.1)) {
                    lives.push((session, record.epoch, step.who.clone()));
                }
                states.insert(life, engine.domain().ontology.view.view(record.view));
            }
        }
    }
    let ending = at_the_end(&dialogue.last, engine, &lives, &states);
    out.differences.extend(ending.into_iter().map(|what| Difference { step: 0, said: String::new(), what, actions: vec![] }));
    out
}

fn unmet(step: &Step, record: &TurnRecord) -> Vec<String> {
    let matched = |p: &String| record.actions.iter().any(|a| matches(p, a));
    let mut out: Vec<String> = step.expect.iter().filter(|p| !matched(p)).map(|p| format!("expected `{p}`")).collect();
    out.extend(step.expect_any.iter().filter(|l| !l.iter().any(matched)).map(|l| format!("expected one of `{}`", l.join("` `"))));
    out.extend(step.forbid.iter().filter(|p| matched(p)).map(|p| format!("forbidden `{p}`")));
    out.extend(step.ended.iter().filter(|e| record.ended.as_ref() != Some(*e)).map(|e| format!("expected that the conversation ends: {e}")));
    out.extend(step.text.iter().filter(|t| !record.text.contains(t.as_str())).map(|t| format!("the reply lacks `{t}`: {}", record.text)));
    out
}

/// Whether an atom matches a pattern: `_` stands for any argument, `name/arity` for any atom of that predicate.
pub fn matches(pattern: &str, atom: &Atom) -> bool {
    if let Some((name, arity)) = pattern.rsplit_once('/')
        && !name.contains('(')
    {
        return &*atom.name == name && arity.parse() == Ok(atom.args.len());
    }
    Pattern::parse(pattern).is_ok_and(|p| p.matches_atom(atom, &mut vec![]))
}

fn at_the_end(last: &Final, engine: &Engine, lives: &[(String, u64, String)], states: &BTreeMap<(String, u64), View>) -> Vec<String> {
    let mut out = vec![];
    if let Some(expected) = &last.orders {
        let with_orders: Vec<&View> = lives.iter().filter_map(|(s, e, _)| states.get(&(s.clone(), *e))).filter(|s| price(s).is_some()).collect();
        if with_orders.len() != expected.len() {
            out.push(format!("expected {} orders, there are {}", expected.len(), with_orders.len()));
        }
        for (n, (e, s)) in expected.iter().zip(with_orders).enumerate() {
            out.extend(order_differs(e, s).map(|what| format!("order {}: {what}", n + 1)));
        }
    }
    let store = engine.store();
    let key = SessionKey::new("test", "");
    let texts = |scope| -> BTreeSet<String> { store.facts(scope, &key).map(|f| f.iter().map(|f| f.atom.to_string()).collect()).unwrap_or_default() };
    let shared = texts(crate::ontology::Scope::Shared);
    if let Some(runout) = &last.runout {
        let expected: BTreeSet<String> = runout.iter().map(|r| Atom::new("runout", vec![Term::string(r)]).to_string()).collect();
        out.extend(sets_differ("shared facts", &expected, &shared));
    }
    if let Some(expected) = &last.shared {
        out.extend(sets_differ("shared facts", &canonical(expected), &shared));
    }
    let shared: Vec<Atom> = shared.iter().filter_map(|t| Atom::parse(t).ok()).collect();
    let stands = |p: &String| shared.iter().any(|a| matches(p, a));
    out.extend(last.facts.iter().filter(|p| !stands(p)).map(|p| format!("expected that {p} stands")));
    out.extend(last.absent.iter().filter(|p| stands(p)).map(|p| format!("expected that {p} does not stand")));
    let now = texts(crate::ontology::Scope::Kb);
    let initial: BTreeSet<String> = engine.domain().facts.iter().map(ToString::to_string).collect();
    if let Some(expected) = &last.kb_added {
        out.extend(sets_differ("added kb facts", &canonical(expected), &now.difference(&initial).cloned().collect()));
    }
    if let Some(expected) = &last.kb_removed {
        out.extend(sets_differ("removed kb facts", &canonical(expected), &initial.difference(&now).cloned().collect()));
    }
    for name in &last.kb_absent {
        let quoted = Term::string(name).to_string();
        out.extend(now.iter().filter(|f| f.contains(&quoted)).map(|f| format!("`{name}` is still mentioned by {f}")));
    }
    for (session, expected) in &last.session {
        let facts: BTreeSet<String> = store
            .facts(crate::ontology::Scope::Session, &SessionKey::new("test", session))
            .map(|f| f.iter().map(|f| f.atom.to_string()).collect())
            .unwrap_or_default();
        out.extend(canonical(expected).difference(&facts).map(|f| format!("session {session} lacks {f}")));
    }
    out
}

fn canonical(texts: &[String]) -> BTreeSet<String> {
    canonical_list(texts).into_iter().collect()
}

fn canonical_list(texts: &[String]) -> Vec<String> {
    texts.iter().map(|t| Atom::parse(t).map_or_else(|_| t.clone(), |a| a.to_string())).collect()
}

fn sorted(texts: &[String]) -> Vec<&String> {
    let mut all: Vec<&String> = texts.iter().collect();
    all.sort();
    all
}

/// What is heard where nothing is done.
const NO_ACTS: [&str; 3] = ["unclear", "irrelevant", "greet"];

fn sets_differ(what: &str, expected: &BTreeSet<String>, actual: &BTreeSet<String>) -> Option<String> {
    let missing: Vec<_> = expected.difference(actual).cloned().collect();
    let extra: Vec<_> = actual.difference(expected).cloned().collect();
    (!missing.is_empty() || !extra.is_empty()).then(|| format!("{what}: missing [{}], beyond [{}]", missing.join(" "), extra.join(" ")))
}

/// What a conversation costs, if the domain shows it.
fn price(view: &View) -> Option<i64> {
    values_of(view.atoms(), "price").next().and_then(Term::as_int).map(i64::from)
}

fn order_differs(expected: &FinalOrder, view: &View) -> Option<String> {
    let status = values_of(view.atoms(), "status").next().and_then(Term::as_name).unwrap_or_default();
    if expected.status != status {
        return Some(format!("expected {}, is {status}", expected.status));
    }
    if expected.status == "cancelled" {
        return None;
    }
    if expected.price.is_some() && expected.price != price(view) {
        return Some(format!("expected price {:?}, is {:?}", expected.price, price(view)));
    }
    let wanted: Vec<_> =
        expected.items.iter().map(|i| shape(&i.item, &i.mods, i.parts.iter().map(|p| (p.slot.clone(), p.dish.clone(), p.mods.clone())).collect())).collect();
    let texts = |changes: &[Atom]| changes.iter().map(ToString::to_string).collect::<Vec<_>>();
    let part = |p: &Part| (p.slot.to_string(), p.fill.as_deref().map(str::to_owned), texts(&p.changes));
    let actual: Vec<_> = view.lines().iter().map(|l| shape(&l.item, &texts(&l.changes), l.parts.iter().map(part).collect())).collect();
    let (mut a, mut b) = (wanted, actual);
    a.sort();
    b.sort();
    (a != b).then(|| format!("expected items {a:?}, are {b:?}"))
}

type Shape = (String, Vec<String>, Vec<(Option<String>, Vec<String>)>);

/// An item for comparison: slots stand only for what fills them, since equal choices may be exchanged; fixed members
/// without changes and declined styles do not count.
fn shape(item: &str, mods: &[String], parts: Vec<(String, Option<String>, Vec<String>)>) -> Shape {
    let counted = |mods: &[String]| {
        let mut m: Vec<String> = mods.iter().filter(|m| !m.ends_with("(no)")).map(|m| m.replace(", ", ",")).collect();
        m.sort();
        m
    };
    let mut inner: Vec<_> = parts
        .iter()
        .map(|(slot, dish, m)| (slot, dish.clone(), counted(m)))
        .filter(|(slot, dish, m)| dish.as_deref() != Some(slot.as_str()) || !m.is_empty())
        .map(|(_, d, m)| (d, m))
        .collect();
    inner.sort();
    (item.to_owned(), counted(mods), inner)
}

/// A fresh engine per dialogue, from one that gives domain and options.
pub fn fresh(domain: &Domain, store: Arc<dyn Store>, options: crate::turn::Options) -> Engine {
    Engine::new(domain.clone(), store).with_options(options)
}
