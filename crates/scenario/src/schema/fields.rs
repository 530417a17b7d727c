//! Reading a table key by key: a key that was not read is an unknown key.

use crate::text::doc::{Item, Node, Raw, TomlTable};
use crate::text::error::Sink;
use crate::text::source::At;
use crate::text::words::{did_you_mean, either, short};

/// Unknown keys reported per table; a file with more is no scenario.
const MAX_UNKNOWN: usize = 20;

/// A table that is being read.
pub(crate) struct Fields<'a> {
    /// How the table is called in messages, such as `[topology]`.
    pub(crate) what: String,
    /// Where the table stands.
    pub(crate) at: At,
    table: &'a TomlTable,
    asked: Vec<String>,
    removed: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reads `table`, called `what` in messages.
    pub(crate) fn new(what: impl Into<String>, at: At, table: &'a TomlTable) -> Fields<'a> {
        Fields { what: what.into(), at, table, asked: Vec::new(), removed: Vec::new() }
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

    /// The item called `key`, which is thereby known.
    pub(crate) fn get(&mut self, key: &str) -> Option<&'a Item> {
        self.asked.push(key.to_owned());
        self.table.get(key)
    }

    /// Reports `key`, which earlier versions read, if the table has it; `help` says what to write instead.
    pub(crate) fn refuse_removed(&mut self, key: &'static str, help: &str, sink: &mut Sink) {
        self.removed.push(key);
        if let Some(item) = self.table.get(key) {
            let message = format!("the key `{key}` of {} no longer exists", self.what);
            sink.error(item.key_at, message, "remove this key", Some(help.to_owned()));
        }
    }

    /// Reports every key that was not asked for.
    pub(crate) fn finish(self, sink: &mut Sink) {
        let known = |key: &str| self.asked.iter().any(|k| k == key) || self.removed.contains(&key);
        for item in self.table.items.iter().filter(|i| !known(&i.key)).take(MAX_UNKNOWN) {
            let message = format!("unknown key `{}` in {}", short(&item.key), self.what);
            let label = did_you_mean(&item.key, self.asked.iter().map(String::as_str)).unwrap_or_else(|| "unknown key".into());
            let legal = match self.asked.is_empty() {
                true => "it has no keys".to_owned(),
                false => format!("legal keys: {}", either(self.asked.iter().map(String::as_str)).replace(" or ", ", ")),
            };
            sink.error(item.key_at, message, label, Some(legal));
        }
    }
}

/// A word out of a list; anything else is an error that names the nearest.
pub(crate) fn word<'n>(node: &'n Node, what: &str, legal: &[&str], sink: &mut Sink) -> Option<&'n str> {
    let Some(text) = node.text() else {
        sink.error(
            node.at,
            format!("{what} must be one of the words {}, not {}", either(legal.iter().copied()), node.describe()),
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

/// Reports that `text` is no legal name.
pub(crate) fn unknown(at: At, what: &str, text: &str, legal: &[&str], sink: &mut Sink) {
    let label = did_you_mean(text, legal.iter().copied()).unwrap_or_else(|| "unknown name".into());
    let help = if legal.is_empty() { "none exists yet".to_owned() } else { format!("legal: {}", either(legal.iter().copied())) };
    sink.error(at, format!("{what} `{}` does not exist", short(text)), label, Some(help));
}
