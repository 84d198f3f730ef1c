//! Questions a customer may ask, and recommendations.

use std::collections::BTreeSet;

use duologue::term::{Atom, Term};

use crate::customer::{Turn, con, quoted, str};
use crate::menu::{CATEGORIES, Names};
use crate::state::total;

fn one(x: Option<i32>) -> BTreeSet<Term> {
    x.map(Term::Int).into_iter().collect()
}

fn yes_no(x: bool) -> BTreeSet<Term> {
    [con(if x { "yes" } else { "no" })].into()
}

fn strings<'a>(x: impl IntoIterator<Item = &'a String>) -> BTreeSet<Term> {
    x.into_iter().map(|s| str(s)).collect()
}

impl Turn<'_> {
    pub fn query(&mut self, a: &Atom, kind: &Term, object: &Term) {
        let Term::Const(k) = kind else { return self.reject(a, "bad_value") };
        match self.values(k, object) {
            Err(reason) => self.reject(a, reason),
            Ok(mut values) => {
                if values.is_empty() {
                    values.insert(con("none"));
                }
                for v in values {
                    self.answer("answer", vec![object.clone(), kind.clone(), v]);
                }
            }
        }
    }

    fn values(&self, kind: &str, object: &Term) -> Result<BTreeSet<Term>, &'static str> {
        let m = &*self.c.menu;
        let word = match object {
            Term::Const(w) => Some(&**w),
            _ => None,
        };
        let name = |known: &dyn Fn(&str) -> bool| match quoted(object) {
            Some(x) if known(x) => Ok(x.to_string()),
            Some(_) => Err("unknown_food"),
            None => Err("bad_value"),
        };
        let dish = || name(&|x| m.is_dish(x));
        let food = || name(&|x| m.is_food(x));
        let here = |x: &&String| !m.out(x, self.runout);
        Ok(match (kind, word) {
            ("price", Some("order")) => one(Some(total(&self.c.items, m))),
            ("calories", Some("order")) => one(Some(self.c.items.iter().map(|i| i.calories(m)).sum())),
            ("price", _) => {
                let x = food()?;
                if m.is_part(&x) {
                    m.upgrade_price.iter().filter(|((_, t), _)| *t == x).map(|(_, p)| Term::Int(*p)).collect()
                } else {
                    one(m.price.get(&x).copied())
                }
            }
            ("calories", _) => {
                let x = food()?;
                if m.is_part(&x) {
                    m.upgrade_cal.iter().filter(|((_, t), _)| *t == x).map(|(_, p)| Term::Int(*p)).collect()
                } else {
                    one(m.calories.get(&x).copied())
                }
            }
            ("add_on", Some("all")) => strings(m.toppings.values().flatten().filter(here)),
            ("add_on", _) => strings(m.set(&m.toppings, &dish()?).filter(here)),
            ("ingredient", _) => strings(m.set(&m.includes, &dish()?)),
            ("size", _) => {
                let x = dish()?;
                if m.size_drinks.contains(&x) { [con("regular"), con("large")].into() } else { BTreeSet::new() }
            }
            ("size_price", Some("all")) => one(Some(m.large_price)),
            ("size_price", _) => {
                let x = dish()?;
                one(m.size_drinks.contains(&x).then_some(m.large_price))
            }
            ("style", _) => m.set(&m.styles, &dish()?).map(|s| con(s)).collect(),
            ("combo", _) => strings(m.set(&m.contains, &name(&|x| m.is_combo(x))?)),
            ("menu", Some("all")) => strings(m.dishes.iter().chain(&m.combos).filter(here)),
            ("menu", Some("combo")) => strings(m.combos.iter().filter(here)),
            ("menu", Some("vegan")) => strings(m.veggie.iter().filter(here)),
            ("menu", Some(c)) if CATEGORIES.contains(&c) => strings(m.category.iter().filter(|(_, x)| *x == c).map(|(d, _)| d).filter(here)),
            ("available", _) => yes_no(!m.out(&food()?, self.runout)),
            ("replacement", _) => {
                let x = dish()?;
                let swap = |(o, n): &(String, String)| Term::Fun("swap".into(), vec![str(o), str(n)]);
                m.swaps.get(&x).into_iter().flatten().filter(|(_, n)| !m.out(n, self.runout)).map(swap).collect()
            }
            ("veggie", _) => yes_no(m.veggie.contains(&dish()?)),
            _ => return Err("bad_value"),
        })
    }

    fn allergen_in(&self, food: &str) -> bool {
        let m = &*self.c.menu;
        let included = |d: &str| m.set(&m.includes, d).any(|p| self.c.allergies.contains(p));
        self.c.allergies.contains(food) || included(food) || m.set(&m.contains, food).any(|d| included(d))
    }

    pub fn recommend(&mut self, a: &Atom, content: &Term, kind: &Term) {
        let m = self.c.menu.clone();
        let word = match content {
            Term::Const(w) => Some(w.to_string()),
            _ => None,
        };
        let found = match (kind.as_name(), word.as_deref(), quoted(content)) {
            (Some("category"), Some(w), _) => {
                let chicken = |d: &String| m.cantina.contains(d) || m.has(&m.includes, d, "Grilled Chicken");
                let of = |c: &str| m.dishes.iter().filter(|d| m.category.get(*d).is_some_and(|x| x == c)).cloned().collect::<Names>();
                let all: Names = match w {
                    "vegan" => m.veggie.clone(),
                    "chicken" => m.dishes.iter().filter(|d| chicken(d)).cloned().collect(),
                    "best_seller" => m.best.clone(),
                    "combo" => m.combos.clone(),
                    "all" => &m.dishes - &of("drink"),
                    c if CATEGORIES.contains(&c) => of(c),
                    _ => return self.reject(a, "bad_value"),
                };
                self.best(all, |d| (!m.best.contains(d), m.price.get(d).copied().unwrap_or(0)))
            }
            (Some("upgrade"), None, Some(d)) => {
                if !m.is_dish(d) {
                    return self.reject(a, "unknown_food");
                }
                for p in self.c.allergies.clone() {
                    if m.has(&m.includes, d, &p) {
                        self.warn(d, &p);
                    }
                }
                let all = m.set(&m.popular, d).cloned().collect();
                self.best(all, |t| (false, m.upgrade_price.get(&(d.to_string(), t.to_string())).copied().unwrap_or(0)))
            }
            _ => return self.reject(a, "bad_value"),
        };
        if let Some(x) = &found {
            self.c.mentioned.insert(x.clone());
        }
        self.answer("recommend", vec![kind.clone(), found.as_deref().map_or(con("none"), str)]);
    }

    fn best(&self, all: Names, key: impl Fn(&str) -> (bool, i32)) -> Option<String> {
        let here = |x: &String| !self.c.menu.out(x, self.runout) && !self.c.mentioned.contains(x) && !self.allergen_in(x);
        all.into_iter().filter(here).min_by_key(|x| (key(x), x.clone()))
    }
}
