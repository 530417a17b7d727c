//! Archives of kernel sources.

use crate::fuzz::folder;
use forebay_kernel::{ArchiveLimits, extract};
use std::fs;
use std::path::Path;

/// Limits far below those of real sources, so that an input can reach them.
const LIMITS: ArchiveLimits = ArchiveLimits { total: 1 << 20, entry: 1 << 16 };

/// Bytes of all files below `folder`. No link leads out of it.
fn size(folder: &Path, top: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    entries
        .map(|path| {
            let found = fs::symlink_metadata(&path).expect("a file");
            if found.is_symlink() {
                let end = path.parent().expect("a folder").join(fs::read_link(&path).expect("a link"));
                assert!(
                    fs::canonicalize(&end).map_or(true, |end| end.starts_with(top)),
                    "{} leads to {}",
                    path.display(),
                    end.display()
                );
                0
            } else if found.is_dir() {
                size(&path, top)
            } else {
                found.len()
            }
        })
        .sum()
}

/// A tar archive. It writes into its folder only, and at most as much as the limits permit.
pub(crate) fn kernel_sources(bytes: &[u8]) {
    let folder = folder();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).expect("a temporary folder");
    let _ = extract(&mut { bytes }, &tree, LIMITS);
    let top = fs::canonicalize(&tree).expect("a folder");
    assert!(size(&top, &top) <= LIMITS.total, "files are larger than the limit");
    let beside = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(beside, 1, "a file beside the tree");
}
