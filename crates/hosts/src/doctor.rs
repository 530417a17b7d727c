//! Machine requirements of `forebay attach`. To add a check: a function here, and a line in the list.

use crate::catalog::PROGRAMS;
use crate::netlink::Netlink;
use crate::{cgroup, pins, privileges, sysctl};
use forebay_platform::doctor::{Check, Finding, Part};
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Transports on real hosts.
pub static PART: Part = Part {
    name: "hosts",
    title: "Real hosts: transports as BPF programs in this kernel",
    checks: &[
        Check { title: "build", look: build },
        Check { title: "kernel", look: kernel },
        Check { title: "type information", look: type_information },
        Check { title: "congestion controls", look: struct_ops },
        Check { title: "privileges", look: may },
        Check { title: "BPF file system", look: bpf_file_system },
        Check { title: "cgroups", look: cgroups },
        Check { title: "clsact", look: clsact },
        Check { title: "ECN", look: ecn },
        Check { title: "offloads", look: offloads },
    ],
};

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Returns true if the kernel's type information has the name; `None` if there is no type information.
fn knows(name: &str) -> Option<bool> {
    static BYTES: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let bytes = BYTES.get_or_init(|| fs::read(BTF).ok()).as_ref()?;
    let word: Vec<u8> = [b"\0", name.as_bytes(), b"\0"].concat();
    Some(bytes.windows(word.len()).any(|w| w == word))
}

fn build() -> Finding {
    let names: Vec<&str> = PROGRAMS.iter().map(|p| p.name).collect();
    Finding::Works(format!("carries {}", names.join(", ")))
}

/// The link that keeps a congestion control registered, and that can be pinned, came with Linux 6.4 (BPF_F_LINK of struct_ops maps). Shims
/// need none.
pub(crate) fn takes_congestion_controls(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 4)
}

fn kernel() -> Finding {
    let Ok(release) = sysctl::get("kernel.osrelease") else {
        return Finding::Unknown("/proc/sys/kernel/osrelease cannot be read".into());
    };
    if takes_congestion_controls(&release) {
        Finding::Works(format!("Linux {release}"))
    } else {
        Finding::fails(format!("Linux {release} cannot pin congestion controls"), "boot Linux 6.4 or newer")
    }
}

fn type_information() -> Finding {
    if Path::new(BTF).exists() {
        Finding::Works(BTF.into())
    } else {
        Finding::fails(
            format!("{BTF} is not there"),
            "boot a kernel that was built with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels are",
        )
    }
}

fn struct_ops() -> Finding {
    match knows("bpf_struct_ops_tcp_congestion_ops") {
        Some(true) => Finding::Works("can be BPF programs (struct_ops)".into()),
        Some(false) => Finding::fails(
            "cannot be BPF programs",
            "boot a kernel that was built with CONFIG_BPF_JIT=y and CONFIG_BPF_SYSCALL=y",
        ),
        None => Finding::Unknown("this needs the type information".into()),
    }
}

fn may() -> Finding {
    match privileges::missing() {
        Ok(missing) if missing.is_empty() => Finding::Works("all that attaching needs".into()),
        Ok(missing) => {
            Finding::fails(format!("without {}", missing.join(", ")), "run it as root; SECURITY.md has the purpose of each")
        }
        Err(e) => Finding::Unknown(e.to_string()),
    }
}

fn bpf_file_system() -> Finding {
    match pins::folder() {
        Ok(folder) => match pins::missing_mount(&folder) {
            Ok(None) => Finding::Works(folder.display().to_string()),
            Ok(Some(place)) => Finding::Works(format!("none is mounted: attach mounts one at {}", place.display())),
            Err(e) => Finding::Unknown(e.to_string()),
        },
        Err(e) => Finding::fails(e.what(), format!("{}, outside of a mount namespace of its own", pins::MOUNT)),
    }
}

fn cgroups() -> Finding {
    match cgroup::mount() {
        Ok(place) => Finding::Works(format!("version 2 at {}", place.display())),
        Err(e) => Finding::fails(format!("{} (only --cgroup needs it)", e.what()), "mount -t cgroup2 none /sys/fs/cgroup"),
    }
}

fn clsact() -> Finding {
    if knows("clsact_init") == Some(true) {
        return Finding::Works("built in".into());
    }
    let release = sysctl::get("kernel.osrelease").unwrap_or_default();
    let folder = format!("/lib/modules/{release}/kernel/net/sched");
    let module = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|e| e.file_name().to_string_lossy().starts_with("sch_ingress.ko"));
    match (module, knows("clsact_init")) {
        (true, _) => Finding::Works("as a module (sch_ingress)".into()),
        (false, Some(_)) => {
            Finding::fails("is not there: shims cannot be attached", "boot a kernel that was built with CONFIG_NET_SCH_INGRESS")
        }
        (false, None) => Finding::Unknown("this needs the type information".into()),
    }
}

fn ecn() -> Finding {
    match sysctl::get("net.ipv4.tcp_ecn").as_deref() {
        Ok("0") => Finding::fails("this host refuses ECN to others (net.ipv4.tcp_ecn = 0)", "sysctl -w net.ipv4.tcp_ecn=2"),
        Ok(value) => Finding::Works(format!(
            "net.ipv4.tcp_ecn = {value}; congestion controls that need ECN request it for their connections"
        )),
        Err(e) => Finding::Unknown(e.what().to_owned()),
    }
}

/// Packets that the card cuts into several have one tag.
fn offloads() -> Finding {
    let links = Netlink::open(NETLINK_ROUTE, "route")
        .and_then(|mut n| n.request(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP));
    let Ok(Ok(links)) = links else { return Finding::Unknown("the kernel does not list its interfaces".into()) };
    let mut all = Vec::new();
    for link in links {
        let RouteNetlinkMessage::NewLink(link) = link else { continue };
        let name = link.attributes.iter().find_map(|a| if let LinkAttribute::IfName(n) = a { Some(n.clone()) } else { None });
        let most = link.attributes.iter().find_map(|a| if let LinkAttribute::GsoMaxSegs(n) = a { Some(*n) } else { None });
        if let (Some(name), Some(most @ 2..)) = (name, most)
            && name != "lo"
        {
            all.push(format!("{name} {most}"));
        }
    }
    if all.is_empty() {
        return Finding::Works("each packet leaves by itself".into());
    }
    Finding::Works(format!(
        "segments in one packet of the stack, which shims tag alike: {} (`ip link set DEV gso_max_segs 1` gives each its own)",
        all.join(", ")
    ))
}
