//! The shim in the registry: its keys, and the limits of their values.

use forebay_experiment::registry::{Place, ShimEntry};
use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::Stack;
use forebay_shims::proboscis::{Config, ECN_MODE, ENDS, HOLD_ON, RELEASE, Rules, Tcp};
use forebay_types::Time;
use forebay_types::param::{Entry, Kind, Values, choices, optional};

/// Shortest period of a host's timer: a tick of 1 us over the longest wait of a SYN, `max-time`, is a million ticks.
const LEAST_TICK: Time = Time::from_us(1);

/// The rules with these parameters under a transport with this stack.
pub fn rules(c: &Config, stack: &Stack) -> Rules {
    Rules::new(c, Tcp { mss: stack.mss, ack_size: stack.ack_size, ack_every: stack.ack_every, rto_min: stack.rto_min })
}

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
                 packets have the window until one acknowledges data",
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
    for key in ["beta1", "beta2"] {
        if v.time(key) == Time::ZERO {
            return Err(BuildError::new(key, "must be above zero"));
        }
    }
    let tick = v.time("tick");
    if tick < LEAST_TICK {
        let text = format!("`tick` is {tick}; legal: {LEAST_TICK} or longer, because a host that waits is woken every period");
        return Err(BuildError::new("tick", text));
    }
    v.opt_bytes("probe-size").map_or(Ok(()), |size| check_probe_size(size.0))?;
    let c = Config::read(v);
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

fn check_probe_size(bytes: u64) -> Result<(), BuildError> {
    // IPv4 and TCP headers without options, to the largest packet.
    let legal = (40..=u64::from(u16::MAX)).contains(&bytes);
    if legal { Ok(()) } else { Err(BuildError::new("probe-size", "legal: 40 B to 65535 B")) }
}

/// The defaults of the registry.
#[cfg(test)]
pub(super) fn default_config() -> Config {
    build(&defaults()).unwrap()
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
