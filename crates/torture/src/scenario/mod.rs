//! Random legal scenarios, drawn from the registries of topologies, load balancing, workloads, queues, congestion controls, shims and transport keys: a
//! new entry is covered without a change here.
//!
//! Values are drawn independently of each other, so that most drafts break a rule. [`legal`] removes the keys that the errors name, until the
//! reader of scenarios accepts the rest.

mod network;
mod repair;
mod traffic;
mod values;

pub(crate) use repair::{Legal, legal, resolve};

use self::values::Dice;
use crate::typical_scenario;
use forebay_experiment::network::PortConfig;
use forebay_types::{Rng, Time};
use serde_json::{Map, Value as Json, json};

/// One of this many scenarios is an ordinary one, as the comparison with Linux draws them.
const ORDINARY: u64 = 8;
/// Drafts for one scenario. About one of two is legal after its repair.
const DRAFTS: u64 = 40;

/// The scenario with this number. `None`, very seldom, if no draft could be repaired.
pub(crate) fn draw(seed: u64, number: u64) -> Option<Legal> {
    if number.is_multiple_of(ORDINARY) {
        let text = typical_scenario::scenario(&mut Rng::stream(seed, &[number]));
        let read = forebay_scenario::Scenario::from_text(crate::simulator(), &text, "case.toml", "".as_ref(), &[], None).ok()?;
        return legal(read.document());
    }
    (0..DRAFTS).find_map(|draft| draft_of(Rng::stream(seed, &[number, draft])))
}

fn draft_of(rng: Rng) -> Option<Legal> {
    let mut dice = Dice::new(rng);
    let topology = network::topology(&mut dice);
    // The names of hosts and ports are those of the network that the reader builds.
    let probe =
        json!({ "duration": "1ms", "topology": topology, "transport": { "host": "bare" }, "workload": [{ "kind": "long" }] });
    let mut probe = legal(probe)?;
    let variant = probe.resolved.variants.first()?;
    let nodes = &variant.config.network.nodes;
    dice.hosts = nodes.iter().filter(|n| n.host).map(|n| n.name.clone()).collect();
    dice.groups = variant.config.network.host_groups.iter().map(|g| g.0.clone()).collect();
    dice.ports.clone_from(&variant.port_names);
    let named = |fits: &dyn Fn(&PortConfig) -> bool| {
        let ports = variant.config.network.ports.iter().zip(&variant.port_names);
        ports.filter(|(port, _)| fits(port)).map(|(_, name)| name.clone()).collect()
    };
    dice.switch_ports = named(&|port| !nodes[port.from].host);
    dice.ports_to_switches = named(&|port| !nodes[port.to].host);
    let balances = network::balances(&variant.config.network);
    let mut scenario = Map::new();
    scenario.insert("seed".into(), dice.rng.below(1 << 32).into());
    let duration = dice.chance(50).then(|| Time(dice.between(1_000_000, 2_000_000_000_000)));
    if let Some(duration) = duration {
        scenario.insert("duration".into(), duration.to_string().into());
    }
    let mut topology = probe.document.get_mut("topology")?.take();
    network::faults(&mut dice, topology.as_object_mut()?, &balances);
    scenario.insert("topology".into(), topology);
    let (transport, groups) = traffic::transport(&mut dice);
    scenario.insert("transport".into(), transport);
    let workloads = traffic::workloads(&mut dice, &groups);
    if traffic::can_start_warm(&workloads) && dice.chance(30) {
        scenario.insert("start".into(), "warm".into());
    }
    scenario.insert("workload".into(), workloads);
    if let Some(observe) = traffic::observe(&mut dice, duration) {
        scenario.insert("observe".into(), observe);
    }
    legal(Json::Object(scenario))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::faults::Faults;
    use forebay_experiment::{balance, topology};

    /// Cases in which every kind is drawn.
    const CASES: u64 = 300;

    #[test]
    fn all_topologies_and_faults_are_drawn() {
        let drawn: Vec<_> = (0..CASES).filter_map(|number| draw(1, number)).collect();
        let variants = || drawn.iter().flat_map(|legal| &legal.resolved.variants);
        let count = |of: &dyn Fn(&Faults) -> bool| variants().filter(|v| of(&v.config.network.faults)).count();
        for known in topology::REGISTRY {
            let name = known.entry.name;
            assert!(drawn.iter().any(|legal| legal.document["topology"]["kind"] == name), "topology {name}");
        }
        for entry in balance::REGISTRY {
            assert!(count(&|f| f.balance.name() == entry.entry.name) > 0, "balance {}", entry.entry.name);
        }
        for (what, found) in [
            ("failure", count(&|f| !f.failures.is_empty())),
            ("corruption", count(&|f| !f.corruption.is_empty())),
            ("loss", count(&|f| !f.loss.is_empty())),
            ("change", count(&|f| !f.changes.is_empty())),
            ("reorder", count(&|f| !f.reordering.is_empty())),
            ("batch", count(&|f| !f.batching.is_empty())),
            ("a warm start", variants().filter(|v| v.config.warm_start().is_some()).count()),
        ] {
            assert!(found > 0, "no case has {what}");
        }
    }
}
