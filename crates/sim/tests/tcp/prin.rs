//! PRIN on the wire (its specification, 3): the window at block starts, the tags of block tails, and its extensions.

use crate::scripted::pipe::{PASS, Pipe};
use crate::scripted::sender::Script;
use crate::scripted::{config, shim};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::{CaState, Timer};
use forebay_types::Time;
use forebay_types::param::Value;

/// PRIN with `params` on the papers' stack with a first window of `window` segments.
fn prin(window: u32, params: &[(&'static str, Value)]) -> TcpConfig {
    let mut c = config("ns2", "newreno");
    c.init_cwnd = window;
    c.shims = shim("prin", params).into();
    c
}

/// Established and idle behind a first block of one segment, with a window of `cwnd`.
fn idle(c: TcpConfig, cwnd: f64) -> Script {
    let mut t = Script::new(c, 1);
    t.settle();
    t.sent();
    t.s.window_mut().cwnd = cwnd;
    t
}

fn text(t: &str) -> Value {
    Value::Text(t.into())
}

/// Claim `prin-last-three-high`, R3 and R4: for each block.
#[test]
fn last_three_segments_of_blocks() {
    let mut t = Script::new(prin(40, &[]), 6);
    assert_eq!(t.sent(), "0 1 2 3^4 4^4 5^4");
    t.settle();
    t.write_bytes(5_300, false);
    assert_eq!(t.sent(), "6 7 8 9^4 10^4 11(300)^4");
    // The next block begins inside a segment of full size: nothing spans the boundary.
    t.write_bytes(4_000, true);
    assert_eq!(t.sent(), "@11300 @12300^4 @13300^4 @14300F^4");
}

/// Claim `prin-window-rule`, R2.
#[test]
fn window_at_a_block_start() {
    for (ack_every, expected) in [(2, [2.0, 2.0, 2.0, 2.0, 8.0]), (1, [1.0, 1.0, 1.0, 2.0, 8.0])] {
        for (before, after) in [1.0, 2.0, 3.0, 5.0, 16.0].into_iter().zip(expected) {
            let mut c = prin(30, &[]);
            c.ack_every = ack_every;
            let mut t = idle(c, before);
            t.write(40);
            assert_eq!((t.cwnd(), t.flight(), t.ssthresh()), (after, after as u64, f64::INFINITY), "{before}");
        }
    }
    let mut t = idle(prin(30, &[("floor", Value::Int(3))]), 4.0);
    t.write(40);
    assert_eq!(t.cwnd(), 3.0);
    let mut t = idle(prin(30, &[("ssthresh", text("cap"))]), 16.0);
    t.write(40);
    assert_eq!((t.cwnd(), t.ssthresh()), (8.0, 8.0));
    let mut t = idle(prin(30, &[("ssthresh", text("cap"))]), 2.0);
    t.write(40);
    assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 2.0), "the threshold stays at two");
}

#[test]
fn first_block_has_initial_window() {
    let t = Script::new(prin(10, &[]), 40);
    assert_eq!((t.cwnd(), t.flight()), (10.0, 10));
}

/// R2: only before the first new segment, once, and not while the block waits behind another.
#[test]
fn halved_when_block_begins() {
    let mut t = Script::new(prin(4, &[]), 6);
    assert_eq!(t.sent(), "0 1 2 3^4");
    t.write(8);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("", 4.0));
    t.ack(1);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("4^4 5^4", 5.0));
    // There is room for its first segment: half of 6 leaves none.
    t.ack(2);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("", 3.0));
    t.ack(4);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("6 7", 4.0));
    // A timeout at the head of the block: sent again, but not halved again.
    t.timer();
    assert_eq!((t.sent().as_str(), t.cwnd()), ("4r^4", 1.0));
    t.ack(5).ack(6);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("5r^4 6r 7r", 2.5));
}

/// R2: never half of the inflated window.
#[test]
fn in_fast_recovery() {
    let mut t = Script::new(prin(10, &[]), 10);
    t.sent();
    t.dup(0, 7);
    assert_eq!((t.cwnd(), t.ssthresh()), (12.0, 5.0));
    assert_eq!(t.sent(), "0r");
    t.write(10);
    assert_eq!((t.sent().as_str(), t.cwnd()), ("", 2.0));
    // Recovery ends with the acknowledgment of `recover`.
    t.ack(10);
    assert_eq!((t.s.ca_state(), t.sent().as_str()), (CaState::Open, "10 11 12 13 14"));
}

/// R4: the mark is a function of the sequence number.
#[test]
fn retransmissions() {
    let mut t = Script::new(prin(8, &[]), 8);
    assert_eq!(t.sent(), "0 1 2 3 4 5^4 6^4 7^4");
    t.timer();
    t.ack(1).ack(5);
    assert_eq!(t.sent(), "0r 1r 2r 5r^4 6r^4 7r^4");
    let mut t = Script::new(prin(8, &[("prio-retransmit", Value::Bool(true))]), 8);
    t.sent();
    t.dup(0, 3);
    assert_eq!(t.sent(), "0r^4");
}

/// R3: blocks of at most two segments go as three pieces, and stay so.
#[test]
fn short_blocks() {
    let mut t = Script::new(prin(8, &[]), 0);
    t.write_bytes(2_000, false);
    assert_eq!(t.sent(), "0(667)^4 @667(667)^4 @1334(666)^4");
    t.timer();
    t.reply_bytes(667, &[], 0);
    assert_eq!(t.sent(), "0(667)r^4 @667(667)r^4 @1334(666)r^4");
    t.settle();
    t.write_bytes(1, true);
    assert_eq!(t.sent(), "2(1)F^4");
    let mut t = Script::new(prin(8, &[("split-short", Value::Bool(false))]), 0);
    t.write_bytes(1_500, false);
    assert_eq!(t.sent(), "0^4 1(500)^4");
}

/// 3.4 item 2: three duplicates after the whole block was sent may come from the tail's overtaking.
#[test]
fn patience_at_the_tail() {
    let wait = [("tail-reorder-wait", Value::Time(Time::from_us(300)))];
    let mut t = Script::new(prin(8, &wait), 8);
    t.sent();
    t.at(250).dup(0, 3);
    assert_eq!((t.sent().as_str(), t.left(Timer::Reorder), t.s.stats().losses.fast_retx), ("", Some(300), 0));
    // The others arrive: nothing was lost.
    t.at(400).ack(8);
    assert_eq!((t.sent().as_str(), t.s.ca_state(), t.cwnd(), t.s.stats().losses.fast_retx), ("", CaState::Open, 9.0, 0));

    let mut t = Script::new(prin(8, &wait), 8);
    t.sent();
    t.at(250).dup(0, 4);
    t.at(549);
    assert_eq!(t.sent(), "");
    t.at(550);
    // As without the wait: ssthresh half the flight, three and one more segments have left the network.
    assert_eq!((t.sent().as_str(), t.ssthresh(), t.cwnd(), t.s.ca_state()), ("0r", 4.0, 8.0, CaState::Recovery));
    assert_eq!(t.left(Timer::Rto), Some(200_000), "the retransmission has all of its timeout before it");

    // More of the block is to come: no wait, and none without the option.
    for (window, params) in [(6, &wait[..]), (8, &[])] {
        let mut t = Script::new(prin(window, params), 12);
        t.sent();
        t.dup(0, 3);
        assert!(t.sent().contains("0r"));
    }
}

/// R5, claim `prin-switch-off-is-baseline`: with both parts off the packets are those of the plain stack.
#[test]
fn switched_off() {
    for stack in ["ns2", "linux", "rfc"] {
        let run = |shims: &[(&'static str, Value)]| {
            let mut c = config(stack, "newreno");
            if !shims.is_empty() {
                c.shims = shim("prin", shims).into();
            }
            let mut pipe = Pipe::new(c, |p| if p.data && p.number % 13 == 7 { crate::scripted::pipe::LOSE } else { PASS });
            pipe.open();
            for i in 0..5 {
                pipe.write(17_300 + i * 100, i == 4);
                let pause = pipe.now + 3_000_000_000_000;
                pipe.run(pause);
            }
            assert!(pipe.receiver.finished());
            let list = pipe.log.iter().map(|s| (s.now, s.offset, s.len, s.flags));
            list.collect::<Vec<_>>()
        };
        let (off, on) = (Value::Bool(false), Value::Bool(true));
        let plain = run(&[]);
        assert_eq!(plain, run(&[("halve", off.clone()), ("priority", off.clone())]), "{stack}");
        assert_ne!(plain, run(&[("halve", on), ("priority", off)]), "{stack}");
    }
}

/// R2 for blocks that follow without a pause: also without priorities a block begins with a segment of its own, before which the window
/// is halved.
#[test]
fn pipelined_blocks_are_halved_without_priorities() {
    let mut c = config("ns2", "newreno");
    c.shims = shim("prin", &[("priority", Value::Bool(false)), ("ssthresh", Value::Text("cap".into()))]).into();
    let mut pipe = Pipe::new(c, |_| PASS);
    pipe.open();
    let mut begins = Vec::new();
    for i in 0..4 {
        begins.push(i * 50_001_i64);
        pipe.write(50_001, i == 3);
    }
    pipe.run(u64::MAX);
    assert!(pipe.receiver.finished());
    for begin in begins {
        assert!(pipe.log.iter().any(|s| s.offset == begin && s.len > 0), "no segment starts at {begin}");
    }
    // Each of the three later blocks has halved what slow start had made of the window.
    assert!(!pipe.sender.window().ssthresh.is_unlimited());
}
