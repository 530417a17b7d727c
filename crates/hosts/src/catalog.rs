//! The programs of this build: name, kind, parameters with their legal ranges, and the compiled object.

use crate::Error;
use forebay_types::param::nearest;

/// Bytes with the alignment of an ELF file.
#[repr(C, align(16))]
struct Aligned<T: ?Sized>(T);

/// Name and object of every program in `crates/kernel/bpf`, made by build.rs.
static OBJECTS: &[(&str, &Aligned<[u8]>)] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Kind of a program: its hook in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A congestion control: sockets use it.
    CongestionControl,
    /// On the packets of an interface.
    Shim,
}

/// A number that changes what a program does, also while it runs.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Name for `--param` and `tune`, and of the field of `struct params` in the program.
    pub name: &'static str,
    /// The least legal value.
    pub min: u64,
    /// The greatest legal value.
    pub max: u64,
    /// Default value.
    pub default: u64,
    /// Meaning and unit.
    pub doc: &'static str,
}

/// A program.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Name for `forebay attach`.
    pub name: &'static str,
    /// Its hook in the kernel.
    pub kind: Kind,
    /// Summary in one line.
    pub summary: &'static str,
    /// Its connections negotiate ECN.
    pub needs_ecn: bool,
    /// Tunable parameters.
    pub params: &'static [Param],
    /// The sides of an interface at which it has a program, of shims and of congestion controls that mark packets: true for egress.
    pub sides: &'static [bool],
    /// Applications announce messages to it, by a socket option that a cgroup program handles.
    pub messages: bool,
}

const SHIFT_G: Param =
    Param { name: "shift_g", min: 0, max: 10, default: 4, doc: "the newest marked fraction weighs 2^-shift_g in alpha" };
const ALPHA_ON_INIT: Param = Param { name: "alpha_on_init", min: 0, max: 1024, default: 1024, doc: "first alpha, in 1/1024" };
const MIN_CWND: Param =
    Param { name: "min_cwnd", min: 1, max: 1000, default: 2, doc: "least window after a reduction, in segments" };

/// The programs that `forebay attach` can load.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "dctcp",
        kind: Kind::CongestionControl,
        summary: "reduces the window in proportion to the fraction of marked packets (RFC 8257)",
        needs_ecn: true,
        params: &[SHIFT_G, ALPHA_ON_INIT, MIN_CWND],
        sides: &[],
        messages: false,
    },
    Program {
        name: "l2dct",
        kind: Kind::CongestionControl,
        summary: "DCTCP that lets connections that have sent little grow faster and give way less (Munir et al., 2013)",
        needs_ecn: true,
        params: &[
            SHIFT_G,
            ALPHA_ON_INIT,
            MIN_CWND,
            Param {
                name: "w_max",
                min: 1,
                max: 100_000,
                default: 2500,
                doc: "weight of a connection that has sent little, in 1/1000",
            },
            Param { name: "w_min", min: 1, max: 100_000, default: 125, doc: "weight of one that has sent much, in 1/1000" },
            Param { name: "light", min: 0, max: 4_000_000_000, default: 200_000, doc: "little is up to so many bytes" },
            Param { name: "heavy", min: 1, max: 4_000_000_000, default: 1_000_000, doc: "much is from so many bytes on" },
        ],
        sides: &[],
        messages: false,
    },
    Program {
        name: "trim",
        kind: Kind::CongestionControl,
        summary: "TCP-TRIM: keeps the RTT near K, and probes before it uses an old window again; random waits in `testbed` only",
        needs_ecn: false,
        params: &[
            Param {
                name: "packet_ps",
                min: 0,
                max: 1_000_000_000_000,
                default: 0,
                doc: "time of a full packet at the bottleneck in ps (12304000 at 1 Gbit/s), for K by Eq. 26; 0: unknown, only k cuts",
            },
            Param { name: "k", min: 0, max: 67_000_000, default: 0, doc: "K in us; 0: by Eq. 26" },
            Param { name: "guard", min: 0, max: 67_000_000, default: 0, doc: "K is at least so many us above the shortest RTT" },
            MIN_CWND,
            Param {
                name: "buffer",
                min: 0,
                max: 67_000_000,
                default: 0,
                doc: "time that the full buffer of the bottleneck takes to drain, in us; 0: without limit",
            },
        ],
        sides: &[],
        messages: false,
    },
    Program {
        name: "rns",
        kind: Kind::CongestionControl,
        summary: "Reno whose window also grows while the application is the limit, as in ns-2",
        needs_ecn: false,
        params: &[],
        sides: &[],
        messages: false,
    },
    Program {
        name: "pias",
        kind: Kind::Shim,
        summary: "tags packets with a class (DSCP) that sinks as a message sends more (Bai et al., 2015)",
        needs_ecn: false,
        params: &[
            Param { name: "threshold1", min: 0, max: 1 << 30, default: 100_000, doc: "the second class begins at so many bytes" },
            Param {
                name: "threshold2",
                min: 0,
                max: 1 << 30,
                default: 1_000_000,
                doc: "the third class begins at so many bytes",
            },
            Param {
                name: "threshold3",
                min: 0,
                max: 1 << 30,
                default: 10_000_000,
                doc: "the fourth class begins at so many bytes",
            },
            Param { name: "dscp0", min: 0, max: 63, default: 32, doc: "DSCP of the first class" },
            Param { name: "dscp1", min: 0, max: 63, default: 24, doc: "DSCP of the second class" },
            Param { name: "dscp2", min: 0, max: 63, default: 16, doc: "DSCP of the third class" },
            Param { name: "dscp3", min: 0, max: 63, default: 8, doc: "DSCP of the fourth class" },
            Param {
                name: "silence",
                min: 0,
                max: 1_000_000_000,
                default: 10_000,
                doc: "a silence of so many us ends a message; 0: never",
            },
        ],
        sides: &[true],
        messages: false,
    },
    Program {
        name: "proboscis",
        kind: Kind::Shim,
        summary: "ProBoSCIS: probes ahead of the SYN set its first window, DCTCP below any guest the others; both ends need it",
        needs_ecn: false,
        params: &[
            Param { name: "probes", min: 0, max: 32, default: 8, doc: "probes ahead of a SYN" },
            Param { name: "initial", min: 1, max: 40, default: 10, doc: "first window in segments if no probe was marked" },
            Param {
                name: "floor",
                min: 1,
                max: 10,
                default: 2,
                doc: "least window in segments; where it is cut to 1 the receiver's delayed ACK costs 40 ms",
            },
            Param { name: "mss", min: 536, max: 8960, default: 1448, doc: "bytes of a full segment" },
            Param { name: "shift_g", min: 0, max: 10, default: 4, doc: "the newest marked fraction weighs 2^-shift_g in alpha" },
            Param {
                name: "sufficient",
                min: 1,
                max: 100,
                default: 50,
                doc: "with `forebay attach --daemon`: a SYN-ACK waits until so many percent of its train of probes are there",
            },
            Param {
                name: "everywhere",
                min: 0,
                max: 1,
                default: 0,
                doc: "1: every peer has the shim, so that a SYN without any probe has lost them all and its SYN-ACK waits, too",
            },
            Param {
                name: "recent",
                min: 0,
                max: 10_000,
                default: 0,
                doc: "with `forebay attach --daemon` at both ends: for so many ms after a train, connections to the same peer send none and \
                      get its window, if answers=0; 0: every SYN has its train",
            },
            Param {
                name: "elephant",
                min: 0,
                max: 1 << 30,
                default: 0,
                doc: "connections with more bytes acknowledged are left alone; 0: none is",
            },
            Param {
                name: "lost_as_marked",
                min: 0,
                max: 1,
                default: 0,
                doc: "1: lost probes count as marked ones; 0: they only say whether the train is sufficient",
            },
            Param {
                name: "severe",
                min: 0,
                max: 100,
                default: 90,
                doc: "a larger share of marked probes, in percent, allows no more than the least window",
            },
            Param {
                name: "port",
                min: 0,
                max: 65_535,
                default: 0,
                doc: "only connections to this port of the end that accepts them; 0: to any",
            },
            Param {
                name: "restart",
                min: 0,
                max: 60_000,
                default: 200,
                doc: "data after a pause of so many ms has a train ahead of it, as a SYN has: the least RTO; 0: never",
            },
            Param {
                name: "answers",
                min: 0,
                max: 1,
                default: 1,
                doc: "1: data of the end that accepts a connection is protected, too: a train goes ahead of its SYN-ACK; 0: only that of the opener",
            },
        ],
        sides: &[true, false],
        messages: false,
    },
    Program {
        name: "d2tcp",
        kind: Kind::CongestionControl,
        summary: "DCTCP that cuts less the nearer the deadline of a message is (Vamanan et al., 2012)",
        needs_ecn: true,
        params: &[
            SHIFT_G,
            ALPHA_ON_INIT,
            MIN_CWND,
            Param {
                name: "d_min",
                min: 1,
                max: 1000,
                default: 500,
                doc: "least exponent of alpha, with a deadline far away, in 1/1000",
            },
            Param { name: "d_max", min: 1000, max: 100_000, default: 2000, doc: "greatest exponent, with a near one, in 1/1000" },
            Param { name: "missed", min: 1, max: 100_000, default: 2000, doc: "the exponent after the deadline, in 1/1000" },
        ],
        sides: &[],
        messages: true,
    },
    Program {
        name: "prin",
        kind: Kind::CongestionControl,
        summary: "PRIN: halves the window before each block of the application and marks the last segments of blocks (DSCP)",
        needs_ecn: false,
        params: &[
            Param {
                name: "halve",
                min: 0,
                max: 1,
                default: 1,
                doc: "1: the window is halved before a block; 0: only tails are marked",
            },
            Param {
                name: "floor",
                min: 1,
                max: 1000,
                default: 2,
                doc: "least window after halving, in segments; with 1 a delayed ACK costs 40 ms",
            },
            Param { name: "cap", min: 0, max: 1, default: 0, doc: "1: the slow start threshold follows the halved window" },
            Param { name: "tail", min: 0, max: 100, default: 3, doc: "segments at the end of a block that are marked" },
            Param { name: "dscp", min: 0, max: 63, default: 46, doc: "DSCP of those" },
        ],
        sides: &[true],
        messages: true,
    },
];

/// Congestion controls of the simulator that cannot be programs, with the reason.
const UNAVAILABLE: &[(&str, &str)] = &[(
    "prague",
    "it needs Accurate ECN (RFC 9768) and ECT(1) in the TCP of the kernel, which a BPF congestion control cannot add. Kernels of L4STeam have it built in (tcp_prague)",
)];

impl Program {
    /// The program of that name.
    pub fn named(name: &str) -> Result<&'static Program, Error> {
        PROGRAMS.iter().find(|p| p.name == name).ok_or_else(|| {
            if let Some((_, reason)) = UNAVAILABLE.iter().find(|u| u.0 == name) {
                let fix = "run it in the simulator: `forebay run`";
                return Error::new(format!("`{name}` cannot be attached: {reason}")).fix(fix);
            }
            let names: Vec<&str> = PROGRAMS.iter().map(|p| p.name).collect();
            let guess = nearest(name, names.iter().copied()).map_or(String::new(), |g| format!("; did you mean `{g}`?"));
            Error::new(format!("no program is called `{name}`{guess}")).fix(format!("available: {}", names.join(", ")))
        })
    }

    /// The compiled object.
    pub(crate) fn object(&self) -> Result<&'static [u8], Error> {
        OBJECTS.iter().find(|(name, _)| *name == self.name).map(|(_, bytes)| &bytes.0).ok_or_else(|| {
            Error::new(format!("this build lacks the object of `{}`", self.name)).fix("build it again with the feature `bpf`")
        })
    }

    /// The parameter of that name, and the value if it is legal.
    pub(crate) fn param(&self, name: &str, value: &str) -> Result<(&'static Param, u64), Error> {
        let Some(param) = self.params.iter().find(|p| p.name == name) else {
            let names: Vec<&str> = self.params.iter().map(|p| p.name).collect();
            let guess = nearest(name, names.iter().copied()).map_or(String::new(), |g| format!("; did you mean `{g}`?"));
            let fix = if names.is_empty() { "it has none".into() } else { format!("it has: {}", names.join(", ")) };
            return Err(Error::new(format!("`{}` has no parameter `{name}`{guess}", self.name)).fix(fix));
        };
        match value.parse::<u64>() {
            Ok(v) if (param.min..=param.max).contains(&v) => Ok((param, v)),
            _ => Err(Error::new(format!("`{value}` is not a legal value of {name}"))
                .fix(format!("give a whole number from {} to {} ({})", param.min, param.max, param.doc))),
        }
    }
}

/// A parameter as it is written on the command line, `name=value`.
pub fn assignment(text: &str) -> Result<(&str, &str), Error> {
    text.split_once('=')
        .map(|(k, v)| (k.trim(), v.trim()))
        .ok_or_else(|| Error::new(format!("`{text}` sets nothing")).fix("write it as name=value, such as shift_g=4"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_reason() {
        let error = Program::named("prague").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("`prague` cannot be attached") && error.contains("Accurate ECN"), "{error}");
        assert!(UNAVAILABLE.iter().all(|u| PROGRAMS.iter().all(|p| p.name != u.0)));
    }
}
