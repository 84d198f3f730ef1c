//! Scores that several evaluations share: accuracy, weighted and macro F1, BLEU, bootstrap intervals.

use std::collections::BTreeMap;

use serde::Serialize;

/// One scored example: the group it is averaged in, the right label and the predicted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored<'a> {
    /// The group.
    pub group: &'a str,
    /// The right label.
    pub gold: &'a str,
    /// The predicted label.
    pub predicted: &'a str,
}

/// F1 and accuracy in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// F1 of the labels, weighted by how often each is right.
    pub f1: f64,
    /// Accuracy.
    pub accuracy: f64,
    /// Examples.
    pub n: usize,
}

/// How many of a hundred.
#[expect(clippy::cast_precision_loss, reason = "counts of examples")]
pub fn percent(a: usize, b: usize) -> f64 {
    if b == 0 { 0.0 } else { 100.0 * a as f64 / b as f64 }
}

/// Weighted F1 and accuracy over one group.
pub fn score<'a>(examples: impl IntoIterator<Item = (&'a str, &'a str)>) -> Score {
    // For each label: right, predicted, and both.
    let mut labels: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let (mut n, mut right) = (0, 0);
    for (gold, predicted) in examples {
        n += 1;
        let g = labels.entry(gold).or_default();
        g[0] += 1;
        if gold == predicted {
            g[2] += 1;
            right += 1;
        }
        labels.entry(predicted).or_default()[1] += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of examples")]
    let f1: f64 = labels.values().map(|[g, p, both]| if *both == 0 { 0.0 } else { *g as f64 * 2.0 * *both as f64 / (g + p) as f64 }).sum();
    #[expect(clippy::cast_precision_loss, reason = "counts of examples")]
    let f1 = if n == 0 { 0.0 } else { 100.0 * f1 / n as f64 };
    Score { f1, accuracy: percent(right, n), n }
}

/// Scores by group, and their unweighted mean.
pub fn by_group<'a>(examples: impl IntoIterator<Item = Scored<'a>>) -> (Score, BTreeMap<String, Score>) {
    let mut groups: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for e in examples {
        groups.entry(e.group).or_default().push((e.gold, e.predicted));
    }
    let scores: BTreeMap<String, Score> = groups.into_iter().map(|(g, l)| (g.to_owned(), score(l))).collect();
    (mean(scores.values()), scores)
}

fn mean<'a>(scores: impl ExactSizeIterator<Item = &'a Score>) -> Score {
    #[expect(clippy::cast_precision_loss, reason = "a count of groups")]
    let k = scores.len().max(1) as f64;
    let sum = scores.fold(Score::default(), |a, s| Score { f1: a.f1 + s.f1, accuracy: a.accuracy + s.accuracy, n: a.n + s.n });
    Score { f1: sum.f1 / k, accuracy: sum.accuracy / k, n: sum.n }
}

/// A 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// 2.5 %.
    pub low: f64,
    /// 97.5 %.
    pub high: f64,
}

/// The interval of a share by Wilson's formula, in percent: right for small samples and shares near 100.
#[expect(clippy::cast_precision_loss, reason = "counts of examples")]
pub fn wilson(right: usize, n: usize) -> Interval {
    if n == 0 {
        return Interval { low: 0.0, high: 100.0 };
    }
    let (n, z) = (n as f64, 1.959_964);
    let p = right as f64 / n;
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    Interval { low: 100.0 * (middle - half).max(0.0), high: 100.0 * (middle + half).min(1.0) }
}

/// A small, seeded source of numbers, so that an interval is the same on every run.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A source from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (n.max(1) as u64)).unwrap_or(0)
    }
}

/// Bootstrap over units (dialogues): the interval of each statistic when units are drawn anew.
pub fn bootstrap<U, const K: usize>(units: &[U], rounds: usize, seed: u64, statistic: impl Fn(&[&U]) -> [f64; K]) -> [Interval; K] {
    let mut dice = Dice::new(seed);
    let mut seen: Vec<Vec<f64>> = vec![Vec::with_capacity(rounds); K];
    for _ in 0..rounds {
        let drawn: Vec<&U> = (0..units.len()).filter_map(|_| units.get(dice.below(units.len()))).collect();
        for (list, v) in seen.iter_mut().zip(statistic(&drawn)) {
            list.push(v);
        }
    }
    let mut out = [Interval::default(); K];
    for (o, mut list) in out.iter_mut().zip(seen) {
        list.sort_by(f64::total_cmp);
        let at = |per_mille: usize| list.get((list.len().saturating_sub(1)) * per_mille / 1000).copied().unwrap_or(0.0);
        *o = Interval { low: at(25), high: at(975) };
    }
    out
}

/// Tokens as the standard BLEU script cuts them (mteval 13a).
pub fn tokens_13a(text: &str) -> Vec<String> {
    let text = text
        .replace("<skipped>", "")
        .replace("-\n", "")
        .replace('\n', " ")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    let splits = |c: char| matches!(c, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/');
    let padded: Vec<char> = format!(" {text} ").chars().flat_map(|c| if splits(c) { vec![' ', c, ' '] } else { vec![c] }).collect();
    let digit = |c: Option<&char>| c.is_some_and(char::is_ascii_digit);
    let mut out = String::new();
    for (n, c) in padded.iter().enumerate() {
        let before = n.checked_sub(1).and_then(|p| padded.get(p));
        let after = padded.get(n + 1);
        match c {
            // A full stop or comma stands alone unless digits are on both sides of it.
            '.' | ',' if !digit(before) || !digit(after) => {
                out.push(' ');
                out.push(*c);
                out.push(' ');
            }
            '-' if digit(before) => out.push_str(" - "),
            _ => out.push(*c),
        }
    }
    out.split_whitespace().map(str::to_owned).collect()
}

/// Corpus BLEU of tokenised pairs (hypothesis, reference): 4-grams, exponential smoothing of empty orders.
pub fn bleu(pairs: &[(Vec<String>, Vec<String>)]) -> f64 {
    let mut matched = [0_usize; 4];
    let mut total = [0_usize; 4];
    let (mut hypothesis, mut reference) = (0, 0);
    for (h, r) in pairs {
        hypothesis += h.len();
        reference += r.len();
        for (order, (m, t)) in (1..=4).zip(matched.iter_mut().zip(total.iter_mut())) {
            let mut have: BTreeMap<&[String], usize> = BTreeMap::new();
            for g in r.windows(order) {
                *have.entry(g).or_default() += 1;
            }
            for g in h.windows(order) {
                *t += 1;
                if let Some(left) = have.get_mut(g).filter(|l| **l > 0) {
                    *left -= 1;
                    *m += 1;
                }
            }
        }
    }
    if hypothesis == 0 || total.contains(&0) || matched == [0; 4] {
        return 0.0;
    }
    let mut smooth = 1.0;
    let mut log = 0.0;
    for (m, t) in matched.iter().zip(&total) {
        let p = if *m == 0 {
            smooth *= 2.0;
            percent(1, *t) / smooth
        } else {
            percent(*m, *t)
        };
        log += p.ln() / 4.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of words")]
    let brevity = if hypothesis < reference { (1.0 - reference as f64 / hypothesis as f64).exp() } else { 1.0 };
    brevity * log.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weighted_f1_by_hand() {
        // a: 2 right of 3, predicted twice; b: 1 of 1, predicted twice.
        let s = score([("a", "a"), ("a", "a"), ("a", "b"), ("b", "b")]);
        let want = 100.0 * (3.0 * (4.0 / 5.0) + 1.0 * (2.0 / 3.0)) / 4.0;
        assert!((s.f1 - want).abs() < 1e-9);
        assert!((s.accuracy - 75.0).abs() < 1e-9);
    }

    #[test]
    fn bleu_of_equal_texts_is_a_hundred() {
        let t = tokens_13a("It costs 1,200.50 credits, doesn't it? (yes)");
        assert_eq!(t, ["It", "costs", "1,200.50", "credits", ",", "doesn't", "it", "?", "(", "yes", ")"]);
        assert!((bleu(&[(t.clone(), t)]) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn bleu_falls_with_what_is_missing() {
        let of = |said: &str, reference: &str| bleu(&[(tokens_13a(said), tokens_13a(reference))]);
        assert_eq!(tokens_13a("at 9.30, costs 10,000 (or 5-10)."), ["at", "9.30", ",", "costs", "10,000", "(", "or", "5", "-", "10", ")", "."]);
        assert!(of("nothing shared here whatsoever", "the train leaves at TIME, and arrives at TIME. ok?").abs() < f64::EPSILON);
        let shorter = of("is there anything else i can help", "is there anything else i can help you with today?");
        assert!(shorter < 100.0 * (1.0_f64 - 11.0 / 7.0).exp() + 1e-9);
    }

    #[test]
    fn the_bootstrap_repeats_itself() {
        let units: Vec<f64> = (0..50).map(f64::from).collect();
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let mean = |u: &[&f64]| [u.iter().copied().sum::<f64>() / u.len() as f64];
        let [a] = bootstrap(&units, 200, 7, mean);
        assert_eq!([a], bootstrap(&units, 200, 7, mean));
        assert!(a.low < 24.5 && a.high > 24.5);
    }
}
