//! Datagrams through the switch on the running kernel, driven over the conversation. Where no namespaces may be made this says so and passes:
//! there is nothing to test.

use forebay_experiment::network::{Network, Node, PortConfig};
use forebay_linux::link::{Frames, Incoming, Link};
use forebay_linux::protocol::{self as p, Record, what};
use forebay_queues::Queue;
use forebay_testbed::guest;
use forebay_testbed::namespace::Namespace;
use forebay_types::{NodeId, QueueLen, Rate, Time};
use std::time::Duration;

/// Two hosts at a switch; what goes to the second one has a fifth of the rate, and a buffer of 10 packets.
fn network() -> Network {
    let mut n = Network::default();
    for name in ["a", "b", "switch"] {
        n.nodes.push(Node { name: name.into(), host: name != "switch", shared_buffer: None });
    }
    for (from, to, rate, buffer) in [(0, 2, 50, None), (1, 2, 50, None), (2, 0, 50, Some(10)), (2, 1, 10, Some(10))] {
        n.ports.push(PortConfig {
            from: NodeId::new(from),
            to: NodeId::new(to),
            rate: Rate(rate * 1_000_000),
            delay: Time::from_us(250),
            buffer: buffer.map(QueueLen::Packets),
            queue: Queue::Fifo(Default::default()),
            queue_config: Default::default(),
        });
    }
    n
}

const PAYLOAD: u32 = 1_000;
const WIRE: u32 = 1_066;
/// Written in one go.
const BURST: u32 = 40;

fn set_up(frames: &mut Frames) {
    frames.put(p::Profile { init_cwnd: 0, init_rwnd: 0, rto_min_ms: 0, quickack: 0, burst: 0, hold_ns: 0 });
    frames.put(p::Group {
        cc: [0; 16],
        profile: 0,
        flags: p::number::GROUP_ECN,
        rcvbuf: 0,
        sndbuf: 0,
        max_pacing_rate: 0,
        header: WIRE - PAYLOAD,
        ack_size: 90,
        send_jitter: 0,
        param: [0; p::PARAMS],
        tag: Default::default(),
        shim: Default::default(),
    });
    for i in 0..2 {
        frames.put(p::Interface { node: i, profile: 0, address: 0x0A00_0001 + i, mtu: 1500 });
    }
    frames.put_bare(p::SETUP_END);
}

fn open(frames: &mut Frames) {
    let list = |ports: &[u32]| std::array::from_fn(|i| ports.get(i).copied().unwrap_or(0));
    frames.put(p::Open {
        conn: 0,
        group: 0,
        src: 0,
        dst: 1,
        forth_len: 2,
        back_len: 2,
        forth: list(&[0, 3]),
        back: list(&[1, 2]),
        ties_forth: 0,
        ties_back: 0,
        class_of_service: 5,
        flags: p::number::OPEN_DATAGRAMS,
        rss_forth: 0,
        rss_back: 0,
        deadline: p::NEVER,
        reverse_of: 0,
        number: 0,
    });
    (0..BURST).for_each(|_| frames.put(p::Datagram { conn: 0, payload: PAYLOAD, wire: WIRE, class_of_service: 5 }));
}

/// All records of packets until half a second is over.
fn outside(link: &mut Link) -> Vec<p::Packet> {
    let mut frames = Frames::default();
    set_up(&mut frames);
    link.send(&mut frames).expect("sent");
    let (mut seen, mut begun) = (Vec::new(), false);
    let end = Time::from_ms(500);
    loop {
        let Incoming::Frame(frame) = link.next(Duration::from_secs(60)).expect("a conversation") else { panic!("silence") };
        match frame.kind() {
            p::LOG => panic!("{}", frame.text()),
            p::Packet::KIND => seen.extend(frame.records::<p::Packet>()),
            p::Ask::KIND => {
                if !begun {
                    open(&mut frames);
                }
                begun = true;
                let now = frame.only::<p::Ask>().expect("one").now;
                frames.put(p::Next { wake: end.0, quit: u32::from(now >= end.0), pad: 0 });
                link.send(&mut frames).expect("sent");
            }
            p::Done::KIND => return seen,
            _ => {}
        }
    }
}

#[test]
fn burst_packets_are_delivered_or_dropped() {
    if let Err(e) = Namespace::create() {
        return forebay_platform::doctor::requirements::skip("netns", &e.to_string());
    }
    let ((a_in, a_out), (b_in, b_out)) = (std::io::pipe().expect("a pipe"), std::io::pipe().expect("a pipe"));
    let (mut us, them) = (Link::new(a_out, b_in), Link::new(b_out, a_in));
    let (seen, how) = std::thread::scope(|scope| {
        let guest = scope.spawn(|| guest::serve(them, &network(), 1));
        let seen = outside(&mut us);
        (seen, guest.join().expect("no panic").expect("served"))
    });
    assert_eq!(how.unknown_flow_packets, 0, "nothing but the datagrams");
    let of = |what: u8, port: u32| seen.iter().filter(|r| r.what == what && r.port == port).count() as u32;
    assert_eq!(of(what::ARRIVED, 0), BURST, "all leave their host");
    let (delivered, dropped) = (of(what::DELIVERED, 3), of(what::DROPPED, 3));
    assert_eq!(delivered + dropped, BURST);
    // The host sends a packet every 171 us at least, and the slow port needs 853 us for each. Of 40 packets the port serves seven while the last one
    // arrives, and ten are in its buffer then. A machine that writes more slowly loses fewer.
    assert!(delivered >= 17, "{delivered} delivered, {dropped} dropped");
    assert!(seen.iter().all(|r| (r.payload, r.wire, r.ecn, r.class_of_service, r.back) == (PAYLOAD, WIRE, 2, 5, 0)), "{seen:?}");
}
