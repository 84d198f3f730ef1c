//! The questions after `completed`: which comes next, and what settles one.

use crate::customer::{Ask, Customer, Mode, Ref, Turn, con};
use crate::menu::Menu;
use crate::state::{Member, Mod};

/// The style a dish is asked about: fresco, else grill, else none.
fn asked_style(menu: &Menu, dish: &str) -> Option<&'static str> {
    ["fresco", "grill"].into_iter().find(|s| menu.has(&menu.styles, dish, s))
}

fn lacks(menu: &Menu, dish: &str, option: &str, m: &Member) -> bool {
    match option {
        "toppings" => menu.set(&menu.toppings, dish).next().is_some() && !m.toppings_settled && !m.mods.iter().any(Mod::is_topping),
        "size" => menu.size_drinks.contains(dish) && !m.has_op("size"),
        style => asked_style(menu, dish) == Some(style) && !m.style_settled && !m.has_op(style),
    }
}

impl Customer {
    /// The first thing missing, walking the order.
    pub fn next_question(&self) -> Option<Ask> {
        let menu = &*self.menu;
        let mut seen: Vec<&str> = vec![];
        for item in &self.items {
            if item.combo {
                for (k, m) in item.members.iter().enumerate() {
                    let refs = vec![Ref { uid: item.uid, member: k }];
                    let ask = |about: &str, option: &str| Some(Ask { combo: Some(item.name.clone()), about: about.into(), option: option.into(), refs });
                    let Some(dish) = &m.dish else { return ask(&m.slot, "choose") };
                    if let Some(option) = ["toppings", "fresco", "grill", "size"].into_iter().find(|o| lacks(menu, dish, o, m)) {
                        return ask(dish, option);
                    }
                }
            } else if !seen.contains(&&*item.name) {
                seen.push(&item.name);
                let same: Vec<_> = self.items.iter().filter(|i| i.name == item.name).collect();
                for option in ["toppings", "fresco", "grill", "size"] {
                    if same.iter().any(|i| lacks(menu, &i.name, option, &i.members[0])) {
                        let refs = same.iter().map(|i| Ref { uid: i.uid, member: 0 }).collect();
                        return Some(Ask { combo: None, about: item.name.clone(), option: option.into(), refs });
                    }
                }
            }
        }
        None
    }
}

impl Turn<'_> {
    fn settle(&mut self, ask: &Ask) {
        for r in &ask.refs {
            if let Some(m) = self.c.member_mut(*r) {
                m.toppings_settled |= ask.option == "toppings";
                m.style_settled |= ask.option == "fresco" || ask.option == "grill";
            }
        }
        self.changed = true;
    }

    /// An accepted update of the asked kind settles the open question.
    pub fn settle_by(&mut self, r: Ref, x: &Mod) {
        let Some(ask) = self.asked.clone() else { return };
        let kind = if ask.option == "toppings" { x.is_topping() } else { x.op == ask.option };
        if kind && ask.refs.contains(&r) {
            self.settle(&ask);
        }
    }

    pub fn deny(&mut self) {
        let Some(ask) = self.asked.clone() else { return };
        if !["toppings", "fresco", "grill"].contains(&&*ask.option) {
            return;
        }
        if ask.option != "toppings" {
            for r in &ask.refs {
                if let Some(m) = self.c.member_mut(*r)
                    && !m.has_op(&ask.option)
                {
                    m.mods.push(Mod::new(&ask.option, con("no")));
                }
            }
        }
        self.settle(&ask);
    }

    pub fn completed(&mut self) {
        let menu = self.c.menu.clone();
        if self.c.mode == Mode::Listening {
            self.c.mode = Mode::Asking;
        } else if self.before != Mode::Listening {
            for r in self.c.refs() {
                let Some(m) = self.c.member_mut(r) else { continue };
                let Some(dish) = m.dish.clone() else { continue };
                m.toppings_settled = true;
                m.style_settled = true;
                if lacks(&menu, &dish, "size", m) {
                    m.mods.push(Mod::word("size", "regular"));
                }
            }
        }
        self.changed = true;
    }
}
