//! Endless flows that others leave next to nothing. They have no time that could be late: what tells is their part of the link that they share.

use crate::data::{Data, Flow};
use crate::loads::Load;
use crate::paths::Paths;
use crate::unfinished::{STARVED, TAKEN, rate};
use crate::words::bold;
use std::collections::BTreeMap;

/// Part of a port that all together must fill for one to be kept from more by the others. Our choice.
const FULL: f64 = 0.8;
/// Part of the measured time that a workload must have sent for. Our choice.
const LONG: f64 = 0.1;

/// The endless flows of a workload of a subject over a port.
#[derive(Default)]
struct Here {
    /// Flows of all seeds.
    flows: usize,
    /// Of the measured time of its run, how much each has had, summed up.
    active: f64,
}

/// A sentence about each workload of endless flows that has less than a part, `STARVED`, of what an equal share among all endless flows of
/// the port would be, while others take most of it.
pub(crate) fn sentences(data: &Data, loads: &[Load]) -> Vec<String> {
    let mut here: BTreeMap<(usize, usize, Option<u32>), Here> = BTreeMap::new();
    let mut all: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ways: BTreeMap<(usize, &str, &str), Vec<usize>> = BTreeMap::new();
    let mut paths: Vec<Option<Paths>> = data.networks.iter().map(|_| None).collect();
    for f in data.flows.iter().filter(|f: &&Flow| f.size == 0) {
        let Some((from, to)) = data.ends(f) else { continue };
        let network = data.subjects[f.subject].network;
        let paths = paths[network].get_or_insert_with(|| Paths::of(data, network));
        let way = ways.entry((network, from, to)).or_insert_with(|| paths.ports(from, to));
        for &port in way.iter() {
            *all.entry(port).or_default() += 1;
            if f.greedy {
                let run = &data.runs[f.run];
                let whole = (run.end_ns - run.measured_from_ns).max(1) as f64;
                let had = (run.end_ns - f.start_ns.max(run.measured_from_ns)).max(0) as f64;
                let at = here.entry((f.subject, port, f.class)).or_default();
                (at.flows, at.active) = (at.flows + 1, at.active + had / whole);
            }
        }
    }
    let mut at_port: BTreeMap<usize, Vec<&Load>> = BTreeMap::new();
    loads.iter().for_each(|l| at_port.entry(l.port).or_default().push(l));
    let mut seeds = vec![0_usize; data.networks.len()];
    data.runs.iter().for_each(|r| seeds[r.network] += 1);
    // Of each workload the port at which others have most.
    let mut worst: BTreeMap<(usize, Option<u32>), (f64, f64, usize)> = BTreeMap::new();
    for (&(subject, port, class), at) in &here {
        let seeds = seeds[data.subjects[subject].network].max(1) as f64;
        let of = |own: bool| {
            let whose = |l: &&&Load| ((l.subject, l.class) == (subject, class)) == own;
            at_port.get(&port).into_iter().flatten().filter(whose).map(|l| l.bps).sum::<f64>() / seeds
        };
        let (own, others, rate, active) = (of(true), of(false), data.ports[port].rate_bps, at.active / at.flows as f64);
        let fair = rate * at.flows as f64 / all[&port] as f64;
        let starved = active > LONG && others > TAKEN * rate && own + others > FULL * rate && STARVED * own / active < fair;
        let more = worst.get(&(subject, class)).is_none_or(|w| w.1 < others);
        if starved && more {
            worst.insert((subject, class), (own, others, port));
        }
    }
    let sentence = |(&(subject, class), &(own, others, port)): (&(usize, Option<u32>), &(f64, f64, usize))| {
        let name = data.class(class).unwrap_or("?");
        let (whose, port) = (bold(&data.subjects[subject].name), &data.ports[port].name);
        format!("{whose}: {name} is **starved** by others at {port} ({} against {}).", rate(own), rate(others))
    };
    worst.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::loads;
    use crate::unfinished::tests::beside_tenants;

    /// Endless storage beside endless tenants, with so much each over the port of 10 Gbit/s.
    fn beside(storage: u64, tenants: u64) -> Data {
        let mut d = beside_tenants(storage, tenants, false);
        d.queries.clear();
        d.flows.iter_mut().for_each(|f| (f.size, f.in_query, f.greedy) = (0, false, true));
        d
    }

    fn said(d: &Data) -> Vec<String> {
        sentences(d, &loads(d))
    }

    #[test]
    fn what_gets_next_to_nothing_is_starved() {
        assert_eq!(
            said(&beside(280_000_000, 9_120_000_000)),
            ["**dctcp**: storage is **starved** by others at bottleneck (280 Mbit/s against 9.12 Gbit/s)."]
        );
    }

    #[test]
    fn an_equal_share_among_many_is_no_starvation() {
        // One of 41 flows.
        assert_eq!(said(&beside(9_160_000_000, 240_000_000)), [""; 0]);
        // The link has room.
        assert_eq!(said(&beside(100_000_000, 5_500_000_000)), [""; 0]);
        // Datagrams at a rate of their own.
        let mut d = beside(280_000_000, 9_120_000_000);
        d.flows.iter_mut().filter(|f| f.subject == 0).for_each(|f| f.greedy = false);
        assert_eq!(said(&d), [""; 0]);
        // Begun a moment ago.
        let mut d = beside(280_000_000, 9_120_000_000);
        d.flows.iter_mut().filter(|f| f.subject == 0).for_each(|f| f.start_ns = 990_000_000);
        assert_eq!(said(&d), [""; 0]);
    }
}
