//! Scalable TCP (Kelly, ACM CCR 33(2), 2003).

use super::{Ack, CongestionControl, Reduction, Threshold, Window};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    a: f64,
    b: f64,
}

/// State of one connection: the parameters.
#[derive(Debug, Clone, Copy)]
pub struct Scalable {
    c: Config,
}

impl Scalable {
    pub(super) fn new(c: &Config) -> Scalable {
        Scalable { c: *c }
    }
}

impl CongestionControl for Scalable {
    type Sent = ();

    fn cong_avoid(&mut self, w: &mut Window, ack: &Ack) {
        let rest = if w.in_slow_start() { w.slow_start(ack.grow) } else { ack.grow };
        // Section 3.1: cwnd += a for each acknowledged segment.
        w.cwnd += self.c.a * rest;
    }

    fn ssthresh(&mut self, w: &Window, _reduction: Reduction) -> Threshold {
        // Section 3.1: cwnd -= b * cwnd.
        (w.cwnd * (1.0 - self.c.b)).max(2.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Trigger;
    use crate::cc::testing::{ACK, cut, page_shows};

    #[test]
    fn window_grows_and_shrinks() {
        let mut cc = Scalable::new(&Config { a: 0.01, b: 0.125 });
        let mut w = Window { cwnd: 16.0, ssthresh: 8.0.into() };
        cc.cong_avoid(&mut w, &Ack { grow: 2.0, ..ACK });
        assert_eq!(w.cwnd, 16.02);
        w.cwnd = 16.0;
        assert_eq!(cc.ssthresh(&w, cut(Trigger::Loss)).or_infinite(), 14.0);
    }

    #[test]
    fn page_shows_this_file() {
        page_shows(include_str!("scalable.rs"));
    }
}
