//! Table of texts in the terminal.

use crate::terminal::columns::{self, Column};
use crate::terminal::style::BOLD;
use forebay_analysis::Grid;

/// One line per row: texts at the left of their columns, columns with numbers at the right. Columns that do not fit `width` are below, behind the
/// first texts again, which identify the rows.
pub(crate) fn render(grid: &Grid, fits: Option<usize>, colour: bool) -> String {
    let column = |c: usize| {
        let cells: Vec<_> = grid.rows.iter().filter_map(|row| row.get(c)).collect();
        Column {
            heads: vec![grid.heads[c].clone()],
            right: cells.iter().any(|cell| cell.value.is_some()),
            cells: cells.iter().map(|cell| cell.text.clone()).collect(),
            gap: 0,
        }
    };
    let mut keys: Vec<Column> = (0..grid.heads.len()).map(column).collect();
    let names = keys.iter().take_while(|column| !column.right).count().min(2);
    let others = keys.split_off(names);
    columns::render(&keys, &others, &[BOLD], fits, colour)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_analysis::GridCell;

    #[test]
    fn numbers_right_aligned() {
        let number = |text: &str| GridCell { text: text.into(), value: Some(1.0), shade: None };
        let grid = Grid {
            heads: vec!["workload".into(), "share".into()],
            rows: vec![vec![GridCell::text("web"), number("2.8 %")], vec![GridCell::text("storage"), number("91 %")]],
        };
        assert_eq!(render(&grid, None, false), "workload  share\nweb       2.8 %\nstorage    91 %\n");
    }

    #[test]
    fn wide_grid_split_into_blocks() {
        let number = |text: &str| GridCell { text: text.into(), value: Some(1.0), shade: None };
        let grid = Grid {
            heads: ["workload", "goodput", "share"].map(String::from).into(),
            rows: vec![vec![GridCell::text("web"), number("1 Gbit/s"), number("2.8 %")]],
        };
        assert_eq!(
            render(&grid, Some(20), false),
            "workload   goodput\nweb       1 Gbit/s\n\nworkload  share\nweb       2.8 %\n"
        );
    }
}
