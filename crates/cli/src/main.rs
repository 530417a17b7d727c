//! The `forebay` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(forebay_cli::run(std::env::args_os()))
}
