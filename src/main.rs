//! The `duologue` binary: a thin door to the library.

fn main() {}
