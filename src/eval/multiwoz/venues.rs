//! The venue tables: which entries fit a domain's constraints.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::MultiwozError;
use super::convention::{Convention, Table};
use super::fuzzy::partial_ratio;
use super::values::{Spellings, is_any, minutes, slot_name};

/// How similar a name has to be.
const SIMILAR: u32 = 90;

/// Slot and value of one domain.
pub type Slots = BTreeMap<String, String>;

/// One entry of a table.
#[derive(Debug, Clone)]
pub struct Venue {
    /// What identifies it.
    pub id: String,
    /// Its columns by short slot name.
    pub columns: BTreeMap<String, String>,
}

/// A domain and the constraints that count.
type Question = (String, Vec<(String, String)>);

/// Places of entries in their table.
pub type Found = Arc<Vec<u32>>;

/// The tables of all domains that have one.
#[derive(Debug)]
pub struct Venues {
    tables: BTreeMap<String, Vec<Venue>>,
    spellings: Arc<Spellings>,
    convention: Arc<Convention>,
    similar: RefCell<HashMap<(String, String), bool>>,
    asked: RefCell<HashMap<Question, Found>>,
}

impl Venues {
    /// Reads `db/*.json` of a data directory.
    pub fn read(data: &Path, spellings: &Arc<Spellings>, convention: &Arc<Convention>) -> Result<Self, MultiwozError> {
        let mut tables = BTreeMap::new();
        for (domain, table) in &convention.tables {
            let file = data.join("db").join(format!("{domain}_db.json"));
            let entries: Vec<BTreeMap<String, Value>> = super::data::json(&file)?;
            tables.insert(domain.clone(), entries.iter().map(|e| venue(table, e)).collect());
        }
        Ok(Self { tables, spellings: spellings.clone(), convention: convention.clone(), similar: RefCell::default(), asked: RefCell::default() })
    }

    /// The entries of a domain.
    pub fn table(&self, domain: &str) -> &[Venue] {
        self.tables.get(domain).map_or(&[], Vec::as_slice)
    }

    /// The benchmark's conventions.
    pub fn convention(&self) -> &Convention {
        &self.convention
    }

    /// The entries that fit the constraints, in table order; slots without a column constrain nothing.
    pub fn query(&self, domain: &str, constraints: &Slots) -> Found {
        let wanted: Vec<(String, String)> =
            constraints.iter().filter(|(k, v)| !is_any(v) && self.constrains(domain, k)).map(|(k, v)| (k.clone(), self.spellings.value(k, v))).collect();
        let key = (domain.to_owned(), wanted);
        if let Some(found) = self.asked.borrow().get(&key) {
            return found.clone();
        }
        let fits = |v: &Venue| key.1.iter().all(|(slot, value)| self.fits(domain, v, slot, value));
        let found: Found = Arc::new((0_u32..).zip(self.table(domain)).filter(|(_, v)| fits(v)).map(|(n, _)| n).collect());
        self.asked.borrow_mut().insert(key, found.clone());
        found
    }

    fn constrains(&self, domain: &str, slot: &str) -> bool {
        !self.convention.no_constraint.iter().any(|c| c == slot) && self.table(domain).first().is_some_and(|v| v.columns.contains_key(slot))
    }

    fn fits(&self, domain: &str, venue: &Venue, slot: &str, value: &str) -> bool {
        let Some(has) = venue.columns.get(slot) else { return true };
        if has == "?" {
            return true;
        }
        match slot {
            "arrive" => minutes(has) <= minutes(value),
            "leave" => minutes(has) >= minutes(value),
            _ if self.convention.tables.get(domain).is_some_and(|t| t.similar.iter().any(|c| c == slot)) => self.similar(has, value),
            _ => has == value,
        }
    }

    fn similar(&self, has: &str, value: &str) -> bool {
        let key = (has.to_owned(), value.to_owned());
        if let Some(known) = self.similar.borrow().get(&key) {
            return *known;
        }
        let similar = partial_ratio(has, value) >= SIMILAR;
        self.similar.borrow_mut().insert(key, similar);
        similar
    }
}

fn venue(table: &Table, entry: &BTreeMap<String, Value>) -> Venue {
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let columns: BTreeMap<String, String> = entry.iter().filter(|(_, v)| !v.is_array() && !v.is_object()).map(|(k, v)| (slot_name(k), text(v))).collect();
    let id = columns.get(&table.id).cloned().unwrap_or_default();
    Venue { id, columns }
}
