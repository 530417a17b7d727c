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
    send: extern "C" fn(&mut Out, &Packet),
    discard: extern "C" fn(&mut Out, &Packet),
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

// The C code hands back the `Out` that it was given, and a packet that lives during the call.
extern "C" fn send(out: &mut Out, packet: &Packet) {
    out.sent.push(*packet);
}

extern "C" fn discard(out: &mut Out, _packet: &Packet) {
    out.discarded += 1;
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

/// Memory of a shim's end, of which the C code uses the first bytes.
#[repr(C)]
struct State([u64; 64]);

impl State {
    /// Zeros, for a struct of this size.
    fn zeros(size: usize) -> State {
        assert!(size <= size_of::<State>(), "the C code needs {size} bytes");
        State([0; 64])
    }
}

/// Parameters of a shim, as the C code reads them.
type Params = [u64; SHIM];

// SAFETY: the C code reads and writes its arguments during the call only, and the sizes of the states are checked when they are made.
#[expect(improper_ctypes, reason = "the C code reads only the functions at the start of `Out`")]
unsafe extern "C" {
    safe fn fb_test_opener_size() -> usize;
    safe fn fb_test_acceptor_size() -> usize;
    safe fn fb_test_opener(o: &State, seen: &mut [u64; SEEN]);
    safe fn fb_test_acceptor(a: &State, seen: &mut [u64; SEEN]);
    safe fn fb_opener_start(o: &mut State);
    safe fn fb_acceptor_start(a: &mut State);
    safe fn fb_opener_leaves(o: &mut State, shim: &Params, now: u64, p: &mut Packet, out: &mut Out);
    safe fn fb_opener_arrives(o: &mut State, shim: &Params, now: u64, p: &mut Packet);
    safe fn fb_opener_tick(o: &mut State, shim: &Params, budget: &mut Budget, now: u64, out: &mut Out);
    safe fn fb_acceptor_leaves(a: &mut State, shim: &Params, now: u64, p: &mut Packet, out: &mut Out) -> bool;
    safe fn fb_acceptor_arrives(a: &mut State, shim: &Params, now: u64, p: &mut Packet, out: &mut Out) -> bool;
    safe fn fb_acceptor_tick(a: &mut State, shim: &Params, now: u64, out: &mut Out);
    safe fn fb_opener_answers(o: &mut State, isn: u32);
    safe fn fb_acceptor_answers(a: &mut State, isn: u32);
    safe fn fb_opener_handshake_leaves(o: &mut State, shim: &Params, now: u64, p: &Packet, out: &mut Out);
    safe fn fb_opener_handshake_arrives(o: &mut State, shim: &Params, now: u64, p: &Packet);
    safe fn fb_acceptor_handshake_leaves(a: &mut State, shim: &Params, p: &Packet);
    safe fn fb_acceptor_handshake_arrives(a: &mut State, shim: &Params, now: u64, p: &Packet);
}

/// `struct fb_opener`.
#[expect(missing_debug_implementations, reason = "memory of the C code")]
pub struct Opener {
    state: State,
    shim: Params,
    budget: Budget,
}

impl Opener {
    /// One of a host that repeats a probe in `cost` ps.
    pub fn new(shim: [u64; SHIM], cost: u64) -> Opener {
        let mut state = State::zeros(fb_test_opener_size());
        fb_opener_start(&mut state);
        Opener { state, shim, budget: Budget { cost, full_at: 0 } }
    }

    /// A packet of the guest leaves at `now`, behind what is returned.
    pub fn leaves(&mut self, now: u64, p: &mut Packet) -> Sent {
        let mut out = Out::new();
        fb_opener_leaves(&mut self.state, &self.shim, now, p, &mut out);
        out.into_sent()
    }

    /// A packet is on its way to the guest.
    pub fn arrives(&mut self, now: u64, p: &mut Packet) {
        fb_opener_arrives(&mut self.state, &self.shim, now, p);
    }

    /// Makes it the sending end of the direction of the host that accepts; `isn` is the initial sequence number of its data.
    pub fn set_answers(&mut self, isn: u32) {
        fb_opener_answers(&mut self.state, isn);
    }

    /// A SYN-ACK of the other direction leaves at `now`, behind what is returned.
    pub fn handshake_leaves(&mut self, now: u64, p: &Packet) -> Sent {
        let mut out = Out::new();
        fb_opener_handshake_leaves(&mut self.state, &self.shim, now, p, &mut out);
        out.into_sent()
    }

    /// A SYN of the other direction has arrived.
    pub fn handshake_arrives(&mut self, now: u64, p: &Packet) {
        fb_opener_handshake_arrives(&mut self.state, &self.shim, now, p);
    }

    /// The host's timer.
    pub fn tick(&mut self, now: u64) -> Sent {
        let mut out = Out::new();
        fb_opener_tick(&mut self.state, &self.shim, &mut self.budget, now, &mut out);
        out.into_sent()
    }

    /// Its state and counters.
    pub fn seen(&self) -> [u64; SEEN] {
        let mut seen = [0; SEEN];
        fb_test_opener(&self.state, &mut seen);
        seen
    }
}

/// `struct fb_acceptor`.
#[expect(missing_debug_implementations, reason = "memory of the C code")]
pub struct Acceptor {
    state: State,
    shim: Params,
}

impl Acceptor {
    /// An acceptor without state.
    pub fn new(shim: [u64; SHIM]) -> Acceptor {
        let mut state = State::zeros(fb_test_acceptor_size());
        fb_acceptor_start(&mut state);
        Acceptor { state, shim }
    }

    /// A packet of the guest leaves at `now`, or is held (false).
    pub fn leaves(&mut self, now: u64, p: &mut Packet) -> (bool, Sent) {
        let mut out = Out::new();
        let goes = fb_acceptor_leaves(&mut self.state, &self.shim, now, p, &mut out);
        (goes, out.into_sent())
    }

    /// A packet arrives, for the guest or not (false).
    pub fn arrives(&mut self, now: u64, p: &mut Packet) -> (bool, Sent) {
        let mut out = Out::new();
        let passes = fb_acceptor_arrives(&mut self.state, &self.shim, now, p, &mut out);
        (passes, out.into_sent())
    }

    /// Makes it the receiving end of the direction of the host that accepts; `isn` is the initial sequence number of that data.
    pub fn set_answers(&mut self, isn: u32) {
        fb_acceptor_answers(&mut self.state, isn);
    }

    /// A SYN of the other direction leaves.
    pub fn handshake_leaves(&mut self, p: &Packet) {
        fb_acceptor_handshake_leaves(&mut self.state, &self.shim, p);
    }

    /// A SYN-ACK of the other direction has arrived.
    pub fn handshake_arrives(&mut self, now: u64, p: &Packet) {
        fb_acceptor_handshake_arrives(&mut self.state, &self.shim, now, p);
    }

    /// The host's timer.
    pub fn tick(&mut self, now: u64) -> Sent {
        let mut out = Out::new();
        fb_acceptor_tick(&mut self.state, &self.shim, now, &mut out);
        out.into_sent()
    }

    /// Its state and counters.
    pub fn seen(&self) -> [u64; SEEN] {
        let mut seen = [0; SEEN];
        fb_test_acceptor(&self.state, &mut seen);
        seen
    }
}
