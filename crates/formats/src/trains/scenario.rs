//! Scenarios with the traffic of a capture.

use crate::trains::anonymise::HostNames;
use crate::trains::replay::Replay;
use crate::trains::resample::Resample;
use crate::trains::summary::Summary;
use std::collections::HashSet;
use std::fmt::Write;

/// The network of the scenario, which a capture does not show.
#[derive(Debug, Clone)]
pub struct Network {
    /// Rate of the links, as scenarios write it (`10Gbps`).
    pub rate: String,
    /// Names of hosts.
    pub names: HostNames,
    /// Name of the scenario.
    pub name: String,
}

/// Links of a round trip between two hosts on one switch.
const LINKS: u64 = 4;
/// RTT without a measurement, ns: a rack.
const RTT_NS: u64 = 100_000;

/// RTT of the empty path, ns: the median handshake, as its packets are small; else a low quantile of the RTTs of data.
fn base_rtt(summary: &Summary) -> (u64, &'static str) {
    match (summary.handshakes.quantile(0.5), summary.rtt.quantile(0.05)) {
        (Some(rtt), _) => (rtt, "the median of the handshakes"),
        (None, Some(rtt)) => (rtt, "the 5th percentile of the RTTs of data"),
        (None, None) => (RTT_NS, "assumed, as the capture shows none"),
    }
}

/// Names of the hosts of the capture in the scenario, by their numbers. Several addresses may be one host.
fn host_names(summary: &Summary, network: &Network) -> Vec<String> {
    (0..).zip(&summary.hosts).map(|(number, ip)| network.names.in_scenario(*ip, number)).collect()
}

/// Comments and the parts of the scenario before its workload.
fn head(summary: &Summary, network: &Network, bottleneck: usize, handshake: bool) -> String {
    let (rtt, source) = base_rtt(summary);
    let seconds = summary.duration_ns() as f64 * 1e-9;
    let mut out = String::new();
    let _ = write!(
        out,
        "# Traffic of a capture: {} messages of {} bytes on {} connections between {} hosts in {seconds:.6} s.\n\
         # Known: sizes, times, and the RTT ({source}: {rtt} ns). Assumed: one switch, links of {} with 400 packets of buffer.\n\
         # {} in the order in which the capture shows them.\n",
        summary.messages,
        summary.bytes,
        summary.connections,
        summary.hosts.len(),
        network.rate,
        if network.names.has_rules() { "Hosts have the names of the rules; others are numbered" } else { "Hosts are numbered" }
    );
    let names = host_names(summary, network);
    if !network.names.is_anonymous() {
        for (name, ip) in names.iter().zip(&summary.hosts) {
            let _ = writeln!(out, "# {name} is {ip}");
        }
    }
    let hosts: Vec<String> = quoted(&names);
    let duration = (seconds * 2000.0).ceil() + 1000.0;
    let _ = write!(
        out,
        "name = \"{}\"\nduration = \"{duration}ms\"\n\n[topology]\nkind = \"custom\"\nhosts = [{}]\nswitches = [\"switch\"]\n\
         bottleneck = \"switch->{}\"\nlinks = [\n",
        network.name,
        hosts.join(", "),
        names.get(bottleneck).map_or("", String::as_str)
    );
    let delay = (rtt / LINKS).max(1);
    for host in &hosts {
        let _ = writeln!(
            out,
            "    {{ from = {host}, to = \"switch\", rate = \"{}\", delay = \"{delay}ns\", buffer = \"400pkt\" }},",
            network.rate
        );
    }
    out.push_str("]\n\n[transport]\nstack = \"linux\"\n");
    if !handshake {
        out.push_str("# Most messages followed others on open connections; their starts are those of their first packets.\nhandshake = false\n");
    }
    out.push_str("cc = [\"cubic\", \"bbr\"] # dctcp needs links that mark: queue = { kind = \"dctcp-step\", k = \"20pkt\" }\n\n");
    out
}

/// Distinct names in their order, in quotation marks.
fn quoted(names: &[String]) -> Vec<String> {
    let mut known = HashSet::new();
    names.iter().filter(|name| known.insert(*name)).map(|name| format!("\"{name}\"")).collect()
}

/// A scenario that replays the list of flows in the file `list`, relative to the scenario.
pub fn replay_scenario(summary: &Summary, replay: &Replay, network: &Network, list: &str) -> String {
    let mut out = head(summary, network, replay.busiest, replay.handshakes);
    let _ = write!(out, "[[workload]]\nkind = \"replay\"\nfile = \"{list}\"\n");
    out
}

/// A scenario that draws sizes from the table in the file `table`, relative to the scenario, and pauses from their distribution.
pub fn resample_scenario(summary: &Summary, resample: &Resample, network: &Network, table: &str) -> String {
    let pairs = resample.pairs();
    let bottleneck = pairs.first().map_or(0, |(_, to)| *to as usize);
    let names = host_names(summary, network);
    let list = |hosts: Vec<u32>| hosts.iter().map(|h| format!("\"{}\"", names[*h as usize])).collect::<Vec<_>>().join(", ");
    let mut out = head(summary, network, bottleneck, true);
    if resample.is_persistent() {
        let (from, to) = (pairs.iter().map(|p| p.0).collect(), pairs.iter().map(|p| p.1).collect());
        let (connections, messages) = resample.connections_and_messages();
        let _ = write!(
            out,
            "# On each connection, messages follow each other after a pause. Pairs of hosts: those of the capture; they have as many connections each,\n\
             # and connections as many messages, as in the capture on average. Connections begin at random during its time.\n\
             [[workload]]\nkind = \"on-off\"\npattern = \"pairwise\"\nfrom = [{}]\nto = [{}]\nper-pair = {connections}\n\
             sizes = {{ cdf = \"{table}\" }}\ngaps = {}\ntrains = {messages}\njitter = \"{}ns\"\n",
            list(from),
            list(to),
            resample.gap_mixture(),
            summary.duration_ns()
        );
        return out;
    }
    let unique = |mut hosts: Vec<u32>| {
        hosts.sort_unstable();
        hosts.dedup();
        quoted(&hosts.iter().map(|h| names[*h as usize].clone()).collect::<Vec<_>>()).join(", ")
    };
    let (from, to) = (pairs.iter().map(|p| p.0).collect(), pairs.iter().map(|p| p.1).collect());
    let rate = resample.messages() as f64 / (summary.duration_ns() as f64 * 1e-9).max(1e-9);
    let _ = write!(
        out,
        "# Most messages have a connection of their own: they begin at random, at the mean rate of the capture.\n\
         [[workload]]\nkind = \"poisson\"\nfrom = [{}]\nto = [{}]\nsizes = {{ cdf = \"{table}\" }}\nrate = {rate:.6}\nflows = {}\n",
        unique(from),
        unique(to),
        resample.messages()
    );
    out
}
