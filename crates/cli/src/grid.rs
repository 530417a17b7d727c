//! A table of texts in the terminal.

use crate::style::{BOLD, paint};
use crate::table::{finish_line, width};
use forebay_verdict::Grid;

/// One line a row: texts at the left of their columns, columns with numbers at the right.
pub(crate) fn draw(grid: &Grid, colour: bool) -> String {
    let cells = |c: usize| grid.rows.iter().filter_map(move |r| r.get(c));
    let widths: Vec<usize> =
        grid.heads.iter().enumerate().map(|(c, h)| width(cells(c).map(|x| x.text.as_str()).chain([h.as_str()]))).collect();
    let right: Vec<bool> = (0..grid.heads.len()).map(|c| cells(c).any(|x| x.value.is_some())).collect();
    let place = |c: usize, text: &str| {
        let (width, right) = (widths[c], right[c]);
        if right { format!("{text:>width$}") } else { format!("{text:width$}") }
    };
    let mut out = String::new();
    let heads: Vec<String> = grid.heads.iter().enumerate().map(|(c, h)| paint(colour, BOLD, &place(c, h))).collect();
    out += &heads.join("  ");
    finish_line(&mut out);
    for row in &grid.rows {
        out += &row.iter().enumerate().map(|(c, x)| place(c, &x.text)).collect::<Vec<_>>().join("  ");
        finish_line(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_verdict::GridCell;

    #[test]
    fn numbers_stand_at_the_right() {
        let number = |text: &str| GridCell { text: text.into(), value: Some(1.0), shade: None };
        let grid = Grid {
            heads: vec!["workload".into(), "share".into()],
            rows: vec![vec![GridCell::text("web"), number("2.8 %")], vec![GridCell::text("storage"), number("91 %")]],
        };
        assert_eq!(draw(&grid, false), "workload  share\nweb       2.8 %\nstorage    91 %\n");
    }
}
