//! Utilization of ports while endless flows of a workload run. They may start late: a backup that begins halfway through the run fills its link for
//! half of the time.

use crate::data::{Data, Flow};
use crate::paths::Paths;
use std::collections::BTreeMap;

/// Minimum part of the measured time before the start of the flows that changes a utilization. Our choice.
const LATE: f64 = 0.02;

/// Utilization of the ports of a network while some flows run.
pub(crate) struct ActiveUse<'a> {
    data: &'a Data,
    /// Utilization in that time over that of the whole measured time, by port. Empty if the flows run all the time.
    ratio: BTreeMap<usize, f64>,
}

/// Payload over a port.
#[derive(Default)]
struct Payload {
    whole: f64,
    active: f64,
}

impl<'a> ActiveUse<'a> {
    /// Use of ports from the start of the first flow of `own` in each run to its end.
    pub(crate) fn of(data: &'a Data, network: usize, own: impl Fn(&Flow) -> bool) -> ActiveUse<'a> {
        let mut starts: BTreeMap<usize, i64> = BTreeMap::new();
        for f in data.flows.iter().filter(|f| own(f)) {
            let start = f.start_ns.max(data.runs[f.run].measured_from_ns);
            starts.entry(f.run).and_modify(|s| *s = start.min(*s)).or_insert(start);
        }
        let (mut whole, mut active) = (0.0, 0.0);
        for (run, start) in &starts {
            let run = &data.runs[*run];
            whole += (run.end_ns - run.measured_from_ns).max(0) as f64;
            active += (run.end_ns - start).max(0) as f64;
        }
        let ratio = if active > 0.0 && active < (1.0 - LATE) * whole {
            ratios(data, network, &starts, whole / active)
        } else {
            BTreeMap::new()
        };
        ActiveUse { data, ratio }
    }

    /// Used fraction of the capacity of a port.
    pub(crate) fn used(&self, port: usize) -> f64 {
        (self.data.ports[port].used() * self.ratio.get(&port).copied().unwrap_or(1.0)).min(1.0)
    }

    /// True if the flows do not run all the time.
    pub(crate) fn is_partial(&self) -> bool {
        !self.ratio.is_empty()
    }
}

/// Ratio of the utilizations of each port: of the payload in the time from `starts` on, in relation to that time, to the payload of the whole time.
/// A message counts for the part of its time that lies in it.
fn ratios(data: &Data, network: usize, starts: &BTreeMap<usize, i64>, longer: f64) -> BTreeMap<usize, f64> {
    let mut paths = Paths::of(data, network);
    let mut ways: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    let mut payload: BTreeMap<usize, Payload> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| data.runs[f.run].network == network) {
        let (Some((from, to)), Some(&start)) = (data.ends(f), starts.get(&f.run)) else { continue };
        let run = &data.runs[f.run];
        let (first, last) = (f.start_ns.max(run.measured_from_ns), f.acked_ns.unwrap_or(run.end_ns));
        let part = (last - first.max(start)).max(0) as f64 / (last - first).max(1) as f64;
        for &port in ways.entry((from, to)).or_insert_with(|| paths.ports(from, to)).iter() {
            let sum = payload.entry(port).or_default();
            (sum.whole, sum.active) = (sum.whole + f.measured as f64, sum.active + part.min(1.0) * f.measured as f64);
        }
    }
    let known = payload.into_iter().filter(|(_, p)| p.whole > 0.0);
    known.map(|(port, p)| (port, p.active / p.whole * longer)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::two_links;

    #[test]
    fn late_flows_fill_their_link() {
        let mut d = two_links(1e9, 0.5);
        let flow =
            |start_ns: i64| Flow { greedy: true, from: Some(0), to: Some(1), measured: 1_000, start_ns, ..Flow::default() };
        d.flows = vec![flow(0)];
        let whole = ActiveUse::of(&d, 0, |f| f.greedy);
        assert_eq!((whole.used(0), whole.is_partial()), (0.5, false));
        d.flows = vec![flow(500_000_000)];
        let late = ActiveUse::of(&d, 0, |f| f.greedy);
        assert_eq!((late.used(0), late.is_partial()), (1.0, true));
        // A message before it takes its part of the utilization.
        let early = Flow { size: 1_000, acked_ns: Some(100_000_000), greedy: false, ..flow(0) };
        d.flows.push(early);
        assert_eq!(ActiveUse::of(&d, 0, |f| f.greedy).used(2), 0.5);
    }
}
