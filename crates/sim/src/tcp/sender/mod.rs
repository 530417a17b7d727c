//! The sending endpoint: what it knows, and how it begins and ends. The work is in the files beside this one: `application` (opening, writing,
//! stopping), `acks` (what every ACK does), `usual` (the same where nothing is unusual), `cumulative`, `sack` and `counted` (recovery), `probes` (tail loss
//! probes, reordering), `timers`, `transmit` (new segments), `gated` (where a law limits or paces them), `retransmit`. State that has rules of its
//! own (RTT filter, scoreboard, pacer ...) is a folder above, in `tcp/`.

mod acks;
mod application;
mod audit;
mod booking;
mod counted;
mod cumulative;
mod delivered;
mod gated;
mod handshake;
mod host_queue;
mod idle;
mod listed;
mod marks;
mod pacing;
mod probes;
mod records;
mod recovery;
mod reported;
mod retransmit;
mod sack;
mod seldom;
mod state;
mod tagged;
mod timed;
mod timers;
mod transmit;
mod tso;
mod undo;
mod untouched;
mod usual;

use self::seldom::Seldom;
pub(super) use self::state::Cut;
pub use self::state::{CaState, Phase, Timer};

use crate::cc::slow_start::{self, SlowStart};
use crate::cc::{Cc, Hooks, Path, Threshold, Window};
use crate::net::generation::Generation;
use crate::net::packet::{Codepoint, Meta, Packet};
use crate::shim::tag_shims::Tagger;
use crate::tcp::config::TcpConfig;
use crate::tcp::host_queue::HostQueue;
use crate::tcp::initial_window::first_window;
use crate::tcp::lazy::Lazy;
use crate::tcp::negotiated::{control_ecn, offered_shift};
use crate::tcp::rtt::{Rtt, Timed};
use crate::tcp::sack_state::SackState;
use crate::tcp::send_buffer::SendBuffer;
use crate::tcp::send_stats::SendStats;
use crate::tcp::seq::{Address, Numbers};
use crate::tcp::usual::Usual;
use forebay_experiment::transport::{Ecn, Recovery};
use forebay_units::{GroupId, Time, TimeOrNever};

/// A sending endpoint.
#[derive(Debug, Clone)]
pub struct Sender {
    /// A full new segment, but for sequence number and timestamp. `win` is the class of packets without data.
    pub(super) template: Packet,
    /// Its sequence numbers.
    pub(super) numbers: Numbers,
    pub(super) generation: Generation,
    /// Whether new full segments are nothing but copies of the template: no scoreboard, ECN as configured.
    pub(super) plain: bool,
    /// What is usual for it.
    pub(super) usual: Usual,
    /// Whether the law limits new data or paces it, or bursts are waited for.
    pub(super) gated: bool,
    /// Whether it has a scoreboard while anything is outstanding.
    pub(super) by_scoreboard: bool,
    /// Which hooks the law has.
    pub(super) hooks: Hooks,
    /// Whether it is called for every ACK, and for every one that advances (or its slow start is).
    pub(super) hears: (bool, bool),
    /// Number of the transport it belongs to, in 16 bits because every connection has it.
    group: u16,
    /// Life phase.
    pub(crate) phase: Phase,
    /// Recovery state.
    pub(crate) ca: CaState,
    /// Running timer.
    pub(crate) timer: Timer,
    pub(super) fin: bool,
    /// The stream ends behind what has been written, and no FIN has been sent.
    pub(super) closing: bool,
    pub(super) ecn: bool,
    pub(super) cwr_pending: bool,
    /// What the last reduction answered.
    pub(super) cut: Cut,
    /// Whether the window limits sending; `None` where the stack does not look.
    pub(super) window_limited: Option<bool>,
    pub(super) shift: u8,
    pub(super) dupacks: u32,
    /// Oldest unacknowledged stream offset.
    pub(crate) una: u64,
    /// Next offset to send.
    pub(crate) nxt: u64,
    /// Highest offset sent so far.
    pub(crate) high: u64,
    /// Bytes the application has written.
    pub(crate) written: u64,
    /// Right edge of the receive window.
    pub(super) edge: u64,
    /// Congestion window.
    pub(crate) w: Window,
    pub(super) cwr_end: u64,
    /// RTT filter.
    pub(crate) rtt: Rtt,
    /// When the running timer expires; never when idle.
    pub(crate) timer_due: TimeOrNever,
    /// Time of the earliest timer entry the engine holds for this endpoint.
    pub(crate) armed: TimeOrNever,
    /// Timed segment of a stack without timestamps.
    pub(super) timed: Timed,
    /// When the last segment left, a SYN included.
    pub(super) last_tx: TimeOrNever,
    /// The law.
    pub(crate) law: Cc,
    /// Its slow start, unless that is the standard one.
    pub(super) slow_start: Option<Box<SlowStart>>,
    /// What waits in the host's interface, of stacks that limit it, while anything is sent: idle connections do not carry it.
    pub(super) host_queue: Option<Box<HostQueue>>,
    /// Byte behind the first window, and byte behind the last of the message now being acknowledged (for statistics).
    pub(super) window_end: u64,
    pub(crate) message_end: u64,
    /// Statistics of that message.
    pub(crate) stats: SendStats,
    /// Packets of any kind handed to the network, less those taken from it, which the engine counts; modulo 2^64.
    pub(crate) balance: u64,
    /// What is outstanding (`idle`).
    pub(super) sack: Option<Box<SackState>>,
    /// While there is none of that, the last round trip that RACK saw.
    pub(super) rack_rtt: Time,
    /// What the application hands over at once, where receivers look at that, while anything is sent.
    pub(super) buffer: Option<Box<SendBuffer>>,
    /// Time of the alarm that the engine holds for the law or the host's interface.
    pub(super) alarm: TimeOrNever,
    /// What most connections do without.
    pub(crate) seldom: Lazy<Seldom>,
}

/// A full segment of new data from `addr`, without sequence number, timestamp and tag.
fn full_segment(c: &TcpConfig, addr: Address) -> Packet {
    Packet {
        conn: addr.conn,
        dst: addr.dst,
        hash: addr.hash,
        wire: (c.mss + c.header) as u16,
        len: c.mss as u16,
        meta: Meta::new(addr.generation, if c.ecn == Ecn::Off { Codepoint::NotEct } else { Codepoint::Ect0 }),
        ..Packet::default()
    }
}

// Six lines of the cache.
const _: () = assert!(size_of::<Sender>() <= 384);

impl Sender {
    /// Where the connection is in its life.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Recovery state.
    pub fn ca(&self) -> CaState {
        self.ca
    }

    /// Which timer runs.
    pub fn timer(&self) -> Timer {
        self.timer
    }

    /// When that timer expires; never when idle.
    pub fn timer_due(&self) -> TimeOrNever {
        self.timer_due
    }

    /// Oldest unacknowledged stream offset.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Next offset to send.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Highest offset sent so far.
    pub fn high(&self) -> u64 {
        self.high
    }

    /// Bytes the application has written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Congestion window and threshold.
    pub fn w(&self) -> Window {
        self.w
    }

    /// What the host remembers of the path's round trip, if anything, and if it is asked for.
    pub fn remembered(&self) -> Option<Time> {
        self.seldom.remembered.get()
    }

    /// RTT filter.
    pub fn rtt(&self) -> Rtt {
        self.rtt
    }

    /// The window, to set it.
    pub fn w_mut(&mut self) -> &mut Window {
        &mut self.w
    }

    /// The RTT filter, to give it samples.
    pub fn rtt_mut(&mut self) -> &mut Rtt {
        &mut self.rtt
    }

    /// The law learns what the path is that packets will take.
    pub fn enter_path(&mut self, path: Path) {
        self.law.path(path);
    }

    /// The law.
    pub fn law(&self) -> &Cc {
        &self.law
    }

    /// Statistics of the message now being acknowledged.
    pub fn stats(&self) -> &SendStats {
        &self.stats
    }

    /// A closed endpoint. `lent` is the scoreboard of a connection that has ended, for its memory.
    ///
    /// # Panics
    /// If full segments have no payload, because no data would ever be sent.
    pub fn new(c: &TcpConfig, addr: Address, lent: Option<Box<SackState>>) -> Sender {
        assert!(c.mss > 0, "a segment has at least one byte of payload");
        let hooks = c.law.hooks();
        let by_scoreboard = c.counts_duplicates() || matches!(c.recovery, Recovery::Sack | Recovery::Rack);
        // Laws that record segments know them by the scoreboard's numbers.
        let sack = (by_scoreboard && (hooks.records() || lent.is_some())).then(|| Sender::scoreboard(c, lent));
        let law = c.law.start();
        let slow_start = slow_start::start(c.slow_start);
        let tag = Tagger::new(c.shims.tag.as_ref(), c.ack_every > 1);
        let mut template = full_segment(c, addr);
        template.win = tag.as_ref().map_or(0, |t| t.control());
        let plain = !by_scoreboard && tag.is_none() && !hooks.gate() && !hooks.paces() && !c.tsq && c.tso.is_none();
        let usual = match plain && !c.cwnd_validation && !c.adaptive_acks {
            true => Usual::Plain,
            false if Sender::is_listed(c) && tag.is_none() => Usual::Linux,
            false => Usual::Nothing,
        };
        let mut seldom = Lazy::<Seldom>::default();
        if tag.is_some() || hooks.paces() {
            (seldom.tag, seldom.pacer) = (tag, hooks.paces().then(Box::default));
        }
        Sender {
            template,
            numbers: addr.numbers(),
            generation: addr.generation,
            plain,
            usual,
            gated: hooks.gate() || hooks.paces() || c.tso.is_some(),
            by_scoreboard,
            hooks,
            hears: (hooks.in_ack_event(), hooks.pkts_acked() || slow_start.is_some()),
            group: 0,
            phase: Phase::Closed,
            ca: CaState::Open,
            timer: Timer::Idle,
            fin: false,
            closing: false,
            ecn: c.ecn != Ecn::Off,
            cwr_pending: false,
            cut: Cut::Other,
            window_limited: c.cwnd_validation.then_some(false),
            shift: offered_shift(c),
            dupacks: 0,
            una: 0,
            nxt: 0,
            high: 0,
            written: 0,
            edge: c.shims.window.as_ref().map_or_else(|| first_window(c), |w| w.first_window(c.mss, c.rcv_wnd)),
            w: Window { cwnd: f64::from(c.init_cwnd), ssthresh: Threshold::UNLIMITED },
            cwr_end: 0,
            rtt: Rtt::new(c),
            timer_due: TimeOrNever::NEVER,
            armed: TimeOrNever::NEVER,
            timed: Timed::NONE,
            last_tx: TimeOrNever::NEVER,
            law,
            slow_start,
            host_queue: None,
            window_end: 0,
            message_end: u64::MAX,
            stats: SendStats { cwnd_max: f64::from(c.init_cwnd), ..SendStats::default() },
            balance: 0,
            sack,
            rack_rtt: Time::ZERO,
            buffer: None,
            alarm: TimeOrNever::NEVER,
            seldom,
        }
    }

    /// The transport it belongs to.
    #[inline(always)]
    pub fn group(&self) -> GroupId {
        GroupId::new(u32::from(self.group))
    }

    /// Makes it one of `group`. Panics beyond the 65536th transport.
    pub fn join(&mut self, group: GroupId) {
        self.group = u16::try_from(group.get()).expect("at most 65536 transports");
    }

    /// A packet reached it.
    #[inline(always)]
    pub fn note_received(&mut self) {
        self.balance = self.balance.wrapping_sub(1);
    }

    /// Its generation in its connection slot.
    #[inline]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The connection has ended: no packet or timer belongs to this endpoint any more.
    pub fn retire(&mut self) {
        self.generation = Generation::RETIRED;
        self.timer_due = TimeOrNever::NEVER;
    }

    /// Gives its scoreboard away; the connection has ended.
    pub fn lend(&mut self) -> Option<Box<SackState>> {
        self.sack.take()
    }

    /// Sequence space of the stream: written bytes and the FIN.
    #[inline]
    pub(super) fn stream_end(&self) -> u64 {
        self.written + u64::from(self.fin)
    }

    /// Whether everything written, and the FIN if there is one, is acknowledged.
    pub fn all_acked(&self) -> bool {
        self.una >= self.stream_end()
    }

    /// Bytes sent and not cumulatively acknowledged.
    #[inline]
    pub fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    //= https://www.rfc-editor.org/rfc/rfc8257#section-3.6
    //# Hence, for DCTCP connections, the sender SHOULD set ECT for SYN, SYN-ACK, and RST packets.
    /// A packet of this endpoint without sequence number and flags. All of DCTCP's are ECN-capable, SYN, pure ACK and FIN too
    /// (RFC 8257 section 3.6; Linux `tcp_ca_needs_ecn`): a port that drops what it cannot mark would drop them.
    #[inline]
    pub(super) fn packet(&self, c: &TcpConfig, now: Time) -> Packet {
        Packet {
            conn: self.template.conn,
            ts: now.timestamp(),
            dst: self.template.dst,
            hash: self.template.hash,
            wire: c.ack_size as u16,
            // Class of service; not a window.
            win: self.template.win,
            meta: Meta::new(self.generation, control_ecn(c, self.ecn)),
            ..Packet::default()
        }
    }
}
