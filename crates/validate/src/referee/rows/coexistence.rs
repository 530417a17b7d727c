//! Flows beside those of other congestion controls (RFC 9743 section 5.2).

use crate::referee::bench::{Bench, Outcome};
use crate::referee::network::{COMMON, Case, PathSpec, Traffic};
use crate::referee::row::{Band, Measure, Number, Row};
use forebay_analysis::Dimension;

const GROUP: &str = "beside others";

/// Harm that a tolerance adds, as a fraction of the goodput. Our choice.
const TOLERANCE: f64 = 0.1;

pub(crate) const ROWS: &[Row] = &[
    harm_row("harm to newreno, buffer of 1 BDP", |b, cc| harm(b, cc, "newreno", 1.0)),
    harm_row("harm to newreno, buffer of 0.25 BDP", |b, cc| harm(b, cc, "newreno", 0.25)),
    harm_row("harm to cubic, buffer of 1 BDP", |b, cc| harm(b, cc, "cubic", 1.0)),
    harm_row("harm to cubic, buffer of 0.25 BDP", |b, cc| harm(b, cc, "cubic", 0.25)),
    Row {
        group: GROUP,
        name: "own share beside 2 cubic, buffer of 1 BDP",
        source: "RFC 9743 5.2.1",
        measure: Measure::Number(|b, cc| share(b, cc, "cubic"), Dimension::Fraction, Band::Report),
    },
    Row {
        group: GROUP,
        name: "harm to short cubic flows: p99 of 20 KB",
        source: "RFC 9743 5.2.3 (relative)",
        measure: Measure::Number(short_beside, Dimension::Seconds, Band::AtMost { factor: 1.25, plus: 0.0 }),
    },
    Row {
        group: GROUP,
        name: "real-time traffic: lost datagrams of 1 Mbit/s",
        source: "RFC 9743 5.2.2 (relative)",
        measure: Measure::Number(datagrams, Dimension::Fraction, Band::AtMost { factor: 3.0, plus: 0.005 }),
    },
];

const fn harm_row(name: &'static str, measure: fn(&Bench<'_>, &str) -> Number) -> Row {
    let band = Band::AtMost { factor: 1.0, plus: TOLERANCE };
    Row { group: GROUP, name, source: "RFC 9743 5.2.1 (relative)", measure: Measure::Number(measure, Dimension::Fraction, band) }
}

fn harm(bench: &Bench<'_>, cc: &str, other: &str, buffer: f64) -> Number {
    let row = if buffer < 1.0 { "harm-shallow" } else { "harm" };
    harm_on(bench, row, PathSpec { buffer, ..COMMON }, cc, other)
}

/// Fraction of its goodput that `other` loses to `cc`: two flows of each, against four of `other`, of which two have half of the goodput.
pub(super) fn harm_on(bench: &Bench<'_>, row: &str, path: PathSpec, cc: &str, other: &str) -> Number {
    let beside = |first: &str| Case::new(row, path, 40.0, vec![Traffic::long(first, 2), Traffic::long(other, 2)]);
    let half = |run: &Outcome| Some((run.goodput_of(0)? + run.goodput_of(1)?) / 2.0);
    let mixed = bench.mean(&beside(cc), |run| if cc == other { half(run) } else { run.goodput_of(1) })?;
    let own = bench.mean(&beside(other), half)?;
    let (Some(mixed), Some(own)) = (mixed, own) else { return Ok(None) };
    Ok(Some((1.0 - mixed / own).max(0.0)))
}

fn share(bench: &Bench<'_>, cc: &str, other: &str) -> Number {
    let two = |cc: &str| Traffic::long(cc, 2);
    bench.mean(&Case::new("harm", COMMON, 40.0, vec![two(cc), two(other)]), |run| {
        let (own, others) = (run.goodput_of(0)?, run.goodput_of(1)?);
        Some(own / (own + others))
    })
}

fn short_beside(bench: &Bench<'_>, cc: &str) -> Number {
    let keys = "kind = \"poisson\"\nsizes = \"20KB\"\nload = 0.05\nload-at = \"bottleneck\"";
    let traffic = vec![Traffic::long(cc, 2), Traffic::of("cubic", 2, keys)];
    bench.mean(&Case::new("short-beside", COMMON, 40.0, traffic), |run| {
        run.summary.groups.iter().nth(1).and_then(|g| g.fct[0]).map(|f| f.p99)
    })
}

fn datagrams(bench: &Bench<'_>, cc: &str) -> Number {
    let keys = "kind = \"udp\"\nrate = \"1Mbps\"\npacket = \"200B\"\npacket-jitter = \"1ms\"\nstop = \"39s\"";
    let udp = Traffic::datagrams(keys);
    bench.mean(&Case::new("real-time", COMMON, 40.0, vec![Traffic::long(cc, 2), udp]), |run| {
        run.summary.groups.iter().find_map(|g| g.datagrams_lost)
    })
}
