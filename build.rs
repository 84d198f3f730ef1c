//! Puts the built-in domains into the binary, packed, so that it works from any folder.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> std::io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| ".".into());
    let mut files = Vec::new();
    for folder in ["kb", "rules", "prompts"] {
        println!("cargo:rerun-if-changed={folder}");
        walk(&Path::new(&root).join(folder), folder, &mut files)?;
    }
    files.sort();
    let out = env::var("OUT_DIR").unwrap_or_else(|_| ".".into());
    let packed = |n: usize| Path::new(&out).join(format!("{n}.deflate"));
    let mut table = String::from("&[\n");
    for (n, (name, path)) in files.into_iter().enumerate() {
        let mut encoder = DeflateEncoder::new(fs::File::create(packed(n))?, Compression::best());
        encoder.write_all(&fs::read(path)?)?;
        encoder.finish()?;
        let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", packed(n));
    }
    table.push_str("]\n");
    fs::write(Path::new(&out).join("files.rs"), table)
}

fn walk(folder: &Path, name: &str, files: &mut Vec<(String, String)>) -> std::io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let inner = format!("{name}/{file}");
        let path = entry.path();
        if ["examples.jsonl", "held_out"].contains(&file.as_str()) {
            // What was learned from them is in the model.
        } else if path.is_dir() {
            walk(&path, &inner, files)?;
        } else if [".lp", ".yaml", ".json", ".txt", ".j2", ".jsonl", ".md", ".jinja"].iter().any(|e| file.ends_with(e)) {
            files.push((inner, path.to_string_lossy().into_owned()));
        }
    }
    Ok(())
}
