//! Random scenarios of the matrix in the backend `linux`: each runs to its end with one trajectory in every repetition under load, or is refused with
//! a key and a reason. Without a kernel the test passes with a message; `crates/linux/tests/golden.rs` fails if a kernel should exist.

use crate::matrix::{ends, topology_text, workload_text};
use forebay_experiment::world::World;
use forebay_experiment::{Experiment, topology, workload};
use forebay_sim::{cc, shim, tcp::profile};
use forebay_types::Rng;
use std::ops::ControlFlow;
use std::thread;

/// Number of scenarios that run; about twice as many are refused.
const RUN: u64 = 20;

fn one_of<'a>(rng: &mut Rng, all: &[&'a str]) -> &'a str {
    all[rng.below(all.len() as u64) as usize]
}

/// Random scenario; `None` if its parts are inconsistent for any backend.
fn draw(rng: &mut Rng) -> Option<(String, Experiment)> {
    let names = |all: Vec<&'static str>, rng: &mut Rng| one_of(rng, &all);
    let kind = names(topology::REGISTRY.iter().map(|t| t.entry.name).collect(), rng);
    let traffic = names(workload::REGISTRY.iter().map(|w| w.entry.name).collect(), rng);
    let cc = names(cc::REGISTRY.iter().map(|l| l.entry.name).collect(), rng);
    let shims = shim::REGISTRY.iter().map(|s| s.entry.name).chain([""; 4]).collect();
    let shim = match names(shims, rng) {
        "" => String::new(),
        "pias" => "shim = { kind = \"pias\", demotion-thresholds = [\"10KB\", \"30KB\"] }\n".into(),
        name => format!("shim = \"{name}\"\n"),
    };
    let queue = &forebay_queues::REGISTRY[rng.below(forebay_queues::REGISTRY.len() as u64) as usize];
    let (first, second, last) = ends(kind);
    let text = format!(
        "{}[transport]\nstack = \"{}\"\ncc = \"{cc}\"\n{shim}recovery = \"{}\"\nack-every = {}\ntimestamps = {}\nrto-min = \"{}\"\n\
         [[workload]]\nkind = \"{traffic}\"\n{}\n",
        topology_text(kind, queue.example),
        names(profile::PROFILES.to_vec(), rng),
        one_of(rng, &["newreno", "sack", "sack", "rack", "rack", "rack", "rack", "reno"]),
        one_of(rng, &["1", "1", "2", "2", "2", "2", "2", "4"]),
        one_of(rng, &["true", "false"]),
        one_of(rng, &["5ms", "20ms", "20ms", "20ms", "200ms", "200ms", "200ms", "2500us"]),
        workload_text(traffic).replace("FIRST", first).replace("SECOND", second).replace("LAST", last),
    );
    let seed = rng.below(1_000);
    let drawn = forebay_tests::resolved(&text, Some(seed))?;
    Some((text, drawn.into_iter().next()?.config))
}

/// Runs it three times at once.
fn repeats(linux: &dyn World, text: &str, e: &Experiment) {
    let run = || {
        let checked = e.check().unwrap_or_else(|e| panic!("{e}\n{text}"));
        linux.run(checked, e.seed, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|e| panic!("{e}\n{text}"))
    };
    let all = thread::scope(|scope| [(); 3].map(|()| scope.spawn(run)).map(|t| t.join().expect("it ran")));
    let [r, ..] = &all;
    assert!(r.fingerprint != 0 && all.iter().all(|other| other.fingerprint == r.fingerprint), "{text}");
    assert!(!r.flows.is_empty() && r.packet_hops > 0, "{text}");
    for f in &r.flows {
        let done = f.size_bytes == 0 || (!f.end.is_never() && f.bytes_acked == f.size_bytes);
        assert!(done && (f.size_bytes == 0 || f.end.ps() >= Some(f.start.0 + f.ideal.0)), "{f:?}\n{text}");
    }
    for p in &r.ports {
        assert_eq!(p.arrived_pkts, p.sent_pkts + p.dropped_overflow + p.dropped_shared + p.dropped_early, "{p:?}\n{text}");
    }
}

#[test]
fn random_scenarios_run_or_are_refused() {
    let linux = forebay_backends::all().find("linux").expect("the world is in the list");
    if linux.version().is_empty() {
        return forebay_platform::doctor::requirements::skip("kernel", "build it with `forebay kernel build`");
    }
    let (mut rng, mut ran, mut refused, mut reasons) = (Rng::stream(20, &[1]), 0, 0, Vec::new());
    while ran < RUN {
        let Some((text, e)) = draw(&mut rng) else { continue };
        match linux.supports(&e).as_slice() {
            [] => {
                repeats(linux, &text, &e);
                ran += 1;
            }
            why => {
                for w in why {
                    let place = ["topology", "transport.", "workload"].iter().any(|part| w.key.starts_with(part));
                    assert!(place && w.reason.len() > 20, "{w:?}\n{text}");
                    reasons.push(format!("{}: {}", w.key, w.reason));
                }
                refused += 1;
            }
        }
    }
    println!("{ran} ran, {refused} were refused:\n{}", reasons.join("\n"));
    assert!((10..100).contains(&refused), "{refused} were refused: {reasons:#?}");
}
