//! A connection as it is drawn: what both ends are, what the application does, what the path and the peer do. All of it follows from kind and seed.

use super::super::dice::{by_chance, one};
use super::kind::Kind;
use super::path::{MS, Path, US};
use super::window::Habit;
use forebay_types::Rng;

/// What is drawn of one connection. Times are ns.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) seed: u64,
    pub(super) kind: Kind,
    /// The congestion control of the endpoint.
    pub(super) cc: &'static str,
    pub(super) path: Path,
    pub(super) rules: Rules,
    /// When the application writes, and how many bytes.
    pub(super) writes: Vec<(u64, u64)>,
    /// When it closes the connection, if it does.
    pub(super) close: Option<u64>,
}

/// How the peer acknowledges.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// Every so many segments, if nothing asks for an ACK at once.
    pub(super) every: u64,
    /// An ACK is held back so long at most.
    pub(super) hold: u64,
    /// Marks are echoed one by one (RFC 8257), else until CWR comes (RFC 3168).
    pub(super) each_mark: bool,
    /// How the window moves.
    pub(super) habit: Habit,
    /// How large it may be, bytes.
    pub(super) window: u64,
}

/// A stream of random numbers that a connection has for itself.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    /// What is drawn here.
    Connection,
    /// What becomes of the endpoint's packets.
    Forth,
    /// What becomes of the ACKs.
    Back,
    /// Windows, and when they are told.
    Window,
}

impl Drawn {
    /// The connection of this kind with this seed.
    pub(super) fn new(kind: Kind, seed: u64) -> Drawn {
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
            habit: match one(rng, &[Habit::Varies, Habit::Stops, Habit::Shrinks]) {
                habit if kind.windows => habit,
                _ => Habit::Open,
            },
            window: one(rng, &[262_144, 262_144, 20_480, 10_240]),
        };
        Drawn { seed, kind, cc: if kind.dctcp { "dctcp" } else { cc }, path, rules, writes, close }
    }

    /// Random numbers from the beginning of a stream.
    pub(super) fn numbers(&self, stream: Stream) -> Rng {
        numbers(self.seed, stream)
    }

    /// How long a packet and its answer are on their way.
    pub(super) fn round_trip(&self) -> u64 {
        2 * self.path.delay
    }
}

fn numbers(seed: u64, stream: Stream) -> Rng {
    Rng::stream(seed, &[stream as u64])
}

fn path(rng: &mut Rng, kind: Kind) -> Path {
    // No whole milliseconds, so that ACKs and ticks of timers do not come at one time.
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

/// One to four writes, with pauses after them from less than a round trip to more than a timeout; and when the last pause is over.
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
