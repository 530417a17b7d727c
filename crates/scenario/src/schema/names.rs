//! Names that become part of file names and tables.

use crate::schema::context::Cx;
use crate::schema::quantity;
use crate::text::doc::Node;
use crate::text::message_text::short;

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 100;

fn legal(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Reads the name of a scenario, which is also the name of a folder.
pub(crate) fn scenario_name(cx: &mut Cx, node: &Node) -> Option<String> {
    let name = quantity::text(cx, "`name`", node)?;
    if name.chars().all(legal) && !name.starts_with('.') && name.chars().count() <= MAX_NAME {
        return Some(name.to_owned());
    }
    let help = Some("it names the folder of the results, so it cannot hold path separators".to_owned());
    let label = format!("legal: up to {MAX_NAME} letters, digits, `-`, `_` and `.`, not `.` first");
    cx.sink.error(node.at, format!("`name` is \"{}\"", short(name)), label, help);
    None
}

/// Converts a file name to a legal name.
pub(crate) fn from_stem(stem: &str) -> String {
    let name: String = stem.trim_start_matches('.').chars().take(MAX_NAME).map(|c| if legal(c) { c } else { '-' }).collect();
    if name.is_empty() { "scenario".into() } else { name }
}

/// Reads the name of a class or transport group: one line in a table.
pub(crate) fn label(cx: &mut Cx, what: &str, node: &Node) -> Option<String> {
    let text = quantity::text(cx, what, node)?;
    if text.chars().any(char::is_control) || text.chars().count() > MAX_NAME {
        let label = format!("legal: up to {MAX_NAME} printable characters");
        cx.sink.error(node.at, format!("{what} is \"{}\"", short(text)), label, None);
        return None;
    }
    Some(text.to_owned())
}
