//! Mistakes of meaning in rule files: what is asked for that nobody says, stored that nobody declares, or never matches.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Declared, argument_spans, closed_names, expected};
use super::forms::{Verdict, judge};
use super::values::{Env, Shape, Values, at_word, heads_of, matches, shapes};
use crate::diag::{Diagnostic, Origin, Source, did_you_mean};
use crate::ontology::{Arg, Ontology, Scope};
use crate::reason::analyse::{Analysis, heads, mentions};
use crate::reason::syntax::{AtomPattern, Expr, Head, Item, Kind, Literal, Predicate, Sign, Statement};
use crate::term::{Name, Term};

/// Rules every domain shares: they speak of inputs that a domain may lack.
pub const SHARED: &str = "rules/core/";

/// One role's program with all it is judged by.
pub struct Program<'a> {
    /// Whose it is.
    pub role: &'a str,
    /// The vocabulary.
    pub ontology: &'a Ontology,
    /// Names that the facts declare.
    pub declared: &'a Declared,
    /// The files.
    pub sources: &'a BTreeMap<Name, Source>,
    /// All statements.
    pub statements: &'a [Statement],
    /// The values that can occur.
    pub values: &'a Values,
}

impl Program<'_> {
    /// Mistakes that hold whatever other roles do.
    pub fn hard(&self, found: &mut Vec<Diagnostic>) {
        for s in self.statements {
            let Kind::Rule { head, body } = &s.kind else { continue };
            for atom in literals(head, body).into_iter().filter_map(|(l, _)| atom_of(l)) {
                self.input(s, atom, found);
                self.called(s, atom, found);
                self.sorts(s, atom, found);
            }
            let Some(env) = self.values.env(body) else { continue };
            for (atom, _) in heads_of(head) {
                match (&*atom.name, atom.args.as_slice()) {
                    ("act", [_, _, action]) => self.action(s, atom, action, &env, found),
                    ("effect", [op, scope, fact]) => self.effect(s, atom, [op, scope, fact], &env, found),
                    ("do", [_, _]) | ("with", [_, _, _]) => self.call(s, atom, body, found),
                    _ => self.sorts(s, atom, found),
                }
            }
        }
    }

    /// What may be meant for another role: reported only if every role that reads the file has it.
    pub fn soft(&self, found: &mut Vec<Diagnostic>) {
        self.idle_optimisation(found);
        let open: BTreeSet<&Predicate> = self.statements.iter().filter_map(|s| if let Kind::Defined(p) = &s.kind { Some(p) } else { None }).collect();
        for s in self.statements {
            let Kind::Rule { head, body } = &s.kind else { continue };
            if s.origin.file.starts_with(SHARED) {
                continue;
            }
            if self.never_matches(s, head, body, &open, found) {
                continue;
            }
            if self.values.env(body).is_none() {
                self.never_meets(s, body, found);
            }
        }
        self.unused_values(found);
    }

    /// Only a choice leaves several models to choose the best of.
    fn idle_optimisation(&self, found: &mut Vec<Diagnostic>) {
        let chooses = |s: &Statement| matches!(&s.kind, Kind::Rule { head: Head::Choice(_) | Head::Disjunction(_), .. });
        if self.statements.iter().any(chooses) {
            return;
        }
        for s in self.statements.iter().filter(|s| matches!(s.kind, Kind::Optimise(_))) {
            let d = Diagnostic::warning("rule-idle-optimisation", s.origin.clone(), "nothing is left to choose here, so this changes nothing");
            found.push(d.help("derive the smallest by `#min` in a rule, or remove it"));
        }
    }

    fn at(&self, s: &Statement, span: std::ops::Range<usize>) -> Origin {
        self.sources.get(&s.origin.file).map_or_else(|| s.origin.clone(), |src| src.origin(span))
    }

    pub(super) fn arg_at(&self, s: &Statement, atom: &AtomPattern, i: usize) -> Origin {
        let spans = self.sources.get(&s.origin.file).map(|src| argument_spans(&src.text, atom.span.clone())).unwrap_or_default();
        spans.get(i).map_or_else(|| self.at(s, atom.span.clone()), |span| self.at(s, span.clone()))
    }

    /// `in(K, input)`: the input must be one that somebody may say.
    fn input(&self, s: &Statement, atom: &AtomPattern, found: &mut Vec<Diagnostic>) {
        if (&*atom.name, atom.args.len()) != ("in", 2) || s.origin.file.starts_with(SHARED) {
            return;
        }
        let (name, args): (&Name, &[Expr]) = match atom.args.get(1) {
            Some(Expr::Fun(n, args)) => (n, args),
            Some(Expr::Const(n)) => (n, &[]),
            _ => return,
        };
        // What a call gave is an input of the engine's own.
        if (&**name, args.len()) == ("returned", 3) {
            return;
        }
        let forms = || self.ontology.inputs.iter().map(|f| (&f.name, f.args.as_slice()));
        let verdict = judge(self.ontology, name, args, forms());
        if let Some(d) = wrong_form("rule-unknown-input", "input", name, args.len(), &verdict, forms(), self.arg_at(s, atom, 1)) {
            found.push(d);
        }
    }

    /// Constants and names in the arguments of declared facts must be of the declared sort.
    fn sorts(&self, s: &Statement, atom: &AtomPattern, found: &mut Vec<Diagnostic>) {
        let Some(decl) = self.ontology.fact(&atom.name, atom.args.len()) else { return };
        for (i, (e, arg)) in atom.args.iter().zip(&decl.args).enumerate() {
            let Some(term) = e.ground() else { continue };
            let place = format!("argument {} of `{}`", i + 1, decl.name);
            if !self.ontology.fits(&term, arg) {
                let d = Diagnostic::error("rule-wrong-sort", self.arg_at(s, atom, i), format!("`{term}` is no {arg}, as {place} must be"));
                found.push(d.help(expected(arg, &term, self.ontology)));
            } else if let (Arg::Sort(sort), Term::Str(name), Scope::Kb | Scope::Shared) = (arg, &term, decl.scope)
                && let Some(facts) = closed_names(self.ontology, sort, 0)
                && !facts.iter().filter_map(|f| self.declared.get(f)).flatten().any(|n| n == name)
            {
                let near = did_you_mean(name, facts.iter().filter_map(|f| self.declared.get(f)).flatten().map(|n| &**n));
                let d = Diagnostic::warning("rule-unknown-name", self.arg_at(s, atom, i), format!("no fact declares the name {term}"));
                found.push(d.help(near.map_or_else(|| "correct the name or add the fact that declares it".to_owned(), |n| format!("did you mean \"{n}\"?"))));
            }
        }
    }

    fn action(&self, s: &Statement, atom: &AtomPattern, action: &Expr, env: &Env, found: &mut Vec<Diagnostic>) {
        for shape in shapes(action, env, 0).into_iter().flatten() {
            let Some((name, args)) = shape.head() else { continue };
            let forms = || self.ontology.actions.iter().map(|f| (&f.name, f.args.as_slice()));
            let verdict = judge(self.ontology, name, args, forms());
            if let Some(d) = wrong_form("rule-unknown-action", "action", name, args.len(), &verdict, forms(), self.shape_at(s, atom, &shape)) {
                found.push(d);
            }
        }
    }

    fn effect(&self, s: &Statement, atom: &AtomPattern, parts: [&Expr; 3], env: &Env, found: &mut Vec<Diagnostic>) {
        for (i, (e, words)) in parts.into_iter().zip([["add", "del", "end"], ["kb", "shared", "session"]]).enumerate() {
            let Expr::Const(word) = e else { continue };
            if !words.contains(&&**word) {
                let d = Diagnostic::error("rule-unknown-effect", self.arg_at(s, atom, i), format!("`{word}` is no effect"));
                let near = did_you_mean(word, words);
                found.push(d.help(near.map_or_else(|| format!("one of: {}", words.join(", ")), |n| format!("did you mean `{n}`?"))));
                return;
            }
        }
        let [Expr::Const(op), Expr::Const(scope), fact] = parts else { return };
        let Some(scope) = scope.parse::<Scope>().ok().filter(|_| &**op != "end") else { return };
        let forms = || self.ontology.facts.iter().filter(|f| f.scope == scope).map(|f| (&f.name, f.args.as_slice()));
        for shape in shapes(fact, env, 0).into_iter().flatten() {
            let Some((name, args)) = shape.head().filter(|(name, args)| !Ontology::is_call_fact(scope, name, args.len())) else { continue };
            let verdict = judge(self.ontology, name, args, forms());
            let kind = format!("{scope} fact");
            let elsewhere = self.ontology.fact(name, args.len()).map(|f| f.scope);
            if let Some(mut d) = wrong_form("rule-unknown-fact", &kind, name, args.len(), &verdict, forms(), self.shape_at(s, atom, &shape)) {
                if let Some(other) = elsewhere.filter(|_| verdict == Verdict::UnknownName) {
                    d = d.help(format!("`{name}` is declared as a {other} fact"));
                }
                found.push(d);
            } else if elsewhere == Some(scope) && !self.ontology.may_change(self.role, scope, name, args.len()) {
                let message = format!("a {} has no right to change the {scope} fact `{name}/{}`", self.role, args.len());
                let d = Diagnostic::error("rule-effect-without-right", self.shape_at(s, atom, &shape), message);
                found.push(d.help(format!("add `{scope}.{name}` to the role's `may_change`, or remove the effect")));
            }
        }
    }

    /// Where a shape was written: in this head, or where its functor came from.
    fn shape_at(&self, s: &Statement, atom: &AtomPattern, shape: &Shape) -> Origin {
        let Some((name, _)) = shape.head() else { return self.at(s, atom.span.clone()) };
        let from = atom.span.start.saturating_sub(s.origin.start);
        let inside = s.text.get(from..atom.span.end.saturating_sub(s.origin.start)).unwrap_or("");
        let here = at_word(s, atom.span.start, inside, name);
        if here == s.origin { self.values.written(name).cloned().unwrap_or(here) } else { here }
    }

    /// Literals that ask for a constant that never occurs there.
    fn never_matches(&self, s: &Statement, head: &Head, body: &[Item], open: &BTreeSet<&Predicate>, found: &mut Vec<Diagnostic>) -> bool {
        let before = found.len();
        for atom in literals(head, body).into_iter().filter_map(|(l, _)| atom_of(l)) {
            // `#defined` says that nothing may hold.
            if &*atom.name == "in" || open.contains(&atom.predicate()) {
                continue;
            }
            // What the ontology says of durable facts is checked against their sorts.
            let fixed = self.ontology.fact(&atom.name, atom.args.len()).is_some_and(|f| f.scope != Scope::Session);
            let Some(sets) = self.values.get(&atom.predicate()).filter(|_| !fixed) else { continue };
            for (i, (e, set)) in atom.args.iter().zip(sets).enumerate() {
                let Some(set) = set.as_ref().filter(|s| !s.is_empty()) else { continue };
                // A declared fact that is not among them yet is no mistake: rules list facts one by one.
                if matches!(e, Expr::Fun(n, args) if self.ontology.fact(n, args.len()).is_some()) {
                    continue;
                }
                if !set.iter().any(|shape| matches(e, shape, &mut BTreeMap::new())) {
                    let known: BTreeSet<&Name> = set.iter().filter_map(Shape::head).map(|(n, _)| n).collect();
                    let word = match e {
                        Expr::Const(n) | Expr::Fun(n, _) => Some(n),
                        _ => None,
                    };
                    let p = atom.predicate();
                    let message =
                        format!("`{}` never holds: argument {} of `{}/{}` is never `{}`", self.text(s, atom), i + 1, p.0, p.1, self.arg_text(s, atom, i));
                    let d = Diagnostic::warning("rule-never-matches", self.arg_at(s, atom, i), message);
                    let near = word.and_then(|w| did_you_mean(w, known.iter().map(|n| &***n)));
                    found.push(match near {
                        Some(n) => d.help(format!("did you mean `{n}`?")),
                        None if known.is_empty() => d.help("it holds numbers or strings only"),
                        None => d.help(format!("it can be: {}", known.into_iter().map(|n| &**n).collect::<Vec<_>>().join(", "))),
                    });
                }
            }
        }
        found.len() > before
    }

    /// A variable whose places have no value in common.
    fn never_meets(&self, s: &Statement, body: &[Item], found: &mut Vec<Diagnostic>) {
        let plain: Vec<&AtomPattern> = body
            .iter()
            .filter_map(|i| match i {
                Item::Literal(Literal::Atom { sign: Sign::Plain, atom }) => Some(atom),
                _ => None,
            })
            .collect();
        // A predicate that holds nothing at all is the fault of its own rules.
        let empty = |a: &&AtomPattern| self.values.get(&a.predicate()).is_none_or(|sets| sets.iter().any(|s| s.as_ref().is_some_and(BTreeSet::is_empty)));
        if plain.iter().any(|a| empty(a) || &*a.name == "in") {
            return;
        }
        for n in 2..=plain.len() {
            let items: Vec<Item> = plain.iter().take(n).map(|a| Item::Literal(Literal::Atom { sign: Sign::Plain, atom: (*a).clone() })).collect();
            if self.values.env(&items).is_none()
                && let Some(atom) = plain.get(n - 1)
            {
                let message = format!("this rule never applies: `{}` and what stands before it have no value in common", self.text(s, atom));
                let d = Diagnostic::warning("rule-never-applies", self.at(s, atom.span.clone()), message);
                found.push(d.help("compare the constants that the two predicates are given"));
                return;
            }
        }
    }

    /// Constants of data facts that no rule can ever look up.
    fn unused_values(&self, found: &mut Vec<Diagnostic>) {
        let mut uses: BTreeMap<Predicate, Vec<(&AtomPattern, Option<Env>)>> = BTreeMap::new();
        for s in self.statements {
            let Kind::Rule { head, body } = &s.kind else { continue };
            let env = self.values.env(body);
            for (l, top) in literals(head, body) {
                let Some(atom) = atom_of(l) else { continue };
                uses.entry(atom.predicate()).or_default().push((atom, if top { env.clone() } else { Some(Env::new()) }));
            }
        }
        for s in self.statements {
            let Kind::Rule { head: Head::Atom(fact), body } = &s.kind else { continue };
            let Some(users) = uses.get(&fact.predicate()).filter(|_| body.is_empty()) else { continue };
            for (i, e) in fact.args.iter().enumerate() {
                let Expr::Const(value) = e else { continue };
                let shape = Shape::Const(value.clone());
                let reached = |(atom, env): &(&AtomPattern, Option<Env>)| match (atom.args.get(i), env) {
                    (Some(Expr::Var(v, _)), Some(env)) => env.get(v).is_none_or(|set| set.as_ref().is_none_or(|s| s.contains(&shape))),
                    (Some(e), Some(_)) => matches(e, &shape, &mut BTreeMap::new()),
                    _ => false,
                };
                if users.iter().all(|(_, env)| env.is_none()) || users.iter().any(reached) {
                    continue;
                }
                let others: BTreeSet<Name> = users
                    .iter()
                    .filter_map(|(atom, env)| match atom.args.get(i) {
                        Some(Expr::Var(v, _)) => env.as_ref()?.get(v)?.clone(),
                        _ => None,
                    })
                    .flatten()
                    .chain(self.wanted_by_partners(&fact.predicate(), i))
                    .filter_map(|s| if let Shape::Const(n) = s { Some(n) } else { None })
                    .collect();
                let message = format!("no rule ever looks up `{value}` as argument {} of `{}`", i + 1, fact.name);
                let d = Diagnostic::warning("rule-unused-value", self.arg_at(s, fact, i), message);
                found.push(match did_you_mean(value, others.iter().map(|n| &**n)) {
                    Some(near) => d.help(format!("did you mean `{near}`?")),
                    None => d.help(format!("the rules look up: {}", others.iter().map(|n| &**n).collect::<Vec<_>>().join(", "))),
                });
                break;
            }
        }
    }

    /// The values that the other literals of a rule give a variable that stands at this argument.
    fn wanted_by_partners(&self, p: &Predicate, i: usize) -> BTreeSet<Shape> {
        let mut out = BTreeSet::new();
        for s in self.statements {
            let Kind::Rule { body, .. } = &s.kind else { continue };
            let here = body.iter().find_map(|item| match item {
                Item::Literal(Literal::Atom { sign: Sign::Plain, atom }) if atom.predicate() == *p => match atom.args.get(i) {
                    Some(Expr::Var(v, _)) => Some(v.clone()),
                    _ => None,
                },
                _ => None,
            });
            let Some(v) = here else { continue };
            let others: Vec<Item> =
                body.iter().filter(|item| !matches!(item, Item::Literal(Literal::Atom { atom, .. }) if atom.predicate() == *p)).cloned().collect();
            out.extend(self.values.env(&others).and_then(|env| env.get(&v).cloned().flatten()).into_iter().flatten());
        }
        out
    }

    fn text(&self, s: &Statement, atom: &AtomPattern) -> String {
        self.sources.get(&s.origin.file).and_then(|src| src.text.get(atom.span.clone())).map_or_else(|| atom.name.to_string(), str::to_owned)
    }

    fn arg_text(&self, s: &Statement, atom: &AtomPattern, i: usize) -> String {
        let at = self.arg_at(s, atom, i);
        self.sources.get(&s.origin.file).and_then(|src| src.text.get(at.start..at.end)).unwrap_or_default().to_owned()
    }

    /// Rules that leave a choice: the same facts would give several decisions, or none.
    pub fn ambiguous(&self, analysis: &Analysis, found: &mut Vec<Diagnostic>) {
        for (n, s) in self.statements.iter().enumerate() {
            let Kind::Rule { head, body } = &s.kind else { continue };
            match head {
                Head::Choice(_) => found.push(
                    Diagnostic::error("rule-two-models", s.origin.clone(), "the rules admit two models: this rule leaves a choice")
                        .help("derive the atom from conditions, so that the same facts give one decision"),
                ),
                Head::Disjunction(_) => found.push(
                    Diagnostic::error("rule-two-models", s.origin.clone(), "the rules admit two models: this rule derives one of several atoms")
                        .help("split it into rules whose conditions exclude each other"),
                ),
                _ => {}
            }
            for h in heads(head) {
                let Some(group) = analysis.groups.iter().find(|g| g.recursive && g.statements.contains(&n)) else { continue };
                let derived: BTreeSet<Predicate> = group.statements.iter().filter_map(|n| self.statements.get(*n)).flat_map(derives).collect();
                for (p, plain) in mentions(head, body) {
                    if plain || !derived.contains(&p) {
                        continue;
                    }
                    let at = literals(head, body).into_iter().filter_map(|(l, _)| atom_of(l)).find(|a| a.predicate() == p).map(|a| self.at(s, a.span.clone()));
                    let at = at.unwrap_or_else(|| s.origin.clone());
                    let (name, other) = (format!("{}/{}", h.0, h.1), format!("{}/{}", p.0, p.1));
                    let d = if h == p && derived.len() == 1 {
                        Diagnostic::error("rule-no-model", at, format!("the rules may admit no model: `{name}` depends on its own absence"))
                    } else {
                        Diagnostic::error("rule-two-models", at, format!("the rules admit two models: `{name}` and `{other}` depend on each other's absence"))
                    };
                    found.push(d.help("break the circle: decide one of them from facts alone"));
                }
            }
        }
    }

    /// The shapes of actions and stored facts that the program can bring about.
    pub fn outputs(&self) -> (BTreeSet<Shape>, BTreeSet<Predicate>) {
        let (mut actions, mut used) = (BTreeSet::new(), BTreeSet::new());
        for s in self.statements {
            let Kind::Rule { head, body } = &s.kind else { continue };
            used.extend(mentions(head, body).into_iter().map(|(p, _)| p));
            // A fact may be spoken about as a thing: `stored(line,line(P,I))`.
            let spoken = literals(head, body).into_iter().filter_map(|(l, _)| atom_of(l)).chain(heads_of(head).into_iter().map(|(a, _)| a));
            spoken.flat_map(|a| &a.args).for_each(|e| functions(e, &mut used));
            let Some(env) = self.values.env(body) else { continue };
            for (atom, _) in heads_of(head) {
                match (&*atom.name, atom.args.as_slice()) {
                    // Too many values to follow: then it may be any action, and none is called unsaid.
                    ("act", [_, _, a]) => actions.extend(shapes(a, &env, 0).unwrap_or_else(|| [Shape::Any].into())),
                    ("effect", [_, _, f]) => used.extend(shapes(f, &env, 0).into_iter().flatten().filter_map(|f| f.head().map(|(n, a)| (n.clone(), a.len())))),
                    _ => {}
                }
            }
        }
        (actions, used)
    }

    /// The inputs that some rule looks at by name.
    pub fn read_inputs(&self) -> Vec<(Name, Vec<Expr>)> {
        let mut out = vec![];
        for s in self.statements {
            let Kind::Rule { head, body } = &s.kind else { continue };
            for atom in literals(head, body).into_iter().filter_map(|(l, _)| atom_of(l)).filter(|a| &*a.name == "in") {
                match atom.args.get(1) {
                    Some(Expr::Fun(n, args)) => out.push((n.clone(), args.clone())),
                    Some(Expr::Const(n)) => out.push((n.clone(), vec![])),
                    _ => {}
                }
            }
        }
        out
    }
}

/// The function terms in an expression, as predicates.
fn functions(e: &Expr, out: &mut BTreeSet<Predicate>) {
    if let Expr::Fun(name, args) = e {
        out.insert((name.clone(), args.len()));
        args.iter().for_each(|a| functions(a, out));
    }
}

fn atom_of(l: &Literal) -> Option<&AtomPattern> {
    if let Literal::Atom { atom, .. } = l { Some(atom) } else { None }
}

/// All literals of a rule but the heads, with whether they stand in the body itself.
fn literals<'a>(head: &'a Head, body: &'a [Item]) -> Vec<(&'a Literal, bool)> {
    let mut out: Vec<(&Literal, bool)> = body.iter().flat_map(Item::literals).collect();
    if let Head::Disjunction(es) | Head::Choice(es) = head {
        out.extend(es.iter().flat_map(|e| &e.condition).map(|l| (l, false)));
    }
    out
}

/// A number of arguments in words.
pub fn counted(arguments: usize) -> String {
    match arguments {
        0 => "no argument".to_owned(),
        1 => "one argument".to_owned(),
        n => format!("{n} arguments"),
    }
}

fn wrong_form<'a>(
    code: &'static str,
    kind: &str,
    name: &str,
    arity: usize,
    verdict: &Verdict,
    forms: impl Iterator<Item = (&'a Name, &'a [Arg])>,
    at: Origin,
) -> Option<Diagnostic> {
    let forms: Vec<_> = forms.collect();
    let same = || {
        let shown =
            |args: &[Arg]| if args.is_empty() { String::new() } else { format!("({})", args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")) };
        let all: Vec<String> = forms.iter().filter(|(n, _)| ***n == *name).map(|(n, args)| format!("`{n}{}`", shown(args))).collect();
        format!("the ontology has {}", all.join(", "))
    };
    Some(match verdict {
        Verdict::Fits => return None,
        Verdict::UnknownName => {
            let near = did_you_mean(name, forms.iter().map(|(n, _)| &***n));
            let d = Diagnostic::error(code, at, format!("the ontology declares no {kind} `{name}/{arity}`"));
            d.help(near.map_or_else(|| "declare it in the ontology".to_owned(), |n| format!("did you mean `{n}`?")))
        }
        Verdict::WrongArity => Diagnostic::error(code, at, format!("the {kind} `{name}` has {} here", counted(arity))).help(same()),
        Verdict::WrongArguments => Diagnostic::error(code, at, format!("these arguments fit no {kind} `{name}`")).help(same()),
    })
}

/// The predicates a statement derives.
fn derives(s: &Statement) -> Vec<Predicate> {
    match &s.kind {
        Kind::Rule { head, .. } => heads(head),
        _ => vec![],
    }
}
