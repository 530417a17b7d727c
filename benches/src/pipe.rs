//! `forebay-bench window`: connections that send one window each, and lose every tenth segment of it once. Two endpoints and a wire, no network: only
//! TCP is counted.

use forebay_sim::net::packet::{Extra, Packet, Wire, flag};
use forebay_sim::tcp::Address;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::receiver::Receiver;
use forebay_sim::tcp::sender::{Phase, Sender};
use forebay_types::{GroupId, Time};
use serde_json::json;
use std::collections::VecDeque;
use std::path::Path;

/// The scenario with the transport.
const SCENARIO: &str = "benches/scenarios/lossy.toml";
/// One-way delay, ps.
const DELAY: u64 = 50_000_000;
/// The time that a packet takes the sender's link, ps: short, so that no timer ends before the largest window has left.
const PACKET: u64 = 100_000;
/// Of ten segments, the one that is lost.
const LOST: u32 = 4;
const ISN: u32 = 1;

type Flying = (u64, Packet, Option<Extra>);

/// Both directions, in order.
#[derive(Default)]
struct Pipe {
    now: u64,
    mss: u32,
    /// Time at which the sender's link is free.
    free: u64,
    data: VecDeque<Flying>,
    acks: VecDeque<Flying>,
    packets: u64,
    lost: u64,
}

impl Wire for Pipe {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        self.packets += 1;
        if packet.has(flag::ACK) {
            return self.acks.push_back((self.now + DELAY, packet, extra.copied()));
        }
        self.free = self.free.max(self.now) + PACKET;
        let segment = packet.seq.wrapping_sub(ISN + 1) / self.mss;
        if packet.len > 0 && !packet.has(flag::RETX) && segment % 10 == LOST {
            self.lost += 1;
            return;
        }
        self.data.push_back((self.free + DELAY, packet, extra.copied()));
    }
}

/// STACK SEGMENTS TIMES: TIMES connections with windows of SEGMENTS segments, one after the other. Prints a JSON line.
pub(crate) fn execute(args: &[String]) -> Result<(), String> {
    let [stack, segments, times] = args else { return Err("window: STACK SEGMENTS TIMES".into()) };
    let number = |text: &String| text.parse::<u32>().map_err(|_| format!("window: {text} is not a number"));
    let (segments, times) = (number(segments)?, number(times)?);
    let scenario =
        forebay_scenario::load(forebay_backends::all(), Path::new(SCENARIO), &[format!("transport.stack={stack:?}")], None);
    let resolved = scenario.and_then(|s| s.resolve()).map_err(|e| e.render())?;
    let config = resolved.variants.into_iter().next().map(|v| v.config).ok_or("no variant")?;
    let mut c = TcpConfig::of(&config.groups[GroupId::new(0)].tcp).map_err(|e| e.message)?;
    c.init_cwnd = segments;
    c.rcv_wnd = 2 * u64::from(segments) * u64::from(c.mss);
    c.isn = Some(ISN);
    let (mut packets, mut lost, mut memory) = (0, 0, None);
    for _ in 0..times {
        let mut pipe = Pipe { mss: c.mss, ..Pipe::default() };
        let address = Address { isn: ISN, ..Address::default() };
        let mut sender = Sender::new(&c, address, memory.take());
        transfer(&c, &mut sender, Receiver::new(&c, address), u64::from(segments), &mut pipe)?;
        memory = sender.lend();
        packets += pipe.packets;
        lost += pipe.lost;
    }
    println!("{}", json!({"pts": packets, "lost": lost}));
    Ok(())
}

/// The life of one connection.
fn transfer(c: &TcpConfig, sender: &mut Sender, mut receiver: Receiver, segments: u64, pipe: &mut Pipe) -> Result<(), String> {
    sender.open(c, Time::ZERO, pipe);
    sender.write(c, Time::ZERO, segments * u64::from(c.mss), None, true, pipe);
    while sender.phase() != Phase::Done {
        let at = |lane: &VecDeque<Flying>| lane.front().map_or(u64::MAX, |f| f.0);
        let (data, acks) = (at(&pipe.data), at(&pipe.acks));
        pipe.now = data.min(acks).min(sender.timer_due().or_never().0).min(receiver.timer_due().or_never().0);
        let now = pipe.now;
        if now == u64::MAX {
            return Err("window: a connection has stalled".into());
        }
        if data == now {
            let Some((_, p, _)) = pipe.data.pop_front() else { continue };
            receiver.on_packet(c, Time(now), &p, pipe);
        } else if acks == now {
            let Some((_, p, extra)) = pipe.acks.pop_front() else { continue };
            sender.on_packet(c, Time(now), &p, extra.as_ref(), pipe);
        } else if sender.timer_due() == Time(now).into() {
            sender.on_timer(c, Time(now), pipe);
        } else {
            receiver.on_timer(c, Time(now), pipe);
        }
    }
    Ok(())
}
