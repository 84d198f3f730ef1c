//! Programs: sections of lines, each with its words after `:::`, to a theory and a question.

use super::Fault;
use super::meaning::{Meaning, free_in, quantified_in};
use super::rules;
use super::tree::{Repairs, Tree, parse};
use crate::reasoning::english::Reader;
use crate::reasoning::formula::{Formula, Scope, Value};
use crate::reasoning::told::{Check, Choice, Form, Goal, Need, Question, Reading, Theory, Told};
use crate::term::Name;

/// What was read of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// What it tells.
    pub theory: Theory,
    /// What it asks; nothing if that could not be read.
    pub question: Option<Question>,
    /// How many faults were repaired.
    pub repaired: usize,
    /// Faults that have no single repair.
    pub faults: Vec<Fault>,
}

struct Line<'a> {
    number: usize,
    section: &'a str,
    text: &'a str,
    words: &'a str,
}

/// The lines of a program by section; a heading is `Name:` or `# Name`.
fn lines(program: &str) -> Vec<Line<'_>> {
    let mut section = "";
    let mut out = vec![];
    for (n, line) in program.lines().enumerate() {
        let line = line.trim();
        let (text, words) = line.split_once(":::").map_or((line, ""), |(t, w)| (t.trim(), w.trim()));
        if let Some(heading) = line.strip_prefix('#') {
            section = heading.trim();
        } else if let Some(heading) = text.strip_suffix(':').filter(|h| words.is_empty() && h.chars().all(|c| c.is_alphabetic() || c == ' ')) {
            section = heading.trim();
        } else if !text.is_empty() {
            let text = text.split_once(" #").map_or(text, |(t, _)| t.trim_end());
            out.push(Line { number: n + 1, section, text, words });
        }
    }
    out
}

/// Reads a program, whichever of the four dialects it is written in.
pub fn program(text: &str) -> Read {
    program_with_words(text, None)
}

/// The same where the words beside a comparison are read too: where they compare the same things otherwise, they are what was meant.
pub fn program_with_words(text: &str, reader: Option<&Reader>) -> Read {
    let lines = lines(text);
    let has = |section: &str| lines.iter().any(|l| l.section == section);
    let mut r = Sections { read: Read::default(), repairs: Repairs::default(), lines: &lines, reader };
    if has("Declarations") {
        r.game();
    } else if has("Variables") {
        r.puzzle();
    } else if has("Conclusion") || has("Premises") {
        r.logic();
    } else {
        r.rules();
    }
    r.read.repaired = r.repairs.0;
    r.read
}

/// Reads formulas with a conclusion in first-order notation.
pub fn formulas(premises: &[String], conclusion: &str) -> Read {
    let mut lines: Vec<Line<'_>> =
        premises.iter().enumerate().map(|(n, text)| Line { number: n + 1, section: "Premises", text: text.trim(), words: "" }).collect();
    lines.push(Line { number: premises.len() + 1, section: "Conclusion", text: conclusion.trim(), words: "" });
    let mut r = Sections { read: Read::default(), repairs: Repairs::default(), lines: &lines, reader: None };
    r.logic();
    r.read.repaired = r.repairs.0;
    r.read
}

struct Sections<'a> {
    read: Read,
    repairs: Repairs,
    lines: &'a [Line<'a>],
    reader: Option<&'a Reader>,
}

impl<'a> Sections<'a> {
    fn section(&self, name: &'static str) -> impl Iterator<Item = &'a Line<'a>> + use<'a> {
        self.lines.iter().filter(move |l| l.section == name)
    }

    /// What a line comes to; its fault is kept.
    fn kept<T>(&mut self, l: &Line<'_>, found: Result<T, Fault>) -> Option<T> {
        found.map_err(|f| self.read.faults.push(f.at(l.number))).ok()
    }

    fn tell(&mut self, l: &Line<'_>, line: usize, readings: Option<Vec<Reading>>) {
        let text = if l.words.is_empty() { l.text } else { l.words };
        let readings = readings.unwrap_or_else(|| vec![Reading::Unread(l.text.to_owned())]);
        self.read.theory.told.extend(readings.into_iter().map(|reading| Told { line, text: text.to_owned(), reading }));
    }

    fn ask(&mut self, l: &Line<'_>, form: Form, goal: Goal) {
        let text = if l.words.is_empty() { l.text } else { l.words }.to_owned();
        self.read.question = Some(Question { text, form, goal });
    }

    fn rules(&mut self) {
        for (n, l) in self.lines.iter().filter(|l| l.section == "Facts" || l.section == "Rules").enumerate() {
            let mut repairs = self.repairs;
            let found = rules::statement(l.text, &mut repairs);
            self.repairs = repairs;
            let readings = self.kept(l, found);
            self.tell(l, n + 1, readings);
        }
        if let Some(l) = self.section("Query").next() {
            let mut repairs = self.repairs;
            let found = rules::query(l.text, &mut repairs);
            self.repairs = repairs;
            if let Some(goal) = self.kept(l, found) {
                self.ask(l, Form::Truth, Goal::Literals(goal));
            }
        }
        let told = self.read.theory.told.iter_mut().flat_map(|t| match &mut t.reading {
            Reading::Fact(l) => vec![l],
            Reading::Rule(r) => [&mut r.head].into_iter().chain(&mut r.body).collect(),
            _ => vec![],
        });
        let asked = self.read.question.iter_mut().flat_map(|q| if let Goal::Literals(ls) = &mut q.goal { ls.iter_mut().collect() } else { vec![] });
        rules::in_the_singular(told.chain(asked), &mut self.repairs);
    }

    fn logic(&mut self) {
        let mut variables = vec![];
        for l in self.section("Premises").chain(self.section("Conclusion")) {
            if let Ok(t) = parse(l.text, false, &mut Repairs::default()) {
                quantified_in(&t, &mut variables);
            }
        }
        for (n, l) in self.section("Premises").enumerate() {
            let found = self.open_formula(l, &variables);
            let reading = self.kept(l, found).map(|f| vec![Reading::Formula(f)]);
            self.tell(l, n + 1, reading);
        }
        if let Some(l) = self.section("Conclusion").next() {
            let found = self.open_formula(l, &variables);
            if let Some(goal) = self.kept(l, found) {
                self.ask(l, Form::Truth, Goal::Formula(goal));
            }
        }
    }

    /// A formula whose names need no declaration. A quantifier stands before the next statement only, unless its variable is meant
    /// beyond that; a variable that other statements bind and this one does not is meant for all.
    fn open_formula(&mut self, l: &Line<'_>, variables: &[String]) -> Result<Formula, Fault> {
        let mut repairs = Repairs::default();
        let mut tree = parse(l.text, false, &mut repairs)?;
        let mut own = vec![];
        quantified_in(&tree, &mut own);
        if !free_in(&tree, &own).is_empty() {
            repairs = Repairs(1);
            tree = parse(l.text, true, &mut repairs)?;
        }
        for v in free_in(&tree, variables) {
            if own.contains(&v) {
                return Err(Fault::new(1, format!("`{v}` is used outside the reach of its quantifier")));
            }
            repairs.0 += 1;
            tree = Tree::Quantified(true, v, Box::new(tree));
        }
        let formula = Meaning::new(&Scope::default(), true).formula(&tree)?;
        self.repairs.0 += repairs.0;
        Ok(formula)
    }

    fn puzzle(&mut self) {
        let mut scope = Scope::default();
        for l in self.section("Variables") {
            let (name, values) = l.text.split_once("[IN]").unwrap_or((l.text, ""));
            let sort: Name = format!("values of {}", name.trim()).into();
            let values =
                parse(values, false, &mut self.repairs).map(|t| if let Tree::List(items) = t { items.iter().filter_map(plain).collect() } else { vec![] });
            if let Some(values) = self.kept(l, values) {
                scope.sorts.insert(sort.clone(), values);
                scope.functions.insert(name.trim().into(), (vec![], sort));
            }
        }
        // Words are read in the direction in which the program says that places run.
        let first = self.section("Domain").find_map(|l| l.text.strip_prefix("1:"));
        self.reader = self.reader.filter(|r| first.is_some_and(|end| r.begins(end)));
        self.constraints(&scope);
        let mut choices = vec![];
        for l in self.section("Query") {
            let Some((label, text)) = l.text.split_once(')') else { continue };
            let found = self.formula_of(text, &scope).map(|f| self.as_worded(l, f, &scope));
            if let Some(f) = self.kept(l, found) {
                choices.push(Choice { label: label.trim().trim_start_matches('(').to_owned(), checks: vec![Check { goal: f, need: Need::Must }] });
            }
        }
        self.read.theory.scope = scope;
        self.options(choices);
    }

    fn options(&mut self, choices: Vec<Choice>) {
        let text = self.lines.iter().find(|l| l.text == "Question").map_or_else(String::new, |l| l.words.to_owned());
        if !choices.is_empty() {
            self.read.question = Some(Question { text, form: Form::Choice(choices), goal: Goal::None });
        }
    }

    fn constraints(&mut self, scope: &Scope) {
        let stated = self
            .lines
            .iter()
            .filter(|l| l.section == "Constraints" || l.section == "Declarations" && !l.text.contains("EnumSort") && !l.text.contains("Function("));
        for (n, l) in stated.enumerate() {
            let found = self.formula_of(l.text, scope).map(|f| self.as_worded(l, f, scope));
            let reading = self.kept(l, found).map(|f| vec![Reading::Formula(f)]);
            self.tell(l, n + 1, reading);
        }
    }

    /// A comparison, or what the words beside it say of the same places instead.
    fn as_worded(&mut self, l: &Line<'_>, f: Formula, scope: &Scope) -> Formula {
        let places = |f: &Formula| {
            let Formula::Compare(_, a, b) = f else { return None };
            let mut names: Vec<Name> = [a, b].into_iter().filter_map(|v| if let Value::Call(n, _) = v { Some(n.clone()) } else { None }).collect();
            names.sort();
            Some(names)
        };
        let said = self.reader.and_then(|r| r.placed(l.words, scope)).map(Formula::forward);
        match said {
            Some(said) if f.clone().forward() != said && places(&f).is_some() && places(&f) == places(&said) => {
                self.repairs.0 += 1;
                said
            }
            _ => f,
        }
    }

    fn formula_of(&mut self, text: &str, scope: &Scope) -> Result<Formula, Fault> {
        let tree = parse(text, true, &mut self.repairs)?;
        Meaning::new(scope, false).formula(&tree)
    }

    fn game(&mut self) {
        let mut scope = Scope::default();
        for l in self.section("Declarations") {
            let found = parse(l.text, true, &mut self.repairs).and_then(|t| declare(&t, &mut scope));
            self.kept(l, found);
        }
        if let Some(ints) = self.integers(&scope) {
            scope.sorts.insert("int".into(), ints);
        }
        self.constraints(&scope);
        let mut choices = vec![];
        let mut labels = ["A", "B", "C", "D", "E", "F", "G", "H"].iter();
        for l in self.section("Options").filter(|l| l.text != "Question") {
            let Some(next) = labels.next() else { break };
            let label = l.words.trim_start_matches('(').chars().next().filter(char::is_ascii_uppercase).map_or_else(|| (*next).to_owned(), String::from);
            let found = parse(l.text, true, &mut self.repairs).and_then(|t| checks(&t, &scope));
            let checks = self.kept(l, found).unwrap_or_default();
            choices.push(Choice { label, checks });
        }
        self.read.theory.scope = scope;
        self.options(choices);
    }

    /// The whole numbers that are looked at where a program says no more than `int`: those it speaks of, and as many as a sort has.
    fn integers(&self, scope: &Scope) -> Option<Vec<Value>> {
        let numbers =
            self.lines.iter().filter(|l| l.text != "Question").flat_map(|l| l.text.split(|c: char| !c.is_ascii_digit())).filter_map(|d| d.parse::<i32>().ok());
        let of_sorts = scope.sorts.values().filter_map(|v| i32::try_from(v.len()).ok());
        let most = numbers.chain(of_sorts).filter(|n| *n <= 60).max()?;
        let least = if self.lines.iter().any(|l| l.text != "Question" && l.text.split(|c: char| !c.is_ascii_digit()).any(|d| d == "0")) { 0 } else { 1 };
        Some((least..=most).map(Value::Number).collect())
    }
}

/// `name = EnumSort([a, b])` or `name = Function([sort] -> [sort])`.
fn declare(t: &Tree, scope: &mut Scope) -> Result<(), Fault> {
    let Tree::Infix("=", name, what) = t else { return Ok(()) };
    let (Tree::Name(name, _), Tree::Call(kind, args, column)) = (&**name, &**what) else { return Ok(()) };
    match (kind.as_str(), args.as_slice()) {
        ("EnumSort", [Tree::List(items)]) => {
            scope.sorts.insert(name.as_str().into(), items.iter().filter_map(plain).collect());
        }
        ("Function", [Tree::Infix("->", from, to)]) => {
            let (Tree::List(from), Tree::List(to)) = (&**from, &**to) else { return Err(Fault::new(*column, "a function is declared `[sorts] -> [sort]`")) };
            let mut sorts = vec![];
            for s in from.iter().chain(to) {
                sorts.push(match s {
                    Tree::Name(s, column) => {
                        if !matches!(s.as_str(), "int" | "bool") && !scope.sorts.contains_key(s.as_str()) {
                            return Err(Fault::new(*column, format!("the sort `{s}` is not declared")));
                        }
                        Name::from(s.as_str())
                    }
                    Tree::Call(_, items, _) => {
                        let values: Vec<Value> = if let [Tree::List(items)] = items.as_slice() { items.iter().filter_map(plain).collect() } else { vec![] };
                        let own: Name = format!("values of {name}").into();
                        scope.sorts.insert(own.clone(), values);
                        own
                    }
                    other => return Err(super::meaning::fault(other, "a sort has a name")),
                });
            }
            if let Some(to) = sorts.pop() {
                scope.functions.insert(name.as_str().into(), (sorts, to));
            }
        }
        _ => return Err(Fault::new(*column, format!("`{kind}` declares nothing"))),
    }
    Ok(())
}

fn plain(t: &Tree) -> Option<Value> {
    match t {
        Tree::Number(n) => Some(Value::Number(*n)),
        Tree::Name(n, _) => Some(Value::Name(n.as_str().into())),
        _ => None,
    }
}

/// What an option demands: `is_sat(…)`, `is_valid(…)`, `is_unsat(…)`, the exception to one of them, or a list that is complete.
fn checks(t: &Tree, scope: &Scope) -> Result<Vec<Check>, Fault> {
    let one = |t: &Tree, need: Need| Ok(vec![Check { goal: Meaning::new(scope, false).formula(t)?, need }]);
    match t {
        Tree::Call(n, args, column) => match (n.as_str(), args.as_slice()) {
            ("is_sat", [f]) => one(f, Need::Can),
            ("is_unsat", [f]) => one(f, Need::Cannot),
            ("is_valid" | "is_must" | "is_required", [f]) => one(f, Need::Must),
            ("is_exception", [inner]) => {
                let inner = checks(inner, scope)?;
                let [only] = inner.as_slice() else { return Err(Fault::new(*column, "an exception is to one check")) };
                Ok(vec![Check { goal: only.goal.clone(), need: only.need.opposite() }])
            }
            ("is_accurate_list", [Tree::List(items)]) => {
                let all = items.iter().map(|f| Meaning::new(scope, false).formula(f)).collect::<Result<Vec<_>, _>>()?;
                let each = all.iter().map(|f| Check { goal: f.clone(), need: Need::Can });
                Ok(each.chain([Check { goal: Formula::Or(all.clone()), need: Need::Must }]).collect())
            }
            _ => Err(Fault::new(*column, format!("`{n}` is no check of an option"))),
        },
        Tree::Prefix("not", inner) => {
            let inner = checks(inner, scope)?;
            let [only] = inner.as_slice() else { return Err(super::meaning::fault(t, "only one check can be denied")) };
            Ok(vec![Check { goal: only.goal.clone(), need: only.need.opposite() }])
        }
        other => Err(super::meaning::fault(other, "an option is a check: `is_sat(…)`, `is_valid(…)` or `is_unsat(…)`")),
    }
}
