//! `forebay explain DIR`: why messages took as long as they did, from results and from the same run again.

mod scratch;

use scratch::{Scratch, forebay, text};

/// Six servers answer at once into a port of eight packets: tails are lost.
const SCENARIO: &str = r#"
[topology]
kind = "many-to-one"
senders = 6
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "8pkt" }
[transport]
stack = "ns2"
init-cwnd = 10
handshake = false
[[workload]]
kind = "incast"
block = "14600B"
rounds = 3
"#;

#[test]
fn a_late_message_is_told_with_times() {
    let scratch = Scratch::new("explain");
    scratch.file("incast.toml", SCENARIO);
    assert!(forebay(&scratch.0, &["run", "incast.toml", "--quiet", "--out", "r"]).status.success());
    let worst = text(&forebay(&scratch.0, &["explain", "r"]).stdout);
    for part in
        ["with the same course", "the retransmission timer of 200 ms runs out", "waited for the retransmission timer: 600 ms of"]
    {
        assert!(worst.contains(part), "{part}: {worst}");
    }
    let query = text(&forebay(&scratch.0, &["explain", "r", "--query", "0"]).stdout);
    assert_eq!(query.matches("flow ").count(), 1, "{query}");
    let none = forebay(&scratch.0, &["explain", "r", "--flow", "999"]);
    assert!(none.status.code() == Some(2) && text(&none.stderr).contains("no flow 999"), "{}", text(&none.stderr));
}
