//! What is said of what was named before: never beside some actions, or only behind some.

use super::{Clauses, Held, Never, clauses, has, has_any, padded, unmarked};
use std::collections::BTreeSet;

impl Clauses {
    /// A phrase of the text that is never said beside one of the actions.
    pub(super) fn never_said(&self, text: &str, of: &[&Held]) -> Option<String> {
        let held = |words: &BTreeSet<String>| self.held.iter().any(|h| h.kind.iter().any(|w| words.contains(w)));
        let names = |words: &BTreeSet<String>| words.is_empty() || of.iter().any(|h| has_any(&h.kind, words));
        let holds = |n: &&Never| (n.beside.is_empty() || held(&n.beside)) && !held(&n.unless) && names(&n.naming);
        let (bare, whole): (Vec<&Never>, Vec<&Never>) = self.grammar.never.iter().filter(|n| n.only.is_empty()).filter(holds).partition(|n| n.nameless);
        let finds = |rules: &[&Never], text: &str| {
            let said = unmarked(text);
            let said = [padded(&self.grammar.filling.weighty(&said)), padded(&said)];
            rules.iter().flat_map(|n| &n.say).find(|phrase| said.iter().any(|s| s.contains(*phrase))).cloned()
        };
        let whole = Some(whole).filter(|w| !w.is_empty()).and_then(|w| finds(&w, text));
        let nameless = || clauses(text).into_iter().filter(|c| self.about(c).is_empty());
        whole.or_else(|| Some(bare).filter(|b| !b.is_empty()).and_then(|b| nameless().find_map(|c| finds(&b, &c))))
    }

    /// What was named last when these clauses are said, unless one of them tells of it what holds of others: codeine is withdrawn, prescribed now.
    pub(super) fn tells_of_last(&self, text: &str, all: &[(Vec<&Held>, String)], mut last: u64) -> Option<u64> {
        let rules: Vec<&Never> = self.grammar.never.iter().filter(|n| !n.only.is_empty()).collect();
        let at =
            |of: &[&Held]| self.held.iter().take(64).enumerate().filter(|(_, h)| of.iter().any(|o| std::ptr::eq(*o, *h))).fold(0, |all, (i, _)| all | 1 << i);
        let open = rules.is_empty() || text.trim_end().ends_with('?');
        for (of, clause) in all {
            // Whom it is about is no such thing.
            let things: Vec<&Held> = of.iter().copied().filter(|h| !h.kind.iter().any(|k| k == "about" || k == "name")).collect();
            if !things.is_empty() {
                last = at(&things);
            }
            if open || !of.is_empty() || last == 0 || has(clause, &self.grammar.denying) {
                continue;
            }
            let said = padded(&unmarked(clause));
            // What may be prescribed is not.
            if said.contains(" be ") {
                continue;
            }
            let of = || self.held.iter().take(64).enumerate().filter(|(i, _)| last >> i & 1 == 1).map(|(_, h)| h);
            let holds = |n: &Never| of().any(|h| has_any(&h.kind, &n.only) && !h.kind.iter().any(|k| k == "reject"));
            if rules.iter().any(|n| n.say.iter().any(|phrase| said.contains(phrase)) && !holds(n)) {
                return None;
            }
        }
        Some(last)
    }
}
