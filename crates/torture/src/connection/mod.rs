//! Single connections: two endpoints of the simulator over a pipe that loses, delays, repeats and marks packets, closes the window for a while, and
//! may end for ever. The pipe compares each step with a model of the byte stream, and panics where it differs.

pub mod pipe;
mod wire;

use crate::draw::{by_chance, log_uniform, one};
use crate::scenario::{legal, resolve};
use crate::stop::Stop;
use crate::work::Work;
use forebay_experiment::profile::PROFILES;
use forebay_scenario::toml;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::Phase;
use forebay_types::{Rng, Time};
use pipe::{Fate, PASS, Pipe, PipePacket, US};
use serde_json::{Map, Value as Json, json};

/// Connections of a case, which have one transport.
const CONNECTIONS: u64 = 200;
/// Bytes of the largest write.
const LARGEST: u64 = 200_000;

/// Drafts for one case. Most are legal after their repair.
const DRAFTS: u64 = 40;

/// The case with this number: `[transport]`, and the seed and number of connections. `None`, very seldom, if no draft could be repaired.
pub(crate) fn draw(seed: u64, number: u64) -> Option<Json> {
    let rng = &mut Rng::stream(seed, &[number]);
    let connection = json!({ "seed": rng.below(1 << 32), "count": CONNECTIONS });
    let mut legal = (0..DRAFTS).find_map(|_| legal(scenario(&transport(rng))))?;
    Some(json!({ "transport": legal.document.get_mut("transport")?.take(), "connection": connection }))
}

/// A scenario with this transport.
fn scenario(transport: &Json) -> Json {
    let link = json!({ "rate": "1Gbps", "delay": "50us" });
    let queue = json!({ "rate": "1Gbps", "delay": "50us", "buffer": "100pkt", "queue": { "kind": "dctcp-step", "k": "20pkt" } });
    json!({
        "topology": { "kind": "many-to-one", "senders": 1, "access": link, "bottleneck": queue },
        "transport": transport,
        "workload": [{ "kind": "long", "size": "10KB" }],
    })
}

/// Options in all combinations, on hosts without offloads: the pipe passes single segments.
fn transport(rng: &mut Rng) -> Json {
    let mut table = Map::new();
    let cc = one(rng, &forebay_sim::cc::REGISTRY.iter().map(|e| e.entry.name).collect::<Vec<_>>());
    let records = forebay_sim::cc::find(cc).is_some_and(|e| e.needs_sack);
    table.insert("stack".into(), one(rng, PROFILES).into());
    table.insert("host".into(), "bare".into());
    table.insert("cc".into(), cc.into());
    table.insert("mss".into(), one(rng, &[64, 536, 999, 1000, 1448, 1461, 8960]).into());
    // pFabric's fixed timeout has no back-off; retransmissions of a dead path would have no end.
    let recovery: &[&str] = if records { &["sack", "rack"] } else { &["reno", "newreno", "sack", "rack"] };
    let words: [(&str, &[&str]); 6] = [
        ("recovery", recovery),
        ("ssthresh-from", &["window", "flight", "cwnd"]),
        ("rto-rule", &["rfc6298", "linux"]),
        ("growth", &["per-ack", "rfc5681", "abc", "unlimited"]),
        ("ecn", &["off", "classic", "dctcp"]),
        ("slow-start-after-idle", &["off", "rfc5681", "rtt", "linux"]),
    ];
    for (key, values) in words {
        if by_chance(rng, 35) || (key == "rto-rule" && cc == "pfabric") {
            table.insert(key.into(), one(rng, values).into());
        }
    }
    let flags = [
        "limited-transmit",
        "prr",
        "timestamps",
        "cwr-on-retransmit",
        "ect-on-retransmit",
        "cwnd-validation",
        "handshake",
        "fin",
        "quickack",
    ];
    for key in flags {
        if by_chance(rng, 20) {
            table.insert(key.into(), by_chance(rng, 50).into());
        }
    }
    // There limited transmit is always on (Linux tcp_add_reno_sack).
    let word = |key: &str| table.get(key).and_then(Json::as_str);
    if word("stack") == Some("linux") && word("recovery") == Some("newreno") {
        table.remove("limited-transmit");
    }
    if by_chance(rng, 30) {
        table.insert("ack-every".into(), (1 + rng.below(4)).into());
    }
    if by_chance(rng, 30) {
        table.insert("init-cwnd".into(), log_uniform(rng, 1, 40).into());
    }
    if by_chance(rng, 25) {
        table.insert("rcv-wnd".into(), format!("{}B", log_uniform(rng, 9_000, 100_000)).into());
    }
    if by_chance(rng, 70) {
        // Sequence numbers wrap while data flow, or at any point.
        let isn = if by_chance(rng, 60) { u64::from(u32::MAX) - log_uniform(rng, 0, 2 * LARGEST) } else { rng.below(1 << 32) };
        table.insert("isn".into(), isn.into());
    }
    Json::Object(table)
}

/// Rates of the faults of a path, in 1/256, and its application.
#[derive(Debug, Clone)]
struct Path {
    lose_data: u8,
    lose_acks: u8,
    mark: u8,
    late: u8,
    twice: u8,
    /// Longest extra delay, us.
    most: u64,
    /// Packets of each direction after which the faults end, so that a connection must finish.
    packets: usize,
    /// ACKs from the first of these numbers to the last announce no window.
    shut: (usize, usize),
    /// Packets of each direction after which every packet is lost, for ever.
    dead: Option<usize>,
    /// Bytes of each write, and the pause after it, us.
    writes: Vec<(u64, u64)>,
    seed: u64,
}

impl Path {
    fn draw(rng: &mut Rng) -> Path {
        let rate = |rng: &mut Rng| match rng.below(8) {
            0..=2 => 0,
            3..=5 => rng.below(20) as u8,
            _ => rng.below(128) as u8,
        };
        let [lose_data, lose_acks, late, twice] = [(); 4].map(|()| rate(rng));
        let shut = if by_chance(rng, 20) {
            let first = rng.below(60) as usize;
            (first, first + log_uniform(rng, 1, 30) as usize)
        } else {
            (0, 0)
        };
        let count = if by_chance(rng, 70) { 1 } else { 2 + rng.below(8) };
        let writes = (0..count)
            .map(|_| {
                let bytes = if by_chance(rng, 50) { log_uniform(rng, 1, 5_000) } else { log_uniform(rng, 1, LARGEST / count) };
                (bytes, if by_chance(rng, 50) { 0 } else { log_uniform(rng, 1, 3_000_000) })
            })
            .collect();
        Path {
            lose_data,
            lose_acks,
            mark: if by_chance(rng, 60) { 0 } else { rng.below(256) as u8 },
            late,
            twice,
            most: 1 + rng.below(400),
            packets: log_uniform(rng, 20, 2000) as usize,
            shut,
            dead: by_chance(rng, 5).then(|| rng.below(100) as usize),
            writes,
            seed: rng.next_u64(),
        }
    }

    /// The fate of a packet, which does not depend on the others.
    fn fate(&self, p: &PipePacket) -> Fate {
        if self.dead.is_some_and(|n| p.number >= n) {
            return Fate { lost: true, ..PASS };
        }
        let shut = !p.data && (self.shut.0..self.shut.1).contains(&p.number);
        if p.number >= self.packets {
            return Fate { shut, ..PASS };
        }
        let roll = forebay_types::mix(self.seed ^ (p.number as u64) << 1 ^ u64::from(p.data)).to_le_bytes();
        let lose = if p.data { self.lose_data } else { self.lose_acks };
        let late = if roll[3] < self.late { u64::from(roll[5]) * self.most * US / 256 } else { 0 };
        Fate { lost: roll[0] < lose, marked: roll[1] < self.mark, twice: roll[2] < self.twice, late, shut }
    }
}

/// The number under `key` of `[connection]`.
fn number(document: &Json, key: &str) -> Option<u64> {
    document.get("connection")?.get(key)?.as_u64()
}

/// The configuration of the connections of a case, or the reason why its transport is illegal.
fn config(document: &Json) -> Result<TcpConfig, String> {
    let scenario = scenario(document.get("transport").unwrap_or(&Json::Null));
    let resolved = resolve(&toml(&scenario)).map_err(|e| e.render())?;
    let transport = resolved.variants.first().and_then(|v| v.config.groups.iter().next()).ok_or("there is no transport")?;
    TcpConfig::of(&transport.tcp).map_err(|e| format!("`{}`: {}", e.key, e.message))
}

/// Runs the connections of a case; `only` of `[connection]` is the number of a single one.
pub(crate) fn check(document: &Json, work: &mut Work) -> Result<(), Stop> {
    let config = config(document).map_err(Stop::Refused)?;
    let seed = number(document, "seed").unwrap_or(1);
    let (first, end) = match number(document, "only") {
        Some(only) => (only, only + 1),
        None => (0, number(document, "count").unwrap_or(CONNECTIONS)),
    };
    for index in first..end {
        let path = Path::draw(&mut Rng::stream(seed, &[index]));
        one_connection(config.clone(), &path).map_err(|why| Stop::Failed(format!("{why} (only = {index})")))?;
        work.connections += 1;
        work.runs += 1;
    }
    Ok(())
}

fn one_connection(config: TcpConfig, path: &Path) -> Result<(), String> {
    let fin = config.fin;
    // Each packet of a path with faults may wait for the largest timeout. A dead path is watched for a few of them.
    let timeouts = if path.dead.is_some() { 20 } else { 20_000 };
    let limit = config.rto_max.0.saturating_mul(timeouts);
    let mut pipe = Pipe::new(config, |p: &PipePacket| path.fate(p));
    pipe.open();
    let mut total = 0;
    for (i, (bytes, pause)) in path.writes.iter().enumerate() {
        let last = i + 1 == path.writes.len();
        pipe.write(*bytes, last);
        total += bytes;
        let until = pipe.now + pause * US;
        pipe.run(until);
    }
    pipe.run(limit);
    if path.dead.is_some() {
        return Ok(());
    }
    let delivered = pipe.receiver.delivered();
    if !pipe.sender.all_acked() || delivered != total {
        return Err(format!("a connection never ends: {delivered} of {total} bytes arrived at {}, {path:?}", Time(pipe.now)));
    }
    if fin && !(pipe.receiver.finished() && pipe.sender.phase() == Phase::Done) {
        return Err(format!("a connection is never closed: {path:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_transports_are_legal() {
        for number in 0..400 {
            let Some(document) = draw(11, number) else { panic!("no draft of case {number} is legal") };
            if let Err(why) = config(&document) {
                panic!("{why}\n{document}");
            }
        }
    }

    #[test]
    fn illegal_transports_are_refused() {
        let document = json!({ "transport": { "cc": "nosuchcc" }, "connection": { "seed": 1, "count": 1 } });
        let mut work = Work::default();
        assert!(matches!(check(&document, &mut work), Err(Stop::Refused(why)) if why.contains("nosuchcc")));
        assert_eq!(work, Work::default());
    }
}
