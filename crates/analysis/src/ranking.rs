//! Who is ahead, as far as the seeds can tell.

use crate::cells::Cell;

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
    /// Neither is: it is a share of what others get too.
    Neither,
}

/// The ranking of several subjects in one metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranking {
    /// The one with the best mean.
    pub best: usize,
    /// Those whose interval meets the best one's, best first.
    pub tied: Vec<usize>,
    /// Those that are worse beyond doubt, best first. Without intervals, those with another mean.
    pub worse: Vec<usize>,
    /// Those that were still running and are not behind yet: what they would have taken is not known.
    pub undecided: Vec<usize>,
    /// Whether each had an interval, which takes two seeds.
    pub has_intervals: bool,
}

/// Compares the means of `members` (indices into `cells`) in a metric. `None` when fewer than two have a value, or all were still running.
///
/// A time that is only known to be at least so long is never the best one, unless it would hardly be longer whatever became of what was running. It is behind where it is already longer beyond doubt.
///
/// Two differ when their 95 % intervals do not meet ([`Cell::meets`]): stricter than a test of the difference, which errs on the side of saying nothing.
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
    fn intervals_that_meet_are_no_difference() {
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
        // A bound whose interval meets that of the best one is no tie.
        let mut c = cells(&[(10.0, Some(1.0)), (11.0, Some(1.0)), (20.0, Some(1.0))]);
        (c[1], c[2]) = (c[1].map(|c| Cell { at_least: true, ..c }), c[2].map(|c| Cell { at_least: true, ..c }));
        let s = compare(&c, &[0, 1, 2], Better::Less).unwrap();
        assert_eq!(s, Ranking { best: 0, tied: vec![], worse: vec![2], undecided: vec![1], has_intervals: true });
    }
}
