//! ACKs of Linux (__tcp_ack_snd_check, tcp_cleanup_rbuf): by bytes, immediately at the end of a write and in quick-ACK mode, otherwise by a timer.
//! Applications read immediately. A connection with data in one direction is never interactive ("pingpong"); `two_way` has the others.

use super::Receiver;
use super::comp_ack::CompressedAcks;
use super::delack::{Delay, DelayedAck};
use super::rcv_buffers::AfterHole;
use super::rcv_rtt::{self, RcvRtt};
use super::rcvbuf::RcvBuf;
use super::truesize::{Segments, tailroom};
use crate::net::packet::{MAX_SEGMENTS, Packet, SAVED, Unread, Wire, flag};
use crate::net::tick::Tick;
use crate::tcp::config::TcpConfig;
use crate::tcp::timer_wheel;
use forebay_types::{Time, TimeOrNever};

/// State of a receiver that acknowledges or tunes its window as Linux does. Every such connection has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinuxReceiver {
    delack: DelayedAck,
    comp: CompressedAcks,
    rtt: RcvRtt,
    /// Segments echo timestamps, by which the RTT is measured.
    echoes: bool,
    /// The SYN-ACK was sent more than once (`num_retrans`).
    repeated_syn_ack: bool,
    /// `None`: the window is fixed.
    rcvbuf: Option<RcvBuf>,
}

// With the allocator's overhead, a multiple of 16 bytes.
const _: () = assert!(size_of::<LinuxReceiver>() <= 104);

impl LinuxReceiver {
    /// `None` for other stacks; `autotune`: the connection tunes its window.
    pub(super) fn new(c: &TcpConfig, autotune: bool) -> Option<Box<LinuxReceiver>> {
        (c.quickack || autotune).then(|| {
            Box::new(LinuxReceiver {
                delack: DelayedAck::new(c),
                comp: CompressedAcks::default(),
                rtt: RcvRtt::new(),
                echoes: c.echoes_timestamps(),
                repeated_syn_ack: false,
                rcvbuf: autotune.then(|| RcvBuf::new(c)),
            })
        })
    }

    #[inline(always)]
    pub(super) fn delack(&self) -> &DelayedAck {
        &self.delack
    }

    pub(super) fn delack_mut(&mut self) -> &mut DelayedAck {
        &mut self.delack
    }

    /// Returns true if duplicate ACKs are withheld.
    pub(super) fn withholds_acks(&self) -> bool {
        self.comp.is_holding()
    }

    /// Handles the handshake at the host that opened the connection (tcp_finish_connect).
    pub(super) fn on_connected(&mut self, c: &TcpConfig, sent: Time, now: Time) {
        self.rtt.on_syn_ack(rcv_rtt::tick(c, sent));
        self.delack.on_connected(c, sent, now);
        if let Some(rcvbuf) = &mut self.rcvbuf {
            rcvbuf.on_established(now);
        }
    }

    /// Notes that a SYN-ACK leaves, for the first time or not.
    pub(super) fn on_syn(&mut self, c: &TcpConfig, now: Time, again: bool) {
        self.repeated_syn_ack = again;
        self.rtt.on_syn_ack(rcv_rtt::tick(c, now));
        self.delack.on_syn(now);
    }

    /// Handles the first packet after the SYN-ACK.
    pub(super) fn on_established(&mut self, c: &TcpConfig, now: Time) {
        let echo = self.echoes.then(|| self.rtt.since_syn_ack(c, now));
        self.delack.on_established(c, now, if self.repeated_syn_ack { Err(echo) } else { Ok(()) });
        if let Some(rcvbuf) = &mut self.rcvbuf {
            rcvbuf.on_established(now);
        }
    }

    /// Returns true if a segment of `len` bytes has the estimated size and no duplicate ACK is withheld.
    #[inline(always)]
    pub(super) fn expects(&self, len: u16) -> bool {
        len == self.delack.rcv_mss() && !self.comp.is_holding()
    }

    /// Notes that a segment that [`LinuxReceiver::expects`] arrived in order: the stream has grown to `rcv_nxt`. `first`: it is the first data of the
    /// stream.
    #[inline(always)]
    pub(super) fn on_expected(
        &mut self,
        c: &TcpConfig,
        now: Time,
        tsval: Tick,
        p: &Packet,
        (rcv_nxt, rcv_wnd, first): (u64, u32, bool),
    ) -> Expected {
        self.measure_by_echo(c, tsval, p, true);
        self.rtt.measure_by_window(now, rcv_nxt, rcv_wnd, first);
        self.delack.on_full_segment();
        let enters_quickack = self.delack.on_in_order_segment(c, now);
        let (mut used, mut window_grew) = (0, false);
        if let Some(rcvbuf) = &mut self.rcvbuf {
            used = rcvbuf.truesize_of(c, p.len.into(), Segments::one(p));
            window_grew = rcvbuf.grow(c, p.len.into(), self.delack.rcv_mss(), used);
        }
        Expected { enters_quickack, window_grew, used }
    }

    /// Takes an RTT sample from `p`, which arrives at `now`; `full`: it has at least the estimated segment size.
    #[inline(always)]
    fn measure_by_echo(&mut self, c: &TcpConfig, now: Tick, p: &Packet, full: bool) {
        if self.echoes {
            self.rtt.measure_by_echo(c, now, p.tsecr(), full);
        }
    }

    /// Notes that an ACK without data echoes `tsecr`.
    pub(super) fn on_ack_echo(&mut self, tsecr: Tick) {
        if self.echoes {
            self.rtt.note_echo(tsecr);
        }
    }

    /// RTT for the compression of ACKs, eighths of a microsecond: the smaller of the host's own and the measured one.
    fn compression_rtt_us8(&self) -> u32 {
        let (own, measured) = (self.delack.srtt() / 125, self.rtt.rtt_us8());
        if own > 0 { measured.min(own) } else { measured }
    }
}

/// Effects of a segment on the fast path.
pub(super) struct Expected {
    /// Quick-ACK mode begins.
    pub enters_quickack: bool,
    /// The window has opened.
    pub window_grew: bool,
    /// Memory of the segment.
    pub used: u32,
}

/// Effects of a data segment on the stream.
pub(super) struct Accepted {
    /// Its stream offset.
    pub offset: i64,
    /// Its segments.
    pub segments: Segments,
    /// It extended the data in order.
    pub in_order: bool,
    /// It requires an immediate ACK by the rules of all stacks.
    pub forced: bool,
    /// Its ECN field ended a DCTCP run of equal CE values.
    pub ends_run: bool,
    /// Bytes by which the data in order has grown, with those of the out-of-order queue.
    pub advanced: u64,
    /// Some of it is new and in the out-of-order queue.
    pub queued: bool,
    /// It has been coalesced with a segment there.
    pub coalesced: bool,
    /// Memory of the data that left that queue.
    pub behind: u32,
    /// Buffers that it has absorbed, if it filled a hole.
    pub after_hole: AfterHole,
}

impl Receiver {
    /// Reads the clock, whose time is the timestamp of the ACKs that follow (tcp_mstamp_refresh).
    #[inline(always)]
    pub(super) fn refresh_clock(&mut self, c: &TcpConfig, now: Time) {
        if self.linux.as_ref().is_some_and(|a| a.echoes) {
            self.template.len = rcv_rtt::tick(c, now).replace_in(self.template.len);
        }
    }

    /// Sends or schedules the ACK of data segment `p`.
    #[inline(never)]
    pub(super) fn schedule_linux_ack(&mut self, c: &TcpConfig, now: Time, p: &Packet, accepted: Accepted, out: &mut impl Wire) {
        let conn = self.template.conn;
        let unread = out.unread(conn);
        // tcp_queue_rcv coalesces the segment with the last one that is unread, if both fit into one buffer.
        let joins = accepted.in_order && unread.is_some_and(|memory| memory > SAVED);
        let room = if joins { u32::from(out.unread_room(conn)) } else { 0 };
        let copied = p.len > 0 && u32::from(p.len) <= room && accepted.segments.count == 1 && accepted.behind == 0;
        let saved = match joins && out.unread_segments(conn) + accepted.segments.count <= MAX_SEGMENTS {
            // skb_try_coalesce copies a short segment into the buffer before it, and adds no memory.
            true if copied => accepted.segments.truesize(c, p.len.into()),
            true => SAVED,
            false => 0,
        };
        let (len, waiting) = (u32::from(p.len), self.ofo_memory() + unread.unwrap_or(0) - saved);
        let Some(a) = &mut self.linux else { return };
        let flushed = a.comp.take_flushed();
        // If the handshake's ACK was lost, tcp_rcv_state_process takes in the data, which ignores the echo.
        let first = self.stream.establish();
        if first {
            a.on_established(c, now);
        }
        let old_mss = a.delack.rcv_mss();
        let mut pushed = false;
        if accepted.in_order || (c.quickack && c.kernel.measures_mss_behind_holes()) {
            let ends_write = a.delack.measure_rcv_mss(c.mss, accepted.segments.size, p.has(flag::PUSH));
            let short = u32::from(accepted.segments.size) < u32::from(old_mss);
            pushed = ends_write && len > 0 && accepted.in_order && c.quickack && a.delack.acks_end_of_write(short);
        }
        if !first {
            a.measure_by_echo(c, self.template.tsval(), p, len + u32::from(p.has(flag::FIN)) >= u32::from(old_mss));
        }
        if accepted.in_order && len > 0 {
            let first_data = self.stream.rcv_nxt() == accepted.advanced;
            let end = (accepted.offset + i64::from(p.len)) as u64;
            a.rtt.measure_by_window(now, end, self.window.rcv_wnd(), first_data);
        }
        let mut window_grew = false;
        if let Some(rcvbuf) = &mut a.rcvbuf {
            let rcv_mss = a.delack.rcv_mss();
            let size = accepted.segments.size;
            if size > old_mss && c.kernel.measures_window_scale() {
                rcvbuf.on_new_rcv_mss(len, accepted.segments.truesize(c, len));
            }
            // tcp_event_data_recv, and tcp_data_queue_ofo, which does so only with SACK, for segments of any size.
            if (accepted.in_order && len >= 128) || (accepted.queued && self.stream.has_sack()) {
                let truesize = rcvbuf.truesize_of(c, len, accepted.segments);
                let own = if accepted.advanced > 0 { truesize + accepted.behind } else { 0 };
                // tcp_data_queue_ofo: a segment that is not coalesced is not charged yet.
                let charged = accepted.in_order || accepted.coalesced;
                let uncharged = if charged { 0 } else { truesize };
                let used = (waiting + own).saturating_sub(uncharged);
                window_grew = match accepted.segments.count {
                    1 if len == 0 && accepted.coalesced => rcvbuf.grow_for_fin(c, used),
                    1 => rcvbuf.grow(c, len, rcv_mss, used),
                    _ => rcvbuf.grow_merged(c, len, accepted.segments.truesize(c, len), rcv_mss, used),
                };
            }
        }
        if !c.quickack {
            return self.schedule_counted_ack(c, now, &accepted, out);
        }
        self.update_quickack(c, now, p, (&accepted, flushed));
        if window_grew && c.quickack_count > 0 {
            self.quickacks.set_lowest_bit();
        }
        let own = self.memory_of_accepted(c, p, &accepted);
        let used = waiting + own;
        if flushed {
            // tcp_ack_snd_check schedules nothing.
        } else if self.acks_immediately(c, p, &accepted, used) {
            self.send_ack(c, used, out);
        } else if !self.stream.ofo().is_empty() {
            self.compress_ack(c, now, used, out);
        } else {
            self.delay_ack(c, now, used, out);
        }
        if accepted.in_order && self.stream.finished() && unread.is_none() {
            self.close(c, now, waiting, out);
        } else if accepted.in_order {
            let (next, end) = (self.stream.rcv_nxt(), accepted.offset.max(0) as u64 + u64::from(p.len));
            // The application reads the buffer of this segment first, which has absorbed some of the queue.
            let first = next.min(end + u64::from(accepted.after_hole.bytes));
            if unread.is_some() {
                let pushed = if pushed { next } else { 0 };
                let (segments, memory, room) = match copied {
                    true => (0, 0, room - len),
                    false if accepted.segments.count == 1 && accepted.behind == 0 => (1, own, tailroom(c, len)),
                    false => (accepted.segments.count + accepted.after_hole.absorbed, own, accepted.after_hole.room.into()),
                };
                let more = Unread { first, segments, pushed, is_one: first == next, memory, room: room as u16 };
                return out.defer_read(conn, more);
            }
            self.on_read(c, now, first, pushed, waiting, out);
        }
    }

    /// Schedules the ACK in stacks that tune the window, but acknowledge every n-th segment.
    fn schedule_counted_ack(&mut self, c: &TcpConfig, now: Time, accepted: &Accepted, out: &mut impl Wire) {
        if accepted.forced || u32::from(self.window.unacked_segments()) >= c.ack_every || self.quickacks.consume() {
            self.send_ack(c, self.ofo_memory(), out);
        } else if self.timer_due.is_never() {
            self.timer_due = (now + c.ack_delay).into();
        }
        let rcv_nxt = self.stream.rcv_nxt();
        let Some(a) = self.linux.as_mut().filter(|_| accepted.in_order) else { return };
        let rtt = a.rtt.rtt_us8();
        if let Some(rcvbuf) = &mut a.rcvbuf {
            rcvbuf.on_read(c, now, rtt, rcv_nxt, rcv_nxt);
        }
    }

    /// Enters quick-ACK mode where segment `p` requires it (tcp_event_data_recv, __tcp_ecn_check_ce, tcp_data_queue). `flushed`: withheld ACKs were sent
    /// for it.
    fn update_quickack(&mut self, c: &TcpConfig, now: Time, p: &Packet, (accepted, flushed): (&Accepted, bool)) {
        let Some(a) = &mut self.linux else { return };
        let enters = accepted.in_order && a.delack.on_in_order_segment(c, now);
        if c.quickack_count == 0 {
            return;
        }
        let mut quickacks = if enters { a.delack.quickacks(c, self.window.rcv_wnd()) } else { 0 };
        if !accepted.in_order && accepted.offset + i64::from(p.len) <= self.stream.rcv_nxt() as i64 {
            // A retransmission of data in order (tcp_enter_quickack_mode).
            quickacks = a.delack.quickacks(c, self.window.rcv_wnd());
            a.delack.enter_quickack(c);
        }
        self.quickacks.raise(quickacks);
        if !flushed {
            self.enter_quickack_for_ecn(c, p);
        }
    }

    /// Enters quick-ACK mode where the ECN field of `p` requires it: the sender may have a very small window (__tcp_ecn_check_ce).
    fn enter_quickack_for_ecn(&mut self, c: &TcpConfig, p: &Packet) {
        if c.quickack_count > 0
            && self.ecn.demands_quickack(p)
            && let Some(a) = &mut self.linux
        {
            a.delack.enter_quickack(c);
            self.quickacks.raise(2);
        }
    }

    /// Notes that a duplicate has arrived: the ACKs of the original may have been lost (tcp_enter_quickack_mode).
    pub(super) fn enter_quickack_mode(&mut self, c: &TcpConfig) {
        if let Some(a) = self.linux.as_mut().filter(|_| c.quickack && c.quickack_count > 0) {
            a.delack.enter_quickack(c);
            self.incr_quickack(c);
        }
    }

    /// Acknowledges the next segments immediately (tcp_incr_quickack).
    pub(super) fn incr_quickack(&mut self, c: &TcpConfig) {
        if let Some(a) = &self.linux {
            self.quickacks.raise(a.delack.quickacks(c, self.window.rcv_wnd()));
        }
    }

    /// Returns true if quick-ACK mode is on, and ACKs do not wait for data of the other direction (tcp_in_quickack_mode).
    #[inline(always)]
    pub(super) fn is_quick(&self) -> bool {
        self.quickacks.is_on() && self.linux.as_ref().is_none_or(|a| !a.delack.is_interactive())
    }

    /// Returns true if an ACK leaves immediately (__tcp_ack_snd_check).
    fn acks_immediately(&mut self, c: &TcpConfig, p: &Packet, accepted: &Accepted, used: u32) -> bool {
        if c.ack_every == 1 {
            // Such a route is always in quick-ACK mode (RTAX_QUICKACK, tcp_in_quickack_mode), and compresses no ACKs.
            return true;
        }
        let complete = self.stream.ofo().is_empty();
        // tcp_ecn_accept_cwr: a sender that has reduced its window may have a very small one.
        let reduced = p.has(flag::CWR) && self.ecn.is_on();
        // tcp_fin ends quick-ACK mode (inet_csk_enter_pingpong_mode).
        let ends = accepted.in_order && self.stream.finished();
        self.is_ack_due(c, used)
            || (self.is_quick() && !ends)
            || accepted.ends_run
            || reduced
            || self.own_fin.is_sent()
            // tcp_data_queue: once the last hole is filled. The queue behind a FIN is freed before that check.
            || (accepted.in_order && accepted.forced && complete && !(ends && p.has(flag::FIN)))
            // Without SACK the sender counts duplicate ACKs.
            || !(self.stream.has_sack() || (accepted.in_order && complete))
    }

    /// Returns true if the data received since the last ACK requires one (__tcp_ack_snd_check).
    #[inline(always)]
    pub(super) fn is_ack_due(&mut self, c: &TcpConfig, used: u32) -> bool {
        let Some(a) = &self.linux else { return true };
        // For more than a segment, unless memory keeps the window below the last one advertised: then the application's reading frees memory first.
        let exceeds = a.delack.exceeds_limit(c, self.window.unacked_bytes(self.stream.rcv_nxt()));
        let mut is_wide = true;
        if let Some(rcvbuf) = a.rcvbuf.as_ref().filter(|_| exceeds) {
            let (window, scarce) = rcvbuf.select_window(c, &self.window, a.delack.rcv_mss(), used);
            is_wide = window >= self.window.rcv_wnd();
            if scarce {
                self.quickacks.leave();
            }
        }
        exceeds && is_wide
    }

    /// Sends the withheld ACKs if `p`, which begins at offset `start` and is about to be processed, belongs to none of the two blocks that they
    /// report. No ACK is scheduled for this segment then (tcp_sack_new_ofo_skb, tcp_sack_compress_send_ack).
    pub(super) fn flush_compressed_acks(&mut self, c: &TcpConfig, start: i64, p: &Packet, out: &mut impl Wire) {
        let len = u64::from(p.len);
        let held = self.linux.as_ref().is_some_and(|a| a.comp.is_holding());
        let start = start.max(0) as u64;
        if held && start > self.stream.rcv_nxt() && self.stream.ofo().misses_recent_blocks(start, start + len) {
            self.stream.ofo_mut().extend_older_block(start, start + len);
            // tcp_data_queue_ofo looks at the ECN field before that.
            self.enter_quickack_for_ecn(c, p);
            self.send_ack(c, self.ofo_memory(), out);
            if let Some(a) = &mut self.linux {
                a.comp.set_flushed();
            }
        }
    }

    /// Sends a duplicate ACK or holds it back.
    fn compress_ack(&mut self, c: &TcpConfig, now: Time, used: u32, out: &mut impl Wire) {
        let Some(a) = &mut self.linux else { return };
        if !a.comp.hold(self.stream.rcv_nxt()) {
            return self.send_ack(c, used, out);
        }
        if let Some(delay) = a.comp.delay(a.compression_rtt_us8()) {
            self.timer_due = self.timer_due.min((now + delay).into());
        }
    }

    /// Delays an ACK (tcp_send_delayed_ack).
    pub(super) fn delay_ack(&mut self, c: &TcpConfig, now: Time, used: u32, out: &mut impl Wire) {
        let running = !self.timer_due.is_never();
        let Some(a) = &mut self.linux else { return };
        match a.delack.schedule(c, now, running) {
            Delay::None => self.send_ack(c, used, out),
            Delay::Running => {}
            Delay::Until(time) => self.timer_due = self.timer_due.min(time.into()),
        }
    }

    /// Lets the application read what [`Wire::defer_read`] has deferred, and close at the end of the stream. An ACK that has left since ends the wait of a pushed segment
    /// (`icsk_ack.pending`).
    pub(crate) fn read(&mut self, c: &TcpConfig, now: Time, unread: &Unread, out: &mut impl Wire) {
        if self.stream.finished() {
            return self.close(c, now, self.ofo_memory(), out);
        }
        let pushed = unread.pushed > self.window.rcv_wup();
        self.on_read(c, now, unread.first, pushed, self.ofo_memory(), out);
    }

    /// Lets the application read all data, of which the first packet ends at `first` (tcp_recvmsg). The buffer follows, and an ACK leaves at the end
    /// of a write or for a window that has doubled (tcp_cleanup_rbuf). `waiting`: memory of the out-of-order queue.
    pub(super) fn on_read(&mut self, c: &TcpConfig, now: Time, first: u64, pushed: bool, waiting: u32, out: &mut impl Wire) {
        let (rcv_nxt, complete) = (self.stream.rcv_nxt(), self.stream.ofo().is_empty());
        let Some(a) = &mut self.linux else { return };
        let unacked = self.window.unacked_segments() > 0;
        let exceeds = unacked && a.delack.exceeds_limit(c, self.window.unacked_bytes(rcv_nxt));
        let due = exceeds || (unacked && pushed && complete);
        let remaining = self.window.remaining(rcv_nxt);
        let mut opens = false;
        if let Some(rcvbuf) = &mut a.rcvbuf {
            rcvbuf.on_read(c, now, a.rtt.rtt_us8(), first, rcv_nxt);
            if !due && rcvbuf.may_double(remaining) {
                let (window, scarce) = rcvbuf.select_window(c, &self.window, a.delack.rcv_mss(), waiting);
                opens = window > 0 && window >= 2 * remaining;
                if scarce {
                    self.quickacks.leave();
                }
            }
        }
        if due || opens {
            self.send_ack(c, waiting, out);
        }
    }

    /// Sends an ACK with the window of a buffer of which `used` bytes are occupied, and counts it in quick-ACK mode (tcp_dec_quickack_mode).
    pub(super) fn send_ack(&mut self, c: &TcpConfig, used: u32, out: &mut impl Wire) {
        // The timer of the receiver's own FIN keeps running.
        let fin_timer = if self.own_fin.is_sent() { self.timer_due } else { TimeOrNever::NEVER };
        self.prepare_ack(c, used);
        self.acknowledge(out);
        self.timer_due = fin_timer;
    }

    /// Sets the window of an ACK that is about to leave, and counts it.
    #[inline(always)]
    pub(super) fn prepare_ack(&mut self, c: &TcpConfig, used: u32) {
        let remaining = self.window.remaining(self.stream.rcv_nxt());
        if let Some(a) = &mut self.linux {
            a.comp.on_ack_sent();
            a.delack.on_ack_sent();
            if let Some(rcvbuf) = &mut a.rcvbuf {
                let (window, scarce) = rcvbuf.next_window(c, &self.window, a.delack.rcv_mss(), used, remaining);
                if scarce {
                    self.quickacks.leave();
                }
                if window != self.window.rcv_wnd() {
                    self.window.set_rcv_wnd(window);
                    self.template.win = self.window.field();
                }
            }
        }
        if c.quickack {
            self.dec_quickack(c);
        }
    }

    /// Notes that an ACK leaves: counts it in quick-ACK mode, unless it acknowledges no segment (tcp_dec_quickack_mode).
    fn dec_quickack(&mut self, c: &TcpConfig) {
        if self.window.unacked_segments() > 0
            && self.quickacks.consume()
            && !self.quickacks.is_on()
            && let Some(a) = &mut self.linux
        {
            a.delack.reset_ato(c);
        }
    }

    /// Memory that packet `p` has added to the data in order.
    fn memory_of_accepted(&self, c: &TcpConfig, p: &Packet, accepted: &Accepted) -> u32 {
        let Some(a) = self.linux.as_ref().filter(|_| accepted.advanced > 0) else { return 0 };
        let Some(rcvbuf) = &a.rcvbuf else { return 0 };
        let all = rcvbuf.truesize_of(c, p.len.into(), accepted.segments) + accepted.behind;
        all.saturating_sub(accepted.after_hole.saved)
    }

    /// Memory of the out-of-order queue.
    pub(super) fn ofo_memory(&self) -> u32 {
        self.stream.ofo().memory()
    }

    /// Handles the expired timer of such a receiver.
    pub(super) fn on_linux_ack_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.own_fin.is_sent() {
            return self.send_fin(c, now, out);
        }
        // The timer of withheld ACKs does not read the clock (tcp_compressed_ack_kick).
        if self.linux.as_ref().is_some_and(|a| !a.comp.is_holding()) {
            self.refresh_clock(c, now);
        }
        if let Some(a) = self.linux.as_mut().filter(|a| c.quickack && !a.comp.is_holding()) {
            a.delack.inflate_ato(c);
        }
        self.send_ack(c, self.ofo_memory(), out);
    }

    /// Notes that the application has read everything and closes. `waiting`: memory of the out-of-order queue.
    #[cold]
    #[inline(never)]
    fn close(&mut self, c: &TcpConfig, now: Time, waiting: u32, out: &mut impl Wire) {
        let Some(a) = &self.linux else { return };
        // It reads before it closes (tcp_cleanup_rbuf).
        let bytes = self.window.unacked_bytes(self.stream.rcv_nxt());
        if self.window.unacked_segments() > 0 && a.delack.exceeds_limit(c, bytes) {
            self.send_ack(c, waiting, out);
        }
        self.send_fin(c, now, out);
    }

    /// Sends the receiver's own FIN, for the first time or because the timer expired (tcp_send_fin, tcp_send_loss_probe, tcp_retransmit_timer). It
    /// acknowledges all data that no ACK has covered.
    #[cold]
    #[inline(never)]
    fn send_fin(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.template.flags |= flag::FIN;
        self.send_ack(c, 0, out);
        self.template.flags &= !flag::FIN;
        let Some(a) = &self.linux else { return };
        let wait = a.delack.rto().saturating_mul(1 << self.own_fin.count_transmission(c)).min(c.rto_max);
        self.timer_due = timer_wheel::expiry(now, wait, c.rto_granularity).into();
    }
}
