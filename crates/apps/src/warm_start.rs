//! Flows that are alive at time zero when a run has a warm start.
//!
//! A run that starts with an empty network takes a while until as many flows are alive as later. A warm start draws the past of an open-loop workload:
//! the flows that arrived before time zero. A flow is alive at time zero if its completion time is longer than its age. So the mean number of flows
//! alive is the arrival rate times the mean completion time (Little's law). The probability that a flow is alive is proportional to its completion
//! time, and the part of it that remains is uniform.
//!
//! The completion time is that of a fluid model. A flow that shares a link with other flows takes longer than alone by a factor 1 / (1 - load) on
//! average, whatever the distribution of sizes: that of a queue with processor sharing (Kleinrock 1967). A path adds up the additional times of its
//! links, which is exact if flows are stored and forwarded, and an upper bound if bandwidth is shared fairly (Bonald and Proutiere 2003).

use forebay_experiment::Experiment;
use forebay_experiment::topology::{Fib, hosts};
use forebay_experiment::traffic::ReplayFlow;
use forebay_types::{GroupId, IndexVec, NodeId, PortId, Rng, Time, WorkloadId};

/// Largest load of a link in the model. Our choice: above it a flow takes 20 times as long as alone, and the model would fill the network with flows
/// that a short run never sees end.
const MAX_LOAD: f64 = 0.95;
/// Least window of a flow alive at time zero, in segments. Our choice: the smallest window in which one ACK is not delayed.
const MIN_SEGMENTS: u64 = 2;
/// Pairs of hosts that give the loads of links: at least this many, and for each host.
const PAIRS: (usize, usize) = (1 << 14, 1 << 6);

/// A flow that is alive at time zero, with its remaining bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AliveFlow {
    /// Its start in the run, the remaining bytes, and the hosts.
    pub(crate) flow: ReplayFlow,
    /// Payload of its window: fair share times RTT.
    pub(crate) window: u64,
}

/// Source of random flows of a workload.
pub(crate) trait Past {
    /// Source and destination of a flow.
    fn draw_pair(&mut self) -> (NodeId, NodeId);
    /// The flows that arrive in a time, with their times from its beginning.
    fn arrivals(&mut self, during: Time) -> Vec<ReplayFlow>;
}

/// Traffic that one workload offers.
struct Offered {
    /// Bits per second on the wire.
    rate: f64,
    pairs: Vec<(NodeId, NodeId)>,
}

/// Fair share of a flow on the path between two hosts.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Bits of payload per second.
    rate: f64,
    /// RTT of the empty path.
    round_trip: Time,
}

/// Loads of the links of a network.
pub(crate) struct FluidModel<'a> {
    experiment: &'a Experiment,
    fib: Fib,
    /// Bits per second of each port.
    loads: IndexVec<PortId, f64>,
    /// Wire bytes per byte of payload.
    overhead: f64,
    mss: u64,
    segment: u64,
    ack: u64,
}

impl<'a> FluidModel<'a> {
    /// The loads by all `poisson` workloads. `past` gives the source of flows of a workload, with its flows per second and its mean size in bytes.
    /// `None` for a network without routes.
    pub(crate) fn new<P: Past>(
        experiment: &'a Experiment,
        group: GroupId,
        past: impl Fn(WorkloadId) -> Option<(P, f64, f64)>,
        rng: &mut Rng,
    ) -> Option<FluidModel<'a>> {
        let network = &experiment.network;
        let tcp = &experiment.groups.get(group)?.tcp;
        let (mss, segment) = (u64::from(tcp.mss.max(1)), u64::from(tcp.mss + tcp.header));
        let overhead = segment as f64 / mss as f64;
        let fib = Fib::new(network).ok()?;
        let draws = PAIRS.0.max(PAIRS.1 * hosts(network).len());
        let offered = experiment.workloads.ids().filter_map(&past).map(|(mut past, per_second, mean)| Offered {
            rate: per_second * mean * 8.0 * overhead,
            pairs: (0..draws).map(|_| past.draw_pair()).collect(),
        });
        let mut loads = IndexVec::repeat(0.0, network.ports.len());
        for Offered { rate, pairs } in offered {
            let each = rate / draws as f64;
            for (src, dst) in pairs {
                for port in fib.path(network, src, dst, rng.next_u64() as u32) {
                    loads[port] += each;
                }
            }
        }
        Some(FluidModel { experiment, fib, loads, overhead, mss, segment, ack: u64::from(tcp.ack_size) })
    }

    /// Fair share of a flow from `src` to `dst`. Of several equal-cost ports the mean load counts.
    fn share(&self, (src, dst): (NodeId, NodeId)) -> Share {
        let network = &self.experiment.network;
        // Seconds per bit alone, and in addition because of other flows.
        let (mut alone, mut waiting) = (0.0_f64, 0.0);
        for port in self.fib.path(network, src, dst, 0) {
            let from = network.ports[port].from;
            let ports = if from == src { &[port] } else { self.fib.ports_towards(from, dst) };
            let sum = |of: &dyn Fn(PortId) -> f64| ports.iter().map(|p| of(*p)).sum::<f64>();
            let capacity = sum(&|p| network.ports[p].rate.0 as f64).max(1.0);
            let load = (sum(&|p| self.loads[p]) / capacity).min(MAX_LOAD);
            let each = ports.len() as f64 / capacity;
            alone = alone.max(each);
            waiting += each * load / (1.0 - load);
        }
        let there = self.fib.path_time(network, (src, dst), 0, self.segment);
        let back = self.fib.path_time(network, (dst, src), 0, self.ack);
        Share { rate: 1.0 / ((alone + waiting) * self.overhead), round_trip: Time(there + back) }
    }

    /// Completion time of `bytes` between two hosts: half an RTT, and the bytes at the fair share.
    fn completion_time(share: Share, bytes: u64) -> Time {
        let seconds = bytes as f64 * 8.0 / share.rate;
        Time((seconds * 1e12) as u64).saturating_add(share.round_trip / 2)
    }

    /// The flows of `past` that are alive at time zero, by their start. They start at random times before `stagger`. No flow has more than `largest`
    /// bytes.
    pub(crate) fn alive(&self, past: &mut impl Past, largest: u64, stagger: Time, rng: &mut Rng) -> Vec<AliveFlow> {
        // Completion time of the largest flow. A sample of the pairs suffices: all between the same two racks have about the same share.
        let pairs = (0..PAIRS.0).map(|_| past.draw_pair());
        let horizon = pairs.map(|pair| FluidModel::completion_time(self.share(pair), largest)).max().unwrap_or_default();
        let mut all: Vec<AliveFlow> = Vec::new();
        for flow in past.arrivals(horizon) {
            let share = self.share((flow.src, flow.dst));
            // Time runs backwards: variants whose completion times differ slightly have the same flows.
            let (age, takes) = (flow.start, FluidModel::completion_time(share, flow.bytes));
            if takes <= age {
                continue;
            }
            let remaining = flow.bytes as f64 * (1.0 - age.0 as f64 / takes.0 as f64);
            let bytes = (remaining.ceil() as u64).clamp(1, flow.bytes);
            let start = Time(rng.below(stagger.0.max(1)));
            let window = (share.rate / 8.0 * share.round_trip.as_secs_f64()) as u64;
            let flow = ReplayFlow { start, bytes, deadline: Time::NEVER, ..flow };
            all.push(AliveFlow { flow, window: window.max(MIN_SEGMENTS * self.mss) });
        }
        all.sort_by_key(|a| a.flow.start);
        all
    }
}
