//! Every message ends, or has a reason not to: the run ended first, and its connection still tries.

use super::run::{Ran, run};
use crate::case::Kind;
use crate::work::Work;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_sim::run::Cores;
use forebay_types::Time;
use std::collections::BTreeMap;

/// Longest simulated time, 200 days.
const LATEST: Time = Time::from_secs(200 * 86_400);
/// Time beyond the largest timeout in which a connection must try once more.
const PATIENCE: Time = Time::from_secs(1_000);

/// Attempts of each connection that has unfinished messages: segments, timeouts, acknowledged bytes.
fn attempts(r: &Report) -> BTreeMap<u64, [u64; 3]> {
    let mut all: BTreeMap<u64, ([u64; 3], bool)> = BTreeMap::new();
    for f in &r.flows {
        let (sum, open) = all.entry(f.conn_id).or_default();
        let new = [f.segs_sent, u64::from(f.rtos + f.syn_rtos + f.tlps), f.bytes_acked];
        sum.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
        *open |= f.size_bytes > 0 && f.acked.is_never();
    }
    all.into_iter().filter(|(_, (_, open))| *open).map(|(conn, (sum, _))| (conn, sum)).collect()
}

/// Checks the messages that have not ended.
pub(super) fn have_reasons(kind: Kind, config: &Experiment, r: &Report, work: &mut Work) -> Result<(), String> {
    let open = attempts(r);
    let Some(first) = r.flows.iter().find(|f| open.contains_key(&f.conn_id) && f.acked.is_never()) else { return Ok(()) };
    let Some(duration) = config.duration else {
        // A connection whose packets never pass tries until the end of simulated time.
        return if r.end >= LATEST { Ok(()) } else { Err(format!("a run without duration ends before its messages: {first:?}")) };
    };
    let longest = config.groups.iter().map(|g| g.tcp.rto_max.max(g.tcp.rto_min).max(g.tcp.rto_initial)).max().unwrap_or_default();
    let more = longest.saturating_mul(3).saturating_add(PATIENCE);
    let extended = duration.saturating_add(more).min(LATEST);
    if extended.saturating_sub(duration) < more {
        return Ok(());
    }
    let mut longer = Experiment { duration: Some(extended), ..config.clone() };
    // Samples of idle time would fill the memory.
    (longer.observe.queue_series, longer.observe.tcp_series) = (Vec::new(), Vec::new());
    let Ran::Report(later) = run(&longer, Cores::ONE, kind, work) else { return Ok(()) };
    let still = attempts(&later);
    for (conn, before) in open {
        if still.get(&conn) == Some(&before) {
            let row = r.flows.iter().find(|f| f.conn_id == conn && f.acked.is_never());
            return Err(format!("a connection has stopped trying: nothing happens between {duration} and {extended}, {row:?}"));
        }
    }
    Ok(())
}
