//! Lower bounds of quantiles that are tight enough to compare: one of hundreds of queries was interrupted by the end of the run.

use crate::cells::Cell;
use crate::data::Data;
use forebay_store::stats::{SizeBin, quantile};
use std::collections::BTreeMap;

/// Maximum ratio of a quantile with infinite unfinished times to the bound for a tight bound. Our choice: the limit of small differences
/// everywhere.
pub(crate) const TIGHT: f64 = 1.05;

/// Population of a quantile.
#[derive(Clone, Copy)]
enum Population {
    Queries,
    Messages(SizeBin),
}

/// Metrics that are quantiles of completion times, with population and quantile.
const METRICS: [(&str, Population, f64); 6] = [
    ("qct_p50_s", Population::Queries, 0.5),
    ("qct_p99_s", Population::Queries, 0.99),
    ("fct_small_p50_s", Population::Messages(SizeBin::Small), 0.5),
    ("fct_small_p99_s", Population::Messages(SizeBin::Small), 0.99),
    ("fct_medium_p50_s", Population::Messages(SizeBin::Medium), 0.5),
    ("fct_medium_p99_s", Population::Messages(SizeBin::Medium), 0.99),
];

/// Marks the tight lower bounds among `cells`, the values of a metric.
pub(crate) fn mark_tight_bounds(data: &Data, metric: &str, cells: &mut [Option<Cell>]) {
    let Some((_, of, p)) = METRICS.iter().find(|m| m.0 == metric) else { return };
    for (subject, cell) in cells.iter_mut().enumerate() {
        if let Some(c) = cell.as_mut().filter(|c| c.at_least) {
            c.tight = most(data, subject, *of, *p).is_some_and(|most| most <= TIGHT * c.mean);
        }
    }
}

/// Mean over the seeds of the quantile if no unfinished work ever ended; `None` without messages.
fn most(data: &Data, subject: usize, of: Population, p: f64) -> Option<f64> {
    let network = data.subjects[subject].network;
    let mut times: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    match of {
        Population::Queries => {
            let bit = 1u64 << (subject - data.networks[network].first).min(63);
            let own = data.queries.iter().filter(|q| data.runs[q.run].network == network && q.groups & bit != 0);
            own.for_each(|q| times.entry(q.run).or_default().push(q.qct.unwrap_or(f64::MAX)));
        }
        Population::Messages(bin) => {
            let own = |f: &&crate::data::Flow| f.subject == subject && f.size > 0 && !f.in_query && SizeBin::of(f.size) == bin;
            data.flows.iter().filter(own).for_each(|f| times.entry(f.run).or_default().push(f.fct.unwrap_or(f64::MAX)));
        }
    }
    let each = times.into_values().map(|mut all| {
        all.sort_unstable_by(f64::total_cmp);
        quantile(&all, p)
    });
    let each: Vec<f64> = each.collect::<Option<_>>()?;
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::{Given, data as networks};
    use crate::data::{Query, Run};
    use crate::ranking::{Better, compare};

    /// The queries of `a` take 200 ms, those of `b` 6.5 ms; `running` of `b` are unfinished.
    fn two(running: usize) -> (Data, Vec<Option<Cell>>) {
        let named: [(&str, Given); 2] = [("a", &[]), ("b", &[])];
        let mut d = networks(&named);
        d.runs = (0..2).map(|network| Run { network, end_ns: 2_000_000_000, ..Run::default() }).collect();
        let query = |run, qct| Query { run, qct, groups: 1, ..Query::default() };
        for (run, took) in [(0, 0.2), (1, 0.006_5)] {
            d.queries.extend((0..771).map(|i| query(run, Some(took + f64::from(i) * 1e-7))));
        }
        d.queries.extend((0..running).map(|_| query(1, None)));
        let cell = |mean, at_least| Some(Cell { mean, at_least, ..Cell::default() });
        (d, vec![cell(0.2, false), cell(0.006_57, true)])
    }

    #[test]
    fn one_running_query_leaves_quantile_tight() {
        let (d, mut cells) = two(1);
        assert_eq!(compare(&cells, &[0, 1], Better::Less).unwrap().best, 0);
        mark_tight_bounds(&d, "qct_p99_s", &mut cells);
        let s = compare(&cells, &[0, 1], Better::Less).unwrap();
        assert_eq!((s.best, s.worse, s.undecided), (1, vec![0], vec![]));
    }

    #[test]
    fn a_hundredth_that_runs_on_does() {
        let (d, mut cells) = two(20);
        mark_tight_bounds(&d, "qct_p99_s", &mut cells);
        assert_eq!(compare(&cells, &[0, 1], Better::Less).unwrap().undecided, [1]);
        // Without messages no bound is tight.
        mark_tight_bounds(&Data { queries: Vec::new(), ..d }, "qct_p99_s", &mut cells);
        assert!(!cells[1].unwrap().tight);
    }
}
