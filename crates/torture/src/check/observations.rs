//! Invariants of observations during a run: samples of senders, packets, queues and timeouts.

use super::invariants::timeouts;
use super::violation::broken;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::transport::RtoRule;
use forebay_types::Time;
use std::collections::HashMap;

/// Connections whose senders are observed at each ACK.
const SENDERS: u64 = 12;

/// `config` with everything observed.
pub(super) fn of_everything(config: &Experiment) -> Experiment {
    let mut observed = config.clone();
    let o = &mut observed.observe;
    o.tcp_series = (0..SENDERS).map(|conn| (conn, Time::ZERO)).collect();
    o.occupancy = config.network.ports.ids().collect();
    (o.timeouts, o.packets) = (true, true);
    observed
}

/// Checks the series of an observed run.
pub(super) fn hold(config: &Experiment, r: &Report) -> Result<(), String> {
    senders(config, r)?;
    packets(config, r)?;
    timeouts(r)?;
    let mut clock = 0;
    for t in r.timeouts.iter() {
        if t.time_ps < clock {
            return broken("timeouts are out of order", &t);
        }
        clock = t.time_ps;
    }
    let mut clock = 0;
    for q in r.queue.iter() {
        if q.time_ps < clock || (q.pkts == 0) != (q.bytes == 0) {
            return broken("samples of a queue are out of order, or count bytes without packets", &q);
        }
        clock = q.time_ps;
    }
    Ok(())
}

/// Windows, thresholds and timeouts are in their ranges; what has happened stays so.
fn senders(config: &Experiment, r: &Report) -> Result<(), String> {
    let stacks = || config.groups.iter().map(|g| &g.tcp);
    let least = stacks().map(|t| t.rto_min.min(t.rto_initial)).min().unwrap_or_default();
    let rounded = |t: Time, g: Time| t.saturating_add(g);
    let most = stacks().map(|t| match t.rto_rule {
        RtoRule::Fixed => t.rto_min.max(t.rto_initial),
        _ => rounded(t.rto_max.max(t.rto_initial), t.rto_granularity),
    });
    let most = most.max().unwrap_or_default();
    let (mut clock, mut before) = (0, HashMap::new());
    for t in r.tcp.iter() {
        if t.time_ps < clock {
            return broken("samples of senders are out of order", &t);
        }
        clock = t.time_ps;
        if !(t.cwnd.is_finite() && t.cwnd > 0.0) || t.ssthresh.is_some_and(|s| s.is_nan() || s <= 0.0) {
            return broken("a window or threshold is outside of its range", &t);
        }
        if t.alpha.is_some_and(|a| !(0.0..=1.0).contains(&a)) || t.ca_state > 4 {
            return broken("alpha or the state of recovery is outside of its range", &t);
        }
        if t.rto_ps < least.0 || t.rto_ps > most.0 {
            return Err(format!("a retransmission timeout is outside of {least} to {most}: {t:?}"));
        }
        let (acked, retrans) = before.insert(t.conn_id, (t.bytes_acked, t.retrans)).unwrap_or_default();
        if t.bytes_acked < acked || t.retrans < retrans {
            return broken("an acknowledgment or retransmission is taken back", &t);
        }
    }
    Ok(())
}

/// Packets arrive in the order of time; where every port serves in order and packets of a connection have one path, only retransmissions are late.
fn packets(config: &Experiment, r: &Report) -> Result<(), String> {
    let network = &config.network;
    let faults = &network.faults;
    let one_path = faults.balance.keeps_path() && faults.failures.is_empty() && faults.reordering.is_empty();
    let in_order = one_path && network.ports.iter().all(|p| p.serves_in_order());
    let mut retransmitted: HashMap<u64, u64> = HashMap::new();
    for f in &r.flows {
        // A probe of the tail repeats data without counting as a retransmission everywhere.
        *retransmitted.entry(f.conn_id).or_default() += f.segs_retx + u64::from(f.tlps) + u64::from(f.rtos);
    }
    let (mut clock, mut front, mut late) = (0, HashMap::new(), HashMap::<u64, u64>::new());
    for p in r.packets.iter() {
        if p.time_ps < clock {
            return broken("packets are out of order", &p);
        }
        clock = p.time_ps;
        if p.back || p.payload == 0 {
            continue;
        }
        let front = front.entry(p.conn_id).or_insert(p.number);
        // Sequence numbers may wrap.
        if (p.number.wrapping_sub(*front) as i32) < 0 {
            *late.entry(p.conn_id).or_default() += 1;
        } else {
            *front = p.number;
        }
    }
    let mut all: Vec<_> = late.into_iter().collect();
    all.sort_unstable();
    for (conn, late) in all {
        let repeated = retransmitted.get(&conn).copied().unwrap_or(0);
        if in_order && late > repeated {
            return Err(format!(
                "a port that serves in order reorders: {late} packets of connection {conn} are late, {repeated} are repeated"
            ));
        }
    }
    Ok(())
}
