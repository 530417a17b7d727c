//! Messages of a capture as a list of flows, which the workload `replay` reads.

use crate::trains::Error;
use crate::trains::analysis::Analysis;
use crate::trains::anonymise::HostNames;
use crate::trains::capture::Capture;
use crate::trains::options::Options;
use crate::trains::sink::{Host, Message, Sink};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;

/// A message of a capture: a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The message.
    pub message: Message,
    /// Its start, ns since the epoch of the capture: the SYN if it is the first message of the host that opened the connection, else its first packet.
    pub start_ns: u64,
}

/// The flows of a capture, in order of their starts; flows with the same start in the order of their connections.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn flows(capture: &mut Capture, options: &Options) -> Result<Vec<Flow>, Error> {
    #[derive(Default)]
    struct Collect(Vec<Flow>);
    impl Sink for Collect {
        fn message(&mut self, m: &Message) {
            self.0.push(Flow { message: *m, start_ns: m.opened_ns.unwrap_or(m.start_ns) });
        }
    }
    let mut analysis = Analysis::new(options.clone(), Collect::default());
    // Without a request to stop, reading goes on to the end.
    let _ = analysis.read(capture, |_| ControlFlow::Continue(()))?;
    let (_, Collect(mut flows)) = analysis.finish();
    flows.sort_by_key(|f| (f.start_ns, f.message.connection));
    Ok(flows)
}

/// Header of a list whose starts are those of the connections. A column that is not used has a name that readers ignore; both headers have the
/// same length, since the choice is made at the end.
const STARTS_AT_SYN: &str = "src,dst,bytes,start_ns ,data_ns  ";
/// Header of a list whose starts are those of the data.
const STARTS_AT_DATA: &str = "src,dst,bytes,opened_ns,start_ns ";

/// Writes messages as a list of flows, between hosts with their names in scenarios; times count from the first packet.
#[derive(Debug)]
pub struct FlowList<W> {
    writer: W,
    names: HostNames,
    failure: Option<io::Error>,
    origin: u64,
    flows: u64,
    within_host: u64,
    at_data: u64,
    received: Vec<u64>,
}

impl<W: Write + Seek> FlowList<W> {
    /// Begins a list.
    pub fn new(mut writer: W, names: HostNames) -> FlowList<W> {
        let failure = writeln!(writer, "{STARTS_AT_SYN}").err();
        FlowList { writer, names, failure, origin: 0, flows: 0, within_host: 0, at_data: 0, received: Vec::new() }
    }

    /// Ends the list.
    ///
    /// # Errors
    /// It could not be written.
    pub fn finish(mut self) -> io::Result<Replay> {
        if let Some(e) = self.failure {
            return Err(e);
        }
        if self.at_data > 0 {
            self.writer.seek(SeekFrom::Start(0))?;
            write!(self.writer, "{STARTS_AT_DATA}")?;
        }
        self.writer.flush()?;
        let busiest = self.received.iter().enumerate().max_by_key(|(i, bytes)| (**bytes, usize::MAX - i));
        Ok(Replay {
            flows: self.flows,
            within_host: self.within_host,
            handshakes: self.at_data == 0,
            busiest: busiest.map_or(0, |(i, _)| i),
        })
    }
}

/// Properties of a list of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replay {
    /// Flows.
    pub flows: u64,
    /// Messages that were left out, because both ends are the same host.
    pub within_host: u64,
    /// Every flow is the first message of a connection whose SYN was captured, and starts with it.
    pub handshakes: bool,
    /// Number of the host that receives the most bytes.
    pub busiest: usize,
}

impl<W: Write> Sink for FlowList<W> {
    fn begin(&mut self, first_ns: u64) {
        self.origin = first_ns;
    }

    fn message(&mut self, m: &Message) {
        let name = |host: Host| self.names.in_scenario(host.end.ip(), host.number);
        let (src, dst) = (name(m.src), name(m.dst));
        if src == dst {
            self.within_host += 1;
            return;
        }
        self.flows += 1;
        self.at_data += u64::from(m.opened_ns.is_none());
        let to = m.dst.number as usize;
        if to >= self.received.len() {
            self.received.resize(to + 1, 0);
        }
        self.received[to] += m.bytes;
        let since = |ns: u64| ns.saturating_sub(self.origin);
        let (opened, data) = (since(m.opened_ns.unwrap_or(m.start_ns)), since(m.start_ns));
        if self.failure.is_none() {
            self.failure = writeln!(self.writer, "{src},{dst},{},{opened},{data}", m.bytes).err();
        }
    }
}
