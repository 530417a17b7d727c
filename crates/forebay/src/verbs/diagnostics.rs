//! Errors of a scenario as JSON, for editors and programs: `forebay check --format json`.

use forebay_scenario::{Errors, ScenarioError};
use miette::{Diagnostic, SourceSpan};
use serde_json::{Value, json};

/// The errors as a document `{"errors": [...]}`. Lines and columns begin with 1; columns count characters.
pub(super) fn document(errors: &Errors) -> Value {
    json!({"errors": errors.list().iter().map(diagnostic).collect::<Vec<_>>()})
}

fn diagnostic(error: &ScenarioError) -> Value {
    let label = error.labels().and_then(|mut all| all.next());
    let span = label.as_ref().map(|l| *l.inner());
    let text = label.as_ref().and_then(|l| l.label()).unwrap_or_default();
    let range = span.and_then(|span| range(error, span));
    let fix = range.as_ref().and_then(|range| Some(json!({"range": range, "text": suggestion(text)?})));
    json!({
        "file": error.file(), "range": range, "severity": "error", "code": code(error.message()),
        "message": error.message(), "label": text, "help": error.help(), "fix": fix,
    })
}

/// Lines and columns of a span, which is within one line.
fn range(error: &ScenarioError, span: SourceSpan) -> Option<Value> {
    let (line, column) = error.line_column()?;
    let contents = error.source_code()?.read_span(&span, 0, 0).ok()?;
    let marked = contents.data().get(..span.len()).unwrap_or(contents.data());
    let characters = std::str::from_utf8(marked).map_or(0, |text| text.chars().count());
    Some(json!({"start": {"line": line, "column": column}, "end": {"line": line, "column": column + characters}}))
}

/// Kind of an error.
fn code(message: &str) -> &'static str {
    let has = |text: &str| message.contains(text);
    if has("unknown key") {
        "unknown-key"
    } else if has("needs the key") || has("has no [topology]") || has("has no [[workload]]") {
        "missing-key"
    } else if has("not valid TOML") || has("looks like") {
        "syntax"
    } else if has("does not exist") {
        "unknown-name"
    } else {
        "value"
    }
}

/// Text that replaces the marked one, from a label such as "did you mean `rate`?".
fn suggestion(label: &str) -> Option<&str> {
    let rest = ["did you mean `", "this key is now `"].iter().find_map(|start| label.strip_prefix(start))?;
    rest.split_once('`').map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn errors(text: &str) -> Value {
        let scenario = forebay_scenario::Scenario::from_text(forebay_backends::all(), text, "a.toml", Path::new("."), &[], None);
        document(&scenario.and_then(|s| s.resolve()).unwrap_err())
    }

    #[test]
    fn misspelled_key_has_range_and_fix() {
        let found = errors("name = \"µ\" # µ\ndurration = \"1s\"\n");
        let one = found["errors"].as_array().unwrap().iter().find(|e| e["code"] == "unknown-key").unwrap();
        let range = json!({"start": {"line": 2, "column": 1}, "end": {"line": 2, "column": 10}});
        assert_eq!((&one["file"], &one["range"]), (&json!("a.toml"), &range));
        assert_eq!(one["fix"], json!({"range": range, "text": "duration"}));
    }

    #[test]
    fn errors_have_codes() {
        let codes = |text: &str| errors(text)["errors"].as_array().unwrap().iter().map(|e| e["code"].clone()).collect::<Vec<_>>();
        assert_eq!(codes("a = "), ["syntax"]);
        assert_eq!(codes("seed = -1"), ["missing-key", "missing-key", "value"]);
        assert!(codes("[topology]\nkind = \"ring\"").contains(&json!("unknown-name")));
    }
}
