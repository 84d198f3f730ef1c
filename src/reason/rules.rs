//! From rule files to rules that can be run: read, checked, ordered and compiled once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::analyse::{Analysis, analyse, heads};
use super::certify::Checker;
use super::clingo_text::for_clingo;
use super::eval::plan::NoPlan;
use super::eval::store::{RelId, Relation};
use super::eval::terms::Terms;
use super::eval::{Program, Query, Scratch, Stratum, normal};
use super::sketch::{Sketch, sketches, supplies};
use super::syntax::{Expr, Head, Item, Kind, Literal, Predicate, Statement, parse};
use crate::diag::{Diagnostic, Origin, Severity, Source, did_you_mean};
use crate::term::Name;

/// Who owns a stored fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Durable and versioned: the same for all sessions that began with the version.
    Kb,
    /// What every agent of a site sees at its next turn.
    Shared,
    /// One conversation's own.
    Session,
}

/// The predicates that rules may use without deriving them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Stored facts and who owns them.
    pub stored: BTreeMap<(Name, usize), Scope>,
    /// What a turn brings: `in/2`, `role/1`, ….
    pub turn: Vec<(Name, usize)>,
}

/// The rules of a domain: parsed, checked, ordered and compiled; immutable.
#[derive(Debug)]
pub struct Rules {
    pub(super) statements: Vec<Statement>,
    pub(super) signature: Signature,
    pub(super) analysis: Analysis,
    pub(super) program: Program,
    pub(super) terms: Arc<Terms>,
    /// The relations whose rows are shown, by name.
    pub(super) shown: Vec<(RelId, Predicate)>,
    /// The rules that derive each relation.
    pub(super) by_head: BTreeMap<RelId, Vec<u32>>,
    /// For each rule and set of known head columns: whether it could derive such a head.
    pub(super) queries: BTreeMap<(u32, u32), Query>,
    /// Statements that clingo alone decides.
    pub(super) left: Vec<usize>,
    /// Stored and turn predicates that session and turn give.
    pub(super) moving: BTreeSet<Predicate>,
    /// The statements as clingo gets them.
    pub(super) texts: Vec<Name>,
    /// The second opinion; where the rules are not of its fragment, why.
    pub(super) checker: Result<Checker, String>,
    sources: Vec<Source>,
    /// For each rule the rules that could derive what it mentions.
    pub(super) supplies: Vec<Vec<u32>>,
    /// The rules as the search for those that could fire sees them.
    pub(super) sketches: Vec<Sketch>,
    /// Memory of finished decisions, for the next ones.
    pub(super) pool: Mutex<Vec<Workspace>>,
    /// What the rules ask about facts as things.
    pub(super) reflected: super::analyse::Wanted,
    warnings: Vec<Diagnostic>,
}

/// The memory of one decision.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub above: Vec<Relation>,
    pub terms: Terms,
    pub scratch: Scratch,
}

/// How many workspaces are kept, and how many rows or terms one may hold.
const POOLED: usize = 4;
const POOLED_ROWS: usize = 50_000;

impl Rules {
    /// Memory for a decision, empty.
    pub(super) fn workspace(&self) -> Workspace {
        let kept = self.pool.lock().ok().and_then(|mut p| p.pop());
        kept.unwrap_or_else(|| Workspace { above: self.program.relations(), ..Workspace::default() })
    }

    /// Takes memory back.
    pub(super) fn give_back(&self, mut w: Workspace) {
        if w.above.len() != self.program.arities.len() || w.terms.own() > POOLED_ROWS || w.scratch.rows > POOLED_ROWS {
            return;
        }
        w.above.iter_mut().for_each(Relation::clear);
        if let Ok(mut p) = self.pool.lock()
            && p.len() < POOLED
        {
            p.push(w);
        }
    }
}

struct Loader {
    sources: BTreeMap<Name, Source>,
    found: Vec<Diagnostic>,
}

impl Loader {
    fn at(&self, s: &Statement, span: std::ops::Range<usize>) -> Origin {
        self.sources.get(&s.origin.file).map_or_else(|| s.origin.clone(), |src| src.origin(span))
    }

    fn no_plan(&mut self, s: &Statement, why: NoPlan) -> Option<&'static str> {
        match why {
            NoPlan::Unsupported(what) => Some(what),
            NoPlan::Unsafe(vars) => {
                for (name, at) in &vars {
                    let shown = if super::syntax::is_anonymous(name) { "_" } else { name };
                    let d =
                        Diagnostic::error("rule-unsafe-variable", self.at(s, *at..at + shown.len()), format!("nothing in the rule says what `{shown}` can be"));
                    self.found.push(d.help("use it in a condition that is neither negated nor a mere comparison"));
                }
                if vars.is_empty() {
                    self.found.push(Diagnostic::error("rule-unsafe-variable", s.origin.clone(), "nothing in the rule says what its values can be"));
                }
                None
            }
        }
    }
}

impl Rules {
    /// Reads rule files; every mistake of all files is reported.
    pub fn load(sources: &[Source], signature: &Signature) -> Result<Self, Vec<Diagnostic>> {
        let mut loader = Loader { sources: sources.iter().map(|s| (s.name.clone(), s.clone())).collect(), found: Vec::new() };
        let mut statements = Vec::new();
        for s in sources {
            let (read, found) = parse::parse(s);
            statements.extend(read);
            loader.found.extend(found);
        }
        substitute(&mut statements);
        let mut declared: BTreeSet<Predicate> =
            statements.iter().filter_map(|s| if let Kind::External(p, _) = &s.kind { Some(p.predicate()) } else { None }).collect();
        let mut moving = declared.clone();
        moving.extend(signature.turn.iter().cloned());
        moving.extend(signature.stored.iter().filter(|(_, s)| **s == Scope::Session).map(|(p, _)| p.clone()));
        declared.extend(signature.turn.iter().cloned().chain(signature.stored.keys().cloned()));
        declared.extend(statements.iter().filter_map(|s| if let Kind::Defined(p) = &s.kind { Some(p.clone()) } else { None }));
        loader.undefined(&statements, declared);

        let mut unplanned = BTreeMap::new();
        let mut trial = Program::default();
        for (n, s) in statements.iter().enumerate() {
            for (head, body) in plain_rules(s) {
                if let Err(why) = trial.add(n, head.as_ref(), body, &BTreeSet::new())
                    && let Some(what) = loader.no_plan(s, why)
                {
                    unplanned.insert(n, what);
                }
            }
        }
        let (errors, mut warnings): (Vec<_>, Vec<_>) = loader.found.into_iter().partition(|d| d.severity == Severity::Error);
        if !errors.is_empty() {
            return Err(errors.into_iter().chain(warnings).collect());
        }
        let analysis = analyse(&statements, &moving, &unplanned);
        let (program, left) = compile(&statements, &analysis);
        let reflected = super::analyse::Wanted::of(&analysis);
        unreached(&statements, &analysis, &mut warnings);

        let mut shown = Vec::new();
        let mut program = program;
        let shows = statements.iter().any(|s| matches!(s.kind, Kind::Show(_) | Kind::ShowNothing));
        if shows {
            for s in &statements {
                if let Kind::Show(p) = &s.kind {
                    shown.push((program.layouts.relation(p), p.clone()));
                }
            }
        } else {
            shown = analysis.predicates.iter().map(|p| (program.layouts.relation(p), p.clone())).collect();
        }
        for p in moving.iter().chain(signature.stored.keys()).chain(&analysis.predicates) {
            program.layouts.relation(p);
        }
        shown.sort_by(|a, b| a.1.cmp(&b.1));
        shown.dedup();
        let checker = if left.is_empty() {
            Checker::read(sources, &moving, &mut program.layouts, &mut program.terms)
        } else {
            Err("some rules are decided by clingo alone".into())
        };
        program.finish();
        let mut by_head: BTreeMap<RelId, Vec<u32>> = BTreeMap::new();
        for (n, r) in program.rules.iter().enumerate() {
            by_head.entry(r.head.0).or_default().push(u32::try_from(n).unwrap_or(u32::MAX));
        }
        let queries = queries(&mut program, &by_head);
        let texts = statements.iter().map(for_clingo).collect();
        let supplies = supplies(&program.rules, &program.moving);
        let sketches = sketches(&program.rules, &program.moving, &program.layouts, &mut program.terms);
        let terms = Arc::new(std::mem::take(&mut program.terms));
        Ok(Self {
            statements,
            signature: signature.clone(),
            analysis,
            program,
            terms,
            shown,
            by_head,
            queries,
            left,
            moving,
            texts,
            checker,
            sources: sources.to_vec(),
            supplies,
            sketches,
            pool: Mutex::new(Vec::new()),
            reflected,
            warnings,
        })
    }

    /// What is probably not meant, but no error.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// What depends on what.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The statements, in the order of the files.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The rules that clingo alone decides, with the reason.
    pub fn left_to_clingo(&self) -> Vec<(&Statement, &'static str)> {
        let why = |n: &usize| self.analysis.left.get(n).copied().unwrap_or("optimisation");
        self.left.iter().filter_map(|n| self.statements.get(*n).map(|s| (s, why(n)))).collect()
    }

    /// Lets clingo and the checker read another text of a statement than the author's: for reproducers, and for tests in which the
    /// engines must differ.
    pub fn let_clingo_read(&mut self, statement: usize, text: &str) {
        let (Some(t), Some(s)) = (self.texts.get_mut(statement), self.statements.get(statement)) else { return };
        *t = text.into();
        // On one line where it can be, so that lines below stay where they are.
        for source in self.sources.iter_mut().filter(|f| f.name == s.origin.file) {
            let mut whole = source.text.to_string();
            if let Some(at) = whole.find(&*s.text) {
                whole.replace_range(at..at + s.text.len(), text);
            }
            *source = Source::new(&source.name, &whole);
        }
        let mut layouts = self.program.layouts.clone();
        let terms = Arc::make_mut(&mut self.terms);
        self.checker = Checker::read(&self.sources, &self.moving, &mut layouts, terms);
    }

    /// Why decisions by these rules are confirmed by clingo alone, if they are.
    pub fn not_checked(&self) -> Option<&str> {
        self.checker.as_ref().err().map(String::as_str)
    }

    /// Who owns a predicate's facts; `None` for what is derived or unknown.
    pub fn scope(&self, name: &Name, arity: usize) -> Option<Scope> {
        self.signature.stored.get(&(name.clone(), arity)).copied()
    }
}

impl Loader {
    fn undefined(&mut self, statements: &[Statement], mut known: BTreeSet<Predicate>) {
        for s in statements {
            if let Kind::Rule { head, .. } = &s.kind {
                known.extend(heads(head));
            }
        }
        let mut reported = BTreeSet::new();
        for s in statements {
            let body = match &s.kind {
                Kind::Rule { body, .. } | Kind::Optimise(body) | Kind::External(_, body) => body,
                Kind::Show(p) if !known.contains(p) => {
                    self.found.push(Diagnostic::warning("rule-shown-unknown", s.origin.clone(), format!("`{}/{}` is shown but nothing derives it", p.0, p.1)));
                    continue;
                }
                _ => continue,
            };
            for (l, _) in body.iter().flat_map(Item::literals) {
                let Literal::Atom { atom, .. } = l else { continue };
                let p = atom.predicate();
                if known.contains(&p) || !reported.insert(p.clone()) {
                    continue;
                }
                let mut d =
                    Diagnostic::error("rule-unknown-predicate", self.at(s, atom.span.clone()), format!("nothing derives or declares `{}/{}`", p.0, p.1));
                let arities: Vec<String> = known.iter().filter(|k| k.0 == p.0).map(|k| format!("`{}/{}`", k.0, k.1)).collect();
                d.help = if arities.is_empty() {
                    did_you_mean(&p.0, known.iter().map(|k| &*k.0)).map(|n| format!("did you mean `{n}`?"))
                } else {
                    Some(format!("there is {} with another number of arguments", arities.join(", ")))
                };
                self.found.push(d);
            }
        }
    }
}

fn substitute(statements: &mut [Statement]) {
    let consts: BTreeMap<Name, Expr> =
        statements.iter().filter_map(|s| if let Kind::Const(n, e) = &s.kind { Some((n.clone(), e.clone())) } else { None }).collect();
    if consts.is_empty() {
        return;
    }
    for s in statements {
        if let Kind::Rule { head, body } = &mut s.kind {
            match head {
                Head::Atom(p) => p.args.iter_mut().for_each(|a| normal::substitute(a, &consts)),
                Head::Disjunction(es) | Head::Choice(es) => normal::substitute_head(es, &consts),
                Head::None => {}
            }
            normal::substitute_items(body, &consts);
        }
    }
}

fn plain_rules(s: &Statement) -> Vec<normal::Plain> {
    match &s.kind {
        Kind::Rule { head: Head::None, body } => normal::expand(None, body),
        Kind::Rule { head: Head::Atom(h), body } => normal::expand(Some(h), body),
        _ => Vec::new(),
    }
}

fn compile(statements: &[Statement], analysis: &Analysis) -> (Program, Vec<usize>) {
    let mut program = Program::default();
    let left = statements.iter().enumerate().filter(|(n, s)| analysis.left.contains_key(n) || matches!(s.kind, Kind::Optimise(_))).map(|(n, _)| n).collect();
    for group in &analysis.groups {
        let members: Vec<&Statement> = group.statements.iter().filter_map(|n| statements.get(*n)).collect();
        let derived: BTreeSet<Predicate> = members.iter().flat_map(|s| if let Kind::Rule { head, .. } = &s.kind { heads(head) } else { Vec::new() }).collect();
        let inside = if group.recursive { derived } else { BTreeSet::new() };
        let mut stratum = Stratum { recursive: group.recursive, ..Stratum::default() };
        let fixed = group.statements.iter().all(|n| analysis.fixed.contains(n));
        for (n, s) in group.statements.iter().zip(members) {
            if analysis.left.contains_key(n) || !fixed && !analysis.reached.contains(n) {
                continue;
            }
            for (head, body) in plain_rules(s) {
                if let Ok(id) = program.add(*n, head.as_ref(), body, &inside) {
                    stratum.rules.push(id);
                }
            }
        }
        if !stratum.rules.is_empty() {
            if fixed { program.fixed.push(stratum) } else { program.moving.push(stratum) }
        }
    }
    (program, left)
}

fn unreached(statements: &[Statement], analysis: &Analysis, warnings: &mut Vec<Diagnostic>) {
    for (n, s) in statements.iter().enumerate() {
        if let Kind::Rule { head: Head::Atom(h), body } = &s.kind
            && !analysis.reached.contains(&n)
            && !analysis.fixed.contains(&n)
            && !body.is_empty()
        {
            let d = Diagnostic::warning(
                "rule-never-used",
                s.origin.clone(),
                format!("nothing that is shown depends on this rule for `{}/{}`", h.name, h.args.len()),
            );
            warnings.push(d.help("show the predicate, use it in a rule that leads to something shown, or remove the rule"));
        }
    }
}

/// Plans for the questions that proofs ask: a rule's head with all columns known, and as each negated literal knows them.
fn queries(program: &mut Program, by_head: &BTreeMap<RelId, Vec<u32>>) -> BTreeMap<(u32, u32), Query> {
    let mut asked: BTreeSet<(RelId, u32)> = by_head.keys().filter_map(|r| program.arities.get(*r as usize).map(|a| (*r, mask(*a)))).collect();
    for r in &program.rules {
        for (l, _) in r.body.iter().flat_map(Item::literals) {
            if let Literal::Atom { atom, .. } = l
                && let Some(id) = program.layouts.ids.get(&atom.predicate())
            {
                let known = |e: &Expr| e.vars().iter().all(|v| !super::syntax::is_anonymous(v));
                asked.insert((*id, atom.args.iter().enumerate().filter(|(_, e)| known(e)).fold(0, |m, (n, _)| m | (1 << n.min(31)))));
            }
        }
    }
    let mut out = BTreeMap::new();
    for (relation, mask) in asked {
        for rule in by_head.get(&relation).into_iter().flatten() {
            if let Some(q) = program.query(*rule, mask) {
                out.insert((*rule, mask), q);
            }
        }
    }
    out
}

fn mask(arity: usize) -> u32 {
    (0..arity).fold(0, |m, n| m | (1 << n.min(31)))
}
