//! A table of texts in the terminal.

use crate::style::{BOLD, paint};
use crate::table::{finish_line, width};
use crate::wrap::blocks;
use forebay_analysis::Grid;
use std::ops::Range;

/// One line a row: texts at the left of their columns, columns with numbers at the right. Where not all columns fit `width`, the others stand
/// below, with the first texts again, which tell the rows apart.
pub(crate) fn draw(grid: &Grid, fits: Option<usize>, colour: bool) -> String {
    let cells = |c: usize| grid.rows.iter().filter_map(move |r| r.get(c));
    let widths: Vec<usize> =
        grid.heads.iter().enumerate().map(|(c, h)| width(cells(c).map(|x| x.text.as_str()).chain([h.as_str()]))).collect();
    let right: Vec<bool> = (0..grid.heads.len()).map(|c| cells(c).any(|x| x.value.is_some())).collect();
    let place = |c: usize, text: &str| {
        let (width, right) = (widths[c], right[c]);
        if right { format!("{text:>width$}") } else { format!("{text:width$}") }
    };
    let names = right.iter().take_while(|right| !**right).count().min(2);
    let each: Vec<usize> = widths.iter().skip(names).map(|w| w + 2).collect();
    let taken = widths.iter().take(names).map(|w| w + 2).sum::<usize>().saturating_sub(2);
    let block = |columns: Range<usize>| {
        let mut out = String::new();
        let columns = || (0..names).chain(columns.start + names..columns.end + names);
        let heads: Vec<String> = columns().map(|c| paint(colour, BOLD, &place(c, &grid.heads[c]))).collect();
        out += &heads.join("  ");
        finish_line(&mut out);
        for row in &grid.rows {
            let cells = columns().filter_map(|c| Some(place(c, &row.get(c)?.text)));
            out += &cells.collect::<Vec<_>>().join("  ");
            finish_line(&mut out);
        }
        out
    };
    blocks(taken, &each, fits).into_iter().map(block).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_analysis::GridCell;

    #[test]
    fn numbers_stand_at_the_right() {
        let number = |text: &str| GridCell { text: text.into(), value: Some(1.0), shade: None };
        let grid = Grid {
            heads: vec!["workload".into(), "share".into()],
            rows: vec![vec![GridCell::text("web"), number("2.8 %")], vec![GridCell::text("storage"), number("91 %")]],
        };
        assert_eq!(draw(&grid, None, false), "workload  share\nweb       2.8 %\nstorage    91 %\n");
    }

    #[test]
    fn what_does_not_fit_stands_below() {
        let number = |text: &str| GridCell { text: text.into(), value: Some(1.0), shade: None };
        let grid = Grid {
            heads: ["workload", "goodput", "share"].map(String::from).into(),
            rows: vec![vec![GridCell::text("web"), number("1 Gbit/s"), number("2.8 %")]],
        };
        assert_eq!(draw(&grid, Some(20), false), "workload   goodput\nweb       1 Gbit/s\n\nworkload  share\nweb       2.8 %\n");
    }
}
