//! Reading an ontology file: YAML to types, every mistake with its place.

mod view;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{ActionForm, Arg, Example, FactDecl, FunctionDecl, InputForm, Ontology, Parameter, Role, Scope, Setting, Sort, StandIn};
use crate::diag::yaml::{self, line_span};
use crate::diag::{Diagnostic, Origin, Source, did_you_mean};
use crate::term::{Atom, Name, Read, Term};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    domain: String,
    title: String,
    sorts: BTreeMap<String, Spanned<SortText>>,
    facts: Vec<Spanned<FactText>>,
    roles: BTreeMap<String, RoleText>,
    inputs: Vec<Spanned<InputText>>,
    actions: Vec<Spanned<ActionText>>,
    #[serde(default)]
    view: Option<view::ViewText>,
    #[serde(default)]
    functions: Vec<Spanned<FunctionText>>,
    #[serde(default)]
    settings: Vec<Spanned<SettingText>>,
    #[serde(default)]
    reads: Option<String>,
}

/// What a sort admits.
#[derive(Deserialize)]
#[serde(try_from = "SortKeys")]
enum SortText {
    Values(Vec<String>),
    Names(Vec<String>),
    NewName,
    Int(Bounds),
    Union(Vec<String>),
    Any,
}

/// The same as a file has it: one of its keys, so that any other is named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SortKeys {
    values: Option<Vec<String>>,
    names: Option<Vec<String>>,
    new_name: Option<serde::de::IgnoredAny>,
    int: Option<Bounds>,
    union: Option<Vec<String>>,
    any: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    min: i32,
    max: i32,
    #[serde(default)]
    clamp: bool,
}

impl TryFrom<SortKeys> for SortText {
    type Error = &'static str;

    fn try_from(k: SortKeys) -> Result<Self, Self::Error> {
        let said = [
            k.values.map(Self::Values),
            k.names.map(Self::Names),
            k.new_name.map(|_| Self::NewName),
            k.int.map(Self::Int),
            k.union.map(Self::Union),
            k.any.map(|_| Self::Any),
        ];
        let mut said = said.into_iter().flatten();
        match (said.next(), said.next()) {
            (Some(one), None) => Ok(one),
            _ => Err("a sort has one of the keys values, names, new_name, int, union and any"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactText {
    form: String,
    scope: String,
    #[serde(default)]
    says: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingText {
    form: String,
    default: Scalar,
    means: String,
}

/// A value as YAML has it: a word or a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Number(i32),
    Word(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleText {
    title: String,
    rules: Vec<String>,
    #[serde(default)]
    may_change: Vec<String>,
    greeting: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputText {
    form: String,
    roles: Vec<String>,
    means: String,
    #[serde(default)]
    examples: Vec<Spanned<String>>,
    #[serde(default)]
    cost: Cost,
}

/// What a mistake costs.
#[derive(Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Cost {
    #[default]
    Low,
    High,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionText {
    form: String,
    means: String,
    #[serde(default)]
    told: bool,
    #[serde(default)]
    cited: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionText {
    name: String,
    about: String,
    #[serde(default)]
    inputs: Vec<ParameterText>,
    #[serde(default)]
    outputs: Vec<ParameterText>,
    roles: Vec<String>,
    #[serde(default)]
    idempotent: bool,
    #[serde(default = "timeout_ms")]
    timeout_ms: u64,
    #[serde(default)]
    retries: u32,
    #[serde(default)]
    stand_in: Vec<StandIn>,
}

fn timeout_ms() -> u64 {
    super::functions::TIMEOUT_MS
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterText {
    name: String,
    sort: String,
    #[serde(default)]
    list: bool,
    #[serde(default)]
    optional: bool,
}

/// Reads an ontology. With errors the value is absent; warnings come beside it.
pub fn ontology(source: &Source) -> (Option<Ontology>, Vec<Diagnostic>) {
    let file: File = match yaml::read(source, "O001") {
        Ok(f) => f,
        Err(d) => return (None, vec![d]),
    };
    let mut reader = Reader { source, sorts: BTreeMap::new(), diagnostics: vec![] };
    let ontology = reader.file(file);
    let ok = reader.diagnostics.iter().all(|d| d.severity != crate::diag::Severity::Error);
    (ok.then_some(ontology), reader.diagnostics)
}

struct Reader<'a> {
    source: &'a Source,
    sorts: BTreeMap<Name, Sort>,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn file(&mut self, file: File) -> Ontology {
        for (name, text) in &file.sorts {
            let sort = match &text.value {
                SortText::Values(v) => Sort::Values(names(v)),
                SortText::Names(v) => Sort::Names(names(v)),
                SortText::NewName => Sort::NewName,
                SortText::Int(b) => Sort::Int { min: b.min, max: b.max, clamp: b.clamp },
                SortText::Union(v) => Sort::Union(names(v)),
                SortText::Any => Sort::Any,
            };
            self.sorts.insert(name.as_str().into(), sort);
        }
        for (name, text) in &file.sorts {
            if let SortText::Union(parts) = &text.value {
                for part in parts.iter().filter(|p| !file.sorts.contains_key(*p)) {
                    let at = self.at(&text.referenced);
                    self.unknown_sort(part, at, &format!("sort `{name}`"));
                }
            }
        }
        let roles: BTreeMap<Name, Role> = file.roles.iter().map(|(n, r)| (n.as_str().into(), self.role(r))).collect();
        let mut facts: Vec<FactDecl> = file.facts.iter().filter_map(|f| self.fact(f)).collect();
        let mut settings: Vec<Setting> = vec![];
        for text in &file.settings {
            settings.extend(self.setting(text, &mut facts));
        }
        let inputs = file.inputs.iter().filter_map(|i| self.input(i, &roles)).collect();
        let actions = file.actions.iter().filter_map(|a| self.action(a)).collect();
        let view = file.view.as_ref().map(|v| self.view(v)).unwrap_or_default();
        let functions = file.functions.iter().map(|f| self.function(f, &roles)).collect();
        Ontology {
            domain: file.domain.as_str().into(),
            title: file.title,
            sorts: std::mem::take(&mut self.sorts),
            facts,
            roles,
            inputs,
            actions,
            view,
            functions,
            settings,
            reads: file.reads,
        }
    }

    fn at(&self, location: &serde_saphyr::Location) -> Origin {
        self.source.origin(line_span(&self.source.text, location.line(), location.column()))
    }

    fn role(&mut self, text: &RoleText) -> Role {
        let mut may_change = vec![];
        for right in &text.may_change {
            let parsed = right.split_once('.').and_then(|(s, n)| s.parse::<Scope>().ok().map(|s| (s, Name::from(n))));
            match parsed {
                Some(r) => may_change.push(r),
                None => {
                    let at = self.find(right);
                    self.diagnostics.push(Diagnostic::error("O006", at, format!("`{right}` is no right")).help("write kb.PREDICATE, shared.PREDICATE or kb.*"));
                }
            }
        }
        Role { title: text.title.clone(), rules: text.rules.clone(), may_change, greeting: text.greeting.clone() }
    }

    fn find(&self, word: &str) -> Origin {
        let start = self.source.text.find(word).unwrap_or(0);
        self.source.origin(start..start + word.len())
    }

    fn fact(&mut self, text: &Spanned<FactText>) -> Option<FactDecl> {
        let origin = self.at(&text.referenced);
        let (name, args) = self.form(&text.value.form, &origin)?;
        let Ok(scope) = text.value.scope.parse() else {
            self.diagnostics.push(Diagnostic::error("O005", origin, format!("`{}` is no scope", text.value.scope)).help("use kb, shared or session"));
            return None;
        };
        Some(FactDecl { name, args, scope, says: text.value.says.clone(), origin })
    }

    /// A setting, which is a fact of the kb too.
    fn setting(&mut self, text: &Spanned<SettingText>, facts: &mut Vec<FactDecl>) -> Option<Setting> {
        let origin = self.at(&text.referenced);
        let (name, args) = self.form(&text.value.form, &origin)?;
        let [Arg::Sort(sort)] = args.as_slice() else {
            let d = Diagnostic::error("O009", origin, format!("`{}` is no setting", text.value.form));
            self.diagnostics.push(d.help("a setting has one value: write `form: NAME(SORT)`"));
            return None;
        };
        let setting = Setting { name: name.clone(), sort: sort.clone(), default: Term::Int(0), means: text.value.means.clone(), origin: origin.clone() };
        let word = match &text.value.default {
            Scalar::Number(n) => n.to_string(),
            Scalar::Word(w) => w.clone(),
        };
        if facts.iter().any(|f| f.name == name && f.args.len() == 1) {
            let d = Diagnostic::error("O009", origin, format!("`{}` is declared as a fact too", text.value.form));
            self.diagnostics.push(d.help("a setting is a fact of the kb already: take it out of `facts`"));
            return None;
        }
        match setting.value(&word, &self.sorts) {
            Ok(default) => {
                facts.push(FactDecl { name, args, scope: Scope::Kb, says: Some(text.value.means.clone()), origin });
                Some(Setting { default, ..setting })
            }
            Err(e) => {
                self.diagnostics.push(Diagnostic::error("O009", origin, format!("the default of {e}")).help("the default is a value of the setting's sort"));
                None
            }
        }
    }

    fn input(&mut self, text: &Spanned<InputText>, roles: &BTreeMap<Name, Role>) -> Option<InputForm> {
        let origin = self.at(&text.referenced);
        let (name, args) = self.form(&text.value.form, &origin)?;
        self.known_roles(&text.value.roles, roles, &origin);
        let examples = text.value.examples.iter().filter_map(|e| self.example(e)).collect();
        Some(InputForm {
            name,
            args,
            roles: names(&text.value.roles),
            means: text.value.means.clone(),
            examples,
            costly: text.value.cost == Cost::High,
            origin,
        })
    }

    fn known_roles(&mut self, named: &[String], roles: &BTreeMap<Name, Role>, origin: &Origin) {
        for role in named.iter().filter(|r| !roles.contains_key(r.as_str())) {
            let mut d = Diagnostic::error("O004", origin.clone(), format!("unknown role `{role}`"));
            if let Some(near) = did_you_mean(role, roles.keys().map(|k| &**k)) {
                d = d.help(format!("did you mean `{near}`?"));
            }
            self.diagnostics.push(d);
        }
    }

    fn function(&mut self, text: &Spanned<FunctionText>, roles: &BTreeMap<Name, Role>) -> FunctionDecl {
        let origin = self.at(&text.referenced);
        let f = &text.value;
        self.known_roles(&f.roles, roles, &origin);
        for p in f.inputs.iter().chain(&f.outputs).filter(|p| !self.sorts.contains_key(p.sort.as_str())).map(|p| p.sort.clone()).collect::<Vec<_>>() {
            self.unknown_sort(&p, origin.clone(), &format!("the function `{}`", f.name));
        }
        let parameters = |list: &[ParameterText]| {
            list.iter().map(|p| Parameter { name: p.name.clone(), sort: p.sort.as_str().into(), list: p.list, optional: p.optional }).collect()
        };
        FunctionDecl {
            name: f.name.clone(),
            about: f.about.clone(),
            inputs: parameters(&f.inputs),
            outputs: parameters(&f.outputs),
            roles: names(&f.roles),
            idempotent: f.idempotent,
            timeout_ms: f.timeout_ms,
            retries: f.retries,
            stand_in: f.stand_in.clone(),
            origin,
        }
    }

    fn action(&mut self, text: &Spanned<ActionText>) -> Option<ActionForm> {
        let origin = self.at(&text.referenced);
        let (name, args) = self.form(&text.value.form, &origin)?;
        Some(ActionForm { name, args, means: text.value.means.clone(), told: text.value.told, cited: text.value.cited, origin })
    }

    /// `[last actions] utterance => predicates`, the first part optional, atoms separated by `;`.
    fn example(&mut self, text: &Spanned<String>) -> Option<Example> {
        let origin = self.at(&text.referenced);
        let parsed = text.value.rsplit_once("=>").and_then(|(left, means)| {
            let left = left.trim();
            let (after, say) = match left.strip_prefix('[').and_then(|l| l.split_once("] ")) {
                Some((after, say)) => (after, say),
                None => ("", left),
            };
            let atoms = |t: &str| t.split(';').map(str::trim).filter(|t| !t.is_empty()).map(Atom::parse).collect::<Result<Vec<_>, _>>().ok();
            Some(Example { after: atoms(after)?, say: say.trim().to_owned(), means: atoms(means)? })
        });
        if parsed.is_none() {
            self.diagnostics.push(
                Diagnostic::error("O007", origin, format!("`{}` is no example", text.value))
                    .help("write `[last actions] what is said => predicate; predicate`"),
            );
        }
        parsed
    }

    fn form(&mut self, text: &str, origin: &Origin) -> Option<(Name, Vec<Arg>)> {
        let (name, args) = match Arg::read(text) {
            Ok(Arg::Fun(n, args)) => (n, args),
            Ok(Arg::Literal(Term::Const(n))) => (n, vec![]),
            _ => {
                self.diagnostics.push(
                    Diagnostic::error("O003", origin.clone(), format!("`{text}` is no form"))
                        .help("write a predicate with sorts in capitals and constants in lower case, such as `order(ITEM, COUNT)`"),
                );
                return None;
            }
        };
        for sort in args.iter().flat_map(sorts_of) {
            if !self.sorts.contains_key(sort) {
                self.unknown_sort(sort, origin.clone(), &format!("`{text}`"));
            }
        }
        Some((name, args))
    }

    fn unknown_sort(&mut self, sort: &str, origin: Origin, used_in: &str) {
        let mut d = Diagnostic::error("O002", origin, format!("unknown sort `{sort}` in {used_in}"));
        d = match did_you_mean(sort, self.sorts.keys().map(|k| &**k)) {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None => d.help("declare it under `sorts`"),
        };
        self.diagnostics.push(d);
    }
}

fn sorts_of(arg: &Arg) -> Vec<&Name> {
    match arg {
        Arg::Sort(s) => vec![s],
        Arg::Literal(_) => vec![],
        Arg::Fun(_, args) => args.iter().flat_map(sorts_of).collect(),
    }
}

impl Read for Arg {
    const EXPECTED: &'static str = "a sort in capitals, a constant or a number";

    fn leaf(term: Term) -> Option<Self> {
        (!matches!(term, Term::Str(_))).then_some(Self::Literal(term))
    }

    fn function(name: Name, args: Vec<Self>) -> Self {
        Self::Fun(name, args)
    }

    fn open(text: &str) -> Option<(Self, &str)> {
        let (word, rest) = crate::term::pattern::word(text);
        word.starts_with(|c: char| c.is_ascii_uppercase()).then(|| (Self::Sort(word.into()), rest))
    }
}

fn names(texts: &[String]) -> Vec<Name> {
    texts.iter().map(|t| t.as_str().into()).collect()
}
