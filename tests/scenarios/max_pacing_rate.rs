//! Rate limit of a connection (SO_MAX_PACING_RATE), against times that are computed by hand.

use forebay_tests::{Outcome, execute, resolve};
use forebay_types::Time;

/// One message of 1000 segments at 100 Mbps over a path of 10 Gbps.
const LIMITED: &str = r#"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "10Gbps", delay = "5us" }
bottleneck = { rate = "10Gbps", delay = "5us", buffer = "100pkt" }
[transport]
cc = "cubic"
host = "bare"
max-pacing-rate = "100Mbps"
[[workload]]
kind = "long"
size = "1448000B"
"#;

fn run(sets: &[&str]) -> Outcome {
    let mut variant = resolve(LIMITED, sets, None).remove(0);
    variant.config.observe.packets = true;
    let report = execute(&variant.config);
    Outcome { variant, report }
}

/// Arrivals of the segments.
fn arrivals(o: &Outcome) -> Vec<u64> {
    o.report.packets.iter().filter(|p| p.payload > 0).map(|p| p.time_ps).collect()
}

/// 1448 bytes take 115.84 us at 100 Mbps. The first ten segments leave at once, the eleventh and each later one 115.84 us after the one before. SYN and
/// SYN-ACK take 10.0832 us each, rounded up to nanoseconds in Linux's clock, the last segment 12.4 us.
#[test]
fn segments_leave_at_maximum_rate() {
    for stack in ["linux", "rfc"] {
        let (stack, header) = (format!("transport.stack={stack}"), ["transport.mss=1448", "transport.header=52"]);
        let o = run(&[&stack, header[0], header[1], "transport.ack-size=52", "transport.tsq=false"]);
        let times = arrivals(&o);
        assert_eq!(times.len(), 1000);
        assert!(times[..10].windows(2).all(|w| w[1] - w[0] == Time::from_ns(1_200).0), "{:?}", &times[..11]);
        // The tenth of the burst has waited in its host's interface: for nine segments, and for the last packet of the handshake, 41.6 ns.
        assert_eq!(times[10] - times[9], Time::from_ns(115_840 - 9 * 1_200).0 - 41_600, "{stack}");
        assert!(times[10..].windows(2).all(|w| w[1] - w[0] == Time::from_ns(115_840).0), "{stack}");
        let flow = &o.report.flows[0];
        let time = flow.end.get().unwrap() - flow.start;
        let exact = Time::from_ns(990 * 115_840 + 12_400) + Time(2 * 10_083_200);
        assert!(time >= exact && time - exact < Time::from_ns(3), "{stack}: {time}, {exact}");
    }
}

/// A limit above the rate of the path paces without limiting: the link is full.
#[test]
fn limit_above_path_is_not_reached() {
    let rate = |limit: &str| {
        let o = run(&["topology.bottleneck.rate=1Gbps", "workload.0.size=100MB", limit]);
        let flow = &o.report.flows[0];
        1e8 * 8e3 / (flow.end.get().unwrap() - flow.start).0 as f64
    };
    // 1448 of 1500 bytes are payload: 0.965 Gbps. 80 % of it with the lower limit.
    assert!(rate("transport.max-pacing-rate=5Gbps") > 0.96);
    assert!((0.799..0.8001).contains(&rate("transport.max-pacing-rate=800Mbps")));
}

/// Groups have limits of their own, and the sum of both fits into the link.
#[test]
fn group_has_own_limit() {
    let groups = "[[transport.group]]\nname = \"repair\"\nmax-pacing-rate = \"100Mbps\"\n[[transport.group]]\nname = \"reads\"\nmax-pacing-rate = \"500Mbps\"\n[[workload]]\n\
                  kind = \"long\"\ntransport = \"repair\"\n[[workload]]\nkind = \"long\"\nclass = \"other\"\ntransport = \"reads\"\n";
    let text = LIMITED.replace("max-pacing-rate = \"100Mbps\"\n", groups);
    let text = text.replace("[[workload]]\nkind = \"long\"\nsize = \"1448000B\"\n", "");
    let text = format!("duration = \"300ms\"\n{}\n[observe]\nwarmup = \"100ms\"\n", text.replace("10Gbps", "1Gbps"));
    let o = forebay_tests::one(&text, &[]);
    let share = |group: usize| {
        let of = o.report.flows.iter().filter(|f| f.group.index() == group);
        of.map(|f| f.bytes_measured as f64 * 8.0 / 0.2 / 1e6).sum::<f64>()
    };
    assert!((99.9..100.1).contains(&share(0)), "{} Mbps", share(0));
    assert!((499.5..500.5).contains(&share(1)), "{} Mbps", share(1));
}
