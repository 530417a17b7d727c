//! Tables as CSV (RFC 4180): a header line, empty fields for null, floats in the shortest form that reads back exactly.

use crate::column::{Get, Table};
use crate::run_info::RunInfo;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// An open CSV file.
pub(crate) struct CsvFile {
    out: BufWriter<File>,
}

impl CsvFile {
    /// Writes the header line.
    pub(crate) fn new<R>(file: File, table: &Table<R>) -> io::Result<CsvFile> {
        let mut out = BufWriter::new(file);
        let names: Vec<&str> = table.columns.iter().map(|c| c.name).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(CsvFile { out })
    }

    /// Appends the rows of one run.
    pub(crate) fn write<R>(&mut self, table: &Table<R>, rows: &[R], info: &RunInfo) -> io::Result<()> {
        for row in rows {
            for (index, column) in table.columns.iter().enumerate() {
                if index > 0 {
                    self.out.write_all(b",")?;
                }
                match column.get {
                    Get::Int(get) => optional(&mut self.out, get(row, info))?,
                    Get::Unsigned(get) => write!(self.out, "{}", get(row, info))?,
                    Get::Float(get) => optional(&mut self.out, get(row, info))?,
                    Get::Bool(get) => optional(&mut self.out, get(row, info))?,
                    Get::Text(get) => text(&mut self.out, get(row, info))?,
                }
            }
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Flushes and syncs.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()
    }
}

fn optional(out: &mut impl Write, value: Option<impl std::fmt::Display>) -> io::Result<()> {
    match value {
        Some(v) => write!(out, "{v}"),
        None => Ok(()),
    }
}

fn text(out: &mut impl Write, value: &str) -> io::Result<()> {
    if value.contains([',', '"', '\n', '\r']) {
        write!(out, "\"{}\"", value.replace('"', "\"\""))
    } else {
        out.write_all(value.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_what_needs_it() {
        let mut out = Vec::new();
        text(&mut out, "leaf0->h3").unwrap();
        out.push(b',');
        text(&mut out, "a \"b\", c").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "leaf0->h3,\"a \"\"b\"\", c\"");
    }
}
