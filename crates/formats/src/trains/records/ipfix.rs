//! Objects of JSON with the names of IPFIX information elements (RFC 7012), one per line, as ipfixcol and ipfixcol2 write them.

use super::{Count, Damage, FlowRecord, MAX_TIME, Parsed, TCP, flags, shown, time};
use crate::trains::packet::{Endpoint, Flags};
use serde_json::{Map, Value};
use std::net::IpAddr;

/// Units of the elements of times, in ns, when they are numbers. ipfixcol2 writes all of them as milliseconds.
const UNITS: [(&str, u64); 4] =
    [("Milliseconds", 1_000_000), ("Microseconds", 1_000_000), ("Nanoseconds", 1_000_000), ("Seconds", 1_000_000_000)];

/// True for the first bytes of such a file.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
}

/// The elements of a record.
struct Elements<'a>(&'a Map<String, Value>);

impl<'a> Elements<'a> {
    /// The value of an element, whatever the prefix of its name is: `iana:`, `ipfix.` or none.
    fn get(&self, name: &str) -> Option<&'a Value> {
        let has_name = |key: &str| key.rsplit([':', '.']).next() == Some(name) && !key.contains("reverse");
        self.0.iter().find(|(key, _)| has_name(key)).map(|(_, value)| value)
    }

    /// The value of an element of the other direction (RFC 5103).
    fn reverse(&self, name: &str) -> Option<u64> {
        let has_name = |key: &str| key.contains("reverse") && key.rsplit([':', '.']).next() == Some(name);
        self.0.iter().find(|(key, _)| has_name(key)).and_then(|(_, value)| unsigned(value))
    }

    fn number(&self, name: &str) -> Result<u64, Damage> {
        let value = self.get(name).ok_or_else(|| format!("the record has no `{name}`"))?;
        unsigned(value).ok_or_else(|| format!("`{name}` is {}; legal: a whole number", shown(&value.to_string())))
    }

    /// A time, by the element with the most digits.
    fn time(&self, event: &str) -> Result<u64, Damage> {
        let found = UNITS.iter().find_map(|(unit, ns)| Some((self.get(&format!("{event}{unit}"))?, ns)));
        let Some((value, ns)) = found else {
            return Err(format!(
                "the record has no `{event}Milliseconds`, `Microseconds`, `Nanoseconds` or `Seconds`; a collector that knows only the system's uptime \
                 must convert it"
            ));
        };
        match (unsigned(value), value.as_str()) {
            (Some(number), _) => {
                let time = number.checked_mul(*ns).filter(|time| *time <= MAX_TIME);
                time.ok_or_else(|| format!("the time is {number}; legal: before the year 2116"))
            }
            (None, Some(text)) => time::of_text(text),
            (None, None) => Err(format!("the time is {}; legal: a number or a date", shown(&value.to_string()))),
        }
    }

    fn endpoint(&self, side: &str) -> Result<Endpoint, Damage> {
        let names = [format!("{side}IPv4Address"), format!("{side}IPv6Address")];
        let address = names.iter().find_map(|name| self.get(name)).and_then(Value::as_str);
        let address = address.ok_or_else(|| format!("the record has neither `{}` nor `{}`", names[0], names[1]))?;
        let ip: IpAddr =
            address.parse().map_err(|_| format!("the address is `{}`; legal: one of IPv4 or IPv6", shown(address)))?;
        let port = self.number(&format!("{side}TransportPort"))?;
        let port = u16::try_from(port).map_err(|_| format!("the port is {port}; legal: 0 to 65535"))?;
        Ok(Endpoint::from((ip, port)))
    }
}

/// A number, which older collectors write in quotes.
fn unsigned(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Reads a line.
pub(super) fn parse(line: &str) -> Result<Parsed, Damage> {
    if line.trim().is_empty() {
        return Ok(Parsed::Nothing);
    }
    let value: Value = serde_json::from_str(line).map_err(|e| format!("is not a JSON object: {e}"))?;
    let Value::Object(map) = &value else { return Err("is not a JSON object; legal: one record per line".into()) };
    // Templates and options have other types.
    if map.get("@type").and_then(Value::as_str).is_some_and(|kind| kind != "ipfix.entry") {
        return Ok(Parsed::Nothing);
    }
    let e = Elements(map);
    let protocol = e.get("protocolIdentifier").ok_or("the record has no `protocolIdentifier`")?;
    if unsigned(protocol) != Some(TCP) && protocol.as_str() != Some("TCP") {
        return Ok(Parsed::OtherProtocol);
    }
    let control_bits = e.get("tcpControlBits");
    let start_ns = e.time("flowStart")?;
    Ok(Parsed::Record(Box::new(FlowRecord {
        start_ns,
        end_ns: e.time("flowEnd")?.max(start_ns),
        src: e.endpoint("source")?,
        dst: e.endpoint("destination")?,
        flags: control_bits.map(|bits| unsigned(bits).map_or_else(|| flags(bits.as_str().unwrap_or("")), |n| Flags(n as u8))),
        forth: Count::new(e.number("packetDeltaCount")?, e.number("octetDeltaCount")?)?,
        back: Count::new(e.reverse("packetDeltaCount").unwrap_or(0), e.reverse("octetDeltaCount").unwrap_or(0))?,
    })))
}
