//! All updates of a turn together: which instance each one takes, and which are refused.

use std::collections::BTreeSet;

use duologue::term::{Atom, Term};

use crate::customer::{Ref, Turn, quoted};
use crate::menu::STYLES;
use crate::state::{Mod, swap_of};

#[derive(Clone, Debug)]
struct Update {
    atom: Atom,
    dish: String,
    m: Mod,
    nth: Option<usize>,
}

#[derive(Clone, Debug)]
struct Claim {
    r: Ref,
    update: Update,
}

#[derive(PartialEq, Eq, Clone, Copy, Debug)]
enum Fit {
    Free,
    Opposite,
    Same,
    No,
}

/// Claims that later ones build on come first, so the order in which atoms are given does not matter.
fn precedence(u: &Update) -> (bool, usize) {
    let ops = ["change", "add", "extra", "less", "no"];
    (u.nth.is_none(), ops.iter().position(|o| *o == u.m.op).unwrap_or(ops.len()))
}

impl Turn<'_> {
    pub fn updates(&mut self, atoms: &[Atom]) {
        let mut valid = vec![];
        for a in atoms {
            match self.read(a) {
                Ok(Some(u)) => valid.push(u),
                Ok(None) => {}
                Err(reason) => self.reject(a, reason),
            }
        }
        valid.sort_by_key(|u| (precedence(u).1, precedence(u).0));
        let mut claims: Vec<Claim> = vec![];
        for u in valid {
            match self.choose(&u, &claims) {
                Ok(r) => claims.push(Claim { r, update: u }),
                Err(reason) => self.reject(&u.atom, reason),
            }
        }
        let clash = |c: &Claim| claims.iter().any(|d| d.r == c.r && d.update.m.opposes(&c.update.m));
        let (bad, good): (Vec<_>, Vec<_>) = claims.iter().cloned().partition(clash);
        for c in bad {
            self.reject(&c.update.atom, "contradiction");
        }
        self.apply(&good);
    }

    fn apply(&mut self, good: &[Claim]) {
        let menu = self.c.menu.clone();
        let mut refused_styles = BTreeSet::new();
        for c in good {
            let m = &c.update.m;
            if let Some(member) = self.c.member_mut(c.r) {
                member.apply(m, &menu);
            }
            let part = if m.op == "change" { swap_of(&m.opt).map(|(_, n)| n) } else { m.opt.as_name().map(str::to_string) };
            if ["add", "extra", "change"].contains(&&*m.op)
                && let Some(p) = part
            {
                self.put_on.insert((c.r, p));
            }
            self.changed = true;
            self.settle_by(c.r, m);
            self.confirm(&m.op, m.opt.clone());
            if STYLES.contains(&&*m.op) && m.opt == Term::constant("no") && c.update.nth.is_none() {
                refused_styles.insert((c.update.dish.clone(), m.op.clone()));
            }
        }
        for (dish, style) in refused_styles {
            let no = Mod::word(&style, "no");
            for r in self.c.instances(&dish) {
                if self.c.member(r).is_some_and(|m| !m.has_op(&style)) {
                    if let Some(m) = self.c.member_mut(r) {
                        m.mods.push(no.clone());
                    }
                    self.settle_by(r, &no);
                }
            }
        }
    }

    /// Checks an atom against the menu and the order; `Ok(None)` if a shortage was reported.
    fn read(&mut self, a: &Atom) -> Result<Option<Update>, &'static str> {
        let menu = self.c.menu.clone();
        let (Some(dish), Some(Term::Const(op))) = (a.args.first(), a.args.get(1)) else { return Err("bad_value") };
        let dish = quoted(dish).ok_or("bad_value")?.to_string();
        let opt = a.args.get(2).cloned().ok_or("bad_value")?;
        if !menu.is_dish(&dish) {
            return Err("unknown_food");
        }
        let part = |t: &Term| match quoted(t) {
            Some(p) if menu.is_part(p) => Ok(p.to_string()),
            Some(_) => Err("unknown_food"),
            None => Err("bad_value"),
        };
        let word = |allowed: &[&str]| if matches!(&opt, Term::Const(w) if allowed.contains(&&**w)) { Ok(()) } else { Err("bad_value") };
        let included = |p: &str| menu.has(&menu.includes, &dish, p);
        let topping = |p: &str| menu.has(&menu.toppings, &dish, p);
        let mut needs = None;
        let offered = match &**op {
            "add" | "no" | "less" | "extra" => {
                let p = part(&opt)?;
                let offered = (included(&p) || topping(&p)) && (&**op != "extra" || menu.extra_price.contains_key(&p));
                needs = if &**op == "add" || &**op == "extra" { Some(p) } else { None };
                offered
            }
            "change" => {
                let Term::Fun(f, old_new) = &opt else { return Err("bad_value") };
                let [o, n] = old_new.as_slice() else { return Err("bad_value") };
                if &**f != "swap" {
                    return Err("bad_value");
                }
                let (o, n) = (part(o)?, part(n)?);
                needs = Some(n.clone());
                menu.swaps.get(&dish).is_some_and(|s| s.contains(&(o, n)))
            }
            "size" => {
                word(&["regular", "large"])?;
                menu.size_drinks.contains(&dish)
            }
            s if STYLES.contains(&s) => {
                word(&["yes", "no"])?;
                menu.has(&menu.styles, &dish, s)
            }
            _ => return Err("bad_value"),
        };
        let nth = match a.args.get(3) {
            None => None,
            Some(n) => Some(n.as_int().filter(|n| *n >= 1).ok_or("bad_value")? as usize),
        };
        if self.c.instances(&dish).len() < nth.unwrap_or(1) {
            return Err("not_ordered");
        }
        if !offered {
            return Err("not_applicable");
        }
        if let Some(p) = needs
            && self.refuse_if_out(&p)
        {
            return Ok(None);
        }
        Ok(Some(Update { atom: a.clone(), dish, m: Mod::new(op, opt), nth }))
    }

    /// How an operation stands to an instance, by its state before this turn's updates.
    fn fit(&self, r: Ref, m: &Mod, claims: &[Claim]) -> Fit {
        let Some(member) = self.c.member(r) else { return Fit::No };
        let dish = member.dish.clone().unwrap_or_default();
        let part = m.opt.as_name().unwrap_or_default();
        let included = self.c.menu.has(&self.c.menu.includes, &dish, part);
        let topping = self.c.menu.has(&self.c.menu.toppings, &dish, part);
        let mine = || claims.iter().filter(|c| c.r == r).map(|c| &c.update.m);
        let adding = mine().any(|x| (x.op == "add" || x.op == "extra") && x.opt == m.opt);
        if member.has(m) || mine().any(|x| x == m) {
            Fit::Same
        } else if member.mods.iter().any(|x| x.opposes(m)) || (m.op == "no" && !included && adding) {
            Fit::Opposite
        } else {
            let free = match &*m.op {
                "add" => topping,
                "no" => included,
                "less" => included || member.added(&m.opt) || adding,
                _ => true,
            };
            if free { Fit::Free } else { Fit::No }
        }
    }

    fn choose(&self, u: &Update, claims: &[Claim]) -> Result<Ref, &'static str> {
        let all = self.c.instances(&u.dish);
        let candidates = match u.nth {
            Some(n) => vec![all[n - 1]],
            None => {
                let asked = self.asked.as_ref().map(|q| q.refs.clone()).unwrap_or_default();
                let mut sorted = all;
                sorted.sort_by_key(|r| (!asked.contains(r), !self.fresh.contains(r)));
                sorted
            }
        };
        let fits: Vec<(Ref, Fit)> = candidates.into_iter().map(|r| (r, self.fit(r, &u.m, claims))).collect();
        let first = |f: Fit| fits.iter().find(|(_, g)| *g == f).map(|(r, _)| *r);
        let same = fits.iter().any(|(_, f)| *f == Fit::Same);
        first(Fit::Free).or_else(|| first(Fit::Opposite)).ok_or(if same { "already_done" } else { "not_applicable" })
    }
}
