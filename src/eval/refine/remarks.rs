//! Reads a designer's remark as changes, without a model: the forms that remarks about flows usually have.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::RefineError;
use super::design::{DESIGN, first_of};
use super::patch::{Change, Patch, flow_json, id_of, slot_name};
use crate::diag::Source;
use crate::text;

/// A slot and where it is.
#[derive(Clone, Debug)]
pub struct SlotAt {
    /// Its node.
    pub node: i64,
    /// Its name.
    pub name: String,
    /// The act that asks for it.
    pub ask: String,
    /// The ways it is named in words.
    names: Vec<Vec<String>>,
    values: Vec<String>,
}

/// What remarks are matched with.
pub struct Vocabulary {
    flow: Value,
    /// All slots.
    pub slots: Vec<SlotAt>,
}

/// The words of a text, denials as words of their own, plural endings dropped.
pub fn words(text: &str) -> Vec<String> {
    text::words(&text.replace("n't", " not")).iter().map(|w| text::stem(w)).collect()
}

fn name_words(name: &str) -> Vec<String> {
    text::name_words(name).iter().map(|w| text::stem(w)).collect()
}

fn position(hay: &[String], needle: &[String]) -> Option<usize> {
    if needle.is_empty() { None } else { hay.windows(needle.len()).position(|w| w == needle) }
}

impl Vocabulary {
    /// Looks at a flow.
    pub fn new(source: &Source) -> Result<Self, RefineError> {
        let flow = flow_json(source)?;
        let mut slots = Vec::new();
        for node in flow.get("nodes").and_then(Value::as_array).into_iter().flatten() {
            let Some(id) = node.get("id").and_then(id_of) else { continue };
            let all: Vec<(String, &Value)> = match node.get("slots") {
                Some(Value::Array(l)) => l.iter().filter_map(|s| Some((slot_name(s)?.to_owned(), s))).collect(),
                Some(Value::Object(m)) => m.iter().map(|(k, v)| (k.clone(), v)).collect(),
                _ => Vec::new(),
            };
            for (name, s) in all {
                let text = |k: &str| s.get(k).and_then(Value::as_str);
                let mut names = vec![name_words(&name)];
                names.extend(text("label").map(words));
                names.sort();
                names.dedup();
                let values = s.get("values").and_then(Value::as_array).into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect();
                slots.push(SlotAt { node: id, ask: text("ask_action").map_or_else(|| format!("ask_{name}"), str::to_owned), name, names, values });
            }
        }
        Ok(Self { flow, slots })
    }

    fn nodes(&self) -> impl Iterator<Item = (i64, &Value)> {
        self.flow.get("nodes").and_then(Value::as_array).into_iter().flatten().filter_map(|n| Some((n.get("id").and_then(id_of)?, n)))
    }

    fn edges(&self) -> impl Iterator<Item = (i64, i64, Option<&str>)> {
        let end = |e: &Value, k: &str| e.get(k).and_then(id_of);
        let all = self.flow.get("edges").and_then(Value::as_array).into_iter().flatten();
        all.filter_map(move |e| Some((end(e, "source")?, end(e, "target")?, e.get("condition").and_then(Value::as_str))))
    }

    /// The slots that a text names, in its order; a longer name wins over a shorter one in it.
    fn named(&self, text: &[String]) -> Vec<&SlotAt> {
        let mut found: Vec<(usize, usize, &SlotAt)> = Vec::new();
        for s in &self.slots {
            let whole = s.names.iter().filter_map(|n| Some((position(text, n)?, n.len()))).max_by_key(|(p, n)| (*n, std::cmp::Reverse(*p)));
            // One telling word is enough when no other slot has it.
            let telling = || {
                let mine: BTreeSet<&String> = s.names.iter().flatten().filter(|w| w.len() > 3 && !DESIGN.empty.contains(w)).collect();
                let others = |w: &String| self.slots.iter().any(|o| o.name != s.name && o.names.iter().flatten().any(|x| x == w));
                text.iter().position(|w| mine.contains(w) && !others(w)).map(|p| (p, 1))
            };
            if let Some((p, n)) = whole.or_else(telling) {
                found.push((p, n, s));
            }
        }
        found.sort_by_key(|(p, n, s)| (*p, std::cmp::Reverse(*n), s.node, s.name.clone()));
        let mut out: Vec<(usize, usize, &SlotAt)> = Vec::new();
        for (p, n, s) in found {
            if !out.iter().any(|(q, m, o)| (p < q + m && *q < p + n) || o.name == s.name) {
                out.push((p, n, s));
            }
        }
        out.into_iter().map(|(_, _, s)| s).collect()
    }

    /// The act that a text is most likely about.
    fn act(&self, text: &[String]) -> Option<String> {
        let mut acts: Vec<(String, Vec<String>)> = Vec::new();
        acts.extend(self.flow.get("replies").and_then(Value::as_object).into_iter().flatten().map(|(k, _)| (k.clone(), name_words(k))));
        for (id, n) in self.nodes() {
            let keys = ["star_action", "action", "ask_action"].iter().filter(|_| n.get("type").and_then(Value::as_str) != Some("external_action"));
            let act = keys.filter_map(|k| n.get(*k)?.as_str()).next().map_or_else(|| format!("node_{id}"), str::to_owned);
            let mut about = name_words(&act);
            about.extend(n.get("message").and_then(Value::as_str).map(words).unwrap_or_default());
            acts.push((act, about));
        }
        let score = |about: &[String]| text.iter().filter(|w| !DESIGN.empty.contains(w) && about.contains(w)).collect::<BTreeSet<_>>().len();
        let best = acts.iter().map(|(a, about)| (score(about), std::cmp::Reverse(about.len()), a)).filter(|b| b.0 > 0).max();
        best.map(|b| b.2.clone())
    }

    /// The first node that calls a function which the text names, or the first one of all.
    fn call(&self, text: &[String]) -> Option<i64> {
        let calls: Vec<(i64, Vec<String>)> = self
            .nodes()
            .filter(|(_, n)| n.get("type").and_then(Value::as_str) == Some("external_action"))
            .map(|(id, n)| {
                let given = n.get("with").and_then(Value::as_object).into_iter().flat_map(|w| w.values());
                let name = ["query", "function"].iter().filter_map(|k| n.get(*k)).chain(given).filter_map(Value::as_str).map(name_words);
                (id, name.flatten().collect())
            })
            .collect();
        let named = |about: &[String]| text.iter().filter(|w| about.iter().any(|a| a == *w || (a.len() > 3 && w.starts_with(a.as_str())))).count();
        calls.iter().max_by_key(|(id, about)| (named(about), std::cmp::Reverse(*id))).map(|c| c.0)
    }

    /// The node at which something new is asked: the last request before the call, else the first request.
    fn asking_node(&self) -> Option<i64> {
        let is = |id: i64, kind: &str| self.nodes().any(|(i, n)| i == id && n.get("type").and_then(Value::as_str) == Some(kind));
        let call = self.call(&[])?;
        self.edges().find(|(s, t, _)| *t == call && is(*s, "request")).map(|e| e.0).or_else(|| self.first_request())
    }

    fn first_request(&self) -> Option<i64> {
        self.nodes().find(|(_, n)| n.get("type").and_then(Value::as_str) == Some("request")).map(|n| n.0)
    }

    fn new_id(&self) -> i64 {
        self.nodes().map(|n| n.0).max().unwrap_or(0) + 1
    }
}

/// Reads a remark; sentences that are no change are left out, and if none is one, that is an error.
pub fn from_remark(source: &Source, remark: &str) -> Result<Patch, RefineError> {
    let view = Vocabulary::new(source)?;
    let mut patch = Patch { flow: flow_title(&view.flow), because: remark.trim().to_owned(), changes: Vec::new() };
    for sentence in sentences(remark) {
        let read = read(&view, &sentence);
        patch.changes.extend(read.into_iter().filter(|c| !patch.changes.contains(c)).collect::<Vec<_>>());
    }
    if patch.changes.is_empty() { Err(RefineError::NotUnderstood) } else { Ok(patch) }
}

/// The flow's own name.
pub fn flow_title(flow: &Value) -> String {
    ["task", "name"].iter().find_map(|k| flow.get(*k)?.as_str()).unwrap_or_default().to_owned()
}

/// Sentences, with what stands in quotes kept whole.
pub fn sentences(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        let c = if matches!(c, '“' | '”') { '"' } else { c };
        if c == '"' {
            quoted = !quoted;
        }
        if !quoted && matches!(c, '.' | ';' | '!' | '\n') {
            out.push(String::new());
        } else if let Some(last) = out.last_mut() {
            last.push(c);
        }
    }
    out.iter().map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
}

/// What stands in double quotes.
fn quotes(sentence: &str) -> Vec<String> {
    sentence.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn set(slot: &SlotAt, member: &str, value: Value) -> Change {
    Change::SetSlot { node: slot.node, slot: slot.name.clone(), set: Map::from_iter([(member.to_owned(), value)]) }
}

fn read(view: &Vocabulary, sentence: &str) -> Vec<Change> {
    let quoted = quotes(sentence);
    let unquoted: String = sentence.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let text = words(&unquoted);
    let has = |phrase: &str| position(&text, &words(phrase)).is_some();
    let any = |phrases: &[String]| phrases.iter().any(|p| has(p));
    let r = &DESIGN.remark;
    let slots = view.named(&text);

    if any(&r.reply)
        && let Some(said) = quoted.first()
    {
        let asked = slots.first().filter(|_| any(&r.question)).map(|s| s.ask.clone());
        return asked.or_else(|| view.act(&text)).map(|act| Change::SetReply { act, text: said.clone() }).into_iter().collect();
    }
    if any(&r.synonym) {
        return synonym(view, sentence, &quoted);
    }
    if any(&r.either) && slots.len() > 1 {
        let names: Vec<&str> = slots.iter().map(|s| s.name.as_str()).collect();
        let rule = json!(format!("either {} is enough", names.join(" or ")));
        return slots.iter().map(|s| set(s, "rule", rule.clone())).collect();
    }
    if let ([first, second, ..], true) = (slots.as_slice(), any(&r.order))
        && first.node == second.node
        && !r.confirm.first().is_some_and(|c| has(c))
    {
        let (early, late) = if any(&r.later) { (second, first) } else { (first, second) };
        return vec![Change::MoveSlot { node: early.node, slot: early.name.clone(), before: Some(late.name.clone()) }];
    }
    if any(&r.remove) {
        return slots.iter().map(|s| Change::RemoveSlot { node: s.node, slot: s.name.clone() }).collect();
    }
    if any(&r.optional) {
        return slots.iter().map(|s| set(s, "required", json!(false))).collect();
    }
    if any(&r.confirm) && any(&r.earlier) {
        return confirm(view, &text, &unquoted);
    }
    if let Some(values) = listed_values(sentence)
        && let Some(slot) = slots.first()
    {
        let mut members = Map::from_iter([("type".to_owned(), json!("categorical")), ("values".to_owned(), json!(values))]);
        members.insert("open".to_owned(), Value::Null);
        return vec![Change::SetSlot { node: slot.node, slot: slot.name.clone(), set: members }];
    }
    if let Some((from, to, condition)) = way(view, &unquoted, &text) {
        return vec![Change::AddEdge { source: from, target: to, condition }];
    }
    if any(&r.required) && !slots.is_empty() {
        return slots.iter().map(|s| set(s, "required", json!(true))).collect();
    }
    if any(&r.ask) {
        return asks_for(view, &unquoted, &slots);
    }
    Vec::new()
}

/// `"NYC" means "New York"`: another word for a value that a slot lists.
fn synonym(view: &Vocabulary, sentence: &str, quoted: &[String]) -> Vec<Change> {
    let mut pair: Vec<String> = quoted.to_vec();
    if pair.len() < 2 {
        let lower = sentence.to_lowercase();
        if let Some((i, n)) = first_of(&lower, &DESIGN.remark.synonym_between) {
            let side = |s: Option<&str>| s.unwrap_or_default().trim().trim_matches('"').to_owned();
            pair = vec![side(sentence.get(..i)), side(sentence.get(i + n..))];
        }
    }
    let [a, b] = pair.as_slice() else { return Vec::new() };
    for slot in &view.slots {
        for (value, word) in [(b, a), (a, b)] {
            if let Some(value) = slot.values.iter().find(|v| v.eq_ignore_ascii_case(value)) {
                let old = view.flow.get("nodes").and_then(Value::as_array).into_iter().flatten().find(|n| n.get("id").and_then(id_of) == Some(slot.node));
                let of_slot = old.and_then(|n| match n.get("slots")? {
                    Value::Array(l) => l.iter().find(|s| slot_name(s) == Some(&slot.name)),
                    other => other.get(&slot.name),
                });
                let mut all = of_slot.and_then(|s| s.get("synonyms")?.as_object().cloned()).unwrap_or_default();
                let mut words = all.get(value).and_then(Value::as_array).cloned().unwrap_or_default();
                words.push(json!(word));
                all.insert(value.clone(), Value::Array(words));
                return vec![set(slot, "synonyms", Value::Object(all))];
            }
        }
    }
    Vec::new()
}

/// A node that confirms before a call: the ways into the call lead through it.
fn confirm(view: &Vocabulary, text: &[String], sentence: &str) -> Vec<Change> {
    let Some(call) = view.call(text) else { return Vec::new() };
    let id = view.new_id();
    let node = json!({"id": id, "type": "inform_and_confirm", "message": capital(sentence)});
    let mut out = vec![Change::AddNode { node: node.as_object().cloned().unwrap_or_default() }];
    let into: Vec<(i64, i64, Option<String>)> = view.edges().filter(|e| e.1 == call).map(|(s, t, c)| (s, t, c.map(str::to_owned))).collect();
    for (s, t, condition) in &into {
        out.push(Change::RemoveEdge { source: *s, target: *t });
        out.push(Change::AddEdge { source: *s, target: id, condition: condition.clone() });
    }
    out.push(Change::AddEdge { source: id, target: call, condition: Some("Yes".to_owned()) });
    if let Some(back) = into.first().map(|e| e.0).or_else(|| view.first_request()) {
        out.push(Change::AddEdge { source: id, target: back, condition: Some("No".to_owned()) });
    }
    out
}

/// The text with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut chars = text.trim().chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The values of "can only be A, B or C".
fn listed_values(sentence: &str) -> Option<Vec<String>> {
    let lower = sentence.to_lowercase();
    let (i, n) = first_of(&lower, &DESIGN.remark.listed)?;
    let rest = sentence.get(i + n..)?;
    let values: Vec<String> =
        listed(rest, &DESIGN.remark.joints).split(',').map(|v| v.trim().trim_matches(['"', ':', '\'']).to_owned()).filter(|v| !v.is_empty()).collect();
    (values.len() > 1 && values.iter().all(|v| v.split_whitespace().count() < 5)).then_some(values)
}

/// "After node 3, if the user declines, go to node 1".
fn way(view: &Vocabulary, sentence: &str, text: &[String]) -> Option<(i64, i64, Option<String>)> {
    let r = &DESIGN.remark;
    let goes = r.going.iter().any(|p| position(text, &words(p)).is_some());
    let known = |n: i64| view.nodes().any(|(id, _)| id == n);
    let numbers: Vec<i64> =
        text.iter().zip(text.iter().skip(1)).filter(|(a, _)| **a == r.node).filter_map(|(_, b)| b.parse().ok()).filter(|n| known(*n)).collect();
    let [from, to] = numbers.as_slice() else { return None };
    let lower = sentence.to_lowercase();
    let condition = DESIGN.conditions.iter().find_map(|w| {
        let at = lower.find(w.as_str())? + w.len();
        let rest = sentence.get(at..)?;
        let end = rest.find([',']).or_else(|| rest.to_lowercase().find(&r.until)).unwrap_or(rest.len());
        let said = rest.get(..end)?.trim();
        (!said.to_lowercase().contains(&r.node)).then(|| capital(said))
    });
    goes.then_some((*from, *to, condition))
}

/// "Also ask for the phone number": a new slot, or one that is asked already.
fn asks_for(view: &Vocabulary, sentence: &str, known: &[&SlotAt]) -> Vec<Change> {
    let lower = sentence.to_lowercase();
    let Some((i, n)) = first_of(&lower, &DESIGN.asked) else { return Vec::new() };
    let rest = lower.get(i + n..).unwrap_or_default();
    let end = DESIGN.asked_until.iter().filter_map(|w| rest.find(w.as_str())).min().unwrap_or(rest.len());
    let Some(node) = view.asking_node() else { return Vec::new() };
    let mut out = Vec::new();
    for phrase in things(rest.get(..end).unwrap_or_default()) {
        let text = words(&phrase);
        if known.iter().any(|s| s.names.contains(&text) || s.names.iter().any(|n| position(&text, n).is_some())) {
            continue;
        }
        let slot = new_slot(&phrase);
        out.push(Change::AddSlot { node, slot, before: None });
    }
    out
}

/// The things of a list in words: "the name, the phone number and a date".
pub fn things(text: &str) -> Vec<String> {
    let bare = |p: &str| {
        let kept: Vec<&str> = p.split_whitespace().skip_while(|w| DESIGN.empty.iter().chain(&DESIGN.before_things).any(|e| e == owner(w))).collect();
        kept.join(" ").trim_matches(['"', '?', ':', '.']).to_owned()
    };
    let bare = |p: &str| questioned(p.trim()).unwrap_or_else(|| bare(p));
    listed(text, &DESIGN.joints).split(',').map(bare).filter(|p| !p.is_empty() && p.split_whitespace().count() < 6).collect()
}

/// Whose a thing is: "user's" is of the user.
fn owner(word: &str) -> &str {
    ["'s", "’s", "'", "’"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)
}

/// The thing that a question within a sentence asks for: "where they want to go" is the place to go, "when the party starts" the time of the party.
fn questioned(phrase: &str) -> Option<String> {
    let mut said = phrase.split_whitespace();
    let noun = DESIGN.questions.get(said.next()?)?;
    let whose = said.clone().find(|w| !text::ENGLISH.is_article(w))?;
    let rest: Vec<&str> = said.filter(|w| ![&DESIGN.empty, &DESIGN.wanting].into_iter().flatten().any(|e| e == w || *e == text::stem(w))).collect();
    Some(match rest.as_slice() {
        [] => noun.clone(),
        [first, ..] if *first == whose => format!("{noun} of the {first}"),
        _ => format!("{noun} to {}", rest.join(" ")),
    })
}

/// A list with commas alone, joined by these.
fn listed(text: &str, joints: &[String]) -> String {
    joints.iter().fold(text.to_owned(), |text, joint| text.replace(joint.as_str(), ","))
}

/// A slot from the words for it, with the kind its words suggest.
pub fn new_slot(phrase: &str) -> Map<String, Value> {
    let text = words(phrase);
    let kind = DESIGN.values.iter().find(|v| text.iter().any(|w| v.words.contains(w))).map_or("string", |v| &v.kind);
    let name = phrase.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect::<Vec<_>>().join("_");
    let slot = json!({"name": name, "label": phrase, "type": kind});
    slot.as_object().cloned().unwrap_or_default()
}
