//! The data files of the embedded translator, as their authors write them.
//!
//! `kb/core/english.yaml` is shared by all domains: contractions, number words, fillers, ordinary words, classes of generic
//! phrases. `kb/<domain>/lexicon.yaml` holds what is specific: classes, ways to say the values of closed sorts, and patterns
//! with what they mean, per role. `kb/<domain>/synonyms.yaml` holds other words and other names for the facts' names. The
//! formats are described in `docs/domains.md`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::diag::{Diagnostic, Source, yaml};

/// The texts that make an embedded translator, with the names their diagnostics carry.
#[derive(Clone, Debug)]
pub struct DomainFiles {
    /// The language's file.
    pub english: Source,
    /// The domain's lexicon.
    pub lexicon: Source,
    /// The domain's synonyms.
    pub synonyms: Source,
}

/// The language's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct English {
    /// Contractions and respellings: word to words.
    #[serde(default)]
    pub respell: BTreeMap<String, String>,
    /// Groups of words that are read as one word: `as well as` as `and`.
    #[serde(default)]
    pub merge: BTreeMap<String, String>,
    /// Number words.
    #[serde(default)]
    pub numbers: BTreeMap<String, i64>,
    /// Number words that multiply or stand after an article.
    #[serde(default)]
    pub scales: BTreeMap<String, i64>,
    /// Words for places in a row; -1 is the last.
    #[serde(default)]
    pub ordinals: BTreeMap<String, i64>,
    /// Currency words with their value in hundredths.
    #[serde(default)]
    pub currency: BTreeMap<String, i64>,
    /// Words of noun phrases, by kind.
    pub phrase: BTreeMap<String, String>,
    /// Words that mean nothing by themselves and may stand anywhere.
    pub fillers: String,
    /// Ordinary words: never a misspelling, and a sentence of them is at least language.
    pub ordinary: String,
    /// Sets of words that may stand for each other in any pattern.
    #[serde(default)]
    pub alike: Vec<String>,
    /// Classes of phrases.
    #[serde(default)]
    pub classes: BTreeMap<String, Vec<String>>,
}

/// A domain's lexicon.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lexicon {
    /// Sorts whose numbers are amounts of money.
    #[serde(default)]
    pub money: Vec<String>,
    /// Predicates that change nothing and are only answered: better told than asked back.
    #[serde(default)]
    pub tells: Vec<String>,
    /// How counted lines with changes to single instances are written, if the domain has them.
    #[serde(default)]
    pub lines: Option<Lines>,
    /// Sets of words that may stand for each other in any pattern.
    #[serde(default)]
    pub alike: Vec<String>,
    /// Sets of words that must not stand for each other here, whatever core says.
    #[serde(default)]
    pub apart: Vec<String>,
    /// Classes of phrases.
    #[serde(default)]
    pub classes: BTreeMap<String, Vec<String>>,
    /// Ways to say the values of closed sorts; a value's own name is always one.
    #[serde(default)]
    pub values: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Nouns that are never names of things one can ask for.
    #[serde(default)]
    pub not_things: String,
    /// Measure words between a number and a name.
    #[serde(default)]
    pub measures: String,
    /// Predicates whose number sets that of a fact, `edit($x,price,$n): original_price`: it may be said as a change of it.
    #[serde(default)]
    pub sets: BTreeMap<String, String>,
    /// Words for which of several is meant by how much it has of a fact, `cheaper: original_price`; `-` before the fact for the most.
    #[serde(default)]
    pub ranks: BTreeMap<String, String>,
    /// What is asked once something new is spoken of, `"add(dish,$n)": ["ask($n,price)"]`: the answers may be told with it at once.
    #[serde(default)]
    pub opens: BTreeMap<String, Vec<String>>,
    /// Patterns by role; `any` for every role.
    pub patterns: BTreeMap<String, Vec<PatternText>>,
}

/// How a domain writes a counted list of items whose instances can be changed one by one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// `order(ITEM, COUNT)`.
    pub add: String,
    /// `set_quantity(ITEM, COUNT)`.
    pub quantity: String,
    /// `remove(ITEM, COUNT)`.
    pub remove: String,
    /// `replace(ITEM, ITEM)`.
    pub replace: String,
    /// `update(ITEM, …)`, repeated for each instance it is said of, with a further number for a numbered instance.
    pub change: String,
    /// `specify(COMBO, ITEM)`: a member of a composed item.
    pub member: String,
    /// Fact `combo_contain(COMBO, GROUP)`.
    pub composed: String,
    /// What a composed item is called otherwise, to the word in its name: `make it a meal`.
    #[serde(default)]
    pub composed_called: BTreeMap<String, String>,
    /// Fact `combo_option_group(GROUP, ITEM)`.
    pub group: String,
    /// Fact `included_ingredient(ITEM, PART)`: what an item is made with, for choosing among parts that are called alike.
    pub made_with: String,
    /// Operations on what an item is made with, as taking away is: `beans` are the black beans of what has no others.
    #[serde(default)]
    pub on_made_with: Vec<String>,
    /// What an item has only in place of another part: "a crunchwrap with sausage", of one that comes with bacon.
    #[serde(default)]
    pub in_place: Option<InPlace>,
    /// The operation that is meant by a little of what an item is made with.
    #[serde(default)]
    pub a_little: Option<String>,
    /// What takes a change back: an operation or its value to the opposite.
    #[serde(default)]
    pub undone: BTreeMap<String, String>,
    /// Fact `category(ITEM, KIND)`, for `the taco`.
    pub kind: String,
    /// Attributes that stand before or after a name: sort to the template of the change; `$x` is the item, `$v` the value.
    #[serde(default)]
    pub attributes: BTreeMap<String, Attribute>,
}

/// How a part that stands in for another is put on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InPlace {
    /// Fact `replaceable_ingredient(ITEM, OLD, NEW)`.
    pub fact: String,
    /// The operation that puts on what needs no other's place: `add`.
    pub puts: String,
    /// Fact `available_topping(ITEM, PART)` of what needs none.
    pub free: String,
    /// The operation on two parts: `change`.
    pub change: String,
    /// What holds the two: `swap(OLD, NEW)`.
    pub pair: String,
}

/// An attribute of an item.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// What it means.
    pub means: String,
    /// Values that count only if this fact holds of the item (`size_changable_drink`).
    #[serde(default)]
    pub only_if: Option<String>,
    /// The values for which `only_if` is asked; empty means all.
    #[serde(default)]
    pub values: Vec<String>,
}

/// A pattern.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternText {
    /// Ways to say it.
    pub say: Vec<String>,
    /// Predicates, separated by semicolons; `$x` a slot, `$x.count` its number, `@` what is being talked about, capitals the
    /// variables of `after`.
    #[serde(default)]
    pub means: String,
    /// The same if what it is said of is not yet a known name.
    #[serde(default)]
    pub means_new: Option<String>,
    /// Only after such an action.
    #[serde(default)]
    pub after: Option<String>,
    /// Kinds of use with a meaning of their own, see `docs/domains.md`.
    #[serde(default)]
    pub does: Option<Does>,
    /// Preference among readings of the same words.
    #[serde(default)]
    pub weight: f32,
    /// Whether it gives way to anything else said in the same turn.
    #[serde(default)]
    pub weak: bool,
    /// Whether it gives way to anything more special said in the same turn, but not to greetings and the like.
    #[serde(default)]
    pub general: bool,
    /// Whether the conversation must hold a line already.
    #[serde(default)]
    pub needs_line: bool,
    /// Whether it must be all that is said.
    #[serde(default)]
    pub alone: bool,
    /// Whether it must be a clause by itself: nothing of the sentence goes on before or after it.
    #[serde(default)]
    pub clause: bool,
    /// Predicates of the same turn that it makes void, as templates.
    #[serde(default)]
    pub over: Option<String>,
}

/// Uses of a pattern that are not just predicates.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// A wish for what follows: `can I get`.
    Want,
    /// What follows replaces what came before: `no wait`, `I mean`.
    Correct,
    /// The rest of the turn is not listened to (its predicates stand): attempts at the rights of others.
    Stop,
    /// Says what the following changes are about: `for the taco in my combo`.
    Focus,
    /// Nothing, said as a phrase: `to go`.
    Nothing,
    /// What it means is meant of all lines but those named: `everything except the drinks`.
    Except,
    /// Its name takes the place of the one said last: `I mean the rice`.
    Instead,
    /// What was said last is said of it as well: `the same for the burrito`.
    Likewise,
    /// A further instance of a line, with the changes of the last one: `the same again`.
    Copy,
}

/// Other words and names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synonyms {
    /// Word to word: `guac` to `guacamole`.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
    /// Phrase to names: one, or several for a kind of thing.
    #[serde(default)]
    pub names: BTreeMap<String, Vec<String>>,
    /// Other ways to say a part of names: `crunchy taco` as `hard taco`, also in the Crunchy Taco Supreme.
    #[serde(default)]
    pub within: BTreeMap<String, Vec<String>>,
}

/// Reads one of the files.
pub fn read<T: DeserializeOwned>(source: &Source) -> Result<T, Box<Diagnostic>> {
    yaml::read(source, "U001").map_err(Box::new)
}
