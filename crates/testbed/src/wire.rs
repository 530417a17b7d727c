//! The thread of the switch: reads the packets of hosts, and delivers due packets, as close to their time as the machine allows.

use crate::clock::{Clock, real_time};
use crate::commands::{Command, CommandReceiver, Flow};
use crate::deadline_miss::DeadlineMisses;
use crate::delay_queue::HoldTimes;
use crate::frame::{self, End, Headers, flag};
use crate::records::{Packet, Records};
use crate::segmentation::segments;
use crate::switch::{Delivery, Switch};
use crate::tap::{Device, LARGEST};
use forebay_queues::{Arrival, Codepoint};
use forebay_types::{PortId, Time};
use nix::libc;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Priority of the switch's thread; that of the applications is below it.
pub const PRIORITY: i32 = 10;

/// A packet that the switch is asked to note: whose it is, beside what its headers say.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    /// Number of the connection.
    pub conn: u32,
    /// It goes in the direction of ACKs.
    pub back: bool,
}

/// Receiver of the trace of a run.
pub trait TraceSink: Records {
    /// A packet of a connection was handed to its host at `now`, where the sender of connection `acked` is: the packet acknowledges its data.
    fn delivered(&mut self, now: Time, delivery: &Delivery, acked: Option<u32>);

    /// No event is due for a while: publishes the records written so far.
    fn publish(&mut self);
}

/// The number of a flow that disciplines and ways know.
fn number(conn: u32, back: bool) -> u64 {
    u64::from(conn) << 1 | u64::from(back)
}

/// The owner of a packet, from what disciplines know of it.
pub fn owner(meta: &Arrival) -> Owner {
    Owner { conn: (meta.flow >> 1) as u32, back: meta.flow & 1 == 1 }
}

/// The hosts' devices, and the network between them.
pub struct Wire<L> {
    switch: Switch,
    /// Address and device of each interface.
    devices: Vec<(Ipv4Addr, Device)>,
    /// Places in `devices`.
    by_address: HashMap<Ipv4Addr, usize>,
    /// Flows by connection number.
    flows: Vec<Flow>,
    /// Connections with data in both directions whose opener has received data, by the number of the direction back.
    answered: HashSet<u32>,
    /// Newest flow between two ends: number, and whether packets go in the direction of ACKs.
    by_ends: HashMap<(End, End), (u32, bool)>,
    commands: CommandReceiver,
    clock: Clock,
    misses: DeadlineMisses,
    /// End times of held packets, if a transport uses them.
    holds: Option<HoldTimes>,
    trace: L,
    sent: u64,
    unknown_flow_packets: u64,
}

/// Result of the switch thread.
pub struct Carried<L> {
    /// The trace.
    pub trace: L,
    /// Deadline misses of packet deliveries.
    pub misses: DeadlineMisses,
    /// Packets that hosts sent.
    pub sent: u64,
    /// Packets of no known flow; they were thrown away.
    pub unknown_flow_packets: u64,
    /// The thread had the priority that it needs.
    pub has_priority: bool,
}

/// Epoll token of the wakeup event; the tokens of devices are their indices.
const WAKEUP: u64 = u64::MAX;

/// The longest sleep, after which the end of the run is noticed.
const LONGEST: TimeSpec = TimeSpec::new(0, 20_000_000);

/// Like epoll_wait(2), with a limit in nanoseconds: a thread of real-time priority has no timer slack, and wakes up on time. The function epoll_pwait2 is
/// in glibc 2.35 and later; packages need 2.28, so this is the system call (Linux 5.11).
fn wait(epoll: &Epoll, events: &mut [EpollEvent], limit: TimeSpec) -> io::Result<usize> {
    let limit: *const libc::timespec = limit.as_ref();
    let no_mask: *const libc::sigset_t = std::ptr::null();
    // SAFETY: `EpollEvent` is the kernel's struct, of which there are as many as said; all that is passed lives until the call returns. The size of a
    // mask is not read where there is none.
    let ready = unsafe {
        let fd = epoll.0.as_raw_fd();
        libc::syscall(libc::SYS_epoll_pwait2, fd, events.as_mut_ptr(), events.len() as i32, limit, no_mask, 0_usize)
    };
    match usize::try_from(ready) {
        Ok(n) => Ok(n),
        Err(_) => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(0),
            e => Err(e),
        },
    }
}

impl<L: TraceSink> Wire<L> {
    /// The network of `switch` between `devices`. New flows are announced on `commands` before their first packet is sent.
    pub fn new(switch: Switch, devices: Vec<(Ipv4Addr, Device)>, commands: CommandReceiver, clock: Clock, trace: L) -> Wire<L> {
        let holds = None;
        let (flows, by_ends, misses) = (Vec::new(), HashMap::new(), DeadlineMisses::default());
        let by_address = devices.iter().enumerate().map(|(i, (address, _))| (*address, i)).collect();
        let answered = HashSet::new();
        Wire {
            switch,
            devices,
            by_address,
            flows,
            answered,
            by_ends,
            commands,
            clock,
            misses,
            holds,
            trace,
            sent: 0,
            unknown_flow_packets: 0,
        }
    }

    /// Delays packets by the times in `holds`.
    pub fn holding(self, holds: Option<HoldTimes>) -> Wire<L> {
        Wire { holds, ..self }
    }

    /// Carries packets until `stop`.
    ///
    /// # Errors
    /// Errors of timers and devices.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<Carried<L>> {
        let has_priority = real_time(PRIORITY).is_ok();
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (i, (_, device)) in self.devices.iter().enumerate() {
            epoll.add(device, EpollEvent::new(EpollFlags::EPOLLIN, i as u64))?;
        }
        epoll.add(self.commands.wakeup(), EpollEvent::new(EpollFlags::EPOLLIN, WAKEUP))?;
        let (mut events, mut buffer) = ([EpollEvent::empty(); 64], vec![0; LARGEST]);
        while !stop.load(Ordering::Relaxed) {
            self.deliver_due();
            self.trace.publish();
            let next = self.switch.next().map_or(LONGEST, |t| self.clock.until(t)).min(LONGEST);
            let ready = wait(&epoll, &mut events, next)?;
            for event in &events[..ready] {
                match event.data() {
                    WAKEUP => {
                        self.commands.clear_wakeup();
                        self.run_commands();
                    }
                    device => self.read_device(device as usize, &mut buffer)?,
                }
            }
        }
        self.trace.publish();
        Ok(Carried {
            trace: self.trace,
            misses: self.misses,
            sent: self.sent,
            unknown_flow_packets: self.unknown_flow_packets,
            has_priority,
        })
    }

    /// Advances the switch to the present and delivers all packets that have reached their hosts. Returns the time to which the switch has advanced.
    fn deliver_due(&mut self) -> Time {
        let clock = self.clock;
        let advanced = clock.now();
        let mut arrived = Vec::new();
        self.switch.advance(advanced, &mut self.trace, |delivery| arrived.push(delivery));
        for mut delivery in arrived {
            let bytes = &mut delivery.skb.frame.bytes;
            if delivery.skb.meta.ecn == Codepoint::Ce {
                frame::set_ce(bytes);
            }
            let Some(&device) = self.by_address.get(&delivery.skb.frame.headers.to.0) else { continue };
            // The write runs the receiving stack; the packet is late by what has passed until then.
            let now = clock.now();
            let written = self.devices[device].1.send(bytes);
            self.misses.add(delivery.due, now);
            let Owner { conn, back } = owner(&delivery.skb.meta);
            let reverse = self.flows[conn as usize].reverse;
            if !back && !delivery.skb.frame.headers.probe && reverse.is_some_and(|opener| opener < conn) {
                self.answered.insert(conn);
            }
            if written.is_ok() {
                self.trace.delivered(now, &delivery, if back { Some(conn) } else { reverse });
            }
            if back && let Some(stream) = &mut self.flows[conn as usize].stream {
                stream.answered(&delivery.skb.frame.headers);
            }
        }
        advanced
    }

    /// Takes all packets that a host has sent.
    fn read_device(&mut self, device: usize, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            let (frame, size) = match self.devices[device].1.receive(buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                read => read?,
            };
            match size.and_then(|size| segments(frame, size)) {
                Some(all) => all.into_iter().for_each(|bytes| self.take(bytes)),
                None => self.take(frame.to_vec()),
            }
        }
    }

    /// Takes a frame that a host has sent.
    fn take(&mut self, bytes: Vec<u8>) {
        match frame::headers(&bytes).and_then(|h| Some((self.meta(&h)?, h))) {
            Some((meta, headers)) => {
                let packet = Packet::new(bytes, headers, self.sent);
                self.sent += 1;
                self.send(packet, meta);
            }
            None => self.unknown_flow_packets += 1,
        }
    }

    /// Runs the commands of the application thread.
    fn run_commands(&mut self) {
        while let Some(command) = self.commands.next() {
            match command {
                Command::Flow(flow) => {
                    match flow.reverse {
                        // Its packets are those of the flow that opens the connection.
                        Some(opener) => self.flows[opener as usize].reverse = Some(flow.conn),
                        None => {
                            self.by_ends.insert((flow.to, flow.from), (flow.conn, true));
                            self.by_ends.insert((flow.from, flow.to), (flow.conn, false));
                        }
                    }
                    self.route(flow.conn, &flow.forth, &flow.back);
                    // They are numbered in the order in which they open.
                    self.flows.push(flow);
                }
                Command::Write { conn, bytes } => {
                    if let Some(stream) = self.flows.get_mut(conn as usize).and_then(|f| f.stream.as_mut()) {
                        stream.write(bytes);
                    }
                }
                Command::Route { conn, forth, back } => self.route(conn, &forth, &back),
            }
        }
    }

    fn route(&mut self, conn: u32, forth: &[PortId], back: &[PortId]) {
        self.switch.set_route(number(conn, false), forth);
        self.switch.set_route(number(conn, true), back);
    }

    /// Sends a packet, or delays it by the time that the congestion control of its connection has set.
    fn send(&mut self, packet: Packet, meta: Arrival) {
        // Packets that left earlier must have left before this one joins a queue.
        let now = self.deliver_due();
        let Owner { conn, back } = owner(&meta);
        let waits = !back && self.flows[conn as usize].waits;
        if let Some(holds) = self.holds.as_ref().filter(|_| waits) {
            let until = holds.until(conn, self.clock);
            if until > now {
                return self.switch.hold(until, packet, meta);
            }
            // The hold has ended early: what it kept goes first.
            self.switch.release(now, meta.flow, &mut self.trace);
        }
        self.switch.send(now, packet, meta, &mut self.trace);
    }

    /// Connection and direction of a packet of `opener`, which may be one direction of a TCP connection with data in both. Data belong to the direction
    /// of their sender, as do the probes of a shim, and an ACK without data belongs to the other one. The handshake belongs to the direction that opens: its
    /// last ACK leaves before data has come.
    fn direction(&self, opener: u32, back: bool, headers: &Headers) -> (u32, bool) {
        let (Some(reverse), Some(tcp)) = (self.flows.get(opener as usize).and_then(|f| f.reverse), headers.tcp) else {
            return (opener, back);
        };
        let data = headers.payload > 0 || tcp.flags & flag::FIN != 0 || headers.probe;
        let syn = tcp.flags & flag::SYN != 0;
        match back {
            false if syn || data || !self.answered.contains(&reverse) => (opener, false),
            false => (reverse, true),
            true if syn || !data => (opener, true),
            true => (reverse, false),
        }
    }

    /// Packet properties that disciplines use, for a packet that leaves its host; `None`: it belongs to no known flow.
    fn meta(&mut self, headers: &Headers) -> Option<Arrival> {
        // A message is known before its first packet, and a flow before its first.
        self.run_commands();
        let &(opener, back) = self.by_ends.get(&(headers.from, headers.to))?;
        let (conn, back) = self.direction(opener, back, headers);
        let flow = self.flows.get_mut(conn as usize)?;
        let class = match &mut flow.stream {
            Some(stream) if back => stream.answer(),
            Some(stream) => stream.leaves(headers),
            None => 0,
        };
        let wire = match headers.payload {
            _ if headers.probe => flow.probe_size,
            0 => flow.ack_size,
            payload => payload + flow.header,
        };
        let class = if back || flow.class == 0 { class } else { flow.class };
        Some(Arrival { wire, ecn: headers.ecn, class, rank: 0, flow: number(conn, back) })
    }
}
