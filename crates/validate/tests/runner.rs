//! The runner itself: what differs from the script is found, with its line.

use crate::guest::has_kernel;
use forebay_validate::{Outcome, RunOptions, Stack, run_text};

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
fn blocking_calls_return_in_time() {
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
fn unsupported_features_are_named() {
    let Outcome::NotApplicable(what) = run("+0 < R. 1:1(0) ack 1 win 0\n`echo hello`") else { panic!() };
    assert_eq!(what, ["resets", "the command `echo hello`"]);
    assert!(matches!(run("%{ import os }%"), Outcome::NotApplicable(_)));
    assert!(matches!(run("+0 > . 1:1"), Outcome::Invalid(_)));
}

/// Opens a connection with `syn` as the options of the peer's SYN, and writes; `rest` follows.
fn opened_with(stack: &str, syn: &str, rest: &str) -> Outcome {
    opened_in(Stack::Simulator, stack, syn, rest)
}

fn opened_in(of: Stack, stack: &str, syn: &str, rest: &str) -> Outcome {
    let stamp = if syn.contains("TS val") { " <nop,nop,TS val 200 ecr 1>" } else { "" };
    run_text(
        &format!(
            "--stack={stack}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
             +0 < S 0:0(0) win 65535 <{syn}>\n+0 > S. 0:0(0) ack 1 <...>\n+.1 < . 1:1(0) ack 1 win 65535{stamp}\n\
             +0 accept(3, ..., ...) = 4\n{rest}"
        ),
        &RunOptions { of, ..RunOptions::default() },
    )
}

/// Payload of full segments after a SYN with an MSS of `mss`, as clamped by Linux (tcp_parse_options, __tcp_mtu_to_mss, tcp_mtu_to_mss) and by
/// the RFCs.
#[test]
fn small_mss_is_clamped() {
    for (stack, mss, plain, stamped) in [
        ("linux", 0, 536, 524),
        ("linux", 1, 48, 36),
        ("linux", 2, 48, 36),
        ("linux", 11, 48, 36),
        ("linux", 12, 48, 36),
        ("linux", 13, 48, 36),
        ("linux", 47, 48, 36),
        ("linux", 48, 48, 36),
        ("linux", 88, 88, 76),
        ("linux", 65_535, 1460, 1448),
        ("rfc", 0, 536, 524),
        ("rfc", 1, 1, 1),
        ("rfc", 2, 2, 1),
        ("rfc", 11, 11, 1),
        ("rfc", 12, 12, 1),
        ("rfc", 13, 13, 1),
        ("rfc", 47, 47, 35),
        ("rfc", 48, 48, 36),
        ("rfc", 88, 88, 76),
    ] {
        for (options, payload) in [(format!("mss {mss}"), plain), (format!("mss {mss},sackOK,TS val 100 ecr 0"), stamped)] {
            let end = payload + 1;
            let stack = if stack == "linux" { "linux" } else { "rfc\n--set=timestamps=true" };
            let rest = format!(
                "%{{ assert tcpi_snd_mss == {payload}, tcpi_snd_mss }}%\n+0 write(4, ..., 3000) = 3000\n\
                 +0 > . 1:{end}({payload}) ack 1 <...>"
            );
            let syn = &options;
            assert_eq!(opened_with(stack, syn, &rest), Outcome::Passed, "{stack} {syn}");
        }
    }
}

/// The same in a kernel, if one is installed.
#[test]
fn kernel_clamps_small_mss() {
    if !has_kernel() {
        return;
    }
    for (mss, plain, stamped) in [(0, 536, 524), (1, 48, 36), (48, 48, 36), (88, 88, 76)] {
        for (options, payload) in [(format!("mss {mss}"), plain), (format!("mss {mss},sackOK,TS val 100 ecr 0"), stamped)] {
            let assertion = format!("%{{ assert tcpi_snd_mss == {payload}, tcpi_snd_mss }}%");
            assert_eq!(opened_in(Stack::Linux, "linux", &options, &assertion), Outcome::Passed, "{options}");
        }
    }
}

/// The same for the end that connects, whose peer answers with an MSS of zero.
#[test]
fn zero_mss_in_syn_ack_ignored() {
    let script = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)\n\
                  +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 connect(3, ..., ...) = -1 EINPROGRESS (in progress)\n\
                  +0 > S 0:0(0) <...>\n+.1 < S. 0:0(0) ack 1 win 65535 <mss 0>\n+0 > . 1:1(0) ack 1\n\
                  +0 write(3, ..., 3000) = 3000\n+0 > . 1:537(536) ack 1";
    assert_eq!(run_text(script, &RunOptions::default()), Outcome::Passed);
}

/// `TCP_MAXSEG` below 88 is refused (net/ipv4/tcp.c, do_tcp_setsockopt), 0 removes it; an MTU below 68 is illegal.
#[test]
fn illegal_segment_sizes_are_refused() {
    let set = |mss: i64| {
        let script = format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [{mss}], 4) = 0\n\
             +0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 65535 <mss 1000>\n+0 > S. 0:0(0) ack 1 <...>"
        );
        run_text(&script, &RunOptions::default())
    };
    for mss in [1, 12, 87, 32_768, 65_536, -1] {
        let outcome = set(mss);
        assert!(matches!(&outcome, Outcome::Failed { line: 2, got, .. } if got == "-1 EINVAL"), "{mss}: {outcome:?}");
    }
    for mss in [0, 88, 536, 32_767] {
        assert_eq!(set(mss), Outcome::Passed, "{mss}");
    }
    for mtu in [0, 39, 40, 41, 67, 65_536] {
        let outcome = run_text(&format!("--mtu={mtu}\n{OPEN}"), &RunOptions::default());
        assert!(matches!(&outcome, Outcome::Invalid(p) if p.message.contains("legal: 68 to 65535")), "{mtu}: {outcome:?}");
    }
}

/// Scripts with endless transmissions or timers fail with the limit that was exceeded.
#[test]
fn endless_scripts_end() {
    let mut script = String::from("+0 write(4, ..., 2147479552) = 2147479552\n");
    // Each round acknowledges all that was sent: the window of ten segments doubles, up to the 4767 that the peer's window has room for.
    let mut acked = 1u64;
    for round in 0..60 {
        acked += 48 * (10u64 << round.min(9)).min(4767);
        script.push_str(&format!("+.1 < . 1:1(0) ack {acked} win 65535\n"));
    }
    let grows = opened_with("linux\n--set=cc=newreno", "mss 48,wscale 14", &script);
    assert!(matches!(&grows, Outcome::Failed { expected, .. } if expected.contains("packets")), "{grows:?}");
    let timers = opened_with(
        "rfc\n--set=rto-min=1us\n--set=rto-max=1us",
        "mss 1000",
        "+0 write(4, ..., 1000) = 1000\n+100000 write(4, ..., 1000) = 1000",
    );
    assert!(matches!(&timers, Outcome::Failed { line: 12, expected, .. } if expected.starts_with("at most")), "{timers:?}");
    let huge = opened_with("linux", "mss 1000", "+0 write(4, ..., 9223372036854775807) = 9223372036854775807");
    assert!(matches!(&huge, Outcome::Failed { got, .. } if got.contains("legal: 0 to 2147479552")), "{huge:?}");
}
