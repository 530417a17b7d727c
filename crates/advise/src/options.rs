//! Changes that an operator can make. Each has the scenario keys that it sets, and its installation in a real network.

use forebay_experiment::topology::{SPEEDS, speed};
use forebay_scenario::{Resolved, Scenario};
use forebay_types::{GroupId, Rate, WorkloadId};
use serde_json::Value as Json;

/// Class of service of a dedicated queue.
const SERVICE_CLASS: u8 = 5;

/// Category of a change. A plan has at most one change of each category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Congestion control of some transports, with its marking, or a dedicated queue.
    CongestionControl,
    /// Minimum RTO.
    Timeout,
    /// Share of the switch's memory that one port may take.
    Buffer,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Category.
    pub category: Category,
    /// Short name: `dctcp for storage, K = 65 packets`.
    pub name: String,
    /// Overrides of the scenario, as for `--set`.
    pub sets: Vec<String>,
    /// Installation, one step per line.
    pub install: Vec<String>,
    /// Marking threshold in packets, if it sets one.
    pub k: Option<u32>,
}

/// Transport of the file.
#[derive(Debug, Clone)]
struct Transport {
    /// Key of its table.
    key: String,
    name: String,
    /// True if it has its own `cc`.
    cc: bool,
    /// True if it has shims.
    shim: bool,
}

/// Parts of the scenario that changes can set.
struct Subject<'a> {
    echo: &'a Json,
    /// Transport of the objective's class.
    group: Option<Transport>,
    all: Vec<Transport>,
    /// True if `[transport]` has a `cc`, which must stay in use.
    common_cc: bool,
    links: Vec<String>,
    rate: Rate,
}

/// All single changes of a scenario that could improve the class.
pub(crate) fn choices(scenario: &Scenario, resolved: &Resolved, class: WorkloadId) -> Vec<Choice> {
    let Some(subject) = Subject::new(scenario, resolved, class) else { return Vec::new() };
    let mut out = Vec::new();
    congestion_controls(&subject, &mut out);
    own_queues(&subject, &mut out);
    timeouts(&subject, &mut out);
    buffers(&subject, &mut out);
    out
}

impl<'a> Subject<'a> {
    fn new(scenario: &Scenario, resolved: &'a Resolved, class: WorkloadId) -> Option<Subject<'a>> {
        let variant = resolved.variants.first()?;
        let (echo, config) = (&variant.echo, &variant.config);
        let own = config.workloads.get(class)?;
        let tcp = variant.transports.iter().take_while(|n| *n != forebay_experiment::transport::Group::DATAGRAMS).count();
        let document = scenario.document();
        let groups = document["transport"]["group"].as_array();
        let one = |(g, name): (usize, &String)| Transport {
            key: groups.map_or_else(|| "transport".into(), |_| format!("transport.group.{g}")),
            name: name.clone(),
            shim: !config.groups[GroupId::from_index(g)].tcp.shims.is_empty(),
            cc: groups.and_then(|list| list.get(g)).is_some_and(|t| !t["cc"].is_null()),
        };
        let all: Vec<Transport> = variant.transports.iter().take(tcp).enumerate().map(one).collect();
        let common_cc = groups.is_some() && !document["transport"]["cc"].is_null();
        let used = (0..tcp).find(|g| own.uses(GroupId::from_index(*g)));
        let links = links(&echo["topology"]);
        let rate = config.network.ports.iter().map(|p| p.rate).min()?;
        Some(Subject { echo, group: used.and_then(|g| all.get(g).cloned()), all, common_cc, links, rate })
    }

    /// Overrides that give a congestion control to one transport, or to all. The `cc` of `[transport]` cannot be removed, only changed: it stays that
    /// of some group.
    fn cc(&self, whose: Option<&Transport>, cc: &str) -> Vec<String> {
        let (changed, kept): (Vec<&Transport>, Vec<&Transport>) =
            self.all.iter().partition(|t| whose.is_none_or(|w| w.key == t.key));
        if self.common_cc && kept.iter().all(|t| t.cc) {
            let own = changed.iter().filter(|t| t.cc).map(|t| format!("{}.cc={cc}", t.key));
            return std::iter::once(format!("transport.cc={cc}")).chain(own).collect();
        }
        changed.iter().map(|t| format!("{}.cc={cc}", t.key)).collect()
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.echo["transport"][key].as_str()
    }

    /// Overrides that put this queue on every link of the file.
    fn queues(&self, queue: &str) -> Vec<String> {
        self.links.iter().map(|l| format!("{l}.queue={queue}")).collect()
    }

    /// DCTCP's common threshold for the slowest link: that of the next higher speed.
    fn k(&self) -> u32 {
        let of = |name: &str| name.parse::<Rate>().map_or(0, |r| r.0);
        let above = SPEEDS.iter().find(|s| of(s.name) >= self.rate.0).or(SPEEDS.last());
        above.and_then(|s| speed(s.name)).map_or(65, |s| s.k)
    }
}

/// Keys of all links of a topology's echo: tables with a rate, and lists of those.
fn links(topology: &Json) -> Vec<String> {
    let Some(table) = topology.as_object() else { return Vec::new() };
    let mut out = Vec::new();
    for (key, value) in table {
        if value["rate"].is_string() {
            out.push(format!("topology.{key}"));
        }
        for (i, _) in value.as_array().into_iter().flatten().enumerate().filter(|(_, l)| l["rate"].is_string()) {
            out.push(format!("topology.{key}.{i}"));
        }
    }
    out
}

/// Steps that enable a congestion control of the kernel at hosts.
fn install_cc(cc: &str, whose: &str) -> Vec<String> {
    let ends = format!("hosts of {whose}, both ends");
    let mut out = Vec::new();
    let by_hand = if cc == "dctcp" {
        out.push(format!("{ends}: forebay attach dctcp --dst SUBNET, which uses ECN there only; forebay detach reverts it"));
        out.push(format!("or the kernel's own, {ends}: modprobe tcp_dctcp; sysctl -w net.ipv4.tcp_ecn=1"));
        "the kernel's own for"
    } else {
        out.push(format!("{ends}: modprobe tcp_{cc}"));
        "for"
    };
    out.push(format!("{by_hand} all their connections: sysctl -w net.ipv4.tcp_congestion_control={cc}"));
    out.push(format!("or {by_hand} one destination: ip route change SUBNET dev DEVICE congctl {cc}"));
    out
}

/// Steps that enable TRIM at hosts, behind a bottleneck of `rate`.
fn install_trim(rate: Rate, whose: &str) -> Vec<String> {
    // A full packet on Ethernet: 1500 bytes and 38 bytes of overhead. Three of them are the guard of `trim` in scenarios.
    let packet_ps = rate.tx_time(1538).0;
    let guard = (3 * packet_ps).div_ceil(1_000_000);
    vec![
        format!(
            "hosts that send for {whose}: forebay attach trim --dst SUBNET --param packet_ps={packet_ps} --param guard={guard}"
        ),
        "experimental, so watch it: forebay watch trim --rollback-on 'rtt-p99>2'; switches need no change".into(),
    ]
}

fn install_k(k: u32) -> String {
    let bytes = u64::from(k) * 1500;
    format!(
        "switch, ports towards the hosts and between switches: ECN marking with minimum = maximum = {bytes} B ({k} packets), probability 100 %"
    )
}

fn congestion_controls(s: &Subject, out: &mut Vec<Choice>) {
    let Some(own) = &s.group else { return };
    let Transport { key, name, .. } = own;
    let usual = s.k();
    let whose = if s.all.len() > 1 { format!(" for {name}") } else { String::new() };
    let marked = |k: u32| s.queues(&format!("{{kind=\"dctcp-step\",k=\"{k}pkt\"}}"));
    for k in [usual, usual / 3] {
        let sets = [marked(k), s.cc(Some(own), "dctcp")].concat();
        let install = [install_cc("dctcp", name), vec![install_k(k)]].concat();
        out.push(Choice {
            category: Category::CongestionControl,
            name: format!("dctcp{whose}, K = {k}"),
            sets,
            install,
            k: Some(k),
        });
        if s.all.len() > 1 {
            let sets = [marked(k), s.cc(None, "dctcp")].concat();
            let install = [install_cc("dctcp", "all transports"), vec![install_k(k)]].concat();
            out.push(Choice {
                category: Category::CongestionControl,
                name: format!("dctcp for all, K = {k}"),
                sets,
                install,
                k: Some(k),
            });
        }
    }
    let (min, max) = (usual / 2, usual * 3 / 2);
    let red = s.queues(&format!("{{kind=\"red\",min=\"{min}pkt\",max=\"{max}pkt\",p-max=0.1,gentle=true}}"));
    let ecn = s.all.iter().map(|t| format!("{}.ecn=classic", t.key)).collect();
    let sets = [red, s.cc(None, "cubic"), ecn].concat();
    let (low, high) = (u64::from(min) * 1500, u64::from(max) * 1500);
    let install = vec![
        "all hosts: sysctl -w net.ipv4.tcp_ecn=1; sysctl -w net.ipv4.tcp_congestion_control=cubic".into(),
        format!("switch: WRED with ECN on every port, minimum {low} B, maximum {high} B, probability 10 %"),
    ];
    out.push(Choice {
        category: Category::CongestionControl,
        name: format!("cubic with ECN for all, RED {min} to {max}"),
        sets,
        install,
        k: None,
    });
    if s.text("recovery").is_none_or(|r| r == "rack" || r == "sack") {
        let install = install_cc("bbr", name);
        out.push(Choice {
            category: Category::CongestionControl,
            name: format!("bbr{whose}"),
            sets: s.cc(Some(own), "bbr"),
            install,
            k: None,
        });
    }
    let (sets, install) = (s.cc(Some(own), "trim"), install_trim(s.rate, name));
    out.push(Choice { category: Category::CongestionControl, name: format!("trim{whose}"), sets, install, k: None });
    let sets = [marked(usual), vec![format!("{key}.shim=proboscis")]].concat();
    let install = vec![
        format!(
            "hosts of {name}, both ends: forebay attach proboscis --dst SUBNET, or --dev DEVICE below containers and virtual machines, \
             which need no change"
        ),
        install_k(usual),
    ];
    let name = format!("ProBoSCIS below {name}, K = {usual}");
    out.push(Choice { category: Category::CongestionControl, name, sets, install, k: Some(usual) });
}

/// Dedicated queue for the class's transport if others share the ports: by weight with DCTCP or the present congestion control, or by priority.
fn own_queues(s: &Subject, out: &mut Vec<Choice>) {
    let Some(own) = s.group.as_ref().filter(|t| s.all.len() > 1 && !t.shim) else { return };
    let (k, name) = (s.k(), &own.name);
    let mut add = |words: &str, queue: &str, cc: Option<&str>, switch: String, k: Option<u32>| {
        let tag = format!("{}.shim={{kind=\"service\",class={SERVICE_CLASS}}}", own.key);
        let cc_sets = cc.map_or_else(Vec::new, |cc| s.cc(Some(own), cc));
        let mut install = vec![format!(
            "hosts of {name}: iptables -t mangle -A POSTROUTING -p tcp --sport PORT -j DSCP --set-dscp-class CS{SERVICE_CLASS}"
        )];
        install.extend(cc.map_or_else(Vec::new, |cc| install_cc(cc, name)));
        install.push(format!("switch, all ports: DSCP CS{SERVICE_CLASS} to a queue of its own; {switch}"));
        let sets = [s.queues(queue), cc_sets, vec![tag]].concat();
        out.push(Choice {
            category: Category::CongestionControl,
            name: format!("own queue for {name}, {words}"),
            sets,
            install,
            k,
        });
    };
    let bytes = u64::from(k) * 1500;
    add(
        &format!("half of each port (dwrr), dctcp, K = {k}"),
        &format!("{{kind=\"dwrr\",weights=[1,1],ks=[\"{k}pkt\"]}}"),
        Some("dctcp"),
        format!("DWRR with equal weights; on that queue ECN marking with minimum = maximum = {bytes} B ({k} packets)"),
        Some(k),
    );
    add("half of each port (dwrr)", "{kind=\"dwrr\",weights=[1,1]}", None, "DWRR with equal weights".into(), None);
    add("served first", "{kind=\"strict-priority\",queues=2}", None, "strict priority over the others".into(), None);
}

fn timeouts(s: &Subject, out: &mut Vec<Choice>) {
    let Some(Transport { key, name, .. }) = &s.group else { return };
    for min in ["10ms", "5ms"] {
        out.push(Choice {
            category: Category::Timeout,
            name: format!("minimum RTO {min}"),
            sets: vec![format!("{key}.rto-min={min}")],
            install: vec![format!("hosts that send for {name}: ip route change SUBNET dev DEVICE rto_min {min}")],
            k: None,
        });
    }
}

fn buffers(s: &Subject, out: &mut Vec<Choice>) {
    let topology = &s.echo["topology"];
    if !(topology["shared-buffer"].is_string() || topology["shared-switch"].is_string())
        || topology["shared-per-port"].is_string()
    {
        return;
    }
    let now = topology["shared-alpha"].as_f64();
    for alpha in [0.25, 1.0, 4.0, 8.0].into_iter().filter(|a| Some(*a) != now) {
        out.push(Choice {
            category: Category::Buffer,
            name: format!("buffer alpha {alpha}"),
            sets: vec![format!("topology.shared-alpha={alpha}")],
            install: vec![format!(
                "switch: dynamic threshold factor (alpha) {alpha} for the ports' queues: one busy port may take {:.0} % of the memory",
                100.0 * alpha / (1.0 + alpha)
            )],
            k: None,
        });
    }
}
