//! Flow lists whose flows wait for others, and matrices of racks.

use forebay_tests::{Outcome, execute, resolve};
use forebay_types::{NodeId, Time};
use std::path::PathBuf;

/// A file that a scenario names.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("forebay-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Temporary(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn run(topology: &str, workload: &str, sets: &[&str]) -> Outcome {
    let text = format!(
        "{topology}\n[transport]\nstack = \"ns2\"\ncc = \"newreno\"\nhandshake = false\nfin = false\n[[workload]]\n{workload}\n"
    );
    let variant = resolve(&text, sets, None).remove(0);
    let report = execute(&variant.config);
    Outcome { variant, report }
}

const STAR: &str = "[topology]\nkind = \"many-to-one\"\nsenders = 3\naccess = { rate = \"1Gbps\", delay = \"10us\" }\n\
                    bottleneck = { rate = \"1Gbps\", delay = \"10us\", buffer = \"100pkt\" }";

/// One packet takes 2 * (12 + 10) us. The second flow begins 30 us after the first has arrived, the third 20 us after the second. The fourth
/// waits for the third, and for the ACK of the first at its own source.
#[test]
fn flows_begin_after_others() {
    let list = "id,src,dst,bytes,start_us,after\n\
                d,s0,recv,1460,40,c a\n\
                a,s0,s1,1460,0,\n\
                b,s1,s2,1460,30,a\n\
                c,s2,s0,1460,20,b\n";
    let file = Temporary::new("dependent.csv", list);
    let workload = format!("kind = \"replay\"\nfile = \"{}\"", file.0.display());
    for sets in [&[][..], &["seed=7"]] {
        let o = run(STAR, &workload, sets);
        let mut times: Vec<(u64, u64)> =
            o.report.flows.iter().map(|f| (f.start.0 / 1000, f.end.get().unwrap().0 / 1000)).collect();
        times.sort_unstable();
        let us = |us: u64| Time::from_us(us).0 / 1000;
        let expected = [(0, 44), (74, 118), (138, 182), (222, 266)].map(|(a, b)| (us(a), us(b)));
        assert_eq!(times, expected);
    }
}

/// A flow begins when each event that it waits for has ended and its pause is over: 44 + 10 us, 44 + 50 us, and 70 us.
#[test]
fn each_event_has_a_pause() {
    let list = "id,src,dst,bytes,start_us,after\n\
                a,s0,s1,1460,0,\n\
                b,s1,s2,1460,0,a@10us @20us\n\
                c,s1,s0,1460,0,a@50us @70us\n\
                d,s2,s1,1460,1,@70us\n";
    let file = Temporary::new("pauses.csv", list);
    let o = run(STAR, &format!("kind = \"replay\"\nfile = \"{}\"", file.0.display()), &[]);
    let mut starts: Vec<Time> = o.report.flows.iter().map(|f| Time(f.start.0)).collect();
    starts.sort_unstable();
    assert_eq!(starts, [0, 54, 71, 94].map(Time::from_us));
}

/// A chain without pauses: each flow begins at the earliest time at which a connection can open, at most a link's delay after the last one.
#[test]
fn chain_has_makespan_of_its_messages() {
    let mut list = String::from("id,src,dst,bytes,start_us,after\n0,s0,s1,1460,0,\n");
    for i in 1..30 {
        list += &format!("{i},s{},s{},1460,0,{}\n", i % 3, (i + 1) % 3, i - 1);
    }
    let file = Temporary::new("chain.csv", &list);
    let o = run(STAR, &format!("kind = \"replay\"\nfile = \"{}\"", file.0.display()), &[]);
    assert_eq!(o.report.flows.len(), 30);
    let end = o.report.flows.iter().map(|f| f.end.get().unwrap()).max().unwrap();
    let (least, most) = (Time::from_us(30 * 44), Time::from_us(30 * 44 + 29 * 10));
    assert!((least..=most).contains(&end), "{end}");
}

/// Flows between racks in proportion to the weights, and with log-normal gaps. The share of n flows has a standard deviation of at most 0.5 / sqrt(n).
#[test]
fn matrix_gives_shares_of_flows() {
    let fabric = "duration = \"200ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nhosts-per-leaf = 4\nspines = 2\n\
                  host = { rate = \"10Gbps\", delay = \"1us\" }\nfabric = { rate = \"10Gbps\", delay = \"1us\", buffer = \"1000pkt\" }";
    let file = Temporary::new("matrix.csv", "# three racks\n0, 3, 0\n0, 0, 1\n2, 0, 2\n");
    let workload = format!(
        "kind = \"poisson\"\nfrom = \"all\"\nto = \"all\"\nsizes = \"1KB\"\nrate = 50000.0\nsigma = 1.5\nmatrix = \"{}\"",
        file.0.display()
    );
    let o = run(fabric, &workload, &[]);
    let rack = |node: NodeId| {
        let name = &o.variant.node_names[node.index()];
        name[1..].parse::<usize>().unwrap() / 4
    };
    let mut counts = [[0.0_f64; 3]; 3];
    o.report.flows.iter().for_each(|f| counts[rack(f.src)][rack(f.dst)] += 1.0);
    let n = o.report.flows.len() as f64;
    assert!(n > 5_000.0, "{n}");
    for (from, row) in [[0.0, 3.0, 0.0], [0.0, 0.0, 1.0], [2.0, 0.0, 2.0]].into_iter().enumerate() {
        for (to, weight) in row.into_iter().enumerate() {
            let error = 5.0 * 0.5 / n.sqrt();
            assert!((counts[from][to] / n - weight / 8.0).abs() < error, "{from} to {to}: {counts:?}");
            assert!(weight > 0.0 || counts[from][to] == 0.0, "{counts:?}");
        }
    }
}
