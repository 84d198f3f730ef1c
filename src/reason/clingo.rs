//! The one door to clingo: a fresh control for each question, built, solved and freed on one thread.
#![expect(unsafe_code, reason = "the safe layer has no sound way to hear clingo's messages, see `messages`")]

pub mod ast;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clingo::{ClingoError, Control, Part, ShowType, Signature, SolveHandle, SolveMode, SolveResult, SolverLiteral, Symbol, SymbolType};

use crate::term::{Atom, Name, Term};

/// What clingo said about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whether it stands for an error: an undefined operation, a runtime error.
    pub error: bool,
    /// The text, without the position in the program that was put together.
    pub text: String,
}

/// What clingo found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Solved {
    /// The shown atoms of each model, sorted.
    pub models: Vec<Vec<Atom>>,
    /// Whether there are no more models.
    pub complete: bool,
}

/// Why clingo found nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolveError {
    /// The program or the library failed.
    #[error("{0}")]
    Failed(String),
    /// Time ran out.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// A shown atom holds `#inf` or `#sup`.
    #[error("a shown atom holds the bound of an empty aggregate")]
    Unrepresentable,
}

/// Begins what stands for a null character in clingo's strings, which end at one; with another digit behind it, it stands for itself.
const ESCAPE: &str = "\u{f0000}";

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\0') && !text.contains(ESCAPE) {
        return text.into();
    }
    text.replace(ESCAPE, &format!("{ESCAPE}1")).replace('\0', &format!("{ESCAPE}0")).into()
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return text.into();
    }
    text.replace(&format!("{ESCAPE}0"), "\0").replace(&format!("{ESCAPE}1"), ESCAPE).into()
}

/// How many messages clingo may send.
const MESSAGES: u32 = 20;

/// Held while a program is read and grounded. clingo keeps the strings and terms of all controls in tables of the process and
/// reads what it found there after it let go of their lock: when another thread makes a table grow, that is freed memory.
static TABLES: Mutex<()> = Mutex::new(());

fn tables() -> MutexGuard<'static, ()> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps one message of clingo.
///
/// # Safety
/// `message` is a C string or null, and `data` points to a `Vec<Message>` that nothing else uses during the call.
unsafe extern "C" fn keep(code: c_int, message: *const c_char, data: *mut c_void) {
    // A panic must not reach clingo's frames: they cannot unwind.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if message.is_null() {
            return;
        }
        // SAFETY: as promised by the caller.
        let (text, sink) = unsafe { (CStr::from_ptr(message), &mut *data.cast::<Vec<Message>>()) };
        let harmless = [
            clingo_sys::clingo_warning_e_clingo_warning_atom_undefined,
            clingo_sys::clingo_warning_e_clingo_warning_file_included,
            clingo_sys::clingo_warning_e_clingo_warning_global_variable,
        ];
        let error = !u32::try_from(code).is_ok_and(|c| harmless.contains(&c));
        sink.push(Message { error, text: text.to_string_lossy().trim().to_owned() });
    }));
}

/// What clingo says about a program while it parses and grounds it. The safe layer hands clingo a logger's address and then
/// moves the logger, never frees such a control, and builds slices from null pointers in its observer: so this goes around it.
pub fn messages(program: &str) -> Vec<Message> {
    let mut sink: Vec<Message> = Vec::new();
    let Ok(text) = CString::new(program) else {
        return vec![Message { error: true, text: "the program holds a null character".into() }];
    };
    let _held = tables();
    let mut control = ptr::null_mut();
    let part = clingo_sys::clingo_part { name: c"base".as_ptr(), params: ptr::null(), size: 0 };
    // SAFETY: all pointers live until the control is freed below; the sink is read only after that; the callback does not unwind.
    unsafe {
        if clingo_sys::clingo_control_new(ptr::null(), 0, Some(keep), (&raw mut sink).cast(), MESSAGES, &raw mut control) {
            let read = clingo_sys::clingo_control_add(control, c"base".as_ptr(), ptr::null(), 0, text.as_ptr());
            let _ = read && clingo_sys::clingo_control_ground(control, &raw const part, 1, None, ptr::null_mut());
            clingo_sys::clingo_control_free(control);
        }
    }
    sink
}

fn failed(e: &ClingoError) -> SolveError {
    SolveError::Failed(e.to_string())
}

/// What holds under assumptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A model: its shown atoms.
    Model(Vec<Atom>),
    /// None, and these assumptions alone exclude them all.
    Refuted(Vec<Atom>),
}

/// Solves a program: at most `models` models, within `limit` if given. Without a limit clingo runs on the caller's thread, which
/// saves two changes of thread: right for programs that have nothing to search for. Facts need no parser.
pub fn solve(program: &str, facts: &[Atom], models: u32, limit: Option<Duration>) -> Result<Solved, SolveError> {
    let held = tables();
    let mut control = clingo::control(vec![format!("--models={models}"), "--warn=none".into()]).map_err(|e| failed(&e))?;
    let grounded = ground(&mut control, program, facts);
    drop(held);
    if grounded.is_err() {
        let facts: String = facts.iter().map(|f| format!("{f}.\n")).collect();
        let told: Vec<String> = messages(&format!("{program}\n{facts}")).into_iter().filter(|m| m.error).map(|m| m.text).collect();
        return Err(SolveError::Failed(told.join("; ")));
    }
    let mode = if limit.is_some() { SolveMode::ASYNC | SolveMode::YIELD } else { SolveMode::YIELD };
    let mut handle = control.solve(mode, &[]).map_err(|e| failed(&e))?;
    let out = collect(&mut handle, limit);
    // The handle is closed whatever happened: a dropped one leaks.
    let closed = handle.close();
    let out = out?;
    closed.map_err(|e| failed(&e))?;
    Ok(out)
}

fn ground(control: &mut Control, program: &str, facts: &[Atom]) -> Result<(), ClingoError> {
    control.add("base", &[], program)?;
    if !facts.is_empty() {
        let mut backend = control.backend()?;
        for f in facts {
            let atom = backend.add_atom(Some(symbol(&f.name, &f.args)?))?;
            backend.rule(false, &[atom], &[])?;
        }
    }
    control.ground(&[Part::new("base", Vec::new())?])
}

fn symbol(name: &str, args: &[Term]) -> Result<Symbol, ClingoError> {
    let mut symbols = Vec::with_capacity(args.len());
    for a in args {
        symbols.push(match a {
            Term::Int(n) => Symbol::create_number(*n),
            Term::Str(t) => Symbol::create_string(&escaped(t))?,
            Term::Const(n) => Symbol::create_id(n, true)?,
            Term::Fun(f, args) => symbol(f, args)?,
        });
    }
    Symbol::create_function(name, &symbols, true)
}

fn collect(handle: &mut SolveHandle, limit: Option<Duration>) -> Result<Solved, SolveError> {
    let deadline = limit.map(|l| (l, Instant::now() + l));
    let mut out = Solved::default();
    loop {
        handle.resume().map_err(|e| failed(&e))?;
        if let Some((limit, end)) = deadline
            && !handle.wait(end.saturating_duration_since(Instant::now()))
        {
            handle.cancel().map_err(|e| failed(&e))?;
            return Err(SolveError::Timeout(limit));
        }
        match handle.model().map_err(|e| failed(&e))? {
            Some(model) => {
                let symbols = model.symbols(ShowType::SHOWN).map_err(|e| failed(&e))?;
                let mut atoms = symbols.into_iter().map(atom).collect::<Result<Vec<_>, _>>()?;
                atoms.sort();
                out.models.push(atoms);
            }
            None => {
                out.complete = handle.get().map_err(|e| failed(&e))?.contains(SolveResult::EXHAUSTED);
                return Ok(out);
            }
        }
    }
}

/// A part of `assumed` that no model of the program contains together, and of which every part is in some model; `None` if a model
/// contains them all. The program must leave these atoms open.
pub fn core(program: &str, assumed: &[Atom]) -> Result<Option<Vec<Atom>>, SolveError> {
    let held = tables();
    let mut control = clingo::control(vec!["--warn=none".into()]).map_err(|e| failed(&e))?;
    if ground(&mut control, program, &[]).is_err() {
        drop(held);
        let told: Vec<String> = messages(program).into_iter().filter(|m| m.error).map(|m| m.text).collect();
        return Err(SolveError::Failed(told.join("; ")));
    }
    let mut literals: Vec<SolverLiteral> = Vec::new();
    {
        let mut backend = control.backend().map_err(|e| failed(&e))?;
        for a in assumed {
            literals.push(backend.add_atom(Some(symbol(&a.name, &a.args).map_err(|e| failed(&e))?)).map_err(|e| failed(&e))?.into());
        }
    }
    drop(held);
    let (mut control, found) = refuted(control, &literals)?;
    let Some(mut needed) = found else { return Ok(None) };
    // clingo's core is small but not minimal: each literal is left out once.
    for l in needed.clone().into_iter().rev() {
        let rest: Vec<SolverLiteral> = needed.iter().copied().filter(|n| *n != l).collect();
        if rest.len() == needed.len() {
            continue;
        }
        let (back, smaller) = refuted(control, &rest)?;
        control = back;
        if let Some(smaller) = smaller {
            needed = smaller;
        }
    }
    drop(control);
    Ok(Some(assumed.iter().zip(&literals).filter(|(_, l)| needed.contains(l)).map(|(a, _)| a.clone()).collect()))
}

/// Solves under assumptions: those that already exclude every model, or nothing if there is a model.
fn refuted(control: Control, assumed: &[SolverLiteral]) -> Result<(Control, Option<Vec<SolverLiteral>>), SolveError> {
    let mut handle = control.solve(SolveMode::YIELD, assumed).map_err(|e| failed(&e))?;
    let found = (|| {
        handle.resume()?;
        if handle.model()?.is_some() {
            return Ok(None);
        }
        // An empty core means that there is no model whatever is assumed.
        handle.core().map(Some)
    })();
    let control = handle.close().map_err(|e| failed(&e))?;
    Ok((control, found.map_err(|e| failed(&e))?))
}

/// A program that is grounded once and asked several times.
#[derive(Debug)]
pub struct Ground {
    control: Option<Control>,
    open: BTreeMap<Atom, SolverLiteral>,
}

impl Ground {
    /// Reads and grounds a program with facts; atoms of the predicates in `open` may be assumed.
    pub fn new(program: &str, facts: &[Atom], open: &[(&str, u32)]) -> Result<Self, SolveError> {
        let held = tables();
        let mut control = clingo::control(vec!["--models=1".into(), "--warn=none".into()]).map_err(|e| failed(&e))?;
        let grounded = ground(&mut control, program, facts);
        drop(held);
        if let Err(e) = grounded {
            let facts: String = facts.iter().map(|f| format!("{f}.\n")).collect();
            let told: Vec<String> = messages(&format!("{program}\n{facts}")).into_iter().filter(|m| m.error).map(|m| m.text).collect();
            return Err(if told.is_empty() { failed(&e) } else { SolveError::Failed(told.join("; ")) });
        }
        let _held = tables();
        let mut literals = BTreeMap::new();
        let atoms = control.symbolic_atoms().map_err(|e| failed(&e))?;
        for (name, arity) in open {
            let signature = Signature::new(name, *arity, true).map_err(|e| failed(&e))?;
            for i in atoms.iter_with_signature(signature).map_err(|e| failed(&e))? {
                literals.insert(atom(i.symbol().map_err(|e| failed(&e))?)?, i.literal().map_err(|e| failed(&e))?);
            }
        }
        Ok(Self { control: Some(control), open: literals })
    }

    /// A model in which all of these hold, or those among them that exclude one.
    pub fn under(&mut self, assumed: &[Atom], limit: Duration) -> Result<Found, SolveError> {
        let literal = |a: &Atom| self.open.get(a).copied().ok_or_else(|| SolveError::Failed(format!("`{a}` cannot be assumed")));
        let literals: Vec<SolverLiteral> = assumed.iter().map(literal).collect::<Result<_, _>>()?;
        let gone = || SolveError::Failed("the program was given up after a failure".into());
        let control = self.control.take().ok_or_else(gone)?;
        let mut handle = control.solve(SolveMode::ASYNC | SolveMode::YIELD, &literals).map_err(|e| failed(&e))?;
        let found = (|| {
            handle.resume().map_err(|e| failed(&e))?;
            if !handle.wait(limit) {
                handle.cancel().map_err(|e| failed(&e))?;
                return Err(SolveError::Timeout(limit));
            }
            if let Some(model) = handle.model().map_err(|e| failed(&e))? {
                let symbols = model.symbols(ShowType::SHOWN).map_err(|e| failed(&e))?;
                let mut atoms = symbols.into_iter().map(atom).collect::<Result<Vec<_>, _>>()?;
                atoms.sort();
                return Ok(Found::Model(atoms));
            }
            // An empty core means that there is no model whatever is assumed.
            let core = handle.core().map_err(|e| failed(&e))?;
            Ok(Found::Refuted(assumed.iter().zip(&literals).filter(|(_, l)| core.contains(l)).map(|(a, _)| a.clone()).collect()))
        })();
        self.control = Some(handle.close().map_err(|e| failed(&e))?);
        found
    }
}

fn atom(s: Symbol) -> Result<Atom, SolveError> {
    term(s)?.to_atom().ok_or(SolveError::Unrepresentable)
}

fn term(s: Symbol) -> Result<Term, SolveError> {
    let fail = |e: ClingoError| failed(&e);
    Ok(match s.symbol_type().map_err(fail)? {
        SymbolType::Number => Term::Int(s.number().map_err(fail)?),
        SymbolType::String => Term::Str(Name::from(&*unescaped(s.string().map_err(fail)?))),
        SymbolType::Function => {
            let name = Name::from(s.name().map_err(fail)?);
            let args = s.arguments().map_err(fail)?;
            if args.is_empty() { Term::Const(name) } else { Term::Fun(name, args.into_iter().map(term).collect::<Result<_, _>>()?) }
        }
        SymbolType::Infimum | SymbolType::Supremum => return Err(SolveError::Unrepresentable),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Option<Duration> = Some(Duration::from_secs(1));

    #[test]
    fn finds_models_and_says_what_is_wrong() {
        let one = solve("p(1,\"a b\"). q(X) :- p(X,_). #show q/1. #show p/2.", &[], 2, SECOND).unwrap();
        assert_eq!(one.models, vec![vec![Atom::parse("p(1,\"a b\")").unwrap(), Atom::parse("q(1)").unwrap()]]);
        assert!(one.complete);
        assert_eq!(solve("a :- not b. b :- not a.", &[], 2, SECOND).unwrap().models.len(), 2);
        assert_eq!(solve("a. :- a.", &[], 2, None).unwrap().models.len(), 0);
        let SolveError::Failed(text) = solve("p(", &[], 2, SECOND).unwrap_err() else { panic!() };
        assert!(text.contains("syntax error"), "{text}");
        let odd = messages("p(a+1). r.");
        assert!(odd.iter().any(|m| m.error && m.text.contains("operation undefined")), "{odd:?}");
    }

    #[test]
    fn finds_what_does_not_go_together() {
        let atoms = |t: &str| t.split(' ').map(|a| Atom::parse(a).unwrap()).collect::<Vec<_>>();
        let program = "{ in(1,a); in(2,\"B\"); in(3,f(c)); in(4,d) }. bad :- in(1,a), in(3,f(c)). bad :- in(2,\"B\"), not in(4,d). :- bad.";
        assert_eq!(core(program, &atoms("in(1,a) in(2,\"B\") in(3,f(c)) in(4,d)")).unwrap(), Some(atoms("in(1,a) in(3,f(c))")));
        assert_eq!(core(program, &atoms("in(1,a) in(2,\"B\") in(4,d)")).unwrap(), None);
        assert_eq!(core("{ p(1) }. :- not q.  q :- r.", &atoms("p(1)")).unwrap(), Some(vec![]));
    }

    #[test]
    fn stops_when_time_is_up() {
        // Pigeons that do not fit: a search without end.
        let hard = "{ in(P,H) : H = 1..11 } = 1 :- P = 1..12. :- in(P,H), in(Q,H), P < Q.";
        assert_eq!(solve(hard, &[], 1, Some(Duration::from_millis(50))), Err(SolveError::Timeout(Duration::from_millis(50))));
    }
}
