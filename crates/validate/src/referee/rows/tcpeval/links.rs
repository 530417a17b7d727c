//! Basic scenarios and queue sizes: traffic in both directions over one link.

use super::{Limit, Measured, relative, row};
use crate::referee::bench::{Bench, Outcome};
use crate::referee::network::{Case, Ends, PathSpec, Traffic};
use crate::referee::row::{Decision, Row};
use std::fmt::Write as _;

/// A central link and the delays of the hosts.
struct Link {
    name: &'static str,
    mbps: f64,
    /// Rate of the direction back, Mbit/s, and the table that sets it; `None`: the same.
    back: Option<(f64, &'static str)>,
    /// Delay of the central link in one direction, ms.
    delay_ms: f64,
    /// Buffer at the rate of the link, ms.
    buffer_ms: f64,
    /// Delays of hosts, as `extra-delay` of a scenario.
    edges: Option<&'static str>,
    /// Duration, s. The first fifth is the warm-up.
    seconds: f64,
}

/// 0, 12 and 25 ms on the left, 2, 37 and 75 ms on the right. Hosts 0 to 2 send to the right, hosts 3 to 5 to the left.
const EDGES: Option<&str> =
    Some("l1: 12ms, l2: 25ms, l4: 12ms, l5: 25ms, r0: 2ms, r1: 37ms, r2: 75ms, r3: 2ms, r4: 37ms, r5: 75ms");

/// Access links have 100 us, the longer delay of the draft's two.
const DATA_CENTER: Link =
    Link { name: "dc", mbps: 1000.0, back: None, delay_ms: 0.01, buffer_ms: 10.0, edges: None, seconds: 3.0 };
const ACCESS: Link =
    Link { name: "access", mbps: 100.0, back: None, delay_ms: 2.0, buffer_ms: 100.0, edges: EDGES, seconds: 25.0 };
const OCEAN: Link =
    Link { name: "ocean", mbps: 1000.0, back: None, delay_ms: 65.0, buffer_ms: 100.0, edges: EDGES, seconds: 5.0 };
/// A buffer of 100 ms forth and of 1 s back: 333 packets both.
const SATELLITE: Link = Link {
    name: "satellite",
    mbps: 40.0,
    back: Some((4.0, "[[topology.change]]\nport = \"bottleneck-back\"\nat = \"0s\"\nrate = \"4Mbps\"")),
    delay_ms: 300.0,
    buffer_ms: 100.0,
    edges: EDGES,
    seconds: 40.0,
};
const DIAL_UP: Link =
    Link { name: "dial-up", mbps: 0.064, back: None, delay_ms: 5.0, buffer_ms: 1250.0, edges: EDGES, seconds: 300.0 };

pub(super) const DATA_CENTER_60: Row =
    row("data center, load 60 %: use, loss, queue each way", |b, cc| basic(b, cc, &DATA_CENTER, 60));
pub(super) const DATA_CENTER_85: Row = row("data center, load 85 %", |b, cc| basic(b, cc, &DATA_CENTER, 85));
pub(super) const DATA_CENTER_110: Row = row("data center, load 110 %", |b, cc| basic(b, cc, &DATA_CENTER, 110));
pub(super) const ACCESS_60: Row = row("access link, load 60 %", |b, cc| basic(b, cc, &ACCESS, 60));
pub(super) const ACCESS_85: Row = row("access link, load 85 %", |b, cc| basic(b, cc, &ACCESS, 85));
pub(super) const ACCESS_110: Row = row("access link, load 110 %", |b, cc| basic(b, cc, &ACCESS, 110));
pub(super) const OCEAN_60: Row = row("trans-oceanic link, load 60 %", |b, cc| basic(b, cc, &OCEAN, 60));
pub(super) const OCEAN_85: Row = row("trans-oceanic link, load 85 %", |b, cc| basic(b, cc, &OCEAN, 85));
pub(super) const OCEAN_110: Row = row("trans-oceanic link, load 110 %", |b, cc| basic(b, cc, &OCEAN, 110));
pub(super) const SATELLITE_60: Row = row("geostationary satellite, load 60 %", |b, cc| basic(b, cc, &SATELLITE, 60));
pub(super) const SATELLITE_85: Row = row("geostationary satellite, load 85 %", |b, cc| basic(b, cc, &SATELLITE, 85));
pub(super) const SATELLITE_110: Row = row("geostationary satellite, load 110 %", |b, cc| basic(b, cc, &SATELLITE, 110));
pub(super) const DIAL_UP_60: Row = row("dial-up link, load 60 %", |b, cc| basic(b, cc, &DIAL_UP, 60));
pub(super) const DIAL_UP_85: Row = row("dial-up link, load 85 %", |b, cc| basic(b, cc, &DIAL_UP, 85));
pub(super) const DIAL_UP_110: Row = row("dial-up link, load 110 %", |b, cc| basic(b, cc, &DIAL_UP, 110));
pub(super) const BUFFER_10: Row = row("access link, load 85 %, buffer of 10 % of 100 ms", |b, cc| buffer(b, cc, 10));
pub(super) const BUFFER_20: Row = row("access link, load 85 %, buffer of 20 % of 100 ms", |b, cc| buffer(b, cc, 20));
pub(super) const BUFFER_50: Row = row("access link, load 85 %, buffer of 50 % of 100 ms", |b, cc| buffer(b, cc, 50));
pub(super) const BUFFER_100: Row = row("access link, load 85 %, buffer of 100 % of 100 ms", |b, cc| buffer(b, cc, 100));
pub(super) const BUFFER_200: Row = row("access link, load 85 %, buffer of 200 % of 100 ms", |b, cc| buffer(b, cc, 200));

fn basic(bench: &Bench<'_>, cc: &str, link: &Link, load: u32) -> Decision {
    judge(bench, cc, |cc| case(&format!("tcpeval-{}-{load}", link.name), cc, link, load), link)
}

fn buffer(bench: &Bench<'_>, cc: &str, percent: u32) -> Decision {
    let link = Link { buffer_ms: f64::from(percent), ..ACCESS };
    judge(bench, cc, |cc| case(&format!("tcpeval-buffer-{percent}"), cc, &link, 85), &link)
}

/// Judges the loss rate.
fn judge(bench: &Bench<'_>, cc: &str, case: impl Fn(&str) -> Case, link: &Link) -> Decision {
    let show = |loss: f64| format!("{:.2} % lost", 100.0 * loss);
    relative(bench, cc, Limit::AtMost { factor: 1.5, plus: 0.005 }, show, |bench, cc| {
        let run = bench.run(&case(cc))?;
        Ok(measured(&run, link))
    })
}

fn case(row: &str, cc: &str, link: &Link, load: u32) -> Case {
    // The central link, and 0.1 ms at each host.
    let rtt_ms = 2.0 * link.delay_ms + 0.4;
    let path = PathSpec { mbps: link.mbps, rtt_ms, buffer: link.buffer_ms / rtt_ms, queue: "\"drop-tail\"" };
    let load = f64::from(load) / 100.0;
    let keys = |load: f64, at: &str| {
        format!("kind = \"poisson\"\nsizes = {{ mixture = \"trim-http\" }}\nload = {load:.4}\nload-at = \"{at}\"")
    };
    // The load of the direction back is relative to the rate before the change.
    let back = load * link.back.map_or(1.0, |(rate, _)| rate / link.mbps);
    let forth = Traffic::of(cc, 3, &keys(load, "bottleneck"));
    let mut case =
        Case::new(row, path, link.seconds, vec![forth, Traffic::of(cc, 3, &keys(back, "uplinks")).between(Ends::Back)]);
    case.name = format!("{row}-{cc}");
    case.extra_delay = link.edges;
    case.tables = link.back.map(|(_, table)| table);
    case
}

/// Utilization, loss rate and mean queueing delay of both directions.
fn measured(run: &Outcome, link: &Link) -> Option<Measured> {
    let mut text = String::new();
    let mut judged = 0.0_f64;
    for (port, mbps) in [("bottleneck", link.mbps), ("bottleneck-back", link.back.map_or(link.mbps, |b| b.0))] {
        let p = run.port(port).filter(|p| p.arrived_pkts > 0)?;
        let loss = (p.dropped_overflow + p.dropped_early) as f64 / p.arrived_pkts as f64;
        let bits = p.arrived_bytes as f64 * 8.0 / p.arrived_pkts as f64;
        let delay_ms = p.queue_mean_pkts * bits / (mbps * 1e3);
        let comma = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{comma}{:.0} %, {:.2} %, {delay_ms:.3} ms", 100.0 * p.busy, 100.0 * loss);
        judged = judged.max(loss);
    }
    Some(Measured { judged, text })
}
