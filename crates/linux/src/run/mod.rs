//! A run: messages of the guest update the counters and go to the applications, whose decisions go back to the guest. The exchange itself is in
//! `conversation`.

mod conversation;
#[cfg(test)]
mod tests;

pub(crate) use self::conversation::run_guest_with_states;
pub use self::conversation::{Failed, Watch, run_guest};

use crate::apps::{Due, Hosts};
use crate::capture::Captures;
use crate::failures::Failures;
use crate::link::Frame;
use crate::link_changes::LinkChanges;
use crate::plan::Plan;
use crate::ports::Ports;
use crate::protocol::{
    self, Event, Final, Header, HostDrops, LOG, Leave, NEVER, Packet, Record, ShimRow, State, Tcp, Timer, event, flag, reason,
    what,
};
use crate::sender;
use crate::shim_rows::ShimState;
use crate::socket_state::SocketState;
use crate::trace::Trace;
use forebay_apps::{App, Notice, QueryIds, query_rows};
use forebay_experiment::Experiment;
use forebay_experiment::deliveries::Deliveries;
use forebay_experiment::numbering::number_by_start;
use forebay_experiment::report::{Progress, Report, Undelivered};
use forebay_experiment::rows::{FlowRow, PacketRow, TcpRow, TimeoutRow};
use forebay_experiment::series::Series;
use forebay_experiment::timeouts::attribute;
use forebay_experiment::topology::Fib;
use forebay_types::{AppId, ConnSlot, GroupId, IndexVec, SumId, Time, WorkloadId};
use std::io;

/// A run on its way.
pub(crate) struct Run<'a> {
    experiment: &'a Experiment,
    fib: &'a Fib,
    hosts: Hosts<'a>,
    failures: Failures<'a>,
    link_changes: LinkChanges,
    apps: IndexVec<AppId, App>,
    ports: Ports,
    trace: Trace,
    flows: Vec<FlowRow>,
    timeouts: Vec<TimeoutRow>,
    samples: Series<TcpRow>,
    deliveries: Deliveries,
    /// Accounting of each connection's payload, as far as it has been processed.
    sums: IndexVec<ConnSlot, SumId>,
    packets: Series<PacketRow>,
    captures: Option<Captures>,
    /// Empty unless the plan records them.
    states: Vec<SocketState>,
    /// The warm-up is over; when it ended, and what had arrived by then for each transport.
    measuring: bool,
    measured_from: Time,
    arrived_before: IndexVec<GroupId, u64>,
    cut: bool,
    /// Log text of the guest.
    log: String,
}

impl<'a> Run<'a> {
    /// A run of `experiment` whose applications have been started.
    pub(crate) fn new(experiment: &'a Experiment, seed: u64, fib: &'a Fib, plan: &'a Plan) -> Run<'a> {
        let mut hosts = Hosts::new(experiment, fib, plan);
        let mut ids = QueryIds::default();
        let mut apps = IndexVec::new();
        for workload in experiment.workloads.ids() {
            let mut app = App::new(experiment, seed, workload, &mut ids);
            app.start(&mut hosts);
            apps.push(app);
        }
        Run {
            experiment,
            fib,
            hosts,
            failures: Failures::new(&experiment.network, fib, seed),
            link_changes: LinkChanges::new(&experiment.network.faults, seed),
            apps,
            ports: Ports::new(experiment),
            trace: Trace::default(),
            flows: Vec::new(),
            timeouts: Vec::new(),
            deliveries: Deliveries::new(&experiment.workloads, experiment.groups.len(), experiment.duration, Time::ZERO),
            sums: IndexVec::new(),
            samples: Series::default(),
            packets: Series::default(),
            captures: Captures::new(experiment),
            states: Vec::new(),
            measuring: experiment.observe.warmup == Time::ZERO,
            measured_from: Time::ZERO,
            arrived_before: IndexVec::repeat(0, experiment.groups.len()),
            cut: false,
            log: String::new(),
        }
    }

    /// Progress of the run.
    fn progress(&self) -> Progress {
        Progress {
            now: self.hosts.now,
            end: self.experiment.duration,
            packet_hops: self.ports.hops(),
            done: self.hosts.done,
            total: self.apps.iter().map(App::expected).sum(),
            cores: 1,
            to_report: 0,
        }
    }

    /// Records, in the order of their times.
    fn note(&mut self, frame: Frame<'_>) -> Result<(), Failed> {
        match frame.kind {
            Header::KIND => {
                if let Some(captures) = &mut self.captures {
                    frame.records().for_each(|r| captures.header(&r));
                }
            }
            Packet::KIND => frame.records().for_each(|r| self.packet(&r)),
            Leave::KIND => frame.records().for_each(|r: Leave| {
                self.pass(r.time);
                self.ports.leave(&r);
                if let Some(captures) = &mut self.captures {
                    captures.leave(&r);
                }
            }),
            Tcp::KIND => frame.records().for_each(|r| self.tcp(&r)),
            State::KIND => {
                let Run { hosts, states, .. } = self;
                let known = |r: State| hosts.slot(r.conn).map(|slot| SocketState::new(&r, hosts.number(slot)));
                states.extend(frame.records().filter_map(known));
            }
            Timer::KIND => frame.records().for_each(|r| self.timer(&r)),
            ShimRow::KIND => frame.records().for_each(|r: ShimRow| {
                if let Some(slot) = self.hosts.slot(r.conn) {
                    self.hosts.connections[slot].shims.get_or_insert(ShimState::NOTHING).update(&r);
                }
            }),
            HostDrops::KIND => frame.records().for_each(|r: HostDrops| {
                self.pass(r.time);
                self.ports.host_drops(&self.experiment.network, &r);
            }),
            Event::KIND => return frame.records().try_for_each(|r| self.event(&r)),
            // The totals of connections follow from their packets.
            Final::KIND => {}
            LOG => self.log.push_str(&frame.text()),
            kind => return Err(Failed::Guest(format!("the guest sent a frame of kind {kind}, which only the host may send"))),
        }
        Ok(())
    }

    /// Time has come to `now`.
    fn pass(&mut self, now: u64) {
        let now = Time(now);
        if !self.measuring && now >= self.experiment.observe.warmup {
            let warmup = self.experiment.observe.warmup;
            (self.measuring, self.measured_from) = (true, warmup);
            self.ports.restart(warmup);
            self.arrived_before = self.arrived();
            for (_, c) in self.hosts.connections.enumerate_mut() {
                c.before = c.received.clone();
                c.datagrams_in.1 = c.datagrams_in.0;
            }
        }
        if now >= self.deliveries.due() && self.deliveries.should_sample(now, self.hosts.connections.len(), self.ports.hops()) {
            let totals = self.delivered_over_time();
            self.deliveries.record(now, &totals);
        }
        self.hosts.now = self.hosts.now.max(now);
    }

    /// Payload that has reached receivers, of each workload per transport and port.
    fn delivered_over_time(&mut self) -> IndexVec<SumId, u64> {
        let Run { hosts, deliveries, sums, experiment, fib, .. } = self;
        let mut way = Vec::new();
        // Connections keep their places, so that only those that came since need one.
        for c in hosts.connections.iter().skip(sums.len()) {
            fib.common_ports(&experiment.network, (c.spec.src, c.spec.dst), &mut way);
            sums.push(deliveries.sum(WorkloadId::new(c.spec.app.get()), c.spec.group, &way));
        }
        let mut totals = deliveries.zeros();
        for (c, sum) in hosts.connections.iter().zip(sums.iter()) {
            totals[*sum] += c.received.within(0, None) + c.datagrams_in.0;
        }
        totals
    }

    /// Payload that has reached receivers, per transport.
    fn arrived(&self) -> IndexVec<GroupId, u64> {
        let mut arrived = IndexVec::repeat(0, self.experiment.groups.len());
        for c in self.hosts.connections.iter() {
            arrived[c.spec.group] += c.received.within(0, None) + c.datagrams_in.0;
        }
        arrived
    }

    fn packet(&mut self, p: &Packet) {
        self.pass(p.time);
        if p.tcp_flags & flag::SYN != 0 {
            self.begin_reverse(p);
        }
        self.trace.packet(p);
        self.ports.packet(p);
        self.failures.packet(p);
        let Some(slot) = self.hosts.slot(p.conn) else { return };
        if let Some(captures) = &mut self.captures {
            captures.packet(p, self.hosts.ends(slot, p.back != 0));
        }
        let (mss, number) = (self.hosts.mss(slot), self.hosts.number(slot));
        let c = &mut self.hosts.connections[slot];
        if self.experiment.observe.packets && p.what == what::DELIVERED && c.datagram.is_none() {
            self.packets.push(self.trace.row(p, number));
        }
        if p.back != 0 {
            return;
        }
        let leaves_host = c.routes.forth.first().is_some_and(|first| first.get() == p.port);
        // Into a dead link, too, a host has sent.
        let into_dead = p.what == what::DROPPED && p.reason == reason::DEAD;
        match p.what {
            what::DROPPED if leaves_host && into_dead && c.datagram.is_some() => c.messages.oldest_stats().segs_sent += 1,
            what::DROPPED if leaves_host && into_dead => c.sender.sent(p, mss, &mut c.messages),
            what::ARRIVED | what::MARKED if leaves_host && c.datagram.is_some() => c.messages.oldest_stats().segs_sent += 1,
            what::ARRIVED | what::MARKED if leaves_host => c.sender.sent(p, mss, &mut c.messages),
            what::DELIVERED if c.datagram.is_some() => c.datagrams_in.0 += u64::from(p.payload),
            what::DELIVERED if p.payload > 0 && p.tcp_flags & flag::SYN == 0 => {
                let begin = c.sender.offset(p.seq);
                c.received.add(begin, begin + u64::from(p.payload));
            }
            _ => {}
        }
    }

    /// Notes the first number of a SYN or SYN-ACK for the other direction of its TCP connection, if data flows in both.
    fn begin_reverse(&mut self, p: &Packet) {
        let Some(other) = self.hosts.slot(p.conn).and_then(|slot| self.hosts.connections[slot].reverse) else { return };
        let c = &mut self.hosts.connections[other];
        if p.back != 0 {
            c.sender.begin(p.seq);
        }
        if let Some(guest) = c.guest {
            self.trace.begin(guest, p.back == 0, p.seq);
        }
    }

    fn tcp(&mut self, t: &Tcp) {
        self.pass(t.time);
        let Some(slot) = self.hosts.slot(t.conn) else { return };
        let number = self.hosts.number(slot);
        let c = &mut self.hosts.connections[slot];
        c.sender.acked(t, &mut c.messages);
        let series = self.experiment.observe.tcp_series.iter().find(|s| s.0 == number);
        if let Some(&(_, every)) = series.filter(|_| t.time >= c.next_sample) {
            if every > Time::ZERO {
                c.next_sample = t.time - t.time % every.0 + every.0;
            }
            self.samples.push(sender::row(t, number));
        }
    }

    fn timer(&mut self, t: &Timer) {
        self.pass(t.time);
        self.trace.timer(t);
        let Some(slot) = self.hosts.slot(t.conn) else { return };
        let (mss, number) = (self.hosts.mss(slot), self.hosts.number(slot));
        let c = &mut self.hosts.connections[slot];
        let Some(kind) = c.sender.timer(t, mss, &mut c.messages) else { return };
        if self.experiment.observe.timeouts {
            self.timeouts.push(TimeoutRow {
                time_ps: t.time,
                conn_id: number,
                // Numbered with the messages, at the end.
                flow_id: None,
                workload: WorkloadId::new(c.spec.app.get()),
                group: c.spec.group,
                src: c.spec.src,
                dst: c.spec.dst,
                kind,
                rto_ps: u64::from(t.rto_us) * crate::message::US,
                backoff: t.backoff,
            });
        }
    }

    fn event(&mut self, e: &Event) -> Result<(), Failed> {
        self.pass(e.time);
        let Some(slot) = self.hosts.slot(e.conn) else { return Ok(()) };
        match e.kind {
            event::DELIVERED => self.delivered(slot, e.bytes),
            event::ACKED if self.hosts.connections[slot].stopped => self.stopped(slot),
            event::ACKED => self.acked(slot, e.bytes),
            event::SENDER_CLOSED => self.hosts.release_name(slot),
            event::CLOSED => self.hosts.close(slot),
            event::ESTABLISHED => self.hosts.connections[slot].established = true,
            event::FAILED => {
                let c = &self.hosts.connections[slot];
                let name = |n| self.experiment.network.nodes[n].name.as_str();
                let (src, dst) = (name(c.spec.src), name(c.spec.dst));
                let why = io::Error::from_raw_os_error(e.bytes as i32);
                return Err(Failed::Guest(format!("connection {slot} from `{src}` to `{dst}` broke: {why}")));
            }
            // Wakes are handled with the next request of the guest, and datagrams are counted as packets.
            event::WAKE | event::DATAGRAM_IN => {}
            kind => return Err(Failed::Guest(format!("the guest sent an event of the unknown kind {kind}"))),
        }
        self.notify();
        Ok(())
    }

    /// The receiver has read so many bytes of a connection.
    fn delivered(&mut self, slot: ConnSlot, bytes: u64) {
        let now = self.hosts.now;
        let c = &mut self.hosts.connections[slot];
        let (app, tag) = (c.spec.app, c.spec.tag);
        for query in c.messages.deliver(bytes, now) {
            self.hosts.notices.push((app, Notice::Delivered { tag, query }));
        }
    }

    /// Handles the acknowledgment of the first `bytes` bytes.
    fn acked(&mut self, slot: ConnSlot, bytes: u64) {
        // Acknowledged data has been read at the same instant at the latest; the read event may follow.
        self.delivered(slot, bytes);
        let (now, number) = (self.hosts.now, self.hosts.number(slot));
        loop {
            let c = &mut self.hosts.connections[slot];
            let cwnd = c.sender.cwnd();
            let Some(message) = c.messages.acknowledge(bytes, cwnd) else { return };
            let (app, tag) = (c.spec.app, c.spec.tag);
            self.flows.push(c.row(&message, Some(now), number, self.experiment, self.measuring));
            self.hosts.unfinished -= 1;
            self.hosts.done += 1;
            self.hosts.notices.push((app, Notice::Acked { tag, conn: slot }));
        }
    }

    /// All data of an application that wrote without end and stopped is acknowledged.
    fn stopped(&mut self, slot: ConnSlot) {
        let number = self.hosts.number(slot);
        let c = &mut self.hosts.connections[slot];
        if let Some(message) = c.messages.take_first() {
            self.flows.push(c.row(&message, Some(self.hosts.now), number, self.experiment, self.measuring));
            self.hosts.unfinished -= 1;
        }
    }

    /// Notifies applications; their reactions may raise further notices.
    fn notify(&mut self) {
        let mut next = 0;
        while let Some(&(app, notice)) = self.hosts.notices.get(next) {
            next += 1;
            let now = self.hosts.now;
            self.apps[app].on_notice(&mut self.hosts, now, notice);
        }
        self.hosts.notices.clear();
    }

    /// Answers a request of the guest: handles due events, and sends the time of the next request.
    fn answer(&mut self, now: Time) {
        self.pass(now.0);
        self.link_changes.advance(now, &mut self.hosts.frames);
        if let Some(change) = self.failures.advance(now, &mut self.hosts.frames) {
            self.hosts.reroute(&change, &mut self.failures);
        }
        loop {
            let arrival = self.apps.iter().filter_map(App::next_arrival).min();
            if arrival.is_some_and(|t| t <= now) {
                for app in self.apps.iter_mut() {
                    app.inject(&mut self.hosts, now.saturating_add(Time(1)));
                }
            }
            match self.hosts.take_due(now) {
                Some((time, Due::Open(slot))) => self.hosts.open_now(slot, time),
                Some((time, Due::App(app, tag))) => {
                    self.apps[app].on_wake(&mut self.hosts, time, tag);
                    self.notify();
                }
                None => break,
            }
        }
        // Applications that stop before the connection is open have written nothing, and the guest reports nothing about them.
        for slot in std::mem::take(&mut self.hosts.stopped_early) {
            self.stopped(slot);
        }
        let over = self.experiment.duration.map_or_else(|| self.finished(), |d| now >= d);
        let arrival = self.apps.iter().filter_map(App::next_arrival).min();
        let links = self.failures.next().into_iter().chain(self.link_changes.next());
        let next = self.hosts.next_due().into_iter().chain(arrival).chain(links).chain(self.experiment.duration).min();
        let wake = if over { NEVER } else { next.map_or(NEVER, |t| t.0) };
        self.hosts.frames.put(protocol::Next { wake, quit: u32::from(over), pad: 0 });
    }

    /// Returns true if nothing is left to do.
    fn finished(&self) -> bool {
        self.hosts.unfinished == 0 && self.apps.iter().all(App::finished)
    }

    /// The rows, numbered and in order.
    fn report(mut self) -> Report {
        let end = self.experiment.duration.filter(|_| !self.cut).unwrap_or(self.hosts.now);
        if self.experiment.duration.is_some() {
            // A warm-up ends before, even if no packet has moved since.
            self.pass(end.0);
        }
        for (id, c) in self.hosts.connections.enumerate_mut() {
            while let Some(message) = c.messages.take_first() {
                self.flows.push(c.row(&message, None, u64::from(id.get()), self.experiment, self.measuring));
            }
        }
        let delivered = self.delivered_over_time();
        let deliveries =
            std::mem::take(&mut self.deliveries).rows(end, &delivered, &|port| self.experiment.network.ports[port].rate);
        let acked = self.arrived().iter().zip(&self.arrived_before).map(|(now, before)| now - before).collect();
        let (mut flows, timeouts, mut samples) = (self.flows, Series::from(self.timeouts), self.samples);
        number_by_start(&mut flows);
        if !self.measuring {
            // A run that ends before its warm-up is measured as a whole.
            flows.iter_mut().for_each(|flow| flow.bytes_measured = flow.bytes_acked);
        }
        let queries = query_rows(std::mem::take(&mut self.hosts.queries), &mut flows);
        let timeouts = attribute(&timeouts, &flows);
        samples.sort();
        self.packets.sort();
        let packet_hops = self.ports.hops();
        let mut events = self.ports.events(&self.experiment.network, self.measured_from);
        events.extend(self.failures.rows(end));
        events.extend(self.link_changes.rows(end));
        events.sort_by_key(|r| (r.time_ps, r.kind, r.port));
        let (ports, queue) =
            self.ports.rows(end, end.saturating_sub(self.measured_from).max(Time(1)), &self.experiment.network.faults);
        Report {
            flows,
            ports,
            queue,
            tcp: samples,
            queries,
            timeouts,
            deliveries,
            measured_from: self.measured_from,
            acked,
            end,
            cut: self.cut,
            packet_hops,
            fingerprint: self.trace.fingerprint(),
            peak_connections: self.hosts.peak(),
            packets: self.packets,
            captured: self.captures.map(Captures::rows).unwrap_or_default(),
            events,
            undelivered: Undelivered::default(),
            remark: String::new(),
            predicted: None,
        }
    }
}
