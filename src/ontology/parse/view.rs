//! The `view:` section: which `view` atoms are shown, as what, and in which words.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{Arg, Diagnostic, Name, Origin, Reader, Sort};
use crate::ontology::shape::{Field, Keys, Lines, Shape, ValueSort, template_error};
use crate::term::Read;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewText {
    shown: Vec<Spanned<FieldText>>,
    #[serde(default)]
    text: Option<Spanned<String>>,
    #[serde(default)]
    nothing: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldText {
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    always: bool,
    #[serde(default)]
    values: Option<String>,
    #[serde(default)]
    under: Option<String>,
    #[serde(default)]
    lines: Option<String>,
    #[serde(default)]
    line: Option<String>,
    #[serde(default)]
    change: Option<String>,
    #[serde(default)]
    part: Option<String>,
    #[serde(default)]
    part_change: Option<String>,
    #[serde(default)]
    keys: KeysText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct KeysText {
    number: String,
    item: String,
    changes: String,
    parts: String,
    slot: String,
    fill: String,
}

impl Default for KeysText {
    fn default() -> Self {
        let own = |s: &str| s.to_owned();
        Self { number: own("number"), item: own("item"), changes: own("changes"), parts: own("parts"), slot: own("slot"), fill: own("fill") }
    }
}

/// What the forms of lines look like; the names of the arguments only tell people what stands where.
const LINE: &str = "line(PLACE, ITEM)";
const CHANGE: &str = "change(PLACE, m(OP, OPTION))";
const PART: &str = "part(PLACE, p(RANK, SLOT, FILL))";
const PART_CHANGE: &str = "part_change(PLACE, SLOT, m(OP, OPTION))";

impl Reader<'_> {
    pub(super) fn view(&mut self, text: &ViewText) -> Shape {
        if let Some((template, e)) = text.text.as_ref().and_then(|t| Some((t, template_error(&t.value)?))) {
            let at = self.at(&template.referenced);
            self.diagnostics.push(
                Diagnostic::error("O008", at, format!("the text of `view` is no template: {e}"))
                    .help("write MiniJinja, such as {{ status }}; see docs/domains.md"),
            );
        }
        let fields = text.shown.iter().filter_map(|f| self.field(f)).collect();
        Shape { fields, text: text.text.as_ref().map(|t| t.value.clone()), nothing: text.nothing.clone() }
    }

    fn field(&mut self, text: &Spanned<FieldText>) -> Option<Field> {
        let origin = self.at(&text.referenced);
        let f = &text.value;
        match (&f.value, &f.values, &f.lines) {
            (Some(form), None, None) => self.shown_value(form, &origin).map(|(name, sort)| Field::Value { name, sort, always: f.always }),
            (None, Some(form), None) => {
                self.shown_value(form, &origin).map(|(name, sort)| Field::Values { name, sort, under: f.under.as_deref().map(Name::from) })
            }
            (None, None, Some(name)) => {
                let k = &f.keys;
                let keys = Keys {
                    number: k.number.clone(),
                    item: k.item.clone(),
                    changes: k.changes.clone(),
                    parts: k.parts.clone(),
                    slot: k.slot.clone(),
                    fill: k.fill.clone(),
                };
                let (line, _) = self.like(f.line.as_deref(), LINE, &origin)?.unwrap_or_else(|| ("line".into(), None));
                let change = self.wrapped(f.change.as_deref(), CHANGE, &origin)?;
                let part = self.wrapped(f.part.as_deref(), PART, &origin)?;
                let part_change = self.wrapped(f.part_change.as_deref(), PART_CHANGE, &origin)?;
                Some(Field::Lines(Box::new(Lines { name: name.as_str().into(), line, change, part, part_change, keys })))
            }
            _ => {
                self.diagnostics.push(
                    Diagnostic::error("O008", origin, "this shows no `view` atoms")
                        .help("write one of {value: NAME(SORT)}, {values: NAME(SORT)} and {lines: KEY, line: …}; see docs/domains.md"),
                );
                None
            }
        }
    }

    /// `price(CENTS)`: the name, and how a text under it is read back.
    fn shown_value(&mut self, form: &str, origin: &Origin) -> Option<(Name, ValueSort)> {
        let (name, args) = self.form(form, origin)?;
        match args.as_slice() {
            [Arg::Sort(sort)] => {
                let names = !self.ontology_names(sort).is_empty() || self.sorts.get(sort) == Some(&Sort::NewName);
                Some((name, if names { ValueSort::Name } else { ValueSort::Constant }))
            }
            _ => {
                self.no_form(form, "NAME(SORT)", origin);
                None
            }
        }
    }

    fn ontology_names(&self, sort: &str) -> Vec<Name> {
        match self.sorts.get(sort) {
            Some(Sort::Names(facts)) => facts.clone(),
            Some(Sort::Union(parts)) => parts.iter().flat_map(|p| self.ontology_names(p)).collect(),
            _ => vec![],
        }
    }

    fn wrapped(&mut self, form: Option<&str>, like: &str, origin: &Origin) -> Option<Option<(Name, Name)>> {
        Some(self.like(form, like, origin)?.and_then(|(name, wrap)| Some((name, wrap?))))
    }

    /// The predicate and the function of a form with as many arguments in the same places as `like`; nothing where it is wrong.
    #[expect(clippy::option_option, reason = "wrong and left out are two things")]
    fn like(&mut self, form: Option<&str>, like: &str, origin: &Origin) -> Option<Option<(Name, Option<Name>)>> {
        let Some(text) = form else { return Some(None) };
        let outline = |text: &str| match Arg::read(text) {
            Ok(Arg::Fun(name, args)) => {
                let inner = args.iter().map(|a| if let Arg::Fun(_, more) = a { more.len() } else { 0 }).collect::<Vec<_>>();
                let wrap = args.iter().find_map(|a| if let Arg::Fun(w, _) = a { Some(w.clone()) } else { None });
                Some((name, wrap, inner))
            }
            _ => None,
        };
        match (outline(text), outline(like)) {
            (Some((name, wrap, is)), Some((_, _, meant))) if is == meant => Some(Some((name, wrap))),
            _ => {
                self.no_form(text, like, origin);
                None
            }
        }
    }

    fn no_form(&mut self, form: &str, like: &str, origin: &Origin) {
        self.diagnostics.push(Diagnostic::error("O008", origin.clone(), format!("`{form}` is not of the form `{like}`")).help("see docs/domains.md"));
    }
}
