//! Cases in turn, until a limit; each failure is made small and written.

use super::worker::{Outcome, Worker};
use crate::interrupt;
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use forebay_platform::files;
use forebay_torture::{Case, Kind, Work, shrink};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Failures after which a campaign ends: more of them have the same cause most of the time.
const MOST_FAILURES: u64 = 50;

/// The cases to run.
pub(super) struct Campaign {
    pub(super) seed: u64,
    /// Number of the first case.
    pub(super) first: u64,
    /// Number of cases; `None`: until the limit.
    pub(super) count: Option<u64>,
    /// No case begins after this time.
    pub(super) limit: Option<Duration>,
    /// Sort of the cases; `None`: all.
    pub(super) kind: Option<Kind>,
    /// Folder for the files of cases that fail.
    pub(super) out: PathBuf,
}

/// Totals.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    cases: [u64; 3],
    cut: u64,
    work: Work,
    seconds: f64,
    failures: u64,
    /// Drawn cases that the reader of scenarios refuses, so that nothing was checked.
    refused: u64,
}

impl Tally {
    /// Adds the outcome of a case.
    pub(super) fn add(&mut self, kind: Kind, outcome: &Outcome) {
        self.cases[kind as usize] += 1;
        match outcome {
            Outcome::Passed(work) => self.work += *work,
            Outcome::Cut(work) => {
                self.work += *work;
                self.cut += 1;
            }
            Outcome::Refused(_) => self.refused += 1,
            Outcome::Failed(_) => self.failures += 1,
        }
    }

    /// Returns true if a case failed, or could not be checked because it is illegal.
    pub(super) fn has_failed(&self) -> bool {
        self.failures > 0 || self.refused > 0
    }

    /// The totals, as sentences.
    pub(super) fn summary(&self) -> String {
        let Tally { cases: [scenarios, connections, crowds], cut, work, seconds, failures, refused } = self;
        let mut out = format!(
            "{} cases: {scenarios} scenarios, {connections} sets of connections, {crowds} crowds\n",
            scenarios + connections + crowds
        );
        let rate = if *seconds > 0.0 { format!(", {:.0} a second", work.connections as f64 / seconds) } else { String::new() };
        let _ = writeln!(
            out,
            "{} connections{rate}; {} runs, {} packet transmissions",
            work.connections, work.runs, work.transmissions
        );
        if *cut > 0 {
            let _ =
                writeln!(out, "{cut} cases had more packets than a case may, in shorter durations as well, and were not checked");
        }
        if work.unfinished > 0 {
            let _ = writeln!(
                out,
                "{} longer runs had more packets than a case may, and did not check whether unfinished connections retransmit",
                work.unfinished
            );
        }
        if *refused > 0 {
            let _ = writeln!(out, "{refused} cases were REFUSED as illegal, and were not checked");
        }
        let checked = scenarios + connections + crowds - refused - cut;
        out.push_str(&match (failures, checked) {
            (0, 0) => "no case was checked\n".to_owned(),
            (0, _) => "no invariant was broken\n".to_owned(),
            (n, _) => format!("{n} cases FAILED\n"),
        });
        out
    }
}

impl Campaign {
    /// Runs the cases, `jobs` at a time.
    pub(super) fn run(&self, jobs: u64) -> Result<Tally, Failure> {
        let (begin, next) = (Instant::now(), AtomicU64::new(self.first));
        let total = Mutex::new(Tally::default());
        let end = self.count.map(|n| self.first.saturating_add(n));
        let job = || -> Result<(), Failure> {
            let mut worker = Worker::new();
            loop {
                let number = next.fetch_add(1, Relaxed);
                let failures = total.lock().unwrap_or_else(PoisonError::into_inner).failures;
                let over = end.is_some_and(|end| number >= end) || self.limit.is_some_and(|limit| begin.elapsed() > limit);
                if over || failures >= MOST_FAILURES || interrupt::requested() {
                    return Ok(());
                }
                let kind = Kind::of(number);
                if self.kind.is_some_and(|only| only != kind) {
                    continue;
                }
                let Some(case) = Case::of(self.seed, number) else { continue };
                // The case of an interrupted worker does not count.
                let Some(outcome) = worker.check(&case)? else { return Ok(()) };
                total.lock().unwrap_or_else(PoisonError::into_inner).add(kind, &outcome);
                match outcome {
                    Outcome::Failed(why) => self.report(number, &case, &why, &mut worker)?,
                    Outcome::Refused(why) => {
                        let (seed, name) = (self.seed, kind.name());
                        print(&format!("case {number} of seed {seed} ({name}) is REFUSED: {}\n", short(&why)))?;
                    }
                    Outcome::Passed(_) | Outcome::Cut(_) => {}
                }
            }
        };
        thread::scope(|s| {
            let mut threads = Vec::new();
            for _ in 0..jobs {
                match thread::Builder::new().spawn_scoped(s, job) {
                    Ok(thread) => threads.push(thread),
                    Err(e) if threads.is_empty() => {
                        let why =
                            "raise the limits on processes (ulimit -u) and address space (ulimit -v), or end other programs";
                        return Err(Failure::Machine(format!("the system creates no thread for the cases: {e}; {why}")));
                    }
                    // The threads that run check all cases.
                    Err(_) => break,
                }
            }
            threads.into_iter().try_for_each(|job| job.join().unwrap_or_else(|_| Err(Failure::Machine("a job panicked".into()))))
        })?;
        let mut tally = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        tally.seconds = begin.elapsed().as_secs_f64();
        Ok(tally)
    }

    /// Makes a failing case small, writes it, and prints how to repeat it.
    fn report(&self, number: u64, case: &Case, why: &str, worker: &mut Worker) -> Result<(), Failure> {
        let (seed, name) = (self.seed, case.kind().name());
        print(&format!("case {number} of seed {seed} ({name}) FAILS: {}\n", short(why)))?;
        let same = sort_of(why);
        let hangs = same == "hangs";
        let small = shrink(case, &mut |candidate| {
            // Each attempt at a case that hangs would take minutes.
            let fails_alike = |outcome: Option<Outcome>| matches!(&outcome, Some(Outcome::Failed(why)) if sort_of(why) == same);
            !hangs && !interrupt::requested() && worker.check(candidate).is_ok_and(fails_alike)
        });
        let file = self.out.join(format!("torture-{seed}-{number}.toml"));
        let text = format!("# {}\n{}", short(why).replace('\n', " "), small.text());
        fs::create_dir_all(&self.out)
            .and_then(|()| files::replace(&file, text.as_bytes(), files::Options::default()))
            .map_err(|e| Failure::Machine(format!("{}: the case cannot be written: {e}", file.display())))?;
        print(&format!(
            "  repeat it, as small as possible: forebay torture {}\n  and as it was drawn: forebay torture --seed {seed} --case {number}\n",
            file.display()
        ))
    }
}

/// The part of a failure that does not depend on values: the broken invariant, or the place of a panic.
fn sort_of(why: &str) -> &str {
    match why.split_once("panicked at ") {
        Some((_, rest)) => rest.split_whitespace().next().unwrap_or(rest),
        None => why.split(':').next().unwrap_or(why),
    }
}

/// The beginning of a long text.
fn short(why: &str) -> String {
    const MOST: usize = 600;
    if why.chars().count() > MOST { format!("{}...", why.chars().take(MOST).collect::<String>()) } else { why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_one_sort() {
        assert_eq!(sort_of("a port loses or invents packets: PortRow { x: 1 }"), "a port loses or invents packets");
        assert_eq!(sort_of("panics thread 'main' panicked at crates/a.rs:1:2: index 3"), "crates/a.rs:1:2:");
        assert_eq!(sort_of("hangs: not over"), "hangs");
    }

    #[test]
    fn totals() {
        let mut tally = Tally::default();
        let work = Work { connections: 5, runs: 2, transmissions: 9, unfinished: 1 };
        tally.add(Kind::Crowds, &Outcome::Passed(work));
        tally.add(Kind::Scenarios, &Outcome::Cut(work));
        assert!(!tally.has_failed());
        tally.add(Kind::Scenarios, &Outcome::Failed("x".into()));
        let text = tally.summary();
        for part in [
            "3 cases: 2 scenarios, 0 sets of connections, 1 crowds",
            "10 connections;",
            "1 cases FAILED",
            "1 cases had more",
            "2 longer runs",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(tally.has_failed());
    }

    #[test]
    fn empty_campaign_breaks_no_claim() {
        let mut tally = Tally::default();
        assert!(tally.summary().ends_with("no case was checked\n"), "{}", tally.summary());
        tally.add(Kind::Crowds, &Outcome::Passed(Work::default()));
        assert!(tally.summary().ends_with("no invariant was broken\n"), "{}", tally.summary());
    }

    #[test]
    fn refused_cases_fail_the_campaign() {
        let mut tally = Tally::default();
        tally.add(Kind::Connections, &Outcome::Refused("no such congestion control".into()));
        assert!(tally.has_failed());
        assert!(tally.summary().contains("1 cases were REFUSED"), "{}", tally.summary());
    }
}
