//! Linear models over hashed features: training that gives the same bytes everywhere, small weights, and a text form.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

/// One example: its features and its classes.
#[derive(Clone, Debug, Default)]
pub struct Example {
    /// Hashes, each once.
    pub features: Vec<u32>,
    /// The classes that hold, by number; one told twice holds as one told once.
    pub classes: Vec<usize>,
    /// How much it counts.
    pub weight: f32,
}

/// How the classes exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Exactly one class holds.
    One,
    /// Each class holds or not.
    Any,
}

/// A trained model: for each feature the weights of the classes that it speaks for or against, in steps of `step`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    step: f32,
    /// How many features there are.
    features: u32,
    /// Feature by feature in order: its hash, how many classes, and class and weight of each. They lie together, so that a feature is found
    /// by two looks into memory.
    rows: Vec<u8>,
    /// Where the rows begin whose hashes have the same first bits, about one row each.
    starts: Vec<u32>,
}

/// The parts of a row, and what comes after it.
type Row<'a> = (u32, &'a [[u8; 2]], &'a [u8]);

/// In how many orders the examples are gone through; what is kept is the mean, so that one example more moves little.
const ORDERS: u32 = 3;
/// How far one example moves a weight at first: it has some forty features, all of which move.
const RATE: f32 = 0.05;
/// What draws a weight to nothing while all examples with its feature are gone through once.
const PULL: f32 = 1.0;
/// What the sum of squared slopes begins with.
const FLOOR: f32 = 0.01;

/// The exponential function by its series: the same bits on every machine, unlike the system's.
pub fn exp(x: f32) -> f32 {
    let x = x.clamp(-80.0, 80.0);
    let halvings = 10;
    #[expect(clippy::cast_precision_loss, reason = "a small power of two")]
    let y = x / (1u32 << halvings) as f32;
    let mut value = 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y / 24.0)));
    for _ in 0..halvings {
        value *= value;
    }
    value
}

/// The probability of a score that stands by itself.
pub fn chance(score: f32) -> f32 {
    1.0 / (1.0 + exp(-score))
}

/// Probabilities of scores.
pub fn chances(scores: &mut [f32], choice: Choice) {
    match choice {
        Choice::Any => scores.iter_mut().for_each(|s| *s = chance(*s)),
        Choice::One => {
            let top = scores.iter().fold(f32::MIN, |a, b| a.max(*b));
            let mut sum = 0.0;
            for s in scores.iter_mut() {
                *s = exp(*s - top);
                sum += *s;
            }
            scores.iter_mut().for_each(|s| *s /= sum);
        }
    }
}

impl Weights {
    /// Trains on examples, in an order that depends on their number alone.
    pub fn train(examples: &[Example], classes: usize, choice: Choice, rounds: usize, at_least: usize) -> Self {
        let mut seen: FxHashMap<u32, usize> = FxHashMap::default();
        for f in examples.iter().flat_map(|e| &e.features) {
            *seen.entry(*f).or_default() += 1;
        }
        let mut kept: Vec<u32> = seen.into_iter().filter(|(_, n)| *n >= at_least).map(|(f, _)| f).collect();
        kept.sort_unstable();
        let number: FxHashMap<u32, usize> = kept.iter().enumerate().map(|(i, f)| (*f, i)).collect();
        let rows: Vec<Vec<usize>> = examples.iter().map(|e| e.features.iter().filter_map(|f| number.get(f).copied()).collect()).collect();
        let holding: Vec<BTreeSet<usize>> = examples.iter().map(|e| e.classes.iter().copied().collect()).collect();
        let mut mass = vec![0.0f32; kept.len()];
        for (example, row) in examples.iter().zip(&rows) {
            for &f in row {
                if let Some(m) = mass.get_mut(f) {
                    *m += example.weight;
                }
            }
        }
        let mut sums = vec![0.0f32; kept.len() * classes];
        let (mut weights, mut squares) = (vec![], vec![]);
        let mut order: Vec<usize> = (0..examples.len()).collect();
        let mut random = 0x9e37_79b9u32;
        for round in (0..ORDERS).flat_map(|_| 0..rounds) {
            if round == 0 {
                weights = vec![0.0f32; sums.len()];
                squares = vec![FLOOR; sums.len()];
            }
            for i in (1..order.len()).rev() {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                order.swap(i, (random >> 8) as usize % (i + 1));
            }
            for &at in &order {
                let (Some(example), Some(row), Some(holding)) = (examples.get(at), rows.get(at), holding.get(at)) else { continue };
                let mut slope = scores_of(&weights, row, classes);
                chances(&mut slope, choice);
                for c in holding {
                    if let Some(s) = slope.get_mut(*c) {
                        *s -= 1.0;
                    }
                }
                slope.iter_mut().for_each(|s| *s *= example.weight);
                for &f in row {
                    let span = f * classes..(f + 1) * classes;
                    let (Some(w), Some(q), Some(m)) = (weights.get_mut(span.clone()), squares.get_mut(span), mass.get(f)) else { continue };
                    let pull = PULL * example.weight / m;
                    for ((w, q), s) in w.iter_mut().zip(q).zip(&slope) {
                        if s.abs() > 1e-4 {
                            let g = s + pull * *w;
                            *q += g * g;
                            *w -= RATE * g / q.sqrt();
                        }
                    }
                }
            }
            // The last steps of a run lean to the examples that came last: what is kept is the mean of the second half.
            if round >= rounds / 2 {
                sums.iter_mut().zip(&weights).for_each(|(s, w)| *s += w);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
        let summed = (ORDERS as usize * (rounds - rounds / 2).max(1)) as f32;
        sums.iter_mut().for_each(|s| *s /= summed);
        Self::rounded(&kept, &sums, classes)
    }

    fn rounded(kept: &[u32], weights: &[f32], classes: usize) -> Self {
        let top = weights.iter().fold(0.0f32, |a, w| a.max(w.abs())).max(1e-6);
        let mut out = Self { step: top / 127.0, ..Self::default() };
        for (f, of_classes) in kept.iter().zip(weights.chunks(classes.max(1))) {
            let mut row = vec![];
            for (c, w) in of_classes.iter().enumerate() {
                #[expect(clippy::cast_possible_truncation, reason = "within 127 by the choice of the step")]
                let steps = (w / out.step).round() as i8;
                // The smallest weights are many and decide nothing.
                if steps.abs() > 1 {
                    row.extend([u8::try_from(c).unwrap_or(u8::MAX), steps.cast_unsigned()]);
                }
            }
            if !row.is_empty() {
                out.features += 1;
                out.rows.extend(f.to_le_bytes());
                out.rows.push(u8::try_from(row.len() / 2).unwrap_or(u8::MAX));
                out.rows.extend(row);
            }
        }
        out.indexed()
    }

    /// The same with its rows indexed.
    fn indexed(mut self) -> Self {
        if self.features == 0 {
            return self;
        }
        let buckets = self.features.next_power_of_two();
        let mut rest = &self.rows[..];
        while let Some((feature, _, after)) = row(rest) {
            let here = u32::try_from(self.rows.len() - rest.len()).unwrap_or(u32::MAX);
            let bucket = bucket(feature, buckets);
            self.starts.resize(self.starts.len().max(bucket + 1), here);
            rest = after;
        }
        self.starts.resize(buckets as usize + 1, u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        self
    }

    /// The rows among which that of a feature is.
    fn bucket(&self, feature: u32) -> &[u8] {
        let buckets = u32::try_from(self.starts.len().saturating_sub(1)).unwrap_or(0);
        let at = bucket(feature, buckets);
        let span = self.starts.get(at).zip(self.starts.get(at + 1));
        span.and_then(|(from, to)| self.rows.get(*from as usize..*to as usize)).unwrap_or(&[])
    }

    /// The weights of a feature among some rows.
    fn of(feature: u32, mut rest: &[u8]) -> &[[u8; 2]] {
        while let Some((own, weights, after)) = row(rest) {
            if own == feature {
                return weights;
            }
            rest = after;
        }
        &[]
    }

    /// The probabilities of the classes.
    pub fn read(&self, features: &[u32], classes: usize, choice: Choice) -> Vec<f32> {
        let mut out = vec![0.0f32; classes];
        // All are looked up before the first is read: the looks into memory do not wait for one another.
        let rows: Vec<&[u8]> = features.iter().map(|f| self.bucket(*f)).collect();
        for [c, w] in features.iter().zip(rows).flat_map(|(f, rows)| Self::of(*f, rows)) {
            if let Some(s) = out.get_mut(usize::from(*c)) {
                *s += f32::from(w.cast_signed()) * self.step;
            }
        }
        chances(&mut out, choice);
        out
    }

    /// How many weights there are.
    pub fn len(&self) -> usize {
        (self.rows.len() - HEAD * self.features as usize) / 2
    }

    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends the weights to bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.step.to_le_bytes());
        out.extend(self.features.to_le_bytes());
        out.extend(&self.rows);
    }

    /// Reads what [`Self::write`] wrote from the front of the bytes.
    pub fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (step, features) = (f32::from_le_bytes(taken(bytes)?), u32::from_le_bytes(taken(bytes)?));
        let mut rest = *bytes;
        for _ in 0..features {
            rest = row(rest)?.2;
        }
        let rows = bytes.get(..bytes.len() - rest.len())?.to_vec();
        *bytes = rest;
        Some(Self { step, features, rows, starts: vec![] }.indexed())
    }
}

/// How many bytes a row has before its weights.
const HEAD: usize = 5;

/// Takes the first row off.
fn row(bytes: &[u8]) -> Option<Row<'_>> {
    let (&[a, b, c, d, count], rest) = bytes.split_first_chunk::<HEAD>()?;
    let (weights, rest) = rest.split_at_checked(usize::from(count) * 2)?;
    Some((u32::from_le_bytes([a, b, c, d]), weights.as_chunks().0, rest))
}

/// Among so many buckets that of a feature, by the first bits of its hash.
fn bucket(feature: u32, buckets: u32) -> usize {
    ((u64::from(feature) * u64::from(buckets)) >> 32) as usize
}

fn scores_of(weights: &[f32], row: &[usize], classes: usize) -> Vec<f32> {
    let mut out = vec![0.0f32; classes];
    for f in row {
        for (s, w) in out.iter_mut().zip(weights.get(f * classes..(f + 1) * classes).unwrap_or(&[])) {
            *s += w;
        }
    }
    out
}

/// Takes a count off the front.
pub fn count(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(taken(bytes)?)).ok()
}

/// Takes so many bytes off the front.
pub fn taken<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_close_and_bounded() {
        for x in [-20.0f32, -3.5, -0.1, 0.0, 0.7, 4.2, 15.0] {
            let (ours, theirs) = (exp(x), x.exp());
            assert!((ours - theirs).abs() <= theirs * 2e-3, "{x}: {ours} {theirs}");
        }
        assert!(exp(1e9).is_finite());
    }

    /// An utterance that orders two dishes holds one kind of act twice: if it counted twice, every weight of that class would grow
    /// without bound.
    #[test]
    fn a_class_told_twice_is_learned_as_one_told_once() {
        let examples = |times: usize| -> Vec<Example> {
            let classes = |i: u32| std::iter::repeat_n(0, if i.is_multiple_of(2) { times } else { 0 }).collect();
            (0..60u32).map(|i| Example { features: vec![1, 10 + i % 2, 100 + i], classes: classes(i), weight: 1.0 }).collect()
        };
        let train = |times| Weights::train(&examples(times), 1, Choice::Any, 30, 2);
        assert_eq!(train(1), train(2));
        assert!(train(2).read(&[1, 11], 1, Choice::Any)[0] < 0.2);
    }

    #[test]
    fn a_separable_task_is_learned_twice_the_same_and_survives_writing() {
        let examples: Vec<Example> =
            (0..60u32).map(|i| Example { features: vec![1, 10 + i % 3, 100 + i], classes: vec![(i % 3) as usize], weight: 1.0 }).collect();
        let w = Weights::train(&examples, 3, Choice::One, 30, 2);
        assert_eq!(w, Weights::train(&examples, 3, Choice::One, 30, 2));
        for k in 0..3u32 {
            let p = w.read(&[1, 10 + k], 3, Choice::One);
            assert!(p[k as usize] > 0.8, "{p:?}");
        }
        let mut bytes = vec![];
        w.write(&mut bytes);
        assert_eq!(Weights::take(&mut bytes.as_slice()), Some(w));
        assert_eq!(Weights::take(&mut &bytes[..bytes.len() - 1]), None);
    }
}
