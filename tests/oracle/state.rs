//! An order: instances, their modifications, price, calories, check lines and the view the step contract shows.

use duologue::term::{Atom, Term};
use serde::{Deserialize, Serialize};

use crate::menu::{Menu, STYLES};

/// One operation with its option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mod {
    pub op: String,
    pub opt: Term,
}

impl Mod {
    pub fn new(op: &str, opt: Term) -> Self {
        Self { op: op.to_string(), opt }
    }

    pub fn word(op: &str, word: &str) -> Self {
        Self::new(op, Term::constant(word))
    }

    /// Whether a turn may not claim both on one instance.
    pub fn opposes(&self, other: &Self) -> bool {
        let taken = |a: &Self, b: &Self| a.op == "no" && ["add", "extra", "less"].contains(&&*b.op) && a.opt == b.opt;
        let switch = (self.op == "size" || STYLES.contains(&&*self.op)) && self.op == other.op && self.opt != other.opt;
        taken(self, other) || taken(other, self) || switch
    }

    pub fn is_topping(&self) -> bool {
        ["add", "extra", "no", "less", "change"].contains(&&*self.op)
    }
}

/// A dish in the order: a standalone one (slot empty) or a combo's member.
#[derive(Clone, Debug, Default)]
pub struct Member {
    pub slot: String,
    pub dish: Option<String>,
    pub mods: Vec<Mod>,
    pub toppings_settled: bool,
    pub style_settled: bool,
}

impl Member {
    pub fn has(&self, m: &Mod) -> bool {
        self.mods.contains(m)
    }

    pub fn has_op(&self, op: &str) -> bool {
        self.mods.iter().any(|m| m.op == op)
    }

    /// Whether the part was put on this member.
    pub fn added(&self, part: &Term) -> bool {
        self.mods.iter().any(|m| (m.op == "add" || m.op == "extra") && m.opt == *part)
    }

    /// Claims an operation; an opposite one gives way.
    pub fn apply(&mut self, m: &Mod, menu: &Menu) {
        let dish = self.dish.clone().unwrap_or_default();
        let restores = m.op == "add" && self.has(&Mod::new("no", m.opt.clone()));
        let takes_off = m.op == "no" && !menu.has(&menu.includes, &dish, m.opt.as_name().unwrap_or_default());
        self.mods.retain(|old| !old.opposes(m));
        if !restores && !takes_off && !self.has(m) {
            self.mods.push(m.clone());
        }
    }

    fn price(&self, menu: &Menu) -> i32 {
        let dish = self.dish.clone().unwrap_or_default();
        self.mods.iter().map(|m| self.mod_price(m, &dish, menu)).sum()
    }

    fn mod_price(&self, m: &Mod, dish: &str, menu: &Menu) -> i32 {
        let part = m.opt.as_name().unwrap_or_default().to_string();
        let upgrade = menu.upgrade_price.get(&(dish.to_string(), part.clone())).copied().unwrap_or(0);
        match &*m.op {
            "add" => upgrade,
            "extra" => {
                let there = menu.has(&menu.includes, dish, &part) || self.has(&Mod::new("add", m.opt.clone()));
                menu.extra_price.get(&part).copied().unwrap_or(0) + if there { 0 } else { upgrade }
            }
            "change" => swap_of(&m.opt).and_then(|(o, n)| menu.swap_price.get(&(dish.to_string(), o, n)).copied()).unwrap_or(0),
            "size" if part == "large" => menu.large_price,
            s if STYLES.contains(&s) && part == "yes" => menu.style_price.get(&(dish.to_string(), s.to_string())).copied().unwrap_or(0),
            _ => 0,
        }
    }

    fn calories(&self, menu: &Menu) -> i32 {
        let dish = self.dish.clone().unwrap_or_default();
        let mut sum = 0;
        for m in &self.mods {
            let part = m.opt.as_name().unwrap_or_default().to_string();
            let upgrade = menu.upgrade_cal.get(&(dish.clone(), part.clone())).copied().unwrap_or(0);
            match &*m.op {
                "add" => sum += upgrade,
                "extra" => {
                    let there = menu.has(&menu.includes, &dish, &part) || self.has(&Mod::new("add", m.opt.clone()));
                    sum += menu.extra_cal.get(&part).copied().unwrap_or(0) + if there { 0 } else { upgrade };
                }
                _ => {}
            }
        }
        sum
    }
}

/// The two parts of `swap(Old,New)`.
pub fn swap_of(t: &Term) -> Option<(String, String)> {
    match t {
        Term::Fun(n, a) if &**n == "swap" && a.len() == 2 => match (&a[0], &a[1]) {
            (Term::Str(o), Term::Str(n)) => Some((o.to_string(), n.to_string())),
            _ => None,
        },
        _ => None,
    }
}

/// One ordered unit.
#[derive(Clone, Debug)]
pub struct Item {
    pub uid: u32,
    pub name: String,
    pub combo: bool,
    pub members: Vec<Member>,
}

impl Item {
    pub fn new(uid: u32, name: &str, menu: &Menu) -> Self {
        let combo = menu.is_combo(name);
        let members = if combo {
            let fixed = |s: &String| if menu.is_group(s) { None } else { Some(s.clone()) };
            menu.slots(name).into_iter().map(|s| Member { dish: fixed(&s), slot: s, ..Member::default() }).collect()
        } else {
            vec![Member { dish: Some(name.to_string()), ..Member::default() }]
        };
        Self { uid, name: name.to_string(), combo, members }
    }

    pub fn price(&self, menu: &Menu) -> i32 {
        let upgrade = |m: &Member| m.dish.as_ref().and_then(|d| menu.group_price.get(&(m.slot.clone(), d.clone())).copied()).unwrap_or(0);
        let members: i32 = self.members.iter().map(|m| m.price(menu) + upgrade(m)).sum();
        menu.price.get(&self.name).copied().unwrap_or(0) + members
    }

    pub fn calories(&self, menu: &Menu) -> i32 {
        menu.calories.get(&self.name).copied().unwrap_or(0) + self.members.iter().map(|m| m.calories(menu)).sum::<i32>()
    }
}

fn atom(name: &str, args: Vec<Term>) -> Atom {
    Atom::new(name, args)
}

/// The read-back of an order; sizes not chosen yet read as regular.
pub fn check_lines(items: &[Item], menu: &Menu) -> Vec<Atom> {
    let mut out = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let mut line = |t: Atom| out.push(atom("check", vec![Term::Int(i as i32 + 1), t.to_term()]));
        line(atom("order", vec![Term::string(&item.name)]));
        for m in &item.members {
            let Some(dish) = &m.dish else { continue };
            let mut mods = m.mods.clone();
            if menu.size_drinks.contains(dish) && !m.has_op("size") {
                mods.push(Mod::word("size", "regular"));
            }
            if item.combo {
                line(atom("specify", vec![Term::string(&m.slot), Term::string(dish)]));
            }
            for x in mods {
                let mut args = if item.combo { vec![Term::string(&m.slot)] } else { vec![] };
                args.extend([Term::constant(&x.op), x.opt]);
                line(atom("update", args));
            }
        }
    }
    out
}

pub fn total(items: &[Item], menu: &Menu) -> i32 {
    items.iter().map(|i| i.price(menu)).sum()
}

/// What the step contract shows of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct View {
    pub status: String,
    #[serde(default)]
    pub order: Vec<Line>,
    #[serde(default)]
    pub price: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Line {
    pub i: usize,
    pub item: String,
    #[serde(default)]
    pub mods: Vec<String>,
    #[serde(default)]
    pub parts: Vec<Slot>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Slot {
    pub slot: String,
    pub dish: Option<String>,
    #[serde(default)]
    pub mods: Vec<String>,
}

fn shown(mods: &[Mod]) -> Vec<String> {
    mods.iter().map(|m| format!("{}({})", m.op, m.opt)).collect()
}

pub fn view(status: &str, items: &[Item], menu: &Menu) -> View {
    let line = |(i, item): (usize, &Item)| {
        let parts = item.members.iter().map(|m| Slot { slot: m.slot.clone(), dish: m.dish.clone(), mods: shown(&m.mods) });
        let (mods, parts) = if item.combo { (vec![], parts.collect()) } else { (shown(&item.members[0].mods), vec![]) };
        Line { i: i + 1, item: item.name.clone(), mods, parts }
    };
    View { status: status.to_string(), order: items.iter().enumerate().map(line).collect(), price: i64::from(total(items, menu)) }
}
