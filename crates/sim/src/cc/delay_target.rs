//! A delay target after Swift (Kumar et al., SIGCOMM 2020), without the delay of hosts, scaling by hops, and windows below one segment.

use super::{Ack, CongestionControl, Reduction, Round, Threshold, Window};
use forebay_types::Time;

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    ai: f64,
    beta: f64,
    max_mdf: f64,
    target: Time,
    scaling: f64,
}

/// State of one connection.
#[derive(Debug, Clone, Copy)]
pub struct DelayTarget {
    c: Config,
    round: Round,
    /// No reduction in this round trip yet.
    can_decrease: bool,
    /// The last RTT is below the target.
    is_below: bool,
}

impl DelayTarget {
    pub(super) fn new(c: &Config) -> DelayTarget {
        DelayTarget { c: *c, round: Round::default(), can_decrease: true, is_below: true }
    }

    /// RTT up to which the window grows: the smallest one, the target, and more for small windows (flow-based scaling, section 3.5), ps.
    fn target(&self, w: &Window, min_rtt: Time) -> f64 {
        min_rtt.0 as f64 + self.c.target.0 as f64 * (1.0 + self.c.scaling / w.cwnd.max(1.0).sqrt())
    }
}

impl CongestionControl for DelayTarget {
    type Sent = ();
    // `in_ack_event` would be called for ACKs that acknowledge nothing, too.
    const IN_ACK_EVENT: bool = false;

    fn pkts_acked(&mut self, w: &mut Window, ack: &Ack) {
        self.can_decrease |= self.round.ends(ack);
        // Without the wait of a delayed ACK, where the stack can tell.
        let (Some(rtt), Some(min_rtt)) = (ack.newest_rtt.or(ack.rtt), ack.min_rtt.get()) else { return };
        let (rtt, target) = (rtt.0 as f64, self.target(w, min_rtt));
        self.is_below = rtt < target;
        if !self.is_below && self.can_decrease {
            // Algorithm 1: at most once in a round trip, by the excess, at most by `max-mdf`.
            w.cwnd = (w.cwnd * (1.0 - self.c.beta * (rtt - target) / rtt).max(1.0 - self.c.max_mdf)).max(1.0);
            w.ssthresh = w.cwnd.max(2.0).into();
            self.can_decrease = false;
        }
    }

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        if !self.is_below {
            return;
        }
        // Our choice: slow start up to the first reduction. Swift starts at its additive increase.
        let rest = if w.in_slow_start() { w.slow_start(ack.grow) } else { ack.grow };
        w.cwnd += self.c.ai * rest / w.cwnd;
    }

    fn ssthresh(&mut self, w: &Window, _reduction: Reduction) -> Threshold {
        self.can_decrease = false;
        (w.cwnd * (1.0 - self.c.max_mdf)).max(2.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Trigger;
    use crate::cc::testing::{ACK, cut, page_shows};

    const CONFIG: Config = Config { ai: 1.0, beta: 0.8, max_mdf: 0.5, target: Time::from_us(25), scaling: 1.0 };

    /// An ACK with this RTT, us, in the round trip that ends at stream offset `end`. The smallest RTT is 50 us.
    fn ack(rtt: u64, snd_una: u64) -> Ack {
        Ack { rtt: Some(Time::from_us(rtt)), min_rtt: Time::from_us(50).into(), snd_una, snd_nxt: snd_una + 14_600, ..ACK }
    }

    fn start() -> (DelayTarget, Window) {
        (DelayTarget::new(&CONFIG), Window { cwnd: 16.0, ssthresh: 8.0.into() })
    }

    /// A window of 16 segments has the target 50 us + 25 us (1 + 1 / 4) = 81.25 us.
    #[test]
    fn window_grows_below_target() {
        let (mut cc, mut w) = start();
        cc.pkts_acked(&mut w, &ack(81, 1_460));
        cc.cong_avoid(&mut w, &ack(81, 1_460));
        assert_eq!(w.cwnd, 16.0 + 1.0 / 16.0);
        cc.pkts_acked(&mut w, &ack(82, 2_920));
        let before = w.cwnd;
        cc.cong_avoid(&mut w, &ack(82, 2_920));
        assert_eq!(w.cwnd, before);
    }

    #[test]
    fn one_reduction_in_a_round_trip() {
        let (mut cc, mut w) = start();
        cc.round.begin(10_000);
        cc.c.target = Time::from_us(60);
        cc.pkts_acked(&mut w, &ack(250, 1_460));
        // 50 us + 60 us (1 + 1 / 4) = 125 us, a half of 250 us.
        assert!((w.cwnd - 16.0 * 0.6).abs() < 1e-9, "{}", w.cwnd);
        let reduced = w.cwnd;
        cc.pkts_acked(&mut w, &ack(900, 2_920));
        assert_eq!(w.cwnd, reduced);
        cc.pkts_acked(&mut w, &ack(9_000, 11_000));
        assert_eq!(w.cwnd, reduced / 2.0, "at most by `max-mdf`");
    }

    /// A loss reduces by the most that a delay may, and a delay in the same round trip does not reduce again.
    #[test]
    fn loss_reduces_once_per_round_trip() {
        let (mut cc, mut w) = start();
        cc.c.max_mdf = 0.25;
        cc.round.begin(10_000);
        assert_eq!(cc.ssthresh(&w, cut(Trigger::Loss)).or_infinite(), 12.0);
        w.cwnd = 12.0;
        cc.pkts_acked(&mut w, &ack(900, 2_920));
        assert_eq!(w.cwnd, 12.0);
        cc.pkts_acked(&mut w, &ack(9_000, 11_000));
        assert_eq!(w.cwnd, 9.0);
        w.cwnd = 2.0;
        assert_eq!(cc.ssthresh(&w, cut(Trigger::Timeout)).or_infinite(), 2.0, "at least two segments (RFC 5681 equation 4)");
    }

    #[test]
    fn page_shows_this_file() {
        page_shows(include_str!("delay_target.rs"));
    }
}
