//! Traffic of each workload at each port.

use crate::data::Data;
use crate::paths::Paths;
use std::collections::BTreeMap;

/// Payload of a workload of one transport over a port in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    /// Index of the port.
    pub port: usize,
    /// Index of the subject.
    pub subject: usize,
    /// Index of the workload.
    pub class: Option<u32>,
    /// Index of the run.
    pub run: usize,
    /// Payload after the warm-up, bit/s.
    pub bps: f64,
}

/// Subject, workload and run.
type Sender = (usize, Option<u32>, usize);

/// All loads, ordered by port, subject, workload and run. Ports among which the network chose are omitted: see [`Paths`].
pub(crate) fn loads(data: &Data) -> Vec<Load> {
    let mut pairs: BTreeMap<(usize, &str, &str), BTreeMap<Sender, u64>> = BTreeMap::new();
    for f in &data.flows {
        let network = data.subjects[f.subject].network;
        let Some((from, to)) = data.ends(f) else { continue };
        *pairs.entry((network, from, to)).or_default().entry((f.subject, f.class, f.run)).or_default() += f.measured;
    }
    let mut bytes: BTreeMap<(usize, Sender), u64> = BTreeMap::new();
    let mut paths: Option<(usize, Paths)> = None;
    for ((network, from, to), senders) in pairs {
        let paths = match &mut paths {
            Some((n, paths)) if *n == network => paths,
            other => &mut other.insert((network, Paths::of(data, network))).1,
        };
        for port in paths.ports(from, to) {
            senders.iter().for_each(|(sender, sum)| *bytes.entry((port, *sender)).or_default() += sum);
        }
    }
    let rate = |run: usize, bytes: u64| {
        let r = &data.runs[run];
        let time = (r.end_ns - r.measured_from_ns) as f64 * 1e-9;
        if time > 0.0 { bytes as f64 * 8.0 / time } else { 0.0 }
    };
    bytes.into_iter().map(|((port, (subject, class, run)), b)| Load { port, subject, class, run, bps: rate(run, b) }).collect()
}

/// Loads at one port.
pub(crate) fn at(loads: &[Load], port: usize) -> &[Load] {
    let first = loads.partition_point(|l| l.port < port);
    &loads[first..][..loads[first..].partition_point(|l| l.port == port)]
}

/// By subject and workload, bit/s summed over the runs.
pub(crate) type Sums = BTreeMap<(usize, Option<u32>), f64>;

/// Total traffic of each workload and subject over ports among which the network chooses, by these ports.
pub(crate) fn over_choices(data: &Data, network: usize, paths: &mut Paths<'_>) -> BTreeMap<Vec<usize>, Sums> {
    let mut there: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    let mut sums: BTreeMap<Vec<usize>, Sums> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| data.subjects[f.subject].network == network) {
        let Some((from, to)) = data.ends(f) else { continue };
        let ports = there.entry((from, to)).or_insert_with(|| paths.choice(from, to));
        let run = &data.runs[f.run];
        let time = (run.end_ns - run.measured_from_ns) as f64 * 1e-9;
        if ports.is_empty() || time <= 0.0 {
            continue;
        }
        let bps = f.measured as f64 * 8.0 / time;
        match sums.get_mut(ports) {
            Some(sums) => *sums.entry((f.subject, f.class)).or_default() += bps,
            None => _ = sums.insert(ports.clone(), BTreeMap::from([((f.subject, f.class), bps)])),
        }
    }
    sums
}
