//! The driver's network against the simulator's: the same datagrams through the same network reach their hosts at the same nanosecond, with the
//! same marks, and every port has dropped, marked and held the same. Without TCP, so that nothing but the network can differ.

use forebay_apps::{App, Host, Job, OpenSpec, QueryIds, QueryStart, Wake};
use forebay_experiment::Experiment;
use forebay_experiment::host_timing::HostTiming;
use forebay_experiment::streams::RngStream;
use forebay_experiment::topology::Fib;
use forebay_experiment::traffic::Datagram;
use forebay_queues::{QueueConfig, QueueState, SharedBuffer, SharedPolicy};
use forebay_tests::driver::{Link, Network, PacketEvent, Switch};
use forebay_tests::{Outcome, one};
use forebay_types::{ConnSlot, GroupId, NodeId, PortId, Rng, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Flags of a simulated datagram.
const DATAGRAM: u64 = 3;
/// The clock of a Linux host counts nanoseconds (`ktime_t`): it takes packets and its timers expire at whole ones. In ps.
const NANOSECOND: u64 = 1000;
/// Low bits of an arrival that its lot does not see (`engine/arrival_order.rs`).
const COHERENT: u64 = 33;

struct Source {
    datagram: Datagram,
    dst: NodeId,
    /// Sequence number of the next one.
    next: u32,
}

/// `param` of `struct fb_switch`.
fn shared(buffer: &SharedBuffer) -> [u64; 6] {
    let (policy, number) = match buffer.policy {
        SharedPolicy::Static { per_port } => (0, per_port),
        SharedPolicy::Dynamic { alpha } => (1, alpha.to_bits()),
    };
    [buffer.total, policy, number, 0, 0, 0]
}

/// The driver's network as a host of applications that send datagrams.
struct Driver<'a> {
    config: &'a Experiment,
    fib: Fib,
    network: Network,
    sources: Vec<Source>,
    sequence_numbers: Rng,
    wakes: BinaryHeap<Reverse<(Time, u64, u64, u64)>>,
    set: u64,
}

impl<'a> Driver<'a> {
    fn new(config: &'a Experiment) -> Driver<'a> {
        let seed = config.seed;
        let timing = HostTiming::of(&config.groups);
        let link = |(id, p): (PortId, &forebay_experiment::network::PortConfig)| {
            let stream = RngStream::Queue.stream(seed, &[u64::from(id.get())]);
            let limit = p.buffer.map_or(QueueState::UNLIMITED, QueueState::limit);
            let mut link = Link::new(p.from.get(), p.to.get(), &p.queue_config, stream.state());
            (link.rate, link.delay) = (p.rate.0, p.delay.0);
            if config.network.nodes[p.from].host {
                let (bound, state) = timing.jitter(seed, p.from).parts();
                (link.delay, link.jitter) = (link.delay + timing.phase(seed, p.from).0, [bound, state]);
            }
            (link.limit_packets, link.limit_bytes) = (limit.packets, limit.bytes);
            link
        };
        let links = config.network.ports.enumerate().map(link).collect();
        let pools = config.network.nodes.enumerate().filter_map(|(n, node)| Some((n, node.shared_buffer?)));
        let switches = pools.map(|(n, pool)| Switch { node: n.get(), pad: 0, param: shared(&pool) }).collect();
        let ties = RngStream::Ties.stream(seed, &[]).next_u64();
        Driver {
            config,
            fib: Fib::with_seed(&config.network, seed).expect("every host reaches every other"),
            network: Network::new(config.network.nodes.len() as u32, links, switches, (ties, COHERENT)),
            sources: Vec::new(),
            sequence_numbers: RngStream::SequenceNumbers.stream(seed, &[]),
            wakes: BinaryHeap::new(),
            set: 0,
        }
    }

    /// Until the end of the experiment's time.
    fn run(&mut self) {
        let mut ids = QueryIds::default();
        let new = |i| App::new(self.config, self.config.seed, i, &mut ids);
        let mut apps: Vec<App> = self.config.workloads.ids().map(new).collect();
        apps.iter_mut().for_each(|app| app.start(self));
        let end = self.config.duration.expect("it ends");
        while let Some(Reverse((now, _, app, tag))) = self.wakes.pop().filter(|w| w.0.0 < end) {
            // Packets that arrive at the same instant come first, wherever that matters.
            if let Some(before) = now.0.checked_sub(1) {
                self.run_to(before);
            }
            apps[app as usize].on_wake(self, now, tag);
        }
        self.run_to(end.0);
    }

    /// Comes when the driver asks for it, as the kernel's timer does: whatever a host sees happens at its nanosecond, and not later.
    fn run_to(&mut self, until: u64) {
        loop {
            let now = self.network.next();
            let seen = self.network.deliveries().len();
            self.network.run(now.min(until));
            for d in &self.network.deliveries()[seen..] {
                assert_eq!(d.time.next_multiple_of(NANOSECOND), now, "a packet is late");
            }
            if now > until {
                return;
            }
        }
    }

    /// The path of a connection's packets one way.
    fn path(&self, conn: u64, src: NodeId, dst: NodeId) -> Vec<u32> {
        let hash = self.fib.flow_hash(conn, src, dst);
        self.fib.path(&self.config.network, src, dst, u32::from(hash)).into_iter().map(PortId::get).collect()
    }

    /// As the simulator computes it.
    fn fingerprint(&self) -> u64 {
        let mut nodes = vec![0u64; self.config.network.nodes.len()];
        for d in self.network.deliveries() {
            let hash = &mut nodes[self.sources[d.conn as usize].dst.index()];
            let what = u64::from(d.seq) << 8 | DATAGRAM << 2 | u64::from(d.ecn);
            *hash =
                (hash.rotate_left(5) ^ d.time.next_multiple_of(NANOSECOND) ^ (what << 20)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        let hops = self.network.left().len() as u64;
        nodes.iter().fold(hops, |h, node| (h.rotate_left(7) ^ node).wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }
}

impl Host for Driver<'_> {
    fn open_datagrams(&mut self, spec: OpenSpec, datagram: Datagram) -> ConnSlot {
        let conn = self.sources.len() as u32;
        let (forth, back) = (self.path(u64::from(conn), spec.src, spec.dst), self.path(u64::from(conn), spec.dst, spec.src));
        // The slot, its generation and the direction.
        self.network.open(conn, &forth, &back, u64::from(conn) << 7, datagram.class);
        let next = (self.sequence_numbers.next_u64() as u32).wrapping_add(1);
        self.sources.push(Source { datagram, dst: spec.dst, next });
        ConnSlot::new(conn)
    }

    fn send_datagram(&mut self, conn: ConnSlot, now: Time) {
        let source = &mut self.sources[conn.index()];
        let ecn = if source.datagram.ect { 2 } else { 0 };
        self.network.send(conn.get(), u32::from(source.datagram.wire), ecn, source.next, now.0);
        source.next = source.next.wrapping_add(u32::from(source.datagram.payload));
    }

    fn wake(&mut self, wake: Wake) {
        self.set += 1;
        let time = Time(wake.time.0.next_multiple_of(NANOSECOND));
        self.wakes.push(Reverse((time, self.set, u64::from(wake.app.get()), wake.tag)));
    }

    fn open(&mut self, _: Time, _: OpenSpec) -> ConnSlot {
        unreachable!("only datagrams")
    }
    fn earliest_open(&self) -> Time {
        unreachable!("only datagrams")
    }
    fn open_later(&mut self, _: Time, _: OpenSpec) {
        unreachable!("only datagrams")
    }
    fn write(&mut self, _: ConnSlot, _: Time, _: Job) {
        unreachable!("only datagrams")
    }
    fn stop(&mut self, _: ConnSlot, _: Time) {
        unreachable!("only datagrams")
    }
    fn begin_query(&mut self, _: QueryStart) {
        unreachable!("only datagrams")
    }
    fn request_latency(&self, _: NodeId, _: NodeId, _: GroupId) -> Time {
        unreachable!("only datagrams")
    }
}

/// Counters of a port.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Totals {
    arrived: u64,
    sent: u64,
    dropped: [u64; 3],
    marked: u64,
    longest: u32,
}

fn of_driver(network: &Network, ports: usize) -> Vec<Totals> {
    let mut all = vec![Totals::default(); ports];
    let mut inside = BTreeSet::new();
    for r in network.records() {
        let t = &mut all[r.port as usize];
        match r.what {
            PacketEvent::Arrived | PacketEvent::Marked => {
                t.arrived += 1;
                t.sent += 1;
                t.marked += u64::from(r.what == PacketEvent::Marked);
                t.longest = t.longest.max(r.found + 1);
                inside.insert((r.port, r.id));
            }
            PacketEvent::Dropped(reason) => {
                t.dropped[reason] += 1;
                match inside.remove(&(r.port, r.id)) {
                    true => t.sent -= 1,
                    false => t.arrived += 1,
                }
            }
            PacketEvent::MarkedLater => t.marked += 1,
            PacketEvent::Delivered => {}
        }
    }
    all
}

fn of_simulator(o: &Outcome) -> Vec<Totals> {
    let row = |p: &forebay_experiment::rows::PortRow| Totals {
        arrived: p.arrived_pkts,
        sent: p.sent_pkts,
        dropped: [p.dropped_overflow, p.dropped_shared, p.dropped_early],
        marked: p.marked,
        longest: p.queue_max_pkts,
    };
    o.report.ports.iter().map(row).collect()
}

/// Totals of all ports: drops by reason and marks, so that a caller can check that some occurred.
fn both(text: &str, seed: u64) -> Totals {
    let o = one(text, &[&format!("seed={seed}")]);
    let mut driver = Driver::new(&o.variant.config);
    driver.run();
    let (ours, theirs) = (of_driver(&driver.network, o.report.ports.len()), of_simulator(&o));
    for (port, (our, their)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(our, their, "port {} of\n{text}seed {seed}", o.variant.port_names[port]);
    }
    assert_eq!(driver.network.left().len() as u64, o.report.packet_hops, "{text}seed {seed}");
    assert_eq!(driver.fingerprint(), o.report.fingerprint, "{text}seed {seed}");
    assert_eq!(driver.network.next(), u64::MAX, "nothing is left to do");
    let mut sum = Totals::default();
    for t in &ours {
        sum.arrived += t.arrived;
        sum.marked += t.marked;
        (0..3).for_each(|i| sum.dropped[i] += t.dropped[i]);
    }
    sum
}

/// Bursts in several classes and sizes, to one receiver; everything has arrived before the end.
fn bursts(start: &str) -> String {
    let burst = |packet: u32, class: u32, ect: bool| {
        format!(
            "[[workload]]\nkind = \"udp\"\nrate = \"400Mbps\"\npacket = \"{packet}B\"\nservice = {class}\nect = {ect}\n\
             on = {{ exponential = \"300us\" }}\noff = {{ exponential = \"300us\" }}\n{start}stop = \"9ms\"\n"
        )
    };
    [burst(1500, 0, true), burst(700, 7, false), burst(1500, 5, true), burst(64, 3, true)].concat()
}

/// Queues as a scenario names them, and what they must have done.
const QUEUES: [&str; 18] = [
    "\"drop-tail\"",
    "{ kind = \"dctcp-step\", k = \"8pkt\" }",
    "{ kind = \"dctcp-step\", k = \"9KB\", drop-non-ect-above-k = true }",
    "{ kind = \"red\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1 }",
    "{ kind = \"lossy\", p = 0.01, k = \"8pkt\" }",
    "{ kind = \"protect\", k = \"8pkt\", reserve = \"5pkt\" }",
    "{ kind = \"strict-priority\", k = \"8pkt\" }",
    "{ kind = \"strict-priority\", queues = 2, buffer-scope = \"queue\" }",
    "{ kind = \"strict-priority\", queues = 3, ks = [\"4pkt\", \"6pkt\", \"8pkt\"] }",
    "{ kind = \"dwrr\", weights = [3, 1], k = \"8pkt\" }",
    "{ kind = \"wfq\", weights = [3, 1], k = \"8pkt\" }",
    "{ kind = \"choke\", min = \"4pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1 }",
    "{ kind = \"choke-multi\", min = \"2pkt\", max = \"16pkt\", p-max = 0.1, weight = 0.1, m = 3 }",
    "{ kind = \"pushout\", k = \"8pkt\" }",
    "\"pfabric\"",
    "{ kind = \"codel\", target = \"50us\", interval = \"300us\", ecn = true }",
    "{ kind = \"fq-codel\", target = \"50us\", interval = \"300us\" }",
    "{ kind = \"pie\", target = \"50us\", update = \"50us\", burst = \"100us\", alpha = 500.0, beta = 5000.0, ecn = true }",
];

#[test]
fn every_queue_at_a_bottleneck() {
    for queue in QUEUES {
        for (seed, start) in [(1, ""), (2, "jitter = \"1ms\"\n"), (3, "jitter = \"100us\"\npacket-jitter = \"1us\"\n")] {
            let text = format!(
                "duration = \"20ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 4\naccess = {{ rate = \"10Gbps\", delay = \"3us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"5us\", buffer = \"30pkt\", queue = {queue} }}\n[transport]\nhost = \"bare\"\n{}",
                bursts(start)
            );
            let did = both(&text, seed);
            assert!(did.arrived > 5_000 && did.dropped.iter().sum::<u64>() + did.marked > 10, "{queue}: {did:?}");
        }
    }
}

/// Driver and simulator draw the same phases and jitter, also where packets of a host follow each other closely enough to stay in order by force.
#[test]
fn hosts_draw_the_same_times() {
    for (phase, jitter) in [("6.4ns", "0s"), ("0s", "25.6ns"), ("6.4ns", "25.6ns"), ("1us", "100ns")] {
        let text = format!(
            "duration = \"20ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 4\naccess = {{ rate = \"10Gbps\", delay = \"3us\" }}\n\
             bottleneck = {{ rate = \"1Gbps\", delay = \"5us\", buffer = \"30pkt\" }}\n\
             [transport]\nhost = \"bare\"\nhost-phase = \"{phase}\"\nhost-jitter = \"{jitter}\"\n{}",
            bursts("")
        );
        (1..4).for_each(|seed| assert!(both(&text, seed).arrived > 5_000));
    }
}

/// Behind its turn at the port a packet leaves later by what its host takes for it; packets of a host do not overtake.
#[test]
fn a_host_takes_its_time() {
    let link = |from, to| {
        let mut link = Link::new(from, to, &QueueConfig::default(), [1; 4]);
        (link.rate, link.delay) = (1_000_000_000, 5_000_000);
        link
    };
    let mut network = Network::new(3, vec![link(0, 2), link(2, 1), link(1, 2), link(2, 0)], Vec::new(), (0, 33));
    network.open(0, &[0, 1], &[2, 3], 2, 0);
    // 1000 bytes take 8 us.
    for (late, seq) in [(20_000_000, 0), (0, 1), (0, 2), (0, 3)] {
        network.send_late(0, 1000, 0, seq, 0, late);
    }
    network.run(1_000_000_000);
    let first = 8_000_000 + 5_000_000 + 20_000_000;
    // The second and third have overtaken nothing, and arrive at the switch right behind the first.
    let through = |n: u64| first + n * 8_000_000 + 5_000_000;
    let arrived: Vec<u64> = network.deliveries().iter().map(|d| d.time).collect();
    assert_eq!(arrived, [through(1), through(2), through(3), through(4)]);
    let at_switch: Vec<u64> =
        network.records().iter().filter(|r| r.port == 1 && r.what == PacketEvent::Arrived).map(|r| r.time).collect();
    assert_eq!(at_switch, [first, first + 1, first + 2, 4 * 8_000_000 + 5_000_000]);
}

/// Every host sends to every other host at one rate from time 0: at every switch packets of several links arrive at the same instant.
fn tree(kind: &str, queue: &str, memory: &str, start: &str) -> String {
    format!(
        "duration = \"10ms\"\n[topology]\n{kind}\n{memory}[transport]\nhost = \"bare\"\n[[workload]]\nkind = \"udp\"\npattern = \"permutation\"\nrate = \"900Mbps\"\nect = true\n\
         {start}stop = \"4ms\"\n"
    )
    .replace("QUEUE", queue)
}

#[test]
fn trees_with_ties_and_shared_memory() {
    let kinds = [
        "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\nhost = { rate = \"1Gbps\", delay = \"2us\", buffer = \"20pkt\", queue = QUEUE }\nfabric = { rate = \"1Gbps\", delay = \"2us\", buffer = \"20pkt\", queue = QUEUE }",
        "kind = \"fat-tree\"\nk = 4\nhost = { rate = \"1Gbps\", delay = \"1us\", buffer = \"12pkt\", queue = QUEUE }\nfabric = { rate = \"1Gbps\", delay = \"1us\", buffer = \"12pkt\", queue = QUEUE }",
    ];
    let mut dropped = [0; 3];
    for kind in kinds {
        for (seed, queue) in [(1, QUEUES[0]), (2, QUEUES[1]), (3, QUEUES[9])] {
            let total = "[topology.shared-buffer]\ntotal = \"40KB\"\n";
            for memory in [String::new(), format!("{total}alpha = 0.7\n"), format!("{total}per-port = \"9KB\"\n")] {
                for start in ["", "packet-jitter = \"3us\"\n"] {
                    let did = both(&tree(kind, queue, &memory, start), seed);
                    (0..3).for_each(|i| dropped[i] += did.dropped[i]);
                }
            }
        }
    }
    assert!(dropped[0] > 100 && dropped[1] > 100, "{dropped:?}");
}
