//! ProBoSCIS for the driver (`driver/proboscis.h`). The driver copies headers to [`Seen`] and back.

use alloc::boxed::Box;
use core::ffi::c_void;
use core::ptr::{self, addr_of, addr_of_mut};
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
    send: unsafe extern "C" fn(*mut Out, *const Seen),
    discard: unsafe extern "C" fn(*mut Out, *const Seen),
}

/// Calls the driver's functions.
struct ToDriver(*mut Out);

impl Output<Seen> for ToDriver {
    fn send(&mut self, packet: Seen) {
        // SAFETY: the driver's functions live as long as its call.
        unsafe { ((*self.0).send)(self.0, &raw const packet) }
    }

    fn discard(&mut self, packet: Seen) {
        // SAFETY: as above.
        unsafe { ((*self.0).discard)(self.0, &raw const packet) }
    }
}

/// A host with the shim of one transport.
#[derive(Debug)]
pub struct Host {
    rules: Rules,
    state: proboscis::Host,
}

impl Host {
    /// Parameters and state, which are borrowed apart: while a SYN-ACK that was held leaves a host, the driver calls the sending end of the other direction
    /// there, which reads the parameters.
    ///
    /// # Safety
    /// The host is from [`fb_proboscis_host_new`], and no other call has its state.
    unsafe fn parts<'a>(host: *mut Host) -> (&'a Rules, &'a mut proboscis::Host) {
        // SAFETY: as the caller promises.
        unsafe { (&*addr_of!((*host).rules), &mut *addr_of_mut!((*host).state)) }
    }

    /// # Safety
    /// The host is from [`fb_proboscis_host_new`].
    unsafe fn rules<'a>(host: *const Host) -> &'a Rules {
        // SAFETY: as the caller promises.
        unsafe { &*addr_of!((*host).rules) }
    }
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

/// Makes a host. `words` encodes the rules, and a host earns a repeated probe in the time `cost`, ps.
///
/// # Safety
/// `words` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_proboscis_host_new(words: *const [u64; WORDS], cost: u64) -> *mut Host {
    // SAFETY: as the caller promises.
    let rules = Rules::from_words(unsafe { &*words });
    let state = proboscis::Host::new(Budget::new(Time(cost), rules.c.probe_burst));
    Box::into_raw(Box::new(Host { rules, state }))
}

/// Makes the ends of a direction of a connection.
#[unsafe(no_mangle)]
pub extern "C" fn fb_proboscis_ends_new() -> *mut Ends {
    let peer = NodeId::new(0);
    Box::into_raw(Box::new(Ends { sender: SenderShim::new(peer), receiver: ReceiverShim::new(peer) }))
}

/// Handles a packet of the guest that sends data; probes go ahead of it.
///
/// # Safety
/// The ends and the host are from the functions above; the other pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_sender_egress(ends: *mut Ends, host: *mut Host, now: u64, p: *mut Seen, out: *mut Out) {
    // SAFETY: as the caller promises.
    unsafe {
        let (rules, state) = Host::parts(host);
        (*ends).sender.on_egress(rules, state, Time(now), &mut *p, &mut ToDriver(out));
    }
}

/// Handles a packet for that guest.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_sender_ingress(ends: *mut Ends, host: *mut Host, now: u64, p: *mut Seen) {
    // SAFETY: as the caller promises.
    unsafe {
        let (rules, state) = Host::parts(host);
        (*ends).sender.on_ingress(rules, state, Time(now), &mut *p);
    }
}

/// Handles the timer of that host, while the end waits.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_sender_tick(ends: *mut Ends, host: *mut Host, now: u64, out: *mut Out) {
    // SAFETY: as the caller promises.
    unsafe {
        let (rules, state) = Host::parts(host);
        (*ends).sender.on_tick(rules, state, Time(now), &mut ToDriver(out));
    }
}

/// Returns true if that end needs the host's timer.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_sender_waits(ends: *const Ends) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*ends).sender.is_waiting() }
}

/// Makes that end the one of the direction whose data the accepting host sends, behind `isn`; null: it is not known yet.
///
/// # Safety
/// As above, or `isn` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_sender_answers(ends: *mut Ends, isn: *const u32) {
    // SAFETY: as the caller promises.
    unsafe { (*ends).sender.begin_answers(isn.as_ref().copied()) }
}

/// Handles a SYN-ACK of the other direction that leaves that host; probes go ahead of it.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_sender_handshake_egress(ends: *mut Ends, host: *const Host, now: u64, p: *const Seen, out: *mut Out) {
    // SAFETY: as the caller promises.
    unsafe { (*ends).sender.on_handshake_egress(Host::rules(host), Time(now), &*p, &mut ToDriver(out)) }
}

/// Handles a SYN of the other direction that arrives at that host.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_sender_handshake_ingress(ends: *mut Ends, host: *const Host, now: u64, p: *const Seen) {
    // SAFETY: as the caller promises.
    unsafe { (*ends).sender.on_handshake_ingress(Host::rules(host), Time(now), &*p) }
}

/// Handles a packet of the guest that receives data. Returns false if it is held.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_receiver_egress(ends: *mut Ends, host: *mut Host, now: u64, p: *mut Seen, out: *mut Out) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        let (rules, state) = Host::parts(host);
        (*ends).receiver.on_egress(rules, state, Time(now), &mut *p, &mut ToDriver(out))
    }
}

/// Handles a packet for that guest. Returns false if it is for the shim only.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_receiver_ingress(ends: *mut Ends, host: *const Host, now: u64, p: *mut Seen, out: *mut Out) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*ends).receiver.on_ingress(Host::rules(host), Time(now), &mut *p, &mut ToDriver(out)) }
}

/// Handles the timer of that host, while the end waits.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_receiver_tick(ends: *mut Ends, host: *mut Host, now: u64, out: *mut Out) {
    // SAFETY: as the caller promises.
    unsafe {
        let (rules, state) = Host::parts(host);
        (*ends).receiver.on_tick(rules, state, Time(now), &mut ToDriver(out));
    }
}

/// Returns true if that end needs the host's timer.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_receiver_waits(ends: *const Ends) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*ends).receiver.is_waiting() }
}

/// As [`fb_sender_answers`], for the end that receives the data.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_receiver_answers(ends: *mut Ends, isn: *const u32) {
    // SAFETY: as the caller promises.
    unsafe { (*ends).receiver.begin_answers(isn.as_ref().copied()) }
}

/// Handles a SYN of the other direction that leaves that host.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_receiver_handshake_egress(ends: *mut Ends, host: *const Host, p: *const Seen) {
    // SAFETY: as the caller promises.
    unsafe { (*ends).receiver.on_handshake_egress(Host::rules(host), &*p) }
}

/// Handles a SYN-ACK of the other direction that arrives at that host.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_receiver_handshake_ingress(ends: *mut Ends, host: *const Host, now: u64, p: *const Seen) {
    // SAFETY: as the caller promises.
    unsafe { (*ends).receiver.on_handshake_ingress(Host::rules(host), Time(now), &*p) }
}

/// Writes the results of both ends into a row.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fb_proboscis_results(ends: *const Ends, row: *mut Row) {
    // SAFETY: as the caller promises.
    let (ends, row) = unsafe { (&*ends, &mut *row) };
    let (sender, receiver) = (ends.sender.stats(), ends.receiver.stats());
    row.probes = sender.probes;
    row.throttled = sender.throttled;
    row.verdict = number(receiver.verdict);
    row.window = receiver.window.unwrap_or(NEVER);
    row.held = receiver.held.0;
}
