//! The cases that forebay and its peers are measured on. benches/peers defines the same work for ns-2 and ns-3.

/// One case of the comparison.
#[derive(Debug)]
pub(crate) struct Case {
    /// Name here, of the scenario file, and in the peers' programs.
    pub name: &'static str,
    /// Description in one line.
    pub what: &'static str,
    /// Instructions are the difference of two runs of forebay with these overrides: set-up and slow start cancel.
    pub short: &'static str,
    /// The longer of the two.
    pub long: &'static str,
    /// Simulated seconds of the two runs of ns-2 for the same purpose.
    pub ns2: (f64, f64),
    /// And of ns-3.
    pub ns3: (f64, f64),
}

impl Case {
    /// True if ns-2 and ns-3 have programs for it.
    pub(crate) fn has_peers(&self) -> bool {
        self.ns2 != NO_PEER
    }

    /// Path of forebay's scenario.
    pub(crate) fn scenario(&self) -> String {
        format!("benches/scenarios/{}.toml", self.name)
    }
}

/// All cases, those that have peers first.
pub(crate) const CASES: [Case; 11] = [
    Case {
        name: "s1",
        what: "40 NewReno flows into one 1 Gbps bottleneck, 100 packets of buffer, 50 us links",
        short: "duration=0.5s",
        long: "duration=2s",
        ns2: (0.5, 1.0),
        ns3: (0.03, 0.06),
    },
    Case {
        name: "s2",
        what: "DCTCP permutation on a k=8 fat tree: 128 hosts, 10 Gbps, 1 us links, K=15",
        short: "duration=1ms",
        long: "duration=2ms",
        ns2: (0.0003, 0.0005),
        ns3: (0.00004, 0.00006),
    },
    Case {
        name: "s3",
        what: "rounds of 40-to-1 DCTCP incast at 10 Gbps, 17 packets a sender, K=65",
        short: "workload.0.rounds=100",
        long: "workload.0.rounds=300",
        ns2: (5.0, 20.0),
        // Losses of the first round delay everything until the timeouts at 200 ms.
        ns3: (0.21, 0.22),
    },
    Case {
        name: "ft16",
        what: "NewReno permutation on a k=4 fat tree: 16 hosts, 1 Gbps, 10 us links",
        short: "duration=50ms",
        long: "duration=150ms",
        ns2: (0.02, 0.04),
        ns3: (0.003, 0.005),
    },
    Case {
        name: "ws144",
        what: "web-search flows, Poisson at 60 % load on a leaf-spine fabric of 144 hosts, DCTCP",
        short: "duration=3ms",
        long: "duration=4ms",
        ns2: (0.0015, 0.003),
        ns3: (0.0005, 0.001),
    },
    alone(
        "s3-10us",
        "as s3 with links of 10 us: a window of time holds ten times as many packets",
        "workload.0.rounds=100",
        "workload.0.rounds=300",
    ),
    alone(
        "k16",
        "DCTCP permutation on a k=16 fat tree: as s2 with 1 024 hosts, more than a cache holds",
        "duration=0.2ms",
        "duration=0.3ms",
    ),
    alone("k32", "the same with k=32: 8 192 hosts", "duration=0.1ms", "duration=0.15ms"),
    alone(
        "defaults",
        "as s2 with default settings, which record the distribution of every queue",
        "duration=1ms",
        "duration=2ms",
    ),
    // Mostly SACK recovery.
    alone(
        "lossy",
        "web-search flows, Linux CUBIC, at 90 % load on a drop-tail leaf-spine fabric of 16 hosts",
        "duration=20ms",
        "duration=60ms",
    ),
    alone(
        "server",
        "web-search flows, DCTCP between Linux servers, at 60 % load on a leaf-spine fabric of 16 hosts",
        "duration=10ms",
        "duration=30ms",
    ),
];

const NO_PEER: (f64, f64) = (0.0, 0.0);

/// A case without peers.
const fn alone(name: &'static str, what: &'static str, short: &'static str, long: &'static str) -> Case {
    Case { name, what, short, long, ns2: NO_PEER, ns3: NO_PEER }
}

/// The cases with these names; without names all.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Case>, String> {
    if names.is_empty() {
        return Ok(CASES.iter().collect());
    }
    let find = |name: &String| CASES.iter().find(|c| c.name == name.as_str()).ok_or(format!("no such case: {name}"));
    names.iter().map(find).collect()
}
