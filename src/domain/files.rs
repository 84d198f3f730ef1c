//! Where a domain's files come from: a folder with kb/, rules/ and prompts/, or the binary itself.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::DeflateDecoder;

/// Files by name relative to the root, such as `kb/drive_thru/ontology.yaml`. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Files {
    folder: Option<Arc<PathBuf>>,
}

/// Each packed, as the build script leaves it.
static BUILT_IN: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

impl Files {
    /// The files in the binary.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// The files of a folder; what it lacks is taken from the binary, so a folder may hold one domain only.
    pub fn folder(root: &Path) -> Self {
        Self { folder: Some(Arc::new(root.to_path_buf())) }
    }

    /// The text of a file; a file that is no UTF-8 is read with replacement characters, which its parser then reports.
    pub fn read(&self, name: &str) -> Option<String> {
        if name.split('/').any(|part| part == "..") {
            return None;
        }
        let own = self.folder.as_ref().and_then(|f| std::fs::read(f.join(name)).ok()).map(|b| String::from_utf8_lossy(&b).into_owned());
        own.or_else(|| {
            let (_, packed) = BUILT_IN.iter().find(|(n, _)| *n == name)?;
            let mut text = String::new();
            DeflateDecoder::new(*packed).read_to_string(&mut text).ok().map(|_| text)
        })
    }

    /// The names directly in a folder (`kb/drive_thru/`) that end so, sorted. A folder of one's own hides the built-in one.
    pub fn list(&self, folder: &str, ending: &str) -> Vec<String> {
        let own = self.folder.as_ref().and_then(|f| std::fs::read_dir(f.join(folder)).ok());
        let mut names: BTreeSet<String> = match own {
            Some(entries) => entries.flatten().map(|e| format!("{folder}{}", e.file_name().to_string_lossy())).collect(),
            None => BUILT_IN.iter().filter(|(n, _)| n.strip_prefix(folder).is_some_and(|rest| !rest.contains('/'))).map(|(n, _)| (*n).to_owned()).collect(),
        };
        names.retain(|n| n.ends_with(ending));
        names.into_iter().collect()
    }

    /// The domains there are: folders of kb/ with an ontology.
    pub fn domains(&self) -> Vec<String> {
        let mut names: BTreeSet<String> =
            BUILT_IN.iter().filter_map(|(n, _)| n.strip_prefix("kb/")?.strip_suffix("/ontology.yaml")).map(str::to_owned).collect();
        names.extend(self.own_domains());
        names.into_iter().collect()
    }

    /// The domains of the folder of one's own, sorted.
    pub fn own_domains(&self) -> Vec<String> {
        let Some(entries) = self.folder.as_ref().and_then(|f| std::fs::read_dir(f.join("kb")).ok()) else { return vec![] };
        let own: BTreeSet<String> =
            entries.flatten().filter(|e| e.path().join("ontology.yaml").exists()).map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        own.into_iter().collect()
    }
}
