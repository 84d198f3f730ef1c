//! Nearness of meaning: an optional scorer for names that spelling leaves unknown or tied, over vectors from wherever they come.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::names::Thresholds;
use crate::term::Name;

/// Where vectors come from.
pub trait Vectors: Send + Sync {
    /// What made them: vectors of different makers are never compared, and never share a cache.
    fn maker(&self) -> &str;

    /// One vector per text, `None` if there are none now (a server that is down): then spelling alone counts.
    fn vectors(&self, texts: &[String]) -> Option<Vec<Vec<f32>>>;
}

/// How many texts are put to a source at once.
const BATCH: usize = 64;
/// How many vectors of said phrases are kept in memory; names' are kept all.
const REMEMBERED: usize = 4096;

/// Ranks names by nearness of meaning. The thresholds are those of linking, on the scale of cosines.
#[derive(Clone)]
pub struct Nearness {
    source: Arc<dyn Vectors>,
    thresholds: Thresholds,
    folder: Option<PathBuf>,
    known: Arc<Mutex<BTreeMap<String, Arc<Vec<f32>>>>>,
}

impl fmt::Debug for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nearness by {}", self.source.maker())
    }
}

impl Nearness {
    /// By vectors of a source; a name must be as near as the threshold says, and a second one near the best ties with it.
    pub fn new(source: Arc<dyn Vectors>) -> Self {
        Self { source, thresholds: Thresholds { accept: 0.45, tie: 0.92 }, folder: None, known: Arc::default() }
    }

    /// The same with a folder in which names' vectors are kept, by the hash of maker and text.
    #[must_use]
    pub fn cached(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// The names that are near enough to a phrase, best first; empty if nothing is, or if there are no vectors now.
    pub fn rank(&self, phrase: &str, names: &[Name]) -> Vec<(Name, f32)> {
        let Some(of_names) = self.all(names) else { return vec![] };
        let Some(said) = self.of_phrase(phrase) else { return vec![] };
        let mut ranked: Vec<(Name, f32)> =
            names.iter().zip(&of_names).map(|(n, v)| (n.clone(), cosine(&said, v))).filter(|(_, s)| *s >= self.thresholds.accept).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ranked
    }

    /// The one name that is clearly nearest, if one is.
    pub fn clear(&self, phrase: &str, names: &[Name]) -> Option<Name> {
        let ranked = self.rank(phrase, names);
        let (best, score) = ranked.first()?;
        ranked.get(1).is_none_or(|(_, s)| *s < score * self.thresholds.tie).then(|| best.clone())
    }

    fn of_phrase(&self, phrase: &str) -> Option<Arc<Vec<f32>>> {
        let key = phrase.to_lowercase();
        if let Some(v) = self.lock().get(&key) {
            return Some(v.clone());
        }
        let vector = Arc::new(self.source.vectors(std::slice::from_ref(&key))?.pop()?);
        let mut known = self.lock();
        if known.len() < REMEMBERED {
            known.insert(key, vector.clone());
        }
        Some(vector)
    }

    /// The vectors of names: from memory, from the folder, from the source, in this order.
    fn all(&self, names: &[Name]) -> Option<Vec<Arc<Vec<f32>>>> {
        let texts: Vec<String> = names.iter().map(|n| n.to_lowercase()).collect();
        let mut missing: Vec<String> = vec![];
        for text in &texts {
            if self.lock().contains_key(text) || missing.contains(text) {
                continue;
            }
            match self.read(text) {
                Some(v) => {
                    self.lock().insert(text.clone(), Arc::new(v));
                }
                None => missing.push(text.clone()),
            }
        }
        for batch in missing.chunks(BATCH) {
            let vectors = self.source.vectors(batch)?;
            if vectors.len() != batch.len() {
                return None;
            }
            for (text, vector) in batch.iter().zip(vectors) {
                self.write(text, &vector);
                self.lock().insert(text.clone(), Arc::new(vector));
            }
        }
        let known = self.lock();
        texts.iter().map(|t| known.get(t).cloned()).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Vec<f32>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, text: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{:016x}.vector", hash(&format!("{}\u{0}{text}", self.source.maker())))))
    }

    /// The file holds what it is the vector of, so that two texts of one hash are told apart.
    fn read(&self, text: &str) -> Option<Vec<f32>> {
        let bytes = std::fs::read(self.place(text)?).ok()?;
        let head = format!("{}\u{0}{text}\u{0}", self.source.maker());
        let numbers = bytes.strip_prefix(head.as_bytes())?;
        let vector: Vec<f32> = numbers.chunks_exact(4).filter_map(|c| Some(f32::from_le_bytes(c.try_into().ok()?))).collect();
        (!vector.is_empty() && vector.iter().all(|x| x.is_finite())).then_some(vector)
    }

    /// A vector that cannot be kept is computed again next time; that is all.
    fn write(&self, text: &str, vector: &[f32]) {
        let (Some(place), Some(folder)) = (self.place(text), &self.folder) else { return };
        let mut bytes = format!("{}\u{0}{text}\u{0}", self.source.maker()).into_bytes();
        bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        let draft = place.with_extension(format!("{}.draft", std::process::id()));
        let kept = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&draft, bytes)).and_then(|()| std::fs::rename(&draft, &place));
        if let Err(e) = kept {
            tracing::debug!("the vector of `{text}` could not be kept: {e}");
        }
    }
}

/// How near two directions are; 0 for vectors of different lengths or without direction.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    let dot: f32 = a.iter().zip(b).map(|(x, y)| x * y).sum();
    let length = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
    let lengths = length(a) * length(b);
    if lengths > 0.0 { dot / lengths } else { 0.0 }
}

/// FNV-1a: the same everywhere and always, which a cache on disk needs.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Vectors by hand; counts the texts it is asked for.
    struct Table(AtomicUsize);

    impl Vectors for Table {
        fn maker(&self) -> &str {
            "table"
        }

        fn vectors(&self, texts: &[String]) -> Option<Vec<Vec<f32>>> {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
            Some(
                texts
                    .iter()
                    .map(|t| match t.as_str() {
                        "floor lamp" => vec![1.0, 0.0, 0.0],
                        "sofa" => vec![0.0, 1.0, 0.0],
                        "armchair" => vec![0.0, 0.95, 0.3],
                        "lantern" => vec![0.9, 0.1, 0.0],
                        "seat" => vec![0.0, 1.0, 0.15],
                        _ => vec![0.0, 0.0, 1.0],
                    })
                    .collect(),
            )
        }
    }

    fn names() -> Vec<Name> {
        ["Floor Lamp", "Sofa", "Armchair"].map(Name::from).to_vec()
    }

    #[test]
    fn one_near_name_is_clear_two_are_a_tie_and_far_ones_are_none() {
        let nearness = Nearness::new(Arc::new(Table(AtomicUsize::new(0))));
        assert_eq!(nearness.clear("lantern", &names()).as_deref(), Some("Floor Lamp"));
        assert_eq!(nearness.clear("seat", &names()), None);
        assert_eq!(nearness.rank("seat", &names()).len(), 2);
        assert!(nearness.rank("unicorn", &names()).iter().all(|n| n.0.as_ref() == "Armchair" || n.1 > 0.45));
    }

    #[test]
    fn vectors_of_names_are_asked_for_once_and_kept_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let first = Arc::new(Table(AtomicUsize::new(0)));
        let _ = Nearness::new(first.clone()).cached(folder.path()).rank("lantern", &names());
        assert_eq!(first.0.load(Ordering::Relaxed), 4);
        let second = Arc::new(Table(AtomicUsize::new(0)));
        let again = Nearness::new(second.clone()).cached(folder.path());
        assert_eq!(again.clear("lantern", &names()).as_deref(), Some("Floor Lamp"));
        let _ = again.rank("lantern", &names());
        assert_eq!(second.0.load(Ordering::Relaxed), 1, "only the phrase is new");
    }

    #[test]
    fn a_spoilt_file_is_computed_again() {
        let folder = tempfile::tempdir().unwrap();
        let nearness = Nearness::new(Arc::new(Table(AtomicUsize::new(0)))).cached(folder.path());
        let _ = nearness.rank("lantern", &names());
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            std::fs::write(file.path(), b"nonsense").unwrap();
        }
        let table = Arc::new(Table(AtomicUsize::new(0)));
        assert_eq!(Nearness::new(table.clone()).cached(folder.path()).clear("lantern", &names()).as_deref(), Some("Floor Lamp"));
        assert_eq!(table.0.load(Ordering::Relaxed), 4);
    }
}
