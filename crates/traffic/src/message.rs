//! What an application hands to its host, and what the host reports back.

use forebay_units::{AppId, ConnSlot, GroupId, NodeId, QueryId, Time};

/// Something that happened on a connection. `tag` is the one that the application gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The receiver has a message completely.
    Delivered {
        /// The connection.
        tag: u64,
        /// Barrier round or request that the message belongs to.
        query: Option<QueryId>,
    },
    /// The sender knows that a message was delivered.
    Acked {
        /// The connection.
        tag: u64,
    },
}

/// Where the next connection goes to and what carries it.
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
    /// The application's own name for it, which comes back in notices.
    pub tag: u64,
    /// What is written when it opens.
    pub first: InitialData,
}

/// What an application hands over at once: one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Payload; `None`: data without end.
    pub bytes: Option<u64>,
    /// Barrier round or request it belongs to.
    pub query: Option<QueryId>,
    /// When it should have arrived; [`Time::NEVER`] for no deadline.
    pub deadline: Time,
}

impl Job {
    /// A message that belongs to nothing and has no deadline.
    pub fn of(bytes: u64) -> Job {
        Job { bytes: Some(bytes), query: None, deadline: Time::NEVER }
    }

    /// Data without end.
    pub const ENDLESS: Job = Job { bytes: None, query: None, deadline: Time::NEVER };
}

/// A barrier round or a request that an application has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryStart {
    /// The number its messages carry.
    pub query: QueryId,
    /// When it began.
    pub start: Time,
    /// Application.
    pub app: AppId,
    /// Messages that belong to it.
    pub parts: u32,
}

/// A timer of an application on its way to another process, with what the application would look up when it comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteTimer {
    /// What the application is reminded of.
    pub tag: u64,
    /// The message that it is to write then, and where.
    pub job: Option<(ConnSlot, Job)>,
}

/// What a connection's application writes when it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InitialData {
    /// Nothing yet.
    #[default]
    Nothing,
    /// One message; the connection closes behind it.
    Only(Job),
    /// Data without end.
    Endless,
}
