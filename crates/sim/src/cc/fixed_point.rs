//! Arithmetic of the Linux kernel: windows in whole segments, alpha in 1/1024, fixed point instead of real numbers. Every congestion control with
//! `arithmetic = "linux"` uses it, and equals the C core of the same name (`crates/kernel/bpf`) to the bit.

use super::Window;
use forebay_experiment::transport::{Profile, Transport};
use forebay_types::param::{Kind, Param, Value, Values, choices, optional};
use std::num::NonZeroU32;

/// Numbers that a congestion control computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Arithmetic {
    /// Real numbers, as in publications.
    #[default]
    Paper,
    /// Integers, as in the kernel.
    Linux,
}

/// Names in scenarios.
const WORDS: &[(&str, Arithmetic)] = &[("paper", Arithmetic::Paper), ("linux", Arithmetic::Linux)];

/// The parameter of most congestion controls.
pub(super) const ARITHMETIC: Param = optional(
    "arithmetic",
    Kind::Choice(&choices::<2, _>(WORDS)),
    "",
    "floating point, or the kernel's integers: windows of whole segments, fixed point; default: linux with stack = \"linux\", otherwise paper",
);

impl Arithmetic {
    /// The parameter [`ARITHMETIC`] in `v`.
    pub(super) fn of(v: &Values) -> Arithmetic {
        v.opt_choice("arithmetic", WORDS).unwrap_or_default()
    }
}

/// Fills in the arithmetic that the scenario leaves open: the stack `linux` computes as the kernel.
pub(super) fn by_stack(c: &mut Transport) {
    let name = if c.profile == Profile::Linux { "linux" } else { "paper" };
    c.cc.fill("arithmetic", Value::Text(name.into()));
}

/// One in fixed point with 16 bits behind the point.
pub(super) const ONE: u32 = 1 << 16;

/// `x` in fixed point with 16 bits behind the point, the nearest one.
pub(super) fn fixed(x: f64) -> u32 {
    (x * f64::from(ONE)).round() as u32
}

/// Whole segments of a window or a threshold; unlimited is TCP_INFINITE_SSTHRESH.
#[inline]
pub(super) fn segments(window: f64) -> u32 {
    (window as u32).min(if window.is_finite() { u32::MAX } else { 0x7fff_ffff })
}

/// Growth of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CwndGrowth {
    /// By fractions of a segment on every ACK.
    Fractional,
    /// By whole segments: acknowledged segments are counted until they suffice for the next step (`snd_cwnd_cnt`).
    WholeSegments {
        /// Segments since the last step, plus one, so that the other variant fits into the unused value and a connection is 8 bytes smaller.
        next: NonZeroU32,
    },
}

impl CwndGrowth {
    pub(super) fn new(arithmetic: Arithmetic) -> CwndGrowth {
        match arithmetic {
            Arithmetic::Paper => CwndGrowth::Fractional,
            Arithmetic::Linux => CwndGrowth::whole(0),
        }
    }

    /// Growth by whole segments, with this many since the last step.
    fn whole(counted: u32) -> CwndGrowth {
        CwndGrowth::WholeSegments { next: NonZeroU32::MIN.saturating_add(counted) }
    }

    /// Slow start below the threshold, one segment a window above (RFC 5681 section 3.1; Linux `tcp_reno_cong_avoid`).
    #[inline(always)]
    pub(super) fn reno(&mut self, w: &mut Window, grow: f64) {
        match self {
            CwndGrowth::Fractional => w.reno(grow),
            CwndGrowth::WholeSegments { .. } => self.reno_whole_segments(w, grow),
        }
    }

    /// Out of line, so that the growth by fractions stays short.
    #[inline(never)]
    fn reno_whole_segments(&mut self, w: &mut Window, grow: f64) {
        let left = CwndGrowth::slow_start(w, grow);
        self.step(w, segments(w.cwnd), left);
    }

    /// One segment a window, below the threshold too.
    #[inline]
    pub(super) fn additive(&mut self, w: &mut Window, grow: f64) {
        match self {
            CwndGrowth::Fractional => w.cwnd += grow / w.cwnd,
            CwndGrowth::WholeSegments { .. } => self.step(w, segments(w.cwnd), grow.ceil() as u32),
        }
    }

    /// Slow start as in Linux `tcp_slow_start`: returns the acknowledged segments left above the threshold. Windows stay whole, except with
    /// HyStart++, which Linux does not have.
    #[inline]
    pub(super) fn slow_start(w: &mut Window, grow: f64) -> u32 {
        let left = if w.in_slow_start() { w.slow_start(grow) } else { grow };
        left.ceil() as u32
    }

    /// Adds a segment for every `per_step` acknowledged ones (Linux `tcp_cong_avoid_ai`). For whole windows only.
    #[inline]
    pub(super) fn step(&mut self, w: &mut Window, per_step: u32, acked: u32) {
        let CwndGrowth::WholeSegments { next } = *self else { return };
        if acked == 0 {
            return;
        }
        let mut counted = next.get() - 1;
        let (mut cwnd, per_step) = (segments(w.cwnd), per_step.max(1));
        if counted >= per_step {
            // Credit from a time with larger steps counts once.
            counted = 0;
            cwnd = cwnd.saturating_add(1);
        }
        counted = counted.saturating_add(acked);
        let growth = counted / per_step;
        *self = CwndGrowth::whole(counted - growth * per_step);
        w.cwnd = f64::from(cwnd.saturating_add(growth));
    }

    /// Begins a reduction (Linux `tcp_init_cwnd_reduction`, `tcp_enter_loss`).
    #[inline]
    pub(super) fn reduced(&mut self) {
        if *self != CwndGrowth::Fractional {
            *self = CwndGrowth::whole(0);
        }
    }
}

/// Half of a window, at least 2 (Linux `tcp_reno_ssthresh`).
#[inline]
pub(super) fn halve(cwnd: f64) -> f64 {
    f64::from((segments(cwnd) >> 1).max(2))
}

/// -log2(x) of `x` in (0, 1], both with 16 bits behind the point: the bits of the logarithm by repeated squaring.
fn minus_log2(x: u32) -> u32 {
    let whole = if x < ONE { x.leading_zeros() - ONE.leading_zeros() } else { 0 };
    // In [1, 2) with 30 bits behind the point.
    let mut mantissa = u64::from(x) << (whole + 14);
    let mut fraction = 0;
    for bit in (0..16).rev() {
        mantissa = (mantissa * mantissa) >> 30;
        if mantissa >> 31 > 0 {
            mantissa >>= 1;
            fraction |= 1 << bit;
        }
    }
    (whole << 16) - fraction
}

/// 2^-(2^-i) for i from 1 on, with 30 bits behind the point.
const FACTORS: [u64; 16] = [
    759250125, 902905651, 984625594, 1028218693, 1050733751, 1062175491, 1067942999, 1070838486, 1072289173, 1073015252,
    1073378477, 1073560135, 1073650976, 1073696399, 1073719111, 1073730468,
];

/// 2^-x, both with 16 bits behind the point.
fn exp2_minus(x: u32) -> u32 {
    if x >> 16 > 16 {
        return 0;
    }
    let mut power = 1u64 << 30;
    for (i, factor) in FACTORS.iter().enumerate() {
        if x >> (15 - i) & 1 == 1 {
            power = (power * factor) >> 30;
        }
    }
    (power >> (14 + (x >> 16))) as u32
}

/// x^y of `x` in [0, 1] and `y` above 0, with 16 bits behind the points. Exact for y = 1.
pub(super) fn power(x: u32, y: u32) -> u32 {
    if x == 0 || y == ONE {
        return x;
    }
    let log = (u64::from(minus_log2(x)) * u64::from(y)) >> 16;
    if log >> 16 > 16 { 0 } else { exp2_minus(log as u32) }
}

/// The cube root as tcp_cubic.c has it (`cubic_root`): a table of 64 roots and one step of Newton's method; off by 0.2 % on average.
pub(super) fn cube_root(a: u64) -> u32 {
    let bits = 64 - a.leading_zeros();
    if bits < 7 {
        return (u32::from(ROOTS[a as usize]) + 35) >> 6;
    }
    // The leading bits, in groups of three: the root has a third of them.
    let third = ((bits * 84) >> 8) - 1;
    let guess = ((u32::from(ROOTS[(a >> (third * 3)) as usize]) + 10) << third) >> 6;
    let divisor = u64::from(guess) * u64::from(guess.wrapping_sub(1));
    let refined = guess.wrapping_mul(2).wrapping_add(a.checked_div(divisor).unwrap_or(0) as u32);
    ((u64::from(refined) * 341) >> 10) as u32
}

/// About 64 cbrt(x) of x from 0 to 63: the initial values in Linux (`cubic_root`) and Chromium (`kCubeRootTable`). The time to the plateau depends on
/// them.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179, 181, 185,
    187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232, 234,
    236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Threshold;

    #[test]
    fn powers_are_near_the_real_ones() {
        for alpha in 1..=1024u32 {
            for y in (8192..=163_840).step_by(4096) {
                let real = (f64::from(alpha) / 1024.0).powf(f64::from(y) / 65_536.0);
                let whole = f64::from(power(alpha << 6, y)) / 65_536.0;
                // 16 bits of logarithm, times up to 2.5, and 16 of the result.
                assert!((real - whole).abs() < 5e-5, "{alpha} {y}: {real} {whole}");
            }
            assert_eq!(power(alpha << 6, ONE), alpha << 6);
        }
        assert_eq!((power(0, 3 * ONE), power(ONE, 3 * ONE), power(1, 40 * ONE)), (0, ONE, 0));
    }

    #[test]
    fn cube_roots_match_the_kernel() {
        let mut worst = 0.0f64;
        let mut a = 64u64;
        while a < 1 << 50 {
            worst = worst.max((f64::from(cube_root(a)) / (a as f64).cbrt() - 1.0).abs() - 1.0 / (a as f64).cbrt());
            a += a / 13 + 1;
        }
        assert!(worst < 0.01, "{worst}");
        assert_eq!((cube_root(0), cube_root(8), cube_root(27), cube_root(1_000_000)), (0, 2, 3, 100));
    }

    /// All numbers up to 2^20: less than one from the exact root.
    #[test]
    fn exhaustive_cube_roots_are_near() {
        for a in 0..1_u64 << 20 {
            let (root, exact) = (f64::from(cube_root(a)), (a as f64).cbrt());
            assert!((root - exact).abs() < 1.0, "{a}: {root}");
        }
    }

    #[test]
    fn steps_count_acknowledged_segments() {
        let mut growth = CwndGrowth::new(Arithmetic::Linux);
        let mut w = Window { cwnd: 10.0, ssthresh: Threshold::at(12.0) };
        // Slow start to the threshold; the rest counts.
        growth.reno(&mut w, 5.0);
        assert_eq!((w.cwnd, growth), (12.0, CwndGrowth::whole(3)));
        for _ in 0..8 {
            growth.reno(&mut w, 1.0);
        }
        assert_eq!(w.cwnd, 12.0);
        growth.reno(&mut w, 1.0);
        assert_eq!((w.cwnd, growth), (13.0, CwndGrowth::whole(0)));
        growth.reno(&mut w, 40.0);
        assert_eq!((w.cwnd, growth), (16.0, CwndGrowth::whole(1)));
        growth.reduced();
        assert_eq!(growth, CwndGrowth::whole(0));
    }
}
