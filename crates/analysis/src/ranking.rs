//! Ranking of subjects by a metric, with its statistical uncertainty.

use crate::cells::Cell;

/// Direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
    /// None: a share of a common resource.
    Neither,
}

/// The ranking of several subjects in one metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranking {
    /// The subject with the best mean.
    pub best: usize,
    /// Subjects whose interval overlaps that of the best one, best first.
    pub tied: Vec<usize>,
    /// Significantly worse subjects, best first. Without intervals, those with another mean.
    pub worse: Vec<usize>,
    /// Subjects with unfinished work that are not significantly worse.
    pub undecided: Vec<usize>,
    /// True if each subject has an interval, which takes two seeds.
    pub has_intervals: bool,
}

/// Compares the means of `members` (indices into `cells`) in a metric. `None` for fewer than two values, or if all are lower bounds.
///
/// A lower bound of a time is never the best, unless it is tight. It is worse if it is already significantly longer.
///
/// Subjects differ if their 95 % intervals do not overlap ([`Cell::meets`]), which is stricter than a test of the difference.
pub(crate) fn compare(cells: &[Option<Cell>], members: &[usize], better: Better) -> Option<Ranking> {
    let mut ranked: Vec<(usize, Cell)> = members.iter().filter_map(|&m| Some((m, cells[m]?))).collect();
    if ranked.len() < 2 {
        return None;
    }
    ranked.sort_by(|a, b| match better {
        Better::Less => a.1.mean.total_cmp(&b.1.mean),
        _ => b.1.mean.total_cmp(&a.1.mean),
    });
    let bound = |c: &Cell| c.at_least && !c.tight && better == Better::Less;
    let (best, first) = *ranked.iter().find(|(_, c)| !bound(c))?;
    let has_intervals = ranked.iter().all(|(_, c)| c.ends.is_some());
    let meets = |c: &Cell| c.meets(&first);
    let open = |c: &Cell| bound(c) && (c.mean < first.mean || meets(c));
    let those = |is: &dyn Fn(&Cell) -> bool| ranked.iter().filter(|(m, c)| *m != best && is(c)).map(|r| r.0).collect();
    Some(Ranking {
        best,
        tied: those(&|c| !bound(c) && meets(c)),
        worse: those(&|c| !open(c) && !meets(c)),
        undecided: those(&open),
        has_intervals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(values: &[(f64, Option<f64>)]) -> Vec<Option<Cell>> {
        values
            .iter()
            .map(|&(mean, half)| Some(Cell { mean, ends: half.map(|h| (mean - h, mean + h)), ..Cell::default() }))
            .collect()
    }

    #[test]
    fn overlapping_intervals_are_no_difference() {
        let c = cells(&[(10.0, Some(1.0)), (12.0, Some(1.0)), (12.1, Some(1.0)), (50.0, Some(9.0))]);
        let s = compare(&c, &[0, 1, 2, 3], Better::Less).unwrap();
        assert_eq!(s, Ranking { best: 0, tied: vec![1], worse: vec![2, 3], undecided: vec![], has_intervals: true });
        let s = compare(&c, &[0, 1, 2, 3], Better::More).unwrap();
        assert_eq!((s.best, s.tied, s.worse), (3, vec![], vec![2, 1, 0]));
    }

    #[test]
    fn one_seed_has_no_interval() {
        let c = cells(&[(10.0, None), (10.0, None), (11.0, None)]);
        let s = compare(&c, &[0, 1, 2], Better::Less).unwrap();
        assert_eq!(s, Ranking { best: 0, tied: vec![1], worse: vec![2], undecided: vec![], has_intervals: false });
        assert_eq!(compare(&c, &[1], Better::Less), None);
        assert_eq!(compare(&[None, None], &[0, 1], Better::Less), None);
    }

    #[test]
    fn unfinished_is_never_best() {
        let mut c = cells(&[(20.0, None), (33.2, None), (50.0, None)]);
        (c[0], c[2]) = (c[0].map(|c| Cell { at_least: true, ..c }), c[2].map(|c| Cell { at_least: true, ..c }));
        // At least 20 may be more than 33.2; at least 50 is.
        let s = compare(&c, &[0, 1, 2], Better::Less).unwrap();
        assert_eq!(s, Ranking { best: 1, tied: vec![], worse: vec![2], undecided: vec![0], has_intervals: false });
        assert_eq!(compare(&c, &[0, 2], Better::Less), None, "both were still running");
        // A lower bound whose interval overlaps that of the best one is not a tie.
        let mut c = cells(&[(10.0, Some(1.0)), (11.0, Some(1.0)), (20.0, Some(1.0))]);
        (c[1], c[2]) = (c[1].map(|c| Cell { at_least: true, ..c }), c[2].map(|c| Cell { at_least: true, ..c }));
        let s = compare(&c, &[0, 1, 2], Better::Less).unwrap();
        assert_eq!(s, Ranking { best: 0, tied: vec![], worse: vec![2], undecided: vec![1], has_intervals: true });
    }
}
