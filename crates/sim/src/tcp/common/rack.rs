//! State of time-based loss detection and of tail loss probes (RFC 8985), and the rules that depend on nothing else.

use super::rtt::Rtt;
use super::scoreboard::{EVER_RETX, Scoreboard, Seg, Ties};
use crate::tcp::config::TcpConfig;
use forebay_types::Time;
use std::num::NonZeroU64;

/// Largest degree of reordering in segments (Linux `tcp_max_reordering`).
pub(in crate::tcp) const MAX_REORDERING: u32 = 300;

/// Number of recoveries for which a wider reordering window stays (TCP_RACK_RECOVERY_THRESH), and its largest width in Linux, in quarters of an RTT.
const PERSISTS: u32 = 16;
const MOST_STEPS: u32 = 255;

/// Change of the reordering window of Linux at the next ACK that delivers something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(in crate::tcp) enum Pending {
    /// No change.
    #[default]
    Nothing,
    /// The window grows, because a D-SACK came (`dsack_seen`).
    Widen,
    /// The window is a quarter of the smallest RTT again, because no D-SACK came for long (`reo_wnd_persist` is 0).
    Narrow,
}

/// RACK's and TLP's variables (RFC 8985 sections 5.2 and 7.1). Positions are stream offsets.
#[derive(Debug, Clone, Default)]
pub struct Rack {
    /// Send time of the most recently sent segment that was delivered.
    xmit: Time,
    /// Its end.
    end: u64,
    /// RTT of that delivery.
    pub(crate) rtt: Time,
    /// Highest offset delivered.
    fack: u64,
    /// True if data was delivered since the last search for losses (Linux `rack.advanced`).
    pub(in crate::tcp) advanced: bool,
    reordering_seen: bool,
    /// Degree of reordering in segments, if it was more than the duplicate ACK threshold (Linux `reordering`); else 0.
    pub(crate) far: u32,
    /// Multiplier of the reordering window, minus one.
    extra: u32,
    persist: u32,
    /// Number of duplicates that were reported (Linux `dsack_dups`).
    duplicates: u32,
    /// D-SACKs count again when this offset is acknowledged.
    dsack_round: u64,
    /// Linux: pending change of the reordering window, and the time of the last D-SACK that widened it (the kernel uses `last_delivered`).
    pub(in crate::tcp) pending: Pending,
    widened: Time,
    /// `snd_nxt` when the outstanding probe was sent.
    pub(crate) probe_end: Option<NonZeroU64>,
    /// True if the probe was a retransmission.
    pub(crate) probe_is_retx: bool,
}

impl Rack {
    /// Returns true if the state equals that of a new sender for which everything up to `snd_una` is acknowledged, except for the RTT.
    pub(in crate::tcp) fn is_initial(&self, snd_una: u64) -> bool {
        debug_assert!(self.fack == snd_una, "all has been delivered");
        let busy = self.reordering_seen || self.probe_end.is_some();
        !busy && self.pending == Pending::Nothing && self.far | self.extra | self.persist | self.duplicates == 0
    }

    /// Restores the state of a sender for which everything up to `snd_una` is acknowledged. The time of the last delivery is lost, but all later
    /// segments are newer.
    pub(in crate::tcp) fn resume(&mut self, rtt: Time, snd_una: u64) {
        (self.rtt, self.fack) = (rtt, snd_una);
    }

    /// Highest offset delivered.
    pub(in crate::tcp) fn highest(&self) -> u64 {
        self.fack
    }

    /// Notes that a segment was newly acknowledged or SACKed (sections 6.2 steps 2 and 3), after data up to `beyond`.
    pub fn on_delivered(&mut self, seg: &Seg, now: Time, min_rtt: Option<Time>, beyond: u64) {
        // A retransmission may still be in the queue of the host when its original is acknowledged (tcp_stamp_us_delta).
        let rtt = now.saturating_sub(seg.sent());
        let retransmitted = seg.is(EVER_RETX);
        if seg.end() >= beyond {
            self.fack = self.fack.max(seg.end());
        } else if !retransmitted {
            self.reordering_seen = true;
        }
        // A retransmission acknowledged faster than any RTT: it was the original that arrived.
        if retransmitted && min_rtt.is_none_or(|least| rtt < least) {
            return;
        }
        self.advanced = true;
        // The RTT is that of the newest delivery, also of a segment sent before others that were delivered (RACK.rtt, section 6.2 step 2).
        self.rtt = rtt;
        if (seg.sent(), seg.end()) > (self.xmit, self.end) || self.end == 0 {
            (self.xmit, self.end) = (seg.sent(), seg.end());
        }
    }

    /// Takes several newly acknowledged segments, of which `last` is the last. Each was sent once, none before one that had been delivered, and
    /// nothing beyond the cumulative ACK was delivered. No search for losses is necessary.
    #[inline(always)]
    pub(in crate::tcp) fn on_delivered_in_order(&mut self, last: &Seg, now: Time) {
        debug_assert!(last.end() >= self.fack && (last.sent(), last.end()) >= (self.xmit, self.end));
        (self.xmit, self.end, self.fack) = (last.sent(), last.end(), last.end());
        self.rtt = now - last.sent();
        self.advanced = false;
    }

    /// Returns true if packets have been out of order.
    pub(in crate::tcp) fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }

    /// Notes that the segment at `late` was delivered after data behind it: SACKed data, or data up to `snd_una`.
    pub(in crate::tcp) fn note_late(&mut self, board: &Scoreboard, snd_una: u64, late: u64, c: &TcpConfig) {
        self.note_reordering(board.behind_sacked().unwrap_or(snd_una).saturating_sub(late), c);
    }

    /// Notes that packets are out of order by `distance` bytes (Linux tcp_check_sack_reordering).
    pub(in crate::tcp) fn note_reordering(&mut self, distance: u64, c: &TcpConfig) {
        if distance == 0 {
            return;
        }
        self.reordering_seen = true;
        if distance > u64::from(self.far.max(c.dup_thresh) * c.mss) {
            self.far = (distance.div_ceil(c.mss.into()) as u32).min(MAX_REORDERING);
        }
    }

    /// Counts segments that are reported as duplicates. Returns true if our `repetitions` retransmissions can explain all of them.
    pub(in crate::tcp) fn count_duplicates(&mut self, segments: u32, repetitions: u64) -> bool {
        self.duplicates += segments;
        u64::from(self.duplicates) <= repetitions
    }

    /// Widens the reordering window for a D-SACK, once per round trip (section 6.2 step 4).
    pub fn on_dsack(&mut self, snd_una: u64, snd_nxt: u64) {
        if snd_una >= self.dsack_round {
            self.dsack_round = snd_nxt;
            self.extra += 1;
            self.persist = PERSISTS;
        }
    }

    /// Linux: the window grows with the next ACK that delivers data which was sent after the last growth (tcp_dsack_seen).
    pub(in crate::tcp) fn note_dsack(&mut self) {
        self.pending = Pending::Widen;
    }

    /// Linux: takes an ACK that delivered segments, of which the last one left at `sent` (tcp_rack_update_reo_wnd; `prior_delivered` is the state at
    /// that time).
    pub(in crate::tcp) fn widen(&mut self, now: Time, sent: Time) {
        match std::mem::take(&mut self.pending) {
            Pending::Nothing => {}
            Pending::Widen if sent >= self.widened => {
                self.extra = (self.extra + 1).min(MOST_STEPS - 1);
                (self.persist, self.widened) = (PERSISTS, now);
            }
            Pending::Widen | Pending::Narrow if self.persist == 0 => self.extra = 0,
            Pending::Widen | Pending::Narrow => {}
        }
    }

    /// Keeps the reordering window for longer, after all retransmissions of an episode were reported as duplicates (tcp_try_undo_dsack).
    pub(in crate::tcp) fn persist_longer(&mut self) {
        self.persist = (self.persist + 1).min(PERSISTS);
    }

    /// Counts a recovery. After 16 of them without D-SACK the window is a quarter of the smallest RTT again; `linux`: with the next ACK.
    pub fn on_recovery_end(&mut self, linux: bool) {
        self.persist = self.persist.saturating_sub(1);
        match (self.persist, linux, self.pending) {
            (0, false, _) => self.extra = 0,
            (0, true, Pending::Nothing) if self.extra > 0 => self.pending = Pending::Narrow,
            _ => {}
        }
    }

    /// Reordering window: time to wait for reordered segments (section 6.2 step 4).
    pub fn reordering_window(&self, rtt: &Rtt, recovering: bool, sacked_segs: u32, c: &TcpConfig) -> Time {
        if !self.reordering_seen && (recovering || (c.dup_thresh > 0 && sacked_segs >= c.dup_thresh)) {
            return Time::ZERO;
        }
        let srtt = rtt.smoothed().get().unwrap_or(Time::ZERO);
        // Whole microseconds, as the RTTs of Linux (tcp_rack_reo_wnd).
        let quarter = |min: Time| if c.is_linux() { Time::from_us((min / 4).as_us()) } else { min / 4 };
        rtt.min().get().map_or(srtt, |min| (quarter(min) * u64::from(1 + self.extra)).min(srtt))
    }

    /// Returns true if the oldest outstanding segment was sent after the newest delivered one, so that no segment can be lost yet.
    #[inline]
    pub fn nothing_older(&self, board: &Scoreboard) -> bool {
        board.first().is_none_or(|seg| !seg.is(EVER_RETX) && (seg.sent(), seg.end()) >= (self.xmit, self.end))
    }

    /// Marks segments as lost that were sent long enough before one that was delivered (section 6.2 step 5). Returns the time to wait for segments
    /// that may still be reordered. `linux`: the age of a segment counts once, and the search is that of tcp_rack_detect_loss.
    pub fn detect(&self, board: &mut Scoreboard, now: Time, wait: Time, linux: bool) -> Option<Time> {
        board.pass(self.xmit, self.end, Ties::of(linux));
        let patience = self.rtt + wait;
        while let Some(index) = board.oldest_candidate()
            && board.get(index).sent() + patience <= now
        {
            if linux {
                board.give_up(index);
            } else {
                board.mark_lost(index);
            }
        }
        board.youngest_candidate().map(|index| board.get(index).sent() + patience - now)
    }

    /// Checks if an ACK settles the outstanding probe (section 7.4.2). Returns true if the probe repaired a loss, to which the congestion control
    /// must react.
    pub fn settle_probe(&mut self, snd_una: u64, plain_duplicate: bool, dsack_end: Option<u64>) -> bool {
        let Some(end) = self.probe_end.map(NonZeroU64::get) else { return false };
        if snd_una < end {
            return false;
        }
        let duplicate = dsack_end == Some(end);
        let repaired = self.probe_is_retx && !duplicate && snd_una > end;
        if !self.probe_is_retx || duplicate || snd_una > end || plain_duplicate {
            self.probe_end = None;
        }
        repaired
    }
}
