//! Coverage of the intervals of `[stop]`: how often the value of a long run lies in the 95 % interval of runs that end by the rule.
//!
//! `cargo run --release -p forebay-runner --example stop_coverage [FILE [FIRST_SEED [SEEDS [FAMILY]]]]` writes a Markdown table with a row for each family
//! of scenarios, to `out/stop-coverage.md` unless FILE names another file. A row has the number of runs whose figure became known, and the mean part of
//! the duration that a run took. It also has the number of intervals that contain the value of long runs with other seeds. Each row is written as soon
//! as it is known, and the same command continues an interrupted table: rows that are there are not computed again.

#![expect(clippy::print_stdout, reason = "the rows of the table, as they become known")]

mod results_table;

use forebay_experiment::decisions::WorkItem;
use forebay_experiment::stopping::measure::value_at;
use forebay_runner::{Job, StopRequest, simulate};
use forebay_scenario::{Resolved, Scenario};
use forebay_types::{GroupId, Time};
use results_table::Arguments;
use std::ops::ControlFlow;

/// Seeds of the long runs, which no run with the rule has.
const LONG_SEEDS: std::ops::Range<u64> = 900_001..900_009;

/// Network of most families: two racks of four hosts at 10 Gbps.
const LEAF_SPINE: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4\n";
const MARKING: &str = "host = { rate = \"10Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"65pkt\" }, buffer = \"1000pkt\" }\n\
                       fabric = { rate = \"20Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"130pkt\" }, buffer = \"1000pkt\" }\n";
const DROPPING: &str = "host = { rate = \"10Gbps\", delay = \"2us\", buffer = \"400pkt\" }\n\
                        fabric = { rate = \"20Gbps\", delay = \"2us\", buffer = \"400pkt\" }\n";

/// A family: its name, the figure, the accuracy, and the scenario.
struct Family {
    name: &'static str,
    of: &'static str,
    within: &'static str,
    text: String,
}

fn family(name: &'static str, (of, within): (&'static str, &'static str), duration: &str, parts: &[&str]) -> Family {
    Family { name, of, within, text: format!("duration = \"{duration}\"\n{}", parts.concat()) }
}

fn families() -> Vec<Family> {
    let poisson =
        |load: &str, sizes: &str| format!("[[workload]]\nkind = \"poisson\"\nclass = \"web\"\nload = {load}\nsizes = {sizes}\n");
    let web = "{ log-uniform = [\"1KB\", \"1MB\"] }";
    let many = "[topology]\nkind = \"many-to-one\"\nsenders = 8\naccess = { rate = \"10Gbps\", delay = \"2us\" }\n\
                bottleneck = { rate = \"10Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"65pkt\" }, buffer = \"1000pkt\" }\n";
    let p99 = ("p99 of small slowdown", "10%");
    let dctcp = "[transport]\ncc = \"dctcp\"\n";
    let newreno = "[transport]\ncc = \"newreno\"\nrto-min = \"1ms\"\n";
    vec![
        family("web, dctcp, load 0.3", p99, "2s", &[LEAF_SPINE, MARKING, dctcp, &poisson("0.3", web)]),
        family("web, dctcp, load 0.5", p99, "2s", &[LEAF_SPINE, MARKING, dctcp, &poisson("0.5", web)]),
        family("web, newreno, load 0.3", p99, "2s", &[LEAF_SPINE, DROPPING, newreno, &poisson("0.3", web)]),
        family(
            "exponential sizes, cubic",
            ("p99 of fct", "10%"),
            "2s",
            &[LEAF_SPINE, DROPPING, "[transport]\ncc = \"cubic\"\n", &poisson("0.3", "{ exponential = \"100KB\" }")],
        ),
        family("median, dctcp", ("p50 of small fct", "5%"), "2s", &[LEAF_SPINE, MARKING, dctcp, &poisson("0.4", web)]),
        family("mean, dctcp", ("mean of small slowdown", "5%"), "1s", &[LEAF_SPINE, MARKING, dctcp, &poisson("0.4", web)]),
        family(
            "many to one",
            p99,
            "8s",
            &[
                many,
                dctcp,
                "[[workload]]\nkind = \"poisson\"\nclass = \"web\"\nload = 0.06\nfrom = \"senders\"\nto = \"receiver\"\nsizes = { log-uniform = [\"1KB\", \"1MB\"] }\n",
            ],
        ),
        family(
            "rare timeouts",
            ("mean of small fct", "10%"),
            "4s",
            &[
                &many.replace(", queue = { kind = \"dctcp-step\", k = \"65pkt\" }, buffer = \"1000pkt\"", ", buffer = \"60pkt\""),
                "[transport]\ncc = \"newreno\"\nrto-min = \"10ms\"\n",
                "[[workload]]\nkind = \"poisson\"\nclass = \"web\"\nload = 0.05\nfrom = \"senders\"\nto = \"receiver\"\nsizes = { log-uniform = [\"1KB\", \"100KB\"] }\n",
            ],
        ),
        family(
            "queries",
            ("p99 of qct", "10%"),
            "2s",
            &[
                LEAF_SPINE,
                MARKING,
                dctcp,
                "[[workload]]\nkind = \"queries\"\naggregators = \"all\"\nworkers = \"all\"\nfan-out = 4\ntotal = \"80KB\"\nrate = 1000.0\n",
            ],
        ),
        family(
            "queries and web",
            ("p99 of qct", "10%"),
            "2s",
            &[
                LEAF_SPINE,
                MARKING,
                dctcp,
                "[[workload]]\nkind = \"queries\"\naggregators = \"all\"\nworkers = \"all\"\nfan-out = 4\ntotal = \"80KB\"\nrate = 500.0\n",
                &poisson("0.2", web),
            ],
        ),
        family(
            "two sizes, persistent",
            ("p95 of small fct", "10%"),
            "1s",
            &[LEAF_SPINE, MARKING, dctcp, &poisson("0.4", "{ uniform = [\"10KB\", \"200KB\"] }"), "persistent = true\n"],
        ),
    ]
}

fn resolved(family: &Family, stop: bool) -> Resolved {
    let rule = format!("[stop]\nknown = [{{ of = \"{}\", within = \"{}\" }}]\n", family.of, family.within);
    let text = if stop { format!("{}{rule}", family.text) } else { family.text.clone() };
    let scenario = Scenario::from_text(forebay_backends::all(), &text, family.name, "".as_ref(), &[], None);
    match scenario.and_then(|s| s.resolve()) {
        Ok(resolved) => resolved,
        Err(e) => panic!("{}: {e:?}", family.name),
    }
}

/// Messages of a run with this seed, its end, and its result by the rule.
fn run(resolved: &Resolved, seed: u64) -> forebay_runner::Simulated {
    let mut config = resolved.variants[0].config.clone();
    config.set_seed(seed);
    let request = resolved.stop.as_ref().map(|stop| StopRequest { stop: stop.clone(), runs: 1 });
    let stop = request.as_ref().map(|r| (r, None));
    match simulate(resolved.world, "variant", 0, &config, &Job::new(0, 0, seed), stop, &|| ControlFlow::Continue(())) {
        Ok(simulated) => simulated,
        Err(e) => panic!("{e}"),
    }
}

/// Value of the figure in the long runs, of all their messages after a tenth of the time.
fn long_value(family: &Family) -> f64 {
    let resolved = resolved(family, true);
    let Some(figure) = resolved.stop.as_ref().and_then(|s| s.known[0].figure.clone()) else { panic!("no figure") };
    let plain = Resolved { stop: None, ..resolved };
    let mut work: Vec<WorkItem> = Vec::new();
    let mut end = Time::ZERO;
    for seed in LONG_SEEDS {
        let s = run(&plain, seed);
        end = s.report.end;
        work.extend(WorkItem::of_report(&s.report.flows, &s.report.queries));
    }
    value_at(&figure, GroupId::new(0), &work, end / 10, end).unwrap_or(f64::NAN)
}

/// Head of the table.
const HEAD: &str = "| family | figure | seeds | long runs | known | covered | below | above | part of the duration |\n\
                    |---|---|---|---|---|---|---|---|---|\n";

/// The cells of a row that name it.
fn name(family: &Family, (first, seeds): (u64, u64)) -> String {
    format!("| {} | {} within {} | {first} to {} |", family.name, family.of, family.within, first + seeds - 1)
}

/// The cells with the results of a family.
fn results(family: &Family, (first, seeds): (u64, u64)) -> String {
    let truth = long_value(family);
    let rule = resolved(family, true);
    let (mut known, mut covered, mut below, mut above, mut part) = (0, 0, 0, 0, 0.0);
    for seed in first..first + seeds {
        let s = run(&rule, seed);
        let duration = rule.variants[0].config.duration.unwrap_or(Time(1));
        let Some(i) = s.stopped.as_ref().and_then(forebay_runner::Stopped::interval) else { continue };
        known += u32::from(s.report.end < duration);
        covered += u32::from(i.low <= truth && truth <= i.high);
        below += u32::from(i.high < truth);
        above += u32::from(i.low > truth);
        part += s.report.end.0 as f64 / duration.0 as f64 / seeds as f64;
    }
    format!(" {truth:.6} | {known} | {covered} | {below} | {above} | {:.1} % |", part * 100.0)
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::read("out/stop-coverage.md", 20);
    let seeds = arguments.seeds;
    arguments.fill(HEAD, &families(), |f| f.name, |f| name(f, seeds), |f| results(f, seeds))
}
