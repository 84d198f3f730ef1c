//! Functions in Python: worker processes of a project, which run its files once and then answer call after call; one that does not keep its limits is
//! killed with everything that it started.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ActError, Call, MAX_ANSWER};

/// What a worker runs.
const WORKER: &str = include_str!("worker.py");
/// How many workers a project may have that does not say so itself; several, so that a slow function stops nobody.
const MOST_WORKERS: usize = 8;
/// How long a call waits for a worker that is busy before it starts one more: to start takes longer than most functions do.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long a project's files may take when they are first run.
const START: Duration = Duration::from_secs(20);
/// Bytes of memory of a worker, if the project does not say so itself, and characters that a call may print.
const MEMORY: u64 = 2 << 30;
const OUTPUT: usize = 65_536;

/// A project's workers.
#[derive(Debug)]
pub struct Workers {
    python: PathBuf,
    folder: PathBuf,
    files: Vec<PathBuf>,
    environment: Vec<(String, String)>,
    memory: u64,
    most: usize,
    pool: Mutex<Pool>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Worker>,
    started: usize,
}

/// What goes wrong at the top level of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Failed {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: u32,
    /// What it is.
    pub message: String,
}

/// Why there are no workers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// There is no Python.
    #[error("the program's functions are written in Python, and no `python3` is on the path: install Python 3")]
    NoPython,
    /// The files cannot be run.
    #[error("the program's functions cannot be run")]
    Files(Vec<Failed>),
    /// The process failed.
    #[error("Python cannot be started: {0}")]
    Process(String),
}

#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Vec<u8>>,
}

impl PartialEq for Workers {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Workers {
    /// Starts the first worker of a project. Its processes see no more of the environment than these variables, have no more than these bytes of
    /// memory each, and are no more than so many.
    pub fn start(folder: &Path, files: &[PathBuf], environment: &[String], memory: Option<u64>, most: Option<usize>) -> Result<Self, StartError> {
        let python = on_path("python3").or_else(|| on_path("python")).ok_or(StartError::NoPython)?;
        let environment = environment.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
        let (folder, files) = (folder.to_owned(), files.to_vec());
        let (memory, most) = (memory.unwrap_or(MEMORY), most.unwrap_or(MOST_WORKERS));
        let workers = Self { python, folder, files, environment, memory, most, pool: Mutex::default(), freed: Condvar::new() };
        let (worker, failed) = workers.worker()?;
        if !failed.is_empty() {
            return Err(StartError::Files(failed));
        }
        let mut pool = workers.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.idle.push(worker);
        pool.started = 1;
        drop(pool);
        Ok(workers)
    }

    /// Calls a function of a file; a worker that does not answer in time is killed.
    pub(super) fn call(&self, file: &Path, call: &Call, limit: Duration) -> Result<Value, ActError> {
        let until = Instant::now() + limit;
        let mut worker = self.take(&call.function, until, limit)?;
        // The time that it took to start a worker is not the function's.
        let until = Instant::now() + limit;
        let line = json!({ "file": file, "function": call.function, "args": call.inputs }).to_string();
        let sent = worker.input.write_all(format!("{line}\n").as_bytes()).and_then(|()| worker.input.flush());
        let failed = |what: &str| ActError::Failed(call.function.clone(), what.to_owned());
        let answer = match sent {
            Err(_) => Err(failed("killed")),
            Ok(()) => match worker.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(answer) => Ok(answer),
                Err(RecvTimeoutError::Timeout) => Err(ActError::Timeout { function: call.function.clone(), millis: limit.as_millis() }),
                Err(RecvTimeoutError::Disconnected) => Err(failed("killed")),
            },
        };
        let answer = answer.and_then(|line| if line.len() > LONGEST { Err(failed("too much output")) } else { Ok(line) });
        match answer {
            Ok(line) => {
                self.give_back(Some(worker));
                let answer: Value = serde_json::from_slice(&line).map_err(|e| ActError::Unreadable(call.function.clone(), e.to_string()))?;
                match answer.get("error").and_then(Value::as_str) {
                    Some(error) => Err(failed(error)),
                    None => Ok(answer),
                }
            }
            Err(e) => {
                drop(worker);
                self.give_back(None);
                Err(e)
            }
        }
    }

    /// An idle worker, or a new one if none comes free soon and there may be more.
    fn take(&self, function: &str, until: Instant, limit: Duration) -> Result<Worker, ActError> {
        let patient = until.min(Instant::now() + PATIENCE);
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(worker) = pool.idle.pop() {
                return Ok(worker);
            }
            let now = Instant::now();
            if pool.started < self.most && (pool.started == 0 || now >= patient) {
                pool.started += 1;
                drop(pool);
                return self.worker().map(|(worker, _)| worker).map_err(|e| {
                    self.give_back(None);
                    ActError::Unreachable(function.to_owned(), e.to_string())
                });
            }
            if now >= until {
                return Err(ActError::Timeout { function: function.to_owned(), millis: limit.as_millis() });
            }
            let next = if pool.started < self.most { patient } else { until };
            pool = self.freed.wait_timeout(pool, next.saturating_duration_since(now)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn give_back(&self, worker: Option<Worker>) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        match worker {
            Some(worker) => pool.idle.push(worker),
            None => pool.started = pool.started.saturating_sub(1),
        }
        drop(pool);
        self.freed.notify_one();
    }

    /// A new process, with what went wrong when it ran the files.
    fn worker(&self) -> Result<(Worker, Vec<Failed>), StartError> {
        let own = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("PYTHONUTF8", "1")];
        let names: Vec<&str> = own.iter().map(|(n, _)| *n).chain(self.environment.iter().map(|(n, _)| n.as_str())).collect();
        let setup = json!({ "files": self.files, "memory": self.memory, "output": OUTPUT, "answer": MAX_ANSWER, "environment": names }).to_string();
        let mut command = Command::new(&self.python);
        command.args(["-u", "-B", "-c", WORKER, &setup]).current_dir(&self.folder).env_clear();
        command.envs(own).envs(self.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let process = |e: &dyn std::fmt::Display| StartError::Process(e.to_string());
        let mut child = command.spawn().map_err(|e| process(&e))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| process(&"it has no pipes"))?;
        let (send, answers) = sync_channel(1);
        std::thread::spawn(move || lines(output, &send));
        let worker = Worker { child, input, answers };
        #[derive(Deserialize)]
        struct Ready {
            failed: Vec<Failed>,
        }
        let first = worker.answers.recv_timeout(START).map_err(|_| process(&"the program's files did not come to their end within 20 s"))?;
        let ready: Ready = serde_json::from_slice(&first).map_err(|e| process(&e))?;
        Ok((worker, ready.failed))
    }
}

impl Worker {
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The longest line that is read; what prints and results may hold fits, escaped as it is.
const LONGEST: usize = 12 * (MAX_ANSWER + OUTPUT);

/// Hands on line after line until the process ends or nobody listens any more.
fn lines(output: impl Read, send: &SyncSender<Vec<u8>>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = vec![];
        let read = output.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line);
        if !matches!(read, Ok(n) if n > 0) || send.send(line).is_err() {
            return;
        }
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &str = r#"
import os, time
runs = 0
def add(a, b=2):
    global runs
    runs += 1
    print("not shown")
    return [{"arg": "sum", "value": a + b, "runs": runs}]
async def later():
    return None
def broken():
    raise ValueError("no way")
def slow():
    os.system("sleep 30")
def flood():
    while True:
        try:
            print("x" * 1000)
        except Exception:
            pass
def gone():
    os._exit(3)
def sees():
    return {"bot": ",".join(sorted(os.environ))}
"#;

    fn workers(text: &str) -> (tempfile::TempDir, PathBuf, Result<Workers, StartError>) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tools.py");
        std::fs::write(&file, text).unwrap();
        let workers = Workers::start(dir.path(), std::slice::from_ref(&file), &["DUOLOGUE_NOT_SET".to_owned()], None, None);
        (dir, file, workers)
    }

    #[test]
    fn a_worker_that_does_not_keep_its_limits_is_replaced() {
        let (_dir, file, workers) = workers(TOOLS);
        let workers = workers.unwrap();
        let called = |function: &str, inputs: Value, limit: u64| {
            let inputs = serde_json::from_value(inputs).unwrap();
            workers.call(&file, &Call { function: function.to_owned(), inputs }, Duration::from_millis(limit)).map_err(|e| e.brief())
        };
        let ok = |function: &str, inputs: Value| called(function, inputs, 20_000);
        let sum = |runs: i32| Ok(json!({ "result": [{ "arg": "sum", "value": 3, "runs": runs }], "printed": "not shown\n" }));
        assert_eq!(ok("add", json!({ "a": 1 })), sum(1));
        assert_eq!(ok("add", json!({ "a": 1 })), sum(2), "the files are run once a worker");
        assert_eq!(ok("later", json!({})), Ok(json!({ "result": null, "printed": "" })));
        assert_eq!(ok("broken", json!({})), Err("ValueError: no way".to_owned()));
        assert_eq!(ok("flood", json!({})), Err("too much output".to_owned()));
        assert_eq!(ok("sees", json!({})).unwrap()["result"]["bot"], "LANG,PATH,PYTHONUTF8");
        assert_eq!(ok("gone", json!({})), Err("killed".to_owned()));
        assert_eq!(ok("add", json!({ "a": 1 })), sum(1), "another one took its place");
        let began = Instant::now();
        assert_eq!(called("slow", json!({}), 1_000), Err("timeout after 1 s".to_owned()));
        assert!(began.elapsed() < Duration::from_secs(15), "what it had started went with it");
        assert_eq!(ok("add", json!({ "a": 1 })), sum(1));
    }

    #[test]
    fn what_goes_wrong_at_the_top_level_is_told_with_its_line() {
        let (_dir, file, found) = workers("x = 1\nimport nothing_of_this_name\n");
        let Err(StartError::Files(failed)) = found else { panic!("{found:?}") };
        assert_eq!((&failed[0].file, failed[0].line), (&file, 2));
        assert!(failed[0].message.starts_with("ModuleNotFoundError: "), "{failed:?}");
    }
}
