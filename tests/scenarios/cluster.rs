//! Scaled cluster benchmark of the DCTCP slides (DCTCP specification 4.13): 1 MB of answers arrive at shallow shared memory, beside background flows.
//! The publication reports timeouts in more than 90 % of TCP's queries and less than 1 % of DCTCP's. The slides print no numbers, and the distributions
//! are our choice, so the difference is much smaller here.

use forebay_tests::{Rounds, repository, run};

#[test]
fn dctcp_absorbs_query_bursts() {
    let text = std::fs::read_to_string(repository().join("scenarios/cluster.toml")).unwrap();
    let outcomes = run(&text, &["workload.0.total=1MB", "duration=80ms"]);
    let [tcp, dctcp] = [0, 1].map(|i| {
        let o = &outcomes[i];
        let done: Vec<_> = o.report.queries.iter().filter(|q| !q.end.is_never()).cloned().collect();
        let share = Rounds(&done).with_timeout();
        println!("{}: {share:.3} of {} queries with a timeout, {} drops", o.variant.label, done.len(), o.drops());
        assert!(done.len() > 20);
        share
    });
    assert!(tcp > 0.5 && dctcp < 0.05, "{tcp} {dctcp}");
}
