//! The file of a learned model: one line of text, a version and the bytes in base 64.

use std::collections::BTreeMap;

use super::weights::Weights;
use super::{Learned, RoleModel};

const VERSION: &str = "duologue-model-1";
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Learned {
    /// The text of the model's file.
    pub fn to_text(&self) -> String {
        let mut bytes = vec![];
        bytes.extend(self.source.to_le_bytes());
        put(&mut bytes, self.roles.len());
        for (role, model) in &self.roles {
            texts(&mut bytes, std::iter::once(&**role));
            texts(&mut bytes, model.labels.iter().map(String::as_str));
            texts(&mut bytes, model.acts.iter().map(String::as_str));
            model.mention.write(&mut bytes);
            model.act.write(&mut bytes);
        }
        format!("{VERSION}\n{}\n", encode(&bytes))
    }

    /// Reads a model's file; `None` if it is of another version or damaged.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != VERSION {
            return None;
        }
        let bytes = decode(lines.next()?.as_bytes())?;
        let mut rest = bytes.as_slice();
        let (source, after) = rest.split_first_chunk::<8>()?;
        let mut out = Self { source: u64::from_le_bytes(*source), roles: BTreeMap::new() };
        rest = after;
        for _ in 0..get(&mut rest)? {
            let role = read_texts(&mut rest)?.pop()?;
            let labels = read_texts(&mut rest)?;
            let acts = read_texts(&mut rest)?;
            let model = RoleModel { labels, acts, mention: Weights::take(&mut rest)?, act: Weights::take(&mut rest)? };
            out.roles.insert(role.as_str().into(), model);
        }
        rest.is_empty().then_some(out)
    }
}

fn put(out: &mut Vec<u8>, n: usize) {
    out.extend(u32::try_from(n).unwrap_or(0).to_le_bytes());
}

fn get(bytes: &mut &[u8]) -> Option<usize> {
    let (n, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    usize::try_from(u32::from_le_bytes(*n)).ok()
}

fn texts<'t>(out: &mut Vec<u8>, list: impl Iterator<Item = &'t str> + Clone) {
    put(out, list.clone().count());
    for t in list {
        put(out, t.len());
        out.extend(t.bytes());
    }
}

fn read_texts(bytes: &mut &[u8]) -> Option<Vec<String>> {
    let mut out = vec![];
    for _ in 0..get(bytes)? {
        let n = get(bytes)?;
        let (text, rest) = bytes.split_at_checked(n)?;
        out.push(String::from_utf8(text.to_vec()).ok()?);
        *bytes = rest;
    }
    Some(out)
}

fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for chunk in bytes.chunks(3) {
        let mut bits = 0u32;
        for k in 0..3 {
            bits = bits << 8 | u32::from(chunk.get(k).copied().unwrap_or(0));
        }
        for k in 0..=chunk.len() {
            let digit = (bits >> (18 - 6 * k)) & 63;
            out.push(DIGITS.get(digit as usize).map_or('A', |d| char::from(*d)));
        }
    }
    out
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut value = [255u8; 256];
    for (i, d) in DIGITS.iter().enumerate() {
        *value.get_mut(usize::from(*d))? = u8::try_from(i).ok()?;
    }
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.chunks(4) {
        let mut bits = 0u32;
        for k in 0..4 {
            let digit = chunk.get(k).map_or(Some(0), |c| value.get(usize::from(*c)).copied().filter(|v| *v < 64))?;
            bits = bits << 6 | u32::from(digit);
        }
        for k in 0..chunk.len().checked_sub(1)? {
            out.push(u8::try_from((bits >> (16 - 8 * k)) & 255).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_base_64() {
        for n in 0..20u8 {
            let bytes: Vec<u8> = (0..n).map(|i| i.wrapping_mul(37)).collect();
            assert_eq!(decode(encode(&bytes).as_bytes()), Some(bytes));
        }
        assert_eq!(decode(b"??"), None);
    }

    #[test]
    fn a_model_survives_its_file_and_a_damaged_file_is_none() {
        let role = RoleModel { labels: vec!["none".into(), "f($a)".into()], acts: vec!["g".into()], ..RoleModel::default() };
        let model = Learned { source: 7, roles: BTreeMap::from([("r".into(), role)]) };
        let text = model.to_text();
        assert_eq!(Learned::from_text(&text), Some(model));
        assert_eq!(Learned::from_text(&text[..text.len() / 2]), None);
        assert_eq!(Learned::from_text("other"), None);
    }
}
