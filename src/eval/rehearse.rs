//! How a flow does on recorded dialogues of its task: what the feedback loop measures before and after a change.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;
use serde_json::Value;

use super::star::{self, Protocol, States};
use crate::diag::Source;
use crate::eval::refine::{Failed, Measure};
use crate::reason::Reasoner;

/// Recorded dialogues of one task, kept in a folder of their own while they are needed.
#[derive(Debug)]
pub struct Recorded {
    folder: PathBuf,
    task: String,
    dialogues: PathBuf,
}

#[derive(Deserialize)]
struct Predicted {
    dialogue: Value,
    event: usize,
    gold: String,
    predicted: String,
}

/// Folders of one process have different names.
static FOLDERS: AtomicU32 = AtomicU32::new(0);

impl Recorded {
    /// Takes the dialogues of a flow's task from files with one JSON object a line.
    pub fn of(flow: &Source, files: &[PathBuf]) -> Result<Self, String> {
        let value: Value = serde_json::from_str(&flow.text).map_err(|e| e.to_string())?;
        let task = ["task", "name"].iter().find_map(|k| value.get(*k)?.as_str()).ok_or("the flow has no name")?.to_owned();
        let folder = std::env::temp_dir().join(format!("duologue-rehearsal-{}-{}", std::process::id(), FOLDERS.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(folder.join("flows")).map_err(|e| e.to_string())?;
        let dialogues = folder.join("dialogues.jsonl");
        let mut kept = String::new();
        for file in files {
            let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
            for line in text.lines().filter(|l| of_task(l, &task)) {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        if kept.is_empty() {
            return Err(format!("no dialogue is about `{task}`"));
        }
        std::fs::write(&dialogues, kept).map_err(|e| e.to_string())?;
        Ok(Self { folder, task, dialogues })
    }

    /// Replays the dialogues through a flow, following after each turn what was really done.
    pub fn rehearse(&self, flow: &Source) -> Result<Measure, String> {
        let flows = self.folder.join("flows");
        std::fs::write(flows.join(format!("{}.json", self.task)), flow.text.as_bytes()).map_err(|e| e.to_string())?;
        let predictions = self.folder.join("predictions.jsonl");
        let args = star::Args {
            flows: Some(flows),
            dialogues: vec![self.dialogues.clone()],
            protocol: Protocol::P5,
            states: States::Own,
            predictions: Some(predictions.clone()),
            reasoner: Reasoner::Fast,
            rounds: 0,
            explain: false,
        };
        star::run(&args).map_err(|e| e.to_string())?;
        read(&predictions)
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn of_task(line: &str, task: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return false };
    let capabilities = value.pointer("/Scenario/WizardCapabilities").and_then(Value::as_array);
    capabilities.and_then(|c| c.first()?.get("Task")?.as_str()) == Some(task)
}

fn read(predictions: &Path) -> Result<Measure, String> {
    let text = std::fs::read_to_string(predictions).map_err(|e| e.to_string())?;
    let mut out = Measure::default();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let p: Predicted = serde_json::from_str(line).map_err(|e| e.to_string())?;
        out.total += 1;
        if p.gold == p.predicted {
            out.right += 1;
        } else {
            out.failed.push(Failed { dialogue: p.dialogue.to_string(), turn: p.event, wanted: p.gold, done: p.predicted });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::refine::{Patch, from_failures, weigh};

    /// Given `DUOLOGUE_STAR` (a folder with `dialogues_happy.jsonl`): a flow that was spoilt is repaired from its dialogues.
    #[test]
    fn a_spoilt_flow_is_repaired_from_recorded_dialogues() {
        let Some(dir) = std::env::var_os("DUOLOGUE_STAR").map(PathBuf::from) else { return };
        let good = Source::new("ride_change.json", include_str!("../../kb/star/flows/ride_change.json"));
        let spoil = Patch::parse(r#"{"changes": [{"do": "set_slot", "node": 1, "slot": "id", "set": {"required": false}}]}"#).unwrap();
        let bad = crate::eval::refine::apply(&good, &spoil).unwrap();
        let recorded = Recorded::of(&good, &[dir.join("dialogues_happy.jsonl")]).unwrap();
        let rehearse = |s: &Source| recorded.rehearse(s);
        let (good_measure, bad_measure) = (rehearse(&good).unwrap(), rehearse(&bad).unwrap());
        assert!(bad_measure.right < good_measure.right);
        let patch = from_failures(&bad, &rehearse).unwrap();
        let weighed = weigh(&bad, &patch, Some(&rehearse)).unwrap();
        assert_eq!(weighed.objections(), Vec::<String>::new());
        assert!(weighed.after_measure.unwrap().right >= good_measure.right, "{}", patch.to_text());
    }
}
