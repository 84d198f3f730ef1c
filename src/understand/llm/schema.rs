//! JSON Schema of a reply, generated from a role's forms: closed wherever the ontology is closed.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::forms::{Field, Forms, Kind, spans};
use super::names::Names;

/// Most enumerated strings in one schema; providers refuse larger ones, and a name list beyond it becomes a checked string.
const MAX_ENUM: usize = 900;

/// The schema of a reply in the short notation, for servers that bill a schema or keep it: short, and the same for every turn. The reader
/// checks what stands in the lines.
pub fn short() -> Value {
    object([("predicates".to_owned(), json!({"type": "array", "items": {"type": "string"}}))])
}

/// The schema for one role and utterance.
pub fn schema(forms: &Forms, names: &Names, utterance: &str, most: usize) -> Value {
    let said = match spans(utterance) {
        Some(list) if !list.is_empty() => json!({"type": "string", "enum": list}),
        _ => json!({"type": "string", "maxLength": 60}),
    };
    let enumerate = forms.kinds.values().map(|k| k.constants.len() + names.of_facts(&k.facts).len()).sum::<usize>() <= MAX_ENUM;
    let mut definitions: BTreeMap<String, Value> = forms.kinds.iter().map(|(sort, kind)| (sort.to_string(), value(kind, names, enumerate))).collect();
    if forms.kinds.values().any(Kind::own_words) {
        definitions.insert("OWN_WORDS".into(), object([("said".to_owned(), said)]));
    }
    // Forms with the same arguments are one alternative: what is billed is the length.
    let mut alike: Vec<(&[Field], Vec<&str>)> = vec![];
    for form in &forms.forms {
        match alike.iter_mut().find(|(fields, _)| *fields == form.fields.as_slice()) {
            Some((_, texts)) => texts.push(&form.text),
            None => alike.push((&form.fields, vec![&form.text])),
        }
    }
    let item = |(fields, texts): (&[Field], Vec<&str>)| {
        let head = ("form".to_owned(), json!({"type": "string", "enum": texts}));
        object(std::iter::once(head).chain(fields.iter().map(|x| (x.key.clone(), json!({"$ref": format!("#/$defs/{}", x.sort)})))))
    };
    let items: Vec<Value> = alike.into_iter().map(item).collect();
    let list = json!({"type": "array", "maxItems": most, "items": {"anyOf": items}});
    let mut root = object([("predicates".to_owned(), list)]);
    if let Some(map) = root.as_object_mut() {
        map.insert("$defs".into(), json!(definitions));
    }
    root
}

fn value(kind: &Kind, names: &Names, enumerate: bool) -> Value {
    let mut ways = Vec::new();
    let known = names.of_facts(&kind.facts);
    let mut closed: Vec<&str> = kind.constants.iter().map(|c| &**c).collect();
    if enumerate {
        closed.extend(known.iter().map(|n| &***n));
    } else if !known.is_empty() {
        ways.push(json!({"type": "string"}));
    }
    closed.sort_unstable();
    closed.dedup();
    if !closed.is_empty() {
        ways.push(json!({"type": "string", "enum": closed}));
    }
    if let Some((min, max, _)) = kind.int {
        ways.push(json!({"type": "integer", "minimum": min, "maximum": max}));
    }
    if kind.own_words() {
        ways.push(json!({"$ref": "#/$defs/OWN_WORDS"}));
    }
    match <[Value; 1]>::try_from(ways) {
        Ok([only]) => only,
        Err(ways) => json!({"anyOf": ways}),
    }
}

/// A closed object with all keys required, as strict modes demand.
pub fn object(properties: impl IntoIterator<Item = (String, Value)>) -> Value {
    let properties: Map<String, Value> = properties.into_iter().collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
