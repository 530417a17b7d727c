//! The page `docs/internals/peers.md` against forebay's figures. The figures and versions of ns-2 and ns-3 come from the page:
//! `make peers` measures them.

use super::points::{Band, Figure, Point, points};
use super::{Row, forebay, table};
use std::fs;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/internals/peers.md");

/// Figures of the peers on the page, by the first and the third cell of their rows.
fn peer_of(page: &str, point: &Point, figure: Figure) -> f64 {
    let section = page.split("\n## ").find(|s| s.starts_with(&format!("{}\n", point.section))).unwrap_or_default();
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let row = section.lines().map(cells).find(|c| c.len() > 6 && c[1] == point.name && c[3] == figure.name());
    let text = row.unwrap_or_else(|| panic!("no row for {}, {}: run `make peers`", point.name, figure.name()))[5].clone();
    let value: f64 = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
    // Shown with decimals it was no whole number, as which it would be written otherwise.
    if text.contains('.') && value == value.round() { value + 1e-9 } else { value }
}

/// Runs the starts of a point on forebay's side.
fn rows(page: &str, (place, point): (usize, &Point)) -> Vec<Row> {
    let runs: Vec<forebay::Run> = (1..=point.seeds).map(|seed| forebay::Run::new(&point.setup, seed).unwrap()).collect();
    let row = |&(figure, band): &(Figure, Band)| {
        let own = runs.iter().map(|run| run.figure(figure, &point.setup) / f64::from(point.seeds)).sum();
        let peer = peer_of(page, point, figure);
        Row { point: place, figure, own, peer, inside: band.holds(own, peer) }
    };
    point.holds.iter().map(row).collect()
}

#[test]
fn peers_page_is_current() {
    let page = fs::read_to_string(PAGE).unwrap();
    let versions = page.split("its last run, with ").nth(1).and_then(|s| s.split(".\n").next()).unwrap();
    let points = points();
    let rows: Vec<Row> = points.iter().enumerate().flat_map(|point| rows(&page, point)).collect();
    let new = table::page(&points, &rows, &[], versions);
    if std::env::var_os("FOREBAY_UPDATE").is_some() {
        fs::write(PAGE, new).unwrap();
    } else if let Some((old, new)) = page.lines().zip(new.lines()).find(|(old, new)| old != new) {
        panic!("docs/internals/peers.md differs: regenerate it with FOREBAY_UPDATE=1\n{old}\n{new}");
    } else {
        assert_eq!(
            page.len(),
            new.len(),
            "docs/internals/peers.md has another number of lines: regenerate it with FOREBAY_UPDATE=1"
        );
    }
}
