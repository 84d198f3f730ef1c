//! From the data files to the model: words, classes, values, patterns and lines, every mistake with its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{AttributeModel, LineModel, Model, PhraseWords, Phrasing, RoleGrammar, ValueWords};
use crate::diag::{Diagnostic, Source};
use crate::link::Words;
use crate::ontology::shape::VIEW;
use crate::ontology::{Arg, Ontology, Sort};
use crate::term::Name;
use crate::understand::embedded::data::{DomainFiles, English, Lexicon, PatternText, Synonyms, read};
use crate::understand::embedded::grammar::{Compiler, Fill, Firsts, Program, Sorts, Step, firsts, variable};
use crate::understand::embedded::knowledge::name_words;
use crate::understand::embedded::numbers::NumberWords;
use crate::understand::embedded::relative::Sets;
use crate::understand::embedded::template::{Template, parse_templates};
use crate::understand::embedded::text::{Respell, plain_words};

struct SortTable<'a> {
    ontology: &'a Ontology,
    masks: &'a BTreeMap<Name, u64>,
    value_sorts: &'a [Name],
    money: &'a [String],
}

impl Sorts for SortTable<'_> {
    fn fill(&self, spec: &str) -> Result<Fill, String> {
        let (spec, reference) = spec.strip_suffix('~').map_or((spec, false), |s| (s, true));
        let (spec, strict) = spec.strip_suffix('!').map_or((spec, false), |s| (s, true));
        let mut mask = 0;
        for part in spec.split('|') {
            match self.ontology.sorts.get(part) {
                Some(Sort::Names(_) | Sort::Union(_)) => mask |= self.masks.get(part).copied().unwrap_or(0),
                Some(Sort::Values(_)) => {
                    let at = self.value_sorts.iter().position(|v| &**v == part).and_then(|i| u16::try_from(i).ok());
                    return at.map(Fill::Value).ok_or_else(|| format!("the sort `{part}` has no values"));
                }
                Some(Sort::Int { min, max, clamp }) => {
                    let max = if *clamp { i64::from(i32::MAX) } else { i64::from(*max) };
                    return Ok(Fill::Number { min: i64::from(*min), max, money: self.money.iter().any(|m| m == part), strict });
                }
                Some(Sort::NewName) => return Ok(Fill::Free { strict }),
                Some(Sort::Any) => return Err(format!("`{part}` admits anything, so words cannot be read as it")),
                None => return Err(format!("there is no sort `{part}`")),
            }
        }
        Ok(Fill::Name { mask, reference })
    }
}

fn words_of(text: &str, words: &mut Words) -> FxHashSet<u32> {
    text.split_whitespace().map(|w| words.intern(w, false)).collect()
}

/// Compiles the data files. All mistakes of all files are reported together.
pub fn load(ontology: &Ontology, files: &DomainFiles) -> Result<(Model, Words), Vec<Diagnostic>> {
    let english = read::<English>(&files.english);
    let lexicon = read::<Lexicon>(&files.lexicon);
    let synonyms = read::<Synonyms>(&files.synonyms);
    let (english, lexicon, synonyms) = match (english, lexicon, synonyms) {
        (Ok(e), Ok(l), Ok(s)) => (e, l, s),
        (e, l, s) => return Err([e.err(), l.err(), s.err()].into_iter().flatten().map(|d| *d).collect()),
    };
    let mut build = Build { ontology, files, words: Words::default(), diagnostics: vec![] };
    let model = build.model(english, lexicon, synonyms);
    if build.diagnostics.is_empty() { Ok((model, build.words)) } else { Err(build.diagnostics) }
}

struct Build<'a> {
    ontology: &'a Ontology,
    files: &'a DomainFiles,
    words: Words,
    diagnostics: Vec<Diagnostic>,
}

impl Build<'_> {
    fn wrong(&mut self, source: &Source, text: &str, message: String) {
        let first_line = text.lines().next().unwrap_or("");
        let start = source.text.find(first_line).unwrap_or(0);
        self.diagnostics.push(Diagnostic::error("U002", source.origin(start..start + first_line.len()), message));
    }

    /// Whether something that `after` asks for can be: an action of the domain, something that can be said, or what the rules show.
    fn comes_before(&self, t: &Template) -> bool {
        let is_form = |name: &Name, arity: usize| *name == t.name && arity == t.args.len();
        let known = &self.ontology;
        &*t.name == VIEW || known.actions.iter().any(|f| is_form(&f.name, f.args.len())) || known.inputs.iter().any(|f| is_form(&f.name, f.args.len()))
    }

    fn model(&mut self, english: English, lexicon: Lexicon, synonyms: Synonyms) -> Model {
        let mut respell = Respell::default();
        for (from, to) in english.respell.iter().chain(&synonyms.words) {
            respell.words.insert(from.to_lowercase(), to.split_whitespace().map(str::to_owned).collect());
        }
        let w = &mut self.words;
        let numbers = NumberWords {
            units: english.numbers.iter().map(|(k, v)| (w.intern(k, k.len() > 3), *v)).collect(),
            scales: english.scales.iter().map(|(k, v)| (w.intern(k, true), *v)).collect(),
            currency: english.currency.iter().map(|(k, v)| (w.intern(k, true), *v)).collect(),
            and: w.intern("and", false),
            one: ["a", "an"].iter().map(|x| w.intern(x, false)).collect(),
            half: w.intern("half", false),
            quarter: w.intern("quarter", false),
            even: ["even", "flat", "exactly"].iter().map(|x| w.intern(x, false)).collect(),
        };
        let ordinals = english.ordinals.iter().map(|(k, v)| (w.intern(k, k.len() > 4), *v)).collect();
        let phrase = PhraseWords::new(english.phrase.iter().map(|(k, v)| (k.as_str().into(), words_of(v, w))));
        let fillers = words_of(&english.fillers, w);
        let ordinary = words_of(&english.ordinary, w);
        let not_things = words_of(&lexicon.not_things, w);
        let measures = words_of(&lexicon.measures, w);
        let mut merge: Vec<(Vec<u32>, String)> =
            english.merge.iter().map(|(said, one)| (said.split_whitespace().map(|x| w.intern(x, false)).collect(), one.clone())).collect();
        merge.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        let mut alike: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for set in english.alike.iter().chain(&lexicon.alike) {
            let ids: Vec<u32> = set.split_whitespace().map(|x| w.intern(x, x.len() > 3)).collect();
            for a in &ids {
                let list = alike.entry(*a).or_default();
                list.extend(ids.iter().filter(|b| *b != a));
                list.sort_unstable();
                list.dedup();
            }
        }
        for set in &lexicon.apart {
            let ids: Vec<u32> = set.split_whitespace().map(|x| w.intern(x, x.len() > 3)).collect();
            for a in &ids {
                alike.entry(*a).or_default().retain(|b| !ids.contains(b));
            }
        }
        alike.retain(|_, list| !list.is_empty());

        let (masks, name_facts) = name_masks(self.ontology);
        let value_sorts: Vec<Name> = self.ontology.sorts.iter().filter(|(_, s)| matches!(s, Sort::Values(_))).map(|(n, _)| n.clone()).collect();
        let mut model = Model {
            respell,
            merge,
            numbers,
            ordinals,
            phrase,
            fillers,
            ordinary,
            not_things,
            answered: lexicon.tells.iter().map(|t| t.as_str().into()).collect(),
            measures,
            alike,
            classes: vec![],
            class_names: Self::class_numbers(&english, &lexicon),
            roles: BTreeMap::new(),
            value_sorts,
            values: vec![],
            lines: None,
            masks,
            name_facts,
            forms: BTreeMap::new(),
            aliases: vec![],
            within: vec![],
            ranks: lexicon.ranks.iter().map(|(k, v)| (w.intern(k, true), (v.trim_start_matches('-').into(), v.starts_with('-')))).collect(),
            sets: vec![],
            opens: vec![],
            ontology: Arc::new(self.ontology.clone()),
            open_sorts: self.ontology.sorts.iter().filter(|(_, s)| matches!(s, Sort::NewName)).map(|(n, _)| n.clone()).collect(),
        };
        for form in &self.ontology.inputs {
            for role in &form.roles {
                model.forms.entry((role.clone(), form.name.clone(), form.args.len())).or_default().push(form.args.clone());
            }
        }
        self.classes(&english, &lexicon, &mut model);
        let class_firsts = all_firsts(&model.classes);
        for class in &mut model.classes {
            class.look_ahead(&|c| class_firsts.get(usize::from(c)).cloned().unwrap_or_default());
        }
        self.values(&lexicon, &mut model, &class_firsts);
        self.patterns(&lexicon, &english, &mut model, &class_firsts);
        self.lines(&lexicon, &mut model);
        for (said, asked) in &lexicon.opens {
            let mut vars = vec![];
            let read = |text: &str, vars: &mut Vec<String>| parse_templates(text, vars).and_then(|t| t.into_iter().next().ok_or("nothing is said".to_owned()));
            let opens = read(said, &mut vars).and_then(|t| Ok((t, asked.iter().map(|a| read(a, &mut vars)).collect::<Result<Vec<_>, _>>()?)));
            match opens {
                Ok(o) => model.opens.push(o),
                Err(e) => self.wrong(&self.files.lexicon.clone(), said, e),
            }
        }
        for (means, fact) in &lexicon.sets {
            match parse_templates(means, &mut vec!["x".to_owned(), "n".to_owned()]) {
                Ok(templates) => model.sets.extend(templates.into_iter().map(|template| Sets { template, fact: fact.as_str().into() })),
                Err(e) => self.wrong(&self.files.lexicon.clone(), means, e),
            }
        }
        for (said, names) in &synonyms.names {
            let words = plain_words(said, &model.respell);
            for word in &words {
                self.words.intern(word, true);
            }
            model.aliases.push((words, names.iter().map(|n| n.as_str().into()).collect()));
        }
        for (part, ways) in &synonyms.within {
            let part = name_words(&model.respell, part);
            model.within.extend(ways.iter().map(|w| (part.clone(), name_words(&model.respell, w))));
        }
        model
    }

    fn compile(&mut self, text: &str, vars: &mut Vec<String>, classes: &BTreeMap<String, u16>, model: &Model, money: &[String]) -> Result<Program, String> {
        let sorts = SortTable { ontology: self.ontology, masks: &model.masks, value_sorts: &model.value_sorts, money };
        Compiler { words: &mut self.words, respell: &model.respell, classes, sorts: &sorts }.compile(text, vars)
    }

    fn class_numbers(english: &English, lexicon: &Lexicon) -> BTreeMap<String, u16> {
        let mut names: Vec<&String> = english.classes.keys().chain(lexicon.classes.keys()).collect();
        names.sort();
        names.dedup();
        names.into_iter().enumerate().filter_map(|(i, n)| Some((n.clone(), u16::try_from(i).ok()?))).collect()
    }

    fn classes(&mut self, english: &English, lexicon: &Lexicon, model: &mut Model) {
        let numbers = Self::class_numbers(english, lexicon);
        let mut programs = vec![Program::default(); numbers.len()];
        for (name, number) in &numbers {
            let mut phrases: Vec<&str> = vec![];
            for (source, list) in [(0, english.classes.get(name)), (1, lexicon.classes.get(name))] {
                phrases.extend(list.into_iter().flatten().map(|p| {
                    let _ = source;
                    p.as_str()
                }));
            }
            let text = format!("({})", phrases.join("|"));
            let mut vars = vec![];
            match self.compile(&text, &mut vars, &numbers, model, &lexicon.money) {
                Ok(p) if vars.is_empty() => {
                    if let Some(slot) = programs.get_mut(usize::from(*number)) {
                        *slot = p;
                    }
                }
                Ok(_) => self.wrong(&self.files.lexicon.clone(), name, format!("the class `{name}` holds a slot, only patterns may")),
                Err(e) => self.wrong(&self.files.lexicon.clone(), name, format!("class `{name}`: {e}")),
            }
        }
        if let Some(name) = recursive(&numbers, &programs) {
            self.wrong(&self.files.lexicon.clone(), &name, format!("the class `{name}` holds itself"));
            programs.iter_mut().for_each(|p| p.steps.clear());
        }
        model.classes = programs;
    }

    fn values(&mut self, lexicon: &Lexicon, model: &mut Model, class_firsts: &[Firsts]) {
        let empty = BTreeMap::new();
        let mut out = vec![];
        for (number, sort) in model.value_sorts.iter().enumerate() {
            let Some(Sort::Values(list)) = self.ontology.sorts.get(sort) else { continue };
            for value in list {
                let mut phrases = vec![value.replace('_', " ")];
                phrases.extend(lexicon.values.get(&**sort).and_then(|v| v.get(&**value)).into_iter().flatten().cloned());
                let text = format!("({})", phrases.join("|"));
                match self.compile(&text, &mut vec![], &empty, model, &[]) {
                    Ok(mut program) => {
                        program.look_ahead(&|_| Firsts { any: true, ..Firsts::default() });
                        let f = firsts(&program, &|c| class_firsts.get(usize::from(c)).cloned().unwrap_or_default());
                        out.push(ValueWords { sort: u16::try_from(number).unwrap_or(0), value: value.clone(), program, firsts: f.words });
                    }
                    Err(e) => self.wrong(&self.files.lexicon.clone(), value, format!("value `{value}`: {e}")),
                }
            }
        }
        for sort in lexicon.values.keys().filter(|s| !model.value_sorts.iter().any(|v| v.as_ref() == s.as_str())) {
            self.wrong(&self.files.lexicon.clone(), sort, format!("there is no closed sort `{sort}`"));
        }
        for (sort, values) in &lexicon.values {
            let Some(Sort::Values(list)) = self.ontology.sorts.get(sort.as_str()) else { continue };
            for value in values.keys().filter(|v| !list.iter().any(|known| **known == ***v)) {
                self.wrong(&self.files.lexicon.clone(), value, format!("`{sort}` has no value `{value}`; it has {}", list.join(", ")));
            }
        }
        model.values = out;
    }

    fn patterns(&mut self, lexicon: &Lexicon, english: &English, model: &mut Model, class_firsts: &[Firsts]) {
        let numbers = Self::class_numbers(english, lexicon);
        for role in lexicon.patterns.keys().filter(|r| *r != "any" && !self.ontology.roles.contains_key(r.as_str())) {
            self.wrong(&self.files.lexicon.clone(), role, format!("there is no role `{role}`"));
        }
        for role in self.ontology.roles.keys() {
            let mut grammar = RoleGrammar::default();
            let own = lexicon.patterns.get(&**role).into_iter().flatten();
            for text in own.chain(lexicon.patterns.get("any").into_iter().flatten()) {
                self.pattern(text, role, &numbers, model, &lexicon.money, &mut grammar);
            }
            for (i, p) in grammar.patterns.iter_mut().enumerate() {
                p.program.look_ahead(&|c| class_firsts.get(usize::from(c)).cloned().unwrap_or_default());
                grammar.needs.push(p.program.narrowest());
                let Ok(i) = u16::try_from(i) else { break };
                let f = firsts(&p.program, &|c| class_firsts.get(usize::from(c)).cloned().unwrap_or_default());
                for w in f.words {
                    grammar.by_word.entry(w).or_default().push(i);
                }
                if f.any {
                    grammar.any.push(i);
                }
            }
            for form in self.ontology.inputs_of(role) {
                for arg in &form.args {
                    grammar.names |= arg_mask(arg, &model.masks);
                }
            }
            for p in &grammar.patterns {
                for step in &p.program.steps {
                    if let Step::Slot { fill: Fill::Name { mask, .. }, .. } = step {
                        grammar.names |= mask;
                    }
                }
            }
            let literal = |p: &Program| p.steps.iter().filter_map(|s| if let Step::Word(w) = s { Some(*w) } else { None }).collect::<Vec<_>>();
            grammar.words = grammar.patterns.iter().flat_map(|p| literal(&p.program)).chain(model.classes.iter().flat_map(literal)).collect();
            model.roles.insert(role.clone(), grammar);
        }
    }

    fn pattern(&mut self, text: &PatternText, role: &Name, classes: &BTreeMap<String, u16>, model: &Model, money: &[String], grammar: &mut RoleGrammar) {
        let source = self.files.lexicon.clone();
        for say in &text.say {
            let mut vars = vec![];
            let program = match self.compile(say, &mut vars, classes, model, money) {
                Ok(p) => p,
                Err(e) => {
                    self.wrong(&source, say, format!("`{say}`: {e}"));
                    continue;
                }
            };
            let said_vars = vars.len();
            let after = text.after.as_ref().map(|a| parse_templates(a, &mut vars));
            let known = vars.len();
            let means = parse_templates(&text.means, &mut vars);
            let means_new = text.means_new.as_ref().map(|m| parse_templates(m, &mut vars));
            let _ = said_vars;
            let over = text.over.as_ref().map(|o| parse_templates(o, &mut vec![]));
            let parsed = (|| Ok::<_, String>((after.transpose()?, means?, means_new.transpose()?, over.transpose()?.unwrap_or_default())))();
            let (after, means, means_new, over) = match parsed {
                Ok(p) => p,
                Err(e) => {
                    self.wrong(&source, &text.means, e);
                    return;
                }
            };
            if let Some(never) = after.iter().flatten().find(|t| !self.comes_before(t)) {
                let arity = never.args.len();
                self.wrong(&source, text.after.as_deref().unwrap_or_default(), format!("this never comes before: there is no action `{}/{arity}`", never.name));
                continue;
            }
            if let Some(free) = vars.get(known..).and_then(|f| f.first()) {
                self.wrong(&source, &text.means, format!("`${free}` is in no slot of `{say}` and not in `after`"));
                return;
            }
            for t in means.iter().chain(means_new.iter().flatten()) {
                if !self.ontology.inputs_of(role).any(|f| f.name == t.name && f.args.len() == t.args.len()) {
                    self.wrong(&source, &text.means, format!("the role `{role}` has no input `{}/{}`", t.name, t.args.len()));
                    return;
                }
            }
            let bare = !program.steps.iter().any(|s| matches!(s, Step::Word(_) | Step::Class(_)));
            let loose = program.steps.contains(&Step::Gap);
            grammar.patterns.push(Phrasing {
                program,
                vars,
                means: Arc::new(means),
                means_new: means_new.map(Arc::new),
                after: after.and_then(|a| a.into_iter().next()).map(Arc::new),
                does: text.does,
                weight: text.weight,
                weak: if text.weak { 2 } else { u8::from(text.general) },
                bare,
                loose,
                clause: text.clause,
                over: Arc::new(over),
                alone: text.alone,
                needs_line: text.needs_line,
                say: say.as_str().into(),
            });
        }
    }

    fn lines(&mut self, lexicon: &Lexicon, model: &mut Model) {
        let Some(config) = &lexicon.lines else { return };
        let source = self.files.lexicon.clone();
        let mut attributes = BTreeMap::new();
        for (sort, a) in &config.attributes {
            let Some(number) = model.value_sorts.iter().position(|v| v.as_ref() == sort.as_str()).and_then(|i| u16::try_from(i).ok()) else {
                self.wrong(&source, sort, format!("there is no closed sort `{sort}`"));
                continue;
            };
            let mut vars = vec![];
            let _ = (variable(&mut vars, "x"), variable(&mut vars, "v"));
            match parse_templates(&a.means, &mut vars) {
                Ok(means) => {
                    let only_if = a.only_if.as_ref().map(|f| f.as_str().into());
                    let values = a.values.iter().map(|v| v.as_str().into()).collect();
                    attributes.insert(number, AttributeModel { means: Arc::new(means), vars, only_if, values });
                }
                Err(e) => self.wrong(&source, &a.means, e),
            }
        }
        let fact_sort = |name: &str, at: usize| {
            self.ontology.facts.iter().find(|f| &*f.name == name).and_then(|f| match f.args.get(at) {
                Some(Arg::Sort(s)) => Some(s.clone()),
                _ => None,
            })
        };
        let kind_sort = fact_sort(&config.kind, 1).and_then(|s| model.value_sorts.iter().position(|v| *v == s)).and_then(|i| u16::try_from(i).ok());
        let form_mask = |name: &str| {
            let form = self.ontology.inputs.iter().find(|f| &*f.name == name);
            match form.and_then(|f| f.args.first()) {
                Some(Arg::Sort(s)) => model.masks.get(s).copied().unwrap_or(0),
                _ => 0,
            }
        };
        let composed = fact_sort(&config.composed, 0).and_then(|s| model.masks.get(&s).copied()).unwrap_or(0);
        model.lines =
            Some(LineModel { attributes, kind_sort, items: form_mask(&config.add), changed: form_mask(&config.change), composed, config: config.clone() });
    }
}

fn arg_mask(arg: &Arg, masks: &BTreeMap<Name, u64>) -> u64 {
    match arg {
        Arg::Sort(s) => masks.get(s).copied().unwrap_or(0),
        Arg::Literal(_) => 0,
        Arg::Fun(_, inner) => inner.iter().map(|a| arg_mask(a, masks)).fold(0, |a, b| a | b),
    }
}

/// Bits for the sorts of names: one per sort that lists facts, unions joined. The second map is for the facts.
fn name_masks(ontology: &Ontology) -> (BTreeMap<Name, u64>, BTreeMap<Name, u64>) {
    let mut masks: BTreeMap<Name, u64> = BTreeMap::new();
    let mut facts: BTreeMap<Name, u64> = BTreeMap::new();
    let mut bit = 0u32;
    for (name, sort) in &ontology.sorts {
        if let Sort::Names(list) = sort {
            let mask = 1u64 << bit.min(63);
            bit += 1;
            masks.insert(name.clone(), mask);
            for f in list {
                *facts.entry(f.clone()).or_default() |= mask;
            }
        }
    }
    for _ in 0..ontology.sorts.len().min(8) {
        for (name, sort) in &ontology.sorts {
            if let Sort::Union(parts) = sort {
                let joined = parts.iter().filter_map(|p| masks.get(p)).fold(0, |a, b| a | b);
                masks.insert(name.clone(), joined);
            }
        }
    }
    (masks, facts)
}

/// First words of all classes, inner classes first by repetition until nothing changes.
fn all_firsts(classes: &[Program]) -> Vec<Firsts> {
    let mut out = vec![Firsts::default(); classes.len()];
    for _ in 0..6 {
        let next: Vec<Firsts> = classes.iter().map(|p| firsts(p, &|c| out.get(usize::from(c)).cloned().unwrap_or_default())).collect();
        out = next;
    }
    out
}

/// The name of a class that holds itself, if any.
fn recursive(numbers: &BTreeMap<String, u16>, programs: &[Program]) -> Option<String> {
    let inner = |c: u16| {
        programs.get(usize::from(c)).map_or(vec![], |p| p.steps.iter().filter_map(|s| if let Step::Class(k) = s { Some(*k) } else { None }).collect::<Vec<_>>())
    };
    numbers.iter().find_map(|(name, &start)| {
        let mut seen = FxHashSet::default();
        let mut stack = inner(start);
        while let Some(c) = stack.pop() {
            if c == start {
                return Some(name.clone());
            }
            if seen.insert(c) {
                stack.extend(inner(c));
            }
        }
        None
    })
}
