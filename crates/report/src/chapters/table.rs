//! Table of all metrics.

use crate::page::{MetricRow, MetricTable};
use forebay_analysis::{Data, Metric, cells, metrics};

/// Every metric with a value for some subject, in the order of the printed table.
pub(super) fn table(data: &Data) -> MetricTable {
    let first = data.subjects.first().map_or("", |s| s.group.as_str());
    // Names the port, unless networks differ in it.
    let port = data.networks.first().map_or("", |n| n.port.as_str());
    let port = if data.networks.iter().all(|n| n.port == port) { port } else { "" };
    let row = |m: Metric| {
        let cells = cells(data, m.name);
        let largest = cells.iter().flatten().map(|c| c.mean.abs()).reduce(f64::max)?;
        if m.label.is_empty() || m.if_any && largest == 0.0 {
            return None;
        }
        let mut label = m.label.replace("{first}", first);
        if m.shared && !m.label.contains(", all") && !port.is_empty() {
            label = format!("{label}, {port}");
        }
        let shared = if m.shared && data.shared() { "; groups of one network share it" } else { "" };
        Some(MetricRow { label, unit: m.unit, help: format!("{}{shared}", m.doc), cells })
    };
    MetricTable { rows: metrics().filter_map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Cell, Dimension};
    use forebay_analysis::{Network, Subject};

    /// Values over seeds by the name of the metric.
    type Given<'a> = &'a [(&'a str, &'a [f64])];

    /// Networks with one group each.
    fn data(subjects: &[(&str, Given)]) -> Data {
        let mut d = Data::default();
        for (network, (name, given)) in subjects.iter().enumerate() {
            let port = "bottleneck".into();
            d.networks.push(Network { name: (*name).into(), first: network, groups: 1, port, ..Network::default() });
            let values = metrics().map(|m| given.iter().find(|g| g.0 == m.name).map_or(vec![], |g| g.1.to_vec())).collect();
            d.subjects.push(Subject { name: (*name).into(), group: (*name).into(), network, values, ..Subject::default() });
        }
        d
    }

    #[test]
    fn means_and_omitted_rows() {
        let d = data(&[
            ("reno", &[("goodput_bps", &[9e8, 11e8]), ("syn_rtos", &[0.0, 0.0]), ("queue_p99_pkts", &[100.0, 100.0])]),
            ("dctcp", &[("goodput_bps", &[1e9]), ("qct_p99_s", &[0.02])]),
        ]);
        let t = table(&d);
        let labels: Vec<&str> = t.rows.iter().map(|r| r.label.as_str()).collect();
        assert_eq!(labels, ["goodput", "query completion p99", "queue p99, bottleneck"]);
        let cells = &t.rows[0].cells;
        assert_eq!((cells[0].unwrap().mean, cells[1]), (1e9, Some(Cell { mean: 1e9, ..Cell::default() })));
        assert_eq!(cells[0].unwrap().ends.unwrap().0, 0.0, "1 Gbit/s and 1.27 to both sides");
        assert!((cells[0].unwrap().ends.unwrap().1 - 22.706e8).abs() < 1e5);
        assert_eq!((t.rows[1].cells[0], t.rows[0].unit), (None, Dimension::BitsPerSecond));
    }
}
