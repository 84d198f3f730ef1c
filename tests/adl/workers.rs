//! Functions that die, hang and flood, and an engine that is killed in the middle of calls: no conversation is lost, and no call is made twice.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// The longest that an answer is waited for.
const LONGEST: Duration = Duration::from_secs(60);

const PROGRAM: &str = "main:
  type: flow agent
  args: [last]
  steps:
  - label: again
  - user
  - set: {last: _user_input}
  - if: re.match(\"kill\", last)
    then: [{call: kill, args: {mark: last}}, {bot: \"${kill.status}\"}]
  - else if: re.match(\"hang\", last)
    then: [{call: hang, args: {mark: last}}, {bot: \"${hang.status}\"}]
  - else if: re.match(\"flood\", last)
    then: [{call: flood, args: {mark: last}}, {bot: \"${flood.status}\"}]
    else: [{call: slow, args: {mark: last}}, {bot: \"${slow.status}\"}]
  - next: again
";

const TOOLS: &str = "import os, sys, time
LOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'calls.log')
def note(mark):
    with open(LOG, 'a') as log:
        log.write(mark + '\\n')
def kill(mark):
    note(mark)
    os.kill(os.getpid(), 9)
def hang(mark):
    note(mark)
    time.sleep(600)
def flood(mark):
    note(mark)
    while True:
        print('x' * 100_000)
def slow(mark):
    note(mark)
    time.sleep(0.05)
";

struct Engine {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Engine {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_duologue"))
            .args(["step", "--no-why", "--reasoner", "fast", "--agents"])
            .arg(folder)
            .arg("--store")
            .arg(folder.join("store.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (send, answers) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { input: child.stdin.take().unwrap(), child, answers }
    }

    fn send(&mut self, text: &str) {
        writeln!(self.input, "{}", json!({ "session": "s", "text": text, "decisions": [] })).unwrap();
    }

    fn turn(&mut self, text: &str) -> Value {
        self.send(text);
        serde_json::from_str(&self.answers.recv_timeout(LONGEST).unwrap_or_else(|e| panic!("no answer to `{text}`: {e}"))).unwrap()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// So many calls that go wrong, the engine itself killed in every tenth.
#[expect(clippy::print_stdout, reason = "the long run tells what it came to")]
fn ordeal(calls: usize) {
    let files = BTreeMap::from([
        ("tools.py".to_owned(), TOOLS.to_owned()),
        ("config.yml".to_owned(), "functions:\n  hang: {timeout_s: 0.5}\n  flood: {timeout_s: 5}\n".to_owned()),
    ]);
    let folder = super::project(PROGRAM, &files);
    let mut engine = Engine::start(folder.path());
    let mut breaks = 0;
    for n in 0..calls {
        let kind = ["kill", "hang", "flood"][n % 3];
        let text = format!("{kind} {n}");
        let got = engine.turn(&text);
        assert_eq!((&got["bot"], &got["args"]["main"]["last"], &got["closed"]), (&json!(["error"]), &json!(text), &json!(false)), "{got}");
        assert_eq!(got["floor"], json!(["main"]), "{got}");
        if n % 10 == 9 {
            engine.send(&format!("slow {n}"));
            std::thread::sleep(Duration::from_millis(n as u64 % 70));
            drop(engine);
            engine = Engine::start(folder.path());
            breaks += 1;
            // The conversation stands before that message, in it, or after it; the next one is answered in each case.
            let text = format!("well {n}");
            let got = engine.turn(&text);
            let said: Vec<&str> = got["bot"].as_array().unwrap().iter().map(|b| b.as_str().unwrap()).collect();
            assert!(said == ["success"] || said == ["error", "success"], "{got}");
            assert_eq!((&got["args"]["main"]["last"], &got["floor"]), (&json!(text), &json!(["main"])), "{got}");
        }
    }
    let made = std::fs::read_to_string(folder.path().join("calls.log")).unwrap();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    made.lines().for_each(|mark| *count.entry(mark).or_default() += 1);
    let twice: Vec<_> = count.iter().filter(|(_, n)| **n > 1).collect();
    assert!(twice.is_empty(), "made twice: {twice:?}");
    // What an engine had not yet committed when it was killed is not called.
    assert!(count.len() >= calls, "only {} calls of {calls}", count.len());
    println!("{calls} kills, hangs and floods, {breaks} kills of the engine: 0 conversations lost, 0 calls made twice");
}

#[test]
fn workers_that_fail_lose_no_conversation_and_repeat_no_call() {
    if Command::new("python3").arg("--version").output().is_ok() {
        ordeal(11);
    }
}

#[test]
#[ignore = "takes minutes: run by hand"]
fn a_thousand_workers_fail() {
    ordeal(1000);
}
