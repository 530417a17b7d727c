//! Scenarios as text: one bottleneck between pairs of hosts, the transports that share it, their traffic, and changes of the link.

use std::fmt::Write as _;

/// A path with one bottleneck.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathSpec {
    /// Rate of the bottleneck, Mbit/s.
    pub(crate) mbps: f64,
    /// Round-trip time of the empty path without serialization, ms.
    pub(crate) rtt_ms: f64,
    /// Buffer in bandwidth-delay products; at least 4 packets.
    pub(crate) buffer: f64,
    /// Queue discipline, as in a scenario.
    pub(crate) queue: &'static str,
}

/// 50 Mbit/s and 40 ms, a buffer of one bandwidth-delay product: 167 packets.
pub(crate) const COMMON: PathSpec = PathSpec { mbps: 50.0, rtt_ms: 40.0, buffer: 1.0, queue: "\"drop-tail\"" };

/// One packet in ten arrives 8 ms late at the bottleneck.
pub(crate) const LATE: &str = "[[topology.reorder]]\nport = \"bottleneck\"\np = 0.1\nby = \"8ms\"";
/// The bottleneck delivers packets every 5 ms, as Wi-Fi does with aggregated frames.
pub(crate) const BATCHES: &str = "[[topology.batch]]\nport = \"bottleneck\"\nevery = \"5ms\"";

/// Delay of the links of hosts in one direction, ms.
const ACCESS_MS: f64 = 0.1;

impl PathSpec {
    /// Bandwidth-delay product in packets of 1500 bytes.
    pub(crate) fn bdp(&self) -> f64 {
        self.mbps * self.rtt_ms * 1e3 / 8.0 / 1500.0
    }

    fn buffer(&self) -> u64 {
        (self.bdp() * self.buffer).round().max(4.0) as u64
    }
}

/// Hosts that a workload connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Hosts of its own, from left to right.
    Forth,
    /// Hosts of its own, from right to left.
    Back,
    /// These, in the network of [`Case::network`].
    Named(&'static str, &'static str),
}

/// One flow or several of a transport.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    /// Congestion control; `None` for datagrams.
    pub(crate) cc: Option<String>,
    /// Number of pairs of hosts.
    pub(crate) pairs: u32,
    /// `kind` and its keys, one a line.
    pub(crate) keys: String,
    /// Sources and destinations.
    pub(crate) ends: Ends,
}

impl Traffic {
    /// `flows` endless flows.
    pub(crate) fn long(cc: &str, flows: u32) -> Traffic {
        Traffic { cc: Some(cc.to_owned()), pairs: flows, keys: "kind = \"long\"\njitter = \"100ms\"".into(), ends: Ends::Forth }
    }

    /// Traffic of another kind.
    pub(crate) fn of(cc: &str, pairs: u32, keys: &str) -> Traffic {
        Traffic { cc: Some(cc.to_owned()), pairs, keys: keys.to_owned(), ends: Ends::Forth }
    }

    /// Datagrams of one pair.
    pub(crate) fn datagrams(keys: &str) -> Traffic {
        Traffic { cc: None, pairs: 1, keys: keys.to_owned(), ends: Ends::Forth }
    }

    /// The same traffic between other hosts.
    pub(crate) fn between(self, ends: Ends) -> Traffic {
        Traffic { ends, ..self }
    }
}

/// A change of the bottleneck.
#[derive(Debug, Clone)]
pub(crate) struct LinkChange {
    /// Time in nanoseconds.
    pub(crate) at_ns: u64,
    /// `rate`, `delay` or `loss` with its value.
    pub(crate) keys: String,
}

/// A scenario of a row.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) path: PathSpec,
    pub(crate) seconds: f64,
    /// Start of the statistics, s.
    pub(crate) warmup: f64,
    /// Traffic; the first entry is that of the judged congestion control.
    pub(crate) traffic: Vec<Traffic>,
    pub(crate) changes: Vec<LinkChange>,
    /// Interval of the samples of the first sender, or `ack`.
    pub(crate) samples: Option<&'static str>,
    /// Hosts with longer links, as `extra-delay` of a scenario.
    pub(crate) extra_delay: Option<&'static str>,
    /// Further keys of `[transport]`.
    pub(crate) transport: Option<&'static str>,
    /// Tables of the topology: [`LATE`] or [`BATCHES`].
    pub(crate) tables: Option<&'static str>,
    /// Keys of `[topology]` in place of the dumbbell of `path`.
    pub(crate) network: Option<&'static str>,
    /// Seed of the run.
    pub(crate) seed: u32,
}

impl Case {
    /// A scenario of `seconds`, whose first fifth is the warm-up. The names of row and congestion controls are its name.
    pub(crate) fn new(row: &str, path: PathSpec, seconds: f64, traffic: Vec<Traffic>) -> Case {
        let ccs: Vec<&str> = traffic.iter().filter_map(|t| t.cc.as_deref()).collect();
        let name = format!("{row}-{}", ccs.join("-"));
        Case {
            name,
            path,
            seconds,
            warmup: seconds / 5.0,
            traffic,
            changes: Vec::new(),
            samples: None,
            extra_delay: None,
            transport: None,
            tables: None,
            network: None,
            seed: 1,
        }
    }

    /// Adds a change of the bottleneck at `seconds`.
    pub(crate) fn change(self, seconds: f64, keys: &str) -> Case {
        self.change_at((seconds * 1e9) as u64, keys)
    }

    /// Adds a change of the bottleneck.
    pub(crate) fn change_at(mut self, at_ns: u64, keys: &str) -> Case {
        self.changes.push(LinkChange { at_ns, keys: keys.to_owned() });
        self
    }

    /// Samples the first sender.
    pub(crate) fn sampled(mut self, every: &'static str) -> Case {
        self.samples = Some(every);
        self
    }

    /// Statistics from the start.
    pub(crate) fn whole(mut self) -> Case {
        self.warmup = 0.0;
        self
    }

    /// The same scenario with another seed, which is part of its name.
    pub(crate) fn with_seed(&self, seed: u32) -> Case {
        let name = if seed == 1 { self.name.clone() } else { format!("{}-seed{seed}", self.name) };
        Case { name, seed, ..self.clone() }
    }

    /// Name of the scenario in a backend.
    pub(crate) fn name_in(&self, world: &str) -> String {
        if world == "sim" { self.name.clone() } else { format!("{}-{world}", self.name) }
    }

    /// The scenario file.
    pub(crate) fn text(&self, world: &str) -> String {
        let pairs: u32 = self.traffic.iter().map(|t| t.pairs).sum();
        let mut out = String::new();
        let (name, ms) = (self.name_in(world), self.seconds * 1e3);
        let _ = writeln!(out, "name = \"{name}\"\nworld = \"{world}\"\nduration = \"{ms}ms\"");
        if self.seed != 1 {
            let _ = writeln!(out, "seed = {}", self.seed);
        }
        self.topology(&mut out, pairs);
        for c in &self.changes {
            let _ = writeln!(out, "\n[[topology.change]]\nport = \"bottleneck\"\nat = \"{}ns\"\n{}", c.at_ns, c.keys);
        }
        let _ = writeln!(out, "\n[transport]\nstack = \"linux\"");
        if let Some(keys) = self.transport {
            let _ = writeln!(out, "{keys}");
        }
        let mut ccs: Vec<(usize, &str)> = Vec::new();
        for (i, t) in self.traffic.iter().enumerate() {
            if let Some(cc) = t.cc.as_deref() {
                ccs.push((i, cc));
            }
        }
        let several = ccs.len() > 1;
        match ccs.as_slice() {
            [(_, cc)] => _ = writeln!(out, "cc = \"{cc}\""),
            _ => {
                for (i, cc) in &ccs {
                    let _ = writeln!(out, "\n[[transport.group]]\nname = \"{}\"\ncc = \"{cc}\"", group(*i));
                }
            }
        }
        let mut first = 0;
        for (i, t) in self.traffic.iter().enumerate() {
            let last = first + t.pairs - 1;
            let (left, right) = (format!("l{first}..l{last}"), format!("r{first}..r{last}"));
            let (from, to) = match t.ends {
                Ends::Forth => (left, right),
                Ends::Back => (right, left),
                Ends::Named(from, to) => (from.to_owned(), to.to_owned()),
            };
            let _ = writeln!(out, "\n[[workload]]\n{}\nfrom = \"{from}\"\nto = \"{to}\"", t.keys);
            if several && t.cc.is_some() {
                let _ = writeln!(out, "transport = \"{}\"", group(i));
            }
            first = last + 1;
        }
        let _ = writeln!(out, "\n[observe]\nwarmup = \"{}ms\"", self.warmup * 1e3);
        if let Some(every) = self.samples {
            let _ = writeln!(out, "tcp = {{ flows = [0], every = \"{every}\" }}");
        }
        out
    }
}

impl Case {
    /// Writes the network.
    fn topology(&self, out: &mut String, pairs: u32) {
        if let Some(keys) = self.network {
            let _ = writeln!(out, "\n[topology]\n{keys}");
            return;
        }
        let PathSpec { mbps, rtt_ms, queue, .. } = self.path;
        // Whole nanoseconds.
        let delay = ((rtt_ms / 2.0 - 2.0 * ACCESS_MS) * 1e6).round() / 1e3;
        let (buffer, access) = (self.path.buffer(), ACCESS_MS * 1e3);
        let _ = writeln!(
            out,
            "\n[topology]\nkind = \"dumbbell\"\nleft = {pairs}\naccess     = {{ rate = \"10Gbps\", delay = \"{access}us\" }}\n\
             bottleneck = {{ rate = \"{mbps}Mbps\", delay = \"{delay}us\", buffer = \"{buffer}pkt\", queue = {queue} }}"
        );
        if let Some(delays) = self.extra_delay {
            let _ = writeln!(out, "extra-delay = \"{delays}\"");
        }
        if let Some(tables) = self.tables {
            let _ = writeln!(out, "\n{tables}");
        }
    }
}

/// One flow alone.
pub(crate) fn alone(cc: &str) -> Case {
    Case::new("alone", COMMON, 20.0, vec![Traffic::long(cc, 1)])
}

/// Name of the transport group of traffic `i`.
fn group(i: usize) -> String {
    if i == 0 { "judged".into() } else { format!("other{i}") }
}
