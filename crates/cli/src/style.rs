//! Colours: on terminals, unless `NO_COLOR` is set (<https://no-color.org>) or the terminal is dumb.

use std::env;
use std::io::IsTerminal;

/// Headings.
pub const BOLD: &str = "1";
/// What matters less.
pub const DIM: &str = "2";
/// Errors.
pub const ERROR: &str = "1;31";
/// Warnings.
pub const WARNING: &str = "1;33";
/// Names in lists and column heads.
pub const NAME: &str = "1;36";

fn wanted() -> bool {
    env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Whether standard output takes colours.
pub fn stdout() -> bool {
    std::io::stdout().is_terminal() && wanted()
}

/// Whether standard error takes colours.
pub fn stderr() -> bool {
    std::io::stderr().is_terminal() && wanted()
}

/// `text` in the style of an SGR `code`, when `on`.
pub fn paint(on: bool, code: &str, text: &str) -> String {
    if on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
