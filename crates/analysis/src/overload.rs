//! Overload: messages arrive faster than a link can carry them, so that the number of unfinished ones grows without limit.

use crate::data::{Data, Flow};
use crate::dimension::Dimension;
use crate::format::{bold, quantity};
use crate::paths::Paths;
use std::collections::BTreeMap;

/// Minimum utilization of an overloaded port. Our choice: short pauses after losses remain.
const FULL: f64 = 0.95;

/// Payload of messages by the half of the run in which they started, and payload that was carried, bit.
#[derive(Default)]
struct Payload {
    offered: [f64; 2],
    carried: f64,
}

/// `**overload**: 1.1 Gbit/s arrive for bottleneck, which carries 933 Mbit/s`, if messages of a workload of a subject, with those of others, exceed
/// the capacity of a port on their paths. They arrive without waiting for each other: their starts exceed it in both halves of the run.
pub(crate) fn words(data: &Data, subject: usize, class: Option<u32>) -> Option<String> {
    let network = data.subjects[subject].network;
    let mut paths = Paths::of(data, network);
    let mut ways: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    let mut ports: BTreeMap<usize, Payload> = BTreeMap::new();
    let mut own: Vec<usize> = Vec::new();
    for f in data.flows.iter().filter(|f: &&Flow| data.subjects[f.subject].network == network) {
        let Some((from, to)) = data.ends(f) else { continue };
        let way = ways.entry((from, to)).or_insert_with(|| paths.ports(from, to));
        if (f.subject, f.class) == (subject, class) {
            own.extend(way.iter());
            own.sort_unstable();
            own.dedup();
        }
        let run = &data.runs[f.run];
        let half = usize::from(f.start_ns > run.end_ns / 2);
        for port in way.iter() {
            let sum = ports.entry(*port).or_default();
            sum.offered[half] += f.size as f64 * 8.0;
            sum.carried += f.acked as f64 * 8.0;
        }
    }
    let time: f64 = data.runs.iter().filter(|r| r.network == network).map(|r| r.end_ns as f64 * 1e-9).sum();
    let over = |port: &usize| {
        let p = &ports[port];
        // In half of the time half of it can be carried.
        let exceeds = p.offered.iter().all(|offered| *offered > p.carried / 2.0 / data.ports[*port].used());
        data.ports[*port].used() >= FULL && exceeds
    };
    let most = own.into_iter().filter(over).max_by(|a, b| {
        let by = |port: &usize| ports[port].offered.iter().sum::<f64>() / ports[port].carried;
        by(a).total_cmp(&by(b))
    })?;
    let p = &ports[&most];
    let rate = |bits: f64| quantity(bits / time, Dimension::BitsPerSecond);
    Some(format!(
        "{}: {} of messages arrive for {}, which carries {}",
        bold("overload"),
        rate(p.offered.iter().sum()),
        data.ports[most].name,
        rate(p.carried)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::two_links;

    #[test]
    fn arrivals_beyond_capacity_are_overload() {
        let mut d = two_links(8e6, 1.0);
        d.ports[0].utilization = 0.1;
        let message =
            |i: i64, acked| Flow { size: 1_000, acked, from: Some(0), to: Some(1), start_ns: i * 1_000_000, ..Flow::default() };
        // A message each millisecond, of which two in three are delivered.
        d.flows = (0..1_000).map(|i| message(i, if i % 3 == 0 { 0 } else { 1_000 })).collect();
        let expected = "**overload**: 8 Mbit/s of messages arrive for x->r, which carries 5.33 Mbit/s";
        assert_eq!(words(&d, 0, None).unwrap(), expected);
        // A batch at the start is too much work for the run, and not an arrival rate.
        d.flows.iter_mut().for_each(|f| f.start_ns = 0);
        assert_eq!(words(&d, 0, None), None);
    }
}
