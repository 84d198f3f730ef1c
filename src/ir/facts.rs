//! A flow as facts: what `rules/core/flow.lp` reads.
