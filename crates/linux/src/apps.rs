//! The host of the applications (`forebay_apps::Host`): their connections, their timers, and the resulting commands for the guest.

use crate::capture::Ends;
use crate::connection::Connection;
use crate::failures::{Failures, Rerouted, route};
use crate::link::Frames;
use crate::names::{Names, Order};
use crate::plan::Plan;
use crate::protocol::{self, HOPS, NEVER, number};
use crate::routes::{Routes, shortest_paths};
use crate::shim_rows::ShimState;
use forebay_apps::{Host, InitialData, Job, Notice, OpenSpec, QueryStart, Wake};
use forebay_experiment::Experiment;
use forebay_experiment::faults::Balance;
use forebay_experiment::host_timing::HostTiming;
use forebay_experiment::topology::Fib;
use forebay_experiment::traffic::Datagram;
use forebay_kernel::shims::reports_columns;
use forebay_types::{AppId, ConnSlot, GroupId, IndexVec, NodeId, Time, WorkloadId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Kind of timer that comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A connection opens.
    Open(ConnSlot),
    /// A timer of an application.
    App(AppId, u64),
}

/// Everything that applications have asked for.
pub(crate) struct Hosts<'a> {
    experiment: &'a Experiment,
    /// The tables of the intact network, and those now, if some link is avoided.
    fib: &'a Fib,
    around: Option<Fib>,
    plan: &'a Plan,
    /// In the order in which they were made, which is their number; none is used twice.
    pub(crate) connections: IndexVec<ConnSlot, Connection>,
    /// Connections by the guest's number: in the order of opening.
    opened: Vec<ConnSlot>,
    /// Timers by time, then in the order of setting.
    timers: BinaryHeap<Reverse<(Time, u64, Due)>>,
    set: u64,
    /// Frames for the guest.
    pub(crate) frames: Frames,
    /// Notices for applications.
    pub(crate) notices: Vec<(AppId, Notice)>,
    /// Queries that have begun.
    pub(crate) queries: Vec<QueryStart>,
    /// Connections that were to write without end, and were stopped before they were open.
    pub(crate) stopped_early: Vec<ConnSlot>,
    /// The current time.
    pub(crate) now: Time,
    /// Messages begun and not acknowledged, those without end not counted until they are stopped.
    pub(crate) unfinished: u64,
    /// Messages finished.
    pub(crate) done: u64,
    /// Connections now, and the most there were.
    live: u64,
    peak: u64,
    names: Names,
    /// Step of the clock of applications.
    clock: Time,
}

impl<'a> Hosts<'a> {
    /// Without connections.
    pub(crate) fn new(experiment: &'a Experiment, fib: &'a Fib, plan: &'a Plan) -> Hosts<'a> {
        Hosts {
            experiment,
            fib,
            around: None,
            plan,
            connections: IndexVec::new(),
            opened: Vec::new(),
            timers: BinaryHeap::new(),
            set: 0,
            frames: Frames::default(),
            notices: Vec::new(),
            queries: Vec::new(),
            stopped_early: Vec::new(),
            now: Time::ZERO,
            unfinished: 0,
            done: 0,
            live: 0,
            peak: 0,
            names: Names::new(forebay_apps::window_length(experiment, None)),
            clock: HostTiming::of(&experiment.groups).clock_step(),
        }
    }

    /// The connection with this number of the guest.
    pub(crate) fn slot(&self, guest: u32) -> Option<ConnSlot> {
        self.opened.get(guest as usize).copied()
    }

    /// Ends of a packet of the connection in slot `slot`, as a capture shows them; `back`: it travels to the sender of the data.
    pub(crate) fn ends(&self, slot: ConnSlot, back: bool) -> Ends {
        let c = &self.connections[slot];
        let (src, dst) = (c.spec.src, c.spec.dst);
        // The host of the second of two directions opens the connection.
        let is_accepting = c.reverse.is_some() && c.spec.reverse_of.is_none();
        Ends {
            conn_id: self.number(c.spec.reverse_of.unwrap_or(slot)),
            own: self.number(slot),
            to_opener: back != is_accepting,
            hosts: if back { (dst, src) } else { (src, dst) },
        }
    }

    /// Number of the connection in slot `slot` in tables, as in the simulator.
    pub(crate) fn number(&self, slot: ConnSlot) -> u64 {
        self.names.number(slot)
    }

    /// The most connections that there were at the same time.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// The sender of a connection has received the last FIN. The simulator releases the slot then, before the last ACK arrives at the receiver
    /// (`end_sender`).
    pub(crate) fn release_name(&mut self, slot: ConnSlot) {
        let c = &mut self.connections[slot];
        if !std::mem::replace(&mut c.name_released, true) {
            self.names.close(self.now, c.spec.src, slot);
        }
    }

    /// The guest has forgotten a connection.
    pub(crate) fn close(&mut self, slot: ConnSlot) {
        self.release_name(slot);
        let c = &mut self.connections[slot];
        if !c.closed {
            self.live -= 1;
            c.closed = true;
        }
    }

    /// Time of the next timer.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.timers.peek().map(|t| t.0.0)
    }

    /// Removes and returns the first timer that is due by `now`, with the time for which it was set.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<(Time, Due)> {
        let first = self.timers.peek_mut().filter(|t| t.0.0 <= now)?;
        let Reverse((time, _, due)) = std::collections::binary_heap::PeekMut::pop(first);
        Some((time, due))
    }

    /// Sets a timer, in steps of the hosts' clock.
    fn at(&mut self, time: Time, due: Due) {
        self.set += 1;
        // The last times stand for never.
        let time = time.0.checked_next_multiple_of(self.clock.0).map_or(time, Time);
        self.timers.push(Reverse((time, self.set, due)));
    }

    /// Payload bytes of a full segment of `slot`.
    pub(crate) fn mss(&self, slot: ConnSlot) -> u32 {
        self.experiment.groups[self.connections[slot].spec.group].tcp.mss
    }

    /// Creates a connection; with `order` one that an application has requested.
    fn create_connection(&mut self, spec: OpenSpec, order: Option<Order>) -> ConnSlot {
        match order {
            Some(order) => self.names.request(self.now, order),
            None => self.names.create(self.now),
        }
        let slot = self.connections.next_id();
        let routes = self.routes(self.path_number(slot, &spec), &spec);
        let tcp = &self.experiment.groups[spec.group].tcp;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        let shims = reports_columns(tcp).then_some(ShimState::NOTHING);
        if let Some(other) = spec.reverse_of {
            self.connections[other].reverse = Some(slot);
        }
        let reverse = spec.reverse_of;
        self.connections.push(Connection { shims, reverse, ..Connection::new(spec, routes, tcp.init_cwnd) })
    }

    /// Number of the connection that draws the paths of `slot`: both directions of a TCP connection have the paths of one.
    fn path_number(&self, slot: ConnSlot, spec: &OpenSpec) -> u64 {
        self.number(spec.reverse_of.unwrap_or(slot))
    }

    fn routes(&self, number: u64, spec: &OpenSpec) -> Routes {
        Routes::new(&self.experiment.network, self.around.as_ref().unwrap_or(self.fib), number, spec.src, spec.dst)
    }

    /// The switches know which links have failed: connections take the ways that are left.
    pub(crate) fn reroute(&mut self, change: &Rerouted, failures: &mut Failures<'_>) {
        self.around = Some(change.fib.clone());
        // With per-packet load balancing connections have no path to change.
        if self.experiment.network.faults.balance == Balance::Packet {
            return;
        }
        for slot in self.connections.ids() {
            let guest = self.connections[slot].guest;
            let spec = self.connections[slot].spec;
            let new = self.routes(self.path_number(slot, &spec), &spec);
            let c = &mut self.connections[slot];
            if c.closed || new == c.routes {
                continue;
            }
            let old = std::mem::replace(&mut c.routes, new);
            let Some(conn) = guest else { continue };
            failures.moved(change, &old, &c.routes);
            let known = c.passed.get_or_insert([old.forth, old.back]);
            self.frames.put(protocol::Route { conn, ..route(&self.experiment.network, &change.fib, &c.routes, known) });
        }
    }

    /// Opens `slot` and writes what was to be written on it, at `time`. The direction back of another connection opens with that one.
    pub(crate) fn open_now(&mut self, slot: ConnSlot, time: Time) {
        let c = &self.connections[slot];
        match (c.reverse, c.spec.reverse_of) {
            (Some(_), None) => {}
            (Some(passive), Some(_)) => {
                self.open_direction(slot, time);
                self.open_direction(passive, time);
            }
            (None, _) => self.open_direction(slot, time),
        }
    }

    fn open_direction(&mut self, slot: ConnSlot, time: Time) {
        let opener = self.connections[slot].reverse.and_then(|other| self.connections[other].guest);
        let name = self.names.name(time, slot);
        let (number, spec) = (self.number(slot), self.connections[slot].spec);
        if self.path_number(slot, &spec) != u64::from(spec.reverse_of.unwrap_or(slot).get()) {
            // Others were requested later in the same window, and open earlier.
            self.connections[slot].routes = self.routes(self.path_number(slot, &spec), &spec);
        }
        let c = &mut self.connections[slot];
        let guest = self.opened.len() as u32;
        c.guest = Some(guest);
        let datagrams = c.datagram.is_some();
        let group = self.plan.group(c.spec.app, c.spec.group);
        let mut open = protocol::Open {
            conn: guest,
            group,
            src: self.plan.interface(c.spec.src, group),
            dst: self.plan.interface(c.spec.dst, group),
            forth_len: 0,
            back_len: 0,
            forth: [0; HOPS],
            back: [0; HOPS],
            ties_forth: 0,
            ties_back: 0,
            class_of_service: c.datagram.map_or(0, |d| d.class.into()),
            flags: match opener {
                Some(_) => number::OPEN_REVERSE,
                None if datagrams => number::OPEN_DATAGRAMS,
                None => 0,
            },
            rss_forth: 0,
            rss_back: 0,
            deadline: NEVER,
            reverse_of: opener.unwrap_or(0),
            number: number as u32,
        };
        c.routes.fill(&mut open, name);
        self.frames.put(open);
        let first = c.routes.hash;
        if self.experiment.groups[spec.group].tcp.txrehash && !datagrams {
            let hashes = self.fib.path_hashes(self.path_number(slot, &spec), spec.src, spec.dst);
            let ends = (spec.src, spec.dst);
            crate::routes::others(&self.experiment.network, self.fib, (hashes, first), ends, |length, ports| {
                self.frames.put(protocol::Path { conn: guest, length, back: 0, pad: 0, ports });
            });
        }
        if let Balance::Flowlet { .. } = self.experiment.network.faults.balance {
            let c = &self.connections[slot];
            for (back, ends, known) in [(0, (spec.src, spec.dst), &c.routes.forth), (1, (spec.dst, spec.src), &c.routes.back)] {
                for path in shortest_paths(&self.experiment.network, self.fib, ends).iter().filter(|p| *p != known) {
                    let mut ports = [0; HOPS];
                    ports.iter_mut().zip(path).for_each(|(slot, port)| *slot = port.get());
                    self.frames.put(protocol::Path { conn: guest, length: path.len() as u32, back, pad: 0, ports });
                }
            }
        }
        self.opened.push(slot);
        match spec.first {
            InitialData::Nothing => {}
            InitialData::Only(job) | InitialData::First(job) => self.write(slot, time, job),
            InitialData::Endless => self.write(slot, time, Job::ENDLESS),
        }
        for (written, job) in std::mem::take(&mut self.connections[slot].early) {
            self.write(slot, written, job);
        }
    }
}

impl Host for Hosts<'_> {
    fn open(&mut self, time: Time, spec: OpenSpec) -> ConnSlot {
        let slot = self.create_connection(spec, None);
        self.at(time, Due::Open(slot));
        slot
    }

    /// As in the simulator.
    fn earliest_open(&self) -> Time {
        self.names.window_end(self.now)
    }

    fn open_later(&mut self, time: Time, spec: OpenSpec) {
        let slot = self.create_connection(spec, Some((time, spec.src, spec.app, spec.tag)));
        self.at(time, Due::Open(slot));
    }

    fn open_datagrams(&mut self, spec: OpenSpec, datagram: Datagram) -> ConnSlot {
        let slot = self.create_connection(spec, None);
        self.connections[slot].datagram = Some(datagram);
        self.at(Time::ZERO, Due::Open(slot));
        slot
    }

    fn write(&mut self, slot: ConnSlot, now: Time, job: Job) {
        let mss = self.mss(slot);
        let c = &mut self.connections[slot];
        let Some(conn) = c.guest else { return c.early.push((now, job)) };
        c.write(now, job, mss);
        self.unfinished += u64::from(job.bytes.is_some());
        let last = matches!(c.spec.first, InitialData::Only(_));
        let (flags, deadline) = (if last { number::WRITE_LAST } else { 0 }, job.deadline.0);
        let bytes = job.bytes.unwrap_or(0);
        let part = self.experiment.workloads[WorkloadId::new(c.spec.app.get())].writes.part(bytes);
        self.frames.put(protocol::Write { conn, flags, bytes, part, deadline });
    }

    fn stop(&mut self, slot: ConnSlot, _now: Time) {
        let c = &mut self.connections[slot];
        let Some(conn) = c.guest else { return };
        c.stopped = true;
        if !c.established {
            self.stopped_early.push(slot);
        }
        self.unfinished += 1;
        self.frames.put(protocol::Stop { conn, pad: 0 });
    }

    fn send_datagram(&mut self, slot: ConnSlot, now: Time) {
        let c = &mut self.connections[slot];
        let (Some(conn), Some(d)) = (c.guest, c.datagram) else { return };
        if c.messages.first().is_none() {
            // The one row of this source: without end, from its first packet on.
            c.write(now, Job::ENDLESS, 0);
        }
        let (payload, wire, class_of_service) = (d.payload.into(), d.wire.into(), d.class.into());
        self.frames.put(protocol::Datagram { conn, payload, wire, class_of_service });
    }

    fn wake(&mut self, wake: Wake) {
        self.at(wake.time, Due::App(wake.app, wake.tag));
    }

    fn begin_query(&mut self, start: QueryStart) {
        self.queries.push(start);
    }

    fn request_latency(&self, from: NodeId, to: NodeId, group: GroupId) -> Time {
        let bytes = u64::from(self.experiment.groups[group].tcp.ack_size);
        Time(self.fib.path_time(&self.experiment.network, (from, to), 0, bytes))
    }
}
