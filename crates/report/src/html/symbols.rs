//! Colors and symbols of subjects and events, defined once and referenced by static SVG and the script.

use crate::page::Style;
use std::fmt::Write;

/// Number of colors (`--c0` and so on in `assets/light.css` and `dark.css`).
const COLOURS: usize = 8;

/// Filled outlines in a square of side 10 about the origin. Seven, coprime to the number of colors: 56 subjects differ in color or symbol, and
/// the first seven in both.
const SHAPES: [&str; 7] = [
    "M4 0A4 4 0 1 1-4 0A4 4 0 1 1 4 0Z",
    "M-3.6-3.6H3.6V3.6H-3.6Z",
    "M0-4.6L4.5 3.6H-4.5Z",
    "M0-5L5 0L0 5L-5 0Z",
    "M0 4.6L4.5-3.6H-4.5Z",
    "M-1.5-4.6H1.5V-1.5H4.6V1.5H1.5V4.6H-1.5V1.5H-4.6V-1.5H-1.5Z",
    "M4.6 0A4.6 4.6 0 1 1-4.6 0A4.6 4.6 0 1 1 4.6 0ZM2 0A2 2 0 1 0-2 0A2 2 0 1 0 2 0Z",
];

/// Outlines of events: a bar, a cross, an hourglass.
const EVENTS: [(&str, &str); 3] = [
    ("mark", "M-.8-4.5H.8V4.5H-.8Z"),
    ("drop", "M-4-2.9L-2.9-4L0-1.1L2.9-4L4-2.9L1.1 0L4 2.9L2.9 4L0 1.1L-2.9 4L-4 2.9L-1.1 0Z"),
    ("timeout", "M-4-4.6H4L.8 0L4 4.6H-4L-.8 0Z"),
];

/// The definitions, invisible.
pub(super) fn definitions() -> String {
    let mut out = String::from("<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>");
    for (i, d) in SHAPES.iter().enumerate() {
        write!(out, "<path id=\"mk-{i}\" d=\"{d}\"/>").unwrap_or_default();
    }
    for (name, d) in EVENTS {
        write!(out, "<path id=\"ev-{name}\" d=\"{d}\"/>").unwrap_or_default();
    }
    out + "</defs></svg>"
}

/// Class that gives an element the color of a subject as `--c`.
pub(super) fn class(style: Style) -> String {
    format!("s{}", style.hue % COLOURS)
}

/// A subject's symbol in its color.
pub(super) fn marker(style: Style) -> String {
    let (class, shape) = (class(style), style.shape % SHAPES.len());
    format!(
        "<svg class=\"mk {class}\" viewBox=\"-6 -6 12 12\" width=\"12\" height=\"12\" aria-hidden=\"true\"><use href=\"#mk-{shape}\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn subject_symbols_are_distinct() {
        assert_eq!((0..56).map(|i| marker(Style { hue: i, shape: i })).collect::<BTreeSet<_>>().len(), 56);
    }
}
