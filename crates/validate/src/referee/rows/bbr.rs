//! Test cases of draft-ietf-ccwg-bbr, for congestion controls with the states of BBR. The numbers are those of the cases.
//!
//! A change at the entry of a state needs two runs: the first one shows the time of the entry, and up to it the second one is equal.

use crate::referee::bench::{Bench, RefereeError};
use crate::referee::network::{Case, LATE, PathSpec, Traffic};
use crate::referee::row::{Absent, Decided, Decision, Measure, Row};
use crate::referee::samples::{Samples, Stay};
use forebay_experiment::rows::TimeoutKind;

const GROUP: &str = "BBR (draft-ietf-ccwg-bbr, test cases)";
const SOURCE: &str = "ccwg-bbr";

const NO_BBR: Absent = Absent::NotApplicable("has no states of BBR");
const NO_PHASE: Absent = Absent::NotApplicable("has no such state");
const NO_REFILL: Absent = Absent::NotApplicable("has no ProbeBW_REFILL");
const NO_BOUND: Absent = Absent::NotApplicable("has no inflight_longterm");
const NO_LIMITED_UP: Absent = Absent::NotApplicable("losses do not end its Startup (case 2)");

/// 20 Mbit/s, 40 ms, 12 BDP of buffer: no packet is lost.
const PATH: PathSpec = PathSpec { mbps: 20.0, rtt_ms: 40.0, buffer: 12.0, queue: "\"drop-tail\"" };
/// The same with 20 ms, so that ProbeBW_UP follows after 34 rounds.
const SHORT: PathSpec = PathSpec { rtt_ms: 20.0, ..PATH };
/// Payload of a full segment and its bytes on the wire of the bottleneck.
const PAYLOAD: f64 = 1448.0;
const WIRE: f64 = 1538.0;

/// Trains of 20 KB every 20 ms: 8 Mbit/s.
const APP_LIMITED: &str = "kind = \"on-off\"\nsizes = \"20KB\"\ngaps = \"20ms\"\ngap-from = \"start\"";

macro_rules! row {
    ($name:literal, $case:expr) => {
        Row { group: GROUP, name: $name, source: SOURCE, measure: Measure::Case(|bench, cc| if_bbr(bench, cc, $case)) }
    };
}

pub(crate) const ROWS: &[Row] = &[
    row!("1 Startup: max_bw / payload rate of the link", full_pipe_bw),
    row!("1 Startup: rounds without growth before Drain", full_pipe_rounds),
    row!("2 Startup, limited application, 10 % loss: end of Startup", loss_ends_startup),
    row!("3 Drain: pacing rate / bw", drain_gain),
    row!("3 Drain: data in flight at its end / BDP", drain_end),
    row!("4 Drain, rate - 10 % on entry: rounds", drain_rounds),
    row!("5 ProbeBW_UP without loss: rounds without growth", up_rounds),
    row!("6 ProbeBW_UP, limited application, 10 % loss: next state", loss_ends_up),
    row!("7 Startup, limited application, 60 s: other states", stays_in_startup),
    row!("8 ProbeBW_DOWN: pacing rate / bw", down_gain),
    row!("9 ProbeBW_DOWN, rate - 10 % on entry: next state", down_to_refill),
    row!("10 ProbeRTT: duration", probe_rtt_duration),
    row!("10 ProbeRTT: smallest window / BDP", probe_rtt_window),
    row!("11 pauses of 6 s: ProbeRTT within 300 ms after one", idle_restart),
    row!("12 Startup, ACKs in batches of 20 ms", batches_in_startup),
    row!("13 ProbeBW, ACKs in batches of 20 ms: goodput / link", batches_in_cruise),
    row!("14 BDP below one packet: smallest window", small_bdp),
    row!("15 10 to 100 Mbit/s: rounds in ProbeBW_UP to 90 %", rate_up),
    row!("16 100 to 10 Mbit/s: max_bw / link after 2 cycles", rate_down),
    row!("17 policer of 10 Mbit/s: goodput / token rate", policer),
    row!("18 reordering, needless recoveries: bounds afterwards", reordering),
    row!("19 delay of 500 ms, needless timeout: bounds afterwards", needless_timeout),
    row!("20 ProbeRTT before the pipe is full: next state", probe_rtt_in_startup),
    row!("21 ProbeBW_UP, 10 % loss: inflight_longterm / before", loss_bounds),
    row!("22 ProbeBW_REFILL, the application pauses: max_bw / before", pause_in_refill),
];

/// Decides `case` if the congestion control shows states of BBR.
fn if_bbr(bench: &Bench<'_>, cc: &str, case: fn(&Bench<'_>, &str) -> Decision) -> Decision {
    match see(bench, &steady(cc))? {
        Some(_) => case(bench, cc),
        None => Ok(Err(NO_BBR)),
    }
}

fn bulk(row: &str, path: PathSpec, seconds: f64, cc: &str) -> Case {
    let traffic = Traffic { keys: "kind = \"long\"".into(), ..Traffic::long(cc, 1) };
    Case::new(row, path, seconds, vec![traffic]).sampled("ack").whole()
}

/// The scenario of most cases.
fn steady(cc: &str) -> Case {
    bulk("bbr-steady", PATH, 15.0, cc)
}

fn limited(row: &str, seconds: f64, cc: &str) -> Case {
    Case::new(row, PATH, seconds, vec![Traffic::of(cc, 1, APP_LIMITED)]).sampled("ack").whole()
}

/// Samples and states of a run.
struct Seen {
    samples: Samples,
    stays: Vec<Stay>,
    /// Times of retransmission timeouts, s.
    timeouts: Vec<f64>,
}

impl Seen {
    /// Number of the first stay in `state`, from number `from` on.
    fn find(&self, state: &str, from: usize) -> Option<usize> {
        (from..self.stays.len()).find(|i| self.stays[*i].state == state)
    }

    /// State after stay `i`.
    fn next(&self, i: usize) -> Option<Stay> {
        self.stays.get(i + 1).copied()
    }

    /// Time at which stay `i` begins, ns.
    fn entry_ns(&self, i: usize) -> u64 {
        self.samples.rows()[self.stays[i].first].time_ps / 1_000
    }

    /// Returns true if a refilling phase precedes the probes for bandwidth, as in version 3.
    fn has_refill(&self) -> bool {
        self.find("ProbeBW_REFILL", 0).is_some()
    }

    /// Entry of the first `ProbeBW_UP` and its number.
    fn up(&self) -> Option<usize> {
        self.find("ProbeBW_UP", 0)
    }

    /// Estimated bandwidth-delay product in a sample, bytes.
    fn bdp(&self, place: usize) -> Option<f64> {
        Some(self.samples.int(place, "bw_bps")? / 8.0 * self.samples.int(place, "min_rtt_ns")? * 1e-9)
    }

    /// BBR.max_bw in a sample. Linux reports one bandwidth, which is the largest one except after a policer was detected (bbr_bw).
    fn max_bw(&self, place: usize) -> Option<f64> {
        self.samples.int(place, "max_bw_bps").or_else(|| self.samples.int(place, "bw_bps"))
    }

    /// Rounds between two samples. Linux does not report their number.
    fn rounds(&self, from: usize, to: usize) -> Option<f64> {
        match (self.samples.int(from, "round_count"), self.samples.int(to, "round_count")) {
            (Some(from), Some(to)) => Some(to - from),
            _ => Some(self.samples.round_starts(from, to).len() as f64),
        }
    }

    /// Rounds up to a sample without growth of the bandwidth by a quarter (BBR.full_bw_count). Linux does not report the count.
    fn full_bw_count(&self, place: usize) -> Option<f64> {
        self.samples.int(place, "full_bw_count").or_else(|| {
            let (mut full_bw, mut count) = (0.0, 0.0);
            for start in self.samples.round_starts(0, place) {
                let bw = self.max_bw(start)?;
                (full_bw, count) = if bw >= 1.25 * full_bw { (bw, 0.0) } else { (full_bw, count + 1.0) };
            }
            Some(count)
        })
    }

    /// Pacing rate over bandwidth in the middle of the first stay in `state`.
    fn gain(&self, state: &str) -> Option<f64> {
        let stay = self.stays[self.find(state, 0)?];
        let middle = usize::midpoint(stay.first, stay.end);
        Some(self.samples.int(middle, "pacing_rate_bps")? / self.samples.int(middle, "bw_bps")?)
    }
}

/// The phases of the `ProbeBW` of BBR version 1, with the names of those of version 3. A pacing gain of 1.25 probes for bandwidth. One of 0.75 drains the
/// queue of that probe, and 1 cruises (`bbr_pacing_gain`, here 1 % less).
fn phases(samples: &Samples, stays: Vec<Stay>) -> Vec<Stay> {
    let phase = |place: usize| {
        let gain = samples.int(place, "pacing_rate_bps")? / samples.int(place, "bw_bps")?;
        Some(match gain {
            g if g > 1.1 => "ProbeBW_UP",
            g if g < 0.9 => "ProbeBW_DOWN",
            _ => "ProbeBW_CRUISE",
        })
    };
    let mut all: Vec<Stay> = Vec::new();
    for stay in stays {
        if stay.state != "ProbeBW" {
            all.push(stay);
            continue;
        }
        let begin = all.len();
        for place in stay.first..stay.end {
            let Some(state) = phase(place) else { continue };
            match all[begin..].last_mut() {
                Some(last) if last.state == state => last.end = place + 1,
                _ => all.push(Stay { state, first: place, end: place + 1 }),
            }
        }
    }
    all
}

fn see(bench: &Bench<'_>, case: &Case) -> Result<Option<Seen>, RefereeError> {
    let run = bench.run(case)?;
    let samples = Samples::of(&run);
    let stays = phases(&samples, samples.stays());
    let expired = run.report.timeouts.iter().filter(|t| t.kind.is_timeout() && t.kind != TimeoutKind::Syn);
    let timeouts = expired.map(|t| t.time_ps as f64 * 1e-12).collect();
    Ok((!stays.is_empty()).then_some(Seen { samples, stays, timeouts }))
}

fn within(value: f64, low: f64, high: f64) -> Decided {
    let band = match (low, high) {
        (low, high) if low == high => format!("{low}"),
        (0.0, high) => format!("at most {high}"),
        (low, f64::INFINITY) => format!("at least {low}"),
        (low, high) => format!("{low} to {high}"),
    };
    let value_text = if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.3}") };
    Decided { value: value_text, band, holds: Some(value >= low && value <= high) }
}

fn state(found: &'static str, expected: &'static str) -> Decided {
    Decided { value: found.into(), band: expected.into(), holds: Some(found == expected) }
}

/// Decides a case from one run of a scenario.
fn decide(bench: &Bench<'_>, case: &Case, of: impl Fn(&Seen) -> Option<Decided>, absent: Absent) -> Decision {
    let Some(seen) = see(bench, case)? else { return Ok(Err(NO_BBR)) };
    Ok(of(&seen).ok_or(absent))
}

/// Runs a scenario again with a change at the entry of a state that the first run shows; `absent`: the reason if it shows none.
fn decide_at(
    bench: &Bench<'_>,
    case: &Case,
    entry: impl Fn(&Seen) -> Option<usize>,
    change: impl Fn(Case, u64) -> Case,
    of: impl Fn(&Seen, usize) -> Option<Decided>,
    absent: Absent,
) -> Decision {
    let Some(first) = see(bench, case)? else { return Ok(Err(NO_BBR)) };
    let Some(stay) = entry(&first) else { return Ok(Err(absent)) };
    let changed = change(case.clone(), first.entry_ns(stay));
    let Some(second) = see(bench, &changed)? else { return Ok(Err(NO_BBR)) };
    Ok(of(&second, stay).ok_or(Absent::Unknown("the state did not end")))
}

const NO_DRAIN: Absent = Absent::Unknown("Drain was not reached");

fn full_pipe_bw(bench: &Bench<'_>, cc: &str) -> Decision {
    let link = PATH.mbps * 1e6 * PAYLOAD / WIRE;
    let of = |seen: &Seen| {
        let drain = seen.stays[seen.find("Drain", 0)?];
        Some(within(seen.max_bw(drain.first)? / link, 0.98, 1.02))
    };
    decide(bench, &steady(cc), of, NO_DRAIN)
}

fn full_pipe_rounds(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen| {
        let drain = seen.stays[seen.find("Drain", 0)?];
        Some(within(seen.full_bw_count(drain.first)?, 3.0, 3.0))
    };
    decide(bench, &steady(cc), of, NO_DRAIN)
}

/// The application-limited scenario with losses from 1 s on.
fn lossy_startup(cc: &str) -> Case {
    limited("bbr-startup-loss", 20.0, cc).change(1.0, "loss = \"10%\"").change(2.0, "loss = \"0%\"")
}

fn loss_ends_startup(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen| {
        let next = seen.next(seen.find("Startup", 0)?)?;
        let at = seen.samples.seconds(next.first);
        // A limited application has less than a BDP in flight, so that Drain ends with the ACK that begins it.
        // Linux does not report full_bw_reached, without which Startup ends in ProbeRTT only.
        let full = seen.samples.int(next.first, "full_bw_reached").map_or(next.state != "ProbeRTT", |full| full == 1.0);
        let holds = (1.0..3.0).contains(&at) && full;
        Some(Decided {
            value: format!("{at:.2} s, {}", next.state),
            band: "by the losses at 1 to 2 s".into(),
            holds: Some(holds),
        })
    };
    decide(bench, &lossy_startup(cc), of, Absent::Unknown("Startup did not end"))
}

fn drain_gain(bench: &Bench<'_>, cc: &str) -> Decision {
    // 1 % less than the gain of 0.5 (BBR.PacingMarginPercent).
    decide(bench, &steady(cc), |seen| Some(within(seen.gain("Drain")?, 0.48, 0.51)), NO_DRAIN)
}

fn drain_end(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen| {
        let next = seen.next(seen.find("Drain", 0)?)?;
        let in_flight = seen.samples.rows()[next.first].unacked_bytes as f64;
        // Two segments may leave between the decision and the sample.
        Some(within((in_flight - 2.0 * PAYLOAD) / seen.bdp(next.first)?, 0.0, 1.0))
    };
    decide(bench, &steady(cc), of, NO_DRAIN)
}

fn slower(case: Case, at: u64) -> Case {
    case.change_at(at, "rate = \"18Mbps\"")
}

fn named(case: Case, row: &str) -> Case {
    let cc = case.name.rsplit('-').next().unwrap_or_default().to_owned();
    Case { name: format!("{row}-{cc}"), ..case }
}

fn drain_rounds(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen, drain: usize| {
        let (first, next) = (seen.stays[drain].first, seen.next(drain)?.first);
        // The round in which the third one ends.
        Some(within(seen.rounds(first, next)?, 0.0, 4.0))
    };
    decide_at(bench, &steady(cc), |seen| seen.find("Drain", 0), |c, at| named(slower(c, at), "bbr-drain-slower"), of, NO_DRAIN)
}

fn up_rounds(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen| {
        let up = seen.up()?;
        let (first, next) = (seen.stays[up].first, seen.next(up)?.first);
        // Version 1 counts in Startup only. Its phase lasts one minimum RTT (bbr_is_next_cycle_phase).
        let count = if seen.has_refill() { seen.full_bw_count(next)? } else { seen.rounds(first, next)? };
        Some(within(count, 3.0, 3.0))
    };
    decide(bench, &steady(cc), of, NO_PHASE)
}

fn loss_ends_up(bench: &Bench<'_>, cc: &str) -> Decision {
    let change = |case: Case, at| {
        named(case.change_at(at, "loss = \"10%\"").change_at(at + 2_000_000_000, "loss = \"0%\""), "bbr-up-loss-limited")
    };
    decide_at(
        bench,
        &lossy_startup(cc),
        Seen::up,
        change,
        |seen, up| Some(state(seen.next(up)?.state, "ProbeBW_DOWN")),
        NO_LIMITED_UP,
    )
}

fn stays_in_startup(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen| {
        let others = seen.stays.iter().filter(|s| s.state != "Startup" && s.state != "ProbeRTT").count();
        Some(within(others as f64, 0.0, 0.0))
    };
    decide(bench, &limited("bbr-limited", 60.0, cc), of, NO_BBR)
}

fn down_gain(bench: &Bench<'_>, cc: &str) -> Decision {
    decide(bench, &steady(cc), |seen| Some(within(seen.gain("ProbeBW_DOWN")?, 0.88, 0.91)), NO_PHASE)
}

fn down_to_refill(bench: &Bench<'_>, cc: &str) -> Decision {
    // The time to the next probe is below that to ProbeRTT.
    let case = bulk("bbr-short", SHORT, 15.0, cc);
    let second_down = |seen: &Seen| seen.find("ProbeBW_DOWN", seen.up()?).filter(|_| seen.has_refill());
    let of = |seen: &Seen, down: usize| Some(state(seen.next(down)?.state, "ProbeBW_REFILL"));
    decide_at(bench, &case, second_down, |c, at| named(slower(c, at), "bbr-down-slower"), of, NO_REFILL)
}

fn probe_rtt_duration(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen| {
        let probe = seen.find("ProbeRTT", 0)?;
        let (first, next) = (seen.stays[probe].first, seen.next(probe)?.first);
        let took = seen.samples.seconds(next) - seen.samples.seconds(first);
        Some(Decided { value: format!("{:.0} ms", took * 1e3), band: "at least 200 ms".into(), holds: Some(took >= 0.2) })
    };
    decide(bench, &steady(cc), of, Absent::Unknown("ProbeRTT was not reached"))
}

fn probe_rtt_window(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen| {
        let stay = seen.stays[seen.find("ProbeRTT", 0)?];
        let windows = seen.samples.rows()[stay.first..stay.end].iter().map(|r| r.cwnd);
        let smallest = windows.fold(f64::INFINITY, f64::min) * PAYLOAD;
        Some(within(smallest / seen.bdp(stay.first)?, 0.0, 0.5))
    };
    decide(bench, &steady(cc), of, Absent::Unknown("ProbeRTT was not reached"))
}

fn idle_restart(bench: &Bench<'_>, cc: &str) -> Decision {
    let keys = "kind = \"on-off\"\nsizes = \"5MB\"\ngaps = \"6s\"";
    let case = Case::new("bbr-pauses", PATH, 30.0, vec![Traffic::of(cc, 1, keys)]).sampled("ack").whole();
    let of = |seen: &Seen| {
        let rows = seen.samples.rows();
        let restarts = (1..rows.len()).filter(|i| rows[*i].time_ps - rows[i - 1].time_ps > 5_000_000_000_000);
        let probes = restarts.filter(|i| {
            let start = seen.samples.seconds(*i);
            seen.stays.iter().any(|s| s.state == "ProbeRTT" && (start..start + 0.3).contains(&seen.samples.seconds(s.first)))
        });
        Some(within(probes.count() as f64, 0.0, 0.0))
    };
    decide(bench, &case, of, NO_BBR)
}

fn small_bdp(bench: &Bench<'_>, cc: &str) -> Decision {
    let path = PathSpec { mbps: 1.0, rtt_ms: 4.0, buffer: 100.0, ..PATH };
    let of = |seen: &Seen| {
        let start = seen.samples.before(5.0)?;
        let windows = seen.samples.rows()[start..].iter().map(|r| r.cwnd);
        Some(within(windows.fold(f64::INFINITY, f64::min), 4.0, f64::INFINITY))
    };
    decide(bench, &bulk("bbr-small", path, 15.0, cc), of, NO_BBR)
}

fn rate_up(bench: &Bench<'_>, cc: &str) -> Decision {
    let path = PathSpec { mbps: 10.0, buffer: 20.0, ..PATH };
    let case = bulk("bbr-rate-up", path, 20.0, cc).change(8.0, "rate = \"100Mbps\"");
    let link = 100e6 * PAYLOAD / WIRE;
    let of = |seen: &Seen| {
        let changed = seen.samples.before(8.0)?;
        let up = (0..seen.stays.len()).find(|i| seen.stays[*i].state == "ProbeBW_UP" && seen.stays[*i].first > changed)?;
        let first = seen.stays[up].first;
        let reached = (first..seen.samples.rows().len()).find(|i| seen.max_bw(*i).is_some_and(|b| b >= 0.9 * link));
        // log2 of the new bandwidth-delay product in segments.
        let limit = PathSpec { mbps: 100.0, ..PATH }.bdp().log2().ceil();
        let band = format!("report (log2 of the BDP: {limit})");
        let value = match reached {
            Some(place) => format!("{}", seen.rounds(first, place)?),
            None => "not reached in 12 s".into(),
        };
        Some(Decided { value, band, holds: None })
    };
    decide(bench, &case, of, NO_PHASE)
}

fn rate_down(bench: &Bench<'_>, cc: &str) -> Decision {
    let path = PathSpec { mbps: 100.0, buffer: 2.0, ..PATH };
    let case = bulk("bbr-rate-down", path, 25.0, cc).change(8.0, "rate = \"10Mbps\"");
    let link = 10e6 * PAYLOAD / WIRE;
    let of = |seen: &Seen| {
        let changed = seen.samples.before(8.0)?;
        let downs = seen.stays.iter().filter(|s| s.state == "ProbeBW_DOWN" && s.first > changed);
        // The third entry of DOWN ends two cycles after the change.
        let third = downs.clone().nth(2)?;
        Some(within(seen.max_bw(third.end - 1)? / link, 0.9, 1.1))
    };
    decide(bench, &case, of, NO_PHASE)
}

fn policer(bench: &Bench<'_>, cc: &str) -> Decision {
    let queue = "{ kind = \"policer\", rate = \"10Mbps\", burst = \"30KB\" }";
    let case = bulk("bbr-policer", PathSpec { queue, ..PATH }, 20.0, cc);
    let of = |seen: &Seen| {
        let (from, last) = (seen.samples.before(10.0)?, seen.samples.rows().len() - 1);
        let (a, b) = (seen.samples.rows()[from], seen.samples.rows()[last]);
        let share = seen.samples.rate(10.0, 19.9)? / (10e6 * PAYLOAD / WIRE);
        let lost = (b.retrans - a.retrans) as f64 / ((b.bytes_acked - a.bytes_acked) as f64 / PAYLOAD).max(1.0);
        Some(Decided { value: format!("{share:.2}, {:.1} % lost", lost * 100.0), band: "report".into(), holds: None })
    };
    decide(bench, &case, of, Absent::Unknown("nothing arrived"))
}

fn probe_rtt_in_startup(bench: &Bench<'_>, cc: &str) -> Decision {
    let of = |seen: &Seen| Some(state(seen.next(seen.find("ProbeRTT", 0)?)?.state, "Startup"));
    decide(bench, &limited("bbr-limited", 60.0, cc), of, Absent::Unknown("ProbeRTT was not reached"))
}

fn loss_bounds(bench: &Bench<'_>, cc: &str) -> Decision {
    let burst =
        |case: Case, at, row| named(case.change_at(at, "loss = \"10%\"").change_at(at + 200_000_000, "loss = \"0%\""), row);
    let case = bulk("bbr-short", SHORT, 15.0, cc);
    let Some(first) = see(bench, &case)? else { return Ok(Err(NO_BBR)) };
    let Some(up) = first.up().filter(|_| first.has_refill()) else { return Ok(Err(NO_BOUND)) };
    // Losses in one ProbeBW_UP set the bound; those at the entry of a later one lower it.
    let bounded = burst(case, first.entry_ns(up), "bbr-bounded");
    let bounded_up = |seen: &Seen| {
        let has_bound = |s: &Stay| seen.samples.int(s.first, "inflight_longterm_bytes").is_some();
        (up + 1..seen.stays.len()).find(|i| seen.stays[*i].state == "ProbeBW_UP" && has_bound(&seen.stays[*i]))
    };
    let of = |seen: &Seen, up: usize| {
        let before = seen.samples.int(seen.stays[up].first, "inflight_longterm_bytes")?;
        let next = seen.next(up)?;
        let ratio = seen.samples.int(next.first, "inflight_longterm_bytes")? / before;
        // BBR.Beta is 0.7; the bound may have grown before the loss.
        let holds = next.state == "ProbeBW_DOWN" && (0.69..1.1).contains(&ratio);
        let value = format!("{ratio:.2}, then {}", next.state);
        Some(Decided { value, band: "0.7 (Beta) to 1.1, then ProbeBW_DOWN".into(), holds: Some(holds) })
    };
    decide_at(bench, &bounded, bounded_up, |case, at| burst(case, at, "bbr-up-loss"), of, NO_BOUND)
}

/// Bounds of the model in a sample.
fn bounds(seen: &Seen, place: usize) -> String {
    let columns = ["bw_shortterm_bps", "inflight_shortterm_bytes", "inflight_longterm_bytes"];
    let set: Vec<&str> = columns.into_iter().filter(|c| seen.samples.int(place, c).is_some()).collect();
    if set.is_empty() { "none".into() } else { set.join(", ") }
}

fn reordering(bench: &Bench<'_>, cc: &str) -> Decision {
    let mut case = named(steady(cc), "bbr-reordering");
    case.tables = Some(LATE);
    let of = |seen: &Seen| {
        let rows = seen.samples.rows();
        let recoveries = rows.windows(2).filter(|pair| pair[0].ca_state < 3 && pair[1].ca_state == 3).count();
        // A second after the end of the last one.
        let last = rows.iter().rposition(|r| r.ca_state >= 3)?;
        let after = seen.samples.before(seen.samples.seconds(last) + 1.0)?;
        let found = bounds(seen, after);
        let holds = found == "none" && rows[after].time_ps > rows[last].time_ps;
        let value = format!("{found}, after {recoveries} recoveries without a loss");
        Some(Decided { value, band: "none: the state is restored".into(), holds: Some(holds) })
    };
    decide(bench, &case, of, Absent::Unknown("no recovery began"))
}

fn needless_timeout(bench: &Bench<'_>, cc: &str) -> Decision {
    let case = named(steady(cc), "bbr-delay").change(3.0, "delay = \"500ms\"").change(3.1, "delay = \"19.8ms\"");
    let of = |seen: &Seen| {
        let rows = seen.samples.rows();
        // The ACK that follows shows that nothing was lost (F-RTO, Eifel). The path is as before half a second later.
        let timeout = *seen.timeouts.first()?;
        let after = seen.samples.before(timeout + 2.0)?;
        let found = bounds(seen, after);
        let holds = found == "none" && seen.samples.seconds(after) > timeout + 1.0;
        let value = format!("{found}, {}", rows[after].cc.text("cc_state")?);
        Some(Decided { value, band: "none: the state is restored".into(), holds: Some(holds) })
    };
    decide(bench, &case, of, Absent::Unknown("no timeout occurred"))
}

/// The network cards of hosts collect packets for 20 ms.
fn batched(cc: &str) -> Case {
    let mut case = named(steady(cc), "bbr-batches");
    case.transport = Some("gro = \"20ms\"");
    case
}

fn batches_in_startup(bench: &Bench<'_>, cc: &str) -> Decision {
    let link = PATH.mbps * 1e6 * PAYLOAD / WIRE;
    let of = |seen: &Seen| {
        let end = seen.next(seen.find("Startup", 0)?)?.first;
        // Linux does not report it.
        let extra = (0..end).filter_map(|i| seen.samples.int(i, "extra_acked_bytes")).reduce(f64::max);
        let window = seen.samples.rows()[..end].iter().map(|r| r.cwnd).fold(0.0, f64::max) * PAYLOAD / seen.bdp(end)?;
        let bw = seen.max_bw(end)? / link;
        let shown = extra.map_or("not reported".into(), |bytes| format!("{:.0} KB", bytes / 1e3));
        let value = format!("extra_acked {shown}, window {window:.1} BDP, max_bw {bw:.2} of the link");
        let holds = extra.is_none_or(|bytes| bytes > 0.0) && window > 2.0 && bw >= 0.9;
        Some(Decided { value, band: "extra_acked > 0, window > 2 BDP, max_bw near 1".into(), holds: Some(holds) })
    };
    decide(bench, &batched(cc), of, Absent::Unknown("no extra_acked in the state"))
}

fn batches_in_cruise(bench: &Bench<'_>, cc: &str) -> Decision {
    let link = PATH.mbps * 1e6 * PAYLOAD / WIRE;
    let of = |seen: &Seen| {
        let value = format!("{:.2}", seen.samples.rate(1.0, 4.5)? / link);
        Some(Decided { value, band: "report (batches from the start)".into(), holds: None })
    };
    decide(bench, &batched(cc), of, Absent::Unknown("nothing arrived"))
}

fn pause_in_refill(bench: &Bench<'_>, cc: &str) -> Decision {
    let train = |row: &str, bytes: u64| {
        let keys = format!("kind = \"on-off\"\nsizes = \"{bytes}B\"\ngaps = \"40ms\"");
        Case::new(row, PATH, 12.0, vec![Traffic::of(cc, 1, &keys)]).sampled("ack").whole()
    };
    let Some(first) = see(bench, &train("bbr-trains", 1_000_000_000))? else { return Ok(Err(NO_BBR)) };
    let Some(refill) = first.find("ProbeBW_REFILL", 0) else { return Ok(Err(NO_REFILL)) };
    // The train ends a third of a BDP after the entry.
    let row = first.samples.rows()[first.stays[refill].first];
    let bytes = row.bytes_acked + row.unacked_bytes + (PATH.bdp() * PAYLOAD / 3.0) as u64;
    let of = |seen: &Seen| {
        let (at, next) = (seen.stays.get(refill)?, seen.next(refill)?);
        let ratio = seen.max_bw(next.first)? / seen.max_bw(at.first)?;
        let value = format!("{ratio:.2}, then {}", next.state);
        let holds = ratio >= 0.99 && next.state == "ProbeBW_UP";
        Some(Decided { value, band: "at least 1, then ProbeBW_UP".into(), holds: Some(holds) })
    };
    decide(bench, &train("bbr-refill-pause", bytes), of, Absent::Unknown("ProbeBW_REFILL did not end"))
}
