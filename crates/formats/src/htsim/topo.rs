//! htsim's `.topo`: a leaf-spine network (2 tiers) or a fat tree (3 tiers) by its dimensions.
//!
//! A header (`Nodes`, `Tiers`, `Podsize`), then `Tier k` with its keys, 0 for the ToR switches. The uplinks of a tier have the rate and the delay of the
//! downlinks of the next. Nodes are called `h0`, `t0` (ToR), `a0` (aggregation, or spine) and `c0` (core) here.

use crate::FileError;
use crate::fabric::{Buffer, Fabric, Link, LinkProperties, Node};
use crate::tokens::words_of_lines;
use forebay_types::{Rate, Time};

/// Maximum number of hosts of a scenario.
const MAX_HOSTS: u64 = 1 << 19;

/// Maximum number of links, which bounds the memory that a few lines can demand.
const MAX_LINKS: u64 = 1 << 22;

/// Maximum value of sizes and times, and of numbers of ports.
const MAX_VALUE: u64 = 1_000_000_000;
const MAX_COUNT: u64 = 1_000_000;

/// Buffer of ports without one: htsim takes it from the command line.
const DEFAULT_BUFFER: Buffer = Buffer::Packets(100);

/// Dimensions of a tier; 0 if not set.
#[derive(Debug, Clone, Copy, Default)]
struct Tier {
    line: usize,
    gbps: u64,
    radix_down: u64,
    radix_up: u64,
    queue_down: u64,
    queue_up: u64,
    bundle: Option<u64>,
    oversubscribed: Option<u64>,
    switch_ns: Option<u64>,
    link_ns: u64,
}

/// Reads a topology.
///
/// # Errors
/// Unknown and repeated keys, and dimensions that do not fit together.
pub(crate) fn read(file: &str, text: &str, notes: &mut Vec<String>) -> Result<Fabric, FileError> {
    let mut header = [0_u64; 3];
    let mut tiers = [Tier::default(); 3];
    let mut current: Option<usize> = None;
    for (line, words) in words_of_lines(text) {
        set(&mut header, &mut tiers, &mut current, line, &words).map_err(|e| FileError::at(file, line, e))?;
    }
    let [nodes, count, pod] = header;
    for (value, key) in [(nodes, "Nodes"), (count, "Tiers"), (pod, "Podsize")] {
        if value == 0 {
            return Err(FileError::of(file, format!("the header has no `{key}`")));
        }
    }
    let count = count as usize;
    for (k, tier) in tiers.iter().enumerate() {
        let required: &[(u64, &str)] = &[
            (tier.gbps, "Downlink_speed_Gbps"),
            (tier.link_ns, "Downlink_Latency_ns"),
            (tier.radix_down, "Radix_Down"),
            (if k + 1 < count { tier.radix_up } else { 1 }, "Radix_Up"),
        ];
        match required.iter().find(|(value, _)| *value == 0) {
            Some((_, key)) if k < count => {
                return Err(if tier.line == 0 {
                    FileError::of(file, format!("there is no `Tier {k}`"))
                } else {
                    FileError::at(file, tier.line, format!("tier {k} has no `{key}`"))
                });
            }
            _ if k >= count && tier.line > 0 => {
                return Err(FileError::at(file, tier.line, format!("tier {k} of a network with {count} tiers")));
            }
            _ => {}
        }
    }
    let dimensions = Dimensions::new(nodes, pod, &tiers[..count]).map_err(|e| FileError::of(file, e))?;
    if tiers.iter().any(|t| t.queue_down == 0) {
        notes.push(format!(
            "{file} has no size of queues, which htsim takes from its command line: ports have 100 packets, and mark nothing. Change `buffer` and `queue`"
        ));
    }
    Ok(dimensions.fabric(&tiers))
}

fn set(
    header: &mut [u64; 3],
    tiers: &mut [Tier; 3],
    current: &mut Option<usize>,
    line: usize,
    words: &[&str],
) -> Result<(), String> {
    let [name, value] = words else { return Err("a line is a key and an integer, separated by a blank".into()) };
    let key = name.to_ascii_lowercase();
    let value: u64 = value.parse().map_err(|_| format!("{name}: `{value}` is not an integer"))?;
    if let Some(at) = ["nodes", "tiers", "podsize"].iter().position(|k| *k == key) {
        if current.is_some() {
            return Err(format!("`{name}` belongs to the header, before the first tier"));
        }
        if header[at] != 0 {
            return Err(format!("`{name}` is set twice"));
        }
        if value == 0 || key == "tiers" && !(2..=3).contains(&value) || key == "nodes" && value > MAX_HOSTS {
            return Err(format!("{name} {value}; legal: 2 or 3 tiers, 1 to {MAX_HOSTS} nodes"));
        }
        header[at] = value;
        return Ok(());
    }
    if key == "tier" {
        let index = usize::try_from(value).ok().filter(|i| *i < 3).ok_or_else(|| format!("tier {value}; legal: 0, 1 and 2"))?;
        if tiers[index].line > 0 {
            return Err(format!("tier {index} is described twice"));
        }
        tiers[index].line = line;
        *current = Some(index);
        return Ok(());
    }
    let Some(index) = *current else {
        return Err(format!("`{name}` belongs to a tier; write `Tier 0` before it"));
    };
    let most = if key.ends_with("_ns") || key.starts_with("queue") { MAX_VALUE } else { MAX_COUNT };
    if value > most {
        return Err(format!("{name} {value}; legal: 0 to {most}"));
    }
    let tier = &mut tiers[index];
    let once = |old: &mut u64| {
        if *old != 0 {
            return Err(format!("`{name}` is set twice for tier {index}"));
        }
        *old = value;
        Ok(())
    };
    let optional = |old: &mut Option<u64>| match old.replace(value) {
        Some(_) => Err(format!("`{name}` is set twice for tier {index}")),
        None => Ok(()),
    };
    match key.as_str() {
        "downlink_speed_gbps" => once(&mut tier.gbps),
        "radix_down" => once(&mut tier.radix_down),
        "radix_up" => once(&mut tier.radix_up),
        "queue_up" => once(&mut tier.queue_up),
        "queue_down" => once(&mut tier.queue_down),
        "downlink_latency_ns" => once(&mut tier.link_ns),
        "switch_latency_ns" => optional(&mut tier.switch_ns),
        "oversubscribed" => optional(&mut tier.oversubscribed),
        "bundle" => optional(&mut tier.bundle),
        _ => Err(format!("`{name}` is not a key of a .topo file")),
    }
}

/// Numbers of switches.
struct Dimensions {
    hosts: u64,
    tors: u64,
    aggs: u64,
    cores: u64,
    tors_per_pod: u64,
    aggs_per_pod: u64,
}

impl Dimensions {
    /// Switches of a network with these tiers, as htsim counts them.
    fn new(hosts: u64, pod: u64, tiers: &[Tier]) -> Result<Dimensions, String> {
        let divide = |a: u64, b: u64, what: &str| -> Result<u64, String> {
            match b {
                0 => Err(format!("{what}: the divisor is 0")),
                b if a.is_multiple_of(b) => Ok(a / b),
                b => Err(format!("{what}: {a} is not a multiple of {b}")),
            }
        };
        let bundle = |k: usize| tiers.get(k).and_then(|t| t.bundle).unwrap_or(1);
        if bundle(0) != 1 {
            return Err("Tier 0 has a Bundle above 1: a host has one interface".into());
        }
        let pods = divide(hosts, pod, "Nodes and Podsize")?;
        let tors_per_pod = divide(pod, tiers[0].radix_down, "Podsize and Radix_Down of tier 0")?;
        let oversubscribed = |k: usize| tiers[k].oversubscribed.unwrap_or(1);
        let up = hosts * tiers[0].gbps;
        let tor_uplinks =
            divide(up, tiers[1].gbps * oversubscribed(0), "capacity of hosts and of ToR uplinks (check Oversubscribed)")?;
        let aggs_per_pod = divide(tor_uplinks, pods * tiers[1].radix_down, "ToR uplinks and down ports of tier 1")?;
        if aggs_per_pod * bundle(1) != tiers[0].radix_up {
            return Err(format!(
                "Radix_Up of tier 0 is {}, and {aggs_per_pod} switches of tier 1 per pod with Bundle {} need {}",
                tiers[0].radix_up,
                bundle(1),
                aggs_per_pod * bundle(1)
            ));
        }
        let mut cores = 0;
        if tiers.len() == 3 {
            let up = tor_uplinks * tiers[1].gbps;
            let uplinks =
                divide(up, tiers[2].gbps * oversubscribed(1), "capacity of tier 1 and of its uplinks (check Oversubscribed)")?;
            cores = divide(uplinks, tiers[2].radix_down, "uplinks of tier 1 and Radix_Down of tier 2")?;
            let planes = divide(cores, aggs_per_pod, "core switches and switches of tier 1 per pod")?;
            if planes * bundle(2) != tiers[1].radix_up {
                return Err(format!(
                    "Radix_Up of tier 1 is {}, and {cores} core switches with Bundle {} need {}",
                    tiers[1].radix_up,
                    bundle(2),
                    planes * bundle(2)
                ));
            }
        }
        let dimensions =
            Dimensions { hosts, tors: tors_per_pod * pods, aggs: aggs_per_pod * pods, cores, tors_per_pod, aggs_per_pod };
        let links = hosts + dimensions.tors * tiers[0].radix_up + dimensions.aggs * tiers[1].radix_up;
        if links > MAX_LINKS || dimensions.tors + dimensions.aggs + dimensions.cores > MAX_HOSTS {
            return Err(format!("more than {MAX_LINKS} links or {MAX_HOSTS} switches"));
        }
        Ok(dimensions)
    }

    fn fabric(&self, tiers: &[Tier; 3]) -> Fabric {
        let nodes = |kind, count: u64| (0..count as u32).map(move |id| Node { kind, id });
        let mut fabric = Fabric { hosts: nodes("h", self.hosts).collect(), ..Fabric::default() };
        fabric.switches = nodes("t", self.tors).chain(nodes("a", self.aggs)).chain(nodes("c", self.cores)).collect();
        let node = |kind, id: u64| Node { kind, id: id as u32 };
        let bundle = |k: usize| tiers[k].bundle.unwrap_or(1);
        let per_tor = tiers[0].radix_down;
        let mut pairs = Vec::new();
        for tor in 0..self.tors {
            pairs.extend((0..per_tor).map(|i| (0, node("h", tor * per_tor + i), node("t", tor))));
        }
        for tor in 0..self.tors {
            // A network with two tiers has one pod with all spines, or else each ToR is connected to all of them.
            let aggs = match self.cores {
                0 => 0..self.aggs,
                _ => (tor / self.tors_per_pod) * self.aggs_per_pod..(tor / self.tors_per_pod + 1) * self.aggs_per_pod,
            };
            pairs.extend(aggs.flat_map(|agg| (0..bundle(1)).map(move |_| (1, node("t", tor), node("a", agg)))));
        }
        let planes = if self.cores == 0 { 0 } else { self.cores / self.aggs_per_pod };
        for agg in 0..self.aggs {
            let place = agg % self.aggs_per_pod;
            let cores = (0..planes).map(|l| place + self.aggs_per_pod * l);
            pairs.extend(cores.flat_map(|core| (0..bundle(2)).map(move |_| (2, node("a", agg), node("c", core)))));
        }
        // One direction after the other, so that links to consecutive hosts become ranges.
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for &(tier, low, high) in &pairs {
            push((&mut up, &mut down), tiers, tier, low, high);
        }
        up.append(&mut down);
        fabric.links = up;
        fabric
    }
}

/// Appends the link between a node and the switch of `tier` above it: to `up` in both directions if they are equal. A packet waits for the latency of a
/// switch before its output port.
fn push((up, down): (&mut Vec<Link>, &mut Vec<Link>), tiers: &[Tier; 3], tier: usize, low: Node, high: Node) {
    let (above, below) = (&tiers[tier], tier.checked_sub(1).map(|k| &tiers[k]));
    let latency = |t: &Tier| t.switch_ns.unwrap_or(0);
    let (down_ns, up_ns) = (latency(above), below.map_or(0, latency));
    let buffer = |bytes: u64| Some(if bytes > 0 { Buffer::Bytes(bytes) } else { DEFAULT_BUFFER });
    let (down_buffer, up_buffer) = (buffer(above.queue_down), below.map_or(Some(DEFAULT_BUFFER), |t| buffer(t.queue_up)));
    let properties = |both, ns: u64, buffer| LinkProperties {
        both,
        rate: Rate(above.gbps.saturating_mul(1_000_000_000)),
        delay: Time::from_ns(above.link_ns.saturating_add(ns)),
        buffer,
        marking: None,
        loss: None,
    };
    let same_buffer = tier == 0 || down_buffer == up_buffer;
    if down_ns == up_ns && same_buffer {
        up.push(Link { from: low, to: high, properties: properties(true, up_ns, down_buffer), line: 0 });
    } else {
        up.push(Link { from: low, to: high, properties: properties(false, up_ns, up_buffer), line: 0 });
        down.push(Link { from: high, to: low, properties: properties(false, down_ns, down_buffer), line: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "Nodes 32\nTiers 2\nPodsize 32\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\nDownlink_Latency_ns 1000\n\
                       Switch_Latency_ns 0\nOversubscribed 4\n\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n";
    const THREE: &str = "# 3 tiers\nNodes 1024\nTiers 3\nPodsize 64\nTier 0\nOversubscribed 1\ndownlink_speed_gbps 100\nRadix_Down 8\n\
                         Radix_Up 8\nDownlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 8\n\
                         Downlink_Latency_ns 1000\nBundle 1\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 16\nDownlink_Latency_ns 1000\nBundle 1";

    fn parse(text: &str) -> Result<Fabric, String> {
        read("x.topo", text, &mut Vec::new()).map_err(|e| e.to_string())
    }

    #[test]
    fn two_tiers() {
        let mut notes = Vec::new();
        let fabric = read("x.topo", TWO, &mut notes).unwrap();
        assert_eq!((fabric.hosts.len(), fabric.switches.len(), fabric.links.len()), (32, 4 + 2, 32 + 8));
        let uplink = &fabric.links[32];
        assert_eq!((uplink.from.to_string(), uplink.to.to_string()), ("t0".into(), "a0".into()));
        assert!(uplink.properties.both && uplink.properties.delay == Time::from_us(1));
        assert!(notes[0].contains("no size of queues"));
    }

    /// A fat tree of 16-port switches: 128 ToRs, 128 aggregation switches and 64 cores.
    #[test]
    fn three_tiers() {
        let fabric = parse(THREE).unwrap();
        assert_eq!((fabric.hosts.len(), fabric.switches.len(), fabric.links.len()), (1024, 128 + 128 + 64, 3 * 1024));
        let of = |low: &str| -> Vec<String> {
            fabric.links.iter().filter(|l| l.from.to_string() == low).map(|l| l.to.to_string()).collect()
        };
        assert_eq!(of("h9"), ["t1"]);
        assert_eq!(of("t8"), ["a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15"]);
        assert_eq!(of("a9"), ["c1", "c9", "c17", "c25", "c33", "c41", "c49", "c57"]);
    }

    /// The ToR adds its latency on the way to the host and to the spine, the spine on the way down.
    #[test]
    fn switch_latency_of_each_direction() {
        let text = TWO.replace("Switch_Latency_ns 0", "Switch_Latency_ns 300");
        let fabric = parse(&text).unwrap();
        let delay = |from: &str, to: &str| {
            let link = fabric.links.iter().find(|l| l.from.to_string() == from && l.to.to_string() == to).unwrap();
            assert!(!link.properties.both);
            link.properties.delay.as_ns()
        };
        assert_eq!([delay("h0", "t0"), delay("t0", "h0"), delay("t0", "a0"), delay("a0", "t0")], [1000, 1300, 1300, 1000]);
    }

    #[test]
    fn bundles_are_parallel_links() {
        let text = "Nodes 8\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nTier 1\n\
                    Downlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\nDownlink_Latency_ns 1000\nBundle 1\nTier 2\nDownlink_speed_Gbps 100\n\
                    Radix_Down 4\nDownlink_Latency_ns 1000\nBundle 2\n";
        let fabric = parse(text).unwrap();
        assert_eq!((fabric.switches.len(), fabric.links.len()), (4 + 4 + 4, 8 + 8 + 16));
        assert_eq!(fabric.links.iter().filter(|l| l.from.to_string() == "a1" && l.to.to_string() == "c3").count(), 2);
    }

    #[test]
    fn errors_name_the_line() {
        for (from, to, error) in [
            ("Tiers 2", "Tiers 4", "x.topo:2: Tiers 4; legal: 2 or 3 tiers"),
            ("Podsize 32", "Podsize 32 hosts", "x.topo:3: a line is a key and an integer"),
            ("Nodes 32", "# Nodes 32", "x.topo: the header has no `Nodes`"),
            ("Radix_Up 2", "Radix_Up two", "x.topo:8: Radix_Up: `two` is not an integer"),
            ("Radix_Up 2", "Radix_Upp 2", "x.topo:8: `Radix_Upp` is not a key"),
            ("Radix_Up 2", "Radix_Down 2", "x.topo:8: `Radix_Down` is set twice for tier 0"),
            ("Radix_Up 2\n", "", "x.topo:5: tier 0 has no `Radix_Up`"),
            ("Tier 1", "Tier 2", "x.topo: there is no `Tier 1`"),
            ("Radix_Up 2", "Radix_Up 4", "x.topo: Radix_Up of tier 0 is 4, and 2 switches of tier 1"),
            ("Podsize 32", "Podsize 24", "x.topo: Nodes and Podsize: 32 is not a multiple of 24"),
            ("Radix_Up 2", "Radix_Up 5000000", "x.topo:8: Radix_Up 5000000; legal: 0 to 1000000"),
            ("Podsize 32", "Radix_Up 32", "x.topo:3: `Radix_Up` belongs to a tier"),
        ] {
            let found = parse(&TWO.replacen(from, to, 1)).unwrap_err();
            assert!(found.starts_with(error), "{from}: {found}");
        }
    }
}
