//! Colors: on terminals, unless `NO_COLOR` is set (<https://no-color.org>) or the terminal is dumb.

use std::env;
use std::io::IsTerminal;

/// Headings.
pub(crate) const BOLD: &str = "1";
/// Less important text.
pub(crate) const DIM: &str = "2";
/// Errors.
pub(crate) const ERROR: &str = "1;31";
/// Warnings.
pub(crate) const WARNING: &str = "1;33";
/// Names in lists and column heads.
pub(crate) const NAME: &str = "1;36";

fn wanted() -> bool {
    env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// True if standard output takes colors.
pub(crate) fn stdout() -> bool {
    std::io::stdout().is_terminal() && wanted()
}

/// True if standard error takes colors.
pub(crate) fn stderr() -> bool {
    std::io::stderr().is_terminal() && wanted()
}

/// `text` in the style of an SGR `code`, when `on`.
pub(crate) fn paint(on: bool, code: &str, text: &str) -> String {
    if on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
