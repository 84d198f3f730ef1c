//! The manager's turn: shortages act at once, menu changes are collected.

use std::collections::{BTreeMap, BTreeSet};

use duologue::term::{Atom, Term};

use crate::customer::{con, fun, quoted, str};
use crate::menu::{CATEGORIES, Menu, Names, STYLES};

/// Collected changes: facts to take away, then facts to add.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    pub gone: BTreeSet<Atom>,
    pub new: BTreeSet<Atom>,
}

impl Delta {
    pub fn apply(&self, facts: &mut BTreeSet<Atom>) {
        facts.retain(|f| !self.gone.contains(f));
        facts.extend(self.new.iter().cloned());
    }

    fn add(&mut self, f: Atom) {
        self.gone.remove(&f);
        self.new.insert(f);
    }

    fn del(&mut self, f: &Atom) {
        self.new.remove(f);
        self.gone.insert(f.clone());
    }
}

/// A food being added.
#[derive(Clone, Debug)]
struct Adding {
    name: String,
    kind: Option<String>,
    no_popular: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Manager {
    pub delta: Delta,
    adding: Vec<Adding>,
    /// The question asked last: food and property.
    pub asked: Option<(String, String)>,
}

pub struct Turn<'a> {
    m: &'a mut Manager,
    base: &'a BTreeSet<Atom>,
    elsewhere: &'a Elsewhere,
    runout: &'a mut Names,
    out: Vec<Atom>,
}

/// What the other open managers have collected.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    gone: BTreeSet<Atom>,
    new: BTreeSet<Atom>,
    /// Foods that come or go with it.
    moves: BTreeSet<Term>,
}

impl Elsewhere {
    /// From their deltas, as far as these change the menu.
    pub fn of<'a>(deltas: impl Iterator<Item = &'a Delta>, base: &BTreeSet<Atom>) -> Self {
        let mut all = Self::default();
        for d in deltas {
            all.gone.extend(d.gone.intersection(base).cloned());
            all.new.extend(d.new.difference(base).cloned());
        }
        let kinds = all.gone.iter().chain(&all.new).filter(|f| ["dish", "combo", "ingredient", "sauce"].contains(&&*f.name));
        all.moves = kinds.filter_map(|f| f.args.first().cloned()).collect();
        all
    }

    fn in_hand(&self, food: &Term) -> bool {
        let swept = |f: &Atom| f.args.iter().skip(1).any(|a| self.moves.contains(a));
        let about = |f: &&Atom| f.args.first() == Some(food);
        self.moves.contains(food) || self.new.iter().any(|f| about(&f)) || self.gone.iter().any(|f| about(&f) && !swept(f))
    }

    /// Whether what is asked for is being changed by somebody else.
    fn holds(&self, a: &Atom) -> bool {
        let names_food = |p: &Term| p.as_name().is_some_and(|p| ["included_ingredient", "available_topping", "popular_topping", "combo_contain"].contains(&p));
        match (&*a.name, a.args.as_slice()) {
            ("add", [x]) | ("add", [_, x]) => self.moves.contains(x),
            ("add" | "edit", [x, p, .., v]) => self.in_hand(x) || (names_food(p) && self.moves.contains(v)),
            ("delete", [x]) => self.in_hand(x) || self.new.iter().any(|f| f.args.contains(x)),
            ("delete", [x, ..]) => self.in_hand(x),
            _ => false,
        }
    }
}

const DISH_PROPERTIES: [&str; 9] =
    ["category", "price", "calories", "included_ingredient", "available_topping", "popular_topping", "special_style", "veggie", "best_seller"];
const COMBO_PROPERTIES: [&str; 3] = ["price", "calories", "combo_contain"];

fn rank(a: &Atom) -> usize {
    let kinds =
        ["runout/1", "restore/1", "add/1", "add/2", "add/3", "edit/3", "edit/4", "delete/1", "delete/2", "delete/3", "greet/0", "irrelevant/0", "quit/0"];
    kinds.iter().position(|k| *k == a.signature()).unwrap_or(98)
}

/// The fact that says `food` has `value` for `property`.
fn fact(food: &str, property: &str, value: &Term) -> Atom {
    let name = match property {
        "price" => "original_price",
        "calories" => "original_cal",
        "special_style" => "available_special_style",
        p => p,
    };
    if property == "veggie" || property == "best_seller" { fun(name, vec![str(food)]) } else { fun(name, vec![str(food), value.clone()]) }
}

pub fn turn(m: &mut Manager, atoms: &[Atom], base: &BTreeSet<Atom>, elsewhere: &Elsewhere, runout: &mut Names) -> (Vec<Atom>, bool) {
    let mut t = Turn { m, base, elsewhere, runout, out: vec![] };
    let mut sorted = atoms.to_vec();
    sorted.sort_by_key(rank);
    let mut quit = false;
    for a in &sorted {
        if a.signature() == "quit/0" {
            quit = true;
            t.confirm("quit", con("none"));
            t.out.push(fun("quit", vec![]));
        } else if let Err(reason) = t.one(a) {
            t.out.push(fun("reject", vec![a.to_term(), con(reason)]));
        }
    }
    if quit {
        t.finish();
    } else {
        t.m.asked = t.question();
    }
    if let Some((name, property)) = t.m.asked.clone().filter(|_| !quit) {
        t.out.push(fun("ask", vec![str(&name), con(&property)]));
    }
    (t.out, quit)
}

impl Turn<'_> {
    fn confirm(&mut self, what: &str, object: Term) {
        self.out.push(fun("confirm", vec![con(what), object]));
    }

    fn menu(&self) -> Menu {
        let mut facts = self.base.clone();
        self.m.delta.apply(&mut facts);
        Menu::new(facts)
    }

    fn kind(&self, food: &str) -> Option<&'static str> {
        let m = self.menu();
        if m.is_dish(food) {
            Some("dish")
        } else if m.is_combo(food) {
            Some("combo")
        } else if m.is_part(food) {
            Some("part")
        } else {
            self.m.adding.iter().any(|x| x.name == food).then_some("untyped")
        }
    }

    fn one(&mut self, a: &Atom) -> Result<(), &'static str> {
        let menu = self.menu();
        if self.elsewhere.holds(a) {
            return Err("being_changed");
        }
        match (&*a.name, a.args.as_slice()) {
            ("runout" | "restore", [x]) => {
                let name = quoted(x).ok_or("bad_value")?;
                // A shortage acts at once, so it may name a food whose deletion is only collected yet.
                let sold = |kind: &str| self.base.contains(&fun(kind, vec![x.clone()]));
                if !menu.is_dish(name) && !menu.is_part(name) && !["dish", "ingredient", "sauce"].into_iter().any(sold) {
                    return Err("unknown_food");
                }
                if &*a.name == "runout" {
                    self.runout.insert(name.to_string())
                } else {
                    self.runout.remove(name)
                };
                self.confirm(&a.name, x.clone());
            }
            ("add", [x]) => {
                let name = quoted(x).ok_or("bad_value")?;
                self.begin(name, None)?;
                self.confirm("add", x.clone());
            }
            ("add", [kind, x]) => {
                let kind = match kind {
                    Term::Const(k) if ["dish", "combo", "ingredient", "sauce"].contains(&&**k) => k.to_string(),
                    _ => return Err("bad_value"),
                };
                let name = quoted(x).ok_or("bad_value")?;
                self.begin(name, Some(kind))?;
                self.confirm("add", x.clone());
            }
            ("add" | "edit", [x, p, v]) => {
                let (food, p) = self.property(x, p)?;
                self.check(&p, v, &menu)?;
                if &*a.name == "edit" || ["category", "price", "calories"].contains(&&*p) {
                    for old in self.values(&food, &p) {
                        self.drop_value(&food, &p, &old);
                    }
                }
                self.give(&food, &p, v);
                self.confirm(&a.name, x.clone());
            }
            ("edit", [x, p, old, new]) => {
                let (food, p) = self.property(x, p)?;
                self.check(&p, old, &menu)?;
                self.check(&p, new, &menu)?;
                if !self.values(&food, &p).contains(old) {
                    return Err("no_such_value");
                }
                self.drop_value(&food, &p, old);
                self.give(&food, &p, new);
                self.confirm("edit", x.clone());
            }
            ("delete", [x]) => {
                self.delete(quoted(x).ok_or("bad_value")?, &menu)?;
                self.confirm("delete", x.clone());
            }
            ("delete", [x, p]) => {
                let (food, p) = self.property(x, p)?;
                for old in self.values(&food, &p) {
                    self.drop_value(&food, &p, &old);
                }
                self.confirm("delete", x.clone());
            }
            ("delete", [x, p, v]) => {
                let (food, p) = self.property(x, p)?;
                self.check(&p, v, &menu)?;
                if !self.values(&food, &p).contains(v) {
                    return Err("no_such_value");
                }
                self.drop_value(&food, &p, v);
                self.confirm("delete", x.clone());
            }
            ("greet" | "irrelevant", []) => self.confirm(&a.name, con("none")),
            _ => return Err("bad_value"),
        }
        Ok(())
    }

    fn begin(&mut self, name: &str, kind: Option<String>) -> Result<(), &'static str> {
        match self.kind(name) {
            None => self.m.adding.push(Adding { name: name.to_string(), kind: None, no_popular: false }),
            Some("untyped") => {}
            Some(_) => return Err("already_exists"),
        }
        if let Some(k) = kind {
            let allowed: &[&str] = match &*k {
                "dish" => &DISH_PROPERTIES,
                "combo" => &COMBO_PROPERTIES,
                _ => &[],
            };
            let stays = |f: &Atom| allowed.iter().any(|p| fact(name, p, &con("x")).name == f.name);
            let mentions = |f: &Atom| f.args.first() == Some(&str(name));
            let stray: Vec<Atom> = self.m.delta.new.iter().filter(|f| mentions(f) && !stays(f)).cloned().collect();
            for f in stray {
                self.m.delta.del(&f);
            }
            self.m.delta.add(fun(&k, vec![str(name)]));
            if let Some(x) = self.m.adding.iter_mut().find(|x| x.name == name) {
                x.kind = Some(k);
            }
        }
        Ok(())
    }

    /// The food and property an atom speaks of, if that food can have that property.
    fn property(&self, x: &Term, p: &Term) -> Result<(String, String), &'static str> {
        let food = quoted(x).ok_or("bad_value")?;
        let kind = self.kind(food).ok_or("unknown_food")?;
        let p = p.as_name().ok_or("unknown_property")?;
        let (dish, combo) = (DISH_PROPERTIES.contains(&p), COMBO_PROPERTIES.contains(&p));
        let fits = match kind {
            "dish" => dish,
            "combo" => combo,
            "untyped" => dish || combo,
            _ => false,
        };
        if fits { Ok((food.to_string(), p.to_string())) } else { Err("unknown_property") }
    }

    fn check(&self, p: &str, v: &Term, menu: &Menu) -> Result<(), &'static str> {
        let word = |allowed: &[&str]| matches!(v, Term::Const(w) if allowed.contains(&&**w));
        let name = |known: &dyn Fn(&str) -> bool| match quoted(v) {
            Some(x) if known(x) => Ok(()),
            Some(_) => Err("unknown_food"),
            None => Err("bad_value"),
        };
        let fine = match p {
            "category" => word(&CATEGORIES),
            "price" | "calories" => v.as_int().is_some_and(|n| n >= 0),
            "special_style" => word(&STYLES),
            "veggie" | "best_seller" => word(&["yes"]),
            "popular_topping" if word(&["none"]) => true,
            "combo_contain" => return name(&|x| menu.is_dish(x) || menu.is_group(x)),
            _ => return name(&|x| menu.is_part(x)),
        };
        if fine { Ok(()) } else { Err("bad_value") }
    }

    fn values(&self, food: &str, p: &str) -> Vec<Term> {
        let like = fact(food, p, &con("x"));
        let of = |f: &Atom| f.name == like.name && f.args.first() == Some(&str(food)) && f.args.len() == like.args.len();
        self.menu().facts.iter().filter(|f| of(f)).map(|f| f.args.get(1).cloned().unwrap_or_else(|| con("yes"))).collect()
    }

    fn give(&mut self, food: &str, p: &str, v: &Term) {
        if p == "popular_topping" {
            if let Some(x) = self.m.adding.iter_mut().find(|x| x.name == food) {
                x.no_popular = true;
            }
            if *v == con("none") {
                return;
            }
            self.m.delta.add(fact(food, "available_topping", v));
        }
        self.m.delta.add(fact(food, p, v));
    }

    /// Takes a value away with all that hangs on it.
    fn drop_value(&mut self, food: &str, p: &str, v: &Term) {
        let hangs: &[&str] = match p {
            "available_topping" => &["upgrade_price", "upgrade_cal", "popular_topping"],
            "included_ingredient" => &["replaceable_ingredient", "replacement_price"],
            "special_style" => &["special_style_price"],
            _ => &[],
        };
        let gone = fact(food, p, v);
        for f in self.menu().facts {
            if f == gone || (hangs.contains(&&*f.name) && f.args.starts_with(&[str(food), v.clone()])) {
                self.m.delta.del(&f);
            }
        }
    }

    fn delete(&mut self, food: &str, menu: &Menu) -> Result<(), &'static str> {
        let kind = self.kind(food).ok_or("unknown_food")?;
        let included = menu.includes.values().any(|s| s.contains(food));
        let fixed = menu.contains.values().any(|s| s.contains(food));
        let last = menu.members.values().any(|s| s.contains(food) && s.iter().all(|d| d == food || self.elsewhere.moves.contains(&str(d))));
        if (kind == "part" && included) || (kind == "dish" && (fixed || last)) {
            return Err("in_use");
        }
        self.forget(food);
        self.m.adding.retain(|x| x.name != food);
        Ok(())
    }

    fn forget(&mut self, food: &str) {
        for f in self.menu().facts {
            if f.args.contains(&str(food)) {
                self.m.delta.del(&f);
            }
        }
    }

    fn missing(&self, x: &Adding) -> Option<&'static str> {
        let wanted: &[&str] = match x.kind.as_deref() {
            None => return Some("type"),
            Some("dish") => &["category", "price", "included_ingredient", "calories", "popular_topping"],
            Some("combo") => &["price", "calories", "combo_contain"],
            _ => &[],
        };
        let answered = |p: &str| (p == "popular_topping" && x.no_popular) || !self.values(&x.name, p).is_empty();
        wanted.iter().find(|p| !answered(p)).copied()
    }

    fn question(&self) -> Option<(String, String)> {
        self.m.adding.iter().find_map(|x| self.missing(x).map(|p| (x.name.clone(), p.to_string())))
    }

    /// At quit: unanswered foods are forgotten, new toppings get their price.
    fn finish(&mut self) {
        for x in self.m.adding.clone() {
            if self.missing(&x).is_some() {
                self.forget(&x.name);
            }
        }
        let menu = self.menu();
        let new: Vec<Atom> = self.m.delta.new.iter().filter(|f| &*f.name == "available_topping").cloned().collect();
        for f in new {
            let (Some(d), Some(t)) = (f.args[0].as_name(), f.args[1].as_name()) else { continue };
            for (name, table) in [("upgrade_price", &menu.upgrade_price), ("upgrade_cal", &menu.upgrade_cal)] {
                if table.contains_key(&(d.to_string(), t.to_string())) {
                    continue;
                }
                let others = || table.iter().filter(|((_, x), _)| x == t);
                let near = others().filter(|((x, _), _)| menu.category.get(x) == menu.category.get(d)).map(|(_, v)| *v);
                let value = most_frequent(near).or_else(|| most_frequent(others().map(|(_, v)| *v))).unwrap_or(0);
                self.m.delta.add(fun(name, vec![str(d), str(t), Term::Int(value)]));
            }
        }
        let base = self.base;
        self.m.delta.gone.retain(|f| base.contains(f));
    }
}

fn most_frequent(values: impl Iterator<Item = i32>) -> Option<i32> {
    let mut count = BTreeMap::new();
    for v in values {
        *count.entry(v).or_insert(0) += 1;
    }
    count.into_iter().min_by_key(|(v, n)| (-n, *v)).map(|(v, _)| v)
}
