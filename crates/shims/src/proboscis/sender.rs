//! The shim at the end that sends data (ProBoSCIS 3.2 and 3.3). It sends probes ahead of the SYN, and ahead of the first data after a pause of a
//! persistent connection. It also keeps DCTCP's window outside the guest and writes it into the ACKs that the guest receives.
//!
//! For data of the host that accepts the connection the train goes ahead of the SYN-ACK (4, item 24). Timers do not repeat it: each copy of the SYN-ACK
//! has a train of its own.

use super::Host;
use super::budget::Budget;
use super::config::EcnMode;
use super::rules::{FORGET, Rules};
use super::segment::{Output, Probe, Segment};
use super::window::{after, later, limited};
use forebay_queues::Codepoint;
use forebay_types::{NodeId, Time};

/// State of an entry. (CLOSING needs no state here: the end of the connection removes the entry.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No entry: packets pass unchanged.
    #[default]
    Idle,
    /// SYN sent, no SYN-ACK yet: in `syn_list`.
    SynSent,
    /// SYN received; a train leaves ahead of the SYN-ACK, and the next packet of the opener opens.
    SynReceived,
    /// Data flows.
    Open,
}

/// Counters of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStats {
    /// Packets that it added: probes and copies of SYNs.
    pub sent: u64,
    /// Of those, probes.
    pub probes: u32,
    /// Probes in the rows of earlier messages.
    pub reported: u32,
    /// SYNs it repeated.
    pub syns: u32,
    /// Restarts after a pause, each with a train.
    pub restarts: u32,
    /// ACKs whose window it lowered.
    pub throttled: u64,
}

/// Restart of a persistent connection ("restarting afresh", section II of the publication).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Restart {
    /// None in progress.
    #[default]
    None,
    /// A train has left ahead of the data, which is not acknowledged yet.
    Probed,
    /// The first ACK has brought a window. It holds until everything sent before that ACK has been acknowledged, up to `end`.
    Limited { window: u64, end: u32 },
}

/// Entry of the flow table in its sending role. All sequence numbers are those on the wire and compare modulo 2^32.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderShim<S> {
    /// State of the entry.
    state: State,
    /// The data is that of the host that accepts the connection.
    answers: bool,
    peer: NodeId,
    isn: u32,
    t_first_syn: Time,
    t_last_syn: Time,
    t_last_probe: Time,
    seen: Time,
    batch: u8,
    probe_retry: u32,
    syn_copy: S,
    wscale_in: u8,
    snd_una: u32,
    snd_nxt: u32,
    /// Marked share of acknowledged bytes, as in RFC 8257.
    alpha: f64,
    acked_b: u64,
    marked_b: u64,
    win_end: u32,
    cut_end: u32,
    /// Window in force, bytes; `None`: no throttle.
    vwnd: Option<u64>,
    /// Right edge of the last window that reached the guest, for `no-shrink`.
    edge: u32,
    flow_bytes: u64,
    /// Time of the last data packet (`lsndtime` in Linux).
    last_data: Time,
    restart: Restart,
    /// Counters.
    stats: SenderStats,
}

impl<S: Segment> SenderShim<S> {
    /// The entry of a connection with `peer`.
    pub fn new(peer: NodeId) -> Self {
        SenderShim { peer, ..SenderShim::default() }
    }

    /// Returns true if the entry waits for a SYN-ACK and needs ticks.
    pub fn is_waiting(&self) -> bool {
        self.state == State::SynSent
    }

    /// Handles a packet of the guest, which leaves behind this call; probes ahead of it leave through `out`.
    pub fn on_egress(&mut self, r: &Rules, host: &Host, now: Time, p: &mut S, out: &mut impl Output<S>) {
        self.touch(now);
        if p.is_syn() {
            if self.has_shim(r) {
                self.on_syn(r, host, now, *p, out);
            }
        } else if self.state == State::Open && p.payload() > 0 {
            // Nothing is outstanding, and new data comes after more than an RTO without any (RFC 5681 section 4.1): the flow starts afresh.
            let idle = self.snd_una == self.snd_nxt && p.number() == self.snd_nxt;
            if idle && now - self.last_data > r.restart_after {
                self.on_restart(r, p, out);
            }
            self.last_data = now;
            let end = p.number().wrapping_add(p.payload() + u32::from(p.is_fin()));
            self.snd_nxt = later(self.snd_nxt, end);
            if r.c.ecn_mode == EcnMode::Shim && p.ecn() == Codepoint::NotEct {
                p.set_ecn(Codepoint::Ect0);
            }
        }
    }

    /// Handles a packet for the guest: SYN-ACK or ACK.
    pub fn on_ingress(&mut self, r: &Rules, host: &mut Host, now: Time, p: &mut S) {
        self.touch(now);
        match self.state {
            // 4, item 34: only a SYN creates entries.
            State::Idle => {}
            State::SynSent if p.is_syn() => {
                // 4, item 16: the copy of the SYN goes.
                if p.take_announcement() {
                    host.train_cache.note_kept_by_peer(r, self.t_last_probe, self.peer);
                }
                self.wscale_in = p.window_scale();
                self.open(r, now, p.number());
                self.edge = p.number().wrapping_add(u32::from(p.window()));
            }
            State::SynReceived => {
                self.open(r, now, p.number());
                self.edge = p.number().wrapping_add(u32::from(p.window()) << self.wscale_in);
            }
            State::Open if !p.is_syn() => self.on_ack(r, p),
            // A repeated SYN-ACK brings nothing new; only the first one opens.
            State::SynSent | State::Open => {}
        }
    }

    /// Handles the timer, for entries that are waiting (3.3).
    pub fn on_tick(&mut self, r: &Rules, host: &mut Host, now: Time, out: &mut impl Output<S>) {
        if self.state != State::SynSent {
            return;
        }
        let budget = &mut host.budget;
        if now - self.t_first_syn > r.c.max_time {
            // Hard reset: no RST, the guest's own SYN starts again.
            let (isn, batch) = (self.isn, self.batch);
            self.reset();
            (self.isn, self.batch) = (isn, batch);
        } else if now - self.t_last_syn >= r.c.beta2 {
            // 4, item 6: tested before beta1, or it would never be reached; item 7: one timestamp per timer.
            self.repeat_probes(r, now, budget, out);
            (self.t_last_syn, self.t_last_probe) = (now, now);
            self.stats.syns += 1;
            self.stats.sent += 1;
            out.send(self.syn_copy);
        } else if now - self.t_last_probe >= r.c.beta1 && self.repeat_probes(r, now, budget, out) {
            self.t_last_probe = now;
        }
    }

    /// Makes this the end of the direction whose data the accepting host sends, behind the initial sequence number `isn`; `None`: it is not known yet.
    pub fn begin_answers(&mut self, isn: Option<u32>) {
        (self.answers, self.isn) = (true, isn.unwrap_or(self.isn));
    }

    /// Sends a train ahead of the SYN-ACK `p` (4, item 24), unless the connection is open and the SYN-ACK a late copy.
    pub fn on_handshake_egress(&mut self, r: &Rules, now: Time, p: &S, out: &mut impl Output<S>) {
        if self.state != State::SynReceived {
            return;
        }
        self.touch(now);
        if self.stats.probes > 0 {
            self.batch = self.batch.wrapping_add(1);
        }
        self.send_probes(r, p, r.c.gamma, out);
    }

    /// Creates the entry at the SYN `p`, which alone announces the scale of its sender's windows.
    pub fn on_handshake_ingress(&mut self, r: &Rules, now: Time, p: &S) {
        if self.answers && r.c.answers && self.has_shim(r) && self.state == State::Idle {
            (self.state, self.wscale_in, self.seen) = (State::SynReceived, p.window_scale(), now);
        }
    }

    /// State of the handshake.
    pub fn state(&self) -> State {
        self.state
    }

    /// Marked share of acknowledged bytes (RFC 8257).
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Window to which ACKs are cut, if any.
    pub fn vwnd(&self) -> Option<u64> {
        self.vwnd
    }

    /// Counters.
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// Probes since the last call: those ahead of the first message, and ahead of each restart.
    pub fn take_probes(&mut self) -> u32 {
        let new = self.stats.probes - self.stats.reported;
        self.stats.reported = self.stats.probes;
        new
    }

    /// ACKs throttled since the last call.
    pub fn take_throttled(&mut self) -> u64 {
        core::mem::take(&mut self.stats.throttled)
    }

    /// Removes the entry; its counters stay.
    fn reset(&mut self) {
        *self = SenderShim { stats: self.stats, peer: self.peer, answers: self.answers, ..SenderShim::default() };
    }

    fn has_shim(&self, r: &Rules) -> bool {
        r.c.ends.has_sender(self.answers)
    }

    /// Opens the entry at the end of the handshake; `next` is the first sequence number of data.
    fn open(&mut self, r: &Rules, now: Time, next: u32) {
        self.state = State::Open;
        (self.snd_una, self.snd_nxt) = (next, next);
        self.last_data = now;
        self.begin_flow(r);
    }

    /// Begins a flow, after a handshake or a pause: nothing is outstanding.
    fn begin_flow(&mut self, r: &Rules) {
        self.win_end = self.snd_nxt;
        self.cut_end = self.snd_nxt.wrapping_sub(1);
        self.alpha = r.c.alpha_init;
        (self.acked_b, self.marked_b, self.flow_bytes) = (0, 0, 0);
        (self.vwnd, self.restart) = (None, Restart::None);
    }

    /// Sends a train ahead of `p`, the first data after a pause. Our reading: the data follows at once, because the shim stores nothing but SYNs and
    /// SYN-ACKs (4, item 22), and its first ACK brings the window in place of a SYN-ACK.
    fn on_restart(&mut self, r: &Rules, p: &S, out: &mut impl Output<S>) {
        self.begin_flow(r);
        // The other end alone counts nothing.
        if !self.has_shim(r) {
            return;
        }
        self.batch = self.batch.wrapping_add(1);
        self.restart = Restart::Probed;
        self.stats.restarts += 1;
        self.send_probes(r, p, r.c.gamma, out);
    }

    /// Limit of an ACK up to `ack` by a restart, if any; `new` bytes are acknowledged for the first time, and its sender wrote a window of `theirs`
    /// bytes. The first ACK of data is as a SYN-ACK: its window limits what follows, until data sent after it is acknowledged.
    fn restart_limit(&mut self, ack: u32, new: u64, theirs: u64) -> Option<u64> {
        match self.restart {
            Restart::Probed if new > 0 => self.restart = Restart::Limited { window: theirs, end: self.snd_nxt },
            Restart::Limited { end, .. } if after(ack, end) => self.restart = Restart::None,
            Restart::None | Restart::Probed | Restart::Limited { .. } => {}
        }
        if let Restart::Limited { window, .. } = self.restart { Some(window) } else { None }
    }

    fn on_syn(&mut self, r: &Rules, host: &Host, now: Time, p: S, out: &mut impl Output<S>) {
        // A different ISN is another connection with the same addresses (2.2); the same one is the guest's own repetition: a new train.
        let again = self.isn == p.number() && self.stats.probes > 0;
        // Our choice: trains stay numbered across a hard reset, or the peer would take the next ones for old.
        let batch = if again { self.batch.wrapping_add(1) } else { 0 };
        if self.state == State::Idle || !again {
            self.reset();
            (self.isn, self.probe_retry, self.t_first_syn) = (p.number(), 1, now);
        }
        self.batch = batch;
        self.state = State::SynSent;
        (self.syn_copy, self.t_last_syn, self.t_last_probe, self.seen) = (p, now, now, now);
        // Our choice: trains ahead of the guest's own SYNs are first trains, exempt from the budget; they are seconds apart.
        if again || !host.train_cache.spares(r, now, self.peer) {
            self.send_probes(r, &{ self.syn_copy }, r.c.gamma, out);
        }
    }

    /// Sends a train, back to back (3.1), with the addresses of the packet `like` behind it. The probes carry the signal; SYNs are not ECN-capable (2.4, RFC
    /// 3168 section 6.1.1).
    fn send_probes(&mut self, r: &Rules, like: &S, n: u32, out: &mut impl Output<S>) {
        let mut probe = like.with_probe(self.isn, Probe { batch: self.batch, size: n as u8 }, r.probe_size);
        probe.set_ecn(Codepoint::Ect0);
        for _ in 0..n {
            out.send(probe);
        }
        self.stats.probes += n;
        self.stats.sent += u64::from(n);
    }

    /// Sends a new train that grows linearly to a cap (4, item 8). Returns false if the budget is below a first train: a smaller train would measure
    /// nothing, so that our choice is to try again at the next tick.
    fn repeat_probes(&mut self, r: &Rules, now: Time, budget: &mut Budget, out: &mut impl Output<S>) -> bool {
        let wanted = r.c.gamma * self.probe_retry.min(r.c.probe_retry_cap);
        let n = budget.take(now, wanted, r.c.gamma);
        if n == 0 {
            return false;
        }
        self.batch = self.batch.wrapping_add(1);
        self.probe_retry += 1;
        self.send_probes(r, &{ self.syn_copy }, n, out);
        true
    }

    fn on_ack(&mut self, r: &Rules, p: &mut S) {
        let (ack, mss) = (p.number(), u64::from(r.mss));
        let new = if after(ack, self.snd_una) { u64::from(ack.wrapping_sub(self.snd_una)) } else { 0 };
        self.snd_una = later(self.snd_una, ack);
        self.flow_bytes = self.flow_bytes.saturating_add(new);
        self.acked_b += new;
        let echo = p.has_ece();
        if echo {
            self.marked_b += if new == 0 { mss } else { new };
        }
        if r.c.ecn_mode == EcnMode::Shim {
            p.set_ece(false);
        }
        // 4, item 17: the flow leaves the table, so that none of its packets is touched from here on, and none is made ECN-capable.
        if r.c.elephant_bytes.is_some_and(|most| self.flow_bytes > most) {
            (self.state, self.vwnd) = (State::Idle, None);
            return;
        }
        // At most one cut a window, on its first echo.
        if echo && after(ack, self.cut_end) && self.alpha >= r.c.kappa1 {
            let flight = u64::from(self.snd_nxt.wrapping_sub(ack)) + new;
            let base = flight.max(mss).min(self.vwnd.unwrap_or(u64::MAX));
            self.vwnd = Some(((base as f64 * (1.0 - self.alpha / 2.0)) as u64).max(r.least));
            self.cut_end = self.snd_nxt;
        }
        // The observation window: all acknowledged bytes count, once per window (4, item 15).
        if !after(self.win_end, ack) {
            let marked = (self.marked_b as f64 / self.acked_b.max(1) as f64).min(1.0);
            self.alpha = (1.0 - r.c.g) * self.alpha + r.c.g * marked;
            if self.marked_b == 0 {
                let theirs = u64::from(p.window()) << self.wscale_in;
                self.vwnd = self.vwnd.map(|v| v + mss).filter(|&v| v < theirs);
            }
            (self.acked_b, self.marked_b, self.win_end) = (0, 0, self.snd_nxt);
        }
        let restart = self.restart_limit(ack, new, u64::from(p.window()) << self.wscale_in);
        self.enforce(r, restart, p);
    }

    /// Writes the window, if there is one, into an ACK: the smaller of DCTCP's and that of a restart.
    fn enforce(&mut self, r: &Rules, restart: Option<u64>, p: &mut S) {
        if let Some(mut window) = self.vwnd.into_iter().chain(restart).min() {
            if r.c.no_shrink && after(self.edge, p.number().wrapping_add(window as u32)) {
                window = u64::from(self.edge.wrapping_sub(p.number()));
            }
            let field = limited(p.window(), window, self.wscale_in);
            self.stats.throttled += u64::from(field < p.window());
            p.set_window(field);
        }
        let edge = p.number().wrapping_add(u32::from(p.window()) << self.wscale_in);
        self.edge = if r.c.no_shrink { later(self.edge, edge) } else { edge };
    }

    #[inline]
    fn touch(&mut self, now: Time) {
        if now - self.seen > FORGET && self.state == State::Open {
            self.reset();
        }
        self.seen = now;
    }
}
