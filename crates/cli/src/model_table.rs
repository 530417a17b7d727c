//! The table of a variant: one block a model, one line a value, columns for the model, the simulation and the difference.

use crate::style::{BOLD, DIM, NAME, paint};
use crate::table::{decimals, scale};
use forebay_predict::{Applicability, Line, Samples};
use forebay_store::summary::Dimension;
use forebay_verdict::Cell;
use std::fmt::Write as _;

/// Width of the labels.
const LABEL: usize = 50;

/// Draws all models of a variant; `simulated`: with the columns of the simulation.
pub(crate) fn render(
    label: &str,
    verdicts: &[Applicability],
    collected: &[Vec<Samples>],
    simulated: bool,
    colour: bool,
) -> String {
    let mut out = format!("{}\n", paint(colour, NAME, label));
    for (verdict, columns) in verdicts.iter().zip(collected) {
        let Applicability::Applies(s) = verdict else { continue };
        let _ = writeln!(out, "\n{}: {}", paint(colour, BOLD, s.model), s.about);
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
    }
    let not: Vec<String> = verdicts
        .iter()
        .filter_map(|v| match v {
            Applicability::NotApplicable { model, reason } => Some(format!("  {model}: {reason}\n")),
            Applicability::Applies(_) => None,
        })
        .collect();
    if !not.is_empty() {
        let _ = write!(out, "\nmodels that do not apply\n{}", not.concat());
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
