//! The rows, one file a group.

mod bbr;
mod coexistence;
mod data_center;
mod l4s;
mod paths;
mod queues;
mod single_flow;
mod tcpeval;

use crate::referee::row::Row;

/// The rows, in the order of the report; those of the Common TCP Evaluation Suite on request.
pub(crate) fn all(tcpeval: bool) -> impl Iterator<Item = &'static Row> {
    let suite = if tcpeval { tcpeval::ROWS } else { &[] };
    [single_flow::ROWS, coexistence::ROWS, queues::ROWS, paths::ROWS, data_center::ROWS, l4s::ROWS, bbr::ROWS, suite]
        .into_iter()
        .flatten()
}
