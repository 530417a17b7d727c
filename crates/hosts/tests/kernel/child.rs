//! This program again, as a process that can be killed: attaches in a namespace and says so.

use forebay_hosts::attach::{Request, attach};
use forebay_hosts::privileges;
use std::process::ExitCode;

/// The first argument of such a process.
pub(crate) const WORD: &str = "as-a-child";

/// `NAMESPACE PROGRAM NAME PREFIX|default`
pub(crate) fn run(args: &[String]) -> ExitCode {
    let [namespace, program, name, who] = args else { return ExitCode::from(2) };
    crate::lab::enter(namespace);
    let mut request = Request { program: program.clone(), name: Some(name.clone()), ..Request::default() };
    match who.parse() {
        Ok(prefix) => request.prefixes.push(prefix),
        Err(_) => request.default = true,
    }
    match privileges::keep_needed().and_then(|()| attach(&request)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
