//! Timestamps at the receiver: the value to echo (TS.Recent, RFC 7323 section 4.3), and protection against wrapped sequence numbers (PAWS, section
//! 5).
//!
//! Sequence numbers do not wrap in a simulation while a packet is in flight, but PAWS also drops originals that their retransmissions have overtaken.
//! Pure ACKs are not checked, because simulated ones carry an echo only; a kernel accepts those that matter (tcp_disordered_ack).

use crate::net::packet::Packet;
use crate::tcp::config::TcpConfig;
use forebay_types::Time;

/// Ticks by which Linux lets a segment be older (TCP_PAWS_WINDOW).
const PAWS_WINDOW: u64 = 1;

/// The timestamp to echo.
#[derive(Debug, Clone, Copy)]
pub(super) struct TsRecent {
    value: u32,
    /// Time at which it arrived.
    arrived: Time,
}

impl TsRecent {
    pub(super) fn new() -> TsRecent {
        TsRecent { value: 0, arrived: Time::ZERO }
    }

    /// The value to echo.
    #[inline(always)]
    pub(super) fn value(&self) -> u32 {
        self.value
    }

    /// Stores the timestamp of a packet.
    #[inline(always)]
    pub(super) fn store(&mut self, now: Time, ts: u32) {
        (self.value, self.arrived) = (ts, now);
    }

    /// Stores the timestamp of a packet where no packet is ever checked for age.
    #[inline(always)]
    pub(super) fn store_value(&mut self, ts: u32) {
        self.value = ts;
    }

    /// Returns true if `p` has an older timestamp than the stored one, unless the clock has wrapped: see [`TsRecent::is_older`].
    #[inline(always)]
    pub(super) fn may_be_older(&self, now: Time, p: &Packet) -> bool {
        now.since(p.ts) > now.since(self.value)
    }

    //= https://www.rfc-editor.org/rfc/rfc7323#section-4.3
    //# If more than one Timestamps option is received before a reply segment is sent, the TCP must choose only one of
    //# the TSvals to echo, ignoring the others.
    /// Stores the timestamp of the segment at `offset` if it contains the left edge `rcv_wup` of the next ACK (RFC 7323 section 4.3). A segment that
    /// left before that of the stored timestamp is skipped (rule 2; tcp_replace_ts_recent): a late duplicate would be echoed for newer data.
    #[inline(always)]
    pub(super) fn update(&mut self, now: Time, p: &Packet, offset: i64, rcv_wup: u64, may_be_older: bool) {
        if offset <= rcv_wup as i64 && !(may_be_older && self.is_older(now, p)) {
            self.store(now, p.ts);
        }
    }

    /// Departure times of `p` and of the segment with the stored timestamp. Timestamps wrap after 4.29 s, which exceeds any one-way delay.
    fn departures(&self, now: Time, p: &Packet) -> (Time, Time) {
        let left = |arrived: Time, ts: u32| arrived.saturating_sub(arrived.since(ts));
        (left(now, p.ts), left(self.arrived, self.value))
    }

    /// Returns true if `p`, which arrives now, left before the segment with the stored timestamp.
    #[cold]
    #[inline(never)]
    fn is_older(&self, now: Time, p: &Packet) -> bool {
        let (left, recent) = self.departures(now, p);
        left < recent
    }

    //= https://www.rfc-editor.org/rfc/rfc7323#section-5.3
    //# If there is a Timestamps option in the arriving segment, SEG.TSval < TS.Recent, TS.Recent is valid (see later
    //# discussion), and if the RST bit is not set, then treat the arriving segment as not acceptable:
    /// Returns true if PAWS drops `p`, by the ticks of the timestamp clock (RFC 7323 section 5.3 R1, tcp_paws_check).
    #[cold]
    #[inline(never)]
    pub(super) fn fails_paws(&self, c: &TcpConfig, now: Time, p: &Packet) -> bool {
        let tick = c.timestamp_clock.max(Time::from_ns(1));
        let window = if c.is_linux() { PAWS_WINDOW } else { 0 };
        let (left, recent) = self.departures(now, p);
        left / tick + window < recent / tick
    }
}
