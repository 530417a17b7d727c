//! Why a message took as long as it did, in a few lines with times: what the tables keep, and what its connection did, from the same run again.
//!
//! A run is determined by scenario and seed, and observation only reads: running it again with the one connection observed gives the same
//! trajectory, which its fingerprint proves.

use crate::job::Job;
use crate::simulate::{Simulated, simulate};
use forebay_experiment::report::RunError;
use forebay_experiment::rows::{FlowRow, TimeoutKind};
use forebay_experiment::worlds::Worlds;
use forebay_scenario::{Errors, Scenario};
use forebay_store::rows::Rows;
use forebay_store::{Manifest, RunDir, RunInfo, StoreError};
use forebay_units::Time;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

/// Which messages of a result.
#[derive(Debug, Clone, Default)]
pub struct Which {
    /// This one, by its `flow_id`.
    pub flow: Option<u64>,
    /// The slowest of this query.
    pub query: Option<u64>,
    /// Of this variant; without one of the first.
    pub variant: Option<String>,
    /// Of this repetition.
    pub run: u32,
}

/// Why a message could not be explained.
#[derive(Debug)]
pub enum ExplainError {
    /// The results cannot be read.
    Store(StoreError),
    /// The scenario is not legal any more.
    Scenario(Errors),
    /// It does not run any more.
    Run(RunError),
    /// There is no such message, or the run is another one now.
    Other(String),
}

impl From<StoreError> for ExplainError {
    fn from(e: StoreError) -> ExplainError {
        ExplainError::Store(e)
    }
}

/// How many messages are explained where none is named, and how many events of each.
const WORST: usize = 3;
const MAX_EVENTS: usize = 24;

/// The story of the messages that `which` names, or of the slowest.
///
/// # Errors
/// Results that cannot be read or run again, and messages that they do not have.
pub fn explain(worlds: &'static Worlds, dir: &RunDir, which: &Which) -> Result<String, ExplainError> {
    let manifest = dir.manifest();
    let variant = match &which.variant {
        Some(v) => v.clone(),
        None => manifest.runs.first().map(|r| r.variant.clone()).unwrap_or_default(),
    };
    let Some(record) = manifest.runs.iter().find(|r| r.variant == variant && r.run == which.run) else {
        let mut names: Vec<&str> = manifest.runs.iter().map(|r| r.variant.as_str()).collect();
        names.dedup();
        let text = format!("there is no run {} of `{variant}`; variants: {}", which.run, names.join(", "));
        return Err(ExplainError::Other(text));
    };
    let wanted = chosen(dir, which, &variant)?;
    let again = rerun(worlds, manifest, &variant, which.run, record.seed, wanted.iter().map(|w| w.1).collect())?;
    let fingerprint = format!("{:016x}", again.report.fingerprint);
    if fingerprint != record.fingerprint {
        let text = format!(
            "the run takes another course now ({fingerprint} instead of {}): a file it reads has changed, or forebay {} wrote it",
            record.fingerprint, manifest.forebay
        );
        return Err(ExplainError::Other(text));
    }
    let mut out =
        format!("variant {variant}, seed {}; the run was repeated, with the same course ({fingerprint})\n", record.seed);
    for (flow, _) in wanted {
        let row = usize::try_from(flow).ok().and_then(|i| again.report.flows.get(i));
        out += "\n";
        out += &row.map_or_else(String::new, |f| story(f, &again));
    }
    Ok(out)
}

/// Numbers of the messages and of their connections.
fn chosen(dir: &RunDir, which: &Which, variant: &str) -> Result<Vec<(u64, u64)>, ExplainError> {
    let mut flow = which.flow;
    if let Some(query) = which.query {
        for batch in &dir.columns("queries", &["variant", "run", "query_id", "slowest_flow_id"])? {
            let rows = Rows::new(batch);
            let (id, slowest) = (rows.int("query_id"), rows.int("slowest_flow_id"));
            let (names, run) = (rows.text("variant", |v| v == variant), rows.int("run"));
            let here = |r: usize| names.get(r) == Some(&true) && run.get(r) == Some(i64::from(which.run));
            let found = (0..rows.len()).find(|&r| id.get(r).and_then(|n| u64::try_from(n).ok()) == Some(query) && here(r));
            flow = found.and_then(|r| slowest.get(r)).and_then(|f| u64::try_from(f).ok()).or(flow);
        }
        if flow.is_none() {
            return Err(ExplainError::Other(format!("`{variant}` has no query {query} in this run")));
        }
    }
    let ours = dir.manifest().runs.iter().find(|r| r.variant == variant && r.run == which.run);
    let end = ours.and_then(|r| i64::try_from(r.end_ns).ok()).unwrap_or(i64::MAX);
    let mut all: Vec<(i64, u64, u64)> = Vec::new();
    const COLUMNS: [&str; 8] = ["variant", "run", "flow_id", "conn_id", "size_bytes", "start_ns", "fct_ns", "ideal_fct_ns"];
    for batch in &dir.columns("flows", &COLUMNS)? {
        let rows = Rows::new(batch);
        let [id, conn, size] = ["flow_id", "conn_id", "size_bytes"].map(|c| rows.int(c));
        let [start, fct, ideal] = ["start_ns", "fct_ns", "ideal_fct_ns"].map(|c| rows.int(c));
        let names = rows.text("variant", |v| v == variant);
        let run = rows.int("run");
        for row in 0..rows.len() {
            let here = names.get(row) == Some(&true) && run.get(row) == Some(i64::from(which.run));
            if here && (flow.is_none_or(|f| id.count(row) == f)) && (flow.is_some() || size.get(row).is_some()) {
                let took = fct.get(row).unwrap_or_else(|| end.saturating_sub(start.get(row).unwrap_or(0)));
                all.push((took.saturating_sub(ideal.get(row).unwrap_or(0)), id.count(row), conn.count(row)));
            }
        }
    }
    if all.is_empty() {
        let text = flow.map_or("it has no messages".to_owned(), |f| format!("`{variant}` has no flow {f} in this run"));
        return Err(ExplainError::Other(text));
    }
    // What lost most against an empty path first; what did not end has lost at least the time so far.
    all.sort_by_key(|&(lost, id, _)| (std::cmp::Reverse(lost), id));
    all.truncate(WORST);
    Ok(all.into_iter().map(|(_, id, conn)| (id, conn)).collect())
}

/// The run again, with every ACK of the connections `conns` and every timeout.
fn rerun(
    worlds: &'static Worlds,
    manifest: &Manifest,
    variant: &str,
    run: u32,
    seed: u64,
    conns: Vec<u64>,
) -> Result<Simulated, ExplainError> {
    let s = &manifest.scenario;
    let file = Path::new(&s.file);
    let base = file.parent().unwrap_or(Path::new(""));
    let name = file.file_name().map_or_else(|| "scenario".to_owned(), |n| n.to_string_lossy().into_owned());
    let scenario = Scenario::from_text(worlds, &s.text, &name, base, &s.overrides, None);
    let resolved = scenario.and_then(|s| s.resolve()).map_err(ExplainError::Scenario)?;
    let Some(v) = resolved.variants.into_iter().find(|v| v.label == variant) else {
        return Err(ExplainError::Other(format!("the scenario has no variant `{variant}`")));
    };
    let mut config = v.config;
    config.seed = seed;
    config.observe.tcp_series = conns.into_iter().map(|c| (c, Time::ZERO)).collect();
    config.observe.timeouts = true;
    config.observe.queue_series.clear();
    let job = Job::new(0, run, seed);
    simulate(resolved.world, variant, run, &config, &job, &|| ControlFlow::Continue(())).map_err(ExplainError::Run)
}

/// What happened to one message, in order of time.
fn story(f: &FlowRow, run: &Simulated) -> String {
    let info: &RunInfo = &run.info;
    let end = f.end.ps().unwrap_or(run.report.end.0);
    let took = end.saturating_sub(f.start.0);
    let mut out = format!(
        "flow {}: {} ({}), {} to {}, {} B\n",
        f.flow_id,
        info.class(f.workload),
        info.group(f.group),
        info.node(f.src),
        info.node(f.dst),
        f.size_bytes
    );
    let done = if f.end.is_never() { "not delivered within" } else { "delivered after" };
    let _ = writeln!(out, "  written at {}, {done} {}; on an empty path {}", time(f.start.0), time(took), time(f.ideal.0));
    let mut events = events(f, run, took);
    events.sort_by_key(|e| e.0);
    let more = events.len().saturating_sub(MAX_EVENTS);
    for (at, what) in events.iter().take(MAX_EVENTS) {
        let _ = writeln!(out, "  {:>10}  {what}", format!("+{}", time(at.saturating_sub(f.start.0))));
    }
    if more > 0 {
        let _ = writeln!(out, "  and {more} more events");
    }
    if let Some(w) = f.waited {
        let at = w.port().map_or(String::new(), |p| format!(" at {}", info.port(p)));
        let _ = writeln!(out, "  waited for {}{at}: {} of {}", w.cause.words(), time(w.time_ps), time(took));
    }
    out
}

fn events(f: &FlowRow, run: &Simulated, took: u64) -> Vec<(u64, String)> {
    let last = f.acked.ps().unwrap_or(run.report.end.0);
    let own = |time: u64| (f.start.0..=last).contains(&time);
    let mut events = Vec::new();
    for t in run.report.timeouts.iter().filter(|t| t.flow_id == Some(f.flow_id) && t.conn_id == f.conn_id) {
        let after = time(t.rto_ps);
        events.push((
            t.time_ps,
            match t.kind {
                TimeoutKind::Syn => format!("no answer to the SYN for {after}: it is sent again"),
                TimeoutKind::Probe => "tail loss probe".to_owned(),
                TimeoutKind::Head => {
                    format!("the retransmission timer of {after} runs out, before the first window is acknowledged")
                }
                TimeoutKind::Tail => {
                    format!("the retransmission timer of {after} runs out, with the tail of the message missing")
                }
                TimeoutKind::Other => format!("the retransmission timer of {after} runs out"),
            },
        ));
    }
    let (mut before, mut seen) = (f.start.0, None);
    // Segments sent again: from when to when, and how many.
    let mut resent: Vec<(u64, u64, u64)> = Vec::new();
    let mut state = 0;
    for s in run.report.tcp.iter().filter(|s| s.conn_id == f.conn_id) {
        if !own(s.time_ps) {
            seen = Some(s.retrans);
            continue;
        }
        let pause = s.time_ps - before;
        if pause > took / 10 && pause > 1_000_000_000 {
            events.push((s.time_ps, format!("an ACK, after {} without any; window {:.1} segments", time(pause), s.cwnd)));
        } else if before == f.start.0 {
            let rtt = s.srtt_ps.map_or(String::new(), |rtt| format!(", smoothed round trip {}", time(rtt)));
            events.push((s.time_ps, format!("first ACK; window {:.1} segments{rtt}", s.cwnd)));
        }
        let again = s.retrans.saturating_sub(seen.unwrap_or(0));
        // ACK after ACK lets more of them leave: one event.
        match resent.last_mut() {
            Some((_, until, segments)) if again > 0 && *until == before => (*until, *segments) = (s.time_ps, *segments + again),
            _ if again > 0 => resent.push((s.time_ps, s.time_ps, again)),
            _ => {}
        }
        if s.ca_state == 3 && state != 3 {
            events.push((s.time_ps, format!("a loss is noticed: fast recovery, window {:.1} segments", s.cwnd)));
        }
        (before, seen, state) = (s.time_ps, Some(s.retrans), s.ca_state);
    }
    for (from, until, segments) in resent {
        let s = if segments == 1 { "" } else { "s" };
        let within = if until > from { format!(", within {}", time(until - from)) } else { String::new() };
        events.push((from, format!("{segments} segment{s} sent again{within}")));
    }
    events.extend(f.end.ps().map(|end| (end, "the last byte is delivered".to_owned())));
    events.extend(f.acked.ps().map(|acked| (acked, "the sender knows".to_owned())));
    events
}

/// A time in the unit that suits it.
fn time(ps: u64) -> String {
    let (value, unit) = match ps {
        0..1_000_000 => (ps as f64 * 1e-3, "ns"),
        1_000_000..1_000_000_000 => (ps as f64 * 1e-6, "us"),
        1_000_000_000..1_000_000_000_000 => (ps as f64 * 1e-9, "ms"),
        _ => (ps as f64 * 1e-12, "s"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}
