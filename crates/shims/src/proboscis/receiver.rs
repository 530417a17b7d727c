//! The shim at the end that receives data (ProBoSCIS 3.4): counts probes, writes or holds the SYN-ACK, and echoes CE for a guest without ECN.
//!
//! For data of the host that accepts the connection this is the end that opens it. There the third packet of the handshake stands for the SYN-ACK (4,
//! item 24). Two readings are ours. The third packet is not held, because the accepting host waits for it. Its window also stands in the packets behind it
//! until one acknowledges data: a request follows the third packet at once, and its window would replace the other (RFC 9293 section 3.10.7.4).

use super::config::{EcnMode, HoldOn, Release};
use super::rules::{FORGET, Rules};
use super::segment::{Output, Probe, Segment};
use super::window::{Train, after, limited};
use super::{Host, TrainCache, Verdict};
use forebay_queues::Codepoint;
use forebay_types::{NodeId, Time};

/// Without probes for this time after the SYN, the peer has no shim (3.4).
const UNPROBED_AFTER: Time = Time::from_ms(1);

/// Counters of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverStats {
    /// Probes taken in.
    pub swallowed: u64,
    /// SYN-ACKs discarded for a newer one.
    pub superseded: u64,
    /// Verdict on the first SYN-ACK.
    pub verdict: Verdict,
    /// Window of the first SYN-ACK that left, bytes; `None` before.
    pub window: Option<u64>,
    /// Time for which that SYN-ACK was held.
    pub held: Time,
    /// First ACKs of data after a pause.
    pub restarts: u32,
}

/// A held SYN-ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldSynAck<S> {
    packet: S,
    since: Time,
}

/// Restart of a persistent connection, as its train and its data arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Restart {
    /// None, or its first ACK has left.
    #[default]
    None,
    /// A train has arrived.
    Probed,
    /// And data behind it: the next ACK brings the window.
    Received,
}

/// First window of the data of the host that accepts the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum FirstWindow {
    /// The SYN-ACK has it: the data is the opener's. Or the first data has been acknowledged.
    #[default]
    None,
    /// The third packet of the handshake will have it.
    Awaited,
    /// Packets up to the acknowledgement of data have it.
    Limited { window: u64 },
}

/// Entry of the flow table in its receiving role.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReceiverShim<S> {
    peer: NodeId,
    known: bool,
    isn: u32,
    train: Train,
    /// True if the kept estimate has been sent to the peer.
    announced: bool,
    t_syn_rx: Time,
    seen: Time,
    held: Option<HeldSynAck<S>>,
    guest_ecn: bool,
    ce_bytes: u64,
    /// Time at which a SYN-ACK left.
    answered: Option<Time>,
    /// Data has arrived.
    open: bool,
    /// Scale of the windows that the guest announces.
    wscale_out: u8,
    restart: Restart,
    /// The data is that of the host that accepts the connection.
    answers: bool,
    first_window: FirstWindow,
    /// Counters.
    stats: ReceiverStats,
}

impl<S: Segment> ReceiverShim<S> {
    /// The entry of a connection with `peer`.
    pub fn new(peer: NodeId) -> Self {
        ReceiverShim { peer, ..ReceiverShim::default() }
    }

    /// Returns true if a SYN-ACK is held, so that ticks are needed.
    pub fn is_waiting(&self) -> bool {
        self.held.is_some()
    }

    /// Handles a packet of the data direction. Returns false if it is not for the guest.
    pub fn on_ingress(&mut self, r: &Rules, now: Time, p: &mut S, out: &mut impl Output<S>) -> bool {
        let probe = p.probe();
        self.stats.swallowed += u64::from(probe.is_some());
        if !self.has_shim(r) {
            // No shim: a listening socket discards segments without flags (3.1).
            return probe.is_none();
        }
        if now - self.seen > FORGET && self.held.is_none() {
            self.forget(out);
        }
        self.seen = now;
        if let Some(probe) = probe {
            self.prepare(p.number(), out);
            self.count(r, now, probe, p.ecn() == Codepoint::Ce);
            return false;
        }
        if p.is_syn() {
            self.prepare(p.number(), out);
            self.t_syn_rx = now;
            self.guest_ecn = p.offers_ecn();
        } else if self.known {
            if p.payload() > 0 {
                self.open = true;
                if self.restart == Restart::Probed {
                    self.restart = Restart::Received;
                }
            }
            if r.c.ecn_mode == EcnMode::Guest {
                return true;
            }
            if p.ecn() == Codepoint::Ce {
                self.ce_bytes += u64::from(p.payload());
            }
            // The guest finds the codepoint of its peer. Our choice for a guest with ECN: ECT without CE, or it would latch an echo that the other
            // shim hides and that no CWR could end.
            let theirs = if self.guest_ecn && p.ecn() != Codepoint::NotEct { Codepoint::Ect0 } else { Codepoint::NotEct };
            p.set_ecn(theirs);
        }
        true
    }

    /// Handles a packet of the guest: SYN-ACK or ACK. Returns false if it is a SYN-ACK that is held.
    pub fn on_egress(&mut self, r: &Rules, host: &mut Host, now: Time, p: &mut S, out: &mut impl Output<S>) -> bool {
        if !self.known {
            // 4, item 34: only SYNs and probes create entries.
        } else if p.is_syn() {
            // The SYN-ACK's own ECN bits negotiate: they show whether the guest agreed.
            self.guest_ecn &= p.has_ece();
            self.wscale_out = p.window_scale();
            return self.on_syn_ack(r, host, now, p, out);
        } else {
            self.limit_first_window(r, now, p);
            if self.restart == Restart::Received {
                self.restart = Restart::None;
                self.stats.restarts += 1;
                self.answer_restart(r, p);
            }
            if r.c.ecn_mode == EcnMode::Shim && self.ce_bytes > 0 {
                // An exact echo, one bit per ACK (2.4).
                p.set_ece(true);
                self.ce_bytes = 0;
            }
        }
        true
    }

    /// Handles the timer, for entries that hold a SYN-ACK.
    pub fn on_tick(&mut self, r: &Rules, host: &mut Host, now: Time, out: &mut impl Output<S>) {
        let Some(held) = self.held else { return };
        let verdict = self.verdict(r, now);
        let unprobed = verdict == Verdict::Unprobed;
        let released = verdict == Verdict::Proportional;
        if !unprobed && !released && now - held.since < r.c.beta3 {
            return;
        }
        self.held = None;
        if unprobed && self.stats.window.is_none() {
            // The train was late, not lost.
            self.stats.verdict = verdict;
        }
        // 4, item 12: computed once, from the newest train.
        let window = match r.c.release {
            Release::Newest if unprobed => None,
            Release::Original => None,
            Release::Newest if released => Some(self.train.window(r)),
            Release::Newest => Some(r.least),
        };
        let mut packet = held.packet;
        self.announce_cached(r, host, now, verdict, &mut packet);
        self.limit(&mut packet, window, now, now - held.since);
        out.send(packet);
    }

    /// Makes this the end of the direction whose data the accepting host sends, behind the initial sequence number `isn`; `None`: it is not known yet.
    pub fn begin_answers(&mut self, isn: Option<u32>) {
        (self.answers, self.isn) = (true, isn.unwrap_or(self.isn));
    }

    /// Notes the scale of windows and the ECN bits of the SYN `p`, which its guest sends.
    pub fn on_handshake_egress(&mut self, r: &Rules, p: &S) {
        if self.takes_handshake(r) {
            self.wscale_out = p.window_scale();
            self.guest_ecn = p.offers_ecn();
        }
    }

    /// Creates the entry at the SYN-ACK `p`, which has the train of the data ahead of it.
    pub fn on_handshake_ingress(&mut self, r: &Rules, now: Time, p: &S) {
        if self.takes_handshake(r) && self.answered.is_none() {
            self.guest_ecn &= p.has_ece();
            (self.known, self.seen, self.first_window) = (true, now, FirstWindow::Awaited);
        }
    }

    /// Counters.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// Prepares the entry for the connection that starts at `isn`. Another ISN on the same addresses is another connection (2.2). Probes come before
    /// their SYN, which must not clear their count.
    fn prepare(&mut self, isn: u32, out: &mut impl Output<S>) {
        // Of the accepting host's data the probes are the first packets, but not the first news: that is the SYN of this host.
        let expected = self.known || self.answers;
        if !expected || self.isn != isn {
            self.forget(out);
            self.isn = isn;
        }
        self.known = true;
    }

    /// Removes the entry; its counters stay.
    fn forget(&mut self, out: &mut impl Output<S>) {
        let mut stats = self.stats;
        if let Some(held) = self.held {
            stats.superseded += 1;
            out.discard(held.packet);
        }
        *self = ReceiverShim { stats, seen: self.seen, peer: self.peer, answers: self.answers, ..ReceiverShim::default() };
    }

    fn has_shim(&self, r: &Rules) -> bool {
        r.c.ends.has_receiver(self.answers)
    }

    /// Returns true if the handshake of the other direction is that of this one.
    fn takes_handshake(&self, r: &Rules) -> bool {
        self.answers && r.c.answers && self.has_shim(r)
    }

    /// Writes the window of the third packet into `p`, a packet of the host that opens the connection, if it acknowledges no data.
    fn limit_first_window(&mut self, r: &Rules, now: Time, p: &mut S) {
        if self.first_window == FirstWindow::Awaited {
            let verdict = if self.train.size == 0 && !r.c.peer_has_shim { Verdict::Unprobed } else { self.train.verdict(&r.c) };
            self.first_window = match verdict {
                Verdict::Proportional => FirstWindow::Limited { window: self.train.window(r) },
                Verdict::Severe | Verdict::Insufficient => FirstWindow::Limited { window: r.least },
                Verdict::None | Verdict::Recent | Verdict::Unprobed => FirstWindow::None,
            };
            (self.stats.verdict, self.answered) = (verdict, Some(now));
        }
        let FirstWindow::Limited { window } = self.first_window else { return };
        if after(p.number(), self.isn.wrapping_add(1)) {
            self.first_window = FirstWindow::None;
            return;
        }
        p.set_window(limited(p.window(), window, self.wscale_out));
        self.stats.window.get_or_insert(u64::from(p.window()) << self.wscale_out);
    }

    fn count(&mut self, r: &Rules, now: Time, Probe { batch, size }: Probe, marked: bool) {
        // Newer modulo 256; the first one always is.
        if self.train.size == 0 || (batch.wrapping_sub(self.train.batch) as i8) > 0 {
            self.train = Train { batch, size: u32::from(size), ..Train::default() };
            self.announced = false;
            // Repeated trains of a handshake can come behind its SYN-ACK, but not behind data, and no RTO later.
            if self.open || self.answered.is_some_and(|t| now - t > r.restart_after) {
                self.restart = Restart::Probed;
            }
        }
        if batch == self.train.batch {
            self.train.received += 1;
            self.train.marked += u32::from(marked);
        }
    }

    /// Writes the verdict on the train of a restart into the first ACK of its data, as into a SYN-ACK. Our readings: an ACK is not held, because its
    /// guest waits for it; and a train without a mark or loss limits nothing, because the guest's window has already grown beyond the initial one.
    fn answer_restart(&self, r: &Rules, p: &mut S) {
        let window = match self.train.verdict(&r.c) {
            Verdict::Proportional if self.train.is_clear(&r.c) => return,
            Verdict::Proportional => self.train.window(r),
            Verdict::None | Verdict::Severe | Verdict::Insufficient | Verdict::Recent | Verdict::Unprobed => r.least,
        };
        p.set_window(limited(p.window(), window, self.wscale_out));
    }

    /// Judges a SYN-ACK. Returns false if it is held.
    fn on_syn_ack(&mut self, r: &Rules, host: &mut Host, now: Time, p: &mut S, out: &mut impl Output<S>) -> bool {
        let recent = if self.train.size == 0 { host.train_cache.train(now, self.peer) } else { None };
        let verdict = if recent.is_some() { Verdict::Recent } else { self.verdict(r, now) };
        if self.stats.verdict == Verdict::None {
            self.stats.verdict = verdict;
        }
        let hold = match verdict {
            Verdict::Severe => r.c.hold_on == HoldOn::Any,
            Verdict::Insufficient => true,
            Verdict::None | Verdict::Proportional | Verdict::Recent | Verdict::Unprobed => false,
        };
        let waiting = self.held.take();
        if let Some(older) = waiting {
            self.stats.superseded += 1;
            out.discard(older.packet);
        }
        if hold {
            // 4, item 13: the time runs from the first held SYN-ACK.
            self.held = Some(HeldSynAck { packet: *p, since: waiting.map_or(now, |h| h.since) });
            return false;
        }
        let window = match verdict {
            Verdict::Proportional => Some(self.train.window(r)),
            Verdict::Severe => Some(r.least),
            Verdict::Recent => recent.map(|train| if train.verdict(&r.c) == Verdict::Severe { r.least } else { train.window(r) }),
            Verdict::None | Verdict::Insufficient | Verdict::Unprobed => None,
        };
        self.announce_cached(r, host, now, verdict, p);
        self.limit(p, window, now, waiting.map_or(Time::ZERO, |h| now - h.since));
        true
    }

    fn verdict(&self, r: &Rules, now: Time) -> Verdict {
        let unprobed = self.train.size == 0 && !r.c.peer_has_shim && now - self.t_syn_rx >= UNPROBED_AFTER;
        if unprobed { Verdict::Unprobed } else { self.train.verdict(&r.c) }
    }

    /// Caches the estimate of a judged train, and announces this in the SYN-ACK.
    fn announce_cached(&mut self, r: &Rules, host: &mut Host, now: Time, verdict: Verdict, p: &mut S) {
        if TrainCache::keeps(r) && !self.announced && matches!(verdict, Verdict::Proportional | Verdict::Severe) {
            self.announced = true;
            host.train_cache.learn(r, now, self.peer, self.train);
            p.announce();
        }
    }

    /// Limits the window of a SYN-ACK that leaves at `now` after it was held for `held` to `window` bytes; `None`: as the guest wrote it.
    fn limit(&mut self, p: &mut S, window: Option<u64>, now: Time, held: Time) {
        // RFC 7323 section 2.2: the window of a SYN-ACK is not scaled (4, item 20).
        if let Some(window) = window {
            p.set_window(limited(p.window(), window, 0));
        }
        self.answered = Some(now);
        if self.stats.window.is_none() {
            (self.stats.window, self.stats.held) = (Some(u64::from(p.window())), held);
        }
    }
}
