//! Sending that does not depend on the windows alone: a congestion control limits or paces new data, a sender waits for bursts, or the interface of
//! the host is full. The engine wakes such a sender by an alarm.

use super::{CaState, Phase, Sender, Timer};
use crate::cc::Opportunity;
use crate::net::packet::{Packet, Wire};
use crate::tcp::config::TcpConfig;
use forebay_types::{Time, TimeOrNever};

/// New data that may leave now.
pub(in crate::tcp) struct Burst {
    /// End of the data, a stream offset.
    pub end: u64,
    /// True if the window has space for more, but the sender waits for still more space.
    pub deferred: bool,
    /// Bytes of each burst but the last, 0 without bursts.
    pub size: u64,
}

impl Sender {
    /// Sends as `transmit` does, for congestion controls that limit or pace new data and for senders that wait for bursts. The time does not change
    /// within one opportunity, so the congestion control decides once for all segments. `writes`: the application calls.
    #[inline(never)]
    pub(in crate::tcp) fn paced_transmit(&mut self, c: &TcpConfig, now: Time, writes: bool, out: &mut impl Wire) {
        // fq paces all its connections: fq_classify sets SK_PACING_FQ.
        if c.tso.is_some() && self.cold.pacer.is_none() && out.holds_departures() {
            self.cold.pacer = Some(Box::default());
            self.cc.pace_slow_start();
        }
        if let Some(p) = self.cold.pacer_mut() {
            p.settle();
            if out.holds_departures() {
                p.use_host_queue();
            }
            self.extend_timer(c, now);
        }
        let idle = self.timers.kind() == Timer::Idle;
        let (first, high) = (self.stream.snd_nxt(), self.stream.snd_max());
        let at = Opportunity {
            now,
            last_tx: self.tx.last_tx().get().filter(|_| high > 0),
            flight: self.flight(),
            in_flight: self.pipe(),
            unsent: self.stream.end().saturating_sub(high),
            recovering: self.loss.ca_state() >= CaState::Recovery,
            mss: c.mss,
        };
        let allowed = self.cc.may_send(&at).saturating_mul(u64::from(c.mss));
        if self.cc.hooks().gate() && self.cold.begin == first && first >= high {
            // The first window of the message is the one that the congestion control leaves it.
            self.stats.set_first_window_end(first + (self.cc.window.cwnd * f64::from(c.mss)) as u64);
        }
        let end = self.end_of_send_buffer().min(first.saturating_add(allowed));
        let bursts = self.sends_bursts();
        let burst = match c.tso.is_some() && !bursts {
            true => self.bursts(c, now, self.window_bytes(c), end),
            false => Burst { end, deferred: false, size: 0 },
        };
        if burst.size > 0 {
            self.cold.bursts = (first, burst.size);
        }
        if !writes {
            self.transmit_until(c, now, burst.end, out);
        }
        if bursts && (writes || !self.defers_write(c, out)) {
            self.write_messages(c, now, end, out);
        }
        if idle && self.cold.pacer.is_some() {
            self.extend_timer(c, now);
        }
        if burst.deferred && c.cwnd_validation {
            // The window counts as used, though not to its last byte (`is_cwnd_limited` of tcp_tso_should_defer).
            self.validate_cwnd(c, true);
        }
        if self.stream.snd_nxt() > first && first >= high {
            self.cc.algorithm_mut().sent(first, self.stream.snd_nxt(), &at);
        }
        self.release_buffers();
        self.set_alarm(now, out);
    }

    /// Time at which the congestion control, the pacer or the interface lets the sender continue.
    pub fn due(&self) -> TimeOrNever {
        let departure = self.cold.pacer.as_ref().map_or(TimeOrNever::NEVER, |p| p.due());
        self.cc.algorithm().due().min(departure).min(self.tx.tsq.as_ref().map_or(TimeOrNever::NEVER, |q| q.resume()))
    }

    /// Notes that the packet with sequence number `seq` left the queue of the host, and leaves the interface at `departure`.
    pub fn on_departure(&mut self, now: Time, seq: u32, departure: Time, out: &mut impl Wire) {
        if let Some(q) = &mut self.tx.tsq {
            q.leave(seq, departure);
            self.set_alarm(now, out);
        }
    }

    /// Sets the alarm that wakes the sender at [`Self::due`]. A time in the past expires at once, as a Linux timer does; a congestion control that
    /// computes in whole microseconds rounds down to such a time.
    pub(in crate::tcp) fn set_alarm(&mut self, now: Time, out: &mut impl Wire) {
        let due = self.due();
        if due < self.timers.alarm() {
            let at = out.event_time(due.or_never().max(now));
            if self.timers.alarm() > at.into() {
                self.timers.set_alarm(at.into());
                out.alarm(self.tx.template().conn, self.timers.generation(), at);
            }
        }
    }

    /// Handles an alarm, which may have been moved to a later time since.
    pub fn on_alarm(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.timers.alarm() != now.into() || self.stream.phase() != Phase::Established {
            return;
        }
        self.timers.set_alarm(TimeOrNever::NEVER);
        self.release_held(now, out);
        if self.due().is_due(now) {
            if let Some(q) = &mut self.tx.tsq {
                q.end_due_wait(now);
            }
            if c.is_linux() {
                // tcp_tsq_write: lost segments leave first, even if the last ACK has held them back.
                self.loss.clear_hold();
            }
            // Segments that leave may let the buffer grow and the application write (tcp_event_new_data_sent).
            match self.refill_buffer(c, now, out) {
                true => self.fill_and_transmit(c, now, out),
                false => self.transmit(c, now, out),
            }
            self.after_tsq_write(c);
        }
        self.set_alarm(now, out);
    }

    /// Returns true if the next segment must wait for its departure. Then an alarm is set.
    #[inline]
    pub(in crate::tcp) fn pacing_check(&mut self, now: Time) -> bool {
        self.cold.pacer_mut().is_some_and(|p| p.holds_back(now))
    }

    /// Departure of a segment that is sent at `now` (`skb_mstamp_ns`): its timestamp, and the time from which its RTT counts.
    #[inline]
    pub(in crate::tcp) fn departure(&self, now: Time) -> Time {
        self.cold.pacer.as_ref().map_or(now, |p| p.departure(now))
    }

    /// Passes data segment `p` to the interface, unless the queue of the host holds it until its departure.
    #[inline]
    pub(in crate::tcp) fn emit_or_hold(&mut self, now: Time, p: Packet, out: &mut impl Wire) {
        if self.departure(now) > now
            && let Some(held) = self.cold.pacer_mut().and_then(|pacer| pacer.held_mut())
        {
            if held.add(p) {
                out.hold(&p);
            }
            return;
        }
        self.tx.count_sent(1);
        out.emit(p, None);
    }

    /// Passes the held packets that leave at `now` to the interface.
    fn release_held(&mut self, now: Time, out: &mut impl Wire) {
        while let Some((segments, bytes, seq)) =
            self.cold.pacer_mut().and_then(|p| p.held_mut()).and_then(|h| h.release(now, out))
        {
            self.tx.count_sent(segments.into());
            if let Some(q) = &mut self.tx.tsq {
                q.release(now, out.departure(), bytes, seq);
            }
        }
    }

    /// Passes all held packets to the interface. The fq of a kernel sends them too, at their departure times. Our choice: they leave now, because the
    /// connection may end.
    pub(in crate::tcp) fn release_all_held(&mut self, out: &mut impl Wire) {
        if self.cold.pacer.as_ref().is_some_and(|p| p.holds_packets()) {
            self.release_held(Time(u64::MAX), out);
        }
    }

    /// Delay that the pacer adds to a timer that is set now.
    #[inline]
    pub(in crate::tcp) fn pacing_delay(&self, c: &TcpConfig, now: Time) -> Time {
        self.cold.pacer.as_ref().map_or(Time::ZERO, |p| p.delay(now, c.rto_granularity))
    }

    /// Adds the delay of the pacer to the retransmission timer, if it was set at this very instant (tcp_rearm_rto and tcp_xmit_retransmit_queue by
    /// way of tcp_reset_xmit_timer). Doing this here costs nothing for senders without a pacer.
    pub(in crate::tcp) fn extend_timer(&mut self, c: &TcpConfig, now: Time) {
        if self.timers.kind() == Timer::Rto && self.timers.due() == now.saturating_add(self.rtt.rto(c)).into() {
            let delay = self.pacing_delay(c, now);
            self.timers.set_due(now.saturating_add(self.rtt.rto(c)).saturating_add(delay).into());
            self.enter_wheel_slot(c, now, self.rtt.rto(c) + delay);
        }
    }

    /// Notes that `segments` with `bytes` of payload left as one packet.
    #[inline]
    pub(in crate::tcp) fn note_departure(&mut self, c: &TcpConfig, now: Time, bytes: u64, segments: u64) {
        if self.cold.pacer.is_some() {
            let rate = if self.cc.hooks().paces() {
                self.sk_pacing_rate(c, 0)
            } else {
                let outstanding = self.loss.sack.as_ref().map_or(0, |s| s.board.len() as u32);
                self.tsq_rate(c, outstanding)
            };
            if let Some(p) = self.cold.pacer_mut() {
                p.sent(now, bytes, segments, rate);
            }
        }
    }
}
