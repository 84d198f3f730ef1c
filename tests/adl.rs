//! ADL programs: every seeded mistake is found at its line, with its path and remedy, and nothing else is; every program of the examples is clean.
//!
//! `tests/data/adl/mistakes.yaml` holds the mistakes, `conversations.yaml` programs with what is said, decided and has to come back, each under the
//! rows of the language's conformance list that it shows.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr, reason = "a test that cannot go on must fail loudly")]

#[path = "adl/workers.rs"]
mod workers;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use duologue::check::codes;
use duologue::diag::{Diagnostic, Severity};
use duologue::ir::Body;
use duologue::lang::adl;
use duologue::lang::expr::{self, Expr};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Mistake {
    name: String,
    program: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    expect: Vec<String>,
}

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/adl").join(name)
}

/// A project in a folder of its own.
fn project(program: &str, files: &BTreeMap<String, String>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agents.yml"), program).unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Whether a finding is what a line of `expect` says: LINE CODE PATH ~ part of the remedy.
fn meets(found: &Diagnostic, expected: &str) -> bool {
    let (place, help) = expected.split_once('~').unwrap_or((expected, ""));
    let mut words = place.trim().splitn(3, ' ');
    let (line, code, path) = (words.next().unwrap(), words.next().unwrap(), words.next());
    let told = found.help.as_deref().unwrap_or("");
    found.origin.line.to_string() == line && found.code == code && path.is_none_or(|p| found.path.as_deref() == Some(p.trim())) && told.contains(help.trim())
}

#[test]
fn every_mistake_is_found_where_it_is() {
    let cases: Vec<Mistake> = serde_saphyr::from_str(&std::fs::read_to_string(data("mistakes.yaml")).unwrap()).unwrap();
    assert!(cases.len() >= 70, "only {} cases", cases.len());
    let mut wrong = String::new();
    for case in &cases {
        let folder = project(&case.program, &case.files);
        let (program, found) = adl::read(folder.path());
        assert_eq!(program.is_none(), found.iter().any(|d| d.severity == Severity::Error), "{}", case.name);
        let missing: Vec<_> = case.expect.iter().filter(|e| !found.iter().any(|d| meets(d, e))).collect();
        let more: Vec<_> = found.iter().filter(|d| !case.expect.iter().any(|e| meets(d, e))).collect();
        if !missing.is_empty() || !more.is_empty() {
            let _ = writeln!(wrong, "{}\n  missing {missing:?}", case.name);
            for d in more {
                let _ = writeln!(wrong, "  beside [{}] {d}", d.path.as_deref().unwrap_or("-"));
            }
        }
        for d in &found {
            assert!(codes::explain(d.code).is_some(), "{} is not explained", d.code);
            assert!(d.help.is_some(), "{d} has no remedy");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Every program beside the mistakes, and every example, is clean.
#[test]
fn programs_that_are_right_are_told_so() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for folder in [data("programs"), root.join("examples/adl")] {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
        paths.sort();
        for path in paths {
            seen += 1;
            let (program, found) = adl::read(&path);
            let told: String = found.iter().map(|d| format!("{d}\n")).collect();
            assert!(found.is_empty(), "{}\n{told}", path.display());
            assert!(program.is_some(), "{}", path.display());
        }
    }
    assert!(seen >= 8, "only {seen} programs");
}

#[test]
fn a_zip_and_the_documents_of_a_project_are_read() {
    let zipped = |files: &[(&str, &str)]| {
        let mut out = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
        for (name, text) in files {
            out.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            out.write_all(text.as_bytes()).unwrap();
        }
        out.finish().unwrap().into_inner()
    };
    let program = "main:\n  type: kb agent\n  description: knows\n  sources: [docs]\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bot.zip");
    let mark = format!("We open at nine ({}).", folder.path().display());
    let csv = "city,price\nBonn,\"3,50\"\n";
    let page = "<html><head><title>x</title></head><body><p>Closed on Sunday &amp; Monday.</p><script>no</script></body></html>";
    std::fs::write(
        &path,
        zipped(&[("bot/agents.yml", program), ("bot/docs/a.txt", &mark), ("bot/docs/b.csv", csv), ("bot/docs/c.html", page), ("bot/docs/.hidden.txt", "no")]),
    )
    .unwrap();
    let (read, found) = adl::read(&path);
    assert!(found.is_empty(), "{found:?}");
    let read = read.unwrap();
    let Body::Know { passages, .. } = &read.agents[0].body else { panic!("{read:?}") };
    let texts: Vec<&str> = passages.iter().map(|p| p.text.as_str()).collect();
    assert_eq!(texts, [&*mark, "city: Bonn, price: 3,50", "Closed on Sunday & Monday."]);
    std::fs::write(&path, zipped(&[("../agents.yml", program)])).unwrap();
    assert_eq!(adl::read(&path).1[0].code, "adl-archive");
    let word = "<w:document><w:body><w:p><w:r><w:t>By </w:t></w:r><w:r><w:t>tram.</w:t></w:r></w:p><w:p><w:t>On foot.</w:t></w:p></w:body></w:document>";
    std::fs::create_dir_all(folder.path().join("p/docs")).unwrap();
    std::fs::write(folder.path().join("p/docs/way.docx"), zipped(&[("word/document.xml", word)])).unwrap();
    std::fs::write(folder.path().join("p/agents.yml"), program).unwrap();
    let read = adl::read(&folder.path().join("p")).0.unwrap();
    let Body::Know { passages, .. } = &read.agents[0].body else { panic!("{read:?}") };
    assert_eq!(passages.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["By tram.", "On foot."]);
}

#[test]
fn a_syntax_error_in_python_is_found_without_running_a_line() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no python3, so the syntax of Python files is not tested");
        return;
    }
    let program = "main:\n  type: flow agent\n  steps:\n  - call: find\n";
    let mark = tempfile::tempdir().unwrap();
    let touched = mark.path().join("ran");
    let tools = format!("open({:?}, 'w')\ndef find():\n    return (\n", touched.to_str().unwrap());
    let folder = project(program, &BTreeMap::from([("tools.py".to_owned(), tools)]));
    let (read, found) = adl::read(folder.path());
    assert!(read.is_none() && !touched.exists());
    assert_eq!(found.iter().map(|d| (d.code, &*d.origin.file, d.origin.line)).collect::<Vec<_>>(), [("adl-python", "tools.py", 3)]);
}

/// The programs of the documentation, each with the Python that follows it, else the page's last before it.
fn documented() -> Vec<(String, String, BTreeMap<String, String>)> {
    let mut out: Vec<(String, String, BTreeMap<String, String>)> = vec![];
    for page in ["docs/adl.md", "docs/adl-from-mica.md", "docs/adl-tutorial.md"] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
        let mut files = BTreeMap::new();
        for block in text.split("\n```").collect::<Vec<_>>().chunks(2).filter_map(|c| c.get(1)) {
            if let Some(program) = block.strip_prefix("yaml\n") {
                out.push((page.to_owned(), program.to_owned(), files.clone()));
            } else if let Some(python) = block.strip_prefix("python\n") {
                files.insert("tools.py".to_owned(), python.to_owned());
                out.last_mut().unwrap().2.clone_from(&files);
            } else if let Some(conversations) = block.strip_prefix("text\n").filter(|b| b.starts_with("conversations:") && page == "docs/adl-tutorial.md") {
                out.last_mut().unwrap().2.insert("conversations.yml".to_owned(), conversations.to_owned());
            }
        }
    }
    out
}

#[test]
fn programs_of_the_documentation_are_right() {
    let programs = documented();
    assert!(programs.len() >= 6, "only {}", programs.len());
    let mut tests = 0;
    for (page, program, files) in programs {
        let folder = project(&program, &files);
        let (read, found) = adl::read(folder.path());
        assert!(read.is_some() && found.is_empty(), "{page}: {found:?}\n{program}");
        if files.contains_key("conversations.yml") {
            let out = run(&["test", folder.path().join("conversations.yml").to_str().unwrap(), "--reasoner", "fast", "--agents"], folder.path());
            assert!(out.status.success(), "{page}: {}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
            tests += 1;
        }
    }
    assert_eq!(tests, 1);
}

#[test]
fn older_spellings_are_exported_in_todays_form_with_their_comments() {
    let old = "# the desk\nmain:  # first\n  steps:\n  - begin\n  - call: desk  # then\n  - next: bye\n  - end\n  - begin: bye\n  # at last\n  - bot: Bye\n  - end\ndesk:\n  type: KB agent\n  description: answers\n  faq:\n    q: When?\n    a: Soon.\n  exit:\n  - policy: say goodbye\n";
    let reading = adl::open(project(old, &BTreeMap::new()).path(), None).unwrap();
    assert!(reading.program.is_some());
    let new = reading.exported().unwrap();
    assert_eq!(
        new,
        "# the desk\nmain:  # first\n  type: flow agent\n  steps:\n  - call: desk  # then\n  - next: bye\n  bye:\n  # at last\n  - bot: Bye\ndesk:\n  type: kb agent\n  description: answers\n  faq:\n  - q: When?\n    a: Soon.\n  exit: \"say goodbye\"\n"
    );
    let again = adl::open(project(&new, &BTreeMap::new()).path(), None).unwrap();
    assert!(again.found.is_empty(), "{:?}", again.found);
    assert_eq!(again.exported().unwrap(), new);
    let several = "main:\n  type: kb agent\n  description: d\n  web:\n    - https://a.org  # first\n  file: ./docs\n  faq:\n  - {q: x, a: y}\n";
    let new = adl::open(project(several, &BTreeMap::new()).path(), None).unwrap().exported().unwrap();
    assert_eq!(new, "main:\n  type: kb agent\n  description: d\n  sources:\n    - https://a.org  # first\n    - ./docs\n  faq:\n  - {q: x, a: y}\n");
    let turned = "main:\n  type: kb agent\n  description: d\n  file: ./docs\n  web: [https://a.org]\n";
    let new = adl::open(project(turned, &BTreeMap::new()).path(), None).unwrap().exported().unwrap();
    assert_eq!(new, "main:\n  type: kb agent\n  description: d\n  sources:\n  - ./docs\n  - https://a.org\n");
}

#[test]
fn what_mica_does_otherwise_is_told_with_its_row() {
    let program = "tools: tools.py\nmain:\n  type: ensemble agent\n  description: chooses\n  contains: [ask]\n  fallback: be nice\nask:\n  type: flow agent\n  description: asks\n  args: [n]\n  steps:\n  - call: find\n    args: {city: Bonn}\n  - if: find.success and n > 3\n    then:\n    - next: more\n    - bot: 5\n    else:\n    - return: error, well, no\n  - set: {n: None}\n  more:\n  - user\n";
    let files = BTreeMap::from([("tools.py".to_owned(), "def find(city):\n    return [{'status': 'success'}]\n".to_owned())]);
    let reading = adl::open(project(program, &files).path(), None).unwrap();
    assert!(reading.program.is_some(), "{:?}", reading.found);
    let rows: Vec<(&str, u32)> = reading.compared_with_mica().iter().map(|d| (d.code, d.origin.line)).collect();
    for row in [
        ("P08", 1),
        ("M01", 2),
        ("H06", 6),
        ("T07", 12),
        ("T11", 13),
        ("C07", 14),
        ("C05", 14),
        ("C06", 14),
        ("F05", 16),
        ("P01", 17),
        ("S10", 19),
        ("S05", 20),
    ] {
        assert!(rows.contains(&row), "{row:?} is not among {rows:?}");
    }
}

fn run(arguments: &[&str], path: &Path) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_duologue")).args(arguments).arg(path).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_command_line_tells_of_mistakes_and_draws() {
    let wrong = project(
        "main:\n  type: ensemble agent\n  description: chooses\n  contains: [shpo]\nshop:\n  type: flow agent\n  description: sells\n  steps:\n  - user\n",
        &BTreeMap::new(),
    );
    let out = run(&["check", "--json"], wrong.path());
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(1));
    let first = &found[0];
    assert_eq!((&first["code"], &first["severity"], &first["path"]), (&"adl-unknown-agent".into(), &"error".into(), &"main.contains.0".into()));
    assert_eq!((&first["origin"]["file"], &first["origin"]["line"], &first["origin"]["column"]), (&"agents.yml".into(), &4.into(), &14.into()));
    assert!(first["message"].as_str().unwrap().contains("shpo") && first["help"].as_str().unwrap().contains("shop"));
    let out = run(&["step", "--agents"], wrong.path());
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(String::from_utf8_lossy(&out.stderr).contains("adl-unknown-agent"));
    let right = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/adl/shopping");
    let out = run(&["check"], &right);
    assert_eq!((out.status.code(), String::from_utf8_lossy(&out.stdout).trim()), (Some(0), "nothing is wrong"));
    let drawn = String::from_utf8(run(&["draw", "--at", "shopping.steps.4"], &right).stdout).unwrap();
    assert!(drawn.starts_with("digraph") && drawn.contains("call order") && drawn.contains("penwidth=3"), "{drawn}");
    let offline = run(&["check", "--offline"], &Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/adl/shell"));
    assert!(String::from_utf8_lossy(&offline.stdout).contains("needs a language model"));
}

/// A page is read when a question needs it, once, and not at all where that is forbidden.
#[test]
fn an_address_is_read_when_it_is_needed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/rules", listener.local_addr().unwrap());
    let page = "<html><body><p>Parcels weigh at most thirty kilos.</p><p>We deliver on Saturdays.</p></body></html>";
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}", page.len()).unwrap();
    });
    let program = format!("main:\n  type: kb agent\n  description: knows the rules of parcels\n  sources: ['{address}', 'http://127.0.0.1:1/none']\n");
    let folder = project(&program, &BTreeMap::new());
    let lines = "{\"session\":\"s\",\"text\":\"do you deliver on Saturdays?\"}\n{\"session\":\"s\",\"text\":\"how many kilos may parcels weigh\"}\n";
    let asked = |more: &[&str]| {
        let answers = step(folder.path(), Path::new(":memory:"), more, lines);
        answers.into_iter().map(|a| a["bot"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(asked(&["--no-fetch"]), [json!([]), json!([])]);
    assert_eq!(asked(&[]), [json!(["We deliver on Saturdays."]), json!(["Parcels weigh at most thirty kilos."])]);
}

/// Arbitrary proposals and arbitrary answers of functions do nothing that the program does not provide for.
#[test]
fn the_adversary_has_no_effect_that_is_not_permitted() {
    for example in ["shopping", "bookstore"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/adl").join(example);
        let out = run(&["test", "--adversary", "5", "--steps", "60", "--reasoner", "fast", "--agents"], &folder);
        let told = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && told.contains(" 0 turns broke"), "{example}: {told}{}", String::from_utf8_lossy(&out.stderr));
    }
}

/// A condition as it was read, in one line.
fn shown(expr: &Expr) -> String {
    let join = |parts: &[Expr], by: &str| format!("({})", parts.iter().map(shown).collect::<Vec<_>>().join(by));
    let side = |s: &expr::Side| if s.quoted { format!("'{}'", s.text) } else { s.text.clone() };
    match expr {
        Expr::All(parts) => join(parts, " & "),
        Expr::Any(parts) => join(parts, " | "),
        Expr::Not(part) => format!("!{}", shown(part)),
        Expr::Compare(a, op, b) => format!("{} {op:?} {}", side(a), side(b)),
        Expr::Match(pattern, s) => format!("match {pattern} {}", side(s)),
        Expr::Claims(phrases, _) => format!("claims {phrases:?}"),
        Expr::Clicks(phrases, _) => format!("clicks {phrases:?}"),
        Expr::Bare(s) => side(s),
        Expr::Words(words, _) => format!("words {words:?}"),
    }
}

#[test]
fn conditions_are_read_as_they_are_meant() {
    let names = |t: &str| matches!(t, "a" | "b" | "x.success" | "claim number" | "this and that");
    for (text, read) in [
        ("a == 1", "a Is 1"),
        ("a == on hold", "a Is on hold"),
        ("a=='x and y' or b != None", "(a Is 'x and y' | b IsNot None)"),
        ("a == 1 and b == 2 or a == 3", "((a Is 1 & b Is 2) | a Is 3)"),
        ("a == 1 and (b == 2 or not a == 3)", "(a Is 1 & (b Is 2 | !a Is 3))"),
        ("not (a == 1)", "!a Is 1"),
        ("x.success and the user claims \"yes\"", "(x.success & claims [\"yes\"])"),
        ("the user claims \"yes\", \"sure, why not\" or a == 1", "(claims [\"yes\", \"sure, why not\"] | a Is 1)"),
        ("the user claims \"yes\" or \"sure\"", "claims [\"yes\", \"sure\"]"),
        ("The user claims 'I don\\'t know'", "claims [\"I don't know\"]"),
        ("the user claims \"say \\\"hi\\\"\"", "claims [\"say \\\"hi\\\"\"]"),
        ("the user clicks \"Buy\"", "clicks [\"Buy\"]"),
        ("re.match(\"^[0-9]{2,4}$\", a)", "match ^[0-9]{2,4}$ a"),
        ("re.match(r'(\\d+), \\w', a) and b > 5", "(match (\\d+), \\w a & b More 5)"),
        ("claim number == 5", "claim number Is 5"),
        ("this and that == 5 and a == 1", "(this and that Is 5 & a Is 1)"),
        ("the user is in a hurry and sounds angry", "words \"the user is in a hurry and sounds angry\""),
        ("the user is in a hurry (or late)", "words \"the user is in a hurry (or late)\""),
        ("the user is late and a == 1", "(words \"the user is late\" & a Is 1)"),
        ("a", "a"),
        ("not a", "!a"),
        ("don't stop", "words \"don't stop\""),
        ("a <= -3.5", "a AtMost -3.5"),
    ] {
        let (expr, faults) = expr::read(text, &names);
        assert_eq!(expr.as_ref().map(shown).as_deref(), Some(read), "{text}: {faults:?}");
        assert!(faults.is_empty(), "{text}: {faults:?}");
    }
    for text in ["a ==", "== 1", "a = 1", "(a == 1", "a == 1)", "a == 1 b == 2", "a == 1 and", "re.match(a)", "a == \"x", "a == 1 == 2", ""] {
        assert!(expr::read(text, &names).0.is_none(), "{text} is read as {:?}", expr::read(text, &names).0);
    }
}

/// A conversation with a program.
#[derive(Deserialize)]
struct Conversation {
    name: String,
    program: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    turns: Vec<Turn>,
}

/// What is sent, and what has to come back as far as it is said.
#[derive(Deserialize)]
struct Turn {
    text: Option<String>,
    silent_s: Option<u64>,
    decisions: Option<Value>,
    /// Nothing is given: the embedded translator decides.
    #[serde(default)]
    offline: bool,
    bot: Option<Vec<String>>,
    closed: Option<bool>,
    floor: Option<Vec<String>>,
    args: Option<Value>,
    outcomes: Option<Value>,
    asked: Option<Value>,
    refused: Option<Value>,
}

impl Turn {
    /// The line that `step` reads. What decides is given, so that nobody guesses, unless the turn says otherwise.
    fn line(&self) -> String {
        let mut line = json!({ "session": "s" });
        if !self.offline {
            line["decisions"] = self.decisions.clone().unwrap_or_else(|| json!([]));
        }
        if let Some(text) = &self.text {
            line["text"] = text.as_str().into();
        }
        if let Some(silent) = self.silent_s {
            line["silent_s"] = silent.into();
        }
        line.to_string()
    }

    /// What of an answer is not as it has to be.
    fn differs(&self, got: &Value) -> Vec<String> {
        let mut out = vec![];
        let mut whole = |name: &str, want: Option<Value>| {
            if let Some(want) = want.filter(|w| got[name] != *w) {
                out.push(format!("{name}: wanted {want}, got {}", got[name]));
            }
        };
        whole("bot", self.bot.as_ref().map(|b| json!(b)));
        whole("closed", self.closed.map(Value::from));
        whole("floor", self.floor.as_ref().map(|f| json!(f)));
        whole("asked", self.asked.clone());
        whole("refused", self.refused.clone());
        for (name, want) in [("args", &self.args), ("outcomes", &self.outcomes)] {
            for (agent, values) in want.iter().flat_map(|w| w.as_object().unwrap()) {
                for (key, value) in values.as_object().unwrap() {
                    let found = &got[name][agent][key];
                    if found != value {
                        out.push(format!("{name}.{agent}.{key}: wanted {value}, got {found}"));
                    }
                }
            }
        }
        if !got["error"].is_null() {
            out.push(format!("error: {}", got["error"]));
        }
        out
    }
}

/// Runs `step` with more arguments on lines; the answers, one a line.
fn step(folder: &Path, store: &Path, more: &[&str], lines: &str) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_duologue"))
        .args(["step", "--no-why", "--reasoner", "fast", "--agents"])
        .arg(folder)
        .arg("--store")
        .arg(store)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    let answers: Vec<Value> = String::from_utf8(out.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(answers.len(), lines.lines().count(), "{}", String::from_utf8_lossy(&out.stderr));
    answers
}

/// Every conversation comes out as its rows say, in one process and with the process ended between any two turns.
#[test]
fn conversations_go_as_the_language_says() {
    let cases: Vec<Conversation> = serde_saphyr::from_str(&std::fs::read_to_string(data("conversations.yaml")).unwrap()).unwrap();
    let only = std::env::var("ADL_CASE").unwrap_or_default();
    let mut wrong = String::new();
    for (number, case) in cases.iter().enumerate().filter(|(_, c)| c.name.contains(&only)) {
        let folder = project(&case.program, &case.files);
        let place = tempfile::tempdir().unwrap();
        let lines: String = case.turns.iter().map(|t| t.line() + "\n").collect();
        let whole = step(folder.path(), &place.path().join("whole.db"), &[], &lines);
        let mut told: Vec<String> = vec![];
        for (n, (turn, got)) in case.turns.iter().zip(&whole).enumerate() {
            told.extend(turn.differs(got).iter().map(|d| format!("  turn {n}: {d}")));
        }
        // A process of its own for every turn costs a start, so every third conversation is taken twice.
        if told.is_empty() && case.turns.len() > 1 && number % 3 == 0 {
            let broken: Vec<Value> = lines.lines().flat_map(|l| step(folder.path(), &place.path().join("broken.db"), &[], &format!("{l}\n"))).collect();
            for (n, (turn, got)) in case.turns.iter().zip(&broken).enumerate() {
                told.extend(turn.differs(got).iter().map(|d| format!("  turn {n}, after a restart: {d}")));
            }
        }
        if !told.is_empty() {
            let _ = writeln!(wrong, "{}\n{}", case.name, told.join("\n"));
        }
    }
    let failed = wrong.lines().filter(|l| !l.starts_with(' ')).count();
    assert!(wrong.is_empty(), "{failed} of {} fail\n{wrong}", cases.len());
}

/// The examples' own conversations, mostly in plain words that the embedded translator understands, run by `test --agents`.
#[test]
fn conversations_of_the_examples_hold_offline() {
    let mut seen = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/adl")).unwrap() {
        let folder = entry.unwrap().path();
        let conversations = folder.join("conversations.yml");
        let out = run(&["test", conversations.to_str().unwrap(), "--reasoner", "fast", "--agents"], &folder);
        assert!(out.status.success(), "{}\n{}{}", folder.display(), String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} examples");
}

/// Hard messages, kept aside, to programs that nothing was tuned on: what is reached without a language model must not get less.
#[test]
fn messages_without_a_word_of_the_program_do_not_get_worse() {
    let mut held = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/adl/offline")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let out = run(&["test", folder.join("messages.yml").to_str().unwrap(), "--reasoner", "fast", "--agents"], &folder);
        let told = String::from_utf8_lossy(&out.stdout).into_owned();
        let last = told.lines().last().unwrap_or_default();
        let hold = last.strip_prefix("32 conversations: ").and_then(|l| l.split_once(" hold")).map(|(n, _)| n.parse::<usize>().unwrap());
        held += hold.unwrap_or_else(|| panic!("{}: {told}", folder.display()));
    }
    assert!(held >= 38, "only {held} of 160");
}
