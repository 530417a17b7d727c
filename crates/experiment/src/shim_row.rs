//! Columns that shims add to the table of messages, and the values of one message.

/// Value of a shim column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShimValue {
    /// A whole number; `None` is null.
    Int(Option<i64>),
    /// A name; empty for none.
    Text(&'static str),
}

/// Shim column of the table of messages.
#[derive(Debug, Clone, Copy)]
pub struct ShimColumn {
    /// Name, unique in the table.
    pub name: &'static str,
    /// Unit, as of other columns.
    pub unit: &'static str,
    /// Meaning in one sentence, and when the value is null.
    pub doc: &'static str,
    /// Value in rows without one from a shim; it also gives the type of the column.
    pub otherwise: ShimValue,
}

const fn column(name: &'static str, unit: &'static str, otherwise: ShimValue, doc: &'static str) -> ShimColumn {
    ShimColumn { name, unit, doc, otherwise }
}

const NULL: ShimValue = ShimValue::Int(None);

/// All shim columns, in the order of the table. Columns that no shim fills are null.
pub const COLUMNS: &[ShimColumn] = &[
    column(
        "probes",
        "1",
        NULL,
        "probes that the shim sent before the handshake, or before the restart of the connection after a pause; null for a message that was not probed",
    ),
    column(
        "syn_ack_verdict",
        "",
        ShimValue::Text(""),
        "how the shim set the window of the first SYN-ACK from the probes: proportional, severe, insufficient, recent (the window of an earlier train), unprobed; empty as `probes` is null. For answers on a connection with `two-way = true`, the third packet of the handshake stands for the SYN-ACK",
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

/// Values that a shim gave for one message, by column name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShimRow(Vec<(&'static str, ShimValue)>);

impl ShimRow {
    /// Sets `column`, one of [`COLUMNS`].
    pub fn set(&mut self, column: &'static str, value: ShimValue) {
        debug_assert!(COLUMNS.iter().any(|c| c.name == column), "no column `{column}`");
        self.0.push((column, value));
    }

    /// Value of `column`, if the shim set it.
    pub fn get(&self, column: &str) -> Option<ShimValue> {
        self.0.iter().find(|(name, _)| *name == column).map(|(_, value)| *value)
    }

    /// Number in `column`; `None` if it is null or not set.
    pub fn int(&self, column: &str) -> Option<i64> {
        if let Some(ShimValue::Int(value)) = self.get(column) { value } else { None }
    }

    /// Name in `column`; empty if not set.
    pub fn text(&self, column: &str) -> &'static str {
        if let Some(ShimValue::Text(name)) = self.get(column) { name } else { "" }
    }
}
