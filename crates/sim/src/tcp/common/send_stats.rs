//! What is counted of a message at its sender.

use super::cold::{Cold, Initial};
use forebay_units::{Time, TimeOrNever};

/// What happened to a message, or on a connection that knows of none; see `booking`.
#[derive(Debug, Clone)]
pub struct SendStats {
    /// Data segments sent, retransmissions included.
    pub segs_sent: u64,
    /// Largest window, segments.
    pub cwnd_max: f64,
    /// Smallest RTT sample; never before the first.
    pub rtt_min: TimeOrNever,
    /// Sum of RTT samples.
    pub rtt_sum: Time,
    /// Number of RTT samples.
    pub rtt_count: u64,
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
    /// Those with at most three segments of the message missing.
    pub rtos_tail: u32,
    /// Entries into fast recovery.
    pub fast_retx: u32,
    /// Reductions of the window on ECE.
    pub ecn_cuts: u32,
    /// New thresholds asked of the law on a loss: in fast recovery, after a tail loss probe, and at the first timeout of a series.
    pub loss_cuts: u32,
    /// Sum of the law's alpha over `ecn_cuts`, if it has one.
    pub cut_alpha: Option<f64>,
    /// Bytes acknowledged with ECE.
    pub ce_bytes: u64,
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
        ecn_cuts: 0,
        loss_cuts: 0,
        cut_alpha: None,
        ce_bytes: 0,
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
    /// Begins anew, with the memory that there is.
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
        self.rtt_sum += rtt;
        self.rtt_count += 1;
    }
}
