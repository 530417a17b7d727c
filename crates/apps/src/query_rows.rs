//! Result rows of queries.

use crate::QueryStart;
use forebay_experiment::rows::{FlowRow, QueryRow};
use forebay_types::{QueryId, TimeOrNever, WorkloadId};
use std::collections::BTreeMap;

/// Rows of the queries that have begun, from the rows of their messages. Renumbers the queries of both by start.
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
        if q.slowest.is_none() || flow.end > q.end {
            (q.slowest, q.waited, q.end) = (Some(flow.flow_id), flow.waited, flow.end);
        }
        q.fan_in += 1;
        q.bytes += flow.size_bytes;
        q.rtos += flow.rtos;
        q.senders_with_rto += u32::from(flow.rtos > 0);
        q.rtos_max = q.rtos_max.max(flow.rtos);
        q.syn_rtos += flow.syn_rtos;
    }
    // A query of which some messages were never written is incomplete.
    for (q, _) in rows.iter_mut().zip(&starts).filter(|(q, s)| q.fan_in < s.parts) {
        q.end = TimeOrNever::NEVER;
    }
    rows
}
