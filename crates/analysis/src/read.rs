//! Reader of the tables of run directories.

use crate::data::{Data, Deadline, FULLEST_PORT, Flow, Limits, Network, Port, Query, Run, Subject, metrics};
use crate::head_of_line::BlockedMessages;
use crate::names;
use crate::row_context::{Groups, NameIndex, RowContext, exceeds_row_limit, numbered};
use crate::time_series::{goodput, queues, senders, timeouts};
use forebay_experiment::transport::Group;
use forebay_experiment::waits::{Cause, WORLDS_WITH_CAUSES};
use forebay_store::rows::{Ints, Rows, Texts};
use forebay_store::{
    KnownFigure, RateChange, RunDir, StoreError, VariantRecord, event_lines, listen_overflows, losing_links, rate_changes,
};
use forebay_types::QueueLen;
use std::collections::{BTreeMap, BTreeSet};

/// Reads all data.
///
/// # Errors
/// A directory without a `summary` table, and files that are missing or damaged.
pub fn read(dirs: &[RunDir]) -> Result<Data, StoreError> {
    let mut data = Data::default();
    let mut finders = Vec::new();
    for (i, dir) in dirs.iter().enumerate() {
        finders.push(summary(&mut data, i, dir)?);
    }
    data.paths = dirs.iter().map(|d| d.path().display().to_string()).collect();
    let labels = names::directories(dirs);
    names::assign(&mut data, &labels);
    for ((dir, finder), label) in dirs.iter().zip(&finders).zip(&labels) {
        let of = if dirs.len() > 1 { format!(" of {label}") } else { String::new() };
        // Variants of several directories may have the same name.
        let named = |name: &str| if dirs.len() > 1 && !name.is_empty() { format!("{label} {name}") } else { name.to_owned() };
        let figures = dir.manifest().known.iter();
        data.known.extend(figures.map(|f| KnownFigure { variant: named(&f.variant), over: named(&f.over), ..f.clone() }));
        ports(&mut data, dir, finder)?;
        queues(&mut data, dir, finder, &of)?;
        let first = data.senders.len();
        senders(&mut data, dir, finder, &of)?;
        flows(&mut data, dir, finder, first, &of)?;
        timeouts(&mut data, dir, finder, &of)?;
        goodput(&mut data, dir, finder, &of)?;
        losing_links(dir)?.into_iter().for_each(|(link, packets)| add(&mut data.losing_links, link, packets));
        for (port, packets) in listen_overflows(dir)? {
            let host = data.ports.iter().find(|p| p.name == port).map_or(port, |p| p.from.clone());
            add(&mut data.listen_overflows, host, packets);
        }
        for line in event_lines(dir, None)? {
            if !data.events.contains(&line) {
                data.events.push(line);
            }
        }
    }
    data.losing_links.sort_by_key(|l| std::cmp::Reverse(l.1));
    data.listen_overflows.sort_by_key(|l| std::cmp::Reverse(l.1));
    data.timeouts.sort_by_key(|t| (t.run, t.time_ns));
    data.probes.sort_by_key(|t| (t.run, t.time_ns));
    Ok(data)
}

/// Adds packets at a place to a list of places.
fn add(all: &mut Vec<(String, u64)>, place: String, packets: u64) {
    match all.iter_mut().find(|known| known.0 == place) {
        Some(known) => known.1 += packets,
        None => all.push((place, packets)),
    }
}

/// Subjects, networks and runs: the `summary` table and the manifest.
fn summary(data: &mut Data, index: usize, dir: &RunDir) -> Result<NameIndex, StoreError> {
    let mut finder = NameIndex { networks: BTreeMap::new(), runs: BTreeMap::new(), subjects: BTreeMap::new() };
    let manifest = dir.manifest();
    for r in &manifest.runs {
        let network = *finder.networks.entry(r.variant.clone()).or_insert_with(|| {
            let (variant, world) = (r.variant.clone(), manifest.world.clone());
            let resolved = manifest.scenario.variants.iter().find(|v| v.variant == variant).map(|v| &v.resolved);
            let warmup = resolved.and_then(|r| r["observe"]["warmup"].as_str()).filter(|w| *w != "0s").unwrap_or("").to_owned();
            let workloads = resolved.and_then(|r| r["workload"].as_array()).into_iter().flatten();
            let fixed = workloads.filter(|w| FIXED.iter().any(|key| !w[*key].is_null())).filter_map(|w| w["class"].as_str());
            data.fixed_work.extend(fixed.map(|class| (data.networks.len(), class.to_owned())));
            data.networks.push(Network { dir: index, variant, world, warmup, ..Network::default() });
            data.networks.len() - 1
        });
        finder.runs.insert((network, i64::from(r.run)), data.runs.len());
        let ns = |t: u64| i64::try_from(t).unwrap_or(i64::MAX);
        let (end_ns, measured_from_ns) = (ns(r.end_ns), ns(r.measured_from_ns));
        data.runs.push(Run { network, number: r.run, seed: r.seed, end_ns, measured_from_ns });
    }
    let batches = dir.table("summary")?;
    if batches.iter().all(|b| b.num_rows() == 0) {
        let message = "it has no summary: an older version wrote it, or nothing was run".into();
        return Err(StoreError::Damaged { path: dir.path().to_owned(), message });
    }
    // Groups of a variant in the order of its first run, variants in the order of the manifest.
    let mut found: Vec<(usize, String, String, Vec<Vec<f64>>)> = Vec::new();
    for batch in &batches {
        let rows = Rows::new(batch);
        let (group, port) = (rows.text("transport", str::to_owned), rows.text("port", str::to_owned));
        let columns: Vec<_> = metrics().map(|m| rows.float(m.name)).collect();
        let mut place = RowContext::of(&rows, &finder);
        for row in 0..rows.len() {
            let Some(run) = place.run(row) else { continue };
            let network = data.runs[run].network;
            let (Some(group), Some(port)) = (group.get(row), port.get(row)) else { continue };
            let at = found.iter().position(|f| f.0 == network && f.1 == *group).unwrap_or_else(|| {
                found.push((network, group.clone(), port.clone(), vec![Vec::new(); columns.len()]));
                found.len() - 1
            });
            if found[at].2 != *port {
                FULLEST_PORT.clone_into(&mut found[at].2);
            }
            found[at].3.iter_mut().zip(&columns).for_each(|(values, c)| values.extend(c.get(row)));
        }
    }
    // Groups of TCP have nothing to show if all traffic is datagrams.
    let unused = |network: usize, group: &str| {
        let variant = manifest.scenario.variants.iter().find(|v| v.variant == data.networks[network].variant);
        group != Group::DATAGRAMS && variant.is_some_and(only_datagrams)
    };
    found.retain(|(network, group, ..)| !unused(*network, group));
    found.sort_by_key(|f| f.0);
    for (network, group, port, values) in found {
        let n = &mut data.networks[network];
        if n.groups == 0 {
            (n.first, n.port) = (data.subjects.len(), port);
        }
        n.groups += 1;
        finder.subjects.insert((network, group.clone()), data.subjects.len());
        let variant = manifest.scenario.variants.iter().find(|v| v.variant == data.networks[network].variant);
        let max_pacing_bps = variant.and_then(|v| max_pacing_rate(v, &group));
        let nagle_holds = variant.is_some_and(|v| nagle_holds(v, &group));
        let dctcp_ecn = variant.and_then(|v| setting(v, &group, "ecn")).as_deref() == Some("dctcp");
        let idle_restart_s = variant.and_then(|v| idle_restart(v, &group));
        let name = String::new();
        data.subjects.push(Subject { name, group, network, values, max_pacing_bps, dctcp_ecn, idle_restart_s, nagle_holds });
    }
    Ok(finder)
}

/// Keys of a workload that set the number of its messages.
const FIXED: [&str; 5] = ["size", "file", "flows", "flows-per-source", "trains"];

/// True if all workloads of a resolved scenario are datagrams.
fn only_datagrams(variant: &VariantRecord) -> bool {
    variant.resolved["workload"].as_array().is_some_and(|all| !all.is_empty() && all.iter().all(|w| w["kind"] == "udp"))
}

/// `max-pacing-rate` of a transport group of a resolved scenario, bit/s.
fn max_pacing_rate(variant: &VariantRecord, group: &str) -> Option<f64> {
    let rate: forebay_types::Rate = setting(variant, group, "max-pacing-rate")?.parse().ok()?;
    Some(rate.0 as f64)
}

/// Minimum RTO of a transport group of a resolved scenario, s, if its windows restart after idle time.
fn idle_restart(variant: &VariantRecord, group: &str) -> Option<f64> {
    setting(variant, group, "slow-start-after-idle").filter(|restart| restart != "off")?;
    let least: forebay_types::Time = setting(variant, group, "rto-min")?.parse().ok()?;
    Some(least.0 as f64 * 1e-12)
}

/// True if a transport group of a resolved scenario has Nagle's algorithm, and applications write messages by several calls.
fn nagle_holds(variant: &VariantRecord, group: &str) -> bool {
    let workloads = variant.resolved["workload"].as_array();
    let several = workloads.is_some_and(|all| all.iter().any(|w| w["writes"].as_u64().is_some_and(|n| n > 1)));
    several && setting(variant, group, "nagle").as_deref() == Some("true")
}

/// Setting of a transport group of a resolved scenario, as text.
fn setting(variant: &VariantRecord, group: &str, key: &str) -> Option<String> {
    let transport = &variant.resolved["transport"];
    let of = match transport["group"].as_array() {
        Some(groups) => groups.iter().find(|g| g["name"] == group)?,
        None => transport,
    };
    of[key].as_str().map(str::to_owned).or_else(|| of[key].as_bool().map(|b| b.to_string()))
}

fn ports(data: &mut Data, dir: &RunDir, finder: &NameIndex) -> Result<(), StoreError> {
    let mut index: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    let variants = dir.manifest().scenario.variants.iter();
    let changes: BTreeMap<String, Vec<RateChange>> = variants.map(|v| (v.variant.clone(), rate_changes(v))).collect();
    for batch in &dir.table("ports")? {
        let rows = Rows::new(batch);
        let [name, from, to] = ["port", "from", "to"].map(|c| rows.text(c, str::to_owned));
        let (from_switch, to_switch) = (rows.bool("from_switch"), rows.bool("to_switch"));
        let (id, rate, utilization) = (rows.int("port_id"), rows.int("rate_bps"), rows.float("utilization"));
        let policed = rows.int("policed_bps");
        let dropped = ["dropped_overflow", "dropped_shared", "dropped_early"].map(|c| rows.int(c));
        let (marked, max) = (rows.int("marked"), rows.int("queue_max_pkts"));
        let (mean, p99) = (rows.float("queue_mean_pkts"), rows.int("queue_p99_pkts"));
        let lengths = [("mark_pkts", "mark_bytes"), ("buffer_pkts", "buffer_bytes"), ("", "shared_bytes")];
        let lengths = lengths.map(|(pkts, bytes)| (rows.int(pkts), rows.int(bytes)));
        let thresholds = rows.text("thresholds", str::to_owned);
        let arrived = [rows.int("arrived_pkts"), rows.int("arrived_bytes")];
        let mut place = RowContext::of(&rows, finder);
        for row in 0..rows.len() {
            let Some(run) = place.run(row) else { continue };
            let network = data.runs[run].network;
            let at = *index.entry((network, id.count(row))).or_insert_with(|| {
                let text = |t: &Texts<String>| t.get(row).cloned().unwrap_or_default();
                let name = text(&name);
                let changes = changes.get(&data.networks[network].variant).into_iter().flatten();
                let own = changes.filter(|c| c.port == name).map(|c| (c.at.0 as f64 * 1e-12, c.rate.0 as f64));
                data.ports.push(Port {
                    network,
                    id: id.count(row),
                    rate_changes: own.collect(),
                    name,
                    from: text(&from),
                    to: text(&to),
                    from_switch: from_switch.get(row).unwrap_or(false),
                    to_switch: to_switch.get(row).unwrap_or(false),
                    rate_bps: rate.count(row) as f64,
                    policed_bps: policed.get(row).map(|bps| bps as f64).filter(|bps| *bps > 0.0),
                    ..Port::default()
                });
                data.ports.len() - 1
            });
            let port = &mut data.ports[at];
            port.seeds += 1;
            let [pkts, bytes] = [&arrived[0], &arrived[1]].map(|c| c.count(row) as f64);
            let length = |(in_pkts, in_bytes): &(Ints, Ints)| {
                let of_bytes = in_bytes.get(row).filter(|_| pkts > 0.0).map(|b| b as f64 * pkts / bytes);
                in_pkts.get(row).map(|p| p as f64).or(of_bytes)
            };
            let [mark, buffer, shared] = lengths.each_ref().map(length);
            port.limits = Limits { mark, buffer, shared };
            port.thresholds = thresholds.get(row).map_or_else(Vec::new, |text| named_lengths(text, bytes / pkts));
            port.utilization += utilization.get(row).unwrap_or(0.0);
            port.drops += dropped.iter().map(|c| c.count(row) as f64).sum::<f64>();
            port.marks += marked.count(row) as f64;
            port.queue_max += max.count(row) as f64;
            port.queue_mean += mean.get(row).unwrap_or(0.0);
            if p99.get(row).is_some() {
                *port.queue_p99.get_or_insert_default() += p99.count(row) as f64;
            }
        }
    }
    for &at in index.values() {
        let port = &mut data.ports[at];
        let n = f64::from(port.seeds);
        let Port { utilization, drops, marks, queue_max, queue_mean, queue_p99, .. } = port;
        for sum in [utilization, drops, marks, queue_max, queue_mean].into_iter().chain(queue_p99) {
            *sum /= n;
        }
    }
    Ok(())
}

/// Parses `K of queue 0 65pkt, K of queue 1 30KB`, with a mean packet size of `each` bytes.
fn named_lengths(text: &str, each: f64) -> Vec<(String, f64)> {
    let one = |part: &str| {
        let (name, length) = part.rsplit_once(' ')?;
        let packets = match length.parse().ok()? {
            QueueLen::Packets(n) => n as f64,
            QueueLen::Bytes(n) => Some(n as f64 / each).filter(|n| n.is_finite())?,
        };
        Some((name.to_owned(), packets))
    };
    text.split(", ").filter_map(one).collect()
}

/// Properties of a query from its messages.
#[derive(Debug, Clone, Copy, Default)]
struct OfQuery {
    /// Subjects with messages in it: bit i for the i-th of the network.
    groups: u64,
    /// Receivers of its responses.
    receivers: Receivers,
    /// Number of its responses that have begun.
    responses: u32,
    /// Largest ideal times of its requests and of its responses, ns.
    request_ns: i64,
    response_ns: i64,
}

/// Receivers of the responses of a query, by host index.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Receivers {
    #[default]
    Nobody,
    One(u32),
    Several,
}

impl Receivers {
    /// Adds the receiver of a response; `None` if unknown.
    fn note(&mut self, host: Option<u32>) {
        *self = match (*self, host) {
            (Receivers::Nobody, Some(host)) => Receivers::One(host),
            (Receivers::One(one), Some(host)) if one == host => *self,
            _ => Receivers::Several,
        };
    }

    /// The only one.
    fn one(self) -> Option<u32> {
        if let Receivers::One(host) = self { Some(host) } else { None }
    }
}

/// Reads messages and queries, and assigns the connections of `data.senders[first_sender..]` to subjects.
fn flows(data: &mut Data, dir: &RunDir, finder: &NameIndex, first_sender: usize, of: &str) -> Result<(), StoreError> {
    if exceeds_row_limit(data, dir, "flows", of) {
        return Ok(());
    }
    let observed: BTreeMap<(usize, i64), usize> =
        data.senders.iter().enumerate().skip(first_sender).map(|(i, s)| ((s.run, s.conn), i)).collect();
    let observed_runs: BTreeSet<usize> = observed.keys().map(|k| k.0).collect();
    // Indexed by run and query.
    let mut parts: BTreeMap<usize, Vec<OfQuery>> = BTreeMap::new();
    let mut hosts: BTreeMap<String, u32> = data.hosts.iter().cloned().zip(0..).collect();
    const COLUMNS: [&str; 29] = [
        "variant",
        "run",
        "class",
        "transport",
        "conn_id",
        "src",
        "dst",
        "size_bytes",
        "start_ns",
        "acked_ns",
        "fct_ns",
        "slowdown",
        "bytes_measured",
        "bytes_acked",
        "query_id",
        "request",
        "ideal_fct_ns",
        "deadline_met",
        "delay_cause",
        "delay_port",
        "delay_ns",
        "segs_sent",
        "cwnd_max",
        "flow_id",
        "deadline_ns",
        "rwnd_limited_ns",
        "sndbuf_limited_ns",
        "rtt_min_ns",
        "segs_retx",
    ];
    let mut behind = BlockedMessages::default();
    let mut places: BTreeMap<String, u32> = data.places.iter().cloned().zip(0..).collect();
    let mut classes: BTreeMap<String, u32> = data.classes.iter().cloned().zip(0..).collect();
    dir.each("flows", &COLUMNS, &mut |batch| {
        let rows = Rows::new(batch);
        let class = rows.text("class", |name| numbered(name, &mut classes, &mut data.classes));
        let sent = rows.int("bytes_acked");
        let groups = Groups::of(&rows, data, finder);
        let src = rows.text("src", |name| numbered(name, &mut hosts, &mut data.hosts));
        let dst = rows.text("dst", |name| numbered(name, &mut hosts, &mut data.hosts));
        let [conn, size, start, acked] = ["conn_id", "size_bytes", "start_ns", "acked_ns"].map(|c| rows.int(c));
        let [fct, measured, query] = ["fct_ns", "bytes_measured", "query_id"].map(|c| rows.int(c));
        // Data sent without a window are datagrams.
        let (segments, window, id) = (rows.int("segs_sent"), rows.float("cwnd_max"), rows.int("flow_id"));
        let (slowdown, ideal, met) = (rows.float("slowdown"), rows.int("ideal_fct_ns"), rows.bool("deadline_met"));
        let request = rows.bool("request");
        let limited = ["rwnd_limited_ns", "sndbuf_limited_ns"].map(|c| rows.int(c));
        let [rtt, retransmitted] = ["rtt_min_ns", "segs_retx"].map(|c| rows.int(c));
        let (waited, delay_ns, deadline) = (rows.text("delay_cause", Cause::of), rows.int("delay_ns"), rows.int("deadline_ns"));
        data.waits |=
            batch.column_by_name("delay_cause").is_some() && WORLDS_WITH_CAUSES.contains(&dir.manifest().world.as_str());
        let delay_port = rows.text("delay_port", |name| numbered(name, &mut places, &mut data.places));
        let mut place = RowContext::of(&rows, finder);
        data.flows.reserve(rows.len());
        for row in 0..rows.len() {
            let Some(run) = place.run(row) else { continue };
            let network = data.runs[run].network;
            let Some(subject) = groups.subject(network, row) else { continue };
            if observed_runs.contains(&run)
                && let Some(&at) = conn.get(row).and_then(|c| observed.get(&(run, c)))
            {
                data.senders[at].subject = subject;
            }
            let query = query.get(row).and_then(|q| usize::try_from(q).ok());
            let is_request = request.get(row) == Some(true);
            if let Some(query) = query {
                let of_run = parts.entry(run).or_default();
                if of_run.len() <= query {
                    of_run.resize(query + 1, OfQuery::default());
                }
                let part = &mut of_run[query];
                part.groups |= 1 << (subject - data.networks[network].first).min(63);
                let longest = if is_request { &mut part.request_ns } else { &mut part.response_ns };
                *longest = (*longest).max(ideal.get(row).unwrap_or(0));
                if !is_request {
                    part.responses += 1;
                    part.receivers.note(dst.get(row).copied());
                }
            }
            if let (Some(longest_ns), Some(&class)) = (deadline.get(row), class.get(row)) {
                let same = |d: &Deadline| (d.subject, d.class) == (subject, class);
                let at = data.deadlines.iter().position(same).unwrap_or_else(|| {
                    data.deadlines.push(Deadline { subject, class, longest_ns, known: 0, missed: 0 });
                    data.deadlines.len() - 1
                });
                let d = &mut data.deadlines[at];
                d.longest_ns = d.longest_ns.max(longest_ns);
                d.known += usize::from(met.get(row).is_some());
                d.missed += usize::from(met.get(row) == Some(false));
            }
            let start_ns = start.get(row).unwrap_or(0);
            let cause = waited.get(row).copied().flatten();
            if let (Some(Cause::HeadOfLine), Some(id), Some(conn)) = (cause, id.get(row), conn.get(row)) {
                behind.flows.push((data.flows.len(), id));
                behind.conns.insert((run, conn));
            }
            let seconds = |ns: &Ints| ns.get(row).map(|ns| ns as f64 * 1e-9);
            let ideal_ns = ideal.get(row).unwrap_or(0);
            // A message for which the whole run would be too short on an unloaded network is a long flow.
            let unreachable = fct.get(row).is_none() && ideal_ns > data.runs[run].end_ns;
            let size = if unreachable && query.is_none() { 0 } else { size.count(row) };
            let cause = cause.filter(|_| size > 0);
            let slow = size > 0 && ideal.get(row).is_some_and(|i| i > 0 && delay_ns.get(row).is_some_and(|w| w > i));
            data.flows.push(Flow {
                subject,
                run,
                id: id.count(row),
                query: query.and_then(|q| u32::try_from(q).ok()),
                size,
                conn: conn.get(row).and_then(|c| u64::try_from(c).ok()),
                start_ns,
                acked_ns: acked.get(row),
                fct: fct.get(row).map(|ns| ns as f64 * 1e-9),
                slowdown: slowdown.get(row),
                ideal_s: ideal.count(row) as f64 * 1e-9,
                measured: measured.count(row),
                in_query: query.is_some(),
                request: is_request,
                class: class.get(row).copied(),
                to: dst.get(row).copied(),
                acked: sent.count(row),
                from: src.get(row).copied(),
                unreachable: unreachable && query.is_none(),
                greedy: size == 0
                    && acked.get(row).is_none()
                    && (segments.count(row) == 0 || window.get(row).is_some_and(|w| w > 0.0)),
                late: met.get(row).map_or(slow, |met| !met),
                waited: cause,
                delay_port: delay_port.get(row).copied(),
                blocked_by: None,
                rwnd_limited_s: seconds(&limited[0]),
                sndbuf_limited_s: seconds(&limited[1]),
                rtt_min_s: seconds(&rtt).filter(|s| *s > 0.0),
                segments: segments.count(row),
                retransmitted: retransmitted.count(row),
            });
        }
    })?;
    const OF_QUERIES: [&str; 12] = [
        "variant",
        "run",
        "class",
        "query_id",
        "start_ns",
        "qct_ns",
        "fan_in",
        "bytes",
        "delay_cause",
        "delay_port",
        "delay_ns",
        "slowest_flow_id",
    ];
    let first = data.queries.len();
    // Queries without a response.
    let mut unanswered = Vec::new();
    let mut unfinished = Vec::new();
    // Answers of a query of each network and workload.
    let mut most_answers: BTreeMap<(usize, Option<u32>), u64> = BTreeMap::new();
    for batch in &dir.columns("queries", &OF_QUERIES)? {
        let rows = Rows::new(batch);
        let class = rows.text("class", |name| numbered(name, &mut classes, &mut data.classes));
        let [id, start, qct, fan_in, bytes, slowest] =
            ["query_id", "start_ns", "qct_ns", "fan_in", "bytes", "slowest_flow_id"].map(|c| rows.int(c));
        let (waited, delay_ns) = (rows.text("delay_cause", Cause::of), rows.int("delay_ns"));
        let delay_port = rows.text("delay_port", |name| numbered(name, &mut places, &mut data.places));
        let mut place = RowContext::of(&rows, finder);
        for row in 0..rows.len() {
            let Some(run) = place.run(row) else { continue };
            let part = parts.get(&run).and_then(|p| p.get(id.count(row) as usize));
            let part = part.copied().unwrap_or_default();
            let cause = waited.get(row).copied().flatten();
            if let (Some(Cause::HeadOfLine), Some(slowest)) = (cause, slowest.get(row)) {
                behind.queries.push((data.queries.len(), slowest));
            }
            let answers = most_answers.entry((data.runs[run].network, class.get(row).copied())).or_default();
            *answers = fan_in.count(row).max(*answers);
            if qct.get(row).is_none() {
                unfinished.push((data.queries.len(), part));
            }
            if part.response_ns == 0 && qct.get(row).is_none() {
                unanswered.push(data.queries.len());
            }
            data.queries.push(Query {
                run,
                id: id.count(row),
                class: class.get(row).copied(),
                start_ns: start.get(row).unwrap_or(0),
                qct: qct.get(row).map(|ns| ns as f64 * 1e-9),
                bytes: bytes.count(row),
                groups: part.groups,
                receiver: part.receivers.one(),
                waited: cause,
                delay_port: delay_port.get(row).copied(),
                blocked_by: None,
                delay_s: delay_ns.count(row) as f64 * 1e-9,
                ideal_s: (part.request_ns + part.response_ns) as f64 * 1e-9,
            });
        }
    }
    for (query, part) in unfinished {
        note_missing_answers(data, query, &part, &most_answers);
    }
    complete_ideals(data, first, &unanswered);
    behind.note(data, dir, finder, &places)
}

/// Counts the answers of an unfinished query that have no row because their requests have not arrived, and whose deadline has passed. Number and
/// deadline are those of other queries of its workload. A query with messages of several subjects does not show whose answers are missing.
fn note_missing_answers(data: &mut Data, query: usize, part: &OfQuery, most_answers: &BTreeMap<(usize, Option<u32>), u64>) {
    let q = &data.queries[query];
    let network = data.runs[q.run].network;
    let subject = data.networks[network].first + part.groups.trailing_zeros() as usize;
    let missing = most_answers[&(network, q.class)].saturating_sub(part.responses.into()) as usize;
    let age = data.runs[q.run].end_ns - q.start_ns;
    let of = data.deadlines.iter_mut().find(|d| (d.subject, Some(d.class)) == (subject, q.class));
    if let Some(d) = of.filter(|d| part.groups.count_ones() == 1 && d.longest_ns < age) {
        d.known += missing;
        d.missed += missing;
    }
}

/// Sets the ideal time of the queries `unanswered` to the longest of their workload, among the queries from `first` on. The responses, which take most
/// of it, have no row before they begin, and the time of the requests alone would make a young query look slow.
fn complete_ideals(data: &mut Data, first: usize, unanswered: &[usize]) {
    let mut longest: BTreeMap<(usize, Option<u32>), f64> = BTreeMap::new();
    for q in &data.queries[first..] {
        let of = longest.entry((data.runs[q.run].network, q.class)).or_default();
        *of = of.max(q.ideal_s);
    }
    for &n in unanswered {
        let q = &mut data.queries[n];
        q.ideal_s = longest[&(data.runs[q.run].network, q.class)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_with_their_names() {
        let two = named_lengths("K of queue 0 65pkt, K of queue 1 30KB", 1_500.0);
        assert_eq!(two, [("K of queue 0".to_owned(), 65.0), ("K of queue 1".to_owned(), 20.0)]);
        assert_eq!(named_lengths("min of the average 30KB", f64::NAN), [], "no packet says how long they are");
        assert_eq!(named_lengths("", 1_500.0), []);
    }
    /// A request that left 60 us before the end of the run is not slow, although its own ideal time is 2 us.
    #[test]
    fn unanswered_query_has_typical_ideal_time() {
        let query = |class, ideal_s, qct| Query { class: Some(class), ideal_s, qct, ..Query::default() };
        let mut data = Data {
            runs: vec![Run::default()],
            queries: vec![query(0, 3e-4, Some(5e-4)), query(1, 9e-4, Some(1e-3)), query(0, 2e-6, None), query(0, 1e-4, None)],
            ..Data::default()
        };
        complete_ideals(&mut data, 0, &[2]);
        let ideals: Vec<f64> = data.queries.iter().map(|q| q.ideal_s).collect();
        assert_eq!(ideals, [3e-4, 9e-4, 3e-4, 1e-4], "the last one has a response");
    }

    #[test]
    fn query_receiver_is_unique() {
        let of = |hosts: &[Option<u32>]| {
            let mut all = Receivers::default();
            hosts.iter().for_each(|host| all.note(*host));
            all.one()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Some(0), Some(0)]), Some(0));
        assert_eq!(of(&[Some(0), Some(1), Some(0)]), None);
        assert_eq!(of(&[None, Some(0)]), None, "the results do not say where all of it went");
    }
}
