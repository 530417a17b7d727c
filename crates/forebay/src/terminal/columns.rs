//! Columns of a table, aligned, in blocks that fit the terminal.

use crate::terminal::style::paint;
use std::ops::Range;
use textwrap::core::display_width;

/// A column: heads, and a cell for each row. Texts may have colors.
#[derive(Debug, Default)]
pub(crate) struct Column {
    /// One for each line of heads.
    pub(crate) heads: Vec<String>,
    /// One for each row.
    pub(crate) cells: Vec<String>,
    /// Numbers are right-aligned, texts left-aligned.
    pub(crate) right: bool,
    /// Blanks behind it, beyond the two between all columns.
    pub(crate) gap: usize,
}

impl Column {
    fn width(&self) -> usize {
        self.heads.iter().chain(&self.cells).map(|text| display_width(text)).max().unwrap_or(0)
    }

    /// Its part of a line, with the blanks behind it.
    fn place(&self, text: &str) -> String {
        let pad = " ".repeat(self.width().saturating_sub(display_width(text)));
        let (before, after) = if self.right { (pad.as_str(), "") } else { ("", pad.as_str()) };
        format!("{before}{text}{after}{:gap$}", "", gap = self.gap + 2)
    }
}

/// A table: one line per row. Where not all columns fit, the others are in blocks below, behind the keys again. Each line of heads has a style.
pub(crate) fn render(keys: &[Column], columns: &[Column], styles: &[&str], fits: Option<usize>, colour: bool) -> String {
    let rows = keys.iter().chain(columns).map(|c| c.cells.len()).max().unwrap_or(0);
    let taken = keys.iter().map(|c| c.width() + c.gap + 2).sum::<usize>().saturating_sub(2);
    let widths: Vec<usize> = columns.iter().map(|c| c.width() + c.gap + 2).collect();
    let block = |range: Range<usize>| {
        let shown: Vec<&Column> = keys.iter().chain(&columns[range.clone()]).collect();
        let line = |text: &dyn Fn(usize) -> String| {
            let parts: String = shown.iter().enumerate().map(|(i, c)| c.place(&text(i))).collect();
            parts.trim_end_matches(' ').to_owned() + "\n"
        };
        let heads = styles.iter().enumerate().map(|(level, style)| {
            line(&|i| {
                let own = shown[i].heads.get(level).map_or("", String::as_str);
                // A head over several columns is repeated where a block begins below it.
                let begun = columns.get(..=range.start).unwrap_or_default().iter().rev();
                let begun = begun.map(|c| c.heads[level].as_str()).find(|h| !h.is_empty());
                let repeated = begun.filter(|_| i == keys.len() && level + 1 < styles.len());
                paint(colour, style, repeated.unwrap_or(own))
            })
        });
        let heads: String = heads.collect();
        let rows = (0..rows).map(|row| line(&|i| shown[i].cells.get(row).cloned().unwrap_or_default()));
        heads + &rows.collect::<String>()
    };
    blocks(taken, &widths, fits).into_iter().map(block).collect::<Vec<_>>().join("\n")
}

/// Columns of each block of a table: as many as fit `width` behind the first `taken` characters of each line, at least one. `widths` include the
/// blanks before them.
fn blocks(taken: usize, widths: &[usize], width: Option<usize>) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut from, mut at) = (0, taken);
    for (i, w) in widths.iter().enumerate() {
        if i > from && width.is_some_and(|width| at + w > width) {
            out.push(from..i);
            (from, at) = (i, taken);
        }
        at += w;
    }
    out.push(from..widths.len());
    out
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn wide_tables_split_into_blocks() {
        assert_eq!(blocks(20, &[10, 10, 10, 10, 10], Some(42)), [0..2, 2..4, 4..5]);
        assert_eq!(blocks(20, &[10, 50, 10], Some(42)), [0..1, 1..2, 2..3], "a wide one by itself");
        assert_eq!(blocks(20, &[10, 50, 10], None), vec![0..3]);
        assert_eq!(blocks(20, &[], Some(42)), vec![0..0]);
    }
}
