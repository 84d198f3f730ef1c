//! Every snippet of the README and of the pages in docs/ that says `sh` is run as it stands.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::path::Path;
use std::process::Command;

fn snippets(text: &str) -> Vec<String> {
    let mut out = vec![];
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("```sh\n") {
        let (snippet, after) = after.split_once("```").unwrap_or((after, ""));
        out.push(snippet.to_owned());
        rest = after;
    }
    out
}

#[test]
fn every_shell_snippet_works() {
    let bin = Path::new(env!("CARGO_BIN_EXE_duologue")).parent().unwrap().to_owned();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    pages.extend(std::fs::read_dir(root.join("docs")).unwrap().flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "md")));
    // What a snippet writes is left in a folder of its own, in which the tree's files stand as links.
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(root).unwrap().flatten() {
        std::os::unix::fs::symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let mut run = 0;
    for page in pages {
        for snippet in snippets(&std::fs::read_to_string(&page).unwrap()) {
            let output = Command::new("bash").args(["-euo", "pipefail", "-c", &snippet]).env("PATH", &path).current_dir(folder.path()).output().unwrap();
            let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{}:\n{snippet}\n{text}", page.display());
            run += 1;
        }
    }
    assert!(run >= 4, "the README has snippets");
}

#[test]
fn the_files_that_the_readme_names_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let named: Vec<&str> = readme.split('`').filter(|w| w.ends_with(".rs") && w.contains('/')).collect();
    assert!(!named.is_empty());
    for name in named {
        assert!(root.join(name).exists(), "{name}");
    }
}
