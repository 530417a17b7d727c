//! Reader of the keys of a table. Keys that were not read are unknown.

use crate::schema::former_keys;
use crate::schema::other_names;
use crate::schema::out_of_scope;
use crate::text::doc::{Item, Node, Raw, TomlTable};
use crate::text::error::Sink;
use crate::text::message_text::{alternatives, did_you_mean, short};
use crate::text::source::At;

/// Maximum number of unknown keys reported per table.
const MAX_UNKNOWN: usize = 20;

/// Table being read.
pub(crate) struct Fields<'a> {
    /// Name of the table in messages, such as `[topology]`.
    pub(crate) what: String,
    /// Position of the table.
    pub(crate) at: At,
    table: &'a TomlTable,
    read: Vec<String>,
    removed: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reads `table`, called `what` in messages.
    pub(crate) fn new(what: impl Into<String>, at: At, table: &'a TomlTable) -> Fields<'a> {
        Fields { what: what.into(), at, table, read: Vec::new(), removed: Vec::new() }
    }

    /// Reads `node`, which must be a table.
    pub(crate) fn of_node(what: impl Into<String>, node: &'a Node, sink: &mut Sink) -> Option<Fields<'a>> {
        let what = what.into();
        match &node.raw {
            Raw::Table(t) => Some(Fields::new(what, node.at, t)),
            _ => {
                sink.error(node.at, format!("{what} must be a table of keys, not {}", node.describe()), "expected a table", None);
                None
            }
        }
    }

    /// Returns the item called `key` and marks the key as known.
    pub(crate) fn get(&mut self, key: &str) -> Option<&'a Item> {
        self.read.push(key.to_owned());
        self.table.get(key)
    }

    /// Reports the removed key `key` if the table has it; `help` is the advice.
    pub(crate) fn refuse_removed(&mut self, key: &'static str, help: &str, sink: &mut Sink) {
        self.removed.push(key);
        if let Some(item) = self.table.get(key) {
            let message = format!("the key `{key}` of {} no longer exists", self.what);
            sink.error(item.key_at, message, "remove this key", Some(help.to_owned()));
        }
    }

    /// Reports every key that was not read.
    pub(crate) fn finish(self, sink: &mut Sink) {
        let known = |key: &str| self.read.iter().any(|k| k == key) || self.removed.contains(&key);
        for item in self.table.items.iter().filter(|i| !known(&i.key)).take(MAX_UNKNOWN) {
            let message = format!("unknown key `{}` in {}", short(&item.key), self.what);
            if let Some(reason) = out_of_scope::reason(&item.key) {
                sink.error(item.key_at, message, "not simulated", Some(reason.to_owned()));
                continue;
            }
            let sends = ["workload", "transport", "congestion control"].iter().any(|part| self.what.contains(part));
            if let Some(place) = other_names::key(&item.key).filter(|_| sends) {
                sink.error(item.key_at, message, "not a key of this table", Some(place.to_owned()));
                continue;
            }
            if let Some(queue) = queue_kind(&item.key).filter(|_| self.what.starts_with("the link")) {
                let place = format!(
                    "`{queue}` is a kind of queue: `queue = {{ kind = \"{queue}\", ... }}`, see `forebay explain {queue}`"
                );
                sink.error(item.key_at, message, "not a key of this table", Some(place));
                continue;
            }
            let known = || self.read.iter().map(String::as_str);
            let label = match former_keys::successor(&item.key).filter(|new| known().any(|key| key == *new)) {
                Some(new) => {
                    sink.error(item.key_at, message, format!("this key is now `{new}`"), None);
                    continue;
                }
                None => did_you_mean(&item.key, known()).unwrap_or_else(|| "unknown key".into()),
            };
            let legal = match self.read.is_empty() {
                true => "it has no keys".to_owned(),
                false => format!("legal keys: {}", alternatives(self.read.iter().map(String::as_str)).replace(" or ", ", ")),
            };
            sink.error(item.key_at, message, label, Some(legal));
        }
    }
}

/// Queue discipline called `name`, here or by other tools.
fn queue_kind(name: &str) -> Option<&'static str> {
    let plain = name.replace('_', "-").to_ascii_lowercase();
    let own = forebay_queues::REGISTRY.iter().map(|e| e.entry.name).find(|known| *known == plain);
    own.or_else(|| other_names::entry("queue", name))
}

/// Reads a word of a list; otherwise an error that names the nearest.
pub(crate) fn word<'n>(node: &'n Node, what: &str, legal: &[&str], sink: &mut Sink) -> Option<&'n str> {
    let Some(text) = node.text() else {
        sink.error(
            node.at,
            format!("{what} must be one of the words {}, not {}", alternatives(legal.iter().copied()), node.describe()),
            "a word in quotes",
            None,
        );
        return None;
    };
    if legal.contains(&text) {
        return Some(text);
    }
    unknown(node.at, what, text, legal, sink);
    None
}

/// Reports that `text` is not a legal name.
pub(crate) fn unknown(at: At, what: &str, text: &str, legal: &[&str], sink: &mut Sink) {
    if let Some(reason) = out_of_scope::reason(text) {
        sink.error(at, format!("{what} `{}` does not exist", short(text)), "not simulated", Some(reason.to_owned()));
        return;
    }
    let label = did_you_mean(text, legal.iter().copied()).unwrap_or_else(|| "unknown name".into());
    let help =
        if legal.is_empty() { "none exists yet".to_owned() } else { format!("legal: {}", alternatives(legal.iter().copied())) };
    sink.error(at, format!("{what} `{}` does not exist", short(text)), label, Some(help));
}
