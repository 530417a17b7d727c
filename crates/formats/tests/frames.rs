//! Link layers, tags, tunnels, snap lengths and lengths.

use crate::generator::*;

fn check(link: u16, snap: usize, ends: ((&str, u16), (&str, u16)), frame: impl Fn(&Tcp) -> Vec<u8>) {
    let form = Form { link, ..FORM };
    let bytes = form.pcap(&cut(&conversation(ends.0, ends.1), snap, frame));
    let (summary, ()) = analyze(&bytes, Default::default(), ());
    assert_eq!(sizes(&flows_in(&bytes)), SIZES, "link {link}, {:?}", summary.skipped);
    // The frame of 8760 B is six packets of 1460 B.
    assert_eq!((summary.data_packets, summary.retransmissions.total()), (8, 0));
    assert_eq!(summary.hosts, [ip(ends.0.0), ip(ends.1.0)]);
}

const V4: ((&str, u16), (&str, u16)) = (CLIENT, SERVER);
const V6: ((&str, u16), (&str, u16)) = (CLIENT6, SERVER6);

#[test]
fn ethernet_at_all_snap_lengths() {
    for snap in [54, 58, 64, 96, 128, 65_535] {
        check(1, snap, V4, |t| t.frame(&[]));
    }
    for snap in [94, 96, 128, 65_535] {
        check(1, snap, V6, |t| t.frame(&[]));
    }
}

#[test]
fn vlan_tags() {
    for tags in [&[0x8100][..], &[0x88a8, 0x8100], &[0x9100, 0x8100]] {
        check(1, 96, V4, |t| t.frame(tags));
        check(1, 128, V6, |t| t.frame(tags));
    }
}

#[test]
fn cooked_raw_and_loopback_links() {
    for ends in [V4, V6] {
        check(113, 128, ends, Tcp::cooked);
        check(276, 128, ends, Tcp::cooked2);
        check(101, 128, ends, Tcp::packet);
        check(12, 128, ends, Tcp::packet);
        check(0, 128, ends, |t| [vec![2, 0, 0, 0], t.packet()].concat());
        check(108, 128, ends, |t| [vec![0, 0, 0, 2], t.packet()].concat());
    }
    check(228, 128, V4, Tcp::packet);
    check(229, 128, V6, Tcp::packet);
}

#[test]
fn tunnels() {
    for kind in [Tunnel::Vxlan, Tunnel::GreEthernet, Tunnel::GreIp, Tunnel::IpInIp] {
        check(1, 128, V4, |t| t.tunnel(kind));
        check(1, 192, V6, |t| t.tunnel(kind));
    }
}

#[test]
fn options_cut_by_the_snap_length() {
    let mut all = conversation(CLIENT, SERVER);
    all.iter_mut().for_each(|(_, t)| t.timestamps = Some((7, 8)));
    let bytes = FORM.pcap(&cut(&all, 60, |t| t.frame(&[])));
    assert_eq!(sizes(&flows_in(&bytes)), SIZES);
}

#[test]
fn frames_above_64_kib() {
    for (client, server) in [V4, V6] {
        let mut big = Tcp { seq: 1, payload: 100_000, ..Tcp::new(client, server) };
        big.ack = 1;
        let bytes = FORM.pcap(&cut(&[(EPOCH, big)], 128, |t| t.frame(&[])));
        assert_eq!(flows_in(&bytes)[0].message.bytes, 100_000, "{client:?}");
    }
}

#[test]
fn frames_without_a_segment_are_counted() {
    let tcp = Tcp { seq: 1, payload: 10, ..Tcp::new(CLIENT, SERVER) };
    let arp = [vec![0xff; 6], vec![2, 0, 0, 0, 0, 1, 8, 6], vec![0; 28]].concat();
    let mut fragment = tcp.frame(&[]);
    fragment[14 + 7] = 9;
    let mut wrong = tcp.frame(&[]);
    wrong[14 + 3] = 30;
    let udp = [vec![0; 12], vec![8, 0], ipv4(17, ([10, 0, 0, 1], [10, 0, 0, 2]), (0, 0), &[0; 12])].concat();
    let frames = [tcp.frame(&[]), tcp.frame(&[])[..40].to_vec(), arp, udp, fragment, wrong].map(|b| {
        let wire = b.len() as u32;
        (EPOCH, b, wire)
    });
    let (summary, ()) = analyze(&FORM.pcap(&frames), Default::default(), ());
    let s = &summary.skipped;
    assert_eq!((summary.segments, s.cut, s.not_tcp, s.fragments, s.malformed), (1, 1, 2, 1, 1));
    let (summary, ()) = analyze(&Form { link: 105, ..FORM }.pcap(&frames), Default::default(), ());
    assert_eq!(summary.skipped.links.get(&105), Some(&6));
}
