//! Bulk transfers through the switch on the running kernel, driven over the conversation. Where no namespaces may be made this says so and
//! passes: there is nothing to test.

use forebay_experiment::network::{Network, Node, PortConfig};
use forebay_linux::link::{Frames, Incoming, Link};
use forebay_linux::protocol::{self as p, Record, what};
use forebay_queues::Queue;
use forebay_testbed::guest;
use forebay_testbed::namespace::Namespace;
use forebay_types::{NodeId, QueueLen, Rate, Time};
use std::time::Duration;

fn network(senders: u32, rate: u64) -> Network {
    let mut n = Network::default();
    for i in 0..=senders {
        n.nodes.push(Node { name: format!("h{i}"), host: true, shared_buffer: None });
    }
    let switch = n.nodes.push(Node { name: "switch".into(), host: false, shared_buffer: None });
    let mut port = |from: NodeId, to: NodeId, buffer: Option<u64>| {
        n.ports.push(PortConfig {
            from,
            to,
            rate: Rate(rate),
            delay: Time::from_us(250),
            buffer: buffer.map(QueueLen::Packets),
            queue: Queue::Fifo(Default::default()),
            queue_config: Default::default(),
        });
    };
    for i in 0..=senders {
        port(NodeId::new(i), switch, None);
    }
    for i in 0..=senders {
        port(switch, NodeId::new(i), Some(100));
    }
    n
}

const SENDERS: u32 = 4;
/// Slow enough for a machine that does something else as well.
const RATE: u64 = 20_000_000;
const END: Time = Time::from_secs(2);

fn set_up(frames: &mut Frames, burst: u32) {
    frames.put(p::Profile { init_cwnd: 10, init_rwnd: 0, rto_min_ms: 0, quickack: 0, burst, hold_ns: 0 });
    frames.put(p::Group {
        cc: p::text("reno"),
        profile: 0,
        flags: 0,
        rcvbuf: 0,
        sndbuf: 0,
        max_pacing_rate: 0,
        header: 90,
        ack_size: 90,
        send_jitter: 0,
        param: [0; p::PARAMS],
        tag: Default::default(),
        shim: Default::default(),
    });
    for i in 0..=SENDERS {
        frames.put(p::Interface { node: i, profile: 0, address: 0x0A00_0001 + i, mtu: 1500 });
    }
    frames.put_bare(p::SETUP_END);
}

/// Connection `conn` from its host to the last one, and data without end.
fn open(frames: &mut Frames, conn: u32) {
    let list = |ports: &[u32]| std::array::from_fn(|i| ports.get(i).copied().unwrap_or(0));
    let hosts = SENDERS + 1;
    frames.put(p::Open {
        conn,
        group: 0,
        src: conn,
        dst: SENDERS,
        forth_len: 2,
        back_len: 2,
        forth: list(&[conn, hosts + SENDERS]),
        back: list(&[SENDERS, hosts + conn]),
        ties_forth: 0,
        ties_back: 0,
        class_of_service: 0,
        flags: 0,
        rss_forth: 0,
        rss_back: 0,
        deadline: p::NEVER,
        reverse_of: 0,
        number: 0,
    });
    frames.put(p::Write { conn, flags: 0, bytes: 0, part: 1, deadline: p::NEVER });
}

/// Payload delivered by the end, and packets dropped.
fn outside(link: &mut Link, burst: u32) -> (u64, u32) {
    let mut frames = Frames::default();
    set_up(&mut frames, burst);
    link.send(&mut frames).expect("sent");
    let (mut payload, mut drops, mut begun) = (0, 0, false);
    loop {
        let Incoming::Frame(frame) = link.next(Duration::from_secs(60)).expect("a conversation") else { panic!("silence") };
        match frame.kind() {
            p::LOG => panic!("{}", frame.text()),
            p::Packet::KIND => {
                for r in frame.records::<p::Packet>().filter(|r| r.time <= END.0) {
                    payload += if r.what == what::DELIVERED && r.back == 0 { u64::from(r.payload) } else { 0 };
                    drops += u32::from(r.what == what::DROPPED);
                }
            }
            p::Ask::KIND => {
                if !begun {
                    (0..SENDERS).for_each(|conn| open(&mut frames, conn));
                }
                begun = true;
                let now = frame.only::<p::Ask>().expect("one").now;
                frames.put(p::Next { wake: END.0, quit: u32::from(now >= END.0), pad: 0 });
                link.send(&mut frames).expect("sent");
            }
            p::Done::KIND => return (payload, drops),
            _ => {}
        }
    }
}

/// Four Reno flows fill the link: 1448 of each 1538 bytes on it are payload, 94.15 %, less a slow start of a few round trips of 2 ms.
fn flows_fill(burst: u32) {
    if let Err(e) = Namespace::create() {
        return forebay_platform::doctor::requirements::skip("netns", &e.to_string());
    }
    let net = network(SENDERS, RATE);
    let mut late = Vec::new();
    // A machine may be too busy to be punctual, but hardly ten times.
    for _ in 0..10 {
        let ((a_in, a_out), (b_in, b_out)) = (std::io::pipe().expect("a pipe"), std::io::pipe().expect("a pipe"));
        let (mut us, them) = (Link::new(a_out, b_in), Link::new(b_out, a_in));
        let ((payload, drops), how) = std::thread::scope(|scope| {
            let guest = scope.spawn(|| guest::serve(them, &net, 1));
            let seen = outside(&mut us, burst);
            (seen, guest.join().expect("no panic").expect("served"))
        });
        assert_eq!(how.unknown_flow_packets, 0);
        let share = payload as f64 * 8.0 / (RATE * END.as_ms() / 1_000) as f64;
        assert!(share < 0.9416, "{share} of the link, which carries 0.9415 of payload");
        if how.misses.quantile(0.99) > Time::from_ms(1) {
            late.push(how.misses.to_string());
            continue;
        }
        assert!(share > 0.92, "{share} of the link, {}", how.misses);
        assert!(drops > 0, "slow start overflows a buffer of 100 packets");
        return;
    }
    panic!("this machine was never punctual: {late:?}");
}

#[test]
fn flows_fill_the_link() {
    flows_fill(0);
}

/// With segmentation offload the switch cuts what hosts hand over: the wire carries the same segments.
#[test]
fn offloading_flows_fill_the_link() {
    flows_fill(65_536);
}
