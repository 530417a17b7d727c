//! The cost of a packet does not grow with the flight: SACK blocks, the order of RACK and the holes of the receiver are never visited from end to
//! end. The measure is the CPU time of the thread, by orders of magnitude; the guard of `make test` counts instructions.

use crate::scripted::{addresses, config};
use forebay_sim::net::packet::{Extra, Packet, Wire, flag};
use forebay_sim::tcp::receiver::Receiver;
use forebay_sim::tcp::sender::{Phase, Sender};
use forebay_types::Time;
use std::collections::VecDeque;

/// One way, ps; an ACK is not delayed for long.
const DELAY: u64 = 50_000_000;
/// The time that a packet takes the sender's link, ps.
const PACKET: u64 = 100_000;
const ISN: u32 = 1;

/// Returns true if the segment with this number is lost once.
type Lost = fn(u32) -> bool;
/// Many holes, many runs of SACKed segments, one long run.
const PATTERNS: [(&str, Lost); 3] =
    [("every second lost", |n| n % 2 == 1), ("every tenth lost", |n| n % 10 == 4), ("one lost", |n| n == 4)];

/// Both directions, each in order.
struct Pipe {
    lost: Lost,
    now: u64,
    free: u64,
    mss: u32,
    data: VecDeque<(u64, Packet)>,
    acks: VecDeque<(u64, Packet, Option<Extra>)>,
    packets: u64,
}

impl Wire for Pipe {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        self.packets += 1;
        if packet.has(flag::ACK) {
            return self.acks.push_back((self.now + DELAY, packet, extra.copied()));
        }
        self.free = self.free.max(self.now) + PACKET;
        let segment = packet.seq.wrapping_sub(ISN + 1) / self.mss;
        if packet.len == 0 || packet.has(flag::RETX) || !(self.lost)(segment) {
            self.data.push_back((self.free + DELAY, packet));
        }
    }
}

/// CPU time of this thread, ns; `None` where the system does not tell.
fn cpu_time() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

/// CPU time per packet of `times` connections that send a window of `segments` each, ns.
fn cost(stack: &str, lost: Lost, segments: u32, times: u32) -> Option<f64> {
    let mut c = config(stack, "newreno");
    (c.init_cwnd, c.rcv_autotune) = (segments, false);
    c.rcv_wnd = 2 * u64::from(segments) * u64::from(c.mss);
    let (mut packets, begin) = (0, cpu_time()?);
    for _ in 0..times {
        let (mut address, _) = addresses(ISN);
        address.isn = ISN;
        let mut pipe = Pipe { lost, now: 0, free: 0, mss: c.mss, data: VecDeque::new(), acks: VecDeque::new(), packets: 0 };
        let (mut s, mut r) = (Sender::new(&c, address, None), Receiver::new(&c, address));
        s.open(&c, Time::ZERO, &mut pipe);
        s.write(&c, Time::ZERO, u64::from(segments) * u64::from(c.mss), None, true, &mut pipe);
        while s.phase() != Phase::Done {
            let data = pipe.data.front().map_or(u64::MAX, |f| f.0);
            let acks = pipe.acks.front().map_or(u64::MAX, |f| f.0);
            pipe.now = data.min(acks).min(s.timer_due().or_never().0).min(r.timer_due().or_never().0);
            let now = pipe.now;
            assert_ne!(now, u64::MAX, "{stack}: a connection has stalled");
            if data == now {
                let (_, p) = pipe.data.pop_front().expect("looked at");
                r.on_packet(&c, Time(now), &p, &mut pipe);
            } else if acks == now {
                let (_, p, extra) = pipe.acks.pop_front().expect("looked at");
                s.on_packet(&c, Time(now), &p, extra.as_ref(), &mut pipe);
            } else if s.timer_due() == Time(now).into() {
                s.on_timer(&c, Time(now), &mut pipe);
            } else {
                r.on_timer(&c, Time(now), &mut pipe);
            }
        }
        packets += pipe.packets;
    }
    Some((cpu_time()? - begin) as f64 / packets as f64)
}

#[test]
#[ignore = "measures time: `make mutants` runs it, the guard of `make test` counts instructions instead"]
fn packet_cost_is_independent_of_window() {
    for stack in ["linux", "rfc"] {
        for (pattern, lost) in PATTERNS {
            let (Some(small), Some(large)) = (cost(stack, lost, 50, 4000), cost(stack, lost, 40_000, 5)) else {
                println!("this system does not tell a thread's CPU time");
                return;
            };
            println!("{stack}, {pattern}: {small:.0} ns a packet with 50 outstanding, {large:.0} with 40 000");
            // Alike but for caches; a walk over all segments, or over all holes, for each ACK makes it tens to thousands of times.
            assert!(
                large < 8.0 * small,
                "{stack}, {pattern}: {large:.0} ns with 40 000 segments outstanding, {small:.0} with 50"
            );
        }
    }
}
