//! Nagle's algorithm (RFC 896, RFC 9293 section 3.7.4; Linux tcp_nagle_test). Data that waits joins the next segment, because segments are cut from
//! the stream when they leave.

use super::Sender;
use crate::tcp::config::TcpConfig;

impl Sender {
    //= https://www.rfc-editor.org/rfc/rfc9293#section-3.7.4
    //# If there is unacknowledged data (i.e., SND.NXT > SND.UNA), then the sending TCP endpoint buffers all user data
    //# (regardless of the PSH bit) until the outstanding data has been acknowledged or until the TCP endpoint can send a
    //# full-sized segment
    /// Returns true if the next segment, of `len` bytes, must wait for more data or for an ACK. Only a short segment without FIN at the end of the
    /// written data waits. Linux lets it leave unless another short one is outstanding (Minshall's variant). Probes of the tail do not come here
    /// (TCP_NAGLE_OFF in tcp_send_loss_probe), and what was sent before does not wait again.
    #[inline(always)]
    pub(in crate::tcp) fn nagle_holds(&self, c: &TcpConfig, len: u64) -> bool {
        len < u64::from(c.mss) && c.nagle && self.nagle_holds_short(c, len)
    }

    /// Returns true if a short segment must wait, for senders with buffers of several segments (tcp_nagle_check): one that ends the last buffer, and the
    /// end of a burst that the windows cut (tcp_mss_split_point).
    pub(in crate::tcp) fn nagle_check(&self, c: &TcpConfig) -> bool {
        let s = &self.stream;
        let short = self.loss.sack.as_ref().is_some_and(|sack| sack.snd_sml > s.snd_una());
        c.nagle && short && s.snd_nxt() >= s.snd_max() && !self.frto_sends_new()
    }

    #[inline(never)]
    fn nagle_holds_short(&self, c: &TcpConfig, len: u64) -> bool {
        let s = &self.stream;
        let waits = match &self.loss.sack {
            // tcp_minshall_check.
            Some(sack) if c.is_linux() => sack.snd_sml > s.snd_una(),
            _ => s.snd_nxt() > s.snd_una(),
        };
        waits && s.snd_nxt() + len == s.written() && !s.fin() && s.snd_nxt() >= s.snd_max() && !self.frto_sends_new()
    }
}
