//! Queue disciplines: the structs of `driver/queue.h`, and a discipline of which the caller sees no pointer.

use forebay_kernel::queue::Discipline;
use forebay_queues::{Arrival, DropReason, Handle, PortState, QueueState, Queued, Verdict};
use forebay_types::{Rate, Time};
use std::ffi::c_void;
use std::ptr;

#[repr(C)]
struct Length {
    packets: u32,
    bytes: u64,
}

#[repr(C)]
struct State {
    now: u64,
    queue: Length,
    limit: Length,
    memory: u64,
    serving: u32,
    idle_since: u64,
}

/// `struct fb_queued`, and behind it what this side knows of the packet.
#[repr(C)]
struct Packet {
    next: *mut Packet,
    prev: *mut Packet,
    since: u64,
    flow: u64,
    wire: u32,
    ecn: u8,
    class: u8,
    handle: Handle,
}

/// `struct fb_effects`, and behind it the list that it fills.
#[repr(C)]
struct Effects {
    mark: extern "C" fn(*mut Effects, *mut Packet),
    drop: extern "C" fn(*mut Effects, *mut Packet, i32),
    seen: Seen,
}

#[repr(C)]
struct Functions {
    size: extern "C" fn(*const u64) -> usize,
    start: extern "C" fn(*mut c_void, *const u64, u64, *const u64),
    arrive: Option<extern "C" fn(*mut c_void, *const State, *const Packet) -> i32>,
    push: Option<extern "C" fn(*mut c_void, *const State, *mut Packet, *mut Effects)>,
    pop: Option<extern "C" fn(*mut c_void, u64, *mut Effects) -> *mut Packet>,
}

unsafe extern "C" {
    fn fb_queue_of(discipline: u32) -> *const Functions;
}

/// Action of a discipline on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It gets CE.
    Mark(Handle),
    /// It is thrown away.
    Drop(Handle, DropReason),
}

/// Actions of a discipline, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen(pub Vec<Effect>);

impl forebay_queues::Effects for Seen {
    fn mark(&mut self, packet: Handle) {
        self.0.push(Effect::Mark(packet));
    }

    fn drop(&mut self, packet: Handle, reason: DropReason) {
        self.0.push(Effect::Drop(packet, reason));
    }
}

/// A C core with its state and its packets.
pub struct Core {
    functions: &'static Functions,
    /// Words, for the alignment that C expects.
    state: Vec<u64>,
    /// By handle. Boxed: C keeps their addresses.
    #[expect(clippy::vec_box)]
    packets: Vec<Box<Packet>>,
}

/// The reasons in the order of `enum fb_reason`.
const REASONS: [DropReason; 3] = [DropReason::Overflow, DropReason::SharedBuffer, DropReason::Early];

fn length(l: QueueState) -> Length {
    Length { packets: l.packets, bytes: l.bytes }
}

fn state(port: &PortState) -> State {
    State {
        now: port.now.0,
        queue: length(port.queue),
        limit: length(port.limit),
        memory: port.memory.unwrap_or(u64::MAX),
        serving: port.serving,
        idle_since: port.idle_since.0,
    }
}

extern "C" fn mark(effects: *mut Effects, packet: *mut Packet) {
    // SAFETY: a core hands back the effects that it got, and a packet that it holds.
    unsafe { (*effects).seen.0.push(Effect::Mark((*packet).handle)) }
}

extern "C" fn drop_packet(effects: *mut Effects, packet: *mut Packet, reason: i32) {
    // SAFETY: as above. Dropped packets are overwritten, to detect a core that still uses them.
    unsafe {
        (*effects).seen.0.push(Effect::Drop((*packet).handle, REASONS[reason as usize]));
        let handle = (*packet).handle;
        *packet = dropped(handle);
    }
}

/// Overwrites a dropped packet with numbers that no packet has.
fn dropped(handle: Handle) -> Packet {
    let nowhere = ptr::without_provenance_mut(8);
    Packet { next: nowhere, prev: nowhere, since: u64::MAX, flow: u64::MAX, wire: u32::MAX, ecn: 255, class: 255, handle }
}

impl Core {
    /// A core for a port of this rate, with a random stream of its own.
    ///
    /// # Panics
    /// Panics if there is no core of this number.
    pub fn new(discipline: &Discipline, rate: Rate, random: [u64; 4]) -> Core {
        // SAFETY: the function has no conditions; what it returns is constant data.
        let functions = unsafe { fb_queue_of(discipline.number).as_ref() }.expect("there is a core of this number");
        let bytes = (functions.size)(discipline.param.as_ptr());
        let mut state = vec![0; bytes / 8 + 1];
        (functions.start)(state.as_mut_ptr().cast(), discipline.param.as_ptr(), rate.0, random.as_ptr());
        Core { functions, state, packets: Vec::new() }
    }

    /// Takes the packet's place in memory.
    fn packet(&mut self, packet: &Queued) -> *mut Packet {
        let Arrival { wire, ecn, class, flow, .. } = packet.packet;
        let nothing = ptr::null_mut();
        let (since, handle) = (packet.since.0, packet.handle);
        let made = Packet { next: nothing, prev: nothing, since, flow, wire, ecn: ecn as u8, class, handle };
        while self.packets.len() <= handle.0 as usize {
            self.packets.push(Box::new(dropped(Handle(u32::MAX))));
        }
        *self.packets[handle.0 as usize] = made;
        &raw mut *self.packets[handle.0 as usize]
    }

    /// The decision of a FIFO about an arriving packet.
    ///
    /// # Panics
    /// Panics if it is not a FIFO.
    pub fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
        let packet = self.packet(&Queued { handle: Handle(0), since: port.now, packet: *packet });
        let arrive = self.functions.arrive.expect("it is a FIFO");
        match arrive(self.state.as_mut_ptr().cast(), &state(port), packet) {
            0 => Verdict::Accept,
            1 => Verdict::Mark,
            drop => Verdict::Drop(REASONS[drop as usize - 2]),
        }
    }

    /// Gives an arriving packet to one that holds its backlog.
    ///
    /// # Panics
    /// Panics if it is a FIFO.
    pub fn push(&mut self, port: &PortState, packet: &Queued, seen: &mut Seen) {
        let packet = self.packet(packet);
        let mut effects = Effects { mark, drop: drop_packet, seen: std::mem::take(seen) };
        let push = self.functions.push.expect("it holds its backlog");
        push(self.state.as_mut_ptr().cast(), &state(port), packet, &mut effects);
        *seen = effects.seen;
    }

    /// The packet whose transmission starts now.
    ///
    /// # Panics
    /// Panics if it is a FIFO.
    pub fn pop(&mut self, now: Time, seen: &mut Seen) -> Option<Handle> {
        let mut effects = Effects { mark, drop: drop_packet, seen: std::mem::take(seen) };
        let pop = self.functions.pop.expect("it holds its backlog");
        let packet = pop(self.state.as_mut_ptr().cast(), now.0, &mut effects);
        *seen = effects.seen;
        // SAFETY: it is null or one of `packets`.
        let handle = unsafe { packet.as_ref() }.map(|p| p.handle)?;
        // It has left the core, which must not look at it any more.
        *self.packets[handle.0 as usize] = dropped(handle);
        Some(handle)
    }
}
