//! Windowed maximum filter in constant space (Kathleen Nichols; Linux lib/win_minmax.c).

/// A value and its time, in the unit of the window.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    at: u64,
    value: u64,
}

/// The maximum of a time window, with the second and third best of its younger parts, which replace it as it expires.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WindowedMax {
    best: [Point; 3],
}

impl WindowedMax {
    /// The largest value of the window.
    pub(super) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Adds `value` at `time` to a window of length `window`; returns the maximum.
    pub(super) fn update(&mut self, window: u64, at: u64, value: u64) -> u64 {
        let new = Point { at, value };
        let [first, second, third] = self.best;
        if value >= first.value || at - third.at > window {
            self.best = [new; 3];
            return value;
        }
        if value >= second.value {
            self.best = [first, new, new];
        } else if value >= third.value {
            self.best[2] = new;
        }
        self.grow_old(window, new);
        self.get()
    }

    /// Removes expired values; each part of the window gets its own maximum.
    fn grow_old(&mut self, window: u64, new: Point) {
        let age = new.at - self.best[0].at;
        if age > window {
            self.best = [self.best[1], self.best[2], new];
            if new.at - self.best[0].at > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].at == self.best[0].at && age > window / 4 {
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].at == self.best[1].at && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::each_sequence;

    #[test]
    fn keeps_the_largest_of_ten() {
        let mut max = WindowedMax::default();
        assert_eq!(max.update(10, 0, 100), 100);
        for at in 1..=10 {
            assert_eq!(max.update(10, at, 50), 100, "{at}");
        }
        assert_eq!(max.update(10, 11, 50), 50);
        assert_eq!(max.update(10, 12, 70), 70);
    }

    /// Steadily falling values: the result is never older than the window, and never below the maximum of its last quarter.
    #[test]
    fn follows_a_decline() {
        let mut max = WindowedMax::default();
        for at in 0..1000 {
            let value = 2000 - at;
            let got = max.update(10, at, value);
            assert!((value..=value + 10).contains(&got), "{at}: {got}");
        }
    }

    #[test]
    fn long_silence_clears_the_filter() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        assert_eq!(max.update(10, 30, 1), 1);
    }

    /// All sequences of seven values up to 3 at distances of 1 or 3, with a window of 8. The maximum is never below the newest value, never above the largest of the
    /// window, and the largest itself while nothing has expired.
    #[test]
    fn exhaustive_values_stay_within_the_window() {
        each_sequence(8, 7, |word| {
            let (mut max, mut seen, mut at) = (WindowedMax::default(), Vec::<(u64, u64)>::new(), 0);
            for letter in word {
                at += if letter / 4 == 0 { 1 } else { 3 };
                let value = u64::from(letter % 4);
                let got = max.update(8, at, value);
                seen.push((at, value));
                let recent = seen.iter().filter(|s| at - s.0 <= 8).map(|s| s.1).max().unwrap_or(0);
                assert!(value <= got && got <= recent, "{word:?} at {at}: {got}");
                let all = seen.iter().map(|s| s.1).max().unwrap_or(0);
                assert!(at - seen[0].0 > 8 || got == all, "{word:?} at {at}: {got}");
                assert_eq!(got, max.get());
            }
        });
    }
}
