//! Seeded, plausible conversations: what to say next is chosen from what the reference has answered so far.

use std::rc::Rc;

use duologue::term::{Atom, Term};

use crate::customer::{Customer, Mode, con, fun, str};
use crate::menu::{CATEGORIES, Menu};
use crate::site::Site;

/// One turn of a conversation.
#[derive(Clone, Debug)]
pub struct Turn {
    pub session: String,
    pub role: &'static str,
    pub predicates: Vec<Atom>,
}

/// SplitMix64: small, and the same on every machine.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())].clone()) }
    }

    /// An index drawn by weight.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum());
        weights
            .iter()
            .position(|w| {
                if at < *w {
                    true
                } else {
                    at -= w;
                    false
                }
            })
            .unwrap_or(0)
    }
}

struct Generator {
    rng: Rng,
    menu: Rc<Menu>,
    /// Items and parts this conversation keeps coming back to, so that things meet.
    items: Vec<String>,
    parts: Vec<String>,
    new_foods: Vec<String>,
}

/// A conversation of several sessions on one site.
pub fn conversation(seed: u64, menu: &Rc<Menu>) -> Vec<Turn> {
    let mut g = Generator::new(seed, menu.clone());
    let mut site = Site::new(menu.clone());
    let mut turns = vec![];
    let (customers, managers) = ([1, 1, 1, 2][g.rng.below(4)], [0, 1, 1, 1, 2][g.rng.below(5)]);
    let length = 12 + g.rng.below(28);
    let manager_share = [0, 5, 15, 30][g.rng.below(4)];
    // In some conversations people say several things at once.
    let breathless = if g.rng.chance(20) { 50 } else { 0 };
    let mut say = |site: &mut Site, session: String, role: &'static str, predicates: Vec<Atom>| {
        site.step(&session, role, &predicates);
        turns.push(Turn { session, role, predicates });
    };
    for at in 0..length {
        // Now and then everybody leaves, so that collected changes are committed.
        if g.rng.chance(4) {
            for (session, role) in site.open() {
                say(&mut site, session, role, vec![fun("quit", vec![])]);
            }
        } else if managers > 0 && (g.rng.chance(manager_share) || (at == 0 && g.rng.chance(50))) {
            let session = format!("m{}", g.rng.below(managers) + 1);
            let mut atoms = g.manager(&site, &session);
            if g.rng.chance(breathless) {
                atoms.extend(g.manager(&site, &session));
            }
            say(&mut site, session, "manager", atoms);
        } else {
            let session = format!("c{}", g.rng.below(customers) + 1);
            let mut atoms = g.customer(site.customer(&session));
            while g.rng.chance(breathless) && atoms.len() < 6 {
                atoms.extend(g.customer(site.customer(&session)));
            }
            say(&mut site, session, "customer", atoms);
        }
    }
    turns
}

impl Generator {
    fn new(seed: u64, menu: Rc<Menu>) -> Self {
        let mut rng = Rng::new(seed);
        let (dishes, combos): (Vec<_>, Vec<_>) = (menu.dishes.iter().cloned().collect(), menu.combos.iter().cloned().collect());
        let drinks: Vec<_> = menu.size_drinks.iter().cloned().collect();
        let mut items = vec![];
        for _ in 0..3 + rng.below(3) {
            items.extend(rng.pick(&dishes));
        }
        for _ in 0..1 + rng.below(2) {
            items.extend(rng.pick(&drinks));
            items.extend(rng.pick(&combos));
        }
        let mut parts: Vec<String> = vec![];
        for d in &items {
            let all: Vec<_> = menu.set(&menu.includes, d).chain(menu.set(&menu.toppings, d)).cloned().collect();
            parts.extend(rng.pick(&all));
            parts.extend(rng.pick(&all));
        }
        Self { rng, menu, items, parts, new_foods: vec![] }
    }

    fn item(&mut self) -> String {
        match self.rng.weighted(&[90, 7, 3]) {
            0 => self.rng.pick(&self.items.clone()).unwrap(),
            1 => {
                let all: Vec<_> = self.menu.dishes.iter().chain(&self.menu.combos).cloned().collect();
                self.rng.pick(&all).unwrap()
            }
            _ => {
                let mut odd = vec!["Big Mac".to_string(), "Whopper".to_string(), "Lettuce".to_string()];
                odd.extend(self.new_foods.clone());
                self.rng.pick(&odd).unwrap()
            }
        }
    }

    fn dish(&mut self, c: Option<&Customer>) -> String {
        let ordered: Vec<String> = c.map(|c| c.refs().iter().filter_map(|r| c.dish(*r).map(str::to_string)).collect()).unwrap_or_default();
        if !ordered.is_empty() && self.rng.chance(85) {
            return self.rng.pick(&ordered).unwrap();
        }
        let x = self.item();
        if self.menu.is_combo(&x) { "Soft Taco".into() } else { x }
    }

    fn part(&mut self) -> String {
        match self.rng.weighted(&[80, 17, 3]) {
            0 => self.rng.pick(&self.parts.clone()).unwrap_or_else(|| "Lettuce".into()),
            1 => {
                let all: Vec<_> = self.menu.parts.iter().cloned().collect();
                self.rng.pick(&all).unwrap()
            }
            _ => "Pineapple".into(),
        }
    }

    fn number(&mut self) -> Term {
        let n = match self.rng.weighted(&[60, 20, 10, 5, 3, 2]) {
            0 => 1,
            1 => 2,
            2 => 3,
            3 => 4 + self.rng.below(20),
            4 => 26 + self.rng.below(20000),
            _ => 0,
        };
        Term::Int(n as i32)
    }

    /// An operation and option on a dish, mostly one the menu offers.
    fn operation(&mut self, dish: &str) -> (String, Term) {
        let offered = (0..6).find_map(|_| self.offered(dish));
        match offered {
            Some(x) if !self.rng.chance(4) => x,
            _ => {
                let p = self.part();
                ("add".to_string(), str(&p))
            }
        }
    }

    fn offered(&mut self, dish: &str) -> Option<(String, Term)> {
        let m = self.menu.clone();
        let of = |set: &mut dyn Iterator<Item = &String>| set.cloned().collect::<Vec<_>>();
        let included = of(&mut m.set(&m.includes, dish));
        let toppings = of(&mut m.set(&m.toppings, dish));
        let styles = of(&mut m.set(&m.styles, dish));
        let swaps: Vec<_> = m.swaps.get(dish).into_iter().flatten().cloned().collect();
        // A few toppings only, so that the same one is met again.
        let few = |v: Vec<String>| v.into_iter().take(4).collect::<Vec<_>>();
        let (included, toppings) = (few(included), few(toppings));
        let rng = &mut self.rng;
        let part = |rng: &mut Rng, v: &[String], w: &[String]| rng.pick(v).or_else(|| rng.pick(w));
        let drink = m.size_drinks.contains(dish);
        match rng.weighted(&[if drink { 2 } else { 30 }, 18, 10, 10, 6, 20, if drink { 60 } else { 2 }]) {
            0 => part(rng, &toppings, &included).map(|p| ("add".to_string(), str(&p))),
            1 => if rng.chance(75) { part(rng, &included, &toppings) } else { part(rng, &toppings, &included) }.map(|p| ("no".to_string(), str(&p))),
            2 => if rng.chance(60) { part(rng, &toppings, &included) } else { part(rng, &included, &toppings) }.map(|p| ("extra".to_string(), str(&p))),
            3 => if rng.chance(70) { part(rng, &included, &toppings) } else { part(rng, &toppings, &included) }.map(|p| ("less".to_string(), str(&p))),
            4 => rng.pick(&swaps).map(|(o, n)| ("change".to_string(), Term::Fun("swap".into(), vec![str(&o), str(&n)]))),
            5 => {
                let style = if rng.chance(92) { rng.pick(&styles) } else { Some("grill".into()) };
                style.map(|s| (s, con(if rng.chance(55) { "yes" } else { "no" })))
            }
            _ => Some(("size".to_string(), con(if rng.chance(50) { "large" } else { "regular" }))),
        }
    }

    fn update(&mut self, c: Option<&Customer>, dish: &str) -> Vec<Atom> {
        let (op, opt) = self.operation(dish);
        let mut args = vec![str(dish), con(&op), opt];
        let count = c.map_or(0, |c| c.instances(dish).len());
        if self.rng.chance(if count > 1 { 25 } else { 4 }) {
            args.push(Term::Int(1 + self.rng.below(count + 1) as i32));
        }
        let a = fun("update", args);
        let times = if count > 1 && self.rng.chance(35) { count } else { 1 };
        vec![a; times]
    }

    fn order(&mut self) -> Vec<Atom> {
        let item = self.item();
        let n = self.number();
        let mut out = vec![fun("order", vec![str(&item), n])];
        if self.menu.is_combo(&item) {
            let slots = self.menu.slots(&item);
            for slot in slots {
                let all: Vec<_> = self.menu.set(&self.menu.members, &slot).cloned().collect();
                if self.rng.chance(45)
                    && let Some(d) = self.rng.pick(&all)
                {
                    out.push(fun("specify", vec![str(&item), str(&d)]));
                    if self.rng.chance(35) {
                        out.extend(self.update(None, &d));
                    }
                }
            }
        } else if self.rng.chance(35) {
            let (op, opt) = self.operation(&item);
            out.push(fun("update", vec![str(&item), con(&op), opt]));
            if self.rng.chance(25) {
                let (op, opt) = self.operation(&item);
                out.push(fun("update", vec![str(&item), con(&op), opt]));
            }
        }
        out
    }

    fn query(&mut self, c: Option<&Customer>) -> Atom {
        let kinds = ["price", "add_on", "calories", "ingredient", "size", "size_price", "style", "combo", "menu", "available", "replacement", "veggie"];
        let kind = kinds[self.rng.below(kinds.len())];
        let combos: Vec<_> = self.menu.combos.iter().cloned().collect();
        let object = match kind {
            "price" | "calories" if self.rng.chance(40) => con("order"),
            "price" | "calories" | "available" => {
                let x = if self.rng.chance(30) { self.part() } else { self.item() };
                str(&x)
            }
            "add_on" | "size_price" if self.rng.chance(30) => con("all"),
            "combo" => {
                let known = self.items.iter().find(|i| self.menu.is_combo(i)).cloned();
                str(&known.or_else(|| self.rng.pick(&combos)).unwrap())
            }
            "menu" => match self.rng.below(13) {
                10 => con("combo"),
                11 => con("vegan"),
                12 => con("all"),
                k => con(CATEGORIES[k]),
            },
            _ => str(&self.dish(c)),
        };
        fun("query", vec![con(kind), object])
    }

    fn recommend(&mut self, c: Option<&Customer>) -> Atom {
        if self.rng.chance(40) {
            let d = self.dish(c);
            return fun("need_recommend", vec![str(&d), con("upgrade")]);
        }
        let words = ["vegan", "chicken", "all", "best_seller", "combo", "taco", "burrito", "drink", "taco", "quesadilla", "bowl", "side"];
        let w = words[self.rng.below(words.len())];
        fun("need_recommend", vec![con(w), con("category")])
    }

    fn answer(&mut self, c: &Customer) -> Option<Vec<Atom>> {
        let ask = c.pending.clone()?;
        let d = ask.about.clone();
        Some(match &*ask.option {
            "toppings" => match self.rng.weighted(&[50, 35, 8, 7]) {
                0 => {
                    let mut atoms = self.update(Some(c), &d);
                    if self.rng.chance(15) {
                        atoms.extend(self.update(Some(c), &d));
                    }
                    atoms
                }
                1 => vec![fun("deny", vec![])],
                2 => vec![fun("affirm", vec![])],
                _ => vec![fun("update", vec![str(&d), con("fresco"), con("no")])],
            },
            "size" => {
                let size = if self.rng.chance(50) { "large" } else { "regular" };
                let times = if self.rng.chance(40) { ask.refs.len() } else { 1 };
                if self.rng.chance(5) { vec![fun("deny", vec![])] } else { vec![fun("update", vec![str(&d), con("size"), con(size)]); times] }
            }
            "choose" => {
                let all: Vec<_> = self.menu.set(&self.menu.members, &d).cloned().collect();
                let pick = if self.rng.chance(90) { self.rng.pick(&all)? } else { self.item() };
                let mut atoms = vec![fun("specify", vec![str(&ask.combo.unwrap_or_default()), str(&pick)])];
                if self.rng.chance(25) {
                    let (op, opt) = self.operation(&pick);
                    atoms.push(fun("update", vec![str(&pick), con(&op), opt]));
                }
                atoms
            }
            style => match self.rng.weighted(&[55, 30, 15]) {
                0 => vec![fun("update", vec![str(&d), con(style), con("no")])],
                1 => vec![fun("update", vec![str(&d), con(style), con("yes")])],
                _ => vec![fun("deny", vec![])],
            },
        })
    }

    fn customer(&mut self, c: Option<&Customer>) -> Vec<Atom> {
        let word = |w: &str| vec![fun(w, vec![])];
        let (mode, ordered) = c.map_or((Mode::Listening, 0), |c| (c.mode, c.items.len()));
        if let Some(c) = c
            && mode == Mode::Asking
            && self.rng.chance(70)
            && let Some(a) = self.answer(c)
        {
            return a;
        }
        let some = usize::from(ordered > 0);
        let weights = match mode {
            Mode::Listening => [if ordered < 8 { 45 } else { 5 }, 15 * some, 20 * some, 6 * some, 4 * some, 5 * some, 6, 6, 2, 6, 1],
            Mode::Asking => [10, 15, 12, 8, 6, 5, 10, 15, 3, 12, 2],
            Mode::Check => [10, 8, 14, 6, 7, 5, 6, 3, 2, 12, 35],
        };
        match self.rng.weighted(&weights) {
            0 => {
                let mut a = self.order();
                if self.rng.chance(20) {
                    a.extend(self.order());
                }
                if self.rng.chance(10) {
                    a.extend(word("completed"));
                }
                a
            }
            1 => word("completed"),
            2 => {
                let combos: Vec<String> = c.map(|c| c.items.iter().filter(|i| i.combo).map(|i| i.name.clone()).collect()).unwrap_or_default();
                if let Some(combo) = self.rng.pick(&combos)
                    && self.rng.chance(35)
                {
                    let slots = self.menu.slots(&combo);
                    let all: Vec<_> = slots.iter().flat_map(|s| self.menu.set(&self.menu.members, s)).cloned().collect();
                    let d = if self.rng.chance(92) { self.rng.pick(&all).unwrap_or_default() } else { self.item() };
                    return vec![fun("specify", vec![str(&combo), str(&d)])];
                }
                let d = self.dish(c);
                let mut a = self.update(c, &d);
                if self.rng.chance(40) {
                    let e = if self.rng.chance(60) { d } else { self.dish(c) };
                    a.extend(self.update(c, &e));
                }
                a
            }
            3 => {
                if self.rng.chance(10) {
                    return vec![fun("remove", vec![con("all"), con("all")])];
                }
                let x = self.ordered_item(c);
                let n = self.number();
                vec![fun("remove", vec![str(&x), n])]
            }
            4 => {
                let (x, y) = (if self.rng.chance(40) { self.dish(c) } else { self.ordered_item(c) }, self.replacement(c));
                vec![fun("replace", vec![str(&x), str(&y)])]
            }
            5 => {
                let x = self.ordered_item(c);
                let n = self.number();
                vec![fun("set_quantity", vec![str(&x), n])]
            }
            6 => vec![self.query(c)],
            7 => vec![self.recommend(c)],
            8 => {
                let p = self.part();
                vec![fun("allergy", vec![str(&p)])]
            }
            9 => match self.rng.below(9) {
                0 => word("irrelevant"),
                1 => word("greet"),
                2 => word("repeat"),
                3 | 4 => word("review"),
                5 => word("human"),
                6 => word("affirm"),
                7 => word("deny"),
                _ => {
                    let mut a = self.order();
                    a.push(self.query(c));
                    a
                }
            },
            _ => word("quit"),
        }
    }

    fn ordered_item(&mut self, c: Option<&Customer>) -> String {
        let all: Vec<String> = c.map(|c| c.items.iter().map(|i| i.name.clone()).collect()).unwrap_or_default();
        if self.rng.chance(90) { self.rng.pick(&all).unwrap_or_else(|| self.item()) } else { self.item() }
    }

    fn replacement(&mut self, c: Option<&Customer>) -> String {
        let slots: Vec<String> = c.map(|c| c.items.iter().flat_map(|i| i.members.iter().map(|m| m.slot.clone())).collect()).unwrap_or_default();
        let all: Vec<_> = slots.iter().flat_map(|s| self.menu.set(&self.menu.members, s)).cloned().collect();
        if self.rng.chance(50) { self.rng.pick(&all).unwrap_or_else(|| self.item()) } else { self.item() }
    }

    fn manager(&mut self, site: &Site, session: &str) -> Vec<Atom> {
        if let Some((name, property)) = site.manager(session).and_then(|m| m.asked.clone())
            && self.rng.chance(80)
        {
            let mut a = self.property(&name, &property);
            if self.rng.chance(20) {
                a.extend(self.property(&name, "price"));
            }
            return a;
        }
        let word = |w: &str| vec![fun(w, vec![])];
        match self.rng.weighted(&[35, 18, 8, 14, 8, 8, 3, 12]) {
            0 => {
                let x = if self.rng.chance(80) { self.part() } else { self.item() };
                vec![fun("runout", vec![str(&x)])]
            }
            1 => {
                let out: Vec<_> = site.runout.iter().cloned().collect();
                let x = if self.rng.chance(85) { self.rng.pick(&out) } else { None }.unwrap_or_else(|| self.part());
                vec![fun("restore", vec![str(&x)])]
            }
            2 => self.add(),
            3 => {
                let x = self.item();
                let p = self.a_property(&x);
                let v = self.value(&p);
                if self.rng.chance(30) {
                    let old = self.old_value(&x, &p);
                    return vec![fun("edit", vec![str(&x), con(&p), old, v])];
                }
                vec![fun(if self.rng.chance(60) { "edit" } else { "add" }, vec![str(&x), con(&p), v])]
            }
            4 => {
                let x = self.item();
                let p = self.a_property(&x);
                let old = self.old_value(&x, &p);
                vec![fun("delete", vec![str(&x), con(&p), old])]
            }
            5 => {
                if self.rng.chance(40) {
                    let x = self.item();
                    let p = ["popular_topping", "best_seller", "veggie", "available_topping", "special_style"][self.rng.below(5)];
                    return vec![fun("delete", vec![str(&x), con(p)])];
                }
                let x = if self.rng.chance(70) { self.item() } else { self.part() };
                vec![fun("delete", vec![str(&x)])]
            }
            6 => word(if self.rng.chance(50) { "greet" } else { "irrelevant" }),
            _ => word("quit"),
        }
    }

    fn a_property(&mut self, food: &str) -> String {
        let dish = ["price", "price", "calories", "included_ingredient", "available_topping", "popular_topping", "special_style", "best_seller", "veggie"];
        let combo = ["price", "calories", "combo_contain", "price", "category", "color"];
        let all: &[&str] = if self.menu.is_combo(food) { &combo } else { &dish };
        all[self.rng.below(all.len())].to_string()
    }

    fn old_value(&mut self, food: &str, p: &str) -> Term {
        let m = &self.menu;
        let set = match p {
            "included_ingredient" => &m.includes,
            "available_topping" => &m.toppings,
            "popular_topping" => &m.popular,
            "combo_contain" => &m.contains,
            "special_style" => &m.styles,
            _ => &m.members,
        };
        let all: Vec<_> = m.set(set, food).cloned().collect();
        let known = match p {
            "price" => m.price.get(food).map(|n| Term::Int(*n)),
            "calories" => m.calories.get(food).map(|n| Term::Int(*n)),
            "special_style" => self.rng.pick(&all).map(|s| con(&s)),
            _ => self.rng.pick(&all).map(|s| str(&s)),
        };
        match known {
            Some(v) if self.rng.chance(85) => v,
            _ => self.value(p),
        }
    }

    fn value(&mut self, p: &str) -> Term {
        if self.rng.chance(3) {
            return Term::Int(-5);
        }
        match p {
            "price" => Term::Int(50 + 10 * self.rng.below(60) as i32),
            "calories" => Term::Int(10 * self.rng.below(90) as i32),
            "category" => con(CATEGORIES[self.rng.below(CATEGORIES.len())]),
            "special_style" => con(["fresco", "supreme", "grill"][self.rng.below(3)]),
            "veggie" | "best_seller" => con("yes"),
            "combo_contain" => {
                let groups: Vec<_> = self.menu.members.keys().cloned().collect();
                let x = if self.rng.chance(60) { self.rng.pick(&groups).unwrap() } else { self.item() };
                str(&x)
            }
            "popular_topping" if self.rng.chance(25) => con("none"),
            _ => str(&self.part()),
        }
    }

    fn add(&mut self) -> Vec<Atom> {
        let all = ["Grilled Beef Taco", "Fish Taco", "Tofu Bowl", "Combo D", "Mango Salsa", "Soft Taco"];
        let name = all[self.rng.below(all.len())].to_string();
        self.new_foods.push(name.clone());
        if self.rng.chance(40) {
            return vec![fun("add", vec![str(&name)])];
        }
        let mut out = self.property(&name, "type");
        for p in ["category", "price", "included_ingredient", "calories", "popular_topping"] {
            if !name.starts_with("Combo") && !name.starts_with("Mango") && self.rng.chance(35) {
                out.extend(self.property(&name, p));
            }
        }
        self.items.push(name);
        out
    }

    fn property(&mut self, name: &str, p: &str) -> Vec<Atom> {
        if p == "type" {
            let kind = match name {
                "Combo D" => "combo",
                "Mango Salsa" => "sauce",
                _ => "dish",
            };
            return vec![fun("add", vec![con(kind), str(name)])];
        }
        let v = self.value(p);
        let mut out = vec![fun("add", vec![str(name), con(p), v])];
        if (p == "included_ingredient" || p == "combo_contain") && self.rng.chance(60) {
            let v = self.value(p);
            out.push(fun("add", vec![str(name), con(p), v]));
        }
        out
    }
}
