//! Reads captures, flow records and snapshots of sockets, one file after the other.

use crate::trains::Error;
use crate::trains::capture::Capture;
use crate::trains::clock::Clock;
use crate::trains::connection::{Outcome, Output, Table};
use crate::trains::incast::Incasts;
use crate::trains::numbers::Numbers;
use crate::trains::options::{GAP_WITHOUT_RTT_NS, Options};
use crate::trains::packet::{Endpoint, NoSegment, Segment, decode};
use crate::trains::records::{FlowRecord, Joined, Next, Records, join};
use crate::trains::sink::{ConnectionRow, DirectionRow, Message, Sink};
use crate::trains::sockets::Socket;
use crate::trains::source::InputFile;
use crate::trains::summary::{Summary, Totals};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Frames between two reports of progress.
const REPORT_EVERY: u64 = 1 << 16;

/// Analysis of captures. Results go to the sink while files are read, the totals to the [`Summary`].
#[derive(Debug)]
pub struct Analysis<S> {
    state: State,
    sink: S,
}

impl<S: Sink> Analysis<S> {
    /// An analysis that has read nothing.
    pub fn new(options: Options, sink: S) -> Analysis<S> {
        Analysis { state: State::new(options), sink }
    }

    /// Reads a file of any form to its end, as [`Analysis::read`].
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn read_file(
        &mut self,
        file: &mut InputFile,
        mut progress: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        match file {
            InputFile::Capture(capture) => self.read(capture, progress),
            InputFile::Records(records) => self.state.read_records(records, &mut progress),
            InputFile::Sockets(sockets) => {
                sockets.read(&mut self.state.sockets)?;
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    /// Reads a capture to its end. `progress` gets the bytes read so far, and may stop the reading.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn read(
        &mut self,
        capture: &mut Capture,
        mut progress: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        self.state.read(capture, &mut self.sink, &mut progress)
    }

    /// Ends all connections.
    pub fn finish(mut self) -> (Summary, S) {
        (self.state.finish(&mut self.sink), self.sink)
    }
}

/// State of an analysis. It has no type parameter, so that the loop over packets is compiled once and with the optimization of this crate.
#[derive(Debug)]
struct State {
    options: Options,
    totals: Totals,
    table: Table,
    numbers: Numbers,
    incasts: Incasts,
    clock: Clock,
    /// Flow records, which come in any order.
    records: Vec<FlowRecord>,
    /// Sockets of snapshots, by their own end and their peer.
    sockets: BTreeMap<(Endpoint, Endpoint), Socket>,
    notes: Vec<String>,
}

impl State {
    fn new(options: Options) -> State {
        State {
            incasts: Incasts::new(options.incast_senders),
            options,
            totals: Totals::default(),
            table: Table::default(),
            numbers: Numbers::default(),
            clock: Clock::default(),
            records: Vec::new(),
            sockets: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Reads flow records. They are kept until the end, because their order is not that of their starts.
    fn read_records(
        &mut self,
        file: &mut Records,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        while let Some(next) = file.next()? {
            self.totals.records += 1;
            match next {
                Next::Record(record) => self.records.push(record),
                Next::OtherProtocol => self.totals.skipped.not_tcp += 1,
            }
            if self.totals.records.is_multiple_of(REPORT_EVERY) && progress(file.offset()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.notes.extend(file.note());
        Ok(ControlFlow::Continue(()))
    }

    /// Reports the connections of the flow records.
    fn finish_records(&mut self, sink: &mut dyn Sink) {
        let records = std::mem::take(&mut self.records);
        if let (None, Some(first)) = (self.totals.first_ns, records.iter().map(|r| r.start_ns).min()) {
            self.totals.first_ns = Some(first);
            sink.begin(first);
        }
        self.totals.last_ns = records.iter().map(|r| r.end_ns).max().unwrap_or(0).max(self.totals.last_ns);
        for joined in join(records, &self.options) {
            self.joined(&joined, sink);
        }
    }

    fn joined(&mut self, joined: &Joined, sink: &mut dyn Sink) {
        let connection = self.numbers.connection();
        let Some(first) = joined.directions.first() else { return };
        let (client, server) = (self.numbers.host(first.src), self.numbers.host(first.dst));
        let mut rows = [DirectionRow::default(); 2];
        for d in &joined.directions {
            let from_server = d.src != first.src;
            let bytes = d.payload();
            let data_packets = if bytes > 0 { d.count.packets } else { 0 };
            rows[usize::from(from_server)] =
                DirectionRow { packets: d.count.packets, bytes, data_packets, ..DirectionRow::default() };
            if bytes == 0 {
                continue;
            }
            let (src, dst) = if from_server { (server, client) } else { (client, server) };
            let opened_ns = (d.opened && !from_server).then_some(d.start_ns);
            let (start_ns, end_ns, gap_ns) = (d.start_ns, d.end_ns, None);
            self.totals.messages += 1;
            sink.message(&Message { connection, src, dst, opened_ns, start_ns, end_ns, bytes, gap_ns });
        }
        let [from_client, from_server] = rows;
        let row = ConnectionRow {
            connection,
            client,
            server,
            opened: first.opened,
            closed: joined.closed,
            start_ns: first.start_ns,
            end_ns: joined.end_ns,
            handshake_rtt_ns: None,
            min_rtt_ns: None,
            from_client,
            from_server,
        };
        self.totals.connection(&row);
        sink.connection(&row);
    }

    /// Reports the connections of the snapshots. The socket's own end is the client.
    fn finish_sockets(&mut self, sink: &mut dyn Sink) {
        for ((own, peer), socket) in std::mem::take(&mut self.sockets) {
            let connection = self.numbers.connection();
            let (client, server) = (self.numbers.host(own), self.numbers.host(peer));
            let row = ConnectionRow {
                connection,
                client,
                server,
                opened: false,
                closed: false,
                start_ns: 0,
                end_ns: 0,
                handshake_rtt_ns: None,
                min_rtt_ns: socket.min_rtt_ns,
                from_client: DirectionRow { bytes: socket.acked, data_packets: socket.data_segments, ..DirectionRow::default() },
                from_server: DirectionRow { bytes: socket.received, ..DirectionRow::default() },
            };
            self.totals.connection(&row);
            self.totals.socket(&socket);
            sink.connection(&row);
        }
    }

    fn read(
        &mut self,
        capture: &mut Capture,
        sink: &mut dyn Sink,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let mut left = REPORT_EVERY;
        loop {
            left -= 1;
            if left == 0 {
                left = REPORT_EVERY;
                if progress(capture.offset()).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let Some(frame) = capture.next_frame()? else { break };
            self.totals.frames += 1;
            let (stamp, interface) = (frame.time_ns, frame.interface);
            match &decode(frame.link, frame.data, frame.wire_len) {
                Ok(segment) => {
                    let now = self.clock.time(stamp, || format!("`{}`, record {}", capture.name(), capture.record()));
                    self.segment(segment, (now, interface), sink);
                }
                Err(NoSegment::NotTcp) => self.totals.skipped.not_tcp += 1,
                Err(NoSegment::Cut) => self.totals.skipped.cut += 1,
                Err(NoSegment::Fragment) => self.totals.skipped.fragments += 1,
                Err(NoSegment::Malformed) => self.totals.skipped.malformed += 1,
                Err(NoSegment::Link(link)) => self.totals.link(*link),
            }
        }
        if capture.is_truncated() {
            self.notes.push(format!(
                "`{}` ends within record {} at byte {}; the capture program was probably stopped while it wrote",
                capture.name(),
                capture.record(),
                capture.record_offset()
            ));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Processes a segment, captured at a time, ns, on an interface.
    fn segment(&mut self, s: &Segment, at: (u64, u32), sink: &mut dyn Sink) {
        let (now, _) = at;
        self.totals.segments += 1;
        if self.totals.first_ns.is_none() {
            self.totals.first_ns = Some(now);
            sink.begin(now);
        }
        self.totals.last_ns = self.totals.last_ns.max(now);
        let mut out = Output { sink, totals: &mut self.totals, options: &self.options };
        match self.table.handle(s, at, &mut self.numbers, &mut out) {
            None | Some((Outcome::Counted, _)) => {}
            Some((Outcome::Copy, _)) => out.totals.skipped.copies += 1,
            Some((Outcome::TrainBegan(rtt), connection)) => {
                let (sender, receiver) = connection.hosts(s);
                if let Some(event) = self.incasts.train(receiver, sender.number, now, rtt.unwrap_or(GAP_WITHOUT_RTT_NS)) {
                    out.incast(&event);
                }
            }
        }
        self.table.sweep(now, &mut out);
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Summary {
        let mut out = Output { sink, totals: &mut self.totals, options: &self.options };
        self.table.finish(&mut out);
        self.finish_records(sink);
        self.finish_sockets(sink);
        let incasts = std::mem::replace(&mut self.incasts, Incasts::new(0));
        let mut out = Output { sink, totals: &mut self.totals, options: &self.options };
        incasts.finish().for_each(|event| out.incast(&event));
        self.notes.extend(self.clock.note());
        let (totals, numbers) = (std::mem::take(&mut self.totals), std::mem::take(&mut self.numbers));
        Summary::new(totals, numbers.into_hosts(), std::mem::take(&mut self.notes))
    }
}
