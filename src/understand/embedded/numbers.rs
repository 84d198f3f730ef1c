//! Numbers in words and digits, as counts, plain values and amounts of money.

use rustc_hash::FxHashMap;

use super::text::{Kind, Token};

/// A number read from the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Value: whole, or hundredths for money.
    pub value: i64,
    /// One past its last token.
    pub end: usize,
    /// Whether words or a sign said that it is money, or it has two decimals.
    pub money: bool,
}

/// The number words of a language, by word number.
#[derive(Clone, Debug, Default)]
pub struct NumberWords {
    /// `two` → 2, `twenty` → 20.
    pub units: FxHashMap<u32, i64>,
    /// `dozen` → 12, `hundred` → 100.
    pub scales: FxHashMap<u32, i64>,
    /// `dollar`, `buck`.
    pub currency: FxHashMap<u32, i64>,
    /// `and`, for `a hundred and ten`.
    pub and: u32,
    /// `a`, `an`.
    pub one: Vec<u32>,
    /// `half`.
    pub half: u32,
    /// `quarter`.
    pub quarter: u32,
    /// `of`, `a`: skipped after a scale word.
    pub even: Vec<u32>,
}

impl NumberWords {
    fn unit(&self, t: &Token) -> Option<i64> {
        match t.kind {
            Kind::Number { hundredths, money: false } if hundredths % 100 == 0 => Some(hundredths / 100),
            Kind::Word => self.units.get(&t.id).copied().or_else(|| t.alts.iter().find_map(|a| (a.1 > 0.8).then(|| self.units.get(&a.0).copied()).flatten())),
            _ => None,
        }
    }

    fn scale(&self, t: &Token) -> Option<i64> {
        self.scales.get(&t.id).copied()
    }

    /// A whole number at a place. `article` admits `a dozen`, `a hundred`.
    pub fn whole(&self, tokens: &[Token], at: usize) -> Option<Number> {
        let t = tokens.get(at)?;
        if t.id == self.half {
            // "half a dozen": half of what follows, if that is whole.
            let skip = usize::from(tokens.get(at + 1).is_some_and(|n| self.one.contains(&n.id)));
            let scale = tokens.get(at + 1 + skip).and_then(|n| self.scale(n))?;
            return (scale % 2 == 0 && scale > 2).then_some(Number { value: scale / 2, end: at + 2 + skip, money: false });
        }
        if self.one.contains(&t.id) {
            let scale = tokens.get(at + 1).and_then(|n| self.scale(n))?;
            return Some(self.grow(tokens, scale, at + 2));
        }
        if let Some(scale) = self.scale(t).filter(|s| *s < 100) {
            // "Dozen tacos", the article left out.
            return Some(Number { value: scale, end: at + 1, money: false });
        }
        let first = self.unit(t)?;
        Some(self.grow(tokens, first, at + 1))
    }

    fn grow(&self, tokens: &[Token], first: i64, mut at: usize) -> Number {
        let mut total = 0i64;
        let mut current = first;
        loop {
            let next = tokens.get(at);
            if let Some(s) = next.and_then(|n| self.scale(n)) {
                current = current.saturating_mul(s);
                if s >= 1000 {
                    total = total.saturating_add(current);
                    current = 0;
                }
                at += 1;
                continue;
            }
            let small = next.and_then(|n| self.unit(n)).filter(|_| next.is_some_and(|n| n.kind == Kind::Word));
            match small {
                Some(u) if (current % 100 >= 20 && current % 10 == 0 && u < 10 && u > 0) || (current % 100 == 0 && current + total > 0 && u < 100) => {
                    current += u;
                    at += 1;
                    continue;
                }
                _ => {}
            }
            if current % 100 == 0
                && current + total > 0
                && next.is_some_and(|n| n.id == self.and)
                && let Some(u) = tokens.get(at + 1).and_then(|n| self.unit(n)).filter(|u| *u < 100)
                && first != current
            {
                current += u;
                at += 2;
                continue;
            }
            break;
        }
        Number { value: total.saturating_add(current).min(i64::from(i32::MAX)), end: at, money: false }
    }

    /// A value said digit group by digit group: `two ten` = 210, `seven forty nine` = 749.
    pub fn value(&self, tokens: &[Token], at: usize) -> Option<Number> {
        let first = self.whole(tokens, at)?;
        let t = tokens.get(at)?;
        let spoken = t.kind == Kind::Word && (1..100).contains(&first.value);
        if spoken
            && let Some(second) = self.whole(tokens, first.end).filter(|s| (10..100).contains(&s.value))
            && tokens.get(first.end).is_some_and(|n| n.kind == Kind::Word && !self.one.contains(&n.id))
            && tokens.get(second.end).is_none_or(|n| self.scale(n).is_none())
        {
            return Some(Number { value: first.value * 100 + second.value, end: second.end, money: false });
        }
        if spoken
            && let (Some(zero), Some(digit)) = (tokens.get(first.end).and_then(|n| self.unit(n)), tokens.get(first.end + 1).and_then(|n| self.unit(n)))
            && zero == 0
            && (1..10).contains(&digit)
        {
            return Some(Number { value: first.value * 100 + digit, end: first.end + 2, money: false });
        }
        Some(first)
    }

    /// An amount of money, in hundredths.
    pub fn money(&self, tokens: &[Token], at: usize) -> Option<Number> {
        let t = tokens.get(at)?;
        if let Kind::Number { hundredths, money } = t.kind {
            let mut end = at + 1;
            if let Some(c) = tokens.get(end).and_then(|n| self.currency.get(&n.id)) {
                end += 1;
                let whole = Number { value: hundredths * c / 100, end, money: true };
                return Some(self.cents_after(tokens, whole, *c));
            }
            if money || hundredths % 100 != 0 {
                return Some(Number { value: hundredths, end, money: true });
            }
            // A bare whole number: hundreds and more are read as cents, small ones as units.
            let value = if hundredths >= 10_000 { hundredths / 100 } else { hundredths };
            return Some(Number { value, end, money: false });
        }
        let article = self.one.contains(&t.id);
        if article {
            let c = tokens.get(at + 1).and_then(|n| self.currency.get(&n.id))?;
            return Some(self.cents_after(tokens, Number { value: *c, end: at + 2, money: true }, *c));
        }
        if let Some(c) = self.currency.get(&t.id).filter(|c| **c >= 100) {
            // "Dollar fifty", the article left out.
            let read = self.cents_after(tokens, Number { value: *c, end: at + 1, money: true }, *c);
            return (read.end > at + 1).then_some(read);
        }
        let spoken = self.value(tokens, at)?;
        if let Some(c) = tokens.get(spoken.end).and_then(|n| self.currency.get(&n.id)) {
            let n = Number { value: spoken.value.saturating_mul(*c), end: spoken.end + 1, money: true };
            return Some(self.cents_after(tokens, n, *c));
        }
        if let Some((part, end)) = self.part(tokens, spoken.end).filter(|_| spoken.value < 100) {
            return Some(Number { value: spoken.value * 100 + part, end, money: true });
        }
        let value = if spoken.value >= 100 { spoken.value } else { spoken.value * 100 };
        let even = tokens.get(spoken.end).is_some_and(|n| self.even.contains(&n.id));
        // "The bowl is one now": by itself the word is no price.
        // "Two twenty nine" is one by how it is said.
        let groups = self.whole(tokens, at).is_some_and(|w| w.end < spoken.end);
        (spoken.value != 1 || even).then_some(Number { value, end: spoken.end + usize::from(even), money: groups })
    }

    /// The hundredths of a part behind a whole: "and a quarter", "and half", "and three quarters".
    fn part(&self, tokens: &[Token], at: usize) -> Option<(i64, usize)> {
        let is = |at: usize, word: u32| tokens.get(at).is_some_and(|t| t.is(word).is_some());
        let first = at + 1;
        let one = first + usize::from(tokens.get(first).is_some_and(|t| self.one.contains(&t.id)));
        let three = tokens.get(first).and_then(|t| self.unit(t)) == Some(3);
        match tokens.get(at).is_some_and(|t| t.id == self.and) {
            true if three && (is(first + 1, self.quarter) || tokens.get(first + 1).is_some_and(|t| t.text == "quarters")) => Some((75, first + 2)),
            true if is(one, self.half) => Some((50, one + 1)),
            true if is(one, self.quarter) => Some((25, one + 1)),
            _ => None,
        }
    }

    fn cents_after(&self, tokens: &[Token], amount: Number, unit: i64) -> Number {
        let mut at = amount.end;
        if let Some((part, end)) = self.part(tokens, at).filter(|_| unit >= 100) {
            return Number { value: amount.value + part * unit / 100, end, money: true };
        }
        if unit >= 100 {
            let and = usize::from(tokens.get(at).is_some_and(|n| n.id == self.and));
            if let Some(small) = self.whole(tokens, at + and).filter(|s| (1..100).contains(&s.value)) {
                let named = tokens.get(small.end).and_then(|n| self.currency.get(&n.id)).copied();
                if named == Some(1) {
                    return Number { value: amount.value + small.value, end: small.end + 1, money: true };
                }
                if and == 0 && small.value >= 5 && named.is_none() {
                    return Number { value: amount.value + small.value, end: small.end, money: true };
                }
            }
        }
        if tokens.get(at).is_some_and(|n| self.even.contains(&n.id)) {
            at += 1;
        }
        Number { end: at, ..amount }
    }
}
