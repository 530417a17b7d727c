//! `forebay import`: scenarios from the files of other simulators.

use crate::new_file::{free, illegal_name, put, scenario_name};
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use forebay_formats::{Import, ImportOptions, Source, import};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Write a scenario with the network and the traffic of files of another simulator
///
/// Each file is recognized by its content: topology.txt, config.txt and flow.txt of HPCC (also topologies of SimAI), topologies (.topo) and connection
/// matrices (.cm) of htsim, GOAL schedules, and Chakra traces of all ranks (NAME.RANK.et). Give a topology, and the files that belong to it, in any order.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files of the other simulator
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The scenario to write; lists of flows are written beside it
    #[arg(long, value_name = "FILE.toml", default_value = "imported.toml")]
    out: PathBuf,
    /// Leave out the NVSwitches of a SimAI topology, and their links
    #[arg(long)]
    without_nvswitches: bool,
    /// Unit of `start` in an htsim matrix [default: ps, and starts with a decimal point are refused]
    #[arg(long, value_enum, value_name = "UNIT")]
    start_unit: Option<StartUnit>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StartUnit {
    /// Picoseconds, as htsim since November 2023
    Ps,
    /// Microseconds, as before
    Us,
}

/// Reads the files, and writes the scenario and its lists.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let name = scenario_name(&args.out).filter(|_| args.out.extension().is_some_and(|e| e == "toml"));
    let name = name.ok_or_else(|| illegal_name(&args.out))?;
    free(&args.out, args.force)?;
    let sources = args.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let options = ImportOptions {
        name,
        without_nvswitches: args.without_nvswitches,
        start_in_us: args.start_unit.map(|unit| unit == StartUnit::Us),
    };
    let Import { scenario, lists, notes } = import(&sources, &options).map_err(|e| Failure::Usage(e.to_string()))?;
    let lists: Vec<(PathBuf, String)> = lists.into_iter().map(|(file, text)| (args.out.with_file_name(file), text)).collect();
    lists.iter().try_for_each(|(path, _)| free(path, args.force))?;
    lists.iter().try_for_each(|(path, text)| put(path, text, None))?;
    put(&args.out, &scenario, None)?;
    let mut out = String::new();
    for note in notes {
        let _ = writeln!(out, "note: {note}");
    }
    for path in lists.iter().map(|(path, _)| path).chain([&args.out]) {
        let _ = writeln!(out, "wrote {}", path.display());
    }
    print(&out)
}

fn read(path: &Path) -> Result<Source, Failure> {
    let file = path.display().to_string();
    let unreadable = |why: String| Failure::Usage(format!("`{file}` cannot be read: {why}"));
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(unreadable("it is not a file".into())),
        Err(e) => return Err(unreadable(e.to_string())),
    }
    let bytes = std::fs::read(path).map_err(|e| unreadable(e.to_string()))?;
    Ok(Source { file, bytes })
}
