//! ProBoSCIS as a guest's driver has it (`driver/proboscis.h`): both roles, packets and times in, packets out.

use forebay_kernel::shims::SHIM;
use std::ffi::c_void;
use std::ptr::null_mut;

/// `struct fb_seen`: a packet as the shim sees it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Sequence number of what the opener sends; the number that the acceptor acknowledges.
    pub number: u32,
    /// Bytes.
    pub payload: u32,
    /// As in the header.
    pub window: u16,
    /// As in the TCP header.
    pub flags: u8,
    /// As in the IP header.
    pub ecn: u8,
    /// Scale of windows, of a SYN or SYN-ACK.
    pub scale: u8,
    /// Number of a probe's train.
    pub batch: u8,
    /// Its size; 0: no probe.
    pub size: u8,
    /// Zero.
    pub pad: u8,
    /// The caller's.
    pub body: *mut c_void,
}

impl Packet {
    /// One that is no probe.
    pub fn new(number: u32, payload: u32, flags: u8, ecn: u8) -> Packet {
        Packet { number, payload, window: 0, flags, ecn, scale: 0, batch: 0, size: 0, pad: 0, body: null_mut() }
    }
}

/// Numbers that are looked at after each call: of an opener state, window, alpha, ACKs throttled, probes and SYNs sent; of an acceptor whether it
/// holds, window, time held, verdict, probes taken, restarts.
pub const SEEN: usize = 6;

/// `struct fb_shim_out`, and what went through it.
#[repr(C)]
struct Out {
    send: extern "C" fn(*mut c_void, *const Packet),
    discard: extern "C" fn(*mut c_void, *const Packet),
    sent: Vec<Packet>,
    discarded: u64,
}

/// Actions of the shim during a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Packets that it sent.
    pub packets: Vec<Packet>,
    /// SYN-ACKs that it threw away.
    pub discarded: u64,
}

extern "C" fn send(out: *mut c_void, packet: *const Packet) {
    // SAFETY: the C code hands back the `Out` that it was given, and a packet that lives.
    unsafe { (*out.cast::<Out>()).sent.push(*packet) };
}

extern "C" fn discard(out: *mut c_void, _packet: *const Packet) {
    // SAFETY: as above.
    unsafe { (*out.cast::<Out>()).discarded += 1 };
}

impl Out {
    fn new() -> Out {
        Out { send, discard, sent: Vec::new(), discarded: 0 }
    }

    fn into_sent(self) -> Sent {
        Sent { packets: self.sent, discarded: self.discarded }
    }
}

/// `struct fb_shim_budget`.
#[repr(C)]
struct Budget {
    cost: u64,
    full_at: u64,
}

unsafe extern "C" {
    safe fn fb_test_opener_size() -> usize;
    safe fn fb_test_acceptor_size() -> usize;
    fn fb_test_opener(o: *const c_void, seen: *mut u64);
    fn fb_test_acceptor(a: *const c_void, seen: *mut u64);
    fn fb_opener_start(o: *mut c_void);
    fn fb_acceptor_start(a: *mut c_void);
    fn fb_opener_leaves(o: *mut c_void, shim: *const u64, now: u64, p: *mut Packet, out: *mut c_void);
    fn fb_opener_arrives(o: *mut c_void, shim: *const u64, now: u64, p: *mut Packet);
    fn fb_opener_tick(o: *mut c_void, shim: *const u64, budget: *mut Budget, now: u64, out: *mut c_void);
    fn fb_acceptor_leaves(a: *mut c_void, shim: *const u64, now: u64, p: *mut Packet, out: *mut c_void) -> bool;
    fn fb_acceptor_arrives(a: *mut c_void, shim: *const u64, now: u64, p: *mut Packet, out: *mut c_void) -> bool;
    fn fb_acceptor_tick(a: *mut c_void, shim: *const u64, now: u64, out: *mut c_void);
    fn fb_opener_answers(o: *mut c_void, isn: u32);
    fn fb_acceptor_answers(a: *mut c_void, isn: u32);
    fn fb_opener_handshake_leaves(o: *mut c_void, shim: *const u64, now: u64, p: *const Packet, out: *mut c_void);
    fn fb_opener_handshake_arrives(o: *mut c_void, shim: *const u64, now: u64, p: *const Packet);
    fn fb_acceptor_handshake_leaves(a: *mut c_void, shim: *const u64, p: *const Packet);
    fn fb_acceptor_handshake_arrives(a: *mut c_void, shim: *const u64, now: u64, p: *const Packet);
}

/// Zeros for a struct of this size, with its alignment.
fn zeros(size: usize) -> Vec<u64> {
    vec![0; size.div_ceil(8)]
}

/// `struct fb_opener`.
#[expect(missing_debug_implementations, reason = "memory of the C code")]
pub struct Opener {
    state: Vec<u64>,
    shim: [u64; SHIM],
    budget: Budget,
}

// All calls below: `state` has the size that the C code names, `shim` as many numbers as it reads, and nothing is kept but in `state`.
impl Opener {
    /// One of a host that repeats a probe in `cost` ps.
    pub fn new(shim: [u64; SHIM], cost: u64) -> Opener {
        let mut state = zeros(fb_test_opener_size());
        // SAFETY: as above.
        unsafe { fb_opener_start(state.as_mut_ptr().cast()) };
        Opener { state, shim, budget: Budget { cost, full_at: 0 } }
    }

    /// A packet of the guest leaves at `now`, behind what is returned.
    pub fn leaves(&mut self, now: u64, p: &mut Packet) -> Sent {
        let mut out = Out::new();
        // SAFETY: as above.
        unsafe { fb_opener_leaves(self.state.as_mut_ptr().cast(), self.shim.as_ptr(), now, p, (&raw mut out).cast()) };
        out.into_sent()
    }

    /// A packet is on its way to the guest.
    pub fn arrives(&mut self, now: u64, p: &mut Packet) {
        // SAFETY: as above.
        unsafe { fb_opener_arrives(self.state.as_mut_ptr().cast(), self.shim.as_ptr(), now, p) };
    }

    /// Makes it the sending end of the direction of the host that accepts; `isn` is the initial sequence number of its data.
    pub fn set_answers(&mut self, isn: u32) {
        // SAFETY: as above.
        unsafe { fb_opener_answers(self.state.as_mut_ptr().cast(), isn) };
    }

    /// A SYN-ACK of the other direction leaves at `now`, behind what is returned.
    pub fn handshake_leaves(&mut self, now: u64, p: &Packet) -> Sent {
        let mut out = Out::new();
        let (state, shim) = (self.state.as_mut_ptr().cast(), self.shim.as_ptr());
        // SAFETY: as above.
        unsafe { fb_opener_handshake_leaves(state, shim, now, p, (&raw mut out).cast()) };
        out.into_sent()
    }

    /// A SYN of the other direction has arrived.
    pub fn handshake_arrives(&mut self, now: u64, p: &Packet) {
        // SAFETY: as above.
        unsafe { fb_opener_handshake_arrives(self.state.as_mut_ptr().cast(), self.shim.as_ptr(), now, p) };
    }

    /// The host's timer.
    pub fn tick(&mut self, now: u64) -> Sent {
        let mut out = Out::new();
        let (state, shim) = (self.state.as_mut_ptr().cast(), self.shim.as_ptr());
        // SAFETY: as above.
        unsafe { fb_opener_tick(state, shim, &raw mut self.budget, now, (&raw mut out).cast()) };
        out.into_sent()
    }

    /// Its state and counters.
    pub fn seen(&self) -> [u64; SEEN] {
        let mut seen = [0; SEEN];
        // SAFETY: as above.
        unsafe { fb_test_opener(self.state.as_ptr().cast(), seen.as_mut_ptr()) };
        seen
    }
}

/// `struct fb_acceptor`.
#[expect(missing_debug_implementations, reason = "memory of the C code")]
pub struct Acceptor {
    state: Vec<u64>,
    shim: [u64; SHIM],
}

impl Acceptor {
    /// An acceptor without state.
    pub fn new(shim: [u64; SHIM]) -> Acceptor {
        let mut state = zeros(fb_test_acceptor_size());
        // SAFETY: as above.
        unsafe { fb_acceptor_start(state.as_mut_ptr().cast()) };
        Acceptor { state, shim }
    }

    /// A packet of the guest leaves at `now`, or is held (false).
    pub fn leaves(&mut self, now: u64, p: &mut Packet) -> (bool, Sent) {
        let mut out = Out::new();
        let (state, shim) = (self.state.as_mut_ptr().cast(), self.shim.as_ptr());
        // SAFETY: as above.
        let goes = unsafe { fb_acceptor_leaves(state, shim, now, p, (&raw mut out).cast()) };
        (goes, out.into_sent())
    }

    /// A packet arrives, for the guest or not (false).
    pub fn arrives(&mut self, now: u64, p: &mut Packet) -> (bool, Sent) {
        let mut out = Out::new();
        let (state, shim) = (self.state.as_mut_ptr().cast(), self.shim.as_ptr());
        // SAFETY: as above.
        let passes = unsafe { fb_acceptor_arrives(state, shim, now, p, (&raw mut out).cast()) };
        (passes, out.into_sent())
    }

    /// Makes it the receiving end of the direction of the host that accepts; `isn` is the initial sequence number of that data.
    pub fn set_answers(&mut self, isn: u32) {
        // SAFETY: as above.
        unsafe { fb_acceptor_answers(self.state.as_mut_ptr().cast(), isn) };
    }

    /// A SYN of the other direction leaves.
    pub fn handshake_leaves(&mut self, p: &Packet) {
        // SAFETY: as above.
        unsafe { fb_acceptor_handshake_leaves(self.state.as_mut_ptr().cast(), self.shim.as_ptr(), p) };
    }

    /// A SYN-ACK of the other direction has arrived.
    pub fn handshake_arrives(&mut self, now: u64, p: &Packet) {
        // SAFETY: as above.
        unsafe { fb_acceptor_handshake_arrives(self.state.as_mut_ptr().cast(), self.shim.as_ptr(), now, p) };
    }

    /// The host's timer.
    pub fn tick(&mut self, now: u64) -> Sent {
        let mut out = Out::new();
        // SAFETY: as above.
        unsafe { fb_acceptor_tick(self.state.as_mut_ptr().cast(), self.shim.as_ptr(), now, (&raw mut out).cast()) };
        out.into_sent()
    }

    /// Its state and counters.
    pub fn seen(&self) -> [u64; SEEN] {
        let mut seen = [0; SEEN];
        // SAFETY: as above.
        unsafe { fb_test_acceptor(self.state.as_ptr().cast(), seen.as_mut_ptr()) };
        seen
    }
}
