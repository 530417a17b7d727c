//! `start = "warm"`: flows that began before the run are alive at time zero.

use forebay_experiment::report::Report;
use forebay_experiment::rows::FlowRow;
use forebay_scenario::Scenario;
use forebay_sim::run::Cores;
use forebay_types::Time;
use std::ops::ControlFlow;

/// Eight hosts at 10 Gbps in two racks, whose fabric is no bottleneck.
const NETWORK: &str = "duration = \"2ms\"\nstart = \"warm\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4\n\
                       host = { rate = \"10Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"65pkt\" }, buffer = \"1000pkt\" }\n\
                       fabric = { rate = \"40Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"130pkt\" }, buffer = \"1000pkt\" }\n\
                       [transport]\ncc = \"dctcp\"\n";
/// Half of the flows have 100 KB, half 10 MB.
const MIXED: &str = "[[workload]]\nkind = \"poisson\"\nclass = \"web\"\nload = 0.5\n\
                     sizes = { mixture = [{ share = 1, value = \"100KB\" }, { share = 1, value = \"10MB\" }] }\n";

fn resolve(text: &str, overrides: &[&str]) -> Result<forebay_scenario::Resolved, String> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    let scenario = Scenario::from_text(forebay_backends::all(), text, "warm", "".as_ref(), &overrides, None);
    scenario.and_then(|s| s.resolve()).map_err(|e| format!("{e:?}"))
}

fn run(text: &str, overrides: &[&str], seed: u64, cores: usize) -> Report {
    let resolved = resolve(text, overrides).unwrap();
    let config = resolved.variants[0].config.check().unwrap();
    forebay_sim::run::run_seeded(config, seed, Cores::exactly(cores), &mut |_| ControlFlow::Continue(())).unwrap()
}

/// End of the time in which flows that began before the run start.
fn stagger(text: &str) -> Time {
    resolve(text, &[]).unwrap().variants[0].config.warm_start().unwrap()
}

/// Rows of the flows that begin with the run, those of the same time included, of many seeds.
fn first_flows(text: &str, seeds: u64) -> Vec<FlowRow> {
    let until = stagger(text);
    let rows = |seed| run(text, &["duration=200us"], seed, 1).flows.into_iter().filter(move |f| f.start < until);
    (1..=seeds).flat_map(rows).collect()
}

/// The links of both hosts have load rho, and each adds rho / (1 - rho) to the time of a flow alone. The fabric with 40 Gbps and 4/7 of the flows over
/// two links adds a little. Headers of 40 bytes on 1460 are part of the load.
#[test]
fn number_alive_follows_littles_law() {
    let text = [NETWORK, MIXED].concat();
    let seeds = 200;
    let rho = 0.5 * 1500.0 / 1460.0;
    let per_second = 0.5 * 8.0 * 10e9 / 8.0 / 5.05e6;
    let fabric = 4.0 / 7.0 * rho / 2.0;
    let factor = 1.0 + 2.0 * rho / (1.0 - rho) + 4.0 / 7.0 * 2.0 * 0.25 * fabric / (1.0 - fabric);
    let expected = seeds as f64 * (8.0 * rho * factor + per_second * stagger(&text).as_secs_f64());
    let found = first_flows(&text, seeds).len() as f64;
    // A Poisson number of 2700 has a standard deviation of 2 %. The loads are estimates with an error of 2 %.
    assert!((found / expected - 1.0).abs() < 0.1, "{found} flows, {expected} expected");
}

#[test]
fn sizes_alive_are_length_biased() {
    let flows = first_flows(&[NETWORK, MIXED].concat(), 200);
    // 10 MB in 100 of 101 flows alive, of which a uniform part remains: more than 100 KB in 99 % of those.
    let large = flows.iter().filter(|f| f.size_bytes > 100_000).count() as f64 / flows.len() as f64;
    assert!((large - 0.98).abs() < 0.03, "{large}");
    let mean = flows.iter().map(|f| f.size_bytes as f64).sum::<f64>() / flows.len() as f64;
    // E[s^2] / (2 E[s]) is 4.95 MB; the standard error for 1700 flows is 70 KB, and a few whole flows of the run are among them.
    assert!((mean / 4.95e6 - 1.0).abs() < 0.08, "{mean}");
    let upper = flows.iter().filter(|f| f.size_bytes > 5_000_000).count() as f64 / flows.len() as f64;
    assert!((upper - 0.49).abs() < 0.06, "{upper}");
}

/// Mean number alive between 1 and 2 ms, over 20 seeds.
fn alive(overrides: &[&str]) -> f64 {
    let text = [NETWORK, MIXED].concat();
    let times: Vec<Time> = (10..20).map(|i| Time::from_us(100 * i)).collect();
    let count = |seed| {
        let flows = run(&text, overrides, seed, 1).flows;
        let at = |t: &Time| flows.iter().filter(|f| f.start <= *t && !f.end.is_due(*t)).count();
        times.iter().map(at).sum::<usize>() as f64 / times.len() as f64
    };
    (1..=20).map(count).sum::<f64>() / 20.0
}

#[test]
fn warm_run_begins_in_steady_state() {
    let (cold, warm) = (alive(&["start=cold"]), alive(&[]));
    // 10 MB take 8 ms alone. Flows of a cold start accumulate for 2 ms at 990 in a second.
    assert!(cold < 0.3 * warm && (8.0..20.0).contains(&warm), "cold {cold}, warm {warm}");
}

#[test]
fn warm_start_depends_on_seed_only() {
    let text = [NETWORK, MIXED].concat();
    let [one, two] = [1, 2].map(|cores| run(&text, &[], 3, cores));
    assert_eq!((one.fingerprint, one.flows.len()), (two.fingerprint, two.flows.len()));
    assert_ne!(one.fingerprint, run(&text, &[], 4, 1).fingerprint);
    assert_ne!(one.fingerprint, run(&text, &["start=cold"], 3, 1).fingerprint);
    // Variants have the same flows.
    let other = run(&text, &["transport.cc=cubic", "duration=200us"], 3, 1);
    let starts = |r: &Report| {
        r.flows.iter().map(|f| (f.start, f.src, f.dst, f.size_bytes)).filter(|f| f.0 < Time::from_us(200)).collect::<Vec<_>>()
    };
    assert_eq!(starts(&one), starts(&other));
}

#[test]
fn statistics_begin_after_the_stagger() {
    let text = [NETWORK, MIXED].concat();
    let report = run(&text, &[], 1, 1);
    assert_eq!(report.measured_from, stagger(&text));
    assert!(report.flows.iter().any(|f| f.start < stagger(&text) && f.size_bytes > 100_000 && f.size_bytes < 10_000_000));
    let later = run(&text, &["observe.warmup=1ms"], 1, 1);
    assert_eq!((later.measured_from, later.fingerprint), (Time::from_ms(1), report.fingerprint));
}

#[test]
fn persistent_connections_and_bursts_start_warm() {
    let text = [NETWORK, MIXED, "persistent = true\nsigma = 1.0\n"].concat();
    let report = run(&text, &[], 1, 1);
    assert!(report.flows.iter().filter(|f| f.start < stagger(&text)).count() >= 2, "{}", report.flows.len());
}

#[test]
fn unsuitable_warm_starts_are_refused() {
    let refused = |text: &str, overrides: &[&str], part: &str| {
        let why = resolve(&[NETWORK, text].concat(), overrides).unwrap_err();
        assert!(why.contains(part), "{why}");
    };
    refused(MIXED, &["world=linux"], "begins with an empty network");
    refused(MIXED, &["world=model"], "begins with an empty network");
    refused(MIXED, &["start=hot"], "`start`");
    refused(MIXED, &["workload.0.start=1ms"], "`web` starts at 1ms");
    refused(MIXED, &["workload.0.load=1.5"], "100 % of the capacity");
    refused(MIXED, &["duration=50us"], "increase `duration`");
    refused("[[workload]]\nkind = \"long\"\nfrom = \"h0\"\nto = \"h5\"\n", &[], "no workload `poisson`");
}
