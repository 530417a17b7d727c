//! What a number of a summary is: its name, label, unit and sentence, when it is only a lower bound, and what it can be at all.

pub use forebay_experiment::dimension::Dimension;

/// One number of a summary `S`.
#[derive(Debug)]
pub struct Metric<S> {
    /// Name of its column in the `summary` table; ends with the unit where there is one.
    pub name: &'static str,
    /// Label of its line; `{first}` stands for the name of the first transport group. Empty for a column of the tables that has no line.
    pub label: &'static str,
    /// Dimension.
    pub unit: Dimension,
    /// The value; `None` when the run has no such thing, such as queries.
    pub get: fn(&S) -> Option<f64>,
    /// The line is left out when every value is 0.
    pub if_any: bool,
    /// One sentence: what it is.
    pub doc: &'static str,
    /// When it is only a lower bound; `None` for what is always known.
    pub bound: Option<LowerBound>,
    /// What it can be.
    pub range: ValueRange,
}

/// What a number can be at all: no interval around its mean reaches beyond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange {
    /// It is never less.
    pub min: f64,
    /// It is never more.
    pub max: UpperLimit,
}

/// How large a number can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UpperLimit {
    /// Nobody knows.
    Open,
    /// One, as parts of something and Jain's index.
    One,
    /// The metric of this name, where it has a value.
    Metric(&'static str),
}

impl ValueRange {
    /// The smallest and the largest value that it can have, given the values of other metrics in its runs.
    pub fn limits(self, of_runs: impl FnOnce(&'static str) -> Vec<f64>) -> (f64, f64) {
        let most = match self.max {
            UpperLimit::Unbounded => None,
            UpperLimit::One => Some(1.0),
            UpperLimit::Metric(name) => of_runs(name).into_iter().reduce(f64::max),
        };
        (self.min, most.unwrap_or(f64::INFINITY))
    }
}

/// What a number in this unit can be, if nothing else is known.
const fn range(unit: Dimension) -> ValueRange {
    ValueRange { min: 0.0, max: if matches!(unit, Dimension::Fraction) { UpperLimit::One } else { UpperLimit::Unbounded } }
}

/// When a number is only known to be at least as large as shown, because a part of what it was made of was still running.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LowerBound {
    /// A quantile: it would change if what was running never ended.
    Quantile {
        /// Metric that says up to which quantile they would not ([`super::Spread::known`]).
        known: &'static str,
        /// The quantile that the number is.
        quantile: f64,
    },
    /// A mean: what was running is a part of its values that matters, more than `MATERIAL`.
    Mean {
        /// Metric that gives the part.
        running: &'static str,
    },
}

/// The part of its values that must have been running for a mean to be called a bound. Any part is one, strictly; but every run that ends at
/// a given time ends in the midst of something. Our choice.
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

/// A number of completion times.
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

/// A line that is left out where it says nothing but 0.
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
    /// The metric that decides.
    pub fn metric(self) -> &'static str {
        match self {
            LowerBound::Quantile { known, .. } => known,
            LowerBound::Mean { running } => running,
        }
    }

    /// Whether the number is a bound, given the values of that metric in its runs.
    pub fn holds(self, of_runs: impl IntoIterator<Item = Option<f64>>) -> bool {
        of_runs.into_iter().flatten().any(|v| match self {
            LowerBound::Quantile { quantile, .. } => v < quantile,
            LowerBound::Mean { .. } => v > MATERIAL,
        })
    }
}

impl<S> Metric<S> {
    /// The same number, which may be a bound.
    pub(super) const fn at_least(mut self, bound: LowerBound) -> Metric<S> {
        self.bound = Some(bound);
        self
    }

    /// The same number, which is never more than this.
    pub(super) const fn at_most(mut self, most: UpperLimit) -> Metric<S> {
        self.range.max = most;
        self
    }

    /// The same number, which is never less than this.
    pub(super) const fn from(mut self, least: f64) -> Metric<S> {
        self.range.min = least;
        self
    }
}
