//! Axes as columns of the sweep's table.

use forebay_scenario::{Axis, Point, Sweep};
use forebay_store::sweep::{AxisRecord, KeyColumn, KeyValues};

/// The columns of all axes, each with the index of its axis. A quantity has two: as written, and as a number.
pub(super) fn columns(sweep: &Sweep) -> Vec<(usize, KeyColumn)> {
    sweep.axes().iter().enumerate().flat_map(|(i, axis)| of_axis(axis).into_iter().map(move |c| (i, c))).collect()
}

fn of_axis(axis: &Axis) -> Vec<KeyColumn> {
    let doc = format!("value of `{}` at the point; null if unset", axis.key);
    let column = |values| KeyColumn { name: axis.key.clone(), unit: String::new(), doc: doc.clone(), values };
    let bools: Option<Vec<bool>> = axis.values.iter().map(|v| v.json.as_bool()).collect();
    let numbers = || axis.values.iter().map(|v| v.number.unwrap_or(f64::NAN)).collect::<Vec<f64>>();
    if axis.is_int() {
        return vec![column(KeyValues::Int(axis.values.iter().map(|v| v.json.as_i64().unwrap_or(0)).collect()))];
    }
    if let Some(values) = bools {
        return vec![column(KeyValues::Bool(values))];
    }
    if axis.is_number() && axis.unit.is_empty() {
        return vec![column(KeyValues::Float(numbers()))];
    }
    let mut out = vec![column(KeyValues::Text(axis.values.iter().map(|v| v.text.clone()).collect()))];
    out.extend(number_column(axis).map(|name| KeyColumn {
        name,
        unit: symbol(axis.unit).to_owned(),
        doc: format!("the value as a number; null where `{}` is unset", axis.key),
        values: KeyValues::Float(numbers()),
    }));
    out
}

/// Name of the column with the numbers of a quantity.
fn number_column(axis: &Axis) -> Option<String> {
    (!axis.unit.is_empty()).then(|| format!("{}_{}", axis.key, axis.unit))
}

fn symbol(unit: &str) -> &str {
    match unit {
        "bps" => "bit/s",
        "bytes" => "B",
        "pkts" => "packets",
        other => other,
    }
}

/// The axes for the manifest.
pub(super) fn records(sweep: &Sweep) -> Vec<AxisRecord> {
    let record = |axis: &Axis| AxisRecord {
        key: axis.key.clone(),
        short: axis.short.clone(),
        source: axis.source.name().to_owned(),
        values: axis.values.iter().map(|v| v.json.clone()).collect(),
        texts: axis.values.iter().map(|v| v.text.clone()).collect(),
        numbers: axis.values.iter().map(|v| v.number).collect(),
        number_column: number_column(axis),
    };
    sweep.axes().iter().map(record).collect()
}

/// Index of the value at a point, for each column.
pub(super) fn picks(columns: &[(usize, KeyColumn)], point: &Point) -> Vec<Option<usize>> {
    columns.iter().map(|(axis, _)| point.values.get(*axis).copied().flatten()).collect()
}
