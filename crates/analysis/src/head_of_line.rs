//! Head-of-line blocking: the cause of delay of earlier messages on a connection. If several messages are queued, the first waits for a timer, and
//! all others for the first.

use crate::data::Data;
use crate::row_context::{NameIndex, RowContext};
use forebay_experiment::waits::Cause;
use forebay_store::RunDir;
use forebay_store::rows::Rows;
use std::collections::{BTreeMap, BTreeSet};

/// A cause of delay and the index of its port.
pub(crate) type DelayCause = (Cause, Option<u32>);

/// Messages and queries that waited for earlier messages.
#[derive(Default)]
pub(crate) struct BlockedMessages {
    /// Index of a message, and its number in its run.
    pub(crate) flows: Vec<(usize, i64)>,
    /// Index of a query, and the number of its slowest message.
    pub(crate) queries: Vec<(usize, i64)>,
    /// Runs and connections of these messages.
    pub(crate) conns: BTreeSet<(usize, i64)>,
}

/// An earlier, delayed message of a connection.
struct Earlier {
    end_ns: i64,
    delay_ns: i64,
    held: DelayCause,
}

impl BlockedMessages {
    /// Sets the cause of delay of the most delayed earlier message for each of them. The table is read again for their connections only.
    pub(crate) fn note(
        self,
        data: &mut Data,
        dir: &RunDir,
        finder: &NameIndex,
        places: &BTreeMap<String, u32>,
    ) -> Result<(), forebay_store::StoreError> {
        if self.conns.is_empty() {
            return Ok(());
        }
        const COLUMNS: [&str; 9] =
            ["variant", "run", "flow_id", "conn_id", "start_ns", "fct_ns", "delay_cause", "delay_ns", "delay_port"];
        let mut earlier: BTreeMap<(usize, i64), Vec<Earlier>> = BTreeMap::new();
        let mut roots: BTreeMap<(usize, i64), DelayCause> = BTreeMap::new();
        dir.each("flows", &COLUMNS, &mut |batch| {
            let rows = Rows::new(batch);
            let [id, conn, start, fct, delay_ns] = ["flow_id", "conn_id", "start_ns", "fct_ns", "delay_ns"].map(|c| rows.int(c));
            let waited = rows.text("delay_cause", Cause::of);
            let delay_port = rows.text("delay_port", |name| places.get(name).copied());
            let mut place = RowContext::of(&rows, finder);
            for row in 0..rows.len() {
                let Some(key) = place.run(row).zip(conn.get(row)).filter(|key| self.conns.contains(key)) else { continue };
                let (start, of) = (start.get(row).unwrap_or(0), earlier.entry(key).or_default());
                // The messages of a connection are ordered by the time of the write.
                of.retain(|e| e.end_ns > start);
                match waited.get(row).copied().flatten() {
                    Some(Cause::HeadOfLine) => {
                        if let Some((id, e)) = id.get(row).zip(of.iter().max_by_key(|e| e.delay_ns)) {
                            roots.insert((key.0, id), e.held);
                        }
                    }
                    Some(cause) => of.push(Earlier {
                        end_ns: fct.get(row).map_or(i64::MAX, |took| start + took),
                        delay_ns: delay_ns.get(row).unwrap_or(0),
                        held: (cause, delay_port.get(row).copied().flatten()),
                    }),
                    None => {}
                }
            }
        })?;
        for (index, id) in self.flows {
            data.flows[index].blocked_by = roots.get(&(data.flows[index].run, id)).copied();
        }
        for (index, id) in self.queries {
            data.queries[index].blocked_by = roots.get(&(data.queries[index].run, id)).copied();
        }
        Ok(())
    }
}
