//! Tables for people (Markdown, also readable as it is) and JSON for programs.

use crate::cases::CASES;
use crate::json::rounded;
use crate::peers::{ENGINES, Engine};
use crate::results::{Results, Row};
use crate::stats::Spread;
use serde_json::json;
use std::fmt::Write;

/// The table, with its explanation.
pub(crate) fn table(results: &Results) -> String {
    let mut lines = vec![
        [
            "case",
            "simulator",
            "M transmissions / user-CPU s",
            "forebay is faster by",
            "peak memory",
            "user s per simulated s",
            "instructions / hop",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for row in &results.rows {
        let own = results.row(row.case, Engine::Forebay);
        let ratio = own.filter(|_| row.engine != Engine::Forebay).map(|o| format!("{:.1}x", o.pts.median / row.pts.median));
        lines.push(vec![
            row.case.name.to_owned(),
            row.engine.name().to_owned(),
            range(row.pts, 1e6),
            ratio.unwrap_or_default(),
            format!("{:.0} MB", row.peak_kb as f64 / 1024.0),
            significant(row.user_s.median / row.sim_s),
            row.instructions.map(|i| format!("{i:.0}")).unwrap_or_default(),
        ]);
    }
    let mut out = format!("Median (smallest to largest) of {} interleaved runs.\n\n", results.runs);
    out.push_str(&markdown(&lines));
    out.push_str("\nThe work, to see that it is the same:\n\n");
    out.push_str(&markdown(&work(results)));
    out.push('\n');
    if let Some(extra) = &results.extra {
        let _ = writeln!(
            out,
            "Memory: {:.0} open connections in {:.0} MB, of which the network takes {:.0} MB: {:.0} bytes a connection, packets in\nflight included; {:.1} M transmissions / user-CPU s.\n",
            extra.flows,
            extra.flows_kb / 1024.0,
            extra.empty_kb / 1024.0,
            extra.bytes_per_flow(),
            extra.flows_pts / 1e6
        );
        for (n, wall, user) in &extra.scale {
            let _ = writeln!(
                out,
                "s2, {n} at a time: {:.1} M transmissions / s of wall time, {:.1} M / user-CPU s.",
                wall / 1e6,
                user / 1e6
            );
        }
        out.push('\n');
    }
    out.push_str(&notes(results));
    out
}

/// Transmissions per simulated second, beside forebay's.
fn work(results: &Results) -> Vec<Vec<String>> {
    let head = ["case", "simulator", "simulated", "transmissions", "per simulated s", "beside forebay", "per round"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for row in &results.rows {
        let rate = |r: &Row| r.transmissions / r.sim_s;
        let own = results.row(row.case, Engine::Forebay).map(|o| rate(row) / rate(o));
        lines.push(vec![
            row.case.name.to_owned(),
            row.engine.name().to_owned(),
            format!("{} s", significant(row.sim_s)),
            format!("{:.2} M", row.transmissions / 1e6),
            format!("{:.2} M", rate(row) / 1e6),
            own.map(significant).unwrap_or_default(),
            row.work.filter(|_| row.case.name == "s3").map(|w| format!("{:.0}", row.transmissions / w)).unwrap_or_default(),
        ]);
    }
    lines
}

fn notes(results: &Results) -> String {
    let ran = |e: Engine| results.rows.iter().any(|r| r.engine == e);
    let mut out = String::from(
        "* A transmission is one packet, data or ACK, on one link. forebay's time includes building the network, the peers' does not.\n",
    );
    if ran(Engine::Ns2) {
        out.push_str(
            "* ns-2 has no DCTCP: s2, s3 and ws144 are NewReno with ECN on a RED queue set up as a step. In s3 its window falls below one\n  \
             packet and nearly every round waits for a timeout, which costs no CPU time; compare transmissions per round.\n\
             * \"tuned\" keeps only the packet headers in use and takes the fastest scheduler; \"stock\" is what a script gets that changes\n  \
             neither (all headers, calendar queue). Both are timed without their transmission counters, which cost 3 to 4 %.\n",
        );
    }
    if ran(Engine::Ns3) {
        out.push_str(
            "* ns-3 is measured on runs shortened to some seconds of CPU time; its time per simulated second is extrapolated from them. A short\n  \
             run has more of the start: slow start in s1, the losses of the first round in s3, few flows open in ws144.\n",
        );
    }
    for (engine, why) in &results.missing {
        let _ = writeln!(out, "* {} is not in the table: {why}.", engine.name());
    }
    if let Some(why) = &results.no_instructions {
        let _ = writeln!(out, "* No instruction counts: {why}.");
    } else {
        out.push_str(
            "* Instructions are the difference of two run lengths under callgrind, so that set-up does not blur them.\n",
        );
    }
    out
}

/// Columns padded to equal widths, text to the left and numbers to the right.
fn markdown(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |c: usize| lines.iter().map(|l| l[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (n, line) in lines.iter().enumerate() {
        let cell = |(c, text): (usize, &String)| {
            if c < 2 { format!("| {text:<w$} ", w = widths[c]) } else { format!("| {text:>w$} ", w = widths[c]) }
        };
        let _ = writeln!(out, "{}|", line.iter().enumerate().map(cell).collect::<String>());
        if n == 0 {
            let rule = |(c, w): (usize, &usize)| {
                if c < 2 { format!("|{}", "-".repeat(w + 2)) } else { format!("|{}:", "-".repeat(w + 1)) }
            };
            let _ = writeln!(out, "{}|", widths.iter().enumerate().map(rule).collect::<String>());
        }
    }
    out
}

fn range(s: Spread, unit: f64) -> String {
    let digits = if s.median / unit < 1.0 { 3 } else { 1 };
    format!("{:.digits$} ({:.digits$} to {:.digits$})", s.median / unit, s.min / unit, s.max / unit)
}

/// Three significant digits, without an exponent.
fn significant(x: f64) -> String {
    let digits = (2 - x.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{x:.digits$}")
}

/// All numbers, for programs.
pub(crate) fn json(results: &Results) -> String {
    let spread = |s: Spread| json!({"median": rounded(s.median), "min": rounded(s.min), "max": rounded(s.max)});
    let row = |r: &Row| {
        let mut row = json!({
            "case": r.case.name, "simulator": r.engine.key(), "sim_s": rounded(r.sim_s), "transmissions": rounded(r.transmissions),
            "pts_per_user_s": spread(r.pts), "user_s": spread(r.user_s), "peak_kb": r.peak_kb,
        });
        for (key, value) in [("instructions_per_hop", r.instructions), ("work", r.work)] {
            if let Some(value) = value {
                row[key] = rounded(value).into();
            }
        }
        row
    };
    let ratios = CASES.iter().flat_map(|case| {
        let own = results.row(case, Engine::Forebay);
        ENGINES.into_iter().filter(|&e| e != Engine::Forebay).filter_map(move |engine| {
            let ratio = own?.pts.median / results.row(case, engine)?.pts.median;
            Some(json!({"case": case.name, "to": engine.key(), "ratio": rounded(ratio)}))
        })
    });
    let missing = results.missing.iter().map(|(e, why)| json!({"simulator": e.key(), "why": why}));
    let mut all = json!({
        "forebay": env!("CARGO_PKG_VERSION"), "runs": results.runs, "rows": results.rows.iter().map(row).collect::<Vec<_>>(),
        "ratios": ratios.collect::<Vec<_>>(), "missing": missing.collect::<Vec<_>>(),
    });
    if let Some(extra) = &results.extra {
        all["flows100k"] = json!({
            "connections": extra.flows, "peak_kb": extra.flows_kb, "network_kb": extra.empty_kb,
            "bytes_per_connection": rounded(extra.bytes_per_flow()), "pts_per_user_s": rounded(extra.flows_pts),
        });
        let scale = extra.scale.iter().map(
            |&(n, wall, user)| json!({"runs_at_a_time": n, "pts_per_wall_s": rounded(wall), "pts_per_user_s": rounded(user)}),
        );
        all["scale"] = scale.collect();
    }
    format!("{all:#}\n")
}
