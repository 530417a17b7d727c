//! Rules that map the addresses of a capture to hosts of a scenario.

use std::net::IpAddr;

/// Rules, from a file with a line `PREFIX,HOST` for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    network: IpAddr,
    /// Bits of the address that must be equal.
    length: u32,
    /// Name of the host; `*` stands for the number of the address in the prefix.
    host: String,
}

/// Bits of an address, and their number.
fn bits(ip: IpAddr) -> (u128, u32) {
    match ip {
        IpAddr::V4(v4) => (v4.to_bits().into(), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

impl Rule {
    fn parse(line: &str) -> Result<Rule, String> {
        let legal = "legal: a prefix and a host, such as 10.0.1.0/24,rack1-*";
        let (prefix, host) = line.split_once(',').ok_or_else(|| format!("the line has no comma; {legal}"))?;
        let (prefix, host) = (prefix.trim(), host.trim());
        let (address, length) = prefix.split_once('/').map_or((prefix, None), |(address, length)| (address, Some(length)));
        let network: IpAddr = address.parse().map_err(|_| format!("`{address}` is not an address; {legal}"))?;
        let (all, longest) = bits(network);
        let length = match length {
            None => longest,
            Some(text) => text
                .parse()
                .ok()
                .filter(|length| *length <= longest)
                .ok_or_else(|| format!("`{text}` is not the length of a prefix; legal: 0 to {longest}"))?,
        };
        if all & mask(longest - length) != 0 {
            return Err(format!("`{prefix}` has bits behind the prefix; set them to 0"));
        }
        let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*');
        if !host.starts_with(|c: char| c.is_ascii_alphabetic()) || !host.chars().all(is_legal) {
            return Err(format!("`{host}` is not a host; legal: a letter, then letters, digits, `-`, `_` and `*`"));
        }
        Ok(Rule { network, length, host: host.to_owned() })
    }

    /// Number of the address in the prefix; `None` if it is outside.
    fn number(&self, ip: IpAddr) -> Option<u128> {
        let ((network, longest), (address, own)) = (bits(self.network), bits(ip));
        let behind = mask(longest - self.length);
        (longest == own && address & !behind == network).then_some(address & behind)
    }
}

/// The last `bits` bits.
fn mask(bits: u32) -> u128 {
    if bits == 128 { u128::MAX } else { (1 << bits) - 1 }
}

impl HostRules {
    /// Reads the file `name` with this text. Empty lines, and what follows `#`, have no meaning.
    ///
    /// # Errors
    /// An illegal line, with its number.
    pub fn parse(name: &str, text: &str) -> Result<HostRules, String> {
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                rules.push(Rule::parse(line).map_err(|e| format!("{name}:{number}: {e}"))?);
            }
        }
        // The longest prefix decides, and of equal ones the first.
        rules.sort_by_key(|r| std::cmp::Reverse(r.length));
        Ok(HostRules(rules))
    }

    /// True without rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Name of the host with this address; `None` without a rule for it.
    pub fn host(&self, ip: IpAddr) -> Option<String> {
        self.0.iter().find_map(|r| Some(r.host.replace('*', &r.number(ip)?.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_prefix_names_the_host() {
        let text = "# racks\n10.0.1.0/24,rack1-*\n10.0.0.0/8 , other*\n10.0.1.7,db # the database\n\n2001:db8::/64,six-*\n";
        let rules = HostRules::parse("hosts", text).unwrap();
        let host = |ip: &str| rules.host(ip.parse().unwrap());
        assert_eq!(host("10.0.1.5").as_deref(), Some("rack1-5"));
        assert_eq!(host("10.0.1.7").as_deref(), Some("db"));
        assert_eq!(host("10.0.2.1").as_deref(), Some("other513"));
        assert_eq!(host("2001:db8::1f").as_deref(), Some("six-31"));
        assert_eq!((host("11.0.0.1"), host("::1")), (None, None));
        let all = HostRules::parse("hosts", "0.0.0.0/0,h*\n::/0,v*").unwrap();
        assert_eq!(all.host("0.0.0.9".parse().unwrap()).as_deref(), Some("h9"));
        assert_eq!(all.host("::8".parse().unwrap()).as_deref(), Some("v8"));
    }

    #[test]
    fn illegal_lines_refused() {
        for (text, expected) in [
            ("10.0.0.1", "hosts:1: the line has no comma; legal: a prefix and a host"),
            ("\n10.0.0.x,a", "hosts:2: `10.0.0.x` is not an address"),
            ("10.0.0.0/33,a", "`33` is not the length of a prefix; legal: 0 to 32"),
            ("10.0.0.1/24,a", "`10.0.0.1/24` has bits behind the prefix"),
            ("10.0.0.1,7a", "`7a` is not a host"),
            ("10.0.0.1,a\"b", "is not a host"),
        ] {
            let error = HostRules::parse("hosts", text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
