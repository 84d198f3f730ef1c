//! How the network learns: slopes of what it gets wrong, worked out backwards, and steps along them.

use rustc_hash::FxHashMap;

use super::{Cell, FEATURE, Layer, Network, Numbers, Parameters, Pass, STATE, Step, View, add, times, zeros};

/// Hears how far the learning is.
pub type Progress<'a> = &'a (dyn Fn(&str) + Sync);

/// One example: what is read, and what of it is known.
#[derive(Clone, Debug, Default)]
pub struct Example {
    /// What is read.
    pub view: View,
    /// The classes of the whole that hold, by number.
    pub classes: Vec<usize>,
    /// How much it counts.
    pub weight: f32,
}

/// Examples between two steps.
const BATCH: usize = 64;
/// The length of the first step; it falls evenly to nothing.
const RATE: f32 = 3e-3;
/// How much of the slopes and of their squares is kept from step to step.
const KEPT: (f32, f32) = (0.9, 0.999);
/// What draws a weight to nothing, as a part of the step.
const PULL: f32 = 1e-2;
/// Which part is left out at random while learning: of numbers, of features.
const LEFT_OUT: f32 = 0.3;
const UNHEARD: f32 = 0.1;

/// Random numbers that are the same everywhere.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 40).unwrap_or(0)
    }

    /// From 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "24 bits")]
    fn share(&mut self) -> f32 {
        self.roll() as f32 / (1u32 << 24) as f32
    }

    /// Whether a feature is heard while learning.
    pub(super) fn hears(&mut self) -> bool {
        self.share() >= UNHEARD
    }

    /// About normally distributed.
    pub(super) fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.share()).sum::<f32>() - 6.0
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.roll() as usize % (i + 1));
        }
    }
}

/// Leaves a part of the numbers out and makes up for it in the others; tells by how much each was multiplied.
pub(super) fn thin(values: &mut [f32], dice: Option<&mut Dice>) -> Vec<f32> {
    let Some(dice) = dice else { return vec![] };
    let by: Vec<f32> = values.iter().map(|_| if dice.share() < LEFT_OUT { 0.0 } else { 1.0 / (1.0 - LEFT_OUT) }).collect();
    times(values, &by);
    by
}

/// No slope goes where nothing came through.
fn stop(slopes: &mut [f32], values: &[f32]) {
    slopes.iter_mut().zip(values).filter(|(_, v)| **v <= 0.0).for_each(|(s, _)| *s = 0.0);
}

impl Layer {
    /// From outputs to inputs: what it reads of slopes of the outputs is what they are for the inputs.
    fn turned(&self) -> Self {
        let bias = zeros(self.weights.len() / self.bias.len().max(1));
        let column = |at: usize| self.weights.iter().skip(at).step_by(self.bias.len()).copied();
        Self { weights: (0..self.bias.len()).flat_map(column).collect(), bias }
    }

    /// Notes the slopes of the weights.
    fn note(&mut self, inputs: &[f32], slopes: &[f32]) {
        inputs.iter().zip(self.weights.chunks_exact_mut(slopes.len().max(1))).for_each(|(x, row)| add(row, slopes, *x));
        add(&mut self.bias, slopes, 1.0);
    }
}

impl Cell {
    /// Of the cell turned: from the slopes of the states, in the order of the steps, to those of the places and of what is about.
    fn back<'p>(
        &self,
        steps: &[Step],
        slopes: impl DoubleEndedIterator<Item = (&'p [f32], &'p Vec<f32>)>,
        around: &[f32],
        notes: &mut Self,
    ) -> (Vec<Vec<f32>>, Vec<f32>) {
        let mut carried = zeros(STATE);
        let mut of_about = zeros(3 * STATE);
        let mut out = vec![];
        for (step, (slope, place)) in steps.iter().rev().zip(slopes.rev()) {
            add(&mut carried, slope, 1.0);
            let (mut to_place, mut to_state) = (zeros(3 * STATE), zeros(3 * STATE));
            let mut next = zeros(STATE);
            for i in 0..STATE {
                let at = |v: &[f32]| v.get(i).copied().unwrap_or(0.0);
                let (d, r, k, f, s) = (at(&carried), at(&step.reset), at(&step.keep), at(&step.fresh), at(&step.from_state));
                let of_fresh = d * (1.0 - k) * (1.0 - f * f);
                let of_reset = of_fresh * s * r * (1.0 - r);
                let of_keep = d * (at(&step.before) - f) * k * (1.0 - k);
                for (part, (p, s)) in [(of_reset, of_reset), (of_keep, of_keep), (of_fresh, of_fresh * r)].into_iter().enumerate() {
                    if let (Some(to_place), Some(to_state)) = (to_place.get_mut(part * STATE + i), to_state.get_mut(part * STATE + i)) {
                        (*to_place, *to_state) = (p, s);
                    }
                }
                if let Some(n) = next.get_mut(i) {
                    *n = d * k;
                }
            }
            add(&mut next, &self.state.read(&to_state), 1.0);
            notes.state.note(&step.before, &to_state);
            notes.place.note(place, &to_place);
            add(&mut of_about, &to_place, 1.0);
            out.push(self.place.read(&to_place));
            carried = next;
        }
        out.reverse();
        notes.around.note(around, &of_about);
        (out, self.around.read(&of_about))
    }
}

impl Parameters {
    /// All layers turned but for the features, which nothing comes in front of.
    fn turned(&self) -> Self {
        let cell = |c: &Cell| Cell { place: c.place.turned(), around: c.around.turned(), state: c.state.turned() };
        let Self { features: _, forth, back, whole, classes } = self;
        Self { features: Layer::default(), forth: cell(forth), back: cell(back), whole: whole.turned(), classes: classes.turned() }
    }

    /// The same with nothing in it.
    fn empty(&self) -> Self {
        let mut out = self.clone();
        out.blocks().for_each(|b| b.fill(0.0));
        out
    }

    /// Notes what one example would have different; `turned` are the same parameters turned.
    fn learn(&self, turned: &Self, example: &Example, pass: &Pass, notes: &mut Self) {
        let mut classes = self.told(pass);
        for (c, p) in classes.iter_mut().enumerate() {
            *p = (*p - f32::from(u8::from(example.classes.contains(&c)))) * example.weight;
        }
        notes.classes.note(&pass.dense, &classes);
        let mut of_dense = turned.classes.read(&classes);
        times(&mut of_dense, &pass.dense_by);
        stop(&mut of_dense, &pass.dense);
        notes.whole.note(&pass.pooled, &of_dense);
        let mut of_pooled = turned.whole.read(&of_dense);
        times(&mut of_pooled, &pass.pooled_by);
        let (of_largest, rest) = of_pooled.split_at_checked(2 * STATE).unwrap_or_default();
        let (of_mean, of_about) = rest.split_at_checked(2 * STATE).unwrap_or_default();
        let mut of_around = of_about.to_vec();
        let mut of_states = vec![zeros(2 * STATE); pass.states.len()];
        for (i, (at, slope)) in pass.largest.iter().zip(of_largest).enumerate() {
            if let Some(s) = of_states.get_mut(*at).and_then(|s| s.get_mut(i)) {
                *s += slope;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a few places")]
        let share = 1.0 / pass.states.len().max(1) as f32;
        for (slopes, by) in of_states.iter_mut().zip(&pass.states_by) {
            add(slopes, of_mean, share);
            times(slopes, by);
        }
        let [forth, back] = &pass.steps;
        let slopes = || of_states.iter().map(|s| s.split_at_checked(STATE).unwrap_or_default()).zip(&pass.places);
        let (by_forth, about_forth) = turned.forth.back(forth, slopes().map(|(s, p)| (s.0, p)), &pass.around, &mut notes.forth);
        let (by_back, about_back) = turned.back.back(back, slopes().rev().map(|(s, p)| (s.1, p)), &pass.around, &mut notes.back);
        add(&mut of_around, &about_forth, 1.0);
        add(&mut of_around, &about_back, 1.0);
        let mut of_places = by_forth;
        of_places.iter_mut().zip(by_back.iter().rev()).for_each(|(slopes, b)| add(slopes, b, 1.0));
        of_places.iter_mut().zip(&pass.places_by).for_each(|(slopes, by)| times(slopes, by));
        let sums = pass.heard.iter().zip(&of_places).chain(std::iter::once((&pass.about, &of_around)));
        for (features, slopes) in sums {
            for f in features {
                notes.features.weights.get_mut(f * FEATURE..(f + 1) * FEATURE).into_iter().for_each(|row| add(row, slopes, 1.0));
            }
        }
    }
}

/// How many networks are trained, each with dice of its own.
const NETWORKS: u64 = 2;

impl Network {
    /// Trains on examples, in orders that depend on their number alone.
    pub fn train(examples: &[Example], classes: usize, rounds: usize, at_least: usize, progress: Progress<'_>) -> Self {
        let mut seen: FxHashMap<u32, usize> = FxHashMap::default();
        for f in examples.iter().flat_map(|e| e.view.places.iter().flatten().chain(&e.view.around)) {
            *seen.entry(*f).or_default() += 1;
        }
        let mut out = Self { known: seen.into_iter().filter(|(_, n)| *n >= at_least).map(|(f, _)| f).collect(), each: vec![] };
        out.known.sort_unstable();
        let views: Vec<_> = examples.iter().map(|e| out.numbers(&e.view)).collect();
        let rows: Vec<(&Example, &Numbers)> = examples.iter().zip(&views).collect();
        let known = out.known.len();
        for which in 0..NETWORKS {
            let told = |what: &str| progress(&format!("network {} of {NETWORKS}, {what}", which + 1));
            out.each.push(Parameters::train(&rows, (known, classes), rounds, Dice::new(7 + which), &told));
        }
        // As it will be read from its file.
        let mut bytes = vec![];
        out.write(&mut bytes);
        Self::take(&mut bytes.as_slice()).unwrap_or_default()
    }
}

impl Parameters {
    fn train(rows: &[(&Example, &Numbers)], (features, classes): (usize, usize), rounds: usize, mut dice: Dice, progress: Progress<'_>) -> Self {
        let mut out = Self::new(features, classes, &mut dice);
        let mut slopes = out.empty();
        let (mut means, mut squares) = (slopes.clone(), slopes.clone());
        let (mut left_of_mean, mut left_of_squares) = (1.0, 1.0);
        let mut order = rows.to_vec();
        let steps = rounds * order.len().div_ceil(BATCH);
        let mut done = 0;
        for round in 0..rounds {
            progress(&format!("round {} of {rounds}", round + 1));
            dice.shuffle(&mut order);
            for batch in order.chunks(BATCH) {
                let turned = out.turned();
                let mut weight = 0.0;
                for (example, (places, about)) in batch {
                    let pass = out.pass(places, about, Some(&mut dice));
                    out.learn(&turned, example, &pass, &mut slopes);
                    weight += example.weight;
                }
                #[expect(clippy::cast_precision_loss, reason = "some ten thousand steps")]
                let rate = RATE * (1.0 - done as f32 / steps as f32);
                done += 1;
                (left_of_mean, left_of_squares) = (left_of_mean * KEPT.0, left_of_squares * KEPT.1);
                let (mean_by, square_by) = (1.0 / (1.0 - left_of_mean), 1.0 / (1.0 - left_of_squares));
                let blocks = out.blocks().zip(slopes.blocks()).zip(means.blocks().zip(squares.blocks()));
                for ((values, slopes), (means, squares)) in blocks {
                    for ((v, g), (m, q)) in values.iter_mut().zip(slopes.iter_mut()).zip(means.iter_mut().zip(squares)) {
                        let slope = *g / weight;
                        *m = KEPT.0 * *m + (1.0 - KEPT.0) * slope;
                        *q = KEPT.1 * *q + (1.0 - KEPT.1) * slope * slope;
                        *v -= rate * (*m * mean_by / ((*q * square_by).sqrt() + 1e-8) + PULL * *v);
                        *g = 0.0;
                    }
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of two words came first is told by no set of words.
    fn examples() -> Vec<Example> {
        let example = |i: u32| {
            let first = i % 2;
            let view = View { places: vec![vec![10 + first], vec![20 + i % 5], vec![11 - first]], around: vec![1] };
            Example { view, classes: vec![first as usize], weight: 1.0 }
        };
        (0..80).map(example).collect()
    }

    #[test]
    fn order_is_learned_twice_the_same_and_survives_writing() {
        let network = Network::train(&examples(), 2, 40, 2, &|_| ());
        assert!(network == Network::train(&examples(), 2, 40, 2, &|_| ()));
        for e in examples() {
            let read = network.read(&e.view);
            let which = e.classes[0];
            assert!(read[which] > 0.8 && read[1 - which] < 0.2, "{read:?}");
        }
        let mut bytes = vec![];
        network.write(&mut bytes);
        assert!(Network::take(&mut bytes.as_slice()) == Some(network));
        assert!(Network::take(&mut &bytes[..bytes.len() - 1]).is_none());
    }

    /// What is noted as a slope is what the loss does when a weight moves.
    #[test]
    fn slopes_are_those_of_the_loss() {
        let example = Example { weight: 0.7, ..examples().remove(1) };
        let mut parameters = Parameters::new(8, 2, &mut Dice::new(7));
        let (places, about) = (vec![vec![0, 3], vec![1], vec![2]], vec![4]);
        let loss = |parameters: &Parameters| {
            let pass = parameters.pass(&places, &about, None);
            let of_classes: f32 = parameters.told(&pass).iter().enumerate().map(|(c, p)| -if example.classes.contains(&c) { *p } else { 1.0 - p }.ln()).sum();
            example.weight * of_classes
        };
        let mut slopes = parameters.empty();
        let pass = parameters.pass(&places, &about, None);
        parameters.learn(&parameters.turned(), &example, &pass, &mut slopes);
        let mut dice = Dice::new(3);
        for block in 0..slopes.blocks().count() {
            for _ in 0..12 {
                let at = dice.roll() as usize % slopes.blocks().nth(block).unwrap().len();
                let mut moved = |by: f32| {
                    let before = parameters.clone();
                    parameters.blocks().nth(block).unwrap()[at] += by;
                    let out = loss(&parameters);
                    parameters = before;
                    out
                };
                // Where nothing comes through on one side, the slopes of both sides differ.
                let (below, here, above) = (moved(-0.05), moved(0.0), moved(0.05));
                let (left, right) = ((here - below) / 0.05, (above - here) / 0.05);
                let noted = slopes.blocks().nth(block).unwrap()[at];
                let bounds = left.min(right) - 4e-3..left.max(right) + 4e-3;
                assert!(bounds.contains(&noted), "block {block}, weight {at}: {noted} is not within {bounds:?}");
            }
        }
    }
}
