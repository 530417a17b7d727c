//! Changes of a sender's path: a new ECMP hash after a timeout (Linux `sk_rethink_txhash`) or after congested round trips (`tcp_plb.c`).

use forebay_experiment::plb::Plb;
use forebay_experiment::topology::PathHashes;
use forebay_types::{Rng, Time, TimeOrNever};

/// State of a sender that may change its path.
#[derive(Debug, Clone)]
pub(in crate::tcp) struct Rehash {
    hashes: PathHashes,
    /// Random numbers of suspensions.
    rng: Rng,
    /// Consecutive congested round trips (`consec_cong_rounds`).
    congested_rounds: u8,
    /// End of the suspension (`pause_until`); never before the first timeout.
    suspended_until: TimeOrNever,
}

impl Rehash {
    /// State of a new connection.
    pub(in crate::tcp) fn new(hashes: PathHashes, rng: Rng) -> Rehash {
        Rehash { hashes, rng, congested_rounds: 0, suspended_until: TimeOrNever::NEVER }
    }

    /// Draws the hash after `before`.
    pub(in crate::tcp) fn draw(&mut self, before: u16) -> u16 {
        self.hashes.after(before)
    }

    /// Counts a round trip in which this share of the segments was marked, in 1/256 (`tcp_plb_update_state`).
    pub(in crate::tcp) fn end_round(&mut self, plb: &Plb, marked: u16) {
        if marked < plb.cong_thresh {
            self.congested_rounds = 0;
        } else if self.congested_rounds < plb.rehash_rounds {
            self.congested_rounds += 1;
        }
    }

    /// Returns true if the path is to change now, and begins a new count of round trips (`tcp_plb_check_rehash`). `idle`: nothing is outstanding.
    pub(in crate::tcp) fn is_due(&mut self, plb: &Plb, now: Time, idle: bool) -> bool {
        let after_idle = idle && plb.idle_rehash_rounds > 0 && self.congested_rounds >= plb.idle_rehash_rounds;
        if self.congested_rounds < plb.rehash_rounds && !after_idle {
            return false;
        }
        if self.suspended_until.get().is_some_and(|end| now < end) {
            return false;
        }
        self.congested_rounds = 0;
        true
    }

    /// Suspends changes by congestion after a timeout, which has changed the path (`tcp_plb_update_state_upon_rto`). `tick` is that of the kernel's clock.
    pub(in crate::tcp) fn suspend(&mut self, plb: &Plb, now: Time, tick: Time) {
        self.congested_rounds = 0;
        let ticks = plb.suspension().0 / tick.0;
        self.suspended_until = match ticks {
            0 => TimeOrNever::NEVER,
            _ => (now - now % tick + tick * (ticks + self.rng.below(ticks))).into(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::network::Network;
    use forebay_experiment::topology::Fib;
    use forebay_types::NodeId;

    const TICK: Time = Time::from_ms(1);
    const PLB: Plb = Plb { idle_rehash_rounds: 2, rehash_rounds: 4, suspend_rto_sec: 60, cong_thresh: 128 };

    fn state() -> Rehash {
        let fib = Fib::new(&Network::default()).unwrap();
        Rehash::new(fib.path_hashes(0, NodeId::new(0), NodeId::new(1)), Rng::stream(1, &[]))
    }

    /// tcp_plb_update_state, tcp_plb_check_rehash: consecutive rounds count, fewer of them if nothing is outstanding.
    #[test]
    fn congested_rounds_are_consecutive() {
        let mut s = state();
        let mut round = |marked, idle| {
            s.end_round(&PLB, marked);
            s.is_due(&PLB, Time::ZERO, idle)
        };
        let busy = [128, 128, 256, 127, 128, 200, 128].map(|marked| round(marked, false));
        assert_eq!(busy, [false; 7]);
        assert!(round(128, false));
        assert_eq!([round(128, true), round(128, true), round(256, false), round(0, true)], [false, true, false, false]);
    }

    /// tcp_plb_update_state_upon_rto: 60 to 120 s without a change.
    #[test]
    fn timeout_suspends_changes() {
        let mut s = state();
        let congest = |s: &mut Rehash| (0..4).for_each(|_| s.end_round(&PLB, 256));
        congest(&mut s);
        s.suspend(&PLB, Time::from_secs(1), TICK);
        assert!(!s.is_due(&PLB, Time::from_secs(121), false), "the rounds before the timeout do not count");
        congest(&mut s);
        assert!(!s.is_due(&PLB, Time::from_secs(60), false));
        assert!(s.is_due(&PLB, Time::from_secs(121), false));
    }
}
