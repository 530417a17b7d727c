//! Measurements of each traffic class in one run, from its tables.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use forebay_scenario::Goal;
use forebay_store::unit::UnitRecord;

/// Tables that a run must keep.
pub(crate) const TABLES: [&str; 2] = ["flows", "queries"];

/// Measurements of one class in one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassNumbers {
    /// Messages or queries that started, without endless flows.
    pub(crate) started: usize,
    /// Completed ones among them.
    pub(crate) completed: usize,
    /// Completion times in seconds, ascending. Unfinished ones count with their time so far.
    times: Vec<f64>,
    /// Payload that reached the receivers after the warm-up, bits per second.
    pub(crate) goodput_bps: f64,
}

impl ClassNumbers {
    /// Value of a goal. `None` if the class has none, such as a completion time of endless flows.
    pub fn value(&self, goal: Goal) -> Option<f64> {
        let n = self.times.len();
        let at = |q: f64| self.times.get(((q * n as f64).ceil() as usize).clamp(1, n.max(1)) - 1).copied();
        match goal {
            Goal::Goodput => Some(self.goodput_bps),
            Goal::Mean if n == 0 => None,
            Goal::Mean => Some(self.times.iter().sum::<f64>() / n as f64),
            Goal::P50 => at(0.5),
            Goal::P99 => at(0.99),
        }
    }

    /// Class whose messages all completed, for tests.
    #[cfg(test)]
    pub(crate) fn finished(times: &[f64], goodput_bps: f64) -> ClassNumbers {
        ClassNumbers { started: times.len(), completed: times.len(), times: times.to_vec(), goodput_bps }
    }

    /// Returns true if the class had work and completed none.
    pub fn starved(&self) -> bool {
        if self.started > 0 { self.completed == 0 } else { self.goodput_bps <= 0.0 }
    }
}

/// Measurements of all classes of a run, in the order of `classes`: of queries if a class has any, else of messages.
pub(crate) fn classes(
    classes: &[String],
    record: &UnitRecord,
    flows: &[RecordBatch],
    queries: &[RecordBatch],
) -> Vec<ClassNumbers> {
    let mut out = vec![ClassNumbers::default(); classes.len()];
    let seconds = record.end_ns.saturating_sub(record.measured_from_ns) as f64 * 1e-9;
    let find = |name: &str| classes.iter().position(|c| c == name);
    let end = i64::try_from(record.end_ns).unwrap_or(i64::MAX);
    let mut bits = vec![0.0; classes.len()];
    let mut asked = vec![false; classes.len()];
    for batch in queries {
        let (names, start, took) = (texts(batch, "class"), ints(batch, "start_ns"), ints(batch, "qct_ns"));
        for row in 0..batch.num_rows() {
            let Some(c) = names.get(row).and_then(|n| find(n)) else { continue };
            asked[c] = true;
            add(&mut out[c], start[row], took[row], end);
        }
    }
    for batch in flows {
        let (names, start, took) = (texts(batch, "class"), ints(batch, "start_ns"), ints(batch, "fct_ns"));
        let (size, bytes) = (ints(batch, "size_bytes"), ints(batch, "bytes_measured"));
        for row in 0..batch.num_rows() {
            let Some(c) = names.get(row).and_then(|n| find(n)) else { continue };
            bits[c] += bytes[row].unwrap_or(0) as f64 * 8.0;
            if !asked[c] && size[row].is_some() {
                add(&mut out[c], start[row], took[row], end);
            }
        }
    }
    for (class, bits) in out.iter_mut().zip(bits) {
        class.times.sort_unstable_by(f64::total_cmp);
        class.goodput_bps = if seconds > 0.0 { bits / seconds } else { 0.0 };
    }
    out
}

/// Counts a message or query with its start and its completion time, if it completed.
fn add(class: &mut ClassNumbers, start: Option<i64>, took: Option<i64>, end: i64) {
    let Some(start) = start else { return };
    class.started += 1;
    class.completed += usize::from(took.is_some());
    class.times.push(took.unwrap_or_else(|| end.saturating_sub(start).max(0)) as f64 * 1e-9);
}

/// Column of names, one text per row.
fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
    let Some(array) = batch.column_by_name(column) else { return Vec::new() };
    if let Some(codes) = array.as_dictionary_opt::<Int32Type>() {
        let names = codes.values().as_string::<i32>();
        return codes.keys().iter().map(|k| k.map_or_else(String::new, |k| names.value(k as usize).to_owned())).collect();
    }
    array.as_string_opt::<i32>().map_or_else(Vec::new, |a| a.iter().map(|t| t.unwrap_or("").to_owned()).collect())
}

fn ints(batch: &RecordBatch, column: &str) -> Vec<Option<i64>> {
    let array = batch.column_by_name(column).and_then(|a| a.as_primitive_opt::<Int64Type>().cloned());
    array.map_or_else(|| vec![None; batch.num_rows()], |a| (0..a.len()).map(|i| (!a.is_null(i)).then(|| a.value(i))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_messages_count_time_so_far() {
        let mut c = ClassNumbers::default();
        for i in 1..=98 {
            add(&mut c, Some(0), Some(i * 1_000_000), 1_000_000_000);
        }
        add(&mut c, Some(400_000_000), None, 1_000_000_000);
        add(&mut c, Some(500_000_000), None, 1_000_000_000);
        c.times.sort_unstable_by(f64::total_cmp);
        assert_eq!((c.started, c.completed, c.starved()), (100, 98, false));
        assert!((c.value(Goal::P99).unwrap() - 0.5).abs() < 1e-12);
        assert!((c.value(Goal::P50).unwrap() - 0.05).abs() < 1e-12);
        let mut none = ClassNumbers::default();
        assert_eq!(none.value(Goal::P99), None);
        add(&mut none, Some(0), None, 1_000_000_000);
        assert!(none.starved() && none.value(Goal::Mean) == Some(1.0));
    }
}
