//! The TCP of the running kernel: sockets in the namespaces of the hosts, and the messages that go through them.

use crate::delay_queue;
use crate::namespace::Interface;
use crate::sockets::{io_error, is_datagrams, socket};
use crate::tcp_info::{payload_acked, record};
use forebay_kernel::shims::rules;
use forebay_kernel::tags::TAGS;
use forebay_linux::protocol::{Event, Group, Tcp, Timer, event, number, timer};
use forebay_platform::tcp_info::TcpInfo;
use forebay_types::Time;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{MsgFlags, recv};
use socket2::Socket;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{self, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

/// Listening sockets of transport `g` have this port plus `g`.
pub const FIRST_LISTENING: u16 = 5_000;
/// Ports of senders begin here, and then go round.
const FIRST_SENDING: u16 = 10_000;
const SENDING: u32 = 50_000;
/// Bytes of one write and of one read.
const AT_ONCE: usize = 256 << 10;
/// `TCP_SYN_SENT` (net/tcp_states.h).
const SYN_SENT: u8 = 2;

/// A connection.
#[derive(Debug, Default)]
struct Conn {
    group: u32,
    src: u32,
    dst: u32,
    sender: Option<Arc<Socket>>,
    receiver: Option<Arc<Socket>>,
    /// The direction back of the same TCP connection: its sender is this one's receiver.
    reverse: Option<u32>,
    /// It is the direction from the socket that accepts.
    passive: bool,
    established: bool,
    /// Nothing more can be sent.
    broken: bool,
    /// Bytes handed to the kernel, and bytes to hand over; `None`: without end.
    written: u64,
    target: Option<u64>,
    last: bool,
    closed: bool,
    /// Ends of messages that have not been delivered, and of those that the sender has no ACK of.
    undelivered: VecDeque<u64>,
    unacked: VecDeque<u64>,
    delivered: u64,
    acked: u64,
    /// Timeouts that have been reported.
    timeouts: u16,
}

/// Socket of a connection that an event belongs to.
#[derive(Debug, Clone, Copy)]
enum Side {
    Sender,
    Receiver,
    Listener,
    Datagrams,
}

fn mark(number: usize, side: Side) -> u64 {
    (number as u64) << 2 | side as u64
}

/// All sockets of a run.
pub struct Ends {
    interfaces: Vec<Interface>,
    groups: Vec<Group>,
    conns: Vec<Conn>,
    listeners: Vec<Socket>,
    /// Interfaces and groups with a listening socket.
    listening: BTreeSet<(u32, u32)>,
    /// Connections whose receiving end has not been accepted, by the address of the sending end.
    awaited: HashMap<SocketAddrV4, u32>,
    epoll: Epoll,
    page: Vec<u8>,
    events: Vec<Event>,
    samples: Vec<Tcp>,
    timers: Vec<Timer>,
}

/// Events and samples since the last report.
#[derive(Debug, Default)]
pub struct EndReports {
    /// Events.
    pub events: Vec<Event>,
    /// States of senders.
    pub samples: Vec<Tcp>,
    /// Retransmission timeouts.
    pub timers: Vec<Timer>,
}

impl Ends {
    /// Without connections.
    ///
    /// # Errors
    /// Errors of epoll(7).
    pub fn new(interfaces: Vec<Interface>, groups: Vec<Group>) -> io::Result<Ends> {
        Ok(Ends {
            interfaces,
            groups,
            conns: Vec::new(),
            listeners: Vec::new(),
            listening: BTreeSet::new(),
            awaited: HashMap::new(),
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            page: vec![0; AT_ONCE],
            events: Vec::new(),
            samples: Vec::new(),
            timers: Vec::new(),
        })
    }

    /// The descriptor that is readable when something has happened.
    pub fn watched(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }

    /// Address and port of the two ends that connection `conn` of `group` has between interfaces `src` and `dst`.
    pub fn addresses(&self, conn: u32, group: u32, src: u32, dst: u32) -> (SocketAddrV4, SocketAddrV4) {
        let from = SocketAddrV4::new(self.interfaces[src as usize].address, FIRST_SENDING + (conn % SENDING) as u16);
        (from, SocketAddrV4::new(self.interfaces[dst as usize].address, FIRST_LISTENING + group as u16))
    }

    /// Wire bytes of a packet of `group`: beside its payload, without any, and of a probe of its shim.
    pub fn sizes(&self, group: u32) -> [u32; 3] {
        let g = &self.groups[group as usize];
        [g.header, g.ack_size, rules(&g.shim).map_or(0, |rules| u32::from(rules.probe_size))]
    }

    /// Transport, and addresses of the two ends, of every connection.
    pub fn addresses_of(&self, conn: u32) -> (u32, (SocketAddrV4, SocketAddrV4)) {
        let c = &self.conns[conn as usize];
        match c.reverse.filter(|_| c.passive) {
            Some(opener) => {
                let (from, to) = self.addresses(opener, c.group, c.dst, c.src);
                (c.group, (to, from))
            }
            None => (c.group, self.addresses(conn, c.group, c.src, c.dst)),
        }
    }

    /// Rule that assigns classes of service to the packets of `group`.
    pub fn tag(&self, group: u32) -> [u64; TAGS] {
        self.groups[group as usize].tag
    }

    /// The random waits of `group`, as bits of a mark.
    pub fn waits(&self, group: u32) -> Option<u32> {
        delay_queue::waits(&self.groups[group as usize])
    }

    fn listen(&mut self, interface: u32, group: u32, at: SocketAddrV4) -> io::Result<()> {
        if !self.listening.insert((interface, group)) {
            return Ok(());
        }
        let socket = socket(&self.interfaces[interface as usize].namespace, &self.groups[group as usize])?;
        socket.bind(&at.into()).map_err(|e| io_error(&format!("bind {at}"), e))?;
        let datagrams = is_datagrams(&self.groups[group as usize]);
        if !datagrams {
            socket.listen(4_096)?;
        }
        let (number, side) = (self.listeners.len(), if datagrams { Side::Datagrams } else { Side::Listener });
        self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, mark(number, side)))?;
        self.listeners.push(socket);
        Ok(())
    }

    /// Opens connection `conn`, the next one, or a source of datagrams.
    ///
    /// # Errors
    /// The kernel refuses a socket, its congestion control or its address.
    pub fn open(&mut self, conn: u32, group: u32, src: u32, dst: u32) -> io::Result<()> {
        let (from, to) = self.addresses(conn, group, src, dst);
        self.listen(dst, group, to)?;
        let socket = socket(&self.interfaces[src as usize].namespace, &self.groups[group as usize])?;
        if let Some(waits) = self.waits(group) {
            socket.set_mark(delay_queue::mark(waits, conn)).map_err(|e| io_error("SO_MARK", e))?;
        }
        socket.bind(&from.into()).map_err(|e| io_error(&format!("bind {from}"), e))?;
        debug_assert_eq!(conn as usize, self.conns.len());
        if is_datagrams(&self.groups[group as usize]) {
            socket.connect(&to.into()).map_err(|e| io_error(&format!("connect {from} to {to}"), e))?;
            self.conns.push(Conn {
                group,
                src,
                dst,
                sender: Some(Arc::new(socket)),
                target: Some(0),
                established: true,
                ..Conn::default()
            });
            return Ok(());
        }
        self.awaited.insert(from, conn);
        match socket.connect(&to.into()) {
            Ok(()) => {}
            Err(e) if e.raw_os_error() == Some(nix::libc::EINPROGRESS) => {}
            Err(e) => return Err(io_error(&format!("connect {from} to {to}"), e)),
        }
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        self.epoll.add(&socket, EpollEvent::new(flags, mark(conn as usize, Side::Sender)))?;
        self.conns.push(Conn { group, src, dst, sender: Some(Arc::new(socket)), target: Some(0), ..Conn::default() });
        Ok(())
    }

    /// Opens connection `conn`, the next one, as the direction back of `opener`, which opens at the same instant. It has the sockets of that one.
    ///
    /// # Errors
    /// Errors of epoll(7).
    pub fn open_reverse(&mut self, conn: u32, opener: u32) -> io::Result<()> {
        debug_assert_eq!(conn as usize, self.conns.len());
        let first = &mut self.conns[opener as usize];
        first.reverse = Some(conn);
        let receiver = first.sender.clone();
        if let Some(socket) = &receiver {
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
            self.epoll.modify(socket, &mut EpollEvent::new(flags, mark(opener as usize, Side::Sender)))?;
        }
        let (group, src, dst) = (first.group, first.dst, first.src);
        let reverse = Some(opener);
        self.conns.push(Conn { group, src, dst, receiver, reverse, passive: true, target: Some(0), ..Conn::default() });
        Ok(())
    }

    /// Source `conn` sends a datagram with so much payload. One that the kernel has no room for is lost, as everywhere.
    pub fn datagram(&mut self, conn: u32, payload: u32) {
        if let Some(socket) = &self.conns[conn as usize].sender {
            let _ = socket.send(&self.page[..payload as usize]);
        }
    }

    /// Connection `conn` gets a message of `bytes` to write, 0 for one without end; nothing follows a `last` one.
    pub fn write(&mut self, now: Time, conn: u32, bytes: u64, last: bool) {
        let c = &mut self.conns[conn as usize];
        c.last |= last;
        match (bytes, c.target) {
            (0, _) => c.target = None,
            (_, Some(before)) => {
                c.target = Some(before + bytes);
                c.undelivered.push_back(before + bytes);
                c.unacked.push_back(before + bytes);
            }
            (_, None) => {}
        }
        self.push(now, conn);
    }

    /// Connection `conn` writes no more.
    pub fn stop(&mut self, now: Time, conn: u32) {
        let c = &mut self.conns[conn as usize];
        c.target = Some(c.written);
        c.last = true;
        self.push(now, conn);
    }

    /// Hands the kernel as much as it takes.
    fn push(&mut self, now: Time, conn: u32) {
        let Ends { conns, page, groups, events, .. } = self;
        let c = &mut conns[conn as usize];
        let Some(socket) = &c.sender else { return };
        if !c.established || c.broken {
            return;
        }
        loop {
            let left = c.target.map_or(AT_ONCE as u64, |t| t - c.written).min(AT_ONCE as u64);
            if left == 0 {
                break;
            }
            match (&**socket).write(&page[..left as usize]) {
                Ok(n) => c.written += n as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => {
                    c.broken = true;
                    events.push(failed(now, conn, &e));
                    return;
                }
            }
        }
        let fin = groups[c.group as usize].flags & number::GROUP_FIN != 0;
        if fin && c.last && !c.closed && c.target == Some(c.written) {
            c.closed = socket.shutdown(std::net::Shutdown::Write).is_ok();
        }
    }

    /// Handles everything that has happened at the sockets by `now`.
    ///
    /// # Errors
    /// Errors of epoll(7) and accept(2).
    pub fn poll(&mut self, now: Time) -> io::Result<()> {
        let mut ready = [EpollEvent::empty(); 256];
        loop {
            let n = match self.epoll.wait(&mut ready, EpollTimeout::ZERO) {
                Err(nix::errno::Errno::EINTR) => continue,
                n => n?,
            };
            for e in &ready[..n] {
                let (number, side) = ((e.data() >> 2) as usize, e.data() & 3);
                match side {
                    0 => {
                        self.sender_ready(now, number as u32);
                        if let Some(other) = self.conns[number].reverse {
                            self.receiver_ready(now, other);
                        }
                    }
                    1 => {
                        self.receiver_ready(now, number as u32);
                        if let Some(other) = self.conns[number].reverse {
                            self.sender_ready(now, other);
                        }
                    }
                    3 => self.discard(number),
                    _ => self.accept(now, number)?,
                }
            }
            if n < ready.len() {
                return Ok(());
            }
        }
    }

    fn sender_ready(&mut self, now: Time, conn: u32) {
        let c = &mut self.conns[conn as usize];
        let Some(socket) = &c.sender else { return };
        if let Ok(Some(e)) = socket.take_error()
            && !c.broken
        {
            c.broken = true;
            self.events.push(failed(now, conn, &e));
            return;
        }
        if !c.established && socket.peer_addr().is_ok() {
            c.established = true;
            self.events.push(Event { time: now.0, conn, kind: event::ESTABLISHED, bytes: 0 });
        }
        self.push(now, conn);
    }

    fn accept(&mut self, now: Time, listener: usize) -> io::Result<()> {
        loop {
            let (socket, peer) = match self.listeners[listener].accept() {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                accepted => accepted?,
            };
            socket.set_nonblocking(true)?;
            let Some(SocketAddr::V4(peer)) = peer.as_socket() else { continue };
            let Some(conn) = self.awaited.remove(&peer) else { continue };
            let (reverse, socket) = (self.conns[conn as usize].reverse, Arc::new(socket));
            let writes = if reverse.is_some() { EpollFlags::EPOLLOUT } else { EpollFlags::empty() };
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLET | writes;
            self.epoll.add(&socket, EpollEvent::new(flags, mark(conn as usize, Side::Receiver)))?;
            self.conns[conn as usize].receiver = Some(Arc::clone(&socket));
            if let Some(other) = reverse {
                self.accept_reverse(now, other, socket)?;
            }
        }
    }

    /// The accepted socket sends for `conn`, the direction back.
    fn accept_reverse(&mut self, now: Time, conn: u32, socket: Arc<Socket>) -> io::Result<()> {
        if let Some(waits) = self.waits(self.conns[conn as usize].group) {
            socket.set_mark(delay_queue::mark(waits, conn)).map_err(|e| io_error("SO_MARK", e))?;
        }
        let c = &mut self.conns[conn as usize];
        (c.sender, c.established) = (Some(socket), true);
        self.events.push(Event { time: now.0, conn, kind: event::ESTABLISHED, bytes: 0 });
        self.push(now, conn);
        Ok(())
    }

    /// Datagrams that have arrived were counted as packets.
    fn discard(&mut self, listener: usize) {
        let socket = self.listeners[listener].as_raw_fd();
        while recv(socket, &mut self.page, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT).is_ok() {}
    }

    /// Reads all that has arrived; the kernel throws it away without copying (`MSG_TRUNC`, tcp(7)).
    fn receiver_ready(&mut self, now: Time, conn: u32) {
        let c = &mut self.conns[conn as usize];
        let Some(socket) = &c.receiver else { return };
        while let Ok(n) = recv(socket.as_raw_fd(), &mut self.page, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT)
            && n > 0
        {
            c.delivered += n as u64;
        }
        while c.undelivered.front().is_some_and(|end| *end <= c.delivered) {
            c.undelivered.pop_front();
            self.events.push(Event { time: now.0, conn, kind: event::DELIVERED, bytes: c.delivered });
        }
    }

    /// Samples the sender of `conn`: its state, the acknowledged bytes, and expirations of its timer.
    pub fn sample(&mut self, now: Time, conn: u32) {
        let Some(c) = self.conns.get_mut(conn as usize) else { return };
        let Some(Ok(info)) = c.sender.as_ref().map(|s| TcpInfo::of(s.as_fd())) else { return };
        // The kernel counts no SYN-ACK (tcp_create_openreq_child).
        c.acked = if c.passive { info.bytes_acked() } else { payload_acked(&info) }.min(c.written);
        while c.unacked.front().is_some_and(|end| *end <= c.acked) {
            c.unacked.pop_front();
            self.events.push(Event { time: now.0, conn, kind: event::ACKED, bytes: c.acked });
        }
        let mut sample = record(&info, now, conn);
        sample.acked = c.acked;
        self.samples.push(sample);
        for i in c.timeouts..info.timeouts() {
            let kind = if info.state() == SYN_SENT || !c.established { timer::SYN } else { timer::RTO };
            let backoff = u32::from(info.backoff()).saturating_sub(u32::from(info.timeouts() - i));
            let packets_out = info.packets_out();
            self.timers.push(Timer { time: now.0, conn, kind, rto_us: info.rto_us(), backoff, packets_out, pad: 0 });
        }
        c.timeouts = info.timeouts();
    }

    /// Connections that have something under way.
    pub fn busy(&self) -> Vec<u32> {
        let busy = |c: &Conn| !c.broken && (c.target.is_none() || !c.unacked.is_empty() || !c.established);
        (0..).zip(&self.conns).filter(|(_, c)| busy(c)).map(|(i, _)| i).collect()
    }

    /// Takes the events and samples since the last report.
    pub fn take_reports(&mut self) -> EndReports {
        let take = std::mem::take::<Vec<Event>>;
        EndReports {
            events: take(&mut self.events),
            samples: std::mem::take(&mut self.samples),
            timers: std::mem::take(&mut self.timers),
        }
    }

    /// Returns true if an event has to be reported immediately.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Bytes read and acknowledged of each connection.
    pub fn totals(&self) -> impl Iterator<Item = (u64, u64)> {
        self.conns.iter().map(|c| (c.delivered, c.acked))
    }
}

fn failed(now: Time, conn: u32, e: &io::Error) -> Event {
    Event { time: now.0, conn, kind: event::FAILED, bytes: e.raw_os_error().unwrap_or(0) as u64 }
}
