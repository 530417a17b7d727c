//! Metrics in the text format of Prometheus: for the textfile collector of its node exporter, or at a port of the loopback interface.

use crate::Error;
use crate::sample::quantile;
use crate::status::Status;
use std::fmt::Write;
use std::fs;
use std::io::{self, Read, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

/// The text: connections, their windows and round trips, and every counter and parameter of each attachment.
pub fn text(all: &[Status]) -> String {
    let mut out = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: Vec<(String, f64)>| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
    };
    let label = |s: &Status| format!("name=\"{}\",program=\"{}\"", s.name, s.program);
    let each = |f: &dyn Fn(&Status) -> f64| all.iter().map(|s| (label(s), f(s))).collect::<Vec<_>>();
    let sorted = |s: &Status, f: fn(&crate::inet_diag::Info) -> u32| {
        let mut v: Vec<u32> = s.sockets.iter().map(|s| f(&s.info)).collect();
        v.sort_unstable();
        v
    };
    let quantiles = |f: fn(&crate::inet_diag::Info) -> u32, unit: f64| {
        let of = |s: &Status, q: f64| (format!("{},quantile=\"{q}\"", label(s)), f64::from(quantile(&sorted(s, f), q)) * unit);
        all.iter().flat_map(|s| [0.5, 0.9, 0.99].map(|q| of(s, q))).collect::<Vec<_>>()
    };
    metric("forebay_sockets", "gauge", "Connections that use it.", each(&|s| s.sockets.len() as f64));
    metric("forebay_cwnd_segments", "gauge", "Congestion windows of its connections.", quantiles(|i| i.cwnd, 1.0));
    metric("forebay_rtt_seconds", "gauge", "Smoothed round trips of its connections.", quantiles(|i| i.rtt_us, 1e-6));
    let numbers = |f: &dyn Fn(&Status) -> Vec<(String, u64)>, key: &str| {
        let of =
            |s: &Status| f(s).into_iter().map(|(n, v)| (format!("{},{key}=\"{n}\"", label(s)), v as f64)).collect::<Vec<_>>();
        all.iter().flat_map(of).collect::<Vec<_>>()
    };
    let counters = |s: &Status| s.counters.as_ref().map(Clone::clone).unwrap_or_default();
    metric("forebay_events_total", "counter", "What the program has counted.", numbers(&counters, "event"));
    let params = |s: &Status| s.params.as_ref().map(Clone::clone).unwrap_or_default();
    metric("forebay_parameter", "gauge", "Parameters of the program.", numbers(&params, "parameter"));
    out
}

/// Writes it in one piece, so that a collector never reads half of it.
pub fn write(path: &Path, all: &[Status]) -> Result<(), Error> {
    // Only metrics of forebay are replaced. An empty file may have been made for them.
    match fs::read(path) {
        Ok(old) if !old.is_empty() && !old.starts_with(b"# HELP forebay_") => {
            return Err(Error::new(format!("{}: this file is not one of forebay's metrics and is not replaced", path.display()))
                .fix("name another file"));
        }
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Error::io(path.display(), &e)),
        _ => {}
    }
    let options = forebay_files::Options { mode: Some(0o644), sync: false };
    forebay_files::replace(path, text(all).as_bytes(), options).map_err(|e| Error::io(path.display(), &e))
}

/// Where a scraper of this machine asks for the text: 127.0.0.1, and no other address.
#[derive(Debug)]
pub struct Port(TcpListener);

/// A scraper that says nothing for so long gets the answer all the same.
const PATIENCE: Duration = Duration::from_millis(100);

impl Port {
    /// Listens.
    pub fn open(port: u16) -> Result<Port, Error> {
        let listen = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|l| l.set_nonblocking(true).map(|()| l));
        listen.map(Port).map_err(|e| Error::io(format!("127.0.0.1:{port}"), &e).fix("choose a port that nobody listens at"))
    }

    /// Answers all that have asked since the last call.
    pub fn answer(&self) -> Result<(), Error> {
        loop {
            let mut asked = match self.0.accept() {
                Ok((asked, _)) => asked,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Given up before it was accepted (accept(2), "Error handling").
                Err(_) => continue,
            };
            let text = text(&crate::status::status()?);
            let head =
                format!("HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\r\n", text.len());
            // There is one page, whatever is asked for. That the scraper has gone is its own affair.
            let _ = asked
                .set_nonblocking(false)
                .and_then(|()| asked.set_read_timeout(Some(PATIENCE)))
                .and_then(|()| asked.set_write_timeout(Some(PATIENCE)))
                .and_then(|()| asked.read(&mut [0; 4096]).or(Ok(0)))
                .and_then(|_: usize| asked.write_all((head + &text).as_bytes()));
        }
    }
}
