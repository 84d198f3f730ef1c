//! The grammar of replies: data that says how each action may be worded, made ready for the actions of one reply.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use super::alike::{ASSENTS, Alike, Filling, REGRETS};
use super::clauses::{Never, Rows, words_of};
use super::names::{Cuts, Heads, Spoken, cut, heads, merged, named, names_of, parts_of};
use super::phrase::{Fill, Form, Part, Piece, Shape, Slot, among, phrase};
use super::scan::NameIndex;
use super::words::{self, Phrase};
use crate::diag::{Diagnostic, Source, yaml};
use crate::render::Say;
use crate::render::templates::text::Words;
use crate::term::pattern::{Bindings, Pattern, Value};
use crate::term::{Atom, Name, Term};

/// A set of actions, by their place in the reply, and above them of sentences of the template.
pub type Mask = u128;

/// Most actions of a reply that is worded freely; beyond them stand the bits of what has to be said with them.
pub const ACTIONS: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Words that deny.
    #[serde(default, deserialize_with = "words_of")]
    denying: BTreeSet<String>,
    /// Words that refuse, deny or take away.
    #[serde(default, deserialize_with = "words_of")]
    refusing: BTreeSet<String>,
    /// Rows of names that are denied, or taken away, together.
    #[serde(default)]
    rows: Rows,
    /// What is never said beside certain actions.
    #[serde(default)]
    never: Vec<Never>,
    /// Actions whose first variable only counts: equal ones are one thing said so many times.
    #[serde(default)]
    merge: Vec<String>,
    /// Actions that need no words: an acknowledgement, where something else is said.
    #[serde(default)]
    silent: Vec<String>,
    /// The same where another action names what they name: whom it is about, where something is told of them.
    #[serde(default)]
    implied: Vec<String>,
    /// Words that assert nothing wherever they stand: they may be put between the words of every phrase.
    #[serde(default)]
    filling: String,
    /// The same of regret: they stand only in what refuses.
    #[serde(default)]
    regretting: String,
    /// The same of ready assent: they stand in nothing that refuses.
    #[serde(default)]
    assenting: String,
    /// Classes of words that say the same.
    #[serde(default)]
    alike: Vec<String>,
    /// Words cut short, with what they stand for: guac.
    #[serde(default)]
    short: BTreeMap<String, String>,
    /// Alternatives that several phrases share, as `$NAME`.
    #[serde(default)]
    words: BTreeMap<String, String>,
    rules: Vec<RuleText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    /// Name of the part, with the variables that tell such parts apart.
    part: String,
    #[serde(default)]
    action: Vec<String>,
    #[serde(default)]
    input: Vec<String>,
    /// Facts of the site instead of actions: what is known of what the reply names.
    #[serde(default)]
    fact: Vec<String>,
    /// The variable whose numbers are summed over equal actions.
    #[serde(default)]
    count: Option<String>,
    /// Actions that are counted into `Total`.
    #[serde(default)]
    total: Option<String>,
    /// It only names what another part says.
    #[serde(default)]
    quiet: bool,
    #[serde(default)]
    roles: Vec<String>,
    /// What has to be said next, by a wording that `pays` it: a refusal's reason.
    #[serde(default)]
    owes: Option<String>,
    #[serde(default)]
    pays: Option<String>,
    /// What has to be said by then, all of it: the lines, where their sum is told.
    #[serde(default)]
    closes: Option<String>,
    say: Vec<String>,
}

#[derive(Clone, Debug)]
struct Rule {
    name: Name,
    keys: Vec<Pattern>,
    actions: Vec<Pattern>,
    inputs: Vec<Pattern>,
    /// Its actions are facts of the site.
    known: bool,
    count: Option<Name>,
    total: Option<Pattern>,
    quiet: bool,
    roles: Vec<String>,
    owes: Option<Pattern>,
    pays: Option<Pattern>,
    closes: Option<Pattern>,
    say: Vec<Shape>,
    /// The parts of its phrases that are told apart by most keys: where no action binds, it stands once for each.
    over: Vec<Part>,
    /// Names of the parts that its phrases use.
    uses: Vec<Name>,
}

/// How actions may be worded, as a domain's files say it.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    rules: Vec<Rule>,
    merge: Vec<Pattern>,
    /// Words of no weight.
    pub filling: Arc<Filling>,
    alike: Arc<Alike>,
    silent: Vec<Pattern>,
    implied: Vec<Pattern>,
    short: BTreeMap<String, String>,
    /// Words that deny.
    pub denying: BTreeSet<String>,
    /// These, and words that refuse or take away.
    pub refusing: BTreeSet<String>,
    /// How far they reach.
    pub rows: Arc<Rows>,
    /// What is never said beside certain actions.
    pub never: Vec<Never>,
}

impl Grammar {
    /// Reads the files of a domain, the core's first; every mistake is reported.
    pub fn load(sources: &[Source]) -> Result<Self, Vec<Diagnostic>> {
        let mut grammar = Self::default();
        let mut found = vec![];
        let mut shared = BTreeMap::new();
        for source in sources {
            match yaml::read::<File>(source, "T011") {
                Err(d) => found.push(d),
                Ok(file) => {
                    shared.extend(file.words.clone());
                    grammar.short.extend(file.short);
                    file.alike.iter().for_each(|class| Arc::make_mut(&mut grammar.alike).add(class));
                    grammar.refusing.extend(file.refusing.into_iter().chain(file.denying.iter().cloned()));
                    grammar.denying.extend(file.denying);
                    Arc::make_mut(&mut grammar.rows).extend(file.rows);
                    grammar.never.extend(file.never.into_iter().map(Never::plain));
                    let mut wrong = |text: &str, problem: String| {
                        let at = source.text.find(text).map_or(0..0, |s| s..s + text.len());
                        found.push(
                            Diagnostic::error("T011", source.origin(at), format!("`{text}`: expected {problem}"))
                                .help("see docs/templates.md, \"Replies in other words\""),
                        );
                    };
                    for (text, mood) in [(&file.filling, 0), (&file.regretting, REGRETS), (&file.assenting, ASSENTS)] {
                        match among(&filled(text, &shared)) {
                            Ok(more) => Arc::make_mut(&mut grammar.filling).extend(mood, more),
                            Err(problem) => wrong(text, problem),
                        }
                    }
                    for (texts, list) in [(file.silent, &mut grammar.silent), (file.implied, &mut grammar.implied), (file.merge, &mut grammar.merge)] {
                        list.extend(texts.iter().filter_map(|t| Pattern::parse(t).map_err(|e| wrong(t, e.into())).ok()));
                    }
                    for rule in &file.rules {
                        match rule.read(&shared, &mut wrong) {
                            // What no action binds takes its keys from the parts of each phrase.
                            Some(rule) if rule.actions.is_empty() => {
                                grammar.rules.extend(rule.say.iter().map(|s| Rule { say: vec![s.clone()], ..rule.clone() }.knowing()));
                            }
                            rule => grammar.rules.extend(rule.map(Rule::closing)),
                        }
                    }
                }
            }
        }
        if found.is_empty() { Ok(grammar) } else { Err(found) }
    }

    /// What a word that is cut short stands for.
    pub fn in_full(&self, word: &str) -> Option<&String> {
        self.short.get(word)
    }

    /// What a question asks about.
    pub fn asked(&self, action: &Atom) -> Option<String> {
        self.rows.asking.contains(&*action.name).then(|| named(action)).flatten()
    }

    /// Those of a site's facts that a rule asks for.
    pub fn asked_of<'f>(&self, facts: &'f [Atom]) -> impl Iterator<Item = &'f Atom> {
        let asked: Vec<&Pattern> = self.rules.iter().filter(|r| r.known).flat_map(|r| &r.actions).collect();
        facts.iter().filter(move |fact| asked.iter().any(|p| p.matches_atom(fact, &mut vec![])))
    }

    /// The grammar of one reply; `names` and `facts` are those of the site.
    pub fn ground(&self, says: &[Say], role: &str, words: &Arc<Words>, names: &NameIndex, facts: &[Atom]) -> Ground {
        let says = merged(says, &self.merge);
        let all = names_of(&says);
        let known = facts.iter().filter(|fact| named(fact).is_some_and(|name| all.values().any(|n| *n == name)));
        let known: Vec<Say> = known.take(ACTIONS).map(|fact| Say { action: fact.clone(), input: None }).collect();
        let mut instances: Vec<(&Rule, Bindings, Mask)> = vec![];
        let (with, without): (Vec<&Rule>, Vec<&Rule>) = self.rules.iter().partition(|r| !r.actions.is_empty());
        for rule in with.into_iter().filter(|r| r.roles.is_empty() || r.roles.iter().any(|o| o == role)) {
            instances.extend(rule.over(if rule.known { &known } else { &says }).into_iter().map(|(b, mask)| (rule, b, mask)));
        }
        // What builds on keyed parts is there once for each key; so far down as parts build on parts.
        let mut done: BTreeSet<(usize, Vec<Term>)> = BTreeSet::new();
        for _ in 0..4 {
            let keys: BTreeSet<(Name, Vec<Term>)> = instances.iter().map(|(r, b, _)| (r.name.clone(), r.key(b))).collect();
            let known: BTreeSet<&Name> = keys.iter().map(|(n, _)| n).collect();
            for (i, rule) in without.iter().enumerate() {
                if !rule.uses.is_empty() && !rule.uses.iter().any(|n| known.contains(n)) {
                    continue;
                }
                let bindings: Vec<Bindings> = if rule.over.is_empty() {
                    vec![vec![]]
                } else {
                    let of = |part: &Part| keys.iter().filter(|(n, _)| *n == part.name).filter_map(|(_, k)| bound(&part.keys, k)).collect::<Vec<_>>();
                    rule.over.iter().flat_map(of).collect()
                };
                for b in bindings {
                    let values = b.iter().filter_map(|(_, v)| if let Value::Term(t) = v { Some(t.clone()) } else { None }).collect();
                    if done.insert((i, values)) {
                        instances.push((rule, b, 0));
                    }
                }
            }
        }
        let subjects: BTreeSet<&Term> =
            instances.iter().flat_map(|(_, b, _)| b).filter_map(|(n, v)| if let (Value::Term(t), "D") = (v, &**n) { Some(t) } else { None }).collect();
        let mut ground = Ground {
            words: words.clone(),
            filling: self.filling.clone(),
            cuts: Cuts::new(&all, &self.rows),
            rows: self.rows.clone(),
            alike: self.alike.clone(),
            pronouns: subjects.len() == 1,
            heads: heads(&all, names, &words.nouns, &self.rows.one_of),
            parts_of: parts_of(&all, names),
            spoken: all,
            topics: says.iter().filter_map(|say| say.input.as_ref().and_then(named).or_else(|| named(&say.action))).collect(),
            free: ACTIONS,
            ..Ground::default()
        };
        for (rule, b, _) in &instances {
            ground.place(&rule.name, rule.key(b));
        }
        for (rule, b, mask) in &instances {
            let at = ground.place(&rule.name, rule.key(b));
            let pieces: Vec<Piece> = rule.say.iter().map(|s| ground.piece(s, b)).collect();
            let mask = mask | ground.debt(rule.owes.as_ref(), b, |(owed, _)| owed) | ground.debt(rule.pays.as_ref(), b, |(_, paid)| paid);
            let mask = mask | rule.closes.as_ref().map_or(0, |all| ground.closing(marked(all, &says)));
            if let Some(part) = ground.parts.get_mut(at) {
                part.extend(pieces.into_iter().map(|p| (p, mask)));
            }
        }
        ground
    }

    /// The actions that need no words.
    pub fn silent(&self, says: &[Say]) -> Mask {
        let named_again = |at: usize| {
            let name = says.get(at).and_then(|say| named(&say.action));
            name.is_some() && says.iter().enumerate().any(|(other, say)| other != at && named(&say.action) == name)
        };
        let again = (0..says.len()).filter(|at| named_again(*at)).fold(0, |mask, at| mask | 1 << at);
        let silent = self.silent.iter().fold(0, |mask, p| mask | marked(p, says));
        silent | again & self.implied.iter().fold(0, |mask, p| mask | marked(p, says))
    }
}

/// The actions of this form.
fn marked(form: &Pattern, says: &[Say]) -> Mask {
    says.iter().enumerate().filter(|(_, say)| form.matches_atom(&say.action, &mut vec![])).fold(0, |mask, (at, _)| mask | 1 << at)
}

/// What the variables of keys hold where the keys are these values.
fn bound(keys: &[Pattern], values: &[Term]) -> Option<Bindings> {
    let mut bindings = vec![];
    (keys.len() == values.len() && keys.iter().zip(values).all(|(k, v)| k.matches(v, &mut bindings))).then_some(bindings)
}

fn value<'a>(bindings: &'a Bindings, var: &str) -> Option<&'a Term> {
    bindings.iter().find_map(|(n, v)| if let (true, Value::Term(t)) = (&**n == var, v) { Some(t) } else { None })
}

/// A phrase with its shared alternatives, which may name others a few deep.
fn filled(text: &str, shared: &BTreeMap<String, String>) -> String {
    let mut full = text.to_owned();
    for _ in 0..8 {
        let Some((first, rest)) = full.split_once('$') else { break };
        full = rest.split('$').fold(first.to_owned(), |out, part| match part.split_once(';').and_then(|(name, after)| Some((shared.get(name)?, after))) {
            Some((words, after)) => out + "(" + words + ")" + after,
            None => out + "$" + part,
        });
    }
    full
}

impl RuleText {
    fn read(&self, shared: &BTreeMap<String, String>, wrong: &mut impl FnMut(&str, String)) -> Option<Rule> {
        let mut patterns = |texts: &[String]| -> Vec<Pattern> { texts.iter().filter_map(|t| Pattern::parse(t).map_err(|e| wrong(t, e.into())).ok()).collect() };
        let (known, inputs) = (!self.fact.is_empty(), patterns(&self.input));
        let actions = patterns(if known { &self.fact } else { &self.action });
        let mut one = |text: &Option<String>| text.iter().flat_map(|t| patterns(std::slice::from_ref(t))).next();
        let (total, owes, pays, closes) = (one(&self.total), one(&self.owes), one(&self.pays), one(&self.closes));
        let mut say = vec![];
        for text in &self.say {
            match phrase(&filled(text, shared)) {
                Ok(shape) => say.push(shape),
                Err(problem) => wrong(text, problem),
            }
        }
        let (name, keys) = match Pattern::parse(&self.part).ok().as_ref().and_then(|p| p.head().map(|(n, keys)| (Name::from(n), keys.to_vec()))) {
            Some(part) => part,
            None => {
                wrong(&self.part, "the name of a part".into());
                return None;
            }
        };
        let count = self.count.as_deref().map(Name::from);
        Some(Rule {
            name,
            keys,
            actions,
            inputs,
            known,
            count,
            total,
            quiet: self.quiet || known,
            roles: self.roles.clone(),
            owes,
            pays,
            closes,
            say,
            over: vec![],
            uses: vec![],
        })
    }
}

impl Rule {
    fn key(&self, bindings: &Bindings) -> Vec<Term> {
        self.keys.iter().filter_map(|k| k.filled(bindings)).collect()
    }

    /// The rule with what its phrases build on.
    fn knowing(mut self) -> Self {
        let (mut over, mut uses): (Vec<Part>, Vec<Name>) = (vec![], vec![]);
        for shape in &self.say {
            shape.each(&mut |s| {
                if let Shape::Part(p) = s {
                    uses.push(p.name.clone());
                    let most = over.first().map_or(0, |f| f.keys.len());
                    if p.keys.len() > most {
                        over = vec![p.clone()];
                    } else if p.keys.len() == most && most > 0 {
                        over.push(p.clone());
                    }
                }
            });
        }
        (self.over, self.uses) = (over, uses);
        self.closing()
    }

    /// The rule with its words made into pieces, once for all replies.
    fn closing(mut self) -> Self {
        self.say = self.say.into_iter().map(Shape::closing).collect();
        self
    }

    /// Its bindings over the actions, equal ones together: how many there are is `M`.
    fn over(&self, says: &[Say]) -> Vec<(Bindings, Mask)> {
        let mut out: Vec<(Bindings, Mask, i64, i64)> = vec![];
        for (at, say) in says.iter().enumerate() {
            for action in &self.actions {
                let mut b = vec![];
                if !action.matches_atom(&say.action, &mut b) {
                    continue;
                }
                let before = b.clone();
                let fits = |p: &Pattern, b: &mut Bindings| {
                    b.clone_from(&before);
                    say.input.as_ref().is_some_and(|i| p.matches_atom(i, b))
                };
                if !self.inputs.is_empty() && !self.inputs.iter().any(|p| fits(p, &mut b)) {
                    continue;
                }
                let counted = self.count.as_ref().and_then(|c| value(&b, c)).and_then(Term::as_int).map_or(1, i64::from);
                b.retain(|(n, _)| Some(n) != self.count.as_ref());
                match out.iter_mut().find(|(o, ..)| *o == b) {
                    Some((_, mask, n, m)) => (*mask, *n, *m) = (*mask | 1 << at, n.saturating_add(counted), *m + 1),
                    None => out.push((b, 1 << at, counted, 1)),
                }
                break;
            }
        }
        let int = |n: i64| Value::Term(Term::Int(i32::try_from(n).unwrap_or(i32::MAX)));
        let finish = |(mut b, mask, n, m): (Bindings, Mask, i64, i64)| {
            b.push(("M".into(), int(m)));
            b.extend(self.count.iter().map(|c| (c.clone(), int(n))));
            if let Some(total) = &self.total {
                let count = says.iter().filter(|s| total.matches_atom(&s.action, &mut b.clone())).count();
                b.push(("Total".into(), int(i64::try_from(count).unwrap_or(i64::MAX))));
            }
            (b, if self.quiet { 0 } else { mask })
        };
        out.into_iter().map(finish).collect()
    }
}

/// The grammar of one reply.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// Wordings by part, with the actions that each says.
    pub parts: Vec<Vec<(Piece, Mask)>>,
    index: BTreeMap<(Name, Vec<Term>), usize>,
    words: Arc<Words>,
    /// Words that assert nothing wherever they stand.
    pub filling: Arc<Filling>,
    /// Words that say the same.
    pub alike: Arc<Alike>,
    /// Which words deny what stands right behind them.
    pub rows: Arc<Rows>,
    /// What names that are cut short stand beside.
    pub cuts: Cuts,
    pronouns: bool,
    /// Every name of the reply by its words.
    pub spoken: Spoken,
    /// What stands for them.
    pub heads: Heads,
    /// What the actions are about, each by the first name that it holds: what a pronoun may stand for.
    pub topics: BTreeSet<String>,
    /// Parts of names that stand for them, and whether the last word is what others have too.
    parts_of: BTreeMap<String, Vec<(Phrase, bool)>>,
    debts: BTreeMap<Term, (Mask, Mask)>,
    /// Pairs of masks: what sets the first is said with the second or behind it.
    pub closed: Vec<(Mask, Mask)>,
    /// How many bits of a mask are taken.
    free: usize,
}

impl Ground {
    /// A bit of its own, beyond those of the actions.
    pub fn bit(&mut self) -> Mask {
        self.free += 1;
        1 << self.free.min(124)
    }

    /// Pairs of bits: behind what sets the first, the next thing said must set the second.
    pub fn debts(&self) -> Vec<(Mask, Mask)> {
        self.debts.values().copied().collect()
    }

    fn closing(&mut self, all: Mask) -> Mask {
        let known = self.closed.iter().find(|(_, of)| *of == all).map(|(bit, _)| *bit);
        known.unwrap_or_else(|| {
            let bit = self.bit();
            self.closed.push((bit, all));
            bit
        })
    }

    fn debt(&mut self, what: Option<&Pattern>, b: &Bindings, end: fn((Mask, Mask)) -> Mask) -> Mask {
        let Some(what) = what.and_then(|p| p.filled(b)) else { return 0 };
        let known = self.debts.get(&what).copied();
        let both = known.unwrap_or_else(|| (self.bit(), self.bit()));
        self.debts.insert(what, both);
        end(both)
    }

    /// The part of this name without keys.
    pub fn part(&self, name: &str) -> Option<usize> {
        self.index.get(&(name.into(), vec![])).copied()
    }

    /// Adds a wording to a part.
    pub fn add(&mut self, name: &str, words: Phrase, mask: Mask) {
        let at = self.place(&name.into(), vec![]);
        if let Some(part) = self.parts.get_mut(at) {
            part.push((spoken(words), mask));
        }
    }

    fn place(&mut self, name: &Name, key: Vec<Term>) -> usize {
        let next = self.parts.len();
        let at = *self.index.entry((name.clone(), key)).or_insert(next);
        if at == next {
            self.parts.push(vec![]);
        }
        at
    }

    fn piece(&self, shape: &Shape, b: &Bindings) -> Piece {
        match shape {
            Shape::Seq(all) => Piece::Seq(all.iter().map(|s| self.piece(s, b)).collect(), Fill::Loose),
            Shape::Bag(all, among) => Piece::Bag(all.iter().map(|s| self.piece(s, b)).collect(), among.clone()),
            Shape::Alt(all) => Piece::Alt(all.iter().map(|s| self.piece(s, b)).collect()),
            Shape::Word(w) => Piece::Word(w.clone()),
            Shape::Pause(fill) => Piece::Pause(*fill),
            Shape::Closed(piece) => Piece::Shared(piece.clone()),
            Shape::Slot(slot) => Piece::Alt(self.slot(slot, b).into_iter().map(spoken).chain(self.cut(slot, b)).collect()),
            Shape::Part(part) => {
                let key: Vec<Term> = part.keys.iter().filter_map(|k| k.filled(b)).collect();
                self.index.get(&(part.name.clone(), key)).map_or(Piece::Alt(vec![]), |at| Piece::Part(*at, part.list))
            }
        }
    }

    /// A slot's name without the last word that others have too, in a row that gives it.
    fn cut(&self, slot: &Slot, b: &Bindings) -> Vec<Piece> {
        let before: Vec<Phrase> = match &slot.form {
            Form::Plain => vec![vec![]],
            Form::Known => ["a", "an", "the", ""].map(words::tokens).into(),
            Form::Counted(count) => words::before_noun(value(b, count).and_then(Term::as_int).map_or(1, i64::from)),
            _ => return vec![],
        };
        let Some(name) = value(b, &slot.var).and_then(Term::as_name) else { return vec![] };
        let parts = self.parts_of.get(name).into_iter().flatten().filter(|p| p.1);
        parts.flat_map(|(part, _)| cut(name, part, &before, matches!(slot.form, Form::Counted(_)))).collect()
    }

    /// Every way to say a slot; none if its variable has no value, so that the wording falls away.
    fn slot(&self, slot: &Slot, b: &Bindings) -> Vec<Phrase> {
        let Some(term) = value(b, &slot.var) else { return vec![] };
        let number = |var: &str| value(b, var).and_then(Term::as_int).map_or(1, i64::from);
        let (int, name) = (term.as_int().map(i64::from), self.words.term(term));
        let behind = |first: &[&str], nouns: Vec<Phrase>| -> Vec<Phrase> {
            first.iter().flat_map(|f| nouns.iter().map(|n| [words::tokens(f), n.clone()].concat())).collect()
        };
        let parts = || term.as_name().and_then(|t| self.parts_of.get(t)).into_iter().flatten().filter(|p| !p.1).map(|p| p.0.clone());
        let noun = |n: i64| term.as_name().map_or_else(|| vec![words::tokens(&name)], |t| words::noun(&self.words.nouns, n, t));
        let known = |n: i64| match n {
            1 => {
                let mut out = behind(&["the", "your", "our", "that", "this", "those", "these", "a", "an", "one", ""], noun(1));
                out.extend(behind(&["the", "your", "that", "this", "those", "these"], parts().collect()));
                out
            }
            n => {
                let mut out = if n == 2 { behind(&words::BOTH, noun(2)) } else { vec![] };
                for first in ["", "the", "your"] {
                    out.extend(words::numerals(n).iter().flat_map(|w| behind(&[first], noun(n).into_iter().map(|f| [w.clone(), f].concat()).collect())));
                }
                out
            }
        };
        match &slot.form {
            Form::Plain => int.map_or_else(|| words::either_number(&name), words::numerals),
            Form::Known => known(1),
            Form::Plural => noun(2),
            // Where one thing alone can be meant, nothing need be said of it; the whole order is no such thing.
            Form::Pronoun if self.pronouns && matches!(term, Term::Str(_)) => {
                ["it", "that one", "that", "they", "them", "these", "those", "this", ""].iter().map(|w| words::tokens(w)).collect()
            }
            Form::Pronoun => vec![],
            Form::Number => words::before_noun(int.unwrap_or(1)),
            Form::Noun(count) => noun(number(count)),
            Form::Counted(count) => {
                let n = number(count);
                let before = words::before_noun(n).into_iter().flat_map(|w| noun(n).into_iter().map(move |f| [w.clone(), f].concat()));
                // Two Pepsis, or "Pepsi, two of them".
                let nouns = noun(1).into_iter().chain(noun(2));
                before.chain(nouns.flat_map(|f| words::behind_noun(n).into_iter().map(move |w| [f.clone(), w].concat()))).collect()
            }
            Form::All(count) => known(number(count)),
            Form::Ordinal => words::ordinals(int.unwrap_or(1)),
            Form::Way(way) if way == "money" => words::money(&self.words.currency, int.unwrap_or(0)),
            Form::Way(way) if way == "hour" => int.map(words::hours).unwrap_or_default(),
            Form::Way(way) => vec![words::tokens(&self.words.worded(way, term))],
        }
    }
}

/// A run of words that belong together.
pub fn spoken(words: Phrase) -> Piece {
    Piece::Seq(words.into_iter().map(|w| if words::parts(&w) { Piece::Pause(Fill::Tight) } else { Piece::Exact(w) }).collect(), Fill::Tight)
}
