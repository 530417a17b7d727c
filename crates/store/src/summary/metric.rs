//! Definition of a summary metric: name, label, unit, description, lower bound and range.

pub use forebay_experiment::dimension::Dimension;

/// One metric of a summary `S`.
#[derive(Debug)]
pub struct Metric<S> {
    /// Column name in the `summary` table; ends with the unit, if any.
    pub name: &'static str,
    /// Label of its line; `{first}` is replaced by the name of the first transport group. Empty for a column without a line.
    pub label: &'static str,
    /// Dimension.
    pub unit: Dimension,
    /// The value; `None` when the run has no such traffic, such as queries.
    pub get: fn(&S) -> Option<f64>,
    /// Omits the line when every value is 0.
    pub if_any: bool,
    /// Description, one sentence.
    pub doc: &'static str,
    /// Condition under which the value is only a lower bound; `None` if it is always exact.
    pub bound: Option<LowerBound>,
    /// Range of possible values.
    pub range: ValueRange,
}

/// Range of a metric. Confidence intervals are clipped to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange {
    /// Minimum value.
    pub min: f64,
    /// Maximum value.
    pub max: UpperLimit,
}

/// Upper limit of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UpperLimit {
    /// Unlimited.
    Unbounded,
    /// One, for fractions and Jain's index.
    One,
    /// The value of another metric, if it has one.
    Metric(&'static str),
}

impl ValueRange {
    /// Minimum and maximum, given the values of other metrics in its runs.
    pub fn limits(self, of_runs: impl FnOnce(&'static str) -> Vec<f64>) -> (f64, f64) {
        let most = match self.max {
            UpperLimit::Unbounded => None,
            UpperLimit::One => Some(1.0),
            UpperLimit::Metric(name) => of_runs(name).into_iter().reduce(f64::max),
        };
        (self.min, most.unwrap_or(f64::INFINITY))
    }
}

/// Default range of a metric in this unit.
const fn range(unit: Dimension) -> ValueRange {
    ValueRange { min: 0.0, max: if matches!(unit, Dimension::Fraction) { UpperLimit::One } else { UpperLimit::Unbounded } }
}

/// Condition under which a value is only a lower bound: messages were still running at the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LowerBound {
    /// A quantile that would change if the running messages never ended.
    Quantile {
        /// Metric with the largest exact quantile ([`super::Spread::known`]).
        known: &'static str,
        /// Quantile of this metric.
        quantile: f64,
    },
    /// A mean of which more than the fraction `MATERIAL` of the values, or of their sum, is of values still running.
    Mean {
        /// Metric with this fraction.
        running: &'static str,
    },
}

/// Fraction of running values, or of their part of the sum, from which on a mean is marked as a lower bound. Every run that ends at a given time interrupts
/// some messages. Our choice.
const MATERIAL: f64 = 0.01;

pub(super) const fn metric<S>(
    name: &'static str,
    label: &'static str,
    unit: Dimension,
    get: fn(&S) -> Option<f64>,
    doc: &'static str,
) -> Metric<S> {
    Metric { name, label, unit, get, if_any: false, doc, bound: None, range: range(unit) }
}

/// Metric of completion times.
pub(super) const fn time<S>(
    name: &'static str,
    label: &'static str,
    get: fn(&S) -> Option<f64>,
    doc: &'static str,
    bound: LowerBound,
) -> Metric<S> {
    Metric {
        name,
        label,
        unit: Dimension::Seconds,
        get,
        if_any: false,
        doc,
        bound: Some(bound),
        range: range(Dimension::Seconds),
    }
}

pub(super) const fn mean(running: &'static str) -> LowerBound {
    LowerBound::Mean { running }
}

pub(super) const fn median(known: &'static str) -> LowerBound {
    LowerBound::Quantile { known, quantile: 0.5 }
}

pub(super) const fn tail(known: &'static str) -> LowerBound {
    LowerBound::Quantile { known, quantile: 0.99 }
}

pub(super) const fn extreme(known: &'static str) -> LowerBound {
    LowerBound::Quantile { known, quantile: 0.999 }
}

pub(super) const fn largest(known: &'static str) -> LowerBound {
    LowerBound::Quantile { known, quantile: 1.0 }
}

/// Metric whose line is omitted when all values are 0.
pub(super) const fn if_any<S>(
    name: &'static str,
    label: &'static str,
    unit: Dimension,
    get: fn(&S) -> Option<f64>,
    doc: &'static str,
) -> Metric<S> {
    Metric { name, label, unit, get, if_any: true, doc, bound: None, range: range(unit) }
}

impl LowerBound {
    /// Name of the metric that decides.
    pub fn metric(self) -> &'static str {
        match self {
            LowerBound::Quantile { known, .. } => known,
            LowerBound::Mean { running } => running,
        }
    }

    /// True if the value is a lower bound, given the values of that metric in its runs.
    pub fn holds(self, of_runs: impl IntoIterator<Item = Option<f64>>) -> bool {
        of_runs.into_iter().flatten().any(|v| match self {
            LowerBound::Quantile { quantile, .. } => v < quantile,
            LowerBound::Mean { .. } => v > MATERIAL,
        })
    }
}

impl<S> Metric<S> {
    /// Marks the metric as a possible lower bound.
    pub(super) const fn at_least(mut self, bound: LowerBound) -> Metric<S> {
        self.bound = Some(bound);
        self
    }

    /// Sets the upper limit.
    pub(super) const fn at_most(mut self, most: UpperLimit) -> Metric<S> {
        self.range.max = most;
        self
    }

    /// Sets the minimum.
    pub(super) const fn from(mut self, least: f64) -> Metric<S> {
        self.range.min = least;
        self
    }
}
