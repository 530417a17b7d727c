//! TCP small queues: a Linux sender does not fill its own host's interface, which has no other limit, without loss of goodput.

use forebay_tests::{Outcome, jain, one};

/// One flow whose own host's link is the bottleneck; round trip about 320 us when idle.
const OWN_LINK: &str = r#"
duration = "2s"
[topology]
kind = "many-to-one"
senders = 1
access     = { rate = "100Mbps", delay = "50us" }
bottleneck = { rate = "1Gbps", delay = "50us", buffer = "250pkt" }
[transport]
stack = "linux"
host = "bare"
[[workload]]
kind = "long"
jitter = "1ms"
[observe]
warmup = "500ms"
"#;

/// Largest mean RTT of a flow, ms. The start, with its short queues, is a small part of it.
fn rtt(o: &Outcome) -> f64 {
    o.report.flows.iter().filter_map(|f| f.rtt_mean.ps()).map(|rtt| rtt as f64 * 1e-9).fold(0.0, f64::max)
}

/// Payload a second of the whole run behind the warm-up, bit/s.
fn goodput(o: &Outcome, seconds: f64) -> f64 {
    o.report.flows.iter().map(|f| f.bytes_measured as f64).sum::<f64>() * 8.0 / seconds
}

/// The kernel has an RTT of 3.5 to 8.8 ms here, of which its own interface's queue is the most; without the limit the whole receive
/// window waits there, half a second at this rate.
#[test]
fn tsq_keeps_interface_queue_short() {
    for name in ["newreno", "cubic"] {
        let cc = format!("transport.cc={name}");
        let (limited, free) =
            (one(OWN_LINK, &[&cc]), one(OWN_LINK, &[&cc, "transport.tsq=false", "transport.slow-start=standard"]));
        println!("{name}: {:.2} ms, without limit {:.1} ms", rtt(&limited), rtt(&free));
        assert!((1.0..10.0).contains(&rtt(&limited)), "{name}: {} ms", rtt(&limited));
        assert!(rtt(&free) > 100.0, "{name}: the limit is not what keeps the queue short: {} ms", rtt(&free));
        assert!(goodput(&limited, 1.5) > 0.999 * goodput(&free, 1.5), "{name}: {}", goodput(&limited, 1.5));
        assert_eq!((limited.drops(), limited.rtos()), (0, 0), "{name}");
    }
}

/// The window that the interface leaves unused does not grow (Linux tcp_is_cwnd_limited): in slow start to twice what is outstanding.
#[test]
fn tsq_limited_window_does_not_grow() {
    let o = one(OWN_LINK, &["transport.cc=newreno"]);
    let window = o.report.flows[0].cwnd_max;
    assert!(window < 200.0, "{window} segments for a path of 3 and an interface of 40");
}

/// Several connections of one host have separate limits, and together they fill the link. Their shares follow from their starts, since the limit is 1
/// ms of the pacing rate. No connection starves, as two segments are always allowed.
#[test]
fn flows_of_one_host() {
    for (flows, most) in [(2, 10.0), (5, 10.0), (20, 20.0)] {
        let per_pair = format!("workload.0.per-pair={flows}");
        let o = one(OWN_LINK, &["transport.cc=newreno", &per_pair, "workload.0.jitter=10ms"]);
        let shares: Vec<f64> = o.report.flows.iter().map(|f| f.bytes_measured as f64).collect();
        let payload = goodput(&o, 1.5) / 100e6;
        println!("{flows} flows: {:.2} ms, goodput {payload:.4}, jain {:.3}", rtt(&o), jain(&shares));
        assert!(rtt(&o) < most, "{flows} flows: {} ms", rtt(&o));
        assert!(payload > 0.964, "{flows} flows: {payload}");
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least * f64::from(flows) > 0.1 * shares.iter().sum::<f64>(), "{flows} flows: {shares:?}");
    }
}

/// The limit costs at most half a percent of goodput, at any rate, at the bottleneck and elsewhere.
#[test]
fn bulk_goodput_stays() {
    for (access, bottleneck) in [("1Gbps", "10Gbps"), ("10Gbps", "10Gbps"), ("10Gbps", "1Gbps"), ("1Gbps", "1Gbps")] {
        let rates = [format!("topology.access.rate={access}"), format!("topology.bottleneck.rate={bottleneck}")];
        let sets = |tsq: &'static str| {
            let o = one(OWN_LINK, &[&rates[0], &rates[1], "duration=700ms", "transport.cc=cubic", tsq]);
            goodput(&o, 0.2)
        };
        let (with, without) = (sets("transport.tsq=true"), sets("transport.tsq=false"));
        println!("{access} to {bottleneck}: {:.1} and {:.1} Mbit/s", with * 1e-6, without * 1e-6);
        assert!(with > 0.995 * without, "{access} to {bottleneck}: {with} for {without}");
    }
}

/// A short message on a connection on which everything is acknowledged leaves at once (tcp_should_autocork). Without SACK the
/// sender passes the segments of a burst one by one to the fair queue of its host, which reports their departure together.
#[test]
fn short_message_leaves_idle_connection() {
    let text = r#"
duration = "100ms"
[topology]
kind = "fat-tree"
k = 2
host = { rate = "37Mbps", delay = "0ns", queue = { kind = "dctcp-step", k = "2pkt" } }
fabric = { rate = "37Mbps", delay = "0ns", queue = { kind = "dctcp-step", k = "2pkt" } }
[transport]
stack = "linux"
cc = "reno"
init-cwnd = 3
ack-every = 3
isn = 0
rto-min = "100us"
rto-initial = "100us"
ack-delay = "970us"
rcv-wnd = "25185B"
handshake = false
fin = false
timestamps = false
limited-transmit = false
prr = false
cwnd-validation = false
recovery = "reno"
slow-start-after-idle = "off"
growth = "per-ack"
mss = 197
[[workload]]
kind = "on-off"
from = "all"
to = "all"
pattern = "permutation"
sizes = { exponential = "10323B" }
gaps = { exponential = "1us" }
trains = 2
gap-from = "completion"
"#;
    let o = &forebay_tests::execute(&forebay_tests::resolve(text, &[], Some(121_950))[0].config);
    assert!(o.flows.len() == 4 && o.flows.iter().all(|f| f.bytes_acked == f.size_bytes), "{:?}", o.flows);
}
