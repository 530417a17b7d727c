//! Transports of an experiment as plain data: a stack with a congestion control and shims. A congestion control or shim is the name of its entry in a
//! backend's registry, with checked parameters.

use crate::kernel::Kernel;
use crate::plb::Plb;
use forebay_types::param::{Value, Values};
use forebay_types::{Rate, Time};
use std::ops::{Deref, DerefMut};

/// Transport of an experiment, used by the flows of the workloads that name it.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Name in the results.
    pub name: String,
    /// Stack, congestion control and shims.
    pub tcp: Transport,
}

impl Group {
    /// Group for results of datagram sources. `like` is any transport of the scenario; it supplies properties that are not specific to TCP.
    pub fn datagrams(like: &Transport) -> Group {
        let stack = Stack { recovery: Recovery::NewReno, ecn: Ecn::Off, ..like.stack.clone() };
        Group { name: Group::DATAGRAMS.into(), tcp: Transport { stack, cc: Chosen::NONE, shims: Vec::new() } }
    }

    /// Name of [`Group::datagrams`].
    pub const DATAGRAMS: &str = "udp";
}

/// Stack with its congestion control and shims.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// The stack.
    pub stack: Stack,
    /// Congestion control; [`Chosen::NONE`] for datagrams.
    pub cc: Chosen,
    /// Shims, at most one at each position.
    pub shims: Vec<Chosen>,
}

/// Access to all properties of the stack.
impl Deref for Transport {
    type Target = Stack;
    fn deref(&self) -> &Stack {
        &self.stack
    }
}

impl DerefMut for Transport {
    fn deref_mut(&mut self) -> &mut Stack {
        &mut self.stack
    }
}

/// Registry entry of a congestion control or shim, with checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Name of the entry.
    pub name: &'static str,
    /// A value for each of its parameters.
    pub values: Values,
}

impl Chosen {
    /// No entry.
    pub const NONE: Chosen = Chosen { name: "none", values: Values(Vec::new()) };

    /// Sets parameter `key` if the scenario left it open.
    pub fn fill(&mut self, key: &str, value: Value) {
        if let Some(open) = self.values.0.iter_mut().find(|(k, v)| *k == key && *v == Value::Unset) {
            open.1 = value;
        }
    }
}

/// Loss detection and recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Cumulative ACKs only, recovery ends with the first new ACK: RFC 5681 section 3.2.
    Reno,
    /// Cumulative ACKs only: RFC 6582.
    NewReno,
    /// SACK scoreboard: RFC 6675.
    Sack,
    /// Time-based with tail loss probes: RFC 8985, on a SACK scoreboard.
    Rack,
}

/// A documented set of defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// As the ns-2 simulator.
    Ns2,
    /// As the Linux kernel.
    Linux,
    /// As the RFCs.
    Rfc,
}

/// A documented set of defaults for the host below TCP: offloads, interface queue, framing and timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostProfile {
    /// A server as distributions install it.
    LinuxServer,
    /// No offloads, a FIFO at the interface, headers without Ethernet framing, no processing time.
    Bare,
    /// A node of the ns-2 simulator.
    Ns2,
}

/// ECN mode of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// Packets are not ECN-capable.
    Off,
    /// RFC 3168: the echo is latched until CWR; one halving per window.
    Classic,
    /// RFC 8257: the exact sequence of marks is echoed (but see [`Stack::latched_echo`]).
    Dctcp,
    /// RFC 9768: receivers count marked packets and bytes. With [`Stack::latched_echo`] they have RFC 3168 only, to which the sender falls back.
    Accurate,
    /// As `Accurate`, and data has ECT(1), the identifier of L4S (RFC 9331).
    L4s,
}

impl Ecn {
    /// Returns true if Accurate ECN is requested.
    #[inline]
    pub fn is_accurate(self) -> bool {
        matches!(self, Ecn::Accurate | Ecn::L4s)
    }
}

/// Stack whose behavior an endpoint follows where the RFCs and the Linux kernel differ and no key of the scenario decides.
///
/// It follows from the profile. ns-2 differs from the RFCs only where keys decide, so it has none of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// The RFCs.
    Rfc,
    /// The Linux kernel.
    Linux,
}

/// Formula that computes the RTO from the filtered RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtoRule {
    /// RFC 6298: max(minimum, SRTT + max(G, 4 RTTVAR)).
    Rfc6298,
    /// Linux: SRTT + max(minimum, 4 RTTVAR).
    Linux,
    /// Always the minimum, without back-off (pFabric).
    Fixed,
}

/// Base of a window reduction, which is halved or multiplied by the congestion control's factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SsthreshFrom {
    /// min(congestion window, receive window), without the inflation of fast recovery: ns-2 (`TcpAgent::slowdown`), BSD.
    Window,
    /// FlightSize (RFC 5681 equation 4, RFC 6675 section 5 step 4.2): data sent and not acknowledged. Segments of limited transmit are not included.
    /// It is at most the window, since segments sent beyond it in recovery replace segments that have arrived.
    Flight,
    /// The congestion window, once per episode: Linux (`tcp_enter_loss`, `tcp_enter_recovery`).
    Cwnd,
}

/// Effect of an idle period on the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// No change: the next train inherits the window.
    Keep,
    /// Back to the restart window, min(initial window, cwnd), after an idle RTO (RFC 5681 section 4.1).
    Restart,
    /// Back to the restart window after an idle time longer than the smoothed RTT: slow start at the head of every train, the alternative to
    /// probing in TCP-TRIM section III.A.
    RestartAfterRtt,
    /// Halved for every idle RTO, not below the restart window (Linux, `tcp_slow_start_after_idle=1`; RFC 2861).
    Halve,
}

/// Path metrics of closed connections that a host caches (Linux `tcp_metrics`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metrics {
    /// Nothing (`tcp_no_metrics_save = 1`).
    Off,
    /// The RTT (Linux by default: `tcp_no_ssthresh_metrics_save = 1`).
    Rtt,
    /// The RTT and the threshold of slow start.
    All,
}

/// Window growth on an ACK for several segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// One step per ACK, however many segments it acknowledges.
    PerAck,
    /// By acknowledged bytes in full segments, at most this many per ACK (RFC 5681 section 3.1 with 1, RFC 3465 with 2). Without limit: by
    /// acknowledged segments of any size (Linux).
    PerSegment {
        /// Upper bound per ACK.
        limit: u32,
    },
}

/// Slow start variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlowStart {
    /// RFC 5681 section 3.1: until the threshold or a loss.
    #[default]
    Standard,
    /// As Linux tcp_cubic: ends when ACK trains become too long, or when ACKs are delayed.
    Hystart,
    /// RFC 9406: slower growth once ACKs are delayed, and an end if they still are after some rounds.
    HystartPlusPlus,
}

impl SlowStart {
    /// Names in scenarios, in the order of the variants.
    pub const NAMES: &[&str] = &["standard", "hystart", "hystart++"];

    /// Variant called `name` in scenarios.
    pub fn of(name: &str) -> Option<SlowStart> {
        [SlowStart::Standard, SlowStart::Hystart, SlowStart::HystartPlusPlus].into_iter().find(|k| k.name() == name)
    }

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        SlowStart::NAMES[self as usize]
    }
}

/// All properties of a TCP stack except its congestion control and its shims. Defaults come from the stack profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    /// Profile the defaults came from.
    pub profile: Profile,
    /// Behavior where no other property decides.
    pub flavor: Flavor,
    /// Release of Linux that it follows, with [`Flavor::Linux`].
    pub kernel: Kernel,
    /// True if the scenario names that release. Otherwise the backend `linux` runs with any release.
    pub kernel_is_named: bool,
    /// Host profile the defaults below TCP came from.
    pub host: HostProfile,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Bytes added to the payload on the wire, all layers.
    pub header: u32,
    /// Wire bytes of a pure ACK, and of SYN, SYN-ACK and FIN.
    pub ack_size: u32,
    /// Initial window in segments.
    pub init_cwnd: u32,
    /// Receive window in bytes; with autotuning its maximum.
    pub rcv_wnd: u64,
    /// Size of the send buffer in bytes, as SO_SNDBUF: the kernel allots twice as much. `None`: the buffer is tuned.
    pub snd_buf: Option<u64>,
    /// Limit of a tuned send buffer, bytes of memory (`tcp_wmem[2]`); `None`: there is no limit.
    pub wmem_max: Option<u64>,
    /// Upper bound of the rate at which a connection sends payload, in whole bytes per second (SO_MAX_PACING_RATE); all its data is paced. `None`: no bound.
    pub max_pacing_rate: Option<Rate>,
    /// Size of the receive buffer in bytes, as SO_RCVBUF: the kernel allots twice as much. `None`: the window is `rcv_wnd`, or the buffer is tuned.
    pub rcv_buf: Option<u64>,
    /// Limit of a tuned receive buffer, bytes of memory (`tcp_rmem[2]`); `None`: twice [`Stack::rcv_wnd`].
    pub rmem_max: Option<u64>,
    /// The receive window is tuned as Linux does it.
    pub rcv_autotune: bool,
    /// Receivers acknowledge as Linux: by bytes, at once at the end of a write, in quickack mode after pauses, and by an adaptive delayed-ACK timer.
    pub quickack: bool,
    /// Segments per ACK; 1 switches delayed ACKs off.
    pub ack_every: u32,
    /// Delayed-ACK timer; with `quickack` its minimum (TCP_ATO_MIN).
    pub ack_delay: Time,
    /// Segments acknowledged at once at the start of a connection, and with `quickack` after pauses (Linux quickack mode).
    pub quickack_count: u32,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Base of a window reduction.
    pub ssthresh_from: SsthreshFrom,
    /// Proportional rate reduction (RFC 6937) during SACK and RACK recovery.
    pub prr: bool,
    /// Duplicate ACKs that start fast retransmit; 0: none do. RACK is time-based and ignores it.
    pub dup_thresh: u32,
    /// Formula of the RTO.
    pub rto_rule: RtoRule,
    /// Smallest RTO.
    pub rto_min: Time,
    /// Largest RTO, also of the back-off.
    pub rto_max: Time,
    /// RTO before the first sample.
    pub rto_initial: Time,
    /// Consecutive timeouts after which the sender only probes, with a header-only packet per RTO, until an ACK arrives (pFabric); 0: never.
    pub probe_after: u32,
    /// Clock granularity G, above zero; RTOs are rounded up to a multiple of it.
    pub rto_granularity: Time,
    /// Timestamps (RFC 7323): a sample per ACK, retransmitted segments included. Without: one timed segment, Karn's rule.
    pub timestamps: bool,
    /// Tick of the timestamp clock where endpoints compare or measure with echoes; RTT samples of senders are exact.
    pub timestamp_clock: Time,
    /// F-RTO (RFC 5682) of senders with a scoreboard.
    pub frto: bool,
    /// Undo of reductions when an echoed timestamp shows that the original had arrived (RFC 3522); for senders with a scoreboard and timestamps.
    pub eifel: bool,
    /// ECN.
    pub ecn: Ecn,
    /// CWR also on retransmissions (ns-2). RFC 3168 section 6.1.2 and Linux allow it on new data only.
    pub cwr_on_retransmit: bool,
    /// ECT on retransmissions as on any segment (ns-2's tcp.cc sets it on all but the SYN). RFC 3168 section 6.1.5 forbids it, so that marking queues
    /// drop retransmissions.
    pub ect_on_retransmit: bool,
    /// Receivers echo a mark until CWR, whatever [`Stack::ecn`] is: the latch of RFC 3168 under a DCTCP sender.
    pub latched_echo: bool,
    /// Window growth per ACK.
    pub growth: Growth,
    /// Slow start variant.
    pub slow_start: SlowStart,
    /// Effect of an idle period of at least one RTO on the window.
    pub idle: Idle,
    /// No window growth while the application, not the window, limits sending (RFC 7661 section 4.1, as Linux).
    pub cwnd_validation: bool,
    /// Nagle's algorithm: short segments wait while (Linux: short) segments are outstanding.
    pub nagle: bool,
    /// TCP small queues (Linux): limit on the data of a connection in its own host's interface.
    pub tsq: bool,
    /// Segmentation offload: bursts of up to this many bytes (Linux); `None`: none.
    pub tso: Option<u32>,
    /// Byte queue limits at the interfaces of hosts (Linux BQL).
    pub byte_queue_limits: bool,
    /// Receive offload: time from the first frame that a card holds to its interrupt, at which the host merges segments; `None`: off.
    pub gro: Option<Time>,
    /// The sender draws a new hash for its path after every retransmission timeout (Linux `sk_rethink_txhash`).
    pub txrehash: bool,
    /// Protective load balancing; `None`: off. With it, [`Stack::txrehash`] is true.
    pub plb: Option<Plb>,
    /// Path metrics that a new connection inherits from closed connections to the same peer.
    pub metrics: Metrics,
    /// Handshake with SYN, SYN-ACK and ACK. Off: endpoints start established.
    pub handshake: bool,
    /// FIN after the last byte of a connection.
    pub fin: bool,
    /// Random processing time of each packet of a sender at its host, uniform below this; 0 for none.
    pub send_jitter: Time,
    /// Each host sends all packets later by a fixed random time of at most this; 0 for none.
    pub host_phase: Time,
    /// Each packet of a host leaves later by a random time of at most this; 0 for none.
    pub host_jitter: Time,
    /// The clock of each host deviates by at most this, in millionths; 0 for none.
    pub host_clock: u32,
    /// Initial sequence number; `None`: drawn per connection.
    pub isn: Option<u32>,
}

impl Stack {
    /// Returns true if this is the Linux stack, where nothing more specific decides.
    #[inline(always)]
    pub fn is_linux(&self) -> bool {
        self.flavor == Flavor::Linux
    }

    /// Largest window that a receiver advertises. The memory of a receive buffer that has a size or a limit of its own is the only limit.
    #[inline]
    pub fn window_limit(&self) -> u64 {
        // RFC 7323 section 2.3.
        if self.rcv_buf.is_some() || self.rmem_max.is_some() { 1 << 30 } else { self.rcv_wnd }
    }

    /// Returns true if data passes a send buffer, which limits the data of a connection that is written and not acknowledged, or sets PSH for receivers
    /// whose ACKs depend on it.
    #[inline]
    pub fn has_send_buffer(&self) -> bool {
        self.snd_buf.is_some() || self.wmem_max.is_some() || self.quickack
    }

    /// Returns true if a sender without SACK counts each duplicate ACK as the SACK of a segment (Linux tcp_add_reno_sack) rather than follow RFC 6582.
    pub fn counts_duplicates(&self) -> bool {
        self.is_linux() && self.recovery == Recovery::NewReno && self.ssthresh_from == SsthreshFrom::Cwnd
    }
}
