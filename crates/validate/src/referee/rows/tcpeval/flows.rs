//! Ramp-up, transients, impact on standard TCP, fairness and several bottlenecks: few flows, each of which is measured.

use super::{Limit, Measured, relative};
use crate::referee::bench::{Bench, Outcome};
use crate::referee::network::{Case, Ends, PathSpec, Traffic};
use crate::referee::row::{Decision, REFERENCES};
use crate::referee::samples::Samples;
use forebay_types::WorkloadId;

/// A path of the ramp-up.
pub(super) struct RampUp {
    name: &'static str,
    mbps: f64,
    /// Start of the new flow, and end of the run, s.
    times: (u32, u32),
    /// Bytes whose times are measured; the last one is judged.
    bytes: [u64; 3],
}

pub(super) const SLOW: RampUp = RampUp { name: "slow", mbps: 10.0, times: (10, 40), bytes: [15_000, 150_000, 1_500_000] };
pub(super) const FAST: RampUp = RampUp { name: "fast", mbps: 1000.0, times: (4, 10), bytes: [150_000, 1_500_000, 15_000_000] };
/// The RTT of the path is 30 ms then. The first flow, whose hosts have number 1, has 120 ms.
pub(super) const FIRST_FAR: &str = "l1: 45ms";
/// The same of the new flow.
pub(super) const NEW_FAR: &str = "l0: 45ms";

/// Time in which a new flow has delivered some bytes, beside a flow that has started before it and a background of 50 %, mean over three seeds. The new
/// flow begins with slow start, which the draft switches off.
pub(super) fn ramp_up(bench: &Bench<'_>, cc: &str, path: &'static RampUp, far: &'static str) -> Decision {
    let show = |seconds: f64| format!("{seconds:.2} s");
    relative(bench, cc, Limit::AtMost { factor: 2.0, plus: 0.5 }, show, |bench, cc| {
        let mut sums = [0.0; 3];
        for seed in 1..=3 {
            let run = bench.run(&ramp_up_case(cc, path, far, seed))?;
            for (sum, bytes) in sums.iter_mut().zip(path.bytes) {
                // A flow that never delivers them has the rest of the run.
                *sum += delivered(&run, bytes).unwrap_or(f64::from(path.times.1)) - f64::from(path.times.0);
            }
        }
        let means = sums.map(|s| s / 3.0);
        let text: Vec<String> = means.iter().map(|m| format!("{m:.2} s")).collect();
        Ok(Some(Measured { judged: means[2], text: text.join(", ") }))
    })
}

/// Time at which the first workload has delivered `bytes`, as the intervals of the run have it (1/200 of its duration).
fn delivered(run: &Outcome, bytes: u64) -> Option<f64> {
    let mut sum = 0;
    let reached = run.report.deliveries.iter().filter(|d| d.workload == WorkloadId::new(0)).find(|d| {
        sum += d.bytes;
        sum >= bytes
    });
    reached.map(|d| d.to.0 as f64 * 1e-12)
}

fn ramp_up_case(cc: &str, path: &RampUp, far: &'static str, seed: u32) -> Case {
    let rtt_ms = if far.is_empty() { 80.0 } else { 30.0 };
    let spec = PathSpec { mbps: path.mbps, rtt_ms, buffer: 80.0 / rtt_ms, queue: "\"drop-tail\"" };
    let new = Traffic::of(cc, 1, &format!("kind = \"long\"\nstart = \"{}s\"", path.times.0));
    let background = "kind = \"poisson\"\nsizes = { mixture = \"trim-http\" }\nload = 0.5\nload-at = \"bottleneck\"";
    let traffic = vec![new, Traffic::of(cc, 1, "kind = \"long\""), Traffic::of(REFERENCES[0], 3, background)];
    let place = far.split(':').next().unwrap_or_default();
    let row = format!("tcpeval-ramp-up-{}-{place}{seed}", path.name);
    let mut case = Case::new(&row, spec, f64::from(path.times.1), traffic);
    case.name = format!("{row}-{cc}");
    case.seed = seed;
    case.extra_delay = Some(far).filter(|f| !f.is_empty());
    case
}

/// 100 Mbit/s, 100 ms, 1024 packets.
const TRANSIENT: PathSpec = PathSpec { mbps: 100.0, rtt_ms: 100.0, buffer: 1024.0 / 833.3, queue: "\"drop-tail\"" };
/// Time of the change, and end of the run, s.
const TRANSIENT_TIMES: (f64, f64) = (30.0, 130.0);

/// Congestion window after three quarters of the link have become free.
pub(super) fn release(bench: &Bench<'_>, cc: &str) -> Decision {
    let show = |seconds: f64| format!("{seconds:.1} s");
    relative(bench, cc, Limit::AtMost { factor: 1.5, plus: 0.5 }, show, |bench, cc| {
        let udp = format!("kind = \"udp\"\nrate = \"75Mbps\"\nstop = \"{}s\"", TRANSIENT_TIMES.0);
        // Its connection is the first one, which is sampled.
        let flow = Traffic::of(cc, 1, "kind = \"long\"");
        let case = Case::new("tcpeval-release", TRANSIENT, TRANSIENT_TIMES.1, vec![flow, Traffic::datagrams(&udp)]);
        let run = bench.run(&case.sampled("100ms"))?;
        let samples = Samples::of(&run);
        let Some(from) = samples.before(TRANSIENT_TIMES.0) else { return Ok(None) };
        let after = &samples.rows()[from..];
        let bdp = TRANSIENT.bdp();
        let time = |share: f64| {
            let reached = after.iter().find(|r| r.cwnd >= share * bdp);
            reached.map_or(TRANSIENT_TIMES.1, |r| r.time_ps as f64 * 1e-12) - TRANSIENT_TIMES.0
        };
        // Samples are a round trip apart.
        let step = after.windows(2).map(|w| w[1].cwnd - w[0].cwnd).fold(0.0, f64::max);
        let [low, middle, high] = [0.6, 0.8, 0.9].map(time);
        let text = format!("{middle:.1} s (60 %: {low:.1} s, 90 %: {high:.1} s), largest step {step:.0} segments");
        Ok(Some(Measured { judged: middle, text }))
    })
}

/// Losses of unresponsive traffic that begins beside a flow.
pub(super) fn onset(bench: &Bench<'_>, cc: &str) -> Decision {
    lost_of(bench, cc, "tcpeval-onset", "rate = \"75Mbps\"")
}

pub(super) fn many_onsets(bench: &Bench<'_>, cc: &str) -> Decision {
    lost_of(bench, cc, "tcpeval-onsets", "rate = \"2.5Mbps\"\nper-pair = 30\njitter = \"1s\"")
}

fn lost_of(bench: &Bench<'_>, cc: &str, row: &str, keys: &str) -> Decision {
    let show = |packets: f64| format!("{packets:.0} packets");
    relative(bench, cc, Limit::AtMost { factor: 3.0, plus: 50.0 }, show, |bench, cc| {
        let (start, end) = TRANSIENT_TIMES;
        let udp = format!("kind = \"udp\"\n{keys}\nstart = \"{start}s\"\nstop = \"{}s\"", end - 0.5);
        let case = Case::new(row, TRANSIENT, end, vec![Traffic::long(cc, 1), Traffic::datagrams(&udp)]).whole();
        let run = bench.run(&case)?;
        let Some(lost) = run.summary.groups.iter().find_map(|g| g.datagrams_lost) else { return Ok(None) };
        let sent = (end - 0.5 - start) * 75e6 / 8.0 / 1500.0;
        let text = format!("{:.0} packets ({:.3} %)", lost * sent, 100.0 * lost);
        Ok(Some(Measured { judged: lost * sent, text }))
    })
}

/// Throughput of equal flows when half of them use another congestion control, by quartile of the size (draft section 4.3).
pub(super) fn impact(bench: &Bench<'_>, cc: &str, load: u32) -> Decision {
    let show = |ratio: f64| format!("{ratio:.2}");
    relative(bench, cc, Limit::AtLeast { factor: 0.9 }, show, |bench, cc| {
        let case = |first: &str| {
            let path = PathSpec { mbps: 100.0, rtt_ms: 80.0, buffer: 1.25, queue: "\"drop-tail\"" };
            let keys = format!(
                "kind = \"poisson\"\nsizes = {{ mixture = \"trim-http\" }}\nload = {}\nload-at = \"bottleneck\"",
                f64::from(load) / 200.0
            );
            let traffic = vec![Traffic::of(first, 3, &keys), Traffic::of(REFERENCES[0], 3, &keys)];
            Case::new(&format!("tcpeval-impact-{load}"), path, 30.0, traffic)
        };
        let (mixed, base) = (bench.run(&case(cc))?, bench.run(&case(REFERENCES[0]))?);
        let ratios = |workload| quartiles(&mixed, &base, WorkloadId::new(workload));
        let (Some(gain), Some(impact)) = (ratios(0), ratios(1)) else { return Ok(None) };
        let list = |r: [f64; 4]| r.map(|v| format!("{v:.2}")).join(" ");
        let judged = impact.into_iter().fold(f64::INFINITY, f64::min);
        Ok(Some(Measured { judged, text: format!("{}; own {}", list(impact), list(gain)) }))
    })
}

/// Mean throughput of the flows of a workload in `mixed` over that of the same flows in `base`, from the smallest quarter of the flows to the largest.
fn quartiles(mixed: &Outcome, base: &Outcome, workload: WorkloadId) -> Option<[f64; 4]> {
    let flows = |run: &Outcome| {
        let of = run.report.flows.iter().filter(|f| f.workload == workload);
        let mut flows: Vec<_> = of.map(|f| (f.start, f.src, f.size_bytes, f.end.get())).collect();
        flows.sort_unstable();
        flows
    };
    let mut pairs: Vec<(u64, f64, f64)> = Vec::new();
    for (m, b) in flows(mixed).into_iter().zip(flows(base)) {
        if (m.0, m.1, m.2) != (b.0, b.1, b.2) {
            return None;
        }
        if let (Some(end), Some(base)) = (m.3, b.3) {
            let rate = |end: forebay_types::Time| m.2 as f64 * 8.0 / ((end - m.0).0 as f64 * 1e-12);
            pairs.push((m.2, rate(end), rate(base)));
        }
    }
    if pairs.len() < 4 {
        return None;
    }
    pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let quarter = |i: usize| {
        let part = &pairs[i * pairs.len() / 4..(i + 1) * pairs.len() / 4];
        let sum = part.iter().fold((0.0, 0.0), |s, p| (s.0 + p.1, s.1 + p.2));
        sum.0 / sum.1
    };
    Some([0, 1, 2, 3].map(quarter))
}

/// Two flows of the congestion control, one of them with an RTT of 160 ms: goodput of the faster one over that of the slower one.
pub(super) fn fairness(bench: &Bench<'_>, cc: &str, percent: u32) -> Decision {
    let show = |ratio: f64| format!("{ratio:.1}");
    relative(bench, cc, Limit::AtMost { factor: 1.5, plus: 0.5 }, show, |bench, cc| {
        let mut ratios = Vec::new();
        let mut drops = 0.0_f64;
        // Half of the difference, which counts on both directions of the link of the host.
        for (rtt, near) in [(10.0, "l1: 75ms"), (20.0, "l1: 70ms"), (40.0, "l1: 60ms"), (80.0, "l1: 40ms"), (160.0, "")] {
            // The buffer is relative to an RTT of 100 ms.
            let path = PathSpec { mbps: 20.0, rtt_ms: rtt, buffer: f64::from(percent) / rtt, queue: "\"drop-tail\"" };
            let row = format!("tcpeval-fairness-{percent}-{rtt}");
            let mut case = Case::new(&row, path, 40.0, vec![Traffic::long(cc, 1), Traffic::long(cc, 1)]);
            case.extra_delay = Some(near).filter(|n| !n.is_empty());
            let run = bench.run(&case)?;
            let goodput: Vec<f64> = run.summary.groups.iter().filter_map(|g| g.goodput_bps).collect();
            let [a, b] = goodput[..] else { return Ok(None) };
            ratios.push(a.max(b) / a.min(b).max(1.0));
            let Some(port) = run.port("bottleneck") else { return Ok(None) };
            drops = drops.max(port.dropped_overflow as f64 / port.arrived_pkts.max(1) as f64);
        }
        let list: Vec<String> = ratios.iter().map(|r| format!("{r:.1}")).collect();
        let text = format!("{}, at most {:.2} % lost", list.join(" "), 100.0 * drops);
        Ok(Some(Measured { judged: ratios.into_iter().fold(0.0, f64::max), text }))
    })
}

/// Three links of 100 Mbit/s in a row, and an RTT of 60 ms for all flows. Flow a0 crosses all three, the others one each.
const PARKING_LOT: &str = "kind = \"custom\"\nhosts = [\"a0..a3\", \"b0..b3\"]\nswitches = [\"s0..s3\"]\nlinks = [\n\
    { from = \"s0\", to = \"s1\", rate = \"100Mbps\", delay = \"5ms\", buffer = \"500pkt\" },\n\
    { from = \"s1\", to = \"s2\", rate = \"100Mbps\", delay = \"5ms\", buffer = \"500pkt\" },\n\
    { from = \"s2\", to = \"s3\", rate = \"100Mbps\", delay = \"5ms\", buffer = \"500pkt\" },\n\
    { from = \"a0\", to = \"s0\", rate = \"10Gbps\", delay = \"7.5ms\" },\n\
    { from = \"b0\", to = \"s3\", rate = \"10Gbps\", delay = \"7.5ms\" },\n\
    { from = \"a1\", to = \"s0\", rate = \"10Gbps\", delay = \"12.5ms\" },\n\
    { from = \"b1\", to = \"s1\", rate = \"10Gbps\", delay = \"12.5ms\" },\n\
    { from = \"a2\", to = \"s1\", rate = \"10Gbps\", delay = \"12.5ms\" },\n\
    { from = \"b2\", to = \"s2\", rate = \"10Gbps\", delay = \"12.5ms\" },\n\
    { from = \"a3\", to = \"s2\", rate = \"10Gbps\", delay = \"12.5ms\" },\n\
    { from = \"b3\", to = \"s3\", rate = \"10Gbps\", delay = \"12.5ms\" },\n]";

pub(super) fn parking_lot(bench: &Bench<'_>, cc: &str) -> Decision {
    let show = |share: f64| format!("{:.1} %", 100.0 * share);
    relative(bench, cc, Limit::AtLeast { factor: 0.7 }, show, |bench, cc| {
        let path = PathSpec { mbps: 100.0, rtt_ms: 60.0, buffer: 1.0, queue: "\"drop-tail\"" };
        let traffic = vec![
            Traffic::long(cc, 1).between(Ends::Named("a0", "b0")),
            Traffic::long(cc, 3).between(Ends::Named("a1..a3", "b1..b3")),
        ];
        let mut case = Case::new("tcpeval-parking-lot", path, 60.0, traffic);
        case.network = Some(PARKING_LOT);
        let run = bench.run(&case)?;
        let goodput: Vec<f64> = run.summary.groups.iter().filter_map(|g| g.goodput_bps).collect();
        let [long, short] = goodput[..] else { return Ok(None) };
        let share = long / (long + short / 3.0);
        Ok(Some(Measured { judged: share, text: format!("{:.1} %", 100.0 * share) }))
    })
}
