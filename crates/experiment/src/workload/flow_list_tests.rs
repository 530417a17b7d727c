use super::*;
use crate::topology::testing::build;
use forebay_types::param::Value;

fn list(text: &str) -> Result<Vec<ReplayFlow>, String> {
    let network = build("many-to-one", &[("senders", Value::Int(3))]).unwrap();
    read(text.as_bytes(), Format::Auto, (&network, None), 1_000).map(|list| list.flows)
}

fn flow(start_us: u64, src: NodeId, dst: NodeId, bytes: u64) -> ReplayFlow {
    ReplayFlow { start: Time::from_us(start_us), src, dst, bytes, deadline: Time::NEVER }
}

#[test]
fn hpcc() {
    let text = "3\n0 3 3 100 5000 0.000002000\n\n1 3 3 100 10 0.000001\r\n2 0 3 100 7 2e-06\n";
    assert_eq!(
        list(text).unwrap(),
        [
            flow(1, NodeId::new(1), NodeId::new(3), 10),
            flow(2, NodeId::new(0), NodeId::new(3), 5000),
            flow(2, NodeId::new(2), NodeId::new(0), 7)
        ]
    );
}

#[test]
fn csv_in_any_order_and_unit() {
    let expected = [flow(1, NodeId::new(0), NodeId::new(3), 10), flow(2, NodeId::new(1), NodeId::new(3), 5000)];
    for text in [
        "src,dst,bytes,start_s\ns1,recv,5000,0.000002\ns0,recv,10,0.000001\n",
        "# a note\nstart_us, size ,id,dst,src\n2,5000,a,3,1\n1,10,b,recv,0\n",
        "\"source\",\"destination\",\"size_bytes\",\"start-ns\"\n\"s1\",\"recv\",5000,2000\n\"s0\",\"recv\",10,1000\n",
        "Src,Dst,Bytes,Start_ps\n1,3,5e3,2000000\n0,3,10.0,1000000",
        "src,dst,bytes,start_ms\n1,3,5000,0.002\n0,3,10,0.001\n",
    ] {
        assert_eq!(list(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn misspelt_columns_are_refused() {
    for (column, hint) in [
        ("dealine_ms", "did you mean `deadline_ms`?"),
        ("afer", "did you mean `after`?"),
        ("deadline", "it has no unit"),
        ("deadlines_us", "Legal: src, dst, bytes, start_s"),
    ] {
        let error = list(&format!("src,dst,bytes,start_s,{column}\n0,1,1,2,1\n")).unwrap_err();
        assert!(error.starts_with(&format!("1: there is no column `{column}`")) && error.contains(hint), "{error}");
    }
    // Others are ignored, also those that `forebay trains` writes.
    for header in [
        "src,dst,bytes,start_s,note",
        "src,dst,bytes,start_s,class",
        "src,dst,bytes,start_ns ,data_ns  ",
        "src,dst,bytes,opened_ns,start_ns ",
    ] {
        assert_eq!(list(&format!("{header}\n0,1,1,2,2\n")).unwrap().len(), 1);
    }
}

#[test]
fn deadlines_count_from_the_start() {
    let flows = list("src,dst,bytes,start_s,deadline_ms\n0,1,1,2,0.5\n0,1,1,3,\n").unwrap();
    assert_eq!((flows[0].deadline, flows[1].deadline), (Time(2_000_500_000_000), Time::NEVER));
    for (text, message) in [
        ("src,dst,bytes,start_s,deadline_s\n0,1,1,2,0\n", "2: deadline `0` is not a time after the start"),
        ("src,dst,bytes,start_s,deadline_s\n0,1,1,2,soon\n", "2: deadline `soon`"),
        ("src,dst,bytes,start_s,deadline_s,deadline_us\n0,1,1,2,1,1\n", "1: columns `deadline_s` and `deadline_us` both"),
    ] {
        let error = list(text).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn times_are_exact() {
    // 0.1 s is not a binary fraction; a float would be off.
    assert_eq!(list("src,dst,bytes,start_s\n0,1,1,100000.100000000001").unwrap()[0].start, Time(100_000_100_000_000_001));
}

#[test]
fn list_errors_name_the_line() {
    let csv = |row: &str| format!("src,dst,bytes,start_s\ns0,s1,1,0\n{row}\n");
    let hpcc = |row: &str| format!("1\n{row}\n");
    let cases = [
        (String::new(), "the file has no content"),
        ("# only a comment\n".into(), "no content"),
        ("0\n".into(), "no flows"),
        ("src,dst,bytes,start_s\n".into(), "no flows"),
        ("2\n0 1 3 100 5 0\n".into(), "ends after 1 of 2 flows"),
        ("1\n0 1 3 100 5 0\n0 1 3 100 5 0\n".into(), "3: more flows than the 1"),
        ("1001\n".into(), "1: announces 1001 flows; at most 1000"),
        (hpcc("0 1 3 100 5"), "2: 5 fields"),
        (hpcc("0 1 3 100 5 0 7"), "2: 7 fields"),
        (hpcc("0 9 3 100 5 0"), "2: there is no host `9`; hosts are numbered 0 to 3"),
        (hpcc("0 s1 3 100 5 0"), "2: there is no host `s1`"),
        (hpcc("0 -1 3 100 5 0"), "2: there is no host `-1`"),
        (hpcc("0 0 3 100 5 0"), "2: host `0` sends to itself"),
        (hpcc("0 1 3 100 0 0"), "2: size `0` is not a whole number of bytes, at least 1"),
        (hpcc("0 1 3 100 -5 0"), "2: size `-5` is negative"),
        (hpcc("0 1 3 100 1.5 0"), "2: size `1.5` is not a whole number"),
        (hpcc("0 1 3 100 5 nan"), "2: start `nan` is not a finite"),
        (hpcc("0 1 3 100 5 inf"), "2: start `inf` is not a finite"),
        (hpcc("0 1 3 100 5 -1"), "2: start `-1` is negative"),
        (hpcc("0 1 3 100 5 1e9"), "2: start `1e9` is"),
        (csv("s0,s9,1,0"), "3: there is no host `s9`; did you mean `s0`?"),
        (csv("s0,recieve,1,0"), "3: there is no host `recieve`; did you mean `recv`?"),
        (csv("s0,sw,1,0"), "3: there is no host `sw`"),
        (csv("s0,s1,1"), "3: 3 fields, but the header has 4"),
        (csv("s0,s1,,0"), "3: size `` is not"),
        (csv(&"1,".repeat(5_000_000)), "3: the line is longer than 4096 bytes"),
        (
            "src,dst,bytes,start_sec\n0,1,1,0\n".into(),
            "1: no column for the start (`start_sec` is not it); the header must name one of start_s",
        ),
        ("src,dst,bytes,start\n0,1,1,0\n".into(), "1: the column `start` has no unit; write one of start_s"),
        ("src;dst;bytes;start_s\n0;1;1;0\n".into(), "1: the header has no commas"),
        ("src,dst,start_s\n".into(), "1: no column for the size"),
        ("src,source,dst,bytes,start_s\n".into(), "1: columns `src` and `source` both mean the source"),
        ("0 1 3 100 5 0\n".into(), "1: six fields without a header"),
        ("Nodes 16\nConnections 3\n".into(), "1: this file looks like a connection matrix of htsim"),
        ("4 1 3\n0\n".into(), "1: this file looks like an HPCC topology"),
        ("{ \"flows\": [] }\n".into(), "1: this file looks like JSON"),
        ("5\n0 1 3 100 5 0\n".into(), "ends after 1 of 5 flows"),
        (format!("src,dst,bytes,start_s\n{}", "0,1,1,0\n".repeat(1_001)), "1002: more than 1000 flows"),
    ];
    for (text, expected) in cases {
        let shown = &text[..text.len().min(60)];
        let error = list(&text).expect_err(shown);
        assert!(error.contains(expected), "{shown:?} gives {error:?}, expected {expected:?}");
    }
}

#[test]
fn format_can_be_forced() {
    let network = build("many-to-one", &[("senders", Value::Int(3))]).unwrap();
    let read = |text: &str, format| read(text.as_bytes(), format, (&network, None), 10);
    assert!(read("src,dst,bytes,start_s\n0,1,1,0\n", Format::Hpcc).unwrap_err().contains("number of flows"));
    assert!(read("1\n0 1 3 100 1 0\n", Format::Csv).is_err());
}

#[test]
fn damaged_lists_never_panic() {
    use forebay_types::Rng;
    let network = build("many-to-one", &[("senders", Value::Int(3))]).unwrap();
    let texts =
        ["2\n0 3 3 100 5000 0.000002\n1 3 3 100 10 1e-6\n", "src,dst,bytes,start_us\ns1,recv,5000,2.5\n\"0\",recv,1e3,1\n"];
    let mut rng = Rng::stream(1, &[]);
    for round in 0..20_000 {
        let mut bytes = texts[round % 2].as_bytes().to_vec();
        for _ in 0..=rng.below(4) {
            let i = rng.below(bytes.len() as u64) as usize;
            match rng.below(4) {
                0 => bytes[i] = rng.next_u64() as u8,
                1 => bytes[i] = b"0123456789eE+-.,\"\n # "[rng.below(21) as usize],
                2 => bytes.truncate(i.max(1)),
                _ => bytes.insert(i, b"9.-e,\n \""[rng.below(8) as usize]),
            }
        }
        if let Ok(List { flows, .. }) = read(&bytes[..], Format::Auto, (&network, None), 10) {
            assert!(flows.iter().all(|f| f.bytes > 0 && f.src != f.dst && f.src < NodeId::new(4) && f.dst < NodeId::new(4)));
        }
    }
}

#[test]
fn stale_count_of_the_generator() {
    // An estimate of 16 flows, over which the generator writes 1, and one whose blank shows it.
    assert_eq!(list("16 \n0 1 3 100 5 0\n").unwrap().len(), 1);
    assert_eq!(list("16\n0 1 3 100 5 0\n").unwrap().len(), 1);
    assert_eq!(list("998700 \n0 1 3 100 5 0\n".replace("998700", "999").as_str()).unwrap().len(), 1);
}

#[test]
fn captures_are_named() {
    let network = build("many-to-one", &[("senders", Value::Int(3))]).unwrap();
    let capture = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0xff, b'\n'];
    let error = read(&capture[..], Format::Auto, (&network, None), 10).unwrap_err();
    assert!(error.contains("not text (UTF-8); the file looks like a packet capture (pcap)"), "{error}");
}

/// Flows are sorted by start, and pairs follow them.
#[test]
fn flows_wait_for_others() {
    let network = build("many-to-one", &[("senders", Value::Int(3))]).unwrap();
    let after = |text: &str| read(text.as_bytes(), Format::Auto, (&network, None), 100).map(|list| list.after);
    let of = |first, waiting, us| FlowDependency { first, waiting, pause: Time::from_us(us) };
    let head = "id,src,dst,bytes,start_us,after\n";
    let rows = |rows: &str| after(&format!("{head}{rows}"));
    assert_eq!(
        rows("a,s0,s1,10,50,\nb,s1,s2,10,5,a\nc,s1,s0,10,0,\"a b\"\n").unwrap(),
        [of(Some(2), 1, 0), of(Some(2), 0, 0), of(Some(1), 0, 0)]
    );
    assert_eq!(rows("a,s0,s1,10,50,\nb,s1,s2,10,5,a@7us @9us\n").unwrap(), [of(Some(1), 0, 7), of(None, 0, 9)]);
    assert_eq!(after("id,src,dst,bytes,start_us\na,s0,s1,10,50\n").unwrap(), []);
    for (text, part) in [
        ("a,s0,s1,10,0,b\n", "2: flow `a` waits for `b`, and no flow has this id"),
        ("a,s0,s1,10,0,\na,s1,s0,10,0,\n", "3: the flow in line 2 has the same id `a`"),
        ("a,s0,s1,10,0,\n,s1,s0,10,0,a\n", "3: the flow has no `id`"),
        ("a,s0,s1,10,0,\nb,s2,s0,10,0,a\n", "3: flow `b` waits for `a`, and its source neither receives nor sends"),
        ("a,s0,s1,10,0,\nb,s1,s0,10,0,a;a\n", "3: flow `b` waits twice for `a`"),
        ("a,s0,s1,10,0,\nb,s1,s0,10,0,a@soon\n", "3: flow `b` waits for `a@soon`, and `soon` is not a time"),
        ("a,s0,s1,10,0,@5us @6us\n", "2: flow `a` waits twice for `@6us`"),
        ("a,s0,s1,10,0,b\n\nb,s1,s0,10,0,a\n", "2: flow `a` waits for itself through other flows"),
        ("a,s0,s1,10,0,a\n", "2: flow `a` waits for itself through other flows"),
    ] {
        let e = rows(text).unwrap_err();
        assert!(e.starts_with(part), "{e}");
    }
    assert!(after("src,dst,bytes,start_us,after\ns0,s1,10,0,\n").unwrap_err().contains("no column `id`"));
}
