//! Stateless arithmetic of the shim: the window field and its checksum, the verdict on a train of probes, and the resulting window. The kernel
//! program has the same test vectors.

use super::config::Config;
use super::rules::Rules;

/// Returns true if sequence number `a` is after `b` (modulo 2^32).
#[inline]
pub fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The later of two sequence numbers.
#[inline]
pub fn later(a: u32, b: u32) -> u32 {
    if after(a, b) { a } else { b }
}

/// Window field that limits a segment whose sender announced `shift` to `limit` bytes: never larger than `field`, never 0 for a window that
/// was open, rounded up to the granularity of the scale (ProBoSCIS 2.3).
#[inline]
pub fn limited(field: u16, limit: u64, shift: u8) -> u16 {
    let units = limit.div_ceil(1 << shift).max(1);
    u64::from(field).min(units) as u16
}

/// Verdict of the receiving shim on the newest train of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verdict {
    /// No SYN-ACK has been judged.
    #[default]
    None,
    /// Enough probes, not nearly all of them marked: a proportional window.
    Proportional,
    /// Enough probes, too many of them marked.
    Severe,
    /// Too few probes arrived, or none was sent.
    Insufficient,
    /// No probe was sent, because of a recent train from the same host: its window.
    Recent,
    /// The peer apparently has no shim: the window is not changed.
    Unprobed,
}

impl Verdict {
    /// Name in the results; empty for none.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::None => "",
            Verdict::Proportional => "proportional",
            Verdict::Severe => "severe",
            Verdict::Insufficient => "insufficient",
            Verdict::Recent => "recent",
            Verdict::Unprobed => "unprobed",
        }
    }
}

/// Counts of one train at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Train {
    /// Its number.
    pub batch: u8,
    /// Probes in the train; 0: none has arrived yet.
    pub size: u32,
    /// Probes received.
    pub received: u32,
    /// Of those, with CE.
    pub marked: u32,
}

impl Train {
    /// The verdict of ProBoSCIS 3.4.
    pub fn verdict(&self, c: &Config) -> Verdict {
        // 4, items 5 and 10: at least ceil(K n) must arrive; whole numbers below that are below K n, too.
        if self.size == 0 || f64::from(self.received) < c.k * f64::from(self.size) {
            return Verdict::Insufficient;
        }
        // 4, items 3 and 4: marked share against kappa2.
        let (bad, of) = self.congested(c);
        if f64::from(bad) > c.kappa2 * f64::from(of) { Verdict::Severe } else { Verdict::Proportional }
    }

    /// (congested probes, probes that count). 4, item 14: lost probes count through K, not as marks, unless the ablation says so.
    fn congested(&self, c: &Config) -> (u32, u32) {
        // A train cannot exceed its size except by a duplicate in the network.
        let lost = self.size.saturating_sub(self.received);
        if c.lost_as_marked { (self.marked + lost, self.received + lost) } else { (self.marked, self.received) }
    }

    /// Returns true if no probe that counts met congestion.
    pub fn is_clear(&self, c: &Config) -> bool {
        self.congested(c).0 == 0
    }

    /// W in bytes: the initial window times the share of uncongested probes, in whole segments, at least one (4, items 1 and 2) or the minimum
    /// window.
    pub fn window(&self, r: &Rules) -> u64 {
        let (bad, of) = self.congested(&r.c);
        let segments = (r.c.icwnd * of.saturating_sub(bad)).checked_div(of).unwrap_or(0);
        (u64::from(r.mss) * u64::from(segments)).max(r.least)
    }
}

#[cfg(test)]
mod tests {
    use super::super::WORDS;
    use super::*;
    use forebay_types::Time;

    /// The values of the publication.
    fn usual() -> Config {
        Config { k: 0.5, kappa2: 0.9, icwnd: 10, ..Rules::from_words(&[0; WORDS]).c }
    }

    fn train(received: u32, marked: u32) -> Train {
        Train { batch: 0, size: 10, received, marked }
    }

    fn rules(c: &Config, mss: u32) -> Rules {
        Rules { c: c.clone(), mss, probe_size: 64, least: u64::from(mss), restart_after: Time::from_ms(200) }
    }

    /// ProBoSCIS 3.4, window table: 10 probes received, initial window 10, 1460 B.
    #[test]
    fn window_table() {
        let c = usual();
        for (marked, bytes) in [(0, 14_600), (1, 13_140), (5, 7_300), (8, 2_920), (9, 1_460)] {
            let t = train(10, marked);
            assert_eq!((t.verdict(&c), t.window(&rules(&c, 1460))), (Verdict::Proportional, bytes), "{marked} marked");
        }
        assert_eq!((train(10, 10).verdict(&c), train(10, 10).window(&rules(&c, 1460))), (Verdict::Severe, 1_460));
        assert_eq!(train(4, 0).verdict(&c), Verdict::Insufficient);
        assert_eq!(train(5, 0).verdict(&c), Verdict::Proportional);
        assert_eq!(Train::default().verdict(&c), Verdict::Insufficient);
    }

    /// The window is continuous where proportional ends, at kappa2 = 0.9, and jumps with a smaller one (4, item 4).
    #[test]
    fn sweep_of_kappa2() {
        let c = Config { kappa2: 0.5, ..usual() };
        assert_eq!((train(10, 5).verdict(&c), train(10, 6).verdict(&c)), (Verdict::Proportional, Verdict::Severe));
        let c = Config { kappa2: 0.7, ..usual() };
        assert_eq!((train(10, 7).verdict(&c), train(10, 8).verdict(&c)), (Verdict::Proportional, Verdict::Severe));
    }

    /// The share is that of the arrived probes: 3 marked of 6 arrived of 10 is half. With the 4 lost counted as marks it is 7 of 10.
    #[test]
    fn lost_probes() {
        let c = usual();
        assert_eq!(train(6, 3).window(&rules(&c, 1000)), 5_000);
        let c = Config { lost_as_marked: true, ..c };
        assert_eq!(train(6, 3).window(&rules(&c, 1000)), 3_000);
        assert_eq!(train(6, 6).verdict(&c), Verdict::Severe);
        assert_eq!(train(4, 0).verdict(&c), Verdict::Insufficient);
    }

    /// An odd K: ceil(0.25 * 10) = 3.
    #[test]
    fn share_that_must_arrive() {
        let c = Config { k: 0.25, ..usual() };
        assert_eq!((train(2, 0).verdict(&c), train(3, 0).verdict(&c)), (Verdict::Insufficient, Verdict::Proportional));
    }

    #[test]
    fn fields_and_scales() {
        // ProBoSCIS 2.3: rounded up to the scale, never enlarged, never closed.
        assert_eq!(limited(65_535, 14_600, 0), 14_600);
        assert_eq!(limited(8_192, 14_600, 0), 8_192);
        assert_eq!(limited(500, 1_460, 7), 12);
        assert_eq!(limited(5, 1_460, 7), 5);
        assert_eq!(limited(65_535, 1, 14), 1);
        assert_eq!(limited(0, 1_460, 0), 0);
        // Bandwidth-delay products at 250 us: 1 Gbps needs no scale, 40 and 100 Gbps do (claim prob-bdp).
        let bdp = |gbps: u64| gbps * 1_000_000_000 / 8 * 250 / 1_000_000;
        assert_eq!([1, 40, 100].map(bdp), [31_250, 1_250_000, 3_125_000]);
        assert_eq!(limited(65_535, bdp(1), 0), 31_250);
        assert_eq!(limited(65_535, bdp(40), 5), 39_063);
        assert_eq!(u64::from(limited(65_535, bdp(100), 6)) << 6, 3_125_056);
    }

    #[test]
    fn order_of_sequence_numbers() {
        assert!(after(5, u32::MAX - 5) && !after(u32::MAX - 5, 5) && !after(7, 7));
        assert_eq!((later(3, u32::MAX), later(9, 4)), (3, 9));
    }
}
