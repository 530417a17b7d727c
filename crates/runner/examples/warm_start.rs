//! Transients of cold and warm starts: the cuts that the rule MSER makes at the beginning of runs.
//!
//! `cargo run --profile fast -p forebay-runner --example warm_start [FILE [FIRST_SEED [SEEDS [FAMILY]]]]` writes a Markdown table with a row for each
//! family of scenarios, to `out/warm-start.md` unless FILE names another file. A row has the cuts of cold and warm starts for two series over 500
//! intervals of the run. One is the mean logarithm of the slowdown of the flows that start in an interval, the other the number of flows alive; both are
//! means over all seeds. The column `early` is the mean number of flows alive in the first fiftieth of the run, relative to that in the second half of
//! cold runs. The last columns are the mean slowdown of small flows in the second half of the runs, with its 95 % interval over the seeds. Each row is
//! written as soon as it is known, and rows that are there are not computed again.

#![expect(clippy::print_stdout, reason = "the rows of the table, as they become known")]

mod results_table;

use forebay_experiment::decisions::WorkItem;
use forebay_experiment::size_bin::SizeBin;
use forebay_experiment::stopping::warmup;
use forebay_runner::{Job, simulate};
use forebay_scenario::{Resolved, Scenario};
use forebay_types::{estimate, math};
use results_table::Arguments;
use std::ops::ControlFlow;

/// Two racks of four hosts at 10 Gbps.
const LEAF_SPINE: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4\n";
const MARKING: &str = "host = { rate = \"10Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"65pkt\" }, buffer = \"1000pkt\" }\n\
                       fabric = { rate = \"20Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"130pkt\" }, buffer = \"1000pkt\" }\n";
const DROPPING: &str = "host = { rate = \"10Gbps\", delay = \"2us\", buffer = \"400pkt\" }\n\
                        fabric = { rate = \"20Gbps\", delay = \"2us\", buffer = \"400pkt\" }\n";
const ONE_LINK: &str = "[topology]\nkind = \"many-to-one\"\nsenders = 8\naccess = { rate = \"10Gbps\", delay = \"2us\" }\n\
                        bottleneck = { rate = \"10Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"65pkt\" }, buffer = \"1000pkt\" }\n";
const DCTCP: &str = "[transport]\ncc = \"dctcp\"\n";
const NEWRENO: &str = "[transport]\ncc = \"newreno\"\nrto-min = \"1ms\"\n";
const CUBIC: &str = "[transport]\ncc = \"cubic\"\nrto-min = \"1ms\"\n";

/// Number of intervals of a run.
const POINTS: usize = 500;

/// A family: its name, the duration, and the scenario.
struct Family {
    name: &'static str,
    text: String,
}

fn family(name: &'static str, duration: &str, parts: &[&str]) -> Family {
    Family { name, text: format!("duration = \"{duration}\"\n{}", parts.concat()) }
}

fn poisson(load: &str, sizes: &str, more: &str) -> String {
    format!("[[workload]]\nkind = \"poisson\"\nclass = \"web\"\nload = {load}\nsizes = {sizes}\n{more}")
}

fn families() -> Vec<Family> {
    let (web, heavy) = ("{ cdf = \"websearch\" }", "{ log-uniform = [\"1KB\", \"100MB\"] }");
    let one = "from = \"senders\"\nto = \"receiver\"\n";
    vec![
        family("websearch, dctcp, load 0.5", "1s", &[LEAF_SPINE, MARKING, DCTCP, &poisson("0.5", web, "")]),
        family("websearch, dctcp, load 0.7", "1s", &[LEAF_SPINE, MARKING, DCTCP, &poisson("0.7", web, "")]),
        family("websearch, newreno, load 0.3", "1s", &[LEAF_SPINE, DROPPING, NEWRENO, &poisson("0.3", web, "")]),
        family("websearch, cubic, load 0.4", "1s", &[LEAF_SPINE, DROPPING, CUBIC, &poisson("0.4", web, "")]),
        family("100 MB, dctcp, load 0.4", "1s", &[LEAF_SPINE, MARKING, DCTCP, &poisson("0.4", heavy, "")]),
        family("websearch, dctcp, load 0.3", "1s", &[LEAF_SPINE, MARKING, DCTCP, &poisson("0.3", web, "")]),
        family(
            "20 MB, all of one size",
            "1s",
            &[LEAF_SPINE, MARKING, DCTCP, &poisson("0.5", "{ uniform = [\"20MB\", \"20MB\"] }", "")],
        ),
        family("websearch, other rack", "1s", &[LEAF_SPINE, MARKING, DCTCP, &poisson("0.5", web, "racks = \"other\"\n")]),
        family("websearch, persistent", "1s", &[LEAF_SPINE, MARKING, DCTCP, &poisson("0.5", web, "persistent = true\n")]),
        family("many to one, websearch", "2s", &[ONE_LINK, DCTCP, &poisson("0.07", web, one)]),
    ]
}

/// The family with this start.
fn resolved(family: &Family, start: &str) -> Resolved {
    let text = format!("start = \"{start}\"\n{}", family.text);
    let scenario = Scenario::from_text(forebay_backends::all(), &text, family.name, "".as_ref(), &[], None);
    match scenario.and_then(|s| s.resolve()) {
        Ok(resolved) => resolved,
        Err(e) => panic!("{}: {e:?}", family.name),
    }
}

/// Results of all runs with one start.
#[derive(Default)]
struct Runs {
    /// Mean number of flows alive in each interval.
    alive: Vec<f64>,
    /// Mean logarithm of the slowdown of the flows that start in each interval; empty intervals are left out.
    slowdown: Vec<f64>,
    /// Mean slowdown of small flows in the second half of each run.
    small: Vec<f64>,
}

impl Runs {
    fn new(family: &Family, start: &str, (first, seeds): (u64, u64)) -> Runs {
        let resolved = resolved(family, start);
        let config = &resolved.variants[0].config;
        let end = config.duration.unwrap_or_default();
        let (length, from) = (end / POINTS as u64, config.warm_start().unwrap_or_default());
        let mut all = Runs { alive: vec![0.0; POINTS], ..Runs::default() };
        let mut sums = vec![(0.0, 0_u32); POINTS];
        for seed in first..first + seeds {
            let work = run(&resolved, seed);
            let taken = |i: &WorkItem| i.end.get().unwrap_or(end).min(end).saturating_sub(i.start);
            let slowdown = |i: &WorkItem| (taken(i).0 as f64 / i.ideal.0 as f64).max(1.0);
            for i in work.iter().filter(|i| i.start >= from) {
                let (sum, count) = &mut sums[((i.start / length) as usize).min(POINTS - 1)];
                (*sum, *count) = (*sum + math::ln(slowdown(i)), *count + 1);
            }
            let late = |i: &&WorkItem| i.start >= end / 2 && SizeBin::of(i.size_bytes) == SizeBin::Small;
            let small: Vec<f64> = work.iter().filter(late).map(slowdown).collect();
            all.small.extend((!small.is_empty()).then(|| small.iter().sum::<f64>() / small.len() as f64));
            for (point, mean) in all.alive.iter_mut().enumerate() {
                let time = length * point as u64 + length / 2;
                *mean += work.iter().filter(|i| i.start <= time && !i.end.is_due(time)).count() as f64 / seeds as f64;
            }
        }
        // Flows that start late may be running at the end.
        let settled = sums.iter().take(POINTS * 4 / 5).filter(|s| s.1 > 0);
        all.slowdown = settled.map(|(sum, count)| sum / f64::from(*count)).collect();
        all
    }

    fn mean_alive(&self, points: std::ops::Range<usize>) -> f64 {
        let count = points.len() as f64;
        self.alive[points].iter().sum::<f64>() / count
    }
}

fn run(resolved: &Resolved, seed: u64) -> Vec<WorkItem> {
    let mut config = resolved.variants[0].config.clone();
    config.set_seed(seed);
    match simulate(resolved.world, "variant", 0, &config, &Job::new(0, 0, seed), None, &|| ControlFlow::Continue(())) {
        Ok(s) => WorkItem::of_report(&s.report.flows, &s.report.queries),
        Err(e) => panic!("{e}"),
    }
}

/// Head of the table.
const HEAD: &str = "| family | seeds | duration | cut of the slowdown, cold | warm | cut of flows alive, cold | warm | flows alive | early, cold | warm | \
                    slowdown of small flows, cold | warm |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";

fn results(family: &Family, seeds: (u64, u64)) -> String {
    let [cold, warm] = ["cold", "warm"].map(|start| Runs::new(family, start, seeds));
    let duration = resolved(family, "cold").variants[0].config.duration.unwrap_or_default().as_secs_f64();
    let steady = cold.mean_alive(POINTS / 2..POINTS);
    let ms = |seconds: f64| format!("{:.0} ms", seconds * 1e3);
    let cut = |series: &[f64]| ms(warmup::cut(series) as f64 * duration / POINTS as f64);
    let early = |runs: &Runs| runs.mean_alive(0..POINTS / 50) / steady;
    let small = |runs: &Runs| match estimate(&runs.small) {
        Some(e) => format!("{:.2} ± {:.2}", e.mean, e.half_width.unwrap_or(f64::NAN)),
        None => "-".to_owned(),
    };
    format!(
        " {} | {} | {} | {} | {} | {steady:.1} | {:.2} | {:.2} | {} | {} |",
        ms(duration),
        cut(&cold.slowdown),
        cut(&warm.slowdown),
        cut(&cold.alive),
        cut(&warm.alive),
        early(&cold),
        early(&warm),
        small(&cold),
        small(&warm)
    )
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::read("out/warm-start.md", 10);
    let seeds = arguments.seeds;
    arguments.fill(
        HEAD,
        &families(),
        |f| f.name,
        |f| format!("| {} | {} to {} |", f.name, seeds.0, seeds.0 + seeds.1 - 1),
        |f| results(f, seeds),
    )
}
