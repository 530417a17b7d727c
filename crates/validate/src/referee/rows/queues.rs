//! Active queue management (RFC 9743 section 7.1): one flow behind it, and two beside cubic.

use super::coexistence::harm_on;
use crate::referee::bench::Bench;
use crate::referee::network::{COMMON, Case, PathSpec, Traffic};
use crate::referee::row::{Absent, Band, Decided, Decision, Measure, Number, Row};
use forebay_analysis::{Dimension, quantity};

const GROUP: &str = "active queue management";
const SOURCE: &str = "RFC 9743 7.1 (relative)";

const fn with(queue: &'static str) -> PathSpec {
    PathSpec { queue, buffer: 4.0, ..COMMON }
}

const FQ_CODEL: PathSpec = with("\"fq-codel\"");
const PIE: PathSpec = with("\"pie\"");

pub(crate) const ROWS: &[Row] = &[
    Row {
        group: GROUP,
        name: "FQ-CoDel: goodput of one flow",
        source: SOURCE,
        measure: Measure::Number(
            |b, cc| goodput(b, cc, "fq-codel", FQ_CODEL),
            Dimension::BitsPerSecond,
            Band::AtLeast { factor: 0.9 },
        ),
    },
    Row {
        group: GROUP,
        name: "FQ-CoDel: mean queue",
        source: SOURCE,
        measure: Measure::Number(
            |b, cc| queue(b, cc, "fq-codel", FQ_CODEL),
            Dimension::Packets,
            Band::AtMost { factor: 2.0, plus: 1.0 },
        ),
    },
    Row {
        group: GROUP,
        name: "PIE: goodput of one flow",
        source: SOURCE,
        measure: Measure::Number(|b, cc| goodput(b, cc, "pie", PIE), Dimension::BitsPerSecond, Band::AtLeast { factor: 0.9 }),
    },
    Row {
        group: GROUP,
        name: "PIE: mean queue",
        source: SOURCE,
        measure: Measure::Number(|b, cc| queue(b, cc, "pie", PIE), Dimension::Packets, Band::AtMost { factor: 2.0, plus: 1.0 }),
    },
    Row {
        group: GROUP,
        name: "PIE: harm to cubic",
        source: SOURCE,
        measure: Measure::Number(
            |b, cc| harm_on(b, "pie-harm", PIE, cc, "cubic"),
            Dimension::Fraction,
            Band::AtMost { factor: 1.0, plus: 0.1 },
        ),
    },
    Row { group: GROUP, name: "ECN, marks above 20 packets: mean queue", source: "RFC 3168 5", measure: Measure::Case(marked) },
];

/// A queue that marks above a threshold, with a buffer for eight bandwidth-delay products (RFC 3168 section 5: a mark requires the response to a dropped
/// packet). Our choice: one whose queue stays above the threshold on average ignores marks. Congestion controls without a kind of ECN of their own use
/// that of RFC 3168.
fn marked(bench: &Bench<'_>, cc: &str) -> Decision {
    let path = PathSpec { mbps: 100.0, rtt_ms: 10.0, buffer: 8.0, queue: "{ kind = \"dctcp-step\", k = \"20pkt\" }" };
    let transport = if bench.needs_marks(cc) { None } else { Some("ecn = \"classic\"") };
    let run = bench.run(&Case { transport, ..Case::new("ecn", path, 10.0, vec![Traffic::long(cc, 1)]) })?;
    let Some(queue) = run.summary.network.queue_mean else { return Ok(Err(Absent::Unknown("no queue"))) };
    let value = quantity(queue, Dimension::Packets);
    Ok(Ok(Decided { value, band: "at most 20 packets (the threshold)".into(), holds: Some(queue <= 20.0) }))
}

fn goodput(bench: &Bench<'_>, cc: &str, row: &str, path: PathSpec) -> Number {
    let run = bench.run(&Case::new(row, path, 20.0, vec![Traffic::long(cc, 1)]))?;
    Ok(run.goodput())
}

fn queue(bench: &Bench<'_>, cc: &str, row: &str, path: PathSpec) -> Number {
    let run = bench.run(&Case::new(row, path, 20.0, vec![Traffic::long(cc, 1)]))?;
    Ok(run.summary.network.queue_mean)
}
