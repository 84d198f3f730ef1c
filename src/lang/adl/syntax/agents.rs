//! Agents and their fields.

use super::steps::blocks;
use super::{Agent, Block, Kind, Member, name_is_sound, names, text};
use crate::lang::adl::error::{Findings, like, nearest};
use crate::lang::adl::parse::{Data, Node, Word};

/// Reads an agent. Without a type that is known, its fields tell what it was meant to be, so that the rest is read all the same.
pub fn agent(name: &Word, node: &Node, found: &mut Findings) -> Agent {
    name_is_sound(name, "agent", found);
    let told = kind(name, node, found);
    let kind = told.unwrap_or_else(|| likely(node));
    let mut out = Agent {
        name: name.clone(),
        kind,
        description: None,
        args: vec![],
        fallback: None,
        exit: None,
        prompt: None,
        uses: vec![],
        faq: vec![],
        sources: vec![],
        contains: vec![],
        blocks: vec![],
    };
    let mut subflows: Vec<Block> = vec![];
    for (key, value) in node.members() {
        let known = kind.fields().contains(&key.text.as_str());
        match key.text.as_str() {
            "type" => {}
            "description" => out.description = text(key, value, found).filter(|d| !d.text.trim().is_empty()),
            "args" => out.args = args(value, found),
            "fallback" => out.fallback = policy(key, value, found),
            "exit" => out.exit = policy(key, value, found),
            "prompt" if known => out.prompt = text(key, value, found),
            "uses" if known => out.uses = names(value, "uses", found),
            "faq" if known => out.faq = faq(key, value, found),
            "sources" if known => out.sources.extend(names(value, "sources", found)),
            "web" | "file" if kind == Kind::Kb => {
                old(key, "sources", found);
                out.sources.extend(names(value, &key.text, found));
            }
            "contains" if known => out.contains = contains(value, found),
            "contain" if kind == Kind::Ensemble => {
                old(key, "contains", found);
                out.contains = contains(value, found);
            }
            "schedule" => found.warning("adl-old-spelling", key.span.clone(), "`schedule` is of an older spelling and is ignored", "remove it"),
            "steps" if known => match &value.data {
                Data::List(_) => {
                    let mut read = blocks(key, value, found);
                    read.append(&mut out.blocks);
                    out.blocks = read;
                }
                _ if value.is_nothing() => {}
                _ => {
                    let message = format!("`steps` of `{}` is {}, but steps are a list", name.text, value.kind());
                    found.error("adl-steps-no-list", key.span.clone(), message, "begin each step with `- `");
                }
            },
            _ => other(name, kind, key, value, &mut subflows, found),
        }
    }
    // Whatever is beside the steps comes after them, wherever it stands.
    out.blocks.extend(subflows);
    if told.is_some() {
        missing(&out, node, found);
    }
    out
}

/// What an agent was probably meant to be, by the fields that it has.
fn likely(node: &Node) -> Kind {
    let has = |field: &str| node.get(field).is_some();
    match () {
        () if has("contains") || has("contain") => Kind::Ensemble,
        () if has("faq") || has("sources") => Kind::Kb,
        () if has("prompt") || has("uses") => Kind::Llm,
        () => Kind::Flow,
    }
}

/// A field that is not of this type: a subflow, or a mistake.
fn other(name: &Word, kind: Kind, key: &Word, value: &Node, subflows: &mut Vec<Block>, found: &mut Findings) {
    let owners: Vec<&str> = Kind::ALL.iter().filter(|(_, k)| k.fields().contains(&key.text.as_str())).map(|(n, _)| *n).collect();
    if !owners.is_empty() {
        let message = format!("`{}` is {} and has no `{}`", name.text, article(kind), key.text);
        let help = format!("remove it, or make `{}` a `{}`", name.text, owners.join("` or a `"));
        found.error("adl-field-of-other-type", key.span.clone(), message, help);
    } else if matches!(value.data, Data::List(_)) && kind != Kind::Kb {
        name_is_sound(key, "subflow", found);
        let items = value.list().unwrap_or_default();
        if !items.is_empty() && !items.iter().any(super::steps::looks_like_a_step) {
            let message = format!("`{}` was taken for a subflow of `{}`, but its items are no steps", key.text, name.text);
            let help = nearest(&key.text, kind.fields().iter().copied(), "begin each step with a word such as `bot`, `user`, `set`, `call` or `if`");
            found.error("adl-no-steps", key.span.clone(), message, help);
        } else {
            if let Some(near) = like(&key.text, kind.fields().iter().copied()).filter(|n| *n != "type") {
                let message = format!("`{}` is a subflow of `{}`; it is spelt nearly as the field `{near}`", key.text, name.text);
                found.warning("adl-subflow-like-field", key.span.clone(), message, format!("did you mean `{near}`? else give the subflow another name"));
            }
            subflows.extend(blocks(key, value, found));
        }
    } else {
        let message = format!("`{}` is {} and has no field `{}`", name.text, article(kind), key.text);
        let rest = if kind == Kind::Kb { "remove it" } else { "remove it; a subflow is a list of steps" };
        found.error("adl-unknown-field", key.span.clone(), message, nearest(&key.text, kind.fields().iter().copied(), rest));
    }
}

fn article(kind: Kind) -> String {
    let an = if kind == Kind::Llm || kind == Kind::Ensemble { "an" } else { "a" };
    format!("{an} {}", kind.name())
}

/// The warning of an older spelling.
fn old(key: &Word, now: &str, found: &mut Findings) {
    found.warning("adl-old-spelling", key.span.clone(), format!("`{}` is an older spelling", key.text), format!("write `{now}`"));
}

fn kind(name: &Word, node: &Node, found: &mut Findings) -> Option<Kind> {
    let all = Kind::ALL.iter().map(|(n, _)| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let Some((key, value)) = node.members().iter().find(|(k, v)| k.text == "type" && !v.is_nothing()) else {
        if name.text == "main" {
            found.warning("adl-main-without-type", name.span.clone(), "`main` has no `type` and is taken for a flow agent", "write `type: flow agent`");
            return Some(Kind::Flow);
        }
        let help = match like("type", node.members().iter().map(|(k, _)| k.text.as_str())) {
            Some(near) => format!("did you mean `type` where `{near}` stands? the types are {all}"),
            None => format!("write `type:` with one of {all}"),
        };
        found.error("adl-no-type", name.span.clone(), format!("the agent `{}` has no `type`", name.text), help);
        return None;
    };
    let Some(word) = value.word() else {
        found.error("adl-wrong-form", key.span.clone(), format!("the `type` of `{}` is {}", name.text, value.kind()), format!("write one of {all}"));
        return None;
    };
    let plain = word.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    if let Some((_, kind)) = Kind::ALL.iter().find(|(n, _)| *n == plain) {
        if word.text.trim() == "KB agent" {
            found.warning("adl-old-spelling", word.span, "`KB agent` is an older spelling", "write `kb agent`");
        }
        return Some(*kind);
    }
    let short = Kind::ALL.iter().find(|(n, _)| n.strip_suffix(" agent") == Some(plain.as_str()));
    let help = match short {
        Some((n, _)) => format!("write `{n}`"),
        None => nearest(&plain, Kind::ALL.iter().map(|(n, _)| *n), "use one of the types"),
    };
    found.error("adl-unknown-type", word.span, format!("`{}` is no type of agent (of `{}`)", word.text, name.text), help);
    None
}

fn args(node: &Node, found: &mut Findings) -> Vec<(Word, String)> {
    if node.is_nothing() {
        return vec![];
    }
    let about = |v: &Node| v.word().filter(|_| !v.is_nothing()).map(|w| w.text).unwrap_or_default();
    let mut read: Vec<(Word, String)> = vec![];
    match &node.data {
        Data::Scalar { .. } => read.extend(node.word().map(|w| (w, String::new()))),
        Data::Map(members) => {
            found.warning("adl-args-map", node.span.start..node.span.start, "`args` is a list of names, but this is a map", "begin each name with `- `");
            read.extend(members.iter().map(|(k, v)| (k.clone(), about(v))));
        }
        Data::List(items) => {
            for item in items {
                match &item.data {
                    Data::Scalar { text, .. } if !text.trim().is_empty() => read.extend(item.word().map(|w| (w, String::new()))),
                    Data::Map(m) => read.extend(m.first().map(|(k, v)| (k.clone(), about(v)))),
                    _ => found.error("adl-wrong-form", item.span.clone(), format!("an argument is a name, but this is {}", item.kind()), "write a name"),
                }
            }
        }
    }
    let mut out: Vec<(Word, String)> = vec![];
    for (word, about) in read {
        name_is_sound(&word, "argument", found);
        if word.text.contains('.') {
            let help = format!("write `{}`: a point stands between an agent and its argument", word.text.replace('.', "_"));
            found.error("adl-bad-name", word.span.clone(), format!("the argument `{}` has a point in its name", word.text), help);
        }
        if out.iter().any(|(known, _)| known.text == word.text) {
            found.warning("adl-argument-twice", word.span, format!("the argument `{}` is declared a second time", word.text), "remove one of them");
        } else {
            out.push((word, about));
        }
    }
    out
}

/// A policy: an agent's name or words. An older spelling is a list of one map.
fn policy(key: &Word, node: &Node, found: &mut Findings) -> Option<Word> {
    if node.is_nothing() {
        return None;
    }
    let first = node.list().and_then(|l| l.first()).unwrap_or(node);
    if let Some(word) = first.get("policy").and_then(Node::word) {
        found.warning(
            "adl-old-spelling",
            key.span.clone(),
            format!("a `policy` below `{}` is an older spelling", key.text),
            format!("write `{}: \"{}\"`", key.text, word.text),
        );
        return Some(word);
    }
    text(key, node, found).filter(|w| !w.text.trim().is_empty())
}

fn faq(key: &Word, node: &Node, found: &mut Findings) -> Vec<(Word, Word)> {
    if node.is_nothing() {
        return vec![];
    }
    let items = match &node.data {
        Data::List(items) => items.clone(),
        Data::Map(members) if members.iter().any(|(k, _)| k.text == "q" || k.text == "a") => {
            found.warning("adl-old-spelling", key.span.clone(), "a `faq` that is a map is an older spelling", "write `- q:` and below it `a:`");
            vec![node.clone()]
        }
        Data::Map(members) => {
            found.warning("adl-old-spelling", key.span.clone(), "a `faq` that is a map is an older spelling", "write `- q:` and below it `a:`");
            return members.iter().filter_map(|(q, a)| Some((q.clone(), a.word()?))).collect();
        }
        Data::Scalar { .. } => {
            found.error("adl-wrong-form", key.span.clone(), "`faq` is a list of questions with answers, but this is a text", "write `- q:` and below it `a:`");
            return vec![];
        }
    };
    let mut out = vec![];
    for item in &items {
        let part = |name: &str| item.get(name).filter(|n| !n.is_nothing()).and_then(Node::word);
        match (part("q"), part("a")) {
            (Some(q), Some(a)) => out.push((q, a)),
            (q, _) => {
                let lacks = if q.is_none() { "q" } else { "a" };
                let keys = item.members();
                let at = keys.first().map_or(item.span.clone(), |(k, _)| k.span.clone());
                let near = keys.iter().map(|(k, _)| k.text.as_str()).find(|k| !matches!(*k, "q" | "a") && k.to_lowercase().starts_with(lacks));
                let help = near.map_or_else(|| format!("write `{lacks}:` with a text"), |n| format!("write `{lacks}` instead of `{n}`"));
                found.error("adl-faq-entry", at, format!("an entry of `faq` has no `{lacks}`"), help);
            }
        }
        for (k, _) in item.members().iter().filter(|(k, _)| !matches!(k.text.as_str(), "q" | "a")) {
            found.error(
                "adl-unknown-field",
                k.span.clone(),
                format!("an entry of `faq` has no field `{}`", k.text),
                "write `q` for the question and `a` for its answer",
            );
        }
    }
    out
}

fn contains(node: &Node, found: &mut Findings) -> Vec<Member> {
    if node.is_nothing() {
        return vec![];
    }
    let items = match &node.data {
        Data::List(items) => items.clone(),
        Data::Scalar { .. } => vec![node.clone()],
        Data::Map(members) => {
            found.error("adl-wrong-form", node.span.start..node.span.start, "`contains` is a list of agents, but this is a map", "begin each agent with `- `");
            return members.iter().map(|(k, _)| Member { agent: k.clone(), args: vec![] }).collect();
        }
    };
    let mut out: Vec<Member> = vec![];
    for item in &items {
        match &item.data {
            Data::Scalar { text, .. } if !text.trim().is_empty() => out.extend(item.word().map(|agent| Member { agent, args: vec![] })),
            Data::Map(members) => out.extend(member(members, found)),
            _ => found.error(
                "adl-wrong-form",
                item.span.clone(),
                format!("an item of `contains` is an agent, but this is {}", item.kind()),
                "write the agent's name",
            ),
        }
    }
    for (n, m) in out.iter().enumerate() {
        if out.iter().take(n).any(|before| before.agent.text == m.agent.text) {
            found.warning("adl-member-twice", m.agent.span.clone(), format!("`{}` is contained a second time", m.agent.text), "remove one of them");
        }
    }
    let mut seen: Vec<String> = vec![];
    out.retain(|m| {
        let fresh = !seen.contains(&m.agent.text);
        seen.push(m.agent.text.clone());
        fresh
    });
    out
}

/// `name: {args: …}`, or `name:` with `args` beside it.
fn member(members: &[(Word, Node)], found: &mut Findings) -> Option<Member> {
    let (agent, below) = members.iter().find(|(k, _)| k.text != "args").or_else(|| members.first())?;
    let beside = members.iter().find(|(k, _)| k.text == "args" && k != agent);
    for (k, _) in below.members().iter().filter(|(k, _)| k.text != "args") {
        let help = nearest(&k.text, ["args"], "a contained agent has nothing but `args`");
        found.error("adl-unknown-field", k.span.clone(), format!("a contained agent has no field `{}`", k.text), help);
    }
    for (k, _) in members.iter().filter(|(k, _)| k != agent && k.text != "args") {
        let help = nearest(&k.text, ["args"], "begin each agent with `- `");
        found.error("adl-unknown-field", k.span.clone(), format!("beside `{}` stands `{}`, which is no field of it", agent.text, k.text), help);
    }
    let mut args = vec![];
    for (name, value) in pairs(below.get("args").or(beside.map(|(_, v)| v)), "args", found) {
        let Some(word) = value.word() else {
            found.error(
                "adl-wrong-form",
                name.span.clone(),
                format!("`{}` is bound to an argument of the ensemble, but this is {}", name.text, value.kind()),
                "write `ref NAME` or `NAME`",
            );
            continue;
        };
        match word.text.strip_prefix("ref ").map(str::trim) {
            Some(to) => {
                let at = word.span.start + word.text.len() - to.len();
                let span = if found.source().text.get(word.span.clone()) == Some(word.text.as_str()) { at..at + to.len() } else { word.span };
                args.push((name, Word::new(to, span), true));
            }
            None => args.push((name, word, false)),
        }
    }
    Some(Member { agent: agent.clone(), args })
}

/// Names with values: a map, or a list of maps.
pub fn pairs(node: Option<&Node>, field: &str, found: &mut Findings) -> Vec<(Word, Node)> {
    let Some(node) = node.filter(|n| !n.is_nothing()) else { return vec![] };
    let mut out: Vec<(Word, Node)> = vec![];
    let maps = node.list().unwrap_or(std::slice::from_ref(node));
    for map in maps {
        if map.members().is_empty() {
            let shown = map.word().map(|w| w.text).unwrap_or_default();
            let help = match shown.split_once(':') {
                Some((name, value)) => format!("write a blank after the colon: `{}: {}`", name.trim(), value.trim()),
                None => "write `NAME: VALUE`".to_owned(),
            };
            found.error("adl-no-pair", map.span.clone(), format!("`{field}` takes names with values, but this is {}", map.kind()), help);
        }
        for (name, value) in map.members() {
            if let Some((first, _)) = out.iter().find(|(known, _)| known.text == name.text) {
                let line = found.source().origin(first.span.clone()).line;
                let message = format!("`{}` stands here a second time; the first is in line {line}", name.text);
                found.error("adl-duplicate-key", name.span.clone(), message, "rename or remove one of them");
            } else {
                out.push((name.clone(), value.clone()));
            }
        }
    }
    out
}

/// What an agent of its type must have.
fn missing(agent: &Agent, node: &Node, found: &mut Findings) {
    let (name, at) = (&agent.name.text, agent.name.span.clone());
    let given = |field: &str| node.get(field).is_some_and(|n| !n.is_nothing());
    let near = |field: &str| {
        let keys = node.members().iter().map(|(k, _)| k.text.as_str()).filter(|k| !agent.kind.fields().contains(k));
        like(field, keys).map(|n| format!("did you mean `{field}` where `{n}` stands?"))
    };
    if agent.description.is_none() && name != "main" {
        let help = near("description").unwrap_or_else(|| "write `description:` and what the agent is for; it decides who answers".to_owned());
        found.warning("adl-no-description", at.clone(), format!("the agent `{name}` has no description"), help);
    }
    let needed = match agent.kind {
        Kind::Flow => Some(("steps", "write `steps:` with a list of steps")),
        Kind::Llm => Some(("prompt", "write `prompt:` and what the agent is to do")),
        Kind::Ensemble if !given("contain") => Some(("contains", "write `contains:` with a list of agents")),
        Kind::Ensemble | Kind::Kb => None,
    };
    if let Some((field, help)) = needed.filter(|(field, _)| !given(field)) {
        // What is written without a value is wrong there.
        let written = node.members().iter().find(|(k, _)| k.text == field).map(|(k, _)| k.span.clone());
        found.error(
            "adl-missing-field",
            written.unwrap_or_else(|| at.clone()),
            format!("the {} `{name}` has no `{field}`", agent.kind.name()),
            near(field).unwrap_or_else(|| help.to_owned()),
        );
    }
    if agent.kind == Kind::Kb && agent.faq.is_empty() && agent.sources.is_empty() && !given("faq") && !given("sources") {
        let help = near("faq").or_else(|| near("sources")).unwrap_or_else(|| "write `faq:` or `sources:`".to_owned());
        found.warning("adl-knows-nothing", at, format!("the kb agent `{name}` has neither questions nor sources, so it never answers"), help);
    }
}
