//! Congestion controls in the whole numbers of the kernel (`arithmetic = "linux"`) against the same congestion controls in real numbers, on whole connections.
//!
//! Allowed differences: a window of whole segments grows only by complete segments, a difference below one segment. Reductions round down by less
//! than a segment. Alpha, K and averages of RTTs round by less than a part in a thousand. Both variants use the same rules, so differences do not add
//! up: every reduction shrinks the difference with the window.
//!
//! This requires that alpha persists between reductions. With L2DCT's own weights it does not. A window that grows by a twentieth of a segment per
//! RTT is marked so rarely that alpha falls to 1e-9 in real numbers, and to 0 in units of 1/1024. To the power of 1/8 these give a cut by 4 % and no
//! cut, and an uncut window is marked again. Larger weights are used here, the run checks that alpha is at least a few units, and a separate test
//! covers the other case.

use forebay_experiment::rows::TcpRow;
use forebay_tests::{Outcome, one};
use forebay_types::GroupId;

/// A congestion control, and the queue before the link.
struct Case {
    cc: &'static str,
    /// Parameters of the congestion control beside its arithmetic, and the initial window.
    with: &'static str,
    first: u32,
    queue: &'static str,
}

const STEP: &str = "{ kind = \"dctcp-step\", k = \"20pkt\" }";

const CASES: [Case; 6] = [
    Case { cc: "newreno", with: "", first: 10, queue: "\"drop-tail\"" },
    Case { cc: "dctcp", with: "", first: 10, queue: STEP },
    Case { cc: "l2dct", with: ", w-max = 1.0, w-min = 0.5", first: 10, queue: STEP },
    Case { cc: "d2tcp", with: "", first: 10, queue: STEP },
    // Ten segments at once wait longer than K already.
    Case { cc: "trim", with: "", first: 2, queue: "\"drop-tail\"" },
    // Beside rounding, the kernel's cube root is off by a part in a few hundred: so is the time to the plateau.
    Case { cc: "cubic", with: "", first: 10, queue: "\"drop-tail\"" },
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
host = "bare"
rcv-wnd = "4MB"
init-cwnd = {first}
cc = {{ kind = "{cc}", arithmetic = "{arithmetic}"{with} }}
[[workload]]
kind = "long"
[observe]
warmup = "200ms"
tcp = {{ flows = [0], every = "ack" }}
"#,
        queue = case.queue,
        cc = case.cc,
        with = case.with,
        first = case.first,
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
fn fixed_point_matches_floating_point() {
    for case in &CASES {
        let (paper, linux) = (connection(case, "paper"), connection(case, "linux"));
        let (a, b) = (windows(&paper), windows(&linux));
        let until = |rows: &[TcpRow]| rows.iter().position(|r| r.ssthresh.is_some()).unwrap_or(rows.len());
        // Slow start is identical, since it uses whole segments only.
        let same = until(&a).min(until(&b));
        assert!(same >= 10, "{}: reduced at ACK {same}", case.cc);
        assert_eq!((0..same).find(|&i| (a[i].time_ps, a[i].cwnd) != (b[i].time_ps, b[i].cwnd)), None, "{}: slow start", case.cc);
        let from = paper.report.measured_from.0;
        for rows in [&a, &b] {
            let least = rows.iter().filter(|r| r.time_ps >= from).filter_map(|r| r.alpha).fold(1.0, f64::min);
            assert!(least > 4.0 / 1024.0, "{}: alpha falls to {least}, where whole numbers have nothing left", case.cc);
        }
        let (x, y) = (mean(&a, from), mean(&b, from));
        let (acked, as_many) = (paper.report.acked[GroupId::new(0)] as f64, linux.report.acked[GroupId::new(0)] as f64);
        println!("{}: mean window {x:.2} and {y:.2}, {acked} and {as_many} bytes", case.cc);
        assert!((x - y).abs() < 2.0, "{}: mean windows of {x} and {y}: more than a step and the rounding of a cut", case.cc);
        // A window that is smaller by less than a segment leaves the link idle for less than that.
        assert!((acked / as_many - 1.0).abs() < 0.01, "{}: {acked} and {as_many} bytes", case.cc);
    }
}

/// L2DCT with its own weights: after hundreds of RTTs without marks, alpha still causes cuts in real numbers, and has been rounded to zero in whole
/// numbers.
#[test]
fn small_weight_amplifies_alpha_rounding() {
    let case = Case { cc: "l2dct", with: "", first: 10, queue: STEP };
    let [real, whole] = ["paper", "linux"].map(|arithmetic| {
        let o = connection(&case, arithmetic);
        let rows: Vec<TcpRow> = windows(&o).into_iter().filter(|r| r.time_ps >= o.report.measured_from.0).collect();
        let cuts = rows.windows(2).filter(|r| r[0].ssthresh != r[1].ssthresh);
        // After the longest growth.
        let first =
            cuts.filter(|r| r[1].alpha < Some(1.0 / 1024.0)).map(|r| (r[0].cwnd, r[1].ssthresh.unwrap(), r[1].alpha.unwrap()));
        first.collect::<Vec<_>>()
    });
    println!("real numbers: {real:?}\nwhole numbers: {whole:?}");
    assert!(real.len() > 10 && whole.len() > 10, "{} and {}", real.len(), whole.len());
    for (cwnd, threshold, alpha) in real {
        let cut = 1.0 - threshold / cwnd;
        assert!(alpha > 0.0 && (cut - alpha.powf(0.125) / 2.0).abs() < 0.002, "{cwnd} to {threshold}, alpha {alpha}");
        assert!(cut > 0.02, "{cwnd} to {threshold}");
    }
    // Marked without a cut.
    for (cwnd, threshold, alpha) in whole {
        assert_eq!((cwnd, alpha), (threshold, 0.0));
    }
}
