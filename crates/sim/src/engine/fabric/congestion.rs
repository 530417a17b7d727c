//! Congestion of links as CONGA measures it: the discounting rate estimator of a link, and tables of levels that age (SIGCOMM 2014, sections 3.2 and 3.3).

use forebay_types::{Rate, Time};

/// Interval of the estimator's decay, and share that it takes. CONGA names the time constant only, 160 us (section 3.6); our choice: an eighth, a shift in
/// hardware, every 20 us.
const DECAY_INTERVAL: Time = Time::from_us(20);
const DECAY: f64 = 0.125;
/// Intervals after which nothing is left: 0.875^400 is below 1e-23.
const FORGOTTEN: u64 = 400;
/// Levels of congestion: 3 bits (section 3.6, Q = 3).
const LEVELS: f64 = 8.0;
/// Time after which a level that is not updated decreases by one, and again after each such time. Section 3.3: it "gradually decays to zero" if it "has not
/// been updated for a long time (e.g., 10 ms)"; our choice: one level in that time.
const AGE: Time = Time::from_ms(10);

/// Discounting rate estimator (DRE) of a link: a register that grows by the bytes of each packet and loses a share in each interval. It tends to rate
/// times time constant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dre {
    bytes: f64,
    /// Number of the interval of the last decay.
    interval: u64,
    /// Register of a fully used link.
    full: f64,
}

impl Dre {
    /// The estimator of an idle link.
    pub(super) fn new(rate: Rate) -> Dre {
        let mut dre = Dre { bytes: 0.0, interval: 0, full: 0.0 };
        dre.set_rate(rate);
        dre
    }

    /// The link has another rate.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.full = rate.0 as f64 / 8.0 * (DECAY_INTERVAL.0 as f64 * 1e-12 / DECAY);
    }

    fn decay(&mut self, now: Time) {
        let interval = now.0 / DECAY_INTERVAL.0;
        let passed = interval - self.interval;
        self.interval = interval;
        if passed > FORGOTTEN {
            self.bytes = 0.0;
        } else {
            (0..passed).for_each(|_| self.bytes *= 1.0 - DECAY);
        }
    }

    /// Counts a packet that enters the queue of the link. Our choice: hardware counts at the departure, which a FIFO port of the simulator has no event
    /// for; the level of a link with a queue is the highest either way.
    pub(super) fn add(&mut self, now: Time, bytes: u16) {
        self.decay(now);
        self.bytes += f64::from(bytes);
    }

    /// Congestion of the link, 0 to 7 (section 3.2: the register divided by that of a full link, in 3 bits).
    pub(super) fn level(&mut self, now: Time) -> u8 {
        self.decay(now);
        (self.bytes / self.full * LEVELS).min(LEVELS - 1.0) as u8
    }
}

/// Levels by leaf and uplink, which age.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    uplinks: usize,
    levels: Vec<u8>,
    /// Time of the last update, ps.
    updated: Vec<u64>,
}

impl Levels {
    /// All zero.
    pub(super) fn new(leaves: usize, uplinks: usize) -> Levels {
        Levels { uplinks, levels: vec![0; leaves * uplinks], updated: vec![0; leaves * uplinks] }
    }

    fn place(&self, leaf: u16, uplink: u8) -> usize {
        usize::from(leaf) * self.uplinks + usize::from(uplink)
    }

    /// Returns true if the stored level was another one.
    pub(super) fn set(&mut self, (leaf, uplink): (u16, u8), level: u8, now: Time) -> bool {
        let place = self.place(leaf, uplink);
        self.updated[place] = now.0;
        std::mem::replace(&mut self.levels[place], level) != level
    }

    /// Level at `now`.
    pub(super) fn get(&self, (leaf, uplink): (u16, u8), now: Time) -> u8 {
        let place = self.place(leaf, uplink);
        let age = (now.0 - self.updated[place]) / AGE.0;
        self.levels[place].saturating_sub(age.min(LEVELS as u64) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimator_decays_by_an_eighth() {
        // 10 Gbps for 160 us: 200 000 bytes, and 25 000 a level.
        let mut dre = Dre::new(Rate(10_000_000_000));
        (0..50).for_each(|_| dre.add(Time::from_us(5), 1_000));
        // 50 000 in the interval, then 43 750, 38 281, 33 496, 29 309, 25 645, 22 440.
        let levels = [19, 20, 40, 60, 80, 100, 120].map(|us| dre.level(Time::from_us(us)));
        assert_eq!(levels, [2, 1, 1, 1, 1, 1, 0]);
        assert!((dre.bytes - 50_000.0 * 0.875_f64.powi(6)).abs() < 1e-6, "{}", dre.bytes);
        assert_eq!(dre.level(Time::from_ms(9)), 0);
        assert!(dre.bytes == 0.0);
    }

    /// A link at a constant rate: the register is between rate times time constant, and an eighth less just behind a decay.
    #[test]
    fn estimator_tends_to_utilization() {
        for (share, level) in [(0.3, 2), (0.45, 3), (0.6, 4), (2.0, 7)] {
            let mut dre = Dre::new(Rate(10_000_000_000));
            // 1 000 bytes take 800 ns at the full rate.
            let every = (800_000.0 / share) as u64;
            (0..20_000).for_each(|i| dre.add(Time(i * every), 1_000));
            let expected = share * 200_000.0;
            assert!(dre.bytes > 0.86 * expected && dre.bytes < 1.01 * expected, "{share}: {}", dre.bytes);
            assert_eq!(dre.level(Time(20_000 * every)), level, "{share}");
        }
    }

    #[test]
    fn half_rate_doubles_level() {
        let mut dre = Dre::new(Rate(10_000_000_000));
        (0..60).for_each(|_| dre.add(Time::ZERO, 1_000));
        assert_eq!(dre.level(Time::ZERO), 2);
        dre.set_rate(Rate(5_000_000_000));
        assert_eq!(dre.level(Time::ZERO), 4);
    }

    #[test]
    fn levels_age_one_step_a_time() {
        let mut levels = Levels::new(3, 2);
        assert!(levels.set((2, 1), 5, Time::from_ms(1)));
        assert!(!levels.set((2, 1), 5, Time::from_ms(2)));
        let at = |ms| levels.get((2, 1), Time::from_ms(ms));
        assert_eq!([2, 11, 12, 21, 22, 51, 52, 900].map(at), [5, 5, 4, 4, 3, 1, 0, 0]);
        assert_eq!(levels.get((2, 0), Time::from_ms(2)), 0);
    }
}
