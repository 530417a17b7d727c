//! The cores as a program of their own (`bpf/cores_test.c`), compiled here, with a pipe to and from.

use crate::sequence::{Outcome, Sequence};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// Bytes of a `struct outcome`.
const OUTCOME: usize = 24;

pub(crate) struct Cores {
    child: Child,
    to: Option<ChildStdin>,
    from: ChildStdout,
}

/// Compiles them, once for all tests.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("cores_test.c"))
}

/// A program of `bpf/`, compiled for this machine.
pub(crate) fn compiled(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf").join(name);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.trim_end_matches(".c"));
    // Undefined behavior ends the program.
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"];
    let done = Command::new("cc").args(flags).arg("-o").arg(&program).arg(&source).status();
    assert!(done.expect("a C compiler, as `cc`, is needed to test the cores").success(), "{} compiles", source.display());
    program
}

impl Cores {
    pub(crate) fn start() -> Cores {
        let mut child = Command::new(program()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the cores start");
        let (to, from) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Cores { child, to, from }
    }

    /// Has the cores run the sequences, and compares what comes of every event. Returns how many there were.
    pub(crate) fn compare(&mut self, batch: &[Sequence]) -> u64 {
        let bytes: Vec<u8> = batch.iter().flat_map(|s| s.bytes.iter().copied()).collect();
        let to = self.to.as_mut().expect("it runs");
        to.write_all(&(bytes.len() as u32).to_le_bytes()).and_then(|()| to.write_all(&bytes)).expect("the cores take events");
        to.flush().expect("the cores take events");
        let mut events = 0;
        for s in batch {
            let mut answer = vec![0; s.outcomes.len() * OUTCOME];
            self.from.read_exact(&mut answer).expect("the cores answer");
            let cores: Vec<Outcome> = answer.chunks_exact(OUTCOME).map(Outcome::read).collect();
            if let Some(i) = (0..cores.len()).find(|&i| cores[i] != s.outcomes[i]) {
                let before: Vec<String> = s.notes[i.saturating_sub(6)..=i].iter().map(|n| format!("{n:?}")).collect();
                panic!(
                    "{}\nsequence {}, event {i}: the simulator has {:?}, the core {:?}\nbefore: {:?}\n{}",
                    s.title,
                    s.number,
                    s.outcomes[i],
                    cores[i],
                    i.checked_sub(1).map(|p| s.outcomes[p]),
                    before.join("\n")
                );
            }
            events += cores.len() as u64;
        }
        events
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        self.to = None;
        if std::thread::panicking() {
            // The child may wait for a reader of its output.
            let _ = self.child.kill();
        }
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.expect("the cores end").success(), "the cores ended in an error");
        }
    }
}
