//! The sending endpoint. [`Sender`] consists of data types that are in `tcp/common` with their rules. Files here hold the steps that both stacks
//! share: `app` (open, write, stop), `ack` (every ACK), `sack` (scoreboard), `recovery`, `undo`, `ecn`, `tlp`, `rto`, `transmit`, `nagle`, `paced_send`,
//! `retransmit`, `idle`, `send_limits`. Steps of one stack are in `tcp/rfc` and `tcp/linux`, fast paths in `tcp/fast_path.rs`.

mod ack;
mod app;
mod cc_events;
mod ecn;
mod handshake;
mod idle;
mod nagle;
mod paced_send;
mod packet_tags;
mod recovery;
mod retransmit;
mod rto;
pub(super) mod sack;
mod send_limits;
mod tlp;
mod transmit;
mod two_way;
mod undo;

pub(in crate::tcp) use self::paced_send::Burst;
pub(crate) use crate::tcp::common::cold_state::ColdState;
pub(in crate::tcp) use crate::tcp::common::state::ReductionCause;
pub use crate::tcp::common::state::{CaState, Phase, Timer};

use crate::cc::{Cc, Path, Threshold, Window};
use crate::net::generation::Generation;
use crate::net::packet::{Meta, Packet};
use crate::shim::tag_shims::Tagger;
use crate::tcp::common::accecn::EcnFeedback;
use crate::tcp::common::cold_box::Cold;
use crate::tcp::common::congestion::CongestionState;
use crate::tcp::common::loss::LossState;
use crate::tcp::common::message_stats::MessageStats;
use crate::tcp::common::rtt::Rtt;
use crate::tcp::common::sack_state::SackState;
use crate::tcp::common::send_stats::SendStats;
use crate::tcp::common::send_stream::SendStream;
use crate::tcp::common::seq::Address;
use crate::tcp::common::state::FastPath;
use crate::tcp::common::timers::Timers;
use crate::tcp::common::transmitter::Transmitter;
use crate::tcp::config::TcpConfig;
use crate::tcp::initial_window::first_window;
use crate::tcp::options::control_ecn;
use forebay_experiment::transport::Recovery;
use forebay_types::{GroupId, Time, TimeOrNever};

/// A sending endpoint.
#[derive(Debug, Clone)]
pub struct Sender {
    /// Packets that leave, and packets in the interface of the host.
    pub(in crate::tcp) tx: Transmitter,
    /// Connection and send sequence space.
    pub(in crate::tcp) stream: SendStream,
    /// RTT estimator and RTO.
    pub(super) rtt: Rtt,
    /// Timers, and the entries that the engine holds for them.
    pub(in crate::tcp) timers: Timers,
    /// Congestion control and ECN.
    pub(in crate::tcp) cc: CongestionState,
    /// Loss detection and recovery.
    pub(in crate::tcp) loss: LossState,
    /// Statistics of messages.
    pub(in crate::tcp) stats: MessageStats,
    /// State that most connections do not need.
    pub(crate) cold: Cold<ColdState>,
}

/// Full segment of new data from `addr`, without timestamp and tag. Its sequence number is the initial one.
fn full_segment(c: &TcpConfig, addr: Address) -> Packet {
    Packet {
        conn: addr.conn,
        dst: addr.dst,
        hash: addr.hash,
        wire: (c.mss + c.header) as u16,
        len: c.mss as u16,
        seq: addr.isn,
        meta: Meta::new(addr.generation, EcnFeedback::configured(c).data_codepoint(c)),
        ..Packet::default()
    }
}

// Six cache lines.
const _: () = assert!(size_of::<Sender>() <= 384);

impl Sender {
    /// State of the connection.
    #[inline(always)]
    pub fn phase(&self) -> Phase {
        self.stream.phase()
    }

    /// Recovery state.
    #[inline(always)]
    pub fn ca_state(&self) -> CaState {
        self.loss.ca_state()
    }

    /// Running timer.
    pub fn timer(&self) -> Timer {
        self.timers.kind()
    }

    /// Expiry of the timer; never when idle.
    #[inline(always)]
    pub fn timer_due(&self) -> TimeOrNever {
        self.timers.due()
    }

    /// Oldest unacknowledged stream offset.
    #[inline(always)]
    pub fn snd_una(&self) -> u64 {
        self.stream.snd_una()
    }

    /// Next offset to send.
    pub fn snd_nxt(&self) -> u64 {
        self.stream.snd_nxt()
    }

    /// Highest offset sent so far.
    #[inline(always)]
    pub fn snd_max(&self) -> u64 {
        self.stream.snd_max()
    }

    /// Bytes the application has written.
    #[inline(always)]
    pub fn written(&self) -> u64 {
        self.stream.written()
    }

    /// Congestion window and threshold.
    #[inline(always)]
    pub fn window(&self) -> Window {
        self.cc.window
    }

    /// Round trip of earlier connections on the path, if any, in stacks that use it.
    pub fn remembered(&self) -> Option<Time> {
        self.cold.remembered.get()
    }

    /// RTT estimator.
    pub fn rtt(&self) -> Rtt {
        self.rtt
    }

    /// Window, to set it.
    pub fn window_mut(&mut self) -> &mut Window {
        &mut self.cc.window
    }

    /// RTT estimator, to give it samples.
    pub fn rtt_mut(&mut self) -> &mut Rtt {
        &mut self.rtt
    }

    /// Passes the path of the packets to the congestion control.
    pub fn set_path(&mut self, path: Path) {
        self.cc.algorithm_mut().path(path);
    }

    /// Congestion control.
    #[inline(always)]
    pub fn cc(&self) -> &Cc {
        self.cc.algorithm()
    }

    /// Returns true if ECN is in use, and if its feedback is that of Accurate ECN.
    pub fn ecn_in_use(&self) -> (bool, bool) {
        let feedback = self.cc.feedback();
        (feedback.is_on(), feedback.is_accurate())
    }

    /// Statistics of the message now being acknowledged.
    #[inline(always)]
    pub fn stats(&self) -> &SendStats {
        self.stats.current()
    }

    /// Offset behind the last byte of the message that is being acknowledged.
    #[inline(always)]
    pub(crate) fn message_end(&self) -> u64 {
        self.stats.message_end()
    }

    /// Ends the message with the last byte written.
    pub(crate) fn end_message(&mut self) {
        self.stats.set_message_end(self.stream.written());
    }

    /// Sets the length of a stream whose sender is in another process.
    pub(crate) fn set_written(&mut self, bytes: u64) {
        self.stream.set_written(bytes);
    }

    /// Begins the statistics of a message, given its first byte, the byte behind its first window, and the byte behind its last.
    pub fn start_message(&mut self, (begin, window, end): (u64, u64, u64)) {
        self.stats.start(window, end);
        if self.cc.hooks().gate() || self.cold.tag.is_some() {
            self.cold.begin = begin;
        }
    }

    /// Starts the statistics of the next message after the oldest one is acknowledged. `next` has the arguments of [`Sender::start_message`].
    pub fn next_message(&mut self, next: Option<(u64, u64, u64)>) {
        self.start_message(next.unwrap_or((0, 0, u64::MAX)));
        self.stats.next(&mut self.cold, self.cc.window.cwnd);
    }

    /// Packets handed to the network, less packets taken from it, modulo 2^64.
    pub(crate) fn balance(&self) -> u64 {
        self.tx.balance()
    }

    /// Time of the earliest timer entry that the engine holds for this endpoint.
    #[inline(always)]
    pub(crate) fn armed(&self) -> TimeOrNever {
        self.timers.armed()
    }

    /// Sets the time of that entry.
    #[inline(always)]
    pub(crate) fn set_armed(&mut self, at: TimeOrNever) {
        self.timers.set_armed(at);
    }

    /// Returns true if the timer expires before the engine's entry.
    #[inline(always)]
    pub(crate) fn needs_timer_entry(&self) -> bool {
        self.timers.needs_entry()
    }

    /// Returns true if the timer has entered another slot of the kernel's timer wheel, and the host has to count it there.
    #[inline(always)]
    pub(crate) fn awaits_wheel_count(&self) -> bool {
        self.timers.awaits_count()
    }

    /// Creates a closed endpoint. A scoreboard of an ended connection, if given, is emptied and used again with its memory.
    ///
    /// # Panics
    /// If full segments have no payload, because no data could be sent.
    pub fn new(c: &TcpConfig, addr: Address, lent: Option<Box<SackState>>) -> Sender {
        assert!(c.mss > 0, "a segment has at least one byte of payload");
        let hooks = c.cc.hooks();
        let uses_scoreboard = c.counts_duplicates() || matches!(c.recovery, Recovery::Sack | Recovery::Rack);
        // Congestion controls that record segments use the numbers of the scoreboard.
        let sack = (uses_scoreboard && (hooks.records() || lent.is_some())).then(|| LossState::scoreboard(c, lent));
        let tag = Tagger::new(c.shims.tag.as_ref(), c.ack_every > 1);
        let mut template = full_segment(c, addr);
        template.win = tag.as_ref().map_or(0, |t| t.control());
        let plain = !uses_scoreboard
            && tag.is_none()
            && !hooks.gate()
            && !hooks.paces()
            && c.max_pacing_rate.is_none()
            && !c.tsq
            && c.tso.is_none()
            && !c.has_send_buffer();
        let accurate = c.ecn.is_accurate();
        let fast_path = match plain && !accurate && !c.cwnd_validation && !c.quickack && !c.echoes_timestamps() {
            true => FastPath::Plain,
            false if Sender::has_fast_sack_path(c) && tag.is_none() && c.plb.is_none() => FastPath::Linux,
            false => FastPath::None,
        };
        let mut cold = Cold::<ColdState>::default();
        // setsockopt(SO_MAX_PACING_RATE) sets SK_PACING_NEEDED.
        let paced = hooks.paces() || c.max_pacing_rate.is_some();
        if tag.is_some() || paced {
            (cold.tag, cold.pacer) = (tag, paced.then(Box::default));
        }
        let window = Window { cwnd: f64::from(c.init_cwnd), ssthresh: Threshold::UNLIMITED };
        let wnd_edge = c.shims.window.as_ref().map_or_else(|| first_window(c), |w| w.first_window(c.mss, c.rcv_wnd));
        Sender {
            tx: Transmitter::new(template),
            stream: SendStream::new(c, wnd_edge, plain, fast_path),
            rtt: Rtt::new(c),
            timers: Timers::new(addr.generation),
            cc: CongestionState::new(c, window, hooks),
            loss: LossState::new(sack, uses_scoreboard),
            stats: MessageStats::new(window.cwnd),
            cold,
        }
    }

    /// Begins in congestion avoidance with a window of `bytes`, as a connection whose earlier data is not simulated. Congestion controls with a model of
    /// the path of their own, such as BBR, replace it by theirs.
    pub fn begin_with(&mut self, bytes: u64, mss: u32) {
        // Whole segments, as the kernel counts them.
        let cwnd = (bytes as f64 / f64::from(mss)).round().max(1.0);
        self.cc.window = Window { cwnd, ssthresh: Threshold::at(cwnd) };
        self.stats = MessageStats::new(cwnd);
    }

    /// Transport of the connection.
    #[inline(always)]
    pub fn group(&self) -> GroupId {
        self.stream.group()
    }

    /// Sets the transport. Panics beyond the 65536th.
    pub fn join(&mut self, group: GroupId) {
        self.stream.set_group(group);
    }

    /// Counts a packet that arrived.
    #[inline(always)]
    pub fn note_received(&mut self) {
        self.tx.count_received();
    }

    /// Generation in the connection slot.
    #[inline]
    pub fn generation(&self) -> Generation {
        self.timers.generation()
    }

    /// Marks the end of the connection: no packet or timer belongs to this endpoint any more.
    pub fn retire(&mut self) {
        self.timers.retire();
    }

    /// Returns the scoreboard of a connection that has ended, for another one.
    pub fn lend(&mut self) -> Option<Box<SackState>> {
        self.loss.sack.take()
    }

    /// Returns true if everything written, and the FIN if there is one, is acknowledged.
    pub fn all_acked(&self) -> bool {
        self.stream.all_acked()
    }

    /// Bytes from stream offset `begin` on that the congestion window and the receive window allow while nothing before them is outstanding.
    pub(crate) fn window_from(&self, c: &TcpConfig, begin: u64) -> u64 {
        self.window_bytes(c).min(self.stream.snd_wnd_edge().saturating_sub(begin))
    }

    /// Bytes sent and not cumulatively acknowledged.
    #[inline]
    pub fn flight(&self) -> u64 {
        self.stream.flight()
    }

    //= https://www.rfc-editor.org/rfc/rfc8257#section-3.6
    //# Hence, for DCTCP connections, the sender SHOULD set ECT for SYN, SYN-ACK, and RST packets.
    /// Packet of this endpoint without sequence number and flags. All packets of DCTCP are ECN-capable, also SYN, pure ACK and FIN (RFC 8257 section
    /// 3.6; Linux `tcp_ca_needs_ecn`): a port that drops packets that it cannot mark would drop them.
    #[inline]
    pub(in crate::tcp) fn packet(&self, c: &TcpConfig, now: Time) -> Packet {
        Packet {
            conn: self.tx.template().conn,
            ts: now.timestamp(),
            dst: self.tx.template().dst,
            hash: self.tx.template().hash,
            wire: c.ack_size as u16,
            // Class of service; not a window.
            win: self.tx.template().win,
            meta: Meta::new(self.timers.generation(), control_ecn(c, self.cc.ecn())),
            ..Packet::default()
        }
    }
}
