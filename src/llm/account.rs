//! The account of one session: whose sums its exchanges go to, and which budgets bound them.

use std::sync::Arc;

use super::config::Limits;
use super::cost::{Ledger, Usage};
use super::error::ModelError;

/// On whose account a session's exchanges go.
#[derive(Clone, Debug)]
pub struct Account {
    /// The sums.
    pub ledger: Arc<Ledger>,
    /// The budgets.
    pub limits: Limits,
    /// The site.
    pub site: String,
    /// The session.
    pub session: String,
}

impl Account {
    /// Refuses when a budget is used up.
    pub fn admit(account: Option<&Self>) -> Result<(), ModelError> {
        account.map_or(Ok(()), |a| a.ledger.admit(&a.limits, &a.site, &a.session))
    }

    /// Books what was used.
    pub fn book(account: Option<&Self>, used: Usage) {
        if let Some(a) = account {
            a.ledger.book(&a.site, &a.session, used);
        }
    }
}
