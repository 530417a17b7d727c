//! The connection as a packet script that is only input: actions of the application, and arriving packets.

use super::path::MS;
use super::peer::Ack;
use super::random_connection::RandomConnection;
use super::window::{SCALE, UNIT, first};
use std::fmt::Write;

/// Values of the timestamp clocks at the start of a script: of the peer, and of the endpoint. Both tick once a millisecond.
const CLOCKS: (u64, u64) = (1000, 100);

/// The script of `d` in which `acks` arrive, up to `end`, ns.
pub(super) fn text(d: &RandomConnection, acks: &[Ack], end: u64) -> String {
    let socket = if d.kind.active { 3 } else { 4 };
    let mut events: Vec<(u64, String)> =
        d.writes.iter().map(|(time, n)| (*time, format!("write({socket}, ..., {n}) = {n}"))).collect();
    events.extend(d.close.map(|time| (time, format!("close({socket}) = 0"))));
    events.extend(acks.iter().map(|a| (a.time, arriving(d, a))));
    events.sort_by_key(|e| e.0);
    let mut text = handshake(d);
    for (time, line) in &events {
        let _ = writeln!(text, "{} {line}", seconds(*time));
    }
    // An empty assertion at this time: until then the endpoint is watched.
    let _ = writeln!(text, "{} %{{ end = 1 }}%", seconds(end));
    text
}

fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

/// The settings of the endpoint, and the handshake, which takes a round trip and loses nothing.
fn handshake(d: &RandomConnection) -> String {
    let (kind, window) = (d.kind, d.rules.window);
    let mut text = format!(
        "// forebay-bench linux --connections {kind} {} 1\n--stack=linux\n--set=arithmetic=linux\n\
         `sysctl -q net.ipv4.tcp_congestion_control={}`\n",
        d.seed, d.cc
    );
    if kind.ecn {
        text += "`sysctl -q net.ipv4.tcp_ecn=1`\n";
    }
    if !kind.sack {
        text += "`sysctl -q net.ipv4.tcp_sack=0`\n";
    }
    let (syn, syn_ack) = if kind.marks() { ("SEW", "SE.") } else { ("S", "S.") };
    let sack = if kind.sack { "sackOK," } else { "" };
    let stamps = |val: u64, ecr: u64| if kind.timestamps { format!("nop,nop,TS val {val} ecr {ecr},") } else { String::new() };
    let (peers, ours) = CLOCKS;
    // Timestamps take 12 bytes of each segment, which has 1000 bytes of data either way.
    let mss = if kind.timestamps { 1012 } else { 1000 };
    let (back, first) = (seconds(d.round_trip()), first(window));
    if kind.active {
        let (sent, echo) = (stamps(ours, 0), stamps(peers_clock(d.round_trip()), ours));
        return text
            + &format!(
                "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
                 +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
                 +0 > {syn} 0:0(0) <mss 1460,{sack}{sent}nop,wscale {SCALE}>\n\
                 {back} < {syn_ack} 0:0(0) ack 1 win {first} <mss {mss},{sack}{echo}nop,wscale {SCALE}>\n"
            );
    }
    let (sent, echo) = (stamps(peers, 0), stamps(ours, peers));
    let last = stamps(peers_clock(d.round_trip()), ours);
    let last = if last.is_empty() { last } else { format!(" <{}>", last.trim_end_matches(',')) };
    text + &format!(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
         +0 < {syn} 0:0(0) win {first} <mss {mss},{sack}{sent}nop,wscale {SCALE}>\n\
         +0 > {syn_ack} 0:0(0) ack 1 <mss 1460,{sack}{echo}nop,wscale {SCALE}>\n\
         {back} < . 1:1(0) ack 1 win {}{last}\n+0 accept(3, ..., ...) = 4\n",
        window / UNIT
    )
}

/// The script's value of the peer's clock when a packet leaves the peer that arrives at `time` without extra delay.
fn peers_clock(time: u64) -> u64 {
    CLOCKS.0 + time / MS
}

fn arriving(d: &RandomConnection, a: &Ack) -> String {
    let mut options = Vec::new();
    if d.kind.timestamps {
        options.push(format!("nop,nop,TS val {} ecr {}", peers_clock(a.left + d.path.delay), CLOCKS.1 + a.echoed));
    }
    if !a.blocks.is_empty() {
        let blocks: Vec<String> = a.blocks.iter().map(|b| format!("{}:{}", b.0, b.1)).collect();
        options.push(format!("nop,nop,sack {}", blocks.join(" ")));
    }
    let options = if options.is_empty() { String::new() } else { format!(" <{}>", options.join(",")) };
    format!("< {}. 1:1(0) ack {} win {}{options}", if a.ece { "E" } else { "" }, a.number, a.window)
}
