//! What belongs to a program: the folder it stands in, its Python files, its documents.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::archive;
use super::error::{Findings, nearest};
use super::names::Callable;
use super::parse::Word;
use super::python;
use super::syntax::Document;
use crate::diag::{Diagnostic, Origin, Source};

/// A program with the folder it stands in.
#[derive(Clone, Debug)]
pub struct Project {
    /// The program's text, under the name of its file.
    pub source: Source,
    /// The folder, absolute.
    pub folder: PathBuf,
    /// The folder that MICA's server would run in, if paths are to be taken as it takes them.
    pub mica_root: Option<PathBuf>,
}

/// The Python files of a program.
#[derive(Debug, Default)]
pub struct Found {
    /// Their texts, under their names in the project.
    pub files: Vec<Source>,
    /// What they define.
    pub functions: Vec<Callable>,
    /// All of them could be read.
    pub complete: bool,
}

/// Finds the program of a path: the file, or the one of the folder.
pub fn open(path: &Path) -> Result<Project, Diagnostic> {
    let shown = path.display().to_string();
    let at = |name: &str| Origin { file: name.into(), start: 0, end: 0, line: 1, column: 1 };
    let wrong = |code, message: String, help: String| Diagnostic { path: Some(String::new()), ..Diagnostic::error(code, at(&shown), message).help(help) };
    let unpacked = if path.is_file() && archive::is_zip(path) {
        let broken =
            |e: String| wrong("adl-archive", format!("`{shown}` cannot be unpacked: {e}"), "make the archive anew, of the folder of the program".to_owned());
        Some(archive::unpacked(path).map_err(broken)?)
    } else {
        None
    };
    let path = unpacked.as_deref().unwrap_or(path);
    let file = if path.is_dir() {
        let named = ["agents.yml", "agents.yaml"].iter().map(|n| path.join(n)).find(|p| p.is_file());
        let programs = programs(path);
        match (named, programs.as_slice()) {
            (Some(file), _) => file,
            (None, [one]) => path.join(one),
            (None, []) => {
                let help = "write a file `agents.yml` in it".to_owned();
                return Err(wrong("adl-no-program", format!("the folder `{shown}` holds no program"), help));
            }
            (None, several) => {
                let listed = several.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
                let help = "name the file that is meant, or call it `agents.yml`".to_owned();
                return Err(wrong("adl-several-programs", format!("the folder `{shown}` holds several programs: {listed}"), help));
            }
        }
    } else if path.is_file() {
        path.to_owned()
    } else {
        return Err(wrong("adl-no-program", format!("there is no file or folder `{shown}`"), "name a program or the folder that it stands in".to_owned()));
    };
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let bytes =
        std::fs::read(&file).map_err(|e| wrong("adl-no-program", format!("`{name}` cannot be read: {e}"), "look at the rights of the file".to_owned()))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let before = e.as_bytes().get(..e.utf8_error().valid_up_to()).map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        let origin = Source::new(&name, &before).origin(before.len()..before.len());
        let d = Diagnostic::error("adl-not-utf8", origin, format!("`{name}` is no UTF-8 from here on")).help("save the file as UTF-8");
        Diagnostic { path: Some(String::new()), ..d }
    })?;
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Ok(Project { source: Source::new(&name, &text), folder, mica_root: None })
}

/// The YAML files of a folder that may be programs.
fn programs(folder: &Path) -> Vec<String> {
    let mut names = entries(folder);
    names.retain(|n| (n.ends_with(".yml") || n.ends_with(".yaml")) && !matches!(n.as_str(), "config.yml" | "config.yaml") && !n.starts_with('.'));
    names
}

/// The names of what a folder holds, sorted.
fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).map(|d| d.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect()).unwrap_or_default();
    names.sort();
    names
}

/// Where a path of a program leads.
pub enum Place {
    /// To this file or folder of the project.
    Inside(PathBuf),
    /// Into the project, but only from a folder above it.
    FromAbove(PathBuf),
    /// Out of the project.
    Outside,
    /// Nowhere.
    Missing,
}

impl Project {
    /// Where a relative path leads.
    pub fn place(&self, path: &str) -> Place {
        let given = Path::new(path.trim());
        let inside = |p: PathBuf| p.canonicalize().ok().filter(|p| p.starts_with(&self.folder));
        if let Some(found) = inside(self.folder.join(given)) {
            return Place::Inside(found);
        }
        let served = self.mica_root.as_ref().and_then(|root| root.join(given).canonicalize().ok().filter(|p| p.starts_with(root)));
        if let Some(found) = served {
            return Place::Inside(found);
        }
        let mut above = self.folder.as_path();
        while let Some(parent) = above.parent() {
            above = parent;
            if let Some(found) = inside(above.join(given)) {
                return Place::FromAbove(found);
            }
        }
        let leads_out = given.is_absolute() || given.components().any(|c| c == Component::ParentDir) || self.folder.join(given).exists();
        if leads_out { Place::Outside } else { Place::Missing }
    }

    /// A path of the project as its author sees it.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// The Python files that the program names, or all that stand beside it.
    pub fn tools(&self, document: &Document, found: &mut Findings) -> Found {
        let beside: Vec<String> = entries(&self.folder).into_iter().filter(|n| n.ends_with(".py") && !n.starts_with('.')).collect();
        let mut out = Found { complete: true, ..Found::default() };
        let read = |path: &Path, out: &mut Found| -> Result<(), String> {
            let text = std::fs::read(path).map_err(|e| e.to_string()).and_then(|b| String::from_utf8(b).map_err(|_| "it is no UTF-8".to_owned()))?;
            let source = Source::new(&self.shown(path), text.trim_start_matches('\u{feff}'));
            if out.files.iter().all(|f| f.name != source.name) {
                out.functions.extend(python::functions(&source).into_iter().map(|def| Callable { file: source.name.to_string(), def }));
                out.files.push(source);
            }
            Ok(())
        };
        let Some(named) = &document.tools else {
            for name in &beside {
                if let Err(e) = read(&self.folder.join(name), &mut out) {
                    out.complete = false;
                    let at = Source::new(name, "").origin(0..0);
                    found.other(Diagnostic::error("adl-tools-file", at, format!("`{name}` cannot be read: {e}")).help("save it as UTF-8, or remove it"));
                }
            }
            return out;
        };
        for word in named {
            let tell = |found: &mut Findings, message: String, help: String| found.error("adl-tools-file", word.span.clone(), message, help);
            let result = match self.place(&word.text) {
                Place::Inside(path) if path.is_file() => {
                    read(&path, &mut out).map_err(|e| (format!("`{}` cannot be read: {e}", word.text), "save it as UTF-8".to_owned()))
                }
                Place::FromAbove(path) if path.is_file() => {
                    above(word, &self.shown(&path), found);
                    read(&path, &mut out).map_err(|e| (format!("`{}` cannot be read: {e}", word.text), "save it as UTF-8".to_owned()))
                }
                Place::Inside(_) | Place::FromAbove(_) => Err((format!("`{}` is a folder", word.text), "name a Python file".to_owned())),
                Place::Outside => Err((format!("`{}` leads out of the project", word.text), "move the file into the folder of the program".to_owned())),
                Place::Missing => {
                    let help = nearest(&word.text, beside.iter().map(String::as_str), "write the file, or correct its name");
                    Err((format!("there is no file `{}`", word.text), help))
                }
            };
            if let Err((message, help)) = result {
                out.complete = false;
                tell(found, message, help);
            }
        }
        out
    }
}

/// A path that is found only from a folder above the project.
pub fn above(word: &Word, meant: &str, found: &mut Findings) {
    let message = format!("`{}` is found only from a folder above the program", word.text);
    found.warning("adl-path-from-above", word.span.clone(), message, format!("write `{meant}`"));
}

/// Whether a name ends so, whatever its case.
pub fn ends_in(path: &Path, endings: &[&str]) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|e| endings.iter().any(|x| x.eq_ignore_ascii_case(e)))
}
