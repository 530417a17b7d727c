//! Every queue discipline in a guest, at a switch and at hosts: datagrams, so that the guest's TCP plays no role. Ports count the packets, marks and
//! drops of the simulator.

use crate::{guest, packets};
use forebay_experiment::rows::PortRow;
use forebay_queues::REGISTRY;

/// Bursts in four classes and sizes to one receiver; everything has arrived before the end.
fn bursts(queue: &str, host: &str) -> String {
    let burst = |packet: u32, class: u32, ect: bool| {
        format!(
            "[[workload]]\nkind = \"udp\"\nrate = \"400Mbps\"\npacket = \"{packet}B\"\nservice = {class}\nect = {ect}\n\
             on = {{ exponential = \"300us\" }}\noff = {{ exponential = \"300us\" }}\njitter = \"100us\"\nstop = \"9ms\"\n"
        )
    };
    format!(
        "duration = \"20ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 4\naccess = {{ rate = \"1Gbps\", delay = \"3us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"5us\", buffer = \"30pkt\", queue = {queue} }}\n{host}[transport]\nhost = \"bare\"\n{}",
        [burst(1500, 0, true), burst(700, 7, false), burst(1500, 5, true), burst(200, 3, true)].concat()
    )
}

/// Marks and drops of all ports, after the comparison with the simulator.
fn both(text: &str, close: fn(u64, u64) -> bool) -> Option<(u64, u64)> {
    let [linux, sim] = packets::reports(&guest::experiment(text))?;
    let sum = |of: fn(&PortRow) -> u64| (linux.ports.iter().map(of).sum::<u64>(), sim.ports.iter().map(of).sum::<u64>());
    let drops = |p: &PortRow| p.dropped_overflow + p.dropped_shared + p.dropped_early;
    for p in &linux.ports {
        assert_eq!(p.arrived_pkts, p.sent_pkts + drops(p), "no packet is left in a queue\n{text}");
    }
    let (marks, drops) = (sum(|p| p.marked), sum(|p| p.dropped_overflow + p.dropped_shared + p.dropped_early));
    let counts = [sum(|p| p.sent_pkts), marks, drops];
    assert!(counts[0].0 > 5000 && counts.iter().all(|c| close(c.0, c.1)), "sent, marks, drops: {counts:?}\n{text}");
    Some((marks.0, drops.0))
}

fn equal(linux: u64, sim: u64) -> bool {
    linux == sim
}

#[test]
fn every_discipline_at_a_switch() {
    for entry in REGISTRY {
        let Some((marks, drops)) = both(&bursts(entry.example, ""), equal) else { return };
        assert!(marks + drops > 10, "{}: {marks} marks, {drops} drops", entry.entry.name);
    }
}

/// Thresholds of single queues have no place in a fixed list of numbers; the configuration has room for all parameters.
#[test]
fn thresholds_of_single_queues() {
    let queue = "{ kind = \"strict-priority\", queues = 3, ks = [\"2pkt\", \"3pkt\", \"4pkt\"] }";
    let Some((marks, _)) = both(&bursts(queue, ""), equal) else { return };
    assert!(marks > 10, "{marks}");
}

/// A host of the guest sends at whole nanoseconds, so that a queue that compares times can serve two packets in the other order.
#[test]
fn queues_at_hosts() {
    let codel = "{ kind = \"codel\", target = \"5us\", interval = \"50us\", ecn = true }";
    for (host, marks) in [("\"fq-codel\"", false), (codel, true), ("\"pfabric\"", false)] {
        let text = bursts("\"drop-tail\"", &format!("host-queue = {host}\n"));
        let Some((marked, dropped)) = both(&text, |linux, sim| linux.abs_diff(sim) <= sim / 100) else { return };
        assert_eq!((marked > 100, dropped > 100), (marks, true), "{host}");
    }
}
