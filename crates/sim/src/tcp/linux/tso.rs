//! Segmentation offload (Linux tcp_write_xmit): the interface takes new data in bursts, whose segments follow each other at line rate. All data that
//! the window allows leaves at one instant here even without offload. With offload a sender also waits for a larger burst rather than use every ACK
//! (tcp_tso_should_defer), and its interface holds whole bursts (tcp_small_queue_check).

use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{Burst, CaState, Sender};
use forebay_types::Time;

/// `tcp_min_tso_segs`.
const FEWEST: u64 = 2;
/// `bbr_min_tso_rate`, bytes per second: a congestion control that paces sends single segments below it (bbr_min_tso_segs).
const SINGLE_BELOW: u64 = 1_200_000 / 8;
/// Largest data of a buffer (sk_dst_gso_max_size): GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER and one.
const GSO_MAX_SIZE: u64 = 65_536 - 192 - 1;
/// `sk_pacing_shift`: a burst lasts 1/1024 s at the pacing rate.
const PER_SECOND: u64 = 1024;
/// `tcp_tso_rtt_log`: the part of a burst that depends on the RTT halves for every 512 us of it.
const RTT_LOG: u32 = 9;
/// `tcp_tso_win_divisor`: a third of the window is sent at once.
const WINDOW_DIVISOR: u64 = 3;
const SECOND: Time = Time::from_secs(1);
/// `NSEC_PER_MSEC` in tcp_tso_should_defer.
const MS: Time = Time::from_ms(1);

/// Reason why no buffer leaves.
pub(super) enum Stop {
    /// The congestion window has no space, or a deferred buffer waits for more of it.
    CwndLimited,
    /// Anything else.
    Other,
}

/// Largest data of a buffer, with segmentation offload.
pub(in crate::tcp) fn gso_max_size(c: &TcpConfig) -> Option<u64> {
    c.tso.map(|most| u64::from(most).min(GSO_MAX_SIZE))
}

impl Sender {
    /// Bytes of one burst in whole segments; without segmentation offload one segment.
    #[inline(always)]
    pub(in crate::tcp) fn burst_size(&self, c: &TcpConfig) -> u64 {
        gso_max_size(c).map_or(u64::from(c.mss), |most| self.tso_autosize(c, most))
    }

    /// The pacing rate for a millisecond, and a full burst of `most` bytes near peers (tcp_tso_autosize).
    fn tso_autosize(&self, c: &TcpConfig, most: u64) -> u64 {
        let segments = self.loss.sack.as_ref().map_or(0, |s| s.board.len() as u32);
        // Without an RTT the rate is without limit (tcp_update_pacing_rate).
        let rate = self.sk_pacing_rate(c, segments).0 / 8;
        if self.cc.hooks().paces()
            && let Some(longest) = self.cc.algorithm().burst_time()
        {
            // Linux tcp_tso_segs: the hook `tso_segs` replaces tcp_tso_autosize (prague_tso_segs: at least one segment).
            let bytes = (u128::from(rate) * u128::from(longest.0) / u128::from(SECOND.0)) as u64;
            return (bytes.min(most) / u64::from(c.mss)).max(1) * u64::from(c.mss);
        }
        let fewest = if self.cc.hooks().paces() && rate < SINGLE_BELOW { 1 } else { FEWEST };
        let paced = rate / PER_SECOND;
        let halvings = self.rtt.min().get().map_or(u64::from(u32::BITS), |rtt| rtt.as_us() >> RTT_LOG);
        let near = if halvings < u64::from(u32::BITS) { most >> halvings } else { 0 };
        let mss = u64::from(c.mss);
        (paced.saturating_add(near).min(most) / mss).max(fewest) * mss
    }

    /// Extent of new data that may leave now. The window of `window` bytes allows data up to stream offset `end`, burst after burst, until it is
    /// better to wait.
    pub(in crate::tcp) fn bursts(&self, c: &TcpConfig, now: Time, window: u64, end: u64) -> Burst {
        let (mss, size) = (u64::from(c.mss), self.burst_size(c));
        let (mut at, mut pipe) = (self.stream.snd_nxt(), self.pipe());
        while at < end {
            let congestion = window.saturating_sub(pipe) / mss * mss;
            let space = congestion.min(self.stream.snd_wnd_edge().saturating_sub(at));
            if space < mss.min(end - at) {
                // For less than a segment, other rules of the sender decide.
                return Burst { end, deferred: false, size };
            }
            if self.defers(c, now, at, end, congestion, size) {
                return Burst { end: at, deferred: true, size };
            }
            let burst = (space / mss * mss).clamp(mss, size).min(end - at);
            at += burst;
            pipe += burst;
        }
        Burst { end, deferred: false, size }
    }

    /// Returns true if the segment at `offset`, which leaves for the first time, belongs to the same burst as the one before.
    pub(in crate::tcp) fn continues_burst(&self, offset: u64) -> bool {
        let (first, size) = self.cold.bursts;
        size > 0 && offset > first && !(offset - first).is_multiple_of(size)
    }

    /// Returns true if a burst of up to `size` bytes at `at`, of data up to `end`, should wait. The congestion window has space for `congestion`
    /// bytes.
    fn defers(&self, c: &TcpConfig, now: Time, at: u64, end: u64, congestion: u64, size: u64) -> bool {
        let mss = u64::from(c.mss);
        // One buffer of the kernel; behind the last one nothing more comes.
        let len = (end - at).min(c.tso.map_or(mss, u64::from) / mss * mss);
        let idle = at == self.stream.snd_una() && self.flight() == 0;
        if len <= mss || idle || at > self.stream.snd_nxt() {
            return false;
        }
        // Our choice: without a scoreboard the next ACK is near.
        let oldest = self.oldest_sent().unwrap_or_else(|| now.saturating_sub(self.rtt.smoothed().get().unwrap_or(Time::ZERO)));
        self.should_defer(c, now, &Candidate { len, last: at + len >= end, congestion, most: size, oldest }).is_some()
    }

    /// Time at which the oldest segment on the scoreboard was sent.
    pub(super) fn oldest_sent(&self) -> Option<Time> {
        self.loss.sack.as_ref()?.board.first().map(|segment| segment.sent())
    }

    /// Decides whether a buffer of several segments at the end of the sent data waits for a larger burst (tcp_tso_should_defer).
    pub(super) fn should_defer(&self, c: &TcpConfig, now: Time, buffer: &Candidate) -> Option<Stop> {
        let &Candidate { len, last, congestion, most, oldest } = buffer;
        // `tcp_wstamp_ns` may be in the future with a pacer.
        let sent = self.tx.last_tx().get().map(|at| self.cold.pacer.as_ref().map_or(at, |p| p.next().max(at)));
        if self.loss.ca_state() >= CaState::Recovery || sent.is_none_or(|sent| now > sent + MS) {
            return None;
        }
        let receive = self.stream.snd_wnd_edge().saturating_sub(self.stream.snd_nxt());
        let limit = congestion.min(receive);
        if limit >= most || (!last && limit >= len) {
            return None;
        }
        let snd_wnd = self.stream.snd_wnd_edge() - self.stream.snd_una();
        if limit >= (self.cc.window.cwnd as u64 * u64::from(c.mss)).min(snd_wnd) / WINDOW_DIVISOR {
            return None;
        }
        // The next ACK, for the oldest segment, must not be too far away.
        let srtt = self.rtt.smoothed().get().unwrap_or(Time::ZERO);
        if oldest + srtt > now + (srtt / 2).min(MS) {
            return None;
        }
        if congestion < receive {
            if congestion <= len {
                return Some(Stop::CwndLimited);
            }
        } else if receive <= len {
            return Some(Stop::Other);
        }
        // Nothing follows a FIN.
        (!(last && self.stream.fin())).then_some(Stop::Other)
    }
}

/// A buffer that may wait for a larger burst.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub len: u64,
    /// It is the last one.
    pub last: bool,
    /// Bytes that the congestion window allows.
    pub congestion: u64,
    /// Bytes of the largest burst.
    pub most: u64,
    /// Time at which the oldest segment in flight was sent.
    pub oldest: Time,
}
