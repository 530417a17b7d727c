//! Retransmissions that are joined with the segments behind them (Linux tcp_retrans_try_collapse, `net.ipv4.tcp_retrans_collapse`).

use crate::tcp::common::scoreboard::SACKED;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::Sender;
use forebay_types::Time;

impl Sender {
    /// Joins the segments behind that at `index`, which is about to be retransmitted, if all of them fit into one segment, and the receiver's window has
    /// space for them (tcp_retrans_try_collapse). None of them may be SACKed, or wait in the queue of the host (tcp_can_collapse). So a short message
    /// takes those behind it along, and the end of the data takes the FIN. Our choice: all outstanding segments behind it are joined, or none.
    #[inline]
    pub(in crate::tcp) fn retrans_try_collapse(&mut self, c: &TcpConfig, now: Time, index: usize) {
        if c.is_linux()
            && let Some(s) = &self.loss.sack
            && index + 1 < s.board.len()
            && (s.board.get(index).len < c.mss || self.stream.fin())
        {
            self.collapse_behind(c, now, index);
        }
    }

    #[cold]
    #[inline(never)]
    fn collapse_behind(&mut self, c: &TcpConfig, now: Time, index: usize) {
        let Some(s) = &mut self.loss.sack else { return };
        let (first, written) = (s.board.get(index).start, self.stream.written());
        let end = s.board.get(s.board.len() - 1).end();
        let available = u64::from(c.mss).min(self.stream.snd_wnd_edge().saturating_sub(first));
        // The length of a buffer does not include the FIN.
        let fits =
            end.min(written).saturating_sub(first) <= available && s.board.get(index).end().min(written) - first < available;
        if !fits || end > self.stream.snd_wnd_edge() || self.cold.tag.is_some() {
            return;
        }
        let seq = self.tx.numbers().wire(first);
        let waits = self.tx.tsq.as_ref().is_some_and(|q| q.holds_from(now, seq));
        if !waits && (index + 1..s.board.len()).all(|other| !s.board.get(other).is(SACKED)) {
            s.board.collapse_tail(index);
        }
    }
}
