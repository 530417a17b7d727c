//! BBR in whole networks, compared with tcp_bbr.c, the draft and the publication (Cardwell, Cheng, Gunn, Hassas Yeganeh, Jacobson, CACM 60(2), 2017).

use forebay_tests::{Outcome, jain, one};

/// One flow through a bottleneck of 100 Mbps and 40 ms with a buffer of six bandwidth-delay products (333 packets each).
const PATH: &str = r#"
duration = "25s"
[topology]
kind = "dumbbell"
left = 1
access     = { rate = "1Gbps", delay = "1ms" }
bottleneck = { rate = "100Mbps", delay = "18ms", buffer = "2000pkt" }
[transport]
stack = "linux"
rcv-wnd = "8MB"
cc = "bbr"
[[workload]]
kind = "long"
[observe]
tcp = { flows = [0], every = "10ms" }
warmup = "2s"
"#;

/// Mean goodput of the long flows in Mbps after the warm-up.
fn goodput(o: &Outcome) -> f64 {
    let seconds = o.variant.config.duration.unwrap().as_secs_f64() - o.variant.config.observe.warmup.as_secs_f64();
    o.port("bottleneck").sent_bytes as f64 * 8.0 / seconds / 1e6
}

/// Intervals in which the window of the first flow is at most `segments`, (start, length) in seconds.
fn dips(o: &Outcome, segments: f64) -> Vec<(f64, f64)> {
    let mut dips: Vec<(f64, f64)> = Vec::new();
    let mut below = false;
    for r in o.report.tcp.iter().filter(|r| r.time_ps > 1_000_000_000_000) {
        let t = r.time_ps as f64 / 1e12;
        if r.cwnd <= segments {
            if !below {
                dips.push((t, 0.0));
            }
            dips.last_mut().unwrap().1 = t - dips.last().unwrap().0;
        }
        below = r.cwnd <= segments;
    }
    dips
}

/// Full-size segments that fill 100 Mbps for 40 ms.
const BDP: f64 = 333.0;

/// The link is full, and the queue is at most one bandwidth-delay product, as published for one flow.
#[test]
fn single_flow_fills_link() {
    for cc in ["bbr", "bbr3"] {
        let o = one(PATH, &[&format!("transport.cc={cc}")]);
        let p = o.port("bottleneck");
        println!(
            "{cc}: {:.1} Mbps, queue {:.0} packets, at most {}, {} drops",
            goodput(&o),
            p.queue_mean_pkts,
            p.queue_max_pkts,
            o.drops()
        );
        assert!(goodput(&o) > 90.0, "{cc}: {} Mbps", goodput(&o));
        assert!(p.queue_mean_pkts < BDP, "{cc}: a queue of {}", p.queue_mean_pkts);
        assert_eq!((o.drops(), o.rtos()), (0, 0), "{cc}");
    }
}

/// In a rack: 10 Gbps and 100 us, which 86 segments fill. Beside them both versions allow for three of the bursts that a host with TSO sends
/// (bbr_quantization_budget; section "BBR.offload_budget"): 45 segments each for version 1, 64 KB for version 3.
#[test]
fn one_flow_in_a_rack() {
    let rack = [
        "duration=2s",
        "observe.warmup=200ms",
        "topology.access={ rate = \"25Gbps\", delay = \"5us\" }",
        "topology.bottleneck={ rate = \"10Gbps\", delay = \"40us\", buffer = \"1000pkt\" }",
        "observe.tcp.every=1ms",
    ];
    for (cc, most) in [("bbr", 86.0 + 3.0 * 45.0), ("bbr3", 86.0 + 3.0 * 64.0 * 1024.0 / 1448.0)] {
        let o = one(PATH, &[&rack[..], &[&format!("transport.cc={cc}")]].concat());
        let p = o.port("bottleneck");
        println!("{cc}: {:.0} Mbps, queue {:.0} packets, at most {}", goodput(&o), p.queue_mean_pkts, p.queue_max_pkts);
        assert!(goodput(&o) > 9_000.0, "{cc}: {} Mbps", goodput(&o));
        assert!(p.queue_mean_pkts < most, "{cc}: a queue of {}", p.queue_mean_pkts);
        assert_eq!(o.drops(), 0, "{cc}");
    }
}

/// Two flows never see an empty path by themselves: both reduce to four segments every 10 s, for at least 200 ms, and soon at the same time.
#[test]
fn the_window_dips_every_ten_seconds() {
    let o = one(PATH, &["duration=45s", "topology.left=2"]);
    let dips = dips(&o, 4.0);
    println!("{dips:?}");
    assert!(dips.len() >= 3, "{dips:?}");
    for &(_, length) in &dips {
        assert!((0.19..0.6).contains(&length), "{dips:?}");
    }
    for pair in dips.windows(2) {
        let apart = pair[1].0 - pair[0].0;
        assert!((9.5..12.0).contains(&apart), "{dips:?}");
    }
}

/// Shares of the long flows after the warm-up, in Mbps, in the order of their transports.
/// bbr_update_min_rtt: an RTT equal to the minimum does not restart the ten seconds. A flow below the path's capacity, limited by its receive window,
/// has the same RTT all the time.
#[test]
fn probe_rtt_reduces_window() {
    let o = one(PATH, &["duration=35s", r#"transport.rcv-wnd="16KB""#, "topology.bottleneck.rate=\"1Gbps\""]);
    let starts: Vec<f64> = dips(&o, 4.0).iter().map(|d| d.0).collect();
    println!("{starts:?}");
    assert_eq!(starts.len(), 3, "{starts:?}");
    for (start, at) in starts.iter().zip([10.0, 20.2, 30.4]) {
        assert!((start - at).abs() < 0.3, "{starts:?}");
    }
}

fn shares(o: &Outcome) -> Vec<f64> {
    let measured = o.report.flows.iter();
    let seconds = o.variant.config.duration.unwrap().as_secs_f64() - o.variant.config.observe.warmup.as_secs_f64();
    measured.map(|f| f.bytes_measured as f64 * 8.0 / seconds / 1e6).collect()
}

/// The publication's figure of fairness: flows that begin one after the other converge to equal shares.
#[test]
fn flows_of_one_version_share() {
    for cc in ["bbr", "bbr3"] {
        let set = format!("transport.cc={cc}");
        let o = one(PATH, &["duration=60s", "topology.left=2", "workload.0.stagger=5s", "observe.warmup=30s", &set]);
        let shares = shares(&o);
        println!("{cc}: {shares:?}, queue {:.0}", o.port("bottleneck").queue_mean_pkts);
        assert!(jain(&shares) > 0.9, "{cc}: {shares:?}");
        assert!(shares.iter().sum::<f64>() > 85.0, "{cc}: {shares:?}");
    }
}

/// Beside CUBIC, version 1 takes most of a shallow buffer, since it ignores losses. Of a deep buffer it takes less than CUBIC, since its window of
/// two bandwidth-delay products is the smaller (Hock, Bless, Zitterbart, ICNP 2017; Ware, Mukerjee, Seshan, Sherry, IMC 2019). Version 3 leaves more
/// of the shallow one.
#[test]
fn beside_cubic() {
    let share = |cc: &str, buffer: &str| {
        let text = format!(
            "{}[[transport.group]]\nname = \"new\"\ncc = \"{cc}\"\nshare = 0.5\n[[transport.group]]\nname = \"cubic\"\ncc = \"cubic\"\nshare = 0.5\n",
            PATH.replace("cc = \"bbr\"", "").replace("left = 1", "left = 2").replace("2000pkt", buffer)
        );
        let shares = shares(&one(&text, &["duration=60s", "observe.warmup=20s"]));
        println!("{cc} beside cubic, {buffer}: {shares:?}");
        shares[0] / shares.iter().sum::<f64>()
    };
    let (shallow, deep) = (share("bbr", "80pkt"), share("bbr", "3000pkt"));
    assert!(shallow > 0.8, "{shallow} of a shallow buffer");
    assert!(deep < 0.5, "{deep} of a deep buffer");
    let new = share("bbr3", "80pkt");
    assert!(new < shallow - 0.05, "version 3: {new}, version 1: {shallow}");
}

/// A congestion control that records segments needs a scoreboard.
#[test]
#[should_panic(expected = "SACK")]
fn bbr_without_sack_is_refused() {
    one(PATH, &["transport.recovery=newreno"]);
}

/// The first states are those of the draft, with the bandwidth of the link in the table when the pipe is full.
#[test]
fn states_are_in_the_tcp_table() {
    let o = one(&PATH.replace("\"bbr\"", "\"bbr3\"").replace("every = \"10ms\"", "every = \"ack\""), &["duration=5s"]);
    let mut states: Vec<&str> = o.report.tcp.iter().filter_map(|r| r.cc.text("cc_state")).collect();
    states.dedup();
    assert_eq!(states[..2], ["Startup", "Drain"], "{states:?}");
    for state in ["ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeBW_DOWN"] {
        assert!(states.contains(&state), "{state}: {states:?}");
    }
    let drain = o.report.tcp.iter().find(|r| r.cc.text("cc_state") == Some("Drain")).unwrap();
    let bw = drain.cc.int("max_bw_bps").unwrap() as f64;
    // Payload of full segments on 100 Mbps.
    assert!((bw / (100e6 * 1448.0 / 1538.0) - 1.0).abs() < 0.02, "{bw}");
    assert_eq!((drain.cc.int("full_bw_reached"), drain.cc.int("full_bw_count")), (Some(1), Some(3)));
    assert!((40_000_000..42_000_000).contains(&drain.cc.int("min_rtt_ns").unwrap()));
    assert_eq!(drain.cc.float("w_max"), None);
}
