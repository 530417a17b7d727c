//! The transports of an experiment: a stack with a law and shims, as plain data. A law or a shim is the name of its entry in a world's
//! registry and the checked values of its parameters; which laws there are is the world's affair.

use forebay_param::{Value, Values};
use forebay_units::Time;
use std::ops::{Deref, DerefMut};

/// A transport of an experiment, used by the flows of the workloads that name it.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Name in the results.
    pub name: String,
    /// Stack, law and shims.
    pub tcp: Transport,
}

impl Group {
    /// What sources of datagrams are reported under. `like` is any transport of the scenario, for what is not TCP's alone.
    pub fn datagrams(like: &Transport) -> Group {
        let stack = Stack { recovery: Recovery::NewReno, ecn: Ecn::Off, ..like.stack.clone() };
        Group { name: Group::DATAGRAMS.into(), tcp: Transport { stack, law: Chosen::NONE, shims: Vec::new() } }
    }

    /// Name of [`Group::datagrams`].
    pub const DATAGRAMS: &str = "udp";
}

/// A stack with the law and the shims that were chosen for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// The stack.
    pub stack: Stack,
    /// Congestion control law; [`Chosen::NONE`] for datagrams.
    pub law: Chosen,
    /// What the transport has beside law and stack; at most one shim in each place.
    pub shims: Vec<Chosen>,
}

/// A transport has all the properties of its stack.
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

/// An entry of a registry with checked values of its parameters: a law or a shim as a scenario chooses it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Name of the entry.
    pub name: &'static str,
    /// A value for each of its parameters.
    pub values: Values,
}

impl Chosen {
    /// Nothing is chosen.
    pub const NONE: Chosen = Chosen { name: "none", values: Values(Vec::new()) };

    /// Gives parameter `key` a value where the scenario left it open.
    pub fn fill(&mut self, key: &str, value: Value) {
        if let Some(open) = self.values.0.iter_mut().find(|(k, v)| *k == key && *v == Value::Unset) {
            open.1 = value;
        }
    }
}

/// How losses are found and repaired.
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

/// How the sender uses ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// Packets are not ECN-capable.
    Off,
    /// RFC 3168: the echo latches until CWR; one halving per window.
    Classic,
    /// RFC 8257: the exact sequence of marks is echoed (but see [`Stack::latched_echo`]).
    Dctcp,
}

/// Stack whose behaviour an endpoint follows where the RFCs and the Linux kernel differ and no key of the scenario decides.
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

/// What a reduction halves (or multiplies by the law's factor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// min(congestion window, receive window), without the inflation of fast recovery: ns-2 (`TcpAgent::slowdown`), BSD.
    Window,
    /// What is outstanding in the network (RFC 5681 equation 4, RFC 6675 section 5 step 4.2): data sent and not acknowledged, without that
    /// of limited transmit, and no more than the window: what recovery sends beyond it takes the place of what has arrived.
    Flight,
    /// The congestion window, once per episode: Linux (`tcp_enter_loss`, `tcp_enter_recovery`).
    Cwnd,
}

/// What an idle period does to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Nothing: the next train inherits the window.
    Keep,
    /// Back to the restart window, min(initial window, cwnd) (RFC 5681 section 4.1).
    Restart,
    /// Halved for every idle RTO, not below the restart window (Linux, `tcp_slow_start_after_idle=1`; RFC 2861).
    Halve,
}

/// What a host remembers of the paths of connections that have closed (Linux `tcp_metrics`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metrics {
    /// Nothing (`tcp_no_metrics_save = 1`).
    Off,
    /// The RTT (Linux by default: `tcp_no_ssthresh_metrics_save = 1`).
    Rtt,
    /// The RTT and the threshold of slow start.
    All,
}

/// How much the window grows on an ACK for several segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// One step per ACK, however much it acknowledges.
    PerAck,
    /// By acknowledged bytes in full segments, at most this many per ACK (RFC 5681 section 3.1 with 1, RFC 3465 with 2); without limit by
    /// acknowledged segments, of whatever size (Linux).
    PerSegment {
        /// Upper bound per ACK.
        limit: u32,
    },
}

/// How slow start ends, and how fast it is on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlowStart {
    /// RFC 5681 section 3.1: until the threshold or a loss.
    #[default]
    Standard,
    /// As Linux tcp_cubic: ends when ACKs arrive in too long a train, or later than they used to.
    Hystart,
    /// RFC 9406: slower once ACKs come later, and over if they still do after some rounds.
    HystartPlusPlus,
}

impl SlowStart {
    /// Names in scenarios, in the order of the variants.
    pub const NAMES: &[&str] = &["standard", "hystart", "hystart++"];

    /// The one that a scenario calls `name`.
    pub fn of(name: &str) -> Option<SlowStart> {
        [SlowStart::Standard, SlowStart::Hystart, SlowStart::HystartPlusPlus].into_iter().find(|k| k.name() == name)
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        SlowStart::NAMES[self as usize]
    }
}

/// All properties of a TCP stack but its law and its shims. Defaults come from the stack profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    /// Profile the defaults came from.
    pub profile: Profile,
    /// Behaviour where no other property decides.
    pub flavor: Flavor,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Bytes added to the payload on the wire, all layers.
    pub header: u32,
    /// Wire bytes of a pure ACK, and of SYN, SYN-ACK and FIN.
    pub ack_size: u32,
    /// Initial window in segments.
    pub init_cwnd: u32,
    /// Receive window in bytes; with autotuning the largest.
    pub rcv_wnd: u64,
    /// The receive window is tuned as Linux does it.
    pub rcv_autotune: bool,
    /// Receivers acknowledge as Linux: by bytes, at once at the end of a write, in quick mode after pauses, by an adaptive timer.
    pub adaptive_acks: bool,
    /// Acknowledge every n-th full segment; 1 switches delayed ACKs off.
    pub ack_every: u32,
    /// Delayed-ACK timer; with adaptive ACKs its smallest value (TCP_ATO_MIN).
    pub ack_delay: Time,
    /// Acknowledge this many segments at once at the start of a connection, and with adaptive ACKs after pauses (Linux quick-ack mode).
    pub quick_acks: u32,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// What a reduction starts from.
    pub reduce: Reduce,
    /// Proportional rate reduction (RFC 6937) during SACK and RACK recovery.
    pub prr: bool,
    /// Duplicate ACKs that start fast retransmit; 0: none do. RACK goes by time whatever this says.
    pub dup_thresh: u32,
    /// Formula of the RTO.
    pub rto_rule: RtoRule,
    /// Smallest RTO.
    pub rto_min: Time,
    /// Largest RTO, also of the back-off.
    pub rto_max: Time,
    /// RTO before the first sample.
    pub rto_initial: Time,
    /// After this many consecutive timeouts the sender only asks with a header-only packet per RTO whether the peer is there, until an ACK
    /// arrives (pFabric); 0: never.
    pub probe_after: u32,
    /// Clock granularity G, above zero; RTOs are rounded up to a multiple of it.
    pub rto_granularity: Time,
    /// Timestamps (RFC 7323): a sample per ACK, retransmitted segments included. Without: one timed segment, Karn's rule.
    pub timestamps: bool,
    /// Tick of the timestamp clock where endpoints compare or measure with echoes; RTT samples of senders are exact.
    pub timestamp_clock: Time,
    /// F-RTO (RFC 5682) of senders with a scoreboard.
    pub frto: bool,
    /// Reductions are taken back when an echoed timestamp shows that the original had arrived (RFC 3522); senders with a scoreboard and timestamps.
    pub eifel: bool,
    /// ECN.
    pub ecn: Ecn,
    /// CWR also travels on retransmissions (ns-2); RFC 3168 section 6.1.2 and Linux know it on new data only.
    pub cwr_on_any: bool,
    /// Retransmissions are ECN-capable like any segment (ns-2's tcp.cc sets ECT on all but the SYN); RFC 3168 section 6.1.5 forbids it. Where
    /// a queue marks, those of RFC 3168 are dropped.
    pub ect_on_any: bool,
    /// The receiver echoes a mark until CWR, whatever [`Stack::ecn`] says: RFC 3168's latch under a DCTCP sender.
    pub latched_echo: bool,
    /// Window growth per ACK.
    pub growth: Growth,
    /// How slow start ends.
    pub slow_start: SlowStart,
    /// What happens to the window after an idle period of at least one RTO.
    pub idle: Idle,
    /// Do not grow the window when the application, not the window, limits sending (RFC 7661 section 4.1, as Linux).
    pub cwnd_validation: bool,
    /// Limit what a connection has waiting in its own host's interface (Linux: TCP small queues).
    pub tsq: bool,
    /// Segmentation offload: bursts of up to this many bytes, for which a sender waits (Linux); `None`: none.
    pub tso: Option<u32>,
    /// Receive offload: how long a host holds segments of a connection for the next one to join; `None`: not at all.
    pub gro: Option<Time>,
    /// What a new connection takes over from those to the same peer that have closed.
    pub metrics: Metrics,
    /// Open with SYN, SYN-ACK and ACK. Off: endpoints start established.
    pub handshake: bool,
    /// Close with FIN when a connection's last byte has been written.
    pub fin: bool,
    /// Random processing time of each packet of a sender at its host, uniform below this; 0 for none.
    pub send_jitter: Time,
    /// Initial sequence number; `None`: drawn per connection.
    pub isn: Option<u32>,
}

impl Stack {
    /// Whether this is the Linux stack, where nothing more specific decides.
    #[inline(always)]
    pub fn is_linux(&self) -> bool {
        self.flavor == Flavor::Linux
    }

    /// Whether a sender without SACK counts each duplicate ACK as the SACK of a segment (Linux tcp_add_reno_sack) rather than follow RFC 6582.
    pub fn counts_duplicates(&self) -> bool {
        self.is_linux() && self.recovery == Recovery::NewReno && self.reduce == Reduce::Cwnd
    }
}
