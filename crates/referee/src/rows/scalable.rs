//! Scalable congestion controls (RFC 9331 section 4.3): those that need marks.

use crate::bench::{Bench, RefereeError};
use crate::network::{Case, PathSpec, Traffic};
use crate::row::{Absent, Decided, Decision, Measure, Number, REFERENCES, Row};

const GROUP: &str = "scalable (RFC 9331 4.3)";

const CLASSIC: Absent = Absent::NotApplicable("not a scalable congestion control");

pub(crate) const ROWS: &[Row] = &[
    Row { group: GROUP, name: "loss of 1 %: goodput / newreno's", source: "RFC 9331 4.3 item 2", measure: Measure::Case(loss) },
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
        name: "marks per RTT at 1 Gbit/s and 100 Mbit/s",
        source: "RFC 9331 1.2, 4.3",
        measure: Measure::Case(marks),
    },
];

const fn path(mbps: f64, rtt_ms: f64) -> PathSpec {
    PathSpec { mbps, rtt_ms, buffer: 8.0, queue: "{ kind = \"dctcp-step\", k = \"20pkt\" }" }
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
