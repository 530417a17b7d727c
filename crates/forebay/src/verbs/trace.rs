//! `forebay trace`: packets of one flow of finished results, as pcapng, as qlog and as a picture. The run is repeated.

use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use forebay_experiment::rows::{TcpRow, TimeoutRow};
use forebay_platform::files;
use forebay_report::page::Fact;
use forebay_report::time_sequence::{TimeSequence, time_sequence};
use forebay_runner::{MessageSelector, Trace, trace, write_flow};
use forebay_store::capture::FlowEventKind;
use forebay_store::capture::qlog::{Dialect, Log};
use forebay_store::sweep::SweepDir;
use forebay_store::{RunDir, StoreError, file_name};
use forebay_types::Time;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Write the packets of one flow of results as pcapng, qlog and a time-sequence graph
///
/// The run is repeated, with the same fingerprint, and the packets of the flow's connection are captured at the sender's host.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory that `forebay run` wrote
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The flow with this flow_id, as in the table flows and in the output of `forebay explain DIR`
    #[arg(long, value_name = "N")]
    flow: u64,
    /// Variant of the results, instead of the first one
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Run of the variant, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    run: u32,
    /// Folder for the files [default: the directory of the results]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Form of the qlog
    #[arg(long, value_enum, default_value_t = DialectArg::Sequential)]
    qlog_dialect: DialectArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DialectArg {
    /// A JSON text sequence with events about TCP
    Sequential,
    /// One JSON document in the form of QUIC in qlog 0.3, which qvis opens
    Qvis,
}

/// Writes the files.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    if SweepDir::begun(&args.dir).is_ok() {
        return Err(Failure::Usage(format!(
            "`{}` is a sweep, which keeps numbers of its runs and no packets; run one of its points with `forebay run FILE --set KEY=VALUE`, and \
             trace that",
            args.dir.display()
        )));
    }
    let which = MessageSelector { flow: Some(args.flow), query: None, variant: args.variant.clone(), run: args.run };
    let run = RunDir::open(&args.dir)?;
    run.check_files()?;
    let t = trace(forebay_backends::all(), &run, &which)?;
    let dialect = match args.qlog_dialect {
        DialectArg::Sequential => Dialect::Sequential,
        DialectArg::Qvis => Dialect::Qvis,
    };
    let folder = args.out.as_deref().unwrap_or(&args.dir);
    std::fs::create_dir_all(folder).map_err(|source| StoreError::Io { doing: "create", path: folder.to_owned(), source })?;
    forebay_store::remove_unfinished(folder);
    let stem = format!("trace-{}-{}-flow-{}", file_name(&t.variant), args.run, args.flow);
    let path = |extension: &str| folder.join(format!("{stem}.{extension}"));
    let files = [("packets", path("pcapng")), ("qlog", path(dialect.extension())), ("picture", path("html"))];
    let rows: Vec<TcpRow> = t.again.report.tcp.to_vec();
    let of_flow = Flow { trace: &t, rows: &rows, name: &run.manifest().name };
    of_flow.write(&files[0].1, |out| write_flow(out, &t))?;
    of_flow.write(&files[1].1, |out| of_flow.log().write(dialect, out))?;
    of_flow.write(&files[2].1, |out| out.write_all(of_flow.page().as_bytes()))?;
    let mut out = format!(
        "variant {}, seed {}; repeated run with the same fingerprint ({:016x})\n{}\n",
        t.variant,
        t.seed,
        t.again.report.fingerprint,
        of_flow.summary()
    );
    for sentence in of_flow.sentences() {
        let _ = writeln!(out, "{}", sentence.replace("**", ""));
    }
    for (what, path) in &files {
        let _ = writeln!(out, "{what}: {}", path.display());
    }
    print(&out)
}

/// A flow and its files.
struct Flow<'a> {
    trace: &'a Trace,
    rows: &'a [TcpRow],
    /// Name of the scenario.
    name: &'a str,
}

impl Flow<'_> {
    /// Writes a file, which appears under its name when it is complete.
    fn write(&self, path: &Path, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<(), Failure> {
        let failed = |source: io::Error| Failure::from(StoreError::Io { doing: "write", path: path.to_owned(), source });
        let mut out = Vec::new();
        write(&mut out).and_then(|()| files::replace(path, &out, files::Options::default())).map_err(failed)
    }

    fn title(&self) -> String {
        format!("{}, flow {}", self.name, self.trace.flow.flow_id)
    }

    /// Hosts of the flow, in one line.
    fn summary(&self) -> String {
        let (info, f) = (&self.trace.again.info, &self.trace.flow);
        let size = if f.size_bytes == 0 { "endless".to_owned() } else { format!("{} B", f.size_bytes) };
        format!("flow {}: {} -> {}, {size}, variant {}", f.flow_id, info.node(f.src), info.node(f.dst), self.trace.variant)
    }

    /// Numbers of the flow's connection, a sentence each.
    fn sentences(&self) -> Vec<String> {
        let (mut sent, mut again, mut acks, mut duplicates) = (0, 0, 0, 0);
        let mut places: BTreeMap<(u32, &str), u64> = BTreeMap::new();
        for e in self.trace.packets.events() {
            match &e.kind {
                FlowEventKind::Sent { start, end, again: repeated, .. } if end > start => {
                    sent += 1;
                    again += u64::from(*repeated);
                }
                FlowEventKind::Received { duplicate, .. } => {
                    acks += 1;
                    duplicates += u64::from(*duplicate);
                }
                FlowEventKind::Lost { interface, event, .. } => {
                    *places.entry((*interface, event.comment().unwrap_or_default())).or_default() += 1;
                }
                FlowEventKind::Marked { interface, .. } => *places.entry((*interface, "marked")).or_default() += 1,
                FlowEventKind::Sent { .. } => {}
            }
        }
        let mut all = vec![
            format!("The connection has sent **{sent} segments with data, {again} of them retransmissions**."),
            format!("{acks} packets have come back, {duplicates} of them duplicate ACKs."),
        ];
        for ((interface, what), count) in places {
            let name = self.trace.interfaces.get(interface as usize).map_or("?", String::as_str);
            all.push(format!("{count} packets at {name}: {what}."));
        }
        all
    }

    fn log(&self) -> Log<'_> {
        let t = self.trace;
        let fingerprint = format!("{:016x}", t.again.report.fingerprint);
        Log {
            title: self.title(),
            details: json!({"scenario": self.name, "variant": t.variant, "seed": t.seed, "fingerprint": fingerprint}),
            flow: &t.packets,
            states: self.rows,
            mss: t.config.groups[t.flow.group].tcp.mss,
            interfaces: &t.interfaces,
        }
    }

    fn page(&self) -> String {
        let (t, f) = (self.trace, &self.trace.flow);
        let timeouts: Vec<TimeoutRow> = t.again.report.timeouts.to_vec();
        let timeouts: Vec<u64> = timeouts.iter().filter(|row| row.conn_id == f.conn_id).map(|row| row.time_ps).collect();
        let last = f.acked.ps().or(f.end.ps()).unwrap_or(t.again.report.end.0);
        // The first message of a connection begins with the handshake.
        let first = t.packets.events().first().map_or(f.start.0, |e| if f.opens { e.time_ps.min(f.start.0) } else { f.start.0 });
        let fact = |label: &str, value: String| Fact { label: label.into(), value };
        let page = time_sequence(&TimeSequence {
            title: self.title(),
            summary: self.summary(),
            sentences: self.sentences(),
            facts: vec![
                fact("variant", t.variant.clone()),
                fact("seed", t.seed.to_string()),
                fact("fingerprint", format!("{:016x}", t.again.report.fingerprint)),
                fact("start of the flow", Time(f.start.0).to_string()),
            ],
            flow: &t.packets,
            states: self.rows,
            timeouts: &timeouts,
            range: (first, last),
        });
        forebay_report::render(&page)
    }
}
