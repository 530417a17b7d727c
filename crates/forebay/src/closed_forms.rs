//! Closed forms of a scenario: their values, beside those that its runs measure, as a table or as JSON.

use crate::terminal::style::{BOLD, DIM, paint};
use crate::terminal::summary_table::{decimals, scale};
use forebay_analysis::Cell;
use forebay_experiment::report::Report;
use forebay_model::backend::{Applicability, Header, Line, Measured, Samples, applicability, no_samples, to_json};
use forebay_scenario::Resolved;
use forebay_store::summary::Dimension;
use serde_json::Value;
use std::fmt::Write as _;

/// Width of the labels.
const LABEL: usize = 50;

/// Closed forms of all variants of a scenario, with measured values if its runs are added.
pub(crate) struct ClosedForms {
    verdicts: Vec<Vec<Applicability>>,
    measured: Measured,
}

impl ClosedForms {
    /// Evaluates them.
    pub(crate) fn of(scenario: &Resolved) -> ClosedForms {
        let verdicts: Vec<Vec<Applicability>> = scenario.variants.iter().map(|v| applicability(&v.config)).collect();
        let measured = no_samples(&verdicts);
        ClosedForms { verdicts, measured }
    }

    /// Adds the values that a run of a variant measured.
    pub(crate) fn add(&mut self, variant: usize, report: &Report) {
        for (verdict, columns) in self.verdicts[variant].iter().zip(&mut self.measured[variant]) {
            verdict.lines().iter().zip(columns).for_each(|(line, c)| c.add(line, report));
        }
    }

    /// The table of a variant; `measured`: with the columns of the runs.
    pub(crate) fn table(&self, variant: usize, measured: bool, colour: bool) -> String {
        table(&self.verdicts[variant], &self.measured[variant], measured, colour)
    }

    /// For each variant an object with `models`, and `not_applicable` with the reasons.
    fn objects(&self) -> Vec<Value> {
        let labels = vec![""; self.verdicts.len()];
        let head = Header { name: "", seed: 0, runs: 0, notes: &[], labels: &labels };
        let mut all = to_json(head, &self.verdicts, &self.measured);
        all["variants"].as_array_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds these objects to others, one for each variant.
    pub(crate) fn add_to(&self, variants: &mut [Value]) {
        for (variant, mut own) in variants.iter_mut().zip(self.objects()) {
            for key in ["models", "not_applicable"] {
                variant[key] = own[key].take();
            }
        }
    }
}

/// Draws the closed forms of a variant: one block per model, one line per value.
fn table(verdicts: &[Applicability], collected: &[Vec<Samples>], simulated: bool, colour: bool) -> String {
    let mut out = String::new();
    for (verdict, columns) in verdicts.iter().zip(collected) {
        let Applicability::Applies(s) = verdict else { continue };
        let _ = writeln!(out, "{}: {}", paint(colour, BOLD, s.model), s.about);
        for (symbol, value) in &s.inputs {
            let _ = writeln!(out, "  {}", paint(colour, DIM, &format!("{symbol}: {value}")));
        }
        let heads = if simulated { ["model", "simulation", "difference"].as_slice() } else { &["model"] };
        let _ = write!(out, "  {:LABEL$}  {:4}", "", "");
        heads.iter().for_each(|h| _ = write!(out, "  {h:>16}"));
        out.push('\n');
        for (line, c) in s.lines.iter().zip(columns) {
            row(&mut out, line, c, simulated);
        }
        s.notes.iter().for_each(|n| _ = writeln!(out, "  note: {n}"));
        out.push('\n');
    }
    let not: Vec<String> = verdicts
        .iter()
        .filter_map(|v| match v {
            Applicability::NotApplicable { model, reason } => Some(format!("  {model}: {reason}\n")),
            Applicability::Applies(_) => None,
        })
        .collect();
    if !not.is_empty() {
        let _ = write!(out, "models that do not apply\n{}\n", not.concat());
    }
    out
}

fn row(out: &mut String, line: &Line, c: &Samples, simulated: bool) {
    let (model, sim) = (c.model(line), c.sim());
    let shown = || model.iter().copied().chain(sim.as_ref().map(|e| e.mean)).map(f64::abs);
    let largest = shown().fold(0.0, f64::max);
    let smallest = shown().filter(|x| *x > 0.0).fold(largest, f64::min);
    let (divisor, unit) = scale(line.unit, largest);
    let whole = matches!(line.unit, Dimension::Count | Dimension::Packets) && shown().all(|x| x.fract() == 0.0);
    let digits = if whole { 0 } else { decimals(largest / divisor, 3).max(decimals(smallest / divisor, 2)).min(4) };
    let number = |x: f64| format!("{:.digits$}", x / divisor);
    let _ = write!(out, "  {:LABEL$}  {unit:4}  {:>16}", line.name, model.map_or("-".into(), number));
    if simulated {
        let cell = |mean: f64| Cell { mean, ends: c.ends(line), ..Cell::default() };
        let spread = |mean: f64| cell(mean).spread(number).map_or(String::new(), |s| format!(" {s}"));
        let text = sim.as_ref().map_or("-".to_owned(), |e| number(e.mean) + &spread(e.mean));
        let difference = c.difference(line).map_or("-".to_owned(), |d| format!("{:+.1} %", 100.0 * d));
        let _ = write!(out, "  {text:>16}  {difference:>16}");
    }
    out.push('\n');
}
