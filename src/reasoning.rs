//! Reasoning over what is told: text or given parses to facts, rules and formulas; a profile's rules to an answer with its proof.
//!
//! ```text
//! text ──english──▶ ┐                         ┌─ one model ──▶ rules over told things (the evaluator, checked) ──▶ proof
//!                   ├─▶ Theory, Question ─────┤
//! parses ──given──▶ ┘                         └─ many ──▶ formulas over named things (clingo) ──▶ minimal lines, countermodel
//! ```
//!
//! In a conversation (`listen`) what is told becomes facts of the session, and the turn decides (docs/reasoning.md).
//!
//! What is told becomes facts that rules speak about (`told`); no told rule is ever program text, so none redefines a rule of the
//! profile, and all of them can be counted, taken back and named in a proof. A profile (`profile`) says which modules of
//! `rules/reason/` hold, under which semantics, and what the answers sound like.

pub mod answer;
mod choices;
pub mod english;
pub mod formula;
pub mod given;
mod ground;
pub mod listen;
mod models;
pub mod notation;
pub mod profile;
pub mod told;

pub use answer::{Answer, Engine, Status};
pub use listen::Listener;
pub use profile::Profile;
pub use told::{Form, Goal, Literal, Question, Reading, Theory, Told};
