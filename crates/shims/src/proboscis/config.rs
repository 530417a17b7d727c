//! Parameters (section 2.1 of the specification), and the alternatives to its readings.

use forebay_types::Time;
use forebay_types::param::Values;

/// SYN-ACKs that wait for a better train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldOn {
    /// SYN-ACKs whose train lost too many probes.
    Insufficient,
    /// Also those whose train was marked severely.
    Any,
}

/// Window of a held SYN-ACK when it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The window after the newest train; one segment when its time is over.
    Newest,
    /// The window that the guest wrote.
    Original,
}

/// Provider of ECN on data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMode {
    /// The shims: guests are not involved.
    Shim,
    /// The guests, if they negotiate it: the sending shim only reads the echo.
    Guest,
}

/// Ends with a shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Both.
    Both,
    /// The end that opens connections.
    Opener,
    /// The end that accepts connections.
    Acceptor,
}

impl Ends {
    /// Returns true if the sending end of a direction has the shim; `answers`: its data is that of the accepting host.
    pub fn has_sender(self, answers: bool) -> bool {
        self == Ends::Both || (self == Ends::Acceptor) == answers
    }

    /// Returns true if the receiving end of a direction has the shim.
    pub fn has_receiver(self, answers: bool) -> bool {
        self.has_sender(!answers)
    }
}

/// Parameters, from the registry entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Probes in a first train.
    pub gamma: u32,
    /// Share of a train that must arrive.
    pub k: f64,
    /// Smallest alpha at which ACKs are throttled.
    pub kappa1: f64,
    /// Largest marked share that still gives a proportional window.
    pub kappa2: f64,
    /// Window of an uncongested path, segments.
    pub icwnd: u32,
    /// DCTCP's gain.
    pub g: f64,
    /// First alpha.
    pub alpha_init: f64,
    /// Period of the timer.
    pub tick: Time,
    /// Probe timeout.
    pub beta1: Time,
    /// SYN timeout of the shim.
    pub beta2: Time,
    /// Longest time a SYN-ACK is held.
    pub beta3: Time,
    /// The shim gives up a SYN after this time.
    pub max_time: Time,
    /// Largest train in first trains.
    pub probe_retry_cap: u32,
    /// Share of the host's link that repeated probes may take.
    pub probe_budget: f64,
    /// Repeated probes that may leave at once.
    pub probe_burst: u32,
    /// Flows beyond this size leave the flow table; `None`: none does.
    pub elephant_bytes: Option<u64>,
    /// Bytes of a probe on the wire; `None`: as the stack's packets without payload.
    pub probe_size: Option<u16>,
    /// SYN-ACKs that are held.
    pub hold_on: HoldOn,
    /// Window with which they leave.
    pub release: Release,
    /// Lost probes count as marked ones.
    pub lost_as_marked: bool,
    /// The right edge of a window never moves left.
    pub no_shrink: bool,
    /// Provider of ECN.
    pub ecn_mode: EcnMode,
    /// A SYN-ACK without probes counts as one whose probes were all lost.
    pub peer_has_shim: bool,
    /// Ends that have the shim.
    pub ends: Ends,
    /// Data of the accepting end is protected, too.
    pub answers: bool,
    /// Least window, segments; `None`: as the receiver acknowledges.
    pub floor: Option<u32>,
    /// Time for which the result of a train holds for other connections to the same peer.
    pub recent: Time,
    /// Pause after which a connection restarts; `None`: the transport's least RTO.
    pub restart_after: Option<Time>,
}

/// Values of `hold-on`.
pub const HOLD_ON: &[(&str, HoldOn)] = &[("insufficient", HoldOn::Insufficient), ("any", HoldOn::Any)];
/// Values of `release-window`.
pub const RELEASE: &[(&str, Release)] = &[("newest", Release::Newest), ("original", Release::Original)];
/// Values of `ecn-mode`.
pub const ECN_MODE: &[(&str, EcnMode)] = &[("shim", EcnMode::Shim), ("guest", EcnMode::Guest)];
/// Values of `ends`.
pub const ENDS: &[(&str, Ends)] = &[("both", Ends::Both), ("opener", Ends::Opener), ("acceptor", Ends::Acceptor)];

impl Config {
    /// The parameters in `v`, which has the keys of the shim in the registry.
    pub fn read(v: &Values) -> Config {
        Config {
            gamma: v.int("gamma") as u32,
            k: v.float("k"),
            kappa1: v.float("kappa1"),
            kappa2: v.float("kappa2"),
            icwnd: v.int("icwnd") as u32,
            g: v.float("g"),
            alpha_init: v.float("alpha-init"),
            tick: v.time("tick"),
            beta1: v.time("beta1"),
            beta2: v.time("beta2"),
            beta3: v.time("beta3"),
            max_time: v.time("max-time"),
            probe_retry_cap: v.int("probe-retry-cap") as u32,
            probe_budget: v.float("probe-budget"),
            probe_burst: v.int("probe-burst") as u32,
            elephant_bytes: v.opt_bytes("elephant-bytes").map(|b| b.0),
            probe_size: v.opt_bytes("probe-size").map(|b| b.0.min(u64::from(u16::MAX)) as u16),
            hold_on: v.choice("hold-on", HOLD_ON),
            release: v.choice("release-window", RELEASE),
            lost_as_marked: v.bool("lost-as-marked"),
            no_shrink: v.bool("no-shrink"),
            ecn_mode: v.choice("ecn-mode", ECN_MODE),
            peer_has_shim: v.bool("peer-has-shim"),
            ends: v.choice("ends", ENDS),
            answers: v.bool("answers"),
            floor: v.opt_int("floor").map(|n| n as u32),
            recent: v.time("recent"),
            restart_after: v.opt_time("restart-after"),
        }
    }
}
