//! The 24 flows of STAR, built in or from a folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::StarError;
use crate::diag::{Severity, Source};
use crate::domain::{Domain, Files};
use crate::ir::graph::{Flow, Node, NodeKind};
use crate::lang::chief;
use crate::understand::flow::Ear;
use crate::understand::question::ByWords;

/// Flow files: name and text.
pub fn sources(dir: Option<&Path>) -> Result<Vec<Source>, StarError> {
    let Some(dir) = dir else {
        let files = Files::built_in();
        return Ok(chief::names(&files).iter().filter_map(|name| chief::named(&files, name)).collect());
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

/// A task of the data set: its flow as the turn takes it.
pub struct Task {
    /// The flow as a domain.
    pub domain: Domain,
    /// Its listener.
    pub ear: Arc<Ear>,
    flow: Flow,
}

impl Task {
    /// The flow.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The task's function.
    pub fn function(&self) -> Option<&str> {
        self.flow.nodes.iter().find_map(Node::calls)
    }

    /// The variant of a call, from the inputs that its nodes give it: `check`, `book` or nothing in particular.
    pub fn variant<'a>(&self, input: impl Fn(&str) -> Option<&'a str>) -> String {
        let given = self.flow.nodes.iter().filter_map(|n| if let NodeKind::Call { with, .. } = &n.kind { Some(with) } else { None });
        given.flat_map(|w| w.keys()).find_map(|k| input(k)).unwrap_or_default().to_lowercase()
    }

    /// The variant of a node's call.
    pub fn variant_of(&self, id: i32) -> String {
        match self.flow.node(id).map(|n| &n.kind) {
            Some(NodeKind::Call { with, .. }) => self.variant(|k| with.get(k).map(String::as_str)),
            _ => String::new(),
        }
    }

    /// The node that makes a call of a variant, or else the first that calls.
    pub fn node(&self, variant: &str) -> Option<i32> {
        let calls = || self.flow.nodes.iter().filter(|n| n.calls().is_some()).map(|n| n.id);
        calls().find(|id| self.variant_of(*id) == variant).or_else(|| calls().next())
    }

    /// The inputs that tell a variant.
    pub fn with(&self, variant: &str) -> BTreeMap<String, serde_json::Value> {
        let node = self.node(variant).filter(|id| self.variant_of(*id) == variant).and_then(|id| self.flow.node(id));
        match node.map(|n| &n.kind) {
            Some(NodeKind::Call { with, .. }) => with.iter().map(|(k, v)| (k.clone(), v.as_str().into())).collect(),
            _ => BTreeMap::new(),
        }
    }
}

/// Flows by task, ready to run.
pub fn load(dir: Option<&Path>) -> Result<BTreeMap<String, Task>, StarError> {
    let mut out = BTreeMap::new();
    for s in sources(dir)? {
        let (program, found) = chief::read(&s);
        let Some(program) = program else {
            return Err(StarError::Author(found.into_iter().filter(|d| d.severity == Severity::Error).collect()));
        };
        let domain = chief::domain::domain(&program, &Files::built_in()).map_err(StarError::Author)?;
        let (Some(ear), Some(flow)) = (domain.ear(Arc::new(ByWords)), program.graph().cloned()) else { continue };
        out.insert(program.name, Task { domain, ear: Arc::new(ear), flow });
    }
    Ok(out)
}
