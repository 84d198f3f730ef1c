//! The 24 flows of STAR, built in or from a folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::StarError;
use crate::diag::{Severity, Source};
use crate::ir::facts;
use crate::ir::run::Ready;
use crate::lang::chief;

macro_rules! built_in {
    ($($task:literal),* $(,)?) => { &[$(($task, include_str!(concat!("../../../kb/star/flows/", $task, ".json")))),*] };
}

const BUILT_IN: &[(&str, &str)] = built_in![
    "apartment_schedule",
    "apartment_search",
    "bank_balance",
    "bank_fraud_report",
    "doctor_followup",
    "doctor_schedule",
    "hotel_book",
    "hotel_search",
    "hotel_service_request",
    "meeting_schedule",
    "party_plan",
    "party_rsvp",
    "plane_book",
    "plane_search",
    "restaurant_book",
    "restaurant_search",
    "ride_book",
    "ride_change",
    "ride_status",
    "spaceship_access_codes",
    "spaceship_life_support",
    "trip_directions",
    "trivia",
    "weather",
];

/// Flow files: name and text.
pub fn sources(dir: Option<&Path>) -> Result<Vec<Source>, StarError> {
    let Some(dir) = dir else {
        return Ok(BUILT_IN.iter().map(|(t, text)| Source::new(&format!("kb/star/flows/{t}.json"), text)).collect());
    };
    let dir = if dir.join("flows").is_dir() { dir.join("flows") } else { dir.to_path_buf() };
    let fail = |e: std::io::Error| StarError::Read(dir.display().to_string(), e.to_string());
    let mut files: Vec<_> =
        std::fs::read_dir(&dir).map_err(fail)?.filter_map(Result::ok).map(|e| e.path()).filter(|p| p.extension().is_some_and(|x| x == "json")).collect();
    files.sort();
    files
        .iter()
        .map(|p| {
            let text = std::fs::read_to_string(p).map_err(|e| StarError::Read(p.display().to_string(), e.to_string()))?;
            Ok(Source::new(&p.file_name().unwrap_or_default().to_string_lossy(), &text))
        })
        .collect()
}

/// Flows by task, ready to run.
pub fn load(dir: Option<&Path>) -> Result<BTreeMap<String, Arc<Ready>>, StarError> {
    let rules = facts::rules().map_err(StarError::Author)?;
    let mut out = BTreeMap::new();
    for s in sources(dir)? {
        let (flow, found) = chief::read(&s);
        let Some(flow) = flow else {
            return Err(StarError::Author(found.into_iter().filter(|d| d.severity == Severity::Error).collect()));
        };
        let name = flow.name.clone();
        out.insert(name, Arc::new(Ready::new(&rules, flow)?));
    }
    Ok(out)
}
