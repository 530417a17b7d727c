//! Judges a congestion control by published criteria: RFC 9743, the test cases of draft-ietf-ccwg-bbr, RFC 9331 section 4.3, and the experiments of
//! draft-irtf-iccrg-tcpeval.
//!
//! A row is one criterion: scenarios, the value that is measured in them, and the band in which the value is expected. A band is that of a text, or it
//! is relative to the values of Reno and CUBIC in the same scenarios. Without either the value is reported and not judged.
//!
//! `rows` has the rows, one file per group. `network` writes scenarios, `bench` runs them, `samples` reads time series, `format` prints the report,
//! `page` and `picture` draw it, and `qlog` writes the packets of a scenario.

mod bench;
mod format;
mod network;
mod page;
mod picture;
mod qlog;
mod row;
mod rows;
mod samples;

pub use bench::{RefereeError, Request, Runs};
pub use format::{json, table};
pub use page::page;
pub use picture::{Curve, Picture};
pub use qlog::qlog;
pub use row::{Cell, Finding, Verdict};

use bench::{Bench, Shared};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Judgment of a congestion control.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Congestion control.
    pub cc: String,
    /// Backends, one column each.
    pub columns: Vec<String>,
    /// Rows in the order of their groups.
    pub findings: Vec<Finding>,
    /// Texts of all scenarios, by name. Each runs by itself with `forebay run`.
    pub scenarios: BTreeMap<String, String>,
    /// Series of all scenarios, by name, if the request has asked for them.
    pub pictures: BTreeMap<String, Picture>,
}

/// Judges a congestion control. Scenarios whose results are in `runs` are not run again, and new results are added to it. `progress` is called with the
/// number of finished rows and of all rows, those of each backend counted.
///
/// # Errors
/// A congestion control that does not exist or that a backend refuses, a run that fails, or an interruption by `stop`.
pub fn referee(
    request: &Request,
    runs: &Runs,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Report, RefereeError> {
    let columns = request.check()?;
    let shared = Shared::new(request, runs, stop);
    let rows: Vec<&row::Row> = rows::all(request.tcpeval).collect();
    let jobs: Vec<(&row::Row, &str)> = columns.iter().flat_map(|c| rows.iter().map(move |r| (*r, c.as_str()))).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results = Mutex::new(vec![None; jobs.len()]);
    thread::scope(|scope| {
        for _ in 0..request.threads.clamp(1, jobs.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Relaxed);
                    let Some((row, world)) = jobs.get(place) else { return };
                    let found = row.judge(&Bench::new(&shared, world), &request.cc);
                    if let Ok(mut results) = results.lock() {
                        results[place] = Some(found);
                    }
                    progress(done.fetch_add(1, Relaxed) + 1, jobs.len());
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_default();
    let cells = results.into_iter().flatten().collect::<Result<Vec<Cell>, RefereeError>>()?;
    let finding = |(i, row): (usize, &&row::Row)| {
        let cells = cells.iter().skip(i).step_by(rows.len()).cloned().collect();
        Finding { group: row.group, row: row.name, source: row.source, cells }
    };
    let findings = merge_groups(rows.iter().enumerate().map(finding).collect());
    Ok(Report { cc: request.cc.clone(), columns, findings, scenarios: shared.scenarios(), pictures: shared.pictures() })
}

/// Replaces a group that is not about the congestion control by one finding.
fn merge_groups(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged = Vec::new();
    let is_empty = |f: &Finding| f.cells.iter().all(|c| c.verdict == Verdict::NotApplicable);
    for group in findings.chunk_by(|a, b| a.group == b.group) {
        match group {
            [first, ..] if group.len() > 1 && group.iter().all(is_empty) => {
                let cells = first.cells.iter().map(|c| Cell { scenarios: Vec::new(), ..c.clone() }).collect();
                merged.push(Finding { row: "all rows", cells, ..first.clone() });
            }
            _ => merged.extend_from_slice(group),
        }
    }
    merged
}
