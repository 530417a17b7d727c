//! The RTT threshold K (TRIM section 2.4 (f)). Times in ps, rates in packets per ps, queues in packets.

/// Position of K in its interval. TRIM A12: not stated for any experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Policy {
    /// At the lower bound: the shortest queue.
    Lower,
    /// In the middle.
    Mid,
    /// At the upper bound.
    Upper,
    /// This many ps, regardless of the interval.
    Explicit(f64),
}

/// Lower and upper bound of K (Eq. 26) for an RTT of `d` on the empty path, a bottleneck of rate `c` and its buffer of `b`.
pub(super) fn interval(c: f64, d: f64, b: f64) -> (f64, f64) {
    let pipe = c * d;
    let root = (2.0 * pipe).sqrt() - 1.0;
    // Below 5.83 packets the square is less than D (TRIM E11); below 0.17 it would be larger again, for a negative number of flows.
    let square = if root > 1.0 { root * root } else { 0.0 };
    let lower = square.max(pipe) / c;
    (lower, (b + pipe) / (2.0 * c))
}

/// Computes K. If the interval is empty because the buffer is small, K is its upper end (TRIM 2.4 (f)). In any case K is at least `guard` packet
/// times above `d`: otherwise a small buffer would give K < D and pin all windows at the floor (TRIM E9).
pub(super) fn threshold(policy: Policy, c: f64, d: f64, b: f64, guard: f64) -> f64 {
    let (lower, upper) = interval(c, d, b);
    let k = match policy {
        Policy::Explicit(k) => k,
        Policy::Lower | Policy::Mid | Policy::Upper if lower >= upper => upper,
        Policy::Lower => lower,
        // Our choice: an unlimited buffer gives no upper bound; the lower one still holds.
        Policy::Mid | Policy::Upper if upper.is_infinite() => lower,
        Policy::Mid => (lower + upper) / 2.0,
        Policy::Upper => upper,
    };
    k.max(d + guard / c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets per ps.
    fn rate(bps: f64, packet: f64) -> f64 {
        bps / 8.0 / packet / 1e12
    }

    /// TRIM 3.1, table of the lower bound: C, D, packet -> CD, LB in packets, LB in us, smallest buffer in packets.
    #[test]
    fn lower_bound() {
        for (bps, us, packet, cd, lb, lb_us, b_min) in [
            (1e9, 200.0, 1460.0, 17.12, 23.54, 274.98, 29.96),
            (1e9, 223.36, 1460.0, 19.12, 26.88, 313.93, 34.6),
            (1e10, 100.0, 1460.0, 85.62, 146.06, 170.60, 206.5),
            (1e10, 150.0, 1460.0, 128.4, 225.8, 263.7, 323.2),
            (1e9, 200.0, 1500.0, 16.67, 22.79, 273.44, 28.91),
            (1e10, 100.0, 1500.0, 83.33, 141.85, 170.22, 200.4),
        ] {
            let (c, d) = (rate(bps, packet), us * 1e6);
            let (lower, _) = interval(c, d, 100.0);
            let close = |a: f64, b: f64, digits: f64| assert!((a - b).abs() <= digits, "{bps} {us} {packet}: {a} and {b}");
            close(c * d, cd, 0.05);
            close(lower * c, lb, 0.05);
            close(lower / 1e6, lb_us, 0.05);
            // Eq. 28 is where the interval opens.
            close(3.0 * c * d - 4.0 * (2.0 * c * d).sqrt() + 2.0, b_min, 0.1);
            let opens = |b: f64| interval(c, d, b).0 < interval(c, d, b).1;
            assert!(!opens(b_min - 0.1) && opens(b_min + 0.1));
        }
    }

    /// TRIM 3.2.
    #[test]
    fn upper_bound() {
        for (bps, us, b, upper_us) in [
            (1e9, 200.0, 100.0, 684.0),
            (1e10, 100.0, 100.0, 108.4),
            (1e10, 100.0, 239.7, 190.0),
            (1e10, 100.0, 512e3 / 1460.0, 254.8),
        ] {
            let (_, upper) = interval(rate(bps, 1460.0), us * 1e6, b);
            assert!((upper / 1e6 - upper_us).abs() < 0.1, "{upper}");
        }
    }

    #[test]
    fn policies() {
        let (c, d, b) = (rate(1e9, 1460.0), 200e6, 100.0);
        let (lower, upper) = interval(c, d, b);
        let k = |policy| threshold(policy, c, d, b, 3.0);
        assert_eq!((k(Policy::Lower), k(Policy::Upper), k(Policy::Mid)), (lower, upper, (lower + upper) / 2.0));
        assert_eq!(k(Policy::Explicit(300e6)), 300e6);
        assert_eq!(k(Policy::Explicit(1e6)), d + 3.0 / c);
        assert_eq!(threshold(Policy::Upper, c, d, f64::INFINITY, 3.0), lower);
        // E11: a pipe of 2.1 packets; the bound is D itself, the guard keeps K off it.
        let c = rate(1e8, 1460.0);
        assert_eq!(interval(c, 250e6, 100.0).0, 250e6);
        assert_eq!(threshold(Policy::Lower, c, 250e6, 100.0, 3.0), 250e6 + 3.0 / c);
        // E9: UB = 127.4 us below D = 150 us.
        let (c, b) = (rate(1e10, 1460.0), 89.0);
        assert!((interval(c, 150e6, b).1 / 1e6 - 127.4).abs() < 1.0);
        assert_eq!(threshold(Policy::Lower, c, 150e6, b, 3.0), 150e6 + 3.0 / c);
        assert!(threshold(Policy::Upper, c, 150e6, b, 0.0) >= 150e6);
    }
}
