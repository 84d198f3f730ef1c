//! An author's YAML as a type: what does not fit it is told at its place, with the keys that the file may have.

use std::cell::Cell;
use std::ops::Range;

use serde::de::value::Error as Unfit;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use super::{Diagnostic, Source, line_start};

/// Reads a file; a mistake bears the code.
pub fn read<T: DeserializeOwned>(source: &Source, code: &'static str) -> Result<T, Diagnostic> {
    serde_saphyr::from_str(&source.text).map_err(|e| {
        let at = e.location().map_or(0..0, |l| line_span(&source.text, l.line(), l.column()));
        Diagnostic::error(code, source.origin(at), e.without_snippet().to_string()).help(help(keys::<T>()))
    })
}

fn help(keys: &[&str]) -> String {
    match keys {
        [] => "the file must be YAML with a list".to_owned(),
        [one] => format!("the file must be YAML with the key {one}"),
        [first @ .., last] => format!("the file must be YAML with the keys {} and {last}", first.join(", ")),
    }
}

/// The keys of a type, as it asks for them when it is read; a list has none.
fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    let asked = Cell::new(&[][..]);
    // It is asked, not read.
    let _ = T::deserialize(Asked(&asked)).is_ok();
    asked.get()
}

/// Holds nothing, and notes which keys it is asked for.
struct Asked<'a>(&'a Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unfit> {
        Err(Unfit::custom("nothing is held"))
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Unfit> {
        self.0.set(fields);
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

/// From a place in a text to the end of its line, or of the element of a list in it.
pub fn line_span(text: &str, line: u64, column: u64) -> Range<usize> {
    let line = usize::try_from(line).unwrap_or(1).max(1);
    let column = usize::try_from(column).unwrap_or(1).max(1);
    let line_start = line_start(text, line);
    let rest = text.get(line_start..).unwrap_or("");
    let offset = rest.char_indices().nth(column - 1).map_or(0, |(i, _)| i);
    let start = line_start + offset;
    let len = text.get(start..).map_or(0, |r| r.find(['\n', ',', '}']).unwrap_or(r.len()));
    start..start + len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its keys are asked for")]
    struct Shelf {
        books: Vec<String>,
        #[serde(default, rename = "open-at")]
        open: u8,
    }

    #[test]
    fn the_keys_are_those_that_the_type_reads() {
        assert_eq!(keys::<Shelf>(), ["books", "open-at"]);
        assert_eq!(keys::<Vec<Shelf>>(), [""; 0]);
        let found = read::<Shelf>(&Source::new("shelf.yaml", "books: []\nopne: 3\n"), "T001").map(drop).unwrap_err();
        assert_eq!((found.origin.line, found.help.as_deref()), (2, Some("the file must be YAML with the keys books and open-at")));
    }
}
