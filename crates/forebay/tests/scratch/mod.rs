//! Common parts of the tests of the built command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A small scenario that any machine runs in well under a second.
pub(crate) const SMALL: &str = r#"
name = "small"
duration = "20ms"

[topology]
kind = "many-to-one"
senders = 4
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "100pkt" }

[transport]
stack = "ns2"
cc = "newreno"

[[workload]]
kind = "long"
from = "senders"
to = "receiver"
"#;

/// A fresh directory, removed at the end.
pub(crate) struct Scratch(pub PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        // Tests run side by side in one process, and two may choose the same name.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let path = std::env::temp_dir().join(format!("forebay-cli-{name}-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.0.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        command(&self.0, args)
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        forebay(&self.0, args)
    }

    /// Runs it and returns its output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let out = self.run(args);
        assert!(out.status.success(), "{args:?}: {}{}", text(&out.stdout), text(&out.stderr));
        text(&out.stdout)
    }

    pub(crate) fn entries(&self, under: &str) -> Vec<String> {
        let Ok(dir) = fs::read_dir(self.0.join(under)) else { return Vec::new() };
        let mut names: Vec<String> = dir.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_forebay"));
    c.current_dir(dir).args(args).env_remove("NO_COLOR").env_remove("COLUMNS");
    c
}

pub(crate) fn forebay(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

/// Longest wait for a condition, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until the condition holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
