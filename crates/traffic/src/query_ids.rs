//! Numbers of queries, unique among all workloads of a run.
//!
//! Everything that begins queries (an incast, a client, an aggregator) has a source of its own, and so numbers of its own. They depend on
//! nothing but the order in which the sources are made and how many queries each has begun: not on who runs when.

use forebay_units::QueryId;

/// Makes the sources of a run.
#[derive(Debug, Default)]
pub struct QueryIds {
    sources: u32,
}

impl QueryIds {
    /// The next source.
    pub(crate) fn source(&mut self) -> QuerySource {
        let source = self.sources;
        self.sources = source.checked_add(1).expect("fewer than 2^32 sources of queries");
        QuerySource { source, started: 0 }
    }
}

/// Numbers the queries of one client, aggregator or incast.
#[derive(Debug)]
pub(crate) struct QuerySource {
    source: u32,
    started: u32,
}

impl QuerySource {
    /// The number of the query that begins now. Those of one source grow, and all of a source made earlier are smaller.
    pub(crate) fn next(&mut self) -> QueryId {
        let id = QueryId::new(u64::from(self.source) << 32 | u64::from(self.started));
        self.started = self.started.checked_add(1).expect("fewer than 2^32 queries of one source");
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_number_comes_twice_in_whatever_order_the_sources_count() {
        let mut ids = QueryIds::default();
        let mut sources: Vec<QuerySource> = (0..1_000).map(|_| ids.source()).collect();
        let mut seen = BTreeSet::new();
        for round in 0..5 {
            for i in 0..sources.len() {
                let id = sources[(i * 7 + round) % 1_000].next();
                assert!(seen.insert(id), "{id} twice");
            }
        }
    }
}
