//! Hosts of a variant for `forebay check`: their profile, offloads and queue, and the limits on the data of a connection.

use crate::resolve::scenario::Variant;
use forebay_experiment::skb;
use forebay_experiment::topology::{Fib, Route, hosts};
use forebay_experiment::transport::Transport;
use forebay_types::{Bytes, Rate, Time};
use serde_json::Value as Json;

/// Hosts from whose paths the longest is taken; evenly spread where there are more.
const SAMPLED: usize = 16;

/// Path with the largest bandwidth-delay product.
#[derive(Debug, Clone, Copy)]
struct LongestPath {
    rtt: Time,
    rate: Rate,
    /// Payload bytes that keep it busy.
    payload: u64,
}

/// `n` to three digits.
fn rounded(n: u64) -> u64 {
    let unit = 10_u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(2));
    n / unit * unit
}

fn longest_path(v: &Variant, tcp: &Transport) -> Option<LongestPath> {
    let network = &v.config.network;
    let (all, fib) = (hosts(network), Fib::new(network).ok()?);
    let step = all.len().div_ceil(SAMPLED).max(1);
    let sampled = || all.iter().copied().step_by(step).chain(all.last().copied());
    let mut longest: Option<LongestPath> = None;
    for from in sampled() {
        for to in sampled().filter(|to| *to != from) {
            let route = Route::of(network, &fib, (from, to), (0, 0), tcp);
            let ports = fib.path(network, from, to, 0);
            let rate = ports.into_iter().map(|p| network.ports[p].rate).min()?;
            let bytes = u128::from(rate.0) * u128::from(route.idle_rtt.0) / 8 / 1_000_000_000_000;
            let payload = rounded((bytes as f64 * f64::from(tcp.mss) / route.packet) as u64);
            if longest.is_none_or(|l| payload > l.payload) {
                longest = Some(LongestPath { rtt: route.idle_rtt, rate, payload });
            }
        }
    }
    longest
}

/// Lines about the hosts of a variant, one or two a transport.
pub(crate) fn explain(v: &Variant) -> Vec<String> {
    let mut lines = Vec::new();
    for (_, group) in v.config.groups.enumerate().filter(|(id, _)| v.config.workloads.iter().any(|w| w.uses(*id))) {
        let tcp = &group.tcp;
        let queue = match &v.echo["topology"]["host-queue"] {
            Json::String(kind) => kind.as_str(),
            other => other["kind"].as_str().unwrap_or("drop-tail"),
        };
        let mut parts = vec![format!("queue {queue}")];
        if tcp.byte_queue_limits && queue != "drop-tail" {
            parts.push("byte queue limits".to_owned());
        }
        parts.push(tcp.tso.map_or("no tso".to_owned(), |size| format!("tso {}", Bytes(size.into()))));
        parts.push(tcp.gro.map_or("no gro".to_owned(), |time| format!("gro {time}")));
        lines.push(format!("hosts of `{}`: {}, {}", group.name, tcp.host.name(), parts.join(", ")));
        lines.extend(longest_path(v, tcp).map(|path| format!("  {}", limits(tcp, path))));
    }
    lines
}

/// Limits of a connection, and the one that applies on the path with the largest bandwidth-delay product.
fn limits(tcp: &Transport, path: LongestPath) -> String {
    let (send, window) = (skb::send_limit(tcp).map(rounded), rounded(skb::window_limit(tcp)));
    // The application continues when a third of the buffer is free (sk_stream_write_space). Where the last ACKs of a round trip free less than that, no
    // more than two thirds are sent in one.
    let (least, most, name) = match send.map(|send| (send / 3 * 2, send)) {
        Some((least, most)) if least < window => (least, most.min(window), "send buffer"),
        _ => (window, window, "receive window"),
    };
    let send = send.map_or("without limit".to_owned(), |send| format!("at most {} of payload", Bytes(send)));
    let known = format!("send buffer {send}, receive window at most {}", Bytes(window));
    let product =
        format!("largest bandwidth-delay product of a path: {} with {} and {} RTT", Bytes(path.payload), path.rate, path.rtt);
    if least >= path.payload {
        return format!("{known}; {product}, so neither limits a connection while queues are empty");
    }
    let rate = |bytes: u64| Rate(rounded((u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(path.rtt.0.max(1))) as u64));
    let reached = match rate(least) {
        low if most >= path.payload => format!("may limit a connection, to no less than {low}"),
        low if least == most => format!("limits a connection to {low}"),
        low => format!("limits a connection to between {low} and {}", rate(most)),
    };
    format!("{known}; {product}, so the {name} {reached} of payload")
}
