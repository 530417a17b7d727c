//! Scenarios drawn at random, as users write them: any network, queue, mixture of congestion controls and traffic, mostly with default keys.

mod traffic;

use crate::draw::{by_chance, one};
use forebay_types::Rng;
use std::fmt::Write;
use traffic::{Hosts, Side};

/// Rates of slow links. Most do not take whole nanoseconds for a byte.
const SLOW: [&str; 7] = ["100Mbps", "733Mbps", "1Gbps", "1Gbps", "2.5Gbps", "10Gbps", "10Gbps"];
/// Rates of fast links, in the order of [`SLOW`].
const FAST: [&str; 7] = ["1Gbps", "1Gbps", "4Gbps", "10Gbps", "10Gbps", "25Gbps", "40Gbps"];
const DELAYS: [&str; 8] = ["1us", "3us", "5us", "10us", "25us", "50us", "130us", "500us"];

/// Links of one network.
struct Links {
    slow: &'static str,
    fast: &'static str,
    delay: &'static str,
    /// `buffer` and `queue` of the slow links.
    queue: String,
}

impl Links {
    fn draw(rng: &mut Rng, marks: bool) -> Links {
        let speed = rng.below(SLOW.len() as u64) as usize;
        let buffer = one(rng, &[12, 20, 40, 64, 100, 100, 200, 500]);
        let queue = format!("buffer = \"{buffer}pkt\", queue = {}", discipline(rng, buffer, marks));
        Links { slow: SLOW[speed], fast: FAST[speed], delay: one(rng, &DELAYS), queue }
    }

    fn slow(&self) -> String {
        format!("{{ rate = \"{}\", delay = \"{}\", {} }}", self.slow, self.delay, self.queue)
    }

    fn fast(&self) -> String {
        format!("{{ rate = \"{}\", delay = \"{}\" }}", self.fast, self.delay)
    }
}

/// The queue discipline of a port with `buffer` packets; with `marks` one that sets CE.
fn discipline(rng: &mut Rng, buffer: u64, marks: bool) -> String {
    let k = one(rng, &[5, 10, 20, 40]).min(buffer - 1);
    let (min, max) = (buffer / 6 + 1, buffer / 2 + 1);
    if marks && by_chance(rng, 70) {
        return format!("{{ kind = \"dctcp-step\", k = \"{k}pkt\" }}");
    }
    let ecn = marks || by_chance(rng, 50);
    match rng.below(if marks { 6 } else { 14 }) {
        0 => format!("{{ kind = \"red\", min = \"{min}pkt\", max = \"{max}pkt\", p-max = 0.1 }}"),
        1 => format!("{{ kind = \"choke\", min = \"{min}pkt\", max = \"{max}pkt\", p-max = 0.1 }}"),
        2 => format!("{{ kind = \"choke-multi\", min = \"{min}pkt\", max = \"{max}pkt\", p-max = 0.1 }}"),
        3 => format!("{{ kind = \"codel\", target = \"200us\", interval = \"4ms\", ecn = {ecn} }}"),
        4 => format!("{{ kind = \"fq-codel\", target = \"200us\", interval = \"4ms\", ecn = {ecn} }}"),
        5 => format!("{{ kind = \"pie\", target = \"500us\", update = \"1ms\", burst = \"5ms\", ecn = {ecn} }}"),
        6 => format!("{{ kind = \"lossy\", p = {} }}", one(rng, &["0.0005", "0.002", "0.01"])),
        7 => "\"fq-codel\"".into(),
        _ => "\"drop-tail\"".into(),
    }
}

/// Topology with its hosts.
fn topology(rng: &mut Rng, links: &Links) -> (String, Hosts) {
    let (slow, fast) = (links.slow(), links.fast());
    match rng.below(10) {
        0..=3 => {
            let n = one(rng, &[1, 2, 3, 4, 6, 8, 12, 16, 24]);
            let text = format!("kind = \"many-to-one\"\nsenders = {n}\naccess = {fast}\nbottleneck = {slow}\n");
            (text, Hosts::ends(Side::numbered("s", n), "recv", n))
        }
        4 => {
            let n = one(rng, &[1, 2, 4, 8]);
            let text = format!("kind = \"dumbbell\"\nleft = {n}\naccess = {fast}\nbottleneck = {slow}\n");
            (text, Hosts::pairs(Side::numbered("l", n), Side::numbered("r", n), n))
        }
        5..=7 => {
            let (n, spines) = (one(rng, &[2, 4, 6]), one(rng, &[1, 2, 3, 4]));
            let over = if by_chance(rng, 30) { "oversubscription = 2\n" } else { "" };
            let text =
                format!("kind = \"leaf-spine\"\nleaves = 2\nspines = {spines}\nhosts-per-leaf = {n}\n{over}host = {slow}\n");
            (text, Hosts::pairs(Side::group("rack0", "h0".into()), Side::group("rack1", format!("h{n}")), n))
        }
        _ => (
            format!("kind = \"fat-tree\"\nk = 4\nhost = {slow}\n"),
            Hosts::pairs(Side::group("pod0", "pod0-h0".into()), Side::group("pod1", "pod1-h0".into()), 4),
        ),
    }
}

/// Kinds of congestion control that a kernel has.
const KERNEL: [&str; 6] = ["cubic", "cubic", "cubic", "newreno", "dctcp", "bbr"];

/// The text of a scenario. The comparison with Linux runs these, and so does the torture.
pub fn scenario(rng: &mut Rng) -> String {
    // Each group of hosts has its own congestion control in one case of five.
    let groups: Vec<&str> = if by_chance(rng, 20) { vec![one(rng, &KERNEL), one(rng, &KERNEL)] } else { vec![one(rng, &KERNEL)] };
    let marks = groups.contains(&"dctcp");
    let links = Links::draw(rng, marks);
    let (mut topology, hosts) = topology(rng, &links);
    let duration = traffic::duration(links.slow);
    let mut transport = String::new();
    if !by_chance(rng, 40) {
        transport.push_str(&keys(rng, &groups));
    }
    if by_chance(rng, 10) {
        topology.push_str(&failure(rng, &topology, duration));
    }
    let names = ["a", "b"];
    if let [only] = groups[..] {
        let _ = writeln!(transport, "cc = \"{only}\"");
    } else {
        for (name, cc) in names.iter().zip(&groups) {
            let _ = writeln!(transport, "[[transport.group]]\nname = \"{name}\"\ncc = \"{cc}\"");
        }
    }
    let mut workloads = String::new();
    let mut endless = false;
    // Several workloads share the network in one case of three, each with its own group.
    let several = groups.len() > 1 || by_chance(rng, 30);
    for (i, name) in names.into_iter().enumerate().take(1 + usize::from(several)) {
        let group = (groups.len() > 1).then_some(name);
        let (text, has_end) = traffic::workload(rng, &hosts, group, i);
        workloads.push_str(&text);
        endless |= !has_end;
    }
    let head = if endless { format!("duration = \"{duration}ms\"\n") } else { String::new() };
    format!("{head}[topology]\n{topology}[transport]\n{transport}{workloads}")
}

/// Keys of `[transport]` that differ from the defaults.
fn keys(rng: &mut Rng, groups: &[&str]) -> String {
    let mut all = String::new();
    // BBR needs a scoreboard.
    let recovery = if groups.contains(&"bbr") { &["\"sack\""][..] } else { &["\"newreno\"", "\"sack\""] };
    for (percent, key, values) in [
        (20, "host", &["\"bare\"", "\"linux-server\""][..]),
        (15, "recovery", recovery),
        (15, "ack-every", &["1"]),
        (20, "rto-min", &["\"1ms\"", "\"5ms\"", "\"10ms\"", "\"50ms\""]),
        (15, "init-cwnd", &["1", "2", "4", "20"]),
        (10, "timestamps", &["false"]),
        (10, "mss", &["8948"]),
        (10, "rcv-wnd", &["\"30KB\"", "\"128KB\"", "\"1MB\""]),
        (10, "slow-start-after-idle", &["\"off\""]),
        (10, "tcp-metrics", &["\"rtt\""]),
    ] {
        if by_chance(rng, percent) {
            let _ = writeln!(all, "{key} = {}", one(rng, values));
        }
    }
    if !groups.contains(&"dctcp") && by_chance(rng, 20) {
        all.push_str("ecn = \"classic\"\n");
    }
    all
}

/// A link of `topology` that goes down once and comes back, while packets flow.
fn failure(rng: &mut Rng, topology: &str, duration: u64) -> String {
    let link = if topology.contains("leaf-spine") {
        "leaf0->spine0"
    } else if topology.contains("fat-tree") {
        return String::new();
    } else {
        "bottleneck"
    };
    let (down, up) = (duration * 1000 / 5, duration * 1000 / 5 + one(rng, &[200, 3_000, 30_000]));
    format!("[[topology.failure]]\nlink = \"{link}\"\ndown = \"{down}us\"\nup = \"{up}us\"\n")
}
