//! Load balancing over equal-cost paths: the kinds of the key `balance`.

use forebay_types::Time;
use forebay_types::param::{Entry, Kind, Param, Values, optional};

/// Load balancing over equal-cost paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Balance {
    /// ECMP by a hash of the flow: its packets stay on one path and in order.
    #[default]
    Flow,
    /// Each packet takes a random path (random packet spraying; Dixit et al., INFOCOM 2013).
    Packet,
    /// Each flowlet takes a random port at each switch (LetFlow; Vanini et al., NSDI 2017).
    Flowlet {
        /// Idle time of a flow behind which a flowlet begins.
        gap: Time,
    },
    /// Leaf switches send each flowlet over the spine with the least congestion (CONGA; Alizadeh et al., SIGCOMM 2014).
    Conga {
        /// Idle time of a flow behind which a flowlet begins.
        gap: Time,
    },
}

/// Kind of load balancing in the registry.
#[derive(Debug, Clone, Copy)]
pub struct BalanceEntry {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Builds it from checked parameters.
    pub build: fn(&Values) -> Balance,
}

/// Default of CONGA (section 3.6); its authors found that 300 us to 1 ms perform alike.
const GAP: Param =
    optional("gap", Kind::Time, "500us", "idle time of a flow at a switch behind which its next packet begins a flowlet");

/// All kinds, the default first.
pub const REGISTRY: &[BalanceEntry] = &[
    BalanceEntry {
        entry: Entry { name: "flow", summary: "ECMP by a hash of the connection", params: &[] },
        build: |_| Balance::Flow,
    },
    BalanceEntry {
        entry: Entry { name: "packet", summary: "each packet takes a random shortest path (packet spraying)", params: &[] },
        build: |_| Balance::Packet,
    },
    BalanceEntry {
        entry: Entry { name: "flowlet", summary: "each flowlet takes a random port (LetFlow, NSDI 2017)", params: &[GAP] },
        build: |v| Balance::Flowlet { gap: v.time("gap") },
    },
    BalanceEntry {
        entry: Entry {
            name: "conga",
            summary: "leaf switches send each flowlet over the least congested spine (CONGA, SIGCOMM 2014)",
            params: &[GAP],
        },
        build: |v| Balance::Conga { gap: v.time("gap") },
    },
];

impl Balance {
    /// Returns true if the packets of a connection have one path, which changes with its hash and with failures only.
    pub const fn keeps_path(self) -> bool {
        matches!(self, Balance::Flow)
    }

    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Balance::Flow => "flow",
            Balance::Packet => "packet",
            Balance::Flowlet { .. } => "flowlet",
            Balance::Conga { .. } => "conga",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::param::Value;

    #[test]
    fn entries_build_their_kind() {
        let values = Values(vec![("gap", Value::Time(Time::from_us(7)))]);
        for entry in REGISTRY {
            let built = (entry.build)(&values);
            assert_eq!(built.name(), entry.entry.name);
            assert_eq!(built.keeps_path(), entry.entry.name == "flow");
        }
        assert_eq!((REGISTRY[2].build)(&values), Balance::Flowlet { gap: Time::from_us(7) });
    }
}
