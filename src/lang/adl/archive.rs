//! Projects as MICA deploys them: a zip, unpacked into a folder of its own; and the text of documents that are zips themselves.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

/// Bytes that an archive may unpack to.
const MOST_BYTES: u64 = 256 << 20;
/// Files that an archive may hold.
const MOST_FILES: usize = 10_000;

/// Whether a file is a zip.
pub fn is_zip(path: &Path) -> bool {
    let mut first = [0; 4];
    std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut first)).is_ok() && first == *b"PK\x03\x04"
}

/// Unpacks a zip, once for the same bytes, and gives the folder with its files. A folder that holds all of them is entered.
pub fn unpacked(path: &Path) -> Result<PathBuf, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    let folder = std::env::temp_dir().join(format!("duologue-{}-{:016x}", bytes.len(), hash.finish()));
    if !folder.is_dir() {
        // Unpacked beside and moved, so that nobody sees half of it.
        let beside = folder.with_extension(std::process::id().to_string());
        unpack(bytes, &beside)?;
        if std::fs::rename(&beside, &folder).is_err() {
            let _ = std::fs::remove_dir_all(&beside);
        }
    }
    let inside: Vec<PathBuf> = std::fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten().map(|e| e.path()).collect();
    let seen: Vec<&PathBuf> = inside.iter().filter(|p| p.file_name().is_some_and(|n| n != "__MACOSX" && n != ".DS_Store")).collect();
    match seen.as_slice() {
        [only] if only.is_dir() => Ok((*only).clone()),
        _ => Ok(folder),
    }
}

fn unpack(bytes: Vec<u8>, folder: &Path) -> Result<(), String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| e.to_string())?;
    if archive.len() > MOST_FILES {
        return Err(format!("it holds more than {MOST_FILES} files"));
    }
    let mut left = MOST_BYTES;
    for n in 0..archive.len() {
        let mut entry = archive.by_index(n).map_err(|e| e.to_string())?;
        let Some(name) = entry.enclosed_name() else { return Err(format!("its entry {n} leads out of the archive")) };
        let to = folder.join(name);
        if entry.is_dir() {
            std::fs::create_dir_all(&to).map_err(|e| e.to_string())?;
            continue;
        }
        if entry.is_symlink() {
            continue;
        }
        let mut content = vec![];
        entry.by_ref().take(left + 1).read_to_end(&mut content).map_err(|e| e.to_string())?;
        left = left.checked_sub(content.len() as u64).ok_or_else(|| format!("it unpacks to more than {MOST_BYTES} bytes"))?;
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).map_err(|e| e.to_string())?;
        }
        std::fs::write(&to, content).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// The paragraphs of a .docx document, one a line.
pub fn docx(bytes: &[u8]) -> Option<String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut xml = String::new();
    archive.by_name("word/document.xml").ok()?.take(MOST_BYTES).read_to_string(&mut xml).ok()?;
    Some(xml)
}
