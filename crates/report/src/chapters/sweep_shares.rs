//! Groups of one network over a sweep: at which points each one gets more goodput than the other. Nothing is best there, because the groups share the
//! links.

use super::sweep_choices::{Choice, by_class};
use super::sweep_data::{Sweep, Value};
use forebay_analysis::{Metric, bold, list, metrics, number};

/// Goodputs up to this ratio are nearly equal. Our choice.
const EQUAL: f64 = 1.05;

/// Goodputs of the first group over those of the second at the points of the sweep, in the order of the swept key.
struct Shares<'a> {
    groups: [&'a str; 2],
    ratios: Vec<(&'a Value, f64)>,
}

/// Sentence about a network of two groups and one swept key, where the points differ in which group gets more. `None` without such a network.
pub(super) fn sentence(sweep: &Sweep, all: &[Choice]) -> Option<String> {
    let [axis] = sweep.axes.as_slice() else { return None };
    let goodput = metrics().find(|m| m.name == "long_goodput_bps")?;
    let shares = by_class(all).into_iter().find_map(|(_, of)| Shares::of(&of, &goodput))?;
    let [first, second] = shares.groups;
    let places = |values: &[(&Value, f64)]| {
        // Runs of neighbors as ranges.
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (value, _) in values {
            let at = shares.ratios.iter().position(|(v, _)| v == value).unwrap_or(0);
            match runs.last_mut() {
                Some(run) if run.1 + 1 == at => run.1 = at,
                _ => runs.push((at, at)),
            }
        }
        let text = |(from, to): (usize, usize)| {
            let of = |i: usize| axis.of(shares.ratios[i].0);
            if from == to { of(from) } else { format!("{} to {}", of(from), of(to)) }
        };
        list(&runs.into_iter().map(text).collect::<Vec<_>>())
    };
    let above: Vec<(&Value, f64)> = shares.ratios.iter().filter(|(_, r)| *r > EQUAL).copied().collect();
    let below: Vec<(&Value, f64)> = shares.ratios.iter().filter(|(_, r)| *r < 1.0 / EQUAL).map(|(v, r)| (*v, 1.0 / r)).collect();
    let equal: Vec<(&Value, f64)> = shares.ratios.iter().filter(|(_, r)| (1.0 / EQUAL..=EQUAL).contains(r)).copied().collect();
    let side = |more: &str, less: &str, values: &[(&Value, f64)]| {
        let most = values.iter().map(|v| v.1).fold(1.0, f64::max);
        format!("{} gets more than {less} at {} (up to {} times)", bold(more), places(values), number(most))
    };
    let mut parts = Vec::new();
    if !above.is_empty() {
        parts.push(side(first, second, &above));
    }
    if !below.is_empty() {
        parts.push(side(second, first, &below));
    }
    // In the order of the sweep.
    if shares.ratios[0].1 < 1.0 {
        parts.reverse();
    }
    if !equal.is_empty() {
        parts.push(format!(
            "{} at {}",
            if parts.is_empty() { "both get the same" } else { "both get nearly the same" },
            places(&equal)
        ));
    }
    Some(format!("Goodput of a long flow: {}.", parts.join("; ")))
}

impl<'a> Shares<'a> {
    /// `None` unless exactly two groups of one network share it at two points or more. Points at which only one of them has long flows have no ratio.
    fn of(all: &[&'a Choice<'a>], goodput: &Metric) -> Option<Shares<'a>> {
        let mut ratios: Vec<(&Value, f64)> = Vec::new();
        let mut points = 0;
        let mut groups: Option<[&str; 2]> = None;
        for (i, a) in all.iter().enumerate() {
            let beside = |c: &&&Choice| c.at == a.at && c.variant == a.variant && c.subject != a.subject;
            let mut others = all.iter().filter(beside);
            let (Some(b), None) = (others.next(), others.next()) else { return None };
            if all[..i].iter().any(|c| c.subject == b.subject && c.at == a.at && c.variant == a.variant) {
                continue;
            }
            let both = [a.whose(), b.whose()];
            if *groups.get_or_insert(both) != both {
                return None;
            }
            points += 1;
            let (Some(own), Some(other)) = (a.cell(goodput), b.cell(goodput)) else { continue };
            ratios.push((a.at.first()?, if other.mean > 0.0 { own.mean / other.mean } else { f64::INFINITY }));
        }
        groups.filter(|_| points > 1 && !ratios.is_empty()).map(|groups| Shares { groups, ratios })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sweep_choices::choices;
    use super::super::sweep_data::{Point, SweptAxis};
    use super::*;
    use crate::page::Dimension;

    /// Goodputs of two groups at each buffer.
    fn sweep(of: &[(f64, f64, f64)]) -> Sweep {
        let axis = SweptAxis { key: "topology.bottleneck.buffer".into(), short: "buffer".into(), unit: Dimension::Packets };
        let point = |buffer: f64, subject: &str, goodput: f64| Point {
            at: vec![Value::Number(buffer)],
            variant: String::new(),
            subject: subject.into(),
            class: String::new(),
            metrics: vec![("long_goodput_bps".into(), goodput)],
        };
        let points = of.iter().flat_map(|(buffer, a, b)| [point(*buffer, "bbr", *a), point(*buffer, "cubic", *b)]).collect();
        Sweep { title: String::new(), axes: vec![axis], points }
    }

    #[test]
    fn crossing_of_two_groups() {
        let s = sweep(&[(42.0, 16e6, 1e6), (83.0, 8e6, 1e6), (333.0, 1e6, 1e6), (667.0, 1e6, 2e6)]);
        assert_eq!(
            sentence(&s, &choices(&s)).unwrap(),
            "Goodput of a long flow: **bbr** gets more than cubic at buffer 42 packets to buffer 83 packets (up to 16 times); **cubic** gets more \
             than bbr at buffer 667 packets (up to 2 times); both get nearly the same at buffer 333 packets."
        );
    }

    /// At the last point all hosts use one of the groups.
    #[test]
    fn single_group_has_no_ratio() {
        let mut s = sweep(&[(25.0, 28e6, 775e6), (50.0, 30e6, 1147e6), (100.0, 588e6, 0.0)]);
        s.points[5].metrics.clear();
        assert_eq!(
            sentence(&s, &choices(&s)).unwrap(),
            "Goodput of a long flow: **cubic** gets more than bbr at buffer 25 packets to buffer 50 packets (up to 38.2 times)."
        );
    }

    #[test]
    fn separate_networks_have_no_shares() {
        let mut s = sweep(&[(42.0, 16e6, 1e6), (83.0, 8e6, 1e6)]);
        s.points.iter_mut().for_each(|p| p.variant = p.subject.clone());
        assert_eq!(sentence(&s, &choices(&s)), None);
    }
}
