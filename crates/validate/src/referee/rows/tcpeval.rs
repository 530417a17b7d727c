//! Common TCP Evaluation Suite (draft-irtf-iccrg-tcpeval-01), without its wireless LAN.
//!
//! Constants are those of the draft. Its traffic is replayed from traces of a campus (Tmix). Flows of the published mixture `trim-http`, which arrive as a
//! Poisson process, stand in for it. The draft has no bands: they are relative to Reno and CUBIC in the same experiment.

mod flows;
mod links;

use crate::referee::bench::{Bench, RefereeError};
use crate::referee::row::{Absent, Decided, Decision, Measure, REFERENCES, Row};

const GROUP: &str = "Common TCP Evaluation Suite";
const SOURCE: &str = "tcpeval-01 (relative)";

pub(crate) const ROWS: &[Row] = &[
    links::DATA_CENTER_60,
    links::DATA_CENTER_85,
    links::DATA_CENTER_110,
    links::ACCESS_60,
    links::ACCESS_85,
    links::ACCESS_110,
    links::OCEAN_60,
    links::OCEAN_85,
    links::OCEAN_110,
    links::SATELLITE_60,
    links::SATELLITE_85,
    links::SATELLITE_110,
    links::DIAL_UP_60,
    links::DIAL_UP_85,
    links::DIAL_UP_110,
    links::BUFFER_10,
    links::BUFFER_20,
    links::BUFFER_50,
    links::BUFFER_100,
    links::BUFFER_200,
    row("ramp-up, 10 Mbit/s, RTT 80 ms: time of 1.5 MB", |b, cc| flows::ramp_up(b, cc, &flows::SLOW, "")),
    row("ramp-up, 10 Mbit/s, RTT 30 ms beside 120 ms: time of 1.5 MB", |b, cc| {
        flows::ramp_up(b, cc, &flows::SLOW, flows::FIRST_FAR)
    }),
    row("ramp-up, 10 Mbit/s, RTT 120 ms beside 30 ms: time of 1.5 MB", |b, cc| {
        flows::ramp_up(b, cc, &flows::SLOW, flows::NEW_FAR)
    }),
    row("ramp-up, 1 Gbit/s, RTT 80 ms: time of 15 MB", |b, cc| flows::ramp_up(b, cc, &flows::FAST, "")),
    row("ramp-up, 1 Gbit/s, RTT 30 ms beside 120 ms: time of 15 MB", |b, cc| {
        flows::ramp_up(b, cc, &flows::FAST, flows::FIRST_FAR)
    }),
    row("ramp-up, 1 Gbit/s, RTT 120 ms beside 30 ms: time of 15 MB", |b, cc| flows::ramp_up(b, cc, &flows::FAST, flows::NEW_FAR)),
    row("75 Mbit/s of UDP end: time to 80 % of the BDP", flows::release),
    row("75 Mbit/s of UDP begin: lost datagrams in 100 s", flows::onset),
    row("30 flows of UDP, 2.5 Mbit/s each, begin: lost datagrams in 100 s", flows::many_onsets),
    row("flows beside newreno, load 50 %: newreno's throughput / before", |b, cc| flows::impact(b, cc, 50)),
    row("flows beside newreno, load 100 %: newreno's throughput / before", |b, cc| flows::impact(b, cc, 100)),
    row("2 flows, RTT 10 to 160 ms, buffer of 25 % BDP: ratio", |b, cc| flows::fairness(b, cc, 25)),
    row("2 flows, RTT 10 to 160 ms, buffer of 50 % BDP: ratio", |b, cc| flows::fairness(b, cc, 50)),
    row("2 flows, RTT 10 to 160 ms, buffer of 100 % BDP: ratio", |b, cc| flows::fairness(b, cc, 100)),
    row("2 flows, RTT 10 to 160 ms, buffer of 200 % BDP: ratio", |b, cc| flows::fairness(b, cc, 200)),
    row("three bottlenecks: share of the flow over all", flows::parking_lot),
];

const fn row(name: &'static str, measure: fn(&Bench<'_>, &str) -> Decision) -> Row {
    Row { group: GROUP, name, source: SOURCE, measure: Measure::Case(measure) }
}

/// A measurement: the number that is judged, and all values as text.
struct Measured {
    judged: f64,
    text: String,
}

/// Limit of the judged number: at most `factor` times the larger value of Reno and CUBIC plus `plus`, or at least `factor` times the smaller one.
#[derive(Clone, Copy)]
enum Limit {
    AtMost { factor: f64, plus: f64 },
    AtLeast { factor: f64 },
}

/// Judges the measurement of `cc` by those of Reno and CUBIC. `show` writes the judged number.
fn relative(
    bench: &Bench<'_>,
    cc: &str,
    limit: Limit,
    show: fn(f64) -> String,
    measure: impl Fn(&Bench<'_>, &str) -> Result<Option<Measured>, RefereeError>,
) -> Decision {
    let Some(own) = measure(bench, cc)? else { return Ok(Err(Absent::Unknown("the run has no value"))) };
    let mut others = Vec::new();
    for name in REFERENCES {
        others.extend(measure(bench, name)?.map(|m| (m.judged, name)));
    }
    let largest = others.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
    let smallest = others.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(largest), Some(smallest)) = (largest, smallest) else {
        return Ok(Err(Absent::Unknown("neither newreno nor cubic has a value")));
    };
    let (band, holds) = match limit {
        Limit::AtMost { factor, plus } => {
            let most = factor * largest.0 + plus;
            (format!("at most {} ({}: {})", show(most), largest.1, show(largest.0)), own.judged <= most)
        }
        Limit::AtLeast { factor } => {
            let least = factor * smallest.0;
            (format!("at least {} ({}: {})", show(least), smallest.1, show(smallest.0)), own.judged >= least)
        }
    };
    Ok(Ok(Decided { value: own.text, band, holds: Some(holds) }))
}
