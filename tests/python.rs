//! The Python client (python/) against a running service.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "a test that cannot go on must fail loudly")]
#![cfg(feature = "serve")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn the_client_orders_streams_and_is_refused() {
    let root = env!("CARGO_MANIFEST_DIR");
    if !Command::new("python3").args(["-c", "import httpx"]).output().is_ok_and(|o| o.status.success()) {
        eprintln!("SKIPPED: there is no python3 with httpx, so the Python client is not tested (pip install httpx)");
        return;
    }
    let mut service = Command::new(env!("CARGO_BIN_EXE_duologue"))
        .args(["serve", "--demo", "--address", "127.0.0.1:0", "--reasoner", "fast"])
        .env_remove("DUOLOGUE_MODEL")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(service.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|l| l.strip_prefix("listening on ").map(str::to_owned)).unwrap();
    let token = lines.find_map(|l| l.split_once(", for a day: ").map(|(_, token)| token.to_owned())).unwrap();
    let tested = Command::new("python3").arg("tests/test_client.py").args([&address, &token]).current_dir(format!("{root}/python")).output().unwrap();
    service.kill().unwrap();
    service.wait().unwrap();
    let said = String::from_utf8_lossy(&tested.stderr);
    assert!(tested.status.success() && said.contains("OK"), "{said}");
}
