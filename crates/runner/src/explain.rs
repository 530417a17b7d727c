//! Explanation of a message's completion time: the values from the tables, and the events of its connection from a repeated run.

use crate::message_timeline::{Routes, timeline};
use crate::rerun::{ExplainError, configured, recorded, repeat};
use crate::routes::{Endpoints, routes};
use forebay_experiment::Experiment;
use forebay_experiment::worlds::Worlds;
use forebay_store::rows::{Rows, Texts};
use forebay_store::{RunDir, RunRecord, event_lines};
use forebay_types::{PortId, QueryId, Time};

/// Selection of messages of a result.
#[derive(Debug, Clone, Default)]
pub struct MessageSelector {
    /// The message with this `flow_id`.
    pub flow: Option<u64>,
    /// The slowest message of this query.
    pub query: Option<QueryId>,
    /// Name of the variant; the first one by default.
    pub variant: Option<String>,
    /// Of this repetition.
    pub run: u32,
}

/// Number of messages to explain by default.
const WORST: usize = 3;
/// Samples of a queue while a message is on its path, and maximum number in a whole run.
const SAMPLES: u64 = 200;
const MAX_SAMPLES: u64 = 200_000;

/// The timelines of the messages that `which` selects, or of the slowest.
///
/// # Errors
/// Results that cannot be read or repeated, and messages that do not exist.
pub fn explain(worlds: &'static Worlds, dir: &RunDir, which: &MessageSelector) -> Result<String, ExplainError> {
    let manifest = dir.manifest();
    let (variant, record) = recorded(manifest, which.variant.as_ref(), which.run)?;
    let wanted = chosen(dir, which, &variant)?;
    let (world, mut config) = configured(worlds, manifest, (&variant, record))?;
    let routes = observe(&mut config, record, &wanted);
    let again = repeat(world, &config, manifest, (&variant, record))?;
    let fingerprint = &record.fingerprint;
    let mut out = format!("variant {variant}, seed {}; repeated run with the same fingerprint ({fingerprint})\n", record.seed);
    for line in event_lines(dir, Some((&variant, which.run)))? {
        out += &format!("{line}\n");
    }
    for (wanted, route) in wanted.iter().zip(&routes) {
        let row = usize::try_from(wanted.flow).ok().and_then(|i| again.report.flows.get(i));
        out += "\n";
        out += &row.map_or_else(String::new, |f| timeline(f, &again, &config, route));
    }
    Ok(out)
}

/// A message to explain.
pub(crate) struct Wanted {
    pub(crate) flow: u64,
    pub(crate) conn: u64,
    pub(crate) src: String,
    pub(crate) dst: String,
    /// Start, ns.
    start: u64,
    /// Duration, ns.
    took: i64,
    /// Delay beyond the time on the unloaded path, ns.
    lost: i64,
    /// An endless flow.
    endless: bool,
}

/// The messages.
pub(crate) fn chosen(dir: &RunDir, which: &MessageSelector, variant: &str) -> Result<Vec<Wanted>, ExplainError> {
    let mut flow = which.flow;
    if let Some(query) = which.query {
        for batch in &dir.columns("queries", &["variant", "run", "query_id", "slowest_flow_id"])? {
            let rows = Rows::new(batch);
            let (id, slowest) = (rows.int("query_id"), rows.int("slowest_flow_id"));
            let (names, run) = (rows.text("variant", |v| v == variant), rows.int("run"));
            let here = |r: usize| names.get(r) == Some(&true) && run.get(r) == Some(i64::from(which.run));
            let found = (0..rows.len()).find(|&r| id.get(r).and_then(|n| u64::try_from(n).ok()) == Some(query.get()) && here(r));
            flow = found.and_then(|r| slowest.get(r)).and_then(|f| u64::try_from(f).ok()).or(flow);
        }
        if flow.is_none() {
            return Err(ExplainError::Other(format!(
                "run {} of `{variant}` has no query {query}; the table `queries` lists them",
                which.run
            )));
        }
    }
    let ours = dir.manifest().runs.iter().find(|r| r.variant == variant && r.run == which.run);
    let end = ours.and_then(|r| i64::try_from(r.end_ns).ok()).unwrap_or(i64::MAX);
    let mut all: Vec<Wanted> = Vec::new();
    const COLUMNS: [&str; 10] =
        ["variant", "run", "flow_id", "conn_id", "src", "dst", "size_bytes", "start_ns", "fct_ns", "ideal_fct_ns"];
    for batch in &dir.columns("flows", &COLUMNS)? {
        let rows = Rows::new(batch);
        let [id, conn, size] = ["flow_id", "conn_id", "size_bytes"].map(|c| rows.int(c));
        let [start, fct, ideal] = ["start_ns", "fct_ns", "ideal_fct_ns"].map(|c| rows.int(c));
        let [src, dst] = ["src", "dst"].map(|c| rows.text(c, str::to_owned));
        let names = rows.text("variant", |v| v == variant);
        let run = rows.int("run");
        for row in 0..rows.len() {
            let here = names.get(row) == Some(&true) && run.get(row) == Some(i64::from(which.run));
            if here && (flow.is_none_or(|f| id.count(row) == f)) {
                let took = fct.get(row).unwrap_or_else(|| end.saturating_sub(start.get(row).unwrap_or(0)));
                let lost = took.saturating_sub(ideal.get(row).unwrap_or(0));
                let host = |names: &Texts<String>| names.get(row).cloned().unwrap_or_default();
                let endless = size.get(row).is_none();
                let (flow, conn, start) = (id.count(row), conn.count(row), start.count(row));
                all.push(Wanted { flow, conn, src: host(&src), dst: host(&dst), start, took, lost, endless });
            }
        }
    }
    if all.is_empty() {
        let text = flow.map_or("the results have no messages".to_owned(), |f| {
            format!("run {} of `{variant}` has no flow {f}; the table `flows` lists them", which.run)
        });
        return Err(ExplainError::Other(text));
    }
    // Messages first, largest delay first; an unfinished message counts with the delay so far. Endless flows, which have no delay, in their order.
    let delay = |w: &Wanted| std::cmp::Reverse(if w.endless { 0 } else { w.lost });
    all.sort_by_key(|w| (w.endless, delay(w), w.flow));
    all.truncate(WORST);
    Ok(all)
}

/// Observes every ACK of the connections, every timeout, and the queues of the ports on their routes. Returns the routes.
fn observe(config: &mut Experiment, record: &RunRecord, wanted: &[Wanted]) -> Vec<Routes> {
    config.set_seed(record.seed);
    config.observe.tcp_series = wanted.iter().map(|w| (w.conn, Time::ZERO)).collect();
    config.observe.timeouts = true;
    config.observe.queue_series.clear();
    let network = &config.network;
    let node = |name: &str| network.nodes.enumerate().find(|(_, n)| n.name == name).map(|(id, _)| id);
    let ends = |w: &Wanted| {
        let (start, took) = (Time(w.start.saturating_mul(1_000)), (w.took.max(0) as u64).saturating_mul(1_000));
        Some(Endpoints { conn: w.conn, src: node(&w.src)?, dst: node(&w.dst)?, start, end: Time(start.0.saturating_add(took)) })
    };
    let routes: Vec<Routes> =
        wanted.iter().map(|w| ends(w).map_or_else(Routes::default, |e| routes(network, record.seed, &e))).collect();
    // Frequent enough for the shortest message, within the number of samples that a run can keep.
    let shortest = wanted.iter().map(|w| w.took.max(0) as u64).min().unwrap_or(0).saturating_mul(1_000) / SAMPLES;
    let every = Time(shortest.max(record.end_ns.saturating_mul(1_000) / MAX_SAMPLES).max(1));
    let mut all: Vec<PortId> = routes.iter().flat_map(|w| w.each.iter().flat_map(|route| route.ports.iter().copied())).collect();
    all.sort_unstable();
    all.dedup();
    config.observe.queue_series = all.into_iter().map(|p| (p, every)).collect();
    routes
}
