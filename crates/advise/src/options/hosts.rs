//! Settings of hosts beside congestion control: minimum RTO, interface queue, windows and segmentation offload. Each reaches all connections of the
//! hosts, in the simulation and by its command.

use super::{Choice, Family, Subject};
use crate::install::{self, Step};

pub(super) fn add(s: &Subject, out: &mut Vec<Choice>) {
    if s.group.is_none() {
        return;
    }
    let senders = format!("hosts {} (senders)", s.peers.senders(None));
    let ends = format!("hosts {} (both ends)", s.peers.ends(None));
    let mut add = |family: Family, name: String, sets: Vec<String>, install: Vec<Step>| {
        out.push(Choice { family, name, sets, scales: Vec::new(), install, k: None });
    };
    for min in ["10ms", "5ms"].into_iter().filter(|min| s.text("rto-min") != Some(*min)) {
        let sets = s.every_transport("rto-min", min);
        add(Family::Timeout, format!("minimum RTO {min}"), sets, install::rto_min(min, s.peers));
    }
    let queue = s.host_queue().and_then(|q| q["kind"].as_str().or(q.as_str()));
    for (kind, discipline) in [("fq-codel", "fq_codel"), ("fq", "fq")].into_iter().filter(|(kind, _)| queue != Some(*kind)) {
        let sets = vec![format!("topology.host-queue=\"{kind}\"")];
        add(
            Family::HostQueue,
            format!("{discipline} at the hosts' interfaces"),
            sets,
            vec![Step::qdisc(ends.clone(), discipline)],
        );
    }
    // The settings below are those of Linux.
    if s.text("stack") != Some("linux") {
        return;
    }
    if s.text("slow-start-after-idle") != Some("off") {
        let key = "net.ipv4.tcp_slow_start_after_idle";
        let step = Step::sysctl(senders.clone(), key, "0", "1", "follow at their next idle time");
        let sets = s.every_transport("slow-start-after-idle", "off");
        add(Family::Window, "no slow start after idle time".into(), sets, vec![step]);
    }
    for window in [4, 30] {
        // The route's value is the initial window also after idle time (`tcp_init_cwnd`).
        let step = Step::route(senders.clone(), &format!("initcwnd {window}"), "follow after their next idle time");
        add(Family::Window, format!("initial window {window}"), s.every_transport("init-cwnd", &window.to_string()), vec![step]);
    }
    let step = Step::route(ends.clone(), "window 65536", "keep their window until they are opened again");
    add(Family::Window, "receive window at most 64 KiB".into(), s.every_transport("rcv-wnd", "\"64KiB\""), vec![step]);
    let wmem = ("net.ipv4.tcp_wmem", "4096 16384 262144", "4096 16384 4194304");
    let step = Step::sysctl(senders.clone(), wmem.0, wmem.1, wmem.2, "keep a send buffer that has grown");
    add(Family::Window, "send buffer at most 256 KiB".into(), s.every_transport("snd-buf-max", "\"256KiB\""), vec![step]);
    if s.transport()["tso"].is_string() {
        let step = Step {
            place: senders,
            run: vec!["ip link set dev DEVICE gso_max_size 16384".into()],
            undo: vec!["ip link set dev DEVICE gso_max_size 65536".into()],
            keep: "add the command to the hook of your network configuration that brings the interface up".into(),
            open: "follow when they are opened again".into(),
        };
        add(Family::Offload, "TSO of at most 16 KiB".into(), s.every_transport("tso", "\"16KiB\""), vec![step]);
    }
}
