//! Programs at an interface: filters of its `clsact` qdisc, which is created if missing and removed with the last filter. Our filters are identified
//! by their handle and priority, so that they are found without a state file.

use crate::Error;
use crate::catalog::PROGRAMS;
use crate::libbpf_log;
use crate::netlink::Netlink;
use libbpf_rs::{TC_EGRESS, TC_INGRESS, TcHook};
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::net::if_::{if_nameindex, if_nametoindex};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::BorrowedFd;

/// The handle of our filters; the next number if the qdisc is also ours.
const HANDLE: u32 = 0xfb;
/// The priority of the first program of the catalog.
const PRIORITY: u32 = 0xfb00;

/// One of our filters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Filter {
    interface: u32,
    pub(crate) device: String,
    pub(crate) egress: bool,
    priority: u32,
    /// The qdisc was not there before.
    pub(crate) ours: bool,
}

impl Filter {
    /// Filter of a program of the catalog at an interface.
    pub(crate) fn new(program: &str, device: &str, egress: bool, ours: bool) -> Result<Filter, Error> {
        let number = PROGRAMS.iter().position(|p| p.name == program).unwrap_or_default() as u32;
        Ok(Filter { interface: index(device)?, device: device.to_owned(), egress, priority: PRIORITY + number, ours })
    }

    /// Checks that it is a filter of that program.
    pub(crate) fn check(&self, program: &str) -> Result<(), String> {
        let name = &self.device;
        // As dev_valid_name of the kernel, which takes letters of every language.
        let letter = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
        if name.is_empty() || name.len() >= libc::IF_NAMESIZE || !name.chars().all(letter) {
            return Err(format!("device `{}`: not a name of an interface", name.escape_default()));
        }
        let number = PROGRAMS.iter().position(|p| p.name == program).unwrap_or_default() as u32;
        if self.priority == PRIORITY + number {
            Ok(())
        } else {
            Err(format!("priority {}: not that of a filter of `{program}`", self.priority))
        }
    }

    /// Filter of a shim that the calling process owns, at one of its interfaces.
    pub(crate) fn numbered(device: &str, egress: bool, number: u32) -> Result<Filter, Error> {
        let priority = PRIORITY + PROGRAMS.len() as u32 + number;
        Ok(Filter { interface: index(device)?, device: device.to_owned(), egress, priority, ours: true })
    }

    fn hook(&self, program: Option<BorrowedFd<'_>>) -> TcHook {
        // SAFETY: never used as a file: querying and removing go by handle and priority, and the kernel is given 0 instead.
        let none = unsafe { BorrowedFd::borrow_raw(libc::c_int::MAX) };
        let mut hook = TcHook::new(program.unwrap_or(none));
        hook.ifindex(self.interface as i32)
            .handle(HANDLE + u32::from(self.ours))
            .priority(self.priority)
            .attach_point(if self.egress { TC_EGRESS } else { TC_INGRESS });
        hook
    }

    /// Attaches the program there.
    pub(crate) fn attach(&self, program: BorrowedFd<'_>) -> Result<(), Error> {
        let mut hook = self.hook(Some(program));
        let failed = |e: libbpf_rs::Error| {
            let what = format!("a filter at {} ({})", self.device, if self.egress { "egress" } else { "ingress" });
            match e.kind() {
                libbpf_rs::ErrorKind::AlreadyExists => Error::new(format!("{what}: there is one of forebay already"))
                    .fix("`forebay status` names the attachment; detach it first"),
                libbpf_rs::ErrorKind::NotFound => Error::bpf(what, &e)
                    .fix("the kernel lacks the qdisc clsact or its BPF classifier: CONFIG_NET_CLS_ACT, CONFIG_NET_CLS_BPF"),
                _ => Error::bpf(what, &e),
            }
        };
        hook.create().map_err(failed)?;
        hook.attach().map_err(failed)?;
        Ok(())
    }

    /// Removes it, and the qdisc if it is ours and empty; that it is no longer there, or its interface is not, is no error.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        if index(&self.device).ok() != Some(self.interface) {
            return Ok(());
        }
        libbpf_log::keep();
        let mut hook = self.hook(None);
        if hook.query().is_ok() {
            hook.detach().map_err(|e| Error::bpf(format!("removing the filter at {}", self.device), &e))?;
        }
        if self.ours && clsact(self.interface)? && filters(self.interface)? == 0 {
            hook.attach_point(TC_EGRESS | TC_INGRESS).handle(0).priority(0);
            hook.destroy().map_err(|e| Error::bpf(format!("removing the qdisc clsact of {}", self.device), &e))?;
        }
        Ok(())
    }
}

/// The number of an interface.
fn index(device: &str) -> Result<u32, Error> {
    let none = || Error::new(format!("this host has no interface `{device}`")).fix("`ip link show` lists them");
    if_nametoindex(device).map_err(|_| none())
}

/// Returns true if the interface has the qdisc. The older qdisc `ingress` occupies the same place, and has only one of the two directions.
pub(crate) fn has_clsact(device: &str) -> Result<bool, Error> {
    let interface = index(device)?;
    if qdisc(interface, "ingress")? {
        return Err(Error::new(format!("{device} has the qdisc `ingress` where clsact would be, and it has no place for a filter on the way out"))
            .fix(format!("move its filters to the ingress side of clsact: tc qdisc del dev {device} ingress, then tc qdisc add dev {device} clsact")));
    }
    clsact(interface)
}

fn dump(message: RouteNetlinkMessage) -> Result<Vec<TcMessage>, Error> {
    let answers = Netlink::open(NETLINK_ROUTE, "route")?
        .request(message, NLM_F_DUMP)?
        .map_err(|e| Error::io("listing qdiscs and filters", &io::Error::from_raw_os_error(e.errno)))?;
    let parts = answers.into_iter().filter_map(|m| match m {
        RouteNetlinkMessage::NewQueueDiscipline(m) | RouteNetlinkMessage::NewTrafficFilter(m) => Some(m),
        _ => None,
    });
    Ok(parts.collect())
}

fn clsact(interface: u32) -> Result<bool, Error> {
    qdisc(interface, "clsact")
}

fn qdisc(interface: u32, kind: &str) -> Result<bool, Error> {
    let all = dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()))?;
    let is = |m: &TcMessage| m.attributes.iter().any(|a| matches!(a, TcAttribute::Kind(k) if k == kind));
    Ok(all.iter().any(|m| m.header.index == interface as i32 && is(m)))
}

/// Number of filters of the qdisc, including those of other processes.
fn filters(interface: u32) -> Result<usize, Error> {
    let mut count = 0;
    // Ingress and egress of clsact (include/uapi/linux/pkt_sched.h: TC_H_MIN_INGRESS, TC_H_MIN_EGRESS).
    for minor in [0xfff2, 0xfff3] {
        let mut request = TcMessage::default();
        request.header.index = interface as i32;
        request.header.parent = TcHandle { major: 0xffff, minor };
        count += dump(RouteNetlinkMessage::GetTrafficFilter(request))?.len();
    }
    Ok(count)
}

/// Our filters in this namespace, including those of other processes.
pub(crate) fn own_filters() -> Result<Vec<Filter>, Error> {
    libbpf_log::keep();
    let mut found = Vec::new();
    for device in devices() {
        for program in PROGRAMS {
            for (egress, made) in [(true, true), (true, false), (false, true), (false, false)] {
                let Ok(filter) = Filter::new(program.name, &device, egress, made) else { continue };
                if filter.hook(None).query().is_ok() {
                    found.push(filter);
                }
            }
        }
    }
    Ok(found)
}

fn devices() -> Vec<String> {
    let all = if_nameindex();
    all.iter().flat_map(|list| list.iter()).map(|interface| interface.name().to_string_lossy().into_owned()).collect()
}
