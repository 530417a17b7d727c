//! Errors of other simulators in DCTCP, and the corner cases of its specification: one test each, on whole connections, over every stack.

use crate::scripted::pipe::{Fate, LOSE, MARK, PASS, Pipe, PipePacket, Point};
use crate::scripted::{US, config_with};
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::profile::PROFILES;
use forebay_sim::tcp::sender::CaState;
use forebay_types::param::Value;

const SECONDS: u64 = 1_000_000_000_000;

/// DCTCP on `stack` in real numbers, as RFC 8257 writes it, with at most 40 segments outstanding so that windows stay comparable.
fn dctcp(stack: &str) -> TcpConfig {
    let mut c = config_with(stack, "dctcp", &[], &real());
    c.rcv_wnd = 40_000;
    c
}

/// Real numbers on every stack, for the formulas of the RFCs.
fn real() -> [(&'static str, Value); 1] {
    [("arithmetic", Value::Text("paper".into()))]
}

/// Runs a transfer of `segments` and returns the trace of the sender.
fn run(
    c: TcpConfig,
    segments: u64,
    judge: impl FnMut(&PipePacket) -> Fate,
) -> (Vec<Point>, Pipe<impl FnMut(&PipePacket) -> Fate>) {
    let mut pipe = Pipe::new(c, judge);
    pipe.transfer(segments * 1000, 1000 * SECONDS);
    (pipe.trace.clone(), pipe)
}

/// Marks the first transmissions of the segments for which `which` is true.
fn mark(which: impl Fn(u64) -> bool) -> impl FnMut(&PipePacket) -> Fate {
    move |p| if p.data && p.len > 0 && which(p.offset as u64 / 1000) { MARK } else { PASS }
}

/// Steps that lowered the threshold: (before, after).
fn cuts(trace: &[Point]) -> Vec<(Point, Point)> {
    trace.windows(2).filter(|w| w[1].ssthresh != w[0].ssthresh).map(|w| (w[0], w[1])).collect()
}

/// Window or flight from which `stack` reduces, in segments, with a receive window of 40: Linux the window, the others its usable part.
fn base(stack: &str, before: &Point) -> f64 {
    if stack == "linux" { before.cwnd } else { before.cwnd.min(40.0) }
}

/// ns-3 calls its DCTCP for the threshold before the connection's state shows the loss, and gets alpha / 2 instead of a half. RFC 8257 section 3.5:
/// losses as in conventional TCP.
#[test]
fn ns3_loss_halves_despite_small_alpha() {
    for stack in PROFILES {
        // No marks, so alpha decays; one segment is lost in the middle.
        let (trace, _) = run(dctcp(stack), 3000, |p| if p.offset == 2_000_000 && p.again == 0 && p.data { LOSE } else { PASS });
        let cuts = cuts(&trace);
        assert_eq!(cuts.len(), 1, "{stack}");
        let (before, after) = cuts[0];
        assert!(before.alpha < 0.05, "{stack}: {}", before.alpha);
        assert_eq!(after.ca, CaState::Recovery, "{stack}");
        let base = base(stack, &before);
        assert_eq!(after.ssthresh, base / 2.0, "{stack}");
        assert_eq!(after.alpha, before.alpha, "{stack}: a loss leaves alpha alone");
    }
}

/// The same with a timeout.
#[test]
fn ns3_timeout_halves_despite_small_alpha() {
    for stack in PROFILES {
        // Linux' tail loss probe, which repeats the last segment of the window, must be lost as well.
        let lost = |p: &PipePacket| {
            p.data && p.again < 1 + usize::from(p.offset == 2_039_000) && (2_000_000..2_060_000).contains(&p.offset)
        };
        let (trace, pipe) = run(dctcp(stack), 3000, |p| if lost(p) { LOSE } else { PASS });
        assert!(pipe.sender.stats().losses.rtos > 0, "{stack}");
        let (before, after) = cuts(&trace)[0];
        assert!(before.alpha < 0.05, "{stack}: {}", before.alpha);
        let base = base(stack, &before);
        assert_eq!((after.ssthresh, after.ca, after.alpha), (base / 2.0, CaState::Loss, before.alpha), "{stack}");
    }
}

/// htsim reduces once a round trip as soon as alpha is above 0, with or without marks. RFC 8257 section 3.3: only on ECE.
#[test]
fn htsim_no_reduction_without_marks() {
    for stack in PROFILES {
        let (trace, _) = run(dctcp(stack), 3000, mark(|n| n < 100 && n % 3 == 0));
        let cuts = cuts(&trace);
        assert!(cuts.len() > 2, "{stack}: the marks did cut");
        let last = cuts.last().unwrap().1;
        assert!(last.una < 150_000, "{stack}: a cut at {}", last.una);
        let after: Vec<&Point> = trace.iter().filter(|p| p.now > last.now && p.ca == CaState::Open).collect();
        assert!(after.len() > 20 && after.iter().all(|p| p.alpha > 0.0), "{stack}");
        assert!(after.windows(2).all(|w| w[1].cwnd >= w[0].cwnd), "{stack}: the window shrank without a mark");
    }
}

/// INET overwrites the threshold of the reduction. RFC 8257 section 3.3: cwnd = ssthresh = cwnd (1 - alpha / 2), until the next reduction.
#[test]
fn inet_threshold_equals_reduced_window() {
    for stack in PROFILES {
        let (trace, pipe) = run(dctcp(stack), 2000, mark(|n| n % 50 == 49));
        let cuts = cuts(&trace);
        assert!(cuts.len() > 5, "{stack}");
        for (before, after) in cuts {
            // If the ACK ended a window, it has updated alpha before the reduction.
            let window = if *stack == "ns2" { before.cwnd.min(40.0) } else { before.cwnd };
            let expect = (window * (1.0 - after.alpha / 2.0)).max(2.0);
            assert!((after.ssthresh - expect).abs() < 1e-9, "{stack}: {} instead of {expect}", after.ssthresh);
            if !pipe.c.prr {
                assert_eq!(after.cwnd, after.ssthresh, "{stack}");
            }
        }
    }
}

/// Classic and DCTCP cuts happen at most once per window of data.
#[test]
fn at_most_one_cut_a_window() {
    for stack in PROFILES {
        let (trace, _) = run(dctcp(stack), 2000, mark(|n| n % 4 == 0));
        // All data outstanding at one reduction is acknowledged before the next.
        let cuts = cuts(&trace);
        assert!(cuts.len() > 5, "{stack}");
        for pair in cuts.windows(2) {
            assert!(pair[1].1.una > pair[0].1.nxt, "{stack}: {:?}", pair);
        }
    }
}

/// Spec 2.5: nothing acknowledged in a window: alpha is not updated, not 0/0.
#[test]
fn spec_no_bytes_acknowledged() {
    for stack in PROFILES {
        // No ACK returns for three seconds.
        let (trace, pipe) =
            run(dctcp(stack), 500, |p| if !p.data && (1000 * US..3 * SECONDS).contains(&p.now) { LOSE } else { PASS });
        assert!(pipe.sender.stats().losses.rtos > 0, "{stack}");
        assert!(trace.iter().all(|p| p.alpha.is_finite() && p.alpha <= 1.0), "{stack}");
        let silent: Vec<&Point> = trace.iter().filter(|p| (1200 * US..3 * SECONDS).contains(&p.now)).collect();
        assert!(silent.windows(2).all(|w| w[0].alpha == w[1].alpha), "{stack}");
    }
}

/// Spec 2.5: the first mark ends slow start, and alpha = 1 makes the first cut a halving.
#[test]
fn spec_marks_end_slow_start() {
    for stack in PROFILES {
        let (trace, _) = run(dctcp(stack), 500, mark(|n| n < 20));
        let (before, after) = cuts(&trace)[0];
        assert_eq!((before.ssthresh, after.ssthresh), (f64::INFINITY, (before.cwnd / 2.0).max(2.0)), "{stack}");
    }
}

/// Spec 2.5: started at 0, alpha makes the first cut g F / 2, 3 % with everything marked.
#[test]
fn spec_alpha_from_zero() {
    for stack in PROFILES {
        let mut c = config_with(stack, "dctcp", &[], &[("alpha", Value::Float(0.0))]);
        c.init_cwnd = 32;
        let (trace, _) = run(c, 500, mark(|_| true));
        let (before, after) = cuts(&trace)[0];
        assert_eq!((before.alpha, after.ssthresh), (0.0, before.cwnd * (1.0 - 1.0 / 32.0)), "{stack}");
    }
}

/// Spec 2.5: with two segments, all marked, the flow stays at two and goes on at two per round trip.
#[test]
fn spec_floor_of_two() {
    for stack in PROFILES {
        let mut c = dctcp(stack);
        c.ack_every = 1;
        let (trace, pipe) = run(c, 500, mark(|_| true));
        // With proportional reduction, the window lies below the threshold until the episode ends (tcp_cwnd_reduction).
        assert!(trace.iter().all(|p| p.ssthresh >= 2.0 && p.cwnd >= if *stack == "linux" { 1.0 } else { 2.0 }), "{stack}");
        assert!(trace.last().unwrap().cwnd < 3.1, "{stack}: {}", trace.last().unwrap().cwnd);
        assert_eq!(pipe.sender.stats().losses.rtos, 0, "{stack}");
        // 100 us a round trip, of two or (after growth between reductions) three segments.
        let rounds = pipe.done / (100 * US);
        assert!((500 / 3..=500 / 2 + 10).contains(&rounds), "{stack}: {rounds} round trips");
    }
}

/// Spec 2.5: a lost ACK's bytes are attributed to the ECE value of the next one.
#[test]
fn spec_ack_loss() {
    for stack in PROFILES {
        // Segments 20 to 29 are marked; with one ACK per packet, every other ACK lost attributes to the next.
        let mut c = dctcp(stack);
        c.ack_every = 1;
        let marked = |n: u64| (20..30).contains(&n);
        let (_, exact) = run(c.clone(), 200, mark(marked));
        assert_eq!(exact.sender.stats().losses.ce_bytes, 10_000, "{stack}");
        let mut judge = mark(marked);
        let drop = |p: &PipePacket| !p.data && p.offset % 2000 == 1000;
        let (trace, lossy) = run(c, 200, move |p| if drop(p) { LOSE } else { judge(p) });
        // ACKs up to 22, 24, .. 30 carry ECE: the same ten segments, because 20 is the end of a pair.
        assert_eq!(lossy.sender.stats().losses.ce_bytes, 10_000, "{stack}");
        assert!(trace.iter().all(|p| p.alpha.is_finite()), "{stack}");
    }
}

/// Spec 2.5: reordering across a change of CE costs at most an ACK per change; the bytes and the connection survive.
#[test]
fn spec_reordering_across_a_change() {
    for stack in PROFILES {
        let mut c = dctcp(stack);
        c.ack_every = 4;
        let late = |p: &PipePacket| p.data && p.number % 10 == 5;
        let marked = |p: &PipePacket| p.data && (p.number / 7) % 2 == 1;
        let (_, pipe) = run(c, 1000, |p| Fate { late: if late(p) { 1000 } else { 0 }, marked: marked(p), ..PASS });
        let [acks, data] = pipe.counts;
        assert!(acks < 2 * data, "{stack}: more than two ACKs a packet");
        assert_eq!(pipe.sender.stats().losses.rtos, 0, "{stack}");
    }
}

/// Spec 2.5: timeout: window 1, threshold half the flight, a new observation window: marks on outstanding data neither reduce nor move alpha.
#[test]
fn spec_timeout() {
    for stack in PROFILES {
        // A whole window is marked, including Linux' probe, and none of its ACKs returns before the timeout. Retransmissions bring nothing new, so
        // that their marks would not count (RFC 3168 section 6.1.5).
        let marked = if *stack == "linux" { 11 } else { 10 };
        let blackout = |p: &PipePacket| !p.data && p.flags & flag::SYN == 0 && p.now < SECONDS / 2;
        let (trace, pipe) = run(dctcp(stack), 200, |p| if blackout(p) { LOSE } else { mark(|n| n < marked)(p) });
        assert!(pipe.sender.stats().losses.rtos > 0 && pipe.sender.stats().losses.ce_bytes > 0, "{stack}");
        let first = trace.iter().position(|p| p.ca == CaState::Loss).unwrap();
        assert_eq!(trace[first].cwnd, 1.0, "{stack}");
        let cuts = cuts(&trace).into_iter().filter(|c| c.0.ssthresh.is_finite() && c.1.ssthresh < c.0.ssthresh).count();
        // Linux checks only whether a recovery is in progress (tcp_try_to_open): the ACK that ends it carries ECE, and reduces.
        assert_eq!(cuts, usize::from(*stack == "linux"), "{stack}: the marks of the lost window cut again");
        assert!(trace.iter().all(|p| p.alpha <= 1.0), "{stack}");
    }
}

/// Spec 2.5: a loss and marks in one window: the reaction to the loss wins, whichever signal comes first, and they do not add up.
#[test]
fn spec_one_reaction_to_both_signals() {
    for stack in PROFILES {
        for first_marked in [1960, 2001] {
            let lose = |p: &PipePacket| p.data && p.offset == 2_000_000 && p.again == 0;
            let (trace, _) =
                run(dctcp(stack), 3000, |p| if lose(p) { LOSE } else { mark(|n| (first_marked..2040).contains(&n))(p) });
            let cuts = cuts(&trace);
            // Linux repairs a loss that it finds during a reduction by marks until the end of that reduction (`high_seq`), without a window of its
            // own (tcp_enter_recovery). Here that end is acknowledged already: the recovery ends with the next ACK, and another begins from a smaller
            // window, after which the marks reduce again.
            let further = if *stack == "linux" && first_marked == 1960 { 2 } else { 0 };
            assert!(cuts.len() <= 2 + further, "{stack}: {cuts:?}");
            let (before, last) = cuts[cuts.len() - 1 - further];
            let expect = base(stack, &before) / 2.0;
            assert_eq!((last.ca, last.ssthresh), (CaState::Recovery, expect), "{stack}");
        }
    }
}

/// RFC 3168 section 6.1.2: congestion controls that halve on either signal do so once a window.
#[test]
fn classic_marks_then_loss_halve_once() {
    for stack in PROFILES {
        let mut c = config_with(stack, "newreno", &[("ecn", Value::Text("classic".into()))], &real());
        c.rcv_wnd = 40_000;
        let lose = |p: &PipePacket| p.data && p.offset == 190_000 && p.again == 0;
        let (trace, _) = run(c, 1000, |p| if lose(p) { LOSE } else { mark(|n| n == 180)(p) });
        let cuts = cuts(&trace);
        assert_eq!(cuts.len(), 1, "{stack}: {cuts:?}");
        assert_eq!(cuts[0].1.ssthresh, base(stack, &cuts[0].0) / 2.0, "{stack}");
    }
}

/// Spec 2.5: without ECN DCTCP is TCP: the same packets at the same times as NewReno.
#[test]
fn spec_not_negotiated() {
    for stack in PROFILES {
        let off = [("ecn", Value::Text("off".into()))];
        let judge = |p: &PipePacket| if p.data && p.number % 97 == 50 { LOSE } else { MARK };
        let (_, dctcp) = run(config_with(stack, "dctcp", &off, &real()), 2000, judge);
        let (_, newreno) = run(config_with(stack, "newreno", &off, &real()), 2000, judge);
        let packets = |log: &[PipePacket]| log.iter().map(|p| (p.now, p.offset, p.flags)).collect::<Vec<_>>();
        assert_eq!(packets(&dctcp.log), packets(&newreno.log), "{stack}");
        assert_eq!(
            dctcp.sender.cc().alpha().unwrap(),
            alpha_without_marks(&dctcp),
            "{stack}: {}",
            dctcp.sender.cc().alpha().unwrap()
        );
    }
}

/// Alpha decays by a sixteenth for every window without marks.
fn alpha_without_marks<J>(pipe: &Pipe<J>) -> f64 {
    let windows = pipe.trace.windows(2).filter(|w| w[1].alpha < w[0].alpha).count();
    (0..windows).fold(1.0, |alpha, _| (1.0 - 1.0 / 16.0) * alpha)
}
