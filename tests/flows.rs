//! Flows from outside: what is wrong with them, changing them by a model, conditions put to a model, conversations that survive a kill.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

#[path = "flows/broken.rs"]
mod broken;
#[path = "flows/kill.rs"]
mod kill;
#[path = "flows/models.rs"]
mod models;
#[path = "flows/talk.rs"]
mod talk;
