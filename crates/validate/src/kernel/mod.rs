//! Endpoint of a Linux kernel: a guest whose clock, application and network are this program. Calls of the script are made on real sockets, and its
//! packets arrive at the guest's interface.

mod missing_features;
mod options;
mod wire;

pub(crate) use self::missing_features::{missing, parameters};

use self::options::{SOL_TCP, number_of, tcp_info};
use self::wire::Route;
use crate::connection::Sent;
use crate::endpoint::{Endpoint, Returned};
use crate::script::{Arg, Call, Options, Segment, flag};
use crate::settings::Settings;
use crate::socket::{number, word};
use forebay_linux::script::{Called, HOST, Host, PEER, Session};
use std::collections::VecDeque;

/// Port of the end that listens.
const SERVICE: u16 = 8080;
/// Port of the peer that connects to it.
const CLIENT: u16 = 40_000;
/// A tick of the kernel's timestamps, in units of the script's clock (ns).
const TICK: u32 = 1_000_000;
/// Time to wait for a packet without a time, ps.
const LONGEST: u64 = 3_600_000_000_000_000;
/// Bytes of IPv4 and TCP headers.
const HEADERS: u32 = 40;

/// The sockets of a script in a guest.
pub(crate) struct Kernel {
    guest: Session,
    /// Ports of the endpoint and of the peer, from the first packet on.
    route: Route,
    /// First sequence number of the endpoint.
    isn: Option<u32>,
    sent: VecDeque<Sent>,
    /// Timestamps of the endpoint: in ns as [`Sent`] has them, and the kernel's own.
    stamps: Vec<(u32, u32)>,
    /// Non-blocking sockets.
    nonblocking: Vec<i64>,
    /// Congestion control of new sockets.
    cc: &'static str,
    /// The socket that connects, or was accepted.
    socket: Option<u32>,
}

impl Kernel {
    /// A guest with a script's settings.
    pub(crate) fn start(settings: &Settings, parameters: Vec<(String, String)>) -> Result<Kernel, String> {
        let mut host = Host::of(&settings.transport()?);
        host.mtu = u32::from(settings.mss) + HEADERS;
        host.parameters.extend(parameters);
        let guest = Session::start(&host)?;
        let route = Route { from: (PEER, CLIENT), to: (HOST, SERVICE) };
        Ok(Kernel {
            guest,
            route,
            isn: None,
            sent: VecDeque::new(),
            stamps: Vec::new(),
            nonblocking: Vec::new(),
            cc: settings.cc(),
            socket: None,
        })
    }

    /// Collects the packets that the guest has sent.
    fn collect(&mut self) {
        for packet in self.guest.sent() {
            let Some((mut segment, route)) = wire::segment(&packet.head, packet.length) else { continue };
            if segment.flags & flag::SYN != 0 {
                self.isn = Some(segment.seq);
                self.route = Route { from: route.to, to: route.from };
            }
            segment.seq = segment.seq.wrapping_sub(self.isn.unwrap_or(segment.seq));
            if segment.flags & flag::SYN != 0 && segment.flags & flag::ACK == 0 {
                segment.win = None;
            }
            if let Some(Options { ts: Some((value, _)), .. }) = &mut segment.options {
                let first = self.stamps.first().map_or((0, *value), |s| *s);
                let ns = first.0.wrapping_add(value.wrapping_sub(first.1).wrapping_mul(TICK));
                self.stamps.push((ns, *value));
                *value = ns;
            }
            self.sent.push_back(Sent { time: packet.time, segment });
        }
    }

    /// The kernel's timestamp for one of the script's clock.
    fn stamp(&self, ns: u32) -> u32 {
        if ns == 0 && self.stamps.is_empty() {
            return 0;
        }
        let exact = self.stamps.iter().rev().find(|s| s.0 == ns).map(|s| s.1);
        let last = self.stamps.last().copied().unwrap_or_default();
        exact.unwrap_or_else(|| last.1.wrapping_add((ns.wrapping_sub(last.0).cast_signed() / TICK.cast_signed()).cast_unsigned()))
    }

    /// Brings the guest's clock, which counts whole nanoseconds, to `now`.
    fn catch_up(&mut self, now: u64) -> Result<(), String> {
        while self.guest.now() < now / 1000 * 1000 {
            self.guest.pass(now / 1000 * 1000)?;
            self.collect();
        }
        Ok(())
    }

    /// Makes a call of the guest; negative results are errors.
    fn make(&mut self, call: &Called<'_>) -> Result<i64, String> {
        let (value, _) = self.guest.call(call)?;
        self.collect();
        Ok(value)
    }

    fn set_option(&mut self, fd: u32, call: &Call) -> Result<i64, String> {
        let name = word(call, 2);
        let (level, option) = number_of(name).ok_or_else(|| format!("the socket option {name}"))?;
        let text = match call.args.get(3) {
            Some(Arg::Text(text)) => Some(text.as_str()),
            Some(Arg::List(list)) => match &list[..] {
                [Arg::Text(text)] => Some(text.as_str()),
                _ => None,
            },
            _ => None,
        };
        match text {
            Some(text) => self.make(&Called::SetText(fd, level, option, text)),
            None => self.make(&Called::Set(fd, level, option, number(call, 3)?)),
        }
    }

    /// A value that differs from the script's is the script's failure.
    fn get_option(&mut self, fd: u32, call: &Call) -> Result<i64, String> {
        let name = word(call, 2);
        let (level, option) = number_of(name).ok_or_else(|| format!("the socket option {name}"))?;
        let (result, bytes) = self.guest.call(&Called::Get(fd, level, option, 4))?;
        let value = i64::from(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        if result < 0 || matches!(call.args.get(3), Some(Arg::Any)) || number(call, 3)? == value {
            return Ok(result);
        }
        Err(format!("{name} is {value}"))
    }
}

impl Endpoint for Kernel {
    fn call(&mut self, now: u64, call: &Call) -> Result<Returned, String> {
        self.catch_up(now)?;
        if call.name == "socket" {
            let Arg::Int(fd) = call.result else { return Err("socket: the number of the socket must be given".into()) };
            let number = u32::try_from(fd).map_err(|_| format!("the socket {fd}"))?;
            let mut made = self.make(&Called::Socket(number))?;
            // A namespace's default can be one of few congestion controls only (tcp_set_default_congestion_control).
            if made == 0 {
                made = self.make(&Called::SetText(number, SOL_TCP, options::TCP_CONGESTION, self.cc))?;
            }
            return Ok(if made < 0 { Returned::Value(-1, Some(options::error(-made))) } else { Returned::Value(fd, None) });
        }
        let named = number(call, 0)?;
        let fd = u32::try_from(named).map_err(|_| format!("the socket {named}"))?;
        let result = match call.name.as_str() {
            "bind" => 0,
            "listen" => self.make(&Called::Listen(fd, SERVICE))?,
            "connect" => {
                self.socket = Some(fd);
                self.make(&Called::Connect(fd, SERVICE))?
            }
            "accept" => match call.result {
                Arg::Int(new) if new >= 0 => {
                    let result = self.make(&Called::Accept(fd, new as u32))?;
                    if result == 0 {
                        self.socket = Some(new as u32);
                        new
                    } else {
                        result
                    }
                }
                _ => -options::EAGAIN,
            },
            "fcntl" if word(call, 1) == "F_GETFL" => 2 + if self.nonblocking.contains(&named) { 0x800 } else { 0 },
            "fcntl" => {
                self.nonblocking.retain(|f| *f != named);
                if word(call, 2).contains("O_NONBLOCK") {
                    self.nonblocking.push(named);
                }
                0
            }
            "setsockopt" => self.set_option(fd, call)?,
            "getsockopt" => self.get_option(fd, call)?,
            "write" | "send" | "sendto" => self.make(&Called::Send(fd, number(call, 2)?.unsigned_abs()))?,
            "read" | "recv" | "recvfrom" => self.make(&Called::Receive(fd, number(call, 2)?.unsigned_abs()))?,
            "shutdown" => {
                let how = ["SHUT_RD", "SHUT_WR", "SHUT_RDWR"].iter().position(|h| *h == word(call, 1));
                self.make(&Called::Shutdown(fd, how.ok_or("shutdown: how is not known")? as u32))?
            }
            "close" => self.make(&Called::Close(fd))?,
            name => return Err(format!("the call {name}")),
        };
        let waits = [-options::EAGAIN, -options::EINPROGRESS, -options::EALREADY].contains(&result);
        if waits && !self.nonblocking.contains(&named) {
            return Ok(Returned::Waits);
        }
        Ok(if result < 0 { Returned::Value(-1, Some(options::error(-result))) } else { Returned::Value(result, None) })
    }

    fn arrive(&mut self, now: u64, segment: &Segment) -> Result<(), String> {
        self.catch_up(now)?;
        let mut segment = segment.clone();
        let isn = self.isn.unwrap_or(0);
        if segment.flags & flag::ACK != 0 {
            segment.ack = segment.ack.wrapping_add(isn);
        }
        if let Some(options) = &mut segment.options {
            if let Some((_, echo)) = &mut options.ts
                && segment.flags & flag::ACK != 0
            {
                *echo = self.stamp(*echo);
            }
            options.sack.iter_mut().for_each(|b| *b = (b.0.wrapping_add(isn), b.1.wrapping_add(isn)));
        }
        let (head, length) = wire::bytes(&segment, self.route);
        self.guest.inject(&head, length)?;
        self.collect();
        Ok(())
    }

    /// All are set when the guest starts.
    fn set(&mut self, _name: &str, _value: &str) {}

    fn pass(&mut self, now: u64, until: u64) -> Result<Option<u64>, String> {
        let until = until.min(now.saturating_add(LONGEST));
        while self.guest.now() < until / 1000 * 1000 {
            self.guest.pass(until / 1000 * 1000)?;
            self.collect();
            if !self.sent.is_empty() {
                return Ok(Some(self.guest.now()));
            }
        }
        Ok(None)
    }

    fn idle_until(&self, now: u64) -> u64 {
        now
    }

    /// A timer of the kernel expires at a slot of its wheel, up to an eighth of its length late (kernel/time/timer.c, calc_wheel_index).
    fn late(&self, waited: i64) -> i64 {
        waited / 8
    }

    fn take_sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    fn first_sent(&self) -> Option<&Sent> {
        self.sent.front()
    }

    fn sent(&self) -> usize {
        self.sent.len()
    }

    fn info(&mut self) -> Result<Vec<(&'static str, f64)>, String> {
        let Some(socket) = self.socket else { return Ok(Vec::new()) };
        let (result, bytes) = self.guest.call(&Called::Get(socket, SOL_TCP, options::TCP_INFO, 256))?;
        if result < 0 {
            return Ok(Vec::new());
        }
        let mut all = tcp_info(&bytes);
        // DCTCP's (struct tcp_dctcp_info): enabled, state of CE, alpha.
        let (result, bytes) = self.guest.call(&Called::Get(socket, SOL_TCP, options::TCP_CC_INFO, 20))?;
        if result >= 0 && bytes[0] == 1 {
            all.push(("dctcp_alpha", f64::from(u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]))));
        }
        Ok(all)
    }
}
