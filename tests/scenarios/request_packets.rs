//! Requests of `incast` and `queries` as packets: completion times of whole queries computed by hand, and a lost request.

use crate::workloads::US;
use forebay_experiment::rows::FlowRow;
use forebay_experiment::waits::Cause;
use forebay_tests::processes::execute_among;
use forebay_tests::{Outcome, one, rows};
use forebay_types::NodeId;

/// Links of 1 Gbps and 20 us; packets have 40 B of headers. Without handshakes, each connection is open from the start. Requests of 1000 B take
/// 8.32 us on a link, answers of one full segment 12 us. A server acknowledges a request with 40 B, 0.32 us, before it answers.
fn star(senders: u32, more: &str, workload: &str) -> String {
    format!(
        "duration = \"2s\"\n[topology]\nkind = \"many-to-one\"\nsenders = {senders}\naccess = {{ rate = \"1Gbps\", delay = \"20us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"20us\" }}\n{more}[transport]\nstack = \"ns2\"\nmss = 1460\nheader = 40\nhandshake = false\n\
         rto-initial = \"300ms\"\n[[workload]]\nstart = \"1ms\"\n{workload}"
    )
}

const INCAST: &str = "kind = \"incast\"\nrequest = \"1000B\"\nblock = \"1460B\"\nrounds = 1\n";
const QUERIES: &str = "kind = \"queries\"\nrequest = \"1000B\"\nresponse = \"1460B\"\ncount = 1\n";

/// Completion time of the only query, ps.
fn completion(o: &Outcome) -> u64 {
    let [q] = o.report.queries[..] else { panic!("{} queries", o.report.queries.len()) };
    q.end.ps().expect("complete") - q.start.0
}

#[test]
fn query_takes_request_and_answer() {
    // Two links each: 2 x (8.32 + 20) us for the request, 0.32 us for its ACK, 2 x (12 + 20) us for the answer.
    let alone = 120_960 * US / 1_000;
    for workload in [INCAST, QUERIES] {
        let o = one(&star(1, "", workload), &[]);
        assert_eq!((o.report.queries[0].start.0, completion(&o)), (1_000 * US, alone), "{workload}");
        // The fan-in and the bytes are those of the answers.
        assert_eq!((o.report.queries[0].fan_in, o.report.queries[0].bytes), (1, 1_460));
        let [request, answer] = &o.report.flows[..] else { panic!("{}", o.report.flows.len()) };
        assert!(request.request && !answer.request && request.dst == answer.src && request.src == answer.dst);
        // The answer begins when the request has arrived.
        assert_eq!((Some(answer.start.0), request.size_bytes, answer.size_bytes), (request.end.ps(), 1_000, 1_460));
    }
}

#[test]
fn requests_queue_at_client() {
    // The second request leaves 8.32 us after the first, so that its answer finds the first one on the bottleneck. The first answer is there from
    // 88.96 to 100.96 us, the second until 112.96 us, and arrives 20 us later.
    for workload in [INCAST, QUERIES] {
        assert_eq!(completion(&one(&star(2, "", workload), &[])), 132_960 * US / 1_000, "{workload}");
    }
}

#[test]
fn processing_time_comes_before_answer() {
    let text = star(4, "", &INCAST.replace("rounds = 1", "rounds = 50\njitter = \"300us\""));
    let o = one(&text, &[]);
    let delays: Vec<u64> = requests(&o).map(|r| answer(&o, r).start.0 - r.end.ps().unwrap()).collect();
    // 200 draws, uniform in 0..=300 us: the mean is within five standard errors of 150.
    let mean = delays.iter().sum::<u64>() as f64 / 200.0 / US as f64;
    assert!(delays.len() == 200 && delays.iter().all(|d| *d <= 300 * US), "{delays:?}");
    assert!((mean - 150.0).abs() < 5.0 * 300.0 / 12_f64.sqrt() / 200_f64.sqrt(), "{mean}");
}

/// Requests.
fn requests(o: &Outcome) -> impl Iterator<Item = &FlowRow> {
    o.report.flows.iter().filter(|f| f.request)
}

/// The answer to a request.
fn answer<'a>(o: &'a Outcome, request: &FlowRow) -> &'a FlowRow {
    let is = |f: &&FlowRow| f.query_id == request.query_id && f.src == request.dst;
    o.report.flows.iter().find(is).expect("an answer")
}

#[test]
fn deadline_is_that_of_answer() {
    let text = star(3, "", &QUERIES.replace("count = 1", "count = 5\njitter = \"90us\"\ndeadline = \"200us\""));
    let o = one(&text, &[]);
    assert_eq!(requests(&o).count(), 15);
    for r in requests(&o) {
        let query = &o.report.queries[r.query_id.unwrap().index()];
        assert!(r.deadline.is_never());
        assert_eq!(answer(&o, r).deadline.ps(), Some(query.start.0 + 200 * US));
    }
}

#[test]
fn lost_request_delays_query() {
    // The client's link is down when the request is on it. The request is sent again after the first RTO.
    let down = "failure = [{ link = \"bottleneck\", down = \"999us\", up = \"1500us\" }]\n";
    for workload in [INCAST, QUERIES] {
        let o = one(&star(1, down, workload), &[]);
        let rto = 300_000 * US;
        assert_eq!(completion(&o), 120_960 * US / 1_000 + rto, "{workload}");
        let (q, request) = (&o.report.queries[0], requests(&o).next().unwrap());
        // The answer itself came without delay: the row names the request.
        assert_eq!((q.slowest, q.rtos, q.senders_with_rto), (Some(request.flow_id), 1, 1));
        assert_eq!(q.waited.map(|w| (w.cause, w.time_ps)), Some((Cause::Timeout, rto)));
        // It waited only in its host's queue, for the ACK of the request.
        assert_eq!(answer(&o, request).waited.map(|w| (w.cause, w.time_ps)), Some((Cause::HostQueue, 320_000)));
    }
}

/// Both directions of an exchange have the transport of the answers, also where groups name hosts.
#[test]
fn requests_have_transport_of_answers() {
    let groups = "[[transport.group]]\nname = \"a\"\ncc = \"cubic\"\nhosts = [\"s0\"]\n\
                  [[transport.group]]\nname = \"b\"\ncc = \"newreno\"\nhosts = [\"s1\"]\n[[workload]]";
    for workload in [INCAST, QUERIES] {
        let o = one(&star(2, "", workload).replace("[[workload]]", groups), &[]);
        assert_eq!(o.report.flows.len(), 4);
        for r in requests(&o) {
            assert_eq!((r.group, r.group.index()), (answer(&o, r).group, usize::from(r.dst != NodeId::new(0))));
        }
    }
}

/// Sizes, processing times and deadlines of answers are drawn where the server is, from the start of the query where the client is.
#[test]
fn rows_are_same_for_any_division() {
    let text = "duration = \"20ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\n\
                host = { rate = \"1Gbps\", delay = \"10us\", buffer = \"30pkt\" }\n[transport]\nstack = \"linux\"\ncc = \"cubic\"\nrto-min = \"2ms\"\n\
                [[workload]]\nkind = \"incast\"\nsenders = [\"h1\", \"h5\", \"h9\", \"h10\"]\nreceiver = \"h0\"\nblock = \"30KB\"\njitter = \"90us\"\n\
                deadline = \"1ms\"\n[[workload]]\nkind = \"queries\"\nresponse = { uniform = [\"2KB\", \"30KB\"] }\nrate = 600.0\nfan-out = 5\n\
                jitter = \"90us\"\ndeadline = \"900us\"\n";
    let o = one(text, &[]);
    let expected = rows(&o.report);
    let answered = o.report.flows.iter().filter(|f| !f.request && !f.deadline.is_never()).count();
    assert!(answered > 200, "{answered}");
    for (processes, cores) in [(2, 1), (3, 1), (3, 2)] {
        let divided = execute_among(&o.variant.config, processes, cores).unwrap();
        assert!(expected == rows(&divided), "{processes} processes with {cores} cores");
    }
}

/// A connection opens at time zero: the first request of a workload that starts then waits for the handshake, one round trip of 40 B on two links.
#[test]
fn first_request_waits_for_handshake() {
    let text = |start: &str| star(1, "", INCAST).replace("handshake = false", "handshake = true").replace("1ms", start);
    let (first, later) = (one(&text("0s"), &[]), one(&text("1ms"), &[]));
    let round_trip = 4 * (20 * US + 320_000);
    let waited = completion(&first) - completion(&later);
    // The handshake's last ACK may leave before the request.
    assert!((round_trip..=round_trip + 320_000).contains(&waited), "{waited}");
}
