//! Two hosts: network namespaces `left` and `right` with a virtual link between them.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Why this machine cannot run these tests, or nothing.
pub(crate) fn lacks() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("these tests need root (they make network namespaces and load BPF programs)".into());
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("this kernel has no type information (/sys/kernel/btf/vmlinux)".into());
    }
    let btf = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let word = b"bpf_struct_ops_tcp_congestion_ops\0";
    if !btf.windows(word.len()).any(|w| w == word) {
        return Some("this kernel has no BPF congestion controls (struct_ops)".into());
    }
    None
}

/// The right to look at what the whole machine has attached, until it is dropped: other tests on this machine that attach programs wait for it.
pub(crate) fn alone() -> File {
    let path = "/run/lock/forebay-tests";
    let file = std::fs::create_dir_all("/run/lock").and_then(|()| File::options().create(true).append(true).open(path));
    let file = file.unwrap_or_else(|e| panic!("{path}: {e}"));
    if file.try_lock().is_err() {
        println!("waiting for other tests on this machine ({path})");
        file.lock().unwrap_or_else(|e| panic!("{path}: {e}"));
    }
    file
}

/// A namespace that `ip netns` made.
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: &'static str,
}

impl Host {
    /// Runs something inside, on a thread of its own.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                enter(&self.name);
                work()
            });
            match inside.join() {
                Ok(value) => value,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    pub(crate) fn ip(&self, args: &str) {
        command("ip", &format!("-n {} {args}", self.name));
    }

    pub(crate) fn sysctl(&self, key: &str, value: &str) {
        let path = format!("/proc/sys/{}", key.replace('.', "/"));
        self.run(|| std::fs::write(&path, value).unwrap_or_else(|e| panic!("{path} = {value}: {e}")));
    }

    pub(crate) fn read_sysctl(&self, key: &str) -> String {
        let path = format!("/proc/sys/{}", key.replace('.', "/"));
        self.run(|| std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")).trim().to_owned())
    }

    /// A counter of the host's protocols, as `/proc/net/snmp` and `/proc/net/netstat` have it.
    pub(crate) fn snmp(&self, protocol: &str, counter: &str) -> u64 {
        // Of the thread: `/proc/net` is the main thread's.
        let read =
            |file: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).expect("counters of the protocols");
        let text = self.run(|| read("snmp") + &read("netstat"));
        let mut lines = text.lines().filter(|l| l.split(':').next() == Some(protocol));
        let (names, values) = (lines.next().expect("its names"), lines.next().expect("its values"));
        let found = names.split_whitespace().zip(values.split_whitespace()).find(|(n, _)| *n == counter);
        found.and_then(|(_, v)| v.parse().ok()).unwrap_or_else(|| panic!("no {protocol} {counter} in {text}"))
    }
}

/// Moves the calling thread into the namespace.
pub(crate) fn enter(name: &str) {
    let file = File::open(format!("/run/netns/{name}")).unwrap_or_else(|e| panic!("namespace {name}: {e}"));
    setns(file, CloneFlags::CLONE_NEWNET).unwrap_or_else(|e| panic!("entering {name}: {e}"));
}

/// Runs a program to its end and returns what it printed.
pub(crate) fn command(program: &str, args: &str) -> String {
    let out = Command::new(program).args(args.split_whitespace()).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(out.status.success(), "{program} {args}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A host behind a bridge.
pub(crate) struct Guest(pub(crate) Host);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0.name]).status();
    }
}

/// Both hosts.
pub(crate) struct Lab {
    pub(crate) left: Host,
    pub(crate) right: Host,
}

impl Lab {
    /// A fresh pair; Reno is the congestion control of both, because namespaces inherit the machine's.
    pub(crate) fn new() -> Lab {
        let id = std::process::id();
        let lab = Lab {
            left: Host { name: format!("fbt{id}l"), address: "10.77.0.1" },
            right: Host { name: format!("fbt{id}r"), address: "10.77.0.2" },
        };
        for host in [&lab.left, &lab.right] {
            command("ip", &format!("netns add {}", host.name));
        }
        lab.left.ip(&format!("link add eth0 type veth peer name eth0 netns {}", lab.right.name));
        for host in [&lab.left, &lab.right] {
            host.ip(&format!("address add {}/24 dev eth0", host.address));
            // No addresses that appear by themselves a little later.
            host.ip("link set eth0 addrgenmode none");
            host.ip("link set lo up");
            host.ip("link set eth0 up");
            host.sysctl("net.ipv4.tcp_congestion_control", "reno");
            host.sysctl("net.ipv4.tcp_no_metrics_save", "1");
        }
        lab
    }

    /// Disables retransmissions due to a process or an ACK that waits for a processor: no tail loss probes, and timeouts after ten seconds instead of
    /// 0.2. Losses of the network are still detected by duplicate ACKs.
    pub(crate) fn patient(&self) {
        for host in [&self.left, &self.right] {
            host.sysctl("net.ipv4.tcp_early_retrans", "0");
            host.ip(&format!("route change 10.77.0.0/24 dev eth0 proto kernel scope link src {} rto_min 10s", host.address));
        }
    }

    /// A bottleneck from left to right, and with it a round trip that is long against what the machine takes: a rate in Mbit/s, and a
    /// queue.
    pub(crate) fn bottleneck(&self, mbit: u32, packets: u32) {
        let n = &self.left.name;
        command("tc", &format!("-n {n} qdisc replace dev eth0 root handle 1: tbf rate {mbit}mbit burst 3200 limit 100000000"));
        command("tc", &format!("-n {n} qdisc replace dev eth0 parent 1:1 handle 10: pfifo limit {packets}"));
    }
}

impl Lab {
    /// A guest of the left host, as a container or a virtual machine is: in a namespace of its own, behind a bridge whose uplink is the
    /// left host's interface. It goes with the returned value.
    pub(crate) fn guest(&self) -> Guest {
        let host = Host { name: format!("{}g", self.left.name), address: "10.77.0.3" };
        command("ip", &format!("netns add {}", host.name));
        for args in [
            "link add br0 type bridge",
            "address del 10.77.0.1/24 dev eth0",
            "link set br0 addrgenmode none",
            "link set eth0 master br0",
            "address add 10.77.0.1/24 dev br0",
            "link set br0 up",
            &format!("link add guest0 type veth peer name eth0 netns {}", host.name),
            "link set guest0 addrgenmode none",
            "link set guest0 master br0 up",
        ] {
            self.left.ip(args);
        }
        for args in [
            "link set lo up",
            "link set eth0 addrgenmode none",
            "address add 10.77.0.3/24 dev eth0",
            "link set eth0 up gso_max_segs 1",
        ] {
            host.ip(args);
        }
        host.sysctl("net.ipv4.tcp_congestion_control", "reno");
        host.sysctl("net.ipv4.tcp_no_metrics_save", "1");
        Guest(host)
    }

    /// Two ways from left to right behind one another's back: class 1:2, which a filter chooses by the packet's priority, is slow.
    pub(crate) fn slow_way(&self) {
        let n = &self.left.name;
        command("tc", &format!("-n {n} qdisc replace dev eth0 root handle 1: htb default 1"));
        command("tc", &format!("-n {n} class add dev eth0 parent 1: classid 1:1 htb rate 400mbit ceil 400mbit quantum 3000"));
        command("tc", &format!("-n {n} class add dev eth0 parent 1: classid 1:2 htb rate 4mbit ceil 4mbit quantum 3000"));
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for host in [&self.left, &self.right] {
            let _ = Command::new("ip").args(["netns", "del", &host.name]).status();
        }
    }
}
