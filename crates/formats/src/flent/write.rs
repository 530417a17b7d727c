//! Writer of Flent's result files.

use super::{FlentUnit, VERSION};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Flent's test with several streams from this host, whose plots apply to the file.
const TEST: &str = "tcp_nup";

/// Results of a run in the form of a measurement of TCP uploads.
#[derive(Debug, Clone, Default)]
pub struct FlentResult {
    /// Title, which is the label in plots of several files.
    pub title: String,
    /// When the run was made, RFC 3339 in UTC without a fraction.
    pub time: String,
    /// Middle of each interval, s since the start of the run; ascending.
    pub times: Vec<f64>,
    /// Length of an interval, s.
    pub step: f64,
    /// End of the run, s.
    pub length: f64,
    /// The streams.
    pub streams: Vec<Stream>,
}

/// A stream of data.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// Description, which becomes the identifier in the metadata of its series.
    pub id: String,
    /// Goodput in each interval, bit/s; `None` where there is none.
    pub goodput_bps: Vec<Option<f64>>,
    /// Samples of its sockets, in order of time.
    pub sockets: Vec<SocketSample>,
}

/// State of a sender, with the names and units of Flent's socket statistics.
#[derive(Debug, Clone, Copy, Default)]
pub struct SocketSample {
    /// Time since the start of the run, s.
    pub time: f64,
    /// Congestion window, segments.
    pub cwnd: Option<f64>,
    /// Smoothed RTT, s.
    pub srtt: Option<f64>,
    /// Pacing rate, bit/s.
    pub pacing_rate: Option<f64>,
}

const MEGA: f64 = 1e-6;
const MILLI: f64 = 1e3;

impl FlentResult {
    /// Writes the compressed file. Flent accepts it if its name ends in `.flent.gz`. Times of raw values count from 1970-01-01, which is the start of the run.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = GzEncoder::new(out, Compression::default());
        serde_json::to_writer(&mut out, &self.document())?;
        out.finish()?.flush()
    }

    fn document(&self) -> Value {
        let (mut results, mut series, mut raw) = (Map::new(), Map::new(), Map::new());
        let rate = FlentUnit::MegabitsPerSecond.name();
        let mut add = |name: String, units: &str, values: Vec<Option<f64>>, id: Option<&str>| {
            let mut metadata = json!({"UNITS": units});
            if let Some(id) = id {
                metadata["IDENTIFIER"] = id.into();
            }
            series.insert(name.clone(), metadata);
            results.insert(name, json!(values));
        };
        let totals = [
            ("sum", rate, each(self, |v| v.iter().sum::<f64>() * MEGA)),
            ("avg", rate, each(self, |v| v.iter().sum::<f64>() / v.len() as f64 * MEGA)),
            ("fairness", "Idx", each(self, jain)),
        ];
        for (name, units, values) in totals {
            add(format!("TCP upload {name}"), units, values, None);
        }
        for (stream, number) in self.streams.iter().zip(1..) {
            let name = format!("TCP upload::{number}");
            raw.insert(name.clone(), self.raw_values(stream));
            add(name, rate, stream.goodput_bps.iter().map(|v| v.map(|bps| bps * MEGA)).collect(), Some(&stream.id));
        }
        json!({
            "version": VERSION,
            "x_values": self.times,
            "results": results,
            "raw_values": raw,
            "metadata": {
                "NAME": TEST,
                "TITLE": self.title,
                "NOTE": "",
                "TIME": format!("{}.000000Z", self.time.trim_end_matches('Z')),
                "T0": "1970-01-01T00:00:00.000000Z",
                "LENGTH": self.length,
                "TOTAL_LENGTH": self.length,
                "STEP_SIZE": self.step,
                "HOST": "",
                "HOSTS": [],
                "LOCAL_HOST": "",
                "TEST_PARAMETERS": {"upload_streams": self.streams.len().to_string()},
                "SERIES_META": series,
            },
        })
    }

    /// Goodput and samples of the sockets, in order of time.
    fn raw_values(&self, stream: &Stream) -> Value {
        let goodput = self.times.iter().zip(&stream.goodput_bps);
        let goodput = goodput.filter_map(|(t, bps)| bps.map(|bps| (*t, json!({"t": t, "val": bps * MEGA, "dur": self.step}))));
        let sockets = stream.sockets.iter().map(|s| (s.time, socket(s)));
        let mut all: Vec<(f64, Value)> = goodput.chain(sockets).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.into_iter().map(|(_, value)| value).collect()
    }
}

fn socket(s: &SocketSample) -> Value {
    let mut values = Map::new();
    values.insert("t".into(), json!(s.time));
    let columns = [
        ("tcp_cwnd", s.cwnd),
        ("tcp_rtt", s.srtt.map(|seconds| seconds * MILLI)),
        ("tcp_pacing_rate", s.pacing_rate.map(|bps| bps * MEGA)),
    ];
    values.extend(columns.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
    values.into()
}

/// A number for each interval, of the streams with a value in it.
fn each(result: &FlentResult, number: impl Fn(&[f64]) -> f64) -> Vec<Option<f64>> {
    let of = |i: usize| -> Vec<f64> { result.streams.iter().filter_map(|s| s.goodput_bps.get(i).copied().flatten()).collect() };
    (0..result.times.len()).map(of).map(|v| (!v.is_empty()).then(|| number(&v))).collect()
}

/// Jain's fairness index, as Flent computes it: 0 if nothing was sent.
fn jain(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v));
    if squares > 0.0 { sum * sum / (values.len() as f64 * squares) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn written() -> Vec<u8> {
        let stream = |id: &str, goodput_bps: [Option<f64>; 2]| Stream {
            id: id.into(),
            goodput_bps: goodput_bps.to_vec(),
            sockets: vec![SocketSample { time: 0.25, cwnd: Some(10.0), srtt: Some(0.002), pacing_rate: None }],
        };
        let streams = vec![stream("web", [Some(1e6), Some(3e6)]), stream("bulk", [Some(1e6), None])];
        let (title, time) = ("dctcp".into(), "2026-01-02T03:04:05Z".into());
        let result = FlentResult { title, time, times: vec![0.5, 1.5], step: 1.0, length: 2.0, streams };
        let mut out = Vec::new();
        result.write(&mut out).expect("memory");
        out
    }

    #[test]
    fn written_file_is_read() {
        let file = read("x.flent.gz", &written()).expect("a legal file");
        assert_eq!((file.test.as_str(), file.title.as_str(), &file.times[..]), ("tcp_nup", "dctcp", &[0.5, 1.5][..]));
        let series: Vec<_> = file.series.iter().map(|s| (s.name.as_str(), &s.values[..])).collect();
        assert_eq!(
            series,
            [
                ("TCP upload avg", &[Some(1.0), Some(3.0)][..]),
                ("TCP upload fairness", &[Some(1.0), Some(1.0)]),
                ("TCP upload sum", &[Some(2.0), Some(3.0)]),
                ("TCP upload::1", &[Some(1.0), Some(3.0)]),
                ("TCP upload::2", &[Some(1.0), None]),
            ]
        );
    }

    #[test]
    fn socket_samples_are_raw_values() {
        let mut text = String::new();
        io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&written()[..]), &mut text).expect("gzip");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            document["raw_values"]["TCP upload::1"],
            json!([{"t": 0.25, "tcp_cwnd": 10.0, "tcp_rtt": 2.0}, {"t": 0.5, "val": 1.0, "dur": 1.0}, {"t": 1.5, "val": 3.0, "dur": 1.0}])
        );
        assert_eq!(document["metadata"]["TIME"], "2026-01-02T03:04:05.000000Z");
        assert_eq!(document["metadata"]["SERIES_META"]["TCP upload::2"]["IDENTIFIER"], "bulk");
    }

    #[test]
    fn fairness_of_unequal_streams() {
        assert_eq!(jain(&[1.0, 1.0]), 1.0);
        assert_eq!(jain(&[1.0, 0.0]), 0.5);
        assert_eq!(jain(&[0.0, 0.0]), 0.0);
    }
}
