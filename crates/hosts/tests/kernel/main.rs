//! `forebay attach` against the running kernel, in private network namespaces, which are removed afterwards. The test needs root, type information
//! (BTF) and struct_ops; without them it prints the reason and skips. All topics are one program because congestion controls are registered for the
//! whole machine: two tests at once would interfere.
//!
//!     cargo test -p forebay-hosts --features bpf --test kernel [-- WORD]     only topics whose name contains the word

#![allow(clippy::print_stdout)]

mod attach;
mod capture;
mod check;
mod child;
mod congestion_controls;
mod estimates;
mod helper;
mod hostile;
mod kill;
mod lab;
mod messages;
mod recording;
mod refusals;
mod shims;
mod snapshot;
mod soak;
mod swap;
mod traffic;
mod waits;
mod windows;

use std::process::ExitCode;

/// Topics, in the order in which they run.
const TOPICS: &[(&str, fn())] = &[
    ("attach-default", attach::default),
    ("attach-prefix", attach::prefix),
    ("swap-stream", swap::in_the_middle),
    ("swap-back", swap::back_to_what_it_was),
    ("swap-prefix", swap::of_a_prefix),
    ("swap-cgroup", swap::of_a_cgroup),
    ("swap-ten-thousand", swap::ten_thousand),
    ("cc-echo", congestion_controls::echo),
    ("cc-alpha", congestion_controls::alpha),
    ("cc-windows", windows::dctcp),
    ("cc-without-ecn", congestion_controls::without_ecn),
    ("cc-losses", congestion_controls::losses),
    ("cc-trim-probes", congestion_controls::trim_probes),
    ("cc-trim-waits", waits::trim),
    ("message-option", messages::option),
    ("message-deadlines", messages::deadlines),
    ("message-tail", messages::tail),
    ("message-halving", messages::halving),
    ("soak", soak::soak),
    ("record", recording::messages),
    ("record-short", recording::short_connections),
    ("shim-pias", shims::pias),
    ("shim-proboscis", shims::proboscis),
    ("shim-proboscis-window", shims::proboscis_window),
    ("shim-proboscis-floor", shims::proboscis_floor),
    ("shim-proboscis-elephant", shims::proboscis_elephant),
    ("shim-proboscis-restart", shims::proboscis_restart),
    ("shim-proboscis-answers", shims::proboscis_answers),
    ("shim-proboscis-guest", shims::proboscis_guest),
    ("helper-timers", helper::timers),
    ("helper-holds", helper::holds),
    ("helper-guest", helper::guest),
    ("helper-killed", helper::killed),
    ("helper-recent", estimates::estimates),
    ("helper-recent-guest", estimates::guest),
    ("helper-recent-not-kept", estimates::not_kept),
    ("kill-attach", kill::while_attaching),
    ("kill-detach", kill::while_detaching),
    ("kill-lost-state", kill::lost_state),
    ("refusal-wrong", refusals::wrong_requests),
    ("refusal-second", refusals::second_attach),
    ("refusal-no-btf", refusals::no_type_information),
    ("refusal-half-way", refusals::half_way),
    ("refusal-no-clsact", refusals::no_clsact),
    ("refusal-at-once", refusals::at_once),
    ("hostile-users", hostile::users),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == child::WORD) {
        return child::run(&args[1..]);
    }
    if args.first().is_some_and(|a| a == helper::WORD) {
        return helper::run(&args[1..]);
    }
    if args.first().is_some_and(|a| a == hostile::WORD) {
        return hostile::run(&args[1..]);
    }
    if args.iter().any(|a| a == "--list") {
        for (name, _) in TOPICS {
            println!("{}: test", check::full_name(name));
        }
        return ExitCode::SUCCESS;
    }
    let chosen: Vec<_> = TOPICS.iter().filter(|(name, _)| check::selects(&args, name)).collect();
    if chosen.is_empty() {
        return ExitCode::SUCCESS;
    }
    if let Some(reason) = lab::lacks() {
        forebay_platform::doctor::requirements::skip("bpf", &reason);
        return ExitCode::SUCCESS;
    }
    let _alone = lab::alone();
    let before = snapshot::take(&[]);
    let mut repeated = Vec::new();
    for (name, topic) in chosen {
        let clean = || {
            // Of an attempt that failed.
            let _ = forebay_hosts::detach::detach_all();
            snapshot::settle(&before);
        };
        if check::attempts(name, topic, &clean) {
            repeated.push(*name);
        }
    }
    check::topic("the machine afterwards");
    snapshot::unchanged(&before, &[], "everything");
    check::result(&repeated)
}
