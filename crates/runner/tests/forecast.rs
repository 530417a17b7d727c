//! Forecasts compared with runs: for each key that limits a workload, and for the scenarios of this repository.

use forebay_experiment::report::Report;
use forebay_runner::{Forecast, Outlook, outlook};
use forebay_scenario::{Resolved, Scenario};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Ratio of forecast and run, either way.
const FACTOR: f64 = 1.5;

/// Servers and a client behind a link of 10 Gbps, whose full load is 2.5 million transmissions a second.
const NETWORK: &str = r#"
[topology]
kind = "many-to-one"
senders = 8
access     = { rate = "10Gbps", delay = "10us" }
bottleneck = { rate = "10Gbps", delay = "10us", buffer = "300pkt" }
[transport]
stack = "ns2"
rto-min = "10ms"
cc = "cubic"
[[workload]]
"#;

fn resolved(text: &str, folder: &Path) -> Resolved {
    let scenario = Scenario::from_text(forebay_backends::all(), text, "case", folder, &[], None);
    scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn forecast(resolved: &Resolved) -> Forecast {
    match outlook(resolved, 1).unwrap() {
        Outlook::Cost(f) => f,
        other => panic!("{other:?}"),
    }
}

/// All runs of a scenario.
fn runs(resolved: &Resolved) -> Vec<Report> {
    let one = |v: usize, run: u32| {
        let mut config = resolved.variants[v].config.clone();
        config.set_seed(resolved.run_seed(run));
        resolved.world.run(config.check().unwrap(), config.seed, &mut |_| ControlFlow::Continue(())).unwrap()
    };
    (0..resolved.variants.len()).flat_map(|v| (0..resolved.repetitions()).map(move |r| one(v, r))).collect()
}

/// The values of a forecast that differ from the run by more than the factor.
fn wrong(f: &Forecast, reports: &[Report]) -> Vec<String> {
    let sum = |of: &dyn Fn(&Report) -> usize| reports.iter().map(of).sum::<usize>() as f64;
    let pairs = [
        ("packet transmissions", f.transmissions, sum(&|r| r.packet_hops as usize)),
        ("messages", f.messages, sum(&|r| r.flows.len())),
        ("samples", f.samples, sum(&|r| r.queue.len() + r.tcp.len())),
    ];
    let off = |forecast: f64, actual: f64| {
        let ratio = (forecast + 1.0) / (actual + 1.0);
        !(1.0 / FACTOR < ratio && ratio < FACTOR)
    };
    pairs
        .into_iter()
        .filter(|(_, f, a)| off(*f, *a))
        .map(|(what, f, a)| format!("{f:.0} {what} forecast, {a:.0} found"))
        .collect()
}

/// Each key that limits how much a workload sends, alone and with a duration that ends before or after it.
#[test]
fn limits_of_workloads_are_forecast() {
    let text = |workload: &str, before: &str| format!("{before}\n{NETWORK}{workload}\n");
    let poisson = "kind = \"poisson\"\nsizes = \"200KB\"\nload = 0.8\nload-at = \"bottleneck\"\n";
    let trains = "kind = \"on-off\"\nsizes = \"500KB\"\ngaps = { exponential = \"2ms\" }\n";
    let requests = "kind = \"requests\"\nclients = \"recv\"\nservers = \"senders\"\nresponse = \"300KB\"\nthink = \"1ms\"\n";
    let queries = "kind = \"queries\"\naggregators = \"recv\"\nworkers = \"senders\"\ntotal = \"800KB\"\nfan-out = 8\n";
    let long = "kind = \"long\"\n";
    let udp = "kind = \"udp\"\nrate = \"1Gbps\"\n";
    let incast = "kind = \"incast\"\nblock = \"200KB\"\n";
    let cases = [
        (poisson, "flows = 6_000", ""),
        (poisson, "flows-per-source = 700", ""),
        (poisson, "flows-per-source = 700\nflows = 3_000", ""),
        (poisson, "flows-per-source = 700", "duration = \"400ms\""),
        (poisson, "flows-per-source = 700", "duration = \"1h\""),
        (poisson, "flows-per-source = 2\nstop = \"100ms\"", ""),
        (poisson, "stop = \"900ms\"", ""),
        (poisson, "start = \"300ms\"\nstop = \"900ms\"", "duration = \"2s\""),
        (poisson, "start = \"600ms\"", "duration = \"1s\""),
        (trains, "trains = 200", ""),
        (trains, "trains = 200", "duration = \"300ms\""),
        (trains, "trains = 150\ntotal = \"80MB\"", ""),
        (trains, "last-at = \"800ms\"\nlast-size = \"1MB\"", ""),
        (trains, "start = \"500ms\"", "duration = \"1s\""),
        (requests, "count = 400", ""),
        (requests, "count = 40000", "duration = \"800ms\""),
        (requests, "start = \"400ms\"", "duration = \"900ms\""),
        (queries, "rate = 800.0\ncount = 700", ""),
        (queries, "rate = 800.0\nstop = \"500ms\"", "duration = \"5s\""),
        (queries, "gap = \"200us\"\nstop = \"800ms\"", ""),
        (queries, "rate = 800.0\nstart = \"400ms\"", "duration = \"900ms\""),
        (incast, "rounds = 500", ""),
        (incast, "rounds = 5000", "duration = \"600ms\""),
        (incast, "start = \"500ms\"\ngap = \"1ms\"", "duration = \"900ms\""),
        (long, "size = \"120MB\"", ""),
        (long, "size = \"120MB\"\nstagger = \"150ms\"", "duration = \"700ms\""),
        (long, "stop-after = \"300ms\"\nstagger = \"100ms\"", ""),
        (long, "stop-after = \"300ms\"\nstagger = \"20ms\"", "duration = \"5s\""),
        (udp, "stop = \"900ms\"", ""),
        (udp, "start = \"300ms\"\nstop = \"900ms\"", "duration = \"2s\""),
        (udp, "on = { exponential = \"3ms\" }\noff = { exponential = \"3ms\" }", "duration = \"1s\""),
    ];
    let (mut all, mut extrapolated) = (Vec::new(), 0);
    for (kind, limit, before) in cases {
        let resolved = resolved(&text(&format!("{kind}{limit}"), before), Path::new(""));
        let forecast = forecast(&resolved);
        extrapolated += usize::from(!forecast.exact);
        let found = wrong(&forecast, &runs(&resolved));
        all.extend(found.into_iter().map(|w| format!("{kind}{limit}\n{before}: {w}")));
    }
    assert!(extrapolated > 20 && all.is_empty(), "{extrapolated} extrapolated\n{}", all.join("\n\n"));
}

/// Background traffic without its own end lasts as long as the rest.
#[test]
fn endless_background_is_forecast() {
    let endless = "[[workload]]\nkind = \"udp\"\nrate = \"500Mbps\"\n";
    let text = format!("{NETWORK}kind = \"long\"\nfrom = \"s0\"\nsize = \"800MB\"\n{endless}");
    let resolved = resolved(&text, Path::new(""));
    assert_eq!(wrong(&forecast(&resolved), &runs(&resolved)), Vec::<String>::new());
}

/// Files of `scenarios` and `papers` that have no sweep, with the name of the folder before theirs.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("scenarios")];
    folders.extend(fs::read_dir(root.join("papers")).unwrap().map(|f| f.unwrap().path()).filter(|p| p.is_dir()));
    let of = |folder: &PathBuf| fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect::<Vec<_>>();
    let mut all: Vec<PathBuf> = folders.iter().flat_map(of).filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    all.retain(|p| {
        let text = fs::read_to_string(p).unwrap();
        text.contains("[topology]") && !text.contains("[sweep")
    });
    all.sort();
    all
}

/// Forecasts of the repository's scenarios are below hours and below the memory of a small machine; short scenarios are run and compared.
#[test]
fn scenarios_of_the_repository_are_forecast() {
    const AFFORDABLE: f64 = 3e6;
    let (mut off, mut ran) = (Vec::new(), 0);
    let files = files();
    assert!(files.len() > 90, "{}", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut resolved = resolved(&text, file.parent().unwrap());
        if resolved.world.name() != "sim" {
            continue;
        }
        // One run of two, for many variants and seeds.
        resolved.runs = 1;
        resolved.variants.truncate(2);
        let f = forecast(&resolved);
        assert!(f.transmissions < 2e8 && f.memory < 2_000_000_000 && f.busy < 120.0, "{}: {f:?}", file.display());
        if f.exact || f.transmissions > AFFORDABLE {
            continue;
        }
        ran += 1;
        off.extend(wrong(&f, &runs(&resolved)).into_iter().map(|w| format!("{}: {w}", file.display())));
    }
    assert!(ran > 20 && off.is_empty(), "{ran} ran\n{}", off.join("\n"));
}

/// A real-time backend is not started for a forecast: it takes as long as its runs.
#[test]
fn real_time_takes_its_duration() {
    let text = |duration: &str| {
        format!(
            "world = \"testbed\"\nruns = 3\n{duration}\n[topology]\nkind = \"many-to-one\"\nsenders = 2\n\
             access = {{ rate = \"20Mbps\", delay = \"500us\" }}\n\
             bottleneck = {{ rate = \"20Mbps\", delay = \"500us\", buffer = \"50pkt\" }}\n\
             [transport]\ncc = [\"newreno\", \"cubic\"]\n[[workload]]\nkind = \"long\"\nsize = \"1MB\"\n"
        )
    };
    let of = |duration: &str, threads: usize| match outlook(&resolved(&text(duration), Path::new("")), threads).unwrap() {
        Outlook::RealTime(r) => (r.runs, r.seconds),
        other => panic!("{other:?}"),
    };
    assert_eq!(of("duration = \"20s\"", 1), (6, Some(120.0)));
    assert_eq!(of("duration = \"20s\"", 4), (6, Some(40.0)));
    assert_eq!(of("", 1), (6, None));
}
