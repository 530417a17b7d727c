//! Crowds: tens of thousands of short connections that share a network with loss, small buffers, reordering and corruption.

use crate::draw::{by_chance, log_uniform, one};
use forebay_experiment::profile::PROFILES;
use forebay_types::{Bytes, Rate, Rng, Time};
use serde_json::{Map, Value as Json, json};

/// Connections of a case.
const CONNECTIONS: u64 = 20_000;
/// Largest message, or largest mean, in segments. Most of a crowd's packets open and close connections. Long streams belong to the other kinds.
const MOST_SEGMENTS: u64 = 16;
/// Segment size of a scenario without `mss`.
const DEFAULT_MSS: u64 = 1_460;
/// Packets without data from the sender of a connection: SYN, two ACKs, FIN.
const PACKETS_WITHOUT_DATA: u64 = 4;
/// Ethernet framing, IP and TCP headers with timestamps.
const HEADERS: u64 = 38 + 40 + 12;

/// The case with this number. All crowds are legal.
pub(crate) fn draw(seed: u64, number: u64) -> Json {
    let rng = &mut Rng::stream(seed, &[number]);
    let senders = one(rng, &[1, 2, 4, 8, 16]);
    let rate = one(rng, &[100_000_000, 1_000_000_000, 10_000_000_000, 40_000_000_000]);
    let delay = log_uniform(rng, 100_000, 200_000_000);
    let topology = if by_chance(rng, 30) { two_paths(rng, senders, rate, delay) } else { one_path(rng, senders, rate, delay) };
    let mss = if by_chance(rng, 30) { one(rng, &[64, 536, 1000, 8948]) } else { DEFAULT_MSS };
    let size = one(rng, &[1, 100, 1_000, 1_448, 1_449, 3_000, 9_000]).min(MOST_SEGMENTS * mss);
    // Trains of all senders offer a quarter of the link, half of it, or all.
    let bytes = size + (size.div_ceil(mss) + PACKETS_WITHOUT_DATA) * HEADERS;
    let gap = bytes * 8 * 1_000_000_000_000 / rate * senders * one(rng, &[1, 2, 4]);
    let sizes =
        if by_chance(rng, 50) { json!(Bytes(size).to_string()) } else { json!({ "exponential": Bytes(size).to_string() }) };
    json!({
        "seed": rng.below(1 << 32),
        "topology": topology,
        "transport": transport(rng, mss),
        "workload": [{
            "kind": "on-off", "from": if senders == 1 { "s0".to_owned() } else { format!("s0..s{}", senders - 1) }, "to": "recv",
            "connections": "per-train", "gap-from": one(rng, &["start", "completion"]), "sizes": sizes,
            "gaps": { "exponential": Time(gap.max(1)).to_string() }, "trains": CONNECTIONS / senders,
        }],
        "observe": { "occupancy": "none", "timeouts": false },
    })
}

fn transport(rng: &mut Rng, mss: u64) -> Json {
    let mut table = Map::new();
    table.insert("stack".into(), one(rng, PROFILES).into());
    table.insert("host".into(), one(rng, &["bare", "bare", "linux-server"]).into());
    table.insert("cc".into(), one(rng, &["reno", "newreno", "cubic", "bbr", "bbr3", "trim"]).into());
    // Sequence numbers wrap while data flow.
    if by_chance(rng, 50) {
        table.insert("isn".into(), (u64::from(u32::MAX) - log_uniform(rng, 0, 20_000)).into());
    }
    if mss != DEFAULT_MSS {
        table.insert("mss".into(), mss.into());
    }
    if by_chance(rng, 30) {
        table.insert("rto-min".into(), one(rng, &["1ms", "10ms"]).into());
    }
    if by_chance(rng, 20) {
        table.insert("timestamps".into(), by_chance(rng, 50).into());
    }
    Json::Object(table)
}

/// A link with a buffer that may hold a single packet, and losses.
fn bad_link(rng: &mut Rng, rate: u64, delay: u64) -> Map<String, Json> {
    let mut link = Map::new();
    link.insert("rate".into(), Rate(rate).to_string().into());
    link.insert("delay".into(), Time(delay).to_string().into());
    link.insert("buffer".into(), format!("{}pkt", one(rng, &[1, 4, 20, 100, 100, 400])).into());
    if by_chance(rng, 20) {
        link.insert("queue".into(), one(rng, &["codel", "fq-codel", "pie"]).into());
    }
    if by_chance(rng, 60) {
        link.insert("loss".into(), json!({ "p": one(rng, &[0.0001, 0.001, 0.01, 0.05]) }));
    }
    link
}

fn one_path(rng: &mut Rng, senders: u64, rate: u64, delay: u64) -> Json {
    let link = bad_link(rng, rate, delay);
    let mut topology = json!({
        "kind": "many-to-one", "senders": senders,
        "access": { "rate": Rate(rate).to_string(), "delay": Time(delay).to_string() }, "bottleneck": link,
    });
    if by_chance(rng, 20) {
        topology["corruption"] = json!([{ "port": "bottleneck", "bit-errors": one(rng, &[1e-8, 1e-7, 1e-6]) }]);
    }
    topology
}

/// Packets are sprayed over two links of different delays, and overtake each other.
fn two_paths(rng: &mut Rng, senders: u64, rate: u64, delay: u64) -> Json {
    let (near, mut far) = (bad_link(rng, rate, delay), bad_link(rng, rate, delay));
    far.insert("delay".into(), Time(delay + log_uniform(rng, 1, 50_000_000)).to_string().into());
    let with_ends = |from: &str, to: &str, link: &Map<String, Json>| {
        let ends = [("from".to_owned(), Json::from(from)), ("to".to_owned(), Json::from(to))];
        Json::Object(ends.into_iter().chain(link.clone()).collect())
    };
    let access = json!({ "rate": Rate(rate).to_string(), "delay": Time(delay).to_string() });
    let access = access.as_object().cloned().unwrap_or_default();
    let last = senders - 1;
    let hosts = if senders == 1 { "s0".to_owned() } else { format!("s0..s{last}") };
    json!({
        "kind": "custom", "hosts": [hosts, "recv"], "switches": ["a", "b"], "balance": "packet",
        "links": [with_ends(&hosts, "a", &access), with_ends("a", "b", &near), with_ends("a", "b", &far), with_ends("b", "recv", &access)],
    })
}

#[cfg(test)]
mod tests {
    use crate::scenario::resolve;
    use forebay_scenario::toml;

    #[test]
    fn crowds_are_legal() {
        for number in 0..60 {
            let text = toml(&super::draw(5, number));
            if let Err(e) = resolve(&text) {
                panic!("{}\n{text}", e.render());
            }
        }
    }
}
