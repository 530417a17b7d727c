//! The numbers of the final table, from rows with known answers.

mod common;

use forebay_store::RunInfo;
use forebay_store::summary::{GROUP_METRICS, NETWORK_METRICS, summarise};

#[test]
fn numbers_of_a_run() {
    let config = common::config(1);
    let s = summarise(&RunInfo::new("v", 0, &config), &config, &common::report(1));
    let group = |label: &str| (GROUP_METRICS.iter().find(|m| m.label == label).unwrap().get)(&s.groups[0]);
    // 125 000 bytes in 10 ms.
    assert_eq!(group("goodput"), Some(1e8));
    assert_eq!((group("flows started"), group("flows completed")), (Some(2.0), Some(1.0)));
    assert_eq!((group("queries started"), group("queries completed")), (Some(2.0), Some(1.0)));
    assert_eq!((group("timeouts"), group("timeouts per query")), (Some(4.0 - 2.0), Some(1.0)));
    assert!((group("FCT small (<= 100 KB) p50").unwrap() - 1.234e-3).abs() < 1e-11);
    assert_eq!(group("FCT medium p50"), None);
    assert!((group("query completion p99").unwrap() - 2e-3).abs() < 1e-15);
    let network = |label: &str| (NETWORK_METRICS.iter().find(|m| m.label == label).unwrap().get)(&s.network);
    assert_eq!(s.network.port, "bottleneck");
    assert_eq!(
        (network("queue p99"), network("drops, all ports"), network("marks, all ports")),
        (Some(9.0), Some(7.0), Some(5.0))
    );
}
