//! Reading a template file: YAML to compiled templates, every mistake with its place.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::bank::{self, Banked};
use super::text::{Expression, FILTERS, Phrase, Text, TextError, Wording, Words};
use super::{Group, Output, Rule, Taken, Templates};
use crate::diag::yaml::{self, line_span};
use crate::diag::{Diagnostic, Origin, Source, did_you_mean};
use crate::ontology::{Arg, Ontology, Sort};
use crate::render::english::Nouns;
use crate::term::Pattern;
use crate::term::{Name, Term};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    currency: String,
    #[serde(default)]
    constants: BTreeMap<String, String>,
    #[serde(default)]
    nouns: NounsText,
    #[serde(default)]
    wordings: BTreeMap<String, WordingText>,
    #[serde(default)]
    groups: Vec<Spanned<GroupText>>,
    rules: Vec<Spanned<RuleText>>,
    #[serde(default)]
    nothing: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct NounsText {
    #[serde(default)]
    small: BTreeSet<String>,
    #[serde(default)]
    plurals: BTreeMap<String, String>,
    /// Names by the unit that counts them.
    #[serde(default)]
    units: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordingText {
    #[serde(default)]
    table: BTreeMap<String, String>,
    #[serde(default)]
    phrases: Vec<Spanned<PhraseText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhraseText {
    form: OneOrMany,
    #[serde(default)]
    count: Option<String>,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupText {
    form: String,
    #[serde(default)]
    say: Option<OneOrMany>,
    #[serde(default)]
    item: Option<String>,
    #[serde(default, rename = "in")]
    group: Option<String>,
    #[serde(default)]
    list: Option<String>,
    #[serde(default)]
    lead: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    action: OneOrMany,
    #[serde(default)]
    input: OneOrMany,
    #[serde(default)]
    with: OneOrMany,
    #[serde(default)]
    without: OneOrMany,
    #[serde(default)]
    roles: Vec<String>,
    /// Only there so that nothing stays unsaid: `check` reports what would be said by it.
    #[serde(default)]
    fallback: bool,
    #[serde(default)]
    count: Option<String>,
    /// Of equal items the last one's number counts: numbers that are set, not added.
    #[serde(default)]
    last: bool,
    #[serde(default)]
    say: Option<OneOrMany>,
    #[serde(default)]
    item: Option<String>,
    #[serde(default, rename = "in")]
    group: Option<String>,
    #[serde(default)]
    list: Option<String>,
    #[serde(default)]
    lead: bool,
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(vec![])
    }
}

impl OneOrMany {
    fn texts(&self) -> &[String] {
        match self {
            Self::One(s) => std::slice::from_ref(s),
            Self::Many(v) => v,
        }
    }
}

/// Compiles a template file, and other wordings of its sentences, against the vocabulary it speaks about.
pub fn with_bank(source: &Source, bank: Option<&Source>, ontology: &Ontology) -> Result<Templates, Vec<Diagnostic>> {
    let banked = bank.map_or(Ok(vec![]), bank::read)?;
    let file: File = yaml::read(source, "T001").map_err(|d| vec![d])?;
    let mut reader = Reader { source, ontology, groups: vec![], wordings: vec![], diagnostics: vec![], bank: bank.unwrap_or(source), banked, own: vec![] };
    let templates = reader.file(&file);
    reader.unplaced();
    let templates = Templates { bank: reader.banked, own: reader.own, ..templates };
    if reader.diagnostics.is_empty() { Ok(templates) } else { Err(reader.diagnostics) }
}

struct Reader<'a> {
    source: &'a Source,
    ontology: &'a Ontology,
    /// Names and parameters of the groups, known before their outputs are read.
    groups: Vec<(Name, Vec<Name>)>,
    wordings: Vec<Name>,
    diagnostics: Vec<Diagnostic>,
    /// The file of other wordings, and what it holds.
    bank: &'a Source,
    banked: Vec<Banked>,
    /// Every sentence as the templates have it.
    own: Vec<Vec<String>>,
}

/// What a rule or a group says, as written.
struct Written<'a> {
    say: Option<&'a OneOrMany>,
    item: Option<&'a String>,
    group: Option<&'a String>,
    list: Option<&'a String>,
    lead: bool,
}

impl GroupText {
    fn written(&self) -> Written<'_> {
        Written { say: self.say.as_ref(), item: self.item.as_ref(), group: self.group.as_ref(), list: self.list.as_ref(), lead: self.lead }
    }
}

impl RuleText {
    fn written(&self) -> Written<'_> {
        Written { say: self.say.as_ref(), item: self.item.as_ref(), group: self.group.as_ref(), list: self.list.as_ref(), lead: self.lead }
    }
}

/// One declared output with the variables and lists its texts may use.
struct Known<'a> {
    vars: Vec<Name>,
    /// Lists that other templates fill; none are known to a rule.
    lists: Option<Vec<Name>>,
    written: Written<'a>,
    at: usize,
}

impl Reader<'_> {
    fn file(&mut self, file: &File) -> Templates {
        self.wordings = file.wordings.keys().map(|k| k.as_str().into()).collect();
        let mut words = Words {
            nouns: Nouns {
                small: file.nouns.small.clone(),
                plurals: file.nouns.plurals.clone().into_iter().collect(),
                units: file.nouns.units.iter().flat_map(|(unit, names)| names.iter().map(move |n| (n.clone(), unit.clone()))).collect(),
            },
            constants: file.constants.iter().map(|(k, v)| (k.as_str().into(), v.clone())).collect(),
            wordings: BTreeMap::new(),
            currency: file.currency.clone(),
        };
        for (name, w) in &file.wordings {
            let wording = self.wording(w);
            words.wordings.insert(name.as_str().into(), wording);
        }
        for g in &file.groups {
            let at = self.offset(&g.referenced);
            let head = self.pattern(&g.value.form, at).and_then(|p| p.head().map(|(n, _)| (Name::from(n), p.variables())));
            let (name, params) = head.unwrap_or_else(|| ("".into(), vec![]));
            if self.groups.iter().any(|(n, _)| *n == name) {
                self.error("T006", at, &g.value.form, format!("the group `{name}` is declared twice"), Some("give one of them another name".into()));
            }
            self.groups.push((name, params));
        }
        let (lists, leads) = self.flows(file);
        let groups: Vec<Group> = file.groups.iter().zip(lists.iter().zip(&leads)).enumerate().map(|(i, (g, (l, v)))| self.group(i, g, l, v)).collect();
        let rules: Vec<Rule> = file.rules.iter().map(|r| self.rule(r)).collect();
        let nothing = file.nothing.iter().filter_map(|t| self.text(t, 0, &[], None)).collect();
        let (groups, heights) = self.heights(groups);
        let mut by_action: FxHashMap<(Name, usize), Vec<usize>> = FxHashMap::default();
        for (i, rule) in rules.iter().enumerate() {
            for (name, args) in rule.actions.iter().filter_map(Pattern::head) {
                let of = by_action.entry((name.into(), args.len())).or_default();
                if of.last() != Some(&i) {
                    of.push(i);
                }
            }
        }
        Templates { words, rules, by_action, groups, heights, nothing, bank: vec![], own: vec![], taken: Taken::default() }
    }

    /// Which lists and variables each group gets from what is said in it.
    fn flows(&self, file: &File) -> (Vec<Vec<Name>>, Vec<Vec<Name>>) {
        let mut lists = vec![vec![]; file.groups.len()];
        let mut leads = vec![vec![]; file.groups.len()];
        let mut flow = |target: Option<&String>, list: Option<&String>, lead: bool, vars: Vec<Name>| {
            let name = target.map(|t| t.split('(').next().unwrap_or("").trim());
            let Some(i) = self.groups.iter().position(|(n, _)| Some(&**n) == name) else { return };
            if let Some(l) = lists.get_mut(i) {
                l.push(Name::from(list.map_or("items", String::as_str)));
            }
            if let Some(v) = leads.get_mut(i).filter(|_| lead) {
                v.extend(vars);
            }
        };
        for r in &file.rules {
            let patterns = r.value.action.texts().iter().chain(r.value.input.texts());
            let vars = patterns.filter_map(|t| Pattern::parse(t).ok()).flat_map(|p| p.variables()).collect();
            let w = r.value.written();
            flow(w.group, w.list, w.lead, vars);
        }
        for (g, (_, params)) in file.groups.iter().zip(&self.groups) {
            let w = g.value.written();
            flow(w.group, w.list, w.lead, params.clone());
        }
        (lists, leads)
    }

    fn wording(&mut self, text: &WordingText) -> Wording {
        let mut wording = Wording::default();
        for (key, said) in &text.table {
            match Term::parse(key) {
                Ok(t) => {
                    wording.table.insert(t, said.clone());
                }
                Err(e) => self.error("T002", 0, key, format!("`{key}` is no term: {e}"), Some("quote names twice: '\"Name\"'".into())),
            }
        }
        for p in &text.phrases {
            let at = self.offset(&p.referenced);
            for form in p.value.form.texts() {
                let Some(pattern) = self.pattern(form, at) else { continue };
                let vars = pattern.variables();
                self.count_variable(p.value.count.as_ref(), &vars, at);
                if let Some(text) = self.text(&p.value.text, at, &vars, Some(&[])) {
                    wording.phrases.push(Phrase { pattern, count: p.value.count.as_deref().map(Into::into), text });
                }
            }
        }
        wording
    }

    fn group(&mut self, index: usize, text: &Spanned<GroupText>, lists: &[Name], leads: &[Name]) -> Group {
        let at = self.offset(&text.referenced);
        let (name, params) = self.groups.get(index).cloned().unwrap_or_else(|| ("".into(), vec![]));
        if lists.is_empty() {
            self.error(
                "T006",
                at,
                &text.value.form,
                format!("nothing is ever said in the group `{name}`"),
                Some(format!("give a rule `in: {name}` or remove the group")),
            );
        }
        let vars = params.iter().chain(leads).cloned().collect();
        // A group that nothing fills is reported once, not again for its list.
        let lists = if lists.is_empty() { vec!["items".into()] } else { lists.to_vec() };
        let output = self.output(&Known { vars, lists: Some(lists), written: text.value.written(), at });
        Group { name, params, output, height: 1, origin: self.line(at) }
    }

    fn rule(&mut self, text: &Spanned<RuleText>) -> Rule {
        let (r, at) = (&text.value, self.offset(&text.referenced));
        let before = self.diagnostics.len();
        let actions = self.patterns(&r.action, at, true);
        let inputs = self.patterns(&r.input, at, false);
        let with = self.patterns(&r.with, at, true);
        let without = self.patterns(&r.without, at, true);
        for role in r.roles.iter().filter(|n| !self.ontology.roles.contains_key(n.as_str())) {
            let near = did_you_mean(role, self.ontology.roles.keys().map(|k| &**k)).map(|n| format!("did you mean `{n}`?"));
            self.error("T007", at, role, format!("unknown role `{role}`"), near);
        }
        let mut vars: Vec<Name> = with.iter().flat_map(Pattern::variables).collect();
        vars.extend(shared_variables(&actions));
        vars.extend(shared_variables(&inputs));
        self.count_variable(r.count.as_ref(), &vars, at);
        let unread = self.diagnostics.iter().skip(before).any(|d| d.code == "T002");
        let output = self.output(&Known { vars, lists: None, written: r.written(), at });
        if unread {
            // A pattern that could not be read binds nothing: complaints about its variables would only be noise.
            let mut index = 0;
            self.diagnostics.retain(|d| {
                index += 1;
                index <= before || d.code != "T004"
            });
        }
        Rule {
            actions,
            inputs,
            with,
            without,
            roles: r.roles.iter().map(|n| n.as_str().into()).collect(),
            count: r.count.as_deref().map(Into::into),
            last: r.last,
            fallback: r.fallback,
            output,
            origin: self.line(at),
        }
    }

    fn count_variable(&mut self, count: Option<&String>, vars: &[Name], at: usize) {
        if let Some(v) = count.filter(|v| !vars.iter().any(|n| **n == ***v)) {
            self.error("T004", at, v, format!("`{v}` counts, but no pattern here binds it"), None);
        }
    }

    fn output(&mut self, known: &Known<'_>) -> Output {
        let o = &known.written;
        match (o.say, o.item, o.group) {
            (Some(say), None, None) => {
                let own = say.texts().iter().filter_map(|t| self.text(t, known.at, &known.vars, known.lists.as_deref())).collect();
                Output::Say { own, bank: self.banked(say.texts(), known) }
            }
            (None, Some(item), Some(group)) => {
                let text = self.text(item, known.at, &known.vars, known.lists.as_deref()).unwrap_or_default();
                let (index, key) = self.target(group, known);
                Output::Item { text, group: index, key, list: o.list.map_or("items", String::as_str).into(), lead: o.lead }
            }
            _ => {
                self.error(
                    "T003",
                    known.at,
                    "",
                    "a template needs either `say`, or both `item` and `in`".into(),
                    Some("`say` is a sentence of its own, `item` a part of the group named by `in`".into()),
                );
                Output::Say { own: vec![], bank: vec![] }
            }
        }
    }

    /// The bank's wordings of a sentence; what is wrong with them is reported in the bank's file.
    fn banked(&mut self, own: &[String], known: &Known<'_>) -> Vec<(usize, Text)> {
        self.own.push(own.to_vec());
        let ours: Vec<(usize, Banked)> = self.banked.iter().cloned().enumerate().filter(|(_, b)| own.contains(&b.of)).collect();
        let home = std::mem::replace(&mut self.source, self.bank);
        let read = |(i, b): (usize, Banked)| self.text(&b.say, b.at, &known.vars, known.lists.as_deref()).map(|t| (i, t));
        let read = ours.into_iter().filter_map(read).collect();
        self.source = home;
        read
    }

    /// Wordings of the bank for a sentence that the templates do not have.
    fn unplaced(&mut self) {
        let (own, bank): (BTreeSet<&String>, _) = (self.own.iter().flatten().collect(), self.bank);
        let lost: BTreeSet<(usize, String)> = self.banked.iter().filter(|b| !own.contains(&b.of)).map(|b| (b.at, b.of.clone())).collect();
        for (at, of) in lost {
            let near = did_you_mean(&of, own.iter().map(|s| s.as_str())).map(|n| format!("did you mean `{n}`?"));
            let origin = bank.origin(at..at + of.len().min(bank.text.len().saturating_sub(at)));
            let mut d = Diagnostic::error("T012", origin, format!("the templates have no sentence `{of}`"));
            d.help = near.or_else(|| Some("`of` is a sentence of templates.yaml, word by word, with its braces".into()));
            self.diagnostics.push(d);
        }
    }

    /// `group(Expression, …)`.
    fn target(&mut self, text: &str, known: &Known<'_>) -> (usize, Vec<Expression>) {
        let (name, args) = text.split_once('(').unwrap_or((text, ""));
        let name = name.trim();
        let args: Vec<_> = args.trim_end().trim_end_matches(')').split(',').map(str::trim).filter(|a| !a.is_empty()).collect();
        let Some(index) = self.groups.iter().position(|(n, _)| &**n == name) else {
            let near = did_you_mean(name, self.groups.iter().map(|(n, _)| &**n)).map(|n| format!("did you mean `{n}`?"));
            self.error("T006", known.at, text, format!("unknown group `{name}`"), near.or_else(|| Some("declare it under `groups`".into())));
            return (usize::MAX, vec![]);
        };
        let wanted = self.groups.get(index).map_or(0, |(_, p)| p.len());
        if wanted != args.len() {
            self.error("T006", known.at, text, format!("the group `{name}` takes {wanted} arguments, here are {}", args.len()), None);
        }
        let mut key = vec![];
        for a in args {
            match Expression::compile(a, &self.wordings) {
                Ok(e) => {
                    let (vars, lists) = e.names();
                    self.names(text, known.at, &known.vars, known.lists.as_deref(), &vars, &lists);
                    key.push(e);
                }
                Err(e) => self.text_error(text, known.at, &e),
            }
        }
        (index, key)
    }

    fn patterns(&mut self, texts: &OneOrMany, at: usize, action: bool) -> Vec<Pattern> {
        texts.texts().iter().filter_map(|t| self.known_pattern(t, at, action)).collect()
    }

    fn pattern(&mut self, text: &str, at: usize) -> Option<Pattern> {
        match Pattern::parse(text) {
            Ok(p) if p.head().is_some() => Some(p),
            Ok(_) => {
                self.error("T002", at, text, format!("`{text}` is no predicate"), Some("write one such as `confirm(order, X)`".into()));
                None
            }
            Err(expected) => {
                self.error(
                    "T002",
                    at,
                    text,
                    format!("`{text}` is no pattern, {expected} was expected"),
                    Some("variables are capitals, names are in double quotes".into()),
                );
                None
            }
        }
    }

    /// A pattern that some action (or input) of the ontology can match.
    fn known_pattern(&mut self, text: &str, at: usize, action: bool) -> Option<Pattern> {
        let pattern = self.pattern(text, at)?;
        let forms: Vec<(&Name, &[Arg])> = if action {
            self.ontology.actions.iter().map(|f| (&f.name, f.args.as_slice())).collect()
        } else {
            self.ontology.inputs.iter().map(|f| (&f.name, f.args.as_slice())).collect()
        };
        let (name, args) = pattern.head()?;
        let fits = forms.iter().any(|(n, a)| &***n == name && a.len() == args.len() && args.iter().zip(*a).all(|(p, a)| meets(self.ontology, p, a)));
        if !fits {
            let kind = if action { "action" } else { "input" };
            let message = format!("`{text}` is no {kind} of the ontology");
            let same: Vec<_> =
                forms.iter().filter(|(n, _)| &***n == name).map(|(n, a)| format!("{n}/{}", a.len())).collect::<BTreeSet<_>>().into_iter().collect();
            let near = did_you_mean(name, forms.iter().map(|(n, _)| &***n)).map(|n| format!("did you mean `{n}`?"));
            let help = if same.is_empty() { near } else { Some(format!("the ontology has {}, with other arguments", same.join(" and "))) };
            self.error("T005", at, text, message, help);
        }
        Some(pattern)
    }

    fn text(&mut self, text: &str, at: usize, vars: &[Name], lists: Option<&[Name]>) -> Option<Text> {
        match Text::compile(text, &self.wordings) {
            Ok(t) => {
                let (used, filled) = t.uses();
                self.names(text, at, vars, lists, &used, &filled);
                Some(t)
            }
            Err(e) => {
                self.text_error(text, at, &e);
                None
            }
        }
    }

    fn names(&mut self, text: &str, at: usize, vars: &[Name], lists: Option<&[Name]>, used: &[Name], filled: &[Name]) {
        for v in used.iter().filter(|v| &***v != "Count" && !vars.contains(v)) {
            let near = did_you_mean(v, vars.iter().map(|n| &**n)).map(|n| format!("did you mean `{n}`?"));
            let help = near.or_else(|| Some(if vars.is_empty() { "no variable is bound here".into() } else { format!("bound here: {}", vars.join(", ")) }));
            self.error("T004", at, text, format!("`{v}` is bound by no pattern of this template"), help);
        }
        for l in filled.iter().filter(|l| !lists.unwrap_or_default().contains(l)) {
            let known = lists.unwrap_or_default();
            let near = did_you_mean(l, known.iter().map(|n| &**n)).map(|n| format!("did you mean `{n}`?"));
            self.error("T004", at, text, format!("nothing fills the list `{l}` here"), near);
        }
    }

    fn text_error(&mut self, text: &str, at: usize, error: &TextError) {
        let (message, help) = match error {
            TextError::Unbalanced(c) => (format!("`{c}` has no partner"), Some("write {Variable|filter} and [optional part]".to_owned())),
            TextError::Hole(h) => (format!("`{{{h}}}` names nothing to say"), Some("write {Variable|filter}".to_owned())),
            TextError::Filter(f) => {
                let names = FILTERS.iter().copied().chain(self.wordings.iter().map(|w| &**w));
                (format!("no filter or wording is called `{f}`"), did_you_mean(f, names).map(|n| format!("did you mean `{n}`?")))
            }
        };
        self.error("T008", at, text, message, help);
    }

    /// The height of every group above the rules; groups in a circle would never be said.
    fn heights(&mut self, mut groups: Vec<Group>) -> (Vec<Group>, usize) {
        for _ in 0..groups.len() {
            for i in 0..groups.len() {
                let Some((Output::Item { group, .. }, height)) = groups.get(i).map(|g| (g.output.clone(), g.height)) else { continue };
                if let Some(parent) = groups.get_mut(group).filter(|p| p.height <= height) {
                    parent.height = height + 1;
                }
            }
        }
        let top = groups.iter().map(|g| g.height).max().unwrap_or(0);
        let circle = groups.iter().find(|g| matches!(g.output, Output::Item { group, .. } if groups.get(group).is_some_and(|p| p.height <= g.height)));
        if let Some((origin, name)) = circle.map(|g| (g.origin.clone(), g.name.clone())) {
            self.diagnostics.push(
                Diagnostic::error("T006", origin, format!("the group `{name}` is an item of itself"))
                    .help("one of the groups in the circle must `say` something"),
            );
            return (groups, 0);
        }
        (groups, top)
    }

    fn offset(&self, location: &serde_saphyr::Location) -> usize {
        line_span(&self.source.text, location.line(), location.column()).start
    }

    /// From here to the end of the line.
    fn line(&self, at: usize) -> Origin {
        let rest = self.source.text.get(at..).unwrap_or("");
        self.source.origin(at..at + rest.find('\n').unwrap_or(rest.len()))
    }

    /// Reports at the first place of `words` behind `at`, or at `at` if they are spelled otherwise in the file.
    fn error(&mut self, code: &'static str, at: usize, words: &str, message: String, help: Option<String>) {
        let behind = self.source.text.get(at..).unwrap_or("");
        let written = [words.to_owned(), words.replace('\'', "''"), words.replace('"', "\\\"")];
        let found = written.iter().find_map(|w| behind.find(w.as_str()).map(|i| at + i..at + i + w.len()));
        let line = behind.find('\n').unwrap_or(behind.len());
        let span = found.filter(|_| !words.is_empty()).unwrap_or(at..at + line);
        let mut d = Diagnostic::error(code, self.source.origin(span), message);
        d.help = help;
        self.diagnostics.push(d);
    }
}

/// The variables that every one of these patterns binds.
fn shared_variables(patterns: &[Pattern]) -> Vec<Name> {
    let mut all = patterns.iter().map(Pattern::variables);
    let first = all.next().unwrap_or_default();
    all.fold(first, |shared, own| shared.into_iter().filter(|v| own.contains(v)).collect())
}

/// Whether a value of the argument can match the pattern.
fn meets(ontology: &Ontology, pattern: &Pattern, arg: &Arg) -> bool {
    match (pattern, arg) {
        (Pattern::Any | Pattern::Var(_), _) => true,
        (Pattern::Literal(t), a) => ontology.fits(t, a),
        (Pattern::Fun(_, _), Arg::Sort(s)) => matches!(ontology.sorts.get(s), Some(Sort::Any | Sort::Union(_))),
        (Pattern::Fun(n, ps), Arg::Fun(m, args)) => n == m && ps.len() == args.len() && ps.iter().zip(args).all(|(p, a)| meets(ontology, p, a)),
        (Pattern::Fun(_, _), Arg::Literal(_)) => false,
    }
}
