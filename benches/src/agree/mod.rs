//! `forebay-bench agree`: agreement of forebay with ns-2 or ns-3 in the same set-ups, with the same starts.

mod forebay;
#[cfg(test)]
mod page_tests;
mod points;
mod setup;
mod table;

use crate::json::number;
use crate::measure;
use crate::peers::{self, Engine, Peers};
use forebay_platform::files::TempDir;
use points::{Figure, Point, points};
use setup::{Peer, Work};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const NS2: &str = "benches/peers/ns2/agree.tcl";
const NS3: &str = "benches/peers/build/ns3-agree";
const LIMIT: Duration = Duration::from_secs(1800);

/// A figure of a point, on both sides.
#[derive(Debug)]
struct Row {
    point: usize,
    figure: Figure,
    own: f64,
    peer: f64,
    inside: bool,
}

/// Runs all points, or those whose section or name contains the word, prints the table and writes it.
pub(crate) fn execute(args: &[String]) -> Result<(), String> {
    let (mut out, mut word) = (None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--out" => out = Some(args.next().ok_or("--out: expected a file")?.clone()),
            _ => word = Some(arg.clone()),
        }
    }
    let mut peers = Peers::install();
    if peers.missing(Engine::Ns3).is_none()
        && let Err(why) = peers::build_ns3(NS3, &["agree.cc", "net.h"])
    {
        peers.lack(Engine::Ns3, why);
    }
    let scratch = TempDir::create(&std::env::temp_dir(), "forebay-agree").map_err(|e| format!("a temporary directory: {e}"))?;
    let points = points();
    let mut rows = Vec::new();
    let mut left_out = Vec::new();
    for (i, point) in points.iter().enumerate() {
        if word.as_ref().is_some_and(|w| !point.section.contains(w) && !point.name.contains(w)) {
            continue;
        }
        let engine = if point.setup.peer == Peer::Ns2 { Engine::Ns2 } else { Engine::Ns3 };
        if let Some(why) = peers.missing(engine) {
            left_out.push(format!("{}, {}: {why}", point.section, point.name));
            continue;
        }
        match compare(i, point, scratch.path()) {
            Ok(of) => of.into_iter().for_each(|row| {
                let (figure, verdict) = (row.figure.name(), if row.inside { "inside" } else { "OUTSIDE" });
                println!("{}, {}: {figure} {:.4}, peer {:.4}, {verdict}", point.section, point.name, row.own, row.peer);
                rows.push(row);
            }),
            Err(why) => left_out.push(format!("{}, {}: {why}", point.section, point.name)),
        }
    }
    left_out.iter().for_each(|why| println!("left out: {why}"));
    if let Some(out) = out {
        let page = table::page(&points, &rows, &left_out, &versions());
        std::fs::write(&out, page).map_err(|e| format!("{out}: {e}"))?;
        println!("The table: {out}");
    }
    Ok(())
}

/// All figures of a point, means over its seeds.
fn compare(index: usize, point: &Point, scratch: &Path) -> Result<Vec<Row>, String> {
    let mut sums = vec![(0.0, 0.0); point.holds.len()];
    for seed in 1..=point.seeds {
        let run = forebay::Run::new(&point.setup, seed)?;
        let file = scratch.join("starts");
        std::fs::write(&file, starts(point, &run, seed)).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut command = match point.setup.peer {
            Peer::Ns2 => Command::new("ns"),
            Peer::Ns3 => Command::new(NS3),
        };
        if point.setup.peer == Peer::Ns2 {
            command.arg(NS2);
        }
        command.args(point.setup.arguments(seed, &file.to_string_lossy()));
        let line = measure::child(&mut command, LIMIT)?.line;
        for (sum, (figure, _)) in sums.iter_mut().zip(&point.holds) {
            let peer = peer(*figure, &line).ok_or_else(|| format!("the peer reports no {}", figure.name()))?;
            sum.0 += run.figure(*figure, &point.setup) / f64::from(point.seeds);
            sum.1 += peer / f64::from(point.seeds);
        }
    }
    let row = |(&(figure, band), (own, peer)): (&(Figure, points::Band), (f64, f64))| Row {
        point: index,
        figure,
        own,
        peer,
        inside: band.holds(own, peer),
    };
    Ok(point.holds.iter().zip(sums).map(row).collect())
}

/// The peer's traffic, a line each: connection, seconds, packets; 0 packets are endless. It is the traffic that forebay drew.
fn starts(point: &Point, run: &forebay::Run, seed: u32) -> String {
    let mut text = String::new();
    if let Work::Trains(_) = point.setup.work {
        for (conn, at, packets) in run.messages() {
            let _ = writeln!(text, "{conn} {at:.12} {packets}");
        }
    } else {
        for (i, at) in point.setup.starts(seed).iter().enumerate() {
            let _ = writeln!(text, "{i} {at:.9} 0");
        }
    }
    text
}

fn peer(figure: Figure, line: &str) -> Option<f64> {
    number(
        line,
        match figure {
            Figure::Goodput => "goodput",
            Figure::Jain => "jain",
            Figure::Ratio => "ratio",
            Figure::Queue => "queue",
            Figure::Drops => "drops",
            Figure::Timeouts => "timeouts",
            Figure::End => "end",
            Figure::Window => "window",
            Figure::Group(0) => "s1",
            Figure::Group(1) => "s2",
            Figure::Group(_) => "s3",
        },
    )
}

/// Versions of the peers' packages, in words.
fn versions() -> String {
    let version = |package: &str| {
        let query = Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]).output();
        let text = query.ok().filter(|o| o.status.success()).map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        text.unwrap_or_else(|| "of unknown version".into())
    };
    format!("ns-2 {} and ns-3 {}", version("ns2"), version("libns3-dev"))
}
