//! Columns that had another name in earlier versions: read under the name that they have now.

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use std::sync::Arc;

/// Earlier names and those of today. Version 1 of the tables `flows`, `timeouts` and `summary` called the transport group `cc`, as if it
/// were the congestion control.
const RENAMED: [(&str, &str); 1] = [("cc", "transport")];

/// What a column of a file is called today.
pub(crate) fn today(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// All names under which a file may have a column.
pub(crate) fn of(name: &str) -> impl Iterator<Item = &str> {
    let old = move |(old, new): &(&'static str, &str)| (*new == name).then_some(*old);
    std::iter::once(name).chain(RENAMED.iter().filter_map(old))
}

/// The same rows with the column names of today. A file that has a column of today's name keeps the others as they are.
pub(crate) fn renamed(batch: RecordBatch) -> RecordBatch {
    let schema = batch.schema();
    let is_old = |f: &Field| today(f.name()) != f.name() && schema.index_of(today(f.name())).is_err();
    if !schema.fields().iter().any(|f| is_old(f)) {
        return batch;
    }
    let rename = |f: &Arc<Field>| if is_old(f) { Arc::new(f.as_ref().clone().with_name(today(f.name()))) } else { f.clone() };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(rename).collect();
    let now = Arc::new(Schema::new(fields).with_metadata(schema.metadata().clone()));
    // Only names differ: the arrays fit.
    RecordBatch::try_new(now, batch.columns().to_vec()).unwrap_or(batch)
}
