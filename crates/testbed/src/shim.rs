//! ProBoSCIS on the running kernel: a BPF program with a daemon (`crates/hosts`). Translates the parameters of a scenario to those of the program and
//! the times of the daemon, and refuses those that neither supports.

use forebay_kernel::shims::{MISBEHAVING, SHIM, rules};
use forebay_shims::proboscis::{EcnMode, Ends, HoldOn, Release, Rules};
use forebay_types::Time;
use std::ops::RangeInclusive;

/// Name of the program.
pub const NAME: &str = "proboscis";
/// Why a build without the programs refuses it.
pub const UNAVAILABLE: &str = "on the running kernel the shim is a BPF program, which this build does not have; legal: a build with the feature `bpf` (clang, \
     libelf and zlib: tools/setup.sh --with-bpf, make build), no shim, or `world = \"linux\"`";
/// Probes of a train that is sent again, at most (`TRAIN_MOST` of the program).
const TRAIN_MOST: u64 = 128;
/// The only period of the timers of the daemon.
const TICK: Time = Time::from_ms(1);

/// Shim configuration from a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ShimConfig {
    /// Parameters of the program.
    pub params: Vec<(&'static str, u64)>,
    /// The scenario's configuration; times and sizes of the process are in it.
    pub rules: Rules,
}

/// `value` as a whole number of parts, each 1/`of`; `None` where it is none.
fn whole(value: f64, of: f64) -> Option<u64> {
    let parts = (value * of).round();
    ((parts / of - value).abs() < 1e-12).then_some(parts as u64)
}

/// Shift that divides by `1/g`; `None` if `g` is not a power of two in the program's range.
fn shift(g: f64) -> Option<u64> {
    (0..=10).find(|&n| g == f64::from(1_u32 << n).recip())
}

/// A pause in whole ms, as the program counts it; `None`: it cannot.
fn restart_ms(pause: Time) -> Option<u64> {
    let ms = pause.0 / Time::from_ms(1).0;
    (Time::from_ms(ms) == pause && (1..=60_000).contains(&ms)).then_some(ms)
}

/// Why this build does not run it at all, if it does not.
pub fn unavailable() -> Option<String> {
    (!cfg!(feature = "bpf")).then(|| UNAVAILABLE.to_owned())
}

/// Configuration of the shim with these numbers; `None` if there is no shim.
///
/// # Errors
/// A value that the program does not support, by the scenario's key, and the legal values.
pub fn config(numbers: &[u64; SHIM]) -> Result<Option<ShimConfig>, String> {
    if numbers[0] == MISBEHAVING {
        return Err("receivers of the running kernel keep the rules; legal: `proboscis`, or `world = \"linux\"`".into());
    }
    let Some(rules) = rules(numbers) else { return Ok(None) };
    let (shim, mss) = (&rules.c, u64::from(rules.mss));
    let floor = rules.least / mss.max(1);
    let refuse = |key: &str, legal: &str| {
        Err(format!("`{key}`: on the running kernel the shim is a BPF program; legal: {legal}, or `world = \"linux\"`"))
    };
    let numbers: [(&str, u64, RangeInclusive<u64>); 5] = [
        ("gamma", shim.gamma.into(), 1..=32),
        ("icwnd", shim.icwnd.into(), 1..=40),
        ("floor", floor, 1..=10),
        ("mss", mss, 536..=8_960),
        ("elephant-bytes", shim.elephant_bytes.unwrap_or(1), 1..=1 << 30),
    ];
    if let Some((key, _, legal)) = numbers.iter().find(|(_, value, legal)| !legal.contains(value)) {
        return refuse(key, &format!("{} to {}", legal.start(), legal.end()));
    }
    if u64::from(shim.gamma * shim.probe_retry_cap) > TRAIN_MOST {
        return refuse("probe-retry-cap", &format!("`gamma` times `probe-retry-cap` up to {TRAIN_MOST}"));
    }
    let Some(sufficient) = whole(shim.k, 100.0).filter(|&k| k > 0) else {
        return refuse("k", "a whole percentage, from 0.01 on");
    };
    let Some(severe) = whole(shim.kappa2, 100.0) else { return refuse("kappa2", "a whole percentage") };
    let Some(shift_g) = shift(shim.g) else { return refuse("g", "1, 0.5, 0.25, and so on to 1/1024") };
    let Some(restart) = restart_ms(rules.restart_after) else { return refuse("restart-after", "whole ms, to \"60s\"") };
    let words = [
        ("kappa1", shim.kappa1 != 0.0, "0"),
        ("alpha-init", shim.alpha_init != 1.0, "1"),
        ("tick", shim.tick != TICK, "\"1ms\""),
        ("hold-on", shim.hold_on == HoldOn::Any, "\"insufficient\""),
        ("release-window", shim.release == Release::Original, "\"newest\""),
        ("no-shrink", shim.no_shrink, "false"),
        ("ecn-mode", shim.ecn_mode == EcnMode::Guest, "\"shim\""),
        ("peer-has-shim", !shim.peer_has_shim, "true"),
        ("ends", shim.ends != Ends::Both, "\"both\""),
    ];
    if let Some((key, _, legal)) = words.iter().find(|w| w.1) {
        return refuse(key, legal);
    }
    let params = vec![
        ("probes", shim.gamma.into()),
        ("initial", shim.icwnd.into()),
        ("floor", floor),
        ("mss", mss),
        ("shift_g", shift_g),
        ("sufficient", sufficient),
        ("everywhere", 1),
        ("elephant", shim.elephant_bytes.unwrap_or(0)),
        ("lost_as_marked", u64::from(shim.lost_as_marked)),
        ("severe", severe),
        ("restart", restart),
        ("answers", u64::from(shim.answers)),
    ];
    Ok(Some(ShimConfig { params, rules }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults of a scenario, with packets of 1448 bytes and a least window of two.
    fn numbers() -> [u64; SHIM] {
        let real = f64::to_bits;
        let ms = |n| Time::from_ms(n).0;
        let times = [ms(1), ms(4), ms(16), ms(8), ms(1_000)];
        let [tick, beta1, beta2, beta3, most] = times;
        [
            1,
            10,
            real(0.5),
            real(0.0),
            real(0.9),
            10,
            real(0.0625),
            real(1.0),
            tick,
            beta1,
            beta2,
            beta3,
            most,
            4,
            100,
            u64::MAX,
            64,
            0,
            0,
            0,
            0,
            0,
            1,
            0,
            1_448,
            2_896,
            ms(200),
            1,
        ]
    }

    #[test]
    fn scenario_defaults_become_program_parameters() {
        let all = config(&numbers()).unwrap().unwrap().params;
        let of = |name| all.iter().find(|p| p.0 == name).unwrap().1;
        assert_eq!(["probes", "initial", "floor", "mss"].map(of), [10, 10, 2, 1_448]);
        assert_eq!(["shift_g", "sufficient", "everywhere", "elephant", "severe", "restart"].map(of), [4, 50, 1, 0, 90, 200]);
        assert_eq!(config(&[0; SHIM]), Ok(None));
    }

    /// Each number beyond the range of the program, with its key.
    #[test]
    fn unsupported_values_are_refused_by_key() {
        let cases: [(usize, f64, &str); 19] = [
            (1, 33.0, "gamma"),
            (2, 0.333, "k"),
            (3, 0.1, "kappa1"),
            (4, 0.905, "kappa2"),
            (5, 41.0, "icwnd"),
            (6, 0.3, "g"),
            (7, 0.0, "alpha-init"),
            (8, 5.0, "tick"),
            (13, 13.0, "probe-retry-cap"),
            (15, 2e9, "elephant-bytes"),
            (17, 1.0, "hold-on"),
            (18, 1.0, "release-window"),
            (20, 1.0, "no-shrink"),
            (21, 1.0, "ecn-mode"),
            (22, 0.0, "peer-has-shim"),
            (23, 2.0, "ends"),
            (24, 200.0, "floor"),
            (25, 14_480.0 * 2.0, "floor"),
            (26, 5.0, "restart-after"),
        ];
        for (at, value, key) in cases {
            let mut n = numbers();
            n[at] = if matches!(at, 2 | 3 | 4 | 6 | 7) { value.to_bits() } else { value as u64 };
            let why = config(&n).unwrap_err();
            assert!(why.starts_with(&format!("`{key}`:")) && why.contains("legal: "), "{key}: {why}");
        }
    }
}
