//! The forms of a role in few words: what a model is billed for in every turn is the length of the list.

use super::forms::Form;
use crate::term::Name;

/// Forms that differ in one place.
struct Family {
    name: Name,
    /// What may stand in each place.
    places: Vec<Vec<String>>,
    /// The last argument, where it may be left out.
    tail: String,
    means: Vec<String>,
}

/// The forms, each family with its meanings: forms that differ in one place stand together as `f(a|b, SORT)`, and so do their meanings;
/// a last argument that several forms add to others, all with the same meaning, stands as `f(a, SORT[, MORE])` and is told once.
pub fn families(forms: &[Form]) -> Vec<(String, String)> {
    let base = |f: &Form| forms.iter().find(|b| f.adds_to(b) && !forms.iter().any(|c| b.adds_to(c)));
    let shared = |f: &Form| forms.iter().filter(|o| o.name == f.name && o.means == f.means).count() > 1;
    let (longer, plain): (Vec<&Form>, Vec<&Form>) = forms.iter().partition(|f| base(f).is_some() && shared(f));
    let tail = |f: &Form| f.args.last().map(|a| format!("[, {a}]")).unwrap_or_default();
    let mut families: Vec<Family> = plain.iter().map(|f| Family::of(f, longer.iter().find(|l| l.adds_to(f)).map(|l| tail(l)))).collect();
    // Constants come together first, so that what can be asked of one sort stands in one line.
    for constants in [true, false] {
        let mut joined: Vec<Family> = vec![];
        for family in families {
            match joined.iter_mut().find_map(|f| f.place_for(&family, constants).map(|at| (f, at))) {
                Some((into, at)) => into.join(family, at),
                None => joined.push(family),
            }
        }
        families = joined;
    }
    let mut told: Vec<(String, String)> = families.into_iter().map(|f| (f.to_string(), f.means.join(" / "))).collect();
    for form in longer {
        let note = (tail(form), form.means.clone());
        if !told.contains(&note) {
            told.push(note);
        }
    }
    told
}

impl Form {
    /// Whether this is the other form with one argument more.
    fn adds_to(&self, other: &Self) -> bool {
        self.name == other.name && self.args.len() == other.args.len() + 1 && self.args.starts_with(&other.args)
    }
}

impl Family {
    fn of(form: &Form, tail: Option<String>) -> Self {
        let places = form.args.iter().map(|a| vec![a.to_string()]).collect();
        Self { name: form.name.clone(), places, tail: tail.unwrap_or_default(), means: vec![form.means.clone()] }
    }

    /// The one place in which another differs, if it may stand with this one.
    fn place_for(&self, other: &Self, constants: bool) -> Option<usize> {
        if self.name != other.name || self.places.len() != other.places.len() || self.tail != other.tail {
            return None;
        }
        let mut differing = (0..self.places.len()).filter(|at| self.places.get(*at) != other.places.get(*at));
        let at = differing.next().filter(|_| differing.next().is_none())?;
        let elsewhere = self.places.iter().enumerate().all(|(i, p)| i == at || p.len() == 1);
        let plain = |f: &Self| f.places.get(at).is_some_and(|p| p.iter().all(|w| w.starts_with(char::is_lowercase)));
        (elsewhere && (!constants || (plain(self) && plain(other)))).then_some(at)
    }

    fn join(&mut self, other: Self, at: usize) {
        if let (Some(place), Some(more)) = (self.places.get_mut(at), other.places.into_iter().nth(at)) {
            place.extend(more);
        }
        let new: Vec<String> = other.means.into_iter().filter(|m| !self.means.contains(m)).collect();
        self.means.extend(new);
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if self.places.is_empty() {
            return Ok(());
        }
        write!(f, "({}{})", self.places.iter().map(|p| p.join("|")).collect::<Vec<_>>().join(", "), self.tail)
    }
}
