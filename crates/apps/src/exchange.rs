//! Connections between a client and a server that answers its requests, for `incast` and `queries`.
//!
//! A [`ConnSlot`] carries data in one direction, and ACKs in the other. So requests and answers have one each, as in the workload `requests`, with the
//! transport of the answers. With `two-way` they are the two directions of one TCP connection ([`OpenSpec::reverse_of`]), which the client opens.
//!
//! Out of band, a request is an event instead: it arrives after a fixed latency and is never lost, as in the incast literature.

use crate::{Host, InitialData, Job, OpenSpec};
use forebay_experiment::traffic::Request;
use forebay_types::{AppId, ConnSlot, GroupId, NodeId, QueryId, Rng, Time};

/// Bit of a connection's tag for the direction from client to server.
pub(crate) const REQUESTS: u64 = 1 << 63;

/// A client and a server with their connections.
#[derive(Debug)]
pub(crate) struct Exchange {
    client: NodeId,
    server: NodeId,
    group: GroupId,
    /// Connection from server to client.
    answers: ConnSlot,
    requests: Requests,
}

/// Path of requests.
#[derive(Debug)]
enum Requests {
    /// Events with this latency.
    Events(Time),
    /// Messages of this many bytes, on this connection. The server draws its processing times from its own stream.
    Messages { conn: ConnSlot, bytes: u64, server_rng: Box<Rng> },
}

impl Exchange {
    /// Opens the connection of the answers, with tag `tag`.
    pub(crate) fn open(
        host: &mut impl Host,
        app: AppId,
        (client, server, group): (NodeId, NodeId, GroupId),
        request: Request,
        tag: u64,
    ) -> Exchange {
        let spec =
            OpenSpec { src: server, dst: client, group, app, tag, first: InitialData::Nothing, reverse_of: None, window: None };
        let answers = host.open(Time::ZERO, spec);
        let latency = match request {
            // Replaced by `open_requests`.
            Request::Packets { .. } => Time::ZERO,
            Request::OutOfBand(latency) => latency.unwrap_or_else(|| host.request_latency(client, server, group)),
        };
        Exchange { client, server, group, answers, requests: Requests::Events(latency) }
    }

    /// Opens the connection of requests of `bytes` bytes, with tag `tag` and [`REQUESTS`]. It comes after those of all answers, so that the numbers
    /// of these, and with them their paths, are the same in both forms.
    pub(crate) fn open_requests(
        &mut self,
        host: &mut impl Host,
        app: AppId,
        (bytes, two_way): (u64, bool),
        tag: u64,
        server_rng: Rng,
    ) {
        let tag = tag | REQUESTS;
        let reverse_of = two_way.then_some(self.answers);
        let (src, dst, group) = (self.client, self.server, self.group);
        let spec = OpenSpec { src, dst, group, app, tag, first: InitialData::Nothing, reverse_of, window: None };
        let conn = host.open(Time::ZERO, spec);
        self.requests = Requests::Messages { conn, bytes, server_rng: Box::new(server_rng) };
    }

    /// The host that answers.
    pub(crate) fn server(&self) -> NodeId {
        self.server
    }

    /// Connection of the answers.
    pub(crate) fn answers(&self) -> ConnSlot {
        self.answers
    }

    /// Sends the request of `query` as a message at `now`. Out of band, returns the latency of the event that the application has to schedule.
    pub(crate) fn send_request(&self, host: &mut impl Host, now: Time, query: QueryId) -> Option<Time> {
        match &self.requests {
            Requests::Events(latency) => Some(*latency),
            Requests::Messages { conn, bytes, .. } => {
                host.write(*conn, now, Job { query: Some(query), ..Job::of(*bytes) });
                None
            }
        }
    }

    /// Random numbers of the server; `None` out of band, where the client draws everything.
    pub(crate) fn server_rng(&mut self) -> Option<&mut Rng> {
        match &mut self.requests {
            Requests::Events(_) => None,
            Requests::Messages { server_rng, .. } => Some(server_rng),
        }
    }
}

/// Processing time of a request: uniform in 0..=`jitter`.
pub(crate) fn processing(jitter: Time, rng: &mut Rng) -> Time {
    Time(if jitter > Time::ZERO { rng.below(jitter.0 + 1) } else { 0 })
}
