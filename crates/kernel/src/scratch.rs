//! Folders for tests, removed when the test is over.

use forebay_platform::files::TempDir;
use std::env;
use std::path::Path;

/// An empty folder of the test's own.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(TempDir::create(&env::temp_dir(), "forebay-test-kernel").expect("an empty folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}
