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

/// The standing of several subjects in one metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standing {
    /// The one with the best mean.
    pub best: usize,
    /// Those whose interval meets the best one's, best first.
    pub level: Vec<usize>,
    /// Those that are worse beyond doubt, best first. Without intervals, those with another mean.
    pub behind: Vec<usize>,
    /// Whether each had an interval, which takes two seeds.
    pub certain: bool,
}

/// Compares the means of `members` (indices into `cells`) in a metric. `None` when fewer than two have a value.
///
/// Two differ when their 95 % intervals do not meet: stricter than a test of the difference, which errs on the side of saying nothing.
pub(crate) fn compare(cells: &[Option<Cell>], members: &[usize], better: Better) -> Option<Standing> {
    let mut ranked: Vec<(usize, Cell)> = members.iter().filter_map(|&m| Some((m, cells[m]?))).collect();
    if ranked.len() < 2 {
        return None;
    }
    ranked.sort_by(|a, b| match better {
        Better::Less => a.1.mean.total_cmp(&b.1.mean),
        _ => b.1.mean.total_cmp(&a.1.mean),
    });
    let (best, first) = ranked[0];
    let certain = ranked.iter().all(|(_, c)| c.half_width.is_some());
    let meets = |c: &Cell| (c.mean - first.mean).abs() <= c.half_width.unwrap_or(0.0) + first.half_width.unwrap_or(0.0);
    let (level, behind) = ranked[1..].iter().partition::<Vec<_>, _>(|(_, c)| meets(c));
    let indices = |list: Vec<&(usize, Cell)>| list.into_iter().map(|r| r.0).collect();
    Some(Standing { best, level: indices(level), behind: indices(behind), certain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(values: &[(f64, Option<f64>)]) -> Vec<Option<Cell>> {
        values.iter().map(|&(mean, half_width)| Some(Cell { mean, half_width, ..Cell::default() })).collect()
    }

    #[test]
    fn intervals_that_meet_are_no_difference() {
        let c = cells(&[(10.0, Some(1.0)), (12.0, Some(1.0)), (12.1, Some(1.0)), (50.0, Some(9.0))]);
        let s = compare(&c, &[0, 1, 2, 3], Better::Less).unwrap();
        assert_eq!(s, Standing { best: 0, level: vec![1], behind: vec![2, 3], certain: true });
        let s = compare(&c, &[0, 1, 2, 3], Better::More).unwrap();
        assert_eq!((s.best, s.level, s.behind), (3, vec![], vec![2, 1, 0]));
    }

    #[test]
    fn one_seed_is_not_certain_and_one_subject_no_contest() {
        let c = cells(&[(10.0, None), (10.0, None), (11.0, None)]);
        let s = compare(&c, &[0, 1, 2], Better::Less).unwrap();
        assert_eq!(s, Standing { best: 0, level: vec![1], behind: vec![2], certain: false });
        assert_eq!(compare(&c, &[1], Better::Less), None);
        assert_eq!(compare(&[None, None], &[0, 1], Better::Less), None);
    }
}
