use super::join::Direction;
use super::*;
use crate::trains::Options;
use std::io::Cursor;

const CSV: &str = "\
ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out
2024-01-15 10:00:00.250,2024-01-15 10:05:00.250,300.000,10.0.0.1,10.0.0.2,50000,80,TCP,...AP.S.,0,0,1000,1052000,0,0,1,2
2024-01-15 10:05:00.300,2024-01-15 10:06:00.000,59.700,10.0.0.1,10.0.0.2,50000,80,TCP,...AP..F,0,0,100,105200,0,0,1,2
2024-01-15 10:00:00.251,2024-01-15 10:06:00.000,359.749,10.0.0.2,10.0.0.1,80,50000,TCP,...A..SF,0,0,500,26000,0,0,2,1
2024-01-15 10:00:01.000,2024-01-15 10:00:01.000,0.000,10.0.0.3,10.0.0.2,123,123,UDP,........,0,0,1,76,0,0,1,2

Summary
flows,bytes,packets,avg_bps,avg_pps,avg_bpp
4,1183276,1601,26000,4,739
";

const CSV_17: &str = "\
firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows
2024-01-15 10:00:00.250,59.750,TCP,2001:db8::1,50000,2001:db8::2,80,10,10720,1
";

const JSON: &str = r#"{"@type":"ipfix.entry","iana:octetDeltaCount":10520,"iana:packetDeltaCount":10,"iana:flowStartMilliseconds":1705312800250,"iana:flowEndMilliseconds":"2024-01-15T10:00:09.500Z","iana:sourceIPv4Address":"10.0.0.1","iana:destinationIPv4Address":"10.0.0.2","iana:sourceTransportPort":50000,"iana:destinationTransportPort":80,"iana:protocolIdentifier":6,"iana:tcpControlBits":27,"iana@reverse:octetDeltaCount":260,"iana@reverse:packetDeltaCount":5}
{"@type":"ipfix.template"}
{"@type": "ipfix.entry", "ipfix.octetDeltaCount": 104, "ipfix.packetDeltaCount": 2, "ipfix.flowStartMilliseconds": "2024-01-15T10:00:2.012", "ipfix.flowEndMilliseconds": "2024-01-15T10:00:3.012", "ipfix.sourceIPv4Address": "10.0.0.3", "ipfix.destinationIPv4Address": "10.0.0.2", "ipfix.sourceTransportPort": 1, "ipfix.destinationTransportPort": 2, "ipfix.protocolIdentifier": "UDP"}
"#;

fn read(text: &[u8]) -> Result<(Vec<FlowRecord>, u64, Option<String>), String> {
    let source = Box::new(Cursor::new(text.to_vec()));
    let Ok(mut file) = Records::recognise("test", text, source) else { return Err("another form".into()) };
    let (mut records, mut others) = (Vec::new(), 0);
    while let Some(next) = file.next().map_err(|e| e.to_string())? {
        match next {
            Next::Record(record) => records.push(record),
            Next::OtherProtocol => others += 1,
        }
    }
    Ok((records, others, file.note()))
}

#[test]
fn nfdump_parts_are_joined() {
    let (records, others, note) = read(CSV.as_bytes()).expect("flow records");
    assert_eq!((records.len(), others, note), (3, 1, None));
    let joined = join(records, &Options::default());
    let [connection] = joined.as_slice() else { panic!("{joined:?}") };
    let [client, server] = connection.directions.as_slice() else { panic!("{connection:?}") };
    assert_eq!((client.src.port(), client.payload(), server.payload()), (50_000, 1_100_000, 0));
    assert_eq!(client.end_ns - client.start_ns, 359_750_000_000);
    assert!(client.opened && connection.closed);
}

#[test]
fn long_pause_separates_flows() {
    let (records, ..) = read(CSV.as_bytes()).expect("flow records");
    // The first part has no FIN: a pause longer than the limit separates the two.
    let short = Options { join_ns: 10_000_000, ..Options::default() };
    let parts = records.into_iter().filter(|r| r.src.port() == 50_000).collect();
    assert_eq!(join(parts, &short).len(), 2);
}

#[test]
fn versions_differ_in_columns() {
    let (records, ..) = read(CSV_17.as_bytes()).expect("flow records");
    let [r] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((r.end_ns - r.start_ns, r.forth, r.flags), (59_750_000_000, Count { packets: 10, bytes: 10_720 }, None));
    assert_eq!(join(records, &Options::default())[0].directions[0].payload(), 10_000);
}

#[test]
fn ipfix_has_both_directions() {
    let (records, others, _) = read(JSON.as_bytes()).expect("flow records");
    let [r] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(others, 1);
    assert_eq!((r.end_ns - r.start_ns, r.back), (9_250_000_000, Count { packets: 5, bytes: 260 }));
    assert!(r.flags.is_some_and(|f| f.syn() && f.fin()));
    let joined = join(records, &Options::default());
    assert_eq!(joined[0].directions.iter().map(Direction::payload).collect::<Vec<_>>(), [10_000, 0]);
}

#[test]
fn errors_name_line_and_field() {
    let bad = CSV.replace("50000,80,TCP,...AP..F", "70000,80,TCP,...AP..F");
    assert_eq!(read(bad.as_bytes()).unwrap_err(), "`test`, line 3: the port is 70000; legal: 0 to 65535");
    let bad = CSV.replace(",1052000,", ",1.1 M,");
    assert!(read(bad.as_bytes()).unwrap_err().contains("the number of bytes is `1.1 M`"));
    let bad = JSON.replace("10.0.0.1", "host");
    assert!(read(bad.as_bytes()).unwrap_err().contains("the address is `host`"));
}

/// Any prefix, and any changed byte, gives records, a remark or an error.
#[test]
fn damage_has_no_panic() {
    for sample in [CSV, CSV_17, JSON] {
        for len in 0..sample.len() {
            let _ = read(&sample.as_bytes()[..len]);
        }
        for at in 0..sample.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut bad = sample.as_bytes().to_vec();
                bad[at] ^= flip;
                if let Ok((records, ..)) = read(&bad) {
                    join(records, &Options::default()).iter().flat_map(|j| &j.directions).for_each(|d| {
                        let _ = d.payload();
                    });
                }
            }
        }
    }
    let cut = &CSV.as_bytes()[..CSV.find("3,10.0.0.2").expect("a flow")];
    assert!(read(cut).expect("complete lines").2.is_some_and(|note| note.contains("ends within line")));
}
