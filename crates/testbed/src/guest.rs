//! The role of the guest kernel in the protocol of the backend `linux` (`protocol.h` of the crate `forebay-kernel`), for the running kernel in real
//! time.

use crate::clock::{Clock, real_time};
use crate::commands::{Command, CommandSender, Flow, channel};
use crate::deadline_miss::DeadlineMisses;
use crate::delay_queue::{HoldTimes, waits};
use crate::ends::{Ends, FIRST_LISTENING};
use crate::namespace::{Interface, Namespace, sysctl};
use crate::netlink::{Netlink, RouteMetrics};
use crate::program::Programs;
use crate::stream::Stream;
use crate::switch::Switch;
use crate::tap::{self, Device};
use crate::trace::{SharedTrace, TraceRecord, TraceWriter};
use crate::wire::{Carried, PRIORITY as SWITCH_PRIORITY, Wire};
use forebay_experiment::network::Network;
use forebay_kernel::tags::TAGS;
use forebay_linux::link::{Frame, Frames, Incoming, Link};
use forebay_linux::protocol::{self, Record, SETUP_END, number};
use forebay_types::{PortId, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Priority of the threads of the applications and their sockets: below that of the switch.
pub const PRIORITY: i32 = 5;
/// From the end of the set-up to the start of the run: longer than the threads take to begin.
const BEFORE_START: Time = Time::from_ms(50);
/// Interval at which senders are sampled that cause no event.
const SAMPLE_EVERY: Time = Time::from_ms(5);
/// Longest time between two reports to the runner, which can end the run at each of them.
const REPORT_EVERY: Time = Time::from_ms(100);
/// Longest wait for an answer of the runner.
const PATIENCE: Duration = Duration::from_secs(30);

/// The setting that has 12 bytes of each segment for timestamps (RFC 7323), padding included; on by default.
const TIMESTAMPS: &str = "net/ipv4/tcp_timestamps";
const STAMPS: u32 = 12;
/// Headers without options.
const IP_AND_TCP: u32 = 40;

/// Timing and counters of a run.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Deadline misses of packet deliveries.
    pub misses: DeadlineMisses,
    /// The switch had the priority over ordinary threads that it needs.
    pub real_time: bool,
    /// Packets of no known connection.
    pub unknown_flow_packets: u64,
    /// Counters of the BPF programs.
    pub counters: Vec<(String, u64)>,
}

#[derive(Default)]
struct Setup {
    /// `FB_RECORD_*`.
    records: u64,
    profiles: Vec<protocol::Profile>,
    sysctls: Vec<protocol::Sysctl>,
    groups: Vec<protocol::Group>,
    interfaces: Vec<protocol::Interface>,
    shim_hosts: Vec<protocol::ShimHost>,
}

impl Setup {
    /// Takes a frame; whether it was the last one.
    fn take(&mut self, frame: Frame<'_>) -> bool {
        match frame.kind() {
            protocol::World::KIND => self.records = frame.records::<protocol::World>().fold(0, |_, world| world.records),
            protocol::Profile::KIND => self.profiles.extend(frame.records::<protocol::Profile>()),
            protocol::Sysctl::KIND => self.sysctls.extend(frame.records::<protocol::Sysctl>()),
            protocol::Group::KIND => self.groups.extend(frame.records::<protocol::Group>()),
            protocol::Interface::KIND => self.interfaces.extend(frame.records::<protocol::Interface>()),
            protocol::ShimHost::KIND => self.shim_hosts.extend(frame.records::<protocol::ShimHost>()),
            // The network is at hand as it is.
            _ => {}
        }
        frame.kind() == SETUP_END
    }

    /// Minimum intervals between repeated probes of the host `node`, by transport.
    fn costs_of_probe(&self, node: u32) -> Vec<Time> {
        let cost = |group: u32| self.shim_hosts.iter().find(|h| (h.group, h.node) == (group, node)).map_or(0, |h| h.cost);
        (0..self.groups.len() as u32).map(|group| Time(cost(group))).collect()
    }

    /// Payload of full segments of each transport: what headers and timestamps leave of an interface's MTU.
    fn segments(&self) -> Vec<u32> {
        let of = |group: &protocol::Group| {
            let stamps = |s: &&protocol::Sysctl| s.profile == group.profile && read(&s.key) == TIMESTAMPS;
            let stamps = self.sysctls.iter().find(stamps).is_none_or(|s| read(&s.value) != "0");
            let mtu = self.interfaces.iter().find(|i| i.profile == group.profile).map_or(0, |i| i.mtu);
            mtu.saturating_sub(IP_AND_TCP + if stamps { STAMPS } else { 0 }).max(1)
        };
        self.groups.iter().map(of).collect()
    }
}

fn disconnected() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the program that asked for this run is gone")
}

fn read(field: &[u8]) -> String {
    String::from_utf8_lossy(field.split(|&b| b == 0).next().unwrap_or_default()).into_owned()
}

/// Serves one run on `network`, under `seed`, to the runner at the other end of `link`.
///
/// # Errors
/// The kernel refuses an operation. The message is also sent to the other end.
pub fn serve(mut link: Link, network: &Network, seed: u64) -> io::Result<Timing> {
    let done = run(&mut link, network, seed);
    if let Err(e) = &done {
        let mut frames = Frames::default();
        frames.put_text(&e.to_string());
        // The other end may have closed the connection; the text is then lost.
        let _ = link.send(&mut frames);
    }
    done
}

fn run(link: &mut Link, network: &Network, seed: u64) -> io::Result<Timing> {
    let mut setup = Setup::default();
    while !match link.next(PATIENCE)? {
        Incoming::Frame(frame) => setup.take(frame),
        Incoming::Silence | Incoming::End => return Err(disconnected()),
    } {}
    let holds = setup.groups.iter().any(|g| waits(g).is_some()).then(HoldTimes::open).transpose()?;
    let mut programs = Programs::load(&setup.groups, FIRST_LISTENING)?;
    let (mut interfaces, mut devices) = (Vec::new(), Vec::new());
    for i in 0..setup.interfaces.len() {
        let (interface, device) = interface(&setup, i, &mut programs)?;
        devices.push((interface.address, device));
        interfaces.push(interface);
    }
    let mut frames = Frames::default();
    let version = nix::sys::utsname::uname()?;
    let version: String = version.release().to_string_lossy().chars().take(55).collect();
    frames.put(protocol::Hello {
        protocol: protocol::PROTOCOL,
        record_sizes: protocol::RECORD_SIZES,
        version: protocol::text(&version),
    });
    link.send(&mut frames)?;

    let (commands, receiver) = channel()?;
    let (trace, stop, clock) = (SharedTrace::default(), AtomicBool::new(false), Clock::starting(BEFORE_START));
    let writer = TraceWriter::new(trace.clone()).with_headers(setup.records & number::RECORD_HEADERS != 0);
    let wire = Wire::new(Switch::new(network, seed), devices, receiver, clock, writer).holding(holds);
    let (groups, segments, timer_loops) = (setup.groups.clone(), setup.segments(), programs.timer_loops()?);
    let ends = Ends::new(interfaces, groups)?;
    thread::scope(|scope| {
        let stopping = StopOnDrop(&stop);
        let carry = || {
            let _stopping = StopOnDrop(&stop);
            wire.run(&stop)
        };
        let carrier = thread::Builder::new().name("switch".into()).spawn_scoped(scope, carry)?;
        let mut timers = Vec::new();
        for keeper in timer_loops {
            let keep = || {
                // With the priority of the switch, if permitted: a shim without its daemon for 50 ms continues without timers.
                let _ = real_time(SWITCH_PRIORITY);
                keeper.run(|| stop.load(Ordering::Relaxed))
            };
            timers.push(thread::Builder::new().name("timers".into()).spawn_scoped(scope, keep)?);
        }
        let ended = Session { link, frames, ends, segments, trace, commands, programs, clock, stop: &stop }.run();
        drop(stopping);
        // The switch's own error is more specific than the report that it has ended.
        let carried = carrier.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        for timer in timers {
            timer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        let SessionEnd { link, mut frames, counters, cut } = ended?;
        if !cut {
            put_done(&mut frames, &carried, clock.now());
            link.send(&mut frames)?;
        }
        Ok(Timing {
            misses: carried.misses,
            real_time: carried.has_priority,
            unknown_flow_packets: carried.unknown_flow_packets,
            counters,
        })
    })
}

/// Stops the threads of a run when it is dropped: when one of them ends, also by an error or a panic, the others end, too.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes interface number `i`.
fn interface(setup: &Setup, i: usize, programs: &mut Programs) -> io::Result<(Interface, Device)> {
    let of = setup.interfaces[i];
    let profile = setup.profiles[of.profile as usize];
    let (namespace, address) = (Namespace::create()?, Ipv4Addr::from(of.address));
    let device = namespace.inside(|| {
        let device = tap::create(profile.burst > 0)?;
        sysctl("net/ipv6/conf/all/disable_ipv6", "1")?;
        for s in setup.sysctls.iter().filter(|s| s.profile == of.profile) {
            sysctl(&read(&s.key), &read(&s.value))?;
        }
        let mut netlink = Netlink::open()?;
        netlink.loopback_up()?;
        let index = netlink.up(tap::NAME, of.mtu, profile.burst)?;
        let given = |value: u32| (value > 0).then_some(value);
        let metrics = RouteMetrics {
            init_cwnd: given(profile.init_cwnd),
            rto_min_ms: given(profile.rto_min_ms),
            quickack: profile.quickack > 0,
        };
        netlink.address(index, address, metrics)?;
        programs.attach(of.profile, tap::NAME, address, &setup.costs_of_probe(of.node))?;
        Ok(device)
    })?;
    Ok((Interface { namespace, address }, device))
}

fn put_done(frames: &mut Frames, carried: &Carried<TraceWriter>, now: Time) {
    let misses = &carried.misses;
    frames.put(protocol::Done {
        now: now.0,
        events: misses.total(),
        late_events: misses.total(),
        late_max: misses.largest().0,
        packets: carried.sent,
    });
}

/// State after the last report.
struct SessionEnd<'a> {
    link: &'a mut Link,
    frames: Frames,
    counters: Vec<(String, u64)>,
    /// The runner has closed the connection before the end of the run.
    cut: bool,
}

/// Answer of the runner to a report.
enum Answer {
    /// Continue, and report again at this time.
    Wake(Time),
    /// End the run.
    Over,
    /// None: the runner has closed the connection.
    Closed,
}

/// The conversation during the run.
struct Session<'a> {
    link: &'a mut Link,
    frames: Frames,
    ends: Ends,
    /// Payload of full segments, by transport.
    segments: Vec<u32>,
    trace: SharedTrace,
    commands: CommandSender,
    programs: Programs,
    clock: Clock,
    /// Set when the switch has ended.
    stop: &'a AtomicBool,
}

impl<'a> Session<'a> {
    fn run(mut self) -> io::Result<SessionEnd<'a>> {
        // Without this capability the run continues, and its deadline misses show the cost.
        let _ = real_time(PRIORITY);
        let (mut wake, mut next_sample, mut report) = (Time::ZERO, SAMPLE_EVERY, REPORT_EVERY);
        self.sleep(Time::ZERO)?;
        let cut = loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("the switch has ended"));
            }
            let now = self.clock.now();
            self.ends.poll(now)?;
            let touched = std::mem::take(&mut self.trace.lock().touched);
            let due = if now >= next_sample { self.ends.busy() } else { Vec::new() };
            touched.into_iter().chain(due).for_each(|conn| self.ends.sample(now, conn));
            if now >= next_sample {
                next_sample = now + SAMPLE_EVERY;
            }
            if now < wake.min(report) && !self.ends.has_events() {
                self.sleep(wake.min(next_sample).min(report))?;
                continue;
            }
            report = now + REPORT_EVERY;
            match self.exchange(now)? {
                Answer::Wake(next) => wake = next,
                Answer::Over => break false,
                Answer::Closed => break true,
            }
        };
        self.flush()?;
        for conn in 0..self.ends.totals().count() as u32 {
            self.put_shim_row(conn)?;
        }
        for (conn, (delivered, acked)) in (0..).zip(self.ends.totals()) {
            self.frames.put(protocol::Final { conn, pad: 0, delivered, received: delivered, acked });
        }
        Ok(SessionEnd { link: self.link, frames: self.frames, counters: self.programs.counters()?, cut })
    }

    /// Waits until `until`, or until something happens at a socket.
    fn sleep(&self, until: Time) -> io::Result<()> {
        let mut watched = [PollFd::new(self.ends.watched(), PollFlags::POLLIN)];
        match ppoll(&mut watched, Some(self.clock.until(until)), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Puts everything that has happened into frames, in the order of time.
    fn flush(&mut self) -> io::Result<()> {
        let entries = std::mem::take(&mut self.trace.lock().entries);
        for entry in entries {
            match entry {
                TraceRecord::Packet(p) => self.frames.put(p),
                TraceRecord::Leave(l) => self.frames.put(l),
                TraceRecord::Header(h) => self.frames.put(*h),
            }
        }
        let reports = self.ends.take_reports();
        reports.samples.into_iter().for_each(|s| self.frames.put(s));
        reports.timers.into_iter().for_each(|t| self.frames.put(t));
        for event in reports.events {
            // Of a message that is complete the row is written when this is read.
            if event.kind == protocol::event::ACKED {
                self.put_shim_row(event.conn)?;
            }
            self.frames.put(event);
        }
        Ok(())
    }

    /// Writes the shim's row of a connection, if the connection has a shim.
    fn put_shim_row(&mut self, conn: u32) -> io::Result<()> {
        let (group, ends) = self.ends.addresses_of(conn);
        let row = self.programs.row(self.clock.now(), conn, group, ends)?;
        row.into_iter().for_each(|row| self.frames.put(row));
        Ok(())
    }

    /// Sends a report to the runner and carries out its commands until its answer.
    fn exchange(&mut self, now: Time) -> io::Result<Answer> {
        self.flush()?;
        self.frames.put(protocol::Ask { now: now.0 });
        match self.link.send(&mut self.frames) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(Answer::Closed),
            sent => sent?,
        }
        let Session { link, ends, segments, commands, clock, .. } = self;
        loop {
            let frame = match link.next(PATIENCE)? {
                Incoming::Frame(frame) => frame,
                Incoming::End => return Ok(Answer::Closed),
                Incoming::Silence => return Err(disconnected()),
            };
            match frame.kind() {
                protocol::Open::KIND => {
                    for open in frame.records::<protocol::Open>() {
                        commands.send(Command::Flow(flow(ends, segments[open.group as usize], &open)));
                        match opener(&open) {
                            Some(opener) => ends.open_reverse(open.conn, opener)?,
                            None => ends.open(open.conn, open.group, open.src, open.dst)?,
                        }
                    }
                }
                protocol::Write::KIND => {
                    for w in frame.records::<protocol::Write>() {
                        commands.send(Command::Write { conn: w.conn, bytes: w.bytes });
                        ends.write(clock.now(), w.conn, w.bytes, w.flags & number::WRITE_LAST != 0);
                    }
                }
                protocol::Datagram::KIND => {
                    frame.records::<protocol::Datagram>().for_each(|d| ends.datagram(d.conn, d.payload));
                }
                // The switch has the schedule of link failures and needs no message.
                protocol::LinkChange::KIND => {}
                protocol::Route::KIND => {
                    for r in frame.records::<protocol::Route>() {
                        let (forth, back) = (ports(&r.forth, r.forth_len), ports(&r.back, r.back_len));
                        commands.send_now(Command::Route { conn: r.conn, forth, back });
                    }
                }
                protocol::Stop::KIND => frame.records::<protocol::Stop>().for_each(|s| ends.stop(clock.now(), s.conn)),
                protocol::Next::KIND => {
                    let Some(next) = frame.only::<protocol::Next>() else { continue };
                    return Ok(if next.quit == 0 { Answer::Wake(Time(next.wake)) } else { Answer::Over });
                }
                _ => {}
            }
        }
    }
}

fn ports(list: &[u32], len: u32) -> Box<[PortId]> {
    list.iter().take(len as usize).map(|&p| PortId::new(p)).collect()
}

/// The connection whose direction back opens.
fn opener(open: &protocol::Open) -> Option<u32> {
    (open.flags & number::OPEN_REVERSE != 0).then_some(open.reverse_of)
}

/// A connection or source of datagrams that opens, as the switch has to know it.
fn flow(ends: &Ends, segment: u32, open: &protocol::Open) -> Flow {
    let (from, to) = match opener(open) {
        Some(opener) => {
            let (from, to) = ends.addresses(opener, open.group, open.dst, open.src);
            (to, from)
        }
        None => ends.addresses(open.conn, open.group, open.src, open.dst),
    };
    let [header, ack_size, probe_size] = ends.sizes(open.group);
    let end = |a: SocketAddrV4| (*a.ip(), a.port());
    let tag = ends.tag(open.group);
    Flow {
        conn: open.conn,
        from: end(from),
        to: end(to),
        forth: ports(&open.forth, open.forth_len),
        back: ports(&open.back, open.back_len),
        class: open.class_of_service as u8,
        header,
        ack_size,
        probe_size,
        waits: ends.waits(open.group).is_some(),
        stream: (tag != [0; TAGS]).then(|| Stream::new(tag, segment)),
        reverse: opener(open),
    }
}
