//! The runner itself: what differs from the script is found, with its line.

use forebay_conform::{Outcome, RunOptions, run_text};

/// A connection on lines 1 to 6, the peer's packets 100 ms after ours.
const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
                    +0 < S 0:0(0) win 65535 <mss 1000,sackOK>\n+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>\n\
                    +.1 < . 1:1(0) ack 1 win 65535\n+0 accept(3, ..., ...) = 4\n";

fn run(rest: &str) -> Outcome {
    run_text(&format!("{OPEN}{rest}"), &RunOptions { strict: true, ..RunOptions::default() })
}

#[track_caller]
fn fails(rest: &str, at: usize, what: &str) {
    let Outcome::Failed { line, expected, got } = run(rest) else { panic!("{rest} did not fail: {:?}", run(rest)) };
    assert_eq!(line, at, "{expected} / {got}");
    assert!(format!("{expected} / {got}").contains(what), "{expected} / {got}");
}

#[test]
fn differences_are_found() {
    assert_eq!(run("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1"), Outcome::Passed);
    fails("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:501(500) ack 1", 9, "1:1001(1000)");
    fails("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 2", 9, "ack 1 win");
    fails("+0 write(4, ..., 1000) = 1000\n+0 > F. 1:1001(1000) ack 1", 9, ". 1:1001(1000) ack 1 win");
    fails("+0 write(4, ..., 1000) = 1000\n+0 > [ect0] P. 1:1001(1000) ack 1", 9, "[noecn]");
    fails("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1 win 1", 9, "[noecn] . 1:1001(1000) ack 1 win 6");
    fails("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1 <sack 1:2>", 9, "sack 1:2");
    fails("+0 write(4, ..., 2000) = 2000\n+0 > P. 1:1001(1000) ack 1\n+.05 %{ assert True }%", 10, "1001:2001");
    fails("+0 > P. 1:1001(1000) ack 1", 8, "nothing until");
    fails("%{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%", 8, "tcpi_snd_cwnd = 10");
    fails("+0 read(4, ..., 10) = 10", 8, "it waits");
    fails("+0 write(7, ..., 10) = 10", 8, "EBADF");
}

#[test]
fn times_count() {
    // The delayed ACK of the RFCs' stack after 100 ms; the tolerance is 4 ms.
    let at = |ms: u32| {
        run_text(
            &format!("--stack=rfc\n{OPEN}+0 < . 1:1001(1000) ack 1 win 65535\n+.{ms:03} > . 1:1(0) ack 1001"),
            &RunOptions::default(),
        )
    };
    assert_eq!(at(100), Outcome::Passed);
    assert_eq!(at(97), Outcome::Passed);
    assert!(matches!(at(94), Outcome::Failed { line: 10, .. }));
    assert!(matches!(at(106), Outcome::Failed { line: 10, .. }));
}

#[test]
fn calls_wait_as_long_as_they_should() {
    let read = |until: &str| {
        run(&format!("+0...{until} read(4, ..., 2000) = 1000\n+.2 < . 1:1001(1000) ack 1 win 65535\n+0 > . 1:1(0) ack 1001"))
    };
    assert_eq!(
        read("0.3"),
        Outcome::Failed { line: 8, expected: "read returns at 0.4 s".into(), got: "it returned at 0.3 s".into() }
    );
    assert_eq!(read("0.2"), Outcome::Passed);
}

#[test]
fn what_is_not_supported_is_named() {
    let Outcome::NotApplicable(what) = run("+0 < R. 1:1(0) ack 1 win 0\n`echo hello`") else { panic!() };
    assert_eq!(what, ["resets", "the command `echo hello`"]);
    assert!(matches!(run("%{ import os }%"), Outcome::NotApplicable(_)));
    assert!(matches!(run("+0 > . 1:1"), Outcome::Invalid(_)));
}
