//! The tables of a run.

/// A table of a run, in writing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunTable {
    /// One row per message.
    Flows,
    /// One row per egress port.
    Ports,
    /// Samples of queues.
    Queue,
    /// Samples of senders.
    Tcp,
    /// One row per barrier round or exchange.
    Queries,
    /// One row per retransmission timeout.
    Timeouts,
    /// Payload delivered over time.
    Goodput,
    /// Link failures, spraying and packet damage.
    Events,
    /// One row per transport and run, reduced from the other tables.
    Summary,
}

impl RunTable {
    /// All tables, in writing order.
    pub const ALL: [RunTable; 9] = [
        RunTable::Flows,
        RunTable::Ports,
        RunTable::Queue,
        RunTable::Tcp,
        RunTable::Queries,
        RunTable::Timeouts,
        RunTable::Goodput,
        RunTable::Events,
        RunTable::Summary,
    ];

    /// Name in the manifest, and stem of the file name.
    pub const fn name(self) -> &'static str {
        match self {
            RunTable::Flows => "flows",
            RunTable::Ports => "ports",
            RunTable::Queue => "queue",
            RunTable::Tcp => "tcp",
            RunTable::Queries => "queries",
            RunTable::Timeouts => "timeouts",
            RunTable::Goodput => "goodput",
            RunTable::Events => "events",
            RunTable::Summary => "summary",
        }
    }

    /// The table called `name`, if there is one.
    pub fn of(name: &str) -> Option<RunTable> {
        RunTable::ALL.into_iter().find(|t| t.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_roundtrip() {
        for (place, table) in RunTable::ALL.into_iter().enumerate() {
            assert_eq!((table as usize, RunTable::of(table.name())), (place, Some(table)));
        }
        assert_eq!([RunTable::of("Flows"), RunTable::of(""), RunTable::of("summaries")], [None; 3]);
    }
}
