//! An address prefix, as in `10.1.0.0/16`.

use crate::Error;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network of addresses; the bits behind its length are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The first address.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// Number of leading bits.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Returns true if the prefix is inside the other one, or both are the same.
    pub fn within(self, other: Prefix) -> bool {
        self.length >= other.length && self.address.is_ipv4() == other.address.is_ipv4() && other.contains(self.address)
    }

    /// The prefixes in order, without those that are inside another one.
    pub(crate) fn union(all: &[Prefix]) -> Vec<Prefix> {
        let mut all = all.to_vec();
        all.sort();
        let mut left: Vec<Prefix> = Vec::new();
        for prefix in all {
            // In this order a wider prefix comes before those inside it.
            if !left.last().is_some_and(|l| prefix.within(*l)) {
                left.push(prefix);
            }
        }
        left
    }

    /// The share of an address family that prefixes without overlaps cover, in words, if it is an eighth or more. No data center has that
    /// many addresses; the global unicast addresses of IPv6 (2000::/3) are exactly an eighth.
    pub(crate) fn widest(apart: &[Prefix]) -> Option<String> {
        let share = |four: bool| -> f64 {
            apart.iter().filter(|p| p.address.is_ipv4() == four).map(|p| 0.5_f64.powi(i32::from(p.length))).sum()
        };
        let (share, family) = [(share(true), "IPv4"), (share(false), "IPv6")].into_iter().find(|(s, _)| *s >= 0.125)?;
        Some(format!("{:.1} % of all {family} addresses", share * 100.0))
    }

    /// Returns true if the address is inside. IPv4 addresses that are written as IPv6 (`::ffff:10.0.0.1`) count as IPv4.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => mask32(u32::from(b), self.length) == u32::from(a),
            (IpAddr::V6(a), IpAddr::V6(b)) => mask128(u128::from(b), self.length) == u128::from(a),
            _ => false,
        }
    }
}

fn mask32(bits: u32, length: u8) -> u32 {
    bits & u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

fn mask128(bits: u128, length: u8) -> u128 {
    bits & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl FromStr for Prefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Prefix, Error> {
        let wrong = |why: &str| {
            Error::new(format!("`{text}` is not an address prefix: {why}")).fix("write it as 10.1.0.0/16, 10.1.2.3 or fd00::/8")
        };
        let (address, length) = match text.split_once('/') {
            Some((a, l)) => (a, Some(l)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong("the part before `/` is not an address"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(l) => match l.parse::<u8>() {
                Ok(l) if l <= most => l,
                _ => return Err(wrong(&format!("the length is a number from 0 to {most}"))),
            },
        };
        let first = match address {
            IpAddr::V4(a) => IpAddr::V4(mask32(u32::from(a), length).into()),
            IpAddr::V6(a) => IpAddr::V6(mask128(u128::from(a), length).into()),
        };
        if first != address {
            return Err(wrong(&format!("bits are set behind its length; you may mean {first}/{length}")));
        }
        Ok(Prefix { address, length })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl serde::Serialize for Prefix {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Prefix {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Prefix, D::Error> {
        String::deserialize(d)?.parse().map_err(|e: Error| serde::de::Error::custom(e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_parse_and_contain_their_addresses() {
        let p: Prefix = "10.1.0.0/16".parse().unwrap();
        assert!(p.contains("10.1.255.255".parse().unwrap()) && !p.contains("10.2.0.0".parse().unwrap()));
        assert!(p.contains("::ffff:10.1.0.1".parse().unwrap()));
        assert!("10.1.2.0/24".parse::<Prefix>().unwrap().within(p) && p.within(p) && !p.within("10.1.2.0/24".parse().unwrap()));
        let all: Prefix = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("255.1.1.1".parse().unwrap()) && !all.contains("fd00::1".parse().unwrap()));
        let one: Prefix = "10.1.2.3".parse().unwrap();
        assert_eq!(one.to_string(), "10.1.2.3/32");
        let six: Prefix = "fd00::/8".parse().unwrap();
        assert!(six.contains("fdff::1".parse().unwrap()) && !six.contains("fe00::1".parse().unwrap()));
    }

    #[test]
    fn overlapping_prefixes_are_joined() {
        let all = |t: &[&str]| t.iter().map(|p| p.parse().unwrap()).collect::<Vec<Prefix>>();
        let text = |p: Vec<Prefix>| p.iter().map(Prefix::to_string).collect::<Vec<_>>();
        assert_eq!(text(Prefix::union(&all(&["10.99.0.0/24", "10.99.0.0/24"]))), ["10.99.0.0/24"]);
        let mixed = all(&["fd00::1", "10.1.2.0/24", "10.0.0.0/8", "fd00::/8", "11.0.0.0/8", "10.0.0.0/16"]);
        assert_eq!(text(Prefix::union(&mixed)), ["10.0.0.0/8", "11.0.0.0/8", "fd00::/8"]);
    }

    #[test]
    fn prefixes_of_the_internet_are_wide() {
        let wide = |t: &[&str]| Prefix::widest(&Prefix::union(&t.iter().map(|p| p.parse().unwrap()).collect::<Vec<Prefix>>()));
        for all in [
            &["0.0.0.0/0"][..],
            &["::/0"],
            &["0.0.0.0/1", "128.0.0.0/1"],
            &["0.0.0.0/1"],
            &["10.0.0.0/8", "::/1"],
            &["2000::/3"],
            &["0.0.0.0/2", "64.0.0.0/3"],
        ] {
            assert!(wide(all).is_some(), "{all:?}");
        }
        for some in [&["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"][..], &["fd00::/8"], &["fc00::/7"], &["224.0.0.0/4"], &[]]
        {
            assert_eq!(wide(some), None, "{some:?}");
        }
        assert_eq!(wide(&["0.0.0.0/1", "128.0.0.0/1"]).unwrap(), "100.0 % of all IPv4 addresses");
    }

    #[test]
    fn prefix_errors_name_the_fault() {
        for (text, why) in
            [("10.1.2.3/16", "10.1.0.0/16"), ("10.0.0.0/33", "0 to 32"), ("x/8", "not an address"), ("fd00::/129", "0 to 128")]
        {
            let said = text.parse::<Prefix>().unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
