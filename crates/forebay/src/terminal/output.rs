//! Standard output, which may be a pipe that closes early.

use crate::terminal::escape::escape;
use crate::terminal::failure::Failure;
use crate::terminal::style;
use crate::terminal::wrap::{self, wrap};
use std::io::{self, Write};

/// Output formats of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NumberFormat {
    /// Text for reading
    Table,
    /// One JSON object, in SI units
    Json,
}

/// Prints `text` for reading, in lines that fit the terminal.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_data(&wrap(text, wrap::stdout()))
}

/// Prints `text` as it is, for programs and files. A reader that closes the pipe, as in `forebay list | head -1`, is no failure.
pub(crate) fn print_data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(escape(text, style::stdout()).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Machine(format!("cannot write to standard output: {e}"))),
        _ => Ok(()),
    }
}

/// Prints the notes of the scenario reader on standard error; standard output begins with the result.
pub(crate) fn remark(notes: &[String]) {
    let head = style::paint(style::stderr(), style::DIM, "note:");
    for note in notes {
        // A closed standard error has no reader.
        let _ = writeln!(io::stderr().lock(), "{}", wrap(&format!("{head} {}", escape(note, false)), wrap::stderr()));
    }
}

/// Prints a warning on standard error.
pub(crate) fn warn(text: &str) {
    // A closed standard error leaves no place to print.
    let head = style::paint(style::stderr(), style::WARNING, "warning:");
    let _ = writeln!(io::stderr().lock(), "{}", wrap(&format!("{head} {}", escape(text, false)), wrap::stderr()));
}
