//! Starvation of endless flows. They have no completion time; their goodput shows it, against their max-min fair share. A flow that its own link, a
//! second bottleneck, its windows, its maximum pacing rate or its application limits is not starved by others.

use crate::data::{Data, Flow, Port};
use crate::dimension::Dimension;
use crate::format::{bold, quantity};
use crate::incomplete_workloads::{STARVED, TAKEN, rate};
use crate::loads::{self, Load};
use crate::long_flow_limits::self_limited;
use crate::max_min::{Flows, shares};
use crate::paths::Paths;
use crate::round_trips;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum utilization of a port for starvation. Our choice.
const FULL: f64 = 0.8;
/// Minimum fraction of the measured time in which a workload must have sent. Our choice.
const LONG: f64 = 0.1;

/// A flow whose windows or buffers limit it for more than this fraction of its time does not need more than it gets. Our choice.
const SELF_LIMITED: f64 = 0.5;
/// Minimum ratio of a fair share to that of a starved flow within one workload. It is larger than for whole workloads, because single flows vary
/// at random. Our choice.
const AMONG: f64 = 8.0;
/// Minimum fraction of the time in retransmission timeouts that is named. Our choice.
const WAITING: f64 = 0.1;
/// Minimum payload of a fair share, bytes: thousands of packets. Our choice.
const ENOUGH: f64 = 4e6;
/// Maximum number of host pairs in a sentence.
const NAMED: usize = 3;

/// Ports that all traffic between two hosts of a network passes.
type Ways<'a> = BTreeMap<(usize, &'a str, &'a str), Vec<usize>>;

/// The endless flows of a workload of a subject over a port.
#[derive(Default)]
struct Here {
    /// Flows of all seeds.
    flows: usize,
    /// Sum of their active fractions of the measured time.
    active: f64,
}

/// Subject, workload and hosts of endless flows.
type Pair<'a> = (usize, Option<u32>, &'a str, &'a str);

/// Endless flows between two hosts.
#[derive(Default)]
struct PairFlows {
    /// Sum of their active fractions of the measured time, over all seeds.
    active: f64,
    /// Sum of these fractions of flows whose windows or buffers limit them, and their goodput, bit/s.
    limited: (f64, f64),
}

/// Max-min fair rates of the endless flows of each pair, bit/s a flow. Other traffic takes part at each port, with what it carries there.
fn fair_shares<'a>(
    data: &Data,
    loads: &[Load],
    pairs: &BTreeMap<Pair<'a>, PairFlows>,
    others: &BTreeMap<usize, f64>,
    (ways, seeds): (&Ways<'a>, &[usize]),
) -> BTreeMap<Pair<'a>, f64> {
    let mut capacity: Vec<f64> = data.ports.iter().map(Port::capacity_bps).collect();
    let mut choices: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut paths: Vec<Option<Paths>> = data.networks.iter().map(|_| None).collect();
    let mut flows: Vec<Flows> = Vec::new();
    for (&(subject, _, from, to), of) in pairs {
        let network = data.subjects[subject].network;
        let mut ports = ways[&(network, from, to)].clone();
        // Ports among which the network chooses count as one.
        let choice = paths[network].get_or_insert_with(|| Paths::of(data, network)).choice(from, to);
        if !choice.is_empty() {
            let sum = choice.iter().map(|p| data.ports[*p].capacity_bps()).sum();
            ports.push(*choices.entry(choice).or_insert_with(|| {
                capacity.push(sum);
                capacity.len() - 1
            }));
        }
        let (limited, bps) = of.limited;
        let limit = if limited > SELF_LIMITED * of.active { bps / limited } else { f64::INFINITY };
        let limit = data.subjects[subject].max_pacing_bps.map_or(limit, |most| limit.min(most));
        flows.push(Flows { count: of.active / seeds[network].max(1) as f64, ports, limit });
    }
    let endless = flows.len();
    let greedy: BTreeSet<(usize, Option<u32>)> = pairs.keys().map(|pair| (pair.0, pair.1)).collect();
    for (&port, active) in others {
        let network = data.ports[port].network;
        let seeds = seeds[network].max(1) as f64;
        let own = |l: &&Load| !greedy.contains(&(l.subject, l.class));
        let bps = loads::at(loads, port).iter().filter(own).map(|l| l.bps).sum::<f64>() / seeds;
        let count = active / seeds;
        if count > 0.0 && bps > 0.0 {
            flows.push(Flows { count, ports: vec![port], limit: bps / count });
        }
    }
    let mut rates = shares(&flows, &capacity);
    rates.truncate(endless);
    pairs.keys().copied().zip(rates).collect()
}

/// A sentence about each workload of endless flows with less than 1 / `STARVED` of an equal share of a port while other traffic has most of it,
/// smallest share first.
pub(crate) fn sentences(data: &Data, loads: &[Load]) -> Vec<String> {
    if data.flows.iter().all(|f| f.size > 0 || !f.greedy) {
        return Vec::new();
    }
    let mut here: BTreeMap<(usize, usize, Option<u32>), Here> = BTreeMap::new();
    let mut all: BTreeMap<usize, f64> = BTreeMap::new();
    let mut ways = Ways::new();
    let mut pairs: BTreeMap<Pair, PairFlows> = BTreeMap::new();
    let mut others: BTreeMap<usize, f64> = BTreeMap::new();
    let mut paths: Vec<Option<Paths>> = data.networks.iter().map(|_| None).collect();
    for f in &data.flows {
        let Some((from, to)) = data.ends(f) else { continue };
        let network = data.subjects[f.subject].network;
        let paths = paths[network].get_or_insert_with(|| Paths::of(data, network));
        let way = ways.entry((network, from, to)).or_insert_with(|| paths.ports(from, to));
        let run = &data.runs[f.run];
        let whole = (run.end_ns - run.measured_from_ns).max(1) as f64;
        let until = f.end_ns().unwrap_or(run.end_ns);
        let had = (until - f.start_ns.max(run.measured_from_ns)).max(0) as f64;
        if f.greedy {
            let of = pairs.entry((f.subject, f.class, from, to)).or_default();
            of.active += had / whole;
            if self_limited(data, f) > SELF_LIMITED {
                of.limited.0 += had / whole;
                of.limited.1 += f.measured as f64 * 8e9 / whole;
            }
        }
        for &port in way.iter() {
            if !f.greedy {
                *others.entry(port).or_default() += had / whole;
            }
            // A message counts for its fraction of the time: the mean number of active messages.
            *all.entry(port).or_default() += if f.size == 0 { 1.0 } else { had / whole };
            if f.greedy {
                let at = here.entry((f.subject, port, f.class)).or_default();
                (at.flows, at.active) = (at.flows + 1, at.active + had / whole);
            }
        }
    }
    let mut seeds = vec![0_usize; data.networks.len()];
    data.runs.iter().for_each(|r| seeds[r.network] += 1);
    let fair = fair_shares(data, loads, &pairs, &others, (&ways, &seeds));
    // Fair share of a workload at a port, bit/s.
    let fair_at = |subject: usize, class: Option<u32>, port: usize| -> f64 {
        let network = data.subjects[subject].network;
        let here = pairs
            .iter()
            .filter(|(pair, _)| (pair.0, pair.1) == (subject, class) && ways[&(network, pair.2, pair.3)].contains(&port));
        here.map(|(pair, of)| of.active / seeds[network].max(1) as f64 * fair[pair]).sum()
    };
    /// A workload of a subject.
    type Own = (usize, Option<u32>);
    /// Goodput of the workload, goodput of the other traffic, port, and fraction of a fair share.
    type Share = (f64, f64, usize, f64);
    // For each workload, the port with most other traffic.
    let mut worst: BTreeMap<Own, Share> = BTreeMap::new();
    for (&(subject, port, class), at) in &here {
        let seeds = seeds[data.subjects[subject].network].max(1) as f64;
        let of = |own: bool| {
            let whose = |l: &&Load| ((l.subject, l.class) == (subject, class)) == own;
            loads::at(loads, port).iter().filter(whose).map(|l| l.bps).sum::<f64>() / seeds
        };
        let (own, others, rate, active) = (of(true), of(false), data.ports[port].capacity_bps(), at.active / at.flows as f64);
        let full = active > LONG && others > TAKEN * rate && own + others > FULL * rate;
        let fair = if full { fair_at(subject, class, port) } else { 0.0 };
        let starved = full && STARVED * own < fair;
        let more = worst.get(&(subject, class)).is_none_or(|w| w.1 < others);
        if starved && more {
            worst.insert((subject, class), (own, others, port, own / fair));
        }
    }
    let mut worst: Vec<_> = worst.into_iter().collect();
    worst.sort_by(|a, b| a.1.3.total_cmp(&b.1.3));
    let sentence = |&((subject, class), (own, others, port, _)): &(Own, Share)| {
        let name = data.class(class).unwrap_or("?");
        let network = data.subjects[subject].network;
        let here = |f: &Flow| {
            data.subjects[f.subject].network == network
                && data.ends(f).is_some_and(|(from, to)| ways[&(network, from, to)].contains(&port))
        };
        let is_own = |f: &Flow| (f.subject, f.class) == (subject, class);
        let rtts = round_trips::longer(data, "its", |f| here(f) && is_own(f), |f| here(f) && !is_own(f));
        let (whose, port) = (bold(&data.subjects[subject].name), &data.ports[port].name);
        format!("{whose}: {name} is **starved** by other traffic at {port} ({} against {}){rtts}.", rate(own), rate(others))
    };
    let mut out: Vec<String> = worst.iter().map(sentence).collect();
    out.extend(among(data, loads, (&ways, &fair), &all, &seeds));
    out
}

/// Time that each connection of each run spends in retransmission timeouts after the warm-up, s. A timer that expires has run since the last ACK or
/// retransmission (RFC 6298 section 5).
fn rto_times(data: &Data) -> BTreeMap<(usize, i64), f64> {
    let mut of = BTreeMap::new();
    for t in &data.timeouts {
        let after = (t.time_ns - data.runs[t.run].measured_from_ns).max(0) as f64 * 1e-9;
        *of.entry((t.run, t.conn)).or_default() += after.min(t.rto);
    }
    of
}

/// Flows of a host pair in all seeds, after the warm-up.
#[derive(Default)]
struct Measured {
    flows: usize,
    /// Payload, bytes.
    bytes: u64,
    /// Their time, s, and the part of it in retransmission timeouts.
    time: f64,
    in_rto: f64,
}

/// A sentence about each workload in which the flows of some host pairs starve beside other flows of the same workload, over all seeds. Causes are a
/// longer RTT, a congestion control that starves late flows, or their own timeouts.
fn among(
    data: &Data,
    loads: &[Load],
    (ways, fair_rates): (&Ways, &BTreeMap<Pair, f64>),
    all: &BTreeMap<usize, f64>,
    seeds: &[usize],
) -> Vec<String> {
    type Pairs<'a> = BTreeMap<(&'a str, &'a str), Measured>;
    let rto_times = rto_times(data);
    let mut of: BTreeMap<(usize, usize, Option<u32>), Pairs> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| f.size == 0 && f.greedy) {
        let Some((from, to)) = data.ends(f) else { continue };
        let network = data.subjects[f.subject].network;
        // Only flows that started in the first tenth.
        let run = &data.runs[f.run];
        if f.start_ns - run.measured_from_ns > (run.end_ns - run.measured_from_ns) / 10 {
            continue;
        }
        for &port in &ways[&(network, from, to)] {
            let pair = of.entry((f.subject, port, f.class)).or_default().entry((from, to)).or_default();
            pair.flows += 1;
            pair.bytes += f.measured;
            pair.time += (run.end_ns - f.start_ns.max(run.measured_from_ns)).max(0) as f64 * 1e-9;
            let conn = f.conn.and_then(|conn| i64::try_from(conn).ok());
            pair.in_rto += conn.and_then(|conn| rto_times.get(&(f.run, conn))).copied().unwrap_or(0.0);
        }
    }
    let mut found: BTreeMap<(usize, Option<u32>), (f64, String)> = BTreeMap::new();
    for (&(subject, port, class), pairs) in &of {
        let network = data.subjects[subject].network;
        let runs = data.runs.iter().filter(|r| r.network == network);
        let time: f64 = runs.map(|r| (r.end_ns - r.measured_from_ns) as f64 * 1e-9).sum();
        let seeds = seeds[network].max(1) as f64;
        let bps = loads::at(loads, port).iter().map(|l| l.bps).sum::<f64>() / seeds;
        let fair_of = |from: &str, to: &str| fair_rates.get(&(subject, class, from, to)).copied().unwrap_or(0.0);
        let fair = pairs.keys().map(|(from, to)| fair_of(from, to)).fold(0.0, f64::max);
        if time <= 0.0 || bps < FULL * data.ports[port].capacity_bps() || fair * time / seeds < 8.0 * ENOUGH {
            continue;
        }
        // Goodput of each flow of a pair in each seed.
        let had = |p: &Measured| p.bytes as f64 * 8.0 / time * seeds / p.flows as f64;
        let starved: Vec<_> = pairs.iter().filter(|((from, to), p)| AMONG * had(p) < fair_of(from, to)).collect();
        let (few, flows) = (starved.iter().map(|(_, p)| p.flows).sum::<usize>(), pairs.values().map(|p| p.flows).sum::<usize>());
        if starved.is_empty() || 2 * few > flows {
            continue;
        }
        let mut hosts: Vec<String> = starved.iter().take(NAMED).map(|((from, to), _)| format!("{from} to {to}")).collect();
        if starved.len() > NAMED {
            hosts.push(format!("{} more", starved.len() - NAMED));
        }
        let own = starved.iter().map(|(_, p)| had(p) * p.flows as f64).sum::<f64>() / few as f64;
        let sum = |value: fn(&Measured) -> f64| starved.iter().map(|(_, p)| value(p)).sum::<f64>();
        let waiting = (sum(|p| p.in_rto) / sum(|p| p.time).max(f64::MIN_POSITIVE)).min(1.0);
        let fair = starved.iter().map(|((from, to), _)| fair_of(from, to)).fold(0.0, f64::max);
        let (whose, name) = (bold(&data.subjects[subject].name), data.class(class).unwrap_or("?"));
        let among = |f: &Flow, wanted: bool| {
            (f.subject, f.class) == (subject, class)
                && data.ends(f).is_some_and(|pair| {
                    pairs.contains_key(&pair) && starved.iter().any(|(starved, _)| **starved == pair) == wanted
                })
        };
        let rtts = round_trips::longer(data, "their", |f| among(f, true), |f| among(f, false));
        let (hosts, at) = (crate::format::list(&hosts), &data.ports[port].name);
        let part = quantity(waiting, Dimension::Fraction);
        let passes = |port: &usize, wanted: bool| {
            let is_starved = |pair: &(&str, &str)| starved.iter().any(|(starved, _)| *starved == pair);
            let mut own = pairs.keys().filter(|pair| is_starved(pair) == wanted);
            own.any(|(from, to)| ways[&(network, *from, *to)].contains(port))
        };
        let lossy = ways.iter().filter(|(way, _)| way.0 == network).flat_map(|(_, ports)| ports).find(|port| {
            let loses = format!("link {} loses packets", data.ports[**port].name);
            data.events.iter().any(|e| e.starts_with(&loses)) && passes(port, true) && !passes(port, false)
        });
        // A sender in a timeout sends nothing but its first segment (tcp_enter_loss: cwnd = 1). If a flow has its max-min share, within the same
        // factor, for the rest of the time, then its timeouts are the cause, and not the others.
        let text = if let Some(&lossy) = lossy {
            format!(
                "{whose}: flows of {name} from {hosts} get {} each (the fair share is {}): **link {} loses packets**{rtts}.",
                rate(own),
                rate(fair),
                data.ports[lossy].name
            )
        } else if waiting > WAITING && AMONG * own >= fair * (1.0 - waiting) {
            let (own, fair) = (rate(own), rate(fair));
            format!(
                "{whose}: flows of {name} from {hosts} spend {} of the time in **retransmission timeouts** at {at} ({own} each; the fair share is \
                 {fair}){rtts}.",
                bold(&part)
            )
        } else {
            let also =
                if waiting > WAITING { format!("; {part} of their time in retransmission timeouts") } else { String::new() };
            format!(
                "{whose}: flows of {name} from {hosts} are **starved** by other flows of {name} at {at} ({} each; the fair share is {}{also}){rtts}.",
                rate(own),
                rate(fair)
            )
        };
        // Of their common ports, the one with the smallest share.
        let least = found.get(&(subject, class)).is_none_or(|f| f.0 < all[&port]);
        if least {
            found.insert((subject, class), (all[&port], text));
        }
    }
    found.into_values().map(|f| f.1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete_workloads::tests::beside_tenants;
    use crate::loads::loads;

    /// Endless storage beside endless tenants, with these rates over the port of 10 Gbit/s.
    fn beside(storage: u64, tenants: u64) -> Data {
        let mut d = beside_tenants(storage, tenants, false);
        d.queries.clear();
        d.flows.iter_mut().for_each(|f| (f.size, f.in_query, f.greedy) = (0, false, true));
        d
    }

    fn output(d: &Data) -> Vec<String> {
        sentences(d, &loads(d))
    }

    #[test]
    fn tiny_share_is_starvation() {
        assert_eq!(
            output(&beside(280_000_000, 9_120_000_000)),
            ["**dctcp**: storage is **starved** by other traffic at bottleneck (280 Mbit/s against 9.12 Gbit/s)."]
        );
    }

    #[test]
    fn starved_flows_within_workload() {
        let mut d = beside(4_700_000_000, 4_700_000_000);
        assert_eq!(output(&d), [""; 0], "equal shares");
        // One of forty servers has a hundredth of the others' share.
        let first = d.flows.iter().position(|f| f.subject == 0).unwrap();
        d.flows[first].measured /= 100;
        let host = d.host(d.flows[first].from).unwrap().to_owned();
        let output = output(&d);
        assert_eq!(output.len(), 1, "{output:?}");
        assert!(output[0].starts_with(&format!("**dctcp**: flows of storage from {host} to ")), "{output:?}");
        assert!(output[0].contains("are **starved** by other flows of storage at bottleneck ("), "{output:?}");
    }

    #[test]
    fn own_timeouts_are_no_starvation() {
        let mut d = beside(4_700_000_000, 4_700_000_000);
        let first = d.flows.iter().position(|f| f.subject == 0).unwrap();
        d.flows[first].measured /= 20;
        d.flows[first].conn = Some(1_000_000);
        let run = d.flows[first].run;
        d.timeouts.push(crate::data::Timeout { run, conn: 1_000_000, time_ns: 900_000_000, rto: 0.9, ..Default::default() });
        let said = output(&d);
        assert!(said[0].contains(" spend **90 %** of the time in **retransmission timeouts** at bottleneck ("), "{said:?}");
        assert!(!said[0].contains("starved"), "{said:?}");
        // A twentieth of the fair share for nine tenths of the time is no consequence of the timeout.
        d.timeouts[0].rto = 0.2;
        let said = output(&d);
        assert!(said[0].contains("are **starved** by other flows of storage at bottleneck ("), "{said:?}");
        assert!(said[0].contains("; 20 % of their time in retransmission timeouts)"), "{said:?}");
    }

    #[test]
    fn longer_round_trips_are_named() {
        let mut d = beside(280_000_000, 9_120_000_000);
        d.flows.iter_mut().for_each(|f| f.rtt_min_s = Some(if f.subject == 0 { 0.04 } else { 0.00005 }));
        let words = "(280 Mbit/s against 9.12 Gbit/s): its minimum RTT is 40 ms, that of the others 50 µs.";
        assert!(output(&d)[0].ends_with(words), "{:?}", output(&d));
        d.flows.iter_mut().for_each(|f| f.rtt_min_s = Some(0.00005));
        assert!(output(&d)[0].ends_with("(280 Mbit/s against 9.12 Gbit/s)."), "{:?}", output(&d));
    }

    #[test]
    fn equal_share_is_not_starvation() {
        // One of 41 flows.
        assert_eq!(output(&beside(9_160_000_000, 240_000_000)), [""; 0]);
        // The link is not saturated.
        assert_eq!(output(&beside(100_000_000, 5_500_000_000)), [""; 0]);
        // Datagrams with a configured rate.
        let mut d = beside(280_000_000, 9_120_000_000);
        d.flows.iter_mut().filter(|f| f.subject == 0).for_each(|f| f.greedy = false);
        assert_eq!(output(&d), [""; 0]);
        // Started just before the end.
        let mut d = beside(280_000_000, 9_120_000_000);
        d.flows.iter_mut().filter(|f| f.subject == 0).for_each(|f| f.start_ns = 990_000_000);
        assert_eq!(output(&d), [""; 0]);
    }
}
