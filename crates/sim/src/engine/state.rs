//! The state of a run at an instant, as it is compared with a later one: what is counted from somewhere is counted from that instant.

use super::hosts::Wake;
use forebay_types::{ConnSlot, IndexVec, NodeId, PortId, QueryId, Time, Walk};

/// A timer of a host, as it stands in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    pub host: NodeId,
    pub time: Time,
    pub order: u64,
    pub wake: Wake,
}

/// A state, and the counters that do not belong to it.
#[derive(Debug, Default)]
pub(super) struct State {
    /// When.
    pub now: Time,
    /// Everything that matters.
    pub words: Vec<u64>,
    /// Everything that is only counted.
    pub counts: Vec<u64>,
    /// The same in more bits.
    pub sums: Vec<u128>,
    /// Which of the counts matter when they get somewhere, and to what.
    pub limits: Vec<(usize, u64)>,
    /// Timers that are no mere reminders to look, in order.
    pub timers: Vec<Timer>,
    /// How far each connection is acknowledged, by slot.
    pub una: Vec<u64>,
    /// Queries that each source of queries has begun.
    pub begun: Vec<u32>,
    /// How long each port's queue had which length.
    pub times: IndexVec<PortId, Vec<u64>>,
    /// Timers that each node has set.
    pub issued: Vec<u64>,
    /// What has happened so far that depends on the time of day: lots that were drawn, timers that met.
    pub doubts: u64,
    /// What has happened so far that depends on when a window ends: stalls that were noted.
    pub held_up: u64,
    /// Why it is not known to come back, if so.
    pub never: Option<String>,
}

impl State {
    /// At `now`, of clocks that count from 0 in steps of `phase`.
    pub(super) fn new(now: Time, phase: Time) -> State {
        State { now, words: vec![(now % phase).0], ..State::default() }
    }

    /// Whether `later` is the same, but for timers that are set for the same instant in both: these are returned.
    pub(super) fn recurs(&self, later: &State) -> Option<Vec<Timer>> {
        if self.words != later.words || self.counts.len() != later.counts.len() || self.never.is_some() || later.never.is_some() {
            return None;
        }
        let standing: Vec<Timer> = self.timers.iter().filter(|t| later.timers.binary_search(t).is_ok()).copied().collect();
        let moving = |state: &State| {
            let own = state.timers.iter().filter(|t| standing.binary_search(t).is_err());
            own.map(|t| (t.host, t.time.0.wrapping_sub(state.now.0), t.wake)).collect::<Vec<_>>()
        };
        (moving(self) == moving(later)).then_some(standing)
    }

    /// How many times what happened between `before` and this state, so many counts, can happen again before a count gets to its limit.
    pub(super) fn room(&self, gains: &[u64]) -> u64 {
        let room = |&(i, most): &(usize, u64)| match gains[i] {
            0 => u64::MAX,
            gain => (most - 1).saturating_sub(self.counts[i]) / gain,
        };
        self.limits.iter().map(room).min().unwrap_or(u64::MAX)
    }

    fn known(&self, conn: ConnSlot) -> u64 {
        self.una.get(conn.index()).copied().unwrap_or(0)
    }
}

/// Takes a state.
pub(super) struct Taker<'a> {
    state: &'a mut State,
    /// How far the connection is acknowledged whose values come.
    una: u64,
}

impl<'a> Taker<'a> {
    pub(super) fn new(state: &'a mut State) -> Taker<'a> {
        Taker { state, una: 0 }
    }

    fn put(&mut self, word: u64) {
        self.state.words.push(word);
    }
}

/// Beyond this, a stream offset is one that nothing reaches.
const FAR: u64 = 1 << 60;

impl Walk for Taker<'_> {
    fn same(&mut self, value: u64) {
        self.put(value);
    }

    fn time(&mut self, time: &mut Time) {
        self.put(time.0.wrapping_sub(self.state.now.0));
    }

    fn until(&mut self, time: &mut Time) {
        self.put((time.0 + 1).saturating_sub(self.state.now.0));
    }

    fn past(&mut self, _time: &mut Time) {}

    fn stamp(&mut self, ns: &mut u32) {
        self.put(self.state.now.timestamp().wrapping_sub(*ns).into());
    }

    fn ticks(&mut self, ticks: &mut u64, bits: u32, length: Time) {
        let ago = (self.state.now / length).wrapping_sub(*ticks);
        self.put(ago & (u64::MAX >> (64 - bits)));
    }

    fn connection(&mut self, conn: ConnSlot, una: u64) {
        if self.state.una.len() <= conn.index() {
            self.state.una.resize(conn.index() + 1, 0);
        }
        self.state.una[conn.index()] = una;
        self.una = una;
    }

    fn offset(&mut self, offset: &mut u64) {
        self.put(offset.wrapping_sub(self.una));
    }

    fn mark(&mut self, offset: &mut u64) {
        let ahead = if *offset < self.una { 0 } else { (*offset - self.una).min(FAR) + 1 };
        self.put(ahead);
    }

    fn sequence(&mut self, number: &mut u32) {
        self.put(number.wrapping_sub(self.una as u32).into());
    }

    fn count(&mut self, count: &mut u64) {
        self.state.counts.push(*count);
    }

    fn sum(&mut self, sum: &mut u128) {
        self.state.sums.push(*sum);
    }

    fn below(&mut self, count: &mut u64, most: u64) {
        self.state.limits.push((self.state.counts.len(), most));
        self.state.counts.push(*count);
    }

    fn queries(&mut self, source: u32, begun: &mut u32) {
        let source = source as usize;
        if self.state.begun.len() <= source {
            self.state.begun.resize(source + 1, 0);
        }
        self.state.begun[source] = *begun;
    }

    fn query(&mut self, query: &mut QueryId) {
        let (source, number) = parts(*query);
        let begun = self.state.begun.get(source).copied().unwrap_or(0);
        self.put((source as u64) << 32 | u64::from(begun.wrapping_sub(number)));
    }

    fn never(&mut self, why: &str) {
        self.state.never.get_or_insert_with(|| why.to_owned());
    }
}

/// Source and number of a query.
pub(super) fn parts(query: QueryId) -> (usize, u32) {
    ((query.get() >> 32) as usize, query.get() as u32)
}

/// What a period brings: what is counted in it, how far connections and sources of queries get.
#[derive(Debug, Default)]
pub(super) struct Gains {
    pub counts: Vec<u64>,
    pub sums: Vec<u128>,
    pub una: Vec<u64>,
    pub begun: Vec<u32>,
    pub times: IndexVec<PortId, Vec<u64>>,
    pub issued: Vec<u64>,
}

impl Gains {
    /// Between two states.
    pub(super) fn between(first: &State, later: &State) -> Gains {
        let less = |a: &[u64], b: &[u64]| -> Vec<u64> { b.iter().zip(a).map(|(b, a)| b.wrapping_sub(*a)).collect() };
        let times = first
            .times
            .iter()
            .zip(later.times.iter())
            .map(|(a, b)| b.iter().enumerate().map(|(i, b)| b - a.get(i).copied().unwrap_or(0)).collect::<Vec<u64>>());
        Gains {
            counts: less(&first.counts, &later.counts),
            sums: later.sums.iter().zip(&first.sums).map(|(b, a)| b.wrapping_sub(*a)).collect(),
            una: less(&first.una, &later.una),
            begun: later.begun.iter().zip(&first.begun).map(|(b, a)| b.wrapping_sub(*a)).collect(),
            times: times.collect(),
            issued: less(&first.issued, &later.issued),
        }
    }
}

/// Moves a state on by whole periods.
pub(super) struct Mover<'a> {
    gains: &'a Gains,
    /// How many.
    n: u64,
    /// How long they take together.
    by: Time,
    /// What has changed lately has changed since then.
    since: Time,
    next: usize,
    next_sum: usize,
    conn: ConnSlot,
    state: &'a State,
}

impl<'a> Mover<'a> {
    /// By `n` periods of `length`, from `state` on.
    pub(super) fn new(state: &'a State, gains: &'a Gains, n: u64, length: Time) -> Mover<'a> {
        Mover {
            gains,
            n,
            by: length * n,
            since: state.now.saturating_sub(length),
            next: 0,
            next_sum: 0,
            conn: ConnSlot::new(0),
            state,
        }
    }

    fn gain(&mut self) -> u64 {
        self.next += 1;
        self.gains.counts[self.next - 1]
    }

    fn bytes(&self) -> u64 {
        self.gains.una.get(self.conn.index()).copied().unwrap_or(0).wrapping_mul(self.n)
    }
}

impl Walk for Mover<'_> {
    fn same(&mut self, _value: u64) {}

    fn time(&mut self, time: &mut Time) {
        *time += self.by;
    }

    fn until(&mut self, time: &mut Time) {
        self.past(time);
    }

    fn past(&mut self, time: &mut Time) {
        if *time >= self.since {
            *time += self.by;
        }
    }

    fn stamp(&mut self, ns: &mut u32) {
        *ns = ns.wrapping_add(self.by.timestamp());
    }

    fn ticks(&mut self, ticks: &mut u64, bits: u32, length: Time) {
        *ticks = ticks.wrapping_add(self.by / length) & (u64::MAX >> (64 - bits));
    }

    fn connection(&mut self, conn: ConnSlot, _una: u64) {
        self.conn = conn;
    }

    fn offset(&mut self, offset: &mut u64) {
        *offset = offset.wrapping_add(self.bytes());
    }

    fn mark(&mut self, offset: &mut u64) {
        let una = self.state.known(self.conn);
        if *offset >= una && *offset - una < FAR {
            *offset += self.bytes();
        }
    }

    fn sequence(&mut self, number: &mut u32) {
        *number = number.wrapping_add(self.bytes() as u32);
    }

    fn count(&mut self, count: &mut u64) {
        *count = count.wrapping_add(self.gain().wrapping_mul(self.n));
    }

    fn sum(&mut self, sum: &mut u128) {
        self.next_sum += 1;
        *sum = sum.wrapping_add(self.gains.sums[self.next_sum - 1].wrapping_mul(self.n.into()));
    }

    fn below(&mut self, count: &mut u64, _most: u64) {
        self.count(count);
    }

    fn queries(&mut self, source: u32, begun: &mut u32) {
        let gain = self.gains.begun.get(source as usize).copied().unwrap_or(0);
        *begun = begun.wrapping_add(gain.wrapping_mul(self.n as u32));
    }

    fn query(&mut self, query: &mut QueryId) {
        let (source, number) = parts(*query);
        let gain = self.gains.begun.get(source).copied().unwrap_or(0);
        let number = number.wrapping_add(gain.wrapping_mul(self.n as u32));
        *query = QueryId::new((source as u64) << 32 | u64::from(number));
    }

    fn never(&mut self, _why: &str) {}
}
