//! Analysis of TCP-TRIM: the interval of the RTT threshold K, the buffers it requires, and the asynchronous timer (TRIM section III).

use crate::error::{above, closed};
use crate::{ModelError, Pipe};

/// Interval of K (TRIM Eq. 26).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KInterval {
    /// Lower bound max((sqrt(2 C D) - 1)^2 / C, D) (Eqs. 21, 22), s: above it a synchronized reduction does not empty the queue for any N.
    /// Sufficient, not necessary: the derivation is conservative by N/2 packets.
    pub lower: f64,
    /// Upper bound (B + C D) / (2 C) (Eq. 25), s: below it slow start does not overflow the buffer.
    pub upper: f64,
    /// sqrt(2 C D) - 1: number of flows that requires the lower bound (stationary point of Eq. 19). Below 1, where C D is below 2 packets, no number
    /// of flows requires more than D.
    pub worst_flows: f64,
    /// C (lower - D): queue at the lower bound, packets.
    pub queue_at_lower: f64,
}

impl KInterval {
    /// Returns true if no K satisfies both bounds: the buffer is too small (Eq. 27 fails).
    pub fn is_empty(&self) -> bool {
        self.lower >= self.upper
    }
}

/// The interval of K for a bottleneck buffer of `buffer` packets (B, above 0; infinite: unlimited).
///
/// # Errors
/// Names `buffer`.
pub fn k_interval(pipe: &Pipe, buffer: f64) -> Result<KInterval, ModelError> {
    above("buffer", buffer, 0.0, f64::INFINITY)?;
    let (c, x) = (pipe.capacity(), pipe.bdp());
    let (worst_flows, lower) = lower_bound(x);
    Ok(KInterval { lower: lower / c, upper: (buffer + x) / (2.0 * c), worst_flows, queue_at_lower: lower - x })
}

/// Number of flows that requires the lower bound, and the bound in packets, for a bandwidth-delay product of `x` packets.
fn lower_bound(x: f64) -> (f64, f64) {
    let worst_flows = (2.0 * x).sqrt() - 1.0;
    // Below 5.83 packets the square is less than D. Below 0.17 packets it exceeds D again, but for a negative number of flows. For one flow or more
    // the function whose maximum it is (Eq. 16) decreases, and stays below D.
    let square = if worst_flows > 1.0 { worst_flows * worst_flows } else { 0.0 };
    (worst_flows, square.max(x))
}

/// Infimum of the buffers with a non-empty interval, packets (Eq. 28: B > 3 C D - 4 sqrt(2 C D) + 2; B > C D if the lower bound is D). The examples
/// printed with the equation (52 KB and 331 KB) do not follow from it: it gives 43.7 and 301.5 KB.
pub fn smallest_buffer(pipe: &Pipe) -> f64 {
    let x = pipe.bdp();
    2.0 * lower_bound(x).1 - x
}

/// K of a sender in seconds: the lower bound, or the upper bound if the interval is empty, and at least `guard` packet times above D (0 to 1e6).
/// Without the guard a small buffer gives K < D, which keeps all windows at the minimum.
///
/// # Errors
/// Names `buffer` (above 0) or `guard`.
pub fn threshold(pipe: &Pipe, buffer: f64, guard: f64) -> Result<f64, ModelError> {
    closed("guard", guard, 0.0, 1e6)?;
    let interval = k_interval(pipe, buffer)?;
    let k = if interval.is_empty() { interval.upper } else { interval.lower };
    Ok(k.max((pipe.bdp() + guard) / pipe.capacity()))
}

/// Smallest queue, in packets, after a single reduction of `flows` (N, 1 to 1 000 000) synchronized flows at threshold `k` (s, above 0). Negative:
/// the link idles (Eqs. 4 to 12; the sum itself, not its bound).
///
/// # Errors
/// Names `flows` or `k`.
pub fn queue_after_cut(pipe: &Pipe, flows: u64, k: f64) -> Result<f64, ModelError> {
    crate::error::integer("flows", flows, 1, 1_000_000)?;
    above("k", k, 0.0, 1e6)?;
    let (n, ck) = (flows as f64, pipe.capacity() * k);
    // The j-th extra packet of the round has an RTT of K + j/C and reduces by ep/2 (Eqs. 2, 3).
    let sum: f64 = (1..=flows).map(|j| j as f64 / (ck + j as f64)).sum();
    Ok(ck - pipe.bdp() + n - (ck + n) / (2.0 * n) * sum)
}

/// Bounds of the wait after probing (AS).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AsWait {
    /// Shortest wait without drops as printed, ((N - 2) W - B) / (2 C), s, which counts the served packets twice (after Eq. 31). 0 if negative.
    pub lower_printed: f64,
    /// Shortest wait without drops, ((N - 1) W - B) / C, s. 0 if negative.
    pub lower: f64,
    /// Upper bound of random waits, (N - 1) W / C (Eq. 33), s: neither queue nor idle link.
    pub upper: f64,
}

/// Bounds of the AS wait when `flows` senders (N, 1 to 1e9) have `window` packets each (W, above 0, at most 1e9) to send into a buffer of
/// `buffer` packets (B, 0 or more). N may be an estimate, and so a fraction.
///
/// # Errors
/// Names `flows`, `window` or `buffer`.
pub fn as_wait(pipe: &Pipe, flows: f64, window: f64, buffer: f64) -> Result<AsWait, ModelError> {
    closed("flows", flows, 1.0, 1e9)?;
    above("window", window, 0.0, 1e9)?;
    closed("buffer", buffer, 0.0, f64::INFINITY)?;
    let c = pipe.capacity();
    Ok(AsWait {
        lower_printed: (((flows - 2.0) * window - buffer) / (2.0 * c)).max(0.0),
        lower: (((flows - 1.0) * window - buffer) / c).max(0.0),
        upper: (flows - 1.0) * window / c,
    })
}

/// A sender's estimate of N from the RTT of a probe (s, above 0, at most 1e6): max(1, RTT C / 2), because each flow has two probes in flight.
///
/// # Errors
/// Names `probe_rtt`.
pub fn estimated_flows(pipe: &Pipe, probe_rtt: f64) -> Result<f64, ModelError> {
    Ok((above("probe_rtt", probe_rtt, 0.0, 1e6)? * pipe.capacity() / 2.0).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::{Rate, Time};

    fn pipe(gbps: f64, packet: u64, us: f64) -> Pipe {
        Pipe::new(Rate((gbps * 1e9) as u64), packet, Time((us * 1e6) as u64)).unwrap()
    }

    fn close(a: f64, b: f64, digits: f64) {
        assert!((a - b).abs() <= digits, "{a} and {b}");
    }

    /// C D, N*, LB in packets and us, queue at LB, smallest buffer in packets and KB; D as printed, without serialization.
    #[test]
    fn lower_bound_table() {
        for (gbps, packet, us, cd, worst, lb, lb_us, queue, b_min, b_kb) in [
            (1.0, 1460, 200.0, 17.12, 4.85, 23.54, 274.98, 6.42, 29.96, 43.74),
            (1.0, 1460, 223.36, 19.12, 5.18, 26.88, 313.93, 7.75, 34.6, 50.6),
            (10.0, 1460, 100.0, 85.62, 12.09, 146.06, 170.60, 60.45, 206.5, 301.5),
            (10.0, 1460, 150.0, 128.4, 15.03, 225.8, 263.7, 97.4, 323.2, 471.8),
            (1.0, 1500, 200.0, 16.67, 4.77, 22.79, 273.44, 6.12, 28.91, 43.36),
            (10.0, 1500, 100.0, 83.33, 11.91, 141.85, 170.22, 58.51, 200.4, 300.54),
        ] {
            let p = pipe(gbps, packet, us);
            let k = k_interval(&p, 100.0).unwrap();
            close(p.bdp(), cd, 0.05);
            close(k.worst_flows, worst, 0.005);
            close(k.lower * p.capacity(), lb, 0.05);
            close(k.lower * 1e6, lb_us, 0.05);
            close(k.queue_at_lower, queue, 0.05);
            close(smallest_buffer(&p), b_min, 0.06);
            close(smallest_buffer(&p) * packet as f64 / 1000.0, b_kb, 0.06);
            // Eq. 28 is where the interval opens.
            let empty = |b: f64| k_interval(&p, b).unwrap().is_empty();
            assert!(empty(smallest_buffer(&p) * 0.999) && !empty(smallest_buffer(&p) * 1.001));
        }
    }

    #[test]
    fn upper_bound_table() {
        for (gbps, us, buffer, upper_us, empty) in [
            (1.0, 200.0, 100.0, 684.0, false),
            (10.0, 100.0, 100.0, 108.4, true),
            (10.0, 100.0, 350e3 / 1460.0, 190.0, false),
            (10.0, 100.0, 512e3 / 1460.0, 254.8, false),
            // E9: below D.
            (10.0, 150.0, 128.0 * 1024.0 / 1460.0, 127.4, true),
        ] {
            let k = k_interval(&pipe(gbps, 1460, us), buffer).unwrap();
            close(k.upper * 1e6, upper_us, 0.06);
            assert_eq!(k.is_empty(), empty);
        }
        // E9: 10 Gbit/s, 300 us, 350 KB: 0.97 D.
        close(k_interval(&pipe(10.0, 1460, 300.0), 350e3 / 1460.0).unwrap().upper / 300e-6, 0.97, 0.005);
    }

    /// E11: below 5.83 packets the bound is D itself; the guard keeps K off it. E9: K never falls below D.
    #[test]
    fn small_pipes_and_small_buffers() {
        let p = pipe(0.1, 1460, 250.0);
        close(p.bdp(), 2.14, 0.01);
        assert_eq!(k_interval(&p, 100.0).unwrap().lower, p.bdp() / p.capacity());
        assert_eq!(smallest_buffer(&p), p.bdp());
        close(threshold(&p, 100.0, 3.0).unwrap() * p.capacity(), p.bdp() + 3.0, 1e-9);
        // A tenth of a packet: the square, 0.306 packets, is that of -0.55 flows.
        let p = pipe(0.01, 1250, 100.0);
        close(p.bdp(), 0.1, 1e-12);
        close(k_interval(&p, 100.0).unwrap().lower * p.capacity(), 0.1, 1e-12);
        let p = pipe(10.0, 1460, 150.0);
        close(threshold(&p, 89.0, 3.0).unwrap() * 1e6, 150.0 + 3.0 * 1.168, 1e-6);
        let p = pipe(1.0, 1460, 200.0);
        assert_eq!(threshold(&p, 100.0, 3.0).unwrap(), k_interval(&p, 100.0).unwrap().lower);
        assert_eq!(threshold(&p, f64::INFINITY, 3.0).unwrap(), k_interval(&p, 100.0).unwrap().lower);
    }

    /// E2: the exact condition has N/2 packets to spare for every K >= D.
    #[test]
    fn the_bound_is_loose() {
        let p = pipe(1.0, 1460, 200.0);
        let k = k_interval(&p, 100.0).unwrap().lower;
        close(queue_after_cut(&p, 5, k).unwrap(), 9.84, 0.005);
        close(queue_after_cut(&p, 5, 200e-6).unwrap(), 3.40, 0.005);
        for n in 1..=200 {
            for k in [200e-6, 275e-6, 684e-6] {
                let queue = queue_after_cut(&p, n, k).unwrap();
                assert!(queue >= p.capacity() * k - p.bdp() + n as f64 / 2.0 - 1e-9, "{n} {k}: {queue}");
            }
        }
    }

    #[test]
    fn asynchronous_timer() {
        let p = pipe(1.0, 1460, 200.0);
        for (n, printed, lower, upper) in [(40.0, 1.64, 3.39, 4.56), (100.0, 5.14, 10.40, 11.56)] {
            let w = as_wait(&p, n, 10.0, 100.0).unwrap();
            close(w.lower_printed * 1e3, printed, 0.006);
            close(w.lower * 1e3, lower, 0.006);
            close(w.upper * 1e3, upper, 0.006);
        }
        assert_eq!(as_wait(&p, 1.0, 10.0, 100.0).unwrap(), AsWait { lower_printed: 0.0, lower: 0.0, upper: 0.0 });
        // On an idle path, and the longest wait with W = 20.
        for (gbps, us, estimate, ms) in [(1.0, 200.0, 8.6, 1.77), (10.0, 100.0, 42.8, 0.98), (10.0, 150.0, 64.2, 1.48)] {
            let p = pipe(gbps, 1460, us);
            let n = estimated_flows(&p, us * 1e-6).unwrap();
            close(n, estimate, 0.05);
            close(as_wait(&p, n, 20.0, 0.0).unwrap().upper * 1e3, ms, 0.01);
        }
        assert_eq!(estimated_flows(&p, 1e-9).unwrap(), 1.0);
    }

    #[test]
    fn bad_input_is_named() {
        let p = pipe(1.0, 1460, 200.0);
        for bad in [0.0, -1.0, f64::NAN] {
            assert_eq!(k_interval(&p, bad).unwrap_err().argument, "buffer");
            assert_eq!(threshold(&p, bad, 3.0).unwrap_err().argument, "buffer");
            assert_eq!(queue_after_cut(&p, 5, bad).unwrap_err().argument, "k");
            assert_eq!(estimated_flows(&p, bad).unwrap_err().argument, "probe_rtt");
            assert_eq!(as_wait(&p, bad, 1.0, 1.0).unwrap_err().argument, "flows");
            assert_eq!(as_wait(&p, 2.0, bad, 1.0).unwrap_err().argument, "window");
        }
        assert_eq!(as_wait(&p, 2.0, 1.0, f64::NAN).unwrap_err().argument, "buffer");
        assert_eq!(threshold(&p, 1.0, f64::NAN).unwrap_err().argument, "guard");
        assert_eq!(queue_after_cut(&p, 0, 1e-3).unwrap_err().argument, "flows");
    }
}
