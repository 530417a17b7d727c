//! From the directory of a sweep to what its page is made from.

use super::data::metrics;
use super::sweep::{Point, Sweep, SweptAxis, Value};
use crate::page::Unit;
use forebay_store::StoreError;
use forebay_store::columns::Rows;
use forebay_store::sweep::{AxisRecord, SweepDir};

/// Reads the numbers of a finished sweep.
///
/// # Errors
/// A sweep that is not finished, and files that are missing or damaged.
pub fn read(dir: &SweepDir) -> Result<Sweep, StoreError> {
    let manifest = dir.manifest()?;
    let mut axes: Vec<&AxisRecord> = manifest.axes.iter().collect();
    // Curves are drawn against numbers where there are some: against the axis that has most of them.
    let numbers = |a: &AxisRecord| if a.numbers.is_some() { a.values.len() } else { 0 };
    if let Some(first) = (0..axes.len()).rev().max_by_key(|&i| numbers(axes[i])) {
        let axis = axes.remove(first);
        axes.insert(0, axis);
    }
    let mut sweep = Sweep {
        title: manifest.name.clone(),
        axes: axes.iter().map(|a| SweptAxis { key: a.key.clone(), short: a.short.clone(), unit: unit(a) }).collect(),
        points: Vec::new(),
    };
    for batch in &dir.table()? {
        let rows = Rows::new(batch);
        let [variant, group] = ["variant", "cc"].map(|c| rows.text(c, str::to_owned));
        let columns: Vec<_> = metrics().map(|m| (m.name, rows.float(m.name))).collect();
        let at: Vec<_> = axes.iter().enumerate().map(|(i, a)| Reader::of(&rows, a, i == 0)).collect();
        for row in 0..rows.len() {
            let text = |t: Option<&String>| t.cloned().unwrap_or_default();
            let (variant, group) = (text(variant.get(row)), text(group.get(row)));
            sweep.points.push(Point {
                at: at.iter().map(|r| r.get(row)).collect(),
                subject: if variant == group || group.is_empty() { variant } else { format!("{variant}/{group}") },
                metrics: columns.iter().filter_map(|(name, c)| Some(((*name).to_owned(), c.get(row)?))).collect(),
            });
        }
    }
    Ok(sweep)
}

/// The column of an axis, whatever its type. Quantities are read as numbers only where they are drawn against (`first`).
struct Reader<'a> {
    int: forebay_store::columns::Ints<'a>,
    float: forebay_store::columns::Floats<'a>,
    bool: forebay_store::columns::Bools<'a>,
    text: forebay_store::columns::Texts<'a, String>,
}

impl<'a> Reader<'a> {
    fn of(rows: &Rows<'a>, axis: &AxisRecord, first: bool) -> Reader<'a> {
        let name = axis.number_column.as_ref().filter(|_| first).unwrap_or(&axis.key);
        Reader { int: rows.int(name), float: rows.float(name), bool: rows.bool(name), text: rows.text(name, str::to_owned) }
    }

    fn get(&self, row: usize) -> Value {
        let number = self.int.get(row).map(|v| v as f64).or(self.float.get(row));
        let text = || self.bool.get(row).map(|b| b.to_string()).or(self.text.get(row).cloned());
        number.map(Value::Number).or_else(|| text().map(Value::Text)).unwrap_or(Value::Unset)
    }
}

/// Unit of an axis, which the column with its numbers is called after.
fn unit(axis: &AxisRecord) -> Unit {
    let suffix = axis.number_column.as_ref().and_then(|c| c.strip_prefix(&format!("{}_", axis.key)));
    match suffix {
        Some("s") => Unit::Seconds,
        Some("bps") => Unit::BitsPerSecond,
        Some("bytes") => Unit::Bytes,
        Some("pkts") => Unit::Packets,
        _ => Unit::Ratio,
    }
}
