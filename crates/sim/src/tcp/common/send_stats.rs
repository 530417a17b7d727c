//! Counters of one message at its sender, and the messages that wait for the oldest unacknowledged one.

use super::cold_box::{Cold, Initial};
use forebay_types::{Time, TimeOrNever};
use std::collections::VecDeque;

/// A message behind the oldest unacknowledged one.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct PendingMessage {
    /// Offset behind its last byte.
    pub(in crate::tcp) end: u64,
    /// Its counters so far.
    pub(in crate::tcp) stats: SendStats,
}

/// Messages behind the oldest unacknowledged one, in order. Most connections have none.
#[derive(Debug, Clone, Default)]
#[expect(clippy::box_collection, reason = "a connection that has none carries 8 bytes instead of 32")]
pub(in crate::tcp) struct PendingMessages(pub(in crate::tcp) Option<Box<VecDeque<PendingMessage>>>);

impl PendingMessages {
    /// There are none.
    pub(in crate::tcp) const NONE: PendingMessages = PendingMessages(None);

    /// Adds a message that ends at `end`, while the window has `cwnd` segments.
    pub(in crate::tcp) fn add(&mut self, end: u64, cwnd: f64) {
        let stats = SendStats { cwnd_max: cwnd, ..SendStats::default() };
        self.0.get_or_insert_default().push_back(PendingMessage { end, stats });
    }

    /// The message in which `offset` lies.
    pub(in crate::tcp) fn at(&mut self, offset: u64) -> Option<&mut PendingMessage> {
        let list = self.0.as_mut()?;
        // A FIN behind the last byte belongs to the last message.
        let place = list.partition_point(|m| m.end <= offset).min(list.len().checked_sub(1)?);
        list.get_mut(place)
    }
}

/// Counters of a message, or of a connection without messages.
#[derive(Debug, Clone)]
pub struct SendStats {
    /// Data segments sent, retransmissions included; the largest number stands for more.
    pub segs_sent: u32,
    /// Largest window, segments.
    pub cwnd_max: f64,
    /// Smallest RTT sample; never before the first.
    pub rtt_min: TimeOrNever,
    /// Sum of RTT samples.
    pub rtt_sum: Time,
    /// Number of RTT samples in the sum.
    pub rtt_count: u32,
    /// Losses, marks and reductions of the window, which most messages do without.
    pub losses: Cold<Losses>,
}

/// Losses and marks of a message, and reductions of the window while it was sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Losses {
    /// Retransmissions.
    pub segs_retx: u64,
    /// Retransmission timeouts with data outstanding; those of SYNs are not among them.
    pub rtos: u32,
    /// Tail loss probes (RFC 8985 section 7.3).
    pub tlps: u32,
    /// Timeouts of the SYN.
    pub syn_rtos: u32,
    /// Retransmission timeouts before the first window of the message was acknowledged.
    pub rtos_head: u32,
    /// Retransmission timeouts with at most three segments of the message missing.
    pub rtos_tail: u32,
    /// Entries into fast recovery.
    pub fast_retx: u32,
    /// Reductions of the window on ECE.
    pub ecn_reductions: u32,
    /// Reductions of the threshold for a loss: in fast recovery, after a tail loss probe, and at the first timeout of a series.
    pub loss_reductions: u32,
    /// Sum of the DCTCP alpha over `ecn_reductions`, for congestion controls that have one.
    pub reduction_alpha: Option<f64>,
    /// Bytes acknowledged with ECE.
    pub ce_bytes: u64,
    /// Time in which the receive window limited the sender.
    pub rwnd_limited: Time,
    /// Time in which the send buffer limited the sender.
    pub sndbuf_limited: Time,
}

impl Initial for Losses {
    const INITIAL: &'static Losses = &Losses {
        segs_retx: 0,
        rtos: 0,
        tlps: 0,
        syn_rtos: 0,
        rtos_head: 0,
        rtos_tail: 0,
        fast_retx: 0,
        ecn_reductions: 0,
        loss_reductions: 0,
        reduction_alpha: None,
        ce_bytes: 0,
        rwnd_limited: Time::ZERO,
        sndbuf_limited: Time::ZERO,
    };
}

impl Default for SendStats {
    fn default() -> SendStats {
        SendStats {
            segs_sent: 0,
            cwnd_max: 0.0,
            rtt_min: TimeOrNever::NEVER,
            rtt_sum: Time::ZERO,
            rtt_count: 0,
            losses: Cold::default(),
        }
    }
}

impl SendStats {
    /// Sets all counters to zero and keeps the memory.
    pub(in crate::tcp) fn restart(&mut self) {
        let mut losses = std::mem::take(&mut self.losses);
        if let Some(losses) = losses.made() {
            *losses = Losses::default();
        }
        *self = SendStats { losses, ..SendStats::default() };
    }

    /// A round trip took `rtt`.
    #[inline(always)]
    pub fn note_rtt(&mut self, rtt: Time) {
        self.rtt_min = self.rtt_min.min(rtt.into());
        if let Some(count) = self.rtt_count.checked_add(1) {
            (self.rtt_sum, self.rtt_count) = (self.rtt_sum + rtt, count);
        }
    }

    /// Counts data segments that were sent.
    #[inline(always)]
    pub(in crate::tcp) fn count_sent(&mut self, segments: u64) {
        self.segs_sent = self.segs_sent.saturating_add(segments as u32);
    }
}
