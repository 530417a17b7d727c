//! When Linux acknowledges (__tcp_ack_snd_check, tcp_cleanup_rbuf, tcp_event_data_recv, tcp_send_delayed_ack): by bytes, at once at the
//! end of a write and in quick mode, which comes back after a pause; otherwise by a timer. Streams here go one way, so that no
//! connection is ever interactive ("pingpong"), and applications read at once.

use super::{Echo, Receiver};
use crate::net::packet::{Codepoint, Packet, Wire, flag};
use crate::tcp::adaptive::{Adaptive, CAPABLE, LATCHED, LONGEST};
use crate::tcp::autotune::Autotune;
use crate::tcp::config::TcpConfig;
use crate::tcp::timer_wheel;
use forebay_units::{Time, TimeOrNever};

/// Duplicate ACKs that are sent before they are compressed (TCP_FASTRETRANS_THRESH).
const DUPLICATES: u8 = 3;
/// `tcp_comp_sack_nr` and `tcp_comp_sack_delay_ns`: ACKs that may be held back, and for how long at most.
const COMPRESSED: u8 = 44;
const COMPRESSED_FOR: Time = Time::from_ms(1);

/// What became of a data segment.
pub(super) struct Taken {
    /// Its stream offset.
    pub offset: i64,
    /// It extended the stream.
    pub in_order: bool,
    /// It asks for an ACK at once by the rules that hold for all stacks.
    pub forced: bool,
    /// The mark of the segment ended a run of equal ones.
    pub closes_run: bool,
    /// Bytes by which the stream has grown, with what had waited for this segment.
    pub fresh: u64,
    /// It waits for something before it, and some of it had not been there.
    pub stored: bool,
}

/// Segments that quick mode lasts for at most (tcp_incr_quickack).
fn most_quick(window: u64, a: &Adaptive) -> u32 {
    ((window / (2 * u64::from(a.rcv_mss.max(1)))) as u32).max(2)
}

impl Receiver {
    /// After data segment `p` was taken in.
    #[inline(never)]
    pub(super) fn settle_adaptive(&mut self, c: &TcpConfig, now: Time, p: &Packet, taken: Taken, out: &mut impl Wire) {
        let (joined, released) = self.note_waiting(c, now, p, &taken);
        let (len, waiting, sack) = (u32::from(p.len), self.waiting(c), self.is_sack());
        let Some(a) = &mut self.adaptive else { return };
        let reported = std::mem::take(&mut a.reported);
        // Where the handshake's ACK was lost: its data is taken in by tcp_rcv_state_process, which does not look at the echo.
        let first = a.on_established(c, now, p);
        let full = p.len >= a.rcv_mss;
        let old_mss = a.rcv_mss;
        let mut pushed = false;
        if taken.in_order || c.adaptive_acks {
            let end = p.has(flag::PUSH) || self.rcv_nxt >= self.deliver_at;
            pushed = a.measure(c.mss, p.len, end) && len > 0 && taken.in_order && c.adaptive_acks;
        }
        let mut grows = false;
        if let Some(tune) = &mut a.tune {
            if full && p.len != old_mss {
                tune.measured(c, len);
            }
            if c.timestamps && !first {
                tune.measure_rtt_by_echo(c, now, now.since(p.ts), &mut a.acked, p.len >= old_mss);
            }
            if taken.in_order {
                tune.measure_rtt_by_window(now, (taken.offset + i64::from(p.len)) as u64, self.window);
            }
            // tcp_event_data_recv, and tcp_data_queue_ofo, which does so with SACK alone, for segments of any size.
            if (taken.in_order && len >= 128) || (taken.stored && sack) {
                let own = tune.memory_of(c, taken.fresh, u32::from(a.rcv_mss)).saturating_sub(Autotune::spared(released));
                // tcp_data_queue_ofo: what is not joined to anything is not counted yet.
                let counted = taken.in_order || joined;
                let uncounted = if counted { 0 } else { tune.memory_of(c, len.into(), a.rcv_mss.into()) };
                grows = tune.grow(c, len, a.rcv_mss.into(), (waiting + own).saturating_sub(uncounted), counted);
            }
        }
        if !c.adaptive_acks {
            return self.settle_plainly(c, now, taken, out);
        }
        self.enter_quick_mode(c, now, p, &taken);
        if grows && c.quick_acks > 0 {
            self.quick |= 1;
        }
        let held = waiting + self.memory_of_fresh(c, p.len.into(), &taken);
        if reported {
            // tcp_ack_snd_check: nothing is scheduled.
        } else if self.acknowledges_at_once(c, p, &taken, held) {
            self.send_ack(c, now, held, out);
        } else if self.out_of_order() > 0 {
            self.compress(c, now, held, out);
        } else {
            self.delay_ack(c, now, held, out);
        }
        if taken.in_order && self.finished() {
            self.close(c, now, waiting, out);
        } else if taken.in_order {
            self.read(c, now, (taken.offset.max(0) as u64 + u64::from(p.len)).min(self.rcv_nxt), pushed, waiting, out);
        }
    }

    /// Stacks whose windows are tuned, but which acknowledge by their own count.
    fn settle_plainly(&mut self, c: &TcpConfig, now: Time, taken: Taken, out: &mut impl Wire) {
        if taken.forced || u32::from(self.pending) >= c.ack_every || self.take_quick() {
            self.send_ack(c, now, self.waiting(c), out);
        } else if self.timer_due.is_never() {
            self.timer_due = (now + c.ack_delay).into();
        }
        if let Some(tune) = self.adaptive.as_mut().and_then(|a| a.tune.as_mut()).filter(|_| taken.in_order) {
            tune.adjust(c, now, self.rcv_nxt, self.rcv_nxt);
        }
    }

    /// What makes the receiver acknowledge the next segments at once (tcp_event_data_recv, __tcp_ecn_check_ce, tcp_data_queue).
    fn enter_quick_mode(&mut self, c: &TcpConfig, now: Time, p: &Packet, taken: &Taken) {
        let window = self.window;
        let Some(a) = &mut self.adaptive else { return };
        if c.quick_acks == 0 {
            if taken.in_order {
                a.note_arrival(c, now);
            }
            return;
        }
        let mut quick = 0_u32;
        if taken.in_order {
            if a.note_arrival(c, now) {
                quick = c.quick_acks.min(most_quick(window, a));
            }
        } else if taken.offset + i64::from(p.len) <= self.rcv_nxt as i64 {
            // A retransmission of what is there (tcp_enter_quickack_mode).
            quick = c.quick_acks.min(most_quick(window, a));
            a.ato = c.ack_delay.into();
        }
        let latched = matches!(self.echo, Echo::Classic { latched: true });
        // The sender may have a very small window, or repeats segments, of which those of classic ECN are not ECN-capable. A segment with CWR
        // ends one echo (tcp_ecn_accept_cwr), and begins another if it is marked.
        let anew = p.has(flag::CWR) && p.ecn() == Codepoint::Ce;
        if (latched && (a.seen & LATCHED == 0 || anew))
            || (a.seen & CAPABLE != 0 && p.ecn() == Codepoint::NotEct && self.echo != Echo::Off)
        {
            quick = quick.max(2);
            a.ato = c.ack_delay.into();
        }
        a.seen = a.seen & !LATCHED | if latched { LATCHED } else { 0 } | if p.ecn() == Codepoint::NotEct { 0 } else { CAPABLE };
        self.quick = self.quick.max(quick.min(u32::from(u16::MAX)) as u16);
    }

    /// A retransmission of what is there has come: the ACKs of it may have been lost (tcp_enter_quickack_mode).
    pub(super) fn expect_repetitions(&mut self, c: &TcpConfig) {
        let Some(a) = self.adaptive.as_mut().filter(|_| c.adaptive_acks && c.quick_acks > 0) else { return };
        a.ato = c.ack_delay.into();
        self.enter_quick_acks(c);
    }

    /// The next segments are acknowledged at once (tcp_incr_quickack).
    pub(super) fn enter_quick_acks(&mut self, c: &TcpConfig) {
        let most = self.adaptive.as_ref().map_or(0, |a| most_quick(self.window, a));
        self.quick = self.quick.max(c.quick_acks.min(most).min(u32::from(u16::MAX)) as u16);
    }

    /// Whether an ACK leaves at once (__tcp_ack_snd_check).
    fn acknowledges_at_once(&mut self, c: &TcpConfig, p: &Packet, taken: &Taken, held: u32) -> bool {
        if c.ack_every == 1 {
            // Such a route is always in quick mode (RTAX_QUICKACK, tcp_in_quickack_mode), and compresses nothing.
            return true;
        }
        let complete = self.out_of_order() == 0;
        // tcp_ecn_accept_cwr: a sender that has reduced may have a very small window.
        let reduced = p.has(flag::CWR) && self.echo != Echo::Off;
        // tcp_fin: quick mode is over (inet_csk_enter_pingpong_mode).
        let ends = taken.in_order && self.finished();
        self.has_enough(c, held)
            || (self.quick > 0 && !ends)
            || taken.closes_run
            || reduced
            || self.has_closed()
            // tcp_data_queue: when nothing is missing any more. What waits behind a FIN is forgotten before it looks at that.
            || (taken.in_order && taken.forced && complete && !(ends && p.has(flag::FIN)))
            // Duplicate ACKs without SACK are counted.
            || !(self.is_sack() || (taken.in_order && complete))
    }

    /// Whether what has come since the last ACK asks for one.
    #[inline(always)]
    pub(super) fn has_enough(&mut self, c: &TcpConfig, held: u32) -> bool {
        let Some(a) = &self.adaptive else { return true };
        // For more than a segment, unless memory keeps the window behind the one last offered: then the application's reading makes room first.
        let many = a.is_too_much(c, self.rcv_nxt - self.last_ack);
        let mut wide = true;
        if let Some(tune) = a.tune.as_ref().filter(|_| many) {
            let (window, scarce) = tune.select(c, self.shift, a.rcv_mss.into(), held);
            wide = u64::from(window) >= self.window;
            if scarce {
                self.quick = 0;
            }
        }
        many && wide
    }

    /// A segment at `offset` is about to be taken in. If it belongs to none of the two intervals that ACKs held back are about, they are sent for
    /// what came before it, and none is scheduled for itself (tcp_sack_new_ofo_skb, tcp_sack_compress_send_ack).
    pub(super) fn report_others(&mut self, c: &TcpConfig, now: Time, offset: i64, len: u64, out: &mut impl Wire) {
        let held_back = self.adaptive.as_ref().is_some_and(|a| a.compressed > 0);
        let start = offset.max(0) as u64;
        if held_back && start > self.rcv_nxt && self.is_elsewhere(start, start + len) {
            self.send_ack(c, now, self.waiting(c), out);
            if let Some(a) = &mut self.adaptive {
                a.reported = true;
            }
        }
    }

    /// Something is still missing: after three duplicate ACKs the next ones are held back for a twentieth of the RTT
    /// (`tcp_comp_sack_delay_ns`), and one says it all.
    fn compress(&mut self, c: &TcpConfig, now: Time, held: u32, out: &mut impl Wire) {
        let rcv_nxt = self.rcv_nxt as u32;
        let Some(a) = &mut self.adaptive else { return };
        if a.stands_at != rcv_nxt {
            (a.stands_at, a.duplicates) = (rcv_nxt, 0);
        }
        if a.duplicates < DUPLICATES || a.compressed >= COMPRESSED {
            a.duplicates = (a.duplicates + 1).min(DUPLICATES);
            return self.send_ack(c, now, held, out);
        }
        a.compressed += 1;
        if a.compressed == 1 {
            let handshake = a.srtt / 1_000 * 8;
            let measured = a.tune.as_ref().map_or(handshake, |t| t.rtt);
            let rtt = if handshake > 0 { measured.min(handshake) } else { measured };
            let delay = Time::from_ns(u64::from(rtt) * 125 / 20).min(COMPRESSED_FOR);
            self.timer_due = self.timer_due.min((now + delay).into());
        }
    }

    /// The ACK waits for more (tcp_send_delayed_ack).
    pub(super) fn delay_ack(&mut self, c: &TcpConfig, now: Time, held: u32, out: &mut impl Wire) {
        let waits = !self.timer_due.is_never();
        let Some(a) = &mut self.adaptive else { return };
        let delay = a.delay(c);
        let tick = c.rto_granularity;
        let ticks = |time: Time| (time / tick) as u16;
        let timeout = ticks(now).wrapping_add(ticks(delay));
        let earlier = |a: u16, b: u16| (a.wrapping_sub(b) as i16) < 0;
        // A timer that is about to expire is not worth waiting for.
        if waits && !earlier(ticks(now).wrapping_add(ticks(delay / 4)), a.timeout) {
            return self.send_ack(c, now, held, out);
        }
        if !waits || earlier(timeout, a.timeout) {
            a.timeout = timeout;
            let expires = timer_wheel::expiry(now, delay, tick);
            if timer_wheel::has_slots(tick) {
                a.enter_slot(c, expires);
            }
            self.timer_due = self.timer_due.min(expires.into());
        }
    }

    /// The application reads what there is (tcp_recvmsg): the buffer follows, and an ACK leaves for the end of a write, or for a window that has
    /// opened much (tcp_cleanup_rbuf). The first of the packets ends at `first`; `waiting`: memory of what is out of order.
    pub(super) fn read(&mut self, c: &TcpConfig, now: Time, first: u64, pushed: bool, waiting: u32, out: &mut impl Wire) {
        let (shift, rcv_nxt, acked, complete) = (self.shift, self.rcv_nxt, self.last_ack, self.out_of_order() == 0);
        let Some(a) = &mut self.adaptive else { return };
        let mss = u32::from(a.rcv_mss);
        let many = self.pending > 0 && a.is_too_much(c, rcv_nxt - acked);
        let due = many || (self.pending > 0 && pushed && complete);
        let left = Autotune::left(self.window, acked, rcv_nxt);
        let mut opens = false;
        if let Some(tune) = &mut a.tune {
            tune.adjust(c, now, first, rcv_nxt);
            if !due && tune.is_half_used(left) {
                let (window, scarce) = tune.select(c, shift, mss, waiting);
                opens = window > 0 && window >= 2 * left;
                if scarce {
                    self.quick = 0;
                }
            }
        }
        if due || opens {
            self.send_ack(c, now, waiting, out);
        }
    }

    /// Sends an ACK with the window of a buffer of which `held` bytes are occupied: one less in quick mode (tcp_dec_quickack_mode).
    pub(super) fn send_ack(&mut self, c: &TcpConfig, now: Time, held: u32, out: &mut impl Wire) {
        let (shift, left) = (self.shift, Autotune::left(self.window, self.last_ack, self.rcv_nxt));
        if let Some(joined) = self.ooo.joined() {
            joined.tell(now);
        }
        // The timer of its FIN runs on.
        let runs_on = if self.has_closed() { self.timer_due } else { TimeOrNever::NEVER };
        if let Some(a) = &mut self.adaptive {
            a.compressed = 0;
            a.acked.note(c, now);
            if let Some(tune) = &a.tune {
                let (window, scarce) = tune.advertise(c, shift, a.rcv_mss.into(), held, left);
                if scarce {
                    self.quick = 0;
                }
                if u64::from(window) != self.window {
                    self.window = window.into();
                    self.template.win = (window >> shift).min(65_535) as u16;
                }
            }
        }
        if c.adaptive_acks {
            self.leave_quick_mode(c);
        }
        self.acknowledge(out);
        self.timer_due = runs_on;
    }

    /// Answers a sender that asks, also for the window.
    pub(super) fn answer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        match self.adaptive {
            Some(_) => self.send_ack(c, now, self.waiting(c), out),
            None => self.acknowledge(out),
        }
    }

    /// Memory of what a segment of `len` bytes has added to the stream, or to what waits.
    fn memory_of_fresh(&self, c: &TcpConfig, len: u64, taken: &Taken) -> u32 {
        if taken.fresh <= len {
            return self.memory(c, taken.fresh);
        }
        let Some(a) = &self.adaptive else { return 0 };
        if !self.is_sack() {
            return self.memory(c, len) + self.memory(c, taken.fresh - len);
        }
        a.tune.as_ref().map_or(0, |tune| tune.memory_of_run(c, len, taken.fresh - len, a.rcv_mss.into()))
    }

    /// Memory of `bytes` of payload.
    fn memory(&self, c: &TcpConfig, bytes: u64) -> u32 {
        let Some(a) = &self.adaptive else { return 0 };
        a.tune.as_ref().map_or(0, |tune| tune.memory_of(c, bytes, a.rcv_mss.into()))
    }

    /// Memory of what is out of order.
    fn waiting(&self, c: &TcpConfig) -> u32 {
        match self.out_of_order() {
            0 => 0,
            bytes => self.memory(c, bytes).saturating_sub(Autotune::spared(self.ooo.spared())),
        }
    }

    /// Segment `p` may wait now for something before it: whether it has become one with the segment before it. Or it was waited for: how many heads
    /// had been spared in what is part of the stream now.
    fn note_waiting(&mut self, c: &TcpConfig, now: Time, p: &Packet, taken: &Taken) -> (bool, u32) {
        let (start, rcv_nxt, waits) = (taken.offset.max(0) as u64, self.rcv_nxt, self.out_of_order() > 0);
        let segments = taken.fresh.saturating_sub(p.len.into()).div_ceil(u64::from(c.mss)) as u32;
        let back = self.adaptive.as_ref().and_then(|a| a.tune.as_ref()).map(Autotune::back);
        let again = self.ooo.has_repeated();
        if !self.is_sack() {
            // Its sender holds every segment until the cumulative ACK covers it, and a segment with a copy elsewhere is not joined (skb_cloned).
            return (false, 0);
        }
        match self.ooo.joined() {
            Some(joined) if taken.in_order => (false, if joined.any() { joined.advance(rcv_nxt, segments, waits) } else { 0 }),
            Some(joined) if start > rcv_nxt && !again => {
                let whole = u32::from(p.len) == c.mss;
                (back.is_some_and(|back| joined.add(now, (start, start + u64::from(p.len)), whole, back)), 0)
            }
            Some(_) | None => (false, 0),
        }
    }

    /// The timer of such a receiver is due.
    pub(super) fn on_adaptive_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.has_closed() {
            return self.send_fin(c, now, out);
        }
        let compressed = self.adaptive.as_ref().is_some_and(|a| a.compressed > 0);
        if !compressed {
            self.inflate_ato(c);
        }
        self.send_ack(c, now, self.waiting(c), out);
    }

    /// How long the ACK whose timer expires now has been held back; `None` when no timer of an ACK expires. Statistics only.
    pub fn held_back(&self, c: &TcpConfig, now: Time) -> Option<Time> {
        let waits = self.timer_due.has_come(now) && self.pending > 0;
        // Others start the timer with the delay that they have.
        let since = self.adaptive.as_ref().filter(|_| c.adaptive_acks).map(|a| a.last);
        waits.then(|| since.map_or(c.ack_delay, |last| now - last))
    }

    /// An ACK leaves: one less in quick mode, unless it answers what brought nothing to acknowledge (tcp_dec_quickack_mode).
    fn leave_quick_mode(&mut self, c: &TcpConfig) {
        if self.pending > 0
            && self.take_quick()
            && self.quick == 0
            && let Some(a) = &mut self.adaptive
        {
            a.ato = c.ack_delay.into();
        }
    }

    /// The delayed-ACK timer of such a receiver expired: it waited in vain, so the next waits longer (tcp_delack_timer_handler).
    fn inflate_ato(&mut self, c: &TcpConfig) {
        let Some(a) = self.adaptive.as_mut().filter(|_| c.adaptive_acks) else { return };
        if let Some(ato) = a.ato.get() {
            a.ato = (ato * 2).min(a.rto()).min(LONGEST).into();
        }
    }
}
