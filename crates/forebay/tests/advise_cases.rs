//! Recommendations of `forebay advise` for cases of users: the kind of remedy is right, and plausible variations do not reverse it.

use crate::scratch::{Scratch, forebay, text};
use serde_json::Value as Json;

/// Runs `forebay advise` and returns its document.
fn advise(scenario: &str, args: &[&str]) -> Json {
    let scratch = Scratch::new("advise-case");
    scratch.file("case.toml", scenario);
    let out = forebay(&scratch.0, &[&["advise", "case.toml", "--no-report", "--format", "json"], args].concat());
    serde_json::from_str(&text(&out.stdout)).unwrap_or_else(|e| panic!("{e}: {}", text(&out.stderr)))
}

fn first(all: &Json) -> &str {
    all["answer"][0].as_str().unwrap()
}

/// The recommended option, which is the first one.
fn recommended(all: &Json) -> &Json {
    assert_eq!(all["recommended"], 1, "{}", all["answer"]);
    &all["options"][0]
}

/// Gains of an option over the present network, in the network of the file and all variations.
fn gains(option: &Json) -> Vec<f64> {
    let all = option["variations"]["results"].as_array().unwrap();
    all.iter().filter_map(|r| r["gain"].as_f64()).collect()
}

/// A link that loses 0.2 % of the packets, whatever their number.
const BAD_CABLE: &str = r#"
duration = "2s"
[advise]
objective = "mean of redis"
[topology]
kind = "dumbbell"
left = 8
access     = { rate = "1Gbps", delay = "25us", buffer = "500pkt" }
bottleneck = { rate = "10Gbps", delay = "25us", buffer = "500pkt", queue = { kind = "lossy", p = 0.002 } }
[transport]
stack = "linux"
host = "bare"
cc = "cubic"
[[workload]]
kind = "requests"
class = "redis"
request = "100B"
response = "1KB"
think = { exponential = "5ms" }
"#;

#[test]
fn no_change_repairs_the_cable() {
    let all = advise(BAD_CABLE, &["--seeds", "2"]);
    let best = recommended(&all);
    assert!(best["name"].as_str().unwrap().contains("minimum RTO"), "{}", all["answer"]);
    assert!(gains(best).iter().all(|g| *g > 2.0), "{best}");
    for option in all["options"].as_array().unwrap() {
        for set in option["sets"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()) {
            let lossy = set.contains("lossy") && set.contains("p = 0.002");
            assert!(!set.starts_with("topology.bottleneck.queue=") || lossy, "{set}");
        }
        // Marks do not replace lost packets.
        let name = option["name"].as_str().unwrap();
        let gain = option["objective"]["factor"].as_f64();
        assert!(name.contains("RTO") || gain.is_none_or(|f| f > 0.5), "{option}");
    }
    assert!(all["not_simulated"].to_string().contains("lossy"), "{}", all["not_simulated"]);
}

/// Sixteen servers answer one client, beside a camera whose own link is full and a backup.
const SLOW_CAMERA: &str = r#"
duration = "250ms"
[advise]
objective = "p99 of reads"
[topology]
kind = "custom"
hosts = ["slow", "h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "server"]
switches = ["sw"]
bottleneck = "sw->server"
links = [
 { from = "slow", to = "sw", rate = "10Mbps", delay = "5us" },
 { from = "h0", to = "sw", rate = "1Gbps", delay = "5us" },
 { from = "h1", to = "sw", rate = "1Gbps", delay = "5us" },
 { from = "h2", to = "sw", rate = "1Gbps", delay = "5us" },
 { from = "h3", to = "sw", rate = "1Gbps", delay = "5us" },
 { from = "h4", to = "sw", rate = "1Gbps", delay = "5us" },
 { from = "h5", to = "sw", rate = "1Gbps", delay = "5us" },
 { from = "h6", to = "sw", rate = "1Gbps", delay = "5us" },
 { from = "h7", to = "sw", rate = "1Gbps", delay = "5us" },
 { from = "server", to = "sw", rate = "1Gbps", delay = "5us", buffer = "100pkt" },
]
[transport]
stack = "linux"
host = "bare"
cc = "cubic"
[[workload]]
kind = "long"
class = "camera"
from = "slow"
to = "server"
[[workload]]
kind = "incast"
class = "reads"
senders = "h0..h7"
receiver = "server"
block = "64KB"
[[workload]]
kind = "long"
class = "backup"
from = "h0..h1"
to = "server"
"#;

#[test]
fn slow_link_does_not_spoil_ranking() {
    let all = advise(SLOW_CAMERA, &["--seeds", "2"]);
    let best = recommended(&all);
    let name = best["name"].as_str().unwrap();
    assert!(name.contains("dctcp") || name.contains("minimum RTO"), "{}", all["answer"]);
    assert!(gains(best).iter().all(|g| *g > 0.8), "{best}");
    assert!(gains(best).iter().filter(|g| **g > 3.0).count() > gains(best).len() / 2, "{best}");
}

/// A cache beside a backup, in a network that has the wanted times already.
const CACHE: &str = r#"
duration = "60ms"
[topology]
kind = "many-to-one"
senders = 6
access = { rate = "1Gbps", delay = "5us" }
bottleneck = { rate = "1Gbps", delay = "5us", buffer = "100pkt" }
[transport]
stack = "linux"
host = "bare"
cc = "cubic"
[[transport.group]]
name = "cache"
[[transport.group]]
name = "backup"
[[workload]]
kind = "requests"
class = "gets"
transport = "cache"
clients = "s0..s3"
servers = "s4"
response = { log-uniform = ["200B", "20KB"] }
think = { exponential = "300us" }
deadline = "2ms"
[[workload]]
kind = "long"
class = "backup"
transport = "backup"
from = "s5"
to = "receiver"
"#;

#[test]
fn limit_that_is_met_needs_nothing() {
    let all = advise(CACHE, &["--seeds", "2", "--objective", "the cheapest change that keeps p99 of gets at most 50ms"]);
    assert!(first(&all).starts_with("Change nothing: the present network keeps 50ms"), "{}", all["answer"]);
    assert_eq!(all["recommended"].as_u64(), None, "{}", all["answer"]);
    assert!(all["limit"].as_f64().is_some_and(|l| (l - 0.05).abs() < 1e-12), "{}", all["limit"]);
    let misses = advise(CACHE, &["--seeds", "1", "--objective", "deadline misses of gets"]);
    assert!(misses["today"]["objective"]["before"].as_f64().is_some_and(|v| v < 0.5), "{}", misses["today"]);
}

#[test]
fn misses_need_a_deadline() {
    let scratch = Scratch::new("advise-deadline");
    scratch.file("case.toml", SLOW_CAMERA);
    let out = forebay(&scratch.0, &["advise", "case.toml", "--objective", "deadline misses of reads"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("workload.1.deadline"), "{}", text(&out.stderr));
}

/// Mappers send to reducers through a port with little memory, beside small requests.
const SHUFFLE: &str = r#"
duration = "400ms"
[advise]
objective = "p99 of parts"
[topology]
kind = "many-to-one"
senders = 16
access = { rate = "1Gbps", delay = "5us" }
bottleneck = { rate = "1Gbps", delay = "5us", buffer = "60pkt" }
[transport]
stack = "linux"
host = "bare"
cc = "cubic"
[[transport.group]]
name = "services"
[[transport.group]]
name = "shuffle"
[[workload]]
kind = "requests"
class = "requests"
transport = "services"
clients = "receiver"
servers = "s0..s1"
pattern = "all-pairs"
response = "10KB"
think = { exponential = "1ms" }
[[workload]]
kind = "long"
class = "parts"
transport = "shuffle"
from = "s2..s15"
to = "receiver"
size = "1MB"
jitter = "5ms"
"#;

#[test]
fn stalls_of_a_shuffle_are_evidence() {
    let all = advise(SHUFFLE, &["--seeds", "3"]);
    let best = recommended(&all);
    assert!(!first(&all).starts_with("Change nothing"), "{}", all["answer"]);
    let price = |class: usize| &best["prices"][class];
    let count = |v: &Json, i: usize| v[i].as_u64().unwrap();
    let parts = price(1);
    assert!(count(&parts["stalled"], 1) <= count(&parts["stalled"], 0), "{parts}");
    assert!(count(&parts["unfinished"], 1) <= count(&parts["unfinished"], 0), "{parts}");
    assert!(price(0)["p99"][1].as_f64() <= price(0)["p99"][0].as_f64(), "{}", price(0));
    let completion = advise(SHUFFLE, &["--seeds", "1", "--objective", "completion of parts"]);
    assert!(completion["today"]["objective"]["before"].as_f64().is_some_and(|s| s > 0.1 && s <= 0.4), "{}", completion["today"]);
}

/// Four backups fill the buffer of the port to a host that answers requests.
const BACKUP: &str = r#"
duration = "60ms"
[advise]
objective = "p99 of requests"
[topology]
kind = "many-to-one"
senders = 6
access     = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "300pkt" }
[transport]
stack = "linux"
host = "bare"
cc = "cubic"
[[workload]]
kind = "requests"
class = "requests"
clients = "s0"
servers = "recv"
request = "2KB"
response = "1KB"
think = { exponential = "200us" }
[[workload]]
kind = "long"
class = "backup"
from = "s1..s4"
"#;

/// A rate limit of the backups is among the changes: their sum is a half or a quarter of the link, so that no queue builds up. The step is what was
/// simulated.
#[test]
fn bulk_can_be_limited() {
    let all = advise(BACKUP, &["--seeds", "1"]);
    let limits: Vec<&Json> = all["options"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|o| o["name"].as_str().unwrap().contains("for each connection of backup"))
        .collect();
    let half =
        limits.iter().find(|o| o["name"].as_str().unwrap().starts_with("at most 125Mbps")).unwrap_or_else(|| panic!("{all:#}"));
    assert!(half["objective"]["factor"].as_f64().unwrap() < 0.3, "{half}");
    assert!(half["install"].to_string().contains("SO_MAX_PACING_RATE, ...) with 15625000 bytes per second"), "{half}");
    assert!(half["sets"].to_string().contains("workload.1.transport"), "{half}");
}
