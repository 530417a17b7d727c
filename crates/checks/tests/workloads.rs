//! What each kind of traffic promises: when trains, requests, rounds and listed flows start, and how large they are.

use forebay_checks::{Outcome, one};
use std::path::PathBuf;

const US: u64 = 1_000_000;

fn text(workload: &str) -> String {
    format!(
        "[topology]\nkind = \"dumbbell\"\nleft = 3\naccess = {{ rate = \"1Gbps\", delay = \"10us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"10us\" }}\n[transport]\nfin = false\n[[workload]]\n{workload}\n"
    )
}

fn by_connection(o: &Outcome, conn: u64) -> Vec<&forebay_sim::observe::FlowRow> {
    o.report.flows.iter().filter(|f| f.conn_id == conn).collect()
}

#[test]
fn a_closed_loop_pauses_after_completion() {
    let o = one(&text("kind = \"on-off\"\nsizes = \"20KB\"\ngaps = \"100us\"\ntrains = 5\nstart = \"1ms\""), &[]);
    assert_eq!(o.report.flows.len(), 15);
    for conn in 0..3 {
        let trains = by_connection(&o, conn);
        assert_eq!(trains[0].start_ps, 1_100 * US);
        for pair in trains.windows(2) {
            assert_eq!(pair[1].start_ps, pair[0].acked_ps + 100 * US);
        }
        assert!(trains.iter().all(|t| t.size_bytes == 20_000 && t.bytes_acked == 20_000 && t.end_ps < t.acked_ps));
    }
}

#[test]
fn an_open_loop_pauses_after_the_start_and_queues() {
    let o = one(
        &text(
            "kind = \"on-off\"\nsizes = \"200KB\"\ngaps = \"100us\"\ngap-from = \"start\"\ntrains = 4\nlast-size = \"1KB\"\nlast-at = \"2ms\"",
        ),
        &[],
    );
    for conn in 0..3 {
        let trains = by_connection(&o, conn);
        let starts: Vec<u64> = trains.iter().map(|t| t.start_ps / US).collect();
        assert_eq!(starts, [100, 200, 300, 400, 2000]);
        assert_eq!(trains.iter().map(|t| t.size_bytes).collect::<Vec<_>>(), [200_000, 200_000, 200_000, 200_000, 1_000]);
        // One after the other on the connection, although written at once.
        assert!(trains.windows(2).all(|w| w[0].end_ps < w[1].end_ps));
    }
}

#[test]
fn a_client_asks_again_after_the_answer_and_its_thoughts() {
    let o = one(
        &text("kind = \"requests\"\nrequest = \"100B\"\nresponse = \"5KB\"\nthink = \"250us\"\ncount = 6\nstart = \"50us\""),
        &[],
    );
    assert_eq!((o.report.queries.len(), o.report.flows.len()), (18, 36));
    for query in &o.report.queries {
        let parts: Vec<_> = o.report.flows.iter().filter(|f| f.query_id == query.query_id).collect();
        let [request, response] = parts[..] else { panic!("{parts:?}") };
        assert_eq!((request.size_bytes, response.size_bytes), (100, 5_000));
        assert_eq!((request.src, request.dst), (response.dst, response.src));
        // The server answers when it has the request.
        assert_eq!(response.start_ps, request.end_ps);
        assert_eq!((query.start_ps, query.end_ps), (request.start_ps, response.end_ps));
        let next = o.report.queries.iter().filter(|q| q.start_ps == query.end_ps + 250 * US).count();
        let last = o.report.queries.iter().all(|q| q.start_ps <= query.end_ps + 250 * US);
        assert!(next >= 1 || last, "{query:?}");
    }
}

#[test]
fn rounds_wait_for_all_blocks() {
    let o = one(
        &text(
            "kind = \"incast\"\nsenders = \"left\"\nreceiver = \"r0\"\nblock = \"64KB\"\nrounds = 4\ngap = \"1ms\"\nrequest-latency = \"40us\"",
        ),
        &[],
    );
    assert_eq!(o.report.queries.len(), 4);
    for (i, q) in o.report.queries.iter().enumerate() {
        let blocks: Vec<_> = o.report.flows.iter().filter(|f| f.query_id == i as u64).collect();
        assert_eq!((blocks.len(), q.fan_in, q.bytes), (3, 3, 192_000));
        assert!(blocks.iter().all(|b| b.start_ps == q.start_ps + 40 * US));
        assert_eq!(q.end_ps, blocks.iter().map(|b| b.end_ps).max().unwrap());
        if let Some(next) = o.report.queries.get(i + 1) {
            assert_eq!(next.start_ps, q.end_ps + 1000 * US);
        }
    }
}

/// A total is divided, rounded up to whole bytes each.
#[test]
fn a_total_is_shared_by_the_senders() {
    let o = one(&text("kind = \"incast\"\nsenders = \"left\"\nreceiver = \"r0\"\ntotal = \"1MB\"\nrounds = 1"), &[]);
    assert!(o.report.flows.iter().all(|f| f.size_bytes == 333_334));
}

fn replayed(name: &str, content: &str) -> Outcome {
    let path: PathBuf = std::env::temp_dir().join(format!("forebay-checks-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    let o = one(&text(&format!("kind = \"replay\"\nfile = \"{}\"", path.display())), &[]);
    std::fs::remove_file(&path).unwrap();
    o
}

#[test]
fn lists_of_flows_are_replayed_as_written() {
    // Hosts l0, l1, l2, r0, r1, r2 are 0 to 5.
    let hpcc = replayed(
        "flow.txt",
        "4\n0 3 3 100 5000 0.000100\n1 4 3 100 1 0.0001000005\n2 5 3 100 1460000 0.000050\n3 0 3 100 777 0.002\n",
    );
    let csv = replayed(
        "flows.csv",
        "start_us,dst,src,bytes,note\n50,r2,l2,1460000,a\n100,r0,l0,5000,b\n100.0005,4,1,1,c\n2000,l0,r0,777,d\n",
    );
    let facts = |o: &Outcome| o.report.flows.iter().map(|f| (f.start_ps, f.src, f.dst, f.size_bytes)).collect::<Vec<_>>();
    let expected = [(50 * US, 2, 5, 1_460_000), (100 * US, 0, 3, 5_000), (100 * US + 500, 1, 4, 1), (2_000 * US, 3, 0, 777)];
    assert_eq!(facts(&hpcc), expected);
    assert_eq!(facts(&csv), expected);
    assert_eq!(hpcc.report.fingerprint, csv.report.fingerprint);
    assert!(hpcc.report.flows.iter().all(|f| f.bytes_acked == f.size_bytes));
}
