//! Connections of every profile with every congestion control, over paths that cause each kind of event: overflow, marks, single and repeated losses,
//! reordering, duplicates, lost ACKs, spurious timeouts, idle time, a closed window.

use super::{Hash, compare};
use crate::scripted::pipe::{Fate, LOSE, PASS, Pipe, PipePacket};
use crate::scripted::{MS, US, combinations, config};
use forebay_sim::tcp::config::TcpConfig;
use std::cell::Cell;
use std::rc::Rc;

/// A link with a queue in front of the receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Transmission time of a full packet, ps.
    pub(super) packet: u64,
    /// Packets that fit.
    pub(super) buffer: u64,
    /// Queue length from which on packets are marked.
    pub(super) mark: u64,
}

/// A path and its application.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    pub(super) name: &'static str,
    /// One-way delay, ps.
    pub(super) delay: u64,
    pub(super) link: Option<Link>,
    /// Fate of a packet, beside that in the queue.
    pub(super) fate: fn(&PipePacket) -> Fate,
    /// Bytes of each write, and the pause after it, ps.
    pub(super) writes: &'static [(u64, u64)],
}

const TEN_MBPS: u64 = 832 * US;
const ONE_GBPS: u64 = 8_320_000;

fn late(time: u64) -> Fate {
    Fate { late: time, ..PASS }
}

/// Pseudorandom number of a packet, below 256.
fn roll(p: &PipePacket, salt: u64) -> u64 {
    forebay_types::mix(salt ^ (p.number as u64) << 1 ^ u64::from(p.data)) & 255
}

fn is_first(p: &PipePacket, segments: &[i64]) -> bool {
    p.data && p.again == 0 && p.len > 0 && segments.contains(&(p.offset / 1000))
}

pub(super) const PATHS: &[Path] = &[
    Path {
        name: "overflow",
        delay: 500 * US,
        link: Some(Link { packet: 5 * ONE_GBPS, buffer: 30, mark: u64::MAX }),
        fate: |_| PASS,
        writes: &[(600_000, 0)],
    },
    Path {
        name: "marks",
        delay: 200 * US,
        link: Some(Link { packet: 2 * ONE_GBPS, buffer: 200, mark: 12 }),
        fate: |_| PASS,
        writes: &[(200_000, MS), (600_000, 3 * MS), (300_000, 0)],
    },
    // Longer than the interval in which BBR measures the smallest RTT, and several epochs of CUBIC.
    Path {
        name: "long",
        delay: 15 * MS,
        link: Some(Link { packet: 2 * TEN_MBPS, buffer: 40, mark: 30 }),
        fate: |p| if p.data && p.number % 997 == 500 { LOSE } else { PASS },
        writes: &[(8_000_000, 0)],
    },
    Path {
        name: "single-losses",
        delay: 50 * US,
        link: Some(Link { packet: ONE_GBPS, buffer: 500, mark: u64::MAX }),
        fate: |p| if is_first(p, &[3, 40, 41, 90, 150, 152, 154]) { LOSE } else { PASS },
        writes: &[(250_000, 0)],
    },
    // Also retransmissions are lost, and the end of the data.
    Path {
        name: "bursts",
        delay: 300 * US,
        link: Some(Link { packet: ONE_GBPS, buffer: 500, mark: u64::MAX }),
        fate: |p| {
            let segment = p.offset / 1000;
            let lost = (20..32).contains(&segment) && p.again == 0
                || (60..64).contains(&segment) && p.again < 2
                || segment == 80 && p.again < 3
                || segment >= 118 && p.again == 0;
            if p.data && p.len > 0 && lost { LOSE } else { PASS }
        },
        writes: &[(120_000, 0)],
    },
    Path {
        name: "reordering",
        delay: 400 * US,
        link: Some(Link { packet: ONE_GBPS, buffer: 500, mark: u64::MAX }),
        fate: |p| match (p.data, p.number % 23) {
            (true, 7) => late(60 * US),
            (true, 15) => late(350 * US),
            (true, 20) => late(900 * US),
            (false, 9) => late(500 * US),
            _ => PASS,
        },
        writes: &[(400_000, 0)],
    },
    Path {
        name: "duplicates",
        delay: 100 * US,
        link: None,
        fate: |p| Fate { twice: roll(p, 3) < 40, lost: roll(p, 4) < 6, late: if roll(p, 5) < 20 { 130 * US } else { 0 }, ..PASS },
        writes: &[(50_000, 2 * MS), (150_000, 0)],
    },
    Path {
        name: "lost-acks",
        delay: 100 * US,
        link: Some(Link { packet: ONE_GBPS, buffer: 60, mark: u64::MAX }),
        fate: |p| if !p.data && p.number > 0 && roll(p, 6) < 120 { LOSE } else { PASS },
        writes: &[(300_000, 0)],
    },
    // Delays that exceed the timeout, twice; the packets arrive after their retransmissions.
    Path {
        name: "spurious-timeouts",
        delay: 100 * US,
        link: Some(Link { packet: ONE_GBPS, buffer: 300, mark: u64::MAX }),
        fate: |p| match p.data && p.again == 0 && p.len > 0 && p.number < 400 {
            true if (50..70).contains(&p.number) => late(450 * MS),
            true if (150..190).contains(&p.number) => late(2300 * MS),
            _ => PASS,
        },
        writes: &[(300_000, 0)],
    },
    Path {
        name: "idle",
        delay: 250 * US,
        link: Some(Link { packet: ONE_GBPS, buffer: 100, mark: 20 }),
        fate: |p| if p.data && p.number % 101 == 60 { LOSE } else { PASS },
        writes: &[
            (40_000, 2 * MS),
            (1, 30 * MS),
            (90_000, 210 * MS),
            (90_000, 1300 * MS),
            (2_500, 40_000 * MS),
            (120_000, 5 * MS),
            (700, 100 * US),
            (700, 0),
        ],
    },
    Path {
        name: "closed-window",
        delay: 200 * US,
        link: None,
        fate: |p| Fate { shut: !p.data && ((8..19).contains(&p.number) || (60..64).contains(&p.number)), ..PASS },
        writes: &[(150_000, 0)],
    },
    Path {
        name: "everything",
        delay: 150 * US,
        link: Some(Link { packet: 3 * ONE_GBPS, buffer: 40, mark: 15 }),
        fate: |p| {
            let far = if roll(p, 9) < 12 { roll(p, 10) * 4 * US } else { 0 };
            Fate { lost: roll(p, 7) < 7, twice: roll(p, 8) < 5, late: far, ..PASS }
        },
        writes: &[(200_000, 7 * MS), (30_000, 400 * MS), (300_000, 0)],
    },
];

/// Runs a connection. Numbers of its trace, and its hash.
pub(super) fn trace(c: &TcpConfig, path: &Path) -> String {
    let hash = Rc::new(Cell::new(Hash::default()));
    let (packets, (fate, link)) = (Rc::clone(&hash), (path.fate, path.link));
    let (mut free, mut drops) = (0, 0_u32);
    let drops_seen = Rc::new(Cell::new(0));
    let dropped = Rc::clone(&drops_seen);
    let mut pipe = Pipe::new(c.clone(), move |p: &PipePacket| {
        let mut h = packets.get();
        [p.data.into(), p.offset as u64, p.len.into(), p.flags.into(), p.now].into_iter().for_each(|n| h.add(n));
        packets.set(h);
        let mut fate = fate(p);
        if let Some(link) = link
            && p.data
            && !fate.lost
        {
            let wait = u64::saturating_sub(free, p.now);
            let queue = wait.div_ceil(link.packet);
            if queue >= link.buffer {
                drops += 1;
                dropped.set(drops);
                return LOSE;
            }
            fate.marked |= queue >= link.mark;
            free = p.now + wait + link.packet * (u64::from(p.len) + 40) / 1040;
            fate.late += free - p.now;
        }
        fate
    });
    pipe.delay = path.delay;
    pipe.open();
    for (i, &(bytes, pause)) in path.writes.iter().enumerate() {
        pipe.write(bytes, i + 1 == path.writes.len());
        let until = pipe.now + pause;
        pipe.run(until);
    }
    pipe.run(10_000_000 * MS);
    let mut h = hash.get();
    for p in &pipe.trace {
        [p.now, p.cwnd.to_bits(), p.ssthresh.to_bits(), p.alpha.to_bits(), p.una, p.nxt, p.ca as u64]
            .into_iter()
            .for_each(|n| h.add(n));
    }
    let again = pipe.log.iter().filter(|p| p.again > 0).count();
    let (cwnd, end) = (pipe.sender.window().cwnd, pipe.done / US);
    format!("{},{again},{},{end},{cwnd:.3},{:016x}", pipe.log.len(), drops_seen.get(), h.0)
}

#[test]
fn connections_are_as_recorded() {
    let mut lines = Vec::new();
    for (stack, cc) in combinations() {
        let c = config(stack, cc);
        lines.extend(PATHS.iter().map(|path| format!("{stack},{cc},{},{}", path.name, trace(&c, path))));
    }
    compare("connections", "stack,cc,path,packets,retransmissions,drops,end_us,cwnd,hash", &lines);
}
