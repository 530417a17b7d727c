//! Rows: a value, the band in which it is expected, and the verdict.

use crate::referee::bench::{Bench, RefereeError};
use forebay_analysis::{Dimension, quantity};

/// Comparison of a value with its band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// In the band.
    Holds,
    /// Not in the band.
    Violated,
    /// There is no band: the value is for the reader.
    Reported,
    /// The value could not be measured. It is not a success.
    Unknown,
    /// The backend cannot run the scenario.
    Refused,
    /// The criterion is not about this congestion control.
    NotApplicable,
}

impl Verdict {
    /// Word in the report.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Reported => "report",
            Verdict::Unknown => "unknown",
            Verdict::Refused => "refused",
            Verdict::NotApplicable => "n/a",
        }
    }
}

/// Judged row.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Group of rows.
    pub group: &'static str,
    /// Criterion.
    pub row: &'static str,
    /// Text with the criterion.
    pub source: &'static str,
    /// Results in the backends, in the order of the columns.
    pub cells: Vec<Cell>,
}

/// Result of a row in one backend.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Measured value, with its unit; `-` without any.
    pub value: String,
    /// Expected values, or the reason why there is no value; `report` without a band.
    pub band: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Names of the scenarios, in the order of their runs.
    pub scenarios: Vec<String>,
}

/// Band of a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Band {
    /// At most `factor` times the larger of the values of Reno and CUBIC, plus `plus`.
    AtMost {
        factor: f64,
        plus: f64,
    },
    /// At least `factor` times the smaller of the values of Reno and CUBIC.
    AtLeast {
        factor: f64,
    },
    Report,
}

/// A decided case: value, band, and whether the value is in it.
#[derive(Debug, Clone)]
pub(crate) struct Decided {
    pub(crate) value: String,
    pub(crate) band: String,
    /// `None`: reported only.
    pub(crate) holds: Option<bool>,
}

/// Reason why a case has no value.
#[derive(Debug, Clone)]
pub(crate) enum Absent {
    /// The case is not about this congestion control.
    NotApplicable(&'static str),
    /// The state or event that it is about did not occur.
    Unknown(&'static str),
}

/// Result of a case, or the reason why there is none.
pub(crate) type Decision = Result<Result<Decided, Absent>, RefereeError>;

/// Congestion controls that bands are relative to: Reno, as NewReno with SACK, and CUBIC.
pub(crate) const REFERENCES: [&str; 2] = ["newreno", "cubic"];

/// A measured number; `None`: it could not be measured.
pub(crate) type Number = Result<Option<f64>, RefereeError>;

/// Measurement of a row.
pub(crate) enum Measure {
    /// A number, in a unit, of any congestion control. `None`: it could not be measured.
    Number(fn(&Bench<'_>, &str) -> Number, Dimension, Band),
    /// A case that decides itself.
    Case(fn(&Bench<'_>, &str) -> Decision),
}

/// A criterion.
pub(crate) struct Row {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) measure: Measure,
}

impl Row {
    /// Judges `cc` in this row, in the backend of `bench`.
    pub(crate) fn judge(&self, bench: &Bench<'_>, cc: &str) -> Result<Cell, RefereeError> {
        let (value, band, verdict) = match self.decide(bench, cc) {
            Ok(decided) => decided,
            // Other rows may have scenarios that the backend accepts.
            Err(RefereeError::Scenario(_, errors)) => {
                let reason = errors.list().first().map_or("", |e| e.message());
                ("-".into(), clause(reason).to_owned(), Verdict::Refused)
            }
            Err(other) => return Err(other),
        };
        Ok(Cell { value, band, verdict, scenarios: bench.scenarios() })
    }

    /// Value, band and verdict.
    fn decide(&self, bench: &Bench<'_>, cc: &str) -> Result<(String, String, Verdict), RefereeError> {
        Ok(match &self.measure {
            Measure::Number(measure, unit, band) => number(bench, cc, *measure, *unit, *band)?,
            Measure::Case(case) => match case(bench, cc)? {
                Ok(d) => {
                    let verdict = match d.holds {
                        None => Verdict::Reported,
                        Some(true) => Verdict::Holds,
                        Some(false) => Verdict::Violated,
                    };
                    (d.value, d.band, verdict)
                }
                Err(Absent::NotApplicable(reason)) => ("-".into(), reason.to_owned(), Verdict::NotApplicable),
                Err(Absent::Unknown(reason)) => ("-".into(), reason.to_owned(), Verdict::Unknown),
            },
        })
    }
}

/// The reason in a refusal, without the backend before it and the legal values behind it.
fn clause(message: &str) -> &str {
    let reason = message.split_once("does not run this: ").map_or(message, |(_, reason)| reason);
    reason.split_once("; legal: ").map_or(reason, |(reason, _)| reason)
}

fn number(
    bench: &Bench<'_>,
    cc: &str,
    measure: fn(&Bench<'_>, &str) -> Result<Option<f64>, RefereeError>,
    unit: Dimension,
    band: Band,
) -> Result<(String, String, Verdict), RefereeError> {
    let value = measure(bench, cc)?;
    let shown = value.map_or_else(|| "-".to_owned(), |v| quantity(v, unit));
    if matches!(band, Band::Report) {
        return Ok((shown, "report".into(), if value.is_some() { Verdict::Reported } else { Verdict::Unknown }));
    }
    let mut others = Vec::new();
    for name in REFERENCES {
        others.extend(measure(bench, name)?.map(|v| (v, name)));
    }
    let worst = |best: fn(&f64, &f64) -> std::cmp::Ordering| others.iter().copied().max_by(|a, b| best(&a.0, &b.0));
    let (text, holds) = match band {
        Band::AtMost { factor, plus } => {
            let Some((of, name)) = worst(f64::total_cmp) else { return Ok(no_reference(shown)) };
            let limit = factor * of + plus;
            (format!("at most {} ({name}: {})", quantity(limit, unit), quantity(of, unit)), value.map(|v| v <= limit))
        }
        Band::AtLeast { factor } => {
            let Some((of, name)) = worst(|a, b| b.total_cmp(a)) else { return Ok(no_reference(shown)) };
            let limit = factor * of;
            (format!("at least {} ({name}: {})", quantity(limit, unit), quantity(of, unit)), value.map(|v| v >= limit))
        }
        Band::Report => (String::new(), None),
    };
    let verdict = match holds {
        None => Verdict::Unknown,
        Some(true) => Verdict::Holds,
        Some(false) => Verdict::Violated,
    };
    Ok((shown, text, verdict))
}

fn no_reference(shown: String) -> (String, String, Verdict) {
    (shown, "neither newreno nor cubic has a value".into(), Verdict::Unknown)
}
