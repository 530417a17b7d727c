//! N*: the number of senders from which on a block-head timeout is expected in every block.

use super::head_timeout::{check, first_window_of, injection};
use super::{FirstWindow, Incast};
use crate::ModelError;

/// Choice among the crossings of N^O = 1. N^O is not monotone: if N_m is 1 the slowest sender's window absorbs the excess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NstarRule {
    /// The first N with N^O >= 1: the definition.
    #[default]
    First,
    /// The first of three consecutive such N.
    Run3,
}

impl Incast {
    /// N* with the windows that flows inherit; `None`: no collapse up to N = B.
    pub fn nstar(&self, rule: NstarRule) -> Option<u64> {
        self.crossing(FirstWindow::Inherited, rule, self.buffer)
    }

    /// N* with these first windows, such as PRIN's; `None`: no collapse up to N = B. It depends on the parameters only through C D
    /// and B.
    ///
    /// # Errors
    /// Names `floor` outside 0 to 1000.
    pub fn nstar_with(&self, first: FirstWindow, rule: NstarRule) -> Result<Option<u64>, ModelError> {
        check(first)?;
        Ok(self.crossing(first, rule, self.buffer))
    }

    /// N* up to `limit`, by a linear search, because N^O is not monotone.
    pub(super) fn crossing(&self, first: FirstWindow, rule: NstarRule, limit: u64) -> Option<u64> {
        let wanted = match rule {
            NstarRule::First => 1,
            NstarRule::Run3 => 3,
        };
        let mut run = 0;
        // The start of a run is at most `limit`, but its end may be beyond.
        for n in 1..=(limit + wanted - 1).min(self.buffer) {
            let hit = self.head_of(&self.windows_of(n), first).flows_in_timeout >= 1.0;
            run = if hit { run + 1 } else { 0 };
            if run == wanted {
                return Some(n + 1 - wanted);
            }
        }
        None
    }

    /// Real N at which N^O = 1 without rounding: floor(x) + 1 becomes x + 1/2, hence W_m = X/N + 1, and N_m = N/2. `None`: no collapse up to N = B.
    pub fn nstar_smooth(&self) -> Option<f64> {
        let first = FirstWindow::Inherited;
        let x = self.x.to_f64();
        let reaches = |n: f64| {
            let (at_all, alone) = (x / n + 1.0, 2.0 * x / n + 1.0);
            let offered = n / 2.0 * (first_window_of(at_all, first) + first_window_of(alone, first));
            self.round(n, offered, injection(alone, first)).flows_in_timeout >= 1.0
        };
        let end = (1..=self.buffer).find(|&n| reaches(n as f64))?;
        let (mut low, mut high) = (end as f64 - 1.0, end as f64);
        for _ in 0..60 {
            let mid = (low + high) / 2.0;
            // N^O is undefined at 0, but the middle is above it.
            (low, high) = if reaches(mid) { (low, mid) } else { (mid, high) };
        }
        Some(high)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Params, base};
    use super::*;
    use forebay_types::Rate;

    fn model(gbps: u64, buffer: u64) -> Incast {
        Incast::new(&Params { rate: Rate(gbps * 1_000_000_000), buffer, ..base() }).unwrap()
    }

    /// The table of N* by buffer, 1 and 10 Gbit/s, D = 100 us: N*, nstar_run3, nstar_smooth.
    #[test]
    fn table() {
        let first = [[11, 13, 18, 20, 19, 23, 26, 24], [13, 12, 14, 15, 16, 17, 21, 23]];
        let run3 = [[14, 15, 21, 27, 28, 28, 33, 37], [16, 12, 14, 15, 16, 17, 21, 23]];
        let smooth = [[9.8, 12.9, 15.3, 17.2, 18.9, 20.4, 21.7, 23.0], [12.4, 13.7, 15.0, 16.2, 17.3, 18.3, 19.3, 20.2]];
        for (row, gbps) in [1, 10].into_iter().enumerate() {
            for (column, buffer) in (32..=256).step_by(32).enumerate() {
                let m = model(gbps, buffer);
                assert_eq!(m.nstar(NstarRule::First), Some(first[row][column]), "{gbps} {buffer}");
                assert_eq!(m.nstar(NstarRule::Run3), Some(run3[row][column]), "{gbps} {buffer}");
                // Two of the sixteen table entries (B = 32 and 256 at 1 Gbit/s) are 0.06 above the roots, 9.74 and 22.94; the
                // other fourteen are the roots rounded.
                assert!((m.nstar_smooth().unwrap() - smooth[row][column]).abs() <= 0.065, "{gbps} {buffer}");
            }
        }
    }

    /// PRIN: N* with halved first windows for B = 64, 128, 256; with a large bandwidth-delay product it does not improve.
    #[test]
    fn halved_first_windows() {
        for (floor, expected) in [(1.0, [53, 97, 184]), (2.0, [32, 58, 109])] {
            let found = [64, 128, 256].map(|b| model(1, b).nstar_with(FirstWindow::Halved { floor }, NstarRule::First));
            assert_eq!(found, expected.map(|n| Ok(Some(n))));
        }
        let large = model(10, 64);
        assert_eq!(large.nstar(NstarRule::First), Some(12));
        for floor in [1.0, 2.0] {
            assert_eq!(large.nstar_with(FirstWindow::Halved { floor }, NstarRule::First), Ok(Some(12)));
        }
        assert_eq!(large.nstar_with(FirstWindow::Halved { floor: -1.0 }, NstarRule::First).unwrap_err().argument, "floor");
    }

    /// By hand at the root: N^O = N (1 - B/(A_b - C tau)) (1 - C tau/A_b)^(A_b/N).
    #[test]
    fn the_smooth_root_solves_the_equation() {
        for (gbps, x) in [(1, 12.5), (10, 125.0)] {
            for buffer in [32, 64, 128, 256] {
                let (n, b) = (model(gbps, buffer).nstar_smooth().unwrap(), buffer as f64);
                let (offered, served) = (0.75 * (1.5 * (x + b) + n), 2.0 * (x + b) / n + 1.0);
                let timeouts = n * (1.0 - b / (offered - served)) * (1.0 - served / offered).powf(offered / n);
                assert!((timeouts - 1.0).abs() < 1e-9, "{gbps} {buffer}: {timeouts}");
            }
        }
    }

    /// The closest approach of N^O to 1 over B = 32..256 is 1.0046, at B = 160: rounding cannot move N*.
    #[test]
    fn rounding_is_harmless() {
        let mut closest = (f64::INFINITY, 0);
        for gbps in [1, 10] {
            for buffer in 32..=256 {
                let m = model(gbps, buffer);
                for n in 1..=m.nstar(NstarRule::First).unwrap() {
                    let gap = (m.head(n, FirstWindow::Inherited).unwrap().flows_in_timeout - 1.0).abs();
                    if gap < closest.0 {
                        closest = (gap, buffer);
                    }
                }
            }
        }
        println!("closest approach {closest:?}");
        assert!(closest.0 > 1e-6);
        let m = model(1, 160);
        assert!((m.head(19, FirstWindow::Inherited).unwrap().flows_in_timeout - 1.0046).abs() < 5e-5);
    }
}
