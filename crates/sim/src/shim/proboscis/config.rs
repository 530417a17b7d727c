//! Parameters of ProBoSCIS (section 2.1 of the specification), and the alternatives to its readings.

use forebay_experiment::registry::{Place, ShimEntry};
use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Stack;
use forebay_types::Time;
use forebay_types::param::{Entry, Kind, Values, choices, optional};

/// An entry without packets for this time is removed (ProBoSCIS 2.2).
pub(super) const FORGET: Time = Time::from_secs(60);

/// Shortest period of a host's timer: a tick of 1 us over the longest wait of a SYN, `max-time`, is a million ticks.
const LEAST_TICK: Time = Time::from_us(1);

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
    pub(super) fn has_sender(self, answers: bool) -> bool {
        self == Ends::Both || (self == Ends::Acceptor) == answers
    }

    /// Returns true if the receiving end of a direction has the shim.
    pub(super) fn has_receiver(self, answers: bool) -> bool {
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

/// A configuration with values from the transport above it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Parameters.
    pub c: Config,
    /// Payload of a full segment, bytes: the MSS options of SYN and SYN-ACK, which simulated packets do not carry.
    pub mss: u32,
    /// Bytes of a probe on the wire.
    pub probe_size: u16,
    /// Least window, bytes.
    pub least: u64,
    /// Pause of a connection after which its next data is probed.
    pub restart_after: Time,
}

impl Rules {
    /// The rules with these parameters under this transport.
    pub fn new(c: &Config, stack: &Stack) -> Rules {
        // Where not every packet is acknowledged a single segment waits for the receiver's timer: 40 ms in Linux, measured on a running kernel
        // (`shim-proboscis-floor`, docs/how-to/deploy-on-hosts.md).
        let floor = c.floor.unwrap_or(if stack.ack_every > 1 { 2 } else { 1 });
        let probe_size = c.probe_size.unwrap_or(stack.ack_size as u16);
        // The guest's RTO is not visible below it; it is never below the least one.
        let restart_after = c.restart_after.unwrap_or(stack.rto_min);
        Rules { c: c.clone(), mss: stack.mss, probe_size, least: u64::from(floor) * u64::from(stack.mss), restart_after }
    }
}

// Values of the parameters.
const HOLD_ON: &[(&str, HoldOn)] = &[("insufficient", HoldOn::Insufficient), ("any", HoldOn::Any)];
const RELEASE: &[(&str, Release)] = &[("newest", Release::Newest), ("original", Release::Original)];
const ECN_MODE: &[(&str, EcnMode)] = &[("shim", EcnMode::Shim), ("guest", EcnMode::Guest)];
const ENDS: &[(&str, Ends)] = &[("both", Ends::Both), ("opener", Ends::Opener), ("acceptor", Ends::Acceptor)];

pub(crate) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "proboscis",
        summary: "probes ahead of the SYN set the first window, ACK windows follow DCTCP: below any TCP, which is unchanged (ProBoSCIS)",
        params: &[
            optional("gamma", Kind::Int(1, 64), "10", "probes in the train ahead of a SYN"),
            optional("k", Kind::Float(0.0, 1.0), "0.5", "share of a train that must arrive (4, item 5)"),
            optional("kappa1", Kind::Float(0.0, 1.0), "0", "smallest alpha at which ACK windows are cut"),
            optional(
                "kappa2",
                Kind::Float(0.0, 1.0),
                "0.9",
                "largest share of marked probes that still gives a window in proportion; above: one segment (4, item 4)",
            ),
            optional("icwnd", Kind::Int(1, 1000), "10", "window in the SYN-ACK when no probe was marked, segments"),
            optional("g", Kind::Float(0.0001, 1.0), "0.0625", "gain of alpha, the marked share of acknowledged bytes (RFC 8257)"),
            optional("alpha-init", Kind::Float(0.0, 1.0), "1", "alpha at the start (RFC 8257 section 4.2)"),
            optional("tick", Kind::Time, "1ms", "period of each host's timer, 1us or longer; the phase is drawn per host"),
            optional(
                "beta1",
                Kind::Time,
                "4ms",
                "probes are repeated when the last train is this old and no SYN-ACK has arrived",
            ),
            optional("beta2", Kind::Time, "16ms", "the shim repeats the SYN when its last copy is this old (4, item 6)"),
            optional("beta3", Kind::Time, "8ms", "longest time a SYN-ACK is held"),
            optional("max-time", Kind::Time, "1s", "the shim gives up this long after the first SYN"),
            optional("probe-retry-cap", Kind::Int(1, 255), "4", "largest repeated train, in first trains (4, item 8)"),
            optional(
                "probe-budget",
                Kind::Float(0.000_001, 1.0),
                "0.01",
                "share of the host's link that repeated probes may take; first trains are exempt",
            ),
            optional("probe-burst", Kind::Int(1, 1_000_000), "100", "repeated probes of a host that may leave at once"),
            optional(
                "elephant-bytes",
                Kind::Bytes,
                "",
                "flows with more bytes acknowledged leave the flow table: no window, and data not ECN-capable; default: none does (4, item 17; 100KB in the testbed)",
            ),
            optional("probe-size", Kind::Bytes, "", "a probe on the wire; default: as the stack's packets without payload"),
            optional(
                "hold-on",
                Kind::Choice(&choices::<2, _>(HOLD_ON)),
                "insufficient",
                "SYN-ACKs that wait for another train: those whose train lost too many probes, or also severely marked ones (4, item 9)",
            ),
            optional(
                "release-window",
                Kind::Choice(&choices::<2, _>(RELEASE)),
                "newest",
                "window of a SYN-ACK that was held: after the newest train (one segment when beta3 is over), or the guest's own (4, item 12)",
            ),
            optional("lost-as-marked", Kind::Bool, "false", "lost probes also count as marked ones (4, item 14)"),
            optional(
                "no-shrink",
                Kind::Bool,
                "false",
                "a cut never moves the right edge of the window to the left; ACKs absorb it",
            ),
            optional(
                "ecn-mode",
                Kind::Choice(&choices::<2, _>(ECN_MODE)),
                "shim",
                "provider of ECN on data: the shims, hidden from the guests, or the guests themselves (2.4)",
            ),
            optional(
                "peer-has-shim",
                Kind::Bool,
                "true",
                "a SYN-ACK without probes is held as if all were lost; false: it passes unchanged 1 ms after the SYN (3.4)",
            ),
            optional(
                "floor",
                Kind::Int(1, 64),
                "",
                "least window, segments; default: 1 where each packet is acknowledged (`ack-every = 1`), 2 elsewhere, because one waits for the \
                 delayed ACK",
            ),
            optional(
                "recent",
                Kind::Time,
                "0s",
                "for this time after a train, connections to the same peer send none and get its window; 0: every SYN has its train",
            ),
            optional(
                "restart-after",
                Kind::Time,
                "",
                "pause without data after which the next data of a persistent connection has a train ahead of it; default: the transport's `rto-min` \
                 (\"restarting afresh\"; idle for more than an RTO)",
            ),
            optional("ends", Kind::Choice(&choices::<3, _>(ENDS)), "both", "ends with a shim: for partial deployment"),
            optional(
                "answers",
                Kind::Bool,
                "true",
                "on connections with `two-way = true`, data of the end that accepts is protected, too: a train goes ahead of its SYN-ACK, and the opener's \
                 packets have the window until one acknowledges data (4, item 24)",
            ),
        ],
    },
    place: Place::Endpoint,
    needs_handshake: true,
    wants_marks: true,
    duplicates_only: &[],
    build,
};

fn build(v: &Values) -> Result<Config, BuildError> {
    let time = |key: &'static str| match v.time(key) {
        Time::ZERO => Err(BuildError::new(key, "must be above zero")),
        t => Ok(t),
    };
    let tick = v.time("tick");
    if tick < LEAST_TICK {
        let text = format!("`tick` is {tick}; legal: {LEAST_TICK} or longer, because a host that waits is woken every period");
        return Err(BuildError::new("tick", text));
    }
    let c = Config {
        gamma: v.int("gamma") as u32,
        k: v.float("k"),
        kappa1: v.float("kappa1"),
        kappa2: v.float("kappa2"),
        icwnd: v.int("icwnd") as u32,
        g: v.float("g"),
        alpha_init: v.float("alpha-init"),
        tick,
        beta1: time("beta1")?,
        beta2: time("beta2")?,
        beta3: v.time("beta3"),
        max_time: v.time("max-time"),
        probe_retry_cap: v.int("probe-retry-cap") as u32,
        probe_budget: v.float("probe-budget"),
        probe_burst: v.int("probe-burst") as u32,
        elephant_bytes: v.opt_bytes("elephant-bytes").map(|b| b.0),
        probe_size: v.opt_bytes("probe-size").map(|b| probe_size(b.0)).transpose()?,
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
    };
    if c.gamma * c.probe_retry_cap > 255 {
        return Err(BuildError::new(
            "probe-retry-cap",
            "legal: `gamma` times `probe-retry-cap` up to 255, the size a probe can name",
        ));
    }
    if c.gamma > c.probe_burst {
        return Err(BuildError::new("probe-burst", "legal: at least `gamma`, or no train could ever be repeated"));
    }
    Ok(c)
}

fn probe_size(bytes: u64) -> Result<u16, BuildError> {
    // IPv4 and TCP headers without options, to the largest packet.
    u16::try_from(bytes).ok().filter(|&b| b >= 40).ok_or_else(|| BuildError::new("probe-size", "legal: 40 B to 65535 B"))
}

#[cfg(test)]
impl Default for Config {
    /// The defaults of the registry.
    fn default() -> Config {
        build(&defaults()).unwrap()
    }
}

#[cfg(test)]
pub(super) fn defaults() -> Values {
    use forebay_types::param::Value;
    let values = ENTRY.entry.params.iter().map(|p| {
        let text = p.default.unwrap();
        let value = match p.kind {
            _ if text.is_empty() => Value::Unset,
            Kind::Int(..) => Value::Int(text.parse().unwrap()),
            Kind::Float(..) => Value::Float(text.parse().unwrap()),
            Kind::Time => Value::Time(text.parse().unwrap()),
            Kind::Bool => Value::Bool(text == "true"),
            _ => Value::Text(text.to_owned()),
        };
        (p.key, value)
    });
    Values(values.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::param::Value;

    fn with(key: &str, value: Value) -> Result<Config, BuildError> {
        let mut v = defaults();
        v.0.iter_mut().find(|p| p.0 == key).unwrap().1 = value;
        build(&v)
    }

    #[test]
    fn invalid_combinations_are_refused() {
        assert!(with("gamma", Value::Int(64)).is_err(), "64 * 4 probes");
        assert!(with("gamma", Value::Int(63)).is_ok());
        assert!(with("probe-burst", Value::Int(9)).is_err());
        assert!(with("tick", Value::Time(Time::ZERO)).is_err());
        assert!(with("probe-size", Value::Bytes(forebay_types::Bytes(39))).is_err());
        assert_eq!(with("probe-size", Value::Bytes(forebay_types::Bytes(64))).unwrap().probe_size, Some(64));
    }
}
