//! A case by its seed and number, and as a file.

use crate::{connection, crowd, scenario};
use forebay_scenario::toml;
use serde_json::Value as Json;

/// Sort of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole scenario, drawn from the registries, run on several numbers of threads and with observation.
    Scenarios,
    /// Single connections over a pipe that loses, reorders, duplicates and marks packets, closes the window, and may end for ever.
    Connections,
    /// Tens of thousands of short connections that share a bad network.
    Crowds,
}

impl Kind {
    /// Names, as users write them.
    pub const NAMES: [(&str, Kind); 3] =
        [("scenarios", Kind::Scenarios), ("connections", Kind::Connections), ("crowds", Kind::Crowds)];

    /// The sort of case number `number`: half of the cases are scenarios.
    pub fn of(number: u64) -> Kind {
        match number % 4 {
            0 | 2 => Kind::Scenarios,
            1 => Kind::Connections,
            _ => Kind::Crowds,
        }
    }

    /// Name, as users write it.
    pub fn name(self) -> &'static str {
        Kind::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// A case, in the keys of a scenario file. A single connection has the table `[connection]` beside `[transport]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    kind: Kind,
    document: Json,
}

impl Case {
    /// The case with this number. `None`, very seldom, if no draft was legal.
    pub fn of(seed: u64, number: u64) -> Option<Case> {
        let kind = Kind::of(number);
        let document = match kind {
            Kind::Scenarios => scenario::draw(seed, number)?.document,
            Kind::Connections => connection::draw(seed, number)?,
            Kind::Crowds => crowd::draw(seed, number),
        };
        Some(Case { kind, document })
    }

    /// A case from the text of its file.
    ///
    /// # Errors
    /// A text that is not TOML, with its position.
    pub fn read(text: &str) -> Result<Case, String> {
        let scenario = forebay_scenario::Scenario::from_text(crate::simulator(), text, "case.toml", "".as_ref(), &[], None);
        let document = scenario.map_err(|e| e.render())?.document();
        Ok(Case::from_document(document))
    }

    /// The case of a document. Every scenario is checked in full, whatever drew it.
    pub(crate) fn from_document(document: Json) -> Case {
        let kind = if document.get("connection").is_some() { Kind::Connections } else { Kind::Scenarios };
        Case { kind, document }
    }

    /// The same document as another sort of case: the sort decides about the checks, and their limits.
    pub fn of_kind(self, kind: Kind) -> Case {
        Case { kind, ..self }
    }

    /// Its sort.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        toml(&self.document)
    }

    pub(crate) fn document(&self) -> &Json {
        &self.document
    }

    /// The same sort of case with another document.
    pub(crate) fn with(&self, document: Json) -> Case {
        Case { kind: self.kind, document }
    }
}
