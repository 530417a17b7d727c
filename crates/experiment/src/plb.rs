//! Protective load balancing (PLB, Qureshi et al., SIGCOMM 2022): a sender whose round trips stay congested changes the hash by which switches choose
//! its path, as Linux does (`tcp_plb.c`).

use forebay_types::Time;
use forebay_types::param::{Kind, Param, Values};

/// Fraction of a round trip's segments that is 1 (Linux `TCP_PLB_SCALE`).
pub const WHOLE_ROUND: u16 = 256;

/// Settings, as the sysctls `net.ipv4.tcp_plb_*` of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plb {
    /// Consecutive congested round trips after which a sender with nothing outstanding changes its path; 0: it does not.
    pub idle_rehash_rounds: u8,
    /// Consecutive congested round trips after which a sender changes its path.
    pub rehash_rounds: u8,
    /// Time without changes of path after a retransmission timeout, in seconds; a random time of up to the same length follows.
    pub suspend_rto_sec: u8,
    /// Marked segments of a congested round trip, at least, of [`WHOLE_ROUND`].
    pub cong_thresh: u16,
}

impl Plb {
    /// Values of `tcp_sk_init` of Linux 6.12.
    pub const DEFAULT: Plb = Plb { idle_rehash_rounds: 3, rehash_rounds: 12, suspend_rto_sec: 60, cong_thresh: WHOLE_ROUND / 2 };

    /// [`Plb::suspend_rto_sec`] as a time.
    pub fn suspension(&self) -> Time {
        Time::from_secs(self.suspend_rto_sec.into())
    }

    /// Values of the keys [`PARAMS`] but the first.
    pub fn settings(&self) -> [(&'static str, u16); 4] {
        [
            (IDLE_REHASH_ROUNDS, self.idle_rehash_rounds.into()),
            (REHASH_ROUNDS, self.rehash_rounds.into()),
            (SUSPEND_RTO_SEC, self.suspend_rto_sec.into()),
            (CONG_THRESH, self.cong_thresh),
        ]
    }

    /// Settings of a transport with the keys [`PARAMS`]; `None`: PLB is off.
    pub(crate) fn of(values: &Values) -> Option<Plb> {
        let int = |key: &str, default: u16| values.opt_int(key).map_or(default, |v| v as u16);
        let d = Plb::DEFAULT;
        values.opt_bool(ENABLED).unwrap_or(false).then(|| Plb {
            idle_rehash_rounds: int(IDLE_REHASH_ROUNDS, d.idle_rehash_rounds.into()) as u8,
            rehash_rounds: int(REHASH_ROUNDS, d.rehash_rounds.into()) as u8,
            suspend_rto_sec: int(SUSPEND_RTO_SEC, d.suspend_rto_sec.into()) as u8,
            cong_thresh: int(CONG_THRESH, d.cong_thresh),
        })
    }
}

/// Key that switches PLB on.
pub const ENABLED: &str = "tcp-plb-enabled";
const IDLE_REHASH_ROUNDS: &str = "tcp-plb-idle-rehash-rounds";
const REHASH_ROUNDS: &str = "tcp-plb-rehash-rounds";
const SUSPEND_RTO_SEC: &str = "tcp-plb-suspend-rto-sec";
const CONG_THRESH: &str = "tcp-plb-cong-thresh";

/// Keys of `[transport]`, with the legal ranges of the sysctls. All but the first have no effect without it.
pub const PARAMS: [Param; 5] = [
    p(
        ENABLED,
        Kind::Bool,
        "protective load balancing (net.ipv4.tcp_plb_enabled, Linux since 6.2): after consecutive congested round trips a connection draws a new hash, by which switches choose its path. For `stack = \"linux\"` and `cc = \"dctcp\"`. Switches must hash the IPv6 flow label for this. Default: false",
    ),
    p(
        IDLE_REHASH_ROUNDS,
        Kind::Int(0, 31),
        "congested round trips after which a connection with nothing outstanding draws a new hash (net.ipv4.tcp_plb_idle_rehash_rounds); 0: never. Default: 3",
    ),
    p(
        REHASH_ROUNDS,
        Kind::Int(0, 31),
        "congested round trips after which a connection draws a new hash (net.ipv4.tcp_plb_rehash_rounds). Default: 12",
    ),
    p(
        SUSPEND_RTO_SEC,
        Kind::Int(0, 255),
        "seconds after a retransmission timeout without a new hash, to which a random time of up to the same length is added (net.ipv4.tcp_plb_suspend_rto_sec). Default: 60",
    ),
    p(
        CONG_THRESH,
        Kind::Int(0, WHOLE_ROUND as i64),
        "marked segments of a congested round trip, at least, in 1/256 (net.ipv4.tcp_plb_cong_thresh). Default: 128",
    ),
];

const fn p(key: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { key, kind, default: Some(""), doc }
}
