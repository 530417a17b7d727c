//! Events take effect exactly at their times, regardless of packets that move then: the end of a warm-up, failures of links, starts and stops of
//! workloads, samples. Therefore a datagram every microsecond in another rack does not change the measurements of a rack, on one core, on several,
//! and with the nodes of each window in reverse order.

use forebay_experiment::Experiment;
use forebay_experiment::report::EarlyEnd;
use forebay_experiment::rows::{EventKind, QueryRow};
use forebay_experiment::traffic::{ReplayFlow, Request, WorkloadKind};
use forebay_experiment::workload::REGISTRY;
use forebay_scenario::Variant;
use forebay_sim::run::{Cores, Report, run_seeded};
use forebay_tests::processes::execute_among;
use forebay_tests::{Outcome, execute, one, resolve, resolved, rows};
use forebay_types::{GroupId, PortId, Time, WorkloadId};
use std::fmt::Write;
use std::ops::ControlFlow;

/// Two racks; the first is measured: its links are slow enough for queues and losses.
const RACKS: &str = r#"
duration = "60ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 4
host = { rate = "1Gbps", delay = "3.1us", buffer = "30pkt", queue = { kind = "dctcp-step", k = "12pkt" } }
"#;

const TRANSPORT: &str = r#"
[transport]
rto-min = "5ms"
cc = "dctcp"
"#;

/// 64 bytes a microsecond; the start follows. The source is there also where it starts after the end, so that connections have the same numbers:
/// their ECMP hashes, and who goes first at one instant, depend on those.
const BEATS: &str = r#"
[[workload]]
kind = "udp"
class = "beats"
from = "h4"
to = "h5"
rate = "512Mbps"
packet = "64B"
"#;

/// A workload of each kind, with a value for each of its keys that is a time.
const WORKLOADS: &[(&str, &str)] = &[
    (
        "long",
        "from = [\"h0\", \"h1\"]\nto = \"h2\"\nstart = \"20.0000013ms\"\nstagger = \"1.7us\"\njitter = \"900ns\"\nstop-after = \"21.3ms\"",
    ),
    (
        "incast",
        "senders = [\"h0\", \"h1\", \"h3\"]\nreceiver = \"h2\"\nblock = \"70KB\"\nrounds = 4\nstart = \"20.1ms\"\ngap = \"2.00001ms\"\n\
         jitter = \"400ns\"\nrequest-latency = \"1.9us\"\ndeadline = \"2ms\"",
    ),
    (
        "poisson",
        "from = [\"h0\", \"h1\"]\nto = \"h2\"\nsizes = { exponential = \"20KB\" }\nload = 0.6\nstart = \"20.3us\"\nstop = \"44.4ms\"\ndeadline = \"1ms\"",
    ),
    (
        "on-off",
        "from = [\"h0\", \"h1\"]\nto = \"h2\"\nsizes = \"90KB\"\ngaps = { uniform = [\"1ms\", \"9ms\"] }\nstart = \"17.03ms\"\njitter = \"1.1us\"\n\
         trains = 3\nlast-size = \"200KB\"\nlast-at = \"51.05ms\"\ndeadline = \"1ms\"",
    ),
    (
        "requests",
        "clients = [\"h0\", \"h1\"]\nservers = \"h2\"\nresponse = \"30KB\"\nthink = { uniform = [\"1ms\", \"4ms\"] }\ncount = 7\n\
         start = \"19.2ms\"\ndeadline = \"1ms\"",
    ),
    (
        "queries",
        "aggregators = \"h2\"\nworkers = [\"h0\", \"h1\", \"h3\"]\nresponse = \"40KB\"\ngap = \"2.2ms\"\nstart = \"18.7ms\"\nstop = \"47ms\"\n\
         jitter = \"3us\"\nrequest-latency = \"2.3us\"\ndeadline = \"2ms\"\ndeadline-max-size = \"30KB\"",
    ),
    ("replay", "file = \"../tests/scenarios/data/scheduled.csv\""),
    (
        "udp",
        "from = [\"h0\", \"h1\"]\nto = \"h2\"\nrate = \"700Mbps\"\non = \"3ms\"\noff = \"2ms\"\npacket-jitter = \"700ns\"\nstart = \"19.5ms\"\n\
         jitter = \"1us\"\nstop = \"46.46ms\"",
    ),
];

/// Ends of a warm-up: none, in idle time, while packets move, and when all workloads have stopped.
const WARMUPS: [&str; 5] = ["0s", "1ps", "7.7777777ms", "31.0000071ms", "58.9ms"];

/// Failures of the bottleneck, in idle time and while packets move.
const FAILURES: [&str; 3] = [
    "",
    "failure = { link = \"leaf0->h2\", down = \"6.6ms\", up = \"9.0000001ms\", reroute = \"1us\" }\n",
    "failure = [{ link = \"leaf0->h2\", down = \"8ms\", up = \"8.5ms\" }, { link = \"h0->leaf0\", down = \"27.1234567ms\", up = \"28ms\" }]\n",
];

/// The scenario with a workload, and with the beats or without.
fn scenario(kind: &str, keys: &str, failure: &str, warmup: &str, beats: bool) -> Variant {
    let observe = format!(
        "[observe]\noccupancy = \"all\"\nwarmup = \"{warmup}\"\nqueue = {{ port = \"leaf0->h2\", every = \"1.3ms\" }}\ntcp = {{ flows = [0, 1], \
         every = \"777us\" }}\n"
    );
    let measured = format!("[[workload]]\nkind = \"{kind}\"\nclass = \"measured\"\n{keys}\n");
    let text = format!("{RACKS}{failure}{TRANSPORT}{measured}{BEATS}start = \"{}\"\n{observe}", if beats { "0s" } else { "1s" });
    let mut all = resolve(&text, &[], None);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// All rows of the first rack, its workload and its transport, one table a line.
fn measured(v: &Variant, r: &Report) -> String {
    let own = |id: PortId| ["h4", "h5"].iter().all(|host| !v.port_names[id.index()].contains(host));
    let workload = WorkloadId::new(0);
    let mut flows: Vec<_> = r.flows.iter().filter(|f| f.workload == workload).cloned().collect();
    // Rows are numbered over all workloads.
    flows.iter_mut().for_each(|flow| flow.flow_id = 0);
    let mut text = String::new();
    let queues: Vec<_> = r.queue.iter().filter(|q| own(q.port)).collect();
    let deliveries: Vec<_> = r.deliveries.iter().filter(|d| d.workload == workload).collect();
    let timeouts: Vec<_> = r.timeouts.iter().map(|t| t.time_ps).collect();
    let tcp: Vec<_> = r.tcp.iter().collect();
    for row in
        flows.iter().map(|row| format!("{row:?}")).chain(r.ports.iter().filter(|p| own(p.port)).map(|row| format!("{row:?}")))
    {
        writeln!(text, "{row}").unwrap();
    }
    let queries: Vec<_> = r.queries.iter().map(|q| QueryRow { slowest: None, ..*q }).collect();
    writeln!(text, "measured from {} to {}: {}", r.measured_from, r.end, r.acked[GroupId::new(0)]).unwrap();
    write!(text, "{queues:?}\n{tcp:?}\n{deliveries:?}\n{timeouts:?}\n{queries:?}\n{:?}\n", r.events).unwrap();
    text
}

fn same(case: &str, a: &str, b: &str) {
    for (a, b) in a.lines().zip(b.lines()) {
        if a != b {
            let at = a.bytes().zip(b.bytes()).position(|(a, b)| a != b).unwrap_or(0);
            let part = |s: &str| s.get(at.saturating_sub(200)..(at + 200).min(s.len())).unwrap_or(s).to_owned();
            panic!("{case}:\n{}\n---\n{}", part(a), part(b));
        }
    }
    assert_eq!(a.lines().count(), b.lines().count(), "{case}");
}

fn on_cores(config: &Experiment, cores: usize) -> Report {
    run_seeded(config.check().unwrap(), config.seed, Cores::exactly(cores), &mut |_| ControlFlow::Continue(())).unwrap()
}

#[cfg(debug_assertions)]
fn backwards(config: &Experiment) -> Report {
    forebay_sim::run::run_backwards(config.check().unwrap()).unwrap()
}

#[cfg(not(debug_assertions))]
fn backwards(config: &Experiment) -> Report {
    execute(config)
}

/// Each time key of a workload has a value here.
#[test]
fn every_time_key_has_a_value() {
    for entry in REGISTRY {
        let name = entry.entry.name;
        let (_, keys) = WORKLOADS.iter().find(|w| w.0 == name).unwrap_or_else(|| panic!("no workload `{name}`"));
        let times = entry.entry.params.iter().filter(|p| format!("{:?}", p.kind).starts_with("Time"));
        for param in times {
            assert!(keys.lines().any(|line| line.starts_with(&format!("{} = ", param.key))), "`{name}` without `{}`", param.key);
        }
    }
}

#[test]
fn other_traffic_does_not_change_results() {
    for (kind, keys) in WORKLOADS {
        for failure in FAILURES {
            for warmup in WARMUPS {
                let case = format!("{kind}, warm-up {warmup}, {failure}");
                let (quiet, beats) = (scenario(kind, keys, failure, warmup, false), scenario(kind, keys, failure, warmup, true));
                let (alone, beside) = (execute(&quiet.config), execute(&beats.config));
                assert_eq!(alone.measured_from, warmup.parse::<Time>().unwrap(), "{case}");
                assert!(alone.packet_hops > 500, "{case}");
                let expected = measured(&quiet, &alone);
                same(&case, &expected, &measured(&beats, &beside));
                same(&format!("{case}, backwards"), &expected, &measured(&quiet, &backwards(&quiet.config)));
                if failure.is_empty() {
                    same(&format!("{case}, 2 cores"), &expected, &measured(&quiet, &on_cores(&quiet.config, 2)));
                }
            }
        }
    }
}

/// Several cores and several processes agree on scheduled events, inside busy windows and while nothing moves.
#[test]
fn cores_and_processes_agree() {
    for (number, (kind, keys)) in WORKLOADS.iter().enumerate() {
        for warmup in ["31.0000071ms", WARMUPS[1 + number % 4]] {
            let v = scenario(kind, keys, "", warmup, false);
            let expected = measured(&v, &execute(&v.config));
            same(&format!("{kind}, {warmup}, 3 cores"), &expected, &measured(&v, &on_cores(&v.config, 3)));
            let report = execute_among(&v.config, 2, 1).unwrap_or_else(|e| panic!("{e}"));
            same(&format!("{kind}, {warmup}, 2 processes"), &expected, &measured(&v, &report));
        }
    }
}

/// The end of a run is exact too, also when the last packet has long arrived.
#[test]
fn durations_are_exact() {
    for duration in ["60.0000001ms", "41.0000003ms", "25.010101010ms"] {
        let (kind, keys) = WORKLOADS[1];
        let [quiet, beats] = [false, true].map(|beats| {
            let mut v = scenario(kind, keys, FAILURES[0], "7ms", beats);
            v.config.duration = Some(duration.parse().unwrap());
            v
        });
        let alone = execute(&quiet.config);
        assert_eq!(alone.end, duration.parse().unwrap());
        same(duration, &measured(&quiet, &alone), &measured(&beats, &execute(&beats.config)));
    }
}

/// Two flows of 10 Mbps from 500 ms on, for 500 ms.
const LATE: &str = r#"
duration = "1s"
[topology]
kind = "many-to-one"
senders = 2
access = { rate = "100Mbps", delay = "50us" }
bottleneck = { rate = "10Mbps", delay = "50us", buffer = "50pkt" }
[transport]
host = "bare"
[[workload]]
kind = "long"
start = "500ms"
[observe]
"#;

/// Goodput of all transports, bit/s.
fn goodput(r: &Report) -> f64 {
    let bytes: u64 = r.acked.iter().sum();
    8.0 * bytes as f64 / (r.end - r.measured_from).as_secs_f64()
}

#[test]
fn warm_up_ends_while_idle() {
    let whole = one(&format!("{LATE}warmup = \"0s\""), &[]);
    let bytes: u64 = whole.report.acked.iter().sum();
    assert!((goodput(&whole.report) - 4.82e6).abs() < 0.01e6, "{}", goodput(&whole.report));
    for warmup in ["1ps", "5ms", "400ms", "499.999999999ms", "500ms"] {
        let o = one(&format!("{LATE}warmup = \"{warmup}\""), &[]);
        let from: Time = warmup.parse().unwrap();
        // The same bytes and packets in less time.
        assert_eq!((o.report.measured_from, o.report.acked.iter().sum::<u64>()), (from, bytes), "{warmup}");
        let (port, all) = (o.port("bottleneck"), whole.port("bottleneck"));
        assert_eq!((port.sent_pkts, port.queue_max_pkts), (all.sent_pkts, all.queue_max_pkts), "{warmup}");
        let scale = 1.0 / (1.0 - from.as_secs_f64());
        assert!((port.busy - (all.busy * scale).min(1.0)).abs() < 1e-9, "{warmup}: {}", port.busy);
        let goodputs = (goodput(&o.report), goodput(&whole.report));
        for (name, (short, long)) in [("queue", (port.queue_mean_pkts, all.queue_mean_pkts)), ("goodput", goodputs)] {
            assert!((short / long - scale).abs() < 1e-9, "{name} with {warmup}: {short}, not {scale} times {long}");
        }
    }
}

/// Half of the time the queue is empty, without a failure and with one before the first packet.
#[test]
fn idle_failure_keeps_queue_percentiles() {
    let failure = "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"10ms\"\nup = \"20ms\"\n";
    let percentiles = |failure: &str, warmup: &str| {
        let text = format!("{LATE}warmup = \"{warmup}\"").replace("[[workload]]", &format!("{failure}[[workload]]"));
        one(&text, &[]).port("bottleneck").queue_percentiles.unwrap()
    };
    for warmup in ["0s", "5ms", "12ms", "20ms", "480ms", "500ms"] {
        assert_eq!(percentiles(failure, warmup), percentiles("", warmup), "{warmup}");
    }
    // From the first packet on the flows keep the buffer full.
    let [median, high, largest] = percentiles(failure, "500ms");
    assert!(median > 40 && (high, largest) == (50, 50), "{median} {high} {largest}");
}

/// A failure and a repair in idle time are in the table `events`, also after all traffic.
#[test]
fn links_fail_while_idle() {
    let text = LATE.replace("start = \"500ms\"", "start = \"100ms\"\nsize = \"20KB\"").replace(
        "[[workload]]",
        "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"700.0000001ms\"\nup = \"800ms\"\n[[workload]]",
    );
    let o = one(&text, &[]);
    let events: Vec<_> = o.report.events.iter().map(|e| (e.time_ps, e.kind, e.packets)).collect();
    assert_eq!(events, [(700_000_000_100, EventKind::LinkDown, Some(0)), (800_000_000_000, EventKind::LinkUp, None)]);
}

/// The run ends inside a window of 20 us, in the rest of which something is due: a repair, a failure, a change of tables, flows of a list.
#[test]
fn nothing_happens_after_the_duration() {
    let text = LATE
        .replace("duration = \"1s\"", "duration = \"1.0000307ms\"")
        .replace("50us", "20us")
        .replace("start = \"500ms\"", "size = \"20B\"");
    let plain = one(&text, &[]).report;
    for times in [
        "down = \"1.0000306ms\"\nup = \"1.0000307ms\"",
        "down = \"1.0000306ms\"\nup = \"1.000035ms\"",
        "down = \"1.0000307ms\"",
        "down = \"0.9ms\"\nup = \"1.00003ms\"\nreroute = \"1us\"",
        "down = \"0.9ms\"\nup = \"1.00003ms\"\nreroute = \"700ps\"",
    ] {
        let failure = format!("[[topology.failure]]\nlink = \"bottleneck\"\n{times}\n[[workload]]");
        let report = one(&text.replace("[[workload]]", &failure), &[]).report;
        assert_eq!((report.end, report.fingerprint, &report.flows), (plain.end, plain.fingerprint, &plain.flows), "{times}");
        assert!(report.events.iter().all(|e| e.time_ps < 1_000_030_700), "{times}: {:?}", report.events);
    }
    let mut config = resolve(&text, &[], None).remove(0).config;
    let (src, dst) = (plain.flows[0].src, plain.flows[0].dst);
    let flow = |start: u64| ReplayFlow { start: Time(start), src, dst, bytes: 20, deadline: Time::NEVER };
    for late in [1_000_030_700, 1_000_030_701, 1_000_039_999, 1_000_040_000, 2_000_000_000] {
        config.workloads[WorkloadId::new(0)].kind = WorkloadKind::Replay { flows: vec![flow(0), flow(late)], after: Vec::new() };
        for cores in 1..=3 {
            let report = on_cores(&config, cores);
            assert_eq!((report.end, report.flows.len()), (plain.end, 1), "a flow at {late} ps, {cores} cores");
        }
    }
}

/// Without a duration a run ends with its last message, regardless of events scheduled for later.
#[test]
fn run_without_duration_ends_with_traffic() {
    let text = LATE
        .replace("duration = \"1s\"", "")
        .replace("kind = \"long\"", "kind = \"long\"\nsize = \"20KB\"")
        .replace("[[workload]]", "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"3000s\"\n[[workload]]");
    let o = one(&format!("{text}warmup = \"1000s\""), &[]);
    assert!(o.report.end < Time::from_ms(700) && o.report.events.is_empty() && o.report.measured_from == Time::ZERO);
    assert!(o.report.flows.iter().all(|f| f.bytes_measured == f.size_bytes));
}

fn shipped(name: &str, sets: &[&str]) -> Outcome {
    let text = std::fs::read_to_string(forebay_tests::repository().join("scenarios").join(name)).unwrap();
    let mut variants = resolve(&text, sets, None);
    let variant = variants.remove(0);
    Outcome { report: execute(&variant.config), variant }
}

/// 500 ms lie inside a timeout that all senders wait for.
#[test]
fn incast_measures_after_warmup() {
    let o = shipped("incast.toml", &["transport.cc=newreno", "duration=1.2s", "observe.warmup=500ms"]);
    assert_eq!(o.report.measured_from, Time::from_ms(500));
}

/// A request a picosecond later: the shortest legal latency makes windows of a picosecond.
const QUICK_REQUESTS: [&str; 2] = [
    r#"
[topology]
kind = "many-to-one"
senders = 3
access = { rate = "1Mbps", delay = "3333ps" }
bottleneck = { rate = "19Mbps", delay = "59us", buffer = "21pkt" }
[transport]
cc = "newreno"
[[workload]]
kind = "incast"
request = "0B"
senders = ["s0", "s1", "recv"]
receiver = "s2"
block = "1B"
rounds = 4
request-latency = "1ps"
"#,
    r#"
[topology]
kind = "many-to-one"
senders = 1
access = { rate = "123456789bps", delay = "5856804ps", buffer = "56160B", queue = { kind = "strict-priority", queues = 7, map = [3, 0, 4, 6, 0, 4, 3, 6], overflow = "lowest", k-scope = "port", ks = ["43292B", "5919B", "30411B", "29725B", "35266B", "1768B", "2049B"] } }
bottleneck = { rate = "1000000000bps", delay = "181612447ps", buffer = "90480B", queue = { kind = "fq-codel", target = "1504292ps", interval = "1504292ps", quantum = "1B", limit = 100 } }
[[topology.failure]]
link = "bottleneck"
down = "9039ps"
up = "61294432790ps"
[transport]
[[transport.group]]
name = "g0"
[[transport.group]]
name = "g1"
[[transport.group]]
name = "g2"
[[workload]]
kind = "udp"
rate = "10387946bps"
[[workload]]
kind = "poisson"
transport = "g0"
sizes = { exponential = "13B" }
rate = 1000000
flows = 1
[[workload]]
kind = "incast"
request = "0B"
transport = "g1"
senders = ["recv"]
receiver = "s0"
total = "8B"
rounds = 3
jitter = "250788827ps"
request-latency = "1ps"
"#,
];

#[test]
fn shortest_request_latency_runs_backwards_too() {
    for text in QUICK_REQUESTS {
        let o = one(text, &[]);
        assert!(!o.report.queries.is_empty() && o.report.queries.iter().all(|q| !q.end.is_never()));
        let expected = rows(&o.report);
        same("backwards", &expected, &rows(&backwards(&o.variant.config)));
        same("2 cores", &expected, &rows(&on_cores(&o.variant.config, 2)));
    }
}

#[test]
fn request_latency_of_zero_is_refused() {
    for text in QUICK_REQUESTS {
        assert!(resolved(&text.replace("request-latency = \"1ps\"", "request-latency = \"0ps\""), None).is_none());
    }
    let mut config = one(QUICK_REQUESTS[0], &[]).variant.config;
    if let WorkloadKind::Incast { request, .. } = &mut config.workloads[WorkloadId::new(0)].kind {
        *request = Request::OutOfBand(Some(Time::ZERO));
    }
    assert_eq!(config.check().unwrap_err().field, "workloads[0].request_latency");
}

/// A link delay holds 10^9 arrivals: a run reports its progress, and can be ended, long before all of them have begun.
#[test]
fn arrivals_within_delay_are_bounded() {
    let workloads = [
        "kind = \"poisson\"\nrate = 1e9\nsizes = \"1KB\"",
        "kind = \"on-off\"\ngaps = \"1ns\"\nsizes = \"1KB\"\ngap-from = \"start\"",
        "kind = \"udp\"\nrate = \"500Gbps\"\npacket = \"64B\"",
    ];
    for workload in workloads {
        let text = format!(
            "duration = \"100s\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"1Tbps\", delay = \"1s\" }}\n\
             bottleneck = {{ rate = \"1Tbps\", delay = \"1s\" }}\n[[workload]]\n{workload}\n"
        );
        let config = resolve(&text, &[], None).remove(0).config;
        let report =
            run_seeded(config.check().unwrap(), 1, Cores::exactly(1), &mut |_| ControlFlow::Break(EarlyEnd::WithReport)).unwrap();
        assert!(report.cut && report.end < Time::from_ms(500), "{workload}: {}", report.end);
    }
}
