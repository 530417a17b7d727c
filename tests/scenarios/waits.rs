//! Delay attribution on whole connections: each cause in a network with this cause only.

use forebay_experiment::rows::FlowRow;
use forebay_experiment::waits::Cause;
use forebay_tests::{Outcome, one};

const MS: u64 = 1_000_000_000;

fn scenario(topology: &str, transport: &str, rest: &str) -> String {
    format!("duration = \"3s\"\n[topology]\n{topology}\n[transport]\n{transport}\n{rest}")
}

fn cause(f: &FlowRow) -> (Cause, f64) {
    let w = f.waited.expect("it lost time");
    (w.cause, w.time_ps as f64 / MS as f64)
}

fn port(o: &Outcome, f: &FlowRow) -> String {
    let port = f.waited.and_then(|w| w.port()).expect("at a port");
    o.variant.port_names[port.index()].clone()
}

/// The windows of two senders share a port of a few packets.
const SMALL: &str = "kind = \"many-to-one\"\nsenders = 6\naccess = { rate = \"1Gbps\", delay = \"25us\" }\n\
                     bottleneck = { rate = \"1Gbps\", delay = \"25us\", buffer = \"8pkt\" }";
const BLOCKS: &str = "[[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nblock = \"14600B\"\nrounds = 20";

#[test]
fn lost_tail_waits_for_rto() {
    let o = one(&scenario(SMALL, "stack = \"ns2\"\ninit-cwnd = 10\nhandshake = false", BLOCKS), &[]);
    let late: Vec<&FlowRow> = o.report.flows.iter().filter(|f| f.rtos > 0).collect();
    assert!(late.len() > 4, "{}", late.len());
    for f in late {
        // The minimum timeout, doubled each time.
        assert_eq!(cause(f), (Cause::Timeout, 200.0 * f64::from((1 << f.rtos) - 1)));
    }
    for q in &o.report.queries {
        let slowest = &o.report.flows[q.slowest.unwrap() as usize];
        assert_eq!((slowest.end.ps(), slowest.waited, slowest.query_id), (q.end.ps(), q.waited, Some(q.query_id)));
    }
}

#[test]
fn lost_tail_waits_for_tlp() {
    let o = one(&scenario(SMALL, "stack = \"linux\"\nhandshake = false", BLOCKS), &[]);
    let probed =
        o.report.flows.iter().filter(|f| f.rtos == 0 && f.tlps == 1 && f.waited.is_some_and(|w| w.cause == Cause::Probe));
    let times: Vec<f64> = probed.map(|f| cause(f).1).collect();
    // Twice the smoothed round trip and two ticks of a millisecond; of a segment that is alone, the minimum RTO instead of them
    // (tcp_schedule_loss_probe).
    let (alone, others): (Vec<f64>, Vec<f64>) = times.iter().partition(|&&ms| ms > 200.0);
    assert!(others.len() > 2 && others.iter().all(|ms| (2.0..6.0).contains(ms)), "{times:?}");
    assert!(alone.iter().all(|ms| (200.0..204.0).contains(ms)), "{times:?}");
}

#[test]
fn a_lost_syn_waits_a_second() {
    let few = SMALL.replace("8pkt", "2pkt");
    let list = "[[workload]]\nkind = \"poisson\"\nfrom = \"senders\"\nto = \"receiver\"\nsizes = \"20KB\"\nload = 0.9\nload-at = \"bottleneck\"\nflows = 300";
    let o = one(&scenario(&few, "stack = \"linux\"", list), &[]);
    let lost: Vec<&FlowRow> = o.report.flows.iter().filter(|f| f.syn_rtos == 1 && f.rtos == 0 && !f.end.is_never()).collect();
    assert!(!lost.is_empty());
    for f in lost {
        assert_eq!(cause(f), (Cause::Syn, 1000.0));
    }
}

/// The same, ended before any timer of a SYN could expire: connections without an answer were not delayed by queues of two packets.
#[test]
fn pending_syn_timer_is_not_queueing() {
    let few = SMALL.replace("8pkt", "2pkt");
    let list = "[[workload]]\nkind = \"poisson\"\nfrom = \"senders\"\nto = \"receiver\"\nsizes = \"20KB\"\nload = 0.9\nload-at = \"bottleneck\"\nflows = 300";
    let o = one(&scenario(&few, "stack = \"linux\"", list), &["duration=500ms"]);
    let silent = |f: &&FlowRow| f.end.is_never() && f.syn_rtos == 0 && f.rtt_mean.is_never();
    let lost: Vec<&FlowRow> = o.report.flows.iter().filter(silent).collect();
    assert!(!lost.is_empty());
    for f in lost {
        assert_eq!(cause(f).0, Cause::Syn, "{f:?}");
    }
}

/// A window of one segment: the receiver delays its ACK, and the sender has more to send. Data waits without a timeout.
#[test]
fn window_of_one_waits_delayed_ack() {
    let pair = "kind = \"many-to-one\"\nsenders = 1\naccess = { rate = \"1Gbps\", delay = \"25us\" }\n\
                bottleneck = { rate = \"1Gbps\", delay = \"25us\", buffer = \"100pkt\" }";
    let train = "[[workload]]\nkind = \"on-off\"\nsizes = \"4380B\"\ngaps = \"10ms\"\ntrains = 1";
    for (delay, ms) in [("40ms", 40.0), ("200ms", 200.0)] {
        let stack = format!("stack = \"rfc\"\ninit-cwnd = 1\nquickack-count = 0\nack-delay = \"{delay}\"");
        let o = one(&scenario(pair, &stack, train), &[]);
        let f = &o.report.flows[0];
        assert_eq!((f.rtos, f.tlps, f.syn_rtos), (0, 0, 0));
        assert_eq!(cause(f), (Cause::DelayedAck, ms));
    }
}

#[test]
fn short_flows_wait_in_host_queue() {
    let pair = "kind = \"many-to-one\"\nsenders = 1\naccess = { rate = \"1Gbps\", delay = \"5us\" }\n\
                bottleneck = { rate = \"10Gbps\", delay = \"5us\", buffer = \"1000pkt\" }";
    let both = "[[workload]]\nkind = \"long\"\n[[workload]]\nkind = \"poisson\"\nclass = \"short\"\nfrom = \"senders\"\nto = \"receiver\"\n\
                sizes = \"10KB\"\nload = 0.02\nload-at = \"bottleneck\"\nstart = \"500ms\"\nflows = 50";
    let o = one(&scenario(pair, "stack = \"ns2\"", both), &[]);
    let short: Vec<&FlowRow> = o.report.flows.iter().filter(|f| f.size_bytes > 0).collect();
    assert!(short.len() >= 40);
    for f in short.iter().filter(|f| f.rtos + f.syn_rtos == 0) {
        assert_eq!((cause(f).0, port(&o, f).as_str()), (Cause::HostQueue, "s0->sw"));
    }
}

/// Blocks of DCTCP beside CUBIC in one FIFO that marks early: CUBIC fills it, DCTCP backs off.
#[test]
fn storage_is_starved_beside_cubic() {
    let rack = "kind = \"many-to-one\"\nsenders = 12\naccess = { rate = \"10Gbps\", delay = \"5us\" }\n\
                bottleneck = { rate = \"10Gbps\", delay = \"5us\", buffer = \"4000pkt\", queue = { kind = \"dctcp-step\", k = \"65pkt\" } }";
    let groups = "stack = \"linux\"\n[[transport.group]]\nname = \"storage\"\ncc = \"dctcp\"\n[[transport.group]]\nname = \"tenants\"\ncc = \"cubic\"";
    let both = "[[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nsenders = \"s0..s7\"\ntransport = \"storage\"\nblock = \"1MB\"\nrounds = 1\nstart = \"200ms\"\n\
                [[workload]]\nkind = \"long\"\nfrom = \"s8..s11\"\ntransport = \"tenants\"";
    let o = one(&scenario(rack, groups, both), &["duration=600ms"]);
    let storage: Vec<&FlowRow> = o.report.flows.iter().filter(|f| f.size_bytes > 0).collect();
    assert_eq!(storage.len(), 8);
    for f in storage {
        assert!(f.rtos > 0 || cause(f).0 == Cause::Share, "{:?}", f.waited);
        if cause(f).0 == Cause::Share {
            assert_eq!(port(&o, f), "bottleneck");
        }
    }
}

#[test]
fn hot_port_of_fabric_is_named() {
    let tree = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 6\nhost = { rate = \"1Gbps\", delay = \"2us\" }\n\
                fabric = { rate = \"10Gbps\", delay = \"2us\" }";
    let hot = "[[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nsenders = \"h6..h11\"\nreceiver = \"h0\"\nblock = \"64KB\"\nrounds = 3";
    let o = one(&scenario(tree, "stack = \"ns2\"", hot), &[]);
    for f in &o.report.flows {
        assert!(matches!(cause(f).0, Cause::Share | Cause::SwitchQueue), "{:?}", f.waited);
        assert!(port(&o, f).ends_with("->h0"), "{}", port(&o, f));
    }
}

/// Unanswered SYNs: the run ends while their timer runs, and the cause is not queueing.
#[test]
fn unanswered_syn_waits_until_end() {
    let deaf = "kind = \"many-to-one\"\nsenders = 3\naccess = { rate = \"1Gbps\", delay = \"20us\" }\n\
                bottleneck = { rate = \"1Gbps\", delay = \"20us\", buffer = \"300pkt\", queue = { kind = \"lossy\", p = 1.0 } }";
    let o = one(&scenario(deaf, "stack = \"linux\"", "[[workload]]\nkind = \"long\"\nsize = \"100KB\""), &[]);
    for f in &o.report.flows {
        assert_eq!(f.syn_rtos, 2, "a second apart, as Linux repeats the first four; the next would come at 3 s");
        let (of, ms) = cause(f);
        // All of the 3 s but for the slots of the timer wheel, 24 ms each, in which the two timers ran out.
        assert!(of == Cause::Syn && ms > 2_950.0, "{of:?} {ms}");
    }
}

/// All packets after 1 ms are lost: the timer that runs at the end of the run counts like expired ones.
#[test]
fn running_timer_at_end_counts() {
    let cut = "kind = \"dumbbell\"\nleft = 1\nright = 1\naccess = { rate = \"10Gbps\", delay = \"5us\" }\n\
               bottleneck = { rate = \"1Gbps\", delay = \"10us\", buffer = \"200pkt\" }\n\
               [[topology.failure]]\nlink = \"bottleneck\"\ndown = \"1ms\"";
    let o = one(&scenario(cut, "stack = \"ns2\"", "[[workload]]\nkind = \"long\"\nsize = \"10MB\""), &["duration=550ms"]);
    let f = &o.report.flows[0];
    let (of, ms) = cause(f);
    assert!(f.rtos == 1 && of == Cause::Timeout && ms > 540.0, "one timer of 200 ms ran out, that of 400 ms runs: {of:?} {ms}");
}

/// The last segments of a small window are lost, and the receiver delays the ACK of the one before them: the loss is not visible until its timer.
#[test]
fn delayed_ack_behind_loss_counts() {
    let small = "kind = \"many-to-one\"\nsenders = 24\naccess = { rate = \"1Gbps\", delay = \"25us\" }\n\
                 bottleneck = { rate = \"1Gbps\", delay = \"25us\", buffer = \"32pkt\" }";
    let blocks = "[[workload]]\nkind = \"incast\"\nrequest = \"0B\"\nblock = \"16KB\"\nrounds = 5";
    let o = one(&scenario(small, "stack = \"rfc\"\ncc = \"newreno\"", blocks), &["duration=20s"]);
    let held: Vec<&FlowRow> =
        o.report.flows.iter().filter(|f| f.rtos == 0 && f.end.ps().is_some_and(|end| end - f.start.0 > 100 * MS)).collect();
    assert!(held.len() > 5, "{}", held.len());
    for f in held {
        let (of, ms) = cause(f);
        assert!(of == Cause::DelayedAck && (95.0..105.0).contains(&ms), "{of:?} {ms}");
    }
}

#[test]
fn loss_on_idle_link_is_recovery() {
    let topology = "kind = \"dumbbell\"\nleft = 1\naccess = { rate = \"10Gbps\", delay = \"1ms\" }\n\
                    bottleneck = { rate = \"1Gbps\", delay = \"10ms\", loss = { drop = { connection = 0, packets = [4] } } }";
    let list = "[[workload]]\nkind = \"long\"\nsize = \"14KB\"";
    let o = one(&scenario(topology, "stack = \"linux\"\nhost = \"bare\"", list), &[]);
    let f = &o.report.flows[0];
    assert_eq!((f.segs_retx, f.rtos, f.tlps), (1, 0, 0));
    let (cause, ms) = cause(f);
    // The retransmission takes one more round trip of 24 ms.
    assert!(cause == Cause::Recovery && (23.5..25.0).contains(&ms), "{cause:?} {ms}");
}
