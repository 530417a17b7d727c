//! The text of a scenario.

use crate::fabric::{Buffer, Fabric, LinkProperties, link_groups, ranges};
use forebay_types::Time;
use std::fmt::Write;

/// Parts of a scenario beside its network.
#[derive(Debug, Default)]
pub(crate) struct ScenarioParts {
    pub name: String,
    /// Comment lines at its beginning.
    pub comments: Vec<String>,
    pub duration: Option<Time>,
    /// Lines of `[transport]`.
    pub transport: Vec<String>,
    /// Text of the workloads.
    pub workloads: String,
}

/// Writes a scenario.
pub(crate) fn text(fabric: &Fabric, parts: &ScenarioParts) -> String {
    let mut out = String::new();
    write(&mut out, fabric, parts).expect("a string takes every text");
    out
}

fn write(out: &mut String, fabric: &Fabric, parts: &ScenarioParts) -> std::fmt::Result {
    for comment in &parts.comments {
        // Names of files can have line breaks.
        writeln!(out, "# {}", comment.replace(char::is_control, "?"))?;
    }
    writeln!(out, "name = \"{}\"", parts.name)?;
    if let Some(duration) = parts.duration {
        writeln!(out, "duration = \"{duration}\"")?;
    }
    writeln!(out, "\n[topology]\nkind = \"custom\"")?;
    for (key, nodes) in [("hosts", &fabric.hosts), ("switches", &fabric.switches)] {
        if !nodes.is_empty() {
            let names: Vec<String> = ranges(nodes).iter().map(|r| format!("\"{r}\"")).collect();
            writeln!(out, "{key} = [{}]", names.join(", "))?;
        }
    }
    if let Some(bytes) = fabric.shared_buffer {
        writeln!(out, "shared-buffer = \"{}KiB\"", bytes / 1024)?;
        writeln!(out, "shared-alpha = 1.0 # a port may hold as much as is free")?;
    }
    writeln!(out, "links = [")?;
    for group in link_groups(&fabric.links) {
        writeln!(out, "    {{ from = \"{}\", to = \"{}\", {} }},", group.from, group.to, properties(group.properties))?;
    }
    writeln!(out, "]")?;
    for failure in &fabric.failures {
        writeln!(out, "\n[[topology.failure]]\nlink = \"{}->{}\"\ndown = \"{}\"", failure.from, failure.to, failure.down)?;
    }
    writeln!(out, "\n[transport]\n{}\n", parts.transport.join("\n"))?;
    out.write_str(&parts.workloads)
}

fn properties(link: &LinkProperties) -> String {
    let mut out = format!("rate = \"{}\", delay = \"{}\"", link.rate, link.delay);
    let mut add = |text: String| {
        out.push_str(", ");
        out.push_str(&text);
    };
    match link.buffer {
        Some(Buffer::Bytes(n)) => add(format!("buffer = \"{n}B\"")),
        Some(Buffer::Packets(n)) => add(format!("buffer = \"{n}pkt\"")),
        None => {}
    }
    match &link.marking {
        Some(m) if m.min == m.max => add(format!("queue = {{ kind = \"dctcp-step\", k = \"{}B\" }}", m.min)),
        // The instantaneous queue decides, and each packet alone.
        Some(m) => add(format!(
            "queue = {{ kind = \"red\", min = \"{}B\", max = \"{}B\", p-max = {}, weight = 1.0, count = \"off\" }}",
            m.min, m.max, m.p_max
        )),
        None => {}
    }
    if let Some(p) = &link.loss {
        add(format!("loss = {{ p = {p} }}"));
    }
    if !link.both {
        add("both = false".into());
    }
    out
}
