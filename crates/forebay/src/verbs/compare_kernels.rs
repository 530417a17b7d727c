//! `forebay compare --kernel A --kernel B`: the same scenarios and packet scripts on two Linux kernels.

use crate::input::resolve_path;
use crate::interrupt::{self, Forced};
use crate::terminal::failure::Failure;
use crate::terminal::output::{NumberFormat, print, print_data};
use forebay_platform::files::read_text;
use forebay_validate::cases;
use forebay_validate::kernels::{Comparison, Error, Input, Kernel, Options, compare, json, suite, text};
use indicatif::ProgressBar;
use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time to remove guests after a signal.
const TEARDOWN: Duration = Duration::from_secs(5);

/// Compares the kernels on `files`, or on the suite without any, and prints the differences. The exit code is 1 if there are some.
pub(super) fn execute(names: [&String; 2], files: &[PathBuf], options: &Options, format: NumberFormat) -> Result<(), Failure> {
    let kernels = names.map(|name| Kernel::named(name));
    let [a, b] = kernels.map(|k| k.map_err(Failure::Usage));
    let (a, b) = (a?, b?);
    let inputs = if files.is_empty() { suite() } else { inputs(files)? };
    interrupt::listen_or_end(Forced { grace: TEARDOWN, json: false, continues: false })?;
    let spinner = io::stderr().is_terminal().then(ProgressBar::new_spinner);
    let watch = &mut |done: usize, total: usize, name: &str| {
        if let Some(s) = &spinner {
            s.set_message(format!("{done} of {total}: {name}"));
            s.tick();
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let found = compare([&a, &b], &inputs, options, &interrupt::requested, watch);
    if let Some(s) = &spinner {
        s.finish_and_clear();
    }
    let found = found.map_err(|e| match e {
        Error::Scenario(errors) => Failure::Scenario(errors),
        Error::Run(e) => e.into(),
        Error::Other(text) => Failure::Machine(text),
    })?;
    match format {
        NumberFormat::Json => print_data(&format!("{:#}\n", json::document(&found)))?,
        NumberFormat::Table => print(&text::text(&found))?,
    }
    if differs(&found) { Err(Failure::Reported(1)) } else { Ok(()) }
}

fn differs(found: &Comparison) -> bool {
    found.results.iter().any(|r| r.1.differs())
}

/// Scenario files (`*.toml`), packet scripts (`*.pkt`), and folders of scripts.
fn inputs(files: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut all = Vec::new();
    for file in files {
        let path = resolve_path(file);
        let script = path.is_dir() || path.extension().is_some_and(|e| e == "pkt");
        if script {
            for case in cases(std::slice::from_ref(&path)).map_err(Failure::Usage)? {
                let text = case.text().map_err(|outcome| Failure::Usage(format!("{}: {outcome:?}", case.name())))?;
                all.push(Input::Script { name: case.name().to_owned(), text: text.to_owned() });
            }
        } else {
            let text = read_text(&path).map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))?;
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            all.push(Input::Scenario { name: file.display().to_string(), text, folder });
        }
    }
    Ok(all)
}
