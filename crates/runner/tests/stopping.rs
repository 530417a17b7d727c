//! Runs that end when their figures are known.

use forebay_backends as backends;
use forebay_experiment::check::CheckedExperiment;
use forebay_experiment::decisions::{Decisions, Delivered, ItemKind, PortSnapshot, RunSnapshot, WorkItem};
use forebay_experiment::report::Report;
use forebay_runner::{Job, Outcome, Record, Watcher, jobs, run_all};
use forebay_scenario::{Resolved, Scenario};
use forebay_sim::run::Cores;
use forebay_store::{KnownFigure, Manifest};
use forebay_types::{PortId, Time, TimeOrNever};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Two racks of four hosts with messages of 1 KB to 1 MB.
const NETWORK: &str = "duration = \"1s\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4\n\
                       host = { rate = \"10Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"65pkt\" }, buffer = \"1000pkt\" }\n\
                       fabric = { rate = \"20Gbps\", delay = \"2us\", queue = { kind = \"dctcp-step\", k = \"130pkt\" }, buffer = \"1000pkt\" }\n\
                       [transport]\ncc = \"dctcp\"\n";
const WEB: &str = "[[workload]]\nkind = \"poisson\"\nclass = \"web\"\nload = 0.4\nsizes = { log-uniform = [\"1KB\", \"1MB\"] }\n";
const MEDIAN: &str = "[stop]\nknown = [{ of = \"p50 of small slowdown\", within = \"20%\" }]\n";

fn resolve(text: &str, overrides: &[&str]) -> Result<Resolved, String> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    let scenario = Scenario::from_text(backends::all(), text, "test", "".as_ref(), &overrides, None);
    scenario.and_then(|s| s.resolve()).map_err(|e| format!("{e:?}"))
}

struct Collector(Record);

impl Watcher for Collector {
    type Error = forebay_experiment::report::RunError;
    fn tick(&mut self, _: &[Job], _: Duration) {}
    fn finished(&mut self, jobs: &[Job], outcome: Outcome) -> Result<(), Self::Error> {
        self.0.add(&jobs[outcome.job], &outcome);
        Ok(())
    }
}

fn manifest(resolved: &Resolved, threads: usize) -> Manifest {
    let jobs = jobs(resolved);
    let mut collector = Collector(Record::new("test".into(), "", Vec::new(), resolved));
    run_all(resolved, &jobs, threads, &AtomicBool::new(false), &mut collector).unwrap();
    collector.0.manifest(threads, Duration::ZERO)
}

#[test]
fn stopped_run_equals_shorter_run() {
    let resolved = resolve(&[NETWORK, WEB, MEDIAN].concat(), &[]).unwrap();
    let m = manifest(&resolved, 1);
    let stopped = Time(m.runs[0].stopped_ps.unwrap());
    assert!(m.runs[0].stopped_by == "known" && stopped < Time::from_ms(500), "{:?}", m.runs[0]);
    let mut config = resolved.variants[0].config.clone();
    config.duration = Some(stopped);
    let report = resolved.world.run(config.check().unwrap(), config.seed, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(format!("{:016x}", report.fingerprint), m.runs[0].fingerprint);
    assert_eq!((report.packet_hops, report.end), (m.runs[0].packet_hops, stopped));
}

#[test]
fn known_figure_is_in_the_manifest() {
    let m = manifest(&resolve(&[NETWORK, WEB, MEDIAN].concat(), &[]).unwrap(), 1);
    let [KnownFigure { known, value: Some(value), low: Some(low), high: Some(high), floor: Some(floor), .. }] = m.known[..]
    else {
        panic!("{:?}", m.known)
    };
    assert!(known && low < value && value < high && high <= 1.2 * value && floor <= 0.2 * value, "{:?}", m.known);
    assert_eq!((m.known[0].of.as_str(), m.known[0].duration_ns), ("p50 of small slowdown", 1_000_000_000));
}

#[test]
fn runs_stop_together_at_less_time() {
    let one = manifest(&resolve(&[NETWORK, WEB, MEDIAN].concat(), &["stop.within=3%", "stop.known=[]"]).unwrap(), 1);
    let text = [NETWORK, WEB, "[stop]\nknown = [{ of = \"p50 of small slowdown\", within = \"4%\" }]\n"].concat();
    let [one_run, four_runs] = [1, 4].map(|n| manifest(&resolve(&text, &[&format!("runs={n}")]).unwrap(), 2));
    assert!(four_runs.known[0].runs == 4 && four_runs.known[0].end_ns < one_run.known[0].end_ns, "{:?}", four_runs.known);
    assert_eq!(one.known[0].of, "p99 of small fct", "the figure of the first line");
}

/// The long run has other seeds. Of 20 intervals with a coverage of 95 %, fewer than 17 contain the value in 1 of 60 cases.
#[test]
fn intervals_cover_long_run() {
    let text = [NETWORK, WEB, "[stop]\nknown = [{ of = \"p90 of small slowdown\", within = \"10%\" }]\n"].concat();
    let long = manifest(&resolve(&text, &["seed=900001", "runs=3", "stop.known.0.within=0.1%"]).unwrap(), 2);
    let truth = long.known[0].value.unwrap();
    let inside = |seed: &u64| {
        let one = manifest(&resolve(&text, &[&format!("seed={seed}")]).unwrap(), 1);
        assert!(one.known[0].known, "seed {seed}: {:?}", one.known);
        one.known[0].low.unwrap() <= truth && truth <= one.known[0].high.unwrap()
    };
    let covered = (1..=20).filter(inside).count();
    assert!(covered >= 17, "{covered} of 20 intervals contain {truth}");
}

#[test]
fn thread_count_changes_nothing() {
    let text = [NETWORK, WEB, MEDIAN].concat();
    let resolved = resolve(&text, &["runs=3"]).unwrap();
    let [one, three] = [1, 3].map(|threads| {
        let m = manifest(&resolved, threads);
        (m.fingerprint, m.known, m.runs.iter().map(|r| r.stopped_ps).collect::<Vec<_>>())
    });
    assert_eq!(one, three);
}

const TWO: &str = "transport.cc=[\"dctcp\", \"newreno\"]";

#[test]
fn variants_end_when_ratio_is_known() {
    let text = [NETWORK, WEB, "[stop]\nknown = [{ of = \"p90 of small slowdown\", within = \"10%\" }]\n"].concat();
    let m = manifest(&resolve(&text, &[TWO]).unwrap(), 1);
    let [KnownFigure { known, value: Some(value), low: Some(low), high: Some(high), floor: Some(_), .. }] = m.known[..] else {
        panic!("{:?}", m.known)
    };
    assert!(known && low < value && value < high && high <= 1.1 * value, "{:?}", m.known);
    let figure = &m.known[0];
    assert_eq!((figure.variant.as_str(), figure.over.as_str(), figure.ratio), ("newreno", "dctcp", true));
    assert!(m.runs.iter().all(|r| r.stopped_by == "known"), "{:?}", m.runs);
    assert_eq!(m.runs[0].end_ns, m.runs[1].end_ns);
    // The ratio is that of the pooled messages of both runs.
    let each = manifest(&resolve(&text, &[TWO, "stop.ratio=false"]).unwrap(), 1);
    let values: Vec<f64> = each.known.iter().filter_map(|f| f.value).collect();
    let of_each = values[1] / values[0];
    assert!(each.known.iter().all(|f| f.over.is_empty()) && (of_each / value - 1.0).abs() < 0.2, "{of_each} and {value}");
}

#[test]
fn thread_count_changes_no_ratio() {
    let resolved = resolve(&[NETWORK, WEB, MEDIAN].concat(), &["runs=2", TWO]).unwrap();
    let all = [1, 2, 5].map(|threads| {
        let m = manifest(&resolved, threads);
        (m.fingerprint, m.known, m.runs.iter().map(|r| r.stopped_ps).collect::<Vec<_>>())
    });
    assert!(all[0] == all[1] && all[1] == all[2], "{all:?}");
    assert!(all[0].1[0].known && all[0].1[0].runs == 2, "{:?}", all[0].1);
}

#[test]
fn budget_ends_all_variants() {
    let text = [NETWORK, WEB, "[stop]\nwithin = \"0.1%\"\nbudget = \"1ms\"\n"].concat();
    let m = manifest(&resolve(&text, &["duration=10s", TWO]).unwrap(), 1);
    assert!(m.known[0].by_budget && m.runs.iter().all(|r| r.stopped_by == "budget of wall time"), "{:?}", m.runs);
}

fn order(i: &WorkItem) -> (Time, ItemKind, u64, TimeOrNever, Time) {
    (i.start, i.kind, i.size_bytes, i.end, i.ideal)
}

/// Work, payload and ports at a time.
type Noted = (Time, Vec<WorkItem>, (Delivered, Vec<PortSnapshot>));

/// Notes the work and all ports at some times, and ends the run at the last one.
struct Notes {
    times: Vec<Time>,
    ports: Vec<PortId>,
    seen: Vec<Noted>,
}

impl Decisions for Notes {
    fn next(&self) -> TimeOrNever {
        self.times.get(self.seen.len()).copied().into()
    }

    fn ends(&mut self, now: Time, so_far: &RunSnapshot<'_>) -> bool {
        let mut work = (so_far.work)();
        work.sort_by_key(order);
        self.seen.push((now, work, ((so_far.delivered)(), (so_far.ports)(&self.ports))));
        self.seen.len() == self.times.len()
    }
}

fn with_notes(config: CheckedExperiment<'_>, cores: usize) -> (Vec<Noted>, Report) {
    let ports = config.network.ports.ids().collect();
    let mut notes = Notes { times: [100, 1_234, 5_000].map(Time::from_us).to_vec(), ports, seen: Vec::new() };
    let go = &mut |_| ControlFlow::Continue(());
    let report = forebay_sim::run::run_with_decisions(config, 1, Cores::exactly(cores), &mut notes, go).unwrap();
    (notes.seen, report)
}

#[test]
fn decisions_independent_of_cores() {
    let queries = "[[workload]]\nkind = \"queries\"\naggregators = \"all\"\nworkers = \"all\"\nfan-out = 4\ntotal = \"80KB\"\nrate = 2000.0\n";
    let resolved = resolve(&[NETWORK, WEB, queries].concat(), &[]).unwrap();
    let config = &resolved.variants[0].config;
    let (one, report) = with_notes(config.check().unwrap(), 1);
    let (two, other) = with_notes(config.check().unwrap(), 2);
    assert_eq!((report.fingerprint, report.end), (other.fingerprint, other.end));
    for ((now, a, sums), (_, b, other)) in one.iter().zip(&two) {
        assert_eq!((a.len(), sums), (b.len(), other), "at {now}");
        let first = a.iter().zip(b).find(|(a, b)| a != b);
        assert!(first.is_none(), "at {now}: {first:?}");
    }
    assert_eq!(one.len(), two.len());
    assert!(one.last().unwrap().1.iter().any(|i| i.kind == ItemKind::Query && !i.end.is_never()));
    // The report of the ended run has the same messages and queries.
    let mut last = WorkItem::of_report(&report.flows, &report.queries);
    last.sort_by_key(order);
    assert!(last == one.last().unwrap().1, "the report has other messages");
    // And the same queues and bytes.
    let (end, _, (_, ports)) = one.last().unwrap();
    let of_report: Vec<(f64, u64)> = report.ports.iter().map(|p| (p.queue_mean_pkts, p.sent_bytes)).collect();
    let noted: Vec<(f64, u64)> = ports.iter().map(|p| (p.queue as f64 / end.0 as f64, p.sent_bytes)).collect();
    assert_eq!(noted, of_report);
    assert!(noted.iter().filter(|p| p.0 > 0.0).count() > 8, "{noted:?}");
}

/// A queue and a utilization are those of the whole run with another seed.
#[test]
fn time_averages_of_port_are_known() {
    let workload = "[[workload]]\nkind = \"poisson\"\nclass = \"web\"\nfrom = \"senders\"\nto = \"receiver\"\nload = 0.25\n\
                    sizes = { exponential = \"10KB\" }\n";
    let text = format!("{}{workload}", &LONG[..LONG.find("[[workload]]").unwrap()]);
    let figures = "[stop]\nwithin = \"10%\"\n\
                   known = [{ of = \"mean of bottleneck queue\" }, { of = \"mean of bottleneck utilization\" }]\n";
    let resolved = resolve(&text, &["seed=7"]).unwrap();
    let port = resolved.variants[0].port_names.iter().position(|n| n == "bottleneck").unwrap();
    let config = resolved.variants[0].config.check().unwrap();
    let whole = resolved.world.run(config, 7, &mut |_| ControlFlow::Continue(())).unwrap();
    let m = manifest(&resolve(&format!("{text}{figures}"), &["seed=2"]).unwrap(), 1);
    let [queue, busy] = m.known.as_slice() else { panic!("{:?}", m.known) };
    assert!(queue.known && queue.packets && busy.known && busy.ratio && m.runs[0].stopped_by == "known", "{:?}", m.known);
    for (figure, value) in [(queue, whole.ports[port].queue_mean_pkts), (busy, whole.ports[port].busy)] {
        // Both are samples.
        let known = figure.value.unwrap();
        assert!((known / value - 1.0).abs() < 0.2, "{value}: {figure:?}");
    }
    assert_eq!((queue.phrase.as_str(), queue.groups), ("mean queue of port bottleneck", 1));
}

#[test]
fn too_fine_accuracy_is_never_known() {
    let m = manifest(&resolve(&[NETWORK, WEB, MEDIAN].concat(), &["duration=20ms", "stop.known.0.within=0.1%"]).unwrap(), 1);
    assert!(!m.known[0].known && m.runs[0].stopped_by.is_empty(), "{:?}", m.known);
    assert_eq!(m.runs[0].end_ns, 20_000_000);
}

#[test]
fn budget_ends_run() {
    let text = [NETWORK, WEB, "[stop]\nwithin = \"0.1%\"\nbudget = \"1ms\"\n"].concat();
    let m = manifest(&resolve(&text, &["duration=10s"]).unwrap(), 1);
    assert!(m.known[0].by_budget && m.known[0].budget_s == Some(0.001), "{:?}", m.known);
    assert_eq!((m.runs[0].stopped_by.as_str(), m.runs[0].stopped_ps), ("budget of wall time", None));
}

/// Two flows share a link of 1 Gbps.
const LONG: &str = "duration = \"5s\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = { rate = \"1Gbps\", delay = \"20us\" }\n\
                    bottleneck = { rate = \"1Gbps\", delay = \"20us\", queue = { kind = \"dctcp-step\", k = \"20pkt\" } }\n\
                    [transport]\ncc = \"dctcp\"\n[[workload]]\nkind = \"long\"\nclass = \"bulk\"\n";

#[test]
fn goodput_of_endless_flows_is_known() {
    let resolved = resolve(LONG, &["duration=1s", "observe.warmup=100ms"]).unwrap();
    let config = resolved.variants[0].config.check().unwrap();
    let report = resolved.world.run(config, 1, &mut |_| ControlFlow::Continue(())).unwrap();
    let whole = report.flows.iter().map(|f| f.bytes_measured as f64 * 8.0).sum::<f64>() / 0.9;
    for figure in ["known = [{ of = \"mean of bulk goodput\", within = \"2%\" }]", "within = \"2%\""] {
        let text = format!("{LONG}[stop]\n{figure}\n");
        let m = manifest(&resolve(&text, &[]).unwrap(), 1);
        let known = &m.known[0];
        let (value, low, high) = (known.value.unwrap(), known.low.unwrap(), known.high.unwrap());
        assert!(known.known && known.rate && m.runs[0].stopped_by == "known", "{known:?}");
        assert!(m.runs[0].end_ns < 2_500_000_000 && low <= value && value <= high && high <= 1.02 * value, "{known:?}");
        assert!((value / whole - 1.0).abs() < 0.02, "{whole}: {known:?}");
    }
}

#[test]
fn ratio_of_goodput_is_known() {
    let text = format!("{LONG}[stop]\nknown = [{{ of = \"mean of goodput\", within = \"5%\" }}]\n");
    let m = manifest(&resolve(&text, &[TWO]).unwrap(), 2);
    let known = &m.known[0];
    assert!(known.known && known.ratio && !known.rate && (known.value.unwrap() - 1.0).abs() < 0.1, "{known:?}");
    let one = manifest(&resolve(&text, &[TWO]).unwrap(), 1);
    assert_eq!((one.known, one.fingerprint), (m.known, m.fingerprint));
}

#[test]
fn experiments_without_steady_state_are_refused() {
    let refused = |text: &str, overrides: &[&str], part: &str| {
        let why = resolve(&[NETWORK, text, MEDIAN].concat(), overrides).unwrap_err();
        assert!(why.contains("[stop] needs") && why.contains(part), "{why}");
    };
    refused(WEB, &["workload.0.load=1.2"], "120 % of the capacity");
    refused(WEB, &["workload.0.flows=100"], "`web` ends by itself");
    refused(WEB, &["world=model"], "`model`");
    let failure = "[[topology.failure]]\nlink = \"leaf0->spine0\"\ndown = \"10ms\"\n";
    let text = NETWORK.replace("[transport]", &format!("{failure}[transport]"));
    let why = resolve(&[&text, WEB, MEDIAN].concat(), &[]).unwrap_err();
    assert!(why.contains("links fail"), "{why}");
    let incast = "[[workload]]\nkind = \"incast\"\nsenders = [\"h0\", \"h1\"]\nreceiver = \"h7\"\nblock = \"10KB\"\nrounds = 5\n";
    refused(&[WEB, incast].concat(), &[], "ends by itself");
}
