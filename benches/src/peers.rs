//! The compared simulators: installation and commands.

use crate::cases::Case;
use crate::json::number;
use crate::measure::{self, Output};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Time limit of a run of default length.
const LIMIT: Duration = Duration::from_secs(600);
const NS2: &str = "benches/peers/ns2/bench.tcl";
const NS3: &str = "benches/peers/build/ns3-bench";
const SIZES: &str = "data/cdf/websearch.cdf";

/// A row of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Engine {
    /// This simulator.
    Forebay,
    /// ns-2 at its best: only the used headers, the fastest scheduler.
    Ns2,
    /// ns-2 with its defaults.
    Ns2Stock,
    /// ns-3 as Debian ships it.
    Ns3,
}

/// All rows, in the order of the table.
pub(crate) const ENGINES: [Engine; 4] = [Engine::Forebay, Engine::Ns2, Engine::Ns2Stock, Engine::Ns3];

impl Engine {
    /// True if it can run the case.
    pub(crate) fn has(self, case: &Case) -> bool {
        self == Engine::Forebay || case.has_peers()
    }

    /// Name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Forebay => "forebay",
            Engine::Ns2 => "ns-2, tuned",
            Engine::Ns2Stock => "ns-2, stock",
            Engine::Ns3 => "ns-3, shortened",
        }
    }

    /// Name in the JSON results.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Engine::Forebay => "forebay",
            Engine::Ns2 => "ns2",
            Engine::Ns2Stock => "ns2_stock",
            Engine::Ns3 => "ns3",
        }
    }
}

/// Peers of this machine.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    missing: HashMap<Engine, String>,
}

impl Peers {
    /// Installs and builds what is missing for the benchmark, as far as this machine allows.
    pub(crate) fn set_up() -> Peers {
        let mut peers = Peers::install();
        if peers.missing(Engine::Ns3).is_none()
            && let Err(why) = build_ns3(NS3, &["bench.cc", "net.h", "cases.h"])
        {
            peers.lack(Engine::Ns3, why);
        }
        peers
    }

    /// Installs the two simulators, as far as this machine allows.
    pub(crate) fn install() -> Peers {
        let mut peers = Peers::default();
        let output = Command::new("benches/peers/install.sh").output();
        let output =
            output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_else(|e| format!("ns2: {e}\nns3: {e}"));
        for (name, engines) in [("ns2", &[Engine::Ns2, Engine::Ns2Stock][..]), ("ns3", &[Engine::Ns3][..])] {
            let verdict =
                output.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(": ")).unwrap_or("the installer printed nothing");
            if verdict != "available" {
                let why = verdict.strip_prefix("unavailable, ").unwrap_or(verdict);
                engines.iter().for_each(|&e| drop(peers.missing.insert(e, why.to_owned())));
            }
        }
        peers
    }

    /// Records that a peer cannot run here.
    pub(crate) fn lack(&mut self, engine: Engine, why: String) {
        self.missing.insert(engine, why);
    }

    /// The reason why a peer cannot run here.
    pub(crate) fn missing(&self, engine: Engine) -> Option<&str> {
        self.missing.get(&engine).map(String::as_str)
    }
}

/// Builds an ns-3 program unless it is newer than its sources, the first of which is the one to compile.
pub(crate) fn build_ns3(program: &str, sources: &[&str]) -> Result<(), String> {
    let time = |path: &str| std::fs::metadata(path).and_then(|m| m.modified()).ok();
    if time(program).is_some() && sources.iter().all(|s| time(&format!("benches/peers/ns3/{s}")) <= time(program)) {
        return Ok(());
    }
    std::fs::create_dir_all(Path::new(program).parent().unwrap_or(Path::new("."))).map_err(|e| e.to_string())?;
    let build = Command::new("benches/peers/ns3/build.sh").args([program, sources[0]]).output().map_err(|e| e.to_string())?;
    if build.status.success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&build.stderr);
    let error = log.lines().find(|l| l.contains("error")).or(log.lines().last()).unwrap_or("no message");
    Err(format!("its program does not compile: {error}"))
}

/// Length of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    /// The case's own length.
    Full,
    /// The shorter or the longer run of an instruction count.
    Short,
    /// The longer one.
    Long,
}

/// The command that runs a case; `counting` only matters for ns-2, which counts transmissions at a cost of some percent.
pub(crate) fn command(engine: Engine, case: &Case, length: Length, counting: bool) -> Vec<String> {
    let pick = |(short, long): (f64, f64)| match length {
        Length::Full => "0".to_owned(),
        Length::Short => short.to_string(),
        Length::Long => long.to_string(),
    };
    let mut line: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| line.extend(words.iter().map(|w| (*w).to_owned()));
    match engine {
        Engine::Forebay => {
            let me = std::env::current_exe().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
            add(&[&me, "run", &case.scenario()]);
            match length {
                Length::Full => {}
                Length::Short => add(&[case.short]),
                Length::Long => add(&[case.long]),
            }
        }
        Engine::Ns2 | Engine::Ns2Stock => {
            add(&["ns", NS2, case.name, &pick(case.ns2), "1", &format!("cdf={SIZES}")]);
            if engine == Engine::Ns2Stock {
                add(&["headers=all", "sched=Calendar"]);
            }
            if !counting {
                add(&["count=0"]);
            }
        }
        Engine::Ns3 => add(&[NS3, case.name, &pick(case.ns3), "1", &format!("cdf={SIZES}")]),
    }
    line
}

/// Runs a case once.
pub(crate) fn run(engine: Engine, case: &Case, length: Length, counting: bool) -> Result<Output, String> {
    let line = command(engine, case, length, counting);
    measure::child(Command::new(&line[0]).args(&line[1..]), LIMIT)
}

/// Transmissions of a case: known from any run of forebay and ns-3, and for ns-2 from a run that counts. All are deterministic.
pub(crate) fn transmissions(engine: Engine, case: &Case, length: Length) -> Result<f64, String> {
    let output = run(engine, case, length, true)?;
    number(&output.line, "pts").filter(|&n| n > 0.0).ok_or(format!("{} reported no transmissions", engine.name()))
}
