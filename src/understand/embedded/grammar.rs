//! Patterns: their notation, and their compiled form, a small program that runs over tokens.
//!
//! Notation: words as they are said; `(a|b c)` one of several; `[x]` may be missing; `<class>` one of the phrases of a class;
//! `{x:SORT}` a name, number or value of the sort, `{x:SORT+}` a list of them, `{x:SORT~}` also by reference (it, both, the
//! second one); `..` a few words that do not matter. Contractions are opened as in utterances, so `that's` and `that is` are one pattern.

use std::collections::BTreeMap;

use super::text::{Respell, plain_words};
use crate::link::Words;

/// One step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// This word.
    Word(u32),
    /// A phrase of this class.
    Class(u16),
    /// A value for a variable.
    Slot {
        /// Number of the variable.
        var: u8,
        /// What may fill it.
        fill: Fill,
        /// Several, joined by commas, `and`, `or`.
        list: bool,
    },
    /// A few words that do not matter here, or none.
    Gap,
    /// Go on at both places, the first preferred.
    Split(u16, u16),
    /// Go on there.
    Jump(u16),
    /// The end.
    Accept,
}

/// What a slot may hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// A known name of one of the sorts in the mask; by reference too if `reference`.
    Name {
        /// Bits of the sorts.
        mask: u64,
        /// Whether a pronoun, a kind or a number of instances may stand for it.
        reference: bool,
    },
    /// A value of this closed sort.
    Value(u16),
    /// A whole number; `money` in hundredths.
    Number {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
        /// Whether it is an amount of money.
        money: bool,
        /// Whether it must be said to be money.
        strict: bool,
    },
    /// A name that need not exist yet.
    Free {
        /// Whether common words alone make no name.
        strict: bool,
    },
}

/// A compiled pattern or class.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its steps.
    pub steps: Vec<Step>,
    /// For each step the signs of the words that may come next there, all signs if anything may; see [`sign`].
    pub next: Vec<Signs>,
    /// Signs of which one each must come somewhere, whichever way is taken.
    pub must: Vec<Signs>,
}

/// The signs of words, a bit each: of some words two share one, so that what rules a word out by it is right.
pub type Signs = u128;

/// A word's sign, so that most ways on are ruled out by one look at the next word.
pub fn sign(word: u32) -> Signs {
    1 << (word.wrapping_mul(0x9E37_79B9) >> 25)
}

impl Program {
    /// Fills [`Program::next`] and [`Program::must`]; steps only ever lead forward, so one pass from the end is enough.
    pub fn look_ahead(&mut self, class_firsts: &dyn Fn(u16) -> Firsts) {
        let mut next = vec![Signs::MAX; self.steps.len()];
        for pc in (0..self.steps.len()).rev() {
            let at = |i: usize| next.get(i).copied().unwrap_or(Signs::MAX);
            let signs = match self.steps.get(pc) {
                Some(Step::Word(w)) => sign(*w),
                Some(Step::Class(c)) => {
                    let first = class_firsts(*c);
                    let own = first.words.iter().fold(0, |a, w| a | sign(*w));
                    if first.any {
                        Signs::MAX
                    } else if first.empty {
                        own | at(pc + 1)
                    } else {
                        own
                    }
                }
                Some(Step::Split(a, b)) => at(usize::from(*a)) | at(usize::from(*b)),
                Some(Step::Jump(a)) => at(usize::from(*a)),
                _ => Signs::MAX,
            };
            if let Some(slot) = next.get_mut(pc) {
                *slot = signs;
            }
        }
        // A step that no other leads past stands on every way.
        let (mut far, mut must) = (0, vec![]);
        for (pc, step) in self.steps.iter().enumerate() {
            must.extend(next.get(pc).filter(|n| far <= pc && **n != Signs::MAX));
            far = far.max(match step {
                Step::Split(a, b) => usize::from(*a.max(b)),
                Step::Jump(to) => usize::from(*to),
                Step::Accept => usize::MAX,
                _ => pc + 1,
            });
        }
        must.dedup();
        (self.next, self.must) = (next, must);
    }

    /// Those of [`Program::must`] that rule out most, then all signs.
    pub fn narrowest(&self) -> [Signs; 4] {
        let mut must = self.must.clone();
        must.sort_by_key(|signs| signs.count_ones());
        std::array::from_fn(|i| must.get(i).copied().unwrap_or(Signs::MAX))
    }
}

/// What can start a program.
#[derive(Clone, Debug, Default)]
pub struct Firsts {
    /// Words.
    pub words: Vec<u32>,
    /// Whether a slot can, so that any word may.
    pub any: bool,
    /// Whether it can match nothing at all.
    pub empty: bool,
}

/// Turns slot specifications into fills; implemented by the loader, which knows the ontology.
pub trait Sorts {
    /// The fill for `SORT`, `SORT~`, `SORT|SORT`, or why there is none.
    fn fill(&self, spec: &str) -> Result<Fill, String>;
}

/// Compiles notation. `vars` collects the variables in order of appearance.
pub struct Compiler<'a> {
    /// Words, extended by those of the patterns.
    pub words: &'a mut Words,
    /// Contractions.
    pub respell: &'a Respell,
    /// Class names to numbers.
    pub classes: &'a BTreeMap<String, u16>,
    /// The ontology's sorts.
    pub sorts: &'a dyn Sorts,
}

impl Compiler<'_> {
    /// Compiles one pattern.
    pub fn compile(&mut self, text: &str, vars: &mut Vec<String>) -> Result<Program, String> {
        let mut program = Program::default();
        let chars: Vec<char> = text.chars().collect();
        let mut at = 0;
        self.alternatives(&chars, &mut at, None, vars, &mut program.steps)?;
        program.steps.push(Step::Accept);
        if program.steps.len() > usize::from(u16::MAX) {
            return Err("the pattern is too long".into());
        }
        Ok(program)
    }

    fn alternatives(&mut self, chars: &[char], at: &mut usize, close: Option<char>, vars: &mut Vec<String>, steps: &mut Vec<Step>) -> Result<(), String> {
        let mut jumps = vec![];
        loop {
            let split_at = steps.len();
            steps.push(Step::Jump(0));
            self.sequence(chars, at, vars, steps)?;
            match chars.get(*at) {
                Some('|') => {
                    *at += 1;
                    jumps.push(steps.len());
                    steps.push(Step::Jump(0));
                    let next = steps.len();
                    set(steps, split_at, Step::Split(short(split_at + 1), short(next)));
                }
                c if c.copied() == close => {
                    *at += usize::from(close.is_some());
                    set(steps, split_at, Step::Jump(short(split_at + 1)));
                    break;
                }
                Some(c) => return Err(format!("`{c}` is not expected here")),
                None => return Err(format!("`{}` is missing", close.unwrap_or(' '))),
            }
        }
        let end = short(steps.len());
        for j in jumps {
            set(steps, j, Step::Jump(end));
        }
        Ok(())
    }

    fn sequence(&mut self, chars: &[char], at: &mut usize, vars: &mut Vec<String>, steps: &mut Vec<Step>) -> Result<(), String> {
        while let Some(&c) = chars.get(*at) {
            match c {
                '|' | ')' | ']' => return Ok(()),
                '(' => {
                    *at += 1;
                    self.alternatives(chars, at, Some(')'), vars, steps)?;
                }
                '[' => {
                    *at += 1;
                    let split_at = steps.len();
                    steps.push(Step::Jump(0));
                    self.alternatives(chars, at, Some(']'), vars, steps)?;
                    let end = steps.len();
                    set(steps, split_at, Step::Split(short(split_at + 1), short(end)));
                }
                '<' => {
                    let name = until(chars, at, '>')?;
                    let class = self.classes.get(&name).ok_or_else(|| format!("there is no class `{name}`"))?;
                    steps.push(Step::Class(*class));
                }
                '{' => {
                    let inner = until(chars, at, '}')?;
                    let (var, spec) = inner.split_once(':').ok_or_else(|| format!("`{{{inner}}}` needs a sort, as in `{{x:SORT}}`"))?;
                    let (spec, list) = spec.strip_suffix('+').map_or((spec, false), |s| (s, true));
                    let fill = self.sorts.fill(spec)?;
                    let var = variable(vars, var)?;
                    steps.push(Step::Slot { var, fill, list });
                }
                _ => {
                    let mut word = String::new();
                    while let Some(&d) = chars.get(*at) {
                        if matches!(d, '|' | ')' | ']' | '(' | '[' | '<' | '{') {
                            break;
                        }
                        word.push(d);
                        *at += 1;
                    }
                    // A gap is written as two dots between words.
                    if let Some((before, after)) = word.split_once("..") {
                        self.words_of(before, steps);
                        steps.push(Step::Gap);
                        self.words_of(after, steps);
                        continue;
                    }
                    self.words_of(&word, steps);
                }
            }
        }
        Ok(())
    }

    fn words_of(&mut self, text: &str, steps: &mut Vec<Step>) {
        for w in plain_words(text, self.respell) {
            if w.chars().next().is_some_and(char::is_alphanumeric) {
                let correctable = w.chars().count() >= 4;
                steps.push(Step::Word(self.words.intern(&w, correctable)));
            }
        }
    }
}

fn until(chars: &[char], at: &mut usize, close: char) -> Result<String, String> {
    *at += 1;
    let mut out = String::new();
    while let Some(&c) = chars.get(*at) {
        *at += 1;
        if c == close {
            return Ok(out);
        }
        out.push(c);
    }
    Err(format!("`{close}` is missing"))
}

/// The number of a variable, new if it was not there.
pub fn variable(vars: &mut Vec<String>, name: &str) -> Result<u8, String> {
    let at = vars.iter().position(|v| v == name).unwrap_or_else(|| {
        vars.push(name.to_owned());
        vars.len() - 1
    });
    u8::try_from(at).map_err(|_| "too many variables".into())
}

fn set(steps: &mut [Step], at: usize, step: Step) {
    if let Some(s) = steps.get_mut(at) {
        *s = step;
    }
}

fn short(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// What can start `program`; `class_firsts` answers for classes.
pub fn firsts(program: &Program, class_firsts: &dyn Fn(u16) -> Firsts) -> Firsts {
    let mut out = Firsts::default();
    let mut seen = vec![false; program.steps.len()];
    let mut stack = vec![0usize];
    while let Some(pc) = stack.pop() {
        let (Some(step), Some(flag)) = (program.steps.get(pc), seen.get_mut(pc)) else { continue };
        if std::mem::replace(flag, true) {
            continue;
        }
        match step {
            Step::Word(w) => out.words.push(*w),
            Step::Class(c) => {
                let inner = class_firsts(*c);
                out.words.extend(inner.words);
                out.any |= inner.any;
                if inner.empty {
                    stack.push(pc + 1);
                }
            }
            Step::Slot { .. } => out.any = true,
            Step::Gap => stack.push(pc + 1),
            Step::Split(a, b) => stack.extend([usize::from(*a), usize::from(*b)]),
            Step::Jump(a) => stack.push(usize::from(*a)),
            Step::Accept => out.empty = true,
        }
    }
    out.words.sort_unstable();
    out.words.dedup();
    out
}
