//! Steps: blocks by keys and by `begin` and `end`, chains of conditions, and what each step needs.

use std::ops::Range;

use super::agents::pairs;
use super::{Block, Branch, Step, StepKind, name_is_sound, text, tries};
use crate::lang::adl::error::{Findings, nearest};
use crate::lang::adl::parse::{Data, Node, Word};

/// Words that begin a step, each with what may stand beside it.
const STEPS: [(&str, &[&str]); 11] = [
    ("user", &[]),
    ("bot", &[]),
    ("set", &[]),
    ("call", &["args", "tries"]),
    ("label", &[]),
    ("next", &["tries"]),
    ("return", &[]),
    ("if", &["then", "else", "tries"]),
    ("else if", &["then", "else", "tries"]),
    ("else", &[]),
    ("begin", &[]),
];

/// Words for loops that other languages have.
const LOOPS: [&str; 6] = ["while", "for", "loop", "repeat", "until", "foreach"];

/// Whether an item is a step, be it a wrong one.
pub fn looks_like_a_step(item: &Node) -> bool {
    let known = |t: &str| STEPS.iter().any(|(s, _)| *s == t) || t == "end" || t == "then" || LOOPS.contains(&t);
    match &item.data {
        Data::Scalar { text, .. } => known(text.trim()),
        Data::Map(m) => m.iter().any(|(k, _)| known(&k.text)),
        Data::List(_) => false,
    }
}

/// What an item says about blocks.
enum Mark {
    Begin(Option<Word>, Range<usize>),
    End(Range<usize>),
}

fn mark(item: &Node) -> Option<Mark> {
    let lone = item.word().map(|w| w.text.trim().to_owned());
    match lone.as_deref() {
        Some("begin") => return Some(Mark::Begin(None, item.span.clone())),
        Some("end") => return Some(Mark::End(item.span.clone())),
        _ => {}
    }
    item.members().iter().find_map(|(k, v)| match k.text.as_str() {
        "begin" => Some(Mark::Begin(v.word().filter(|w| !w.text.is_empty()), k.span.clone())),
        "end" => Some(Mark::End(k.span.clone())),
        _ => None,
    })
}

/// The blocks of a list of steps: one, or as many as `begin` and `end` make.
pub fn blocks(key: &Word, node: &Node, found: &mut Findings) -> Vec<Block> {
    let items = node.list().unwrap_or_default();
    if items.is_empty() {
        found.warning("adl-no-steps", key.span.clone(), format!("`{}` holds no steps", key.text), "write at least one step");
    }
    let mut out: Vec<Block> = vec![];
    let mut open: Option<(Word, Vec<Node>, Option<Range<usize>>)> = Some((key.clone(), vec![], None));
    let mut closed = false;
    let close = |open: (Word, Vec<Node>, Option<Range<usize>>), out: &mut Vec<Block>, found: &mut Findings| {
        let steps = steps(&open.1, found);
        out.push(Block { name: open.0, steps });
    };
    let mut told_outside = false;
    for item in items {
        match mark(item) {
            Some(Mark::Begin(name, span)) => {
                match open.take() {
                    // Nothing stood before the first `begin`: it opens the main block.
                    Some((_, inner, None)) if inner.is_empty() && out.is_empty() && !closed => {}
                    Some(before) => {
                        if let Some(began) = before.2.clone() {
                            let name = before.0.text.clone();
                            found.warning("adl-no-end", began, format!("the block `{name}` has no `end`"), "write `- end` after its last step");
                        }
                        close(before, &mut out, found);
                    }
                    None => {}
                }
                if let Some(n) = &name {
                    name_is_sound(n, "subflow", found);
                }
                if name.is_none() && !out.is_empty() {
                    found.warning("adl-unreachable", span.clone(), "nothing can enter this block: it has no name", "write `begin: NAME`");
                }
                open = Some((name.unwrap_or_else(|| Word::new(&key.text, key.span.clone())), vec![], Some(span)));
            }
            Some(Mark::End(span)) => match open.take() {
                Some(before) => {
                    closed = true;
                    if before.2.is_none() {
                        found.warning(
                            "adl-outside-block",
                            span,
                            "this `end` ends a block that has no `begin`",
                            "write `- begin` before its first step, or remove it",
                        );
                    }
                    close(before, &mut out, found);
                }
                None => found.error("adl-outside-block", span, "this `end` ends nothing", "remove it, or write `begin` where its block begins"),
            },
            None => match &mut open {
                Some((_, inner, _)) => inner.push(item.clone()),
                None if told_outside => {}
                None => {
                    told_outside = true;
                    found.error(
                        "adl-outside-block",
                        item.span.clone(),
                        "this step stands after an `end` and outside of any block",
                        "move it before the `end`, or write `begin` before it",
                    );
                }
            },
        }
    }
    if let Some(last) = open {
        if let Some(began) = last.2.clone() {
            found.warning("adl-no-end", began, format!("the block `{}` has no `end`", last.0.text), "write `- end` after its last step");
        }
        close(last, &mut out, found);
    }
    out
}

/// Reads steps in a row, chains of conditions among them.
fn steps(items: &[Node], found: &mut Findings) -> Vec<Step> {
    let mut out: Vec<Step> = vec![];
    // Whether the step before is a chain of conditions that may go on.
    let mut chain = false;
    for item in items {
        match &item.data {
            Data::Map(members) => {
                let word = members.iter().find(|(k, _)| STEPS.iter().any(|(s, _)| *s == k.text));
                match word {
                    Some((key, value)) if key.text == "else if" || key.text == "else" => {
                        chain = goes_on(key, value, members, chain, &mut out, found);
                    }
                    _ => {
                        let step = step(members, word, item, found);
                        chain = matches!(&step, Some(Step { kind: StepKind::If { .. }, .. })) && !members.iter().any(|(k, _)| k.text == "else");
                        out.extend(step);
                    }
                }
            }
            Data::Scalar { text, .. } => {
                chain = false;
                let kind = match text.trim() {
                    "user" => StepKind::User,
                    "return" => StepKind::Return { success: true, message: Word::new("", item.span.clone()) },
                    word => {
                        unknown_word(word, &item.span, found);
                        continue;
                    }
                };
                out.push(Step { kind, span: item.span.clone() });
            }
            Data::List(_) => {
                chain = false;
                found.error("adl-no-step", item.span.start..item.span.start + 1, "a step is a word or a map, but this is a list", "take one `- ` away");
            }
        }
    }
    out
}

fn unknown_word(word: &str, span: &Range<usize>, found: &mut Findings) {
    if matches!(word, "begin" | "end") {
        found.error(
            "adl-outside-block",
            span.clone(),
            format!("`{word}` stands among the steps of a branch"),
            "blocks stand beside one another, at the outer level of `steps`",
        );
        return;
    }
    let help = match word.split_once(':') {
        Some((key, rest)) if STEPS.iter().any(|(s, _)| *s == key.trim()) => format!("write a blank after the colon: `{}: {}`", key.trim(), rest.trim()),
        _ if STEPS.iter().any(|(s, _)| *s == word) => format!("write a colon and a value after it: `{word}: …`"),
        _ => nearest(word, ["user", "begin", "end", "return"], "a step of one word is `user`, `begin`, `end` or `return`; write `bot: TEXT` to say something"),
    };
    let shown: String = word.chars().take(60).collect();
    found.error("adl-no-step", span.clone(), format!("`{shown}` is no step"), help);
}

/// An `else if` or `else` as an item of its own. Whether the chain may still go on.
fn goes_on(key: &Word, value: &Node, members: &[(Word, Node)], chain: bool, out: &mut [Step], found: &mut Findings) -> bool {
    let last = out.last_mut().filter(|_| chain).map(|s| &mut s.kind);
    let Some(StepKind::If { branches, otherwise }) = last else {
        let closed = matches!(out.last(), Some(Step { kind: StepKind::If { otherwise, .. }, .. }) if !otherwise.is_empty());
        let message = if closed { format!("this `{}` comes after the `else` of its chain", key.text) } else { format!("this `{}` follows no `if`", key.text) };
        found.error("adl-dangling-else", key.span.clone(), message, "put it right after the `if` or `else if` that it belongs to, in the same list");
        // What stands in it is read for its own mistakes.
        let _ = if key.text == "else" { inner(key, value, found) } else { branch(key, value, members, found).map(|b| b.then).unwrap_or_default() };
        return false;
    };
    if key.text == "else" {
        *otherwise = inner(key, value, found);
        beside(key, members, &[], found);
        return false;
    }
    branches.extend(branch(key, value, members, found));
    beside(key, members, &["then", "else", "tries"], found);
    match members.iter().find(|(k, _)| k.text == "else") {
        Some((k, v)) => {
            *otherwise = inner(k, v, found);
            false
        }
        None => true,
    }
}

/// A condition with its steps.
fn branch(key: &Word, value: &Node, members: &[(Word, Node)], found: &mut Findings) -> Option<Branch> {
    let then = match members.iter().find(|(k, _)| k.text == "then") {
        Some((k, v)) => inner(k, v, found),
        None => {
            let others = members.iter().map(|(k, _)| k.text.as_str()).filter(|k| !matches!(*k, "if" | "else if" | "else" | "tries"));
            let near = crate::lang::adl::error::like("then", others);
            let help = near
                .map_or_else(|| "write `then:` with the steps that are taken if it holds".to_owned(), |n| format!("did you mean `then` where `{n}` stands?"));
            found.error("adl-no-then", key.span.clone(), format!("this `{}` has no `then`", key.text), help);
            vec![]
        }
    };
    let times = members.iter().find(|(k, _)| k.text == "tries").and_then(|(_, v)| tries(v, found));
    let condition = text(key, value, found)?;
    Some(Branch { condition, tries: times, then })
}

/// The steps below `then` or `else`: a list, or one step.
fn inner(key: &Word, node: &Node, found: &mut Findings) -> Vec<Step> {
    if node.is_nothing() || node.list().is_some_and(<[Node]>::is_empty) {
        found.warning("adl-no-steps", key.span.clone(), format!("`{}` holds no steps", key.text), "write at least one step, or remove it");
        return vec![];
    }
    let items = node.list().unwrap_or(std::slice::from_ref(node));
    for m in items {
        if let Some(Mark::Begin(_, span) | Mark::End(span)) = mark(m).filter(|_| m.word().is_none()) {
            unknown_word("begin", &span, found);
        }
    }
    steps(items, found)
}

/// Keys that have no business beside a step's own.
fn beside(key: &Word, members: &[(Word, Node)], may: &[&str], found: &mut Findings) {
    for (k, _) in members.iter().filter(|(k, _)| k != key && !may.contains(&k.text.as_str())) {
        let other = STEPS.iter().any(|(s, _)| *s == k.text);
        let help = if other { format!("begin a step of its own: `- {}`", k.text) } else { nearest(&k.text, may.iter().copied(), "remove it") };
        found.error("adl-beside-step", k.span.clone(), format!("`{}` has no business beside `{}`", k.text, key.text), help);
    }
}

fn step(members: &[(Word, Node)], word: Option<&(Word, Node)>, item: &Node, found: &mut Findings) -> Option<Step> {
    let Some((key, value)) = word else {
        no_step(members, item, found);
        return None;
    };
    let may = STEPS.iter().find(|(s, _)| *s == key.text).map_or(&[] as &[&str], |(_, may)| may);
    beside(key, members, may, found);
    let other = |name: &str| members.iter().find(|(k, _)| k.text == name).map(|(_, v)| v);
    let kind = match key.text.as_str() {
        "user" => {
            if !value.is_nothing() {
                found.warning("adl-user-value", key.span.clone(), "`user` waits for what is said; what stands after it is ignored", "write `- user` alone");
            }
            StepKind::User
        }
        "bot" => {
            let said = match value.word() {
                Some(w) => w,
                None => {
                    let help = "write one text; for several messages, several `- bot:` steps";
                    found.error("adl-bot-no-text", key.span.clone(), format!("`bot` says a text, but this is {}", value.kind()), help);
                    return None;
                }
            };
            if said.text.trim().is_empty() {
                found.warning("adl-says-nothing", key.span.clone(), "this `bot` says nothing", "write a text, or remove the step");
            }
            StepKind::Bot(said)
        }
        "set" => {
            let read = pairs(Some(value), "set", found);
            if value.is_nothing() {
                found.warning("adl-no-pair", key.span.clone(), "this `set` sets nothing", "write `NAME: VALUE` below it");
            }
            StepKind::Set(read)
        }
        "call" => StepKind::Call {
            target: target(key, value, found)?,
            args: pairs(other("args"), "args", found),
            tries: other("tries").and_then(|v| tries(v, found)),
        },
        "label" => {
            let label = target(key, value, found)?;
            name_is_sound(&label, "label", found);
            StepKind::Label(label)
        }
        "next" => StepKind::Next { target: target(key, value, found)?, tries: other("tries").and_then(|v| tries(v, found)) },
        "return" => returns(key, value, found)?,
        "if" => {
            let read = branch(key, value, members, found);
            let otherwise = members.iter().find(|(k, _)| k.text == "else").map(|(k, v)| inner(k, v, found)).unwrap_or_default();
            StepKind::If { branches: read.into_iter().collect(), otherwise }
        }
        _ => {
            unknown_word("begin", &key.span, found);
            return None;
        }
    };
    Some(Step { kind, span: key.span.clone() })
}

/// A map that is no step: a loop, a misspelt word, or something else.
fn no_step(members: &[(Word, Node)], item: &Node, found: &mut Findings) {
    let Some((key, _)) = members.first() else {
        found.error("adl-no-step", item.span.clone(), "a step is missing here", "write one, or remove the item");
        return;
    };
    if LOOPS.contains(&key.text.to_lowercase().as_str()) {
        let help = "write a label before the steps and go back to it:\n    - label: again\n    - …\n    - if: CONDITION\n      then:\n      - next: again\n        tries: 3";
        found.error("adl-loop", key.span.clone(), format!("there is no `{}`: loops are `label`, `next` and `tries`", key.text), help);
        return;
    }
    if key.text == "end" {
        unknown_word("end", &key.span, found);
        return;
    }
    if key.text == "then" {
        found.error("adl-no-step", key.span.clone(), "this `then` has no `if`", "write `if: CONDITION` before it, in the same item");
        return;
    }
    let same = match key.text.to_lowercase().replace(['_', '-', ' '], "").as_str() {
        "elif" | "elseif" => Some("else if"),
        "goto" | "jump" => Some("next"),
        "say" | "message" => Some("bot"),
        _ => None,
    };
    let known = STEPS.iter().map(|(s, _)| *s);
    let help = same.map_or_else(|| nearest(&key.text, known, "begin a step with one of these"), |s| format!("did you mean `{s}`?"));
    found.error("adl-no-step", key.span.clone(), format!("`{}` is no step", key.text), help);
}

/// The name after `call`, `next` or `label`.
fn target(key: &Word, value: &Node, found: &mut Findings) -> Option<Word> {
    match value.word().filter(|w| !w.text.trim().is_empty()) {
        Some(word) => Some(word),
        None => {
            found.error(
                "adl-no-target",
                key.span.clone(),
                format!("`{}` takes a name, but this is {}", key.text, if value.is_nothing() { "nothing" } else { value.kind() }),
                "write a name after it",
            );
            None
        }
    }
}

fn returns(key: &Word, value: &Node, found: &mut Findings) -> Option<StepKind> {
    let whole = text(key, value, found)?;
    if value.is_nothing() {
        return Some(StepKind::Return { success: true, message: Word::new("", whole.span) });
    }
    let (status, message) = whole.text.split_once(',').unwrap_or((&whole.text, ""));
    let status = status.trim();
    if !matches!(status, "success" | "succeed" | "error") {
        let at = super::super::error::within(found.source(), &whole.span, status);
        let help = nearest(status, ["success", "error"], "write `success` or `error`, then a comma and the message");
        found.warning("adl-status", at, format!("`{status}` is no status and counts as error"), help);
    }
    let message = Word::new(message.trim(), whole.span.clone());
    Some(StepKind::Return { success: matches!(status, "success" | "succeed"), message })
}
