//! The timers of a shim that this process holds itself (`crate::shim`), for several hosts whose network namespaces are this process's own: which
//! host a report is of follows from the addresses of its connection.

use super::frames::Wire;
use super::ring::{IDLE, Ring, TICK};
use super::schedule::{Flow, Notice, Schedule, Sending, Timers};
use super::{Done, send};
use crate::Error;
use crate::shim::Shim;
use forebay_platform::clock;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// A host at whose interface the shim is.
#[derive(Debug)]
pub struct Host {
    address: Ipv4Addr,
    wire: Wire,
    schedule: Schedule,
}

impl Host {
    /// Host with this address. The calling thread is in its network namespace.
    ///
    /// # Errors
    /// No right to packet sockets.
    pub fn open(address: Ipv4Addr, timers: Timers) -> Result<Host, Error> {
        Ok(Host { address, wire: Wire::open()?, schedule: Schedule::new(timers) })
    }

    fn send(&mut self, all: Vec<Sending>, done: &mut Done) {
        send(&self.wire, all, done);
    }
}

/// The host that has the timer which the report is for: of a SYN the one that opens, of a SYN-ACK the one that accepts.
fn owner(notice: &Notice) -> Ipv4Addr {
    let address = |flow: &Flow, at: usize| Ipv4Addr::from([flow[at], flow[at + 1], flow[at + 2], flow[at + 3]]);
    match notice {
        Notice::Opens(flow, ..) | Notice::Answered(flow, _) => address(flow, 0),
        Notice::Held(flow, ..) | Notice::Enough(flow) | Notice::Estimate(flow, _) => address(flow, 4),
    }
}

/// Timer loop of the shims of this process; the shims rely on it from the beginning.
#[expect(missing_debug_implementations, reason = "a ring of libbpf says nothing of itself")]
pub struct TimerLoop {
    ring: Ring,
    hosts: BTreeMap<Ipv4Addr, Host>,
    done: Done,
}

impl TimerLoop {
    /// Timer loop of these hosts.
    ///
    /// # Errors
    /// The shim has no timers, or the kernel refuses the ring.
    pub fn new(shim: &Shim, hosts: Vec<Host>) -> Result<TimerLoop, Error> {
        let ring = Ring::open(shim.map("helper")?, &shim.map("notices")?)?;
        ring.show_life()?;
        Ok(TimerLoop { ring, hosts: hosts.into_iter().map(|h| (h.address, h)).collect(), done: Done::default() })
    }

    /// Runs the timers until `stop` is set.
    ///
    /// # Errors
    /// Errors of the ring buffer.
    pub fn run(mut self, stop: impl Fn() -> bool) -> Result<Done, Error> {
        while !stop() {
            self.ring.show_life()?;
            let waits = self.hosts.values().any(|h| h.schedule.waits());
            let notices = self.ring.wait(if waits { TICK } else { IDLE })?;
            self.handle_notices(notices);
            let (now, done) = (clock::monotonic_ns() / 1000, &mut self.done);
            for host in self.hosts.values_mut() {
                let due = host.schedule.due(now);
                host.send(due, done);
            }
        }
        let notices = self.ring.end()?;
        self.handle_notices(notices);
        for host in self.hosts.values_mut() {
            let all = host.schedule.release_all();
            host.send(all, &mut self.done);
        }
        Ok(self.done)
    }

    fn handle_notices(&mut self, notices: Vec<Notice>) {
        let now = clock::monotonic_ns() / 1000;
        for notice in notices {
            let Some(host) = self.hosts.get_mut(&owner(&notice)) else { continue };
            let at_once = host.schedule.notice(now, notice);
            host.send(at_once, &mut self.done);
        }
    }
}
