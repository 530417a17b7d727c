//! The state of a run between two windows: taken, compared with an earlier one, and moved on by whole periods.

use super::{Apps, Core, called};
use crate::cc::slow_start;
use crate::engine::hosts::Wake;
use crate::engine::recorder::{Begun, Repeat};
use crate::engine::state::{Gains, Mover, State, Taker, Timer, parts};
use crate::engine::tape::Tape;
use crate::tcp::config::TcpConfig;
use forebay_units::{ConnSlot, QueryId, Time, TimeOrNever, Walk};
use std::collections::BTreeMap;

/// Timers of the kernel up to here, in ticks, expire in slots of this many (`tcp/timer_wheel.rs`).
const SLOT: u64 = 8;

/// A period of a run: how long it is, what it brings, and what happens in it.
pub(in crate::engine) struct Period {
    length: Time,
    /// When the one was over that was written down.
    written: Time,
    gains: Gains,
    tape: Tape,
    /// Slots of connections by number.
    slots: BTreeMap<u64, ConnSlot>,
}

impl Period {
    /// From one time to another.
    pub(in crate::engine) fn new((from, to): (Time, Time), gains: Gains, tape: Tape, core: &Core) -> Period {
        Period {
            length: to - from,
            written: to,
            gains,
            tape,
            slots: core.streams.enumerate().map(|(slot, s)| (s.conn_id, slot)).collect(),
        }
    }
}

impl Period {
    /// How long it is.
    pub(in crate::engine) fn length(&self) -> Time {
        self.length
    }

    /// How often it can come again from `state` on before a count gets to its limit.
    pub(in crate::engine) fn room(&self, state: &State) -> u64 {
        state.room(&self.gains.counts)
    }
}

impl Repeat for Period {
    fn length(&self) -> Time {
        self.length
    }

    fn query(&self, query: QueryId, n: u64) -> QueryId {
        let gain = self.gains.begun.get(parts(query).0).copied().unwrap_or(0);
        QueryId::new(query.get() + u64::from(gain) * n)
    }

    fn progress(&self, conn_id: u64) -> (u64, u64) {
        let slot = self.slots.get(&conn_id).map_or(0, |slot| slot.index());
        let of = |list: &[u64]| list.get(slot).copied().unwrap_or(0);
        (of(&self.gains.una), of(&self.tape.again))
    }
}

impl Core {
    /// Goes through everything but timers, at the end of a window, when nothing has happened since `now`.
    fn walk(&mut self, now: Time, v: &mut dyn Walk) {
        #[rustfmt::skip]
        let Core {
            fabric, hosts, tcp, generations: _, streams, senders, outgoing, receivers, incoming, slots, lane, recorder, seed: _, host_bits: _,
            network, ended, deliveries: _, way: _, endpoint_shims, paths: _, measuring, measured_from: _, arrived_before: _, window_shims,
            failures, grown: _, tape: _, fired: _, held_up: _, elsewhere: _,
        } = self;
        v.flag(*measuring);
        slots.walk(v);
        lane.walk(v);
        ended.walk(v);
        if failures.is_some() {
            v.never("links fail");
        }
        if endpoint_shims.any() || window_shims.any() {
            v.never("a transport has a shim");
        }
        if recorder.wants_packets() {
            v.never("packets are recorded");
        }
        if !lane.wheel.is_exact() {
            // A window in which nothing happens may be looked at, or not, and intervals of deliveries end with windows.
            v.never("every link has a delay of 268 us or more");
        }
        for conn in streams.ids() {
            let stream = &mut streams[conn];
            stream.walk(v);
            if stream.live {
                let c = &tcp[senders[conn].group()];
                senders[conn].walk(c, v);
                receivers[conn].walk(c, v);
                outgoing[conn].walk(v);
                incoming[conn].walk(v);
            }
        }
        for node in network.nodes.enumerate().filter(|(_, n)| n.host).map(|(node, _)| node) {
            hosts[node].walk(v);
        }
        let una = |conn: ConnSlot, generation| {
            let s = &streams[conn];
            (s.live && s.generation == generation).then(|| senders[conn].snd_una())
        };
        let ports: Vec<_> = network.ports.ids().collect();
        for &port in &ports {
            fabric.ports[port].walk(now, &una, v);
        }
        // Of the times at which the links of a node brought something, only the order counts.
        let mut served: Vec<_> = ports.iter().map(|&port| (network.ports[port].to, fabric.ports[port].served, port)).collect();
        served.sort_unstable();
        for pair in served.windows(2) {
            v.same(u64::from(pair[1].2.get()) << 1 | u64::from((pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)));
        }
    }

    /// The state at `now`, between two windows.
    pub(in crate::engine) fn state(&mut self, apps: &Apps, now: Time, phase: Time) -> State {
        self.run_by(None);
        let mut state = State::new(now, phase);
        let mut taker = Taker::new(&mut state);
        apps.iter().for_each(|app| called(app).walk(&mut taker));
        self.walk(now, &mut taker);
        let ports: Vec<_> = self.network.ports.ids().collect();
        state.times = ports.iter().map(|&port| self.fabric.ports[port].times(now)).collect();
        state.issued = self.hosts.iter().map(|h| h.issued).collect();
        for (host, h) in self.network.nodes.ids().zip(self.hosts.iter()) {
            // Those of endpoints only remind the host to look, at the latest when what they stand for is due.
            let real = h.timers().filter(|t| !matches!(t.2, Wake::Sender { .. } | Wake::Receiver { .. }));
            state.timers.extend(real.map(|(time, order, wake)| Timer { host, time, order, wake }));
        }
        state.timers.sort_unstable();
        state.held_up = self.held_up;
        state.doubts = self.lane.sorter.drawn + self.hosts.iter().map(|h| h.met).sum::<u64>();
        if self.tcp.iter().any(|c| c.is_linux()) {
            // Timers farther away than [`SLOT`] counts for have slots that are wider still.
            state.doubts += self.fired;
        }
        state
    }

    /// Of this length are the steps that all clocks go by, counted from 0.
    pub(in crate::engine) fn clock_step(&self) -> Time {
        self.tcp.iter().map(clock_step).fold(Time::from_ns(1), common)
    }

    /// The connection whose sender was the last to send something, and what tells well whether its state is another one.
    pub(in crate::engine) fn last_active(&self) -> Option<ConnSlot> {
        let live = self.streams.enumerate().filter(|(_, s)| s.live).map(|(conn, _)| conn);
        live.filter_map(|conn| Some((self.senders[conn].last_sent()?, conn))).max().map(|(_, conn)| conn)
    }

    /// What tells well whether a connection is in another state than it was.
    pub(in crate::engine) fn signature(&self, conn: ConnSlot, now: Time) -> [u64; 4] {
        let s = &self.senders[conn];
        let sent = s.last_sent().map_or(u64::MAX, |at| now.0.wrapping_sub(at.0));
        [sent, s.flight(), s.window().cwnd.to_bits(), s.rtt().smoothed().or_never().0]
    }

    /// What happens from now on is written down.
    pub(in crate::engine) fn begin_tape(&mut self) -> Begun {
        let again = self.streams.ids().map(|conn| self.senders[conn].cold.retransmitted).collect();
        self.tape = Some(Box::new(Tape { again, ..Tape::default() }));
        self.look_at_packets(true);
        self.recorder.begin_rows()
    }

    fn look_at_packets(&mut self, looks: bool) {
        for node in self.network.nodes.ids() {
            self.hosts[node].looks = looks;
        }
    }

    /// What has happened since.
    pub(in crate::engine) fn end_tape(&mut self, begun: Begun) -> Tape {
        let mut tape = *self.tape.take().unwrap_or_default();
        tape.rows = self.recorder.end_rows(begun);
        for (before, conn) in tape.again.iter_mut().zip(self.streams.ids()) {
            *before = self.senders[conn].cold.retransmitted - *before;
        }
        // Nobody looks at packets otherwise: a run in which somebody does is not skipped.
        self.look_at_packets(false);
        tape
    }

    /// Notes written down so far.
    pub(in crate::engine) fn notes(&self) -> usize {
        self.tape.as_ref().map_or(0, |t| t.notes.len())
    }

    /// A window begins. Sums of real numbers depend on the order in which they are added up: for its duration they are put aside, so that what
    /// is added can be told.
    pub(in crate::engine) fn put_sums_aside(&mut self) {
        let Some(tape) = &mut self.tape else { return };
        tape.sums.clear();
        for conn in self.streams.ids() {
            if !self.streams[conn].live || !self.senders[conn].is_endless() {
                continue;
            }
            let losses = &mut self.senders[conn].stats_mut().losses;
            tape.sums.push((conn, losses.cut_alpha, losses.ecn_cuts));
            if let Some(losses) = losses.made() {
                losses.cut_alpha = losses.cut_alpha.map(|_| 0.0);
            }
        }
    }

    /// The window is over.
    pub(in crate::engine) fn add_sums(&mut self) {
        let Some(tape) = &mut self.tape else { return };
        for &(conn, before, cuts) in &tape.sums {
            let Some(losses) = self.senders[conn].stats_mut().losses.made() else { continue };
            tape.blurred |= losses.ecn_cuts > cuts + 1;
            if losses.ecn_cuts == cuts {
                losses.cut_alpha = before;
            } else if let Some(alpha) = losses.cut_alpha {
                tape.alphas.push((conn, alpha));
                losses.cut_alpha = Some(before.map_or(alpha, |sum| sum + alpha));
            }
        }
    }

    /// Time goes on by `n` periods, from `state`, which is the present one. Of its timers, those in `standing` do not move.
    pub(in crate::engine) fn advance(&mut self, apps: &Apps, state: &State, standing: &[Timer], period: &Period, n: u64) -> Time {
        let gains = &period.gains;
        let mut mover = Mover::new(state, gains, n, period.length);
        let by = period.length * n;
        apps.iter().for_each(|app| called(app).walk(&mut mover));
        self.walk(state.now, &mut mover);
        for conn in self.streams.ids() {
            self.senders[conn].move_entry(by);
            self.receivers[conn].move_entry(by);
        }
        self.move_timers(standing, gains, by, n);
        let ports: Vec<_> = self.network.ports.ids().collect();
        for &port in &ports {
            let times: Vec<u64> = gains.times[port].iter().map(|time| time * n).collect();
            self.fabric.ports[port].resume(state.now, state.now + by, &times);
        }
        // So many have gone by since the one that was written down.
        let gone = (state.now - period.written) / period.length;
        self.recorder.repeat(&period.tape.rows, gone + 1..=gone + n, period);
        self.repeat_alphas(&period.tape, n);
        self.repeat_notes(period, (gone, n));
        by
    }

    /// Marks every node in the calendar for what it has to do next.
    pub(in crate::engine) fn mark_all(&mut self) {
        for port in self.network.ports.ids() {
            let p = &self.fabric.ports[port];
            if !p.ring.is_empty() {
                self.lane.wheel.mark(p.to, p.ring.packet(p.ring.head()).arrival);
            }
        }
        for node in self.network.nodes.ids() {
            if let Some(next) = self.hosts[node].next_timer().get() {
                self.lane.wheel.mark(node, next);
            }
        }
    }

    /// Start and end of the current window.
    pub(in crate::engine) fn window(&self) -> (Time, Time) {
        (self.lane.wheel.start, self.lane.wheel.end)
    }

    /// Whether something waits for the end of the window.
    pub(in crate::engine) fn waits(&self) -> bool {
        self.lane.waits()
    }

    /// When the next packet reaches the sender of a connection.
    pub(in crate::engine) fn next_arrival(&self, conn: ConnSlot) -> TimeOrNever {
        let ring = &self.fabric.ports[self.hosts[self.streams[conn].src].input].ring;
        if ring.is_empty() { TimeOrNever::NEVER } else { ring.packet(ring.head()).arrival.into() }
    }

    fn move_timers(&mut self, standing: &[Timer], gains: &Gains, by: Time, n: u64) {
        let nodes: Vec<_> = self.network.nodes.ids().collect();
        for &host in &nodes {
            let moved: Vec<_> = self.hosts[host]
                .timers()
                .map(|(time, order, wake)| {
                    if standing.binary_search(&Timer { host, time, order, wake }).is_ok() {
                        return (time, order, wake);
                    }
                    let mut origins = std::iter::once(host).chain(nodes.iter().copied());
                    let origin = origins.find(|o| self.hosts[*o].may_have_set(time, order)).unwrap_or(host);
                    let later = gains.issued[origin.index()] * n;
                    (time + by, self.hosts[origin].reordered(order, time + by, later), wake)
                })
                .collect();
            self.hosts[host].replace_timers(moved.into_iter());
        }
        for &host in &nodes {
            self.hosts[host].issued += gains.issued[host.index()] * n;
        }
    }

    fn repeat_alphas(&mut self, tape: &Tape, n: u64) {
        for _ in 0..n {
            for &(conn, alpha) in &tape.alphas {
                *self.senders[conn].stats_mut().losses.cut_alpha.get_or_insert(0.0) += alpha;
            }
        }
    }

    /// What reaches hosts in the periods goes into their fingerprints.
    fn repeat_notes(&mut self, period: &Period, (gone, n): (u64, u64)) {
        let mut notes = period.tape.notes.clone();
        for note in &mut notes {
            note.time += period.length * gone;
            if let Some((conn, seq)) = &mut note.packet {
                *seq = seq.wrapping_add((period.gains.una[conn.index()].wrapping_mul(gone)) as u32);
            }
        }
        notes.sort_by_key(|note| note.host);
        for of_host in notes.chunk_by_mut(|a, b| a.host == b.host) {
            let host = &mut self.hosts[of_host[0].host];
            for _ in 0..n {
                for note in &mut *of_host {
                    note.time += period.length;
                    if let Some((conn, seq)) = &mut note.packet {
                        *seq = seq.wrapping_add(period.gains.una[conn.index()] as u32);
                    }
                    host.mix(note.time, note.summary());
                }
            }
        }
    }
}

/// The steps in which clocks go that a transport reads.
fn clock_step(c: &TcpConfig) -> Time {
    let mut step = Time::from_ns(1);
    if let Some(tick) = c.law.tick() {
        step = common(step, tick);
    }
    if c.slow_start != slow_start::Kind::Standard {
        step = common(step, Time::from_us(1));
    }
    if c.is_linux() || c.adaptive_acks || c.rcv_autotune || c.eifel || c.frto {
        let slot = c.rto_granularity.max(Time(1)) * SLOT;
        step = [Time::from_us(1), slot, c.timestamp_clock.max(Time(1))].into_iter().fold(step, common);
    }
    step
}

/// The shortest step that both are whole parts of.
fn common(a: Time, b: Time) -> Time {
    let (mut x, mut y) = (a.0, b.0);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b.0)
}
