//! Changes that an operator can make. Each has the scenario keys that it sets, and its installation in a real network.
//!
//! * `congestion` has the congestion controls with their marking.
//! * `queues` has dedicated queues and the switch's memory.
//! * `hosts` has settings of hosts below or beside congestion control: timeouts, windows, interface queues.
//! * `application` has changes of the application that sends.
//! * `rate_limit` has a rate limit of the connections of another class.
//!
//! A change sets exactly the connections that its installation reaches. No change touches a fault of the network: loss, failures, damaged packets.

mod application;
mod congestion;
mod hosts;
mod queues;
mod rate_limit;

use crate::install::Step;
use crate::peers::Peers;
use crate::values::inline;
use forebay_experiment::network::Network;
use forebay_experiment::topology::{Fib, SPEEDS, hosts as hosts_of, speed};
use forebay_scenario::{Resolved, Scenario};
use forebay_types::{GroupId, Rate, WorkloadId};
use serde_json::Value as Json;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Kind of a change. The search keeps the best of each family, so that the last comparison has different remedies, not variants of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// DCTCP with step marking.
    Dctcp,
    /// ECN with RED.
    Ecn,
    /// BBR.
    Bbr,
    /// TCP-TRIM.
    Trim,
    /// ProBoSCIS.
    Proboscis,
    /// Queue of its own in the switches.
    OwnQueue,
    /// Minimum RTO.
    Timeout,
    /// Share of the switch's memory that one port may take.
    Buffer,
    /// Queue of the hosts' interfaces.
    HostQueue,
    /// Initial window, restart after idle time, limits of the windows.
    Window,
    /// Segmentation offload.
    Offload,
    /// Change of the application.
    Application,
    /// Rate limit of other traffic.
    RateLimit,
    /// Protective load balancing.
    Plb,
}

/// Reason to prefer other changes (our choice).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caveat {
    /// A remedy of research that few networks run.
    Experimental,
    /// It takes rate from other traffic, also while the link is idle.
    TakesRate,
}

impl Caveat {
    /// Words behind the name of a change.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Caveat::Experimental => "experimental",
            Caveat::TakesRate => "takes rate from other traffic",
        }
    }
}

impl Family {
    /// Setting that a family changes: a plan has at most one change of each.
    pub(crate) fn slot(self) -> u8 {
        match self {
            Family::Dctcp | Family::Ecn | Family::Bbr | Family::Trim | Family::Proboscis | Family::OwnQueue => 0,
            Family::Timeout => 1,
            Family::Buffer => 2,
            Family::HostQueue => 3,
            Family::Window => 4,
            Family::Offload => 5,
            Family::Application => 6,
            Family::RateLimit => 7,
            Family::Plb => 8,
        }
    }

    /// Reason to prefer another change, if there is one.
    pub(crate) fn caveat(self) -> Option<Caveat> {
        match self {
            Family::Trim | Family::Proboscis => Some(Caveat::Experimental),
            Family::RateLimit => Some(Caveat::TakesRate),
            _ => None,
        }
    }

    /// Effort of the installation, for "the cheapest change" (our choice): one setting of some hosts is 1, of all hosts and switches 5.
    pub(crate) fn effort(self) -> u32 {
        match self {
            Family::Timeout | Family::HostQueue | Family::Window | Family::Offload => 1,
            Family::Bbr | Family::Plb => 2,
            Family::Buffer | Family::Application | Family::RateLimit => 3,
            Family::Dctcp | Family::Ecn => 5,
            Family::Trim | Family::OwnQueue => 6,
            Family::Proboscis => 7,
        }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Kind.
    pub family: Family,
    /// Short name: `dctcp for storage, K = 65 packets`.
    pub name: String,
    /// Overrides of the scenario, as for `--set`.
    pub sets: Vec<String>,
    /// Keys whose value is multiplied: a change relative to the work, such as half the fan-out.
    pub scales: Vec<(String, f64)>,
    /// Installation.
    pub install: Vec<Step>,
    /// Marking threshold in packets, if it sets one.
    pub k: Option<u32>,
}

/// Transport of the file.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    /// Key of its table.
    pub(crate) key: String,
    pub(crate) name: String,
    /// True if it has its own `cc`.
    cc: bool,
    /// True if it has shims.
    shim: bool,
}

/// Parts of the scenario that changes can set.
pub(crate) struct Subject<'a> {
    pub(crate) echo: &'a Json,
    pub(crate) peers: &'a Peers,
    /// Number and name of the objective's class.
    pub(crate) class: (usize, String),
    /// Transport of the objective's class.
    group: Option<Transport>,
    pub(crate) all: Vec<Transport>,
    /// True if `[transport]` has a `cc`, which must stay in use.
    common_cc: bool,
    pub(crate) links: Vec<String>,
    /// True if a switch chooses among several ports towards a host.
    multipath: bool,
    /// Most common rate of the ports.
    rate: Rate,
}

/// All single changes of a scenario that could improve the class.
pub(crate) fn choices(subject: &Subject) -> Vec<Choice> {
    let mut out = Vec::new();
    congestion::add(subject, &mut out);
    queues::add(subject, &mut out);
    hosts::add(subject, &mut out);
    application::add(subject, &mut out);
    rate_limit::add(subject, &mut out);
    out
}

impl<'a> Subject<'a> {
    pub(crate) fn new(scenario: &Scenario, resolved: &'a Resolved, class: WorkloadId, peers: &'a Peers) -> Option<Subject<'a>> {
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
        let rate = common_rate(config.network.ports.iter().map(|p| p.rate))?;
        let name = variant.class_names.get(class.index()).cloned().unwrap_or_default();
        let group = used.and_then(|g| all.get(g).cloned());
        let multipath = has_choices(&config.network);
        Some(Subject { echo, peers, class: (class.index(), name), group, all, common_cc, links, multipath, rate })
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

    /// Overrides that set a key of every transport.
    pub(crate) fn every_transport(&self, key: &str, value: &str) -> Vec<String> {
        self.all.iter().map(|t| format!("{}.{key}={value}", t.key)).collect()
    }

    /// Echo of the first transport.
    pub(crate) fn transport(&self) -> &Json {
        let transport = &self.echo["transport"];
        if transport["group"][0].is_object() { &transport["group"][0] } else { transport }
    }

    /// Name of the present congestion control, to which an installation returns.
    fn present_cc(&self) -> &str {
        let cc = &self.transport()["cc"];
        cc["kind"].as_str().or(cc.as_str()).unwrap_or("cubic")
    }

    /// Returns true if every transport has DCTCP and the stack of Linux.
    fn all_have_dctcp(&self) -> bool {
        let transport = &self.echo["transport"];
        let has = |t: &Json| t["cc"]["kind"].as_str().or(t["cc"].as_str()) == Some("dctcp") && t["stack"] == "linux";
        transport["group"].as_array().map_or_else(|| has(transport), |groups| groups.iter().all(has))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.transport()[key].as_str()
    }

    /// Queue of the hosts' interfaces, if it is not the plain default.
    pub(crate) fn host_queue(&self) -> Option<&Json> {
        let queue = &self.echo["topology"]["host-queue"];
        (!queue.is_null()).then_some(queue)
    }

    /// Value of a link's key in the echo.
    pub(crate) fn link(&self, link: &str, key: &str) -> &'a Json {
        let mut at = self.echo;
        for part in link.split('.') {
            at = part.parse::<usize>().map_or(&at[part], |i| &at[i]);
        }
        &at[key]
    }

    /// Overrides that put a queue on every link, written by `queue` for the link's common marking threshold. A link that loses packets keeps its loss: its
    /// queue takes over a threshold only, if `marks`, and another discipline leaves it as it is.
    fn queues(&self, marks: bool, queue: impl Fn(u32) -> String, k: impl Fn(u32) -> u32) -> Vec<String> {
        let one = |link: &String| {
            let common = common_k(self.rate_of(link));
            let now = self.link(link, "queue");
            if now["kind"].as_str().or(now.as_str()) != Some("lossy") {
                return Some(format!("{link}.queue={}", queue(common)));
            }
            let mut lossy = now.clone();
            lossy["k"] = Json::String(format!("{}pkt", marks.then(|| k(common))?));
            Some(format!("{link}.queue={}", inline(&lossy)))
        };
        self.links.iter().filter_map(one).collect()
    }

    /// Overrides that mark in every link at a threshold derived from the common one of its rate.
    fn marking(&self, k: impl Fn(u32) -> u32 + Copy) -> Vec<String> {
        self.queues(true, |common| format!("{{kind=\"dctcp-step\",k=\"{}pkt\"}}", k(common)), k)
    }

    fn rate_of(&self, link: &str) -> Rate {
        self.link(link, "rate").as_str().and_then(|r| r.parse().ok()).unwrap_or(self.rate)
    }

    /// Different rates of the links, ascending.
    fn rates(&self) -> Vec<Rate> {
        let mut rates: Vec<Rate> = self.links.iter().map(|link| self.rate_of(link)).collect();
        rates.sort_unstable_by_key(|r| r.0);
        rates.dedup();
        rates
    }

    /// Ranges of the thresholds of all links: `65`, or `20 to 65 by link rate`.
    fn k_range(&self, k: impl Fn(u32) -> u32) -> String {
        let all: Vec<u32> = self.rates().into_iter().map(|rate| k(common_k(rate))).collect();
        match (all.iter().min(), all.iter().max()) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most} by link rate"),
            (Some(k), _) => k.to_string(),
            _ => k(self.k()).to_string(),
        }
    }

    /// Settings of the switches in words, `what` for the common threshold of each link rate.
    fn by_rate(&self, what: impl Fn(u32) -> String) -> String {
        let mut parts: Vec<(String, Vec<String>)> = Vec::new();
        for rate in self.rates() {
            let text = what(common_k(rate));
            match parts.iter_mut().find(|(t, _)| *t == text) {
                Some((_, rates)) => rates.push(rate.to_string()),
                None => parts.push((text, vec![rate.to_string()])),
            }
        }
        match parts.as_slice() {
            [] => what(self.k()),
            [(text, _)] => text.clone(),
            _ => {
                let one = |(text, rates): &(String, Vec<String>)| format!("{text} on ports of {}", rates.join(" and "));
                parts.iter().map(one).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// True if some link loses packets by its queue.
    pub(crate) fn is_lossy(&self) -> bool {
        self.links.iter().any(|l| self.link(l, "queue")["kind"].as_str() == Some("lossy"))
    }

    /// DCTCP's common threshold for the most common rate.
    fn k(&self) -> u32 {
        common_k(self.rate)
    }
}

/// Returns true if a switch chooses among several ports towards a host.
fn has_choices(network: &Network) -> bool {
    let Ok(fib) = Fib::new(network) else { return false };
    let hosts = hosts_of(network);
    let mut switches = network.nodes.enumerate().filter(|(_, node)| !node.host).map(|(id, _)| id);
    switches.any(|switch| hosts.iter().any(|&host| fib.entry(switch, host) & 0xFF > 1))
}

/// DCTCP's common threshold for a rate: that of the next higher speed.
fn common_k(rate: Rate) -> u32 {
    let of = |name: &str| name.parse::<Rate>().map_or(0, |r| r.0);
    let above = SPEEDS.iter().find(|s| of(s.name) >= rate.0).or(SPEEDS.last());
    above.and_then(|s| speed(s.name)).map_or(65, |s| s.k)
}

/// Most common rate of the ports, the lower one of two: a threshold for it, not for one slow link, suits the switch.
fn common_rate(rates: impl Iterator<Item = Rate>) -> Option<Rate> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for rate in rates {
        *counts.entry(rate.0).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(rate, n)| (*n, Reverse(*rate))).map(|(rate, _)| Rate(rate))
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
