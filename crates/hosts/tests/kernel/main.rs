//! What `forebay attach` promises, held against the running kernel: in network namespaces of our own, which are gone afterwards.
//! Runs where root, type information (BTF) and struct_ops are there, and says why it does not elsewhere. Everything is one program
//! because congestion controls are registered for the whole machine: two tests at once would see each other.
//!
//!     cargo test -p forebay-hosts --features bpf --test kernel [-- WORD]     only topics whose name contains the word

#![allow(clippy::print_stdout)]

mod attach;
mod capture;
mod check;
mod child;
mod kill;
mod lab;
mod laws;
mod messages;
mod recording;
mod refusals;
mod shims;
mod snapshot;
mod swap;
mod traffic;

use std::process::ExitCode;
use std::time::Instant;

/// These are packets of a running kernel in real time, and a machine that does something else as well stops any process for a while: a topic
/// fails when it fails this often in a row.
const ATTEMPTS: u32 = 3;

/// Topics, in the order in which they run.
const TOPICS: &[(&str, fn())] = &[
    ("attach-default", attach::default),
    ("attach-prefix", attach::prefix),
    ("swap-stream", swap::in_the_middle),
    ("swap-back", swap::back_to_what_it_was),
    ("swap-prefix", swap::of_a_prefix),
    ("swap-cgroup", swap::of_a_cgroup),
    ("swap-ten-thousand", swap::ten_thousand),
    ("law-echo", laws::echo),
    ("law-alpha", laws::alpha),
    ("law-without-ecn", laws::without_ecn),
    ("law-losses", laws::losses),
    ("law-trim-probes", laws::trim_probes),
    ("message-option", messages::option),
    ("message-deadlines", messages::deadlines),
    ("message-tail", messages::tail),
    ("message-halving", messages::halving),
    ("record", recording::messages),
    ("shim-pias", shims::pias),
    ("shim-proboscis", shims::proboscis),
    ("shim-proboscis-window", shims::proboscis_window),
    ("kill-attach", kill::while_attaching),
    ("kill-lost-state", kill::lost_state),
    ("refusal-wrong", refusals::wrong_requests),
    ("refusal-second", refusals::second_attach),
    ("refusal-at-once", refusals::at_once),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == child::WORD) {
        return child::run(&args[1..]);
    }
    if args.iter().any(|a| a == "--list") {
        for (name, _) in TOPICS {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    if let Some(reason) = lab::lacks() {
        println!("skipped: {reason}");
        return ExitCode::SUCCESS;
    }
    let words: Vec<&String> = args.iter().filter(|a| !a.starts_with('-')).collect();
    let before = snapshot::take(&[]);
    let mut repeated = Vec::new();
    for (name, topic) in TOPICS {
        if !words.is_empty() && !words.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let failed = check::failed();
        for attempt in 1..=ATTEMPTS {
            check::forgive(failed);
            snapshot::settle(&before);
            let begin = Instant::now();
            check::topic(name);
            if let Err(panic) = std::panic::catch_unwind(topic) {
                let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
                check::check(false, &format!("went through ({})", text.unwrap_or("panicked")));
            }
            println!("    {:.1} s", begin.elapsed().as_secs_f64());
            if check::failed() == failed {
                break;
            }
            println!("    attempt {attempt} of {ATTEMPTS} failed");
            repeated.push(*name);
        }
    }
    check::topic("the machine afterwards");
    snapshot::unchanged(&before, &[], "everything");
    check::result(&repeated)
}
