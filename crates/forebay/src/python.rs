//! Parts of the program in Python, started as a process of their own.

use crate::interrupt;
use crate::terminal::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::{Command, Stdio};

/// Environment variable with the interpreter that has the package `forebay`, by name or path.
const PYTHON: &str = "FOREBAY_PYTHON";
/// Name of the package.
const PACKAGE: &str = "forebay";
/// Environment variable with the key of the sources from which this program was built.
const SOURCES: &str = "FOREBAY_SOURCES";
/// Exit code of the probe if a package is missing; no other step ends with it.
const NOT_INSTALLED: i32 = 69;
/// Beginning of every program for the interpreter: Python puts the current folder before its own modules, and a file `numpy.py` there would
/// run instead of the package. `-P` does the same from Python 3.11 on.
const NOT_FROM_HERE: &str = "import sys\nif sys.path and sys.path[0] == '':\n    del sys.path[0]\n";
/// Looks for the packages without importing them, which takes a second and happens later anyway.
const PROBE: &str = "from importlib.util import find_spec\nlacks = [m for m in sys.argv[1:] if not find_spec(m)]\nif lacks:\n    print('no module', *lacks, file=sys.stderr)\n    sys.exit(69)\nprint(hasattr(sys.flags, 'safe_path'))";
/// Output of the probe if the interpreter supports `-P`.
const SAFE_PATH: &str = "True";
/// Runs a module as `-m` does.
const MODULE: &str = "import runpy\nname = sys.argv.pop(1)\nrunpy.run_module(name, run_name='__main__', alter_sys=True)";

/// Runs a text as a program. Modules of the current folder are not imported.
fn text_of(program: &OsStr, text: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["-c", &format!("{NOT_FROM_HERE}{text}")]);
    command
}

/// `python -m NAME` by this interpreter, of any version, without modules of the current folder.
pub(crate) fn module_of(program: &OsStr, name: &str) -> Command {
    let mut command = text_of(program, MODULE);
    command.arg(name);
    command
}

/// An interpreter with the needed packages.
pub(crate) struct Python {
    program: OsString,
    /// True if it supports `-P`.
    safe_path: bool,
}

impl Python {
    /// Finds it.
    ///
    /// # Errors
    /// It cannot be started, or lacks one of the `modules` that `what` needs, which the package's `extra` installs.
    pub(crate) fn with(what: &str, modules: &[&str], extra: &str) -> Result<Python, Failure> {
        let mut python = Python { program: std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into()), safe_path: false };
        let probe = python.program(PROBE).args(modules).output().map_err(|e| python.start(&e))?;
        if probe.status.code() == Some(NOT_INSTALLED) {
            let (why, program) = (String::from_utf8_lossy(&probe.stderr), python.program.to_string_lossy());
            // Beside an installed package pip installs the missing packages alone, from wherever it was installed.
            let install = if why.split_whitespace().any(|word| word == PACKAGE) {
                format!("`{program} -m pip install '.[{extra}]'` in the repository")
            } else {
                format!("`{program} -m pip install '{PACKAGE}[{extra}]'`")
            };
            return Err(Failure::Machine(format!(
                "`{program}` lacks packages for {what} ({}); {install} installs them, and {PYTHON} names another Python",
                why.trim()
            )));
        }
        python.safe_path = String::from_utf8_lossy(&probe.stdout).trim() == SAFE_PATH;
        Ok(python)
    }

    /// `python -m NAME`, which refuses to run if the package was not built from the sources of this program.
    pub(crate) fn module(&self, name: &str) -> Command {
        let mut command = if self.safe_path {
            let mut command = Command::new(&self.program);
            command.args(["-P", "-m"]);
            command
        } else {
            self.program(MODULE)
        };
        // The interpreters that the module starts inherit it.
        command.arg(name).env(SOURCES, forebay_runner::sweep::key::SOURCES).env("PYTHONSAFEPATH", "1");
        command
    }

    fn program(&self, text: &str) -> Command {
        text_of(&self.program, text)
    }

    /// Runs it with this on its standard input.
    ///
    /// # Errors
    /// It ends with an error, which it has printed.
    pub(crate) fn wait(&self, command: &mut Command, input: Option<&str>) -> Result<(), Failure> {
        // Ctrl-C reaches both; this process waits for the exit code of the other.
        interrupt::listen()?;
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().map_err(|e| self.start(&e))?;
        if let (Some(mut pipe), Some(text)) = (child.stdin.take(), input) {
            // A process that does not read reports the reason by its exit code.
            let _ = pipe.write_all(text.as_bytes());
        }
        let status = child.wait().map_err(|e| self.start(&e))?;
        match status.code() {
            Some(0) => Ok(()),
            // It has printed the reason. A process that a signal ended has no code.
            code => Err(Failure::Reported(code.and_then(|c| u8::try_from(c).ok()).unwrap_or(130))),
        }
    }

    fn start(&self, e: &std::io::Error) -> Failure {
        let name = self.program.to_string_lossy();
        Failure::Machine(format!("`{name}` cannot be started: {e}; {PYTHON} names another Python"))
    }
}
