//! The table of all metrics.

use super::data::{Data, metrics};
use crate::page::{Cell, MetricRow, MetricTable, Unit};
use forebay_store::stats::estimate;
use forebay_store::summary;

/// The unit as the page knows it.
pub(super) fn unit(unit: summary::Unit) -> Unit {
    match unit {
        summary::Unit::BitsPerSecond => Unit::BitsPerSecond,
        summary::Unit::Seconds => Unit::Seconds,
        summary::Unit::Count => Unit::Count,
        summary::Unit::Packets => Unit::Packets,
        summary::Unit::Fraction => Unit::Fraction,
        summary::Unit::Ratio => Unit::Ratio,
    }
}

/// Mean and interval over seeds; `None` without a value.
pub(super) fn cell(values: &[f64]) -> Option<Cell> {
    estimate(values).map(|e| Cell { mean: e.mean, half_width: e.half_width })
}

/// A metric of all subjects.
pub(super) fn cells(data: &Data, metric: &str) -> Vec<Option<Cell>> {
    (0..data.subjects.len()).map(|s| cell(data.values(s, metric))).collect()
}

/// Every metric that some subject has, as the printed table has them.
pub(super) fn table(data: &Data) -> MetricTable {
    let first = data.subjects.first().map_or("", |s| s.group.as_str());
    // Which port, unless networks differ in it.
    let port = data.networks.first().map_or("", |n| n.port.as_str());
    let port = if data.networks.iter().all(|n| n.port == port) { port } else { "" };
    let row = |m: super::data::Metric| {
        let cells = cells(data, m.name);
        let largest = cells.iter().flatten().map(|c| c.mean.abs()).reduce(f64::max)?;
        if m.if_any && largest == 0.0 {
            return None;
        }
        let mut label = m.label.replace("{first}", first);
        if m.shared && !m.label.contains(", all") && !port.is_empty() {
            label = format!("{label}, {port}");
        }
        let shared = if m.shared && data.shared() { "; groups of one network share it" } else { "" };
        Some(MetricRow { label, unit: unit(m.unit), help: format!("{}{shared}", m.doc), cells })
    };
    MetricTable { rows: metrics().filter_map(row).collect() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::data::{Network, Subject};
    use super::*;

    /// Values over seeds by the name of the metric.
    pub(crate) type Given<'a> = &'a [(&'a str, &'a [f64])];

    /// Networks with one group each, and metrics by name.
    pub(crate) fn data(subjects: &[(&str, Given)]) -> Data {
        let mut d = Data::default();
        for (i, (name, values)) in subjects.iter().enumerate() {
            d.networks.push(Network {
                name: (*name).into(),
                variant: (*name).into(),
                first: i,
                groups: 1,
                port: "bottleneck".into(),
                ..Network::default()
            });
            d.subjects.push(subject(name, i, values));
        }
        d
    }

    pub(crate) fn subject(name: &str, network: usize, given: Given) -> Subject {
        let mut values = vec![Vec::new(); metrics().count()];
        for (metric, of_seeds) in given {
            let index = metrics().position(|m| m.name == *metric).unwrap_or_else(|| panic!("no metric {metric}"));
            values[index] = of_seeds.to_vec();
        }
        Subject { name: name.into(), group: name.into(), network, values }
    }

    #[test]
    fn means_intervals_and_what_is_left_out() {
        let d = data(&[
            ("reno", &[("goodput_bps", &[9e8, 11e8]), ("syn_rtos", &[0.0, 0.0]), ("queue_p99_pkts", &[100.0, 100.0])]),
            ("dctcp", &[("goodput_bps", &[1e9]), ("qct_p99_s", &[0.02])]),
        ]);
        let t = table(&d);
        let labels: Vec<&str> = t.rows.iter().map(|r| r.label.as_str()).collect();
        assert_eq!(labels, ["goodput", "query completion p99", "queue p99, bottleneck"]);
        let cells = &t.rows[0].cells;
        assert_eq!((cells[0].unwrap().mean, cells[1]), (1e9, Some(Cell { mean: 1e9, half_width: None })));
        assert!((cells[0].unwrap().half_width.unwrap() - 12.706e8).abs() < 1e5);
        assert_eq!((t.rows[1].cells[0], t.rows[0].unit), (None, Unit::BitsPerSecond));
    }
}
