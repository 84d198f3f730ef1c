//! Acting: calls to the outside, never before commit.
