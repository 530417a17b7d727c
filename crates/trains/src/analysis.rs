//! Follows the connections of captures, one file after the other.

use crate::Error;
use crate::capture::Capture;
use crate::connection::{Connection, Outcome, Output};
use crate::incast::Incasts;
use crate::options::{GAP_WITHOUT_RTT_NS, Options};
use crate::packet::{Endpoint, NoSegment, Segment, decode};
use crate::records::{FlowRecord, Joined, Next, Records, join};
use crate::sink::{ConnectionRow, DirectionRow, Host, Incast, Message, Sink};
use crate::sockets::{Socket, Sockets};
use crate::source::InputFile;
use crate::summary::{Summary, Totals};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::ControlFlow;

/// Frames between two reports of progress.
const REPORT_EVERY: u64 = 1 << 16;

/// A clock that steps back further than this was set; smaller steps are packets that were captured by several processors or interfaces, ns.
const CLOCK_SET_NS: u64 = 1_000_000_000;

/// Later times are those of damaged captures, and are cut to this: the year 2116, so that sums of times fit, ns.
const LATEST_NS: u64 = 1 << 62;

/// Both ends of a connection, in numerical order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key(Endpoint, Endpoint);

impl Key {
    #[inline]
    fn of(s: &Segment) -> Key {
        if s.src <= s.dst { Key(s.src, s.dst) } else { Key(s.dst, s.src) }
    }
}

/// A connection with its hosts.
#[derive(Debug)]
struct Entry {
    key: Key,
    connection: Connection,
}

/// Analysis of captures. Results go to the sink while files are read, the totals to the [`Summary`].
#[derive(Debug)]
pub struct Analysis<S> {
    options: Options,
    sink: S,
    totals: Totals,
    table: HashMap<Key, u32>,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    next_number: u64,
    /// Addresses in order of first appearance, and their places.
    hosts: Vec<IpAddr>,
    host_numbers: HashMap<IpAddr, u32>,
    incasts: Incasts,
    clock: Clock,
    swept_at: u64,
    /// Flow records, which come in any order.
    records: Vec<FlowRecord>,
    /// Sockets of snapshots, by their own end and their peer.
    sockets: BTreeMap<(Endpoint, Endpoint), Socket>,
    notes: Vec<String>,
}

/// The time of packets, made continuous where the clock of the capture was set back.
#[derive(Debug, Default)]
struct Clock {
    newest: u64,
    shift: u64,
    steps: u64,
    largest: u64,
    first: Option<String>,
}

impl Clock {
    /// Time of a packet, ns.
    #[inline]
    fn time(&mut self, stamp: u64, place: impl FnOnce() -> String) -> u64 {
        let now = stamp.saturating_add(self.shift).min(LATEST_NS);
        if now >= self.newest {
            self.newest = now;
            return now;
        }
        let back = self.newest - now;
        if back <= CLOCK_SET_NS {
            return now;
        }
        self.steps += 1;
        self.largest = self.largest.max(back);
        self.first.get_or_insert_with(place);
        self.shift = self.shift.saturating_add(back);
        self.newest
    }

    fn note(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let times = if self.steps == 1 { "once".into() } else { format!("{} times", self.steps) };
        let seconds = self.largest as f64 * 1e-9;
        Some(format!(
            "the clock of the capture steps back {times}, by up to {seconds:.3} s, first at {first}; later packets follow the last one before it. If the \
             files are captures of the same time, merge them first: `mergecap -w ALL FILE...`"
        ))
    }
}

impl<S: Sink> Analysis<S> {
    /// An analysis that has read nothing.
    pub fn new(options: Options, sink: S) -> Analysis<S> {
        let incasts = Incasts::new(options.incast_senders);
        Analysis {
            options,
            sink,
            totals: Totals::default(),
            table: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            next_number: 0,
            hosts: Vec::new(),
            host_numbers: HashMap::new(),
            incasts,
            clock: Clock::default(),
            swept_at: 0,
            records: Vec::new(),
            sockets: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Reads a file of any form to its end, as [`Analysis::read`].
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn read_file(
        &mut self,
        file: &mut InputFile,
        progress: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        match file {
            InputFile::Capture(capture) => self.read(capture, progress),
            InputFile::Records(records) => self.read_records(records, progress),
            InputFile::Sockets(sockets) => self.read_sockets(sockets),
        }
    }

    /// Reads flow records. They are kept until the end, because their order is not that of their starts.
    fn read_records(
        &mut self,
        file: &mut Records,
        mut progress: impl FnMut(u64) -> ControlFlow<()>,
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

    fn read_sockets(&mut self, file: &mut Sockets) -> Result<ControlFlow<()>, Error> {
        file.read(&mut self.sockets)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Reports the connections of the flow records.
    fn finish_records(&mut self) {
        let records = std::mem::take(&mut self.records);
        if let (None, Some(first)) = (self.totals.first_ns, records.iter().map(|r| r.start_ns).min()) {
            self.totals.first_ns = Some(first);
            self.sink.begin(first);
        }
        self.totals.last_ns = records.iter().map(|r| r.end_ns).max().unwrap_or(0).max(self.totals.last_ns);
        for joined in join(records, &self.options) {
            self.joined(&joined);
        }
    }

    fn joined(&mut self, joined: &Joined) {
        let connection = self.next_number;
        self.next_number += 1;
        let Some(first) = joined.directions.first() else { return };
        let (client, server) = (self.host(first.src), self.host(first.dst));
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
            self.sink.message(&Message { connection, src, dst, opened_ns, start_ns, end_ns, bytes, gap_ns });
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
        self.sink.connection(&row);
    }

    /// Reports the connections of the snapshots. The socket's own end is the client.
    fn finish_sockets(&mut self) {
        for ((own, peer), socket) in std::mem::take(&mut self.sockets) {
            let connection = self.next_number;
            self.next_number += 1;
            let (client, server) = (self.host(own), self.host(peer));
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
            self.sink.connection(&row);
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
                    self.segment(segment, now, interface);
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

    /// Processes a segment, captured at `now`, ns, on an interface.
    fn segment(&mut self, s: &Segment, now: u64, interface: u32) {
        self.totals.segments += 1;
        if self.totals.first_ns.is_none() {
            self.totals.first_ns = Some(now);
            self.sink.begin(now);
        }
        self.totals.last_ns = self.totals.last_ns.max(now);
        let key = Key::of(s);
        let mut index = self.table.get(&key).copied();
        if let Some(old) = index
            && self.entries[old as usize].as_ref().is_some_and(|e| e.connection.is_replaced_by(s))
        {
            self.retire(old);
            index = None;
        }
        let index = index.unwrap_or_else(|| self.insert(key, s, now));
        let Some(entry) = &mut self.entries[index as usize] else { return };
        let mut out = Output { sink: &mut self.sink, totals: &mut self.totals, options: &self.options };
        match entry.connection.handle(s, (now, interface), &mut out) {
            Outcome::Counted => {}
            Outcome::Copy => self.totals.skipped.copies += 1,
            Outcome::TrainBegan(rtt) => {
                let (sender, receiver) = entry.connection.hosts(s);
                let ended = self.incasts.train(receiver, sender.number, now, rtt.unwrap_or(GAP_WITHOUT_RTT_NS));
                if let Some(event) = ended {
                    self.incast(&event);
                }
            }
        }
        // A sweep looks at all connections; so many packets between two make its cost constant for a packet.
        if self.totals.segments - self.swept_at > (2 * self.entries.len() as u64).max(REPORT_EVERY) {
            self.sweep(now);
        }
    }

    fn incast(&mut self, event: &Incast) {
        self.totals.incast(event);
        self.sink.incast(event);
    }

    fn host(&mut self, end: Endpoint) -> Host {
        let ip = end.ip();
        let number = *self.host_numbers.entry(ip).or_insert_with(|| {
            self.hosts.push(ip);
            self.hosts.len() as u32 - 1
        });
        Host { end, number }
    }

    fn insert(&mut self, key: Key, s: &Segment, now: u64) -> u32 {
        if self.table.len() >= self.options.max_connections.max(1) {
            self.make_room();
        }
        let ends = [self.host(s.src), self.host(s.dst)];
        let entry = Some(Entry { key, connection: Connection::new(self.next_number, ends, now) });
        self.next_number += 1;
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.table.insert(key, index);
        index
    }

    fn retire(&mut self, index: u32) {
        let Some(entry) = self.entries[index as usize].take() else { return };
        self.table.remove(&entry.key);
        self.free.push(index);
        entry.connection.finish(&mut Output { sink: &mut self.sink, totals: &mut self.totals, options: &self.options });
    }

    /// Drops connections that are closed, or idle for longer than the limit.
    fn sweep(&mut self, now: u64) {
        self.swept_at = self.totals.segments;
        for index in 0..self.entries.len() {
            if self.entries[index].as_ref().is_some_and(|e| e.connection.is_over(now, self.options.idle_ns)) {
                self.retire(index as u32);
            }
        }
    }

    /// Drops the tenth of the connections that have been idle for longest.
    fn make_room(&mut self) {
        let mut times: Vec<u64> = self.entries.iter().flatten().map(|e| e.connection.last_ns()).collect();
        let tenth = times.len() / 10;
        let (_, &mut newest, _) = times.select_nth_unstable(tenth);
        for index in 0..self.entries.len() {
            if self.entries[index].as_ref().is_some_and(|e| e.connection.last_ns() <= newest) {
                self.retire(index as u32);
            }
        }
    }

    /// Ends all connections.
    pub fn finish(mut self) -> (Summary, S) {
        (0..self.entries.len()).for_each(|index| self.retire(index as u32));
        self.finish_records();
        self.finish_sockets();
        let incasts = std::mem::replace(&mut self.incasts, Incasts::new(0));
        incasts.finish().for_each(|event| self.incast(&event));
        self.notes.extend(self.clock.note());
        (Summary::new(self.totals, self.hosts, self.notes), self.sink)
    }
}
