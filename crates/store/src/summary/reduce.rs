//! Reduction of the rows of a run to its summary.

use super::bounds;
use super::values::{ClassSummary, GroupSummary, NetworkSummary, Spread, Summary};
use crate::run_info::RunInfo;
use crate::schema::{deadline_met, duration_ps};
use crate::stats::{SizeBin, is_bound, jain, quantile};
use forebay_experiment::Experiment;
use forebay_experiment::report::{Predicted, Report};
use forebay_experiment::rows::{FlowRow, PortRow};
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::transport::Group;
use forebay_types::{GroupId, IndexVec, PortId, WorkloadId};

/// Reduces a report to its summary.
pub fn summarise(info: &RunInfo, config: &Experiment, report: &Report) -> Summary {
    if let Some(known) = &report.predicted {
        return of_predictions(info, config, known);
    }
    let long: Vec<Long> = report.flows.iter().filter_map(|f| Long::new(f, report)).collect();
    let parts = parts(config, report);
    let all = |g| Part { group: g, class: None };
    let mut groups: IndexVec<GroupId, GroupSummary> = config.groups.ids().map(|g| group(all(g), info, config, report)).collect();
    let meet = parts.iter().any(|of| of.iter().filter(|p| p.messages > 0).count() > 1);
    for (g, out) in groups.enumerate_mut() {
        queries(all(g), out, info, config, report, &parts);
        if meet {
            out.part = spread(in_queries(g, report).map(|f| Taken::of(f.start.0, f.end.ps(), report).seconds()).collect());
        }
        let own: Vec<&Long> = long.iter().filter(|l| l.group == g).collect();
        of_long(out, &own);
        out.goodput_max_bps = bounds::goodput_bps(g, config, report);
        out.flows_max = bounds::asked(g, config, bounds::messages).filter(|_| out.flows > 0);
        out.queries_max = bounds::asked(g, config, bounds::queries).filter(|_| out.queries > 0);
    }
    let first = groups.first().and_then(|g| g.long_goodput_bps).filter(|bps| *bps > 0.0);
    if groups.len() > 1 {
        groups.iter_mut().for_each(|g| g.long_goodput_ratio = g.long_goodput_bps.zip(first).map(|(own, first)| own / first));
    }
    if groups.len() < 2 {
        // The same as the goodput of all flows over their number.
        groups.iter_mut().for_each(|g| g.long_goodput_bps = None);
    }
    let mut network = network(info, config, report);
    if groups.iter().filter(|g| g.long_goodput_bps.is_some()).count() > 1 {
        network.fairness = fairness(&long.iter().collect::<Vec<_>>());
    }
    let classes = config.groups.ids().flat_map(|g| classes(g, info, config, report, (&long, &parts))).collect();
    Summary { groups, classes, network }
}

/// The workloads with messages or queries that may use a group, one by one, if there are several.
fn classes(
    group_id: GroupId,
    info: &RunInfo,
    config: &Experiment,
    report: &Report,
    (long, parts): (&[Long], &[IndexVec<GroupId, Messages>]),
) -> Vec<ClassSummary> {
    let finite = |kind: &WorkloadKind| !matches!(kind, WorkloadKind::Udp { .. } | WorkloadKind::Long { size: None, .. });
    let own: Vec<WorkloadId> =
        config.workloads.enumerate().filter(|(_, w)| w.uses(group_id) && finite(&w.kind)).map(|(id, _)| id).collect();
    if own.len() < 2 {
        return Vec::new();
    }
    let one = |id: WorkloadId| {
        let part = Part { group: group_id, class: Some(id) };
        let mut summary = group(part, info, config, report);
        queries(part, &mut summary, info, config, report, parts);
        of_long(&mut summary, &long.iter().filter(|l| l.group == group_id && l.class == id).collect::<Vec<_>>());
        summary.long_goodput_bps = None;
        ClassSummary { group: group_id, class: config.workloads[id].class.clone(), summary }
    };
    own.into_iter().map(one).collect()
}

/// Sets the results of the long flows `own`.
fn of_long(out: &mut GroupSummary, own: &[&Long]) {
    out.long_flows = own.len() as u64;
    out.long_goodput_bps = mean(own.iter().map(|l| l.bps));
    out.fairness = fairness(own);
    let time: f64 = own.iter().map(|l| l.whole_s).sum();
    let part = |of: fn(&Long) -> Option<f64>| {
        let known: Option<f64> = own.iter().map(|l| of(l)).sum();
        known.filter(|_| time > 0.0).map(|s| (s / time).min(1.0))
    };
    out.rwnd_limited = part(|l| l.rwnd_s);
    out.sndbuf_limited = part(|l| l.sndbuf_s);
}

/// Summary of a run without rows: its predictions.
fn of_predictions(info: &RunInfo, config: &Experiment, known: &Predicted) -> Summary {
    let group = |(g, group): (GroupId, &Group)| GroupSummary {
        name: group.name.clone(),
        goodput_bps: known.goodput_bps.get(g).copied().flatten(),
        qct: known.query_s.get(g).copied().flatten().map(|s| Spread {
            mean: s,
            p50: s,
            p99: s,
            p999: None,
            max: None,
            running: 0.0,
            known: 1.0,
        }),
        uncounted: true,
        ..GroupSummary::default()
    };
    let network = NetworkSummary {
        port: known.port.map_or_else(String::new, |p| info.port(p).to_owned()),
        queue_mean: known.queue_mean_pkts,
        queue_max: known.queue_max_pkts,
        uncounted: true,
        ..NetworkSummary::default()
    };
    Summary { groups: config.groups.enumerate().map(group).collect(), classes: Vec::new(), network }
}

fn seconds(ps: u64) -> f64 {
    ps as f64 * 1e-12
}

/// Returns true for an endless flow, and for a message outside queries for which the whole run would be too short on an unloaded network.
fn is_long(f: &FlowRow, report: &Report) -> bool {
    let unreachable = || f.end.is_never() && f.query_id.is_none() && f.ideal > report.end;
    f.size_bytes == 0 || unreachable()
}

/// Goodput of an endless flow while it was active in the measured time.
struct Long {
    group: GroupId,
    class: WorkloadId,
    /// Its time in the whole run, s, and the parts in which the receive window and the send buffer limited it.
    whole_s: f64,
    rwnd_s: Option<f64>,
    sndbuf_s: Option<f64>,
    from_ps: u64,
    to_ps: u64,
    bps: f64,
}

impl Long {
    /// `None` for finite messages and for flows that were not active in the measured time.
    fn new(f: &FlowRow, report: &Report) -> Option<Long> {
        let from_ps = f.start.0.max(report.measured_from.0);
        // A stopped flow ends with its last acknowledgment.
        let to_ps = f.acked.ps().map_or(report.end.0, |acked| acked.min(report.end.0));
        (is_long(f, report) && from_ps < to_ps).then(|| Long {
            group: f.group,
            class: f.workload,
            whole_s: seconds(to_ps.saturating_sub(f.start.0)),
            rwnd_s: f.rwnd_limited.ps().map(seconds),
            sndbuf_s: f.sndbuf_limited.ps().map(seconds),
            from_ps,
            to_ps,
            bps: f.bytes_measured as f64 * 8.0 / seconds(to_ps - from_ps),
        })
    }
}

/// Jain's index of competing flows: at least two, all active at some common time.
fn fairness(flows: &[&Long]) -> Option<f64> {
    let (from, to) = (flows.iter().map(|l| l.from_ps).max()?, flows.iter().map(|l| l.to_ps).min()?);
    if flows.len() < 2 || from >= to {
        return None;
    }
    jain(&flows.iter().map(|l| l.bps).collect::<Vec<f64>>())
}

/// A group, or one of its workloads.
#[derive(Clone, Copy)]
struct Part {
    group: GroupId,
    class: Option<WorkloadId>,
}

impl Part {
    fn has(self, f: &FlowRow) -> bool {
        f.group == self.group && self.class.is_none_or(|class| f.workload == class)
    }
}

/// Messages of a group in a query.
#[derive(Clone, Copy, Default)]
struct Messages {
    messages: u32,
    answers: u32,
    rtos_max: u32,
}

/// Indexed by query and group.
fn parts(config: &Experiment, report: &Report) -> Vec<IndexVec<GroupId, Messages>> {
    let mut parts = vec![IndexVec::repeat(Messages::default(), config.groups.len()); report.queries.len()];
    for f in &report.flows {
        if let Some(p) = f.query_id.and_then(|q| parts.get_mut(q.index())).and_then(|of| of.get_mut(f.group)) {
            p.messages += 1;
            p.answers += u32::from(!f.request);
            p.rtos_max = p.rtos_max.max(f.rtos);
        }
    }
    parts
}

fn in_queries(group: GroupId, report: &Report) -> impl Iterator<Item = &FlowRow> {
    report.flows.iter().filter(move |f| f.group == group && f.query_id.is_some())
}

fn group(part: Part, info: &RunInfo, config: &Experiment, report: &Report) -> GroupSummary {
    let mut out = GroupSummary { name: config.groups[part.group].name.clone(), ..GroupSummary::default() };
    let (mut active, mut measured) = (Active::default(), 0);
    let mut job = Job::default();
    // Datagrams sent and arrived.
    let mut datagrams = (0, 0);
    let mut fct: [Vec<Value>; 3] = Default::default();
    for f in report.flows.iter().filter(|f| part.has(f)) {
        active.add(f, report);
        if !is_long(f, report) {
            job.add(f, report);
        }
        measured += f.bytes_measured;
        if let Some(WorkloadKind::Udp { datagram, .. }) = config.workloads.get(f.workload).map(|w| &w.kind) {
            datagrams.0 += f.segs_sent;
            datagrams.1 += f.bytes_acked / u64::from(datagram.payload.max(1));
        }
        out.rtos += u64::from(f.rtos);
        out.tlps += u64::from(f.tlps);
        out.syn_rtos += u64::from(f.syn_rtos);
        out.segs_retx += f.segs_retx;
        if let Some(met) = deadline_met(f, info.end_ps) {
            out.deadlines += 1;
            out.deadlines_missed += u64::from(!met);
        }
        if f.query_id.is_none() && !is_long(f, report) {
            out.flows += 1;
            let taken = Taken::of(f.start.0, f.end.ps(), report);
            out.flows_completed += u64::from(!taken.running);
            fct[SizeBin::of(f.size_bytes) as usize].push(taken.seconds());
        }
    }
    // Bytes acknowledged after the warm-up, as the ports count.
    let time = report.end.saturating_sub(report.measured_from).as_secs_f64();
    let acked = if part.class.is_some() { measured } else { report.acked.get(part.group).copied().unwrap_or(0) };
    // No traffic is no goodput of zero: a sweep can leave a group without hosts.
    let used = acked > 0 || config.workloads.iter().any(|w| w.uses(part.group));
    out.goodput_bps = used.then(|| if time > 0.0 { acked as f64 * 8.0 / time } else { 0.0 });
    out.active_goodput_bps = active.seconds(report).map(|s| acked as f64 * 8.0 / s);
    out.makespan = if is_job(part, config) { job.makespan() } else { None };
    out.datagrams_lost = (datagrams.0 > 0).then(|| part_of(datagrams.0.saturating_sub(datagrams.1), datagrams.0));
    out.fct = fct.map(spread);
    // Computed in a second pass: each takes 16 bytes a message.
    let own = report.flows.iter().filter(|f| part.has(f) && f.query_id.is_none() && !is_long(f, report));
    out.slowdown = spread(own.filter_map(|f| Taken::of(f.start.0, f.end.ps(), report).over_ideal(f)).collect());
    out
}

/// Counts the queries that a group, or one of its workloads, takes part in.
fn queries(
    part: Part,
    out: &mut GroupSummary,
    info: &RunInfo,
    config: &Experiment,
    report: &Report,
    parts: &[IndexVec<GroupId, Messages>],
) {
    let id = part.group;
    let mut qct = Vec::new();
    let mut timeouts = Vec::new();
    for (q, of) in report.queries.iter().zip(parts).filter(|(q, _)| part.class.is_none_or(|class| q.workload == class)) {
        let workload = config.workloads.get(q.workload);
        let may_get = || workload.is_some_and(|w| w.uses(id));
        let none_sent = of.iter().all(|p| p.messages == 0);
        if of[id].messages == 0 && !(none_sent && may_get()) {
            continue;
        }
        out.queries += 1;
        timeouts.push(f64::from(of[id].rtos_max));
        let taken = Taken::of(q.start.0, q.end.ps(), report);
        out.queries_completed += u64::from(!taken.running);
        // An answer whose request has not arrived has no row. The requests of a query with several groups do not show whose answers are missing.
        let alone = of.iter().all(|p| p.messages == 0) || of[id].messages == of.iter().map(|p| p.messages).sum::<u32>();
        let asked = workload.map_or(0, |w| w.kind.answers());
        let due = workload.and_then(|w| w.kind.answer_deadline()).map(|d| q.start.saturating_add(d.after).0);
        if taken.running && alone && due.is_some_and(|due| info.end_ps.is_none_or(|end| due < end)) {
            let missing = u64::from(asked.saturating_sub(of.iter().map(|p| p.answers).sum::<u32>()));
            out.deadlines += missing;
            out.deadlines_missed += missing;
        }
        qct.push(taken.seconds());
    }
    out.query_timeouts = mean(timeouts.into_iter());
    out.qct = spread(qct);
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0u64, 0.0), |(n, sum), v| (n + 1, sum + v));
    (n > 0).then(|| sum / n as f64)
}

fn part_of(n: u64, of: u64) -> f64 {
    n as f64 / of as f64
}

/// Time from the start of the first message to the end of the last one.
#[derive(Default)]
struct Active(Option<(u64, u64)>);

/// A time in which there was work counts as the whole run from this fraction of it on. Our choice.
const WHOLE: f64 = 0.95;

impl Active {
    fn add(&mut self, f: &FlowRow, report: &Report) {
        let end = if f.size_bytes == 0 { f.acked } else { f.end };
        let (from, to) = (f.start.0.max(report.measured_from.0), end.ps().map_or(report.end.0, |end| end.min(report.end.0)));
        if from < to {
            let (first, last) = self.0.unwrap_or((from, to));
            self.0 = Some((first.min(from), last.max(to)));
        }
    }

    /// Its length, s, if it is clearly shorter than the measured time.
    fn seconds(&self, report: &Report) -> Option<f64> {
        let whole = seconds(report.end.0.saturating_sub(report.measured_from.0));
        self.0.map(|(from, to)| seconds(to - from)).filter(|s| *s < WHOLE * whole)
    }
}

/// Returns true if the workloads of a part set the number of their messages, and it is above 1.
fn is_job(part: Part, config: &Experiment) -> bool {
    let own = config.workloads.enumerate().filter(|(id, w)| w.uses(part.group) && part.class.is_none_or(|class| class == *id));
    let asked: Option<u64> = own.map(|(_, w)| Some(bounds::messages(&w.kind)? + bounds::queries(&w.kind)?)).sum();
    asked.is_some_and(|n| n > 1)
}

/// Time from the start of the first message to the end of the last one.
#[derive(Default)]
struct Job {
    span: Option<(u64, u64)>,
    running: bool,
}

impl Job {
    fn add(&mut self, f: &FlowRow, report: &Report) {
        let (start, end) = (f.start.0, f.end.ps());
        let to = end.unwrap_or(report.end.0);
        let (first, last) = self.span.unwrap_or((start, to));
        self.span = Some((first.min(start), last.max(to)));
        self.running |= end.is_none();
    }

    /// Its length in seconds, and whether all messages had ended.
    fn makespan(&self) -> Option<(f64, bool)> {
        self.span.map(|(first, last)| (seconds(last.saturating_sub(first)), !self.running))
    }
}

/// Duration of a message or query; of a running one, the time until the end of the run.
#[derive(Clone, Copy)]
struct Taken {
    ps: u64,
    running: bool,
}

/// A value computed from a [`Taken`].
struct Value {
    value: f64,
    running: bool,
}

impl Taken {
    fn of(start_ps: u64, end_ps: Option<u64>, report: &Report) -> Taken {
        let whole = duration_ps(start_ps, end_ps);
        Taken { ps: whole.unwrap_or_else(|| report.end.0.saturating_sub(start_ps)), running: whole.is_none() }
    }

    fn seconds(self) -> Value {
        Value { value: seconds(self.ps), running: self.running }
    }

    /// Duration over the time of the same bytes on an unloaded path; `None` without one.
    fn over_ideal(self, f: &FlowRow) -> Option<Value> {
        (f.ideal.0 > 0).then(|| Value { value: self.ps as f64 / f.ideal.0 as f64, running: self.running })
    }
}

fn spread(made: Vec<Value>) -> Option<Spread> {
    // Few messages that wait for a timeout can take more time than all others together.
    let sum = |counts: fn(&&Value) -> bool| made.iter().filter(counts).map(|v| v.value).sum::<f64>();
    let (of_running, all) = (sum(|v| v.running), sum(|_| true));
    let count = made.iter().filter(|v| v.running).count() as f64 / made.len().max(1) as f64;
    let running = if all > 0.0 { f64::max(count, of_running / all) } else { count };
    let known = known(&made);
    let mut values: Vec<f64> = made.into_iter().map(|v| v.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    Some(Spread {
        mean: mean(values.iter().copied())?,
        p50: quantile(&values, 0.5)?,
        p99: quantile(&values, 0.99)?,
        p999: quantile(&values, 0.999).filter(|_| values.len() >= MANY),
        max: values.last().copied(),
        running,
        known,
    })
}

/// Least number of values with a 99.9th percentile.
const MANY: usize = 1000;

/// See [`Spread::known`]: compares the quantiles with those when all running values are infinite.
fn known(made: &[Value]) -> f64 {
    if made.iter().all(|v| !v.running) {
        return 1.0;
    }
    let sorted = |value: fn(&Value) -> f64| {
        let mut values: Vec<f64> = made.iter().map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    // The largest finite number, because the difference of infinities is NaN.
    let (shown, never) = (sorted(|v| v.value), sorted(|v| if v.running { f64::MAX } else { v.value }));
    let stays = |p: &f64| matches!((quantile(&shown, *p), quantile(&never, *p)), (Some(a), Some(b)) if !is_bound(a, b));
    [0.5, 0.99, 0.999].into_iter().take_while(stays).last().unwrap_or(0.0)
}

fn network(info: &RunInfo, config: &Experiment, report: &Report) -> NetworkSummary {
    let drops = |p: &PortRow| p.dropped_overflow + p.dropped_shared + p.dropped_early;
    let port = bottleneck(config, report).and_then(|id| report.ports.iter().find(|p| p.port == id));
    NetworkSummary {
        port: port.map_or_else(String::new, |p| info.port(p.port).to_owned()),
        queue_limit: port.and_then(|p| bounds::queue_pkts(p, info)),
        queue_mean: port.map(|p| p.queue_mean_pkts),
        queue_p99: port.and_then(|p| p.queue_percentiles).map(|q| f64::from(q[2])),
        queue_max: port.map(|p| f64::from(p.queue_max_pkts)),
        utilization: port.map(|p| p.busy),
        active_utilization: port.and_then(|p| {
            let whole = seconds(report.end.0.saturating_sub(report.measured_from.0));
            let mut active = Active::default();
            report.flows.iter().for_each(|f| active.add(f, report));
            active.seconds(report).map(|s| (p.busy * whole / s).min(1.0))
        }),
        uncounted: false,
        drops: report.ports.iter().map(drops).sum(),
        marks: report.ports.iter().map(|p| p.marked).sum(),
        fairness: None,
    }
}

/// The port of the queue metrics: see [`NetworkSummary::port`].
fn bottleneck(config: &Experiment, report: &Report) -> Option<PortId> {
    let named = config.network.named_ports.iter().find(|(name, _)| name == "bottleneck").map(|(_, id)| *id);
    let only = || (config.observe.occupancy.len() == 1).then(|| config.observe.occupancy[0]);
    let p99 = |p: &PortRow| p.queue_percentiles.map(|q| q[2]);
    let worse = |a: &&PortRow, b: &&PortRow| {
        let harm = |p: &PortRow| (p99(p), p.dropped_overflow + p.dropped_shared + p.dropped_early);
        harm(a).cmp(&harm(b)).then(a.queue_mean_pkts.total_cmp(&b.queue_mean_pkts)).then(b.port.cmp(&a.port))
    };
    let worst = || report.ports.iter().filter(|p| p99(p).is_some()).max_by(worse).map(|p| p.port);
    let fullest = || report.ports.iter().max_by(|a, b| a.queue_mean_pkts.total_cmp(&b.queue_mean_pkts)).map(|p| p.port);
    named.or_else(only).or_else(worst).or_else(fullest)
}
