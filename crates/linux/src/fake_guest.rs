//! A guest without a kernel, to test the host side: it speaks the protocol over real pipes. A write on a connection leaves its host immediately as
//! one packet, passes all ports of its path and is delivered after a fixed time. Its acknowledgment takes the same time.

use crate::link::{Frames, Incoming, Link};
use crate::protocol::*;
use crate::testing::{data, tcp};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

/// Delay between two hosts, ps.
pub(crate) const DELAY: u64 = 100_000_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Events of the fake guest.
#[derive(Debug, Clone, Copy)]
enum FakeEvent {
    Established { conn: u32 },
    Arrival { conn: u32, bytes: u64, end: u64 },
    Acked { conn: u32, end: u64 },
}

/// A connection.
#[derive(Debug, Clone)]
struct Conn {
    open: Open,
    /// Bytes written so far.
    written: u64,
    established: bool,
    waiting: VecDeque<u64>,
}

/// Observations of the guest, returned at its end.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Settings, as `profile key=value`.
    pub sysctls: Vec<String>,
    /// Connections in the order in which they opened.
    pub opens: Vec<Open>,
    /// Times at which it asked.
    pub asks: Vec<u64>,
}

/// The program's end of the pipes, and the thread that is the guest.
pub(crate) fn start() -> (Link, JoinHandle<Seen>) {
    let (guest_reads, to_guest) = io::pipe().expect("a pipe");
    let (from_guest, guest_writes) = io::pipe().expect("a pipe");
    let guest = std::thread::spawn(move || Fake::default().run(Link::new(guest_writes, guest_reads)));
    (Link::new(to_guest, from_guest), guest)
}

#[derive(Default)]
struct Fake {
    conns: Vec<Conn>,
    /// Events by time, then in the order of setting.
    events: BTreeMap<(u64, u64), FakeEvent>,
    set: u64,
    packets: u64,
    out: Frames,
    seen: Seen,
}

impl Fake {
    fn run(mut self, mut link: Link) -> Seen {
        let mut ready = false;
        while !ready {
            let Incoming::Frame(frame) = link.next(PATIENCE).expect("set-up") else { panic!("set-up ends with its last frame") };
            match frame.kind {
                Sysctl::KIND => {
                    let text = |s: Sysctl| format!("{} {}={}", s.profile, text_in(&s.key), text_in(&s.value));
                    self.seen.sysctls.extend(frame.records().map(text));
                }
                SETUP_END => ready = true,
                _ => {}
            }
        }
        self.out.put(Hello { protocol: PROTOCOL, record_sizes: RECORD_SIZES, version: text("fake") });
        let (mut now, mut wake) = (0, 0);
        loop {
            let next = self.events.first_key_value().map(|(k, _)| k.0);
            now = now.max(next.unwrap_or(NEVER).min(wake));
            assert_ne!(now, NEVER, "it would wait for ever");
            let mut reported = wake <= now;
            while let Some(first) = self.events.first_entry().filter(|e| e.key().0 <= now) {
                let event = first.remove();
                self.handle(now, event);
                reported = true;
            }
            if !reported {
                continue;
            }
            self.seen.asks.push(now);
            self.out.put(Ask { now });
            link.send(&mut self.out).expect("the program listens");
            match self.listen(&mut link, now) {
                Some(next) => wake = next,
                None => break,
            }
        }
        self.out.put(Done { now, events: 0, late_events: 0, late_max: 0, packets: self.packets });
        link.send(&mut self.out).expect("the program listens");
        self.seen
    }

    fn at(&mut self, time: u64, event: FakeEvent) {
        self.set += 1;
        self.events.insert((time, self.set), event);
    }

    fn handle(&mut self, now: u64, due: FakeEvent) {
        let event = |conn, kind, bytes| Event { time: now, conn, kind, bytes };
        match due {
            FakeEvent::Established { conn } => {
                self.conns[conn as usize].established = true;
                self.out.put(event(conn, event::ESTABLISHED, 0));
                while let Some(bytes) = self.conns[conn as usize].waiting.pop_front() {
                    self.send(now, conn, bytes);
                }
            }
            FakeEvent::Arrival { conn, bytes, end } => {
                let c = &self.conns[conn as usize];
                let last = c.open.forth[c.open.forth_len as usize - 1];
                let seq = (end - bytes) as u32 + 1;
                self.out.put(Packet { conn, port: last, what: what::DELIVERED, ..data(seq, bytes as u32, now) });
                self.out.put(event(conn, event::DELIVERED, end));
                self.at(now + DELAY, FakeEvent::Acked { conn, end });
            }
            FakeEvent::Acked { conn, end } => {
                self.out.put(Tcp { time: now, conn, acked: end, rtt_us: 200, ..tcp() });
                self.out.put(event(conn, event::ACKED, end));
            }
        }
    }

    /// A message leaves as one packet.
    fn send(&mut self, now: u64, conn: u32, bytes: u64) {
        let c = &mut self.conns[conn as usize];
        let seq = c.written as u32 + 1;
        c.written += bytes;
        let (end, id) = (c.written, self.packets);
        self.packets += 1;
        for &port in &c.open.forth[..c.open.forth_len as usize] {
            self.out.put(Packet { id, conn, port, ..data(seq, bytes as u32, now) });
            self.out.put(Leave { time: now, id, port, wire: bytes as u32 + 40 });
        }
        self.at(now + DELAY, FakeEvent::Arrival { conn, bytes, end });
    }

    /// Carries out the answer. When to ask again; `None`: the run is over.
    fn listen(&mut self, link: &mut Link, now: u64) -> Option<u64> {
        loop {
            let Incoming::Frame(frame) = link.next(PATIENCE).expect("an answer") else {
                panic!("an answer ends with its last frame")
            };
            match frame.kind {
                Open::KIND => {
                    for open in frame.records::<Open>().collect::<Vec<_>>() {
                        assert_eq!(open.conn as usize, self.conns.len(), "connections are numbered as they open");
                        let conn = open.conn;
                        self.seen.opens.push(open);
                        self.conns.push(Conn { open, written: 0, established: false, waiting: VecDeque::new() });
                        let port = open.forth[0];
                        self.out.put(Packet { conn, port, tcp_flags: flag::SYN, payload: 0, ..data(0, 0, now) });
                        self.out.put(Leave { time: now, id: 0, port, wire: 40 });
                        self.at(now + 2 * DELAY, FakeEvent::Established { conn });
                    }
                }
                Write::KIND => {
                    for write in frame.records::<Write>().collect::<Vec<_>>() {
                        let c = &mut self.conns[write.conn as usize];
                        if c.established { self.send(now, write.conn, write.bytes) } else { c.waiting.push_back(write.bytes) }
                    }
                }
                Next::KIND => {
                    let next = frame.only::<Next>().expect("one");
                    return (next.quit == 0).then_some(next.wake);
                }
                kind => panic!("frame of kind {kind}"),
            }
        }
    }
}
