//! Counting of checks: a failed one is reported and the rest goes on.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The tests use packets of a running kernel in real time, and other load on the machine delays any process. A topic fails when it fails this often
/// in a row. Each failed attempt is printed, and the topics that had one are listed at the end.
const ATTEMPTS: u32 = 2;

/// Largest number of repetitions of a measurement that other load has disturbed.
const MEASUREMENTS: u32 = 20;

/// Longest wait for a condition, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until the condition holds, `PATIENCE` at most; whether it does.
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if begin.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Repeats a measurement that has no result where the machine stood still meanwhile. Each such attempt is printed with the reason.
pub(crate) fn undisturbed<T>(reason: &str, mut measure: impl FnMut() -> Option<T>) -> T {
    for attempt in 1..=MEASUREMENTS {
        if let Some(result) = measure() {
            return result;
        }
        println!("    again ({attempt} of {MEASUREMENTS}): {reason}");
    }
    panic!("{MEASUREMENTS} times in a row: {reason}");
}

/// Begins the names of all topics, so that a filter selects or skips these tests among those of the workspace.
const GROUP: &str = "real_time";

/// Name of a topic in lists.
pub(crate) fn full_name(topic: &str) -> String {
    format!("{GROUP}::{topic}")
}

/// True if the arguments select a topic, by the rules of the standard harness: a word selects the names that contain it, `--skip WORD` excludes them.
pub(crate) fn selects(args: &[String], topic: &str) -> bool {
    let name = full_name(topic);
    let (mut words, mut skipped) = (Vec::new(), Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--skip" => skipped.extend(rest.next()),
            option if option.starts_with('-') => {}
            _ => words.push(arg),
        }
    }
    let matches = |word: &&String| name.contains(word.as_str());
    (words.is_empty() || words.iter().any(matches)) && !skipped.iter().any(matches)
}

static PASSED: AtomicU32 = AtomicU32::new(0);
static FAILED: AtomicU32 = AtomicU32::new(0);

pub(crate) fn topic(name: &str) {
    println!("{name}");
}

/// Reports a check.
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

/// Runs a topic until it passes, or has failed too often; `settle` waits until the state of the previous attempt is gone. Returns true if it took
/// more than one attempt.
pub(crate) fn attempts(name: &str, topic: &dyn Fn(), settle: &dyn Fn()) -> bool {
    let failed_before = failed();
    for attempt in 1..=ATTEMPTS {
        FAILED.store(failed_before, Ordering::Relaxed);
        settle();
        let begin = Instant::now();
        println!("{name}");
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(topic)) {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            check(false, &format!("went through ({})", text.unwrap_or("panicked")));
        }
        println!("    {:.1} s", begin.elapsed().as_secs_f64());
        if failed() == failed_before {
            return attempt > 1;
        }
        println!("    attempt {attempt} of {ATTEMPTS} failed");
    }
    true
}

fn failed() -> u32 {
    FAILED.load(Ordering::Relaxed)
}

pub(crate) fn result(repeated: &[&str]) -> ExitCode {
    println!("{} checks passed, {} failed", PASSED.load(Ordering::Relaxed), failed());
    if !repeated.is_empty() {
        println!("not at the first attempt: {}", repeated.join(", "));
    }
    if failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
