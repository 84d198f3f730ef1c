//! How a conversation stands: values, results of calls and what was just said, read from the facts that a turn is decided on.
//!
//! Every front-end keeps its standing in the same session facts, changed by effects only: `value(Name,Value)` here, `result(F,Field,Value)` and
//! `item(F,Field,N,Value)` as calls leave them. What a speaker gives in this turn (`in(K,gives(Name,Value))`) counts before what was known.

use super::value::{Path, Value};
use crate::term::{Atom, Term};

/// A view of the facts.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    facts: &'a [Atom],
}

impl<'a> Standing<'a> {
    /// The standing that facts describe.
    pub fn of(facts: &'a [Atom]) -> Self {
        Self { facts }
    }

    fn named(self, name: &'static str) -> impl Iterator<Item = &'a [Term]> {
        self.facts.iter().filter(move |a| &*a.name == name).map(|a| a.args.as_slice())
    }

    /// Everything that stands under a name with one argument, in order.
    pub fn names(self, name: &'static str) -> impl Iterator<Item = &'a str> {
        self.named(name).filter_map(|args| args.first()?.as_name())
    }

    /// The values of the conversation.
    pub fn values(self) -> impl Iterator<Item = (&'a str, &'a Term)> {
        self.named("value").filter_map(|args| match args {
            [name, value] => Some((name.as_name()?, value)),
            _ => None,
        })
    }

    /// A fact of two arguments by its first.
    pub fn under(self, name: &'static str, first: &str) -> Option<&'a Term> {
        self.named(name).find_map(|args| match args {
            [key, value] if key.as_name() == Some(first) => Some(value),
            _ => None,
        })
    }

    /// What a function gave back the last time, field by field.
    pub fn results<'b>(self, function: &'b str) -> impl Iterator<Item = (&'a str, Value)> + use<'a, 'b> {
        self.any_result().filter(move |(f, _, _)| *f == function).map(|(_, field, v)| (field, v))
    }

    /// What all functions gave back: function, field, value.
    pub fn any_result(self) -> impl Iterator<Item = (&'a str, &'a str, Value)> {
        self.named("result").filter_map(|args| match args {
            [function, field, value] => Some((function.as_name()?, field.as_name()?, Value::from(value))),
            _ => None,
        })
    }

    /// The items of all lists that functions gave back.
    pub fn all_items(self) -> impl Iterator<Item = &'a str> {
        self.named("item").filter_map(|args| args.last()?.as_name())
    }

    /// The items of a list that a function gave back.
    pub fn items(self, field: &str) -> Vec<&'a str> {
        let mut all: Vec<(i32, &str)> = self
            .named("item")
            .filter_map(|args| match args {
                [_, f, n, value] if f.as_name() == Some(field) => Some((n.as_int()?, value.as_name()?)),
                _ => None,
            })
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, v)| v).collect()
    }

    /// What is found on a path.
    pub fn find(self, path: &Path) -> Option<Value> {
        let given = self.named("in").find_map(|args| match args {
            [_, Term::Fun(said, gives)] if &**said == "gives" => match gives.as_slice() {
                [name, value] if name.as_name() == Some(&path.name) => Some(Value::from(value)),
                _ => None,
            },
            _ => None,
        });
        let result = || self.any_result().find(|(f, field, _)| *field == path.name && path.of.as_ref().is_none_or(|p| p == f)).map(|(_, _, v)| v);
        let value = || self.values().find(|(name, _)| *name == path.name).map(|(_, v)| Value::from(v));
        result().or(given).or_else(value)
    }
}
