//! Messages, connections and timers of applications, and the notices of their host.

use forebay_types::{AppId, ConnSlot, GroupId, NodeId, QueryId, Time};

/// An event on a connection. `tag` is that of its [`OpenSpec`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The receiver has the complete message.
    Delivered {
        /// The connection.
        tag: u64,
        /// Barrier round or request that the message belongs to.
        query: Option<QueryId>,
    },
    /// The last byte of a message has been acknowledged.
    Acked {
        /// The connection.
        tag: u64,
        /// Its number, valid until it has ended.
        conn: ConnSlot,
    },
}

/// A connection to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSpec {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Index of the transport.
    pub group: GroupId,
    /// Application that owns it.
    pub app: AppId,
    /// Number that the application has chosen for it, returned in notices.
    pub tag: u64,
    /// Data written when it opens.
    pub first: InitialData,
    /// The connection in the other direction with which it shares one TCP connection: its host opens both, and what it sends acknowledges what it
    /// receives. That one was requested at the same time, with the same transport, and carries only messages that are written later.
    pub reverse_of: Option<ConnSlot>,
    /// First congestion window in bytes of payload, and threshold of slow start, of a connection that carries a flow which began before the run.
    /// `None`: that of the transport.
    pub window: Option<u64>,
}

/// A message to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Payload; `None`: endless data.
    pub bytes: Option<u64>,
    /// Barrier round or request it belongs to.
    pub query: Option<QueryId>,
    /// Deadline of its delivery; [`Time::NEVER`] for none.
    pub deadline: Time,
}

impl Job {
    /// A message without query and deadline.
    pub fn of(bytes: u64) -> Job {
        Job { bytes: Some(bytes), query: None, deadline: Time::NEVER }
    }

    /// Endless data.
    pub const ENDLESS: Job = Job { bytes: None, query: None, deadline: Time::NEVER };
}

/// A barrier round or a request that an application has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryStart {
    /// Number that its messages carry.
    pub query: QueryId,
    /// Start time.
    pub start: Time,
    /// Application.
    pub app: AppId,
    /// Number of its messages, requests included.
    pub parts: u32,
    /// The host that sends the requests.
    pub client: NodeId,
}

/// A timer of an application that moves to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteTimer {
    /// Argument of the application's call.
    pub tag: u64,
    /// Message to write when it is due, and its connection.
    pub job: Option<(ConnSlot, Job)>,
}

/// Data written when a connection opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InitialData {
    /// None.
    #[default]
    Nothing,
    /// One message, after which the connection closes.
    Only(Job),
    /// One message, after which the connection stays open.
    First(Job),
    /// Endless data.
    Endless,
}
