//! Speed of the simulator: single scenarios, the comparison with ns-2 and ns-3, and the guard on instruction counts. Also agreement of the figures
//! with the same two peers.

#![expect(clippy::print_stdout, reason = "a program")]

mod agree;
mod callgrind;
mod cases;
mod compare;
mod extra;
mod guard;
mod json;
mod measure;
mod peers;
mod pipe;
mod report;
mod results;
mod runner;
mod stats;
mod windows;

use std::process::ExitCode;

const USAGE: &str = "\
forebay-bench: speed of the simulator

  forebay-bench run [--cores=N] FILE [KEY=VALUE ...]
                                                one JSON line per variant of a scenario: transmissions, user time, memory
  forebay-bench window STACK SEGMENTS TIMES     connections of one window each, every tenth segment lost once
  forebay-bench compare [--runs N] [--out FILE] [--no-instructions] [CASE ...]
                                                beside ns-2 and ns-3, interleaved; results as a table and as JSON
  forebay-bench agree [--out FILE] [WORD]       figures beside those of ns-2 and ns-3 on the same starts; WORD picks set-ups
  forebay-bench guard [--update]                instructions and cache misses per packet-hop against benches/instructions.csv
  forebay-bench cases                           the cases of `compare`";

/// All forms of the command that this build has.
fn usage() -> String {
    #[cfg(feature = "linux")]
    return format!("{USAGE}\n{}", forebay_validate::agreement::USAGE);
    #[cfg(not(feature = "linux"))]
    USAGE.into()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let outcome = match args.split_first() {
        Some((verb, rest)) => match verb.as_str() {
            "run" => runner::execute(rest),
            "window" => pipe::execute(rest),
            "agree" => agree::execute(rest),
            "compare" => compare::execute(rest),
            #[cfg(feature = "linux")]
            "linux" => forebay_validate::agreement::execute(rest, &mut std::io::stdout()),
            #[cfg(not(feature = "linux"))]
            "linux" => Err("built without the feature `linux`".into()),
            "guard" => guard::execute(rest),
            "cases" => {
                cases::CASES.iter().for_each(|c| println!("{:<11}{}", c.name, c.what));
                Ok(())
            }
            // The short form for frequent use.
            file if file.ends_with(".toml") => runner::execute(&args),
            _ => Err(usage()),
        },
        None => Err(usage()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
