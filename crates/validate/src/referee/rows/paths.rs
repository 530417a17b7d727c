//! Paths that change, lose packets, or are long (RFC 9743 sections 6.2 to 6.4 and 7.3 to 7.9).

use crate::referee::bench::{Bench, Outcome};
use crate::referee::network::{BATCHES, COMMON, Case, LATE, PathSpec, Traffic};
use crate::referee::row::{Band, Measure, Number, Row};
use crate::referee::samples::Samples;
use forebay_analysis::Dimension;

const GROUP: &str = "paths";

/// Time of a change, and of its end, s.
const CHANGE: (f64, f64) = (10.0, 25.0);

pub(crate) const ROWS: &[Row] = &[
    Row {
        group: GROUP,
        name: "rate 10 to 50 Mbit/s: time to 80 %",
        source: "RFC 9743 7.9 (relative)",
        measure: Measure::Number(rise, Dimension::Seconds, Band::AtMost { factor: 1.5, plus: 0.5 }),
    },
    Row {
        group: GROUP,
        name: "rate 50 to 10 Mbit/s: loss rate in 15 s",
        source: "RFC 9743 7.9 (relative)",
        measure: Measure::Number(fall, Dimension::Fraction, Band::AtMost { factor: 3.0, plus: 0.0 }),
    },
    goodput_row("RTT 40 to 140 ms: goodput afterwards", "RFC 9743 7.3 (relative)", longer),
    goodput_row("RTT 140 to 40 ms: goodput afterwards", "RFC 9743 7.3 (relative)", shorter),
    goodput_row("random loss of 1 %: goodput", "RFC 9743 6.4 (relative)", lossy),
    goodput_row("RTT of 600 ms at 10 Mbit/s: goodput", "RFC 9743 7.5 (relative)", satellite),
    goodput_row("packets in batches of 5 ms: goodput", "RFC 9743 6.4 (relative)", batched),
    goodput_row("one ACK for 16 segments: goodput", "RFC 9743 7.6 (relative)", thinned),
    goodput_row("one packet in ten 8 ms late: goodput", "RFC 9743 7.7 (relative)", reordered),
    goodput_row("tunnel with 60 bytes of headers: goodput", "RFC 9743 6.2 (relative)", tunnel),
    goodput_row("1 Gbit/s, RTT 5 ms: goodput", "RFC 9743 6.3 (relative)", wired),
    goodput_row("receive window of 4 segments: goodput", "RFC 9743 7.4 (relative)", constrained),
    goodput_row("UDP of 80 % for 1 s in 5 s: goodput", "RFC 9743 7.8 (relative)", bursts),
];

const fn goodput_row(name: &'static str, source: &'static str, measure: fn(&Bench<'_>, &str) -> Number) -> Row {
    let band = Band::AtLeast { factor: 0.9 };
    Row { group: GROUP, name, source, measure: Measure::Number(measure, Dimension::BitsPerSecond, band) }
}

fn reordered(bench: &Bench<'_>, cc: &str) -> Number {
    bench.mean(&Case { tables: Some(LATE), ..Case::new("reordering", COMMON, 20.0, one(cc)) }, Outcome::goodput)
}

fn batched(bench: &Bench<'_>, cc: &str) -> Number {
    Ok(bench.run(&Case { tables: Some(BATCHES), ..Case::new("batches", COMMON, 20.0, one(cc)) })?.goodput())
}

/// Segments leave 60 bytes of a packet of 1500 to the tunnel.
fn tunnel(bench: &Bench<'_>, cc: &str) -> Number {
    let transport = Some("mss = 1388\nheader = 150");
    Ok(bench.run(&Case { transport, ..Case::new("tunnel", COMMON, 20.0, one(cc)) })?.goodput())
}

/// A wired network without losses but those of its queue.
fn wired(bench: &Bench<'_>, cc: &str) -> Number {
    let path = PathSpec { mbps: 1000.0, rtt_ms: 5.0, ..COMMON };
    Ok(bench.run(&Case::new("wired", path, 5.0, one(cc)))?.goodput())
}

/// A constrained node, whose memory suffices for a few segments (RFC 9006).
fn constrained(bench: &Bench<'_>, cc: &str) -> Number {
    let transport = Some("rcv-wnd = \"5840B\"");
    Ok(bench.run(&Case { transport, ..Case::new("constrained", COMMON, 20.0, one(cc)) })?.goodput())
}

/// Short bursts of traffic that does not respond.
fn bursts(bench: &Bench<'_>, cc: &str) -> Number {
    let udp = Traffic::datagrams("kind = \"udp\"\nrate = \"40Mbps\"\non = \"1s\"\noff = \"4s\"\nstop = \"29s\"");
    Ok(bench.run(&Case::new("udp-bursts", COMMON, 30.0, vec![Traffic::long(cc, 1), udp]))?.goodput())
}

/// The receiver sends fewer ACKs than RFC 5681 section 4.2 demands.
fn thinned(bench: &Bench<'_>, cc: &str) -> Number {
    Ok(bench.run(&Case { transport: Some("ack-every = 16"), ..Case::new("thinned", COMMON, 20.0, one(cc)) })?.goodput())
}

fn one(cc: &str) -> Vec<Traffic> {
    vec![Traffic::long(cc, 1)]
}

/// Time from the change until half a second is at 80 % of the new rate; the rest of the run if it never is.
fn rise(bench: &Bench<'_>, cc: &str) -> Number {
    const STEP: f64 = 0.1;
    let slow = PathSpec { mbps: 10.0, buffer: 5.0, ..COMMON };
    let run = bench.run(&Case::new("rate-up", slow, CHANGE.1, one(cc)).change(CHANGE.0, "rate = \"50Mbps\"").sampled("20ms"))?;
    let samples = Samples::of(&run);
    let steps = ((CHANGE.1 - CHANGE.0 - 0.5) / STEP) as usize;
    let reached =
        (0..steps).map(|i| CHANGE.0 + i as f64 * STEP).find(|t| samples.rate(*t, t + 0.5).is_some_and(|r| r >= 0.8 * 50e6));
    Ok(Some(reached.unwrap_or(CHANGE.1) + 0.5 - CHANGE.0))
}

fn fall(bench: &Bench<'_>, cc: &str) -> Number {
    let run =
        bench.run(&Case::new("rate-down", COMMON, CHANGE.1, one(cc)).change(CHANGE.0, "rate = \"10Mbps\"").sampled("20ms"))?;
    let samples = Samples::of(&run);
    let (Some(from), Some(last)) = (samples.before(CHANGE.0), samples.rows().last()) else { return Ok(None) };
    let first = samples.rows()[from];
    let segments = (last.bytes_acked - first.bytes_acked) as f64 / 1448.0;
    let lost = (last.retrans - first.retrans) as f64;
    Ok(Some(lost / (segments + lost).max(1.0)))
}

/// Goodput from five seconds after a change at `at` on, for ten seconds.
fn after(bench: &Bench<'_>, case: &Case, at: f64) -> Number {
    let run = bench.run(case)?;
    Ok(Samples::of(&run).rate(at + 5.0, at + 14.9))
}

/// Mean over five times of the change, two seconds apart. The window at the change decides, and Reno takes ten seconds from one reduction to the next.
fn longer(bench: &Bench<'_>, cc: &str) -> Number {
    let mut sum = 0.0;
    for i in 0..5 {
        let at = CHANGE.0 + 2.0 * f64::from(i);
        let row = if i == 0 { "rtt-up".into() } else { format!("rtt-up-at{at}s") };
        let case = Case::new(&row, COMMON, at + 15.0, one(cc)).change(at, "delay = \"119.8ms\"").sampled("20ms");
        let Some(goodput) = after(bench, &case, at)? else { return Ok(None) };
        sum += goodput;
    }
    Ok(Some(sum / 5.0))
}

fn shorter(bench: &Bench<'_>, cc: &str) -> Number {
    // The way back keeps its 19.8 ms, so that a delay of 119.8 ms makes the round trip 140 ms.
    let case = Case::new("rtt-down", COMMON, CHANGE.1, one(cc))
        .change(0.0, "delay = \"119.8ms\"")
        .change(CHANGE.0, "delay = \"19.8ms\"");
    after(bench, &case.sampled("20ms"), CHANGE.0)
}

fn lossy(bench: &Bench<'_>, cc: &str) -> Number {
    bench.mean(&Case::new("random-loss", COMMON, 20.0, one(cc)).change(0.0, "loss = \"1%\""), Outcome::goodput)
}

fn satellite(bench: &Bench<'_>, cc: &str) -> Number {
    let path = PathSpec { mbps: 10.0, rtt_ms: 600.0, ..COMMON };
    let run = bench.run(&Case::new("satellite", path, 60.0, one(cc)))?;
    Ok(run.goodput())
}
