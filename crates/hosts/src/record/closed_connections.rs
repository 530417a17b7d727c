//! Closing connections, reported by a BPF program (`crates/kernel/bpf/record`): those that open and close between two samples, and the last bytes of
//! the others.

use crate::catalog::{Kind, Program};
use crate::inet_diag::{Info, Socket};
use crate::{Error, NetNs, libbpf_log, loader};
use libbpf_rs::{Link, MapCore, MapFlags, ObjectBuilder, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;

/// The program; not one that can be attached by itself.
const PROGRAM: Program = Program {
    name: "record",
    kind: Kind::Shim,
    summary: "reports the bytes of connections when they close",
    needs_ecn: false,
    params: &[],
    sides: &[],
    messages: false,
};

/// A connection that has closed.
#[derive(Debug, Clone)]
pub(super) struct Closed {
    /// When, ns of the clock of programs.
    pub(super) at: u64,
    /// Its last state.
    pub(super) socket: Socket,
}

impl Closed {
    /// `struct closed` of the program.
    fn read(bytes: &[u8]) -> Option<Closed> {
        let u64_at = |at: usize| bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_ne_bytes);
        let u32_at = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_ne_bytes);
        let family = u32_at(36)?;
        let end = |address: usize, port: usize| {
            let all: [u8; 16] = bytes.get(address..address + 16)?.try_into().ok()?;
            let ip = match family as i32 {
                libc::AF_INET => IpAddr::V4(Ipv4Addr::new(all[0], all[1], all[2], all[3])),
                _ => IpAddr::V6(Ipv6Addr::from(all)),
            };
            let port = u16::from_be_bytes(bytes.get(port..port + 2)?.try_into().ok()?);
            Some(SocketAddr::new(ip.to_canonical(), port))
        };
        let info = Info {
            bytes_acked: u64_at(8)?,
            bytes_received: u64_at(16)?,
            min_rtt_us: u32_at(24)?,
            segments_out: u32_at(28)?,
            retransmissions: u32_at(32)?,
            ..Info::default()
        };
        let socket = Socket { local: end(40, 72)?, remote: end(56, 74)?, cc: String::new(), info, cgroup: 0 };
        Some(Closed { at: u64_at(0)?, socket })
    }
}

/// Sees connections of this network namespace close for as long as it lives.
pub(super) struct Closings {
    ring: RingBuffer<'static>,
    seen: Rc<RefCell<Vec<Closed>>>,
    _link: Link,
}

impl Closings {
    pub(super) fn start() -> Result<Closings, Error> {
        let failed = |e: libbpf_rs::Error| Error::bpf("seeing connections close", &e);
        libbpf_log::clear_and_capture();
        let open = ObjectBuilder::default().open_memory(PROGRAM.object()?).map_err(failed)?;
        let object = open.load().map_err(|e| loader::refused(&PROGRAM, &e))?;
        let lacks = |what: &str| Error::new(format!("the object `record` has no {what}"));
        let map = |name: &str| object.maps().find(|m| m.name() == name).ok_or_else(|| lacks(name));
        let number = u32::try_from(NetNs::current()?.number()).map_err(|_| Error::new("the number of a network namespace"))?;
        map("namespace")?.update(&0_u32.to_ne_bytes(), &number.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
        let seen = Rc::new(RefCell::new(Vec::new()));
        let mut builder = RingBufferBuilder::new();
        let to = Rc::clone(&seen);
        let receive = move |bytes: &[u8]| {
            to.borrow_mut().extend(Closed::read(bytes));
            0
        };
        let closings = map("closings")?;
        builder.add(&closings, receive).map_err(failed)?;
        let ring = builder.build().map_err(failed)?;
        let link = object.progs_mut().next().ok_or_else(|| lacks("program"))?.attach().map_err(failed)?;
        Ok(Closings { ring, seen, _link: link })
    }

    /// Connections that closed since the last call, in order.
    pub(super) fn take(&self) -> Result<Vec<Closed>, Error> {
        self.ring.consume().map_err(|e| Error::bpf("seeing connections close", &e))?;
        Ok(self.seen.take())
    }
}
