//! Random legal scenarios, drawn from the registries of topologies, workloads, queues, congestion controls, shims and transport keys: a new entry is
//! covered without a change here.
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
    let mut scenario = Map::new();
    scenario.insert("seed".into(), dice.rng.below(1 << 32).into());
    let duration = dice.chance(50).then(|| Time(dice.between(1_000_000, 2_000_000_000_000)));
    if let Some(duration) = duration {
        scenario.insert("duration".into(), duration.to_string().into());
    }
    let mut topology = probe.document.get_mut("topology")?.take();
    network::faults(&mut dice, topology.as_object_mut()?);
    scenario.insert("topology".into(), topology);
    let (transport, groups) = traffic::transport(&mut dice);
    scenario.insert("transport".into(), transport);
    scenario.insert("workload".into(), traffic::workloads(&mut dice, &groups));
    if let Some(observe) = traffic::observe(&mut dice, duration) {
        scenario.insert("observe".into(), observe);
    }
    legal(Json::Object(scenario))
}
