//! A drawn connection: both ends, the application, the path and the peer. Everything follows from kind and seed.

use super::kind::Kind;
use super::path::{MS, Path, US};
use super::window::Behaviour;
use forebay_torture::draw::{by_chance, one};
use forebay_types::Rng;

/// A drawn connection. Times are ns.
#[derive(Debug, Clone)]
pub(super) struct RandomConnection {
    pub(super) seed: u64,
    pub(super) kind: Kind,
    /// The congestion control of the endpoint.
    pub(super) cc: &'static str,
    pub(super) path: Path,
    pub(super) rules: Rules,
    /// Times and bytes of the application's writes.
    pub(super) writes: Vec<(u64, u64)>,
    /// Time at which it closes the connection, if it does.
    pub(super) close: Option<u64>,
}

/// ACK policy of the peer.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// Number of segments for one ACK, unless an immediate ACK is required.
    pub(super) every: u64,
    /// Longest delay of an ACK.
    pub(super) hold: u64,
    /// Marks are echoed one by one (RFC 8257), else until CWR comes (RFC 3168).
    pub(super) each_mark: bool,
    /// Behavior of the window.
    pub(super) behaviour: Behaviour,
    /// Largest window, bytes.
    pub(super) window: u64,
}

/// Random number stream of one purpose.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    /// This connection.
    Connection,
    /// Fate of the endpoint's packets.
    Forth,
    /// Fate of the ACKs.
    Back,
    /// Windows, and times of their updates.
    Window,
}

impl RandomConnection {
    /// The connection of this kind with this seed.
    pub(super) fn new(kind: Kind, seed: u64) -> RandomConnection {
        let mut rng = numbers(seed, Stream::Connection);
        let rng = &mut rng;
        let path = path(rng, kind);
        let begin = 2 * path.delay + MS;
        let (writes, end) = writes(rng, begin);
        let close = by_chance(rng, 20).then_some(end);
        let cc = one(rng, &["reno", "reno", "cubic"]);
        let rules = Rules {
            every: one(rng, &[1, 2, 2, 4]),
            hold: 40 * MS,
            each_mark: one(rng, &[true, true, false]) && kind.dctcp,
            behaviour: match one(rng, &[Behaviour::Varies, Behaviour::Stops, Behaviour::Shrinks]) {
                behaviour if kind.windows => behaviour,
                _ => Behaviour::Open,
            },
            window: one(rng, &[262_144, 262_144, 20_480, 10_240]),
        };
        RandomConnection { seed, kind, cc: if kind.dctcp { "dctcp" } else { cc }, path, rules, writes, close }
    }

    /// Random numbers from the start of a stream.
    pub(super) fn numbers(&self, stream: Stream) -> Rng {
        numbers(self.seed, stream)
    }

    /// Round-trip time of a packet and its answer.
    pub(super) fn round_trip(&self) -> u64 {
        2 * self.path.delay
    }
}

fn numbers(seed: u64, stream: Stream) -> Rng {
    Rng::stream(seed, &[stream as u64])
}

fn path(rng: &mut Rng, kind: Kind) -> Path {
    // No whole milliseconds, so that ACKs and ticks of timers do not coincide.
    let delay = one(rng, &[1_569 * US, 10_107 * US, 25_196 * US, 50_289 * US]);
    let marked = one(rng, &[0, 30, 200, 600, 1000]);
    Path {
        delay,
        gap: one(rng, &[0, 10 * US, 100 * US, MS]),
        late: (one(rng, &[0, 0, 5, 20, 50]), one(rng, &[delay / 5, 2 * delay / 3, 2 * delay, 6 * delay])),
        lost: one(rng, &[0, 10, 50, 150, 300]),
        row: one(rng, &[(0, 0), (0, 0), (10, 5), (30, 12)]),
        lost_acks: one(rng, &[0, 0, 50, 200]),
        doubled: one(rng, &[0, 0, 0, 50, 200]),
        marked: if kind.marks() { marked } else { 0 },
        bad: 20 + rng.below(80),
    }
}

/// One to four writes, followed by pauses from less than a round trip to more than a timeout; and the end of the last pause.
fn writes(rng: &mut Rng, begin: u64) -> (Vec<(u64, u64)>, u64) {
    let (mut all, mut time) = (Vec::new(), begin);
    for _ in 0..=rng.below(4) {
        // The MSS is 1000.
        all.push((time, one(rng, &[1000, 1000, 3000, 8000, 10_000, 15_000, 25_000, 40_000])));
        time += one(rng, &[MS, 10 * MS, 100 * MS, 300 * MS, 700 * MS, 2500 * MS]);
    }
    if by_chance(rng, 30)
        && let Some(last) = all.last_mut()
    {
        // The stream ends with half a segment.
        last.1 += 500;
    }
    (all, time)
}
