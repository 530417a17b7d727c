//! Socket calls of a script, on its only connection.

use crate::connection::{Connection, Sent, Stage};
use crate::endpoint::{Endpoint, Returned};
use crate::script::{Arg, Call, Segment};
use crate::settings::Settings;

/// Options of sockets that are implemented, or have no effect here.
pub(crate) const SOCKET_OPTIONS: &[&str] =
    &["SO_REUSEADDR", "SO_REUSEPORT", "SO_ERROR", "TCP_NODELAY", "TCP_MAXSEG", "TCP_CONGESTION"];

/// Supported calls.
pub(crate) const CALLS: &[&str] = &[
    "socket",
    "bind",
    "listen",
    "accept",
    "connect",
    "fcntl",
    "setsockopt",
    "getsockopt",
    "write",
    "send",
    "sendto",
    "read",
    "recv",
    "recvfrom",
    "close",
    "shutdown",
];

/// The sockets of a script.
pub(crate) struct Sockets {
    /// Settings of the script so far.
    settings: Settings,
    /// The connection, from `listen` or `connect` on.
    connection: Option<Connection>,
    /// Descriptors of the open sockets.
    open: Vec<i64>,
    listener: Option<i64>,
    /// The connection's socket.
    socket: Option<i64>,
    /// Non-blocking sockets.
    nonblocking: Vec<i64>,
    read: u64,
    /// The application has shut down its receiving direction.
    read_shutdown: bool,
}

/// The number `index` of `call`'s arguments.
pub(crate) fn number(call: &Call, index: usize) -> Result<i64, String> {
    match call.args.get(index) {
        Some(Arg::Int(value)) => Ok(*value),
        Some(Arg::List(list)) if matches!(list[..], [Arg::Int(_)]) => {
            let [Arg::Int(value)] = list[..] else { return Err(String::new()) };
            Ok(value)
        }
        _ => Err(format!("{}: argument {} is not a number", call.name, index + 1)),
    }
}

/// The word or text `index` of `call`'s arguments; empty for other arguments.
pub(crate) fn word(call: &Call, index: usize) -> &str {
    match call.args.get(index) {
        Some(Arg::Word(w) | Arg::Text(w)) => w,
        _ => "",
    }
}

/// Largest write, bytes (`MAX_RW_COUNT` of Linux).
const LARGEST_WRITE: i64 = 0x7fff_f000;

const DONE: Result<Returned, String> = Ok(Returned::Value(0, None));

impl Sockets {
    /// No socket.
    pub(crate) fn new(settings: Settings) -> Sockets {
        Sockets {
            settings,
            connection: None,
            open: Vec::new(),
            listener: None,
            socket: None,
            nonblocking: Vec::new(),
            read: 0,
            read_shutdown: false,
        }
    }

    /// Applies changed settings to a connection that has not begun.
    fn settings_changed(&mut self) {
        if let Some(c) = self.connection.as_mut().filter(|c| c.stage == Stage::Listen) {
            c.settings = self.settings.clone();
        }
    }

    fn connect(&mut self, now: u64, fd: i64) -> Result<Returned, String> {
        let connection = match &mut self.connection {
            Some(c) => c,
            None => {
                self.socket = Some(fd);
                let c = self.connection.insert(Connection::new(self.settings.clone())?);
                c.connect(now);
                c
            }
        };
        Ok(match connection.stage {
            Stage::Open => Returned::Value(0, None),
            _ if self.nonblocking.contains(&fd) => Returned::Value(-1, Some("EINPROGRESS")),
            _ => Returned::Waits,
        })
    }

    fn accept(&mut self, fd: i64, call: &Call) -> Result<Returned, String> {
        let ready = self.socket.is_none() && self.connection.as_ref().is_some_and(|c| c.stage == Stage::Open);
        Ok(match call.result {
            Arg::Int(new) if ready && new >= 0 => {
                self.socket = Some(new);
                self.open.push(new);
                Returned::Value(new, None)
            }
            _ if self.nonblocking.contains(&fd) => Returned::Value(-1, Some("EAGAIN")),
            _ => Returned::Waits,
        })
    }

    fn fcntl(&mut self, fd: i64, call: &Call) -> Result<Returned, String> {
        match word(call, 1) {
            "F_GETFL" => Ok(Returned::Value(2 + if self.nonblocking.contains(&fd) { 0x800 } else { 0 }, None)),
            "F_SETFL" => {
                self.nonblocking.retain(|f| *f != fd);
                if word(call, 2).contains("O_NONBLOCK") {
                    self.nonblocking.push(fd);
                }
                DONE
            }
            other => Err(format!("fcntl {other}")),
        }
    }

    fn setsockopt(&mut self, call: &Call) -> Result<Returned, String> {
        match word(call, 2) {
            "TCP_MAXSEG" => {
                if !self.settings.set_user_mss(number(call, 3)?) {
                    return Ok(Returned::Value(-1, Some("EINVAL")));
                }
                self.settings_changed();
            }
            "TCP_NODELAY" => {
                self.settings.nodelay = number(call, 3)? != 0;
                self.settings_changed();
                if let Some(c) = &mut self.connection {
                    c.c.nagle = self.settings.nagle()?;
                }
            }
            "TCP_CONGESTION" => {
                let name = match call.args.get(3) {
                    Some(Arg::Text(name)) => name.clone(),
                    Some(Arg::List(list)) => match &list[..] {
                        [Arg::Text(name)] => name.clone(),
                        _ => String::new(),
                    },
                    _ => String::new(),
                };
                if !self.settings.congestion_control(&name) {
                    return Err(format!("the congestion control `{name}`"));
                }
                self.settings_changed();
            }
            _ => {}
        }
        DONE
    }

    /// Values that differ from the script's are its failure, with the value as the result of the call.
    fn getsockopt(&mut self, call: &Call) -> Result<Returned, String> {
        let value = match word(call, 2) {
            "TCP_MAXSEG" => match self.connection.as_ref().filter(|c| c.stage == Stage::Open) {
                Some(c) => i64::from(c.c.mss),
                None => i64::from(self.settings.advertised_mss()),
            },
            "TCP_NODELAY" => i64::from(self.settings.nodelay),
            _ => 0,
        };
        if matches!(call.args.get(3), Some(Arg::Any)) || number(call, 3)? == value {
            DONE
        } else {
            Err(format!("{} is {value}", word(call, 2)))
        }
    }

    fn write(&mut self, now: u64, fd: i64, bytes: i64) -> Result<Returned, String> {
        if !(0..=LARGEST_WRITE).contains(&bytes) {
            return Err(format!("a write of {bytes} bytes; legal: 0 to {LARGEST_WRITE}"));
        }
        let Some(c) = self.connection.as_mut().filter(|_| self.socket == Some(fd)) else {
            return Ok(Returned::Value(-1, Some("ENOTCONN")));
        };
        if c.closed {
            return Ok(Returned::Value(-1, Some("EPIPE")));
        }
        c.write(now, bytes.unsigned_abs(), false);
        Ok(Returned::Value(bytes, None))
    }

    fn read(&mut self, fd: i64, bytes: i64) -> Result<Returned, String> {
        let (delivered, finished) = self.connection.as_ref().map_or((0, false), Connection::delivered);
        let there = (delivered - self.read).min(bytes.unsigned_abs());
        Ok(if there > 0 {
            self.read += there;
            Returned::Value(there as i64, None)
        } else if finished || self.read_shutdown {
            Returned::Value(0, None)
        } else if self.nonblocking.contains(&fd) {
            Returned::Value(-1, Some("EAGAIN"))
        } else {
            Returned::Waits
        })
    }

    fn finish(&mut self, now: u64) -> Result<Returned, String> {
        match self.connection.as_mut().filter(|c| !c.closed) {
            Some(c) if c.stage == Stage::SynSent => self.connection = None,
            Some(c) => c.write(now, 0, true),
            None => {}
        }
        DONE
    }

    fn close(&mut self, now: u64, fd: i64) -> Result<Returned, String> {
        self.open.retain(|f| *f != fd);
        if self.socket == Some(fd) { self.finish(now) } else { DONE }
    }
}

impl Endpoint for Sockets {
    fn call(&mut self, now: u64, call: &Call) -> Result<Returned, String> {
        if call.name == "socket" {
            let Arg::Int(fd) = call.result else { return Err("socket: the number of the socket must be given".into()) };
            self.open.push(fd);
            return Ok(Returned::Value(fd, None));
        }
        let fd = number(call, 0)?;
        if !self.open.contains(&fd) {
            return Ok(Returned::Value(-1, Some("EBADF")));
        }
        match call.name.as_str() {
            "bind" => DONE,
            "listen" => {
                self.listener = Some(fd);
                self.connection = Some(Connection::new(self.settings.clone())?);
                DONE
            }
            "connect" => self.connect(now, fd),
            "accept" => self.accept(fd, call),
            "fcntl" => self.fcntl(fd, call),
            "setsockopt" => self.setsockopt(call),
            "getsockopt" => self.getsockopt(call),
            "write" | "send" | "sendto" => self.write(now, fd, number(call, 2)?),
            "read" | "recv" | "recvfrom" => self.read(fd, number(call, 2)?),
            "shutdown" => {
                self.read_shutdown |= word(call, 1) != "SHUT_WR";
                if word(call, 1) == "SHUT_RD" { DONE } else { self.finish(now) }
            }
            "close" => self.close(now, fd),
            name => Err(format!("the call {name}")),
        }
    }

    fn arrive(&mut self, now: u64, segment: &Segment) -> Result<(), String> {
        self.connection.as_mut().map_or(Err("there is no socket for it".into()), |c| c.arrive(now, segment))
    }

    fn set(&mut self, name: &str, value: &str) {
        self.settings.parameter(name, value);
        self.settings_changed();
    }

    fn pass(&mut self, _now: u64, until: u64) -> Result<Option<u64>, String> {
        let Some(c) = self.connection.as_mut() else { return Ok(None) };
        let due = c.next_timer();
        if due > until || due == u64::MAX {
            return Ok(None);
        }
        c.fire();
        Ok(Some(due))
    }

    fn idle_until(&self, _now: u64) -> u64 {
        self.connection.as_ref().map_or(u64::MAX, Connection::next_timer)
    }

    fn take_sent(&mut self) -> Option<Sent> {
        self.connection.as_mut().and_then(|c| c.sent.pop_front())
    }

    fn first_sent(&self) -> Option<&Sent> {
        self.connection.as_ref().and_then(|c| c.sent.front())
    }

    fn sent(&self) -> usize {
        self.connection.as_ref().map_or(0, |c| c.sent.len())
    }

    fn info(&mut self) -> Result<Vec<(&'static str, f64)>, String> {
        Ok(self.connection.as_ref().map_or_else(Vec::new, Connection::info))
    }
}
