//! Results of `forebay-bench compare`: one row for each simulator on each case.

use crate::cases::Case;
use crate::extra::Extra;
use crate::peers::Engine;
use crate::stats::Spread;

/// All measurements.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// Interleaved runs of each case.
    pub runs: usize,
    /// In the order of the table.
    pub rows: Vec<Row>,
    /// Peers that did not run, with the reason.
    pub missing: Vec<(Engine, String)>,
    /// The reason for missing instruction counts.
    pub no_instructions: Option<String>,
    /// forebay alone: memory of many flows, many runs at a time.
    pub extra: Option<Extra>,
}

/// One simulator on one case.
#[derive(Debug)]
pub(crate) struct Row {
    /// The case.
    pub case: &'static Case,
    /// The simulator.
    pub engine: Engine,
    /// Packet transmissions of one run.
    pub transmissions: f64,
    /// Simulated seconds of one run.
    pub sim_s: f64,
    /// Transmissions per user-CPU second.
    pub pts: Spread,
    /// User-CPU seconds of one run.
    pub user_s: Spread,
    /// Largest resident memory of all runs, kB.
    pub peak_kb: u64,
    /// Instructions per packet-hop.
    pub instructions: Option<f64>,
    /// Rounds or finished flows, where the case has them.
    pub work: Option<f64>,
}

impl Results {
    /// The row of a simulator on a case.
    pub(crate) fn row(&self, case: &Case, engine: Engine) -> Option<&Row> {
        self.rows.iter().find(|r| r.case.name == case.name && r.engine == engine)
    }
}
