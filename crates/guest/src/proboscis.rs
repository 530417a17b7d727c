//! ProBoSCIS for the driver (`driver/proboscis.h`). The driver copies headers to [`Seen`] and back.

use alloc::boxed::Box;
use core::cell::RefCell;
use core::ffi::c_void;
use core::ptr;
use forebay_queues::Codepoint;
use forebay_shims::proboscis::{self, Budget, Output, Probe, ReceiverShim, Rules, Segment, SenderShim, Verdict, WORDS};
use forebay_types::{NodeId, Time};

/// No window.
const NEVER: u64 = u64::MAX;

/// Bits of the TCP header (`FB_SEEN_*`).
mod flag {
    pub(super) const FIN: u8 = 0x01;
    pub(super) const SYN: u8 = 0x02;
    pub(super) const ECE: u8 = 0x40;
    pub(super) const CWR: u8 = 0x80;
}

/// `struct fb_seen`: a packet as the shim sees it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    number: u32,
    payload: u32,
    window: u16,
    flags: u8,
    ecn: u8,
    scale: u8,
    batch: u8,
    size: u8,
    pad: u8,
    /// The socket buffer.
    body: *mut c_void,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { number: 0, payload: 0, window: 0, flags: 0, ecn: 0, scale: 0, batch: 0, size: 0, pad: 0, body: ptr::null_mut() }
    }
}

impl Segment for Seen {
    fn number(&self) -> u32 {
        self.number
    }

    fn payload(&self) -> u32 {
        self.payload
    }

    fn is_syn(&self) -> bool {
        self.flags & flag::SYN != 0
    }

    fn is_fin(&self) -> bool {
        self.flags & flag::FIN != 0
    }

    fn has_ece(&self) -> bool {
        self.flags & flag::ECE != 0
    }

    fn set_ece(&mut self, ece: bool) {
        self.flags = self.flags & !flag::ECE | if ece { flag::ECE } else { 0 };
    }

    fn offers_ecn(&self) -> bool {
        self.flags & flag::ECE != 0 && self.flags & flag::CWR != 0
    }

    fn ecn(&self) -> Codepoint {
        Codepoint::from_bits(self.ecn)
    }

    fn set_ecn(&mut self, ecn: Codepoint) {
        self.ecn = ecn as u8;
    }

    fn window(&self) -> u16 {
        self.window
    }

    fn set_window(&mut self, window: u16) {
        self.window = window;
    }

    fn window_scale(&self) -> u8 {
        self.scale
    }

    fn probe(&self) -> Option<Probe> {
        (self.size != 0).then_some(Probe { batch: self.batch, size: self.size })
    }

    /// The driver makes it of a copy of this packet, and knows its length.
    fn with_probe(&self, isn: u32, probe: Probe, _wire: u16) -> Seen {
        Seen { number: isn, batch: probe.batch, size: probe.size, body: self.body, ..Seen::default() }
    }
}

/// `struct fb_shim_out`: the driver's functions for packets that the shim creates or has held.
#[repr(C)]
#[derive(Debug)]
pub struct Out {
    send: extern "C" fn(&mut Out, &Seen),
    discard: extern "C" fn(&mut Out, &Seen),
}

impl Output<Seen> for Out {
    fn send(&mut self, packet: Seen) {
        (self.send)(self, &packet);
    }

    fn discard(&mut self, packet: Seen) {
        (self.discard)(self, &packet);
    }
}

/// A host with the shim of one transport. While a SYN-ACK that was held leaves it, the driver calls the sending end of the other direction there, which
/// reads the rules.
#[derive(Debug)]
pub struct Host {
    rules: Rules,
    state: RefCell<proboscis::Host>,
}

/// Both ends of one direction of a connection.
#[derive(Debug)]
pub struct Ends {
    sender: SenderShim<Seen>,
    receiver: ReceiverShim<Seen>,
}

/// `struct fb_shim_row`: results.
#[repr(C)]
#[derive(Debug)]
pub struct Row {
    time: u64,
    conn: u32,
    probes: u32,
    verdict: u32,
    pad: u32,
    window: u64,
    held: u64,
    throttled: u64,
}

/// `enum fb_train_verdict`.
fn number(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::None => 0,
        Verdict::Proportional => 1,
        Verdict::Severe => 2,
        Verdict::Insufficient => 3,
        Verdict::Unprobed => 4,
        Verdict::Recent => 5,
    }
}

/// Makes a host. `words` encodes the rules, and the host earns a repeated probe in the time `cost`, ps.
#[unsafe(no_mangle)]
pub extern "C" fn fb_proboscis_host_new(words: &[u64; WORDS], cost: u64) -> Box<Host> {
    let rules = Rules::from_words(words);
    let state = RefCell::new(proboscis::Host::new(Budget::new(Time(cost), rules.c.probe_burst)));
    Box::new(Host { rules, state })
}

/// Makes the ends of a direction of a connection.
#[unsafe(no_mangle)]
pub extern "C" fn fb_proboscis_ends_new() -> Box<Ends> {
    let peer = NodeId::new(0);
    Box::new(Ends { sender: SenderShim::new(peer), receiver: ReceiverShim::new(peer) })
}

/// Handles a packet of the guest that sends data; probes go ahead of it.
#[unsafe(no_mangle)]
pub extern "C" fn fb_sender_egress(ends: &mut Ends, host: &Host, now: u64, p: &mut Seen, out: &mut Out) {
    ends.sender.on_egress(&host.rules, &host.state.borrow(), Time(now), p, out);
}

/// Handles a packet for that guest.
#[unsafe(no_mangle)]
pub extern "C" fn fb_sender_ingress(ends: &mut Ends, host: &Host, now: u64, p: &mut Seen) {
    ends.sender.on_ingress(&host.rules, &mut host.state.borrow_mut(), Time(now), p);
}

/// Handles the timer of that host, while the end waits.
#[unsafe(no_mangle)]
pub extern "C" fn fb_sender_tick(ends: &mut Ends, host: &Host, now: u64, out: &mut Out) {
    ends.sender.on_tick(&host.rules, &mut host.state.borrow_mut(), Time(now), out);
}

/// Returns true if that end needs the host's timer.
#[unsafe(no_mangle)]
pub extern "C" fn fb_sender_waits(ends: &Ends) -> bool {
    ends.sender.is_waiting()
}

/// Makes that end the one of the direction whose data the accepting host sends, behind `isn`; null: it is not known yet.
#[unsafe(no_mangle)]
pub extern "C" fn fb_sender_answers(ends: &mut Ends, isn: Option<&u32>) {
    ends.sender.begin_answers(isn.copied());
}

/// Handles a SYN-ACK of the other direction that leaves that host; probes go ahead of it.
#[unsafe(no_mangle)]
pub extern "C" fn fb_sender_handshake_egress(ends: &mut Ends, host: &Host, now: u64, p: &Seen, out: &mut Out) {
    ends.sender.on_handshake_egress(&host.rules, Time(now), p, out);
}

/// Handles a SYN of the other direction that arrives at that host.
#[unsafe(no_mangle)]
pub extern "C" fn fb_sender_handshake_ingress(ends: &mut Ends, host: &Host, now: u64, p: &Seen) {
    ends.sender.on_handshake_ingress(&host.rules, Time(now), p);
}

/// Handles a packet of the guest that receives data. Returns false if it is held.
#[unsafe(no_mangle)]
pub extern "C" fn fb_receiver_egress(ends: &mut Ends, host: &Host, now: u64, p: &mut Seen, out: &mut Out) -> bool {
    ends.receiver.on_egress(&host.rules, &mut host.state.borrow_mut(), Time(now), p, out)
}

/// Handles a packet for that guest. Returns false if it is for the shim only.
#[unsafe(no_mangle)]
pub extern "C" fn fb_receiver_ingress(ends: &mut Ends, host: &Host, now: u64, p: &mut Seen, out: &mut Out) -> bool {
    ends.receiver.on_ingress(&host.rules, Time(now), p, out)
}

/// Handles the timer of that host, while the end waits.
#[unsafe(no_mangle)]
pub extern "C" fn fb_receiver_tick(ends: &mut Ends, host: &Host, now: u64, out: &mut Out) {
    ends.receiver.on_tick(&host.rules, &mut host.state.borrow_mut(), Time(now), out);
}

/// Returns true if that end needs the host's timer.
#[unsafe(no_mangle)]
pub extern "C" fn fb_receiver_waits(ends: &Ends) -> bool {
    ends.receiver.is_waiting()
}

/// As [`fb_sender_answers`], for the end that receives the data.
#[unsafe(no_mangle)]
pub extern "C" fn fb_receiver_answers(ends: &mut Ends, isn: Option<&u32>) {
    ends.receiver.begin_answers(isn.copied());
}

/// Handles a SYN of the other direction that leaves that host.
#[unsafe(no_mangle)]
pub extern "C" fn fb_receiver_handshake_egress(ends: &mut Ends, host: &Host, p: &Seen) {
    ends.receiver.on_handshake_egress(&host.rules, p);
}

/// Handles a SYN-ACK of the other direction that arrives at that host.
#[unsafe(no_mangle)]
pub extern "C" fn fb_receiver_handshake_ingress(ends: &mut Ends, host: &Host, now: u64, p: &Seen) {
    ends.receiver.on_handshake_ingress(&host.rules, Time(now), p);
}

/// Writes the results of both ends into a row.
#[unsafe(no_mangle)]
pub extern "C" fn fb_proboscis_results(ends: &Ends, row: &mut Row) {
    let (sender, receiver) = (ends.sender.stats(), ends.receiver.stats());
    row.probes = sender.probes;
    row.throttled = sender.throttled;
    row.verdict = number(receiver.verdict);
    row.window = receiver.window.unwrap_or(NEVER);
    row.held = receiver.held.0;
}
