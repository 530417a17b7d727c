//! Settings of hosts beside congestion control: minimum RTO, interface queue, windows and segmentation offload. Each reaches all connections of the
//! hosts, in the simulation and by its command.

use super::{Choice, Family, Subject};
use crate::install::{self, Step};
use forebay_types::Bytes;

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
    // In Linux DCTCP has PLB, and other paths must exist.
    if s.multipath && s.all_have_dctcp() && s.transport()["tcp-plb-enabled"] != true {
        let key = "net.ipv4.tcp_plb_enabled";
        let on = Step::sysctl(senders.clone(), key, "1", "0", "change their path from then on");
        let label = "hash the IPv6 flow label for ECMP; PLB has no effect on IPv4 connections".to_owned();
        let install = vec![on.clone(), Step::words("switch", label.clone())];
        add(Family::Plb, "protective load balancing (PLB)".into(), s.every_transport("tcp-plb-enabled", "true"), install);
        let rounds = Step::sysctl(senders.clone(), "net.ipv4.tcp_plb_rehash_rounds", "3", "12", "follow at once");
        let sets = [s.every_transport("tcp-plb-enabled", "true"), s.every_transport("tcp-plb-rehash-rounds", "3")].concat();
        let install = vec![on, rounds, Step::words("switch", label)];
        add(Family::Plb, "protective load balancing (PLB) after 3 congested rounds".into(), sets, install);
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
    larger_buffers(s, &ends, &mut add);
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

/// Largest window that an option gives: above the bandwidth-delay product of 1 Gbps over 100 ms, or 100 Gbps over 1 ms (our choice).
const LARGE: &str = "16MiB";

/// Buffers for paths on which a window limits the sender: larger limits of tuned buffers, or a larger buffer that the application sets.
fn larger_buffers(s: &Subject, ends: &str, add: &mut impl FnMut(Family, String, Vec<String>, Vec<Step>)) {
    let is_less = |key: &str| s.text(key).and_then(|v| v.parse::<Bytes>().ok()).is_some_and(|b| b.0 < 16 << 20);
    // `tcp_win_from_space`: about half of a buffer is window.
    let sysctl = |key: &str, least: &str, most: &str| {
        let (new, former) = (format!("4096 {least} 33554432"), format!("4096 {least} {most}"));
        Step::sysctl(ends.to_owned(), &format!("net.ipv4.{key}"), &new, &former, "grow further")
    };
    let wmem = sysctl("tcp_wmem", "16384", "4194304");
    let larger = s.every_transport("snd-buf-max", "\"32MiB\"");
    if s.transport()["rcv-autotune"] == true {
        let sets = [s.every_transport("rcv-buf-max", "\"32MiB\""), larger].concat();
        let steps = vec![sysctl("tcp_rmem", "131072", "6291456"), wmem];
        add(Family::Window, "send and receive buffers up to 32 MiB".into(), sets, steps);
    } else if is_less("rcv-wnd") {
        let text =
            "set SO_RCVBUF to 16 MiB, or leave it unset, so that the kernel tunes the buffer; net.core.rmem_max must allow it";
        let mut step = Step::words("application", text.to_owned());
        step.open = "keep their buffer".into();
        let sets = [s.every_transport("rcv-wnd", &format!("\"{LARGE}\"")), larger].concat();
        add(Family::Window, "receive buffer of 16 MiB, send buffers up to 32 MiB".into(), sets, vec![step, wmem]);
    }
    if is_less("snd-buf") {
        let text =
            "set SO_SNDBUF to 16 MiB, or leave it unset, so that the kernel tunes the buffer; net.core.wmem_max must allow it";
        let mut step = Step::words("application", text.to_owned());
        step.open = "keep their buffer".into();
        let sets = s.every_transport("snd-buf", &format!("\"{LARGE}\""));
        add(Family::Window, "send buffer of 16 MiB".into(), sets, vec![step]);
    }
}
