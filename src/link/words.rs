//! Words as numbers: interning and the nearest known words of an unknown one.

use rustc_hash::FxHashMap;

use super::similar::{closeness, sound_key};
use crate::text::stem;

/// The number of a word that no data file and no name holds.
pub const UNKNOWN: u32 = u32::MAX;

/// Every word that patterns and names are made of, by its stem.
#[derive(Clone, Debug, Default)]
pub struct Words {
    by_stem: FxHashMap<Box<str>, u32>,
    stems: Vec<Box<str>>,
    correctable: Vec<bool>,
    by_length: Vec<Vec<u32>>,
    sounds: Vec<Box<str>>,
}

impl Words {
    /// The number of a word, made if it is new. A word of a name or of a pattern is `correctable`: misspelt words may mean it.
    pub fn intern(&mut self, word: &str, correctable: bool) -> u32 {
        let stem = stem(word);
        if let Some(&id) = self.by_stem.get(stem.as_str()) {
            if correctable
                && let Some(c) = self.correctable.get_mut(id as usize)
                && !*c
            {
                *c = true;
                self.index(id, &stem);
            }
            return id;
        }
        let id = u32::try_from(self.stems.len()).unwrap_or(UNKNOWN);
        self.sounds.push(sound_key(&stem).into());
        self.stems.push(stem.as_str().into());
        self.correctable.push(correctable);
        if correctable {
            self.index(id, &stem);
        }
        self.by_stem.insert(stem.into(), id);
        id
    }

    fn index(&mut self, id: u32, stem: &str) {
        let length = stem.chars().count();
        if self.by_length.len() <= length {
            self.by_length.resize(length + 1, vec![]);
        }
        if let Some(bucket) = self.by_length.get_mut(length) {
            bucket.push(id);
        }
    }

    /// The number of a word's stem, [`UNKNOWN`] if no data holds it.
    pub fn id(&self, word: &str) -> u32 {
        self.by_stem.get(stem(word).as_str()).copied().unwrap_or(UNKNOWN)
    }

    /// The stem with this number.
    pub fn stem_of(&self, id: u32) -> &str {
        self.stems.get(id as usize).map_or("", |s| s)
    }

    /// Known words an unknown one may be a misspelling of, with their closeness (0 to 1), best first, at most five.
    pub fn nearest(&self, word: &str) -> Vec<(u32, f32)> {
        let stem = stem(word);
        let length = stem.chars().count();
        if length < 3 {
            return vec![];
        }
        let sound = sound_key(&stem);
        let mut found: Vec<(u32, f32)> = vec![];
        for l in length.saturating_sub(2)..=length + 2 {
            for &id in self.by_length.get(l).map_or(&[][..], |b| b) {
                let c = closeness(&stem, &sound, self.stem_of(id), self.sounds.get(id as usize).map_or("", |s| s));
                if c > 0.0 {
                    found.push((id, c));
                }
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let best = found.first().map_or(0.0, |f| f.1);
        found.retain(|f| f.1 > best - 0.15);
        found.truncate(5);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_find_their_word_and_strange_words_find_none() {
        let mut words = Words::default();
        for w in ["burrito", "supreme", "quesadilla", "crunchwrap", "onion", "cheese", "cheesy", "jalapeno", "side", "delights", "veggie"] {
            words.intern(w, true);
        }
        let best = |w: &str| words.nearest(w).first().map(|(id, _)| words.stem_of(*id).to_owned());
        for (said, meant) in [
            ("burito", "burrito"),
            ("suprem", "supreme"),
            ("kesadilla", "quesadilla"),
            ("cheezy", "cheesy"),
            ("jalepenos", "jalapeno"),
            ("crunchwarp", "crunchwrap"),
        ] {
            assert_eq!(best(said).as_deref(), Some(meant), "{said}");
        }
        for said in ["xylophone", "burger", "sandwich", "ham"] {
            assert_eq!(best(said), None, "{said}");
        }
    }
}
