//! Requests and answers on one TCP connection: one handshake, answers that acknowledge requests, ACKs that wait for data, and losses of both directions.

use forebay_experiment::rows::PacketRow;
use forebay_experiment::traffic::WorkloadKind;
use forebay_sim::run::{Cores, run_seeded};
use forebay_tests::processes::execute_among;
use forebay_tests::{Outcome, execute, resolve, rows};
use forebay_types::WorkloadId;
use std::ops::ControlFlow;

/// A client at `receiver` and servers at `senders`, with `buffer` at both directions of the client's link.
fn star(transport: &str, buffer: &str, workload: &str) -> String {
    format!(
        "duration = \"3s\"\n[topology]\nkind = \"many-to-one\"\nsenders = 4\naccess = {{ rate = \"2Gbps\", delay = \"20us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", buffer = \"{buffer}\" }}\n[transport]\n{transport}\n\
         [[workload]]\n{workload}\ntwo-way = true\n"
    )
}

const LINUX: &str = "stack = \"linux\"\nhost = \"bare\"\ncc = \"cubic\"";
const RFC: &str = "stack = \"rfc\"\ncc = \"newreno\"\nrecovery = \"sack\"\nrto-min = \"50ms\"\nrto-initial = \"100ms\"";
const SMALL: &str = "kind = \"requests\"\nclients = \"s0\"\nresponse = \"1KB\"\ncount = 5\nthink = \"100us\"";
const LARGE: &str = "kind = \"requests\"\nrequest = { uniform = [\"100B\", \"30KB\"] }\nresponse = { uniform = [\"100B\", \"60KB\"] }\n\
                     count = 60\nthink = \"100us\"";
const INCAST: &str = "kind = \"incast\"\nblock = \"40KB\"\nrounds = 20\njitter = \"20us\"";

/// One run with all packets.
fn watched(text: &str) -> Outcome {
    let mut variant = resolve(text, &[], None).remove(0);
    variant.config.observe.packets = true;
    let report = execute(&variant.config);
    Outcome { variant, report }
}

fn packets(o: &Outcome, wanted: impl Fn(&PacketRow) -> bool) -> usize {
    o.report.packets.iter().filter(wanted).count()
}

/// The answer is the ACK of the request, and the next request that of the answer (RFC 9293 section 3.8.6.3). The first segments of a connection are
/// acknowledged at once (tcp_event_data_recv), as are the ends of writes until data has left in answer to data (tcp_cleanup_rbuf).
#[test]
fn answers_acknowledge_requests() {
    let linux = watched(&star(LINUX, "100pkt", SMALL));
    assert_eq!((linux.report.flows.len(), linux.rtos()), (10, 0));
    assert_eq!(packets(&linux, |p| p.syn && !p.back), 1, "one handshake for both directions");
    // Both hosts acknowledge the first message alone, and the client the last answer.
    let alone: Vec<_> = linux.report.packets.iter().filter(|p| p.back && !p.syn).collect();
    assert_eq!(alone.len(), 3, "{alone:?}");

    // RFC 5681 section 4.2: an ACK may be delayed, and only the last one finds no data to travel with.
    let rfc = watched(&star(RFC, "100pkt", SMALL));
    assert_eq!((rfc.report.flows.len(), packets(&rfc, |p| p.back && !p.syn)), (10, 1));
}

/// Lost requests, and lost ACKs of answers, which travel with them: every message arrives, and every byte is acknowledged.
#[test]
fn lost_requests_are_repaired() {
    for transport in [
        LINUX,
        &format!("{LINUX}\nrecovery = \"newreno\""),
        &format!("{LINUX}\nack-every = 1"),
        &format!("{LINUX}\ntimestamps = false"),
        RFC,
        &format!("{RFC}\nack-every = 1"),
    ] {
        let o = forebay_tests::one(&star(transport, "12pkt", LARGE), &[]);
        let retransmitted = |request: bool| {
            let of_kind = o.report.flows.iter().filter(|f| f.request == request);
            of_kind.map(|f| f.segs_retx).sum::<u64>()
        };
        assert!(retransmitted(true) > 0, "{transport}");
        assert_eq!(o.report.flows.iter().filter(|f| f.acked.is_never()).count(), 0, "{transport}");
        assert_eq!(o.report.queries.len(), 240, "{transport}");
    }
}

/// Servers merge the segments of answers that carry the same ACK (tcp_gro_receive), and TCP small queues let a sender continue when its packets have
/// left the queue of its host. So do bare hosts, but for the merging: there every second segment is acknowledged.
#[test]
fn servers_merge_two_way_segments() {
    let text = "[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = { rate = \"10Gbps\", delay = \"20us\" }\n\
                bottleneck = { rate = \"10Gbps\", delay = \"20us\", buffer = \"400pkt\" }\n[transport]\nstack = \"linux\"\n\
                host = \"HOST\"\ncc = \"cubic\"\n[[workload]]\nkind = \"requests\"\nrequest = \"1MB\"\nresponse = \"1MB\"\n\
                count = 10\ntwo-way = true\n";
    let alone = |host: &str| {
        let o = watched(&text.replace("HOST", host));
        assert_eq!((o.report.queries.len(), o.rtos(), o.report.flows.iter().filter(|f| f.acked.is_never()).count()), (10, 0, 0));
        packets(&o, |p| p.back && !p.syn)
    };
    let (server, bare) = (alone("linux-server"), alone("bare"));
    assert!(server * 2 < bare, "{server} ACKs of servers, {bare} of bare hosts");
}

/// Marks of requests are echoed by answers as well.
#[test]
fn data_echoes_marks() {
    let text = star("stack = \"linux\"\nhost = \"bare\"\ncc = \"dctcp\"", "60pkt", LARGE)
        .replace("buffer = \"60pkt\" }", "buffer = \"60pkt\", queue = { kind = \"dctcp-step\", k = \"5pkt\" } }");
    let o = watched(&text);
    let reduced = |request: bool| o.report.flows.iter().filter(|f| f.request == request).map(|f| f.ecn_reductions).sum::<u32>();
    assert!(reduced(true) > 0 && reduced(false) == 0, "{} {}", reduced(true), reduced(false));
    assert!(packets(&o, |p| p.ece && !p.back && !p.syn && p.payload > 0) > 0, "no data carries an echo");
}

/// The hosts of a connection may run on different cores, and in different processes.
#[test]
fn two_way_runs_divide() {
    for (transport, workload) in [(LINUX, INCAST), (LINUX, LARGE), (RFC, INCAST)] {
        let config = resolve(&star(transport, "12pkt", workload), &[], None).remove(0).config;
        let alone = execute(&config);
        assert!(alone.flows.iter().any(|f| f.segs_retx > 0), "{workload}");
        let checked = config.check().unwrap();
        let parts = run_seeded(checked, config.seed, Cores::exactly(3), &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(rows(&parts), rows(&alone), "{transport} {workload} on three cores");
        let among = execute_among(&config, 3, 1).unwrap();
        assert_eq!(rows(&among), rows(&alone), "{transport} {workload} in three processes");
    }
}

/// Two-way connections are refused where they are not built, with the reason.
#[test]
fn two_way_refusals_name_reason() {
    for (transport, because) in [
        (format!("{LINUX}\nshim = \"prin\""), "with the shim `prin`"),
        (format!("{LINUX}\nhandshake = false"), "needs a handshake"),
    ] {
        let mut config = resolve(&star(LINUX, "12pkt", SMALL).replace("two-way = true", ""), &[], None).remove(0).config;
        let other = resolve(&star(&transport, "12pkt", SMALL).replace("two-way = true", ""), &[], None).remove(0).config;
        assert!(config.check().is_ok());
        config.groups = other.groups;
        let WorkloadKind::Requests { two_way, .. } = &mut config.workloads[WorkloadId::new(0)].kind else { panic!("requests") };
        *two_way = true;
        let refused = config.check().unwrap_err().to_string();
        assert!(refused.contains(because), "{refused}");
    }
}
