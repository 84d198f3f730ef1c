//! The listener of a reasoning domain: controlled English to what is told, asked, supposed and taken back in a conversation.

use super::english::{Claim, Context, Reader, Uttered, sentences};
use super::profile::Profile;
use super::told::{Question, Reading, question_term, statements};
use crate::diag::Diagnostic;
use crate::domain::Files;
use crate::ontology::admit::MAX_PREDICATE_BYTES;
use crate::term::{Atom, Term};
use crate::understand::{self, Heard, Understand};

/// Reads what is said in a conversation by the sentence forms of a profile.
#[derive(Debug)]
pub struct Listener {
    reader: Reader,
    contraposition: bool,
}

impl Listener {
    /// A listener by the lexicons and the semantics of a profile.
    pub fn load(files: &Files, profile: &str) -> Result<Self, Vec<Diagnostic>> {
        let profile = Profile::load(files, profile)?;
        Ok(Self { reader: Reader::load(files, &profile)?, contraposition: profile.semantics.contraposition })
    }

    /// What is said as predicates: the move first, then the statements that it makes or takes back.
    fn predicates(&self, said: &Uttered) -> Option<Vec<Atom>> {
        let all = |name: &str, readings: &[Reading]| -> Vec<Atom> {
            readings.iter().flat_map(|r| statements(r, self.contraposition)).map(|s| Atom::new(name, vec![s])).collect()
        };
        Some(match said {
            Uttered::Told(words, said) => [vec![Atom::new("tell", vec![Term::string(words)])], all("states", said)].concat(),
            Uttered::Corrected(words, said, back) => {
                [vec![Atom::new("correct", vec![Term::string(words)])], all("states", said), all("unstates", back)].concat()
            }
            Uttered::Forgotten(said) => [vec![Atom::new("forget", vec![])], all("unstates", said)].concat(),
            Uttered::Supposed(words, said, asked) => {
                let then = match asked {
                    Some((q, claim)) => Term::Fun("then".into(), question(q, claim.as_ref())?.into()),
                    None => Term::constant("last"),
                };
                [vec![Atom::new("suppose", vec![Term::string(words), then])], all("states", said)].concat()
            }
            Uttered::Asked(q, claim) => vec![Atom::new("ask", question(q, claim.as_ref())?.into())],
            Uttered::Said(t) => vec![t.to_atom()?],
        })
    }
}

/// Whether the predicates can be kept and read again: they are not too long, and not nested too deep where facts hold them.
fn kept(predicates: &[Atom]) -> bool {
    predicates.iter().map(ToString::to_string).all(|p| p.len() <= MAX_PREDICATE_BYTES && Atom::parse(&format!("effect(was_added(noted({p})))")).is_ok())
}

/// A question as rules take it apart, and how its answer is worded.
fn question(q: &Question, claim: Option<&Claim>) -> Option<[Term; 2]> {
    let words = claim.map_or_else(|| Term::constant("plain"), |c| Term::Fun("says".into(), vec![Term::string(&c.yes), Term::string(&c.no)]));
    Some([question_term(q)?, words])
}

/// What was told so far, in order: the statements among the conversation's facts.
fn told(facts: &[Atom]) -> impl Iterator<Item = &Term> {
    let mut noted: Vec<(&Term, &Term, &Term)> =
        facts.iter().filter_map(|a| if let ("noted", [s, l, r]) = (&*a.name, a.args.as_slice()) { Some((l, s, r)) } else { None }).collect();
    noted.sort();
    noted.into_iter().map(|(_, _, r)| r)
}

impl Understand for Listener {
    fn understand(&self, text: &str, context: &understand::Context) -> Heard {
        let mut heard = Heard { by: "reader", confidence: 1.0, ..Heard::default() };
        let mut known = Context::of_statements(told(&context.facts));
        known.goes_on(context.facts.iter().filter(|a| &*a.name == "line").max().and_then(|a| a.args.last()).and_then(Term::as_name).unwrap_or_default());
        for s in sentences(text) {
            let said = self.reader.utterance(&s, &mut known);
            match said.and_then(|u| self.predicates(&u).ok_or_else(|| s.text.clone())) {
                Ok(all) if kept(&all) => heard.predicates.extend(all),
                Ok(_) => heard.unheard.push(format!("{} (too much for one sentence)", s.text)),
                Err(words) => heard.unheard.push(words),
            }
        }
        if heard.predicates.is_empty() {
            heard.confidence = 0.0;
            if heard.unheard.is_empty() {
                heard.predicates.push(Atom::new("unclear", vec![]));
            }
        }
        heard
    }
}
