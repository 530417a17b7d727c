//! The rows as a table for people and as CSV.

use super::measure::{Figures, Row};
use super::scenarios::Case;
use std::fmt::Write;

/// Tolerance for equal goodput and mean queue.
const GOODPUT: f64 = 0.01;
const QUEUE: f64 = 0.02;

/// One line for people.
pub(crate) fn line(case: &Case, row: &Row) -> String {
    let [sim, linux] = &row.figures;
    let common = row.common.map_or_else(|| "all".to_owned(), |n| n.to_string());
    format!(
        "{:<36} {:>3}/{:<3} {common:>7}  goodput {:6.3}  queue {:6.3}  timeouts {}/{}  retransmitted {}/{}  marks {}/{}",
        case.name,
        row.identical,
        row.connections,
        row.goodput(),
        row.queue(),
        sim.timeouts,
        linux.timeouts,
        sim.retransmitted,
        linux.retransmitted,
        sim.marks,
        linux.marks
    )
}

/// True if goodput, mean queue, timeouts and retransmissions agree.
fn agrees(row: &Row) -> bool {
    (row.goodput() - 1.0).abs() <= GOODPUT && (row.queue() - 1.0).abs() <= QUEUE && row.repairs()
}

/// Cause of the difference; empty if the backends agree.
fn cause(case: &Case, row: &Row) -> &'static str {
    match (agrees(row), case.cause) {
        (true, _) => "",
        (false, "") => "unknown",
        (false, known) => known,
    }
}

/// Number of scenarios that agree.
pub(crate) fn summary(rows: &[(&Case, Row)]) -> String {
    let count = |f: &dyn Fn(&Row) -> bool| rows.iter().filter(|r| f(&r.1)).count();
    format!(
        "{} scenarios: in {} the first 1000 packets of every connection are the same, in {} all packets; in {} goodput within 1 %, in {} the \
         mean queue within 2 %, in {} timeouts and retransmissions equal, in {} all three",
        rows.len(),
        count(&Row::thousand),
        count(&|r| r.common.is_none()),
        count(&|r| (r.goodput() - 1.0).abs() <= GOODPUT),
        count(&|r| (r.queue() - 1.0).abs() <= QUEUE),
        count(&Row::repairs),
        count(&agrees),
    )
}

/// All rows for programs.
pub(crate) fn csv(rows: &[(&Case, Row)]) -> String {
    let mut out = String::from(
        "scenario,connections,identical_connections,common_packets,first_1000_identical,goodput_sim_bps,goodput_linux_bps,goodput_ratio,\
         queue_sim_pkts,queue_linux_pkts,queue_ratio,timeouts_sim,timeouts_linux,retransmitted_sim,retransmitted_linux,marks_sim,marks_linux,cause\n",
    );
    for (case, row) in rows {
        let pair = |f: &dyn Fn(&Figures) -> String| row.figures.iter().map(f).collect::<Vec<_>>().join(",");
        let common = row.common.map_or_else(|| "all".to_owned(), |n| n.to_string());
        let _ = writeln!(
            out,
            "{},{},{},{common},{},{},{:.4},{},{:.4},{},{},{},\"{}\"",
            case.name,
            row.connections,
            row.identical,
            row.thousand(),
            pair(&|f| format!("{:.0}", f.goodput)),
            row.goodput(),
            pair(&|f| format!("{:.3}", f.queue)),
            row.queue(),
            pair(&|f| f.timeouts.to_string()),
            pair(&|f| f.retransmitted.to_string()),
            pair(&|f| f.marks.to_string()),
            cause(case, row),
        );
    }
    out
}
