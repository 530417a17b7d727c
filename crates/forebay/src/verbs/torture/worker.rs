//! A process that checks cases for another one. A panic, a hang, or a lack of memory ends the worker only, and is a failure of its case.

use crate::interrupt;
use crate::python::module_of;
use crate::terminal::failure::Failure;
use forebay_torture::{Case, Kind, Verdict, Work, check};
use serde_json::{Value as Json, json};
use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{self, Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time of a case. The simulator ends runs that are too long by itself; this one no longer reports progress.
const LONGEST: Duration = Duration::from_secs(900);
/// Most memory of a case, bytes.
const MOST_MEMORY: u64 = 3 << 30;
/// Time between two checks of the memory of a worker.
const PERIOD: Duration = Duration::from_millis(200);

/// Outcome of a case, as [`Verdict`], where a failure may also be the end of the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed(Work),
    Cut(Work),
    Refused(String),
    Failed(String),
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Outcome {
        match verdict {
            Verdict::Passed(work) => Outcome::Passed(work),
            Verdict::Cut(work) => Outcome::Cut(work),
            Verdict::Refused(why) => Outcome::Refused(why),
            Verdict::Failed(why) => Outcome::Failed(why),
        }
    }
}

impl Outcome {
    /// One line of JSON.
    fn line(&self) -> String {
        let work = |kind: &str, w: &Work| json!([kind, w.connections, w.runs, w.transmissions, w.unfinished]);
        match self {
            Outcome::Passed(w) => work("passed", w),
            Outcome::Cut(w) => work("cut", w),
            Outcome::Refused(why) => json!(["refused", why]),
            Outcome::Failed(why) => json!(["failed", why]),
        }
        .to_string()
    }

    fn read(line: &str) -> Option<Outcome> {
        let answer: Json = serde_json::from_str(line).ok()?;
        let number = |at: usize| answer.get(at).and_then(Json::as_u64).unwrap_or_default();
        let work = Work { connections: number(1), runs: number(2), transmissions: number(3), unfinished: number(4) };
        let why = answer.get(1).and_then(Json::as_str).unwrap_or_default().to_owned();
        Some(match answer.get(0)?.as_str()? {
            "passed" => Outcome::Passed(work),
            "cut" => Outcome::Cut(work),
            "refused" => Outcome::Refused(why),
            "failed" => Outcome::Failed(why),
            _ => return None,
        })
    }
}

/// Reads cases from standard input, one a line as its sort and text in JSON, and writes their outcomes. Ends the process when the input ends, also during
/// a case: then the other process has ended.
pub(super) fn serve() -> Result<(), Failure> {
    let (sender, requests) = mpsc::channel();
    let read = move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        lines.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        process::exit(0);
    };
    thread::Builder::new().spawn(read).map_err(|e| Failure::Machine(format!("cannot start a thread: {e}")))?;
    let mut out = io::stdout().lock();
    for line in requests {
        let outcome = match requested(&line) {
            Ok(case) => check(&case).into(),
            Err(why) => Outcome::Refused(why),
        };
        if writeln!(out, "{}", outcome.line()).and_then(|()| out.flush()).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// The case of a line.
fn requested(line: &str) -> Result<Case, String> {
    let (kind, text): (String, String) = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let case = Case::read(&text)?;
    Ok(Kind::NAMES.iter().find(|(name, _)| *name == kind).map_or(case.clone(), |(_, kind)| case.of_kind(*kind)))
}

/// A worker process, started when it is needed.
#[derive(Default)]
pub(super) struct Worker {
    running: Option<Running>,
}

struct Running {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
    errors: Receiver<String>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Worker {
    pub(super) fn new() -> Worker {
        Worker::default()
    }

    /// Ends the process.
    fn stop(&mut self) -> Option<Running> {
        let mut running = self.running.take()?;
        // It may have ended by itself.
        let _ = running.child.kill();
        let _ = running.child.wait();
        Some(running)
    }

    fn start(&mut self) -> Result<&mut Running, Failure> {
        if self.running.is_none() {
            self.running = Some(Running::start().map_err(|e| Failure::Machine(format!("cannot start a worker: {e}")))?);
        }
        self.running.as_mut().ok_or_else(|| Failure::Machine("cannot start a worker".into()))
    }

    /// Checks a case. `None` if an interrupt has ended the check.
    pub(super) fn check(&mut self, case: &Case) -> Result<Option<Outcome>, Failure> {
        let running = self.start()?;
        let request = json!([case.kind().name(), case.text()]).to_string();
        // A worker that cannot read has ended, and so gives no answer.
        let _ = writeln!(running.requests, "{request}").and_then(|()| running.requests.flush());
        let begin = Instant::now();
        loop {
            let failure = match running.answers.recv_timeout(PERIOD) {
                Ok(line) => match Outcome::read(&line) {
                    Some(outcome) => return Ok(Some(outcome)),
                    None => format!("the worker answers `{line}`"),
                },
                Err(RecvTimeoutError::Timeout) if interrupt::requested() => {
                    self.stop();
                    return Ok(None);
                }
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > LONGEST => {
                    format!("hangs: not over after {} s", LONGEST.as_secs())
                }
                Err(RecvTimeoutError::Timeout) => match memory(running.child.id()) {
                    Some(bytes) if bytes > MOST_MEMORY => "takes too much memory: more than 3 GiB".to_owned(),
                    _ => continue,
                },
                Err(RecvTimeoutError::Disconnected) => String::new(),
            };
            let Some(ended) = self.stop() else { return Ok(Some(Outcome::Failed(failure))) };
            let said: Vec<String> = ended.errors.iter().collect();
            return Ok(Some(Outcome::Failed(if failure.is_empty() { panic_message(&said) } else { failure })));
        }
    }
}

/// The message of a panic among the lines that a worker printed.
fn panic_message(said: &[String]) -> String {
    match said.iter().position(|line| line.contains("panicked at")) {
        Some(at) => format!("panics {}", said[at..].iter().take(4).map(|l| l.trim()).collect::<Vec<_>>().join(" ")),
        None => format!("ends without an answer: {}", said.join(" ")),
    }
}

/// Resident memory of a process, bytes; `None` where the system does not tell.
fn memory(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The command that starts a worker, for the file of this program and the name by which it was started.
fn program(own: &Path, started_as: Option<OsString>) -> Command {
    // In the Python package this program is an interpreter, which finds the package by the path of its environment.
    let mut command = if own.file_stem().is_some_and(|name| name.to_string_lossy().starts_with("python")) {
        module_of(&started_as.unwrap_or(own.into()), "forebay")
    } else {
        Command::new(own)
    };
    command.args(["torture", "--worker"]);
    command
}

impl Running {
    fn start() -> io::Result<Running> {
        let mut command = program(&env::current_exe()?, env::args_os().next());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A signal from the terminal is for this process, which ends its worker.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let pipe = |end: Option<_>| end.ok_or_else(|| io::Error::other("no pipe"));
        let requests = pipe(child.stdin.take())?;
        let answers = lines(child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?)?;
        let errors = lines(child.stderr.take().ok_or_else(|| io::Error::other("no pipe"))?)?;
        Ok(Running { child, requests, answers, errors })
    }
}

/// The lines of a pipe, read by a thread so that the writer never waits.
fn lines(pipe: impl Read + Send + 'static) -> io::Result<Receiver<String>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_platform::files::TempDir;

    #[test]
    fn outcomes_roundtrip() {
        let work = Work { connections: 1, runs: 2, transmissions: 3, unfinished: 4 };
        for outcome in
            [Outcome::Passed(work), Outcome::Cut(work), Outcome::Refused("a\nb".into()), Outcome::Failed("c: \"d\"".into())]
        {
            assert_eq!(Outcome::read(&outcome.line()), Some(outcome));
        }
        assert_eq!(Outcome::read("no answer"), None);
    }

    /// `-m` alone would run a `forebay.py` of the current folder.
    #[test]
    fn worker_of_interpreter_skips_current_folder() {
        let here = TempDir::create(&env::temp_dir(), "forebay-test-worker").unwrap();
        let site = here.path().join("site/forebay");
        std::fs::create_dir_all(&site).unwrap();
        std::fs::write(site.join("__init__.py"), "").unwrap();
        std::fs::write(site.join("__main__.py"), "import sys\nprint('the package', *sys.argv[1:])\n").unwrap();
        for name in ["forebay", "runpy"] {
            std::fs::write(here.path().join(format!("{name}.py")), "print('the current folder')\n").unwrap();
        }
        let mut command = program(Path::new("/usr/bin/python3.10"), Some("python3".into()));
        command.current_dir(here.path()).env_remove("PYTHONSAFEPATH").env("PYTHONPATH", here.path().join("site"));
        match command.output() {
            Ok(done) => assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "the package torture --worker"),
            // No Python on this machine.
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::NotFound),
        }
    }

    #[test]
    fn panics_are_named_by_their_place() {
        let said = ["warning".to_owned(), "thread 'main' panicked at a.rs:1:2:".to_owned(), "overflow".to_owned()];
        assert_eq!(panic_message(&said), "panics thread 'main' panicked at a.rs:1:2: overflow");
        assert_eq!(panic_message(&["killed".to_owned()]), "ends without an answer: killed");
    }
}
