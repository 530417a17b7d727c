//! What piles up in a network that is asked for more than it carries: connections that wait, and packets in long queues.

use super::plan::planned_bytes;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::rows::FlowRow;
use forebay_experiment::topology::Fib;
use forebay_experiment::traffic::WorkloadKind;
use forebay_units::{IndexVec, QueueLen, WorkloadId};

/// What a connection takes while it is open, and for each of its segments of which the sender has to remember something, up to so many of
/// them. Measured on connections that wait in an overloaded fabric.
const OPEN: f64 = 2_400.0;
const OPEN_SEGMENT: f64 = 25.0;
const OPEN_SEGMENTS: f64 = 140.0;
/// A packet that waits: in its queue, and in the memory of its sender. Measured.
const PACKET: f64 = 80.0;
/// Messages of a workload whose ways are looked at.
const WAYS: usize = 64;
/// Of each workload, how busy the busiest link of its messages has been: on average over some of them, and at least a twentieth.
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

/// Connections of one message each that are open at the end.
#[derive(Default)]
pub(super) struct Waiting {
    /// Now, and at the end of the run.
    pub(super) open: [f64; 2],
    /// What those take that are to come, bytes.
    pub(super) memory: f64,
}

impl Waiting {
    /// How many are open at the end for each that is open now.
    pub(super) fn times(&self) -> f64 {
        if self.open[0] > 0.0 { self.open[1] / self.open[0] } else { 1.0 }
    }
}

/// Where more arrives than links carry, connections pile up: in step with the bytes that are left over.
pub(super) fn waiting(
    config: &Experiment,
    report: &Report,
    factors: &IndexVec<WorkloadId, f64>,
    duration: Option<f64>,
) -> Waiting {
    let mut all = Waiting { memory: PACKET * filling(config, report), ..Waiting::default() };
    for id in config.workloads.ids() {
        let workload = &config.workloads[id];
        let (WorkloadKind::Poisson { sizes, .. }, Some(planned)) = (&workload.kind, planned_bytes(&workload.kind, duration))
        else {
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
        all.memory += (then - open) * (OPEN + OPEN_SEGMENT * segments);
        all.open = [all.open[0] + open, all.open[1] + then];
    }
    all
}

/// Payload of a packet.
fn mss(config: &Experiment) -> f64 {
    f64::from(config.groups.iter().map(|g| g.tcp.stack.mss).max().unwrap_or(1))
}

/// Packets of unfinished messages that their senders have sent and know nothing of yet.
pub(super) fn in_flight(config: &Experiment, report: &Report) -> f64 {
    let unfinished = report.flows.iter().filter(|f| f.acked.is_never());
    unfinished.map(|f| (f.segs_sent.saturating_sub(f.segs_retx) as f64 - f.bytes_acked as f64 / mss(config)).max(0.0)).sum()
}

/// Packets that long queues will hold beyond those that they hold by now: as many as fit where a queue still grows, and as windows allow.
fn filling(config: &Experiment, report: &Report) -> f64 {
    let window = config.groups.iter().map(|g| g.tcp.stack.rcv_wnd).max().unwrap_or(0);
    let left = |f: &FlowRow| if f.size_bytes == 0 { window } else { f.size_bytes.saturating_sub(f.bytes_acked).min(window) };
    let open = report.flows.iter().filter(|f| f.acked.is_never());
    let could = open.map(|f| left(f) as f64 / mss(config)).sum::<f64>() - in_flight(config, report);
    let room = report.ports.iter().map(|row| {
        // Full, held short, or no longer than it has been all the time: it does not grow.
        let steady = row.queue_mean_pkts > 0.6 * f64::from(row.queue_max_pkts);
        let refused = row.dropped_overflow + row.dropped_shared + row.dropped_early + row.marked > 0;
        // A host lets few packets wait at its own interface.
        let own = config.network.nodes[config.network.ports[row.port].from].host;
        if own || steady || refused || row.busy < 0.5 {
            return 0.0;
        }
        let buffer = config.network.ports[row.port].buffer.map_or(f64::INFINITY, |len| match len {
            QueueLen::Packets(n) => n as f64,
            QueueLen::Bytes(n) => n as f64 / mss(config),
        });
        (buffer - f64::from(row.queue_max_pkts)).max(0.0)
    });
    could.min(room.sum()).max(0.0)
}
