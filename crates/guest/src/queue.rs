//! Queue disciplines for the driver (`driver/queue.h`). A buffered discipline identifies packets by small numbers, and the driver by addresses, which
//! it gets back unchanged.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;
use forebay_queues::{
    Arrival, CONFIG_WORDS, Codepoint, DropReason, Effects, Handle, PortState, Queue, QueueConfig, QueueState, Queued, Verdict,
};
use forebay_types::{QueueLen, Rate, Rng, Time};

/// No limit in packets.
const NONE: u32 = u32::MAX;
/// No limit in bytes, and no time.
const NEVER: u64 = u64::MAX;

/// `struct fb_length`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Length {
    packets: u32,
    bytes: u64,
}

impl From<Length> for QueueState {
    fn from(l: Length) -> QueueState {
        QueueState { packets: l.packets, bytes: l.bytes }
    }
}

/// `struct fb_state`: a port at which a packet arrives.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct State {
    now: u64,
    queue: Length,
    limit: Length,
    memory: u64,
    serving: u32,
    idle_since: u64,
}

impl From<State> for PortState {
    fn from(s: State) -> PortState {
        PortState {
            now: Time(s.now),
            queue: s.queue.into(),
            limit: s.limit.into(),
            memory: (s.memory != NEVER).then_some(s.memory),
            serving: s.serving,
            idle_since: Time(s.idle_since),
        }
    }
}

/// `struct fb_queued`: the fields of a packet for queue disciplines.
#[repr(C)]
#[derive(Debug)]
pub struct Packet {
    next: *mut Packet,
    prev: *mut Packet,
    since: u64,
    flow: u64,
    wire: u32,
    ecn: u8,
    class: u8,
    rank: u16,
}

impl Packet {
    fn arrival(&self) -> Arrival {
        Arrival { wire: self.wire, ecn: Codepoint::from_bits(self.ecn), class: self.class, rank: self.rank, flow: self.flow }
    }
}

/// `struct fb_effects`: the driver's functions for a discipline that holds its backlog.
#[repr(C)]
#[derive(Debug)]
pub struct Actions {
    mark: unsafe extern "C" fn(*mut Actions, *mut Packet),
    drop: unsafe extern "C" fn(*mut Actions, *mut Packet, u32),
}

/// Packets of a backlog by number. A number is free again when its packet has left.
#[derive(Debug, Default)]
struct Backlog {
    packets: Vec<*mut Packet>,
    free: Vec<u32>,
}

impl Backlog {
    fn add(&mut self, packet: *mut Packet) -> Handle {
        if let Some(number) = self.free.pop() {
            self.packets[number as usize] = packet;
            return Handle(number);
        }
        self.packets.push(packet);
        // Room for every number to be free, so that nothing is allocated while packets leave.
        self.free.reserve(self.packets.len());
        Handle(self.packets.len() as u32 - 1)
    }

    fn get(&self, handle: Handle) -> *mut Packet {
        self.packets[handle.0 as usize]
    }

    fn remove(&mut self, handle: Handle) -> *mut Packet {
        self.free.push(handle.0);
        self.get(handle)
    }
}

/// Effects of a discipline during a call of the driver, which carries them out at once.
struct Carrier<'a> {
    backlog: &'a mut Backlog,
    actions: *mut Actions,
}

impl Effects for Carrier<'_> {
    fn mark(&mut self, packet: Handle) {
        // SAFETY: the driver's functions live as long as its call, and the packet is one that it pushed.
        unsafe { ((*self.actions).mark)(self.actions, self.backlog.get(packet)) }
    }

    fn drop(&mut self, packet: Handle, reason: DropReason) {
        let packet = self.backlog.remove(packet);
        // SAFETY: as above. The packet has left the backlog, so that the driver may free it.
        unsafe { ((*self.actions).drop)(self.actions, packet, number(reason)) }
    }
}

/// `enum fb_reason`.
fn number(reason: DropReason) -> u32 {
    match reason {
        DropReason::Overflow => 0,
        DropReason::SharedBuffer => 1,
        DropReason::Early => 2,
    }
}

/// The queue of a port, at an address that the driver keeps.
#[derive(Debug)]
pub struct Port {
    queue: Queue,
    backlog: Backlog,
}

#[cfg(inspect)]
impl Port {
    /// The discipline.
    pub fn queue(&mut self) -> &mut Queue {
        &mut self.queue
    }

    /// The packet of this number.
    pub fn packet(&self, handle: Handle) -> *mut Packet {
        self.backlog.get(handle)
    }
}

// The driver passes valid pointers, which no other reference exists to during a call.

/// Makes the queue of a port: `config` from [`QueueConfig::words`], its buffer, its rate in bit/s and the state of its random stream. Null: the
/// configuration is not known.
#[unsafe(no_mangle)]
pub extern "C" fn fb_queue_new(config: &[u64; CONFIG_WORDS], limit: &Length, rate: u64, random: &[u64; 4]) -> Option<Box<Port>> {
    let buffer = match *limit {
        Length { packets: NONE, bytes: NEVER } => None,
        Length { packets: NONE, bytes } => Some(QueueLen::Bytes(bytes)),
        Length { packets, .. } => Some(QueueLen::Packets(packets.into())),
    };
    let Some(Ok(mut queue)) = QueueConfig::from_words(config).map(|c| c.build(buffer)) else { return None };
    queue.start(Rate(rate), Rng::from_state(*random));
    Some(Box::new(Port { queue, backlog: Backlog::default() }))
}

/// Frees a queue from [`fb_queue_new`], with an empty backlog.
#[unsafe(no_mangle)]
pub extern "C" fn fb_queue_free(port: Box<Port>) {
    drop(port);
}

/// Returns true if the discipline holds the backlog (`push` and `pop`), false if it decides about packets on arrival only (`arrive`).
#[unsafe(no_mangle)]
pub extern "C" fn fb_queue_holds(port: &Port) -> bool {
    matches!(port.queue, Queue::Buffered(_))
}

/// Decides about an arriving packet: `enum fb_verdict`, where a drop has its reason added.
/// The queue does not hold the backlog.
#[unsafe(no_mangle)]
pub extern "C" fn fb_queue_arrive(port: &mut Port, state: &State, packet: &Packet) -> i32 {
    let Queue::Fifo(discipline) = &mut port.queue else { panic!("the discipline holds the backlog") };
    match discipline.on_arrival(&(*state).into(), &packet.arrival()) {
        Verdict::Accept => 0,
        Verdict::Mark => 1,
        Verdict::Drop(reason) => 2 + number(reason) as i32,
    }
}

/// Takes a packet into the backlog or drops it.
/// The queue holds the backlog.
///
/// # Safety
/// The pointers are valid. The packet lives until it leaves the backlog.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_queue_push(port: &mut Port, state: &State, packet: *mut Packet, actions: *mut Actions) {
    // SAFETY: as the caller promises. The driver changes the packet's links during the call, so that the reference ends here.
    let (since, arrival) = unsafe { (Time((*packet).since), (*packet).arrival()) };
    let Queue::Buffered(discipline) = &mut port.queue else { panic!("the discipline does not hold the backlog") };
    let queued = Queued { handle: port.backlog.add(packet), since, packet: arrival };
    discipline.push(&(*state).into(), queued, &mut Carrier { backlog: &mut port.backlog, actions });
}

/// The packet whose transmission starts now; null: none is left.
/// The queue holds the backlog.
///
/// # Safety
/// `actions` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_queue_pop(port: &mut Port, now: u64, actions: *mut Actions) -> *mut Packet {
    let Queue::Buffered(discipline) = &mut port.queue else { panic!("the discipline does not hold the backlog") };
    match discipline.pop(Time(now), &mut Carrier { backlog: &mut port.backlog, actions }) {
        Some(handle) => port.backlog.remove(handle),
        None => ptr::null_mut(),
    }
}
