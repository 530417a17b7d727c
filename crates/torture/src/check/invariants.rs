//! Invariants of one report: bytes and packets are conserved, nothing is faster than the network allows, counters agree with each other.

use super::violation::broken;
use super::{capacity, conservation};
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::{EventKind, FlowRow, PortRow, TimeoutKind};
use forebay_types::Time;
use std::collections::HashMap;

/// Checks all rows.
pub(super) fn hold(config: &Experiment, r: &Report) -> Result<(), String> {
    let faults = &config.network.faults;
    // A change may make a link faster than its ideal time assumes.
    let one_path = faults.balance.keeps_path() && faults.failures.is_empty() && faults.changes.is_empty();
    let warm = r.measured_from > Time::ZERO;
    // A run that ends before its warm-up is measured as a whole.
    if warm && r.measured_from != config.observe.warmup {
        return Err(format!(
            "measuring begins at another time than the warm-up ends: {} and {}",
            r.measured_from, config.observe.warmup
        ));
    }
    // Clocks of hosts may be fast, in parts per million of the sending and the receiving one.
    let fast = config.groups.iter().map(|g| u64::from(g.tcp.host_clock)).max().unwrap_or(0);
    for f in &r.flows {
        flow(r, f, one_path.then_some(fast), warm)?;
    }
    for (p, port) in r.ports.iter().zip(config.network.ports.iter()) {
        // The last window of a run without duration may reach beyond the measured time; a host delays packets behind its queue.
        let exact = config.duration.is_some() && !config.network.nodes[port.from].host;
        port_row(r, p, (warm, exact))?;
    }
    for (row, id) in r.ports.iter().zip(config.network.ports.ids()) {
        capacity::holds(config, r, (id, row))?;
    }
    network(r, warm)?;
    if !warm {
        conservation::holds(&config.network, r)?;
        failures(r)?;
    }
    if config.observe.timeouts {
        timeouts(r)?;
    }
    for q in &r.queries {
        let ended = q.end.ps().is_none_or(|end| end >= q.start.0 && end <= r.end.0);
        if !ended || q.rtos_max > q.rtos || (q.rtos == 0) != (q.senders_with_rto == 0) {
            return broken("counters of a query contradict each other", q);
        }
    }
    Ok(())
}

fn flow(r: &Report, f: &FlowRow, one_path: Option<u64>, warm: bool) -> Result<(), String> {
    let endless = f.size_bytes == 0;
    if let Some(end) = f.end.ps() {
        if end < f.start.0 {
            return broken("a message ends before it starts", f);
        }
        if end > r.end.0 {
            return broken("a message ends after the run", f);
        }
        // PRIN ends a block with segments that are not full, and store and forward delays them less. The ideal time assumes one path, and full segments:
        // a message that is written while others wait is merged with their segments.
        let early = one_path.map_or(u64::MAX, |fast| (u128::from(f.ideal.0) * u128::from(2 * fast) / 1_000_000) as u64);
        if f.fits && f.shim.is_none() && end < (f.start.0 + f.ideal.0).saturating_sub(early) {
            return broken("a message is faster than its ideal", f);
        }
        if !warm && !endless && f.bytes_measured != f.size_bytes {
            return broken("a message ended without all of its bytes", f);
        }
    }
    if !endless && (f.bytes_acked > f.size_bytes || f.bytes_measured > f.size_bytes) {
        return broken("a message has more bytes than its size", f);
    }
    if !endless && !f.acked.is_never() && (f.bytes_acked != f.size_bytes || f.end.is_never() || f.acked.ps() < f.end.ps()) {
        return broken("a message is acknowledged before it arrived", f);
    }
    if f.segs_retx > f.segs_sent || f.rtos_head > f.rtos || f.rtos_tail > f.rtos {
        return broken("counters of a message contradict each other", f);
    }
    if !f.rtt_min.is_never() && f.rtt_min.ps() > f.rtt_mean.ps() {
        return broken("the smallest RTT is above the mean", f);
    }
    if !f.cwnd_max.is_finite() || f.cwnd_max < 0.0 || f.reduction_alpha.is_some_and(|a| !(0.0..=1.0).contains(&a)) {
        return broken("a window or alpha is outside of its range", f);
    }
    Ok(())
}

fn port_row(r: &Report, p: &PortRow, (warm, exact): (bool, bool)) -> Result<(), String> {
    if !warm && p.cut_flying + p.corrupted > p.sent_pkts {
        return broken("a link loses more than was sent", p);
    }
    // Queues are counted to the end of the last window, and their means are over the time until the work ended.
    let until = r.undelivered.until.max(r.end);
    let measured = if r.end > r.measured_from { r.end } else { until }.saturating_sub(r.measured_from).max(Time(1));
    let counted = until.saturating_sub(r.measured_from).max(Time(1)).0 as f64 / measured.0 as f64;
    let largest = f64::from(p.queue_max_pkts) * counted;
    if !p.queue_mean_pkts.is_finite() || p.queue_mean_pkts < 0.0 || p.queue_mean_pkts > largest * (1.0 + 1e-9) {
        return broken("a mean queue is above its maximum", p);
    }
    if p.queue_percentiles.is_some_and(|q| q[0] > q[1] || q[1] > q[2] || q[2] > p.queue_max_pkts) {
        return broken("percentiles of a queue are out of order", p);
    }
    if let Some(q) = p.queue_percentiles.filter(|_| exact) {
        // The queue is at most as long as the first percentile in half of the time, and as the second in 95 %.
        let [p50, p95, p99] = q.map(f64::from);
        let least = 0.5 * p50 + 0.05 * (p95 - p50) + 0.01 * (p99 - p95);
        let most = 0.5 * p50 + 0.45 * p95 + 0.04 * p99 + 0.01 * f64::from(p.queue_max_pkts);
        if p.queue_mean_pkts < least * (1.0 - 1e-6) - 1e-9 || p.queue_mean_pkts > most * (1.0 + 1e-6) + 1e-9 {
            return broken("the mean of a queue contradicts its percentiles", p);
        }
    }
    if p.marked > p.arrived_pkts {
        return broken("more packets are marked than arrived", p);
    }
    Ok(())
}

/// Each timeout and probe that a message counts has a row; no counter has expiries of the reordering timer. The other rows are of a SYN, FIN or window probe while the connection has no message: they
/// belong to none.
pub(super) fn timeouts(r: &Report) -> Result<(), String> {
    let counted: u64 = r.flows.iter().map(|f| u64::from(f.rtos + f.syn_rtos + f.tlps)).sum();
    let mut alone: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut rows = 0;
    for t in r.timeouts.iter().filter(|t| t.kind != TimeoutKind::Reordering) {
        match t.flow_id {
            Some(_) => rows += 1,
            None => alone.entry(t.conn_id).or_default().push(t.time_ps),
        }
    }
    if rows != counted {
        return Err(format!("messages count {counted} timeouts, and {rows} have rows"));
    }
    for f in &r.flows {
        let waits = |time: &u64| f.start.0 < *time && f.acked.ps().is_none_or(|acked| acked > *time);
        if alone.get(&f.conn_id).is_some_and(|times| times.iter().any(waits)) {
            return broken("a message does not count a timeout of its connection", f);
        }
    }
    Ok(())
}

/// Packets that failures lose are counted at ports, and as events.
fn failures(r: &Report) -> Result<(), String> {
    let lost: u64 = r.ports.iter().map(|p| p.cut_waiting + p.cut_flying).sum();
    let reported: u64 = r.events.iter().filter(|e| e.kind == EventKind::LinkDown).filter_map(|e| e.packets).sum();
    if lost == reported {
        Ok(())
    } else {
        Err(format!("failures lose other numbers of packets in ports and events: {lost} and {reported}"))
    }
}

/// Sums over flows and deliveries.
fn network(r: &Report, warm: bool) -> Result<(), String> {
    let mut last = Time::ZERO;
    for d in &r.deliveries {
        if d.to < d.from || d.to < last {
            return broken("intervals of deliveries are out of order", d);
        }
        last = d.to;
    }
    let delivered: u64 = r.deliveries.iter().map(|d| d.bytes).sum();
    let measured: u64 = r.flows.iter().map(|f| f.bytes_measured).sum();
    let groups: u64 = r.acked.iter().sum();
    if groups != measured {
        return Err(format!("groups and messages received different numbers of bytes: {groups} and {measured}"));
    }
    if !warm && delivered != measured {
        return Err(format!("deliveries and messages have different numbers of bytes: {delivered} and {measured}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::ran;
    use super::*;

    fn breaks(invariant: &str, change: impl FnOnce(&mut Report)) {
        let (config, mut report) = ran();
        assert_eq!(hold(&config, &report), Ok(()));
        change(&mut report);
        let why = hold(&config, &report).expect_err(invariant);
        assert!(why.starts_with(invariant), "{why}");
    }

    #[test]
    fn losses_beyond_sent_packets_are_found() {
        breaks("a link loses more than was sent", |r| {
            let row = r.ports.iter_mut().find(|p| p.corrupted > 0).expect("damaged packets");
            row.corrupted = row.sent_pkts + 1;
        });
    }

    #[test]
    fn means_beyond_maximum_are_found() {
        breaks("a mean queue is above its maximum", |r| {
            let row = &mut r.ports[0];
            row.queue_mean_pkts = f64::from(row.queue_max_pkts) * 1.01;
        });
    }

    #[test]
    fn all_port_invariants_are_checked() {
        breaks("a switch loses or invents packets", |r| r.ports[2].sent_pkts += 1);
        breaks("a link carries more than its rate", |r| r.ports[0].sent_bytes += 1_000_000_000);
    }
}
