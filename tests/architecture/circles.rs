//! The parts of `reason` stand in an order: none needs, by whatever way, one that needs it.

use std::collections::{BTreeMap, BTreeSet};

use super::{code, files};

fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")
}

/// The first names of a path or of a list of paths.
fn heads(text: &str) -> Vec<&str> {
    let Some(list) = text.strip_prefix('{') else { return vec![word(text)] };
    let (mut depth, mut out, mut from) = (0, vec![], 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                out.push(word(list[from..at].trim_start()));
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    out
}

/// For each part of a folder's module the parts that it names, also by what the module hands on of them.
fn uses(module: &str) -> BTreeMap<String, BTreeSet<String>> {
    let (folder, root) = (format!("src/{module}/"), code(&std::fs::read_to_string(format!("src/{module}.rs")).unwrap()));
    let all: Vec<(String, String)> = files(&folder, ".rs").into_iter().filter(|(n, _)| !n.contains("/tests")).collect();
    let part = |name: &str| word(&name[folder.len()..]).to_owned();
    let parts: BTreeSet<String> = all.iter().map(|(n, _)| part(n)).collect();
    // `pub use part::{A, B as C};`
    let mut handed: BTreeMap<String, String> = BTreeMap::new();
    for line in root.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        for name in line[word(line).len()..].split([':', '{', '}', ',', '\n']).map(|n| n.rsplit(' ').next().unwrap().trim()).filter(|n| !n.is_empty()) {
            handed.insert(name.to_owned(), word(line).to_owned());
        }
    }
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, text) in &all {
        // How the file calls the module: its own folders deep.
        let above = "super::".repeat(name[folder.len()..].matches('/').count() + 1);
        let (text, from) = (code(text), part(name));
        for prefix in [above.as_str(), &format!("crate::{module}::")] {
            let whole = |at: &usize| !text[..*at].ends_with("super::");
            for (at, _) in text.match_indices(prefix).filter(|(at, _)| whole(at)) {
                let named = heads(&text[at + prefix.len()..]).into_iter().filter(|n| *n != "super");
                // What is in small letters and a part is the part, whatever is handed on under the same name.
                let to = named.filter_map(|n| handed.get(n).or_else(|| parts.get(n)).cloned());
                out.entry(from.clone()).or_default().extend(to.filter(|to| *to != from));
            }
        }
    }
    out
}

/// A way from a part back to itself.
fn circle(uses: &BTreeMap<String, BTreeSet<String>>, from: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![from.to_owned()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for to in uses.get(way.last().unwrap()).into_iter().flatten() {
            let on = [way.clone(), vec![to.clone()]].concat();
            if to == from {
                return Some(on);
            }
            if seen.insert(to.clone()) {
                ways.push(on);
            }
        }
    }
    None
}

#[test]
fn reason_has_no_circle() {
    let uses = uses("reason");
    let needs = |from: &str, to: &str| uses.get(from).is_some_and(|u| u.contains(to));
    // By a path, by a list, by a name that is handed on, from a folder.
    assert!(needs("base", "rules") && needs("decide", "slice") && needs("verify", "base") && needs("certify", "clingo") && needs("proof", "outcome"));
    let circles: Vec<String> = uses.keys().filter_map(|p| circle(&uses, p)).map(|way| way.join(" -> ")).collect();
    assert_eq!(circles, [""; 0], "{uses:#?}");
}
