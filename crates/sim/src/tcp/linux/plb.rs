//! Times at which Linux changes the path of a connection: `tcp_write_timeout`, and the calls of `tcp_plb.c` by congestion controls.

use crate::cc::Ack;
use crate::tcp::common::rehash::Rehash;
use crate::tcp::config::TcpConfig;
use crate::tcp::sender::Sender;
use forebay_experiment::topology::PathHashes;
use forebay_types::{Rng, Time};

impl Sender {
    /// Lets the sender change its path; `hashes` are those after the present one, `rng` is for suspensions.
    pub fn allow_rehash(&mut self, hashes: PathHashes, rng: Rng) {
        self.cold.rehash = Some(Box::new(Rehash::new(hashes, rng)));
    }

    /// ECMP hash of the packets.
    pub fn path_hash(&self) -> u16 {
        self.tx.template().hash
    }

    /// Draws a new hash for the packets that leave from now on.
    fn change_path(&mut self) {
        let before = self.path_hash();
        if let Some(rehash) = &mut self.cold.rehash {
            self.tx.set_path_hash(rehash.draw(before));
        }
    }

    /// Changes the path after a retransmission timeout, also one of a SYN (tcp_write_timeout).
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn change_path_after_timeout(&mut self) {
        self.change_path();
    }

    /// Suspends changes by congestion after a timeout that reduced the window (CA_EVENT_LOSS).
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn suspend_plb(&mut self, c: &TcpConfig, now: Time) {
        if let (Some(plb), Some(rehash)) = (&c.plb, &mut self.cold.rehash) {
            rehash.suspend(plb, now, c.rto_granularity);
        }
    }

    /// Changes the path if a round trip ends with this ACK and is congested like enough of those before. Precedes the congestion control's own
    /// processing of the ACK.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn check_congested_round(&mut self, c: &TcpConfig, ack: &Ack) {
        let Some(plb) = &c.plb else { return };
        let Some(marked) = self.cc.algorithm().marked_in_round(ack) else { return };
        if let Some(rehash) = &mut self.cold.rehash {
            rehash.end_round(plb, marked);
        }
        self.check_rehash(c, ack.now);
    }

    /// Changes the path if enough round trips were congested (tcp_plb_check_rehash): after each, and before data is sent after an idle time
    /// (CA_EVENT_TX_START).
    pub(in crate::tcp) fn check_rehash(&mut self, c: &TcpConfig, now: Time) {
        let idle = self.stream.snd_una() == self.stream.snd_nxt();
        if let (Some(plb), Some(rehash)) = (&c.plb, &mut self.cold.rehash)
            && rehash.is_due(plb, now, idle)
        {
            self.change_path();
        }
    }
}
