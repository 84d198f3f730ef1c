//! The ontology: one file per domain declares sorts, facts, roles with their rights, inputs and actions.
//!
//! Everything that enters is checked against it (`admit`), every change of facts against the rights of its role
//! (`may_change`); prompts, schemas, lexicon and documentation are generated from the same data.

pub mod admit;
pub mod functions;
pub mod parse;
pub mod settings;
pub mod shape;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::diag::Origin;
use crate::term::{Atom, Name, Term};
use crate::text::{is_currency, is_shown};

pub use admit::{Admission, Arrived, Refused};
pub use functions::{CALL_FACTS, FunctionDecl, Parameter, StandIn};
pub use settings::{Setting, Settled};
pub use shape::Shape;

/// A domain's vocabulary.
#[derive(Clone, Debug)]
pub struct Ontology {
    /// The domain's name, a lower-case constant.
    pub domain: Name,
    /// What it is called in front of people.
    pub title: String,
    /// Kinds of arguments, by upper-case name.
    pub sorts: BTreeMap<Name, Sort>,
    /// Fact predicates that the store may hold.
    pub facts: Vec<FactDecl>,
    /// Who may speak.
    pub roles: BTreeMap<Name, Role>,
    /// What may be said, per role.
    pub inputs: Vec<InputForm>,
    /// What the engine may answer.
    pub actions: Vec<ActionForm>,
    /// How what the rules show of a conversation looks outside.
    pub view: Shape,
    /// What rules may call.
    pub functions: Vec<FunctionDecl>,
    /// What a site settles for itself; each is also a fact of the kb.
    pub settings: Vec<Setting>,
    /// The reasoning profile by whose sentence forms words are read, if it is a domain of controlled English.
    pub reads: Option<String>,
}

/// What an argument may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    /// One of a closed list of constants.
    Values(Vec<Name>),
    /// A name: a string that one of these facts has as its first argument. Unknown names are admitted as said
    /// (the rules refuse them with their reason); the list serves linking and constrained decoding.
    Names(Vec<Name>),
    /// A name that need not exist yet.
    NewName,
    /// A whole number with bounds.
    Int {
        /// Smallest value admitted.
        min: i32,
        /// Largest value admitted.
        max: i32,
        /// A larger number is read as the largest instead of being refused, so that the rules can refuse it with their reason.
        clamp: bool,
    },
    /// Any of several sorts.
    Union(Vec<Name>),
    /// Any term (the rules judge it).
    Any,
}

/// In which scope a fact lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Durable and versioned.
    Kb,
    /// Visible to every agent of the site at its next turn.
    Shared,
    /// One conversation.
    Session,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kb => "kb",
            Self::Shared => "shared",
            Self::Session => "session",
        })
    }
}

impl std::str::FromStr for Scope {
    type Err = ();
    fn from_str(s: &str) -> Result<Self, ()> {
        match s {
            "kb" => Ok(Self::Kb),
            "shared" => Ok(Self::Shared),
            "session" => Ok(Self::Session),
            _ => Err(()),
        }
    }
}

/// A fact predicate.
#[derive(Clone, Debug)]
pub struct FactDecl {
    /// Predicate name.
    pub name: Name,
    /// Sorts or constants of its arguments.
    pub args: Vec<Arg>,
    /// Where it lives.
    pub scope: Scope,
    /// English reading with `{1}`, `{2}`… for the arguments, used in explanations.
    pub says: Option<String>,
    /// Where it is declared.
    pub origin: Origin,
}

/// One of the parties of a conversation.
#[derive(Clone, Debug)]
pub struct Role {
    /// What people call it.
    pub title: String,
    /// Rule files of its agent, in reading order.
    pub rules: Vec<String>,
    /// Fact predicates its inputs may change, `*` for all of a scope.
    pub may_change: Vec<(Scope, Name)>,
    /// What the agent says when a conversation opens.
    pub greeting: String,
}

/// An argument pattern: a sort, a literal constant, or a function of patterns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arg {
    /// Any value of the sort.
    Sort(Name),
    /// Exactly this term.
    Literal(Term),
    /// A function term.
    Fun(Name, Vec<Arg>),
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sort(n) => f.write_str(n),
            Self::Literal(t) => write!(f, "{t}"),
            Self::Fun(n, args) => write!(f, "{n}({})", args.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

/// One form of an input predicate, such as `update(DISH, add, PART)`.
#[derive(Clone, Debug)]
pub struct InputForm {
    /// Predicate name.
    pub name: Name,
    /// Its argument patterns.
    pub args: Vec<Arg>,
    /// Roles that may say it.
    pub roles: Vec<Name>,
    /// What it means, one line.
    pub means: String,
    /// Example utterances.
    pub examples: Vec<Example>,
    /// Whether a mistake costs much: it is done only with evidence of its own in the words, else asked back.
    pub costly: bool,
    /// Where it is declared.
    pub origin: Origin,
}

/// An utterance with the predicates it means, in its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The engine's last actions, if they matter.
    pub after: Vec<Atom>,
    /// What is said.
    pub say: String,
    /// What it means.
    pub means: Vec<Atom>,
}

/// One form of an action predicate.
#[derive(Clone, Debug)]
pub struct ActionForm {
    /// Predicate name.
    pub name: Name,
    /// Its argument patterns.
    pub args: Vec<Arg>,
    /// What it means, one line.
    pub means: String,
    /// It is said beside the actions proper, of what a call gave.
    pub told: bool,
    /// It is no action of the rules: whenever such an atom stands in the proof of an action, it is said with it, as its reason.
    pub cited: bool,
    /// Where it is declared.
    pub origin: Origin,
}

impl fmt::Display for InputForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_form(f, &self.name, &self.args)
    }
}

impl fmt::Display for ActionForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_form(f, &self.name, &self.args)
    }
}

fn write_form(f: &mut fmt::Formatter<'_>, name: &str, args: &[Arg]) -> fmt::Result {
    f.write_str(name)?;
    if args.is_empty() {
        return Ok(());
    }
    write!(f, "({})", args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

impl Ontology {
    /// The input forms a role may say, in the file's order.
    pub fn inputs_of<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a InputForm> {
        self.inputs.iter().filter(move |f| f.roles.iter().any(|r| &**r == role))
    }

    /// Whether the role has a word that takes its last change back.
    pub fn takes_back(&self, role: &str) -> bool {
        self.inputs_of(role).any(|f| &*f.name == "undo" && f.args.is_empty())
    }

    /// Whether a mistake about the predicate costs much.
    pub fn is_costly(&self, role: &str, atom: &Atom) -> bool {
        let fits = |f: &InputForm| f.name == atom.name && f.args.len() == atom.args.len() && atom.args.iter().zip(&f.args).all(|(t, a)| self.fits(t, a));
        self.inputs_of(role).find(|f| fits(f)).is_some_and(|f| f.costly)
    }

    /// Whether the domain can ask if an act was meant.
    pub fn asks_back(&self) -> bool {
        self.actions.iter().any(|a| &*a.name == "sure" && a.args.len() == 1)
    }

    /// Shared fact predicates whose first argument is a name that people say.
    pub fn shared_names(&self) -> Vec<Name> {
        let named = self.sorts.values().filter_map(|s| if let Sort::Names(facts) = s { Some(facts) } else { None });
        named.flatten().filter(|n| self.facts.iter().any(|f| f.name == **n && f.scope == Scope::Shared)).cloned().collect()
    }

    /// Whether a turn may change what turns of other conversations are decided on.
    pub fn shares(&self) -> bool {
        self.roles.values().any(|r| r.may_change.iter().any(|(s, _)| *s != Scope::Session))
    }

    /// The declaration of a fact predicate.
    pub fn fact(&self, name: &str, arity: usize) -> Option<&FactDecl> {
        self.facts.iter().find(|f| &*f.name == name && f.args.len() == arity)
    }

    /// Whether a turn of `role` may change this fact in this scope. Session facts are the role's own conversation.
    pub fn may_change(&self, role: &str, scope: Scope, predicate: &str, arity: usize) -> bool {
        let declared = self.fact(predicate, arity).is_some_and(|f| f.scope == scope) || Self::is_call_fact(scope, predicate, arity);
        let allowed = |r: &Role| scope == Scope::Session || r.may_change.iter().any(|(s, n)| *s == scope && (&**n == "*" || &**n == predicate));
        declared && self.roles.get(role).is_some_and(allowed)
    }

    /// Whether a role may change anything of the kb.
    pub fn may_change_kb(&self, role: &str) -> bool {
        self.roles.get(role).is_some_and(|r| r.may_change.iter().any(|(scope, _)| *scope == Scope::Kb))
    }

    /// Whether anybody may speak in a role: it changes nothing for others.
    pub fn is_for_anybody(&self, role: &str) -> bool {
        self.roles.get(role).is_some_and(|r| r.may_change.iter().all(|(scope, _)| *scope == Scope::Session))
    }

    /// Whether `term` is of the sort.
    pub fn is_of(&self, term: &Term, sort: &str) -> bool {
        match (self.sorts.get(sort), term) {
            (Some(Sort::Values(list)), Term::Const(c)) => list.contains(c),
            (Some(Sort::Names(_)), Term::Str(s)) => !s.is_empty() && s.chars().count() <= MAX_NAME && is_shown(s),
            // A price is no part of a name.
            (Some(Sort::NewName), Term::Str(s)) => !s.trim().is_empty() && s.chars().count() <= MAX_NAME && is_shown(s) && !s.contains(is_currency),
            (Some(Sort::Int { min, max, clamp }), Term::Int(n)) => n >= min && (n <= max || *clamp),
            (Some(Sort::Union(parts)), t) => parts.iter().any(|p| self.is_of(t, p)),
            (Some(Sort::Any), _) => true,
            _ => false,
        }
    }

    /// Whether `term` fits the pattern.
    pub fn fits(&self, term: &Term, arg: &Arg) -> bool {
        match (arg, term) {
            (Arg::Sort(s), t) => self.is_of(t, s),
            (Arg::Literal(l), t) => l == t,
            (Arg::Fun(n, ps), Term::Fun(m, ts)) => n == m && ps.len() == ts.len() && ps.iter().zip(ts).all(|(p, t)| self.fits(t, p)),
            _ => false,
        }
    }
}

/// The longest name that is admitted, in characters.
pub const MAX_NAME: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;

    fn drive_thru() -> Ontology {
        let text = include_str!("../kb/drive_thru/ontology.yaml");
        let (ontology, diagnostics) = parse::ontology(&Source::new("ontology.yaml", text));
        assert_eq!(diagnostics, vec![]);
        ontology.unwrap()
    }

    #[test]
    fn a_role_may_say_only_its_own_predicates() {
        let o = drive_thru();
        let a = o.admit(
            "customer",
            &["order(\"Soft Taco\",2)", "runout(\"Beans\")", "hack", "order(\"Soft Taco\",0)", "order(\"Water\",99999999999)", "order(x"].map(Arrived::read),
        );
        let admitted: Vec<_> = a.admitted.iter().map(|(at, atom)| format!("{at} {atom}")).collect();
        assert_eq!(admitted, ["1 order(\"Soft Taco\",2)", "5 order(\"Water\",1000000)"]);
        let refused: Vec<_> = a.refused.iter().map(|r| (r.at, r.code)).collect();
        assert_eq!(refused, [(2, "no_right"), (3, "unknown_predicate"), (4, "number_out_of_bounds"), (6, "syntax")]);
    }

    #[test]
    fn what_is_refused_is_kept_whole() {
        let long = format!("order(\"{}\",2)", "x".repeat(300));
        let unread = format!("order({}", "y".repeat(300));
        let a = drive_thru().admit("customer", &[Arrived::read(&long), Arrived::read(&unread)]);
        let kept: Vec<_> = a.refused.iter().map(|r| (r.code, r.what.to_string())).collect();
        assert_eq!(kept, [("wrong_argument", long), ("syntax", unread)]);
        assert!(a.refused.iter().all(|r| r.for_rules().is_none()), "free text is no symbol of the rules");
    }

    #[test]
    fn rights_bound_the_effects_of_a_role() {
        let o = drive_thru();
        assert!(o.may_change("manager", Scope::Shared, "runout", 1));
        assert!(o.may_change("manager", Scope::Kb, "dish", 1));
        assert!(!o.may_change("customer", Scope::Shared, "runout", 1));
        assert!(!o.may_change("customer", Scope::Kb, "dish", 1));
        assert!(o.may_change("customer", Scope::Session, "line", 2));
        assert!(!o.may_change("customer", Scope::Session, "no_such_fact", 1));
    }
}
