//! The figure that ranks the points of a sweep where its main metric does not. The median may differ where the 99th percentiles are those of the same
//! timeout, or vary too much from seed to seed.

use super::sweep_choices::{Choice, Ends, ends_at_one_load, label, metric, overlap, same};
use crate::page::Cell;
use forebay_analysis::{GridCell, Metric, bold};

/// Figures in its place, the nearest to it first, with true if less is better. A tail has a median and a mean.
fn others(m: &Metric) -> Vec<(Metric, bool)> {
    let tail = ["_p50_", "_mean_"].map(|part| (m.name.replace("_p99_", part), true));
    tail.into_iter().filter(|(name, _)| *name != m.name).filter_map(|(name, less)| Some((metric(&name)?, less))).collect()
}

/// True if a figure ranks two choices: the difference is not small, and either the intervals, or ranges over few seeds, have no common value, or no
/// seed has the opposite order.
fn ranks(m: &Metric, (a, of_a): (&Choice, Cell), (b, of_b): (&Choice, Cell)) -> bool {
    let none = Vec::new();
    let [x, y] = [a, b].map(|c| c.seeds.get(m.name).unwrap_or(&none));
    let opposite = x.len() != y.len() || x.iter().zip(y).any(|(x, y)| (x - y) * (of_a.mean - of_b.mean) < 0.0);
    !same(of_a, of_b) && (!overlap(of_a, of_b) || !opposite)
}

/// A sentence with the figure that ranks the choices instead of `m`, whose best and worst values are `ends`. `None` if `m` ranks them, if it is no
/// tail, or if no figure does.
pub(super) fn sentence(all: &[&Choice], m: &Metric, ends: &Ends) -> Option<String> {
    let pair = |e: &Ends| ((all[e.0.0], e.0.1), (all[e.1.0], e.1.1));
    if ranks(m, pair(ends).0, pair(ends).1) || !m.name.contains("_p99_") {
        return None;
    }
    let (other, (best, worst)) = others(m).into_iter().find_map(|(other, less)| {
        let of = ends_at_one_load(all, &other, less)?;
        // Lower bounds have no order.
        let known = !of.0.1.at_least && ranks(&other, pair(&of).0, pair(&of).1);
        known.then_some((other, of))
    })?;
    let shown = |c: Cell, m: &Metric| GridCell::quantity(Some(c), m.unit).text;
    let (b, w) = (all[best.0], all[worst.0]);
    let (low, high) = (ends.0.1, ends.1.1);
    let not = if same(low, high) {
        format!("is nearly the same ({} to {})", shown(low, m), shown(high, m))
    } else {
        format!("differs by less than from seed to seed ({} to {})", shown(low, m), shown(high, m))
    };
    let load = if b.load_place.is_empty() || b.load_place == b.place { String::new() } else { format!(" at {}", b.load_place) };
    let place = |c: &Choice| if load.is_empty() { c.place.clone() } else { c.own_place.clone() };
    Some(format!(
        "The {} decides{load}: {} with {}, {} with {}; the {} {not}.",
        label(&other),
        bold(&shown(best.1, &other)),
        place(b),
        bold(&shown(worst.1, &other)),
        place(w),
        label(m)
    ))
}

/// A sentence about ends that are apart by more than a fifth, but not beyond their spread over the seeds.
pub(super) fn unranked(all: &[&Choice], m: &Metric, (best, worst): &Ends) -> Option<String> {
    if same(best.1, worst.1) || ranks(m, (all[best.0], best.1), (all[worst.0], worst.1)) {
        return None;
    }
    let shown = |c: Cell| bold(&GridCell::quantity(Some(c), m.unit).text);
    Some(format!(
        "The seeds differ too much to rank by {}: {} at {}, {} at {}; run more seeds (--runs).",
        label(m),
        shown(best.1),
        all[best.0].place,
        shown(worst.1),
        all[worst.0].place
    ))
}

/// Maximum number of points in the sentence about those that are not clearly worse.
const MAX_ALIKE: usize = 3;

/// A sentence about the choices at the load of the best one whose values are not apart from it: the lowest mean of several is a matter of chance.
pub(super) fn alike(all: &[&Choice], m: &Metric, (best, value): (usize, Cell)) -> Option<String> {
    let near = |c: &&&Choice| {
        c.place != all[best].place && c.cell(m).is_some_and(|v| !v.at_least && !ranks(m, (all[best], value), (c, v)))
    };
    let near: Vec<&&Choice> = all.iter().filter(near).collect();
    let one = |c: &&&Choice| Some(format!("{} ({})", c.place, GridCell::quantity(c.cell(m), m.unit).text));
    let named: Vec<String> = near.iter().take(MAX_ALIKE).filter_map(one).collect();
    let more = near.len().saturating_sub(MAX_ALIKE);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    (!near.is_empty()).then(|| format!("Not clearly worse than the best: {}{more}.", named.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::super::sweep_answer::sentences;
    use super::super::sweep_choices::choices;
    use super::super::sweep_data::{Point, Sweep, SweptAxis, Value};
    use crate::page::Dimension;

    /// Three values of K with three seeds: 99th percentile and median.
    fn sweep(values: [([f64; 3], [f64; 3]); 3]) -> Sweep {
        let axis = SweptAxis { key: "topology.bottleneck.queue.k".into(), short: "k".into(), unit: Dimension::Packets };
        let mut s = Sweep { title: "k".into(), axes: vec![axis], points: Vec::new() };
        for (k, (p99, p50)) in [10.0, 20.0, 200.0].into_iter().zip(values) {
            s.points.extend(p99.into_iter().zip(p50).map(|(p99, p50)| Point {
                at: vec![Value::Number(k)],
                subject: "dctcp".into(),
                metrics: vec![("qct_p99_s".into(), p99), ("qct_p50_s".into(), p50)],
                variant: String::new(),
                class: String::new(),
            }));
        }
        s
    }

    #[test]
    fn median_ranks_where_tail_does_not() {
        // Each tail is one timeout; the medians are far apart.
        let tail = [0.21, 0.212, 0.208];
        let s = sweep([(tail, [0.01, 0.011, 0.012]), (tail, [0.01, 0.011, 0.0121]), (tail, [0.1, 0.09, 0.11])]);
        assert_eq!(
            sentences(&choices(&s))[0],
            "The query completion p50 decides: **11 ± 1 ms** with k 10 packets, **100 ± 10 ms** with k 200 packets; the query \
             completion p99 is nearly the same (210 ± 2 ms to 210 ± 2 ms)."
        );
    }

    #[test]
    fn spread_of_seeds_ranks_nothing() {
        let p50 = [0.01, 0.011, 0.012];
        let s = sweep([([0.1, 0.3, 0.2], p50), ([0.6, 0.15, 0.3], p50), ([0.2, 0.3, 0.2], p50)]);
        let first = &sentences(&choices(&s))[0];
        assert!(
            first.starts_with("The seeds differ too much to rank by query completion p99: **200 ± 100 ms** at k 10"),
            "{first}"
        );
        // Without overlap of the ends the tail ranks; a point between them may be as good as the best.
        let s = sweep([([0.1, 0.11, 0.1], p50), ([0.105, 0.1, 0.8], p50), ([0.2, 0.3, 0.9], p50)]);
        let output = sentences(&choices(&s));
        assert!(output[0].starts_with("**Best**: query completion p99 **103 ms**"), "{output:?}");
        assert!(output[1].starts_with("Not clearly worse than the best: k 20 packets (335 "), "{output:?}");
    }
}
