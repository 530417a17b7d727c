//! Fast paths of the receiver (header prediction, `pred_flags`): segments for which most checks of [`Receiver::process_segment`] have a known result.
//!
//! | path | stack | segment |
//! |---|---|---|
//! | [`Receiver::receive_fast`] | acknowledges every segment | the next data in order |
//! | [`Receiver::receive_fast_unordered`] | the same, without SACK | new data, in order or not |
//! | [`Receiver::receive_fast_linux`] | delays ACKs as Linux does | the next full segment in order, while the out-of-order queue is empty |
//!
//! Each has the same effects as the slow path. `tcp/fast_path.rs` has their gain.

use super::Receiver;
use super::truesize::{Segments, tailroom};
use crate::net::packet::{Codepoint, Packet, Unread, Wire, flag};
use crate::tcp::config::TcpConfig;
use forebay_types::Time;

/// The fast path of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FastPath {
    /// Every segment takes the slow path.
    None,
    /// Stacks that acknowledge every segment.
    AckEvery,
    /// Stacks that delay ACKs as Linux does.
    Linux,
}

impl FastPath {
    /// The fast path of a stack; `has_shim`, `autotune`: a shim or autotuning sets the window.
    pub(super) fn new(c: &TcpConfig, has_shim: bool, autotune: bool) -> FastPath {
        // Counted marks change the ACKs, and their option needs a second slot.
        if has_shim || c.ecn.is_accurate() {
            FastPath::None
        } else if c.quickack && c.ack_every > 1 && c.quickack_count > 0 && c.timestamps && c.mss >= 128 {
            // tcp_event_data_recv grows the window for segments of 128 bytes or more.
            FastPath::Linux
        } else if c.ack_every <= 1 && !c.quickack && !autotune && !c.timestamps {
            FastPath::AckEvery
        } else {
            FastPath::None
        }
    }
}

impl Receiver {
    /// Returns true if `p` takes the path [`Receiver::receive_fast`].
    #[inline(always)]
    pub(crate) fn takes_fast_path(&self, p: &Packet) -> bool {
        self.is_plain_data(p)
            && self.stream.is_next(p)
            && self.stream.ofo().is_clear()
            && u32::from(p.len) <= self.window.rcv_wnd()
    }

    /// Returns true if `p` takes the path [`Receiver::receive_fast_unordered`].
    #[inline(always)]
    pub(crate) fn takes_unordered_fast_path(&self, p: &Packet) -> bool {
        self.is_plain_data(p) && !self.stream.has_sack() && self.stream.is_new(p, self.stream.offset(p))
    }

    /// Returns true if `p` is data that ends no DCTCP run, while no FIN has arrived, in a stack that acknowledges every segment.
    #[inline(always)]
    fn is_plain_data(&self, p: &Packet) -> bool {
        self.fast_path == FastPath::AckEvery
            && p.flags & (flag::SYN | flag::FIN) == 0
            && p.len > 0
            && !self.stream.has_fin()
            && self.ecn.continues_run(p.ecn() == Codepoint::Ce)
    }

    /// Processes the next data in order.
    #[inline(always)]
    pub(crate) fn receive_fast(&mut self, p: &Packet, out: &mut impl Wire) {
        self.ecn.on_segment(p, p.ecn() == Codepoint::Ce);
        if self.stream.rcv_nxt() <= self.window.rcv_wup() {
            self.ts_recent.store_value(p.ts);
        }
        self.stream.extend(p.len);
        self.acknowledge_fast(out);
    }

    /// Processes new data at any place in the window.
    #[inline(always)]
    pub(crate) fn receive_fast_unordered(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        self.ecn.on_segment(p, p.ecn() == Codepoint::Ce);
        let offset = self.stream.offset(p);
        self.ts_recent.update(now, p, offset, self.window.rcv_wup(), self.ts_recent.may_be_older(now, p));
        self.stream.accept(c, (offset, p.len.into(), false), Segments::one(p), self.window.rcv_wnd(), false);
        self.acknowledge_fast(out);
    }

    /// Returns true if `p` takes the path [`Receiver::receive_fast_linux`].
    #[inline(always)]
    pub(super) fn takes_linux_fast_path(&self, c: &TcpConfig, now: Time, p: &Packet) -> bool {
        let Some(a) = self.linux.as_ref().filter(|_| self.fast_path == FastPath::Linux) else { return false };
        self.ecn.expects(p.ecn())
            && p.flags == 0
            && self.stream.is_next(p)
            && u32::from(p.len) == c.mss
            && a.expects(p.len)
            && !self.stream.is_syn_received()
            && self.stream.ofo().is_clear()
            && u32::from(p.len) <= self.window.rcv_wnd()
            && self.stream.stays_below_events(p.len)
            && !self.ts_recent.may_be_older(now, p)
    }

    /// Processes the next full segment in order of a stack that delays ACKs as Linux does.
    #[inline(never)]
    pub(super) fn receive_fast_linux(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        self.refresh_clock(c, now);
        let before = self.stream.rcv_nxt();
        if before <= self.window.rcv_wup() {
            self.ts_recent.store(now, p.ts);
        }
        self.stream.extend(p.len);
        self.window.count_segments(1);
        self.ecn.on_expected(p.ecn());
        let rcv_nxt = self.stream.rcv_nxt();
        let Some(a) = &mut self.linux else { return };
        let effects = a.on_expected(c, now, self.template.tsval(), p, (rcv_nxt, self.window.rcv_wnd(), before == 0));
        if effects.enters_quickack {
            self.incr_quickack(c);
        }
        if effects.window_grew {
            self.quickacks.set_lowest_bit();
        }
        if self.is_ack_due(c, effects.used) || self.is_quick() {
            self.send_ack(c, effects.used, out);
        } else {
            self.delay_ack(c, now, effects.used, out);
        }
        if out.unread(self.template.conn).is_some() {
            let room = tailroom(c, p.len.into()) as u16;
            return out.defer_read(
                self.template.conn,
                Unread { first: rcv_nxt, segments: 1, pushed: 0, is_one: true, memory: effects.used, room },
            );
        }
        self.on_read(c, now, rcv_nxt, false, 0, out);
    }
}
