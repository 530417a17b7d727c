//! Switches by name, with the size of their shared packet memory.

/// Switch, or the chip in it, by its data sheet or a publication.
#[derive(Debug, Clone, Copy)]
pub struct Switch {
    /// Name in `shared-switch = "..."`.
    pub name: &'static str,
    /// Memory that all ports share, in bytes.
    pub memory: u64,
    /// Factor of the dynamic threshold, if published. Operators can set it; the default is 1.
    pub alpha: Option<f64>,
    /// One line: ports, memory, and the source of these numbers.
    pub about: &'static str,
}

const MB: u64 = 1_000_000;

/// All switches by rising memory.
pub const SWITCHES: &[Switch] = &[
    Switch {
        name: "triumph",
        memory: 4 * MB,
        // Section 4 there: about 700 KB of the 4 MB for one busy port, which is alpha / (1 + alpha).
        alpha: Some(0.21),
        about: "48 x 1 Gbps and 4 x 10 Gbps, 4 MB, ECN (DCTCP, SIGCOMM 2010, table 1 and section 4: one port gets about 700 KB, alpha 0.21)",
    },
    Switch {
        name: "scorpion",
        memory: 4 * MB,
        alpha: None,
        about: "24 x 10 Gbps, 4 MB, ECN (DCTCP, SIGCOMM 2010, table 1; alpha unknown)",
    },
    Switch {
        name: "trident-plus",
        memory: 9 * MB,
        // 5 MB of 9 MB.
        alpha: Some(1.25),
        about: "64 x 10 Gbps, 9 MB (Arista 7050 series data sheet: up to 5 MB for one port, alpha 1.25)",
    },
    Switch {
        name: "trident2",
        memory: 12 * MB,
        // 6.7 MB of 12 MB.
        alpha: Some(1.26),
        about: "32 x 40 Gbps or 96 x 10 and 8 x 40 Gbps, 12 MB (Arista 7050X series data sheet: up to 6.7 MB for one port, alpha 1.26)",
    },
    Switch {
        name: "cat4948",
        memory: 16 * MB,
        alpha: None,
        about: "48 x 1 Gbps and 2 x 10 Gbps, 16 MB, no ECN (DCTCP, SIGCOMM 2010, table 1; alpha unknown)",
    },
    Switch {
        name: "trident3",
        memory: 32 * MB,
        alpha: None,
        about: "48 x 25 Gbps and 8 x 100 Gbps or 32 x 100 Gbps, 32 MB (Arista 7050X3 series data sheet; alpha unknown)",
    },
    Switch {
        name: "tomahawk2",
        memory: 42 * MB,
        alpha: None,
        about: "6.4 Tbps, 42 MB (port-buffers.forwardingplane.net/concepts/broadcom-tomahawk2; alpha unknown)",
    },
    Switch {
        name: "spectrum2",
        memory: 42 * MB,
        alpha: None,
        about: "6.4 Tbps, 42 MB (NVIDIA SN3000; table of Ethernet ASICs, gist.github.com/jopietsch/c1573518516af6071ae9cd0462ff0fd3; alpha unknown)",
    },
    Switch {
        name: "tomahawk3",
        memory: 64 * MB,
        alpha: None,
        about: "12.8 Tbps, 64 MB (table of Ethernet ASICs, gist.github.com/jopietsch/c1573518516af6071ae9cd0462ff0fd3; alpha unknown)",
    },
    Switch {
        name: "spectrum3",
        memory: 64 * MB,
        alpha: None,
        about: "12.8 Tbps, 64 MB (NVIDIA SN4000; table of Ethernet ASICs, gist.github.com/jopietsch/c1573518516af6071ae9cd0462ff0fd3; alpha unknown)",
    },
    Switch {
        name: "jericho2",
        memory: 8_000 * MB,
        alpha: None,
        about: "9.6 Tbps, 8 GB for each chip (people.ucsc.edu/~warner/Bufs/7280R3.html, from Arista's 7280R3 white paper; its queues have limits, for \
                which use `shared-per-port`; alpha unknown)",
    },
];

/// Names of all switches, for the registry.
pub(super) const NAMES: &[&str] = &{
    let mut names = [""; SWITCHES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = SWITCHES[i].name;
        i += 1;
    }
    names
};

/// Switch called `name`.
pub fn switch(name: &str) -> Option<&'static Switch> {
    SWITCHES.iter().find(|s| s.name == name)
}

/// Rate of a network interface, with its marking threshold.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    /// Name in scenarios.
    pub name: &'static str,
    /// DCTCP's marking threshold in full packets.
    pub k: u32,
    /// One line: the standard, and the source of the threshold.
    pub about: &'static str,
}

/// The rates of Ethernet from 1 to 400 Gbps.
///
/// Thresholds were published for 1 and 10 Gbps (DCTCP, section 4; repeated by the kernel's documentation). For other rates we know of none: 65
/// packets are scaled with the rate, since K grows with the bandwidth-delay product in equation 13.
pub const SPEEDS: &[Speed] = &[
    Speed { name: "1Gbps", k: 20, about: "IEEE 802.3z and 802.3ab; K = 20 packets (DCTCP, SIGCOMM 2010)" },
    Speed { name: "10Gbps", k: 65, about: "IEEE 802.3ae; K = 65 packets (DCTCP, SIGCOMM 2010)" },
    Speed { name: "25Gbps", k: 163, about: "IEEE 802.3by; no published K: 163 packets, those of 10 Gbps scaled with the rate" },
    Speed { name: "40Gbps", k: 260, about: "IEEE 802.3ba; no published K: 260 packets, those of 10 Gbps scaled with the rate" },
    Speed { name: "50Gbps", k: 325, about: "IEEE 802.3cd; no published K: 325 packets, those of 10 Gbps scaled with the rate" },
    Speed { name: "100Gbps", k: 650, about: "IEEE 802.3ba; no published K: 650 packets, those of 10 Gbps scaled with the rate" },
    Speed {
        name: "200Gbps",
        k: 1300,
        about: "IEEE 802.3bs; no published K: 1300 packets, those of 10 Gbps scaled with the rate",
    },
    Speed {
        name: "400Gbps",
        k: 2600,
        about: "IEEE 802.3bs; no published K: 2600 packets, those of 10 Gbps scaled with the rate",
    },
];

/// Speed called `name`.
pub fn speed(name: &str) -> Option<&'static Speed> {
    SPEEDS.iter().find(|s| s.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rate;

    /// One busy port gets alpha / (1 + alpha) of the memory (Choudhury and Hahne 1998): the shares that the sources state.
    #[test]
    fn alphas_match_published_shares() {
        for (name, share) in [("triumph", 700e3), ("trident-plus", 5e6), ("trident2", 6.7e6)] {
            let s = switch(name).unwrap();
            let alpha = s.alpha.unwrap();
            let got = alpha / (1.0 + alpha) * s.memory as f64;
            assert!((got / share - 1.0).abs() < 0.01, "{name}: {got}");
        }
        assert!(SWITCHES.is_sorted_by_key(|s| s.memory));
    }

    #[test]
    fn thresholds_scale_with_rate() {
        let gbps = |s: &Speed| s.name.parse::<Rate>().unwrap().0 / 1_000_000_000;
        assert!(SPEEDS.is_sorted_by_key(gbps));
        for s in SPEEDS.iter().filter(|s| gbps(s) > 10) {
            assert_eq!(u64::from(s.k), (65 * gbps(s)).div_ceil(10), "{}", s.name);
        }
        assert_eq!((speed("1Gbps").unwrap().k, speed("10Gbps").unwrap().k), (20, 65));
    }
}
