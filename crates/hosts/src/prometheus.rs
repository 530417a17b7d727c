//! Metrics in the text format of Prometheus: for the textfile collector of its node exporter, or at a port of the loopback interface.

use crate::Error;
use crate::sample::quantile;
use crate::status::Status;
use crate::totals::{Counts, Totals};
use nix::poll::{PollFd, PollFlags, poll};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Metrics of all attachments: connections, their windows and round trips, and every counter and parameter. `totals` adds counts of the connections.
pub fn text(all: &[Status], totals: Option<&Totals>) -> String {
    let mut out = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: Vec<(String, f64)>| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
    };
    let label = |s: &Status| format!("name=\"{}\",program=\"{}\"", escaped(&s.name), escaped(&s.program));
    let each = |f: &dyn Fn(&Status) -> f64| all.iter().map(|s| (label(s), f(s))).collect::<Vec<_>>();
    let sorted = |s: &Status, f: fn(&crate::inet_diag::Info) -> u32| {
        let mut v: Vec<u32> = s.sockets.iter().map(|s| f(&s.info)).collect();
        v.sort_unstable();
        v
    };
    // Divided and not multiplied by a fraction, so that 465 µs is 0.000465.
    let quantiles = |f: fn(&crate::inet_diag::Info) -> u32, units: f64| {
        let of = |s: &Status, q: f64| (format!("{},quantile=\"{q}\"", label(s)), f64::from(quantile(&sorted(s, f), q)) / units);
        all.iter().flat_map(|s| [0.5, 0.9, 0.99].map(|q| of(s, q))).collect::<Vec<_>>()
    };
    metric("forebay_sockets", "gauge", "Connections that use the attachment.", each(&|s| s.sockets.len() as f64));
    metric("forebay_cwnd_segments", "gauge", "Congestion windows of the connections, as quantiles.", quantiles(|i| i.cwnd, 1.0));
    metric(
        "forebay_rtt_seconds",
        "gauge",
        "Smoothed round-trip times of the connections, as quantiles.",
        quantiles(|i| i.rtt_us, 1e6),
    );
    if let Some(totals) = totals {
        for (name, help, of) in TOTALS {
            metric(name, "counter", help, each(&|s| of(totals.of(&s.name)) as f64));
        }
    }
    let numbers = |f: &dyn Fn(&Status) -> Vec<(String, u64)>, key: &str| {
        let of =
            |s: &Status| f(s).into_iter().map(|(n, v)| (format!("{},{key}=\"{n}\"", label(s)), v as f64)).collect::<Vec<_>>();
        all.iter().flat_map(of).collect::<Vec<_>>()
    };
    let counters = |s: &Status| s.counters.as_ref().map(Clone::clone).unwrap_or_default();
    metric("forebay_events_total", "counter", "Events that the program counts.", numbers(&counters, "event"));
    let params = |s: &Status| s.params.as_ref().map(Clone::clone).unwrap_or_default();
    metric("forebay_parameter", "gauge", "Parameters of the program.", numbers(&params, "parameter"));
    out
}

/// A metric of the counts of connections: name, meaning, value.
type TotalMetric = (&'static str, &'static str, fn(Counts) -> u64);

/// Metrics of the counts of connections.
const TOTALS: [TotalMetric; 5] = [
    ("forebay_acked_bytes_total", "Payload that the other ends acknowledged.", |c| c.acked_bytes),
    ("forebay_sent_segments_total", "Segments sent.", |c| c.sent_segments),
    ("forebay_retransmitted_segments_total", "Segments sent again.", |c| c.retransmitted_segments),
    ("forebay_delivered_segments_total", "Segments delivered.", |c| c.delivered_segments),
    ("forebay_marked_segments_total", "Delivered segments whose ACK reported a congestion mark.", |c| c.marked_segments),
];

/// The value of a label, as the text format quotes it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Writes the metrics in one piece, so that a collector never reads half of them.
pub fn write(path: &Path, all: &[Status], totals: Option<&Totals>) -> Result<(), Error> {
    if !is_replaceable(path).map_err(|e| Error::io(path.display(), &e))? {
        return Err(Error::new(format!("{}: this file is not one of forebay's metrics and is not replaced", path.display()))
            .fix("name another file"));
    }
    let options = forebay_platform::files::Options { mode: Some(0o644), sync: false };
    forebay_platform::files::replace(path, text(all, totals).as_bytes(), options).map_err(|e| match e.kind() {
        // Root, too: a guard keeps no capability for folders of others.
        io::ErrorKind::PermissionDenied => Error::new(format!("{}: {e}", path.display()))
            .fix("name a file in a folder that belongs to the user who runs this command"),
        _ => Error::io(path.display(), &e),
    })
}

/// Returns true if the path is free, or is a plain file that is empty or has metrics of forebay. Other users may be able to write to its folder:
/// links are not followed, pipes are not waited for, and only the needed bytes are read.
fn is_replaceable(path: &Path) -> io::Result<bool> {
    const FIRST: &[u8] = b"# HELP forebay_";
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
        // A symbolic link, or a socket or device that nothing answers.
        Err(e) if matches!(e.raw_os_error(), Some(libc::ELOOP | libc::ENXIO | libc::ENODEV)) => return Ok(false),
        Err(e) => return Err(e),
    };
    let mut start = Vec::new();
    Ok(file.metadata()?.is_file() && {
        file.take(FIRST.len() as u64).read_to_end(&mut start)?;
        start.is_empty() || start == FIRST
    })
}

/// Writes the file once a second from now on, on a thread of its own, so that a file system that hangs stops nothing else. Errors are
/// given to `failed`: one for each time that writing begins to fail.
pub fn keep_writing(path: PathBuf, failed: impl Fn(&Error) + Send + 'static) -> Result<(), Error> {
    let run = move || {
        let mut fails = false;
        let mut totals = Totals::default();
        loop {
            thread::sleep(Duration::from_secs(1));
            let done = crate::status::status().and_then(|all| {
                totals.observe(&all);
                write(&path, &all, Some(&totals))
            });
            if let Err(e) = &done
                && !fails
            {
                failed(e);
            }
            fails = done.is_err();
        }
    };
    thread::Builder::new().spawn(run).map(drop).map_err(|e| Error::io("cannot start the thread for metrics", &e))
}

/// Port of 127.0.0.1 at which scrapers of this machine get the text.
#[derive(Debug)]
pub struct Port(TcpListener);

/// Connections that are served at once. One more replaces the oldest.
const CLIENTS: usize = 256;
/// Time that a connection has to send its request and to read the answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Age up to which an answer is given again.
const FRESH: Duration = Duration::from_millis(500);
/// Age up to which an answer is kept without a request. Counts begin before the first request, and include connections that are shorter than the time
/// between two requests.
const KEPT: Duration = Duration::from_secs(1);

/// A connection.
struct Client {
    stream: TcpStream,
    since: Instant,
    /// The answer, and how much of it was sent; `None` before a request has arrived.
    answer: Option<(Arc<[u8]>, usize)>,
}

impl Port {
    /// Listens.
    pub fn open(port: u16) -> Result<Port, Error> {
        let listen = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|l| l.set_nonblocking(true).map(|()| l));
        listen.map(Port).map_err(|e| Error::io(format!("127.0.0.1:{port}"), &e).fix("choose a port without a listener"))
    }

    /// Answers from now on, on a thread of its own.
    pub fn serve(self) -> Result<(), Error> {
        let mut totals = Totals::default();
        let text = move || {
            let all = crate::status::status()?;
            totals.observe(&all);
            Ok(text(&all, Some(&totals)))
        };
        thread::Builder::new()
            .spawn(move || self.run(text))
            .map(drop)
            .map_err(|e| Error::io("cannot start the thread for metrics", &e))
    }

    fn run(self, mut text: impl FnMut() -> Result<String, Error>) {
        let mut clients: Vec<Client> = Vec::new();
        let mut page: Option<(Instant, Arc<[u8]>)> = None;
        let mut current = |age: Duration| match &page {
            Some((made, page)) if made.elapsed() < age => Arc::clone(page),
            _ => {
                let made: Arc<[u8]> = response(text()).into();
                page = Some((Instant::now(), Arc::clone(&made)));
                made
            }
        };
        loop {
            current(KEPT);
            let events = |c: &Client| match &c.answer {
                Some((answer, sent)) if *sent < answer.len() => PollFlags::POLLOUT,
                _ => PollFlags::POLLIN,
            };
            let mut all = vec![PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            all.extend(clients.iter().map(|c| PollFd::new(c.stream.as_fd(), events(c))));
            // An interrupted wait is one that ended early.
            let _ = poll(&mut all, PATIENCE.as_millis() as u16);
            // Existing connections first, so that a request is answered before its connection is replaced.
            clients.retain_mut(|c| c.since.elapsed() < PATIENCE && c.step(&mut || current(FRESH)));
            for _ in 0..CLIENTS / 4 {
                match self.0.accept() {
                    Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                        if clients.len() == CLIENTS {
                            clients.remove(0);
                        }
                        clients.push(Client { stream, since: Instant::now(), answer: None });
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    // Given up before it was accepted (accept(2), "Error handling").
                    Ok(_) => {}
                    Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                    // Out of descriptors or memory: some become free when connections end.
                    Err(_) => {
                        thread::sleep(Duration::from_millis(20));
                        break;
                    }
                }
            }
        }
    }
}

impl Client {
    /// Reads and writes as far as it can; whether there is more to do.
    fn step(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) -> bool {
        let blocks = |e: &io::Error| matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
        let (answer, sent) = match &mut self.answer {
            Some(answer) => answer,
            // The answer is the same for every request, so the request is not parsed.
            None => match self.stream.read(&mut [0; 4096]) {
                Ok(n) if n > 0 => self.answer.insert((page(), 0)),
                Err(e) if blocks(&e) => return true,
                _ => return false,
            },
        };
        while *sent < answer.len() {
            match self.stream.write(&answer[*sent..]) {
                Ok(n) if n > 0 => *sent += n,
                Err(e) if blocks(&e) => return true,
                // The scraper has gone.
                _ => return false,
            }
            if *sent == answer.len() {
                let _ = self.stream.shutdown(Shutdown::Write);
            }
        }
        // A connection that is closed with the rest of a request unread is reset, and the answer may be lost with it.
        match self.stream.read(&mut [0; 4096]) {
            Ok(n) => n > 0,
            Err(e) => blocks(&e),
        }
    }
}

/// The page as a response of HTTP.
fn response(text: Result<String, Error>) -> Vec<u8> {
    let (status, body) = match text {
        Ok(text) => ("200 OK", text),
        Err(e) => ("500 Internal Server Error", format!("{e}\n")),
    };
    let head = format!("HTTP/1.0 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\r\n", body.len());
    (head + &body).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn served(text: &'static str) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || Port(listener).run(move || Ok(text.repeat(100_000))));
        address
    }

    fn get(address: SocketAddr) -> String {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        socket.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut got = String::new();
        socket.read_to_string(&mut got).unwrap();
        got
    }

    #[test]
    fn request_answered_beside_silent_connections() {
        let address = served("forebay_sockets 1\n");
        let silent: Vec<TcpStream> = (0..CLIENTS - 1).map(|_| TcpStream::connect(address).unwrap()).collect();
        let got = get(address);
        assert!(got.starts_with("HTTP/1.0 200 OK\r\n") && got.ends_with("forebay_sockets 1\n"), "{} bytes", got.len());
        assert_eq!(got.split_once("\r\n\r\n").unwrap().1.len(), 18 * 100_000);
        drop(silent);
    }

    #[test]
    fn new_connection_replaces_oldest() {
        let address = served("forebay_sockets 1\n");
        let silent: Vec<TcpStream> = (0..2 * CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
        assert!(get(address).starts_with("HTTP/1.0 200 OK"));
        // Replaced or after a second, each is closed without an answer.
        for mut socket in silent {
            socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let got = socket.read(&mut [0]).or_else(|e| if e.kind() == io::ErrorKind::ConnectionReset { Ok(0) } else { Err(e) });
            assert_eq!(got.expect("closed in time"), 0);
        }
    }

    #[test]
    fn counts_grow_without_requests() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (observed, observations) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut calls = 0;
            Port(listener).run(move || {
                calls += 1;
                observed.send(calls).unwrap();
                Ok(format!("forebay_sockets {calls}\n"))
            })
        });
        let next = || observations.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!((next(), next()), (1, 2));
        let got = get(address);
        let calls: u32 = got.trim_end().rsplit(' ').next().unwrap().parse().unwrap();
        assert!(calls >= 2, "{got}");
    }

    #[test]
    fn only_metrics_and_empty_files_replaced() {
        use std::os::unix::fs::symlink;
        let place = forebay_platform::files::TempDir::create(&std::env::temp_dir(), "forebay-test-metrics").unwrap();
        let path = |name: &str| place.path().join(name);
        for (name, contents) in [("metrics", "# HELP forebay_sockets x\n"), ("empty", ""), ("other", "# HELP node_load1 x\n")] {
            std::fs::write(path(name), contents).unwrap();
        }
        std::fs::create_dir(path("folder")).unwrap();
        // One without an end, and one that nothing is ever written to.
        symlink("/dev/zero", path("link")).unwrap();
        nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for (name, wanted) in [
            ("metrics", true),
            ("empty", true),
            ("missing", true),
            ("other", false),
            ("folder", false),
            ("link", false),
            ("pipe", false),
        ] {
            assert_eq!(is_replaceable(&path(name)).unwrap(), wanted, "{name}");
        }
    }

    fn status(name: &str) -> Status {
        Status {
            name: name.into(),
            program: "dctcp".into(),
            complete: true,
            registered: true,
            prefixes: Vec::new(),
            cgroup: None,
            default: false,
            guard: None,
            sockets: Vec::new(),
            params: Ok(vec![("shift_g".into(), 4)]),
            counters: Ok(vec![("acks".into(), 7)]),
        }
    }

    /// The rules of the text format 0.0.4: each metric has its help and type once, before its values, and counters end in `_total`.
    #[test]
    fn text_follows_its_format() {
        let text = text(&[status("web"), status("a\"b")], Some(&Totals::default()));
        let mut known: Vec<(&str, &str)> = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            match words[..] {
                ["#", "HELP", name, help] => {
                    assert!(!known.iter().any(|k| k.0 == name) && help.ends_with('.'), "{line}");
                    known.push((name, ""));
                }
                ["#", "TYPE", name, kind] => {
                    assert_eq!(known.pop(), Some((name, "")), "{line}");
                    assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                    known.push((name, kind));
                }
                [sample, value] => {
                    let (name, labels) = sample.split_once('{').expect("labels");
                    assert_eq!(known.last().map(|k| k.0), Some(name), "{line}");
                    assert!(labels.starts_with("name=\"") && labels.ends_with("\"}") && value.parse::<f64>().is_ok(), "{line}");
                }
                _ => panic!("{line}"),
            }
        }
        assert_eq!(known.len(), 10);
        assert!(text.contains("forebay_acked_bytes_total{name=\"web\",program=\"dctcp\"} 0\n"), "{text}");
        assert!(text.contains("forebay_events_total{name=\"a\\\"b\",program=\"dctcp\",event=\"acks\"} 7\n"), "{text}");
    }

    #[test]
    fn failure_is_an_http_error() {
        let text = String::from_utf8(response(Err(Error::new("no rights")))).unwrap();
        assert!(text.starts_with("HTTP/1.0 500 ") && text.contains("Content-Length: 10\r\n") && text.ends_with("no rights\n"));
    }
}
