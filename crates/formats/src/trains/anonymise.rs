//! Names of hosts: addresses, or substitutes that do not reveal them.

use crate::trains::host_rules::HostRules;
use crate::trains::sink::Host;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ways to name hosts in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anonymise {
    /// By their addresses.
    Off,
    /// `h0`, `h1`, ... in order of first appearance.
    Order,
    /// By substitute addresses: two addresses with a common prefix have substitutes with a common prefix of the same length. The key is random and
    /// is not kept.
    Prefix,
}

/// Names of hosts in results.
#[derive(Debug, Clone)]
pub struct HostNames {
    anonymise: Anonymise,
    /// Names that come before those of `anonymise`.
    rules: HostRules,
    /// A keyed hash (SipHash) with a random key.
    key: RandomState,
}

impl HostNames {
    /// Names of this kind, with a new key.
    pub fn new(anonymise: Anonymise) -> HostNames {
        HostNames { anonymise, rules: HostRules::default(), key: RandomState::new() }
    }

    /// The same, with these rules for addresses that they name.
    #[must_use]
    pub fn with_rules(self, rules: HostRules) -> HostNames {
        HostNames { rules, ..self }
    }

    /// True with rules for addresses.
    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Name in a scenario of the host with this address: that of a rule, else `h` and its number, which is `other` and its number beside rules.
    pub fn in_scenario(&self, ip: IpAddr, number: u32) -> String {
        match self.rules.host(ip) {
            Some(name) => name,
            None if self.rules.is_empty() => format!("h{number}"),
            None => format!("other{number}"),
        }
    }

    /// Name of the host with this address, which is number `number` in order of first appearance.
    pub fn address(&self, ip: IpAddr, number: u32) -> String {
        if let Some(name) = self.rules.host(ip) {
            return name;
        }
        match self.anonymise {
            Anonymise::Off => ip.to_string(),
            Anonymise::Order => format!("h{number}"),
            Anonymise::Prefix => self.substitute(ip).to_string(),
        }
    }

    /// Name of a host.
    pub fn host(&self, host: Host) -> String {
        self.address(host.end.ip(), host.number)
    }

    /// Name of a host, and the port.
    pub fn endpoint(&self, host: Host) -> String {
        let name = self.host(host);
        if name.contains(':') { format!("[{name}]:{}", host.end.port()) } else { format!("{name}:{}", host.end.port()) }
    }

    /// True if names reveal no address.
    pub fn is_anonymous(&self) -> bool {
        self.anonymise != Anonymise::Off
    }

    /// Prefix-preserving substitute: each bit is flipped or not by a keyed hash of the bits before it (the construction of Crypto-PAn).
    fn substitute(&self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(v4) => Ipv4Addr::from_bits(self.flip(u128::from(v4.to_bits()), 32) as u32).into(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(self.flip(v6.to_bits(), 128)).into(),
        }
    }

    fn flip(&self, address: u128, bits: u32) -> u128 {
        (0..bits).fold(address, |out, bit| {
            let prefix = if bit == 0 { 0 } else { address >> (bits - bit) };
            let flip = self.key.hash_one((bits, bit, prefix)) & 1;
            out ^ u128::from(flip) << (bits - 1 - bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trains::packet::Endpoint;

    fn host(ip: &str, number: u32) -> Host {
        Host { end: Endpoint::from((ip.parse::<IpAddr>().unwrap(), 80)), number }
    }

    #[test]
    fn names_by_order_and_address() {
        let names = HostNames::new(Anonymise::Order);
        assert_eq!(names.endpoint(host("10.1.2.3", 7)), "h7:80");
        let names = HostNames::new(Anonymise::Off);
        assert_eq!(names.endpoint(host("10.1.2.3", 7)), "10.1.2.3:80");
        assert_eq!(names.endpoint(host("2001:db8::1", 7)), "[2001:db8::1]:80");
        assert!(!names.is_anonymous());
    }

    #[test]
    fn prefixes_are_preserved() {
        let names = HostNames::new(Anonymise::Prefix);
        let bits = |ip: &str| names.host(host(ip, 0)).parse::<Ipv4Addr>().unwrap().to_bits();
        let all = ["10.1.2.3", "10.1.2.4", "10.1.3.4", "192.168.0.1"];
        for a in all {
            for b in all {
                let plain = a.parse::<Ipv4Addr>().unwrap().to_bits() ^ b.parse::<Ipv4Addr>().unwrap().to_bits();
                assert_eq!((bits(a) ^ bits(b)).leading_zeros(), plain.leading_zeros(), "{a} {b}");
            }
        }
    }
}
