//! `forebay record`: what the connections of this host send and when, as a scenario that `forebay run` takes. It looks at the kernel's own
//! counters of each connection, many times a second, and a BPF program says what a connection carried when it closes, however short it was. No
//! payload is seen. A message is what a connection carries in one direction between two silences. Who may not load programs has a recording
//! all the same, in which connections that open and close between two looks are counted and nothing more.

mod closed;

use crate::inet_diag::{self, Socket};
use crate::sample::quantile;
use crate::{Error, Prefix, clock, privileges};
use closed::Closings;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

/// What to record.
#[derive(Debug, Clone)]
pub struct Request {
    /// For how long.
    pub duration: Duration,
    /// Time between two looks.
    pub every: Duration,
    /// Only connections to these, unless there are none.
    pub prefixes: Vec<Prefix>,
    /// Leave addresses out of the scenario.
    pub anonymous: bool,
    /// The rate of the links of the scenario, as it is written there: a host cannot see it.
    pub rate: String,
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Message {
    /// The other end, by number.
    peer: usize,
    /// Whether this host sent it.
    outgoing: bool,
    start_us: u64,
    bytes: u64,
    /// When it last grew.
    last_us: u64,
}

/// One direction of a connection between two looks.
#[derive(Debug, Default, Clone, Copy)]
struct Direction {
    seen: u64,
    /// The message that is under way, by number.
    open: Option<usize>,
}

/// What was recorded.
#[derive(Debug, Default)]
pub struct Recording {
    messages: Vec<Message>,
    peers: Vec<IpAddr>,
    rtts: Vec<u32>,
    seconds: f64,
    segments: u64,
    retransmitted: u64,
    connections: usize,
    opened: u64,
    /// Why connections between two looks are missing, if they are.
    without_short: Option<String>,
}

/// Both ends of a connection.
type Ends = (SocketAddr, SocketAddr);

impl Recording {
    /// A connection as it was when it was seen last.
    fn count(&mut self, s: &Socket) {
        self.connections += 1;
        self.rtts.extend(Some(s.info.min_rtt_us).filter(|r| *r > 0 && *r < u32::MAX));
        self.segments += u64::from(s.info.segments_out);
        self.retransmitted += u64::from(s.info.retransmissions);
    }

    /// A summary, a line each.
    pub fn lines(&self) -> Vec<String> {
        let bytes: u64 = self.messages.iter().map(|m| m.bytes).sum();
        let share = if self.segments == 0 { 0.0 } else { self.retransmitted as f64 / self.segments as f64 * 100.0 };
        let mut all = vec![
            format!(
                "{} messages of {bytes} bytes on {} connections with {} hosts in {:.1} s",
                self.messages.len(),
                self.connections,
                self.peers.len(),
                self.seconds
            ),
            format!(
                "shortest round trips: median {} us; {share:.3} % of the segments were sent again",
                quantile(&self.rtts, 0.5)
            ),
        ];
        if self.opened > 0 {
            let short = self
                .without_short
                .as_ref()
                .map_or(String::new(), |why| format!("; those that came and went between two looks are not recorded ({why})"));
            all.push(format!("{} connections were opened meanwhile{short}", self.opened));
        }
        all
    }

    /// The flows as a list that the workload `replay` reads.
    pub fn csv(&self) -> String {
        let mut out = String::from("src,dst,bytes,start_us\n");
        for m in &self.messages {
            let (peer, this) = (format!("peer{}", m.peer), "this".to_owned());
            let (src, dst) = if m.outgoing { (this, peer) } else { (peer, this) };
            let _ = writeln!(out, "{src},{dst},{},{}", m.bytes, m.start_us);
        }
        out
    }

    /// The scenario around the list, which is in the file `list` beside it.
    pub fn scenario(&self, request: &Request, list: &str) -> String {
        // A round trip crosses four links.
        let delay = (u64::from(quantile(&self.rtts, 0.5)) * 1000 / 4).max(100);
        let mut out = format!(
            "# Recorded from a live host: what its connections sent and received, and when. Known: sizes, times (to {} ms) and the shortest round\n\
             # trip. Not known, and assumed: one switch, links of {} with 400 packets of buffer, and what the other hosts do among themselves.\n",
            request.every.as_millis(),
            request.rate
        );
        for line in self.lines() {
            let _ = writeln!(out, "# {line}");
        }
        if !request.anonymous {
            for (i, peer) in self.peers.iter().enumerate() {
                let _ = writeln!(out, "# peer{i} is {peer}");
            }
        }
        let hosts: Vec<String> =
            std::iter::once("this".to_owned()).chain((0..self.peers.len()).map(|i| format!("peer{i}"))).collect();
        let names: Vec<String> = hosts.iter().map(|h| format!("\"{h}\"")).collect();
        let _ = writeln!(out, "name = \"recorded\"\nduration = \"{}ms\"\n", (self.seconds * 1000.0).ceil().max(1.0) * 2.0);
        let _ = writeln!(
            out,
            "[topology]\nkind = \"custom\"\nhosts = [{}]\nswitches = [\"switch\"]\nbottleneck = \"switch->this\"\nlinks = [",
            names.join(", ")
        );
        for host in &hosts {
            let rate = &request.rate;
            let _ = writeln!(
                out,
                "    {{ from = \"{host}\", to = \"switch\", rate = \"{rate}\", delay = \"{delay}ns\", buffer = \"400pkt\" }},"
            );
        }
        let _ = write!(
            out,
            "]\n\n[transport]\nstack = \"linux\"\ncc = [\"cubic\", \"bbr\"] # dctcp needs links that mark: queue = {{ kind = \"dctcp-step\", k = \"20pkt\" }}\n\n[[workload]]\nkind = \"replay\"\nfile = \"{list}\"\n"
        );
        out
    }

    /// Writes both files: the scenario, and the list beside it with the ending `csv`.
    pub fn write(&self, request: &Request, path: &Path) -> Result<(), Error> {
        if self.messages.is_empty() {
            return Err(Error::new("no connection carried anything meanwhile: there is nothing to record")
                .fix("record longer, or for other prefixes"));
        }
        let list = path.with_extension("csv");
        let name = list.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::write(&list, self.csv()).map_err(|e| Error::io(list.display(), &e))?;
        fs::write(path, self.scenario(request, &name)).map_err(|e| Error::io(path.display(), &e))
    }
}

/// Whether a scenario can be written there.
///
/// # Errors
/// It cannot, in words.
pub fn writable(out: &Path) -> Result<(), Error> {
    let new = !out.exists();
    let failed = |e| Error::io(out.display(), &e).fix("name a file in a folder that exists and that you may write to");
    File::options().append(true).create(true).open(out).map_err(failed)?;
    if new { fs::remove_file(out).map_err(failed) } else { Ok(()) }
}

/// Records until `stop`, which is called now and then, returns true.
pub fn record(request: &Request, stop: impl Fn() -> bool) -> Result<Recording, Error> {
    let mut out = Recording::default();
    let closings = see_closing().map_err(|e| out.without_short = Some(e.what().to_owned())).ok();
    let closed = || closings.as_ref().map_or_else(|| Ok(Vec::new()), Closings::take);
    let mut open: BTreeMap<Ends, [Direction; 2]> = BTreeMap::new();
    let mut ends: BTreeMap<Ends, Socket> = BTreeMap::new();
    let wanted = |s: &Socket| {
        let inside = request.prefixes.is_empty() || request.prefixes.iter().any(|p| p.contains(s.remote.ip()));
        inside && !s.remote.ip().is_loopback()
    };
    let (begin, began, opened) = (Instant::now(), clock::now(), opened()?);
    let mut first = true;
    loop {
        let over = begin.elapsed() >= request.duration || stop();
        // Before the sockets: who comes next may have the same ports. What closed before the first look is not of this recording.
        for c in closed()?.iter().filter(|c| wanted(&c.socket) && !first) {
            let s = &c.socket;
            look(&mut out, &mut open, s, c.at.saturating_sub(began) / 1000, false, request.every);
            open.remove(&(s.local, s.remote));
            ends.remove(&(s.local, s.remote));
            out.count(s);
        }
        if over {
            break;
        }
        let now = begin.elapsed().as_micros() as u64;
        for s in inet_diag::sockets()?.into_iter().filter(wanted) {
            look(&mut out, &mut open, &s, now, first, request.every);
            ends.insert((s.local, s.remote), s);
        }
        first = false;
        std::thread::sleep(request.every);
    }
    out.seconds = begin.elapsed().as_secs_f64();
    out.opened = self::opened()?.saturating_sub(opened);
    ends.values().for_each(|s| out.count(s));
    out.rtts.sort_unstable();
    out.messages.sort_by_key(|m| (m.start_us, m.peer, m.outgoing));
    Ok(out)
}

/// Where the process may load programs.
fn see_closing() -> Result<Closings, Error> {
    let missing = privileges::missing()?;
    if missing.is_empty() { Closings::start() } else { Err(Error::new(format!("without {}", missing.join(", ")))) }
}

fn look(out: &mut Recording, open: &mut BTreeMap<Ends, [Direction; 2]>, s: &Socket, now: u64, first: bool, every: Duration) {
    let counted = [s.info.bytes_acked, s.info.bytes_received];
    let known = open.contains_key(&(s.local, s.remote));
    let directions = open.entry((s.local, s.remote)).or_default();
    for (i, bytes) in counted.into_iter().enumerate() {
        let d = &mut directions[i];
        // What was carried before the first look is not recorded.
        if !known && first {
            d.seen = bytes;
        }
        let more = bytes.saturating_sub(d.seen);
        d.seen = bytes;
        if more == 0 {
            continue;
        }
        // A silence of two looks ends a message.
        match d.open.map(|m| &mut out.messages[m]).filter(|m| now - m.last_us <= 2 * every.as_micros() as u64) {
            Some(m) => {
                m.bytes += more;
                m.last_us = now;
            }
            None => {
                let ip = s.remote.ip();
                let peer = out.peers.iter().position(|p| *p == ip).unwrap_or_else(|| {
                    out.peers.push(ip);
                    out.peers.len() - 1
                });
                d.open = Some(out.messages.len());
                out.messages.push(Message { peer, outgoing: i == 0, start_us: now, bytes: more, last_us: now });
            }
        }
    }
}

/// Connections that were opened or accepted in this namespace since it exists.
fn opened() -> Result<u64, Error> {
    let path = "/proc/thread-self/net/snmp";
    let text = fs::read_to_string(path).map_err(|e| Error::io(path, &e))?;
    let mut lines = text.lines().filter(|l| l.starts_with("Tcp:")).map(|l| l.split(' '));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return Ok(0) };
    let wanted = names.zip(values).filter(|(n, _)| *n == "ActiveOpens" || *n == "PassiveOpens");
    Ok(wanted.filter_map(|(_, v)| v.parse::<u64>().ok()).sum())
}
