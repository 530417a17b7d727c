//! Mixtures of distributions: a list of parts with shares, or a name.

use crate::schema::context::{Cx, DEFAULTS};
use crate::schema::quantity;
use crate::text::doc::{Node, Raw, TomlTable, parse_loose};
use crate::text::message_text::{alternatives, did_you_mean, grouped, short};
use forebay_types::Mixture;

/// Named mixture of sizes, of times, or of both.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    sizes: Option<&'static str>,
    times: Option<&'static str>,
    /// Source, for the reference.
    pub(crate) origin: &'static str,
}

/// Mixtures that a scenario can name.
pub(crate) const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "trim-http",
        sizes: Some(
            r#"[{ share = 18, log-uniform = ["512B", "4KiB"] }, { share = 72, log-uniform = ["4KiB", "128KiB"] }, { share = 10, log-uniform = ["128KiB", "256KiB"] }]"#,
        ),
        times: Some(r#"[{ share = 1, log-uniform = ["200us", "5ms"] }]"#),
        origin: "sizes of HTTP responses and the gaps between them: below 20 % up to 4 KiB, about 70 % up to 128 KiB, 10 % up to 256 KiB, \
                 log-uniform in between. Gaps: 0.2 to 5 ms. Fractions are those of Fig. 2 of the TCP-TRIM publication, which does not print \
                 the curve",
    },
    BuiltIn {
        name: "dctcp-background",
        sizes: Some(
            r#"[{ share = 50, log-uniform = ["1KB", "10KB"] }, { share = 30, log-uniform = ["10KB", "100KB"] }, { share = 15, log-uniform = ["100KB", "1MB"] }, { share = 5, log-uniform = ["1MB", "50MB"] }]"#,
        ),
        times: None,
        origin: "background flows of the cluster benchmark of the DCTCP slides: 50 % below 10 KB (our choice: from 1 KB), 30 % to 100 KB, 15 % to \
                 1 MB, 5 % to 50 MB, log-uniform in between. The slides do not print the distribution",
    },
];

/// Reads the value of `mixture`: a list of parts, or a name. `read` reads the distribution of a part, and `mean` returns its mean.
pub(crate) fn mixture<T>(
    cx: &mut Cx,
    what: &str,
    node: &Node,
    of_times: bool,
    read: fn(&mut Cx, &str, &Node) -> Option<T>,
    mean: fn(&T) -> f64,
) -> Option<Mixture<T>> {
    let Raw::Array(parts) = &node.raw else {
        let name = quantity::text(cx, what, node)?;
        let text = |b: &BuiltIn| if of_times { b.times } else { b.sizes };
        let Some(found) = BUILT_IN.iter().find(|b| b.name == name).and_then(text) else {
            let names = || BUILT_IN.iter().filter(|b| text(b).is_some()).map(|b| b.name);
            let label = did_you_mean(name, names()).unwrap_or_else(|| "unknown mixture".into());
            let help =
                format!("legal: {}, or a list of parts such as {{ share = 18, log-uniform = [..] }}", alternatives(names()));
            cx.sink.error(node.at, format!("{what}: there is no mixture `{}`", short(name)), label, Some(help));
            return None;
        };
        let m = mixture(cx, what, &parse_loose(found, DEFAULTS, 0), of_times, read, mean)?;
        let mean = m.mean_of(mean);
        cx.note(match of_times {
            true => format!("{name}: mean {} us", grouped(mean * 1e-6)),
            false => format!("{name}: mean {} B", grouped(mean)),
        });
        return Some(m);
    };
    let parts: Vec<Option<(f64, T)>> = parts.iter().map(|p| part(cx, what, p, read)).collect();
    match Mixture::new(parts.into_iter().collect::<Option<Vec<_>>>()?) {
        Ok(m) => Some(m),
        Err(message) => {
            cx.sink.error(node.at, format!("{what}: {message}"), "not a mixture", None);
            None
        }
    }
}

/// Reads a part: `share` and one distribution, or `value` for a constant.
fn part<T>(cx: &mut Cx, what: &str, node: &Node, read: fn(&mut Cx, &str, &Node) -> Option<T>) -> Option<(f64, T)> {
    let Raw::Table(table) = &node.raw else {
        let help = Some("a part is { share = 18, log-uniform = [..] }, or { share = 18, value = .. }".to_owned());
        cx.sink.error(
            node.at,
            format!("{what}: a part of a mixture must be a table, not {}", node.describe()),
            "expected a part",
            help,
        );
        return None;
    };
    let Some(share) = table.get("share") else {
        cx.sink.error(node.at, format!("{what}: a part of a mixture needs the key `share`"), "`share` is missing", None);
        return None;
    };
    let share = quantity::float(cx, &format!("{what}: `share`"), &share.node, 1e-9, 1e9)?;
    let rest: Vec<_> = table.items.iter().filter(|i| i.key != "share").cloned().collect();
    let dist = match rest.as_slice() {
        [only] if only.key == "value" => only.node.clone(),
        _ => Node { at: node.at, raw: Raw::Table(TomlTable { items: rest }) },
    };
    Some((share, read(cx, what, &dist)?))
}
