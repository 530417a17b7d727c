//! Stack profiles: documented sets of defaults, every one overridable in `[transport]` (design: `ns2`, `linux`, `rfc`).

use crate::kernel::Kernel;
use crate::plb::{self, Plb};
use crate::registry::CcEntry;
use crate::transport::{
    Chosen, Ecn, Flavor, Growth, HostProfile, Idle, Metrics, Profile, Recovery, RtoRule, SlowStart, SsthreshFrom, Stack,
    Transport,
};
use forebay_types::param::{Kind, Param, Values, choices};
use forebay_types::{Rate, Time};

/// Profile of a transport that names none: Linux, as most hosts run it. Published evaluations name theirs.
pub const DEFAULT: Profile = Profile::Linux;

/// Names of the profiles.
pub const PROFILES: &[&str] = &choices::<3, _>(PROFILE);

/// One line about each profile, in the order of [`PROFILES`].
pub const SUMMARIES: &[&str] = &[
    "as in published ns-2 simulations: ACK per packet, NewReno with limited transmit, initial window 2, minimum RTO 200 ms",
    "as the Linux kernel: delayed ACKs, SACK with RACK-TLP and PRR, initial window 10, minimum RTO 200 ms",
    "as the RFCs: delayed ACKs, SACK (RFC 6675), initial window 10 (RFC 6928), minimum RTO 1 s (RFC 6298)",
];

// Values of these keys as scenarios write them. Parsing, help texts and documentation use these lists.
const RECOVERY: &[(&str, Recovery)] =
    &[("reno", Recovery::Reno), ("newreno", Recovery::NewReno), ("sack", Recovery::Sack), ("rack", Recovery::Rack)];
const SSTHRESH_FROM: &[(&str, SsthreshFrom)] =
    &[("window", SsthreshFrom::Window), ("flight", SsthreshFrom::Flight), ("cwnd", SsthreshFrom::Cwnd)];
const RTO_RULE: &[(&str, RtoRule)] = &[("rfc6298", RtoRule::Rfc6298), ("linux", RtoRule::Linux), ("fixed", RtoRule::Fixed)];
const GROWTH: &[(&str, Growth)] = &[
    ("per-ack", Growth::PerAck),
    ("rfc5681", Growth::PerSegment { limit: 1 }),
    ("abc", Growth::PerSegment { limit: 2 }),
    ("unlimited", Growth::PerSegment { limit: u32::MAX }),
];
const IDLE: &[(&str, Idle)] =
    &[("off", Idle::Keep), ("rfc5681", Idle::Restart), ("rtt", Idle::RestartAfterRtt), ("linux", Idle::Halve)];
const METRICS: &[(&str, Metrics)] = &[("off", Metrics::Off), ("rtt", Metrics::Rtt), ("all", Metrics::All)];
const ECN: &[(&str, Ecn)] =
    &[("off", Ecn::Off), ("classic", Ecn::Classic), ("dctcp", Ecn::Dctcp), ("accurate", Ecn::Accurate), ("l4s", Ecn::L4s)];
const LATCHED_ECHO: &[(&str, bool)] = &[("exact", false), ("latched", true)];
const PROFILE: &[(&str, Profile)] = &[("ns2", Profile::Ns2), ("linux", Profile::Linux), ("rfc", Profile::Rfc)];

impl Recovery {
    /// Value of the key `recovery`.
    pub fn name(self) -> &'static str {
        RECOVERY.iter().find(|r| r.1 == self).map_or("", |r| r.0)
    }
}

const HOST: &[(&str, HostProfile)] =
    &[("linux-server", HostProfile::LinuxServer), ("bare", HostProfile::Bare), ("ns2", HostProfile::Ns2)];

/// Keys of `[transport]` beside `stack`, `cc` and `name`. The default of each, the empty text, is the value of the profile.
pub const PARAMS: &[Param] = &[
    p(
        "kernel",
        Kind::Choice(&choices::<2, _>(Kernel::NAMED)),
        "release of Linux that `stack = \"linux\"` follows where releases differ: receive window, receiver's RTT below 1 ms, repeated SYNs, merging of data that has not been sent, protective load balancing. On the backend `linux` it is the release of the kernel in use. Default: 6.12",
    ),
    p(
        "host",
        Kind::Choice(&choices::<3, _>(HOST)),
        "defaults of the host below TCP: a Linux server as distributions install it (Ethernet framing, segmentation and receive offload); no offloads and a FIFO at the interface; or a node of ns-2. Default: linux-server with `stack = \"linux\"`, ns2 with `stack = \"ns2\"`, otherwise bare",
    ),
    p("mss", Kind::Int(64, 65_000), "payload bytes of a full segment"),
    p("header", Kind::Int(0, 500), "bytes that all headers add to a segment's payload on the wire"),
    p("ack-size", Kind::Int(1, 1_500), "wire bytes of pure ACKs, SYNs and FINs"),
    p(
        "init-cwnd",
        Kind::Int(1, 10_000),
        "initial window in segments; default in rfc: 10 segments or 14600 bytes, whichever is less, but at least two segments (RFC 6928)",
    ),
    p(
        "rcv-wnd",
        Kind::Bytes,
        "receive window; with `rcv-autotune` its maximum; with `host = \"linux-server\"` a buffer of this size, as `rcv-buf`",
    ),
    p(
        "snd-buf",
        Kind::Bytes,
        "size of the send buffer as SO_SNDBUF (socket(7)): the kernel allocates twice as much memory for data that is written and not acknowledged, and does not tune the buffer",
    ),
    p(
        "snd-buf-max",
        Kind::Bytes,
        "limit of a tuned send buffer, in memory (tcp_wmem[2]): payload and 832 bytes for each segment, or with `tso` for each buffer of up to 64 KB; default in linux: 4 MiB, elsewhere no limit",
    ),
    p(
        "max-pacing-rate",
        Kind::Rate,
        "maximum rate at which a connection sends payload, in whole bytes per second, as SO_MAX_PACING_RATE (socket(7)). Its segments are paced at twice (slow start) or 1.2 times the window per RTT, at most at this rate. A host queue `fq` paces them, otherwise TCP does. Default: no maximum",
    ),
    p(
        "rcv-buf",
        Kind::Bytes,
        "size of the receive buffer as SO_RCVBUF (socket(7)): the kernel allocates twice as much memory, derives the window from it (tcp_win_from_space), and does not tune the buffer. Default: the buffer is tuned, or `rcv-wnd` is the window",
    ),
    p(
        "rcv-buf-max",
        Kind::Bytes,
        "limit of a tuned receive buffer, in memory (tcp_rmem[2]), which limits the window in place of `rcv-wnd`; default with `host = \"linux-server\"`: 6 MiB, unless `rcv-wnd` is given; elsewhere twice `rcv-wnd`",
    ),
    p(
        "rcv-autotune",
        Kind::Bool,
        "receive window autotuning as in Linux: the window starts at 64 KB and grows with the data that arrives in an RTT. Default in linux: on, unless `rcv-wnd` is given, which fixes the window like SO_RCVBUF",
    ),
    p(
        "quickack",
        Kind::Bool,
        "delayed ACKs as in Linux. An ACK is sent at once for more than `ack-every` - 1 full segments, and at the end of a write. Quickack mode: after a loss, a mark or a pause of an RTO, each of `quickack-count` segments is acknowledged at once. Otherwise it is sent after `ack-delay` or the RTT, whichever is longer, but before the minimum RTO",
    ),
    p("ack-every", Kind::Int(1, 1_000), "segments per ACK; 1 switches delayed ACKs off (RFC 5681 section 4.2)"),
    p("ack-delay", Kind::Time, "delayed-ACK timer"),
    p(
        "quickack-count",
        Kind::Int(0, 1_000),
        "segments acknowledged at once at the start of a connection (Linux), and with `quickack` after pauses",
    ),
    p(
        "recovery",
        Kind::Choice(&choices::<4, _>(RECOVERY)),
        "loss recovery: RFC 5681, RFC 6582, RFC 6675 or RFC 8985; newreno with `stack = \"linux\"` and `ssthresh-from = \"cwnd\"`: as Linux without SACK, which counts duplicate ACKs as if they were SACKs",
    ),
    p(
        "ssthresh-from",
        Kind::Choice(&choices::<3, _>(SSTHRESH_FROM)),
        "base of ssthresh at a reduction: min(congestion window, receive window) (ns-2), FlightSize (RFC 5681 equation 4), or the congestion window, once per episode (Linux)",
    ),
    p("limited-transmit", Kind::Bool, "limited transmit (RFC 3042); always on with SACK, and without it on the stack `linux`"),
    p("prr", Kind::Bool, "proportional rate reduction in recovery (RFC 6937)"),
    p(
        "dup-thresh",
        Kind::Int(0, 1_000),
        "duplicate ACKs that start fast retransmit (RFC 5681 section 3.2); 0: none do (pFabric), but see `recovery = \"rack\"`",
    ),
    p(
        "rto-rule",
        Kind::Choice(&choices::<3, _>(RTO_RULE)),
        "max(minimum, SRTT + 4 RTTVAR), SRTT + max(minimum, 4 RTTVAR), or always the minimum, without back-off",
    ),
    p("rto-min", Kind::Time, "smallest retransmission timeout"),
    p("rto-max", Kind::Time, "largest retransmission timeout"),
    p("rto-initial", Kind::Time, "retransmission timeout before the first RTT sample"),
    p("rto-granularity", Kind::Time, "clock granularity G of RFC 6298; timeouts are rounded up to it"),
    p(
        "probe-after",
        Kind::Int(0, 1_000),
        "consecutive timeouts after which a sender only probes, with header-only packets, until an ACK arrives (pFabric); 0: never",
    ),
    p("timestamps", Kind::Bool, "timestamps (RFC 7323): an RTT sample on every ACK"),
    p("timestamp-clock", Kind::Time, "tick of the timestamp clock, for `eifel`; RTT samples of senders are always exact"),
    p(
        "frto",
        Kind::Bool,
        "F-RTO (RFC 5682): detects spurious timeouts by sending new data after a timeout; needs SACK, or the stack linux without SACK",
    ),
    p(
        "eifel",
        Kind::Bool,
        "Eifel: undoes a reduction when a timestamp echo shows that the original segment had arrived (RFC 3522, 4015); needs timestamps, and SACK or the stack linux without SACK",
    ),
    p(
        "ecn",
        Kind::Choice(&choices::<5, _>(ECN)),
        "ECN: none, RFC 3168 (with newreno on a red queue: RED-ECN TCP), RFC 8257, Accurate ECN (RFC 9768), or Accurate ECN with ECT(1) for L4S (RFC 9331); default: as the congestion control needs",
    ),
    p(
        "ecn-echo",
        Kind::Choice(&choices::<2, _>(LATCHED_ECHO)),
        "feedback of receivers with ecn = \"dctcp\", \"accurate\" or \"l4s\": exact, or ECN-Echo latched from a mark until CWR, as with ecn = \"classic\". Latched receivers have no Accurate ECN, and the sender falls back to classic ECN",
    ),
    p("cwr-on-retransmit", Kind::Bool, "CWR also on retransmissions (ns-2), not on new data only (RFC 3168 section 6.1.2)"),
    p("ect-on-retransmit", Kind::Bool, "ECT also on retransmissions (ns-2), which RFC 3168 section 6.1.5 forbids"),
    p(
        "growth",
        Kind::Choice(&choices::<4, _>(GROWTH)),
        "window growth per ACK: one step, acknowledged bytes up to 1 or 2 full segments, or (Linux) acknowledged segments of any size and number",
    ),
    p(
        "slow-start",
        Kind::Choice(SlowStart::NAMES),
        "end of slow start: at ssthresh or a loss (RFC 5681), or also when delays or ACK trains show that the path is full: HyStart of Linux, HyStart++ (RFC 9406). Default: hystart for cubic with stack = \"linux\", otherwise standard",
    ),
    p(
        "slow-start-after-idle",
        Kind::Choice(&choices::<4, _>(IDLE)),
        "after an idle RTO: keep the window, restart from the initial one (RFC 5681 section 4.1), or halve it per idle RTO (Linux). With `rtt` it restarts as in RFC 5681 after an idle time above the smoothed RTT",
    ),
    p(
        "cwnd-validation",
        Kind::Bool,
        "no window growth while the application limits sending (RFC 9438 section 5.8). Except in rfc, slow start continues while the application uses more than half of the window (Linux). Default in rfc: true with cubic",
    ),
    p(
        "nagle",
        Kind::Bool,
        "Nagle's algorithm: a short segment at the end of the written data waits, and data that is written meanwhile is added. With `stack = \"linux\"` it waits until no short segment is outstanding (Minshall's variant), on other stacks until no data is outstanding (RFC 9293 section 3.7.4). False: as with TCP_NODELAY",
    ),
    p(
        "tsq",
        Kind::Bool,
        "TCP small queues (Linux): the interface of the host holds at most about 1 ms of a connection's data at its pacing rate, but at least two segments",
    ),
    p(
        "tso",
        Kind::Bytes,
        "segmentation offload (Linux): new data is sent in bursts of up to this size (at most 64 KB), depending on the pacing rate. A sender waits for further ACKs to send a full burst. 0: off",
    ),
    p(
        "gro",
        Kind::Time,
        "receive offload with interrupt moderation (rx-usecs of ethtool): the network card of a host raises its interrupt this time after the first frame that it holds. The host then takes all frames, merges the segments of each connection, up to 64 KB (GRO), and acknowledges them together. With several transports the longest time applies to all hosts. 0: off",
    ),
    p(
        "byte-queue-limits",
        Kind::Bool,
        "byte queue limits (Linux BQL): the interface of a host takes packets from its queue (`host-queue`, unless this serves in order of arrival) as long as its transmit ring does not exceed a limit. The limit adapts so that the ring never runs empty. False: one packet at a time. Default: on with `host = \"linux-server\"`",
    ),
    p(
        "tcp-metrics",
        Kind::Choice(&choices::<3, _>(METRICS)),
        "path metrics that a host caches when a connection closes, for the next one to the same peer (Linux tcp_metrics): none; the RTT, which sets the first RTO; or also ssthresh (tcp_no_ssthresh_metrics_save = 0)",
    ),
    p(
        "txrehash",
        Kind::Bool,
        "after every retransmission timeout a connection draws a new hash, by which switches choose its path, as Linux does (net.core.txrehash, sk_rethink_txhash). Switches must hash the IPv6 flow label for this: a hash of addresses and ports does not change. Default: as `tcp-plb-enabled`, which needs it",
    ),
    plb::PARAMS[0],
    plb::PARAMS[1],
    plb::PARAMS[2],
    plb::PARAMS[3],
    plb::PARAMS[4],
    p("handshake", Kind::Bool, "handshake with SYN, SYN-ACK, ACK; false: endpoints start established"),
    p("fin", Kind::Bool, "close with FIN after the last byte of a connection"),
    p(
        "send-jitter",
        Kind::Time,
        "random processing time of each packet of a sender, uniform between 0 and this; packets stay in order",
    ),
    p(
        "host-phase",
        Kind::Time,
        "each host sends all its packets later by a fixed time, because clocks of hosts are not aligned. The time is drawn for each host and run, in whole nanoseconds up to this. With several transports the longest applies. Default: one period of a network card's clock, 6.4 ns, with `host = \"linux-server\"`, otherwise 0",
    ),
    p(
        "host-jitter",
        Kind::Time,
        "each packet of a host, data or ACK, leaves its interface later by a random time in whole nanoseconds, at most this. Packets stay in order. With several transports the longest applies. Default: 25.6 ns with `host = \"linux-server\"`, otherwise 0. If `host-phase` is 0 as well, hosts act at exactly the same instants",
    ),
    p(
        "host-clock",
        Kind::Int(0, 1_000),
        "largest deviation of a host's clock from nominal, in parts per million (IEEE 802.3 allows 100). The deviation is drawn for each host and run, and changes the rate at which the host sends. With several transports the largest value applies",
    ),
    p("isn", Kind::Int(0, 4_294_967_295), "initial sequence number; default: drawn per connection"),
];

/// The largest burst of `tso`, bytes (GSO_LEGACY_MAX_SIZE).
const LARGEST_BURST: u64 = 65_536;

const fn p(key: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { key, kind, default: Some(""), doc }
}

impl Profile {
    /// Profile called `name` in scenarios.
    pub fn of(name: &str) -> Option<Profile> {
        PROFILE.iter().find(|p| p.0 == name).map(|p| p.1)
    }

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        PROFILES[self as usize]
    }
}

/// Bytes of Ethernet around an IP packet: preamble and start delimiter 8, header 14, frame check sequence 4, inter-packet gap 12 (IEEE 802.3 clauses
/// 3.1.1 and 4.4.2).
const ETHERNET: u32 = 38;
/// Moderation of receive interrupts that the kernel's network cards begin with (`NET_DIM_DEF_PROFILE_EQE`, lib/dim/net_dim.c).
const INTERRUPT_MODERATION: Time = Time::from_us(8);

/// Period of the clock of a 10 Gbps Ethernet card, 156.25 MHz (IEEE 802.3 clause 46). Clocks of different hosts have any phase.
const CLOCK_PERIOD: Time = Time(6_400);
/// Uncertainty of the time between two directly connected network cards: four clock periods (DTP, Lee et al., SIGCOMM 2016: two for crossing
/// between clock domains, two for the periodic synchronization). Our choice: all of it is variation of the latency. It is at the lower end of what
/// servers have: crossing PCIe varies by tens of nanoseconds more (Neugebauer et al., SIGCOMM 2018).
const LATENCY_VARIATION: Time = Time(4 * CLOCK_PERIOD.0);
/// `tcp_rmem[2]` on a host with memory enough (tcp_init).
const TCP_RMEM_MAX: u64 = 6 << 20;

impl Stack {
    /// Bytes of a data packet on the wire around its IP packet, with the headers of IPv4 and TCP and the timestamp option.
    pub fn framing(&self) -> u32 {
        self.header.saturating_sub(if self.timestamps { 52 } else { 40 })
    }

    /// Takes the defaults of `host`.
    fn on(&mut self, host: HostProfile) {
        self.host = host;
        if host == HostProfile::LinuxServer {
            self.header += ETHERNET;
            self.ack_size += ETHERNET;
            self.tso = Some(LARGEST_BURST as u32);
            self.gro = Some(INTERRUPT_MODERATION);
            self.host_phase = CLOCK_PERIOD;
            self.host_jitter = LATENCY_VARIATION;
            self.rmem_max = self.rcv_autotune.then_some(TCP_RMEM_MAX);
            self.byte_queue_limits = true;
        }
    }
}

impl HostProfile {
    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        HOST[self as usize].0
    }
}

/// Transport with the stack of `profile`, the congestion control `entry` with its parameters, and the overrides in `values` (keys of [`PARAMS`]).
pub fn resolve<C>(profile: Profile, entry: &CcEntry<C>, cc: Values, values: &Values) -> Transport {
    let mut c = Transport { stack: defaults(profile), cc: Chosen { name: entry.entry.name, values: cc }, shims: Vec::new() };
    if profile == Profile::Rfc {
        c.init_cwnd = first_window(values.opt_int("mss").map_or(c.mss, |mss| mss as u32));
    }
    if c.recovery == Recovery::NewReno
        && let Some(recovery) = entry.recovery
    {
        c.recovery = recovery;
    }
    if let Some(adjust) = entry.adjust {
        adjust(&mut c);
    }
    let host = values.opt_choice("host", HOST).unwrap_or(match c.flavor {
        Flavor::Linux => HostProfile::LinuxServer,
        Flavor::Rfc => c.host,
    });
    c.stack.on(host);
    let int = |key: &str, old: u32| values.opt_int(key).map_or(old, |v| v as u32);
    let time = |key: &str, old: Time| values.opt_time(key).unwrap_or(old);
    let flag = |key: &str, old: bool| values.opt_bool(key).unwrap_or(old);
    c.mss = int("mss", c.mss);
    c.header = int("header", c.header);
    c.ack_size = int("ack-size", c.ack_size);
    c.init_cwnd = int("init-cwnd", c.init_cwnd);
    c.rcv_wnd = values.opt_bytes("rcv-wnd").map_or(c.rcv_wnd, |b| b.0);
    c.snd_buf = values.opt_bytes("snd-buf").map_or(c.snd_buf, |b| Some(b.0));
    c.wmem_max = values.opt_bytes("snd-buf-max").map_or(c.wmem_max, |b| Some(b.0));
    // SO_MAX_PACING_RATE is in bytes per second.
    c.max_pacing_rate = values.opt_rate("max-pacing-rate").map_or(c.max_pacing_rate, |r| Some(Rate(r.0 / 8 * 8)));
    c.rcv_buf = values.opt_bytes("rcv-buf").map_or(c.rcv_buf, |b| Some(b.0));
    c.rmem_max = values.opt_bytes("rcv-buf-max").map_or(c.rmem_max, |b| Some(b.0));
    // SO_RCVBUF switches the kernel's tuning off (SOCK_RCVBUF_LOCK).
    c.rcv_autotune = c.rcv_buf.is_none() && flag("rcv-autotune", c.rcv_autotune && values.opt_bytes("rcv-wnd").is_none());
    if c.host == HostProfile::LinuxServer && !c.rcv_autotune {
        // A server has no window that an application could set, but SO_RCVBUF: the kernel derives the window from it.
        c.rcv_buf = c.rcv_buf.or(values.opt_bytes("rcv-wnd").map(|b| b.0));
    }
    if values.opt_bytes("rcv-wnd").is_none() {
        // Half of the memory, until the receiver has measured the ratio (tcp_win_from_space).
        c.rcv_wnd = c.rcv_buf.or(c.rmem_max.map(|most| most / 2)).unwrap_or(c.rcv_wnd);
    } else if values.opt_bytes("rcv-buf-max").is_none() {
        // The window of the scenario, not the memory of the profile, is the limit.
        c.rmem_max = None;
    }
    c.quickack = flag("quickack", c.quickack);
    c.ack_every = int("ack-every", c.ack_every);
    c.ack_delay = time("ack-delay", c.ack_delay);
    c.quickack_count = int("quickack-count", c.quickack_count);
    c.recovery = values.opt_choice("recovery", RECOVERY).unwrap_or(c.recovery);
    c.ssthresh_from = values.opt_choice("ssthresh-from", SSTHRESH_FROM).unwrap_or(c.ssthresh_from);
    c.cwr_on_retransmit = flag("cwr-on-retransmit", c.cwr_on_retransmit);
    c.ect_on_retransmit = flag("ect-on-retransmit", c.ect_on_retransmit);
    c.limited_transmit = flag("limited-transmit", c.limited_transmit);
    c.prr = flag("prr", c.prr);
    c.dup_thresh = int("dup-thresh", c.dup_thresh);
    c.rto_rule = values.opt_choice("rto-rule", RTO_RULE).unwrap_or(c.rto_rule);
    c.rto_min = time("rto-min", c.rto_min);
    c.rto_max = time("rto-max", c.rto_max);
    c.rto_initial = time("rto-initial", c.rto_initial);
    c.rto_granularity = time("rto-granularity", c.rto_granularity);
    c.probe_after = int("probe-after", c.probe_after);
    c.timestamps = flag("timestamps", c.timestamps);
    c.timestamp_clock = time("timestamp-clock", c.timestamp_clock);
    c.frto = flag("frto", c.frto);
    c.eifel = flag("eifel", c.eifel);
    c.ecn = values.opt_choice("ecn", ECN).unwrap_or(entry.ecn);
    c.latched_echo = values.opt_choice("ecn-echo", LATCHED_ECHO).unwrap_or(c.latched_echo);
    c.growth = values.opt_choice("growth", GROWTH).unwrap_or(c.growth);
    c.slow_start = values.opt_text("slow-start").and_then(|name| SlowStart::of(&name)).unwrap_or(c.slow_start);
    c.idle = values.opt_choice("slow-start-after-idle", IDLE).unwrap_or(c.idle);
    c.cwnd_validation = flag("cwnd-validation", c.cwnd_validation);
    c.nagle = flag("nagle", c.nagle);
    c.tsq = flag("tsq", c.tsq);
    c.tso = values.opt_bytes("tso").map_or(c.tso, |b| (b.0 > 0).then_some(b.0.min(LARGEST_BURST) as u32));
    c.gro = values.opt_time("gro").map_or(c.gro, |t| (t > Time::ZERO).then_some(t));
    c.byte_queue_limits = flag("byte-queue-limits", c.byte_queue_limits);
    c.metrics = values.opt_choice("tcp-metrics", METRICS).unwrap_or(c.metrics);
    let named = values.opt_choice("kernel", Kernel::NAMED);
    (c.kernel, c.kernel_is_named) = (named.unwrap_or(c.kernel), named.is_some());
    c.plb = Plb::of(values);
    c.txrehash = flag("txrehash", c.plb.is_some());
    c.handshake = flag("handshake", c.handshake);
    c.fin = flag("fin", c.fin);
    c.send_jitter = values.opt_time("send-jitter").unwrap_or(c.send_jitter);
    c.host_phase = time("host-phase", c.host_phase);
    c.host_jitter = time("host-jitter", c.host_jitter);
    c.host_clock = values.opt_int("host-clock").map_or(c.host_clock, |v| v as u32);
    c.isn = values.opt_int("isn").map(|v| v as u32);
    c
}

/// Initial window in whole segments (RFC 6928 section 2, equation 1): min(10 MSS, max(2 MSS, 14600)).
fn first_window(mss: u32) -> u32 {
    (14_600 / mss).clamp(2, 10)
}

/// Stack of a profile.
pub fn defaults(profile: Profile) -> Stack {
    let ns2 = Stack {
        profile: Profile::Ns2,
        flavor: Flavor::Rfc,
        kernel: Kernel::default(),
        kernel_is_named: false,
        host: HostProfile::Ns2,
        mss: 1460,
        header: 40,
        ack_size: 40,
        init_cwnd: 2,
        // 1000 segments, the window limit of the incast and TRIM simulations.
        rcv_wnd: 1_460_000,
        snd_buf: None,
        wmem_max: None,
        max_pacing_rate: None,
        rcv_buf: None,
        rmem_max: None,
        rcv_autotune: false,
        quickack: false,
        ack_every: 1,
        ack_delay: Time::from_ms(100),
        quickack_count: 0,
        recovery: Recovery::NewReno,
        ssthresh_from: SsthreshFrom::Window,
        limited_transmit: true,
        prr: false,
        dup_thresh: 3,
        rto_rule: RtoRule::Rfc6298,
        rto_min: Time::from_ms(200),
        rto_max: Time::from_secs(60),
        rto_initial: Time::from_secs(1),
        probe_after: 0,
        rto_granularity: Time::from_us(1),
        timestamps: false,
        timestamp_clock: Time::from_us(1),
        frto: false,
        eifel: false,
        ecn: Ecn::Off,
        cwr_on_retransmit: true,
        ect_on_retransmit: true,
        latched_echo: false,
        growth: Growth::PerAck,
        slow_start: SlowStart::Standard,
        idle: Idle::Keep,
        cwnd_validation: false,
        // ns-2 has none. RFC 9293 section 3.7.4 says SHOULD, and that applications must be able to switch it off. Our choice for rfc: off, because
        // without Minshall's variant it holds the end of most messages for a delayed ACK.
        nagle: false,
        tsq: false,
        tso: None,
        byte_queue_limits: false,
        gro: None,
        metrics: Metrics::Off,
        txrehash: false,
        plb: None,
        handshake: true,
        fin: true,
        send_jitter: Time::ZERO,
        host_phase: Time::ZERO,
        host_jitter: Time::ZERO,
        host_clock: 0,
        isn: None,
    };
    match profile {
        Profile::Linux => Stack {
            profile: Profile::Linux,
            flavor: Flavor::Linux,
            host: HostProfile::Bare,
            mss: 1448,
            header: 52,
            ack_size: 52,
            init_cwnd: 10,
            // Half of the 6 MiB that tcp_rmem[2] allows; the rest is the kernel's overhead (tcp_win_from_space). Our choice: the initial estimate of
            // one half. The kernel replaces it by the measured ratio of payload to buffer, as with `rcv-buf-max`.
            rcv_wnd: 3 << 20,
            // tcp_wmem[2] on a host with memory enough (tcp_init).
            wmem_max: Some(4 << 20),
            rcv_autotune: true,
            quickack: true,
            ack_every: 2,
            ack_delay: Time::from_ms(40),
            quickack_count: 16,
            recovery: Recovery::Rack,
            ssthresh_from: SsthreshFrom::Cwnd,
            prr: true,
            timestamps: true,
            cwr_on_retransmit: false,
            ect_on_retransmit: false,
            rto_rule: RtoRule::Linux,
            rto_max: Time::from_secs(120),
            rto_granularity: Time::from_ms(1),
            // TCP_TS_HZ is 1000, whatever HZ is.
            timestamp_clock: Time::from_ms(1),
            frto: true,
            eifel: true,
            growth: Growth::PerSegment { limit: u32::MAX },
            idle: Idle::Halve,
            cwnd_validation: true,
            nagle: true,
            tsq: true,
            ..ns2
        },
        Profile::Rfc => Stack {
            profile: Profile::Rfc,
            host: HostProfile::Bare,
            init_cwnd: 10,
            ack_every: 2,
            ack_delay: Time::from_ms(100),
            recovery: Recovery::Sack,
            ssthresh_from: SsthreshFrom::Flight,
            cwr_on_retransmit: false,
            ect_on_retransmit: false,
            rto_min: Time::from_secs(1),
            growth: Growth::PerSegment { limit: 1 },
            idle: Idle::Restart,
            ..ns2
        },
        Profile::Ns2 => ns2,
    }
}
