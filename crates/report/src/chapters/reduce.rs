//! Reduction of long series to minimum and maximum of equal time intervals, which keeps all peaks and troughs.

use crate::page::{EventKind, Events, TimeLine, Times};

/// A series before it is drawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    /// Index of the subject; `None` for a series without a single subject.
    pub subject: Option<usize>,
    /// Name in the legend.
    pub label: String,
    /// Sample times, ns, ascending.
    pub times: Vec<i64>,
    /// Values; `None` is a gap.
    pub values: Vec<Option<f64>>,
}

/// Maximum number of values of all time series of a page. Our choice: at 4 to 9 characters each they take less than half of the 3 MB of a page.
pub(super) const BUDGET: usize = 200_000;
/// Maximum number of intervals for events of one kind: more cannot be distinguished on a screen.
const EVENT_BINS: i64 = 500;

/// Shares of several series in the budget: no series gets more than it `wants`, and unused shares are divided equally among the others.
pub(super) fn share(wants: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wants.len()).collect();
    order.sort_by_key(|&i| wants[i]);
    let (mut left, mut gets) = (budget, vec![0; wants.len()]);
    for (done, &i) in order.iter().enumerate() {
        gets[i] = wants[i].min(left / (wants.len() - done));
        left -= gets[i];
    }
    gets
}

impl Series {
    /// Number of values without reduction.
    pub(super) fn wants(&self) -> usize {
        if self.even().is_some() { self.times.len() } else { 2 * self.times.len() }
    }

    /// Start and interval of evenly spaced samples, within the rounding to nanoseconds.
    fn even(&self) -> Option<(f64, f64)> {
        let (first, last) = (*self.times.first()?, *self.times.last()?);
        let n = self.times.len() as i64 - 1;
        if n < 1 {
            return None;
        }
        let step = (last - first) as f64 / n as f64;
        let near = |(i, t): (usize, &i64)| ((*t - first) as f64 - step * i as f64).abs() <= 1.0;
        (step > 0.0 && self.times.iter().enumerate().all(near)).then_some((first as f64 * 1e-9, step * 1e-9))
    }

    /// The line with at most about `budget` values, and the length of the intervals in seconds if it was reduced.
    pub(super) fn line(&self, budget: usize) -> (TimeLine, Option<f64>) {
        let mut line = TimeLine { subject: self.subject, label: self.label.clone(), ..TimeLine::default() };
        if self.wants() <= budget {
            line.at = match self.even() {
                Some((from, step)) => Times::Even { from: significant(from, 12), step: significant(step, 12) },
                None => Times::List(self.times.iter().map(|&t| self.seconds(t as f64)).collect()),
            };
            line.y = self.values.iter().map(|v| v.map(short)).collect();
            return (line, None);
        }
        // Two values per interval, and its time if intervals may be empty.
        let even = self.even().is_some();
        let buckets = (budget / if even { 2 } else { 3 }).max(2);
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        let width = ((last - first) as f64 + 1.0) / buckets as f64;
        let (mut times, mut bucket) = (Vec::new(), usize::MAX);
        for (&t, &value) in self.times.iter().zip(&self.values) {
            let b = (((t - first) as f64 / width) as usize).min(buckets - 1);
            if b != bucket {
                bucket = b;
                times.push(self.seconds(first as f64 + width * (b as f64 + 0.5)));
                line.y.push(None);
                line.low.push(None);
            }
            if let (Some(v), Some(high), Some(low)) = (value, line.y.last_mut(), line.low.last_mut()) {
                *high = Some(high.map_or(v, |h: f64| h.max(v)));
                *low = Some(low.map_or(v, |l: f64| l.min(v)));
            }
        }
        for v in line.y.iter_mut().chain(&mut line.low).flatten() {
            *v = short(*v);
        }
        let full = times.len() == buckets;
        line.at = match (full, times.first()) {
            (true, Some(&from)) => Times::Even { from, step: significant(width * 1e-9, 12) },
            _ => Times::List(times),
        };
        (line, Some(width * 1e-9))
    }

    /// Nanoseconds as seconds, rounded to a ten-millionth of the whole series.
    fn seconds(&self, ns: f64) -> f64 {
        let end = self.times.last().copied().unwrap_or(0).max(1) as f64 * 1e-9;
        let decimals = (7 - end.log10().ceil() as i32).clamp(0, 9);
        round(ns * 1e-9, decimals)
    }
}

/// Five significant digits, more than a screen shows.
pub(super) fn short(value: f64) -> f64 {
    significant(value, 5)
}

/// `value` with this number of significant digits.
pub(super) fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    round(value, digits - 1 - value.abs().log10().floor() as i32)
}

fn round(value: f64, decimals: i32) -> f64 {
    // Converted through text, so that the result prints with no more digits.
    if decimals >= 0 {
        format!("{value:.*}", decimals as usize).parse().unwrap_or(value)
    } else {
        let unit = 10f64.powi(-decimals);
        (value / unit).round() * unit
    }
}

/// Events of a kind: times, ns, and counts. Few events keep their times; many are counted in equal intervals from 0 to `end_ns`.
pub(super) fn events(
    (subject, label): (Option<usize>, String),
    kind: EventKind,
    happened: &[(i64, u64)],
    end_ns: i64,
) -> Option<Events> {
    let happened = || happened.iter().filter(|(_, n)| *n > 0);
    let mut out = Events { subject, label, kind, ..Events::default() };
    let width = (end_ns.max(1) as f64 / EVENT_BINS as f64).max(1.0);
    let few = happened().count() as i64 <= EVENT_BINS;
    let mut last = None;
    for &(t, n) in happened() {
        let key = if few { t } else { (t as f64 / width) as i64 };
        match (out.n.last_mut(), last == Some(key)) {
            (Some(sum), true) => *sum += n,
            _ => {
                out.at.push(significant(if few { t as f64 } else { (key as f64 + 0.5) * width } * 1e-9, 9));
                out.n.push(n);
            }
        }
        last = Some(key);
    }
    (!out.at.is_empty()).then_some(out)
}

/// Note on the reduction of a chart's lines, given the lengths of their intervals.
pub(super) fn note(widths: impl Iterator<Item = Option<f64>>) -> String {
    let widths: Vec<f64> = widths.flatten().collect();
    let (low, high) = (widths.iter().copied().fold(f64::INFINITY, f64::min), widths.iter().copied().fold(0.0, f64::max));
    if widths.is_empty() {
        return String::new();
    }
    let text = |s: f64| forebay_analysis::quantity(significant(s, 2), crate::page::Dimension::Seconds);
    let range = if text(low) == text(high) { text(low) } else { format!("{} to {}", text(low), text(high)) };
    format!("Long series are drawn as minimum and maximum per interval of {range}; the tables have every sample.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(n: usize) -> Series {
        let times = (0..n as i64).map(|i| i * 1_000_000).collect();
        Series { times, values: (0..n).map(|i| Some((i % 100) as f64)).collect(), ..Series::default() }
    }

    #[test]
    fn point_budget_shared_by_long_series() {
        assert_eq!(share(&[10, 1_000, 20, 5_000], 530), [10, 250, 20, 250]);
        assert_eq!(share(&[10, 20], 1_000), [10, 20]);
        assert_eq!(share(&[], 5), Vec::<usize>::new());
        let (line, width) = even(1_000).line(1_000);
        assert!(width.is_none() && line.low.is_empty() && line.y.len() == 1_000);
        assert!(matches!(line.at, Times::Even { from: 0.0, step: 0.001 }), "{:?}", line.at);
    }

    #[test]
    fn extremes_survive() {
        let mut series = even(20_000);
        series.values[7_777] = Some(1e6);
        series.values[12_345] = Some(-5.0);
        series.values[3] = None;
        let (line, width) = series.line(1_000);
        assert_eq!((line.y.len(), line.low.len()), (500, 500));
        assert!((width.unwrap() - 0.04).abs() < 1e-4, "{width:?}");
        let at = |v: f64, list: &[Option<f64>]| list.iter().position(|x| *x == Some(v)).unwrap();
        assert_eq!((at(1e6, &line.y), at(-5.0, &line.low)), (7_777 / 40, 12_345 / 40));
        let Times::Even { from, step } = line.at else { panic!("uneven") };
        assert!((from - 0.02).abs() < 1e-3 && (step - 0.04).abs() < 1e-4, "{from} {step}");
    }

    #[test]
    fn uneven_series_keep_times() {
        let times = vec![0, 10, 11, 5_000_000_000, 5_000_000_500];
        let series = Series { times, values: [1.0, 2.0, 3.0, 4.0, 5.0].map(Some).to_vec(), ..Series::default() };
        let (line, _) = series.line(10);
        let Times::List(at) = &line.at else { panic!("even") };
        assert_eq!((at.len(), at[3]), (5, 5.0));
        // Nine values are three intervals, of which the middle one is empty.
        let (line, _) = series.line(9);
        assert_eq!((line.y, line.low), (vec![Some(3.0), Some(5.0)], vec![Some(1.0), Some(4.0)]));
    }

    #[test]
    fn numbers_have_five_digits() {
        assert_eq!([short(12.345_678), short(0.0), short(-1_234_567.0), short(3.0)], [12.346, 0.0, -1_234_600.0, 3.0]);
        assert_eq!(serde_json::to_string(&short(0.1 + 0.2)).unwrap(), "0.3");
    }

    #[test]
    fn many_events_are_binned() {
        let few =
            events((Some(1), String::new()), EventKind::Mark, &[(1_000, 2), (2_000, 0), (3_000, 1), (3_000, 4)], 10_000).unwrap();
        assert_eq!((few.at, few.n), (vec![1e-6, 3e-6], vec![2, 5]));
        let many: Vec<(i64, u64)> = (0..5_000).map(|i| (i * 1_000, 1)).collect();
        let many = events((Some(0), String::new()), EventKind::Drop, &many, 5_000_000).unwrap();
        assert_eq!((many.at.len(), many.n.iter().sum::<u64>(), many.at[0]), (500, 5_000, 5e-6));
        assert!(events((Some(0), String::new()), EventKind::Drop, &[(5, 0)], 10).is_none());
    }
}
