//! x
use super::common::{Failure, Place};
#[derive(clap::Args)]
pub struct Arguments { #[command(flatten)] place: Place }
pub fn run(a: &Arguments) -> Result<bool, Failure> { let _ = &a.place; Ok(true) }
