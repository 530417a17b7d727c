//! One scenario on both backends.

use super::scenarios::Case;
use forebay_experiment::Experiment;
use forebay_experiment::kernel::Kernel;
use forebay_experiment::report::Report;
use forebay_experiment::rows::{PacketRow, TcpRow};
use forebay_runner::trace_diff::{Alignment, align};
use forebay_scenario::Scenario;
use forebay_store::RunInfo;
use forebay_store::summary::summarise;
use forebay_types::Time;
use std::io::{self, Write};
use std::ops::ControlFlow;

/// Results of a scenario on a backend.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Goodput of all transports together, bit/s.
    pub goodput: f64,
    /// Mean queue at the bottleneck, packets.
    pub queue: f64,
    pub timeouts: u64,
    pub retransmitted: u64,
    pub marks: u64,
}

/// A scenario on both backends: the simulator first.
#[derive(Debug)]
pub(crate) struct Row {
    pub figures: [Figures; 2],
    pub connections: usize,
    /// Connections with identical packets.
    pub identical: usize,
    /// Fewest packets of a connection before its first difference; `None` without differences.
    pub common: Option<usize>,
}

impl Row {
    /// True if the first 1000 packets of every connection are the same to the nanosecond.
    pub(super) fn thousand(&self) -> bool {
        self.common.is_none_or(|common| common >= 1_000)
    }

    /// Goodput in the simulator over that in Linux.
    pub(super) fn goodput(&self) -> f64 {
        ratio(self.figures[0].goodput, self.figures[1].goodput)
    }

    /// Mean queue in the simulator over that in Linux.
    pub(super) fn queue(&self) -> f64 {
        ratio(self.figures[0].queue, self.figures[1].queue)
    }

    /// True if the numbers of timeouts and of retransmissions are equal.
    pub(super) fn repairs(&self) -> bool {
        let of = |f: &Figures| (f.timeouts, f.retransmitted);
        of(&self.figures[0]) == of(&self.figures[1])
    }
}

/// 1 for two zeros.
fn ratio(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { a / b }
}

/// Prints the packets of both backends at the first divergence of a connection, `around` before it and after it.
fn show(found: &[Alignment], reports: [&Report; 2], around: usize, print: &mut dyn Write) -> io::Result<()> {
    let when = |a: &&Alignment| a.first.iter().flat_map(|f| f.packet).flatten().map(|p| p.time_ps).min();
    let Some(a) = found.iter().filter(|a| a.first.is_some()).min_by_key(when) else { return Ok(()) };
    let Some(first) = &a.first else { return Ok(()) };
    writeln!(
        print,
        "connection {}: after {} packets, {} {}",
        a.conn_id,
        a.alike,
        if first.back { "ACK" } else { "packet" },
        first.place
    )?;
    show_states(found, reports, around, print)?;
    for (report, state) in reports.into_iter().zip(&first.state) {
        let ps = first.packet.iter().flatten().map(|p| p.time_ps).min().unwrap_or(0);
        // Of all connections: the cause is often a packet of another one.
        let mut all: Vec<_> = report.packets.iter().collect();
        all.sort_by_key(|p| p.time_ps);
        let at = all.partition_point(|p| p.time_ps < ps);
        for p in &all[at.saturating_sub(around)..(at + around).min(all.len())] {
            let what = if p.back { "ack" } else { "seq" };
            let (time, conn) = (p.time_ps as f64 / 1e6, p.conn_id);
            writeln!(print, "  {time:>13.3} us connection {conn} {what} {} {} {}", p.number, p.payload, flags(p))?;
        }
        writeln!(print, "  {state:?}")?;
    }
    Ok(())
}

/// Prints the first difference between the states of a sender on the two backends, which may precede that of its packets.
fn show_states(found: &[Alignment], reports: [&Report; 2], around: usize, print: &mut dyn Write) -> io::Result<()> {
    // The amount of outstanding data may differ in a row and agree after it: a process that waits for space in its send buffer writes after the ACK.
    let of = |t: &TcpRow| (t.time_ps, t.cwnd, t.ssthresh, t.ca_state);
    let differing = found.iter().filter_map(|a| {
        let rows = reports.map(|r| r.tcp.iter().filter(|t| t.conn_id == a.conn_id).collect::<Vec<TcpRow>>());
        // The handshake's row: in a kernel the first data leaves after it.
        let at = 1 + rows[0].iter().zip(&rows[1]).skip(1).position(|(s, l)| of(s) != of(l))?;
        Some((rows[0][at].time_ps.min(rows[1][at].time_ps), a.conn_id, at, rows))
    });
    let Some((_, conn, at, rows)) = differing.min_by_key(|d| (d.0, d.1)) else { return Ok(()) };
    writeln!(print, "connection {conn}: the senders' states differ from ACK {at} on:")?;
    for rows in rows {
        for t in &rows[at.saturating_sub(around)..(at + around).min(rows.len())] {
            let (time, thresh) = (t.time_ps as f64 / 1e6, t.ssthresh.unwrap_or(f64::INFINITY));
            let TcpRow { bytes_acked, cwnd, unacked_bytes, ca_state, .. } = t;
            let (srtt, rto) = (t.srtt_ps.map_or(0.0, |p| p as f64 / 1e6), t.rto_ps as f64 / 1e6);
            writeln!(
                print,
                "  {time:>13.3} us acked {bytes_acked} cwnd {cwnd} ssthresh {thresh} unacked {unacked_bytes} state {ca_state} srtt {srtt:.3} rto {rto:.0}"
            )?;
        }
        writeln!(print)?;
    }
    Ok(())
}

fn flags(p: &PacketRow) -> String {
    [(p.syn, "SYN "), (p.fin, "FIN "), (p.ece, "ECE "), (p.cwr, "CWR "), (p.ce, "CE ")]
        .iter()
        .filter(|f| f.0)
        .map(|f| f.1)
        .collect()
}

/// Runs `case` on both backends, and prints `around` packets before and after the first difference.
pub(crate) fn both(case: &Case, around: Option<usize>, print: &mut dyn Write) -> Result<Row, String> {
    let (name, text) = (case.name.as_str(), case.text.as_str());
    let [(sim, report), (linux, other)] = [in_world("sim", name, text)?, in_world("linux", name, text)?];
    let found = align(&report, &other, case.within);
    if let Some(around) = around {
        show(&found, [&report, &other], around, print).map_err(super::unwritten)?;
    }
    Ok(Row {
        figures: [sim, linux],
        connections: found.len(),
        identical: found.iter().filter(|a| a.first.is_none()).count(),
        common: found.iter().filter(|a| a.first.is_some()).map(|a| a.alike).min(),
    })
}

fn in_world(world: &str, name: &str, text: &str) -> Result<(Figures, Report), String> {
    let sets = [format!("world={world}")];
    let scenario = Scenario::from_text(forebay_backends::all(), text, name, "".as_ref(), &sets, None);
    let resolved = scenario.and_then(|s| s.resolve()).map_err(|e| e.render())?;
    let mut config: Experiment = resolved.variants[0].config.clone();
    config.set_seed(resolved.run_seed(0));
    // The simulator follows the release of the kernel that it is compared with.
    let release = forebay_backends::all().find("linux").and_then(|w| Kernel::of_version(&w.version())).unwrap_or_default();
    config.groups.iter_mut().filter(|g| g.tcp.is_linux()).for_each(|g| g.tcp.stack.kernel = release);
    config.observe.packets = true;
    // Connections have numbers from 0; those beyond the last are not there.
    config.observe.tcp_series = (0..1_000).map(|conn| (conn, Time::ZERO)).collect();
    let checked = config.check().map_err(|e| e.to_string())?;
    let report =
        resolved.world.run(checked, config.seed, &mut |_| ControlFlow::Continue(())).map_err(|e| format!("{world}: {e}"))?;
    let summary = summarise(&RunInfo::new(world, "", 0, &config), &config, &report);
    let seconds = report.end.saturating_sub(report.measured_from).as_secs_f64();
    let figures = Figures {
        goodput: report.acked.iter().sum::<u64>() as f64 * 8.0 / seconds.max(1e-12),
        queue: summary.network.queue_mean.unwrap_or(0.0),
        timeouts: report.flows.iter().map(|f| u64::from(f.rtos) + u64::from(f.syn_rtos)).sum(),
        retransmitted: report.flows.iter().map(|f| f.segs_retx).sum(),
        marks: summary.network.marks,
    };
    Ok((figures, report))
}
