//! Time in which the receive window or the send buffer limits a sender (Linux tcp_chrono_start; `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`).
//!
//! An opportunity to send that ends at one of the two, while the congestion window has space, limits the sender until the next opportunity. This is
//! counted at the next one that ends so, and no longer than a smoothed round trip: by then the ACK of the last segment has come. A sender that the
//! congestion window limits counts nothing.

use super::Sender;
use crate::tcp::common::send_limit::Limit;
use crate::tcp::config::TcpConfig;
use forebay_types::Time;

impl Sender {
    /// Notes that an opportunity to send at `now` ended with an empty send buffer that the application cannot fill (tcp_cwnd_validate:
    /// tcp_write_queue_empty and SOCK_NOSPACE). The end of a burst, behind which written data waits, is no such end.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn note_send_buffer_limit(&mut self, c: &TcpConfig, now: Time) {
        let view = self.sender_view(c, 0);
        let blocks = self.tx.send_buffer.as_ref().is_some_and(|b| b.blocks(&view));
        if blocks && self.stream.snd_nxt() >= self.end_of_send_buffer() {
            self.note_limit(now, Limit::SendBuffer);
        }
    }

    /// Notes that an opportunity to send at `now` ended at `limit`.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn note_limit(&mut self, now: Time, limit: Limit) {
        if let Some((since, before)) = self.cold.limit.replace((now, limit)) {
            let round = self.rtt.smoothed().get().unwrap_or(Time::ZERO);
            let time = now.saturating_sub(since).min(round);
            let losses = &mut self.stats.current_mut().losses;
            match before {
                Limit::ReceiveWindow => losses.rwnd_limited += time,
                Limit::SendBuffer => losses.sndbuf_limited += time,
            }
        }
    }
}
