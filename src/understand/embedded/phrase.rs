//! Noun phrases: articles, numbers, places in a row, attributes, and a head that names, refers or is left out.

use super::chart::{Chart, NameEdge};
use super::text::Kind;
use crate::term::Name;

/// The article.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Article {
    /// None.
    #[default]
    None,
    /// `a`, `some`.
    Indefinite,
    /// `the`, `my`, `that`.
    Definite,
}

/// Which of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Not said.
    #[default]
    Unsaid,
    /// `both`.
    Both,
    /// `all`, `each`.
    All,
    /// `the other`, `the rest`.
    Other,
    /// `another`, `one more`.
    Another,
    /// `the plain one`: with nothing changed.
    Plain,
}

/// The head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// A name, by number of its edge.
    Name(usize),
    /// A kind of thing: the value of the kind sort.
    Kind(Name),
    /// `it`, `that one` (false), `them`, `those` (true).
    Pronoun(bool),
    /// `one`, `ones`, or nothing after a number or `both`.
    #[default]
    Left,
}

/// A noun phrase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Np {
    /// First token.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// Its article.
    pub article: Article,
    /// Number said.
    pub count: Option<i64>,
    /// Place in a row, from 1; -1 is the last.
    pub place: Option<i64>,
    /// Which of several.
    pub which: Which,
    /// The word for the one that has least or most of something: `the cheaper one`.
    pub rank: Option<u32>,
    /// Whether it is half of what the head means.
    pub half: bool,
    /// Whether it is a part of something said before: `two of them`.
    pub part: bool,
    /// Attributes: sort and value.
    pub attributes: Vec<(u16, Name)>,
    /// `the one with …`, `the one without …`: what it was changed in, by number of the name's edge, and whether it was left out.
    pub having: Option<(usize, bool)>,
    /// The head.
    pub head: Head,
    /// Whether the head is a plural.
    pub plural: bool,
    /// Worth of all tokens but the name's.
    pub extra_score: f32,
}

/// Finds the noun phrases of a chart.
pub struct Phrases<'c, 'a> {
    /// The chart.
    pub chart: &'c Chart<'a>,
}

impl Phrases<'_, '_> {
    fn is(&self, kind: &str, at: usize) -> bool {
        self.chart.tokens.get(at).is_some_and(|t| t.kind == Kind::Word && self.chart.model.phrase.has(kind, t.id))
    }

    /// All noun phrases that begin at a token.
    pub fn at(&self, at: usize) -> Vec<Np> {
        let mut out = vec![];
        let filler = self.chart.tokens.get(at).is_none_or(|t| self.chart.model.fillers.contains(&t.id) || t.punct().is_some());
        if !filler {
            self.which(Np { start: at, ..Np::default() }, at, &mut out);
        }
        out
    }

    fn skip_fillers(&self, mut at: usize) -> usize {
        while self.chart.tokens.get(at).is_some_and(|t| self.chart.model.fillers.contains(&t.id) && t.kind == Kind::Word) {
            at += 1;
        }
        at
    }

    fn which(&self, np: Np, at: usize, out: &mut Vec<Np>) {
        let which = if self.is("both", at) {
            Some(Which::Both)
        } else if self.is("all", at) {
            Some(Which::All)
        } else {
            None
        };
        if let Some(which) = which {
            let next = Np { which, extra_score: np.extra_score + 1.0, ..np.clone() };
            // "Every one of them", "each one".
            if which == Which::All && self.is("one", at + 1) && self.is("of", at + 2) {
                self.of(Np { extra_score: next.extra_score + 1.0, plural: true, ..next.clone() }, at + 2, out);
            }
            self.of(next, at + 1, out);
        }
        if self.is("half", at) && self.is("of", at + 1) {
            self.article(Np { half: true, part: true, extra_score: np.extra_score + 1.8, ..np.clone() }, at + 2, out);
        }
        // "A dozen, half with no lettuce".
        if self.is("half", at) && (self.is("denies", at + 1) || self.is("name_with", at + 1)) {
            out.push(Np { end: at + 1, half: true, part: true, head: Head::Pronoun(true), plural: true, extra_score: np.extra_score + 0.9, ..np.clone() });
        }
        self.article(np, at, out);
    }

    fn of(&self, np: Np, at: usize, out: &mut Vec<Np>) {
        if self.is("of", at) {
            let next = Np { part: true, extra_score: np.extra_score + 0.8, ..np.clone() };
            self.article(next, at + 1, out);
        }
        self.article(np, at, out);
    }

    fn article(&self, np: Np, at: usize, out: &mut Vec<Np>) {
        if self.points(at) && (np.part || np.which != Which::Unsaid) {
            self.place(Np { extra_score: np.extra_score + 0.7, ..np.clone() }, at + 1, out);
        }
        let number = self.chart.model.numbers.whole(self.chart.tokens, at).is_some();
        if self.is("another", at) {
            self.place(Np { which: Which::Another, article: Article::Indefinite, extra_score: np.extra_score + 0.9, ..np.clone() }, at + 1, out);
        } else if self.is("definite", at) {
            self.place(Np { article: Article::Definite, extra_score: np.extra_score + 0.7, ..np.clone() }, self.skip_fillers(at + 1), out);
        } else if self.is("indefinite", at) && !number {
            let next = self.skip_comma_filler(at + 1);
            self.place(Np { article: Article::Indefinite, extra_score: np.extra_score + 0.7, ..np.clone() }, next, out);
        }
        self.place(np, at, out);
    }

    /// "One of them Mexican Pizzas", "both them burritos".
    fn points(&self, at: usize) -> bool {
        let named = |at: usize| self.chart.names_at.get(at).is_some_and(|n| !n.is_empty()) || self.chart.values_at.get(at).is_some_and(|v| !v.is_empty());
        self.is("plural_pronoun", at) && named(at + 1)
    }

    /// "a, uh, a root beer": a restarted article.
    fn skip_comma_filler(&self, at: usize) -> usize {
        let mut i = at;
        while self.chart.tokens.get(i).is_some_and(|t| t.punct() == Some(',') || self.chart.model.fillers.contains(&t.id)) {
            i += 1;
        }
        if i > at && self.is("indefinite", i) {
            return i + 1;
        }
        self.skip_fillers(at)
    }

    fn place(&self, np: Np, at: usize, out: &mut Vec<Np>) {
        if let Some(t) = self.chart.tokens.get(at) {
            if let Some(p) = self.chart.model.ordinals.get(&t.id) {
                // "A second one" is one more.
                let more = *p > 1 && np.article == Article::Indefinite && np.which == Which::Unsaid;
                let (place, which) = if more { (None, Which::Another) } else { (Some(*p), np.which) };
                let next = Np { place, which, extra_score: np.extra_score + 1.0, ..np.clone() };
                self.count(next, at + 1, out);
            }
            if self.chart.model.ranks.contains_key(&t.id) && (np.article == Article::Definite || self.is("one", at + 1)) {
                self.count(Np { rank: Some(t.id), extra_score: np.extra_score + 1.0, ..np.clone() }, at + 1, out);
            }
            // "Number two".
            if self.is("place_mark", at)
                && let Some(n) = self.chart.model.numbers.whole(self.chart.tokens, at + 1).filter(|n| n.value > 0)
            {
                let next = Np { place: Some(n.value), extra_score: np.extra_score + 2.0, ..np.clone() };
                self.count(next, n.end, out);
            }
            for (word, which) in [("other", Which::Other), ("plain", Which::Plain)] {
                let bare = np.article == Article::None && self.is("one", at + 1);
                if self.is(word, at) && (np.article == Article::Definite || bare) {
                    self.count(Np { which, extra_score: np.extra_score + 0.9, ..np.clone() }, at + 1, out);
                }
            }
        }
        self.count(np, at, out);
    }

    fn count(&self, np: Np, at: usize, out: &mut Vec<Np>) {
        if let Some(n) = self.chart.model.numbers.whole(self.chart.tokens, at)
            && n.value >= 1
        {
            #[expect(clippy::cast_precision_loss, reason = "spans are short")]
            let next = Np { count: Some(n.value), extra_score: np.extra_score + 0.9 * (n.end - at) as f32, ..np.clone() };
            let mut i = n.end;
            if self.is("more", i) {
                self.counted(Np { which: Which::Another, extra_score: next.extra_score + 0.9, ..next.clone() }, i + 1, out);
            }
            if self.is("times", i) {
                i += 1 + usize::from(self.is("definite", i + 1));
            }
            self.counted(next, i, out);
        }
        // "Can I get to soft tacos", as a recogniser writes it.
        let several = |from: usize| self.chart.names_at.get(from).into_iter().flatten().filter_map(|e| self.chart.names.get(*e)).any(|e| e.plural);
        if self.is("sounds_two", at) && several(at + 1) && at.checked_sub(1).is_none_or(|before| self.is("counted_behind", before)) {
            self.attributes(Np { count: Some(2), extra_score: np.extra_score + 0.9, ..np.clone() }, at + 1, out);
        }
        self.attributes(np, at, out);
    }

    /// After a number: `of them`, `of the tacos`.
    fn counted(&self, np: Np, at: usize, out: &mut Vec<Np>) {
        if self.is("of", at) {
            let after = at + 1;
            let next = Np { part: true, extra_score: np.extra_score + 0.8, ..np.clone() };
            // "One of the two".
            if self.is("definite", after)
                && let Some(all) = self.chart.model.numbers.whole(self.chart.tokens, after + 1)
            {
                out.push(Np { end: all.end, head: Head::Pronoun(true), plural: false, extra_score: next.extra_score + 1.7, ..next.clone() });
            }
            if self.is("definite", after) || self.points(after) {
                self.attributes(Np { article: Article::Definite, extra_score: next.extra_score + 0.7, ..next.clone() }, after + 1, out);
            }
            self.attributes(next, after, out);
        }
        self.attributes(np, self.skip_fillers(at), out);
    }

    fn attributes(&self, np: Np, at: usize, out: &mut Vec<Np>) {
        // "orders of", "cups of", "glass of".
        if self.chart.tokens.get(at).is_some_and(|t| self.chart.model.measures.contains(&t.id)) {
            let skip = usize::from(self.is("of", at + 1));
            let next = Np { extra_score: np.extra_score + 0.8 + 0.6 * if skip == 1 { 1.0 } else { 0.0 }, part: false, ..np.clone() };
            if skip == 1 {
                self.head(&next, at + 2, out);
                if self.is("definite", at + 2) {
                    self.head(&Np { article: Article::Definite, ..next.clone() }, at + 3, out);
                }
            } else {
                self.head(&next, at + 1, out);
            }
        }
        if np.attributes.len() < 3
            && let Some(lines) = &self.chart.model.lines
        {
            for (end, sort, value, score) in self.chart.values_at.get(at).into_iter().flatten() {
                if lines.attributes.contains_key(sort) {
                    let mut next = np.clone();
                    next.attributes.push((*sort, value.clone()));
                    next.extra_score += score * 0.85;
                    let after = if self.chart.tokens.get(*end).is_some_and(|t| t.punct() == Some(',')) { *end } else { self.skip_fillers(*end) };
                    self.attributes(next, after, out);
                }
            }
        }
        // "A plain old taco", "two cold waters": such words say nothing of the thing.
        if self.is("idle", at) && !self.is("one", at + 1) && self.chart.tokens.get(at + 1).is_some_and(|t| t.kind == Kind::Word) {
            self.attributes(Np { extra_score: np.extra_score + 0.6, ..np.clone() }, at + 1, out);
        }
        self.head(&np, at, out);
        // "A plain soft taco" is a soft taco.
        if self.is("plain", at) && self.chart.names_at.get(at + 1).is_some_and(|n| !n.is_empty()) {
            self.head(&Np { extra_score: np.extra_score + 0.9, ..np.clone() }, at + 1, out);
        }
        // "a chedder gordita": a word nobody knows before the rest of the name.
        // One word of a name does not carry the stranger: a lobster roll is no other roll.
        let carries = |e: &usize| self.chart.names.get(*e).is_some_and(|e| e.said > 1);
        if np.article != Article::None && self.chart.strange(at) && self.chart.names_at.get(at + 1).is_some_and(|n| n.iter().any(carries)) {
            self.head(&Np { extra_score: np.extra_score - 0.5, ..np }, at + 1, out);
        }
    }

    fn head(&self, np: &Np, at: usize, out: &mut Vec<Np>) {
        let kind_sort = self.chart.model.lines.as_ref().and_then(|l| l.kind_sort);
        for &e in self.chart.names_at.get(at).into_iter().flatten() {
            if let Some(edge) = self.chart.names.get(e) {
                let next = Np { end: edge.end, head: Head::Name(e), plural: edge.plural, ..np.clone() };
                // "the crunchy one", "the soft ones".
                // "Two tacos one with beans": the second number counts some of them.
                let one = self.is("one", edge.end) && !edge.plural;
                if (one || self.ones(edge.end) || self.is("kind", edge.end)) && !self.number_noun(edge.end, &np.attributes) {
                    let plural = self.ones(edge.end);
                    out.push(Np { end: edge.end + 1, plural, extra_score: next.extra_score + 1.0, ..next.clone() });
                }
                // "A Starry soda": its kind said once more.
                for (end, sort, kind, score) in self.chart.values_at.get(edge.end).into_iter().flatten() {
                    if Some(*sort) == kind_sort && self.chart.is_kind(edge, kind) {
                        self.times(Np { end: *end, extra_score: next.extra_score + score * 0.9, ..next.clone() }, out);
                    }
                }
                self.times(next, out);
            }
        }
        // "The burrito supreme" is no burrito that is supreme.
        let whole = |n: &NameEdge| n.said == n.end - n.start && n.is_whole();
        let names = || self.chart.names_at.get(at).into_iter().flatten().filter_map(|e| self.chart.names.get(*e));
        for (end, sort, value, score) in self.chart.values_at.get(at).into_iter().flatten() {
            if Some(*sort) == kind_sort && !names().any(|n| n.end > *end && whole(n)) {
                let plural = self.chart.tokens.get(end - 1).is_some_and(|t| t.plural);
                out.push(Np { end: *end, head: Head::Kind(value.clone()), plural, extra_score: np.extra_score + score * 0.9, ..np.clone() });
            }
        }
        let pointed = np.article != Article::None || np.place.or(np.rank.map(i64::from)).is_some() || np.which != Which::Unsaid || np.count.is_some();
        if self.is("pronoun", at) && np.article == Article::None {
            let one = usize::from(self.is("one", at + 1));
            let plural = self.is("plural_pronoun", at);
            if plural && (self.is("both", at + 1) || self.is("all", at + 1)) {
                let which = if self.is("both", at + 1) { Which::Both } else { Which::All };
                out.push(Np { end: at + 2, head: Head::Pronoun(true), plural: true, which, extra_score: np.extra_score + 1.8, ..np.clone() });
            }
            #[expect(clippy::cast_precision_loss, reason = "0 or 1")]
            out.push(Np { end: at + 1 + one, head: Head::Pronoun(plural), plural, extra_score: np.extra_score + 1.0 + 0.9 * one as f32, ..np.clone() });
        }
        if self.is("one", at) && pointed && !(np.count.is_some() && self.number_noun(at, &np.attributes)) {
            let plural = self.ones(at);
            let head = if np.article == Article::Definite && np.place.is_none() && np.rank.is_none() && np.which == Which::Unsaid && np.attributes.is_empty() {
                Head::Pronoun(plural)
            } else {
                Head::Left
            };
            // "The first one with onions" says what is to be done with it, "the one with onions" which is meant.
            let told = np.article == Article::Definite && np.place.is_none() && np.which == Which::Unsaid;
            let without = self.is("name_without", at + 1);
            let from = at + 2 + usize::from(self.is("definite", at + 2));
            for &e in self.chart.names_at.get(from).into_iter().flatten().filter(|_| told && (without || self.is("name_with", at + 1))) {
                if let Some(edge) = self.chart.names.get(e) {
                    #[expect(clippy::cast_precision_loss, reason = "spans are short")]
                    let words = (edge.end - at) as f32;
                    out.push(Np { end: edge.end, head: Head::Left, having: Some((e, without)), extra_score: np.extra_score + 0.9 * words, ..np.clone() });
                }
            }
            self.times(Np { end: at + 1, head, plural, extra_score: np.extra_score + 0.9, ..np.clone() }, out);
        }
        let alone = np.place.is_some() || np.rank.is_some() || np.which != Which::Unsaid || np.count.is_some();
        // "Two of" is no phrase without what they are of.
        let cut = at.checked_sub(1).is_some_and(|b| self.is("of", b));
        if alone && at > np.start && !cut {
            out.push(Np { end: at, head: Head::Left, plural: np.count.is_none_or(|c| c > 1), ..np.clone() });
        }
    }

    /// "one soft one crunchy", "one large one regular": the second `one` counts what follows.
    fn number_noun(&self, at: usize, said: &[(u16, Name)]) -> bool {
        let again = |v: &(usize, u16, Name, f32)| said.iter().any(|a| a.0 == v.1 && a.1 != v.2);
        self.chart.names_at.get(at + 1).is_some_and(|n| !n.is_empty()) || self.chart.values_at.get(at + 1).is_some_and(|v| v.iter().any(again))
    }

    /// Whether the word is the plural of `one`, which has the same stem.
    fn ones(&self, at: usize) -> bool {
        self.is("ones", at) && self.chart.tokens.get(at).is_some_and(|t| t.plural)
    }

    /// "empanada x2", "tacos times three".
    fn times(&self, np: Np, out: &mut Vec<Np>) {
        let comma = usize::from(self.chart.tokens.get(np.end).is_some_and(|t| t.punct() == Some(',')));
        let at = np.end + comma;
        // "Crunchy both".
        if np.which == Which::Unsaid && np.count.is_none() && self.is("both", np.end) && self.chart.tokens.get(np.end + 1).is_none_or(|t| t.punct().is_some()) {
            out.push(Np { end: np.end + 1, which: Which::Both, extra_score: np.extra_score + 1.0, ..np.clone() });
        }
        if np.count.is_none()
            && self.is("times", at)
            && let Some(n) = self.chart.model.numbers.whole(self.chart.tokens, at + 1).filter(|n| n.value > 0)
        {
            out.push(Np { end: n.end, count: Some(n.value), extra_score: np.extra_score + 2.0, ..np.clone() });
        }
        // "Soft taco (2)", "soft tacos, two, …".
        let (open, close) = (self.mark(np.end, '('), self.mark(np.end, ','));
        if np.count.is_none()
            && (open || close)
            && let Some(n) = self.chart.model.numbers.whole(self.chart.tokens, np.end + 1).filter(|n| n.value > 0)
        {
            let after = self.chart.tokens.get(n.end);
            let shut = if open { self.mark(n.end, ')') } else { after.is_none_or(|t| t.punct().is_some()) };
            if shut {
                out.push(Np { end: n.end + usize::from(open), count: Some(n.value), extra_score: np.extra_score + 1.4, ..np.clone() });
            }
        }
        // "Soft tacos two".
        if np.count.is_none()
            && np.plural
            && let Some(n) = self.chart.model.numbers.whole(self.chart.tokens, np.end).filter(|n| n.value > 0)
            && self.chart.tokens.get(n.end).is_none_or(|t| t.punct().is_some())
        {
            out.push(Np { end: n.end, count: Some(n.value), extra_score: np.extra_score + 0.9, ..np.clone() });
        }
        out.push(np);
    }

    fn mark(&self, at: usize, mark: char) -> bool {
        self.chart.tokens.get(at).is_some_and(|t| t.punct() == Some(mark))
    }
}
