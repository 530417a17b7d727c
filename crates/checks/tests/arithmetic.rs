//! Laws in the whole numbers of the kernel (`arithmetic = "linux"`) against the same laws in real numbers, on whole connections.
//!
//! What may differ: a window of whole segments takes a step only when all of it has been earned, where a real one is on its way (less than a
//! segment, and of that only whole segments are sent); a reduction rounds down (less than a segment), and so do alpha, K and averages of
//! RTTs, by less than a part in a thousand each. Both grow and give way by the same rule, so that a difference does not add up: every
//! reduction shrinks it as it shrinks the window.

use forebay_checks::{Outcome, one};
use forebay_experiment::rows::TcpRow;
use forebay_units::GroupId;

/// A law, and the queue before the link.
struct Case {
    law: &'static str,
    queue: &'static str,
}

const STEP: &str = "{ kind = \"dctcp-step\", k = \"20pkt\" }";

const CASES: [Case; 6] = [
    Case { law: "newreno", queue: "\"drop-tail\"" },
    Case { law: "dctcp", queue: STEP },
    Case { law: "l2dct", queue: STEP },
    Case { law: "d2tcp", queue: STEP },
    Case { law: "trim", queue: "\"drop-tail\"" },
    // Beside rounding, the kernel's cube root is off by a part in a few hundred: so is the time to the plateau.
    Case { law: "cubic", queue: "\"drop-tail\"" },
];

fn connection(case: &Case, arithmetic: &str) -> Outcome {
    let text = format!(
        r#"
duration = "2s"
[topology]
kind = "many-to-one"
senders = 1
access     = {{ rate = "10Gbps", delay = "50us" }}
bottleneck = {{ rate = "1Gbps", delay = "50us", buffer = "60pkt", queue = {queue} }}
[transport]
stack = "linux"
rcv-wnd = "4MB"
cc = {{ kind = "{law}", arithmetic = "{arithmetic}" }}
[[workload]]
kind = "long"
[observe]
warmup = "200ms"
tcp = {{ flows = [0], every = "ack" }}
"#,
        queue = case.queue,
        law = case.law,
    );
    one(&text, &[])
}

/// The senders' windows, from the first ACK on.
fn windows(o: &Outcome) -> Vec<TcpRow> {
    o.report.tcp.iter().collect()
}

/// Mean of the whole segments that the window allows, over time.
fn mean(rows: &[TcpRow], from: u64) -> f64 {
    let rows: Vec<&TcpRow> = rows.iter().filter(|r| r.time_ps >= from).collect();
    let weighted: f64 = rows.windows(2).map(|w| w[0].cwnd.floor() * (w[1].time_ps - w[0].time_ps) as f64).sum();
    weighted / (rows[rows.len() - 1].time_ps - rows[0].time_ps) as f64
}

#[test]
fn whole_numbers_do_what_real_ones_do() {
    for case in &CASES {
        let (paper, linux) = (connection(case, "paper"), connection(case, "linux"));
        let (a, b) = (windows(&paper), windows(&linux));
        let until = |rows: &[TcpRow]| rows.iter().position(|r| r.ssthresh.is_some()).unwrap_or(rows.len());
        // Slow start is the same to the ACK: it knows whole segments only.
        let same = until(&a).min(until(&b));
        assert!(same >= 10, "{}: reduced at ACK {same}", case.law);
        assert_eq!((0..same).find(|&i| (a[i].time_ps, a[i].cwnd) != (b[i].time_ps, b[i].cwnd)), None, "{}: slow start", case.law);
        let from = paper.report.measured_from.0;
        let (x, y) = (mean(&a, from), mean(&b, from));
        let (acked, as_many) = (paper.report.acked[GroupId::new(0)] as f64, linux.report.acked[GroupId::new(0)] as f64);
        println!("{}: mean window {x:.2} and {y:.2}, {acked} and {as_many} bytes", case.law);
        assert!((x - y).abs() < 2.0, "{}: mean windows of {x} and {y}: more than a step and the rounding of a cut", case.law);
        // A window that is smaller by less than a segment now and then leaves the link idle for less than that.
        assert!((acked / as_many - 1.0).abs() < 0.01, "{}: {acked} and {as_many} bytes", case.law);
    }
}
