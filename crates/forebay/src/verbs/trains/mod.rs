//! `forebay trains`: packet trains, round trips, retransmissions and incast events of captures, and scenarios with their traffic.

mod json;
mod outputs;
mod progress;

use crate::interrupt;
use crate::terminal::failure::Failure;
use crate::terminal::output::{NumberFormat, print, print_data, warn};
use crate::terminal::progress::{ProgressFormat, as_event};
use crate::terminal::{grid, style, wrap};
use forebay_formats::trains::{
    Analysis, Anonymise, Error, Gap, HostNames, HostRules, InputFile, Options, Resample, Summary, answer, in_order,
};
use forebay_platform::files::read_text;
use forebay_types::{Rate, Time};
use outputs::{CsvFolder, ScenarioFile};
use progress::Progress;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Analyze packet trains, RTTs, retransmissions and incast in captures, or write a scenario with their traffic
///
/// Captures are pcap or pcapng files of TCP; `-` is standard input. Flow records (`nfdump -o csv`, IPFIX as JSON) and snapshots of sockets (`ss -tinmHO`)
/// are read too, and have no trains. A packet train is a burst of packets of a connection in one direction: a pause longer
/// than the gap begins the next. Captures of a few header bytes per packet suffice: `tcpdump -s 96`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The captures, in any order
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// Pause that ends a train, such as 500us [default: the smoothed RTT of the connection, as in TRIM]
    #[arg(long, value_name = "TIME", value_parser = gap)]
    gap: Option<u64>,
    /// Smallest number of packets of a long train
    #[arg(long, value_name = "PACKETS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    long_train: u64,
    /// Smallest number of senders of an incast event: trains to one receiver that begin within an RTT
    #[arg(long, value_name = "SENDERS", default_value_t = 8, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    incast: u64,
    /// Payload of a full packet, by which larger frames are divided [default: from the SYNs, else 1460 B]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    mss: Option<u32>,
    /// Seconds without packets after which a connection counts as ended, and its memory is reused
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    idle: u64,
    /// Longest pause in seconds between two flow records of one flow: the inactive timeout of the collector
    #[arg(long, value_name = "S", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    join: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t = NumberFormat::Table)]
    format: NumberFormat,
    /// Directory for trains.csv, connections.csv, incast.csv and cdf.csv
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write a scenario that replays the traffic; the list of flows is written beside it, with the extension csv
    #[arg(long, value_name = "FILE.toml")]
    scenario: Option<PathBuf>,
    /// Write a scenario that draws sizes and pauses from their distributions instead; the table of sizes is written beside it, with the extension cdf
    #[arg(long, requires = "scenario")]
    resample: bool,
    /// Rate of the links of the scenario, which a capture does not show
    #[arg(long, value_name = "RATE", default_value = "10Gbps", value_parser = rate, requires = "scenario")]
    rate: Rate,
    /// Map addresses to hosts: a file with lines PREFIX,HOST, such as `10.0.1.0/24,rack1-*`; `*` is the number of the address in its prefix
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Replace addresses in all output: by h0, h1, ... in order of first appearance, or by addresses with the same common prefixes
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "order")]
    anonymise: Option<How>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Progress on standard error [default: bar on a terminal, else lines]
    #[arg(long, value_enum)]
    progress: Option<ProgressFormat>,
}

/// Ways to replace addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum How {
    /// h0, h1, ... in order of first appearance
    Order,
    /// Addresses: those with a common prefix get substitutes with a common prefix
    Prefix,
}

fn rate(text: &str) -> Result<Rate, String> {
    text.parse::<Rate>().map_err(|e| format!("{e}; write it as 10Gbps or 2.5Gbps"))
}

/// A time in ns.
fn gap(text: &str) -> Result<u64, String> {
    match text.parse::<Time>() {
        Ok(time) if time.as_ns() > 0 => Ok(time.as_ns()),
        Ok(_) => Err("must be at least 1ns".into()),
        Err(e) => Err(format!("{e}; write it as 500us or 2ms")),
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Usage(e.to_string())
    }
}

impl Args {
    fn options(&self) -> Options {
        Options {
            gap: self.gap.map_or(Gap::Rtt, Gap::Fixed),
            long_train: self.long_train,
            incast_senders: self.incast as usize,
            mss: self.mss,
            idle_ns: self.idle * 1_000_000_000,
            join_ns: self.join * 1_000_000_000,
            ..Options::default()
        }
    }

    fn names(&self) -> Result<HostNames, Failure> {
        let names = HostNames::new(match self.anonymise {
            None => Anonymise::Off,
            Some(How::Order) => Anonymise::Order,
            Some(How::Prefix) => Anonymise::Prefix,
        });
        let Some(path) = &self.hosts else { return Ok(names) };
        let shown = path.display().to_string();
        let text = read_text(path).map_err(|e| Failure::Usage(format!("`{shown}` cannot be read: {e}")))?;
        Ok(names.with_rules(HostRules::parse(&shown, &text).map_err(Failure::Usage)?))
    }
}

/// Runs it. With `--progress json` a failure is an event too, so that standard error stays a stream of JSON.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let terminal = std::io::stderr().is_terminal();
    let kind = args.progress.unwrap_or(if terminal { ProgressFormat::Bar } else { ProgressFormat::Lines });
    analyze(args, kind).map_err(|failure| as_event(kind, failure))
}

fn analyze(args: &Args, kind: ProgressFormat) -> Result<(), Failure> {
    let (options, names) = (args.options(), args.names()?);
    let captures = in_order(&args.captures)?;
    let folder = args.out.as_ref().map(|dir| CsvFolder::new(dir, args.force)).transpose()?;
    let scenario = args.scenario.as_ref().map(|path| ScenarioFile::new(path, args.resample, args.force)).transpose()?;
    interrupt::listen()?;
    let tables = folder.as_ref().map(|f| f.begin(names.clone())).transpose()?;
    let list = scenario.as_ref().filter(|_| !args.resample).map(|s| s.begin_list(names.clone())).transpose()?;
    let resample = args.resample.then(Resample::default);
    let mut analysis = Analysis::new(options.clone(), (tables, (list, resample)));
    let mut progress = Progress::new(kind, &captures);
    for path in &captures {
        let mut file = InputFile::open(path)?;
        let stopped = analysis.read_file(&mut file, |bytes| {
            progress.tick(bytes);
            if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if stopped.is_break() {
            progress.clear();
            return Err(Failure::Interrupted);
        }
        progress.file_done(file.offset());
    }
    progress.clear();
    let (summary, (tables, (list, resample))) = analysis.finish();
    if scenario.is_some() && summary.messages == 0 && summary.sockets.count > 0 {
        let text = "snapshots of sockets have no times of messages, so there is no scenario to write; capture packets, or name flow records";
        return Err(Failure::Usage(text.into()));
    }
    let mut written = Vec::new();
    if let (Some(folder), Some(tables)) = (&folder, tables) {
        written.extend(folder.finish(tables, &summary)?);
    }
    if let Some(scenario) = &scenario {
        let rate = args.rate.to_string();
        written.extend(match (list, resample) {
            (Some(list), _) => scenario.finish_list(list, &summary, &names, &rate)?,
            (None, Some(resample)) => scenario.write_resampled(&resample, &summary, &names, &rate)?,
            (None, None) => Vec::new(),
        });
    }
    conclude(args, &summary, &options, &names, &written)
}

/// Prints the results.
fn conclude(args: &Args, summary: &Summary, options: &Options, names: &HostNames, written: &[PathBuf]) -> Result<(), Failure> {
    let answer = answer(summary, options, names);
    if args.format == NumberFormat::Json {
        return print_data(&format!("{:#}\n", json::document(summary, options, &answer, names, written)));
    }
    let mut out = format!("{}\n", answer.first);
    let tables = [(summary.segments > 0, &answer.trains), (summary.connections > 0, &answer.connections)];
    for (_, table) in tables.into_iter().filter(|(shown, _)| *shown) {
        out.push_str(&format!("\n{}", grid::render(table, wrap::stdout(), style::stdout())));
    }
    out.push('\n');
    answer.lines.iter().for_each(|line| out.push_str(&format!("{line}\n")));
    written.iter().for_each(|path| out.push_str(&format!("wrote {}\n", path.display())));
    if let Some(path) = &args.scenario {
        out.push_str(&format!("`forebay run {}` simulates it\n", path.display()));
    }
    print(&out)?;
    if summary.segments > 0 && summary.opened == 0 {
        warn("no SYN was captured: sizes of packets are guessed (--mss), and connections may have begun before the capture");
    }
    Ok(())
}
