//! Decisions during a run about its end, from the messages so far.

use crate::rows::{FlowRow, QueryRow};
use forebay_types::{GroupId, IndexVec, PortId, QueryId, Time, TimeOrNever, WorkloadId};
use std::collections::BTreeMap;

/// Kind of a [`WorkItem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// A finite message outside queries.
    Message,
    /// A message of a query.
    QueryMessage,
    /// A query.
    Query,
    /// An interval in which messages of all kinds, also endless ones, delivered payload.
    Interval,
    /// An interval with the integral of the queue of a port.
    Queue(PortId),
    /// An interval with the bytes that a port sent.
    Sent(PortId),
}

/// A finite message, a query, or an interval of the run, complete or still running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkItem {
    /// Kind.
    pub kind: ItemKind,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Index of the transport group; of a query, the lowest of its messages.
    pub group: GroupId,
    /// Payload bytes, those that arrived in an interval; 0 for a query. Wire bytes that a port sent; of a queue, packets times picoseconds.
    pub size_bytes: u64,
    /// Start.
    pub start: Time,
    /// Time of the last byte, if complete; end of an interval.
    pub end: TimeOrNever,
    /// Time of the same bytes on an unloaded path; zero for a query or an interval.
    pub ideal: Time,
    /// True for a message whose connection was opened for it.
    pub opens: bool,
    /// Retransmission timeouts so far, those of the handshake too; of a query those of all its messages.
    pub timeouts: u32,
    /// True if segments of the message were lost, as far as the sender has noticed.
    pub lost: bool,
}

/// Payload that has reached receivers, in order or not, by workload and transport.
pub type Delivered = BTreeMap<(WorkloadId, GroupId), u64>;

/// A port since the start of its statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortSnapshot {
    /// Integral of the queue, packets times picoseconds. It includes the packet in service.
    pub queue: u128,
    /// Wire bytes of the packets that were queued.
    pub sent_bytes: u64,
}

/// State of a run at the time of a decision. Each part is computed when it is needed.
#[derive(Clone, Copy)]
pub struct RunSnapshot<'a> {
    /// All messages and queries that began before, in any order.
    pub work: &'a dyn Fn() -> Vec<WorkItem>,
    /// Payload that has arrived.
    pub delivered: &'a dyn Fn() -> Delivered,
    /// These ports.
    pub ports: &'a dyn Fn(&[PortId]) -> Vec<PortSnapshot>,
}

/// Decides at certain simulated times whether a run ends there. A decision depends on its arguments only, so that it is the same with any number of
/// threads.
pub trait Decisions: Send {
    /// Time of the next decision; later than that of the last one.
    fn next(&self) -> TimeOrNever;

    /// Returns true if the run ends at `now`: the time of the decision, rounded up to the end of a window.
    fn ends(&mut self, now: Time, so_far: &RunSnapshot<'_>) -> bool;
}

/// A query that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BegunQuery {
    /// Number that its messages carry.
    pub id: QueryId,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Start.
    pub start: Time,
    /// Number of its messages, requests included.
    pub parts: u32,
}

/// Messages of a query so far.
#[derive(Debug)]
struct QueryProgress {
    /// Number of its messages, when all are written, and so far.
    parts: u32,
    messages: u32,
    item: WorkItem,
}

/// Collects the messages and queries of a run.
#[derive(Debug, Default)]
pub struct WorkList {
    items: Vec<WorkItem>,
    queries: BTreeMap<QueryId, QueryProgress>,
}

impl WorkList {
    /// Starts a list with these queries.
    pub fn new(queries: impl IntoIterator<Item = BegunQuery>) -> WorkList {
        let mut list = WorkList::default();
        for q in queries {
            let item = WorkItem {
                kind: ItemKind::Query,
                workload: q.workload,
                group: GroupId::new(u32::MAX),
                size_bytes: 0,
                start: q.start,
                end: TimeOrNever::at(Time::ZERO),
                ideal: Time::ZERO,
                opens: false,
                timeouts: 0,
                lost: false,
            };
            list.queries.insert(q.id, QueryProgress { parts: q.parts, messages: 0, item });
        }
        list
    }

    /// Adds a finite message and counts it for its query.
    pub fn add(&mut self, message: WorkItem, query: Option<QueryId>) {
        if let Some(q) = query.and_then(|id| self.queries.get_mut(&id)) {
            q.messages += 1;
            q.item.group = q.item.group.min(message.group);
            q.item.end = q.item.end.max(message.end);
            q.item.timeouts += message.timeouts;
            q.item.lost |= message.lost;
        }
        self.items.push(message);
    }

    /// The messages and queries. A query ends with its last message; one of which some messages were never written is incomplete.
    pub fn finish(self) -> Vec<WorkItem> {
        let WorkList { mut items, queries } = self;
        for QueryProgress { parts, messages, mut item } in queries.into_values() {
            if messages < parts {
                item.end = TimeOrNever::NEVER;
            }
            if messages > 0 {
                items.push(item);
            }
        }
        items
    }
}

impl WorkItem {
    /// The message of a row; `None` for an endless flow.
    pub fn of_row(row: &FlowRow) -> Option<WorkItem> {
        (row.size_bytes > 0).then_some(WorkItem {
            kind: if row.query_id.is_some() { ItemKind::QueryMessage } else { ItemKind::Message },
            workload: row.workload,
            group: row.group,
            size_bytes: row.size_bytes,
            start: row.start,
            end: row.end,
            ideal: row.ideal,
            opens: row.opens,
            timeouts: row.rtos + row.syn_rtos,
            lost: row.rtos + row.syn_rtos > 0 || row.segs_retx > 0,
        })
    }

    /// The messages and queries of a finished run.
    pub fn of_report(flows: &[FlowRow], queries: &[QueryRow]) -> Vec<WorkItem> {
        let mut groups: IndexVec<QueryId, Option<GroupId>> = IndexVec::repeat(None, queries.len());
        for f in flows {
            if let Some(group) = f.query_id.and_then(|q| groups.get_mut(q)) {
                *group = Some(group.map_or(f.group, |g| g.min(f.group)));
            }
        }
        let query = |(q, group): (&QueryRow, &Option<GroupId>)| {
            group.map(|group| WorkItem {
                kind: ItemKind::Query,
                workload: q.workload,
                group,
                size_bytes: 0,
                start: q.start,
                end: q.end,
                ideal: Time::ZERO,
                opens: false,
                timeouts: q.rtos + q.syn_rtos,
                lost: q.rtos + q.syn_rtos > 0,
            })
        };
        flows.iter().filter_map(WorkItem::of_row).chain(queries.iter().zip(groups.iter()).filter_map(query)).collect()
    }
}
