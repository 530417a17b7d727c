//! Segmentation offload (Linux tcp_write_xmit): new data is handed to the interface in bursts, whose segments follow each other at line
//! rate. All that the window allows leaves at one instant here anyway; what offload adds is that a sender waits for a larger burst rather
//! than use every ACK (tcp_tso_should_defer), and that its interface holds whole bursts (tcp_small_queue_check).

use crate::tcp::config::TcpConfig;
use crate::tcp::sender::{CaState, Sender};
use forebay_units::Time;

/// `tcp_min_tso_segs`.
const FEWEST: u64 = 2;
/// `sk_pacing_shift`: the burst is what the pacing rate sends in 1/1024 s.
const PER_SECOND: u64 = 1024;
/// `tcp_tso_rtt_log`: the part of a burst that depends on the RTT halves for every 512 us of it.
const RTT_LOG: u32 = 9;
/// `tcp_tso_win_divisor`: a third of the window is worth sending.
const WINDOW_DIVISOR: u64 = 3;
const MS: Time = Time::from_ms(1);

/// What new data may leave now.
pub(in crate::tcp) struct Burst {
    /// Up to this stream offset.
    pub end: u64,
    /// The window leaves room for more, but the sender waits until it has more still.
    pub deferred: bool,
}

impl Sender {
    /// Bytes of one burst, whole segments (tcp_tso_autosize): what the pacing rate sends in a millisecond, and near peers a full one.
    pub(in crate::tcp) fn burst_size(&self, c: &TcpConfig) -> u64 {
        let Some(most) = c.tso.map(u64::from) else { return u64::from(c.mss) };
        let segments = self.loss.sack.as_ref().map_or(0, |s| s.board.len());
        // Without an RTT the rate is without limit (tcp_update_pacing_rate).
        let paced = self.cc.window.pacing_rate(segments as f64, c.mss, self.rtt.smoothed().get()).0 / 8 / PER_SECOND;
        let halvings = self.rtt.min().get().map_or(u64::from(u32::BITS), |rtt| rtt.as_us() >> RTT_LOG);
        let near = if halvings < u64::from(u32::BITS) { most >> halvings } else { 0 };
        let mss = u64::from(c.mss);
        (paced.saturating_add(near).min(most) / mss).max(FEWEST) * mss
    }

    /// How far new data may go now, of that up to stream offset `end` which the window of `window` bytes allows: burst after burst, until
    /// the sender had better wait.
    pub(in crate::tcp) fn bursts(&self, c: &TcpConfig, now: Time, window: u64, end: u64) -> Burst {
        let (mss, size) = (u64::from(c.mss), self.burst_size(c));
        let (mut at, mut pipe) = (self.stream.snd_nxt(), self.pipe());
        while at < end {
            let congestion = window.saturating_sub(pipe) / mss * mss;
            let space = congestion.min(self.stream.snd_wnd_edge().saturating_sub(at));
            if space < mss.min(end - at) {
                // Less than a segment: for the sender's own rules.
                return Burst { end, deferred: false };
            }
            if self.defers(c, now, at, end, congestion, size) {
                return Burst { end: at, deferred: true };
            }
            let burst = (space / mss * mss).clamp(mss, size).min(end - at);
            at += burst;
            pipe += burst;
        }
        Burst { end, deferred: false }
    }

    /// Whether a burst of up to `size` bytes at `at`, of data up to `end`, had better wait, as the congestion window has room for
    /// `congestion` bytes (tcp_tso_should_defer).
    fn defers(&self, c: &TcpConfig, now: Time, at: u64, end: u64, congestion: u64, size: u64) -> bool {
        let mss = u64::from(c.mss);
        // What would be one buffer of the kernel; behind the last one nothing more comes.
        let buffer = (end - at).min(c.tso.map_or(mss, u64::from) / mss * mss);
        let (last, receive) = (at + buffer >= end, self.stream.snd_wnd_edge().saturating_sub(at));
        let limit = congestion.min(receive);
        if buffer <= mss
            || self.loss.ca_state() >= CaState::Recovery
            || self.tx.last_tx().get().is_none_or(|last| now > last + MS)
        {
            return false;
        }
        if limit >= size || (!last && limit >= buffer) {
            return false;
        }
        let window = (self.cc.window.cwnd as u64 * mss).min(self.stream.snd_wnd_edge() - self.stream.snd_una());
        if limit >= window / WINDOW_DIVISOR || (at == self.stream.snd_una() && self.flight() == 0) {
            return false;
        }
        // The next ACK, for the oldest segment, is too far away. Our choice: without a list of segments it is taken to be near.
        let oldest = self.loss.sack.as_ref().and_then(|s| s.board.iter().next()).map(|seg| seg.sent());
        let srtt = self.rtt.smoothed().get().unwrap_or(Time::ZERO);
        let expected = oldest.map_or(now, |sent| sent + srtt);
        if at > self.stream.snd_nxt() || expected > now + (srtt / 2).min(MS) {
            return false;
        }
        let scarce = if congestion < receive { congestion } else { receive };
        scarce <= buffer || !(last && self.stream.fin())
    }
}
