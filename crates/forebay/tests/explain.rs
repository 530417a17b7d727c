//! `forebay explain DIR`: causes of the delays of messages, from results and from the same run again.

use crate::scratch::{Scratch, forebay, text};

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
fn late_message_explained_with_times() {
    let scratch = Scratch::new("explain");
    scratch.file("incast.toml", SCENARIO);
    assert!(forebay(&scratch.0, &["run", "incast.toml", "--quiet", "--out", "r"]).status.success());
    let worst = text(&forebay(&scratch.0, &["explain", "r"]).stdout);
    for part in [
        "with the same fingerprint",
        "retransmission timeout after 200 ms",
        "main cause of delay: retransmission timeout, 600 ms of",
    ] {
        assert!(worst.contains(part), "{part}: {worst}");
    }
    // A retransmission by a timer leaves with the timer, not with an ACK.
    let lines: Vec<&str> = worst.lines().map(str::trim).collect();
    let timers: Vec<_> = lines.windows(2).filter(|l| l[0].contains("retransmission timeout after")).collect();
    assert!(!timers.is_empty(), "{worst}");
    for l in timers {
        let (at, what) = (|line: &str| line.split("  ").next().map(str::to_owned), l[1]);
        assert!(at(l[0]) == at(what) && what.contains("1 segment retransmitted"), "{l:?}");
    }
    let query = text(&forebay(&scratch.0, &["explain", "r", "--query", "0"]).stdout);
    assert_eq!(query.matches("flow ").count(), 1, "{query}");
    let none = forebay(&scratch.0, &["explain", "r", "--flow", "999"]);
    assert!(none.status.code() == Some(2) && text(&none.stderr).contains("no flow 999"), "{}", text(&none.stderr));
}

#[test]
fn explain_refuses_sweeps() {
    let scratch = Scratch::new("explain-sweep");
    scratch.file("sweep.toml", &format!("{SCENARIO}[sweep]\ntopology.senders = [2, 3]\n"));
    assert!(forebay(&scratch.0, &["run", "sweep.toml", "--quiet", "--out", "s"]).status.success());
    let printed = forebay(&scratch.0, &["explain", "s"]);
    assert!(printed.status.code() == Some(2) && text(&printed.stderr).contains("`s` is a sweep"), "{}", text(&printed.stderr));
}

/// Four servers on one side of two spines, of which one loses its link at 2 ms; the switches detect it 1 ms later.
const FABRIC: &str = r#"
duration = "100ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 4
host   = { rate = "10Gbps", delay = "5us", buffer = "200pkt" }
fabric = { rate = "10Gbps", delay = "5us", buffer = "200pkt" }
[transport]
stack = "linux"
rto-min = "10ms"
[[workload]]
kind = "incast"
senders = "h0..h3"
receiver = "h4"
block = "4MB"
rounds = 1
"#;

#[test]
fn rerouted_message_explained_on_both_paths() {
    let scratch = Scratch::new("explain-ways");
    let failure = "[[topology.failure]]\nlink = \"leaf0->spine0\"\ndown = \"2ms\"\nreroute = \"1ms\"\n[transport]";
    scratch.file("failure.toml", &FABRIC.replacen("[transport]", failure, 1));
    let printed = |file: &str| {
        assert!(forebay(&scratch.0, &["run", file, "--quiet", "--out", file.trim_end_matches(".toml")]).status.success());
        text(&forebay(&scratch.0, &["explain", file.trim_end_matches(".toml")]).stdout)
    };
    let output = printed("failure.toml");
    let moved = output.split("\n\n").skip(1).find(|flow| flow.contains("leaf0->spine0")).unwrap_or_else(|| panic!("{output}"));
    let (before, after) =
        moved.split_once("on another path, because a link failed or came back:").unwrap_or_else(|| panic!("{moved}"));
    let at = before.trim_end().rsplit_once("from ").unwrap().1;
    assert!(
        at.starts_with("+2.9") || at.starts_with("+3.0"),
        "3 ms after the start of the run, the message a little later: {moved}"
    );
    assert!(before.contains("spine0->leaf1") && after.contains("spine1->leaf1"), "{moved}");
    scratch.file("spray.toml", &FABRIC.replacen("[transport]", "balance = \"packet\"\n[transport]", 1));
    let output = printed("spray.toml");
    assert!(output.contains("each packet takes one of the shortest paths; this is one of them"), "{output}");
}

/// The end of a request of two writes waits for the delayed ACK of its beginning, unless the socket has TCP_NODELAY.
#[test]
fn nagle_named_beside_cause() {
    let traffic = "duration = \"500ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = { rate = \"1Gbps\", delay = \"20us\" }\n\
         bottleneck = { rate = \"1Gbps\", delay = \"20us\", buffer = \"100pkt\" }\n[transport]\ncc = \"cubic\"\n[[workload]]\n\
         kind = \"requests\"\nrequest = \"400B\"\nresponse = \"2KB\"\nthink = \"1ms\"\ntwo-way = true\n";
    let scratch = Scratch::new("explain-nagle");
    let explained = |name: &str, more: &[&str]| {
        scratch.file(&format!("{name}.toml"), &format!("{traffic}writes = 2\n"));
        let file = format!("{name}.toml");
        assert!(forebay(&scratch.0, &[&["run", &file, "--quiet", "--out", name], more].concat()).status.success());
        text(&forebay(&scratch.0, &["explain", name]).stdout)
    };
    let held = explained("held", &[]);
    assert!(
        held.contains("Nagle's algorithm held its end until that ACK: the application writes a message by 2 calls"),
        "{held}"
    );
    let sent = explained("sent", &["--set", "transport.nagle=false"]);
    assert!(sent.contains("delivered after") && !sent.contains("Nagle"), "{sent}");
}

/// Trains of 100 KB with pauses of 10 ms: 1 ms of each 11 ms is busy. A server waits for the requests of its client.
#[test]
fn idle_connections_name_application_or_peer() {
    let traffic = |workload: &str| {
        format!(
            "duration = \"200ms\"\n[topology]\nkind = \"dumbbell\"\nleft = 1\naccess = {{ rate = \"1Gbps\", delay = \"20us\" }}\n\
             bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", buffer = \"100pkt\" }}\n[transport]\ncc = \"cubic\"\n[[workload]]\n{workload}\n"
        )
    };
    let scratch = Scratch::new("explain-idle");
    for (name, workload, flow, why) in [
        ("trains", "kind = \"on-off\"\nsizes = \"100KB\"\ngaps = \"10ms\"", "3", "its application wrote nothing"),
        ("requests", "kind = \"requests\"\nresponse = \"20KB\"\nthink = \"5ms\"", "3", "its peer sent no request"),
    ] {
        scratch.file(&format!("{name}.toml"), &traffic(workload));
        assert!(forebay(&scratch.0, &["run", &format!("{name}.toml"), "--quiet", "--out", name]).status.success());
        let explained = text(&forebay(&scratch.0, &["explain", name, "--flow", flow]).stdout);
        let line = explained.lines().find(|l| l.contains("had nothing to send for")).unwrap_or_else(|| panic!("{explained}"));
        assert!(line.ends_with(why), "{line}");
        let part: f64 = line.split("for ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
        assert!((85.0..99.0).contains(&part), "{line}");
    }
}
