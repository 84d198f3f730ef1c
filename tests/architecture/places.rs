//! What the pages for newcomers name is there: files, folders and functions.

use std::path::Path;

use super::files;

/// What stands in backquotes.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.split("```").step_by(2).flat_map(|part| part.split('`').skip(1).step_by(2))
}

/// Where names of files may begin, as their neighbours on the page say.
const FROM: [&str; 6] = ["", "src", "rules", "src/facts", "src/understand/embedded", "src/understand"];

fn is_there(named: &str, rules: &[(String, String)]) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plain = named.split('(').next().unwrap_or(named).trim_end_matches('/');
    // The rules of a domain are told of in a line that begins with its folder.
    let of_a_domain = plain.ends_with(".lp") && rules.iter().any(|(name, _)| name.ends_with(&format!("/{plain}")));
    of_a_domain || FROM.iter().any(|from| ["", ".rs"].iter().any(|end| root.join(from).join(format!("{plain}{end}")).exists()))
}

#[test]
fn files_that_are_named_exist() {
    let pages = ["ARCHITECTURE.md", "docs/hearing.md"].map(|page| (page, std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()));
    let path = |n: &&str| {
        (n.contains('/') || [".rs", ".lp", ".yaml", ".sql"].iter().any(|e| n.ends_with(e)))
            && !n.starts_with('/')
            && !n.contains([' ', '*', '<', ',', ':', '='])
    };
    let rules = files("rules", ".lp");
    let (mut seen, mut missing) = (0, vec![]);
    for (page, text) in &pages {
        for named in quoted(text).filter(path) {
            seen += 1;
            if !is_there(named, &rules) {
                missing.push(format!("{page}: {named}"));
            }
        }
    }
    assert!(seen > 60, "only {seen} names of files were looked at");
    assert_eq!(missing, [""; 0]);
}

#[test]
fn functions_that_are_named_exist() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md")).unwrap();
    let source: String = files("src", ".rs").into_iter().map(|(_, text)| text).collect();
    let (_, table) = page.split_once("## Where is it?").unwrap();
    let (table, _) = table.split_once("## Map").unwrap();
    let name = |n: &str| n.rsplit("::").next().unwrap_or(n).to_owned();
    let functions: Vec<String> = quoted(table).filter(|n| !n.contains(['/', '.'])).map(name).collect();
    let rules: String = files("rules/core", ".lp").into_iter().map(|(_, text)| text).collect();
    let lost: Vec<&String> = functions.iter().filter(|f| !source.contains(&format!("fn {f}(")) && !rules.contains(&format!("\n{f}("))).collect();
    assert!(functions.len() > 12, "only {functions:?} were looked at");
    assert!(lost.is_empty(), "{lost:?}");
}
