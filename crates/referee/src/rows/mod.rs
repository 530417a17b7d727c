//! The rows, one file a group.

mod alone;
mod bbr;
mod beside;
mod data_center;
mod paths;
mod queues;
mod scalable;

use crate::row::Row;

/// All rows, in the order of the report.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    [alone::ROWS, beside::ROWS, queues::ROWS, paths::ROWS, data_center::ROWS, scalable::ROWS, bbr::ROWS].into_iter().flatten()
}
