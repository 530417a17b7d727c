//! Data centers (RFC 9743 section 7.11): round trips of 100 us, many senders at once.

use crate::referee::bench::Bench;
use crate::referee::network::{Case, PathSpec, Traffic};
use crate::referee::row::{Band, Measure, Number, Row};
use forebay_analysis::Dimension;

const GROUP: &str = "data center";
const SOURCE: &str = "RFC 9743 7.11 (relative)";

/// 1 Gbit/s, 500 us, 100 packets of buffer (2.4 BDP).
const PATH: PathSpec = PathSpec { mbps: 1000.0, rtt_ms: 0.5, buffer: 2.4, queue: "\"drop-tail\"" };
/// The same with marks above 20 packets.
const MARKING: PathSpec = PathSpec { queue: "{ kind = \"dctcp-step\", k = \"20pkt\" }", ..PATH };

pub(crate) const ROWS: &[Row] = &[
    Row {
        group: GROUP,
        name: "bursts of 16 senders, 32 KB each: median",
        source: SOURCE,
        measure: Measure::Number(bursts, Dimension::Seconds, Band::AtMost { factor: 1.5, plus: 0.0 }),
    },
    Row {
        group: GROUP,
        name: "two flows, marks above 20 packets: goodput",
        source: SOURCE,
        measure: Measure::Number(|b, cc| marked(b, cc, false), Dimension::BitsPerSecond, Band::AtLeast { factor: 0.9 }),
    },
    Row {
        group: GROUP,
        name: "two flows, marks above 20 packets: mean queue",
        source: SOURCE,
        measure: Measure::Number(|b, cc| marked(b, cc, true), Dimension::Packets, Band::Report),
    },
];

fn bursts(bench: &Bench<'_>, cc: &str) -> Number {
    let keys = "kind = \"on-off\"\nsizes = \"32KB\"\ngaps = \"20ms\"\ngap-from = \"start\"\ntrains = 100";
    let run = bench.run(&Case::new("bursts", PATH, 3.0, vec![Traffic::of(cc, 16, keys)]).whole())?;
    Ok(run.first().and_then(|g| g.fct[0]).map(|f| f.p50))
}

fn marked(bench: &Bench<'_>, cc: &str, queue: bool) -> Number {
    let run = bench.run(&Case::new("marks", MARKING, 1.0, vec![Traffic::long(cc, 2)]))?;
    Ok(if queue { run.summary.network.queue_mean } else { run.goodput() })
}
