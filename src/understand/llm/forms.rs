//! What a role may say, as typed forms: the common ground of the prompt, the schema, the grammar, and the strict reader of replies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::names::Names;
use crate::llm::json::read_strict;
use crate::ontology::{Arg, MAX_NAME, Ontology, Scope, Sort};
use crate::term::{Atom, Name, Term};
use crate::text::words;

/// The most problems that a repair message lists.
const MAX_PROBLEMS: usize = 6;
/// Names in the speaker's own words have at most so many words.
const SPAN_WORDS: usize = 5;
/// Utterances with more spans than this are not enumerated.
const MAX_SPANS: usize = 160;

/// One thing that may be said.
#[derive(Clone, Debug)]
pub struct Form {
    /// The form as the ontology writes it; it is the value of the key `form` in replies.
    pub text: String,
    /// Its meaning.
    pub means: String,
    /// Its open arguments, from left to right.
    pub fields: Vec<Field>,
    pub(super) name: Name,
    pub(super) args: Vec<Arg>,
}

/// An open argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its key in replies: the sort's name, numbered from the second on.
    pub key: String,
    /// What it may be.
    pub sort: Name,
}

/// What a value of a sort may be: any of these alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// Closed constants.
    pub constants: Vec<Name>,
    /// Names declared by these facts.
    pub facts: Vec<Name>,
    /// Whether a name that is unknown is meant as a new one.
    pub new: bool,
    /// A whole number: smallest, largest, clamped.
    pub int: Option<(i32, i32, bool)>,
}

impl Kind {
    /// Whether the speaker's own words may stand for a name.
    pub fn own_words(&self) -> bool {
        self.new || !self.facts.is_empty()
    }
}

/// A role's forms with the kinds of their sorts.
#[derive(Clone, Debug)]
pub struct Forms {
    /// The role.
    pub role: Name,
    /// Forms in the ontology's order.
    pub forms: Vec<Form>,
    /// Kinds of the sorts that occur in them.
    pub kinds: BTreeMap<Name, Kind>,
    ontology: Arc<Ontology>,
}

/// A reply that is no list of this role's predicates: what is wrong, in words for the repair round.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Problems(pub Vec<String>);

impl Forms {
    /// The forms of a role.
    pub fn of(ontology: &Arc<Ontology>, role: &str) -> Self {
        let mut forms = Vec::new();
        for input in ontology.inputs_of(role) {
            let mut fields = Vec::new();
            for arg in &input.args {
                collect(arg, &mut fields);
            }
            forms.push(Form { text: input.to_string(), means: input.means.clone(), fields, name: input.name.clone(), args: input.args.clone() });
        }
        let sorts: BTreeSet<Name> = forms.iter().flat_map(|f| f.fields.iter().map(|x| x.sort.clone())).collect();
        let kinds = sorts.into_iter().map(|s| (s.clone(), kind_of(ontology, role, &s, 0))).collect();
        Self { role: role.into(), forms, kinds, ontology: ontology.clone() }
    }

    /// The ontology they come from.
    pub fn ontology(&self) -> &Ontology {
        &self.ontology
    }

    /// Reads a reply. All of it must be well-typed predicates of this role; names must be known or literally said.
    pub fn read(&self, reply: &str, utterance: &str, names: &Names, most: usize) -> Result<Vec<Atom>, Problems> {
        let value = read_strict(reply).map_err(|e| Problems(vec![format!("the reply is not one JSON object: {e}")]))?;
        let list = match &value {
            Value::Object(map) if map.len() == 1 => map.get("predicates").and_then(Value::as_array),
            _ => None,
        };
        let list = list.ok_or_else(|| Problems(vec!["the reply must be an object with the one key `predicates`, a list".into()]))?;
        if list.len() > most {
            return Err(Problems(vec![format!("{} predicates are too many; at most {most}", list.len())]));
        }
        let (mut atoms, mut problems) = (Vec::new(), Vec::new());
        for (at, item) in list.iter().enumerate() {
            let read = item.as_str().map_or_else(|| self.read_one(item, utterance, names), |line| self.read_line(line, utterance, names));
            match read {
                Ok(atom) => atoms.push(atom),
                Err(problem) if problems.len() < MAX_PROBLEMS => problems.push(format!("predicates[{at}]: {problem}")),
                Err(_) => {}
            }
        }
        if problems.is_empty() { Ok(atoms) } else { Err(Problems(problems)) }
    }

    fn read_one(&self, item: &Value, utterance: &str, names: &Names) -> Result<Atom, String> {
        let map = item.as_object().ok_or("not an object")?;
        let text = map.get("form").and_then(Value::as_str).ok_or("the key `form` is missing")?;
        let form = self.forms.iter().find(|f| f.text == text).ok_or_else(|| format!("`{}` is none of the forms", crate::text::shorten(text, 60)))?;
        if let Some(odd) = map.keys().find(|k| *k != "form" && !form.fields.iter().any(|f| f.key == **k)) {
            return Err(format!("`{}` is no key of the form `{text}`", crate::text::shorten(odd, 40)));
        }
        let mut terms = Vec::with_capacity(form.fields.len());
        for field in &form.fields {
            let value = map.get(&field.key).ok_or_else(|| format!("the key `{}` is missing", field.key))?;
            let term = self.kinds.get(&field.sort).and_then(|k| read_value(value, k, utterance, names));
            terms.push(term.ok_or_else(|| format!("`{}` is no value for `{}`", crate::text::shorten(&value.to_string(), 60), field.key))?);
        }
        let mut rest = terms.into_iter();
        let args: Option<Vec<Term>> = form.args.iter().map(|a| fill(a, &mut rest)).collect();
        self.admitted(form, args.ok_or("an argument is missing")?)
    }

    /// The ontology's own gate has the last word, whatever was generated from it.
    fn admitted(&self, form: &Form, args: Vec<Term>) -> Result<Atom, String> {
        self.ontology.admit_atom(&self.role, &Atom { name: form.name.clone(), args }).map_err(|(_, message)| message)
    }

    /// Reads the short notation: the predicate itself.
    fn read_line(&self, line: &str, utterance: &str, names: &Names) -> Result<Atom, String> {
        let shortly = crate::text::shorten(line, 60);
        let said = Atom::parse(line).map_err(|e| format!("`{shortly}`: {e}"))?;
        let mut problem = format!("`{shortly}` is none of the forms");
        let fits = |(arg, term): (&Arg, &Term)| match arg {
            Arg::Sort(_) => true,
            Arg::Literal(wanted) => wanted == term,
            Arg::Fun(name, _) => matches!(term, Term::Fun(other, _) if name == other),
        };
        let alike = |f: &&Form| f.name == said.name && f.args.len() == said.args.len() && f.args.iter().zip(&said.args).all(fits);
        for form in self.forms.iter().filter(alike) {
            let args = form.args.iter().zip(&said.args).map(|(arg, term)| self.read_arg(arg, term, utterance, names));
            match args.collect::<Result<_, _>>() {
                Ok(args) => return self.admitted(form, args),
                Err(other) => problem = other,
            }
        }
        Err(problem)
    }

    fn read_arg(&self, arg: &Arg, term: &Term, utterance: &str, names: &Names) -> Result<Term, String> {
        match (arg, term) {
            (Arg::Literal(wanted), term) if wanted == term => Ok(term.clone()),
            (Arg::Fun(name, args), Term::Fun(other, terms)) if name == other && args.len() == terms.len() => {
                let terms = args.iter().zip(terms).map(|(a, t)| self.read_arg(a, t, utterance, names));
                Ok(Term::Fun(name.clone(), terms.collect::<Result<_, _>>()?))
            }
            (Arg::Sort(sort), term) => {
                let read = self.kinds.get(sort).and_then(|kind| read_value(&value_of(term), kind, utterance, names));
                read.ok_or_else(|| format!("`{}` is no value for `{sort}`", crate::text::shorten(&term.to_string(), 60)))
            }
            (arg, term) => Err(format!("`{}` stands where `{arg}` belongs", crate::text::shorten(&term.to_string(), 60))),
        }
    }

    /// The form that an atom fits, if it fits one of this role's.
    pub fn form_of(&self, atom: &Atom) -> Option<&Form> {
        let fits = |f: &&Form| f.name == atom.name && f.args.len() == atom.args.len() && f.args.iter().zip(&atom.args).all(|(p, t)| self.ontology.fits(t, p));
        self.forms.iter().find(fits)
    }

    /// An atom in the short notation of replies: a name that is not known stands as `said("…")`; `None` when it fits no form of this role.
    pub fn line(&self, atom: &Atom, names: &Names) -> Option<String> {
        let form = self.form_of(atom)?;
        let args = form.args.iter().zip(&atom.args).map(|(arg, term)| self.spoken(arg, term, names));
        Some(Atom { name: atom.name.clone(), args: args.collect::<Option<_>>()? }.to_string())
    }

    fn spoken(&self, arg: &Arg, term: &Term, names: &Names) -> Option<Term> {
        Some(match (arg, term) {
            (Arg::Sort(sort), Term::Str(name)) if names.known(&self.kinds.get(sort)?.facts, name).is_none() => Term::Fun("said".into(), vec![term.clone()]),
            (Arg::Fun(_, args), Term::Fun(name, terms)) => {
                Term::Fun(name.clone(), args.iter().zip(terms).map(|(a, t)| self.spoken(a, t, names)).collect::<Option<_>>()?)
            }
            _ => term.clone(),
        })
    }

    /// An atom in the notation of replies, for the prompt's examples; `None` when it fits no form of this role.
    pub fn write(&self, atom: &Atom, names: &Names) -> Option<Value> {
        let form = self.form_of(atom)?;
        let mut values = Vec::new();
        for (arg, term) in form.args.iter().zip(&atom.args) {
            open_terms(arg, term, &mut values);
        }
        let mut map = Map::new();
        map.insert("form".into(), json!(form.text));
        for (field, term) in form.fields.iter().zip(values) {
            let kind = self.kinds.get(&field.sort)?;
            let value = match term {
                Term::Int(n) => json!(n),
                Term::Const(c) => json!(&**c),
                Term::Str(s) if names.known(&kind.facts, s).is_some() => json!(&**s),
                Term::Str(s) => json!({"said": &**s}),
                Term::Fun(..) => return None,
            };
            map.insert(field.key.clone(), value);
        }
        Some(Value::Object(map))
    }
}

fn collect(arg: &Arg, fields: &mut Vec<Field>) {
    match arg {
        Arg::Sort(sort) => {
            let before = fields.iter().filter(|f| f.sort == *sort).count();
            let key = if before == 0 { sort.to_string() } else { format!("{sort}_{}", before + 1) };
            fields.push(Field { key, sort: sort.clone() });
        }
        Arg::Literal(_) => {}
        Arg::Fun(_, args) => args.iter().for_each(|a| collect(a, fields)),
    }
}

fn fill(arg: &Arg, terms: &mut impl Iterator<Item = Term>) -> Option<Term> {
    match arg {
        Arg::Sort(_) => terms.next(),
        Arg::Literal(t) => Some(t.clone()),
        Arg::Fun(name, args) => Some(Term::Fun(name.clone(), args.iter().map(|a| fill(a, terms)).collect::<Option<_>>()?)),
    }
}

fn open_terms<'t>(arg: &Arg, term: &'t Term, out: &mut Vec<&'t Term>) {
    match (arg, term) {
        (Arg::Sort(_), t) => out.push(t),
        (Arg::Fun(_, args), Term::Fun(_, terms)) => args.iter().zip(terms).for_each(|(a, t)| open_terms(a, t, out)),
        _ => {}
    }
}

fn kind_of(ontology: &Ontology, role: &str, sort: &str, depth: usize) -> Kind {
    let every_name =
        || ontology.sorts.values().filter_map(|s| if let Sort::Names(facts) = s { Some(facts.clone()) } else { None }).flatten().collect::<BTreeSet<_>>();
    match ontology.sorts.get(sort) {
        Some(Sort::Values(list)) => Kind { constants: list.clone(), ..Kind::default() },
        Some(Sort::Names(facts)) => Kind { facts: facts.clone(), ..Kind::default() },
        Some(Sort::NewName) => Kind { facts: every_name().into_iter().collect(), new: true, ..Kind::default() },
        Some(Sort::Int { min, max, clamp }) => Kind { int: Some((*min, *max, *clamp)), ..Kind::default() },
        // An open sort is closed for a model: the constants that the ontology itself uses, every name, and numbers.
        Some(Sort::Any) => {
            Kind { constants: constants_of(ontology, role), facts: every_name().into_iter().collect(), new: true, int: Some((0, 1_000_000, false)) }
        }
        Some(Sort::Union(parts)) if depth < 8 => parts.iter().map(|p| kind_of(ontology, role, p, depth + 1)).fold(Kind::default(), |mut a, b| {
            a.constants.extend(b.constants);
            a.facts.extend(b.facts);
            a.new |= b.new;
            a.int = a.int.or(b.int);
            a
        }),
        _ => Kind::default(),
    }
}

/// Constants that occur in closed sorts, in the role's own examples, and as predicates of durable facts.
fn constants_of(ontology: &Ontology, role: &str) -> Vec<Name> {
    let mut all: BTreeSet<Name> = ontology.sorts.values().filter_map(|s| if let Sort::Values(v) = s { Some(v.clone()) } else { None }).flatten().collect();
    all.extend(ontology.facts.iter().filter(|f| f.scope == Scope::Kb && f.args.len() == 2).map(|f| f.name.clone()));
    for example in ontology.inputs_of(role).flat_map(|i| &i.examples) {
        all.extend(example.means.iter().flat_map(|a| &a.args).filter_map(|t| if let Term::Const(c) = t { Some(c.clone()) } else { None }));
    }
    all.into_iter().collect()
}

/// A term as the value that a reply in JSON would have there.
fn value_of(term: &Term) -> Value {
    match term {
        Term::Int(n) => json!(n),
        Term::Const(text) | Term::Str(text) => json!(&**text),
        Term::Fun(said, args) => match args.as_slice() {
            [Term::Const(text) | Term::Str(text)] if &**said == "said" => json!({ "said": &**text }),
            _ => Value::Null,
        },
    }
}

fn read_value(value: &Value, kind: &Kind, utterance: &str, names: &Names) -> Option<Term> {
    match value {
        Value::String(text) => {
            if let Some(c) = kind.constants.iter().find(|c| ***c == **text) {
                return Some(Term::Const(c.clone()));
            }
            names.known(&kind.facts, text).map(|n| Term::Str(n.clone()))
        }
        Value::Number(n) => {
            let (min, max, clamp) = kind.int?;
            let n = n.as_i64().or_else(|| n.as_u64().map(|_| i64::MAX))?;
            let n = if clamp { n.min(max.into()) } else { n };
            (i64::from(min)..=i64::from(max)).contains(&n).then(|| i32::try_from(n).ok().map(Term::Int))?
        }
        Value::Object(map) if map.len() == 1 && kind.own_words() => {
            let said = map.get("said")?.as_str()?;
            if let Some(known) = names.known(&kind.facts, said) {
                return Some(Term::Str(known.clone()));
            }
            let as_said = was_said(said, utterance)?;
            Some(Term::string(&if kind.new { title_case(&as_said) } else { as_said }))
        }
        _ => None,
    }
}

/// The words of `name` as one run of words of the utterance, if they are one: nothing is taken for a name that nobody said.
fn was_said(name: &str, utterance: &str) -> Option<String> {
    let (wanted, heard) = (words(name), words(utterance));
    if wanted.is_empty() || name.chars().count() > MAX_NAME {
        return None;
    }
    heard.windows(wanted.len()).any(|w| w == wanted.as_slice()).then(|| wanted.join(" "))
}

/// Every run of up to five words of the utterance, each once, in order; `None` when there are too many to enumerate.
pub fn spans(utterance: &str) -> Option<Vec<String>> {
    let heard = words(utterance);
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for size in 1..=SPAN_WORDS.min(heard.len()) {
        for run in heard.windows(size) {
            let text = run.join(" ");
            if seen.insert(text.clone()) {
                out.push(text);
            }
        }
        if out.len() > MAX_SPANS {
            return None;
        }
    }
    Some(out)
}

/// Names that somebody gives are written with capitals.
fn title_case(text: &str) -> String {
    let capital = |w: &str| {
        let mut chars = w.chars();
        chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
    };
    text.split(' ').map(capital).collect::<Vec<_>>().join(" ")
}
