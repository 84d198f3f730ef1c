//! The language of template texts: words, `{Var|filter}` and `[optional parts]`, compiled once at load.
//!
//! A text is words with holes. A hole names a variable of the pattern (`{X}`), `Count`, or a list that other templates
//! filled (`{items}`), followed by filters; `{X/Y}` is the first of the two that is bound. A part in square brackets is said only if every hole in it has something to say.

use std::collections::BTreeMap;

use crate::render::english::{self, Nouns};
use crate::term::pattern::{Bindings, Pattern, Value};
use crate::term::{Name, Term};

/// A compiled text.
#[derive(Clone, Debug, Default)]
pub struct Text(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Words(String),
    Hole(Expression),
    Optional(Text),
}

/// A variable or a list with its filters.
#[derive(Clone, Debug)]
pub struct Expression {
    base: Base,
    filters: Vec<Filter>,
}

#[derive(Clone, Debug)]
enum Base {
    /// The first of these variables that is bound.
    Var(Vec<Name>),
    List(Name),
}

#[derive(Clone, Debug)]
enum Filter {
    And,
    Or,
    Semicolons,
    Commas,
    Clauses,
    Counted(Option<Name>),
    Known,
    Article,
    Plural,
    Number,
    Ordinal,
    Money,
    Clock,
    Wording(Name),
}

/// The filters that are part of the language, for messages.
pub const FILTERS: [&str; 13] = ["and", "or", "clauses", "semicolons", "commas", "counted", "known", "a", "plural", "number", "ordinal", "money", "clock"];

/// What is wrong in a text: the offending piece, what it is, and the words it may have been meant as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextError {
    /// A bracket or brace without its partner.
    Unbalanced(char),
    /// Nothing stands in the braces, or more than a name and filters.
    Hole(String),
    /// No filter and no wording has this name.
    Filter(String),
}

/// Ways to say a term, by name: a table of constants and names, and phrases for atoms.
#[derive(Clone, Debug, Default)]
pub struct Wording {
    /// Exact terms with their text.
    pub table: BTreeMap<Term, String>,
    /// Phrases for atoms, the first that matches wins.
    pub phrases: Vec<Phrase>,
}

/// A text for the atoms of one form.
#[derive(Clone, Debug)]
pub struct Phrase {
    /// The form.
    pub pattern: Pattern,
    /// The variable that counts its names, if one does.
    pub count: Option<Name>,
    /// What is said.
    pub text: Text,
}

/// Everything that gives terms their words.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// How names behave.
    pub nouns: Nouns,
    /// Constants in words.
    pub constants: BTreeMap<Name, String>,
    /// Named ways to say terms.
    pub wordings: BTreeMap<Name, Wording>,
    /// Sign before amounts of money.
    pub currency: String,
}

/// Lists of already rendered items, by name.
pub type Lists = BTreeMap<Name, Vec<String>>;

/// What a text is rendered with.
pub struct Scope<'a> {
    /// Words of the domain.
    pub words: &'a Words,
    /// Variables.
    pub bindings: &'a Bindings,
    /// Lists.
    pub lists: &'a Lists,
    /// How many equal items this stands for.
    pub count: i64,
}

impl Text {
    /// Compiles a text; `wordings` are the names a filter may have besides the language's own.
    pub fn compile(text: &str, wordings: &[Name]) -> Result<Self, TextError> {
        let mut rest = text;
        let compiled = pieces(&mut rest, wordings, false)?;
        Ok(compiled)
    }

    /// Variables and lists that the text names.
    pub fn uses(&self) -> (Vec<Name>, Vec<Name>) {
        let (mut vars, mut lists) = (vec![], vec![]);
        for piece in &self.0 {
            match piece {
                Piece::Words(_) => {}
                Piece::Hole(e) => e.uses(&mut vars, &mut lists),
                Piece::Optional(t) => {
                    let (v, l) = t.uses();
                    vars.extend(v);
                    lists.extend(l);
                }
            }
        }
        (vars, lists)
    }

    /// The text with its holes filled.
    pub fn render(&self, scope: &Scope<'_>) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Words(w) => out.push_str(w),
                Piece::Hole(e) => out.push_str(&e.render(scope).unwrap_or_default()),
                Piece::Optional(t) => {
                    if t.0.iter().all(|p| !matches!(p, Piece::Hole(e) if e.render(scope).is_none_or(|s| s.is_empty()))) {
                        out.push_str(&t.render(scope));
                    }
                }
            }
        }
        out
    }
}

fn pieces(rest: &mut &str, wordings: &[Name], inside: bool) -> Result<Text, TextError> {
    let mut out = vec![];
    loop {
        let end = rest.find(['{', '}', '[', ']']).unwrap_or(rest.len());
        let (words, after) = rest.split_at(end);
        if !words.is_empty() {
            out.push(Piece::Words(words.to_owned()));
        }
        let mut chars = after.chars();
        match chars.next() {
            None if inside => return Err(TextError::Unbalanced('[')),
            None => {
                *rest = after;
                return Ok(Text(out));
            }
            Some('{') => {
                let (hole, tail) = chars.as_str().split_once('}').ok_or(TextError::Unbalanced('{'))?;
                out.push(Piece::Hole(Expression::compile(hole, wordings)?));
                *rest = tail;
            }
            Some('[') => {
                *rest = chars.as_str();
                out.push(Piece::Optional(pieces(rest, wordings, true)?));
            }
            Some(']') if inside => {
                *rest = chars.as_str();
                return Ok(Text(out));
            }
            Some(c) => return Err(TextError::Unbalanced(c)),
        }
    }
}

impl Expression {
    /// Compiles what stands between braces.
    pub fn compile(text: &str, wordings: &[Name]) -> Result<Self, TextError> {
        let mut parts = text.split('|').map(str::trim);
        let base = parts.next().filter(|b| !b.is_empty() && b.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '/'));
        let base = base.ok_or_else(|| TextError::Hole(text.to_owned()))?;
        let base =
            if base.starts_with(|c: char| c.is_ascii_uppercase()) { Base::Var(base.split('/').map(Into::into).collect()) } else { Base::List(base.into()) };
        let filters = parts.map(|f| filter(f, wordings)).collect::<Result<_, _>>()?;
        Ok(Self { base, filters })
    }

    /// The variable, if the expression is nothing else.
    pub fn bare_variable(&self) -> Option<&Name> {
        match &self.base {
            Base::Var(v) if self.filters.is_empty() && v.len() == 1 => v.first(),
            _ => None,
        }
    }

    fn uses(&self, vars: &mut Vec<Name>, lists: &mut Vec<Name>) {
        match &self.base {
            Base::Var(v) => vars.extend(v.iter().cloned()),
            Base::List(l) => lists.push(l.clone()),
        }
        lists.extend(self.filters.iter().filter_map(|f| if let Filter::Counted(Some(l)) = f { Some(l.clone()) } else { None }));
    }

    /// Variables and lists that the expression names.
    pub fn names(&self) -> (Vec<Name>, Vec<Name>) {
        let (mut vars, mut lists) = (vec![], vec![]);
        self.uses(&mut vars, &mut lists);
        (vars, lists)
    }

    /// The words, or nothing if there is nothing to say.
    pub fn render(&self, scope: &Scope<'_>) -> Option<String> {
        let mut value = match &self.base {
            Base::List(l) => Filled::List(scope.lists.get(l)?),
            Base::Var(v) if v.iter().any(|v| &**v == "Count") => Filled::Number(scope.count),
            Base::Var(v) => match v.iter().find_map(|v| scope.bindings.iter().find(|(n, _)| n == v)).map(|(_, value)| value)? {
                Value::Term(t) => Filled::Term(t),
                Value::Text(t) => Filled::Text(t.clone()),
            },
        };
        for f in &self.filters {
            value = Filled::Text(f.apply(&value, scope));
        }
        Some(value.said(scope))
    }
}

fn filter(text: &str, wordings: &[Name]) -> Result<Filter, TextError> {
    let (name, argument) = match text.split_once('(') {
        Some((name, argument)) => (name.trim(), Some(Name::from(argument.trim_end_matches(')').trim()))),
        None => (text, None),
    };
    Ok(match name {
        "and" => Filter::And,
        "or" => Filter::Or,
        "semicolons" => Filter::Semicolons,
        "commas" => Filter::Commas,
        "clauses" => Filter::Clauses,
        "counted" => Filter::Counted(argument),
        "known" => Filter::Known,
        "a" => Filter::Article,
        "plural" => Filter::Plural,
        "number" => Filter::Number,
        "ordinal" => Filter::Ordinal,
        "money" => Filter::Money,
        "clock" => Filter::Clock,
        other => Filter::Wording(wordings.iter().find(|w| &***w == other).ok_or_else(|| TextError::Filter(other.to_owned()))?.clone()),
    })
}

enum Filled<'a> {
    Term(&'a Term),
    Text(String),
    List(&'a [String]),
    Number(i64),
}

impl Filled<'_> {
    fn said(&self, scope: &Scope<'_>) -> String {
        match self {
            Self::Term(t) => scope.words.term(t),
            Self::Text(t) => t.clone(),
            Self::List(items) => english::list(items, "and"),
            Self::Number(n) => n.to_string(),
        }
    }

    /// The name before it is put in small letters or otherwise changed: endings are looked up by it.
    fn name(&self, scope: &Scope<'_>) -> String {
        match self {
            Self::Term(Term::Str(s)) => s.to_string(),
            other => other.said(scope),
        }
    }

    fn number(&self) -> Option<i64> {
        match self {
            Self::Term(Term::Int(n)) => Some(i64::from(*n)),
            Self::Number(n) => Some(*n),
            _ => None,
        }
    }

    fn items(&self, scope: &Scope<'_>) -> Vec<String> {
        match self {
            Self::List(items) => items.to_vec(),
            other => vec![other.said(scope)],
        }
    }
}

impl Filter {
    fn apply(&self, value: &Filled<'_>, scope: &Scope<'_>) -> String {
        let nouns = &scope.words.nouns;
        let numeric = |f: &dyn Fn(i64) -> String| value.number().map_or_else(|| value.said(scope), f);
        match self {
            Self::And => english::list(&value.items(scope), "and"),
            Self::Or => english::list(&value.items(scope), "or"),
            Self::Semicolons => value.items(scope).join("; "),
            Self::Commas => value.items(scope).join(", "),
            Self::Clauses => english::clauses(&value.items(scope)),
            Self::Counted(before) => {
                let before = before.as_ref().and_then(|l| scope.lists.get(l)).map(|items| items.join(" ")).unwrap_or_default();
                nouns.counted(scope.count, &before, &value.name(scope))
            }
            Self::Known => nouns.known(scope.count, &value.name(scope)),
            Self::Article => english::with_article(&value.said(scope)),
            Self::Plural => nouns.plural(&value.name(scope)),
            Self::Number => numeric(&english::number),
            Self::Ordinal => numeric(&english::ordinal),
            Self::Money => numeric(&|n| english::money(&scope.words.currency, n)),
            Self::Clock => numeric(&english::clock),
            Self::Wording(w) => match value {
                Filled::Term(t) => scope.words.worded(w, t),
                other => other.said(scope),
            },
        }
    }
}

impl Words {
    /// A term in words: names as they are said, constants from the table, functions part by part.
    pub fn term(&self, term: &Term) -> String {
        match term {
            Term::Int(n) => n.to_string(),
            Term::Const(c) => self.constants.get(c).cloned().unwrap_or_else(|| c.replace('_', " ")),
            Term::Str(s) => self.nouns.said(s),
            Term::Fun(name, args) => {
                let args: Vec<_> = args.iter().map(|a| self.term(a)).collect();
                format!("{} {}", name.replace('_', " "), english::list(&args, "and"))
            }
        }
    }

    /// A term in the words of one wording, or plainly if the wording does not know it.
    pub fn worded(&self, wording: &str, term: &Term) -> String {
        let Some(w) = self.wordings.get(wording) else { return self.term(term) };
        if let Some(text) = w.table.get(term) {
            return text.clone();
        }
        for phrase in &w.phrases {
            let mut bindings = vec![];
            if phrase.pattern.matches(term, &mut bindings) {
                let count = counted(phrase.count.as_ref(), &bindings);
                return phrase.text.render(&Scope { words: self, bindings: &bindings, lists: &Lists::new(), count });
            }
        }
        self.term(term)
    }
}

/// The whole number that a variable holds; one if it holds none.
pub fn counted(variable: Option<&Name>, bindings: &Bindings) -> i64 {
    let value = variable.and_then(|v| bindings.iter().find(|(n, _)| n == v)).map(|(_, v)| v);
    match value {
        Some(Value::Term(Term::Int(n))) => i64::from(*n),
        _ => 1,
    }
}
