//! Texts that errors point into: the scenario file and every `--set`.

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Lines above this many bytes are shown in part, so that a 10 MB line does not flood the terminal.
const MAX_LINE: usize = 300;
/// Maximum length of a label, in bytes.
const MAX_LABEL: usize = 80;
/// Bytes shown on either side of a label in a long line.
const MARGIN: usize = 60;

/// Named text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    /// Positions that this source, a `--set`, replaced.
    replaces: Vec<At>,
}

/// Position in one of the sources of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct At {
    /// 0: the file; i: the i-th `--set`.
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Source {
    /// Creates a source called `name` in errors.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: text.into(), replaces: Vec::new() }
    }

    /// Records that this source replaces the text at a position.
    pub(crate) fn add_replaced(&mut self, at: At) {
        self.replaces.push(at);
    }

    /// Positions that this source replaced.
    pub(crate) fn replaced(&self) -> &[At] {
        &self.replaces
    }

    /// Name in errors: the path as the user gave it, or `--set`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Complete text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// One-based line and column (in characters) of a byte offset.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..self.floor(offset)];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// Bytes to underline for `start..end`: within one line, and at most a screen wide.
    pub(crate) fn label(&self, start: usize, end: usize) -> (usize, usize) {
        let start = self.floor(start);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |i| start + i);
        let end = self.floor(end.min(line_end).min(start + MAX_LABEL)).max(start);
        (start, end)
    }

    /// Visible part of the line around a label: byte range, and flags for cuts on the left and right.
    pub(crate) fn excerpt(&self, start: usize, end: usize) -> (usize, usize, bool, bool) {
        let line_start = self.text[..self.floor(start)].rfind('\n').map_or(0, |i| i + 1);
        let line_end = self.text[self.floor(start)..].find('\n').map_or(self.text.len(), |i| self.floor(start) + i);
        let line_end = if self.text[line_start..line_end].ends_with('\r') { line_end - 1 } else { line_end };
        if line_end - line_start <= MAX_LINE {
            return (line_start, line_end, false, false);
        }
        let from = self.floor(start.saturating_sub(MARGIN)).max(line_start);
        let to = self.floor(end.saturating_add(MARGIN)).min(line_end);
        (from, to, from > line_start, to < line_end)
    }

    /// Nearest character boundary at or below `offset`.
    fn floor(&self, offset: usize) -> usize {
        let mut i = offset.min(self.text.len());
        while !self.text.is_char_boundary(i) {
            i -= 1;
        }
        i
    }
}

impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, end) = (self.floor(span.offset()), self.floor(span.offset().saturating_add(span.len())));
        let (mut from, mut to, cut_left, cut_right) = self.excerpt(start, end);
        if before == 0 {
            // Without context miette reads the position of the label, so the text begins there.
            from = start;
        }
        to = to.max(end);
        if !cut_left && !cut_right {
            for _ in 0..before {
                let previous = self.text[..from.saturating_sub(1)].rfind('\n').map_or(0, |i| i + 1);
                if from == 0 || from - previous > MAX_LINE {
                    break;
                }
                from = previous;
            }
            for _ in 0..after {
                to = self.text[to..].find('\n').map_or(self.text.len(), |i| to + i);
                let rest = &self.text[(to + 1).min(self.text.len())..];
                let length = rest.find('\n').unwrap_or(rest.len());
                if to >= self.text.len() || length > MAX_LINE {
                    break;
                }
                to = (to + 1 + length).min(self.text.len());
            }
        }
        if to > end && self.text[..to].ends_with('\r') {
            to -= 1;
        }
        let (line, column) = self.line_column(from);
        let contents = MietteSpanContents::new_named(
            self.name.clone(),
            &self.text.as_bytes()[from..to],
            (from, to - from).into(),
            line - 1,
            column - 1,
            self.text[from..to].lines().count(),
        );
        Ok(Box::new(contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let s = Source::new("a", "one\nµµx = 1\n");
        assert_eq!(s.line_column(0), (1, 1));
        assert_eq!(s.line_column(8), (2, 3));
        assert_eq!(s.line_column(7), (2, 2), "inside a character");
        assert_eq!(s.line_column(999), (3, 1));
    }

    #[test]
    fn long_lines_are_cut() {
        let s = Source::new("a", "x".repeat(10_000_000));
        let (from, to, left, right) = s.excerpt(5_000_000, 5_000_010);
        assert!(to - from < 200 && left && right);
        let c = s.read_span(&(5_000_000, 10).into(), 1, 1).unwrap();
        assert!(c.data().len() < 200);
    }

    #[test]
    fn context_lines_are_whole() {
        let s = Source::new("a", "l1\nl2\nl3\nl4\n");
        let c = s.read_span(&(6, 2).into(), 1, 1).unwrap();
        assert_eq!((c.data(), c.line()), (&b"l2\nl3\nl4"[..], 1));
        let c = s.read_span(&(7, 1).into(), 0, 0).unwrap();
        assert_eq!((c.data(), c.line(), c.column()), (&b"3"[..], 2, 1));
        let s = Source::new("a", "l1\r\nl2\r\nl3\r\n");
        let c = s.read_span(&(4, 2).into(), 1, 1).unwrap();
        assert_eq!((c.data(), c.line()), (&b"l1\r\nl2\r\nl3"[..], 0));
    }
}
