//! The driver's network, run by a test instead of a kernel. There is one at a time in a process, as there is one in a kernel.

use forebay_queues::{CONFIG_WORDS, QueueConfig};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `FB_HOPS`.
const HOPS: usize = 24;
/// `FB_RECORD_PACKETS`.
const RECORD_PACKETS: u64 = 1;

#[repr(C)]
struct World {
    protocol: u32,
    nodes: u32,
    ports: u32,
    interfaces: u32,
    groups: u32,
    profiles: u32,
    ties: u64,
    ties_shift: u64,
    records: u64,
    seed: u64,
    /// `u64::MAX`: no flowlets.
    flowlet_gap: u64,
    flowlet_random: [u64; 4],
}

/// `struct fb_port`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Node that sends.
    pub from: u32,
    /// Node that receives.
    pub to: u32,
    /// bit/s.
    pub rate: u64,
    /// ps.
    pub delay: u64,
    /// `u64::MAX`: none.
    pub limit_bytes: u64,
    /// `u32::MAX`: none.
    pub limit_packets: u32,
    /// Kind of loss on the link; 0: none.
    pub loss: u32,
    /// State of the random stream of its host.
    pub random: [u64; 4],
    /// State of the random stream of its queue.
    pub queue_random: [u64; 4],
    /// Configuration of the queue.
    pub queue: [u64; CONFIG_WORDS],
    /// Number of random times for packets, whole ns, and the state of their stream.
    pub jitter: [u64; 2],
    /// Bounds and random stream of the loss, and the time from and until which the link loses packets.
    pub loss_numbers: [u64; 10],
    /// Late packets and batches.
    pub hold_numbers: [u64; 7],
}

impl Link {
    /// An egress port without limit and with this queue, and the random stream of that.
    pub fn new(from: u32, to: u32, queue: &QueueConfig, queue_random: [u64; 4]) -> Link {
        let (limit_bytes, limit_packets, queue) = (u64::MAX, u32::MAX, queue.words());
        let (random, jitter, loss_numbers, hold_numbers) = ([1; 4], [0; 2], [0; 10], [0; 7]);
        let (rate, delay, loss) = (0, 0, 0);
        Link {
            from,
            to,
            rate,
            delay,
            limit_bytes,
            limit_packets,
            loss,
            random,
            queue_random,
            queue,
            jitter,
            loss_numbers,
            hold_numbers,
        }
    }
}

/// `struct fb_switch`: a switch with shared memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Switch {
    /// Its number.
    pub node: u32,
    /// Zero.
    pub pad: u32,
    /// The shared memory.
    pub param: [u64; 6],
}

#[repr(C)]
struct Open {
    conn: u32,
    group: u32,
    src: u32,
    dst: u32,
    forth_len: u32,
    back_len: u32,
    forth: [u32; HOPS],
    back: [u32; HOPS],
    ties_forth: u64,
    ties_back: u64,
    class_of_service: u32,
    flags: u32,
    rss_forth: u32,
    rss_back: u32,
    deadline: u64,
    reverse_of: u32,
    number: u32,
}

/// `struct fb_packet`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct PacketRecord {
    time: u64,
    id: u64,
    conn: u32,
    port: u32,
    seq: u32,
    ack: u32,
    payload: u32,
    wire: u32,
    window: u16,
    tcp_flags: u8,
    ecn: u8,
    what: u8,
    reason: u8,
    class: u8,
    back: u8,
    queue_packets: u32,
    pad: u32,
    queue_bytes: u64,
}

#[repr(C)]
struct LeaveRecord {
    time: u64,
    id: u64,
    port: u32,
    wire: u32,
}

#[repr(C)]
struct Listener {
    itself: *mut Output,
    packet: extern "C" fn(&mut Output, &PacketRecord),
    leave: extern "C" fn(&mut Output, &LeaveRecord),
    delivery: extern "C" fn(&mut Output, u64, u32, u32, u32),
}

// SAFETY: the driver reads its arguments, in its layout.
#[expect(improper_ctypes, reason = "the driver passes the address of the output on")]
unsafe extern "C" {
    safe static fb_test_sizes: [u64; 4];
    fn fb_test_begin(listener: *const Listener);
    safe fn fb_test_send(conn: u32, wire: u32, ecn: u32, seq: u32, now: u64, late: u64) -> i32;
    fn fb_net_setup(world: *const World, ports: *const Link, switches: *const Switch, nswitches: u32) -> i32;
    safe fn fb_net_open(open: &Open) -> i32;
    safe fn fb_net_next() -> u64;
    fn fb_net_run(until: u64, deliver: bool);
}

/// Event of a packet at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketEvent {
    /// It joined the queue.
    Arrived,
    /// It joined the queue with CE set there.
    Marked,
    /// It was dropped, as it arrived or later: overflow, shared memory, early.
    Dropped(usize),
    /// It reached its host.
    Delivered,
    /// It got CE in the queue.
    MarkedLater,
}

/// A line of the driver's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// ps.
    pub time: u64,
    /// The same at every port.
    pub id: u64,
    /// The port.
    pub port: u32,
    /// Bytes on the wire.
    pub wire: u32,
    /// The event.
    pub what: PacketEvent,
    /// Packets that it found there.
    pub found: u32,
}

/// A packet's last bit left a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// ps.
    pub time: u64,
    /// The packet.
    pub id: u64,
    /// The port.
    pub port: u32,
}

/// A packet that reached its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// ps, exact.
    pub time: u64,
    /// Its connection.
    pub conn: u32,
    /// Its sequence number.
    pub seq: u32,
    /// Its codepoint, as it arrived.
    pub ecn: u32,
}

/// Records that the network has produced.
#[derive(Debug, Default)]
struct Output {
    records: Vec<Record>,
    left: Vec<Left>,
    deliveries: Vec<Delivery>,
    /// The time of the last record: they are in order.
    last: u64,
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The network, until it is dropped.
pub struct Network {
    output: Box<Output>,
    /// C keeps their addresses.
    links: Box<[Link]>,
    switches: Box<[Switch]>,
    connections: u32,
    _alone: MutexGuard<'static, ()>,
}

// The driver calls these with the output of the living `Network`, and with a record that lives during the call.
extern "C" fn on_packet(output: &mut Output, r: &PacketRecord) {
    assert!(r.time >= output.last, "records are in order of time: {r:?} after {}", output.last);
    output.last = r.time;
    let what = match r.what {
        0 => PacketEvent::Arrived,
        1 => PacketEvent::Marked,
        2 => PacketEvent::Dropped(usize::from(r.reason)),
        3 => PacketEvent::Delivered,
        _ => PacketEvent::MarkedLater,
    };
    output.records.push(Record { time: r.time, id: r.id, port: r.port, wire: r.wire, what, found: r.queue_packets });
}

extern "C" fn on_leave(output: &mut Output, r: &LeaveRecord) {
    assert!(r.time >= output.last, "records are in order of time");
    output.last = r.time;
    output.left.push(Left { time: r.time, id: r.id, port: r.port });
}

extern "C" fn on_delivery(output: &mut Output, time: u64, conn: u32, seq: u32, ecn: u32) {
    output.deliveries.push(Delivery { time, conn, seq, ecn });
}

impl Network {
    /// An idle network.
    ///
    /// # Panics
    /// Panics if the driver refuses it.
    pub fn new(nodes: u32, links: Vec<Link>, switches: Vec<Switch>, (ties, ties_shift): (u64, u64)) -> Network {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let output: Box<Output> = Box::default();
        let (links, switches) = (links.into_boxed_slice(), switches.into_boxed_slice());
        let mut network = Network { output, links, switches, connections: 0, _alone: alone };
        let itself = &raw mut *network.output;
        let listener = Listener { itself, packet: on_packet, leave: on_leave, delivery: on_delivery };
        let ports = network.links.len() as u32;
        let records = RECORD_PACKETS;
        let world = World {
            protocol: 1,
            nodes,
            ports,
            interfaces: 0,
            groups: 0,
            profiles: 0,
            ties,
            ties_shift,
            records,
            seed: 0,
            flowlet_gap: u64::MAX,
            flowlet_random: [0; 4],
        };
        let sizes = fb_test_sizes;
        assert_eq!(sizes.map(|n| n as usize), [size_of::<World>(), size_of::<Link>(), size_of::<Switch>(), size_of::<Open>()]);
        // SAFETY: links, switches and notifications live as long as the network does, and there is no other reference to them.
        let error = unsafe {
            fb_test_begin(&listener);
            fb_net_setup(&world, network.links.as_ptr(), network.switches.as_ptr(), network.switches.len() as u32)
        };
        assert_eq!(error, 0, "the network is refused");
        network
    }

    /// A connection from the path of its data and that of its ACKs; `flow` names the direction of data.
    ///
    /// # Panics
    /// Panics if the driver refuses it.
    pub fn open(&mut self, conn: u32, forth: &[u32], back: &[u32], flow: u64, class: u8) {
        let path = |ports: &[u32]| std::array::from_fn(|i| ports.get(i).copied().unwrap_or(0));
        let open = Open {
            conn,
            group: 0,
            src: 0,
            dst: 0,
            forth_len: forth.len() as u32,
            back_len: back.len() as u32,
            forth: path(forth),
            back: path(back),
            ties_forth: flow,
            ties_back: flow | 1,
            class_of_service: u32::from(class),
            flags: 0,
            rss_forth: 0,
            rss_back: 0,
            deadline: u64::MAX,
            reverse_of: 0,
            number: conn,
        };
        // The driver copies the struct.
        assert_eq!(fb_net_open(&open), 0, "the connection is refused");
        self.connections += 1;
    }

    /// The host of `conn` sends a packet.
    ///
    /// # Panics
    /// When there is no memory, or the connection has not been opened.
    pub fn send(&mut self, conn: u32, wire: u32, ecn: u32, seq: u32, now: u64) {
        self.send_late(conn, wire, ecn, seq, now, 0);
    }

    /// As [`Network::send`], and the packet leaves `late` ps after its turn.
    ///
    /// # Panics
    /// When there is no memory, or the connection has not been opened.
    pub fn send_late(&mut self, conn: u32, wire: u32, ecn: u32, seq: u32, now: u64, late: u64) {
        assert!(conn < self.connections, "connection {conn} is not open");
        assert_eq!(fb_test_send(conn, wire, ecn, seq, now, late), 0);
    }

    /// Runs up to `until`, that moment included.
    pub fn run(&mut self, until: u64) {
        // SAFETY: the network is set up, and its notifications go to `output`.
        unsafe { fb_net_run(until, true) }
    }

    /// Latest time at which the driver must run again.
    pub fn next(&self) -> u64 {
        fb_net_next()
    }

    /// Packet events at ports.
    pub fn records(&self) -> &[Record] {
        &self.output.records
    }

    /// Departures.
    pub fn left(&self) -> &[Left] {
        &self.output.left
    }

    /// Arrivals at hosts.
    pub fn deliveries(&self) -> &[Delivery] {
        &self.output.deliveries
    }
}
