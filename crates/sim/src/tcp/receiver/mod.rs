//! The receiving endpoint: what it knows, what it does with a packet, when it acknowledges (RFC 5681 section 4.2, RFC 2018, RFC 2883) and the
//! ECN echo (RFC 3168 section 6.1.3, RFC 8257 section 3.2). Beside this file: `usual` (the segment that nearly all are), `control` (packets without data),
//! `accept` (reassembly), `close` (the end of the stream), `paws` (segments that are too old), `acks` (the ACKs themselves), `delack` (when Linux sends them), `gro` (segments that the host joins).

mod accept;
mod acks;
mod close;
mod control;
mod delack;
mod entry;
mod gro;
mod in_order;
mod paws;
mod usual;
mod walk;

use self::delack::Taken;
use crate::net::generation::Generation;
use crate::net::packet::{Codepoint, Meta, Packet, SackBlocks, Wire, flag};
use crate::shim::windows;
use crate::tcp::adaptive::Adaptive;
use crate::tcp::autotune::first_window;
use crate::tcp::config::TcpConfig;
use crate::tcp::fast_path::FastPath;
use crate::tcp::gro::Gro;
use crate::tcp::options::{control_ecn, offered_shift};
use crate::tcp::reassembly::Reassembly;
use crate::tcp::seq::{Address, Numbers};
use forebay_experiment::transport::{Ecn, Recovery, Reduce};
use forebay_units::{GroupId, Time, TimeOrNever};

/// State of the echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    /// ECN was not negotiated.
    Off,
    /// Latched from a CE packet until CWR.
    Classic { latched: bool },
    /// DCTCP.CE (RFC 8257 section 3.2): the CE value of the run of packets being acknowledged.
    Exact { ce: bool },
}

/// A receiving endpoint.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// An ACK, but for its number, timestamp and flags.
    pub(super) template: Packet,
    numbers: Numbers,
    generation: Generation,
    /// Stream offset of the next byte expected in order; FIN counts one.
    pub(crate) rcv_nxt: u64,
    /// Offset of the FIN, once seen.
    fin: u64,
    ooo: Reassembly,
    pub(super) window: u64,
    pub(super) shift: u8,
    pub(super) echo: Echo,
    sack: bool,
    /// Blocks that one ACK has room for (RFC 2018 section 3).
    blocks: u8,
    /// What is usual for it.
    fast_path: FastPath,
    /// SACK, or a window shim: ACKs may be more than a copy of the template.
    elaborate: bool,
    /// Segments received and not yet acknowledged.
    pub(super) pending: u16,
    /// Segments still to be acknowledged at once.
    pub(super) quick: u16,
    pub(super) last_ack: u64,
    ts_recent: u32,
    /// When that came.
    recent_seen: Time,
    /// When a delayed ACK is due, or segments that wait for more are.
    pub(crate) timer_due: TimeOrNever,
    /// Time of the earliest timer entry the engine holds for this endpoint.
    pub(crate) armed: TimeOrNever,
    /// The application waits for the stream to reach this offset; `u64::MAX` when it waits for nothing.
    pub(crate) deliver_at: u64,
    /// Number of the transport it belongs to, in 16 bits because every connection has it.
    group: u16,
    /// Packets that it sent, less those that reached it; modulo 2^64.
    pub(crate) balance: u64,
    /// A SYN has been answered.
    answered: bool,
    /// How often its own FIN has been sent, or [`close::WITH_ACK`].
    fins: u8,
    /// The shim that sets its window, if there is one.
    pub(crate) window_shim: Option<Box<windows::Window>>,
    /// What Linux knows about arrivals, if it acknowledges like that or tunes its window.
    pub(super) adaptive: Option<Box<Adaptive>>,
    /// Segments that its host joins before they come here, if it does.
    pub(super) gro: Option<Box<Gro>>,
}

const _: () = assert!(size_of::<Receiver>() <= 160);

impl Receiver {
    /// Stream offset of the next byte expected in order; FIN counts one.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Data bytes received in order, FIN not counted.
    #[inline(always)]
    pub fn delivered(&self) -> u64 {
        self.rcv_nxt.min(self.fin)
    }

    /// When a delayed ACK is due, or segments that wait for more are.
    pub fn timer_due(&self) -> TimeOrNever {
        self.timer_due
    }

    /// The application waits for the stream to reach this offset; `u64::MAX` when it waits for nothing.
    pub fn deliver_at(&self) -> u64 {
        self.deliver_at
    }

    /// The application waits for the stream to reach `offset`; `u64::MAX`: for nothing.
    pub fn notify_at(&mut self, offset: u64) {
        self.deliver_at = offset;
    }

    /// The shim that sets its window, if there is one.
    pub fn window_shim(&mut self) -> Option<&mut windows::Window> {
        self.window_shim.as_deref_mut()
    }

    /// A packet reached it.
    #[inline(always)]
    pub(crate) fn note_received(&mut self) {
        self.balance = self.balance.wrapping_sub(1);
    }

    /// It sends a packet.
    #[inline(always)]
    pub(super) fn note_sent(&mut self) {
        self.balance = self.balance.wrapping_add(1);
    }

    /// Sequence space that waits for something before it, as intervals of stream offsets.
    pub fn beyond(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ooo.intervals()
    }

    /// An endpoint that answers to `addr`.
    pub fn new(c: &TcpConfig, addr: Address) -> Receiver {
        let echo = match c.ecn {
            Ecn::Off => Echo::Off,
            Ecn::Classic => Echo::Classic { latched: false },
            Ecn::Dctcp if c.latched_echo => Echo::Classic { latched: false },
            Ecn::Dctcp => Echo::Exact { ce: false },
        };
        let sack = matches!(c.recovery, Recovery::Sack | Recovery::Rack);
        let window_shim = windows::Window::new(c.shims.window.as_ref(), c.mss, c.rcv_wnd);
        let tuned = c.rcv_autotune && window_shim.is_none();
        let window = if tuned { first_window(c) } else { c.rcv_wnd };
        let shift = offered_shift(c);
        let template = Packet {
            conn: addr.conn,
            dst: addr.dst,
            hash: addr.hash,
            wire: c.ack_size as u16,
            win: (window >> shift).min(65_535) as u16,
            flags: flag::ACK | if c.shims.tag.as_ref().is_some_and(|t| t.urgent_acks()) { flag::URGENT } else { 0 },
            meta: Meta::new(addr.generation, control_ecn(c, true)),
            ..Packet::default()
        };
        Receiver {
            template,
            numbers: addr.numbers(),
            generation: addr.generation,
            rcv_nxt: 0,
            fin: u64::MAX,
            ooo: Reassembly::default(),
            window,
            shift,
            echo,
            sack,
            blocks: if c.timestamps { SackBlocks::BESIDE_TIMESTAMPS } else { SackBlocks::MOST } as u8,
            fast_path: if Receiver::is_of_linux(c) && window_shim.is_none() {
                FastPath::Linux
            } else if c.ack_every <= 1 && window_shim.is_none() && !c.adaptive_acks && !tuned && c.gro.is_none() && !c.timestamps
            {
                FastPath::Plain
            } else {
                FastPath::None
            },
            elaborate: sack || window_shim.is_some(),
            pending: 0,
            quick: if c.adaptive_acks { 0 } else { c.quick_acks.min(u32::from(u16::MAX)) as u16 },
            last_ack: 0,
            ts_recent: 0,
            recent_seen: Time::ZERO,
            timer_due: TimeOrNever::NEVER,
            armed: TimeOrNever::NEVER,
            deliver_at: u64::MAX,
            group: 0,
            balance: 0,
            answered: false,
            fins: if c.adaptive_acks { 0 } else { close::WITH_ACK },
            window_shim,
            adaptive: Adaptive::of(c, tuned),
            gro: Gro::of(c),
        }
    }

    /// The transport it belongs to.
    #[inline(always)]
    pub fn group(&self) -> GroupId {
        GroupId::new(u32::from(self.group))
    }

    /// Whether ACKs carry SACK blocks, and whether nothing waits for something before it.
    pub(super) fn is_sack(&self) -> bool {
        self.sack
    }

    /// Bytes that wait for something before them.
    pub(super) fn out_of_order(&self) -> u64 {
        self.ooo.bytes()
    }

    /// Whether [start, end) belongs to none of the two intervals beyond the stream that were touched last, where there are others.
    pub(super) fn is_elsewhere(&self, start: u64, end: u64) -> bool {
        self.ooo.is_elsewhere(start, end)
    }

    /// Whether its window is its own, so that it wants to know how long ACKs take.
    pub fn is_tuned(&self) -> bool {
        self.adaptive.as_ref().is_some_and(|a| a.tune.is_some())
    }

    /// On the empty path an ACK takes so long.
    pub fn enter_path(&mut self, back: Time) {
        if let Some(tune) = self.adaptive.as_mut().and_then(|a| a.tune.as_mut()) {
            tune.enter_path(back);
        }
    }

    /// Makes it one of `group`. Panics beyond the 65536th transport.
    pub fn join(&mut self, group: GroupId) {
        self.group = u16::try_from(group.get()).expect("at most 65536 transports");
    }

    /// Its generation in its connection slot.
    #[inline]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Whether the stream has ended with a FIN.
    pub fn finished(&self) -> bool {
        self.rcv_nxt > self.fin
    }

    /// Whether `p`, which is at `offset`, has anything behind the stream in order.
    #[inline(always)]
    fn brings_news(&self, p: &Packet, offset: i64) -> bool {
        offset + i64::from(p.len) + i64::from(p.has(flag::FIN)) > self.rcv_nxt as i64
    }

    /// Stream offset behind the payload of `p`.
    pub(super) fn end_of(&self, p: &Packet) -> u64 {
        (self.numbers.offset(p.seq, self.rcv_nxt) + i64::from(p.len)).max(0) as u64
    }

    /// A packet of the data direction arrived.
    #[inline(always)]
    pub fn on_packet(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        self.note_received();
        if self.is_usual(p) {
            return self.take_usual(p, out);
        }
        self.on_any_packet(c, now, p, out);
    }

    /// The same, whatever it is.
    #[inline(always)]
    pub(crate) fn on_any_packet(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if self.is_next_in_order(c, now, p) {
            self.take_in_order(c, now, p, out);
        } else {
            self.on_unusual_packet(c, now, p, out);
        }
    }

    #[inline(never)]
    fn on_unusual_packet(&mut self, c: &TcpConfig, now: Time, p: &Packet, out: &mut impl Wire) {
        if p.has(flag::SYN) {
            return self.on_syn(c, now, p, out);
        }
        if self.gro.is_some() {
            return self.coalesce(c, now, p, out);
        }
        self.take(c, now, p, 1, out);
    }

    /// TCP takes `p` in: a segment, or `segments` of them joined into one.
    #[inline(always)]
    pub(super) fn take(&mut self, c: &TcpConfig, now: Time, p: &Packet, segments: u32, out: &mut impl Wire) {
        let fin = p.has(flag::FIN);
        if p.len == 0 && !fin {
            return self.on_empty(c, now, p, out);
        }
        let offset = self.numbers.offset(p.seq, self.rcv_nxt);
        let older = self.looks_older(now, p);
        if older && c.timestamps && self.is_too_old(c, now, p) {
            return self.reject(c, now, p, out);
        }
        if c.adaptive_acks && offset + i64::from(p.len) + i64::from(fin) < self.last_ack as i64 {
            // tcp_validate_incoming, tcp_sequence: it is before the window that was offered last, so that neither its timestamp nor its marks count.
            return self.reject(c, now, p, out);
        }
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.5
        //# the TCP data receiver SHOULD ignore the ECN field on arriving data packets that are outside of the receiver's
        //# current window.
        // RFC 3168 section 6.1.5: so the mark of a segment that brings nothing new does not count (tcp_data_queue). ns-2 looks at no number
        // (TcpSink::ack).
        let news = self.brings_news(p, offset) || c.reduce == Reduce::Window;
        let ce = if news { p.ecn() == Codepoint::Ce } else { self.echo == Echo::Exact { ce: true } };
        let closes_run = self.note_ecn(p, ce);
        if closes_run && self.pending > 0 {
            //= https://www.rfc-editor.org/rfc/rfc8257#section-3.2
            //# To avoid this, an implementation MAY choose to send two ACKs: one for previously unacknowledged packets
            //# and another acknowledging the most recently received packet.
            // RFC 8257 section 3.2: the packets before the change are acknowledged with the old CE value.
            self.acknowledge_early(out);
        }
        if let Echo::Exact { ce: state } = &mut self.echo {
            *state = ce;
        }
        let gap_before = !self.ooo.is_empty();
        self.note_left_edge(now, p, offset, older);
        let (before, waited) = (self.rcv_nxt, self.out_of_order());
        if self.adaptive.is_some() {
            self.report_others(c, now, offset, p.len.into(), out);
            // RFC 2883 section 4: the most recent packet alone is reported; the ACK of one before it may have been held back (tcp_data_queue).
            self.ooo.take_repeated();
        }
        let in_order = self.accept(offset, u64::from(p.len), fin);
        self.pending = self.pending.saturating_add(segments as u16);
        let forced = !in_order || gap_before || closes_run || fin;
        if self.adaptive.is_some() {
            return self.settle_adaptive(
                c,
                now,
                p,
                Taken {
                    offset,
                    in_order,
                    forced,
                    closes_run,
                    fresh: self.rcv_nxt - before,
                    stored: self.out_of_order() > waited,
                },
                out,
            );
        }
        if forced || u32::from(self.pending) >= c.ack_every || self.take_quick() {
            self.acknowledge(out);
        } else if self.timer_due.is_never() {
            self.timer_due = (now + c.ack_delay).into();
        }
    }

    pub(super) fn take_quick(&mut self) -> bool {
        let quick = self.quick > 0;
        self.quick -= u16::from(quick);
        quick
    }

    /// The timer is due.
    pub fn on_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.gro.is_some() {
            self.flush_when_due(c, now, out);
        }
        self.on_ack_timer(c, now, out);
    }

    /// The delayed-ACK timer may have expired.
    pub(super) fn on_ack_timer(&mut self, c: &TcpConfig, now: Time, out: &mut impl Wire) {
        if self.timer_due.has_come(now) {
            if self.adaptive.is_some() {
                return self.on_adaptive_timer(c, now, out);
            }
            self.acknowledge_early(out);
        }
    }

    /// Updates the echo. True when a DCTCP run of equal CE values ends here.
    #[inline]
    fn note_ecn(&mut self, p: &Packet, ce: bool) -> bool {
        match &mut self.echo {
            Echo::Off => false,
            Echo::Classic { latched } => {
                //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.3
                //# After the receipt of the CWR packet, acknowledgments for subsequent non-CE data packets do not have the ECN-Echo
                //# flag set.
                // RFC 3168 section 6.1.3: CWR ends the echo, a CE on the same packet starts it anew.
                *latched = (*latched && !p.has(flag::CWR)) || ce;
                false
            }
            Echo::Exact { ce: state } => *state != ce,
        }
    }

    /// Stream offsets as sequence numbers.
    fn wire(&self, (start, end): (u64, u64)) -> (u32, u32) {
        (self.numbers.wire(start), self.numbers.wire(end))
    }
}
