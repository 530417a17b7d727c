//! Packets that reach a switch at the same instant, which equal rates and exact times make common. The order of such packets determines the shares of
//! the link. Reference values are those of stock ns-2 (2.35, Debian package) on the same starts.

use forebay_tests::{Outcome, jain, one, repository};
use forebay_types::{GroupId, Time};

/// NewReno senders on access links as fast as `access`, into a link of 1 Gbps; every delay is `delay`.
fn long(senders: u32, access: &str, delay: &str, bottleneck: &str, observe: &str) -> String {
    format!(
        r#"
[topology]
kind = "many-to-one"
senders = {senders}
access     = {{ rate = "{access}", delay = "{delay}" }}
bottleneck = {{ rate = "1Gbps", delay = "{delay}", {bottleneck} }}
[transport]
stack = "ns2"
cc = "newreno"
[[workload]]
kind = "long"
{observe}"#
    )
}

/// Share of the link of each flow in the measured interval.
fn goodputs(o: &Outcome) -> Vec<f64> {
    let measured = (o.report.end.0 - o.report.measured_from.0) as f64 * 1e-12;
    o.report.flows.iter().map(|f| f.bytes_measured as f64 * 8.0 / 1e9 / measured).collect()
}

/// With priority for the lowest port, the first of two senders at link rate would get every free place in the full queue. It would have all of the
/// link except the other's share before its first loss. ns-2 with faster access links: mean queue 0.76 of the buffer, ratio 1.00 to 1.02.
#[test]
fn two_senders_share() {
    for access in ["1Gbps", "10Gbps"] {
        let delay = if access == "1Gbps" { "56420ns" } else { "59110ns" };
        let text = long(2, access, delay, "buffer = \"250pkt\"", "jitter = \"1ms\"\n[observe]\nwarmup = \"1s\"\n");
        for seed in 1..=10 {
            let o = one(&text, &["duration=6s", &format!("seed={seed}")]);
            let (queue, g) = (o.port("bottleneck").queue_mean_pkts / 250.0, goodputs(&o));
            let ratio = g[0] / g[1];
            println!("{access} seed {seed}: queue {queue:.3}, ratio {ratio:.3}, timeouts {}", o.rtos());
            assert!((0.72..0.80).contains(&queue), "{access} seed {seed}: {queue}");
            assert!((0.9..1.1).contains(&ratio), "{access} seed {seed}: {g:?}");
        }
    }
}

/// With priority for the lowest port, Jain's index would be 0.24 here. With a jitter of up to a segment's time instead, the link would carry 0.946.
/// With random ties alone, the queue would be 81 and every other run would have a timeout. ns-2: goodput 0.972 of the link, Jain's index 0.997, mean
/// queue 76.1 packets.
#[test]
fn five_equal_senders_fill_the_link() {
    // A FIFO, and the same as a port with a buffered discipline.
    let plain = "buffer = \"100pkt\"";
    let room = "buffer = \"100pkt\", queue = \"strict-priority\"";
    for (what, bottleneck) in [("fifo", plain), ("room", room)] {
        let text = long(5, "1Gbps", "50us", bottleneck, "[observe]\nwarmup = \"50ms\"\n");
        for seed in 1..=10 {
            let o = one(&text, &["duration=250ms", &format!("seed={seed}")]);
            let g = goodputs(&o);
            let (goodput, queue) = (g.iter().sum::<f64>(), o.port("bottleneck").queue_mean_pkts);
            println!("{what} seed {seed}: goodput {goodput:.4}, jain {:.4}, queue {queue:.2}", jain(&g));
            assert!(goodput > 0.96, "{what} seed {seed}: {goodput}");
            assert!(jain(&g) > 0.95, "{what} seed {seed}: {g:?}");
            assert!((72.0..80.0).contains(&queue), "{what} seed {seed}: {queue}");
        }
    }
}

/// Continuous sources have the same order all the time, so only the hash decides. With priority for the lowest port, one of three at link rate would
/// get everything (index 0.33), also with shared memory.
#[test]
fn link_rate_sources_share_equally() {
    for shared in ["", "shared-buffer = \"150KB\"\n"] {
        let text = format!(
            "[topology]\nkind = \"many-to-one\"\nsenders = 3\naccess = {{ rate = \"1Gbps\", delay = \"50us\" }}\n\
             bottleneck = {{ rate = \"1Gbps\", delay = \"50us\", buffer = \"100pkt\" }}\n{shared}\
             [[workload]]\nkind = \"udp\"\nrate = \"1Gbps\"\n"
        );
        let o = one(&text, &["duration=1s"]);
        let got: Vec<f64> = o.report.flows.iter().map(|f| f.bytes_acked as f64).collect();
        println!("{shared}{got:?}");
        assert!(jain(&got) > 0.97, "{shared}{got:?}");
    }
}

/// A jitter of a segment's time on links of 1 Gbps would move packets by ten packet times of these links: 55 and 44 % utilization. ns-2 with 2 us of
/// random processing: 96 and 95 %.
#[test]
fn trim_keeps_both_bottlenecks_busy() {
    let text = std::fs::read_to_string(repository().join("papers/trim/fig10.toml")).unwrap();
    let text = text.replace("send-jitter = \"2us\"", "#");
    for cc in ["transport.cc=\"trim\"", "transport.cc={ kind = \"trim\", rate = \"10Gbps\", buffer = \"245pkt\" }"] {
        for seed in 1..=2 {
            let o = one(&text, &[cc, "duration=800ms", "observe.warmup=300ms", &format!("seed={seed}")]);
            assert_eq!(o.variant.config.groups[GroupId::new(0)].tcp.send_jitter, Time::ZERO, "nothing needs a jitter by default");
            let busy = ["link1", "link2"].map(|l| o.port(l).busy);
            println!("{cc} seed {seed}: {busy:?}");
            assert!(busy.iter().all(|b| *b > 0.9), "{cc} seed {seed}: {busy:?}");
        }
    }
}
