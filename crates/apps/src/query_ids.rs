//! Numbers of queries, unique among all workloads of a run.
//!
//! Every incast, client and aggregator numbers its queries with a source of its own. Numbers depend only on the order in which sources are created
//! and on the number of queries of each, not on the order of execution.

use forebay_types::QueryId;

/// Creates the sources of a run.
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
    /// Number of the query that begins now. Numbers of a source increase, and are larger than all of a source created earlier.
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
    fn numbers_are_unique() {
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
