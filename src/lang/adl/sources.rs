//! What a kb agent knows from documents: passages of the files of a project, and addresses that are read when they are needed.

use std::path::{Path, PathBuf};

use super::archive;
use super::error::Findings;
use super::parse::Word;
use super::project::{Place, Project, above, ends_in};
use crate::ir::Passage;

/// Endings of files that are read.
const READ: [&str; 7] = ["txt", "md", "markdown", "csv", "html", "htm", "docx"];
/// Endings of documents that this build does not read.
const NOT_READ: [&str; 2] = ["pdf", "doc"];
/// Bytes of a document that are read.
const MOST_BYTES: u64 = 8 << 20;
/// How deep folders are walked.
const MOST_DEPTH: usize = 16;

/// The passages and addresses of an agent's sources; what cannot be read is a warning.
pub fn read(project: &Project, sources: &[Word], found: &mut Findings) -> (Vec<Passage>, Vec<String>) {
    let (mut passages, mut addresses) = (vec![], vec![]);
    for source in sources {
        let text = source.text.trim();
        if let Some(address) = address(text) {
            addresses.push(address);
            continue;
        }
        match project.place(text) {
            Place::Inside(path) => whole(project, &path, source, &mut passages, found),
            Place::FromAbove(path) => {
                above(source, &project.shown(&path), found);
                whole(project, &path, source, &mut passages, found);
            }
            Place::Outside => unread(source, format!("`{text}` leads out of the project and is not read"), "move it into the folder of the program", found),
            Place::Missing => unread(source, format!("there is no file or folder `{text}`"), "correct the path, or write `https://` before an address", found),
        }
    }
    (passages, addresses)
}

/// An address of the web; what begins with `www.` has its scheme left out.
fn address(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("www.") {
        return Some(format!("https://{text}"));
    }
    ["http://", "https://"].iter().any(|s| lower.starts_with(s)).then(|| text.to_owned())
}

fn unread(source: &Word, message: String, help: &str, found: &mut Findings) {
    found.warning("adl-source", source.span.clone(), message, help);
}

fn whole(project: &Project, path: &Path, source: &Word, out: &mut Vec<Passage>, found: &mut Findings) {
    if path.is_file() {
        file(project, path, source, out, found);
        return;
    }
    let mut files = vec![];
    walk(project, path, 0, &mut files);
    let before = files.len();
    files.retain(|f| ends_in(f, &READ) || ends_in(f, &NOT_READ));
    if files.is_empty() {
        unread(source, format!("the folder `{}` holds no document ({before} other files)", source.text), "put .txt, .md, .csv or .html files into it", found);
    }
    for f in files {
        file(project, &f, source, out, found);
    }
}

/// The files below a folder in the order of their names, without hidden ones and without links that lead out.
fn walk(project: &Project, folder: &Path, depth: usize, out: &mut Vec<PathBuf>) {
    let mut inside: Vec<PathBuf> = std::fs::read_dir(folder).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    inside.sort();
    for path in inside {
        let hidden = path.file_name().is_none_or(|n| n.to_string_lossy().starts_with('.'));
        let Some(real) = path.canonicalize().ok().filter(|p| !hidden && p.starts_with(&project.folder)) else { continue };
        if real.is_dir() {
            if depth < MOST_DEPTH && !out.contains(&real) {
                walk(project, &real, depth + 1, out);
            }
        } else if !out.contains(&real) {
            out.push(real);
        }
    }
}

fn file(project: &Project, path: &Path, source: &Word, out: &mut Vec<Passage>, found: &mut Findings) {
    let shown = project.shown(path);
    if !ends_in(path, &READ) {
        let message = format!("`{shown}` is a kind of document that cannot be read here");
        unread(source, message, "save it as .txt, .md, .csv, .html or .docx", found);
        return;
    }
    if path.metadata().map_or(0, |m| m.len()) > MOST_BYTES {
        unread(source, format!("`{shown}` is larger than {MOST_BYTES} bytes and is not read"), "split it, or leave out what nobody asks about", found);
        return;
    }
    let Ok(bytes) = std::fs::read(path) else {
        unread(source, format!("`{shown}` cannot be read"), "look at the rights of the file", found);
        return;
    };
    let archived = if ends_in(path, &["docx"]) { archive::docx(&bytes) } else { None };
    let text = archived.map_or_else(|| String::from_utf8_lossy(&bytes), Into::into);
    let text = text.trim_start_matches('\u{feff}');
    let parts = if ends_in(path, &["csv"]) {
        rows(text)
    } else if ends_in(path, &["html", "htm", "docx"]) {
        paragraphs(&without_tags(text))
    } else {
        paragraphs(text)
    };
    out.extend(parts.into_iter().map(|text| Passage { text, from: shown.clone() }));
}

/// What stands on a page of the web.
pub fn page(address: &str, text: &str) -> Vec<Passage> {
    let tagged = text.trim_start().starts_with('<');
    let parts = if tagged { paragraphs(&without_tags(text)) } else { paragraphs(text) };
    parts.into_iter().map(|text| Passage { text, from: address.to_owned() }).collect()
}

/// Paragraphs of a text; of headings only the words.
fn paragraphs(text: &str) -> Vec<String> {
    let lines = text.replace("\r\n", "\n");
    let mut out = vec![];
    for block in lines.split("\n\n") {
        let joined = block.lines().map(|l| l.trim().trim_start_matches(['#', '>', '*', '-']).trim()).filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ");
        if !joined.is_empty() {
            out.push(joined);
        }
    }
    out
}

/// The rows of a table as sentences: every cell under its column's name.
fn rows(text: &str) -> Vec<String> {
    let mut lines = text.lines().filter(|l| !l.trim().is_empty()).map(cells);
    let Some(head) = lines.next() else { return vec![] };
    lines
        .map(|row| {
            let named = row.iter().enumerate().filter(|(_, c)| !c.trim().is_empty());
            named.map(|(n, cell)| head.get(n).map_or_else(|| cell.clone(), |h| format!("{}: {}", h.trim(), cell.trim()))).collect::<Vec<_>>().join(", ")
        })
        .filter(|l| !l.is_empty())
        .collect()
}

/// The cells of a line, quotes read.
fn cells(line: &str) -> Vec<String> {
    let (mut out, mut cell, mut quoted) = (vec![], String::new(), false);
    let mut chars = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    out.push(cell);
    out
}

/// The words of a page: no tags, no scripts, no styles; the ends of blocks end paragraphs.
fn without_tags(html: &str) -> String {
    let (mut out, mut rest) = (String::new(), html);
    while let Some(open) = rest.find('<') {
        out.push_str(rest.get(..open).unwrap_or(""));
        let tag = rest.get(open..).unwrap_or("");
        let name: String = tag.chars().skip(1).take_while(|c| c.is_ascii_alphanumeric() || *c == '/').collect::<String>().to_ascii_lowercase();
        let skipped = match name.as_str() {
            "script" | "style" | "head" => {
                let end = format!("</{name}");
                tag.to_ascii_lowercase().find(&end).and_then(|n| tag.get(n..)).unwrap_or("")
            }
            _ => tag,
        };
        if matches!(name.as_str(), "/p" | "/div" | "/li" | "/h1" | "/h2" | "/h3" | "/h4" | "/tr" | "/section" | "/td" | "br") || tag.starts_with("</w:p>") {
            out.push_str("\n\n");
        }
        rest = skipped.find('>').and_then(|n| skipped.get(n + 1..)).unwrap_or("");
    }
    out.push_str(rest);
    out.replace("&nbsp;", " ").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}
