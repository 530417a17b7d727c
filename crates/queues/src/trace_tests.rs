//! Traces of every discipline with its parameters at several values: a pseudorandom sequence of packets through a port of 1 Gbps, with phases of overload,
//! of light load and of bursts after idle time. `tests/traces.csv` records the numbers of signals and a hash of all decisions and departures.
//!
//! Tests against the RFCs and publications say which decision is right; traces show that no other line changes one.
//! `FOREBAY_UPDATE=1 cargo test -p forebay-queues --lib trace_tests::` rewrites the file.

use crate::testing::{Effect, build_from, packet};
use crate::{Arrival, Buffered, BufferedDiscipline, Codepoint, FifoDiscipline, Handle, Operation, PortState, Queue, QueueState};
use crate::{Queued, Verdict};
use forebay_types::{QueueLen, Rate, Rng, Time, mix};
use std::fmt::Write;

/// Discipline, parameters, buffer.
const CASES: &[(&str, &str, &str)] = &[
    ("drop-tail", "", "30pkt"),
    ("drop-tail", "", "30KB"),
    ("dctcp-step", "k=8pkt", "30pkt"),
    ("dctcp-step", "k=9KB drop-non-ect-above-k=true", "30pkt"),
    ("red", "min=4pkt max=16pkt p-max=0.1 weight=0.1", "30pkt"),
    ("red", "min=4pkt max=16pkt weight=0.02 gentle=true count=off", "60pkt"),
    (
        "red",
        "min=6KB max=14KB p-max=0.2 weight=0.1 gentle=true count=wait above-max=drop in-service=true mean-packet=500B",
        "30pkt",
    ),
    ("red", "min=3pkt max=5pkt p-max=1.0 weight=1.0", "9KB"),
    ("choke", "min=4pkt max=16pkt p-max=0.1 weight=0.1", "30pkt"),
    ("choke", "min=2KB max=20KB gentle=true weight=0.3", "60pkt"),
    ("choke-multi", "min=4pkt max=16pkt p-max=0.1 weight=0.1 m=3", "30pkt"),
    ("choke-multi", "min=4pkt max=16pkt p-max=0.1 weight=0.1 m=5 match=any", "30pkt"),
    ("choke-multi", "min=4pkt max=16pkt p-max=0.1 weight=0.1 m=4 match=majority victims=none", "30pkt"),
    ("strict-priority", "k=8pkt", "30pkt"),
    ("strict-priority", "queues=3 k=4pkt k-scope=queue overflow=tail", "30pkt"),
    ("strict-priority", "queues=2 buffer-scope=queue", "12pkt"),
    ("strict-priority", "queues=3 limits=5pkt,9KB,7pkt ks=2pkt,3KB,4pkt", "30pkt"),
    ("strict-priority", "queues=2 map=1,1,0,0,1,0,1,0", "20KB"),
    ("dwrr", "weights=3,1 k=8pkt", "30pkt"),
    ("dwrr", "queues=4 map=0,3,1,2,2,1,3,0 overflow=tail quantum=600B ks=3pkt,4pkt,5KB,6pkt", "30pkt"),
    ("dwrr", "queues=3 limits=8pkt,6pkt,9KB weights=2,5,1", "30KB"),
    ("wfq", "weights=3,1 k=8pkt", "30pkt"),
    ("wfq", "queues=5 map=0,3,1,2,4,1,3,0 overflow=tail", "30pkt"),
    ("wfq", "queues=3 limits=8pkt,6pkt,9KB weights=2,5,1 ks=2pkt,3pkt,4KB", "30KB"),
    ("protect", "k=8pkt", "15pkt"),
    ("protect", "reserve=9KB high=6", "20KB"),
    ("pushout", "k=8pkt", "15pkt"),
    ("pushout", "high=6", "15KB"),
    ("pfabric", "", "12pkt"),
    ("pfabric", "", "9KB"),
    ("codel", "target=100us interval=2ms ecn=true", "60pkt"),
    ("codel", "target=50us interval=1ms", "100pkt"),
    ("codel", "target=100us interval=500us ce-threshold=80us mtu=3000B", "60KB"),
    ("fq-codel", "target=100us interval=2ms", "60pkt"),
    ("fq-codel", "target=50us interval=1ms ecn=false flows=4 quantum=300B", "100pkt"),
    ("fq-codel", "target=100us interval=1ms limit=20 drop-batch=3 flows=16 ce-threshold=90us", "60KB"),
    ("fq-codel", "target=20us interval=300us mtu=200B", "400pkt"),
    ("fq", "flow-limit=20", "60pkt"),
    ("fq", "limit=25 flow-limit=6 quantum=700B initial-quantum=2000B", "100pkt"),
    ("pie", "target=100us update=100us burst=1ms ecn=true alpha=20 beta=200", "60pkt"),
    ("pie", "target=50us update=200us burst=0ps derandomize=true cap=true", "100pkt"),
    (
        "pie",
        "target=100us update=100us burst=200us delay=rate ecn=true mark-ecnth=0.4 mean-packet=300B alpha=60 beta=600",
        "60pkt",
    ),
    ("pie", "target=30us update=50us burst=100us alpha=200 beta=3000 derandomize=true ecn=true mark-ecnth=0.05", "60pkt"),
    ("dualpi2", "target=200us rtt-max=1ms l4s-threshold=20us l4s-range=10us", "60pkt"),
    ("dualpi2", "target=100us rtt-max=2ms update=150us alpha=90 beta=900 coupling=3 classic-share=0.25 l4s-packets=3", "100pkt"),
    ("dualpi2", "target=100us rtt-max=1ms l4s-threshold=50us l4s-range=100us classic-share=0 l4s-packets=0", "40KB"),
    ("lossy", "p=0.05 k=8pkt", "30pkt"),
    ("policer", "rate=500Mbps burst=20KB", "60pkt"),
    ("policer", "rate=200Mbps burst=4KB k=5pkt", "30pkt"),
];

const STEPS: u32 = 30_000;

/// An arrival, by the fast path if `fast` is set and the discipline has one for it.
struct Arrive<'a> {
    port: PortState,
    queued: Queued,
    fast: bool,
    effects: &'a mut Vec<Effect>,
}

impl Operation for Arrive<'_> {
    type Output = ();

    fn run(self, discipline: &mut impl Buffered) {
        if self.fast
            && discipline.takes_fast_push(&self.port, &self.queued)
            && let Some(verdict) = discipline.try_push(&self.port, &self.queued)
        {
            self.queued.admit(verdict, self.effects);
            return;
        }
        discipline.push(&self.port, self.queued, self.effects);
    }
}

/// A packet that arrives at an idle port with an empty backlog: a port omits the call where the discipline allows it, and reports the idle time later.
struct ArriveIdle<'a> {
    port: PortState,
    packet: Arrival,
    omitted: &'a mut Time,
}

impl Operation for ArriveIdle<'_> {
    type Output = Option<Verdict>;

    fn run(self, discipline: &mut impl Buffered) -> Option<Verdict> {
        if discipline.accepts_idle() && self.port.fits(self.packet.wire) {
            *self.omitted += self.port.now - self.port.idle_since;
            return Some(Verdict::Accept);
        }
        discipline.add_idle(std::mem::take(self.omitted));
        discipline.push_idle(&self.port, &self.packet)
    }
}

/// Idle time before packets that bypassed the discipline.
struct AddIdle(Time);

impl Operation for AddIdle {
    type Output = ();

    fn run(self, discipline: &mut impl Buffered) {
        discipline.add_idle(self.0);
    }
}

/// Returns true if packets bypass an empty queue, also at a port that must wait.
struct CanBypass;

impl Operation for CanBypass {
    type Output = bool;

    fn run(self, discipline: &mut impl Buffered) -> bool {
        discipline.can_bypass()
    }
}

/// A packet that the sender holds until its departure time.
struct Hold(u64, Time);

impl Operation for Hold {
    type Output = ();

    fn run(self, discipline: &mut impl Buffered) {
        discipline.hold(self.0, self.1);
    }
}

/// A segment that joins a burst.
struct Extend(Handle, u32);

impl Operation for Extend {
    type Output = bool;

    fn run(self, discipline: &mut impl Buffered) -> bool {
        discipline.extend(self.0, self.1)
    }
}

/// The discipline of the port.
enum Server {
    Fifo(FifoDiscipline),
    Buffered(BufferedDiscipline),
}

struct Port {
    server: Server,
    limit: QueueState,
    rng: Rng,
    now: Time,
    backlog: Vec<Queued>,
    serving: Option<Queued>,
    free: Time,
    idle_since: Time,
    held: Vec<u64>,
    /// Idle time that has not been added to the discipline.
    omitted: Time,
    hash: u64,
    drops: u32,
    marks: u32,
}

impl Port {
    fn record(&mut self, numbers: [u64; 3]) {
        numbers.into_iter().for_each(|n| self.hash = mix(self.hash.rotate_left(5) ^ n.wrapping_add(0x9E37_79B9_7F4A_7C15)));
    }

    fn state(&mut self) -> PortState {
        let mut queue = QueueState::default();
        self.backlog.iter().chain(&self.serving).for_each(|q| queue.add(q.packet.wire));
        let serving = self.serving.map_or(0, |q| q.packet.wire);
        // Sometimes the memory that ports share is almost full.
        let memory = (self.rng.below(20) == 0).then_some(8000);
        PortState { now: self.now, queue, limit: self.limit, memory, serving, idle_since: self.idle_since }
    }

    fn carry_out(&mut self, effects: &[Effect]) {
        for e in effects {
            match *e {
                Effect::Mark(handle) => {
                    self.marks += 1;
                    self.record([1, handle.0.into(), 0]);
                }
                Effect::Drop(handle, reason) => {
                    self.drops += 1;
                    self.record([2, handle.0.into(), reason as u64]);
                    self.backlog.retain(|q| q.handle != handle);
                }
            }
        }
    }

    fn arrive(&mut self, handle: Handle, packet: Arrival) {
        let (port, queued) = (self.state(), Queued { handle, since: self.now, packet });
        let mut effects = Vec::new();
        let idle = self.serving.is_none() && self.backlog.is_empty() && self.rng.below(2) == 0;
        if let Server::Buffered(d) = &mut self.server {
            if idle && let Some(verdict) = d.apply(ArriveIdle { port, packet, omitted: &mut self.omitted }) {
                let admitted = queued.admit(verdict, &mut effects);
                self.carry_out(&effects);
                if admitted {
                    self.transmit(queued);
                }
                return;
            }
            d.apply(AddIdle(std::mem::take(&mut self.omitted)));
        }
        self.backlog.push(queued);
        match &mut self.server {
            Server::Fifo(d) => _ = queued.admit(d.on_arrival(&port, &packet), &mut effects),
            Server::Buffered(d) => {
                if d.holds_departures() && self.rng.below(6) == 0 {
                    d.apply(Hold(packet.flow & !Arrival::RELEASED, self.now));
                    self.held.push(packet.flow & !Arrival::RELEASED);
                }
                d.apply(Arrive { port, queued, fast: self.rng.below(2) == 0, effects: &mut effects });
                let held = effects.iter().all(|e| !matches!(e, Effect::Drop(h, _) if *h == handle));
                if held && self.rng.below(10) == 0 && d.apply(Extend(handle, 300)) {
                    self.backlog.iter_mut().filter(|q| q.handle == handle).for_each(|q| q.packet.wire += 300);
                }
            }
        }
        self.carry_out(&effects);
        if self.serving.is_none() {
            self.serve();
        }
    }

    fn transmit(&mut self, packet: Queued) {
        self.serving = Some(packet);
        self.backlog.retain(|q| q.handle != packet.handle);
        self.free = self.now + Rate(1_000_000_000).tx_time(packet.packet.wire.into());
        self.record([3, packet.handle.0.into(), self.now.0]);
    }

    fn serve(&mut self) {
        let mut effects = Vec::new();
        let next = match &mut self.server {
            Server::Fifo(_) => self.backlog.first().map(|q| q.handle),
            Server::Buffered(d) => {
                d.apply(AddIdle(std::mem::take(&mut self.omitted)));
                d.pop(self.now, &mut effects)
            }
        };
        self.carry_out(&effects);
        self.serving = next.and_then(|h| self.backlog.iter().find(|q| q.handle == h).copied());
        match self.serving {
            None => self.idle_since = self.now,
            Some(q) => self.transmit(q),
        }
        if let Server::Buffered(d) = &self.server {
            assert_eq!(d.len(), self.backlog.len());
        }
    }
}

/// Runs the sequence; numbers of drops and marks, and the hash.
fn trace(mut queue: Queue, limit: QueueState) -> String {
    queue.set_defaults(8, 1500);
    queue.start(Rate(1_000_000_000), Rng::stream(7, &[1]));
    let server = match queue {
        Queue::Fifo(d) => Server::Fifo(d),
        Queue::Buffered(d) => Server::Buffered(d),
    };
    let (rng, zero) = (Rng::stream(7, &[2]), Time(0));
    let mut p = Port {
        server,
        limit,
        rng,
        now: zero,
        backlog: Vec::new(),
        serving: None,
        free: zero,
        idle_since: zero,
        held: Vec::new(),
        omitted: zero,
        hash: 0,
        drops: 0,
        marks: 0,
    };
    let mut arrival = zero;
    for number in 0..STEPS {
        // Packets of 800 bytes take 6.4 us in the mean.
        let mean = [5_300_000, 6_200_000, 14_000_000, 0, 3_500_000][(number / 1500 % 5) as usize];
        let burst = Time::from_us(if number % 40 == 0 { 900 } else { 0 });
        arrival += if mean > 0 { Time((p.rng.exponential() * f64::from(mean)) as u64) } else { burst };
        while p.serving.is_some() && p.free <= arrival {
            p.now = p.free;
            p.serve();
        }
        p.now = arrival;
        let wire = [64, 300, 576, 1500, 1500][p.rng.below(5) as usize];
        let ecn = Codepoint::from_bits(p.rng.below(4) as u8);
        let (class, rank) = (p.rng.below(8) as u8, p.rng.below(30) as u16);
        // Flow 0 has most of the packets.
        let flow = if p.rng.below(3) == 0 { 0 } else { p.rng.below(12) };
        let flow = if p.rng.below(3) == 0 { p.held.pop().map_or(flow, |f| f | Arrival::RELEASED) } else { flow };
        p.arrive(Handle(number), Arrival { ecn, ..packet(wire, class, rank, flow) });
    }
    let bypass = match &mut p.server {
        Server::Fifo(_) => false,
        Server::Buffered(d) => d.apply(CanBypass),
    };
    format!("{},{},{bypass},{:016x}", p.drops, p.marks, p.hash)
}

#[test]
fn decisions_are_as_recorded() {
    let mut now =
        String::from("# queue,parameters,buffer,drops,marks,bypass,hash: see src/trace_tests.rs; FOREBAY_UPDATE=1 rewrites it\n");
    for (name, params, buffer) in CASES {
        let len: QueueLen = buffer.parse().unwrap();
        let limit = QueueState::limit(len);
        writeln!(
            now,
            "{name},{},{buffer},{}",
            params.replace(',', "/"),
            trace(build_from(name, params, Some(len)).unwrap(), limit)
        )
        .unwrap();
    }
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces.csv");
    if std::env::var_os("FOREBAY_UPDATE").is_some() {
        std::fs::write(&file, &now).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    let changed: Vec<&str> = now.lines().filter(|line| !recorded.lines().any(|r| r == *line)).collect();
    assert!(now == recorded, "changed, missing or superfluous lines in tests/traces.csv; now:\n{}", changed.join("\n"));
}

/// Every discipline of the registry has a trace, and every parameter a value that is not its default.
#[test]
fn every_parameter_has_a_trace() {
    for entry in crate::REGISTRY {
        let name = entry.entry.name;
        for p in entry.entry.params {
            let is_set = |&(kind, params, _): &(&str, &str, &str)| {
                kind == name && params.split_whitespace().any(|pair| pair.split_once('=').is_some_and(|(key, _)| key == p.key))
            };
            // CHOKe has those of RED.
            let shared = name.starts_with("choke") && crate::red::PARAMS.iter().any(|red| red.key == p.key);
            assert!(shared || CASES.iter().any(is_set), "{name}: no trace sets `{}`", p.key);
        }
        assert!(CASES.iter().any(|case| case.0 == name), "{name}");
    }
}
