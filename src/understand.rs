//! Understanding: words to predicates.
