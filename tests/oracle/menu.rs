//! The menu as plain maps, built from the facts of one kb version.

use std::collections::{BTreeMap, BTreeSet};

use duologue::term::{Atom, Term};

pub type Names = BTreeSet<String>;

/// The categories of section 0.
pub const CATEGORIES: [&str; 10] = ["taco", "burrito", "quesadilla", "nacho", "bowl", "specialty", "side", "breakfast", "sweet", "drink"];
/// The styles of section 0.
pub const STYLES: [&str; 3] = ["fresco", "supreme", "grill"];

#[derive(Clone, Debug, Default)]
pub struct Menu {
    pub facts: BTreeSet<Atom>,
    pub dishes: Names,
    pub combos: Names,
    pub parts: Names,
    pub price: BTreeMap<String, i32>,
    pub calories: BTreeMap<String, i32>,
    pub category: BTreeMap<String, String>,
    pub includes: BTreeMap<String, Names>,
    pub toppings: BTreeMap<String, Names>,
    pub popular: BTreeMap<String, Names>,
    pub upgrade_price: BTreeMap<(String, String), i32>,
    pub upgrade_cal: BTreeMap<(String, String), i32>,
    pub extra_price: BTreeMap<String, i32>,
    pub extra_cal: BTreeMap<String, i32>,
    pub swaps: BTreeMap<String, BTreeSet<(String, String)>>,
    pub swap_price: BTreeMap<(String, String, String), i32>,
    pub styles: BTreeMap<String, Names>,
    pub style_price: BTreeMap<(String, String), i32>,
    pub contains: BTreeMap<String, Names>,
    pub members: BTreeMap<String, Names>,
    pub group_price: BTreeMap<(String, String), i32>,
    pub size_drinks: Names,
    pub large_price: i32,
    pub veggie: Names,
    pub cantina: Names,
    pub best: Names,
}

/// Reads the facts of a `.lp` file that holds one fact a line.
pub fn read_facts(text: &str) -> BTreeSet<Atom> {
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('%')).map(|l| Atom::parse(l).unwrap()).collect()
}

fn name(t: &Term) -> String {
    t.as_name().unwrap_or_default().to_string()
}

impl Menu {
    pub fn new(facts: BTreeSet<Atom>) -> Self {
        let mut m = Self::default();
        for f in &facts {
            let a = &f.args;
            let n = |i: usize| name(&a[i]);
            let int = |i: usize| a[i].as_int().unwrap_or(0);
            match (&*f.name, a.len()) {
                ("dish", 1) => drop(m.dishes.insert(n(0))),
                ("combo", 1) => drop(m.combos.insert(n(0))),
                ("ingredient" | "sauce", 1) => drop(m.parts.insert(n(0))),
                ("original_price", 2) => drop(m.price.insert(n(0), int(1))),
                ("original_cal", 2) => drop(m.calories.insert(n(0), int(1))),
                ("category", 2) => drop(m.category.insert(n(0), n(1))),
                ("included_ingredient", 2) => drop(m.includes.entry(n(0)).or_default().insert(n(1))),
                ("available_topping", 2) => drop(m.toppings.entry(n(0)).or_default().insert(n(1))),
                ("popular_topping", 2) => drop(m.popular.entry(n(0)).or_default().insert(n(1))),
                ("upgrade_price", 3) => drop(m.upgrade_price.insert((n(0), n(1)), int(2))),
                ("upgrade_cal", 3) => drop(m.upgrade_cal.insert((n(0), n(1)), int(2))),
                ("extra_price", 2) => drop(m.extra_price.insert(n(0), int(1))),
                ("extra_cal", 2) => drop(m.extra_cal.insert(n(0), int(1))),
                ("replaceable_ingredient", 3) => drop(m.swaps.entry(n(0)).or_default().insert((n(1), n(2)))),
                ("replacement_price", 4) => drop(m.swap_price.insert((n(0), n(1), n(2)), int(3))),
                ("available_special_style", 2) => drop(m.styles.entry(n(0)).or_default().insert(n(1))),
                ("special_style_price", 3) => drop(m.style_price.insert((n(0), n(1)), int(2))),
                ("combo_contain", 2) => drop(m.contains.entry(n(0)).or_default().insert(n(1))),
                ("combo_option_group", 2) => drop(m.members.entry(n(0)).or_default().insert(n(1))),
                ("group_upgrade_price", 3) => drop(m.group_price.insert((n(0), n(1)), int(2))),
                ("size_changable_drink", 1) => drop(m.size_drinks.insert(n(0))),
                ("upgrade_size_price", 1) => m.large_price = int(0),
                ("veggie", 1) => drop(m.veggie.insert(n(0))),
                ("cantina_chicken", 1) => drop(m.cantina.insert(n(0))),
                ("best_seller", 1) => drop(m.best.insert(n(0))),
                _ => {}
            }
        }
        m.facts = facts;
        m
    }

    pub fn is_dish(&self, x: &str) -> bool {
        self.dishes.contains(x)
    }

    pub fn is_combo(&self, x: &str) -> bool {
        self.combos.contains(x)
    }

    pub fn is_item(&self, x: &str) -> bool {
        self.is_dish(x) || self.is_combo(x)
    }

    pub fn is_part(&self, x: &str) -> bool {
        self.parts.contains(x)
    }

    pub fn is_food(&self, x: &str) -> bool {
        self.is_item(x) || self.is_part(x)
    }

    pub fn is_group(&self, x: &str) -> bool {
        self.members.contains_key(x)
    }

    pub fn set<'a>(&'a self, map: &'a BTreeMap<String, Names>, key: &str) -> impl Iterator<Item = &'a String> + use<'a> {
        map.get(key).into_iter().flatten()
    }

    pub fn has(&self, map: &BTreeMap<String, Names>, key: &str, value: &str) -> bool {
        map.get(key).is_some_and(|s| s.contains(value))
    }

    fn drink(&self, dish: &str) -> bool {
        self.category.get(dish).is_some_and(|c| c == "drink")
    }

    fn drink_slot(&self, slot: &str) -> bool {
        match self.members.get(slot) {
            Some(all) => all.iter().all(|d| self.drink(d)),
            None => self.drink(slot),
        }
    }

    /// The slots of a combo in walking order: by name, drinks last.
    pub fn slots(&self, combo: &str) -> Vec<String> {
        let mut slots: Vec<String> = self.set(&self.contains, combo).cloned().collect();
        slots.sort_by_key(|s| (self.drink_slot(s), s.clone()));
        slots
    }

    /// What is missing for a food: the arguments of `runout(..)`; empty if it can be had.
    pub fn missing(&self, food: &str, runout: &Names) -> BTreeSet<Term> {
        let mut out = BTreeSet::new();
        if runout.contains(food) {
            out.insert(Term::constant("none"));
        }
        if self.is_dish(food) {
            out.extend(self.set(&self.includes, food).filter(|i| runout.contains(*i)).map(|i| Term::string(i)));
        }
        if self.is_combo(food) {
            for slot in self.set(&self.contains, food) {
                if let Some(all) = self.members.get(slot) {
                    if all.iter().all(|d| !self.missing(d, runout).is_empty()) {
                        out.insert(Term::string(slot));
                    }
                } else {
                    let none = Term::constant("none");
                    out.extend(self.missing(slot, runout).into_iter().map(|x| if x == none { Term::string(slot) } else { x }));
                }
            }
        }
        out
    }

    pub fn out(&self, food: &str, runout: &Names) -> bool {
        !self.missing(food, runout).is_empty()
    }
}
