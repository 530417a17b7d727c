//! Share of each workload at its bottleneck port. Sums over ports are avoided, because they could exceed the rate of a link.

use crate::cells::{Cell, within};
use crate::data::{Data, Flow};
use crate::loads::loads;
use forebay_store::stats::jain;
use std::collections::BTreeMap;

/// A port with less than this fraction of a workload's traffic at its busiest port is not its bottleneck. Our choice.
const TRIFLE: f64 = 0.5;

/// Minimum payload over a full port, as a part of its capacity. Our choice: headers and losses take the rest.
const FULL: f64 = 0.8;
/// Minimum ratio of a workload's parts of two full ports for the second one to be its bottleneck. Our choice.
const CLEARLY: f64 = 2.0;

/// Share of a workload in its transport's network.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadShare {
    /// Index of the subject that carries it.
    pub subject: usize,
    /// Name of the workload.
    pub name: String,
    /// Its index; `None` if unknown.
    pub class: Option<u32>,
    /// Index of its bottleneck port: of the ports on its paths with a relevant part of its traffic, the one with the highest utilization. If none is
    /// full, it is the one that drops most packets. `None` if no path is known.
    pub port: Option<usize>,
    /// Number of other ports on its paths.
    pub more_ports: usize,
    /// Payload over that port after the warm-up, over simulated time, bit/s: a mean over the seeds.
    pub goodput: Option<Cell>,
    /// Payload that arrived after the warm-up over any port, over simulated time, bit/s: a mean over the seeds.
    pub total: Option<Cell>,
    /// Goodput over the rate of the port. Headers are not payload, so that the sum of all shares is below 1.
    pub share: Option<f64>,
    /// Jain's index of the goodputs of its endless flows over that port, or of its sending hosts for finite messages; at least two.
    pub fairness: Option<Cell>,
    /// Finite messages or queries, over all seeds.
    pub count: Count,
}

/// Progress of a workload, over all seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// True for queries, false for messages.
    pub queries: bool,
    /// Completed.
    pub done: usize,
    /// Started.
    pub of: usize,
}

/// Every workload of every subject, in the order of subjects and workloads.
pub fn workload_shares(data: &Data) -> Vec<WorkloadShare> {
    let loads = loads(data);
    let counts = counts(data);
    // Total traffic per port.
    let mut total: BTreeMap<usize, f64> = BTreeMap::new();
    loads.iter().for_each(|l| *total.entry(l.port).or_default() += l.bps);
    let used = |port: usize| total[&port] / data.ports[port].capacity_bps().max(1.0);
    counts
        .into_iter()
        .map(|((subject, class), count)| {
            let own = || loads.iter().filter(move |l| (l.subject, l.class) == (subject, class));
            let mut ports: BTreeMap<usize, f64> = BTreeMap::new();
            own().for_each(|l| *ports.entry(l.port).or_default() += l.bps);
            // Small traffic such as requests, on a path that other traffic fills, does not determine the bottleneck.
            let most = ports.values().copied().fold(0.0, f64::max);
            // The last of equally used ports, which is nearer to the receiver in all topologies with named ports.
            let relevant = ports.iter().filter(|(_, over)| **over >= TRIFLE * most).map(|(port, _)| *port);
            let more = |a: &usize, b: &usize| used(*a).total_cmp(&used(*b)).then(fuller(data, *a, *b));
            let relevant: Vec<usize> = relevant.collect();
            let busiest = relevant.iter().copied().max_by(more);
            // Of full ports, the one of which it clearly has the largest part: others have larger rates at the busiest one.
            let part = |port: &usize| ports[port] / total[port];
            let full = relevant.iter().copied().filter(|p| used(*p) >= FULL);
            let largest = full.max_by(|a, b| part(a).total_cmp(&part(b)));
            let clearly = |p: &usize| busiest.is_some_and(|b| part(p) > CLEARLY * part(&b));
            // Where no port is full, bursts overflow the one that drops packets.
            let drops = |p: &usize| data.ports[*p].drops;
            let lossy = relevant.iter().copied().filter(|p| drops(p) > 0.0).max_by(|a, b| drops(a).total_cmp(&drops(b)));
            let lossy = lossy.filter(|_| busiest.is_some_and(|b| used(b) < FULL));
            let port = largest.filter(clearly).or(lossy).or(busiest);
            let here: Vec<f64> = own().filter(|l| Some(l.port) == port).map(|l| l.bps).collect();
            let rate = port.map_or(0.0, |p| data.ports[p].rate_bps);
            // A workload cannot exceed the maximum of its transport, headers excluded.
            let most = data.values(subject, "goodput_max_bps").iter().copied().fold(0.0, f64::max);
            let goodput = within(&here, 0.0, if most > 0.0 { rate.min(most) } else { rate });
            WorkloadShare {
                subject,
                name: data.class(class).unwrap_or_default().to_owned(),
                class,
                port,
                more_ports: ports.len().saturating_sub(1),
                goodput,
                total: over_all_ports(data, subject, class),
                share: goodput.filter(|_| rate > 0.0).map(|g| g.mean / rate),
                fairness: fairness(data, subject, class),
                count,
            }
        })
        .collect()
}

/// Goodput of a workload over all ports.
fn over_all_ports(data: &Data, subject: usize, class: Option<u32>) -> Option<Cell> {
    let network = data.subjects[subject].network;
    let mut by_run: BTreeMap<usize, u64> =
        (0..data.runs.len()).filter(|r| data.runs[*r].network == network).map(|r| (r, 0)).collect();
    let own = data.flows.iter().filter(|f| (f.subject, f.class) == (subject, class) && !f.request);
    own.for_each(|f| *by_run.entry(f.run).or_default() += f.measured);
    let bps = |(run, bytes): (&usize, &u64)| {
        let time = (data.runs[*run].end_ns - data.runs[*run].measured_from_ns) as f64 * 1e-9;
        (time > 0.0).then(|| *bytes as f64 * 8.0 / time)
    };
    within(&by_run.iter().filter_map(bps).collect::<Vec<f64>>(), 0.0, f64::INFINITY)
}

fn fuller(data: &Data, a: usize, b: usize) -> std::cmp::Ordering {
    let full = |p: usize| data.ports[p].queue_max;
    full(a).total_cmp(&full(b))
}

/// Started and finished work, by subject and workload.
fn counts(data: &Data) -> BTreeMap<(usize, Option<u32>), Count> {
    let mut counts: BTreeMap<(usize, Option<u32>), Count> = BTreeMap::new();
    for f in &data.flows {
        let count = counts.entry((f.subject, f.class)).or_default();
        if f.size > 0 && !f.in_query {
            count.of += 1;
            count.done += usize::from(f.complete());
        }
    }
    for q in &data.queries {
        let n = &data.networks[data.runs[q.run].network];
        for i in (0..n.groups.min(64)).filter(|i| q.groups >> i & 1 == 1) {
            let count = counts.entry((n.first + i, q.class)).or_default();
            // Such a workload has no messages outside queries.
            if !count.queries {
                *count = Count { queries: true, ..Count::default() };
            }
            count.of += 1;
            count.done += usize::from(q.qct.is_some());
        }
    }
    counts
}

/// Holder of a share: a host, or one of its endless flows.
type Sender = (Option<u32>, Option<usize>);

/// Jain's index over the seeds.
fn fairness(data: &Data, subject: usize, class: Option<u32>) -> Option<Cell> {
    let mut by_run: BTreeMap<usize, BTreeMap<Sender, u64>> = BTreeMap::new();
    // A request is not a part of the payload that the servers share.
    let own = |f: &Flow| (f.subject, f.class) == (subject, class) && !f.request;
    for (i, f) in data.flows.iter().enumerate().filter(|(_, f)| own(f)) {
        // Flows that ended within the warm-up have no share.
        if f.end_ns().is_some_and(|end| end <= data.runs[f.run].measured_from_ns) {
            continue;
        }
        // Endless flows count separately, other traffic by host.
        let whose = (f.from, (f.size == 0).then_some(i));
        *by_run.entry(f.run).or_default().entry(whose).or_default() += f.measured;
    }
    let of_run = |got: BTreeMap<Sender, u64>| {
        let got: Vec<f64> = got.into_values().map(|b| b as f64).collect();
        jain(&got).filter(|_| got.len() > 1)
    };
    within(&by_run.into_values().filter_map(of_run).collect::<Vec<f64>>(), 0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete_workloads::tests::beside_tenants;

    #[test]
    fn workloads_at_shared_link() {
        let d = beside_tenants(280_000_000, 9_120_000_000, false);
        let c = workload_shares(&d);
        let got: Vec<_> = c.iter().map(|c| (c.name.as_str(), c.port, c.share.map(|s| (s * 1e4).round()))).collect();
        assert_eq!(got, [("storage", Some(0), Some(280.0)), ("tenants", Some(0), Some(9120.0))]);
        assert_eq!(c[0].count, Count { queries: true, done: 0, of: 1 });
        assert_eq!((c[1].count, c[1].fairness), (Count::default(), None));
        assert_eq!(c[0].fairness.map(|f| f.mean), Some(1.0), "all 40 servers got the same");
    }

    #[test]
    fn port_shares_sum_to_one() {
        let d = beside_tenants(5_000_000_000, 5_000_000_000, true);
        let sum: f64 = workload_shares(&d).iter().filter_map(|c| c.share).sum();
        assert!(sum <= 1.0, "{sum}");
    }
}
