//! Implementation of the applications' host ([`forebay_apps::Host`]).

use super::SimState;
use crate::engine::host;
use crate::tcp::datagram::Datagram;
use forebay_apps::{Host, Job, OpenSpec, QueryStart, Wake};
use forebay_types::{ConnSlot, GroupId, NodeId, Time};

impl Host for SimState {
    /// Growing by doubling would leave holes that the allocator keeps.
    fn reserve(&mut self, connections: usize) {
        self.reserve_connections(connections);
    }

    fn open(&mut self, time: Time, spec: OpenSpec) -> ConnSlot {
        self.connect(time, spec)
    }

    fn earliest_open(&self) -> Time {
        self.earliest_request()
    }

    fn open_later(&mut self, time: Time, spec: OpenSpec) {
        self.request_connection(time, spec);
    }

    fn open_datagrams(&mut self, spec: OpenSpec, datagram: Datagram) -> ConnSlot {
        self.source(spec, datagram)
    }

    #[inline]
    fn write(&mut self, conn: ConnSlot, now: Time, job: Job) {
        self.write_message(conn, now, job);
    }

    fn stop(&mut self, conn: ConnSlot, now: Time) {
        self.stop_writing(conn, now);
    }

    #[inline]
    fn send_datagram(&mut self, conn: ConnSlot, now: Time) {
        self.datagram(conn, now);
    }

    #[inline]
    fn wake(&mut self, wake: Wake) {
        let Wake { app, tag, origin, host, time } = wake;
        // The clock is that of the origin: a window must not read other hosts.
        let time = self.hosts[origin].event_time(time);
        self.hosts.set_timer(&mut self.partition, (origin, host), time, host::TimerKind::App { app, tag });
    }

    fn begin_query(&mut self, start: QueryStart) {
        self.recorder.query(start);
    }

    fn request_latency(&self, from: NodeId, to: NodeId, group: GroupId) -> Time {
        self.small_packet_latency(from, to, group)
    }
}
