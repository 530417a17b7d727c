//! Table of timeouts: the timeouts that messages count, with their times.

use forebay_experiment::rows::{FlowRow, TimeoutKind, TimeoutRow};
use forebay_tests::one;

/// Collapsing barrier rounds; a buffer so small that SYNs are lost too.
const INCAST: &str = r#"
[topology]
kind = "many-to-one"
senders = 40
access = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "8pkt" }
[transport]
stack = "ns2"
rto-min = "50ms"
[[workload]]
kind = "incast"
request = "0B"
block = "32KB"
rounds = 6
"#;

#[test]
fn each_timeout_has_a_row() {
    for sets in [&["transport.stack=ns2"][..], &["transport.stack=linux"], &["transport.cc=pfabric"], &["seed=5"]] {
        let o = one(INCAST, sets);
        let rows = o.report.timeouts.to_vec();
        assert!(rows.len() > 20, "{sets:?}: {}", rows.len());
        assert!(rows.is_sorted_by_key(|t| (t.time_ps, t.conn_id)), "{sets:?}");
        let mut counted = 0;
        for f in &o.report.flows {
            let own: Vec<&TimeoutRow> = rows.iter().filter(|t| t.flow_id == Some(f.flow_id)).collect();
            let of = |kind| own.iter().filter(|t| t.kind == kind).count() as u32;
            let (head, tail, other, syn) =
                (of(TimeoutKind::Head), of(TimeoutKind::Tail), of(TimeoutKind::Other), of(TimeoutKind::Syn));
            assert_eq!((head, tail, head + tail + other, syn), (f.rtos_head, f.rtos_tail, f.rtos, f.syn_rtos), "{sets:?} {f:?}");
            let within = |t: &&TimeoutRow| t.time_ps >= f.start.0 && f.acked.ps().is_none_or(|acked| t.time_ps <= acked);
            let same = |t: &&TimeoutRow| {
                (t.conn_id, t.src, t.dst, t.group, t.workload) == (f.conn_id, f.src, f.dst, f.group, f.workload)
            };
            assert!(own.iter().all(within) && own.iter().all(same), "{sets:?} {f:?} {own:?}");
            counted += own.len();
        }
        assert_eq!(counted, rows.len(), "{sets:?}: some belong to no message");
    }
}

/// RFC 6298 section 5: the timer is started by what is sent (5.1), restarted by an ACK of new data (5.3) and by the retransmission of a
/// timeout, doubled (5.5 and 5.6). Without timestamps an ACK of what was retransmitted restarts it with the back-off still in force.
#[test]
fn timeout_row_has_waiting_time() {
    let mut restarted = [0, 0];
    let all = format!("observe.tcp={{ flows = {:?}, every = \"ack\" }}", (0..40).collect::<Vec<_>>());
    for timestamps in [false, true] {
        let o = one(INCAST, &[&format!("transport.timestamps={timestamps}"), &all]);
        let mut backed_off = 0;
        for f in o.report.flows.iter().filter(|f: &&FlowRow| f.rtos > 1) {
            let own: Vec<TimeoutRow> = o.report.timeouts.iter().filter(|t| t.flow_id == Some(f.flow_id)).collect();
            for pair in own.windows(2).filter(|p| p[1].backoff == p[0].backoff + 1 && p[0].kind != TimeoutKind::Syn) {
                assert_eq!(pair[1].rto_ps, 2 * pair[0].rto_ps, "{pair:?}");
                // Acknowledged bytes at each time; the last time between the two at which they grew.
                let acked = o.report.tcp.iter().filter(|r| r.conn_id == f.conn_id && r.time_ps <= pair[1].time_ps);
                let acked: Vec<(u64, u64)> = acked.map(|r| (r.time_ps, r.bytes_acked)).collect();
                let grew = acked.windows(2).filter(|a| a[1].1 > a[0].1 && a[1].0 > pair[0].time_ps).map(|a| a[1].0).next_back();
                restarted[usize::from(timestamps)] += u32::from(grew.is_some());
                assert_eq!(pair[1].time_ps - grew.unwrap_or(pair[0].time_ps), pair[1].rto_ps, "{pair:?} {grew:?}");
                backed_off += 1;
            }
        }
        assert!(backed_off > 0, "no sender timed out twice in a row");
    }
    // A timestamp's sample ends the back-off, so that what follows an ACK is no longer backed off.
    assert!(restarted[0] > 0 && restarted[1] == 0, "{restarted:?}");
}

#[test]
fn timeout_recording_does_not_change_results() {
    let (on, off) = (one(INCAST, &[]), one(INCAST, &["observe.timeouts=false"]));
    assert!(off.report.timeouts.is_empty());
    assert_eq!(on.report.fingerprint, off.report.fingerprint);
    assert_eq!(on.report.flows, off.report.flows);
}

/// Packets that arrive out of order are repaired without a timeout: `rto-min` is longer than the run.
const SPRAYED: &str = r#"
duration = "20ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts-per-leaf = 4
host = { rate = "10Gbps", delay = "1us", buffer = "500pkt" }
fabric = { rate = "10Gbps", delay = "1us", buffer = "500pkt" }
balance = "packet"
[transport]
rto-min = "1s"
[[workload]]
kind = "long"
from = "rack0"
to = "rack1"
pattern = "pairwise"
"#;

/// `rto-rule` is a formula: it does not decide which stack a sender follows.
#[test]
fn rto_rule_needs_timeouts_for_effect() {
    for (stack, recoveries) in [("rfc", ["rack", "sack"]), ("ns2", ["newreno", "rack"]), ("linux", ["rack", "newreno"])] {
        for recovery in recoveries {
            let [stack, recovery] = [format!("transport.stack={stack}"), format!("transport.recovery={recovery}")];
            let run = |rule: &str| {
                let rule = format!("transport.rto-rule={rule}");
                let o = one(SPRAYED, &[&stack, "transport.cc=cubic", "transport.rto-min=1s", &recovery, &rule]);
                assert_eq!(o.report.timeouts.iter().filter(|t| t.kind.is_timeout()).count(), 0, "{stack} {recovery} {rule}");
                o.report.fingerprint
            };
            assert_eq!(run("rfc6298"), run("linux"), "{stack} {recovery}");
        }
    }
}
