//! Spellings of slots and values that the benchmark treats as one.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Values that mean "any will do" and constrain nothing.
const ANY: [&str; 6] = ["dontcare", "don't care", "dont care", "do n't care", "do not care", "not mentioned"];

/// The spelling tables, read from data.
#[derive(Debug, Deserialize)]
pub struct Spellings {
    placeholder: BTreeMap<String, Vec<String>>,
    #[serde(rename = "type")]
    kind: BTreeMap<String, String>,
    name: BTreeMap<String, String>,
    food: BTreeMap<String, String>,
    time: BTreeMap<String, String>,
    time_start: BTreeMap<String, String>,
    #[serde(skip)]
    by_slot: BTreeMap<String, String>,
}

/// Whether a value constrains nothing.
pub fn is_any(value: &str) -> bool {
    ANY.contains(&value)
}

/// The short name of a slot: lower case, no spaces, `leave` and `arrive`.
pub fn slot_name(slot: &str) -> String {
    let slot: String = slot.to_lowercase().chars().filter(|c| *c != ' ').collect();
    match slot.as_str() {
        "leaveat" => "leave".to_owned(),
        "arriveby" => "arrive".to_owned(),
        _ => slot,
    }
}

/// Minutes after midnight; what is no time counts as midnight, as the benchmark has it.
pub fn minutes(time: &str) -> i32 {
    crate::text::minutes(time).unwrap_or(0)
}

impl Spellings {
    /// Reads the tables.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let mut s: Self = serde_json::from_str(json)?;
        s.by_slot = s.placeholder.iter().flat_map(|(p, slots)| slots.iter().map(move |x| (x.clone(), p.clone()))).collect();
        Ok(s)
    }

    /// The placeholder a slot is scored as; empty when unknown.
    pub fn placeholder(&self, slot: &str) -> &str {
        self.by_slot.get(&slot.to_lowercase()).map_or("", String::as_str)
    }

    /// The canonical form of a slot's value.
    pub fn value(&self, slot: &str, value: &str) -> String {
        match slot {
            "name" | "destination" | "departure" => {
                let v = value.trim().to_lowercase().replace(" & ", " and ").replace('&', " and ").replace(" '", "'");
                self.name.get(&v).cloned().unwrap_or(v)
            }
            "type" => self.kind.get(value).cloned().unwrap_or_else(|| value.to_owned()),
            "food" => {
                let v = value.trim().to_lowercase();
                self.food.get(&v).cloned().unwrap_or(v)
            }
            "arrive" | "leave" | "arriveby" | "leaveat" | "time" => self.time(value),
            "parking" | "internet" if value == "free" => "yes".to_owned(),
            _ => value.to_owned(),
        }
    }

    fn time(&self, text: &str) -> String {
        let mut t = text.trim().to_lowercase();
        if let Some(v) = self.time.get(&t) {
            return v.clone();
        }
        if let Some((_, v)) = self.time_start.iter().find(|(p, _)| t.starts_with(p.as_str())) {
            return v.clone();
        }
        if t.starts_with("by") {
            t = t.chars().skip(3).collect();
        }
        for word in ["after", "afer"] {
            if let Some(rest) = t.strip_prefix(word) {
                t = rest.trim().to_owned();
            }
        }
        for half in ["am", "a.m."] {
            if let Some(rest) = t.strip_suffix(half) {
                t = rest.trim().to_owned();
            }
        }
        if let Some(rest) = t.strip_suffix("pm").or_else(|| t.strip_suffix("p.m.")) {
            t = rest.trim().to_owned();
            let (hour, rest) = t.split_once(':').map_or((t.as_str(), "00"), |(h, m)| (h, m));
            if let Ok(h) = hour.trim().parse::<u32>() {
                return format!("{}:{rest}", h + 12);
            }
        }
        if t.is_empty() {
            return "00:00".to_owned();
        }
        if let Some(rest) = t.strip_suffix(['.', ',', '?']) {
            t = rest.to_owned();
        }
        if !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()) {
            return if let (4, Some((h, m))) = (t.len(), t.split_at_checked(2)) { format!("{h}:{m}") } else { format!("{t:0>2}:00") };
        }
        if t.contains(':') {
            t.retain(|c| c != ' ');
        }
        match t.split_once(':') {
            Some((h, m)) if h.len() == 1 && t.len() == 4 => format!("0{h}:{m}"),
            _ => t,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings() -> Spellings {
        Spellings::parse(include_str!("spellings.json")).unwrap()
    }

    #[test]
    fn times_come_in_many_spellings() {
        let s = spellings();
        for (said, meant) in [
            ("5pm", "17:00"),
            ("3:15 pm", "15:15"),
            ("9:30", "09:30"),
            ("after 17:15", "17:15"),
            ("1345", "13:45"),
            ("9", "09:00"),
            ("17 : 15", "17:15"),
            ("noon", "12:00"),
        ] {
            assert_eq!(s.value("leave", said), meant, "{said}");
        }
        assert_eq!(minutes("17:15"), 17 * 60 + 15);
        assert_eq!(minutes("soon"), 0);
    }

    #[test]
    fn names_and_placeholders_are_canonical() {
        let s = spellings();
        assert_eq!(s.value("name", "Cafe Uno"), "caffe uno");
        assert_eq!(s.value("internet", "free"), "yes");
        assert_eq!(s.placeholder("restaurant_name"), "NAME");
        assert_eq!(s.placeholder("no such slot"), "");
    }
}
