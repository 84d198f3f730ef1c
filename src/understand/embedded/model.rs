//! The compiled translator: grammar from the data files, names and relations from the facts.

mod build;

pub use self::build::load;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::data::Does;
use super::grammar::{Program, Signs};
use super::numbers::NumberWords;
use super::relative::Sets;
use super::template::Template;
use super::text::Respell;
use crate::link::UNKNOWN;
use crate::ontology::{Arg, Ontology};
use crate::term::Name;

/// Words of noun phrases.
#[derive(Clone, Debug, Default)]
pub struct PhraseWords {
    kinds: FxHashMap<u32, Vec<Name>>,
}

impl PhraseWords {
    /// By kind the words of it; kept by word, since most words are of none and every word is asked for.
    fn new(sets: impl Iterator<Item = (Name, FxHashSet<u32>)>) -> Self {
        let mut kinds: FxHashMap<u32, Vec<Name>> = FxHashMap::default();
        for (kind, words) in sets {
            words.into_iter().for_each(|w| kinds.entry(w).or_default().push(kind.clone()));
        }
        Self { kinds }
    }

    /// Whether the word is of the kind (`definite`, `pronoun`, …).
    pub fn has(&self, kind: &str, word: u32) -> bool {
        word != UNKNOWN && self.kinds.get(&word).is_some_and(|kinds| kinds.iter().any(|k| **k == *kind))
    }
}

/// A wording of a sentence: a pattern of the lexicon, compiled.
#[derive(Clone, Debug)]
pub struct Phrasing {
    /// The program over tokens.
    pub program: Program,
    /// Its variables.
    pub vars: Vec<String>,
    /// What it means.
    pub means: Arc<Vec<Template>>,
    /// What it means of a new name.
    pub means_new: Option<Arc<Vec<Template>>>,
    /// The action it must follow.
    pub after: Option<Arc<Template>>,
    /// A use of its own.
    pub does: Option<Does>,
    /// Preference.
    pub weight: f32,
    /// How far it gives way: 0 not, 1 to what is more special, 2 to anything.
    pub weak: u8,
    /// Whether it is made of slots alone: a name said by itself.
    pub bare: bool,
    /// Whether it has gaps, so that it reads what it does not know.
    pub loose: bool,
    /// Whether it must be a clause by itself.
    pub clause: bool,
    /// What it makes void in the same turn.
    pub over: Arc<Vec<Template>>,
    /// Whether it must be all that is said.
    pub alone: bool,
    /// Whether the conversation must hold a line already.
    pub needs_line: bool,
    /// Its notation, for explanations.
    pub say: Arc<str>,
}

/// The patterns of one role.
#[derive(Clone, Debug, Default)]
pub struct RoleGrammar {
    /// All patterns.
    pub patterns: Vec<Phrasing>,
    /// Patterns by first word.
    pub by_word: FxHashMap<u32, Vec<u16>>,
    /// Patterns that start with a slot.
    pub any: Vec<u16>,
    /// For each pattern the narrowest of [`Program::must`], together, so that most patterns are ruled out before they are looked at.
    pub needs: Vec<[Signs; 4]>,
    /// Sort bits of the names that the role speaks of.
    pub names: u64,
    /// All words that patterns hold.
    pub words: FxHashSet<u32>,
}

/// A way to say a value.
#[derive(Clone, Debug)]
pub struct ValueWords {
    /// Number of the sort in [`Model::value_sorts`].
    pub sort: u16,
    /// The value.
    pub value: Name,
    /// Its phrases.
    pub program: Program,
    /// First words.
    pub firsts: Vec<u32>,
}

/// An attribute of counted items.
#[derive(Clone, Debug)]
pub struct AttributeModel {
    /// What it means.
    pub means: Arc<Vec<Template>>,
    /// Its variables.
    pub vars: Vec<String>,
    /// The fact it needs.
    pub only_if: Option<Name>,
    /// The values for which the fact is asked.
    pub values: Vec<Name>,
}

/// How counted lines are written.
#[derive(Clone, Debug)]
pub struct LineModel {
    /// The texts of the file.
    pub config: super::data::Lines,
    /// Attributes by value sort.
    pub attributes: BTreeMap<u16, AttributeModel>,
    /// The value sort of kinds.
    pub kind_sort: Option<u16>,
    /// Sort bits of the items of a line.
    pub items: u64,
    /// Sort bits of what can be changed.
    pub changed: u64,
    /// Sort bits of composed items.
    pub composed: u64,
}

/// The grammar and everything else that does not change with the facts.
#[derive(Clone, Debug)]
pub struct Model {
    /// Contractions and synonyms of words.
    pub respell: Respell,
    /// Groups of words that are read as one, the longest first.
    pub merge: Vec<(Vec<u32>, String)>,
    /// Number words.
    pub numbers: NumberWords,
    /// Ordinals.
    pub ordinals: FxHashMap<u32, i64>,
    /// Noun phrase words.
    pub phrase: PhraseWords,
    /// Fillers.
    pub fillers: FxHashSet<u32>,
    /// Ordinary words.
    pub ordinary: FxHashSet<u32>,
    /// Nouns that are no things to ask for.
    pub not_things: FxHashSet<u32>,
    /// Predicates that are only answered.
    pub answered: FxHashSet<Name>,
    /// Measure words.
    pub measures: FxHashSet<u32>,
    /// Words that may stand for each other.
    pub alike: FxHashMap<u32, Vec<u32>>,
    /// Classes.
    pub classes: Vec<Program>,
    /// Classes by name.
    pub class_names: BTreeMap<String, u16>,
    /// Patterns by role.
    pub roles: BTreeMap<Name, RoleGrammar>,
    /// Names of the value sorts.
    pub value_sorts: Vec<Name>,
    /// Values with their phrases.
    pub values: Vec<ValueWords>,
    /// Counted lines.
    pub lines: Option<LineModel>,
    /// Bits of the name sorts, unions included.
    pub masks: BTreeMap<Name, u64>,
    /// The facts whose first argument names something, with the bit of the sort.
    pub name_facts: BTreeMap<Name, u64>,
    /// Sorts of the arguments of inputs, for holes: role, name, arity → sort names.
    pub forms: BTreeMap<(Name, Name, usize), Vec<Vec<Arg>>>,
    /// Phrases of aliases and the names they stand for.
    pub aliases: Vec<(Vec<String>, Vec<Name>)>,
    /// Parts of names and other ways to say them.
    pub within: Vec<(Vec<String>, Vec<String>)>,
    /// Words for the one of several that has least of a fact, or most.
    pub ranks: FxHashMap<u32, (Name, bool)>,
    /// The predicates whose number may be said as a change of a fact's.
    pub sets: Vec<Sets>,
    /// What is asked after an act or action about something new.
    pub opens: Vec<(Template, Vec<Template>)>,
    /// The vocabulary: what a mistake about an act costs.
    pub ontology: Arc<Ontology>,
    /// Names whose sort is open: a hole of that sort takes names that are not known yet.
    pub open_sorts: FxHashSet<Name>,
}

impl Model {
    /// Whether a role is one of those who order things.
    pub fn orders(&self, role: &Name) -> bool {
        let form = |lines: &LineModel| (role.clone(), lines.config.add.as_str().into(), 2);
        self.lines.as_ref().is_some_and(|lines| self.forms.contains_key(&form(lines)))
    }

    /// Whether the values of a sort say something by themselves, as sizes and kinds do; yes and no do not.
    pub fn tells(&self, sort: u16) -> bool {
        let attribute = self.lines.as_ref().is_some_and(|l| l.attributes.contains_key(&sort));
        attribute || self.values.iter().filter(|v| v.sort == sort).count() > 2
    }
}
