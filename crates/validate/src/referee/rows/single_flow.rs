//! Flows of one congestion control alone (RFC 9743 section 5.1).

use crate::referee::bench::Bench;
use crate::referee::network::{COMMON, Case, PathSpec, Traffic, alone};
use crate::referee::row::{Band, Measure, Number, Row};
use forebay_analysis::Dimension;

const GROUP: &str = "alone, drop-tail";

/// Start and end of the interruption of the path, s.
const BLACKOUT: (f64, f64) = (5.0, 65.0);

pub(crate) const ROWS: &[Row] = &[
    Row {
        group: GROUP,
        name: "goodput of one flow, buffer of 1 BDP",
        source: "RFC 9743 6.1 (relative)",
        measure: Measure::Number(goodput, Dimension::BitsPerSecond, Band::AtLeast { factor: 0.9 }),
    },
    Row {
        group: GROUP,
        name: "collapse: segments sent in 60 s of total loss",
        source: "RFC 9743 5.1.1",
        measure: Measure::Number(sent_in_blackout, Dimension::Segments, Band::AtMost { factor: 2.0, plus: 0.0 }),
    },
    Row {
        group: GROUP,
        name: "bufferbloat: mean queue, buffer of 0.5 BDP",
        source: "RFC 9743 5.1.2",
        measure: Measure::Number(|b, cc| queue(b, cc, 0.5), Dimension::Packets, Band::Report),
    },
    Row {
        group: GROUP,
        name: "bufferbloat: mean queue, buffer of 4 BDP",
        source: "RFC 9743 5.1.2",
        measure: Measure::Number(|b, cc| queue(b, cc, 4.0), Dimension::Packets, Band::AtMost { factor: 1.25, plus: 0.0 }),
    },
    Row {
        group: GROUP,
        name: "loss rate of 16 flows, buffer of 0.5 BDP",
        source: "RFC 9743 5.1.3",
        measure: Measure::Number(|b, cc| loss_rate(b, cc, 16), Dimension::Fraction, Band::AtMost { factor: 3.0, plus: 0.0 }),
    },
    Row {
        group: GROUP,
        name: "loss rate of one flow, buffer of 0.5 BDP",
        source: "RFC 9743 5.1.3",
        measure: Measure::Number(|b, cc| loss_rate(b, cc, 1), Dimension::Fraction, Band::AtMost { factor: 3.0, plus: 0.001 }),
    },
    Row {
        group: GROUP,
        name: "fairness of 4 flows (Jain)",
        source: "RFC 9743 5.1.4",
        measure: Measure::Number(fairness, Dimension::Ratio, Band::AtLeast { factor: 0.9 }),
    },
    Row {
        group: GROUP,
        name: "short flows of 20 KB alone: p99",
        source: "RFC 9743 5.1.5",
        measure: Measure::Number(short_flows, Dimension::Seconds, Band::AtMost { factor: 1.5, plus: 0.0 }),
    },
];

fn goodput(bench: &Bench<'_>, cc: &str) -> Number {
    Ok(bench.run(&alone(cc))?.goodput())
}

/// Segments that leave after all packets of the first round trip without answer are gone, which were in flight or belong to a probe of the tail.
fn sent_in_blackout(bench: &Bench<'_>, cc: &str) -> Number {
    let case = Case::new("collapse", COMMON, 70.0, vec![Traffic::long(cc, 1)])
        .whole()
        .change(BLACKOUT.0, "loss = \"100%\"")
        .change(BLACKOUT.1, "loss = \"0%\"");
    let run = bench.run(&case)?;
    // Everything that reaches the link is lost there.
    let lost = run.report.events.iter().filter_map(|e| e.packets).sum::<u64>();
    Ok(Some(lost as f64))
}

fn queue(bench: &Bench<'_>, cc: &str, buffer: f64) -> Number {
    let row = if buffer < 1.0 { "bufferbloat-half" } else { "bufferbloat-four" };
    let run = bench.run(&Case::new(row, PathSpec { buffer, ..COMMON }, 20.0, vec![Traffic::long(cc, 1)]))?;
    Ok(run.summary.network.queue_mean)
}

fn loss_rate(bench: &Bench<'_>, cc: &str, flows: u32) -> Number {
    let row = if flows == 1 { "loss-one" } else { "loss-many" };
    let run = bench.run(&Case::new(row, PathSpec { buffer: 0.5, ..COMMON }, 20.0, vec![Traffic::long(cc, flows)]))?;
    let (arrived, dropped) = run.report.ports.iter().fold((0, 0), |(a, d), p| {
        let lost = p.dropped_overflow + p.dropped_shared + p.dropped_early;
        // The bottleneck is the only port that drops.
        if lost > 0 { (a + p.arrived_pkts, d + lost) } else { (a, d) }
    });
    Ok(Some(if arrived == 0 { 0.0 } else { f64::from(u32::try_from(dropped).unwrap_or(u32::MAX)) / arrived as f64 }))
}

fn fairness(bench: &Bench<'_>, cc: &str) -> Number {
    bench.mean(&Case::new("fairness", COMMON, 40.0, vec![Traffic::long(cc, 4)]), |run| run.first().and_then(|g| g.fairness))
}

fn short_flows(bench: &Bench<'_>, cc: &str) -> Number {
    let keys = "kind = \"poisson\"\nsizes = \"20KB\"\nload = 0.5\nload-at = \"bottleneck\"";
    let run = bench.run(&Case::new("short", COMMON, 20.0, vec![Traffic::of(cc, 4, keys)]))?;
    Ok(run.first().and_then(|g| g.fct[0]).map(|f| f.p99))
}
