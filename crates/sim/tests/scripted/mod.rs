//! Test support: TCP endpoints driven by scripts, in the packetdrill style, and whole connections over a tiny pipe. Time is explicit.

// Each test crate uses a part of this.
#![allow(dead_code, unused_imports)]

pub(crate) mod receiver;
pub(crate) mod sender;

pub(crate) use forebay_torture::pipe::{self, Alarms, Capture, MS, US, addresses, path};

use forebay_experiment::transport::Profile;
use forebay_sim::cc;
use forebay_sim::shim::{self, ShimConfig, Shims};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::profile::{PARAMS, PROFILES, resolve};
use forebay_types::param::{Kind, Param, Value, Values};

/// Congestion controls in the registry.
pub(crate) fn congestion_controls() -> impl Iterator<Item = &'static str> {
    // A window that never grows exceeds the time limits of these tests.
    cc::REGISTRY.iter().map(|e| e.entry.name).filter(|name| *name != "halving")
}

/// Every profile with every congestion control.
pub(crate) fn combinations() -> Vec<(&'static str, &'static str)> {
    PROFILES.iter().flat_map(|&stack| congestion_controls().map(move |cc| (stack, cc))).collect()
}

/// The configuration of a profile with a congestion control's defaults, from the registries as for a scenario.
pub(crate) fn config(stack: &str, cc: &str) -> TcpConfig {
    config_with(stack, cc, &[], &[])
}

/// As [`config`], with parameters of the transport and of the congestion control.
pub(crate) fn config_with(
    stack: &str,
    cc: &str,
    transport: &[(&'static str, Value)],
    cc_params: &[(&'static str, Value)],
) -> TcpConfig {
    let profile = Profile::of(stack).unwrap_or_else(|| panic!("no profile {stack}"));
    let entry = cc::find(cc).expect("a congestion control of the registry");
    let defaults = entry.entry.params.iter().map(|p| (p.key, overridden(p.key, cc_params).unwrap_or_else(|| default(p))));
    let cc = Values(defaults.collect());
    // Scripts pass single segments from a sender to a receiver, without a host's interface: no burst is cut, none is coalesced.
    let bare = |key| (key == "host" && stack == "linux").then(|| Value::Text("bare".into()));
    let values = PARAMS.iter().map(|p| (p.key, overridden(p.key, transport).or(bare(p.key)).unwrap_or(Value::Unset)));
    let mut c =
        TcpConfig::of(&resolve(profile, entry, cc, &Values(values.collect()))).expect("a congestion control of the registry");
    // Scripts count in round numbers.
    c.mss = 1000;
    c
}

/// A shim of the registry with parameters set.
pub(crate) fn shim(name: &str, params: &[(&'static str, Value)]) -> ShimConfig {
    let entry = shim::find(name).expect("a shim of the registry");
    let values = entry.entry.params.iter().map(|p| (p.key, overridden(p.key, params).unwrap_or_else(|| default(p))));
    (entry.build)(&Values(values.collect())).expect("legal parameters")
}

/// Shim lists that a connection must work with, including none.
pub(crate) fn shim_lists() -> Vec<Shims> {
    let demote = Value::Names(vec!["3KB".into(), "20KB".into()]);
    let wait = Value::Time(forebay_types::Time::from_us(300));
    vec![
        Shims::default(),
        shim("pias", &[("demotion-thresholds", demote)]).into(),
        shim("srpt", &[]).into(),
        shim("prin", &[]).into(),
        shim("prin", &[("tail-reorder-wait", wait), ("ssthresh", Value::Text("cap".into())), ("floor", Value::Int(2))]).into(),
        [shim("ictcp", &[]), shim("prin", &[("split-short", Value::Bool(false))])].into_iter().collect(),
    ]
}

/// As [`config_with`], with lists such as `recovery=sack frto=false`.
pub(crate) fn config_of_text(stack: &str, cc: &str, transport: &str, cc_params: &str) -> TcpConfig {
    let parsed = |list: &str, params: &[Param]| -> Vec<(&'static str, Value)> {
        let pair = |pair: &str| {
            let (key, text) = pair.split_once('=').unwrap_or_else(|| panic!("{pair}"));
            let p = params.iter().find(|p| p.key == key).unwrap_or_else(|| panic!("no parameter {key}"));
            (p.key, parse(p, text))
        };
        list.split_whitespace().map(pair).collect()
    };
    let entry = cc::find(cc).unwrap_or_else(|| panic!("no congestion control {cc}"));
    config_with(stack, cc, &parsed(transport, PARAMS), &parsed(cc_params, entry.entry.params))
}

/// Default of a parameter.
fn default(p: &Param) -> Value {
    parse(p, p.default.unwrap_or_default())
}

/// The value of a parameter with this text.
fn parse(p: &Param, text: &str) -> Value {
    match p.kind {
        _ if text.is_empty() => Value::Unset,
        Kind::Float(..) => Value::Float(text.parse().unwrap()),
        Kind::Int(..) => Value::Int(text.parse().unwrap()),
        Kind::Bool => Value::Bool(text == "true"),
        Kind::QueueLen => Value::QueueLen(text.parse().unwrap()),
        Kind::Time => Value::Time(text.parse().unwrap()),
        Kind::Rate => Value::Rate(text.parse().unwrap()),
        Kind::Bytes => Value::Bytes(text.parse().unwrap()),
        _ => Value::Text(text.to_owned()),
    }
}

fn overridden(key: &str, values: &[(&'static str, Value)]) -> Option<Value> {
    values.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone())
}
