//! One site: its menu versions, its shortages and its sessions; and the shape every step function has.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use duologue::term::Atom;

use crate::customer::Customer;
use crate::manager::{self, Delta, Elsewhere, Manager};
use crate::menu::{Menu, Names};
use crate::state::View;

/// What a turn gives back.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Reply {
    pub actions: Vec<Atom>,
    pub state: View,
}

/// A step function: the reference or an engine behind the step contract.
pub trait Stepper {
    fn turn(&mut self, session: &str, role: &str, predicates: &[Atom]) -> Result<Reply, String>;
    /// The facts of `kb` or `shared`.
    fn facts(&mut self, kind: &str) -> Result<BTreeSet<Atom>, String>;
}

enum Session {
    Customer(Box<Customer>),
    Manager(Manager),
}

pub struct Site {
    pub menu: Rc<Menu>,
    pub runout: Names,
    sessions: BTreeMap<String, Session>,
    collected: Vec<Delta>,
}

impl Site {
    pub fn new(menu: Rc<Menu>) -> Self {
        Self { menu, runout: Names::new(), sessions: BTreeMap::new(), collected: vec![] }
    }

    /// The open customer session of that name.
    pub fn customer(&self, session: &str) -> Option<&Customer> {
        match self.sessions.get(session) {
            Some(Session::Customer(c)) => Some(c),
            _ => None,
        }
    }

    /// The open manager session of that name.
    pub fn manager(&self, session: &str) -> Option<&Manager> {
        match self.sessions.get(session) {
            Some(Session::Manager(m)) => Some(m),
            _ => None,
        }
    }

    /// The sessions open now, with their roles.
    pub fn open(&self) -> Vec<(String, &'static str)> {
        self.sessions.iter().map(|(k, s)| (k.clone(), if matches!(s, Session::Manager(_)) { "manager" } else { "customer" })).collect()
    }

    fn commit(&mut self) {
        if self.sessions.is_empty() && !self.collected.is_empty() {
            let mut facts = self.menu.facts.clone();
            for delta in self.collected.drain(..) {
                delta.apply(&mut facts);
            }
            self.menu = Rc::new(Menu::new(facts));
        }
    }

    pub fn step(&mut self, session: &str, role: &str, atoms: &[Atom]) -> Reply {
        let opened = || if role == "manager" { Session::Manager(Manager::default()) } else { Session::Customer(Box::new(Customer::new(self.menu.clone()))) };
        let mut open = self.sessions.remove(session).unwrap_or_else(opened);
        let (actions, ended, state) = match &mut open {
            Session::Customer(c) => {
                let (actions, status) = c.turn(atoms, &self.runout);
                if status == Some("cancelled") {
                    c.items.clear();
                }
                (actions, status.is_some(), c.view(status.unwrap_or("open")))
            }
            Session::Manager(m) => {
                let mut base = self.menu.facts.clone();
                self.collected.iter().for_each(|d| d.apply(&mut base));
                let others = self.sessions.values().filter_map(|s| if let Session::Manager(m) = s { Some(&m.delta) } else { None });
                let elsewhere = Elsewhere::of(others, &base);
                let (actions, quit) = manager::turn(m, atoms, &base, &elsewhere, &mut self.runout);
                (actions, quit, View { status: "open".into(), ..View::default() })
            }
        };
        if !ended {
            self.sessions.insert(session.to_string(), open);
        } else if let Session::Manager(m) = open {
            self.collected.push(m.delta);
        }
        self.commit();
        Reply { actions, state }
    }
}

impl Stepper for Site {
    fn turn(&mut self, session: &str, role: &str, predicates: &[Atom]) -> Result<Reply, String> {
        Ok(self.step(session, role, predicates))
    }

    fn facts(&mut self, kind: &str) -> Result<BTreeSet<Atom>, String> {
        Ok(match kind {
            "kb" => self.menu.facts.clone(),
            _ => self.runout.iter().map(|x| Atom::new("runout", vec![duologue::term::Term::string(x)])).collect(),
        })
    }
}
