//! Flowlets in a guest: switches choose a random port behind a pause.

use crate::guest;
use crate::packets::both;
use forebay_experiment::report::Report;
use forebay_experiment::topology::find_port;

/// Messages between racks with two spines, of which the second has a quarter of the rate towards the receivers.
fn scenario(balance: &str) -> String {
    format!(
        r#"
duration = "20ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 8
host   = {{ rate = "10Gbps", delay = "1us", buffer = "500pkt" }}
fabric = {{ rate = "40Gbps", delay = "1us", buffer = "500pkt" }}
change = {{ port = "spine1->leaf1", at = "0s", rate = "10Gbps" }}
balance = {balance}
[transport]
stack = "linux"
cc = "cubic"
host = "bare"
[[workload]]
kind = "poisson"
from = "rack0"
to = "rack1"
sizes = {{ exponential = "200KB" }}
load = 0.4
"#
    )
}

/// Completion times of all messages, mean in us. A message that still runs has its time so far.
fn mean_us(r: &Report) -> f64 {
    let times: Vec<f64> = r.flows.iter().map(|f| (f.end.get().unwrap_or(r.end) - f.start).0 as f64 * 1e-6).collect();
    times.iter().sum::<f64>() / times.len() as f64
}

/// Share of the bytes towards the receivers that the slow spine carries.
fn slow_share(text: &str, r: &Report) -> f64 {
    let network = guest::experiment(text).network;
    let sent = ["spine0->leaf1", "spine1->leaf1"].map(|name| {
        let port = find_port(&network, name).unwrap();
        r.ports.iter().find(|p| p.port == port).unwrap().sent_bytes as f64
    });
    sent[1] / (sent[0] + sent[1])
}

/// Flowlets move traffic from the slow spine, as in the simulator, whose random numbers are others.
#[test]
fn flowlets_avoid_slow_spine() {
    let [flow, flowlet] = [scenario("\"flow\""), scenario("{ kind = \"flowlet\", gap = \"50us\" }")];
    let (Some(plain), Some(runs)) = (both(&flow), both(&flowlet)) else { return };
    let shares = [plain.each_ref().map(|r| slow_share(&flow, r)), runs.each_ref().map(|r| slow_share(&flowlet, r))];
    let means = [plain.each_ref().map(mean_us), runs.each_ref().map(mean_us)];
    println!("Linux and simulator: share of the slow spine {shares:.3?}, completion times {means:.0?} us");
    for world in 0..2 {
        assert!(shares[1][world] < shares[0][world] - 0.05, "{shares:?}");
        assert!(means[1][world] < 0.8 * means[0][world], "{means:?}");
    }
    assert!((shares[1][0] - shares[1][1]).abs() < 0.08, "{shares:?}");
}

/// With a gap that no connection reaches, each takes one of the spines at random for all of its packets.
#[test]
fn flows_without_pauses_keep_path() {
    let text = scenario("{ kind = \"flowlet\", gap = \"1s\" }");
    let Some(runs) = both(&text) else { return };
    let shares = runs.each_ref().map(|r| slow_share(&text, r));
    println!("share of the slow spine {shares:.3?}");
    assert!(shares.iter().all(|s| (0.3..0.7).contains(s)), "each spine is as likely: {shares:?}");
}
