//! HyStart (Ha and Rhee, Computer Networks 55(9), 2011) as in Linux tcp_cubic.c, in whole microseconds.

use crate::cc::{Ack, Round, Window};
use forebay_types::{Rate, Time, TimeOrNever};

/// No detection below this window, segments (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// ACKs further apart than this belong to no train, us (`hystart_ack_delta_us`).
const ACK_DELTA: u64 = 2_000;
/// Minimum number of delay samples in a round (HYSTART_MIN_SAMPLES).
const MIN_SAMPLES: u32 = 8;
/// Bounds of the delay increase that ends slow start, us (HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const DELAY: (u64, u64) = (4_000, 16_000);
/// The largest TSO packet, bytes (`sk_gso_max_size`, the same whether or not the interface has TSO): the interface's 64 KiB less a byte and
/// MAX_TCP_HEADER (sk_dst_gso_max_size). MAX_TCP_HEADER is 192 in the guest kernel of the `linux` backend, and 320 in kernels with IPv6 tunnels or
/// Hyper-V built in.
const GSO_MAX_SIZE: f64 = 65_536.0 - 1.0 - 192.0;

/// State of one connection. Times in whole microseconds, as in the kernel.
#[derive(Debug, Clone, Default)]
pub struct Hystart {
    /// Slow start has ended; no further detection until a timeout.
    found: bool,
    /// Smallest delay so far; 0 before the first.
    delay_min: u64,
    round: Round,
    round_start: u64,
    last_ack: u64,
    /// Smallest delay of the round, `None` before its first, and how many it had.
    current: Option<u64>,
    samples: u32,
    /// Smoothed RTT of the pacing rate: the one before this ACK's sample (tcp_cong_control sets the rate after pkts_acked). Never before the first
    /// ACK.
    srtt: TimeOrNever,
    /// Segments outstanding behind the last ACK, for the same rate (`packets_out`).
    outstanding: u32,
    /// The connection is paced (`sk_pacing_status`).
    paced: bool,
    /// Upper bound of its pacing rate (`sk_max_pacing_rate`).
    max_pacing_rate: Option<Rate>,
}

impl Hystart {
    /// State of a connection that paces at no more than `max_pacing_rate`, if there is one.
    pub(super) fn new(max_pacing_rate: Option<Rate>) -> Hystart {
        Hystart { paced: max_pacing_rate.is_some(), max_pacing_rate, ..Hystart::default() }
    }

    /// Notes that the queue of the host paces the connection.
    pub(super) fn pace(&mut self) {
        self.paced = true;
    }

    pub(super) fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        // cubictcp_acked: an ACK of retransmitted data is no sample.
        if let Some(rtt) = ack.newest_rtt {
            let delay = rtt.as_us().max(1);
            self.delay_min = if self.delay_min == 0 { delay } else { self.delay_min.min(delay) };
            if !self.found && w.in_slow_start() {
                self.update(w, ack, delay);
            }
        }
        (self.srtt, self.outstanding) = (ack.srtt, ((ack.snd_nxt - ack.snd_una) / u64::from(ack.mss)) as u32);
    }

    /// `hystart_update`.
    fn update(&mut self, w: &mut Window, ack: &Ack, delay_us: u64) {
        let now = ack.now.as_us();
        // Rounds are counted below the low window, too (Linux 6.14, "fix incorrect HyStart round start detection").
        if self.round.ends(ack) {
            self.begin_round(now);
        }
        if w.cwnd < LOW_WINDOW {
            return;
        }
        if now - self.last_ack <= ACK_DELTA {
            self.last_ack = now;
            // Without pacing a round's segments leave in one burst: a train as long as half the path fills it. A pacer spreads them over up to half an
            // RTT.
            let parts = if self.paced { 1 } else { 2 };
            if now - self.round_start > (self.delay_min + self.ack_delay(w, ack)) / parts {
                self.end_slow_start(w);
            }
        }
        let current = self.current.map_or(delay_us, |c| c.min(delay_us));
        self.current = Some(current);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else if current > self.delay_min + (self.delay_min / 8).clamp(DELAY.0, DELAY.1) {
            self.end_slow_start(w);
        }
    }

    fn end_slow_start(&mut self, w: &mut Window) {
        self.found = true;
        w.ssthresh = w.cwnd.into();
    }

    fn begin_round(&mut self, us: u64) {
        (self.round_start, self.last_ack) = (us, us);
        (self.current, self.samples) = (None, 0);
    }

    /// Possible effect of TSO and GRO on a train, us (`hystart_ack_delay`): four of their largest packets at the pacing rate, at most 1 ms. In
    /// recovery the outstanding segments are more than the window, and the rate follows them.
    fn ack_delay(&self, w: &Window, ack: &Ack) -> u64 {
        // Before anything has been acknowledged there is no rate.
        let Some(srtt) = self.srtt.get() else { return 0 };
        let rate = w.pacing_rate(f64::from(self.outstanding), ack.mss, Some(srtt));
        let rate = self.max_pacing_rate.map_or(rate, |most| rate.min(most));
        ((4.0 * GSO_MAX_SIZE * 8e6 / rate.0 as f64) as u64).min(1_000)
    }

    /// Linux `cubictcp_state`: clears everything.
    pub(super) fn timeout(&mut self, now: Time, snd_nxt: u64) {
        *self =
            Hystart { srtt: self.srtt, outstanding: self.outstanding, paced: self.paced, ..Hystart::new(self.max_pacing_rate) };
        self.round.begin(snd_nxt);
        self.begin_round(now.as_us());
    }
}
