//! Packets at an interface: TCP segments and probes, in order, as seen by a packet socket (behind egress filters, before ingress filters). Also the
//! scripted link.

use crate::lab::Host;
use libbpf_rs::{MapCore, MapFlags, ObjectBuilder, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook};
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimeout};
use nix::sys::socket::{AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, recvfrom, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike as _};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A packet of IPv4.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) protocol: u8,
    pub(crate) tos: u8,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) urgent: u16,
    pub(crate) payload: u32,
    /// Sent by the host of the interface.
    pub(crate) outgoing: bool,
}

pub(crate) const SYN: u8 = 2;
pub(crate) const ACK: u8 = 16;
pub(crate) const ECE: u8 = 64;

impl Packet {
    pub(crate) fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    pub(crate) fn ecn(&self) -> u8 {
        self.tos & 3
    }

    fn parse(frame: &[u8], outgoing: bool) -> Option<Packet> {
        let ip = frame.get(14..).filter(|_| frame.get(12..14) == Some(&[8, 0]))?;
        let u16_at = |b: &[u8], at: usize| b.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
        let u32_at = |b: &[u8], at: usize| b.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        let header = usize::from(ip[0] & 15) * 4;
        let tcp = ip.get(header..)?;
        let offset = usize::from(*tcp.get(12)? >> 4) * 4;
        Some(Packet {
            protocol: ip[9],
            tos: ip[1],
            seq: u32_at(tcp, 4)?,
            ack: u32_at(tcp, 8)?,
            flags: *tcp.get(13)?,
            window: u16_at(tcp, 14)?,
            urgent: u16_at(tcp, 18)?,
            payload: u32::from(u16_at(ip, 2)?).saturating_sub((header + offset) as u32),
            outgoing,
        })
    }
}

/// Runs until it is finished.
pub(crate) struct Capture {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Packet>>,
}

impl Capture {
    pub(crate) fn start(host: &Host) -> Capture {
        let packets = || socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), SockProtocol::EthAll);
        let socket = host.run(packets).expect("a packet socket");
        setsockopt(&socket, RcvBufForce, &(64 << 20)).expect("a large buffer");
        setsockopt(&socket, ReceiveTimeout, &TimeVal::milliseconds(20)).expect("a time limit");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut packets, mut buffer) = (Vec::new(), vec![0_u8; 70_000]);
            loop {
                // An interrupt, or the time limit.
                let (n, from) = recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut buffer).unwrap_or((0, None));
                if n > 0 {
                    packets.extend(Packet::parse(&buffer[..n], from.is_some_and(|from| from.pkttype() == libc::PACKET_OUTGOING)));
                } else if stopped.load(Ordering::Relaxed) {
                    return packets;
                }
            }
        });
        Capture { stop, thread }
    }

    /// All packets, in order.
    pub(crate) fn finish(self) -> Vec<Packet> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the capture runs to its end")
    }
}

/// Script of a host's link for packets that the host sends; it is removed with the namespace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Script {
    pub(crate) mark_every: u32,
    pub(crate) lose_every: u32,
    pub(crate) mark_probes: u32,
    pub(crate) double_every: u32,
    pub(crate) delay_every: u32,
    pub(crate) by_chance: bool,
    pub(crate) lose_probes: u32,
    pub(crate) lose_syns: u32,
}

pub(crate) fn script(host: &Host, script: Script) {
    at(host, TC_EGRESS, script);
}

/// Script for packets that a host receives. Packets that are dropped there are lost in the network. A packet that a filter drops at the sender stays
/// in the sender's kernel, which sends it again (tcp_write_xmit ends when tcp_transmit_skb fails).
pub(crate) fn script_arrivals(host: &Host, script: Script) {
    at(host, TC_INGRESS, script);
}

fn at(host: &Host, side: TcAttachPoint, script: Script) {
    let mut params = [0_u8; 32];
    let chance = u32::from(script.by_chance);
    let all = [
        script.mark_every,
        script.lose_every,
        script.mark_probes,
        script.double_every,
        script.delay_every,
        chance,
        script.lose_probes,
        script.lose_syns,
    ];
    for (i, v) in all.into_iter().enumerate() {
        params[i * 4..i * 4 + 4].copy_from_slice(&v.to_ne_bytes());
    }
    host.run(|| {
        let object = std::fs::read(env!("FOREBAY_TEST_LINK")).expect("the object of the scripted link");
        let object = ObjectBuilder::default().open_memory(&object).expect("an object").load().expect("the kernel takes it");
        let map = object.maps().find(|m| m.name() == "params").expect("its parameters");
        map.update(&0u32.to_ne_bytes(), &params, MapFlags::ANY).expect("parameters are set");
        let program = object.progs_mut().find(|p| p.name() == "egress").expect("its program");
        let index = nix::net::if_::if_nametoindex("eth0").expect("an interface");
        // Behind all of our filters.
        let mut hook = TcHook::new(program.as_fd());
        hook.ifindex(index as i32).handle(1).priority(0xff00).attach_point(side);
        hook.create().expect("a qdisc clsact");
        hook.attach().expect("a filter");
    });
}
