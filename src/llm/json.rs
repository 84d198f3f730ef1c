//! Strict JSON: what a model sends is read without duplicate keys, deep nesting, or text around it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep a model's JSON may nest.
pub const MAX_DEPTH: usize = 12;

/// Why a text is no acceptable JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// Reads the whole of `text` as one value. A single Markdown code fence around it is taken off, nothing else.
///
/// ```
/// use duologue::llm::json::read_strict;
/// assert!(read_strict("{\"a\":[1,2]}").is_ok());
/// assert!(read_strict("```json\n{\"a\":1}\n```").is_ok());
/// assert!(read_strict("Sure! {\"a\":1}").is_err());
/// assert!(read_strict("{\"a\":1,\"a\":2}").unwrap_err().to_string().contains("duplicate"));
/// ```
pub fn read_strict(text: &str) -> Result<Value, JsonError> {
    let text = unfence(text.trim());
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Node(0).deserialize(&mut reader).map_err(told)?;
    reader.end().map_err(told)?;
    Ok(value)
}

fn told(error: serde_json::Error) -> JsonError {
    JsonError(crate::text::shorten(&error.to_string(), 200))
}

fn unfence(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|t| t.strip_suffix("```")) else {
        return text;
    };
    let inner = inner.strip_prefix("json").unwrap_or(inner);
    if inner.contains("```") { text } else { inner.trim() }
}

#[derive(Clone, Copy)]
struct Node(usize);

impl<'de> DeserializeSeed<'de> for Node {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.0 > MAX_DEPTH {
            return Err(D::Error::custom(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Value, E> {
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Value, E> {
        Ok(Value::String(v.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Node(self.0 + 1))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(Node(self.0 + 1))?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key `{}`", crate::text::shorten(&key, 40))));
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn depth_duplicates_and_rests_are_refused() {
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(read_strict(&deep).unwrap_err().to_string().contains("nested deeper"));
        for text in ["", "{", "{} {}", "{}x", "[1,]", "{\"a\":{\"b\":1,\"b\":1}}", "NaN", "1e999", "```{}``` ```{}```", "null null"] {
            assert!(read_strict(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_ends_in_a_value_or_an_error(text in any::<String>()) {
            let _ = read_strict(&text);
        }
    }
}
