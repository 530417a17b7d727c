//! The page with the last comparison.

use super::Row;
use super::points::Point;
use super::setup::Peer;
use std::fmt::Write;

/// The page: one table a section, and the figures outside their tolerances, with their causes.
pub(super) fn page(points: &[Point], rows: &[Row], left_out: &[String], versions: &str) -> String {
    let inside = rows.iter().filter(|r| r.inside).count();
    let mut t = format!(
        "# Comparison with ns-2 and ns-3\n\n\
         `make peers` writes this page. A test compares the figures of forebay; those of the peers are from its last run, with {versions}.\n\
         Both simulators are Debian's packages, unchanged,\n\
         and their programs are in `benches/peers`. Both sides have the same network, the same starts and the same packet sizes. forebay uses its\n\
         stack `ns2` beside ns-2, without handshake as in ns-2's one-way agents, and `rfc` beside ns-3.\n\n\
         Beside ns-2, each packet of several flows takes up to 1 us longer at its sender, on both sides. Without that, phase effects determine the\n\
         figures of ns-2, and 100 ns change them: 20 Reno flows with a minimum RTO of 1 ms have 301 timeouts without, and 680 with up to 100 ns.\n\
         Incast of 16 senders (64 packets of buffer, blocks of 22) has 1 and 8, of 8 senders with blocks of 45 it has 78 and 16.\n\n\
         Numbers are means over the given starts. **{inside} of {} figures lie inside their bands.**\n",
        rows.len()
    );
    let mut section = "";
    for row in rows {
        let point = &points[row.point];
        if point.section != section {
            section = point.section;
            let peer = if point.setup.peer == Peer::Ns2 { "ns-2" } else { "ns-3" };
            let _ = write!(
                t,
                "\n## {section}\n\n| set-up | starts | figure | forebay | {peer} | band | |\n|---|--:|---|--:|--:|--:|---|\n"
            );
        }
        let band = point.holds.iter().find(|(f, _)| *f == row.figure).map(|(_, b)| *b);
        let band = match band {
            Some(b) if b.0 > 0.0 && b.1 > 0.0 => format!("{:.0} % or {}", b.0 * 100.0, b.1),
            Some(b) if b.0 > 0.0 => format!("{:.0} %", b.0 * 100.0),
            Some(b) => format!("{}", b.1),
            None => String::new(),
        };
        let verdict = if row.inside { "inside" } else { "**outside**" };
        let _ = writeln!(
            t,
            "| {} | {} | {} | {} | {} | {band} | {verdict} |",
            point.name,
            point.seeds,
            row.figure.name(),
            short(row.own),
            short(row.peer)
        );
    }
    t.push_str("\n## Figures outside, and their causes\n\n");
    let mut any = false;
    for (i, point) in points.iter().enumerate() {
        let outside: Vec<&str> = rows.iter().filter(|r| r.point == i && !r.inside).map(|r| r.figure.name()).collect();
        if !outside.is_empty() {
            any = true;
            let cause = if point.cause.is_empty() { "The cause is unknown." } else { point.cause };
            let _ = writeln!(t, "* **{}: {}** ({}). {cause}", point.section, point.name, outside.join("; "));
        }
    }
    if !any {
        t.push_str("Nothing.\n");
    }
    for why in left_out {
        let _ = writeln!(t, "* Not compared: {why}");
    }
    t
}

/// A readable number of digits.
fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 || x == x.round() => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.3}"),
    }
}
