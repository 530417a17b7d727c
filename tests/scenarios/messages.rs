//! Counters of a message cover its own segments, also while an earlier one is unacknowledged.

use forebay_experiment::rows::{FlowRow, TimeoutKind};
use forebay_tests::{one, repository, run};
use forebay_types::GroupId;
use std::collections::BTreeMap;

/// Segments that a message needs by itself.
fn needs(f: &FlowRow, mss: u64) -> u64 {
    f.size_bytes.div_ceil(mss)
}

/// Counting all segments for the oldest unacknowledged message would give 210 of the 1005 messages fewer segments than their bytes need.
#[test]
fn segments_count_for_their_message() {
    let text = std::fs::read_to_string(repository().join("scenarios/persistent-connections.toml")).unwrap();
    for stack in ["ns2", "linux", "rfc"] {
        let outcomes = run(&text, &["runs=1", &format!("transport.stack={stack}")]);
        for o in &outcomes {
            let mss = u64::from(o.variant.config.groups[GroupId::new(0)].tcp.mss);
            let mut by_connection: BTreeMap<u64, Vec<&FlowRow>> = BTreeMap::new();
            for f in &o.report.flows {
                by_connection.entry(f.conn_id).or_default().push(f);
            }
            let mut pipelined = 0;
            for flows in by_connection.values_mut() {
                flows.sort_by_key(|f| f.start.0);
                for pair in flows.windows(2) {
                    pipelined += usize::from(pair[0].acked.ps().is_none_or(|acked| acked > pair[1].start.0));
                }
                // A message that begins inside a segment of the one before has one segment less.
                for f in flows.iter().filter(|f| !f.acked.is_never()) {
                    let first_time = f.segs_sent - f.segs_retx;
                    assert!(first_time + 1 >= needs(f, mss), "{stack}: {first_time} segments for {} bytes", f.size_bytes);
                }
                // All bytes were sent once, in segments of at most mss.
                if flows.iter().all(|f| !f.acked.is_never()) {
                    let sent: u64 = flows.iter().map(|f| f.segs_sent - f.segs_retx).sum();
                    let bytes: u64 = flows.iter().map(|f| f.size_bytes).sum();
                    // A FIN may leave in a segment of its own.
                    assert!(
                        (bytes.div_ceil(mss)..=flows.iter().map(|f| needs(f, mss) + 1).sum()).contains(&sent),
                        "{stack}: {sent} for {bytes}"
                    );
                }
            }
            assert!(pipelined > 50, "{stack}: {pipelined} messages were written behind an unacknowledged one");
        }
    }
}

/// A sender of an incast under Linux loses the tail of its block: the tail loss probe instead of a timeout is counted.
#[test]
fn tail_loss_probes_have_rows() {
    let o = one(
        r#"
duration = "5s"
[topology]
kind = "many-to-one"
senders = 24
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "40pkt" }
[transport]
stack = "linux"
cc = "newreno"
[[workload]]
kind = "incast"
request = "0B"
block = "32KB"
rounds = 10
"#,
        &[],
    );
    let (tlps, rtos): (u32, u32) = o.report.flows.iter().fold((0, 0), |sum, f| (sum.0 + f.tlps, sum.1 + f.rtos));
    let rows = |of: fn(TimeoutKind) -> bool| o.report.timeouts.iter().filter(|t| of(t.kind)).count();
    let probes = rows(|kind| kind == TimeoutKind::Probe);
    assert!(tlps > 0, "a buffer of 40 packets loses tails");
    assert_eq!((probes, rows(TimeoutKind::is_timeout)), (tlps as usize, rtos as usize));
    for t in o.report.timeouts.iter().filter(|t| t.kind == TimeoutKind::Probe) {
        let f = o.report.flows.iter().find(|f| Some(f.flow_id) == t.flow_id).expect("a probe belongs to a message");
        assert!(f.tlps > 0 && (f.start.0..=f.acked.ps().unwrap_or(u64::MAX)).contains(&t.time_ps), "{t:?} is not of {f:?}");
    }
}
