//! Named mixtures match their documents: fractions, means, and the complete curve.

use crate::common::{VALID, resolve};
use forebay_experiment::traffic::WorkloadKind;
use forebay_types::{Rng, SizeDist, TimeDist};

const KIB: f64 = 1024.0;
const DRAWS: usize = 100_000;

/// The sizes and gaps of an `on-off` workload with these texts.
fn on_off(sizes: &str, gaps: &str) -> (SizeDist, TimeDist, Vec<String>) {
    let begin = VALID.find("[[workload]]").unwrap();
    let text = format!("{}[[workload]]\nkind = \"on-off\"\nsizes = {sizes}\ngaps = {gaps}\n", &VALID[..begin]);
    let mut r = resolve(&text).unwrap_or_else(|e| panic!("{}", e.render()));
    match r.variants.remove(0).config.workloads.into_vec().remove(0).kind {
        WorkloadKind::OnOff { sizes, gaps, .. } => (sizes, gaps, r.notes),
        other => panic!("{other:?}"),
    }
}

/// Largest distance between the empirical distribution of `draws` and `cdf`.
fn kolmogorov_smirnov(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_unstable_by(f64::total_cmp);
    let n = draws.len() as f64;
    draws
        .iter()
        .enumerate()
        .map(|(i, &x)| (cdf(x) - i as f64 / n).abs().max((cdf(x) - (i + 1) as f64 / n).abs()))
        .fold(0.0, f64::max)
}

/// Log-uniform pieces: (share, from, to).
fn piecewise(pieces: &[(f64, f64, f64)], x: f64) -> f64 {
    pieces.iter().map(|(share, lo, hi)| share * ((x / lo).ln() / (hi / lo).ln()).clamp(0.0, 1.0)).sum()
}

fn draws(d: &SizeDist) -> Vec<f64> {
    let mut rng = Rng::stream(11, &[]);
    (0..DRAWS).map(|_| d.sample(&mut rng) as f64).collect()
}

/// Critical distance at a level of 0.001; sizes are whole bytes, which moves the curve by far less.
fn critical() -> f64 {
    1.95 / (DRAWS as f64).sqrt()
}

/// TRIM 5.1.
#[test]
fn trim_http_mixture() {
    let (sizes, gaps, notes) = on_off("{ mixture = \"trim-http\" }", "{ mixture = \"trim-http\" }");
    let s = draws(&sizes);
    let up_to = |kib: f64| s.iter().filter(|x| **x <= kib * KIB).count() as f64 / DRAWS as f64;
    println!("up to 4 KB {:.3}, 4 to 128 KB {:.3}, above {:.3}", up_to(4.0), up_to(128.0) - up_to(4.0), 1.0 - up_to(128.0));
    assert!(up_to(4.0) < 0.20 && (up_to(4.0) - 0.18).abs() < 0.005);
    assert!((up_to(128.0) - up_to(4.0) - 0.72).abs() < 0.006);
    assert!((1.0 - up_to(128.0) - 0.10).abs() < 0.004);
    assert!(s.iter().all(|x| (0.5 * KIB..=256.0 * KIB).contains(x)));
    assert!((sizes.mean() / KIB - 44.5).abs() < 0.05, "{}", sizes.mean() / KIB);
    assert!((s.iter().sum::<f64>() / DRAWS as f64 / sizes.mean() - 1.0).abs() < 0.01);
    let pieces = [(0.18, 512.0, 4.0 * KIB), (0.72, 4.0 * KIB, 128.0 * KIB), (0.10, 128.0 * KIB, 256.0 * KIB)];
    let d = kolmogorov_smirnov(s, |x| piecewise(&pieces, x));
    assert!(d < critical(), "{d}");

    assert!((gaps.mean() * 1e-9 - 1.49).abs() < 0.005, "{}", gaps.mean());
    let mut rng = Rng::stream(12, &[]);
    let g: Vec<f64> = (0..DRAWS).map(|_| gaps.sample(&mut rng).0 as f64 * 1e-9).collect();
    let d = kolmogorov_smirnov(g, |x| piecewise(&[(1.0, 0.2, 5.0)], x));
    assert!(d < critical(), "{d}");
    assert_eq!(notes, ["trim-http: mean 45 599 B", "trim-http: mean 1 491.2 us"]);
}

/// DCTCP 4.12.
#[test]
fn background_of_the_dctcp_slides() {
    let (sizes, ..) = on_off("{ mixture = \"dctcp-background\" }", "\"1ms\"");
    let pieces = [(0.50, 1e3, 1e4), (0.30, 1e4, 1e5), (0.15, 1e5, 1e6), (0.05, 1e6, 5e7)];
    let d = kolmogorov_smirnov(draws(&sizes), |x| piecewise(&pieces, x));
    assert!(d < critical(), "{d}");
}

/// An equal mixture in the file gives the same draws; a part may be a single value or a table.
#[test]
fn mixtures_of_the_file() {
    let (named, ..) = on_off("{ mixture = \"dctcp-background\" }", "\"1ms\"");
    let parts = "{ mixture = [{ share = 0.5, log-uniform = [\"1KB\", \"10KB\"] }, { share = 0.3, log-uniform = [\"10KB\", \"100KB\"] }, \
                 { share = 0.15, log-uniform = [\"100KB\", \"1MB\"] }, { share = 0.05, log-uniform = [\"1MB\", \"50MB\"] }] }";
    let (written, ..) = on_off(parts, "\"1ms\"");
    assert!((written.mean() / named.mean() - 1.0).abs() < 1e-12);
    let (mixed, gaps, _) = on_off(
        "{ mixture = [{ share = 3, value = \"2KB\" }, { share = 1, cdf = \"websearch\" }] }",
        "{ mixture = [{ share = 1, value = \"0s\" }, { share = 1, exponential = \"2ms\" }] }",
    );
    assert!((mixed.mean() - (0.75 * 2_000.0 + 0.25 * 1_711_250.0)).abs() < 1e-6);
    assert_eq!(gaps.mean(), 1e9);
    let share = draws(&mixed).iter().filter(|s| **s == 2_000.0).count() as f64 / DRAWS as f64;
    assert!((share - 0.75).abs() < 0.01, "{share}");
}
