//! Flow-size tables: cumulative distributions by points, with linear interpolation.
//!
//! Three common formats are read: `bytes fraction`, `bytes percent`, and `packets index fraction` in three columns (ns-2 style, 1460-byte packets).
//! Tables of Homa's simulator (HomaSimulation, `sizeDistributions/`) have their mean as the first line. Their rows are steps: a size has the probability
//! up to its row, and nothing lies between two sizes, as their means show. Where a probability falls, the largest one so far counts. The sizes are bytes,
//! except in the DCTCP tables; their content does not tell, so the name of the file does (`MsgSizeDistributions.cc` selects the unit by name, too).
//! `#` starts a comment; blank lines are skipped.

use std::fmt;

/// Payload bytes of a packet in the three-column format.
const PACKET_BYTES: f64 = 1460.0;
/// Maximum number of rows; longer files are not size tables.
const MAX_ROWS: usize = 100_000;
/// Maximum length of a line.
const MAX_LINE: usize = 4_096;
/// Maximum size in bytes (1 PB), far below the limit of exact integers in a float.
const MAX_SIZE: f64 = 1e15;

/// Checked cumulative distribution of sizes in bytes: sizes and probabilities rise, and the last probability is 1.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeTable {
    points: Vec<(f64, f64)>,
}

/// Reason why a size table was refused, with the one-based line number (0: the whole file).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableError {
    /// Name of the file as given by the caller.
    pub file: String,
    /// One-based line, 0 when the whole file is meant.
    pub line: usize,
    /// Explanation, with the legal form.
    pub message: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            n => write!(f, "{}:{n}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for TableError {}

impl SizeTable {
    /// Reads a table; `file` names it in errors.
    pub fn parse(text: &str, file: &str) -> Result<SizeTable, TableError> {
        let err = |line: usize, message: String| TableError { file: file.to_owned(), line, message };
        let mut rows: Vec<(usize, f64, f64)> = Vec::new();
        let mut columns = 0;
        let mut has_mean = false;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if line.len() > MAX_LINE {
                return Err(err(number, format!("line of {} bytes; a table row is two or three numbers", line.len())));
            }
            let data = line.split('#').next().unwrap_or("").trim();
            if data.is_empty() {
                continue;
            }
            let fields: Vec<&str> = data.split([' ', '\t', ',', ';']).filter(|s| !s.is_empty()).collect();
            if columns == 0 && !has_mean && fields.len() == 1 && fields[0].parse().is_ok_and(|mean: f64| mean > 0.0) {
                has_mean = true;
                continue;
            }
            if columns == 0 {
                columns = fields.len();
            }
            if fields.len() != columns || !(2..=3).contains(&columns) {
                return Err(err(
                    number,
                    format!("{} columns; rows are `bytes fraction`, `bytes percent` or `packets index fraction`", fields.len()),
                ));
            }
            let mut values = [0.0; 3];
            for (value, field) in values.iter_mut().zip(&fields) {
                *value = match field.parse::<f64>() {
                    Ok(v) if v.is_finite() && v >= 0.0 => v,
                    _ => return Err(err(number, format!("`{field}` is not a finite, non-negative number"))),
                };
            }
            let size = if columns == 3 { values[0] * PACKET_BYTES } else { values[0] };
            if size > MAX_SIZE {
                return Err(err(number, format!("size {size:e} B is above the largest legal size, 1 PB")));
            }
            rows.push((number, size, values[columns - 1]));
            if rows.len() > MAX_ROWS {
                return Err(err(number, format!("more than {MAX_ROWS} rows")));
            }
        }
        if has_mean && columns == 2 {
            let unit = if in_packets(file) { PACKET_BYTES } else { 1.0 };
            rows = steps(&rows, unit);
        }
        let Some(&(last_line, _, last)) = rows.last() else {
            return Err(err(0, "the table is empty; it needs at least two rows of size and cumulative probability".into()));
        };
        // Percent tables end at 100, fraction tables at 1.
        let scale = if last > 1.5 { 100.0 } else { 1.0 };
        if (last / scale - 1.0).abs() > 1e-6 {
            return Err(err(
                last_line,
                format!("the last probability is {last}; a table must end at 1 (or 100 percent): is the file truncated?"),
            ));
        }
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(rows.len());
        for (number, size, p) in rows {
            // Rounding of a generator may exceed 1 by a little.
            if p / scale > 1.0 + 1e-6 {
                return Err(err(number, format!("the probability {p} is above that of the last row, {last}")));
            }
            let p = (p / scale).min(1.0);
            if let Some(&(s0, p0)) = points.last()
                && (size < s0 || p < p0)
            {
                return Err(err(number, "sizes and probabilities must not fall from row to row".into()));
            }
            points.push((size, p));
        }
        if points.len() < 2 {
            return Err(err(0, "the table has one row; it needs at least two".into()));
        }
        if points.last().is_some_and(|p| p.0 < 1.0) {
            return Err(err(last_line, "the largest size is below one byte".into()));
        }
        Ok(SizeTable { points })
    }

    /// The size in bytes at cumulative probability `u` in [0, 1): linear between the points, rounded up, at least 1.
    pub fn sample(&self, u: f64) -> u64 {
        let i = self.points.partition_point(|p| p.1 <= u);
        let size = match (i.checked_sub(1).map(|j| self.points[j]), self.points.get(i)) {
            (Some((s0, p0)), Some(&(s1, p1))) => s0 + (s1 - s0) * (u - p0) / (p1 - p0),
            // A table that starts above probability 0 has an atom at its first size.
            (None, Some(&(s, _))) | (Some((s, _)), None) => s,
            (None, None) => 1.0,
        };
        (size.ceil() as u64).max(1)
    }

    /// Mean in bytes by the trapezoid rule, with an atom at the first size if its probability is above 0; at least 1, as each size is.
    pub fn mean(&self) -> f64 {
        let first = self.points[0];
        let segments = self.points.windows(2).map(|w| (w[1].1 - w[0].1) * (w[0].0 + w[1].0) / 2.0).sum::<f64>();
        (first.0 * first.1 + segments).max(1.0)
    }

    /// P(size <= `bytes`).
    pub fn probability(&self, bytes: f64) -> f64 {
        let i = self.points.partition_point(|p| p.0 <= bytes);
        match (i.checked_sub(1).map(|j| self.points[j]), self.points.get(i)) {
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
            (Some((s0, p0)), Some(&(s1, p1))) => p0 + (p1 - p0) * (bytes - s0) / (s1 - s0),
        }
    }

    /// The points (size in bytes, cumulative probability).
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }
}

/// True for a table of Homa's simulator whose sizes are packets.
fn in_packets(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.to_ascii_lowercase().contains("dctcp")
}

/// Rows of a step function, in bytes: each size twice, with the probability below it and up to it.
fn steps(rows: &[(usize, f64, f64)], unit: f64) -> Vec<(usize, f64, f64)> {
    let mut below = 0.0;
    let step = |&(line, size, p): &(usize, f64, f64)| {
        let from = below;
        below = p.max(below);
        [(line, size * unit, from), (line, size * unit, below)]
    };
    rows.iter().flat_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEBSEARCH: &str = include_str!("../../../../data/cdf/websearch.cdf");
    const DATAMINING: &str = include_str!("../../../../data/cdf/datamining.cdf");

    #[test]
    fn published_means() {
        assert!((SizeTable::parse(WEBSEARCH, "w").unwrap().mean() - 1_711_250.0).abs() < 1e-6);
        assert!((SizeTable::parse(DATAMINING, "d").unwrap().mean() - 12_658_198.6).abs() < 1e-3);
    }

    #[test]
    fn three_dialects_agree() {
        let fraction = SizeTable::parse("0 0\n14600 0.4\n146000 1\n", "f").unwrap();
        let percent = SizeTable::parse("0 0\n14600 40\n146000 100\n", "p").unwrap();
        let packets = SizeTable::parse("0 1 0\n10 1 0.4\n100 1 1\n", "k").unwrap();
        assert_eq!(fraction, percent);
        assert_eq!(fraction, packets);
    }

    /// A table in the form of Homa's simulator: 2 x 0.25 + 6 x 0.25 + 40 x 0.4 + 1000 x 0.1 = 118.
    const HOMA: &str = "118\n2   0.25\n6   0.5\n9   0.45\n40  0.9\n1000 1.0\n";

    #[test]
    fn homa_tables_are_steps() {
        let bytes = SizeTable::parse(HOMA, "tables/Google_SearchRPC.txt").unwrap();
        assert!((bytes.mean() - 118.0).abs() < 1e-9, "{}", bytes.mean());
        let sizes: Vec<u64> = [0.0, 0.1, 0.3, 0.499, 0.6, 0.89, 0.95, 0.999].iter().map(|u| bytes.sample(*u)).collect();
        assert_eq!(sizes, [2, 2, 6, 6, 40, 40, 1000, 1000]);
        // A first row of one byte is no packet.
        let one = SizeTable::parse("3.5\n1 0\n2 0.5\n5 1\n", "Google_AllRPC.txt").unwrap();
        assert!((one.mean() - 3.5).abs() < 1e-9 && one.sample(0.0) == 2, "{one:?}");
        // The same rows without the mean are points of a piecewise linear function.
        let linear = SizeTable::parse("2 0.25\n6 0.5\n40 0.9\n1000 1.0\n", "rows").unwrap();
        assert_ne!(linear.mean(), bytes.mean());
    }

    #[test]
    fn homa_dctcp_tables_have_packets() {
        for name in ["DCTCP_MsgSizeDist.txt", "homa/sizeDistributions/DCTCP_MsgSizeDist_Original.txt", "my-dctcp.txt"] {
            let packets = SizeTable::parse(HOMA, name).unwrap();
            assert!((packets.mean() - 118.0 * 1460.0).abs() < 1e-6, "{name}: {}", packets.mean());
            assert_eq!((packets.sample(0.1), packets.sample(0.95)), (2920, 1_460_000), "{name}");
        }
        // The folder does not decide.
        assert!(SizeTable::parse(HOMA, "dctcp/Facebook.txt").unwrap().mean() < 200.0);
        // A table that leaves the rest to a formula is refused.
        let open = SizeTable::parse("185.0\n1 0.3\n15 0.47\n", "k").unwrap_err().to_string();
        assert!(open.contains("must end at 1"), "{open}");
    }

    #[test]
    fn sampling_inverts_the_distribution() {
        let t = SizeTable::parse(WEBSEARCH, "w").unwrap();
        for i in 0..1000 {
            let u = f64::from(i) / 1000.0;
            let s = t.sample(u);
            assert!((t.probability(s as f64) - u).abs() < 1e-3, "u {u} size {s}");
        }
        assert_eq!(t.sample(0.0), 1);
        assert_eq!(SizeTable::parse("10000 0.15\n20000 1", "atom").unwrap().sample(0.1), 10_000);
    }

    #[test]
    fn refuses_broken_tables() {
        let long = "1 ".repeat(5_000_000);
        let cases = [
            "",
            "# nothing",
            "1 NaN",
            "-5 0\n10 1",
            "5 0\n4 1",
            "0 0\n10 0.7",
            "0 0 0 0",
            "1 1",
            "0 0\n1e300 1",
            "0 0\nx 1",
            &long,
        ];
        for bad in cases {
            assert!(SizeTable::parse(bad, "bad").is_err(), "{}", &bad[..bad.len().min(20)]);
        }
        let e = SizeTable::parse("0 0\n5 0.5\n4 1\n", "a.cdf").unwrap_err();
        assert_eq!((e.line, e.to_string().starts_with("a.cdf:3:")), (3, true));
    }

    #[test]
    fn mean_is_at_least_a_byte() {
        assert_eq!(SizeTable::parse("0 1\n1 1\n", "t").unwrap().mean(), 1.0);
        let refused = SizeTable::parse("0 1.1162\n1 1\n", "t").unwrap_err().to_string();
        assert!(refused.contains("t:1") && refused.contains("above that of the last row"), "{refused}");
    }
}
