//! Receiving endpoint. [`Receiver`] composes types that each own one part of the state:
//!
//! | file | state | kernel |
//! |---|---|---|
//! | `stream` | data in order, FIN, handshake | `rcv_nxt` |
//! | `ofo_queue`, `sack_list`, `rcv_buffers` | out-of-order data and its memory, reported blocks | `out_of_order_queue`, `selective_acks` |
//! | `window` | advertised window, last ACK | `rcv_wup`, `rcv_wnd` |
//! | `ecn_echo` | ECN echo | `ecn_flags` |
//! | `paws` | timestamp to echo, PAWS | `ts_recent` |
//! | `delack`, `quickack`, `comp_ack` | delayed ACKs, quick-ACK mode, compressed ACKs | `icsk_ack`, `compressed_ack` |
//! | `rcvbuf`, `rcv_rtt`, `truesize` | window autotuning | `rcvq_space`, `rcv_rtt_est` |
//! | `two_way` | ACKs that data of the other direction carries | `icsk_ack.pingpong` |
//! | `own_fin` | the receiver's own FIN | |
//!
//! Packets pass through `fast_path`, `input` and `handshake`; ACKs leave in `output`, decided in `input` (RFC 5681) or `linux`.

mod byte_counters;
mod comp_ack;
mod delack;
mod ecn_echo;
mod fast_path;
mod handshake;
mod input;
mod linux;
mod ofo_queue;
mod output;
mod own_fin;
mod paws;
mod quickack;
mod rcv_buffers;
mod rcv_rtt;
mod rcvbuf;
mod sack_list;
mod stream;
mod truesize;
mod two_way;
mod window;

use self::byte_counters::ByteCounters;
use self::ecn_echo::EcnEcho;
use self::fast_path::FastPath;
use self::linux::LinuxReceiver;
use self::own_fin::OwnFin;
use self::paws::TsRecent;
use self::quickack::QuickAcks;
use self::stream::ReceiveStream;
use self::truesize::Segments;
use self::window::AdvertisedWindow;
use crate::net::generation::Generation;
use crate::net::packet::{Meta, Packet, Wire, flag};
use crate::shim::window_shims;
use crate::tcp::common::accecn::INITIAL_CEP;
use crate::tcp::config::TcpConfig;
use crate::tcp::gro::SuperSegment;
use crate::tcp::initial_window::{first_window, has_buffer};
use crate::tcp::options::{control_ecn, offered_shift};
use crate::tcp::seq::Address;
use forebay_types::{GroupId, Time, TimeOrNever};

/// A receiving endpoint.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// An ACK without its number, timestamp and flags.
    template: Packet,
    stream: ReceiveStream,
    window: AdvertisedWindow,
    ts_recent: TsRecent,
    /// Time of a delayed ACK or a retransmission of the receiver's own FIN.
    timer_due: TimeOrNever,
    /// Time of the earliest timer entry that the engine holds for this endpoint.
    armed: TimeOrNever,
    /// Packets sent less packets received, modulo 2^64.
    balance: u64,
    /// The shim that sets the window, if there is one.
    window_shim: Option<Box<window_shims::Window>>,
    /// State of Linux, for stacks that acknowledge or tune the window like it.
    linux: Option<Box<LinuxReceiver>>,
    /// Number of the transport; 16 bits because every connection has it.
    group: u16,
    quickacks: QuickAcks,
    generation: Generation,
    ecn: EcnEcho,
    fast_path: FastPath,
    own_fin: OwnFin,
    /// Counters of bytes, with Accurate ECN. The counter of packets is in the template.
    byte_counters: Option<Box<ByteCounters>>,
}

const _: () = assert!(size_of::<Receiver>() <= 160);

impl Receiver {
    /// An endpoint that sends to `addr`.
    pub fn new(c: &TcpConfig, addr: Address) -> Receiver {
        let window_shim = window_shims::Window::new(c.shims.window.as_ref(), c.mss, c.rcv_wnd);
        let autotune = has_buffer(c) && window_shim.is_none();
        let rcv_wnd = if autotune { first_window(c) } else { c.rcv_wnd };
        // `rcv-wnd` is at most 1 GiB.
        let window = AdvertisedWindow::new(rcv_wnd as u32, offered_shift(c));
        let urgent = c.shims.tag.as_ref().is_some_and(|t| t.urgent_acks());
        let ecn = EcnEcho::new(c);
        let mut template = Packet {
            conn: addr.conn,
            dst: addr.dst,
            hash: addr.hash,
            wire: c.ack_size as u16,
            win: window.field(),
            flags: flag::ACK | if urgent { flag::URGENT } else { 0 },
            meta: Meta::new(addr.generation, control_ecn(c, true)),
            ..Packet::default()
        };
        if ecn.is_accurate() {
            template.set_ace(INITIAL_CEP);
        }
        Receiver {
            template,
            stream: ReceiveStream::new(c, addr.numbers()),
            window,
            ts_recent: TsRecent::new(),
            timer_due: TimeOrNever::NEVER,
            armed: TimeOrNever::NEVER,
            balance: 0,
            fast_path: FastPath::new(c, window_shim.is_some(), autotune),
            window_shim,
            linux: LinuxReceiver::new(c, autotune),
            group: 0,
            quickacks: QuickAcks::new(c),
            generation: addr.generation,
            ecn,
            byte_counters: ecn.is_accurate().then(|| Box::new(ByteCounters::new())),
            own_fin: OwnFin::new(c),
        }
    }

    /// Stream offset of the next byte expected in order; FIN counts one.
    pub fn rcv_nxt(&self) -> u64 {
        self.stream.rcv_nxt()
    }

    /// Data bytes received in order, FIN not counted.
    #[inline(always)]
    pub fn delivered(&self) -> u64 {
        self.stream.delivered()
    }

    /// Returns true if the stream has ended with a FIN.
    pub fn finished(&self) -> bool {
        self.stream.finished()
    }

    /// Out-of-order data, as intervals of stream offsets.
    pub fn out_of_order(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.stream.ofo().intervals()
    }

    /// Stream offset at which the application is notified; `u64::MAX`: never.
    #[inline(always)]
    pub fn deliver_at(&self) -> u64 {
        self.stream.deliver_at()
    }

    /// Notifies the application when the stream reaches `offset`; `u64::MAX`: never.
    pub fn notify_at(&mut self, offset: u64) {
        *self.stream.deliver_at_mut() = offset;
    }

    /// The offset of [`Receiver::deliver_at`], to be set.
    pub(crate) fn deliver_at_mut(&mut self) -> &mut u64 {
        self.stream.deliver_at_mut()
    }

    /// The shim that sets the window, if there is one.
    pub fn window_shim(&mut self) -> Option<&mut window_shims::Window> {
        self.window_shim.as_deref_mut()
    }

    /// Removes the shim that sets the window.
    pub(crate) fn take_window_shim(&mut self) -> Option<Box<window_shims::Window>> {
        self.window_shim.take()
    }

    /// The transport of the connection.
    #[inline(always)]
    pub fn group(&self) -> GroupId {
        GroupId::new(u32::from(self.group))
    }

    /// Sets the transport of the connection. Panics beyond the 65536th transport.
    pub fn set_group(&mut self, group: GroupId) {
        self.group = u16::try_from(group.get()).expect("at most 65536 transports");
    }

    /// Generation in the connection slot.
    #[inline]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Packets sent less packets received, modulo 2^64.
    pub(crate) fn balance(&self) -> u64 {
        self.balance
    }

    /// Makes every packet take the slow path, which looks at the state of the handshake.
    pub(crate) fn leave_fast_path(&mut self) {
        self.fast_path = FastPath::None;
    }

    /// Counts a packet that arrived.
    #[inline(always)]
    pub(crate) fn count_received(&mut self) {
        self.balance = self.balance.wrapping_sub(1);
    }

    /// Counts a packet that is sent.
    #[inline(always)]
    fn count_sent(&mut self) {
        self.balance = self.balance.wrapping_add(1);
    }

    /// Handles a packet of the data direction.
    #[inline(always)]
    pub fn on_packet(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        self.count_received();
        if self.takes_fast_path(p) {
            return self.receive_fast(p, out);
        }
        self.process_packet(c, now, p, out);
    }

    /// As [`Receiver::on_packet`], of a packet that has been counted and does not take the fast path of stacks that acknowledge every segment.
    #[inline(always)]
    pub(crate) fn process_packet(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if self.takes_linux_fast_path(c, now, p) {
            self.receive_fast_linux(c, now, p, out);
        } else {
            self.process_packet_slow(c, now, p, out);
        }
    }

    #[inline(never)]
    fn process_packet_slow(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if p.has(flag::SYN) {
            return self.on_syn(c, now, p, out);
        }
        self.process_segment(c, now, p, Segments::one(p), out);
    }

    /// Handles consecutive segments that the host has merged. They have been counted.
    #[inline(always)]
    pub fn on_segments(&mut self, c: &TcpConfig, now: Time, segments: &SuperSegment, out: &mut impl Wire) {
        let p = segments.packet();
        if !self.is_merged(segments, out) && self.takes_fast_path(p) {
            self.receive_fast(p, out);
        } else {
            self.process_segments(c, now, segments, out);
        }
    }

    /// As [`Receiver::on_segments`], of those that do not take the fast path of stacks that acknowledge every segment.
    #[inline(always)]
    pub(crate) fn process_segments(&mut self, c: &TcpConfig, now: Time, segments: &SuperSegment, out: &mut impl Wire) {
        let p = segments.packet();
        if self.is_merged(segments, out) && !p.has(flag::SYN) {
            self.process_segment(c, now, p, Segments { count: segments.segments(), size: segments.size() }, out);
        } else {
            self.process_packet(c, now, p, out);
        }
    }

    /// Returns true if there are several segments, or data that the application has not read.
    #[inline(always)]
    fn is_merged(&self, segments: &SuperSegment, out: &impl Wire) -> bool {
        segments.segments() > 1 || out.unread(self.template.conn).is_some_and(|memory| memory > 0)
    }

    /// Returns true if a segment ends a write. Linux sets PSH at the end of a write and of each burst (__tcp_transmit_skb). Other senders set none here;
    /// their writes end with PSH.
    pub fn ends_write(&self, c: &TcpConfig, p: &Packet) -> bool {
        if c.is_linux() { p.has(flag::PUSH) } else { self.stream.end_of(p) >= self.stream.deliver_at() }
    }

    /// Handles an ACK of the receiver's own FIN.
    pub fn end(&mut self) {
        self.timer_due = TimeOrNever::NEVER;
    }

    /// Time of a delayed ACK or a retransmission of the receiver's own FIN.
    #[inline(always)]
    pub fn timer_due(&self) -> TimeOrNever {
        self.timer_due
    }

    /// Handles the timer, which is due.
    pub fn on_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        self.on_ack_timer(c, now, out);
    }

    /// Handles the delayed-ACK timer, if it has expired.
    fn on_ack_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.timer_due.is_due(now) {
            if self.linux.is_some() {
                return self.on_linux_ack_timer(c, now, out);
            }
            self.acknowledge_early(out);
        }
    }

    /// Delay of the ACK whose timer expires now; `None` when no such timer expires. For statistics only.
    pub fn ack_wait(&self, c: &TcpConfig, now: Time) -> Option<Time> {
        let waits = self.timer_due.is_due(now) && self.window.unacked_segments() > 0;
        // Other stacks set the timer to a constant delay.
        let last = self.linux.as_ref().filter(|_| c.quickack).map(|a| a.delack().last_arrival());
        waits.then(|| last.map_or(c.ack_delay, |last| now - last))
    }

    /// Time of the earliest timer entry that the engine holds for this endpoint.
    #[inline(always)]
    pub(crate) fn armed(&self) -> TimeOrNever {
        self.armed
    }

    /// Notes the engine's timer entry.
    #[inline(always)]
    pub(crate) fn set_armed(&mut self, entry: TimeOrNever) {
        self.armed = entry;
    }

    /// Returns true if the timer that expires at `entry` is in a slot of the timer wheel, which expires at a tick. Withheld ACKs have a timer of another
    /// kind (`compressed_ack_timer`, an hrtimer): those that expire together do so in the order in which they were set (timerqueue_add).
    pub(crate) fn uses_timer_wheel(&self, c: &TcpConfig, entry: TimeOrNever) -> bool {
        self.linux.is_some() && entry.or_never() % c.rto_granularity.max(Time(1)) == Time::ZERO
    }

    /// Time at which the engine has to check the timer: when it is due, or when the slot of the timer wheel that holds it expires.
    #[inline(always)]
    pub(crate) fn timer_entry<'c>(&self, config: impl FnOnce(GroupId) -> &'c TcpConfig, now: Time) -> TimeOrNever {
        match &self.linux {
            None => self.timer_due,
            Some(a) => self.timer_due.min(a.delack().slot_expiry(config(self.group()), now)),
        }
    }

    /// As [`Receiver::timer_entry`], after a packet: a slot for which the engine has an entry has not changed.
    #[inline(always)]
    pub(crate) fn new_timer_entry<'c>(&self, config: impl FnOnce(GroupId) -> &'c TcpConfig, now: Time) -> TimeOrNever {
        if self.has_unregistered_slot() || self.armed.is_never() { self.timer_entry(config, now) } else { self.timer_due }
    }

    /// Returns true if the engine has no entry for the slot that holds the timer.
    #[inline]
    pub(crate) fn has_unregistered_slot(&self) -> bool {
        self.linux.as_ref().is_some_and(|a| a.delack().has_unregistered_slot())
    }

    /// Notes that the engine is about to make an entry at `entry`. Returns true if the slot has one already, which keeps its place.
    pub(crate) fn keeps_wheel_slot(&mut self, c: &TcpConfig, entry: TimeOrNever) -> bool {
        self.linux.as_mut().is_some_and(|a| a.delack_mut().keeps_wheel_slot(c, entry))
    }

    /// Empties the slot if it expires now. The timer in it sends withheld ACKs (tcp_delack_timer_handler), also if its own ACK has left: the kernel does
    /// not remove it then (inet_csk_clear_xmit_timer).
    pub(crate) fn leave_wheel_slot(&mut self, c: &TcpConfig, now: Time) {
        let Some(a) = &mut self.linux else { return };
        if a.delack_mut().leave_slot(c, now) && a.withholds_acks() {
            self.refresh_clock(c, now);
            self.timer_due = now.into();
        }
    }
}
