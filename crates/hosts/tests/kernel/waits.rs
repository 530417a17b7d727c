//! TRIM's random waits (AD, AS) where something holds packets: the program draws them, and the switch of the testbed keeps what it sends.

use crate::check::{check, equal, undisturbed};
use crate::lab::Lab;
use crate::shims::counter;
use forebay_experiment::Experiment;
use forebay_experiment::report::Report;
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_hosts::attach::{Request, attach};
use forebay_hosts::detach::detach_all;
use forebay_scenario::Scenario;
use forebay_sim::world::Simulator;
use forebay_testbed::world::Testbed;
use std::ops::ControlFlow;

const NAME: &str = "forebay_trim";

/// Trains of 60 KB with silences, over 100 Mbps and 2 ms.
const SCENARIO: &str = r#"
duration = "6s"
[topology]
kind = "many-to-one"
senders = 4
access     = { rate = "100Mbps", delay = "500us" }
bottleneck = { rate = "100Mbps", delay = "500us", buffer = "100pkt" }
[transport]
stack = "linux"
ack-every = 1
cc = { kind = "trim", at = "AT" }
[[workload]]
kind = "on-off"
sizes = { uniform = ["60KB", "60KB"] }
gaps = { exponential = "40ms" }
gap-from = "completion"
trains = 80
start = "100ms"
"#;

fn experiment(at: &str, world: &str) -> Experiment {
    static ALL: std::sync::OnceLock<Worlds> = std::sync::OnceLock::new();
    let worlds = ALL.get_or_init(|| Worlds::new(&[&Simulator, &Testbed]));
    let text = SCENARIO.replace("AT", at);
    let scenario = Scenario::from_text(worlds, &text, "waits", "".as_ref(), &[format!("world={world}")], None);
    let mut e = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}")).variants[0].config.clone();
    e.observe.packets = true;
    e
}

/// `None` for a run in real time that says that it is invalid, because it was late.
fn run(world: &dyn World, at: &str) -> Option<Report> {
    let e = experiment(at, world.name());
    let checked = e.check().expect("a legal experiment");
    match world.run(checked, 1, &mut |_| ControlFlow::Continue(())) {
        Ok(report) => Some(report),
        Err(e) if e.to_string().contains("invalid") => None,
        Err(e) => panic!("{e}"),
    }
}

const LATE: &str = "a run in real time was late";

/// Means over trains, ms: from writing one to its first packet at the receiver, where AD waits, and from its second packet (the last probe) to
/// the third, where AS does.
struct Trains {
    number: usize,
    first: f64,
    third: f64,
}

fn trains(report: &Report) -> Trains {
    let mut packets: Vec<(u64, u64)> =
        report.packets.iter().filter(|p| !p.back && p.payload > 0).map(|p| (p.conn_id, p.time_ps)).collect();
    packets.sort_unstable();
    let (mut number, mut first, mut third) = (0, 0.0, 0.0);
    for f in &report.flows {
        let begin = packets.partition_point(|p| *p < (f.conn_id, f.start.0));
        let of_train = packets[begin..].iter().take_while(|(conn, time)| *conn == f.conn_id && *time <= f.end.or_never().0);
        let times: Vec<u64> = of_train.take(3).map(|p| p.1).collect();
        if let [one, two, three] = times[..] {
            number += 1;
            first += (one - f.start.0) as f64 / 1e9;
            third += (three - two) as f64 / 1e9;
        }
    }
    Trains { number, first: first / number as f64, third: third / number as f64 }
}

/// Counters of the program since the last call: waits, their sum in ms, episodes.
struct Counted {
    waits: u64,
    sum: f64,
    episodes: u64,
}

fn counted(lab: &Lab) -> Counted {
    let one = |what| counter(&lab.left, NAME, what);
    Counted { waits: one("waits"), sum: one("waited_us") as f64 / 1e3, episodes: one("episodes") }
}

pub(crate) fn trim() {
    let lab = Lab::new();
    // A full packet of 1538 bytes on the wire.
    let params = ["packet_ps=123040000", "guard=369", "buffer=12304"].map(str::to_owned).to_vec();
    let request = Request { program: "trim".into(), name: Some(NAME.into()), default: true, params, ..Request::default() };
    // Of an attempt that failed.
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    lab.left.run(|| attach(&request)).unwrap_or_else(|e| panic!("{e}"));
    let plain = trains(&undisturbed(LATE, || run(&Testbed, "off")));
    check(plain.number >= 300, &format!("{} trains without waits", plain.number));
    equal(counted(&lab).waits, 0, "sockets that are not asked to wait do not");
    let simulator = |at: &str| trains(&run(&Simulator, at).expect("virtual time is never late"));
    let simulated = simulator("off");
    for at in ["ad", "as"] {
        let (before, report) = undisturbed(LATE, || Some((counted(&lab), run(&Testbed, at)?)));
        let (trains_here, trains_there) = (trains(&report), simulator(at));
        let now = counted(&lab);
        let (waits, episodes) = (now.waits - before.waits, now.episodes - before.episodes);
        let waited = (now.sum - before.sum) / trains_here.number as f64;
        // AD: before each episode, and before the first segment of each connection.
        check(
            if at == "ad" { (episodes..=episodes + 4).contains(&waits) } else { waits <= episodes && waits > episodes / 4 },
            &format!("{at}: {waits} waits in {episodes} episodes, {waited:.2} ms a train"),
        );
        let later = |t: &Trains, base: &Trains| if at == "ad" { t.first - base.first } else { t.third - base.third };
        let (here, there) = (later(&trains_here, &plain), later(&trains_there, &simulated));
        let place = if at == "ad" { "first" } else { "third" };
        check(
            (here - waited).abs() < 0.25 * waited,
            &format!("{at}: the {place} packet of {} trains comes {here:.2} ms later", trains_here.number),
        );
        check((0.5 * there..2.0 * there).contains(&here), &format!("{at}: in the simulator it comes {there:.2} ms later"));
        check(report.remark.contains("late by"), &format!("{at}: {}", report.remark));
    }
    equal(counter(&lab.left, NAME, "timeouts"), 0, "no timeout for a packet that was held");
    let (opened, closed) = (counter(&lab.left, NAME, "sockets_opened"), counter(&lab.left, NAME, "sockets_closed"));
    equal(closed, opened, "no connection outlives its run");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    let refused = Testbed.run(experiment("ad", "testbed").check().expect("legal"), 1, &mut |_| ControlFlow::Continue(()));
    let said = refused.err().map(|e| e.to_string()).unwrap_or_default();
    check(
        said.contains("`holds`") && said.contains("forebay attach trim --name forebay_trim --default"),
        &format!("without the program a run says what it needs: {said}"),
    );
}
