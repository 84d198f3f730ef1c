//! Rendering: action predicates to text.
