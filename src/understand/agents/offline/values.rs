//! What words say of an agent's arguments: values that their form, the program's own words or the question before them give away.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::near::{Kind, WORDS, root, telling};
use crate::ir::guard::{Compare, Guard};
use crate::ir::pattern::PythonPattern;
use crate::ir::script::{Block, StepKind};
use crate::ir::value::{Given, Path, Value as Written};
use crate::ir::walk::Question;
use crate::ir::{Agent, Arg, Body, Program};
use crate::text::{ENGLISH, name_words, normal, stem, word_at, words};
use crate::understand::agents::guards;
use crate::understand::flow::cues::Signals;
use crate::understand::flow::hearing::HEARING;
use crate::understand::flow::values;

/// The longest value, in words.
const MOST_WORDS: usize = 12;

static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\w.+-]+@[\w-]+\.[\w.-]*\w").ok());
static PHONE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\+?\d[\d ()/-]{5,}\d").ok());
static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\p{L}\d][\p{L}\d/-]*").ok());
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\d+(?:[.,]\d+)?$").ok());

/// What a program compares an argument with, where it stands.
#[derive(Default)]
struct Compared<'a> {
    texts: Vec<&'a str>,
    patterns: Vec<&'a PythonPattern>,
}

fn compared<'a>(guard: &'a Guard, names: &dyn Fn(&Path) -> bool, out: &mut Compared<'a>) {
    match guard {
        Guard::All(parts) | Guard::Any(parts) => parts.iter().for_each(|p| compared(p, names, out)),
        Guard::Not(part) => compared(part, names, out),
        Guard::Exactly(path, Compare::Is | Compare::IsNot, Given::Is(Written::Text(text))) if names(path) => out.texts.push(text),
        Guard::Match(pattern, path) if names(path) => out.patterns.push(pattern),
        _ => {}
    }
}

/// What the words say of an agent's arguments.
pub fn data(program: &Program, agent: &Agent, q: &Question, text: &str) -> Map<String, Value> {
    let mut out = Map::new();
    let n = normal(text);
    let before = q.lines.iter().rev().skip(1).find_map(|l| l.strip_prefix("bot: "));
    let asked = before.and_then(|line| asked(agent, q, line));
    for arg in &agent.args {
        let mut found = Compared::default();
        for other in &program.agents {
            let own = other.name == agent.name;
            let names = |p: &Path| p.name == arg.name && p.of.as_ref().map_or(own, |of| *of == agent.name);
            guards(other).for_each(|g| compared(g, &names, &mut found));
        }
        let named = found.texts.iter().filter(|v| word_at(&n, &normal(v)).is_some()).max_by_key(|v| v.len()).map(|v| json!(v));
        let is_asked = asked.is_some_and(|a| a.name == arg.name);
        let matching = || text.split_whitespace().map(bare).find(|w| found.patterns.iter().any(|p| p.matches(w) == Some(true))).map(|w| json!(w));
        let value = named.or_else(|| is_asked.then(matching).flatten()).or_else(|| by_form(arg, text, &n).map(Value::from));
        out.extend(value.map(|v| (arg.name.clone(), v)));
    }
    if let Some(arg) = asked.filter(|_| out.is_empty())
        && let Some(v) = answer_to(arg, text, &n)
    {
        out.insert(arg.name.clone(), v);
    }
    // Whoever begins with a name means what the agent works on first.
    let begins = matches!(agent.body, Body::Script(_)) && before.is_none_or(|line| decided_after(agent, line).is_none());
    if begins
        && out.is_empty()
        && let Some(name) = name_within(text)
    {
        let day = ENGLISH.weekdays.contains(&name.to_lowercase());
        let takes = |a: &&Arg| kind(a).map_or(!day, |k| if day { k.kind == "date" } else { matches!(k.kind.as_str(), "name" | "place") });
        let open = agent.args.iter().filter(|a| q.args.get(&a.name).is_none_or(Value::is_null));
        out.extend(open.into_iter().find(takes).map(|arg| (arg.name.clone(), json!(name))));
    }
    out
}

/// A name within a sentence, by its capitals.
fn name_within(text: &str) -> Option<String> {
    let capital = |w: &&str| w.chars().next().is_some_and(char::is_uppercase) && *w != "I" && !w.starts_with("I'") && !w.starts_with("I\u{2019}");
    let run: Vec<&str> = text.split_whitespace().skip(1).skip_while(|w| !capital(w)).take_while(capital).collect();
    (!run.is_empty()).then(|| bare(&run.join(" ")).to_owned())
}

/// The argument that the last line asks for: its own words, its kind, and what the steps after the question decide by tell.
fn asked<'a>(agent: &'a Agent, q: &Question, line: &str) -> Option<&'a Arg> {
    let question = line.trim_end().trim_end_matches('?').rsplit(['.', '!', '?']).next().unwrap_or(line);
    let (asks, low) = (telling(question), normal(question));
    let decides = decided_after(agent, line)?;
    let open = |a: &Arg| q.args.get(&a.name).is_none_or(Value::is_null);
    let points = |a: &Arg| {
        let name: BTreeSet<String> = telling(&name_words(&a.name).join(" "));
        let kind = kind(a).is_some_and(|k| k.asks.is_match(&low));
        3 * name.intersection(&asks).count()
            + telling(&a.about).intersection(&asks).count()
            + 2 * usize::from(kind)
            + 3 * usize::from(decides.contains(&a.name))
    };
    let mut best: Option<(usize, bool, &Arg)> = None;
    for arg in &agent.args {
        let (points, open) = (points(arg), open(arg));
        if points > 0 && best.as_ref().is_none_or(|(p, o, _)| (points, open) > (*p, *o)) {
            best = Some((points, open, arg));
        }
    }
    // What others asked before this agent was chosen asks for none of its arguments.
    let own = matches!(agent.body, Body::Script(_)) || says(agent, line).is_some() || agent.args.iter().any(|a| line.ends_with(&question_for(a)));
    let first = || agent.args.iter().find(|a| open(a)).filter(|_| own && line.contains('?') && !wants_yes_or_no(line));
    best.map(|(_, _, arg)| arg).or_else(first)
}

/// The arguments that the step after a line's wait decides by; nothing if the agent does not say the line.
fn decided_after(agent: &Agent, line: &str) -> Option<Vec<String>> {
    if !matches!(agent.body, Body::Script(_)) {
        return Some(vec![]);
    }
    let (block, at) = says(agent, line)?;
    let next = block.steps.iter().skip(at + 1).skip_while(|s| !matches!(s.kind, StepKind::Wait)).nth(1);
    let mut out = vec![];
    if let Some(StepKind::Choose(ways)) = next.map(|s| &s.kind) {
        ways.iter().for_each(|w| own_names(&w.guard, &agent.name, &mut out));
    }
    Some(out)
}

/// The step by which an agent says a line.
fn says<'a>(agent: &'a Agent, line: &str) -> Option<(&'a Block, usize)> {
    let begins = |text: &str| text.split("${").next().is_some_and(|t| line.starts_with(t.trim_end()) && (!t.trim().is_empty() || text.contains("${")));
    let of = |block: &'a Block| Some((block, block.steps.iter().position(|s| matches!(&s.kind, StepKind::Say(text) if begins(text)))?));
    agent.blocks().iter().find_map(of)
}

fn own_names(guard: &Guard, agent: &str, out: &mut Vec<String>) {
    match guard {
        Guard::All(parts) | Guard::Any(parts) => parts.iter().for_each(|p| own_names(p, agent, out)),
        Guard::Not(part) => own_names(part, agent, out),
        Guard::Exactly(path, ..) | Guard::Match(_, path) | Guard::Holds(path) if path.of.as_ref().is_none_or(|of| of == agent) => out.push(path.name.clone()),
        _ => {}
    }
}

/// Whether the last thing asked is answered by yes or no.
fn wants_yes_or_no(line: &str) -> bool {
    let asked = line.trim_end().strip_suffix('?').map_or("", |q| q.rsplit(['.', '!', '?', ',']).next().unwrap_or(q));
    words(asked).first().is_some_and(|w| WORDS.asks_yes_or_no.has(w))
}

/// The question for an argument.
pub fn question_for(arg: &Arg) -> String {
    format!("What is the {}?", asking(arg))
}

/// How an argument is asked for.
fn asking(arg: &Arg) -> String {
    let about = arg.about.trim().trim_end_matches('.');
    if about.is_empty() || about.split_whitespace().count() > 8 {
        name_words(&arg.name).join(" ")
    } else {
        about.trim_start_matches("the ").trim_start_matches("The ").to_owned()
    }
}

/// The kind of an argument: by its name, the last word first, else by what its author says of it.
fn kind(arg: &Arg) -> Option<&'static Kind> {
    let of = |w: &String| WORDS.kinds.iter().find(|k| k.names.has(w));
    let name = name_words(&arg.name);
    let counts = name.iter().any(|w| w == "of").then(|| name.iter().find_map(of)).flatten();
    let phone = name.iter().filter_map(of).find(|k| matches!(k.kind.as_str(), "phone" | "email"));
    phone.or_else(|| name.iter().rev().filter(|w| counts.is_none() || *w != "number").find_map(of)).or_else(|| words(&arg.about).iter().find_map(of))
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#'))
}

/// Numbers in digits and words, in the order they are said.
fn numbers(n: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    let mut sum: Option<usize> = None;
    for word in n.split([' ', '-']).map(|w| w.trim_matches(|c: char| !c.is_alphanumeric())).filter(|w| !w.is_empty()) {
        let small = ENGLISH.units.iter().position(|u| *u == word).or_else(|| ENGLISH.tens.iter().position(|t| *t == word).map(|t| t * 10));
        sum = match small {
            Some(small) => Some(sum.unwrap_or_default() + small),
            None if word == "hundred" => Some(sum.unwrap_or(1).max(1) * 100),
            None if word == "and" && sum.is_some() => sum,
            None => {
                out.extend(sum.map(|s| s.to_string()));
                if NUMBER.as_ref().is_some_and(|d| d.is_match(word)) {
                    out.push(word.replace(',', "."));
                }
                None
            }
        };
    }
    out.extend(sum.map(|s| s.to_string()));
    out
}

/// A value that its form tells to be this argument's, wherever it is said.
fn by_form(arg: &Arg, text: &str, n: &str) -> Option<String> {
    match kind(arg).map(|k| k.kind.as_str()) {
        Some("email") => return EMAIL.as_ref()?.find(text).map(|m| m.as_str().to_owned()),
        Some("phone") => return PHONE.as_ref()?.find(text).map(|m| m.as_str().trim().to_owned()),
        _ => {}
    }
    let name = name_words(&arg.name);
    let has = |w: &[&str]| name.iter().any(|x| w.contains(&x.as_str())) && !has_time(&name);
    let (from, to) = values::way(text);
    if has(&["from", "origin", "departure", "pickup", "start"]) {
        return from.filter(|_| to.is_some() || name.iter().any(|w| w == "from"));
    }
    if has(&["to", "destination", "arrival"]) {
        return to.filter(|_| from.is_some() || name.iter().any(|w| w == "to"));
    }
    // "the colour is red"
    let cue = name.join(" ");
    let at = word_at(n, &format!("{cue} is"))? + cue.len() + 3;
    let rest = n.get(at..)?.trim();
    let value: Vec<&str> = rest.split([',', '.', ';', '!', '?']).next()?.split(" and ").next()?.split_whitespace().collect();
    (!value.is_empty() && value.len() <= 6).then(|| as_written(text, &value.join(" ")))
}

fn has_time(name: &[String]) -> bool {
    name.iter().any(|w| w == "date" || w == "time")
}

/// The words as they stand in the text.
fn as_written(text: &str, plain: &str) -> String {
    let low = text.to_lowercase();
    low.find(plain).and_then(|at| text.get(at..at + plain.len())).unwrap_or(plain).to_owned()
}

/// Names that words in lower case lead up to: "it's for my son, Max Weber".
fn capitals(value: &str) -> Option<String> {
    let capital = |w: &&str| w.chars().next().is_some_and(char::is_uppercase);
    let run: Vec<&str> = value.split_whitespace().rev().take_while(capital).collect();
    (!run.is_empty()).then(|| run.into_iter().rev().collect::<Vec<_>>().join(" "))
}

/// What an answer says, when this was asked for.
fn answer_to(arg: &Arg, text: &str, n: &str) -> Option<Value> {
    let signals = Signals::of(text);
    if signals.has("greeting_only") || signals.has("question") || signals.has("bye") || WORDS.leaves.is_match(n) {
        return None;
    }
    let kind = kind(arg).map_or("", |k| k.kind.as_str());
    if kind == "count" || arg.spelled {
        let said = numbers(n).into_iter().next().or_else(|| (kind == "count" && WORDS.alone.is_match(n)).then(|| "1".to_owned()));
        if said.is_some() {
            return said.map(Value::from);
        }
    }
    if arg.spelled && (signals.has("affirm") || signals.has("deny")) {
        return Some(json!(!signals.has("deny")));
    }
    let code = |t: &str| t.chars().any(|c| c.is_ascii_digit());
    if kind == "code"
        && let Some(m) = CODE.as_ref()?.find_iter(text).find(|m| code(m.as_str()))
    {
        return Some(json!(m.as_str()));
    }
    if kind == "name"
        && let Some(own) = values::own_name(text)
    {
        return Some(json!(own));
    }
    let plain = text.trim().replace('\u{2019}', "'");
    let low = plain.to_ascii_lowercase();
    let low = low.trim_end_matches(['.', '!', ',', ';']);
    let end = WORDS.trails.find(low).map_or(low.len(), |m| m.start());
    let lead = WORDS.leads.find(low).map_or(0, |m| m.end());
    let value = plain.get(lead..end.max(lead))?.trim().trim_matches([',', ' ']);
    let named = if kind == "name" { capitals(value) } else { None };
    let value = named.as_deref().unwrap_or(value);
    let said = words(value).into_iter().filter(|w| !HEARING.words.empty.has(w)).map(|w| root(&stem(&w)));
    let tells: BTreeSet<String> = said.filter(|w| !WORDS.no_values.iter().any(|x| root(x) == *w)).collect();
    let own: BTreeSet<String> = name_words(&arg.name).iter().map(|w| root(&stem(w))).collect();
    (!tells.is_subset(&own) && value.split_whitespace().count() <= MOST_WORDS).then(|| json!(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_was_asked_for() {
        let said = |name: &str, text: &str| answer_to(&Arg::named(name), text, &normal(text));
        assert_eq!(said("city", "I'd like Paris, please"), Some(json!("Paris")));
        assert_eq!(said("number of people", "we are four"), Some(json!("4")));
        assert_eq!(said("number of people", "a hundred and twenty"), Some(json!("120")));
        assert_eq!(said("name", "my name is Ada Lovelace"), Some(json!("Ada Lovelace")));
        assert_eq!(said("pet_name", "she's called Minka"), Some(json!("Minka")));
        assert_eq!(said("ticket number", "it is 99-0042"), Some(json!("99-0042")));
        assert_eq!(said("title", "the book is called The Trial"), Some(json!("The Trial")));
        assert_eq!(said("day", "next Monday would be good"), Some(json!("next Monday")));
        assert_eq!(said("city", "what do you offer?"), None);
        assert_eq!(name_within("I want to order Nine Keys, please").as_deref(), Some("Nine Keys"));
        assert_eq!(name_within("What do I do?"), None);
    }

    #[test]
    fn a_question_wants_yes_or_no() {
        assert!(wants_yes_or_no("Your card is blocked. Would you like a new card?") && !wants_yes_or_no("Where shall it go?"));
    }
}
