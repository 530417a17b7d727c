//! Registries of scenario values, as `forebay list` shows them.

use pyo3::prelude::*;

/// One parameter: key, legal values, default, meaning.
type Param = (&'static str, String, Option<&'static str>, &'static str);
/// One choice: name, summary, parameters.
type Item = (&'static str, &'static str, Vec<Param>);
/// One registry: title, syntax in scenarios, choices.
type Section = (&'static str, &'static str, Vec<Item>);

/// All registries.
#[pyfunction]
pub(crate) fn registry() -> Vec<Section> {
    let section = |s: forebay_scenario::Section| {
        let item = |i: forebay_scenario::Item| {
            (i.name, i.summary, i.params.into_iter().map(|p| (p.key, p.legal, p.default, p.doc)).collect())
        };
        (s.title, s.usage, s.items.into_iter().map(item).collect())
    };
    forebay_scenario::describe(forebay_backends::all()).into_iter().map(section).collect()
}
