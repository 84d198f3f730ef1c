//! The second judge: what a sentence names, counts, prices and denies must be what the actions that hold it name, count, price and deny.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;

use super::alike::unmarked;
use super::grammar::Grammar;
use super::scan::{Entity, NameIndex, read, tokens, word};
use super::{Violation, collect, unsupported};
use crate::render::{Render, Say, Tone};
use crate::term::{Atom, Term};

mod belonging;
mod placing;
mod telling;

/// Signs of money; only the configured one may be said.
const CURRENCIES: [char; 9] = ['$', '€', '£', '¥', '¢', '₹', '₽', '₩', '฿'];
/// Words between which denials are looked for clause by clause.
const CUTS: [&str; 5] = ["but", "and", "so", "because", "though"];

/// Lists of words by name, of which several files may each give some.
macro_rules! lists {
    ($(#[$of:meta])* $lists:ident { $($(#[$doc:meta])* $list:ident,)* }) => {
        $(#[$of])*
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $lists {
            $($(#[$doc])* #[serde(deserialize_with = "words_of")] pub $list: BTreeSet<String>,)*
        }

        impl $lists {
            pub fn extend(&mut self, more: Self) {
                $(self.$list.extend(more.$list);)*
            }
        }
    };
}

lists! {
    /// Which words deny, or take away, every name of the row behind them.
    Rows {
        /// No onions or cheese.
        denying,
        /// Taken off the taco and two drinks.
        taking,
        /// What may stand before a name that is taken away.
        before,
        /// What joins a row's last name.
        joining,
        /// What says of a name by itself that the same holds of it: the burrito too.
        likewise,
        /// What may stand beside such a name.
        beside,
        /// Words of actions whose names go in no row with others': what somebody cannot have.
        apart,
        /// Words of actions that take away what they name.
        away,
        /// What stands before a word to which something was done: the removed onions.
        pointing,
        /// What was done to it.
        done_to,
        /// What may follow there all the same: the one removed from.
        after_done,
        /// Who says what was done.
        doer,
        /// What was done, as who did it says.
        did,
        /// What makes a question of it at the end.
        tag,
        /// Words for two, and words for several, of what was done.
        both,
        several,
        /// What makes one price of several, and what tells it of each.
        together,
        each,
        /// What stands before a thing that begins anew behind something denied: without onions, a Water.
        counting,
        /// Words of actions behind which it does so too: beans for beef, a Water.
        renewing,
        /// What stands before a name that a sentence is about.
        heading,
        /// What picks one of several: one of them.
        one_of,
        /// Words of actions that say how many there are.
        counted,
        /// Words of actions that change nothing.
        social,
        /// What makes a wish of what was done: you want it deleted.
        wishing,
        /// Actions that ask.
        asking,
        /// Words of actions that name a thing by itself, and of those that name what one is made without: what it is made of.
        things,
        lacking,
        /// What makes a part of it of what stands before: a coffee on it.
        upon,
        /// What says that there was one before.
        further,
        /// Words of actions that set an amount, and what tells of it as put on top.
        setting,
        raising,
        /// Words of actions that put one thing in the place of another.
        replacing,
        /// How a thing may be: what stands behind a name is said of that name.
        fitting,
        /// What throws a thing away unless it is said where to, and what says where to.
        tossing,
        placing,
        /// What leaves out every thing behind it that has its article.
        holding,
        /// What makes an amount no more than about so.
        hedging,
        /// How it may be made.
        styled,
        /// What says behind a thing that it holds others, and before "in" that it is held; and what can hold them.
        wrapping,
        wrapped,
        wrappers,
    }
}

/// What is never said beside some actions, whatever words around it pass: no "no need to worry" beside a warning.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Never {
    /// Words of these actions; of any if none is said.
    #[serde(default, deserialize_with = "words_of")]
    beside: BTreeSet<String>,
    /// Words of actions beside which it may be said all the same.
    #[serde(default, deserialize_with = "words_of")]
    unless: BTreeSet<String>,
    /// Words of an action that the sentence must name, if any are said.
    #[serde(default, deserialize_with = "words_of")]
    naming: BTreeSet<String>,
    /// Only in a clause that names nothing, and so tells of every action.
    #[serde(default)]
    nameless: bool,
    /// Where what was named last is none of these, and nothing is named or denied beside it.
    #[serde(default, deserialize_with = "words_of")]
    only: BTreeSet<String>,
    /// The phrases.
    say: Vec<String>,
}

/// A comma, a semicolon, and the end of a line, where the words of a row are looked at.
const COMMA: &str = "zzcomma";
const BREAK: &str = "zzbreak";
const LINE: &str = "zzline";

impl Never {
    /// The same with its phrases as texts are looked through.
    pub fn plain(mut self) -> Self {
        self.say.iter_mut().for_each(|phrase| *phrase = padded(&unmarked(phrase)));
        self
    }
}

/// Words as a file lists them: one text, spaces between them.
pub fn words_of<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeSet<String>, D::Error> {
    Ok(String::deserialize(from)?.split_whitespace().map(str::to_owned).collect())
}

/// An action with what its plain words show.
#[derive(Clone, Debug)]
struct Held {
    /// The stems of its names.
    names: BTreeSet<String>,
    /// Those that stand in the action itself, not in what it answers.
    own: BTreeSet<String>,
    denies: bool,
    refuses: bool,
    /// One thing goes for another, so that what is counted behind it begins anew.
    renews: bool,
    /// The stems of what went out.
    out: BTreeSet<String>,
    /// The words of its form: `confirm order`.
    kind: Vec<String>,
    /// These, and those within them: `check update size large`.
    words: Vec<String>,
}

/// What was named last: whether it is refused, and no more than something that another is made without.
#[derive(Clone, Copy, Debug, Default)]
pub struct Behind {
    refused: bool,
    lacks: bool,
    /// The actions that it is about, by their places.
    last: u64,
}

/// The actions of one reply.
#[derive(Clone, Debug)]
pub struct Clauses {
    says: Vec<Say>,
    /// What each of them shows.
    held: Vec<Held>,
    names: NameIndex,
    foreign: Vec<char>,
    /// What its words mean.
    pub grammar: Arc<Grammar>,
    /// What the template itself names or counts beside the actions.
    known: BTreeSet<Entity>,
}

impl Clauses {
    pub fn new(says: &[Say], tone: &Tone, template: &dyn Render, names: &NameIndex, grammar: &Arc<Grammar>, currency: &str) -> Self {
        let mut all = vec![];
        let held = says.iter().map(|say| {
            let mut own = vec![];
            for atom in std::iter::once(&say.action).chain(&say.input) {
                atom.args.iter().for_each(|t| collect(t, &mut own, &mut BTreeSet::new()));
            }
            let plain = template.render(std::slice::from_ref(say), tone);
            all.extend(own.iter().cloned());
            let names = own.iter().map(|n| stems(n)).collect();
            let renews = tokens(&say.action.to_string()).iter().any(|t| grammar.rows.renewing.contains(&t.word));
            let kind = form(&say.action);
            let own = names_in(&say.action);
            let before = say.input.iter().filter(|_| has_any(&kind, &grammar.rows.replacing)).flat_map(names_in);
            let out = before.filter(|n| !own.contains(n)).collect();
            Held { names, own, denies: has(&plain, &grammar.denying), refuses: has(&plain, &grammar.refusing), renews, out, kind, words: within(&say.action) }
        });
        let held: Vec<Held> = held.collect();
        let foreign = CURRENCIES.into_iter().filter(|c| !currency.contains(*c)).collect();
        Self { says: says.to_vec(), held, names: names.with(&all), foreign, grammar: grammar.clone(), known: BTreeSet::new() }
    }

    /// A sentence of the template: what it holds may be said.
    pub fn allow(&mut self, sentence: &str) {
        self.known.extend(read(sentence, &self.names));
    }

    /// Whether a sentence names or counts something.
    pub fn holds_something(&self, sentence: &str) -> bool {
        !read(sentence, &self.names).is_empty()
    }

    /// Which of these names the text holds, each where it is said last; what went out for something else is spoken of no more.
    pub fn topics(&self, text: &str, of: &BTreeSet<String>) -> Vec<String> {
        let mut out: Vec<String> = vec![];
        for said in read(text, &self.names) {
            let Entity::Name(said) = said else { continue };
            if self.held.iter().any(|h| h.out.contains(&stems(&said))) {
                continue;
            }
            if let Some(name) = of.iter().find(|name| stems(name) == stems(&said)) {
                out.retain(|known| known != name);
                out.push(name.clone());
            }
        }
        out
    }

    /// Judges one sentence, which stands behind something refused or not; gives whether what it names last is.
    pub fn sentence(&self, text: &str, behind: Behind) -> Result<Behind, Violation> {
        if let Some(sign) = text.chars().find(|c| self.foreign.contains(c)) {
            return Err(Violation::Unsupported(format!("`{sign}`")));
        }
        let of = self.about(text);
        if let Some(foreign) = unsupported(text, &self.says, &self.names).iter().find(|e| !self.known.contains(*e)) {
            return Err(Violation::Unsupported(foreign.to_string()));
        }
        let plain = |e: &&Entity| matches!(e, Entity::Money(_));
        let said = |at: &dyn Fn(&Held) -> bool| self.held.iter().zip(&self.says).filter(|(h, _)| at(h)).map(|(_, s)| s.clone()).collect::<Vec<_>>();
        let near = if of.is_empty() { vec![] } else { said(&|h| of.iter().any(|o| std::ptr::eq(*o, h))) };
        if let Some(amount) = unsupported(text, &near, &self.names).iter().find(plain).filter(|_| !of.is_empty()) {
            let lone = said(&|h| h.names.is_empty());
            if unsupported(&amount_in(amount), &lone, &self.names).iter().any(|e| e == amount) {
                return Err(Violation::Unsupported(format!("{amount} there")));
            }
        }
        let near = || text.chars().take(60).collect();
        if let Some(phrase) = self.never_said(text, &of) {
            return Err(Violation::Unsupported(phrase));
        }
        if self.tells_as_asked(text, &of)
            || self.tells_of_several(text, &of)
            || self.prices_several(text)
            || self.raises(text)
            || self.tells_of_more(text)
            || self.fits_another(text)
            || self.misplaces(text)
        {
            return Err(Violation::Unsupported(near()));
        }
        if !self.rows_hold(text) || !self.rows_agree(text) {
            return Err(Violation::Negation(near()));
        }
        // "No, the Pepsi is on your order": what answers first denies nothing behind its comma.
        let behind_answer =
            text.trim_start().split_once(',').filter(|(first, _)| has(first, &self.grammar.denying) && tokens(first).len() == 1).map_or(text, |x| x.1);
        if !of.is_empty() && of.iter().all(|h| h.denies) && !text.trim_end().ends_with('?') && !has(behind_answer, &self.grammar.refusing) {
            return Err(Violation::Negation(near()));
        }
        let Behind { mut refused, mut lacks, last } = behind;
        let mut joined = tokens(text).first().is_some_and(|t| self.grammar.rows.joining.contains(&t.word));
        // What names nothing may be denied beside what is named: registered, with no allergies.
        let nameless = self.held.iter().any(|h| h.names.is_empty() && h.denies);
        let all: Vec<(Vec<&Held>, String)> = clauses(text).into_iter().map(|clause| (self.about(&clause), clause)).collect();
        let Some(last) = self.tells_of_last(text, &all, last) else { return Err(Violation::Unsupported(near())) };
        for (at, (of, clause)) in all.iter().enumerate().filter(|(_, (of, _))| !of.is_empty()) {
            let refuses = of.iter().any(|h| h.refuses);
            if !nameless && !refuses && has(clause, &self.grammar.denying) {
                return Err(Violation::Negation(near()));
            }
            // A name by itself goes with what was said last: "And the burrito.", "The burrito, too."
            let Some(too) = self.alone(clause) else {
                (refused, joined) = (refuses, false);
                lacks = refuses && of.iter().filter(|h| h.refuses).all(|h| has_any(&h.words, &self.grammar.rows.lacking));
                continue;
            };
            // "Without onions, and then a Water, too": a thing that is counted is none of what another lacks.
            if lacks && !refuses && self.begins(clause, of) {
                continue;
            }
            let next = all.get(at + 1).filter(|(of, _)| of.is_empty()).and_then(|(_, next)| self.alone(next));
            if refused && !refuses && (too || joined || next == Some(true)) {
                return Err(Violation::Negation(near()));
            }
            refused |= refuses;
        }
        Ok(Behind { refused, lacks, last })
    }

    /// Whether a clause that does no more than name says "too", so that what was said last holds of it: the bowl is off, and the burrito too.
    fn alone(&self, clause: &str) -> Option<bool> {
        let all = tokens(clause);
        let Rows { before, likewise, beside, .. } = &*self.grammar.rows;
        let (mut at, mut too) = (0, false);
        while let Some(first) = all.get(at) {
            let named = self.names.longest_at(all.get(at..).unwrap_or_default()).map(|(_, length)| length);
            let says = |lists: &[&BTreeSet<String>]| named.is_none() && lists.iter().any(|list| list.contains(&first.word));
            too |= says(&[likewise]);
            let bare = says(&[before, likewise, beside]) || first.word.bytes().all(|b| b.is_ascii_digit());
            at += named.or_else(|| bare.then_some(1))?;
        }
        Some(too)
    }

    /// What stands in one row with what is denied is denied too: without this and that.
    fn rows_hold(&self, text: &str) -> bool {
        let all = tokens(&marked(&text.replace(')', ",")));
        let Rows { denying, taking, before, joining, .. } = &*self.grammar.rows;
        let any = |at: usize, list: &BTreeSet<String>| all.get(at).is_some_and(|t| list.contains(&t.word));
        let name = |at: usize| self.names.longest_at(all.get(at..).unwrap_or_default());
        let counted = |at: usize| any(at, before) || all.get(at).is_some_and(|t| t.word.bytes().all(|b| b.is_ascii_digit()));
        let bare = |at: usize, taken: bool| at + (at..all.len()).take_while(|at| taken && counted(*at)).count();
        let starts = (0..all.len()).filter(|at| any(*at, denying) || any(*at, taking)).map(|at| (bare(at + 1, any(at, taking)), any(at, taking)));
        let next = |(at, taken): &(usize, bool)| {
            let end = name(*at).map(|(_, length)| at + length)?;
            let sign = usize::from(all.get(end).is_some_and(|t| t.word == COMMA || t.word == BREAK));
            let joint = usize::from(any(end + sign, joining));
            // What is taken may follow bare, behind its comma; a thing behind a comma is none of what another is made without.
            let start = bare(end + sign + joint, *taken);
            let parted = !*taken && sign > 0 && self.begins_behind(name(*at), name(start));
            ((joint > 0 || *taken) && !parted).then_some((start, *taken))
        };
        let further = starts.flat_map(|first| std::iter::successors(Some(first), next).skip(1)).filter_map(|(at, _)| name(at));
        further.map(|(name, _)| self.about(name)).all(|of| of.is_empty() || of.iter().any(|h| h.denies || h.refuses))
    }

    /// Whether names that stand in one row, with nothing but a joining word between, are told of alike: out of guacamole and beans.
    fn rows_agree(&self, text: &str) -> bool {
        let Rows { denying, before, counted: items, counting, heading, joining, apart, away, upon, pointing, done_to, after_done, .. } = &*self.grammar.rows;
        let all = tokens(&marked(text));
        let word = |at: usize| word(&all, at);
        let done = |at: usize| pointing.contains(word(at)) && done_to.contains(word(at + 1)) && !word(at + 2).is_empty() && !after_done.contains(word(at + 2));
        if (0..all.len()).any(done) {
            return false;
        }
        let in_kind = |h: &Held, list: &BTreeSet<String>| h.kind.iter().any(|w| list.contains(w));
        let gone = |h: &Held| h.denies || h.refuses || has_any(&h.words, away);
        let mut last: Option<(usize, &str)> = None;
        let mut at = 0;
        while at < all.len() {
            let Some((name, length)) = self.names.longest_at(all.get(at..).unwrap_or_default()) else {
                at += 1;
                continue;
            };
            if let Some((end, first)) = last {
                let between: Vec<&str> = (end..at).map(word).collect();
                // "Bruno Silva, 1981, penicillin": a number between two commas counts nothing.
                let item = |w: &[&str]| matches!(w, [number, COMMA] if number.bytes().all(|b| b.is_ascii_digit()));
                let bare = |w: &&str| *w == COMMA || *w == LINE || joining.contains(*w) || before.contains(*w) || w.bytes().all(|b| b.is_ascii_digit());
                let joins = between.iter().any(|w| *w == COMMA || *w == LINE || joining.contains(*w)) && !between.windows(2).any(item);
                // "No lettuce, and a Pepsi" begins anew.
                let joint = between.iter().position(|w| joining.contains(*w));
                let begins = !upon.contains(word(at + length)) && self.begins_behind(Some((first, 0)), Some((name, 0)));
                let signed = |b: &[&str]| b.contains(&COMMA) || begins && b.contains(&BREAK);
                let anew = joint.is_some_and(|at| between.get(..at).is_some_and(signed));
                // "The Pepsi is off your order and one Soft Taco": nothing else is said of what comes last.
                let tail = between.iter().rposition(|w| joining.contains(*w) || *w == COMMA).unwrap_or(between.len());
                let ends = matches!(word(at + length), "" | COMMA | LINE) || joining.contains(word(at + length));
                let elliptic = ends && !anew && tail < between.len() && between.get(tail..).unwrap_or_default().iter().all(bare);
                if elliptic && !between.iter().all(bare) {
                    let (one, other) = (self.about(first), self.about(name));
                    if !one.is_empty() && !other.is_empty() && one.iter().all(|h| gone(h)) && !other.iter().any(|h| gone(h)) {
                        return false;
                    }
                }
                if joins && !anew && between.iter().all(bare) {
                    let (one, other) = (self.about(first), self.about(name));
                    let (start, swaps) = (end.saturating_sub(tokens(first).len()), |of: &[&Held]| of.iter().any(|h| h.renews));
                    let behind = swaps(&one) || start.checked_sub(1).is_some_and(|at| denying.contains(word(at)));
                    let counts = |w: &&str| counting.contains(*w) || w.bytes().all(|b| b.is_ascii_digit());
                    let counted = behind && ends && between.last().is_some_and(counts);
                    // "The coffee's off, a juice is on", "a taco, beans for the beef", "without onions, nachos with beans", "without onions, one Soft Taco with
                    // beans", "For Ada, codeine is refused": what comes last has words of its own.
                    let dish = |of: &[&Held]| of.iter().any(|h| in_kind(h, items));
                    let told = between.first().is_some_and(|w| *w != COMMA && *w != LINE && !joining.contains(*w));
                    let listed = between.split_first().is_some_and(|(first, rest)| *first == COMMA && rest.iter().all(counts));
                    let own = begins && between.iter().any(|w| *w == COMMA || *w == LINE || counts(w))
                        || !ends && (told || listed && (swaps(&other) || dish(&other) || start < 3 && heading.contains(word(0))));
                    let one_kind = |a: &Held, b: &Held| a.kind == b.kind && (has_any(&a.words, away) == has_any(&b.words, away) || !ends && between == [COMMA]);
                    let alike = |a: &&Held, b: &&Held| one_kind(a, b) || gone(a) == gone(b) && !in_kind(a, apart) && !in_kind(b, apart);
                    let agree = one.is_empty() || other.is_empty() || one.iter().any(|a| other.iter().any(|b| alike(a, b)));
                    if !counted && !own && !agree {
                        return false;
                    }
                }
            }
            last = Some((at + length, name));
            at += length;
        }
        true
    }

    /// Whether something is told of several that was done to one: two tacos, with beans on them.
    fn tells_of_several(&self, text: &str, of: &[&Held]) -> bool {
        let Rows { both, several, counted, one_of, .. } = &*self.grammar.rows;
        let words = tokens(text);
        let word = |at: usize, back: usize| at.checked_sub(back).and_then(|at| words.get(at)).map_or("", |t| &t.word);
        let picked = |at: usize| word(at, 1) == "of" && one_of.contains(word(at, 2));
        let says = |list: &BTreeSet<String>| words.iter().enumerate().any(|(at, t)| list.contains(&t.word) && !picked(at));
        let times = |h: &Held| self.held.iter().filter(|o| o.kind == h.kind).count();
        let two = |s: &Say| s.input.iter().flat_map(|a| &a.args).any(|t| t.as_int() == Some(2));
        if says(both) && !self.held.iter().zip(&self.says).any(|(h, s)| times(h) > 1 || two(s) && of.iter().any(|o| std::ptr::eq(*o, h))) {
            return true;
        }
        let items = |h: &Held| has_any(&h.kind, counted);
        let many = self.orders_several();
        let single = |h: &Held| h.kind.len() > 1 && h.kind.first().is_some_and(|k| k == "confirm") && !items(h) && times(h) == 1;
        // "Two tacos, no lettuce on that one."
        let one = |at: usize| words.get(at).is_some_and(|t| t.word == "one") && matches!(word(at, 1), "that" | "this");
        if many && (0..words.len()).any(one) && self.says.iter().zip(&self.held).all(|(s, h)| !items(h) || is_several(s)) && of.iter().any(|h| single(h)) {
            return true;
        }
        let told = of.iter().any(|h| single(h))
            || of.iter().all(|h| items(h)) && self.held.iter().any(|h| h.names.is_empty() && single(h) && !has_any(&h.kind, &self.grammar.rows.social));
        many && says(several) && told
    }

    /// Whether several of a thing were ordered at once.
    fn orders_several(&self) -> bool {
        self.says.iter().zip(&self.held).any(|(s, h)| has_any(&h.kind, &self.grammar.rows.counted) && is_several(s))
    }

    /// Whether the price of one thing is told of several: both for it, two of them at it, or "they" where two were ordered, and not each.
    fn prices_several(&self, text: &str) -> bool {
        let Rows { both, several, together, each, .. } = &*self.grammar.rows;
        let words = tokens(text);
        let says = |list: &BTreeSet<String>| words.iter().any(|t| list.contains(&t.word));
        let holding = |cents: i64| {
            let holds = move |s: &Say| s.action.args.iter().any(|t| t.as_int().is_some_and(|n| i64::from(n) == cents));
            self.says.iter().zip(&self.held).filter(move |(s, _)| holds(s)).map(|(_, h)| h)
        };
        let single = |amount: &Entity| {
            let Entity::Money(cents) = amount else { return false };
            holding(*cents).count() == 1 && holding(*cents).all(|h| !h.names.is_empty())
        };
        let all = read(text, &self.names);
        let counted = |run: &[Entity]| matches!(run, [Entity::Number(200..=2_000), Entity::Name(_), amount] if single(amount));
        !says(each) && (all.windows(3).any(counted) || (says(both) || says(together) || says(several) && self.orders_several()) && all.iter().any(single))
    }

    /// Whether a question tells as done what is only asked: I removed the Pepsi, okay?
    fn tells_as_asked(&self, text: &str, of: &[&Held]) -> bool {
        let Rows { doer, did, done_to, tag, asking, wishing, .. } = &*self.grammar.rows;
        let Some(asked) = text.trim_end().strip_suffix('?') else { return false };
        let (told, end) = asked.rsplit_once(',').unwrap_or((asked, ""));
        let (words, tail) = (tokens(told), tokens(end));
        let opens = words.first().is_some_and(|t| doer.contains(&t.word));
        let tagged = if tail.is_empty() { opens } else { tail.iter().all(|t| tag.contains(&t.word)) };
        let says_did = words.windows(3).any(|w| {
            let [a, b, c] = w else { return false };
            doer.contains(&a.word) && (did.contains(&b.word) || did.contains(&c.word))
        });
        // "The Veggie Bowl deleted, correct?" tells it too.
        let says = |list: &BTreeSet<String>| words.iter().any(|t| list.contains(&t.word));
        let says_done = !tail.is_empty() && says(done_to) && !says(wishing);
        let asks = |h: &Held| h.kind.first().is_some_and(|k| asking.contains(k));
        let only_asked =
            if of.is_empty() { !self.held.iter().any(|h| !asks(h) && !h.names.is_empty()) && self.held.iter().any(asks) } else { of.iter().all(|h| asks(h)) };
        tagged && (says_did || says_done) && only_asked
    }

    /// The actions that hold a name of the text.
    fn about(&self, text: &str) -> Vec<&Held> {
        let named: BTreeSet<String> = read(text, &self.names).iter().filter_map(|e| if let Entity::Name(n) = e { Some(stems(n)) } else { None }).collect();
        self.held.iter().filter(|h| h.names.intersection(&named).next().is_some()).collect()
    }
}

/// Whether what is said answers something that counts more than one.
fn is_several(s: &Say) -> bool {
    s.input.iter().flat_map(|a| &a.args).any(|t| t.as_int().is_some_and(|n| n > 1))
}

fn has_any(words: &[String], list: &BTreeSet<String>) -> bool {
    words.iter().any(|w| list.contains(w))
}

/// The words of an action's form.
fn form(action: &Atom) -> Vec<String> {
    let of = |t: &Term| match t {
        Term::Const(c) => Some(c.to_string()),
        Term::Fun(f, _) => Some(f.to_string()),
        Term::Int(_) | Term::Str(_) => None,
    };
    std::iter::once(action.name.to_string()).chain(action.args.iter().filter_map(of)).collect()
}

/// These words, and those within its parts.
fn within(action: &Atom) -> Vec<String> {
    fn add(term: &Term, out: &mut Vec<String>) {
        match term {
            Term::Const(c) => out.push(c.to_string()),
            Term::Fun(f, args) => {
                out.push(f.to_string());
                args.iter().for_each(|t| add(t, out));
            }
            Term::Int(_) | Term::Str(_) => {}
        }
    }
    let mut out = vec![action.name.to_string()];
    action.args.iter().for_each(|t| add(t, &mut out));
    out
}

fn amount_in(amount: &Entity) -> String {
    if let Entity::Money(n) = amount { format!("{}.{:02} dollars", n / 100, n % 100) } else { String::new() }
}

fn stems(name: &str) -> String {
    tokens(name).into_iter().map(|t| t.stem).collect::<Vec<_>>().join(" ")
}

/// The text with its commas, semicolons and ends of lines as words.
fn marked(text: &str) -> String {
    text.replace(", ", &format!(" {COMMA} ")).replace("; ", &format!(" {BREAK} ")).replace('\n', &format!(" {LINE} "))
}

/// The stems of the names that an atom holds.
fn names_in(atom: &Atom) -> BTreeSet<String> {
    let mut all = vec![];
    atom.args.iter().for_each(|t| collect(t, &mut all, &mut BTreeSet::new()));
    all.iter().map(|n| stems(n)).collect()
}

/// Words between blanks, so that phrases are found whole.
fn padded(words: &[String]) -> String {
    format!(" {} ", words.join(" "))
}

/// Whether one of the words is said. Who asks why not denies nothing.
fn has(text: &str, words: &BTreeSet<String>) -> bool {
    let said = super::words::tokens(text);
    said.iter().enumerate().any(|(at, w)| words.contains(w) && !(w == "not" && at.checked_sub(1).and_then(|i| said.get(i)).is_some_and(|b| b == "why")))
}

/// The clauses of a sentence, cut at its signs and joints.
fn clauses(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for word in super::words::tokens(text) {
        if super::words::parts(&word) || CUTS.contains(&word.as_str()) {
            out.push(String::new());
        } else if let Some(last) = out.last_mut() {
            last.push_str(&word);
            last.push(' ');
        }
    }
    out
}
