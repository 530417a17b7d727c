//! A scenario as tables of keys, which tests change one by one.

use std::fmt::Write as _;

/// Duration of runs.
pub(super) const USUAL: &str = "duration = \"40ms\"";

/// Recorded data: everything.
pub(super) const OBSERVE: &str = "[observe]\nwarmup = \"2us\"\noccupancy = \"all\"\nqueue = { port = \"all\", every = \"1ms\" }\n\
                       tcp = { flows = [0, 1], every = \"1ms\" }\n";

/// The keys of a table and their values as TOML.
#[derive(Debug, Clone, Default)]
pub(super) struct Table(pub(super) Vec<(String, String)>);

impl Table {
    /// A table from `{ a = 1, b = [2, 3] }`, from lines `a = 1`, or from the name of a kind in quotes.
    pub(super) fn of(text: &str) -> Table {
        let text = text.trim();
        if text.starts_with('"') {
            return Table(vec![("kind".to_owned(), text.to_owned())]);
        }
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
        let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
        for (at, c) in inner.char_indices().chain([(inner.len(), '\n')]) {
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                ',' | '\n' if depth == 0 => {
                    items.extend(inner[start..at].split_once('=').map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned())));
                    start = at + 1;
                }
                _ => {}
            }
        }
        Table(items)
    }

    pub(super) fn with(&self, key: &str, value: &str) -> Table {
        let mut table = self.without(key);
        table.0.push((key.to_owned(), value.to_owned()));
        table
    }

    pub(super) fn without(&self, key: &str) -> Table {
        Table(self.0.iter().filter(|(k, _)| k != key).cloned().collect())
    }

    pub(super) fn inline(&self) -> String {
        let items: Vec<String> = self.0.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        format!("{{ {} }}", items.join(", "))
    }

    pub(super) fn lines(&self) -> String {
        self.0.iter().map(|(k, v)| format!("{k} = {v}\n")).collect()
    }
}

/// A scenario whose tables can be changed one by one. `cc`, `shim` and `queue` are tables of their own.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) topology: Table,
    pub(super) transport: Table,
    pub(super) cc: Table,
    pub(super) shim: Option<Table>,
    pub(super) queue: Table,
    pub(super) workload: Table,
    /// A second workload.
    pub(super) more: &'static str,
}

/// The table of a [`Draft`] that a number belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Topology,
    Transport,
    CongestionControl,
    Shim,
    Queue,
    Workload,
}

impl Draft {
    /// Two senders that share a link of 100 Mbps for 40 ms, with losses, marks and timeouts.
    pub(super) fn new() -> Draft {
        Draft {
            topology: Table::of(
                "kind = \"many-to-one\"\nsenders = 2\naccess = { rate = \"200Mbps\", delay = \"20us\" }\n\
                 bottleneck = { rate = \"100Mbps\", delay = \"20us\", buffer = \"20pkt\", queue = QUEUE }",
            ),
            transport: Table::of("stack = \"linux\"\nrto-min = \"2ms\"\nrto-initial = \"3ms\""),
            cc: Table::of("\"newreno\""),
            shim: None,
            queue: Table::of("{ kind = \"dctcp-step\", k = \"5pkt\" }"),
            workload: Table::of("kind = \"long\""),
            more: "[[workload]]\nkind = \"incast\"\nblock = \"9KB\"\njitter = \"10us\"\ndeadline = \"4ms\"\n",
        }
    }

    pub(super) fn table(&mut self, place: Place) -> &mut Table {
        match place {
            Place::Topology => &mut self.topology,
            Place::Transport => &mut self.transport,
            Place::CongestionControl => &mut self.cc,
            Place::Shim => self.shim.get_or_insert_default(),
            Place::Queue => &mut self.queue,
            Place::Workload => &mut self.workload,
        }
    }

    pub(super) fn with(&self, place: Place, key: &str, value: &str) -> Draft {
        let mut draft = self.clone();
        let table = draft.table(place);
        *table = table.with(key, value);
        draft
    }

    pub(super) fn text(&self) -> String {
        let mut out = format!("{USUAL}\n[topology]\n");
        out.push_str(&self.topology.lines().replace("QUEUE", &self.queue.inline()));
        let _ = write!(out, "[transport]\ncc = {}\n{}", self.cc.inline(), self.transport.lines());
        if let Some(shim) = &self.shim {
            let _ = writeln!(out, "shim = {}", shim.inline());
        }
        let _ = write!(out, "[[workload]]\n{}{}{OBSERVE}", self.workload.lines(), self.more);
        out
    }
}
