//! Vectors from a local folder: one vector per word piece, a text is the mean of its pieces (static embeddings, as model2vec makes).
//!
//! The folder holds `model.safetensors` with one table (`embeddings`, or the only one, 32 or 16 bit) and `tokenizer.json` with a
//! WordPiece vocabulary. Both formats are read here: a header in JSON and raw numbers, a map and the longest match.

use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::nearness::Vectors;

/// Why a folder holds no usable vectors.
#[derive(Debug, thiserror::Error)]
pub enum StaticError {
    /// A file cannot be read.
    #[error("`{0}` cannot be read: {1}")]
    File(String, std::io::Error),
    /// A file is not of its format.
    #[error("`{0}` is not usable: {1}")]
    Format(String, String),
}

/// The vectors of a folder.
#[derive(Debug)]
pub struct StaticVectors {
    maker: String,
    width: usize,
    table: Vec<f32>,
    vocabulary: FxHashMap<String, usize>,
    prefix: String,
    lowercase: bool,
}

#[derive(Deserialize)]
struct TensorInfo {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

#[derive(Deserialize)]
struct Tokenizer {
    model: Pieces,
    #[serde(default)]
    normalizer: Option<Normalizer>,
}

#[derive(Deserialize)]
struct Pieces {
    #[serde(rename = "type", default)]
    kind: String,
    vocab: serde_json::Value,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(default)]
    lowercase: Option<bool>,
}

impl StaticVectors {
    /// Reads a folder.
    pub fn load(folder: &Path) -> Result<Self, StaticError> {
        let read = |name: &str| std::fs::read(folder.join(name)).map_err(|e| StaticError::File(folder.join(name).display().to_string(), e));
        let (weights, pieces) = (read("model.safetensors")?, read("tokenizer.json")?);
        let wrong = |name: &str, why: String| StaticError::Format(folder.join(name).display().to_string(), why);
        let tokenizer: Tokenizer = serde_json::from_slice(&pieces).map_err(|e| wrong("tokenizer.json", e.to_string()))?;
        let vocab = match (&tokenizer.model.vocab, tokenizer.model.kind.as_str()) {
            (serde_json::Value::Object(map), "WordPiece" | "") => map,
            (_, other) => return Err(wrong("tokenizer.json", format!("its pieces are `{other}`, only WordPiece is read"))),
        };
        let vocabulary: FxHashMap<String, usize> = vocab.iter().filter_map(|(piece, id)| Some((piece.clone(), usize::try_from(id.as_u64()?).ok()?))).collect();
        let (width, table) = table(&weights).map_err(|why| wrong("model.safetensors", why))?;
        let maker = format!("static {}x{width} {}", vocabulary.len(), folder.file_name().map(|n| n.to_string_lossy()).unwrap_or_default());
        let prefix = tokenizer.model.continuing_subword_prefix.unwrap_or_else(|| "##".to_owned());
        let lowercase = tokenizer.normalizer.and_then(|n| n.lowercase).unwrap_or(true);
        Ok(Self { maker, width, table, vocabulary, prefix, lowercase })
    }

    /// The pieces of a text: words and marks apart, each cut into the longest known pieces; a word that cannot be cut is left out.
    fn pieces(&self, text: &str) -> Vec<usize> {
        let text = if self.lowercase { text.to_lowercase() } else { text.to_owned() };
        let mut words: Vec<String> = vec![String::new()];
        for c in text.chars() {
            match (c.is_alphanumeric(), words.last_mut()) {
                (true, Some(word)) => word.push(c),
                _ if c.is_whitespace() => words.push(String::new()),
                _ => words.extend([c.to_string(), String::new()]),
            }
        }
        words.iter().filter(|w| !w.is_empty()).flat_map(|w| self.cut(w).unwrap_or_default()).collect()
    }

    fn cut(&self, word: &str) -> Option<Vec<usize>> {
        let mut out = vec![];
        let mut start = 0;
        while start < word.len() {
            let rest = word.get(start..)?;
            let ends = rest.char_indices().map(|(i, c)| i + c.len_utf8()).rev();
            let found = ends.filter_map(|end| Some((end, rest.get(..end)?))).find_map(|(end, piece)| {
                let id = if start == 0 { self.vocabulary.get(piece) } else { self.vocabulary.get(&format!("{}{piece}", self.prefix)) };
                id.map(|id| (end, *id))
            });
            let (end, id) = found?;
            out.push(id);
            start += end;
        }
        Some(out)
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0f32; self.width];
        let rows = self.pieces(text).into_iter().filter_map(|id| self.table.get(id.checked_mul(self.width)?..(id + 1).checked_mul(self.width)?));
        for row in rows {
            sum.iter_mut().zip(row).for_each(|(s, x)| *s += x);
        }
        sum
    }
}

impl Vectors for StaticVectors {
    fn maker(&self) -> &str {
        &self.maker
    }

    /// The sum has the direction of the mean, and only directions are compared.
    fn vectors(&self, texts: &[String]) -> Option<Vec<Vec<f32>>> {
        Some(texts.iter().map(|t| self.vector(t)).collect())
    }
}

/// The table of a safetensors file: the length of its header, the header, the numbers.
fn table(bytes: &[u8]) -> Result<(usize, Vec<f32>), String> {
    let short = || "it ends too early".to_owned();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|e| e.to_string())?;
    let header = rest.get(..length).ok_or_else(short)?;
    let data = rest.get(length..).ok_or_else(short)?;
    let entries: std::collections::BTreeMap<String, serde_json::Value> = serde_json::from_slice(header).map_err(|e| e.to_string())?;
    let tables: Vec<(String, TensorInfo)> = entries
        .into_iter()
        .filter(|(name, _)| name != "__metadata__")
        .filter_map(|(name, v)| Some((name, serde_json::from_value::<TensorInfo>(v).ok()?)))
        .filter(|(_, t)| t.shape.len() == 2)
        .collect();
    let chosen = tables.iter().find(|(name, _)| name == "embeddings").or(if tables.len() == 1 { tables.first() } else { None });
    let (_, info) = chosen.ok_or_else(|| format!("it has {} tables and none is called `embeddings`", tables.len()))?;
    let numbers = data.get(info.data_offsets.0..info.data_offsets.1).ok_or_else(short)?;
    let values: Vec<f32> = match info.dtype.as_str() {
        "F32" => numbers.chunks_exact(4).filter_map(|c| Some(f32::from_le_bytes(c.try_into().ok()?))).collect(),
        "F16" => numbers.chunks_exact(2).filter_map(|c| Some(half(u16::from_le_bytes(c.try_into().ok()?)))).collect(),
        other => return Err(format!("its numbers are {other}, F32 and F16 are read")),
    };
    let [rows, width] = info.shape.as_slice() else { return Err(short()) };
    if *width == 0 || rows.checked_mul(*width) != Some(values.len()) {
        return Err(format!("{} numbers are no table of {rows} by {width}", values.len()));
    }
    Ok((*width, values))
}

/// A number of 16 bits as one of 32.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15), i32::from((bits >> 10) & 0x1f), f32::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 => return if fraction == 0.0 { f32::INFINITY } else { f32::NAN },
        e => (1.0 + fraction / 1024.0) * 2f32.powi(e - 15),
    };
    if sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with three pieces in two dimensions.
    fn folder(dtype: &str, numbers: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let header = format!("{{\"__metadata__\":{{}},\"embeddings\":{{\"dtype\":\"{dtype}\",\"shape\":[3,2],\"data_offsets\":[0,{}]}}}}", numbers.len());
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(numbers);
        std::fs::write(folder.path().join("model.safetensors"), bytes).unwrap();
        let tokenizer = r###"{"normalizer":{"type":"BertNormalizer","lowercase":true},"model":{"type":"WordPiece","vocab":{"lamp":0,"light":1,"##s":2}}}"###;
        std::fs::write(folder.path().join("tokenizer.json"), tokenizer).unwrap();
        folder
    }

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    #[test]
    fn a_text_is_the_sum_of_its_pieces() {
        let folder = folder("F32", &f32s(&[1.0, 0.0, 0.0, 1.0, 0.5, 0.5]));
        let vectors = StaticVectors::load(folder.path()).unwrap();
        let got = vectors.vectors(&["Lamps".to_owned(), "light, lamp".to_owned(), "xyz".to_owned()]).unwrap();
        assert_eq!(got, [vec![1.5, 0.5], vec![1.0, 1.0], vec![0.0, 0.0]]);
    }

    #[test]
    fn halves_are_read() {
        let bits: Vec<u8> = [0x3c00u16, 0, 0xc000, 0x3800, 0x0001, 0].iter().flat_map(|b| b.to_le_bytes()).collect();
        let folder = folder("F16", &bits);
        let vectors = StaticVectors::load(folder.path()).unwrap();
        assert_eq!(vectors.vectors(&["light".to_owned()]).unwrap(), [vec![-2.0, 0.5]]);
    }

    #[test]
    fn what_is_no_model_is_refused_with_its_reason() {
        let folder = folder("F64", &f32s(&[0.0; 6]));
        assert!(StaticVectors::load(folder.path()).unwrap_err().to_string().contains("F64"));
        std::fs::write(folder.path().join("model.safetensors"), b"short").unwrap();
        assert!(StaticVectors::load(folder.path()).unwrap_err().to_string().contains("too early"));
        assert!(StaticVectors::load(&folder.path().join("nowhere")).is_err());
    }
}
