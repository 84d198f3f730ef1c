//! The customer's turn, atom kind by atom kind, in the order of section 4.

use std::collections::BTreeSet;
use std::rc::Rc;

use duologue::term::{Atom, Term};

use crate::menu::{Menu, Names};
use crate::state::{Item, Mod, View, check_lines, total, view};

/// One dish in the order: the item's number of birth and the member's place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ref {
    pub uid: u32,
    pub member: usize,
}

/// An open question and the dishes it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub combo: Option<String>,
    pub about: String,
    pub option: String,
    pub refs: Vec<Ref>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Listening,
    Asking,
    Check,
}

#[derive(Clone, Debug)]
pub struct Customer {
    pub menu: Rc<Menu>,
    pub items: Vec<Item>,
    pub mode: Mode,
    pub pending: Option<Ask>,
    pub allergies: Names,
    pub mentioned: Names,
    pub last: Vec<Atom>,
    born: u32,
}

/// What one turn collects.
pub struct Turn<'a> {
    pub c: &'a mut Customer,
    pub runout: &'a Names,
    pub out: Vec<Atom>,
    once: BTreeSet<Atom>,
    /// Dishes ordered or picked in this turn.
    pub fresh: BTreeSet<Ref>,
    /// Something of the order or of its questions changed.
    pub changed: bool,
    /// Something else than a served question was said.
    closing: bool,
    served: bool,
    quit: bool,
    /// The mode when the turn began.
    pub before: Mode,
    pub asked: Option<Ask>,
    recommended: bool,
    new_allergies: Names,
    /// Parts newly put on dishes in this turn.
    pub put_on: BTreeSet<(Ref, String)>,
}

pub fn fun(name: &str, args: Vec<Term>) -> Atom {
    Atom::new(name, args)
}

pub fn con(s: &str) -> Term {
    Term::constant(s)
}

pub fn str(s: &str) -> Term {
    Term::string(s)
}

fn rank(a: &Atom) -> usize {
    let kinds = ["greet", "irrelevant", "allergy", "remove", "replace", "set_quantity", "order", "specify", "update"];
    let later = [&["affirm", "deny"][..], &["query"], &["need_recommend"], &["review"], &["repeat"], &["human"], &["completed"], &["quit"]];
    let n = &&*a.name;
    kinds.iter().position(|k| k == n).or_else(|| later.iter().position(|k| k.contains(n)).map(|p| p + kinds.len())).unwrap_or(99)
}

/// The text of a quoted name.
pub fn quoted(t: &Term) -> Option<&str> {
    match t {
        Term::Str(s) => Some(s),
        _ => None,
    }
}

fn names_in(t: &Term, out: &mut Names) {
    match t {
        Term::Str(s) => drop(out.insert(s.to_string())),
        Term::Fun(_, a) => a.iter().for_each(|x| names_in(x, out)),
        _ => {}
    }
}

impl Customer {
    pub fn new(menu: Rc<Menu>) -> Self {
        let (items, last) = (vec![], vec![]);
        Self { menu, items, mode: Mode::Listening, pending: None, allergies: Names::new(), mentioned: Names::new(), last, born: 0 }
    }

    /// All dishes of the order in walking order.
    pub fn refs(&self) -> Vec<Ref> {
        self.items.iter().flat_map(|i| (0..i.members.len()).map(|member| Ref { uid: i.uid, member })).collect()
    }

    pub fn item(&self, uid: u32) -> Option<&Item> {
        self.items.iter().find(|i| i.uid == uid)
    }

    pub fn dish(&self, r: Ref) -> Option<&str> {
        self.item(r.uid).and_then(|i| i.members.get(r.member)).and_then(|m| m.dish.as_deref())
    }

    pub fn member(&self, r: Ref) -> Option<&crate::state::Member> {
        self.item(r.uid).and_then(|i| i.members.get(r.member))
    }

    pub fn member_mut(&mut self, r: Ref) -> Option<&mut crate::state::Member> {
        self.items.iter_mut().find(|i| i.uid == r.uid).and_then(|i| i.members.get_mut(r.member))
    }

    pub fn instances(&self, dish: &str) -> Vec<Ref> {
        self.refs().into_iter().filter(|r| self.dish(*r) == Some(dish)).collect()
    }

    pub fn count(&self, item: &str) -> i64 {
        self.items.iter().filter(|i| i.name == item).count() as i64
    }

    pub fn view(&self, status: &str) -> View {
        view(status, &self.items, &self.menu)
    }

    /// One turn; `Some(status)` once the session has ended.
    pub fn turn(&mut self, atoms: &[Atom], runout: &Names) -> (Vec<Atom>, Option<&'static str>) {
        let (before, asked) = (self.mode, self.pending.clone());
        let mut t = Turn {
            c: self,
            runout,
            out: vec![],
            once: BTreeSet::new(),
            fresh: BTreeSet::new(),
            changed: false,
            closing: atoms.is_empty(),
            served: false,
            quit: false,
            before,
            asked,
            recommended: false,
            new_allergies: Names::new(),
            put_on: BTreeSet::new(),
        };
        t.drops();
        let mut sorted = atoms.to_vec();
        sorted.sort_by_key(rank);
        for a in &sorted {
            a.args.iter().for_each(|x| names_in(x, &mut t.c.mentioned));
        }
        let updates: Vec<Atom> = sorted.iter().filter(|a| &*a.name == "update").cloned().collect();
        let mut updated = false;
        for a in &sorted {
            if rank(a) >= rank(&fun("update", vec![])) && !updated {
                t.updates(&updates);
                updated = true;
            }
            if &*a.name != "update" {
                t.one(a);
            }
        }
        if !updated {
            t.updates(&updates);
        }
        t.warnings();
        t.close()
    }
}

impl Turn<'_> {
    pub fn say(&mut self, name: &str, args: Vec<Term>) {
        self.out.push(fun(name, args));
    }

    /// Says an atom at most once in the round.
    pub fn say_once(&mut self, name: &str, args: Vec<Term>) {
        let a = fun(name, args);
        if self.once.insert(a.clone()) {
            self.out.push(a);
        }
    }

    fn say_unless_repeated(&mut self, a: Atom) {
        if !self.out.contains(&a) {
            self.out.push(a);
        }
    }

    pub fn confirm(&mut self, what: &str, object: Term) {
        self.closing = true;
        self.say("confirm", vec![con(what), object]);
    }

    pub fn reject(&mut self, a: &Atom, reason: &str) {
        self.closing = true;
        self.say("reject", vec![a.to_term(), con(reason)]);
    }

    /// Reports what is missing for a food; false if it can be had.
    pub fn refuse_if_out(&mut self, food: &str) -> bool {
        let missing = self.c.menu.missing(food, self.runout);
        for x in &missing {
            self.closing = true;
            self.say_once("unavailable", vec![str(food), fun("runout", vec![x.clone()]).to_term()]);
        }
        !missing.is_empty()
    }

    /// Serves an answer.
    pub fn answer(&mut self, name: &str, args: Vec<Term>) {
        self.served = true;
        self.say_once(name, args);
    }

    fn emptied(&mut self) {
        if self.c.items.is_empty() {
            self.c.mode = Mode::Listening;
            self.c.pending = None;
            self.asked = None;
        }
    }

    /// Rule 3: what is in the order and ran out leaves it.
    fn drops(&mut self) {
        let menu = self.c.menu.clone();
        for item in std::mem::take(&mut self.c.items) {
            if self.refuse_if_out(&item.name) {
                self.changed = true;
                continue;
            }
            let mut item = item;
            for m in &mut item.members {
                let Some(dish) = m.dish.clone() else { continue };
                if item.combo && self.refuse_if_out(&dish) {
                    *m = crate::state::Member { slot: m.slot.clone(), ..Default::default() };
                    self.changed = true;
                    continue;
                }
                let mut kept = vec![];
                for x in std::mem::take(&mut m.mods) {
                    let part = match &*x.op {
                        "add" | "extra" => x.opt.as_name().map(str::to_string),
                        "change" => crate::state::swap_of(&x.opt).map(|(_, n)| n),
                        _ => None,
                    };
                    match part {
                        Some(p) if menu.out(&p, self.runout) => {
                            self.refuse_if_out(&p);
                            self.changed = true;
                        }
                        _ => kept.push(x),
                    }
                }
                // A lighter portion of a topping goes with the topping.
                let stays = |x: &Mod, all: &[Mod]| {
                    x.op != "less"
                        || menu.has(&menu.includes, &dish, x.opt.as_name().unwrap_or_default())
                        || all.iter().any(|y| (y.op == "add" || y.op == "extra") && y.opt == x.opt)
                };
                m.mods = kept.iter().filter(|x| stays(x, &kept)).cloned().collect();
            }
            self.c.items.push(item);
        }
        if self.changed {
            self.emptied();
        }
    }

    fn one(&mut self, a: &Atom) {
        let menu = self.c.menu.clone();
        let none = || con("none");
        match (&*a.name, a.args.as_slice()) {
            ("greet" | "irrelevant" | "affirm", []) => self.confirm(&a.name, none()),
            ("deny", []) => {
                self.confirm("deny", none());
                self.deny();
            }
            ("allergy", [p]) => match quoted(p) {
                Some(x) if menu.is_part(x) => {
                    self.c.allergies.insert(x.to_string());
                    self.new_allergies.insert(x.to_string());
                    self.confirm("allergy", p.clone());
                }
                Some(_) => self.reject(a, "unknown_food"),
                None => self.reject(a, "bad_value"),
            },
            ("remove", [x, y]) if *x == con("all") && *y == con("all") => {
                self.changed |= !self.c.items.is_empty();
                self.c.items.clear();
                self.emptied();
                self.confirm("remove", con("all"));
            }
            ("remove" | "set_quantity" | "order", [x, n]) => self.quantity(a, x, n),
            ("replace", [x, y]) => self.replace(a, x, y),
            ("specify", [x, y]) => self.specify(a, x, y),
            ("query", [k, o]) => self.query(a, k, o),
            ("need_recommend", [x, k]) => {
                if !std::mem::replace(&mut self.recommended, true) {
                    self.recommend(a, x, k);
                }
            }
            ("review", []) if self.c.items.is_empty() => self.reject(a, "empty_order"),
            ("review", []) => {
                self.served = true;
                self.out.extend(check_lines(&self.c.items, &menu));
                self.say("price", vec![Term::Int(total(&self.c.items, &menu))]);
            }
            ("repeat", []) => {
                if self.c.last.is_empty() {
                    self.closing = true;
                } else {
                    self.served = true;
                    self.out.extend(self.c.last.clone());
                }
            }
            ("human", []) => {
                self.served = true;
                self.say("confirm", vec![con("human"), none()]);
                self.say("handoff", vec![]);
            }
            ("completed", []) if self.c.items.is_empty() => self.reject(a, "empty_order"),
            ("completed", []) => {
                self.confirm("complete", none());
                self.completed();
            }
            ("quit", []) => {
                self.quit = true;
                self.confirm("quit", none());
            }
            _ => self.reject(a, "bad_value"),
        }
    }

    pub fn add_item(&mut self, name: &str) {
        let menu = self.c.menu.clone();
        let item = Item::new(self.c.born, name, &menu);
        self.c.born += 1;
        self.fresh.extend((0..item.members.len()).map(|member| Ref { uid: item.uid, member }));
        self.c.items.push(item);
        self.changed = true;
    }

    fn quantity(&mut self, a: &Atom, x: &Term, n: &Term) {
        const LIMIT: i64 = 25;
        let Some(name) = quoted(x) else { return self.reject(a, "bad_value") };
        if !self.c.menu.is_item(name) {
            return self.reject(a, "unknown_food");
        }
        let Some(n) = n.as_int().filter(|n| *n >= 1).map(i64::from) else { return self.reject(a, "bad_value") };
        let have = self.c.count(name);
        if &*a.name != "order" && have == 0 {
            return self.reject(a, "not_ordered");
        }
        let goal = match &*a.name {
            "order" => have + n,
            "set_quantity" => n,
            _ => (have - n).max(0),
        };
        if goal > have {
            if self.refuse_if_out(name) {
                return;
            }
            if goal > LIMIT {
                return self.reject(a, "quantity_limit");
            }
        }
        for _ in have..goal {
            self.add_item(name);
        }
        for _ in goal..have {
            let at = self.c.items.iter().rposition(|i| i.name == name).unwrap();
            self.c.items.remove(at);
            self.changed = true;
        }
        self.changed = true;
        self.emptied();
        self.confirm(&a.name, x.clone());
    }

    fn replace(&mut self, a: &Atom, x: &Term, y: &Term) {
        let menu = self.c.menu.clone();
        let (Some(old), Some(new)) = (quoted(x), quoted(y)) else { return self.reject(a, "bad_value") };
        if !menu.is_item(old) || !menu.is_item(new) {
            return self.reject(a, "unknown_food");
        }
        let standalone = self.c.items.iter().position(|i| i.name == old);
        let members = self.c.instances(old);
        if standalone.is_none() && members.is_empty() {
            return self.reject(a, "not_ordered");
        }
        let slot_takes = |r: &Ref| self.c.member(*r).is_some_and(|m| menu.has(&menu.members, &m.slot, new));
        let member = members.into_iter().find(slot_takes);
        if standalone.is_none() && member.is_none() {
            return self.reject(a, "not_in_combo");
        }
        if self.refuse_if_out(new) {
            return;
        }
        if let Some(at) = standalone {
            if old != new && self.c.count(new) >= 25 {
                return self.reject(a, "quantity_limit");
            }
            self.add_item(new);
            let item = self.c.items.pop().unwrap();
            self.c.items[at] = item;
        } else if let Some(r) = member {
            self.pick(r, new);
        }
        self.confirm("replace", y.clone());
    }

    fn pick(&mut self, r: Ref, dish: &str) {
        if let Some(m) = self.c.member_mut(r) {
            *m = crate::state::Member { slot: m.slot.clone(), dish: Some(dish.to_string()), ..Default::default() };
        }
        self.fresh.insert(r);
        self.changed = true;
    }

    fn specify(&mut self, a: &Atom, x: &Term, y: &Term) {
        let menu = self.c.menu.clone();
        let (Some(combo), Some(dish)) = (quoted(x), quoted(y)) else { return self.reject(a, "bad_value") };
        if !menu.is_combo(combo) || !menu.is_dish(dish) {
            return self.reject(a, "unknown_food");
        }
        if self.c.count(combo) == 0 {
            return self.reject(a, "not_ordered");
        }
        if !menu.slots(combo).iter().any(|s| menu.has(&menu.members, s, dish)) {
            return self.reject(a, "not_in_combo");
        }
        let asked = self.asked.as_ref().filter(|q| q.option == "choose").map(|q| q.refs.clone()).unwrap_or_default();
        let fits = |r: &Ref| {
            let item = self.c.item(r.uid);
            item.is_some_and(|i| i.name == combo && i.members[r.member].dish.is_none() && menu.has(&menu.members, &i.members[r.member].slot, dish))
        };
        let mut open: Vec<Ref> = self.c.refs().into_iter().filter(fits).collect();
        // A combo counts as this turn's if it was ordered in this turn, whatever of it is picked already.
        let fresh = |r: &Ref| self.fresh.iter().any(|f| f.uid == r.uid);
        open.sort_by_key(|r| (!asked.contains(r), !asked.iter().any(|q| q.uid == r.uid), !fresh(r)));
        let Some(&r) = open.first() else { return self.reject(a, "combo_full") };
        if self.refuse_if_out(dish) {
            return;
        }
        self.pick(r, dish);
        self.confirm("specify", y.clone());
    }

    /// Warnings for what this turn brought or declared.
    fn warnings(&mut self) {
        let menu = self.c.menu.clone();
        for r in self.c.refs() {
            let Some(dish) = self.c.dish(r).map(str::to_string) else { continue };
            for p in self.c.allergies.clone() {
                let put_on = self.c.member(r).is_some_and(|m| {
                    m.added(&str(&p)) || m.mods.iter().any(|x| x.op == "change" && crate::state::swap_of(&x.opt).is_some_and(|(_, n)| n == p))
                });
                let included = menu.has(&menu.includes, &dish, &p);
                let new = self.new_allergies.contains(&p) || (included && self.fresh.contains(&r)) || self.put_on.contains(&(r, p.clone()));
                if (included || put_on) && new {
                    self.warn(&dish, &p);
                }
            }
        }
    }

    pub fn warn(&mut self, dish: &str, part: &str) {
        self.say_once("warn", vec![str(dish), fun("allergy", vec![str(part)]).to_term()]);
    }

    /// The round's last part: ask, check, `else` or goodbye.
    fn close(mut self) -> (Vec<Atom>, Option<&'static str>) {
        if self.quit {
            self.say("quit", vec![]);
            let placed = self.before == Mode::Check && !self.c.items.is_empty();
            return (self.out, Some(if placed { "placed" } else { "cancelled" }));
        }
        if self.changed && self.c.mode != Mode::Listening {
            self.c.pending = self.c.next_question();
            self.c.mode = if self.c.pending.is_some() { Mode::Asking } else { Mode::Check };
        }
        if self.closing || self.changed || !self.served {
            match (self.c.mode, self.c.pending.clone()) {
                (Mode::Asking, Some(q)) => {
                    let combo = q.combo.as_deref().map_or(con("none"), str);
                    self.say_unless_repeated(fun("ask", vec![combo, str(&q.about), con(&q.option)]));
                }
                (Mode::Check, _) if self.changed => {
                    self.say("confirm", vec![con("none"), con("complete")]);
                    let menu = self.c.menu.clone();
                    self.out.extend(check_lines(&self.c.items, &menu));
                    self.say("price", vec![Term::Int(total(&self.c.items, &menu))]);
                }
                _ => self.say_unless_repeated(fun("else", vec![])),
            }
        }
        self.c.last = self.out.clone();
        (self.out, None)
    }
}
