//! Settings: what a site settles for itself, typed and with a default, kept as facts of its kb.

use std::collections::BTreeMap;

use super::{Ontology, Sort};
use crate::diag::{Origin, did_you_mean};
use crate::term::{Atom, Name, Term};

/// A setting: the fact `name(value)` stands in the kb of every site.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name.
    pub name: Name,
    /// What its values are.
    pub sort: Name,
    /// The value for sites that say nothing.
    pub default: Term,
    /// What it means, with `{1}` for the value.
    pub means: String,
    /// Where it is declared.
    pub origin: Origin,
}

/// What somebody settled, by setting.
pub type Settled = BTreeMap<Name, Term>;

impl Setting {
    /// The fact that says this value.
    pub fn fact(&self, value: &Term) -> Atom {
        Atom::new(&self.name, vec![value.clone()])
    }

    /// A value from its text.
    pub(super) fn value(&self, text: &str, sorts: &BTreeMap<Name, Sort>) -> Result<Term, String> {
        let refuse = |what: String| Err(format!("`{}` cannot be `{text}`: {what}", self.name));
        match sorts.get(&self.sort) {
            Some(Sort::Values(list)) => match list.iter().find(|v| ***v == *text) {
                Some(v) => Ok(Term::Const(v.clone())),
                None => refuse(format!("it is one of {}", list.iter().map(|v| format!("`{v}`")).collect::<Vec<_>>().join(", "))),
            },
            Some(Sort::Int { min, max, .. }) => match text.parse::<i32>() {
                Ok(n) if n >= *min && n <= *max => Ok(Term::Int(n)),
                _ => refuse(format!("it is a whole number from {min} to {max}")),
            },
            Some(Sort::NewName | Sort::Names(_)) if !text.trim().is_empty() => Ok(Term::string(text)),
            _ => refuse("its sort has no values that could be settled".to_owned()),
        }
    }
}

impl Ontology {
    /// What `NAME=VALUE` settles; unknown names and values are refused with what there is.
    pub fn settle(&self, text: &str) -> Result<(Name, Term), String> {
        let Some((name, value)) = text.split_once('=').map(|(n, v)| (n.trim(), v.trim())) else {
            return Err(format!("`{text}` settles nothing: write NAME=VALUE, such as {}", self.offered()));
        };
        let Some(setting) = self.settings.iter().find(|s| &*s.name == name) else {
            let near = did_you_mean(name, self.settings.iter().map(|s| &*s.name)).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
            return Err(format!("there is no setting `{name}`: {near}{} has {}", self.domain, self.offered()));
        };
        Ok((setting.name.clone(), setting.value(value, &self.sorts)?))
    }

    /// The settings with their defaults, for messages.
    fn offered(&self) -> String {
        let all: Vec<String> = self.settings.iter().map(|s| format!("`{}={}`", s.name, s.default)).collect();
        if all.is_empty() { "no settings".to_owned() } else { all.join(", ") }
    }

    /// The setting whose value a fact says.
    pub fn setting_of(&self, fact: &Atom) -> Option<&Setting> {
        self.settings.iter().find(|s| s.name == fact.name && fact.args.len() == 1)
    }

    /// The facts with each setting said once: as settled here, else as the site had it, else by default.
    pub fn with_settings(&self, facts: &[Atom], settled: &Settled, site: &[Atom]) -> Vec<Atom> {
        let mut all: Vec<Atom> = facts.iter().filter(|f| self.setting_of(f).is_none()).cloned().collect();
        for s in &self.settings {
            let had = || site.iter().find(|f| f.name == s.name && f.args.len() == 1).cloned();
            all.push(settled.get(&s.name).map(|v| s.fact(v)).or_else(had).unwrap_or_else(|| s.fact(&s.default)));
        }
        all.sort();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, Files};

    #[test]
    fn what_is_no_setting_is_refused_with_what_there_is() {
        let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
        let o = &domain.ontology;
        assert_eq!(o.settle("most_of_one_item = 7").unwrap(), ("most_of_one_item".into(), Term::Int(7)));
        let refused = ["most_of_one_itm=7", "most_of_one_item=0", "most_of_one_item"].map(|t| o.settle(t).unwrap_err());
        assert!(refused[0].contains("did you mean `most_of_one_item`"), "{refused:?}");
        assert!(refused[1].contains("from 1 to 1000000"), "{refused:?}");
        assert!(refused[2].contains("`most_of_one_item=25`"), "{refused:?}");
    }

    #[test]
    fn a_site_keeps_what_it_settled_unless_something_else_is_settled_now() {
        let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
        let with = |settled: &[&str], site: &[&str]| {
            let settled = settled.iter().map(|t| domain.ontology.settle(t).unwrap()).collect();
            let site: Vec<Atom> = site.iter().map(|t| Atom::parse(t).unwrap()).collect();
            let facts = domain.ontology.with_settings(&domain.facts, &settled, &site);
            facts.iter().filter(|f| &*f.name == "most_of_one_item").map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(with(&[], &[]), ["most_of_one_item(25)"]);
        assert_eq!(with(&[], &["most_of_one_item(3)"]), ["most_of_one_item(3)"]);
        assert_eq!(with(&["most_of_one_item=4"], &["most_of_one_item(3)"]), ["most_of_one_item(4)"]);
    }
}
