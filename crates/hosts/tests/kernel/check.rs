//! Counting of checks: a failed one is reported and the rest goes on.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};

static PASSED: AtomicU32 = AtomicU32::new(0);
static FAILED: AtomicU32 = AtomicU32::new(0);

pub(crate) fn topic(name: &str) {
    println!("{name}");
}

/// One check: what must hold.
pub(crate) fn check(holds: bool, what: &str) -> bool {
    if holds {
        PASSED.fetch_add(1, Ordering::Relaxed);
        println!("    ok    {what}");
    } else {
        FAILED.fetch_add(1, Ordering::Relaxed);
        println!("    FAIL  {what}");
    }
    holds
}

/// A value that must be this one.
pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(is: T, must: T, what: &str) -> bool {
    let holds = is == must;
    check(holds, &if holds { what.to_owned() } else { format!("{what}: is {is:?}, must be {must:?}") })
}

/// Something that must fail with a message that contains all of these.
pub(crate) fn refuses<T>(result: Result<T, forebay_hosts::Error>, words: &[&str], what: &str) {
    match result {
        Ok(_) => check(false, &format!("{what}: was not refused")),
        Err(e) => {
            let said = e.to_string();
            let missing: Vec<&&str> = words.iter().filter(|w| !said.contains(**w)).collect();
            check(
                missing.is_empty(),
                &if missing.is_empty() { what.to_owned() } else { format!("{what}: `{said}` lacks {missing:?}") },
            )
        }
    };
}

pub(crate) fn failed() -> u32 {
    FAILED.load(Ordering::Relaxed)
}

/// Forgets the failures since `before`: what failed is repeated.
pub(crate) fn forgive(before: u32) {
    FAILED.store(before, Ordering::Relaxed);
}

pub(crate) fn result(repeated: &[&str]) -> ExitCode {
    println!("{} checks passed, {} failed", PASSED.load(Ordering::Relaxed), failed());
    if !repeated.is_empty() {
        println!("not at the first attempt: {}", repeated.join(", "));
    }
    if failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
