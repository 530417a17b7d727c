//! What shims say in the row of a message: a list of columns, which any shim may fill, and the values that one gave, by name.

/// A value of such a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShimValue {
    /// A whole number; `None` is null.
    Int(Option<i64>),
    /// A name; empty for none.
    Text(&'static str),
}

/// A column of the table of messages that shims fill.
#[derive(Debug, Clone, Copy)]
pub struct ShimColumn {
    /// Name, unique in the table.
    pub name: &'static str,
    /// Unit, as of other columns.
    pub unit: &'static str,
    /// One sentence: what it means, and when it is null.
    pub doc: &'static str,
    /// What rows have that the shim gave no value, which is also the type of the column.
    pub otherwise: ShimValue,
}

const fn column(name: &'static str, unit: &'static str, otherwise: ShimValue, doc: &'static str) -> ShimColumn {
    ShimColumn { name, unit, doc, otherwise }
}

const NULL: ShimValue = ShimValue::Int(None);

/// All such columns, in the order of the table. Columns that no shim of the world fills are null.
pub const COLUMNS: &[ShimColumn] = &[
    column(
        "probes",
        "1",
        NULL,
        "probes that the shim sent ahead of the handshake; null without a shim that does, and for later messages of a connection",
    ),
    column(
        "syn_ack_verdict",
        "",
        ShimValue::Text(""),
        "what the shim made of the probes at the first SYN-ACK: proportional, severe, insufficient, recent (the window of an earlier train), unprobed; empty as `probes` is null",
    ),
    column(
        "syn_ack_window_bytes",
        "B",
        NULL,
        "window in the first SYN-ACK that left the shim; null as `probes` is, and if none left",
    ),
    column("syn_ack_delay_ns", "ns", NULL, "how long the shim held that SYN-ACK; null as `probes` is"),
    column("acks_throttled", "1", ShimValue::Int(Some(0)), "ACKs whose window a shim lowered"),
];

/// The values that a shim gave for one message: names of columns and values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShimRow(Vec<(&'static str, ShimValue)>);

impl ShimRow {
    /// Gives `column`, one of [`COLUMNS`], a value.
    pub fn set(&mut self, column: &'static str, value: ShimValue) {
        debug_assert!(COLUMNS.iter().any(|c| c.name == column), "no column `{column}`");
        self.0.push((column, value));
    }

    /// The value of `column`, if the shim gave it one.
    pub fn get(&self, column: &str) -> Option<ShimValue> {
        self.0.iter().find(|(name, _)| *name == column).map(|(_, value)| *value)
    }

    /// The number in `column`; `None` if it is null or another shim's.
    pub fn int(&self, column: &str) -> Option<i64> {
        if let Some(ShimValue::Int(value)) = self.get(column) { value } else { None }
    }

    /// The name in `column`; empty if there is none.
    pub fn text(&self, column: &str) -> &'static str {
        if let Some(ShimValue::Text(name)) = self.get(column) { name } else { "" }
    }
}
