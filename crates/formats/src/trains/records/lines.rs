//! Lines of a text file, of limited length.

use std::fmt;
use std::io::{BufRead, BufReader, Read};

/// Longest line that is accepted, bytes. Our choice: a hundred times the longest record of a collector.
const MAX_LINE: u64 = 1 << 20;

/// A line.
pub(crate) struct Line {
    /// The text, without its end. Bytes that are not UTF-8 are replaced.
    pub(crate) text: String,
    /// The line has an end.
    pub(crate) is_complete: bool,
}

/// The lines of a source.
pub(crate) struct Lines {
    source: BufReader<Box<dyn Read>>,
    number: u64,
    offset: u64,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Lines {
    pub(crate) fn new(source: Box<dyn Read>) -> Lines {
        Lines { source: BufReader::with_capacity(1 << 16, source), number: 0, offset: 0 }
    }

    /// Number of the line that was read last, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes read.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next line.
    ///
    /// # Errors
    /// The source cannot be read, or the line is too long.
    pub(crate) fn next(&mut self) -> Result<Option<Line>, String> {
        let mut bytes = Vec::new();
        let read = (&mut self.source).take(MAX_LINE).read_until(b'\n', &mut bytes);
        let read = read.map_err(|e| format!("cannot be read: {e}"))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.offset += read as u64;
        let is_complete = bytes.last() == Some(&b'\n');
        if !is_complete && read as u64 == MAX_LINE {
            return Err(format!("the line is longer than {MAX_LINE} bytes, so the file is not one of flow records"));
        }
        Ok(Some(Line { text: String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned(), is_complete }))
    }
}
