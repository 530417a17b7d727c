//! All tests of the built command in one program, one file a subject: `cargo test -p forebay --test main sweep::` runs one of them.

mod advise;
mod advise_cases;
mod advise_install;
mod answers;
mod bounds_in_words;
mod captures;
mod commands;
#[cfg(unix)]
mod doctored;
#[cfg(target_os = "linux")]
mod early_ends;
mod expect;
mod explain;
mod explained;
mod exports;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod guests;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod hostile_machine;
mod imports;
mod intervals;
mod licenses;
#[cfg(target_os = "linux")]
mod limits;
mod models;
mod new;
#[cfg(unix)]
mod outputs;
mod report;
mod repro;
mod scratch;
mod stopping;
mod sweep;
mod terminal;
mod torture;
mod trains;
