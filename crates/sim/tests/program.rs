//! Messages of a program against the same messages in a scenario's flow list.

use forebay_experiment::topology;
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_scenario::{Errors, Scenario};
use forebay_sim::program::{Engine, Step};
use forebay_sim::world::Simulator;
use forebay_types::Time;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;

fn network(transport: &str) -> String {
    format!(
        r#"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 4
hosts-per-leaf = 4
host   = {{ rate = "10Gbps", delay = "1us", queue = {{ kind = "dctcp-step", k = "20pkt" }} }}
fabric = {{ rate = "10Gbps", delay = "2us", queue = {{ kind = "dctcp-step", k = "20pkt" }} }}
[transport]
{transport}
"#
    )
}

fn scenario(text: &str, folder: &Path) -> Result<Scenario, Errors> {
    static WORLDS: &[&dyn World] = &[&Simulator];
    static ALL: OnceLock<Worlds> = OnceLock::new();
    Scenario::from_text(ALL.get_or_init(|| Worlds::new(WORLDS)), text, "test.toml", folder, &[], None)
}

/// An engine for a scenario; an error as the interfaces for programs report it.
fn create(text: &str) -> Result<Engine, String> {
    let resolved = scenario(text, Path::new(".")).and_then(|s| s.resolve_for_program()).map_err(|e| e.render())?;
    Engine::new(resolved.for_program(Simulator.name())?).map_err(|e| e.to_string())
}

fn engine(text: &str) -> Engine {
    create(text).unwrap_or_else(|e| panic!("{e}"))
}

/// A message: source, destination, bytes, start.
type Message = (u32, u32, u64, Time);

/// Messages between pseudo-random hosts, at times that lie within windows.
fn messages(count: u64) -> Vec<Message> {
    let mut x = 1u64;
    let mut draw = move |below: u64| {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (x >> 33) % below
    };
    let mut time = 0;
    let one = |_| {
        time += draw(3_000_000);
        let (src, dst) = (draw(16) as u32, draw(15) as u32);
        (src, dst + u32::from(dst >= src), 1 + draw(100_000), Time(time))
    };
    (0..count).map(one).collect()
}

/// Start of a message that is to start at `time`: Linux servers, which are the default, send at whole nanoseconds.
fn opening(transport: &str, time: Time) -> Time {
    if transport.contains("ns2") { time } else { time.round_up(Time::from_ns(1)) }
}

/// Ends of the messages of a list, in the order of the list, as the scenario delivers them.
fn listed(transport: &str, messages: &[Message]) -> Vec<Time> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut list = String::from("src,dst,bytes,start_ps\n");
    for (src, dst, bytes, start) in messages {
        writeln!(list, "{src},{dst},{bytes},{}", start.0).expect("a text");
    }
    std::fs::write(folder.path().join("list.csv"), list).expect("a file");
    let text = format!("{}[[workload]]\nkind = \"replay\"\nfile = \"list.csv\"\n", network(transport));
    let resolved = scenario(&text, folder.path()).and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{}", e.render()));
    let config = &resolved.variants[0].config;
    let report =
        forebay_sim::run::run(config.check().expect("a legal experiment"), &mut |_| ControlFlow::Continue(())).expect("a run");
    let hosts = topology::hosts(&config.network);
    let end = |(src, dst, bytes, start): &Message| {
        let same = |f: &&forebay_experiment::rows::FlowRow| {
            let start = opening(transport, *start);
            (f.src, f.dst, f.size_bytes, f.start) == (hosts[*src as usize], hosts[*dst as usize], *bytes, start)
        };
        report.flows.iter().find(same).and_then(|f| f.end.get()).expect("a finished flow")
    };
    messages.iter().map(end).collect()
}

/// Ends of messages that are sent at timers. Events come in order of time.
fn driven(transport: &str, messages: &[Message]) -> Vec<Time> {
    let mut engine = engine(&network(transport));
    let mut ends = vec![Time::ZERO; messages.len()];
    for message in messages {
        engine.schedule(message.3);
    }
    let mut last = Time::ZERO;
    loop {
        let step = engine.step(3);
        assert!(engine.now() >= last, "time never goes back");
        last = engine.now();
        match step {
            Step::Due(timer) => {
                let (src, dst, bytes, start) = messages[timer as usize];
                assert_eq!(engine.now(), start);
                assert_eq!(engine.send(src, dst, bytes).expect("a message"), (timer, opening(transport, start)));
            }
            Step::Delivered(message) => ends[message as usize] = engine.now(),
            Step::Paused => {}
            Step::Idle => return ends,
            Step::Ended => panic!("messages are missing"),
        }
    }
}

#[test]
fn scheduled_messages_equal_flow_list() {
    let all = messages(2000);
    for transport in ["cc = \"dctcp\"", "stack = \"ns2\"\ncc = \"newreno\"", "cc = \"cubic\"\nhost = \"linux-server\""] {
        let (driven, listed) = (driven(transport, &all), listed(transport, &all));
        let different = driven.iter().zip(&listed).position(|(a, b)| a != b);
        assert_eq!(different, None, "{transport}: {:?}", different.map(|i| (all[i], driven[i], listed[i])));
    }
}

/// A message that is sent after a delivery begins with the next window, and after a timer at once.
#[test]
fn answers_begin_with_next_window() {
    let mut engine = engine(&network("stack = \"ns2\"\ncc = \"newreno\"\nhandshake = false"));
    engine.send(0, 1, 1460).expect("a message");
    assert_eq!(engine.step(u32::MAX), Step::Delivered(0));
    let delivered = engine.now();
    let (_, start) = engine.send(1, 0, 1460).expect("a message");
    assert!(start >= delivered && start <= delivered + Time::from_us(1), "{start} after {delivered}");
    assert_eq!(engine.step(u32::MAX), Step::Delivered(1));
    assert_eq!((engine.step(u32::MAX), engine.open()), (Step::Idle, 0));
    // Idle time is skipped, and a new message continues.
    engine.schedule(Time::from_secs(3));
    assert_eq!((engine.step(u32::MAX), engine.now()), (Step::Due(0), Time::from_secs(3)));
    assert_eq!(engine.send(2, 3, 1460).expect("a message"), (2, Time::from_secs(3)));
    assert_eq!(engine.step(u32::MAX), Step::Delivered(2));
    assert_eq!(engine.now() - Time::from_secs(3), delivered, "an idle network, as for the first message");
}

/// Endless flows of the scenario share the links, and do not keep the engine running.
#[test]
fn workloads_run_beside_messages() {
    let alone = network("cc = \"dctcp\"");
    let shared = format!("duration = \"1s\"\n{alone}[[workload]]\nkind = \"long\"\npattern = \"permutation\"\n");
    let time = |text: &str| {
        let mut engine = engine(text);
        engine.schedule(Time::from_ms(1));
        assert_eq!(engine.step(u32::MAX), Step::Due(0));
        engine.send(0, 5, 1_000_000).expect("a message");
        while engine.step(u32::MAX) != Step::Delivered(0) {}
        let end = engine.now();
        assert_eq!(engine.step(u32::MAX), Step::Idle);
        end
    };
    assert!(time(&shared) - Time::from_ms(1) > time(&alone) - Time::from_ms(1) + Time::from_us(100), "the links are shared");
}

#[test]
fn illegal_engines_and_messages() {
    let refused = |text: &str| create(text).err().unwrap_or_else(|| panic!("accepted:\n{text}"));
    assert!(refused(&network("cc = [\"dctcp\", \"cubic\"]")).contains("dctcp, cubic"));
    assert!(refused("[transport]\ncc = \"cubic\"").contains("no [topology]"));
    let groups = "[[transport.group]]\nname = \"a\"\ncc = \"dctcp\"\nshare = 1";
    let mut some = engine(&network(groups));
    assert!(some.send(0, 1, 1).is_ok());
    for (src, dst, bytes, text) in [(16, 0, 1, "0 to 15"), (0, 16, 1, "0 to 15"), (1, 1, 1, "itself"), (0, 1, 0, "legal: 1 to")] {
        assert!(some.send(src, dst, bytes).expect_err("refused").to_string().contains(text), "{src} {dst} {bytes}");
    }
}

/// A simulation can move to another thread.
#[test]
fn engine_is_send() {
    fn is_send<T: Send>() {}
    is_send::<Engine>();
}
