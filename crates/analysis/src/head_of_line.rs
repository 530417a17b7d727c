//! What held up the message before, where one waited for that: of a connection with several messages the first waits for a timer, and
//! all others for the first.

use crate::data::Data;
use crate::row_context::{NameIndex, RowContext};
use forebay_experiment::waits::Cause;
use forebay_store::RunDir;
use forebay_store::rows::Rows;
use std::collections::{BTreeMap, BTreeSet};

/// A cause and the index of the port at which it was waited for.
pub(crate) type DelayCause = (Cause, Option<u32>);

/// Messages and queries that waited for earlier messages, and where those are.
#[derive(Default)]
pub(crate) struct BlockedMessages {
    /// Index of a message, and its number in its run.
    pub(crate) flows: Vec<(usize, i64)>,
    /// Index of a query, and the number of its slowest message.
    pub(crate) queries: Vec<(usize, i64)>,
    /// Runs and connections of those messages.
    pub(crate) conns: BTreeSet<(usize, i64)>,
}

/// An earlier message of a connection that had something to wait for.
struct Earlier {
    end_ns: i64,
    delay_ns: i64,
    held: DelayCause,
}

impl BlockedMessages {
    /// Notes of each what the message before it that was held up longest waited for. The table is read again, for their connections alone.
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
                // Messages of a connection come in the order in which they were written.
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
