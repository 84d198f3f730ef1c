//! Small recurrent networks over the places of an utterance that tell what is said as a whole: the mean of what each of them, begun with
//! other dice, tells. Learning, see [`learning`], gives the same bytes for the same examples on every machine.

pub mod learning;

use self::learning::{Dice, thin};
use super::weights::{Choice, chance, chances, count, taken};

/// What the network reads: the features of each place, and those of what the conversation is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Hashes, place by place.
    pub places: Vec<Vec<u32>>,
    /// Hashes.
    pub around: Vec<u32>,
}

/// A matrix from inputs to outputs, input by input, and what is added.
#[derive(Clone, Debug, Default, PartialEq)]
struct Layer {
    weights: Vec<f32>,
    bias: Vec<f32>,
}

/// A gated recurrent cell; each matrix leads to two gates and a state.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cell {
    place: Layer,
    around: Layer,
    state: Layer,
}

/// All that is learned.
#[derive(Clone, Debug, Default, PartialEq)]
struct Parameters {
    features: Layer,
    forth: Cell,
    back: Cell,
    whole: Layer,
    classes: Layer,
}

/// A trained network; it was compared with linear models over words, pairs and places of words, which it beats by five to seven of a
/// hundred utterances by authors that neither had seen. Labels of mentions it tells no better than they do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The hashes of the features that are known, in order.
    known: Vec<u32>,
    /// What one is wrong about by chance, the others mostly are not.
    each: Vec<Parameters>,
}

/// Numbers that stand for a feature; that a cell keeps; between the reading and what is told of it.
const FEATURE: usize = 48;
const STATE: usize = 64;
const DENSE: usize = 128;
/// Largest, mean, and what is about.
const POOLED: usize = 4 * STATE + FEATURE;

/// Adds a multiple of a row.
#[inline]
fn add(out: &mut [f32], row: &[f32], by: f32) {
    out.iter_mut().zip(row).for_each(|(o, r)| *o += by * r);
}

fn zeros(n: usize) -> Vec<f32> {
    vec![0.0; n]
}

fn times(values: &mut [f32], by: &[f32]) {
    values.iter_mut().zip(by).for_each(|(v, b)| *v *= b);
}

impl Layer {
    fn new(inputs: usize, outputs: usize, spread: f32, dice: &mut Dice) -> Self {
        Self { weights: (0..inputs * outputs).map(|_| spread * dice.normal()).collect(), bias: zeros(outputs) }
    }

    /// As wide as what comes in asks for.
    fn of(inputs: usize, outputs: usize, dice: &mut Dice) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        Self::new(inputs, outputs, 1.0 / (inputs as f32).sqrt(), dice)
    }

    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.weights.chunks_exact(self.bias.len().max(1))
    }

    fn row(&self, at: usize) -> &[f32] {
        self.weights.get(at * self.bias.len()..(at + 1) * self.bias.len()).unwrap_or(&[])
    }

    /// Adds each row times its input, one after the other; four are gone through at once, which changes no bit of the sums.
    fn add_to(&self, out: &mut [f32], inputs: &[f32]) {
        let width = self.bias.len().max(1);
        let (fours, rest) = inputs.as_chunks::<4>();
        for ([a, b, c, d], rows) in fours.iter().zip(self.weights.chunks_exact(4 * width)) {
            let (first, second) = rows.split_at(2 * width);
            let ((p, q), (r, s)) = (first.split_at(width), second.split_at(width));
            for ((((o, p), q), r), s) in out.iter_mut().zip(p).zip(q).zip(r).zip(s) {
                *o = *o + p * a + q * b + r * c + s * d;
            }
        }
        rest.iter().zip(self.rows().skip(4 * fours.len())).for_each(|(x, row)| add(out, row, *x));
    }

    fn read(&self, inputs: &[f32]) -> Vec<f32> {
        let mut out = self.bias.clone();
        self.add_to(&mut out, inputs);
        out
    }
}

/// What a cell did at a place.
struct Step {
    before: Vec<f32>,
    reset: Vec<f32>,
    keep: Vec<f32>,
    fresh: Vec<f32>,
    from_state: Vec<f32>,
}

impl Cell {
    fn new(dice: &mut Dice) -> Self {
        let mut layer = |inputs| Layer::of(inputs, 3 * STATE, dice);
        Self { place: layer(FEATURE), around: layer(FEATURE), state: layer(STATE) }
    }

    /// The states after each place, in the order in which they are gone through, and how they came about.
    fn run<'p>(&self, places: impl Iterator<Item = &'p Vec<f32>>, around: &[f32]) -> (Vec<Vec<f32>>, Vec<Step>) {
        let mut about = self.around.read(around);
        add(&mut about, &self.place.bias, 1.0);
        let mut state = zeros(STATE);
        let (mut states, mut steps) = (vec![], vec![]);
        for place in places {
            let mut from_place = about.clone();
            self.place.add_to(&mut from_place, place);
            let mut from_state = self.state.read(&state);
            let (last_place, last_state) = (from_place.split_off(2 * STATE), from_state.split_off(2 * STATE));
            let mut reset: Vec<f32> = from_place.iter().zip(&from_state).map(|(a, b)| chance(a + b)).collect();
            let keep = reset.split_off(STATE);
            let tangent = |x: f32| 2.0 * chance(2.0 * x) - 1.0;
            let fresh: Vec<f32> = last_place.iter().zip(&last_state).zip(&reset).map(|((p, s), r)| tangent(p + r * s)).collect();
            let next: Vec<f32> = fresh.iter().zip(&state).zip(&keep).map(|((f, s), k)| (1.0 - k) * f + k * s).collect();
            steps.push(Step { before: std::mem::replace(&mut state, next), reset, keep, fresh, from_state: last_state });
            states.push(state.clone());
        }
        (states, steps)
    }
}

/// All that is worked out of an utterance, for learning from it.
struct Pass {
    /// The features of each place that were heard, and their sums.
    heard: Vec<Vec<usize>>,
    places: Vec<Vec<f32>>,
    places_by: Vec<Vec<f32>>,
    about: Vec<usize>,
    around: Vec<f32>,
    steps: [Vec<Step>; 2],
    states: Vec<Vec<f32>>,
    states_by: Vec<Vec<f32>>,
    /// At which place each state is largest.
    largest: Vec<usize>,
    pooled: Vec<f32>,
    pooled_by: Vec<f32>,
    dense: Vec<f32>,
    dense_by: Vec<f32>,
}

impl Parameters {
    fn new(features: usize, classes: usize, dice: &mut Dice) -> Self {
        Self {
            features: Layer::new(features, FEATURE, 0.1, dice),
            forth: Cell::new(dice),
            back: Cell::new(dice),
            whole: Layer::of(POOLED, DENSE, dice),
            classes: Layer { bias: vec![-3.0; classes], ..Layer::of(DENSE, classes, dice) },
        }
    }

    fn blocks(&mut self) -> impl Iterator<Item = &mut Vec<f32>> {
        let Self { features, forth, back, whole, classes } = self;
        let cells = [forth, back].into_iter().flat_map(|c| [&mut c.place, &mut c.around, &mut c.state]);
        [features].into_iter().chain(cells).chain([whole, classes]).flat_map(|l| [&mut l.weights, &mut l.bias])
    }

    /// How likely each class is.
    fn told(&self, pass: &Pass) -> Vec<f32> {
        let mut out = self.classes.read(&pass.dense);
        chances(&mut out, Choice::Any);
        out
    }

    /// Works out what stands before the classes; with dice as it is done for learning, a part of it left out.
    fn pass(&self, view: &[Vec<usize>], about: &[usize], mut dice: Option<&mut Dice>) -> Pass {
        let sum = |features: &[usize]| {
            let mut out = zeros(FEATURE);
            features.iter().for_each(|f| add(&mut out, self.features.row(*f), 1.0));
            out
        };
        let around = sum(about);
        let (mut heard, mut places, mut places_by) = (vec![], vec![], vec![]);
        for features in view {
            let mut features = features.clone();
            if let Some(dice) = dice.as_deref_mut() {
                features.retain(|_| dice.hears());
            }
            let mut place = sum(&features);
            places_by.push(thin(&mut place, dice.as_deref_mut()));
            places.push(place);
            heard.push(features);
        }
        let (forth, steps_forth) = self.forth.run(places.iter(), &around);
        let (back, steps_back) = self.back.run(places.iter().rev(), &around);
        let mut states: Vec<Vec<f32>> = forth
            .into_iter()
            .zip(back.into_iter().rev())
            .map(|(mut f, b)| {
                f.extend(b);
                f
            })
            .collect();
        let states_by = states.iter_mut().map(|s| thin(s, dice.as_deref_mut())).collect();
        let (mut largest, mut pooled, mut mean) = (vec![0; 2 * STATE], vec![f32::MIN; 2 * STATE], zeros(2 * STATE));
        for (at, state) in states.iter().enumerate() {
            for ((s, top), which) in state.iter().zip(&mut pooled).zip(&mut largest) {
                if *s > *top {
                    (*top, *which) = (*s, at);
                }
            }
            #[expect(clippy::cast_precision_loss, reason = "a few places")]
            add(&mut mean, state, 1.0 / states.len() as f32);
        }
        pooled.extend(mean.into_iter().chain(around.iter().copied()));
        let pooled_by = thin(&mut pooled, dice.as_deref_mut());
        let mut dense = self.whole.read(&pooled);
        dense.iter_mut().for_each(|d| *d = d.max(0.0));
        let dense_by = thin(&mut dense, dice);
        Pass {
            heard,
            places,
            places_by,
            about: about.to_vec(),
            around,
            steps: [steps_forth, steps_back],
            states,
            states_by,
            largest,
            pooled,
            pooled_by,
            dense,
            dense_by,
        }
    }
}

/// A view in the numbers of the features that are known.
type Numbers = (Vec<Vec<usize>>, Vec<usize>);

impl Network {
    /// The numbers of the features that are known.
    fn numbers(&self, view: &View) -> Numbers {
        let number = |list: &Vec<u32>| list.iter().filter_map(|f| self.known.binary_search(f).ok()).collect::<Vec<usize>>();
        let nothing = view.places.is_empty().then(Vec::new);
        (view.places.iter().map(number).chain(nothing).collect(), number(&view.around))
    }

    /// How likely each class is.
    pub fn read(&self, view: &View) -> Vec<f32> {
        let (numbers, about) = self.numbers(view);
        let mut out = vec![];
        for one in &self.each {
            let told = one.told(&one.pass(&numbers, &about, None));
            out.resize(told.len(), 0.0);
            #[expect(clippy::cast_precision_loss, reason = "a few")]
            add(&mut out, &told, 1.0 / self.each.len() as f32);
        }
        out
    }

    /// Appends the network to bytes: each weight as one of 65,535 steps of its block.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(u32::try_from(self.known.len()).unwrap_or(0).to_le_bytes());
        out.extend(self.known.iter().flat_map(|f| f.to_le_bytes()));
        out.extend(u32::try_from(self.each.len()).unwrap_or(0).to_le_bytes());
        for block in self.each.clone().iter_mut().flat_map(Parameters::blocks) {
            let step = block.iter().fold(0.0f32, |a, w| a.max(w.abs())).max(1e-12) / f32::from(i16::MAX);
            out.extend(u32::try_from(block.len()).unwrap_or(0).to_le_bytes());
            out.extend(step.to_le_bytes());
            #[expect(clippy::cast_possible_truncation, reason = "within the range by the choice of the step")]
            out.extend(block.iter().flat_map(|w| ((w / step).round() as i16).to_le_bytes()));
        }
    }

    /// Reads what [`Self::write`] wrote from the front of the bytes.
    pub fn take(bytes: &mut &[u8]) -> Option<Self> {
        let mut out = Self::default();
        for _ in 0..count(bytes)? {
            out.known.push(u32::from_le_bytes(taken(bytes)?));
        }
        for _ in 0..count(bytes)? {
            let mut one = Parameters::default();
            for block in one.blocks() {
                let length = count(bytes)?;
                let step = f32::from_le_bytes(taken(bytes)?);
                let (values, rest) = bytes.split_at_checked(length.checked_mul(2)?)?;
                block.extend(values.as_chunks().0.iter().map(|v| f32::from(i16::from_le_bytes(*v)) * step));
                *bytes = rest;
            }
            out.each.push(one);
        }
        Some(out)
    }
}
