//! Sizes scaled to an exact sum.

/// Scales `sizes` by a common factor so that their sum is exactly `total` and none is below `least`. Sizes below `least` are raised to it, and the
/// others share the rest in proportion. Integer arithmetic; rounding is spread over the sequence.
///
/// # Panics
/// If `total` is less than `least` for each, or the sizes add up to more than 2^64: the caller checks.
pub fn split(total: u64, sizes: &[u64], least: u64) -> Vec<u64> {
    let n = sizes.len() as u64;
    assert!(least.checked_mul(n).is_some_and(|sum| sum <= total), "{n} pieces of at least {least} B from {total} B");
    // A factor cannot change zero.
    let weight = |s: &u64| u128::from((*s).max(1));
    let mut small = vec![false; sizes.len()];
    assert!(sizes.iter().try_fold(0u64, |sum, s| sum.checked_add((*s).max(1))).is_some(), "sizes beyond 2^64");
    let (mut rest, mut sum) = (u128::from(total), sizes.iter().map(weight).sum::<u128>());
    loop {
        let before = (rest, sum);
        for (s, small) in sizes.iter().zip(&mut small).filter(|(_, small)| !**small) {
            // weight * rest / sum < least, with the factor of this pass. Raising some to `least` only lowers the factor for the others.
            if weight(s) * before.0 < u128::from(least) * before.1 {
                *small = true;
                rest -= u128::from(least);
                sum -= weight(s);
            }
        }
        if (rest, sum) == before {
            break;
        }
    }
    let mut passed = 0;
    // Not all are below `least`, since `total` is enough for all: `sum` is zero only without sizes.
    let share = |passed: u128| passed * rest / sum;
    let piece = |(s, small): (&u64, &bool)| {
        if *small {
            return least;
        }
        let before = share(passed);
        passed += weight(s);
        (share(passed) - before) as u64
    };
    sizes.iter().zip(&small).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::{Rng, SizeDist};

    #[test]
    fn proportions_are_kept() {
        assert_eq!(split(100, &[1, 2, 3, 4], 1), [10, 20, 30, 40]);
        assert_eq!(split(10, &[1, 1, 1], 1), [3, 3, 4]);
        assert_eq!(split(30, &[0, 0, 0], 0), [10, 10, 10]);
        assert_eq!(split(7, &[5], 1), [7]);
        assert_eq!(split(0, &[], 1), [0; 0]);
    }

    #[test]
    fn small_sizes_are_raised() {
        // Unclipped 1, 33, 66; the first is raised to 10, then the others share 90 one to two.
        assert_eq!(split(100, &[10, 330, 660], 10), [10, 30, 60]);
        // Raising the first takes the second below the minimum too.
        assert_eq!(split(100, &[1, 100, 900], 11), [11, 11, 78]);
        assert_eq!(split(33, &[1, 1_000, 1_000_000], 11), [11, 11, 11]);
    }

    #[test]
    fn sums_are_exact() {
        let dist = SizeDist::LogUniform(512, 262_144);
        let mut rng = Rng::stream(4, &[]);
        for n in 1..200 {
            let sizes: Vec<u64> = (0..n).map(|_| dist.sample(&mut rng)).collect();
            for total in [512 * n, 512 * n + 1, 524_288, 1 << 40, u64::MAX].into_iter().filter(|t| *t >= 512 * n) {
                let pieces = split(total, &sizes, 512);
                assert_eq!(pieces.iter().map(|p| u128::from(*p)).sum::<u128>(), u128::from(total), "{n} {total}");
                assert!(pieces.iter().all(|p| *p >= 512));
            }
        }
    }

    /// All lists of up to four sizes up to 3, totals up to 24 and minimums up to 3. The sum is exact, and no piece is below the minimum. A larger size
    /// never has a smaller piece by more than the rounding.
    #[test]
    fn exhaustive_lists_are_split_exactly() {
        for count in 1..=4_u32 {
            for number in 0..4_u64.pow(count) {
                let sizes: Vec<u64> = (0..count).map(|i| number / 4_u64.pow(i) % 4).collect();
                for least in 0..=3 {
                    for total in least * u64::from(count)..=24 {
                        let pieces = split(total, &sizes, least);
                        assert_eq!(pieces.iter().sum::<u64>(), total, "{sizes:?} of {total}, at least {least}");
                        assert!(pieces.iter().all(|p| *p >= least), "{sizes:?} of {total}, at least {least}: {pieces:?}");
                        for (a, b) in sizes.iter().zip(&pieces) {
                            let larger = sizes.iter().zip(&pieces).filter(|(size, _)| *size > a);
                            assert!(larger.clone().all(|(_, piece)| piece + 1 >= *b), "{sizes:?} of {total}: {pieces:?}");
                        }
                    }
                }
            }
        }
    }
}
