//! Registries as lists, for `forebay list` and the reference.

use crate::schema::dist::BUILT_IN;
use crate::schema::kind::kind_text;
use crate::schema::mixture;
use forebay_experiment::profile::{PARAMS, PROFILES, SUMMARIES};
use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_experiment::{topology, workload};
use forebay_types::param::{Entry, Param};

/// Default congestion control.
pub(crate) const DEFAULT_CC: &str = "newreno";

/// One registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Contents, in the plural: `congestion controls`, `queues`.
    pub title: &'static str,
    /// Usage in a scenario, such as `[topology] kind = "..."`.
    pub usage: &'static str,
    /// Entries.
    pub items: Vec<Item>,
}

/// Entry of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Name in the scenario file.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Parameters.
    pub params: Vec<ParamDoc>,
}

/// One parameter, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamDoc {
    /// Key in the scenario file.
    pub key: &'static str,
    /// Type and legal range.
    pub legal: String,
    /// Default as written in a file; `None`: the key is required; the empty text: not set.
    pub default: Option<&'static str>,
    /// Meaning.
    pub doc: &'static str,
}

/// All registries, with those of `worlds`, in the order of `forebay list`.
pub fn describe(worlds: &Worlds) -> Vec<Section> {
    let stacks = PROFILES.iter().zip(SUMMARIES).map(|(name, summary)| plain(name, summary)).collect();
    let world = |w: &&dyn World| plain(w.name(), w.summary());
    let tables = BUILT_IN.iter().map(|(name, _, origin)| plain(name, origin)).collect();
    let mixtures = mixture::BUILT_IN.iter().map(|b| plain(b.name, b.origin)).collect();
    vec![
        Section {
            title: "congestion controls",
            usage: "[transport] cc = \"...\"",
            items: worlds.congestion_controls().iter().map(|e| item(&e.entry)).collect(),
        },
        Section {
            title: "shims",
            usage: "[transport] shim = \"...\"",
            items: worlds.shims().iter().map(|e| item(&e.entry)).collect(),
        },
        Section { title: "stacks", usage: "[transport] stack = \"...\"", items: stacks },
        Section {
            title: "queues",
            usage: "queue = \"...\" of a link",
            items: forebay_queues::REGISTRY.iter().map(|e| item(&e.entry)).collect(),
        },
        Section {
            title: "topologies",
            usage: "[topology] kind = \"...\"",
            items: topology::REGISTRY.iter().map(|e| item(&e.entry)).collect(),
        },
        Section {
            title: "workloads",
            usage: "[[workload]] kind = \"...\"",
            items: workload::REGISTRY.iter().map(|e| item(&e.entry)).collect(),
        },
        Section {
            title: "switches",
            usage: "[topology.shared-buffer] switch = \"...\"",
            items: topology::SWITCHES.iter().map(|s| plain(s.name, s.about)).collect(),
        },
        Section {
            title: "speeds",
            usage: "rate = \"...\" of a link; `forebay new --rate` takes K from here",
            items: topology::SPEEDS.iter().map(|s| plain(s.name, s.about)).collect(),
        },
        Section { title: "worlds", usage: "world = \"...\"", items: worlds.list().iter().map(world).collect() },
        Section { title: "size tables", usage: "{ cdf = \"...\" }", items: tables },
        Section { title: "mixtures", usage: "{ mixture = \"...\" }", items: mixtures },
    ]
}

/// Keys of `[transport]` beside `stack`, `cc` and `group`.
pub(crate) fn transport_params() -> Vec<ParamDoc> {
    PARAMS.iter().map(param).collect()
}

/// Entry without parameters.
fn plain(name: &'static str, summary: &'static str) -> Item {
    Item { name, summary, params: Vec::new() }
}

fn item(e: &Entry) -> Item {
    Item { name: e.name, summary: e.summary, params: e.params.iter().map(param).collect() }
}

fn param(p: &Param) -> ParamDoc {
    ParamDoc { key: p.key, legal: kind_text(p.kind), default: p.default, doc: p.doc }
}
