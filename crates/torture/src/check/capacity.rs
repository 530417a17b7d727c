//! Capacity of links: no port sends more bytes than its rate permits.

use super::violation::broken;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::PortRow;
use forebay_experiment::traffic::WorkloadKind;
use forebay_types::{PortId, Rate, Time};

/// Bytes of TCP options beyond those that the configuration counts in its headers, at most (RFC 9293 section 3.1).
const OPTIONS: u64 = 40;

/// Checks a port.
///
/// A packet counts as sent when it enters the queue. The packets that have left the queue since the counters started were transmitted one after the other.
/// There are two tolerances. A port rounds the transmission time of each packet down to whole picoseconds. It completes the packet in service at the rate
/// before a change.
pub(super) fn holds(config: &Experiment, r: &Report, (id, row): (PortId, &PortRow)) -> Result<(), String> {
    let Some(queued) = r.undelivered.queued_bytes.iter().nth(id.index()) else { return Ok(()) };
    let transmitted = row.sent_bytes.saturating_sub(*queued);
    let measured = (r.measured_from, r.undelivered.until);
    if u128::from(transmitted) > capacity(config, id, row.sent_pkts, measured) {
        return broken("a link carries more than its rate", &(transmitted, measured, row));
    }
    Ok(())
}

/// Bytes that a port can transmit in `packets` packets between two times.
fn capacity(config: &Experiment, id: PortId, packets: u64, (from, until): (Time, Time)) -> u128 {
    let port = &config.network.ports[id];
    let mut changes: Vec<(Time, Rate)> =
        config.network.faults.changes.iter().filter(|c| c.port == id).filter_map(|c| Some((c.at, c.rate?))).collect();
    changes.sort_by_key(|c| c.0);
    let starts = std::iter::once((Time::ZERO, port.rate)).chain(changes.iter().copied());
    let ends = changes.iter().map(|c| c.0).chain(std::iter::once(until));
    let within = |((start, rate), end): ((Time, Rate), Time)| bytes(end.min(until).saturating_sub(start.max(from)).0, rate);
    let fastest = starts.clone().map(|s| s.1).max().unwrap_or(port.rate);
    starts.zip(ends).map(within).sum::<u128>()
        + bytes(packets, fastest)
        + changes.len() as u128 * u128::from(largest_frame(config))
}

/// Bytes that take this many picoseconds, rounded up.
fn bytes(ps: u64, rate: Rate) -> u128 {
    (u128::from(ps) << 16).div_ceil(u128::from(rate.ps_per_byte_q16()))
}

/// Bytes of the largest packet on the wire, at most.
fn largest_frame(config: &Experiment) -> u64 {
    let segments = config.groups.iter().map(|g| u64::from(g.tcp.mss + g.tcp.header).max(u64::from(g.tcp.ack_size)) + OPTIONS);
    let datagrams = config.workloads.iter().map(|w| match &w.kind {
        WorkloadKind::Udp { datagram, .. } => u64::from(datagram.wire),
        _ => 0,
    });
    segments.chain(datagrams).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::ran;
    use super::*;

    /// Bottleneck, whose rate halves in the middle of the run.
    const BYTES: u64 = 100_000_000 / 8 / 100 + 50_000_000 / 8 / 100;

    fn check(change: impl FnOnce(&mut PortRow)) -> Result<(), String> {
        let (config, mut report) = ran();
        let at = report.ports.iter().position(|p| p.dropped_overflow > 0).expect("drops");
        let row = &mut report.ports[at];
        change(row);
        let row = row.clone();
        holds(&config, &report, (PortId::from_index(at), &row))
    }

    #[test]
    fn saturated_link_is_within_its_rate() {
        assert_eq!(check(|_| {}), Ok(()));
        let (config, report) = ran();
        let (at, row) = report.ports.iter().enumerate().find(|(_, p)| p.dropped_overflow > 0).expect("drops");
        let measured = (report.measured_from, report.undelivered.until);
        let frame = u128::from(largest_frame(&config));
        // One frame for the change, and a byte for each term that is rounded.
        let most = capacity(&config, PortId::from_index(at), row.sent_pkts, measured);
        assert!((u128::from(BYTES)..=u128::from(BYTES) + frame + 4).contains(&most), "{most}");
    }

    /// The link is busy for 95 % of the run at least: two frames more than the rest do not fit.
    #[test]
    fn more_than_the_rate_is_found() {
        let (_, report) = ran();
        let row = report.ports.iter().find(|p| p.dropped_overflow > 0).expect("drops");
        let queued = report.undelivered.queued_bytes[row.port];
        let idle = BYTES - (row.sent_bytes - queued);
        assert!(idle < BYTES / 20, "{idle} of {BYTES}");
        let why = check(|row| row.sent_bytes += idle + 2 * 1_600).expect_err("more than the rate");
        assert!(why.starts_with("a link carries more than its rate"), "{why}");
    }
}
