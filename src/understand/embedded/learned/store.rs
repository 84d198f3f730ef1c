//! The file of a learned model: one line of text, a version and the bytes in base 64.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;

use super::network::Network;
use super::trust::Trust;
use super::weights::{Weights, count, taken};
use super::{Learned, RoleModel};

const VERSION: &str = "duologue-model-5";

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
            texts(&mut bytes, model.kinds.iter().map(String::as_str));
            model.network.write(&mut bytes);
            for weights in [&model.trust.reading, &model.trust.act] {
                weights.write(&mut bytes);
            }
        }
        format!("{VERSION}\n{}\n", BASE64.encode(&bytes))
    }

    /// Reads a model's file; `None` if it is of another version or damaged.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != VERSION {
            return None;
        }
        let bytes = BASE64.decode(lines.next()?).ok()?;
        let mut rest = bytes.as_slice();
        let mut out = Self { source: u64::from_le_bytes(taken(&mut rest)?), roles: BTreeMap::new() };
        for _ in 0..count(&mut rest)? {
            let role = read_texts(&mut rest)?.pop()?;
            let labels = read_texts(&mut rest)?;
            let acts = read_texts(&mut rest)?;
            let (mention, act) = (Weights::take(&mut rest)?, Weights::take(&mut rest)?);
            let (kinds, network) = (read_texts(&mut rest)?, Network::take(&mut rest)?);
            let trust = Trust { reading: Weights::take(&mut rest)?, act: Weights::take(&mut rest)? };
            let model = RoleModel { labels, acts, mention, act, kinds, network, trust };
            out.roles.insert(role.as_str().into(), model);
        }
        rest.is_empty().then_some(out)
    }
}

fn put(out: &mut Vec<u8>, n: usize) {
    out.extend(u32::try_from(n).unwrap_or(0).to_le_bytes());
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
    for _ in 0..count(bytes)? {
        let n = count(bytes)?;
        let (text, rest) = bytes.split_at_checked(n)?;
        out.push(String::from_utf8(text.to_vec()).ok()?);
        *bytes = rest;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

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
