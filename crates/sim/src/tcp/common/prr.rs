//! Proportional rate reduction (RFC 6937) with the slow-start reduction bound.

/// State of one reduction, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Prr {
    /// Total delivered since the reduction began.
    delivered: u64,
    /// Total sent since the reduction began.
    out: u64,
    /// Data outstanding when it began (RecoverFS).
    start_flight: u64,
    /// True for the rules of Linux below the threshold.
    linux: bool,
}

impl Prr {
    /// No reduction has begun.
    pub const NONE: Prr = Prr { delivered: 0, out: 0, start_flight: 0, linux: false };

    /// Starts a reduction with `flight` bytes outstanding.
    pub fn begin(flight: u64) -> Prr {
        Prr { delivered: 0, out: 0, start_flight: flight.max(1), linux: false }
    }

    /// Starts a reduction of Linux with a window of `cwnd` bytes (tcp_init_cwnd_reduction).
    pub fn begin_linux(cwnd: u64) -> Prr {
        Prr { linux: true, ..Prr::begin(cwnd) }
    }

    /// Notes that `bytes` were sent during the reduction.
    pub fn on_send(&mut self, bytes: u64, mss: u64) {
        self.out += if self.linux { mss } else { bytes };
    }

    //= https://www.rfc-editor.org/rfc/rfc6937#section-3
    //# sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
    /// Takes an ACK that delivered `delivered` bytes, and returns how many bytes may be sent now (section 3).
    pub fn on_ack(&mut self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        self.delivered += delivered;
        if pipe > ssthresh {
            (self.delivered * ssthresh).div_ceil(self.start_flight).saturating_sub(self.out)
        } else {
            // Slow-start reduction bound: one segment more than was delivered.
            (ssthresh - pipe).min(self.delivered.saturating_sub(self.out).max(delivered) + mss)
        }
    }

    /// Takes an ACK as Linux does (tcp_cwnd_reduction), in segments. Below the threshold, only an ACK that makes `progress` (it advanced the
    /// cumulative acknowledgment and revealed no loss) grants one segment more than it delivered. Other ACKs are packet-conserving (RFC 9937). The
    /// fast retransmission leaves through this window too. All counts but `mss` are in segments.
    pub fn on_segments(&mut self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64, progress: bool) -> u64 {
        self.delivered += delivered * mss;
        let (total, out, start) = (self.delivered / mss, self.out / mss, (self.start_flight / mss).max(1));
        let segments = if pipe > ssthresh {
            (total * ssthresh).div_ceil(start).saturating_sub(out)
        } else {
            (total.saturating_sub(out).max(delivered) + u64::from(progress)).min(ssthresh - pipe)
        };
        segments.max(u64::from(out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::each_sequence;

    /// RFC 6937 section 4: one loss in 20 segments, ssthresh 10: 19 ACKs release 10 or 11 segments, evenly spread.
    #[test]
    fn spreads_a_halving_over_the_round() {
        let mss = 1000;
        let mut prr = Prr::begin(20 * mss);
        let mut pipe = 19 * mss; // the lost segment has left
        let mut sent = Vec::new();
        for _ in 0..19 {
            pipe -= mss;
            let n = prr.on_ack(mss, pipe, 10 * mss, mss) / mss;
            prr.on_send(n * mss, mss);
            pipe += n * mss;
            sent.push(n);
        }
        let total: u64 = sent.iter().sum();
        assert!((10..=11).contains(&total), "{sent:?}");
        assert!(sent.iter().all(|&n| n <= 1), "{sent:?}");
    }

    /// All sequences of six ACKs of zero to two segments, with eight segments outstanding and one lost, for thresholds of 1 to 8. While the pipe is
    /// above the threshold, at most a proportional part of the delivered segments is sent (RFC 6937 section 3). Otherwise at most a segment more than
    /// was delivered is sent, and the pipe stays at or below the threshold.
    #[test]
    fn exhaustive_acks_send_in_proportion() {
        for ssthresh in 1..=8_u64 {
            each_sequence(3, 6, |word| {
                let (mut prr, mut pipe, mut delivered, mut out) = (Prr::begin(8), 7_u64, 0, 0);
                for letter in word {
                    let acked = u64::from(*letter).min(pipe);
                    (pipe, delivered) = (pipe - acked, delivered + acked);
                    let sent = prr.on_ack(acked, pipe, ssthresh, 1);
                    prr.on_send(sent, 1);
                    out += sent;
                    if pipe > ssthresh {
                        assert!(out <= (delivered * ssthresh).div_ceil(8), "{word:?} to {ssthresh}: {out} of {delivered}");
                    } else {
                        assert!(pipe + sent <= ssthresh, "{word:?} to {ssthresh}: {pipe} and {sent}");
                        assert!(sent <= (delivered + sent).saturating_sub(out).max(acked) + 1, "{word:?} to {ssthresh}: {sent}");
                    }
                    pipe += sent;
                }
            });
        }
    }
}
