//! Hosts on the running kernel. Where no namespaces may be made these tests say so and pass: there is nothing to test.

use forebay_testbed::frame::headers;
use forebay_testbed::namespace::{Namespace, sysctl};
use forebay_testbed::netlink::{Netlink, RouteMetrics};
use forebay_testbed::tap::{self, Device};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn host(n: u8) -> io::Result<(Namespace, Device, Ipv4Addr)> {
    let space = Namespace::create()?;
    let address = Ipv4Addr::new(10, 0, 0, n);
    let device = space.inside(|| {
        let device = tap::create(false)?;
        sysctl("net/ipv6/conf/all/disable_ipv6", "1")?;
        // Nothing is sent again while this process waits for a processor: no tail loss probe, and a timeout of a minute.
        sysctl("net/ipv4/tcp_early_retrans", "0")?;
        let mut netlink = Netlink::open()?;
        netlink.loopback_up()?;
        let index = netlink.up(tap::NAME, 1500, 0)?;
        netlink.address(index, address, RouteMetrics { init_cwnd: Some(4), rto_min_ms: Some(60_000), quickack: true })?;
        Ok(device)
    })?;
    Ok((space, device, address))
}

/// Whatever has arrived at one device goes to the other. The payloads that passed.
fn carry(from: &Device, to: &Device, buffer: &mut [u8]) -> Vec<u32> {
    let mut payloads = Vec::new();
    while let Ok((frame, _)) = from.receive(buffer) {
        payloads.extend(headers(frame).map(|h| h.payload));
        to.send(frame).expect("the other device takes a packet");
    }
    payloads
}

fn wait_for(what: &AtomicBool) {
    let begin = Instant::now();
    while !what.load(Ordering::Acquire) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the other thread has ended");
        std::thread::yield_now();
    }
}

/// The initial window is the route's, and a segment is a packet: no larger ones are made and cut up later.
#[test]
fn transfer_starts_with_initcwnd_single_segments() {
    if let Err(e) = Namespace::create() {
        return forebay_platform::doctor::requirements::skip("netns", &e.to_string());
    }
    let ((a, at_a, _), (b, at_b, to)) = (host(1).expect("a host"), host(2).expect("a host"));
    let listener = b.inside(|| TcpListener::bind((to, 5000))).expect("bound");
    let [established, paused, written] = [const { AtomicBool::new(false) }; 3];
    std::thread::scope(|scope| {
        let carrier = scope.spawn(|| {
            let mut buffer = vec![0; 65_536];
            while !established.load(Ordering::Acquire) {
                carry(&at_a, &at_b, &mut buffer);
                carry(&at_b, &at_a, &mut buffer);
            }
            paused.store(true, Ordering::Release);
            wait_for(&written);
            // Of the first flight nothing has arrived, so that nothing is acknowledged before it is complete.
            let first = carry(&at_a, &at_b, &mut buffer);
            let begin = Instant::now();
            let mut rest = 0;
            let sum: u32 = first.iter().sum();
            while sum + rest < 20_000 && begin.elapsed().as_secs() < 60 {
                carry(&at_b, &at_a, &mut buffer);
                rest += carry(&at_a, &at_b, &mut buffer).iter().sum::<u32>();
            }
            first
        });
        let mut sender = a.inside(|| TcpStream::connect((to, 5000))).expect("connected");
        let (mut receiver, _) = listener.accept().expect("accepted");
        established.store(true, Ordering::Release);
        wait_for(&paused);
        sender.write_all(&[7; 20_000]).expect("written");
        written.store(true, Ordering::Release);
        let mut got = vec![0; 20_000];
        receiver.read_exact(&mut got).expect("read");
        assert_eq!(got, vec![7; 20_000]);
        let first: Vec<u32> = carrier.join().expect("carried").into_iter().filter(|&p| p > 0).collect();
        // 1500 bytes less 20 of IP, 20 of TCP, and 12 of timestamps.
        assert_eq!(first, [1_448; 4]);
    });
}
