//! A set-up, as a scenario for forebay and as arguments for the peer's program.

use std::fmt::Write;

/// Simulator of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// Stock ns-2, as Debian ships it.
    Ns2,
    /// ns-3, as Debian ships it.
    Ns3,
}

/// Discipline of the bottleneck.
#[derive(Debug, Clone, Copy)]
pub(super) enum Queue {
    /// Drops packets that do not fit.
    Tail,
    /// Marks from this many packets on.
    Step(u32),
    /// RED between these average queues, p_max 0.1, gentle: ns-2's defaults.
    Red(u32, u32),
}

/// Traffic.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Endless flows that start within a millisecond.
    Long,
    /// Barrier rounds: packets a sender, rounds. Each answer is up to 100 us late: otherwise the rounds of a deterministic network form a cycle that
    /// depends more on the first one than on TCP.
    Incast(u32, u32),
    /// 200 small responses on each connection from 0.1 s, then at 0.5 s a train of this many packets.
    Trains(u32),
    /// The network and the flows of ns-3's `dctcp-example` (Alizadeh et al. 2010, Fig. 17), started within 0.1 s.
    Example,
}

/// A network with one bottleneck, and its traffic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    /// The peer; it also decides on the stack: `ns2` or `rfc`.
    pub peer: Peer,
    /// Congestion control and recovery, by forebay's name.
    pub cc: &'static str,
    /// Senders.
    pub n: u32,
    /// Gbps of the bottleneck and of the senders' links.
    pub rates: (f64, f64),
    /// Round trip of a full packet on the empty path, us; every link has a quarter of the propagation.
    pub rtt_us: f64,
    /// Packets at the bottleneck, the one on the wire included.
    pub buffer: u32,
    /// Its discipline.
    pub queue: Queue,
    /// Smallest timeout, ms.
    pub min_rto_ms: f64,
    /// Limit of the window, packets.
    pub window: u32,
    /// Processing time of a packet at its sender, uniform from 0 to this, us. Not 0 beside ns-2: its figures without any show phase effects (Floyd
    /// and Jacobson, 1992), which disappear with 100 ns.
    pub processing_us: f64,
    /// Traffic.
    pub work: Work,
    /// Simulated seconds, and those before the measurement.
    pub time: (f64, f64),
}

/// Common part of the set-ups with long flows.
pub(super) const LONG: Setup = Setup {
    peer: Peer::Ns2,
    cc: "newreno",
    n: 2,
    rates: (1.0, 1.0),
    rtt_us: 250.0,
    buffer: 250,
    queue: Queue::Tail,
    min_rto_ms: 200.0,
    window: 1000,
    processing_us: 1.0,
    work: Work::Long,
    time: (5.0, 1.0),
};

/// Wire bytes of a data packet and of an ACK.
const PACKET: f64 = 1500.0;
const ACK: f64 = 40.0;
const MSS: u32 = 1460;

impl Setup {
    /// One-way delay of every link, us: the part of the round trip without serialization.
    fn delay_us(&self) -> f64 {
        let serial = |bytes: f64| bytes * 8e-3 * (1.0 / self.rates.0 + 1.0 / self.rates.1);
        (self.rtt_us - serial(PACKET) - serial(ACK)) / 4.0
    }

    fn ecn(&self) -> &'static str {
        match (self.cc, self.queue) {
            ("dctcp", _) => "dctcp",
            (_, Queue::Tail) => "off",
            _ => "classic",
        }
    }

    /// The starts of the long flows, s: the same for both, another draw for each seed.
    pub(super) fn starts(&self, seed: u32) -> Vec<f64> {
        match self.work {
            Work::Example => (0..40).map(|i| f64::from(i) * 2.5e-3).collect(),
            _ => {
                // The generator of Park and Miller, with the multiplier of the peers' programs.
                let mut x = (u64::from(seed) * 7919 + 12345) % 2_147_483_647;
                let mut draw = || {
                    x = x * 48271 % 2_147_483_647;
                    x as f64 / 2_147_483_647.0
                };
                for _ in 0..10 {
                    let _ = draw();
                }
                (0..self.n).map(|_| (draw() * 1e6).round() * 1e-9).collect()
            }
        }
    }

    /// The scenario for forebay.
    pub(super) fn scenario(&self, seed: u32) -> String {
        let mut t = format!("seed = {seed}\n");
        if !matches!(self.work, Work::Incast(..)) {
            let _ = writeln!(t, "duration = \"{}s\"", self.time.0);
        }
        self.network(&mut t);
        self.transport(&mut t);
        match self.work {
            Work::Long => {
                for (i, start) in self.starts(seed).iter().enumerate() {
                    let _ = write!(t, "[[workload]]\nkind = \"long\"\nfrom = \"s{i}\"\nstart = \"{:.0}ns\"\n", start * 1e9);
                }
            }
            Work::Incast(block, rounds) => {
                let _ = write!(
                    t,
                    "[[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nblock = \"{}B\"\nrounds = {rounds}\njitter = \"100us\"\n",
                    block * MSS
                );
            }
            Work::Trains(packets) => {
                t.push_str("[[workload]]\nkind = \"on-off\"\nsizes = { uniform = [\"2KB\", \"10KB\"] }\n");
                t.push_str("gaps = { exponential = \"1ms\" }\ngap-from = \"start\"\ntrains = 200\nstart = \"100ms\"\n");
                let _ = writeln!(t, "last-size = \"{}B\"\nlast-at = \"500ms\"", packets * MSS);
            }
            Work::Example => {
                for (i, start) in self.starts(seed).iter().enumerate() {
                    let (from, to) = match i {
                        0..10 => (format!("a{i}"), "front-end".to_owned()),
                        10..30 => (format!("c{}", i - 10), format!("d{}", i - 10)),
                        _ => (format!("b{}", i - 30), "front-end".to_owned()),
                    };
                    let _ = write!(
                        t,
                        "[[workload]]\nkind = \"long\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{:.0}ns\"\n",
                        start * 1e9
                    );
                }
            }
        }
        let _ = write!(t, "[observe]\nwarmup = \"{}s\"\n", if matches!(self.work, Work::Incast(..)) { 0.0 } else { self.time.1 });
        if let Work::Trains(_) = self.work {
            t.push_str("tcp = { flows = [0, 1, 2, 3, 4], every = \"1ms\" }\n");
        }
        t
    }

    fn network(&self, t: &mut String) {
        if let Work::Example = self.work {
            let red = |min, max| {
                format!(
                    "{{ kind = \"red\", min = \"{min}pkt\", max = \"{max}pkt\", weight = 1.0, p-max = 0.02, gentle = true, count = \"wait\" }}"
                )
            };
            let _ = writeln!(
                t,
                "[topology]\nkind = \"multi-hop\"\na = 10\nb = 10\nc = 20\naccess = {{ rate = \"1Gbps\", delay = \"10us\" }}"
            );
            for (link, rate, queue) in [("link1", "10Gbps", red(50, 150)), ("link2", "1Gbps", red(20, 60))] {
                let _ = writeln!(t, "{link} = {{ rate = \"{rate}\", delay = \"10us\", buffer = \"2666pkt\", queue = {queue} }}");
            }
            return;
        }
        let queue = match self.queue {
            Queue::Tail => "\"drop-tail\"".to_owned(),
            Queue::Step(k) => format!("{{ kind = \"dctcp-step\", k = \"{k}pkt\" }}"),
            Queue::Red(min, max) => {
                format!("{{ kind = \"red\", min = \"{min}pkt\", max = \"{max}pkt\", p-max = 0.1, gentle = true }}")
            }
        };
        let delay = (self.delay_us() * 1e3).round();
        let _ = writeln!(t, "[topology]\nkind = \"many-to-one\"\nsenders = {}", self.n);
        let _ = writeln!(t, "access = {{ rate = \"{}Gbps\", delay = \"{delay}ns\" }}", self.rates.1);
        let _ = writeln!(
            t,
            "bottleneck = {{ rate = \"{}Gbps\", delay = \"{delay}ns\", buffer = \"{}pkt\", queue = {queue} }}",
            self.rates.0, self.buffer
        );
    }

    fn transport(&self, t: &mut String) {
        let _ = writeln!(t, "[transport]\ncc = \"{}\"\necn = \"{}\"", self.cc, self.ecn());
        match self.peer {
            // One-way agents: no handshake, no FIN.
            Peer::Ns2 => t.push_str("stack = \"ns2\"\ntimestamps = false\nhandshake = false\nfin = false\n"),
            Peer::Ns3 => t.push_str("stack = \"rfc\"\n"),
        }
        if let Work::Example = self.work {
            t.push_str("mss = 1448\nheader = 52\nack-size = 52\ntimestamps = true\n");
        }
        if self.peer == Peer::Ns2 {
            let _ = writeln!(t, "send-jitter = \"{}us\"", self.processing_us);
        }
        let _ = writeln!(t, "rto-min = \"{}ms\"\nrcv-wnd = \"{}B\"", self.min_rto_ms, self.window * MSS);
    }

    /// The arguments of the peer's program; `starts` is the file with the starts.
    pub(super) fn arguments(&self, seed: u32, starts: &str) -> Vec<String> {
        let mut a: Vec<String> = Vec::new();
        let mut set = |key: &str, value: &dyn std::fmt::Display| a.push(format!("{key}={value}"));
        let delay = format!("{}e-9", (self.delay_us() * 1e3).round());
        set("n", &self.n);
        set("rate", &(self.rates.0 * 1e9));
        set("arate", &(self.rates.1 * 1e9));
        set("delay", &delay);
        set("adelay", &delay);
        set("buffer", &self.buffer);
        match self.queue {
            Queue::Tail => {}
            Queue::Step(k) => {
                set("queue", &"step");
                set("k", &k);
            }
            Queue::Red(min, max) => {
                set("queue", &"red");
                set("min", &min);
                set("max", &max);
                set("pmax", &0.1);
                set("gentle", &1);
            }
        }
        set("tcp", &self.peer_cc());
        set("ecn", &u32::from(self.ecn() == "classic"));
        set("minrto", &(self.min_rto_ms / 1e3));
        set("seed", &seed);
        if let Work::Incast(block, rounds) = self.work {
            set("block", &block);
            set("rounds", &rounds);
            set("jitter", &1e-4);
            set("end", &10_000);
        } else {
            set("starts", &starts);
            set("end", &self.time.0);
            set("warmup", &self.time.1);
        }
        if self.peer == Peer::Ns2 {
            set("window", &self.window);
            set("overhead", &(self.processing_us / 1e6));
        }
        if let Work::Example = self.work {
            set("example", &1);
            set("mss", &1448);
            set("timestamps", &1);
        }
        a
    }

    fn peer_cc(&self) -> &'static str {
        match (self.peer, self.cc) {
            (Peer::Ns2, "reno") => "Reno",
            (Peer::Ns2, _) => "Newreno",
            (Peer::Ns3, "cubic") => "Cubic",
            (Peer::Ns3, "dctcp") => "Dctcp",
            (Peer::Ns3, _) => "NewReno",
        }
    }
}
