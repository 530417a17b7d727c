//! What is known while a scenario is being read.

use crate::schema::host_index::HostIndex;
use crate::text::error::Sink;
use crate::text::source::At;
use forebay_experiment::worlds::Worlds;
use forebay_types::{QueueLen, SizeTable};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The source number of registry defaults: errors in those have no place.
pub(crate) const DEFAULTS: u32 = u32::MAX;

/// A buffer size and where it was written, kept for checks against the packet size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferSite {
    pub key: &'static str,
    pub len: QueueLen,
    pub at: At,
}

/// A file that a scenario depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// As the scenario names it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// State of one resolution.
pub(crate) struct Cx {
    /// The worlds, congestion controls and shims that may be named.
    pub worlds: &'static Worlds,
    pub sink: Sink,
    /// Folder of the scenario.
    pub base: PathBuf,
    /// What a user should know about how the file was read.
    pub notes: Vec<String>,
    /// Names of the built network, once it is built.
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

    /// Notes that the scenario depends on a file, and returns its path.
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
