//! forebay's values of a point.

use super::points::Figure;
use super::setup::{Setup, Work};
use forebay_scenario::{Scenario, Variant};
use forebay_sim::run::{Report, run};
use std::ops::ControlFlow;
use std::path::Path;

/// A run and its report.
#[derive(Debug)]
pub(super) struct Run {
    variant: Variant,
    report: Report,
}

const MSS: u64 = 1460;

impl Run {
    /// Runs a set-up in this process.
    pub(super) fn new(setup: &Setup, seed: u32) -> Result<Run, String> {
        let text = setup.scenario(seed);
        let scenario = Scenario::from_text(forebay_backends::all(), &text, "agree.toml", Path::new("."), &[], None);
        let resolved = scenario.and_then(|s| s.resolve()).map_err(|e| format!("{}\n{text}", e.render()))?;
        let variant = resolved.variants.into_iter().next().ok_or("a scenario without a variant")?;
        let checked = variant.config.check().map_err(|e| e.to_string())?;
        let report = run(checked, &mut |_| ControlFlow::Continue(())).map_err(|e| e.to_string())?;
        Ok(Run { variant, report })
    }

    /// Connection, start in seconds and full packets of every message, in the order of their starts.
    pub(super) fn messages(&self) -> Vec<(u64, f64, u64)> {
        let row = |f: &forebay_experiment::rows::FlowRow| (f.conn_id, f.start.0 as f64 * 1e-12, f.size_bytes.div_ceil(MSS));
        self.report.flows.iter().map(row).collect()
    }

    /// A figure, as the peers' programs define it.
    pub(super) fn figure(&self, figure: Figure, setup: &Setup) -> f64 {
        let port = || {
            let name = if let Work::Example = setup.work { "link2" } else { "bottleneck" };
            self.variant.port_names.iter().position(|n| n == name).map(|i| &self.report.ports[i])
        };
        let span = setup.time.0 - setup.time.1;
        let shares = || self.report.flows.iter().map(|f| f.bytes_measured as f64 * 8.0 / span);
        let flows = || self.report.flows.iter();
        match figure {
            Figure::Goodput if matches!(setup.work, Work::Incast(..)) => {
                let (first, last) = (self.report.queries.first(), self.report.queries.last());
                let ps = last.and_then(|q| q.end.ps()).map_or(f64::NAN, |end| (end - first.map_or(0, |q| q.start.0)) as f64);
                let bytes: u64 = self.report.queries.iter().map(|q| q.bytes).sum();
                bytes as f64 * 8.0 / (ps * 1e-12) / (setup.rates.0 * 1e9)
            }
            Figure::Goodput => shares().sum::<f64>() / (setup.rates.0 * 1e9),
            Figure::Jain => shares().sum::<f64>().powi(2) / (f64::from(setup.n) * shares().map(|s| s * s).sum::<f64>()),
            Figure::Ratio => shares().fold(0.0, f64::max) / shares().fold(f64::MAX, f64::min),
            Figure::Queue => port().map_or(f64::NAN, |p| p.queue_mean_pkts),
            Figure::Drops => port().map_or(f64::NAN, |p| (p.dropped_overflow + p.dropped_shared + p.dropped_early) as f64),
            Figure::Timeouts => flows().map(|f| f64::from(f.rtos)).sum(),
            Figure::End => {
                // Without all messages there is no such time.
                let ends: Option<Vec<u64>> = flows().map(|f| f.end.ps()).collect();
                ends.map_or(f64::NAN, |ends| ends.into_iter().max().unwrap_or(0) as f64 * 1e-12)
            }
            Figure::Window => {
                let before = (setup.time.1 * 1e12) as u64;
                let last = |conn: u64| self.report.tcp.iter().rfind(|r| r.conn_id == conn && r.time_ps < before);
                (0..u64::from(setup.n)).map(|c| last(c).map_or(0.0, |r| r.cwnd)).sum::<f64>() / f64::from(setup.n)
            }
            Figure::Group(g) => {
                let of = [0..10, 10..30, 30..40][g.min(2)].clone();
                let count = of.len() as f64;
                shares().skip(of.start).take(of.len()).sum::<f64>() / count / 1e6
            }
        }
    }
}
