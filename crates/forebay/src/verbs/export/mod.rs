//! `forebay export`: results in the formats of other programs.

mod flent;
mod flow_monitor;
mod hpcc;

use crate::new_file::{failed, free};
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use forebay_platform::files;
use forebay_store::RunDir;
use forebay_store::sweep::SweepDir;
use std::io::{self, Write};
use std::path::PathBuf;

/// Write results in the format of another program
///
/// hpcc-fct: completed flows as `fct.txt`, which the analysis scripts of HPCC read. Node ids are those of an imported topology, else the numbers of the
/// hosts; the standalone completion time is that of HPCC.
///
/// flowmonitor: packets, bytes, delays and drops of each direction of each connection, as ns-3's FlowMonitor writes them. The run is repeated, with the same
/// fingerprint, and all packets are captured.
///
/// flent: goodput of each workload and the observed senders over time, as a result file that Flent plots beside its own.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory that `forebay run` wrote
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Format of the file
    #[arg(long, value_enum, default_value_t = ExportFormat::HpccFct)]
    format: ExportFormat,
    /// The file to write [default: fct.txt, flowmonitor.xml or results.flent.gz]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Variant of the results, instead of the first one
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Run of the variant, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    run: u32,
    /// Destination port of a class in fct.txt, such as incast=200 [default: N of a class dport-N, else 100]
    #[arg(long, value_name = "CLASS=PORT", value_parser = port_of_class)]
    dport: Vec<(String, u32)>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// fct.txt of HPCC
    HpccFct,
    /// XML of ns-3's FlowMonitor
    #[value(name = "flowmonitor")]
    FlowMonitor,
    /// .flent.gz of Flent
    Flent,
}

impl ExportFormat {
    /// Name of the file without `--out`.
    fn file(self) -> &'static str {
        match self {
            ExportFormat::HpccFct => "fct.txt",
            ExportFormat::FlowMonitor => "flowmonitor.xml",
            ExportFormat::Flent => "results.flent.gz",
        }
    }
}

/// Contents of a file that is to be written.
struct Written {
    /// Description in a few words.
    contents: String,
    write: WriteTo,
}

/// Writes contents.
type WriteTo = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()>>;

fn port_of_class(text: &str) -> Result<(String, u32), String> {
    let (class, port) = text.split_once('=').ok_or("write it as CLASS=PORT, such as incast=200")?;
    let port = port.parse::<u16>().map_err(|_| format!("`{port}` is not a port, 0 to 65535"))?;
    Ok((class.to_owned(), port.into()))
}

/// Writes the file.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    if SweepDir::begun(&args.dir).is_ok() {
        let text =
            format!("`{}` is a sweep, which keeps numbers of its runs; export the results of a single run", args.dir.display());
        return Err(Failure::Usage(text));
    }
    let path = args.out.clone().unwrap_or_else(|| args.format.file().into());
    if args.format == ExportFormat::Flent && !path.to_string_lossy().ends_with(".flent.gz") {
        let text = format!("`{}`: Flent reads such files by their ending; choose a name that ends in .flent.gz", path.display());
        return Err(Failure::Usage(text));
    }
    free(&path, args.force)?;
    let run = RunDir::open(&args.dir)?;
    let file = match args.format {
        ExportFormat::HpccFct => hpcc::export(&run, args),
        ExportFormat::FlowMonitor => flow_monitor::export(&run, args),
        ExportFormat::Flent => flent::export(&run, args),
    }?;
    let mut out = Vec::new();
    let written = (file.write)(&mut out).and_then(|()| files::replace(&path, &out, files::Options::default()));
    written.map_err(|e| failed(&path, &e))?;
    print(&format!("wrote {}: {}\n", path.display(), file.contents))
}
