//! `world = "..."`: backend of the scenario, and the parts of it that the backend does not support.

use crate::schema::context::Cx;
use crate::schema::fields::{Fields, word};
use crate::text::doc::{Raw, TomlTable};
use crate::text::source::At;
use forebay_experiment::Experiment;
use forebay_experiment::world::{Unsupported, World};

/// Reads the key `world`.
pub(crate) fn world(cx: &mut Cx, fields: &mut Fields<'_>) -> Option<&'static dyn World> {
    let Some(item) = fields.get("world") else { return Some(cx.worlds.default()) };
    let names: Vec<&str> = cx.worlds.list().iter().map(|w| w.name()).collect();
    let worlds = cx.worlds;
    worlds.find(word(&item.node, "`world`", &names, &mut cx.sink)?)
}

/// Reports each key that `world` does not support, and the variants concerned if it supports others.
pub(crate) fn supported(cx: &mut Cx, root: &TomlTable, world: &dyn World, variants: &[(&str, &Experiment)]) {
    let mut unsupported: Vec<(Unsupported, Vec<&str>)> = Vec::new();
    for (label, experiment) in variants {
        for what in world.supports(experiment) {
            match unsupported.iter_mut().find(|s| s.0 == what) {
                // A backend may report the same for two transport groups of a variant.
                Some(s) if s.1.last() == Some(label) => {}
                Some(s) => s.1.push(label),
                None => unsupported.push((what, vec![label])),
            }
        }
    }
    for (what, of) in unsupported {
        let named: Vec<String> = of.iter().map(|label| format!("`{label}`")).collect();
        let subject = if of.len() == variants.len() {
            "this".into()
        } else {
            format!("the variant{} {}", if of.len() == 1 { "" } else { "s" }, named.join(", "))
        };
        let message = format!("the backend `{}` does not run {subject}: {}", world.name(), what.reason);
        let help = Some(format!("change `{}`, or choose another backend: `forebay list worlds`", what.key));
        cx.sink.error(place(root, what.key), message, "not supported", help);
    }
}

/// Position of `path`, such as `transport.slow-start`: the key itself, anywhere below its section, or else the section.
fn place(root: &TomlTable, path: &str) -> At {
    let (section, key) = path.split_once('.').unwrap_or((path, ""));
    let Some(item) = root.get(section) else { return At::default() };
    below(&item.node.raw, key).unwrap_or(item.key_at)
}

fn below(raw: &Raw, key: &str) -> Option<At> {
    match raw {
        Raw::Table(t) => {
            let own = t.get(key).map(|i| i.node.at);
            own.or_else(|| t.items.iter().find_map(|i| below(&i.node.raw, key)))
        }
        Raw::Array(list) => list.iter().find_map(|n| below(&n.raw, key)),
        _ => None,
    }
}
