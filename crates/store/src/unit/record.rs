//! Metrics of one unit.

use crate::run_info::RunInfo;
use crate::summary::{GROUP_METRICS, NETWORK_METRICS, Summary};
use crate::summary_table::Row;
use forebay_experiment::report::Report;
use forebay_types::{GroupId, IndexVec};

/// Metrics of one unit: its rows of the `summary` table, and the fingerprint of its trajectory.
///
/// Names of variants and groups and the repetition number are those of the run that computed it. They are not inputs of the result: the same
/// transport may be named `dctcp` in one comparison and `dctcp g=0.0625` in another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UnitRecord {
    /// Name of the variant.
    pub variant: String,
    /// Repetition, from 0.
    pub run: u32,
    /// Seed.
    pub seed: u64,
    /// World that ran it.
    pub world: String,
    /// Name of each transport group.
    pub groups: IndexVec<GroupId, String>,
    /// Port that the queue metrics are of.
    pub port: String,
    /// The metrics of each group, one group after the other, each in the order of the columns. NaN is stored as `None`.
    pub values: Vec<Option<f64>>,
    /// Hash of the trajectory.
    pub fingerprint: u64,
    /// Packet transmissions.
    pub packet_hops: u64,
    /// Simulated time at the end, ns.
    pub end_ns: u64,
    /// Simulated time at the end of the warm-up, ns.
    pub measured_from_ns: u64,
}

impl UnitRecord {
    /// The metrics of a finished run.
    pub fn new(info: &RunInfo, report: &Report, summary: &Summary) -> UnitRecord {
        let number = |v: Option<f64>| v.filter(|v| !v.is_nan());
        let network: Vec<Option<f64>> = NETWORK_METRICS.iter().map(|m| number((m.get)(&summary.network))).collect();
        let of_group = |g| GROUP_METRICS.iter().map(move |m| number((m.get)(g)));
        UnitRecord {
            variant: info.variant.clone(),
            run: info.run,
            seed: info.seed,
            world: info.world.clone(),
            groups: summary.groups.iter().map(|g| g.name.clone()).collect(),
            port: summary.network.port.clone(),
            values: summary.groups.iter().flat_map(|g| of_group(g).chain(network.iter().copied())).collect(),
            fingerprint: report.fingerprint,
            packet_hops: report.packet_hops,
            end_ns: report.end.as_ns(),
            measured_from_ns: report.measured_from.as_ns(),
        }
    }

    /// Number of metrics of a group.
    pub(crate) fn width() -> usize {
        GROUP_METRICS.len() + NETWORK_METRICS.len()
    }

    /// Value of a metric of a group, by its column in [`crate::summary_table::metric_columns`].
    pub fn value(&self, group: GroupId, metric: usize) -> Option<f64> {
        self.values.get(group.index() * UnitRecord::width() + metric).copied().flatten()
    }

    /// Retransmission timeouts of all groups, including SYNs.
    pub fn timeouts(&self) -> u64 {
        let columns = GROUP_METRICS.iter().enumerate().filter(|(_, m)| ["rtos", "syn_rtos"].contains(&m.name));
        let sum: f64 = columns.flat_map(|(m, _)| self.groups.ids().filter_map(move |g| self.value(g, m))).sum();
        sum as u64
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.groups.iter().zip(self.values.chunks(UnitRecord::width())).map(|(transport, values)| Row {
            variant: &self.variant,
            run: self.run,
            seed: self.seed,
            world: &self.world,
            transport,
            port: &self.port,
            values,
        })
    }
}
