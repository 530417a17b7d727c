//! Metrics of one unit.

use crate::run_info::RunInfo;
use crate::summary::{GROUP_METRICS, GroupSummary, NETWORK_METRICS, Summary};
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
    /// Backend that ran it.
    pub world: String,
    /// Name of the transport group of each row: first the groups, then workloads of groups that carry several.
    pub groups: IndexVec<GroupId, String>,
    /// Name of the workload of each row; empty for a whole group.
    pub classes: Vec<String>,
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
        // Times of different workloads are not pooled.
        let mut groups: Vec<(&str, &str, GroupSummary)> = summary.groups.iter().map(|g| (&*g.name, "", g.clone())).collect();
        for c in &summary.classes {
            let (name, _, whole) = &mut groups[c.group.index()];
            (whole.fct, whole.slowdown, whole.qct, whole.query_timeouts) = ([None; 3], None, None, None);
            let name = *name;
            groups.push((name, &c.class, c.summary.clone()));
        }
        let of_group = |g: &GroupSummary| GROUP_METRICS.iter().map(|m| number((m.get)(g))).collect::<Vec<_>>();
        UnitRecord {
            variant: info.variant.clone(),
            run: info.run,
            seed: info.seed,
            world: info.world.clone(),
            groups: groups.iter().map(|g| g.0.to_owned()).collect(),
            classes: groups.iter().map(|g| g.1.to_owned()).collect(),
            port: summary.network.port.clone(),
            values: groups.iter().flat_map(|(_, _, g)| [of_group(g), network.clone()].concat()).collect(),
            fingerprint: report.fingerprint,
            packet_hops: report.packet_hops,
            end_ns: report.end.as_ns(),
            measured_from_ns: report.measured_from.as_ns(),
        }
    }

    /// Name of the workload of a row; empty for a whole group.
    pub fn class(&self, row: GroupId) -> &str {
        self.classes.get(row.index()).map_or("", String::as_str)
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
        let whole = || self.groups.ids().filter(|g| self.class(*g).is_empty());
        let sum: f64 = columns.flat_map(|(m, _)| whole().filter_map(move |g| self.value(g, m))).sum();
        sum as u64
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.groups.enumerate().zip(self.values.chunks(UnitRecord::width())).map(|((row, transport), values)| Row {
            variant: &self.variant,
            run: self.run,
            seed: self.seed,
            world: &self.world,
            transport,
            class: self.class(row),
            port: &self.port,
            values,
        })
    }
}
