//! Context of reading a scenario.

use crate::schema::host_index::HostIndex;
use crate::text::error::Sink;
use crate::text::source::At;
use forebay_experiment::worlds::Worlds;
use forebay_types::{QueueLen, SizeTable};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Source number of registry defaults, whose errors have no position.
pub(crate) const DEFAULTS: u32 = u32::MAX;

/// Buffer size and its position, for checks against the packet size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferSite {
    pub key: &'static str,
    pub len: QueueLen,
    pub at: At,
}

/// File that a scenario depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// Name in the scenario.
    pub name: String,
    /// Path.
    pub path: PathBuf,
}

/// Context of one resolution.
pub(crate) struct Cx {
    /// Backends, congestion controls and shims that may be named.
    pub worlds: &'static Worlds,
    pub sink: Sink,
    /// Folder of the scenario.
    pub base: PathBuf,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Names of the network, after it is built.
    pub hosts: Option<HostIndex>,
    /// All finite buffers.
    pub buffers: Vec<BufferSite>,
    /// Size tables read so far.
    pub tables: HashMap<String, Arc<SizeTable>>,
    /// Files that the scenario names.
    pub files: Vec<FileRead>,
}

impl Cx {
    pub(crate) fn new(worlds: &'static Worlds, sink: Sink, base: PathBuf) -> Cx {
        Cx { worlds, sink, base, notes: Vec::new(), hosts: None, buffers: Vec::new(), tables: HashMap::new(), files: Vec::new() }
    }

    /// Registers a file that the scenario depends on, and returns its path.
    pub(crate) fn file(&mut self, name: &str) -> PathBuf {
        let path = self.base.join(name);
        if !self.files.iter().any(|f| f.name == name) {
            self.files.push(FileRead { name: name.to_owned(), path: path.clone() });
        }
        path
    }

    /// Adds a note once.
    pub(crate) fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}
