//! Forecast of the cost of a scenario. The first moments of its runs are simulated and scaled to the whole length.

mod backlog;
mod clock;
mod outlook;
mod plan;
mod rates;
mod timeouts;

use self::backlog::{in_flight, served, waiting};
use self::clock::{CpuTime, Stopwatch, share};
pub use self::outlook::{Outlook, RealTime, outlook};
use self::plan::{Planned, active, all_begun, begins, connections, message_bytes, messages_each, planned, planned_bytes};
use self::rates::capacity;
use self::timeouts::{Timeouts, timeouts};
use crate::memory;
use forebay_experiment::Experiment;
use forebay_experiment::report::{EarlyEnd, Report, RunError};
use forebay_experiment::rows::{FlowRow, QueryRow, QueueRow, TcpRow, TimeoutRow};
use forebay_experiment::series::SeriesRow;
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::waits::Cause;
use forebay_scenario::{Resolved, Variant};
use forebay_types::{IndexVec, Time, WorkloadId};
use std::mem::size_of;
use std::ops::ControlFlow;
use std::time::Duration;

/// Maximum number of variants whose first moments are run; the others are assumed to equal their average.
const VARIANTS: usize = 8;
/// Packet transmissions of such a run: enough for windows to have opened.
const TRANSMISSIONS: u64 = 400_000;
/// Maximum processor time of a pilot run.
const PATIENCE: Duration = Duration::from_millis(400);
/// Wall-clock time allowed for each second of processor time, on a machine that is busy with other work.
const WALL_PER_BUSY: u32 = 4;
/// Processor time for the first moments of all variants together, if some traffic begins late.
const PATIENCE_LATE: Duration = Duration::from_millis(2_400);
/// Simulated time after late traffic has begun, relative to the time before it. Our choice.
const SEEN_OF_LATE: f64 = 0.25;
/// Fewer transmissions predict the rest poorly: such a slow run gets more time.
const FEW: u64 = 150_000;
const PATIENCE_FEW: Duration = Duration::from_millis(1_200);
/// Memory of writing tables: rows as columns, and the pages of the files. Measured; without full optimization, as in tests, it takes more.
const WRITING: u64 = if cfg!(debug_assertions) { 24 << 20 } else { 16 << 20 };
/// Fraction of the row lists that writing them takes as well, and its limit.
const WRITTEN: f64 = if cfg!(debug_assertions) { 1.0 } else { 0.5 };
/// Memory of the report beside its rows.
const DRAWING: u64 = if cfg!(debug_assertions) { 24 << 20 } else { 16 << 20 };
/// Memory of the report per message, as it reads the tables again. Measured.
const PAGE_MESSAGE: f64 = 230.0;
/// Memory of the report per sample of a queue, and of a sender; series with more rows than the limit are left out.
const PAGE_SAMPLE: [f64; 2] = [80.0, 130.0];
/// Memory of the report per timeout.
const PAGE_TIMEOUT: f64 = 75.0;
const PAGE_SAMPLES: f64 = forebay_store::LONGEST_SERIES as f64;
/// Links that a queued packet has passed: that of its host, and, because a packet counts when it is queued, the one that it waits for.
const LINKS: f64 = 2.0;
/// Memory per message that stalled, until the run is over: a row of 64 bytes, in a list that doubles, with the old list beside the new one.
const STALLED: f64 = 128.0;
/// Queues that are sampled as often fill a disk in hours of idle time.
const OFTEN: Time = Time::from_us(100);
/// Bytes on disk of a row of messages, of a sample of a queue, of one of a sender, and of a timeout. Measured; it depends on compression.
const DISK: [f64; 4] = [50.0, 6.0, 22.0, 14.0];
/// Processor seconds to write a row of messages, to write a sample, and to read a row of messages for the page. Measured; one thread does it.
const WRITE_MESSAGE: f64 = 1.1e-6;
const WRITE_SAMPLE: f64 = 0.15e-6;
const READ_MESSAGE: f64 = 0.3e-6;
/// Size of the page and the manifest.
const PAGE: f64 = 600e3;

/// Expected cost of runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forecast {
    /// Runs.
    pub runs: u64,
    /// Messages of all runs.
    pub messages: f64,
    /// Queue and sender samples of all runs.
    pub samples: f64,
    /// Timeouts and tail loss probes of all runs, if recorded.
    pub timeouts: f64,
    /// True if the number of timeouts is a lower bound, because the pilot run was too short.
    pub timeouts_at_least: bool,
    /// Packet transmissions of all runs.
    pub transmissions: f64,
    /// Peak memory, bytes.
    pub memory: u64,
    /// Results on disk, bytes.
    pub disk: f64,
    /// Largest size of the files with samples that are not yet in tables, bytes.
    pub spilled: f64,
    /// Processor time of all threads, seconds.
    pub busy: f64,
    /// Wall time, seconds, under the current load of the machine.
    pub seconds: f64,
    /// Wall time of tables and page, which a sweep does not write.
    pub writing: f64,
    /// Processor time of tables and page.
    pub writing_busy: f64,
    /// Fraction of a processor that each thread gets.
    pub share: f64,
    /// Largest consumer of memory: a key of the scenario or an option, and its bytes.
    pub costliest: (String, u64),
    /// True if the whole scenario was run for the forecast.
    pub exact: bool,
}

/// Pilot run of one variant.
struct Pilot {
    /// Ratio of the whole run to the pilot run.
    messages: f64,
    /// Messages that waited for a timer, a delayed ACK, or an earlier message.
    stalled: f64,
    queries: f64,
    queue: f64,
    tcp: f64,
    timeouts: Timeouts,
    transmissions: f64,
    /// Packet transmissions per processor second, and seconds before the first.
    speed: f64,
    start: f64,
    spent: CpuTime,
    /// Memory beside rows now, and of connections that accumulate until the end.
    state: u64,
    waiting: u64,
    /// The workload with the most messages.
    busiest: Option<WorkloadId>,
    /// Time at which the traffic of each workload ends, s.
    ends: IndexVec<WorkloadId, f64>,
    whole: bool,
}

/// Expected cost of the runs of `resolved` on `threads` threads. Takes at most a few seconds.
///
/// # Errors
/// Errors of a run, such as an unreachable host.
pub(crate) fn forecast(resolved: &Resolved, threads: usize) -> Result<Forecast, RunError> {
    let among = resolved.variants.len().min(VARIANTS);
    // The program and its libraries, which a run takes as well.
    let program = memory::resident();
    let pilots = resolved.variants.iter().take(VARIANTS).map(|v| pilot(resolved, v, among, program));
    let seen = pilots.collect::<Result<Vec<_>, _>>()?;
    let runs = resolved.variants.len() as u64 * u64::from(resolved.repetitions());
    let each = runs as f64 / seen.len().max(1) as f64;
    let sum = |f: &dyn Fn(&Pilot) -> f64| seen.iter().map(f).sum::<f64>() * each;
    let (messages, queue, tcp) = (sum(&|p| p.messages), sum(&|p| p.queue), sum(&|p| p.tcp));
    let (transmissions, timeouts) = (sum(&|p| p.transmissions), sum(&|p| p.timeouts.count));
    let busy = sum(&|p| p.start + p.transmissions / p.speed.max(1.0));
    let together = threads.clamp(1, runs.max(1) as usize) as u64;
    let rows = |p: &Pilot| {
        // Packed until the run is over; then a list of all rows, beside memory that the allocator keeps, sorted by keys. Measured.
        let messages = p.messages * (size_of::<FlowRow>() as f64 * 1.35 + 24.0);
        let queries = p.queries * size_of::<QueryRow>() as f64 * 2.0;
        (messages + p.stalled * STALLED + queries) as u64
    };
    let state = seen.iter().map(|p| p.state + p.waiting).max().unwrap_or(0) * together;
    let list = seen.iter().map(rows).max().unwrap_or(0) * together;
    let drawn = |rows: f64, each: f64| if rows > PAGE_SAMPLES { 0.0 } else { rows * each };
    let series = (drawn(queue, PAGE_SAMPLE[0]) + drawn(tcp, PAGE_SAMPLE[1])) as u64;
    let stops = drawn(timeouts, PAGE_TIMEOUT) as u64;
    let page = (messages * PAGE_MESSAGE) as u64 + series + stops;
    // The page is written after the runs. The small blocks of many connections are not yet returned by then.
    let kept = seen.iter().map(|p| p.waiting).max().unwrap_or(0) * together;
    let memory = program + (state + list + WRITING.min((list as f64 * WRITTEN) as u64 + (4 << 20))).max(kept + page + DRAWING);
    let outside = resolved.variants.iter().map(|v| resolved.world.outside_memory(&v.config)).max().unwrap_or(0);
    let memory = memory + outside * together;
    let busiest = seen.first().and_then(|p| p.busiest).unwrap_or(WorkloadId::new(0));
    let costs = [
        (format!("workload.{busiest}"), list),
        ("topology".to_owned(), state),
        ("observe".to_owned(), series),
        ("observe.timeouts".to_owned(), stops),
        ("runs".to_owned(), page),
    ];
    let writing_busy = messages * (WRITE_MESSAGE + READ_MESSAGE) + (queue + tcp + timeouts) * WRITE_SAMPLE;
    let row = |words: usize| words as f64 * 8.0;
    let spilled = queue * row(QueueRow::WORDS) + tcp * row(TcpRow::WORDS) + timeouts * row(TimeoutRow::WORDS);
    let spent = seen.iter().fold(CpuTime::default(), |sum, p| sum.and(p.spent));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let share_of = |threads: u64| share(spent, cpus, threads as usize);
    let writing = writing_busy / share_of(1);
    let costliest = costs.into_iter().max_by_key(|c| c.1).unwrap_or_default();
    Ok(Forecast {
        runs,
        messages,
        samples: queue + tcp,
        timeouts,
        timeouts_at_least: seen.iter().any(|p| p.timeouts.at_least),
        transmissions,
        memory,
        disk: messages * DISK[0] + queue * DISK[1] + tcp * DISK[2] + timeouts * DISK[3] + PAGE,
        spilled: spilled / runs.max(1) as f64 * together as f64,
        busy: busy + 0.05 + writing_busy,
        seconds: busy / together as f64 / share_of(together) + 0.05 + writing,
        writing,
        writing_busy,
        share: share_of(together),
        costliest,
        exact: seen.iter().all(|p| p.whole) && seen.len() == resolved.variants.len(),
    })
}

/// Runs the first moments of a variant. `program`: memory before the first one.
fn pilot(resolved: &Resolved, variant: &Variant, among: usize, program: u64) -> Result<Pilot, RunError> {
    let config = &variant.config;
    let (wanted, late) = (wanted(config), PATIENCE.max(PATIENCE_LATE / among.max(1) as u32));
    let clock = Stopwatch::start();
    let mut first = None;
    let report = resolved.world.run(unsampled(config).check()?, resolved.seed, &mut |p| {
        let spent = clock.spent();
        first.get_or_insert((spent, p.packet_hops));
        let mut busy = PATIENCE;
        if p.packet_hops < FEW {
            busy = busy.max(PATIENCE_FEW);
        }
        if p.now < wanted {
            busy = busy.max(late);
        }
        if (p.packet_hops < TRANSMISSIONS || p.now < wanted) && spent.busy < busy && spent.wall < busy * WALL_PER_BUSY {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(EarlyEnd::WithReport)
    })?;
    let spent = clock.spent_with_children();
    // The allocator keeps the memory of the variants before for this one.
    let state = memory::peak().saturating_sub(program).max(1 << 20);
    let plans = config.workloads.ids().map(|id| planned(resolved, config, id)).collect();
    let mut pilot = scaled(config, &report, &plans, state);
    pilot.timeouts = timeouts(resolved, config, &report, &pilot.ends, among)?;
    (pilot.speed, pilot.start) = speed(report.packet_hops, spent, first);
    Ok(Pilot { spent, ..pilot })
}

/// `config` without samples of queues, which are computed from the simulated time: those of idle hours fill a disk before the first progress report.
fn unsampled(config: &Experiment) -> Experiment {
    let mut config = config.clone();
    config.observe.queue_series.clear();
    config
}

/// Minimum simulated time of the pilot run. It includes some time of all traffic that starts late.
fn wanted(config: &Experiment) -> Time {
    let duration = config.duration.map(|d| d.as_secs_f64());
    let begun = config.workloads.iter().map(|w| all_begun(&w.kind, duration));
    let last = begun.filter(|t| config.duration.is_none_or(|d| *t < d)).max();
    let seen = Time((last.unwrap_or(Time::ZERO).0 as f64 * (1.0 + SEEN_OF_LATE)) as u64);
    seen.min(config.duration.unwrap_or(Time::NEVER))
}

/// Packet transmissions per second of processor time, and processor time before the first one, s, of a run of `hops` transmissions. `first` has
/// the time and the transmissions at the first progress report.
fn speed(hops: u64, spent: CpuTime, first: Option<(CpuTime, u64)>) -> (f64, f64) {
    let all = spent.busy.as_secs_f64().max(1e-6);
    let (then, seen) = first.map_or((0.0, 0), |(s, hops)| (s.part_of(spent) * all, hops));
    if seen * 2 >= hops || then >= all {
        return (hops as f64 / all, 0.0);
    }
    let speed = (hops - seen) as f64 / (all - then).max(1e-6);
    (speed, (then - seen as f64 / speed).max(0.0))
}

/// Extrapolates a part of a run to the whole.
fn scaled(config: &Experiment, report: &Report, plans: &IndexVec<WorkloadId, Planned>, state: u64) -> Pilot {
    let whole = !report.cut;
    let now = report.end.as_secs_f64().max(1e-9);
    let duration = config.duration.map(|d| d.as_secs_f64());
    let mut acked: IndexVec<WorkloadId, f64> = IndexVec::repeat(0.0, config.workloads.len());
    let mut messages = acked.clone();
    for f in &report.flows {
        acked[f.workload] += f.bytes_acked as f64;
        messages[f.workload] += 1.0;
    }
    let factors = if whole { IndexVec::repeat(1.0, acked.len()) } else { factors(config, report, plans, &acked, now) };
    // Bytes of the whole run.
    let bytes = |id: WorkloadId| match acked[id] {
        seen if seen > 0.0 || whole => seen * factors[id],
        _ => unseen(config, &config.workloads[id].kind, &plans[id]),
    };
    let total_acked: f64 = acked.iter().sum();
    // Transmissions scale with bytes, or with time where no bytes have arrived yet.
    let growth = if whole {
        1.0
    } else if total_acked > 0.0 {
        config.workloads.ids().map(bytes).sum::<f64>() / total_acked
    } else {
        factors.iter().copied().fold(1.0, f64::max)
    };
    let length = if whole { 1.0 } else { duration.map_or(growth, |d| (d / now).max(1.0)) };
    let of = |id: WorkloadId| {
        let kind = &config.workloads[id].kind;
        let planned = plans[id].messages.unwrap_or(f64::INFINITY);
        match kind {
            _ if whole => messages[id],
            WorkloadKind::Poisson { .. } | WorkloadKind::Long { .. } | WorkloadKind::Replay { .. } | WorkloadKind::Udp { .. } => {
                planned.min(1e12)
            }
            // Each round has a message of every sender.
            WorkloadKind::Incast { senders, block, rounds, .. } => {
                let each = (senders.len() as f64 * (*block + kind.request_bytes().unwrap_or(0)) as f64).max(1.0);
                let begun = (bytes(id) / each).floor() + 1.0;
                begun.min(rounds.map_or(f64::INFINITY, f64::from)) * senders.len() as f64 * messages_each(kind)
            }
            _ if acked[id] > 0.0 => (messages[id] * factors[id]).min(planned),
            kind => (bytes(id) / message_bytes(kind).unwrap_or(f64::INFINITY).max(1.0)).min(planned),
        }
    };
    let hops = report.packet_hops as f64;
    let under_way = if whole { 0.0 } else { (in_flight(config, report) * LINKS).min(hops / 2.0) };
    let counted: IndexVec<WorkloadId, f64> = config.workloads.ids().map(of).collect();
    let waiting = if whole { 0.0 } else { waiting(config, report, plans, &factors) };
    let busiest = counted.ids().max_by(|a, b| counted[*a].total_cmp(&counted[*b]));
    let all: f64 = counted.iter().sum();
    let stalls = [Cause::Timeout, Cause::Probe, Cause::Syn, Cause::DelayedAck, Cause::HeadOfLine];
    let stalled = report.flows.iter().filter(|f| f.waited.is_some_and(|w| stalls.contains(&w.cause))).count();
    let end = duration.unwrap_or(now * length);
    // Scales with its bytes.
    let over = |id: WorkloadId| match begins(&config.workloads[id].kind).as_secs_f64() {
        begin if begin < now && acked[id] > 0.0 => (begin + (now - begin) * factors[id]).min(end),
        _ => end,
    };
    Pilot {
        messages: all,
        stalled: all * stalled as f64 / report.flows.len().max(1) as f64,
        queries: report.queries.len() as f64 * growth,
        queue: config.observe.queue_series.iter().map(|(_, every)| samples(end, every.as_secs_f64())).sum(),
        tcp: report.tcp.len() as f64 * length,
        timeouts: Timeouts::default(),
        // Data in flight has passed some of its links and has not been counted as arrived.
        transmissions: (hops - under_way) * growth + under_way,
        speed: 1.0,
        start: 0.0,
        spent: CpuTime::default(),
        state,
        waiting: waiting as u64,
        busiest,
        ends: config.workloads.ids().map(over).collect(),
        whole,
    }
}

/// For each workload, the ratio of the bytes of its whole run to those that had arrived by `now`.
fn factors(
    config: &Experiment,
    report: &Report,
    plans: &IndexVec<WorkloadId, Planned>,
    acked: &IndexVec<WorkloadId, f64>,
    now: f64,
) -> IndexVec<WorkloadId, f64> {
    let duration = config.duration.map(|d| d.as_secs_f64());
    let served = served(config, report);
    let of = |id: WorkloadId| -> Option<f64> {
        let kind = &config.workloads[id].kind;
        let planned = plans[id].in_time.map(|bytes| (bytes / acked[id].max(1.0)).max(1.0));
        let (begin, end) = active(kind, duration);
        let time = end.map(|end| if now > begin { ((end - begin) / (now - begin)).max(1.0) } else { 1.0 });
        match (planned, time) {
            // Once the links are overloaded, their throughput is constant, and bytes grow with time only.
            (Some(work), Some(_)) if matches!(kind, WorkloadKind::Poisson { .. }) => {
                let all = duration.map_or(f64::INFINITY, |d| (d - begin).max(0.0) / (now - begin).max(1e-9));
                Some(work.min(all.max(1.0) / served[id]))
            }
            (work, time) => work.into_iter().chain(time).reduce(f64::min),
        }
    };
    let known: IndexVec<WorkloadId, Option<f64>> = config.workloads.ids().map(of).collect();
    // Background traffic, which lasts until the other workloads end.
    let others = known.iter().flatten().copied().fold(1.0, f64::max);
    known.iter().map(|factor| factor.unwrap_or(others)).collect()
}

/// Bytes of a workload of which none have arrived yet: its planned bytes, up to the capacity of the links in its time.
fn unseen(config: &Experiment, kind: &WorkloadKind, plan: &Planned) -> f64 {
    let duration = config.duration.map(|d| d.as_secs_f64());
    let (begin, end) = active(kind, duration);
    // Bytes in flight at the end arrive later.
    let until = duration.or(end);
    let carried = until.map(|end| capacity(&config.network, kind) * (end - begin).max(0.0));
    plan.in_time.into_iter().chain(carried).reduce(f64::min).unwrap_or(0.0)
}

/// Samples of a series.
fn samples(length: f64, every: f64) -> f64 {
    if every > 0.0 { length / every } else { 0.0 }
}

/// True if a scenario is too small for a forecast: its links could not carry enough to fill any memory.
pub fn needs_no_forecast(resolved: &Resolved) -> bool {
    resolved.variants.iter().all(|v| {
        let network = &v.config.network;
        let rate: f64 = network.ports.iter().filter(|p| network.nodes[p.from].host).map(|p| p.rate.0 as f64).sum();
        let bytes = v.config.duration.map_or(f64::INFINITY, |d| rate / 8.0 * d.as_secs_f64());
        let planned: Option<f64> = v.config.workloads.iter().map(|w| planned_bytes(&w.kind, None)).sum();
        let connections: usize = v.config.workloads.iter().map(|w| connections(&w.kind)).sum();
        let runs = f64::from(resolved.repetitions()) * resolved.variants.len() as f64;
        // Without a duration the number of samples is not known: idle time has samples too.
        let sampled = v.config.duration.is_none() && v.config.observe.queue_series.iter().any(|(_, every)| *every < OFTEN);
        let bytes = bytes.min(planned.unwrap_or(f64::INFINITY)) * runs;
        !sampled && bytes < 20e9 && connections < 20_000 && network.ports.len() < 20_000
    })
}
