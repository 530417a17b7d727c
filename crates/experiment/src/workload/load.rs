//! Conversion of a load to an arrival rate: flows per second = load * reference rate / (8 * mean bytes of a flow).

use super::{BuildError, Context};
use crate::topology::{attached_port, find_port, racks, uplink_rate};
use forebay_types::param::Values;
use forebay_types::{NodeId, SizeDist, math};
use std::collections::BTreeSet;

/// One flow per nanosecond. Rounding gaps down to picoseconds adds one arrival in 2000 at this rate.
pub(super) const MAX_FLOWS_PER_SEC: f64 = 1e9;

/// Arrival rate by the parameters `rate`, or `load`, `load-of` and `load-at`. `crossing` is the share of flows that leave the switch of their source.
pub(super) fn flows_per_sec(
    values: &Values,
    context: &Context<'_>,
    from: &[NodeId],
    crossing: f64,
    sizes: &SizeDist,
) -> Result<f64, BuildError> {
    let load = match (values.opt_float("load"), values.opt_float("rate")) {
        (Some(load), None) => load,
        (None, Some(rate)) => return Ok(rate),
        (None, None) => {
            return Err(BuildError::new("load", "set `load` (a fraction of a link rate) or `rate` (flows per second)"));
        }
        (Some(_), Some(_)) => return Err(BuildError::new("rate", "`load` and `rate` exclude each other")),
    };
    let hosts = || {
        let attached = attached_port(context.network);
        let rate = |h: &NodeId| attached[NodeId::from_index(h.index())].map_or(0.0, |p| context.network.ports[p].rate.0 as f64);
        from.iter().map(rate).sum::<f64>()
    };
    let reference = match values.text("load-at").as_str() {
        "bottleneck" => match find_port(context.network, "bottleneck") {
            Some(port) => context.network.ports[port].rate.0 as f64,
            None => {
                return Err(BuildError::new(
                    "load-at",
                    "this topology names no port `bottleneck`; use `hosts`, the sum of the sending hosts' rates",
                ));
            }
        },
        "uplinks" => uplinks(context, from, crossing)?,
        "tightest" => hosts().min(uplinks(context, from, crossing)?),
        _ => hosts(),
    };
    let mean = match values.text("load-of").as_str() {
        "wire" => mean_wire_bytes(sizes, context.tcp.mss, context.tcp.header),
        _ => sizes.mean().max(1.0),
    };
    let rate = load * reference / (8.0 * mean);
    if !(rate > 0.0 && rate <= MAX_FLOWS_PER_SEC) {
        return Err(BuildError::new(
            "load",
            format!("`load` gives {rate:e} flows per second; legal: at most {MAX_FLOWS_PER_SEC:e}"),
        ));
    }
    Ok(rate)
}

/// Rate of flows, in bits per second, that fills the uplinks of the sources' switches.
fn uplinks(context: &Context<'_>, from: &[NodeId], crossing: f64) -> Result<f64, BuildError> {
    let rack = racks(context.network);
    let sources: BTreeSet<NodeId> = from.iter().map(|f| rack[*f]).collect();
    let sum: f64 = sources.iter().map(|&r| uplink_rate(context.network, r)).sum();
    if sum == 0.0 || crossing == 0.0 {
        return Err(BuildError::new(
            "load-at",
            "no flow crosses a link between switches; use `hosts`, the sum of the sending hosts' rates",
        ));
    }
    Ok(sum / crossing)
}

/// Mean wire bytes of a flow's data segments: its size plus `header` for each segment of at most `mss` payload bytes. ACKs, SYNs, FINs and
/// retransmissions are not counted, because they are not offered traffic.
pub fn mean_wire_bytes(sizes: &SizeDist, mss: u32, header: u32) -> f64 {
    sizes.mean().max(1.0) + mean_segments(sizes, f64::from(mss)) * f64::from(header)
}

/// E[ceil(size / mss)], in closed form if there is one.
fn mean_segments(sizes: &SizeDist, mss: f64) -> f64 {
    let mean = match sizes {
        SizeDist::Const(n) => (*n as f64 / mss).ceil(),
        // Uniform on the integers lo..=hi is the round-up of uniform on the reals between lo - 1 and hi.
        SizeDist::Uniform(lo, hi) => segments_between(lo.max(&1) - 1, *hi, mss),
        SizeDist::LogUniform(lo, hi) => log_uniform_segments(*lo, *hi, mss),
        // Sum over j of P(size > j mss), a geometric series; its limit for small x avoids cancellation.
        SizeDist::Exponential(mean) => match mss / (*mean as f64).max(1.0) {
            x if x < 1e-5 => 1.0 / x + 0.5,
            x if x < 700.0 => 1.0 / (1.0 - math::exp(-x)),
            _ => 1.0,
        },
        SizeDist::Table(table) => {
            let points = table.points();
            let atom = points[0].1 * (points[0].0 / mss).ceil().max(1.0);
            atom + points.windows(2).map(|w| (w[1].1 - w[0].1) * uniform_segments(w[0].0, w[1].0, mss)).sum::<f64>()
        }
        SizeDist::Mixture(m) => m.mean_of(|d| mean_segments(d, mss)),
    };
    mean.max(1.0)
}

fn segments_between(lo: u64, hi: u64, mss: f64) -> f64 {
    uniform_segments(lo as f64, hi as f64, mss)
}

/// Mean of ceil(x / mss) for x uniform on the reals between `a` and `b`.
fn uniform_segments(a: f64, b: f64, mss: f64) -> f64 {
    // The interval is too narrow for an exact difference of the integrals, and its middle is as accurate.
    if b - a <= 1e-6 * b {
        return ((a + b) / 2.0 / mss).ceil().max(1.0);
    }
    // Integral of ceil(t / mss) from 0 to x: whole segments 1, 2, ..., n and a part of the next.
    let integral = |x: f64| {
        let n = (x / mss).floor();
        mss * n * (n + 1.0) / 2.0 + (x - n * mss) * (n + 1.0)
    };
    (integral(b) - integral(a)) / (b - a)
}

fn log_uniform_segments(lo: u64, hi: u64, mss: f64) -> f64 {
    let (lo, hi) = (lo.max(1) as f64, hi.max(1) as f64);
    if lo >= hi {
        return (hi / mss).ceil();
    }
    let span = math::ln(hi) - math::ln(lo);
    // With a million terms, half a segment per flow is exact to one part in ten thousand.
    if hi / mss > 1e6 {
        return (hi - lo) / span / mss + 0.5;
    }
    // Sum over j of P(size > j mss); below lo that is 1.
    let first = (lo / mss).ceil();
    let mut sum = first;
    let mut j = first;
    while j * mss < hi {
        sum += (math::ln(hi) - math::ln((j * mss).max(1.0))) / span;
        j += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{Mixture, Rng, SizeTable};
    use std::sync::Arc;

    const WEBSEARCH: &str = include_str!("../../../../data/cdf/websearch.cdf");

    fn table(text: &str) -> SizeDist {
        SizeDist::Table(Arc::new(SizeTable::parse(text, "t").unwrap()))
    }

    #[test]
    fn closed_forms() {
        assert_eq!(mean_wire_bytes(&SizeDist::Const(1460), 1460, 40), 1500.0);
        assert_eq!(mean_wire_bytes(&SizeDist::Const(1461), 1460, 40), 1541.0);
        // 1..=2920: half the flows have one segment, half have two.
        assert_eq!(mean_segments(&SizeDist::Uniform(1, 2920), 1460.0), 1.5);
        // Table: 40 % at most one segment; the others uniform over segments 2 to 10.
        let t = table("0 0\n1460 0.4\n14600 1\n");
        assert!((mean_segments(&t, 1460.0) - (0.4 + 0.6 * 6.0)).abs() < 1e-12);
        // An atom: 15 % are exactly two segments.
        assert!((mean_segments(&table("2000 0.15\n2000 1"), 1460.0) - 2.0).abs() < 1e-12);
        // Web search: nearly half a segment more than mean / mss.
        let expected = 1_711_250.0 / 1460.0 + 0.5;
        assert!((mean_segments(&table(WEBSEARCH), 1460.0) - expected).abs() < 0.1);
    }

    #[test]
    fn sampled_segments_agree() {
        let dists = [
            SizeDist::Uniform(500, 9_000),
            SizeDist::LogUniform(100, 1_000_000),
            SizeDist::LogUniform(3_000, 3_000),
            SizeDist::Exponential(4_000),
            SizeDist::Exponential(1),
            table(WEBSEARCH),
            table("0 0\n100 0.5\n5000 1\n"),
            SizeDist::Mixture(Arc::new(
                Mixture::new(vec![(1.0, SizeDist::Const(4_000)), (3.0, SizeDist::LogUniform(512, 4_096))]).unwrap(),
            )),
        ];
        for d in dists {
            let mut rng = Rng::stream(5, &[]);
            let n = 200_000;
            let mean = (0..n).map(|_| d.sample(&mut rng).div_ceil(1448) as f64).sum::<f64>() / f64::from(n);
            let expected = mean_segments(&d, 1448.0);
            assert!((mean / expected - 1.0).abs() < 0.02, "{d:?}: sampled {mean}, computed {expected}");
        }
    }

    #[test]
    fn extremes_stay_finite() {
        for d in [
            SizeDist::Const(0),
            SizeDist::Const(u64::MAX),
            SizeDist::Uniform(0, u64::MAX),
            SizeDist::Uniform(0, 0),
            SizeDist::LogUniform(0, 0),
            SizeDist::LogUniform(1, u64::MAX),
            SizeDist::Exponential(0),
            SizeDist::Exponential(u64::MAX),
            table("0 0\n1e15 1"),
        ] {
            let w = mean_wire_bytes(&d, 1460, 40);
            assert!(w.is_finite() && w >= 1.0, "{d:?}: {w}");
        }
        // Both sides of the switch to the approximation.
        let (below, above) = (SizeDist::LogUniform(1, 1_459_000_000), SizeDist::LogUniform(1, 1_461_000_000));
        let ratio = mean_segments(&above, 1460.0) / mean_segments(&below, 1460.0);
        assert!((ratio - 1.0).abs() < 2e-3, "{ratio}");
    }
}
