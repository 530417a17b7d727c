//! Protection against wrapped sequence numbers (RFC 7323 section 5): a segment that left before the one whose timestamp is remembered is taken for one
//! of long ago. In a simulation no number comes back while a packet lives, but originals that their repetitions have overtaken are rejected like
//! that, with what they hold. Pure ACKs are not looked at here, as simulated ones have room for an echo only; a kernel lets those pass that
//! matter (tcp_disordered_ack).

use super::Receiver;
use crate::net::packet::{Packet, Wire};
use crate::tcp::config::TcpConfig;
use forebay_units::Time;

/// Ticks by which Linux lets a segment be older (TCP_PAWS_WINDOW).
const WINDOW: u64 = 1;

impl Receiver {
    /// The timestamp of a packet is to be remembered (TS.Recent).
    #[inline(always)]
    pub(super) fn note_stamp(&mut self, now: Time, ts: u32) {
        (self.ts_recent, self.recent_seen) = (ts, now);
    }

    /// Whether `p` has an older timestamp than the one remembered. Timestamps wrap, so that what looks older may be none.
    #[inline(always)]
    pub(super) fn looks_older(&self, now: Time, p: &Packet) -> bool {
        now.since(p.ts) > now.since(self.ts_recent)
    }

    //= https://www.rfc-editor.org/rfc/rfc7323#section-4.3
    //# If more than one Timestamps option is received before a reply segment is sent, the TCP must choose only one of
    //# the TSvals to echo, ignoring the others.
    /// RFC 7323 section 4.3: remember the timestamp of the segment that the next ACK's left edge acknowledges, but of none that left before
    /// the one remembered (its rule 2; tcp_replace_ts_recent): a duplicate that comes late would be echoed for what has come since.
    #[inline(always)]
    pub(super) fn note_left_edge(&mut self, now: Time, p: &Packet, offset: i64, older: bool) {
        if offset <= self.last_ack as i64 && !(older && self.is_older(now, p)) {
            self.note_stamp(now, p.ts);
        }
    }

    /// When `p` left, and when the segment whose timestamp is remembered. Timestamps wrap after 4.29 s, and no packet is on its way for so long.
    fn departures(&self, now: Time, p: &Packet) -> (Time, Time) {
        let left = |seen: Time, ts: u32| seen.saturating_sub(seen.since(ts));
        (left(now, p.ts), left(self.recent_seen, self.ts_recent))
    }

    /// Whether `p`, which is here now, left before the segment whose timestamp is remembered.
    #[cold]
    #[inline(never)]
    pub(super) fn is_older(&self, now: Time, p: &Packet) -> bool {
        let (left, recent) = self.departures(now, p);
        left < recent
    }

    //= https://www.rfc-editor.org/rfc/rfc7323#section-5.3
    //# If there is a Timestamps option in the arriving segment, SEG.TSval < TS.Recent, TS.Recent is valid (see later
    //# discussion), and if the RST bit is not set, then treat the arriving segment as not acceptable:
    /// The same by the clock of the timestamps (RFC 7323 section 5.3 R1, Linux tcp_paws_check).
    #[cold]
    #[inline(never)]
    pub(super) fn is_too_old(&self, c: &TcpConfig, now: Time, p: &Packet) -> bool {
        let tick = c.timestamp_clock.max(Time::from_ns(1));
        let window = if c.is_linux() { WINDOW } else { 0 };
        let (left, recent) = self.departures(now, p);
        left / tick + window < recent / tick
    }

    //= https://www.rfc-editor.org/rfc/rfc7323#section-5.3
    //# Send an acknowledgment in reply as specified in Section 3.9 of [RFC0793] and drop the segment.
    /// Drops `p` and acknowledges; what of it was there already is reported as a duplicate (tcp_send_dupack).
    #[cold]
    #[inline(never)]
    pub(super) fn reject(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        let offset = self.numbers.offset(p.seq, self.rcv_nxt).max(0) as u64;
        let end = self.end_of(p).min(self.rcv_nxt);
        if offset < end {
            if self.is_sack() {
                self.repeated(offset, end);
            }
            self.expect_repetitions(c);
        }
        self.answer(c, now, out);
    }
}
