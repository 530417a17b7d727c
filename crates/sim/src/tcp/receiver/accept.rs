//! Where data of a segment go: behind the stream in order, or into what waits for something before it. Duplicates are remembered for a D-SACK.

use super::Receiver;

impl Receiver {
    /// Puts `len` bytes (and a FIN behind them) at `offset`. True if they extended the in-order stream.
    #[inline]
    pub(super) fn accept(&mut self, offset: i64, len: u64, fin: bool) -> bool {
        if offset == self.rcv_nxt as i64 && !fin && self.ooo.is_empty() && len <= self.window {
            // The usual case.
            self.rcv_nxt += len;
            return true;
        }
        self.accept_any(offset, len, fin)
    }

    #[inline(never)]
    fn accept_any(&mut self, offset: i64, len: u64, fin: bool) -> bool {
        let end = offset + len as i64 + i64::from(fin);
        if end <= self.rcv_nxt as i64 {
            if self.sack {
                self.dsack(offset.max(0) as u64, end.max(0) as u64);
            }
            return false;
        }
        let (offset, end) = (offset.max(0) as u64, end as u64);
        // Data beyond the advertised window is not accepted; only a misbehaving peer sends it.
        if end > self.rcv_nxt.saturating_add(self.window).saturating_add(1) {
            return false;
        }
        if fin {
            self.fin = end - 1;
        }
        let in_order = offset <= self.rcv_nxt;
        if self.sack {
            // RFC 2883 section 4: the part that was there already is reported (Linux tcp_ofo_queue,
            // tcp_data_queue_ofo).
            let known = if offset < self.rcv_nxt { Some((offset, self.rcv_nxt)) } else { self.ooo.known(offset, end) };
            if let Some((start, end)) = known {
                self.dsack(start, end);
            }
        }
        if in_order {
            self.rcv_nxt = if self.ooo.is_empty() { end } else { self.ooo.advance(end) };
        } else {
            self.ooo.insert(offset, end, self.linux.is_some());
        }
        in_order
    }

    /// What is at stream offsets [start, end) was there already.
    pub(super) fn dsack(&mut self, start: u64, end: u64) {
        self.ooo.dsack(self.wire((start, end)));
    }
}
