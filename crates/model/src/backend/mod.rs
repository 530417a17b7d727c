//! Closed forms applied to an experiment, one file for each model. A model checks whether it applies, and computes its values and the corresponding
//! measurements of a run.

mod ceilings;
mod dctcp;
mod incast;
mod measure;
mod path;
mod share;
mod trim;
pub mod world;

use forebay_experiment::Experiment;
use forebay_experiment::dimension::Dimension;
use forebay_experiment::report::Report;
use forebay_types::{Estimate, GroupId, PortId, QueueLen, ends, estimate};
use serde_json::{Map, Value as Json, json};

/// Reads a number from the results of a run; `None`: the run does not have it.
pub type Measure = Box<dyn Fn(&Report) -> Option<f64>>;

/// A value of a model.
pub struct Line {
    /// Name.
    pub name: String,
    /// Dimension.
    pub unit: Dimension,
    /// The model's value.
    pub model: ModelValue,
    /// Its measurement; `None`: no result of a run corresponds to it.
    pub sim: Option<Measure>,
    /// The number of a report that it predicts.
    pub predicts: Option<Predicts>,
    /// Upper bound of the measured value, at which its interval is clipped.
    pub max: f64,
}

/// A number of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predicts {
    /// Goodput of the transport.
    Goodput,
    /// Mean queue of the port.
    QueueMean,
    /// Largest queue of the port.
    QueueMax,
    /// Time that a query (a round of blocks) takes.
    QueryTime,
}

/// Source of a model's value.
pub enum ModelValue {
    /// The scenario.
    Scenario(f64),
    /// A run, because an argument of the model is a result of it.
    Run(Measure),
}

/// A model that applies.
pub struct Section {
    /// Its name.
    pub model: &'static str,
    /// Subject and source.
    pub about: &'static str,
    /// Transport that it describes.
    pub group: Option<GroupId>,
    /// Port that it describes.
    pub port: Option<PortId>,
    /// Its arguments, derived from the scenario: symbol and value.
    pub inputs: Vec<(&'static str, String)>,
    /// Its values.
    pub lines: Vec<Line>,
    /// Differences between the scenario and the assumptions.
    pub notes: Vec<String>,
}

/// Values of a model, or the reason why it does not apply.
pub enum Applicability {
    /// It applies.
    Applies(Section),
    /// It does not apply.
    NotApplicable {
        /// Its name.
        model: &'static str,
        /// Reason.
        reason: String,
    },
}

/// Evaluates a model: its values, or the reason why it does not apply.
type ModelFn = fn(&Experiment) -> Result<Section, String>;

/// Evaluates all models for an experiment.
pub fn applicability(v: &Experiment) -> Vec<Applicability> {
    let all: [(&'static str, ModelFn); 5] = [
        ("incast", incast::section),
        ("trim", trim::section),
        ("dctcp", dctcp::section),
        ("share", share::section),
        ("ceilings", ceilings::section),
    ];
    let verdict = |(model, model_fn): (&'static str, ModelFn)| match model_fn(v) {
        Ok(section) => Applicability::Applies(with_limits(section, v)),
        Err(reason) => Applicability::NotApplicable { model, reason },
    };
    all.into_iter().map(verdict).collect()
}

/// Sets the upper bounds of values that a port limits by its rate or its buffer.
fn with_limits(mut section: Section, v: &Experiment) -> Section {
    if let Some(port) = section.port.and_then(|id| v.network.ports.get(id)) {
        for line in &mut section.lines {
            line.max = match (line.unit, port.buffer) {
                (Dimension::BitsPerSecond, _) => port.rate.0 as f64,
                (Dimension::Packets, Some(QueueLen::Packets(n))) => n as f64,
                _ => line.max,
            };
        }
    }
    section
}

impl Applicability {
    /// The values of a model that applies.
    pub fn lines(&self) -> &[Line] {
        match self {
            Applicability::Applies(s) => &s.lines,
            Applicability::NotApplicable { .. } => &[],
        }
    }
}

impl Line {
    /// A value without a measurement.
    fn theory(name: impl Into<String>, unit: Dimension, value: f64) -> Line {
        Line { name: name.into(), unit, model: ModelValue::Scenario(value), sim: None, predicts: None, max: f64::INFINITY }
    }

    /// A value and its measurement.
    fn pair(name: impl Into<String>, unit: Dimension, value: f64, sim: impl Fn(&Report) -> Option<f64> + 'static) -> Line {
        Line { sim: Some(Box::new(sim)), ..Line::theory(name, unit, value) }
    }

    /// Marks the value as the prediction of a number of a report.
    fn predicts(self, what: Predicts) -> Line {
        Line { predicts: Some(what), ..self }
    }
}

/// Measurements of a value, one for each run.
#[derive(Default)]
pub struct Samples {
    model: Vec<f64>,
    sim: Vec<f64>,
}

impl Samples {
    /// Adds a run.
    pub fn add(&mut self, line: &Line, run: &Report) {
        if let ModelValue::Run(get) = &line.model {
            self.model.extend(get(run));
        }
        self.sim.extend(line.sim.as_ref().and_then(|get| get(run)));
    }

    /// The model's value; `None`: it requires a run.
    pub fn model(&self, line: &Line) -> Option<f64> {
        match line.model {
            ModelValue::Scenario(value) => Some(value),
            ModelValue::Run(_) => estimate(&self.model).map(|e| e.mean),
        }
    }

    /// The simulation's value: the mean over runs.
    pub fn sim(&self) -> Option<Estimate> {
        estimate(&self.sim)
    }

    /// Bounds of its confidence interval; `None` with fewer than two runs.
    pub fn ends(&self, line: &Line) -> Option<(f64, f64)> {
        ends(&self.sim, 0.0, line.max)
    }

    /// sim / model - 1; `None` if either is missing or the model's value is 0.
    pub fn difference(&self, line: &Line) -> Option<f64> {
        let (model, sim) = (self.model(line)?, self.sim()?.mean);
        (model != 0.0).then(|| sim / model - 1.0)
    }
}

/// Measurements by variant, model and value.
pub type Measured = Vec<Vec<Vec<Samples>>>;

/// Empty measurements.
pub fn no_samples(applicability: &[Vec<Applicability>]) -> Measured {
    let model = |v: &Applicability| v.lines().iter().map(|_| Samples::default()).collect();
    applicability.iter().map(|v| v.iter().map(model).collect()).collect()
}

/// Header of the values for a scenario.
#[derive(Debug, Clone, Copy)]
pub struct Header<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// Its first seed.
    pub seed: u64,
    /// Number of runs of each variant.
    pub runs: u32,
    /// Remarks of the resolver.
    pub notes: &'a [String],
    /// Names of its variants.
    pub labels: &'a [&'a str],
}

/// The values without measurements: the object that `forebay compare --worlds model --models --format json` prints.
pub fn evaluate(head: Header<'_>, experiments: &[&Experiment]) -> Json {
    let applicability: Vec<Vec<Applicability>> = experiments.iter().map(|e| applicability(e)).collect();
    to_json(head, &applicability, &no_samples(&applicability))
}

/// All variants as JSON.
pub fn to_json(head: Header<'_>, applicability: &[Vec<Applicability>], measured: &Measured) -> Json {
    let parts = head.labels.iter().zip(applicability).zip(measured);
    let variants: Vec<Json> = parts.map(|((label, applicability), columns)| variant(label, applicability, columns)).collect();
    json!({"name": head.name, "seed": head.seed, "runs": head.runs, "notes": head.notes, "variants": variants})
}

/// A variant as JSON; units are SI, fractions of 1.
fn variant(label: &str, applicability: &[Applicability], collected: &[Vec<Samples>]) -> Json {
    let (mut models, mut not) = (Vec::new(), Vec::new());
    for (verdict, columns) in applicability.iter().zip(collected) {
        match verdict {
            Applicability::NotApplicable { model, reason } => not.push(json!({"model": model, "why": reason})),
            Applicability::Applies(s) => {
                let value = |(line, c): (&Line, &Samples)| {
                    let ends = c.ends(line);
                    let (low, high) = (ends.map(|e| e.0), ends.map(|e| e.1));
                    let sim = c
                        .sim()
                        .map(|e| json!({"mean": e.mean, "half_width": e.half_width, "low": low, "high": high, "runs": e.n}));
                    json!({
                        "name": line.name, "unit": line.unit.symbol(), "model": c.model(line), "sim": sim,
                        "difference": c.difference(line),
                    })
                };
                let values: Vec<Json> = s.lines.iter().zip(columns).map(value).collect();
                let inputs: Map<String, Json> = s.inputs.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
                models.push(json!({"model": s.model, "about": s.about, "inputs": inputs, "values": values, "notes": s.notes}));
            }
        }
    }
    json!({"variant": label, "models": models, "not_applicable": not})
}
