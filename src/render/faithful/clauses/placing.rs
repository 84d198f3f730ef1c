//! Where a thing goes, and of how many something is told: tossed in, a drink on top of that, one large of three, two for each.

use super::{BREAK, COMMA, Clauses, Held, LINE, Rows, has_any, marked, stems};
use crate::render::Say;
use crate::render::faithful::scan::{Token, number, tokens, word};
use crate::term::Term;

/// A name of the text: where it begins and ends, and its stems.
type Said = (usize, usize, String);

impl Clauses {
    /// Whether something is told to be where, or of as many, as no action has it.
    pub(super) fn misplaces(&self, text: &str) -> bool {
        let words = tokens(&marked(text));
        let mut names: Vec<Said> = vec![];
        let mut at = 0;
        while at < words.len() {
            let found = self.names.longest_at(words.get(at..).unwrap_or_default());
            names.extend(found.map(|(name, length)| (at, at + length, stems(name))));
            at += found.map_or(1, |(_, length)| length);
        }
        self.tosses(&words, &names)
            || self.withholds(&words, &names)
            || names.iter().enumerate().any(|(i, name)| {
                let next = names.get(i + 1).map_or(words.len(), |(from, ..)| *from);
                i > 0 && self.puts_upon(&words, name)
                    || self.multiplies(&words, name)
                    || self.totals(&words, name)
                    || self.fits_some(&words, name, next)
                    || self.tells_again(&words, &names, i)
            })
            || self.roughly(text, &words)
            || self.wraps(&words, &names)
    }

    fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Held> {
        self.held.iter().filter(move |h| h.names.contains(name))
    }

    /// What is tossed is thrown away, unless it is said where to.
    fn tosses(&self, words: &[Token], names: &[Said]) -> bool {
        let Rows { tossing, placing, things, .. } = &*self.grammar.rows;
        let thing = |(_, _, n): &&Said| self.of(n).any(|h| has_any(&h.words, things));
        let tossed = |at: usize| {
            let end = names.iter().skip_while(|(from, ..)| *from < at).skip(1).find(thing).map_or(words.len(), |(from, ..)| *from);
            let kept = names.iter().any(|(from, _, n)| (at..end).contains(from) && !self.of(n).any(|h| h.denies || h.refuses));
            kept && !words.get(at..end).unwrap_or_default().iter().any(|t| placing.contains(&t.word))
        };
        words.iter().enumerate().any(|(at, t)| tossing.contains(&t.word) && tossed(at + 1))
    }

    /// "Hold the cheese and the root beer": what stands beside what is left out, with an article as that has it, is left out too.
    fn withholds(&self, words: &[Token], names: &[Said]) -> bool {
        let Rows { holding, denying, before, fitting, .. } = &*self.grammar.rows;
        let word = |at: usize| word(words, at);
        let article = |at: usize| matches!(word(at), "the" | "your" | "that" | "any");
        let ends = |at: usize| matches!(word(at), "" | COMMA | LINE | BREAK | "and" | "or" | "off" | "out" | "away");
        names.windows(2).any(|pair| {
            let [(from, to, _), (next, end, name)] = pair else { return false };
            let told = (0..*from)
                .rev()
                .find(|at| !article(*at) && !matches!(word(*at), "off" | "out"))
                .is_some_and(|at| holding.contains(word(at)) || denying.contains(word(at)));
            let joint = to + usize::from(matches!(word(*to), "off" | "out" | "away"));
            let with = match (word(joint), word(joint + 1)) {
                ("along" | "together", "with") => 2,
                ("as", "well") if word(joint + 2) == "as" => 3,
                _ => 0,
            };
            let start = joint + if with > 0 { with } else { 1 };
            // "Skip the cheese, the Pepsi" ends there; "along with" goes with what is skipped, whatever its article.
            let beside = with > 0
                || matches!(word(joint), "and" | "or" | "nor" | "plus") && article(start)
                || word(joint) == COMMA && article(start) && word(*end).is_empty();
            let bare = (start..*next).all(|at| article(at) || before.contains(word(at)) || fitting.contains(word(at)));
            told && beside && bare && ends(*end) && self.of(name).all(|h| !h.denies && !h.refuses)
        })
    }

    /// Whether a dish of its own is told to be on another: with twists on top of that.
    fn puts_upon(&self, words: &[Token], (from, end, name): &Said) -> bool {
        let Rows { upon, counted, before, .. } = &*self.grammar.rows;
        let word = |at: usize| word(words, at);
        let line = self.of(name).all(|h| h.kind.first().is_some_and(|k| k == "check"));
        let leading = |at: &usize| {
            matches!(word(*at), "you" | "we" | "have" | "got" | "get" | "there" | "is" | "are" | "goes" | "go" | "put") || before.contains(word(*at))
        };
        let lead = (0..*from).rev().take_while(|at| leading(at) && !(word(*at) == "there" && at.checked_sub(1).is_some_and(|b| word(b) == "in"))).last();
        let into = lead.unwrap_or(*from).checked_sub(2).is_some_and(|at| matches!((word(at), word(at + 1)), ("in" | "on" | "inside", "it" | "that" | "there")));
        let counts = self.of(name).next().is_some() && self.of(name).all(|h| has_any(&h.words, counted));
        if line && counts && (into || matches!((word(*end), word(end + 1)), ("in" | "inside", "there"))) {
            return true;
        }
        if !counts || !(upon.contains(word(*end)) || word(*end) == "in") {
            return false;
        }
        let of = *end + if (word(end + 1), word(end + 2)) == ("top", "of") { 3 } else { 1 };
        let ends = |at: usize| matches!(word(at), "" | COMMA | LINE | BREAK | "and" | "plus");
        matches!(word(of), "it" | "that" | "them" | "those" | "top") && ends(of + 1) || word(*end) == "inside" && ends(of)
    }

    /// Whether so many of a name are told of each of several: two tacos for each, two tacos twice.
    fn multiplies(&self, words: &[Token], (from, end, _): &Said) -> bool {
        let word = |at: usize| word(words, at);
        let paired = from.checked_sub(2).is_some_and(|at| word(at + 1) == "of" && matches!(word(at), "pair" | "couple"));
        let each = matches!((word(*end), word(end + 1)), ("for" | "as" | "in", "each" | "every")) || matches!(word(*end), "twice" | "thrice" | "apiece");
        each && (paired || counts(words, *from).is_some_and(|n| n > 1))
    }

    /// Whether others are left out of what is told in total.
    fn totals(&self, words: &[Token], (from, end, name): &Said) -> bool {
        let word = |at: usize| word(words, at);
        let at = end + usize::from(word(*end) == COMMA);
        let total = matches!((word(at), word(at + 1)), ("in", "total" | "all") | ("all", "told")) || matches!(word(at), "altogether");
        let lines = self.of(name).filter(|h| h.kind.first().is_some_and(|k| k == "check") && has_any(&h.kind, &self.grammar.rows.counted)).count();
        total && lines > 1 && counts(words, *from).is_some_and(|n| usize::try_from(n) != Ok(lines))
    }

    /// Whether some of a name are told to be so where more are: three teas, one regular; two tacos, that one's fresco.
    fn fits_some(&self, words: &[Token], (_, end, name): &Said, next: usize) -> bool {
        let Rows { fitting, styled, before, one_of, .. } = &*self.grammar.rows;
        let word = |at: usize| word(words, at);
        let mode = |at: usize| fitting.contains(word(at)) || styled.contains(word(at));
        let told = |at: usize| {
            let behind = (at + 1..words.len()).find(|at| !before.contains(word(*at)) && !mode(*at)).unwrap_or(words.len());
            if behind == next && next < words.len() {
                return false;
            }
            let linking = |w: &str| {
                matches!(w, "is" | "are" | "in" | "made" | "done" | "of" | "them" | "those" | "being" | "to" | "be" | "as" | "a" | "it" | "comes" | "gets")
            };
            let Some(from) = (*end..at).rev().find(|at| !linking(word(*at))) else { return false };
            let some = match word(from) {
                "one's" => Some(1),
                w if w != "one" && one_of.contains(w) => Some(1),
                w => number(w),
            };
            let so = self.of(name).filter(|h| h.words.iter().any(|w| w == word(at) || words.get(at).is_some_and(|t| *w == t.stem))).count();
            some.is_some_and(|n| n > 0 && usize::try_from(n).is_ok_and(|n| n < so))
        };
        (*end..next).any(|at| mode(at) && told(at))
    }

    /// Whether a kind is told by some of it, and then one more of it: tacos, one of them without cheese, and a taco.
    fn tells_again(&self, words: &[Token], names: &[Said], at: usize) -> bool {
        let Some((from, end, name)) = names.get(at) else { return false };
        let word = |at: usize| word(words, at);
        let of = end + usize::from(word(*end) == COMMA);
        let bare = counts(words, *from).is_none() && word(end - 1).ends_with('s') && matches!((word(of + 1), word(of + 2)), ("of", "them" | "those"));
        bare && counts(words, of + 1).is_some() && names.iter().skip(at + 1).any(|(_, _, n)| n == name)
    }

    /// Whether an amount is hedged: about 200 calories.
    fn roughly(&self, text: &str, words: &[Token]) -> bool {
        let hedging = &self.grammar.rows.hedging;
        let amount = |at: usize| words.get(at).is_some_and(|t| t.word.starts_with(|c: char| c.is_ascii_digit()));
        !text.trim_end().ends_with('?') && words.iter().enumerate().skip(1).any(|(at, t)| hedging.contains(&t.word) && amount(at + 1))
    }

    /// Whether something is told to hold the rest that holds nothing: onions wrapped around beans, all wrapped in sauce.
    fn wraps(&self, words: &[Token], names: &[Said]) -> bool {
        let Rows { wrapping, wrapped, wrappers, .. } = &*self.grammar.rows;
        let word = |at: usize| word(words, at);
        // What the action is about holds the rest: a Bean Burrito filled with beans.
        let about = |h: &Say, name: &str| h.action.args.iter().find_map(|t| if let Term::Str(s) = t { Some(stems(s) == name) } else { None }) == Some(true);
        let holds = |name: &str| name.split(' ').any(|w| wrappers.contains(w)) || self.says.iter().any(|s| about(s, name)) || self.of(name).next().is_none();
        let first = |(_, end, name): &Said| wrapping.contains(word(*end)) && !holds(name);
        let last = |(from, _, name): &Said| {
            let at = (0..*from).rev().find(|at| !matches!(word(*at), "the" | "a" | "an" | "our"));
            let into = at.filter(|at| matches!(word(*at), "in" | "inside"));
            (0..into.unwrap_or_default()).rev().find(|at| word(*at) != "up").is_some_and(|at| wrapped.contains(word(at))) && !holds(name)
        };
        names.iter().any(|name| first(name) || last(name))
    }
}

/// The number before a place.
fn counts(words: &[Token], at: usize) -> Option<i64> {
    match word(words, at.checked_sub(1)?) {
        "a" | "an" => Some(1),
        said => number(said),
    }
}
