//! Time series of queues, senders, timeouts and goodput.

use crate::data::{Data, GoodputSeries, QueueSeries, SenderSeries, Timeout};
use crate::row_context::{Groups, NameIndex, RowContext, exceeds_row_limit, numbered};
use forebay_experiment::rows::TimeoutKind;
use forebay_store::rows::Rows;
use forebay_store::{RunDir, StoreError};
use std::collections::BTreeMap;

pub(crate) fn queues(data: &mut Data, dir: &RunDir, finder: &NameIndex, of: &str) -> Result<(), StoreError> {
    if exceeds_row_limit(data, dir, "queue", of) {
        return Ok(());
    }
    let mut index: BTreeMap<(usize, String), usize> = BTreeMap::new();
    dir.each("queue", &["variant", "run", "time_ns", "port", "pkts", "drops", "marks"], &mut |batch| {
        let rows = Rows::new(batch);
        let port = rows.text("port", str::to_owned);
        let [time, pkts, drops, marks] = ["time_ns", "pkts", "drops", "marks"].map(|c| rows.int(c));
        let mut place = RowContext::of(&rows, finder);
        let mut last: Option<(usize, &String, usize)> = None;
        for row in 0..rows.len() {
            let (Some(run), Some(name)) = (place.run(row), port.get(row)) else { continue };
            let at = match last {
                Some((r, n, at)) if r == run && n == name => at,
                _ => *index.entry((run, name.clone())).or_insert_with(|| {
                    data.queues.push(QueueSeries { run, port: name.clone(), ..QueueSeries::default() });
                    data.queues.len() - 1
                }),
            };
            last = Some((run, name, at));
            let s = &mut data.queues[at];
            s.times.push(time.get(row).unwrap_or(0));
            s.pkts.push(pkts.count(row) as f64);
            s.drops.push(drops.count(row));
            s.marks.push(marks.count(row));
        }
    })
}

pub(crate) fn senders(data: &mut Data, dir: &RunDir, finder: &NameIndex, of: &str) -> Result<(), StoreError> {
    if exceeds_row_limit(data, dir, "tcp", of) {
        return Ok(());
    }
    let mut index: BTreeMap<(usize, i64), usize> = BTreeMap::new();
    dir.each("tcp", &["variant", "run", "time_ns", "conn_id", "cwnd", "srtt_ns", "alpha"], &mut |batch| {
        let rows = Rows::new(batch);
        let [time, conn, srtt] = ["time_ns", "conn_id", "srtt_ns"].map(|c| rows.int(c));
        let (cwnd, alpha) = (rows.float("cwnd"), rows.float("alpha"));
        let mut place = RowContext::of(&rows, finder);
        for row in 0..rows.len() {
            let (Some(run), Some(conn)) = (place.run(row), conn.get(row)) else { continue };
            let at = *index.entry((run, conn)).or_insert_with(|| {
                // The first subject of the network, until a message of the connection is found.
                let subject = data.networks[data.runs[run].network].first;
                data.senders.push(SenderSeries { run, conn, subject, ..SenderSeries::default() });
                data.senders.len() - 1
            });
            let s = &mut data.senders[at];
            s.times.push(time.get(row).unwrap_or(0));
            s.cwnd.push(cwnd.get(row));
            s.alpha.push(alpha.get(row));
            s.srtt.push(srtt.get(row).map(|ns| ns as f64 * 1e-9));
        }
    })
}

pub(crate) fn timeouts(data: &mut Data, dir: &RunDir, finder: &NameIndex, of: &str) -> Result<(), StoreError> {
    if exceeds_row_limit(data, dir, "timeouts", of) {
        return Ok(());
    }
    dir.each("timeouts", &["variant", "run", "transport", "kind", "time_ns", "conn_id", "flow_id", "rto_ns"], &mut |batch| {
        let rows = Rows::new(batch);
        let groups = Groups::of(&rows, data, finder);
        let [time, conn, rto, flow] = ["time_ns", "conn_id", "rto_ns", "flow_id"].map(|c| rows.int(c));
        let kinds = rows.text("kind", |kind| TimeoutKind::of(kind).unwrap_or_default());
        let mut place = RowContext::of(&rows, finder);
        for row in 0..rows.len() {
            let Some(run) = place.run(row) else { continue };
            let Some(subject) = groups.subject(data.runs[run].network, row) else { continue };
            let kind = kinds.get(row).copied().unwrap_or_default();
            let timers = if kind.is_timeout() { &mut data.timeouts } else { &mut data.probes };
            timers.push(Timeout {
                run,
                subject,
                conn: conn.get(row).unwrap_or(-1),
                flow: flow.get(row).and_then(|f| u64::try_from(f).ok()),
                kind,
                time_ns: time.get(row).unwrap_or(0),
                rto: rto.count(row) as f64 * 1e-9,
            });
        }
    })
}

pub(crate) fn goodput(data: &mut Data, dir: &RunDir, finder: &NameIndex, of: &str) -> Result<(), StoreError> {
    if exceeds_row_limit(data, dir, "goodput", of) {
        return Ok(());
    }
    let mut index: BTreeMap<(usize, usize, u32, Option<String>), usize> = BTreeMap::new();
    let mut classes: BTreeMap<String, u32> = data.classes.iter().cloned().zip(0..).collect();
    for batch in
        &dir.columns("goodput", &["variant", "run", "class", "transport", "port", "start_ns", "end_ns", "goodput_bps"])?
    {
        let rows = Rows::new(batch);
        let groups = Groups::of(&rows, data, finder);
        let class = rows.text("class", |name| numbered(name, &mut classes, &mut data.classes));
        let port = rows.text("port", str::to_owned);
        let (start, end, bps) = (rows.int("start_ns"), rows.int("end_ns"), rows.float("goodput_bps"));
        let mut place = RowContext::of(&rows, finder);
        for row in 0..rows.len() {
            let (Some(run), Some(&class), Some(bps)) = (place.run(row), class.get(row), bps.get(row)) else { continue };
            let Some(subject) = groups.subject(data.runs[run].network, row) else { continue };
            let port = port.get(row).cloned();
            let at = *index.entry((run, subject, class, port.clone())).or_insert_with(|| {
                data.goodput.push(GoodputSeries { run, subject, class, port, ..GoodputSeries::default() });
                data.goodput.len() - 1
            });
            data.goodput[at].intervals.push((start.get(row).unwrap_or(0), end.get(row).unwrap_or(0)));
            data.goodput[at].bps.push(bps);
        }
    }
    Ok(())
}
