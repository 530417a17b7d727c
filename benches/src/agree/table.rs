//! The page with the last comparison.

use super::Row;
use super::points::Point;
use super::setup::Peer;
use std::fmt::Write;

/// The page: one table a section, and the figures outside their tolerances, with their causes.
pub(super) fn page(points: &[Point], rows: &[Row], left_out: &[String], versions: &str) -> String {
    let inside = rows.iter().filter(|r| r.inside).count();
    let mut t = format!(
        "# Beside ns-2 and ns-3\n\n\
         Written by `make peers`; the numbers are those of its last run, with {versions}. The peers are Debian's packages, unchanged; their\n\
         programs are in `benches/peers`. Both sides have the same network, the same starts and the same packet sizes, forebay its stack `ns2`\n\
         beside ns-2 (without handshake: ns-2's one-way agents have none) and `rfc` beside ns-3. Beside ns-2 each packet of several flows takes up\n\
         to 1 us longer at its sender, on both sides: without, ns-2's figures are those of phase effects, and 100 ns are enough to change\n\
         them (20 Reno flows with a minimum RTO of 1 ms: 301 timeouts without, 680 with up to 100 ns; incast of 16 senders with 64 packets\n\
         of buffer and blocks of 22: 1 and 8; of 8 with blocks of 45: 78 and 16). Numbers are means over several starts where\n\
         the set-up says so. **{inside} of {} figures lie inside their bands.**\n",
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
    t.push_str("\n## What lies outside, and why\n\n");
    let mut any = false;
    for (i, point) in points.iter().enumerate() {
        let outside: Vec<&str> = rows.iter().filter(|r| r.point == i && !r.inside).map(|r| r.figure.name()).collect();
        if !outside.is_empty() {
            any = true;
            let cause = if point.cause.is_empty() { "The cause is not known." } else { point.cause };
            let _ = writeln!(t, "* {}, {} ({}): {cause}", point.section, point.name, outside.join(", "));
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
