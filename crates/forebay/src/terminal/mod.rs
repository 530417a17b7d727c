//! Printing: text, tables, colors and progress on a terminal, in a pipe, or as JSON.

pub(crate) mod columns;
pub(crate) mod escape;
pub(crate) mod failure;
pub(crate) mod grid;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod sentences;
pub(crate) mod style;
pub(crate) mod summary_table;
pub(crate) mod sweep_table;
pub(crate) mod wrap;
