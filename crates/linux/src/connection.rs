//! State of a connection outside of the guest: its specification, the written messages, and the state that its packets show.

use crate::message::{Message, Messages, Stats};
use crate::reassembly::ReceivedBytes;
use crate::routes::Routes;
use crate::sender::Sender;
use crate::shim_rows::ShimState;
use forebay_apps::{Job, OpenSpec};
use forebay_experiment::Experiment;
use forebay_experiment::rows::FlowRow;
use forebay_experiment::traffic::Datagram;
use forebay_types::{ConnSlot, PortId, Time, TimeOrNever, WorkloadId};

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Ends, transport, application.
    pub spec: OpenSpec,
    /// Its way through the network.
    pub routes: Routes,
    /// Ports that its packets may pass, forth and back, where that is more than its way: links have failed.
    pub passed: Option<[Vec<PortId>; 2]>,
    /// The other direction of the same TCP connection, if data flows in both.
    pub reverse: Option<ConnSlot>,
    /// The guest's number, once it is open.
    pub guest: Option<u32>,
    /// Jobs written before the connection was open.
    pub early: Vec<(Time, Job)>,
    /// Bytes written, those without end not counted.
    pub written: u64,
    /// Messages that are not acknowledged.
    pub messages: Messages,
    /// Its sender.
    pub sender: Sender,
    /// Bytes that the receiver has.
    pub received: ReceivedBytes,
    /// Bytes that the receiver had when the warm-up ended.
    pub before: ReceivedBytes,
    /// A source of datagrams: what they are.
    pub datagram: Option<Datagram>,
    /// Payload of datagrams that have arrived, and how much of it before the end of the warm-up.
    pub datagrams_in: (u64, u64),
    /// State of the shims at its ends; `None`: it has no shims.
    pub shims: Option<ShimState>,
    /// Next time of a row in the series of senders.
    pub next_sample: u64,
    /// Its sender can send.
    pub established: bool,
    /// Its application, which wrote without end, has stopped.
    pub stopped: bool,
    /// Both ends have forgotten it.
    pub closed: bool,
    /// Another connection may take its name.
    pub name_released: bool,
}

impl Connection {
    /// A connection that is not open, with an initial window of `cwnd` segments.
    pub(crate) fn new(spec: OpenSpec, routes: Routes, cwnd: u32) -> Connection {
        Connection {
            spec,
            routes,
            passed: None,
            reverse: None,
            guest: None,
            early: Vec::new(),
            written: 0,
            messages: Messages::default(),
            sender: Sender::new(cwnd),
            received: ReceivedBytes::default(),
            before: ReceivedBytes::default(),
            datagram: None,
            datagrams_in: (0, 0),
            shims: None,
            next_sample: 0,
            established: false,
            stopped: false,
            closed: false,
            name_released: false,
        }
    }

    /// A message is written at `now`, in segments of `mss` bytes.
    pub(crate) fn write(&mut self, now: Time, job: Job, mss: u32) {
        let begin = self.written;
        let end = job.bytes.map(|bytes| begin + bytes);
        self.written = end.unwrap_or(begin);
        let cwnd = if self.datagram.is_some() { 0 } else { self.sender.cwnd() };
        let message = Message {
            begin,
            end,
            start: now,
            delivered: None,
            query: job.query,
            deadline: job.deadline,
            first_window: u64::from(cwnd) * u64::from(mss),
            stats: Stats::default(),
        };
        self.messages.push(message, cwnd);
    }

    /// The row of `m`, one of its messages, which its sender knew to be delivered at `acked`, if it did. `measuring`: the warm-up is over.
    pub(crate) fn row(
        &mut self,
        m: &Message,
        acked: Option<Time>,
        number: u64,
        experiment: &Experiment,
        measuring: bool,
    ) -> FlowRow {
        let size = m.end.map_or(0, |end| end - m.begin);
        let tcp = &experiment.groups[self.spec.group].tcp;
        let (known, measured) = if self.datagram.is_some() {
            (self.datagrams_in.0, self.datagrams_in.0 - self.datagrams_in.1)
        } else {
            let measured = self.received.within(m.begin, m.end).saturating_sub(self.before.within(m.begin, m.end));
            (if acked.is_some() { m.end.unwrap_or(self.sender.una()) } else { self.sender.una() }, measured)
        };
        let mut row = FlowRow {
            // Numbered by the report, in order of start.
            flow_id: 0,
            conn_id: number,
            workload: WorkloadId::new(self.spec.app.get()),
            group: self.spec.group,
            src: self.spec.src,
            dst: self.spec.dst,
            size_bytes: size,
            start: m.start,
            end: m.delivered.into(),
            acked: acked.into(),
            ideal: if size == 0 { Time::ZERO } else { self.routes.ideal(&experiment.network, size, tcp.mss, tcp.header) },
            bytes_acked: m.end.map_or(known, |end| known.min(end)).saturating_sub(m.begin),
            bytes_measured: if measuring { measured } else { 0 },
            query_id: m.query,
            deadline: m.deadline.into(),
            ecmp: self.routes.hash,
            opens: m.begin == 0,
            fits: size <= m.first_window,
            shim: self.shims.as_mut().map(|state| Box::new(state.row(m.begin == 0))),
            ..FlowRow::default()
        };
        m.stats.fill(&mut row);
        if self.datagram.is_some() {
            // Datagrams have no window.
            (row.rwnd_limited, row.sndbuf_limited) = (TimeOrNever::NEVER, TimeOrNever::NEVER);
        }
        row
    }
}
