//! `forebay-bench compare`: the same work on every simulator, interleaved, so that a machine that slows down slows all of them.

use crate::callgrind::{self, Count};
use crate::cases::{self, Case};
use crate::json::number;
use crate::peers::{self, ENGINES, Engine, Length, Peers};
use crate::results::{Results, Row};
use crate::stats::spread;
use crate::{extra, report};
use std::collections::HashMap;

struct Options {
    runs: usize,
    out: Option<String>,
    instructions: bool,
    cases: Vec<&'static Case>,
}

fn options(args: &[String]) -> Result<Options, String> {
    let mut options = Options { runs: 3, out: None, instructions: true, cases: Vec::new() };
    let mut names = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--runs" => {
                let n = args.next().and_then(|n| n.parse().ok()).filter(|n| (1..=1000).contains(n));
                options.runs = n.ok_or("--runs: a number from 1 to 1000 (make: BENCH_RUNS=)")?;
            }
            "--out" => options.out = Some(args.next().ok_or("--out: expected a file")?.clone()),
            "--no-instructions" => options.instructions = false,
            name => names.push(name.to_owned()),
        }
    }
    options.cases = cases::select(&names)?;
    Ok(options)
}

/// Measures, prints the table and writes the results.
pub(crate) fn execute(args: &[String]) -> Result<(), String> {
    let options = options(args)?;
    eprintln!("setting up the peers");
    let peers = Peers::set_up();
    let mut results = Results { runs: options.runs, ..Results::default() };
    let mut engines = Vec::new();
    for engine in ENGINES {
        match peers.missing(engine) {
            None => engines.push(engine),
            Some(why) => {
                eprintln!("{}: not available, {why}", engine.name());
                results.missing.push((engine, why.to_owned()));
            }
        }
    }
    let mut samples: HashMap<(&str, Engine), Samples> = HashMap::new();
    for run in 1..=options.runs {
        for &case in &options.cases {
            for &engine in engines.iter().filter(|&&e| e.has(case)) {
                eprintln!("run {run} of {}: {}, {}", options.runs, case.name, engine.name());
                if let Err(why) = samples.entry((case.name, engine)).or_default().add(engine, case) {
                    eprintln!("{}, {}: {why}", case.name, engine.name());
                }
            }
        }
    }
    let counts = match options.instructions.then(callgrind::available) {
        Some(Ok(())) => instructions(&options.cases, &engines),
        Some(Err(why)) => {
            results.no_instructions = Some(why);
            HashMap::new()
        }
        None => {
            results.no_instructions = Some("left out on request".into());
            HashMap::new()
        }
    };
    for &case in &options.cases {
        for &engine in &engines {
            let count = counts.get(&(case.name, engine)).map(|c| c.per_hop);
            results.rows.extend(samples.remove(&(case.name, engine)).and_then(|s| s.row(case, engine, count)));
        }
    }
    eprintln!("forebay alone: memory of 100 000 flows, several runs at a time");
    results.extra = extra::measure().map_err(|why| eprintln!("{why}")).ok();

    let table = report::table(&results);
    println!("{table}");
    if let Some(out) = &options.out {
        let page = std::path::Path::new(out).with_extension("md");
        let write =
            |path: &std::path::Path, text: &str| std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()));
        write(out.as_ref(), &report::json(&results))?;
        write(&page, &table)?;
        println!("Results: {out}; the table as Markdown: {}", page.display());
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Samples {
    transmissions: f64,
    sim_s: f64,
    user_s: Vec<f64>,
    peak_kb: u64,
    work: Option<f64>,
}

impl Samples {
    fn add(&mut self, engine: Engine, case: &Case) -> Result<(), String> {
        // ns-2 is timed without its counters, which cost some percent; one run before counts.
        if self.transmissions == 0.0 && matches!(engine, Engine::Ns2 | Engine::Ns2Stock) {
            self.transmissions = peers::transmissions(engine, case, Length::Full)?;
        }
        let output = peers::run(engine, case, Length::Full, false)?;
        let get = |key: &str| number(&output.line, key);
        if let Some(pts) = get("pts") {
            self.transmissions = pts;
        }
        self.sim_s = get("sim_s").ok_or("no simulated time reported")?;
        // The clocks of ns-2 and forebay tick every 10 ms.
        self.user_s.push(get("run_user_s").ok_or("no user time reported")?.max(0.01));
        self.peak_kb = self.peak_kb.max(output.peak_kb).max(get("peak_kb").unwrap_or(0.0) as u64);
        self.work = get("rounds").or(get("flows_done")).or(get("queries").filter(|&q| q > 0.0));
        Ok(())
    }

    fn row(self, case: &'static Case, engine: Engine, instructions: Option<f64>) -> Option<Row> {
        let user_s = spread(&self.user_s)?;
        let rates: Vec<f64> = self.user_s.iter().map(|u| self.transmissions / u).collect();
        Some(Row {
            case,
            engine,
            transmissions: self.transmissions,
            sim_s: self.sim_s,
            pts: spread(&rates)?,
            user_s,
            peak_kb: self.peak_kb,
            instructions,
            work: self.work,
        })
    }
}

/// Counts every case on every simulator; one that fails leaves a blank in the table.
fn instructions(cases: &[&'static Case], engines: &[Engine]) -> HashMap<(&'static str, Engine), Count> {
    let mut counts = HashMap::new();
    for &case in cases {
        for &engine in engines.iter().filter(|&&e| e.has(case)) {
            eprintln!("instructions: {}, {}", case.name, engine.name());
            match callgrind::count(engine, case, false) {
                Ok(count) => drop(counts.insert((case.name, engine), count)),
                Err(why) => eprintln!("{}, {}: {why}", case.name, engine.name()),
            }
        }
    }
    counts
}
