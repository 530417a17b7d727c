//! Programs in C that use the library: they are compiled without warnings, and get the completion times of a scenario's flow list.

use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_sim::world::Simulator;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HOSTS: usize = 128;

/// Equal paths, whose choice depends on the order in which connections are created.
const NETWORK: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 16
spines = 4
hosts-per-leaf = 8
host   = { rate = "100Gbps", delay = "1us", queue = { kind = "dctcp-step", k = "100pkt" } }
fabric = { rate = "100Gbps", delay = "1us", queue = { kind = "dctcp-step", k = "100pkt" } }
[transport]
cc = "dctcp"
"#;

fn manifest() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with libforebay.so and libforebay.a, which cargo builds before this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("path of the test");
    test.parent().expect("a folder").to_owned()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Compiles a program against the library, without warnings.
fn compile(source: &Path, folder: &Path, link: &[&str]) -> PathBuf {
    let program = folder.join(source.file_stem().expect("a name"));
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wstrict-prototypes", "-Werror", "-g", "-I"])
        .arg(manifest().join("include"));
    cc.arg(source).arg("-o").arg(&program).arg("-L").arg(libraries()).args(link);
    run(&mut cc);
    program
}

fn start(program: &Path, arguments: &[&str]) -> Output {
    run(Command::new(program).args(arguments).env("LD_LIBRARY_PATH", libraries()))
}

/// Delivery of each message of the ring, in picoseconds, as (sender, step, time), from a list whose flows wait for others.
fn of_list(folder: &Path, part: usize) -> Vec<(usize, usize, u64)> {
    static WORLDS: &[&dyn World] = &[&Simulator];
    let mut list = String::from("id,src,dst,bytes,start_us,after\n");
    let steps = 2 * (HOSTS - 1);
    for step in 0..steps {
        for host in 0..HOSTS {
            let (next, before) = ((host + 1) % HOSTS, (host + HOSTS - 1) % HOSTS);
            let after = if step == 0 { String::new() } else { format!("m{before}-{}", step - 1) };
            writeln!(list, "m{host}-{step},{host},{next},{part},0,{after}").expect("a text");
        }
    }
    std::fs::write(folder.join("ring.csv"), list).expect("a file");
    let text = format!("{NETWORK}[[workload]]\nkind = \"replay\"\nfile = \"ring.csv\"\n");
    let worlds = Box::leak(Box::new(Worlds::new(WORLDS)));
    let scenario = forebay_scenario::Scenario::from_text(worlds, &text, "list.toml", folder, &[], None);
    let resolved = scenario.and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{}", e.render()));
    let config = &resolved.variants[0].config;
    let checked = config.check().expect("a legal experiment");
    let report = forebay_sim::run::run(checked, &mut |_| ControlFlow::Continue(())).expect("a run");
    let hosts = forebay_experiment::topology::hosts(&config.network);
    let number = |node| hosts.iter().position(|h| *h == node).expect("a host");
    // The messages of a host in order of their starts are those of its steps.
    let mut rows: Vec<_> = report.flows.iter().map(|f| (number(f.src), f.start, f.end.or_never().0)).collect();
    rows.sort_unstable();
    assert_eq!(rows.len(), steps * HOSTS);
    rows.iter().enumerate().map(|(i, &(src, _, end))| (src, i % steps, end)).collect()
}

/// An all-reduce of 128 hosts: the C program reacts to each message, as ASTRA-sim does. Its messages arrive at the picosecond at which those of a list
/// arrive, on the same paths.
#[test]
fn ring_equals_flow_list() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("network.toml"), NETWORK).expect("a file");
    let network = folder.path().join("network.toml");
    let bytes = HOSTS * 20_000;
    let program = compile(&manifest().join("examples/ring.c"), folder.path(), &["-lforebay"]);
    let output = start(&program, &[network.to_str().expect("a path"), &HOSTS.to_string(), &bytes.to_string(), "trace"]);
    let line = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
        (numbers[0] as usize, numbers[1] as usize, numbers[2])
    };
    let mut driven: Vec<_> = String::from_utf8(output.stdout).expect("text").lines().map(line).collect();
    assert!(driven.is_sorted_by_key(|m| m.2), "completions come in order of time");
    driven.sort_unstable();
    let listed = of_list(folder.path(), bytes / HOSTS);
    let different = driven.iter().zip(&listed).find(|(a, b)| a != b);
    assert_eq!((driven.len(), different), (listed.len(), None));
}

/// The static library, errors of every function, and calls after the end of a run.
#[test]
fn calls_report_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("network.toml"), NETWORK).expect("a file");
    std::fs::write(folder.path().join("short.toml"), format!("duration = \"5us\"\n{NETWORK}")).expect("a file");
    std::fs::write(folder.path().join("wrong.toml"), NETWORK.replace("leaves", "leafs")).expect("a file");
    let archive = libraries().join("libforebay.a");
    let link = [archive.to_str().expect("a path"), "-lpthread", "-lm", "-ldl"];
    let program = compile(&manifest().join("tests/calls.c"), folder.path(), &link);
    let output = start(&program, &[folder.path().to_str().expect("a path")]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "passed\n");
}
