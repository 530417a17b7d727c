//! Goodput and observed senders over time as a result file of Flent.

use super::{Args, Written};
use crate::terminal::failure::Failure;
use forebay_formats::flent::{FlentResult, SocketSample, Stream};
use forebay_runner::recorded;
use forebay_store::RunDir;
use forebay_store::rows::Rows;
use std::collections::{BTreeMap, HashMap};

const NS: f64 = 1e-9;

/// Workload and transport group.
type Source = (String, String);
/// A source and its port: what a row of the table `goodput` is about.
type StreamKey = (Source, Option<String>);

/// Goodput of a stream: the bounds of each interval in ns, with the rate in bit/s.
type Goodput = Vec<((i64, i64), Option<f64>)>;

/// The file, with a stream for each workload, transport and port, as in the table `goodput`.
pub(super) fn export(run: &RunDir, args: &Args) -> Result<Written, Failure> {
    let manifest = run.manifest();
    let (variant, record) = recorded(manifest, args.variant.as_ref(), args.run)?;
    let selection = Selection { variant: &variant, run: args.run };
    let goodput = selection.goodput(run)?;
    let Some((_, intervals)) = goodput.first() else {
        return Err(Failure::Usage(format!(
            "run {} of {variant} has no goodput over time: its backend counts no packets",
            args.run
        )));
    };
    let mut sockets = selection.sockets(run)?;
    let middle = |(from, to): (i64, i64)| (from + (to - from) / 2) as f64 * NS;
    let times: Vec<f64> = intervals.iter().map(|(bounds, _)| middle(*bounds)).collect();
    let step = intervals.first().map_or(0.0, |((from, to), _)| (to - from) as f64 * NS);
    let streams: Vec<Stream> = goodput
        .iter()
        .map(|((source, port), values)| Stream {
            id: [&source.0, &source.1].into_iter().chain(port).map(String::as_str).collect::<Vec<_>>().join(", "),
            goodput_bps: values.iter().map(|(_, bps)| *bps).collect(),
            // The connections of a source are in its first stream, whatever their ports are.
            sockets: sockets.remove(source).unwrap_or_default(),
        })
        .collect();
    let samples: usize = streams.iter().map(|s| s.sockets.len()).sum();
    let contents = format!("{} streams of {variant}, run {}, with {samples} samples of senders", streams.len(), args.run);
    let title = format!("{}, {variant}, seed {}", manifest.name, record.seed);
    let result = FlentResult { title, time: manifest.started.clone(), times, step, length: record.end_ns as f64 * NS, streams };
    Ok(Written { contents, write: Box::new(move |out| result.write(out)) })
}

/// A run of a variant.
struct Selection<'a> {
    variant: &'a str,
    run: u32,
}

impl Selection<'_> {
    /// Calls `f` with each batch of a table, and the numbers of the rows that belong to the run.
    fn each(&self, dir: &RunDir, table: &str, columns: &[&str], mut f: impl FnMut(&Rows<'_>, &[usize])) -> Result<(), Failure> {
        let columns: Vec<&str> = ["variant", "run"].iter().chain(columns).copied().collect();
        dir.each(table, &columns, &mut |batch| {
            let rows = Rows::new(batch);
            let (variants, runs) = (rows.text("variant", |name| name == self.variant), rows.int("run"));
            let is_own = |row: &usize| variants.get(*row) == Some(&true) && runs.count(*row) == u64::from(self.run);
            let own: Vec<usize> = (0..rows.len()).filter(is_own).collect();
            f(&rows, &own);
        })?;
        Ok(())
    }

    /// The streams in the order of the table.
    fn goodput(&self, dir: &RunDir) -> Result<Vec<(StreamKey, Goodput)>, Failure> {
        let mut streams: Vec<(StreamKey, Goodput)> = Vec::new();
        let mut places: HashMap<StreamKey, usize> = HashMap::new();
        let columns = ["class", "transport", "port", "start_ns", "end_ns", "goodput_bps"];
        self.each(dir, "goodput", &columns, |rows, own| {
            let [class, transport, port] = ["class", "transport", "port"].map(|name| rows.text(name, str::to_owned));
            let (start, end, bps) = (rows.int("start_ns"), rows.int("end_ns"), rows.float("goodput_bps"));
            for &row in own {
                let source = (class.get(row).cloned().unwrap_or_default(), transport.get(row).cloned().unwrap_or_default());
                let key = (source, port.get(row).cloned());
                let place = *places.entry(key.clone()).or_insert_with(|| {
                    streams.push((key, Vec::new()));
                    streams.len() - 1
                });
                let bounds = (start.get(row).unwrap_or(0), end.get(row).unwrap_or(0));
                streams[place].1.push((bounds, bps.get(row)));
            }
        })?;
        Ok(streams)
    }

    /// Samples of the observed senders, by the source of the first message of their connection.
    fn sockets(&self, dir: &RunDir) -> Result<BTreeMap<Source, Vec<SocketSample>>, Failure> {
        let mut samples: Vec<(i64, SocketSample)> = Vec::new();
        self.each(dir, "tcp", &["time_ns", "conn_id", "cwnd", "srtt_ns", "pacing_rate_bps"], |rows, own| {
            let [time, conn, srtt, pacing] = ["time_ns", "conn_id", "srtt_ns", "pacing_rate_bps"].map(|name| rows.int(name));
            let cwnd = rows.float("cwnd");
            samples.extend(own.iter().map(|&row| {
                let sample = SocketSample {
                    time: time.count(row) as f64 * NS,
                    cwnd: cwnd.get(row),
                    srtt: srtt.get(row).map(|ns| ns as f64 * NS),
                    pacing_rate: pacing.get(row).map(|bps| bps as f64),
                };
                (conn.get(row).unwrap_or(-1), sample)
            }));
        })?;
        if samples.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut sources: HashMap<i64, Option<Source>> = samples.iter().map(|(conn, _)| (*conn, None)).collect();
        self.each(dir, "flows", &["conn_id", "class", "transport"], |rows, own| {
            let conn = rows.int("conn_id");
            let [class, transport] = ["class", "transport"].map(|name| rows.text(name, str::to_owned));
            for &row in own {
                let source = conn.get(row).and_then(|conn| sources.get_mut(&conn));
                if let Some(source @ None) = source {
                    *source = class.get(row).cloned().zip(transport.get(row).cloned());
                }
            }
        })?;
        let mut all: BTreeMap<Source, Vec<SocketSample>> = BTreeMap::new();
        for (conn, sample) in samples {
            if let Some(source) = sources.get(&conn).cloned().flatten() {
                all.entry(source).or_default().push(sample);
            }
        }
        Ok(all)
    }
}
