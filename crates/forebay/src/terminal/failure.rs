//! Failures of a command: message and exit code.

use crate::terminal::escape::escape;
use crate::terminal::style;
use crate::terminal::wrap::{self, wrap};
use forebay_experiment::report::RunError;
use forebay_runner::ExplainError;
use forebay_runner::sweep::SweepError;
use forebay_scenario::Errors;
use forebay_store::StoreError;
use miette::GraphicalReportHandler;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Number of errors of one file that are shown; further ones are counted.
const MAX_SHOWN: usize = 50;

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The scenario is wrong.
    Scenario(Errors),
    /// Results could not be written.
    Store(StoreError),
    /// The engine cannot run this scenario.
    Engine(String),
    /// A file that would be replaced.
    Taken(PathBuf),
    /// Any other error of the machine.
    Machine(String),
    /// Arguments that exclude each other, or have illegal values.
    Usage(String),
    /// The user interrupted the command.
    Interrupted,
    /// The user interrupted a sweep.
    Stopped {
        /// Runs with results.
        done: usize,
        /// Runs of the sweep.
        total: usize,
    },
    /// Already printed in another form; only the exit code is left.
    Reported(u8),
}

impl From<Errors> for Failure {
    fn from(e: Errors) -> Failure {
        Failure::Scenario(e)
    }
}

impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Failure {
        match e {
            StoreError::Interrupted => Failure::Interrupted,
            other => Failure::Store(other),
        }
    }
}

impl From<RunError> for Failure {
    fn from(e: RunError) -> Failure {
        match e {
            RunError::Interrupted => Failure::Interrupted,
            other => Failure::Engine(other.to_string()),
        }
    }
}

impl From<ExplainError> for Failure {
    fn from(e: ExplainError) -> Failure {
        match e {
            ExplainError::Store(e) => e.into(),
            ExplainError::Scenario(e) => e.into(),
            ExplainError::Run(e) => e.into(),
            ExplainError::Other(text) => Failure::Usage(text),
        }
    }
}

impl From<SweepError> for Failure {
    fn from(e: SweepError) -> Failure {
        match e {
            SweepError::Scenario(e) => Failure::Scenario(e),
            SweepError::Store(e) => Failure::Store(e),
            SweepError::Run { .. } => Failure::Engine(e.to_string()),
            SweepError::File(..) | SweepError::NoThread(_) | SweepError::Foreign | SweepError::Missing { .. } => {
                Failure::Machine(e.to_string())
            }
            SweepError::Different(..) => Failure::Usage(e.to_string()),
            SweepError::Interrupted { done, total } => Failure::Stopped { done, total },
        }
    }
}

impl Failure {
    /// Number of the exit code.
    pub(crate) fn number(&self) -> u8 {
        match self {
            // A taken output directory is a wrong argument, found before anything ran.
            Failure::Scenario(_)
            | Failure::Engine(_)
            | Failure::Taken(_)
            | Failure::Usage(_)
            | Failure::Store(
                StoreError::Exists(_)
                | StoreError::NotARun(_)
                | StoreError::ForeignFile(_)
                | StoreError::ForeignReport(_)
                | StoreError::NotPlain { .. },
            ) => 2,
            Failure::Store(_) | Failure::Machine(_) => 1,
            Failure::Interrupted | Failure::Stopped { .. } => 130,
            Failure::Reported(code) => *code,
        }
    }

    /// The text for a person; with drawings and colors when `fancy`.
    pub(crate) fn text(&self, fancy: bool) -> String {
        match self {
            Failure::Scenario(errors) if fancy => graphical(errors),
            Failure::Scenario(errors) => errors.render(),
            Failure::Store(e) => simple(fancy, &e.to_string(), Some(&e.help())),
            Failure::Taken(path) => {
                let help = "add --force to replace a plain file, or choose another path";
                simple(fancy, &format!("`{}` exists already", path.display()), Some(help))
            }
            Failure::Machine(message) | Failure::Engine(message) | Failure::Usage(message) => simple(fancy, message, None),
            Failure::Interrupted => "interrupted; no results were kept\n".into(),
            Failure::Stopped { total: 0, .. } => "interrupted while the points were checked; nothing ran\n".into(),
            Failure::Stopped { done, total } => {
                format!("interrupted; results are kept. Run the same command again to continue: {done} of {total} runs done\n")
            }
            Failure::Reported(_) => String::new(),
        }
    }

    /// Prints the failure on standard error.
    pub(crate) fn report(&self) {
        // A closed standard error leaves no place to print.
        let text = escape(&self.text(style::stderr()), style::stderr());
        // Errors of scenarios show lines of files, drawn with a width of their own.
        let text = if matches!(self, Failure::Scenario(_)) { text } else { wrap(&text, wrap::stderr()) };
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

fn simple(fancy: bool, message: &str, help: Option<&str>) -> String {
    let mut out = format!("{} {message}\n", style::paint(fancy, style::ERROR, "error:"));
    if let Some(help) = help {
        let _ = writeln!(out, "  {} {help}", style::paint(fancy, style::DIM, "="));
    }
    out
}

fn graphical(errors: &Errors) -> String {
    let handler = GraphicalReportHandler::new();
    let handler = wrap::stderr().map_or(handler.clone(), |w| handler.with_width(w));
    let mut out = String::new();
    for error in errors.list().iter().take(MAX_SHOWN) {
        if handler.render_report(&mut out, error).is_err() {
            return errors.render();
        }
        out.push('\n');
    }
    if errors.list().len() > MAX_SHOWN {
        let _ = writeln!(out, "and {} more errors", errors.list().len() - MAX_SHOWN);
    }
    out
}
