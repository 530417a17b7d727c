//! Scalable congestion controls (RFC 9331 section 4.3): those that need marks.

use crate::referee::bench::{Bench, RefereeError};
use crate::referee::network::{Case, PathSpec, Traffic};
use crate::referee::row::{Absent, Decided, Decision, Measure, Number, REFERENCES, Row};

const GROUP: &str = "scalable (RFC 9331 4.3)";

const CLASSIC: Absent = Absent::NotApplicable("not a scalable congestion control");

/// One packet in ten arrives 2 ms late at the bottleneck: a fifth of a round trip, in which 17 packets pass it.
const EARLY_AND_LATE: &str = "[[topology.reorder]]\nport = \"bottleneck\"\np = 0.1\nby = \"2ms\"";

pub(crate) const ROWS: &[Row] = &[
    Row {
        group: GROUP,
        name: "replaced by newreno: marked packets",
        source: "RFC 9331 4.3 item 1",
        measure: Measure::Case(replaced),
    },
    Row { group: GROUP, name: "loss of 1 %: goodput / newreno's", source: "RFC 9331 4.3 item 2", measure: Measure::Case(loss) },
    Row {
        group: GROUP,
        name: "classic ECN queue (PIE): goodput / newreno's beside it",
        source: "RFC 9331 4.3 item 3",
        measure: Measure::Case(classic_queue),
    },
    Row {
        group: GROUP,
        name: "RTT 1 and 10 ms: goodput of the short one / long one",
        source: "RFC 9331 4.3 item 4",
        measure: Measure::Case(rtts),
    },
    Row {
        group: GROUP,
        name: "100 flows in 21 packets: mean queue",
        source: "RFC 9331 4.3 item 5",
        measure: Measure::Case(below_one),
    },
    Row {
        group: GROUP,
        name: "one packet in ten 2 ms late: goodput / in order",
        source: "RFC 9331 4.3 item 6",
        measure: Measure::Case(reordered),
    },
    Row {
        group: GROUP,
        name: "window of half the BDP, RTT 25 ms: queue of bursts",
        source: "RFC 9331 4.3 item 7",
        measure: Measure::Case(bursts),
    },
    Row {
        group: GROUP,
        name: "marks per RTT at 1 Gbit/s and 100 Mbit/s",
        source: "RFC 9331 1.2, 4.3",
        measure: Measure::Case(marks),
    },
];

const fn path(mbps: f64, rtt_ms: f64) -> PathSpec {
    PathSpec { mbps, rtt_ms, buffer: 8.0, queue: "{ kind = \"dctcp-step\", k = \"20pkt\" }" }
}

/// Item 1: a classic congestion control that takes its place does not set ECT(1), so that no queue marks its packets.
fn replaced(bench: &Bench<'_>, cc: &str) -> Decision {
    if !bench.needs_marks(cc) {
        return Ok(Err(CLASSIC));
    }
    let marks = |cc: &str| -> Result<u64, RefereeError> {
        let run = bench.run(&Case::new("scalable-replaced", path(100.0, 10.0), 5.0, vec![Traffic::long(cc, 1)]))?;
        Ok(run.summary.network.marks)
    };
    let (own, classic) = (marks(cc)?, marks(REFERENCES[0])?);
    if own == 0 {
        return Ok(Err(Absent::Unknown("no packet was marked")));
    }
    Ok(Ok(Decided { value: format!("{classic} (before: {own})"), band: "0: not ECN-capable".into(), holds: Some(classic == 0) }))
}

/// Item 3: a queue that marks as it drops. Section 4.3.1 reports 25:1 as the worst case of one that does not detect it.
fn classic_queue(bench: &Bench<'_>, cc: &str) -> Decision {
    if !bench.needs_marks(cc) {
        return Ok(Err(CLASSIC));
    }
    let path = PathSpec { mbps: 50.0, rtt_ms: 20.0, buffer: 4.0, queue: "{ kind = \"pie\", ecn = true }" };
    let case = Case::new("scalable-classic-queue", path, 20.0, vec![Traffic::long(cc, 1), Traffic::long(REFERENCES[0], 1)]);
    let run = bench.run(&case)?;
    let goodput: Vec<f64> = run.summary.groups.iter().filter_map(|g| g.goodput_bps).collect();
    let [own, classic] = goodput[..] else { return Ok(Err(Absent::Unknown("no goodput"))) };
    Ok(Ok(Decided { value: format!("{:.1}", own / classic), band: "report (published worst case: 25)".into(), holds: None }))
}

/// Item 6: loss detection by time tolerates reordering over many packets.
fn reordered(bench: &Bench<'_>, cc: &str) -> Decision {
    if !bench.needs_marks(cc) {
        return Ok(Err(CLASSIC));
    }
    let goodput = |row: &str, tables: Option<&'static str>| -> Number {
        let case = Case { tables, ..Case::new(row, path(100.0, 10.0), 5.0, vec![Traffic::long(cc, 1)]) };
        Ok(bench.run(&case)?.goodput())
    };
    let (ordered, late) = (goodput("scalable-replaced", None)?, goodput("scalable-reordered", Some(EARLY_AND_LATE))?);
    let (Some(ordered), Some(late)) = (ordered, late) else { return Ok(Err(Absent::Unknown("no goodput"))) };
    Ok(Ok(Decided { value: format!("{:.2}", late / ordered), band: "report".into(), holds: None }))
}

/// Item 7: the receive window keeps the flow below the rate of the path, so that only bursts queue.
fn bursts(bench: &Bench<'_>, cc: &str) -> Decision {
    if !bench.needs_marks(cc) {
        return Ok(Err(CLASSIC));
    }
    let path = path(100.0, 25.0);
    let mut case = Case::new("scalable-bursts", path, 5.0, vec![Traffic::long(cc, 1)]);
    case.transport = Some("rcv-wnd = \"156KB\"");
    let run = bench.run(&case)?;
    let Some(queue) = run.summary.network.queue_max else { return Ok(Err(Absent::Unknown("no queue"))) };
    let us = queue * 1500.0 * 8.0 / path.mbps;
    let band = "report (250 us: no need for less)";
    Ok(Ok(Decided { value: format!("{us:.0} us"), band: band.into(), holds: None }))
}

fn loss(bench: &Bench<'_>, cc: &str) -> Decision {
    if !bench.needs_marks(cc) {
        return Ok(Err(CLASSIC));
    }
    let goodput = |cc: &str| -> Number {
        let run = bench
            .run(&Case::new("scalable-loss", path(100.0, 10.0), 10.0, vec![Traffic::long(cc, 1)]).change(0.0, "loss = \"1%\""))?;
        Ok(run.goodput())
    };
    let (Some(own), Some(reno)) = (goodput(cc)?, goodput(REFERENCES[0])?) else { return Ok(Err(Absent::Unknown("no goodput"))) };
    let ratio = own / reno;
    // Our choice: a scalable one that answers losses as Reno has its goodput within a factor of 1.5.
    Ok(Ok(Decided { value: format!("{ratio:.2}"), band: "at most 1.5 (newreno: 1)".into(), holds: Some(ratio <= 1.5) }))
}

fn rtts(bench: &Bench<'_>, cc: &str) -> Decision {
    if !bench.needs_marks(cc) {
        return Ok(Err(CLASSIC));
    }
    // Host l1 is 4.5 ms farther away, on each of its links: 1 ms and 10 ms.
    let mut case = Case::new("scalable-rtts", path(100.0, 1.0), 10.0, vec![Traffic::long(cc, 1), Traffic::long(cc, 1)]);
    case.extra_delay = Some("l1: 4.5ms");
    let run = bench.run(&case)?;
    let goodput: Vec<f64> = run.summary.groups.iter().filter_map(|g| g.goodput_bps).collect();
    let [short, long] = goodput[..] else { return Ok(Err(Absent::Unknown("no goodput"))) };
    Ok(Ok(Decided { value: format!("{:.2}", short / long), band: "report".into(), holds: None }))
}

fn below_one(bench: &Bench<'_>, cc: &str) -> Decision {
    if !bench.needs_marks(cc) {
        return Ok(Err(CLASSIC));
    }
    let run = bench.run(&Case::new("scalable-many", path(500.0, 0.5), 3.0, vec![Traffic::long(cc, 100)]))?;
    let Some(queue) = run.summary.network.queue_mean else { return Ok(Err(Absent::Unknown("no queue"))) };
    Ok(Ok(Decided { value: format!("{queue:.0} packets"), band: "report (threshold: 20)".into(), holds: None }))
}

fn marks(bench: &Bench<'_>, cc: &str) -> Decision {
    if !bench.needs_marks(cc) {
        return Ok(Err(CLASSIC));
    }
    let per_rtt = |mbps: f64, row: &str| -> Result<f64, RefereeError> {
        let case = Case::new(row, path(mbps, 5.0), 5.0, vec![Traffic::long(cc, 1)]);
        let run = bench.run(&case)?;
        Ok(run.summary.network.marks as f64 / ((case.seconds - case.warmup) / (case.path.rtt_ms * 1e-3)))
    };
    let (fast, slow) = (per_rtt(1000.0, "scalable-marks-fast")?, per_rtt(100.0, "scalable-marks-slow")?);
    Ok(Ok(Decided { value: format!("{fast:.1} and {slow:.1}"), band: "report".into(), holds: None }))
}
