//! The rows, one file a group.

mod alone;
mod bbr;
mod beside;
mod data_center;
mod paths;
mod queues;
mod scalable;
mod tcpeval;

use crate::row::Row;

/// The rows, in the order of the report; those of the Common TCP Evaluation Suite on request.
pub(crate) fn all(tcpeval: bool) -> impl Iterator<Item = &'static Row> {
    let suite = if tcpeval { tcpeval::ROWS } else { &[] };
    [alone::ROWS, beside::ROWS, queues::ROWS, paths::ROWS, data_center::ROWS, scalable::ROWS, bbr::ROWS, suite]
        .into_iter()
        .flatten()
}
