//! Scenarios drawn at random, beyond those of the table.
//!
//! A byte takes a whole number of nanoseconds on every link, so that ACKs with SACK blocks and short segments can be the same in both worlds too.

use super::random_choice::{by_chance, one};
use super::scenarios::Case;
use forebay_types::Rng;
use std::fmt::Write;

/// Rates of the bottleneck and of access links, and the delay of both.
const SPEEDS: [(&str, &str, &str); 8] = [
    ("100Mbps", "1Gbps", "50us"),
    ("100Mbps", "400Mbps", "500us"),
    ("500Mbps", "2Gbps", "30us"),
    ("1Gbps", "4Gbps", "5us"),
    ("1Gbps", "4Gbps", "20us"),
    ("1Gbps", "8Gbps", "100us"),
    ("4Gbps", "8Gbps", "2us"),
    ("4Gbps", "8Gbps", "10us"),
];

/// `count` scenarios of this seed; each depends on its own number alone.
pub(crate) fn cases(seed: u64, count: u64) -> Vec<Case> {
    (0..count)
        .map(|i| Case { name: format!("random {seed}/{i}"), text: scenario(&mut Rng::stream(seed, &[i])), cause: "" })
        .collect()
}

fn scenario(rng: &mut Rng) -> String {
    let (bottleneck, access, delay) = one(rng, &SPEEDS);
    let buffer = one(rng, &[8, 16, 20, 40, 64, 100, 200, 500]);
    let cc = one(rng, &["newreno", "newreno", "cubic", "cubic", "cubic", "dctcp"]);
    let mut transport = format!("cc = {{ kind = \"{cc}\", arithmetic = \"linux\" }}\n");
    let step = format!("{{ kind = \"dctcp-step\", k = \"{}pkt\" }}", one(rng, &[5, 10, 20, 40]).min(buffer - 1));
    let queue = if cc == "dctcp" {
        step
    } else if by_chance(rng, 25) {
        transport.push_str("ecn = \"classic\"\n");
        step
    } else if by_chance(rng, 15) {
        format!("{{ kind = \"lossy\", p = {} }}", one(rng, &["0.0005", "0.002", "0.01", "0.03"]))
    } else if by_chance(rng, 15) && buffer >= 40 {
        "{ kind = \"red\", min = \"5pkt\", max = \"30pkt\", p-max = 0.1 }".into()
    } else {
        "\"drop-tail\"".into()
    };
    for (percent, key, values) in [
        (20, "recovery", &["\"newreno\""][..]),
        (15, "ack-every", &["1"]),
        (20, "rto-min", &["\"1ms\"", "\"5ms\"", "\"10ms\"", "\"20ms\"", "\"50ms\""]),
        (15, "init-cwnd", &["1", "2", "4", "20"]),
        (10, "timestamps", &["false"]),
    ] {
        if by_chance(rng, percent) {
            let _ = writeln!(transport, "{key} = {}", one(rng, values));
        }
    }
    let (head, workload) = traffic(rng, bottleneck);
    format!(
        "{head}[topology]\nkind = \"many-to-one\"\nsenders = {}\naccess = {{ rate = \"{access}\", delay = \"{delay}\" }}\n\
         bottleneck = {{ rate = \"{bottleneck}\", delay = \"{delay}\", buffer = \"{buffer}pkt\", queue = {queue} }}\n\
         [transport]\nstack = \"linux\"\nack-size = 100\n{transport}[[workload]]\n{workload}\n",
        one(rng, &[1, 2, 3, 4, 6, 8, 12, 16, 24]),
    )
}

/// The lines before the topology, and the workload.
fn traffic(rng: &mut Rng, bottleneck: &str) -> (String, String) {
    let none = String::new();
    match rng.below(8) {
        0 | 1 => {
            let block = one(rng, &["2KB", "10KB", "32KB", "64KB", "100KB", "256KB"]);
            (none, format!("kind = \"incast\"\nblock = \"{block}\"\nrounds = {}", one(rng, &[3, 5, 8])))
        }
        n @ 2..=4 => {
            let (size, gap) =
                (one(rng, &["3KB", "20KB", "100KB", "400KB"]), one(rng, &["100us", "500us", "2ms", "20ms", "300ms"]));
            let each = if n == 4 { "\nconnections = \"per-train\"" } else { "" };
            let trains = one(rng, &[5, 10, 20]);
            (none, format!("kind = \"on-off\"\nsizes = \"{size}\"\ngaps = \"{gap}\"\ntrains = {trains}{each}"))
        }
        5 => {
            let duration = match bottleneck {
                "100Mbps" => "600ms",
                "500Mbps" => "150ms",
                "1Gbps" => "100ms",
                _ => "25ms",
            };
            let stagger = one(rng, &["0us", "100us", "3ms"]);
            (format!("duration = \"{duration}\"\n"), format!("kind = \"long\"\nstagger = \"{stagger}\""))
        }
        6 => {
            let (size, stagger) = (one(rng, &[1448, 5_000, 30_000, 200_000, 1_000_000]), one(rng, &["0us", "100us", "1ms"]));
            (none, format!("kind = \"long\"\nsize = \"{size}B\"\nstagger = \"{stagger}\""))
        }
        _ => {
            let (response, think) = (one(rng, &["1KB", "20KB", "60KB"]), one(rng, &["50us", "300us", "2ms"]));
            (
                none,
                format!("kind = \"requests\"\nresponse = \"{response}\"\nthink = \"{think}\"\ncount = {}", one(rng, &[10, 40])),
            )
        }
    }
}
