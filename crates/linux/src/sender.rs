//! State of a sender, reconstructed from its packets and samples: the bytes sent, the window and the recovery.

use crate::message::Messages;
use crate::protocol::{NEVER, NONE, Packet, Tcp, Timer, flag, timer};
use forebay_experiment::cc_state::CcState;
use forebay_experiment::rows::{TcpRow, TimeoutKind};

/// Values of `ca_state`, as the kernel numbers them (`enum tcp_ca_state`).
mod ca {
    pub(super) const DISORDER: u8 = 1;
    pub(super) const CWR: u8 = 2;
    pub(super) const RECOVERY: u8 = 3;
}

/// Sender state derived from its packets and the guest's samples.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    /// Initial sequence number, once the SYN has left.
    isn: Option<u32>,
    /// Highest stream offset sent so far; and before the instant of `high_since`, in which the last packets left.
    high: u64,
    high_before: u64,
    high_since: u64,
    /// Stream offset up to which all is acknowledged.
    una: u64,
    /// Congestion window, segments.
    cwnd: u32,
    ca_state: u8,
    /// End of the reduction that a mark has caused, as the kernel's `high_seq`.
    reduction_end: u64,
    /// Times in which the receive window and the send buffer limited it so far, us.
    limited: (u64, u64),
}

impl Sender {
    /// A sender without packets, with a window of `cwnd` segments.
    pub(crate) fn new(cwnd: u32) -> Sender {
        Sender { isn: None, high: 0, high_before: 0, high_since: 0, una: 0, cwnd, ca_state: 0, reduction_end: 0, limited: (0, 0) }
    }

    /// The congestion window, segments.
    pub(crate) fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Stream offset of its last cumulative ACK.
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// Stream offset of the first byte of a data packet. Sequence numbers have 32 bits: it is the one nearest to what was sent last.
    pub(crate) fn offset(&self, seq: u32) -> u64 {
        let first = self.isn.unwrap_or(seq).wrapping_add(1);
        let ahead = seq.wrapping_sub(first).wrapping_sub(self.high as u32).cast_signed();
        self.high.saturating_add_signed(i64::from(ahead))
    }

    /// Its stream begins behind this sequence number, that of a SYN-ACK.
    pub(crate) fn begin(&mut self, isn: u32) {
        self.isn = Some(isn);
    }

    /// The sender sends `p`, in segments of at most `mss` bytes.
    pub(crate) fn sent(&mut self, p: &Packet, mss: u32, messages: &mut Messages) {
        if p.tcp_flags & flag::SYN != 0 {
            self.isn = Some(p.seq);
        }
        if p.payload == 0 {
            return;
        }
        let begin = self.offset(p.seq);
        let end = begin + u64::from(p.payload);
        let again = begin < self.high;
        let segments = u64::from(p.payload.div_ceil(mss));
        let stats = messages.stats_at(begin);
        stats.segs_sent += segments;
        stats.segs_retx += if again { segments } else { 0 };
        if p.time != self.high_since {
            (self.high_before, self.high_since) = (self.high, p.time);
        }
        self.high = self.high.max(end);
    }

    /// Its state after an ACK.
    pub(crate) fn acked(&mut self, t: &Tcp, messages: &mut Messages) {
        if t.ece != 0 && t.acked > self.una {
            messages.count_marked(self.una, t.acked);
        }
        self.una = self.una.max(t.acked);
        self.cwnd = t.cwnd;
        let oldest = messages.oldest_stats();
        oldest.cwnd_max = oldest.cwnd_max.max(t.cwnd);
        oldest.rwnd_limited_us += t.rwnd_limited_us.saturating_sub(self.limited.0);
        oldest.sndbuf_limited_us += t.sndbuf_limited_us.saturating_sub(self.limited.1);
        self.limited = (t.rwnd_limited_us, t.sndbuf_limited_us);
        if t.rtt_us != NONE {
            oldest.sample(t.rtt_us);
        }
        let stats = messages.stats_at(self.una);
        let before = self.ca_state;
        if t.ca_state == ca::RECOVERY && before != ca::RECOVERY {
            stats.fast_retx += 1;
            // tcp_enter_recovery: a reduction that has begun is not made again.
            stats.loss_reductions += u32::from(before <= ca::DISORDER);
        }
        // tcp_fastretrans_alert holds a reduction until something above its end is acknowledged, and until then tcp_enter_cwr does nothing; then
        // the next mark begins another.
        let again = before == ca::CWR && t.ece != 0 && self.una > self.reduction_end;
        if t.ca_state == ca::CWR && (before != ca::CWR || again) {
            stats.ecn_reductions += 1;
            if t.alpha != NONE {
                *stats.reduction_alpha.get_or_insert(0.0) += f64::from(t.alpha) / 1024.0;
            }
            self.reduction_end = if self.high_since == t.time { self.high_before } else { self.high };
        }
        self.ca_state = t.ca_state;
    }

    /// Its timer expired. Classifies the timeout by the data that was outstanding.
    pub(crate) fn timer(&mut self, t: &Timer, mss: u32, messages: &mut Messages) -> Option<TimeoutKind> {
        let (una, state) = (self.una, self.ca_state);
        let place = messages.first().map(|m| {
            if una < m.begin.saturating_add(m.first_window) {
                TimeoutKind::Head
            } else if m.end.is_some_and(|end| una + 3 * u64::from(mss) >= end) {
                TimeoutKind::Tail
            } else {
                TimeoutKind::Other
            }
        });
        let stats = messages.oldest_stats();
        match t.kind {
            timer::SYN => {
                stats.syn_rtos += 1;
                Some(TimeoutKind::Syn)
            }
            timer::PROBE => {
                stats.tlps += 1;
                Some(TimeoutKind::Probe)
            }
            timer::RTO => {
                let kind = place.unwrap_or_default();
                stats.rtos += 1;
                stats.rtos_head += u32::from(kind == TimeoutKind::Head);
                stats.rtos_tail += u32::from(kind == TimeoutKind::Tail);
                // tcp_enter_loss: a new threshold, unless a reduction is under way.
                stats.loss_reductions += u32::from(state <= ca::DISORDER);
                Some(kind)
            }
            timer::REORDERING => Some(TimeoutKind::Reordering),
            // A closed window is no loss.
            _ => None,
        }
    }
}

/// The row of the series of senders' states.
pub(crate) fn row(t: &Tcp, conn_id: u64) -> TcpRow {
    const US: u64 = crate::message::US;
    TcpRow {
        time_ps: t.time,
        conn_id,
        cwnd: f64::from(t.cwnd),
        ssthresh: (t.ssthresh != NONE).then(|| f64::from(t.ssthresh)),
        unacked_bytes: u64::from(t.unacked),
        srtt_ps: (t.srtt_us8 > 0).then(|| u64::from(t.srtt_us8) * US / 8),
        rto_ps: u64::from(t.rto_us) * US,
        alpha: (t.alpha != NONE).then(|| f64::from(t.alpha) / 1024.0),
        bytes_acked: t.acked,
        retrans: u64::from(t.total_retrans),
        ca_state: t.ca_state,
        cc: cc_state(t),
    }
}

/// The kernel's gains of BBR (tcp_bbr.c, `BBR_UNIT` is 256).
mod bbr {
    /// `bbr_drain_gain`.
    pub(super) const DRAIN_PACING: u16 = 88;
    /// `bbr_cwnd_gain`, of ProbeBW.
    pub(super) const PROBE_BW_CWND: u16 = 512;
    /// `BBR_UNIT`, of ProbeRTT.
    pub(super) const PROBE_RTT_CWND: u16 = 256;
}

/// State of BBR, as far as the kernel reports it (`struct tcp_bbr_info`). The gains show the state (bbr_update_gains).
fn cc_state(t: &Tcp) -> CcState {
    let mut state = CcState::default();
    if t.bbr_bw == NEVER {
        return state;
    }
    state.state(match (t.bbr_cwnd_gain, t.bbr_pacing_gain) {
        (bbr::PROBE_BW_CWND, _) => "ProbeBW",
        (bbr::PROBE_RTT_CWND, _) => "ProbeRTT",
        (_, bbr::DRAIN_PACING) => "Drain",
        _ => "Startup",
    });
    state.whole("pacing_rate_bps", t.pacing_rate.saturating_mul(8));
    state.whole("bw_bps", t.bbr_bw.saturating_mul(8));
    if t.bbr_min_rtt != NONE {
        state.whole("min_rtt_ns", u64::from(t.bbr_min_rtt) * 1_000);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, Stats};
    use crate::testing::{data, tcp};
    use forebay_types::Time;

    fn messages(end: u64, first_window: u64) -> Messages {
        let mut all = Messages::default();
        let stats = Stats::default();
        let m = Message {
            begin: 0,
            end: Some(end),
            start: Time(0),
            delivered: None,
            query: None,
            deadline: Time::NEVER,
            first_window,
            stats,
        };
        all.push(m, 10);
        all
    }

    #[test]
    fn retransmissions_detected_across_sequence_wrap() {
        let mut all = messages(1 << 40, 0);
        let mut s = Sender::new(10);
        let isn = u32::MAX - 2_000;
        s.sent(&Packet { tcp_flags: flag::SYN, payload: 0, ..data(isn, 0, 1) }, 1_000, &mut all);
        for (i, begin) in [0u32, 1_000, 2_000, 3_000, 1_000, 4_000].into_iter().enumerate() {
            s.sent(&data(isn.wrapping_add(1).wrapping_add(begin), 1_000, i as u64), 1_000, &mut all);
        }
        assert_eq!((s.high, all.first().unwrap().stats.segs_sent, all.first().unwrap().stats.segs_retx), (5_000, 6, 1));
    }

    #[test]
    fn marks_of_one_window_reduce_once() {
        let mut all = messages(1 << 20, 0);
        let mut s = Sender::new(10);
        s.sent(&Packet { tcp_flags: flag::SYN, payload: 0, ..data(0, 0, 0) }, 1_000, &mut all);
        (0..4).for_each(|i| s.sent(&data(1 + i * 1_000, 1_000, 10), 1_000, &mut all));
        let ack = |time, acked, ca_state, ece| Tcp { time, acked, ca_state, ece, alpha: 512, ..tcp() };
        s.acked(&ack(20, 1_000, 2, 1), &mut all);
        s.sent(&data(4_001, 1_000, 20), 1_000, &mut all);
        s.acked(&ack(30, 3_000, 2, 1), &mut all);
        // All that had been sent when it began: the echo is there until the receiver has seen CWR, which comes behind that.
        s.acked(&ack(40, 4_000, 2, 1), &mut all);
        assert_eq!(all.first().unwrap().stats.ecn_reductions, 1);
        s.acked(&ack(50, 5_000, 2, 1), &mut all);
        let stats = &all.first().unwrap().stats;
        assert_eq!((stats.ecn_reductions, stats.reduction_alpha, stats.ce_bytes), (2, Some(1.0), 5_000));
    }

    #[test]
    fn limits_add_up_over_messages() {
        let mut all = messages(100_000, 10_000);
        let mut s = Sender::new(10);
        for (rwnd_limited_us, sndbuf_limited_us) in [(0, 0), (700, 0), (900, 50), (900, 80)] {
            s.acked(&Tcp { acked: 1_000, rwnd_limited_us, sndbuf_limited_us, ..tcp() }, &mut all);
        }
        let stats = &all.first().unwrap().stats;
        assert_eq!((stats.rwnd_limited_us, stats.sndbuf_limited_us), (900, 80));
    }

    #[test]
    fn gains_show_state_of_bbr() {
        let of = |bbr_pacing_gain, bbr_cwnd_gain| {
            let t = Tcp { bbr_bw: 1_000_000, bbr_min_rtt: 40_000, bbr_pacing_gain, bbr_cwnd_gain, ..tcp() };
            let state = row(&t, 0).cc;
            assert_eq!((state.int("bw_bps"), state.int("min_rtt_ns")), (Some(8_000_000), Some(40_000_000)));
            state.text("cc_state").unwrap()
        };
        // bbr_high_gain is 739.
        let states = [of(739, 739), of(88, 739), of(320, 512), of(192, 512), of(256, 512), of(256, 256)];
        assert_eq!(states, ["Startup", "Drain", "ProbeBW", "ProbeBW", "ProbeBW", "ProbeRTT"]);
        assert_eq!(row(&tcp(), 0).cc.text("cc_state"), None);
    }

    #[test]
    fn timeouts_are_head_tail_or_middle() {
        let mut all = messages(100_000, 10_000);
        let mut s = Sender::new(10);
        let timer = |kind| Timer { time: 5, conn: 0, kind, rto_us: 200_000, backoff: 0, packets_out: 1, pad: 0 };
        let mut at = |acked, kind| {
            s.acked(&Tcp { acked, ..tcp() }, &mut all);
            s.timer(&timer(kind), 1_000, &mut all)
        };
        assert_eq!(at(9_000, timer::RTO), Some(TimeoutKind::Head));
        assert_eq!(at(10_000, timer::RTO), Some(TimeoutKind::Other));
        assert_eq!(at(97_000, timer::RTO), Some(TimeoutKind::Tail));
        assert_eq!(at(97_000, timer::PROBE), Some(TimeoutKind::Probe));
        assert_eq!(at(97_000, timer::REORDERING), Some(TimeoutKind::Reordering));
        assert_eq!(at(97_000, timer::PERSIST), None);
        let stats = &all.first().unwrap().stats;
        assert_eq!((stats.rtos, stats.rtos_head, stats.rtos_tail, stats.tlps), (3, 1, 1, 1));
    }
}
