//! Reader of Flent's result files.

use super::{FlentUnit, VERSION};
use crate::FileError;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;

/// Largest file before and after decompression, bytes. Our choice: an hour of 12 streams with socket statistics takes a tenth of it.
pub const MAX_BYTES: u64 = 256 << 20;

/// A measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct FlentFile {
    /// Name of Flent's test, such as `rrul`.
    pub test: String,
    /// Title that the user gave; may be empty.
    pub title: String,
    /// Time of each value since the start of the test, s; ascending.
    pub times: Vec<f64>,
    /// The series, in order of their names.
    pub series: Vec<FlentSeries>,
}

/// A series of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct FlentSeries {
    /// Name, such as `TCP download`.
    pub name: String,
    /// Unit; `None` for one that is neither a rate nor a delay.
    pub unit: Option<FlentUnit>,
    /// A value for each time; `None` where Flent has none.
    pub values: Vec<Option<f64>>,
}

#[derive(Deserialize)]
struct Document {
    version: Option<u64>,
    x_values: Vec<f64>,
    results: BTreeMap<String, Vec<Option<f64>>>,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(rename = "NAME")]
    name: String,
    #[serde(rename = "TITLE")]
    title: Option<String>,
    #[serde(rename = "SERIES_META", default)]
    series: BTreeMap<String, SeriesMetadata>,
}

#[derive(Deserialize)]
struct SeriesMetadata {
    #[serde(rename = "UNITS")]
    units: Option<String>,
}

/// Reads the file `name` with these bytes, which are JSON, or JSON compressed by gzip.
///
/// # Errors
/// Damaged files, and files of a later version of the format.
pub fn read(name: &str, bytes: &[u8]) -> Result<FlentFile, FileError> {
    read_limited(name, bytes, MAX_BYTES)
}

/// Reads a file of at most `limit` bytes of text.
fn read_limited(name: &str, bytes: &[u8], limit: u64) -> Result<FlentFile, FileError> {
    let fails = |message: String| FileError::of(name, message);
    if bytes.starts_with(b"BZh") {
        return Err(fails("is compressed by bzip2; legal: JSON or gzip. Decompress it first (bunzip2)".into()));
    }
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let read = MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut text);
        read.map_err(|e| fails(format!("the compressed data are damaged: {e}; copy the file again")))?;
    } else {
        text.extend_from_slice(&bytes[..bytes.len().min(limit as usize + 1)]);
    }
    if text.len() as u64 > limit {
        return Err(fails(format!("has more than {} MiB of text, the limit for a result file of Flent", limit >> 20)));
    }
    let document: Document = serde_json::from_slice(&text)
        .map_err(|e| fails(format!("is not a result file of Flent: {e}; legal: .flent or .flent.gz as Flent writes it")))?;
    checked(document).map_err(fails)
}

fn checked(d: Document) -> Result<FlentFile, String> {
    if let Some(version) = d.version.filter(|v| *v > VERSION) {
        return Err(format!("has version {version} of the format; legal: up to {VERSION}"));
    }
    // JSON has no infinite numbers, but 1e999 is one for a parser.
    let ascends = d.x_values.iter().all(|x| x.is_finite()) && d.x_values.windows(2).all(|w| w[0] < w[1]);
    if d.x_values.is_empty() || !ascends {
        return Err("`x_values` must be ascending numbers of seconds, at least one".into());
    }
    for (name, values) in &d.results {
        if values.len() != d.x_values.len() {
            return Err(format!("`{name}` has {} values for {} `x_values`", values.len(), d.x_values.len()));
        }
    }
    let Metadata { name: test, title, series: metadata } = d.metadata;
    let unit = |name: &str| match metadata.get(name).and_then(|m| m.units.as_deref()) {
        Some(units) => [FlentUnit::MegabitsPerSecond, FlentUnit::Milliseconds].into_iter().find(|u| u.name() == units),
        None => unit_of_name(name),
    };
    let series = d.results.into_iter().map(|(name, values)| FlentSeries { unit: unit(&name), name, values });
    Ok(FlentFile { test, title: title.unwrap_or_default(), times: d.x_values, series: series.collect() })
}

/// Unit of a series in files that do not state it: computed series and those of old versions.
fn unit_of_name(name: &str) -> Option<FlentUnit> {
    if name.contains("(ms)") {
        Some(FlentUnit::Milliseconds)
    } else if name.contains("fairness") {
        None
    } else {
        name.starts_with("TCP ").then_some(FlentUnit::MegabitsPerSecond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    const SAMPLE: &str = r#"{"version": 4, "x_values": [0.0, 0.2, 0.4],
        "results": {"Ping (ms) ICMP": [1.5, null, 2], "TCP upload": [9.5, 9.25, 9], "cpu": [1, 2, 3]},
        "metadata": {"NAME": "tcp_upload", "TITLE": null, "SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}, "cpu": {"UNITS": "load"}}},
        "raw_values": {"TCP upload": [{"t": 5.0, "val": 9.5}]}}"#;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn series_with_units_and_gaps() {
        for bytes in [SAMPLE.as_bytes().to_vec(), gzip(SAMPLE.as_bytes())] {
            let file = read("x.flent", &bytes).unwrap();
            assert_eq!((file.test.as_str(), file.title.as_str(), &file.times[..]), ("tcp_upload", "", &[0.0, 0.2, 0.4][..]));
            let found: Vec<_> = file.series.iter().map(|s| (s.name.as_str(), s.unit, s.values[1])).collect();
            let (ms, rate) = (Some(FlentUnit::Milliseconds), Some(FlentUnit::MegabitsPerSecond));
            assert_eq!(found, [("Ping (ms) ICMP", ms, None), ("TCP upload", rate, Some(9.25)), ("cpu", None, Some(2.0))]);
        }
    }

    #[test]
    fn damaged_files_refused() {
        let refused = |bytes: &[u8]| read("x.flent.gz", bytes).unwrap_err().to_string();
        let change = |from: &str, to: &str| {
            assert!(SAMPLE.contains(from));
            refused(SAMPLE.replace(from, to).as_bytes())
        };
        assert!(change("\"version\": 4", "\"version\": 5").contains("version 5 of the format; legal: up to 4"));
        assert!(change("9.5, 9.25, 9", "9.5, 9.25").contains("`TCP upload` has 2 values for 3 `x_values`"));
        assert!(change("0.2, 0.4", "0.4, 0.2").contains("ascending"));
        assert!(change("0.2, 0.4", "0.2, NaN").contains("not a result file of Flent"));
        assert!(change("\"NAME\"", "\"N\"").contains("missing field `NAME`"));
        assert!(refused(b"BZh9").contains("bunzip2"));
        assert!(refused(b"").starts_with("x.flent.gz: is not a result file of Flent"));
        let whole = gzip(SAMPLE.as_bytes());
        for length in 2..whole.len() {
            assert!(refused(&whole[..length]).contains("damaged"), "{length} bytes");
        }
    }

    /// A kilobyte of gzip is a megabyte of blanks.
    #[test]
    fn expansion_is_limited() {
        let bomb = gzip(&vec![b' '; (1 << 20) + 2]);
        assert!(bomb.len() < 10_000);
        assert!(read_limited("x.flent.gz", &bomb, 1 << 20).unwrap_err().to_string().contains("more than 1 MiB"));
    }
}
