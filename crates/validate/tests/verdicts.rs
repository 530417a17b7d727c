//! Verdicts about congestion controls whose faults are known, and about those that bands are relative to.

use crate::guest::has_kernel;
use forebay_scenario::Scenario;
use forebay_validate::referee::{Finding, Report, Request, Runs, Verdict, json, page, qlog, referee, table};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

/// The whole report of a congestion control in the simulator, on two threads.
fn request(cc: &str) -> Request {
    let columns = vec!["sim".into()];
    Request { worlds: forebay_backends::all(), cc: cc.into(), columns, threads: 2, tcpeval: false, pictures: false }
}

/// The reports share the runs of Reno and CUBIC.
fn judge(request: &Request) -> Report {
    static RUNS: OnceLock<Runs> = OnceLock::new();
    referee(request, RUNS.get_or_init(Runs::default), &AtomicBool::new(false), &|_, _| ()).unwrap()
}

/// Report of a congestion control, which several tests read; of `halving` with the rows of the evaluation suite.
fn judged(cc: &str) -> Arc<Report> {
    static REPORTS: Mutex<BTreeMap<String, Arc<OnceLock<Arc<Report>>>>> = Mutex::new(BTreeMap::new());
    let slot = REPORTS.lock().unwrap().entry(cc.to_owned()).or_default().clone();
    slot.get_or_init(|| Arc::new(judge(&Request { tcpeval: cc == "halving", ..request(cc) }))).clone()
}

/// The report of `cubic` on one thread, with pictures.
fn observed() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| judge(&Request { threads: 1, pictures: true, ..request("cubic") }))
}

fn violated(report: &Report) -> Vec<&str> {
    report.findings.iter().filter(|f| f.cells[0].verdict == Verdict::Violated).map(|f| f.row).collect()
}

fn row<'a>(report: &'a Report, name: &str) -> &'a Finding {
    report.findings.iter().find(|f| f.row.starts_with(name)).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn fixed_rate_is_convicted() {
    let report = judged("fixed-rate");
    let rows = violated(&report);
    for name in ["collapse", "loss rate of 16 flows", "harm to newreno", "harm to cubic", "real-time traffic"] {
        assert!(rows.iter().any(|r| r.starts_with(name)), "{name}: {rows:?}");
    }
}

#[test]
fn halving_is_convicted() {
    let report = judged("halving");
    let rows = violated(&report);
    for name in ["goodput of one flow", "RTT of 600 ms", "two flows, marks"] {
        assert!(rows.iter().any(|r| r.starts_with(name)), "{name}: {rows:?}");
    }
    assert_eq!(row(&report, "harm to cubic").cells[0].verdict, Verdict::Holds);
}

#[test]
fn references_hold_and_repeat() {
    let report = judged("cubic");
    assert_eq!(violated(&report), [""; 0]);
    assert_eq!(report.findings, observed().findings, "neither the number of threads nor observation changes anything");
    assert_eq!(report.scenarios, observed().scenarios);
    let text = table(&report);
    assert!(text.starts_with("cubic in sim: ") && text.contains("harm to newreno"), "{text}");
    assert!(!text.to_lowercase().contains("pass"), "every verdict has its band");
    assert_eq!(json(&report)["rows"].as_array().unwrap().len(), report.findings.len());
    // Each scenario is complete.
    for (name, text) in &report.scenarios {
        let scenario = Scenario::from_text(forebay_backends::all(), text, name, Path::new("."), &[], None).unwrap();
        scenario.resolve().unwrap_or_else(|e| panic!("{}", e.render()));
    }
    for f in &report.findings {
        assert!(f.cells[0].scenarios.iter().all(|s| report.scenarios.contains_key(s)), "{f:?}");
    }
}

#[test]
fn bbr3_follows_the_draft() {
    let report = judged("bbr3");
    let cases: Vec<&Finding> = report.findings.iter().filter(|f| f.source == "ccwg-bbr").collect();
    assert_eq!(cases.len(), 25);
    for f in cases {
        assert!(matches!(f.cells[0].verdict, Verdict::Holds | Verdict::Reported), "{f:?}");
    }
}

#[test]
fn evaluation_suite_convicts_null_controls() {
    let report = judged("halving");
    let suite: Vec<&Finding> = report.findings.iter().filter(|f| f.group.contains("Evaluation Suite")).collect();
    assert_eq!(suite.len(), 36);
    for f in &suite {
        println!("{}: {} ({}): {:?}", f.row, f.cells[0].value, f.cells[0].band, f.cells[0].verdict);
        assert!(matches!(f.cells[0].verdict, Verdict::Holds | Verdict::Violated), "{f:?}");
    }
    // It does not fill the link after 75 % of it have become free, nor with a new flow.
    let rows = violated(&report);
    for name in ["75 Mbit/s of UDP end", "ramp-up, 1 Gbit/s"] {
        assert!(rows.iter().any(|r| r.starts_with(name)), "{name}: {rows:?}");
    }
}

/// The page has a figure for each row that has run.
#[test]
fn every_row_has_a_picture() {
    let report = observed();
    let page = page(report);
    let figures: Vec<_> = page.sections.iter().flat_map(|s| &s.figures).collect();
    let ran = report.findings.iter().filter(|f| f.cells.iter().any(|c| !c.scenarios.is_empty()));
    assert_eq!(figures.iter().map(|f| f.title.as_str()).collect::<Vec<_>>(), ran.map(|f| f.row).collect::<Vec<_>>());
    assert_eq!(report.pictures.len(), report.scenarios.len());
    // One flow fills the link, and its queue is that of the row.
    let alone = &report.pictures["alone-cubic"];
    let values = &alone.goodput[0].values;
    let mean = values.iter().skip(values.len() / 5).sum::<f64>() / (values.len() - values.len() / 5) as f64;
    assert!(alone.goodput[0].name.starts_with("cubic") && (40e6..50e6).contains(&mean), "{mean}: {}", alone.goodput[0].name);
    assert!(alone.queue[0].values.len() > 300 && alone.rate == Some(50e6));
    let html = forebay_report::render(&page);
    assert!(html.contains("loss rate of 16 flows") && html.contains("row-1"));
}

#[test]
fn qlog_has_packets_of_row() {
    let text = "name = \"short\"\nduration = \"1s\"\n[topology]\nkind = \"dumbbell\"\nleft = 1\n\
                access = { rate = \"1Gbps\", delay = \"100us\" }\nbottleneck = { rate = \"10Mbps\", delay = \"5ms\", buffer = \"20pkt\" }\n\
                [transport]\nstack = \"linux\"\ncc = \"cubic\"\n[[workload]]\nkind = \"long\"\nfrom = \"l0\"\nto = \"r0\"\n";
    let log = String::from_utf8(qlog(&request("cubic"), text, &AtomicBool::new(false)).unwrap().unwrap()).unwrap();
    let records: Vec<serde_json::Value> =
        log.split('\u{1e}').skip(1).map(|record| serde_json::from_str(record).unwrap()).collect();
    let count = |name: &str| records.iter().filter(|r| r["name"] == name).count();
    // 10 Mbit/s for a second.
    assert!((750..900).contains(&count("tcp:packet_sent")), "{}", count("tcp:packet_sent"));
    assert!(count("tcp:packet_received") > 300 && count("tcp:metrics_updated") > 300);
}

/// Compares the sections `compared` of the generated part of a page with the reports; `FOREBAY_UPDATE=1` regenerates those of all `ccs`.
fn check_page(name: &str, ccs: &[&str], compared: &[&str], report: impl Fn(&str) -> Arc<Report>) {
    const MARKS: [&str; 2] = ["<!-- generated: begin -->\n", "<!-- generated: end -->"];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    let page = fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(MARKS[0]).unwrap();
    let (_, tail) = rest.split_once(MARKS[1]).unwrap();
    let update = std::env::var_os("FOREBAY_UPDATE").is_some();
    let section = |cc: &&str| {
        let begin = format!("\n## `{cc}`\n\n```text\n");
        let written = || page.split_once(&begin).and_then(|(_, rest)| rest.split_once("```\n")).unwrap().0.to_owned();
        let text = if update || compared.contains(cc) { table(&report(cc)) } else { written() };
        format!("{begin}{text}```\n")
    };
    let sections: String = ccs.iter().map(section).collect();
    let current = [head, MARKS[0], &sections, "\n", MARKS[1], tail].concat();
    if update {
        return fs::write(&path, &current).unwrap();
    }
    for (old, new) in page.lines().zip(current.lines()) {
        assert_eq!(old, new, "regenerate the page: FOREBAY_UPDATE=1");
    }
    assert_eq!(page.lines().count(), current.lines().count(), "regenerate the page: FOREBAY_UPDATE=1");
}

#[test]
fn the_page_is_current() {
    let ccs = ["reno", "newreno", "cubic", "dctcp", "bbr", "bbr3", "trim", "l2dct", "d2tcp"];
    check_page("referee.md", &ccs, &["newreno", "cubic", "dctcp", "bbr", "bbr3"], judged);
}

/// Values depend on the release of the kernel. One congestion control is compared: a report takes half a minute in the kernel.
#[test]
fn the_linux_page_is_current() {
    const RELEASE: &str = "6.12.117";
    let linux = forebay_backends::all().list().iter().find(|w| w.name() == "linux").unwrap();
    if !has_kernel() {
        return;
    }
    assert!(linux.version().contains(RELEASE), "the page is that of Linux {RELEASE}, and the kernel is {}", linux.version());
    let both = |section: &str| {
        let (cc, tcpeval) = section.split_once(" --tcpeval").map_or((section, false), |(cc, _)| (cc, true));
        let mut report = judge(&Request { columns: vec!["sim".into(), "linux".into()], tcpeval, ..request(cc) });
        // The other rows have a section of their own.
        report.findings.retain(|f| !tcpeval || f.group.contains("Evaluation Suite"));
        Arc::new(report)
    };
    check_page("referee-linux.md", &["newreno", "cubic", "dctcp", "bbr", "cubic --tcpeval"], &["dctcp"], both);
}

#[test]
fn unknown_names_are_refused() {
    let request = Request { columns: Vec::new(), ..request("cubik") };
    let error = referee(&request, &Runs::default(), &AtomicBool::new(false), &|_, _| ()).unwrap_err().to_string();
    assert!(error.contains("cubik") && error.contains("cubic"), "{error}");
}
