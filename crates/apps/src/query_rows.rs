//! Result rows of queries.

use crate::QueryStart;
use forebay_experiment::rows::{FlowRow, QueryRow};
use forebay_experiment::waits::LongestWait;
use forebay_types::{NodeId, QueryId, TimeOrNever, WorkloadId};
use std::collections::BTreeMap;

/// Rows of the queries that have begun, from the rows of their messages. Renumbers the queries of both by start, and notes which messages are requests.
///
/// A query ends with its last response. Its delay is that of the longer delayed of two messages: this response and its request. A response that
/// comes late because its request was lost is itself not delayed.
pub fn query_rows(mut starts: Vec<QueryStart>, flows: &mut [FlowRow]) -> Vec<QueryRow> {
    starts.sort_by_key(|s| (s.start, s.query));
    let number: BTreeMap<QueryId, QueryId> = starts.iter().enumerate().map(|(i, s)| (s.query, QueryId::new(i as u64))).collect();
    let row = |(i, s): (usize, &QueryStart)| QueryRow {
        query_id: QueryId::new(i as u64),
        workload: WorkloadId::new(s.app.get()),
        start: s.start,
        end: TimeOrNever::NEVER,
        fan_in: 0,
        bytes: 0,
        rtos: 0,
        senders_with_rto: 0,
        rtos_max: 0,
        syn_rtos: 0,
        slowest: None,
        waited: None,
    };
    let mut rows: Vec<QueryRow> = starts.iter().enumerate().map(row).collect();
    let mut messages = vec![0_u32; rows.len()];
    let mut ends: Vec<Option<End>> = vec![None; rows.len()];
    // Messages of a query start at about the same time, so most belong to the same query as their predecessor.
    let mut last = None;
    for flow in flows.iter_mut() {
        let Some(query) = flow.query_id else { continue };
        let number = match last {
            Some((known, number)) if known == query => number,
            _ => number[&query],
        };
        last = Some((query, number));
        flow.query_id = Some(number);
        let q = &mut rows[number.index()];
        flow.request = flow.src == starts[number.index()].client;
        if q.slowest.is_none() || flow.end > q.end {
            (q.slowest, q.waited, q.end) = (Some(flow.flow_id), flow.waited, flow.end);
            ends[number.index()] = Some(End { src: flow.src, dst: flow.dst });
        }
        messages[number.index()] += 1;
        if !flow.request {
            q.fan_in += 1;
            q.bytes += flow.size_bytes;
        }
        q.rtos += flow.rtos;
        q.senders_with_rto += u32::from(flow.rtos > 0);
        q.rtos_max = q.rtos_max.max(flow.rtos);
        q.syn_rtos += flow.syn_rtos;
    }
    for flow in flows.iter().filter(|f| f.request) {
        let Some(number) = flow.query_id else { continue };
        let (q, end) = (&mut rows[number.index()], ends[number.index()]);
        let asked_for_it = end.is_some_and(|e| (e.dst, e.src) == (flow.src, flow.dst));
        let delay = |w: Option<LongestWait>| w.map_or(0, |w| w.time_ps);
        if asked_for_it && delay(flow.waited) > delay(q.waited) {
            (q.slowest, q.waited) = (Some(flow.flow_id), flow.waited);
        }
    }
    // A query of which some messages were never written is incomplete.
    for ((q, s), messages) in rows.iter_mut().zip(&starts).zip(messages) {
        if messages < s.parts {
            q.end = TimeOrNever::NEVER;
        }
    }
    rows
}

/// Ends of the message that was complete last.
#[derive(Clone, Copy)]
struct End {
    src: NodeId,
    dst: NodeId,
}
