//! Workloads of drawn scenarios.

use crate::draw::{by_chance, one};
use forebay_types::Rng;

/// A group of hosts, with the first of them.
#[derive(Clone)]
pub(super) struct Side {
    pub(super) all: String,
    pub(super) first: String,
}

impl Side {
    /// `prefix`0, `prefix`1, ... as far as there are `count`.
    pub(super) fn numbered(prefix: &str, count: u64) -> Side {
        let first = format!("{prefix}0");
        let all = if count == 1 { first.clone() } else { format!("{first}..{prefix}{}", count - 1) };
        Side { all, first }
    }

    /// The group `all`, which begins with the host `first`.
    pub(super) fn group(all: &str, first: String) -> Side {
        Side { all: all.into(), first }
    }
}

/// Hosts between which traffic flows.
pub(super) struct Hosts {
    from: Side,
    to: Side,
    /// Number of senders.
    senders: u64,
    /// True if all send to one host.
    one_receiver: bool,
}

impl Hosts {
    /// `senders` hosts and one receiver.
    pub(super) fn ends(from: Side, to: &str, senders: u64) -> Hosts {
        Hosts { from, to: Side::group(to, to.into()), senders, one_receiver: true }
    }

    /// Two groups of `each` hosts.
    pub(super) fn pairs(from: Side, to: Side, each: u64) -> Hosts {
        Hosts { from, to, senders: each, one_receiver: false }
    }
}

/// Milliseconds of a run with endless traffic over a link of `rate`.
pub(super) fn duration(rate: &str) -> u64 {
    match rate {
        "100Mbps" => 600,
        "733Mbps" | "1Gbps" => 100,
        "2.5Gbps" => 40,
        _ => 15,
    }
}

/// The workload with number `index`, of transport `group` if there are several. Returns its text, and whether it ends by itself.
pub(super) fn workload(rng: &mut Rng, hosts: &Hosts, group: Option<&str>, index: usize) -> (String, bool) {
    let (from, to) = (&hosts.from, &hosts.to);
    let transport = group.map_or_else(String::new, |name| format!("transport = \"{name}\"\n"));
    let head = format!("[[workload]]\nclass = \"w{index}\"\n{transport}");
    // The packets that a receiver sends share links with those of its own connections.
    let (from, to) = if !hosts.one_receiver && by_chance(rng, 25) { (to, from) } else { (from, to) };
    let (from, to, receiver) = (&from.all, &to.all, &to.first);
    let ends = format!("from = \"{from}\"\nto = \"{to}\"\n");
    let (body, has_end) = match rng.below(12) {
        0..=2 if hosts.one_receiver => {
            let block = one(rng, &["2KB", "10KB", "32KB", "64KB", "100KB", "256KB"]);
            let rounds = one(rng, &[3, 5, 8]);
            (
                format!("kind = \"incast\"\nsenders = \"{from}\"\nreceiver = \"{to}\"\nblock = \"{block}\"\nrounds = {rounds}\n"),
                true,
            )
        }
        0..=2 => {
            let (fan_out, response) = (hosts.senders.min(4), one(rng, &["2KB", "20KB", "64KB"]));
            (
                format!(
                    "kind = \"queries\"\naggregators = \"{receiver}\"\nworkers = \"{from}\"\nfan-out = {fan_out}\n\
                     response = \"{response}\"\nrate = {}\n",
                    one(rng, &["50.0", "300.0", "2000.0"])
                ),
                false,
            )
        }
        n @ 3..=5 => {
            let (size, gap) =
                (one(rng, &["2KB", "3KB", "20KB", "100KB", "400KB"]), one(rng, &["30us", "100us", "500us", "2ms", "20ms"]));
            let more = match n {
                3 => "",
                4 => "connections = \"per-train\"\n",
                // Trains begin on time, and may overlap.
                _ => "gap-from = \"start\"\n",
            };
            let trains = one(rng, &[5, 10, 20]);
            (format!("kind = \"on-off\"\n{ends}sizes = \"{size}\"\ngaps = \"{gap}\"\ntrains = {trains}\n{more}"), true)
        }
        6 | 7 => {
            let stagger = one(rng, &["0us", "100us", "3ms"]);
            (format!("kind = \"long\"\n{ends}stagger = \"{stagger}\"\n"), false)
        }
        8 => {
            let (size, stagger) = (one(rng, &[1_448, 5_000, 30_000, 200_000, 1_000_000]), one(rng, &["0us", "100us", "1ms"]));
            (format!("kind = \"long\"\n{ends}size = \"{size}B\"\nstagger = \"{stagger}\"\n"), true)
        }
        9 => {
            let load = one(rng, &["0.2", "0.4", "0.7"]);
            (format!("kind = \"poisson\"\n{ends}sizes = {{ log-uniform = [\"1KB\", \"300KB\"] }}\nload = {load}\n"), false)
        }
        _ => {
            let (response, think) = (one(rng, &["1KB", "20KB", "60KB"]), one(rng, &["50us", "300us", "2ms"]));
            let count = one(rng, &[10, 40]);
            (
                format!(
                    "kind = \"requests\"\nclients = \"{to}\"\nservers = \"{from}\"\nresponse = \"{response}\"\nthink = \"{think}\"\n\
                     count = {count}\n"
                ),
                true,
            )
        }
    };
    (format!("{head}{body}"), has_end)
}
