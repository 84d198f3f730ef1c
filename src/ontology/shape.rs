//! The declared shape of `view` atoms: how they look outside, and back.
//!
//! Inside, what the rules show of a conversation is sorted `view(Name, …)` atoms. A domain's `view:` section says how
//! they are shown as JSON (`step`, `understand`) and as text (`/order`): values, lists of values, and lines with changes
//! and parts. A domain without the section shows every atom as a list under its name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::conversation::{Line, Part, View};
use crate::term::{Atom, Name, Term};

/// The predicate of what the rules show.
pub const VIEW: &str = "view";

/// How a domain's `view` atoms are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// What is shown, in this order; empty if the domain declares nothing.
    pub fields: Vec<Field>,
    /// The template of the text, over the fields by their names.
    pub text: Option<String>,
    /// What is said of a conversation that the text has no line for.
    pub nothing: Option<String>,
}

/// One thing shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// `view(Name, X)` as the value of a key.
    Value {
        /// The name, which is the key too.
        name: Name,
        /// What the value is.
        sort: ValueSort,
        /// Shown as an empty text where the rules show none.
        always: bool,
    },
    /// Every `view(Name, X)` as a list, left out where it is empty.
    Values {
        /// The name, which is the key too.
        name: Name,
        /// What a value is.
        sort: ValueSort,
        /// The key of the object that holds the list.
        under: Option<Name>,
    },
    /// Instances of items with their changes and parts.
    Lines(Box<Lines>),
}

/// How a value that is shown as text is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSort {
    /// A name in quotes.
    Name,
    /// A constant where the text can be one.
    Constant,
}

/// The atoms of lines, and the keys under which they are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The key of the list.
    pub name: Name,
    /// `view(line, Place, Item)`.
    pub line: Name,
    /// `view(change, Place, Wrap(Op, Option))`: the predicate and the function.
    pub change: Option<(Name, Name)>,
    /// `view(part, Place, Wrap(Rank, Slot, Fill))`: the predicate and the function. A fill that is no name is an open slot.
    pub part: Option<(Name, Name)>,
    /// `view(part_change, Place, Slot, Wrap(Op, Option))`.
    pub part_change: Option<(Name, Name)>,
    /// The keys inside a line.
    pub keys: Keys,
}

/// The keys inside a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The running number, from 1.
    pub number: String,
    /// The item.
    pub item: String,
    /// The changes, of lines and of parts.
    pub changes: String,
    /// The parts; left out where there are none.
    pub parts: String,
    /// The slot of a part.
    pub slot: String,
    /// What fills it.
    pub fill: String,
}

/// Why a text or an object is not of the shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotOfShape(String);

impl Shape {
    /// What a conversation shows, for those who read it inside.
    pub fn view(&self, atoms: Vec<Atom>) -> View {
        let lines = self.lines().map(|l| l.gather(&atoms)).unwrap_or_default();
        View::new(atoms, lines)
    }

    fn lines(&self) -> Option<&Lines> {
        self.fields.iter().find_map(|f| if let Field::Lines(l) = f { Some(&**l) } else { None })
    }

    /// `view` atoms as JSON.
    pub fn shown(&self, atoms: &[Atom]) -> Value {
        let mut out = Map::new();
        if self.fields.is_empty() {
            let mut lists: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
            for atom in atoms {
                if let Some((Term::Const(name), values)) = atom.args.split_first() {
                    lists.entry(name).or_default().push(told(values));
                }
            }
            out.extend(lists.into_iter().map(|(name, values)| (name.to_owned(), Value::Array(values))));
        }
        for field in &self.fields {
            match field {
                Field::Value { name, always, .. } => match (values_of(atoms, name).next_back(), always) {
                    (Some(value), _) => drop(out.insert(name.to_string(), plain(value))),
                    (None, true) => drop(out.insert(name.to_string(), "".into())),
                    (None, false) => {}
                },
                Field::Values { name, under, .. } => {
                    let list: Vec<Value> = values_of(atoms, name).map(plain).collect();
                    if list.is_empty() {
                        continue;
                    }
                    let into = match under {
                        None => Some(&mut out),
                        Some(key) => out.entry(key.to_string()).or_insert_with(|| Map::new().into()).as_object_mut(),
                    };
                    into.map(|o| o.insert(name.to_string(), list.into()));
                }
                Field::Lines(lines) => drop(out.insert(lines.name.to_string(), lines.shown(&lines.gather(atoms)))),
            }
        }
        out.into()
    }

    /// The lines alone as JSON, for a prompt; `None` where there are none.
    pub fn lines_shown(&self, view: &View) -> Option<Value> {
        self.lines().filter(|_| !view.lines().is_empty()).map(|l| l.shown(view.lines()))
    }

    /// JSON as `view` atoms, sorted: the same shape turned round. Keys that are not declared are passed over.
    pub fn atoms(&self, shown: &Map<String, Value>) -> Result<Vec<Atom>, NotOfShape> {
        let mut out = vec![];
        if self.fields.is_empty() {
            for (name, values) in shown {
                let values = values.as_array().map_or(&[][..], Vec::as_slice);
                let terms = |v: &Value| v.as_array().map_or(std::slice::from_ref(v), Vec::as_slice).iter().map(|v| term(v, ValueSort::Constant)).collect();
                out.extend(values.iter().map(|v| shows(name, terms(v))));
            }
        }
        for field in &self.fields {
            match field {
                Field::Value { name, sort, .. } => {
                    let given = shown.get(&**name).filter(|v| !v.is_null() && v.as_str() != Some(""));
                    out.extend(given.map(|v| shows(name, vec![term(v, *sort)])));
                }
                Field::Values { name, sort, under } => {
                    let holder = under.as_ref().map_or(Some(shown), |u| shown.get(&**u).and_then(Value::as_object));
                    let list = holder.and_then(|h| h.get(&**name)).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                    out.extend(list.iter().map(|v| shows(name, vec![term(v, *sort)])));
                }
                Field::Lines(lines) => {
                    let given = shown.get(&*lines.name).filter(|v| !v.is_null());
                    let list = given.map_or(Ok(&[][..]), |v| v.as_array().map(Vec::as_slice).ok_or_else(|| wrong(&lines.name, "a list of lines")))?;
                    for (place, line) in (1..).zip(list) {
                        lines.atoms_of(place, line, &mut out)?;
                    }
                }
            }
        }
        out.sort();
        out.dedup();
        Ok(out)
    }

    /// `view` atoms as text, line by line.
    pub fn text(&self, atoms: &[Atom]) -> Result<Vec<String>, NotOfShape> {
        let shown = self.shown(atoms);
        let Some(template) = &self.text else {
            let list = |v: &Value| v.as_array().map_or_else(|| told_text(v), |l| l.iter().map(told_text).collect::<Vec<_>>().join(", "));
            return Ok(shown.as_object().into_iter().flatten().map(|(name, value)| format!("{name}: {}", list(value))).collect());
        };
        let text = environment().render_str(template, for_template(&shown)).map_err(|e| NotOfShape(format!("the text of `view`: {e:#}")))?;
        Ok(text.lines().filter(|l| !l.trim().is_empty()).map(|l| l.trim_end().to_owned()).collect())
    }
}

/// What is wrong with the template of a text, before anybody asks for it.
pub fn template_error(template: &str) -> Option<String> {
    environment().template_from_str(template).err().map(|e| format!("{e:#}"))
}

fn environment() -> minijinja::Environment<'static> {
    let mut environment = minijinja::Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Chainable);
    environment.add_filter("money", |cents: i64| format!("${}.{:02}", cents / 100, cents % 100));
    environment
}

fn for_template(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(b) => (*b).into(),
        Value::Number(n) => n.as_i64().map_or_else(|| n.to_string().into(), minijinja::Value::from),
        Value::String(s) => s.as_str().into(),
        Value::Array(list) => list.iter().map(for_template).collect(),
        Value::Object(map) => minijinja::Value::from_pairs(map.iter().map(|(k, v)| (k.as_str(), for_template(v)))),
    }
}

impl Lines {
    /// The lines that the atoms describe, in the order of their places; parts in the order of their ranks.
    fn gather(&self, atoms: &[Atom]) -> Vec<Line> {
        let mut lines: BTreeMap<i32, Line> = BTreeMap::new();
        let mut parts: BTreeMap<i32, Vec<(&Term, Part)>> = BTreeMap::new();
        let is = |name: &Term, form: &Option<(Name, Name)>| form.as_ref().is_some_and(|(n, _)| matches!(name, Term::Const(c) if c == n));
        for atom in atoms.iter().filter(|a| &*a.name == VIEW) {
            match atom.args.as_slice() {
                [Term::Const(c), Term::Int(p), item] if *c == self.line => lines.entry(*p).or_default().item = name(item),
                [c, Term::Int(p), change] if is(c, &self.change) => lines.entry(*p).or_default().changes.extend(unwrapped(change)),
                [c, Term::Int(p), Term::Fun(_, part)] if is(c, &self.part) => {
                    let [rank, slot, fill] = part.as_slice() else { continue };
                    let fill = if let Term::Str(s) = fill { Some(s.clone()) } else { None };
                    parts.entry(*p).or_default().push((rank, Part { slot: name(slot), fill, changes: vec![] }));
                }
                _ => {}
            }
        }
        for atom in atoms.iter().filter(|a| &*a.name == VIEW) {
            let [c, Term::Int(p), slot, change] = atom.args.as_slice() else { continue };
            let part = parts.get_mut(p).filter(|_| is(c, &self.part_change)).into_iter().flatten().find(|(_, part)| part.slot == name(slot));
            if let Some((_, part)) = part {
                part.changes.extend(unwrapped(change));
            }
        }
        for (place, mut members) in parts {
            members.sort_by(|a, b| (a.0, &a.1.slot).cmp(&(b.0, &b.1.slot)));
            let Some(line) = lines.get_mut(&place) else { continue };
            line.parts = members.into_iter().map(|(_, p)| p).collect();
        }
        lines.into_values().collect()
    }

    fn shown(&self, lines: &[Line]) -> Value {
        let keys = &self.keys;
        let changes = |all: &[Atom]| {
            let mut texts: Vec<String> = all.iter().map(ToString::to_string).collect();
            texts.sort();
            Value::from(texts)
        };
        let part = |p: &Part| {
            let fill = p.fill.as_deref().map_or(Value::Null, Value::from);
            Value::Object(
                [(keys.slot.clone(), (&*p.slot).into()), (keys.fill.clone(), fill), (keys.changes.clone(), changes(&p.changes))].into_iter().collect(),
            )
        };
        let line = |(number, l): (i64, &Line)| {
            let mut out: Map<String, Value> =
                [(keys.number.clone(), number.into()), (keys.item.clone(), (&*l.item).into()), (keys.changes.clone(), changes(&l.changes))]
                    .into_iter()
                    .collect();
            if !l.parts.is_empty() {
                out.insert(keys.parts.clone(), l.parts.iter().map(part).collect());
            }
            Value::Object(out)
        };
        (1..).zip(lines).map(line).collect()
    }

    fn atoms_of(&self, place: i32, line: &Value, out: &mut Vec<Atom>) -> Result<(), NotOfShape> {
        let (keys, at) = (&self.keys, Term::Int(place));
        let item = line.get(&keys.item).and_then(Value::as_str).ok_or_else(|| wrong(&keys.item, "the name of an item"))?;
        out.push(shows(&self.line, vec![at.clone(), Term::string(item)]));
        for change in self.changes_of(line)? {
            out.extend(self.change.as_ref().map(|(name, wrap)| shows(name, vec![at.clone(), wrapped(wrap, &change)])));
        }
        let parts = line.get(&keys.parts).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (rank, part) in (1..).zip(parts) {
            let Some((name, wrap)) = &self.part else { continue };
            let slot = part.get(&keys.slot).and_then(Value::as_str).ok_or_else(|| wrong(&keys.slot, "the name of a slot"))?;
            let fill = part.get(&keys.fill).and_then(Value::as_str).map_or_else(|| Term::constant("none"), Term::string);
            out.push(shows(name, vec![at.clone(), Term::Fun(wrap.clone(), vec![Term::Int(rank), Term::string(slot), fill])]));
            for change in self.changes_of(part)? {
                out.extend(self.part_change.as_ref().map(|(name, wrap)| shows(name, vec![at.clone(), Term::string(slot), wrapped(wrap, &change)])));
            }
        }
        Ok(())
    }

    fn changes_of(&self, of: &Value) -> Result<Vec<Atom>, NotOfShape> {
        let list = of.get(&self.keys.changes).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let read = |v: &Value| v.as_str().and_then(|t| Atom::parse(t).ok()).ok_or_else(|| wrong(&self.keys.changes, "changes such as add(\"Beans\")"));
        list.iter().map(read).collect()
    }
}

fn wrong(key: &str, what: &str) -> NotOfShape {
    NotOfShape(format!("`{key}` is not {what}"))
}

fn shows(name: &str, mut args: Vec<Term>) -> Atom {
    args.insert(0, Term::constant(name));
    Atom::new(VIEW, args)
}

/// The values of `view(Name, X)`, in the atoms' order.
pub fn values_of<'a>(atoms: &'a [Atom], name: &'a str) -> impl DoubleEndedIterator<Item = &'a Term> {
    atoms.iter().filter_map(move |a| match a.args.as_slice() {
        [Term::Const(c), value] if &*a.name == VIEW && &**c == name => Some(value),
        _ => None,
    })
}

/// `m(add,"Beans")` as `add("Beans")`.
fn unwrapped(term: &Term) -> Option<Atom> {
    match term {
        Term::Fun(_, args) => args.split_first().and_then(|(op, rest)| Some(Atom { name: op.as_name()?.into(), args: rest.to_vec() })),
        _ => None,
    }
}

fn wrapped(wrap: &Name, change: &Atom) -> Term {
    Term::Fun(wrap.clone(), std::iter::once(Term::Const(change.name.clone())).chain(change.args.iter().cloned()).collect())
}

fn name(term: &Term) -> Name {
    match term {
        Term::Const(n) | Term::Str(n) => n.clone(),
        other => other.to_string().into(),
    }
}

fn plain(term: &Term) -> Value {
    match term {
        Term::Int(n) => (*n).into(),
        Term::Const(n) | Term::Str(n) => (&**n).into(),
        other => other.to_string().into(),
    }
}

fn told(values: &[Term]) -> Value {
    match values {
        [one] => plain(one),
        all => all.iter().map(plain).collect(),
    }
}

fn told_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn term(value: &Value, sort: ValueSort) -> Term {
    let number = value.as_i64().and_then(|n| i32::try_from(n).ok());
    let text = told_text(value);
    match (number, sort) {
        (Some(n), _) => Term::Int(n),
        (None, ValueSort::Name) => Term::string(&text),
        (None, ValueSort::Constant) => Term::parse(&text).unwrap_or_else(|_| Term::string(&text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::ontology::parse;
    use serde_json::json;

    fn drive_thru() -> Shape {
        parse::ontology(&Source::new("ontology.yaml", include_str!("../../kb/drive_thru/ontology.yaml"))).0.unwrap().view
    }

    fn atoms(texts: &[&str]) -> Vec<Atom> {
        let mut out: Vec<Atom> = texts.iter().map(|t| Atom::parse(&format!("view({t})")).unwrap()).collect();
        out.sort();
        out
    }

    /// Lines are numbered by place, parts stand in the order of their ranks, an open slot is null.
    #[test]
    fn an_order_is_shown_as_declared_and_read_back() {
        let view = atoms(&[
            "status,open",
            "line,2,\"Soft Taco\"",
            "line,7,\"Combo\"",
            "mod,2,m(no,\"Beef\")",
            "mod,2,m(change,swap(\"Lettuce\",\"Beans\"))",
            "part,7,part(1,\"Drink Choice\",none)",
            "part,7,part(0,\"Taco Choice\",\"Soft Taco\")",
            "part_mod,7,\"Taco Choice\",m(add,\"Beans\")",
            "price,398",
            "wished,\"Water\"",
        ]);
        let shown = drive_thru().shown(&view);
        let expected = json!({
            "status": "open",
            "order": [
                {"i": 1, "item": "Soft Taco", "mods": ["change(swap(\"Lettuce\",\"Beans\"))", "no(\"Beef\")"]},
                {"i": 2, "item": "Combo", "mods": [], "parts": [
                    {"slot": "Taco Choice", "dish": "Soft Taco", "mods": ["add(\"Beans\")"]},
                    {"slot": "Drink Choice", "dish": null, "mods": []},
                ]},
            ],
            "price": 398,
            "shows": {"wished": ["Water"]},
        });
        assert_eq!(shown.to_string(), expected.to_string(), "the order of the keys too");
        let back = drive_thru().atoms(shown.as_object().unwrap()).unwrap();
        assert_eq!(drive_thru().shown(&back), shown);
        assert_eq!(
            drive_thru().text(&view).unwrap(),
            [
                "1. Soft Taco [change(swap(\"Lettuce\",\"Beans\")), no(\"Beef\")]",
                "2. Combo",
                "     Taco Choice: Soft Taco [add(\"Beans\")]",
                "     Drink Choice: (open)",
                "wished: Water",
                "total so far: $3.98",
            ]
        );
    }

    #[test]
    fn a_conversation_that_shows_nothing_has_its_empty_state() {
        assert_eq!(drive_thru().shown(&[]).to_string(), r#"{"status":"","order":[]}"#);
        assert_eq!(drive_thru().text(&[]).unwrap(), [""; 0]);
    }

    #[test]
    fn without_a_declaration_every_atom_is_shown_under_its_name() {
        let view = atoms(&["status,open", "task,book", "seat,1,\"window\""]);
        let shown = Shape::default().shown(&view);
        assert_eq!(shown, json!({"seat": [[1, "window"]], "status": ["open"], "task": ["book"]}));
        assert_eq!(Shape::default().text(&view).unwrap(), ["seat: [1,\"window\"]", "status: open", "task: book"]);
    }

    #[test]
    fn what_is_not_of_the_shape_is_an_error_and_no_empty_order() {
        for wrong in [json!({"order": "x"}), json!({"order": [{"mods": []}]}), json!({"order": [{"item": "Soft Taco", "mods": ["add("]}]})] {
            assert!(drive_thru().atoms(wrong.as_object().unwrap()).is_err(), "{wrong}");
        }
    }
}
