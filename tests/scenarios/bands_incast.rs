//! Barrier rounds under the stock Linux stack, compared with Linux 6.12 in virtual time (User-mode Linux). With 64 KB from each sender, 1 Gbps, 64
//! packets and 50 rounds it has 780 Mbps from one sender. From 32 senders it has 76 Mbps, since every round waits for a timeout.

use forebay_tests::one;

const INCAST: &str = r#"
[topology]
kind = "many-to-one"
senders = 32
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "64pkt" }
[transport]
stack = "linux"
cc = "cubic"
[[workload]]
kind = "incast"
request = "0B"
block = "64KB"
rounds = 50
"#;

/// Mbps over all rounds and timeouts a round, means of three seeds.
fn incast(sets: &[&str]) -> (f64, f64) {
    let runs = (1..4).map(|seed| {
        let seed = format!("seed={seed}");
        let o = one(INCAST, &[&[seed.as_str()], sets].concat());
        let end = o.report.flows.iter().map(|f| f.end.ps().expect("delivered")).max().unwrap();
        let bytes: u64 = o.report.flows.iter().map(|f| f.size_bytes).sum();
        (bytes as f64 * 8e6 / end as f64, o.rtos() as f64 / 50.0)
    });
    let sum = runs.fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    (sum.0 / 3.0, sum.1 / 3.0)
}

#[test]
fn goodput_of_the_kernel() {
    for jitter in [&[][..], &["transport.send-jitter=0s"]] {
        let (alone, timeouts) = incast(&[&["topology.senders=1"], jitter].concat());
        assert!((alone / 780.0 - 1.0).abs() < 0.05 && timeouts == 0.0, "{jitter:?}: {alone:.1} Mbps, {timeouts} timeouts");
        let (many, timeouts) = incast(jitter);
        println!("{jitter:?}: {alone:.1} Mbps; {many:.1} Mbps, {timeouts:.2} timeouts a round");
        assert!((many / 76.0 - 1.0).abs() < 0.3, "{jitter:?}: {many:.1} Mbps, {timeouts} timeouts a round");
    }
}
