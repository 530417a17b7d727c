//! The commands that `forebay advise` prints, run in a network namespace: each is accepted, and its reversal restores the former state.

use crate::scratch::{Scratch, forebay, text};
use std::collections::BTreeSet;
use std::process::{Command, Output};

/// All kinds of steps: two transports between the same hosts, offloads, and memory that ports share.
const RACK: &str = r#"
name = "rack"
duration = "20ms"

[advise]
objective = "p99 of reads"

[topology]
kind = "many-to-one"
senders = 8
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us" }
shared-buffer = "200KB"

[transport]
stack = "linux"
cc = "cubic"
host = "linux-server"

[[transport.group]]
name = "storage"

[[transport.group]]
name = "others"

[[workload]]
kind = "incast"
class = "reads"
transport = "storage"
senders = "s0..s5"
block = "16KB"

[[workload]]
kind = "poisson"
class = "copies"
transport = "others"
from = "s5..s7"
to = "receiver"
sizes = "50KB"
load = 0.05
"#;

/// A network namespace with an interface `eth0` at 10.77.0.1/24.
struct Host(String);

impl Host {
    fn new() -> Host {
        let host = Host(format!("fba{}", std::process::id()));
        let run = |args: &str| {
            let out = Command::new("ip").args(args.split_whitespace()).output().unwrap();
            assert!(out.status.success(), "ip {args}: {}", text(&out.stderr));
        };
        run(&format!("netns add {}", host.0));
        run(&format!("-n {} link add eth0 type veth peer name eth1", host.0));
        run(&format!("-n {} address add 10.77.0.1/24 dev eth0", host.0));
        run(&format!("-n {} link set eth1 up", host.0));
        run(&format!("-n {} link set eth0 up", host.0));
        host
    }

    fn sh(&self, command: &str) -> Output {
        Command::new("ip").args(["netns", "exec", &self.0, "sh", "-c", command]).output().unwrap()
    }

    fn must(&self, command: &str) -> String {
        let out = self.sh(command);
        assert!(out.status.success(), "{command}: {}", text(&out.stderr));
        text(&out.stdout)
    }

    /// Returns true if this kernel has a queueing discipline.
    fn has_qdisc(&self, name: &str) -> bool {
        let out = self.sh(&format!("tc qdisc replace dev eth1 root {name}"));
        !text(&out.stderr).contains("kind is unknown")
    }

    /// Everything that a step may change.
    fn state(&self) -> String {
        let keys = "net.ipv4.tcp_congestion_control net.ipv4.tcp_ecn net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_wmem net.ipv4.tcp_rmem";
        let mut out = self.must(&format!("sysctl {keys}"));
        out += &self.must("ip -4 route show exact 10.77.0.0/24");
        // The handle and the number of references differ after each change.
        out += &self.must("tc qdisc show dev eth0 | sed -E 's/ (refcnt|handle)? ?[0-9a-f]+: / /; s/ refcnt [0-9]+//'");
        out += &self.must("ip -d link show dev eth0 | grep -o 'gso_max_size [0-9]*'");
        if self.sh("iptables -V").status.success() {
            out += &self.must("iptables -t mangle -S");
        }
        out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// Reason why this machine cannot run these commands, if any.
fn lacks() -> Option<&'static str> {
    let id = Command::new("id").arg("-u").output().map(|o| text(&o.stdout)).unwrap_or_default();
    if id.trim() != "0" {
        return Some("network namespaces need root");
    }
    let ip = Command::new("ip").args(["netns", "list"]).output();
    (!ip.is_ok_and(|o| o.status.success())).then_some("`ip netns` does not work here")
}

#[test]
fn commands_run_and_are_undone() {
    if let Some(why) = lacks() {
        println!("not run: {why}");
        return;
    }
    let scratch = Scratch::new("advise-install");
    scratch.file("rack.toml", RACK);
    let out = forebay(&scratch.0, &["advise", "rack.toml", "--seeds", "1", "--format", "json"]);
    let all: serde_json::Value =
        serde_json::from_str(&text(&out.stdout)).unwrap_or_else(|e| panic!("{e}: {}", text(&out.stderr)));
    let mut steps: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    let list = |v: &serde_json::Value| -> Vec<String> {
        let real = |t: &str| t.replace("SUBNET", "10.77.0.0/24").replace("DEVICE", "eth0").replace("PORT", "9000");
        v.as_array().unwrap().iter().map(|t| real(t.as_str().unwrap())).collect()
    };
    for step in all["options"].as_array().unwrap().iter().flat_map(|o| o["steps"].as_array().unwrap()) {
        let step = (list(&step["run"]), list(&step["undo"]));
        if !step.1.is_empty() && !steps.contains(&step) {
            steps.push(step);
        }
    }
    let host = Host::new();
    // The reversal restores the kernel's default, which this machine may have changed.
    host.must("sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'");
    // In a namespace a host accepts only these as its congestion control.
    let allowed = host.must("sysctl -n net.ipv4.tcp_allowed_congestion_control");
    let available = host.must("sysctl -n net.ipv4.tcp_available_congestion_control");
    let mut kinds = BTreeSet::new();
    for (run, undo) in &steps {
        // `forebay attach` has tests of its own. A congestion control or program that this machine lacks is left out.
        let lacking = |c: &String| {
            c.starts_with("forebay ")
                || c.strip_prefix("modprobe tcp_").is_some_and(|cc| !available.contains(cc))
                || c.split_once("tcp_congestion_control=").is_some_and(|(_, cc)| !allowed.contains(cc))
                || c.starts_with("iptables") && !host.sh("iptables -t mangle -L").status.success()
        };
        let qdisc = run[0].strip_prefix("tc qdisc replace dev eth0 root ");
        if run.iter().chain(undo).any(lacking) || qdisc.is_some_and(|name| !host.has_qdisc(name)) {
            println!("not run, this machine lacks it: {run:?}");
            continue;
        }
        let before = host.state();
        for command in run.iter().filter(|c| !c.starts_with("modprobe ")) {
            host.must(command);
        }
        let during = host.state();
        for command in undo {
            host.must(command);
        }
        assert_eq!(host.state(), before, "{run:?} {undo:?}");
        // CUBIC is the default already.
        assert!(during != before || run.concat().contains("=cubic"), "{run:?} changes nothing");
        kinds.insert(run.last().unwrap().split(' ').next().unwrap().to_owned());
    }
    for kind in ["ip", "sysctl"] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
}
