//! Incast of NewReno: conditions of the collapse, and the simulation in the PRIN publication's setting.

#![expect(clippy::print_stdout, reason = "what was measured, for `--nocapture`")]

use forebay_tests::{Outcome, one};

/// Barrier rounds into a small drop-tail buffer; requests take 50 us, processing up to 100 us.
const INCAST: &str = r#"
[topology]
kind = "many-to-one"
senders = 32
access = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "64pkt" }
[transport]
stack = "ns2"
cc = "newreno"
[[workload]]
kind = "incast"
request = "0B"
block = "256KB"
rounds = 30
jitter = "100us"
request-latency = "50us"
"#;
/// Maximum share of payload on the link.
const PAYLOAD: f64 = 1460.0 / 1500.0;

fn goodput(o: &Outcome) -> f64 {
    o.rounds(5).goodput() / 125e6 / PAYLOAD
}

fn at(sets: &[&str]) -> Outcome {
    let o = one(INCAST, sets);
    println!(
        "{sets:?}: goodput {:.3} timeouts {:.2} with {:.2}",
        goodput(&o),
        o.rounds(5).timeouts(),
        o.rounds(5).with_timeout()
    );
    o
}

#[test]
fn incast_collapse_with_many_senders() {
    let o = at(&[]);
    assert!(goodput(&o) < 0.3, "{}", goodput(&o));
    assert!(o.rounds(5).with_timeout() > 0.95);
}

#[test]
fn rto_min_1ms_avoids_collapse() {
    let o = at(&["transport.rto-min=1ms"]);
    assert!(goodput(&o) > 0.7, "{}", goodput(&o));
}

#[test]
fn one_sender_never_times_out() {
    for block in ["64KB", "256KB", "1MB"] {
        for buffer in [32, 64, 256] {
            let o = at(&[
                "topology.senders=1",
                &format!("workload.0.block={block}"),
                &format!("topology.bottleneck.buffer={buffer}pkt"),
            ]);
            assert_eq!((o.rtos(), o.drops()), (0, 0));
            // Only the request's delay and processing, and slow start in the first block, are lost.
            assert!(goodput(&o) > 0.75, "{}", goodput(&o));
        }
    }
}

#[test]
fn goodput_grows_with_block_and_buffer() {
    let rises = |what: &str, key: &str, values: &[&str]| {
        let results: Vec<f64> = values.iter().map(|v| goodput(&at(&["topology.senders=64", &format!("{key}={v}")]))).collect();
        assert!(results.windows(2).all(|w| w[0] < w[1]), "{what}: {results:?}");
    };
    rises("block", "workload.0.block", &["64KB", "128KB", "256KB", "512KB"]);
    rises("buffer", "topology.bottleneck.buffer", &["64pkt", "128pkt", "256pkt", "512pkt"]);
}

/// The setting of the PRIN publication: packets of 1000 B without headers, ACKs without size, no limited transmit.
fn publication(n: u32, buffer: u32, timestamps: bool) -> Outcome {
    let n = format!("topology.senders={n}");
    let buffer = format!("topology.bottleneck.buffer={buffer}pkt");
    let fixed = ["mss=1000", "header=0", "ack-size=1", "limited-transmit=false", "rcv-wnd=1000KB", "send-jitter=4us"];
    let transport = fixed.iter().map(|s| format!("transport.{s}")).chain([format!("transport.timestamps={timestamps}")]);
    let sets: Vec<String> = transport.chain([n, buffer, "workload.0.rounds=60".to_owned()]).collect();
    one(INCAST, &sets.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The quick simulation behind the PRIN specification, whose back-off ends with the first new ACK (here by timestamps): goodput in the
/// collapse is the arithmetic of one timeout per block.
#[test]
fn one_timeout_a_block() {
    // (senders, buffer, goodput of the reference simulation as a share of the link)
    for (n, buffer, reference) in
        [(13, 64, 0.124), (16, 64, 0.139), (20, 128, 0.191), (24, 128, 0.222), (36, 256, 0.316), (48, 256, 0.402)]
    {
        let o = publication(n, buffer, true);
        let r = o.rounds(10);
        let share = r.goodput() / 125e6;
        println!("N {n} B {buffer}: {share:.3} / {reference}, timeouts {:.2}", r.timeouts());
        assert!((share / reference - 1.0).abs() < 0.12, "N {n}, B {buffer}: {share} against {reference}");
        assert!(r.with_timeout() > 0.95);
        // The timeout of the slowest sender overlaps with the others' transmission entirely at best, and not at all at worst.
        let transmission = f64::from(n) * 256e3 / 125e6;
        let waiting = 0.2 * r.timeouts();
        assert!((transmission / (transmission + waiting)..transmission / waiting).contains(&share), "N {n}, B {buffer}: {share}");
    }
}

/// Without timestamps a back-off lasts until data sent only once is acknowledged (Karn; RFC 6298 sections 3 and 5). A sender that repaired the rest
/// of its block after a timeout starts the next block with twice the RTO. If it then loses the first window, the block takes 400 ms. With timestamps
/// the first ACK after the timeout is a sample, and the first timeout of a block is one minimum RTO.
#[test]
fn backoff_persists_without_timestamps() {
    let first_timeouts = |timestamps: bool| {
        let o = publication(13, 64, timestamps);
        let mut seen = std::collections::BTreeSet::new();
        let first = o.report.timeouts.iter().filter(move |t| seen.insert(t.flow_id));
        first.map(|t| (t.rto_ps / 1_000_000_000, t.backoff)).collect::<Vec<_>>()
    };
    let (without, with) = (first_timeouts(false), first_timeouts(true));
    assert!(with.len() > 100 && with.iter().all(|&t| t == (200, 0)), "{with:?}");
    assert!(without.contains(&(400, 1)) && without.iter().all(|&(ms, backoff)| ms == 200 << backoff), "{without:?}");
}

/// No timeouts occur while all windows together fit; beyond the buffer the collapse starts, later with a larger buffer.
#[test]
fn larger_buffer_delays_collapse() {
    let onset = |buffer: u32| {
        let steps = [4, 8, 12, 16, 20, 24, 32, 40, 48, 64];
        let collapsed = |n: &&u32| {
            let o = at(&[
                &format!("topology.senders={n}"),
                &format!("topology.bottleneck.buffer={buffer}pkt"),
                "workload.0.rounds=20",
            ]);
            o.rounds(5).with_timeout() >= 0.95
        };
        *steps.iter().find(collapsed).unwrap_or(&100)
    };
    let onsets = [onset(64), onset(128), onset(256)];
    assert!(onsets[0] < onsets[1] && onsets[1] < onsets[2], "{onsets:?}");
}
