//! The engine behind its step contract: a child process that reads and writes JSON lines.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use duologue::term::Atom;
use serde_json::{Value, json};

use crate::site::{Reply, Stepper};

pub struct Engine {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    site: String,
    sites: usize,
}

impl Engine {
    /// Starts `duologue step` on an empty store (`ORACLE_ENGINE` names another build of it); `None` if there is no such command yet.
    pub fn start() -> Option<Self> {
        let built = env!("CARGO_BIN_EXE_duologue").to_string();
        let mut command = Command::new(std::env::var("ORACLE_ENGINE").unwrap_or(built));
        command.args(["step", "--no-why", "--domain", "drive_thru", "--set", "manner=paper", "--store", ":memory:"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let (stdin, stdout) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut engine = Self { child, stdin, stdout, site: String::new(), sites: 0 };
        engine.next_site();
        engine.facts("shared").is_ok().then_some(engine)
    }

    /// Moves on to a site nobody has used.
    pub fn next_site(&mut self) {
        self.sites += 1;
        self.site = format!("site{}", self.sites);
    }

    fn ask(&mut self, line: &Value) -> Result<Value, String> {
        let io = |e: std::io::Error| e.to_string();
        writeln!(self.stdin, "{line}").map_err(io)?;
        self.stdin.flush().map_err(io)?;
        let mut reply = String::new();
        if self.stdout.read_line(&mut reply).map_err(io)? == 0 {
            return Err("the engine has ended".into());
        }
        serde_json::from_str(&reply).map_err(|e| format!("{e}: {reply}"))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn atoms(v: &Value) -> Result<Vec<Atom>, String> {
    let list = v.as_array().ok_or_else(|| format!("no list of atoms: {v}"))?;
    list.iter().map(|a| Atom::parse(a.as_str().unwrap_or_default()).map_err(|e| format!("{e}: {a}"))).collect()
}

impl Stepper for Engine {
    fn turn(&mut self, session: &str, role: &str, predicates: &[Atom]) -> Result<Reply, String> {
        let predicates: Vec<String> = predicates.iter().map(ToString::to_string).collect();
        let reply = self.ask(&json!({"site": self.site, "session": session, "role": role, "predicates": predicates}))?;
        let actions = atoms(&reply["actions"])?;
        let state = if role == "customer" { serde_json::from_value(reply["state"].clone()).map_err(|e| format!("{e}: {reply}"))? } else { Default::default() };
        Ok(Reply { actions, state })
    }

    fn facts(&mut self, kind: &str) -> Result<BTreeSet<Atom>, String> {
        let reply = self.ask(&json!({"facts": kind, "site": self.site, "session": "none"}))?;
        Ok(atoms(&reply["facts"])?.into_iter().collect())
    }
}
