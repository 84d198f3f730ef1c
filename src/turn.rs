//! The turn, top to bottom.
