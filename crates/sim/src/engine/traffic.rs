//! What applications and connections say to each other.

use forebay_units::{AppId, ConnSlot, GroupId, NodeId, QueryId};

/// Something an application may want to know.
#[derive(Debug, Clone, Copy)]
pub(super) enum Notice {
    /// The receiver has a message completely.
    Delivered {
        /// Connection slot.
        conn: ConnSlot,
        /// Barrier round or request that the message belongs to.
        query: Option<QueryId>,
    },
    /// The sender knows that a message was delivered.
    Acked {
        /// Connection slot.
        conn: ConnSlot,
    },
}

/// Where the next connection goes to and what carries it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenSpec {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Index of the transport.
    pub group: GroupId,
    /// Application that owns it.
    pub app: AppId,
    /// The application's own name for it.
    pub tag: u64,
    /// What is written when it opens.
    pub first: First,
}

/// What an application hands over at once: one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Job {
    /// Payload; `None`: data without end.
    pub bytes: Option<u64>,
    /// Barrier round or request it belongs to.
    pub query: Option<QueryId>,
    /// When it should have arrived, ps since the start of the run; `u64::MAX` for no deadline.
    pub deadline: u64,
}

impl Job {
    /// A message that belongs to nothing and has no deadline.
    pub(crate) fn of(bytes: u64) -> Job {
        Job { bytes: Some(bytes), query: None, deadline: u64::MAX }
    }

    /// Data without end.
    pub(crate) const ENDLESS: Job = Job { bytes: None, query: None, deadline: u64::MAX };
}

/// A barrier round or a request that an application has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueryStart {
    /// The number its messages carry.
    pub query: QueryId,
    /// When it began, ps.
    pub start: u64,
    /// Application.
    pub app: AppId,
    /// Messages that belong to it.
    pub parts: u32,
}

/// What a connection's application writes when it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum First {
    /// Nothing yet.
    #[default]
    Nothing,
    /// One message; the connection closes behind it.
    Only(Job),
    /// Data without end.
    Endless,
}
