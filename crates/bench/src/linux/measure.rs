//! One scenario in both worlds.

use forebay_exec::align::align;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_scenario::Scenario;
use forebay_store::RunInfo;
use forebay_store::summary::summarise;
use std::ops::ControlFlow;

/// What a world made of a scenario.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Of all transports together, bit/s.
    pub goodput: f64,
    /// Mean queue at the bottleneck, packets.
    pub queue: f64,
    pub timeouts: u64,
    pub retransmitted: u64,
    pub marks: u64,
}

/// A scenario in both worlds: the simulator first.
#[derive(Debug)]
pub(crate) struct Row {
    pub figures: [Figures; 2],
    pub connections: usize,
    /// Connections of which all packets are the same.
    pub identical: usize,
    /// Fewest packets that a connection has in common before it diverges; `None` where none does.
    pub common: Option<usize>,
}

impl Row {
    /// Whether the first 1000 packets of every connection are the same to the nanosecond.
    pub(super) fn thousand(&self) -> bool {
        self.common.is_none_or(|common| common >= 1_000)
    }

    /// Goodput in the simulator over that in Linux.
    pub(super) fn goodput(&self) -> f64 {
        ratio(self.figures[0].goodput, self.figures[1].goodput)
    }

    /// Mean queue likewise.
    pub(super) fn queue(&self) -> f64 {
        ratio(self.figures[0].queue, self.figures[1].queue)
    }

    /// Whether timeouts and retransmissions are as many.
    pub(super) fn repairs(&self) -> bool {
        let of = |f: &Figures| (f.timeouts, f.retransmitted);
        of(&self.figures[0]) == of(&self.figures[1])
    }
}

/// 1 for two zeros.
fn ratio(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { a / b }
}

/// Runs `text` in both worlds.
pub(crate) fn both(name: &str, text: &str) -> Result<Row, String> {
    let [(sim, report), (linux, other)] = [in_world("sim", name, text)?, in_world("linux", name, text)?];
    let found = align(&report, &other);
    Ok(Row {
        figures: [sim, linux],
        connections: found.len(),
        identical: found.iter().filter(|a| a.first.is_none()).count(),
        common: found.iter().filter(|a| a.first.is_some()).map(|a| a.alike).min(),
    })
}

fn in_world(world: &str, name: &str, text: &str) -> Result<(Figures, Report), String> {
    let sets = [format!("world={world}")];
    let scenario = Scenario::from_text(forebay_worlds::all(), text, name, "".as_ref(), &sets, None);
    let resolved = scenario.and_then(|s| s.resolve()).map_err(|e| e.to_string())?;
    let mut config: Experiment = resolved.variants[0].config.clone();
    config.seed = resolved.run_seed(0);
    config.observe.packets = true;
    let checked = config.check().map_err(|e| e.to_string())?;
    let report =
        resolved.world.run(checked, config.seed, &mut |_| ControlFlow::Continue(())).map_err(|e| format!("{world}: {e}"))?;
    let summary = summarise(&RunInfo::new(world, "", 0, &config), &config, &report);
    let seconds = report.end.saturating_sub(report.measured_from).as_secs_f64();
    let figures = Figures {
        goodput: report.acked.iter().sum::<u64>() as f64 * 8.0 / seconds.max(1e-12),
        queue: summary.network.queue_mean.unwrap_or(0.0),
        timeouts: report.flows.iter().map(|f| u64::from(f.rtos) + u64::from(f.syn_rtos)).sum(),
        retransmitted: report.flows.iter().map(|f| f.segs_retx).sum(),
        marks: summary.network.marks,
    };
    Ok((figures, report))
}
