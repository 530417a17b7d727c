//! Number formatting: one prefix per row, significant digits, groups of three.

use crate::page::{Cell, Dimension};

/// A unit with a prefix, and the number of digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    factor: f64,
    /// Name of the unit with its prefix; empty for plain numbers.
    pub(crate) name: &'static str,
    /// True if all values are whole in this unit and have no decimals.
    whole: bool,
}

/// Prefixes of a unit, largest first.
fn prefixes(unit: Dimension) -> &'static [(f64, &'static str)] {
    match unit {
        Dimension::BitsPerSecond => &[(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")],
        Dimension::Seconds => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
        Dimension::Bytes => &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
        Dimension::Packets => &[(1.0, "packets")],
        Dimension::Segments => &[(1.0, "segments")],
        Dimension::Fraction => &[(0.01, "%")],
        Dimension::Count | Dimension::Ratio => &[(1.0, "")],
    }
}

impl Scale {
    /// Common scale for all cells of a row: the prefix that suits the geometric middle between the smallest and the largest.
    pub(super) fn of<'a>(unit: Dimension, cells: impl Iterator<Item = &'a Cell> + Clone) -> Scale {
        let sizes = || cells.clone().map(|c| c.mean.abs()).filter(|v| *v > 0.0 && v.is_finite());
        let (low, high) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
        let middle = if high > 0.0 { (low * high).sqrt() } else { 1.0 };
        let all = prefixes(unit);
        let (factor, name) = all.iter().find(|(f, _)| *f <= middle).or(all.last()).copied().unwrap_or((1.0, ""));
        let is_whole = |v: f64| ((v / factor) - (v / factor).round()).abs() < 1e-9;
        let whole = cells.clone().all(|c| is_whole(c.mean) && is_whole(reach(c)));
        Scale { factor, name, whole }
    }

    /// Mean and spread with the same number of decimals. It suits the mean, and gives the wider side of the interval at most two significant digits
    /// (JCGM 100:2008, 7.2.6: an uncertainty has at most two, and its estimate is rounded to agree with it).
    pub(super) fn show(&self, cell: &Cell) -> (String, Option<String>) {
        let mean = cell.mean / self.factor;
        let half = reach(cell) / self.factor;
        let decimals = if self.whole || mean == 0.0 && half == 0.0 {
            0
        } else if half > 0.0 {
            decimals(mean).min((1 - half.log10().floor() as i32).clamp(0, 6) as usize)
        } else {
            decimals(mean)
        };
        (fixed(mean, decimals), cell.spread(|v| fixed(v / self.factor, decimals)))
    }
}

/// Distance of the wider side of the interval from the mean.
fn reach(cell: &Cell) -> f64 {
    cell.range.or(cell.ends).map_or(0.0, |(low, high)| (high - cell.mean).max(cell.mean - low))
}

/// Decimals that give `v` four significant digits, three below 1; at most six decimals.
fn decimals(v: f64) -> usize {
    if v == 0.0 || !v.is_finite() {
        return 3;
    }
    let digits = if v.abs() < 1.0 { 2 } else { 3 };
    (digits - v.abs().log10().floor() as i32).clamp(0, 6) as usize
}

/// `v` with this number of decimals; whole parts of five digits and more in groups of three.
fn fixed(v: f64, decimals: usize) -> String {
    if !v.is_finite() {
        return "–".to_owned();
    }
    let plain = format!("{:.decimals$}", v.abs());
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut out = String::new();
    // A typographic minus sign, and none before a rounded zero.
    if v < 0.0 && plain.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push('−');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && whole.len() > 4 && (whole.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(unit: Dimension, values: &[f64]) -> (Vec<String>, &'static str) {
        let cells: Vec<Cell> = values.iter().map(|&mean| Cell { mean, ..Cell::default() }).collect();
        let scale = Scale::of(unit, cells.iter());
        (cells.iter().map(|c| scale.show(c).0).collect(), scale.name)
    }

    #[test]
    fn row_shares_unit_prefix() {
        assert_eq!(shown(Dimension::BitsPerSecond, &[9.41e9, 8.2e8]), (vec!["9.410".into(), "0.820".into()], "Gbit/s"));
        assert_eq!(shown(Dimension::Seconds, &[180e-6, 4.0]), (vec!["0.180".into(), "4000".into()], "ms"));
        assert_eq!(shown(Dimension::Seconds, &[250e-6]), (vec!["250".into()], "µs"));
        assert_eq!(shown(Dimension::Fraction, &[0.4321]), (vec!["43.21".into()], "%"));
    }

    #[test]
    fn counts_are_whole_and_grouped() {
        assert_eq!(shown(Dimension::Count, &[1234567.0, 0.0]), (vec!["1\u{202f}234\u{202f}567".into(), "0".into()], ""));
        assert_eq!(shown(Dimension::Packets, &[12.5, 3.0]), (vec!["12.50".into(), "3.000".into()], "packets"));
    }

    #[test]
    fn nan_is_dash_zero_unsigned() {
        assert_eq!(shown(Dimension::Ratio, &[f64::NAN]).0, ["–"]);
        assert_eq!(fixed(-0.0004, 2), "0.00");
        assert_eq!(fixed(-1.5, 1), "−1.5");
    }

    #[test]
    fn half_width_decimals_match_mean() {
        let around = |mean: f64, half: f64| Cell { mean, ends: Some((mean - half, mean + half)), ..Cell::default() };
        let cell = around(9.4123e9, 0.02e9);
        let scale = Scale::of(Dimension::BitsPerSecond, std::iter::once(&cell));
        assert_eq!(scale.show(&cell), ("9.412".into(), Some("± 0.020".into())));
        let rough = around(746.4e6, 382.2e6);
        assert_eq!(
            Scale::of(Dimension::BitsPerSecond, std::iter::once(&rough)).show(&rough),
            ("746".into(), Some("± 382".into()))
        );
        let better = around(24.0e-3, 1.024e-3);
        assert_eq!(Scale::of(Dimension::Seconds, std::iter::once(&better)).show(&better), ("24.0".into(), Some("± 1.0".into())));
        let cut = Cell { mean: 0.85e9, ends: Some((0.47e9, 0.95e9)), ..Cell::default() };
        assert_eq!(Scale::of(Dimension::BitsPerSecond, std::iter::once(&cut)).show(&cut).1, Some("+100 −380".into()));
    }
}
