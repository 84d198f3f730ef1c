//! Interned ground terms: a term is a `u32`, small numbers are themselves, the rest lives in layered tables.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use crate::term::{Atom, Name, Term};

/// An interned term. Equal terms have equal ids within one chain of tables.
pub type Id = u32;

/// The bit of a number that is its own id.
const SMALL: u32 = 1 << 31;
const SMALL_RANGE: std::ops::Range<i32> = -(1 << 30)..(1 << 30);

/// What an id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A number outside the range of small numbers.
    Int(i32),
    /// A constant.
    Const(Name),
    /// A string.
    Str(Name),
    /// A function term with at least one argument: its name as a constant (empty for a tuple), and where its arguments stand.
    Fun {
        /// The id of the constant of the same name.
        name: Id,
        /// First argument in the table's store.
        start: u32,
        /// Number of arguments.
        len: u32,
    },
    /// `#inf`
    Inf,
    /// `#sup`
    Sup,
}

/// A table of terms on top of another one, whose ids it continues.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    parent: Option<Arc<Terms>>,
    start: u32,
    nodes: Vec<Node>,
    /// The arguments of all function terms of this table, one after the other.
    args: Vec<Id>,
    /// From a term's hash to the first term that has it; `next` leads to the others.
    first: FxHashMap<u64, Id>,
    next: Vec<Id>,
}

const NONE: Id = SMALL - 1;

impl Terms {
    /// An empty table on top of `parent`.
    pub fn over(parent: &Arc<Self>) -> Self {
        Self { parent: Some(parent.clone()), start: parent.len(), ..Self::default() }
    }

    /// How many terms this table and those under it hold.
    #[inline]
    pub fn len(&self) -> u32 {
        self.start + u32::try_from(self.nodes.len()).unwrap_or(0)
    }

    /// Whether no term is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many tables lie on top of each other here.
    pub fn depth(&self) -> usize {
        let (mut n, mut table) = (1, self);
        while let Some(below) = table.parent.as_deref() {
            (n, table) = (n + 1, below);
        }
        n
    }

    /// How many terms this table alone holds.
    pub fn own(&self) -> usize {
        self.nodes.len()
    }

    /// Empties this table and puts it on top of `parent`, keeping its memory.
    pub fn reset(&mut self, parent: &Arc<Self>) {
        if !self.parent.as_ref().is_some_and(|p| Arc::ptr_eq(p, parent)) {
            self.parent = Some(parent.clone());
        }
        self.start = parent.len();
        self.nodes.clear();
        self.args.clear();
        self.first.clear();
        self.next.clear();
    }

    /// What an id stands for; `None` for a small number.
    #[inline]
    pub fn node(&self, id: Id) -> Option<&Node> {
        if id & SMALL != 0 {
            return None;
        }
        let mut table = self;
        while id < table.start {
            table = table.parent.as_deref()?;
        }
        table.nodes.get((id - table.start) as usize)
    }

    /// The name and arguments of a function term.
    #[inline]
    pub fn fun(&self, id: Id) -> Option<(Id, &[Id])> {
        if id & SMALL != 0 {
            return None;
        }
        let mut table = self;
        while id < table.start {
            table = table.parent.as_deref()?;
        }
        match table.nodes.get((id - table.start) as usize)? {
            Node::Fun { name, start, len } => Some((*name, table.args.get(*start as usize..(*start + *len) as usize)?)),
            _ => None,
        }
    }

    /// The text of a constant.
    fn name(&self, id: Id) -> Option<&Name> {
        match self.node(id)? {
            Node::Const(n) => Some(n),
            _ => None,
        }
    }

    /// The value of a number.
    #[inline]
    pub fn int(&self, id: Id) -> Option<i32> {
        if id & SMALL != 0 {
            return Some((id << 1).cast_signed() >> 1);
        }
        match self.node(id) {
            Some(Node::Int(n)) => Some(*n),
            _ => None,
        }
    }

    /// The id of a number.
    #[inline]
    pub fn of_int(&mut self, n: i32) -> Id {
        if SMALL_RANGE.contains(&n) {
            n.cast_unsigned() | SMALL
        } else {
            self.intern(hash_int(n), |_, x| matches!(x, Node::Int(m) if *m == n), || Node::Int(n))
        }
    }

    /// The id of a number if it has one already.
    pub fn find_int(&self, n: i32) -> Option<Id> {
        if SMALL_RANGE.contains(&n) { Some(n.cast_unsigned() | SMALL) } else { self.find(hash_int(n), |_, x| matches!(x, Node::Int(m) if *m == n)) }
    }

    /// The id of a constant.
    pub fn of_const(&mut self, n: &Name) -> Id {
        self.intern(hash_text(1, n), |_, x| matches!(x, Node::Const(m) if m == n), || Node::Const(n.clone()))
    }

    /// The id of a constant if it has one already.
    pub fn find_const(&self, n: &Name) -> Option<Id> {
        self.find(hash_text(1, n), |_, x| matches!(x, Node::Const(m) if m == n))
    }

    /// The id of a string.
    pub fn of_str(&mut self, n: &Name) -> Id {
        self.intern(hash_text(2, n), |_, x| matches!(x, Node::Str(m) if m == n), || Node::Str(n.clone()))
    }

    /// The id of a function term over interned arguments; `name` is the constant of its name.
    pub fn of_fun(&mut self, name: Id, args: &[Id]) -> Id {
        let hash = hash_fun(name, args);
        // A term over a term of this table cannot be in the tables beneath.
        let found =
            if args.iter().any(|a| *a & SMALL == 0 && *a >= self.start) { self.find_here(hash, name, args) } else { self.find_hashed(hash, name, args) };
        if let Some(id) = found {
            return id;
        }
        let (start, len) = (u32::try_from(self.args.len()).unwrap_or(u32::MAX), u32::try_from(args.len()).unwrap_or(u32::MAX));
        self.args.extend_from_slice(args);
        self.push(hash, Node::Fun { name, start, len })
    }

    /// The id of a function term if it has one already.
    pub fn find_fun(&self, name: Id, args: &[Id]) -> Option<Id> {
        self.find_hashed(hash_fun(name, args), name, args)
    }

    fn find_hashed(&self, hash: u64, name: Id, args: &[Id]) -> Option<Id> {
        let mut table = Some(self);
        while let Some(t) = table {
            let found = t.find_here(hash, name, args);
            if found.is_some() {
                return found;
            }
            table = t.parent.as_deref();
        }
        None
    }

    /// A function term of this table alone.
    fn find_here(&self, hash: u64, name: Id, args: &[Id]) -> Option<Id> {
        self.chain(hash, |table, x| {
            let Node::Fun { name: n, start, len } = x else { return false };
            let (start, len) = (*start as usize, *len as usize);
            *n == name && table.args.get(start..start + len).is_some_and(|a| a.len() == args.len() && a.iter().zip(args).all(|(a, b)| a == b))
        })
    }

    /// The id of `#inf`.
    pub fn of_inf(&mut self) -> Id {
        self.intern(11, |_, x| *x == Node::Inf, || Node::Inf)
    }

    /// The id of `#sup`.
    pub fn of_sup(&mut self) -> Id {
        self.intern(12, |_, x| *x == Node::Sup, || Node::Sup)
    }

    /// The id of a ground term.
    pub fn of_term(&mut self, t: &Term) -> Id {
        match t {
            Term::Int(n) => self.of_int(*n),
            Term::Const(n) => self.of_const(n),
            Term::Str(n) => self.of_str(n),
            Term::Fun(n, args) => {
                let n = self.of_const(n);
                let mut small = [0; 8];
                if let Some(ids) = small.get_mut(..args.len()) {
                    for (slot, a) in ids.iter_mut().zip(args) {
                        *slot = self.of_term(a);
                    }
                    let ids = small;
                    return self.of_fun(n, ids.get(..args.len()).unwrap_or(&[]));
                }
                let ids: Vec<Id> = args.iter().map(|a| self.of_term(a)).collect();
                self.of_fun(n, &ids)
            }
        }
    }

    /// The id of a ground term if it has one already.
    pub fn find_term(&self, t: &Term) -> Option<Id> {
        match t {
            Term::Int(n) => self.find_int(*n),
            Term::Const(n) => self.find_const(n),
            Term::Str(n) => self.find(hash_text(2, n), |_, x| matches!(x, Node::Str(m) if m == n)),
            Term::Fun(n, args) => {
                let ids: Option<Vec<Id>> = args.iter().map(|a| self.find_term(a)).collect();
                self.find_fun(self.find_const(n)?, &ids?)
            }
        }
    }

    /// The term an id stands for; `#inf` and `#sup` have none.
    pub fn term(&self, id: Id) -> Option<Term> {
        if let Some(n) = self.int(id) {
            return Some(Term::Int(n));
        }
        match self.node(id)? {
            Node::Int(n) => Some(Term::Int(*n)),
            Node::Const(n) => Some(Term::Const(n.clone())),
            Node::Str(n) => Some(Term::Str(n.clone())),
            Node::Fun { .. } => {
                let (name, args) = self.fun(id)?;
                Some(Term::Fun(self.name(name)?.clone(), self.terms(args)?))
            }
            Node::Inf | Node::Sup => None,
        }
    }

    /// The atom of a predicate with interned arguments.
    pub fn atom(&self, name: &Name, row: &[Id]) -> Option<Atom> {
        Some(Atom { name: name.clone(), args: self.terms(row)? })
    }

    fn terms(&self, ids: &[Id]) -> Option<Vec<Term>> {
        let mut out = Vec::with_capacity(ids.len());
        for id in ids {
            out.push(self.term(*id)?);
        }
        Some(out)
    }

    /// clingo's order: `#inf`, numbers, constants, strings, functions by arity, name and arguments, `#sup`.
    pub fn order(&self, a: Id, b: Id) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        if let (Some(x), Some(y)) = (self.int(a), self.int(b)) {
            return x.cmp(&y);
        }
        match (self.node(a), self.node(b)) {
            (Some(Node::Const(x)), Some(Node::Const(y))) | (Some(Node::Str(x)), Some(Node::Str(y))) => x.cmp(y),
            (Some(Node::Fun { .. }), Some(Node::Fun { .. })) => {
                let (Some((f, x)), Some((g, y))) = (self.fun(a), self.fun(b)) else {
                    return Ordering::Equal;
                };
                let names = || self.name(f).cmp(&self.name(g));
                let arguments = || x.iter().zip(y).map(|(a, b)| self.order(*a, *b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal);
                x.len().cmp(&y.len()).then_with(names).then_with(arguments)
            }
            (x, y) => rank(x).cmp(&rank(y)),
        }
    }

    /// The order of [`Term`]: as clingo's, but functions by name, arguments and then their number.
    pub fn plain_order(&self, a: Id, b: Id) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        match (self.fun(a), self.fun(b)) {
            (Some((f, x)), Some((g, y))) => {
                let names = if f == g { Ordering::Equal } else { self.name(f).cmp(&self.name(g)) };
                names.then_with(|| self.plain_rows(x, y))
            }
            _ => self.order(a, b),
        }
    }

    /// The order of two rows of such terms.
    pub fn plain_rows(&self, a: &[Id], b: &[Id]) -> Ordering {
        a.iter().zip(b).map(|(a, b)| self.plain_order(*a, *b)).find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
    }

    fn find(&self, hash: u64, same: impl Fn(&Self, &Node) -> bool) -> Option<Id> {
        let mut table = Some(self);
        while let Some(t) = table {
            let found = t.chain(hash, &same);
            if found.is_some() {
                return found;
            }
            table = t.parent.as_deref();
        }
        None
    }

    /// A term of this table alone.
    fn chain(&self, hash: u64, same: impl Fn(&Self, &Node) -> bool) -> Option<Id> {
        let mut at = *self.first.get(&hash)?;
        while at != NONE {
            let i = (at - self.start) as usize;
            if self.nodes.get(i).is_some_and(|n| same(self, n)) {
                return Some(at);
            }
            at = self.next.get(i).copied().unwrap_or(NONE);
        }
        None
    }

    fn intern(&mut self, hash: u64, same: impl Fn(&Self, &Node) -> bool, make: impl FnOnce() -> Node) -> Id {
        match self.find(hash, same) {
            Some(id) => id,
            None => self.push(hash, make()),
        }
    }

    fn push(&mut self, hash: u64, node: Node) -> Id {
        let id = self.len();
        let next = self.first.insert(hash, id).unwrap_or(NONE);
        self.nodes.push(node);
        self.next.push(next);
        id
    }
}

fn rank(n: Option<&Node>) -> u8 {
    match n {
        Some(Node::Inf) => 0,
        None | Some(Node::Int(_)) => 1,
        Some(Node::Const(_)) => 2,
        Some(Node::Str(_)) => 3,
        Some(Node::Fun { .. }) => 4,
        Some(Node::Sup) => 5,
    }
}

fn hash_int(n: i32) -> u64 {
    let mut h = FxHasher::default();
    (0u8, n).hash(&mut h);
    h.finish()
}

fn hash_text(kind: u8, t: &str) -> u64 {
    let mut h = FxHasher::default();
    (kind, t).hash(&mut h);
    h.finish()
}

fn hash_fun(name: Id, args: &[Id]) -> u64 {
    let mut h = FxHasher::default();
    (3u8, name, args).hash(&mut h);
    h.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shared_with_the_table_beneath() {
        let mut below = Terms::default();
        let soft = below.of_term(&Term::string("Soft Taco"));
        let below = Arc::new(below);
        let mut above = Terms::over(&below);
        assert_eq!(above.of_term(&Term::string("Soft Taco")), soft);
        let line = Term::parse("line(3,\"Soft Taco\",-1073741825,f(a,b))").unwrap();
        let id = above.of_term(&line);
        assert_eq!(above.term(id), Some(line.clone()));
        assert_eq!(above.find_term(&line), Some(id));
        assert_eq!(below.find_term(&line), None);
        for n in [0, -1, 1, i32::MAX, i32::MIN, (1 << 30) - 1, 1 << 30, -(1 << 30), -(1 << 30) - 1] {
            let id = above.of_int(n);
            assert_eq!(above.int(id), Some(n));
        }
    }

    #[test]
    fn orders_terms_as_clingo_does() {
        let mut t = Terms::default();
        let ids: Vec<_> = ["-2", "3", "1073741824", "a", "b", "\"A\"", "\"a\"", "z(1)", "a(1,1)", "a(1,2)", "b(0,0)"]
            .iter()
            .map(|s| t.of_term(&Term::parse(s).unwrap()))
            .collect();
        for (i, a) in ids.iter().enumerate() {
            for (j, b) in ids.iter().enumerate() {
                assert_eq!(t.order(*a, *b), i.cmp(&j));
            }
        }
    }
}
