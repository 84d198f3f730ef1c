//! Language models at both ends, against a local server with every fault we could think of: never the network.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

#[path = "llm/command.rs"]
mod command;
#[path = "llm/documents.rs"]
mod documents;
#[path = "llm/doubted.rs"]
mod doubted;
#[path = "llm/embeddings.rs"]
mod embeddings;
#[path = "llm/faults.rs"]
mod faults;
#[path = "llm/measured.rs"]
mod measured;
#[path = "llm/providers.rs"]
mod providers;
#[path = "llm/real_server.rs"]
mod real_server;
#[path = "llm/rendering.rs"]
mod rendering;
#[path = "llm/server.rs"]
mod server;
#[path = "llm/support.rs"]
mod support;
#[path = "llm/translation.rs"]
mod translation;
#[path = "llm/wordings.rs"]
mod wordings;
#[path = "llm/turns.rs"]
mod turns;
