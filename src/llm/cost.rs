//! Tokens and money: what each exchange used, summed per turn, session and site, and the budgets over them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::config::{Limits, Prices};
use super::error::ModelError;

/// What was used. Costs are integer micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Requests sent, retries included.
    pub calls: u32,
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Input tokens the provider had cached.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
    /// Cost in micro-dollars.
    pub micro_usd: u64,
}

impl Usage {
    /// The usage of one reply, priced. `input` counts all input tokens, `cached` those of them that the provider read from its cache.
    pub fn of(prices: &Prices, input: u64, cached: u64, output: u64) -> Self {
        Self::with_cache(prices, input, (cached, 0), output)
    }

    /// The same where input tokens written to the provider's cache are counted too.
    pub fn with_cache(prices: &Prices, input: u64, (cached, written): (u64, u64), output: u64) -> Self {
        let cached = cached.min(input);
        let written = written.min(input - cached);
        let spent = u128::from(input - cached - written) * u128::from(prices.input)
            + u128::from(cached) * u128::from(prices.cached_input.unwrap_or(prices.input))
            + u128::from(written) * u128::from(prices.cache_write.unwrap_or(prices.input))
            + u128::from(output) * u128::from(prices.output);
        Self { calls: 1, input, cached, output, micro_usd: u64::try_from(spent.div_ceil(1_000_000)).unwrap_or(u64::MAX) }
    }

    /// Input and output tokens.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.micro_usd = self.micro_usd.saturating_add(other.micro_usd);
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {} tokens in", self.calls, if self.calls == 1 { "call" } else { "calls" }, self.input)?;
        if self.cached > 0 {
            write!(f, " ({} cached)", self.cached)?;
        }
        write!(f, ", {} out, {}", self.output, dollars(self.micro_usd))
    }
}

/// Micro-dollars as people read them: cents, and as many more digits as a small sum needs.
pub fn dollars(micro_usd: u64) -> String {
    let (whole, rest) = (micro_usd / 1_000_000, format!("{:06}", micro_usd % 1_000_000));
    let cents = rest.get(..2).unwrap_or("00");
    format!("${whole}.{cents}{}", rest.get(2..).unwrap_or("").trim_end_matches('0'))
}

/// What a conversation and its site have used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The conversation.
    pub session: Usage,
    /// The whole site, since this process began.
    pub site: Usage,
}

/// What one end of a turn asked of a model, for the turn's record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exchange {
    /// The model's name.
    pub model: String,
    /// Tokens and cost.
    pub usage: Usage,
    /// The stable word for a fault of the exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What was wrong with each unusable reply or exchange.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// What the operator can do about the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Time spent waiting for the model; not part of the record, which is the same whenever it is made.
    #[serde(skip)]
    pub waited: Duration,
}

/// Sums per session and site. A turn's own sum travels in its record; ended sessions are taken out with [`Ledger::close`].
#[derive(Debug, Default)]
pub struct Ledger {
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    /// When each session was booked last, and its sum.
    sessions: BTreeMap<(String, String), (u64, Usage)>,
    sites: BTreeMap<String, Usage>,
    bookings: u64,
}

/// Sessions whose own sums are kept; beyond twice as many, those that were booked longest ago are forgotten.
const MAX_SESSIONS: usize = 10_000;

impl Ledger {
    /// Books a turn's usage.
    pub fn book(&self, site: &str, session: &str, used: Usage) {
        if used == Usage::default() {
            return;
        }
        let mut sums = self.lock();
        sums.bookings += 1;
        let now = sums.bookings;
        let own = sums.sessions.entry((site.to_owned(), session.to_owned())).or_default();
        own.0 = now;
        own.1 += used;
        *sums.sites.entry(site.to_owned()).or_default() += used;
        if sums.sessions.len() > 2 * MAX_SESSIONS {
            let mut ages: Vec<u64> = sums.sessions.values().map(|(at, _)| *at).collect();
            ages.sort_unstable();
            let oldest = ages.get(ages.len() - MAX_SESSIONS).copied().unwrap_or(0);
            sums.sessions.retain(|_, (at, _)| *at >= oldest);
        }
    }

    /// What a session has used.
    pub fn session(&self, site: &str, session: &str) -> Usage {
        self.lock().sessions.get(&(site.to_owned(), session.to_owned())).map(|(_, used)| *used).unwrap_or_default()
    }

    /// What a site has used.
    pub fn site(&self, site: &str) -> Usage {
        self.lock().sites.get(site).copied().unwrap_or_default()
    }

    /// What a session and its site have used.
    pub fn account(&self, site: &str, session: &str) -> Account {
        Account { session: self.session(site, session), site: self.site(site) }
    }

    /// Forgets an ended session's own sum (the site's sum keeps it), so that memory does not grow with the number of sessions.
    pub fn close(&self, site: &str, session: &str) -> Usage {
        self.lock().sessions.remove(&(site.to_owned(), session.to_owned())).map(|(_, used)| used).unwrap_or_default()
    }

    /// Refuses a further exchange when a budget is used up.
    pub fn admit(&self, limits: &Limits, site: &str, session: &str) -> Result<(), ModelError> {
        if limits.session_tokens > 0 && self.session(site, session).tokens() >= limits.session_tokens {
            return Err(ModelError::OverBudget { scope: "session", limit: format!("{} tokens", limits.session_tokens) });
        }
        if limits.site_micro_usd > 0 && self.site(site).micro_usd >= limits.site_micro_usd {
            return Err(ModelError::OverBudget { scope: "site", limit: format!("{} micro-dollars", limits.site_micro_usd) });
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_round_up_and_the_cache_is_cheaper() {
        let prices = Prices { input: 2_500_000, cached_input: Some(250_000), output: 10_000_000, ..Prices::default() };
        let used = Usage::of(&prices, 1_000, 800, 50);
        assert_eq!(used.micro_usd, 200 * 5 / 2 + 800 / 4 + 500);
        assert_eq!(Usage::of(&prices, 1, 0, 0).micro_usd, 3);
        assert_eq!(Usage::of(&prices, 5, 9, 0).cached, 5);
        let unsaid = Prices { cached_input: None, cache_write: Some(5_000_000), ..prices };
        assert_eq!(Usage::with_cache(&unsaid, 1_000, (400, 200), 0).micro_usd, 400 * 5 / 2 + 400 * 5 / 2 + 200 * 5);
        assert_eq!(unsaid.of_embedding().input, 2_500_000);
    }

    #[test]
    fn sums_read_as_dollars() {
        let shown: Vec<String> = [0, 1, 250_000, 1_000_000, 12_345_678].into_iter().map(dollars).collect();
        assert_eq!(shown, ["$0.00", "$0.000001", "$0.25", "$1.00", "$12.345678"]);
        let used = Usage { calls: 1, input: 900, cached: 800, output: 30, micro_usd: 2_400 };
        assert_eq!(used.to_string(), "1 call, 900 tokens in (800 cached), 30 out, $0.0024");
    }

    #[test]
    fn sums_are_kept_apart_and_budgets_close_the_door() {
        let ledger = Ledger::default();
        let used = Usage { calls: 1, input: 60, cached: 0, output: 40, micro_usd: 7 };
        ledger.book("a", "one", used);
        ledger.book("a", "two", used);
        ledger.book("b", "one", used);
        assert_eq!((ledger.site("a").calls, ledger.site("b").calls, ledger.session("a", "one").tokens()), (2, 1, 100));
        let limits = Limits { session_tokens: 100, ..Limits::default() };
        assert!(matches!(ledger.admit(&limits, "a", "one"), Err(ModelError::OverBudget { scope: "session", .. })));
        assert!(ledger.admit(&limits, "a", "three").is_ok());
        let limits = Limits { site_micro_usd: 14, ..Limits::default() };
        assert!(matches!(ledger.admit(&limits, "a", "three"), Err(ModelError::OverBudget { scope: "site", .. })));
        assert!(ledger.admit(&limits, "b", "one").is_ok());
        assert_eq!(ledger.close("a", "one"), used);
        assert_eq!((ledger.session("a", "one").calls, ledger.site("a").calls), (0, 2));
    }

    #[test]
    fn sums_of_many_sessions_stay_bounded() {
        let ledger = Ledger::default();
        let used = Usage { calls: 1, ..Usage::default() };
        for n in 0..45_000 {
            ledger.book("a", &n.to_string(), used);
        }
        assert!(ledger.lock().sessions.len() <= 2 * MAX_SESSIONS);
        assert_eq!((ledger.session("a", "44999").calls, ledger.session("a", "0").calls, ledger.site("a").calls), (1, 0, 45_000));
    }
}
