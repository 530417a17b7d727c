//! Infeasible deadlines, which are shorter than the time of the link.

use crate::comparison::link_time;
use crate::data::Data;
use crate::dimension::Dimension;
use crate::format::{bold, quantity};

/// A sentence about the first workload whose queries need more time on the link into their receiver than the longest deadline.
pub(crate) fn infeasible(data: &Data) -> Option<String> {
    data.deadlines.iter().find_map(|d| {
        let (needs, has) = (link_time(data, d.subject, Some(d.class))?, d.longest_ns as f64 * 1e-9);
        let of_queries = data.queries.iter().any(|q| q.class == Some(d.class));
        (of_queries && needs > has).then(|| {
            let (needs, has) = (quantity(needs, Dimension::Seconds), quantity(has, Dimension::Seconds));
            let name = data.class(Some(d.class)).unwrap_or("?");
            format!(
                "No transport can meet the deadlines of {}: they are {has}, and the link needs {} for all responses to a query.",
                bold(name),
                bold(&needs)
            )
        })
    })
}
