//! Bounded state: idle connections end, and their number has a limit.

use crate::generator::*;
use forebay_formats::trains::Options;

/// Connections one after the other, each `step` ns after the one before, without an end.
fn open_connections(count: u32, step: u64) -> Vec<u8> {
    let mut all = Vec::new();
    for i in 0..count {
        let client = format!("10.{}.{}.{}", i >> 16 & 255, i >> 8 & 255, i & 255);
        all.push((EPOCH + u64::from(i) * step, Tcp { seq: 1, ack: 1, payload: 100, ..Tcp::new((&client, 7), SERVER) }));
    }
    FORM.pcap(&cut(&all, 60, |t| t.frame(&[])))
}

#[test]
fn table_never_exceeds_its_limit() {
    let bytes = open_connections(5_000, 1_000);
    let (all, ()) = analyze(&bytes, Options::default(), ());
    let (few, ()) = analyze(&bytes, Options { max_connections: 64, ..Options::default() }, ());
    assert_eq!((all.connections, all.bytes), (5_000, 500_000));
    assert_eq!((few.connections, few.bytes), (5_000, 500_000));
    // All at one instant: none is idle.
    let (few, ()) = analyze(&open_connections(500, 0), Options { max_connections: 64, ..Options::default() }, ());
    assert_eq!((few.connections, few.bytes), (500, 50_000));
}

#[test]
fn idle_connection_ends_and_begins_again() {
    let data = |us: u64, seq| (EPOCH + us * 1_000, Tcp { seq, ack: 1, payload: 100, ..Tcp::new(CLIENT, SERVER) });
    let mut all = vec![data(0, 1)];
    // Enough packets of another connection for a sweep.
    all.extend((0..70_000).map(|i| {
        (EPOCH + (10_000_000 + i) * 1_000, Tcp { seq: 1 + 100 * i as u32, ack: 1, payload: 100, ..Tcp::new(CLIENT6, SERVER6) })
    }));
    all.push(data(20_000_000, 101));
    let bytes = FORM.pcap(&cut(&all, 96, |t| t.frame(&[])));
    let connections = |idle_ns| analyze(&bytes, Options { idle_ns, ..Options::default() }, ()).0.connections;
    assert_eq!((connections(300_000_000_000), connections(5_000_000_000)), (2, 3));
}
