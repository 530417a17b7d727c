//! Traffic of an experiment: sizes, senders, receivers and times of each workload.

use crate::assign::Assign;
use crate::listen::Listen;
use crate::pattern::Pairs;
use crate::rack_pairs::RackPairs;
use crate::transport::Group;
use crate::writes::Writes;
use forebay_types::{GroupId, IndexVec, NodeId, Rate, SizeDist, Time, TimeDist};

/// Traffic source of the scenario.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Name in the results (`class` column).
    pub class: String,
    /// Assignment of its connections to [`Experiment::groups`](crate::Experiment::groups).
    pub transport: Assign,
    /// Calls with which applications write each of its messages.
    pub writes: Writes,
    /// Listening sockets of its receiving hosts; `None`: hosts accept every connection at once.
    pub listen: Option<Listen>,
    /// Kind, with its parameters.
    pub kind: WorkloadKind,
}

impl Workload {
    /// Returns true if one of its connections can get transport `group`.
    pub fn uses(&self, group: GroupId) -> bool {
        self.transport.uses(group, &|see| self.kind.each_sender(see))
    }

    /// Checks that each of its connections gets one of `groups` transports, on a network of `nodes` nodes. The error is the reason.
    pub(crate) fn check_transport(&self, nodes: usize, groups: usize) -> Result<(), String> {
        self.transport.check(nodes, groups, &|see| self.kind.each_sender(see))
    }

    /// Reason why the workload cannot have a listening socket; `None` without one, or if it can.
    pub fn listen_conflict(&self, groups: &IndexVec<GroupId, Group>) -> Option<String> {
        self.listen?;
        match self.kind {
            WorkloadKind::Long { size: Some(_), .. } | WorkloadKind::Poisson { .. } | WorkloadKind::OnOff { .. } => {}
            WorkloadKind::Replay { .. } | WorkloadKind::Requests { two_way: true, .. } => {}
            WorkloadKind::Requests { .. } => {
                return Some("a response has a connection of its own, which the server opens; with `two-way = true` clients open the connections".into());
            }
            WorkloadKind::Long { .. } => return Some("endless flows open their connections once; give them a `size`".into()),
            WorkloadKind::Incast { .. } | WorkloadKind::Queries { .. } | WorkloadKind::Udp { .. } => {
                return Some(
                    "no client opens a connection to a server in it; legal kinds: long, on-off, poisson, replay, requests".into(),
                );
            }
        }
        let of_hosts = |see: &mut dyn FnMut(NodeId)| self.kind.each_sender(see);
        let mut used = groups.enumerate().filter(|(id, _)| self.transport.uses(*id, &of_hosts)).map(|(_, group)| group);
        used.find_map(|group| {
            let name = &group.name;
            match &group.tcp {
                c if !c.is_linux() || !c.handshake => Some(format!(
                    "the accept queue is that of Linux, and the transport `{name}` has another stack or no handshake; set `stack = \"linux\"`"
                )),
                c if !c.shims.is_empty() => {
                    Some(format!("it is not built for connections with a shim, and `{name}` has `{}`", c.shims[0].name))
                }
                _ => None,
            }
        })
    }
}

/// Kinds of workloads.
#[derive(Debug, Clone)]
pub enum WorkloadKind {
    /// One flow per pair.
    Long {
        /// (source, destination) of each flow.
        pairs: Pairs,
        /// Bytes of each flow; `None`: endless.
        size: Option<u64>,
        /// Start of the first flow.
        start: Time,
        /// Each flow starts this much after the one before it.
        stagger: Time,
        /// Plus a random time, uniform in 0..=jitter.
        jitter: Time,
        /// Endless flows stop writing at this time after their own start.
        stop_after: Option<Time>,
    },
    /// Barrier-synchronized blocks: the receiver requests a block from every sender, and the next round when all have arrived.
    Incast {
        /// One persistent connection from each.
        senders: Vec<NodeId>,
        /// The receiver.
        receiver: NodeId,
        /// Bytes of each sender's block.
        block: u64,
        /// Number of rounds; `None`: until the end of simulated time.
        rounds: Option<u32>,
        /// Time of the first request.
        start: Time,
        /// Pause between the completion of a round and the next request.
        gap: Time,
        /// Form of a request.
        request: Request,
        /// Random processing time of a request, uniform in 0..=jitter, per sender and round.
        jitter: Time,
        /// Deadline of a block, counted from the request.
        deadline: Option<Deadline>,
    },
    /// Open loop: flows arrive as a Poisson process, each on a new connection or on persistent ones.
    Poisson {
        /// Sources; one is drawn per flow.
        from: Vec<NodeId>,
        /// Destinations; one different from the source is drawn per flow.
        to: Vec<NodeId>,
        /// Flow sizes.
        sizes: SizeDist,
        /// Mean flows per second of the whole workload.
        flows_per_sec: f64,
        /// First possible arrival.
        start: Time,
        /// No arrivals from here on; `None`: the end of simulated time.
        stop: Option<Time>,
        /// At most this many flows; `None`: no limit.
        flows: Option<u64>,
        /// Each source starts at most this many; `None`: no limit.
        per_source: Option<u64>,
        /// The rack of each node, when flows must leave that of their source.
        racks: Option<IndexVec<NodeId, NodeId>>,
        /// Standard deviation of the logarithm of the time between flows, which is log-normal then; `None`: exponential.
        sigma: Option<f64>,
        /// Racks between which flows are drawn; `None`: uniform over all pairs of hosts.
        matrix: Option<RackPairs>,
        /// Flows between two hosts share a pool of persistent connections.
        persistent: bool,
        /// Deadline of each flow.
        deadline: Option<Deadline>,
        /// Warm start: flows that arrived before the run are alive at time zero, and start at random times before this one. `None`: the network is
        /// empty then.
        warm: Option<Time>,
    },
    /// Trains on persistent connections: write a train, pause, write the next.
    OnOff {
        /// (source, destination) of each connection.
        pairs: Pairs,
        /// Train sizes.
        sizes: SizeDist,
        /// Pauses.
        gaps: TimeDist,
        /// True if the pause starts at the completion of the train (closed loop), false at its start (open loop).
        after_completion: bool,
        /// Trains per connection; `None`: until the end.
        trains: Option<u32>,
        /// Start of the first pause.
        start: Time,
        /// Optional last train, written at this time on every connection; no other follows it.
        last: Option<(Time, LastTrain)>,
        /// Total bytes of the trains of a connection, to which they are scaled, and the minimum of each.
        total: Option<(u64, u64)>,
        /// Each train on a connection of its own instead of one for all.
        fresh: bool,
        /// Each connection starts later by a random time, uniform in 0..=jitter.
        jitter: Time,
        /// Deadline of each train.
        deadline: Option<Deadline>,
    },
    /// Closed loop: a client sends a request over the network, the server answers, and the client repeats after its think time.
    Requests {
        /// (client, server) of each persistent connection pair.
        pairs: Pairs,
        /// Request sizes.
        request: SizeDist,
        /// Response sizes.
        response: SizeDist,
        /// Client pause between a response and the next request.
        think: TimeDist,
        /// Requests per pair; `None`: until the end.
        count: Option<u32>,
        /// First request.
        start: Time,
        /// Deadline of a response, counted from the request.
        deadline: Option<Deadline>,
        /// Both directions of a pair are one TCP connection.
        two_way: bool,
    },
    /// Partition and aggregate: aggregators query workers in parallel and wait for all answers.
    Queries {
        /// Hosts that send queries.
        aggregators: Vec<NodeId>,
        /// Hosts that answer; each has a persistent connection to each aggregator but itself.
        workers: Vec<NodeId>,
        /// Workers per query.
        fan_out: u32,
        /// Sizes of answers.
        response: ResponseSize,
        /// Start of queries.
        arrival: Arrival,
        /// Queries of each aggregator; `None`: no limit.
        count: Option<u32>,
        /// Queries begin here.
        start: Time,
        /// No query begins from here on.
        stop: Option<Time>,
        /// Form of a request.
        request: Request,
        /// Random processing time of each request, uniform in 0..=jitter.
        jitter: Time,
        /// Deadline of an answer, counted from the request.
        deadline: Option<Deadline>,
    },
    /// Datagrams at a rate, never answered.
    Udp {
        /// (source, destination).
        pairs: Pairs,
        /// The packets.
        datagram: Datagram,
        /// Rate of each source on the wire.
        rate: Rate,
        /// Each packet is delayed by a random time, uniform in 0..=packet_jitter.
        packet_jitter: Time,
        /// Lengths of sending periods and pauses; `None`: continuous sending.
        periods: Option<(TimeDist, TimeDist)>,
        /// First packet.
        start: Time,
        /// Each source starts later by a random time, uniform in 0..=jitter.
        jitter: Time,
        /// No packet from here on; `None`: the end of simulated time.
        stop: Option<Time>,
    },
    /// A given list of flows, each on a new connection.
    Replay {
        /// Sorted by start.
        flows: Vec<ReplayFlow>,
        /// Events that flows wait for. Such a flow begins its `start` after the last of them.
        after: Vec<FlowDependency>,
    },
}

/// End of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After a finite amount of work.
    Finite,
    /// Never; the experiment needs a duration.
    Never,
    /// Background traffic, which ends with the other workloads.
    WithOthers,
}

impl WorkloadKind {
    /// Draws the random pairs of the run with this seed.
    pub(crate) fn draw_pairs(&mut self, seed: u64) {
        match self {
            WorkloadKind::Long { pairs, .. }
            | WorkloadKind::OnOff { pairs, .. }
            | WorkloadKind::Requests { pairs, .. }
            | WorkloadKind::Udp { pairs, .. } => pairs.draw(seed),
            WorkloadKind::Incast { .. }
            | WorkloadKind::Poisson { .. }
            | WorkloadKind::Queries { .. }
            | WorkloadKind::Replay { .. } => {}
        }
    }

    /// Deadline of the answers to a query, counted from the request.
    pub fn answer_deadline(&self) -> Option<Deadline> {
        match self {
            WorkloadKind::Incast { deadline, .. }
            | WorkloadKind::Requests { deadline, .. }
            | WorkloadKind::Queries { deadline, .. } => *deadline,
            WorkloadKind::Long { .. }
            | WorkloadKind::Poisson { .. }
            | WorkloadKind::OnOff { .. }
            | WorkloadKind::Replay { .. }
            | WorkloadKind::Udp { .. } => None,
        }
    }

    /// Number of answers to each query; 0 for other workloads.
    pub fn answers(&self) -> u32 {
        match self {
            WorkloadKind::Incast { senders, .. } => u32::try_from(senders.len()).unwrap_or(u32::MAX),
            WorkloadKind::Requests { .. } => 1,
            WorkloadKind::Queries { fan_out, .. } => *fan_out,
            WorkloadKind::Long { .. }
            | WorkloadKind::Poisson { .. }
            | WorkloadKind::OnOff { .. }
            | WorkloadKind::Replay { .. }
            | WorkloadKind::Udp { .. } => 0,
        }
    }

    /// Calls `see` with every host that sends on a connection of this workload; hosts can repeat.
    pub fn each_sender(&self, mut see: impl FnMut(NodeId)) {
        match self {
            WorkloadKind::Long { pairs, .. } | WorkloadKind::OnOff { pairs, .. } | WorkloadKind::Udp { pairs, .. } => {
                pairs.iter().for_each(|p| see(p.0))
            }
            WorkloadKind::Incast { senders: from, .. } | WorkloadKind::Poisson { from, .. } => from.iter().for_each(|&h| see(h)),
            WorkloadKind::Queries { workers, .. } => workers.iter().for_each(|&h| see(h)),
            // A request and its response are messages of two connections.
            WorkloadKind::Requests { pairs, .. } => pairs.iter().for_each(|&(client, server)| {
                see(client);
                see(server);
            }),
            WorkloadKind::Replay { flows, .. } => flows.iter().for_each(|f| see(f.src)),
        }
    }

    /// Calls `see` with every host at an end of a connection; hosts can repeat.
    pub fn each_host(&self, mut see: impl FnMut(NodeId)) {
        self.each_sender(&mut see);
        match self {
            WorkloadKind::Long { pairs, .. } | WorkloadKind::OnOff { pairs, .. } | WorkloadKind::Udp { pairs, .. } => {
                pairs.iter().for_each(|p| see(p.1))
            }
            WorkloadKind::Incast { receiver, .. } => see(*receiver),
            WorkloadKind::Poisson { to, .. } => to.iter().for_each(|&h| see(h)),
            WorkloadKind::Queries { aggregators, .. } => aggregators.iter().for_each(|&h| see(h)),
            // Both ends are senders.
            WorkloadKind::Requests { .. } => {}
            WorkloadKind::Replay { flows, .. } => flows.iter().for_each(|f| see(f.dst)),
        }
    }

    /// Maximum number of flows of a `poisson` workload; `None` without a limit, and for other kinds.
    pub fn flow_limit(&self) -> Option<u64> {
        let WorkloadKind::Poisson { from, to, flows, per_source, racks, .. } = self else { return None };
        let sources = from.iter().filter(|f| has_destination(**f, to, racks.as_ref())).count() as u64;
        [*flows, per_source.map(|n| n.saturating_mul(sources))].into_iter().flatten().min()
    }

    /// End of the workload.
    pub fn end(&self) -> End {
        let limited = match self {
            WorkloadKind::Long { size, stop_after, .. } => size.is_some() || stop_after.is_some(),
            WorkloadKind::Incast { rounds, .. } => rounds.is_some(),
            WorkloadKind::Poisson { stop, flows, per_source, .. } => stop.is_some() || flows.is_some() || per_source.is_some(),
            WorkloadKind::OnOff { trains, last, .. } => trains.is_some() || last.is_some(),
            WorkloadKind::Requests { count, .. } => count.is_some(),
            WorkloadKind::Queries { count, stop, .. } => count.is_some() || stop.is_some(),
            WorkloadKind::Udp { stop: None, .. } => return End::WithOthers,
            WorkloadKind::Udp { .. } | WorkloadKind::Replay { .. } => true,
        };
        if limited { End::Finite } else { End::Never }
    }

    /// Wire bytes of its smallest datagram, if it sends any.
    pub fn smallest_datagram(&self) -> Option<u32> {
        match self {
            WorkloadKind::Udp { datagram, .. } => Some(u32::from(datagram.wire)),
            _ => None,
        }
    }

    /// Mean time in ps between messages or datagrams that start independently of earlier ones, if there are any. Flows of a list are not counted,
    /// because all of them are in memory from the start.
    pub fn arrival_gap(&self) -> Option<f64> {
        match self {
            WorkloadKind::Poisson { flows_per_sec, .. } => Some(1e12 / flows_per_sec),
            WorkloadKind::Queries { arrival: Arrival::Rate(per_sec), aggregators, fan_out, .. } => {
                Some(1e12 / per_sec / aggregators.len() as f64 / f64::from(*fan_out))
            }
            WorkloadKind::OnOff { gaps, pairs, after_completion: false, .. } => Some(gaps.mean() / pairs.len() as f64),
            WorkloadKind::Udp { rate, datagram, pairs, .. } => {
                Some(rate.tx_time(u64::from(datagram.wire)).0 as f64 / pairs.len() as f64)
            }
            _ => None,
        }
    }

    /// Configured latency of requests that are not sent over the network, if any.
    pub fn request_latency(&self) -> Option<Time> {
        match self {
            WorkloadKind::Incast { request, .. } | WorkloadKind::Queries { request, .. } => request.latency(),
            _ => None,
        }
    }

    /// Returns true if requests and answers share TCP connections.
    pub fn two_way(&self) -> bool {
        match self {
            WorkloadKind::Incast { request, .. } | WorkloadKind::Queries { request, .. } => {
                matches!(request, Request::Packets { two_way: true, .. })
            }
            WorkloadKind::Requests { two_way, .. } => *two_way,
            _ => false,
        }
    }

    /// Payload bytes of a request of constant size that is sent over the network, for `incast` and `queries`.
    pub fn request_bytes(&self) -> Option<u64> {
        match self {
            WorkloadKind::Incast { request: Request::Packets { bytes, .. }, .. }
            | WorkloadKind::Queries { request: Request::Packets { bytes, .. }, .. } => Some(*bytes),
            _ => None,
        }
    }
}

/// Returns true if `from` may send to any of `to`: not to itself and, with `racks`, not within its rack.
pub fn has_destination(from: NodeId, to: &[NodeId], racks: Option<&IndexVec<NodeId, NodeId>>) -> bool {
    to.iter().any(|&t| t != from && racks.is_none_or(|rack| rack[from] != rack[t]))
}

/// Common properties of the datagrams of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes on the wire.
    pub wire: u16,
    /// Of those, payload.
    pub payload: u16,
    /// Class of service, 0 to 7.
    pub class: u8,
    /// ECN-capable: queues may mark instead of dropping. Datagrams do not react to marks.
    pub ect: bool,
}

/// Form of the requests of `incast` and `queries`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Messages over the network.
    Packets {
        /// Payload of a request.
        bytes: u64,
        /// They travel on the TCP connection of the answers; otherwise on a connection of their own.
        two_way: bool,
    },
    /// Events that are never lost, with this one-way latency; `None`: propagation and serialization of an ACK-sized packet on the empty path.
    OutOfBand(Option<Time>),
}

impl Request {
    /// Configured latency of requests that are not sent over the network, if any.
    fn latency(self) -> Option<Time> {
        match self {
            Request::Packets { .. } => None,
            Request::OutOfBand(latency) => latency,
        }
    }
}

/// Sizes of the answers to a query.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseSize {
    /// Each drawn from this distribution.
    Each(SizeDist),
    /// This many bytes divided equally, rounded up.
    Shared(u64),
}

/// Start of the queries of an aggregator.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// Poisson process with this rate per second.
    Rate(f64),
    /// Closed loop, with this pause after the completion of a query.
    Gap(TimeDist),
}

/// Size of the last train on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastTrain {
    /// This many bytes.
    Bytes(u64),
    /// Remainder of this many bytes after the other trains, which cannot reach it.
    UpToTotal(u64),
}

/// Deadline of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// This long after their start.
    pub after: Time,
    /// Only messages of at most this many bytes have one.
    pub max_size: u64,
}

impl Deadline {
    /// Deadline of a message of `bytes` whose time starts at `start`; [`Time::NEVER`] for none.
    pub fn due(deadline: Option<Deadline>, start: Time, bytes: u64) -> Time {
        deadline.filter(|d| bytes <= d.max_size).map_or(Time::NEVER, |d| start.saturating_add(d.after))
    }
}

/// An event that a flow of a replayed list waits for: a pause after the end of another flow, which the waiting flow's source receives or sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowDependency {
    /// Index of the flow that ends first; `None`: the start of the run.
    pub first: Option<u32>,
    /// Index of the flow that waits.
    pub waiting: u32,
    /// Pause after the end of the first.
    pub pause: Time,
}

/// One flow of a replayed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayFlow {
    /// Start of the flow.
    pub start: Time,
    /// Source host.
    pub src: NodeId,
    /// Destination host.
    pub dst: NodeId,
    /// Bytes, at least 1.
    pub bytes: u64,
    /// Deadline since the start of the run; `Time::NEVER` for none.
    pub deadline: Time,
}
