//! The BPF programs of a run: loaded for each transport with a shim, at the devices of its hosts, with the timers of the daemon in threads of this
//! process. Only this process and the devices refer to them, so the kernel removes them when the process ends.

use crate::shim::{NAME, ShimConfig, config};
use forebay_hosts::helper::Timers;
use forebay_hosts::helper::in_process::{Host, TimerLoop};
use forebay_hosts::shim::{Row, Shim};
use forebay_linux::protocol::{Group, NEVER, ShimRow};
use forebay_types::Time;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The program of one transport.
struct Loaded {
    profile: u32,
    config: ShimConfig,
    shim: Shim,
    /// Its place among those at an interface.
    number: u32,
    hosts: Vec<Host>,
}

/// All of a run.
#[derive(Default)]
pub struct Programs {
    by_group: Vec<Option<Loaded>>,
}

fn failed(e: forebay_hosts::Error) -> io::Error {
    io::Error::other(e.to_string())
}

/// Times of the process are whole us.
fn us(time: Time) -> u64 {
    time.0.div_ceil(1_000_000)
}

impl Loaded {
    fn timers(&self, cost_of_probe: Time) -> Timers {
        let s = &self.config.rules.c;
        Timers {
            probes: s.gamma,
            train: us(s.beta1),
            syn: us(s.beta2),
            hold: us(s.beta3),
            give_up: us(s.max_time),
            growth: s.probe_retry_cap,
            cost_ns: cost_of_probe.0.div_ceil(1_000),
            burst: s.probe_burst.into(),
        }
    }
}

/// Returns true in a user namespace: its root cannot load BPF programs (capabilities(7), CAP_BPF).
fn in_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().ne(["0", "0", "4294967295"])
}

impl Programs {
    /// Loads the programs that the transports need; connections of transport `g` are accepted at port `first_port + g`.
    ///
    /// # Errors
    /// The kernel refuses a program: mostly, no right to.
    pub fn load(groups: &[Group], first_port: u16) -> io::Result<Programs> {
        let mut number = 0;
        let mut load = |(port, group): (u16, &Group)| {
            let Some(config) = config(&group.shim).map_err(io::Error::other)? else { return Ok(None) };
            if in_user_namespace() {
                let why = "shims below TCP are BPF programs, which take the machine's own root: run it with sudo; `unshare --user` is not enough";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            let params: Vec<_> = config.params.iter().copied().chain([("port", port.into())]).collect();
            let shim = Shim::load(NAME, &params).map_err(failed)?;
            number += 1;
            Ok(Some(Loaded { profile: group.profile, config, shim, number, hosts: Vec::new() }))
        };
        let by_group = (first_port..).zip(groups).map(&mut load).collect::<io::Result<_>>()?;
        Ok(Programs { by_group })
    }

    /// Attaches the programs of the transports with `profile` to `device` of the host with this address. The calling thread is in the host's network
    /// namespace. `cost_of_probe`: for each transport the minimum interval between repeated probes of the host.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn attach(&mut self, profile: u32, device: &str, address: Ipv4Addr, cost_of_probe: &[Time]) -> io::Result<()> {
        for (loaded, cost) in self.by_group.iter_mut().zip(cost_of_probe) {
            let Some(loaded) = loaded.as_mut().filter(|l| l.profile == profile) else { continue };
            loaded.shim.attach(device, loaded.number).map_err(failed)?;
            let host = Host::open(address, loaded.timers(*cost)).map_err(failed)?;
            loaded.hosts.push(host);
        }
        Ok(())
    }

    /// Timer loops of all programs, each to be run by its own thread.
    ///
    /// # Errors
    /// The kernel refuses their rings.
    pub fn timer_loops(&mut self) -> io::Result<Vec<Timekeeper>> {
        let keeper = |l: &mut Loaded| TimerLoop::new(&l.shim, std::mem::take(&mut l.hosts)).map(Timekeeper).map_err(failed);
        self.by_group.iter_mut().flatten().map(keeper).collect()
    }

    /// Shim row at `now` of connection `conn` of transport `group` between these ends, if it has a shim.
    ///
    /// # Errors
    /// The kernel does not give the program's maps.
    pub fn row(&self, now: Time, conn: u32, group: u32, ends: (SocketAddrV4, SocketAddrV4)) -> io::Result<Option<ShimRow>> {
        let Some(loaded) = self.by_group.get(group as usize).and_then(|l| l.as_ref()) else { return Ok(None) };
        let end = |a: SocketAddrV4| (*a.ip(), a.port());
        let Row { probes, throttled, verdict, answer } = loaded.shim.row((end(ends.0), end(ends.1))).map_err(failed)?;
        let (window, held_ns) = answer.unwrap_or((NEVER, 0));
        let held = Time::from_ns(held_ns).0;
        Ok(Some(ShimRow { time: now.0, conn, probes, verdict, pad: 0, window, held, throttled }))
    }

    /// Sums of the programs' counters over all transports, without zero counters.
    ///
    /// # Errors
    /// The kernel does not give their counters.
    pub fn counters(&self) -> io::Result<Vec<(String, u64)>> {
        let mut all: Vec<(String, u64)> = Vec::new();
        for loaded in self.by_group.iter().flatten() {
            for (name, n) in loaded.shim.counters().map_err(failed)? {
                match all.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => *sum += n,
                    None => all.push((name, n)),
                }
            }
        }
        all.retain(|(_, n)| *n > 0);
        Ok(all)
    }
}

/// Keeps the timers of one program.
pub struct Timekeeper(TimerLoop);

impl Timekeeper {
    /// Runs until `stop` returns true.
    ///
    /// # Errors
    /// Errors of the ring buffer.
    pub fn run(self, stop: impl Fn() -> bool) -> io::Result<()> {
        self.0.run(stop).map(drop).map_err(failed)
    }
}
