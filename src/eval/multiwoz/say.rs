//! Actions to words with placeholders: the longest run of actions that has a text is said together.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::MultiwozError;
use crate::term::Term;

/// The texts of the actions.
#[derive(Debug)]
pub struct Texts {
    /// By the name of the first action, longer and more specific patterns first.
    by_first: BTreeMap<String, Vec<(Vec<Action>, String)>>,
}

/// An action's name and arguments as words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Action {
    name: String,
    args: Vec<String>,
}

#[derive(Deserialize)]
struct Raw {
    say: BTreeMap<String, String>,
}

fn action(word: &str) -> Action {
    let (name, args) = word.split_once('(').map_or((word, ""), |(n, a)| (n, a.trim_end_matches(')')));
    Action { name: name.to_owned(), args: args.split(',').filter(|a| !a.is_empty()).map(str::to_owned).collect() }
}

fn of_term(term: &Term) -> Action {
    match term {
        Term::Fun(name, args) => Action { name: name.to_string(), args: args.iter().map(ToString::to_string).collect() },
        other => Action { name: other.to_string(), args: Vec::new() },
    }
}

fn is_variable(arg: &str) -> bool {
    arg.starts_with(|c: char| c.is_ascii_uppercase())
}

impl Texts {
    /// Reads the texts.
    pub fn parse(json: &str) -> Result<Self, MultiwozError> {
        let raw: Raw = serde_json::from_str(json).map_err(|e| MultiwozError::Syntax { file: "templates.json".to_owned(), why: e.to_string() })?;
        let mut by_first: BTreeMap<String, Vec<(Vec<Action>, String)>> = BTreeMap::new();
        for (pattern, text) in raw.say {
            let pattern: Vec<Action> = pattern.split_whitespace().map(action).collect();
            if let Some(first) = pattern.first() {
                by_first.entry(first.name.clone()).or_default().push((pattern, text));
            }
        }
        for texts in by_first.values_mut() {
            texts.sort_by_key(|(p, _)| (std::cmp::Reverse(p.len()), p.iter().flat_map(|a| &a.args).filter(|a| is_variable(a)).count()));
        }
        Ok(Self { by_first })
    }

    /// What is said for the actions; an action without a text is silent.
    pub fn say(&self, actions: &[Term]) -> String {
        let actions: Vec<Action> = actions.iter().map(of_term).collect();
        let mut out: Vec<String> = Vec::new();
        let mut rest = actions.as_slice();
        while let Some((first, tail)) = rest.split_first() {
            let found = self.by_first.get(&first.name).into_iter().flatten().find_map(|(p, text)| Some((p.len(), text, fits(p, rest)?)));
            match found {
                Some((n, text, bound)) => {
                    let text = bound.get("D").map_or_else(|| text.clone(), |d| text.replace("[D_", &format!("[{d}_")));
                    out.push(text);
                    rest = rest.get(n..).unwrap_or_default();
                }
                None => rest = tail,
            }
        }
        out.retain(|t| !t.is_empty());
        out.join(" ")
    }
}

/// What the pattern's variables stand for, if the actions begin like the pattern.
fn fits<'a>(pattern: &'a [Action], actions: &'a [Action]) -> Option<BTreeMap<&'a str, &'a str>> {
    let mut bound: BTreeMap<&str, &str> = BTreeMap::new();
    for (p, a) in pattern.iter().zip(actions.get(..pattern.len())?) {
        if p.name != a.name || p.args.len() != a.args.len() {
            return None;
        }
        for (x, y) in p.args.iter().zip(&a.args) {
            if if is_variable(x) { *bound.entry(x).or_insert(y) != y.as_str() } else { x != y } {
                return None;
            }
        }
    }
    Some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pattern_wins() {
        let texts = Texts::parse(r#"{"say": {"a(x)": "one", "a(x) b(D,y)": "two [D_name]", "b(D,y)": "[D_name] alone", "c": ""}}"#).unwrap();
        let say = |s: &str| texts.say(&s.split(' ').map(|t| Term::parse(t).unwrap()).collect::<Vec<_>>());
        assert_eq!(say("a(x) b(hotel,y)"), "two [hotel_name]");
        assert_eq!(say("a(x) c b(hotel,y) unknown"), "one [hotel_name] alone");
    }
}
