//! The `duologue` binary: a thin door to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    duologue::cli::main()
}
