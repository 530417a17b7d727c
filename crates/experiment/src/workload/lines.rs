//! Lines of an untrusted text file: bounded in length, checked for encoding, numbered.

use super::foreign_formats;
use std::io::{BufRead, Read};

/// Maximum length of a line.
const MAX_LINE: u64 = 4_096;

/// Reader of lines with a reused buffer.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Lines<R> {
        Lines { reader, buffer: Vec::new(), number: 0 }
    }

    /// One-based number of the line returned last.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Returns true if the line returned last has a blank before its end.
    pub(super) fn has_trailing_blank(&self) -> bool {
        self.buffer.trim_ascii_end().len() + 1 < self.buffer.len()
            && self.buffer.contains(&b' ')
            && self.buffer[self.buffer.trim_ascii_end().len()] == b' '
    }

    /// Next line that is neither blank nor a `#` comment, trimmed; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&str>, String> {
        loop {
            self.buffer.clear();
            self.number += 1;
            let limited = &mut (&mut self.reader).take(MAX_LINE + 1);
            let length = limited.read_until(b'\n', &mut self.buffer).map_err(|e| e.to_string())?;
            if length == 0 {
                return Ok(None);
            }
            if length as u64 > MAX_LINE {
                return Err(format!("the line is longer than {MAX_LINE} bytes: is this a flow list?"));
            }
            let line = match std::str::from_utf8(&self.buffer) {
                Ok(line) => line.trim_start_matches('\u{feff}').trim(),
                Err(_) => {
                    let kind =
                        foreign_formats::of_bytes(&self.buffer).map_or(String::new(), |k| format!("; the file looks like {k}"));
                    return Err(format!("the line is not text (UTF-8){kind}"));
                }
            };
            if !line.is_empty() && !line.starts_with('#') {
                break;
            }
        }
        // Checked above; borrowed again because the borrow checker does not accept a borrow that leaves the loop on one path only.
        Ok(std::str::from_utf8(&self.buffer).ok().map(|l| l.trim_start_matches('\u{feff}').trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_and_numbers() {
        let mut l = Lines::new("\u{feff}a b\r\n\n  # note\n c".as_bytes());
        assert_eq!((l.next().unwrap().map(str::to_owned), l.number()), (Some("a b".into()), 1));
        assert_eq!((l.next().unwrap().map(str::to_owned), l.number()), (Some("c".into()), 4));
        assert_eq!(l.next().unwrap(), None);
    }

    #[test]
    fn refuses_binary_and_endless_lines() {
        assert!(Lines::new(&[0xFFu8, b'\n'][..]).next().is_err());
        let long = vec![b'1'; 10 << 20];
        assert!(Lines::new(&long[..]).next().unwrap_err().contains("4096"));
        let mut fits = vec![b'1'; 4095];
        fits.push(b'\n');
        assert!(Lines::new(&fits[..]).next().is_ok());
    }
}
