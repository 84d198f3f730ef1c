//! Reading a sentence back into actions by the grammar of one reply: every way in which all of its words are accounted for.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::alike::{ASSENTS, Links, OPEN, REGRETS};
use super::grammar::{Ground, Mask};
use super::phrase::{Among, Fill, Piece};
use super::words::{PAUSE, STOP, firsts, fits, parts};

/// Ends of a piece in the text, with the actions said up to there.
type Ends = Vec<(usize, Mask)>;

/// What a reading has come to, between two pieces and between two sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// What was said.
    pub said: Mask,
    /// An assent stands open: no refusal may follow it.
    assent: bool,
    /// A regret stands open: a refusal must follow it, or in the same sentence a question.
    regret: Option<Here>,
    /// This sentence asserted something already.
    asserts: bool,
    /// What asserts something last refuses.
    refused: bool,
    /// What stood last asks: nobody has said yes to it.
    asked: bool,
    /// A question stands without its mark: another one must follow, whose mark is that of both.
    open: bool,
    /// What has to be said next: the reason of what was refused.
    due: Mask,
}

/// Whether something was said in this sentence or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Here {
    Now,
    Before,
}

/// The parts of a reply that may stand by themselves.
const KINDS: [(&str, Kind); 6] = [
    ("clause", Kind::Clause),
    ("refusal", Kind::Refusal),
    ("question", Kind::Question),
    ("assent", Kind::Assent),
    ("regret", Kind::Regret),
    ("social", Kind::Social),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Clause,
    Refusal,
    Question,
    Assent,
    Regret,
    Social,
}

impl Kind {
    fn asserts(self) -> bool {
        matches!(self, Self::Clause | Self::Refusal | Self::Question)
    }
}

impl State {
    /// The state after a piece of this kind, if the piece may stand here.
    fn after(self, kind: Kind, mask: Mask, before: Option<Kind>, debts: &[(Mask, Mask)], closed: &[(Mask, Mask)]) -> Option<Self> {
        let misplaced = match kind {
            Kind::Refusal | Kind::Regret => ASSENTS,
            _ => REGRETS,
        };
        if mask & misplaced != 0 || self.open && matches!(kind, Kind::Clause | Kind::Refusal) {
            return None;
        }
        let asks_on = mask & OPEN != 0;
        let mask = mask & !(ASSENTS | REGRETS | OPEN);
        let sum = |pairs: &dyn Fn(&(Mask, Mask)) -> Mask| debts.iter().map(pairs).fold(0, |all, bit| all | bit);
        let (paid, due) = (mask & sum(&|d| d.1), sum(&|d| if mask & d.0 == 0 { 0 } else { d.1 }));
        let early = closed.iter().any(|(bit, all)| mask & bit != 0 && (self.said | mask) & all != *all);
        if early || self.said & mask != 0 || (kind.asserts() && paid != self.due) {
            return None;
        }
        let due = if kind.asserts() { due } else { self.due };
        let open = if kind == Kind::Question { asks_on } else { self.open };
        let said = Self { said: self.said | mask, asserts: self.asserts || kind.asserts(), due, asked: kind == Kind::Question, open, ..self };
        match kind {
            Kind::Clause if self.regret.is_some() => None,
            Kind::Question if self.regret == Some(Here::Before) => None,
            Kind::Clause => Some(Self { assent: false, refused: false, ..said }),
            Kind::Refusal if self.assent || before == Some(Kind::Assent) => None,
            Kind::Refusal => Some(Self { regret: None, refused: true, ..said }),
            Kind::Question => Some(Self { regret: None, assent: false, refused: false, ..said }),
            Kind::Assent if self.refused || self.regret.is_some() || self.asked => None,
            Kind::Assent => Some(Self { assent: self.assent || !self.asserts, ..said }),
            Kind::Regret if self.assent => None,
            Kind::Regret => Some(Self { regret: (!self.refused).then_some(Here::Now), ..said }),
            Kind::Social => Some(said),
        }
    }

    /// Whether the reply may end here.
    pub fn may_end(self) -> bool {
        self.regret.is_none() && self.due == 0
    }
}

/// A reading of one sentence.
pub struct Reading<'a> {
    ground: &'a Ground,
    tokens: &'a [String],
    /// What runs of the text may stand for.
    links: Vec<Links>,
    seen: FxHashMap<(usize, usize), Ends>,
    /// What a phrase may ask for at each place, as its first word.
    firsts: Vec<Vec<&'a str>>,
    /// Where words of no weight that begin at each place end, with what they set.
    weightless: Vec<Ends>,
    /// Where fillings that begin at a place may end.
    gaps: FxHashMap<usize, Ends>,
    kinds: Vec<(usize, Kind)>,
    joint: Option<usize>,
    debts: Vec<(Mask, Mask)>,
    /// The furthest place that any reading came to.
    pub reached: usize,
}

/// Parts do not nest deeper.
const DEPTH: usize = 24;

impl<'a> Reading<'a> {
    pub fn new(ground: &'a Ground, tokens: &'a [String]) -> Self {
        let kinds = KINDS.iter().filter_map(|(name, kind)| ground.part(name).map(|at| (at, *kind))).collect();
        let links = ground.alike.links(tokens);
        let asked = |(token, links): (&'a String, &Links)| {
            let mut all: Vec<&str> = firsts(token).chain(links.iter().flat_map(|(_, class)| ground.alike.members(*class))).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        Self {
            ground,
            tokens,
            firsts: tokens.iter().zip(&links).map(asked).collect(),
            weightless: (0..tokens.len()).map(|at| ground.filling.ends(tokens, at)).collect(),
            links,
            seen: FxHashMap::default(),
            gaps: FxHashMap::default(),
            kinds,
            joint: ground.part("joint"),
            debts: ground.debts(),
            reached: 0,
        }
    }

    /// The states after the sentence, from the states before it.
    pub fn sentence(&mut self, from: &[State]) -> Vec<State> {
        let mut at: Vec<BTreeSet<(State, Option<Kind>)>> = vec![BTreeSet::new(); self.tokens.len() + 1];
        let mut out = BTreeSet::new();
        if let Some(first) = at.first_mut() {
            first.extend(from.iter().map(|s| (State { regret: s.regret.map(|_| Here::Before), asserts: false, ..*s }, None)));
        }
        for here in 0..at.len() {
            let states = at.get_mut(here).map(std::mem::take).unwrap_or_default();
            for (state, before) in states {
                if !state.open && self.ended(here, before) {
                    out.insert(state);
                }
                for (kind, next, end, mask) in self.next(here, before) {
                    if let (Some(state), Some(set)) = (state.after(kind, mask, before, &self.debts, &self.ground.closed), at.get_mut(end)) {
                        set.insert((state, Some(next)));
                    }
                }
            }
        }
        out.into_iter().collect()
    }

    /// Whether nothing but a full stop is left; a question ends with its own mark.
    fn ended(&self, here: usize, before: Option<Kind>) -> bool {
        let rest = self.tokens.get(here..).unwrap_or_default();
        let left: Vec<&String> = rest.iter().filter(|t| !parts(t)).collect();
        let ends = left.is_empty() || matches!(left.as_slice(), [stop] if *stop == STOP && before != Some(Kind::Question));
        ends && rest.len() <= 2 && (before.is_some() || left.is_empty())
    }

    fn parts(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|t| parts(t))
    }

    /// What may come next: a piece, behind a pause or a joint where both neighbours assert something.
    fn next(&mut self, here: usize, before: Option<Kind>) -> Vec<(Kind, Kind, usize, Mask)> {
        let paused = if self.parts(here) && before.is_some() { here + 1 } else { here };
        let mut starts = vec![(here, false), (paused, true)];
        if let Some(joint) = self.joint {
            starts.extend(self.part(joint, paused, 0).into_iter().map(|(end, _)| (end, true)));
        }
        starts.retain(|(start, parted)| *start > here || before.is_none() || !*parted);
        let mut out = vec![];
        for (start, parted) in starts {
            let moods = [(0, Kind::Social), (REGRETS, Kind::Regret), (ASSENTS, Kind::Assent)];
            for (end, mood) in self.weightless.get(start).into_iter().flatten() {
                let stands = parted || *mood != ASSENTS || !before.is_some_and(Kind::asserts);
                out.extend(moods.iter().filter(|(m, _)| stands && m == mood).map(|(_, kind)| (*kind, *kind, *end, 0)));
            }
            for (at, kind) in self.kinds.clone() {
                // An assent says yes to what was said, or, where nothing parts it from a statement, something of what is stated: "is fine".
                if !parted && (kind.asserts() || kind == Kind::Assent) && before.is_some_and(Kind::asserts) {
                    continue;
                }
                out.extend(self.part(at, start, 0).into_iter().filter(|(end, _)| *end > start).map(|(end, mask)| (kind, kind, end, mask)));
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    fn part(&mut self, part: usize, start: usize, depth: usize) -> Ends {
        if depth > DEPTH {
            return vec![];
        }
        if let Some(ends) = self.seen.get(&(part, start)) {
            return ends.clone();
        }
        let ground = self.ground;
        let mut ends = vec![];
        for (piece, mask) in ground.parts.get(part).into_iter().flatten() {
            ends.extend(self.piece(piece, start, depth + 1).into_iter().map(|(end, said)| (end, said | mask)));
        }
        ends.sort_unstable();
        ends.dedup();
        self.seen.insert((part, start), ends.clone());
        ends
    }

    fn piece(&mut self, piece: &Piece, start: usize, depth: usize) -> Ends {
        self.reached = self.reached.max(start);
        match piece {
            Piece::Word(w) if w == "?" && self.asks_on(start) => vec![(start, OPEN)],
            Piece::Word(w) => self.said(w, start).into_iter().map(|end| (end, 0)).collect(),
            Piece::Exact(w) => self.tokens.get(start).filter(|t| fits(w, t)).map(|_| (start + 1, 0)).into_iter().collect(),
            Piece::Pause(fill) => {
                let pause = self.tokens.get(start).is_some_and(|t| t == PAUSE || *fill == Fill::Tight && parts(t));
                [(start, 0)].into_iter().chain(pause.then_some((start + 1, 0))).collect()
            }
            Piece::Alt(all) => {
                let mut ends: Ends = all.iter().flat_map(|p| self.piece(p, start, depth)).collect();
                ends.sort_unstable();
                ends.dedup();
                ends
            }
            Piece::Bag(members, among) => self.bag(members, among, start, depth),
            Piece::Seq(all, fill) => {
                let mut ends = vec![(start, 0)];
                for (i, piece) in all.iter().enumerate() {
                    if i > 0 && *fill == Fill::Loose {
                        ends =
                            ends.iter().flat_map(|(at, said)| self.filled(*at).into_iter().map(|(end, mood)| (end, *said | mood)).collect::<Ends>()).collect();
                    }
                    let mut next: Ends = ends
                        .iter()
                        .flat_map(|(at, said)| self.piece(piece, *at, depth).into_iter().map(|(end, more)| (end, said | more)).collect::<Ends>())
                        .collect();
                    next.sort_unstable();
                    next.dedup();
                    ends = next;
                    if ends.is_empty() {
                        break;
                    }
                }
                ends
            }
            Piece::Cut(name, last, counted) => {
                let end = start + name.len();
                let said = self.tokens.get(start..end).is_some_and(|own| own == name.as_slice());
                (said && self.ground.cuts.given(self.tokens, last, (start, end), *counted)).then_some((end, 0)).into_iter().collect()
            }
            Piece::Shared(piece) => self.piece(piece, start, depth),
            Piece::Part(part, None) => self.part(*part, start, depth),
            Piece::Part(part, Some(last)) => self.list(*part, last, start, depth),
        }
    }

    /// Whether a question may end here without its mark: another one is joined to it, and the sentence ends as one.
    fn asks_on(&self, at: usize) -> bool {
        let joined = self.tokens.get(at).is_some_and(|t| parts(t) || matches!(t.as_str(), "and" | "or"));
        joined && self.tokens.last().is_some_and(|t| t == "?")
    }

    /// Where a word that begins here ends, or words that say the same.
    fn said(&self, word: &str, at: usize) -> Vec<usize> {
        let mut out: Vec<usize> = self.tokens.get(at).filter(|t| fits(word, t)).map(|_| at + 1).into_iter().collect();
        let Some(links) = self.links.get(at).filter(|links| !links.is_empty()) else { return out };
        out.extend(links.iter().filter(|(_, class)| self.ground.alike.holds(word, *class)).map(|(end, _)| *end));
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Where words of the set that begin here end, or words that say the same.
    fn run(&self, among: &Among, at: usize) -> Vec<usize> {
        let mut out = vec![];
        for run in self.firsts.get(at).into_iter().flatten().filter_map(|w| among.get(*w)).flatten() {
            match run.as_slice() {
                [word] => out.extend(self.said(word, at)),
                run => {
                    let mut open = vec![at];
                    for word in run {
                        open = open.into_iter().flat_map(|at| self.said(word, at)).collect();
                    }
                    out.extend(open);
                }
            }
        }
        out
    }

    /// Whether the word before denies what begins here: nothing stands between, or "no, honestly, cheese" would deny the cheese.
    fn denies(&self, at: usize) -> bool {
        at.checked_sub(1).and_then(|before| self.tokens.get(before)).is_some_and(|t| self.ground.rows.denying.contains(t))
    }

    /// Where the next word that counts may be, behind words of no weight with the pauses around them.
    fn filled(&mut self, at: usize) -> Ends {
        if self.denies(at) {
            return vec![(at, 0)];
        }
        if let Some(ends) = self.gaps.get(&at) {
            return ends.clone();
        }
        let pause = |at: usize| [at].into_iter().chain(self.tokens.get(at).is_some_and(|t| t == PAUSE).then_some(at + 1)).collect::<Vec<_>>();
        let (mut out, mut open) = (BTreeSet::from([(at, 0)]), vec![(at, 0)]);
        while let Some((here, mood)) = open.pop() {
            for (end, more) in pause(here).into_iter().filter_map(|at| self.weightless.get(at)).flatten().copied().collect::<Ends>() {
                open.extend(pause(end).into_iter().map(|end| (end, mood | more)).filter(|next| out.insert(*next)).collect::<Ends>());
            }
        }
        let out: Ends = out.into_iter().collect();
        self.gaps.insert(at, out.clone());
        out
    }

    /// Members in any order, each once, among words and pauses; it ends behind a member or a word.
    fn bag(&mut self, members: &[Piece], among: &Among, start: usize, depth: usize) -> Ends {
        let all = (1_u32 << members.len().min(31)) - 1;
        let mut seen: BTreeSet<(usize, u32, Mask)> = [(start, 0, 0)].into();
        let mut open: Vec<(usize, u32, Mask)> = seen.iter().copied().collect();
        let mut out = Ends::new();
        while let Some((at, used, said)) = open.pop() {
            if used == all {
                out.push((at, said));
            }
            let denied = self.denies(at);
            let from = [at].into_iter().chain((at > start && !denied && self.tokens.get(at).is_some_and(|t| t == PAUSE)).then_some(at + 1));
            let mut next = vec![];
            for at in from {
                next.extend(self.run(among, at).into_iter().map(|end| (end, used, said)));
                next.extend(self.weightless.get(at).into_iter().flatten().filter(|_| !denied).map(|(end, mood)| (*end, used, said | mood)));
                for (i, member) in members.iter().enumerate().filter(|(i, _)| used & 1 << i == 0) {
                    next.extend(self.piece(member, at, depth + 1).into_iter().map(|(end, more)| (end, used | 1 << i, said | more)));
                }
            }
            open.extend(next.into_iter().filter(|state| seen.insert(*state)));
        }
        out
    }

    /// A list: `a`, `a and b`, `a, b and c`, `both a and b`; nothing stands in it twice.
    fn list(&mut self, part: usize, last: &str, start: usize, depth: usize) -> Ends {
        let word = |at: usize, w: &str| self.tokens.get(at).is_some_and(|t| t == w);
        let paired = word(start, if last == "and" { "both" } else { "either" });
        let mut out = vec![];
        let mut open = self.part(part, start, depth);
        if paired {
            open.extend(self.part(part, start + 1, depth).into_iter().flat_map(|first| self.pair(part, last, first, depth)));
        }
        for _ in 0..self.tokens.len() {
            out.extend(open.iter().copied());
            let mut next = vec![];
            for (end, said) in open {
                for from in self.joints(end, last) {
                    next.extend(self.part(part, from, depth).into_iter().filter(|(_, more)| said & more == 0).map(|(end, more)| (end, said | more)));
                }
            }
            next.sort_unstable();
            next.dedup();
            open = next;
            if open.is_empty() {
                break;
            }
        }
        out
    }

    fn pair(&mut self, part: usize, last: &str, (end, said): (usize, Mask), depth: usize) -> Ends {
        let second = |from: usize| -> bool { self.tokens.get(from).is_some_and(|t| t == last) };
        if !second(end) {
            return vec![];
        }
        self.part(part, end + 1, depth).into_iter().filter(|(_, more)| said & more == 0).map(|(end, more)| (end, said | more)).collect()
    }

    /// Where the next item of a list may begin.
    fn joints(&self, at: usize, last: &str) -> Vec<usize> {
        let joints: &[&[&str]] = if last == "or" {
            &[&["or"], &["nor"]]
        } else {
            &[&["and"], &["&"], &["plus"], &["as", "well", "as"], &["along", "with"], &["together", "with"], &["and", "also"]]
        };
        let pause = self.parts(at);
        let after = at + usize::from(pause);
        let mut out: Vec<usize> = pause.then_some(after).into_iter().collect();
        for words in joints {
            if words.iter().enumerate().all(|(i, w)| self.tokens.get(after + i).is_some_and(|t| t == w)) {
                out.push(after + words.len());
            }
        }
        out
    }
}
