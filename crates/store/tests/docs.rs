//! `docs/reference/results.md` says what the files contain. After a change of the schema: `UPDATE_DOCS=1 cargo test -p forebay-store`.

use std::fs;
use std::path::Path;

#[test]
fn results_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/results.md");
    let page = fs::read_to_string(&path).unwrap();
    let current = forebay_store::replace_generated(&page).expect("docs/reference/results.md lost its marker lines");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &current).unwrap();
    } else {
        assert!(page == current, "docs/reference/results.md is out of date: UPDATE_DOCS=1 cargo test -p forebay-store");
    }
}
