//! Rendering by templates: a domain's own data turns actions into one fluent, varied and deterministic reply.
//!
//! A rule gives an action (and the input it answers) either a sentence or an item of a group. Groups collect items,
//! count equal ones, and give a sentence or an item of a further group in turn: so several confirmations become one
//! sentence, several things missing for one reason one apology, and the lines of an order one read-back.

pub mod bank;
mod cover;
mod load;
pub mod samples;
pub mod text;

use rustc_hash::FxHashMap;

use self::bank::Banked;
use self::text::{Expression, Lists, Scope, Text, Words, counted};
use super::english;
use super::{Render, Say, Tone};
use crate::diag::{Diagnostic, Origin, Source};
use crate::ontology::Ontology;
use crate::term::pattern::{Bindings, Pattern, Value};
use crate::term::{Atom, Name};
use crate::text::{CURRENCIES, shown};

/// A domain's templates, compiled.
#[derive(Clone, Debug)]
pub struct Templates {
    words: Words,
    rules: Vec<Rule>,
    by_action: FxHashMap<(Name, usize), Vec<usize>>,
    groups: Vec<Group>,
    /// The longest chain of groups, which bounds the passes of one reply.
    heights: usize,
    /// What is said if no action has words.
    nothing: Vec<Text>,
    /// Other wordings of the sentences, from the domain's bank.
    bank: Vec<Banked>,
    /// Every sentence with its own wordings, as they are written.
    own: Vec<Vec<String>>,
    taken: Taken,
}

/// Which wordings of a sentence are said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Taken {
    /// The templates' own, in turn.
    #[default]
    Own,
    /// These and the bank's, at random.
    All,
    /// One of the bank's, by its place in the file.
    One(usize),
}

/// A sentence of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The places of the actions that it says.
    pub of: Vec<usize>,
    /// Its words.
    pub text: String,
    /// Whether the bank has wordings of it.
    pub banked: bool,
}

/// What to say for one form of action.
#[derive(Clone, Debug)]
struct Rule {
    actions: Vec<Pattern>,
    /// Inputs that it may answer; any, if none is named.
    inputs: Vec<Pattern>,
    /// Other actions that must, or must not, be part of the reply.
    with: Vec<Pattern>,
    without: Vec<Pattern>,
    roles: Vec<Name>,
    count: Option<Name>,
    /// Whether of equal items the last one's number counts.
    last: bool,
    /// Only there so that nothing stays unsaid.
    fallback: bool,
    output: Output,
    origin: Origin,
}

/// A collection of items under one heading.
#[derive(Clone, Debug)]
struct Group {
    name: Name,
    params: Vec<Name>,
    output: Output,
    /// One more than the highest group that feeds it.
    height: usize,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Output {
    /// A sentence, one of several wordings; none means that nothing is said. Those of the bank have their place in it.
    Say { own: Vec<Text>, bank: Vec<(usize, Text)> },
    /// An item of a group.
    Item {
        text: Text,
        group: usize,
        key: Vec<Expression>,
        list: Name,
        /// Whether the item's variables are known to the whole group.
        lead: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Producer {
    Rule(usize),
    Group(usize),
}

/// Something to be said, before its words are chosen.
struct Node {
    producer: Producer,
    bindings: Bindings,
    lists: Lists,
    /// Items by list, each with its position, until the group is complete.
    items: Vec<(usize, Name, String)>,
    count: i64,
    /// Position of its first action in the reply.
    at: usize,
    /// Positions of all its actions.
    of: Vec<usize>,
}

impl Templates {
    /// Compiles a domain's templates; all mistakes are reported at once.
    pub fn load(source: &Source, ontology: &Ontology) -> Result<Self, Vec<Diagnostic>> {
        load::with_bank(source, None, ontology)
    }

    /// The same with other wordings from a bank.
    pub fn with_bank(source: &Source, bank: &Source, ontology: &Ontology) -> Result<Self, Vec<Diagnostic>> {
        load::with_bank(source, Some(bank), ontology)
    }

    /// The same, speaking in all the wordings that it knows, at random.
    #[must_use]
    pub fn varied(&self) -> Self {
        Self { taken: Taken::All, ..self.clone() }
    }

    /// Action forms of the ontology that no template covers in every case: they would be said by the generic fallback.
    pub fn uncovered(&self, ontology: &Ontology) -> Vec<Diagnostic> {
        cover::uncovered(self, ontology)
    }

    /// Rules of the file that another rule above them hides.
    pub fn shadowed(&self) -> Vec<Diagnostic> {
        cover::shadowed(self)
    }

    /// Whether actions of this form have words of their own, not only those of a rule marked as fallback.
    pub fn has_own_words(&self, action: &Pattern) -> bool {
        cover::own_words(self, action)
    }

    /// How the domain says terms.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// A term in the domain's words, as explanations and lists need it.
    pub fn term(&self, term: &crate::term::Term) -> String {
        self.words.term(term)
    }

    /// The first rule that fits an action of the reply, with its variables.
    fn rule_for(&self, say: &Say, all: &[Say], tone: &Tone) -> Option<(usize, Bindings)> {
        let found = self.by_action.get(&(say.action.name.clone(), say.action.args.len()))?;
        for index in found {
            let rule = self.rules.get(*index)?;
            if !rule.roles.is_empty() && !rule.roles.iter().any(|r| **r == *tone.role) {
                continue;
            }
            for pattern in &rule.actions {
                let mut bindings = vec![];
                if pattern.matches_atom(&say.action, &mut bindings) && rule.fits(say, all, &mut bindings) {
                    return Some((*index, bindings));
                }
            }
        }
        None
    }

    fn output(&self, producer: Producer) -> Option<&Output> {
        match producer {
            Producer::Rule(i) => self.rules.get(i).map(|r| &r.output),
            Producer::Group(i) => self.groups.get(i).map(|g| &g.output),
        }
    }

    fn height(&self, producer: Producer) -> usize {
        match producer {
            Producer::Rule(_) => 0,
            Producer::Group(i) => self.groups.get(i).map_or(0, |g| g.height),
        }
    }

    fn scope<'a>(&'a self, node: &'a Node, count: i64) -> Scope<'a> {
        Scope { words: &self.words, bindings: &node.bindings, lists: &node.lists, count }
    }

    /// One text per distinct thing to say: nodes that would say the same once are counted together.
    fn merged(&self, nodes: Vec<Node>) -> Vec<(Node, String)> {
        let mut seen: FxHashMap<String, usize> = FxHashMap::default();
        let mut out: Vec<(Node, String)> = vec![];
        for node in nodes {
            let once = self.scope(&node, 1);
            let mut identity = match node.producer {
                Producer::Rule(i) => format!("r{i}"),
                Producer::Group(i) => format!("g{i}"),
            };
            match self.output(node.producer) {
                Some(Output::Item { text, key, .. }) => {
                    for e in key {
                        identity.push('\u{1}');
                        identity.push_str(&e.render(&once).unwrap_or_default());
                    }
                    identity.push('\u{2}');
                    identity.push_str(&text.render(&once));
                }
                Some(Output::Say { own, .. }) => {
                    for t in own.iter().take(1) {
                        identity.push('\u{2}');
                        identity.push_str(&t.render(&once));
                    }
                }
                None => {}
            }
            match seen.get(&identity).and_then(|i| out.get_mut(*i)) {
                Some((first, _)) => {
                    first.of.extend(&node.of);
                    let set = matches!(node.producer, Producer::Rule(i) if self.rules.get(i).is_some_and(|r| r.last));
                    first.count = if set { node.count } else { first.count.saturating_add(node.count) };
                }
                None => {
                    seen.insert(identity.clone(), out.len());
                    out.push((node, identity));
                }
            }
        }
        out
    }

    /// Adds an item to its group, which begins with the first of its items.
    fn collect(&self, node: &Node, text: String, output: &Output, groups: &mut Vec<Node>) {
        let Output::Item { group, key, list, lead, .. } = output else { return };
        let Some(declared) = self.groups.get(*group) else { return };
        let scope = self.scope(node, node.count);
        let value = |e: &Expression| match e.bare_variable() {
            Some(v) if &**v == "Count" => Some(Value::Term(crate::term::Term::Int(i32::try_from(node.count).unwrap_or(i32::MAX)))),
            Some(v) => node.bindings.iter().find(|(n, _)| n == v).map(|(_, value)| value.clone()),
            None => e.render(&scope).map(Value::Text),
        };
        let key: Bindings = declared.params.iter().zip(key).map(|(p, e)| (p.clone(), value(e).unwrap_or_else(|| Value::Text(String::new())))).collect();
        let same = |n: &Node| n.producer == Producer::Group(*group) && n.bindings.starts_with(&key);
        let index = groups.iter().position(same).unwrap_or_else(|| {
            groups.push(Node { producer: Producer::Group(*group), bindings: key, lists: Lists::new(), items: vec![], count: 1, at: node.at, of: vec![] });
            groups.len() - 1
        });
        let Some(parent) = groups.get_mut(index) else { return };
        parent.at = parent.at.min(node.at);
        parent.of.extend(&node.of);
        parent.items.push((node.at, list.clone(), text));
        if *lead {
            for (name, value) in &node.bindings {
                if !parent.bindings.iter().any(|(n, _)| n == name) {
                    parent.bindings.push((name.clone(), value.clone()));
                }
            }
        }
    }
}

impl Node {
    /// Its items as lists, in the order of the actions they came from.
    fn complete(mut self) -> Self {
        self.items.sort_by_key(|(at, _, _)| *at);
        for (_, list, text) in self.items.drain(..) {
            self.lists.entry(list).or_default().push(text);
        }
        self
    }
}

impl Rule {
    fn fits(&self, say: &Say, all: &[Say], bindings: &mut Bindings) -> bool {
        if !self.inputs.is_empty() {
            let answers = |input: &Atom| self.inputs.iter().any(|p| fits(p, input, bindings));
            if !say.input.as_ref().is_some_and(answers) {
                return false;
            }
        }
        let mut present = |p: &Pattern| all.iter().any(|s| fits(p, &s.action, bindings));
        self.with.iter().all(&mut present) && !self.without.iter().any(present)
    }
}

impl Render for Templates {
    fn render(&self, says: &[Say], tone: &Tone) -> String {
        let reply = self.parts(says, tone).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ");
        if !reply.is_empty() {
            return reply;
        }
        let empty = Node { producer: Producer::Rule(usize::MAX), bindings: vec![], lists: Lists::new(), items: vec![], count: 1, at: 0, of: vec![] };
        choose(&self.nothing, "", tone.turn).map(|t| t.render(&self.scope(&empty, 1))).unwrap_or_default()
    }

    fn parts(&self, says: &[Say], tone: &Tone) -> Vec<(Vec<usize>, String)> {
        self.sentences(says, tone).into_iter().map(|s| (s.of, s.text)).collect()
    }
}

impl Templates {
    /// The reply sentence by sentence.
    pub fn sentences(&self, says: &[Say], tone: &Tone) -> Vec<Sentence> {
        self.sentences_of(self.taken, says, tone)
    }

    fn sentences_of(&self, taken: Taken, says: &[Say], tone: &Tone) -> Vec<Sentence> {
        let mut sentences: Vec<(usize, Sentence)> = vec![];
        let mut pending: Vec<Node> = vec![];
        for (at, say) in says.iter().enumerate() {
            match self.rule_for(say, says, tone) {
                Some((index, bindings)) => {
                    let count = counted(self.rules.get(index).and_then(|r| r.count.as_ref()), &bindings);
                    pending.push(Node { producer: Producer::Rule(index), bindings, lists: Lists::new(), items: vec![], count, at, of: vec![at] });
                }
                None => {
                    let text = format!("{}.", english::sentence(&self.words.term(&say.action.to_term())));
                    sentences.push((at, Sentence { of: vec![at], text, banked: false }));
                }
            }
        }
        for height in 0..=self.heights {
            let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut pending).into_iter().partition(|n| self.height(n.producer) == height);
            pending = later;
            for (node, identity) in self.merged(now.into_iter().map(Node::complete).collect()) {
                match self.output(node.producer) {
                    Some(Output::Say { own, bank }) => {
                        if let Some(text) = taken.choose(own, bank, &identity, tone) {
                            let text = english::sentence(text.render(&self.scope(&node, node.count)).trim());
                            sentences.push((node.at, Sentence { of: node.of, text, banked: !bank.is_empty() }));
                        }
                    }
                    Some(output @ Output::Item { text, .. }) => {
                        let said = text.render(&self.scope(&node, node.count));
                        self.collect(&node, said, output, &mut pending);
                    }
                    None => {}
                }
            }
        }
        sentences.sort_by_key(|(at, _)| *at);
        // Names and values come from outside, whoever admitted them.
        let money = if self.words.currency.is_empty() { CURRENCIES } else { &self.words.currency };
        sentences.into_iter().filter(|(_, s)| !s.text.is_empty()).map(|(_, s)| Sentence { text: shown(&s.text, money), ..s }).collect()
    }
}

impl Taken {
    fn choose<'a>(self, own: &'a [Text], bank: &'a [(usize, Text)], identity: &str, tone: &Tone) -> Option<&'a Text> {
        match self {
            Self::One(wanted) => bank.iter().find(|(at, _)| *at == wanted).map(|(_, text)| text).or_else(|| choose(own, identity, tone.turn)),
            Self::All if !bank.is_empty() => {
                let all: Vec<&Text> = own.iter().chain(bank.iter().map(|(_, text)| text)).collect();
                // Conversations begin with different wordings, and the same conversation always with the same.
                let begin = hash(tone.conversation.site.bytes().chain(tone.conversation.session.bytes())) >> 32;
                pick(all.len(), identity, tone.turn.wrapping_add(begin)).and_then(|i| all.get(i).copied())
            }
            Self::Own | Self::All => choose(own, identity, tone.turn),
        }
    }
}

/// Matches and keeps the bindings only if it does.
fn fits(pattern: &Pattern, atom: &Atom, bindings: &mut Bindings) -> bool {
    let before = bindings.len();
    let fits = pattern.matches_atom(atom, bindings);
    if !fits {
        bindings.truncate(before);
    }
    fits
}

/// The wording for this turn: it depends on what is said and moves on every turn, so that repetition sounds different.
fn choose<'a>(texts: &'a [Text], identity: &str, turn: u64) -> Option<&'a Text> {
    pick(texts.len(), identity, turn).and_then(|i| texts.get(i))
}

fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

fn pick(of: usize, identity: &str, turn: u64) -> Option<usize> {
    // The number of the rule stays out, so that a rule added elsewhere changes no other sentence.
    let content = identity.split_once(['\u{1}', '\u{2}']).map_or(identity, |(_, text)| text);
    let n = u64::try_from(of).ok().filter(|n| *n > 0)?;
    usize::try_from((hash(content.bytes()) >> 32).wrapping_add(turn) % n).ok()
}

#[cfg(test)]
mod tests;
