//! `forebay record`: the messages of this host's connections and their times, as a scenario for `forebay run`. It samples the kernel's counters of
//! each connection many times a second. A BPF program reports the counters of a connection when it closes, however short it was. The payload is not
//! read. A message is the data of a connection in one direction between two silent intervals. Without the right to load programs, connections that
//! open and close between two samples are only counted.

mod closed_connections;

use crate::inet_diag::{self, Socket};
use crate::sample::quantile;
use crate::{Error, Prefix, privileges};
use closed_connections::Closings;
use forebay_platform::clock;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Recording request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Length of the recording.
    pub duration: Duration,
    /// Time between two looks.
    pub every: Duration,
    /// Only connections to these, unless there are none.
    pub prefixes: Vec<Prefix>,
    /// Leave addresses out of the scenario.
    pub anonymous: bool,
    /// The rate of the links of the scenario, as scenarios write it (`10Gbps`): a host cannot see it.
    pub rate: String,
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Message {
    /// The other end, by number.
    peer: usize,
    /// This host sent it.
    outgoing: bool,
    start_us: u64,
    bytes: u64,
    /// Time of its last growth.
    last_us: u64,
}

/// One direction of a connection between two samples.
#[derive(Debug, Default, Clone, Copy)]
struct Direction {
    seen: u64,
    /// The message that is under way, by number.
    open: Option<usize>,
}

/// The recording.
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
            let _ = writeln!(
                out,
                "    {{ from = \"{host}\", to = \"switch\", rate = {}, delay = \"{delay}ns\", buffer = \"400pkt\" }},",
                quoted(&request.rate)
            );
        }
        let _ = write!(
            out,
            "]\n\n[transport]\nstack = \"linux\"\ncc = [\"cubic\", \"bbr\"] # dctcp needs links that mark: queue = {{ kind = \"dctcp-step\", k = \"20pkt\" }}\n\n[[workload]]\nkind = \"replay\"\nfile = {}\n",
            quoted(list)
        );
        out
    }

    /// Writes both files with mode 0600, because they contain addresses. Returns the path of the scenario. It is `NAME-1.toml` if another
    /// process has created one of the files during the recording.
    ///
    /// # Errors
    /// There is nothing to write, or the system refuses.
    pub fn write(&self, request: &Request, output: &Output) -> Result<PathBuf, Error> {
        if self.messages.is_empty() {
            return Err(
                Error::new("no connection transferred data during the recording").fix("record longer, or for other prefixes")
            );
        }
        let mut number = 0;
        loop {
            let output = if number == 0 { output.clone() } else { output.numbered(number) };
            match self.write_to(request, &output) {
                Err((_, e)) if e.kind() == io::ErrorKind::AlreadyExists && number < 1_000 => number += 1,
                done => return done.map(|()| output.scenario).map_err(|(path, e)| Error::io(path.display(), &e)),
            }
        }
    }

    fn write_to(&self, request: &Request, output: &Output) -> Result<(), (PathBuf, io::Error)> {
        let list = output.list();
        let name = list.file_name().unwrap_or_default().to_string_lossy().into_owned();
        output.write(&list, self.csv().as_bytes()).map_err(|e| (list.clone(), e))?;
        let written = output.write(&output.scenario, self.scenario(request, &name).as_bytes());
        written.map_err(|e| {
            if !output.force {
                let _ = fs::remove_file(&list);
            }
            (output.scenario.clone(), e)
        })
    }
}

/// Where a recording goes: the scenario, and the list of messages beside it with the ending `csv`.
#[derive(Debug, Clone)]
pub struct Output {
    scenario: PathBuf,
    force: bool,
}

impl Output {
    /// Permission bits of both files.
    const MODE: u32 = 0o600;

    /// Checks that both files can be written, before the time that recording takes.
    ///
    /// # Errors
    /// One of them exists, unless `force` allows to replace it; it has a name that a scenario cannot contain; the system refuses.
    pub fn new(scenario: &Path, force: bool) -> Result<Output, Error> {
        let output = Output { scenario: scenario.to_owned(), force };
        let list = output.list();
        let name = list.file_name().and_then(|n| n.to_str()).filter(|n| !n.chars().any(char::is_control));
        if name.is_none() || scenario == list {
            return Err(Error::new(format!("`{}` is not a valid name for the scenario", scenario.display())).fix(
                "name a file with the extension .toml; the list of messages is written beside it, with the extension .csv",
            ));
        }
        for path in [scenario, &list] {
            match fs::symlink_metadata(path) {
                Ok(found) if force && found.is_file() => {}
                Ok(found) => {
                    let fix =
                        if found.is_file() { "add --force to replace it, or name another file" } else { "name another file" };
                    return Err(Error::new(format!("`{}` already exists and is not replaced", path.display())).fix(fix));
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io(path.display(), &e)),
            }
        }
        let failed =
            |e: io::Error| Error::io(scenario.display(), &e).fix("name a file in a folder that exists and that you may write to");
        let (_, temporary) = forebay_platform::files::create_beside(scenario, Some(Output::MODE)).map_err(failed)?;
        fs::remove_file(&temporary).map_err(failed)?;
        Ok(output)
    }

    fn list(&self) -> PathBuf {
        self.scenario.with_extension("csv")
    }

    fn numbered(&self, number: u32) -> Output {
        let stem = self.scenario.file_stem().unwrap_or_default().to_string_lossy();
        let ending = self.scenario.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
        Output { scenario: self.scenario.with_file_name(format!("{stem}-{number}{ending}")), force: false }
    }

    fn write(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        if self.force {
            let options = forebay_platform::files::Options { mode: Some(Output::MODE), sync: false };
            forebay_platform::files::replace(path, contents, options)
        } else {
            forebay_platform::files::write_new(path, contents, Some(Output::MODE))
        }
    }
}

/// A text as a string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Records until `stop`, which is called now and then, returns true.
pub fn record(request: &Request, stop: impl Fn() -> bool) -> Result<Recording, Error> {
    let mut out = Recording::default();
    let closings = watch_closings().map_err(|e| out.without_short = Some(e.what().to_owned())).ok();
    let closed = || closings.as_ref().map_or_else(|| Ok(Vec::new()), Closings::take);
    let mut open: BTreeMap<Ends, [Direction; 2]> = BTreeMap::new();
    let mut ends: BTreeMap<Ends, Socket> = BTreeMap::new();
    let wanted = |s: &Socket| {
        let inside = request.prefixes.is_empty() || request.prefixes.iter().any(|p| p.contains(s.remote.ip()));
        inside && !s.remote.ip().is_loopback()
    };
    let (begin, began, opened) = (Instant::now(), clock::monotonic_ns(), opened()?);
    let mut first = true;
    loop {
        let over = begin.elapsed() >= request.duration || stop();
        // Before the sockets: a later connection may have the same ports. Connections that closed before the first sample are not recorded.
        for c in closed()?.iter().filter(|c| wanted(&c.socket) && !first) {
            let s = &c.socket;
            sample(&mut out, &mut open, s, c.at.saturating_sub(began) / 1000, false, request.every);
            open.remove(&(s.local, s.remote));
            ends.remove(&(s.local, s.remote));
            out.count(s);
        }
        if over {
            break;
        }
        let now = begin.elapsed().as_micros() as u64;
        for s in inet_diag::sockets()?.into_iter().filter(wanted) {
            sample(&mut out, &mut open, &s, now, first, request.every);
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

/// Attaches the program that reports closing connections, if the process may load programs.
fn watch_closings() -> Result<Closings, Error> {
    let missing = privileges::missing_for_record()?;
    if missing.is_empty() { Closings::start() } else { Err(Error::new(format!("without {}", missing.join(", ")))) }
}

fn sample(out: &mut Recording, open: &mut BTreeMap<Ends, [Direction; 2]>, s: &Socket, now: u64, first: bool, every: Duration) {
    let counted = [s.info.bytes_acked, s.info.bytes_received];
    let known = open.contains_key(&(s.local, s.remote));
    let directions = open.entry((s.local, s.remote)).or_default();
    for (i, bytes) in counted.into_iter().enumerate() {
        let d = &mut directions[i];
        // Data from before the first sample is not recorded.
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

#[cfg(test)]
mod tests {
    use super::{Message, Output, Recording, Request, quoted};
    use forebay_platform::files::TempDir;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Duration;

    fn place() -> TempDir {
        TempDir::create(&std::env::temp_dir(), "forebay-test-record").unwrap()
    }

    fn recording() -> (Recording, Request) {
        let message = Message { peer: 0, outgoing: true, start_us: 1, bytes: 2, last_us: 3 };
        let recording = Recording { messages: vec![message], peers: vec![[10, 0, 0, 1].into()], ..Recording::default() };
        let (duration, every) = (Duration::from_secs(1), Duration::from_millis(10));
        (recording, Request { duration, every, prefixes: Vec::new(), anonymous: false, rate: "1Gbps".into() })
    }

    #[test]
    fn user_files_are_not_replaced() {
        let place = place();
        let (scenario, list) = (place.path().join("my.toml"), place.path().join("my.csv"));
        for taken in [&scenario, &list] {
            fs::write(taken, "mine").unwrap();
            let said = Output::new(&scenario, false).unwrap_err().to_string();
            assert!(said.contains(taken.to_str().unwrap()) && said.contains("--force"), "{said}");
            assert_eq!(fs::read_to_string(taken).unwrap(), "mine");
            fs::remove_file(taken).unwrap();
        }
        // Not even by force: what a link leads to.
        symlink("/etc/passwd", &list).unwrap();
        assert!(Output::new(&scenario, false).is_err() && Output::new(&scenario, true).is_err());
        assert!(Output::new(&list, false).is_err(), "both would be one file");
    }

    #[test]
    fn recordings_are_private_force_replaces_them() {
        let place = place();
        let scenario = place.path().join("my.toml");
        let (recording, request) = recording();
        let output = Output::new(&scenario, false).unwrap();
        assert_eq!(recording.write(&request, &output).unwrap(), scenario);
        for name in ["my.toml", "my.csv"] {
            assert_eq!(fs::metadata(place.path().join(name)).unwrap().permissions().mode() & 0o7777, 0o600);
        }
        fs::write(&scenario, "old").unwrap();
        recording.write(&request, &Output::new(&scenario, true).unwrap()).unwrap();
        assert!(fs::read_to_string(&scenario).unwrap().contains("[topology]"));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn file_that_appears_meanwhile_stays() {
        let place = place();
        let (recording, request) = recording();
        for name in ["my.csv", "my.toml"] {
            let output = Output::new(&place.path().join("my.toml"), false).unwrap();
            fs::write(place.path().join(name), "mine").unwrap();
            let written = recording.write(&request, &output).unwrap();
            assert_eq!(written, place.path().join("my-1.toml"));
            assert!(fs::read_to_string(&written).unwrap().contains("file = \"my-1.csv\""));
            assert_eq!(fs::read_to_string(place.path().join(name)).unwrap(), "mine");
            for made in [name, "my-1.csv", "my-1.toml"] {
                fs::remove_file(place.path().join(made)).unwrap();
            }
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn names_are_quoted_in_the_scenario() {
        assert_eq!(quoted(r#"a"b\c"#), r#""a\"b\\c""#);
        let (recording, request) = recording();
        assert!(recording.scenario(&request, "a\"].csv").contains(r#"file = "a\"].csv""#));
    }
}
