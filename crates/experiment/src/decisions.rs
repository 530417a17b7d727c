//! Decisions during a run about its end, from the messages so far.

use crate::rows::{FlowRow, QueryRow};
use forebay_types::{GroupId, IndexVec, QueryId, Time, TimeOrNever, WorkloadId};
use std::collections::BTreeMap;

/// A finite message or a query, complete or still running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkItem {
    /// True for a query, false for a message.
    pub query: bool,
    /// True for a message that belongs to a query.
    pub in_query: bool,
    /// Index of the workload.
    pub workload: WorkloadId,
    /// Index of the transport group; of a query, the lowest of its messages.
    pub group: GroupId,
    /// Payload bytes; 0 for a query.
    pub size_bytes: u64,
    /// Start.
    pub start: Time,
    /// Time of the last byte, if complete.
    pub end: TimeOrNever,
    /// Time of the same bytes on an unloaded path; zero for a query.
    pub ideal: Time,
}

/// Decides at certain simulated times whether a run ends there. A decision depends on its arguments only, so that it is the same with any number of
/// threads.
pub trait Decisions: Send {
    /// Time of the next decision; later than that of the last one.
    fn next(&self) -> TimeOrNever;

    /// Returns true if the run ends at `now`: the time of the decision, rounded up to the end of a window. `work` has all messages and queries
    /// that began before `now`, in any order.
    fn ends(&mut self, now: Time, work: Vec<WorkItem>) -> bool;
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
                query: true,
                in_query: false,
                workload: q.workload,
                group: GroupId::new(u32::MAX),
                size_bytes: 0,
                start: q.start,
                end: TimeOrNever::at(Time::ZERO),
                ideal: Time::ZERO,
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
            query: false,
            in_query: row.query_id.is_some(),
            workload: row.workload,
            group: row.group,
            size_bytes: row.size_bytes,
            start: row.start,
            end: row.end,
            ideal: row.ideal,
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
                query: true,
                in_query: false,
                workload: q.workload,
                group,
                size_bytes: 0,
                start: q.start,
                end: q.end,
                ideal: Time::ZERO,
            })
        };
        flows.iter().filter_map(WorkItem::of_row).chain(queries.iter().zip(groups.iter()).filter_map(query)).collect()
    }
}
