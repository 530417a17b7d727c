//! Results of version 0.1 and early 0.2 are still read: columns that were renamed since are found by the names that they have today.
//! `tests/old` was written by the program as it was then.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use forebay_store::RunDir;
use forebay_store::sweep::SweepDir;
use std::path::PathBuf;

fn old(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/old").join(name)
}

/// The names in a column, row by row.
fn texts(batches: &[RecordBatch], column: &str) -> Vec<String> {
    let of = |b: &RecordBatch| -> Vec<String> {
        let array = b.column_by_name(column).unwrap_or_else(|| panic!("no column `{column}`: {:?}", b.schema().fields()));
        let codes = array.as_dictionary::<Int32Type>();
        let names = codes.values().as_string::<i32>();
        codes.keys().iter().map(|k| names.value(k.unwrap() as usize).to_owned()).collect()
    };
    batches.iter().flat_map(of).collect()
}

#[test]
fn the_transport_group_was_called_cc() {
    for (kind, table, groups) in
        [("csv", "flows", vec!["tcp", "tcp"]), ("csv", "summary", vec!["tcp", "dctcp"]), ("parquet", "flows", vec!["tcp", "tcp"])]
    {
        let dir = RunDir::open(&old(kind)).unwrap();
        let whole = dir.table(table).unwrap();
        assert_eq!(texts(&whole, "transport"), groups, "{kind}, {table}");
        assert!(whole[0].column_by_name("cc").is_none(), "{kind}, {table}: one name for one thing");
        let part = dir.columns(table, &["transport", "seed"]).unwrap();
        assert_eq!((texts(&part, "transport"), part[0].num_columns()), (texts(&whole, "transport"), 2), "{kind}, {table}");
    }
    let sweep = SweepDir::open(&old("sweep")).unwrap().table().unwrap();
    assert_eq!(texts(&sweep, "transport"), ["tcp", "dctcp", "tcp", "dctcp"]);
}
