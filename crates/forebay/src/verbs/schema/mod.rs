//! `forebay schema`: the JSON Schema of scenario files, for editors.

mod document;
mod values;

use crate::terminal::failure::Failure;
use crate::terminal::output::print_data;

/// Print the JSON Schema of scenario files, for completion and checks in editors
///
/// Save it beside the scenarios: `forebay schema > forebay.schema.json`. Files of `forebay new` name it in their first line, where Tombi, taplo and
/// Even Better TOML find it. The schema has all keys and names. `forebay check` also compares values with each other.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Prints the schema.
pub(crate) fn execute(_: &Args) -> Result<(), Failure> {
    print_data(&format!("{}\n", document::schema()))
}
