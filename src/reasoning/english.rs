//! Text to what it tells and asks. Words that no form takes are kept as unread.

use super::profile::Profile;
use super::told::{Form, Goal, Question, Reading, Theory, Told};
use crate::diag::Diagnostic;
use crate::domain::Files;

/// A reader of the sentences that a profile's lexicon knows.
#[derive(Debug)]
pub struct Reader;

impl Reader {
    /// Reads the profile's lexicon.
    pub fn load(_files: &Files, _profile: &Profile) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self)
    }

    /// What the lines tell; a line may hold several sentences.
    pub fn tell(&self, text: &[String]) -> Theory {
        let told = |(n, t): (usize, &String)| Told { line: n + 1, text: t.clone(), reading: Reading::Unread(t.clone()) };
        Theory { told: text.iter().enumerate().map(told).collect(), ..Theory::default() }
    }

    /// What a question asks after that was told.
    pub fn ask(&self, _theory: &Theory, ask: &str, _options: &[String]) -> Question {
        Question { text: ask.to_owned(), form: Form::Truth, goal: Goal::Unread(ask.to_owned()) }
    }
}
