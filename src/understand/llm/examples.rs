//! Which of the ontology's examples go into a prompt: those whose pattern of words is nearest to the utterance, one for each meaning.
//!
//! Names and numbers count as a kind, not as themselves: two soft tacos are ordered as three burritos are. Words that many examples
//! share weigh little, and neighbouring words count as pairs too. Of examples that mean the same forms the nearest alone is taken,
//! so that a prompt shows what else the words could mean.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::forms::Forms;
use super::names::Names;
use crate::ontology::Example;
use crate::text::{stem, words};
use crate::understand::Context;

/// Words of grammar, which are not what a name is known by.
pub static FUNCTION: LazyLock<BTreeSet<&str>> = LazyLock::new(|| include_str!("../../../prompts/core/function_words.txt").split_whitespace().collect());
/// Spoken numbers; digits need no list.
const NUMBERS: &str = "one two three four five six seven eight nine ten eleven twelve dozen couple twenty thirty forty fifty hundred";
/// What an example gains when it answers the question that was asked last.
const SAME_QUESTION: f64 = 0.3;

/// The examples of a role with their patterns over a site's names: what does not depend on the utterance.
#[derive(Debug)]
pub struct Examples {
    patterns: Patterns,
    all: Vec<(Example, BTreeSet<String>)>,
    /// How many examples share a word or pair.
    shared: BTreeMap<String, usize>,
}

impl Examples {
    /// The examples of a role.
    pub fn of(forms: &Forms, names: &Names) -> Self {
        let patterns = Patterns::new(names);
        let examples = forms.ontology().inputs_of(&forms.role).flat_map(|i| &i.examples);
        let all: Vec<_> = examples.map(|e| (e.clone(), patterns.of(&e.say))).collect();
        let mut shared: BTreeMap<String, usize> = BTreeMap::new();
        all.iter().flat_map(|(_, f)| f).for_each(|f| *shared.entry(f.clone()).or_default() += 1);
        Self { patterns, all, shared }
    }

    /// The nearest, the nearest last (what stands last weighs most with models).
    pub fn nearest(&self, forms: &Forms, text: &str, context: &Context, most: usize) -> Vec<&Example> {
        let weight = |f: &String| self.shared.get(f).map_or(0.0, |n| (1.0 + self.all.len() as f64 / *n as f64).ln().powi(2));
        let length = |f: &BTreeSet<String>| f.iter().map(weight).sum::<f64>().sqrt().max(1e-9);
        let said = self.patterns.of(text);
        let own = length(&said);
        let asked = |e: &Example| e.after.iter().any(|a| context.last_actions.iter().any(|l| l.name == a.name && l.args.last() == a.args.last()));
        let likeness =
            |e: &Example, f: &BTreeSet<String>| said.intersection(f).map(weight).sum::<f64>() / (own * length(f)) + if asked(e) { SAME_QUESTION } else { 0.0 };
        let mut scored: Vec<(f64, usize, &Example)> = self.all.iter().enumerate().map(|(at, (e, f))| (likeness(e, f), at, e)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut meanings: BTreeSet<Vec<Option<String>>> = BTreeSet::new();
        let mut chosen: Vec<&Example> = scored.into_iter().map(|(_, _, e)| e).filter(|e| meanings.insert(meaning(forms, e))).take(most).collect();
        chosen.reverse();
        chosen
    }
}

/// The forms that an example means.
fn meaning(forms: &Forms, example: &Example) -> Vec<Option<String>> {
    let mut list: Vec<Option<String>> = example.means.iter().map(|a| forms.form_of(a).map(|f| f.text.clone())).collect();
    list.sort();
    list.dedup();
    list
}

#[derive(Debug)]
struct Patterns {
    names: BTreeSet<String>,
    numbers: BTreeSet<&'static str>,
}

impl Patterns {
    fn new(names: &Names) -> Self {
        let names = names.words().map(|w| stem(w)).filter(|w| !FUNCTION.contains(w.as_str())).collect();
        Self { names, numbers: NUMBERS.split(' ').collect() }
    }

    /// Words and pairs of neighbours, names and numbers by kind.
    fn of(&self, text: &str) -> BTreeSet<String> {
        let mut list: Vec<String> = vec![];
        for word in words(text) {
            let word = stem(&word);
            let kind = if word.chars().all(|c| c.is_ascii_digit()) || self.numbers.contains(word.as_str()) {
                "<number>".to_owned()
            } else if self.names.contains(&word) {
                "<name>".to_owned()
            } else {
                word
            };
            if kind != "<name>" || list.last() != Some(&kind) {
                list.push(kind);
            }
        }
        let pairs: Vec<String> = list.windows(2).map(|w| w.join(" ")).collect();
        list.into_iter().chain(pairs).collect()
    }
}
