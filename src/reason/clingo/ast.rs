//! Rule files as clingo's own parser reads them, as plain data: what a second opinion on our parser's reading rests on.
#![expect(non_upper_case_globals, reason = "clingo names its constants so")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

use clingo_sys::*;

use super::{MESSAGES, Message, keep, tables};
use crate::diag::{Origin, Source};
use crate::reason::eval::normal::{substitute, substitute_items};
use crate::reason::syntax::{Aggregate, AtomPattern, Element, Expr, Fold, Item, Literal, Op, Predicate, Rel, Sign};
use crate::term::Name;

/// A rule after its pools are expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it derives; an integrity constraint derives nothing.
    pub head: Option<AtomPattern>,
    /// From what.
    pub body: Vec<Item>,
    /// Where it stands: its whole line.
    pub origin: Origin,
}

/// What rule files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Its rules.
    pub rules: Vec<Rule>,
    /// The predicates that are shown.
    pub shown: Vec<Predicate>,
    /// Whether it says what is shown.
    pub shows: bool,
    /// The predicates that it declares as brought from outside.
    pub external: Vec<Predicate>,
    /// The values of its constants.
    pub constants: Vec<(Name, Expr)>,
}

impl Read {
    /// Puts the values of its constants in their places.
    pub fn fill_in_constants(&mut self) {
        let constants: BTreeMap<Name, Expr> = self.constants.iter().cloned().collect();
        for rule in &mut self.rules {
            rule.head.iter_mut().flat_map(|h| &mut h.args).for_each(|a| substitute(a, &constants));
            substitute_items(&mut rule.body, &constants);
        }
    }
}

struct Reader<'a> {
    source: &'a Source,
    lines: Vec<&'a str>,
    read: &'a mut Read,
    refused: Option<String>,
    line: usize,
}

/// Reads one more rule file. What has no single stable model, or is not of the language that the evaluator has, is refused with a reason.
pub fn read(source: &Source, read: &mut Read) -> Result<(), String> {
    let program = CString::new(&*source.text).map_err(|_| "a null character".to_owned())?;
    let mut sink: Vec<Message> = Vec::new();
    let mut reader = Reader { source, lines: source.text.lines().collect(), read, refused: None, line: 0 };
    let _held = tables();
    // SAFETY: all pointers live until the call returns; neither callback unwinds; sink and reader are used by nothing else meanwhile.
    let parsed = unsafe {
        clingo_ast_parse_string(program.as_ptr(), Some(statement), (&raw mut reader).cast(), ptr::null_mut(), Some(keep), (&raw mut sink).cast(), MESSAGES)
    };
    if let Some(why) = reader.refused {
        return Err(why);
    }
    if !parsed {
        return Err(sink.into_iter().next().map_or_else(|| "clingo cannot read it".to_owned(), |m| m.text));
    }
    Ok(())
}

/// # Safety
/// `ast` is a node, and `data` points to a [`Reader`] that nothing else uses during the call.
unsafe extern "C" fn statement(ast: *mut clingo_ast_t, data: *mut c_void) -> bool {
    // SAFETY: as promised by the caller; unpooled nodes are handed to a callback of the same kind.
    unsafe { clingo_ast_unpool(ast, clingo_ast_unpool_type_e_clingo_ast_unpool_type_all as c_int, Some(unpooled), data) }
}

/// # Safety
/// As for [`statement`].
unsafe extern "C" fn unpooled(ast: *mut clingo_ast_t, data: *mut c_void) -> bool {
    // SAFETY: as promised by the caller; the node is borrowed, so it is acquired before it is kept.
    let (node, reader) = unsafe {
        let Some(node) = NonNull::new(ast) else { return false };
        clingo_ast_acquire(ast);
        (Node(node), &mut *data.cast::<Reader<'_>>())
    };
    let read = catch_unwind(AssertUnwindSafe(|| reader.statement(&node))).unwrap_or_else(|_| Err("a node that cannot be read".into()));
    read.map_err(|why| reader.refused.get_or_insert(format!("line {}: {why}", reader.line)).len()).is_ok()
}

/// A node of the syntax tree, released when it is dropped.
struct Node(NonNull<clingo_ast_t>);

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: the node was acquired when it was made.
        unsafe { clingo_ast_release(self.0.as_ptr()) }
    }
}

type Got<T> = Result<T, String>;

/// The value that a getter of clingo fills in.
///
/// # Safety
/// `get` fills the place whenever it returns true.
unsafe fn filled<T>(empty: T, get: impl FnOnce(*mut T) -> bool) -> Got<T> {
    let mut out = empty;
    if get(&raw mut out) { Ok(out) } else { Err("a part is missing".into()) }
}

impl Node {
    fn kind(&self) -> Got<c_uint> {
        // SAFETY: the node lives, and so does the place (here and below).
        unsafe { filled(0, |p| clingo_ast_get_type(self.0.as_ptr(), p)) }.map(c_int::cast_unsigned)
    }

    fn number(&self, attribute: c_uint) -> Got<c_int> {
        // SAFETY: see `kind`.
        unsafe { filled(0, |p| clingo_ast_attribute_get_number(self.0.as_ptr(), attribute.cast_signed(), p)) }
    }

    fn name(&self) -> Got<Name> {
        // SAFETY: see `kind`; clingo's strings live as long as the process.
        unsafe {
            let at = filled(ptr::null(), |p| clingo_ast_attribute_get_string(self.0.as_ptr(), clingo_ast_attribute_e_clingo_ast_attribute_name as c_int, p))?;
            text(at)
        }
    }

    fn child(&self, attribute: c_uint) -> Got<Self> {
        // SAFETY: see `kind`; the child comes acquired.
        let child = unsafe { filled(ptr::null_mut(), |p| clingo_ast_attribute_get_ast(self.0.as_ptr(), attribute.cast_signed(), p)) }?;
        NonNull::new(child).map(Self).ok_or_else(|| "a part is missing".into())
    }

    fn optional(&self, attribute: c_uint) -> Got<Option<Self>> {
        // SAFETY: see `child`.
        let child = unsafe { filled(ptr::null_mut(), |p| clingo_ast_attribute_get_optional_ast(self.0.as_ptr(), attribute.cast_signed(), p)) }?;
        Ok(NonNull::new(child).map(Self))
    }

    fn children(&self, attribute: c_uint) -> Got<Vec<Self>> {
        // SAFETY: see `child`.
        let size = unsafe { filled(0, |p| clingo_ast_attribute_size_ast_array(self.0.as_ptr(), attribute.cast_signed(), p)) }?;
        let child = |n| {
            // SAFETY: see `child`; `n` is below the size.
            let child = unsafe { filled(ptr::null_mut(), |p| clingo_ast_attribute_get_ast_at(self.0.as_ptr(), attribute.cast_signed(), n, p)) }?;
            NonNull::new(child).map(Self).ok_or_else(|| "a part is missing".to_owned())
        };
        (0..size).map(child).collect()
    }

    /// The line and column it begins at, from 1.
    fn place(&self) -> Got<(usize, usize)> {
        let nowhere = clingo_location_t { begin_file: ptr::null(), end_file: ptr::null(), begin_line: 0, end_line: 0, begin_column: 0, end_column: 0 };
        let attribute = clingo_ast_attribute_e_clingo_ast_attribute_location as c_int;
        // SAFETY: see `kind`.
        let at = unsafe { filled(nowhere, |p| clingo_ast_attribute_get_location(self.0.as_ptr(), attribute, p)) }?;
        Ok((at.begin_line, at.begin_column))
    }

    /// A symbol without arguments.
    fn symbol(&self) -> Got<Expr> {
        let attribute = clingo_ast_attribute_e_clingo_ast_attribute_symbol as c_int;
        // SAFETY: see `kind`; each getter is asked for what the symbol's kind has.
        unsafe {
            let symbol = filled(0, |p| clingo_ast_attribute_get_symbol(self.0.as_ptr(), attribute, p))?;
            Ok(match clingo_symbol_type(symbol).cast_unsigned() {
                clingo_symbol_type_e_clingo_symbol_type_number => Expr::Int(filled(0, |p| clingo_symbol_number(symbol, p))?),
                clingo_symbol_type_e_clingo_symbol_type_string => Expr::Str(text(filled(ptr::null(), |p| clingo_symbol_string(symbol, p))?)?),
                clingo_symbol_type_e_clingo_symbol_type_infimum => Expr::Inf,
                clingo_symbol_type_e_clingo_symbol_type_supremum => Expr::Sup,
                _ => Expr::Const(text(filled(ptr::null(), |p| clingo_symbol_name(symbol, p))?)?),
            })
        }
    }
}

/// # Safety
/// `at` is null or a C string.
unsafe fn text(at: *const c_char) -> Got<Name> {
    if at.is_null() {
        return Err("a name is missing".into());
    }
    // SAFETY: as promised by the caller.
    unsafe { CStr::from_ptr(at) }.to_str().map(Name::from).map_err(|_| "a name that is no UTF-8".into())
}

impl Reader<'_> {
    fn statement(&mut self, n: &Node) -> Got<()> {
        self.line = n.place()?.0;
        match n.kind()? {
            clingo_ast_type_e_clingo_ast_type_rule => {
                let head = self.head(&n.child(clingo_ast_attribute_e_clingo_ast_attribute_head)?)?;
                let body = n.children(clingo_ast_attribute_e_clingo_ast_attribute_body)?;
                let body = body.iter().map(|b| self.item(b)).collect::<Got<_>>()?;
                self.read.rules.push(Rule { head, body, origin: self.source.line(self.line) });
            }
            clingo_ast_type_e_clingo_ast_type_show_signature => {
                self.read.shows = true;
                let p = signature(n)?;
                self.read.shown.extend((!p.0.is_empty()).then_some(p));
            }
            clingo_ast_type_e_clingo_ast_type_definition => {
                let value = self.term(&n.child(clingo_ast_attribute_e_clingo_ast_attribute_value)?)?;
                self.read.constants.push((n.name()?, value));
            }
            clingo_ast_type_e_clingo_ast_type_external => {
                let atom = self.atom(&n.child(clingo_ast_attribute_e_clingo_ast_attribute_atom)?)?;
                self.read.external.push(atom.predicate());
            }
            clingo_ast_type_e_clingo_ast_type_program => {
                if &*n.name()? != "base" {
                    return Err("another program part than `base`".into());
                }
            }
            clingo_ast_type_e_clingo_ast_type_defined => {}
            _ => return Err("a statement that is more than a rule".into()),
        }
        Ok(())
    }

    fn head(&self, n: &Node) -> Got<Option<AtomPattern>> {
        if n.kind()? != clingo_ast_type_e_clingo_ast_type_literal {
            return Err("a choice or disjunction".into());
        }
        match self.literal(n)? {
            Literal::Atom { sign: Sign::Plain, atom } => Ok(Some(atom)),
            Literal::Bool(false, _) => Ok(None),
            _ => Err("a head that is no atom".into()),
        }
    }

    fn item(&self, n: &Node) -> Got<Item> {
        if n.kind()? == clingo_ast_type_e_clingo_ast_type_conditional_literal {
            let literal = self.literal(&n.child(clingo_ast_attribute_e_clingo_ast_attribute_literal)?)?;
            return Ok(Item::Conditional { literal, condition: self.condition(n)?, span: 0..0 });
        }
        let atom = n.child(clingo_ast_attribute_e_clingo_ast_attribute_atom)?;
        if atom.kind()? != clingo_ast_type_e_clingo_ast_type_body_aggregate {
            return self.literal(n).map(Item::Literal);
        }
        let guard = |attribute| atom.optional(attribute)?.map(|g| self.guard(&g)).transpose();
        let left = guard(clingo_ast_attribute_e_clingo_ast_attribute_left_guard)?.map(|(rel, e)| (e, rel));
        let right = guard(clingo_ast_attribute_e_clingo_ast_attribute_right_guard)?;
        let fold = match atom.number(clingo_ast_attribute_e_clingo_ast_attribute_function)?.cast_unsigned() {
            clingo_ast_aggregate_function_e_clingo_ast_aggregate_function_count => Fold::Count,
            clingo_ast_aggregate_function_e_clingo_ast_aggregate_function_sum => Fold::Sum,
            clingo_ast_aggregate_function_e_clingo_ast_aggregate_function_sump => Fold::SumPlus,
            clingo_ast_aggregate_function_e_clingo_ast_aggregate_function_min => Fold::Min,
            clingo_ast_aggregate_function_e_clingo_ast_aggregate_function_max => Fold::Max,
            _ => return Err("an unknown aggregate".into()),
        };
        let element = |e: &Node| {
            let terms = e.children(clingo_ast_attribute_e_clingo_ast_attribute_terms)?;
            Ok(Element { terms: terms.iter().map(|t| self.term(t)).collect::<Got<_>>()?, condition: self.condition(e)?, span: 0..0 })
        };
        let elements = atom.children(clingo_ast_attribute_e_clingo_ast_attribute_elements)?.iter().map(element).collect::<Got<_>>()?;
        Ok(Item::Aggregate(Aggregate { sign: sign(n)?, left, fold, elements, right, span: 0..0 }))
    }

    fn condition(&self, n: &Node) -> Got<Vec<Literal>> {
        n.children(clingo_ast_attribute_e_clingo_ast_attribute_condition)?.iter().map(|l| self.literal(l)).collect()
    }

    fn guard(&self, n: &Node) -> Got<(Rel, Expr)> {
        let rel = match n.number(clingo_ast_attribute_e_clingo_ast_attribute_comparison)?.cast_unsigned() {
            clingo_ast_comparison_operator_e_clingo_ast_comparison_operator_greater_than => Rel::Gt,
            clingo_ast_comparison_operator_e_clingo_ast_comparison_operator_less_than => Rel::Lt,
            clingo_ast_comparison_operator_e_clingo_ast_comparison_operator_less_equal => Rel::Le,
            clingo_ast_comparison_operator_e_clingo_ast_comparison_operator_greater_equal => Rel::Ge,
            clingo_ast_comparison_operator_e_clingo_ast_comparison_operator_not_equal => Rel::Ne,
            clingo_ast_comparison_operator_e_clingo_ast_comparison_operator_equal => Rel::Eq,
            _ => return Err("an unknown comparison".into()),
        };
        Ok((rel, self.term(&n.child(clingo_ast_attribute_e_clingo_ast_attribute_term)?)?))
    }

    fn literal(&self, n: &Node) -> Got<Literal> {
        if n.kind()? != clingo_ast_type_e_clingo_ast_type_literal {
            return Err("an unknown literal".into());
        }
        let atom = n.child(clingo_ast_attribute_e_clingo_ast_attribute_atom)?;
        match atom.kind()? {
            clingo_ast_type_e_clingo_ast_type_boolean_constant => Ok(Literal::Bool(atom.number(clingo_ast_attribute_e_clingo_ast_attribute_value)? != 0, 0..0)),
            clingo_ast_type_e_clingo_ast_type_symbolic_atom => Ok(Literal::Atom { sign: sign(n)?, atom: self.atom(&atom)? }),
            clingo_ast_type_e_clingo_ast_type_comparison => {
                let left = self.term(&atom.child(clingo_ast_attribute_e_clingo_ast_attribute_term)?)?;
                let rest = atom.children(clingo_ast_attribute_e_clingo_ast_attribute_guards)?.iter().map(|g| self.guard(g)).collect::<Got<_>>()?;
                Ok(Literal::Compare { sign: self.sign_of_comparison(n)?, left, rest, span: 0..0 })
            }
            _ => Err("an aggregate without a function, or a theory atom".into()),
        }
    }

    /// clingo 5.6 drops the sign of a comparison on its way to the tree, so it is read off the text that the node stands for.
    fn sign_of_comparison(&self, n: &Node) -> Got<Sign> {
        let (line, column) = n.place()?;
        let mut words = self.lines.iter().skip(line.saturating_sub(1));
        let first = words.next().and_then(|l| l.get(column.saturating_sub(1)..)).ok_or("a place outside of the text")?;
        let bare = |l: &'_ str| l.split('%').next().unwrap_or("").to_owned();
        let from: String = std::iter::once(bare(first)).chain(words.take(3).map(|l| bare(l))).collect::<Vec<_>>().join(" ");
        let nots = from.split_whitespace().take_while(|w| *w == "not").count();
        Ok([Sign::Plain, Sign::Not, Sign::NotNot].get(nots).copied().unwrap_or(Sign::NotNot))
    }

    fn atom(&self, n: &Node) -> Got<AtomPattern> {
        match self.term(&n.child(clingo_ast_attribute_e_clingo_ast_attribute_symbol)?)? {
            Expr::Fun(name, args) if !name.is_empty() => Ok(AtomPattern { name, args, span: 0..0 }),
            Expr::Const(name) => Ok(AtomPattern { name, args: Vec::new(), span: 0..0 }),
            _ => Err("an atom with classical negation".into()),
        }
    }

    fn term(&self, n: &Node) -> Got<Expr> {
        let of = |attribute| self.term(&n.child(attribute)?).map(Box::new);
        let (left, right) = (clingo_ast_attribute_e_clingo_ast_attribute_left, clingo_ast_attribute_e_clingo_ast_attribute_right);
        let operator = || n.number(clingo_ast_attribute_e_clingo_ast_attribute_operator_type).map(c_int::cast_unsigned);
        match n.kind()? {
            clingo_ast_type_e_clingo_ast_type_variable => Ok(Expr::Var(n.name()?, 0)),
            clingo_ast_type_e_clingo_ast_type_symbolic_term => n.symbol(),
            clingo_ast_type_e_clingo_ast_type_interval => Ok(Expr::Interval(of(left)?, of(right)?)),
            clingo_ast_type_e_clingo_ast_type_function => {
                if n.number(clingo_ast_attribute_e_clingo_ast_attribute_external)? != 0 {
                    return Err("an external function".into());
                }
                let args = n.children(clingo_ast_attribute_e_clingo_ast_attribute_arguments)?;
                let args = args.iter().map(|a| self.term(a)).collect::<Got<Vec<_>>>()?;
                let name = n.name()?;
                Ok(if args.is_empty() && !name.is_empty() { Expr::Const(name) } else { Expr::Fun(name, args) })
            }
            clingo_ast_type_e_clingo_ast_type_unary_operation => {
                let inner = of(clingo_ast_attribute_e_clingo_ast_attribute_argument)?;
                match operator()? {
                    clingo_ast_unary_operator_e_clingo_ast_unary_operator_minus => Ok(Expr::Neg(inner)),
                    clingo_ast_unary_operator_e_clingo_ast_unary_operator_absolute => Ok(Expr::Abs(inner)),
                    _ => Err("an operation on bits".into()),
                }
            }
            clingo_ast_type_e_clingo_ast_type_binary_operation => {
                let op = match operator()? {
                    clingo_ast_binary_operator_e_clingo_ast_binary_operator_plus => Op::Add,
                    clingo_ast_binary_operator_e_clingo_ast_binary_operator_minus => Op::Sub,
                    clingo_ast_binary_operator_e_clingo_ast_binary_operator_multiplication => Op::Mul,
                    clingo_ast_binary_operator_e_clingo_ast_binary_operator_division => Op::Div,
                    clingo_ast_binary_operator_e_clingo_ast_binary_operator_modulo => Op::Mod,
                    clingo_ast_binary_operator_e_clingo_ast_binary_operator_power => Op::Pow,
                    _ => return Err("an operation on bits".into()),
                };
                Ok(Expr::Binary(op, of(left)?, of(right)?))
            }
            _ => Err("a term of another kind".into()),
        }
    }
}

fn sign(n: &Node) -> Got<Sign> {
    Ok(match n.number(clingo_ast_attribute_e_clingo_ast_attribute_sign)?.cast_unsigned() {
        clingo_ast_sign_e_clingo_ast_sign_no_sign => Sign::Plain,
        clingo_ast_sign_e_clingo_ast_sign_negation => Sign::Not,
        _ => Sign::NotNot,
    })
}

fn signature(n: &Node) -> Got<Predicate> {
    let arity = n.number(clingo_ast_attribute_e_clingo_ast_attribute_arity)?;
    Ok((n.name()?, usize::try_from(arity).unwrap_or(0)))
}
