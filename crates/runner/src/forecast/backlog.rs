//! Backlog of an overloaded network: open connections and packets in long queues.

use super::plan::Planned;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::{FlowRow, PortRow};
use forebay_experiment::topology::Fib;
use forebay_experiment::traffic::WorkloadKind;
use forebay_types::{IndexVec, QueueLen, WorkloadId};

/// Memory of an open connection, of each of its segments in the sender's records, and the maximum number of such segments. Measured on connections
/// in an overloaded fabric.
const OPEN: f64 = 2_400.0;
const OPEN_SEGMENT: f64 = 25.0;
const OPEN_SEGMENTS: f64 = 140.0;
/// Memory of a queued packet, in its queue and in its sender. Measured.
const PACKET: f64 = 80.0;
/// Messages of a workload whose paths are examined.
const WAYS: usize = 64;
/// Utilization of the busiest link on the path of each workload's messages, averaged over some of them, at least 0.05.
pub(super) fn served(config: &Experiment, report: &Report) -> IndexVec<WorkloadId, f64> {
    let mut sums: IndexVec<WorkloadId, (f64, usize)> = IndexVec::repeat((0.0, 0), config.workloads.len());
    if let Ok(fib) = Fib::new(&config.network) {
        for f in &report.flows {
            let (sum, seen) = &mut sums[f.workload];
            if *seen < WAYS {
                let ports = fib.path(&config.network, f.src, f.dst, u32::from(f.ecmp));
                *sum += ports.into_iter().map(|p| report.ports[p.index()].busy).fold(0.0, f64::max);
                *seen += 1;
            }
        }
    }
    sums.iter().map(|(sum, seen)| (sum / (*seen).max(1) as f64).clamp(0.05, 1.0)).collect()
}

/// Memory of connections that will accumulate where more traffic arrives than the links carry, in proportion to the remaining bytes.
pub(super) fn waiting(
    config: &Experiment,
    report: &Report,
    plans: &IndexVec<WorkloadId, Planned>,
    factors: &IndexVec<WorkloadId, f64>,
) -> f64 {
    let mut memory = PACKET * filling(config, report);
    for id in config.workloads.ids() {
        let workload = &config.workloads[id];
        let (WorkloadKind::Poisson { sizes, .. }, Some(planned)) = (&workload.kind, plans[id].bytes) else {
            continue;
        };
        let of_it = || report.flows.iter().filter(|f| f.workload == id);
        let acked: f64 = of_it().map(|f| f.bytes_acked as f64).sum();
        let (mut open, mut left) = (0.0, 0.0);
        for f in of_it().filter(|f| f.acked.is_never()) {
            open += 1.0;
            left += f.size_bytes.saturating_sub(f.bytes_acked) as f64;
        }
        let over = planned - acked * factors[id];
        let then = if left > 0.0 { open * (over / left).max(1.0) } else { open };
        let segments = (sizes.mean() / mss(config)).min(OPEN_SEGMENTS);
        memory += (then - open) * (OPEN + OPEN_SEGMENT * segments);
    }
    memory
}

/// Payload of a packet.
fn mss(config: &Experiment) -> f64 {
    f64::from(config.groups.iter().map(|g| g.tcp.stack.mss).max().unwrap_or(1))
}

/// Packets in flight of unfinished messages.
pub(super) fn in_flight(config: &Experiment, report: &Report) -> f64 {
    let unfinished = report.flows.iter().filter(|f| f.acked.is_never());
    unfinished.map(|f| (f.segs_sent.saturating_sub(f.segs_retx) as f64 - f.bytes_acked as f64 / mss(config)).max(0.0)).sum()
}

/// True if the windows allow enough data to fill a queue that has not been full yet: packets are lost from then on.
pub(super) fn fills(config: &Experiment, report: &Report) -> bool {
    let could = could_wait(config, report);
    report.ports.iter().map(|row| room(config, row)).any(|room| room > 0.0 && could >= room)
}

/// Packets by which long queues will grow, limited by their buffers and by the windows.
fn filling(config: &Experiment, report: &Report) -> f64 {
    could_wait(config, report).min(report.ports.iter().map(|row| room(config, row)).sum())
}

/// Packets that the windows allow beyond those in flight.
fn could_wait(config: &Experiment, report: &Report) -> f64 {
    let window = config.groups.iter().map(|g| g.tcp.stack.rcv_wnd).max().unwrap_or(0);
    let left = |f: &FlowRow| if f.size_bytes == 0 { window } else { f.size_bytes.saturating_sub(f.bytes_acked).min(window) };
    let open = report.flows.iter().filter(|f| f.acked.is_never());
    (open.map(|f| left(f) as f64 / mss(config)).sum::<f64>() - in_flight(config, report)).max(0.0)
}

/// Space in a port's queue beyond its largest length so far, if it still grows, in packets; infinite without a limit.
fn room(config: &Experiment, row: &PortRow) -> f64 {
    // Full, kept short, or of constant length: it does not grow.
    let steady = row.queue_mean_pkts > 0.6 * f64::from(row.queue_max_pkts);
    let refused = row.dropped_overflow + row.dropped_shared + row.dropped_early + row.marked > 0;
    // A host keeps few packets in the queue of its own interface.
    let own = config.network.nodes[config.network.ports[row.port].from].host;
    if own || steady || refused || row.busy < 0.5 {
        return 0.0;
    }
    let buffer = config.network.ports[row.port].buffer.map_or(f64::INFINITY, |len| match len {
        QueueLen::Packets(n) => n as f64,
        QueueLen::Bytes(n) => n as f64 / mss(config),
    });
    (buffer - f64::from(row.queue_max_pkts)).max(0.0)
}
